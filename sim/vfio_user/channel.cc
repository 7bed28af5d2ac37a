// SPDX-License-Identifier: Apache-2.0
#include "sim/vfio_user/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "host/driver/unix_socket.h"

namespace vireo::sim {

using host::vfio_user::Header;
using host::vfio_user::MessageReader;

bool VfioUserChannel::Read(host::vfio_user::Message& message) {
  if (is_over_) return false;
  const MessageReader::Got got = reader_.Read(socket_.get(), false, message);
  if (got == MessageReader::Got::kClosed || got == MessageReader::Got::kBroken) is_over_ = true;
  return got == MessageReader::Got::kMessage;
}

void VfioUserChannel::Send(Header header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                           std::span<const int> fds) {
  if (is_over_) return;
  header.bytes = static_cast<uint32_t>(sizeof header + first.size() + second.size());
  const bool was_empty = !has_kept();
  if (was_empty) {
    kept_.clear();
    sent_ = 0;
  }
  const auto head = host::vfio_user::BytesOf(header);
  for (const auto part : {head, first, second}) kept_.insert(kept_.end(), part.begin(), part.end());
  if (!fds.empty()) {
    // Descriptors are sent with the first byte, which an empty socket accepts.
    iovec byte{kept_.data(), 1};
    alignas(cmsghdr) std::array<uint8_t, CMSG_SPACE(host::vfio_user::kMaxFds * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &byte;
    message.msg_iovlen = 1;
    host::AttachFds(message, control, fds);
    if (!was_empty || ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return End();
    sent_ = 1;
  }
  Flush();
  if (kept_.size() - sent_ > kMaxKeptBytes) is_over_ = true;
}

void VfioUserChannel::Flush() {
  while (!is_over_ && has_kept()) {
    const ssize_t sent = ::send(socket_.get(), kept_.data() + sent_, kept_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      sent_ += static_cast<size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Discards sent bytes; rarely, because it moves the rest.
      if (sent_ > kMaxKeptBytes / 2) {
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(sent_));
        sent_ = 0;
      }
      return;
    } else if (errno != EINTR) {
      is_over_ = true;
    }
  }
}

bool VfioUserChannel::Wait(int timeout_ms) {
  pollfd ready{
      .fd = socket_.get(), .events = static_cast<int16_t>(has_kept() ? POLLIN | POLLOUT : POLLIN), .revents = 0};
  const int count = ::poll(&ready, 1, timeout_ms);
  if (count > 0 && (ready.revents & POLLOUT) != 0) Flush();
  return count > 0 || (count < 0 && errno == EINTR);
}

}  // namespace vireo::sim
