// SPDX-License-Identifier: Apache-2.0
// Frames as text, one line each: for decode, replay, and parsed frames.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/replay/roce_frame.h"

namespace vireo::sim {

// An IPv6 address; IPv4-mapped ones as a.b.c.d.
std::string AddressText(std::span<const uint8_t, 16> address);
// The name of an opcode in the contract, or its number.
std::string OpcodeText(spec::BthOpcode opcode);
// The extended headers of an opcode; `extension` is the first byte after the BTH. Starts with a blank unless empty.
std::string ExtensionsText(const spec::OpcodeInfo& info, const uint8_t* extension);
// "a -> b opcode qp=… psn=… … payload=n".
std::string FrameText(const RoceFrame& frame);

}  // namespace vireo::sim
