// SPDX-License-Identifier: Apache-2.0
// Classification of GIDs, which are 16 bytes in network order.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace vireo::firmware {

inline constexpr size_t kGidBytes = 16;

// ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
constexpr bool IsIpv4(const uint8_t* gid) {
  for (size_t i = 0; i < 10; ++i) {
    if (gid[i] != 0) return false;
  }
  return gid[10] == 0xff && gid[11] == 0xff;
}

// :: or ::ffff:0.0.0.0
constexpr bool IsZero(const uint8_t* gid) {
  for (size_t i = IsIpv4(gid) ? 12 : 0; i < kGidBytes; ++i) {
    if (gid[i] != 0) return false;
  }
  return true;
}

// ff00::/8 (RFC 4291, 2.7) or ::ffff:224.0.0.0/100 (RFC 5771).
constexpr bool IsMulticast(const uint8_t* gid) { return IsIpv4(gid) ? (gid[12] & 0xf0) == 0xe0 : gid[0] == 0xff; }

}  // namespace vireo::firmware
