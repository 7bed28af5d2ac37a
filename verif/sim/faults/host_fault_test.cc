// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/host_fault.h"

#include <gtest/gtest.h>

#include <utility>

namespace vireo::sim {
namespace {

TEST(HostScript, ParsesEveryWord) {
  HostScript script = ParseHostScript("doorbells 0x10 after=4  # many");
  ASSERT_EQ(script.error, "");
  EXPECT_EQ(script.fault.kind, HostFault::Kind::kDoorbells);
  EXPECT_EQ(script.fault.amount, 16u);
  EXPECT_EQ(script.fault.after, 4u);
  script = ParseHostScript("function_reset");
  ASSERT_EQ(script.error, "");
  EXPECT_EQ(script.fault.kind, HostFault::Kind::kFunctionReset);
  EXPECT_EQ(script.fault.after, 0u);
}

TEST(HostScript, RejectsInvalidScripts) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "fault script: there is no rule"},
      {"nap", "fault script, line 1: 'nap' is not a fault"},
      {"loop\nloop", "fault script, line 2: a host script has one rule"},
      {"loop 3", "fault script, line 1: loop has no amount"},
      {"no_poll", "fault script, line 1: no_poll needs an amount"},
      {"no_poll 0", "fault script, line 1: '0' is neither a number from 1 nor a condition"},
      {"no_poll 1 2", "fault script, line 1: there are two amounts"},
      {"loop after=x", "fault script, line 1: 'after=x': not a number"},
      {"loop nth=1", "fault script, line 1: 'nth=1': there is no such condition"},
  };
  for (const auto& [text, error] : rows) EXPECT_EQ(ParseHostScript(text).error, error) << text;
}

}  // namespace
}  // namespace vireo::sim
