// SPDX-License-Identifier: Apache-2.0
// RDMA WRITE on a reliable connection, from the verbs call of one host to the memory of the other: on the model, on the
// RTL, and on both in lockstep, where every event must be in the same cycle.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/traffic/forged_frame.h"
#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

class Write : public PairTest {
 protected:
  void SetUp() override { Build(); }
  // WRITEs bytes of host 0's memory to host 1's and waits for the completion.
  spec::RdmaCqReq DoWrite(uint64_t wr_id, uint64_t from, uint64_t to, uint32_t bytes) {
    auto& [near, far] = pair_->side;
    const spec::RdmaSge sge = near.region->Sge(from, bytes);
    const verbs::Status posted = near.qp->PostSend({.wr_id = wr_id,
                                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                    .sg_list = std::span(&sge, 1),
                                                    .remote_addr = far.region->address() + to,
                                                    .rkey = far.region->rkey()});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
    return Next(0).value_or(spec::RdmaCqReq{});
  }
  void ExpectWritten(uint64_t wr_id, uint64_t from, uint64_t to, uint32_t bytes) {
    auto& [near, far] = pair_->side;
    std::vector<uint8_t> expected(far.memory->data(), far.memory->data() + far.memory->size());
    std::memcpy(expected.data() + to, near.memory->data() + from, bytes);
    const spec::RdmaCqReq completion = DoWrite(wr_id, from, to, bytes);
    EXPECT_EQ(completion.status, spec::IbWcStatus::kSuccess) << spec::ToString(completion.status);
    EXPECT_EQ(completion.wr_id, wr_id);
    EXPECT_EQ(completion.opcode, spec::IbWcOpcode::kRdmaWrite);
    EXPECT_EQ(completion.qp_num, near.qp->qpn());
    // The acknowledge means that the peer has the data, not that it is already visible in memory.
    system_->topology().RunFor(kArrivalTime);
    // All memory, to check that nothing else was written.
    EXPECT_EQ(std::memcmp(expected.data(), far.memory->data(), expected.size()), 0) << bytes << " bytes";
  }

  // The connection's next packet has no effect on host 1 with any of these changes.
  using Change = std::function<void(Bytes& frame, spec::Bth& bth)>;
  void ExpectDropped(const std::vector<Change>& changes) {
    log_.Watch(system_->host(1).station());
    Connect({});
    ExpectWritten(1, 0, 0, 64);
    ASSERT_FALSE(log_.entries().empty());
    const FrameLog::Entry good = log_.entries().front();
    ASSERT_EQ(good.opcode(), spec::BthOpcode::kRcRdmaWriteOnly);
    const Bytes before = Copy(*pair_->side[1].memory);
    const size_t sent = log_.CountSent();
    for (const Change& change : changes) {
      Bytes frame = good.frame;
      spec::Bth bth = good.headers.bth;
      bth.psn = (bth.psn + 1) % (1U << spec::kPsnBits);
      change(frame, bth);
      bth.Encode(frame.data() + good.headers.bth_offset);
      const size_t payload = good.headers.bth_offset + spec::Bth::kBytes + spec::Reth::kBytes;
      for (size_t i = payload; i < payload + 64; ++i) frame[i] ^= 0xff;
      FixAll(frame);
      system_->topology().station(1).mac().OnFrame({std::move(frame), false, ""});
      RunFor(20'000);
    }
    EXPECT_EQ(log_.CountSent(), sent) << "it was answered";
    EXPECT_EQ(Difference(before, *pair_->side[1].memory), "");
    ExpectWritten(2, 100, 300, 64);  // with that PSN
  }

  FrameLog log_;  // of host 1, if watched
};

// Builds its own system.
class WriteFromChosenAddress : public Write {
 protected:
  void SetUp() override {}
};

TEST_P(Write, Carries64BytesAnd8KibIntact) {
  Connect({});
  ExpectWritten(1, 0, 0, 64);
  ExpectWritten(2, 4096, 8192, 8192);
}

TEST_P(Write, CarriesEverySizeAtEveryAlignment) {
  for (const spec::IbMtu mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu4096}) {
    Connect({.path_mtu = mtu});
    uint64_t wr_id = 0;
    for (const uint32_t bytes : {1u, 3u, 4u, 255u, 256u, 257u, 4095u, 4096u, 4097u, 12'345u}) {
      ++wr_id;
      ExpectWritten(wr_id, 4096 - wr_id, 8192 - 3 * wr_id, bytes);
    }
    pair_.reset();
  }
}

TEST_P(Write, CarriesIpv6) {
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(system_->host(i).AddIpv6Gid(), "");
  Connect({.gid_index = RdmaHost::kIpv6Gid});
  ASSERT_FALSE(HasFatalFailure());
  ExpectWritten(1, 5, 9, 1);
  ExpectWritten(2, 4096, 8192, 8193);
}

// Addresses for which the carries of the header's sum produce another carry. [RFC 791, 3.1; RFC 1071]
TEST_P(WriteFromChosenAddress, Ipv4ChecksumWithTwoCarries) {
  RdmaSystemOptions options;
  options.hosts.resize(2);
  options.hosts[0].ipv4 = {192, 168, 0x6f, 0xc8};
  ASSERT_NO_FATAL_FAILURE(Build(options));
  log_.Watch(system_->host(1).station());
  Connect({});
  ExpectWritten(1, 0, 0, 64);
  ASSERT_FALSE(log_.entries().empty());
  const uint8_t* header = log_.entries().front().frame.data() + spec::Ethernet::kBytes;
  uint32_t sum = 0;
  for (size_t i = 0; i < spec::Ipv4::kBytes; i += 2) {
    if (i != spec::Ipv4::kHeaderChecksumOffset) sum += static_cast<uint32_t>(header[i] << 8U | header[i + 1]);
  }
  EXPECT_GT((sum & 0xffff) + (sum >> 16), 0xffffU) << "this address no longer gives two carries";
}

TEST_P(Write, ZeroLengthWriteCompletes) {
  Connect({});
  ExpectWritten(1, 0, 0, 0);
}

TEST_P(Write, WrongRemoteKeyIsRefusedAndWritesNothing) {
  Connect({});
  auto& [near, far] = pair_->side;
  const std::vector<uint8_t> before(far.memory->data(), far.memory->data() + far.memory->size());
  const spec::RdmaSge sge = near.region->Sge(0, 64);
  ASSERT_TRUE(near.qp
                  ->PostSend({.wr_id = 5,
                              .opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address(),
                              .rkey = far.region->rkey() ^ 1})
                  .ok());
  auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
  ASSERT_TRUE(completion.ok() && completion->has_value());
  EXPECT_EQ((*completion)->status, spec::IbWcStatus::kRemAccessErr) << spec::ToString((*completion)->status);
  EXPECT_EQ(std::memcmp(before.data(), far.memory->data(), before.size()), 0);
}

TEST_P(Write, RemoteRegionEndIsExact) {
  Connect({});
  const uint64_t size = pair_->side[1].memory->size();
  ExpectWritten(1, 5, size - 64, 64);
  const Bytes before = Copy(*pair_->side[1].memory);
  EXPECT_EQ(DoWrite(2, 0, size - 63, 64).status, spec::IbWcStatus::kRemAccessErr);
  EXPECT_EQ(Difference(before, *pair_->side[1].memory), "");
}

TEST_P(Write, LocalRegionEndIsExact) {
  Connect({});
  const uint64_t size = pair_->side[0].memory->size();
  ExpectWritten(1, size - 64, 5, 64);
  const Bytes before = Copy(*pair_->side[1].memory);
  EXPECT_EQ(DoWrite(2, size - 63, 0, 64).status, spec::IbWcStatus::kLocProtErr);
  EXPECT_EQ(Difference(before, *pair_->side[1].memory), "");
}

// [IBTA vol. 1, 9.6.1.1.3]
TEST_P(Write, WrongPartitionKeyIsDropped) {
  // A different one, or this one with a low bit changed.
  const auto with = [](uint16_t pkey) { return [pkey](Bytes&, spec::Bth& bth) { bth.pkey = pkey; }; };
  ExpectDropped({with(0x8001), with(spec::kPkeyDefault ^ 1)});
}

TEST_P(Write, PacketOfAnotherHostIsDropped) {
  constexpr size_t kSource = spec::Ethernet::kBytes + spec::Ipv4::kSourceOffset;
  ExpectDropped({[](Bytes& frame, spec::Bth&) { frame[kSource + 3] ^= 4; },
                 [](Bytes& frame, spec::Bth&) { frame[kSource] ^= 1; }});
}

TEST_P(Write, QueuePairWithoutTheRightRefusesAWrite) {
  ConnectedPairOptions options;
  options.connection.access = spec::IbAccessFlags::kRemoteRead;
  Connect(options);
  const Bytes before = Copy(*pair_->side[1].memory);
  EXPECT_EQ(DoWrite(1, 0, 0, 64).status, spec::IbWcStatus::kRemInvReqErr);
  EXPECT_EQ(Difference(before, *pair_->side[1].memory), "");
}

TEST_P(Write, RegionWithoutTheRightRefusesAWrite) {
  Connect({});
  auto& far = pair_->side[1];
  auto made = far.pd->Register(*far.memory, spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteRead);
  ASSERT_TRUE(made.ok()) << host::ToString(made.error());
  far.region = *made;
  const Bytes before = Copy(*far.memory);
  EXPECT_EQ(DoWrite(1, 0, 0, 64).status, spec::IbWcStatus::kRemAccessErr);
  EXPECT_EQ(Difference(before, *far.memory), "");
}

TEST_P(Write, MissingLocalKeyFailsLocally) {
  Connect({});
  auto& [near, far] = pair_->side;
  spec::RdmaSge sge = near.region->Sge(0, 64);
  sge.lkey ^= 1;
  ASSERT_TRUE(near.qp
                  ->PostSend({.wr_id = 6,
                              .opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = std::span(&sge, 1),
                              .remote_addr = far.region->address(),
                              .rkey = far.region->rkey()})
                  .ok());
  auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
  ASSERT_TRUE(completion.ok() && completion->has_value());
  EXPECT_EQ((*completion)->status, spec::IbWcStatus::kLocProtErr) << spec::ToString((*completion)->status);
  EXPECT_EQ((*completion)->wr_id, 6U);
}

TEST_P(Write, ManyAtOnceCompleteInOrder) {
  Connect({});
  auto& [near, far] = pair_->side;
  constexpr uint64_t kWrites = 200;
  uint64_t posted = 0, completed = 0;
  while (completed < kWrites) {
    while (posted < kWrites) {
      const spec::RdmaSge sge = near.region->Sge(posted * 64 % 4096, 64);
      if (!near.qp
               ->PostSend({.wr_id = posted,
                           .opcode = spec::IbWrOpcode::kRdmaWrite,
                           .sg_list = std::span(&sge, 1),
                           .remote_addr = far.region->address() + posted * 128,
                           .rkey = far.region->rkey()})
               .ok()) {
        break;
      }
      ++posted;
    }
    auto completion = near.cq->Wait(system_->host(0).function().NowNs() + kSecondNs / 1000);
    ASSERT_TRUE(completion.ok() && completion->has_value()) << completed;
    ASSERT_EQ((*completion)->status, spec::IbWcStatus::kSuccess);
    ASSERT_EQ((*completion)->wr_id, completed);
    ++completed;
  }
  for (uint64_t i = 0; i < kWrites; ++i) {
    ASSERT_EQ(std::memcmp(near.memory->data() + i * 64 % 4096, far.memory->data() + i * 128, 64), 0) << i;
  }
}

// Host 1 sends long packets; between two of them it can send one acknowledge. Short messages that host 0 writes
// meanwhile on four connections are acknowledged by fewer packets than messages.
TEST_P(Write, AcknowledgesCoalesceWhileTheWireIsBusy) {
  constexpr size_t kShortPairs = 4;
  constexpr uint64_t kShort = 32, kLong = 4;  // messages of each
  constexpr uint32_t kShortBytes = 64, kLongBytes = 32'768;
  std::vector<std::unique_ptr<ConnectedPair>> pairs;  // the last one has the long messages
  while (pairs.size() < kShortPairs + 1) {
    std::string error;
    pairs.push_back(MakeConnectedPair(
        system_->host(0), system_->host(1),
        {.path_mtu = spec::IbMtu::kMtu4096, .qp = {.max_send_wr = static_cast<uint32_t>(kShort)}}, &error));
    ASSERT_NE(pairs.back(), nullptr) << error;
  }
  auto random = MakeRandom("write.acknowledges");
  for (const auto& pair : pairs) {
    for (auto& side : pair->side) Fill(*side.memory, random);
  }
  log_.Watch(system_->host(1).station());
  const auto post = [](ConnectedPair& pair, size_t from, uint64_t wr_id, uint32_t bytes) {
    auto& [near, far] = pair.side;
    auto& source = from == 0 ? near : far;
    auto& target = from == 0 ? far : near;
    const spec::RdmaSge sge = source.region->Sge(wr_id * bytes % kLongBytes, bytes);
    const verbs::Status posted =
        source.qp->PostSend({.wr_id = wr_id,
                             .opcode = spec::IbWrOpcode::kRdmaWrite,
                             .sg_list = std::span(&sge, 1),
                             .remote_addr = target.region->address() + wr_id * bytes % kLongBytes,
                             .rkey = target.region->rkey()});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  };
  for (uint64_t i = 0; i < kLong; ++i) post(*pairs.back(), 1, i, kLongBytes);
  for (uint64_t i = 0; i < kShort; ++i) {
    for (size_t k = 0; k < kShortPairs; ++k) post(*pairs[k], 0, i, kShortBytes);
  }
  const auto expect_complete = [this](ConnectedPair& pair, size_t from, uint64_t messages) {
    for (uint64_t i = 0; i < messages; ++i) {
      const auto completion = NextOf(*pair.side.at(from).cq, from, kSecondNs / 100);
      ASSERT_TRUE(completion.has_value());
      ASSERT_EQ(completion->status, spec::IbWcStatus::kSuccess) << spec::ToString(completion->status);
      ASSERT_EQ(completion->wr_id, i);
    }
  };
  for (size_t k = 0; k < kShortPairs; ++k) ASSERT_NO_FATAL_FAILURE(expect_complete(*pairs[k], 0, kShort));
  ASSERT_NO_FATAL_FAILURE(expect_complete(*pairs.back(), 1, kLong));
  Settle();

  // Nothing was retransmitted or acknowledged twice, and the last message of each connection was acknowledged.
  EXPECT_EQ(log_.Count(false, spec::BthOpcode::kRcRdmaWriteOnly), kShortPairs * kShort);
  const size_t acknowledges = log_.Count(true, spec::BthOpcode::kRcAcknowledge);
  RecordProperty("acknowledges", static_cast<int>(acknowledges));
  EXPECT_GE(acknowledges, kShortPairs);
  EXPECT_LE(acknowledges, kShortPairs * kShort * 7 / 8);
  for (size_t k = 0; k < kShortPairs; ++k) {
    const auto& [near, far] = pairs[k]->side;
    EXPECT_EQ(std::memcmp(near.memory->data(), far.memory->data(), kShort * kShortBytes), 0) << k;
  }
  const auto& [near, far] = pairs.back()->side;
  EXPECT_EQ(std::memcmp(near.memory->data(), far.memory->data(), kLongBytes), 0);
  pairs.clear();
}

VIREO_ON_EVERY_DEVICE(Write);
VIREO_ON_EVERY_DEVICE(WriteFromChosenAddress);

}  // namespace
}  // namespace vireo::sim
