// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/control_commands.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "host/service/protocol.h"
#include "sim/simulator/gid_setting.h"

namespace vireo::sim {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;  // reasons in their order

host::Error Refused(const std::string& why) { return {host::ErrorCode::kInvalidArgument, why}; }

// Empty: absent, or not a text.
std::string Text(const json& request, const char* key) {
  return request.contains(key) && request[key].is_string() ? request[key].get<std::string>() : std::string();
}
// A number that nothing has: absent, or not a whole number.
uint64_t Number(const json& request, const char* key) {
  return request.contains(key) && request[key].is_number_unsigned() ? request[key].get<uint64_t>() : ~uint64_t{0};
}

host::Result<ordered_json> RunGidCommand(Simulator& simulator, const json& request) {
  const std::string command = Text(request, "gid");
  const uint64_t nic = Number(request, "nic");
  if (nic >= simulator.size()) return Refused("there is no such NIC");
  if (command == "list") {
    ordered_json entries = ordered_json::array();
    for (const auto& [index, setting] : simulator.Gids(nic)) {
      entries.push_back({{"index", index}, {"gid", ToText(setting)}});
    }
    return entries;
  }
  if (command == "add") {
    const host::Result<GidSetting> setting = ParseGidSetting(Text(request, "setting"));
    if (!setting.ok()) return setting.error();
    const host::Result<uint16_t> index = simulator.AddGid(nic, *setting);
    if (!index.ok()) return index.error();
    return ordered_json{{"index", *index}};
  }
  if (command == "del") {
    const uint64_t index = Number(request, "index");
    if (index >= service::kMaxGids) return Refused("there is no such GID");
    const host::Status deleted = simulator.DeleteGid(nic, static_cast<uint16_t>(index));
    if (!deleted.ok()) return deleted.error();
    return ordered_json::object();
  }
  return Refused("there is no command '" + command + "'");
}

ordered_json ListDrops(const Simulator& simulator, DropCounters& drops) {
  drops.Update();
  ordered_json all = ordered_json::array();
  for (size_t nic = 0; nic < simulator.size(); ++nic) {
    ordered_json& of_nic = all.emplace_back(ordered_json::object());
    for (const auto& [reason, frames] : drops.of(nic)) of_nic[reason] = frames;
  }
  return all;
}

ordered_json ListFrames(Simulator& simulator) {
  ordered_json all = ordered_json::array();
  for (size_t nic = 0; nic < simulator.size(); ++nic) {
    const MacPort::Counters& counters = simulator.system().host(nic).station().mac().counters();
    all.push_back({{"sent", counters.sent_frames},
                   {"sent_bytes", counters.sent_bytes},
                   {"received", counters.received_frames},
                   {"received_bytes", counters.received_bytes}});
  }
  return all;
}

ordered_json ToJson(const service::Service::Client::QueuePair& qp) {
  const spec::RdmaAckQueryQp& now = qp.attributes;
  ordered_json out{{"qpn", qp.qpn},
                   {"type", spec::ToString(qp.type)},
                   {"state", spec::ToString(now.qp_state)},
                   {"sq_psn", now.sq_psn},
                   {"rq_psn", now.rq_psn}};
  const bool is_connected = qp.type == spec::IbQpType::kRc || qp.type == spec::IbQpType::kUc;
  GidSetting peer;
  std::ranges::copy(now.ah_attr.grh.dgid, peer.gid.begin());
  if (is_connected && peer != GidSetting()) {
    out["dest_qpn"] = now.dest_qp_num;
    out["dgid"] = ToText(peer);
  }
  return out;
}

ordered_json ListPrograms(Simulator& simulator) {
  ordered_json all = ordered_json::array();
  for (size_t nic = 0; nic < simulator.size(); ++nic) {
    ordered_json& of_nic = all.emplace_back(ordered_json::array());
    for (const service::Service::Client& client : simulator.Programs(nic)) {
      ordered_json qps = ordered_json::array();
      for (const auto& qp : client.qps) qps.push_back(ToJson(qp));
      of_nic.push_back({{"pid", client.process},
                        {"pds", client.pds},
                        {"mrs", client.mrs},
                        {"ahs", client.ahs},
                        {"cqs", client.cqs},
                        {"srqs", client.srqs},
                        {"qps", qps}});
    }
  }
  return all;
}

// Of the NIC only: a guest's queue pair 1 and regions over all of its memory are none of its objects.
ordered_json ListGuests(const Simulator& simulator) {
  ordered_json all = ordered_json::array();
  for (size_t guest = 0; guest < simulator.guests(); ++guest) {
    const pvrdma::Objects& objects = simulator.guest_objects(guest);
    all.push_back({{"contexts", objects.contexts.size()},
                   {"pds", objects.pds.size()},
                   {"mrs", objects.mrs.size()},
                   {"cqs", objects.cqs.size()},
                   {"qps", objects.qps.size()},
                   {"srqs", objects.srqs.size()},
                   {"gids", objects.gids.size()}});
  }
  return all;
}

ordered_json ListLimits(const Simulator& simulator) {
  ordered_json all = ordered_json::array();
  for (size_t guest = 0; guest < simulator.guests(); ++guest) {
    ordered_json& limits = all.emplace_back(ordered_json::object());
    for (const auto& [name, count] : verbs::kQuotaKinds) limits[name] = simulator.guest_quota(guest).*count;
  }
  return all;
}

}  // namespace

host::Result<ordered_json> RunControlCommand(Simulator& simulator, DropCounters& drops, const json& request) {
  if (request.contains("gid")) return RunGidCommand(simulator, request);
  if (Text(request, "drops") == "list") return ListDrops(simulator, drops);
  if (Text(request, "frames") == "list") return ListFrames(simulator);
  if (Text(request, "programs") == "list") return ListPrograms(simulator);
  if (Text(request, "guests") == "list") return ListGuests(simulator);
  if (Text(request, "time") == "list") return ordered_json{{"busy_ns", simulator.busy_ns()}};
  if (Text(request, "guests") == "limits") return ListLimits(simulator);
  return Refused("a request is for gid, drops, frames, programs, guests or time");
}

}  // namespace vireo::sim
