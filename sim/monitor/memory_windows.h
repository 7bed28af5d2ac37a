// SPDX-License-Identifier: Apache-2.0
// What peers may access by memory windows: the binds that work requests of the NIC ask for, from when the device has
// read them. [IBTA vol. 1, 10.6.7.2]
//
// An upper bound: a bind may have been executed, or not yet; it counts until a completion says that it has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "sim/monitor/packet_rules.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

class MemoryWindows {
 public:
  // The entry of the mr table of this index; null: none.
  using Find = std::function<const spec::TableMr*(uint32_t index)>;
  explicit MemoryWindows(Find find) : find_(std::move(find)) {}

  void Clear();
  // The device has read a work request that binds a window. Returns the bind's number.
  uint64_t OnBind(uint32_t qpn, uint16_t pdn, const spec::RdmaSqReqBind& bind);
  // A completion says that it was executed: those before it have ended.
  void OnBound(uint64_t number);
  // Somebody invalidates a key: what is bound by it may end. A completion says that it has.
  void OnInvalidate(uint32_t rkey);
  void OnInvalidated(uint32_t rkey);
  void OnDeallocated(uint32_t window);

  // Of the peer, by a QP; as PacketRules::MayAccess.
  bool MayAccess(uint32_t qpn, uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address,
                 uint64_t bytes) const;
  bool MayInvalidate(uint32_t qpn, uint32_t rkey, uint16_t pdn) const;

 private:
  struct Binding {
    uint64_t number = 0;
    uint32_t qpn = 0;
    uint16_t pdn = 0;
    bool is_type_2 = false;
    spec::RdmaSqReqBind bind;
    uint64_t invalidates = 0;  // of its key, before it
  };
  struct Count {
    uint64_t begun = 0, ended = 0;
  };

  Find find_;
  uint64_t numbers_ = 0;
  std::vector<Binding> bindings_;
  std::unordered_map<uint32_t, Count> invalidates_;  // by key
};

}  // namespace vireo::sim::monitor
