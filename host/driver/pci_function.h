// SPDX-License-Identifier: Apache-2.0
// The one seam between driver and device: a PCI function as a user-space driver sees it. Behind it is an in-process
// simulation, another process (vfio-user) or a real board (Linux VFIO). The driver knows nothing about which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/driver/result.h"

namespace vireo::host {

// Memory that host and device both see, coherently; destroying the object takes it away from the device (and gives
// memory that AllocateDma made back to the system). The owner must make sure first that the device no longer uses it:
// queue or device reset. Must not outlive its PciFunction.
class DmaMemory {
 public:
  virtual ~DmaMemory() = default;
  DmaMemory(const DmaMemory&) = delete;
  DmaMemory& operator=(const DmaMemory&) = delete;

  uint8_t* data() const { return data_; }        // where the host finds it
  uint64_t address() const { return address_; }  // where the device finds it; contiguous there
  size_t size() const { return size_; }          // bytes

 protected:
  DmaMemory(uint8_t* data, uint64_t address, size_t size) : data_(data), address_(address), size_(size) {}

 private:
  uint8_t* data_;
  uint64_t address_;
  size_t size_;
};

using DmaBuffer = std::unique_ptr<DmaMemory>;

// Memory of another process, which this one has no pointer to. Offsets count from its start and stay inside it. False:
// it could not be done (the process is gone, the page is not there); the device then gets an error completion.
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  virtual bool Read(uint64_t offset, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t offset, std::span<const uint8_t> data) = 0;
};

// Calls come from one thread at a time, except DMA memory, which is ordinary memory, and WriteBar, which several
// threads may call at once for different doorbells.
//
// A function that is gone behaves as the bus does: reads give all ones, writes are lost, DMA stops. health() tells this
// from a device that really answers all ones.
class PciFunction {
 public:
  virtual ~PciFunction() = default;

  // Ok, or kLost with the reason. Never becomes ok again.
  virtual Status health() const = 0;

  // --- Configuration space. `bytes` is 1, 2 or 4, `offset` a multiple of it. Values are little-endian numbers.
  virtual uint32_t ReadConfig(uint32_t offset, unsigned bytes) = 0;
  virtual void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) = 0;

  // --- Memory BARs, 0 to 5. `bytes` is 1, 2, 4 or 8, `offset` a multiple of it; one call is one access of that width,
  // in the order of the calls. A read returns after all earlier writes have arrived; a write may be posted. Before a
  // write takes effect, all earlier stores of this thread to DMA memory are visible to the device.
  virtual uint64_t BarBytes(
      unsigned bar) const = 0;  // 0: there is no such BAR (also for the upper half of a 64-bit one)
  virtual uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) = 0;
  virtual void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) = 0;

  // --- DMA memory
  // `bytes` from 1; filled with zeros; at least aligned to `alignment` (a power of 2, up to 4096) on both sides.
  // kNoMemory.
  virtual Result<DmaBuffer> AllocateDma(size_t bytes, size_t alignment) = 0;
  // Shows memory that exists already to the device; it stays the caller's. Start and size are multiples of 4096.
  // kInvalidArgument, kNoMemory, or kUnsupported by a transport that cannot.
  virtual Result<DmaBuffer> MapDma(uint8_t* memory, size_t bytes) = 0;
  // Shows memory of another process to the device; data() is null. `bytes` is a multiple of 4096. address() is
  // congruent to `like`, the other's address of it, modulo the largest power of 2 that is not above `bytes`, so that
  // large pages can describe it. Errors as MapDma.
  virtual Result<DmaBuffer> MapForeign(std::unique_ptr<ForeignMemory> memory, uint64_t like, size_t bytes);

  // --- MSI-X
  // Vectors that the function has and the host can receive; 0: none, everything is polled.
  virtual unsigned MsixVectors() const = 0;
  // Turns MSI-X on with vectors 0 … count - 1 unmasked; 0 turns it off. The MSI-X table belongs to the transport:
  // neither the driver nor its caller writes it. kInvalidArgument, kRefused.
  virtual Status EnableMsix(unsigned count) = 0;
  // True if a message of this vector has arrived since the last call that said so. Does not wait. All that the device
  // wrote before the message is visible.
  virtual bool TakeInterrupt(unsigned vector) = 0;

  // --- Time
  // Monotonic nanoseconds: simulated ones in a simulation, so that its deadlines do not depend on how fast it runs.
  virtual uint64_t NowNs() = 0;
  // Returns when a message of an enabled vector arrives, at once if one has arrived since the last Wait returned, at
  // the latest when NowNs() reaches deadline_ns. Earlier returns are allowed, so the caller looks again. "Look, then
  // Wait" therefore misses nothing, and a message that nobody takes does not keep others from sleeping. With a deadline
  // that is over it lets the device do what it can do at once and returns; even then a simulation moves its time
  // forward, so that a loop that polls ends.
  virtual void Wait(uint64_t deadline_ns) = 0;
  void Progress() { Wait(0); }
};

}  // namespace vireo::host
