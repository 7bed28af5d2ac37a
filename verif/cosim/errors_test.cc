// SPDX-License-Identifier: Apache-2.0
// An error stops only its owner: docs/decisions/0003 on whole systems, with two connections between the same hosts, one
// with errors and one that must not be affected. Model, RTL, and both in lockstep.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sim/common/seed.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/net_frame.h"
#include "sim/traffic/raw_queue.h"
#include "sim/wire/wire.h"
#include "verif/cosim/every_device.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kMicrosecond = 1'000;
constexpr uint64_t kMillisecond = 1'000'000;

class Errors : public testing::TestWithParam<EveryDevice> {
 protected:
  using Pair = std::unique_ptr<ConnectedPair>;

  void SetUp() override {
    auto built = RdmaSystem::Build({.device = std::get<0>(GetParam()),
                                    .config = std::get<1>(GetParam()),
                                    .firmware_access_cycles = firmware_access_cycles_});
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    ASSERT_NO_FATAL_FAILURE(Connect(&good_));
  }
  void TearDown() override {
    bad_.reset();
    good_.reset();
    if (system_ == nullptr) return;
    EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() +
                                                  1000 * kMillisecond * kPicosecondsPerNanosecond));
    EXPECT_EQ(system_->Violations(), "");
  }
  void Connect(Pair* pair, const ConnectedPairOptions& options = {}) {
    std::string error;
    *pair = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(*pair, nullptr) << error;
    for (auto& side : (*pair)->side) {
      for (size_t i = 0; i < side.memory->size(); ++i) side.memory->data()[i] = static_cast<uint8_t>(random_());
    }
  }
  void RunFor(uint64_t ns) { system_->topology().RunFor(ns * kPicosecondsPerNanosecond); }
  static verbs::Status Post(ConnectedPair& pair, uint64_t wr_id, uint64_t offset, uint32_t bytes,
                            uint32_t rkey_flips = 0, size_t from = 0) {
    auto& near = pair.side.at(from);
    auto& far = pair.side.at(1 - from);
    const spec::RdmaSge sge = near.region->Sge(offset, bytes);
    return near.qp->PostSend({.wr_id = wr_id,
                              .opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address() + offset,
                              .rkey = far.region->rkey() ^ rkey_flips});
  }
  // WRITEs of `bytes` from the start of one memory to the other's.
  static void PostMany(ConnectedPair& pair, uint64_t count, uint32_t bytes, size_t from = 0) {
    for (uint64_t i = 0; i < count; ++i) {
      const verbs::Status posted = Post(pair, i, i * bytes % 65536, bytes, 0, from);
      ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
    }
  }
  // Completions of one side: `count`, or as many as arrive.
  std::vector<spec::RdmaCqReq> Completions(ConnectedPair& pair, size_t count, size_t from = 0) {
    std::vector<spec::RdmaCqReq> all;
    while (all.size() < count) {
      const auto completion = pair.side.at(from).cq->Wait(system_->host(from).function().NowNs() + kMillisecond);
      EXPECT_TRUE(completion.ok());
      if (!completion.ok() || !completion->has_value()) break;
      all.push_back(**completion);
    }
    return all;
  }
  // Data is transferred in both directions.
  void ExpectWorks(ConnectedPair& pair) {
    for (size_t from = 0; from < 2; ++from) {
      auto& near = pair.side.at(from);
      auto& far = pair.side.at(1 - from);
      for (uint64_t i = 0; i < 3; ++i) {
        std::fill_n(near.memory->data() + 4096 * i, 1000, static_cast<uint8_t>(random_()));
        const verbs::Status posted = Post(pair, 70 + i, 4096 * i, 1000, 0, from);
        ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
      }
      const auto completions = Completions(pair, 3, from);
      ASSERT_EQ(completions.size(), 3u) << "from host " << from;
      for (uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(completions[i].status, spec::IbWcStatus::kSuccess) << spec::ToString(completions[i].status);
        EXPECT_EQ(completions[i].wr_id, 70 + i);
      }
      RunFor(50 * kMicrosecond);
      for (uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(std::memcmp(near.memory->data() + 4096 * i, far.memory->data() + 4096 * i, 1000), 0) << i;
      }
    }
  }
  // Without the faults of this host's bus, another connection takes the place of the one that has failed.
  void ExpectNewPairWorks(size_t faulty) {
    system_->host(faulty).station().pcie().ClearFaults();
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    ExpectWorks(*bad_);
  }
  // A reset of the device by its driver ends whatever was stopped.
  void ExpectWorksAfterReset(size_t faulty = 0) {
    RdmaHost& host = system_->host(faulty);
    host.station().pcie().ClearFaults();
    ASSERT_TRUE(host.device().net().pci().Reset(kMillisecond).ok());
    bad_.reset();
    good_.reset();
    host.Close();
    ASSERT_EQ(host.Open(), "");
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    ASSERT_NO_FATAL_FAILURE(Connect(&good_));
    ExpectWorks(*bad_);
    ExpectWorks(*good_);
  }
  // Events of a host since the last call: "qp_fatal 2 cq_failed", sorted.
  std::vector<std::string> Events(size_t number) {
    std::vector<std::string> events;
    RunFor(100 * kMicrosecond);
    for (;;) {
      const auto event = system_->host(number).device().PollEvent();
      EXPECT_TRUE(event.ok());
      if (!event.ok() || !event->has_value()) break;
      if ((*event)->kind != host::DeviceEvent::Kind::kRdma) {
        events.push_back("no RDMA event");
        continue;
      }
      const spec::RdmaEvent& rdma = (*event)->rdma;
      EXPECT_EQ(rdma.lost, 0u);
      events.push_back(Text(rdma.event_type, rdma.element, rdma.code));
    }
    return events;
  }
  static std::string Text(spec::RdmaEventType type, uint32_t element, uint32_t code) {
    const char* name = spec::ToString(type);
    return std::string(name == nullptr ? "?" : name) + " " + std::to_string(element) + " code " + std::to_string(code);
  }
  static std::string Text(spec::RdmaEventType type, uint32_t element, spec::RdmaError code) {
    return Text(type, element, static_cast<uint32_t>(code));
  }
  using Texts = std::vector<std::string>;

  Cycle firmware_access_cycles_ = RdmaSystemOptions{}.firmware_access_cycles;
  std::mt19937_64 random_ = MakeRandom("errors");
  std::unique_ptr<RdmaSystem> system_;
  Pair bad_, good_;
};

TEST_P(Errors, QpDestroyedWithWritesInFlightLeavesOthersRunning) {
  for (const size_t victim : {size_t{0}, size_t{1}}) {  // sender, receiver
    if (bad_ == nullptr) {
      ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    }
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, 32, 8192));
    ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 16, 2048));
    RunFor(6 * kMicrosecond);  // packets of both are in flight
    bad_->side.at(victim).qp.reset();
    if (victim == 0) {
      // After the answer the host owns the memory again, and no completion follows.
      std::array<spec::RdmaCqReq, 64> completions;
      auto count = bad_->side[0].cq->Poll(completions);
      ASSERT_TRUE(count.ok());
      EXPECT_LT(*count, 32u);
      bad_->side[0].region.reset();
      bad_->side[0].memory.reset();
      RunFor(kMillisecond);
      count = bad_->side[0].cq->Poll(completions);
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(*count, 0u);
    } else {
      bad_->side[1].region.reset();
      bad_->side[1].memory.reset();
      RunFor(kMillisecond);
    }
    const auto completions = Completions(*good_, 16);
    ASSERT_EQ(completions.size(), 16u);
    for (uint64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(completions[i].wr_id, i);
      EXPECT_EQ(completions[i].status, spec::IbWcStatus::kSuccess);
    }
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));  // replaces it
    ExpectWorks(*bad_);
    ExpectWorks(*good_);
    bad_.reset();
    EXPECT_EQ(Events(0), Texts{});
    EXPECT_EQ(Events(1), Texts{});
  }
}

// The flush ends wherever it is: no receive completes behind one that does not.
TEST_P(Errors, ReceivesAreFlushedInOrderUntilTheirQpIsDestroyed) {
  constexpr uint32_t kReceives = 256;
  bool was_cut = false;
  for (unsigned i = 0; i < 6; ++i) {
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_, {.cqe = kReceives, .qp = {.max_recv_wr = kReceives}}));
    auto& near = bad_->side[0];
    for (uint64_t wr_id = 0; wr_id < kReceives; ++wr_id) ASSERT_TRUE(near.qp->PostRecv({.wr_id = wr_id}).ok());
    ASSERT_TRUE(near.qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
    RunFor(i * 170);
    near.qp.reset();
    std::vector<spec::RdmaCqReq> completions(kReceives);
    const auto count = near.cq->Poll(completions);
    ASSERT_TRUE(count.ok());
    for (uint64_t wr_id = 0; wr_id < *count; ++wr_id) {
      ASSERT_EQ(completions[wr_id].wr_id, wr_id);
      EXPECT_EQ(completions[wr_id].status, spec::IbWcStatus::kWrFlushErr);
    }
    was_cut |= *count < kReceives;
  }
  EXPECT_TRUE(was_cut);
  ExpectWorks(*good_);
}

// As when a process is killed: the driver resets the device during traffic.
TEST_P(Errors, DeviceResetInTrafficStopsAllDmaAndTheDeviceReopens) {
  for (size_t victim = 0; victim < 2; ++victim) {
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, 32, 2048));
    ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 32, 2048, 1));
    RunFor(6 * kMicrosecond);
    std::array<spec::RdmaCqReq, 64> completions;
    const auto count = (victim == 0 ? bad_ : good_)->side.at(victim).cq->Poll(completions);
    ASSERT_TRUE(count.ok());
    EXPECT_LT(*count, 32u);
    const verbs::Status reset = system_->host(victim).device().net().pci().Reset(kMillisecond);
    ASSERT_TRUE(reset.ok()) << host::ToString(reset.error());
    // The device no longer accesses memory, whatever the peer still sends.
    std::vector<std::vector<uint8_t>> before;
    for (const Pair* pair : {&bad_, &good_}) {
      const host::DmaMemory& memory = *(*pair)->side.at(victim).memory;
      before.emplace_back(memory.data(), memory.data() + memory.size());
    }
    RunFor(kMillisecond);
    size_t i = 0;
    for (const Pair* pair : {&bad_, &good_}) {
      EXPECT_EQ(std::memcmp(before[i].data(), (*pair)->side.at(victim).memory->data(), before[i].size()), 0);
      ++i;
    }
    // The objects' own commands fail; then the other host's, and both devices are reopened.
    bad_.reset();
    good_.reset();
    for (size_t host = 0; host < 2; ++host) {
      system_->host(host).Close();
      ASSERT_EQ(system_->host(host).Open(), "");
    }
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    ASSERT_NO_FATAL_FAILURE(Connect(&good_));
    ExpectWorks(*bad_);
    ExpectWorks(*good_);
    EXPECT_EQ(Events(0), Texts{});
    EXPECT_EQ(Events(1), Texts{});
  }
}

TEST_P(Errors, CqOverrunFailsTheCqAndKeepsItsCompletions) {
  bad_.reset();
  ASSERT_NO_FATAL_FAILURE(Connect(&bad_, {.cqe = 2}));
  const uint32_t cqn = bad_->side[0].cq->cqn();
  ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, 16, 64));
  RunFor(kMillisecond);
  const Texts events = Events(0);
  EXPECT_NE(std::ranges::find(events, Text(spec::RdmaEventType::kCqErr, cqn, spec::RdmaError::kCqOverrun)),
            events.end());
  std::array<spec::RdmaCqReq, 8> completions;
  auto count = bad_->side[0].cq->Poll(completions);
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 2u);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(completions[i].wr_id, i);
    EXPECT_EQ(completions[i].status, spec::IbWcStatus::kSuccess);
  }
  // Buffers added now are too late.
  (void)Post(*bad_, 99, 0, 64);
  RunFor(kMillisecond);
  count = bad_->side[0].cq->Poll(completions);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0u);
  ExpectWorks(*good_);
  EXPECT_EQ(Events(1), Texts{});
  // Recovery.
  bad_.reset();
  ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
  ExpectWorks(*bad_);
  ExpectWorks(*good_);
}

// Each of them stalls the completion writer briefly, and its events need that writer.
TEST_P(Errors, SimultaneousCqOverrunsDoNotHang) {
  // As many as the smaller device has QPs left: 24 events, with buffers for all.
  std::vector<Pair> pairs(12);
  // A side whose peer has failed before it answered fails by its retries.
  ConnectedPairOptions options{.memory_bytes = 4096, .cqe = 2};
  options.connection.timeout = 6;  // 262 µs
  options.connection.retry_cnt = 1;
  for (Pair& pair : pairs) ASSERT_NO_FATAL_FAILURE(Connect(&pair, options));
  for (uint64_t i = 0; i < 16; ++i) {
    for (const Pair& pair : pairs) {
      for (const size_t from : {size_t{0}, size_t{1}}) ASSERT_TRUE(Post(*pair, i, 64 * i, 64, 0, from).ok());
    }
  }
  RunFor(3 * kMillisecond);
  for (size_t host = 0; host < 2; ++host) {
    const Texts events = Events(host);
    for (const Pair& pair : pairs) {
      EXPECT_EQ(std::ranges::count(events, Text(spec::RdmaEventType::kCqErr, pair->side.at(host).cq->cqn(),
                                                spec::RdmaError::kCqOverrun)),
                1);
      std::array<spec::RdmaCqReq, 8> completions;
      const auto count = pair->side.at(host).cq->Poll(completions);
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(*count, 2u);
    }
  }
  ExpectWorks(*good_);
  ExpectWorks(*bad_);
  pairs.clear();
  ExpectWorks(*good_);
}

TEST_P(Errors, DescriptorOutsideItsWindowStopsTheSendQueueAndItsQp) {
  auto& near = bad_->side[0];
  host::VirtioNetDevice& net = system_->host(0).device().net();
  const auto index = net.SendQueueIndex(near.qp->qpn());
  ASSERT_TRUE(index.ok());
  const verbs::Status bounded = net.roce().SetWindow({.vq_index = *index,
                                                      .flags = spec::RdmaWindowFlags::kEnable,
                                                      .base = near.memory->address(),
                                                      .length = near.memory->size()});
  ASSERT_TRUE(bounded.ok()) << host::ToString(bounded.error());
  const std::vector<uint8_t> before(bad_->side[1].memory->data(),
                                    bad_->side[1].memory->data() + bad_->side[1].memory->size());
  ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 8, 1024));
  ASSERT_TRUE(Post(*bad_, 1, 0, 64).ok());
  const Texts events = Events(0);
  EXPECT_EQ(events, (Texts{Text(spec::RdmaEventType::kVqErr, *index, spec::RdmaError::kWindowViolation),
                           Text(spec::RdmaEventType::kQpFatal, near.qp->qpn(), spec::RdmaError::kWindowViolation)}));
  // Work requests that were not fetched get no CQE.
  std::array<spec::RdmaCqReq, 8> completions;
  const auto count = near.cq->Poll(completions);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0u);
  const auto attributes = near.qp->Query();
  ASSERT_TRUE(attributes.ok());
  EXPECT_EQ(attributes->qp_state, spec::IbQpState::kErr);
  EXPECT_EQ(std::memcmp(before.data(), bad_->side[1].memory->data(), before.size()), 0);
  for (const auto& completion : Completions(*good_, 8)) EXPECT_EQ(completion.status, spec::IbWcStatus::kSuccess);
  ExpectWorks(*good_);
  EXPECT_EQ(Events(1), Texts{});
  // A new QP does not inherit the window.
  bad_.reset();
  ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
  ExpectWorks(*bad_);
}

TEST_P(Errors, WrongKeyFailsBothQpsOfItsConnectionOnly) {
  ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 8, 1024));
  ASSERT_TRUE(Post(*bad_, 0, 0, 64).ok());
  ASSERT_TRUE(Post(*bad_, 1, 0, 64, 1).ok());
  for (uint64_t i = 2; i < 8; ++i) ASSERT_TRUE(Post(*bad_, i, 0, 64).ok());
  const auto completions = Completions(*bad_, 8);
  ASSERT_EQ(completions.size(), 8u);
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(completions[i].wr_id, i);
    EXPECT_EQ(completions[i].status, i == 0   ? spec::IbWcStatus::kSuccess
                                     : i == 1 ? spec::IbWcStatus::kRemAccessErr
                                              : spec::IbWcStatus::kWrFlushErr)
        << i << " " << spec::ToString(completions[i].status);
  }
  constexpr auto kNak = static_cast<uint32_t>(spec::AethSyndrome::kNakRemoteAccessError);
  // Its completion has reported it. [IBTA vol. 1, 11.6.3.2]
  EXPECT_EQ(Events(0), Texts{});
  EXPECT_EQ(Events(1), (Texts{Text(spec::RdmaEventType::kQpAccessErr, bad_->side[1].qp->qpn(), kNak)}));
  EXPECT_EQ(Completions(*good_, 8).size(), 8u);
  ExpectWorks(*good_);
}

TEST_P(Errors, UnreadablePayloadFailsItsQpOnly) {
  auto& near = bad_->side[0];
  const std::vector<uint8_t> before(bad_->side[1].memory->data(),
                                    bad_->side[1].memory->data() + bad_->side[1].memory->size());
  system_->host(0).station().pcie().AddFault(
      {.kind = DmaFault::Kind::kUnsupportedRequest, .address = near.memory->address() + 4096, .bytes = 4096});
  ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 8, 1024));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(Post(*bad_, i, 4096 + i * 256, 256).ok());
  const auto completions = Completions(*bad_, 4);
  ASSERT_EQ(completions.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(completions[i].wr_id, i);
    EXPECT_NE(completions[i].status, spec::IbWcStatus::kSuccess);
  }
  EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kQpFatal, near.qp->qpn(), spec::RdmaError::kQueueDmaError)}));
  EXPECT_EQ(std::memcmp(before.data(), bad_->side[1].memory->data(), before.size()), 0);
  EXPECT_EQ(Completions(*good_, 8).size(), 8u);
  ExpectWorks(*good_);
  ExpectNewPairWorks(0);
}

TEST_P(Errors, UnreadableWorkRequestStopsItsQueueOnly) {
  // Reads of a post: index, ring, descriptor, two of the work request.
  for (const uint64_t nth : {uint64_t{4}, uint64_t{5}}) {
    const uint32_t qpn = bad_->side[0].qp->qpn();
    const auto index = system_->host(0).device().net().SendQueueIndex(qpn);
    ASSERT_TRUE(index.ok());
    system_->host(0).station().pcie().AddFault({.kind = DmaFault::Kind::kCompleterAbort, .nth = nth});
    ASSERT_TRUE(Post(*bad_, 9, 0, 64).ok());
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, *index, spec::RdmaError::kQueueDmaError),
                                Text(spec::RdmaEventType::kQpFatal, qpn, spec::RdmaError::kQueueDmaError)}));
    ExpectWorks(*good_);
    ExpectNewPairWorks(0);
  }
}

// The driver resets the control queue while a command is on its way: what firmware has not started is discarded. From
// the end of the reset on the host owns the command's memory again, and an access would be a violation.
TEST_P(Errors, ResetOfTheControlQueueDiscardsItsCommand) {
  constexpr uint64_t kRoom = 64;
  using Flags = spec::VirtqDescFlags;
  for (uint64_t after_ns = 1000; after_ns < 3000; after_ns += 150) {
    host::VirtioNetDevice& net = system_->host(0).device().net();
    const auto index = static_cast<uint16_t>(net.CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
    const auto ring = FindRing(system_->host(0), index);
    ASSERT_TRUE(ring.has_value() && !ring->packed);
    auto memory = system_->host(0).function().AllocateDma(2 * kRoom, HostMemory::kPageBytes);
    ASSERT_TRUE(memory.ok());
    host::DmaBuffer command = std::move(memory).value();
    spec::NetCtrlHdr{.ctrl_class = static_cast<spec::NetCtrlClass>(
                         spec::ConstantsOf(spec::Profile{spec::kProfileDefault}).net_ctrl_class_roce),
                     .command = static_cast<uint8_t>(spec::RdmaCtrlCmd::kCreatePd)}
        .Encode(command->data());
    const uint64_t position = NextPosition(*ring).number;
    PutDescriptor(*ring, 0, {command->address(), spec::NetCtrlHdr::kBytes, Flags::kNext, 1});
    PutDescriptor(*ring, 1, {command->address() + kRoom, kRoom, Flags::kWrite, 0});
    Put16(AvailableEntry(*ring, position), 0);
    PutAvailableIndex(*ring, position + 1);
    ASSERT_TRUE(RingRawDoorbell(system_->host(0), index, position + 1));
    RunFor(after_ns);
    const verbs::Status reset = net.pci().ResetQueue(index, kMillisecond);
    ASSERT_TRUE(reset.ok()) << host::ToString(reset.error());
    command.reset();
    RunFor(100 * kMicrosecond);
    ASSERT_EQ(system_->Violations(), "") << after_ns << " ns after the doorbell";
    // Traffic goes on; commands need a device reset, because the driver does not know of this one.
    ExpectWorks(*good_);
    ASSERT_TRUE(net.pci().Reset(kMillisecond).ok());
    bad_.reset();
    good_.reset();
    system_->host(0).Close();
    ASSERT_EQ(system_->host(0).Open(), "");
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    ASSERT_NO_FATAL_FAILURE(Connect(&good_));
  }
  ExpectWorks(*bad_);
}

// Whatever was acknowledged is in memory, and behind the refused write nothing is acknowledged.
TEST_P(Errors, RefusedWriteIsNotAcknowledged) {
  constexpr uint32_t kBytes = 1000;
  constexpr uint64_t kMessages = 8;
  uint64_t refused = 0;
  for (const uint64_t nth : {uint64_t{1}, uint64_t{6}, uint64_t{19}}) {
    auto& far = bad_->side[1];
    system_->host(1).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = far.memory->address(), .bytes = far.memory->size(), .nth = nth});
    ASSERT_NO_FATAL_FAILURE(PostMany(*good_, kMessages, kBytes));
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, kMessages, kBytes));
    const auto completions = Completions(*bad_, kMessages);
    ASSERT_EQ(completions.size(), kMessages);
    uint64_t taken = 0;
    while (taken < kMessages && completions[taken].status == spec::IbWcStatus::kSuccess) ++taken;
    EXPECT_EQ(std::memcmp(bad_->side[0].memory->data(), far.memory->data(), taken * kBytes), 0);
    ASSERT_LT(taken, kMessages);
    EXPECT_NE(std::memcmp(bad_->side[0].memory->data() + taken * kBytes, far.memory->data() + taken * kBytes, kBytes),
              0);
    for (uint64_t i = taken; i < kMessages; ++i) {
      EXPECT_EQ(completions[i].status, i == taken ? spec::IbWcStatus::kRemOpErr : spec::IbWcStatus::kWrFlushErr) << i;
    }
    EXPECT_EQ(system_->host(1).station().pcie().counters().refused_writes, ++refused);
    EXPECT_EQ(Events(0), Texts{});
    EXPECT_EQ(Events(1), (Texts{Text(spec::RdmaEventType::kQpFatal, far.qp->qpn(), spec::RdmaError::kQueueDmaError)}));
    EXPECT_EQ(Completions(*good_, kMessages).size(), kMessages);
    ExpectWorks(*good_);
    ExpectNewPairWorks(1);
  }
}

// What the driver finds used is in memory: nothing from the refused CQE on is reported, and the CQ fails.
TEST_P(Errors, RefusedCqeIsNeverReported) {
  constexpr uint64_t kMessages = 8;
  for (const uint64_t nth : {uint64_t{1}, uint64_t{4}}) {
    auto& near = bad_->side[0];
    host::VirtioNetDevice& net = system_->host(0).device().net();
    const auto ring = FindRing(system_->host(0), net.CompletionQueueIndex(near.cq->cqn()).value());
    ASSERT_TRUE(ring.has_value());
    const auto [first, end] = BuffersIn(*ring);
    system_->host(0).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = first, .bytes = end - first, .nth = nth});
    ASSERT_NO_FATAL_FAILURE(PostMany(*good_, kMessages, 100));
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, kMessages, 100));
    const auto completions = Completions(*bad_, kMessages);
    ASSERT_EQ(completions.size(), nth - 1);
    for (uint64_t i = 0; i + 1 < nth; ++i) {
      EXPECT_EQ(completions[i].status, spec::IbWcStatus::kSuccess);
      EXPECT_EQ(completions[i].wr_id, i);
    }
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, ring->index, spec::RdmaError::kQueueDmaError),
                                Text(spec::RdmaEventType::kCqErr, near.cq->cqn(), spec::RdmaError::kQueueDmaError),
                                Text(spec::RdmaEventType::kQpFatal, near.qp->qpn(), spec::RdmaError::kCqFailed)}));
    EXPECT_EQ(Events(1), Texts{});
    EXPECT_EQ(Completions(*good_, kMessages).size(), kMessages);
    ExpectWorks(*good_);
    ExpectNewPairWorks(0);
  }
}

// Of the send queue: element or index of a work request.
TEST_P(Errors, RefusedUsedWriteStopsItsQueue) {
  constexpr uint64_t kMessages = 8;
  for (const uint64_t nth : {uint64_t{1}, uint64_t{2}, uint64_t{7}}) {
    auto& near = bad_->side[0];
    const uint16_t index = system_->host(0).device().net().SendQueueIndex(near.qp->qpn()).value();
    const auto ring = FindRing(system_->host(0), index);
    ASSERT_TRUE(ring.has_value());
    system_->host(0).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = ring->used_address, .bytes = ring->used_bytes, .nth = nth});
    ASSERT_NO_FATAL_FAILURE(PostMany(*good_, kMessages, 100));
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, kMessages, 100));
    const auto completions = Completions(*bad_, kMessages);
    for (uint64_t i = 0; i < completions.size(); ++i) {
      EXPECT_TRUE(completions[i].status == spec::IbWcStatus::kSuccess ||
                  completions[i].status == spec::IbWcStatus::kWrFlushErr);
      EXPECT_EQ(completions[i].wr_id, i);
    }
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, index, spec::RdmaError::kQueueDmaError),
                                Text(spec::RdmaEventType::kQpFatal, near.qp->qpn(), spec::RdmaError::kQueueDmaError)}));
    EXPECT_EQ(Events(1), Texts{});
    EXPECT_EQ(Completions(*good_, kMessages).size(), kMessages);
    ExpectWorks(*good_);
    ExpectNewPairWorks(0);
  }
}

// Of the control queue: used element or index of a command. Nothing says that the command was executed, and none is
// after it; traffic goes on, and a device reset brings everything back.
TEST_P(Errors, RefusedUsedWriteStopsTheControlQueue) {
  for (const uint64_t nth : {uint64_t{1}, uint64_t{2}}) {
    SCOPED_TRACE(nth);
    host::VirtioNetDevice& net = system_->host(0).device().net();
    const auto index = static_cast<uint16_t>(net.CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
    const auto ring = FindRing(system_->host(0), index);
    ASSERT_TRUE(ring.has_value());
    system_->host(0).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = ring->used_address, .bytes = ring->used_bytes, .nth = nth});
    const auto lost = net.roce().CreatePd();
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, host::ErrorCode::kTimeout);
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, index, spec::RdmaError::kQueueDmaError)}));
    EXPECT_EQ(Events(1), Texts{});
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(*good_));
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(*bad_));
    ASSERT_NO_FATAL_FAILURE(ExpectWorksAfterReset());
  }
}

// A second command that is available already, perhaps fetched, is not executed: its owner could not know the state that
// it meets. Nor is one behind a later doorbell.
TEST_P(Errors, RefusedUsedWriteEndsTheCommandsBehindIt) {
  using DescFlags = spec::VirtqDescFlags;
  constexpr size_t kCommandBytes = 1024, kRequestOffset = 256, kResponseOffset = 512;
  constexpr uint8_t kUnwritten = 0xee;
  for (const uint64_t nth : {uint64_t{1}, uint64_t{2}}) {
    SCOPED_TRACE(nth);
    RdmaHost& host = system_->host(0);
    host::VirtioNetDevice& net = host.device().net();
    const auto index = static_cast<uint16_t>(net.CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
    ASSERT_TRUE(net.roce().CreatePd().ok());
    const auto ring = FindRing(host, index);
    ASSERT_TRUE(ring.has_value());
    HostMemory& memory = host.station().memory();
    const RingPosition next = NextPosition(*ring);
    // The driver's command: a table of a readable and a writable descriptor.
    const uint64_t last = next.number + ring->size - 1;
    const RawDescriptor done =
        GetDescriptor(*ring, ring->packed ? last % ring->size : Get16(AvailableEntry(*ring, last)));
    const uint8_t* const table = memory.HostPointer(done.address, 2 * spec::VirtqDesc::kBytes);
    ASSERT_NE(table, nullptr);
    const spec::VirtqDesc readable = spec::VirtqDesc::Decode(table);
    const spec::VirtqDesc writable = spec::VirtqDesc::Decode(table + spec::VirtqDesc::kBytes);
    const uint8_t* const request = memory.HostPointer(readable.addr, readable.len);
    ASSERT_NE(request, nullptr);
    ASSERT_LE(readable.len, kResponseOffset - kRequestOffset);
    // It once more, three times, each with memory of its own.
    auto arena = host.function().AllocateDma(3 * kCommandBytes, HostMemory::kPageBytes);
    ASSERT_TRUE(arena.ok());
    const auto response = [&](size_t i) { return arena.value()->data() + i * kCommandBytes + kResponseOffset; };
    const auto is_written = [&](size_t i) {
      return !std::all_of(response(i), response(i) + writable.len, [](uint8_t byte) { return byte == kUnwritten; });
    };
    const auto put_address = [](uint8_t* descriptor, uint64_t address) {
      for (size_t i = 0; i < sizeof(address); ++i) descriptor[i] = static_cast<uint8_t>(address >> (8 * i));
    };
    const auto add = [&](size_t i) {
      const uint64_t address = arena.value()->address() + i * kCommandBytes;
      uint8_t* const own = arena.value()->data() + i * kCommandBytes;
      std::memcpy(own, table, 2 * spec::VirtqDesc::kBytes);
      put_address(own, address + kRequestOffset);
      put_address(own + spec::VirtqDesc::kBytes, address + kResponseOffset);
      std::memcpy(own + kRequestOffset, request, readable.len);
      std::fill_n(response(i), writable.len, kUnwritten);
      const uint64_t number = next.number + i;
      const uint64_t place = number % ring->size;
      constexpr uint16_t kLap = DescFlags::kAvail | DescFlags::kUsed;
      const auto lap = static_cast<uint16_t>(ring->packed && number >= ring->size ? next.flags ^ kLap : next.flags);
      PutDescriptor(*ring, place,
                    {address, 2 * spec::VirtqDesc::kBytes, static_cast<uint16_t>(lap | DescFlags::kIndirect),
                     static_cast<uint16_t>(ring->packed ? place : 0)});
      if (!ring->packed) {
        Put16(AvailableEntry(*ring, number), place);
        PutAvailableIndex(*ring, number + 1);
      }
    };
    host.station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = ring->used_address, .bytes = ring->used_bytes, .nth = nth});
    add(0);
    add(1);
    ASSERT_TRUE(RingRawDoorbell(host, index));
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, index, spec::RdmaError::kQueueDmaError)}));
    EXPECT_TRUE(is_written(0));
    EXPECT_FALSE(is_written(1));
    add(2);
    ASSERT_TRUE(RingRawDoorbell(host, index));
    EXPECT_EQ(Events(0), Texts{});
    EXPECT_FALSE(is_written(1));
    EXPECT_FALSE(is_written(2));
    EXPECT_EQ(Events(1), Texts{});
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(*good_));
    ASSERT_NO_FATAL_FAILURE(ExpectWorksAfterReset());
  }
}

// Likewise, the answer itself. The device needs no reset: the queue's own is enough.
TEST_P(Errors, RefusedAnswerStopsTheControlQueue) {
  for (const bool by_queue : {true, false}) {
    SCOPED_TRACE(by_queue ? "reset of the queue" : "reset of the device");
    host::VirtioNetDevice& net = system_->host(0).device().net();
    const auto index = static_cast<uint16_t>(net.CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
    const auto ring = FindRing(system_->host(0), index);
    ASSERT_TRUE(ring.has_value());
    // The driver's buffer for a request and its answer, by the table of the last command.
    const uint8_t* const table =
        system_->host(0).station().memory().HostPointer(GetDescriptor(*ring, 0).address, spec::VirtqDesc::kBytes);
    ASSERT_NE(table, nullptr);
    const uint64_t buffer = spec::VirtqDesc::Decode(table).addr;
    const uint64_t before = system_->host(0).station().pcie().counters().refused_writes;
    system_->host(0).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = buffer, .bytes = HostMemory::kPageBytes, .nth = 1});
    const auto lost = net.roce().CreatePd();
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, host::ErrorCode::kTimeout);
    EXPECT_EQ(system_->host(0).station().pcie().counters().refused_writes, before + 1);
    EXPECT_EQ(Events(0), (Texts{Text(spec::RdmaEventType::kVqErr, index, spec::RdmaError::kQueueDmaError)}));
    EXPECT_EQ(Events(1), Texts{});
    EXPECT_EQ(net.pci().ReadStatus() & spec::VirtioDeviceStatus::kDeviceNeedsReset, 0);
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(*good_));
    ASSERT_NO_FATAL_FAILURE(ExpectWorks(*bad_));
    if (by_queue) {
      const verbs::Status reset = net.pci().ResetQueue(index, kMillisecond);
      EXPECT_TRUE(reset.ok()) << host::ToString(reset.error());
      ASSERT_NO_FATAL_FAILURE(ExpectWorks(*good_));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWorksAfterReset());
  }
}

// Of the event queue: event, used element or index. There is no event of that, nor any later one; all else goes on.
TEST_P(Errors, RefusedWriteStopsTheEventQueue) {
  for (const uint64_t nth : {uint64_t{0}, uint64_t{1}, uint64_t{2}}) {
    SCOPED_TRACE(nth);
    const auto index = static_cast<uint16_t>(system_->host(1).device().net().pci().NumQueues() - 1);
    const auto ring = FindRing(system_->host(1), index);
    ASSERT_TRUE(ring.has_value());
    const auto [first, end] = BuffersIn(*ring);
    DmaFault fault{
        .kind = DmaFault::Kind::kRefused, .address = ring->used_address, .bytes = ring->used_bytes, .nth = nth};
    if (nth == 0) fault = {.kind = DmaFault::Kind::kRefused, .address = first, .bytes = end - first, .nth = 1};
    system_->host(1).station().pcie().AddFault(fault);
    for (const bool is_first : {true, false}) {
      ASSERT_TRUE(Post(*bad_, 0, 0, 64, 1).ok());  // a wrong key, of which the peer has an event
      const auto completions = Completions(*bad_, 1);
      ASSERT_EQ(completions.size(), 1u);
      EXPECT_EQ(completions[0].status, spec::IbWcStatus::kRemAccessErr);
      EXPECT_EQ(Events(1), Texts{}) << (is_first ? "the refused one" : "a later one");
      EXPECT_EQ(system_->host(1).station().pcie().counters().refused_writes, nth + 1);
      ASSERT_NO_FATAL_FAILURE(ExpectWorks(*good_));
      bad_.reset();
      ASSERT_NO_FATAL_FAILURE(Connect(&bad_));  // commands, too
      ASSERT_NO_FATAL_FAILURE(ExpectWorks(*bad_));
    }
    EXPECT_EQ(Events(0), Texts{});
    ASSERT_NO_FATAL_FAILURE(ExpectWorksAfterReset(1));
  }
}

// Commands as fast as they can be, so that work is in flight when they are done.
class Fence : public Errors {
 protected:
  Fence() { firmware_access_cycles_ = 1; }
  // Its transmitter takes nothing for so long, as with a PAUSE of the peer: the line is busy with a frame that the peer
  // drops, because it is too long.
  void HoldTransmitter(size_t number, uint64_t ns) {
    Wire& wire = system_->topology().wire(number);
    WireFrame frame;
    frame.bytes.resize(ns * wire.parameters().rate_mbps / 8000);
    wire.Send(0, system_->scheduler().now(), std::move(frame));
  }
};

// The answer of DEREG_MR comes when the last access that was granted before has ended. Here the buffers between host
// memory and wire are full, and room for the next packets is taken as soon as one leaves. From the answer on the host
// owns the memory again, and an access would be a violation.
TEST_P(Fence, DeregistrationWaitsForReadsOfTheRegion) {
  const spec::Config& config = *std::get<1>(GetParam());
  const bool is_fast = config.link_mbps >= 10'000;
  // Host memory is faster than the wire by a fourth at 100 Gb/s.
  const uint32_t bytes = is_fast ? 6U << 20 : 256U << 10;
  const uint64_t until_full = (is_fast ? 260 : 700) * kMicrosecond;
  for (unsigned round = 0; round < 2; ++round) {
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_, {.memory_bytes = bytes, .path_mtu = spec::IbMtu::kMtu4096}));
    ASSERT_TRUE(Post(*bad_, 1, 0, bytes).ok());
    RunFor(until_full + 7 * round * kMicrosecond);
    bad_->side[0].region.reset();
    bad_->side[0].memory.reset();
    const auto completions = Completions(*bad_, 1);
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, spec::IbWcStatus::kLocProtErr) << spec::ToString(completions[0].status);
    ExpectWorks(*good_);
  }
}

// Likewise, for a read that begins after the device has read the command. Host memory is slow, and watched, because
// what the driver sees is later than the answer: the device then reads whether it wants an interrupt, and DMA reads are
// answered in order.
TEST_P(Fence, DeregistrationWaitsForASlowRead) {
  constexpr uint32_t kDelayNs = 30'000;  // less than a completion may take
  RdmaHost& host = system_->host(0);
  const auto index =
      static_cast<uint16_t>(host.device().net().CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
  const auto ring = FindRing(host, index);
  ASSERT_TRUE(ring.has_value());
  for (const uint64_t after_ns : {1000, 1800}) {
    SCOPED_TRACE(after_ns);
    auto& [near, far] = bad_->side;
    const uint64_t first = near.memory->address(), size = near.memory->size();
    host.station().pcie().AddFault(
        {.kind = DmaFault::Kind::kDelay, .address = first, .bytes = size, .delay_ns = kDelayNs});
    std::string order;  // of reads of the region, and of writes to the used ring
    host.station().memory().OnAccess([&](uint64_t address, uint64_t /*bytes*/, std::span<const uint8_t> written) {
      if (written.empty() && address - first < size) order += 'r';
      if (!written.empty() && address - ring->used_address < ring->used_bytes) order += 'u';
    });
    system_->scheduler().Call(
        system_->scheduler().now() + after_ns * kPicosecondsPerNanosecond, [this, sge = near.region->Sge(0, 64), &far] {
          const verbs::Status posted = bad_->side[0].qp->PostSend({.opcode = spec::IbWrOpcode::kRdmaWrite,
                                                                   .sg_list = std::span(&sge, 1),
                                                                   .remote_addr = far.region->address(),
                                                                   .rkey = far.region->rkey()});
          EXPECT_TRUE(posted.ok());
        });
    near.region.reset();
    host.station().memory().OnAccess(nullptr);
    EXPECT_LT(order.find('r'), order.find('u')) << order;
    const auto completions = Completions(*bad_, 1);
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].status, spec::IbWcStatus::kSuccess) << spec::ToString(completions[0].status);
    ExpectWorks(*good_);
    ExpectNewPairWorks(0);
  }
}

// What was granted has room in the buffer, so the answer waits for host memory only, however long the peer's PAUSE is:
// of WRITEs, and of responses to the peer's READs.
TEST_P(Fence, DeregistrationDoesNotWaitForTheWire) {
  constexpr uint64_t kHold = 500 * kMicrosecond, kFull = 60 * kMicrosecond, kMost = 100 * kMicrosecond;
  constexpr uint32_t kBytes = 1U << 20;
  for (const bool is_read : {false, true}) {
    SCOPED_TRACE(is_read ? "responses" : "requests");
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_, {.memory_bytes = kBytes, .path_mtu = spec::IbMtu::kMtu4096}));
    if (is_read) {
      auto& [far, near] = bad_->side;
      for (uint64_t i = 0; i < 4; ++i) {
        const spec::RdmaSge sge = near.region->Sge(i * kBytes / 4, kBytes / 4);
        ASSERT_TRUE(near.qp
                        ->PostSend({.wr_id = i,
                                    .opcode = spec::IbWrOpcode::kRdmaRead,
                                    .sg_list = std::span(&sge, 1),
                                    .remote_addr = far.region->address() + i * kBytes / 4,
                                    .rkey = far.region->rkey()})
                        .ok());
      }
      RunFor(10 * kMicrosecond);  // the requests arrive
      HoldTransmitter(0, kHold);
    } else {
      HoldTransmitter(0, kHold);
      ASSERT_TRUE(Post(*bad_, 0, 0, kBytes).ok());
    }
    RunFor(kFull);
    auto& side = bad_->side[0];
    const uint64_t begin = system_->host(0).function().NowNs();
    side.region.reset();
    side.memory.reset();
    EXPECT_LT(system_->host(0).function().NowNs() - begin, kMost);
    RunFor(kHold);
    const size_t count = is_read ? 4 : 1;
    const auto completions = Completions(*bad_, count, is_read ? 1 : 0);
    ASSERT_EQ(completions.size(), count);
    EXPECT_NE(completions.back().status, spec::IbWcStatus::kSuccess);
    ExpectWorks(*good_);
  }
}

// Likewise, when a NAK waits for the wire and frames of others are received behind it.
TEST_P(Fence, DeregistrationDoesNotWaitForANak) {
  constexpr uint64_t kHold = 500 * kMicrosecond, kMost = 100 * kMicrosecond, kArrived = 10 * kMicrosecond;
  Pair refused;
  ASSERT_NO_FATAL_FAILURE(Connect(&refused));
  HoldTransmitter(0, kHold);
  ASSERT_NO_FATAL_FAILURE(PostMany(*good_, 32, 2048));  // more than the MAC has room for
  RunFor(20 * kMicrosecond);
  // Acknowledges take every place for answers; then a SEND without receive: an RNR NAK.
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(Post(*good_, i, 64 * i, 64, 0, 1).ok());
    RunFor(kArrived);
  }
  auto& [near, far] = refused->side;
  const spec::RdmaSge sge = far.region->Sge(0, 64);
  ASSERT_TRUE(far.qp->PostSend({.wr_id = 9, .opcode = spec::IbWrOpcode::kSend, .sg_list = std::span(&sge, 1)}).ok());
  RunFor(kArrived);
  ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, 8, 1000, 1));
  RunFor(10 * kArrived);
  auto& side = bad_->side[0];
  EXPECT_EQ(std::memcmp(side.memory->data(), bad_->side[1].memory->data(), 8000), 0) << "data waits for the wire";
  const uint64_t begin = system_->host(0).function().NowNs();
  side.region.reset();
  side.memory.reset();
  EXPECT_LT(system_->host(0).function().NowNs() - begin, kMost);
  const spec::RdmaSge place = near.region->Sge(0, 64);
  ASSERT_TRUE(near.qp->PostRecv({.wr_id = 1, .sg_list = std::span(&place, 1)}).ok());
  RunFor(kHold);
  const auto completions = Completions(*refused, 1, 1);
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].status, spec::IbWcStatus::kSuccess) << spec::ToString(completions[0].status);
  EXPECT_EQ(Completions(*good_, 32).size(), 32u);
  EXPECT_EQ(Completions(*good_, 5, 1).size(), 5u);
  ExpectWorks(*good_);
}

// Likewise, writes of the payload at the responder, while the peer goes on sending; the connection fails by its key.
TEST_P(Fence, DeregistrationWaitsForWritesOfTheRegion) {
  for (unsigned round = 0; round < 6; ++round) {
    if (bad_ == nullptr) {
      ASSERT_NO_FATAL_FAILURE(Connect(&bad_));
    }
    ASSERT_NO_FATAL_FAILURE(PostMany(*bad_, 32, 2048));
    RunFor((4 + round) * kMicrosecond);  // frames are on their way
    bad_->side[1].region.reset();
    bad_->side[1].memory.reset();
    const auto completions = Completions(*bad_, 32);
    ASSERT_EQ(completions.size(), 32u);
    ExpectWorks(*good_);
    bad_.reset();
  }
}

// A message of 128 bursts, of 12 where cycles are expensive.
class LongMessage : public Errors {
 protected:
  static constexpr uint32_t kMtu = 4096;
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Errors::SetUp());
    const bool is_cheap = std::get<0>(GetParam()) == "model" && config().link_mbps >= 10'000;
    bytes_ = (is_cheap ? 16U << 20 : 3U << 19) + 5;
    Begin();
  }
  const spec::Config& config() const { return *std::get<1>(GetParam()); }
  void Begin() {
    bad_.reset();
    ASSERT_NO_FATAL_FAILURE(Connect(&bad_, {.memory_bytes = bytes_, .path_mtu = spec::IbMtu::kMtu4096}));
    ASSERT_TRUE(Post(*bad_, 1, 0, bytes_).ok());
    RunFor(BurstNs());  // it is in flight
  }
  uint64_t Now() { return system_->host(0).function().NowNs(); }
  // Bytes on the wire.
  uint64_t NsOf(uint64_t bytes) const { return bytes * 8 * 1000 / config().link_mbps; }
  uint64_t BurstNs() const {
    const uint64_t bytes = config().send_burst_bytes;
    return NsOf(bytes + bytes / kMtu * 100);
  }
  void ExpectAllOfIt() {
    const auto completion = bad_->side[0].cq->Wait(Now() + 10 * kMillisecond + 2 * NsOf(bytes_));
    ASSERT_TRUE(completion.ok() && completion->has_value());
    EXPECT_EQ((*completion)->status, spec::IbWcStatus::kSuccess) << spec::ToString((*completion)->status);
    RunFor(50 * kMicrosecond);
    EXPECT_EQ(std::memcmp(bad_->side[0].memory->data(), bad_->side[1].memory->data(), bytes_), 0);
  }
  uint32_t bytes_ = 0;
};

TEST_P(LongMessage, DoesNotBlockShortMessagesOfOtherQps) {
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t begin = Now();
    ASSERT_TRUE(Post(*good_, i, 64 * i, 64).ok());
    const auto completion = good_->side[0].cq->Wait(begin + 10 * kMillisecond);
    ASSERT_TRUE(completion.ok() && completion->has_value());
    // What is in the buffers of payload and MAC, the rest of a burst and one more, and the time of an undelayed
    // message.
    const uint64_t buffered = config().tx_buffer_bytes + MacParameters{}.buffer_bytes;
    EXPECT_LT(Now() - begin, NsOf(buffered) + 2 * BurstNs() + 20 * kMicrosecond) << i;
    EXPECT_EQ(bad_->side[0].cq->Wait(Now())->has_value(), false);
  }
  ExpectAllOfIt();
  ExpectWorks(*good_);
  EXPECT_EQ(Events(0), Texts{});
}

// Stopping a queue pair waits for the bursts of others, and net frames leave meanwhile, in their turns.
TEST_P(LongMessage, NetFramesContinueWhileAQpStops) {
  constexpr size_t kFrames = 60;
  host::VirtioNetDevice& sender = system_->host(0).device().net();
  host::VirtioNetDevice& receiver = system_->host(1).device().net();
  for (size_t i = 0; i < kFrames; ++i) {
    const host::Status sent =
        sender.transmit(0).Send(PlainFrame(system_->host(1).mac(), system_->host(0).mac(), 1514, i));
    ASSERT_TRUE(sent.ok()) << host::ToString(sent.error());
  }
  good_->side[0].qp.reset();
  size_t arrived = 0;
  // They take turns with the long message's on the wire, which the stop does not wait for.
  const uint64_t deadline = system_->host(1).function().NowNs() + kFrames * 100 * kMicrosecond;
  for (; arrived < kFrames; ++arrived) {
    const auto frame = receiver.Receive(0, deadline);
    ASSERT_TRUE(frame.ok());
    if (!frame->has_value()) break;
  }
  EXPECT_EQ(arrived, kFrames);
  good_.reset();
  ExpectAllOfIt();
}

TEST_P(LongMessage, DoesNotDelayTheStopOfAnotherQp) {
  const uint64_t begin = Now();
  good_->side[0].qp.reset();
  // Host memory and the firmware: nothing waits for the wire.
  EXPECT_LT(Now() - begin, 150 * kMicrosecond);
  good_.reset();
  ExpectAllOfIt();
  ASSERT_NO_FATAL_FAILURE(Connect(&good_));
  ExpectWorks(*good_);
}

TEST_P(LongMessage, StopsWithItsQp) {
  const uint64_t begin = Now();
  bad_->side[0].qp.reset();
  EXPECT_LT(Now() - begin, 150 * kMicrosecond);
  // The host owns its memory again.
  bad_->side[0].region.reset();
  bad_->side[0].memory.reset();
  RunFor(100 * kMicrosecond);
  ExpectWorks(*good_);
  ASSERT_NO_FATAL_FAILURE(Begin());
  ExpectAllOfIt();
  ExpectWorks(*good_);
}

VIREO_ON_EVERY_DEVICE_ONCE(Errors);
VIREO_ON_EVERY_DEVICE_ONCE(Fence);
VIREO_ON_EVERY_DEVICE_ONCE(LongMessage);

}  // namespace
}  // namespace vireo::sim
