// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

namespace vireo::sim {
namespace {

// A resource that is busier than this is the limit: what is left are gaps that no other speed would close.
constexpr double kBusy = 0.95;
// Less than this share of the cycles, a full stream is a burst.
constexpr double kBlocked = 0.2;

struct Resource {
  std::string metric, text;
  double used = 0;  // share
};

// Both directions and the DMA tags of one NIC.
std::vector<Resource> Resources(const Options& options, size_t nic, const Counts& counts, Picoseconds time) {
  const PcieParameters& pcie =
      options.hardware != nullptr ? options.hardware->nic.pcie : *FindPciePreset(options.preset);
  const auto seconds = static_cast<double>(time) * 1e-12;
  const uint32_t rate = options.hardware != nullptr && options.hardware->nic.wire_mbps != 0
                            ? options.hardware->nic.wire_mbps
                            : options.config->link_mbps;
  const auto pcie_share = [&](uint64_t bytes) {
    return static_cast<double>(PcieTime(pcie, bytes)) / static_cast<double>(time);
  };
  const std::string prefix = nic == 0 ? "" : "peer_", of = nic == 0 ? "of the sender" : "of the peer";
  const uint64_t up = counts.write_bytes + (counts.writes + counts.reads) * kTlpLongBytes;
  const uint64_t completions = (counts.read_bytes + pcie.max_payload_bytes - 1) / pcie.max_payload_bytes;
  const double cycles = seconds * options.config->core_clock_khz * 1e3;
  const double tags = std::min(options.config->dma_tags, pcie.outstanding_reads);
  const double in_use = static_cast<double>(counts.read_cycles) / cycles;
  return {
      {prefix + "wire_used", fmt::format("the wire, sent by the NIC {}", of),
       static_cast<double>(counts.line_bytes) * 8e-6 / seconds / rate},
      {prefix + "pcie_up_used", fmt::format("PCIe to the host {}", of), pcie_share(up)},
      {prefix + "pcie_down_used", fmt::format("PCIe from the host {}", of),
       pcie_share(counts.read_bytes + completions * kTlpShortBytes)},
      {prefix + "dma_tags_used", fmt::format("DMA tags {}, {:.1f} of {:.0f} in use", of, in_use, tags), in_use / tags},
  };
}

std::string BlocksName(const std::string& name) { return name.substr(name.find('.') + 1); }

// From the stream that is full most of the time down to the block that nothing blocks. Empty: no stream is full.
std::string Culprit(const Row& row, std::string& why) {
  const auto is_fuller = [](const StreamUse& a, const StreamUse& b) { return a.full < b.full; };
  const auto worst = std::ranges::max_element(row.streams, is_fuller);
  if (worst == row.streams.end() || worst->full < kBlocked) return "";
  std::string block = worst->consumer, blocked = worst->producer;
  double full = worst->full;
  std::set<std::string> seen = {worst->producer};
  while (seen.insert(block).second) {
    const StreamUse* next = nullptr;
    for (const StreamUse& stream : row.streams) {
      if (stream.producer == block && stream.full >= full / 2 && (next == nullptr || next->full < stream.full)) {
        next = &stream;
      }
    }
    if (next == nullptr || seen.contains(next->consumer)) break;
    blocked = block, block = next->consumer, full = next->full;
  }
  why = fmt::format("it blocks {} in {:.0f} % of cycles", BlocksName(blocked), 100 * full);
  return block;
}

// The blocks that answered requests of this one.
std::vector<std::string> Asked(const Row& row, const std::string& block) {
  std::vector<std::string> names;
  for (const StreamUse& request : row.streams) {
    const std::string name = BlocksName(request.consumer);
    if (request.producer != block || request.tokens == 0 || std::ranges::count(names, name) != 0) continue;
    const bool answers = std::ranges::any_of(row.streams, [&](const StreamUse& answer) {
      return answer.producer == request.consumer && answer.consumer == block && answer.tokens != 0;
    });
    if (answers) names.push_back(name);
  }
  return names;
}

}  // namespace

void FindBottleneck(const Options& options, const Mark& begin, const Mark& end, Row& row) {
  const Picoseconds time = end.time - begin.time;
  const double cycles = static_cast<double>(time) * 1e-9 * options.config->core_clock_khz;
  std::vector<Resource> resources;
  for (size_t nic = 0; nic < 2; ++nic) {
    const std::string prefix = nic == 0 ? "sender." : "peer.";
    const model::Meters::Counts &from = begin.meters.at(nic), &to = end.meters.at(nic);
    for (size_t i = 0; i < to.blocks.size(); ++i) {
      const auto share = [&](uint64_t after, uint64_t before) { return static_cast<double>(after - before) / cycles; };
      row.blocks.push_back({prefix + to.blocks[i].name, share(to.blocks[i].worked, from.blocks[i].worked),
                            share(to.blocks[i].starved, from.blocks[i].starved),
                            share(to.blocks[i].blocked, from.blocks[i].blocked)});
    }
    for (size_t i = 0; i < to.streams.size(); ++i) {
      const auto share = [&](Cycle after, Cycle before) { return static_cast<double>(after - before) / cycles; };
      row.streams.push_back({prefix + to.streams[i].producer, prefix + to.streams[i].consumer,
                             to.streams[i].tokens - from.streams[i].tokens,
                             share(to.streams[i].waiting, from.streams[i].waiting),
                             share(to.streams[i].full, from.streams[i].full)});
    }
    std::ranges::move(Resources(options, nic, end.counts.at(nic) - begin.counts.at(nic), time),
                      std::back_inserter(resources));
  }
  for (const Resource& resource : resources) row.metrics.push_back({resource.metric, resource.used, "1"});
  const Resource& busiest = *std::ranges::max_element(resources, {}, &Resource::used);
  if (busiest.used >= kBusy) {
    row.bottleneck = fmt::format("{}: {:.0f} %", busiest.text, 100 * std::min(busiest.used, 1.0));
    return;
  }
  std::string why;
  if (const std::string block = Culprit(row, why); !block.empty()) {
    const auto use = std::ranges::find(row.blocks, block, &BlockUse::name);
    row.bottleneck = fmt::format("{} of the {}: {}, and works in {:.0f} %", BlocksName(block),
                                 block.substr(0, block.find('.')), why, 100 * use->worked);
    const std::vector<std::string> asked = Asked(row, block);
    constexpr double kOften = 0.5;
    if (use->worked < kOften && !asked.empty()) {
      row.bottleneck += fmt::format("; it waits for answers of {}", fmt::join(asked, ", "));
    }
    return;
  }
  row.bottleneck =
      fmt::format("latency: nothing is full; the busiest is {}, {:.0f} %", busiest.text, 100 * busiest.used);
}

void PrintBottleneck(const Row& row) {
  fmt::print("\n{} {}: {}\n", row.device, row.workload, row.bottleneck);
  fmt::print("  {:<28}{:>8}{:>9}{:>9}   share of cycles\n", "block", "works", "starved", "blocked");
  std::vector<BlockUse> blocks = row.blocks;
  std::ranges::stable_sort(blocks, std::greater<>(), &BlockUse::worked);
  for (const BlockUse& block : blocks) {
    if (block.worked < 0.005 && block.blocked < 0.005) continue;
    fmt::print("  {:<28}{:>7.1f}%{:>8.1f}%{:>8.1f}%\n", block.name, 100 * block.worked, 100 * block.starved,
               100 * block.blocked);
  }
  std::vector<StreamUse> streams = row.streams;
  std::ranges::stable_sort(streams, std::greater<>(), &StreamUse::full);
  for (const StreamUse& stream : streams) {
    if (stream.full < 0.005) break;
    fmt::print("  {} is blocked by {} in {:.1f}% of cycles\n", stream.producer, stream.consumer, 100 * stream.full);
  }
}

}  // namespace vireo::sim
