// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/gid_setting.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace vireo::sim {
namespace {

constexpr size_t kIpv4Begin = 12;
constexpr std::array<uint8_t, kIpv4Begin> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool IsMapped(const std::array<uint8_t, 16>& gid) {
  return std::ranges::equal(std::span(gid).first(kIpv4Begin), kMapped);
}

// Neither "this network", loopback, multicast, reserved nor broadcast. [RFC 6890, 2.2.2; RFC 5771, 3; RFC 4291, 2.4]
bool IsOfHost(const std::array<uint8_t, 16>& gid) {
  if (IsMapped(gid)) return gid[kIpv4Begin] != 0 && gid[kIpv4Begin] != 127 && gid[kIpv4Begin] < 224;
  return gid[0] != 0xff && std::ranges::any_of(std::span(gid).first(15), [](uint8_t byte) { return byte != 0; });
}

}  // namespace

host::Result<GidSetting> ParseGidSetting(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return host::Error{host::ErrorCode::kInvalidArgument,
                       fmt::format("'{}' {}; examples: 192.0.2.7, 2001:db8::7, 192.0.2.7 vlan 5", text, why)};
  };
  constexpr std::string_view kVlan = " vlan ";
  const size_t end = text.find(kVlan);
  const std::string address(text.substr(0, end));
  GidSetting setting;
  if (inet_pton(AF_INET, address.c_str(), setting.gid.data() + kIpv4Begin) == 1) {
    std::ranges::copy(kMapped, setting.gid.begin());
  } else if (inet_pton(AF_INET6, address.c_str(), setting.gid.data()) != 1) {
    return fail("is not an IP address");
  }
  if (!IsOfHost(setting.gid)) return fail("is not the address of one host");
  if (end == std::string_view::npos) return setting;
  const std::string_view number = text.substr(end + kVlan.size());
  uint16_t vlan = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), vlan);
  // 0 and 4095 are no VLAN. [IEEE 802.1Q, table 9-2]
  if (error != std::errc() || stop != number.data() + number.size() || vlan == 0 || vlan > 4094) {
    return fail("needs a VLAN of 1 to 4094");
  }
  setting.vlan = vlan;
  return setting;
}

std::string ToText(const GidSetting& setting) {
  char address[INET6_ADDRSTRLEN] = {};
  if (IsMapped(setting.gid)) {
    inet_ntop(AF_INET, setting.gid.data() + kIpv4Begin, address, sizeof address);
  } else {
    inet_ntop(AF_INET6, setting.gid.data(), address, sizeof address);
  }
  return setting.vlan.has_value() ? fmt::format("{} vlan {}", address, *setting.vlan) : address;
}

}  // namespace vireo::sim
