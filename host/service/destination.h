// SPDX-License-Identifier: Apache-2.0
// Who is where on the link: what ARP and neighbour discovery are to the kernel. The device wants the destination's MAC
// address with every path; clients that only know its GID leave it 0.
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

// Fills in the MAC address that a command's path lacks; other commands stay as they are. `request` is as long as the
// command's. kRefused, invalid_address: nobody has this GID.
host::Status FillInDestination(spec::RdmaCtrlCmd command, std::span<uint8_t> request, const Neighbors& neighbors);

}  // namespace vireo::service
