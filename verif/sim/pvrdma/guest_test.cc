// SPDX-License-Identifier: Apache-2.0
// PVRDMA functions at vfio-user sockets, as QEMU uses them: drivers that connect, disappear and come back.
#include "sim/pvrdma/guest.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/driver/vfio_user_device.h"
#include "sim/topology/rdma_system.h"
#include "verif/sim/pvrdma/side.h"

namespace vireo::sim::pvrdma {
namespace {

using GidBytes = std::array<uint8_t, 16>;
GidBytes GidOf(size_t guest) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 8, static_cast<uint8_t>(guest + 1)};
}

// A NIC per guest, on the model, unless a test says otherwise. A thread of its own runs the simulation.
class PvrdmaGuests : public testing::Test {
 protected:
  PvrdmaGuests() : PvrdmaGuests({.nics = 2}, {0, 1}) {}
  // `nic_of`: by guest.
  PvrdmaGuests(RdmaSystemOptions options, std::vector<size_t> nic_of)
      : options_(std::move(options)), nic_of_(std::move(nic_of)) {}
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "vireo_pvrdma_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    auto built = RdmaSystem::Build(options_);
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < nic_of_.size(); ++i) {
      while (nics_.size() <= nic_of_[i]) {
        RdmaHost& host = system_->host(nics_.size());
        nics_.push_back(std::make_unique<Nic>(host.device(), gids_,
                                              Nic::Options{.mac = host.mac(), .own_gids = {{0, host.gid()}}}));
      }
      auto guest = Guest::Listen(loop_, *nics_[nic_of_[i]], SocketOf(i));
      ASSERT_TRUE(guest.ok()) << host::ToString(guest.error());
      guests_.push_back(std::move(guest).value());
    }
    thread_ = std::thread([this] { Run(); });
  }
  void TearDown() override {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
    guests_.clear();
    nics_.clear();
    if (system_ != nullptr) {
      EXPECT_EQ(system_->Violations(), "");
    }
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  void Run() {
    constexpr uint64_t kPauseNs = 50'000;
    constexpr Picoseconds kSlice = 2'000'000;
    while (!is_stopping_) {
      const bool is_idle = system_->topology().IsQuiet() &&
                           std::ranges::none_of(guests_, [](const auto& guest) { return guest->has_work(); });
      loop_.Poll(is_idle ? kPauseNs : 0);
      system_->topology().RunFor(kSlice);
      for (const auto& guest : guests_) guest->Progress();
    }
  }
  std::string SocketOf(size_t guest) const { return directory_ + "/guest" + std::to_string(guest); }

  // A guest's driver in this thread.
  struct Client {
    explicit Client(const std::string& socket) {
      auto connected = host::ConnectVfioUser(socket);
      EXPECT_TRUE(connected.ok()) << host::ToString(connected.error());
      function = std::move(connected).value();
      driver = std::make_unique<Driver>(*function);
    }
    std::unique_ptr<host::VfioFunction> function;
    std::unique_ptr<Driver> driver;
  };
  std::unique_ptr<Client> Start(size_t guest) {
    auto client = std::make_unique<Client>(SocketOf(guest));
    client->driver->Start();
    client->driver->Bind(0, GidOf(guest));
    return client;
  }

  const RdmaSystemOptions options_;
  const std::vector<size_t> nic_of_;
  std::string directory_;
  std::unique_ptr<RdmaSystem> system_;
  service::EventLoop loop_;
  GidDirectory gids_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

void Connect(Side& a, Side& b) {
  a.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = GidOf(1)});
  b.qp.Connect({.dest_qpn = a.qp.qpn(), .dgid = GidOf(0)});
}

TEST_F(PvrdmaGuests, IdentityAndRegionsReachTheClient) {
  const auto client = std::make_unique<Client>(SocketOf(0));
  EXPECT_EQ(client->function->ReadConfig(0, 4), 0x0820'15adu);
  EXPECT_EQ(client->function->MsixVectors(), 3u);
  EXPECT_EQ(client->function->BarBytes(kRegisterBar), 4096u);
  EXPECT_EQ(client->function->BarBytes(kUarBar), 512u * 4096);
  EXPECT_EQ(client->driver->ReadRegister(kVersion), 20u);
}

TEST_F(PvrdmaGuests, TwoProcessesExchangeMessagesWithInterrupts) {
  const auto first = Start(0), second = Start(1);
  Side a(*first->driver, {.send_wr = 4, .recv_wr = 4}, 8), b(*second->driver, {.send_wr = 4, .recv_wr = 4}, 8);
  Connect(a, b);
  PingPong(a, b, 10, 3000, false);
  PingPong(a, b, 5, 100, true);
  a.Destroy();
  b.Destroy();
}

TEST_F(PvrdmaGuests, DriverThatDisappearsLeavesNothingBehind) {
  const auto second = Start(1);
  for (int cycle = 0; cycle < 5; ++cycle) {
    SCOPED_TRACE(cycle);
    auto first = Start(0);  // its GID is free again
    Side b(*second->driver, {});
    {
      Side a(*first->driver, {});
      Connect(a, b);
      PingPong(a, b, 1, 500, false);
      // In the middle of a transfer.
      for (uint64_t i = 0; i < 8; ++i) {
        a.qp.Send(Remote(WrOpcode::kRdmaWrite, i, b.region, 0), std::array{a.region.Element(0, kBytes)});
      }
      if (cycle % 2 == 1) {
        first->driver->WriteRegister(kCtl, kReset);
        EXPECT_EQ(first->driver->ReadRegister(kErr), 0u);
      }
    }
    first.reset();
    b.Destroy();
  }
}

// On one NIC: a third guest writes to the second one and disappears.
class PvrdmaGuestsOfOneNic : public PvrdmaGuests {
 protected:
  PvrdmaGuestsOfOneNic()
      : PvrdmaGuests({.config = &spec::kNic1, .fabric = Fabric::kSwitch, .network_switch = {.hairpin = true}},
                     {0, 0, 0}) {}
};

TEST_F(PvrdmaGuestsOfOneNic, DriverThatDisappearsLeavesTheNicAllItHad) {
  const auto first = Start(0), second = Start(1);
  // Counted by another guest, which creates as many as the NIC has left.
  const verbs::Quota before = CountLeft(*first->driver);
  EXPECT_GT(before.pds, 1u);
  EXPECT_GT(before.mrs, 1u);
  EXPECT_GT(before.cqs, 1u);
  EXPECT_GT(before.qps, 2u);
  for (int cycle = 0; cycle < 20; ++cycle) {
    SCOPED_TRACE(cycle);
    auto third = Start(2);
    Side b(*second->driver, {});
    {
      Side c(*third->driver, {});  // whose memory goes first
      b.qp.Connect({.dest_qpn = c.qp.qpn(), .dgid = GidOf(2)});
      c.qp.Connect({.dest_qpn = b.qp.qpn(), .dgid = GidOf(1)});
      if (cycle == 0) {
        verbs::Quota meanwhile = before;
        meanwhile.pds -= 2;
        meanwhile.mrs -= 2;
        meanwhile.pages -= 2 * kPages;
        meanwhile.cqs -= 2;
        meanwhile.qps -= 2;
        EXPECT_EQ(CountLeft(*first->driver), meanwhile);
      }
      for (uint64_t i = 0; i < 8; ++i) {
        c.qp.Send(Remote(WrOpcode::kRdmaWrite, i, b.region, 0), std::array{c.region.Element(0, kBytes)});
      }
    }
    third.reset();
    b.Destroy();
    if (cycle % 10 == 9) {
      EXPECT_EQ(CountLeft(*first->driver), before);
    }
  }
}

}  // namespace
}  // namespace vireo::sim::pvrdma
