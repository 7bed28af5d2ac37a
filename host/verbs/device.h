// SPDX-License-Identifier: Apache-2.0
// RDMA verbs in C++ over a virtio-net RoCE device: the device and the objects created from it. Names and rules are
// those of IBTA vol. 1, chapters 10 and 11, and of libibverbs where they agree.
//
// Objects are reference-counted: a queue pair holds its protection domain and completion queues, a memory region its
// domain, and all of them the device. An object is destroyed with its last reference; after that the device does not
// access its memory. If the device does not answer the destroy command, the memory is kept until the device object is
// destroyed, which resets the device.
//
// Not thread-safe, except posting and polling: different threads may use different queue pairs and completion queues.
// Errors are returned as values; Error::rdma is the device's reason.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/driver/device.h"
#include "host/driver/roce_device.h"

namespace vireo::verbs {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

class CompletionQueue;
class ProtectionDomain;

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Opens the function as a RoCE device; kUnsupported or kNoDevice if it is none. `options.roce` is ignored.
  static Result<std::shared_ptr<Device>> Open(host::PciFunction& function, host::DeviceOptions options = {});
  // Verbs on a RoCE device that is already running.
  static Result<std::shared_ptr<Device>> Attach(std::unique_ptr<host::RoceDevice> base);
  // All objects created from it are destroyed before.
  ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const spec::RdmaAckQueryDevice& attributes() const { return attributes_; }
  bool has_atomics() const { return attributes_.atomic_cap != spec::RdmaAtomicCap::kNone; }
  bool has_atomic_write() const { return attributes_.atomic_write != 0; }
  // FLUSH with these placements (spec::FlushPlacement).
  bool has_flush(uint8_t placement) const { return (placement & ~attributes_.flush) == 0; }
  // Invalidatable regions, SEND with invalidate, local invalidate.
  bool has_invalidation() const { return attributes_.invalidation != 0; }
  // Memory windows of types 1 and 2B.
  bool has_windows() const { return attributes_.max_mw != 0; }
  // Regions that work requests register; 0: none. Most pages of one.
  uint32_t max_fast_pages() const { return attributes_.max_fast_mr_pages; }
  // Send work requests of a base and elements (spec::RdmaSqBase).
  bool has_extensible_requests() const { return attributes_.sq_version >= spec::kRdmaSqVersion; }
  // Elements that the completions of a CQ can have (spec::RdmaCqElement).
  uint32_t cq_elements() const { return attributes_.cq_elements; }
  // The clock of timestamps, in ns from a start of its own: a time between the call and its return. Profile vireo.
  Result<uint64_t> QueryClock() { return base_->roce().QueryClock(); }
  // Longest send work request that can be pushed, in bytes; 0: none.
  size_t max_push() const { return has_extensible_requests() ? attributes_.max_push : 0; }
  // Every right of access (spec::IbAccessFlags) that the device has for any memory: flush_persistent needs persistent
  // one, a DMA MR has no right to FLUSH, and mw_bind, of a region only, is no right to access it.
  uint32_t all_access() const {
    using Flags = spec::IbAccessFlags;
    return Flags::kLocalWrite | Flags::kRemoteWrite | Flags::kRemoteRead | (has_atomics() ? Flags::kRemoteAtomic : 0) |
           (has_flush(spec::FlushPlacement::kGlobalVisibility) ? Flags::kFlushGlobal : 0);
  }
  Result<spec::RdmaAckQueryPort> QueryPort() { return base_->roce().QueryPort(); }

  // The GID table. A GID is in network order; IPv4 as ::ffff:a.b.c.d. Without a VLAN, `vlan` is none.
  Status AddGid(uint16_t index, const uint8_t (&gid)[16], std::optional<uint16_t> vlan = std::nullopt);
  Status DelGid(uint16_t index) { return base_->roce().DelGid(index); }

  Result<std::shared_ptr<ProtectionDomain>> CreatePd();
  // A protection domain of another user of this device, whom base() lets share it.
  std::shared_ptr<ProtectionDomain> ImportPd(uint32_t pdn);
  // `cqe`: capacity in completions. `vector`: for notifications, below base().vectors(); none: polling only.
  // `room`: capacity that Resize can give it; it costs memory for the ring only.
  // `elements` of its completions: some of cq_elements().
  Result<std::shared_ptr<CompletionQueue>> CreateCq(uint32_t cqe, std::optional<uint16_t> vector = std::nullopt,
                                                    uint32_t room = 0, uint32_t elements = 0);

  // The next asynchronous event, or none; does not block.
  Result<std::optional<host::DeviceEvent>> PollEvent() { return base_->PollEvent(); }

  host::PciFunction& function() { return base_->function(); }
  // The underlying RoCE device.
  host::RoceDevice& base() { return *base_; }
  // The same device as a network device: its queues, its configuration. Only if created by Open.
  host::VirtioNetDevice& net() { return *net_; }

 private:
  friend class CompletionQueue;
  friend class QueuePair;
  friend class SharedReceiveQueue;
  friend struct WorkHalf;
  Device(std::unique_ptr<host::RoceDevice> base, const spec::RdmaAckQueryDevice& attributes)
      : attributes_(attributes), base_(std::move(base)) {}

  // A virtqueue and the memory of its buffers.
  struct WorkQueue {
    host::Queue queue;
    host::DmaBuffer memory;
    std::vector<host::DmaBuffer> more{};
  };
  Result<host::Queue> OpenQueue(uint16_t index, uint32_t entries, std::optional<uint16_t> vector);
  // Stops a virtqueue whose object has been destroyed (`status`: result of the destroy command). If that fails, its
  // memory is kept.
  void Close(std::optional<WorkQueue> queue, const Status& status);

  spec::RdmaAckQueryDevice attributes_;
  std::vector<WorkQueue> retained_;  // the device may still use them; declared first, so freed after base_ resets it
  std::unique_ptr<host::RoceDevice> base_;
  host::VirtioNetDevice* net_ = nullptr;  // base_, if it is a VirtioNetDevice
};

}  // namespace vireo::verbs
