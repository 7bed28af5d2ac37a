// SPDX-License-Identifier: Apache-2.0
// The memory of one host as its devices see it: windows of device addresses, each with permissions, and nothing between
// them. Timing is PcieLink's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {

// What a device may do.
enum class Permission : uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };

enum class MemoryError : uint8_t {
  kNone,
  kNoWindow,      // some byte lies in no window
  kNoPermission,  // the window does not allow this kind of access
  kFailed,        // the window's backend could not do it
};
const char* ToString(MemoryError error);

// Memory that is not in this process, for example of a vfio-user client that gave no file descriptor.
class MemoryBackend {
 public:
  virtual ~MemoryBackend() = default;
  // Offsets count from the window's start and stay inside it. False: could not be done.
  virtual bool Read(uint64_t offset, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t offset, std::span<const uint8_t> data) = 0;
};

// Memory that host and device share. `data` is where the host finds it, `address` where the device does.
struct DmaRegion {
  uint64_t address = 0;
  std::span<uint8_t> data;
};

// Sparse: a byte costs memory when it is first touched. Device accesses are all or nothing: one that goes wrong
// anywhere changes nothing (unless a backend fails half-way), is recorded, and is answered with its error. One that
// went outside of the windows, or against their permissions, and that nobody has asked for with violations() until the
// memory goes, ends the program: so every test checks every access, whether it thinks of that or not. Windows that
// touch each other count as one. Host accesses through pointers are ordinary memory accesses and are not checked.
class HostMemory {
 public:
  struct Violation {
    uint64_t address = 0;  // of the access, not of the first wrong byte
    uint64_t bytes = 0;
    bool is_write = false;
    MemoryError error = MemoryError::kNone;
  };
  static constexpr size_t kMaxViolations = 1000;
  static constexpr uint64_t kPageBytes = 4096;
  // Above 4 GiB, so that device addresses need all their 64 bits; the same in every run.
  static constexpr uint64_t kFirstAllocation = 0x12'0000'0000;

  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // `bytes` from 1, zeroed, aligned on both sides to `alignment` (a power of 2; on the host's side up to a page). The
  // window ends with the last byte, and the page behind it is never used: an access beyond the end is an error. Nothing
  // if the system has no memory.
  std::optional<DmaRegion> Allocate(uint64_t bytes, uint64_t alignment = 64,
                                    Permission permission = Permission::kReadWrite);

  // Shows memory that exists at an address of the caller's choice, or of ours (also never used before). It must live
  // until the window is removed. False or nothing if it is empty, would overlap another window or runs past 2^64.
  bool Map(uint64_t address, std::span<uint8_t> memory, Permission permission);
  bool Map(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> backend, Permission permission);
  std::optional<DmaRegion> Map(std::span<uint8_t> memory, Permission permission = Permission::kReadWrite);
  // The address is ours, and congruent to `like` modulo the largest power of 2 that is not above `bytes` (at least a
  // page), so that large pages can describe it. Nothing if it is empty.
  std::optional<uint64_t> MapLike(uint64_t like, uint64_t bytes, std::unique_ptr<MemoryBackend> backend,
                                  Permission permission = Permission::kReadWrite);

  // Removes the window that starts at `address`, and its memory if Allocate() made it. Its addresses are not given out
  // again, so that late accesses show. False: no window starts there.
  bool Remove(uint64_t address);
  // What the window that starts at `address` allows from now on. False: no window starts there.
  bool Protect(uint64_t address, Permission permission);

  // Device accesses, recorded if they fail. No bytes: always allowed.
  MemoryError Read(uint64_t address, std::span<uint8_t> data);
  MemoryError Write(uint64_t address, std::span<const uint8_t> data);
  // Memory that is elsewhere is slow to reach, each time anew.
  // From now on writes to backends wait as long as each begins where the one before ended, up to so many bytes; 0: none
  // waits. They are done before any other access that could tell, and by Settle(). One that fails then is recorded, as
  // all that it was made of, but Write() has said kNone.
  void CombineWrites(size_t most_bytes);
  void Settle() {
    if (!held_.empty()) WriteHeld();
  }
  // Both: all of these bytes lie in one window with a backend, and may be read. The second one reads them then, else it
  // does nothing, and records nothing.
  bool IsElsewhere(uint64_t address, uint64_t bytes);
  bool ReadElsewhere(uint64_t address, std::span<uint8_t> data);
  // Only whether it would be allowed; recorded if not.
  MemoryError Probe(uint64_t address, uint64_t bytes, Permission needed);

  // Bytes that devices have read and written in a window; those of accesses that failed do not count.
  struct Traffic {
    uint64_t read_bytes = 0, written_bytes = 0;
  };
  // Of the window that starts at `address`, since it is there. Nothing: no window starts there.
  std::optional<Traffic> TrafficOf(uint64_t address) const;

  // `listener` hears of each device write that was done, afterwards; `elsewhere`: some of it went to a backend.
  void OnWrite(std::function<void(bool elsewhere)> listener) { on_write_ = std::move(listener); }

  // The host's pointer to bytes that lie in one window in this process; null otherwise. Permissions are not looked at.
  uint8_t* HostPointer(uint64_t address, uint64_t bytes);

  // In the order in which they happened; the first kMaxViolations. Who asks answers for those until then.
  const std::vector<Violation>& violations() const {
    asked_ = violations_.size();
    return violations_;
  }
  // For a test that expected them.
  void ClearViolations() {
    violations_.clear();
    asked_ = 0;
  }

 private:
  struct Unmap {
    uint64_t bytes;
    void operator()(uint8_t* memory) const;
  };
  struct Window {
    uint64_t last = 0;  // address of its last byte
    Permission permission = Permission::kNone;
    Traffic traffic;
    uint8_t* memory = nullptr;  // null: backend
    std::unique_ptr<MemoryBackend> backend;
    std::unique_ptr<uint8_t[], Unmap> owned;
  };
  using Windows = std::map<uint64_t, Window>;  // by the address of the first byte

  bool Add(uint64_t address, uint64_t bytes, Window& window);
  uint64_t TakeAddresses(uint64_t bytes, uint64_t alignment);
  Windows::iterator Find(uint64_t address);  // the window that holds it; end() if none does
  MemoryError Check(uint64_t address, uint64_t bytes, Permission needed);
  MemoryError Record(uint64_t address, uint64_t bytes, bool is_write, MemoryError error);
  bool Hold(const Window& window, uint64_t address, std::span<const uint8_t> data);
  void WriteHeld();
  template <typename Span, typename Copy>
  MemoryError Access(uint64_t address, Span data, Permission needed, Copy copy);

  Windows windows_;
  Windows::iterator last_found_ = windows_.end();  // accesses come in runs
  uint64_t next_allocation_ = kFirstAllocation;
  std::vector<Violation> violations_;
  mutable size_t asked_ = 0;  // so many of them somebody knows of
  std::function<void(bool)> on_write_;
  size_t most_held_ = 0;
  std::vector<uint8_t> held_;                  // of writes that wait: all of one window
  uint64_t held_address_ = 0, held_last_ = 0;  // last: of their window
};

}  // namespace vireo::sim
