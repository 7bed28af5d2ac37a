// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/topology_file.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "host/service/protocol.h"
#include "sim/device/board/board_device.h"
#include "sim/device/devices.h"
#include "sim/pcie/pcie_link.h"
#include "sim/simulator/toml_reader.h"

namespace vireo::sim {
namespace {

constexpr std::string_view kSwitch = "switch";  // as an end of a link
constexpr uint64_t kMostNs = 1'000'000'000;
constexpr uint64_t kMostQueueBytes = 1U << 30;
constexpr size_t kMostNameLetters = 31;

bool IsName(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && text.size() <= kMostNameLetters && is_letter(text[0]) &&
         std::ranges::all_of(
             text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.'; });
}

// Six pairs of hexadecimal digits between colons.
std::optional<std::array<uint8_t, 6>> ParseMac(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<uint8_t, 6> mac{};
  if (text.size() != mac.size() * 3 - 1) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = static_cast<char>(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
    const size_t digit = kDigits.find(c);
    if (i % 3 == 2 ? c != ':' : digit == std::string_view::npos) return std::nullopt;
    if (i % 3 != 2) mac[i / 3] = static_cast<uint8_t>(mac[i / 3] << 4 | digit);
  }
  return mac;
}

class TopologyReader {
 public:
  TopologyReader(TomlReader& reader, const HostOptions& every) : reader_(reader), every_(every) {}

  Simulation Read(const toml::table& file) {
    reader_.Allow(file, "a topology", {"seed", "capture", "nic", "switch", "link", "guest"});
    simulation_.seed = reader_.Integer(file, "seed", 0, std::numeric_limits<int64_t>::max());
    simulation_.system.capture_path = reader_.String(file, "capture").value_or("");
    const auto nics = reader_.Tables(file, "nic");
    if (nics.empty() || nics.size() > kMostNics) {
      reader_.Fail(file, "nic", fmt::format("a topology has 1 to {} [[nic]], not {}", kMostNics, nics.size()));
    }
    for (const toml::table* nic : nics) ReadNic(*nic);
    const toml::table* const network_switch = reader_.Table(file, "switch");
    if (network_switch != nullptr) ReadSwitch(*network_switch);
    for (const toml::table* link : reader_.Tables(file, "link")) ReadLink(*link, network_switch != nullptr);
    for (const toml::table* guest : reader_.Tables(file, "guest")) ReadGuest(*guest);
    return std::move(simulation_);
  }

 private:
  void ReadNic(const toml::table& table) {
    reader_.Allow(
        table, "[[nic]]",
        {"name", "device", "config", "profile", "firmware", "preset", "mac", "ipv4", "vlan", "gids", "pmem", "export"});
    const size_t number = simulation_.size();
    HostOptions& host = simulation_.system.hosts.emplace_back(every_);
    host.nic.name = reader_.String(table, "name").value_or(DefaultNicName(number));
    if (!IsName(host.nic.name) || host.nic.name == kSwitch) {
      reader_.Fail(
          table, "name",
          fmt::format("'{}' is not a valid NIC name: a letter, then letters, digits, '_', '-' and '.', at most "
                      "{} characters, and not '{}'",
                      host.nic.name, kMostNameLetters, kSwitch));
    }
    const auto unique = [&](std::string_view key, const std::string& value) {
      const auto [at, is_new] = taken_.try_emplace(std::string(key) + " " + value, number);
      if (!is_new) reader_.Fail(table, key, fmt::format("NIC {} already has the {} {}", at->second, key, value));
    };
    unique("name", host.nic.name);
    std::vector<std::string> devices = DeviceNames();
    const auto* const device = table["device"].as_string();
    if (device != nullptr && IsBoardName(device->get())) devices.push_back(device->get());
    host.device = reader_.OneOf(table, "device", devices).value_or(DeviceOfNic(host.device, number));

    if (const auto name = reader_.OneOf(table, "config", ConfigNames())) {
      host.nic.config = FindConfig(*name);
    }
    if (const auto name = reader_.OneOf(table, "profile", ProfileNames())) {
      host.profile = FindProfile(*name).value_or(host.profile);
    }
    host.firmware =
        reader_.OneOf(table, "firmware", {kFirmwareNames.begin(), kFirmwareNames.end()}).value_or(host.firmware);
    if (const auto name = reader_.OneOf(table, "preset", PciePresetNames())) host.nic.pcie = *FindPciePreset(*name);
    ReadAddresses(table, host);
    const auto number16 = static_cast<uint16_t>(number);
    const auto mac = host.mac.value_or(RdmaHost::DefaultMac(number16));
    unique("mac",
           fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]));
    const auto ipv4 = host.ipv4.value_or(RdmaHost::DefaultIpv4(number16));
    unique("ipv4", fmt::format("{}.{}.{}.{}", ipv4[0], ipv4[1], ipv4[2], ipv4[3]));

    // 0 and 4095 are no VLAN. [IEEE 802.1Q, table 9-2]
    const auto vlan = reader_.Integer(table, "vlan", 1, 4094);
    simulation_.vlans.emplace_back();
    if (vlan.has_value()) simulation_.vlans.back() = static_cast<uint16_t>(*vlan);
    if (vlan.has_value() && !spec::ConstantsOf(host.profile).rdma_has_additions) {
      reader_.Fail(table, "vlan", fmt::format("a NIC of profile {} has no VLAN", ProfileName(host.profile)));
    }

    simulation_.gids.emplace_back();
    for (const std::string& text : reader_.Strings(table, "gids")) {
      const host::Result<GidSetting> setting = ParseGidSetting(text);
      if (!setting.ok()) {
        reader_.Fail(table, "gids", setting.error().text);
        continue;
      }
      unique("gids", ToText(*setting));
      simulation_.gids.back().push_back(*setting);
    }

    const auto pmem = reader_.String(table, "pmem");
    simulation_.pmem.emplace_back();
    if (pmem.has_value()) {
      const host::Result<std::string> directory = PmemDirectory(*pmem);
      if (!directory.ok()) reader_.Fail(table, "pmem", directory.error().text);
      if (directory.ok()) simulation_.pmem.back() = *directory;
    }
    const auto socket = reader_.String(table, "export");
    if (socket.has_value() && socket->empty()) reader_.Fail(table, "export", "'export' must be the path of a socket");
    simulation_.exports.push_back(socket.value_or(""));
    if (socket.has_value()) unique("export", simulation_.exports.back());
  }

  void ReadAddresses(const toml::table& table, HostOptions& host) {
    if (const auto text = reader_.String(table, "mac")) {
      host.mac = ParseMac(*text);
      // Bit 0 of the first byte marks a group address. [IEEE 802, 8.2.2]
      if (!host.mac.has_value() || (host.mac->front() & 1) != 0 || *host.mac == std::array<uint8_t, 6>{}) {
        reader_.Fail(table, "mac", fmt::format("'{}' is not a unicast MAC address; example: 02:00:00:00:00:01", *text));
      }
    }
    if (const auto text = reader_.String(table, "ipv4")) {
      host.ipv4.emplace();
      // Neither "this network", loopback, multicast, reserved nor broadcast. [RFC 6890, 2.2.2; RFC 5771, 3]
      if (inet_pton(AF_INET, text->c_str(), host.ipv4->data()) != 1 || host.ipv4->front() == 0 ||
          host.ipv4->front() == 127 || host.ipv4->front() >= 224) {
        reader_.Fail(table, "ipv4", fmt::format("'{}' is not an IPv4 address of a host; example: 10.0.0.1", *text));
      }
    }
  }

  void ReadSwitch(const toml::table& table) {
    reader_.Allow(table, "[switch]", {"latency_ns", "queue_bytes", "hairpin"});
    SwitchParameters& parameters = simulation_.system.network_switch;
    if (const auto ns = reader_.Integer(table, "latency_ns", 0, kMostNs)) {
      parameters.latency_ns = static_cast<uint32_t>(*ns);
    }
    if (const auto bytes = reader_.Integer(table, "queue_bytes", 1, kMostQueueBytes)) {
      parameters.queue_bytes = static_cast<uint32_t>(*bytes);
    }
    parameters.hairpin = reader_.Boolean(table, "hairpin").value_or(parameters.hairpin);
  }

  // The NIC of this name. Nothing after an error; `others`: further names that the key may have.
  std::optional<size_t> FindNic(const toml::table& table, std::string_view key, const std::string& name,
                                const std::vector<std::string_view>& others = {}) {
    const auto& hosts = simulation_.system.hosts;
    const auto at = std::ranges::find(hosts, name, [](const HostOptions& host) { return host.nic.name; });
    if (at != hosts.end()) return static_cast<size_t>(at - hosts.begin());
    std::vector<std::string_view> known(hosts.size());
    std::ranges::transform(hosts, known.begin(),
                           [](const HostOptions& host) { return std::string_view(host.nic.name); });
    known.insert(known.end(), others.begin(), others.end());
    const std::string_view nearest = NearestName(name, known);
    reader_.Fail(table, key,
                 fmt::format("there is no NIC '{}'; {} {}", name,
                             nearest.empty() ? "known:" : fmt::format("did you mean '{}'? Known:", nearest),
                             fmt::format("{}", fmt::join(known, ", "))));
    return std::nullopt;
  }

  // Both ends as NIC numbers; nullopt is the switch. The result is meaningless after an error.
  std::array<std::optional<size_t>, 2> ReadEnds(const toml::table& table, bool has_switch) {
    std::array<std::optional<size_t>, 2> ends;
    const std::vector<std::string> names = reader_.Strings(table, "ends");
    if (names.size() != ends.size() || names[0] == names[1]) {
      reader_.Fail(table, "ends", R"(a link needs two different 'ends', for example ["vireo0", "switch"])");
      return ends;
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      if (names[i] == kSwitch) continue;
      ends[i] = FindNic(table, "ends", names[i], {kSwitch});
      if (!ends[i].has_value()) return ends;
      if (!linked_.insert(names[i]).second) {
        reader_.Fail(table, "ends", fmt::format("'{}' already has a link; a NIC has one port", names[i]));
      }
    }
    if (ends[0].has_value() && ends[1].has_value()) {
      simulation_.system.fabric = Fabric::kDirect;
      if (simulation_.size() != ends.size()) {
        reader_.Fail(table, "ends",
                     fmt::format("a direct link needs a topology of exactly two NICs, and this has {}; link each to "
                                 "\"switch\"",
                                 simulation_.size()));
      }
      if (has_switch) reader_.Fail(table, "ends", "a topology with a direct link has no [switch]; remove one of them");
    }
    return ends;
  }

  std::vector<FaultRule> ReadFaults(const toml::table& table, std::string_view key) {
    const auto text = reader_.String(table, key);
    if (!text.has_value()) return {};
    FaultScript script = ParseFaultScript(*text);
    if (!script.error.empty()) reader_.Fail(table, key, script.error);
    return std::move(script.rules);
  }

  void ReadLink(const toml::table& table, bool has_switch) {
    reader_.Allow(table, "[[link]]", {"ends", "delay_ns", "rate_mbps", "faults", "faults_forth", "faults_back"});
    const auto ends = ReadEnds(table, has_switch);
    const auto both = ReadFaults(table, "faults"), forth = ReadFaults(table, "faults_forth"),
               back = ReadFaults(table, "faults_back");
    const auto delay = reader_.Integer(table, "delay_ns", 0, kMostNs);
    uint64_t most = std::numeric_limits<uint32_t>::max();
    for (const auto& end : ends) {
      if (end.has_value()) most = std::min<uint64_t>(most, simulation_.system.hosts[*end].nic.config->link_mbps);
    }
    // A direct link runs at the rate of the slower NIC.
    const uint64_t rate = reader_.Integer(table, "rate_mbps", 1, most).value_or(most);
    if (!reader_.error().empty()) return;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (!ends[i].has_value()) continue;
      NicParameters& nic = simulation_.system.hosts[*ends[i]].nic;
      if (delay.has_value()) nic.wire_delay_ns = static_cast<uint32_t>(*delay);
      nic.wire_mbps = static_cast<uint32_t>(rate);
      // A direct link has rules at each sender only; rules at the receiver would apply twice.
      std::vector<FaultRule>& out = nic.faults_out;
      out = both;
      const auto& sent = i == 0 ? forth : back;
      out.insert(out.end(), sent.begin(), sent.end());
      if (ends[1 - i].has_value()) continue;
      nic.faults_in = both;
      const auto& received = i == 0 ? back : forth;
      nic.faults_in.insert(nic.faults_in.end(), received.begin(), received.end());
    }
  }

  void ReadGuest(const toml::table& table) {
    std::vector<std::string_view> keys = {"name", "socket", "nic"};
    for (const auto& kind : verbs::kQuotaKinds) keys.emplace_back(kind.name);
    reader_.Allow(table, "[[guest]]", keys);
    Simulation::Guest guest{.name = reader_.String(table, "name").value_or(""),
                            .socket = reader_.String(table, "socket").value_or(""),
                            .nic = simulation_.guests.size() % std::max<size_t>(simulation_.size(), 1)};
    for (const std::string_view key : {"name", "socket"}) {
      if (!table.contains(key)) reader_.Fail(table, "", fmt::format("a [[guest]] needs a '{}'", key));
    }
    if (const auto name = reader_.String(table, "nic")) guest.nic = FindNic(table, "nic", *name).value_or(0);
    for (const auto& [name, count] : verbs::kQuotaKinds) {
      const auto number = reader_.Integer(table, name, 0, std::numeric_limits<uint32_t>::max());
      if (number.has_value()) guest.limits.emplace_back(count, static_cast<uint32_t>(*number));
    }
    if (!reader_.error().empty()) return;
    if (const auto error = CheckGuest(simulation_, guest)) reader_.Fail(table, error->key, error->text);
    simulation_.guests.push_back(std::move(guest));
  }

  TomlReader& reader_;
  const HostOptions& every_;
  Simulation simulation_;
  std::map<std::string, size_t> taken_;  // "name left" -> number of the NIC
  std::set<std::string> linked_;
};

host::Result<Simulation> Convert(TomlReader& reader, const toml::table& file, const HostOptions& every) {
  Simulation simulation;
  if (reader.error().empty()) simulation = TopologyReader(reader, every).Read(file);
  if (!reader.error().empty()) return host::Error{host::ErrorCode::kInvalidArgument, reader.error()};
  return simulation;
}

}  // namespace

std::optional<GuestError> CheckGuest(const Simulation& simulation, const Simulation::Guest& guest) {
  if (!IsName(guest.name)) {
    return GuestError{"name", fmt::format("'{}' is not a valid guest name: a letter, then letters, digits, '_', '-' "
                                          "and '.', at most {} characters",
                                          guest.name, kMostNameLetters)};
  }
  if (guest.socket.empty()) return GuestError{"socket", "'socket' must be the path of a socket"};
  if (simulation.is_exported(guest.nic)) {
    return GuestError{"nic", fmt::format("NIC {} is exported and cannot be shared; choose another nic", guest.nic)};
  }
  for (const Simulation::Guest& other : simulation.guests) {
    if (other.name == guest.name) return GuestError{"name", "there is a guest of this name already"};
    if (other.socket == guest.socket) {
      return GuestError{"socket", "another guest has this socket; choose another path"};
    }
  }
  if (std::ranges::find(simulation.exports, guest.socket) != simulation.exports.end()) {
    return GuestError{"socket", "a NIC is exported at this socket; choose another path"};
  }
  return std::nullopt;
}

host::Result<std::string> PmemDirectory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::canonical(path, error);
  if (error || !std::filesystem::is_directory(directory, error)) {
    return host::Error{host::ErrorCode::kInvalidArgument, fmt::format("'{}' is not a directory", path)};
  }
  if (directory.string().size() >= service::kMaxPathBytes) {
    return host::Error{host::ErrorCode::kInvalidArgument,
                       fmt::format("'{}' is longer than {} bytes", directory.string(), service::kMaxPathBytes - 1)};
  }
  return directory.string();
}

host::Result<Simulation> ReadTopology(const std::string& path, const HostOptions& every) {
  TomlReader reader(path);
  const toml::table file = reader.ReadFile();
  return Convert(reader, file, every);
}

host::Result<Simulation> ParseTopology(std::string_view text, const std::string& name, const HostOptions& every) {
  TomlReader reader(name);
  const toml::table file = reader.Parse(text);
  return Convert(reader, file, every);
}

}  // namespace vireo::sim
