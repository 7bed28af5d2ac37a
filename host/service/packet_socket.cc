// SPDX-License-Identifier: Apache-2.0
#include "host/service/packet_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "host/service/protocol.h"

namespace vireo::service {
namespace {

using host::Error;
using host::ErrorCode;

host::Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument, "'" + path + "' cannot be a socket's path: 1 to " +
                                                  std::to_string(sizeof address.sun_path - 1) + " characters"};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Error SystemError(const std::string& what) { return {ErrorCode::kLost, what + ": " + std::strerror(errno)}; }

}  // namespace

host::Result<FileDescriptor> ListenAt(const std::string& path) {
  const host::Result<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.error();
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return SystemError("socket");
  ::unlink(path.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return SystemError("listen at " + path);
  }
  return socket;
}

host::Result<FileDescriptor> ConnectTo(const std::string& path) {
  const host::Result<sockaddr_un> address = AddressOf(path);
  if (!address.ok()) return address.error();
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return SystemError("socket");
  int connected = 0;
  do {
    connected = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) return SystemError("connect to " + path);
  return socket;
}

host::Result<std::pair<FileDescriptor, FileDescriptor>> PacketPair(bool nonblocking_first) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (nonblocking_first ? SOCK_NONBLOCK : 0), 0, ends.data()) !=
      0) {
    return SystemError("socketpair");
  }
  return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

bool SendPacket(int socket, std::span<const uint8_t> first, std::span<const uint8_t> second, std::span<const int> fds,
                bool wait) {
  std::array<iovec, 2> parts{
      {{const_cast<uint8_t*>(first.data()), first.size()}, {const_cast<uint8_t*>(second.data()), second.size()}}};
  alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = second.empty() ? 1 : 2;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
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
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      packet.fds.emplace_back(fd);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) packet.fds.clear();
  return packet;
}

}  // namespace vireo::service
