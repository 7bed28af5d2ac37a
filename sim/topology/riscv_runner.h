// SPDX-License-Identifier: Apache-2.0
// The firmware of one NIC on the control processor in RTL, clocked with the NIC's core clock. Its accesses and their
// cycles are those of the processor beside the datapath, whatever device is behind the management port: with the model,
// and with model and RTL in lockstep, both get the same ones.
//
// The processor depends on the device by answers and the interrupt only, and looks at the latter only while it waits.
// So it runs ahead to its next access or wait, and not at all while it waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "firmware/app/firmware.h"
#include "sim/device/processor_rtl.h"
#include "sim/topology/control_processor.h"

namespace vireo::sim {

// The firmware's image with these settings; it belongs at kProcessorStackBytes of the processor's memory.
std::vector<uint8_t> ProcessorImage(const firmware::Options& options);

class RiscvRunner final : public ControlProcessor {
 public:
  // See ControlProcessor::ConnectTo. Of `options` all but max_polls, which is the default. Only if
  // ProcessorRtl::WhyUnavailable() is empty.
  RiscvRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const firmware::Options& options);

  // What it has printed on its console since the last restart.
  const std::string& console() const { return console_; }
  // While it is stopped after a failure: why.
  spec::ProcessorFailure failure() const { return rtl_->failure(); }

  // Writes a word of the memory, as a debugger: see ProcessorRtl::Load. At the begin of a cycle in which the processor
  // waits.
  void WriteMemory(uint32_t address, uint32_t value);

 private:
  enum class Phase : uint8_t { kRun, kAccess, kAnswer, kWait };

  void Boot(Cycle first_input) override;
  void Continue() override;
  void TakeAnswer(Cycle cycle, uint32_t value) override;
  void Wake(Cycle cycle) override;
  void Step(std::optional<uint32_t> answer = {}, bool interrupt = false);
  void Advance();
  void Access();

  const firmware::Options options_;
  std::unique_ptr<ProcessorRtl> rtl_;
  Cycle cycle_ = 0;  // the one that the outputs are of
  Phase phase_ = Phase::kRun;
  std::string console_;
};

}  // namespace vireo::sim
