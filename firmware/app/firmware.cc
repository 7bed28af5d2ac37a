// SPDX-License-Identifier: Apache-2.0
// Device lifecycle: start, negotiation, reset of device and queues, link, fatal errors.
#include "firmware/app/firmware.h"

namespace vireo::firmware {
namespace {

constexpr uint32_t ResetValueOf(uint32_t offset) {
  for (const auto& info : spec::kMgmtRegisters) {
    if (info.offset == offset) return info.reset;
  }
  return 0;
}

// mgmt.parameter has the parameters in the order of configs.toml, which is that of spec::Config's members.
#define VIREO_PARAMETER(name) \
  {&spec::Config::name, (offsetof(spec::Config, name) - offsetof(spec::Config, datapath_bits)) / sizeof(uint32_t)}
constexpr struct {
  uint32_t spec::Config::*member;
  size_t index;
} kParameters[] = {
    VIREO_PARAMETER(net_queue_pairs),
    VIREO_PARAMETER(num_cqs),
    VIREO_PARAMETER(num_qps),
    VIREO_PARAMETER(num_pds),
    VIREO_PARAMETER(num_mrs),
    VIREO_PARAMETER(num_translations),
    VIREO_PARAMETER(num_ahs),
    VIREO_PARAMETER(num_gids),
    VIREO_PARAMETER(max_queue_entries),
    VIREO_PARAMETER(max_send_sge),
    VIREO_PARAMETER(max_recv_sge),
    VIREO_PARAMETER(max_rd_atomic),
    VIREO_PARAMETER(atomics),
    VIREO_PARAMETER(atomic_write),
    VIREO_PARAMETER(flush),
    VIREO_PARAMETER(invalidation),
    VIREO_PARAMETER(memory_windows),
    VIREO_PARAMETER(fast_registration),
    VIREO_PARAMETER(extensible_requests),
    VIREO_PARAMETER(cqe_elements),
    VIREO_PARAMETER(push_requests),
    VIREO_PARAMETER(max_srqs),
    VIREO_PARAMETER(max_mcast_attach),
    VIREO_PARAMETER(max_path_mtu),
};
#undef VIREO_PARAMETER

}  // namespace

bool Firmware::Start() {
  if (device_.Read(spec::kMgmtIdRegister) != ResetValueOf(spec::kMgmtIdRegister)) return false;
  const auto version = device_.Get<spec::MgmtVersion>(spec::kMgmtVersionRegister);
  if (version.major != spec::MgmtVersion::FromWord(ResetValueOf(spec::kMgmtVersionRegister)).major) return false;
  hardware_version_ = version.ToWord();
  // Before a driver sees the device: the profile can be chosen only while that has not begun.
  const spec::MgmtAbiProfile abi{.profile = options_.profile == spec::Profile::kVireo};
  if (abi.ToWord() != ResetValueOf(spec::kMgmtAbiProfileRegister)) device_.Put(spec::kMgmtAbiProfileRegister, abi);
  for (const auto& parameter : kParameters) {
    const uint32_t offset = static_cast<uint32_t>(parameter.index * sizeof(uint32_t));
    config_.*parameter.member = device_.Read(spec::kMgmtParameterRegister + offset);
  }
  if (config_.net_queue_pairs > kMaxNetPairs || config_.num_cqs > kMaxCqs || config_.num_qps > kMaxQps ||
      config_.num_pds > kMaxPds || config_.num_mrs > kMaxMrs || config_.num_translations > kMaxTranslations ||
      config_.num_ahs > kMaxAhs || config_.num_gids > kMaxGids || config_.max_mcast_attach > kMaxMcastAttach) {
    return false;
  }
  if (options_.has_mac) WriteMac(options_.mac);
  if (options_.mtu != 0) device_.Write(spec::kMgmtMtuRegister, options_.mtu);
  const uint32_t mac_low = device_.Read(spec::kMgmtMacLowRegister);
  const uint32_t mac_high = device_.Read(spec::kMgmtMacHighRegister);
  for (size_t i = 0; i < sizeof(permanent_mac_); ++i) {
    permanent_mac_[i] = static_cast<uint8_t>(i < 4 ? mac_low >> (8 * i) : mac_high >> (8 * (i - 4)));
  }
  next_qp_ = spec::kRdmaFirstQpn;
  ReadNegotiation();
  const auto status = device_.Get<spec::MgmtStatus>(spec::kMgmtStatusRegister);
  const auto causes = spec::MgmtInterruptCause{.mailbox_request = true,
                                               .device_reset = true,
                                               .features_written = true,
                                               .driver_ok = true,
                                               .queue_reset = true,
                                               .link_change = true,
                                               .qp_done = true,
                                               .fatal = true};
  device_.Put(spec::kMgmtInterruptEnableRegister, causes);
  device_.Put(spec::kMgmtControlRegister, spec::MgmtControl{.firmware_ready = true, .link_up = status.mac_link});
  started_ = true;
  return true;
}

bool Firmware::Poll() {
  if (!started_) return false;
  const auto cause = device_.Get<spec::MgmtInterruptCause>(spec::kMgmtInterruptCauseRegister);
  // Clear the causes before reading the state that they announce, so that no later event is missed. Exception: clearing
  // device_reset reports to the device that the reset is complete.
  auto seen = cause;
  seen.device_reset = false;
  if (seen != spec::MgmtInterruptCause{}) device_.Put(spec::kMgmtInterruptCauseRegister, seen);
  if (cause.device_reset) {
    fatal_ |= cause.fatal;  // a driver may reset the device before firmware has handled the failure
    ResetDevice();
    return !fatal_;
  }
  if (fatal_) return false;
  bool found = seen != spec::MgmtInterruptCause{};
  if (cause.fatal) {
    EnterFatal();
    return true;
  }
  if (cause.features_written || cause.driver_ok) ReadNegotiation();
  if (cause.driver_ok) StartDatapath();
  if (cause.link_change) FollowLink();
  if (cause.queue_reset) HandleQueueReset();
  found |= CheckDrains();
  if (!device_.broken() && device_.Get<spec::MgmtMailboxStatus>(spec::kMgmtMailboxStatusRegister).request) {
    ServeCommand();
    found = true;
  }
  if (device_.broken()) EnterFatal();
  return found;
}

void Firmware::ReadNegotiation() {
  const auto abi = device_.Get<spec::MgmtAbiProfile>(spec::kMgmtAbiProfileRegister);
  profile_ = &spec::ConstantsOf(abi.profile ? spec::Profile::kVireo : spec::Profile::kRfcV2);
  for (size_t i = 0; i < sizeof(features_) / sizeof(features_[0]); ++i) {
    features_[i] = device_.Read(static_cast<uint32_t>(spec::kMgmtDriverFeaturesRegister + i * sizeof(uint32_t)));
  }
  const bool many = HasFeature(spec::NetFeature::kMq) || HasFeature(spec::NetFeature::kRss);
  net_pairs_ = many ? config_.net_queue_pairs : spec::kNetMqVqPairsMin;
}

// A feature bit that this profile reuses never has its virtio meaning.
bool Firmware::HasFeature(spec::NetFeature feature) const {
  const uint32_t bit = static_cast<uint8_t>(feature);
  const bool withheld = bit < 64 && (profile_->net_features_withheld >> bit & 1) != 0;
  return !withheld && HasBit(bit);
}

void Firmware::StartDatapath() {
  driver_ok_ = true;
  StartNet();
  BindQueue(ControlQueue(), spec::TableQueueKind::kControl, 0, 0);
  if (HasRoce() && profile_->rdma_event_queues != 0) BindQueue(EventQueue(), spec::TableQueueKind::kEvent, 0, 0);
  EnableDatapath();
}

void Firmware::EnableDatapath() {
  auto control = device_.Get<spec::MgmtControl>(spec::kMgmtControlRegister);
  control.datapath_enable = true;
  device_.Put(spec::kMgmtControlRegister, control);
}

// Waits until no block works for an ended object: while the device is paused no new work starts, so this takes the time
// of the work in flight.
void Firmware::Quiesce() {
  auto control = device_.Get<spec::MgmtControl>(spec::kMgmtControlRegister);
  control.pause = true;
  device_.Put(spec::kMgmtControlRegister, control);
  device_.WaitFor(spec::kMgmtStatusRegister, spec::MgmtStatus{.quiet = true}.ToWord(),
                  spec::MgmtStatus{.quiet = true}.ToWord());
  control.pause = false;
  device_.Put(spec::kMgmtControlRegister, control);
}

// The clearing of the interrupt's cause, at the end, completes the reset for the driver.
void Firmware::ResetDevice() {
  // If this fails, the driver's reset never completes.
  device_.Repair();
  if (fatal_) EnableDatapath();  // work in flight at the failure must drain before the device becomes quiet
  ClearObjects();
  ResetNet();
  if (fatal_) ClearTables();
  fatal_ = false;
  device_.WaitFor(spec::kMgmtStatusRegister, spec::MgmtStatus{.idle = true}.ToWord(),
                  spec::MgmtStatus{.idle = true}.ToWord());
  driver_ok_ = false;
  for (uint32_t& word : features_) word = 0;
  net_pairs_ = spec::kNetMqVqPairsMin;
  if (device_.broken()) {
    EnterFatal();
    return;
  }
  const auto status = device_.Get<spec::MgmtStatus>(spec::kMgmtStatusRegister);
  device_.Put(spec::kMgmtControlRegister, spec::MgmtControl{.firmware_ready = true, .link_up = status.mac_link});
  // Any other cause belongs to the previous driver instance.
  device_.Put(spec::kMgmtInterruptCauseRegister, spec::MgmtInterruptCause{.mailbox_request = true,
                                                                          .device_reset = true,
                                                                          .features_written = true,
                                                                          .driver_ok = true,
                                                                          .queue_reset = true,
                                                                          .qp_done = true,
                                                                          .fatal = true});
}

void Firmware::ClearObjects() {
  for (uint32_t qpn; (qpn = qp_used_.FindSet(0, config_.num_qps)) != kNone;) {
    device_.RunQp(qpn, spec::QpOperation::kStop);
    RemoveQp(qpn);
  }
  srq_used_ = {};
  srqs_ = 0;
  draining_ = {};
  watched_drain_ = kNone;
  for (uint32_t cqn; (cqn = cq_used_.FindSet(0, config_.num_cqs)) != kNone;) {
    device_.ClearEntry<spec::TableCqContext>(cqn);
    cq_used_.Clear(cqn);
  }
  for (uint32_t index; (index = mr_used_.FindSet(0, config_.num_mrs)) != kNone;) RemoveMr(index);
  translation_used_ = {};
  for (uint32_t ah; (ah = ah_used_.FindSet(0, config_.num_ahs)) != kNone;) {
    device_.ClearEntry<spec::TableAh>(ah);
    ah_used_.Clear(ah);
  }
  for (uint32_t index; (index = gid_used_.FindSet(0, config_.num_gids)) != kNone;) {
    device_.ClearEntry<spec::TableGid>(index);
    gid_used_.Clear(index);
  }
  for (uint32_t row = 0; row < config_.max_mcast_attach; ++row) {
    if (attachments_[row].is_valid) RemoveAttachment(row);
  }
  for (uint32_t index; (index = window_used_.FindSet(0, kMaxQueues)) != kNone;) {
    device_.ClearEntry<spec::TableWindow>(index);
    window_used_.Clear(index);
  }
  for (uint32_t index; (index = queue_bound_.FindSet(0, kMaxQueues)) != kNone;) {
    device_.ClearEntry<spec::TableVirtqueue>(index);
    queue_bound_.Clear(index);
  }
  pd_used_ = {};
  for (auto& users : pd_users_) users = 0;
  for (auto& users : cq_users_) users = 0;
  for (auto& users : srq_users_) users = 0;
  next_pd_ = next_cq_ = next_mr_ = next_ah_ = 0;
  next_qp_ = spec::kRdmaFirstQpn;
}

// After a failure the contents of the tables are unknown.
void Firmware::ClearTables() {
  for (uint32_t qpn = 0; qpn < config_.num_qps && !device_.broken(); ++qpn) {
    spec::TableQpContext context;
    const bool readable = device_.TryReadEntry(
        qpn, &context, WordAt(spec::TableQpContext::kStateOffset) | WordAt(spec::TableQpContext::kSrqOffset));
    if (!readable || context.valid || context.is_srq) device_.RunQp(qpn, spec::QpOperation::kStop);
  }
  const uint32_t queues = 2 * config_.net_queue_pairs + 1 + config_.num_cqs + 2 * config_.num_qps + 1;
  const struct {
    spec::MgmtTable table;
    uint32_t entries;
  } tables[] = {
      {spec::MgmtTable::kQpContext, config_.num_qps},
      {spec::MgmtTable::kCqContext, config_.num_cqs},
      {spec::MgmtTable::kMr, config_.num_mrs},
      {spec::MgmtTable::kTranslation, config_.num_translations},
      {spec::MgmtTable::kAh, config_.num_ahs},
      {spec::MgmtTable::kGid, config_.num_gids},
      {spec::MgmtTable::kVirtqueue, queues},
      {spec::MgmtTable::kWindow, queues},
      {spec::MgmtTable::kMacFilter, spec::kTableMacFilterEntries},
      {spec::MgmtTable::kVlanFilter, kVlanEntries},
      {spec::MgmtTable::kRss, kRssEntries},
      {spec::MgmtTable::kMcast, config_.max_mcast_attach},
  };
  for (const auto& [table, entries] : tables) {
    for (uint32_t index = 0; index < entries && !device_.broken(); ++index) device_.ClearEntry(table, index);
  }
}

// Whether blocks keep buffers of such a queue beyond its ring. Of a queue that was stopped, they have ended by then.
bool Firmware::HoldsWork(spec::TableQueueKind kind) {
  switch (kind) {
    case spec::TableQueueKind::kReceive:
    case spec::TableQueueKind::kTransmit:
    case spec::TableQueueKind::kSq:
    case spec::TableQueueKind::kRq: return true;
    default: return false;
  }
}

void Firmware::HandleQueueReset() {
  const uint32_t index = device_.Read(spec::kMgmtQueueResetIndexRegister);
  if (index < kMaxQueues && window_used_.Test(index)) {
    device_.ClearEntry<spec::TableWindow>(index);
    window_used_.Clear(index);
  }
  spec::TableVirtqueue queue;
  const bool is_bound = index < kMaxQueues && queue_bound_.Test(index);
  if (is_bound) queue = device_.ReadEntry<spec::TableVirtqueue>(index);
  // No buffer was used since the queue was stopped: its owner loses nothing.
  if (HasRoce() && !queue.stopped && index >= FirstCq() && index < SendQueue(0)) {
    if (HasCq(index - FirstCq())) FailCq(index - FirstCq(), Error::kQueueReset);
  } else if (HasRoce() && !queue.stopped && index >= SendQueue(0) && index < SendQueue(config_.num_qps)) {
    const uint32_t qpn = (index - SendQueue(0)) / (SendQueue(1) - SendQueue(0));
    if (HasQp(qpn)) FailQp(qpn, Error::kQueueReset);
    if (HasSrq(qpn) && index == ReceiveQueue(qpn)) FailSrq(qpn, Error::kQueueReset);
  }
  const bool holds_work = is_bound && !queue.stopped && HoldsWork(queue.kind);
  if (is_bound) {
    queue.stopped = false;
    if (index < ControlQueue()) SetToCommonCoalescing(index, queue);
    device_.WriteEntry(index, queue);
    if (queue.kind == spec::TableQueueKind::kNone) queue_bound_.Clear(index);
  }
  // From the response on the driver may reuse the memory of the queue and of its buffers. Accesses to the ring have
  // ended with the write of the entry.
  if (holds_work) Quiesce();
  if (!device_.broken()) device_.Write(spec::kMgmtQueueResetDoneRegister, index);
}

// A QP that has started goes to ERR, one in RESET has nothing to lose.
void Firmware::FailQp(uint32_t qpn, Error reason) {
  auto context = device_.ReadEntry<spec::TableQpContext>(qpn);
  if (context.engine_state == spec::IbQpState::kReset || context.engine_state == spec::IbQpState::kErr) return;
  draining_.Clear(qpn);
  context.state = spec::IbQpState::kErr;
  device_.WriteEntry(qpn, context);
  RunQp(qpn, spec::QpOperation::kFlush);
  PushEvent(spec::RdmaEventType::kQpFatal, qpn, reason);
}

void Firmware::FailCq(uint32_t cqn, Error reason) {
  auto context = device_.ReadEntry<spec::TableCqContext>(cqn);
  if (context.failed) return;
  context.set_failed = true;
  device_.WriteEntry(cqn, context);
  PushEvent(spec::RdmaEventType::kCqErr, cqn, reason);
  for (uint32_t qpn = 0; (qpn = qp_used_.FindSet(qpn, config_.num_qps)) != kNone; ++qpn) {
    if (qp_cqs_[qpn].send == cqn || qp_cqs_[qpn].receive == cqn) FailQp(qpn, Error::kCqFailed);
  }
}

// The receives that were fetched are discarded. Those that a QP has taken are of the ring before the reset, so the QP
// goes to ERR.
void Firmware::FailSrq(uint32_t srqn, Error reason) {
  RunQp(srqn, spec::QpOperation::kStop);
  PushEvent(spec::RdmaEventType::kSrqErr, srqn, reason);
  for (uint32_t qpn = 0; (qpn = qp_used_.FindSet(qpn, config_.num_qps)) != kNone; ++qpn) {
    const auto context = device_.ReadEntry<spec::TableQpContext>(qpn, WordAt(spec::TableQpContext::kSrqOffset));
    if (context.has_srq && context.srq == srqn) FailQp(qpn, reason);
  }
}

void Firmware::FollowLink() {
  const bool up = device_.Get<spec::MgmtStatus>(spec::kMgmtStatusRegister).mac_link;
  auto control = device_.Get<spec::MgmtControl>(spec::kMgmtControlRegister);
  if (control.link_up == up) return;
  control.link_up = up;
  device_.Put(spec::kMgmtControlRegister, control);
  PushEvent(up ? spec::RdmaEventType::kPortActive : spec::RdmaEventType::kPortErr, spec::kRdmaPortNum, Error::kOk);
}

// Clearing firmware_ready makes the device set fatal_cause.firmware.
void Firmware::EnterFatal() {
  fatal_ = true;
  PushEvent(spec::RdmaEventType::kDeviceFatal, 0, Error::kInternal);
  auto control = device_.Get<spec::MgmtControl>(spec::kMgmtControlRegister);
  control.firmware_ready = false;
  control.datapath_enable = false;
  device_.Put(spec::kMgmtControlRegister, control);
}

void Firmware::PushEvent(spec::RdmaEventType type, uint32_t element, Error code) {
  if (!driver_ok_ || !HasRoce() || profile_->rdma_event_queues == 0) return;
  device_.PushEvent({.event_type = type, .element = element, .code = static_cast<uint8_t>(code)});
}

}  // namespace vireo::firmware
