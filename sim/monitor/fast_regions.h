// SPDX-License-Identifier: Apache-2.0
// Memory regions that work requests of the NIC register, from when the device has read them. [IBTA vol. 1, 10.6.3]
//
// An upper bound, as MemoryWindows: a registration may have been executed, or not yet; it counts until a completion
// says that it has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "sim/monitor/packet_rules.h"
#include "sim/monitor/ring_rules.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

class FastRegions {
 public:
  // The entry of the mr table of this index; null: none.
  using Find = std::function<const spec::TableMr*(uint32_t index)>;
  explicit FastRegions(Find find) : find_(std::move(find)) {}

  void Clear();
  // The device has read a work request that registers a region; `data` is its list of pages, as far as it is read.
  // Returns the registration's number.
  uint64_t OnRegister(uint16_t pdn, const spec::RdmaSqReqReg& reg, const SendData& data);
  // A completion says that it was executed: those before it have ended.
  void OnRegistered(uint64_t number);
  // Somebody invalidates a key: what is registered by it may end. A completion says that it has.
  void OnInvalidate(uint32_t key);
  void OnInvalidated(uint32_t key);
  void OnDeallocated(uint32_t region);

  // These bytes, which are in one page, may be accessed by some key.
  bool Contains(uint64_t place, uint64_t bytes) const;
  // Of the peer; as PacketRules::MayAccess.
  bool MayAccess(uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address, uint64_t bytes) const;
  bool MayInvalidate(uint32_t key, uint16_t pdn) const;

 private:
  struct Registration {
    uint64_t number = 0;
    uint16_t pdn = 0;
    spec::RdmaSqReqReg reg;
    SendData data;
    uint64_t invalidates = 0;  // of its key, before it
  };
  struct Count {
    uint64_t begun = 0, ended = 0;
  };
  static bool HasPlace(const Registration& one, uint64_t place, uint64_t bytes);

  Find find_;
  uint64_t numbers_ = 0;
  std::vector<Registration> registrations_;
  std::unordered_map<uint32_t, Count> invalidates_;  // by key
};

}  // namespace vireo::sim::monitor
