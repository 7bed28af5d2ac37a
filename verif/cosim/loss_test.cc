// SPDX-License-Identifier: Apache-2.0
// Reliable connections over links that lose, duplicate, reorder and corrupt frames: every message is delivered once and
// in order, or its work request completes in error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verif/cosim/mixed_traffic.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint8_t kTimeout = 4;     // 65 us
constexpr size_t kPairs = 16;       // of mixed traffic; nic1 has fewer
constexpr size_t kReservedQps = 2;  // 0 and 1

class Loss : public PairTest {
 protected:
  static ConnectedPairOptions Options(uint8_t retry_cnt = 7) {
    ConnectedPairOptions options;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.timeout = kTimeout;
    options.connection.retry_cnt = retry_cnt;
    return options;
  }
  void RunRandom(std::initializer_list<const char*> rates, bool every_operation);
  // A few messages of several packets per operation and direction; all arrive once, in order, intact.
  void ExpectDelivery() {
    Connect(Options());
    if (HasFatalFailure()) return;
    constexpr uint64_t kMessages = 6;
    constexpr uint32_t kBytes = 1200;
    for (uint64_t i = 0; i < kMessages; ++i) {
      PostRecv(1, i, {far().region->Sge(i * 2048, 2048)});
      const spec::RdmaSge sge = near().region->Sge(i * 1500, kBytes);
      PostSend({.wr_id = 2 * i, .opcode = IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)});
      PostSend({.wr_id = 2 * i + 1,
                .opcode = IbWrOpcode::kRdmaWrite,
                .sg_list = std::span(&sge, 1),
                .remote_addr = far().region->address() + 32'768 + i * 2048,
                .rkey = far().region->rkey()});
    }
    for (uint64_t i = 0; i < 2 * kMessages; ++i) ExpectNext(0, i, IbWcStatus::kSuccess, 20'000'000);
    for (uint64_t i = 0; i < kMessages; ++i) ExpectNext(1, i, IbWcStatus::kSuccess);
    ExpectNone(1);
    for (uint64_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(std::memcmp(far().memory->data() + i * 2048, near().memory->data() + i * 1500, kBytes), 0) << i;
      EXPECT_EQ(std::memcmp(far().memory->data() + 32'768 + i * 2048, near().memory->data() + i * 1500, kBytes), 0)
          << i;
    }
  }
};

// Random messages over links with each of these rates of loss, duplication, reordering and corruption.
void Loss::RunRandom(std::initializer_list<const char*> rates, bool every_operation) {
  const char* text = std::getenv("VIREO_LOSS_MESSAGES");
  const bool is_model = std::get<0>(GetParam()) == "model";
  const uint64_t messages = text != nullptr ? std::strtoull(text, nullptr, 10) : is_model ? 1000 : 150;
  ASSERT_NE(messages, 0U) << "VIREO_LOSS_MESSAGES is a number from 1";
  for (const char* rate : rates) {
    SCOPED_TRACE(rate);
    FaultScript faults;
    if (std::string(rate) != "0") {
      faults = ParseFaultScript(
          fmt::format("drop rate={0}\nduplicate 1 rate={0}\nreorder 2 rate={0}\ncorrupt rate={0}", rate));
      ASSERT_EQ(faults.error, "");
    }
    RdmaSystemOptions options;
    options.faults_out = {faults.rules, faults.rules};
    Build(options);
    ASSERT_FALSE(HasFatalFailure());
    if (every_operation && !system_->host(0).device().has_atomics()) GTEST_SKIP() << "no more in this profile";
    {
      auto random = MakeRandom(fmt::format("loss.{}.{}", config().name, rate));
      // 131 us; on a slow wire 4 ms.
      const uint8_t timeout = config().link_mbps >= 10'000 ? 5 : 10;
      // All pairs where they are cheap, and if the number of messages is set.
      const bool is_full = has_cheap_cycles() || text != nullptr;
      // A shared receive queue takes the number of a queue pair.
      const size_t most = config().num_qps - kReservedQps - (every_operation ? 1 : 0);
      // nic1 has no translations for more.
      const uint32_t most_bytes = has_fast_wire() || (!is_full && !every_operation) ? 6000
                                  : every_operation                                 ? 3000
                                                                                    : 4000;
      const MixedTraffic::Options traffic_options{.messages = messages,
                                                  .pairs = std::min(is_full ? kPairs : kPairs / 2, most),
                                                  .max_bytes = most_bytes,
                                                  .every_operation = every_operation,
                                                  .timeout = timeout};
      MixedTraffic traffic(*system_, traffic_options, random);
      traffic.Run();
      if (text != nullptr)
        fmt::print("{} {} rate {}: {}\n", std::get<0>(GetParam()), config().name, rate, traffic.Text());
    }
    TearDown();
    system_.reset();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Loss, RecoversFromLossOfAnyRequest) {
  for (const char* script :
       {"drop opcode=rc_send_first nth=1", "drop opcode=rc_send_middle nth=2", "drop opcode=rc_send_last nth=3",
        "drop opcode=rc_rdma_write_first nth=2", "drop opcode=rc_rdma_write_last nth=6",
        "drop opcode=rc_rdma_write_middle nth=1 count=4"}) {
    SCOPED_TRACE(script);
    BuildWith({script, ""});
    ASSERT_FALSE(HasFatalFailure());
    ExpectDelivery();
    ExpectAllFaultsInjected(0);
    TearDown();
    system_.reset();
  }
}

TEST_P(Loss, RecoversFromLossOfAcknowledges) {
  for (const char* script : {"drop opcode=rc_acknowledge nth=1 count=3", "drop opcode=rc_acknowledge nth=12",
                             "drop opcode=rc_acknowledge rate=0.5"}) {
    SCOPED_TRACE(script);
    BuildWith({"", script});
    ASSERT_FALSE(HasFatalFailure());
    ExpectDelivery();
    TearDown();
    system_.reset();
  }
}

TEST_P(Loss, RecoversFromDuplicationReorderingAndCorruption) {
  for (const char* script : {"duplicate 1 rate=0.2", "reorder 2 rate=0.1", "corrupt rate=0.1", "delay 3000 rate=0.1"}) {
    SCOPED_TRACE(script);
    BuildWith({script, ""});
    ASSERT_FALSE(HasFatalFailure());
    ExpectDelivery();
    TearDown();
    system_.reset();
  }
}

TEST_P(Loss, TotalLossExhaustsTheRetries) {
  BuildWith({"drop", ""});
  ASSERT_FALSE(HasFatalFailure());
  Connect(Options(2));
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  const uint64_t begin = system_->host(0).function().NowNs();
  for (uint64_t i = 1; i <= 2; ++i) {
    PostSend({.wr_id = i,
              .opcode = IbWrOpcode::kRdmaWrite,
              .sg_list = std::span(&sge, 1),
              .remote_addr = far().region->address(),
              .rkey = far().region->rkey()});
  }
  ExpectNext(0, 1, IbWcStatus::kRetryExcErr, 20'000'000);
  // The first transmission and two retries; each takes one to four timeouts. [IBTA vol. 1, 9.7.6.1.3]
  constexpr uint64_t kLeast = 3 * (uint64_t{spec::kLocalAckTimeoutUnitNs} << kTimeout);
  const uint64_t took = system_->host(0).function().NowNs() - begin;
  EXPECT_GE(took, kLeast);
  EXPECT_LE(took, 4 * kLeast);
  ExpectNext(0, 2, IbWcStatus::kWrFlushErr);
  EXPECT_EQ(system_->topology().faults_out(0)->hits().front(), 6U);  // packets
}

TEST_P(Loss, RetriesForeverWithTimeoutDisabled) {
  BuildWith({"drop nth=1", ""});
  ASSERT_FALSE(HasFatalFailure());
  auto options = Options();
  options.connection.timeout = 0;
  Connect(options);
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  const verbs::SendRequest request{.wr_id = 1,
                                   .opcode = IbWrOpcode::kRdmaWrite,
                                   .sg_list = std::span(&sge, 1),
                                   .remote_addr = far().region->address(),
                                   .rkey = far().region->rkey()};
  PostSend(request);
  ExpectNone(0, 1'000'000);
  // The next packet reveals the gap.
  PostSend(request);
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  ExpectNext(0, 1, IbWcStatus::kSuccess);
}

// On a line kept busy by others for longer than the timeout, a message is late but not lost: it arrives without a
// retry. The timeout is longer than the wire time of the MAC's buffer.
TEST_P(Loss, WaitingForTheWireIsNotLoss) {
  Build({});
  ASSERT_FALSE(HasFatalFailure());
  ConnectedPairOptions options = Options(0);
  const uint8_t timeout = has_fast_wire() ? 1 : 7;  // 8 us, 524 us
  options.connection.timeout = timeout;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  constexpr size_t kOthers = 3;
  const uint64_t messages = has_fast_wire() ? 8 : 2;  // of each
  std::array<std::unique_ptr<ConnectedPair>, kOthers> others;
  for (auto& other : others) {
    std::string error;
    other = MakeConnectedPair(system_->host(0), system_->host(1), {.path_mtu = spec::IbMtu::kMtu4096}, &error);
    ASSERT_NE(other, nullptr) << error;
    const spec::RdmaSge sge = other->side[0].region->Sge(0, static_cast<uint32_t>(other->side[0].memory->size()));
    for (uint64_t i = 0; i < messages; ++i) {
      const verbs::Status posted = other->side[0].qp->PostSend({.wr_id = i,
                                                                .opcode = IbWrOpcode::kRdmaWrite,
                                                                .sg_list = std::span(&sge, 1),
                                                                .remote_addr = other->side[1].region->address(),
                                                                .rkey = other->side[1].region->rkey()});
      ASSERT_TRUE(posted.ok());
    }
  }
  RunFor(30'000);  // until the device's buffers are full
  const uint64_t begin = system_->host(0).function().NowNs();
  const spec::RdmaSge sge = near().region->Sge(0, 64);
  PostSend(Remote(IbWrOpcode::kRdmaWrite, 7, {sge}, 0));
  ExpectNext(0, 7, IbWcStatus::kSuccess, 20'000'000);
  EXPECT_GT(system_->host(0).function().NowNs() - begin, uint64_t{spec::kLocalAckTimeoutUnitNs} << timeout);
  for (auto& other : others) {
    for (uint64_t i = 0; i < messages; ++i) {
      const auto completion = NextOf(*other->side[0].cq, 0, 20'000'000);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    }
  }
}

// VIREO_LOSS_MESSAGES=N: that many per rate, over 16 queue pairs of each NIC; on nic1 over all that it has.
TEST_P(Loss, RandomLossDeliversMixedMessagesOnceAndInOrder) { RunRandom({"0.001", "0.01", "0.05"}, false); }
// Likewise: atomic operations, ATOMIC WRITE, FLUSH, windows that are bound and invalidated, and shared receives among
// them.
TEST_P(Loss, RandomLossDeliversEveryOperationOnceAndInOrder) { RunRandom({"0", "0.01", "0.05"}, true); }

// While payload is read, or may be, its memory is the device's: its work request is not complete.
class Payload : public PairTest, protected EventSink {
 protected:
  static constexpr uint64_t kWrId = 0xb1'7e00'0000;
  static constexpr uint32_t kBytes = 256;  // one packet

  void Begin(const std::string& answers, uint32_t read_ns) {
    RdmaSystemOptions options;
    const FaultScript faults = ParseFaultScript(answers);
    ASSERT_EQ(faults.error, "");
    options.faults_out = {{}, faults.rules};
    Build(options);
    ASSERT_FALSE(HasFatalFailure());
    system_->topology().station(0).tap().AddSink(*this);
    ConnectedPairOptions pair_options;
    pair_options.path_mtu = spec::IbMtu::kMtu256;
    pair_options.connection.timeout = kTimeout;
    pair_options.connection.retry_cnt = 7;
    Connect(pair_options);
    ASSERT_FALSE(HasFatalFailure());
    // So that the device has buffers of the completion queue, and need not read before it completes.
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 1, {near().region->Sge(0, kBytes)}, 0));
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    system_->host(0).station().pcie().AddFault({.kind = DmaFault::Kind::kDelay,
                                                .address = near().memory->address() + kBytes,
                                                .bytes = near().memory->size() - kBytes,
                                                .delay_ns = read_ns});
    reads_ = replayed_reads_ = 0;
    early_.clear();
  }
  void End() {
    TearDown();
    system_.reset();
    outstanding_.clear();
  }
  // Reads of all but number 0 are slow.
  verbs::SendRequest Message(uint64_t number, const Elements& list) {
    return Remote(IbWrOpcode::kRdmaWrite, kWrId + number, list, number * kBytes);
  }
  Elements Source(uint64_t number) { return {near().region->Sge(number * kBytes, kBytes)}; }
  // What is read of the near memory, and completions while it is.
  void OnEvent(const BoundaryEvent& event) override {
    if (event.nic != 0 || pair_ == nullptr) return;
    switch (event.kind) {
      case EventKind::kDmaRead: {
        const uint64_t begin = near().memory->address();
        if (event.address < begin || event.address >= begin + near().memory->size()) return;
        outstanding_[event.id] = (event.address - begin) / kBytes;
        ++reads_;
        return;
      }
      case EventKind::kDmaCompletion:
        if ((event.status & 0x80) != 0) outstanding_.erase(event.id);
        return;
      case EventKind::kDmaWrite: {
        if (event.payload.size() < spec::RdmaCqReq::kBytes) return;
        const auto cqe = spec::RdmaCqReq::Decode(event.payload.data());
        if (cqe.wr_id < kWrId || cqe.wr_id >= kWrId + 64) return;
        for (const auto& [tag, number] : outstanding_) {
          if (number == cqe.wr_id - kWrId) early_.push_back(number);
        }
        return;
      }
      case EventKind::kReceiveEnd:
        // An acknowledge arrives while what it acknowledges is read once more.
        if (reads_ > 1 && !outstanding_.empty()) ++replayed_reads_;
        return;
      default: return;
    }
  }

  std::map<uint32_t, uint64_t> outstanding_;  // by tag: number of the work request
  uint64_t reads_ = 0, replayed_reads_ = 0;
  std::vector<uint64_t> early_;  // completed while their payload was read
};

// The first message is refused by the peer, while the payload of the others is read.
TEST_P(Payload, FlushWaitsForItsReads) {
  ASSERT_NO_FATAL_FAILURE(Begin("", 100'000));
  constexpr uint64_t kMessages = 7;
  for (uint64_t i = 0; i < kMessages; ++i) {
    const Elements source = Source(i);
    verbs::SendRequest request = Message(i, source);
    if (i == 0) request.rkey ^= 1;
    PostSend(request);
  }
  for (uint64_t i = 0; i < kMessages; ++i) {
    ExpectNext(0, kWrId + i, i == 0 ? IbWcStatus::kRemAccessErr : IbWcStatus::kWrFlushErr);
  }
  EXPECT_EQ(reads_, kMessages);
  EXPECT_EQ(early_, std::vector<uint64_t>{});
  EXPECT_TRUE(outstanding_.empty());
}

// An acknowledge that is late comes while its packet is being retransmitted: the payload is read again.
TEST_P(Payload, AcknowledgeWaitsForTheReadOfItsReplay) {
  uint64_t met = 0;
  for (const unsigned late_us : {70, 100, 130, 160}) {
    SCOPED_TRACE(late_us);
    ASSERT_NO_FATAL_FAILURE(Begin(fmt::format("delay {} opcode=rc_acknowledge nth=2", late_us * 1000), 40'000));
    const Elements source = Source(1);
    PostSend(Message(1, source));
    ExpectNext(0, kWrId + 1, IbWcStatus::kSuccess, 20'000'000);
    EXPECT_EQ(early_, std::vector<uint64_t>{});
    EXPECT_TRUE(outstanding_.empty());
    met += replayed_reads_;
    End();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_NE(met, 0U);
}

// A message is retransmitted from its second packet on, so its work request is read again, while others' work requests
// are kept: their replays pass.
class PassedReplay : public PairTest, protected EventSink {
 protected:
  static constexpr uint64_t kWrId = 0xb2'7e00'0000;
  static constexpr uint64_t kReads = 16;        // of each
  static constexpr uint64_t kWorkRequests = 4;  // whose reads are slow
  static constexpr uint32_t kHeadBytes = spec::RdmaSqReq::kInlineDataOffset;

  // What is read of the work request kWrId, before and after its completion.
  void OnEvent(const BoundaryEvent& event) override {
    if (event.nic != 0 || pair_ == nullptr) return;
    switch (event.kind) {
      case EventKind::kDmaRead:
        reads_[event.id] = event.address;
        if (is_complete_ && IsOfTheWorkRequest(event.address)) ++late_;
        return;
      case EventKind::kDmaCompletion: {
        if (event.payload.size() == kHeadBytes) {
          uint64_t wr_id = 0;
          std::memcpy(&wr_id, event.payload.data() + spec::RdmaSqReq::kWrIdOffset, sizeof wr_id);
          if (wr_id == kWrId - 1) first_address_ = event.address;
          if (wr_id == kWrId) {
            address_ = event.address;
            ++times_;
          }
        }
        if ((event.status & 0x80) != 0) reads_.erase(event.id);
        return;
      }
      case EventKind::kDmaWrite:
        if (event.payload.size() < spec::RdmaCqReq::kBytes) return;
        if (spec::RdmaCqReq::Decode(event.payload.data()).wr_id != kWrId) return;
        is_complete_ = true;
        for (const auto& [tag, address] : reads_) late_ += IsOfTheWorkRequest(address) ? 1 : 0;
        return;
      case EventKind::kReceiveEnd: {
        if (event.payload.size() < kIpv4Bytes + spec::Bth::kBytes + spec::Aeth::kBytes) return;
        const uint8_t* headers = event.payload.data() + kIpv4Bytes;
        const auto bth = spec::Bth::Decode(headers);
        if (bth.opcode != spec::BthOpcode::kRcAcknowledge || bth.dest_qp != near().qp->qpn()) return;
        // The acknowledge comes before the work request was read again.
        if (spec::Aeth::Decode(headers + spec::Bth::kBytes).kind != spec::AethKind::kAck) {
          has_nak_ = true;
        } else if (has_nak_ && !is_complete_ && times_ == 1) {
          meets_ = true;
        }
        return;
      }
      default: return;
    }
  }
  bool IsOfTheWorkRequest(uint64_t address) const {
    return address_ && address >= *address_ && address < *address_ + spec::RdmaSqReq::kBytes;
  }
  // The last packet of the first message arrives so much later, behind the second message.
  void Run(unsigned late_ns) {
    RdmaSystemOptions system_options;
    std::string script = fmt::format("delay {} opcode=rc_rdma_write_last nth=1", late_ns);
    for (const unsigned nth : {1, 2}) script += fmt::format("; drop opcode=rc_rdma_read_request nth={}", nth);
    const FaultScript faults = ParseFaultScript(script);
    ASSERT_EQ(faults.error, "");
    system_options.faults_out = {faults.rules, {}};
    Build(system_options);
    ASSERT_FALSE(HasFatalFailure());
    system_->topology().station(0).tap().AddSink(*this);
    ConnectedPairOptions options;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.retry_cnt = 7;
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic = 4;
    options.qp.extensible_requests = false;  // places and lengths of the reads below
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    // As many as have all work requests kept.
    const size_t count = std::clamp<size_t>(config().send_requests_kept / config().send_records, 1, 4);
    std::vector<std::unique_ptr<ConnectedPair>> others(count);
    for (auto& other : others) {
      std::string error;
      other = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
      ASSERT_NE(other, nullptr) << error;
    }
    // So that the device has buffers of the completion queue, and the place of the work requests is known.
    PostSend(Remote(IbWrOpcode::kRdmaWrite, kWrId - 1, {near().region->Sge(0, 64)}, 0));
    ExpectNext(0, kWrId - 1, IbWcStatus::kSuccess);
    ASSERT_NE(first_address_, 0U);
    system_->host(0).station().pcie().AddFault({.kind = DmaFault::Kind::kDelay,
                                                .address = first_address_,
                                                .bytes = kWorkRequests * (spec::RdmaSqReq::kBytes + 64),
                                                .delay_ns = 5000});
    PostSend(Remote(IbWrOpcode::kRdmaWrite, kWrId, {near().region->Sge(0, 512)}, 0));
    PostSend(Remote(IbWrOpcode::kRdmaWrite, kWrId + 1, {near().region->Sge(512, 64)}, 512));
    RunFor(5500);  // the messages are being read
    // READs are lost, and replayed from what is kept of them.
    for (auto& other : others) {
      for (uint64_t i = 0; i < kReads; ++i) {
        const spec::RdmaSge sge = other->side[0].region->Sge(64 * i, 64);
        const verbs::Status posted = other->side[0].qp->PostSend({.wr_id = i,
                                                                  .opcode = IbWrOpcode::kRdmaRead,
                                                                  .sg_list = std::span(&sge, 1),
                                                                  .remote_addr = other->side[1].region->address(),
                                                                  .rkey = other->side[1].region->rkey()});
        ASSERT_TRUE(posted.ok());
      }
    }
    ExpectNext(0, kWrId, IbWcStatus::kSuccess, 20'000'000);
    ExpectNext(0, kWrId + 1, IbWcStatus::kSuccess, 20'000'000);
    for (auto& other : others) {
      for (uint64_t i = 0; i < kReads; ++i) {
        const auto completion = NextOf(*other->side[0].cq, 0, 20'000'000);
        ASSERT_TRUE(completion.has_value());
        EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
      }
    }
    RunFor(10'000);
    EXPECT_EQ(late_, 0U);
  }
  void End() {
    TearDown();
    system_.reset();
    reads_.clear();
    address_.reset();
    first_address_ = 0;
    times_ = late_ = 0;
    is_complete_ = has_nak_ = meets_ = false;
  }

  static constexpr size_t kIpv4Bytes = 14 + 20 + 8;  // before the BTH
  std::map<uint32_t, uint64_t> reads_;               // addresses, by tag
  std::optional<uint64_t> address_;                  // of the work request
  uint64_t first_address_ = 0;                       // of the one before it
  unsigned times_ = 0;                               // it was read
  unsigned late_ = 0;                                // or was being read, when it was complete
  bool is_complete_ = false, has_nak_ = false, meets_ = false;
};

TEST_P(PassedReplay, CompletionWaitsForItsRead) {
  unsigned met = 0;
  for (const unsigned late_ns : {2000, 4000}) {
    SCOPED_TRACE(late_ns);
    ASSERT_NO_FATAL_FAILURE(Run(late_ns));
    met += meets_ ? 1 : 0;
    End();
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_NE(met, 0U);
}

VIREO_ON_EVERY_DEVICE(Loss);
VIREO_ON_EVERY_DEVICE(Payload);
VIREO_ON_EVERY_DEVICE(PassedReplay);

}  // namespace
}  // namespace vireo::sim
