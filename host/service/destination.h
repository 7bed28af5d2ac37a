// SPDX-License-Identifier: Apache-2.0
// Address resolution, GID to MAC, for commands of clients. The device requires the destination's MAC address with every
// path; clients that only know its GID leave it 0.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "host/driver/result.h"

namespace vireo::service {

// The MAC address of the host with a GID, if there is one.
using Neighbors = std::function<std::optional<std::array<uint8_t, 6>>(const std::array<uint8_t, 16>&)>;

// That of a multicast group, if the GID is one's. [RFC 2464, 7; RFC 1112, 6.4]
std::optional<std::array<uint8_t, 6>> GroupMac(const std::array<uint8_t, 16>& gid);

// Fills in a missing MAC address in the path of a command; other commands are unchanged. `request` has the command's
// length. kRefused with invalid_address: the GID cannot be resolved.
host::Status ResolveDestination(spec::RdmaCtrlCmd command, std::span<uint8_t> request, const Neighbors& neighbors);

}  // namespace vireo::service
