// SPDX-License-Identifier: Apache-2.0
// Connection management between two complete NICs: MADs through QP 1, over IPv4 and IPv6.
#include "host/service/cm/gsi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/topology/rdma_system.h"

namespace vireo::sim {
namespace {

using namespace service::cm;  // NOLINT(google-build-using-namespace): namespace under test
using Kind = Event::Kind;

constexpr uint64_t kService = 0x0106'1c06;
constexpr uint64_t kTimeoutNs = 2'000'000;

class GsiTest : public testing::Test {
 protected:
  struct Side final : Handler {
    std::unique_ptr<Gsi> gsi;
    std::unique_ptr<ConnectionManager> manager;
    std::vector<std::pair<uint32_t, Kind>> reported;
    void OnCmEvent(uint32_t id, const Event& event) override { reported.emplace_back(id, event.kind); }
  };

  void SetUp() override {
    auto built = RdmaSystem::Build({});
    ASSERT_EQ(built.error, "");
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) {
      RdmaHost& host = system_->host(i);
      ASSERT_EQ(host.AddIpv6Gid(), "");
      Gsi::Options options;
      options.gids = {{RdmaHost::kIpv4Gid, host.gid()}, {RdmaHost::kIpv6Gid, host.gid(RdmaHost::kIpv6Gid)}};
      options.neighbors = [this](const Gid& gid) -> std::optional<std::array<uint8_t, 6>> {
        for (size_t n = 0; n < 2; ++n) {
          RdmaHost& there = system_->host(n);
          if (gid == there.gid() || gid == there.gid(RdmaHost::kIpv6Gid)) return there.mac();
        }
        return std::nullopt;
      };
      options.handles = 1;
      auto gsi = Gsi::Create(host.device().shared_from_this(), options);
      ASSERT_TRUE(gsi.ok()) << host::ToString(gsi.error());
      Side& side = side_.at(i);
      side.gsi = std::move(gsi).value();
      side.manager = std::make_unique<ConnectionManager>(
          *side.gsi, [&host] { return host.function().NowNs(); },
          ConnectionManager::Options{.node_guid = i, .seed = i});
      side.gsi->SetReceiver([&side](const Path& path, MadView mad) { side.manager->OnMad(path, mad); });
      side.manager->SetAcceptor([&side](const Incoming& incoming) -> ConnectionManager::Answer {
        if (incoming.service_id != kService) return {};
        side.reported.emplace_back(incoming.id, Kind::kRequest);
        return {.verdict = ConnectionManager::Answer::Verdict::kTaken, .handler = &side};
      });
    }
  }
  void TearDown() override {
    for (Side& side : side_) {
      side.manager.reset();
      side.gsi.reset();
    }
    if (system_ != nullptr) {
      EXPECT_EQ(system_->Violations(), "");
    }
  }
  // Both poll until `done`.
  bool Until(const std::function<bool()>& done) {
    host::PciFunction& function = system_->host(0).function();
    const uint64_t deadline = function.NowNs() + kTimeoutNs;
    while (function.NowNs() < deadline) {
      for (Side& side : side_) {
        const host::Status polled = side.gsi->Poll();
        EXPECT_TRUE(polled.ok()) << host::ToString(polled.error());
      }
      if (done()) return true;
      function.Wait(function.NowNs());
    }
    return false;
  }
  Path PathTo(size_t there, uint8_t gid, size_t here = 0) {
    return {.sgid_index = gid, .sgid = system_->host(here).gid(gid), .dgid = system_->host(there).gid(gid)};
  }
  void ConnectAndDisconnect(const Path& path, size_t there) {
    Side &active = side_[0], &passive = side_.at(there);
    active.reported.clear();
    passive.reported.clear();
    const uint32_t a = active.manager->Connect(active, path, {.service_id = kService, .qpn = 5}).value();
    const auto heard = [](Side& side, Kind kind) {
      return std::ranges::find(side.reported, kind, &std::pair<uint32_t, Kind>::second) != side.reported.end();
    };
    ASSERT_TRUE(Until([&] { return heard(passive, Kind::kRequest); }));
    const uint32_t b = passive.reported.back().first;
    EXPECT_EQ(passive.manager->Query(b)->path.dgid, path.sgid);
    EXPECT_EQ(passive.manager->Query(b)->path.sgid_index, path.sgid_index);
    ASSERT_TRUE(passive.manager->Accept(b, {.qpn = 6}).ok());
    ASSERT_TRUE(Until([&] { return heard(active, Kind::kReply); }));
    ASSERT_TRUE(active.manager->Ready(a).ok());
    ASSERT_TRUE(Until([&] { return heard(passive, Kind::kEstablished); }));
    EXPECT_EQ(active.manager->Query(a)->remote_qpn, 6U);
    EXPECT_EQ(passive.manager->Query(b)->remote_qpn, 5U);
    ASSERT_TRUE(active.manager->Disconnect(a).ok());
    ASSERT_TRUE(Until([&] { return heard(passive, Kind::kDisconnected); }));
    ASSERT_TRUE(passive.manager->Disconnect(b).ok());
    ASSERT_TRUE(Until([&] { return heard(active, Kind::kDisconnected); }));
    active.manager->Destroy(a);
    passive.manager->Destroy(b);
  }

  std::unique_ptr<RdmaSystem> system_;
  std::array<Side, 2> side_;
};

TEST_F(GsiTest, ConnectsOverIpv4AndIpv6) {
  EXPECT_EQ(side_[0].gsi->qp().qpn(), spec::kGsiQpn);
  ConnectAndDisconnect(PathTo(1, RdmaHost::kIpv4Gid), 1);
  ConnectAndDisconnect(PathTo(1, RdmaHost::kIpv6Gid), 1);  // its address handle replaces the other one in the cache
  ConnectAndDisconnect(PathTo(0, RdmaHost::kIpv4Gid), 0);  // loopback
  EXPECT_EQ(side_[0].gsi->dropped() + side_[1].gsi->dropped(), 0U);
}

TEST_F(GsiTest, SendsBeyondQueueDepthAreQueued) {
  // No listener: each is rejected.
  constexpr size_t kMany = 200;
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(side_[0].manager->Connect(side_[0], PathTo(1, 0), {.service_id = 1, .qpn = 5}).ok());
  }
  EXPECT_TRUE(Until([&] { return side_[0].reported.size() == kMany; })) << side_[0].reported.size();
  for (const auto& [id, kind] : side_[0].reported) EXPECT_EQ(kind, Kind::kRejected);
}

TEST_F(GsiTest, InvalidMadsAreDropped) {
  // To an unused address.
  Path nowhere = PathTo(1, 0);
  nowhere.dgid[15] = 99;
  side_[0].gsi->SendMad(nowhere, Mad{});
  EXPECT_EQ(side_[0].gsi->dropped(), 1U);

  // From another queue pair than 1, and of another length.
  std::string error;
  RdmaHost &near = system_->host(0), &far = system_->host(1);
  auto pair = MakeDatagramPair(near, far, {}, &error);
  ASSERT_NE(pair, nullptr) << error;
  for (const uint32_t bytes : {uint32_t{kMadBytes}, uint32_t{100}}) {
    const uint64_t before = side_[1].gsi->dropped();
    const spec::RdmaSge sge = pair->side[0].region->Sge(0, bytes);
    auto request = pair->To(0, {.sg_list = {&sge, 1}});
    request.remote_qpn = spec::kGsiQpn;
    // A privileged Q_Key cannot be set per work request: it is the QP's own.
    request.remote_qkey = uint32_t{1} << 31;
    spec::RdmaCmdModifyQp key;
    key.qkey = spec::kGsiQkey;
    ASSERT_TRUE(pair->side[0].qp->Modify(key, spec::IbQpAttrMask::kQkey).ok());
    ASSERT_TRUE(pair->side[0].qp->PostSend(request).ok());
    EXPECT_TRUE(Until([&] { return side_[1].gsi->dropped() == before + 1; })) << bytes;
  }
}

}  // namespace
}  // namespace vireo::sim
