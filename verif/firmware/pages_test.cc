// SPDX-License-Identifier: Apache-2.0
// Page lists of every length: fetched through the mailbox in chunks, and applied atomically.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

class Pages : public FirmwareTest {
 protected:
  void SetUp() override {
    Use({.config = &spec::kNic100});
    pdn_ = bench().CreatePd();
  }
  std::vector<uint8_t> Request(uint32_t npages, std::vector<uint8_t> pages) const {
    auto bytes = BytesOf(spec::RdmaCmdRegUserMr{.pdn = pdn_, .length = npages * kPageBytes, .npages = npages});
    bytes.insert(bytes.end(), pages.begin(), pages.end());
    return bytes;
  }
  spec::TableMr Register(uint32_t npages, uint64_t first_page) {
    const auto mr = bench().Roce(RdmaCtrlCmd::kRegUserMr, Request(npages, PageList(first_page, npages)));
    EXPECT_TRUE(mr.ok());
    return device().Get<spec::TableMr>(MgmtTable::kMr, mr.As<spec::RdmaAckRegUserMr>().mrn);
  }
  void Check(const spec::TableMr& mr, uint64_t first_page) {
    for (uint32_t i = 0; i < mr.npages; ++i) {
      ASSERT_EQ(device().Get<spec::TableTranslation>(MgmtTable::kTranslation, mr.first_translation + i).address,
                first_page + i * kPageBytes)
          << i << " of " << mr.npages;
    }
  }
  uint32_t pdn_ = 0;
};

// A mailbox chunk is 512 bytes and the list starts at byte 34, so entry 59, and every 64th after it, spans two chunks.
TEST_F(Pages, EveryEntryIsWritten) {
  std::vector<std::pair<spec::TableMr, uint64_t>> regions;
  uint64_t address = 0x1000;
  for (uint32_t npages :
       {1u, 2u, 57u, 58u, 59u, 60u, 61u, 63u, 64u, 65u, 122u, 123u, 124u, 127u, 128u, 129u, 1000u, 4096u}) {
    regions.emplace_back(Register(npages, address), address);
    address += npages * kPageBytes + 0x1'0000'0000;
  }
  for (const auto& [mr, first] : regions) Check(mr, first);
  std::set<uint32_t> used;
  for (const auto& [mr, first] : regions) {
    for (uint32_t i = 0; i < mr.npages; ++i) EXPECT_TRUE(used.insert(mr.first_translation + i).second) << "shared";
  }
}

TEST_F(Pages, TheWholeTableInOneRegion) {
  const auto mr = Register(spec::kNic100.num_translations, 0x4000'0000);
  EXPECT_EQ(mr.first_translation, 0u);
  Check(mr, 0x4000'0000);
}

TEST_F(Pages, FailureAtAnyEntryIsRolledBack) {
  Register(10, 0x1000);
  constexpr uint32_t npages = 200;
  const auto good = Request(npages, PageList(0x7000'0000, npages));
  const auto before = device().Snapshot();
  for (uint32_t bad = 0; bad < npages; ++bad) {
    auto request = good;
    request[spec::RdmaCmdRegUserMr::kBytes + size_t{8} * bad] = 8;
    ASSERT_EQ(bench().Roce(RdmaCtrlCmd::kRegUserMr, request).error(), RdmaError::kUnalignedPage);
    ASSERT_TRUE(device().Snapshot() == before) << bad;
  }
  for (uint64_t fails_from = 512; fails_from < good.size(); fails_from += 61) {
    ASSERT_EQ(bench()
                  .Send(bench().roce_class(), static_cast<uint8_t>(RdmaCtrlCmd::kRegUserMr), good, 256, fails_from)
                  .error(),
              RdmaError::kDmaError);
    ASSERT_TRUE(device().Snapshot() == before) << fails_from;
  }
  // The reserved entries are free again: the next region follows the first.
  EXPECT_EQ(Register(npages, 0x7000'0000).first_translation, 10u);
}

TEST_F(Pages, FirstFitAllocation) {
  std::vector<uint32_t> mrns;
  for (uint32_t npages : {100u, 50u, 100u, 70u, 100u}) {
    mrns.push_back(
        bench().Roce(RdmaCtrlCmd::kRegUserMr, Request(npages, PageList(0, npages))).As<spec::RdmaAckRegUserMr>().mrn);
  }
  for (uint32_t index : {1u, 3u}) {
    EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mrns[index]})).ok());
  }
  EXPECT_EQ(Register(51, 0).first_translation, 250u);
  EXPECT_EQ(Register(50, 0).first_translation, 100u);
  EXPECT_EQ(Register(20, 0).first_translation, 420u);
  EXPECT_EQ(Register(19, 0).first_translation, 301u);
}

// The list is read once: later changes by the driver do not affect checked values (TOCTOU).
TEST_F(Pages, EachChunkIsFetchedOnce) {
  device().fetches = 0;
  Register(64 * 8 - 5, 0x1000);
  EXPECT_EQ(device().fetches, (2 + 32 + 8 * (64 * 8 - 5) + 511u) / 512);
}

}  // namespace
}  // namespace vireo::verif
