// SPDX-License-Identifier: Apache-2.0
// What the verbs need of a RoCE device: its commands, virtqueues on demand, events, and memory that it sees. Two kinds
// of it: VirtioNetDevice, which owns a function; and service::SharedDevice, one process's share of a device that a
// service owns.
#pragma once

#include <cstdint>
#include <optional>

#include "host/driver/pci_function.h"
#include "host/driver/queue.h"
#include "host/driver/result.h"
#include "host/driver/roce_commands.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::host {

// Something that happened without being asked for.
struct DeviceEvent {
  enum class Kind : uint8_t {
    kRdma,           // see `rdma`; rdma.lost events before it were dropped for want of a buffer
    kConfigChanged,  // the device configuration may have changed: link status, MTU, MAC address
    kNeedsReset,     // the device gave up; destroy the object and open it again
  };
  Kind kind = Kind::kConfigChanged;
  spec::RdmaEvent rdma;
};

// One thread at a time, with one exception: once a queue is open, its ring and doorbell may be used by a thread of
// their own.
class RoceDevice {
 public:
  virtual ~RoceDevice() = default;

  virtual const spec::ProfileConstants& constants() const = 0;
  virtual RoceCommands& roce() = 0;
  // Memory for the device, doorbells, time, sleep. Only a device that owns it may do more with it.
  virtual PciFunction& function() = 0;

  // Virtqueue of CQ `cqn`, below max_rdma_cqs; of QP `qpn`, below max_rdma_qps. kInvalidArgument.
  virtual Result<uint16_t> CompletionQueueIndex(uint32_t cqn) const = 0;
  virtual Result<uint16_t> SendQueueIndex(uint32_t qpn) const = 0;
  virtual Result<uint16_t> ReceiveQueueIndex(uint32_t qpn) const = 0;

  // Largest size of a queue that is not enabled. kUnsupported: there is no such queue.
  virtual Result<uint16_t> MaxQueueSize(uint16_t index) = 0;
  // Makes a ring in the accepted format and enables the queue. `size` must suit the format and MaxQueueSize. The caller
  // keeps the Queue until it is stopped or the device is destroyed.
  virtual Result<Queue> OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                  uint16_t indirect_segments) = 0;
  // Resets the queue and returns the tokens of all buffers that had not come back. In rfc-v2 without ring_reset,
  // `destroyed` says that the object was destroyed, after which the device has let go of the ring by itself; else
  // kUnsupported.
  virtual Result<std::vector<Token>> StopQueue(Queue& queue, bool destroyed) = 0;

  // Interrupt vectors in use; 0: everything is polled.
  virtual uint16_t vectors() const = 0;

  // The oldest event that waits, or none; does not wait.
  virtual Result<std::optional<DeviceEvent>> PollEvent() = 0;
};

}  // namespace vireo::host
