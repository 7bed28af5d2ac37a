// SPDX-License-Identifier: Apache-2.0
// The GID table in shared memory: a reader sees one table or another, never a mixture, and cannot write.
#include "host/service/gid_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace vireo::service {
namespace {

// `count` entries from index `first`, all bytes of which are `value`.
std::vector<Gid> Filled(uint16_t first, uint16_t count, uint8_t value) {
  std::vector<Gid> gids(count);
  for (Gid& gid : gids) {
    gid.index = first++;
    std::ranges::fill(gid.gid, value);
  }
  return gids;
}
bool AreAll(const std::vector<Gid>& gids, uint16_t first, uint16_t count, uint8_t value) {
  return gids.size() == count && std::ranges::all_of(gids, [&, index = first](const Gid& gid) mutable {
           return gid.index == index++ && std::ranges::count(gid.gid, value) == sizeof gid.gid;
         });
}

TEST(GidTable, ReaderSeesOneTableOrTheOther) {
  auto writer = GidTableWriter::Create();
  ASSERT_TRUE(writer.ok());
  auto table = GidTable::Map((*writer)->file());
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE((*table)->Read().empty());
  std::atomic<bool> is_done = false;
  (*writer)->Write(Filled(0, 2, 1));
  std::thread writes([&] {
    for (unsigned i = 0; i < 20'000; ++i) (*writer)->Write(i % 2 == 0 ? Filled(3, 125, 2) : Filled(0, 2, 1));
    is_done = true;
  });
  uint64_t reads = 0;
  bool are_whole = true;
  while (!is_done) {
    const std::vector<Gid> gids = (*table)->Read();
    are_whole = are_whole && (AreAll(gids, 0, 2, 1) || AreAll(gids, 3, 125, 2));
    ++reads;
  }
  writes.join();
  EXPECT_TRUE(are_whole);
  EXPECT_GT(reads, 0U);
  EXPECT_TRUE(AreAll((*table)->Read(), 0, 2, 1));
}

TEST(GidTable, ClientCannotWrite) {
  auto writer = GidTableWriter::Create();
  ASSERT_TRUE(writer.ok());
  const int file = (*writer)->file();
  EXPECT_EQ(::mmap(nullptr, sizeof(GidPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
  void* const page = ::mmap(nullptr, sizeof(GidPage), PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_NE(::mprotect(page, sizeof(GidPage), PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::write(file, "x", 1), 1);
  EXPECT_NE(::ftruncate(file, 0), 0);
  ::munmap(page, sizeof(GidPage));
  (*writer)->Write(Filled(1, 1, 9));  // the service still can
  auto table = GidTable::Map(file);
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(AreAll((*table)->Read(), 1, 1, 9));
}

}  // namespace
}  // namespace vireo::service
