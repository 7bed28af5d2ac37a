// SPDX-License-Identifier: Apache-2.0
// `./vireo decode`: prints each frame of a capture as a line, with two verdicts: whether its ICRC is right, and whether
// its decoded fields encode to the same bytes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/replay/frame_text.h"

namespace vireo::sim {
namespace {

struct Counts {
  uint64_t frames = 0, roce = 0, foreign = 0, failed = 0;
};

void DecodeFrame(const Frame& frame, uint64_t start_ns, bool quiet, Counts& counts) {
  ++counts.frames;
  const ParsedFrame parsed = ParseRoceFrame(frame.bytes);
  // Captures of several interfaces can step back in time.
  const double seconds = (static_cast<double>(frame.time_ns) - static_cast<double>(start_ns)) / 1e9;
  std::string line;
  bool failed = false;
  switch (parsed.kind) {
    case ParsedFrame::Kind::kForeign:
      ++counts.foreign;
      line = fmt::format("skipped: {} ({} bytes)", parsed.what, frame.bytes.size());
      break;
    case ParsedFrame::Kind::kMalformed:
      failed = true;
      line = fmt::format("MALFORMED: {}", parsed.what);
      break;
    case ParsedFrame::Kind::kRoce: {
      ++counts.roce;
      const bool is_soft_roce_flush = IsSoftRoceFlush(parsed.frame);
      const bool icrc = IsIcrcRight(parsed.frame) || is_soft_roce_flush;
      const bool encodes = Encode(parsed.frame, is_soft_roce_flush) == frame.bytes;
      failed = !icrc || !encodes;
      // With a wrong ICRC the re-encoded frame differs, too: report only the ICRC.
      const char* verdict = !parsed.frame.ip_options.empty() ? "icrc UNKNOWN (IPv4 options)"
                            : !icrc                          ? "icrc WRONG"
                            : is_soft_roce_flush && encodes  ? "icrc of Linux' FLUSH, re-encodes"
                            : encodes                        ? "icrc ok, re-encodes"
                                                             : "icrc ok, RE-ENCODES DIFFERENTLY";
      line = fmt::format("{}{}  [{}]", FrameText(parsed.frame), parsed.frame.info().valid ? "" : " (unknown opcode)",
                         verdict);
    }
  }
  if (failed) ++counts.failed;
  if (!quiet || failed) fmt::print("{:>6} {:>12.6f}  {}\n", counts.frames, seconds, line);
}

int Run(int argc, char** argv) {
  CLI::App app(
      "Prints each frame of the captures as a line: number, time in seconds, headers, whether its ICRC is right, and\n"
      "whether its fields encode to the same bytes. Frames that are not RoCEv2 are listed and skipped.\n"
      "Example: vireo decode --quiet verif/vectors/*.pcap\n"
      "Exit code: 0; 1 if a RoCEv2 frame is malformed, has a wrong ICRC or encodes differently; 2 if a file cannot be "
      "read.");
  app.name("vireo decode");
  std::vector<std::string> files;
  bool quiet = false;
  app.add_option("captures", files, "Ethernet captures (pcap, pcapng)")->required();
  app.add_flag("--quiet", quiet, "print only failed frames and the counts");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  uint64_t failed = 0;
  for (const std::string& file : files) {
    const Capture capture = ReadPcap(file);
    Counts counts;
    fmt::print("{}\n", file);
    // Print the frames before a read error.
    for (const Frame& frame : capture.frames) DecodeFrame(frame, capture.frames.front().time_ns, quiet, counts);
    if (!capture.error.empty()) {
      std::fflush(stdout);
      fmt::print(stderr, "vireo decode: {}\n", capture.error);
      return 2;
    }
    fmt::print("{} frames: {} RoCEv2, {} not RoCEv2 (skipped), {} failed\n", counts.frames, counts.roce, counts.foreign,
               counts.failed);
    failed += counts.failed;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::sim

int main(int argc, char** argv) {
  try {
    return vireo::sim::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vireo decode: %s\n", error.what());
    return 2;
  }
}
