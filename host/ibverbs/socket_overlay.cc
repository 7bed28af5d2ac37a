// SPDX-License-Identifier: Apache-2.0
// TCP to the NICs' addresses, for programs that use one address for a control connection and for rdma_cm, as qperf. No
// network interface of the system has these addresses, and all NICs of a simulation are on one machine: connect() to
// the address of a NIC of the simulation, and bind() to one of the program's own, are with the loopback address. Not
// intercepted: datagrams, and names of the sockets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "host/ibverbs/netlink_overlay.h"
#include "host/ibverbs/next.h"
#include "host/ibverbs/objects.h"

#define VIREO_SOCKET_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

using Gid = std::array<uint8_t, 16>;

union Address {
  sockaddr any;
  sockaddr_in in;
  sockaddr_in6 in6;
};

bool IsStream(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

// Of an address that may be a NIC's.
std::optional<Gid> GidOf(int fd, const sockaddr* address, socklen_t bytes, Address& copy) {
  if (address == nullptr || bytes < sizeof(sa_family_t) || !IsActive()) return std::nullopt;
  const bool is_ipv4 = address->sa_family == AF_INET && bytes >= sizeof copy.in;
  if ((!is_ipv4 && (address->sa_family != AF_INET6 || bytes < sizeof copy.in6)) || !IsStream(fd)) return std::nullopt;
  copy = {};
  std::memcpy(&copy, address, is_ipv4 ? sizeof copy.in : sizeof copy.in6);
  Gid gid{};
  if (!is_ipv4) {
    std::memcpy(gid.data(), &copy.in6.sin6_addr, gid.size());
    if (IN6_IS_ADDR_LOOPBACK(&copy.in6.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&copy.in6.sin6_addr)) return std::nullopt;
    return gid;
  }
  constexpr size_t kIpv4Begin = 12;
  gid[kIpv4Begin - 1] = gid[kIpv4Begin - 2] = 0xff;
  std::memcpy(gid.data() + kIpv4Begin, &copy.in.sin_addr, sizeof copy.in.sin_addr);
  constexpr uint8_t kLoopback = 127;
  if (gid[kIpv4Begin] == kLoopback || copy.in.sin_addr.s_addr == INADDR_ANY) return std::nullopt;
  return gid;
}

bool IsOwn(const Gid& gid) {
  return std::ranges::any_of(VisibleDevices(), [&gid](const Device* device) {
    return std::ranges::any_of(device->gids->Read(),
                               [&gid](const service::Gid& own) { return std::ranges::equal(own.gid, gid); });
  });
}

bool IsOfANic(const Gid& gid) {
  return std::ranges::any_of(VisibleDevices(), [&gid](const Device* device) {
    const auto shared = service::SharedDevice::Connect(device->socket);
    return shared.ok() && (*shared)->IsNeighbor(gid);
  });
}

// An IPv6 socket may be for IPv4, too, but a link-local address needs its interface.
void MakeLoopback(Address& address) {
  if (address.any.sa_family == AF_INET) {
    address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return;
  }
  const bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&address.in6.sin6_addr);
  address.in6.sin6_scope_id = 0;
  if (is_ipv4) {
    const in_addr_t loopback = htonl(INADDR_LOOPBACK);
    std::memcpy(address.in6.sin6_addr.s6_addr + 12, &loopback, sizeof loopback);
  } else {
    address.in6.sin6_addr = in6addr_loopback;
  }
}

socklen_t BytesOf(const Address& address) {
  return address.any.sa_family == AF_INET ? sizeof address.in : sizeof address.in6;
}

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

VIREO_SOCKET_API int connect(int fd, const sockaddr* address, socklen_t bytes) {
  static auto* const next = overlay::Next<int(int, const sockaddr*, socklen_t)>("connect");
  overlay::Address copy;
  const auto gid = overlay::GidOf(fd, address, bytes, copy);
  if (!gid.has_value() || !overlay::IsOfANic(*gid)) return next(fd, address, bytes);
  overlay::MakeLoopback(copy);
  return next(fd, &copy.any, overlay::BytesOf(copy));
}

VIREO_SOCKET_API int bind(int fd, const sockaddr* address, socklen_t bytes) noexcept {
  static auto* const next = overlay::Next<int(int, const sockaddr*, socklen_t)>("bind");
  if (overlay::IsNetlinkSocket(fd)) return 0;  // its port is given
  overlay::Address copy;
  const auto gid = overlay::GidOf(fd, address, bytes, copy);
  if (!gid.has_value() || !overlay::IsOwn(*gid)) return next(fd, address, bytes);
  overlay::MakeLoopback(copy);
  return next(fd, &copy.any, overlay::BytesOf(copy));
}
