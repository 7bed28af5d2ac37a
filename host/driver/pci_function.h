// SPDX-License-Identifier: Apache-2.0
// The only interface between driver and device: a PCI function as a user-space driver sees it. Backends: in-process
// simulation, another process (vfio-user), a real board (Linux VFIO). The driver does not depend on which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/driver/result.h"

namespace vireo::host {

// Memory shared coherently by host and device. Destroying the object unmaps it from the device (and frees it if
// AllocateDma allocated it). Before that, the owner must stop all use by the device: queue or device reset. Must not
// outlive its PciFunction.
class DmaMemory {
 public:
  virtual ~DmaMemory() = default;
  DmaMemory(const DmaMemory&) = delete;
  DmaMemory& operator=(const DmaMemory&) = delete;

  uint8_t* data() const { return data_; }        // host pointer
  uint64_t address() const { return address_; }  // device address; contiguous
  size_t size() const { return size_; }          // bytes

 protected:
  DmaMemory(uint8_t* data, uint64_t address, size_t size) : data_(data), address_(address), size_(size) {}

 private:
  uint8_t* data_;
  uint64_t address_;
  size_t size_;
};

using DmaBuffer = std::unique_ptr<DmaMemory>;

// Memory of another process, not mapped in this one. Offsets count from its start and are in range. False: the access
// failed (the process has ended, the page is not present); the device then receives an error completion.
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  virtual bool Read(uint64_t offset, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t offset, std::span<const uint8_t> data) = 0;
};

// Not thread-safe, except DMA memory, which is ordinary memory, and WriteBar, which several threads may call at once
// for different doorbells.
//
// A lost function behaves as on the bus: reads return all ones, writes are dropped, DMA stops. health() distinguishes
// this from a register that reads as all ones.
class PciFunction {
 public:
  virtual ~PciFunction() = default;

  // Ok, or kLost with the reason. kLost is permanent.
  virtual Status health() const = 0;

  // --- Configuration space. `bytes` is 1, 2 or 4, `offset` a multiple of it. Values are little-endian numbers.
  virtual uint32_t ReadConfig(uint32_t offset, unsigned bytes) = 0;
  virtual void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) = 0;

  // --- Memory BARs, 0 to 5. `bytes` is 1, 2, 4 or 8, `offset` a multiple of it; one call is one access of that width,
  // in the order of the calls. A read completes after all earlier writes; a write may be posted. Before a write takes
  // effect, all earlier stores of this thread to DMA memory are visible to the device.
  virtual uint64_t BarBytes(
      unsigned bar) const = 0;  // 0: there is no such BAR (also for the upper half of a 64-bit one)
  virtual uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) = 0;
  virtual void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) = 0;

  // --- DMA memory
  // `bytes` from 1; filled with zeros; at least aligned to `alignment` (a power of 2, up to 4096) on both sides.
  // kNoMemory.
  virtual Result<DmaBuffer> AllocateDma(size_t bytes, size_t alignment) = 0;
  // Maps existing memory for the device; the caller keeps ownership. Start and size are multiples of 4096.
  // kInvalidArgument, kNoMemory; kUnsupported if the transport cannot.
  virtual Result<DmaBuffer> MapDma(uint8_t* memory, size_t bytes) = 0;
  // Maps memory of another process for the device; data() is null. `bytes` is a multiple of 4096. address() is
  // congruent to `like`, the address in the other process, modulo the largest power of 2 not above `bytes`, so that
  // large pages can describe it. Errors as MapDma.
  virtual Result<DmaBuffer> MapForeign(std::unique_ptr<ForeignMemory> memory, uint64_t like, size_t bytes);

  // --- MSI-X
  // Number of vectors that the function has and the host can receive; 0: everything is polled.
  virtual unsigned MsixVectors() const = 0;
  // Enables MSI-X with vectors 0 … count - 1 unmasked; 0 disables it. Only the transport writes the MSI-X table.
  // kInvalidArgument, kRefused.
  virtual Status EnableMsix(unsigned count) = 0;
  // True if a message of this vector has arrived since the last call that returned true. Does not block. All that the
  // device wrote before the message is visible.
  virtual bool TakeInterrupt(unsigned vector) = 0;

  // --- Time
  // Monotonic nanoseconds. In a simulation, simulated time: deadlines do not depend on simulation speed.
  virtual uint64_t NowNs() = 0;
  // Returns when a message of an enabled vector arrives, immediately if one has arrived since the last Wait returned,
  // at the latest when NowNs() reaches deadline_ns. May return early, so callers must poll again. "Poll, then Wait"
  // therefore loses no message, and a message that is never taken does not keep later calls from sleeping. With a
  // deadline in the past it lets the device make progress and returns; even then a simulation advances its time, so
  // that a polling loop terminates.
  virtual void Wait(uint64_t deadline_ns) = 0;
  void Progress() { Wait(0); }
};

}  // namespace vireo::host
