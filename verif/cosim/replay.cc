// SPDX-License-Identifier: Apache-2.0
// Replays captures into the receive parser, as model and as Verilated RTL in lockstep, and prints what the two saw.
// `./vireo demo` runs it on the traffic recorded from Linux Soft-RoCE.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verif/cosim/rx_lockstep.h"
#include "verif/harness/pcap.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

// Between two captures, so that their frames do not meet.
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

std::string Address(const uint8_t (&bytes)[16]) {
  if (std::all_of(bytes, bytes + 10, [](uint8_t b) { return b == 0; }) && bytes[10] == 0xff && bytes[11] == 0xff) {
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  }
  std::string text;
  for (int i = 0; i < 16; i += 2) text += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8 | bytes[i + 1]);
  return text;
}

// The extended headers of a packet, in words.
std::string Extensions(const model::RxToken& token) {
  const auto at = [&](uint8_t offset) { return token.extension + offset - spec::Bth::kBytes; };
  std::string text;
  if (token.info.has_reth) {
    const auto reth = spec::Reth::Decode(at(token.info.reth_offset));
    text += fmt::format(" va={:#x} rkey={:#x} length={}", reth.virtual_address, reth.rkey, reth.dma_length);
  }
  if (token.info.has_aeth) {
    const auto aeth = spec::Aeth::Decode(at(token.info.aeth_offset));
    text += fmt::format(" {}", ToString(aeth.kind));
    if (aeth.kind == spec::AethKind::kNak) {
      const char* code = ToString(static_cast<spec::NakCode>(aeth.value));
      text += fmt::format("={}", code != nullptr ? code : "reserved");
    } else if (aeth.kind == spec::AethKind::kRnrNak) {
      text += fmt::format(" timer={}ns", spec::kRnrTimerNs[aeth.value]);
    }
    text += fmt::format(" msn={}", aeth.msn);
  }
  if (token.info.has_deth)
    text += fmt::format(" src_qp={:#x}", spec::Deth::Decode(at(token.info.deth_offset)).source_qp);
  if (token.info.has_atomic_eth) {
    text += fmt::format(" va={:#x}", spec::AtomicEth::Decode(at(token.info.atomic_eth_offset)).virtual_address);
  }
  return text;
}

void PrintFrame(const model::RxToken& token) {
  if (token.verdict != spec::RxVerdict::kRoce) {
    fmt::print("  {} ({} bytes)\n", ToString(token.verdict), token.frame_bytes);
    return;
  }
  const char* opcode = ToString(token.bth.opcode);
  fmt::print("  {} -> {} {} qp={:#x} psn={}{}{} payload={}\n", Address(token.ip_source), Address(token.ip_destination),
             opcode != nullptr ? opcode : "unknown", token.bth.dest_qp, token.bth.psn,
             token.bth.ack_req ? " ack_req" : "", Extensions(token), token.payload_bytes);
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

struct Options {
  std::vector<std::string> files;
  std::vector<const spec::Config*> configs;
  bool list = false;
};

// Null and an exit code if there is nothing to run.
int ParseCommandLine(int argc, char** argv, Options& options) {
  CLI::App app("Replays captures into model and Verilated RTL of the receive parser, in lockstep.");
  app.name("vireo demo");
  std::string config;
  std::vector<std::string> names;
  for (const auto* known : spec::kConfigs) names.emplace_back(known->name);
  app.add_option("captures", options.files, "Ethernet captures (pcap, pcapng); default: recorded from Linux Soft-RoCE");
  app.add_option("--config", config, "only this configuration (default: all)")->check(CLI::IsMember(names));
  app.add_flag("--frames", options.list, "print every frame as the device sees it");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // 0 is --help; anything else is 2, so that it differs from a failed comparison.
    return app.exit(error) == 0 ? -1 : 2;
  }
  for (const auto* known : spec::kConfigs) {
    if (config.empty() || config == known->name) options.configs.push_back(known);
  }
  if (options.files.empty()) options.files = ListCaptures(VIREO_VECTORS_DIR);
  return 0;
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

int Run(int argc, char** argv) {
  Options options;
  if (const int result = ParseCommandLine(argc, argv, options)) return std::max(result, 0);
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
      fmt::print(stderr, "vireo demo: {}\n", capture.error);
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
  fmt::print("\n{} kinds of packets; simulated {:.1f} s of recorded time in {:.2f} s\n",
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
  if (!options.list)
    fmt::print(
        "\nTry next: ./vireo demo --frames      every frame as the device sees it\n"
        "          ./vireo demo FILE.pcapng   your own capture\n"
        "          ./vireo test               the whole test suite\n");
  return tokens + cycles == 0 && frames > 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::verif

int sc_main(int argc, char** argv) { return vireo::verif::Run(argc, argv); }
