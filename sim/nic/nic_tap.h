// SPDX-License-Identifier: Apache-2.0
// A monitor between a NIC and its environment: forwards everything unchanged in zero time, reports it as boundary
// events, and checks that both sides follow the rules of nic.h. The tap reports events, not the device, so an event
// means the same for every device.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/time/scheduler.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct SeamLimits {
  uint32_t max_read_request_bytes = 512;
  uint32_t max_payload_bytes = 256;
};

class NicTap final : public Nic, public NicEnvironment {
 public:
  NicTap(const Scheduler& scheduler, const CoreClock& clock, const spec::Config& config, const SeamLimits& limits,
         uint16_t number);

  // Call before anything else; all arguments outlive the tap. Without a management environment, CSR answers and
  // interrupts are discarded.
  void Attach(Nic& nic) { nic_ = &nic; }
  void Connect(PcieEnvironment& pcie, FrameEnvironment& frames) { pcie_ = &pcie, frames_ = &frames; }
  void Connect(ManagementEnvironment& management) { management_ = &management; }
  void AddSink(EventSink& sink) { sinks_.push_back(&sink); }

  // Violations of the seam's rules, each with its cycle, in time order; the first kMaxViolations of them.
  static constexpr size_t kMaxViolations = 100;
  const std::vector<std::string>& violations() const { return violations_; }

  // Nic, for the environment.
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
  // A device that is idle is reported to the sinks. An input after a silence asks, too.
  bool IsIdle() const override;
  Cycle NextDeadline() const override { return nic_->NextDeadline(); }

  // NicEnvironment, for the device.
  void CompleteBarRead(Cycle cycle, uint64_t value) override;
  void ReadDma(Cycle cycle, const DmaRead& read) override;
  void WriteDma(Cycle cycle, const DmaWrite& write) override;
  void SendMsix(Cycle cycle, uint16_t vector) override;
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override;
  void CompleteCsrRead(Cycle cycle, uint32_t value) override;
  void SetFirmwareInterrupt(Cycle cycle, bool level) override;

 private:
  // A port on which trains of beats must not overlap.
  struct Port {
    Cycle free = 0;  // the first cycle in which a train may begin
  };
  struct Read {
    uint64_t address = 0;
    uint32_t bytes = 0;  // 0: the tag is free
    uint32_t done = 0;
  };

  void Report(EventKind kind, Cycle cycle, std::span<const uint8_t> payload, uint64_t address = 0, uint32_t id = 0,
              uint32_t bytes = 0, uint8_t status = 0);
  void ReportValue(EventKind kind, Cycle cycle, uint64_t value, unsigned bytes, uint64_t address = 0, uint32_t id = 0);
  void Violation(Cycle cycle, const std::string& what);
  void CheckInput(Cycle cycle, const char* what);
  void CheckOutput(Cycle cycle, const char* what);
  void CheckTrain(Port& port, Cycle first, uint32_t beats, const char* what);

  const Scheduler& scheduler_;
  const CoreClock clock_;
  const spec::Config& config_;
  const SeamLimits limits_;
  const uint32_t beat_bytes_;
  const uint16_t number_;
  Nic* nic_ = nullptr;
  PcieEnvironment* pcie_ = nullptr;
  FrameEnvironment* frames_ = nullptr;
  ManagementEnvironment* management_ = nullptr;
  static constexpr Cycle kSilence = 256;
  std::vector<EventSink*> sinks_;
  Cycle last_event_ = 0;
  mutable bool is_idle_told_ = false;  // since the last event
  std::vector<std::string> violations_;

  Cycle first_input_ = 0;
  bool was_reset_ = false;
  Port bar_, bar_completion_, dma_read_, dma_completion_, dma_write_, msix_, transmit_, receive_, csr_;
  std::vector<Read> reads_;        // by tag
  std::deque<Cycle> bar_reads_;    // not answered yet
  std::optional<Cycle> csr_read_;  // not answered yet
  bool interrupt_ = false;
  bool link_ = true;
  int64_t credits_[2] = {};  // by CreditKind
  Cycle written_ = kNever;   // last beat of the last DMA write, unless that was refused
};

}  // namespace vireo::sim
