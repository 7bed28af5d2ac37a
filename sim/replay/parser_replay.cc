// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/parser_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/common/seed.h"
#include "sim/replay/frame_text.h"
#include "sim/replay/rx_lockstep.h"

namespace vireo::sim {
namespace {

// Pause between two captures, so that their frames do not overlap.
constexpr uint64_t kPauseNs = 1'000'000;

struct Summary {
  std::string name;
  uint64_t frames = 0, roce = 0, net = 0, dropped = 0, differences = 0;
};

struct Replay {
  std::vector<Summary> captures;
  std::vector<size_t> capture_of;  // by frame
  std::map<spec::BthOpcode, uint64_t> opcodes;
  std::vector<std::string> differences;
  bool list = false;
};

void PrintFrame(const model::RxToken& token) {
  if (token.verdict != spec::RxVerdict::kRoce) {
    fmt::print("  {} ({} bytes)\n", ToString(token.verdict), token.frame_bytes);
    return;
  }
  const char* opcode = ToString(token.bth.opcode);
  fmt::print("  {} -> {} {} qp={:#x} psn={}{}{} payload={}\n", AddressText(token.ip_source),
             AddressText(token.ip_destination), opcode != nullptr ? opcode : "unknown", token.bth.dest_qp,
             token.bth.psn, token.bth.ack_req ? " ack_req" : "", ExtensionsText(token.info, token.extension),
             token.payload_bytes);
}

void Observe(Replay& replay, uint64_t frame, const model::RxToken& token, const std::string& difference) {
  Summary& summary = replay.captures[replay.capture_of[frame]];
  if (replay.list && summary.frames == 0) fmt::print("{}\n", summary.name);
  ++summary.frames;
  switch (token.verdict) {
    case spec::RxVerdict::kRoce:
      ++summary.roce;
      ++replay.opcodes[token.bth.opcode];
      break;
    case spec::RxVerdict::kNet: ++summary.net; break;
    default: ++summary.dropped;
  }
  if (!difference.empty()) {
    ++summary.differences;
    replay.differences.push_back(fmt::format("{}, frame {}:\n{}", summary.name, summary.frames, difference));
  }
  if (replay.list) PrintFrame(token);
}

void PrintReport(const Replay& replay) {
  fmt::print("{:<22}{:>9}{:>9}{:>7}{:>9}{:>13}\n", "capture", "frames", "roce", "net", "dropped", "differences");
  for (const Summary& row : replay.captures) {
    fmt::print("{:<22}{:>9}{:>9}{:>7}{:>9}{:>13}\n", row.name, row.frames, row.roce, row.net, row.dropped,
               row.differences);
  }
  for (size_t i = 0; i < replay.differences.size() && i < 10; ++i) fmt::print("{}", replay.differences[i]);
  if (replay.differences.size() > 10) fmt::print("... and {} more\n", replay.differences.size() - 10);
}

}  // namespace

int ReplayIntoParser(const ParserReplayOptions& options) {
  auto random = MakeRandom("replay");

  std::vector<std::unique_ptr<Replay>> replays;
  std::vector<std::unique_ptr<RxLockstep>> devices;
  for (const auto* config : options.configs) {
    auto& replay = *replays.emplace_back(std::make_unique<Replay>());
    replay.list = options.list && config == options.configs.front();
    devices.push_back(std::make_unique<RxLockstep>(
        config->name, *config, random,
        [&replay](uint64_t frame, const model::RxToken& token, const std::string& difference) {
          Observe(replay, frame, token, difference);
        }));
  }
  uint64_t start_ns = kPauseNs;
  for (const auto& file : options.files) {
    const Capture capture = ReadPcap(file);
    if (!capture.error.empty()) {
      fmt::print(stderr, "vireo replay: {}\n", capture.error);
      return 2;
    }
    uint64_t end_ns = start_ns;
    for (const auto& frame : capture.frames) {
      // Captures of several interfaces can step back in time; the device's time cannot.
      const uint64_t since_first =
          frame.time_ns > capture.frames.front().time_ns ? frame.time_ns - capture.frames.front().time_ns : 0;
      end_ns = std::max(end_ns, start_ns + since_first);
      for (size_t i = 0; i < devices.size(); ++i) {
        devices[i]->Add(frame.bytes, end_ns);
        replays[i]->capture_of.push_back(replays[i]->captures.size());
      }
    }
    for (auto& replay : replays) replay->captures.push_back({.name = std::filesystem::path(file).stem().string()});
    start_ns = end_ns + kPauseNs;
  }

  const auto wall_start = std::chrono::steady_clock::now();
  sc_core::sc_start();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_start;

  if (!options.list) PrintReport(*replays.front());
  uint64_t tokens = 0, cycles = 0, frames = 0;
  fmt::print("\n{} different opcodes; simulated {:.1f} s of recorded time in {:.2f} s\n",
             replays.front()->opcodes.size(), sc_core::sc_time_stamp().to_seconds(), wall.count());
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto counts = devices[i]->Finish();
    const auto& config = *options.configs[i];
    fmt::print("{:<7} {:>4} bit at {} MHz: {} frames, {} cycles of RTL evaluated, {} tokens differ, {} cycles differ\n",
               config.name, config.datapath_bits, config.core_clock_khz / 1000, counts.frames, counts.rtl_cycles,
               counts.token_differences, counts.cycle_differences);
    tokens += counts.token_differences;
    cycles += counts.cycle_differences;
    frames += counts.frames;
  }
  fmt::print("model and RTL: {} frames compared, {} tokens differ, {} cycles differ\n", frames, tokens, cycles);
  return tokens + cycles == 0 && frames > 0 ? 0 : 1;
}

}  // namespace vireo::sim
