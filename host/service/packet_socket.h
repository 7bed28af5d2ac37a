// SPDX-License-Identifier: Apache-2.0
// Unix SOCK_SEQPACKET sockets: whole messages, with file descriptors. Received descriptors are close-on-exec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::service {

// Both ends block; the first one does not with `nonblocking_first`.
host::Result<std::pair<host::FileDescriptor, host::FileDescriptor>> PacketPair(bool nonblocking_first);

// Sends one message of two parts. False, and errno: the peer closed the socket, or (`wait` false) its buffer is full.
bool SendPacket(int socket, std::span<const uint8_t> first, std::span<const uint8_t> second = {},
                std::span<const int> fds = {}, bool wait = true);

enum class Received : uint8_t { kPacket, kNothing, kClosed };
// The next message. kNothing: none is pending (`wait` false). A message longer than `buffer`, or with more than
// kMaxMessageFds descriptors, is truncated: `bytes` is then larger than the buffer, or `fds` is empty.
struct Packet {
  Received received = Received::kClosed;
  size_t bytes = 0;
  std::vector<host::FileDescriptor> fds;
};
Packet ReceivePacket(int socket, std::span<uint8_t> buffer, bool wait);

}  // namespace vireo::service
