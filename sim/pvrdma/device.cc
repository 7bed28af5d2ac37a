// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/pvrdma/translate.h"

namespace vireo::sim::pvrdma {
namespace {

// Most events that wait for room in the guest's ring; later ones are lost.
constexpr size_t kMostEvents = 1024;

}  // namespace

Device::Device(Nic& nic, GuestMemory& memory, const verbs::Quota& quota)
    : nic_(nic),
      memory_(memory),
      quota_(verbs::Least(quota, nic.capacity())),
      data_path_(nic, objects_, quota_.ahs),
      gsi_(nic, memory, objects_),
      commands_(nic, quota_, memory, objects_, data_path_, gsi_) {
  memory_.OnUnmap([this] { Reset(); });
}

Device::~Device() {
  Reset();
  memory_.OnUnmap({});
}

void Device::Reset() {
  objects_.Clear();
  for (const auto& [index, nic_index] : objects_.gids) nic_.Unbind(nic_index);
  objects_.gids.clear();
  region_.reset();
  events_.clear();
  notifications_.clear();
  is_active_ = false;
  dsr_low_ = dsr_high_ = error_ = causes_ = held_ = 0;
  masked_ = ~uint32_t{0};
  arrived_ = {};
}

// --- Registers

uint32_t Device::ReadRegister(uint32_t offset) {
  const Mac& mac = nic_.options().mac;
  switch (offset) {
    case kVersion: return kDeviceVersion;
    case kErr: return error_;
    case kIcr: return std::exchange(causes_, 0);
    case kImr: return masked_;
    case kMacLow: return Load<uint32_t>(mac.data());
    case kMacHigh: return Load<uint16_t>(mac.data() + sizeof(uint32_t));
    default: return 0;
  }
}

void Device::WriteRegister(uint32_t offset, uint32_t value) {
  switch (offset) {
    case kDsrLow: dsr_low_ = value; break;
    case kDsrHigh:
      dsr_high_ = value;
      error_ = static_cast<uint32_t>(SetSharedRegion());
      break;
    case kCtl: error_ = static_cast<uint32_t>(Control(value)); break;
    case kRequest: error_ = static_cast<uint32_t>(Request()); break;
    case kImr: {
      masked_ = value;
      const uint32_t ready = held_ & ~masked_;
      held_ &= masked_;
      for (uint32_t vector = 0; vector < kVectors; ++vector) {
        if ((ready >> vector & 1) != 0) arrived_[vector] = true;
      }
      break;
    }
    default: break;
  }
}

// Once; the driver writes the high half last.
int Device::SetSharedRegion() {
  if (region_.has_value()) return EBUSY;
  const auto shared = memory_.Find(uint64_t{dsr_high_} << 32 | dsr_low_, sizeof(SharedRegion));
  if (!shared.has_value()) return EFAULT;
  const auto content = Load<SharedRegion>(shared->data);
  // It takes a queue pair's number for its handle.
  if (content.driver_version < kDeviceVersion) return EOPNOTSUPP;
  const auto command = memory_.Find(content.cmd_slot, kPageBytes);
  const auto response = memory_.Find(content.resp_slot, kPageBytes);
  auto events = MakeRing(content.async_ring, sizeof(Event));
  auto notifications = MakeRing(content.cq_ring, sizeof(Notification));
  if (!command.has_value() || !response.has_value() || !events.has_value() || !notifications.has_value()) return EFAULT;
  region_.emplace(Region{*shared, *command, *response, std::move(*events), std::move(*notifications)});
  commands_.SetFirstPfn(content.uar_pfn);
  Store(shared->data + offsetof(SharedRegion, caps), commands_.Caps());
  return 0;
}

std::optional<Device::EventRing> Device::MakeRing(const RingPages& from, uint32_t entry_bytes) const {
  if (from.pages < 2) return std::nullopt;
  auto pages = GuestPages::Read(memory_, from.directory, from.pages);
  if (!pages.has_value()) return std::nullopt;
  const auto slots = static_cast<uint32_t>((from.pages - 1) * kPageBytes / entry_bytes);
  constexpr size_t kRing = offsetof(RingHeader, second);
  const RingEnd ring(UsableEntries(slots), pages->At(kRing + offsetof(RingState, prod_tail)),
                     pages->At(kRing + offsetof(RingState, cons_head)));
  return EventRing{std::move(*pages), ring};
}

int Device::Control(uint32_t value) {
  switch (value) {
    case kActivate:
      if (!region_.has_value() || is_active_) return EINVAL;
      is_active_ = true;
      objects_.contexts.try_emplace(kKernelContext);
      return 0;
    // Nothing ever quiesces the device: Linux writes it when the paired network interface comes up.
    case kUnquiesce: return is_active_ ? 0 : EINVAL;
    case kReset: Reset(); return 0;
    default: return EINVAL;
  }
}

int Device::Request() {
  if (!is_active_) return EINVAL;
  std::array<uint8_t, Commands::kRequestBytes> request;
  std::array<uint8_t, Commands::kResponseBytes> response;
  std::memcpy(request.data(), region_->command.data, request.size());
  const int error = commands_.Execute(request, response);
  std::memcpy(region_->response.data, response.data(), response.size());
  Raise(kResponseVector);
  return error;
}

// --- Doorbells

void Device::WriteDoorbell(uint32_t page, uint32_t offset, uint32_t value) {
  if (!is_active_) return;
  const uint32_t handle = value & kHandleMask;
  if (offset == kQpDoorbell && handle == kGsiHandle) {
    if (!objects_.gsi.has_value() || objects_.pds.at(objects_.gsi->pd).context != page) return;
    ServeGsi();
    for (const uint32_t cq : {objects_.gsi->send_cq, objects_.gsi->recv_cq}) ServeCq(cq, objects_.cqs.at(cq));
  } else if (offset == kQpDoorbell) {
    Qp* const qp = Find(objects_.qps, handle);
    if (qp == nullptr || objects_.pds.at(qp->pd).context != page) return;
    ServeQp(handle, *qp);
  } else if (offset == kSrqDoorbell) {
    Srq* const srq = Find(objects_.srqs, handle);
    if ((value & kSrqRecv) == 0 || srq == nullptr || objects_.pds.at(srq->pd).context != page) return;
    ServeSrq(handle, *srq);
  } else if (offset == kCqDoorbell) {
    Cq* const cq = Find(objects_.cqs, handle);
    if (cq == nullptr || cq->context != page) return;
    // What is complete already does not notify.
    ServeCq(handle, *cq);
    if ((value & kCqArm) != 0) {
      cq->arm = Cq::Arm::kAny;
    } else if ((value & kCqArmSolicited) != 0) {
      DataPath::ArmSolicited(*cq);
    }
  }
  Flush();
}

// --- Progress

void Device::Progress() {
  if (!is_active_) return;
  ServeGsi();
  for (auto& [handle, cq] : objects_.cqs) ServeCq(handle, cq);
  for (auto& [handle, srq] : objects_.srqs) ServeSrq(handle, srq);
  for (auto& [handle, qp] : objects_.qps) ServeQp(handle, qp);
  Flush();
}

void Device::ServeGsi() {
  gsi_.Serve();
  if (!objects_.gsi.has_value()) return;
  GsiQp& qp = *objects_.gsi;
  if (!qp.send.ring.is_stopped() && !qp.recv.ring.is_stopped()) return;
  qp.state = spec::IbQpState::kErr;
  if (!std::exchange(qp.is_reported, true)) Report(EventType::kQpFatal, kGsiHandle);
}

void Device::ServeQp(uint32_t handle, Qp& qp) {
  data_path_.MoveReceives(qp);
  data_path_.MoveSends(qp);
  if ((qp.send.ring.is_stopped() || qp.recv.ring.is_stopped()) && !std::exchange(qp.is_reported, true)) {
    Report(EventType::kQpFatal, handle);
  }
}

void Device::ServeSrq(uint32_t handle, Srq& srq) {
  data_path_.MoveReceives(srq);
  if (srq.recv.ring.is_stopped() && !std::exchange(srq.is_reported, true)) Report(EventType::kSrqErr, handle);
  if (std::exchange(srq.is_limit_due, false)) {
    const host::Result<bool> is_reached = srq.queue->ConfirmLimit();
    if (is_reached.ok() && *is_reached) Report(EventType::kSrqLimitReached, handle);
  }
}

void Device::ServeCq(uint32_t handle, Cq& cq) {
  const bool was_due = cq.must_notify;
  data_path_.MoveCompletions(cq);
  if (cq.must_notify && !was_due) notifications_.push_back(handle);
  if (cq.ring.is_stopped() && !std::exchange(cq.is_reported, true)) Report(EventType::kCqErr, handle);
}

void Device::Flush() {
  bool is_new = false;
  for (; !notifications_.empty(); notifications_.pop_front()) {
    const uint32_t handle = notifications_.front();
    Cq* const cq = Find(objects_.cqs, handle);
    if (cq == nullptr) continue;  // destroyed since
    if (!Push(region_->notifications, Notification{handle})) break;
    cq->must_notify = false;
    is_new = true;
  }
  if (is_new) Raise(kCqVector);
  is_new = false;
  for (; !events_.empty() && Push(region_->events, events_.front()); events_.pop_front()) is_new = true;
  if (is_new) Raise(kAsyncVector);
}

template <typename T>
bool Device::Push(EventRing& to, const T& entry) {
  const std::optional<uint32_t> used = to.ring.Outstanding();
  if (!used.has_value() || *used >= to.ring.entries()) return false;
  Store(to.pages.At(kFirstEntry + uint64_t{to.ring.slot()} * sizeof entry), entry);
  to.ring.Advance();
  return true;
}

void Device::OnEvent(const host::DeviceEvent& event) {
  if (!is_active_) return;
  if (event.kind == host::DeviceEvent::Kind::kNeedsReset) return Report(EventType::kDeviceFatal, kPort);
  if (event.kind != host::DeviceEvent::Kind::kRdma) return;
  const std::optional<EventType> type = FromEvent(event.rdma.event_type);
  if (!type.has_value()) return;
  // The objects' handles, by the NIC's numbers.
  const uint32_t number = event.rdma.element;
  const auto report = [&](const auto& objects, auto is_it) {
    const auto found = std::ranges::find_if(objects, [&](const auto& entry) { return is_it(entry.second); });
    if (found != objects.end()) Report(*type, found->first);
  };
  const auto is_srq = [number](const Srq& srq) { return srq.queue->srqn() == number; };
  switch (*type) {
    case EventType::kCqErr: return report(objects_.cqs, [number](const Cq& cq) { return cq.queue->cqn() == number; });
    case EventType::kQpFatal:
    case EventType::kQpReqErr:
    case EventType::kQpAccessErr:
    case EventType::kCommEst:
    case EventType::kSqDrained:
    case EventType::kQpLastWqeReached:
      return report(objects_.qps, [number](const Qp& qp) { return qp.qp->qpn() == number; });
    case EventType::kSrqErr: return report(objects_.srqs, is_srq);
    // To be confirmed by a command, which this must not wait for: in Progress().
    case EventType::kSrqLimitReached:
      for (auto& [handle, srq] : objects_.srqs) srq.is_limit_due |= is_srq(srq);
      return;
    case EventType::kDeviceFatal:
    case EventType::kPortActive:
    case EventType::kPortErr: return Report(*type, kPort);
  }
}

void Device::Report(EventType type, uint32_t info) {
  if (events_.size() < kMostEvents) events_.push_back({.type = type, .info = info});
}

void Device::Raise(Vector vector) {
  const uint32_t bit = 1U << vector;
  causes_ |= bit;
  if ((masked_ & bit) != 0) {
    held_ |= bit;
  } else {
    arrived_[vector] = true;
  }
}

bool Device::TakeInterrupt(unsigned vector) { return vector < kVectors && std::exchange(arrived_[vector], false); }

}  // namespace vireo::sim::pvrdma
