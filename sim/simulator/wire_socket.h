// SPDX-License-Identifier: Apache-2.0
// The simulated wire's other end in the real world: a Unix datagram socket, one Ethernet frame (without FCS) per
// datagram, as QEMU's `-netdev dgram` speaks it. Either side may start first, and go and come back.
//
// Out of the simulation, frames wait here while the peer does not read, so that a slow peer loses nothing; what would
// be more than kWaitingBytesMax is dropped. Into it, they wait in the system's socket. One thread: the event loop's.
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"
#include "host/service/event_loop.h"
#include "sim/wire/outer_port.h"

namespace vireo::sim {

class WireSocket {
 public:
  static constexpr size_t kWaitingBytesMax = size_t{16} << 20;
  static constexpr size_t kFrameBytesMax = 65'536;  // what a NIC can take is its MAC's matter
  struct Counters {
    uint64_t received = 0;           // datagrams that became frames
    uint64_t sent = 0;               // frames that became datagrams
    uint64_t malformed_drops = 0;    // datagrams shorter than an Ethernet header or longer than kFrameBytesMax
    uint64_t unreachable_drops = 0;  // nobody has the peer's socket, or it takes no datagram of this length
    uint64_t overflow_drops = 0;
  };

  // The socket is at `path`, in place of what was left there, and is removed at the end; frames go to `path`.peer. Loop
  // and port outlive it. kInvalidArgument: the path is empty or too long; kLost: the system refused.
  static host::Result<std::unique_ptr<WireSocket>> Open(service::EventLoop& loop, OuterPort& port,
                                                        const std::string& path);
  ~WireSocket();
  WireSocket(const WireSocket&) = delete;
  WireSocket& operator=(const WireSocket&) = delete;

  const Counters& counters() const { return counters_; }

 private:
  enum class Outcome : uint8_t { kSent, kNotNow, kFailed };

  WireSocket(service::EventLoop& loop, OuterPort& port, std::string path)
      : loop_(loop), port_(port), path_(std::move(path)) {}
  host::Status SetUp();
  void Receive();
  void Send(const std::vector<uint8_t>& frame);
  Outcome TrySend(const std::vector<uint8_t>& frame);
  void SendWaiting();
  void AwaitRoom(bool on);

  service::EventLoop& loop_;
  OuterPort& port_;
  const std::string path_;
  host::FileDescriptor socket_;
  host::FileDescriptor has_room_;  // readable when the peer has room for a datagram and somebody waits for that
  sockaddr_un peer_{};
  std::vector<uint8_t> buffer_;
  std::deque<std::vector<uint8_t>> waiting_;
  size_t waiting_bytes_ = 0;
  Counters counters_;
};

}  // namespace vireo::sim
