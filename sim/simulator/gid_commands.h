// SPDX-License-Identifier: Apache-2.0
// `vireo gid`: GIDs of a running simulation, as requests of its control socket.
#pragma once

#include <nlohmann/json.hpp>

#include "host/driver/result.h"
#include "sim/simulator/simulator.h"

namespace vireo::sim {

// {"gid": "list", "nic": 0} -> [{"index": 0, "gid": "fe80::…"}, …]
// {"gid": "add", "nic": 0, "setting": "192.0.2.7 vlan 5"} -> {"index": 4}
// {"gid": "del", "nic": 0, "index": 4} -> {}
// kInvalidArgument: with the reason, nothing is changed.
host::Result<nlohmann::json> RunGidCommand(Simulator& simulator, const nlohmann::json& request);

}  // namespace vireo::sim
