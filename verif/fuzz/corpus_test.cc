// SPDX-License-Identifier: Apache-2.0
// A fuzzing target as an ordinary test, for any compiler: its seeds, random mutations of them (VIREO_FUZZ_INPUTS=N sets
// the number), and every regression input.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

void RunInput(const Bytes& input) { EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0); }

TEST(Corpus, SeedsPass) {
  const auto seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  EXPECT_TRUE(seeds == Seeds()) << "Seeds() must be deterministic";
  for (size_t i = 0; i < seeds.size(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    ASSERT_NO_FATAL_FAILURE(RunInput(seeds[i]));
  }
}

TEST(Corpus, MutatedSeedsPass) {
  auto random = MakeRandom("fuzz");
  const auto seeds = Seeds();
  uint64_t inputs = VIREO_FUZZ_CHANGES;
  if (const char* text = std::getenv("VIREO_FUZZ_INPUTS"); text != nullptr) {
    inputs = std::strtoull(text, nullptr, 10);
    ASSERT_NE(inputs, 0U) << "VIREO_FUZZ_INPUTS must be a number from 1";
  }
  const std::clock_t begin = std::clock();
  ASSERT_NO_FATAL_FAILURE(RunInput({}));
  for (uint64_t i = 0; i < inputs; ++i) {
    Bytes input = seeds[UniformBelow(random, seeds.size())];
    if (input.empty()) continue;
    if (UniformBelow(random, 4) == 0) input.resize(UniformBelow(random, input.size()));
    for (uint64_t changes = UniformBelow(random, 4); changes != 0 && !input.empty(); --changes) {
      input[UniformBelow(random, input.size())] = static_cast<uint8_t>(random() >> 32);
    }
    SCOPED_TRACE("change " + std::to_string(i));
    RunInput(input);
    if (HasFailure()) {
      std::string text;
      for (const uint8_t byte : input) text += fmt::format("{:02x}", byte);
      ADD_FAILURE() << "with the input " << text;
      return;
    }
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print("{} inputs passed, {:.1f} s of CPU\n", inputs, seconds);
}

TEST(Corpus, RegressionInputsPass) {
  const std::filesystem::path folder = VIREO_FUZZ_REGRESS;
  if (!std::filesystem::exists(folder)) return;  // no regression inputs
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    SCOPED_TRACE(entry.path().string());
    ASSERT_TRUE(file);
    RunInput(Bytes(std::istreambuf_iterator<char>(file), {}));
  }
}

}  // namespace
}  // namespace vireo::sim
