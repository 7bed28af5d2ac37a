// SPDX-License-Identifier: Apache-2.0
#include "sim/wire/fault.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/rdma/icrc.h"
#include "sim/common/fault_words.h"
#include "sim/common/random.h"

namespace vireo::sim {
namespace {

// By FaultKind.
constexpr std::array<std::string_view, 13> kNames = {"drop",     "duplicate", "reorder",  "delay", "corrupt",
                                                     "truncate", "ecn_mark",  "oversize", "pause", "psn_gap",
                                                     "ghost",    "stale",     "link_down"};
constexpr std::array<std::string_view, 4> kParts = {"any", "header", "payload", "icrc"};

constexpr uint64_t kHeld = uint64_t{1} << 63;  // cookie: number of a held frame; else slot of a later one

// --- Script

bool ParseOpcode(std::string_view text, std::optional<spec::BthOpcode>& opcode) {
  for (unsigned value = 0; value < 256; ++value) {
    const char* name = ToString(static_cast<spec::BthOpcode>(value));
    if (name != nullptr && text == name) {
      opcode = static_cast<spec::BthOpcode>(value);
      return true;
    }
  }
  return false;
}

// Returns an error message, empty if none.
std::string ParseWord(std::string_view word, FaultRule& rule) {
  const std::string quoted = "'" + std::string(word) + "'";
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  uint64_t number = 0;
  if (equals == std::string_view::npos) {
    if (word == "bad_fcs") {
      rule.bad_fcs = true;
      return "";
    }
    if (!ParseNumber(word, number)) return quoted + " is neither a number nor a condition";
    if (rule.amount) return "two amounts";
    rule.amount = number;
    return "";
  }
  const std::string_view value = word.substr(equals + 1);
  if (key == "opcode") return ParseOpcode(value, rule.opcode) ? "" : quoted + ": unknown opcode";
  if (key == "rate")
    return ParseRate(value, rule.per_million) ? "" : quoted + ": a rate is 0 to 1 with up to six decimals";
  if (key == "part") {
    const auto* part = std::ranges::find(kParts, value);
    if (part == kParts.end()) return quoted + ": a part is header, payload or icrc";
    rule.part = static_cast<FramePart>(part - kParts.begin());
    return "";
  }
  if (!ParseNumber(value, number)) return quoted + ": not a number";
  if (key == "psn" || key == "qp") {
    if (number >> spec::kPsnBits != 0) return quoted + ": more than 24 bits";
    (key == "psn" ? rule.psn : rule.dest_qp) = static_cast<uint32_t>(number);
    return "";
  }
  if (key == "nth" || key == "count") {
    if (number == 0) return quoted + ": counts from 1";
    (key == "nth" ? rule.nth : rule.count) = number;
    return "";
  }
  return quoted + ": unknown condition";
}

uint64_t MostOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kDelay: return kMostDelayNs;
    case FaultKind::kDuplicate:
    case FaultKind::kPause: return kMostCopies;
    case FaultKind::kOversize: return kMostFrameBytes;
    default: return ~uint64_t{0};
  }
}

std::string ParseRule(std::string_view text, FaultRule& rule) {
  std::string error =
      ParseWords(text, kNames, rule.kind, [&rule](std::string_view word) { return ParseWord(word, rule); });
  if (!error.empty()) return error;
  const std::string name(kNames[static_cast<size_t>(rule.kind)]);
  const bool needs_amount = rule.kind == FaultKind::kDelay || rule.kind == FaultKind::kTruncate ||
                            rule.kind == FaultKind::kReorder || rule.kind == FaultKind::kOversize ||
                            rule.kind == FaultKind::kLinkDown;
  if (needs_amount && !rule.amount) return name + " needs an amount";
  const uint64_t most = MostOf(rule.kind);
  if (rule.amount.value_or(0) > most) return "the amount of " + name + " is at most " + std::to_string(most);
  if (rule.bad_fcs && rule.kind != FaultKind::kCorrupt && rule.kind != FaultKind::kTruncate) {
    return "bad_fcs is for corrupt and truncate";
  }
  if (rule.part != FramePart::kAny && (rule.kind != FaultKind::kCorrupt || rule.amount)) {
    return "part is for corrupt without an amount";
  }
  return "";
}

// --- Frames

void MarkCongestion(std::vector<uint8_t>& bytes, bool always) {
  const auto roce = FindRoce(bytes);
  if (!roce) return;
  uint8_t* header = bytes.data() + roce->ip_offset;
  const auto is_capable = [always](spec::IpEcn ecn) { return always || ecn != spec::IpEcn::kNotEct; };
  if (roce->is_ipv6) {
    auto ip = spec::Ipv6::Decode(header);
    if (!is_capable(ip.ecn)) return;
    ip.ecn = spec::IpEcn::kCe;
    return ip.Encode(header);
  }
  auto ip = spec::Ipv4::Decode(header);
  if (!is_capable(ip.ecn)) return;
  // RFC 1624: incremental update of the checksum.
  const auto word = [header] { return static_cast<uint32_t>(header[0] << 8 | header[1]); };
  const uint32_t before = word();
  ip.ecn = spec::IpEcn::kCe;
  ip.Encode(header);
  uint32_t sum = (~uint32_t{ip.header_checksum} & 0xffff) + (~before & 0xffff) + word();
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  ip.header_checksum = static_cast<uint16_t>(~sum);
  ip.Encode(header);
}

// Offset of the ICRC; nothing if the frame has none.
std::optional<size_t> FindIcrc(std::span<const uint8_t> frame, const RoceHeaders& roce) {
  const uint8_t* ip = frame.data() + roce.ip_offset;
  const size_t bytes = roce.is_ipv6 ? spec::Ipv6::kBytes + spec::Ipv6::Decode(ip).payload_length
                                    : size_t{spec::Ipv4::Decode(ip).total_length};
  const size_t end = roce.ip_offset + bytes;
  if (end > frame.size() || end < roce.bth_offset + spec::Bth::kBytes + spec::kIcrcBytes) return std::nullopt;
  return end - spec::kIcrcBytes;
}

void MovePsn(std::vector<uint8_t>& bytes, uint64_t by) {
  const auto roce = FindRoce(bytes);
  if (!roce) return;
  spec::Bth bth = roce->bth;
  bth.psn = static_cast<uint32_t>((bth.psn + by) % (uint64_t{1} << spec::kPsnBits));
  bth.Encode(bytes.data() + roce->bth_offset);
  const auto icrc_at = FindIcrc(bytes, *roce);
  if (!icrc_at) return;
  const auto datagram = std::span(bytes).subspan(roce->ip_offset, *icrc_at - roce->ip_offset);
  const uint32_t icrc = model::IcrcCompute(datagram, roce->is_ipv6);
  for (unsigned i = 0; i < spec::kIcrcBytes; ++i) bytes[*icrc_at + i] = static_cast<uint8_t>(icrc >> 8 * i);
}

// To the address that bridges do not forward, source 0, for 65535 times 512 bit times. [IEEE 802.3, 31B.2]
std::vector<uint8_t> PauseFrame() {
  std::vector<uint8_t> bytes(kMinFrameBytes);
  spec::Ethernet{.destination = {0x01, 0x80, 0xc2, 0, 0, 0x01}, .ethertype = spec::Ethertype::kPause}.Encode(
      bytes.data());
  bytes[spec::Ethernet::kBytes + 1] = 1;  // opcode
  bytes[spec::Ethernet::kBytes + 2] = bytes[spec::Ethernet::kBytes + 3] = 0xff;
  return bytes;
}

}  // namespace

std::optional<RoceHeaders> FindRoce(std::span<const uint8_t> frame) {
  RoceHeaders result;
  size_t at = spec::Ethernet::kBytes;
  if (frame.size() < at) return std::nullopt;
  auto ethertype = spec::Ethernet::Decode(frame.data()).ethertype;
  if (ethertype == spec::Ethertype::kVlan) {
    if (frame.size() < at + spec::VlanTag::kBytes) return std::nullopt;
    ethertype = spec::VlanTag::Decode(frame.data() + at).ethertype;
    at += spec::VlanTag::kBytes;
  }
  result.ip_offset = at;
  if (ethertype == spec::Ethertype::kIpv4) {
    if (frame.size() < at + spec::Ipv4::kBytes) return std::nullopt;
    const auto ip = spec::Ipv4::Decode(frame.data() + at);
    if (ip.protocol != spec::IpProtocol::kUdp || ip.fragment_offset != 0 || ip.ihl * size_t{4} < spec::Ipv4::kBytes)
      return std::nullopt;
    at += ip.ihl * size_t{4};
  } else if (ethertype == spec::Ethertype::kIpv6) {
    if (frame.size() < at + spec::Ipv6::kBytes) return std::nullopt;
    if (spec::Ipv6::Decode(frame.data() + at).next_header != spec::IpProtocol::kUdp) return std::nullopt;
    result.is_ipv6 = true;
    at += spec::Ipv6::kBytes;
  } else {
    return std::nullopt;
  }
  if (frame.size() < at + spec::Udp::kBytes + spec::Bth::kBytes) return std::nullopt;
  if (spec::Udp::Decode(frame.data() + at).destination_port != spec::kUdpPortRocev2) return std::nullopt;
  result.bth_offset = at + spec::Udp::kBytes;
  result.bth = spec::Bth::Decode(frame.data() + result.bth_offset);
  return result;
}

FaultScript ParseFaultScript(std::string_view text) {
  FaultScript script;
  script.error = ParseRules(text, [&script](std::string_view part) {
    FaultRule rule;
    std::string error = ParseRule(part, rule);
    script.rules.push_back(rule);
    return error;
  });
  if (!script.error.empty()) script.rules.clear();
  return script;
}

FaultInjector::FaultInjector(Scheduler& scheduler, Wire& wire, FrameReceiver& receiver, std::vector<FaultRule> rules,
                             std::mt19937_64 random)
    : scheduler_(scheduler),
      wire_(wire),
      receiver_(receiver),
      rules_(std::move(rules)),
      random_(random),
      client_(scheduler.AddClient(*this)),
      matched_(rules_.size()),
      hits_(rules_.size()),
      past_(rules_.size()) {}

std::optional<size_t> FaultInjector::Choose(const WireFrame& frame) {
  const auto roce = FindRoce(frame.bytes);
  std::optional<size_t> chosen;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& rule = rules_[i];
    if ((rule.opcode || rule.psn || rule.dest_qp) && !roce) continue;
    if (rule.opcode && *rule.opcode != roce->bth.opcode) continue;
    if (rule.psn && *rule.psn != roce->bth.psn) continue;
    if (rule.dest_qp && *rule.dest_qp != roce->bth.dest_qp) continue;
    if (rule.per_million < 1'000'000 && UniformBelow(random_, 1'000'000) >= rule.per_million) continue;
    const uint64_t number = ++matched_[i];
    const uint64_t first = rule.nth == 0 ? 1 : rule.nth;
    const uint64_t count = rule.count != 0 ? rule.count : rule.nth != 0 ? 1 : ~uint64_t{0};
    if (number < first || number - first >= count) continue;
    if (!chosen) chosen = i;
  }
  return chosen;
}

void FaultInjector::OnFrame(WireFrame frame) {
  ++frames_;
  const auto rule = is_armed_ ? Choose(frame) : std::nullopt;
  if (!rule) return Pass(std::move(frame));
  ++injected_;
  ++hits_[*rule];
  Apply(*rule, std::move(frame));
}

void FaultInjector::Drop(WireFrame frame) {
  if (on_drop_) on_drop_(frame);
}

Picoseconds FaultInjector::LineTime(const WireFrame& frame) const {
  return wire_.Time(kPreambleBytes + frame.bytes.size() + kFcsBytes + kInterframeGapBytes);
}

uint64_t FaultInjector::RandomBit(FramePart part, std::span<const uint8_t> frame) {
  size_t begin = spec::Ethernet::kBytes, end = frame.size();
  const auto roce = part == FramePart::kAny ? std::nullopt : FindRoce(frame);
  const auto icrc_at = roce ? FindIcrc(frame, *roce) : std::nullopt;
  if (icrc_at) {
    const size_t after_bth = roce->bth_offset + spec::Bth::kBytes;
    if (part == FramePart::kHeader) begin = roce->ip_offset, end = after_bth;
    if (part == FramePart::kIcrc || after_bth == *icrc_at) begin = *icrc_at, end = begin + spec::kIcrcBytes;
    if (part == FramePart::kPayload && after_bth != *icrc_at) begin = after_bth, end = *icrc_at;
  }
  return end > begin ? 8 * begin + UniformBelow(random_, 8 * (end - begin)) : 0;
}

void FaultInjector::Apply(size_t number, WireFrame frame) {
  const FaultRule& rule = rules_[number];
  const auto comment = [&](const std::string& what) {
    if (!frame.comment.empty()) frame.comment += "; ";
    frame.comment +=
        "fault " + std::to_string(number + 1) + ": " + what + " (frame " + std::to_string(frames_) + " of this link)";
  };
  switch (rule.kind) {
    case FaultKind::kDrop: comment("dropped"); return Drop(std::move(frame));
    case FaultKind::kDuplicate: {
      WireFrame copy = frame;
      const uint64_t copies = rule.amount.value_or(1);
      Pass(std::move(frame));
      frame = std::move(copy);
      comment("duplicate");
      const Picoseconds step = LineTime(frame);
      for (uint64_t i = 1; i <= copies; ++i) PassLater(scheduler_.now() + i * step, frame);
      return;
    }
    case FaultKind::kReorder:
      comment("behind " + std::to_string(*rule.amount) + " later frames");
      held_.push_back({std::move(frame), *rule.amount, ++held_number_});
      scheduler_.At(scheduler_.now() + kMaxHoldNs * kPicosecondsPerNanosecond, client_, kHeld | held_number_);
      return;
    case FaultKind::kDelay:
      comment("delayed by " + std::to_string(*rule.amount) + " ns");
      return PassLater(scheduler_.now() + *rule.amount * kPicosecondsPerNanosecond, std::move(frame));
    case FaultKind::kCorrupt: {
      const uint64_t bits = frame.bytes.size() * 8;
      const uint64_t bit = rule.amount ? *rule.amount : RandomBit(rule.part, frame.bytes);
      if (bit < bits) frame.bytes[bit / 8] = static_cast<uint8_t>(frame.bytes[bit / 8] ^ 1 << bit % 8);
      comment("bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " flipped");
      frame.bad_fcs = frame.bad_fcs || rule.bad_fcs;
      return Pass(std::move(frame));
    }
    case FaultKind::kTruncate:
      comment("cut from " + std::to_string(frame.bytes.size()) + " bytes");
      if (*rule.amount < frame.bytes.size()) frame.bytes.resize(*rule.amount);
      frame.bad_fcs = frame.bad_fcs || rule.bad_fcs;
      return Pass(std::move(frame));
    case FaultKind::kEcnMark:
      MarkCongestion(frame.bytes, rule.amount.value_or(0) == 1);
      comment("congestion marked");
      return Pass(std::move(frame));
    case FaultKind::kOversize:
      comment("made " + std::to_string(*rule.amount) + " bytes long");
      frame.bytes.resize(std::max<size_t>(frame.bytes.size(), *rule.amount));
      return Pass(std::move(frame));
    case FaultKind::kPause: {
      // Delivered at the same time: the MAC passes one after the other to the core.
      comment("pause frame");
      const WireFrame pause{.bytes = PauseFrame(), .comment = std::exchange(frame.comment, "")};
      for (uint64_t i = rule.amount.value_or(1); i > 0; --i) receiver_.OnFrame(pause);
      return Pass(std::move(frame));
    }
    case FaultKind::kPsnGap:
      comment("PSN moved");
      MovePsn(frame.bytes, rule.amount.value_or(1));
      return Pass(std::move(frame));
    case FaultKind::kGhost: {
      WireFrame copy = frame;
      Pass(std::move(frame));
      frame = std::move(copy);
      comment("ghost");
      MovePsn(frame.bytes, rule.amount.value_or(1));
      const Picoseconds time = scheduler_.now() + LineTime(frame);
      return PassLater(time, std::move(frame));
    }
    case FaultKind::kStale: {
      std::deque<WireFrame>& past = past_[number];
      past.push_back(frame);
      Pass(std::move(frame));
      if (past.size() <= rule.amount.value_or(1)) return;
      frame = std::move(past.front());
      past.pop_front();
      comment("stale duplicate");
      const Picoseconds time = scheduler_.now() + LineTime(frame);
      return PassLater(time, std::move(frame));
    }
    case FaultKind::kLinkDown:
      wire_.TakeDown(scheduler_.now() + *rule.amount * kPicosecondsPerNanosecond);
      comment("link down");
      return Drop(std::move(frame));
  }
}

void FaultInjector::Pass(WireFrame frame) {
  receiver_.OnFrame(std::move(frame));
  // Held frames that waited for this one. They count as later frames for each other only when delivered.
  for (Held& held : held_) {
    if (held.after > 0) --held.after;
  }
  for (auto held = held_.begin(); held != held_.end();) {
    if (held->after > 0) {
      ++held;
      continue;
    }
    WireFrame next = std::move(held->frame);
    held = held_.erase(held);
    receiver_.OnFrame(std::move(next));
  }
}

void FaultInjector::PassLater(Picoseconds time, WireFrame frame) {
  size_t slot = later_.size();
  if (free_later_.empty()) {
    later_.push_back(std::move(frame));
  } else {
    slot = free_later_.back();
    free_later_.pop_back();
    later_[slot] = std::move(frame);
  }
  ++later_frames_;
  scheduler_.At(time, client_, slot);
}

void FaultInjector::OnTime(uint64_t cookie) {
  if ((cookie & kHeld) == 0) {
    WireFrame frame = std::move(later_[cookie]);
    free_later_.push_back(cookie);
    --later_frames_;
    return Pass(std::move(frame));
  }
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->number != (cookie & ~kHeld)) continue;
    WireFrame frame = std::move(held->frame);
    held_.erase(held);
    return receiver_.OnFrame(std::move(frame));
  }
}

}  // namespace vireo::sim
