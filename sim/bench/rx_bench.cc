// SPDX-License-Identifier: Apache-2.0
// Speed of the receive parser, model and Verilated RTL, in packets and cycles per second of wall time. Compare only
// rows of one run: machines differ and are noisy.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "model/rdma/rx_parser.h"
#include "sim/common/pcap.h"
#include "sim/device/rx_parser_rtl.h"

namespace vireo::sim {
namespace {

// Frames of one recorded capture. `kSmall`: SENDs, READs and ACKs of all sizes; `kLarge`: packets of 4 KiB.
constexpr const char* kSmall = VIREO_VECTORS_DIR "/v_pipelined.pcap";
constexpr const char* kLarge = VIREO_VECTORS_DIR "/v_allops_mtu4096.pcap";

std::vector<Frame> Load(const char* path) {
  Capture capture = ReadPcap(path);
  if (!capture.error.empty()) {
    std::fprintf(stderr, "vireo bench: %s\n", capture.error.c_str());
    std::exit(2);
  }
  return std::move(capture.frames);
}

void Model(benchmark::State& state, const char* path) {
  const auto frames = Load(path);
  size_t bytes = 0;
  for (const auto& frame : frames) bytes += frame.bytes.size();
  for (auto _ : state) {
    for (const auto& frame : frames) benchmark::DoNotOptimize(model::RxParser::Parse(frame.bytes, false));
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["packets_per_s"] =
      benchmark::Counter(rounds * static_cast<double>(frames.size()), benchmark::Counter::kIsRate);
  state.counters["wire_bytes_per_s"] =
      benchmark::Counter(rounds * static_cast<double>(bytes), benchmark::Counter::kIsRate);
}

void Rtl(benchmark::State& state, const char* path, unsigned data_bits) {
  const auto frames = Load(path);
  std::mt19937_64 random(1);
  const auto rtl = RxParserRtl::Make(data_bits, random);
  for (auto _ : state) {
    for (const auto& frame : frames) rtl->Send(frame.bytes, false, [] { return 0u; });
    benchmark::DoNotOptimize(rtl->TakeTokens());
  }
  const auto packets = static_cast<double>(state.iterations()) * static_cast<double>(frames.size());
  state.counters["packets_per_s"] = benchmark::Counter(packets, benchmark::Counter::kIsRate);
  state.counters["sim_cycles_per_s"] =
      benchmark::Counter(static_cast<double>(rtl->cycle()), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(Model, small, kSmall);
BENCHMARK_CAPTURE(Model, mtu4096, kLarge);
BENCHMARK_CAPTURE(Rtl, nic100_small, kSmall, 512);
BENCHMARK_CAPTURE(Rtl, nic100_mtu4096, kLarge, 512);
BENCHMARK_CAPTURE(Rtl, nic1_small, kSmall, 64);
BENCHMARK_CAPTURE(Rtl, nic1_mtu4096, kLarge, 64);

}  // namespace
}  // namespace vireo::sim

BENCHMARK_MAIN();
