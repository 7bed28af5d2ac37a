// SPDX-License-Identifier: Apache-2.0
// Frames in words, one line each: for decode, replay, and what the parser saw.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/replay/roce_frame.h"

namespace vireo::sim {

// An IPv4-mapped one as a.b.c.d.
std::string AddressText(std::span<const uint8_t, 16> address);
// The contract's name of an opcode, or its number.
std::string OpcodeText(spec::BthOpcode opcode);
// The extended headers of an opcode, from the first byte behind the BTH on; begins with a blank.
std::string ExtensionsText(const spec::OpcodeInfo& info, const uint8_t* extension);
// "a -> b opcode qp=… psn=… … payload=n".
std::string FrameText(const RoceFrame& frame);

}  // namespace vireo::sim
