// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/frame_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vireo::sim {

std::string AddressText(std::span<const uint8_t, 16> bytes) {
  if (std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) && bytes[10] == 0xff &&
      bytes[11] == 0xff) {
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  std::string text;
  for (size_t i = 0; i < 16; i += 2) text += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8 | bytes[i + 1]);
  return text;
}

std::string OpcodeText(spec::BthOpcode opcode) {
  const char* name = spec::ToString(opcode);
  return name != nullptr ? name : fmt::format("opcode_{:#04x}", static_cast<unsigned>(opcode));
}

std::string ExtensionsText(const spec::OpcodeInfo& info, const uint8_t* extension) {
  const auto at = [&](uint8_t offset) { return extension + offset - spec::Bth::kBytes; };
  std::string text;
  if (info.has_reth) {
    const auto reth = spec::Reth::Decode(at(info.reth_offset));
    text += fmt::format(" va={:#x} rkey={:#x} length={}", reth.virtual_address, reth.rkey, reth.dma_length);
  }
  if (info.has_aeth) {
    const auto aeth = spec::Aeth::Decode(at(info.aeth_offset));
    text += fmt::format(" {}", spec::ToString(aeth.kind));
    if (aeth.kind == spec::AethKind::kNak) {
      const char* code = spec::ToString(static_cast<spec::NakCode>(aeth.value));
      text += fmt::format("={}", code != nullptr ? code : "reserved");
    } else if (aeth.kind == spec::AethKind::kRnrNak) {
      text += fmt::format(" timer={}ns", spec::kRnrTimerNs[aeth.value]);
    }
    text += fmt::format(" msn={}", aeth.msn);
  }
  if (info.has_deth) {
    const auto deth = spec::Deth::Decode(at(info.deth_offset));
    text += fmt::format(" src_qp={:#x} qkey={:#x}", deth.source_qp, deth.qkey);
  }
  if (info.has_atomic_eth) {
    const auto atomic = spec::AtomicEth::Decode(at(info.atomic_eth_offset));
    text += fmt::format(" va={:#x} rkey={:#x}", atomic.virtual_address, atomic.rkey);
  }
  if (info.has_feth) {
    const auto feth = spec::Feth::Decode(at(info.feth_offset));
    const char* selectivity = spec::ToString(feth.selectivity);
    text += fmt::format(" placement={} of={}", feth.placement, selectivity != nullptr ? selectivity : "reserved");
  }
  if (info.has_ieth) text += fmt::format(" ieth={:#x}", spec::Ieth::Decode(at(info.ieth_offset)).rkey);
  return text;
}

std::string FrameText(const RoceFrame& frame) {
  std::vector<uint8_t> extension(frame.info().extension_bytes);
  size_t at = 0;
  VisitExtensions(frame, [&](const char*, const auto& header) {
    header.Encode(extension.data() + at);
    at += std::remove_reference_t<decltype(header)>::kBytes;
  });
  return fmt::format("{} -> {} {} qp={:#x} psn={}{}{}{} payload={}", AddressText(frame.source()),
                     AddressText(frame.destination()), OpcodeText(frame.bth.opcode), frame.bth.dest_qp, frame.bth.psn,
                     frame.bth.ack_req ? " ack_req" : "", frame.bth.solicited_event ? " solicited" : "",
                     ExtensionsText(frame.info(), extension.data()), frame.payload.size());
}

}  // namespace vireo::sim
