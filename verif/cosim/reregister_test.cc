// SPDX-License-Identifier: Apache-2.0
// REREG_MR: a region changes its rights, protection domain or memory in place, while peers use it. After the answer
// nothing is accessed but what the new region allows: the test then takes the old memory away, so that an access to it
// is a violation, and the monitor judges every other. [IBTA vol. 1, 10.6.6.4]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbAccessFlags;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using Change = verbs::MemoryRegion::Change;

constexpr uint64_t kAddress = 0x5000'0000;
constexpr uint64_t kPage = 4096;

class Reregister : public PairTest {
 protected:
  void Begin(const RdmaSystemOptions& options = {}) {
    Build(options);
    if (HasFatalFailure()) return;
    if (!has_additions()) GTEST_SKIP() << "profile rfc-v2 cannot change a region";
    Connect(Options());
  }
  static ConnectedPairOptions Options() {
    return {.memory_bytes = 4 * kPage,
            .path_mtu = spec::IbMtu::kMtu256,
            .connection = {.access =
                               IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead}};
  }
  // A page of a side's memory.
  std::shared_ptr<verbs::MemoryRegion> Region(verbs::ProtectionDomain& pd, uint32_t access, uint64_t page,
                                              bool invalidatable = false) {
    const std::array<uint64_t, 1> pages = {far().memory->address() + page * kPage};
    auto made = pd.Register(kAddress, kPage, access, 0, pages, invalidatable);
    EXPECT_TRUE(made.ok()) << host::ToString(made.error());
    return made.ok() ? *made : nullptr;
  }
  static void Modify(verbs::MemoryRegion& region, const Change& change) {
    const uint32_t lkey = region.lkey(), rkey = region.rkey();
    const host::Status done = region.Modify(change);
    EXPECT_TRUE(done.ok()) << host::ToString(done.error());
    EXPECT_EQ(region.lkey(), lkey);
    EXPECT_EQ(region.rkey(), rkey);
  }
  static verbs::SendRequest To(const verbs::MemoryRegion& region, IbWrOpcode opcode, uint64_t wr_id,
                               const Elements& list, uint64_t offset = 0) {
    return {.wr_id = wr_id,
            .opcode = opcode,
            .sg_list = list,
            .remote_addr = region.address() + offset,
            .rkey = region.rkey()};
  }
  // A WRITE of 300 bytes to the region, which must be where it is, or must change nothing.
  void ExpectWrite(const verbs::MemoryRegion& region, uint64_t page, IbWcStatus status) {
    auto expected = Memory();
    const Elements from = {near().region->Sge(1000, 300)};
    if (status == IbWcStatus::kSuccess) {
      Scatter(far(), {far().region->Sge(page * kPage + 16, 300)}, Gather(near(), from), expected[1]);
    }
    PostSend(To(region, IbWrOpcode::kRdmaWrite, 5, from, 16));
    ExpectNext(0, 5, status);
    RunFor(20'000);
    ExpectMemory(expected);
  }

  static constexpr uint32_t kAll =
      IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead;
};

TEST_P(Reregister, RightsChangeWithTheSameKey) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto region = Region(*far().pd, IbAccessFlags::kLocalWrite, 1);
  ASSERT_NE(region, nullptr);
  Modify(*region, {.access = kAll});
  ExpectWrite(*region, 1, IbWcStatus::kSuccess);
  Modify(*region, {.access = IbAccessFlags::kRemoteRead});
  const Elements to = {near().region->Sge(0, 100)};
  PostSend(To(*region, IbWrOpcode::kRdmaRead, 1, to));
  ExpectNext(0, 1, IbWcStatus::kSuccess);
  EXPECT_TRUE(std::equal(near().memory->data(), near().memory->data() + 100, far().memory->data() + kPage));
  ExpectWrite(*region, 1, IbWcStatus::kRemAccessErr);
}

TEST_P(Reregister, ProtectionDomainChangesWithTheSameKey) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  auto other = system_->host(1).device().CreatePd();
  ASSERT_TRUE(other.ok());
  const auto region = Region(**other, kAll, 2);
  ASSERT_NE(region, nullptr);
  Modify(*region, {.pd = far().pd});
  ExpectWrite(*region, 2, IbWcStatus::kSuccess);
  Modify(*region, {.pd = *other});
  ExpectWrite(*region, 2, IbWcStatus::kRemAccessErr);
}

TEST_P(Reregister, MemoryAndAddressChangeWithTheSameKey) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto region = Region(*far().pd, kAll, 1);
  ASSERT_NE(region, nullptr);
  ExpectWrite(*region, 1, IbWcStatus::kSuccess);
  // Two pages in the other order, somewhere else.
  const std::array<uint64_t, 2> pages = {far().memory->address() + 3 * kPage, far().memory->address() + 2 * kPage};
  Modify(*region, {.pages = verbs::MemoryRegion::Pages{
                       .virtual_address = 7 * kAddress, .length = 2 * kPage, .addresses = pages}});
  EXPECT_EQ(region->address(), 7 * kAddress);
  ExpectWrite(*region, 3, IbWcStatus::kSuccess);
  auto expected = Memory();
  const Elements from = {near().region->Sge(0, 100)};
  const Bytes data = Gather(near(), from);
  Scatter(far(), {far().region->Sge(4 * kPage - 40, 40), far().region->Sge(2 * kPage, 60)}, data, expected[1]);
  PostSend(To(*region, IbWrOpcode::kRdmaWrite, 6, from, kPage - 40));
  ExpectNext(0, 6, IbWcStatus::kSuccess);
  RunFor(20'000);
  ExpectMemory(expected);
  // Its old address is outside.
  auto old = To(*region, IbWrOpcode::kRdmaWrite, 7, from);
  old.remote_addr = kAddress;
  PostSend(old);
  ExpectNext(0, 7, IbWcStatus::kRemAccessErr);
}

TEST_P(Reregister, InvalidatedRegionIsValidAgainWithAnotherKey) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  if (!system_->host(0).device().has_invalidation()) GTEST_SKIP() << "no invalidation in this profile";
  const auto region = Region(*far().pd, kAll, 1, true);
  ASSERT_NE(region, nullptr);
  const uint32_t dead = region->rkey();
  PostSend({.wr_id = 1, .opcode = IbWrOpcode::kLocalInv, .invalidate_rkey = dead}, 1);
  ExpectNext(1, 1, IbWcStatus::kSuccess);
  const host::Status done = region->Modify({.access = kAll});
  ASSERT_TRUE(done.ok()) << host::ToString(done.error());
  EXPECT_NE(region->rkey(), dead);
  ExpectWrite(*region, 1, IbWcStatus::kSuccess);
  const Elements from = {near().region->Sge(0, 8)};
  auto with_dead = To(*region, IbWrOpcode::kRdmaWrite, 2, from);
  with_dead.rkey = dead;
  PostSend(with_dead);
  ExpectNext(0, 2, IbWcStatus::kRemAccessErr);
}

// Of traffic that goes on meanwhile; firmware is as fast as it can be, so that accesses are in flight at its answer.
class ReregisterInUse : public Reregister {
 protected:
  void Begin() { Reregister::Begin({.firmware_access_cycles = 1}); }
  unsigned rounds() const { return has_cheap_cycles() ? 24 : 4; }
};

// The old memory is gone with the answer, and nobody but the device knows that the region has moved: WRITEs and READs
// go on by the same key and address.
TEST_P(ReregisterInUse, OldMemoryIsNotAccessedBehindTheAnswer) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  auto& function = system_->host(1).function();
  auto memory = function.AllocateDma(kPage, kPage);
  ASSERT_TRUE(memory.ok());
  const std::array<uint64_t, 1> first = {(*memory)->address()};
  auto made = far().pd->Register(kAddress, kPage, kAll, 0, first);
  ASSERT_TRUE(made.ok());
  const auto region = *made;
  const Elements from = {near().region->Sge(0, 2048)}, to = {near().region->Sge(2 * kPage, 2048)};
  constexpr uint64_t kOperations = 8;
  for (unsigned round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    for (uint64_t i = 0; i < kOperations; ++i) {
      const bool is_read = i % 2 != 0 && round % 2 != 0;
      PostSend(is_read ? To(*region, IbWrOpcode::kRdmaRead, i, to) : To(*region, IbWrOpcode::kRdmaWrite, i, from));
    }
    RunFor(1'000 + 400 * (round % 12));
    auto next = function.AllocateDma(kPage, kPage);
    ASSERT_TRUE(next.ok());
    std::fill_n((*next)->data(), kPage, uint8_t{0xee});
    const std::array<uint64_t, 1> pages = {(*next)->address()};
    Modify(*region,
           {.pages = verbs::MemoryRegion::Pages{.virtual_address = kAddress, .length = kPage, .addresses = pages}});
    memory = std::move(next);
    for (uint64_t i = 0; i < kOperations; ++i) ExpectNext(0, i, IbWcStatus::kSuccess);
    // What is sent from now on is in the new memory.
    PostSend(To(*region, IbWrOpcode::kRdmaWrite, 100, {from[0]}, kPage / 2));
    ExpectNext(0, 100, IbWcStatus::kSuccess);
    RunFor(20'000);
    EXPECT_TRUE(std::equal(near().memory->data(), near().memory->data() + 2048, (*memory)->data() + kPage / 2));
    ASSERT_FALSE(HasFailure());
  }
}

// Likewise of work requests of the region's own host, which send from it.
TEST_P(ReregisterInUse, OldMemoryIsNotReadBehindTheAnswer) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  auto& function = system_->host(1).function();
  auto memory = function.AllocateDma(kPage, kPage);
  ASSERT_TRUE(memory.ok());
  std::fill_n((*memory)->data(), kPage, uint8_t{0});
  const std::array<uint64_t, 1> first = {(*memory)->address()};
  auto made = far().pd->Register(kAddress, kPage, kAll, 0, first);
  ASSERT_TRUE(made.ok());
  const auto region = *made;
  constexpr uint64_t kWrites = 8;
  for (unsigned round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    const Elements from = {region->Sge(0, 2048)};
    for (uint64_t i = 0; i < kWrites; ++i) PostSend(Remote(IbWrOpcode::kRdmaWrite, i, from, 0, 1), 1);
    RunFor(1'000 + 400 * (round % 12));
    auto next = function.AllocateDma(kPage, kPage);
    ASSERT_TRUE(next.ok());
    std::fill_n((*next)->data(), kPage, static_cast<uint8_t>(round + 1));
    const std::array<uint64_t, 1> pages = {(*next)->address()};
    Modify(*region,
           {.pages = verbs::MemoryRegion::Pages{.virtual_address = kAddress, .length = kPage, .addresses = pages}});
    memory = std::move(next);
    for (uint64_t i = 0; i < kWrites; ++i) ExpectNext(1, i, IbWcStatus::kSuccess);
    PostSend(Remote(IbWrOpcode::kRdmaWrite, 100, from, 0, 1), 1);
    ExpectNext(1, 100, IbWcStatus::kSuccess);
    RunFor(20'000);
    EXPECT_TRUE(std::all_of(near().memory->data(), near().memory->data() + 2048,
                            [&](uint8_t byte) { return byte == round + 1; }));
    ASSERT_FALSE(HasFailure());
  }
}

// From the answer on the memory stays as it is.
TEST_P(ReregisterInUse, NothingIsWrittenBehindTheAnswerWithoutTheRight) {
  Begin();
  if (IsSkipped() || HasFatalFailure()) return;
  for (unsigned round = 0; round < rounds() / 2; ++round) {
    SCOPED_TRACE(round);
    if (round != 0) Connect(Options());
    ASSERT_FALSE(HasFatalFailure());
    const auto region = Region(*far().pd, kAll, 1);
    ASSERT_NE(region, nullptr);
    const Elements from = {near().region->Sge(0, 2048)};
    constexpr uint64_t kWrites = 16;
    for (uint64_t i = 0; i < kWrites; ++i) PostSend(To(*region, IbWrOpcode::kRdmaWrite, i, from));
    RunFor(1'000 + 500 * round);
    Modify(*region, {.access = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteRead});
    std::fill_n(far().memory->data() + kPage, kPage, uint8_t{0xcc});
    ExpectUntilRefused(0, kWrites);
    RunFor(20'000);
    EXPECT_TRUE(std::all_of(far().memory->data() + kPage, far().memory->data() + 2 * kPage,
                            [](uint8_t byte) { return byte == 0xcc; }));
    ASSERT_FALSE(HasFailure());
  }
}

VIREO_ON_EVERY_DEVICE(Reregister);
VIREO_ON_EVERY_DEVICE(ReregisterInUse);

}  // namespace
}  // namespace vireo::sim
