// SPDX-License-Identifier: Apache-2.0
// In place of processor_rtl.cc in a build without RTL, or without the core or its compiler.
#include <cstdlib>

#include "sim/device/processor_rtl.h"

namespace vireo::sim {

struct ProcessorRtl::Class {};

std::string ProcessorRtl::WhyUnavailable() {
  return "this build has no control processor: it needs RTL, and what ./vireo setup installs";
}
const std::vector<uint8_t>& ProcessorRtl::Image() { std::abort(); }
ProcessorRtl::ProcessorRtl() { std::abort(); }
ProcessorRtl::~ProcessorRtl() = default;
void ProcessorRtl::Load(uint32_t, uint32_t) { std::abort(); }
void ProcessorRtl::Start() { std::abort(); }
std::optional<ProcessorRtl::Access> ProcessorRtl::access() const { std::abort(); }
std::optional<char> ProcessorRtl::console() const { std::abort(); }
bool ProcessorRtl::is_waiting() const { std::abort(); }
spec::ProcessorFailure ProcessorRtl::failure() const { std::abort(); }
void ProcessorRtl::Clock(std::optional<uint32_t>, bool) { std::abort(); }

}  // namespace vireo::sim
