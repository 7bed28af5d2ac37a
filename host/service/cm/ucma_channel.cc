// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/ucma_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "host/service/ucma_protocol.h"

namespace vireo::service {
namespace {

bool Send(int socket, UcmaMessage message, std::span<const uint8_t> more) {
  iovec parts[2] = {{&message, sizeof message}, {const_cast<uint8_t*>(more.data()), more.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  ssize_t sent = 0;
  do sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

UcmaChannel::UcmaChannel(Ucma& ucma, int socket) : socket_(socket), file_(ucma.Open([this] { OnEvent(); })) {}

UcmaChannel::~UcmaChannel() {
  file_.reset();
  close(socket_);
}

void UcmaChannel::OnEvent() {
  if (is_answering_ || token_sent_) return;
  // A failure means that the client closed the socket, which Serve detects.
  token_sent_ = Send(socket_, {.type = UcmaMessage::Type::kToken}, {});
}

bool UcmaChannel::Answer(std::span<const uint8_t> command) {
  std::vector<uint8_t> response;
  is_answering_ = true;
  const int result = file_->Write(command, response);
  is_answering_ = false;
  // A client that does not read its answers violates the protocol.
  if (!Send(socket_, {.type = UcmaMessage::Type::kAnswer, .result = result}, response)) return false;
  token_sent_ = false;
  if (file_->HasEvent()) OnEvent();
  return true;
}

bool UcmaChannel::Serve() {
  // One byte more than the longest command, to detect longer ones.
  std::array<uint8_t, kUcmaCommandBytesMax + 1> command;
  while (true) {
    const ssize_t bytes = recv(socket_, command.data(), command.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (bytes < 8 || static_cast<size_t>(bytes) > kUcmaCommandBytesMax) return false;
    if (!Answer(std::span(command).first(static_cast<size_t>(bytes)))) return false;
  }
}

}  // namespace vireo::service
