// SPDX-License-Identifier: Apache-2.0
// The commands of /dev/infiniband/rdma_cm as librdmacm writes them: two NICs whose connection managers are connected by
// an in-memory wire, files on both. The sequences are those of rping, ucmatose and udaddy.
#include "host/service/cm/ucma.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "host/service/ucma_protocol.h"
#include "verif/host/service/cm/ucma_bench.h"

namespace vireo::sim {
namespace {

using namespace service;  // NOLINT(google-build-using-namespace): namespace under test

class UcmaTest : public testing::Test, protected UcmaWorld {
 protected:
  static constexpr uint64_t kUid = 0x7f00'0000'1000;

  // Creates an ID of `program` with a resolved route to `to`.
  uint32_t Resolved(Program& program, uint64_t uid, const sockaddr_in6& to, uint16_t space = RDMA_PS_TCP) {
    const uint32_t id = program.Create(uid, space);
    EXPECT_EQ(program.ResolveIp(id, to), 0);
    program.Expect(kAddrResolved, uid, id);
    EXPECT_EQ(program.ResolveRoute(id), 0);
    program.Expect(kRouteResolved, uid, id);
    return id;
  }

  Program server_{host(0)}, client_{host(1)};
};

// rping -s, rping -c.
TEST_F(UcmaTest, Rping) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(1, 7174)), 0);
  const auto bound = server_.Route(listener);
  EXPECT_EQ(bound.node_guid, __builtin_bswap64(kGuid + 1));
  EXPECT_EQ(bound.ibdev_index, 1U);
  EXPECT_EQ(bound.port_num, 1U);
  EXPECT_EQ(PortOf(bound.src_addr), 7174U);
  ASSERT_EQ(server_.Listen(listener), 0);

  const uint32_t active = client_.Create(kUid + 1);
  ASSERT_EQ(client_.ResolveIp(active, V4(1, 7174)), 0);
  EXPECT_EQ(client_.wakeups, 1);
  client_.Expect(kAddrResolved, kUid + 1, active);
  const auto at_first = client_.Route(active);
  EXPECT_EQ(at_first.num_paths, 0U);
  EXPECT_GE(PortOf(at_first.src_addr), 32768U);
  ASSERT_EQ(client_.ResolveRoute(active), 0);
  client_.Expect(kRouteResolved, kUid + 1, active);
  const auto route = client_.Route(active);
  ASSERT_EQ(route.num_paths, 1U);
  EXPECT_TRUE(std::ranges::equal(route.ib_route[0].sgid, Ipv4Gid(2)));
  EXPECT_TRUE(std::ranges::equal(route.ib_route[0].dgid, Ipv4Gid(1)));
  EXPECT_EQ(route.ib_route[0].mtu, 5U);
  EXPECT_EQ(route.ib_route[0].rate, 16U);
  const auto unconnected = client_.Attributes(active, kInit);  // rdma_create_qp
  EXPECT_EQ(unconnected.qp_attr_mask, 0x39U);                  // state, access flags, P_Key index, port
  EXPECT_EQ(unconnected.port_num, 1U);
  ASSERT_EQ(client_.Connect(active, 0x200), 0);
  Deliver();

  const auto request = server_.Event();
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_EQ(request.uid, kUid);  // the listener's
  const uint32_t passive = request.id;
  EXPECT_NE(passive, listener);
  EXPECT_EQ(request.param.conn.qp_num, 0x200U);
  EXPECT_EQ(request.param.conn.private_data_len, 56U);
  EXPECT_EQ(std::memcmp(request.param.conn.private_data, "ask\0", 4), 0);
  const auto passive_route = server_.Route(passive);
  EXPECT_EQ(PortOf(passive_route.src_addr), 7174U);
  EXPECT_EQ(PortOf(passive_route.dst_addr), PortOf(route.src_addr));
  EXPECT_EQ(passive_route.num_paths, 1U);

  // rdma_accept: INIT, RTR, RTS, then the command.
  EXPECT_EQ(server_.Attributes(passive, kInit).qp_access_flags, 0xeU);
  const auto passive_rtr = server_.Attributes(passive, kRtr);
  EXPECT_EQ(passive_rtr.qp_attr_mask, 0x1u | 1u << 7 | 1u << 8 | 1u << 20 | 1u << 12 | 1u << 17 | 1u << 15);
  EXPECT_EQ(passive_rtr.dest_qp_num, 0x200U);
  EXPECT_EQ(passive_rtr.path_mtu, 5U);
  EXPECT_TRUE(std::ranges::equal(passive_rtr.ah_attr.grh.dgid, Ipv4Gid(2)));
  EXPECT_EQ(passive_rtr.ah_attr.is_global, 1U);
  EXPECT_EQ(passive_rtr.max_dest_rd_atomic, 1U);
  const auto passive_rts = server_.Attributes(passive, kRts);
  EXPECT_EQ(passive_rts.qp_attr_mask, 0x1u | 1u << 16 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 13);
  EXPECT_EQ(passive_rts.retry_cnt, 7U);
  EXPECT_EQ(passive_rts.rnr_retry, 7U);
  EXPECT_EQ(passive_rts.timeout, 17U);
  ASSERT_EQ(server_.Accept(passive, kUid + 2, 0x100), 0);
  Deliver();

  const auto reply = client_.Event();
  EXPECT_EQ(reply.event, kConnectResponse);
  EXPECT_EQ(reply.uid, kUid + 1);
  EXPECT_EQ(reply.param.conn.qp_num, 0x100U);
  EXPECT_EQ(std::memcmp(reply.param.conn.private_data, "take\0", 5), 0);
  const auto active_rtr = client_.Attributes(active, kRtr);
  const auto active_rts = client_.Attributes(active, kRts);
  EXPECT_EQ(active_rtr.dest_qp_num, 0x100U);
  EXPECT_EQ(active_rtr.rq_psn, passive_rts.sq_psn);
  EXPECT_EQ(active_rts.sq_psn, passive_rtr.rq_psn);
  EXPECT_EQ(active_rtr.ah_attr.grh.sgid_index, 1U);
  ASSERT_EQ(client_.Accept(active, kUid + 1, 0, "", false), 0);  // RTU
  Deliver();
  server_.Expect(kEstablished, kUid + 2, passive);

  ASSERT_EQ(client_.Disconnect(active), 0);
  Deliver();
  server_.Expect(kDisconnected, kUid + 2, passive);
  ASSERT_EQ(server_.Disconnect(passive), 0);
  Deliver();
  client_.Expect(kDisconnected, kUid + 1, active);
  ASSERT_EQ(client_.Disconnect(active), 0);  // rping always does
  PassTime();
  server_.Expect(kTimewaitExit, kUid + 2, passive);
  client_.Event(0);
  client_.Event(-EAGAIN);
  EXPECT_FALSE(client_.file->HasEvent());
  EXPECT_EQ(server_.Destroy(passive), 3U);   // established, disconnected, timewait
  EXPECT_EQ(server_.Destroy(listener), 1U);  // the request
  EXPECT_EQ(client_.Destroy(active), 5U);
  EXPECT_EQ(host(0).ucma.ids() + host(1).ucma.ids(), 0U);
  EXPECT_EQ(host(0).manager.connections() + host(1).manager.connections(), 0U);
}

// udaddy: a datagram service, resolved by SIDR.
TEST_F(UcmaTest, Udaddy) {
  const uint32_t listener = server_.Create(kUid, RDMA_PS_UDP);
  ASSERT_EQ(server_.Bind(listener, V4(0, 7174, true)), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  const uint32_t active = Resolved(client_, kUid + 1, V4(1, 7174), RDMA_PS_UDP);
  const auto init = client_.Attributes(active, kInit);
  EXPECT_EQ(init.qp_attr_mask, 0x71U);  // state, P_Key index, port, Q_Key
  EXPECT_EQ(init.qkey, 0x01234567U);
  ASSERT_EQ(client_.Connect(active, 0x200), 0);
  Deliver();
  const auto request = server_.Event();
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_EQ(request.param.ud.private_data_len, 180U);
  EXPECT_EQ(std::memcmp(request.param.ud.private_data, "ask\0", 4), 0);
  ASSERT_EQ(server_.Accept(request.id, kUid + 2, 0x100), 0);
  Deliver();
  const auto established = client_.Event();
  EXPECT_EQ(established.event, kEstablished);
  EXPECT_EQ(established.param.ud.qp_num, 0x100U);
  EXPECT_EQ(established.param.ud.qkey, 0x01234567U);
  EXPECT_TRUE(std::ranges::equal(established.param.ud.ah_attr.grh.dgid, Ipv4Gid(1)));
  EXPECT_EQ(established.param.ud.ah_attr.grh.sgid_index, 1U);
  EXPECT_EQ(established.param.ud.ah_attr.is_global, 1U);
  EXPECT_EQ(client_.Disconnect(active), -EINVAL);

  const uint32_t refused = Resolved(client_, kUid + 3, V4(1, 7175), RDMA_PS_UDP);
  ASSERT_EQ(client_.Connect(refused, 0x201), 0);
  Deliver();
  client_.Expect(kUnreachable, kUid + 3, refused, 1);  // no such service
}

// ucmatose -c 8, and rdma_migrate_id: a separate event channel per connection.
TEST_F(UcmaTest, SeveralConnectionsAndMigration) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(0, 7471, true)), 0);
  ASSERT_EQ(server_.Listen(listener, 8), 0);
  Program other(host(0));
  std::vector<uint32_t> passives;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t active = Resolved(client_, kUid + 10 + i, V4(1, 7471));
    ASSERT_EQ(client_.Connect(active, 0x200 + i), 0);
  }
  Deliver();
  for (uint32_t i = 0; i < 8; ++i) {
    const auto request = server_.Event();
    EXPECT_EQ(request.param.conn.qp_num, 0x200 + i);
    ASSERT_EQ(server_.Accept(request.id, kUid + 20 + i, 0x100 + i), 0);
    passives.push_back(request.id);
  }
  Deliver();
  for (uint32_t i = 0; i < 8; ++i) ASSERT_EQ(client_.Accept(client_.Event().id, 0, 0, "", false), 0);
  Deliver();
  const rdma_ucm_migrate_id move{.response = 0, .id = passives[3], .fd = server_.file->number()};
  EXPECT_EQ(other.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, move).events_reported, 0U);
  EXPECT_EQ(other.wakeups, 1);
  other.Expect(kEstablished, kUid + 23, passives[3]);  // which was pending
  other.Event(-EAGAIN);
  for (uint32_t i = 0; i < 8; ++i) {
    if (i != 3) server_.Expect(kEstablished, kUid + 20 + i, passives[i]);
  }
  server_.Event(-EAGAIN);
  EXPECT_EQ(server_.Disconnect(passives[3]), -EINVAL);  // no longer in this file
  EXPECT_EQ(other.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, move, -EINVAL).events_reported, 0U);
  rdma_ucm_migrate_id wrong = move;
  wrong.fd = 999;
  other.Ask<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, wrong, -EBADF);
}

TEST_F(UcmaTest, LoopbackOnOneNic) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(1, 7174)), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  Program near(host(0));
  const uint32_t active = Resolved(near, kUid + 1, V4(1, 7174));
  ASSERT_EQ(near.Connect(active, 0x200), 0);
  Deliver();
  const auto request = server_.Event();
  ASSERT_EQ(server_.Accept(request.id, kUid + 2, 0x100), 0);
  Deliver();
  near.Expect(kConnectResponse, kUid + 1, active);
  ASSERT_EQ(near.Accept(active, 0, 0, "", false), 0);
  Deliver();
  server_.Expect(kEstablished, kUid + 2, request.id);
}

// As in Linux: a bind to a loopback address is one to any address, of its family.
TEST_F(UcmaTest, LoopbackAddressIsAnyAddress) {
  const auto loopback = [](uint16_t port, bool is_ipv6) {
    if (is_ipv6) {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(port);
      address.sin6_addr.s6_addr[15] = 1;
      return address;
    }
    sockaddr_in6 address = V4(0, port, true);
    reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(0x7f00'0001);
    return address;
  };
  const uint32_t listener = server_.Create(kUid), six = server_.Create(kUid), taken = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, loopback(7174, false)), 0);
  EXPECT_EQ(server_.Bind(taken, V4(1, 7174)), -EADDRNOTAVAIL);
  EXPECT_EQ(server_.Bind(six, loopback(7175, true)), 0);
  EXPECT_EQ(server_.Listen(six), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  const uint32_t active = Resolved(client_, kUid + 1, V4(1, 7174));
  ASSERT_EQ(client_.Connect(active, 1), 0);
  Deliver();
  EXPECT_EQ(server_.Event().event, kConnectRequest);
  // From a loopback address to the own host.
  Program near(host(0));
  const uint32_t own = near.Create(kUid + 3);
  ASSERT_EQ(near.ResolveIp(own, loopback(7174, false), loopback(0, false)), 0);
  near.Expect(kAddrResolved, kUid + 3, own);
}

TEST_F(UcmaTest, Ipv6) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V6(1, 7174)), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  const uint32_t active = Resolved(client_, kUid + 1, V6(1, 7174));
  EXPECT_TRUE(std::ranges::equal(client_.Route(active).ib_route[0].sgid, Ipv6Gid(2)));
  ASSERT_EQ(client_.Connect(active, 1), 0);
  Deliver();
  const auto request = server_.Event();
  EXPECT_EQ(request.event, kConnectRequest);
  EXPECT_EQ(server_.Route(request.id).dst_addr.sin6_family, AF_INET6);
}

TEST_F(UcmaTest, NoListenerNoAnswerNoHost) {
  const uint32_t nobody = Resolved(client_, kUid, V4(1, 7174));
  ASSERT_EQ(client_.Connect(nobody, 1), 0);
  Deliver();
  client_.Expect(kRejected, kUid, nobody, 8);

  const uint32_t silent = Resolved(client_, kUid + 1, V4(1, 7174));
  ASSERT_EQ(client_.Connect(silent, 2), 0);
  while (!client_.file->HasEvent()) {
    host(1).sent.clear();
    now_ += 1'000'000'000;
    host(1).manager.Tick();
  }
  client_.Expect(kUnreachable, kUid + 1, silent, static_cast<uint32_t>(-ETIMEDOUT));

  const uint32_t absent = client_.Create(kUid + 2);
  ASSERT_EQ(client_.ResolveIp(absent, V4(77, 7174)), 0);
  client_.Expect(kAddrError, kUid + 2, absent, static_cast<uint32_t>(-EHOSTUNREACH));
  ASSERT_EQ(client_.ResolveIp(absent, V4(1, 7174)), 0);  // once more
  client_.Expect(kAddrResolved, kUid + 2, absent);
}

// An external host must be resolved on the wire.
TEST_F(UcmaTest, AddressResolutionIsAsynchronous) {
  host(1).is_searching = true;
  const uint32_t found = client_.Create(kUid);
  const uint32_t lost = client_.Create(kUid + 1);
  const uint32_t destroyed = client_.Create(kUid + 2);
  ASSERT_EQ(client_.ResolveIp(found, V4(1, 7174)), 0);
  ASSERT_EQ(client_.ResolveIp(lost, V4(77, 7174)), 0);
  ASSERT_EQ(client_.ResolveIp(destroyed, V4(1, 7174)), 0);
  host(1).ucma.ResolveWaiting();
  EXPECT_FALSE(client_.file->HasEvent());
  EXPECT_EQ(client_.ResolveRoute(found), -EINVAL);  // not yet
  ASSERT_EQ(client_.Destroy(destroyed), 0);
  host(1).is_searching = false;
  host(1).ucma.ResolveWaiting();
  client_.Expect(kAddrResolved, kUid, found);
  client_.Expect(kAddrError, kUid + 1, lost, static_cast<uint32_t>(-EHOSTUNREACH));
  EXPECT_FALSE(client_.file->HasEvent());
  host(1).ucma.ResolveWaiting();
  EXPECT_FALSE(client_.file->HasEvent());
  EXPECT_EQ(client_.ResolveRoute(found), 0);
}

TEST_F(UcmaTest, ProgramRejectsARequest) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(1, 7174)), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  const uint32_t active = Resolved(client_, kUid + 1, V4(1, 7174));
  ASSERT_EQ(client_.Connect(active, 1), 0);
  Deliver();
  rdma_ucm_reject reject{};
  reject.id = server_.Event().id;
  reject.reason = 7;
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_REJECT, reject), -EINVAL);
  reject.reason = 0;
  reject.private_data_len = 2;
  reject.private_data[1] = 9;
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_REJECT, reject), 0);
  Deliver();
  const auto rejected = client_.Event();
  EXPECT_EQ(rejected.event, kRejected);
  EXPECT_EQ(rejected.status, 28U);
  EXPECT_EQ(rejected.param.conn.private_data[1], 9U);
  reject.id = listener;
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_REJECT, reject), -EINVAL);
}

TEST_F(UcmaTest, FullBacklogMakesThePeerRetry) {
  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(1, 7174)), 0);
  ASSERT_EQ(server_.Listen(listener, 1), 0);
  const uint32_t first = Resolved(client_, kUid + 1, V4(1, 7174));
  const uint32_t second = Resolved(client_, kUid + 2, V4(1, 7174));
  ASSERT_EQ(client_.Connect(first, 1), 0);
  ASSERT_EQ(client_.Connect(second, 2), 0);
  Deliver();
  EXPECT_EQ(server_.Event().param.conn.qp_num, 1U);
  server_.Event(-EAGAIN);
  now_ += 10'000'000'000;
  host(1).manager.Tick();
  Deliver();
  EXPECT_EQ(server_.Event().param.conn.qp_num, 2U);
}

TEST_F(UcmaTest, CloseFreesEverything) {
  {
    Program dying(host(0));
    const uint32_t listener = dying.Create(kUid);
    ASSERT_EQ(dying.Bind(listener, V4(1, 7174)), 0);
    ASSERT_EQ(dying.Listen(listener), 0);
    const uint32_t undelivered = Resolved(client_, kUid + 1, V4(1, 7174));
    ASSERT_EQ(client_.Connect(undelivered, 1), 0);
    Deliver();
  }
  Deliver();
  EXPECT_EQ(client_.Event().event, kRejected);
  EXPECT_EQ(host(0).ucma.ids(), 0U);
  EXPECT_EQ(host(0).manager.connections(), 0U);
  const uint32_t again = server_.Create(kUid);
  EXPECT_EQ(server_.Bind(again, V4(1, 7174)), 0);  // the port is free
}

TEST_F(UcmaTest, PortsAreSharedByFilesOfTheNic) {
  Program other(host(0));
  const uint32_t a = server_.Create(1), b = other.Create(2), c = other.Create(3, RDMA_PS_UDP);
  ASSERT_EQ(server_.Bind(a, V4(1, 5000)), 0);
  EXPECT_EQ(server_.Bind(a, V4(1, 5001)), -EINVAL);  // bound already
  EXPECT_EQ(other.Bind(b, V4(1, 5000)), -EADDRINUSE);
  EXPECT_EQ(other.Bind(b, V4(0, 5000, true)), -EADDRNOTAVAIL);
  EXPECT_EQ(other.Bind(b, V4(9, 5000)), -EADDRNOTAVAIL);
  EXPECT_EQ(other.Bind(c, V4(1, 5000)), 0);  // another space
  const uint32_t d = other.Create(4), e = server_.Create(5);
  const std::vector<uint8_t> on = {1, 0, 0, 0};
  ASSERT_EQ(other.SetOption(d, RDMA_OPTION_ID_REUSEADDR, on), 0);
  ASSERT_EQ(server_.SetOption(e, RDMA_OPTION_ID_REUSEADDR, on), 0);
  EXPECT_EQ(other.Bind(d, V4(1, 6000)), 0);
  EXPECT_EQ(server_.Bind(e, V4(1, 6000)), 0);
  EXPECT_EQ(server_.Listen(e), -EADDRINUSE);
  other.Destroy(d);
  EXPECT_EQ(server_.Listen(e), 0);
  EXPECT_EQ(server_.Listen(e), -EINVAL);
  EXPECT_EQ(other.Bind(b, V4(0, 0, true)), 0);
  EXPECT_GE(PortOf(other.Route(b).src_addr), 32768U);
}

TEST_F(UcmaTest, Options) {
  const uint32_t id = client_.Create(kUid);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_TOS, {32}), 0);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_TOS, {32, 0}), -EINVAL);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_AFONLY, {1}), -EINVAL);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_AFONLY, {1, 0, 0, 0}), 0);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_ACK_TIMEOUT, {32}), -EINVAL);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_ACK_TIMEOUT, {21}), 0);
  EXPECT_EQ(client_.SetOption(id, 9, {0}), -ENOSYS);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_IB_PATH, {0}, RDMA_OPTION_IB), -ENOSYS);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_TOS, std::vector<uint8_t>(4097)), -EINVAL);
  EXPECT_EQ(client_.SetOption(id + 1, RDMA_OPTION_ID_TOS, {32}), -ENOENT);
  // An unknown option.
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_SET_OPTION,
                       rdma_ucm_set_option{.optval = 0, .id = id, .level = 0, .optname = 0, .optlen = 1}),
            -EINVAL);
  const uint32_t datagram = client_.Create(kUid, RDMA_PS_UDP);
  EXPECT_EQ(client_.SetOption(datagram, RDMA_OPTION_ID_ACK_TIMEOUT, {21}), -EINVAL);

  const uint32_t listener = server_.Create(kUid);
  ASSERT_EQ(server_.Bind(listener, V4(1, 7174)), 0);
  ASSERT_EQ(server_.Listen(listener), 0);
  ASSERT_EQ(client_.ResolveIp(id, V4(1, 7174)), 0);
  EXPECT_EQ(client_.SetOption(id, RDMA_OPTION_ID_AFONLY, {1, 0, 0, 0}), -EINVAL);  // too late
  ASSERT_EQ(client_.ResolveRoute(id), 0);
  EXPECT_EQ(client_.Route(id).ib_route[0].traffic_class, 32U);
  ASSERT_EQ(client_.Connect(id, 1), 0);
  Deliver();
  const uint32_t passive = server_.Event().id;
  EXPECT_EQ(server_.Attributes(passive, kRts).timeout, 21U);
  EXPECT_EQ(server_.Attributes(passive, kRtr).ah_attr.grh.traffic_class, 32U);
  ASSERT_EQ(server_.Accept(passive, 1, 1), 0);
  Deliver();
  EXPECT_EQ(client_.Attributes(id, kRts).timeout, 21U);
}

TEST_F(UcmaTest, Queries) {
  const uint32_t id = Resolved(client_, kUid, V4(1, 7174));
  rdma_ucm_query query{.response = 0, .id = id, .option = RDMA_USER_CM_QUERY_ADDR};
  const auto addresses = client_.Ask<rdma_ucm_query_addr_resp>(RDMA_USER_CM_CMD_QUERY, query);
  EXPECT_EQ(addresses.src_size, sizeof(sockaddr_in));
  EXPECT_EQ(addresses.node_guid, __builtin_bswap64(kGuid + 2));
  const auto expected = V4(1, 7174);
  EXPECT_EQ(std::memcmp(&addresses.dst_addr, &expected, sizeof(sockaddr_in)), 0);
  query.option = RDMA_USER_CM_QUERY_GID;
  const auto gids = client_.Ask<rdma_ucm_query_addr_resp>(RDMA_USER_CM_CMD_QUERY, query);
  EXPECT_EQ(gids.dst_size, 48U);
  EXPECT_EQ(std::memcmp(reinterpret_cast<const uint8_t*>(&gids.dst_addr) + 8, Ipv4Gid(1).data(), 16), 0);
  query.option = RDMA_USER_CM_QUERY_PATH;
  std::vector<uint8_t> response;
  ASSERT_EQ(
      client_.file->Write(Program::Bytes(RDMA_USER_CM_CMD_QUERY, query, 16 + 6 * sizeof(ib_path_rec_data)), response),
      0);
  ASSERT_EQ(response.size(), sizeof(rdma_ucm_query_path_resp) + sizeof(ib_path_rec_data));
  EXPECT_EQ(response[0], 1U);                                                               // paths
  EXPECT_TRUE(std::equal(&response[8 + 8 + 8], &response[8 + 8 + 24], Ipv4Gid(1).data()));  // dgid
  EXPECT_EQ(response[8 + 8 + 54], 2U << 6 | 5U);                                            // exactly this MTU
  query.option = 3;
  client_.Ask<rdma_ucm_query_addr_resp>(RDMA_USER_CM_CMD_QUERY, query, -ENOSYS);
}

TEST_F(UcmaTest, NewCommandsAcceptTheSameAddresses) {
  const uint32_t listener = server_.Create(kUid);
  rdma_ucm_bind bind{};
  bind.id = listener;
  const auto address = V4(1, 7174);
  std::memcpy(&bind.addr, &address, sizeof(sockaddr_in));
  bind.addr_size = 4;
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_BIND, bind), -EINVAL);
  bind.addr_size = 200;
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_BIND, bind), -EINVAL);
  bind.addr_size = sizeof(sockaddr_in);
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_BIND, bind), 0);
  // librdmacm first tries AF_IB addresses.
  rdma_ucm_create_id create{};
  create.uid = 1;
  create.ps = RDMA_PS_IB;
  create.qp_type = 2;
  const uint32_t probe = server_.Ask<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_CREATE_ID, create).id;
  rdma_ucm_bind infiniband{};
  infiniband.id = probe;
  infiniband.addr_size = 48;
  const uint16_t af_ib = 27;
  std::memcpy(&infiniband.addr, &af_ib, sizeof af_ib);
  EXPECT_EQ(server_.Do(RDMA_USER_CM_CMD_BIND, infiniband), -EINVAL);

  rdma_ucm_resolve_addr resolve{};
  resolve.id = client_.Create(kUid);
  resolve.dst_size = 300;
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve), -EINVAL);
  resolve.dst_size = sizeof(sockaddr_in);
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve), -EINVAL);
  std::memcpy(&resolve.dst_addr, &address, sizeof(sockaddr_in));
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve), 0);
  client_.Expect(kAddrResolved, kUid, resolve.id);
}

// Every command: truncated, for an unknown ID or an ID of another file, with too little room for its response.
TEST_F(UcmaTest, MalformedCommandsAreRefused) {
  Program other(host(1));
  const uint32_t foreign = other.Create(1);
  struct Case {
    uint32_t number;
    size_t bytes, id_at, out;
  };
  const Case cases[] = {
      {RDMA_USER_CM_CMD_DESTROY_ID, sizeof(rdma_ucm_destroy_id), offsetof(rdma_ucm_destroy_id, id), 4},
      {RDMA_USER_CM_CMD_BIND_IP, sizeof(rdma_ucm_bind_ip), offsetof(rdma_ucm_bind_ip, id), 0},
      {RDMA_USER_CM_CMD_RESOLVE_IP, sizeof(rdma_ucm_resolve_ip), offsetof(rdma_ucm_resolve_ip, id), 0},
      {RDMA_USER_CM_CMD_RESOLVE_ROUTE, sizeof(rdma_ucm_resolve_route), 0, 0},
      {RDMA_USER_CM_CMD_QUERY_ROUTE, offsetof(rdma_ucm_query, option), 8,
       offsetof(rdma_ucm_query_route_resp, ibdev_index)},
      {RDMA_USER_CM_CMD_CONNECT, offsetof(rdma_ucm_connect, ece), offsetof(rdma_ucm_connect, id), 0},
      {RDMA_USER_CM_CMD_LISTEN, sizeof(rdma_ucm_listen), 0, 0},
      {RDMA_USER_CM_CMD_ACCEPT, offsetof(rdma_ucm_accept, ece), offsetof(rdma_ucm_accept, id), 0},
      {RDMA_USER_CM_CMD_REJECT, sizeof(rdma_ucm_reject), 0, 0},
      {RDMA_USER_CM_CMD_DISCONNECT, sizeof(rdma_ucm_disconnect), 0, 0},
      {RDMA_USER_CM_CMD_INIT_QP_ATTR, sizeof(rdma_ucm_init_qp_attr), 8, sizeof(ib_uverbs_qp_attr)},
      {RDMA_USER_CM_CMD_SET_OPTION, sizeof(rdma_ucm_set_option), 8, 0},
      {RDMA_USER_CM_CMD_NOTIFY, sizeof(rdma_ucm_notify), 0, 0},
      {RDMA_USER_CM_CMD_BIND, sizeof(rdma_ucm_bind), 0, 0},
      {RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(rdma_ucm_resolve_addr), 0, 0},
      {RDMA_USER_CM_CMD_QUERY, sizeof(rdma_ucm_query), 8, 0},
  };
  std::vector<uint8_t> response;
  for (const Case& one : cases) {
    std::vector<uint8_t> body(8 + one.bytes);
    const auto write = [&](uint32_t id, size_t bytes, size_t out) {
      const rdma_ucm_cmd_hdr header{
          .cmd = one.number, .in = static_cast<uint16_t>(bytes), .out = static_cast<uint16_t>(out)};
      std::memcpy(body.data(), &header, sizeof header);
      std::memcpy(body.data() + 8 + one.id_at, &id, sizeof id);
      // Connect parameters must be marked valid.
      if (one.number == RDMA_USER_CM_CMD_CONNECT) body[8 + offsetof(rdma_ucm_conn_param, valid)] = 1;
      return client_.file->Write(body, response);
    };
    EXPECT_EQ(write(foreign, one.bytes - 1, one.out), -EINVAL) << "command " << one.number;
    EXPECT_EQ(write(0x7fff'ffff, one.bytes, one.out), -ENOENT) << "command " << one.number;
    EXPECT_EQ(write(foreign, one.bytes, one.out), -EINVAL) << "command " << one.number;
    EXPECT_EQ(write(foreign, one.bytes + 1, one.out), -EINVAL) << "command " << one.number;  // longer than the write
    if (one.out != 0) {
      EXPECT_EQ(write(foreign, one.bytes, one.out - 1), -ENOSPC) << "command " << one.number;
    }
    EXPECT_TRUE(response.empty());
  }
  EXPECT_EQ(client_.file->Write(std::vector<uint8_t>(7), response), -EINVAL);
  EXPECT_EQ(client_.Do(23, uint64_t{0}), -EINVAL);
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_GET_OPTION, uint64_t{0}), -ENOSYS);
  for (const uint32_t multicast :
       {RDMA_USER_CM_CMD_JOIN_IP_MCAST, RDMA_USER_CM_CMD_LEAVE_MCAST, RDMA_USER_CM_CMD_JOIN_MCAST}) {
    EXPECT_EQ(client_.Do(multicast, uint64_t{0}), -EOPNOTSUPP);
  }
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}), -ENOSPC);
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{}), -ENOSPC);
  client_.Ask<rdma_ucm_create_id_resp>(RDMA_USER_CM_CMD_CREATE_ID, rdma_ucm_create_id{}, -EINVAL);  // no port space
  EXPECT_EQ(host(1).ucma.ids(), 1U);
}

TEST_F(UcmaTest, CommandsInTheWrongStateAreRefused) {
  const uint32_t id = client_.Create(kUid);
  EXPECT_EQ(client_.ResolveRoute(id), -EINVAL);
  EXPECT_EQ(client_.Connect(id, 1), -EINVAL);
  EXPECT_EQ(client_.Accept(id, 1, 1), -EINVAL);
  EXPECT_EQ(client_.Disconnect(id), -EINVAL);
  client_.Attributes(id, kInit, -EINVAL);
  EXPECT_EQ(client_.Route(id).node_guid, 0U);
  const uint32_t resolved = Resolved(client_, kUid + 1, V4(1, 7174));
  EXPECT_EQ(client_.ResolveIp(resolved, V4(1, 7174)), -EINVAL);
  client_.Attributes(resolved, 7, -EINVAL);
  rdma_ucm_connect too_long{};
  too_long.conn_param = Program::Parameters(1, "");
  too_long.conn_param.private_data_len = 57;
  too_long.id = resolved;
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_CONNECT, too_long), -EINVAL);
  too_long.conn_param.private_data_len = 56;
  too_long.conn_param.valid = 0;
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_CONNECT, too_long), -EINVAL);
  too_long.conn_param.valid = 1;
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_CONNECT, too_long), 0);
  client_.Attributes(resolved, kRtr, -EINVAL);  // the peer is unknown before connect
  EXPECT_EQ(client_.Accept(resolved, 1, 1), -EINVAL);
  EXPECT_EQ(client_.Do(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = resolved, .event = 4}), -EINVAL);
}

TEST_F(UcmaTest, FilesHaveNumbers) {
  Program other(host(1));
  EXPECT_NE(other.file->number(), client_.file->number());
  std::vector<uint8_t> response;
  const rdma_ucm_cmd_hdr header{.cmd = kUcmaFileNumber, .in = 0, .out = 4};
  std::vector<uint8_t> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  ASSERT_EQ(client_.file->Write(bytes, response), 0);
  ASSERT_EQ(response.size(), 4U);
  uint32_t number = 0;
  std::memcpy(&number, response.data(), 4);
  EXPECT_EQ(number, client_.file->number());
}

}  // namespace
}  // namespace vireo::sim
