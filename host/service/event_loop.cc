// SPDX-License-Identifier: Apache-2.0
#include "host/service/event_loop.h"

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace vireo::service {

uint64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.is_open()) return;
  std::perror("epoll_create1");
  std::abort();
}

void EventLoop::Watch(int fd, std::function<void()> on_readable) {
  Unwatch(fd);
  const uint64_t watcher = next_watcher_++;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = watcher;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    std::perror("epoll_ctl");
    std::abort();
  }
  watchers_.emplace(watcher, Watcher{fd, std::move(on_readable)});
  by_fd_[fd] = watcher;
}

void EventLoop::Unwatch(int fd) {
  const auto found = by_fd_.find(fd);
  if (found == by_fd_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watchers_.erase(found->second);
  by_fd_.erase(found);
}

void EventLoop::Sleep(uint64_t timeout_ns) const {
  constexpr uint64_t kSecond = 1'000'000'000;
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / kSecond),
                         .tv_nsec = static_cast<long>(timeout_ns % kSecond)};
  pollfd readable{.fd = epoll_.get(), .events = POLLIN, .revents = 0};
  ::ppoll(&readable, 1, timeout_ns == kForeverNs ? nullptr : &timeout, nullptr);
}

bool EventLoop::Find() {
  if (found_ == 0) {
    const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), 0);
    found_ = count < 0 ? 0 : static_cast<size_t>(count);
  }
  return found_ != 0;
}

int EventLoop::Poll(uint64_t timeout_ns) {
  if (timeout_ns != 0 && found_ == 0) Sleep(timeout_ns);
  if (!Find()) return 0;
  // Copy: a callback may call Poll, too.
  const auto events = events_;
  const size_t count = std::exchange(found_, 0);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = events[i].data.u64;  // the structure is packed: no references to its members
    const auto found = watchers_.find(key);
    if (found == watchers_.end()) continue;
    // A copy: the callback may unwatch itself.
    const std::function<void()> call = found->second.on_readable;
    call();
  }
  return static_cast<int>(count);
}

}  // namespace vireo::service
