// SPDX-License-Identifier: Apache-2.0
// Unix SOCK_SEQPACKET sockets: whole messages, with file descriptors. Descriptors that come are closed on exec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::service {

// Both block, but for the first one on demand.
host::Result<std::pair<host::FileDescriptor, host::FileDescriptor>> PacketPair(bool nonblocking_first);

// One message of two parts. False: the peer is gone, or (`wait` false) does not take it now; errno says which.
bool SendPacket(int socket, std::span<const uint8_t> first, std::span<const uint8_t> second = {},
                std::span<const int> fds = {}, bool wait = true);

enum class Received : uint8_t { kPacket, kNothing, kClosed };
// The next message. kNothing: none waits (`wait` false). What does not fit into `buffer`, or has more descriptors than
// kMaxMessageFds, is cut: `bytes` is then larger than the buffer, or `fds` is empty.
struct Packet {
  Received received = Received::kClosed;
  size_t bytes = 0;
  std::vector<host::FileDescriptor> fds;
};
Packet ReceivePacket(int socket, std::span<uint8_t> buffer, bool wait);

}  // namespace vireo::service
