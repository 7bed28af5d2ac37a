// SPDX-License-Identifier: Apache-2.0
#include "host/service/packet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "host/driver/unix_socket.h"
#include "host/service/protocol.h"

namespace vireo::service {

host::Result<std::pair<host::FileDescriptor, host::FileDescriptor>> PacketPair(bool nonblocking_first) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return host::SystemError("socketpair");
  std::pair pair{host::FileDescriptor(ends[0]), host::FileDescriptor(ends[1])};
  if (nonblocking_first && ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return host::SystemError("fcntl");
  return pair;
}

bool SendPacket(int socket, std::span<const uint8_t> first, std::span<const uint8_t> second, std::span<const int> fds,
                bool wait) {
  std::array<iovec, 2> parts{
      {{const_cast<uint8_t*>(first.data()), first.size()}, {const_cast<uint8_t*>(second.data()), second.size()}}};
  alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 1 : 2;
  host::AttachFds(message, control, fds);
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) >= 0) return true;
    if (errno != EINTR) return false;
  }
}

Packet ReceivePacket(int socket, std::span<uint8_t> buffer, bool wait) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  Packet packet;
  for (;;) {
    const ssize_t bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC | (wait ? 0 : MSG_DONTWAIT));
    if (bytes > 0) {
      packet.received = Received::kPacket;
      packet.bytes = static_cast<size_t>(bytes);
      break;
    }
    if (bytes == 0) return packet;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) packet.received = Received::kNothing;
    return packet;
  }
  packet.fds = host::TakeFds(message);
  if ((message.msg_flags & MSG_CTRUNC) != 0) packet.fds.clear();
  return packet;
}

}  // namespace vireo::service
