// SPDX-License-Identifier: Apache-2.0
// `./vireo replay`: replays captures against our NIC as responder or requester, or into its receive parser.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/device/devices.h"
#include "sim/device/nic_devices.h"
#include "sim/replay/parser_replay.h"
#include "sim/replay/replay.h"
#include "sim/time/systemc.h"

namespace vireo::sim {
namespace {

struct Options {
  std::string role = "parser";
  std::vector<std::string> files;
  std::string config;
  bool list = false;
  ReplayOptions replay;
};

// -1: continue; else an exit code.
int ParseCommandLine(int argc, char** argv, Options& options) {
  CLI::App app(
      "Replays captures (pcap, pcapng) of RoCEv2 traffic against Vireo. Queue pairs, keys and memory are inferred from "
      "the capture.\n"
      "  responder  feeds the recorded requests to our NIC and compares its responses\n"
      "  requester  posts the recorded work on our NIC and compares its requests\n"
      "  parser     feeds every frame to the receive parser, model and RTL in lockstep\n"
      "Allowed differences are counted (docs/golden.md explains them); every other one is printed.\n"
      "Example: vireo replay --role responder --device rtl verif/vectors/rc_write.pcap\n"
      "Exit code: 0; 1 if there is a difference that is not allowed; 2 if a file cannot be read or replayed.");
  app.name("vireo replay");
  app.add_option("captures", options.files,
                 "Ethernet captures (default: verif/vectors/*.pcap, recorded from Linux Soft-RoCE)");
  app.add_option("--role", options.role, "responder, requester or parser (default: parser)")
      ->check(CLI::IsMember({"responder", "requester", "parser"}));
  app.add_option("--device", options.replay.device, "model, rtl or lockstep (default: model; parser: always lockstep)")
      ->check(CLI::IsMember(DeviceNames()));
  app.add_option("--config", options.config, "nic100 or nic1 (default: nic100; parser: both)")
      ->check(CLI::IsMember(ConfigNames()));
  app.add_option("--capture", options.replay.capture_path,
                 "write the frames of the replay to this pcapng file; needs one capture");
  app.add_flag("--frames", options.list, "parser: print every parsed frame");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.files.empty()) options.files = ListCaptures(VIREO_VECTORS_DIR);
  if (!options.replay.capture_path.empty() && (options.files.size() != 1 || options.role == "parser")) {
    fmt::print(stderr, "vireo replay: --capture needs exactly one capture and --role responder or requester\n");
    return 2;
  }
  return -1;
}

void Print(const Conversation& conversation, const ReplayResult& result) {
  fmt::print("  {} flows, {} frames fed, {} sent, {} compared, {} messages checked\n", conversation.flows.size(),
             result.fed, result.sent, result.compared, result.messages);
  for (const auto& [what, count] : conversation.skipped) fmt::print("  skipped: {} frames: {}\n", count, what);
  for (const Flow& flow : conversation.flows) {
    if (!flow.hole) continue;
    fmt::print("  note: queue pair {:#x}: PSN {} is missing in the capture: later packets are not replayed\n",
               flow.responder_qpn, *flow.hole % kPsnModulus);
  }
  for (const std::string& note : result.notes) fmt::print("  note: {}\n", note);
  for (const auto& [id, count] : result.differences.allowed()) {
    fmt::print("  allowed: {} {}\n", count, AllowedDifferences()[static_cast<size_t>(id)].name);
  }
  for (const std::string& line : result.differences.lines()) fmt::print("  DIFFERENCE: {}\n", line);
}

int Run(int argc, char** argv) {
  Options options;
  if (const int code = ParseCommandLine(argc, argv, options); code >= 0) return code;
  std::vector<const spec::Config*> configs;
  for (const auto* known : spec::kConfigs) {
    if (options.config.empty() || options.config == known->name) configs.push_back(known);
  }
  if (options.role == "parser") return ReplayIntoParser({options.files, configs, options.list});
  options.replay.config = configs.front();
  size_t differences = 0;
  for (const std::string& file : options.files) {
    const Capture capture = ReadPcap(file);
    if (!capture.error.empty()) {
      fmt::print(stderr, "vireo replay: {}\n", capture.error);
      return 2;
    }
    fmt::print("{} as {} on {}\n", file, options.role, options.replay.device);
    std::fflush(stdout);
    const Conversation conversation = ReadConversation(capture);
    const ReplayResult result = options.role == "responder" ? ReplayResponder(conversation, options.replay)
                                                            : ReplayRequester(conversation, options.replay);
    Print(conversation, result);
    if (!result.error.empty()) {
      std::fflush(stdout);
      fmt::print(stderr, "vireo replay: {}: {}\n", file, result.error);
      return 2;
    }
    differences += result.differences.lines().size();
  }
  fmt::print("{} captures, {} differences not allowed\n", options.files.size(), differences);
  return differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::sim

int sc_main(int argc, char** argv) { return vireo::sim::Run(argc, argv); }
