// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/riscv_runner.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace vireo::sim {

RiscvRunner::RiscvRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const firmware::Options& options)
    : ControlProcessor(scheduler, clock, static_cast<Nic&>(tap)), options_(options) {
  ConnectTo(tap);
}

std::vector<uint8_t> ProcessorImage(const firmware::Options& options) {
  std::vector<uint8_t> image = ProcessorRtl::Image();
  spec::ProcessorSettings settings{.magic = spec::kProcessorSettingsMagic,
                                   .abi_profile = static_cast<uint8_t>(options.profile == spec::Profile::kVireo),
                                   .has_mac = static_cast<uint8_t>(options.has_mac),
                                   .mac = {},
                                   .mtu = options.mtu};
  std::ranges::copy(options.mac, std::begin(settings.mac));
  settings.Encode(&image[spec::kProcessorSettingsOffset]);
  return image;
}

void RiscvRunner::Boot(Cycle first_input) {
  rtl_ = std::make_unique<ProcessorRtl>();
  console_.clear();
  const std::vector<uint8_t> image = ProcessorImage(options_);
  for (uint32_t at = 0; at < image.size(); at += 4) {
    rtl_->Load(spec::kProcessorStackBytes + at,
               static_cast<uint32_t>(image[at] | image[at + 1] << 8 | image[at + 2] << 16 | image[at + 3] << 24));
  }
  rtl_->Start();
  cycle_ = first_input;
  Advance();
}

void RiscvRunner::WriteMemory(uint32_t address, uint32_t value) {
  if (phase_ != Phase::kWait) std::abort();
  rtl_->Load(address, value);
}

void RiscvRunner::Step(std::optional<uint32_t> answer, bool interrupt) {
  if (const std::optional<char> character = rtl_->console()) console_ += *character;
  rtl_->Clock(answer, interrupt);
  ++cycle_;
}

// To the next cycle with an access or a wait. In between the interrupt is not looked at.
void RiscvRunner::Advance() {
  constexpr Cycle kCycles = 1 << 16;  // then others go on first
  for (const Cycle end = cycle_ + kCycles; cycle_ < end; Step()) {
    if (failure() != spec::ProcessorFailure::kNone) {
      state_ = failure() == spec::ProcessorFailure::kFirmware ? State::kRefused : State::kStarting;
    }
    if (rtl_->access().has_value()) {
      phase_ = Phase::kAccess;
      return ContinueAt(cycle_);
    }
    if (rtl_->is_waiting()) {
      phase_ = Phase::kWait;
      return ContinueAt(cycle_ + 1);  // the interrupt of this cycle is known then
    }
  }
  phase_ = Phase::kRun;
  ContinueAt(cycle_);
}

void RiscvRunner::Continue() {
  if (phase_ == Phase::kRun) return Advance();
  if (phase_ == Phase::kAccess) return Access();
  if (phase_ != Phase::kWait) return;
  is_waiting_ = !interrupt();
  if (!is_waiting_) Wake(cycle_);
}

void RiscvRunner::Access() {
  const ProcessorRtl::Access access = *rtl_->access();
  if (!access.is_write) {
    phase_ = Phase::kAnswer;
    ReadRegister(access.offset);
    return Step();
  }
  if (access.offset == spec::kMgmtControlRegister && spec::MgmtControl::FromWord(access.value).firmware_ready) {
    state_ = State::kServing;
  }
  WriteRegister(access.offset, access.value);
  Step();
  Advance();
}

void RiscvRunner::TakeAnswer(Cycle cycle, uint32_t value) {
  while (cycle_ < cycle) Step();
  Step(value);
  Advance();
}

// Nothing has changed between the cycle in which it began to wait and this one.
void RiscvRunner::Wake(Cycle cycle) {
  cycle_ = cycle;
  Step({}, /*interrupt=*/true);
  Advance();
}

}  // namespace vireo::sim
