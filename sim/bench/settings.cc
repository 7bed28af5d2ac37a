// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "firmware/app/limits.h"
#include "spec/gen/vireo_config.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kMicrosecond = 1'000, kMillisecond = 1'000'000;  // in ns
constexpr std::pair<const char*, spec::IbWrOpcode> kOperations[] = {{"write", spec::IbWrOpcode::kRdmaWrite},
                                                                    {"write_imm", spec::IbWrOpcode::kRdmaWriteWithImm},
                                                                    {"read", spec::IbWrOpcode::kRdmaRead},
                                                                    {"send", spec::IbWrOpcode::kSend}};

// Tables of the firmware, whose sizes are fixed when it is compiled; it refuses a NIC that has more.
struct FirmwareLimit {
  const char* name;
  uint32_t spec::Config::*parameter;
  uint32_t most;
};
constexpr FirmwareLimit kFirmwareLimits[] = {
    {"nic.net_queue_pairs", &spec::Config::net_queue_pairs, firmware::kMaxNetPairs},
    {"nic.num_cqs", &spec::Config::num_cqs, firmware::kMaxCqs},
    {"nic.num_qps", &spec::Config::num_qps, firmware::kMaxQps},
    {"nic.num_pds", &spec::Config::num_pds, firmware::kMaxPds},
    {"nic.num_mrs", &spec::Config::num_mrs, firmware::kMaxMrs},
    {"nic.num_translations", &spec::Config::num_translations, firmware::kMaxTranslations},
    {"nic.num_ahs", &spec::Config::num_ahs, firmware::kMaxAhs},
    {"nic.num_gids", &spec::Config::num_gids, firmware::kMaxGids},
};

spec::IbMtu PathMtu(uint32_t bytes) {
  return static_cast<spec::IbMtu>(std::countr_zero(bytes) - std::countr_zero(256U) +
                                  static_cast<int>(spec::IbMtu::kMtu256));
}

std::string Range(uint32_t min, uint32_t max, bool is_power_of_two) {
  return fmt::format("must be {} to {}{}", min, max, is_power_of_two ? " and a power of two" : "");
}

}  // namespace

const std::vector<std::string>& OperationNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, opcode] : kOperations) all.emplace_back(name);
    return all;
  }();
  return names;
}

Settings::Settings() {
  AddNic();
  AddPcie();
  AddNumber({.name = "mac.transmit_latency_ns",
             .max = kMillisecond,
             .unit = "ns",
             .doc = "From the core's beat to the preamble"},
            &mac_.transmit_latency_ns);
  AddNumber({.name = "mac.receive_latency_ns",
             .max = kMillisecond,
             .unit = "ns",
             .doc = "From the last bit to the core's first beat"},
            &mac_.receive_latency_ns);
  AddNumber({.name = "wire.rate_mbps",
             .max = 400'000,
             .unit = "Mb/s",
             .doc = "Each way, at most nic.link_mbps; 0: nic.link_mbps"},
            &wire_.rate_mbps);
  AddNumber({.name = "wire.delay_ns", .max = 1000 * kMillisecond, .unit = "ns", .doc = "From end to end"},
            &wire_.delay_ns);
  AddNumber({.name = "wire.lost_per_million",
             .max = 1'000'000,
             .unit = "frames",
             .doc = "Chance of the loss of each frame, both ways"},
            &lost_per_million_);
  AddWord({.name = "host.rings", .words = {"split", "packed"}, .doc = "Format of the virtqueues"}, &rings_);
  AddWord({.name = "host.profile", .words = ProfileNames(), .doc = "ABI profile of device and driver"}, &profile_);
  AddNumber({.name = "host.mtu_bytes",
             .max = 9706,
             .unit = "bytes",
             .doc = "Largest packet of the link; 0: the largest that fits into nic.max_frame_bytes"},
            &mtu_);
  AddWord({.name = "workload.operation", .words = OperationNames(), .doc = "Of every message"}, &operation_);
  AddNumber({.name = "workload.bytes", .min = 1, .max = 16U << 20, .unit = "bytes", .doc = "Of a message"},
            &workload_.bytes);
  AddNumber(
      {.name = "workload.queue_pairs", .min = 1, .max = 1022, .unit = "pairs", .doc = "Queue pairs with messages"},
      &workload_.queue_pairs);
  AddNumber({.name = "workload.outstanding",
             .min = 1,
             .max = 16384,
             .unit = "messages",
             .doc = "Posted and not completed, per queue pair"},
            &workload_.depth);
  AddNumber({.name = "workload.signal_every",
             .min = 1,
             .max = 16384,
             .unit = "messages",
             .doc = "Every n-th message is signaled"},
            &workload_.signal_every);
  AddNumber({.name = "workload.path_mtu",
             .min = 256,
             .max = 4096,
             .is_power_of_two = true,
             .unit = "bytes",
             .doc = "Path MTU of the connections"},
            &path_mtu_);
  AddNumber({.name = "workload.messages",
             .min = 1,
             .max = 100'000'000,
             .unit = "messages",
             .doc = "Measured, after those that fill the pipeline"},
            &messages_);
}

void Settings::AddNic() {
  AddWord({.name = "nic.config",
           .words = ConfigNames(),
           .doc = "Named configuration: the values of all other settings `nic.`"},
          &config_);
  for (const spec::ParameterInfo& parameter : spec::kParameterInfo) {
    AddNumber({.name = fmt::format("nic.{}", parameter.name),
               .min = parameter.min,
               .max = parameter.max,
               .is_power_of_two = parameter.is_power_of_two,
               .unit = parameter.unit,
               .doc = parameter.doc},
              &(nic_.*parameter.member));
  }
}

void Settings::AddPcie() {
  constexpr uint32_t kLeast = 128, kMost = 4096;  // sizes of PCIe 5.0, 7.5.3.4
  AddWord({.name = "pcie.preset", .words = PciePresetNames(), .doc = "The values of all other settings `pcie.`"},
          &preset_);
  AddNumber({.name = "pcie.generation", .min = 3, .max = 5, .doc = "8, 16 or 32 GT/s per lane"}, &generation_);
  AddNumber({.name = "pcie.lanes", .min = 1, .max = 16, .is_power_of_two = true, .unit = "lanes", .doc = "Width"},
            &pcie_.lanes);
  AddNumber({.name = "pcie.max_payload_bytes",
             .min = kLeast,
             .max = kMost,
             .is_power_of_two = true,
             .unit = "bytes",
             .doc = "MPS"},
            &pcie_.max_payload_bytes);
  AddNumber({.name = "pcie.max_read_request_bytes",
             .min = kLeast,
             .max = kMost,
             .is_power_of_two = true,
             .unit = "bytes",
             .doc = "MRRS"},
            &pcie_.max_read_request_bytes);
  AddNumber({.name = "pcie.rcb_bytes",
             .min = 64,
             .max = 128,
             .is_power_of_two = true,
             .unit = "bytes",
             .doc = "Read completion boundary"},
            &pcie_.rcb_bytes);
  AddNumber({.name = "pcie.outstanding_reads",
             .min = 1,
             .max = 1024,
             .unit = "reads",
             .doc = "Tags of the link; a NIC with more waits for a free one"},
            &pcie_.outstanding_reads);
  AddNumber({.name = "pcie.upstream_ns",
             .max = kMillisecond,
             .unit = "ns",
             .doc = "NIC to host memory controller, last byte to last byte, without the time on the wire"},
            &pcie_.upstream_ns);
  AddNumber({.name = "pcie.downstream_ns", .max = kMillisecond, .unit = "ns", .doc = "Host to NIC, likewise"},
            &pcie_.downstream_ns);
  AddNumber({.name = "pcie.read_ns",
             .max = kMillisecond,
             .unit = "ns",
             .doc = "Host memory: from request to first data, at least"},
            &pcie_.read_ns);
  AddNumber(
      {.name = "pcie.read_spread_ns", .max = kMillisecond, .unit = "ns", .doc = "Plus a uniform random 0 to this"},
      &pcie_.read_spread_ns);
  AddNumber({.name = "pcie.write_buffer_beats",
             .min = 1,
             .max = 65536,
             .unit = "beats",
             .doc = "Credits for DMA writes of the NIC"},
            &pcie_.write_buffer_beats);
  AddNumber({.name = "pcie.completion_timeout_ns",
             .min = kMicrosecond,
             .max = 1000 * kMillisecond,
             .unit = "ns",
             .doc = "Of NIC and host"},
            &pcie_.completion_timeout_ns);
}

void Settings::AddNumber(Setting setting, uint32_t* number) {
  setting.number = number;
  setting.default_number = *number;
  settings_.push_back(std::move(setting));
}

void Settings::AddWord(Setting setting, std::string* word) {
  setting.word = word;
  setting.default_word = *word;
  settings_.push_back(std::move(setting));
}

Settings::Setting* Settings::Find(std::string_view name) {
  const auto found = std::ranges::find(settings_, name, &Setting::name);
  return found == settings_.end() ? nullptr : &*found;
}

void Settings::ApplyNicPreset() { nic_ = *FindConfig(config_); }

void Settings::ApplyPciePreset() {
  pcie_ = *FindPciePreset(preset_);
  generation_ = static_cast<uint32_t>(pcie_.speed);
}

std::string Settings::Assign(const std::string& name, const std::string& value) {
  Setting* const setting = Find(name);
  if (setting == nullptr) return fmt::format("there is no setting '{}'; --list-settings prints all", name);
  if (setting->word != nullptr) {
    if (std::ranges::find(setting->words, value) == setting->words.end()) {
      return fmt::format("{} is one of {}, not '{}'", name, fmt::join(setting->words, ", "), value);
    }
    *setting->word = value;
    return "";
  }
  uint32_t number = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (code != std::errc() || end != value.data() + value.size()) {
    return fmt::format("{} is an integer from {} to {}, not '{}'", name, setting->min, setting->max, value);
  }
  *setting->number = number;
  return "";
}

std::string Settings::Apply(const std::vector<std::string>& assignments) {
  std::vector<std::pair<std::string, std::string>> presets, others;
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) return fmt::format("'{}' is not NAME=VALUE", assignment);
    const std::string name = assignment.substr(0, equals);
    auto& list = name == "nic.config" || name == "pcie.preset" ? presets : others;
    list.emplace_back(name, assignment.substr(equals + 1));
  }
  for (const auto& [name, value] : presets) {
    if (std::string error = Assign(name, value); !error.empty()) return error;
    name == "nic.config" ? ApplyNicPreset() : ApplyPciePreset();
  }
  nic_label_ = config_;
  pcie_label_ = preset_;
  for (const auto& [name, value] : others) {
    if (std::string error = Assign(name, value); !error.empty()) return error;
    if (name.starts_with("nic.")) nic_label_ += fmt::format(" {}={}", name, value);
    if (name.starts_with("pcie.")) pcie_label_ += fmt::format(" {}={}", name, value);
  }
  return "";
}

std::string Settings::Illegal() const {
  if (const spec::ConfigViolation violation = spec::FirstIllegal(nic_); violation.rule != nullptr) {
    return fmt::format("nic.{}: {}", violation.rule, violation.reason);
  }
  for (const Setting& setting : settings_) {
    if (setting.number == nullptr) continue;
    const uint32_t value = *setting.number;
    if (value < setting.min || value > setting.max || (setting.is_power_of_two && !std::has_single_bit(value))) {
      return fmt::format("{}: {} is not legal: {}", setting.name, value,
                         Range(setting.min, setting.max, setting.is_power_of_two));
    }
  }
  for (const auto& [name, parameter, most] : kFirmwareLimits) {
    if (nic_.*parameter > most) return fmt::format("{}: the firmware is compiled for at most {}", name, most);
  }
  // A write takes credits for all of its beats at once, and one more if it starts within a beat.
  const uint64_t beat_bytes = nic_.datapath_bits / 8;
  if (pcie_.write_buffer_beats < pcie_.max_payload_bytes / beat_bytes + 1) {
    return fmt::format("pcie.write_buffer_beats: a write of pcie.max_payload_bytes takes {} beats of nic.datapath_bits",
                       pcie_.max_payload_bytes / beat_bytes + 1);
  }
  if (pcie_.completion_timeout_ns <=
      uint64_t{pcie_.upstream_ns} + pcie_.downstream_ns + pcie_.read_ns + pcie_.read_spread_ns) {
    return "pcie.completion_timeout_ns: every read would time out: upstream, read, spread and downstream take longer";
  }
  if (wire_.rate_mbps > nic_.link_mbps) return "wire.rate_mbps: the wire is faster than nic.link_mbps";
  if (path_mtu_ > nic_.max_path_mtu) return "workload.path_mtu: more than nic.max_path_mtu";
  if (workload_.signal_every > workload_.depth) {
    return "workload.signal_every: more than workload.outstanding, so that no message would ever complete";
  }
  if (const uint32_t longest = LongestQueue(workload()); longest > nic_.max_queue_entries) {
    return fmt::format("nic.max_queue_entries: the workload needs queues of {} entries", longest);
  }
  if (const uint64_t most = MostQueuePairs(nic_, workload_.bytes); workload_.queue_pairs > most) {
    return fmt::format("workload.queue_pairs: the configuration has CQs, PDs, regions and translations for {} of these",
                       most);
  }
  return "";
}

const spec::Config* Settings::named() const {
  for (const spec::Config* config : spec::kConfigs) {
    if (std::ranges::all_of(spec::kParameterInfo, [&](const spec::ParameterInfo& parameter) {
          return config->*parameter.member == nic_.*parameter.member;
        })) {
      return config;
    }
  }
  return nullptr;
}

const Hardware& Settings::hardware() {
  pcie_.speed = static_cast<spec::PcieLinkSpeed>(generation_);
  const spec::Config* const config = named();
  hardware_.nic.config = config == nullptr ? &nic_ : config;
  hardware_.nic.pcie = pcie_;
  hardware_.nic.mac = mac_;
  hardware_.nic.wire_delay_ns = wire_.delay_ns;
  hardware_.nic.wire_mbps = wire_.rate_mbps;
  hardware_.lost_per_million = lost_per_million_;
  hardware_.mtu = mtu_;
  hardware_.packed_rings = rings_ == "packed";
  return hardware_;
}

spec::Profile Settings::profile() const { return FindProfile(profile_).value_or(spec::Profile{spec::kProfileDefault}); }

Workload Settings::workload() const {
  const auto* const operation =
      std::ranges::find_if(kOperations, [this](const auto& known) { return operation_ == known.first; });
  Workload result = workload_;
  result.opcode = operation->second;
  result.path_mtu = PathMtu(path_mtu_);
  result.messages = result.quick_messages = messages_;
  return result;
}

Json Settings::Values() const {
  Json values;
  for (const Setting& setting : settings_) {
    if (setting.number != nullptr) {
      values[setting.name] = *setting.number;
    } else {
      values[setting.name] = *setting.word;
    }
  }
  return values;
}

Json Settings::List() const {
  Json list;
  for (const Setting& setting : settings_) {
    Json& row = list[setting.name];
    if (setting.number != nullptr) {
      row["type"] = "integer";
      row["min"] = setting.min;
      row["max"] = setting.max;
      row["power_of_two"] = setting.is_power_of_two;
      row["default"] = setting.default_number;
      row["unit"] = setting.unit;
    } else {
      row["type"] = "word";
      row["words"] = setting.words;
      row["default"] = setting.default_word;
    }
    row["doc"] = setting.doc;
  }
  return list;
}

Json Settings::Presets() const {
  Json presets;
  const auto add = [&presets](const std::string& of, const std::string& name, const char* prefix) {
    Settings preset;
    preset.Apply({fmt::format("{}={}", of, name)});
    for (const Setting& setting : preset.settings_) {
      if (setting.number != nullptr && setting.name.starts_with(prefix)) {
        presets[of][name][setting.name] = *setting.number;
      }
    }
  };
  for (const std::string& name : ConfigNames()) add("nic.config", name, "nic.");
  for (const std::string& name : PciePresetNames()) add("pcie.preset", name, "pcie.");
  return presets;
}

std::string SettingsJson(const Settings& settings, const std::vector<std::string>& workloads,
                         const std::string& illegal) {
  Json metrics = Json::array();
  for (const Metric& metric : CustomMetrics()) {
    metrics.push_back({{"name", metric.name}, {"unit", metric.unit}, {"is_simulated", metric.is_simulated}});
  }
  Json rtl = Json::array();
  for (const spec::Config* config : spec::kConfigs) {
    if (HasRtl(*config)) rtl.push_back(config->name);
  }
  const Json all = {{"rtl", rtl},
                    {"settings", settings.List()},
                    {"presets", settings.Presets()},
                    {"workloads", workloads},
                    {"metrics", metrics},
                    {"values", settings.Values()},
                    {"illegal", illegal}};
  return all.dump(1) + "\n";
}

std::string WriteResult(const std::string& path, const Settings& settings, const std::vector<Row>& rows) {
  Json all = {{"settings", settings.Values()}, {"rows", Json::array()}};
  for (const Row& row : rows) {
    Json metrics = Json::array();
    for (const Metric& metric : row.metrics) {
      metrics.push_back({{"name", metric.name},
                         {"value", metric.value},  // null if it is not a number
                         {"unit", metric.unit},
                         {"is_simulated", metric.is_simulated}});
    }
    Json& one = all["rows"].emplace_back(
        Json{{"device", row.device}, {"workload", row.workload}, {"metrics", metrics}, {"bottleneck", row.bottleneck}});
    for (const BlockUse& block : row.blocks) {
      one["blocks"].push_back(
          {{"name", block.name}, {"worked", block.worked}, {"starved", block.starved}, {"blocked", block.blocked}});
    }
    for (const StreamUse& stream : row.streams) {
      one["streams"].push_back({{"producer", stream.producer},
                                {"consumer", stream.consumer},
                                {"tokens", stream.tokens},
                                {"waiting", stream.waiting},
                                {"full", stream.full}});
    }
  }
  std::ofstream file(path);
  file << all.dump(1) << "\n";
  file.close();
  return file.fail() ? fmt::format("cannot write {}", path) : "";
}

}  // namespace vireo::sim
