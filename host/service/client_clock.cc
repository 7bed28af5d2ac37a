// SPDX-License-Identifier: Apache-2.0
#include "host/service/client_clock.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "host/service/client.h"

namespace vireo::service {

namespace {

// Constant-initialized: allocators read clocks inside malloc, so nothing here may allocate. Never destroyed, so it
// outlives every static object that reads it.
union Clock {
  constexpr Clock() : clock() {}
  ~Clock() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
  ClientClock clock;
};
constinit Clock of_process;

}  // namespace

ClientClock& ClientClock::OfProcess() { return of_process.clock; }

host::Status ClientClock::Attach(int page, const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  if (page_.load(std::memory_order_relaxed) == nullptr) {
    void* const mapped = ::mmap(nullptr, kClockPageBytes, PROT_READ, MAP_SHARED, page, 0);
    if (mapped == MAP_FAILED) {
      return host::Error{host::ErrorCode::kNoMemory, std::string("mapping of the clock: ") + std::strerror(errno)};
    }
    page_.store(static_cast<const ClockPage*>(mapped), std::memory_order_release);
  }
  std::erase_if(connections_, [](const auto& one) { return one.expired(); });
  connections_.push_back(connection);
  return {};
}

uint64_t ClientClock::PageNs() const {
  auto& now =
      const_cast<uint64_t&>(page_.load(std::memory_order_acquire)->now_ns);  // atomic_ref of C++20 reads no const
  return std::atomic_ref<uint64_t>(now).load(std::memory_order_acquire);
}

uint64_t ClientClock::NowNs() const { return std::max(PageNs(), local_ns_.load(std::memory_order_relaxed)); }

void ClientClock::AdvanceLocal(uint64_t to_ns) {
  uint64_t have = local_ns_.load(std::memory_order_relaxed);
  while (have < to_ns && !local_ns_.compare_exchange_weak(have, to_ns, std::memory_order_relaxed)) {
  }
}

uint64_t ClientClock::Read(unsigned effort) {
  const uint64_t page_ns = PageNs();
  const uint64_t now_ns = std::max(page_ns, local_ns_.load(std::memory_order_relaxed)) + kReadNs;
  AdvanceLocal(now_ns);
  // Simulated time has not changed since the last horizon was received: the program may run ahead up to it.
  const bool is_known = answered_ns_.load(std::memory_order_relaxed) == page_ns;
  const bool is_long = effort_.fetch_add(effort, std::memory_order_relaxed) + effort >= kEffortMax;
  if (is_long || !is_known || now_ns > horizon_ns_.load(std::memory_order_relaxed)) Await(now_ns);
  return now_ns;
}

bool ClientClock::SleepUntil(uint64_t until_ns) {
  AdvanceLocal(until_ns);
  return Await(until_ns);
}

bool ClientClock::Await(uint64_t until_ns) {
  const int error = errno;  // clock functions preserve errno
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& one : connections_) {
      connection = one.lock();
      if (connection != nullptr && connection->health().ok()) break;
      connection.reset();
    }
  }
  const bool is_done = connection != nullptr && connection->Await(until_ns, until_ns, false).ok();
  errno = error;
  return is_done;
}

void ClientClock::OnAnswer(const AwaitAnswer& answer) {
  AdvanceLocal(answer.now_ns);
  effort_.store(0, std::memory_order_relaxed);
  horizon_ns_.store(answer.horizon_ns, std::memory_order_relaxed);
  answered_ns_.store(answer.now_ns, std::memory_order_relaxed);
}

}  // namespace vireo::service
