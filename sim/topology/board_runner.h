// SPDX-License-Identifier: Apache-2.0
// The firmware of a NIC on a board, on the control processor beside it. Every access of the processor is an access at
// the seam in its cycle, as with RiscvRunner: so monitors and reports see it, and a run has the same cycles.
#pragma once

#include <string>

#include "firmware/app/firmware.h"
#include "sim/device/board/board_nic.h"
#include "sim/topology/control_processor.h"

namespace vireo::sim {

class BoardRunner final : public ControlProcessor, private BoardProcessor {
 public:
  // See ControlProcessor::ConnectTo. `nic`, behind the tap, has a processor, and outlives the runner or does not run
  // after it. Of `options` all but max_polls, which is the default.
  BoardRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, BoardNic& nic,
              const firmware::Options& options);

  // What it has printed on its console since the last restart.
  const std::string& console() const { return console_; }
  // While it is stopped after a failure: why.
  spec::ProcessorFailure failure() const { return failure_; }

 private:
  void Boot(Cycle first_input) override;
  void Continue() override;
  void TakeAnswer(Cycle, uint32_t) override {}
  void Wake(Cycle) override {}
  void OnAccess(Cycle cycle, const spec::BoardCsr& access) override;
  void OnConsole(char character) override { console_ += character; }
  void OnRan(Cycle cycle, const spec::BoardRan& ran) override;

  BoardNic& nic_;
  const firmware::Options options_;
  spec::BoardCsr access_;
  std::string console_;
  spec::ProcessorFailure failure_ = spec::ProcessorFailure::kNone;
};

}  // namespace vireo::sim
