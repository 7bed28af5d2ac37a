// SPDX-License-Identifier: Apache-2.0
// What a running simulation can be asked through its control socket: `vireo gid`, `vireo status`.
#pragma once

#include <nlohmann/json.hpp>

#include "host/driver/result.h"
#include "sim/simulator/drop_counters.h"
#include "sim/simulator/simulator.h"

namespace vireo::sim {

// {"gid": "list", "nic": 0} -> [{"index": 0, "gid": "fe80::…"}, …]
// {"gid": "add", "nic": 0, "setting": "192.0.2.7 vlan 5"} -> {"index": 4}
// {"gid": "del", "nic": 0, "index": 4} -> {}
// {"drops": "list"} -> [{"rx_buffer_drops": 0, …}, …] by NIC: dropped frames by reason. Runs the simulation some
//     microseconds, see DropCounters.
// {"frames": "list"} -> [{"sent": 3, "sent_bytes": 180, "received": 2, "received_bytes": 120}, …] by NIC: what its MAC
//     has sent and received; bytes without FCS, sent ones without padding.
// {"programs": "list"} -> [[{"pid": 7, "pds": 1, "mrs": 2, "ahs": 0, "cqs": 1, "srqs": 0, "qps": [{"qpn": 17,
//     "type": "rc", "state": "rts", "sq_psn": 5, "rq_psn": 9, "dest_qpn": 23, "dgid": "10.0.0.2"}, …]}, …], …] by NIC
//     and program; `sq_psn`: of the next new packet, `rq_psn`: expected next. The destination is that of RC and UC,
//     from RTR on. Runs the simulation some microseconds per queue pair.
// {"guests": "list"} -> [{"contexts": 1, "pds": 1, "mrs": 0, "cqs": 2, "qps": 0, "srqs": 0, "gids": 2}, …] by PVRDMA
//     guest, as in status.json: the objects that it has now. All are 0 while no driver runs.
// {"time": "list"} -> {"busy_ns": 7000}: simulated time in which the NICs and the network had work; with --virtual-time
// all.
// {"guests": "limits"} -> [{"pds": 512, "mrs": 2047, …}, …] by PVRDMA guest: the most that it may have.
// kInvalidArgument: with the reason, nothing is changed.
host::Result<nlohmann::ordered_json> RunControlCommand(Simulator& simulator, DropCounters& drops,
                                                       const nlohmann::json& request);

}  // namespace vireo::sim
