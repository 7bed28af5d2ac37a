// SPDX-License-Identifier: Apache-2.0
// The time of this process with services that provide simulated time (program_clock.h): the simulation's time, plus the
// time that the process has spent since it last synchronized with the simulation. One per process; starts with the
// first connection to such a service and lasts as long as the process, also in children of fork().
//
// Thread-safe. No lock is held while waiting for time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/driver/result.h"
#include "host/service/protocol.h"

namespace vireo::service {

class Connection;

class ClientClock {
 public:
  // Simulated cost of reading a clock, so that a loop that polls the clock terminates.
  static constexpr uint64_t kReadNs = 20;
  // Maximum effort between two synchronizations with the simulation: about 0.1 ms of processor time.
  static constexpr unsigned kEffortMax = 4000;

  static ClientClock& OfProcess();

  // From now on time is the service's. kNoMemory: the page cannot be mapped. All pages must come from the same service.
  host::Status Attach(int page, const std::shared_ptr<Connection>& connection);
  bool is_attached() const { return page_.load(std::memory_order_acquire) != nullptr; }

  // --- With is_attached()
  // Simulated nanoseconds.
  uint64_t NowNs() const;
  uint64_t realtime_base_ns() const { return page_.load(std::memory_order_acquire)->realtime_base_ns; }
  uint64_t monotonic_base_ns() const { return page_.load(std::memory_order_acquire)->monotonic_base_ns; }
  // Reads the clock for the program; `effort` is the real cost of the read, in function calls. Lets the simulation
  // catch up if an event may be due there, and often enough that a loop of clock reads is not mistaken for one that
  // polls memory.
  uint64_t Read(unsigned effort = 1);
  // Returns when simulated time has reached `until_ns`. False: no connection to wait on (in a child, or all are
  // closed); time has advanced for this process only.
  bool SleepUntil(uint64_t until_ns);

  // For Connection.
  void OnAnswer(const AwaitAnswer& answer);

 private:
  bool Await(uint64_t until_ns);
  void AdvanceLocal(uint64_t to_ns);
  uint64_t PageNs() const;

  std::atomic<const ClockPage*> page_ = nullptr;
  std::atomic<uint64_t> local_ns_ = 0;
  std::atomic<uint64_t> answered_ns_ = 0;
  std::atomic<uint64_t> horizon_ns_ = 0;
  std::atomic<unsigned> effort_ = 0;  // since the last answer
  std::mutex mutex_;
  std::vector<std::weak_ptr<Connection>> connections_;
};

}  // namespace vireo::service
