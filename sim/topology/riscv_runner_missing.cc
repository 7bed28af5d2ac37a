// SPDX-License-Identifier: Apache-2.0
// In place of riscv_runner.cc in a build without RTL, or without the core or its compiler.
#include <cstdlib>

#include "sim/topology/riscv_runner.h"

namespace vireo::sim {

struct RiscvRunner::Core {};

std::string RiscvRunner::WhyUnavailable() {
  return "this build has no control processor: it needs RTL, and what ./vireo setup installs";
}

RiscvRunner::RiscvRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const firmware::Options& options)
    : ControlProcessor(scheduler, clock, static_cast<Nic&>(tap)), options_(options) {
  std::abort();
}

RiscvRunner::~RiscvRunner() = default;

const std::vector<uint8_t>& RiscvRunner::Image() { std::abort(); }
spec::ProcessorFailure RiscvRunner::failure() const { return spec::ProcessorFailure::kNone; }
void RiscvRunner::WriteMemory(uint32_t, uint32_t) {}
void RiscvRunner::Boot(Cycle) {}
void RiscvRunner::Continue() {}
void RiscvRunner::TakeAnswer(Cycle, uint32_t) {}
void RiscvRunner::Wake(Cycle) {}

}  // namespace vireo::sim
