// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include <gtest/gtest.h>

#include "sim/report/report_table.h"

namespace vireo::sim {
namespace {

TEST(Durations, PercentilesNeverExceedMaximum) {
  Durations durations;
  EXPECT_EQ(durations.Percentile(0.5), 0U);
  for (Picoseconds i = 1; i <= 100; ++i) durations.Add(i * 1'000'000);
  EXPECT_EQ(durations.count(), 100U);
  EXPECT_EQ(durations.max(), 100'000'000U);
  EXPECT_DOUBLE_EQ(durations.mean(), 50'500'000.0);
  for (const auto& [share, exact] : {std::pair{0.5, 50e6}, {0.99, 99e6}, {0.01, 1e6}}) {
    const auto got = static_cast<double>(durations.Percentile(share));
    EXPECT_GE(got, exact);
    EXPECT_LE(got, exact * 65 / 64);
  }
  EXPECT_EQ(durations.Percentile(1), 100'000'000U);
}

TEST(Durations, ClassesCoverSmallAndLarge) {
  for (const Picoseconds value :
       {Picoseconds{0}, Picoseconds{1}, Picoseconds{63}, Picoseconds{64}, Picoseconds{65}, Picoseconds{127},
        Picoseconds{128}, Picoseconds{1} << 40, (Picoseconds{1} << 41) - 1}) {
    Durations durations;
    durations.Add(value);
    durations.Add(value * 2 + 1);
    EXPECT_GE(durations.Percentile(0.5), value);
    EXPECT_LE(durations.Percentile(0.5), value + value / 64);
  }
}

TEST(Report, EmptyReportIsComplete) {
  MessageTracker tracker;
  const Report report(tracker, {.device = "model", .config = "nic100", .preset = "gen3x16", .seed = "1", .nics = {}});
  const auto json = report.ToJson(5'000'000);
  EXPECT_EQ(json.at("simulated_ns"), 5000);
  EXPECT_EQ(json.at("totals").at("messages"), 0);
  EXPECT_TRUE(json.at("operations").empty());
  EXPECT_TRUE(json.at("messages").empty());
  EXPECT_NE(ReportTable(json).find("0 messages"), std::string::npos);
  EXPECT_EQ(ReportSummary(json), "  on the wire: 0 messages, 0 bytes, 0 packets, 0 retransmitted, 0 lost\n");
}

TEST(Report, TableOfInvalidReportIsEmpty) {
  EXPECT_EQ(ReportTable(nlohmann::ordered_json::object()), "");
  EXPECT_EQ(ReportSummary(nlohmann::ordered_json::object()), "");
  EXPECT_EQ(ReportTable({{"totals", 3}}), "");
}

}  // namespace
}  // namespace vireo::sim
