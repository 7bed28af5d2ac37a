// SPDX-License-Identifier: Apache-2.0
// Prints what a PVRDMA function costs in processor time: per work request that it takes from a guest's ring, and per
// completion that it puts there; and the same calls of the NIC's own queues, which it makes too. No simulated time is
// in it. See docs/pvrdma.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/sim/pvrdma/side.h"
#include "verif/sim/pvrdma/world.h"

namespace vireo::sim::pvrdma {
namespace {

constexpr uint32_t kBatch = 64;
constexpr int kRounds = 400;

// Nanoseconds of each round, for one of its kBatch requests.
class Cost {
 public:
  template <typename Work>
  void Add(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
    samples_.push_back(passed.count() / kBatch);
  }
  // The median: other processes disturb some rounds.
  double ns() {
    std::ranges::nth_element(samples_, samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2));
    return samples_[samples_.size() / 2];
  }

 private:
  std::vector<double> samples_;
};

TEST(PvrdmaCost, OfRequestsAndCompletions) {
  World world({.guests = {0, 1}, .is_monitored = false});
  world.Start();
  constexpr DriverQpOptions kOptions{.send_wr = kBatch, .recv_wr = 16};
  Side a(world.driver(0), kOptions, kBatch), b(world.driver(1), kOptions, kBatch);
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = World::GidOf(1)});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = World::GidOf(0)});
  LocalGuest& guest = world.guest(0);
  host::PciFunction& nic = world.nic(0).device().function();  // without the PVRDMA function
  constexpr uint64_t kLongNs = 200'000;                       // until all requests of a batch are complete
  Cost requests, completions;
  for (int round = 0; round < kRounds; ++round) {
    for (uint32_t i = 0; i < kBatch; ++i) {
      a.qp.Send(Remote(WrOpcode::kRdmaWrite, i, b.region, 0), std::array{a.region.Element(0, 64)}, /*rings=*/false);
    }
    requests.Add([&] { a.qp.RingSend(); });
    nic.Wait(nic.NowNs() + kLongNs);
    completions.Add([&] { guest.device().Progress(); });
    for (uint32_t i = 0; i < kBatch; ++i) {
      const auto completion = a.cq.Poll();
      ASSERT_TRUE(completion.has_value()) << "round " << round << ", " << i << " of " << kBatch;
      ASSERT_EQ(completion->status, 0u);
    }
  }

  // The same requests, on a queue pair of the NIC's own.
  verbs::Device& device = world.nic(0).device();
  auto pd = device.CreatePd();
  auto cq = device.CreateCq(kBatch);
  ASSERT_TRUE(pd.ok() && cq.ok());
  auto qp = (*pd)->CreateQp({.type = spec::IbQpType::kRc,
                             .send_cq = *cq,
                             .recv_cq = *cq,
                             .max_send_wr = kBatch,
                             .max_recv_wr = 16,
                             .max_send_sge = 1,
                             .max_recv_sge = 1});
  ASSERT_TRUE(qp.ok());
  auto memory = device.function().AllocateDma(kPageBytes, kPageBytes);
  ASSERT_TRUE(memory.ok());
  auto region = (*pd)->Register(**memory, spec::IbAccessFlags::kLocalWrite);
  ASSERT_TRUE(region.ok());
  Side peer(world.driver(1), kOptions, kBatch);
  peer.qp.Connect({.dest_qpn = (*qp)->qpn(), .dgid = World::GidOf(0)});
  constexpr uint8_t kGuestsGid = 1;  // the NIC's index of the first GID that a guest has bound
  spec::RdmaAhAttr path = world.system().host(0).PathTo(world.system().host(1), kGuestsGid);
  std::ranges::copy(World::GidOf(1), path.grh.dgid);
  constexpr uint32_t kPsn = 0x12'3456;  // of DriverQp::Connect
  ASSERT_TRUE((*qp)->Connect({.dest_qpn = peer.qp.qpn(), .local_psn = kPsn, .remote_psn = kPsn, .path = path}).ok());
  const std::array<spec::RdmaSge, 1> elements = {
      {{.addr = (*memory)->address(), .length = 64, .lkey = (*region)->lkey()}}};
  Cost posts, polls;
  for (int round = 0; round < kRounds; ++round) {
    size_t posted = 0, done = 0;
    posts.Add([&] {
      for (uint32_t i = 0; i < kBatch; ++i) {
        posted += (*qp)
                      ->PostSend({.wr_id = i,
                                  .opcode = spec::IbWrOpcode::kRdmaWrite,
                                  .sg_list = elements,
                                  .remote_addr = peer.region.start,
                                  .rkey = peer.region.rkey})
                      .ok();
      }
    });
    nic.Wait(nic.NowNs() + kLongNs);
    std::array<spec::RdmaCqReq, 1> completion;
    polls.Add([&] {
      for (uint32_t i = 0; i < kBatch; ++i) done += (*cq)->Poll(completion).value();
    });
    ASSERT_EQ(posted, kBatch) << "round " << round;
    ASSERT_EQ(done, kBatch) << "round " << round;
    ASSERT_EQ(completion[0].status, spec::IbWcStatus::kSuccess) << "round " << round;
  }
  std::printf("per work request: %.0f ns, of them %.0f ns the NIC's own queue\n", requests.ns(), posts.ns());
  std::printf("per completion: %.0f ns, of them %.0f ns the NIC's own queue\n", completions.ns(), polls.ns());
  EXPECT_GT(requests.ns(), 0);
  qp->reset();
  region->reset();
  a.Destroy();
  b.Destroy();
  peer.Destroy();
}

}  // namespace
}  // namespace vireo::sim::pvrdma
