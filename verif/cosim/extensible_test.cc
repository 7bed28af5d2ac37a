// SPDX-License-Identifier: Apache-2.0
// Send work requests of a base and elements: the same operations as with those of the RFC, fewer reads of host memory,
// and how malformed ones end. [docs/decisions/0024]
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/traffic/raw_queue.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaError;
using spec::RdmaSqBase;

constexpr uint32_t kElements = 4;  // supported by every configuration
constexpr uint8_t kInline = spec::IbSendFlags::kSignaled | spec::IbSendFlags::kInline;

class Extensible : public PairTest, protected EventSink {
 protected:
  void SetUp() override {
    Build();
    ASSERT_FALSE(HasFatalFailure());
    if (!system_->host(0).device().has_extensible_requests()) {
      EXPECT_FALSE(has_additions());
      GTEST_SKIP() << "no extensible work requests in this profile";
    }
    system_->topology().station(0).tap().AddSink(*this);
  }
  static ConnectedPairOptions Options(bool extensible = true) {
    ConnectedPairOptions options;
    options.qp.max_send_sge = options.qp.max_recv_sge = kElements;
    options.qp.max_inline_data = 256;
    options.qp.extensible_requests = extensible;
    return options;
  }
  // Reads of the sender, and the address of the work request wr_id_.
  void OnEvent(const BoundaryEvent& event) override {
    if (event.nic != 0) return;
    if (event.kind == EventKind::kDmaRead) reads_.push_back({event.address, event.bytes});
    if (event.kind != EventKind::kDmaCompletion || event.payload.size() < sizeof wr_id_) return;
    uint64_t wr_id = 0;
    std::memcpy(&wr_id, event.payload.data(), sizeof wr_id);
    if (wr_id == wr_id_) work_request_ = event.address;
  }
  struct Read {
    uint64_t address;
    uint32_t bytes;
  };
  // Of the work request wr_id_, from its first byte up to `bytes` behind it.
  std::vector<uint32_t> ReadsOfTheWorkRequest(uint64_t bytes) const {
    std::vector<uint32_t> lengths;
    for (const Read& read : reads_) {
      if (read.address >= work_request_ && read.address < work_request_ + bytes) lengths.push_back(read.bytes);
    }
    return lengths;
  }

  std::vector<Read> reads_;
  uint64_t wr_id_ = 0, work_request_ = 0;
};

TEST_P(Extensible, InlineDataOfOneBeatIsReadWithTheWorkRequest) {
  const uint32_t carried = config().datapath_bits >= 8 * spec::kTxInlineBytes ? spec::kTxInlineBytes : 0;
  for (const bool extensible : {true, false}) {
    Connect(Options(extensible));
    for (const uint32_t bytes : {0U, 1U, 3U, 16U, 31U, 32U, 33U, 64U, 200U}) {
      for (const IbWrOpcode opcode : {IbWrOpcode::kSend, IbWrOpcode::kRdmaWrite}) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes, " << spec::ToString(opcode)
                                        << (extensible ? ", extensible" : ", of the RFC"));
        reads_.clear();
        wr_id_ = 0xabcd'0000'1234'0000 + 1000 * bytes + static_cast<uint64_t>(opcode);
        Bytes data(bytes);
        std::iota(data.begin(), data.end(), static_cast<uint8_t>(bytes + 1));
        const std::vector<spec::RdmaSge> to = {far().region->Sge(4000, 300)};
        if (opcode == IbWrOpcode::kSend) PostRecv(1, wr_id_, to);
        PostSend({.wr_id = wr_id_,
                  .opcode = opcode,
                  .flags = kInline,
                  .inline_data = data,
                  .remote_addr = far().region->address() + 4000,
                  .rkey = far().region->rkey()});
        ExpectNext(0, wr_id_, IbWcStatus::kSuccess);
        if (opcode == IbWrOpcode::kSend) ExpectNext(1, wr_id_, IbWcStatus::kSuccess);
        RunFor(kArrivalTime / kPicosecondsPerNanosecond);
        EXPECT_EQ(std::memcmp(far().memory->data() + 4000, data.data(), data.size()), 0);
        const uint32_t fixed = opcode == IbWrOpcode::kSend ? 16 : 32;
        std::vector<uint32_t> expected;
        if (extensible) {
          expected = {std::min(fixed + bytes, 64U)};
          if (bytes > carried) expected.push_back(bytes);
        } else {
          expected = {48, 16};
          if (bytes != 0) expected.push_back(bytes);
        }
        // A read that crosses a page is two.
        const auto seen = ReadsOfTheWorkRequest(extensible ? fixed + bytes : spec::RdmaSqReq::kBytes);
        EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0U), std::accumulate(expected.begin(), expected.end(), 0U));
        EXPECT_GE(seen.size(), expected.size());
        EXPECT_LE(seen.size(), expected.size() + 1);
      }
    }
  }
}

// Operations and lists that the elements describe.
TEST_P(Extensible, EveryOperationInBothFormats) {
  for (const bool extensible : {true, false}) {
    auto options = Options(extensible);
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic = 1;
    Connect(options);
    auto random = MakeRandom("extensible.operations");
    uint64_t wr_id = 0;
    for (size_t elements = 1; elements <= kElements; ++elements) {
      for (const uint32_t bytes : {40U, 1000U}) {
        const Elements list = Cut(near(), 100, bytes, elements, random);
        auto expected = Memory();
        const Bytes data = Gather(near(), list);
        PostSend(Remote(IbWrOpcode::kRdmaWrite, ++wr_id, list, 3000));
        ExpectNext(0, wr_id, IbWcStatus::kSuccess);
        std::ranges::copy(data, expected[1].begin() + 3000);
        const Elements to = {far().region->Sge(6000, bytes)};
        PostRecv(1, ++wr_id, to);
        PostSend({.wr_id = wr_id, .opcode = IbWrOpcode::kSend, .sg_list = list});
        ExpectNext(0, wr_id, IbWcStatus::kSuccess);
        ExpectNext(1, wr_id, IbWcStatus::kSuccess);
        Scatter(far(), to, data, expected[1]);
        PostSend(Remote(IbWrOpcode::kRdmaRead, ++wr_id, list, 9000));
        ExpectNext(0, wr_id, IbWcStatus::kSuccess);
        Scatter(near(), list, Bytes(expected[1].begin() + 9000, expected[1].begin() + 9000 + bytes), expected[0]);
        RunFor(kArrivalTime / kPicosecondsPerNanosecond);
        ExpectMemory(expected);
      }
    }
  }
}

// A work request that is changed between the post and the device's read, as a faulty driver writes it.
TEST_P(Extensible, MalformedRequestsFailWithAStatus) {
  using Spoil = std::function<void(uint8_t * bytes, RawDescriptor & descriptor)>;
  struct Case {
    const char* what;
    Spoil spoil;
    std::optional<RdmaError> why;  // none: its queue fails
  };
  const auto set = [](size_t at, uint8_t value) {
    return [at, value](uint8_t* bytes, RawDescriptor&) { bytes[at] = value; };
  };
  const auto cut = [](uint32_t length) {
    return [length](uint8_t*, RawDescriptor& descriptor) { descriptor.bytes = length; };
  };
  const std::vector<Case> cases = {
      {"version 0", set(RdmaSqBase::kVersionOffset, 0), RdmaError::kUnsupportedCommand},
      {"version 2", set(RdmaSqBase::kVersionOffset, 2), RdmaError::kUnsupportedCommand},
      {"unknown element", set(RdmaSqBase::kElementsOffset, 0x91), RdmaError::kInvalidParameter},
      {"a datagram's element", set(RdmaSqBase::kElementsOffset, 0x12), RdmaError::kInvalidParameter},
      {"data without its flag", set(RdmaSqBase::kElementsOffset, 0x09), RdmaError::kInvalidParameter},
      {"base alone", cut(16), RdmaError::kBadWqe},
      {"half a list", cut(47), RdmaError::kBadWqe},
      {"more than a list", cut(49), RdmaError::kBadWqe},
      {"less than a base", cut(15), std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Connect(Options());
    std::string error;
    auto other = MakeConnectedPair(system_->host(0), system_->host(1), Options(), &error);
    ASSERT_NE(other, nullptr) << error;
    const auto index = system_->host(0).device().base().SendQueueIndex(near().qp->qpn());
    ASSERT_TRUE(index.ok());
    const auto ring = FindRing(system_->host(0), *index);
    ASSERT_TRUE(ring.has_value());
    const auto expected = Memory();
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 77, {near().region->Sge(0, 64)}, 100));
    // No time has passed. It is the first one of its ring.
    const size_t place = ring->packed ? 0 : Get16(AvailableEntry(*ring, 0));
    RawDescriptor descriptor = GetDescriptor(*ring, place);
    ASSERT_EQ(descriptor.bytes, 48U);
    uint8_t* const bytes = system_->host(0).station().memory().HostPointer(descriptor.address, descriptor.bytes);
    ASSERT_NE(bytes, nullptr);
    c.spoil(bytes, descriptor);
    PutDescriptor(*ring, place, descriptor);
    if (c.why.has_value()) {
      const auto completion = Next(0);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, 77U);
      EXPECT_EQ(completion->status, IbWcStatus::kLocQpOpErr) << spec::ToString(completion->status);
      EXPECT_EQ(completion->vendor_err, static_cast<uint32_t>(*c.why));
      PostSend(Remote(IbWrOpcode::kRdmaWrite, 78, {near().region->Sge(0, 64)}, 100));
      ExpectNext(0, 78, IbWcStatus::kWrFlushErr);
    } else {
      ExpectNone(0);
      const auto event = system_->host(0).device().PollEvent();
      ASSERT_TRUE(event.ok());
      ASSERT_TRUE(event->has_value());
      EXPECT_EQ((*event)->rdma.code, static_cast<uint32_t>(RdmaError::kBadWqe));
    }
    ExpectMemory(expected);
    // Others do not notice.
    const spec::RdmaSge sge = other->side[0].region->Sge(0, 64);
    ASSERT_TRUE(other->side[0]
                    .qp
                    ->PostSend({.wr_id = 5,
                                .opcode = IbWrOpcode::kRdmaWrite,
                                .sg_list = std::span(&sge, 1),
                                .remote_addr = other->side[1].region->address(),
                                .rkey = other->side[1].region->rkey()})
                    .ok());
    const auto completion = NextOf(*other->side[0].cq, 0, kSecondNs / 1000);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->status, IbWcStatus::kSuccess);
    if (!c.why.has_value()) continue;
    while (true) {  // of the pair that failed
      const auto event = system_->host(0).device().PollEvent();
      ASSERT_TRUE(event.ok());
      if (!event->has_value()) break;
    }
  }
}

VIREO_ON_EVERY_DEVICE(Extensible);

}  // namespace
}  // namespace vireo::sim
