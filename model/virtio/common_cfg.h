// SPDX-License-Identifier: Apache-2.0
// Common configuration, interrupt status and device configuration: the counterpart of rtl/virtio/vireo_common_cfg.sv.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class CommonCfg final : public Block {
 public:
  // From an access to: queue_row_write; device_reset, features_written and driver_ok; queue_reset, if none waits.
  static constexpr unsigned kRowLatency = 4;
  static constexpr unsigned kPulseLatency = 3;
  static constexpr unsigned kQueueResetLatency = 2 + kIndexSetLookupLatency;

  // Firmware's settings, through the management registers.
  struct Inputs {
    spec::Profile profile = spec::Profile::kRfcV2;
    bool needs_reset = false;
    bool link_up = false;
    bool announce = false;
    std::array<uint8_t, 6> mac{};
    uint16_t mtu = 0;

    friend bool operator==(const Inputs&, const Inputs&) = default;
  };
  using Features = std::array<uint32_t, spec::kVirtioFeatureBits / 32>;
  // Outputs that hold their value.
  struct Levels {
    uint8_t device_status = 0;
    Features driver_features{};
    bool roce = false;  // net_f_roce of the profile is among them
    bool resetting = true;

    friend bool operator==(const Levels&, const Levels&) = default;
  };

  CommonCfg(Agenda& agenda, const spec::Config& config, uint32_t num_vectors = spec::kMsixVectorsMax);

  void Run(Cycle now) override;
  // Pulses in cycle `now`.
  void OnBar(Cycle now, const spec::BarAccess& access);
  void OnResetDone(Cycle now);
  void OnQueueResetDone(Cycle now, uint16_t vq_index);
  // Read data of another block, 3 cycles after the access; may be reported ahead.
  void OnOtherReadData(Cycle at, uint64_t data) { other_data_.push_back({at, data}); }
  // The cycle from which on the MSI-X table is ready: a reset does not complete earlier.
  void SetMsixReady(Cycle from) { msix_ready_ = from; }
  // Firmware is ready from this cycle on, for the first time: a hardware reset does not complete earlier.
  void OnFirmwareReady(Cycle from);
  // Effective from cycle `now` on; initially all 0.
  void SetInputs(Cycle now, const Inputs& inputs);

  // idle_o in cycle `now`, before its Run.
  bool IsIdle() const { return !r_.sweep && !r_.row_valid && !r_.interrupt_valid && !r_.interrupt_pending; }
  uint32_t num_queues() const { return static_cast<uint32_t>(rows_.size()); }

  Output<spec::Interrupt> interrupt_out;
  void ConnectQueueReset(Channel<spec::Doorbell>& channel) { queue_reset_.out.Connect(channel, queue_reset_); }
  // Each called in the cycle of its pulse; empty: not connected.
  std::function<void(Cycle, uint64_t)> on_read_data;
  std::function<void(Cycle, const spec::QueueRowWrite&)> on_queue_row_write;
  std::function<void(Cycle)> on_device_reset;  // reset_all_o is the same pulse
  std::function<void(Cycle)> on_features_written;
  std::function<void(Cycle)> on_driver_ok;
  // A level changes; reported in the cycle before.
  std::function<void(Cycle from, const Levels&)> on_levels;

 private:
  struct Row {
    bool enabled = false;
    bool reset_toggle = false;  // != done: in reset
    bool done = false;
    uint16_t size = 0;
    uint16_t vector = spec::kVirtioMsiNoVector;
    uint64_t desc = 0, driver = 0, device = 0;
  };
  enum class RowChange { kNone, kOn, kOff };
  struct Access {
    Cycle cycle;
    spec::BarAccess access;
    bool aligned = false;
    uint16_t select = 0;  // from stage 1 on
    bool exists = false;
    bool done = false;
    Row row{};          // from stage 2 on, as sampled there
    uint64_t word = 0;  // read data from other registers than the queue's
    RowChange change = RowChange::kNone;
  };
  // The registers.
  struct Registers {
    uint16_t queue_select = 0;
    uint32_t device_select = 0, driver_select = 0;
    Features accepted{};
    uint8_t status = 0;
    uint16_t config_vector = spec::kVirtioMsiNoVector;
    uint8_t generation = 0;
    bool isr = false;
    Inputs shown;
    bool resetting = true, sweep = true, sweep_gap = false, firmware = false;
    uint32_t sweep_queue = 0;
    bool device_reset = false, features_written = false, driver_ok = false;
    bool interrupt_pending = false, interrupt_valid = false;
    uint16_t interrupt = 0;
    bool row_valid = false;
    spec::QueueRowWrite row;
    bool read_valid = false;
    uint64_t read_data = 0;
  };
  struct OtherData {
    Cycle at;
    uint64_t data;
  };
  struct QueueResetDone {
    Cycle cycle;
    uint16_t queue;
    bool reset_toggle = false;
  };

  const spec::ProfileConstants& profile(const Registers& r) const { return spec::ConstantsOf(r.shown.profile); }
  uint32_t QueuesOf(const Registers& r) const { return base_queues_ + profile(r).rdma_event_queues; }
  Features Offered(const Registers& r) const;
  bool HasRoce(const Registers& r) const;
  uint32_t MaxEntries(const Registers& r, uint16_t queue) const;
  bool FeaturesAreGood(const Registers& r) const;
  uint64_t CommonWord(const Registers& b, const Access& access) const;
  uint64_t DeviceWord(const Registers& b, uint32_t at) const;
  uint64_t QueueWord(const Access& access) const;
  void Stage1(const Registers& b, Registers& n, Access& access);
  void Stage2(Cycle now, const Registers& b, Registers& n, Access& access);
  void Stage3(Cycle now, Registers& n, const Access& access);
  void WriteCommon(Cycle now, const Registers& b, Registers& n, Access& access);
  void WriteQueue(Cycle now, const Registers& b, Access& access, uint32_t at, unsigned bytes);

  uint32_t net_queue_pairs_, num_cqs_, num_qps_, max_queue_entries_, max_net_queue_entries_, num_vectors_;
  uint64_t features_withheld_;  // by the configuration
  uint32_t base_queues_;
  std::vector<Row> rows_;
  std::deque<Access> accesses_;
  std::deque<OtherData> other_data_;
  std::deque<QueueResetDone> queue_resets_done_;
  std::deque<Cycle> resets_done_;
  Cycle msix_ready_ = 0;
  Cycle started_ = kUnknown;        // firmware was ready before it
  Level<Inputs> inputs_{Inputs{}};  // as registered
  Cycle reset_at_ = kUnknown;       // of the last device reset
  Registers r_;
  LookupIndexSet<spec::Doorbell> queue_reset_;
};

}  // namespace vireo::model
