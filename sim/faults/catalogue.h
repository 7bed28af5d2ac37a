// SPDX-License-Identifier: Apache-2.0
// The catalogue of faults: every one has a name, a script that makes it, and for each transport what must come of it.
// docs/faults.md shows it; the campaign (campaign.h) tries it.
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
  kPcie,  // script of pcie_fault.h, on reads of the near NIC; places: see Traffic::Places
  kHost,  // script of host_fault.h: what the near host does
};
inline constexpr std::array<const char*, 3> kFaultPlaceNames = {"wire", "pcie", "host"};

// What must come of a fault. Whatever it is: nothing arrives that was not sent so, nothing hangs, a connection that no
// fault hits does not notice, and afterwards new connections work (a device that was reset is opened again).
struct Outcome {
  // Messages that never arrive, and such that arrive once more, at most so many for each fault that acted. Of a
  // reliable connection always 0.
  uint8_t lost = 0, repeated = 0;
  bool reordered = false;  // they may arrive in another order
  // Empty: every work request succeeds and nobody gets an event. Else exactly what is reported, whatever how often:
  // "SIDE event TYPE CODE" or "SIDE status STATUS", each with a semicolon behind it, sorted. SIDE is near or far.
  std::string_view reports{};

  bool ends() const { return !reports.empty(); }
};

struct Fault {
  std::string_view name;
  FaultPlace place;
  std::string_view script;
  std::string_view does;
  std::array<std::optional<Outcome>, kTransportNames.size()> outcomes;  // by Transport; none: it means nothing there
  // Which counters must show it, separated by blanks; their sum is what the campaign calls detected. Empty: it is
  // within what a NIC has to stand, and nobody counts it.
  std::string_view counters;
  std::string_view why;  // of the outcome
  // Connections that it is not aimed at end, too.
  bool ends_all = false;
};

std::span<const Fault> Faults();
// Null if there is none of this name.
const Fault* FindFault(std::string_view name);

// "delivered", "loses", "repeats", "ends: …": for tables.
std::string Text(const Outcome& outcome);
// Markdown for docs/faults.md: a row for each fault.
std::string CatalogueTable();

}  // namespace vireo::sim
