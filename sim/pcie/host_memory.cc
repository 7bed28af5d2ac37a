// SPDX-License-Identifier: Apache-2.0
#include "sim/pcie/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace vireo::sim {

const char* ToString(MemoryError error) {
  switch (error) {
    case MemoryError::kNone: return "none";
    case MemoryError::kNoWindow: return "no_window";
    case MemoryError::kNoPermission: return "no_permission";
    case MemoryError::kFailed: return "failed";
  }
  return "?";
}

HostMemory::~HostMemory() {
  FlushWrites();
  if (group_ != nullptr) std::erase(group_->members, this);
  bool is_outside = false;
  for (size_t i = acknowledged_; i < violations_.size(); ++i) {
    const Violation& one = violations_[i];
    if (one.error == MemoryError::kFailed) continue;  // the process with that memory may have exited
    is_outside = true;
    std::fprintf(stderr, "DMA %s of %llu bytes at %#llx: %s, and not expected\n", one.is_write ? "write" : "read",
                 static_cast<unsigned long long>(one.bytes), static_cast<unsigned long long>(one.address),
                 ToString(one.error));
  }
  if (is_outside) std::abort();
}

void HostMemory::Unmap::operator()(uint8_t* memory) const { munmap(memory, bytes); }

uint64_t HostMemory::TakeAddresses(uint64_t bytes, uint64_t alignment) {
  alignment = std::max(alignment, kPageBytes);
  const uint64_t address = (next_allocation_ + alignment - 1) / alignment * alignment;
  next_allocation_ = (address + bytes + kPageBytes - 1) / kPageBytes * kPageBytes + kPageBytes;
  return address;
}

std::optional<DmaRegion> HostMemory::Allocate(uint64_t bytes, uint64_t alignment, Permission permission) {
  if (bytes == 0 || bytes > uint64_t{1} << 46) return std::nullopt;
  // The system allocates a page on first touch.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  Window window;
  window.permission = permission;
  window.memory = static_cast<uint8_t*>(memory);
  window.owned = {window.memory, Unmap{bytes}};
  const std::span<uint8_t> data(window.memory, bytes);
  uint64_t address = TakeAddresses(bytes, alignment);
  // The caller may have mapped a window of its own in the allocation range.
  while (!Add(address, bytes, window)) address = TakeAddresses(bytes, alignment);
  return DmaRegion{address, data};
}

bool HostMemory::Map(uint64_t address, std::span<uint8_t> memory, Permission permission) {
  Window window;
  window.permission = permission;
  window.memory = memory.data();
  return Add(address, memory.size(), window);
}

bool HostMemory::Map(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> backend, Permission permission) {
  Window window;
  window.permission = permission;
  window.backend = std::move(backend);
  return Add(address, bytes, window);
}

std::optional<DmaRegion> HostMemory::Map(std::span<uint8_t> memory, Permission permission) {
  if (memory.empty()) return std::nullopt;
  uint64_t address = TakeAddresses(memory.size(), kPageBytes);
  while (!Map(address, memory, permission)) address = TakeAddresses(memory.size(), kPageBytes);
  return DmaRegion{address, memory};
}

std::optional<uint64_t> HostMemory::MapLike(uint64_t like, uint64_t bytes, std::unique_ptr<MemoryBackend> backend,
                                            Permission permission) {
  if (bytes == 0 || bytes > uint64_t{1} << 46) return std::nullopt;
  Window window;
  window.permission = permission;
  window.backend = std::move(backend);
  const uint64_t unit = std::max(std::bit_floor(bytes), kPageBytes);
  for (;;) {
    const uint64_t address = TakeAddresses(bytes + unit, unit) + like % unit;
    if (Add(address, bytes, window)) return address;
  }
}

// Moves from `window` on success only.
bool HostMemory::Add(uint64_t address, uint64_t bytes, Window& window) {
  if (bytes == 0 || address + (bytes - 1) < address) return false;
  window.last = address + (bytes - 1);
  const auto next = windows_.lower_bound(address);
  if (next != windows_.end() && next->first <= window.last) return false;
  if (next != windows_.begin() && std::prev(next)->second.last >= address) return false;
  windows_.emplace_hint(next, address, std::move(window));
  return true;
}

bool HostMemory::Remove(uint64_t address) {
  FlushWrites();
  const auto window = windows_.find(address);
  if (window == windows_.end()) return false;
  windows_.erase(window);
  last_found_ = windows_.end();
  return true;
}

bool HostMemory::Protect(uint64_t address, Permission permission) {
  FlushWrites();
  const auto window = windows_.find(address);
  if (window == windows_.end()) return false;
  window->second.permission = permission;
  return true;
}

std::optional<HostMemory::Traffic> HostMemory::TrafficOf(uint64_t address) const {
  const auto window = windows_.find(address);
  return window == windows_.end() ? std::nullopt : std::optional(window->second.traffic);
}

HostMemory::Windows::iterator HostMemory::Find(uint64_t address) {
  if (last_found_ != windows_.end() && last_found_->first <= address && address <= last_found_->second.last) {
    return last_found_;
  }
  auto window = windows_.upper_bound(address);
  if (window == windows_.begin()) return windows_.end();
  --window;
  if (window->second.last < address) return windows_.end();
  return last_found_ = window;
}

MemoryError HostMemory::Check(uint64_t address, uint64_t bytes, Permission needed) {
  const uint64_t last = address + (bytes - 1);
  if (last < address) return MemoryError::kNoWindow;
  for (;;) {
    const auto window = Find(address);
    if (window == windows_.end()) return MemoryError::kNoWindow;
    if ((static_cast<uint8_t>(window->second.permission) & static_cast<uint8_t>(needed)) == 0) {
      return MemoryError::kNoPermission;
    }
    if (window->second.last >= last) return MemoryError::kNone;
    address = window->second.last + 1;
  }
}

MemoryError HostMemory::Record(uint64_t address, uint64_t bytes, bool is_write, MemoryError error) {
  if (error != MemoryError::kNone && violations_.size() < kMaxViolations) {
    violations_.push_back({address, bytes, is_write, error});
  }
  return error;
}

MemoryError HostMemory::Probe(uint64_t address, uint64_t bytes, Permission needed) {
  if (bytes == 0) return MemoryError::kNone;
  return Record(address, bytes, needed == Permission::kWrite, Check(address, bytes, needed));
}

// copy(window, offset in it, part of the data) for each window in turn.
template <typename Span, typename Copy>
MemoryError HostMemory::Access(uint64_t address, Span data, Permission needed, Copy copy) {
  if (data.empty()) return MemoryError::kNone;
  const bool is_write = needed == Permission::kWrite;
  if (const MemoryError error = Check(address, data.size(), needed); error != MemoryError::kNone) {
    return Record(address, data.size(), is_write, error);
  }
  const uint64_t whole = address;
  const uint64_t bytes = data.size();
  while (!data.empty()) {
    const auto window = Find(address);
    const uint64_t count = std::min<uint64_t>(data.size() - 1, window->second.last - address) + 1;
    if (!copy(window->second, address - window->first, data.first(count))) {
      return Record(whole, bytes, is_write, MemoryError::kFailed);
    }
    (is_write ? window->second.traffic.written_bytes : window->second.traffic.read_bytes) += count;
    data = data.subspan(count);
    address += count;
  }
  return MemoryError::kNone;
}

MemoryError HostMemory::Read(uint64_t address, std::span<uint8_t> data) {
  const auto copy = [this](Window& window, uint64_t offset, std::span<uint8_t> part) {
    if (window.memory == nullptr) {
      FlushWrites();
      return window.backend->Read(offset, part);
    }
    std::memcpy(part.data(), window.memory + offset, part.size());
    return true;
  };
  const MemoryError error = Access(address, data, Permission::kRead, copy);
  if (on_access_ && error == MemoryError::kNone) on_access_(address, data.size(), {});
  return error;
}

MemoryError HostMemory::Write(uint64_t address, std::span<const uint8_t> data) {
  bool external = false;
  const auto copy = [&](Window& window, uint64_t offset, std::span<const uint8_t> part) {
    if (window.memory == nullptr) {
      external = true;
      return Hold(window, address + static_cast<uint64_t>(part.data() - data.data()), part) ||
             window.backend->Write(offset, part);
    }
    FlushWrites();  // an observer of these bytes may read earlier ones
    std::memcpy(window.memory + offset, part.data(), part.size());
    return true;
  };
  const MemoryError error = Access(address, data, Permission::kWrite, copy);
  if (on_write_ && error == MemoryError::kNone) on_write_(external);
  if (on_access_ && error == MemoryError::kNone) on_access_(address, data.size(), data);
  return error;
}

void HostMemory::FlushWrites() {
  if (group_ != nullptr) {
    for (HostMemory* const member : group_->members) {
      if (member != this && !member->held_.empty()) member->WriteHeld();
    }
  }
  if (!held_.empty()) WriteHeld();
}

void HostMemory::Join(std::shared_ptr<Group> group) {
  group_ = std::move(group);
  group_->members.push_back(this);
}

void HostMemory::CombineWrites(size_t most_bytes) {
  FlushWrites();
  most_held_ = most_bytes;
}

// False: the caller writes the data, after the flushed writes.
bool HostMemory::Hold(const Window& window, uint64_t address, std::span<const uint8_t> data) {
  // A window may start right where another one ends, with another backend.
  const bool is_contiguous = address == held_address_ + held_.size() && address <= held_last_;
  const bool is_direct = data.size() > most_held_;
  const bool ends = !held_.empty() && (!is_contiguous || held_.size() + data.size() > most_held_);
  if (is_direct || ends) FlushWrites();
  if (is_direct) return false;
  if (held_.empty()) {
    held_address_ = address;
    held_last_ = window.last;
  }
  held_.insert(held_.end(), data.begin(), data.end());
  return true;
}

void HostMemory::WriteHeld() {
  const auto window = Find(held_address_);  // exists: Remove() flushes first
  if (!window->second.backend->Write(held_address_ - window->first, held_)) {
    static_cast<void>(Record(held_address_, held_.size(), /*is_write=*/true, MemoryError::kFailed));
  }
  held_.clear();
}

bool HostMemory::IsExternal(uint64_t address, uint64_t bytes) {
  if (bytes == 0 || Check(address, bytes, Permission::kRead) != MemoryError::kNone) return false;
  const auto window = Find(address);
  return window->second.memory == nullptr && bytes - 1 <= window->second.last - address;
}

bool HostMemory::ReadExternal(uint64_t address, std::span<uint8_t> data) {
  if (!IsExternal(address, data.size())) return false;
  FlushWrites();
  const auto window = Find(address);
  if (!window->second.backend->Read(address - window->first, data)) return false;
  window->second.traffic.read_bytes += data.size();
  return true;
}

uint8_t* HostMemory::HostPointer(uint64_t address, uint64_t bytes) {
  const auto window = Find(address);
  if (window == windows_.end() || window->second.memory == nullptr) return nullptr;
  if (bytes == 0 || bytes - 1 > window->second.last - address) return nullptr;
  return window->second.memory + (address - window->first);
}

}  // namespace vireo::sim
