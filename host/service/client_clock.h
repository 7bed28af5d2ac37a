// SPDX-License-Identifier: Apache-2.0
// The time of this process where its services show simulated time (program_clock.h): the simulation's, and ahead of it
// by what the process has spent since it last met the device. One per process; from the first connection to such a
// service on it lasts as long as the process, also in children of fork().
//
// For any thread. Nothing waits for a lock that a thread holds while it waits for time.
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
  // A look at a clock takes so much of the process's time, so that a loop that waits for a time ends.
  static constexpr uint64_t kReadNs = 20;
  // So much effort, or less, between two meetings with the simulation: some 0.1 ms of a processor's time.
  static constexpr unsigned kEffortMax = 4000;

  static ClientClock& OfProcess();

  // From now on time is the service's. kNoMemory: the page cannot be mapped. All pages are one service's.
  host::Status Attach(int page, const std::shared_ptr<Connection>& connection);
  bool is_attached() const { return page_.load(std::memory_order_acquire) != nullptr; }

  // --- With is_attached()
  // Simulated nanoseconds.
  uint64_t NowNs() const;
  uint64_t realtime_base_ns() const { return page_.load(std::memory_order_acquire)->realtime_base_ns; }
  uint64_t monotonic_base_ns() const { return page_.load(std::memory_order_acquire)->monotonic_base_ns; }
  // The program looks at a clock, in a way that takes as long as `effort` calls of a function. Lets the simulation
  // catch up if something may have happened there, and often enough that a loop of looks is not taken for one that
  // waits for memory.
  uint64_t Read(unsigned effort = 1);
  // Returns when simulated time is there. False: there is no connection (in a child, or all are closed) over which it
  // could be awaited; time has gone on for this process alone.
  bool SleepUntil(uint64_t until_ns);

  // For Connection.
  void OnAnswer(const AwaitAnswer& answer);

 private:
  bool Await(uint64_t until_ns);
  void Raise(uint64_t to_ns);
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
