// SPDX-License-Identifier: Apache-2.0
// The catalogue is complete and its page is current; every fault has its outcome on the model, a sample also on RTL and
// in lockstep, equal in every cycle; and the campaign reports deviations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/seed.h"
#include "sim/faults/campaign.h"
#include "sim/faults/catalogue.h"
#include "sim/faults/host_fault.h"
#include "sim/faults/traffic.h"
#include "sim/pcie/pcie_fault.h"
#include "sim/wire/fault.h"

namespace vireo::sim {
namespace {

TEST(FaultCatalogue, CoversEveryKindWithUniqueNames) {
  const std::map<std::string, AddressRange, std::less<>> places = {
      {"source", {}},  {"read_source", {}},  {"ring", {}}, {"receives", {}},
      {"targets", {}}, {"read_targets", {}}, {"cqes", {}}, {"used", {}}};
  std::set<std::string_view> names;
  std::set<FaultKind> wire;
  std::set<DmaFault::Kind> pcie;
  std::set<HostFault::Kind> host;
  for (const Fault& fault : Faults()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_EQ(FindFault(fault.name), &fault);
    EXPECT_FALSE(fault.does.empty() || fault.why.empty()) << fault.name;
    EXPECT_TRUE(std::ranges::any_of(fault.outcomes, [](const auto& outcome) { return outcome.has_value(); }));
    // RC never loses, repeats or reorders.
    if (const auto& rc = fault.outcomes[static_cast<size_t>(Transport::kRc)]) {
      EXPECT_TRUE(rc->lost == 0 && rc->repeated == 0 && !rc->reordered) << fault.name;
    }
    switch (fault.place) {
      case FaultPlace::kWire: {
        const FaultScript script = ParseFaultScript(fault.script);
        EXPECT_EQ(script.error, "") << fault.name;
        for (const FaultRule& rule : script.rules) wire.insert(rule.kind);
        break;
      }
      case FaultPlace::kPcie: {
        const PcieScript script = ParsePcieScript(fault.script, places);
        EXPECT_EQ(script.error, "") << fault.name;
        for (const DmaFault& one : script.faults) pcie.insert(one.kind);
        break;
      }
      case FaultPlace::kHost: {
        const HostScript script = ParseHostScript(fault.script);
        EXPECT_EQ(script.error, "") << fault.name;
        host.insert(script.fault.kind);
        break;
      }
    }
  }
  EXPECT_GE(names.size(), 25u);
  EXPECT_EQ(wire.size(), static_cast<size_t>(FaultKind::kLinkDown) + 1);
  EXPECT_EQ(pcie.size(), static_cast<size_t>(DmaFault::Kind::kRefused) + 1);
  EXPECT_EQ(host.size(), static_cast<size_t>(HostFault::Kind::kFlip) + 1);
  EXPECT_EQ(FindFault("cosmic_ray"), nullptr);
}

TEST(FaultCatalogue, MatchesDocumentation) {
  std::stringstream page;
  page << std::ifstream(VIREO_FAULTS_PAGE).rdbuf();
  EXPECT_NE(page.str().find(CatalogueTable()), std::string::npos)
      << "the table of docs/faults.md is not current; replace it with the output of ./vireo faults --markdown";
}

using FaultAndTransport = std::tuple<std::string, Transport>;

std::vector<FaultAndTransport> All() {
  std::vector<FaultAndTransport> all;
  for (const Fault& fault : Faults()) {
    for (size_t i = 0; i < kTransportNames.size(); ++i) {
      if (fault.outcomes.at(i)) all.emplace_back(fault.name, static_cast<Transport>(i));
    }
  }
  return all;
}
std::string NameOf(const testing::TestParamInfo<FaultAndTransport>& info) {
  return std::get<0>(info.param) + "_" + kTransportNames.at(static_cast<size_t>(std::get<1>(info.param)));
}

CaseResult RunAsDefined(const FaultAndTransport& which, const CaseOptions& options) {
  CaseResult result = RunCase(*FindFault(std::get<0>(which)), std::get<1>(which), options);
  EXPECT_EQ(result.violations, std::vector<std::string>{}) << options.device;
  EXPECT_EQ(result.lost, 0u);
  EXPECT_EQ(result.hung, 0u);
  EXPECT_GT(result.recovered, 0u);
  return result;
}

class FaultOutcome : public testing::TestWithParam<FaultAndTransport> {};
TEST_P(FaultOutcome, MatchesCatalogue) {
  for (const spec::Config* config : {&spec::kNic1, &spec::kNic100}) {
    SCOPED_TRACE(config->name);
    RunAsDefined(GetParam(), {.config = config});
  }
}
INSTANTIATE_TEST_SUITE_P(Model, FaultOutcome, testing::ValuesIn(All()), NameOf);

class FaultOutcomeAcrossDevices : public testing::TestWithParam<FaultAndTransport> {};
TEST_P(FaultOutcomeAcrossDevices, IsEqual) {
  const CaseResult model = RunAsDefined(GetParam(), {.device = "model"});
  EXPECT_TRUE(model.IsSameAs(RunAsDefined(GetParam(), {.device = "rtl"})));
  EXPECT_TRUE(model.IsSameAs(RunAsDefined(GetParam(), {.device = "lockstep"})));
}
INSTANTIATE_TEST_SUITE_P(Sample, FaultOutcomeAcrossDevices,
                         testing::Values(FaultAndTransport{"psn_gap", Transport::kRc},
                                         FaultAndTransport{"missing_completion", Transport::kRc},
                                         FaultAndTransport{"refused_payload_write", Transport::kRc},
                                         FaultAndTransport{"refused_payload_write", Transport::kUd},
                                         FaultAndTransport{"refused_read_response", Transport::kRc},
                                         FaultAndTransport{"refused_cqe_write", Transport::kRc},
                                         FaultAndTransport{"refused_used_write", Transport::kUd},
                                         FaultAndTransport{"refused_used_write", Transport::kNet},
                                         FaultAndTransport{"refused_net_write", Transport::kNet},
                                         FaultAndTransport{"reordered_completions", Transport::kUd},
                                         FaultAndTransport{"looping_chain", Transport::kUc}),
                         NameOf);

// --- The campaign reports deviations

bool HasViolation(const CaseResult& result, const std::string& what) {
  const bool found = std::ranges::any_of(
      result.violations, [&](const std::string& violation) { return violation.find(what) != std::string::npos; });
  if (!found)
    ADD_FAILURE() << "'" << what << "' is not among\n" << fmt::format("{}", fmt::join(result.violations, "\n"));
  return found;
}
Fault With(const char* name, Transport transport, const Outcome& outcome) {
  Fault fault = *FindFault(name);
  fault.outcomes.at(static_cast<size_t>(transport)) = outcome;
  return fault;
}

TEST(FaultCampaign, ReportsLostMessages) {
  const CaseResult result = RunCase(With("drop", Transport::kUc, {}), Transport::kUc, {});
  HasViolation(result, "messages lost, at most 0 allowed");
  EXPECT_GT(result.lost, 0u);
  EXPECT_EQ(result.recovered + result.lost + result.hung, 48u);
}

TEST(FaultCampaign, ReportsRepeatedAndReorderedMessages) {
  HasViolation(RunCase(With("duplicate", Transport::kUd, {}), Transport::kUd, {}),
               "messages repeated, at most 0 allowed");
  HasViolation(RunCase(With("reorder", Transport::kUd, {}), Transport::kUd, {}), "messages arrived out of order");
}

TEST(FaultCampaign, ReportsUnexpectedAndMissingReports) {
  HasViolation(RunCase(With("looping_chain", Transport::kRc, {}), Transport::kRc, {}), "', expected ''");
  const Outcome ends{.reports = "near event vq_err bad_wqe"};
  HasViolation(RunCase(With("drop", Transport::kRc, ends), Transport::kRc, {}), "reports are ''");
}

TEST(FaultCampaign, ReportsUndetectedAndUninjectedFaults) {
  Fault fault = *FindFault("drop");
  fault.counters = "icrc";
  HasViolation(RunCase(fault, Transport::kRc, {}), "not detected by any of the counters: icrc");
  fault.script = "drop nth=100000";
  HasViolation(RunCase(fault, Transport::kRc, {}), "the fault was never injected");
  fault.script = "drop twice";
  HasViolation(RunCase(fault, Transport::kRc, {}), "'twice' is neither a number nor a condition");
  fault = *FindFault("queue_reset");
  fault.script = "queue_reset after=1000";
  HasViolation(RunCase(fault, Transport::kRc, {}), "the host fault was never injected");
}

TEST(FaultCampaign, ReportsHungMessages) {
  auto built = RdmaSystem::Build({.config = &spec::kNic1});
  ASSERT_NE(built.system, nullptr) << built.error;
  auto random = MakeRandom("faults.hang");
  auto made = Traffic::Make(*built.system, {.messages = 5}, random);
  ASSERT_NE(made.traffic, nullptr) << made.error;
  made.traffic->Post(0);  // simulated time does not advance
  std::vector<std::string> violations;
  const Account account = made.traffic->Check({}, 0, violations);
  EXPECT_EQ(account.hung, 10u);
  EXPECT_EQ(account.recovered, 0u);
  EXPECT_EQ(violations.size(), 10u);
  EXPECT_FALSE(made.traffic->IsDone());
}

}  // namespace
}  // namespace vireo::sim
