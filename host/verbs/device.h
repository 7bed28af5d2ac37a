// SPDX-License-Identifier: Apache-2.0
// RDMA verbs in C++ over a virtio-net RoCE device: the device, and what is made from it. Names and rules are those of
// IBTA vol. 1, chapters 10 and 11, and of libibverbs where they agree.
//
// Objects are shared pointers, because they need each other: a queue pair keeps its protection domain and completion
// queues alive, a memory region its domain, and everything the device. An object ends when the last pointer to it goes;
// then the device touches none of its memory any more. If the device does not answer at that moment, the memory is
// kept until the device object goes, which resets the device.
//
// One thread at a time for everything but posting and polling: each queue pair and each completion queue may be used
// by a thread of its own. Failures are values: Error::rdma is the device's reason.
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
  // Opens the function as a RoCE device; kUnsupported or kNoDevice if it is none. `options.roce` does not count.
  static Result<std::shared_ptr<Device>> Open(host::PciFunction& function, host::DeviceOptions options = {});
  // The verbs on a RoCE device that is up already.
  static Result<std::shared_ptr<Device>> Attach(std::unique_ptr<host::RoceDevice> base);
  // Everything made from it is gone by then.
  ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const spec::RdmaAckQueryDevice& attributes() const { return attributes_; }
  Result<spec::RdmaAckQueryPort> QueryPort() { return base_->roce().QueryPort(); }

  // The GID table. A GID is in network order; IPv4 as ::ffff:a.b.c.d. Without a VLAN, `vlan` is none.
  Status AddGid(uint16_t index, const uint8_t (&gid)[16], std::optional<uint16_t> vlan = std::nullopt);
  Status DelGid(uint16_t index) { return base_->roce().DelGid(index); }

  Result<std::shared_ptr<ProtectionDomain>> CreatePd();
  // Room for `cqe` completions. `vector`: for notifications, below base().vectors(); none: it is only polled.
  Result<std::shared_ptr<CompletionQueue>> CreateCq(uint32_t cqe, std::optional<uint16_t> vector = std::nullopt);

  // The next asynchronous event, or none; does not wait.
  Result<std::optional<host::DeviceEvent>> PollEvent() { return base_->PollEvent(); }

  host::PciFunction& function() { return base_->function(); }
  // What the verbs stand on.
  host::RoceDevice& base() { return *base_; }
  // The same device as a network device: its queues, its configuration. Only if Open made it.
  host::VirtioNetDevice& net() { return *net_; }

 private:
  friend class CompletionQueue;
  friend class QueuePair;
  Device(std::unique_ptr<host::RoceDevice> base, const spec::RdmaAckQueryDevice& attributes)
      : attributes_(attributes), base_(std::move(base)) {}

  // A virtqueue with the memory that its buffers lie in.
  struct WorkQueue {
    host::Queue queue;
    host::DmaBuffer memory;
  };
  Result<host::Queue> OpenQueue(uint16_t index, uint32_t entries, std::optional<uint16_t> vector);
  // Stops a virtqueue whose object has been destroyed (`status` is how that went). What cannot be stopped is kept.
  void Close(std::optional<WorkQueue> queue, const Status& status);

  spec::RdmaAckQueryDevice attributes_;
  std::vector<WorkQueue> kept_;  // the device may still use it; goes after the device, which stands behind it
  std::unique_ptr<host::RoceDevice> base_;
  host::VirtioNetDevice* net_ = nullptr;  // base_, if it is one
};

}  // namespace vireo::verbs
