// SPDX-License-Identifier: Apache-2.0
// Waits for file descriptors and calls who watches them. One thread.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "host/driver/file_descriptor.h"

namespace vireo::service {

// Of CLOCK_MONOTONIC: the clock of all deadlines that programs see.
uint64_t MonotonicNs();

class EventLoop {
 public:
  static constexpr uint64_t kForeverNs = ~uint64_t{0};

  EventLoop();  // ends the program if the system has no epoll
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // `on_readable` is called in each Poll in which `fd` can be read, has an error or was closed at its other end. A
  // callback may watch and unwatch anything, itself included; what it unwatched is not called any more.
  void Watch(int fd, std::function<void()> on_readable);
  // Before `fd` is closed.
  void Unwatch(int fd);
  // Sleeps until something is there, at most `timeout_ns` (0: does not), and calls its watchers. Returns how many.
  int Poll(uint64_t timeout_ns);
  // The same without calling anybody.
  void Sleep(uint64_t timeout_ns) const;
  // Looks whether something is there, without calling anybody: the next Poll calls the watchers of what was found.
  bool Find();

 private:
  struct Watcher {
    int fd;
    std::function<void()> on_readable;
  };
  host::FileDescriptor epoll_;
  std::array<epoll_event, 16> events_{};
  size_t found_ = 0;  // events whose watchers have not been called
  // A descriptor's number may be used again within one Poll; these are not.
  uint64_t next_watcher_ = 0;
  std::unordered_map<uint64_t, Watcher> watchers_;
  std::unordered_map<int, uint64_t> by_fd_;
};

}  // namespace vireo::service
