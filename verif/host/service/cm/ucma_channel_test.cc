// SPDX-License-Identifier: Apache-2.0
// The socket protocol of the device: answers, and the token, which is present exactly while an event is pending.
#include "host/service/cm/ucma_channel.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "host/service/ucma_protocol.h"

namespace vireo::sim {
namespace {

using service::UcmaMessage;

struct NoWire final : service::cm::MadTransport {
  void SendMad(const service::cm::Path& /*path*/, service::cm::MadView /*mad*/) override {}
};

class UcmaChannelTest : public testing::Test {
 protected:
  UcmaChannelTest() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    client_ = pair[0];
    channel_ = std::make_unique<service::UcmaChannel>(ucma_, pair[1]);
  }
  ~UcmaChannelTest() override {
    channel_.reset();
    if (client_ >= 0) close(client_);
  }
  template <typename Command>
  void Send(uint32_t number, const Command& command, uint16_t out) {
    const rdma_ucm_cmd_hdr header{.cmd = number, .in = sizeof command, .out = out};
    std::vector<uint8_t> bytes(sizeof header + sizeof command);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &command, sizeof command);
    ASSERT_EQ(send(client_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  struct Message {
    UcmaMessage head;
    std::vector<uint8_t> rest;
  };
  std::optional<Message> Receive() {
    std::vector<uint8_t> bytes(4096);
    const ssize_t got = recv(client_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof(UcmaMessage))) return std::nullopt;
    Message message;
    std::memcpy(&message.head, bytes.data(), sizeof message.head);
    message.rest.assign(bytes.begin() + sizeof message.head, bytes.begin() + got);
    return message;
  }
  bool IsReadable() {
    pollfd one{.fd = client_, .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) == 1;
  }
  void Resolve(uint32_t id) {
    rdma_ucm_resolve_ip command{};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(0x0a00'0002);
    std::memcpy(&command.dst_addr, &to, sizeof to);
    command.id = id;
    Send(RDMA_USER_CM_CMD_RESOLVE_IP, command, 0);
  }
  uint32_t Create() {
    rdma_ucm_create_id create{};
    create.uid = 1;
    create.ps = RDMA_PS_TCP;
    Send(RDMA_USER_CM_CMD_CREATE_ID, create, sizeof(rdma_ucm_create_id_resp));
    EXPECT_TRUE(channel_->Serve());
    const auto answer = Receive();
    EXPECT_TRUE(answer.has_value() && answer->rest.size() == sizeof(uint32_t));
    uint32_t id = 0;
    std::memcpy(&id, answer->rest.data(), sizeof id);
    return id;
  }

  NoWire wire_;
  service::cm::ConnectionManager manager_{wire_, [] { return uint64_t{0}; }, {}};
  service::Ucma ucma_{manager_,
                      {.gids = {{1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}}}},
                      [](const service::cm::Gid&) { return service::Ucma::Reach::kReachable; }};
  int client_ = -1;
  std::unique_ptr<service::UcmaChannel> channel_;
};

TEST_F(UcmaChannelTest, TokenIndicatesAPendingEvent) {
  const uint32_t first = Create(), second = Create();
  EXPECT_FALSE(IsReadable());
  Resolve(first);
  ASSERT_TRUE(channel_->Serve());
  EXPECT_EQ(Receive()->head.type, UcmaMessage::Type::kAnswer);
  EXPECT_EQ(Receive()->head.type, UcmaMessage::Type::kToken);
  EXPECT_FALSE(IsReadable());  // one, until the next command
  Resolve(second);
  ASSERT_TRUE(channel_->Serve());
  EXPECT_EQ(Receive()->head.type, UcmaMessage::Type::kAnswer);
  EXPECT_TRUE(IsReadable());  // not read: it stays, and the next answer follows it
  for (const uint32_t id : {first, second}) {
    Send(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, sizeof(rdma_ucm_event_resp));
    ASSERT_TRUE(channel_->Serve());
    EXPECT_EQ(Receive()->head.type, UcmaMessage::Type::kToken);
    const auto answer = Receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->head.result, 0);
    rdma_ucm_event_resp event;
    ASSERT_EQ(answer->rest.size(), sizeof event);
    std::memcpy(static_cast<void*>(&event), answer->rest.data(), sizeof event);
    EXPECT_EQ(event.id, id);
    EXPECT_EQ(IsReadable(), id == first);
  }
  Send(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, sizeof(rdma_ucm_event_resp));
  ASSERT_TRUE(channel_->Serve());
  EXPECT_EQ(Receive()->head.result, -EAGAIN);
}

TEST_F(UcmaChannelTest, ClosedClientIsCleanedUp) {
  (void)Create();
  EXPECT_EQ(ucma_.ids(), 1U);
  close(client_);
  client_ = -1;
  EXPECT_FALSE(channel_->Serve());
  channel_.reset();
  EXPECT_EQ(ucma_.ids(), 0U);
}

TEST_F(UcmaChannelTest, MalformedCommandClosesTheChannel) {
  const std::vector<uint8_t> bytes(service::kUcmaCommandBytesMax + 1);
  ASSERT_EQ(send(client_, bytes.data(), 8, 0), 8);
  EXPECT_TRUE(channel_->Serve());  // CREATE_ID without a body: an error
  EXPECT_EQ(Receive()->head.result, -EINVAL);
  ASSERT_EQ(send(client_, bytes.data(), 7, 0), 7);
  EXPECT_FALSE(channel_->Serve());
  ASSERT_GT(send(client_, bytes.data(), bytes.size(), 0), 0);
  EXPECT_FALSE(channel_->Serve());
}

}  // namespace
}  // namespace vireo::sim
