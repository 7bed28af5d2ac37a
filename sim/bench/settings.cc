// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "firmware/app/limits.h"
#include "spec/gen/vireo_config.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kMicrosecond = 1'000, kMillisecond = 1'000'000;  // in ns
constexpr uint32_t kMostMessageBytes = 16U << 20;
constexpr std::pair<const char*, Pattern> kPatterns[] = {
    {"pair", Pattern::kPair}, {"incast", Pattern::kIncast}, {"ring", Pattern::kRing}};

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

Settings::Settings() {
  AddNic();
  AddPcie();
  AddWire();
  AddHost();
  AddWorkload();
}

void Settings::AddWire() {
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
  AddNumber(
      {.name = "wire.switch_latency_ns", .max = kMillisecond, .unit = "ns", .doc = "Of the switch of incast and ring"},
      &switch_.latency_ns);
  AddNumber({.name = "wire.switch_queue_bytes",
             .min = 1,
             .max = 1U << 30,
             .unit = "bytes",
             .doc = "Of each output port of this switch; what does not fit is dropped"},
            &switch_.queue_bytes);
  const auto add_faults = [this](const char* name, const char* doc, std::string* text, std::vector<FaultRule>* rules) {
    AddWord({.name = name,
             .parse =
                 [rules](const std::string& script) {
                   FaultScript parsed = ParseFaultScript(script);
                   *rules = std::move(parsed.rules);
                   return parsed.error;
                 },
             .doc = doc},
            text);
  };
  add_faults("wire.faults", "Fault script (docs/topology.md), both ways", &faults_, &both_);
  add_faults("wire.faults_forth", "Likewise, on frames of NICs that send messages", &faults_forth_, &forth_);
  add_faults("wire.faults_back", "Likewise, on frames of the others", &faults_back_, &back_);
}

void Settings::AddHost() {
  AddWord({.name = "host.rings", .words = {"split", "packed"}, .doc = "Format of the virtqueues"}, &rings_);
  AddWord({.name = "host.profile", .words = ProfileNames(), .doc = "ABI profile of device and driver"}, &profile_);
  AddWord({.name = "host.features",
           .parse = [this](const std::string& text) { return ParseFeatures(text); },
           .doc = "Features that the driver accepts, besides the usual ones (+NAME), or does not (-NAME)"},
          &features_);
  AddNumber({.name = "host.mtu_bytes",
             .max = 9706,
             .unit = "bytes",
             .doc = "Largest packet of the link; 0: the largest that fits into nic.max_frame_bytes"},
            &mtu_);
  AddNumber({.name = "host.call_ns",
             .max = kMillisecond,
             .unit = "ns",
             .doc = "Time of the host's one thread for each call that posts, or that polls something"},
            &call_ns_);
}

void Settings::AddWorkload() {
  AddWord({.name = "workload.operation",
           .parse = [this](const std::string& text) { return ParseOperations(text, operations_); },
           .doc = "write, write_imm, read, send; several with weights (write:3 read:1); or net: Ethernet frames"},
          &operation_);
  AddNumber({.name = "workload.bytes", .min = 1, .max = kMostMessageBytes, .unit = "bytes", .doc = "Of a message"},
            &bytes_);
  AddWord({.name = "workload.sizes",
           .parse = [this](const std::string& text) { return ParseSizes(text, kMostMessageBytes, size_shares_); },
           .doc = "Instead of workload.bytes: sizes and ranges with weights (64:9 1500-4096:1), at random"},
          &sizes_);
  AddNumber({.name = "workload.queue_pairs",
             .min = 1,
             .max = 1022,
             .unit = "pairs",
             .doc = "Queue pairs with messages, of each NIC that sends"},
            &queue_pairs_);
  AddNumber({.name = "workload.outstanding",
             .min = 1,
             .max = 16384,
             .unit = "messages",
             .doc = "Posted and not completed, per queue pair"},
            &outstanding_);
  AddNumber({.name = "workload.signal_every",
             .min = 1,
             .max = 16384,
             .unit = "messages",
             .doc = "Every n-th message is signaled"},
            &signal_every_);
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
             .doc = "Measured, of all NICs, after those that fill the pipeline"},
            &messages_);
  std::vector<std::string> patterns;
  for (const auto& [name, pattern] : kPatterns) patterns.emplace_back(name);
  AddWord({.name = "workload.topology",
           .words = patterns,
           .doc = "pair: one NIC to another on one wire; incast: all others to the last one; ring: each to the next "
                  "one; these "
                  "two through a switch"},
          &pattern_);
  AddNumber({.name = "workload.nics", .min = 2, .max = kMostNics, .unit = "NICs", .doc = "Of the topology"}, &nics_);
}

std::string Settings::ParseFeatures(const std::string& text) {
  constexpr spec::Profile kProfile{spec::kProfileDefault};
  std::vector<std::string> known;
  added_features_ = removed_features_ = {};
  const host::FeatureSet all = host::VirtioNetDevice::KnownFeatures();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::optional<host::Feature> found;
    for (unsigned bit = 0; bit < host::FeatureSet::kBits; ++bit) {
      const host::Feature feature(static_cast<uint8_t>(bit));
      if (all.Has(feature) && word.substr(1) == host::NamesOf({feature}, kProfile)) found = feature;
    }
    if ((word.front() != '+' && word.front() != '-') || !found) {
      return fmt::format("is +NAME and -NAME of {}, not '{}'", host::NamesOf(all, kProfile), word);
    }
    if (found->bit == static_cast<uint8_t>(spec::VirtioFeature::kRingPacked))
      return "has ring_packed; host.rings chooses it";
    (word.front() == '+' ? added_features_ : removed_features_).Add(*found);
  }
  return "";
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
  if (setting->parse) {
    if (const std::string error = setting->parse(value); !error.empty()) return fmt::format("{}: {}", name, error);
    *setting->word = value;
    return "";
  }
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

std::string Settings::Illegal() {
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
  const host::FeatureSet wanted =
      hardware().features |
      host::FeatureSet{host::Feature(spec::ConstantsOf(spec::Profile{spec::kProfileDefault}).net_f_roce)};
  if (const auto unmet = host::FindUnmetRequirement(wanted, spec::Profile{spec::kProfileDefault})) {
    return fmt::format("host.features: {} needs {}",
                       host::NamesOf({unmet->feature}, spec::Profile{spec::kProfileDefault}),
                       host::NamesOf(unmet->needs, spec::Profile{spec::kProfileDefault}));
  }
  if (workload().pattern == Pattern::kRing && !back_.empty()) {
    return "wire.faults_back: every NIC of a ring sends messages, so that there is no way back";
  }
  return IllegalWorkload(workload(), hardware());
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
  hardware_.faults_forth = both_;
  std::ranges::copy(forth_, std::back_inserter(hardware_.faults_forth));
  hardware_.faults_back = both_;
  std::ranges::copy(back_, std::back_inserter(hardware_.faults_back));
  hardware_.network_switch = switch_;
  hardware_.mtu = mtu_;
  hardware_.features =
      ((rings_ == "packed" ? host::DefaultFeatures() : SplitRings()) | added_features_) - removed_features_;
  hardware_.call_ns = call_ns_;
  return hardware_;
}

spec::Profile Settings::profile() const { return FindProfile(profile_).value_or(spec::Profile{spec::kProfileDefault}); }

CustomWorkload Settings::workload() const {
  const auto* const pattern =
      std::ranges::find_if(kPatterns, [this](const auto& known) { return pattern_ == known.first; });
  return {.name = kCustom,
          .operations = operations_,
          .sizes = size_shares_.empty() ? std::vector<SizeShare>{{bytes_, bytes_}} : size_shares_,
          .queue_pairs = queue_pairs_,
          .outstanding = outstanding_,
          .signal_every = signal_every_,
          .path_mtu = PathMtu(path_mtu_),
          .messages = messages_,
          .pattern = pattern->second,
          .nics = nics_};
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
      row["type"] = setting.parse ? "text" : "word";
      if (!setting.parse) row["words"] = setting.words;
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
    Json& one = all["rows"].emplace_back(Json{{"device", row.device},
                                              {"workload", row.workload},
                                              {"metrics", metrics},
                                              {"bottleneck", row.bottleneck},
                                              {"limits", row.limits}});
    for (const BlockUse& block : row.blocks) {
      one["blocks"].push_back({{"name", block.name},
                               {"worked", block.worked},
                               {"starved", block.starved},
                               {"blocked", block.blocked},
                               {"stalled", block.stalled},
                               {"busy", block.busy},
                               {"waits", block.waits}});
    }
    for (const StreamUse& stream : row.streams) {
      one["streams"].push_back({{"producer", stream.producer},
                                {"consumer", stream.consumer},
                                {"tokens", stream.tokens},
                                {"waiting", stream.waiting},
                                {"full", stream.full},
                                {"held", stream.held},
                                {"depth", stream.depth}});
    }
  }
  std::ofstream file(path);
  file << all.dump(1) << "\n";
  file.close();
  return file.fail() ? fmt::format("cannot write {}", path) : "";
}

}  // namespace vireo::sim
