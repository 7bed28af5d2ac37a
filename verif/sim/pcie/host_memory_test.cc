// SPDX-License-Identifier: Apache-2.0
// Windows and their bounds, permissions, errors without effect, and allocation on first touch.
#include "sim/pcie/host_memory.h"

#include <gtest/gtest.h>
#include <bit>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/sim/pcie/recorded_memory.h"

namespace vireo::sim {
namespace {

std::vector<uint8_t> Count(size_t bytes, uint8_t first = 1) {
  std::vector<uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), first);
  return data;
}

TEST(HostMemory, HostAndDeviceSeeTheSameBytes) {
  HostMemory memory;
  const auto region = memory.Allocate(10'000);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->data.size(), 10'000u);
  EXPECT_GE(region->address, HostMemory::kFirstAllocation);
  EXPECT_TRUE(std::all_of(region->data.begin(), region->data.end(), [](uint8_t byte) { return byte == 0; }));
  const auto sent = Count(5000);
  EXPECT_EQ(memory.Write(region->address + 3000, sent), MemoryError::kNone);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), region->data.begin() + 3000));
  region->data[7999] = 99;
  std::vector<uint8_t> got(5000);
  EXPECT_EQ(memory.Read(region->address + 3000, got), MemoryError::kNone);
  EXPECT_EQ(got.back(), 99);
  EXPECT_EQ(memory.HostPointer(region->address + 17, 100), region->data.data() + 17);
  EXPECT_EQ(memory.HostPointer(region->address + 17, 10'000 - 17), region->data.data() + 17);
  EXPECT_EQ(memory.HostPointer(region->address + 17, 10'000 - 16), nullptr);
  EXPECT_TRUE(memory.violations().empty());
}

TEST(HostMemory, WindowBoundsAreExact) {
  HostMemory memory;
  const auto region = memory.Allocate(100);
  ASSERT_TRUE(region);
  std::vector<uint8_t> data(100, 7);
  EXPECT_EQ(memory.Write(region->address, data), MemoryError::kNone);
  EXPECT_EQ(memory.Write(region->address + 1, data), MemoryError::kNoWindow);
  EXPECT_EQ(memory.Write(region->address - 1, data), MemoryError::kNoWindow);
  EXPECT_EQ(memory.Read(region->address + 100, std::span(data).first(1)), MemoryError::kNoWindow);
  EXPECT_EQ(memory.Read(region->address + 99, std::span(data).first(1)), MemoryError::kNone);
  EXPECT_EQ(memory.Read(0, std::span(data).first(1)), MemoryError::kNoWindow);
  EXPECT_EQ(memory.Read(~uint64_t{0}, std::span(data).first(2)), MemoryError::kNoWindow);  // exceeds 2^64
  EXPECT_EQ(memory.Read(12345, std::span(data).first(0)), MemoryError::kNone);
  ASSERT_EQ(memory.violations().size(), 5u);
  EXPECT_EQ(memory.violations()[0].address, region->address + 1);
  EXPECT_EQ(memory.violations()[0].bytes, 100u);
  EXPECT_TRUE(memory.violations()[0].is_write);
  EXPECT_FALSE(memory.violations()[2].is_write);
  EXPECT_STREQ(ToString(memory.violations()[0].error), "no_window");
  memory.ClearViolations();
  EXPECT_TRUE(memory.violations().empty());
}

// The check that every test has by default.
TEST(HostMemory, UnacknowledgedViolationAborts) {
  const auto run = [](bool asks) {
    HostMemory memory;
    const auto region = memory.Allocate(100);
    const std::vector<uint8_t> data(8);
    if (asks) {
      static_cast<void>(memory.Write(region->address + 100, data));
      EXPECT_EQ(memory.violations().size(), 1u);
    }
    static_cast<void>(memory.Write(region->address + 93, data));
  };
  EXPECT_DEATH(run(false), "DMA write of 8 bytes at 0x12.*: no_window, and not expected");
  EXPECT_DEATH(run(true), "DMA write of 8 bytes at 0x12.*: no_window, and not expected");
  EXPECT_DEATH(
      {
        HostMemory memory;
        const auto region = memory.Allocate(4096, 4096, Permission::kWrite);
        static_cast<void>(memory.Probe(region->address + 64, 8, Permission::kWrite));
        static_cast<void>(memory.Probe(region->address + 64, 8, Permission::kRead));
      },
      "DMA read of 8 bytes at 0x12.*40: no_permission, and not expected");
}

TEST(HostMemory, CountsDeviceAccessesPerWindow) {
  HostMemory memory;
  const auto region = memory.Allocate(100);
  ASSERT_TRUE(region);
  std::vector<uint8_t> data(60);
  EXPECT_EQ(memory.Read(region->address + 3, data), MemoryError::kNone);
  EXPECT_EQ(memory.Write(region->address + 40, data), MemoryError::kNone);
  EXPECT_EQ(memory.Write(region->address, std::span(data).first(7)), MemoryError::kNone);
  EXPECT_EQ(memory.Write(region->address + 41, data), MemoryError::kNoWindow);
  const auto traffic = memory.TrafficOf(region->address);
  ASSERT_TRUE(traffic.has_value());
  EXPECT_EQ(traffic->read_bytes, 60u);
  EXPECT_EQ(traffic->written_bytes, 67u);
  EXPECT_FALSE(memory.TrafficOf(region->address + 1).has_value());
  memory.ClearViolations();
}

TEST(HostMemory, FailedAccessChangesNothing) {
  HostMemory memory;
  std::vector<uint8_t> first(4096, 1), second(4096, 2);
  ASSERT_TRUE(memory.Map(0x10000, first, Permission::kReadWrite));
  ASSERT_TRUE(memory.Map(0x11000, second, Permission::kRead));
  const auto data = Count(200, 50);
  EXPECT_EQ(memory.Write(0x10fc0, data), MemoryError::kNoPermission);  // 64 bytes of it would be allowed
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](uint8_t byte) { return byte == 1; }));
  std::vector<uint8_t> got(200, 9);
  EXPECT_EQ(memory.Read(0x11f80, got), MemoryError::kNoWindow);
  EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](uint8_t byte) { return byte == 9; }));
  EXPECT_EQ(memory.Read(0x10f80, got), MemoryError::kNone);  // adjacent windows count as one
  EXPECT_EQ(got[127], 1);
  EXPECT_EQ(got[128], 2);
  memory.ClearViolations();  // they were expected
}

TEST(HostMemory, PermissionsHoldPerKindOfAccessAndCanChange) {
  HostMemory memory;
  std::vector<uint8_t> byte(1);
  const struct {
    Permission permission;
    bool read, write;
  } rows[] = {{Permission::kNone, false, false},
              {Permission::kRead, true, false},
              {Permission::kWrite, false, true},
              {Permission::kReadWrite, true, true}};
  const auto region = memory.Allocate(64);
  for (const auto& row : rows) {
    EXPECT_TRUE(memory.Protect(region->address, row.permission));
    EXPECT_EQ(memory.Read(region->address, byte), row.read ? MemoryError::kNone : MemoryError::kNoPermission);
    EXPECT_EQ(memory.Write(region->address, byte), row.write ? MemoryError::kNone : MemoryError::kNoPermission);
  }
  EXPECT_FALSE(memory.Protect(region->address + 1, Permission::kRead));
  memory.ClearViolations();  // they were expected
}

TEST(HostMemory, RefusesOverlappingAndOverflowingWindows) {
  HostMemory memory;
  std::vector<uint8_t> bytes(100);
  EXPECT_TRUE(memory.Map(1000, bytes, Permission::kRead));
  EXPECT_FALSE(memory.Map(1000, bytes, Permission::kRead));
  EXPECT_FALSE(memory.Map(901, bytes, Permission::kRead));
  EXPECT_FALSE(memory.Map(1099, bytes, Permission::kRead));
  EXPECT_TRUE(memory.Map(900, bytes, Permission::kRead));
  EXPECT_TRUE(memory.Map(1100, bytes, Permission::kRead));
  EXPECT_FALSE(memory.Map(5000, std::span<uint8_t>(), Permission::kRead));
  EXPECT_FALSE(memory.Map(~uint64_t{0} - 98, bytes, Permission::kRead));
  EXPECT_TRUE(memory.Map(~uint64_t{0} - 99, bytes, Permission::kRead));  // the last possible byte
  EXPECT_EQ(memory.Read(~uint64_t{0} - 99, bytes), MemoryError::kNone);
  EXPECT_FALSE(memory.Map(std::span<uint8_t>()));
}

TEST(HostMemory, AddressesOfARemovedWindowAreNotReused) {
  HostMemory memory;
  const auto first = memory.Allocate(4096);
  std::vector<uint8_t> byte(1);
  EXPECT_EQ(memory.Read(first->address, byte), MemoryError::kNone);
  EXPECT_TRUE(memory.Remove(first->address));
  EXPECT_EQ(memory.Read(first->address, byte), MemoryError::kNoWindow);
  EXPECT_FALSE(memory.Remove(first->address));
  const auto second = memory.Allocate(4096);
  EXPECT_GT(second->address, first->address + 4096);
  EXPECT_EQ(memory.Read(first->address, byte), MemoryError::kNoWindow);
  EXPECT_EQ(memory.Read(second->address, byte), MemoryError::kNone);
  memory.ClearViolations();  // they were expected
}

TEST(HostMemory, AllocationsAreAlignedAndApart) {
  HostMemory memory;
  uint64_t end = 0;
  for (const uint64_t alignment : {64u, 4096u, 65536u, 2097152u, 64u}) {
    const auto region = memory.Allocate(100, alignment);
    ASSERT_TRUE(region);
    EXPECT_EQ(region->address % alignment, 0u);
    EXPECT_GE(region->address, end + 1);
    end = region->address + 100;
  }
  EXPECT_FALSE(memory.Allocate(0));
  EXPECT_FALSE(memory.Allocate(~uint64_t{0}));
  // A window occupies the next allocation's address.
  std::vector<uint8_t> blocker(20 * HostMemory::kPageBytes);
  const uint64_t next = (end / 4096 + 2) * 4096;
  ASSERT_TRUE(memory.Map(next, blocker, Permission::kNone));
  const auto region = memory.Allocate(100);
  ASSERT_TRUE(region);
  EXPECT_GE(region->address, next + blocker.size());
}

TEST(HostMemory, MemoryIsAllocatedOnFirstTouch) {
  HostMemory memory;
  const auto region = memory.Allocate(uint64_t{1} << 40);  // more than any test machine has
  ASSERT_TRUE(region);
  const auto data = Count(100);
  EXPECT_EQ(memory.Write(region->address + (uint64_t{1} << 39), data), MemoryError::kNone);
  EXPECT_EQ(region->data[(uint64_t{1} << 39) + 99], 100);
}

using Calls = std::vector<std::string>;

TEST(HostMemory, BackendServesExternalMemory) {
  HostMemory memory;
  std::vector<uint8_t> bytes = Count(4096, 0);
  Calls calls;
  ASSERT_TRUE(memory.Map(0x2000, 8192, std::make_unique<RecordedMemory>(bytes, calls), Permission::kReadWrite));
  std::vector<uint8_t> data(4);
  EXPECT_EQ(memory.Read(0x2010, data), MemoryError::kNone);
  EXPECT_EQ(data, Count(4, 16));
  EXPECT_EQ(memory.Write(0x2020, data), MemoryError::kNone);
  EXPECT_EQ(std::vector(bytes.begin() + 0x20, bytes.begin() + 0x24), data);
  EXPECT_EQ(memory.Read(0x3000, data), MemoryError::kFailed);
  EXPECT_EQ(calls, Calls({"read 16+4", "write 32+4", "read 4096+4"}));
  EXPECT_EQ(memory.violations().size(), 1u);
  EXPECT_EQ(memory.HostPointer(0x2000, 1), nullptr);
}

TEST(HostMemory, ListenerGetsEachSuccessfulWriteAndItsLocation) {
  HostMemory memory;
  const auto region = memory.Allocate(64);
  ASSERT_TRUE(region);
  std::vector<uint8_t> bytes(4096);
  Calls calls;
  ASSERT_TRUE(memory.Map(0x2000, 4096, std::make_unique<RecordedMemory>(bytes, calls), Permission::kReadWrite));
  std::vector<bool> notified;
  memory.OnWrite([&](bool external) { notified.push_back(external); });
  std::vector<uint8_t> data(4);
  EXPECT_EQ(memory.Write(region->address, data), MemoryError::kNone);
  EXPECT_EQ(memory.Write(0x2020, data), MemoryError::kNone);
  EXPECT_EQ(notified, (std::vector<bool>{false, true}));
  EXPECT_EQ(memory.Read(0x2020, data), MemoryError::kNone);
  EXPECT_EQ(memory.Write(0x1000, data), MemoryError::kNoWindow);
  EXPECT_EQ(notified.size(), 2u);
  memory.ClearViolations();  // they were expected
}

// Two adjacent windows of external memory, and one of this process. Writes of up to 100 bytes are combined.
struct Elsewhere {
  Elsewhere() {
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i].resize(1000);
      auto owned = std::make_unique<RecordedMemory>(bytes[i], calls);
      backends[i] = owned.get();
      EXPECT_TRUE(memory.Map(1000 + 1000 * i, 1000, std::move(owned), Permission::kReadWrite));
    }
    memory.CombineWrites(100);
  }
  void Write(uint64_t address, size_t count) { EXPECT_EQ(memory.Write(address, Count(count)), MemoryError::kNone); }
  Calls TakeCalls() { return std::exchange(calls, {}); }

  std::array<std::vector<uint8_t>, 2> bytes;
  std::array<RecordedMemory*, 2> backends{};
  Calls calls;
  HostMemory memory;
  const DmaRegion here = *memory.Allocate(64);
};

TEST(HostMemory, ContiguousExternalWritesAreCombined) {
  Elsewhere world;
  world.Write(1010, 30);
  world.Write(1040, 30);
  EXPECT_EQ(world.TakeCalls(), Calls());
  world.Write(1070, 30);
  EXPECT_EQ(world.TakeCalls(), Calls());
  world.Write(1100, 30);  // would be 120
  EXPECT_EQ(world.TakeCalls(), Calls({"write 10+90"}));
  world.Write(1131, 1);  // not contiguous
  EXPECT_EQ(world.TakeCalls(), Calls({"write 100+30"}));
  world.Write(1132, 101);  // longer than any combined write
  EXPECT_EQ(world.TakeCalls(), Calls({"write 131+1", "write 132+101"}));
  world.memory.FlushWrites();
  EXPECT_EQ(world.TakeCalls(), Calls());
  EXPECT_EQ(std::vector(world.bytes[0].begin() + 40, world.bytes[0].begin() + 70), Count(30));
  EXPECT_EQ(world.memory.TrafficOf(1000)->written_bytes, 30u * 4 + 1 + 101);
}

// Two hosts on a wire: before anything can be seen in one memory, all earlier writes are in the other.
TEST(HostMemory, EarlierWritesOfTheGroupAreVisibleFirst) {
  Elsewhere requester;
  const auto group = std::make_shared<HostMemory::Group>();
  requester.memory.Join(group);
  {
    Elsewhere responder;
    responder.memory.Join(group);
    responder.Write(1010, 30);  // payload, combined
    EXPECT_EQ(responder.TakeCalls(), Calls());
    requester.Write(1010, 20);  // combined: nothing to be seen yet
    EXPECT_EQ(responder.TakeCalls(), Calls());
    requester.Write(requester.here.address, 8);  // a completion
    EXPECT_EQ(responder.TakeCalls(), Calls({"write 10+30"}));
    EXPECT_EQ(requester.TakeCalls(), Calls({"write 10+20"}));
    responder.Write(1100, 30);
    requester.Write(1100, 30);
    requester.Write(1000, 1);  // not contiguous: the former becomes visible
    EXPECT_EQ(responder.TakeCalls(), Calls({"write 100+30"}));
    EXPECT_EQ(requester.TakeCalls(), Calls({"write 100+30"}));
    responder.Write(1500, 10);
    requester.memory.FlushWrites();
    EXPECT_EQ(responder.TakeCalls(), Calls({"write 500+10"}));
    EXPECT_EQ(requester.TakeCalls(), Calls({"write 0+1"}));
  }
  requester.Write(1000, 1);
  requester.memory.FlushWrites();  // the other one is gone
  EXPECT_EQ(requester.TakeCalls(), Calls({"write 0+1"}));
}

TEST(HostMemory, CombinedWriteEndsAtItsWindow) {
  Elsewhere world;
  world.Write(1990, 10);
  world.Write(2000, 10);
  EXPECT_EQ(world.TakeCalls(), Calls({"write 990+10"}));
  world.Write(1995, 10);  // across both windows
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10", "write 995+5"}));
  EXPECT_TRUE(world.memory.Remove(2000));
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+5"}));
  world.Write(1000, 10);
  EXPECT_TRUE(world.memory.Protect(1000, Permission::kNone));
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10"}));
}

TEST(HostMemory, CombinedWriteIsFlushedBeforeAnyObserver) {
  Elsewhere world;
  world.Write(1000, 10);
  world.Write(world.here.address, 8);  // for example a completion
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10"}));
  world.Write(1000, 10);
  std::vector<uint8_t> data(10);
  EXPECT_EQ(world.memory.Read(world.here.address, data), MemoryError::kNone);  // not observable
  EXPECT_EQ(world.TakeCalls(), Calls());
  EXPECT_EQ(world.memory.Read(2000, data), MemoryError::kNone);  // may alias the same memory
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10", "read 0+10"}));
  world.Write(1000, 10);
  world.memory.CombineWrites(0);
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10"}));
  world.Write(1000, 10);
  world.Write(1010, 10);
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+10", "write 10+10"}));
}

TEST(HostMemory, LateFailureOfACombinedWriteIsRecorded) {
  Elsewhere world;
  world.backends[0]->good_bytes = 0;
  world.Write(1000, 10);
  world.Write(1010, 20);
  EXPECT_TRUE(world.memory.violations().empty());
  world.memory.FlushWrites();
  ASSERT_EQ(world.memory.violations().size(), 1u);
  EXPECT_EQ(world.memory.violations()[0].address, 1000u);
  EXPECT_EQ(world.memory.violations()[0].bytes, 30u);
  EXPECT_TRUE(world.memory.violations()[0].is_write);
  EXPECT_EQ(world.memory.violations()[0].error, MemoryError::kFailed);
  world.backends[0]->good_bytes = 1000;
  world.Write(1030, 5);  // a failed write is not retried
  world.memory.FlushWrites();
  EXPECT_EQ(world.TakeCalls(), Calls({"write 0+30", "write 30+5"}));
}

TEST(HostMemory, DestructorFlushesTheCombinedWrite) {
  std::vector<uint8_t> bytes(100);
  Calls calls;
  {
    HostMemory memory;
    ASSERT_TRUE(memory.Map(1000, 100, std::make_unique<RecordedMemory>(bytes, calls), Permission::kReadWrite));
    memory.CombineWrites(100);
    EXPECT_EQ(memory.Write(1001, Count(3)), MemoryError::kNone);
  }
  EXPECT_EQ(calls, Calls({"write 1+3"}));
  EXPECT_EQ(bytes[3], 3);
}

TEST(HostMemory, CombinedReadStaysInOneReadableWindow) {
  Elsewhere world;
  world.bytes[0][5] = 42;
  std::vector<uint8_t> data(10);
  EXPECT_TRUE(world.memory.IsExternal(1990, 10));
  EXPECT_FALSE(world.memory.IsExternal(1991, 10));
  EXPECT_FALSE(world.memory.IsExternal(999, 2));
  EXPECT_FALSE(world.memory.IsExternal(world.here.address, 10));
  EXPECT_TRUE(world.memory.ReadExternal(1000, data));
  EXPECT_EQ(data[5], 42);
  EXPECT_FALSE(world.memory.ReadExternal(1991, data));
  EXPECT_FALSE(world.memory.ReadExternal(world.here.address, data));
  world.backends[1]->good_bytes = 0;
  EXPECT_FALSE(world.memory.ReadExternal(2000, data));
  EXPECT_TRUE(world.memory.Protect(1000, Permission::kWrite));
  EXPECT_FALSE(world.memory.ReadExternal(1000, data));
  EXPECT_EQ(world.memory.TrafficOf(1000)->read_bytes, 10u);
  EXPECT_TRUE(world.memory.violations().empty());
  EXPECT_EQ(world.TakeCalls(), Calls({"read 0+10", "read 0+10"}));
}

// For any operations in any order, memory is as without combining.
TEST(HostMemory, CombinedWritesLeaveTheSameBytes) {
  auto random = MakeRandom("host_memory_test.combined");
  Elsewhere combined, plain;
  plain.memory.CombineWrites(0);
  uint64_t next = 1000;
  for (int i = 0; i < 20'000; ++i) {
    const size_t count = 1 + UniformBelow(random, 60);
    const uint64_t address =
        UniformBelow(random, 8) != 0 && next + count < 3000 ? next : 1000 + UniformBelow(random, 1900);
    next = address + count;
    const auto data = Count(count, static_cast<uint8_t>(i));
    std::vector<uint8_t> got(count), wanted(count);
    if (UniformBelow(random, 8) == 0) {
      EXPECT_EQ(combined.memory.Read(address, got), MemoryError::kNone);
      EXPECT_EQ(plain.memory.Read(address, wanted), MemoryError::kNone);
      ASSERT_EQ(got, wanted) << i;
    } else {
      EXPECT_EQ(combined.memory.Write(address, data), MemoryError::kNone);
      EXPECT_EQ(plain.memory.Write(address, data), MemoryError::kNone);
    }
  }
  combined.memory.FlushWrites();
  EXPECT_EQ(combined.bytes, plain.bytes);
  EXPECT_LT(3 * combined.calls.size(), 2 * plain.calls.size()) << "too few writes were combined";
}

TEST(HostMemory, ExternalMemoryIsAlignedForLargePages) {
  HostMemory memory;
  constexpr uint64_t kMiB = 1 << 20;
  std::vector<uint8_t> none;
  Calls calls;
  uint64_t last = 0;
  for (const uint64_t bytes : {HostMemory::kPageBytes, 3 * HostMemory::kPageBytes, kMiB, 5 * kMiB / 2}) {
    const uint64_t like = 0x7fff'1234'5000;
    auto address = memory.MapLike(like, bytes, std::make_unique<RecordedMemory>(none, calls));
    ASSERT_TRUE(address.has_value());
    EXPECT_EQ((*address - like) % std::bit_floor(bytes), 0U) << bytes;
    EXPECT_GT(*address, last) << "the page behind a window is never used";
    last = *address + bytes;
    uint8_t byte = 0;
    EXPECT_NE(memory.Read(last - 1, {&byte, 1}), MemoryError::kNoWindow);
    EXPECT_EQ(memory.Read(last, {&byte, 1}), MemoryError::kNoWindow);
  }
  EXPECT_FALSE(memory.MapLike(0, 0, std::make_unique<RecordedMemory>(none, calls)).has_value());
  memory.ClearViolations();  // they were expected
}

// Compares with a simple reference: a map of bytes.
TEST(HostMemory, RandomAccessesMatchAByteMap) {
  auto random = MakeRandom("host_memory_test");
  HostMemory memory;
  std::map<uint64_t, std::pair<uint8_t, Permission>> bytes;
  std::vector<std::vector<uint8_t>> stores;
  stores.reserve(40);
  for (int i = 0; i < 40; ++i) {
    const uint64_t address = 1000 + UniformBelow(random, 4000);
    const uint64_t length = 1 + UniformBelow(random, 150);
    const auto permission = static_cast<Permission>(UniformBelow(random, 8) < 6 ? 3 : UniformBelow(random, 4));
    stores.emplace_back(length);
    bool is_free = true;
    for (uint64_t at = address; at < address + length; ++at) is_free = is_free && !bytes.contains(at);
    ASSERT_EQ(memory.Map(address, stores.back(), permission), is_free);
    for (uint64_t at = address; is_free && at < address + length; ++at) bytes[at] = {0, permission};
  }
  uint64_t good = 0;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t address = 900 + UniformBelow(random, 4300);
    std::vector<uint8_t> data(1 + UniformBelow(random, 40));
    for (auto& byte : data) byte = static_cast<uint8_t>(random());
    const bool is_write = UniformBelow(random, 2) == 0;
    bool allowed = true;
    for (uint64_t at = address; at < address + data.size(); ++at) {
      const auto found = bytes.find(at);
      allowed =
          allowed && found != bytes.end() && (static_cast<unsigned>(found->second.second) & (is_write ? 2u : 1u)) != 0;
    }
    good += allowed;
    if (is_write) {
      ASSERT_EQ(memory.Write(address, data) == MemoryError::kNone, allowed);
      for (size_t k = 0; allowed && k < data.size(); ++k) bytes[address + k].first = data[k];
    } else {
      ASSERT_EQ(memory.Read(address, data) == MemoryError::kNone, allowed);
      for (size_t k = 0; allowed && k < data.size(); ++k) ASSERT_EQ(data[k], bytes[address + k].first);
    }
  }
  EXPECT_GT(good, 100u);
  EXPECT_EQ(memory.violations().size(), HostMemory::kMaxViolations);
}

}  // namespace
}  // namespace vireo::sim
