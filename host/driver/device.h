// SPDX-License-Identifier: Apache-2.0
// A running virtio-net device: network queues, control queue, and the RoCE extension if the device offers it.
// Initializes the device, owns its queues and buffers, and resets it at the end. It does not create RoCE objects: the
// caller does, with roce() for the commands and OpenQueue for their virtqueues.
//
// Not thread-safe, with one exception: once a queue is open, its ring and doorbell may be used by another thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/driver/control_queue.h"
#include "host/driver/features.h"
#include "host/driver/net_commands.h"
#include "host/driver/net_queue.h"
#include "host/driver/roce_commands.h"
#include "host/driver/roce_device.h"
#include "host/driver/virtio_pci.h"

namespace vireo::host {

struct DeviceOptions {
  // Accepted if the device offers them and every feature that they require. Each must be in
  // VirtioNetDevice::KnownFeatures().
  FeatureSet wanted{};
  // Open fails if the device does not offer these. They need not be in `wanted`.
  FeatureSet required{};
  enum class Roce { kOff, kIfOffered, kRequired };
  Roce roce = Roce::kIfOffered;
  // None: chosen by the offered feature bit, vireo first.
  std::optional<spec::Profile> profile{};

  uint16_t queue_pairs = 1;  // more than 1 needs feature mq
  // Entries; limited to the device's maximum.
  uint16_t net_queue_size = 256;
  // With feature ring_indirect_desc, buffers of 2 to this many segments use indirect tables. 0: none do.
  uint16_t net_indirect_segments = 0;
  uint16_t control_queue_size = 64;
  uint16_t event_queue_size = 64;
  // Longest frame to send or receive, without FCS and packet header. 0: from the device's MTU if it reports one, else
  // Ethernet's, plus a VLAN tag.
  uint32_t max_frame_bytes = 0;
  // Size of receive buffers with mrg_rxbuf, packet header included. Without it they hold max_frame_bytes.
  uint32_t mergeable_buffer_bytes = 2048;
  // Maximum number of vectors to use; 0: poll everything.
  uint16_t max_vectors = 64;
  uint64_t reset_timeout_ns = 1'000'000'000;    // of the device or a queue
  uint64_t command_timeout_ns = 1'000'000'000;  // of a control command
};

// Value of DeviceOptions::wanted for a fast and simple driver: every known feature but offloads.
FeatureSet DefaultFeatures();

class VirtioNetDevice final : public RoceDevice {
 public:
  // Resets the device and initializes it up to DRIVER_OK with all network queues, the control queue (feature ctrl_vq)
  // and the event queue (RoCE, profile vireo) enabled. Receive buffers are posted. `function` must outlive the object.
  // On an error the device is left with status FAILED (if the reset succeeded) and without DMA.
  static Result<std::unique_ptr<VirtioNetDevice>> Open(PciFunction& function, const DeviceOptions& options);

  // Resets the device. If the reset times out, bus mastering is turned off before the memory is freed.
  ~VirtioNetDevice() override;
  VirtioNetDevice(const VirtioNetDevice&) = delete;
  VirtioNetDevice& operator=(const VirtioNetDevice&) = delete;

  // Features that this driver supports, without the RoCE bit.
  static FeatureSet KnownFeatures();

  const FeatureSet& features() const { return pci_.features(); }  // accepted
  bool has_roce() const { return has_roce_; }
  spec::Profile profile() const { return profile_; }  // vireo if the device has no RoCE
  const spec::ProfileConstants& constants() const override { return spec::ConstantsOf(profile_); }
  PciFunction& function() override { return pci_.function(); }
  VirtioPci& pci() { return pci_; }
  const DeviceOptions& options() const { return options_; }

  // --- Network
  Result<spec::NetConfig> ReadNetConfig() { return pci_.ReadDeviceConfig<spec::NetConfig>(0); }
  uint16_t queue_pairs() const { return static_cast<uint16_t>(transmit_.size()); }
  uint32_t max_frame_bytes() const { return max_frame_bytes_; }
  // `pair` is below queue_pairs(). Send and Receive of these queues do not block.
  TransmitQueue& transmit(uint16_t pair) { return transmit_[pair]; }
  ReceiveQueue& receive(uint16_t pair) { return receive_[pair]; }
  // Blocking receive: returns a frame, or none when NowNs() reaches deadline_ns.
  Result<std::optional<ReceivedFrame>> Receive(uint16_t pair, uint64_t deadline_ns);
  // Resets and re-enables both queues of a pair, to recover from kMisbehaved. Frames in flight are lost. Needs feature
  // ring_reset.
  Status RestartPair(uint16_t pair);
  // Null without feature ctrl_vq.
  NetCommands* net() { return net_commands_.has_value() ? &*net_commands_ : nullptr; }

  // --- RoCE; only with has_roce()
  RoceCommands& roce() override { return *roce_commands_; }
  // For callers that forward commands of others.
  CommandChannel& control() { return *control_; }
  spec::NetConfigRdma rdma_config() const { return rdma_config_; }
  Result<uint16_t> CompletionQueueIndex(uint32_t cqn) const override;
  Result<uint16_t> SendQueueIndex(uint32_t qpn) const override;
  Result<uint16_t> ReceiveQueueIndex(uint32_t qpn) const override;

  // --- Virtqueues of CQs and QPs
  // In rfc-v2 without ring_reset the device keeps the ring of a destroyed object, at its address and with its size and
  // vector, until it is reset. OpenQueue returns that ring again, also if a smaller one or none with interrupts is
  // requested. kUnsupported: a larger one or another vector.
  Result<uint16_t> MaxQueueSize(uint16_t index) override;
  Result<Queue> OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                          uint16_t indirect_segments) override;
  Result<std::vector<Token>> StopQueue(Queue& queue, bool destroyed) override;
  // Re-enables a stopped queue, empty.
  Status RestartQueue(Queue& queue) { return pci_.EnableQueue(queue.index, *queue.ring, queue.vector); }

  // Number of vectors in use. Vector 0: configuration changes; 1: control and event queue; the rest: all other queues.
  // With fewer than 3, they share. 0: everything is polled.
  uint16_t vectors() const override { return vectors_; }
  // The vector for the n-th of the other queues, round-robin: network pair i has n = i.
  std::optional<uint16_t> SpreadVector(uint32_t n) const;

  // --- Events. The oldest pending event, or none; does not block. Without MSI-X each call reads a register.
  Result<std::optional<DeviceEvent>> PollEvent() override;

 private:
  VirtioNetDevice(const VirtioPci& pci, const DeviceOptions& options) : pci_(pci), options_(options) {}

  Status BringUp();
  Status ChooseProfile(const FeatureSet& offered);
  Result<FeatureSet> ChooseFeatures(const FeatureSet& offered) const;
  Status CheckQueueCount();
  Status SetUpVectors();
  Status SetUpNetQueues();
  Status SetUpControlQueue();
  Status SetUpEventQueue();
  Status PostEventBuffer(Token slot);
  uint32_t EventQueueIndex() const;
  bool KeepsRings() const {
    return has_roce_ && !constants().rdma_needs_ring_reset && !features().Has(spec::VirtioFeature::kRingReset);
  }
  uint32_t ControlQueueIndex() const { return uint32_t{device_pairs_} * 2; }
  std::optional<uint16_t> SystemVector() const;
  uint16_t UsableSize(uint16_t wanted, uint16_t max_size) const;
  Result<Queue> OpenQueueUpTo(uint32_t index, uint16_t wanted_size, std::optional<uint16_t> vector,
                              uint16_t indirect_segments);

  VirtioPci pci_;
  DeviceOptions options_;
  spec::Profile profile_ = static_cast<spec::Profile>(spec::kProfileDefault);
  bool has_roce_ = false;
  spec::NetConfigRdma rdma_config_;
  uint16_t device_pairs_ = 1;  // N of the queue index formulas: pairs that the device has
  uint32_t max_frame_bytes_ = 0;
  uint16_t vectors_ = 0;
  uint8_t config_generation_ = 0;
  bool reported_needs_reset_ = false;

  std::vector<TransmitQueue> transmit_;
  std::vector<ReceiveQueue> receive_;
  std::optional<Queue> control_ring_;
  std::optional<ControlQueue> control_;
  std::optional<NetCommands> net_commands_;
  std::optional<RoceCommands> roce_commands_;
  std::optional<Queue> event_ring_;
  std::map<uint16_t, Queue> kept_;  // see OpenQueue
  DmaBuffer event_buffers_;
};

}  // namespace vireo::host
