// SPDX-License-Identifier: Apache-2.0
// Boards as devices of the suite, by name: board:LINE. LINE is a serial port, such as /dev/ttyUSB0, if wanted with its
// rate, as in /dev/ttyUSB0@1000000; or the board in RTL in this process (rtl_board.h): `simulated`, or
// `simulated-serial`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/nic/nic_context.h"

namespace vireo::sim {

// True: the name begins like that of a board. It is the device of one NIC; those around it are models.
bool IsBoardName(std::string_view name);

// For options that name a device, boards included: empty, or why this is none.
std::string CheckDeviceName(const std::string& name);

// The device of NIC number `nic` where all NICs have this one: around a board there are models.
std::string DeviceOfNic(const std::string& device, size_t nic);

// Opens the board when a NIC is made. If there is none, or it has another configuration, the factory prints why and
// returns null.
NicFactory BoardDeviceFactory(std::string_view name);

}  // namespace vireo::sim
