// SPDX-License-Identifier: Apache-2.0
// Helpers of rdma_cm tests: two NICs whose connection managers are connected by an in-memory wire, and a program that
// writes commands like librdmacm.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "host/service/cm/ucma.h"

namespace vireo::sim {

// <rdma/rdma_cma.h>
enum : uint32_t {
  kAddrResolved = 0,
  kAddrError = 1,
  kRouteResolved = 2,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kTimewaitExit = 15
};
enum : uint32_t { kInit = 1, kRtr = 2, kRts = 3 };
inline constexpr uint64_t kGuid = 0x5054'00ff'fe00'0001;

inline service::cm::Gid Ipv4Gid(uint8_t n) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n}; }
inline service::cm::Gid Ipv6Gid(uint8_t n) {
  return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0, 0, n};
}

inline sockaddr_in6 V4(uint8_t n, uint16_t port, bool any = false) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = any ? 0 : htonl(0x0a00'0000U | n);
  sockaddr_in6 out{};
  std::memcpy(&out, &in, sizeof in);
  return out;
}
inline sockaddr_in6 V6(uint8_t n, uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  const service::cm::Gid gid = Ipv6Gid(n);
  std::ranges::copy(gid, in.sin6_addr.s6_addr);
  return in;
}
inline uint16_t PortOf(const sockaddr_in6& address) { return ntohs(address.sin6_port); }

// One NIC with 10.0.0.n.
struct UcmaHost final : service::cm::MadTransport {
  UcmaHost(uint8_t n, uint64_t* now)
      : manager(*this, [now] { return *now; }, {.node_guid = kGuid + n, .seed = n}),
        ucma(manager,
             {.node_guid = kGuid + n,
              .device_index = n,
              .gids = {{0, Ipv6Gid(n)}, {1, Ipv4Gid(n)}},
              .active_mtu = spec::IbMtu::kMtu4096,
              .link_mbps = 100'000,
              .seed = n},
             [this](const service::cm::Gid& gid) {
               if (is_searching) return service::Ucma::Reach::kSearching;
               return (gid.back() >= 1 && gid.back() <= 2) || gid.back() == reaches ? service::Ucma::Reach::kReachable
                                                                                    : service::Ucma::Reach::kNowhere;
             }) {}
  void SendMad(const service::cm::Path& path, service::cm::MadView mad) override {
    service::cm::Mad copy;
    std::ranges::copy(mad, copy.begin());
    sent.emplace_back(path, copy);
  }
  uint8_t reaches = 0;        // last byte of one more reachable address
  bool is_searching = false;  // address resolution in progress
  std::deque<std::pair<service::cm::Path, service::cm::Mad>> sent;
  service::cm::ConnectionManager manager;
  service::Ucma ucma;
};

// A program with the device open, for any implementation of the device: issues librdmacm's commands.
struct CommandWriter {
  virtual ~CommandWriter() = default;
  // 0 or -errno.
  virtual int Write(const std::vector<uint8_t>& command, std::vector<uint8_t>& response) = 0;

  template <typename Command>
  static std::vector<uint8_t> Bytes(uint32_t number, const Command& command, size_t out) {
    const rdma_ucm_cmd_hdr header{.cmd = number, .in = sizeof command, .out = static_cast<uint16_t>(out)};
    std::vector<uint8_t> bytes(sizeof header + sizeof command);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &command, sizeof command);
    return bytes;
  }
  template <typename Command>
  int Do(uint32_t number, const Command& command) {
    std::vector<uint8_t> response;
    return Write(Bytes(number, command, 0), response);
  }
  template <typename Answer, typename Command>
  Answer Ask(uint32_t number, const Command& command, int expected = 0) {
    std::vector<uint8_t> response;
    EXPECT_EQ(Write(Bytes(number, command, sizeof(Answer)), response), expected) << "command " << number;
    Answer answer{};
    EXPECT_EQ(response.size(), expected == 0 ? sizeof answer : 0U);
    std::memcpy(static_cast<void*>(&answer), response.data(), std::min(response.size(), sizeof answer));
    return answer;
  }
  uint32_t Create(uint64_t uid, uint16_t space = RDMA_PS_TCP) {
    rdma_ucm_create_id command{};
    command.uid = uid;
    command.ps = space;
    return Ask<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_CREATE_ID, command).id;
  }
  int Bind(uint32_t id, const sockaddr_in6& address) {
    rdma_ucm_bind_ip command{};
    command.addr = address;
    command.id = id;
    return Do(RDMA_USER_CM_CMD_BIND_IP, command);
  }
  int ResolveIp(uint32_t id, const sockaddr_in6& to, const sockaddr_in6& from = {}) {
    rdma_ucm_resolve_ip command{};
    command.src_addr = from;
    command.dst_addr = to;
    command.id = id;
    command.timeout_ms = 2000;
    return Do(RDMA_USER_CM_CMD_RESOLVE_IP, command);
  }
  int ResolveRoute(uint32_t id) {
    return Do(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = id, .timeout_ms = 2000});
  }
  rdma_ucm_query_route_resp Route(uint32_t id) {
    return Ask<rdma_ucm_query_route_resp>(RDMA_USER_CM_CMD_QUERY_ROUTE,
                                          rdma_ucm_query{.response = 0, .id = id, .option = 0});
  }
  int Listen(uint32_t id, uint32_t backlog = 3) {
    return Do(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = id, .backlog = backlog});
  }
  static rdma_ucm_conn_param Parameters(uint32_t qpn, const char* data) {
    rdma_ucm_conn_param param{};
    param.qp_num = qpn;
    param.responder_resources = 1;
    param.initiator_depth = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    param.private_data_len = static_cast<uint8_t>(std::strlen(data));
    std::memcpy(param.private_data, data, param.private_data_len);
    param.valid = 1;
    return param;
  }
  int Connect(uint32_t id, uint32_t qpn, const char* data = "ask") {
    rdma_ucm_connect command{};
    command.conn_param = Parameters(qpn, data);
    command.id = id;
    return Do(RDMA_USER_CM_CMD_CONNECT, command);
  }
  int Accept(uint32_t id, uint64_t uid, uint32_t qpn, const char* data = "take", bool valid = true) {
    rdma_ucm_accept command{};
    command.conn_param = Parameters(qpn, data);
    if (!valid) command.conn_param = {};
    command.uid = uid;
    command.id = id;
    return Do(RDMA_USER_CM_CMD_ACCEPT, command);
  }
  int Disconnect(uint32_t id) { return Do(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = id}); }
  ib_uverbs_qp_attr Attributes(uint32_t id, uint32_t state, int expected = 0) {
    return Ask<ib_uverbs_qp_attr>(RDMA_USER_CM_CMD_INIT_QP_ATTR,
                                  rdma_ucm_init_qp_attr{.response = 0, .id = id, .qp_state = state}, expected);
  }
  uint32_t Destroy(uint32_t id) {
    return Ask<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_DESTROY_ID,
                                         rdma_ucm_destroy_id{.response = 0, .id = id, .reserved = 0})
        .events_reported;
  }
  rdma_ucm_event_resp Event(int expected = 0) {
    return Ask<rdma_ucm_event_resp>(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, expected);
  }
  void Expect(uint32_t event, uint64_t uid, uint32_t id, uint32_t status = 0) {
    const auto is = Event();
    EXPECT_EQ(is.event, event);
    EXPECT_EQ(is.uid, uid);
    EXPECT_EQ(is.id, id);
    EXPECT_EQ(is.status, status);
  }
  int SetOption(uint32_t id, uint32_t name, std::vector<uint8_t> value, uint32_t level = RDMA_OPTION_ID) {
    auto bytes = Bytes(
        RDMA_USER_CM_CMD_SET_OPTION,
        rdma_ucm_set_option{
            .optval = 0, .id = id, .level = level, .optname = name, .optlen = static_cast<uint32_t>(value.size())},
        0);
    bytes.insert(bytes.end(), value.begin(), value.end());
    std::vector<uint8_t> response;
    return Write(bytes, response);
  }
};

// A program on one NIC's device.
struct Program final : CommandWriter {
  explicit Program(UcmaHost& host) : file(host.ucma.Open([this] { ++wakeups; })) {}
  int Write(const std::vector<uint8_t>& command, std::vector<uint8_t>& response) override {
    return file->Write(command, response);
  }

  std::unique_ptr<service::UcmaFile> file;
  int wakeups = 0;
};

// Hosts 1 and 2, and the wire. Only PassTime advances time.
class UcmaWorld {
 public:
  void Deliver() {
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < 2; ++i) {
        auto& sent = host(i).sent;
        while (!sent.empty()) {
          auto [path, mad] = sent.front();
          sent.pop_front();
          // Loopback, or to the other host.
          const bool to_self = path.dgid == path.sgid;
          std::swap(path.sgid, path.dgid);
          host(to_self ? i : 1 - i).manager.OnMad(path, mad);
          more = true;
        }
      }
    }
  }
  void PassTime() {
    while (host(0).manager.NextDeadline().has_value() || host(1).manager.NextDeadline().has_value()) {
      now_ += 100'000'000;
      host(0).manager.Tick();
      host(1).manager.Tick();
      Deliver();
    }
  }
  UcmaHost& host(size_t i) { return hosts_.at(i); }

  uint64_t now_ = 1;
  std::array<UcmaHost, 2> hosts_{UcmaHost(1, &now_), UcmaHost(2, &now_)};
};

}  // namespace vireo::sim
