// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/notify.h"

#include <iterator>

#include "model/virtio/queue_count.h"

namespace vireo::model {
namespace {

using spec::CqArm;
using spec::Doorbell;

}  // namespace

Notify::Notify(Agenda& agenda, const spec::Config& config)
    : Block(agenda),
      net_queue_pairs_(config.net_queue_pairs),
      num_cqs_(config.num_cqs),
      num_qps_(config.num_qps),
      has_push_(config.push_requests != 0),
      enabled_(QueuesOf(config)),
      values_(2 * config.num_cqs),
      control_index_(2 * spec::kNetMqVqPairsMin),
      offered_from_index_(2 * spec::kNetMqVqPairsMin),
      send_(agenda, config.num_qps,
            [this](Cycle load, uint32_t qpn) {
              return Doorbell{.vq_index =
                                  static_cast<uint16_t>(Base(load) + num_cqs_ + spec::kRdmaTransmitqOffset + 2 * qpn)};
            }),
      receive_(agenda, config.num_qps,
               [this](Cycle load, uint32_t qpn) {
                 return Doorbell{
                     .vq_index = static_cast<uint16_t>(Base(load) + num_cqs_ + spec::kRdmaReceiveqOffset + 2 * qpn)};
               }),
      control_(agenda, 2,
               [this](Cycle load, uint32_t) { return Doorbell{.vq_index = static_cast<uint16_t>(Base(load))}; }),
      net_(agenda, 2 * config.net_queue_pairs,
           [](Cycle, uint32_t index) { return Doorbell{.vq_index = static_cast<uint16_t>(index)}; }),
      arm_(agenda, 2 * config.num_cqs, [this](Cycle load, uint32_t index) {
        return CqArm{.cqn = static_cast<uint16_t>(index / 2), .value = values_.Read(load, index)};
      }) {
  const auto at_reset = [](auto& pending) {
    pending.SetHold(0, true);
    pending.SetClear(0, true);
  };
  internal_in.SetConsumer(this);
  at_reset(send_);
  at_reset(receive_);
  at_reset(control_);
  at_reset(net_);
  at_reset(arm_);
}

void Notify::OnBar(Cycle now, const spec::BarAccess& access) {
  if (!access.write || access.bar_index != spec::kBarVirtio) return;
  const uint32_t at = access.offset - spec::kBarVirtioNotify;
  if (access.offset < spec::kBarVirtioNotify || at >= spec::kBarVirtioNotifyBytes) return;
  const uint32_t place = at % spec::kNotifyOffMultiplier;
  if (has_push_ && access.bytes == spec::RdmaPush::kBytes) TakePush(access, now);
  const bool ring = place == spec::kNotifyPageQueue && (access.bytes == spec::VirtqNotification::kBytes ||
                                                        access.bytes == spec::VirtqNotificationData::kBytes);
  const bool arm = place == spec::kRdmaCqArmOffset && access.bytes == spec::RdmaCqArm::kBytes;
  if (!ring && !arm) return;
  accesses_.push_back({.cycle = now,
                       .queue = at / spec::kNotifyOffMultiplier,
                       .arm = arm,
                       .value = static_cast<uint32_t>(access.data)});
  WakeAt(now + kRowDelay);
}

void Notify::TakePush(const spec::BarAccess& access, Cycle now) {
  constexpr uint32_t kPlaces = 1 + spec::kRdmaPushMost / spec::RdmaPush::kBytes;  // behind the end's
  const uint32_t at = access.offset - spec::kBarVirtioNotify;
  const uint32_t byte = at % spec::kNotifyOffMultiplier;
  const bool is_end = byte == spec::kRdmaPushEndOffset;
  const uint32_t word = (byte - spec::kRdmaPushOffset) / spec::RdmaPush::kBytes;
  if (!is_end && (byte < spec::kRdmaPushOffset || byte % spec::RdmaPush::kBytes != 0 || word >= kPlaces)) return;
  pushes_.push_back({.cycle = now,
                     .queue = at / spec::kNotifyOffMultiplier,
                     .write = {.qpn = 0, .place = static_cast<uint8_t>(is_end ? 0 : word + 1), .data = access.data}});
  WakeAt(now + 1);
}

// The queue need not be enabled: what is pushed counts only if the queue gives it out.
void Notify::RunPushes(Cycle now) {
  while (!pushes_.empty() && pushes_.front().cycle + kPushLatency <= now) {
    if (pushes_.front().known) on_push_write(now, pushes_.front().write);
    pushes_.pop_front();
  }
  for (Push& push : pushes_) {
    if (push.cycle + 1 != now) continue;
    const uint32_t first_send = control_index_.At(now) + num_cqs_ + spec::kRdmaTransmitqOffset;
    push.known = vireo_.At(now) && !resetting_.At(now) && push.queue >= first_send &&
                 push.queue < first_send + 2 * num_qps_ && (push.queue - first_send) % 2 == 0;
    push.write.qpn = (push.queue - first_send) / 2;
    WakeAt(now + 1);
  }
}

void Notify::OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row) {
  if (row.vq_index < enabled_.size()) enabled_.Write(now, row.vq_index, row.enabled ? 1 : 0);
}

void Notify::SetEnable(Cycle now, bool enable) {
  enable_.Set(now + 1, enable);
  send_.SetHold(now + 1, !enable);
  receive_.SetHold(now + 1, !enable);
  control_.SetHold(now + 1, !enable);
  net_.SetHold(now + 1, !enable);
  arm_.SetHold(now + 1, !enable);
}

void Notify::SetResetting(Cycle now, bool resetting) {
  resetting_.Set(now + 1, resetting);
  send_.SetClear(now + 1, resetting);
  receive_.SetClear(now + 1, resetting);
  control_.SetClear(now + 1, resetting);
  net_.SetClear(now + 1, resetting);
  arm_.SetClear(now + 1, resetting);
}

void Notify::SetMq(Cycle now, bool mq) {
  const uint32_t index = 2 * (mq ? net_queue_pairs_ : spec::kNetMqVqPairsMin);
  control_index_.Set(now + 1, index);
  offered_from_index_.Set(now + 2, index);
}

void Notify::SetProfile(Cycle now, spec::Profile profile) { vireo_.Set(now + 1, profile == spec::Profile::kVireo); }

// RFC v2, Virtqueues.
void Notify::Classify(Cycle now, Access& access) {
  const uint32_t control = control_index_.At(now);
  const uint32_t first_cq = control + spec::kRdmaCompleteqOffset;
  const uint32_t first_send = control + num_cqs_ + spec::kRdmaTransmitqOffset;
  const uint32_t first_receive = control + num_cqs_ + spec::kRdmaReceiveqOffset;
  const bool vireo = vireo_.At(now);
  if (access.queue < enabled_.size()) access.enabled = enabled_.Read(now, access.queue) != 0;
  if (access.arm) {
    const auto arm = spec::RdmaCqArm::FromWord(access.value);
    if (!vireo || access.queue < first_cq || access.queue >= first_cq + num_cqs_) return;
    if (!arm.solicited && !arm.next_completion) return;
    access.kind = Kind::kCq;
    access.number = 2 * (access.queue - first_cq) + (arm.next_completion ? 1 : 0);
  } else if (access.queue < control) {
    access.kind = Kind::kNet;
    access.number = access.queue;
  } else if (access.queue == control) {
    access.kind = Kind::kControl;
  } else if (access.queue >= first_send && access.queue < first_send + 2 * num_qps_ &&
             (access.queue - first_send) % 2 == 0) {
    access.kind = Kind::kSend;
    access.number = (access.queue - first_send) / 2;
  } else if (access.queue >= first_receive && access.queue < first_receive + 2 * num_qps_ &&
             (access.queue - first_receive) % 2 == 0) {
    access.kind = Kind::kReceive;
    access.number = (access.queue - first_receive) / 2;
  }
}

void Notify::Decide(Cycle now, const Access& access) {
  if (!access.enabled || resetting_.At(now)) return;
  switch (access.kind) {
    case Kind::kNone: break;
    case Kind::kNet: net_.Push(now, access.number); break;
    case Kind::kControl: control_.Push(now, 0); break;
    case Kind::kSend: send_.Push(now, access.number); break;
    case Kind::kReceive: receive_.Push(now, access.number); break;
    case Kind::kCq:
      // The push comes one cycle later, so that a load just before it has read this value.
      values_.Write(now, access.number, access.value);
      arm_push_ = ArmPush{now + 1, access.number};
      WakeAt(now + 1);
      break;
  }
}

// It uses the slot that no access took one cycle earlier.
void Notify::TakeInternal(Cycle now) {
  if (!internal_in.CanPop(now)) return;
  auto behind = accesses_.end();
  while (behind != accesses_.begin() && std::prev(behind)->cycle >= now) --behind;
  if (behind != accesses_.begin() && std::prev(behind)->cycle + 1 == now) {
    WakeAt(now + 1);
    return;
  }
  accesses_.insert(behind, {.cycle = now - 1, .queue = internal_in.Pop(now).vq_index, .arm = false, .value = 0});
}

void Notify::Run(Cycle now) {
  RunPushes(now);
  TakeInternal(now);
  if (arm_push_.has_value() && arm_push_->cycle <= now) {
    arm_.Push(now, arm_push_->number);
    arm_push_.reset();
  }
  while (!accesses_.empty() && accesses_.front().cycle + kRowDelay + 1 <= now) {
    Decide(now, accesses_.front());
    accesses_.pop_front();
  }
  for (Access& access : accesses_) {
    if (access.cycle + kRowDelay == now) {
      Classify(now, access);
      WakeAt(now + 1);
    } else if (access.cycle + kRowDelay > now) {
      WakeAt(access.cycle + kRowDelay);
      break;
    }
  }
}

bool Notify::IsIdle(Cycle now) {
  if (arm_push_.has_value() || internal_in.CanPop(now)) return false;
  for (const Access& access : accesses_) {
    if (access.cycle < now && (access.cycle + kRowDelay + 1 != now || access.kind != Kind::kNone)) return false;
  }
  for (const Push& push : pushes_) {
    if (push.cycle < now && (push.cycle + 1 == now || push.known)) return false;
  }
  if (send_.IsOffered() || receive_.IsOffered() || control_.IsOffered() || net_.IsOffered() || arm_.IsOffered()) {
    return false;
  }
  // Held pulses do not count: they start no work before the hold ends.
  return !enable_.At(now) || !(send_.IsWaiting(now) || receive_.IsWaiting(now) || control_.IsWaiting(now) ||
                               net_.IsWaiting(now) || arm_.IsWaiting(now));
}

}  // namespace vireo::model
