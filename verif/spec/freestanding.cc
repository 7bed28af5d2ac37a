// SPDX-License-Identifier: Apache-2.0
// Compiled without any C++ library: fails to build if the contract's header needs one.
#include "spec/gen/vireo_spec.h"

namespace vireo::spec {

static_assert(Bth::kBytes == 12);
static_assert(kOpcodeInfo[static_cast<uint8_t>(BthOpcode::kRcRdmaWriteOnlyWithImmediate)].immdt_offset ==
              Bth::kBytes + Reth::kBytes);

uint32_t PsnOf(const uint8_t* bytes) { return Bth::Decode(bytes).psn; }

}  // namespace vireo::spec
