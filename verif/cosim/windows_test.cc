// SPDX-License-Identifier: Apache-2.0
// Memory windows of types 1 and 2B: a bind gives the peer access to a part of a region, in its turn among the work
// requests of its queue pair; unbound, the key is of no use. Binds that are not allowed fail, and what a window is
// bound to cannot go. [IBTA vol. 1, 10.6.7]
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verif/cosim/key_test.h"

namespace vireo::sim {
namespace {

using spec::IbAccessFlags;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaMwType;

constexpr uint64_t kAddress = 0x5000'0123;  // of the region
constexpr uint32_t kReadWrite = IbAccessFlags::kRemoteRead | IbAccessFlags::kRemoteWrite;

class Windows : public KeyTest {
 public:
  // Of a region that no window may be bound to.
  uint32_t PlainKey() const { return pair_->side.at(1).region->lkey(); }

 protected:
  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildAndWatch(faults, 1);
    if (HasFatalFailure()) return;
    if (!system_->host(0).device().has_windows()) GTEST_SKIP() << "no memory windows in this profile";
  }
  ConnectedPairOptions Options() {
    ConnectedPairOptions options;
    options.memory_bytes = 4 * kPage;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.connection.access = system_->host(0).device().all_access();
    return options;
  }
  // Two pages of the memory of side 1, from a byte of the second one on, for windows; its rights are those of the owner
  // only.
  std::shared_ptr<verbs::MemoryRegion> Region(uint32_t access = IbAccessFlags::kLocalWrite | IbAccessFlags::kMwBind) {
    const uint64_t first = far().memory->address() + kPage;
    const std::array<uint64_t, 3> pages = {first + kPage, first, first + 2 * kPage};
    auto made = far().pd->Register(kAddress, 2 * kPage, access, 0, pages);
    EXPECT_TRUE(made.ok()) << host::ToString(made.error());
    return made.ok() ? *made : nullptr;
  }
  // Where a byte of the region is in the memory of side 1.
  static uint64_t PlaceOf(uint64_t offset) {
    const uint64_t at = kAddress % kPage + offset;
    const std::array<uint64_t, 3> pages = {2 * kPage, kPage, 3 * kPage};
    return pages.at(at / kPage) + at % kPage;
  }
  std::shared_ptr<verbs::MemoryWindow> Window(RdmaMwType type) {
    auto made = far().pd->AllocateWindow(type);
    EXPECT_TRUE(made.ok()) << host::ToString(made.error());
    return made.ok() ? *made : nullptr;
  }
  // A region of side 1, and a window of this type that is not bound yet; null if there is no connection.
  std::pair<std::shared_ptr<verbs::MemoryRegion>, std::shared_ptr<verbs::MemoryWindow>> ConnectWithWindow(
      RdmaMwType type) {
    Connect(Options());
    if (HasFatalFailure()) return {};
    auto region = Region();
    return {std::move(region), Window(type)};
  }
  // Another RC queue pair of side 1, with its completion queue, that binds; it sends nothing, so it needs no peer. Null
  // if it is refused.
  std::shared_ptr<verbs::QueuePair> OtherQueuePair() {
    auto other = far().pd->CreateQp({.send_cq = far().cq, .recv_cq = far().cq});
    if (!other.ok()) return nullptr;
    verbs::QueuePair::Connection connection{.dest_qpn = 0x99};
    connection.path = system_->host(1).PathTo(system_->host(0), RdmaHost::kIpv4Gid);
    return (*other)->Connect(connection).ok() ? *other : nullptr;
  }
  // With its key's low bits, to bytes of a region.
  static verbs::SendRequest Bind(uint64_t wr_id, const verbs::MemoryWindow& window, uint8_t key,
                                 const verbs::MemoryRegion& region, uint64_t offset, uint64_t bytes,
                                 uint32_t access = kReadWrite) {
    return {.wr_id = wr_id,
            .opcode = IbWrOpcode::kBindMw,
            .rkey = KeyOf(window, key),
            .bind_address = region.address() + offset,
            .bind_length = bytes,
            .bind_access = access,
            .bind_lkey = region.lkey()};
  }
  static uint32_t KeyOf(const verbs::MemoryWindow& window, uint8_t key) { return window.mwn() << 8 | key; }
  void ExpectBound(uint64_t wr_id) { ExpectDone(1, wr_id, IbWcOpcode::kBindMw); }
  // A WRITE by the peer, whose first byte is at `offset` of the region, with status `expected`.
  void ExpectWrite(uint64_t wr_id, uint32_t rkey, uint64_t address, uint64_t offset,
                   IbWcStatus expected = IbWcStatus::kSuccess) {
    ExpectWriteTo(wr_id, rkey, address, [&](uint32_t i) { return PlaceOf(offset + i); }, expected);
  }
};

TEST_P(Windows, PeerAccessesWhatTheWindowIsBoundTo) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const RdmaMwType type : {RdmaMwType::kType1, RdmaMwType::kType2}) {
    SCOPED_TRACE(spec::ToString(type));
    const auto [region, window] = ConnectWithWindow(type);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    // Over a page's end, and to the region's last byte.
    const uint64_t begin = kPage - 400, bytes = region->length() - begin;
    PostSend(Bind(1, *window, 0x5a, *region, begin, bytes), 1);
    ExpectBound(1);
    const uint32_t rkey = KeyOf(*window, 0x5a);
    const uint64_t address = region->address() + begin;
    ExpectWrite(2, rkey, address, begin);
    ExpectWrite(3, rkey, address + bytes - kBytes, begin + bytes - kBytes);
    const Elements to = {near().region->Sge(2048, 1024)};
    PostSend(Access(IbWrOpcode::kRdmaRead, 4, to, rkey, address));
    ExpectNext(0, 4, IbWcStatus::kSuccess);
    for (uint32_t i = 0; i < 1024; ++i) {
      ASSERT_EQ(near().memory->data()[2048 + i], far().memory->data()[PlaceOf(begin + i)]) << i;
    }
    ExpectWrite(5, rkey, address - 1, 0, IbWcStatus::kRemAccessErr);  // of the region, but not of the window
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Windows, ZeroBasedWindowBeginsAtAddressZero) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto [region, window] = ConnectWithWindow(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  PostSend(Bind(1, *window, 7, *region, 1000, kPage, kReadWrite | IbAccessFlags::kZeroBased), 1);
  ExpectBound(1);
  ExpectWrite(2, KeyOf(*window, 7), 0, 1000);
  ExpectWrite(3, KeyOf(*window, 7), kPage - kBytes, 1000 + kPage - kBytes);
  ExpectWrite(4, KeyOf(*window, 7), kPage - kBytes + 1, 0, IbWcStatus::kRemAccessErr);
}

TEST_P(Windows, WindowGivesItsRightsOnly) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const struct {
    uint32_t access;
    IbWrOpcode opcode;
    bool is_allowed;
  } cases[] = {
      {IbAccessFlags::kRemoteWrite, IbWrOpcode::kRdmaWrite, true},
      {IbAccessFlags::kRemoteRead, IbWrOpcode::kRdmaWrite, false},
      {IbAccessFlags::kRemoteRead, IbWrOpcode::kRdmaRead, true},
      {IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteAtomic, IbWrOpcode::kRdmaRead, false},
      {IbAccessFlags::kRemoteAtomic, IbWrOpcode::kAtomicFetchAndAdd, true},
      {kReadWrite, IbWrOpcode::kAtomicFetchAndAdd, false},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(&one - cases);
    const auto [region, window] = ConnectWithWindow(RdmaMwType::kType2);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    PostSend(Bind(1, *window, 7, *region, 0, kPage, one.access), 1);
    ExpectBound(1);
    const Elements list = {near().region->Sge(0, 8)};
    PostSend(Access(one.opcode, 2, list, KeyOf(*window, 7), (kAddress + 7) / 8 * 8));
    ExpectNext(0, 2, one.is_allowed ? IbWcStatus::kSuccess : IbWcStatus::kRemAccessErr);
    ASSERT_FALSE(HasFailure());
  }
}

// Among other work requests, and before those behind it: the peer learns the key by the SEND.
TEST_P(Windows, BindCompletesInOrder) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto [region, window] = ConnectWithWindow(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  for (uint64_t i = 0; i < 4; ++i) PostRecv(0, 70 + i, {near().region->Sge(64 * i, 64)});
  const Elements from = {far().region->Sge(0, 64)};
  PostSend({.wr_id = 1, .sg_list = from}, 1);
  PostSend(Bind(2, *window, 9, *region, 0, kPage), 1);
  PostSend({.wr_id = 3, .sg_list = from}, 1);
  ExpectNext(0, 70, IbWcStatus::kSuccess);
  ExpectNext(0, 71, IbWcStatus::kSuccess);
  ExpectNext(1, 1, IbWcStatus::kSuccess);
  ExpectBound(2);
  ExpectNext(1, 3, IbWcStatus::kSuccess);
  ExpectWrite(4, KeyOf(*window, 9), kAddress, 0);
  EXPECT_EQ(log_.CountSent(), 3U) << "a bind sends nothing: two SENDs, and the acknowledge of the WRITE";
}

TEST_P(Windows, BindThatIsNotAllowedFails) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  struct Case {
    const char* what;
    void (*spoil)(const Windows&, verbs::SendRequest&);
    IbWcStatus status;
    spec::RdmaError why;
  };
  const Case cases[] = {
      {"no window", [](const Windows&, auto& r) { r.rkey += 0x100; }, IbWcStatus::kMwBindErr, spec::RdmaError::kBadMrn},
      {"a region as window", [](const Windows&, auto& r) { r.rkey = r.bind_lkey; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kBadMrn},
      {"key of the region", [](const Windows&, auto& r) { r.bind_lkey ^= 1; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kBadMrn},
      {"region without the right", [](const Windows& w, auto& r) { r.bind_lkey = w.PlainKey(); },
       IbWcStatus::kMwBindErr, spec::RdmaError::kBadAccessFlags},
      {"before the region", [](const Windows&, auto& r) { r.bind_address -= 1; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"behind the region", [](const Windows&, auto& r) { r.bind_length = 2 * kPage + 1; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"much too long", [](const Windows&, auto& r) { r.bind_length = uint64_t{1} << 32; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"no bytes", [](const Windows&, auto& r) { r.bind_length = 0; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"a right that windows do not give", [](const Windows&, auto& r) { r.bind_access |= IbAccessFlags::kLocalWrite; },
       IbWcStatus::kLocQpOpErr, spec::RdmaError::kInvalidParameter},
      {"fence", [](const Windows&, auto& r) { r.flags |= spec::IbSendFlags::kFence; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.what);
    const auto [region, window] = ConnectWithWindow(RdmaMwType::kType2);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    auto request = Bind(1, *window, 3, *region, 0, kPage);
    bad.spoil(*this, request);
    PostSend(request, 1);
    PostSend(Bind(2, *window, 3, *region, 0, kPage), 1);
    ExpectError(1, 1, bad.status, bad.why);
    ExpectNext(1, 2, IbWcStatus::kWrFlushErr);
    ASSERT_FALSE(HasFailure());
  }
}

// Rights to change memory need a region that its owner may change; a bound window of type 2 is not bound again.
TEST_P(Windows, BindNeedsTheRegionsRightAndAFreeWindow) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  auto region = Region(IbAccessFlags::kMwBind);
  const auto window = Window(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  PostSend(Bind(1, *window, 3, *region, 0, kPage, IbAccessFlags::kRemoteRead), 1);
  ExpectBound(1);
  PostSend(Bind(2, *window, 4, *region, 0, kPage, IbAccessFlags::kRemoteRead), 1);
  ExpectNext(1, 2, IbWcStatus::kMwBindErr);
  EXPECT_TRUE(window->Deallocate().ok());
  region.reset();

  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  region = Region(IbAccessFlags::kMwBind);
  const auto other = Window(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && other != nullptr);
  PostSend(Bind(1, *other, 3, *region, 0, kPage, IbAccessFlags::kRemoteWrite), 1);
  ExpectNext(1, 1, IbWcStatus::kMwBindErr);
}

TEST_P(Windows, InvalidateEndsWhatTheWindowIsBoundTo) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const bool is_remote : {false, true}) {
    SCOPED_TRACE(is_remote);
    const auto [region, window] = ConnectWithWindow(RdmaMwType::kType2);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    for (uint8_t key = 1; key <= 3; ++key) {
      const uint32_t rkey = KeyOf(*window, key);
      PostSend(Bind(key, *window, key, *region, kPage * (key % 2), kPage), 1);
      ExpectBound(key);
      ExpectWrite(10 + key, rkey, kAddress + kPage * (key % 2), kPage * (key % 2));
      if (is_remote) {
        PostRecv(1, 70, {far().region->Sge(0, 64)});
        PostSend({.wr_id = 20, .opcode = IbWrOpcode::kSendWithInv, .invalidate_rkey = rkey});
        ExpectNext(0, 20, IbWcStatus::kSuccess);
        ExpectNext(1, 70, IbWcStatus::kSuccess);
      } else {
        PostSend(LocalInvalidate(30, rkey), 1);
        ExpectNext(1, 30, IbWcStatus::kSuccess);
      }
      ASSERT_FALSE(HasFailure());
    }
    if (is_remote) {
      ExpectWrite(40, KeyOf(*window, 3), kAddress + kPage, 0, IbWcStatus::kRemAccessErr);
    } else {
      PostSend(LocalInvalidate(41, KeyOf(*window, 3)), 1);
      ExpectNext(1, 41, IbWcStatus::kLocQpOpErr);
    }
  }
}

// Of type 1: the old key ends with the next bind, or with one of no bytes.
TEST_P(Windows, BindsOfTypeOneReplaceEachOther) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const bool moves : {true, false}) {
    SCOPED_TRACE(moves);
    const auto [region, window] = ConnectWithWindow(RdmaMwType::kType1);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    PostSend(Bind(1, *window, 1, *region, 0, kPage), 1);
    ExpectBound(1);
    ExpectWrite(2, KeyOf(*window, 1), kAddress, 0);
    PostSend(Bind(3, *window, 2, *region, kPage, moves ? kPage : 0), 1);
    ExpectBound(3);
    if (moves) ExpectWrite(4, KeyOf(*window, 2), kAddress + kPage, kPage);
    ExpectWrite(5, KeyOf(*window, 1), kAddress, 0, IbWcStatus::kRemAccessErr);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(Windows, WindowOfTypeOneIsNotInvalidated) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto [region, window] = ConnectWithWindow(RdmaMwType::kType1);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  PostSend(Bind(1, *window, 1, *region, 0, kPage), 1);
  ExpectBound(1);
  PostSend(LocalInvalidate(2, KeyOf(*window, 1)), 1);
  ExpectNext(1, 2, IbWcStatus::kLocQpOpErr);
}

// A window of type 2 is its queue pair's, one of type 1 its protection domain's.
TEST_P(Windows, OtherQueuePairs) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const RdmaMwType type : {RdmaMwType::kType1, RdmaMwType::kType2}) {
    SCOPED_TRACE(spec::ToString(type));
    const auto [region, window] = ConnectWithWindow(type);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    const auto other = OtherQueuePair();
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(other->PostSend(Bind(1, *window, 6, *region, 0, kPage)).ok());
    ExpectBound(1);
    ExpectWrite(2, KeyOf(*window, 6), kAddress, 0,
                type == RdmaMwType::kType1 ? IbWcStatus::kSuccess : IbWcStatus::kRemAccessErr);
    ASSERT_FALSE(HasFailure());
  }
}

// A WRITE over UC uses a window of type 1 of its domain. One of type 2 is its own queue pair's: the WRITE is not
// executed, and nobody is told.
TEST_P(Windows, UnreliableConnectionWritesToWindowsOfTypeOne) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const RdmaMwType type : {RdmaMwType::kType1, RdmaMwType::kType2}) {
    SCOPED_TRACE(spec::ToString(type));
    auto options = Options();
    options.qp.type = spec::IbQpType::kUc;
    options.connection.access = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region();
    const auto window = Window(type);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    const auto binder = OtherQueuePair();
    ASSERT_NE(binder, nullptr);
    ASSERT_TRUE(binder->PostSend(Bind(1, *window, 6, *region, 100, kPage)).ok());
    ExpectBound(1);
    auto memory = Memory();
    const Elements from = {near().region->Sge(0, kBytes)};
    for (uint32_t i = 0; i < kBytes && type == RdmaMwType::kType1; ++i) {
      memory[1].at(PlaceOf(100 + i)) = near().memory->data()[i];
    }
    PostSend(Access(IbWrOpcode::kRdmaWrite, 2, from, KeyOf(*window, 6), kAddress + 100));
    PostSend(Access(IbWrOpcode::kRdmaWrite, 3, from, KeyOf(*window, 6), kAddress + 99));  // in front of the window
    ExpectNext(0, 2, IbWcStatus::kSuccess);
    ExpectNext(0, 3, IbWcStatus::kSuccess);
    RunFor(20'000);
    ExpectMemory(memory);
    ASSERT_FALSE(HasFailure());
  }
}

// Binds among the messages of a UC queue pair, and local invalidates: in order, as over RC. [Linux' rxe_opcode.c has
// both for UC]
TEST_P(Windows, UnreliableConnectionBinds) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const RdmaMwType type : {RdmaMwType::kType1, RdmaMwType::kType2}) {
    SCOPED_TRACE(spec::ToString(type));
    auto options = Options();
    options.qp.type = spec::IbQpType::kUc;
    options.connection.access = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite;
    Connect(options);
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region();
    const auto window = Window(type);
    ASSERT_TRUE(region != nullptr && window != nullptr);
    PostRecv(0, 70, {near().region->Sge(2048, 1024)});
    const Elements message = {far().region->Sge(0, 600)};
    PostSend({.wr_id = 1, .sg_list = message}, 1);
    PostSend(Bind(2, *window, 6, *region, 100, kPage), 1);
    PostSend({.wr_id = 3, .sg_list = message}, 1);  // there is no receive: it is lost
    ExpectNext(1, 1, IbWcStatus::kSuccess);
    ExpectBound(2);
    ExpectNext(1, 3, IbWcStatus::kSuccess);
    ExpectNext(0, 70, IbWcStatus::kSuccess);
    ExpectWrite(4, KeyOf(*window, 6), kAddress + 100, 100);
    EXPECT_FALSE(region->Deregister().ok());
    if (type == RdmaMwType::kType1) {
      PostSend(Bind(5, *window, 7, *region, 0, 0), 1);
      ExpectBound(5);
    } else {
      PostSend(LocalInvalidate(5, KeyOf(*window, 6)), 1);
      ExpectNext(1, 5, IbWcStatus::kSuccess);
    }
    // The peer's WRITE by the old key has no effect.
    auto memory = Memory();
    const Elements from = {near().region->Sge(0, kBytes)};
    PostSend(Access(IbWrOpcode::kRdmaWrite, 6, from, KeyOf(*window, 6), kAddress + 100));
    ExpectNext(0, 6, IbWcStatus::kSuccess);
    RunFor(20'000);
    ExpectMemory(memory);
    // A bind that is not allowed stops the send half only.
    PostSend(Bind(7, *window, 8, *region, 0, 2 * kPage + 1), 1);
    ExpectNext(1, 7, IbWcStatus::kMwBindErr);
    const auto state = far().qp->Query();
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->qp_state, spec::IbQpState::kSqe);
    EXPECT_TRUE(region->Deregister().ok());  // nothing is bound to it
    ASSERT_FALSE(HasFailure());
  }
}

// A region that a window is bound to stays; the window goes at any time, and with its queue pair it is unbound.
TEST_P(Windows, RegionIsBusyWhileAWindowIsBoundToIt) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Region();
  auto window = Window(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  const auto expect_busy = [&] {
    const verbs::Status refused = region->Deregister();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().rdma, spec::RdmaError::kHandleBusy);
    const verbs::Status changed = region->Modify({.access = IbAccessFlags::kLocalWrite});
    ASSERT_FALSE(changed.ok());
    EXPECT_EQ(changed.error().rdma, spec::RdmaError::kHandleBusy);
  };
  PostSend(Bind(1, *window, 1, *region, 0, kPage), 1);
  ExpectBound(1);
  expect_busy();
  ExpectWrite(2, KeyOf(*window, 1), kAddress, 0);
  PostSend(LocalInvalidate(3, KeyOf(*window, 1)), 1);
  ExpectNext(1, 3, IbWcStatus::kSuccess);
  EXPECT_TRUE(region->Modify({.access = IbAccessFlags::kLocalWrite | IbAccessFlags::kMwBind}).ok());
  PostSend(Bind(4, *window, 1, *region, 0, kPage), 1);
  ExpectBound(4);
  expect_busy();
  EXPECT_TRUE(window->Deallocate().ok());
  ExpectWrite(5, KeyOf(*window, 1), kAddress, 0, IbWcStatus::kRemAccessErr);
  EXPECT_TRUE(region->Deregister().ok());

  Connect(Options());
  ASSERT_FALSE(HasFatalFailure());
  const auto again = Region();
  window = Window(RdmaMwType::kType2);
  ASSERT_TRUE(again != nullptr && window != nullptr);
  PostSend(Bind(1, *window, 1, *again, 0, kPage), 1);
  ExpectBound(1);
  EXPECT_FALSE(again->Deregister().ok());
  pair_->side[1].qp.reset();
  EXPECT_TRUE(again->Deregister().ok()) << "its window was the queue pair's";
}

// Binds among messages that are lost and repeated; each gives access until the peer ends it.
TEST_P(Windows, OverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  Build({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  auto options = Options();
  options.connection.timeout = 5;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Region();
  const auto window = Window(RdmaMwType::kType2);
  ASSERT_TRUE(region != nullptr && window != nullptr);
  const unsigned rounds = has_cheap_cycles() ? 24 : 4;
  const Elements message = {far().region->Sge(0, 600)};
  for (unsigned round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto key = static_cast<uint8_t>(1 + round);
    const uint64_t offset = 100 * round;
    // The peer learns by the SEND behind it that the window is bound.
    PostRecv(0, 70, {near().region->Sge(2048, 1024)});
    PostSend(Bind(1, *window, key, *region, offset, kPage), 1);
    PostSend({.wr_id = 2, .sg_list = message}, 1);
    ExpectNext(0, 70, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectBound(1);
    ExpectNext(1, 2, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectWrite(3, KeyOf(*window, key), kAddress + offset, offset);
    PostRecv(1, 71, {far().region->Sge(0, 64)});
    PostSend({.wr_id = 4, .opcode = IbWrOpcode::kSendWithInv, .invalidate_rkey = KeyOf(*window, key)});
    ExpectNext(0, 4, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectNext(1, 71, IbWcStatus::kSuccess, kTimeoutNs);
    ASSERT_FALSE(HasFailure());
  }
}

VIREO_ON_EVERY_DEVICE(Windows);

}  // namespace
}  // namespace vireo::sim
