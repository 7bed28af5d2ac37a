// SPDX-License-Identifier: Apache-2.0
// The clock of programs that run in simulated time instead of the system's. The service reports its clients and their
// requests; the simulator implements it and decides when time advances. Times are simulated nanoseconds. Called from
// the service's thread only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "host/service/protocol.h"

namespace vireo::service {

class ProgramClock {
 public:
  using Client = uint64_t;
  using OnAnswer = std::function<void(const AwaitAnswer&)>;

  virtual ~ProgramClock() = default;
  // The memory file of the ClockPage; owned by the clock, and sealed so that clients can only read it.
  virtual int page() const = 0;
  // Simulated cost of a client's data path call.
  virtual uint32_t call_cost_ns() const = 0;

  // Adds a context of process `pid`. 0: unknown; then only its calls take simulated time.
  virtual Client Attach(pid_t pid) = 0;
  // Removes the client and its pending Await.
  virtual void Detach(Client client) = 0;
  // The client sent a message that may reach the device.
  virtual void OnMessage(Client client) = 0;
  // Call before sending to a client: updates the page to the current simulated time.
  virtual void Publish() = 0;
  // Calls `answer` when the condition of `message` is met; never from within this call.
  virtual void OnAwait(Client client, const Await& message, OnAnswer answer) = 0;
};

}  // namespace vireo::service
