// SPDX-License-Identifier: Apache-2.0
// Random traffic between two hosts: on the model, on the RTL, and on both in lockstep, where every event must be in the
// same cycle. VIREO_RANDOM_ROUNDS=N runs N times as long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/cosim/every_device.h"
#include "verif/cosim/random_traffic.h"

namespace vireo::sim {
namespace {

uint64_t Rounds() {
  const char* text = std::getenv("VIREO_RANDOM_ROUNDS");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

class Random : public testing::TestWithParam<EveryDeviceAndRing> {};

TEST_P(Random, RandomTrafficArrivesIntactWithExpectedCompletions) {
  const auto& [device, config, packed] = GetParam();
  // The same traffic for every device.
  auto random = MakeRandom(fmt::format("random.{}", config->name));
  const uint64_t rounds = Rounds();
  ASSERT_NE(rounds, 0U) << "VIREO_RANDOM_ROUNDS is a number from 1";
  TrafficStatistics last;
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const PcieParameters& pcie = kPciePresets.at(UniformBelow(random, kPciePresets.size()));
    auto built = RdmaSystem::Build({.device = device,
                                    .config = config,
                                    .pcie_preset = pcie.name,
                                    .driver = {.wanted = packed ? host::DefaultFeatures() : SplitRings()}});
    ASSERT_NE(built.system, nullptr) << built.error;
    {
      RandomTraffic traffic(*built.system, *config, random);
      // About as long on the wire: a slow link carries less per cycle.
      if (!HasFailure()) traffic.Run(config->link_mbps >= 10'000 ? 250'000 : 40'000, 250);
      last = traffic.statistics();
    }
    EXPECT_TRUE(built.system->topology().RunUntilQuiet(built.system->scheduler().now() +
                                                       1'000'000'000 * kPicosecondsPerNanosecond));
    EXPECT_EQ(built.system->Violations(), "");
    if (HasFailure()) FAIL() << device << ", " << config->name << ", " << pcie.name;
    RecordProperty(fmt::format("round{}", round), last.Text());
    if (std::getenv("VIREO_RANDOM_ROUNDS") != nullptr) {
      fmt::print("{} {} {}: {}; {} us\n", device, config->name, pcie.name, last.Text(),
                 built.system->scheduler().now() / kPicosecondsPerNanosecond / 1000);
    }
  }
}

VIREO_ON_EVERY_DEVICE(Random);

}  // namespace
}  // namespace vireo::sim
