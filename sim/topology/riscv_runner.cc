// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/riscv_runner.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vcontrol_processor.h"

namespace vireo::sim {
namespace {

std::vector<uint8_t> ReadImage() {
  std::ifstream file(VIREO_FIRMWARE_IMAGE, std::ios::binary);
  std::vector<uint8_t> image{std::istreambuf_iterator<char>(file), {}};
  if (image.size() < spec::kProcessorSettingsOffset + spec::ProcessorSettings::kBytes) {
    std::fprintf(stderr, "%s: no firmware for the control processor\n", VIREO_FIRMWARE_IMAGE);
    std::abort();
  }
  image.resize((image.size() + 3) / 4 * 4);
  return image;
}

}  // namespace

struct RiscvRunner::Core {
  VerilatedContext context;
  Vcontrol_processor rtl{&context};

  void Clock() {
    rtl.clk_i = 1;
    rtl.eval();
    rtl.clk_i = 0;
    rtl.eval();
  }
  void Load(uint32_t address, uint32_t value) {
    rtl.load_valid_i = 1;
    rtl.load_address_i = address;
    rtl.load_data_i = value;
    Clock();
    rtl.load_valid_i = 0;
    rtl.eval();
  }
};

std::string RiscvRunner::WhyUnavailable() { return {}; }

const std::vector<uint8_t>& RiscvRunner::Image() {
  static const std::vector<uint8_t> image = ReadImage();
  return image;
}

RiscvRunner::RiscvRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const firmware::Options& options)
    : ControlProcessor(scheduler, clock, static_cast<Nic&>(tap)), options_(options) {
  ConnectTo(tap);
}

RiscvRunner::~RiscvRunner() = default;

spec::ProcessorFailure RiscvRunner::failure() const { return spec::ProcessorFailure{core_->rtl.failure_o}; }

void RiscvRunner::Boot(Cycle first_input) {
  core_ = std::make_unique<Core>();
  console_.clear();
  core_->rtl.rst_ni = 0;
  core_->Clock();
  core_->rtl.rst_ni = 1;

  std::vector<uint8_t> loaded = Image();
  spec::ProcessorSettings settings{.magic = spec::kProcessorSettingsMagic,
                                   .abi_profile = static_cast<uint8_t>(options_.profile == spec::Profile::kVireo),
                                   .has_mac = static_cast<uint8_t>(options_.has_mac),
                                   .mac = {},
                                   .mtu = options_.mtu};
  std::ranges::copy(options_.mac, std::begin(settings.mac));
  settings.Encode(&loaded[spec::kProcessorSettingsOffset]);
  for (uint32_t at = 0; at < loaded.size(); at += 4) {
    core_->Load(spec::kProcessorStackBytes + at,
                static_cast<uint32_t>(loaded[at] | loaded[at + 1] << 8 | loaded[at + 2] << 16 | loaded[at + 3] << 24));
  }
  core_->rtl.run_i = 1;
  core_->rtl.eval();
  cycle_ = first_input;
  Advance();
}

void RiscvRunner::WriteMemory(uint32_t address, uint32_t value) {
  if (phase_ != Phase::kWait) std::abort();
  core_->Load(address, value);
}

void RiscvRunner::Step() {
  if (core_->rtl.console_valid_o != 0) console_ += static_cast<char>(core_->rtl.console_data_o);
  core_->Clock();
  ++cycle_;
}

// To the next cycle with an access or a wait. In between the interrupt is not looked at.
void RiscvRunner::Advance() {
  constexpr Cycle kCycles = 1 << 16;  // then others go on first
  for (const Cycle end = cycle_ + kCycles; cycle_ < end; Step()) {
    if (core_->rtl.failure_o != 0) {
      state_ = failure() == spec::ProcessorFailure::kFirmware ? State::kRefused : State::kStarting;
    }
    if (core_->rtl.csr_valid_o != 0) {
      phase_ = Phase::kAccess;
      return ContinueAt(cycle_);
    }
    if (core_->rtl.waiting_o != 0) {
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
  const uint32_t offset = core_->rtl.csr_address_o, value = core_->rtl.csr_data_o;
  if (core_->rtl.csr_write_o == 0) {
    phase_ = Phase::kAnswer;
    ReadRegister(offset);
    return Step();
  }
  if (offset == spec::kMgmtControlRegister && spec::MgmtControl::FromWord(value).firmware_ready) {
    state_ = State::kServing;
  }
  WriteRegister(offset, value);
  Step();
  Advance();
}

void RiscvRunner::TakeAnswer(Cycle cycle, uint32_t value) {
  while (cycle_ < cycle) Step();
  core_->rtl.csr_read_valid_i = 1;
  core_->rtl.csr_read_data_i = value;
  core_->rtl.eval();
  Step();
  core_->rtl.csr_read_valid_i = 0;
  core_->rtl.eval();
  Advance();
}

// Nothing has changed between the cycle in which it began to wait and this one.
void RiscvRunner::Wake(Cycle cycle) {
  cycle_ = cycle;
  core_->rtl.firmware_interrupt_i = 1;
  core_->rtl.eval();
  Step();
  core_->rtl.firmware_interrupt_i = 0;
  core_->rtl.eval();
  Advance();
}

}  // namespace vireo::sim
