// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/custom_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/bench/bench.h"
#include "sim/bench/rdma_workload.h"

namespace vireo::sim {
namespace {

using Opcode = spec::IbWrOpcode;

constexpr std::pair<const char*, Opcode> kOperations[] = {{"write", Opcode::kRdmaWrite},
                                                          {"write_imm", Opcode::kRdmaWriteWithImm},
                                                          {"read", Opcode::kRdmaRead},
                                                          {"send", Opcode::kSend}};
constexpr const char* kNet = "net";
constexpr uint32_t kMostWeight = 1'000'000;

// "NAME:WEIGHT" or "NAME" -> both; no weight: 1. Returns an error, or "".
std::string SplitWeight(std::string_view word, std::string_view& name, uint32_t& weight) {
  const size_t colon = word.find(':');
  name = word.substr(0, colon);
  weight = 1;
  if (colon == std::string_view::npos) return "";
  const std::string_view digits = word.substr(colon + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
  if (code == std::errc() && end == digits.data() + digits.size() && weight >= 1 && weight <= kMostWeight) return "";
  return fmt::format("a weight is 1 to {}, not '{}'", kMostWeight, digits);
}

std::vector<std::string_view> Words(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n";
  std::vector<std::string_view> words;
  for (size_t begin = text.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

bool HasReceives(const CustomWorkload& workload) {
  return std::ranges::any_of(workload.operations, [](const OperationShare& share) { return HasReceive(share.opcode); });
}

// Queue pairs that a NIC has at most: those that it sends with, and those that it receives with.
uint64_t QueuePairsOfOne(const CustomWorkload& workload) {
  switch (workload.pattern) {
    case Pattern::kPair: break;
    case Pattern::kIncast: return uint64_t{workload.queue_pairs} * (workload.nics - 1);
    case Pattern::kRing: return uint64_t{workload.queue_pairs} * 2;
  }
  return workload.queue_pairs;
}

}  // namespace

bool HasReceive(Opcode opcode) { return opcode == Opcode::kSend || opcode == Opcode::kRdmaWriteWithImm; }

uint32_t Receives(const CustomWorkload& workload) { return HasReceives(workload) ? 2 * workload.outstanding : 0; }

uint64_t SectionBytes(const CustomWorkload& workload) { return std::max(workload.most_bytes(), kMinMemoryBytes); }

uint32_t CustomWorkload::most_bytes() const { return std::ranges::max_element(sizes, {}, &SizeShare::most)->most; }

std::string ParseOperations(std::string_view text, std::vector<OperationShare>& operations) {
  operations.clear();
  std::vector<std::string> known;
  for (const auto& [name, opcode] : kOperations) known.emplace_back(name);
  const std::vector<std::string_view> words = Words(text);
  if (words == std::vector<std::string_view>{kNet}) return "";
  for (const std::string_view word : words) {
    std::string_view name;
    OperationShare share;
    if (std::string error = SplitWeight(word, name, share.weight); !error.empty()) return error;
    const auto* const found = std::ranges::find_if(kOperations, [&](const auto& row) { return name == row.first; });
    if (name == kNet) return "net frames cannot be mixed with RDMA messages";
    if (found == std::end(kOperations)) {
      return fmt::format("is {} with weights (write:3 read:1), or {}, not '{}'", fmt::join(known, ", "), kNet, name);
    }
    share.opcode = found->second;
    if (std::ranges::count(operations, share.opcode, &OperationShare::opcode) != 0) {
      return fmt::format("has {} twice", name);
    }
    operations.push_back(share);
  }
  return operations.empty() ? fmt::format("is {} with weights (write:3 read:1), or {}", fmt::join(known, ", "), kNet)
                            : "";
}

std::string ParseSizes(std::string_view text, uint32_t most, std::vector<SizeShare>& sizes) {
  sizes.clear();
  for (const std::string_view word : Words(text)) {
    std::string_view range;
    SizeShare share;
    if (std::string error = SplitWeight(word, range, share.weight); !error.empty()) return error;
    const char* const end = range.data() + range.size();
    auto [at, code] = std::from_chars(range.data(), end, share.least);
    share.most = share.least;
    if (code == std::errc() && at != end && *at == '-') {
      const auto second = std::from_chars(at + 1, end, share.most);
      at = second.ptr, code = second.ec;
    }
    if (code != std::errc() || at != end || share.least < 1 || share.most < share.least || share.most > most) {
      return fmt::format("is sizes of 1 to {} and ranges of them, with weights (64:9 1500-4096:1), not '{}'", most,
                         range);
    }
    sizes.push_back(share);
  }
  return "";
}

std::string IllegalWorkload(const CustomWorkload& workload, const Hardware& hardware) {
  const spec::Config& nic = *hardware.nic.config;
  if (workload.pattern == Pattern::kPair && workload.nics != 2) {
    return "workload.nics: a pair is 2; incast and ring have more";
  }
  if (workload.is_net()) {
    const uint32_t least = std::ranges::min_element(workload.sizes, {}, &SizeShare::least)->least;
    const uint32_t most = hardware.mtu != 0
                              ? static_cast<uint32_t>(spec::Ethernet::kBytes + spec::VlanTag::kBytes) + hardware.mtu
                              : nic.max_frame_bytes;
    if (least < kMinFrameBytes || workload.most_bytes() > most) {
      return fmt::format("workload.bytes: net frames have {} to {} bytes, with their Ethernet header", kMinFrameBytes,
                         most);
    }
    if (workload.queue_pairs > nic.net_queue_pairs) return "workload.queue_pairs: more than nic.net_queue_pairs";
    if (workload.queue_pairs > 1 && !hardware.features.Has(spec::NetFeature::kMq)) {
      return "host.features: more than one net queue pair needs mq";
    }
    return "";
  }
  constexpr uint32_t kMtuUnit = 128;  // of the logarithm that IbMtu is
  if (kMtuUnit << static_cast<uint32_t>(workload.path_mtu) > nic.max_path_mtu) {
    return "workload.path_mtu: more than nic.max_path_mtu";
  }
  if (workload.signal_every > workload.outstanding) {
    return "workload.signal_every: more than workload.outstanding, so that no message would ever complete";
  }
  if (const uint32_t longest = std::max({kMinCqes, workload.outstanding, Receives(workload)});
      longest > nic.max_queue_entries) {
    return fmt::format("nic.max_queue_entries: the workload needs queues of {} entries", longest);
  }
  const uint64_t memory = SectionBytes(workload) * workload.operations.size();
  if (const uint64_t most = MostQueuePairs(nic, memory); QueuePairsOfOne(workload) > most) {
    return fmt::format("workload.queue_pairs: the configuration has CQs, PDs, regions and translations for {} of these",
                       most);
  }
  return "";
}

}  // namespace vireo::sim
