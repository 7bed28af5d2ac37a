// SPDX-License-Identifier: Apache-2.0
// Regions that work requests register: with any pages, in their turn among the work requests of their queue pair; free
// again by an invalidate. Registrations that are not allowed fail and change nothing. And what QUERY_MR tells of a
// region. [IBTA vol. 1, 10.6.3; Linux' IB_WR_REG_MR]
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
using spec::IbQpType;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint64_t kAddress = 0x7000'0123;  // of a registration
constexpr size_t kPages = 9;                // of each side's memory
constexpr uint32_t kAll = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteRead | IbAccessFlags::kRemoteWrite;

class FastRegistration : public KeyTest {
 public:
  uint32_t PlainKey() const { return pair_->side.at(1).region->lkey(); }

 protected:
  // Page numbers in the memory of a side; their addresses.
  using Numbers = std::vector<uint64_t>;

  void Build(const std::array<std::string, 2>& faults = {}) {
    BuildAndWatch(faults, 1);
    if (HasFatalFailure()) return;
    if (system_->host(0).device().max_fast_pages() == 0) GTEST_SKIP() << "no fast registration in this profile";
  }
  void ConnectAs(IbQpType type = IbQpType::kRc) {
    ConnectedPairOptions options;
    options.memory_bytes = kPages * kPage;
    options.path_mtu = spec::IbMtu::kMtu256;
    options.qp.type = type;
    options.qp.max_send_sge = 4;
    options.connection.timeout = 5;
    options.connection.access =
        type == IbQpType::kRc ? system_->host(0).device().all_access() : kAll & ~IbAccessFlags::kRemoteRead;
    Connect(options);
  }
  std::shared_ptr<verbs::MemoryRegion> Allocate(uint32_t max_pages, size_t at = 1) {
    auto made = side(at).pd->AllocateRegion(max_pages);
    EXPECT_TRUE(made.ok()) << host::ToString(made.error());
    return made.ok() ? *made : nullptr;
  }
  // The memory of a side does not begin at a page; the first whole one is number 0.
  uint64_t FirstPage(size_t at = 1) { return (side(at).memory->address() + kPage - 1) / kPage * kPage; }
  std::vector<uint64_t> AddressesOf(const Numbers& numbers, size_t at = 1) {
    std::vector<uint64_t> addresses;
    for (const uint64_t number : numbers) addresses.push_back(FirstPage(at) + number * kPage);
    return addresses;
  }
  // Where a byte of a registration is in the memory of a side.
  size_t PlaceOf(const Numbers& numbers, uint64_t offset, size_t at = 1) {
    const uint64_t in_first = kAddress % kPage + offset;
    return FirstPage(at) - side(at).memory->address() + numbers.at(in_first / kPage) * kPage + in_first % kPage;
  }
  static uint32_t KeyOf(const verbs::MemoryRegion& region, uint8_t key) { return region.mrn() << 8 | key; }
  // All bytes of the pages from kAddress on.
  static verbs::SendRequest Register(uint64_t wr_id, const verbs::MemoryRegion& region, uint8_t key,
                                     const std::vector<uint64_t>& pages, uint32_t access = kAll) {
    return {.wr_id = wr_id,
            .opcode = IbWrOpcode::kRegMr,
            .rkey = KeyOf(region, key),
            .bind_address = kAddress,
            .bind_length = pages.size() * kPage - kAddress % kPage,
            .bind_access = access,
            .pages = pages};
  }
  void ExpectRegistered(uint64_t wr_id, size_t at = 1) { ExpectDone(at, wr_id, IbWcOpcode::kRegMr); }
  // A WRITE by the peer to `offset` of the registration.
  void ExpectWrite(uint64_t wr_id, uint32_t rkey, const Numbers& numbers, uint64_t offset,
                   IbWcStatus expected = IbWcStatus::kSuccess) {
    ExpectWriteTo(wr_id, rkey, kAddress + offset, [&](uint32_t i) { return PlaceOf(numbers, offset + i); }, expected);
  }
};

TEST_P(FastRegistration, PeerAccessesThePages) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const Numbers& numbers : {Numbers{4}, Numbers{2, 1}, Numbers{6, 0, 3}, Numbers{1, 5, 2, 7, 0, 6, 4, 3}}) {
    SCOPED_TRACE(numbers.size());
    ConnectAs();
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Allocate(static_cast<uint32_t>(numbers.size()));
    ASSERT_NE(region, nullptr);
    const auto pages = AddressesOf(numbers);
    PostSend(Register(1, *region, 0x5a, pages), 1);
    ExpectRegistered(1);
    EXPECT_EQ(log_.CountSent(), 0U) << "it sends nothing";
    const uint32_t rkey = KeyOf(*region, 0x5a);
    const uint64_t bytes = pages.size() * kPage - kAddress % kPage;
    for (uint64_t page = 0; page < numbers.size(); ++page) {
      const uint64_t offset = page == 0 ? 0 : page * kPage - kAddress % kPage - kBytes / 2;  // over each border
      ExpectWrite(2 + page, rkey, numbers, offset);
    }
    ExpectWrite(20, rkey, numbers, bytes - kBytes);
    const Elements to = {near().region->Sge(2048, 1024)};
    PostSend(Access(IbWrOpcode::kRdmaRead, 21, to, rkey, kAddress + bytes - 1024));
    ExpectNext(0, 21, IbWcStatus::kSuccess);
    for (uint32_t i = 0; i < 1024; ++i) {
      ASSERT_EQ(near().memory->data()[2048 + i], far().memory->data()[PlaceOf(numbers, bytes - 1024 + i)]) << i;
    }
    ExpectWrite(22, rkey, numbers, bytes - kBytes + 1, IbWcStatus::kRemAccessErr);
    log_.Clear();
    ASSERT_FALSE(HasFailure());
  }
}

// The key is valid for what follows in the queue, and not behind a local invalidate; then other pages have another key.
// All are posted at once.
TEST_P(FastRegistration, KeyIsValidForWhatFollows) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const IbQpType type : {IbQpType::kRc, IbQpType::kUc}) {
    SCOPED_TRACE(spec::ToString(type));
    ConnectAs(type);
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Allocate(2, 0);
    ASSERT_NE(region, nullptr);
    const Numbers numbers[] = {{3, 1}, {6, 5}};
    for (uint64_t i = 0; i < 2; ++i) PostRecv(1, 70 + i, {far().region->Sge(1024 * i, 1024)});
    auto memory = Memory();
    std::vector<uint64_t> pages[2];
    for (uint8_t i = 0; i < 2; ++i) {
      pages[i] = AddressesOf(numbers[i], 0);
      PostSend(Register(10u * i, *region, static_cast<uint8_t>(1 + i), pages[i], 0));
      const uint64_t offset = kPage - kAddress % kPage - 300;
      const Elements list = {
          {.addr = kAddress + offset, .length = 600, .lkey = KeyOf(*region, static_cast<uint8_t>(1 + i))}};
      PostSend({.wr_id = 10u * i + 1, .sg_list = list});
      for (uint32_t k = 0; k < 600; ++k) {
        memory[1].at(1024u * i + k) = near().memory->data()[PlaceOf(numbers[i], offset + k, 0)];
      }
      if (i == 1) break;
      // An invalidate waits for nothing, so the program does. [docs/decisions/0019]
      ExpectRegistered(0, 0);
      ExpectNext(0, 1, IbWcStatus::kSuccess);
      PostSend(LocalInvalidate(2, KeyOf(*region, 1)));
    }
    ExpectNext(0, 2, IbWcStatus::kSuccess);
    ExpectRegistered(10, 0);
    ExpectNext(0, 11, IbWcStatus::kSuccess);
    ExpectNext(1, 70, IbWcStatus::kSuccess);
    ExpectNext(1, 71, IbWcStatus::kSuccess);
    RunFor(20'000);
    ExpectMemory(memory);
    const Elements old = {{.addr = kAddress, .length = 8, .lkey = KeyOf(*region, 1)}};
    PostSend({.wr_id = 20, .sg_list = old});
    ExpectNext(0, 20, IbWcStatus::kLocProtErr);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(FastRegistration, PeerFreesItBySendWithInvalidate) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Allocate(3);
  ASSERT_NE(region, nullptr);
  for (uint8_t round = 1; round <= 4; ++round) {
    SCOPED_TRACE(int{round});
    const Numbers numbers = round % 2 == 0 ? Numbers{round, 7} : Numbers{5, 0, round};
    const auto pages = AddressesOf(numbers);
    PostSend(Register(1, *region, round, pages), 1);
    ExpectRegistered(1);
    ExpectWrite(2, KeyOf(*region, round), numbers, 100);
    PostRecv(1, 70, {far().region->Sge(0, 64)});
    PostSend({.wr_id = 3, .opcode = IbWrOpcode::kSendWithInv, .invalidate_rkey = KeyOf(*region, round)});
    ExpectNext(0, 3, IbWcStatus::kSuccess);
    const auto received = Next(1, kTimeoutNs);
    ASSERT_TRUE(received.has_value());
    EXPECT_EQ(received->status, IbWcStatus::kSuccess);
    EXPECT_EQ(spec::Ieth::Decode(received->imm_data).rkey, KeyOf(*region, round));
    ASSERT_FALSE(HasFailure());
  }
  ExpectWrite(4, KeyOf(*region, 4), {}, 100, IbWcStatus::kRemAccessErr);
}

TEST_P(FastRegistration, RightsAreThoseOfTheRegistration) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  const struct {
    uint32_t access;
    IbWrOpcode opcode;
    bool is_allowed;
  } cases[] = {
      {IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite, IbWrOpcode::kRdmaWrite, true},
      {IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteRead, IbWrOpcode::kRdmaWrite, false},
      {IbAccessFlags::kRemoteRead, IbWrOpcode::kRdmaRead, true},
      {IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite, IbWrOpcode::kRdmaRead, false},
      {IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteAtomic, IbWrOpcode::kAtomicFetchAndAdd, true},
      {kAll, IbWrOpcode::kAtomicFetchAndAdd, false},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(&one - cases);
    ConnectAs();
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Allocate(1);
    ASSERT_NE(region, nullptr);
    const auto pages = AddressesOf({3});
    PostSend(Register(1, *region, 7, pages, one.access), 1);
    ExpectRegistered(1);
    const Elements list = {near().region->Sge(0, 8)};
    PostSend(Access(one.opcode, 2, list, KeyOf(*region, 7), (kAddress + 7) / 8 * 8));
    ExpectNext(0, 2, one.is_allowed ? IbWcStatus::kSuccess : IbWcStatus::kRemAccessErr);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(FastRegistration, RegistrationThatIsNotAllowedFails) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  struct Case {
    const char* what;
    void (*spoil)(const FastRegistration&, verbs::SendRequest&);
    IbWcStatus status;
    spec::RdmaError why;
  };
  const Case cases[] = {
      {"no region", [](const auto&, auto& r) { r.rkey += 0x100; }, IbWcStatus::kMwBindErr, spec::RdmaError::kBadMrn},
      {"a region of REG_USER_MR", [](const auto& t, auto& r) { r.rkey = t.PlainKey(); }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kBadMrn},
      {"remote without local write", [](const auto&, auto& r) { r.bind_access = IbAccessFlags::kRemoteWrite; },
       IbWcStatus::kMwBindErr, spec::RdmaError::kBadAccessFlags},
      {"more bytes than pages", [](const auto&, auto& r) { r.bind_length += 1; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"much too long", [](const auto&, auto& r) { r.bind_length = uint64_t{1} << 32; }, IbWcStatus::kMwBindErr,
       spec::RdmaError::kInvalidLength},
      {"no bytes", [](const auto&, auto& r) { r.bind_length = 0; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
      {"no pages", [](const auto&, auto& r) { r.pages = {}; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
      {"pages too small", [](const auto&, auto& r) { r.page_shift = 11; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
      {"pages too large", [](const auto&, auto& r) { r.page_shift = 31; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
      {"a right that it cannot give", [](const auto&, auto& r) { r.bind_access |= IbAccessFlags::kMwBind; },
       IbWcStatus::kLocQpOpErr, spec::RdmaError::kInvalidParameter},
      {"fence", [](const auto&, auto& r) { r.flags |= spec::IbSendFlags::kFence; }, IbWcStatus::kLocQpOpErr,
       spec::RdmaError::kInvalidParameter},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.what);
    ConnectAs();
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Allocate(2);
    ASSERT_NE(region, nullptr);
    const auto pages = AddressesOf({1, 2});
    auto request = Register(1, *region, 3, pages);
    bad.spoil(*this, request);
    PostSend(request, 1);
    PostSend(Register(2, *region, 3, pages), 1);
    ExpectError(1, 1, bad.status, bad.why);
    ExpectNext(1, 2, IbWcStatus::kWrFlushErr);
    ASSERT_FALSE(HasFailure());
  }
}

// It must be free, have room for the pages, and be of the queue pair's domain: what another tenant allocated is not
// there.
TEST_P(FastRegistration, RegionMustBeFreeAndLargeEnoughAndOfTheDomain) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Allocate(2);
  ASSERT_NE(region, nullptr);
  const auto pages = AddressesOf({1, 2}), others = AddressesOf({4, 5});
  PostSend(Register(1, *region, 3, pages), 1);
  ExpectRegistered(1);
  PostSend(Register(2, *region, 4, others), 1);
  ExpectNext(1, 2, IbWcStatus::kMwBindErr);
  const auto still = region->Query();
  ASSERT_TRUE(still.ok());
  EXPECT_TRUE(still->is_alive);
  EXPECT_EQ(still->lkey, KeyOf(*region, 3)) << "the first registration";

  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto small = Allocate(2);
  const auto many = AddressesOf({1, 2, 3});
  PostSend(Register(1, *small, 3, many), 1);
  ExpectNext(1, 1, IbWcStatus::kMwBindErr);

  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto other = system_->host(1).device().CreatePd();
  ASSERT_TRUE(other.ok());
  const auto foreign = (*other)->AllocateRegion(2);
  ASSERT_TRUE(foreign.ok());
  PostSend(Register(1, **foreign, 3, pages), 1);
  ExpectError(1, 1, IbWcStatus::kMwBindErr, spec::RdmaError::kBadPdn);
}

// As many pages as the device has for one, which takes two lists of elements.
TEST_P(FastRegistration, MostPages) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  ConnectedPairOptions options;
  options.memory_bytes = kPages * kPage;
  options.qp.max_send_sge = system_->host(0).device().attributes().max_send_sge;
  Connect(options);
  ASSERT_FALSE(HasFatalFailure());
  const uint32_t most = system_->host(0).device().max_fast_pages();
  EXPECT_FALSE(far().pd->AllocateRegion(most + 1).ok());
  EXPECT_FALSE(far().pd->AllocateRegion(0).ok());
  const auto region = Allocate(most);
  ASSERT_NE(region, nullptr);
  Numbers numbers;
  for (uint32_t i = 0; i < most; ++i) numbers.push_back((5 * i + i / 8) % (kPages - 1));
  auto pages = AddressesOf(numbers);
  PostSend(Register(1, *region, 9, pages), 1);
  ExpectRegistered(1);
  for (uint64_t page = 1; page < most; page += 3) {
    ExpectWrite(page, KeyOf(*region, 9), numbers, page * kPage - kAddress % kPage - kBytes / 2);
  }
  pages.push_back(FirstPage());
  EXPECT_FALSE(far().qp->PostSend(Register(2, *region, 9, pages)).ok());
}

TEST_P(FastRegistration, QueryTellsTheRegionAsItIs) {
  BuildWith({});
  if (HasFatalFailure()) return;
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  const auto plain = far().region->Query();
  if (!plain.ok() && plain.error().code == host::ErrorCode::kUnsupported) GTEST_SKIP() << "not in this profile";
  ASSERT_TRUE(plain.ok()) << host::ToString(plain.error());
  EXPECT_EQ(plain->lkey, far().region->lkey());
  EXPECT_EQ(plain->rkey, far().region->rkey());
  EXPECT_EQ(plain->pdn, far().pd->pdn());
  EXPECT_EQ(plain->virt_addr, far().region->address());
  EXPECT_EQ(plain->length, far().region->length());
  EXPECT_EQ(plain->page_shift, spec::kRdmaPageShiftDefault);
  EXPECT_TRUE(plain->is_alive);
  EXPECT_FALSE(plain->is_fast || plain->invalidatable);
  ASSERT_TRUE(far().region->Modify({.access = IbAccessFlags::kRemoteRead}).ok());
  EXPECT_EQ(far().region->Query()->access_flags, IbAccessFlags::kRemoteRead);
  if (!system_->host(0).device().has_invalidation()) return;

  const std::array<uint64_t, 1> page = {FirstPage()};
  const auto one = far().pd->Register(kAddress, 100, IbAccessFlags::kLocalWrite, 0, page, true);
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE((*one)->Query()->is_alive);
  EXPECT_TRUE((*one)->Query()->invalidatable);
  PostSend(LocalInvalidate(1, (*one)->lkey()), 1);
  ExpectNext(1, 1, IbWcStatus::kSuccess);
  EXPECT_FALSE((*one)->Query()->is_alive) << "the device has ended it";
  EXPECT_EQ((*one)->Query()->lkey, (*one)->lkey());
  if (system_->host(0).device().max_fast_pages() == 0) return;

  const auto fast = Allocate(3);
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(*fast->Query(), (spec::RdmaAckQueryMr{.lkey = fast->lkey(),
                                                  .rkey = fast->rkey(),
                                                  .pdn = far().pd->pdn(),
                                                  .npages = 4,
                                                  .invalidatable = 1,
                                                  .is_fast = 1}));
  const auto pages = AddressesOf({1, 2});
  PostSend(Register(2, *fast, 0x33, pages), 1);
  ExpectRegistered(2);
  EXPECT_TRUE(fast->Query()->is_alive);
  EXPECT_EQ(fast->Query()->rkey, KeyOf(*fast, 0x33));
  const auto refused = fast->Modify({.access = IbAccessFlags::kRemoteRead});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().rdma, spec::RdmaError::kInvalidParameter);
  PostSend(LocalInvalidate(3, KeyOf(*fast, 0x33)), 1);
  ExpectNext(1, 3, IbWcStatus::kSuccess);
  EXPECT_FALSE(fast->Query()->is_alive);
}

// Deregistration ends it while it is registered; its pages are another's then.
TEST_P(FastRegistration, DeregistrationEndsIt) {
  Build();
  if (IsSkipped() || HasFatalFailure()) return;
  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Allocate(2);
  ASSERT_NE(region, nullptr);
  const Numbers numbers = {1, 2};
  const auto pages = AddressesOf(numbers);
  PostSend(Register(1, *region, 3, pages), 1);
  ExpectRegistered(1);
  ExpectWrite(2, KeyOf(*region, 3), numbers, 0);
  EXPECT_TRUE(region->Deregister().ok());
  ExpectWrite(3, KeyOf(*region, 3), numbers, 0, IbWcStatus::kRemAccessErr);
}

TEST_P(FastRegistration, OverALinkThatLosesDuplicatesAndReorders) {
  const std::string faults = "drop rate=0.05; duplicate 1 rate=0.05; reorder 2 rate=0.05";
  Build({faults, faults});
  if (IsSkipped() || HasFatalFailure()) return;
  ConnectAs();
  ASSERT_FALSE(HasFatalFailure());
  const auto region = Allocate(4);
  ASSERT_NE(region, nullptr);
  const unsigned rounds = has_cheap_cycles() ? 24 : 4;
  const Elements message = {far().region->Sge(0, 600)};
  for (unsigned round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto key = static_cast<uint8_t>(1 + round);
    Numbers numbers;
    for (unsigned i = 0; i <= round % 4; ++i) numbers.push_back((3 * round + 2 * i) % (kPages - 1));
    const auto pages = AddressesOf(numbers);
    // The peer learns by the SEND behind it that it is registered.
    PostRecv(0, 70, {near().region->Sge(2048, 1024)});
    PostSend(Register(1, *region, key, pages), 1);
    PostSend({.wr_id = 2, .sg_list = message}, 1);
    ExpectNext(0, 70, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectRegistered(1);
    ExpectNext(1, 2, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectWrite(3, KeyOf(*region, key), numbers, 100 * round);
    PostRecv(1, 71, {far().region->Sge(0, 64)});
    PostSend({.wr_id = 4, .opcode = IbWrOpcode::kSendWithInv, .invalidate_rkey = KeyOf(*region, key)});
    ExpectNext(0, 4, IbWcStatus::kSuccess, kTimeoutNs);
    ExpectNext(1, 71, IbWcStatus::kSuccess, kTimeoutNs);
    ASSERT_FALSE(HasFailure());
  }
}

VIREO_ON_EVERY_DEVICE(FastRegistration);

}  // namespace
}  // namespace vireo::sim
