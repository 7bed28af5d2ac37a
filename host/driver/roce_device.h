// SPDX-License-Identifier: Apache-2.0
// The interface that verbs need of a RoCE device: commands, virtqueues, events and DMA memory. Two implementations:
// VirtioNetDevice, which owns a function; and service::SharedDevice, one process's share of a device that a service
// owns.
#pragma once

#include <cstdint>
#include <optional>

#include "host/driver/pci_function.h"
#include "host/driver/queue.h"
#include "host/driver/result.h"
#include "host/driver/roce_commands.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::host {

// An asynchronous event.
struct DeviceEvent {
  enum class Kind : uint8_t {
    kRdma,             // see `rdma`; rdma.lost events before it were dropped because no buffer was posted
    kConfigChanged,    // the device configuration may have changed: link status, MTU, MAC address
    kNeedsReset,       // fatal device error; destroy the object and open it again
    kGidTableChanged,  // by the owner of the NIC, at a client of its service; the driver of a device has no such event
  };
  Kind kind = Kind::kConfigChanged;
  spec::RdmaEvent rdma;
};

// Not thread-safe, with one exception: once a queue is open, its ring and doorbell may be used by another thread.
class RoceDevice {
 public:
  virtual ~RoceDevice() = default;

  virtual const spec::ProfileConstants& constants() const = 0;
  virtual RoceCommands& roce() = 0;
  // DMA memory, doorbells, time and Wait. Registers and configuration space only if the device owns its function.
  virtual PciFunction& function() = 0;

  // Virtqueue of CQ `cqn`, below max_rdma_cqs; of QP `qpn`, below max_rdma_qps. kInvalidArgument.
  virtual Result<uint16_t> CompletionQueueIndex(uint32_t cqn) const = 0;
  virtual Result<uint16_t> SendQueueIndex(uint32_t qpn) const = 0;
  virtual Result<uint16_t> ReceiveQueueIndex(uint32_t qpn) const = 0;

  // Largest size of a queue that is not enabled. kUnsupported: there is no such queue.
  virtual Result<uint16_t> MaxQueueSize(uint16_t index) = 0;
  // Creates a ring in the accepted format and enables the queue. `size` must be valid for the format and at most
  // MaxQueueSize. The caller keeps the Queue until it is stopped or the device is destroyed.
  virtual Result<Queue> OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                  uint16_t indirect_segments) = 0;
  // Resets the queue and returns the tokens of all outstanding buffers. In rfc-v2 without ring_reset, the device
  // releases the buffers when its object is destroyed: succeeds only with `destroyed`, else kUnsupported.
  virtual Result<std::vector<Token>> StopQueue(Queue& queue, bool destroyed) = 0;

  // Number of interrupt vectors in use; 0: everything is polled.
  virtual uint16_t vectors() const = 0;

  // The oldest pending event, or none; does not block.
  virtual Result<std::optional<DeviceEvent>> PollEvent() = 0;
};

}  // namespace vireo::host
