// SPDX-License-Identifier: Apache-2.0
// Rules of the transport that several blocks need: the counterpart of rtl/rdma/vireo_rdma_pkg.sv.
#pragma once

#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// A path MTU has 2^(kMtuShift + ib_mtu) bytes. [IBTA vol. 1, 9.4.3.2]
inline constexpr uint32_t kMtuShift = 7;

// RETH.dma_length and every message: at most 2^31 bytes. [IBTA vol. 1, 9.3.3, 9.4.3]
inline constexpr uint32_t kMaxMessageBytes = uint32_t{1} << 31;

// Bytes of a packet that are in the extension of its token: the extended headers, and of ATOMIC WRITE the payload,
// which so goes with the request to what executes it.
constexpr uint8_t TokenExtensionBytes(const spec::OpcodeInfo& info) {
  const bool stores = info.operation == spec::BthOperation::kAtomicWrite;
  return static_cast<uint8_t>(info.extension_bytes + (stores ? spec::kAtomicBytes : 0));
}

// Of an atomic operation in host memory: the first byte is the lowest.
inline uint64_t HostValue(const uint8_t* data) {
  uint64_t value = 0;
  for (unsigned i = 0; i < spec::kAtomicBytes; ++i) value |= uint64_t{data[i]} << 8 * i;
  return value;
}

// What a FLUSH may request: something, and nothing that is reserved. A range has less than 2^31 bytes; a whole region's
// length is ignored. [IBTA vol. 1, A19.4.1]
constexpr bool IsFlushLegal(uint8_t placement, uint8_t selectivity, uint32_t length) {
  constexpr uint8_t kPlacements = spec::FlushPlacement::kGlobalVisibility | spec::FlushPlacement::kPersistence;
  if (placement == 0 || (placement & ~kPlacements) != 0) return false;
  return selectivity == static_cast<uint8_t>(spec::FlushSelectivity::kMemoryRegion) ||
         (selectivity == static_cast<uint8_t>(spec::FlushSelectivity::kRange) && length < kMaxMessageBytes);
}

// Transport service of a QP type. kCnp: there are no QPs of this type.
constexpr spec::BthService ServiceOf(spec::IbQpType type) {
  switch (type) {
    case spec::IbQpType::kRc: return spec::BthService::kRc;
    case spec::IbQpType::kUc: return spec::BthService::kUc;
    case spec::IbQpType::kUd:
    case spec::IbQpType::kGsi: return spec::BthService::kUd;
    default: return spec::BthService::kCnp;
  }
}

// The error that is reported for an access that memory check refuses.
constexpr spec::RdmaError MemoryError(spec::MemoryStatus status) {
  switch (status) {
    case spec::MemoryStatus::kKey: return spec::RdmaError::kBadMrn;
    case spec::MemoryStatus::kPd: return spec::RdmaError::kBadPdn;
    case spec::MemoryStatus::kRights: return spec::RdmaError::kBadAccessFlags;
    default: return spec::RdmaError::kInvalidLength;
  }
}

}  // namespace vireo::model
