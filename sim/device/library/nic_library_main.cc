// SPDX-License-Identifier: Apache-2.0
// What a shared library of one configuration's RTL exports (nic_library.h).
#include <iterator>
#include <memory>

#include "Vnic.h"
#include "sim/device/nic_library.h"
#include "sim/device/rtl_pins.h"

namespace {
constexpr uint32_t kParameters[] = {VIREO_PARAMETERS};
static_assert(std::size(kParameters) == std::size(vireo::spec::kParameterInfo));
}  // namespace

extern "C" {
__attribute__((visibility("default"))) vireo::sim::NicPins* VireoMakeNicPins() {
  return std::make_unique<vireo::sim::RtlPins<Vnic>>().release();
}
__attribute__((visibility("default"))) const uint32_t* VireoNicLibraryParameters() { return kParameters; }
}
