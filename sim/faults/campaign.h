// SPDX-License-Identifier: Apache-2.0
// One fault, one transport, one kind of device: two NICs with checked traffic in both directions, beside it a reliable
// connection that the fault is not aimed at, and afterwards new connections.
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
  uint64_t injected = 0;  // frames, reads or acts of a host that the fault hit
  uint64_t detected = 0;  // sum of the counters that the catalogue names
  // Of the messages of the traffic that the fault is aimed at, both ways; their sum is all of them.
  uint64_t recovered = 0, lost = 0, hung = 0;
  std::string reports;                       // as Outcome::reports
  std::map<std::string, uint64_t> counters;  // those that are not 0, with side: "near icrc"
  uint64_t trace_hash = 0;                   // every event at both NICs' seams, with its cycle
  std::vector<std::string> complaints;       // what is not as the catalogue says; empty: all is

  // What every device must give the same for.
  bool IsSameAs(const CaseResult& other) const {
    return injected == other.injected && detected == other.detected && recovered == other.recovered &&
           lost == other.lost && hung == other.hung && reports == other.reports && counters == other.counters &&
           trace_hash == other.trace_hash;
  }
};

// The fault has an outcome for the transport. All random choices follow from the seed (seed.h), fault and transport,
// not from the device.
CaseResult RunCase(const Fault& fault, Transport transport, const CaseOptions& options);

}  // namespace vireo::sim
