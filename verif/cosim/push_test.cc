// SPDX-License-Identifier: Apache-2.0
// Send work requests that are pushed through the doorbell page: the device reads nothing for them, and whatever is
// pushed wrongly is read as if it had not been pushed. [docs/decisions/0029]
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/traffic/raw_queue.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint8_t kInline = spec::IbSendFlags::kSignaled | spec::IbSendFlags::kInline;
constexpr size_t kWord = spec::RdmaPush::kBytes;

class Push : public PairTest, protected EventSink {
 protected:
  void SetUp() override {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    if (system_->host(0).device().max_push() == 0) {
      EXPECT_FALSE(has_additions() && config().push_requests != 0);
      GTEST_SKIP() << "nothing can be pushed in this profile or to this device";
    }
    EXPECT_EQ(system_->host(0).device().max_push(), spec::kRdmaPushMost);
    system_->topology().station(0).tap().AddSink(*this);
  }
  static ConnectedPairOptions Options(bool push = true) {
    ConnectedPairOptions options;
    options.qp.max_inline_data = 64;
    options.qp.max_send_sge = 2;
    options.qp.push = push;
    return options;
  }
  void OnEvent(const BoundaryEvent& event) override {
    if (event.nic == 0 && event.kind == EventKind::kDmaRead) reads_.push_back({event.address, event.bytes});
  }
  host::PciFunction& function() { return system_->host(0).device().function(); }
  uint64_t PageOf(const verbs::QueuePair& qp) {
    const auto index = system_->host(0).device().base().SendQueueIndex(qp.qpn());
    EXPECT_TRUE(index.ok());
    return spec::kBarVirtioNotify + uint64_t{*index} * spec::kNotifyOffMultiplier;
  }
  void WriteWord(uint64_t page, uint64_t offset, uint64_t value) {
    function().WriteBar(spec::kBarVirtio, page + offset, kWord, value);
  }
  void WriteEnd(uint64_t page, const spec::RdmaPush& end) { WriteWord(page, spec::kRdmaPushEndOffset, end.ToWord()); }
  void Settle() { RunFor(2 * kArrivalTime / kPicosecondsPerNanosecond); }
  // A WRITE of 16 bytes inline, all of `value`, as it would be in the slot.
  std::vector<uint8_t> Forged(uint8_t value, uint64_t offset) {
    std::vector<uint8_t> bytes(48);
    spec::RdmaSqBase{.wr_id = 0xbad,
                     .opcode = IbWrOpcode::kRdmaWrite,
                     .send_flags = kInline,
                     .version = spec::kRdmaSqVersion,
                     .elements = spec::RdmaSqElement::kRdma | spec::RdmaSqElement::kInlineData}
        .Encode(bytes.data());
    spec::RdmaSqRdma{.remote_addr = far().region->address() + offset, .rkey = far().region->rkey()}.Encode(
        bytes.data() + 16);
    std::fill(bytes.begin() + 32, bytes.end(), value);
    return bytes;
  }
  void WriteForged(uint64_t page, uint64_t address, const std::vector<uint8_t>& bytes, size_t without = ~size_t{0}) {
    WriteWord(page, spec::kRdmaPushOffset, address);
    for (size_t at = 0; at < bytes.size(); at += kWord) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, kWord);
      if (at / kWord != without) WriteWord(page, spec::kRdmaPushOffset + kWord + at, word);
    }
  }
  // A WRITE through the verbs, and its effect.
  void Write(uint64_t wr_id, uint32_t bytes, uint64_t offset) {
    std::vector<uint8_t> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<uint8_t>(wr_id));
    PostSend({.wr_id = wr_id,
              .opcode = IbWrOpcode::kRdmaWrite,
              .flags = kInline,
              .inline_data = data,
              .remote_addr = far().region->address() + offset,
              .rkey = far().region->rkey()});
    ExpectNext(0, wr_id, IbWcStatus::kSuccess);
    Settle();
    EXPECT_EQ(std::memcmp(far().memory->data() + offset, data.data(), data.size()), 0) << wr_id;
  }

  std::vector<std::pair<uint64_t, uint32_t>> reads_;
};

// Neither available index nor ring, descriptor nor work request; on a wide device not even the data.
TEST_P(Push, SenderReadsNothing) {
  const bool is_wide = config().datapath_bits >= 8 * spec::kTxInlineBytes;
  Connect(Options());
  const auto index = system_->host(0).device().base().SendQueueIndex(near().qp->qpn());
  ASSERT_TRUE(index.ok());
  const auto ring = FindRing(system_->host(0), *index);
  ASSERT_TRUE(ring.has_value());
  Settle();
  // Several times around the ring.
  for (uint64_t i = 0; i < 200; ++i) {
    reads_.clear();
    const auto bytes = static_cast<uint32_t>(1 + i % 32);
    std::vector<uint8_t> data(bytes, static_cast<uint8_t>(i));
    PostRecv(1, i, std::vector{far().region->Sge(4000, 64)});
    Settle();
    PostSend({.wr_id = i, .opcode = IbWrOpcode::kSend, .flags = kInline, .inline_data = data});
    RunFor(3000);
    const size_t place = ring->packed ? i % ring->size : Get16(AvailableEntry(*ring, i));
    const uint64_t slot = GetDescriptor(*ring, place).address, end = ring->address + uint64_t{16} * ring->size;
    const auto available = ring->address + static_cast<uint64_t>(ring->available - ring->descriptors);
    int of_ring = 0, of_slot = 0;
    for (const auto& [address, length] : reads_) {
      // Of a packed ring the CQ writer reads the id of one descriptor, when the message completes.
      if (address >= ring->address && address < end) of_ring += ring->packed && length < 64 ? 0 : 1;
      if (!ring->packed && address >= available && address < available + 4 + 2 * uint64_t{ring->size}) ++of_ring;
      if (address >= slot && address < slot + 64) ++of_slot;
    }
    EXPECT_EQ(of_ring, 0) << i;
    EXPECT_EQ(of_slot, is_wide ? 0 : 1) << i;
    ExpectNext(0, i, IbWcStatus::kSuccess);
    ExpectNext(1, i, IbWcStatus::kSuccess);
    EXPECT_EQ(std::memcmp(far().memory->data() + 4000, data.data(), bytes), 0);
  }
}

TEST_P(Push, EveryLengthAndOperationArrives) {
  for (const bool push : {true, false}) {
    Connect(Options(push));
    uint64_t wr_id = 0;
    for (uint32_t bytes = 0; bytes <= 50; bytes += 5) Write(++wr_id, bytes, 3000);
    const auto expected = Memory();
    for (const IbWrOpcode opcode : {IbWrOpcode::kRdmaWrite, IbWrOpcode::kRdmaRead, IbWrOpcode::kSend}) {
      for (const size_t elements : {1u, 2u}) {
        Elements list;
        for (size_t i = 0; i < elements; ++i) list.push_back(near().region->Sge(500 + 100 * i, 60));
        if (opcode == IbWrOpcode::kSend) PostRecv(1, ++wr_id, std::vector{far().region->Sge(6000, 200)});
        PostSend(Remote(opcode, ++wr_id, list, 7000));
        ExpectNext(0, wr_id, IbWcStatus::kSuccess);
        if (opcode == IbWrOpcode::kSend) ExpectNext(1, wr_id - 1, IbWcStatus::kSuccess);
      }
    }
    Settle();
    EXPECT_EQ(std::memcmp(far().memory->data() + 7000, near().memory->data() + 500, 60), 0);
  }
}

// Bursts, in which most are read, beside single ones, which are pushed: each once and in order.
TEST_P(Push, MixesWithWorkRequestsThatAreRead) {
  Connect(Options());
  uint64_t wr_id = 0;
  auto random = MakeRandom("push.mix");
  for (int round = 0; round < 60; ++round) {
    const uint64_t count = 1 + random() % (round % 3 == 0 ? 20 : 3);
    const uint64_t first = wr_id + 1;
    for (uint64_t i = 0; i < count; ++i) {
      std::vector<uint8_t> data(8, static_cast<uint8_t>(++wr_id));
      PostSend({.wr_id = wr_id,
                .opcode = IbWrOpcode::kRdmaWrite,
                .flags = kInline,
                .inline_data = data,
                .remote_addr = far().region->address() + 8 * (wr_id % 100),
                .rkey = far().region->rkey()});
      if (random() % 3 == 0) RunFor(random() % 1500);
    }
    for (uint64_t i = first; i <= wr_id; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
  }
  Settle();
  for (uint64_t i = wr_id - 50; i <= wr_id; ++i) {
    EXPECT_EQ(far().memory->data()[8 * (i % 100)], static_cast<uint8_t>(i));
  }
}

// Nothing that was not made available is executed, and the queue goes on.
TEST_P(Push, GarbageIsNeverExecuted) {
  Connect(Options());
  std::string error;
  auto other = MakeConnectedPair(system_->host(0), system_->host(1), Options(), &error);
  ASSERT_NE(other, nullptr) << error;
  Write(1, 16, 3000);
  Write(2, 16, 3000);
  const auto expected = Memory();
  const uint64_t page = PageOf(*near().qp);
  const bool packed = std::get<2>(GetParam());
  const auto forged = Forged(0xee, 8000);
  const uint64_t address = near().region->address();
  // Positions that are not the next one, 2: in the past, ahead, in the other lap.
  for (const uint16_t position : std::initializer_list<uint16_t>{0, 1, 3, 50, 0x4002, 0xffff}) {
    const auto at = static_cast<uint16_t>(packed ? position | 0x8000 : position);
    WriteForged(page, address, forged);
    WriteEnd(page, {.position = at, .head = packed ? at : uint16_t{0}, .length = 48});
    Settle();
  }
  const auto next = static_cast<uint16_t>(packed ? 0x8002 : 2);
  if (packed) {
    WriteForged(page, address, forged);
    WriteEnd(page, {.position = 2, .head = 2, .length = 48});
    Settle();
  }
  // Torn, and of impossible lengths.
  for (size_t without = 0; without < 6; ++without) {
    WriteForged(page, address, forged, without);
    WriteEnd(page, {.position = next, .head = next, .length = 48});
    Settle();
  }
  for (const uint16_t length : std::initializer_list<uint16_t>{0, 15, 40, 56, 72, 0xffff}) {
    WriteForged(page, address, forged);
    WriteEnd(page, {.position = next, .head = next, .length = length});
    Settle();
  }
  // Without words, behind all of these; and to queues that are none of ours: receive queue, behind the last queue.
  WriteEnd(page, {.position = next, .head = next, .length = 48});
  for (const uint64_t elsewhere :
       {page + spec::kNotifyOffMultiplier, page - spec::kNotifyOffMultiplier, uint64_t{spec::kBarVirtioNotify}}) {
    WriteForged(elsewhere, address, forged);
    WriteEnd(elsewhere, {.position = next, .head = next, .length = 48});
  }
  Settle();
  ExpectNone(0);
  ExpectMemory(expected);
  Write(3, 16, 3000);
  for (uint64_t i = 4; i < 12; ++i) Write(i, 24, 5000);
  // Others do not notice.
  EXPECT_FALSE(system_->host(0).device().PollEvent()->has_value());
}

// What was pushed to a queue pair in its last lifetime is no part of what is pushed in the next.
TEST_P(Push, AnotherLifetimeStartsEmpty) {
  Connect(Options());
  const bool packed = std::get<2>(GetParam());
  const uint32_t qpn = near().qp->qpn();
  const uint64_t page = PageOf(*near().qp);
  WriteForged(page, near().region->address(), Forged(0xee, 8000));  // without an end
  Settle();
  ASSERT_TRUE(near().qp->Modify({.qp_state = spec::IbQpState::kReset}, spec::IbQpAttrMask::kState).ok());
  ASSERT_EQ(near().qp->qpn(), qpn);
  ASSERT_TRUE(far().qp->Modify({.qp_state = spec::IbQpState::kReset}, spec::IbQpAttrMask::kState).ok());
  for (size_t number = 0; number < 2; ++number) {
    verbs::QueuePair::Connection connection;
    connection.dest_qpn = side(1 - number).qp->qpn();
    connection.path = system_->host(number).PathTo(system_->host(1 - number));
    ASSERT_TRUE(side(number).qp->Connect(connection).ok());
  }
  const auto expected = Memory();
  const auto next = static_cast<uint16_t>(packed ? 0x8000 : 0);
  WriteEnd(page, {.position = next, .head = next, .length = 48});
  Settle();
  ExpectNone(0);
  ExpectMemory(expected);
  for (uint64_t i = 1; i < 9; ++i) Write(i, 16, 3000);
}

// While the queue pair cannot send the program pushes all the same: it is read, or flushed, when its state allows.
TEST_P(Push, StoppedQueuePairFlushesWhatWasPushed) {
  Connect(Options());
  Write(1, 16, 3000);
  ASSERT_TRUE(near().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
  for (uint64_t wr_id = 2; wr_id < 6; ++wr_id) {
    std::vector<uint8_t> data(16, 1);
    PostSend({.wr_id = wr_id,
              .opcode = IbWrOpcode::kRdmaWrite,
              .flags = kInline,
              .inline_data = data,
              .remote_addr = far().region->address(),
              .rkey = far().region->rkey()});
    ExpectNext(0, wr_id, IbWcStatus::kWrFlushErr);
  }
}

VIREO_ON_EVERY_DEVICE(Push);

}  // namespace
}  // namespace vireo::sim
