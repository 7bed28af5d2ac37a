// SPDX-License-Identifier: Apache-2.0
// The tracker against independent counts of the same run: the latency breakdown of one WRITE, the counts of a traffic
// generator and of a fault injector.
#include "sim/report/message_tracker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#include "sim/bench/breakdown.h"
#include "sim/bench/rdma_workload.h"
#include "sim/report/report.h"
#include "sim/report/report_table.h"
#include "sim/report/timeline.h"
#include "verif/cosim/mixed_traffic.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

// Two hosts, tracked from before they are opened.
class Tracked : public testing::Test {
 protected:
  void Build(RdmaSystemOptions options = {}, size_t keep = 10'000) {
    tracker_ = std::make_unique<MessageTracker>(MessageTracker::Options{.keep = keep});
    options.open = false;
    auto built = RdmaSystem::Build(options);
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    Report::Run run{
        .device = options.device, .config = options.config->name, .preset = "gen3x16", .seed = "", .nics = {}};
    report_ = std::make_unique<Report>(*tracker_, run);
    for (size_t i = 0; i < options.nics; ++i) {
      Station& station = system_->topology().station(i);
      tracker_->Watch(station.tap(), station.clock(), system_->lockstep(i));
      ASSERT_EQ(system_->host(i).Open(), "");
    }
  }
  void Connect(ConnectedPairOptions options = {}) {
    options.qp.push = true;
    std::string error;
    pair_ = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
    for (size_t i = 0; i < 2; ++i) {
      auto random = MakeRandom(fmt::format("memory{}", i));
      for (size_t k = 0; k < side(i).memory->size(); ++k) side(i).memory->data()[k] = static_cast<uint8_t>(random());
    }
  }
  ConnectedPair::Side& side(size_t i) { return pair_->side.at(i); }
  // Sends one message from host 0 and waits for its completion.
  void Run(IbWrOpcode opcode, uint32_t bytes, IbWcStatus status = IbWcStatus::kSuccess, uint32_t wrong_key = 0) {
    const spec::RdmaSge sge = side(0).region->Sge(0, bytes);
    ASSERT_TRUE(side(0)
                    .qp
                    ->PostSend({.wr_id = 42,
                                .opcode = opcode,
                                .sg_list = std::span(&sge, 1),
                                .remote_addr = side(1).region->address() + 8192,
                                .rkey = side(1).region->rkey() + wrong_key})
                    .ok());
    auto completion = side(0).cq->Wait(system_->host(0).function().NowNs() + 100'000'000);
    ASSERT_TRUE(completion.ok() && completion->has_value());
    ASSERT_EQ((*completion)->status, status);
    Settle();
  }
  void Settle() { ASSERT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kCompletionTimeout)); }
  nlohmann::ordered_json Json() {
    std::vector<const LockstepNic*> lockstep;
    for (size_t i = 0; i < system_->topology().size(); ++i) lockstep.push_back(system_->lockstep(i));
    return report_->ToJson(system_->scheduler().now(), lockstep);
  }
  std::shared_ptr<const Message> Only() {
    const auto messages = tracker_->Messages();
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? std::make_shared<Message>() : messages.front();
  }
  void ExpectAllAttributed() {
    EXPECT_EQ(tracker_->unattributed(), MessageTracker::Unattributed{}) << Json().at("unattributed").dump();
  }
  void ExpectInOrder(const Message& message, std::initializer_list<Stage> stages) {
    Cycle last = 0;  // all NICs have one clock here
    for (const Stage stage : stages) {
      ASSERT_TRUE(message.at(stage).is_set()) << ToString(stage);
      EXPECT_GE(message.at(stage).cycle, last) << ToString(stage);
      last = message.at(stage).cycle;
    }
  }

  // Sinks of the system's taps, so declared before it and destroyed after it.
  std::unique_ptr<MessageTracker> tracker_;
  std::unique_ptr<Report> report_;
  std::unique_ptr<RdmaSystem> system_;
  std::unique_ptr<ConnectedPair> pair_;
};

TEST(MessageTracker, StagesMatchLatencyBreakdown) {
  Options options;
  options.devices = {"model"};
  Row row;
  std::vector<Step> steps;
  ASSERT_EQ(RunBreakdown(options, "model", row, steps), "");

  // The same system and messages, with the tracker.
  MessageTracker tracker;
  Bench bench;
  ASSERT_EQ(bench.Open(options, "model"), "");
  for (size_t i = 0; i < 2; ++i) {
    Station& station = bench.system->topology().station(i);
    tracker.Watch(station.tap(), station.clock(), nullptr);
  }
  constexpr Workload kOne = {kBreakdown, IbWrOpcode::kRdmaWrite, 64, 1, 1, 1, spec::IbMtu::kMtu4096, 1, 1};
  ASSERT_EQ(bench.Connect(1, {.memory_bytes = kMinMemoryBytes,
                              .path_mtu = kOne.path_mtu,
                              .cqe = 64,
                              .interrupts = true,
                              .qp = {.max_send_wr = 64, .max_recv_wr = 0}}),
            "");
  Picoseconds posted_at = 0;
  std::array<spec::RdmaCqReq, 1> cqe;
  for (uint64_t i = 0; i <= 2; ++i) {
    ASSERT_TRUE(bench.pairs[0]->side[0].cq->Arm().ok());
    ASSERT_EQ(bench.RunUntilQuiet(), "");
    posted_at = bench.system->scheduler().now();
    ASSERT_TRUE(PostMessage(*bench.pairs[0], kOne, i, 0, true).ok());
    for (size_t count = 0; count == 0;) {
      ASSERT_TRUE(bench.RunUntilWritten([] {}));
      auto polled = bench.pairs[0]->side[0].cq->Poll(cqe);
      ASSERT_TRUE(polled.ok());
      count = *polled;
    }
    ASSERT_EQ(bench.RunUntilQuiet(), "");
  }
  const auto messages = tracker.Messages();
  ASSERT_EQ(messages.size(), 3U);
  const Message& message = *messages.back();
  const Cycle start = tracker.clock(0).Containing(posted_at);
  const std::pair<const char*, Stage> same[] = {
      {"doorbell (bar_write)", Stage::kDoorbell},
      {"dma_read payload, 64 B", Stage::kPayloadRead},
      {"payload read completion", Stage::kPayload},
      {"transmit_start", Stage::kTransmit},
      {"peer receive_start", Stage::kArrival},
      {"(peer payload dma_write)", Stage::kPayloadWrite},
      {"peer ack transmit_start", Stage::kAnswer},
      {"ack receive_start", Stage::kAnswerArrival},
      {"CQE dma_write", Stage::kCompletion},
      {"CQ used index dma_write", Stage::kVisible},
      {"(msix)", Stage::kInterrupt},
  };
  for (const auto& [name, stage] : same) {
    const std::string_view what = name;  // a structured binding cannot be captured
    const auto step = std::ranges::find_if(steps, [&](const Step& entry) { return entry.what.starts_with(what); });
    ASSERT_NE(step, steps.end()) << what;
    ASSERT_TRUE(message.at(stage).is_set()) << what;
    EXPECT_EQ(message.at(stage).cycle - start, step->cycle) << what;
  }
  // It was pushed.
  for (const Stage stage : {Stage::kIndexRead, Stage::kRingRead, Stage::kDescriptorRead, Stage::kWorkRequestRead}) {
    EXPECT_FALSE(message.at(stage).is_set()) << ToString(stage);
  }
  EXPECT_EQ(message.bytes, 64U);
  EXPECT_EQ(message.status, IbWcStatus::kSuccess);
}

TEST_F(Tracked, ReadPayloadIsReadAtPeer) {
  ASSERT_NO_FATAL_FAILURE(Build());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaRead, 3000));
  const auto message = Only();
  EXPECT_TRUE(message->is_read());
  EXPECT_EQ(message->bytes, 3000U);
  EXPECT_EQ(message->packets, 3U);
  ExpectInOrder(*message, {Stage::kDoorbell, Stage::kWorkRequest, Stage::kTransmit, Stage::kArrival,
                           Stage::kPayloadRead, Stage::kAnswer, Stage::kAnswerArrival, Stage::kPayloadWriteEnd,
                           Stage::kUsed, Stage::kCompletion, Stage::kVisible});
  ExpectInOrder(*message, {Stage::kPayloadRead, Stage::kPayload, Stage::kAnswerArrival});
  ExpectAllAttributed();
}

TEST_F(Tracked, RecordsFailedMessage) {
  ASSERT_NO_FATAL_FAILURE(Build());
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaWrite, 100, IbWcStatus::kRemAccessErr, 1));
  EXPECT_EQ(Only()->status, IbWcStatus::kRemAccessErr);
  EXPECT_EQ(tracker_->totals().failed, 1U);
  EXPECT_EQ(tracker_->totals().completed, 0U);
  EXPECT_EQ(tracker_->totals().other_naks, 1U);
  EXPECT_FALSE(Only()->at(Stage::kPayloadWrite).is_set());
  EXPECT_TRUE(Json().at("operations").empty()) << "only successful messages count";
}

TEST_F(Tracked, CountsRetransmissions) {
  const FaultScript faults = ParseFaultScript("drop opcode=rc_rdma_write_only nth=3 count=2");
  ASSERT_EQ(faults.error, "");
  RdmaSystemOptions options;
  options.faults_out = {faults.rules};
  ASSERT_NO_FATAL_FAILURE(Build(options));
  ConnectedPairOptions pair;
  pair.connection.timeout = 4;
  ASSERT_NO_FATAL_FAILURE(Connect(pair));
  for (int i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaWrite, 64));
  const uint64_t dropped = system_->topology().faults_out(0)->hits().front();
  ASSERT_EQ(dropped, 2U);
  const MessageTracker::Totals& totals = tracker_->totals();
  EXPECT_EQ(totals.retransmitted, dropped);
  EXPECT_EQ(totals.packets_sent - totals.packets_received, dropped);
  const auto messages = tracker_->Messages();
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[2]->retransmitted, 2U);
  EXPECT_EQ(totals.completed, 6U);
  ExpectAllAttributed();
}

// All payload bytes are equal, so only the frames identify the message of a write. The third host, with another clock,
// receives the first frame too, because the switch has not learned its destination yet.
TEST_F(Tracked, IgnoresCorruptedAndFloodedFrames) {
  const FaultScript faults = ParseFaultScript("corrupt 800 opcode=rc_rdma_write_only nth=2");
  ASSERT_EQ(faults.error, "");
  RdmaSystemOptions options;
  options.fabric = Fabric::kSwitch;
  options.nics = 3;
  options.hosts.resize(3);
  for (size_t i = 0; i < 3; ++i) options.hosts[i].nic.name = fmt::format("nic{}", i);
  options.hosts[0].nic.faults_out = faults.rules;
  options.hosts[2].nic.config = &spec::kNic1;
  ASSERT_NO_FATAL_FAILURE(Build(options));
  ConnectedPairOptions pair;
  pair.connection.timeout = 4;
  ASSERT_NO_FATAL_FAILURE(Connect(pair));
  std::fill_n(side(0).memory->data(), side(0).memory->size(), uint8_t{0x5a});
  for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaWrite, 1000));
  ASSERT_EQ(system_->topology().station(2).mac().counters().received_frames, 1U);
  const MessageTracker::Totals& totals = tracker_->totals();
  EXPECT_EQ(totals.icrc_errors, 1U);
  EXPECT_EQ(totals.packets_sent - totals.packets_received, 1U);
  EXPECT_EQ(totals.retransmitted, 1U);
  for (const auto& message : tracker_->Messages()) {
    EXPECT_EQ(message->peer, 1);
    EXPECT_EQ(message->retransmitted, message->number == 1 ? 1U : 0U);
    EXPECT_GT(message->at(Stage::kPayloadWrite).cycle, message->at(Stage::kArrival).cycle);
    EXPECT_LT(message->at(Stage::kPayloadWriteEnd).cycle, message->at(Stage::kArrivalEnd).cycle + 100);
  }
  ExpectAllAttributed();
}

TEST_F(Tracked, KeepsLastMessagesAndCountsAll) {
  ASSERT_NO_FATAL_FAILURE(Build({}, 2));
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaWrite, 64));
  const auto json = Json();
  ASSERT_EQ(json.at("messages").size(), 2U);
  EXPECT_EQ(json.at("messages").back().at("number"), 4);
  ASSERT_EQ(json.at("operations").size(), 1U);
  EXPECT_EQ(json.at("operations").front().at("count"), 5);
  EXPECT_EQ(json.at("totals").at("bytes"), 5 * 64);
}

TEST_F(Tracked, LockstepStagesAreEqual) {
  RdmaSystemOptions options;
  options.device = "lockstep";
  ASSERT_NO_FATAL_FAILURE(Build(options));
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_NO_FATAL_FAILURE(Run(IbWrOpcode::kRdmaWrite, 64));
  const auto message = Only();
  for (const Stage stage : {Stage::kPayloadRead, Stage::kTransmit, Stage::kTransmitEnd, Stage::kAnswer,
                            Stage::kPayloadWrite, Stage::kUsed, Stage::kCompletion, Stage::kVisible}) {
    EXPECT_EQ(tracker_->ShadowDelta(*message, stage), 0) << ToString(stage);
  }
  EXPECT_EQ(tracker_->ShadowDelta(*message, Stage::kDoorbell), std::nullopt) << "not an output of the NIC";
  const auto json = Json();
  ASSERT_EQ(json.at("lockstep").size(), 2U);
  const auto& total = json.at("lockstep").front().at("total");
  EXPECT_GT(total.at("count"), 100);
  EXPECT_EQ(total.at("count"), total.at("exact"));
  EXPECT_NE(ReportTable(json).find("against the model"), std::string::npos);
}

// 100 messages of all kinds over 4 pairs, both directions, with loss, in both ring formats.
class TrackedTraffic : public Tracked, public testing::WithParamInterface<bool> {};

TEST_P(TrackedTraffic, AttributesEveryMessage) {
  const FaultScript faults = ParseFaultScript("drop rate=0.02");
  ASSERT_EQ(faults.error, "");
  RdmaSystemOptions options;
  options.faults_out = {faults.rules, faults.rules};
  if (GetParam()) options.driver.wanted = host::DefaultFeatures();
  ASSERT_NO_FATAL_FAILURE(Build(options));
  auto random = MakeRandom("tracker");
  unsigned long long posted = 0, bytes = 0;
  {
    MixedTraffic traffic(*system_, {.messages = 100, .pairs = 4, .max_bytes = 6000}, random);
    traffic.Run();
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(std::sscanf(traffic.Text().c_str(), "%llu messages posted, %llu bytes", &posted, &bytes), 2);
    Settle();
  }
  const MessageTracker::Totals& totals = tracker_->totals();
  EXPECT_EQ(totals.messages, posted);
  EXPECT_EQ(totals.bytes, bytes);
  EXPECT_EQ(totals.completed, posted);
  EXPECT_EQ(totals.failed + totals.abandoned, 0U);
  uint64_t dropped = 0;
  for (size_t i = 0; i < 2; ++i) dropped += system_->topology().faults_out(i)->hits().front();
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(totals.packets_sent - totals.packets_received, dropped);
  EXPECT_GT(totals.retransmitted, 0U);
  ExpectAllAttributed();

  const auto json = Json();
  EXPECT_EQ(json.at("messages").size(), posted);
  uint64_t resent = 0;
  std::set<uint64_t> numbers;
  for (const auto& message : json.at("messages")) {
    numbers.insert(message.at("number").get<uint64_t>());
    resent += message.at("retransmitted").get<uint64_t>();
    for (const char* stage : {"doorbell", "work_request", "transmit", "arrival", "answer", "answer_arrival", "used"}) {
      EXPECT_TRUE(message.at("stages").contains(stage)) << stage << " of " << message.dump();
    }
    if (message.at("bytes") != 0) {
      EXPECT_TRUE(message.at("stages").contains("payload_read")) << message.dump();
      EXPECT_TRUE(message.at("stages").contains("payload_write")) << message.dump();
    }
  }
  EXPECT_EQ(numbers.size(), posted);
  EXPECT_EQ(resent, totals.retransmitted);
  uint64_t counted = 0;
  for (const auto& row : json.at("operations")) counted += row.at("count").get<uint64_t>();
  EXPECT_EQ(counted, posted);

  const std::string html = TimelineHtml(json);
  const std::string open = R"(id="report">)";
  const size_t begin = html.find(open) + open.size();
  EXPECT_EQ(nlohmann::ordered_json::parse(html.substr(begin, html.find("</script>", begin) - begin)), json);
  EXPECT_NE(ReportTable(json).find("WRITE"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Rings, TrackedTraffic, testing::Bool(),
                         [](const auto& info) { return info.param ? "Packed" : "Split"; });

}  // namespace
}  // namespace vireo::sim
