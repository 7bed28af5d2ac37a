// SPDX-License-Identifier: Apache-2.0
#include "verif/fuzz/nic_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>

namespace vireo::sim {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = 5;  // the first and the last are guards
constexpr uint64_t kRegionBytes = 2 * kPage + 1234;
constexpr uint64_t kGoodBytes = 4096, kLargestWrite = 700;
constexpr Picoseconds kTimeout = 20'000 * NicWorld::kMicrosecond;

}  // namespace

NicWorld& NicWorld::Next(bool packed) {
  static std::array<NicWorld, 2> worlds;
  NicWorld& world = worlds[packed ? 1 : 0];
  world.packed_ = packed;
  if (world.inputs_++ % kInputs == 0) world.Build();
  return world;
}

void NicWorld::Build() {
  region_.reset();
  cq_.reset();
  pd_.reset();
  memory_.reset();
  vault_.reset();
  good_.reset();
  system_.reset();
  // The peer is not under test: always the model, which is faster than RTL.
  std::vector<HostOptions> hosts(2);
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].device = i == 0 ? VIREO_FUZZ_DEVICE : "model";
    hosts[i].nic.name = "nic" + std::to_string(i);
    hosts[i].nic.config = &spec::kNic1;
  }
  auto built = RdmaSystem::Build({.hosts = std::move(hosts),
                                  .driver = {.wanted = packed_ ? host::DefaultFeatures() : SplitRings()},
                                  .is_monitored = false});
  ASSERT_NE(built.system, nullptr) << built.error;
  system_ = std::move(built.system);
  std::string error;
  good_ = MakeConnectedPair(system_->host(0), system_->host(1), {.memory_bytes = 2 * kGoodBytes, .interrupts = false},
                            &error);
  ASSERT_NE(good_, nullptr) << error;
  for (size_t i = 0; i < 2; ++i) {
    const auto& memory = good_->side.at(i).memory;
    std::iota(memory->data(), memory->data() + memory->size(), static_cast<uint8_t>(i * 77));
    expected_.at(i).assign(memory->data(), memory->data() + memory->size());
    outstanding_.at(i).clear();
  }
  auto pd = attacked().device().CreatePd();
  ASSERT_TRUE(pd.ok());
  pd_ = *pd;
  auto cq = attacked().device().CreateCq(128, std::nullopt);
  ASSERT_TRUE(cq.ok());
  cq_ = *cq;
  auto memory = attacked().function().AllocateDma(kPages * kPage, kPage);
  ASSERT_TRUE(memory.ok());
  memory_ = std::move(memory).value();
  auto vault = attacked().function().AllocateDma(kPage, kPage);
  ASSERT_TRUE(vault.ok());
  vault_ = std::move(vault).value();
  ASSERT_TRUE(attacked().station().memory().Protect(vault_->address(), Permission::kNone));
  std::iota(memory_->data(), memory_->data() + memory_->size(), uint8_t{3});
  before_.assign(memory_->data(), memory_->data() + memory_->size());
  const uint64_t first = memory_->address() + kPage;
  const std::array<uint64_t, 3> pages = {first, first + kPage, first + 2 * kPage};
  auto region = pd_->Register(
      first, kRegionBytes,
      spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead, 12,
      pages);
  ASSERT_TRUE(region.ok()) << host::ToString(region.error());
  region_ = *region;
}

std::shared_ptr<verbs::QueuePair> NicWorld::MakeVictim(spec::IbQpType type) {
  auto qp = pd_->CreateQp({.type = type, .send_cq = cq_, .recv_cq = cq_, .max_send_wr = 8, .max_recv_wr = 8});
  EXPECT_TRUE(qp.ok()) << host::ToString(qp.error());
  return qp.ok() ? *qp : nullptr;
}

void NicWorld::PostGood() {
  for (size_t from = 0; from < 2; ++from) {
    const uint64_t id = ++next_wr_id_;
    const uint64_t bytes = 1 + id * 131 % kLargestWrite;
    const uint64_t source = id * 17 % (kGoodBytes - bytes), target = kGoodBytes + id * 29 % (kGoodBytes - bytes);
    const auto& near = good_->side.at(from);
    const auto& far = good_->side.at(1 - from);
    const spec::RdmaSge sge = near.region->Sge(source, static_cast<uint32_t>(bytes));
    const verbs::Status posted = near.qp->PostSend({.wr_id = id,
                                                    .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                    .sg_list = std::span(&sge, 1),
                                                    .remote_addr = far.region->address() + target,
                                                    .rkey = far.region->rkey()});
    ASSERT_TRUE(posted.ok()) << host::ToString(posted.error());
    outstanding_.at(from).push_back(id);
    (from == 0 ? posted_.read_bytes : posted_.written_bytes) += bytes;
    std::memcpy(expected_.at(1 - from).data() + target, expected_.at(from).data() + source, bytes);
  }
}

HostMemory::Traffic NicWorld::good_traffic() {
  return attacked().station().memory().TrafficOf(good_address()).value_or(HostMemory::Traffic{});
}

void NicWorld::PollVictims() {
  std::array<spec::RdmaCqReq, 16> completions;
  for (;;) {
    const auto polled = cq_->Poll(completions);
    ASSERT_TRUE(polled.ok()) << host::ToString(polled.error());
    for (size_t i = 0; i < *polled; ++i) EXPECT_NE(spec::ToString(completions.at(i).status), nullptr);
    if (*polled < completions.size()) break;
  }
  for (;;) {
    const auto event = attacked().device().PollEvent();
    ASSERT_TRUE(event.ok());
    if (!event->has_value()) break;
    EXPECT_NE((*event)->kind, host::DeviceEvent::Kind::kNeedsReset);
  }
}

void NicWorld::ExpectGood() {
  const Picoseconds deadline = system_->scheduler().now() + kTimeout;
  std::array<spec::RdmaCqReq, 16> completions;
  while (!outstanding_[0].empty() || !outstanding_[1].empty()) {
    ASSERT_LT(system_->scheduler().now(), deadline) << "a WRITE of the background connection hangs";
    system_->topology().RunFor(2 * kMicrosecond);
    for (size_t i = 0; i < 2; ++i) {
      const auto polled = good_->side.at(i).cq->Poll(completions);
      ASSERT_TRUE(polled.ok()) << host::ToString(polled.error());
      for (size_t k = 0; k < *polled; ++k) {
        ASSERT_EQ(completions.at(k).status, spec::IbWcStatus::kSuccess) << spec::ToString(completions.at(k).status);
        ASSERT_FALSE(outstanding_.at(i).empty());
        ASSERT_EQ(completions.at(k).wr_id, outstanding_.at(i).front());
        outstanding_.at(i).pop_front();
      }
    }
  }
  // Acknowledged data reaches memory slightly later.
  system_->topology().RunFor(20 * kMicrosecond);
  for (size_t i = 0; i < 2; ++i) {
    const auto& memory = good_->side.at(i).memory;
    ASSERT_EQ(std::memcmp(expected_.at(i).data(), memory->data(), memory->size()), 0) << "memory of host " << i;
  }
  const auto is_kept = [&](size_t from, size_t end) {
    return std::equal(before_.begin() + static_cast<ptrdiff_t>(from), before_.begin() + static_cast<ptrdiff_t>(end),
                      memory_->data() + from);
  };
  EXPECT_TRUE(is_kept(0, kPage)) << "before the region";
  EXPECT_TRUE(is_kept(kPage + kRegionBytes, kPages * kPage)) << "behind the region";
  EXPECT_EQ(system_->Violations(), "");
}

}  // namespace vireo::sim
