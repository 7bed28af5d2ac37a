// SPDX-License-Identifier: Apache-2.0
#include "verif/harness/fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "verif/harness/random.h"

namespace vireo::verif {
namespace {

// By FaultKind.
constexpr std::array<std::string_view, 7> kNames = {"drop",    "duplicate", "reorder", "delay",
                                                    "corrupt", "truncate",  "ecn_mark"};

constexpr uint64_t kHeld = uint64_t{1} << 63;  // cookie: number of a held frame; else slot of a later one

// --- Script

bool IsDecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool ParseNumber(std::string_view text, uint64_t& value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "0.001" as 1000 per million.
bool ParseRate(std::string_view text, uint32_t& per_million) {
  uint64_t whole = 0, fraction = 0;
  const size_t point = text.find('.');
  if (!IsDecimal(text.substr(0, point)) || !ParseNumber(text.substr(0, point), whole)) return false;
  if (point != std::string_view::npos) {
    std::string decimals(text.substr(point + 1));
    if (!IsDecimal(decimals) || decimals.size() > 6) return false;
    decimals.resize(6, '0');
    if (!ParseNumber(decimals, fraction)) return false;
  }
  if (whole > 1 || whole * 1'000'000 + fraction > 1'000'000) return false;
  per_million = static_cast<uint32_t>(whole * 1'000'000 + fraction);
  return true;
}

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

// Empty: understood.
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
    if (rule.amount) return "there are two amounts";
    rule.amount = number;
    return "";
  }
  const std::string_view value = word.substr(equals + 1);
  if (key == "opcode") return ParseOpcode(value, rule.opcode) ? "" : quoted + ": there is no such opcode";
  if (key == "rate")
    return ParseRate(value, rule.per_million) ? "" : quoted + ": a rate is 0 to 1 with up to six decimals";
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
  return quoted + ": there is no such condition";
}

std::string ParseRule(std::string_view text, FaultRule& rule) {
  bool has_kind = false;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
    text.remove_prefix(word.size());
    if (has_kind) {
      if (std::string error = ParseWord(word, rule); !error.empty()) return error;
      continue;
    }
    for (size_t kind = 0; kind < kNames.size(); ++kind) {
      if (word != kNames[kind]) continue;
      rule.kind = static_cast<FaultKind>(kind);
      has_kind = true;
    }
    if (!has_kind) return "'" + std::string(word) + "' is no fault";
  }
  const bool needs_amount =
      rule.kind == FaultKind::kDelay || rule.kind == FaultKind::kTruncate || rule.kind == FaultKind::kReorder;
  if (needs_amount && !rule.amount) return std::string(kNames[static_cast<size_t>(rule.kind)]) + " needs an amount";
  const uint64_t most = rule.kind == FaultKind::kDelay       ? kMostDelayNs
                        : rule.kind == FaultKind::kDuplicate ? kMostCopies
                                                             : ~uint64_t{0};
  if (rule.amount.value_or(0) > most) {
    return "the amount of " + std::string(kNames[static_cast<size_t>(rule.kind)]) + " is at most " +
           std::to_string(most);
  }
  if (rule.bad_fcs && rule.kind != FaultKind::kCorrupt && rule.kind != FaultKind::kTruncate) {
    return "bad_fcs is for corrupt and truncate";
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
  // RFC 1624: the checksum changes by what the header changes.
  const auto word = [header] { return static_cast<uint32_t>(header[0] << 8 | header[1]); };
  const uint32_t before = word();
  ip.ecn = spec::IpEcn::kCe;
  ip.Encode(header);
  uint32_t sum = (~uint32_t{ip.header_checksum} & 0xffff) + (~before & 0xffff) + word();
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  ip.header_checksum = static_cast<uint16_t>(~sum);
  ip.Encode(header);
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
  for (size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), rest.size() + 1));
    rest = rest.substr(0, rest.find('#'));
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (part.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      FaultRule rule;
      if (const std::string error = ParseRule(part, rule); !error.empty()) {
        return {{}, "fault script, line " + std::to_string(line) + ": " + error};
      }
      script.rules.push_back(rule);
    }
  }
  return script;
}

FaultInjector::FaultInjector(Scheduler& scheduler, const Wire& wire, FrameReceiver& receiver,
                             std::vector<FaultRule> rules, std::mt19937_64 random)
    : scheduler_(scheduler),
      wire_(wire),
      receiver_(receiver),
      rules_(std::move(rules)),
      random_(random),
      client_(scheduler.AddClient(*this)),
      matched_(rules_.size()),
      acted_(rules_.size()) {}

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
  if (const auto rule = Choose(frame)) {
    ++injected_;
    ++acted_[*rule];
    Apply(*rule, std::move(frame));
  } else {
    Pass(std::move(frame));
  }
}

void FaultInjector::Apply(size_t number, WireFrame frame) {
  const FaultRule& rule = rules_[number];
  const auto comment = [&](const std::string& what) {
    if (!frame.comment.empty()) frame.comment += "; ";
    frame.comment +=
        "fault " + std::to_string(number + 1) + ": " + what + " (frame " + std::to_string(frames_) + " of this link)";
  };
  switch (rule.kind) {
    case FaultKind::kDrop:
      comment("dropped");
      if (on_drop_) on_drop_(frame);
      return;
    case FaultKind::kDuplicate: {
      WireFrame copy = frame;
      const uint64_t copies = rule.amount.value_or(1);
      Pass(std::move(frame));
      frame = std::move(copy);
      comment("duplicate");
      const Picoseconds step = wire_.Time(kPreambleBytes + frame.bytes.size() + kFcsBytes + kInterframeGapBytes);
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
      const uint64_t header = spec::Ethernet::kBytes * 8;
      uint64_t bit = 0;
      if (rule.amount) {
        bit = *rule.amount;
      } else if (bits > header) {
        bit = header + UniformBelow(random_, bits - header);
      }
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
  }
}

void FaultInjector::Pass(WireFrame frame) {
  receiver_.OnFrame(std::move(frame));
  // Frames behind which this one was awaited. They count as later frames for each other only when they come.
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

}  // namespace vireo::verif
