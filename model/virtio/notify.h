// SPDX-License-Identifier: Apache-2.0
// Doorbells and CQ arms out of writes to the notify region: the counterpart of rtl/virtio/vireo_notify.sv.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Notify final : public Block {
 public:
  // From an access to the token, if nothing waits.
  static constexpr unsigned kDoorbellLatency = 5 + kIndexSetLookupLatency;
  static constexpr unsigned kArmLatency = 6 + kIndexSetLookupLatency;
  // From an access to the read of the queue's row, so that the row of an access before is there.
  static constexpr unsigned kRowDelay = 4;
  // From a token on `again` to the doorbell, if nothing waits.
  static constexpr unsigned kAgainLatency = kDoorbellLatency;

  Notify(Agenda& agenda, const spec::Config& config);

  void Run(Cycle now) override;
  // Pulses in cycle `now`.
  void OnBar(Cycle now, const spec::BarAccess& access);
  void OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row);
  // Inputs from cycle `now` on; at first 0, resetting 1.
  void SetEnable(Cycle now, bool enable);
  void SetResetting(Cycle now, bool resetting);
  void SetMq(Cycle now, bool mq);
  void SetProfile(Cycle now, spec::Profile profile);

  // As idle_o in cycle `now`, before its Run and its pulses.
  bool IsIdle(Cycle now);

  // Rings of the device's own, as if the driver had rung.
  Channel<spec::Doorbell> again_in = Channel<spec::Doorbell>::Slice();

  // The ends of the streams, to be connected to the block given with them.
  void ConnectSend(Channel<spec::Doorbell>& channel) { send_.out.Connect(channel, send_); }
  void ConnectReceive(Channel<spec::Doorbell>& channel) { receive_.out.Connect(channel, receive_); }
  void ConnectControl(Channel<spec::Doorbell>& channel) { control_.out.Connect(channel, control_); }
  void ConnectNet(Channel<spec::Doorbell>& channel) { net_.out.Connect(channel, net_); }
  void ConnectCqArm(Channel<spec::CqArm>& channel) { arm_.out.Connect(channel, arm_); }

 private:
  enum class Kind { kNone, kNet, kControl, kCq, kSend, kReceive };
  struct Access {
    Cycle cycle;
    uint32_t queue;
    bool arm;  // else a ring
    uint32_t value;
    Kind kind = Kind::kNone;
    uint32_t number = 0;  // among its kind
    bool enabled = false;
  };
  void TakeAgain(Cycle now);
  void Classify(Cycle now, Access& access);
  void Decide(Cycle now, const Access& access);
  uint32_t Base(Cycle load) { return offered_from_index_.At(load); }

  uint32_t net_queue_pairs_, num_cqs_, num_qps_;
  struct ArmPush {
    Cycle cycle;
    uint32_t number;
  };

  std::deque<Access> accesses_;
  std::optional<ArmPush> arm_push_;
  Table<uint8_t> enabled_;
  Table<uint32_t> values_;  // by CQ and flag
  // Registers of the inputs.
  Level<bool> enable_{false}, resetting_{true}, vireo_{false};
  Level<uint32_t> control_index_;       // for telling kinds
  Level<uint32_t> offered_from_index_;  // for making tokens, one cycle later

  LookupIndexSet<spec::Doorbell> send_, receive_, control_, net_;
  LookupIndexSet<spec::CqArm> arm_;
};

}  // namespace vireo::model
