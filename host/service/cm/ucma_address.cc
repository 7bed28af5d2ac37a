// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/ucma_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace vireo::service {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr uint16_t kAfIb = 27;  // <linux/socket.h>; missing in some libc versions

cm::Gid Mapped(const uint8_t* four) {
  cm::Gid gid{};
  std::ranges::copy(kMapped, gid.begin());
  std::copy_n(four, 4, gid.begin() + 12);
  return gid;
}

}  // namespace

bool UcmaAddress::is_any() const {
  const auto first = family == AF_INET ? gid.begin() + 12 : gid.begin();
  return family != AF_UNSPEC && std::all_of(first, gid.end(), [](uint8_t byte) { return byte == 0; });
}

bool UcmaAddress::is_loopback() const {
  if (family == AF_INET) return gid[12] == 127;
  cm::Gid one{};
  one[15] = 1;
  return family == AF_INET6 && gid == one;
}

std::optional<UcmaAddress> FromSockaddr(std::span<const uint8_t> bytes) {
  UcmaAddress address;
  if (bytes.size() < sizeof address.family) return std::nullopt;
  std::memcpy(&address.family, bytes.data(), sizeof address.family);
  if (address.family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, bytes.data(), sizeof in);
    address.port = ntohs(in.sin_port);
    address.gid = Mapped(reinterpret_cast<const uint8_t*>(&in.sin_addr));
    return address;
  }
  if (address.family == AF_INET6 && bytes.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, bytes.data(), sizeof in);
    address.port = ntohs(in.sin6_port);
    address.scope = in.sin6_scope_id;
    std::copy_n(in.sin6_addr.s6_addr, address.gid.size(), address.gid.begin());
    return address;
  }
  return std::nullopt;
}

size_t ToSockaddr(const UcmaAddress& address, std::span<uint8_t> bytes) {
  if (address.family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, &address.gid[12], 4);
    std::memcpy(bytes.data(), &in, sizeof in);
    return sizeof in;
  }
  if (address.family == AF_INET6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    in.sin6_scope_id = address.scope;
    std::ranges::copy(address.gid, in.sin6_addr.s6_addr);
    std::memcpy(bytes.data(), &in, sizeof in);
    return sizeof in;
  }
  return 0;
}

void ToSockaddrIb(const cm::Gid& gid, uint16_t pkey, uint64_t service_id, std::span<uint8_t, kSockaddrIbBytes> bytes) {
  // sib_family, sib_pkey, sib_flowinfo, sib_addr, sib_sid, sib_sid_mask, sib_scope_id; network byte order except the
  // first and the last. [librdmacm, <infiniband/ib.h>]
  std::ranges::fill(bytes, uint8_t{0});
  std::memcpy(bytes.data(), &kAfIb, sizeof kAfIb);
  bytes[2] = static_cast<uint8_t>(pkey >> 8);
  bytes[3] = static_cast<uint8_t>(pkey);
  std::ranges::copy(gid, bytes.begin() + 8);
  for (size_t i = 0; i < 8; ++i) {
    bytes[24 + i] = static_cast<uint8_t>(service_id >> (56 - 8 * i));
    bytes[32 + i] = 0xff;
  }
}

cm::Gid ToIpHeader(const UcmaAddress& address) {
  cm::Gid bytes = address.gid;
  if (address.family == AF_INET) std::fill_n(bytes.begin(), 12, uint8_t{0});
  return bytes;
}

UcmaAddress FromIpHeader(uint8_t ip_version, const cm::Gid& bytes, uint16_t port) {
  if (ip_version == 4) return {.family = AF_INET, .port = port, .gid = Mapped(&bytes[12])};
  return {.family = AF_INET6, .port = port, .gid = bytes};
}

}  // namespace vireo::service
