// SPDX-License-Identifier: Apache-2.0
// The virtio PCI transport (virtio 1.3, 4.1): locates the registers, runs the initialization sequence, enables and
// resets queues. Modern devices only: no legacy registers. Independent of the device type.
//
// All waits have a timeout in the function's time. Not thread-safe, except doorbells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/driver/features.h"
#include "host/driver/pci_function.h"
#include "host/driver/virtqueue.h"

namespace vireo::host {

// Part of a BAR.
struct BarRegion {
  uint8_t bar = 0;
  uint64_t offset = 0;  // bytes
  uint64_t length = 0;  // bytes
};

struct VirtioPciLayout {
  BarRegion common;
  BarRegion notify;
  BarRegion isr;
  BarRegion device;  // device configuration
  uint32_t notify_off_multiplier = 0;
};

// Walks the capability list of a modern virtio-net function and returns the first usable region of each kind. As virtio
// requires, a capability of unknown type or with a reserved BAR is skipped, and the first valid one of several is used.
// If a kind is missing, the error lists why its capabilities were invalid. kNoDevice: another device, a list that loops
// or leaves the configuration space, or a missing region.
Result<VirtioPciLayout> FindVirtioLayout(PciFunction& function);

// The doorbell of one queue. Its functions do not block. Doorbells of different queues may be used by different
// threads.
class Doorbell {
 public:
  Doorbell(PciFunction& function, uint8_t bar, uint64_t offset, uint16_t value, bool sends_position)
      : function_(&function), bar_(bar), offset_(offset), value_(value), sends_position_(sends_position) {}

  // Notifies the device of published buffers.
  void Ring(const Virtqueue& ring) const;
  // Send queues of a device with max_push: as Ring, and tells the device the newest buffer, which is the work request
  // at `address`, of up to spec::kRdmaPushMost. The device does not read it, if it has processed all before it.
  void Push(const Virtqueue& ring, uint64_t address, std::span<const uint8_t> request) const;
  // Profile vireo, completion queues only: requests an interrupt at the next CQE after the harvested ones, `flags` as
  // spec::IbNotifyFlags. If such a CQE is already in the ring, the device interrupts immediately.
  void ArmCq(const Virtqueue& ring, uint32_t flags) const;

  uint8_t bar() const { return bar_; }
  uint64_t offset() const { return offset_; }  // in the BAR, for callers that map the page
  uint16_t value() const { return value_; }    // identifies the queue in the written value

 private:
  PciFunction* function_;
  uint8_t bar_;
  uint64_t offset_;
  uint16_t value_;
  bool sends_position_;
};

class VirtioPci {
 public:
  // Locates the registers and enables memory space and bus mastering. Changes nothing else. `function` must outlive the
  // object.
  static Result<VirtioPci> Open(PciFunction& function);

  const VirtioPciLayout& layout() const { return layout_; }
  PciFunction& function() const { return *function_; }
  // Features accepted by AcceptFeatures since the last Reset.
  const FeatureSet& features() const { return features_; }

  // --- Initialization, in this order. After a failure: Fail, or restart with Reset.
  // Resets the device: on success all DMA has stopped and all device state is cleared. kTimeout, kLost.
  Status Reset(uint64_t timeout_ns);
  void Acknowledge();  // sets ACKNOWLEDGE and DRIVER
  FeatureSet OfferedFeatures();
  // `accepted` must be offered. kInvalidArgument; kRefused: the device did not keep FEATURES_OK. `profile` is for the
  // names in the error's text.
  Status AcceptFeatures(const FeatureSet& accepted, spec::Profile profile);
  void DriverOk();
  void Fail();
  // The device status register: spec::VirtioDeviceStatus.
  uint8_t ReadStatus();

  // --- Device configuration
  // Reads bytes [offset, offset + struct) with accesses of each field's width, as one consistent snapshot (generation
  // check). kUnsupported: beyond the region; kMisbehaved: the configuration keeps changing.
  template <typename Struct>
  Result<Struct> ReadDeviceConfig(uint32_t offset) {
    Struct value{};
    std::vector<unsigned> widths;
    Struct::Visit(value, [&](const char*, const auto&, unsigned bits) { widths.push_back(bits / 8); });
    uint8_t bytes[Struct::kBytes]{};
    if (Status status = ReadDeviceConfigFields(offset, widths, bytes); !status.ok()) return status.error();
    return Struct::Decode(bytes);
  }
  uint64_t device_config_bytes() const { return layout_.device.length; }
  uint8_t ReadConfigGeneration();
  // Reads spec::VirtioIsr, which clears it.
  uint8_t ReadIsr();
  // Sets the vector of configuration changes, or none. kRefused: the device has no resources for it.
  Status SetConfigVector(std::optional<uint16_t> vector);

  // --- Queues
  uint16_t NumQueues();
  // Maximum size of a queue that is not enabled. kUnsupported: there is no such queue. In all functions, `queue` is the
  // queue's index.
  Result<uint16_t> MaxQueueSize(uint16_t queue);
  // Writes the ring addresses and enables the queue. The queue must not be enabled: call it after reset of device or
  // queue. kUnsupported: no such queue, or smaller than the ring; kBadState: enabled; kRefused: vector or enable not
  // accepted.
  Status EnableQueue(uint16_t queue, const Virtqueue& ring, std::optional<uint16_t> vector) {
    return EnableQueue(queue, ring.size(), ring.addresses(), vector);
  }
  // The same for a ring in another process.
  Status EnableQueue(uint16_t queue, uint16_t size, const RingAddresses& addresses, std::optional<uint16_t> vector);
  // Resets one queue: on success the device accesses neither ring nor buffers, and the tokens can be detached. Requires
  // feature ring_reset. kUnsupported, kTimeout, kMisbehaved, kLost.
  Status ResetQueue(uint16_t queue, uint64_t timeout_ns);
  // kUnsupported: no such queue; kMisbehaved: its doorbell is outside the notify region.
  Result<Doorbell> DoorbellOf(uint16_t queue);

 private:
  VirtioPci(PciFunction& function, const VirtioPciLayout& layout) : function_(&function), layout_(layout) {}

  uint32_t Read(size_t field, unsigned bytes);
  void Write(size_t field, unsigned bytes, uint32_t value);
  void WriteAddress(size_t field, uint64_t value);
  Status SelectQueue(uint16_t queue);
  Status ReadDeviceConfigFields(uint32_t offset, const std::vector<unsigned>& widths, uint8_t* bytes);
  Status Lost(const std::string& what);

  PciFunction* function_;
  VirtioPciLayout layout_;
  FeatureSet features_;
  uint8_t status_ = 0;
};

}  // namespace vireo::host
