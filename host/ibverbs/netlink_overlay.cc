// SPDX-License-Identifier: Apache-2.0
// The descriptor is one end of a socket pair, so that poll() and timeouts are the system's; a request is answered
// before sendto() or sendmsg() returns. Intercepted also: getsockname (the port is the process's number), recvmsg (the
// sender is the kernel); bind, socket and close with other overlays. Not intercepted: send, recv, recvfrom, write,
// read, dup.
#include "host/ibverbs/netlink_overlay.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "host/ibverbs/next.h"
#include "host/ibverbs/objects.h"
#include "host/ibverbs/rdma_netlink.h"

#define VIREO_SOCKET_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

// The other end, by the program's descriptor. Never destroyed: programs close descriptors in static destructors.
struct NetlinkSockets {
  std::mutex lock;
  std::map<int, host::FileDescriptor> open;
  std::atomic<size_t> count = 0;  // read without the lock: most programs have none
};
NetlinkSockets& TheSockets() {
  static NetlinkSockets* const sockets = new NetlinkSockets;
  return *sockets;
}

// -1: it is none of ours.
int OtherEnd(int fd) {
  NetlinkSockets& sockets = TheSockets();
  if (sockets.count.load(std::memory_order_acquire) == 0) return -1;
  const std::lock_guard guard(sockets.lock);
  const auto found = sockets.open.find(fd);
  return found == sockets.open.end() ? -1 : found->second.get();
}

uint32_t PortId() { return static_cast<uint32_t>(getpid()); }

ssize_t Answer(int other_end, std::span<const uint8_t> request) {
  for (const std::vector<uint8_t>& datagram : AnswerRdmaNetlink(request, PortId())) {
    static auto* const send = Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto");
    if (send(other_end, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0) < 0) {
      errno = ENOBUFS;
      return -1;
    }
  }
  return static_cast<ssize_t>(request.size());
}

}  // namespace

int OpenNetlinkSocket(int type) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0, ends) != 0) return -1;
  host::FileDescriptor other(ends[1]);
  constexpr int kBytes = 1 << 20;  // of a dump; the system may allow less
  static_cast<void>(setsockopt(other.get(), SOL_SOCKET, SO_SNDBUF, &kBytes, sizeof kBytes));
  NetlinkSockets& sockets = TheSockets();
  const std::lock_guard guard(sockets.lock);
  sockets.open[ends[0]] = std::move(other);
  sockets.count.store(sockets.open.size(), std::memory_order_release);
  return ends[0];
}

bool IsNetlinkSocket(int fd) { return OtherEnd(fd) >= 0; }

void ForgetNetlinkSocket(int fd) {
  NetlinkSockets& sockets = TheSockets();
  if (sockets.count.load(std::memory_order_acquire) == 0) return;
  decltype(sockets.open)::node_type gone;  // destroyed without the lock, because that closes a descriptor
  const std::lock_guard guard(sockets.lock);
  gone = sockets.open.extract(fd);
  sockets.count.store(sockets.open.size(), std::memory_order_release);
}

}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

VIREO_SOCKET_API int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  static auto* const next = overlay::Next<int(int, sockaddr*, socklen_t*)>("getsockname");
  if (address == nullptr || bytes == nullptr || !overlay::IsNetlinkSocket(fd)) return next(fd, address, bytes);
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_pid = overlay::PortId();
  std::memcpy(address, &own, std::min<size_t>(*bytes, sizeof own));
  *bytes = sizeof own;
  return 0;
}

VIREO_SOCKET_API ssize_t sendto(int fd, const void* data, size_t bytes, int flags, const sockaddr* address,
                                socklen_t address_bytes) {
  static auto* const next = overlay::Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto");
  const int other_end = overlay::OtherEnd(fd);
  if (other_end < 0) return next(fd, data, bytes, flags, address, address_bytes);
  return overlay::Answer(other_end, {static_cast<const uint8_t*>(data), bytes});
}

VIREO_SOCKET_API ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const next = overlay::Next<ssize_t(int, const msghdr*, int)>("sendmsg");
  const int other_end = overlay::OtherEnd(fd);
  if (other_end < 0 || message == nullptr) return next(fd, message, flags);
  std::vector<uint8_t> request;
  for (const iovec& part : std::span(message->msg_iov, message->msg_iovlen)) {
    const auto* const from = static_cast<const uint8_t*>(part.iov_base);
    request.insert(request.end(), from, from + part.iov_len);
  }
  return overlay::Answer(other_end, request);
}

VIREO_SOCKET_API ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static auto* const next = overlay::Next<ssize_t(int, msghdr*, int)>("recvmsg");
  if (message == nullptr || !overlay::IsNetlinkSocket(fd)) return next(fd, message, flags);
  void* const name = message->msg_name;
  const socklen_t room = message->msg_namelen;
  message->msg_name = nullptr;
  message->msg_namelen = 0;
  const ssize_t got = next(fd, message, flags);
  message->msg_name = name;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (name != nullptr && got >= 0) {
    std::memcpy(name, &kernel, std::min<size_t>(room, sizeof kernel));
    message->msg_namelen = sizeof kernel;
  }
  return got;
}
