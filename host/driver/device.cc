// SPDX-License-Identifier: Apache-2.0
#include "host/driver/device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "host/driver/packed_ring.h"
#include "host/driver/split_ring.h"

namespace vireo::host {
namespace {

using spec::NetFeature;
using spec::VirtioFeature;
using DeviceStatus = spec::VirtioDeviceStatus;

// Vectors of configuration changes, and of the driver's own queues.
constexpr uint16_t kConfigVector = 0;
constexpr uint16_t kSystemVector = 1;

// Poll interval of a queue without a vector.
constexpr uint64_t kPollIntervalNs = 1000;

// The control queue's buffers: request and response.
constexpr uint16_t kControlSegments = 2;

}  // namespace

FeatureSet DefaultFeatures() {
  return VirtioNetDevice::KnownFeatures() - FeatureSet{NetFeature::kCsum,     NetFeature::kGuestCsum,
                                                       NetFeature::kHostTso4, NetFeature::kHostTso6,
                                                       NetFeature::kHostEcn,  NetFeature::kHostUso};
}

FeatureSet VirtioNetDevice::KnownFeatures() {
  return {VirtioFeature::kRingIndirectDesc,
          VirtioFeature::kRingEventIdx,
          VirtioFeature::kVersion1,
          VirtioFeature::kAccessPlatform,
          VirtioFeature::kRingPacked,
          VirtioFeature::kOrderPlatform,
          VirtioFeature::kNotificationData,
          VirtioFeature::kNotifConfigData,
          VirtioFeature::kRingReset,
          NetFeature::kCsum,
          NetFeature::kGuestCsum,
          NetFeature::kMtu,
          NetFeature::kMac,
          NetFeature::kHostTso4,
          NetFeature::kHostTso6,
          NetFeature::kHostEcn,
          NetFeature::kHostUso,
          NetFeature::kMrgRxbuf,
          NetFeature::kStatus,
          NetFeature::kCtrlVq,
          NetFeature::kCtrlRx,
          NetFeature::kCtrlVlan,
          NetFeature::kCtrlRxExtra,
          NetFeature::kGuestAnnounce,
          NetFeature::kMq,
          NetFeature::kCtrlMacAddr,
          NetFeature::kVqNotfCoal,
          NetFeature::kNotfCoal,
          NetFeature::kSpeedDuplex};
}

Result<std::unique_ptr<VirtioNetDevice>> VirtioNetDevice::Open(PciFunction& function, const DeviceOptions& options) {
  const FeatureSet unknown = (options.wanted | options.required) - KnownFeatures();
  if (!unknown.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "this driver does not support " + NamesOf(unknown, options.profile.value_or(spec::Profile::kVireo))};
  }
  if (options.queue_pairs == 0) return Error{ErrorCode::kInvalidArgument, "0 queue pairs"};
  Result<VirtioPci> pci = VirtioPci::Open(function);
  if (!pci.ok()) return pci.error();
  std::unique_ptr<VirtioNetDevice> device(new VirtioNetDevice(*pci, options));
  Status up = device->BringUp();
  if (up.ok()) return device;
  // Stop all DMA, then set FAILED in the status register, which the destructor would overwrite.
  Status reset = device->pci_.Reset(options.reset_timeout_ns);
  if (reset.ok()) device->pci_.Fail();
  return up.error();
}

VirtioNetDevice::~VirtioNetDevice() {
  if ((pci_.ReadStatus() & DeviceStatus::kFailed) != 0 && function().health().ok())
    return;  // Open has reset it already
  if (pci_.Reset(options_.reset_timeout_ns).ok()) return;
  const uint32_t command = function().ReadConfig(spec::PciHeader::kCommandOffset, 2);
  function().WriteConfig(spec::PciHeader::kCommandOffset, 2, command & ~uint32_t{spec::PciCommand::kBusMaster});
}

// --- Bringing up -----------------------------------------------------------------------------------------------------

Status VirtioNetDevice::BringUp() {
  if (Status reset = pci_.Reset(options_.reset_timeout_ns); !reset.ok()) return reset;
  pci_.Acknowledge();
  const FeatureSet offered = pci_.OfferedFeatures();
  if (Status chosen = ChooseProfile(offered); !chosen.ok()) return chosen;
  Result<FeatureSet> accepted = ChooseFeatures(offered);
  if (!accepted.ok()) return accepted.error();
  if (Status done = pci_.AcceptFeatures(*accepted, profile_); !done.ok()) return done;

  Result<spec::NetConfig> config = ReadNetConfig();
  if (!config.ok()) return config.error();
  if (features().Has(NetFeature::kMq)) device_pairs_ = config->max_virtqueue_pairs;
  if (device_pairs_ < spec::kNetMqVqPairsMin || device_pairs_ > spec::kNetMqVqPairsMax) {
    return Error{ErrorCode::kMisbehaved, "the device has " + std::to_string(device_pairs_) + " queue pairs"};
  }
  if (options_.queue_pairs > device_pairs_) {
    return Error{ErrorCode::kUnsupported,
                 std::to_string(options_.queue_pairs) + " queue pairs requested, the device has " +
                     std::to_string(device_pairs_) + (features().Has(NetFeature::kMq) ? "" : " without feature mq")};
  }
  max_frame_bytes_ = options_.max_frame_bytes;
  if (max_frame_bytes_ == 0) {
    max_frame_bytes_ = spec::VlanTag::kBytes;
    max_frame_bytes_ += features().Has(NetFeature::kMtu) ? static_cast<uint32_t>(spec::Ethernet::kBytes) + config->mtu
                                                         : spec::kNetPacketBytesMax;
  }
  if (has_roce_) {
    Result<spec::NetConfigRdma> rdma = pci_.ReadDeviceConfig<spec::NetConfigRdma>(constants().net_config_rdma_offset);
    if (!rdma.ok()) return rdma.error();
    rdma_config_ = *rdma;
  }
  if (Status counted = CheckQueueCount(); !counted.ok()) return counted;

  if (Status set_up = SetUpVectors(); !set_up.ok()) return set_up;
  if (Status set_up = SetUpNetQueues(); !set_up.ok()) return set_up;
  if (Status set_up = SetUpControlQueue(); !set_up.ok()) return set_up;
  if (Status set_up = SetUpEventQueue(); !set_up.ok()) return set_up;
  config_generation_ = pci_.ReadConfigGeneration();
  pci_.DriverOk();

  // Doorbells are allowed from DRIVER_OK on.
  for (ReceiveQueue& queue : receive_) {
    if (Status filled = queue.Fill(); !filled.ok()) return filled;
  }
  if (event_ring_.has_value()) {
    for (uint16_t slot = 0; slot < event_ring_->ring->size(); ++slot) {
      if (Status posted = PostEventBuffer(slot); !posted.ok()) return posted;
    }
    event_ring_->Kick();
  }
  // After reset the device uses one pair.
  if (options_.queue_pairs > spec::kNetMqVqPairsMin) return net_commands_->SetQueuePairs(options_.queue_pairs);
  return {};
}

// The RoCE bit of rfc-v2 is virtio's guest_uso6. It counts only if the device matches that profile: it offers none of
// the other features whose numbers the RFC reuses, and has legal limits at the RFC's configuration offset.
Status VirtioNetDevice::ChooseProfile(const FeatureSet& offered) {
  if (options_.roce == DeviceOptions::Roce::kOff) return {};
  const auto legal = [](const spec::NetConfigRdma& config) {
    return config.max_rdma_qps >= spec::kRdmaQpsMin && config.max_rdma_qps <= spec::kRdmaQpsMax &&
           config.max_rdma_cqs >= spec::kRdmaCqsMin && config.max_rdma_cqs <= spec::kRdmaCqsMax;
  };
  for (const spec::Profile profile : {spec::Profile::kVireo, spec::Profile::kRfcV2}) {
    if (options_.profile.has_value() && *options_.profile != profile) continue;
    const spec::ProfileConstants& constants = spec::ConstantsOf(profile);
    const Feature roce(constants.net_f_roce);
    if (!offered.Has(roce)) continue;
    FeatureSet withheld;
    withheld.SetWindow(0, static_cast<uint32_t>(constants.net_features_withheld));
    withheld.SetWindow(1, static_cast<uint32_t>(constants.net_features_withheld >> FeatureSet::kWindowBits));
    withheld.Remove(roce);
    const bool collides = !(offered & withheld).empty();
    Result<spec::NetConfigRdma> config = pci_.ReadDeviceConfig<spec::NetConfigRdma>(constants.net_config_rdma_offset);
    const bool fits = !collides && config.ok() && legal(*config);
    if (!fits && profile == spec::Profile::kRfcV2) continue;  // guest_uso6
    if (!fits) {
      return Error{ErrorCode::kMisbehaved,
                   "the device offers RoCE, but " +
                       (config.ok() ? "its limits are illegal: " + std::to_string(config->max_rdma_qps) + " QPs, " +
                                          std::to_string(config->max_rdma_cqs) + " CQs"
                                    : config.error().text)};
    }
    profile_ = profile;
    has_roce_ = true;
    return {};
  }
  if (options_.roce == DeviceOptions::Roce::kRequired) {
    return Error{
        ErrorCode::kUnsupported,
        "the device offers no RoCE" + std::string(options_.profile.has_value() ? " of the requested profile" : "")};
  }
  return {};
}

Result<FeatureSet> VirtioNetDevice::ChooseFeatures(const FeatureSet& offered) const {
  FeatureSet required = options_.required | FeatureSet{VirtioFeature::kVersion1};
  if (has_roce_) {
    required.Add(Feature(constants().net_f_roce));
    required.Add(NetFeature::kCtrlVq);
    if (constants().rdma_needs_ring_reset) required.Add(VirtioFeature::kRingReset);
  }
  const FeatureSet missing = required - offered;
  if (!missing.empty()) {
    return Error{ErrorCode::kUnsupported, "the device does not offer " + NamesOf(missing, profile_)};
  }
  FeatureSet accepted = (options_.wanted & offered) | required;
  while (const std::optional<UnmetRequirement> unmet = FindUnmetRequirement(accepted, profile_)) {
    if (required.Has(unmet->feature)) {
      // Accept what it requires, if offered.
      const FeatureSet available = unmet->needs & offered & KnownFeatures();
      if (available.empty()) {
        return Error{ErrorCode::kUnsupported, NamesOf({unmet->feature}, profile_) + " is required and needs " +
                                                  NamesOf(unmet->needs, profile_) +
                                                  ", which the device does not offer"};
      }
      accepted = accepted | available;
      required = required | available;
    } else {
      accepted.Remove(unmet->feature);
    }
  }
  return accepted;
}

// The last queue that the profile's formulas name must exist.
Status VirtioNetDevice::CheckQueueCount() {
  uint32_t last = uint32_t{device_pairs_} * 2 - 1;
  if (features().Has(NetFeature::kCtrlVq)) last = ControlQueueIndex();
  if (has_roce_) {
    last = constants().rdma_event_queues > 0 ? EventQueueIndex()
                                             : ControlQueueIndex() + rdma_config_.max_rdma_cqs +
                                                   spec::kRdmaReceiveqOffset + 2 * (rdma_config_.max_rdma_qps - 1);
  }
  const uint16_t queues = pci_.NumQueues();
  if (last < queues) return {};
  return Error{ErrorCode::kMisbehaved, "the device reports " + std::to_string(queues) +
                                           " queues, but its configuration needs " + std::to_string(last + 1)};
}

Status VirtioNetDevice::SetUpVectors() {
  const unsigned vectors = std::min<unsigned>(function().MsixVectors(), options_.max_vectors);
  if (Status enabled = function().EnableMsix(vectors); !enabled.ok()) return enabled;
  vectors_ = static_cast<uint16_t>(vectors);
  return pci_.SetConfigVector(vectors_ > 0 ? std::optional<uint16_t>(kConfigVector) : std::nullopt);
}

std::optional<uint16_t> VirtioNetDevice::SystemVector() const {
  if (vectors_ == 0) return std::nullopt;
  return vectors_ > kSystemVector ? kSystemVector : kConfigVector;
}

std::optional<uint16_t> VirtioNetDevice::SpreadVector(uint32_t n) const {
  constexpr uint16_t first = kSystemVector + 1;
  if (vectors_ <= first) return SystemVector();
  return static_cast<uint16_t>(first + n % (vectors_ - first));
}

uint16_t VirtioNetDevice::UsableSize(uint16_t wanted, uint16_t max_size) const {
  const uint16_t size = std::min(wanted, max_size);
  return features().Has(VirtioFeature::kRingPacked) ? size : std::bit_floor(size);
}

Result<Queue> VirtioNetDevice::OpenQueueUpTo(uint32_t index, uint16_t wanted_size, std::optional<uint16_t> vector,
                                             uint16_t indirect_segments) {
  Result<uint16_t> max_size = pci_.MaxQueueSize(static_cast<uint16_t>(index));
  if (!max_size.ok()) return max_size.error();
  return OpenQueue(static_cast<uint16_t>(index), UsableSize(wanted_size, *max_size), vector, indirect_segments);
}

Status VirtioNetDevice::SetUpNetQueues() {
  const bool mergeable = features().Has(NetFeature::kMrgRxbuf);
  const uint32_t buffer_bytes =
      mergeable ? options_.mergeable_buffer_bytes : static_cast<uint32_t>(spec::NetHdr::kBytes) + max_frame_bytes_;
  for (uint32_t pair = 0; pair < options_.queue_pairs; ++pair) {
    Result<Queue> receive =
        OpenQueueUpTo(2 * pair, options_.net_queue_size, SpreadVector(pair), options_.net_indirect_segments);
    if (!receive.ok()) return receive.error();
    Result<ReceiveQueue> receiver =
        ReceiveQueue::Create(function(), std::move(receive).value(), buffer_bytes, mergeable);
    if (!receiver.ok()) return receiver.error();
    receive_.push_back(std::move(receiver).value());
    Result<Queue> transmit =
        OpenQueueUpTo(2 * pair + 1, options_.net_queue_size, SpreadVector(pair), options_.net_indirect_segments);
    if (!transmit.ok()) return transmit.error();
    Result<TransmitQueue> transmitter =
        TransmitQueue::Create(function(), std::move(transmit).value(), max_frame_bytes_);
    if (!transmitter.ok()) return transmitter.error();
    transmit_.push_back(std::move(transmitter).value());
  }
  return {};
}

Status VirtioNetDevice::SetUpControlQueue() {
  if (!features().Has(NetFeature::kCtrlVq)) return {};
  Result<Queue> queue =
      OpenQueueUpTo(ControlQueueIndex(), options_.control_queue_size, SystemVector(), kControlSegments);
  if (!queue.ok()) return queue.error();
  if (queue->ring->size() < kControlSegments) {
    return Error{ErrorCode::kUnsupported,
                 "the control queue has only " + std::to_string(queue->ring->size()) + " entries"};
  }
  control_ring_ = std::move(queue).value();
  control_.emplace(function(), *control_ring_, profile_);
  control_->set_timeout_ns(options_.command_timeout_ns);
  net_commands_.emplace(*control_, features());
  if (has_roce_) roce_commands_.emplace(*control_);
  return {};
}

Status VirtioNetDevice::SetUpEventQueue() {
  if (!has_roce_ || constants().rdma_event_queues == 0) return {};
  Result<Queue> queue = OpenQueueUpTo(EventQueueIndex(), options_.event_queue_size, SystemVector(), 0);
  if (!queue.ok()) return queue.error();
  event_ring_ = std::move(queue).value();
  Result<DmaBuffer> buffers =
      function().AllocateDma(size_t{event_ring_->ring->size()} * spec::RdmaEvent::kBytes, spec::RdmaEvent::kBytes);
  if (!buffers.ok()) return buffers.error();
  event_buffers_ = std::move(buffers).value();
  return {};
}

// --- Queues of CQs and QPs -------------------------------------------------------------------------------------------

uint32_t VirtioNetDevice::EventQueueIndex() const {
  return ControlQueueIndex() + rdma_config_.max_rdma_cqs + 2 * rdma_config_.max_rdma_qps + spec::kRdmaEventqOffset;
}

Result<uint16_t> VirtioNetDevice::CompletionQueueIndex(uint32_t cqn) const {
  if (cqn >= rdma_config_.max_rdma_cqs) {
    return Error{ErrorCode::kInvalidArgument,
                 "CQ " + std::to_string(cqn) + " of " + std::to_string(rdma_config_.max_rdma_cqs)};
  }
  return static_cast<uint16_t>(ControlQueueIndex() + spec::kRdmaCompleteqOffset + cqn);
}

Result<uint16_t> VirtioNetDevice::SendQueueIndex(uint32_t qpn) const {
  if (qpn >= rdma_config_.max_rdma_qps) {
    return Error{ErrorCode::kInvalidArgument,
                 "QP " + std::to_string(qpn) + " of " + std::to_string(rdma_config_.max_rdma_qps)};
  }
  return static_cast<uint16_t>(ControlQueueIndex() + rdma_config_.max_rdma_cqs + spec::kRdmaTransmitqOffset + 2 * qpn);
}

Result<uint16_t> VirtioNetDevice::ReceiveQueueIndex(uint32_t qpn) const {
  Result<uint16_t> send = SendQueueIndex(qpn);
  if (!send.ok()) return send;
  return static_cast<uint16_t>(*send - spec::kRdmaTransmitqOffset + spec::kRdmaReceiveqOffset);
}

Result<uint16_t> VirtioNetDevice::MaxQueueSize(uint16_t index) {
  if (const auto kept = kept_.find(index); kept != kept_.end()) return kept->second.ring->size();
  return pci_.MaxQueueSize(index);
}

Result<Queue> VirtioNetDevice::OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                         uint16_t indirect_segments) {
  if (const auto kept = kept_.find(index); kept != kept_.end()) {
    const Queue& ring = kept->second;
    if (size > ring.ring->size() || (vector.has_value() && vector != ring.vector)) {
      const std::string vector_text = ring.vector.has_value() ? "vector " + std::to_string(*ring.vector) : "no vector";
      return Error{ErrorCode::kUnsupported, "queue " + std::to_string(index) + " keeps its " +
                                                std::to_string(ring.ring->size()) + " entries and " + vector_text +
                                                " until the device is reset, because ring_reset is not accepted"};
    }
    return std::move(kept_.extract(kept).mapped());
  }
  if (vector.has_value() && *vector >= vectors_) {
    return Error{ErrorCode::kInvalidArgument,
                 "vector " + std::to_string(*vector) + " of " + std::to_string(vectors_) + " in use"};
  }
  const RingOptions ring_options{
      .event_idx = features().Has(VirtioFeature::kRingEventIdx),
      .indirect_segments = features().Has(VirtioFeature::kRingIndirectDesc) ? indirect_segments : uint16_t{0}};
  Result<std::unique_ptr<Virtqueue>> ring = features().Has(VirtioFeature::kRingPacked)
                                                ? PackedRing::Create(function(), size, ring_options)
                                                : SplitRing::Create(function(), size, ring_options);
  if (!ring.ok()) return ring.error();
  Result<Doorbell> doorbell = pci_.DoorbellOf(index);
  if (!doorbell.ok()) return doorbell.error();
  if (Status enabled = pci_.EnableQueue(index, **ring, vector); !enabled.ok()) return enabled.error();
  return Queue{index, std::move(ring).value(), *doorbell, vector};
}

Result<std::vector<Token>> VirtioNetDevice::StopQueue(Queue& queue, bool destroyed) {
  if (destroyed && KeepsRings()) {
    std::vector<Token> outstanding = queue.ring->Detach();
    const uint16_t index = queue.index;
    kept_.insert_or_assign(index, std::move(queue));
    return outstanding;
  }
  if (Status reset = pci_.ResetQueue(queue.index, options_.reset_timeout_ns); !reset.ok()) return reset.error();
  return queue.ring->Detach();
}

// --- Network ---------------------------------------------------------------------------------------------------------

Result<std::optional<ReceivedFrame>> VirtioNetDevice::Receive(uint16_t pair, uint64_t deadline_ns) {
  ReceiveQueue& receiver = receive_[pair];
  const bool has_vector = receiver.queue().vector.has_value();
  for (;;) {
    const uint64_t now = function().NowNs();
    // Enable the interrupt before polling: a frame in between is found by the poll, a later one interrupts.
    if (has_vector) static_cast<void>(receiver.queue().ring->EnableInterrupts());
    Result<std::optional<ReceivedFrame>> frame = receiver.Receive();
    if (!frame.ok() || frame->has_value() || now >= deadline_ns) return frame;
    if (Status health = function().health(); !health.ok()) return health.error();
    function().Wait(has_vector ? deadline_ns : std::min(deadline_ns, now + kPollIntervalNs));
  }
}

Status VirtioNetDevice::RestartPair(uint16_t pair) {
  const std::array<Queue*, 2> queues = {&receive_[pair].queue(), &transmit_[pair].queue()};
  for (const Queue* queue : queues) {
    if (Status reset = pci_.ResetQueue(queue->index, options_.reset_timeout_ns); !reset.ok()) return reset;
  }
  receive_[pair].Restart();
  transmit_[pair].Restart();
  for (Queue* queue : queues) {
    if (Status enabled = RestartQueue(*queue); !enabled.ok()) return enabled;
  }
  return receive_[pair].Fill();
}

// --- Events ----------------------------------------------------------------------------------------------------------

Status VirtioNetDevice::PostEventBuffer(Token slot) {
  const std::array<Segment, 1> buffer{
      {{event_buffers_->address() + slot * spec::RdmaEvent::kBytes, static_cast<uint32_t>(spec::RdmaEvent::kBytes)}}};
  return event_ring_->ring->Add({}, buffer, slot);
}

Result<std::optional<DeviceEvent>> VirtioNetDevice::PollEvent() {
  if (event_ring_.has_value()) {
    if (event_ring_->vector.has_value()) static_cast<void>(event_ring_->ring->EnableInterrupts());
    Result<std::optional<UsedBuffer>> used = event_ring_->ring->Harvest();
    if (!used.ok()) return used.error();
    if (used->has_value()) {
      if ((*used)->written < spec::RdmaEvent::kBytes) {
        return Error{ErrorCode::kMisbehaved,
                     "an event of " + std::to_string((*used)->written) + " bytes; reset the device"};
      }
      const Token slot = (*used)->token;
      const DeviceEvent event{DeviceEvent::Kind::kRdma,
                              spec::RdmaEvent::Decode(event_buffers_->data() + slot * spec::RdmaEvent::kBytes)};
      if (Status posted = PostEventBuffer(slot); !posted.ok()) return posted.error();
      event_ring_->Kick();
      return std::optional<DeviceEvent>(event);
    }
  }
  // With vectors, read the registers only after an interrupt.
  if (vectors_ > 0 ? !function().TakeInterrupt(kConfigVector)
                   : (pci_.ReadIsr() & spec::VirtioIsr::kDeviceConfig) == 0) {
    return std::optional<DeviceEvent>();
  }
  const uint8_t status = pci_.ReadStatus();
  if (Status health = function().health(); !health.ok()) return health.error();
  if ((status & DeviceStatus::kDeviceNeedsReset) != 0 && !reported_needs_reset_) {
    reported_needs_reset_ = true;
    return std::optional<DeviceEvent>(DeviceEvent{DeviceEvent::Kind::kNeedsReset, {}});
  }
  const uint8_t generation = pci_.ReadConfigGeneration();
  if (generation == config_generation_) return std::optional<DeviceEvent>();
  config_generation_ = generation;
  return std::optional<DeviceEvent>(DeviceEvent{DeviceEvent::Kind::kConfigChanged, {}});
}

}  // namespace vireo::host
