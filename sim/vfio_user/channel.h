// SPDX-License-Identifier: Apache-2.0
// The server's end of a vfio-user socket. It never waits: what the peer does not take now is kept and goes with a later
// Flush. A peer that takes nothing any more, or whose stream makes no sense, is over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/driver/vfio_user_protocol.h"

namespace vireo::sim {

class VfioUserChannel {
 public:
  static constexpr size_t kMaxKeptBytes = size_t{16} << 20;

  explicit VfioUserChannel(host::FileDescriptor socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  bool is_over() const { return is_over_; }
  bool has_kept() const { return sent_ < kept_.size(); }

  // The next message that is there whole.
  bool Read(host::vfio_user::Message& message);
  // header.bytes is filled in. `fds`: only while nothing is kept.
  void Send(host::vfio_user::Header header, std::span<const uint8_t> first = {}, std::span<const uint8_t> second = {},
            std::span<const int> fds = {});
  void Flush();
  // Sleeps until something can be read, or something kept can be sent, or it is over. False: not in time.
  bool Wait(int timeout_ms);
  void End() { is_over_ = true; }

 private:
  host::FileDescriptor socket_;
  host::vfio_user::MessageReader reader_;
  std::vector<uint8_t> kept_;
  size_t sent_ = 0;  // of it
  bool is_over_ = false;
};

}  // namespace vireo::sim
