// SPDX-License-Identifier: Apache-2.0
// The device side of a virtqueue, a reference for the driver's tests: written from the standard, without the driver's
// code. Checks all that it reads; violations by the driver are recorded in violations().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Memory by device address.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Host pointer to `bytes` bytes at a device address; null if any of them is not mapped for the device.
  virtual uint8_t* At(uint64_t address, uint64_t bytes) = 0;
};

struct MockSegment {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool writable = false;
  bool operator==(const MockSegment&) const = default;
};

// A buffer that the driver made available.
struct MockChain {
  uint16_t id = 0;           // split: head; packed: buffer id
  uint16_t descriptors = 0;  // of the ring
  std::vector<MockSegment> segments;

  uint64_t Room() const;  // writable bytes
};

struct MockRingSetup {
  uint16_t size = 0;
  uint64_t descriptors = 0;
  uint64_t driver = 0;
  uint64_t device = 0;
  bool event_idx = false;
  bool indirect = false;
};

// Entries are counted from 0 and never wrap: in a split ring chains, in a packed one descriptors.
class MockRing {
 public:
  MockRing(DeviceMemory& memory, const MockRingSetup& setup) : memory_(memory), setup_(setup) {}
  virtual ~MockRing() = default;

  // The next available buffer; none if there is none or it is malformed.
  virtual std::optional<MockChain> Fetch() = 0;
  // Entries that are available, fetched or not.
  virtual uint64_t AvailableEnd() = 0;
  uint64_t fetched() const { return fetched_; }

  // Writes a used element. PublishUsed makes it visible to the driver.
  virtual void Use(const MockChain& chain, uint32_t written) = 0;
  // Makes all used elements visible. True if the driver requested an interrupt for them.
  virtual bool PublishUsed() = 0;

  // Doorbell suppression: no doorbells (a hint; with event_idx, the furthest event), all, or when entry `at` becomes
  // available.
  virtual void DisableDoorbell() = 0;
  virtual void EnableDoorbell() = 0;
  virtual void EnableDoorbellAt(uint64_t at) = 0;

  // Writes an arbitrary used element and publishes it.
  virtual void UseRaw(uint32_t id, uint32_t written, uint16_t entries) = 0;

  const std::vector<std::string>& violations() const { return violations_; }

 protected:
  uint16_t Load16(uint64_t address);
  uint32_t Load32(uint64_t address);
  void Store16(uint64_t address, uint16_t value);
  void Store32(uint64_t address, uint32_t value);
  void Violation(const std::string& what) { violations_.push_back(what); }
  void CheckSegments(const std::vector<MockSegment>& segments);

  DeviceMemory& memory_;
  const MockRingSetup setup_;
  uint64_t fetched_ = 0;
  std::vector<std::string> violations_;
};

std::unique_ptr<MockRing> MakeMockSplitRing(DeviceMemory& memory, const MockRingSetup& setup);
std::unique_ptr<MockRing> MakeMockPackedRing(DeviceMemory& memory, const MockRingSetup& setup);

}  // namespace vireo::sim
