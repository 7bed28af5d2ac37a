// SPDX-License-Identifier: Apache-2.0
// The text of a topology file: parsed, or rejected with line and column. Parsed values keep to the limits of
// docs/topology.md; a preceding comment changes only the line, an unknown key is an error, and the written topology
// parses to the same. The link faults, applied to frames, retain none of them.
//
// Input: the text.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "sim/common/seed.h"
#include "sim/simulator/topology_file.h"
#include "sim/wire/fault.h"
#include "verif/fuzz/recorded.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

constexpr size_t kMostBytes = 1 << 16;
constexpr uint64_t kMostNs = 1'000'000'000;
const std::string kFile = "x.toml";

HostOptions Every() {
  HostOptions every;
  every.nic.config = &spec::kNic1;
  return every;
}

// Checks that text follows "x.toml:LINE:COLUMN: "; returns the line.
uint64_t CheckError(const std::string& error) {
  std::string_view rest = error;
  EXPECT_TRUE(rest.starts_with(kFile + ":")) << error;
  rest.remove_prefix(std::min(rest.size(), kFile.size() + 1));
  uint64_t line = 0, column = 0;
  const auto number = [&](uint64_t& value) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    EXPECT_TRUE(code == std::errc() && end != rest.data() + rest.size() && *end == ':') << error;
    rest.remove_prefix(std::min<size_t>(rest.size(), static_cast<size_t>(end - rest.data()) + 1));
  };
  number(line);
  number(column);
  EXPECT_TRUE(rest.size() > 1 && rest[0] == ' ') << error;
  EXPECT_GE(line, 1U) << error;
  EXPECT_GE(column, 1U) << error;
  return line;
}

void CheckRules(const std::vector<FaultRule>& rules) {
  for (const FaultRule& rule : rules) {
    EXPECT_LE(rule.per_million, 1'000'000U);
    EXPECT_LT(rule.psn.value_or(0), 1U << spec::kPsnBits);
    EXPECT_LT(rule.dest_qp.value_or(0), 1U << 24);
    EXPECT_TRUE(!rule.bad_fcs || rule.kind == FaultKind::kCorrupt || rule.kind == FaultKind::kTruncate);
    const bool needs_amount =
        rule.kind == FaultKind::kDelay || rule.kind == FaultKind::kTruncate || rule.kind == FaultKind::kReorder;
    EXPECT_TRUE(rule.amount.has_value() || !needs_amount);
    EXPECT_TRUE(rule.kind != FaultKind::kDelay || rule.amount.value_or(0) <= kMostDelayNs);
    EXPECT_TRUE(rule.kind != FaultKind::kDuplicate || rule.amount.value_or(1) <= kMostCopies);
  }
}

void CheckLimits(const Simulation& simulation) {
  ASSERT_GE(simulation.size(), 1U);
  ASSERT_LE(simulation.size(), kMostNics);
  std::set<std::string> names;
  std::set<std::array<uint8_t, 6>> macs;
  std::set<std::array<uint8_t, 4>> addresses;
  for (size_t i = 0; i < simulation.size(); ++i) {
    const HostOptions& host = simulation.system.hosts[i];
    EXPECT_TRUE(names.insert(host.nic.name).second) << host.nic.name;
    EXPECT_FALSE(host.nic.name.empty() || host.nic.name.size() > 31) << host.nic.name;
    const auto number = static_cast<uint16_t>(i);
    const auto mac = host.mac.value_or(RdmaHost::DefaultMac(number));
    EXPECT_TRUE(macs.insert(mac).second);
    EXPECT_EQ(mac[0] & 1, 0);
    EXPECT_TRUE(addresses.insert(host.ipv4.value_or(RdmaHost::DefaultIpv4(number))).second);
    EXPECT_GE(host.nic.rate_mbps(), 1U);
    EXPECT_LE(host.nic.rate_mbps(), host.nic.config->link_mbps);
    EXPECT_LE(host.nic.wire_delay_ns, kMostNs);
    CheckRules(host.nic.faults_in);
    CheckRules(host.nic.faults_out);
  }
  std::set<std::string> guests, sockets;
  for (const Simulation::Guest& guest : simulation.guests) {
    EXPECT_TRUE(guests.insert(guest.name).second) << guest.name;
    EXPECT_TRUE(!guest.socket.empty() && sockets.insert(guest.socket).second) << guest.socket;
    EXPECT_LT(guest.nic, simulation.size());
    EXPECT_FALSE(simulation.is_exported(guest.nic));
  }
  EXPECT_TRUE(simulation.system.fabric == Fabric::kSwitch || simulation.size() == 2);
  EXPECT_LE(simulation.system.network_switch.latency_ns, kMostNs);
  EXPECT_GE(simulation.system.network_switch.queue_bytes, 1U);
}

// --- Writing

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Script(const std::vector<FaultRule>& rules) {
  constexpr std::array<const char*, 7> kKinds = {"drop",    "duplicate", "reorder", "delay",
                                                 "corrupt", "truncate",  "ecn_mark"};
  std::string text;
  for (const FaultRule& rule : rules) {
    text += kKinds.at(static_cast<size_t>(rule.kind));
    if (rule.amount.has_value()) text += fmt::format(" {}", *rule.amount);
    if (rule.bad_fcs) text += " bad_fcs";
    if (rule.opcode.has_value()) text += fmt::format(" opcode={}", spec::ToString(*rule.opcode));
    if (rule.psn.has_value()) text += fmt::format(" psn={:#x}", *rule.psn);
    if (rule.dest_qp.has_value()) text += fmt::format(" qp={}", *rule.dest_qp);
    if (rule.nth != 0) text += fmt::format(" nth={}", rule.nth);
    if (rule.count != 0) text += fmt::format(" count={}", rule.count);
    text += fmt::format(" rate={}.{:06};", rule.per_million / 1'000'000, rule.per_million % 1'000'000);
  }
  return Quoted(text);
}

std::string Write(const Simulation& simulation) {
  std::string text;
  if (simulation.seed.has_value()) text += fmt::format("seed = {}\n", *simulation.seed);
  text += fmt::format("capture = {}\n", Quoted(simulation.system.capture_path));
  for (size_t i = 0; i < simulation.size(); ++i) {
    const HostOptions& host = simulation.system.hosts[i];
    text += fmt::format("[[nic]]\nname = {}\ndevice = {}\nconfig = {}\npreset = {}\n", Quoted(host.nic.name),
                        Quoted(host.device), Quoted(host.nic.config->name), Quoted(host.nic.pcie.name));
    if (const auto& mac = host.mac; mac.has_value()) {
      text += fmt::format("mac = \"{:02X}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}\"\n", (*mac)[0], (*mac)[1], (*mac)[2],
                          (*mac)[3], (*mac)[4], (*mac)[5]);
    }
    if (const auto& ip = host.ipv4; ip.has_value()) {
      text += fmt::format("ipv4 = \"{}.{}.{}.{}\"\n", (*ip)[0], (*ip)[1], (*ip)[2], (*ip)[3]);
    }
    if (simulation.is_exported(i)) text += fmt::format("export = {}\n", Quoted(simulation.exports[i]));
  }
  for (const Simulation::Guest& guest : simulation.guests) {
    text += fmt::format("[[guest]]\nname = {}\nsocket = {}\nnic = {}\n", Quoted(guest.name), Quoted(guest.socket),
                        Quoted(simulation.name(guest.nic)));
    for (const auto& [count, number] : guest.limits) {
      const auto* const kind = std::ranges::find(verbs::kQuotaKinds, count, [](const auto& one) { return one.count; });
      text += fmt::format("{} = {}\n", kind->name, number);
    }
  }
  const auto link = [&](std::string_view first, std::string_view second, const NicParameters& nic) {
    text += fmt::format("[[link]]\nends = [{}, {}]\ndelay_ns = {}\nrate_mbps = {}\n", Quoted(first), Quoted(second),
                        nic.wire_delay_ns, nic.rate_mbps());
  };
  const auto& hosts = simulation.system.hosts;
  if (simulation.system.fabric == Fabric::kDirect) {
    link(hosts[1].nic.name, hosts[0].nic.name, hosts[0].nic);
    text += fmt::format("faults_forth = {}\nfaults_back = {}\n", Script(hosts[1].nic.faults_out),
                        Script(hosts[0].nic.faults_out));
    return text;
  }
  for (const HostOptions& host : hosts) {
    link("switch", host.nic.name, host.nic);
    text +=
        fmt::format("faults_back = {}\nfaults_forth = {}\n", Script(host.nic.faults_out), Script(host.nic.faults_in));
  }
  const SwitchParameters& network_switch = simulation.system.network_switch;
  return text + fmt::format("[switch]\nhairpin = {}\nlatency_ns = {}\nqueue_bytes = {}\n", network_switch.hairpin,
                            network_switch.latency_ns, network_switch.queue_bytes);
}

// --- Faults on frames

class Arrivals final : public FrameReceiver {
 public:
  void OnFrame(WireFrame /*frame*/) override { ++frames; }
  uint64_t frames = 0;
};

void TryFaults(const std::vector<FaultRule>& rules) {
  if (rules.empty()) return;
  static const std::vector<Bytes> frames = [] {
    auto all = RecordedFrames();
    all.resize(std::min<size_t>(all.size(), 6));
    return all;
  }();
  StandaloneScheduler scheduler;
  Wire wire(scheduler, {});
  Arrivals arrivals;
  FaultInjector injector(scheduler, wire, arrivals, rules, std::mt19937_64(1));
  for (const Bytes& frame : frames) {
    injector.OnFrame({frame, false, ""});
    scheduler.RunUntil([] { return false; }, scheduler.now() + 100 * kPicosecondsPerNanosecond);
  }
  scheduler.RunUntil([] { return false; }, kForever);
  EXPECT_TRUE(injector.IsIdle());
  EXPECT_LE(injector.injected(), frames.size());
  EXPECT_LE(arrivals.frames, frames.size() * (1 + kMostCopies));
}

}  // namespace

std::vector<Bytes> Seeds() {
  const std::string_view texts[] = {
      R"(seed = 0x7f
capture = "x.pcapng"
[[nic]]
name = "left"
device = "lockstep"
config = "nic1"
preset = "gen4x16"
mac = "02:00:5E:10:0a:ff"
ipv4 = "192.168.3.4"
[[nic]]
export = "/tmp/right.sock"
[switch]
latency_ns = 7
queue_bytes = 10_000
hairpin = false
[[link]]
ends = ["left", "switch"]
rate_mbps = 100
delay_ns = 20
faults = "drop nth=3"
faults_forth = "corrupt 99 bad_fcs rate=0.25; ecn_mark 1 opcode=rc_send_only"
faults_back = '''
duplicate 2  # both
delay 5
reorder 2 psn=0x10 qp=3 count=4
truncate 60'''
)",
      R"([[nic]]
name = 'a'
[[nic]]
name = 'b'
config = 'nic1'
[[link]]
ends = ['b', 'a']
delay_ns = 9
faults_forth = 'drop'
faults_back = 'drop nth=1; drop nth=2'
)",
      "nic = [{}, {device = 'rtl'}, {name = \"\\u0061\"}]\nlink = [{ends = ['vireo1', 'switch']}]\n",
      "[[nic]]\n[[nic]]\nname = 'b'\n[[guest]]\nname = 'g'\nsocket = 'g.pvrdma'\nnic = 'b'\nqps = 4\n"
      "[[guest]]\nname = 'h'\nsocket = '/h'\n",
      "[[nic]]\ndevcie = 'rtl'\n",
      "nic = [3]\n",
      "[[nic]\n",
      "[[nic]]\nname = 2026-01-02T03:04:05Z\nmac = 1.5\n",
  };
  std::vector<Bytes> seeds;
  for (const std::string_view text : texts) seeds.emplace_back(text.begin(), text.end());
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo::sim;  // NOLINT(google-build-using-namespace)
  if (size > kMostBytes) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const HostOptions every = Every();
  const auto read = ParseTopology(text, kFile, every);
  const uint64_t line = read.ok() ? 0 : CheckError(read.error().text);
  EXPECT_LE(line, static_cast<uint64_t>(std::ranges::count(text, '\n')) + 1) << read.error().text;
  // A byte order mark is valid only at the start.
  if (!text.starts_with("\xef")) {
    const auto commented = ParseTopology("# one\n\n" + text, kFile, every);
    EXPECT_EQ(commented.ok(), read.ok());
    if (!commented.ok() && !read.ok()) {
      // A key missing in the whole file is reported in line 1.
      const uint64_t moved = CheckError(commented.error().text);
      // toml++ checks UTF-8 in blocks, so the order of two errors may change.
      const bool is_ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      EXPECT_TRUE(!is_ascii || moved == line + 2 || (moved == 1 && line == 1)) << read.error().text;
    }
    EXPECT_FALSE(ParseTopology("nobody-knows = 1\n" + text, kFile, every).ok());
  }
  if (!read.ok()) return 0;
  const Simulation& simulation = read.value();
  CheckLimits(simulation);
  const std::string written = Write(simulation);
  const auto again = ParseTopology(written, kFile, every);
  EXPECT_TRUE(again.ok()) << again.error().text << "\n" << written;
  if (!again.ok()) return 0;
  EXPECT_EQ(Write(again.value()), written);
  for (size_t i = 0; i < std::min<size_t>(simulation.size(), 2); ++i) {
    TryFaults(simulation.system.hosts[i].nic.faults_in);
    TryFaults(simulation.system.hosts[i].nic.faults_out);
  }
  return 0;
}
