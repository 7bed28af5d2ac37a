// SPDX-License-Identifier: Apache-2.0
// The memory of one host as its devices see it: windows of device addresses, each with permissions; all other addresses
// are unmapped. Timing is in PcieLink.
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

// Device access rights.
enum class Permission : uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };

enum class MemoryError : uint8_t {
  kNone,
  kNoWindow,      // some byte is in no window
  kNoPermission,  // the window does not allow this kind of access
  kFailed,        // the window's backend failed
};
const char* ToString(MemoryError error);

// Memory outside this process (external), for example of a vfio-user client that passed no file descriptor.
class MemoryBackend {
 public:
  virtual ~MemoryBackend() = default;
  // Offsets count from the window's start and stay inside it. False: the access failed.
  virtual bool Read(uint64_t offset, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t offset, std::span<const uint8_t> data) = 0;
};

// Memory shared by host and device. `data` is the host's view, `address` the device's.
struct DmaRegion {
  uint64_t address = 0;
  std::span<uint8_t> data;
};

// Sparse: a page is allocated on first touch. Device accesses are all or nothing: a failing access changes nothing
// (unless a backend fails half-way), is recorded, and returns its error. The destructor aborts the program if an access
// outside the windows, or against their permissions, was recorded that violations() has not returned: so every test
// checks every access. Adjacent windows count as one. Host accesses through pointers are ordinary memory accesses and
// are not checked.
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

  // `bytes` is 1 or more, zeroed, aligned on both sides to `alignment` (a power of 2; on the host's side up to a page).
  // The window ends with the last byte, and the next page is never used: an access beyond the end is an error. Nothing
  // if out of memory.
  std::optional<DmaRegion> Allocate(uint64_t bytes, uint64_t alignment = 64,
                                    Permission permission = Permission::kReadWrite);

  // Maps existing memory at the given address, or at one that Map chooses and that was never used before. The memory
  // must outlive the window. False or nothing if it is empty, would overlap another window or exceeds 2^64.
  bool Map(uint64_t address, std::span<uint8_t> memory, Permission permission);
  bool Map(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> backend, Permission permission);
  std::optional<DmaRegion> Map(std::span<uint8_t> memory, Permission permission = Permission::kReadWrite);
  // Chooses an address congruent to `like` modulo the largest power of 2 not above `bytes` (at least a page), so that
  // large pages can map it. Nothing if it is empty.
  std::optional<uint64_t> MapLike(uint64_t like, uint64_t bytes, std::unique_ptr<MemoryBackend> backend,
                                  Permission permission = Permission::kReadWrite);

  // Removes the window that starts at `address`, and its memory if Allocate() made it. Its addresses are not reused, so
  // that late accesses are detected. False: no window starts there.
  bool Remove(uint64_t address);
  // Changes the permissions of the window that starts at `address`. False: no window starts there.
  bool Protect(uint64_t address, Permission permission);

  // Device accesses; failures are recorded. No bytes: always allowed.
  MemoryError Read(uint64_t address, std::span<uint8_t> data);
  MemoryError Write(uint64_t address, std::span<const uint8_t> data);
  // Each access to external memory is slow. Combines writes to backends while each starts where the previous one ended,
  // up to most_bytes (0: off). The combined write is flushed before any other access that could observe it, and by
  // FlushWrites(). A failure then is recorded as one violation over all its bytes; Write() has already returned kNone.
  void CombineWrites(size_t most_bytes);
  // Flushes the combined writes of the whole group, of others first.
  void FlushWrites();
  // Memories whose devices affect each other, as NICs on one wire: what one device causes is visible in its memory only
  // after what others wrote before. A WRITE, for example, is in the responder's memory before the requester's
  // completion is in its own. Every flush and every access that could be observed flushes all members. A member leaves
  // in its destructor.
  struct Group {
    std::vector<HostMemory*> members;
  };
  void Join(std::shared_ptr<Group> group);
  // Both need all bytes in one readable window with a backend. ReadExternal then reads them; else it returns false,
  // with no effect and nothing recorded.
  bool IsExternal(uint64_t address, uint64_t bytes);
  bool ReadExternal(uint64_t address, std::span<uint8_t> data);
  // Checks an access without doing it; failures are recorded.
  MemoryError Probe(uint64_t address, uint64_t bytes, Permission needed);

  // Bytes that devices have read and written in a window; failed accesses do not count.
  struct Traffic {
    uint64_t read_bytes = 0, written_bytes = 0;
  };
  // Of the window that starts at `address`, since it was mapped. Nothing: no window starts there.
  std::optional<Traffic> TrafficOf(uint64_t address) const;

  // `listener` is called after each successful device write; `external`: part of it went to a backend.
  void OnWrite(std::function<void(bool external)> listener) { on_write_ = std::move(listener); }

  // `listener` is called with each successful device access: of a write its data, of a read nothing.
  void OnAccess(std::function<void(uint64_t address, uint64_t bytes, std::span<const uint8_t> written)> listener) {
    on_access_ = std::move(listener);
  }

  // The host's pointer to bytes in one window in this process; null otherwise. Permissions are not checked.
  uint8_t* HostPointer(uint64_t address, uint64_t bytes);

  // In order of occurrence; the first kMaxViolations. Calling it acknowledges those recorded so far (see the
  // destructor).
  const std::vector<Violation>& violations() const {
    acknowledged_ = violations_.size();
    return violations_;
  }
  // For a test that expects violations.
  void ClearViolations() {
    violations_.clear();
    acknowledged_ = 0;
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
  Windows::iterator Find(uint64_t address);  // the window with this address; end() if none
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
  mutable size_t acknowledged_ = 0;  // how many violations() has returned
  std::function<void(bool)> on_write_;
  std::function<void(uint64_t, uint64_t, std::span<const uint8_t>)> on_access_;
  size_t most_held_ = 0;
  std::shared_ptr<Group> group_;
  std::vector<uint8_t> held_;                  // the combined write; all in one window
  uint64_t held_address_ = 0, held_last_ = 0;  // last: of its window
};

}  // namespace vireo::sim
