// SPDX-License-Identifier: Apache-2.0
// Everything about a benchmark that can be chosen at run time, each by a name: configuration of the NICs (`nic.`), PCIe
// link (`pcie.`), MAC and wire (`mac.`, `wire.`), host (`host.`), and the workload `custom` (`workload.`). Values are
// unsigned integers in the unit given, one of several words, or texts with a syntax of their own. All NICs are alike.
//
// Only the model takes a configuration that is none of the contract's; RTL is compiled for those.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/bench/bench.h"
#include "sim/bench/custom_workload.h"
#include "sim/device/devices.h"

namespace vireo::sim {

class Settings {
 public:
  // Those of `./vireo bench` without options.
  Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  // Applies NAME=VALUE. Presets (nic.config, pcie.preset) come first, whatever their place; of several values of one
  // name the last one counts. Returns an error (an unknown name, no value of the setting's type), or "". Does not check
  // ranges: Illegal() does.
  std::string Apply(const std::vector<std::string>& assignments);
  // The first rule that these values break, with the reason; empty if there is none.
  std::string Illegal();

  // The named configuration that the settings `nic.` are equal to; null if there is none.
  const spec::Config* named() const;
  // Hardware and host of these values. It is this object's, and changes with it.
  const Hardware& hardware();
  spec::Profile profile() const;  // ABI profile of both NICs
  // The workload custom.
  CustomWorkload workload() const;
  // As text for people: the presets and what differs from them.
  const std::string& nic_label() const { return nic_label_; }
  const std::string& pcie_label() const { return pcie_label_; }

  // An object each: name -> value; every setting with type, range, default, unit and text; name of a preset setting
  // -> name of a preset -> setting -> value.
  nlohmann::ordered_json Values() const;
  nlohmann::ordered_json List() const;
  nlohmann::ordered_json Presets() const;

 private:
  struct Setting {
    std::string name;
    uint32_t* number = nullptr;    // either this,
    std::string* word = nullptr;   // or this: one of `words`, or a text that `parse` takes
    uint32_t min = 0, max = 0;     // of a number, inclusive
    bool is_power_of_two = false;  // only powers of two are legal
    std::vector<std::string> words{};
    std::function<std::string(const std::string& text)> parse{};  // returns an error, or ""
    std::string unit{}, doc{};
    uint32_t default_number = 0;
    std::string default_word{};
  };

  void AddNic();
  void AddPcie();
  void AddWire();
  void AddHost();
  void AddWorkload();
  std::string ParseFeatures(const std::string& text);
  void AddNumber(Setting setting, uint32_t* number);
  void AddWord(Setting setting, std::string* word);
  Setting* Find(std::string_view name);
  std::string Assign(const std::string& name, const std::string& value);
  void ApplyNicPreset();
  void ApplyPciePreset();

  std::vector<Setting> settings_;
  std::string config_ = spec::kNic100.name, preset_ = "gen3x16", rings_ = "split", features_;
  std::string faults_, faults_forth_, faults_back_;
  std::string operation_ = "write", sizes_, pattern_ = "pair";
  std::string profile_ = ProfileName(spec::Profile{spec::kProfileDefault});
  std::string nic_label_ = config_, pcie_label_ = preset_;
  spec::Config nic_ = spec::kNic100;
  PcieParameters pcie_ = *FindPciePreset("gen3x16");
  uint32_t generation_ = static_cast<uint32_t>(pcie_.speed);
  MacParameters mac_;
  WireParameters wire_{.rate_mbps = 0};  // 0: the configuration's
  SwitchParameters switch_;
  uint32_t lost_per_million_ = 0, mtu_ = 0, call_ns_ = 0;
  std::vector<FaultRule> both_, forth_, back_;
  host::FeatureSet added_features_, removed_features_;
  uint32_t bytes_ = 65536, queue_pairs_ = 1, outstanding_ = 8, signal_every_ = 1, path_mtu_ = 4096, messages_ = 300,
           nics_ = 2;
  std::vector<OperationShare> operations_ = {{}};
  std::vector<SizeShare> size_shares_;
  Hardware hardware_;
};

// What --list-settings prints: the settings with their values, `workloads`, and the metrics of the workload custom.
// `illegal`: Settings::Illegal().
std::string SettingsJson(const Settings& settings, const std::vector<std::string>& workloads,
                         const std::string& illegal);
// Writes values of all settings and figures. Returns "" or an error.
std::string WriteResult(const std::string& path, const Settings& settings, const std::vector<Row>& rows);

}  // namespace vireo::sim
