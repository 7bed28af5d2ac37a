// SPDX-License-Identifier: Apache-2.0
// A bit flip in a context memory during traffic: the block that reads the entry stops the device, which reports it, and
// no DMA uses the corrupt entry. docs/parity.md. Model, RTL, and both in lockstep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "model/ctrl/context_store.h"
#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

using spec::ContextRam;

constexpr uint64_t kMicrosecond = 1'000;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint32_t kBytes = 3000;  // per message
constexpr uint32_t kStride = 4096;

// An entry that WRITEs of host 0 to host 1 read, or READs.
struct Target {
  size_t host;
  ContextRam ram;
  uint32_t index;
  bool reads = false;
};

// Of management_context.
uint32_t KeptWord(spec::MgmtTable table, uint32_t index, uint32_t word) {
  return static_cast<uint32_t>(model::ContextStore(spec::kNic1).AddressOf(table, index)) + word;
}

class Parity : public SystemTestWith<ConnectedPair> {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Build());
    ASSERT_NO_FATAL_FAILURE(Connect());
  }
  void Connect() {
    std::string error;
    pair_ = MakeConnectedPair(system_->host(0), system_->host(1), {}, &error);
    ASSERT_NE(pair_, nullptr) << error;
    for (size_t i = 0; i < 2; ++i) Fill(*side(i).memory, random_);
  }
  // Releases everything, like a driver whose device needs a reset, and starts again.
  void ResetAll() {
    for (size_t i = 0; i < 2; ++i) {
      const verbs::Status reset = system_->host(i).device().net().pci().Reset(1000 * kMillisecond);
      ASSERT_TRUE(reset.ok()) << host::ToString(reset.error());
    }
    const auto untouched = Memory();
    RunFor(100 * kMicrosecond);
    ExpectMemory(untouched);  // no DMA after a reset
    pair_.reset();
    for (size_t i = 0; i < 2; ++i) {
      system_->host(i).Close();
      ASSERT_EQ(system_->host(i).Open(), "");
    }
    ASSERT_NO_FATAL_FAILURE(Connect());
  }
  void PostWrites(uint64_t count, bool reads = false) {
    for (uint64_t i = 0; i < count; ++i) {
      const spec::RdmaSge sge = near().region->Sge(i * kStride, kBytes);
      PostSend({.wr_id = i,
                .opcode = reads ? spec::IbWrOpcode::kRdmaRead : spec::IbWrOpcode::kRdmaWrite,
                .sg_list = std::span(&sge, 1),
                .remote_addr = far().region->address() + i * kStride,
                .rkey = far().region->rkey()});
    }
  }
  std::vector<spec::RdmaCqReq> Completions() {
    std::vector<spec::RdmaCqReq> completions(64);
    const auto count = near().cq->Poll(completions);
    EXPECT_TRUE(count.ok());
    completions.resize(count.ok() ? *count : 0);
    return completions;
  }
  void ExpectWorks() {
    Fill(*near().memory, random_);
    PostWrites(4);
    for (uint64_t i = 0; i < 4; ++i) ExpectNext(0, i, spec::IbWcStatus::kSuccess);
    RunFor(50 * kMicrosecond);
    for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(HasCome(i)) << i;
  }
  bool HasCome(uint64_t message) {
    const size_t at = message * kStride;
    return std::memcmp(near().memory->data() + at, far().memory->data() + at, kBytes) == 0;
  }
  // Memory outside the messages' targets is unchanged.
  void ExpectNothingElseTouched(const Bytes& before) {
    for (size_t i = 0; i < before.size(); ++i) {
      if (i % kStride < kBytes) continue;
      ASSERT_EQ(far().memory->data()[i], before[i]) << "byte " << i;
    }
  }
  bool NeedsReset(size_t host) {
    return (system_->host(host).device().net().pci().ReadStatus() & spec::VirtioDeviceStatus::kDeviceNeedsReset) != 0;
  }
  // Events of a host: "device_fatal", "needs_reset", others by name.
  std::vector<std::string> Events(size_t host) {
    std::vector<std::string> events;
    for (;;) {
      const auto event = system_->host(host).device().PollEvent();
      EXPECT_TRUE(event.ok());
      if (!event.ok() || !event->has_value()) return events;
      using Kind = host::DeviceEvent::Kind;
      if ((*event)->kind == Kind::kNeedsReset) events.emplace_back("needs_reset");
      if ((*event)->kind == Kind::kRdma) events.emplace_back(spec::ToString((*event)->rdma.event_type));
    }
  }
  static bool Has(const std::vector<std::string>& events, const std::string& event) {
    return std::ranges::find(events, event) != events.end();
  }
  void ExpectFatal(size_t host) {
    EXPECT_TRUE(NeedsReset(host));
    const auto events = Events(host);
    EXPECT_TRUE(Has(events, "device_fatal"));
    EXPECT_TRUE(Has(events, "needs_reset"));
    EXPECT_FALSE(NeedsReset(1 - host));
  }
  uint32_t SendQueue() {
    return 2 * config().net_queue_pairs + config().num_cqs + spec::kRdmaTransmitqOffset + 2 * near().qp->qpn();
  }
  std::vector<Target> Targets() {
    const uint32_t queue = SendQueue();
    return {{0, ContextRam::kRequesterQp, near().qp->qpn()},
            {0, ContextRam::kDescFetchServed, queue},
            {0, ContextRam::kDescFetchArea, queue},
            {0, ContextRam::kDescFetchSize, queue},
            {0, ContextRam::kDescFetchDescriptors, queue},
            {0, ContextRam::kDescFetchWindow, queue},
            {0, ContextRam::kMemoryCheckMr, near().region->lkey() >> 8},
            {0, ContextRam::kMemoryCheckTranslation, 0},
            {1, ContextRam::kResponderQp, far().qp->qpn()},
            {1, ContextRam::kMemoryCheckMr, far().region->rkey() >> 8},
            {1, ContextRam::kMemoryCheckTranslation, 0},
            {0, ContextRam::kTxBuilderQp, near().qp->qpn()},
            {1, ContextRam::kTxBuilderQp, far().qp->qpn()},
            {1, ContextRam::kReadResponderQp, far().qp->qpn(), true},
            {0, ContextRam::kCompleterQp, near().qp->qpn()},
            {0, ContextRam::kCqWriterRow, queue},
            {0, ContextRam::kCqWriterKind, queue},
            {0, ContextRam::kCqWriterCq, near().cq->cqn()}};
  }

  std::mt19937_64 random_ = MakeRandom("parity");
};

TEST_P(Parity, ErrorInAnEntryReadByTrafficStopsTheDevice) {
  const size_t count = Targets().size();
  const size_t first = random_() % count;
  for (size_t i = 0; i < (has_cheap_cycles() ? count : 2); ++i) {
    const Target target = Targets().at((first + 5 * i) % count);
    SCOPED_TRACE("host " + std::to_string(target.host) + " " + std::string(spec::ToString(target.ram)));
    const Bytes before = Copy(*far().memory);
    PostWrites(8, target.reads);
    RunFor(random_() % (10 * kMicrosecond));
    system_->host(target.host).FlipBit(target.ram, target.index, static_cast<uint32_t>(random_() % 1024));
    RunFor(random_() % (5 * kMicrosecond));
    PostWrites(8, target.reads);
    RunFor(300 * kMicrosecond);
    ExpectFatal(target.host);
    // Completed messages are in memory; the others have not completed.
    for (const spec::RdmaCqReq& completion : Completions()) {
      if (completion.status != spec::IbWcStatus::kSuccess) continue;
      EXPECT_TRUE(HasCome(completion.wr_id)) << completion.wr_id;
    }
    ExpectNothingElseTouched(before);
    ASSERT_NO_FATAL_FAILURE(ResetAll());
    ASSERT_NO_FATAL_FAILURE(ExpectWorks());
    for (size_t host = 0; host < 2; ++host) EXPECT_EQ(Events(host), std::vector<std::string>{});
  }
}

TEST_P(Parity, ErrorInAnEntryReadByFirmwareFailsTheCommandAndStopsTheDevice) {
  system_->host(0).FlipBit(ContextRam::kManagementContext, KeptWord(spec::MgmtTable::kQpContext, near().qp->qpn(), 1),
                           13);
  RunFor(100 * kMicrosecond);
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());  // the datapath has its own copy
  EXPECT_FALSE(NeedsReset(0));
  const auto query = near().qp->Query();
  EXPECT_FALSE(query.ok());
  RunFor(100 * kMicrosecond);
  ExpectFatal(0);
  ASSERT_NO_FATAL_FAILURE(ResetAll());
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());
  EXPECT_TRUE(near().qp->Query().ok());
}

TEST_P(Parity, ErrorInTheStateOfAQpStopsTheDeviceWithTheNextOrder) {
  system_->host(0).FlipBit(ContextRam::kQpControlState, near().qp->qpn(), 1);
  RunFor(100 * kMicrosecond);
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());  // traffic does not read it
  EXPECT_FALSE(NeedsReset(0));
  (void)near().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState);
  RunFor(100 * kMicrosecond);
  ExpectFatal(0);
  ASSERT_NO_FATAL_FAILURE(ResetAll());
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());
}

TEST_P(Parity, ErrorInAnUnreadEntryIsHarmlessAndClearedByAWrite) {
  const uint32_t next_qpn = near().qp->qpn() + 1;
  const uint32_t next_mr = (near().region->lkey() >> 8) + 1;
  for (const ContextRam ram : {ContextRam::kRequesterQp, ContextRam::kResponderQp, ContextRam::kTxBuilderQp,
                               ContextRam::kCompleterQp, ContextRam::kReadResponderQp}) {
    system_->host(0).FlipBit(ram, next_qpn, 3);
  }
  system_->host(0).FlipBit(ContextRam::kMemoryCheckMr, next_mr, 1);
  const bool region = random_() % 2 != 0;
  system_->host(0).FlipBit(
      ContextRam::kManagementContext,
      region ? KeptWord(spec::MgmtTable::kMr, next_mr, 1) : KeptWord(spec::MgmtTable::kQpContext, next_qpn, 9), 3);
  RunFor(100 * kMicrosecond);
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());
  const auto old = std::move(pair_);
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_EQ(near().qp->qpn(), next_qpn);
  ASSERT_EQ(near().region->lkey() >> 8, next_mr);
  ASSERT_NO_FATAL_FAILURE(ExpectWorks());
  EXPECT_FALSE(NeedsReset(0));
  EXPECT_EQ(Events(0), std::vector<std::string>{});
}

// After an error firmware clears every table, entry by entry: nic1 has the smaller ones.
INSTANTIATE_TEST_SUITE_P(Devices, Parity,
                         testing::Combine(testing::Values("model", "rtl", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Bool()),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
