// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace vireo::sim {
namespace {

constexpr std::array<AllowedDifference, 14> kAllowed = {{
    {Allowed::kIpIdentification, "ip_identification",
     "meaningless where fragments are forbidden (RFC 6864, 4.1); Linux counts, Vireo sends 0"},
    {Allowed::kUdpSourcePort, "udp_source_port", "any value that is the same for a flow (IBTA A17.3.2)"},
    {Allowed::kAckReq, "ack_req", "the requester's policy (IBTA 9.7.3.1)"},
    {Allowed::kMigReq, "mig_req", "path migration is not used; both values are accepted (IBTA 17.2.8)"},
    {Allowed::kCredits, "credits", "end-to-end credits are the responder's policy (IBTA 9.7.7.2); 31: no credit count"},
    {Allowed::kAckCoalescing, "ack_coalescing",
     "one acknowledge covers all packets before it (IBTA 9.7.5.1.2); its MSN is checked"},
    {Allowed::kAckOfRepeat, "ack_of_repeat",
     "a duplicate request is acknowledged with its own PSN or that of the newest executed one (IBTA 9.7.5.1.4)"},
    {Allowed::kMsnOfRepeat, "msn_of_repeat",
     "the response to a duplicate request has the current MSN (IBTA 9.7.7.1); its bounds are checked"},
    {Allowed::kRepeatedResponse, "repeated_response",
     "how the response to a repeated READ is split into packets, and how often it, or that to a repeated atomic "
     "operation, is sent, depends on losses"},
    {Allowed::kRetransmission, "retransmission", "how often a request that was lost or rejected is retransmitted"},
    {Allowed::kBehindTheEnd, "behind_the_end", "a response after the end of the capture; its MSN is checked"},
    {Allowed::kShortReceive, "short_receive",
     "a SEND longer than its receive is an invalid request (IBTA 9.9.3.1, table 58); Linux sends remote operational "
     "error"},
    {Allowed::kHostMemory, "host_memory",
     "a READ returned bytes other than earlier requests had written: the recorded host wrote there"},
    {Allowed::kFlushIcrc, "flush_icrc",
     "the ICRC covers each header once (IBTA A17.3.3); Linux counts BTH, FETH and RETH of a FLUSH twice"},
}};

template <typename T>
void Compare(const char* name, const T& recorded, const T& ours, std::vector<FieldDifference>& differences) {
  std::vector<uint64_t> values;
  T::Visit(recorded, [&](const char*, const auto& field, unsigned) { values.push_back(static_cast<uint64_t>(field)); });
  size_t i = 0;
  T::Visit(ours, [&](const char* field_name, const auto& field, unsigned) {
    const uint64_t expected = values.at(i++), value = static_cast<uint64_t>(field);
    if (value != expected) differences.push_back({fmt::format("{}.{}", name, field_name), expected, value});
  });
}

void ComparePayload(const RoceFrame& recorded, const RoceFrame& ours, std::vector<FieldDifference>& differences) {
  const auto& expected = recorded.payload;
  const auto& payload = ours.payload;
  if (expected.size() != payload.size()) {
    differences.push_back({"payload bytes", expected.size(), payload.size()});
    return;
  }
  const auto [at, other] = std::ranges::mismatch(expected, payload);
  if (at != expected.end()) differences.push_back({fmt::format("payload[{}]", at - expected.begin()), *at, *other});
  if (recorded.pad != ours.pad) differences.push_back({"pad", 0, 1});
}

}  // namespace

std::span<const AllowedDifference> AllowedDifferences() { return kAllowed; }

std::vector<FieldDifference> CompareFields(const RoceFrame& recorded, const RoceFrame& ours) {
  std::vector<FieldDifference> differences;
  if (recorded.bth.opcode != ours.bth.opcode) {
    return {{"bth.opcode", static_cast<uint64_t>(recorded.bth.opcode), static_cast<uint64_t>(ours.bth.opcode)}};
  }
  if (recorded.is_ipv6 != ours.is_ipv6) return {{"ip.version", recorded.is_ipv6 ? 6U : 4U, ours.is_ipv6 ? 6U : 4U}};
  Compare("ethernet", recorded.ethernet, ours.ethernet, differences);
  if (recorded.is_ipv6) {
    Compare("ipv6", recorded.ipv6, ours.ipv6, differences);
  } else {
    spec::Ipv4 without = ours.ipv4;
    without.header_checksum = recorded.ipv4.header_checksum;
    Compare("ipv4", recorded.ipv4, without, differences);
  }
  Compare("udp", recorded.udp, ours.udp, differences);
  Compare("bth", recorded.bth, ours.bth, differences);
  const spec::OpcodeInfo& info = recorded.info();
  if (info.has_deth) Compare("deth", recorded.deth, ours.deth, differences);
  if (info.has_reth) Compare("reth", recorded.reth, ours.reth, differences);
  if (info.has_atomic_eth) Compare("atomic_eth", recorded.atomic_eth, ours.atomic_eth, differences);
  if (info.has_atomic_ack_eth) Compare("atomic_ack_eth", recorded.atomic_ack_eth, ours.atomic_ack_eth, differences);
  if (info.has_aeth) Compare("aeth", recorded.aeth, ours.aeth, differences);
  if (info.has_feth) Compare("feth", recorded.feth, ours.feth, differences);
  if (info.has_immdt) Compare("immdt", recorded.immdt, ours.immdt, differences);
  if (info.has_ieth) Compare("ieth", recorded.ieth, ours.ieth, differences);
  ComparePayload(recorded, ours, differences);
  return differences;
}

const AllowedDifference* FindAllowed(const FieldDifference& difference, const RoceFrame& recorded) {
  const std::string_view field = difference.field;
  const auto entry = [](Allowed id) { return &kAllowed.at(static_cast<size_t>(id)); };
  if (field == "ipv4.identification") return entry(Allowed::kIpIdentification);
  if (field == "udp.source_port" && difference.ours >= spec::kUdpSourcePortBase) return entry(Allowed::kUdpSourcePort);
  if (field == "bth.ack_req") return entry(Allowed::kAckReq);
  if (field == "bth.mig_req") return entry(Allowed::kMigReq);
  if (field == "aeth.value" && recorded.aeth.kind == spec::AethKind::kAck) return entry(Allowed::kCredits);
  return nullptr;
}

bool Differences::Check(const std::string& where, const std::vector<FieldDifference>& differences,
                        const RoceFrame& recorded) {
  bool good = true;
  for (const FieldDifference& each : differences) {
    if (const AllowedDifference* allowed = FindAllowed(each, recorded)) {
      Allow(allowed->id);
      continue;
    }
    Add(fmt::format("{}: {} is {:#x}, recorded {:#x}", where, each.field, each.ours, each.recorded));
    good = false;
  }
  return good;
}

}  // namespace vireo::sim
