// SPDX-License-Identifier: Apache-2.0
// rdma_cm with two NICs: which NIC an ID is bound to, and its behaviour on both before that.
#include "host/ibverbs/ucma_file.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/service/cm/ucma_channel.h"
#include "verif/host/service/cm/ucma_bench.h"

namespace vireo::sim {
namespace {

// The NICs' services, in a thread.
class Services {
 public:
  Services() {
    EXPECT_EQ(pipe(wake_), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Services() {
    With([this](UcmaWorld&) { ends_ = true; });
    thread_.join();
    channels_.clear();
    close(wake_[0]);
    close(wake_[1]);
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // Runs `act` while the thread is idle.
  void With(const std::function<void(UcmaWorld&)>& act) {
    const std::lock_guard guard(lock_);
    act(world_);
    EXPECT_EQ(write(wake_[1], "", 1), 1);
  }
  std::vector<ibverbs::UcmaNic> Open(const std::vector<size_t>& nics) {
    std::vector<ibverbs::UcmaNic> opened;
    With([&](UcmaWorld& world) {
      for (const size_t nic : nics) {
        int pair[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        channels_[pair[1]] = {nic, std::make_unique<service::UcmaChannel>(world.host(nic).ucma, pair[1])};
        ibverbs::UcmaNic& one = opened.emplace_back();
        one.number = nic;
        one.socket = host::FileDescriptor(pair[0]);
        one.ifindex = static_cast<uint32_t>(nic + 1);
        one.gids = [host = static_cast<uint8_t>(nic + 1)] { return std::vector{Ipv6Gid(host), Ipv4Gid(host)}; };
      }
    });
    return opened;
  }
  void HangUp(size_t nic) {
    With([&](UcmaWorld&) { std::erase_if(channels_, [nic](const auto& one) { return one.second.first == nic; }); });
  }
  size_t ids(size_t nic) {
    size_t count = 0;
    With([&](UcmaWorld& world) { count = world.host(nic).ucma.ids(); });
    return count;
  }

 private:
  void Run() {
    while (true) {
      std::vector<pollfd> all = {{.fd = wake_[0], .events = POLLIN, .revents = 0}};
      {
        const std::lock_guard guard(lock_);
        if (ends_) return;
        for (const auto& [fd, one] : channels_) all.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
      poll(all.data(), all.size(), -1);
      const std::lock_guard guard(lock_);
      char byte = 0;
      if (all[0].revents != 0) {
        EXPECT_EQ(read(wake_[0], &byte, 1), 1);
      }
      for (const pollfd& one : all) {
        const auto found = channels_.find(one.fd);
        if (one.revents != 0 && found != channels_.end() && !found->second.second->Serve()) channels_.erase(found);
      }
      world_.Deliver();
    }
  }

  std::mutex lock_;
  UcmaWorld world_;
  std::map<int, std::pair<size_t, std::unique_ptr<service::UcmaChannel>>> channels_;  // by socket
  bool ends_ = false;
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

struct Opened final : CommandWriter {
  explicit Opened(Services& services, const std::vector<size_t>& nics = {0, 1}) : file(services.Open(nics)) {}
  int Write(const std::vector<uint8_t>& command, std::vector<uint8_t>& response) override {
    return file.Command(command, from, response);
  }
  // Blocks for the next event.
  rdma_ucm_event_resp NextEvent() {
    EXPECT_TRUE(file.AwaitEvent());
    for (int looks = 0; looks < 1000; ++looks) {
      std::vector<uint8_t> response;
      const int result =
          Write(Bytes(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, sizeof(rdma_ucm_event_resp)), response);
      if (result == -EAGAIN) {
        usleep(1000);
        continue;
      }
      EXPECT_EQ(result, 0);
      rdma_ucm_event_resp event{};
      std::memcpy(static_cast<void*>(&event), response.data(), std::min(response.size(), sizeof event));
      return event;
    }
    ADD_FAILURE() << "no event";
    return {};
  }
  void ExpectNext(uint32_t event, uint64_t uid, uint32_t id, uint32_t status = 0) {
    const auto is = NextEvent();
    EXPECT_EQ(is.event, event);
    EXPECT_EQ(is.uid, uid);
    EXPECT_EQ(is.id, id);
    EXPECT_EQ(is.status, status);
  }
  // The NIC of an ID; 0: none.
  uint64_t NicOf(uint32_t id) {
    const uint64_t guid = __builtin_bswap64(Route(id).node_guid);
    return guid == 0 ? 0 : guid - kGuid;
  }
  bool IsReadable() const {
    pollfd one{.fd = file.fd(), .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
  }

  ibverbs::UcmaFile file;
  ibverbs::UcmaFile* from = nullptr;  // of MIGRATE_ID
};

class UcmaFileTest : public testing::Test {
 protected:
  void ExpectIds(size_t first, size_t second) {
    EXPECT_EQ(services_.ids(0), first);
    EXPECT_EQ(services_.ids(1), second);
  }

  Services services_;
  Opened program_{services_};
};

TEST_F(UcmaFileTest, BoundAddressSelectsTheNic) {
  for (const uint8_t nic : {uint8_t{2}, uint8_t{1}}) {
    const uint32_t id = program_.Create(7);
    ExpectIds(1, 1);
    EXPECT_EQ(program_.Bind(id, V4(9, 1000)), -EADDRNOTAVAIL);
    ExpectIds(1, 1);
    EXPECT_EQ(program_.Bind(id, V4(nic, 1000)), 0);
    ExpectIds(nic == 1 ? 1 : 0, nic == 2 ? 1 : 0);
    EXPECT_EQ(program_.NicOf(id), nic);
    EXPECT_EQ(PortOf(program_.Route(id).src_addr), 1000);
    EXPECT_EQ(program_.Bind(id, V4(nic, 1000)), -EINVAL);
    EXPECT_EQ(program_.Destroy(id), 0U);
    ExpectIds(0, 0);
  }
  const uint32_t id = program_.Create(7);
  EXPECT_EQ(program_.Bind(id, V6(2, 1000)), 0);
  EXPECT_EQ(program_.NicOf(id), 2U);
}

TEST_F(UcmaFileTest, RouteSelectsTheNic) {
  const auto nic_to = [this](const sockaddr_in6& to, const sockaddr_in6& from = {}) {
    const uint32_t id = program_.Create(7);
    EXPECT_EQ(program_.ResolveIp(id, to, from), 0);
    program_.ExpectNext(kAddrResolved, 7, id);
    const uint64_t nic = program_.NicOf(id);
    EXPECT_EQ(program_.Destroy(id), 1U);
    ExpectIds(0, 0);
    return nic;
  };
  const auto elsewhere = [](uint32_t ipv4) {
    sockaddr_in6 address = V4(0, 1000);
    reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(ipv4);
    return address;
  };
  // A NIC's own address, and a given source address.
  EXPECT_EQ(nic_to(V4(1, 1000)), 1U);
  EXPECT_EQ(nic_to(V4(2, 1000)), 2U);
  EXPECT_EQ(nic_to(V4(1, 1000), V4(2, 0)), 2U);
  EXPECT_EQ(nic_to(V4(2, 1000), V4(1, 0)), 1U);
  EXPECT_EQ(nic_to(elsewhere(0x0a00'0101), V4(2, 0)), 2U);
  // Reachable from both.
  EXPECT_EQ(nic_to(elsewhere(0x0a00'0102)), 1U);
  EXPECT_EQ(nic_to(V4(0, 1000, true)), 1U);
  // Reachable from the second only, or preferred there while the first is still resolving.
  services_.With([](UcmaWorld& world) { world.host(0).is_searching = true; });
  EXPECT_EQ(nic_to(elsewhere(0x0a00'0102)), 2U);
  services_.With([](UcmaWorld& world) { world.host(0).is_searching = false; });
  // By scope ID.
  sockaddr_in6 scoped = V6(1, 1000);
  scoped.sin6_addr.s6_addr[9] = 0x77;
  scoped.sin6_scope_id = 2;
  EXPECT_EQ(nic_to(scoped), 2U);
  scoped.sin6_scope_id = 1;
  EXPECT_EQ(nic_to(scoped), 1U);
  // Unreachable.
  const uint32_t id = program_.Create(7);
  EXPECT_EQ(program_.ResolveIp(id, V4(3, 1000)), 0);
  program_.ExpectNext(kAddrError, 7, id, static_cast<uint32_t>(-EHOSTUNREACH));
  // From an unknown source address.
  const uint32_t other = program_.Create(7);
  EXPECT_EQ(program_.ResolveIp(other, V4(1, 1000), V4(3, 0)), -EADDRNOTAVAIL);
  ExpectIds(2, 1);
}

// The second NIC is in the destination's network, the first is not.
TEST_F(UcmaFileTest, NicInTheDestinationsNetworkIsPreferred) {
  std::vector<ibverbs::UcmaNic> nics = services_.Open({0, 1});
  nics[0].gids = [gids = nics[0].gids()]() mutable {
    gids[1][13] = 9;
    return gids;
  };
  struct Other final : CommandWriter {
    explicit Other(std::vector<ibverbs::UcmaNic> nics) : file(std::move(nics)) {}
    int Write(const std::vector<uint8_t>& command, std::vector<uint8_t>& response) override {
      return file.Command(command, nullptr, response);
    }
    ibverbs::UcmaFile file;
  } other(std::move(nics));
  services_.With([](UcmaWorld& world) { world.host(0).reaches = world.host(1).reaches = 77; });
  const uint32_t id = other.Create(7);
  EXPECT_EQ(other.ResolveIp(id, V4(77, 1000)), 0);
  EXPECT_EQ(__builtin_bswap64(other.Route(id).node_guid) - kGuid, 2U);
}

// Unbound, bound to 0.0.0.0, and to loopback addresses, which count as any address.
TEST_F(UcmaFileTest, WildcardAddressListensOnEveryNic) {
  for (const auto& [port, loopback] :
       {std::pair<uint16_t, uint32_t>{0, 0}, {4711, 0}, {0, 0x7f00'0001}, {4711, 0x7f00'0002}}) {
    const uint32_t listener = program_.Create(7);
    if (port != 0 || loopback != 0) {
      sockaddr_in6 address = V4(0, port, true);
      reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(loopback);
      ASSERT_EQ(program_.Bind(listener, address), 0);
    }
    ASSERT_EQ(program_.Listen(listener), 0);
    EXPECT_EQ(program_.Listen(listener), -EINVAL);
    EXPECT_EQ(program_.NicOf(listener), 0U);
    const uint16_t chosen = PortOf(program_.Route(listener).src_addr);
    EXPECT_NE(chosen, 0);
    Opened client(services_, {1});
    std::map<uint8_t, uint32_t> passive;
    for (const uint8_t nic : {uint8_t{1}, uint8_t{2}}) {
      const uint32_t active = client.Create(8);
      ASSERT_EQ(client.ResolveIp(active, V4(nic, chosen)), 0);
      client.ExpectNext(kAddrResolved, 8, active);
      ASSERT_EQ(client.ResolveRoute(active), 0);
      client.ExpectNext(kRouteResolved, 8, active);
      ASSERT_EQ(client.Connect(active, 5), 0);
      const auto request = program_.NextEvent();
      EXPECT_EQ(request.event, kConnectRequest);
      EXPECT_EQ(request.uid, 7U);
      EXPECT_EQ(program_.NicOf(request.id), nic);
      passive[nic] = request.id;
      ASSERT_EQ(program_.Accept(request.id, 100 + nic, 6), 0);
      client.ExpectNext(kConnectResponse, 8, active);
      ASSERT_EQ(client.Accept(active, 8, 0, "", false), 0);
      program_.ExpectNext(kEstablished, 100 + nic, request.id);
    }
    EXPECT_NE(passive[1], passive[2]);
    for (const auto& [nic, id] : passive) EXPECT_EQ(program_.Destroy(id), 1U);
    EXPECT_EQ(program_.Destroy(listener), 2U);
    EXPECT_EQ(program_.Listen(listener), -ENOENT);
  }
}

// A port in use on one NIC cannot be bound on all, and the partial bind is undone.
TEST_F(UcmaFileTest, APortIsBoundOnAllNicsOrOnNone) {
  Opened second(services_, {1});
  const uint32_t other = second.Create(9);
  ASSERT_EQ(second.Bind(other, V4(2, 4711)), 0);
  const uint32_t id = program_.Create(7);
  ASSERT_EQ(program_.SetOption(id, RDMA_OPTION_ID_REUSEADDR, {1, 0, 0, 0}), 0);
  EXPECT_EQ(program_.Bind(id, V4(0, 4711, true)), -EADDRNOTAVAIL);
  ExpectIds(1, 2);
  Opened first(services_, {0});
  const uint32_t free = first.Create(9);
  ASSERT_EQ(first.SetOption(free, RDMA_OPTION_ID_REUSEADDR, {1, 0, 0, 0}), 0);
  EXPECT_EQ(first.Bind(free, V4(1, 4711)), 0);
  // The option is still set: two IDs may share a port.
  EXPECT_EQ(program_.Bind(id, V4(1, 4711)), 0);
  EXPECT_EQ(program_.NicOf(id), 1U);
}

// The first NIC chooses a port that is in use on the second.
TEST_F(UcmaFileTest, EphemeralPortIsFreeOnAllNics) {
  uint16_t first_choice = 0;
  {
    Services alike;
    Opened program(alike);
    const uint32_t id = program.Create(7);
    ASSERT_EQ(program.Bind(id, V4(0, 0, true)), 0);
    first_choice = PortOf(program.Route(id).src_addr);
  }
  Opened second(services_, {1});
  ASSERT_EQ(second.Bind(second.Create(9), V4(2, first_choice)), 0);
  const uint32_t id = program_.Create(7);
  ASSERT_EQ(program_.Bind(id, V4(0, 0, true)), 0);
  const uint16_t chosen = PortOf(program_.Route(id).src_addr);
  EXPECT_NE(chosen, first_choice);
  // Also in use on the second.
  EXPECT_EQ(second.Bind(second.Create(10), V4(2, chosen)), -EADDRNOTAVAIL);
  ExpectIds(1, 3);
}

// If listening fails on the second NIC, it is undone on the first; the ID stays bound.
TEST_F(UcmaFileTest, ListensOnAllNicsOrNone) {
  Opened second(services_, {1});
  const uint32_t other = second.Create(9), id = program_.Create(7);
  ASSERT_EQ(second.SetOption(other, RDMA_OPTION_ID_REUSEADDR, {1, 0, 0, 0}), 0);
  ASSERT_EQ(program_.SetOption(id, RDMA_OPTION_ID_REUSEADDR, {1, 0, 0, 0}), 0);
  ASSERT_EQ(second.Bind(other, V4(2, 4711)), 0);
  ASSERT_EQ(program_.Bind(id, V4(0, 4711, true)), 0);
  EXPECT_NE(program_.Listen(id), 0);
  Opened client(services_, {0});
  const uint32_t active = client.Create(8);
  ASSERT_EQ(client.ResolveIp(active, V4(1, 4711)), 0);
  client.ExpectNext(kAddrResolved, 8, active);
  ASSERT_EQ(client.ResolveRoute(active), 0);
  client.ExpectNext(kRouteResolved, 8, active);
  ASSERT_EQ(client.Connect(active, 5), 0);
  services_.With([](UcmaWorld& world) { world.PassTime(); });
  EXPECT_EQ(client.NextEvent().event, kRejected);
  EXPECT_FALSE(program_.IsReadable());
  // After the other one is destroyed, it succeeds.
  (void)second.Destroy(other);
  EXPECT_EQ(program_.Listen(id), 0);
}

TEST_F(UcmaFileTest, MigrationMovesListenerAndItsRequests) {
  const uint32_t listener = program_.Create(7);
  ASSERT_EQ(program_.Bind(listener, V4(0, 4711, true)), 0);
  ASSERT_EQ(program_.Listen(listener), 0);
  Opened client(services_, {0, 1});
  for (const uint8_t nic : {uint8_t{1}, uint8_t{2}}) {
    const uint32_t active = client.Create(8);
    ASSERT_EQ(client.ResolveIp(active, V4(nic, 4711)), 0);
    client.ExpectNext(kAddrResolved, 8, active);
    ASSERT_EQ(client.ResolveRoute(active), 0);
    client.ExpectNext(kRouteResolved, 8, active);
    ASSERT_EQ(client.Connect(active, 5), 0);
  }
  const uint32_t taken = program_.NextEvent().id;
  EXPECT_TRUE(program_.file.AwaitEvent());
  Opened to(services_);
  const rdma_ucm_migrate_id migrate{.response = 0, .id = listener, .fd = 0};
  EXPECT_EQ(to.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, migrate, -EBADF).events_reported, 0U);
  to.from = &client.file;
  EXPECT_EQ(to.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, migrate, -EINVAL).events_reported, 0U);
  to.from = &program_.file;
  EXPECT_EQ(to.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, migrate).events_reported, 1U);
  const auto request = to.NextEvent();
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_NE(request.id, taken);
  EXPECT_NE(to.NicOf(request.id), program_.NicOf(taken));
  EXPECT_EQ(program_.Listen(listener), -EINVAL) << "it belongs to the other file";
  EXPECT_EQ(to.Destroy(listener), 2U);
}

TEST_F(UcmaFileTest, LostNicFailsOnlyItsIds) {
  const uint32_t first = program_.Create(1), second = program_.Create(2), both = program_.Create(3);
  ASSERT_EQ(program_.Bind(first, V4(1, 1)), 0);
  ASSERT_EQ(program_.Bind(second, V4(2, 1)), 0);
  services_.HangUp(0);
  EXPECT_EQ(program_.ResolveIp(second, V4(2, 1000)), 0);
  program_.ExpectNext(kAddrResolved, 2, second);
  EXPECT_FALSE(program_.IsReadable());
  EXPECT_EQ(program_.Listen(first), -ENODEV);
  EXPECT_EQ(program_.Destroy(both), 0U);
  EXPECT_EQ(program_.NicOf(second), 2U);
  ASSERT_EQ(program_.Bind(program_.Create(4), V4(2, 2)), 0);
  services_.HangUp(1);
  EXPECT_EQ(program_.Listen(second), -ENODEV);
  EXPECT_TRUE(program_.IsReadable());
  (void)program_.Event(-ENODEV);
}

TEST_F(UcmaFileTest, MalformedCommandIsAnError) {
  std::vector<uint8_t> response;
  EXPECT_EQ(program_.Listen(12345), -ENOENT);
  EXPECT_EQ(program_.Write(CommandWriter::Bytes(99, uint32_t{0}, 0), response), -EINVAL);
  EXPECT_EQ(program_.Write(CommandWriter::Bytes(RDMA_USER_CM_CMD_LISTEN, uint16_t{0}, 0), response), -EINVAL);
  EXPECT_EQ(program_.Write(CommandWriter::Bytes(RDMA_USER_CM_CMD_JOIN_MCAST, uint64_t{0}, 0), response), -EOPNOTSUPP);
  EXPECT_EQ(program_.Write(CommandWriter::Bytes(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{}, 4), response),
            -EINVAL);
  EXPECT_TRUE(response.empty());
  ExpectIds(0, 0);
}

}  // namespace
}  // namespace vireo::sim
