// SPDX-License-Identifier: Apache-2.0
// One case of the campaign: one fault, one transport, one kind of device. Two NICs with checked traffic in both
// directions, beside it a reliable connection that the fault does not target, and afterwards new connections.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/faults/catalogue.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct CaseOptions {
  std::string device = "model";  // DeviceNames()
  const spec::Config* config = &spec::kNic1;
  std::string capture_path{};  // empty: none
};

struct CaseResult {
  uint64_t injected = 0;  // frames, reads, writes or host actions that the fault hit
  uint64_t detected = 0;  // sum of the counters listed in the catalogue
  // Messages of the targeted traffic, both directions; they add up to all of them.
  uint64_t recovered = 0, lost = 0, hung = 0;
  std::string reports;                       // as Outcome::reports
  std::map<std::string, uint64_t> counters;  // nonzero ones, with side: "near icrc"
  uint64_t trace_hash = 0;                   // over every event at both NICs' seams, with its cycle
  std::vector<std::string> violations;       // deviations from the catalogue; empty: none

  // Everything that must be equal on all devices.
  bool IsSameAs(const CaseResult& other) const {
    return injected == other.injected && detected == other.detected && recovered == other.recovered &&
           lost == other.lost && hung == other.hung && reports == other.reports && counters == other.counters &&
           trace_hash == other.trace_hash;
  }
};

// Requires that the fault has an outcome for the transport. All random choices depend on seed (seed.h), fault and
// transport, not on the device.
CaseResult RunCase(const Fault& fault, Transport transport, const CaseOptions& options);

}  // namespace vireo::sim
