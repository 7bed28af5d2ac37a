// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>

#include "sim/bench/speed_up.h"

namespace vireo::sim {
namespace {

// A resource that is busier than this is the limit: what is left are gaps that no other speed would close.
constexpr double kBusy = 0.95;
// Less than this share of the cycles, a full stream is a burst.
constexpr double kBlocked = 0.4;
// Chains of two NICs whose streams are full about as often are one limit.
constexpr double kAsFull = 0.6;
// A block without input for longer is not the limit: what is outstanding waits elsewhere, and its queue fills in
// bursts.
constexpr double kStarved = 0.02;
// Of the cycles in which it blocks others. A block that has work to do itself does not stall at all, one that waits for
// answers does between any two that are not as close as its own steps.
constexpr double kStalls = 0.1;
// Of the buffers that the smallest request asks for: with fewer the ring was empty. A larger request finds what has
// come since the one before it, which says nothing of the ring: READs also wait for max_rd_atomic.
constexpr double kDry = 0.9;
// Above this, what is asked for is there often enough for the latency of its reads to count as well.
constexpr double kOftenFound = 0.25;
// Of the latency of a read: if more is queueing for the link, its rate limits as the latency itself does.
constexpr double kQueued = 0.5;

struct Resource {
  std::string metric, text;
  const char* limit;
  std::string side;  // whose
  double used = 0;   // share
};

const PcieParameters& Pcie(const Options& options) {
  return options.hardware != nullptr ? options.hardware->nic.pcie : *FindPciePreset(options.preset);
}

// Both directions and the DMA tags of one NIC.
std::vector<Resource> Resources(const Options& options, size_t nic, const Counts& counts, Picoseconds time) {
  const PcieParameters& pcie = Pcie(options);
  const auto seconds = static_cast<double>(time) * 1e-12;
  const uint32_t rate = options.hardware != nullptr && options.hardware->nic.wire_mbps != 0
                            ? options.hardware->nic.wire_mbps
                            : options.config->link_mbps;
  const auto pcie_share = [&](uint64_t bytes) {
    return static_cast<double>(PcieTime(pcie, bytes)) / static_cast<double>(time);
  };
  const std::string prefix = nic == 0 ? "" : "peer_", side = nic == 0 ? "sender" : "peer", of = "of the " + side;
  const uint64_t up = counts.write_bytes + (counts.writes + counts.reads) * kTlpLongBytes;
  const uint64_t completions = (counts.read_bytes + pcie.max_payload_bytes - 1) / pcie.max_payload_bytes;
  const double cycles = seconds * options.config->core_clock_khz * 1e3;
  const double tags = std::min(options.config->dma_tags, pcie.outstanding_reads);
  const double in_use = static_cast<double>(counts.read_cycles) / cycles;
  return {
      {prefix + "wire_used", fmt::format("the wire, sent by the NIC {}", of), kLimitWire, side,
       static_cast<double>(counts.line_bytes) * 8e-6 / seconds / rate},
      {prefix + "pcie_up_used", fmt::format("PCIe to the host {}", of), kLimitPcie, side, pcie_share(up)},
      {prefix + "pcie_down_used", fmt::format("PCIe from the host {}", of), kLimitPcie, side,
       pcie_share(counts.read_bytes + completions * kTlpShortBytes)},
      {prefix + "dma_tags_used", fmt::format("DMA tags {}, {:.1f} of {:.0f} in use", of, in_use, tags),
       kLimitHostMemory, side, in_use / tags},
  };
}

std::string BlocksName(const std::string& name) { return name.substr(name.find('.') + 1); }
std::string Side(const std::string& name) { return name.substr(0, name.find('.')); }

// A block that blocks others, and that nothing blocks for as long.
struct Culprit {
  std::string block, blocked;  // who it blocks
  double full = 0;             // share of cycles
};

// An answer of the read port that its client does not take yet: it keeps nobody, because each client has places of its
// own there.
bool IsKeptAnswer(const StreamUse& stream) { return BlocksName(stream.producer) == "dma_read_port"; }

// The fullest stream from this block; null: it sends nothing that could be blocked.
const StreamUse* Fullest(const Row& row, const std::string& block) {
  const StreamUse* fullest = nullptr;
  for (const StreamUse& stream : row.streams) {
    if (stream.producer != block || IsKeptAnswer(stream)) continue;
    if (fullest == nullptr || fullest->full < stream.full) fullest = &stream;
  }
  return fullest;
}

// From the stream of this side that is full most of the time down to the block that nothing blocks for half as long; if
// something still blocks that one often, from there again. Empty: no stream is full.
std::vector<Culprit> FindCulprits(const Row& row, const std::string& side) {
  const StreamUse* worst = nullptr;
  for (const StreamUse& stream : row.streams) {
    if (Side(stream.producer) != side || IsKeptAnswer(stream)) continue;
    if (worst == nullptr || worst->full < stream.full) worst = &stream;
  }
  std::vector<Culprit> culprits;
  std::set<std::string> seen;
  while (worst != nullptr && worst->full >= kBlocked) {
    seen.insert(worst->producer);
    const StreamUse* next = worst;
    while (next != nullptr && next->full >= worst->full / 2 && seen.insert(next->consumer).second) {
      worst = next;
      next = Fullest(row, worst->consumer);
    }
    culprits.push_back({worst->consumer, worst->producer, worst->full});
    worst = next == nullptr || seen.contains(next->consumer) ? nullptr : next;
  }
  return culprits;
}

// Whether this side has always another frame to process: then whatever sends them is fast enough. If it is busy, then
// with frames that did not fit into the receive buffer before.
bool HasAlwaysFrames(const Row& row, const std::string& side) {
  const StreamUse* frames = Fullest(row, side + ".rx_buffer");
  return frames != nullptr && frames->full >= kBusy;
}

// The blocks that answered requests of this one.
std::vector<std::string> Asked(const Row& row, const std::string& block) {
  std::vector<std::string> names;
  for (const StreamUse& request : row.streams) {
    const std::string& name = request.consumer;
    if (request.producer != block || request.tokens == 0 || std::ranges::count(names, name) != 0) continue;
    const bool answers = std::ranges::any_of(row.streams, [&](const StreamUse& answer) {
      return answer.producer == request.consumer && answer.consumer == block && answer.tokens != 0;
    });
    if (answers) names.push_back(name);
  }
  return names;
}

// The blocks from this one's questions to the block that asks host memory; empty if there is no such way.
std::vector<std::string> WayToMemory(const Row& row, const std::string& block) {
  std::vector<std::vector<std::string>> ways = {{block}};
  std::set<std::string> seen = {block};
  for (size_t i = 0; i < ways.size(); ++i) {
    for (const std::string& asked : Asked(row, ways[i].back())) {
      if (!seen.insert(asked).second) continue;
      std::vector<std::string> way = ways[i];
      way.push_back(asked);
      if (BlocksName(asked) == "dma_read_port") return {way.begin() + 1, way.end()};
      ways.push_back(std::move(way));
    }
  }
  return {};
}

// Of the work requests or frames that the sender's blocks ask for, counted as the smallest request asks, the share that
// they get; 1 if nothing asks.
double ShareFound(const Row& row) {
  const auto tokens = [&](const std::string& from, const std::string& to) {
    uint64_t sum = 0;
    for (const StreamUse& stream : row.streams) {
      if (stream.producer == from && stream.consumer == to) sum += stream.tokens;
    }
    return static_cast<double>(sum);
  };
  const auto asked_by = [&](const char* client, double per_request) {
    return tokens(client, "sender.desc_fetch") * per_request;
  };
  const double asked =
      asked_by("sender.send_queue", spec::kBuffersPerRequest) + asked_by("sender.net_tx", spec::kNetBuffersPerRequest);
  const double got = tokens("sender.desc_fetch", "sender.send_queue") + tokens("sender.desc_fetch", "sender.net_tx");
  return asked == 0 ? 1 : got / asked;
}

// Reads that are outstanding, and for how long.
std::string MemoryLatency(const Options& options, const Counts& counts, double cycles, const std::string& side) {
  const double read =
      static_cast<double>(counts.read_cycles) / std::max<double>(1, static_cast<double>(counts.read_ends));
  return fmt::format("latency of host memory: {:.1f} reads of the {} outstanding x {:.0f} ns",
                     static_cast<double>(counts.read_cycles) / cycles, side,
                     read * 1e6 / options.config->core_clock_khz);
}

// Of a read of the mean size when the link is idle.
double IdleLatencyNs(const Options& options, const Counts& counts) {
  const PcieParameters& pcie = Pcie(options);
  const uint64_t bytes = counts.reads == 0 ? 0 : counts.read_bytes / counts.reads;
  const uint64_t packets = (bytes + pcie.max_payload_bytes - 1) / pcie.max_payload_bytes;
  return pcie.upstream_ns + pcie.read_ns + 0.5 * pcie.read_spread_ns + pcie.downstream_ns +
         static_cast<double>(PcieTime(pcie, kTlpLongBytes) + PcieTime(pcie, bytes + packets * kTlpShortBytes)) * 1e-3;
}

}  // namespace

void FindBottleneck(const Options& options, const Mark& begin, const Mark& end, uint64_t outstanding, bool begins_all,
                    Row& row) {
  const Picoseconds time = end.time - begin.time;
  const double cycles = static_cast<double>(time) * 1e-9 * options.config->core_clock_khz;
  std::vector<Resource> resources;
  for (size_t nic = 0; nic < 2; ++nic) {
    const std::string prefix = nic == 0 ? "sender." : "peer.";
    const model::Meters::Counts &from = begin.meters.at(nic), &to = end.meters.at(nic);
    for (size_t i = 0; i < to.blocks.size(); ++i) {
      const auto share = [&](uint64_t after, uint64_t before) { return static_cast<double>(after - before) / cycles; };
      row.blocks.push_back(
          {prefix + to.blocks[i].name, share(to.blocks[i].worked, from.blocks[i].worked),
           share(to.blocks[i].starved, from.blocks[i].starved), share(to.blocks[i].blocked, from.blocks[i].blocked),
           share(to.blocks[i].stalled, from.blocks[i].stalled), share(to.blocks[i].busy, from.blocks[i].busy),
           share(to.blocks[i].waits, from.blocks[i].waits)});
    }
    for (size_t i = 0; i < to.streams.size(); ++i) {
      const auto share = [&](Cycle after, Cycle before) { return static_cast<double>(after - before) / cycles; };
      row.streams.push_back({prefix + to.streams[i].producer, prefix + to.streams[i].consumer,
                             to.streams[i].tokens - from.streams[i].tokens,
                             share(to.streams[i].waiting, from.streams[i].waiting),
                             share(to.streams[i].full, from.streams[i].full),
                             share(to.streams[i].held, from.streams[i].held), to.streams[i].depth});
    }
    std::ranges::move(Resources(options, nic, end.counts.at(nic) - begin.counts.at(nic), time),
                      std::back_inserter(resources));
  }
  for (const Resource& resource : resources) row.metrics.push_back({resource.metric, resource.used, "1"});
  std::vector<std::string> texts;
  const auto add = [&](const std::string& limit, const std::string& text) {
    if (std::ranges::count(row.limits, limit) == 0) row.limits.push_back(limit);
    texts.push_back(text);
  };
  for (const Resource& resource : resources) {
    if (resource.used < kBusy || HasAlwaysFrames(row, resource.side == "sender" ? "peer" : "sender")) continue;
    add(resource.limit, fmt::format("{}: {:.0f} %", resource.text, 100 * std::min(resource.used, 1.0)));
  }
  const auto memory_latency = [&](const std::string& side) {
    const size_t nic = side == "sender" ? 0 : 1;
    return MemoryLatency(options, end.counts.at(nic) - begin.counts.at(nic), cycles, side);
  };
  if (texts.empty()) {
    const std::array<std::vector<Culprit>, 2> sides = {FindCulprits(row, "sender"), FindCulprits(row, "peer")};
    double fullest = 0;
    for (const std::vector<Culprit>& culprits : sides) {
      if (!culprits.empty()) fullest = std::max(fullest, culprits[0].full);
    }
    const auto use_of = [&](const Culprit& culprit) {
      return *std::ranges::find(row.blocks, culprit.block, &BlockUse::name);
    };
    for (const std::vector<Culprit>& culprits : sides) {
      if (culprits.empty() || culprits[0].full < kAsFull * fullest || use_of(culprits[0]).starved > kStarved) continue;
      if (HasAlwaysFrames(row, Side(culprits[0].block) == "sender" ? "peer" : "sender")) continue;
      for (const Culprit& culprit : culprits) {
        const BlockUse use = use_of(culprit);
        const std::string side = Side(culprit.block);
        const std::string text = fmt::format("{} of the {}: it blocks {} in {:.0f} % of cycles, and works in {:.0f} %",
                                             BlocksName(culprit.block), side, BlocksName(culprit.blocked),
                                             100 * culprit.full, 100 * use.worked);
        const std::vector<std::string> way = WayToMemory(row, culprit.block);
        // All that is written goes through it, a beat per cycle, and PCIe has room for more.
        if (BlocksName(culprit.block) == "dma_write_port") {
          add(kLimitDataPath,
              fmt::format("{}; PCIe to the host is used for {:.0f} %", text,
                          100 * row.Value((side == "sender" ? "" : "peer_") + std::string("pcie_up_used"))));
          continue;
        }
        if (use.stalled < kStalls * culprit.full || way.empty()) {
          add(culprit.block, text);
          continue;
        }
        std::vector<std::string> names;
        std::ranges::transform(way, std::back_inserter(names), BlocksName);
        add(kLimitHostMemory, fmt::format("{}; it stalls in {:.0f} % for answers through {}; {}", text,
                                          100 * use.stalled, fmt::join(names, ", "), memory_latency(side)));
      }
    }
  }
  // A machine that is always busy limits also where it keeps nobody waiting for long: its queue is longer than what is
  // under way.
  for (const BlockUse& block : row.blocks) {
    if (!texts.empty() || block.busy < kBusy) continue;
    add(block.name, fmt::format("{} of the {}: its machine is busy in {:.0f} % of cycles, and waits in {:.0f} % for "
                                "answers of other blocks",
                                BlocksName(block.name), Side(block.name), 100 * block.busy, 100 * block.waits));
  }
  const double found = ShareFound(row);
  if (texts.empty() && begins_all && found < kDry) {
    const bool often = found >= kOftenFound;
    add(kLimitOutstanding,
        fmt::format("latency: {} outstanding x {:.0f} ns; the sender often finds no more in the ring{}", outstanding,
                    row.Value("latency_ns_p50"), often ? ", and else waits for host memory" : ""));
    if (often) row.limits.push_back(kLimitHostMemory);
  } else if (texts.empty()) {
    const Counts counts = end.counts.at(0) - begin.counts.at(0);
    const double idle = IdleLatencyNs(options, counts);
    const double latency = static_cast<double>(counts.read_cycles) * 1e6 / options.config->core_clock_khz /
                           std::max<double>(1, static_cast<double>(counts.read_ends));
    std::string text = memory_latency("sender");
    if (latency - idle > kQueued * latency) {
      row.limits.push_back(kLimitPcie);
      text += fmt::format(", of which {:.0f} ns are queueing for PCIe to the sender, used for {:.0f} %", latency - idle,
                          100 * row.Value("pcie_down_used"));
    }
    const auto queue = std::ranges::find(row.blocks, "sender.send_queue", &BlockUse::name);
    if (queue->waits > kBlocked) {
      text += fmt::format("; send_queue of the sender has no room for another request in {:.0f} % of cycles",
                          100 * queue->waits);
    }
    add(kLimitHostMemory, text + "; the ring holds more messages");
  }
  row.bottleneck = fmt::format("{}", fmt::join(texts, "; and "));
}

void PrintBottleneck(const Row& row) {
  fmt::print("\n{} {}: {}\n", row.device, row.workload, row.bottleneck);
  fmt::print("  {:<28}{:>8}{:>9}{:>9}{:>9}   share of cycles\n", "block", "works", "starved", "blocked", "stalled");
  std::vector<BlockUse> blocks = row.blocks;
  std::ranges::stable_sort(blocks, std::greater<>(), &BlockUse::worked);
  for (const BlockUse& block : blocks) {
    if (block.worked < 0.005 && block.blocked < 0.005) continue;
    fmt::print("  {:<28}{:>7.1f}%{:>8.1f}%{:>8.1f}%{:>8.1f}%\n", block.name, 100 * block.worked, 100 * block.starved,
               100 * block.blocked, 100 * block.stalled);
  }
  std::vector<StreamUse> streams = row.streams;
  std::ranges::stable_sort(streams, std::greater<>(), &StreamUse::full);
  for (const StreamUse& stream : streams) {
    if (stream.full < 0.005) break;
    fmt::print("  {} is blocked by {} in {:.1f}% of cycles\n", stream.producer, stream.consumer, 100 * stream.full);
  }
  std::ranges::stable_sort(streams, std::greater<>(), &StreamUse::held);
  fmt::print("  {:<48}{:>8}{:>8}   tokens that wait in the queue, on average\n", "queue", "held", "of");
  for (const StreamUse& stream : streams) {
    if (stream.held < 0.1) break;
    fmt::print("  {:<48}{:>8.1f}{:>8}\n", fmt::format("{} > {}", stream.producer, stream.consumer), stream.held,
               stream.depth);
  }
}

}  // namespace vireo::sim
