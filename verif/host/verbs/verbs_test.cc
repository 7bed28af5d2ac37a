// SPDX-License-Identifier: Apache-2.0
// The verbs API against the mock device: work request encoding, creation and destruction of queues, and error cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/host/driver/mock_device.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using spec::RdmaCtrlCmd;
using verbs::Device;

class VerbsTest : public testing::Test {
 protected:
  // sq_version: of the device.
  explicit VerbsTest(uint8_t sq_version = 0) : sq_version_(sq_version) {
    MockDeviceOptions options;
    options.offered = AllMockFeatures();
    options.cqs = 2;
    options.qps = 4;
    mock_ = std::make_unique<MockDevice>(options);
    mock_->on_control = [this](const std::vector<uint8_t>& request, uint64_t) { return Answer(request); };
    host::DeviceOptions wanted{.wanted = host::DefaultFeatures()};
    wanted.reset_timeout_ns = wanted.command_timeout_ns = 100'000;
    auto opened = Device::Open(*mock_, wanted);
    EXPECT_TRUE(opened.ok()) << host::ToString(opened.error());
    device_ = *opened;
    log_.clear();
  }
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(mock_->violations(), std::vector<std::string>());
    EXPECT_EQ(mock_->live_allocations(), 0U);
  }

  // The answer to every command: ok, and distinct numbers.
  std::vector<uint8_t> Answer(const std::vector<uint8_t>& request) {
    const auto command = static_cast<RdmaCtrlCmd>(request[1]);
    log_.push_back(spec::ToString(command));
    requests_[command] = {request.begin() + 2, request.end()};
    if (command == RdmaCtrlCmd::kModifyQp) modifies_.push_back(Last<spec::RdmaCmdModifyQp>(command));
    if (const auto refusal = refuse_.find(command); refusal != refuse_.end()) {
      return {static_cast<uint8_t>(refusal->second)};
    }
    switch (command) {
      case RdmaCtrlCmd::kQueryDevice:
        return Bytes(spec::RdmaAckQueryDevice{.max_qp_wr = 128,
                                              .atomic_cap = kAtomics,
                                              .sq_version = sq_version_,
                                              .atomic_write = 1,
                                              .max_mw = 9,
                                              .max_fast_mr_pages = 8});
      case RdmaCtrlCmd::kCreateCq: return Bytes(spec::RdmaAckCreateCq{.cqn = 1});
      case RdmaCtrlCmd::kCreatePd: return Bytes(spec::RdmaAckCreatePd{.pdn = 7});
      case RdmaCtrlCmd::kCreateQp: return Bytes(spec::RdmaAckCreateQp{.qpn = 2});
      case RdmaCtrlCmd::kCreateAh: return Bytes(spec::RdmaAckCreateAh{.ah = 5});
      case RdmaCtrlCmd::kAllocMw: return Bytes(spec::RdmaAckAllocMw{.mwn = 4, .rkey = 0x405});
      case RdmaCtrlCmd::kAllocMr: return Bytes(spec::RdmaAckAllocMr{.mrn = 6, .lkey = 0x605, .rkey = 0x606});
      case RdmaCtrlCmd::kQueryMr: return Bytes(spec::RdmaAckQueryMr{.lkey = 0x607, .is_alive = 1});
      case RdmaCtrlCmd::kReregMr: return Bytes(spec::RdmaAckReregMr{.lkey = 0x307, .rkey = 0x308});
      case RdmaCtrlCmd::kRegUserMr: return Bytes(spec::RdmaAckRegUserMr{.mrn = 3, .lkey = 0x303, .rkey = 0x304});
      default: return {0};
    }
  }
  template <typename Response>
  static std::vector<uint8_t> Bytes(const Response& response) {
    std::vector<uint8_t> bytes(1 + Response::kBytes);
    response.Encode(bytes.data() + 1);
    return bytes;
  }
  template <typename Request>
  Request Last(RdmaCtrlCmd command) {
    return Request::Decode(requests_.at(command).data());
  }

  struct Pair {
    std::shared_ptr<verbs::ProtectionDomain> pd;
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
  };
  Pair MakePair(verbs::QueuePairOptions options = {}) {
    Pair pair;
    pair.pd = device_->CreatePd().value();
    pair.cq = device_->CreateCq(10).value();
    options.send_cq = options.recv_cq = pair.cq;
    pair.qp = pair.pd->CreateQp(options).value();
    return pair;
  }
  MockDevice::Queue& SendQueue() { return mock_->queue(device_->net().SendQueueIndex(2).value()); }
  MockDevice::Queue& ReceiveQueue() { return mock_->queue(device_->net().ReceiveQueueIndex(2).value()); }
  unsigned CqIndex() { return device_->net().CompletionQueueIndex(1).value(); }

  // Completes a work request as the device.
  void Complete(const spec::RdmaCqReq& completion, uint32_t written = spec::RdmaCqReq::kBytes) {
    auto& queue = mock_->queue(CqIndex());
    const auto chain = queue.ring->Fetch();
    ASSERT_TRUE(chain.has_value());
    ASSERT_EQ(chain->Room(), spec::RdmaCqReq::kBytes);
    completion.Encode(mock_->At(chain->segments[0].address, spec::RdmaCqReq::kBytes));
    queue.ring->Use(*chain, written);
    queue.ring->PublishUsed();
  }

  static constexpr auto kAtomics = spec::RdmaAtomicCap::kHca;
  const uint8_t sq_version_;
  std::unique_ptr<MockDevice> mock_;
  std::shared_ptr<Device> device_;
  std::vector<std::string> log_;
  std::map<RdmaCtrlCmd, std::vector<uint8_t>> requests_;
  std::vector<spec::RdmaCmdModifyQp> modifies_;
  std::map<RdmaCtrlCmd, spec::RdmaError> refuse_;
};

TEST_F(VerbsTest, ObjectsAreDestroyedInDependencyOrder) {
  {
    Pair pair = MakePair();
    pair.pd.reset();  // the queue pair holds references to both
    pair.cq.reset();
    log_.clear();
  }
  EXPECT_EQ(log_, (std::vector<std::string>{"destroy_qp", "destroy_cq", "destroy_pd"}));
  EXPECT_EQ(SendQueue().resets, 1U);
  EXPECT_EQ(ReceiveQueue().resets, 1U);
  EXPECT_EQ(mock_->queue(CqIndex()).resets, 1U);
}

TEST_F(VerbsTest, ResetRestartsBothQueues) {
  Pair pair = MakePair({.max_send_wr = 2, .max_recv_wr = 2});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(pair.qp->PostSend({}).ok());
    EXPECT_TRUE(pair.qp->PostRecv({}).ok());
  }
  EXPECT_EQ(pair.qp->SendRoom().value(), 0U);
  ASSERT_TRUE(pair.qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
  EXPECT_EQ(SendQueue().resets, 0U);  // only RESET resets them
  ASSERT_TRUE(pair.qp->Modify({.qp_state = spec::IbQpState::kReset}, spec::IbQpAttrMask::kState).ok());
  EXPECT_EQ(SendQueue().resets, 1U);
  EXPECT_EQ(ReceiveQueue().resets, 1U);
  EXPECT_EQ(pair.qp->SendRoom().value(), 2U);
  EXPECT_TRUE(pair.qp->PostSend({.wr_id = 7}).ok());
  EXPECT_TRUE(pair.qp->PostRecv({.wr_id = 8}).ok());
  EXPECT_TRUE(SendQueue().ring->Fetch().has_value());
  EXPECT_TRUE(ReceiveQueue().ring->Fetch().has_value());
}

TEST_F(VerbsTest, RefusedResetKeepsTheQueues) {
  Pair pair = MakePair();
  refuse_[RdmaCtrlCmd::kModifyQp] = spec::RdmaError::kInternal;
  EXPECT_FALSE(pair.qp->Modify({.qp_state = spec::IbQpState::kReset}, spec::IbQpAttrMask::kState).ok());
  EXPECT_EQ(SendQueue().resets, 0U);
}

TEST_F(VerbsTest, CompletionsOfADestroyedQpAreDiscarded) {
  Pair pair = MakePair();
  for (uint32_t i = 0; i < 4; ++i) Complete({.wr_id = i, .qp_num = i % 2 == 0 ? 2U : 3U});
  EXPECT_EQ(pair.cq->buffered(), 0U);
  ASSERT_TRUE(pair.cq->Discard(2).ok());
  EXPECT_EQ(pair.cq->buffered(), 2U);
  Complete({.wr_id = 4, .qp_num = 2});  // of a new one with the same number
  std::array<spec::RdmaCqReq, 8> completions;
  ASSERT_EQ(pair.cq->Poll(std::span(completions).first(1)).value(), 1U);
  ASSERT_EQ(pair.cq->Poll(std::span(completions).subspan(1)).value(), 2U);
  EXPECT_EQ(completions[0].wr_id, 1U);
  EXPECT_EQ(completions[1].wr_id, 3U);
  EXPECT_EQ(completions[2].wr_id, 4U);
  EXPECT_EQ(pair.cq->buffered(), 0U);
}

TEST_F(VerbsTest, FailedDestroyKeepsTheMemory) {
  const size_t before = mock_->live_allocations();
  {
    Pair pair = MakePair();
    refuse_[RdmaCtrlCmd::kDestroyQp] = spec::RdmaError::kInternal;
  }
  EXPECT_EQ(SendQueue().resets, 0U);
  EXPECT_GT(mock_->live_allocations(), before);  // TearDown checks that the device frees it
}

TEST_F(VerbsTest, FailedCreationCleansUp) {
  auto pd = device_->CreatePd().value();
  auto cq = device_->CreateCq(4).value();
  const size_t before = mock_->live_allocations();
  refuse_[RdmaCtrlCmd::kCreateQp] = spec::RdmaError::kNoFreeQp;
  EXPECT_EQ(pd->CreateQp({.send_cq = cq, .recv_cq = cq}).error().rdma, spec::RdmaError::kNoFreeQp);
  EXPECT_EQ(pd->CreateQp({.send_cq = cq}).error().code, ErrorCode::kInvalidArgument);
  refuse_.clear();
  // More entries than the virtqueue holds: detected after the device has created the QP.
  log_.clear();
  EXPECT_EQ(pd->CreateQp({.send_cq = cq, .recv_cq = cq, .max_recv_wr = 1000}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(log_, (std::vector<std::string>{"create_qp", "destroy_qp"}));
  EXPECT_FALSE(SendQueue().enabled);
  EXPECT_EQ(mock_->live_allocations(), before);
}

TEST_F(VerbsTest, WorkRequestLayoutMatchesTheContract) {
  Pair pair = MakePair({.max_send_sge = 2});
  const std::array<spec::RdmaSge, 2> sges = {{{.addr = 0x1000, .length = 8, .lkey = 1}, {0x2000, 16, 2}}};
  ASSERT_TRUE(pair.qp
                  ->PostSend({.wr_id = 0x1234,
                              .opcode = spec::IbWrOpcode::kRdmaWriteWithImm,
                              .imm_data = {1, 2, 3, 4},
                              .sg_list = sges,
                              .remote_addr = 0xabcdef,
                              .rkey = 99})
                  .ok());
  EXPECT_EQ(SendQueue().doorbells, 1U);
  const auto chain = SendQueue().ring->Fetch();
  ASSERT_TRUE(chain.has_value());
  ASSERT_EQ(chain->segments.size(), 1U);
  EXPECT_FALSE(chain->segments[0].writable);
  ASSERT_EQ(chain->segments[0].bytes, spec::RdmaSqReq::kBytes + 2 * spec::RdmaSge::kBytes);
  const uint8_t* bytes = mock_->At(chain->segments[0].address, chain->segments[0].bytes);
  const auto wqe = spec::RdmaSqReq::Decode(bytes);
  EXPECT_EQ(wqe.wr_id, 0x1234U);
  EXPECT_EQ(wqe.opcode, spec::IbWrOpcode::kRdmaWriteWithImm);
  EXPECT_EQ(wqe.send_flags, spec::IbSendFlags::kSignaled);
  EXPECT_TRUE(std::ranges::equal(wqe.imm_data, std::array<uint8_t, 4>{1, 2, 3, 4}));
  EXPECT_EQ(spec::RdmaSqReqRdma::Decode(wqe.wr), (spec::RdmaSqReqRdma{.remote_addr = 0xabcdef, .rkey = 99}));
  EXPECT_EQ(spec::RdmaSqReqNumSge::Decode(wqe.size).num_sge, 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(spec::RdmaSge::Decode(bytes + spec::RdmaSqReq::kBytes + i * spec::RdmaSge::kBytes), sges.at(i));
  }
}

TEST_F(VerbsTest, InlineDataIsCopiedAndBounded) {
  Pair pair = MakePair({.type = spec::IbQpType::kUd, .max_inline_data = 64});
  auto ah = pair.pd->CreateAh({}).value();
  std::vector<uint8_t> data(65, 0x5a);
  verbs::SendRequest request{
      .flags = spec::IbSendFlags::kInline, .inline_data = data, .remote_qpn = 11, .remote_qkey = 12, .ah = ah.get()};
  EXPECT_EQ(pair.qp->PostSend(request).error().code, ErrorCode::kInvalidArgument);
  request.inline_data = std::span(data).first(64);
  ASSERT_TRUE(pair.qp->PostSend(request).ok());
  std::ranges::fill(data, uint8_t{0});  // the caller may reuse it
  const auto chain = SendQueue().ring->Fetch();
  ASSERT_EQ(chain->segments[0].bytes, spec::RdmaSqReq::kBytes);
  const auto wqe = spec::RdmaSqReq::Decode(mock_->At(chain->segments[0].address, spec::RdmaSqReq::kBytes));
  EXPECT_EQ(std::count(std::begin(wqe.inline_data), std::end(wqe.inline_data), 0x5a), 64);
  EXPECT_EQ(spec::RdmaSqReqInlineLen::Decode(wqe.size).inline_len, 64U);
  EXPECT_EQ(spec::RdmaSqReqUd::Decode(wqe.wr),
            (spec::RdmaSqReqUd{.remote_qpn = 11, .remote_qkey = 12, .ah = ah->handle()}));
}

// A device with work requests of a base and elements.
class ExtensibleVerbsTest : public VerbsTest {
 protected:
  ExtensibleVerbsTest() : VerbsTest(spec::kRdmaSqVersion) {}
  // The bytes of the next work request of the send queue.
  std::vector<uint8_t> NextWork() {
    const auto chain = SendQueue().ring->Fetch();
    EXPECT_TRUE(chain.has_value() && chain->segments.size() == 1 && !chain->segments[0].writable);
    EXPECT_EQ(chain->segments[0].address % 64, 0U);  // a short one is in one line of memory
    const uint8_t* const bytes = mock_->At(chain->segments[0].address, chain->segments[0].bytes);
    return {bytes, bytes + chain->segments[0].bytes};
  }
  using Bit = spec::RdmaSqElement;
};

TEST_F(ExtensibleVerbsTest, WorkRequestHasTheElementsOfItsOperation) {
  Pair pair = MakePair({.max_send_sge = 2});
  const std::array<spec::RdmaSge, 2> sges = {{{.addr = 0x1000, .length = 8, .lkey = 1}, {0x2000, 16, 2}}};
  ASSERT_TRUE(pair.qp
                  ->PostSend({.wr_id = 0x1234,
                              .opcode = spec::IbWrOpcode::kRdmaWriteWithImm,
                              .imm_data = {1, 2, 3, 4},
                              .sg_list = sges,
                              .remote_addr = 0xabcdef,
                              .rkey = 99})
                  .ok());
  std::vector<uint8_t> work = NextWork();
  ASSERT_EQ(work.size(), 16U + 16U + 2 * 16U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()), (spec::RdmaSqBase{.wr_id = 0x1234,
                                                                     .opcode = spec::IbWrOpcode::kRdmaWriteWithImm,
                                                                     .send_flags = spec::IbSendFlags::kSignaled,
                                                                     .version = 1,
                                                                     .elements = Bit::kRdma | Bit::kSgList,
                                                                     .imm_data = {1, 2, 3, 4}}));
  EXPECT_EQ(spec::RdmaSqRdma::Decode(work.data() + 16), (spec::RdmaSqRdma{.remote_addr = 0xabcdef, .rkey = 99}));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(spec::RdmaSge::Decode(work.data() + 32 + 16 * i), sges.at(i));

  ASSERT_TRUE(pair.qp->PostSend({.opcode = spec::IbWrOpcode::kSend, .sg_list = std::span(sges).first(1)}).ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 16U + 16U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kSgList);

  ASSERT_TRUE(pair.qp->PostSend({.opcode = spec::IbWrOpcode::kSend}).ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 16U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, 0);

  ASSERT_TRUE(pair.qp
                  ->PostSend({.opcode = spec::IbWrOpcode::kAtomicCmpAndSwp,
                              .sg_list = std::span(sges).first(1),
                              .remote_addr = 0x80,
                              .rkey = 7,
                              .compare_add = 5,
                              .swap = 6})
                  .ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 64U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kRdma | Bit::kAtomic | Bit::kSgList);
  EXPECT_EQ(spec::RdmaSqRdma::Decode(work.data() + 16), (spec::RdmaSqRdma{.remote_addr = 0x80, .rkey = 7}));
  EXPECT_EQ(spec::RdmaSqAtomic::Decode(work.data() + 32), (spec::RdmaSqAtomic{.compare_add = 5, .swap = 6}));
  EXPECT_EQ(spec::RdmaSge::Decode(work.data() + 48), sges[0]);

  ASSERT_TRUE(
      pair.qp->PostSend({.opcode = spec::IbWrOpcode::kAtomicWrite, .remote_addr = 0x80, .rkey = 7, .compare_add = 5})
          .ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 48U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kRdma | Bit::kAtomic);
  EXPECT_EQ(spec::RdmaSqRdma::Decode(work.data() + 16), (spec::RdmaSqRdma{.remote_addr = 0x80, .rkey = 7}));
  EXPECT_EQ(spec::RdmaSqAtomic::Decode(work.data() + 32).compare_add, 5U);

  ASSERT_TRUE(pair.qp
                  ->PostSend({.opcode = spec::IbWrOpcode::kBindMw,
                              .rkey = 0x406,
                              .bind_address = 0x9000,
                              .bind_length = 0x1'0000'0001,
                              .bind_access = spec::IbAccessFlags::kRemoteRead,
                              .bind_lkey = 0x303})
                  .ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 48U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kRdma | Bit::kAtomic);
  EXPECT_EQ(spec::RdmaSqBind::Decode(work.data() + 16),
            (spec::RdmaSqBind{.addr = 0x9000, .rkey = 0x406, .lkey = 0x303}));
  EXPECT_EQ(spec::RdmaSqBindRange::Decode(work.data() + 32),
            (spec::RdmaSqBindRange{.length = 0x1'0000'0001, .access_flags = spec::IbAccessFlags::kRemoteRead}));

  // An odd number of pages: the last one has none beside it.
  const std::array<uint64_t, 1> page = {0xa000};
  ASSERT_TRUE(pair.qp
                  ->PostSend({.opcode = spec::IbWrOpcode::kRegMr,
                              .rkey = 0x608,
                              .bind_address = 0x9123,
                              .bind_length = 0x100,
                              .bind_access = spec::IbAccessFlags::kLocalWrite,
                              .pages = page,
                              .page_shift = 13})
                  .ok());
  work = NextWork();
  ASSERT_EQ(work.size(), 64U);
  EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kRdma | Bit::kAtomic | Bit::kSgList);
  EXPECT_EQ(spec::RdmaSqReg::Decode(work.data() + 16),
            (spec::RdmaSqReg{.virt_addr = 0x9123, .key = 0x608, .page_shift = 13}));
  EXPECT_EQ(spec::RdmaSqBindRange::Decode(work.data() + 32),
            (spec::RdmaSqBindRange{.length = 0x100, .access_flags = spec::IbAccessFlags::kLocalWrite}));
  EXPECT_EQ(spec::RdmaPagePair::Decode(work.data() + 48), (spec::RdmaPagePair{.first = 0xa000, .second = 0}));
  const std::array<uint64_t, 5> too_many{};
  EXPECT_EQ(pair.qp->PostSend({.opcode = spec::IbWrOpcode::kRegMr, .pages = too_many}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST_F(ExtensibleVerbsTest, InlineDataIsTheLastElement) {
  Pair pair = MakePair({.type = spec::IbQpType::kUd, .max_inline_data = 64});
  auto ah = pair.pd->CreateAh({}).value();
  std::vector<uint8_t> data(64);
  std::iota(data.begin(), data.end(), uint8_t{1});
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{32}, size_t{33}, size_t{64}}) {
    ASSERT_TRUE(pair.qp
                    ->PostSend({.flags = spec::IbSendFlags::kInline,
                                .inline_data = std::span(data).first(bytes),
                                .remote_qpn = 11,
                                .remote_qkey = 12,
                                .ah = ah.get()})
                    .ok());
    const std::vector<uint8_t> work = NextWork();
    ASSERT_EQ(work.size(), 32 + bytes);
    EXPECT_EQ(spec::RdmaSqBase::Decode(work.data()).elements, Bit::kUd | Bit::kInlineData);
    EXPECT_EQ(spec::RdmaSqUd::Decode(work.data() + 16),
              (spec::RdmaSqUd{.remote_qpn = 11, .remote_qkey = 12, .ah = ah->handle()}));
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<ptrdiff_t>(bytes), work.begin() + 32));
  }
}

// The longest ones fit into their slots: the mock checks every address.
TEST_F(ExtensibleVerbsTest, LongestWorkRequestsDoNotOverlap) {
  for (const uint32_t elements : {1U, 4U, 30U}) {
    for (const uint32_t inline_bytes : {0U, 33U, 512U}) {
      Pair pair = MakePair({.max_send_wr = 4, .max_send_sge = elements, .max_inline_data = inline_bytes});
      const std::vector<spec::RdmaSge> sges(elements, {.addr = ~uint64_t{0}, .length = ~0U, .lkey = ~0U});
      const std::vector<uint8_t> data(inline_bytes, 0x5a);
      for (uint64_t i = 0; i < 2; ++i) {
        ASSERT_TRUE(
            pair.qp->PostSend({.wr_id = i, .opcode = spec::IbWrOpcode::kAtomicFetchAndAdd, .sg_list = sges}).ok());
        ASSERT_TRUE(pair.qp
                        ->PostSend({.wr_id = i,
                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                    .flags = spec::IbSendFlags::kInline,
                                    .inline_data = data})
                        .ok());
      }
      for (uint64_t i = 0; i < 2; ++i) {
        const std::vector<uint8_t> atomic = NextWork(), write = NextWork();
        ASSERT_EQ(atomic.size(), 48 + 16 * elements);
        EXPECT_EQ(spec::RdmaSqBase::Decode(atomic.data()).wr_id, i);
        EXPECT_EQ(spec::RdmaSge::Decode(atomic.data() + atomic.size() - 16), sges[0]);
        ASSERT_EQ(write.size(), 32 + inline_bytes);
        EXPECT_EQ(spec::RdmaSqBase::Decode(write.data()).wr_id, i);
        EXPECT_TRUE(std::equal(data.begin(), data.end(), write.begin() + 32));
      }
    }
  }
}

TEST_F(ExtensibleVerbsTest, QueuePairMayKeepTheFormatOfTheRfc) {
  Pair pair = MakePair({.extensible_requests = false});
  ASSERT_TRUE(pair.qp->PostSend({.wr_id = 9}).ok());
  const std::vector<uint8_t> work = NextWork();
  ASSERT_EQ(work.size(), spec::RdmaSqReq::kBytes);
  EXPECT_EQ(spec::RdmaSqReq::Decode(work.data()).wr_id, 9U);
}

TEST_F(VerbsTest, PostingIsLimitedByCapacityUntilCompletion) {
  Pair pair = MakePair({.max_send_wr = 3, .max_recv_wr = 1});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pair.qp->PostSend({}).ok());
  EXPECT_EQ(pair.qp->PostSend({}).error().code, ErrorCode::kNoSpace);
  const auto chain = SendQueue().ring->Fetch();
  SendQueue().ring->Use(*chain, 0);
  SendQueue().ring->PublishUsed();
  EXPECT_TRUE(pair.qp->PostSend({}).ok());
  EXPECT_EQ(pair.qp->PostSend({}).error().code, ErrorCode::kNoSpace);

  EXPECT_TRUE(pair.qp->PostRecv({.wr_id = 5}).ok());
  EXPECT_EQ(pair.qp->PostRecv({}).error().code, ErrorCode::kNoSpace);
  const std::array<spec::RdmaSge, 2> sges{};
  EXPECT_EQ(pair.qp->PostRecv({.sg_list = sges}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(pair.qp->PostSend({.sg_list = sges}).error().code, ErrorCode::kInvalidArgument);
  const auto receive = ReceiveQueue().ring->Fetch();
  EXPECT_EQ(spec::RdmaRqReq::Decode(mock_->At(receive->segments[0].address, spec::RdmaRqReq::kBytes)).wr_id, 5U);
}

TEST_F(VerbsTest, CompletionsAreInOrderAndBuffersAreReposted) {
  Pair pair = MakePair();
  std::array<spec::RdmaCqReq, 4> completions;
  EXPECT_EQ(pair.cq->Poll(completions).value(), 0U);
  for (uint64_t round = 0; round < 20; ++round) {  // more than the ring has entries
    for (uint64_t i = 0; i < 5; ++i) Complete({.wr_id = round * 5 + i});
    ASSERT_EQ(pair.cq->Poll(completions).value(), 4U);
    for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(completions.at(i).wr_id, round * 5 + i);
    ASSERT_EQ(pair.cq->Poll(completions).value(), 1U);
  }
  Complete({}, 20);
  EXPECT_EQ(pair.cq->Poll(completions).error().code, ErrorCode::kMisbehaved);
}

// The device sees a capacity as the buffers in the ring: it overruns when there is none.
TEST_F(VerbsTest, ResizedCompletionQueueHasAsManyBuffers) {
  auto cq = device_->CreateCq(2, std::nullopt, 16).value();
  EXPECT_EQ(Last<spec::RdmaCmdCreateCq>(RdmaCtrlCmd::kCreateCq).cqe, 16U);
  const auto free_buffers = [this] {
    const auto& ring = mock_->queue(CqIndex()).ring;
    return ring->AvailableEnd() - ring->fetched();
  };
  EXPECT_EQ(free_buffers(), 2U);
  Complete({.wr_id = 1});
  Complete({.wr_id = 2});
  EXPECT_EQ(free_buffers(), 0U);
  ASSERT_TRUE(cq->Resize(6).ok());  // with two completions in it
  EXPECT_EQ(cq->capacity(), 6U);
  EXPECT_EQ(free_buffers(), 6U);
  EXPECT_EQ(cq->buffered(), 2U);
  for (uint64_t i = 3; i <= 6; ++i) Complete({.wr_id = i});
  EXPECT_EQ(cq->Resize(5).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(cq->Resize(0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(cq->Resize(17).error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(cq->capacity(), 6U);
  std::array<spec::RdmaCqReq, 16> completions;
  ASSERT_EQ(cq->Poll(completions).value(), 6U);
  for (uint64_t i = 0; i < 6; ++i) EXPECT_EQ(completions.at(i).wr_id, i + 1);

  // Smaller: what is in the ring leaves with its completion.
  ASSERT_TRUE(cq->Resize(1).ok());
  EXPECT_EQ(free_buffers(), 6U);
  for (uint64_t left = 5; left >= 1; --left) {
    Complete({.wr_id = left});
    ASSERT_EQ(cq->Poll(completions).value(), 1U);
    EXPECT_EQ(completions[0].wr_id, left);
    EXPECT_EQ(free_buffers(), left);
  }
  Complete({});
  ASSERT_EQ(cq->Poll(completions).value(), 1U);
  EXPECT_EQ(free_buffers(), 1U);
  EXPECT_EQ(cq->capacity(), 1U);

  // The longest, often enough to reach every entry with every slot.
  ASSERT_TRUE(cq->Resize(16).ok());
  EXPECT_EQ(free_buffers(), 16U);
  for (uint64_t round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < 16; ++i) Complete({.wr_id = round * 16 + i});
    EXPECT_EQ(free_buffers(), 0U);
    ASSERT_EQ(cq->Poll(completions).value(), 16U);
    for (uint64_t i = 0; i < 16; ++i) EXPECT_EQ(completions.at(i).wr_id, round * 16 + i);
  }
}

TEST_F(VerbsTest, ImportedObjectsStayAtTheDevice) {
  {
    auto pd = device_->ImportPd(9);
    auto region = pd->ImportMr(4, 0x404, 0x405, 0x1000, 100);
    EXPECT_EQ(region->rkey(), 0x405U);
    region->Leave();
    pd->Leave();
  }
  EXPECT_EQ(log_, std::vector<std::string>());
  refuse_[RdmaCtrlCmd::kDestroyPd] = spec::RdmaError::kHandleBusy;
  auto pd = device_->ImportPd(9);
  EXPECT_EQ(pd->Destroy().error().rdma, spec::RdmaError::kHandleBusy);
  refuse_.clear();
  EXPECT_TRUE(pd->Destroy().ok());
  log_.clear();
  pd.reset();
  EXPECT_EQ(log_, std::vector<std::string>());
}

TEST_F(VerbsTest, ArmSendsTheUsedPosition) {
  Pair pair = MakePair();
  Complete({});
  std::array<spec::RdmaCqReq, 1> completions;
  ASSERT_EQ(pair.cq->Poll(completions).value(), 1U);
  ASSERT_TRUE(pair.cq->Arm().ok());
  ASSERT_TRUE(pair.cq->Arm(true).ok());
  const auto& arms = mock_->queue(CqIndex()).arms;
  ASSERT_EQ(arms.size(), 2U);
  EXPECT_EQ(spec::RdmaCqArm::FromWord(arms[0]).seen_used_idx, 1U);
  EXPECT_NE(arms[0], arms[1]);
}

TEST_F(VerbsTest, WaitingEndsAtTheDeadline) {
  Pair pair = MakePair();
  const uint64_t deadline = mock_->NowNs() + 10'000;
  EXPECT_FALSE(pair.cq->Wait(deadline).value().has_value());
  EXPECT_GE(mock_->NowNs(), deadline);
  Complete({.wr_id = 3});
  EXPECT_EQ(pair.cq->Wait(deadline).value()->wr_id, 3U);
}

TEST_F(VerbsTest, RegisterSendsThePageList) {
  auto pd = device_->CreatePd().value();
  auto memory = mock_->AllocateDma(10'000, 4096).value();
  auto region = pd->Register(*memory, spec::IbAccessFlags::kLocalWrite, 0x7000'0000'0000).value();
  EXPECT_EQ(region->Sge(16, 32), (spec::RdmaSge{.addr = 0x7000'0000'0010, .length = 32, .lkey = 0x303}));
  const auto request = Last<spec::RdmaCmdRegUserMr>(RdmaCtrlCmd::kRegUserMr);
  EXPECT_EQ(request.pdn, 7U);
  EXPECT_EQ(request.length, 10'000U);
  EXPECT_EQ(request.npages, 3U);
  const auto& bytes = requests_.at(RdmaCtrlCmd::kRegUserMr);
  ASSERT_EQ(bytes.size(), spec::RdmaCmdRegUserMr::kBytes + 3 * sizeof(uint64_t));
  EXPECT_TRUE(std::equal(reinterpret_cast<const uint8_t*>(std::array{memory->address()}.data()),
                         reinterpret_cast<const uint8_t*>(std::array{memory->address()}.data()) + 8,
                         bytes.begin() + spec::RdmaCmdRegUserMr::kBytes));
  log_.clear();
  pd.reset();
  EXPECT_TRUE(log_.empty());
  region.reset();
  EXPECT_EQ(log_, (std::vector<std::string>{"dereg_mr", "destroy_pd"}));
}

TEST_F(VerbsTest, MemoryWindowEndsOnceAndARegionMayBeBusy) {
  auto pd = device_->CreatePd().value();
  auto memory = mock_->AllocateDma(8192, 4096).value();
  auto region = pd->Register(*memory, spec::IbAccessFlags::kMwBind).value();
  auto window = pd->AllocateWindow(spec::RdmaMwType::kType2).value();
  EXPECT_EQ(Last<spec::RdmaCmdAllocMw>(RdmaCtrlCmd::kAllocMw),
            (spec::RdmaCmdAllocMw{.pdn = 7, .mw_type = spec::RdmaMwType::kType2}));
  EXPECT_EQ(window->mwn(), 4U);
  EXPECT_EQ(window->rkey(), 0x405U);
  refuse_[RdmaCtrlCmd::kDeregMr] = spec::RdmaError::kHandleBusy;
  EXPECT_EQ(region->Deregister().error().rdma, spec::RdmaError::kHandleBusy);
  refuse_.clear();
  ASSERT_TRUE(window->Deallocate().ok());
  EXPECT_EQ(Last<spec::RdmaCmdDeallocMw>(RdmaCtrlCmd::kDeallocMw).mwn, 4U);
  ASSERT_TRUE(region->Deregister().ok());
  log_.clear();
  window.reset();
  region.reset();
  EXPECT_TRUE(log_.empty()) << "both have ended";
}

TEST_F(VerbsTest, RegionOfWorkRequestsIsAllocatedAndQueried) {
  auto pd = device_->CreatePd().value();
  auto region = pd->AllocateRegion(8).value();
  EXPECT_EQ(Last<spec::RdmaCmdAllocMr>(RdmaCtrlCmd::kAllocMr), (spec::RdmaCmdAllocMr{.pdn = 7, .max_pages = 8}));
  EXPECT_EQ(region->mrn(), 6U);
  EXPECT_EQ(region->lkey(), 0x605U);
  EXPECT_EQ(region->rkey(), 0x606U);
  EXPECT_EQ(region->Query().value(), (spec::RdmaAckQueryMr{.lkey = 0x607, .is_alive = 1}));
  EXPECT_EQ(Last<spec::RdmaCmdQueryMr>(RdmaCtrlCmd::kQueryMr).mrn, 6U);
  region.reset();
  EXPECT_EQ(Last<spec::RdmaCmdDeregMr>(RdmaCtrlCmd::kDeregMr).mrn, 6U);
}

TEST_F(VerbsTest, ModifyOfARegionSendsWhatChanges) {
  using Flags = spec::RdmaReregFlags;
  auto pd = device_->CreatePd().value(), other = device_->CreatePd().value();
  auto memory = mock_->AllocateDma(8192, 4096).value();
  auto region = pd->Register(*memory, spec::IbAccessFlags::kLocalWrite, 0x7000'0000'0000).value();
  const auto nothing = region->Modify({});
  EXPECT_EQ(nothing.error().code, host::ErrorCode::kInvalidArgument);
  ASSERT_TRUE(region->Modify({.access = spec::IbAccessFlags::kRemoteRead}).ok());
  EXPECT_EQ(
      Last<spec::RdmaCmdReregMr>(RdmaCtrlCmd::kReregMr),
      (spec::RdmaCmdReregMr{.mrn = 3, .flags = Flags::kAccess, .access_flags = spec::IbAccessFlags::kRemoteRead}));
  EXPECT_EQ(region->lkey(), 0x307U);
  EXPECT_EQ(region->rkey(), 0x308U);
  EXPECT_EQ(region->address(), 0x7000'0000'0000U);
  // A refused one changes nothing here either.
  const std::array<uint64_t, 1> pages = {0x4000};
  const verbs::MemoryRegion::Change all = {
      .pages =
          verbs::MemoryRegion::Pages{.virtual_address = 0x9010, .length = 16, .page_shift = 12, .addresses = pages},
      .pd = other,
      .access = 0};
  refuse_[RdmaCtrlCmd::kReregMr] = spec::RdmaError::kNoFreePages;
  EXPECT_EQ(region->Modify(all).error().rdma, spec::RdmaError::kNoFreePages);
  EXPECT_EQ(region->length(), 8192U);
  refuse_.clear();
  ASSERT_TRUE(region->Modify(all).ok());
  EXPECT_EQ(Last<spec::RdmaCmdReregMr>(RdmaCtrlCmd::kReregMr),
            (spec::RdmaCmdReregMr{.mrn = 3,
                                  .flags = Flags::kTranslation | Flags::kPd | Flags::kAccess,
                                  .pdn = 7,
                                  .virt_addr = 0x9010,
                                  .length = 16,
                                  .npages = 1,
                                  .page_shift = 12}));
  EXPECT_EQ(requests_.at(RdmaCtrlCmd::kReregMr).size(), spec::RdmaCmdReregMr::kBytes + sizeof(uint64_t));
  EXPECT_EQ(region->address(), 0x9010U);
  EXPECT_EQ(region->length(), 16U);
  log_.clear();
  pd.reset();  // the region is in the other one
  EXPECT_EQ(log_, (std::vector<std::string>{"destroy_pd"}));
}

TEST_F(VerbsTest, ConnectGoesThroughAllStates) {
  Pair pair = MakePair();
  log_.clear();
  ASSERT_TRUE(pair.qp->Connect({.dest_qpn = 77, .local_psn = 5, .remote_psn = 6}).ok());
  EXPECT_EQ(log_, (std::vector<std::string>(3, "modify_qp")));
  const auto last = Last<spec::RdmaCmdModifyQp>(RdmaCtrlCmd::kModifyQp);
  EXPECT_EQ(last.qpn, 2U);
  EXPECT_EQ(last.qp_state, spec::IbQpState::kRts);
  EXPECT_EQ(last.sq_psn, 5U);
  EXPECT_NE(last.attr_mask & spec::IbQpAttrMask::kRetryCnt, 0U);
}

TEST_F(VerbsTest, UcConnectSetsOnlyUcAttributes) {
  using Mask = spec::IbQpAttrMask;
  Pair pair = MakePair({.type = spec::IbQpType::kUc});
  ASSERT_TRUE(pair.qp->Connect({.dest_qpn = 77, .local_psn = 5, .remote_psn = 6}).ok());
  ASSERT_EQ(modifies_.size(), 3U);
  EXPECT_EQ(modifies_[0].attr_mask, Mask::kState | Mask::kAccessFlags);
  EXPECT_EQ(modifies_[1].attr_mask, Mask::kState | Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn);
  EXPECT_EQ(modifies_[2].attr_mask, Mask::kState | Mask::kSqPsn);
}

TEST_F(VerbsTest, StartSetsQkeyAndPsn) {
  using Mask = spec::IbQpAttrMask;
  for (const spec::IbQpType type : {spec::IbQpType::kUd, spec::IbQpType::kGsi}) {
    modifies_.clear();
    Pair pair = MakePair({.type = type});
    ASSERT_TRUE(pair.qp->Start({.qkey = 0x8001'0000, .local_psn = 9}).ok());
    ASSERT_EQ(modifies_.size(), 3U);
    EXPECT_EQ(modifies_[0].attr_mask, Mask::kState | Mask::kQkey);
    EXPECT_EQ(modifies_[0].qp_state, spec::IbQpState::kInit);
    EXPECT_EQ(modifies_[0].qkey, 0x8001'0000U);
    EXPECT_EQ(modifies_[1].attr_mask, uint32_t{Mask::kState});
    EXPECT_EQ(modifies_[1].qp_state, spec::IbQpState::kRtr);
    EXPECT_EQ(modifies_[2].attr_mask, Mask::kState | Mask::kSqPsn);
    EXPECT_EQ(modifies_[2].qp_state, spec::IbQpState::kRts);
    EXPECT_EQ(modifies_[2].sq_psn, 9U);
  }
}

TEST_F(VerbsTest, AddGidIncludesTheVlan) {
  const uint8_t gid[16] = {0xfe, 0x80};
  ASSERT_TRUE(device_->AddGid(3, gid, uint16_t{0x2007}).ok());
  const auto request = Last<spec::RdmaCmdAddGid>(RdmaCtrlCmd::kAddGid);
  EXPECT_EQ(request.index, 3U);
  EXPECT_EQ(request.flags, spec::RdmaGidFlags::kVlanPresent);
  EXPECT_EQ(request.vlan, 0x2007U);
  EXPECT_EQ(request.gid[0], 0xfe);
}

TEST(VerbsOpen, DeviceWithoutRoceIsRefused) {
  MockDeviceOptions options;
  options.offered = AllMockFeatures();
  options.roce = false;
  MockDevice mock(options);
  EXPECT_FALSE(Device::Open(mock, {.wanted = host::DefaultFeatures()}).ok());
}

}  // namespace
}  // namespace vireo::sim
