// SPDX-License-Identifier: Apache-2.0
// Replays captures into the receive parser, model and Verilated RTL in lockstep, and prints the parsed frames.
#pragma once

#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct ParserReplayOptions {
  std::vector<std::string> files;            // pcap, pcapng
  std::vector<const spec::Config*> configs;  // one lockstep per configuration
  bool list = false;                         // print every parsed frame
};
// Runs the SystemC kernel: call once per process. Returns the exit code: 0; 1 if model and RTL differ or there was no
// frame; 2 if a file cannot be read.
int ReplayIntoParser(const ParserReplayOptions& options);

}  // namespace vireo::sim
