// SPDX-License-Identifier: Apache-2.0
// PVRDMA's structures from and to the NIC's. Field values that the NIC checks itself pass unchanged.
#pragma once

#include <cstdint>
#include <optional>

#include "host/driver/result.h"
#include "sim/pvrdma/abi.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::pvrdma {

inline constexpr uint8_t kPort = spec::kRdmaPortNum;

// Rights of a region. Nothing: the NIC does not have one of them.
std::optional<uint32_t> RegionAccess(uint32_t access_flags, bool has_atomics);
// All but the path. Nothing: an attribute that the NIC does not have, or a value that its command cannot express.
struct Modification {
  spec::RdmaCmdModifyQp command{};
  uint32_t mask = 0;
};
std::optional<Modification> FromModify(uint32_t mask, const QpAttributes& attributes, bool has_atomics);
// All but the path.
QpAttributes FromQuery(const spec::RdmaAckQueryQp& state);

// `sgid_index` and `dmac` are the NIC's.
spec::RdmaAhAttr FromPath(const Path& path, uint8_t sgid_index);
spec::RdmaAhAttr FromVector(const AddressVector& vector, uint8_t sgid_index);
Path ToPath(const spec::RdmaAhAttr& attributes, uint8_t sgid_index);

// Of a send request; nothing: no NIC offers it.
std::optional<spec::IbWrOpcode> FromOpcode(WrOpcode opcode);
constexpr bool IsAtomic(WrOpcode opcode) { return opcode == WrOpcode::kCompareSwap || opcode == WrOpcode::kFetchAdd; }
constexpr bool Invalidates(WrOpcode opcode) {
  return opcode == WrOpcode::kSendWithInv || opcode == WrOpcode::kLocalInv;
}
uint8_t FromSendFlags(uint32_t flags);
// All but the queue pair's handle.
Cqe FromCompletion(const spec::RdmaCqReq& completion);
// Nothing: not an event of this ABI.
std::optional<EventType> FromEvent(spec::RdmaEventType type);

// The lanes and their speed that a link reports [IBTA vol. 1, 14.2.5.6].
struct LinkCode {
  uint8_t width = 0, speed = 0;
};
LinkCode LinkCodeOf(uint32_t mbps);

}  // namespace vireo::sim::pvrdma
