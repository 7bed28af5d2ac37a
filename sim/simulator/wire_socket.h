// SPDX-License-Identifier: Apache-2.0
// Connects an outer port of the simulated switch to a Unix datagram socket: one Ethernet frame (without FCS) per
// datagram, the format of QEMU's `-netdev dgram`. Either side may start first, stop and restart.
//
// Frames out of the simulation queue here while the peer does not read, up to kWaitingBytesMax; beyond that they are
// dropped. Frames into the simulation queue in the kernel's socket buffer. One thread: the event loop's.
#pragma once

#include <sys/un.h>

#include <cstdint>
#include <deque>
#include <functional>
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
  static constexpr size_t kFrameBytesMax = 65'536;  // a NIC's MAC enforces its own limit
  struct Counters {
    uint64_t received = 0;           // datagrams passed to the port as frames
    uint64_t sent = 0;               // frames sent as datagrams
    uint64_t malformed_drops = 0;    // datagrams shorter than an Ethernet header or longer than kFrameBytesMax
    uint64_t unreachable_drops = 0;  // no peer socket, or it rejects a datagram of this length
    uint64_t overflow_drops = 0;     // more than kWaitingBytesMax queued
  };

  // Binds to `path`, replacing a stale socket, and removes it at the end; frames go to `path`.peer. Loop and port must
  // outlive it. kInvalidArgument: the path is empty or too long; kLost: a system call failed.
  static host::Result<std::unique_ptr<WireSocket>> Open(service::EventLoop& loop, OuterPort& port,
                                                        const std::string& path);
  ~WireSocket();
  WireSocket(const WireSocket&) = delete;
  WireSocket& operator=(const WireSocket&) = delete;

  const Counters& counters() const { return counters_; }
  // `act` is called before each frame leaves the simulation.
  void BeforeSend(std::function<void()> act) { before_send_ = std::move(act); }

 private:
  enum class Outcome : uint8_t { kSent, kWouldBlock, kFailed };

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
  host::FileDescriptor waiter_;    // while frames are queued: connected to the peer, writable when it has room
  host::FileDescriptor has_room_;  // readable when that one is writable
  sockaddr_un peer_{};
  std::function<void()> before_send_;
  std::vector<uint8_t> buffer_;
  std::deque<std::vector<uint8_t>> waiting_;
  size_t waiting_bytes_ = 0;
  Counters counters_;
};

}  // namespace vireo::sim
