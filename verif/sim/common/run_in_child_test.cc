// SPDX-License-Identifier: Apache-2.0
// All exit paths of a child.
#include "sim/common/run_in_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

TEST(RunInChild, ReturnsLongAndEmptyReplies) {
  const auto empty = RunInChild([]() -> std::optional<std::string> { return ""; });
  EXPECT_TRUE(empty.ok) << empty.error;
  EXPECT_EQ(empty.reply, "");
  const std::string text(1'000'000, 'x');  // more than a pipe holds
  const auto full = RunInChild([&]() -> std::optional<std::string> { return text; });
  EXPECT_TRUE(full.ok) << full.error;
  EXPECT_EQ(full.reply, text);
}

TEST(RunInChild, DoesNotChangeTheParent) {
  int value = 1;
  const auto child = RunInChild([&]() -> std::optional<std::string> {
    value = 2;
    return std::to_string(value);
  });
  EXPECT_EQ(child.reply, "2");
  EXPECT_EQ(value, 1);
}

TEST(RunInChild, ReportsHowAChildFailed) {
  EXPECT_EQ(RunInChild([]() -> std::optional<std::string> { return std::nullopt; }).error, "failed");
  EXPECT_EQ(RunInChild([]() -> std::optional<std::string> { _exit(3); }).error, "exit status 3");
  EXPECT_EQ(RunInChild([]() -> std::optional<std::string> { _exit(0); }).error, "exit status 0");
  EXPECT_EQ(RunInChild([]() -> std::optional<std::string> { std::abort(); }).error.substr(0, 8), "signal 6");
  const auto hanging = RunInChild(
      []() -> std::optional<std::string> {
        for (;;) pause();
      },
      {.seed = {}, .timeout_seconds = 1});
  EXPECT_FALSE(hanging.ok);
  EXPECT_EQ(hanging.error.substr(0, 9), "signal 14");
}

TEST(RunInChild, PassesTheSeedToTheChild) {
  const auto draw = [](uint64_t seed) {
    return RunInChild(
               []() -> std::optional<std::string> {
                 return std::to_string(Seed()) + " " + std::to_string(MakeRandom("a")());
               },
               {.seed = seed, .timeout_seconds = 10})
        .reply;
  };
  EXPECT_EQ(draw(7).substr(0, 2), "7 ");
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(RunInChild, RefusesASeedAfterTheParentDrewOne) {
  const auto nested = RunInChild([]() -> std::optional<std::string> {
    const auto child =
        RunInChild([]() -> std::optional<std::string> { return ""; }, {.seed = Seed() + 1, .timeout_seconds = 10});
    return child.error;
  });
  EXPECT_EQ(nested.reply, "the parent has already used its seed");
}

}  // namespace
}  // namespace vireo::sim
