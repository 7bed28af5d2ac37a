// SPDX-License-Identifier: Apache-2.0
#include "verif/sim/pvrdma/side.h"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace vireo::sim::pvrdma {

template <typename Request, typename Response>
bool Hoard::Make(Command command, const Request& request, Response& response) {
  const uint32_t error = driver_.Execute(command, request, response);
  if (error != 0) {
    EXPECT_EQ(error, static_cast<uint32_t>(ENOMEM)) << static_cast<uint32_t>(command);
  }
  return error == 0;
}

verbs::Quota Hoard::Take() {
  HandleResponse pd;
  while (Make(Command::kCreatePd, HandleCommand{}, pd)) pds_.push_back(pd.handle);
  if (pds_.empty()) return {};
  // All of a kind have the same pages.
  page_ = driver_.AllocateListed(1);
  ring_ = driver_.AllocateListed(2);
  // Regions of one page, then the last one again with as many pages as there are.
  CreateMr region{.start = 0,
                  .length = kPageBytes,
                  .directory = page_.directory->address(),
                  .pd = pds_[0],
                  .access_flags = 1,
                  .pages = 1};
  CreateMrResponse mr;
  while (Make(Command::kCreateMr, region, mr)) mrs_.push_back(mr.handle);
  auto pages = static_cast<uint32_t>(mrs_.size());
  if (!mrs_.empty()) {
    EXPECT_EQ(driver_.Destroy(Command::kDestroyMr, mrs_.back()), 0u);
    mrs_.pop_back();
    uint32_t fits = 1, fails = kMaxPages;  // the last region's pages
    while (fits + 1 < fails) {
      const uint32_t tried = (fits + fails) / 2;
      const host::DmaBuffer list = driver_.MakeDirectory(std::vector<uint64_t>(tried, page_.address()));
      region.directory = list->address();
      region.pages = tried;
      region.length = tried * kPageBytes;
      if (Make(Command::kCreateMr, region, mr)) {
        fits = tried;
        EXPECT_EQ(driver_.Destroy(Command::kDestroyMr, mr.handle), 0u);
      } else {
        fails = tried;
      }
    }
    const host::DmaBuffer list = driver_.MakeDirectory(std::vector<uint64_t>(fits, page_.address()));
    region.directory = list->address();
    region.pages = fits;
    region.length = fits * kPageBytes;
    EXPECT_TRUE(Make(Command::kCreateMr, region, mr));
    mrs_.push_back(mr.handle);
    pages += fits - 1;
  }
  const CreateCq queue{.directory = ring_.directory->address(), .cqe = 4, .pages = 2};
  CreateCqResponse cq;
  while (Make(Command::kCreateCq, queue, cq)) cqs_.push_back(cq.handle);
  CreateSrq shared = DriverSrq::Request(pds_[0], 2, 1);
  shared.directory = ring_.directory->address();
  HandleResponse srq;
  // Given back at once: they take the numbers of queue pairs.
  std::vector<uint32_t> srqs;
  while (Make(Command::kCreateSrq, shared, srq)) srqs.push_back(srq.handle);
  for (const uint32_t handle : srqs) EXPECT_EQ(driver_.Destroy(Command::kDestroySrq, handle), 0u);
  if (!cqs_.empty()) {
    const DriverQpOptions options{.send_wr = 2, .recv_wr = 2};
    rings_ = driver_.AllocateListed(1 + DriverQp::SendPages(options) + DriverQp::RecvPages(options));
    CreateQp pair = DriverQp::Request(pds_[0], cqs_[0], cqs_[0], options);
    pair.directory = rings_.directory->address();
    CreateQpResponse qp;
    while (Make(Command::kCreateQp, pair, qp)) qps_.push_back(qp.handle);
  }
  const auto size = [](const auto& handles) { return static_cast<uint32_t>(handles.size()); };
  return {
      .pds = size(pds_), .mrs = size(mrs_), .pages = pages, .cqs = size(cqs_), .qps = size(qps_), .srqs = size(srqs)};
}

void Hoard::GiveBack() {
  for (const uint32_t handle : qps_) EXPECT_EQ(driver_.Destroy(Command::kDestroyQp, handle), 0u);
  for (const uint32_t handle : cqs_) EXPECT_EQ(driver_.Destroy(Command::kDestroyCq, handle), 0u);
  for (const uint32_t handle : mrs_) EXPECT_EQ(driver_.Destroy(Command::kDestroyMr, handle), 0u);
  for (const uint32_t handle : pds_) EXPECT_EQ(driver_.Destroy(Command::kDestroyPd, handle), 0u);
  for (auto* handles : {&pds_, &mrs_, &cqs_, &qps_}) handles->clear();
}

verbs::Quota CountLeft(Driver& driver) {
  Hoard hoard(driver);
  const verbs::Quota left = hoard.Take();
  hoard.GiveBack();
  return left;
}

void PingPong(Side& a, Side& b, int rounds, uint32_t bytes, bool interrupts) {
  const auto half = static_cast<uint64_t>(kBytes / 2);
  for (int round = 0; round < rounds; ++round) {
    Side* sides[] = {&a, &b};
    for (size_t turn = 0; turn < 2; ++turn) {
      Side &from = *sides[turn], &to = *sides[1 - turn];
      const uint64_t id = static_cast<uint64_t>(round) * 2 + turn;
      std::memset(from.data(), static_cast<int>(id + 1), bytes);
      std::memset(to.data() + half, 0, bytes);
      to.qp.Receive({.wr_id = id | 1U << 31}, std::array{to.region.Element(half, static_cast<uint32_t>(half))});
      if (interrupts) to.cq.Arm();
      from.qp.Send(Wqe(WrOpcode::kSend, id), std::array{from.region.Element(0, bytes)});
      if (interrupts) {
        ASSERT_TRUE(to.driver.Await([&] { return to.driver.function().TakeInterrupt(kCqVector); }))
            << "round " << round;
        ASSERT_EQ(to.driver.TakeNotifications(), std::vector<uint32_t>{to.cq.handle()});
      }
      const auto received = to.cq.Next();
      ASSERT_TRUE(received.has_value()) << "round " << round;
      EXPECT_EQ(received->wr_id, id | 1U << 31);
      EXPECT_EQ(received->status, 0u);
      EXPECT_EQ(received->opcode, 128u);
      EXPECT_EQ(received->byte_len, bytes);
      EXPECT_EQ(received->qp, to.qp.handle());
      EXPECT_EQ(std::memcmp(to.data() + half, from.data(), bytes), 0) << "round " << round;
      const auto sent = from.cq.Next();
      ASSERT_TRUE(sent.has_value()) << "round " << round;
      EXPECT_EQ(sent->wr_id, id);
      EXPECT_EQ(sent->status, 0u);
      EXPECT_EQ(sent->opcode, 0u);
    }
  }
}

}  // namespace vireo::sim::pvrdma
