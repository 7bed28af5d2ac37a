// SPDX-License-Identifier: Apache-2.0
// Waits for file descriptors (epoll) and calls their watchers. Not thread-safe.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "host/driver/file_descriptor.h"

namespace vireo::service {

// CLOCK_MONOTONIC, the clock of all deadlines of programs.
uint64_t MonotonicNs();

class EventLoop {
 public:
  static constexpr uint64_t kForeverNs = ~uint64_t{0};

  EventLoop();  // aborts if epoll is not available
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Poll calls `on_readable` while `fd` is readable, has an error or was closed by its peer. A callback may watch and
  // unwatch any descriptor, including its own; a removed watcher is not called any more.
  void Watch(int fd, std::function<void()> on_readable);
  // Call it before `fd` is closed.
  void Unwatch(int fd);
  // Waits up to `timeout_ns` (0: does not wait) for events and calls their watchers. Returns the number of events.
  int Poll(uint64_t timeout_ns);
  // The same without calling watchers.
  void Sleep(uint64_t timeout_ns) const;
  // Checks for events without calling watchers: the next Poll calls the watchers of the events found.
  bool Find();

 private:
  struct Watcher {
    int fd;
    std::function<void()> on_readable;
  };
  host::FileDescriptor epoll_;
  std::array<epoll_event, 16> events_{};
  size_t found_ = 0;  // events whose watchers have not been called
  // Descriptor numbers may be reused within one Poll; watcher numbers are not.
  uint64_t next_watcher_ = 0;
  std::unordered_map<uint64_t, Watcher> watchers_;
  std::unordered_map<int, uint64_t> by_fd_;
};

}  // namespace vireo::service
