// SPDX-License-Identifier: Apache-2.0
// Access to another process's memory, by both methods; invalid accesses fail without other effects.
#include "host/service/foreign_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <vector>

#include "host/service/memory_agent.h"
#include "host/service/packet_socket.h"
#include "host/service/protocol.h"

namespace vireo::service {
namespace {

constexpr size_t kPage = 4096;

class ForeignMemory : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      access_ = MakeProcessMemory(::getpid());
      return;
    }
    auto pair = PacketPair(false);
    ASSERT_TRUE(pair.ok());
    access_ = MakeAgentMemory(std::move(pair->first));
    auto agent = MemoryAgent::Start(std::move(pair->second));
    ASSERT_TRUE(agent.ok());
    agent_ = std::move(agent).value();
  }
  std::shared_ptr<MemoryAccess> access_;
  std::unique_ptr<MemoryAgent> agent_;
};

TEST_P(ForeignMemory, ReadsAndWritesAnyLength) {
  std::vector<uint8_t> theirs(100'000), ours(100'000);
  for (const size_t bytes : {size_t{1}, kPage, kAgentChunkBytes, kAgentChunkBytes + 1, size_t{99'990}}) {
    std::iota(ours.begin(), ours.end(), static_cast<uint8_t>(bytes));
    std::fill(theirs.begin(), theirs.end(), uint8_t{0});
    auto memory = MakeForeignMemory(access_, reinterpret_cast<uintptr_t>(theirs.data()));
    ASSERT_TRUE(memory->Write(5, std::span(ours).first(bytes)));
    EXPECT_EQ(theirs[4], 0);
    EXPECT_EQ(theirs[5 + bytes], 0);
    EXPECT_TRUE(std::equal(ours.begin(), ours.begin() + static_cast<long>(bytes), theirs.begin() + 5));
    std::vector<uint8_t> back(bytes);
    ASSERT_TRUE(memory->Read(5, back));
    EXPECT_TRUE(std::equal(back.begin(), back.end(), ours.begin()));
  }
}

TEST_P(ForeignMemory, UnmappedOrProtectedAccessFailsAndTheNextWorks) {
  void* const pages = ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const first = static_cast<uint8_t*>(pages);
  ASSERT_EQ(::mprotect(first + kPage, kPage, PROT_READ), 0);
  ASSERT_EQ(::munmap(first + 2 * kPage, kPage), 0);
  auto memory = MakeForeignMemory(access_, reinterpret_cast<uintptr_t>(pages));
  std::vector<uint8_t> data(2 * kPage);
  EXPECT_TRUE(memory->Read(0, data));
  EXPECT_FALSE(memory->Read(kPage, data));  // crosses into an unmapped page
  EXPECT_FALSE(memory->Read(2 * kPage, std::span(data).first(1)));
  EXPECT_FALSE(memory->Write(0, data));  // crosses into a read-only page
  EXPECT_FALSE(memory->Write(kPage, std::span(data).first(1)));
  EXPECT_FALSE(memory->Write(2 * kPage, std::span(data).first(1)));
  EXPECT_TRUE(memory->Write(0, std::span(data).first(kPage)));
  ::munmap(pages, 2 * kPage);
  EXPECT_FALSE(memory->Read(0, std::span(data).first(1)));
}

INSTANTIATE_TEST_SUITE_P(Ways, ForeignMemory, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Agent" : "Direct"); });

TEST(AgentMemory, HangingAgentIsDropped) {
  auto pair = PacketPair(false);
  ASSERT_TRUE(pair.ok());
  auto access = MakeAgentMemory(std::move(pair->first), 20);
  std::array<uint8_t, 8> data{};
  EXPECT_FALSE(access->Read(0x1000, data));
  EXPECT_FALSE(access->Read(0x1000, data));
  std::array<uint8_t, 64> request{};
  EXPECT_EQ(ReceivePacket(pair->second.get(), request, false).bytes, sizeof(AgentRequest));
  EXPECT_EQ(ReceivePacket(pair->second.get(), request, false).received, Received::kClosed);  // one request only
}

TEST(AgentMemory, MisbehavingAgentIsDropped) {
  const std::vector<std::vector<uint8_t>> answers = {
      std::vector<uint8_t>(3),                              // shorter than an answer
      {1, 0, 0, 0, 0, 0, 0, 0},                             // done, without the data
      {1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9},  // with too much
      {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},     // not done, with data
  };
  for (const auto& answer : answers) {
    auto pair = PacketPair(false);
    ASSERT_TRUE(pair.ok());
    auto access = MakeAgentMemory(std::move(pair->first));
    ASSERT_TRUE(SendPacket(pair->second.get(), answer));
    std::array<uint8_t, 8> data{};
    EXPECT_FALSE(access->Read(0x1000, data));
    EXPECT_FALSE(SendPacket(pair->second.get(), answer));  // closed
  }
}

TEST(AgentMemory, ClosedAgentFails) {
  auto pair = PacketPair(false);
  ASSERT_TRUE(pair.ok());
  auto access = MakeAgentMemory(std::move(pair->first));
  pair->second.Close();
  std::array<uint8_t, 8> data{};
  EXPECT_FALSE(access->Read(0x1000, data));
  EXPECT_FALSE(access->Write(0x1000, data));
}

}  // namespace
}  // namespace vireo::service
