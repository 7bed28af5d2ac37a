// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/simulation_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/device/board/board_device.h"
#include "sim/device/devices.h"
#include "sim/simulator/topology_file.h"

namespace vireo::sim {
namespace {

constexpr const char* kExportAll = "vfio-user";
constexpr std::string_view kWithout = ",without=";

// A bit by its name in spec/virtio.toml or spec/net.toml.
std::optional<uint8_t> FindFeature(std::string_view name) {
  for (unsigned bit = 0; bit < spec::kVirtioFeatureBits; ++bit) {
    const auto number = static_cast<uint8_t>(bit);
    const char* const general = spec::ToString(spec::VirtioFeature{number});
    const char* const net = spec::ToString(spec::NetFeature{number});
    if ((general != nullptr && name == general) || (net != nullptr && name == net)) return number;
  }
  return std::nullopt;
}

// By name or number.
std::optional<size_t> FindNic(const Simulation& simulation, const std::string& text) {
  for (size_t i = 0; i < simulation.size(); ++i) {
    if (text == simulation.name(i) || text == std::to_string(i)) return i;
  }
  return std::nullopt;
}

std::string NicNames(const Simulation& simulation) {
  std::string names;
  for (size_t i = 0; i < simulation.size(); ++i) names += (i == 0 ? "" : ", ") + simulation.name(i);
  return names;
}

}  // namespace

void SimulationOptions::AddTo(CLI::App& command) {
  CLI::Option* const nics = command.add_option("--nics", nics_, "number of NICs")
                                ->check(CLI::Range(size_t{1}, kMostNics))
                                ->capture_default_str();
  command
      .add_option(
          "--device", device,
          "model, rtl, lockstep (both, compared in every cycle), or board:LINE for the first NIC: a board at this "
          "serial port (docs/boards.md)")
      ->check(CheckDeviceName)
      ->capture_default_str();
  command.add_option("--config", config_, "configuration of the NICs: nic100 (100 Gb/s), nic1 or nic1_rc (1 Gb/s)")
      ->check(CLI::IsMember(ConfigNames()))
      ->capture_default_str();
  command
      .add_option("--profile", profile_,
                  "ABI profile of the NICs: vireo, or rfc-v2, the RFC's own numbers and structures (docs/profiles.md)")
      ->check(CLI::IsMember(ProfileNames()))
      ->capture_default_str();
  command
      .add_option("--firmware", firmware_,
                  "what runs the firmware: native, or rv32, the control processor in RTL (docs/firmware.md)")
      ->check(CLI::IsMember(kFirmwareNames))
      ->capture_default_str();
  command.add_option("--preset", preset_, "PCIe link of the NICs: generation and lanes")
      ->check(CLI::IsMember(PciePresetNames()))
      ->capture_default_str();
  CLI::Option* const fabric =
      command.add_option("--fabric", fabric_, "switch, or direct: 2 NICs on one wire, without loopback")
          ->check(CLI::IsMember({"switch", "direct"}))
          ->capture_default_str();
  command
      .add_option("--topology", topology_,
                  "TOML file with NICs, links and their faults, and guests (docs/topology.md), for example "
                  "examples/topology.toml; --device, --config, --profile, --firmware and --preset are its "
                  "defaults")
      ->excludes(nics)
      ->excludes(fabric);
  command
      .add_option("--export", exports_,
                  fmt::format("NIC=SOCKET[,without=FEATURE], for example 2=/tmp/nic2.vfio: export this NIC (number or "
                              "name) as a whole PCI function by vfio-user, for QEMU or your own driver; programs "
                              "cannot use it. Its driver does not see a FEATURE of virtio, for example ring_packed: "
                              "split rings instead. Both can be repeated. {}: every NIC n, at nic<n>.vfio in the "
                              "simulation's directory",
                              kExportAll))
      ->allow_extra_args(false);  // the next argument may be a program
  command
      .add_option("--pvrdma", guests_,
                  "GUEST=SOCKET[,nic=NIC][,KIND=N], for example a=/tmp/a.pvrdma,nic=1,qps=100: a PVRDMA function for "
                  "the guest of this name, by vfio-user, backed by a NIC that programs and other guests use too "
                  "(docs/pvrdma.md). It may have N objects of the NIC of this KIND (pds, mrs, pages, ahs, cqs, qps, "
                  "srqs, gids). Can be repeated; default: the first guest has NIC 0, the second NIC 1, and so on, and "
                  "each an equal share")
      ->allow_extra_args(false);
  command.add_option(
      "--pmem", pmem_,
      "directory whose files are persistent memory for programs that map them shared, as of a file "
      "system with DAX: their regions may be flushed for persistence; of every NIC without the key pmem");
  command
      .add_option("--wire", wires_,
                  "add a port to the switch for an external peer: a Unix datagram socket at this path, one Ethernet "
                  "frame per datagram; frames are sent to PATH.peer (QEMU: -netdev dgram,local.type=unix,"
                  "local.path=PATH.peer,remote.type=unix,remote.path=PATH). Can be repeated")
      ->allow_extra_args(false);
  command.add_option("--wire-faults", wire_faults_,
                     "faults on frames of --wire ports, in both directions, for example 'drop rate=0.01; corrupt "
                     "nth=3' (docs/topology.md)");
  command.add_option("--mtu", mtu_, "MTU of the NICs' links in bytes, for example 1500 (default: the NIC's maximum)");
  command
      .add_flag("--virtual-time{50}", call_cost_ns,
                "programs see simulated time; =NS: simulated ns per call to post, poll or arm (default: 50)")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--seed", seed_,
                     "seed of all random numbers; the same seed repeats the run (default: VIREO_SEED, else random)");
  command.add_flag_callback(
      "--monitor", [this] { is_monitored = true; },
      "judge every NIC by the standards, whatever its device; prints at the end what breaks a rule, and then exits "
      "with status 1 (docs/monitor.md). Default: yes, unless a NIC is exported, whose driver may be at fault itself");
  command.add_flag_callback("--no-monitor", [this] { is_monitored = false; }, "do not judge them: for speed");
  command.add_option("--capture", capture, "write all frames to this pcapng file, for Wireshark");
  command.add_option("--report", report, "write a per-message report to this JSON file at the end (docs/reports.md)");
  command.add_option("--timeline", timeline, "write a timeline of messages to this HTML file at the end");
  command.add_option("--messages", messages, "number of messages (the last ones) in report and timeline")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
}

host::Result<Simulation> SimulationOptions::Describe() const {
  HostOptions every;
  every.device = device;
  every.mtu = mtu_;
  every.firmware = firmware_;
  every.profile = FindProfile(profile_).value_or(every.profile);
  if (const spec::Config* config = FindConfig(config_)) every.nic.config = config;
  if (const PcieParameters* pcie = FindPciePreset(preset_)) every.nic.pcie = *pcie;

  Simulation simulation;
  if (topology_.empty()) {
    for (size_t i = 0; i < nics_; ++i) {
      simulation.system.hosts.push_back(every);
      simulation.system.hosts.back().device = DeviceOfNic(device, i);
      simulation.system.hosts.back().nic.name = DefaultNicName(i);
    }
    if (fabric_ == "direct") simulation.system.fabric = Fabric::kDirect;
  } else {
    auto read = ReadTopology(topology_, every);
    if (!read.ok()) return read.error();
    simulation = std::move(read).value();
  }
  if (!capture.empty()) simulation.system.capture_path = capture;
  if (seed_.has_value()) simulation.seed = seed_;
  if (const host::Status added = AddExports(simulation); !added.ok()) return added.error();
  const bool has_export = std::ranges::any_of(simulation.exports, [](const auto& socket) { return !socket.empty(); });
  simulation.system.is_monitored = is_monitored.value_or(!has_export);
  if (const host::Status added = AddGuests(simulation); !added.ok()) return added.error();
  if (const host::Status added = AddWires(simulation); !added.ok()) return added.error();
  if (const host::Status added = AddVirtualTime(simulation); !added.ok()) return added.error();
  if (const host::Status added = AddPmem(simulation); !added.ok()) return added.error();
  return simulation;
}

host::Status SimulationOptions::AddPmem(Simulation& simulation) const {
  if (pmem_.empty()) return {};
  const host::Result<std::string> directory = PmemDirectory(pmem_);
  if (!directory.ok()) return host::Error{directory.error().code, "--pmem: " + directory.error().text};
  simulation.pmem.resize(simulation.size());
  for (std::string& pmem : simulation.pmem) {
    if (pmem.empty()) pmem = *directory;
  }
  return {};
}

host::Status SimulationOptions::AddExports(Simulation& simulation) const {
  const auto refuse = [](const std::string& value, const std::string& why) {
    return host::Error{host::ErrorCode::kInvalidArgument, fmt::format("--export {}: {}", value, why)};
  };
  simulation.exports.resize(simulation.size());
  simulation.hidden_features.resize(simulation.size());
  for (const std::string& value : exports_) {
    const std::string target = value.substr(0, value.find(kWithout));
    if (value == kExportAll) {
      for (size_t i = 0; i < simulation.size(); ++i) simulation.exports[i] = fmt::format("nic{}.vfio", i);
      continue;
    }
    const size_t equals = target.find('=');
    if (equals == std::string::npos || equals + 1 == target.size()) {
      return refuse(value, fmt::format("expected NIC=SOCKET, such as 0=/tmp/nic0.vfio, or {}", kExportAll));
    }
    const std::optional<size_t> nic = FindNic(simulation, target.substr(0, equals));
    if (!nic.has_value()) {
      return refuse(value, fmt::format("there is no NIC '{}'; this simulation has NICs 0 to {}, named {}",
                                       target.substr(0, equals), simulation.size() - 1, NicNames(simulation)));
    }
    if (simulation.is_exported(*nic)) return refuse(value, "this NIC is already exported");
    const std::string socket = std::filesystem::absolute(target.substr(equals + 1)).string();
    if (std::ranges::find(simulation.exports, socket) != simulation.exports.end()) {
      return refuse(value, "another NIC is exported at this socket; choose another path");
    }
    simulation.exports[*nic] = socket;
    for (size_t at = target.size(); at < value.size();) {
      at += kWithout.size();
      const size_t end = std::min(value.find(kWithout, at), value.size());
      const std::string name = value.substr(at, end - at);
      const std::optional<uint8_t> feature = FindFeature(name);
      if (!feature.has_value()) {
        return refuse(value,
                      fmt::format("there is no feature '{}'; names are those of virtio, such as ring_packed", name));
      }
      simulation.hidden_features[*nic].push_back(*feature);
      at = end;
    }
  }
  return {};
}

host::Status SimulationOptions::AddGuests(Simulation& simulation) const {
  for (const std::string& value : guests_) {
    const auto refuse = [&value](const std::string& why) {
      return host::Error{host::ErrorCode::kInvalidArgument, fmt::format("--pvrdma {}: {}", value, why)};
    };
    const size_t equals = value.find('='), end = std::min(value.find(','), value.size());
    if (equals == 0 || equals >= end || equals + 1 == end) {
      return refuse("expected GUEST=SOCKET or GUEST=SOCKET,nic=NIC, such as a=/tmp/a.pvrdma,nic=1");
    }
    Simulation::Guest guest{.name = value.substr(0, equals),
                            .socket = std::filesystem::absolute(value.substr(equals + 1, end - equals - 1)).string(),
                            .nic = simulation.guests.size() % simulation.size()};
    for (size_t at = end; at < value.size();) {
      const size_t next = std::min(value.find(',', at + 1), value.size());
      const std::string option = value.substr(at + 1, next - at - 1);
      const std::string key = option.substr(0, option.find('='));
      const std::string text = option.substr(std::min(key.size() + 1, option.size()));
      at = next;
      if (key == "nic") {
        const std::optional<size_t> nic = FindNic(simulation, text);
        if (!nic.has_value()) {
          return refuse(fmt::format("there is no NIC '{}'; this simulation has NICs 0 to {}, named {}", text,
                                    simulation.size() - 1, NicNames(simulation)));
        }
        guest.nic = *nic;
        continue;
      }
      const auto* const kind =
          std::ranges::find(verbs::kQuotaKinds, key, [](const auto& one) { return std::string(one.name); });
      if (kind == std::end(verbs::kQuotaKinds)) {
        return refuse(fmt::format("there is no '{}'; known: nic, pds, mrs, pages, ahs, cqs, qps, srqs, gids", key));
      }
      uint32_t number = 0;
      const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || last != text.data() + text.size()) {
        return refuse(fmt::format("{}: expected a number, not '{}'", key, text));
      }
      guest.limits.emplace_back(kind->count, number);
    }
    if (const auto error = CheckGuest(simulation, guest)) return refuse(error->text);
    simulation.guests.push_back(std::move(guest));
  }
  return {};
}

host::Status SimulationOptions::AddWires(Simulation& simulation) const {
  const auto refuse = [](const std::string& why) { return host::Error{host::ErrorCode::kInvalidArgument, why}; };
  const FaultScript faults = ParseFaultScript(wire_faults_);
  if (!faults.error.empty()) return refuse("--wire-faults: " + faults.error);
  if (wires_.empty()) return wire_faults_.empty() ? host::Status() : refuse("--wire-faults needs --wire");
  if (simulation.system.fabric == Fabric::kDirect) return refuse("--wire needs a switch; use --fabric switch");
  for (const std::string& wire : wires_) {
    simulation.system.outer_ports.push_back({.name = "wire" + std::to_string(simulation.wires.size()),
                                             .rate_mbps = simulation.system.hosts.front().nic.config->link_mbps,
                                             .faults_in = faults.rules,
                                             .faults_out = faults.rules});
    simulation.wires.push_back(std::filesystem::absolute(wire).string());
  }
  return {};
}

host::Status SimulationOptions::AddVirtualTime(Simulation& simulation) const {
  if (!is_virtual_time()) return {};
  const bool has_export = std::ranges::any_of(simulation.exports, [](const auto& socket) { return !socket.empty(); });
  if (has_export || !simulation.guests.empty() || !simulation.wires.empty()) {
    return host::Error{
        host::ErrorCode::kInvalidArgument,
        "--virtual-time: drivers of exported NICs and external peers run in real time, and so do guests; "
        "remove --export, --pvrdma and --wire"};
  }
  simulation.call_cost_ns = static_cast<uint32_t>(std::stoul(call_cost_ns));
  return {};
}

std::vector<std::string> SimulationOptions::Arguments() const {
  std::vector<std::string> arguments = {"--device", device,     "--config", config_,      "--profile",
                                        profile_,   "--preset", preset_,    "--messages", std::to_string(messages)};
  const auto add = [&arguments](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  if (topology_.empty()) {
    add("--nics", std::to_string(nics_));
    add("--fabric", fabric_);
  }
  add("--firmware", firmware_);
  add("--topology", topology_);
  for (const std::string& value : exports_) add("--export", value);
  for (const std::string& value : guests_) add("--pvrdma", value);
  add("--pmem", pmem_);
  for (const std::string& value : wires_) add("--wire", value);
  add("--wire-faults", wire_faults_);
  if (mtu_ != 0) add("--mtu", std::to_string(mtu_));
  if (is_monitored.has_value()) arguments.push_back(*is_monitored ? "--monitor" : "--no-monitor");
  if (is_virtual_time()) arguments.push_back("--virtual-time=" + call_cost_ns);
  if (seed_.has_value()) add("--seed", std::to_string(*seed_));
  add("--capture", capture);
  add("--report", report);
  add("--timeline", timeline);
  return arguments;
}

}  // namespace vireo::sim
