// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/icrc.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {
namespace {

// Copies one header of type T to `to` with its variant bits as ones.
template <typename T>
void CopyMasked(const uint8_t* from, uint8_t* to) {
  for (size_t i = 0; i < T::kBytes; ++i) to[i] = static_cast<uint8_t>(from[i] | T::kIcrcOnes[i]);
}

}  // namespace

uint32_t IcrcCompute(std::span<const uint8_t> datagram, bool is_ipv6) {
  constexpr size_t kPrefix = spec::kIcrcPrefixBytes;
  std::array<uint8_t, kPrefix + spec::Ipv6::kBytes + spec::Udp::kBytes + spec::Bth::kBytes> masked;
  std::fill_n(masked.begin(), kPrefix, uint8_t{0xff});

  const size_t udp = is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes;
  const size_t bth = udp + spec::Udp::kBytes;
  const size_t payload = bth + spec::Bth::kBytes;
  assert(datagram.size() >= payload);
  uint8_t* const to = masked.data() + kPrefix;
  if (is_ipv6) {
    CopyMasked<spec::Ipv6>(datagram.data(), to);
  } else {
    CopyMasked<spec::Ipv4>(datagram.data(), to);
  }
  CopyMasked<spec::Udp>(datagram.data() + udp, to + udp);
  CopyMasked<spec::Bth>(datagram.data() + bth, to + bth);

  const uint32_t crc = libdeflate_crc32(0, masked.data(), kPrefix + payload);
  // The library interprets null as a request for its initial value.
  if (datagram.size() == payload) return crc;
  return libdeflate_crc32(crc, datagram.data() + payload, datagram.size() - payload);
}

bool IcrcCheck(std::span<const uint8_t> datagram, bool is_ipv6) {
  const size_t end = datagram.size() - spec::kIcrcBytes;
  uint32_t received = 0;
  for (size_t i = 0; i < spec::kIcrcBytes; ++i) received |= uint32_t{datagram[end + i]} << (8 * i);
  return received == IcrcCompute(datagram.first(end), is_ipv6);
}

}  // namespace vireo::model
