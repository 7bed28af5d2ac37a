// SPDX-License-Identifier: Apache-2.0
// The clock that programs share with their device where they see simulated time instead of the system's. The service
// tells it who its clients are and what they ask for; who runs the simulation implements it and decides when time goes
// on. Simulated times are in nanoseconds. One thread: the service's.
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
  // The memory file of the ClockPage; it stays the clock's, and is sealed so that clients only read it.
  virtual int page() const = 0;
  // What a client's call that reaches the device's data path takes of its time.
  virtual uint32_t call_cost_ns() const = 0;

  // A context of process `pid`; 0: not known, then only its calls count.
  virtual Client Attach(pid_t pid) = 0;
  // It is forgotten, with what it awaits.
  virtual void Detach(Client client) = 0;
  // It said something that the device may hear of.
  virtual void OnMessage(Client client) = 0;
  // Something is about to be said to it, in a time that may have gone on: the page shows it from now on.
  virtual void Publish() = 0;
  // Calls `answer` when what `message` awaits is there; never from within this call.
  virtual void OnAwait(Client client, const Await& message, OnAnswer answer) = 0;
};

}  // namespace vireo::service
