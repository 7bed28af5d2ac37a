// SPDX-License-Identifier: Apache-2.0
// The overlay's rdma_cm device as librdmacm uses it: open, fstat, write, poll, close. Behind it a service in another
// thread, with one NIC in loopback.
#include "host/ibverbs/ucma_overlay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "host/ibverbs/netlink_overlay.h"
#include "host/ibverbs/sysfs.h"
#include "host/service/cm/ucma_channel.h"

// Stands in for sysfs.cc and netlink_overlay.cc: a program without devices.
namespace vireo::ibverbs {

std::optional<SysfsNode> FindSysfsNode(std::string_view) { return std::nullopt; }
std::optional<SysfsNode> FindSysfsNodeAt(int, const char*) { return std::nullopt; }
int OpenSysfsNode(const SysfsNode&, int) { return -1; }
void ForgetSysfsFile(int) {}
int OpenNetlinkSocket(int) {
  errno = EPROTONOSUPPORT;
  return -1;
}
void ForgetNetlinkSocket(int) {}

}  // namespace vireo::ibverbs

namespace vireo::sim {
namespace {

constexpr service::cm::Gid kGid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};

// Accepts sockets through a pipe, and serves them.
class Service final : public service::cm::MadTransport {
 public:
  Service()
      : manager_(*this, [] { return uint64_t{0}; }, {.node_guid = 1}),
        ucma_(manager_, {.node_guid = 1, .gids = {{1, kGid}}},
              [](const auto&) { return service::Ucma::Reach::kReachable; }) {
    EXPECT_EQ(pipe(wake_), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Service() override {
    const int end = -1;
    EXPECT_EQ(::write(wake_[1], &end, sizeof end), static_cast<ssize_t>(sizeof end));
    thread_.join();
    close(wake_[0]);
    close(wake_[1]);
  }
  void Take(int socket) { EXPECT_EQ(::write(wake_[1], &socket, sizeof socket), static_cast<ssize_t>(sizeof socket)); }
  void SendMad(const service::cm::Path& path, service::cm::MadView mad) override {
    service::cm::Mad copy;
    std::ranges::copy(mad, copy.begin());
    sent_.emplace_back(path, copy);
  }

 private:
  void Run() {
    std::map<int, std::unique_ptr<service::UcmaChannel>> channels;
    while (true) {
      std::vector<pollfd> all = {{.fd = wake_[0], .events = POLLIN, .revents = 0}};
      for (const auto& [fd, channel] : channels) all.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      poll(all.data(), all.size(), -1);
      if (all[0].revents != 0) {
        int socket = -1;
        if (read(wake_[0], &socket, sizeof socket) != sizeof socket || socket < 0) return;
        channels[socket] = std::make_unique<service::UcmaChannel>(ucma_, socket);
      }
      for (const pollfd& one : all) {
        if (one.fd != wake_[0] && one.revents != 0 && !channels.at(one.fd)->Serve()) channels.erase(one.fd);
      }
      while (!sent_.empty()) {
        const auto [path, mad] = sent_.front();
        sent_.pop_front();
        manager_.OnMad(path, mad);
      }
    }
  }

  int wake_[2] = {-1, -1};
  std::deque<std::pair<service::cm::Path, service::cm::Mad>> sent_;
  service::cm::ConnectionManager manager_;
  service::Ucma ucma_;
  std::thread thread_;
};

Service* the_service = nullptr;

}  // namespace
}  // namespace vireo::sim

// Stubs of the rest of the overlay.
namespace vireo::ibverbs {
bool IsUcmaActive() { return sim::the_service != nullptr; }
void LogUcma(const char* /*text*/) {}
std::vector<UcmaNic> OpenUcmaNics() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return {};
  sim::the_service->Take(pair[1]);
  std::vector<UcmaNic> nics(1);
  nics[0].socket = host::FileDescriptor(pair[0]);
  nics[0].gids = [] { return std::vector{sim::kGid}; };
  return nics;
}
}  // namespace vireo::ibverbs

namespace vireo::sim {
namespace {

constexpr const char* kPath = "/dev/infiniband/rdma_cm";

class UcmaOverlay : public testing::Test {
 protected:
  UcmaOverlay() { the_service = &service_; }
  ~UcmaOverlay() override { the_service = nullptr; }

  template <typename Command>
  static ssize_t Write(int fd, uint32_t number, const Command& command, uint16_t out = 0) {
    struct {
      rdma_ucm_cmd_hdr header;
      Command command;
    } whole{{number, sizeof command, out}, command};
    return ::write(fd, &whole, sizeof whole);
  }
  static uint32_t Create(int fd, uint64_t uid) {
    rdma_ucm_create_id_resp answer{.id = 0xdead};
    rdma_ucm_create_id create{};
    create.uid = uid;
    create.response = reinterpret_cast<uint64_t>(&answer);
    create.ps = RDMA_PS_TCP;
    EXPECT_GT(Write(fd, RDMA_USER_CM_CMD_CREATE_ID, create, sizeof answer), 0);
    EXPECT_NE(answer.id, 0xdeadU);
    return answer.id;
  }
  static int GetEvent(int fd, rdma_ucm_event_resp& event) {
    rdma_ucm_get_event command{};
    command.response = reinterpret_cast<uint64_t>(&event);
    return Write(fd, RDMA_USER_CM_CMD_GET_EVENT, command, sizeof event) > 0 ? 0 : errno;
  }
  static uint32_t Event(int fd, uint32_t expected) {
    rdma_ucm_event_resp event{};
    EXPECT_EQ(GetEvent(fd, event), 0);
    EXPECT_EQ(event.event, expected);
    return event.id;
  }
  static sockaddr_in6 Address(uint16_t port) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr.s_addr = htonl(0x0a00'0001);
    sockaddr_in6 out{};
    std::memcpy(&out, &in, sizeof in);
    return out;
  }
  static bool IsReadable(int fd) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
  }
  static ssize_t Resolve(int fd, uint32_t id, uint16_t port) {
    rdma_ucm_resolve_ip command{};
    command.dst_addr = Address(port);
    command.id = id;
    return Write(fd, RDMA_USER_CM_CMD_RESOLVE_IP, command);
  }

  Service service_;
};

TEST_F(UcmaOverlay, EmulatesTheDevice) {
  const int fd = open(kPath, O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  struct stat status {};
  ASSERT_EQ(fstat(fd, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(::write(fd, "short", 5), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(::write(fd, "gone", 4), -1);
  EXPECT_EQ(errno, EBADF);
  const int other = openat(AT_FDCWD, kPath, O_RDWR | O_NONBLOCK);
  ASSERT_GE(other, 0);
  EXPECT_EQ(fcntl(other, F_GETFD) & FD_CLOEXEC, 0);
  rdma_ucm_event_resp event{};
  EXPECT_EQ(GetEvent(other, event), EAGAIN);
  close(other);
  EXPECT_EQ(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
}

TEST_F(UcmaOverlay, OtherFilesPassThroughToLibc) {
  const int fd = open("/dev/null", O_RDWR);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::write(fd, "x", 1), 1);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(open("/nowhere/at/all", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  const int udp = socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_GE(udp, 0);
  close(udp);
  the_service = nullptr;
  EXPECT_LT(open(kPath, O_RDWR), 0);  // no such device, and the overlay is inactive
}

TEST_F(UcmaOverlay, TwoChannelsConnect) {
  const int server = open(kPath, O_RDWR), client = open(kPath, O_RDWR);
  ASSERT_GE(server, 0);
  ASSERT_GE(client, 0);
  const uint32_t listener = Create(server, 1), active = Create(client, 2);
  const int on = 1;
  rdma_ucm_set_option option{};
  option.optval = reinterpret_cast<uint64_t>(&on);
  option.id = listener;
  option.optname = RDMA_OPTION_ID_REUSEADDR;
  option.optlen = sizeof on;
  EXPECT_GT(Write(server, RDMA_USER_CM_CMD_SET_OPTION, option), 0);
  rdma_ucm_bind_ip bind{};
  bind.addr = Address(7174);
  bind.id = listener;
  ASSERT_GT(Write(server, RDMA_USER_CM_CMD_BIND_IP, bind), 0);
  ASSERT_GT(Write(server, RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = listener, .backlog = 1}), 0);

  EXPECT_FALSE(IsReadable(client));
  ASSERT_GT(Resolve(client, active, 7174), 0);
  EXPECT_EQ(Event(client, 0), active);
  EXPECT_FALSE(IsReadable(client));
  ASSERT_GT(Write(client, RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = active, .timeout_ms = 0}), 0);
  EXPECT_EQ(Event(client, 2), active);
  rdma_ucm_connect connect{};
  connect.conn_param.valid = 1;
  connect.conn_param.qp_num = 5;
  connect.id = active;
  ASSERT_GT(Write(client, RDMA_USER_CM_CMD_CONNECT, connect), 0);
  const uint32_t passive = Event(server, 4);  // blocks
  // Migrate it to another channel, as rdma_migrate_id does.
  const int own = open(kPath, O_RDWR);
  rdma_ucm_migrate_resp moved{.events_reported = 99};
  rdma_ucm_migrate_id migrate{
      .response = reinterpret_cast<uint64_t>(&moved), .id = passive, .fd = static_cast<uint32_t>(server)};
  ASSERT_GT(Write(own, RDMA_USER_CM_CMD_MIGRATE_ID, migrate, sizeof moved), 0);
  EXPECT_EQ(moved.events_reported, 0U);
  migrate.fd = 0;
  EXPECT_EQ(Write(own, RDMA_USER_CM_CMD_MIGRATE_ID, migrate, sizeof moved), -1);
  EXPECT_EQ(errno, EBADF);
  rdma_ucm_accept accept{};
  accept.uid = 3;
  accept.conn_param.valid = 1;
  accept.conn_param.qp_num = 6;
  accept.id = passive;
  ASSERT_GT(Write(own, RDMA_USER_CM_CMD_ACCEPT, accept), 0);
  EXPECT_EQ(Event(client, 5), active);
  accept = {};
  accept.id = active;
  ASSERT_GT(Write(client, RDMA_USER_CM_CMD_ACCEPT, accept), 0);
  EXPECT_EQ(Event(own, 9), passive);
  close(client);  // like a program that is killed
  EXPECT_EQ(Event(own, 10), passive);
  close(own);
  close(server);
}

TEST_F(UcmaOverlay, OneThreadWaitsForEventsWhileAnotherSendsCommands) {
  const int fd = open(kPath, O_RDWR);
  ASSERT_GE(fd, 0);
  constexpr int kMany = 200;
  std::atomic<int> seen = 0;
  std::thread waiting([&] {
    for (int i = 0; i < kMany; ++i) {
      rdma_ucm_event_resp event{};
      if (GetEvent(fd, event) == 0 && event.event == 0) ++seen;
    }
  });
  for (uint64_t i = 0; i < kMany; ++i) EXPECT_GT(Resolve(fd, Create(fd, i + 1), 7174), 0);
  waiting.join();
  EXPECT_EQ(seen, kMany);
  EXPECT_FALSE(IsReadable(fd));
  close(fd);
}

}  // namespace
}  // namespace vireo::sim
