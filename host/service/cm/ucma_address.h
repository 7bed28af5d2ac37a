// SPDX-License-Identifier: Apache-2.0
// IP addresses of rdma_cm: socket addresses in commands, GIDs below.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <span>

#include "host/service/cm/messages.h"

namespace vireo::service {

struct UcmaAddress {
  sa_family_t family = AF_UNSPEC;  // AF_INET, AF_INET6
  uint16_t port = 0;
  cm::Gid gid{};  // IPv4: ::ffff:a.b.c.d
  uint32_t scope = 0;

  // 0.0.0.0 or ::
  bool is_any() const;
  bool is_loopback() const;
  // Names no interface: a bind to it is a bind to all, a request to it is one to this host. [Linux, cma_any_addr()]
  bool is_unspecific() const { return is_any() || is_loopback(); }
};

// From struct sockaddr_in or sockaddr_in6, by its family. None: another family, or truncated.
std::optional<UcmaAddress> FromSockaddr(std::span<const uint8_t> bytes);
// Returns the number of bytes written; 0 for AF_UNSPEC. `bytes` holds at least a sockaddr_in6.
size_t ToSockaddr(const UcmaAddress& address, std::span<uint8_t> bytes);
// Writes struct sockaddr_ib (48 bytes), the answer to a query for GIDs.
inline constexpr size_t kSockaddrIbBytes = 48;
void ToSockaddrIb(const cm::Gid& gid, uint16_t pkey, uint64_t service_id, std::span<uint8_t, kSockaddrIbBytes> bytes);

// The address in the private data of a request: IPv4 without the prefix of a GID.
cm::Gid ToIpHeader(const UcmaAddress& address);
UcmaAddress FromIpHeader(uint8_t ip_version, const cm::Gid& bytes, uint16_t port);

}  // namespace vireo::service
