// SPDX-License-Identifier: Apache-2.0
// A log of one NIC's RoCE packets on the wire, in the order of their last beats, each with its frame; for tests that
// check what is sent and received.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/topology/topology.h"
#include "sim/wire/fault.h"

namespace vireo::sim {

class FrameLog final : public EventSink {
 public:
  struct Entry {
    bool is_sent = false;  // else received
    RoceHeaders headers;
    std::vector<uint8_t> frame;

    spec::BthOpcode opcode() const { return headers.bth.opcode; }
    uint32_t psn() const { return headers.bth.psn; }
    const spec::OpcodeInfo& info() const { return spec::kOpcodeInfo[static_cast<uint8_t>(opcode())]; }
    // The AETH's syndrome; nothing without an AETH.
    std::optional<spec::AethSyndrome> syndrome() const {
      if (!info().has_aeth) return std::nullopt;
      return static_cast<spec::AethSyndrome>(frame[headers.bth_offset + info().aeth_offset]);
    }
  };

  FrameLog() = default;
  FrameLog(const FrameLog&) = delete;
  FrameLog& operator=(const FrameLog&) = delete;

  // Call once; the log must outlive the station.
  void Watch(Station& station) { station.tap().AddSink(*this); }
  void Clear() { entries_.clear(); }
  const std::vector<Entry>& entries() const { return entries_; }
  size_t Count(bool is_sent, spec::BthOpcode opcode) const {
    return static_cast<size_t>(std::ranges::count_if(
        entries_, [&](const Entry& entry) { return entry.is_sent == is_sent && entry.opcode() == opcode; }));
  }
  size_t CountSent() const {
    return static_cast<size_t>(std::ranges::count_if(entries_, [](const Entry& entry) { return entry.is_sent; }));
  }

 private:
  void OnEvent(const BoundaryEvent& event) override {
    if (event.kind != EventKind::kTransmitEnd && event.kind != EventKind::kReceiveEnd) return;
    const auto headers = FindRoce(event.payload);
    if (!headers) return;
    entries_.push_back({.is_sent = event.kind == EventKind::kTransmitEnd,
                        .headers = *headers,
                        .frame = {event.payload.begin(), event.payload.end()}});
  }

  std::vector<Entry> entries_;
};

}  // namespace vireo::sim
