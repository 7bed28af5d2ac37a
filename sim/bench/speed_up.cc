// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/speed_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace vireo::sim {
namespace {

// Whose next step may follow in the same cycle (model::Block::CanRunTwice), or that are told (model::Nic).
constexpr std::array kBlocks = {"completer",      "cq_writer", "desc_fetch", "dma_read_port",
                                "read_responder", "responder", "send_queue"};
// Of these, those that have twice as much under way instead.
constexpr std::array kRooms = {"desc_fetch", "dma_read_port", "send_queue"};
constexpr std::array kSides = {"sender", "peer"};

}  // namespace

std::vector<std::string> SpeedUpNames() {
  std::vector<std::string> names = {kLimitWire, kLimitDataPath, kLimitPcie, kLimitHostMemory, kLimitOutstanding};
  for (const char* side : kSides) {
    for (const char* block : kBlocks) names.push_back(fmt::format("{}.{}", side, block));
  }
  return names;
}

std::string SpeedUp::AddBlock(const std::string& name, Options& options) {
  const size_t slash = name.find('/');
  const std::string block = name.substr(0, slash);
  const auto names = SpeedUpNames();
  if (std::ranges::count(names, block) == 0) return fmt::format("{} is none of {}", block, fmt::join(names, ", "));
  const size_t dot = block.find('.');
  model::Nic::Faster faster{.name = block.substr(dot + 1)};
  if (slash != std::string::npos) {
    const char* const last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data() + slash + 1, last, faster.every);
    if (dot == std::string::npos || std::ranges::count(kRooms, faster.name) != 0) {
      return fmt::format("{}: takes no steps, so that none follows another in every {}-th cycle", block,
                         name.substr(slash + 1));
    }
    if (error != std::errc() || end != last || faster.every == 0) {
      return fmt::format("{}: behind / is a number of cycles from 1 on", name);
    }
  }
  options.faster.at(block.substr(0, dot) == kSides[0] ? 0 : 1).push_back(std::move(faster));
  return "";
}

std::string SpeedUp::Apply(const std::vector<std::string>& names, Options& options) {
  hardware_ = *options.hardware;
  config_ = *hardware_.nic.config;
  PcieParameters& pcie = hardware_.nic.pcie;
  // First: it says what the wire may have.
  if (std::ranges::count(names, kLimitDataPath) != 0) {
    config_.datapath_bits *= 2;
    if (const spec::ConfigViolation violation = spec::FirstIllegal(config_); violation.rule != nullptr) {
      return fmt::format("data_path: {}: {}", violation.rule, violation.reason);
    }
    // As many bytes as before.
    pcie.write_buffer_beats =
        std::max(pcie.write_buffer_beats / 2, pcie.max_payload_bytes / (config_.datapath_bits / 8) + 1);
    UseConfig(options);
  }
  for (const std::string& name : names) {
    if (name == kLimitWire) {
      const uint64_t carried = uint64_t{config_.datapath_bits} * config_.core_clock_khz / 1000;
      const uint64_t rate = std::min(uint64_t{2} * hardware_.nic.rate_mbps(), carried);
      if (rate <= hardware_.nic.rate_mbps()) return "wire: the data path carries no more";
      hardware_.nic.wire_mbps = config_.link_mbps = static_cast<uint32_t>(rate);
      UseConfig(options);
    } else if (name == kLimitDataPath) {
      continue;
    } else if (name == kLimitPcie) {
      if (pcie.speed == spec::PcieLinkSpeed::kGen5) return "pcie: there is no generation of twice the rate";
      pcie.speed = static_cast<spec::PcieLinkSpeed>(static_cast<uint32_t>(pcie.speed) + 1);
    } else if (name == kLimitHostMemory) {
      for (uint32_t* part : {&pcie.upstream_ns, &pcie.downstream_ns, &pcie.read_ns, &pcie.read_spread_ns}) *part /= 2;
    } else if (name == kLimitOutstanding) {
      options.more_outstanding = 2;
    } else {
      if (std::string error = AddBlock(name, options); !error.empty()) return error;
    }
  }
  options.hardware = &hardware_;
  return "";
}

void SpeedUp::UseConfig(Options& options) {
  hardware_.nic.config = &config_;
  options.config = &config_;
}

}  // namespace vireo::sim
