// SPDX-License-Identifier: Apache-2.0
// Replays captures into the receive parser, as model and as Verilated RTL in lockstep, and prints what the two saw.
#pragma once

#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct ParserReplayOptions {
  std::vector<std::string> files;            // pcap, pcapng
  std::vector<const spec::Config*> configs;  // one lockstep each
  bool list = false;                         // print every frame as the device sees it
};
// Runs SystemC's kernel: once per process. The program's exit code: 0; 1 if model and RTL differ or there was no frame;
// 2 if a file cannot be read.
int ReplayIntoParser(const ParserReplayOptions& options);

}  // namespace vireo::sim
