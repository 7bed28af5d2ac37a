// SPDX-License-Identifier: Apache-2.0
// The model as a Nic, connected to the seam by the same bridge as RTL (axi_bridge.h), so that only the device differs.
// Runs only the cycles in which something happens.
//
// Kernel-free: works with any Scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/common/ring.h"
#include "model/nic.h"
#include "sim/device/axi_bridge.h"
#include "sim/device/pci_config.h"
#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class ModelNic final : public Nic, private Scheduler::Client, private model::NicOutputs {
 public:
  // `faster`: of a metered NIC that is compared with nothing.
  explicit ModelNic(const NicContext& context, const PciConfig::Options& options = {},
                    std::vector<model::Nic::Faster> faster = {});
  ~ModelNic() override;

  void Reset(Cycle cycle) override;
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override;
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override;
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override;
  void RefuseDmaWrite(Cycle cycle) override;
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override;
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(Cycle cycle, bool up) override;
  void ReadCsr(Cycle cycle, uint32_t offset) override;
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override;
  bool IsIdle() const override;
  Cycle NextDeadline() const override;

  // During SendMsix: that message, with address and data of its table entry.
  const model::MsixMessage& message() const { return message_; }
  // Counts up to the start of `cycle`, since the last reset; empty unless the NIC is metered.
  model::Meters::Counts MetersAt(Cycle cycle) const;
  uint64_t run_cycles() const { return run_cycles_; }  // in which something happened, since the last reset

 private:
  struct ConfigChange {
    Cycle cycle = 0;
    PciConfig::Controls controls;
  };
  // Bursts that the bus will take.
  struct Read {
    Cycle cycle = 0;
    DmaRead read;
  };
  struct Write {
    Cycle last = 0;                 // in which it takes the last beat
    std::span<const uint8_t> data;  // the model's, until the answer
  };
  struct Frame {
    Cycle start = 0, end = 0;
  };

  // model::NicOutputs
  void OnFrameAhead(Cycle start, Cycle end) override { frames_ahead_.push_back({Theirs(start), Theirs(end)}); }
  void OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) override;
  void OnBarRead(Cycle now, uint64_t data) override { environment_.CompleteBarRead(Theirs(now), data); }
  void OnCsrRead(Cycle now, uint32_t data) override { environment_.CompleteCsrRead(Theirs(now), data); }
  // After the writes of its cycle (rule C3).
  void OnMessage(Cycle, const model::MsixMessage& message) override { messages_.push_back(message); }
  void OnFirmwareInterrupt(Cycle from, bool level) override;
  uint64_t TimeNs(Cycle now) override { return clock_.Begin(Theirs(now)) / kPicosecondsPerNanosecond; }
  Cycle CycleAt(uint64_t ns) override;

  // The model counts cycles from the end of its reset.
  Cycle Ours(Cycle cycle) const { return cycle - first_input_; }
  Cycle Theirs(Cycle cycle) const { return model::After(cycle, first_input_); }
  void OnTime(uint64_t) override;
  void Wake(Cycle cycle);
  void Expect(Cycle cycle);
  void RunCycle(Cycle cycle);
  void ApplyConfig(Cycle cycle);
  void ApplyChanges(Cycle cycle);
  void Enter(Cycle cycle);  // of an input
  void TellTransmitReady(Cycle cycle);
  void TakeReadBursts();
  bool TakeWriteBursts(Cycle cycle);
  void TellBus(Cycle cycle);
  void TellMessages(Cycle cycle);
  Cycle FirstPending() const;
  Cycle NextRun(Cycle first);
  void SetControls(Cycle cycle, const PciConfig::Controls& controls);

  Scheduler& scheduler_;
  const CoreClock clock_;
  const spec::Config& config_;
  const bool is_metered_;
  const std::vector<model::Nic::Faster> faster_;
  NicEnvironment& environment_;
  PciConfig config_space_;
  AxiBridge bridge_;
  const Scheduler::ClientNumber client_;

  std::unique_ptr<model::Nic> model_;
  model::Ring<Read> reads_;
  model::Ring<Write> writes_;

  Cycle first_input_ = 0;
  Cycle next_run_ = kNever;
  Cycle pending_ = kNever;  // the earliest of what has its cycle and lies below
  uint64_t run_cycles_ = 0;
  std::deque<ConfigChange> config_changes_;
  std::deque<std::pair<Cycle, bool>> link_changes_;
  std::deque<Frame> frames_ahead_;  // whose beats are not all counted as sent
  Cycle beats_counted_ = 0;         // beats of frames before this cycle are
  bool transmit_ready_ = false;
  Cycle transmit_change_ = kNever;  // from then on it is something else, but for beats not counted yet
  std::deque<std::pair<Cycle, bool>> interrupts_;
  std::vector<model::MsixMessage> messages_;  // of the cycle that runs
  model::MsixMessage message_;
};

}  // namespace vireo::sim
