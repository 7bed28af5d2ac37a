// SPDX-License-Identifier: Apache-2.0
// RTL behind its pins as a Nic: one evaluation of the clock per cycle while busy, none while idle. axi_bridge.h defines
// which input is on the pins in which cycle, and what an output means.
//
// Idle: the device asserts idle_o, no output is valid and no input is pending here. The clock then stops until the next
// input, configuration write or deadline; time_ns_i is correct when it resumes. So idle_o must guarantee that further
// edges without input change nothing: no counter runs, and nothing is in flight inside.
//
// Kernel-free: works with any Scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "sim/device/axi_bridge.h"
#include "sim/device/nic_pins.h"
#include "sim/device/pci_config.h"
#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class RtlNic final : public Nic, private Scheduler::Client {
 public:
  // `context` as for a factory: its references outlive the NIC.
  RtlNic(const NicContext& context, std::unique_ptr<NicPins> pins, const PciConfig::Options& options = {});

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
  bool IsIdle() const override { return !busy_; }
  Cycle NextDeadline() const override { return deadline_; }

  uint64_t evaluated_cycles() const { return evaluated_cycles_; }  // since the last reset, without the reset's cycles
  NicPins& pins() { return *pins_; }

 private:
  struct RegisterAccess {
    Cycle cycle = 0;
    bool is_write = false;
    uint8_t bar = 0, bytes = 0;
    uint32_t offset = 0;
    uint64_t value = 0;
  };
  struct Frame {
    Cycle start = 0;
    std::vector<uint8_t> bytes;
    bool mac_error = false;
  };
  struct ConfigChange {
    Cycle cycle = 0;  // first cycle on the pins
    PciConfig::Controls controls;
  };

  struct LinkChange {
    Cycle cycle = 0;
    bool up = true;
  };

  void OnTime(uint64_t) override;
  void Wake(Cycle cycle);
  void Enter(Cycle cycle) { busy_ = true, Wake(cycle); }  // an input arrives in `cycle`
  void Sleep(Cycle next);  // schedules the next evaluation; `next` is the cycle after the last one
  void Evaluate(Cycle cycle);
  void SetInputs(Cycle cycle, const NicOutputs& out);
  void TakeOutputs(Cycle cycle, const NicOutputs& out);
  void SetControls(const PciConfig::Controls& controls);
  bool HasInput() const;

  Scheduler& scheduler_;
  const CoreClock clock_;
  NicEnvironment& environment_;
  const std::unique_ptr<NicPins> pins_;
  PciConfig config_space_;
  AxiBridge bridge_;
  const uint32_t beat_bytes_;
  const Scheduler::ClientNumber client_;

  Cycle first_input_ = 0;
  Cycle next_evaluation_ = kNever;
  bool busy_ = false;  // an evaluation is scheduled for another reason than the deadline
  Cycle deadline_ = kNever;
  uint64_t evaluated_cycles_ = 0;

  NicInputs inputs_;
  std::deque<RegisterAccess> bar_accesses_, csr_accesses_;
  std::deque<Frame> frames_;
  std::deque<ConfigChange> config_changes_;
  std::deque<LinkChange> link_changes_;
  bool interrupt_ = false;
  std::vector<uint8_t> transmitting_;
  Cycle transmit_start_ = kNever;  // of the frame in progress
};

}  // namespace vireo::sim
