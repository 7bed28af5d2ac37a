// SPDX-License-Identifier: Apache-2.0
// A GID as a person writes it: "192.0.2.7", "2001:db8::7", "192.0.2.7 vlan 5".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/driver/result.h"

namespace vireo::sim {

struct GidSetting {
  std::array<uint8_t, 16> gid{};   // IPv4 as ::ffff:a.b.c.d
  std::optional<uint16_t> vlan{};  // 1 to 4094
  bool operator==(const GidSetting&) const = default;
};

// kInvalidArgument: not the address of one host, or no VLAN.
host::Result<GidSetting> ParseGidSetting(std::string_view text);
std::string ToText(const GidSetting& setting);

}  // namespace vireo::sim
