// SPDX-License-Identifier: Apache-2.0
// Processes that use simulated NICs through the service: traffic, process exit, and several clients of one NIC.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/service/gid_table.h"
#include "sim/simulator/control_socket.h"
#include "verif/host/service/service_bench.h"

namespace vireo::sim {
namespace {

struct Way {
  const char* name;
  bool is_agent;
  size_t nics[2];
  const char* device = "model";
};
class ServiceTraffic : public testing::TestWithParam<Way> {};

TEST_P(ServiceTraffic, WritesReadsAndSendsIntoOrdinaryMemory) {
  const Way& way = GetParam();
  SimulatorProcess simulator({"--device", way.device});
  ASSERT_TRUE(simulator.is_ready());
  EXPECT_TRUE(std::filesystem::exists(simulator.directory() + "/status.json"));
  if (way.is_agent) ::setenv("VIREO_DMA", "agent", 1);
  Pipe pipe;
  ClientProcess passive([&] { return ServeTraffic(simulator.socket(way.nics[0]), pipe, way.is_agent); });
  ClientProcess active([&] { return TalkTraffic(simulator.socket(way.nics[1]), pipe, way.is_agent); });
  for (size_t end = 0; end < 2; ++end) pipe.Close(end);
  EXPECT_TRUE(active.Succeeds());
  EXPECT_TRUE(passive.Succeeds());
  ::unsetenv("VIREO_DMA");
  EXPECT_EQ(simulator.Stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(simulator.directory() + "/status.json"));
}

INSTANTIATE_TEST_SUITE_P(Ways, ServiceTraffic,
                         testing::Values(Way{"Direct", false, {0, 1}}, Way{"Agent", true, {0, 1}},
                                         Way{"OneNic", false, {0, 0}}, Way{"Rtl", false, {0, 1}, "rtl"},
                                         Way{"Lockstep", false, {0, 1}, "lockstep"}),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Vectors

uint16_t VectorsOf(const std::string& socket) {
  const auto connected = service::SharedDevice::Connect(socket);
  EXPECT_TRUE(connected.ok()) << host::ToString(connected.error());
  return connected.ok() ? (*connected)->vectors() : 0;
}

// Guests need vectors of their own: half of them, if the NIC has few.
TEST(ServiceVectors, ANicWithGuestsKeepsSomeForThem) {
  constexpr uint16_t kAll = 62, kBesideGuests = 64, kHalf = 31;
  const std::string guest =
      (std::filesystem::temp_directory_path() / ("vireo_guest_" + std::to_string(::getpid()))).string();
  for (const auto& [config, expected] : {std::pair{"nic100", kBesideGuests}, {"nic1", kHalf}}) {
    SCOPED_TRACE(config);
    SimulatorProcess simulator({"--config", config, "--nics", "2", "--pvrdma", "guest=" + guest});
    ASSERT_TRUE(simulator.is_ready()) << simulator.error();
    EXPECT_EQ(VectorsOf(simulator.socket(0)), expected);  // the guest's
    EXPECT_EQ(VectorsOf(simulator.socket(1)), kAll);
  }
}

// --- Limits

// A program that takes all it gets, by two contexts, leaves something of every kind for another one.
TEST(ServiceLimits, OneProgramCannotTakeAll) {
  SimulatorProcess simulator({"--config", "nic1", "--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  Pipe pipe;
  const std::string socket = simulator.socket(0);
  ClientProcess greedy([&] {
    std::unique_ptr<Endpoint> ends[2];
    for (auto& end : ends) {
      end = Endpoint::Open(socket, 4096);  // a PD, a CQ, a QP and a region each
      if (end == nullptr) return false;
    }
    const spec::RdmaAckQueryDevice limits = ends[0]->device->attributes();
    const service::SharedDevice::Info info = ends[0]->shared->info();
    std::vector<std::shared_ptr<void>> all;
    // Made by both in turn, until one is refused; both are refused the same.
    const auto fill = [&](const auto& make) {
      for (uint32_t made = 2;; ++made) {
        auto one = make(*ends[made % 2]);
        if (one.ok()) {
          all.push_back(std::move(one).value());
          continue;
        }
        const auto again = make(*ends[(made + 1) % 2]);
        const bool is_full = one.error().code == host::ErrorCode::kNoMemory && !again.ok();
        return is_full ? made : 0;
      }
    };
    const auto pds = fill([](Endpoint& end) { return end.device->CreatePd(); });
    const auto cqs = fill([](Endpoint& end) { return end.device->CreateCq(4); });
    const auto mrs =
        fill([](Endpoint& end) { return end.pd->Register(*end.mapping, spec::IbAccessFlags::kLocalWrite); });
    const auto qps = fill([](Endpoint& end) {
      return end.pd->CreateQp({.send_cq = end.cq, .recv_cq = end.cq, .max_send_wr = 1, .max_recv_wr = 1});
    });
    const bool is_exact = pds == limits.max_pd && cqs == info.own_cqs && mrs == limits.max_mr && qps == info.own_qps;
    if (!is_exact) std::fprintf(stderr, "%u PDs, %u CQs, %u MRs, %u QPs\n", pds, cqs, mrs, qps);
    uint64_t end = 0;
    return pipe.Send(0, uint64_t{is_exact}) && pipe.Receive(0, end) && is_exact;
  });
  pipe.Close(0);
  uint64_t is_exact = 0;
  ASSERT_TRUE(pipe.Receive(1, is_exact));
  EXPECT_EQ(is_exact, 1u);
  ClientProcess other([&] {
    const auto end = Endpoint::Open(socket, 4096);
    return end != nullptr && end->Connect(end->info());
  });
  EXPECT_TRUE(other.Succeeds());
  EXPECT_TRUE(pipe.Send(1, uint64_t{1}));
  EXPECT_TRUE(greedy.Succeeds());
  EXPECT_EQ(simulator.Stop(), 0);
}

// --- GIDs

// A connected client sees a change at once, and has an event of it.
TEST(ServiceGids, ClientSeesChangesWithoutARequest) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  auto connected = service::SharedDevice::Connect(simulator.socket(0));
  ASSERT_TRUE(connected.ok()) << host::ToString(connected.error());
  service::SharedDevice& client = **connected;
  ASSERT_EQ(client.gids().size(), 2U);
  const auto table = client.gid_table();
  const std::string control = simulator.directory() + "/control.sock";
  const auto ask = [&](const nlohmann::json& request) { return ControlSocket::Ask(control, request); };
  const auto event = [&] {
    const auto polled = client.PollEvent();
    return polled.ok() && polled->has_value() ? std::optional((*polled)->kind) : std::nullopt;
  };
  EXPECT_EQ(event(), std::nullopt);

  // Up to the end of the table.
  for (unsigned i = 2; i < service::kMaxGids; ++i) {
    const auto added = ask({{"gid", "add"}, {"nic", 0}, {"setting", "192.0.2." + std::to_string(i)}});
    ASSERT_TRUE(added.ok()) << added.error().text;
    EXPECT_EQ((*added)["index"], i);
    ASSERT_EQ(client.gids().size(), i + 1);
    EXPECT_EQ(client.gids()[i].gid[15], i);
    ASSERT_EQ(event(), host::DeviceEvent::Kind::kGidTableChanged);
  }
  EXPECT_EQ(ask({{"gid", "add"}, {"nic", 0}, {"setting", "192.0.2.200"}}).error().text, "the GID table is full");
  EXPECT_EQ(event(), std::nullopt) << "nothing has changed";
  ASSERT_TRUE(ask({{"gid", "del"}, {"nic", 0}, {"index", 5}}).ok());
  EXPECT_EQ(event(), host::DeviceEvent::Kind::kGidTableChanged);
  EXPECT_EQ(std::ranges::count(client.gids(), 5, &service::Gid::index), 0);
  connected = host::Error{host::ErrorCode::kLost, ""};
  EXPECT_EQ(table->Read().size(), service::kMaxGids - 1) << "outlives the connection";

  // What is no request harms nobody.
  for (const nlohmann::json& bad :
       {nlohmann::json(3), nlohmann::json{{"gid", "add"}}, nlohmann::json{{"nic", 0}},
        nlohmann::json{{"gid", "list"}, {"nic", 9}}, nlohmann::json{{"gid", 7}, {"nic", 0}},
        nlohmann::json{{"gid", "del"}, {"nic", 0}, {"index", "x"}}, nlohmann::json{{"drops", 1}},
        nlohmann::json{{"gid", "add"}, {"nic", 0}, {"setting", nullptr}}}) {
    EXPECT_FALSE(ask(bad).ok()) << bad;
  }
  EXPECT_TRUE(ask({{"gid", "list"}, {"nic", 1}}).ok());
  EXPECT_EQ(simulator.Stop(), 0);
}

// --- Process exit

TEST(ServiceClientExit, PeerOfAKilledClientGetsAnErrorAndANewClientWorks) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  Pipe pipe, go;
  ClientProcess victim([&] {
    auto self = Endpoint::Open(simulator.socket(0), kTrafficBytes);
    PeerInfo peer;
    return self != nullptr && pipe.Send(0, self->info()) && pipe.Receive(0, peer) && self->Connect(peer) &&
           pipe.Send(0, 1) && pipe.Receive(0, peer);  // until it is killed
  });
  ClientProcess peer([&] {
    auto self = Endpoint::Open(simulator.socket(1), kTrafficBytes);
    PeerInfo other;
    int ready = 0;
    // 1 ms, twice.
    if (self == nullptr || !pipe.Receive(1, other) || !self->Connect(other, 8, 1) || !pipe.Send(1, self->info()) ||
        !pipe.Receive(1, ready)) {
      return false;
    }
    const spec::RdmaSge sge = self->Sge(0, kTrafficBytes);
    const verbs::SendRequest write{
        .opcode = spec::IbWrOpcode::kRdmaWrite, .sg_list = {&sge, 1}, .remote_addr = other.address, .rkey = other.rkey};
    // Continuous traffic, so that the client is killed in the middle of it.
    for (int i = 0; i < 4; ++i) {
      if (!self->qp->PostSend(write).ok()) return false;
    }
    for (uint64_t count = 1;; ++count) {
      spec::RdmaCqReq completion;
      if (!self->Complete(&completion)) return false;
      // The killed process's memory may be freed before its connection: then its NIC reports a remote error.
      if (completion.status == spec::IbWcStatus::kRetryExcErr || completion.status == spec::IbWcStatus::kRemOpErr) {
        return true;
      }
      if (completion.status != spec::IbWcStatus::kSuccess) {
        std::fprintf(stderr, "status %d\n", static_cast<int>(completion.status));
        return false;
      }
      if (count == 4 && !go.Send(1, 1)) return false;
      if (!self->qp->PostSend(write).ok()) return false;
    }
  });
  for (size_t end = 0; end < 2; ++end) pipe.Close(end);
  go.Close(1);
  int flowing = 0;
  ASSERT_TRUE(go.Receive(0, flowing));
  victim.Kill();
  EXPECT_TRUE(peer.Succeeds());

  Pipe again;
  ClientProcess passive([&] { return ServeTraffic(simulator.socket(0), again, false); });
  ClientProcess active([&] { return TalkTraffic(simulator.socket(1), again, false); });
  for (size_t end = 0; end < 2; ++end) again.Close(end);
  EXPECT_TRUE(active.Succeeds());
  EXPECT_TRUE(passive.Succeeds());
}

// The small NIC has 16 of most resources, so leaks are found quickly.
TEST(ServiceClientExit, ResourcesOfExitedClientsAreFreed) {
  SimulatorProcess simulator({"--config", "nic1", "--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  for (int i = 0; i < 40; ++i) {
    ClientProcess client([&] {
      auto self = Endpoint::Open(simulator.socket(0), 8192);
      if (self == nullptr) return false;
      self.release();  // NOLINT(bugprone-unused-return-value): exit without cleanup
      return true;
    });
    ASSERT_TRUE(client.Succeeds()) << i;
  }
}

// --- Several on one NIC

TEST(ServiceSharing, ClientsAreIsolated) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto first = Endpoint::Open(simulator.socket(0), 4096), second = Endpoint::Open(simulator.socket(0), 4096);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NE(first->qp->qpn(), second->qp->qpn());
  EXPECT_NE(first->cq->cqn(), second->cq->cqn());
  EXPECT_NE(first->pd->pdn(), second->pd->pdn());

  host::RoceCommands& roce = second->shared->roce();
  const auto refused = [](const auto& result, spec::RdmaError why) {
    return !result.ok() && result.error().code == host::ErrorCode::kRefused && result.error().rdma == why;
  };
  using spec::RdmaError;
  EXPECT_TRUE(refused(roce.DestroyQp(first->qp->qpn()), RdmaError::kBadQpn));
  EXPECT_TRUE(refused(roce.QueryQp(first->qp->qpn(), 0), RdmaError::kBadQpn));
  EXPECT_TRUE(refused(roce.ModifyQp({.qpn = first->qp->qpn()}), RdmaError::kBadQpn));
  EXPECT_TRUE(refused(roce.DestroyCq(first->cq->cqn()), RdmaError::kBadCqn));
  EXPECT_TRUE(refused(roce.ReqNotifyCq(first->cq->cqn(), spec::IbNotifyFlags::kNextCompletion), RdmaError::kBadCqn));
  EXPECT_TRUE(refused(roce.DestroyPd(first->pd->pdn()), RdmaError::kBadPdn));
  EXPECT_TRUE(refused(roce.CreateAh(first->pd->pdn(), {}), RdmaError::kBadPdn));
  EXPECT_TRUE(refused(roce.DestroyAh(second->pd->pdn(), 0), RdmaError::kBadAh));
  EXPECT_TRUE(refused(roce.DestroyAh(first->pd->pdn(), 0), RdmaError::kBadPdn));
  // Another client's region, protection domain and memory.
  const std::array<uint64_t, 1> foreign_page = {first->mapping->address()};
  const verbs::MemoryRegion::Change onto_foreign = {
      .pages = verbs::MemoryRegion::Pages{.length = 4096, .addresses = foreign_page}};
  EXPECT_TRUE(refused(second->region->Modify(onto_foreign), RdmaError::kInvalidAddress));
  EXPECT_EQ(second->region->length(), 4096U);
  int changed = 0;
  for (uint32_t mrn = 0; mrn < 64; ++mrn) {
    const auto result = roce.ReregMr({.mrn = mrn, .flags = spec::RdmaReregFlags::kAccess, .access_flags = 1}, {});
    changed += result.ok() ? 1 : 0;
    EXPECT_TRUE(result.ok() || refused(result, RdmaError::kBadMrn)) << mrn;
    EXPECT_TRUE(refused(roce.ReregMr({.mrn = mrn, .flags = spec::RdmaReregFlags::kPd, .pdn = first->pd->pdn()}, {}),
                        RdmaError::kBadPdn));
  }
  EXPECT_EQ(changed, 1);
  // A list without the flag for it.
  EXPECT_FALSE(roce.ReregMr({.flags = spec::RdmaReregFlags::kAccess}, foreign_page).ok());
  // Whatever the number of the first client's region is: of all numbers, only the second client's own can be
  // deregistered.
  int gone = 0;
  for (uint32_t mrn = 0; mrn < 64; ++mrn) {
    const host::Status ended = roce.DeregMr(mrn);
    gone += ended.ok() ? 1 : 0;
    EXPECT_TRUE(ended.ok() || refused(ended, RdmaError::kBadMrn)) << mrn;
  }
  EXPECT_EQ(gone, 1);
  EXPECT_TRUE(refused(roce.QueryMr(first->region->mrn()), RdmaError::kBadMrn));
  EXPECT_TRUE(first->shared->roce().QueryMr(first->region->mrn()).ok());
  const auto qp = [&](uint32_t pdn, uint32_t send, uint32_t recv, spec::IbQpType type) {
    return roce.CreateQp({.pdn = pdn, .qp_type = type, .send_cqn = send, .recv_cqn = recv, .cap = {}});
  };
  constexpr auto kRc = spec::IbQpType::kRc;
  const uint32_t pdn = second->pd->pdn(), cqn = second->cq->cqn();
  EXPECT_TRUE(refused(qp(first->pd->pdn(), cqn, cqn, kRc), RdmaError::kBadPdn));
  EXPECT_TRUE(refused(qp(pdn, first->cq->cqn(), cqn, kRc), RdmaError::kBadCqn));
  EXPECT_TRUE(refused(qp(pdn, cqn, first->cq->cqn(), kRc), RdmaError::kBadCqn));
  EXPECT_TRUE(refused(qp(pdn, cqn, cqn, spec::IbQpType::kGsi), RdmaError::kUnsupportedQpType));
  // Commands reserved for the service.
  EXPECT_TRUE(refused(roce.AddGid({.index = 5}), RdmaError::kUnsupportedCommand));
  EXPECT_TRUE(refused(roce.DelGid(0), RdmaError::kUnsupportedCommand));
  EXPECT_TRUE(refused(roce.SetWindow({.vq_index = 40}), RdmaError::kUnsupportedCommand));
  EXPECT_TRUE(refused(roce.GetDmaMr(pdn, 0), RdmaError::kUnsupportedCommand));
  // With pages at any address of the bus, of which the service knows nothing.
  EXPECT_TRUE(refused(roce.AllocMr(pdn, 1), RdmaError::kUnsupportedCommand));
  EXPECT_EQ(roce.QueryDevice()->max_fast_mr_pages, 0U);
  // Memory and queues of the first client.
  const std::array<uint64_t, 1> page = {first->mapping->address()};
  EXPECT_TRUE(
      refused(second->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 0, page), RdmaError::kInvalidAddress));
  EXPECT_TRUE(
      refused(second->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 40, page), RdmaError::kInvalidAddress));
  const auto queue = second->shared->SendQueueIndex(first->qp->qpn());
  ASSERT_TRUE(queue.ok());
  EXPECT_FALSE(second->shared->MaxQueueSize(*queue).ok());
  EXPECT_FALSE(second->shared->OpenQueue(*queue, 16, std::nullopt, 0).ok());
  host::Queue foreign{*queue, nullptr, host::Doorbell(second->shared->function(), 0, 0, 0, false), std::nullopt};
  EXPECT_FALSE(second->shared->StopQueue(foreign, false).ok());

  // The first client is not affected, and its own commands are accepted.
  EXPECT_TRUE(first->shared->roce().QueryQp(first->qp->qpn(), 0).ok());
  EXPECT_TRUE(
      first->shared->roce()
          .ModifyQp(
              {.qpn = first->qp->qpn(), .attr_mask = spec::IbQpAttrMask::kState, .qp_state = spec::IbQpState::kReset})
          .ok());
}

TEST(ServiceSharing, MemoryInUseIsNotUnmapped) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto self = Endpoint::Open(simulator.socket(0), 4096);
  ASSERT_NE(self, nullptr);
  // A region beside the endpoint's own.
  alignas(4096) static std::array<uint8_t, 4096> memory;
  auto mapping = self->shared->function().MapDma(memory.data(), memory.size());
  ASSERT_TRUE(mapping.ok());
  const std::array<uint64_t, 1> page = {(*mapping)->address()};
  auto region = self->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 0, page);
  ASSERT_TRUE(region.ok());
  mapping->reset();  // refused by the service, because the region uses it: the region still works
  EXPECT_TRUE(self->shared->function().health().ok());
  auto second = self->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 0, page);
  EXPECT_TRUE(second.ok());
  // A region that moves away from memory leaves it to be unmapped, and uses where it has moved to.
  alignas(4096) static std::array<uint8_t, 4096> left;
  auto left_mapping = self->shared->function().MapDma(left.data(), left.size());
  ASSERT_TRUE(left_mapping.ok());
  const std::array<uint64_t, 1> left_page = {(*left_mapping)->address()};
  auto moving = self->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 0, left_page);
  ASSERT_TRUE(moving.ok());
  ASSERT_TRUE((*moving)->Modify({.pages = verbs::MemoryRegion::Pages{.length = 4096, .addresses = page}}).ok());
  left_mapping->reset();
  const auto gone = self->pd->Register(0, 4096, spec::IbAccessFlags::kLocalWrite, 0, left_page);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().rdma, spec::RdmaError::kInvalidAddress);
}

TEST(ServiceSharing, EventGoesToItsOwnerOnly) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  auto first = Endpoint::Open(simulator.socket(0), 4096), second = Endpoint::Open(simulator.socket(0), 4096),
       third = Endpoint::Open(simulator.socket(0), 4096);
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  ASSERT_TRUE(first->Connect(second->info()) && second->Connect(first->info()));
  const spec::RdmaSge sge = first->Sge(0, 64);
  ASSERT_TRUE(first->qp
                  ->PostSend({.opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = {&sge, 1},
                              .remote_addr = second->info().address,
                              .rkey = second->info().rkey ^ 0x5500})
                  .ok());
  spec::RdmaCqReq completion;
  ASSERT_TRUE(first->Complete(&completion));
  EXPECT_EQ(completion.status, spec::IbWcStatus::kRemAccessErr);
  pollfd readable{.fd = second->shared->event_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&readable, 1, 30'000), 1);
  std::set<uint32_t> types;
  for (;;) {
    const auto event = second->device->PollEvent();
    ASSERT_TRUE(event.ok());
    if (!event->has_value()) break;
    EXPECT_EQ((*event)->kind, host::DeviceEvent::Kind::kRdma);
    EXPECT_EQ((*event)->rdma.element, second->qp->qpn());
    types.insert(static_cast<uint32_t>((*event)->rdma.event_type));
  }
  EXPECT_TRUE(types.contains(static_cast<uint32_t>(spec::RdmaEventType::kQpAccessErr)));
  const auto none = third->device->PollEvent();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

// A path without the MAC address: the service resolves it, like a kernel's neighbour table.
TEST(ServiceSharing, DestinationIsResolvedByGid) {
  SimulatorProcess simulator;
  ASSERT_TRUE(simulator.is_ready());
  auto self = Endpoint::Open(simulator.socket(0), 4096), peer = Endpoint::Open(simulator.socket(1), 4096);
  ASSERT_TRUE(self != nullptr && peer != nullptr);
  PeerInfo there = peer->info(), here = self->info();
  std::ranges::fill(there.mac, uint8_t{0});
  std::ranges::fill(here.mac, uint8_t{0});
  ASSERT_TRUE(self->Connect(there) && peer->Connect(here));
  const spec::RdmaSge sge = self->Sge(0, 64);
  ASSERT_TRUE(self->qp
                  ->PostSend({.opcode = spec::IbWrOpcode::kRdmaWrite,
                              .sg_list = {&sge, 1},
                              .remote_addr = there.address,
                              .rkey = there.rkey})
                  .ok());
  EXPECT_TRUE(self->Complete());
  spec::RdmaAhAttr path;
  std::ranges::copy(there.gid, path.grh.dgid);
  path.grh.sgid_index = 1;
  path.grh.hop_limit = 64;
  EXPECT_TRUE(self->pd->CreateAh(path).ok());
  path.grh.dgid[15] = 77;
  const auto nobody = self->pd->CreateAh(path);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().rdma, spec::RdmaError::kInvalidAddress);
}

// A page list too long for a message: passed in a memory file.
TEST(ServiceSharing, LongPageListIsPassedInAFile) {
  SimulatorProcess simulator({"--nics", "1"});
  ASSERT_TRUE(simulator.is_ready());
  constexpr size_t kBytes = size_t{64} << 20;
  auto self = Endpoint::Open(simulator.socket(0), kBytes);  // 16384 pages
  ASSERT_NE(self, nullptr);
  EXPECT_EQ(self->region->length(), kBytes);
}

}  // namespace
}  // namespace vireo::sim
