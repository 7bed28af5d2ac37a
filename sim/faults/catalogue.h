// SPDX-License-Identifier: Apache-2.0
// The catalogue of faults: each has a name, a script that injects it, and the required outcome for each transport.
// Documented in docs/faults.md, tested by the campaign (campaign.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vireo::sim {

enum class Transport : uint8_t { kRc, kUc, kUd, kNet };  // kNet: Ethernet frames over the net queues
inline constexpr std::array<const char*, 4> kTransportNames = {"rc", "uc", "ud", "net"};

enum class FaultPlace : uint8_t {
  kWire,  // script of fault.h, on what both NICs send
  kPcie,  // script of pcie_fault.h, on reads and writes of the near NIC; address ranges: see Traffic::Places
  kHost,  // script of host_fault.h, on the near host
};
inline constexpr std::array<const char*, 3> kFaultPlaceNames = {"wire", "pcie", "host"};

// The required outcome of a fault. In any case no message arrives corrupted, nothing hangs, other connections are not
// affected, and afterwards new connections work (a device that was reset is opened again).
struct Outcome {
  // Most messages lost and repeated per injected fault. Always 0 for RC.
  uint8_t lost = 0, repeated = 0;
  bool reordered = false;  // they may arrive in another order
  // Empty: every work request succeeds and there is no event. Else the exact set of reports, however often each occurs:
  // "SIDE event TYPE CODE" or "SIDE status STATUS", sorted, separated by "; ". SIDE is near or far.
  std::string_view reports{};

  bool ends() const { return !reports.empty(); }
};

struct Fault {
  std::string_view name;
  FaultPlace place;
  std::string_view script;
  std::string_view does;
  std::array<std::optional<Outcome>, kTransportNames.size()> outcomes;  // by Transport; nullopt: not applicable
  // Counters that must detect it, separated by blanks; the campaign reports their sum as "detected". Empty: detection
  // is not required.
  std::string_view counters;
  std::string_view why;  // reason of the outcome
  // Connections that the fault does not target end, too.
  bool ends_all = false;
};

std::span<const Fault> Faults();
// Null if there is no fault of this name.
const Fault* FindFault(std::string_view name);

// "delivered", "loses", "repeats", "ends: …": for tables.
std::string Text(const Outcome& outcome);
// Markdown for docs/faults.md: a row for each fault.
std::string CatalogueTable();

}  // namespace vireo::sim
