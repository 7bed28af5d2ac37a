// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/wire_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/driver/unix_socket.h"

namespace vireo::sim {

using host::Result;
using host::Status;

Result<std::unique_ptr<WireSocket>> WireSocket::Open(service::EventLoop& loop, OuterPort& port,
                                                     const std::string& path) {
  std::unique_ptr<WireSocket> wire(new WireSocket(loop, port, path));
  if (Status set_up = wire->SetUp(); !set_up.ok()) return set_up.error();
  return wire;
}

Status WireSocket::SetUp() {
  const Result<sockaddr_un> peer = host::UnixAddress(path_ + ".peer");
  if (!peer.ok()) return peer.error();
  peer_ = *peer;
  Result<host::FileDescriptor> socket = host::BindDatagramAt(path_);
  if (!socket.ok()) return socket.error();
  socket_ = std::move(socket).value();
  // An epoll instance is readable when one of its events is pending: so the loop, which watches for readable
  // descriptors only, can wait for room in the peer's queue.
  has_room_ = host::FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!has_room_.is_open()) return host::SystemError("epoll");
  buffer_.resize(kFrameBytesMax + 1);  // one more, to detect a longer frame
  loop_.Watch(socket_.get(), [this] { Receive(); });
  loop_.Watch(has_room_.get(), [this] { SendWaiting(); });
  port_.OnArrival([this](const WireFrame& frame) { Send(frame.bytes); });
  return {};
}

WireSocket::~WireSocket() {
  if (!socket_.is_open()) return;
  port_.OnArrival({});
  loop_.Unwatch(has_room_.get());
  loop_.Unwatch(socket_.get());
  ::unlink(path_.c_str());
}

void WireSocket::Receive() {
  // Bounded, so that a flooding peer does not starve other watchers.
  constexpr int kFramesAtATime = 64;
  for (int i = 0; i < kFramesAtATime; ++i) {
    const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0) return;
    const auto bytes = static_cast<size_t>(got);
    if (bytes < spec::Ethernet::kBytes || bytes > kFrameBytesMax) {
      ++counters_.malformed_drops;
      continue;
    }
    ++counters_.received;
    WireFrame frame;
    frame.bytes.assign(buffer_.begin(), buffer_.begin() + got);
    port_.Send(std::move(frame));
  }
}

WireSocket::Outcome WireSocket::TrySend(const std::vector<uint8_t>& frame) {
  if (::sendto(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&peer_), sizeof peer_) >= 0) {
    return Outcome::kSent;
  }
  return errno == EAGAIN || errno == ENOBUFS ? Outcome::kWouldBlock : Outcome::kFailed;
}

void WireSocket::Send(const std::vector<uint8_t>& frame) {
  if (before_send_) before_send_();
  const Outcome outcome = waiting_.empty() ? TrySend(frame) : Outcome::kWouldBlock;
  if (outcome == Outcome::kSent) {
    ++counters_.sent;
  } else if (outcome == Outcome::kFailed) {
    ++counters_.unreachable_drops;
  } else if (waiting_bytes_ + frame.size() > kWaitingBytesMax) {
    ++counters_.overflow_drops;
  } else {
    if (waiting_.empty()) AwaitRoom(true);
    waiting_.push_back(frame);
    waiting_bytes_ += frame.size();
  }
}

void WireSocket::SendWaiting() {
  while (!waiting_.empty()) {
    const Outcome outcome = TrySend(waiting_.front());
    if (outcome == Outcome::kWouldBlock) return;
    ++(outcome == Outcome::kSent ? counters_.sent : counters_.unreachable_drops);
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  AwaitRoom(false);
}

void WireSocket::AwaitRoom(bool on) {
  // The kernel reports room in the peer's queue only on a connected socket, and a connected socket receives from its
  // peer only; at the end of the connection the kernel discards what it has received. So another socket waits, no
  // longer than needed: a new peer may bind to the same path. [unix(7); Linux, net/unix/af_unix.c: unix_may_send,
  // unix_dgram_poll, unix_dgram_disconnected]
  waiter_ = host::FileDescriptor();
  if (!on) return;
  waiter_ = host::FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Without a connection it is writable at once, and the frames are dropped as those without a peer.
  static_cast<void>(::connect(waiter_.get(), reinterpret_cast<const sockaddr*>(&peer_), sizeof peer_));
  epoll_event event{};
  event.events = EPOLLOUT;
  ::epoll_ctl(has_room_.get(), EPOLL_CTL_ADD, waiter_.get(), &event);
}

}  // namespace vireo::sim
