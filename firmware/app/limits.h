// SPDX-License-Identifier: Apache-2.0
// Maximum numbers of objects: enough for every named configuration, or for VIREO_FIRMWARE_CONFIG only (a `Config` of
// the contract), which then starts faster and takes less memory. A device with more is rejected at start.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

constexpr uint32_t Largest(uint32_t spec::Config::*parameter) {
#ifdef VIREO_FIRMWARE_CONFIG
  return spec::VIREO_FIRMWARE_CONFIG.*parameter;
#else
  uint32_t largest = 0;
  for (const spec::Config* config : spec::kConfigs) {
    if (config->*parameter > largest) largest = config->*parameter;
  }
  return largest;
#endif
}

inline constexpr uint32_t kMaxNetPairs = Largest(&spec::Config::net_queue_pairs);
inline constexpr uint32_t kMaxPds = Largest(&spec::Config::num_pds);
inline constexpr uint32_t kMaxCqs = Largest(&spec::Config::num_cqs);
inline constexpr uint32_t kMaxQps = Largest(&spec::Config::num_qps);
inline constexpr uint32_t kMaxMrs = Largest(&spec::Config::num_mrs);
inline constexpr uint32_t kMaxTranslations = Largest(&spec::Config::num_translations);
inline constexpr uint32_t kMaxAhs = Largest(&spec::Config::num_ahs);
inline constexpr uint32_t kMaxGids = Largest(&spec::Config::num_gids);
// At least 1, so that there is an array of them.
inline constexpr uint32_t kMaxMcastAttach =
    Largest(&spec::Config::max_mcast_attach) != 0 ? Largest(&spec::Config::max_mcast_attach) : 1;
// Net queues, control queue, CQs, two per QP, event queue.
inline constexpr uint32_t kMaxQueues = 2 * kMaxNetPairs + 1 + kMaxCqs + 2 * kMaxQps + 1;

// The structure with all bits set: each field has its largest value.
template <typename Struct>
constexpr Struct AllOnes() {
  uint8_t bytes[Struct::kBytes];
  for (auto& byte : bytes) byte = 0xff;
  return Struct::Decode(bytes);
}

inline constexpr uint16_t kVlanIdentifier = AllOnes<spec::VlanTag>().vid;  // in the tag control information
inline constexpr uint32_t kVlanEntries = (kVlanIdentifier + 1u) / spec::kTableVlanFilterBits;
inline constexpr uint32_t kPairsPerRssEntry = sizeof(spec::TableRss::pair);
inline constexpr uint32_t kRssEntries = 1 + spec::kTableRssQueues / kPairsPerRssEntry;

}  // namespace vireo::firmware
