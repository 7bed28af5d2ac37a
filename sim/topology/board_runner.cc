// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/board_runner.h"

#include "sim/topology/riscv_runner.h"

namespace vireo::sim {

BoardRunner::BoardRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, BoardNic& nic,
                         const firmware::Options& options)
    : ControlProcessor(scheduler, clock, static_cast<Nic&>(tap)), nic_(nic), options_(options) {
  ConnectTo(tap);
}

void BoardRunner::Boot(Cycle) {
  console_.clear();
  failure_ = spec::ProcessorFailure::kNone;
  nic_.LoadProcessor(*this, ProcessorImage(options_));
}

void BoardRunner::OnAccess(Cycle cycle, const spec::BoardCsr& access) {
  access_ = access;
  ContinueAt(cycle);
}

void BoardRunner::Continue() {
  if (!access_.is_write) return ReadRegister(access_.offset);
  if (access_.offset == spec::kMgmtControlRegister && spec::MgmtControl::FromWord(access_.value).firmware_ready) {
    state_ = State::kServing;
  }
  WriteRegister(access_.offset, access_.value);
}

void BoardRunner::OnRan(Cycle, const spec::BoardRan& ran) {
  failure_ = ran.failure;
  if (failure_ != spec::ProcessorFailure::kNone) {
    state_ = failure_ == spec::ProcessorFailure::kFirmware ? State::kRefused : State::kStarting;
  }
  is_waiting_ = ran.is_waiting && !interrupt();
}

}  // namespace vireo::sim
