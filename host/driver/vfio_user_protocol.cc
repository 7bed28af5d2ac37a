// SPDX-License-Identifier: Apache-2.0
#include "host/driver/vfio_user_protocol.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "host/driver/unix_socket.h"

namespace vireo::host::vfio_user {
namespace {

// Descriptors of one recvmsg.
void KeepFds(msghdr& message, Message& into) {
  for (FileDescriptor& fd : TakeFds(message)) into.fds.push_back(std::move(fd));
  if ((message.msg_flags & MSG_CTRUNC) != 0 || into.fds.size() > kMaxFds) {
    into.fds.clear();
    into.has_lost_fds = true;
  }
}

}  // namespace

MessageReader::Got MessageReader::Read(int socket, bool wait, Message& message) {
  for (;;) {
    uint8_t* place = reinterpret_cast<uint8_t*>(&message_.header) + received_;
    size_t wanted = sizeof(Header) - received_;
    if (received_ >= sizeof(Header)) {
      place = message_.payload.data() + (received_ - sizeof(Header));
      wanted = message_.header.bytes - received_;
    }
    if (wanted != 0) {
      iovec part{place, wanted};
      alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      const ssize_t bytes = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Got::kNothing;
      if (bytes <= 0) return Got::kClosed;
      KeepFds(header, message_);
      received_ += static_cast<size_t>(bytes);
      if (received_ < sizeof(Header)) continue;
      if (message_.payload.empty()) {
        if (message_.header.bytes < sizeof(Header) || message_.header.bytes > kMaxMessageBytes) return Got::kBroken;
        message_.payload.resize(message_.header.bytes - sizeof(Header));
      }
    }
    if (received_ >= sizeof(Header) && received_ == message_.header.bytes) {
      message = std::exchange(message_, {});
      received_ = 0;
      return Got::kMessage;
    }
  }
}

bool SendMessage(int socket, Header header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                 std::span<const int> fds) {
  header.bytes = static_cast<uint32_t>(sizeof header + first.size() + second.size());
  std::array<iovec, 3> parts{{{&header, sizeof header},
                              {const_cast<uint8_t*>(first.data()), first.size()},
                              {const_cast<uint8_t*>(second.data()), second.size()}}};
  alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  AttachFds(message, control, fds);
  size_t left = header.bytes;
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd writable{.fd = socket, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    left -= static_cast<size_t>(sent);
    if (left == 0) return true;
    message.msg_control = nullptr;  // sent with the first byte
    message.msg_controllen = 0;
    size_t gone = static_cast<size_t>(sent);
    for (iovec& part : parts) {
      const size_t taken = std::min(gone, part.iov_len);
      part.iov_base = static_cast<uint8_t*>(part.iov_base) + taken;
      part.iov_len -= taken;
      gone -= taken;
    }
  }
}

}  // namespace vireo::host::vfio_user
