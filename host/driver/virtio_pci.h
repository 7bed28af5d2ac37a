// SPDX-License-Identifier: Apache-2.0
// The virtio transport over PCI (virtio 1.3, 4.1): finds the registers, brings the device through its states, tells it
// about queues. Modern devices only: there are no legacy registers. It knows nothing of what the device is for.
//
// All waiting has a limit in the function's own time. One thread at a time, but for doorbells.
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
// demands, a capability of unknown type or with a reserved BAR is skipped, and the first good one of several is taken;
// if a kind is missing then, the error says why those that were there are no good. kNoDevice: another device, a list
// that loops or leaves the configuration space, or a missing region.
Result<VirtioPciLayout> FindVirtioLayout(PciFunction& function);

// The doorbell of one queue. Rings and arms do not wait. Doorbells of different queues may be used by different
// threads.
class Doorbell {
 public:
  Doorbell(PciFunction& function, uint8_t bar, uint64_t offset, uint16_t value, bool sends_position)
      : function_(&function), bar_(bar), offset_(offset), value_(value), sends_position_(sends_position) {}

  // Tells the device to look at the ring, which was published before.
  void Ring(const Virtqueue& ring) const;
  // Profile vireo, completion queues only: asks for an interrupt at a CQE behind what was harvested, `flags` as
  // spec::IbNotifyFlags. If such a CQE is there already, the device notifies at once.
  void ArmCq(const Virtqueue& ring, uint32_t flags) const;

  uint8_t bar() const { return bar_; }
  uint64_t offset() const { return offset_; }  // in the BAR, for who maps the page
  uint16_t value() const { return value_; }    // the queue's name in what is written

 private:
  PciFunction* function_;
  uint8_t bar_;
  uint64_t offset_;
  uint16_t value_;
  bool sends_position_;
};

class VirtioPci {
 public:
  // Finds the registers and lets the function answer to memory accesses and send DMA. Changes nothing else. `function`
  // must outlive the object.
  static Result<VirtioPci> Open(PciFunction& function);

  const VirtioPciLayout& layout() const { return layout_; }
  PciFunction& function() const { return *function_; }
  // Features accepted by AcceptFeatures since the last Reset.
  const FeatureSet& features() const { return features_; }

  // --- States, in this order. After a failure: Fail, or start again with Reset.
  // Stops the device: all DMA has ended when this succeeds, and everything set up before is gone. kTimeout, kLost.
  Status Reset(uint64_t timeout_ns);
  void Acknowledge();  // "there is a driver for it"
  FeatureSet OfferedFeatures();
  // `accepted` must be offered. kInvalidArgument; kRefused: the device does not like this set. `profile` is for the
  // names in the error's text.
  Status AcceptFeatures(const FeatureSet& accepted, spec::Profile profile);
  void DriverOk();
  void Fail();
  // The device status register: spec::VirtioDeviceStatus.
  uint8_t ReadStatus();

  // --- Device configuration
  // Reads bytes [offset, offset + struct) by accesses of each field's own width, all from one state of the device
  // (generation check). kUnsupported: beyond the region; kMisbehaved: it does not come to rest.
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
  // Reads and thereby clears spec::VirtioIsr.
  uint8_t ReadIsr();
  // Vector of configuration changes, or none. kRefused: the device has no resources for it.
  Status SetConfigVector(std::optional<uint16_t> vector);

  // --- Queues
  uint16_t NumQueues();
  // Largest size of a queue that is not enabled. kUnsupported: there is no such queue. `queue` is the queue's index
  // everywhere.
  Result<uint16_t> MaxQueueSize(uint16_t queue);
  // Tells the device where the ring is and enables it. The queue must not be enabled: after reset of device or queue.
  // kUnsupported: no such queue, or smaller than the ring; kBadState: enabled; kRefused: vector or enable not accepted.
  Status EnableQueue(uint16_t queue, const Virtqueue& ring, std::optional<uint16_t> vector) {
    return EnableQueue(queue, ring.size(), ring.addresses(), vector);
  }
  // The same for a ring that another process keeps.
  Status EnableQueue(uint16_t queue, uint16_t size, const RingAddresses& addresses, std::optional<uint16_t> vector);
  // Stops one queue: when this succeeds, the device touches neither ring nor buffers, and the tokens can be detached.
  // Needs feature ring_reset. kUnsupported, kTimeout, kMisbehaved, kLost.
  Status ResetQueue(uint16_t queue, uint64_t timeout_ns);
  // kUnsupported: no such queue; kMisbehaved: its doorbell would be outside the region.
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
