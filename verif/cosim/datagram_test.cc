// SPDX-License-Identifier: Apache-2.0
// Datagrams, UD and GSI: each is one packet and arrives intact behind its network header or not at all; an error of one
// has no effect on another. [IBTA vol. 1, 9.8.3; Annex A17, 4.5.4 (contents of a receive buffer)]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kGrh = spec::kRdmaUdGrhBytes;
constexpr uint32_t kMtu = 4096;                   // link MTU of every configuration
constexpr uint32_t kOwnQkey = uint32_t{1} << 31;  // selects the Q_Key of the sender's QP
constexpr uint32_t kElements = 4;                 // supported by every configuration
constexpr std::array<uint8_t, 4> kImmediate = {0xca, 0xfe, 0x00, 0x99};

class Datagram : public SystemTestWith<DatagramPair> {
 protected:
  void SetUp() override {
    Build();
    if (!HasFatalFailure()) log_.Watch(system_->host(1).station());
  }
  static DatagramPairOptions Options(spec::IbQpType type = spec::IbQpType::kUd) {
    DatagramPairOptions options;
    options.qp.type = type;
    options.qp.max_send_sge = options.qp.max_recv_sge = kElements;
    options.qp.max_inline_data = 64;
    if (type == spec::IbQpType::kGsi) options.qkey = {spec::kGsiQkey, spec::kGsiQkey};
    return options;
  }
  void Connect(const DatagramPairOptions& options = Options()) {
    pair_.reset();
    std::string error;
    pair_ = MakeDatagramPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
    auto random = MakeRandom("datagram");
    for (auto& one : pair_->side) Fill(*one.memory, random);
  }
  verbs::SendRequest Send(uint64_t wr_id, const Elements& what, size_t from = 0) {
    return pair_->To(from, {.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = what});
  }
  Elements What(uint64_t offset, uint32_t bytes) { return {near().region->Sge(offset, bytes)}; }
  Elements Into(uint64_t offset, uint32_t payload) { return {far().region->Sge(offset, kGrh + payload)}; }

  // The bytes before the payload of the last datagram sent to host 1, from its frame: an IPv6 header; or 20 zeros, then
  // the IPv4 header.
  Bytes HeaderOfLast() const {
    Bytes header(kGrh);
    const FrameLog::Entry& last = log_.entries().back();
    const uint8_t* ip = last.frame.data() + last.headers.ip_offset;
    if (last.headers.is_ipv6) {
      static_assert(spec::Ipv6::kBytes == kGrh);
      std::copy_n(ip, spec::Ipv6::kBytes, header.begin());
    } else {
      std::copy_n(ip, spec::Ipv4::kBytes, header.end() - spec::Ipv4::kBytes);
    }
    return header;
  }
  // Polls the completion of host 1's receive into `list`, of `data` from host 0, and compares all memory. `expected` is
  // the memory before.
  void ExpectReceived(uint64_t wr_id, const Elements& list, const Bytes& data, std::array<Bytes, 2> expected,
                      const uint8_t* immediate = nullptr) {
    const auto completion = Next(1);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    ASSERT_EQ(completion->status, IbWcStatus::kSuccess)
        << spec::ToString(completion->status) << ", " << completion->vendor_err;
    EXPECT_EQ(completion->opcode, IbWcOpcode::kRecv);
    EXPECT_EQ(completion->byte_len, kGrh + data.size());
    EXPECT_EQ(completion->qp_num, far().qp->qpn());
    EXPECT_EQ(completion->src_qp, near().qp->qpn());
    EXPECT_EQ(completion->wc_flags, immediate == nullptr ? uint32_t{spec::IbWcFlags::kGrh}
                                                         : spec::IbWcFlags::kGrh | spec::IbWcFlags::kWithImm);
    if (immediate != nullptr) {
      EXPECT_TRUE(std::equal(kImmediate.begin(), kImmediate.end(), completion->imm_data));
    }
    Bytes all = HeaderOfLast();
    all.insert(all.end(), data.begin(), data.end());
    Scatter(far(), list, all, expected[1]);
    ExpectMemory(expected);
  }
  // Sends a valid datagram from offset 0, into the pending receive or, if there is none, a new one.
  void ExpectWorks(uint64_t wr_id, bool has_receive) {
    const Elements what = What(10, 200), into = Into(40'000, 200);
    auto expected = Memory();
    if (!has_receive) PostRecv(1, wr_id, into);
    PostSend(Send(wr_id, what));
    ExpectNext(0, wr_id, IbWcStatus::kSuccess);
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(wr_id, into, Gather(near(), what), std::move(expected)));
  }
  // Posts a receive for ExpectWorks(), which nothing else may consume.
  void PostWaitingReceive(uint64_t wr_id) { PostRecv(1, wr_id, Into(40'000, 200)); }

  FrameLog log_;  // of host 1
};

TEST_P(Datagram, EverySizeArrivesBehindItsNetworkHeader) {
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(system_->host(i).AddIpv6Gid(), "");
  auto random = MakeRandom("datagram.sizes");
  for (const uint8_t gid : {RdmaHost::kIpv4Gid, RdmaHost::kIpv6Gid}) {
    SCOPED_TRACE(int{gid});
    auto options = Options();
    options.gid_index = gid;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    uint64_t wr_id = 0;
    for (const uint32_t bytes : {0U, 1U, 2U, 3U, 4U, 63U, 64U, 65U, 1000U, kMtu - 1, kMtu}) {
      SCOPED_TRACE(bytes);
      ++wr_id;
      // SGEs end within the header, too.
      const Elements what = Cut(near(), UniformBelow(random, 9000), bytes, 1 + UniformBelow(random, kElements), random);
      const Elements into =
          Cut(far(), UniformBelow(random, 9000), kGrh + bytes + static_cast<uint32_t>(UniformBelow(random, 30)),
              1 + UniformBelow(random, kElements), random);
      auto expected = Memory();
      PostRecv(1, 100 + wr_id, into);
      PostSend(Send(wr_id, what));
      ExpectNext(0, wr_id, IbWcStatus::kSuccess);
      ASSERT_NO_FATAL_FAILURE(ExpectReceived(100 + wr_id, into, Gather(near(), what), std::move(expected)));
      ASSERT_FALSE(HasFailure());
    }
    // The header matches the path.
    const Bytes header = HeaderOfLast();
    const auto from = system_->host(0).gid(gid), to = system_->host(1).gid(gid);
    if (gid == RdmaHost::kIpv6Gid) {
      const auto ip = spec::Ipv6::Decode(header.data());
      EXPECT_EQ(ip.version, 6U);
      EXPECT_TRUE(std::equal(from.begin(), from.end(), ip.source));
      EXPECT_TRUE(std::equal(to.begin(), to.end(), ip.destination));
    } else {
      EXPECT_TRUE(
          std::all_of(header.begin(), header.end() - spec::Ipv4::kBytes, [](uint8_t byte) { return byte == 0; }));
      const uint8_t* ip = header.data() + kGrh - spec::Ipv4::kBytes;
      EXPECT_EQ(spec::Ipv4::Decode(ip).version, 4U);
      EXPECT_TRUE(std::equal(from.end() - 4, from.end(), ip + spec::Ipv4::kSourceOffset));
      EXPECT_TRUE(std::equal(to.end() - 4, to.end(), ip + spec::Ipv4::kDestinationOffset));
    }
  }
}

TEST_P(Datagram, CarriesImmediateAndInlineData) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  for (const uint32_t bytes : {0U, 60U, 3000U}) {
    const Elements what = What(bytes, bytes), into = Into(8192, bytes);
    auto expected = Memory();
    PostRecv(1, bytes, into);
    auto request = Send(1, what);
    request.opcode = IbWrOpcode::kSendWithImm;
    std::ranges::copy(kImmediate, request.imm_data);
    PostSend(request);
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(bytes, into, Gather(near(), what), std::move(expected), kImmediate.data()));
  }
  Bytes data(37);
  std::iota(data.begin(), data.end(), uint8_t{5});
  const Elements into = Into(16'384, 37);
  auto expected = Memory();
  PostRecv(1, 7, into);
  auto request = Send(8, {});
  request.flags |= spec::IbSendFlags::kInline;
  request.inline_data = data;
  PostSend(request);
  ExpectNext(0, 8, IbWcStatus::kSuccess);
  ExpectReceived(7, into, data, std::move(expected));
}

TEST_P(Datagram, ManyArriveInOrderInBothDirections) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint64_t kMessages = 40;
  constexpr uint64_t kPlace = 600;
  const auto bytes_of = [](uint64_t i) { return static_cast<uint32_t>(i * 53 % 500); };
  for (size_t i = 0; i < 2; ++i) {
    for (uint64_t k = 0; k < kMessages; ++k) {
      PostRecv(i, 100 + k, {side(i).region->Sge(32'768 + k * kPlace, kPlace)});
    }
  }
  for (uint64_t k = 0; k < kMessages; ++k) {
    for (size_t i = 0; i < 2; ++i) {
      const Elements what = {side(i).region->Sge(k * 400, bytes_of(k))};
      auto request = Send(k, what, i);
      // The fence is allowed and has no effect.
      if (k % 3 == 0) request.flags |= spec::IbSendFlags::kFence;
      PostSend(request, i);
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    uint64_t sent = 0, received = 0;
    while (sent + received < 2 * kMessages) {
      const auto completion = Next(i);
      ASSERT_TRUE(completion.has_value());
      ASSERT_EQ(completion->status, IbWcStatus::kSuccess);
      if (completion->opcode == IbWcOpcode::kSend) {
        ASSERT_EQ(completion->wr_id, sent++);
        continue;
      }
      ASSERT_EQ(completion->wr_id, 100 + received);
      ASSERT_EQ(completion->byte_len, kGrh + bytes_of(received));
      ASSERT_EQ(std::memcmp(side(i).memory->data() + 32'768 + received * kPlace + kGrh,
                            side(1 - i).memory->data() + received * 400, bytes_of(received)),
                0);
      ++received;
    }
  }
}

TEST_P(Datagram, AcceptedFromAnyQpWithTheQKey) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  // A second sender, with another PD and CQ.
  std::string error;
  auto options = Options();
  options.memory_bytes = 4096;
  const auto other = MakeDatagramPair(system_->host(0), system_->host(1), options, &error);
  ASSERT_NE(other, nullptr) << error;
  PostRecv(1, 1, Into(0, 100));
  const Elements what = {other->side[0].region->Sge(0, 100)};
  auto request = Send(1, what);
  request.ah = other->side[0].ah.get();
  ASSERT_TRUE(other->side[0].qp->PostSend(request).ok());
  const auto sent = NextOf(*other->side[0].cq, 0, 1'000'000);
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->status, IbWcStatus::kSuccess);
  const auto received = Next(1);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->src_qp, other->side[0].qp->qpn());
  EXPECT_EQ(std::memcmp(far().memory->data() + kGrh, other->side[0].memory->data(), 100), 0);
  ASSERT_NO_FATAL_FAILURE(ExpectWorks(2, false));
}

// --- Q_Keys

TEST_P(Datagram, WrongQKeyIsDroppedAndConsumesNoReceive) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  PostWaitingReceive(9);
  const auto expected = Memory();
  const Elements what = What(0, 100);
  auto request = Send(1, what);
  request.remote_qkey ^= 1;
  PostSend(request);
  request.wr_id = 2;
  request.remote_qkey = 0;
  PostSend(request);
  // The sender's own Q_Key, which differs.
  request.wr_id = 3;
  request.remote_qkey = kOwnQkey | far().qkey;
  PostSend(request);
  for (uint64_t i = 1; i <= 3; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
  ExpectNone(1);
  ExpectMemory(expected);
  ExpectWorks(9, true);
}

TEST_P(Datagram, HighBitOfQKeySelectsTheQpsOwnQKey) {
  auto options = Options();
  options.qkey = {0x8001'0203, 0x8001'0203};  // with the high bit, which a work request cannot name
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  for (const uint32_t qkey : {kOwnQkey, ~uint32_t{0}}) {
    const Elements what = What(0, 300), into = Into(8192, 300);
    auto expected = Memory();
    PostRecv(1, 5, into);
    auto request = Send(1, what);
    request.remote_qkey = qkey;
    PostSend(request);
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(5, into, Gather(near(), what), std::move(expected)));
  }
}

// --- Invalid work requests

TEST_P(Datagram, MalformedWorkRequestFailsBeforeItIsSent) {
  enum class Wrong : uint8_t { kNoAh, kDestroyedAh, kForeignAh, kTooLong, kWrite, kRead, kLocalKey };
  for (const Wrong wrong : {Wrong::kNoAh, Wrong::kDestroyedAh, Wrong::kForeignAh, Wrong::kTooLong, Wrong::kWrite,
                            Wrong::kRead, Wrong::kLocalKey}) {
    SCOPED_TRACE(static_cast<int>(wrong));
    Connect();
    ASSERT_FALSE(HasFatalFailure());
    log_.Clear();
    PostRecv(1, 9, Into(0, kMtu));
    const auto expected = Memory();
    Elements what = What(0, wrong == Wrong::kTooLong ? kMtu + 1 : 100);
    auto request = Send(2, what);
    IbWcStatus status = IbWcStatus::kLocQpOpErr;
    auto code = spec::RdmaError::kBadAh;
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::AddressHandle> foreign;
    switch (wrong) {
      case Wrong::kNoAh: request.ah = nullptr; break;
      case Wrong::kDestroyedAh: {
        // The work request keeps its number.
        auto gone = near().pd->CreateAh(system_->host(0).PathTo(system_->host(1)));
        ASSERT_TRUE(gone.ok());
        const uint32_t handle = (*gone)->handle();
        EXPECT_NE(handle, near().ah->handle());
        foreign = *gone;
        request.ah = foreign.get();
        const verbs::Status destroyed = system_->host(0).device().net().roce().DestroyAh(near().pd->pdn(), handle);
        ASSERT_TRUE(destroyed.ok()) << host::ToString(destroyed.error());
        break;
      }
      case Wrong::kForeignAh: {
        auto other = system_->host(0).device().CreatePd();
        ASSERT_TRUE(other.ok());
        pd = *other;
        auto made = pd->CreateAh(system_->host(0).PathTo(system_->host(1)));
        ASSERT_TRUE(made.ok());
        foreign = *made;
        request.ah = foreign.get();
        break;
      }
      case Wrong::kTooLong: status = IbWcStatus::kLocLenErr, code = spec::RdmaError::kInvalidLength; break;
      case Wrong::kWrite:
        request.opcode = IbWrOpcode::kRdmaWrite;
        code = spec::RdmaError::kUnsupportedCommand;
        break;
      case Wrong::kRead:
        request.opcode = IbWrOpcode::kRdmaRead;
        code = spec::RdmaError::kUnsupportedCommand;
        break;
      case Wrong::kLocalKey:
        what[0].lkey ^= 1;
        status = IbWcStatus::kLocProtErr;
        code = spec::RdmaError::kBadMrn;
        break;
    }
    PostSend(request);
    PostSend(Send(3, What(0, 10)));
    ExpectError(0, 2, status, code);
    ExpectNext(0, 3, IbWcStatus::kWrFlushErr);
    Settle();
    EXPECT_TRUE(log_.entries().empty()) << "host 1 received something";
    ExpectMemory(expected);
    foreign.reset();
  }
}

// --- Invalid receives

TEST_P(Datagram, DroppedWithoutAReceive) {
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  const auto expected = Memory();
  for (uint64_t i = 0; i < 3; ++i) PostSend(Send(i, What(0, 500)));
  for (uint64_t i = 0; i < 3; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
  Settle();
  PostWaitingReceive(9);
  ExpectNone(1);
  ExpectMemory(expected);
  ExpectWorks(9, true);
}

TEST_P(Datagram, TooShortReceiveFailsOnlyTheReceivingQp) {
  struct Case {
    uint32_t bytes, room;
    bool has_key;
  };
  // Too short for the payload, for the header, for anything; and without local write access.
  for (const Case& one :
       {Case{100, kGrh + 99, true}, Case{0, kGrh - 1, true}, Case{64, 0, true}, Case{64, 200, false}}) {
    SCOPED_TRACE(one.room);
    Connect();
    ASSERT_FALSE(HasFatalFailure());
    spec::RdmaSge receive = far().region->Sge(8192, one.room);
    if (!one.has_key) receive.lkey ^= 1;
    PostRecv(1, 10, {receive});
    PostRecv(1, 11, Into(0, 100));
    PostSend(Send(1, What(0, one.bytes)));
    PostSend(Send(2, What(0, 100)));
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ExpectNext(0, 2, IbWcStatus::kSuccess);
    ExpectNext(1, 10, one.has_key ? IbWcStatus::kLocLenErr : IbWcStatus::kLocProtErr);
    ExpectNext(1, 11, IbWcStatus::kWrFlushErr);
    const auto attributes = far().qp->Query();
    ASSERT_TRUE(attributes.ok());
    EXPECT_EQ(attributes->qp_state, spec::IbQpState::kErr);
    ExpectNone(0);
  }
}

// --- General services

TEST_P(Datagram, GsiDatagramGoesFromQp1ToQp1) {
  Connect(Options(spec::IbQpType::kGsi));
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(near().qp->qpn(), spec::kGsiQpn);
  ASSERT_EQ(far().qp->qpn(), spec::kGsiQpn);
  // A CM message is a MAD of 256 bytes. [IBTA vol. 1, 13.4.2]
  for (const uint32_t bytes : {256U, 0U, 2048U}) {
    const Elements what = What(100, bytes), into = Into(8192, bytes);
    auto expected = Memory();
    PostRecv(1, 5, into);
    PostSend(Send(1, what));
    ExpectNext(0, 1, IbWcStatus::kSuccess);
    ASSERT_NO_FATAL_FAILURE(ExpectReceived(5, into, Gather(near(), what), std::move(expected)));
  }
  // In the other direction.
  PostRecv(0, 6, {near().region->Sge(0, kGrh + 256)});
  PostSend(Send(2, {far().region->Sge(500, 256)}, 1), 1);
  ExpectNext(1, 2, IbWcStatus::kSuccess);
  ExpectNext(0, 6, IbWcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(near().memory->data() + kGrh, far().memory->data() + 500, 256), 0);
}

VIREO_ON_EVERY_DEVICE(Datagram);

}  // namespace
}  // namespace vireo::sim
