// SPDX-License-Identifier: Apache-2.0
// Soak test: mixed traffic of unmodified programs, some of which are killed; the simulator must not grow.
// VIREO_SOAK_SECONDS sets the duration; `./vireo soak` runs this with the address sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulator/simulator_process.h"
#include "verif/host/ibverbs/program_pair.h"

namespace vireo::sim {
namespace {

constexpr ProgramRow kRows[] = {
    {"write_bw", VIREO_TCP("ib_write_bw -F -b -q 4 -n 50 -s 16384"), "Number of qps   : 4"},
    {"rc_pingpong", VIREO_TCP("ibv_rc_pingpong -g 1 -e -c -n 100"), "100 iters in"},
    {"send_bw of UD", VIREO_TCP("ib_send_bw -F -c UD -n 100 -s 1024"), "Connection type : UD"},
    {"read_bw", VIREO_TCP("ib_read_bw -F -q 2 -n 50 -s 65536"), "Number of qps   : 2"},
    {"rping", ProgramRow::Meet::kRdmaCm, "rping -s -a 10.0.0.1 -p $PORT -C 10 -V",
     "rping -c -a 10.0.0.1 -p $PORT -C 10 -V -v", "ping data: rdma-ping-9:"},
    {"send_lat", VIREO_TCP("ib_send_lat -F -n 100 -s 64"), " 64      100 "},
    {"send_bw of UC", VIREO_TCP("ib_send_bw -F -c UC -n 100 -s 8192"), "Connection type : UC"},
    {"ud_pingpong", VIREO_TCP("ibv_ud_pingpong -g 1 -n 100 -s 1000"), "100 iters in"},
    {"write_lat", VIREO_TCP("ib_write_lat -F -n 20 -s 256"), " 256     20 "},
    {"read_bw by events", VIREO_TCP("ib_read_bw -F -e -q 4 -n 200 -s 256"), "Test with events."},
    {"ucmatose", VIREO_CM_S("ucmatose -c 4 -C 5", "ucmatose -c 4 -C 5"), "return status 0"},
    {"send_bw by events", VIREO_TCP("ib_send_bw -F -e -b -q 2 -n 100 -s 512"), "Test with events."},
    {"uc_pingpong", VIREO_TCP("ibv_uc_pingpong -g 1 -n 50"), "50 iters in"},
    {"read_lat by events", VIREO_TCP("ib_read_lat -F -e -n 20 -s 64"), "Test with events."},
    {"rstream", VIREO_CM_S("rstream -S 1024 -I 20 -C 5", "rstream -S 1024 -I 20 -C 5"), "custom    1k "},
    {"write_bw, new calls", VIREO_TCP("ib_write_bw -F -n 50 -s 4096"), "ibv_wr* API     : ON", "m", true},
};
constexpr size_t kAtOnce = 3;
constexpr size_t kEveryKill = 4;  // rounds
// Warm-up until every row has run: peak concurrency and the allocator's tables are reached then.
constexpr size_t kWarmRounds = (std::size(kRows) + kAtOnce - 1) / kAtOnce + 2;
constexpr size_t kGrowthKib = 8192;

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Count {
  size_t runs = 0;
  double seconds = 0;
};

TEST(Soak, MixedTrafficDoesNotLeak) {
  const char* const text = std::getenv("VIREO_SOAK_SECONDS");
  const double length = text == nullptr ? 5 : std::strtod(text, nullptr);
  constexpr double kLooks = 20;
  const double interval = std::max(length / kLooks, 2.0);
  // With the address sanitizer: a small quarantine, or its size would dominate the measurement.
  setenv("ASAN_OPTIONS", "quarantine_size_mb=4", 0);
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready()) << simulator.error();
  const size_t descriptors = FootprintOf(simulator.pid()).descriptors;
  std::array<Count, std::size(kRows)> counts;
  Footprint before;
  size_t rounds = 0, killed = 0;
  double next_look = 0;
  const auto begin = Clock::now();
  const auto look = [&](const Footprint& footprint) {
    std::printf("%7.0f %8zu %10zu %12zu %8zu\n", Since(begin), rounds, footprint.resident_kib, footprint.descriptors,
                footprint.threads);
    static_cast<void>(std::fflush(stdout));
  };
  std::printf("seconds   rounds resident KiB descriptors threads   (of the simulator, between rounds)\n");
  while ((rounds < kWarmRounds + 4 || Since(begin) < length) && !HasFailure()) {
    const auto round_begin = Clock::now();
    std::vector<std::unique_ptr<ProgramPair>> pairs;
    for (size_t i = 0; i < kAtOnce; ++i) {
      const size_t row = (rounds * kAtOnce + i) % std::size(kRows);
      const bool by_agent = (rounds * kAtOnce + i) % 7 == 6;
      pairs.push_back(std::make_unique<ProgramPair>(kRows[row], simulator,
                                                    by_agent ? Environment{{"VIREO_DMA", "agent"}} : Environment{}));
    }
    if (rounds % kEveryKill == kEveryKill - 1) {
      ExpectPeerIsNotified(simulator, "ib_write_bw -F -b -q 4 -u 10 -s 4096", rounds / kEveryKill % 2 == 0);
      ++killed;
    }
    for (size_t i = 0; i < kAtOnce; ++i) {
      pairs[i]->ExpectGoodEnd();
      Count& count = counts.at((rounds * kAtOnce + i) % std::size(kRows));
      ++count.runs;
      count.seconds += Since(round_begin);
    }
    pairs.clear();
    ++rounds;
    const bool is_warm = rounds == kWarmRounds;
    if (!is_warm && Since(begin) < next_look) continue;
    const Footprint now = AwaitQuiet(simulator, descriptors);
    if (is_warm) before = now;
    look(now);
    next_look = Since(begin) + interval;
  }
  const Footprint after = FootprintOf(simulator.pid());
  std::printf("\n%-22s %6s %18s\n", "pairs of programs", "runs", "seconds, each");
  size_t programs = 2 * killed;
  for (size_t row = 0; row < std::size(kRows); ++row) {
    const Count& count = counts.at(row);
    programs += 2 * count.runs;
    std::printf("%-22s %6zu %18.2f\n", kRows[row].name, count.runs,
                count.runs == 0 ? 0.0 : count.seconds / static_cast<double>(count.runs));
  }
  std::printf("%-22s %6zu\n", "one of them killed", killed);
  std::printf("%zu programs in %.0f s; the simulator: %zu KiB after %zu rounds, %zu KiB after %zu\n", programs,
              Since(begin), before.resident_kib, kWarmRounds, after.resident_kib, rounds);
  if (HasFailure()) return;
  EXPECT_EQ(AwaitQuiet(simulator, descriptors).threads, before.threads);
  EXPECT_LE(after.resident_kib, before.resident_kib + kGrowthKib);
  EXPECT_EQ(simulator.Stop(), 0);
}

}  // namespace
}  // namespace vireo::sim
