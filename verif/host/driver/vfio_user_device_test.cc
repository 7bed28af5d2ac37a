// SPDX-License-Identifier: Apache-2.0
// Processes that drive NICs of a simulator process over vfio-user: initialization, verbs traffic between two of them,
// process exit and reconnection.
#include "host/driver/vfio_user_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/host/driver/vfio_shim.h"
#include "verif/host/service/service_bench.h"

namespace vireo::sim {
namespace {

constexpr std::array<size_t, 4> kSizes = {64, 1000, 4096, 20'000};
constexpr size_t kMaxBytes = 20'480;
constexpr uint64_t kSecondNs = 1'000'000'000;

std::string Socket(const SimulatorProcess& simulator, size_t nic) {
  return simulator.directory() + "/nic" + std::to_string(nic) + ".vfio";
}

bool Fail(const char* what, const host::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, host::ToString(error).c_str());
  return false;
}

enum class Kind { kFile, kOrdinary, kKernel };  // kKernel: by the requests of Linux' VFIO

// One side of an RC connection, with its driver.
struct Side {
  ~Side() {
    qp.reset();
    region.reset();
    cq.reset();
    pd.reset();
    memory.reset();
    device.reset();
    std::free(own);
  }

  bool Open(const std::string& socket, Kind kind, uint8_t number) {
    auto connected = kind == Kind::kKernel ? OpenByShim(socket) : host::ConnectVfioUser(socket);
    if (!connected.ok()) return Fail("connect", connected.error());
    function = std::move(connected).value();
    auto opened = verbs::Device::Open(*function);
    if (!opened.ok()) return Fail("open", opened.error());
    device = *opened;
    gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, number};
    uint8_t bytes[16];
    std::ranges::copy(gid, bytes);
    if (const auto added = device->AddGid(0, bytes); !added.ok()) return Fail("GID", added.error());
    auto made_pd = device->CreatePd();
    if (!made_pd.ok()) return Fail("PD", made_pd.error());
    pd = *made_pd;
    // With a vector, so that Wait sleeps.
    auto made_cq = device->CreateCq(64, uint16_t{2});
    if (!made_cq.ok()) return Fail("CQ", made_cq.error());
    cq = *made_cq;
    auto made_qp = pd->CreateQp({.send_cq = cq, .recv_cq = cq, .max_send_wr = 16, .max_recv_wr = 16});
    if (!made_qp.ok()) return Fail("QP", made_qp.error());
    qp = *made_qp;
    if (kind == Kind::kOrdinary) own = static_cast<uint8_t*>(std::aligned_alloc(4096, 2 * kMaxBytes));
    auto made = own == nullptr ? function->AllocateDma(2 * kMaxBytes, 4096) : function->MapDma(own, 2 * kMaxBytes);
    if (!made.ok()) return Fail("memory", made.error());
    memory = std::move(made).value();
    using Access = spec::IbAccessFlags;
    auto registered = pd->Register(*memory, Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead);
    if (!registered.ok()) return Fail("MR", registered.error());
    region = *registered;
    return true;
  }
  host::Result<std::unique_ptr<host::VfioFunction>> OpenByShim(const std::string& socket) {
    auto connected = host::VfioUserDevice::Connect(socket, {});
    if (!connected.ok()) return connected.error();
    served = std::move(connected).value();
    shim = std::make_unique<VfioShim>(*served, VfioShim::Options{});
    auto opened = host::VfioKernelDevice::Open(VfioShim::kAddress, *shim);
    if (!opened.ok()) return opened.error();
    return host::VfioFunction::Open(std::move(opened).value());
  }
  PeerInfo info() const {
    PeerInfo info;
    std::ranges::copy(gid, info.gid);
    const auto config = device->net().ReadNetConfig();
    if (config.ok()) std::ranges::copy(config->mac, info.mac);
    info.qpn = qp->qpn();
    info.rkey = region->rkey();
    info.address = region->address();
    return info;
  }
  bool Connect(const PeerInfo& peer) const {
    verbs::QueuePair::Connection connection;
    connection.dest_qpn = peer.qpn;
    connection.local_psn = connection.remote_psn = 0x123456;
    connection.timeout = 14;
    connection.retry_cnt = 7;
    std::ranges::copy(peer.gid, connection.path.grh.dgid);
    std::ranges::copy(peer.mac, connection.path.dmac);
    connection.path.grh.hop_limit = 64;
    const auto done = qp->Connect(connection);
    return done.ok() || Fail("QP states", done.error());
  }
  bool Complete(uint64_t seconds = 60) const {
    auto next = cq->Wait(function->NowNs() + seconds * kSecondNs);
    if (!next.ok()) return Fail("completion", next.error());
    if (!next->has_value()) {
      std::fprintf(stderr, "no completion\n");
      return false;
    }
    if ((*next)->status == spec::IbWcStatus::kSuccess) return true;
    std::fprintf(stderr, "a completion with status %d\n", static_cast<int>((*next)->status));
    return false;
  }

  std::unique_ptr<host::VfioDevice> served;
  std::unique_ptr<VfioShim> shim;
  std::unique_ptr<host::VfioFunction> function;
  std::shared_ptr<verbs::Device> device;
  std::shared_ptr<verbs::ProtectionDomain> pd;
  std::shared_ptr<verbs::CompletionQueue> cq;
  std::shared_ptr<verbs::QueuePair> qp;
  host::DmaBuffer memory;
  std::shared_ptr<verbs::MemoryRegion> region;
  std::array<uint8_t, 16> gid{};
  uint8_t* own = nullptr;
};

// For each size: receives a SEND into the first half of its memory, and checks a WRITE into the second half.
bool Serve(const std::string& socket, Kind kind, Pipe& pipe) {
  Side self;
  PeerInfo peer;
  if (!self.Open(socket, kind, 1) || !pipe.Send(0, self.info()) || !pipe.Receive(0, peer) || !self.Connect(peer)) {
    return false;
  }
  for (size_t round = 0; round < kSizes.size(); ++round) {
    const spec::RdmaSge sge = self.region->Sge(0, kMaxBytes);
    if (!self.qp->PostRecv({.wr_id = round, .sg_list = {&sge, 1}}).ok() || !pipe.Send(0, round)) return false;
    if (!self.Complete()) return false;
    for (size_t i = 0; i < kSizes.at(round); ++i) {
      if (self.memory->data()[i] != Pattern(i, round) ||
          self.memory->data()[kMaxBytes + i] != Pattern(i, round + 100)) {
        std::fprintf(stderr, "round %zu, byte %zu is wrong\n", round, i);
        return false;
      }
    }
  }
  return self.function->health().ok() && pipe.Send(0, kSizes.size());
}

bool Talk(const std::string& socket, Kind kind, Pipe& pipe) {
  Side self;
  PeerInfo peer;
  if (!self.Open(socket, kind, 2) || !pipe.Receive(1, peer) || !pipe.Send(1, self.info()) || !self.Connect(peer)) {
    return false;
  }
  for (size_t round = 0; round < kSizes.size(); ++round) {
    size_t ready = 0;
    if (!pipe.Receive(1, ready) || ready != round) return false;
    const auto bytes = static_cast<uint32_t>(kSizes.at(round));
    for (size_t i = 0; i < bytes; ++i) {
      self.memory->data()[i] = Pattern(i, round);
      self.memory->data()[kMaxBytes + i] = Pattern(i, round + 100);
    }
    const spec::RdmaSge write = self.region->Sge(kMaxBytes, bytes), send = self.region->Sge(0, bytes);
    if (!self.qp
             ->PostSend({.opcode = spec::IbWrOpcode::kRdmaWrite,
                         .sg_list = {&write, 1},
                         .remote_addr = peer.address + kMaxBytes,
                         .rkey = peer.rkey})
             .ok() ||
        !self.qp->PostSend({.opcode = spec::IbWrOpcode::kSend, .sg_list = {&send, 1}}).ok() || !self.Complete() ||
        !self.Complete()) {
      return false;
    }
  }
  size_t all = 0;
  return pipe.Receive(1, all) && all == kSizes.size();
}

void Exchange(const SimulatorProcess& simulator, Kind kind) {
  Pipe pipe;
  ClientProcess passive([&] { return Serve(Socket(simulator, 0), kind, pipe); });
  ClientProcess active([&] { return Talk(Socket(simulator, 1), kind, pipe); });
  for (size_t end = 0; end < 2; ++end) pipe.Close(end);
  EXPECT_TRUE(active.Succeeds());
  EXPECT_TRUE(passive.Succeeds());
}

struct Way {
  const char* name;
  Kind kind;
  const char* device = "model";
};
class VfioUserTraffic : public testing::TestWithParam<Way> {};

TEST_P(VfioUserTraffic, TwoProcessesExchangeWriteAndSend) {
  SimulatorProcess simulator({"--export", "vfio-user", "--device", GetParam().device});
  ASSERT_TRUE(simulator.is_ready());
  Exchange(simulator, GetParam().kind);
  EXPECT_EQ(simulator.Stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, VfioUserTraffic,
                         testing::Values(Way{"File", Kind::kFile}, Way{"Ordinary", Kind::kOrdinary},
                                         Way{"Kernel", Kind::kKernel}, Way{"Lockstep", Kind::kFile, "lockstep"}),
                         [](const auto& info) { return std::string(info.param.name); });

// A feature that an export hides is not in device_feature, for accesses of every width, and the other ones are.
TEST(VfioUserExport, HidesFeatures) {
  SimulatorProcess simulator({"--nics", "2", "--export", "vfio-user"});
  ASSERT_TRUE(simulator.is_ready());
  const std::string hidden = simulator.directory() + "/hidden";
  SimulatorProcess other({"--nics", "1", "--export", "0=" + hidden + ",without=ring_packed,without=mq"});
  ASSERT_TRUE(other.is_ready());
  const auto offered = [](const std::string& socket, unsigned bytes) {
    std::array<uint64_t, 5> words{};
    auto function = host::ConnectVfioUser(socket);
    EXPECT_TRUE(function.ok());
    if (!function.ok()) return words;
    // The common configuration is at the start of BAR 0.
    using Common = spec::VirtioPciCommonCfg;
    // Until its firmware has started, the device ignores writes. [virtio 1.3, 4.1.4.3.2]
    (*function)->WriteBar(0, Common::kDeviceStatusOffset, 1, 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((*function)->ReadBar(0, Common::kDeviceStatusOffset, 1) != 0) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "the reset does not end";
        return words;
      }
    }
    for (uint32_t window = 0; window < words.size(); ++window) {
      (*function)->WriteBar(0, Common::kDeviceFeatureSelectOffset, 4, window);
      for (unsigned at = 0; at < 4; at += bytes) {
        words.at(window) |= (*function)->ReadBar(0, Common::kDeviceFeatureOffset + at, bytes) << 8 * at;
      }
    }
    return words;
  };
  const auto all = offered(Socket(simulator, 0), 4), some = offered(hidden, 4);
  constexpr auto kPacked = static_cast<unsigned>(spec::VirtioFeature::kRingPacked);
  constexpr auto kMq = static_cast<unsigned>(spec::NetFeature::kMq);
  EXPECT_EQ(all[0] ^ some[0], uint64_t{1} << kMq);
  EXPECT_EQ(all[1] ^ some[1], uint64_t{1} << (kPacked - 32));
  for (size_t window = 2; window < all.size(); ++window) EXPECT_EQ(all.at(window), some.at(window));
  EXPECT_EQ(simulator.Stop(), 0);
  EXPECT_EQ(other.Stop(), 0);
}

// --- Process exit

TEST(VfioUserFailure, NicIsUsableAfterItsDriverIsKilled) {
  SimulatorProcess simulator({"--export", "vfio-user"});
  ASSERT_TRUE(simulator.is_ready());
  for (const Kind kind : {Kind::kFile, Kind::kOrdinary}) {
    Pipe pipe, go;
    ClientProcess victim([&] {
      Side self;
      PeerInfo peer;
      return self.Open(Socket(simulator, 0), kind, 1) && pipe.Send(0, self.info()) && pipe.Receive(0, peer) &&
             self.Connect(peer) && pipe.Send(0, 1) && pipe.Receive(0, peer);  // until it is killed
    });
    ClientProcess peer([&] {
      Side self;
      PeerInfo other;
      int ready = 0;
      if (!self.Open(Socket(simulator, 1), kind, 2) || !pipe.Receive(1, other) || !self.Connect(other) ||
          !pipe.Send(1, self.info()) || !pipe.Receive(1, ready)) {
        return false;
      }
      const spec::RdmaSge sge = self.region->Sge(0, kMaxBytes);
      const verbs::SendRequest write{.opcode = spec::IbWrOpcode::kRdmaWrite,
                                     .sg_list = {&sge, 1},
                                     .remote_addr = other.address,
                                     .rkey = other.rkey};
      // Kill it in the middle of traffic.
      for (int i = 0; i < 8; ++i) {
        if (!self.qp->PostSend(write).ok()) return false;
      }
      return self.Complete() && go.Send(1, 1) && pipe.Receive(1, ready);  // until it is killed
    });
    for (size_t end = 0; end < 2; ++end) pipe.Close(end);
    go.Close(1);
    int flowing = 0;
    ASSERT_TRUE(go.Receive(0, flowing));
    victim.Kill();
    peer.Kill();
  }
  // Immediately, whether or not the server has detected their exit.
  Exchange(simulator, Kind::kFile);
  EXPECT_EQ(simulator.Stop(), 0);
}

TEST(VfioUserFailure, SecondDriverIsRefusedAndServerExitIsDetected) {
  SimulatorProcess simulator({"--export", "vfio-user", "--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto first = host::ConnectVfioUser(Socket(simulator, 0));
  ASSERT_TRUE(first.ok()) << host::ToString(first.error());
  auto second = host::ConnectVfioUser(Socket(simulator, 0));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, host::ErrorCode::kLost);
  EXPECT_TRUE((*first)->health().ok());
  for (int i = 0; i < 5; ++i) {
    first->reset();
    first = host::ConnectVfioUser(Socket(simulator, 0));
    ASSERT_TRUE(first.ok()) << host::ToString(first.error());
    EXPECT_EQ((*first)->ReadConfig(0, 2), 0x1af4u);
  }
  auto memory = (*first)->AllocateDma(100, 64);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(simulator.Stop(), 0);
  (*first)->Wait((*first)->NowNs() + 60 * kSecondNs);
  EXPECT_EQ((*first)->health().error().code, host::ErrorCode::kLost);
  EXPECT_EQ((*first)->ReadConfig(0, 2), 0xffffu);
  EXPECT_EQ((*first)->ReadBar(0, 0, 8), ~uint64_t{0});
  (*first)->WriteBar(0, 0, 8, 1);
  EXPECT_FALSE((*first)->AllocateDma(100, 64).ok());
  EXPECT_FALSE((*first)->EnableMsix(1).ok());
  memory->reset();
}

TEST(VfioUserFailure, ConnectFailsWithoutAServer) {
  EXPECT_EQ(host::ConnectVfioUser("/nonexistent/nic0.vfio").error().code, host::ErrorCode::kLost);
  EXPECT_EQ(host::ConnectVfioUser("").error().code, host::ErrorCode::kInvalidArgument);
  EXPECT_EQ(host::ConnectVfioUser(std::string(200, 'a')).error().code, host::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace vireo::sim
