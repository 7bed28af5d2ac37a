// SPDX-License-Identifier: Apache-2.0
// The server's end of a vfio-user socket. Never blocks: data that the peer does not accept yet is kept and sent by a
// later Flush. The channel is over if the peer closes it, sends an invalid stream, or leaves more than kMaxKeptBytes
// unread.
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

  // Takes the next complete message; false: none.
  bool Read(host::vfio_user::Message& message);
  // Sets header.bytes. `fds` is allowed only while nothing is kept.
  void Send(host::vfio_user::Header header, std::span<const uint8_t> first = {}, std::span<const uint8_t> second = {},
            std::span<const int> fds = {});
  void Flush();
  // Sleeps until data can be read, kept data can be sent, or the channel is over. False: timeout.
  bool Wait(int timeout_ms);
  void End() { is_over_ = true; }

 private:
  host::FileDescriptor socket_;
  host::vfio_user::MessageReader reader_;
  std::vector<uint8_t> kept_;
  size_t sent_ = 0;  // bytes of kept_ already sent
  bool is_over_ = false;
};

}  // namespace vireo::sim
