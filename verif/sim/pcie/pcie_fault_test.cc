// SPDX-License-Identifier: Apache-2.0
// Syntax of the scripts for DMA reads and writes. pcie_link_test.cc tests the effect of each fault.
#include "sim/pcie/pcie_fault.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace vireo::sim {
namespace {

using Kind = DmaFault::Kind;

const std::map<std::string, AddressRange, std::less<>> kPlaces = {{"source", {0x1000, 0x200}}};

TEST(PcieScript, ParsesEveryKeyword) {
  const PcieScript script = ParsePcieScript(
      "# a comment\nunsupported nth=3 count=2 on=source; abort 64\nmissing 0x40 rate=0.5;poison;split; delay "
      "500;spread 7; refuse on=source",
      kPlaces);
  ASSERT_EQ(script.error, "");
  ASSERT_EQ(script.faults.size(), 8u);
  EXPECT_EQ(script.faults[0].kind, Kind::kUnsupportedRequest);
  EXPECT_EQ(script.faults[0].nth, 3u);
  EXPECT_EQ(script.faults[0].count, 2u);
  EXPECT_EQ(script.faults[0].address, 0x1000u);
  EXPECT_EQ(script.faults[0].bytes, 0x200u);
  EXPECT_EQ(script.faults[1].kind, Kind::kCompleterAbort);
  EXPECT_EQ(script.faults[1].after_bytes, 64u);
  EXPECT_EQ(script.faults[1].bytes, ~uint64_t{0});
  EXPECT_EQ(script.faults[2].kind, Kind::kTimeout);
  EXPECT_EQ(script.faults[2].after_bytes, 64u);
  EXPECT_EQ(script.faults[2].per_million, 500'000u);
  EXPECT_EQ(script.faults[3].kind, Kind::kPoisoned);
  EXPECT_EQ(script.faults[4].kind, Kind::kSplit);
  EXPECT_EQ(script.faults[5].kind, Kind::kDelay);
  EXPECT_EQ(script.faults[5].delay_ns, 500u);
  EXPECT_EQ(script.faults[6].kind, Kind::kSpread);
  EXPECT_EQ(script.faults[6].delay_ns, 7u);
  EXPECT_EQ(script.faults[7].kind, Kind::kRefused);
  EXPECT_EQ(script.faults[7].address, 0x1000u);
}

TEST(PcieScript, RejectsInvalidTextWithItsLine) {
  const std::pair<const char*, const char*> rows[] = {
      {"split\nlate", "fault script, line 2: 'late' is not a fault"},
      {"delay", "fault script, line 1: delay needs an amount"},
      {"spread on=source", "fault script, line 1: spread needs an amount"},
      {"split 3", "fault script, line 1: split has no amount"},
      {"poison 3", "fault script, line 1: poison has no amount"},
      {"refuse 3", "fault script, line 1: refuse has no amount"},
      {"abort 1 2", "fault script, line 1: two amounts"},
      {"delay 0x100000000", "fault script, line 1: '0x100000000': more than 32 bits"},
      {"abort on=ring", "fault script, line 1: 'on=ring': unknown place"},
      {"abort nth=0", "fault script, line 1: 'nth=0': counts from 1"},
      {"abort nth=x", "fault script, line 1: 'nth=x': not a number"},
      {"abort count=2", "fault script, line 1: count needs nth"},
      {"abort rate=2", "fault script, line 1: 'rate=2': a rate is 0 to 1 with up to six decimals"},
      {"abort psn=3", "fault script, line 1: 'psn=3': unknown condition"},
      {"abort soon", "fault script, line 1: 'soon' is neither a number nor a condition"},
  };
  for (const auto& [text, error] : rows) {
    EXPECT_EQ(ParsePcieScript(text, kPlaces).error, error);
    EXPECT_TRUE(ParsePcieScript(text, kPlaces).faults.empty());
  }
}

}  // namespace
}  // namespace vireo::sim
