// SPDX-License-Identifier: Apache-2.0
#include "host/service/context_function.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace vireo::service {
namespace {

using host::Error;
using host::ErrorCode;

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kGrain = 64;  // cache line: blocks do not share one

constexpr uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

// --- Memory

class ContextFunction::Arena {
 public:
  static Result<std::shared_ptr<Arena>> Make(std::shared_ptr<Connection> connection);
  ~Arena() {
    if (memory_ != nullptr) ::munmap(memory_, kArenaBytes);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint8_t* memory() const { return memory_; }
  uint64_t address() const { return address_; }  // device address
  // Allocates zeroed bytes and returns their offset; none if the arena is full.
  std::optional<uint64_t> Take(uint64_t bytes, uint64_t alignment);
  void Free(uint64_t offset, uint64_t bytes);

 private:
  explicit Arena(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

  std::shared_ptr<Connection> connection_;
  host::FileDescriptor file_;
  uint8_t* memory_ = nullptr;
  uint64_t address_ = 0;
  std::mutex mutex_;                   // of free_
  std::map<uint64_t, uint64_t> free_;  // free blocks: bytes, by offset; adjacent ones are merged
};

Result<std::shared_ptr<ContextFunction::Arena>> ContextFunction::Arena::Make(std::shared_ptr<Connection> connection) {
  const auto fail = [](const char* what) {
    return Error{ErrorCode::kNoMemory, std::string(what) + ": " + std::strerror(errno)};
  };
  std::shared_ptr<Arena> arena(new Arena(std::move(connection)));
  arena->file_ = host::FileDescriptor(::memfd_create("vireo-queues", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int file = arena->file_.get();
  if (file < 0) return fail("memory file");
  // The service maps the file: it must not shrink.
  if (::ftruncate(file, static_cast<off_t>(kArenaBytes)) != 0 || ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return fail("size of the memory file");
  }
  void* const memory = ::mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) return fail("mapping of the memory file");
  arena->memory_ = static_cast<uint8_t*>(memory);
  Map message;
  message.bytes = kArenaBytes;
  Result<std::vector<uint8_t>> mapped = arena->connection_->Call(message, sizeof(MapAnswer), {}, file);
  if (!mapped.ok()) return mapped.error();
  arena->address_ = Get<MapAnswer>(*mapped).address;
  arena->free_[0] = kArenaBytes;
  return arena;
}

std::optional<uint64_t> ContextFunction::Arena::Take(uint64_t bytes, uint64_t alignment) {
  uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto range = std::ranges::find_if(
        free_, [&](const auto& one) { return RoundUp(one.first, alignment) + bytes <= one.first + one.second; });
    if (range == free_.end()) return std::nullopt;
    const auto [first, size] = *range;
    offset = RoundUp(first, alignment);
    free_.erase(range);
    if (offset > first) free_[first] = offset - first;
    if (const uint64_t end = first + size; offset + bytes < end) free_[offset + bytes] = end - offset - bytes;
  }
  std::memset(memory_ + offset, 0, bytes);
  return offset;
}

void ContextFunction::Arena::Free(uint64_t offset, uint64_t bytes) {
  // A child of fork() shares the file: its blocks still belong to the parent.
  if (!connection_->is_owner()) return;
  // Return whole pages to the system.
  const uint64_t first_page = RoundUp(offset, kPageBytes);
  const uint64_t last_page = (offset + bytes) / kPageBytes * kPageBytes;
  if (first_page < last_page) {
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first_page),
                static_cast<off_t>(last_page - first_page));
  }
  const std::lock_guard lock(mutex_);
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

class ContextFunction::Block final : public host::DmaMemory {
 public:
  Block(std::shared_ptr<Arena> arena, uint64_t offset, size_t bytes)
      : DmaMemory(arena->memory() + offset, arena->address() + offset, bytes),
        arena_(std::move(arena)),
        offset_(offset) {}
  ~Block() override { arena_->Free(offset_, RoundUp(size(), kGrain)); }

 private:
  std::shared_ptr<Arena> arena_;
  const uint64_t offset_;
};

class ContextFunction::UserMemory final : public host::DmaMemory {
 public:
  UserMemory(std::shared_ptr<Connection> connection, uint8_t* data, uint64_t address, size_t bytes)
      : DmaMemory(data, address, bytes), connection_(std::move(connection)) {}
  ~UserMemory() override {
    // If the service refuses, it stays mapped until the context ends.
    Unmap message;
    message.address = address();
    static_cast<void>(connection_->Call(message, 0));
  }

 private:
  std::shared_ptr<Connection> connection_;
};

Result<std::unique_ptr<ContextFunction>> ContextFunction::Create(std::shared_ptr<Connection> connection,
                                                                 uint16_t vectors) {
  Result<std::shared_ptr<Arena>> arena = Arena::Make(connection);
  if (!arena.ok()) return arena.error();
  std::unique_ptr<ContextFunction> function(new ContextFunction(std::move(connection), vectors));
  function->arena_ = std::move(arena).value();
  return function;
}

Result<host::DmaBuffer> ContextFunction::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || !std::has_single_bit(alignment) || alignment > kPageBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(bytes) + " bytes of DMA memory, aligned to " + std::to_string(alignment)};
  }
  if (Status healthy = health(); !healthy.ok()) return healthy.error();
  std::optional<uint64_t> offset;
  if (bytes <= kArenaBytes) offset = arena_->Take(RoundUp(bytes, kGrain), std::max<uint64_t>(alignment, kGrain));
  if (!offset.has_value()) return Error{ErrorCode::kNoMemory, std::to_string(bytes) + " bytes of DMA memory"};
  return host::DmaBuffer(std::make_unique<Block>(arena_, *offset, bytes));
}

Result<host::DmaBuffer> ContextFunction::MapDma(uint8_t* memory, size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || reinterpret_cast<uintptr_t>(memory) % kPageBytes != 0) {
    return Error{ErrorCode::kInvalidArgument, "memory to map must be page-aligned"};
  }
  MapUser message;
  message.address = reinterpret_cast<uintptr_t>(memory);
  message.bytes = bytes;
  Result<std::vector<uint8_t>> mapped = connection_->Call(message, sizeof(MapAnswer));
  if (!mapped.ok()) return mapped.error();
  return host::DmaBuffer(std::make_unique<UserMemory>(connection_, memory, Get<MapAnswer>(*mapped).address, bytes));
}

// --- Registers

uint32_t ContextFunction::ReadConfig(uint32_t /*offset*/, unsigned bytes) {
  return bytes >= 4 ? ~uint32_t{0} : (uint32_t{1} << 8 * bytes) - 1;
}

uint64_t ContextFunction::ReadBar(unsigned /*bar*/, uint64_t /*offset*/, unsigned bytes) {
  return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
}

void ContextFunction::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  DoorbellWrite doorbell;
  doorbell.offset = offset;
  doorbell.value = value;
  doorbell.bar = static_cast<uint8_t>(bar);
  doorbell.width = static_cast<uint8_t>(bytes);
  connection_->Ring(doorbell);
}

// --- Interrupts and time

Status ContextFunction::EnableMsix(unsigned count) {
  if (count <= vectors_.size()) return {};
  return Error{ErrorCode::kInvalidArgument, std::to_string(count) + " vectors of " + std::to_string(vectors_.size())};
}

Result<int> ContextFunction::VectorFd(uint16_t vector) {
  if (vector >= vectors_.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 "vector " + std::to_string(vector) + " of " + std::to_string(vectors_.size())};
  }
  host::FileDescriptor& fd = vectors_[vector].fd;
  if (!fd.is_open()) {
    service::VectorFd message;
    message.vector = vector;
    std::vector<host::FileDescriptor> fds;
    Result<std::vector<uint8_t>> got = connection_->Call(message, 0, {}, -1, &fds);
    if (!got.ok()) return got.error();
    if (fds.size() != 1) return Error{ErrorCode::kMisbehaved, "the service sent no descriptor for a vector"};
    fd = std::move(fds[0]);
  }
  return fd.get();
}

// Clear the eventfd counter, so that a message that is never taken does not wake the next Wait.
bool ContextFunction::Harvest(Vector& vector) {
  uint64_t count = 0;
  if (!vector.fd.is_open() || ::read(vector.fd.get(), &count, sizeof count) != sizeof count) return false;
  vector.has_arrived = true;
  return true;
}

bool ContextFunction::TakeInterrupt(unsigned vector) {
  if (vector >= vectors_.size()) return false;
  Harvest(vectors_[vector]);
  return std::exchange(vectors_[vector].has_arrived, false);
}

uint64_t ContextFunction::NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void ContextFunction::Wait(uint64_t deadline_ns) {
  const uint64_t now = NowNs();
  if (deadline_ns <= now) {
    ::sched_yield();  // the device runs in another process, perhaps on this processor
    for (Vector& vector : vectors_) Harvest(vector);
    return;
  }
  std::vector<pollfd> fds{{.fd = connection_->socket(), .events = 0, .revents = 0}};  // reports when it is closed
  for (const Vector& vector : vectors_) {
    if (vector.fd.is_open()) fds.push_back({.fd = vector.fd.get(), .events = POLLIN, .revents = 0});
  }
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t left = deadline_ns - now;
  const timespec timeout{.tv_sec = static_cast<time_t>(std::min<uint64_t>(left / kSecond, 1U << 30)),
                         .tv_nsec = static_cast<long>(left % kSecond)};
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
  for (Vector& vector : vectors_) Harvest(vector);
}

}  // namespace vireo::service
