// SPDX-License-Identifier: Apache-2.0
// The invariant CRC of RoCEv2 packets. [IBTA vol. 1, 7.8.1; A17.3.3]
//
// A datagram here begins with its IP header (IPv4 without options, or IPv6) and contains at least the headers up to the
// BTH, as checked by the caller; these functions ignore length fields.
#pragma once

#include <cstdint>
#include <span>

namespace vireo::model {

// The ICRC of a datagram that ends before its ICRC (that is, with the pad). Sent least significant byte first.
uint32_t IcrcCompute(std::span<const uint8_t> datagram, bool is_ipv6);

// True if the last four bytes of a datagram are its ICRC.
bool IcrcCheck(std::span<const uint8_t> datagram, bool is_ipv6);

}  // namespace vireo::model
