// SPDX-License-Identifier: Apache-2.0
// Constants and tables of the completer, which its parts share: states, status of a NAK, window of PSNs.
#ifndef VIREO_MODEL_RDMA_COMPLETER_RULES_H_
#define VIREO_MODEL_RDMA_COMPLETER_RULES_H_

#include <cstdint>

#include "model/rdma/completer.h"

namespace vireo::model {

// Of a work request or replay.
inline uint32_t Number(uint32_t value) { return value % (1U << WorkFence::kCountBits); }

// A requester has no more PSNs outstanding than this. [IBTA vol. 1, 9.7.1]
inline constexpr uint32_t kMostOutstanding = 1U << 23;

// Two in the slice, one in the requester's register, and those decided before the hold reached the requester; this
// block accepts one in two cycles.
inline constexpr uint8_t kRecordsInFlight = 8;

// States in which records are valid; in others they are left over from before a clear.
inline bool KeepsRecords(spec::IbQpState state) {
  return state == spec::IbQpState::kRts || state == spec::IbQpState::kSqd || state == spec::IbQpState::kSqe;
}

// States in which records complete.
inline bool CompletesIn(spec::IbQpState state) { return KeepsRecords(state) || state == spec::IbQpState::kErr; }

// States before a QP sends. [IBTA vol. 1, 10.3.1]
inline bool IsBeforeSend(spec::IbQpState state) {
  return state == spec::IbQpState::kReset || state == spec::IbQpState::kInit || state == spec::IbQpState::kRtr;
}

inline spec::AethKind KindOf(uint8_t syndrome) { return static_cast<spec::AethKind>(syndrome >> 5 & 3); }

// [IBTA vol. 1, tables 44, 45; 11.6.2]
inline spec::IbWcStatus StatusOfNak(uint8_t syndrome) {
  if (KindOf(syndrome) == spec::AethKind::kRnrNak) return spec::IbWcStatus::kRnrRetryExcErr;
  if (KindOf(syndrome) != spec::AethKind::kNak) return spec::IbWcStatus::kBadRespErr;
  switch (static_cast<spec::NakCode>(syndrome & 0x1f)) {
    case spec::NakCode::kPsnSequenceError: return spec::IbWcStatus::kRetryExcErr;
    case spec::NakCode::kInvalidRequest: return spec::IbWcStatus::kRemInvReqErr;
    case spec::NakCode::kRemoteAccessError: return spec::IbWcStatus::kRemAccessErr;
    case spec::NakCode::kRemoteOperationalError: return spec::IbWcStatus::kRemOpErr;
    default: return spec::IbWcStatus::kBadRespErr;
  }
}

// Error code of the event.
inline spec::RdmaError ErrorOfNak(spec::IbWcStatus status) {
  switch (status) {
    case spec::IbWcStatus::kRetryExcErr: return spec::RdmaError::kRetryExceeded;
    case spec::IbWcStatus::kRnrRetryExcErr: return spec::RdmaError::kRnrRetryExceeded;
    case spec::IbWcStatus::kRemInvReqErr: return spec::RdmaError::kRemoteInvalidRequest;
    case spec::IbWcStatus::kRemAccessErr: return spec::RdmaError::kRemoteAccessError;
    case spec::IbWcStatus::kRemOpErr: return spec::RdmaError::kRemoteOperationalError;
    default: return spec::RdmaError::kBadResponse;
  }
}

inline bool IsSequenceNak(uint8_t syndrome) {
  return KindOf(syndrome) == spec::AethKind::kNak &&
         static_cast<spec::NakCode>(syndrome & 0x1f) == spec::NakCode::kPsnSequenceError;
}

}  // namespace vireo::model

#endif  // VIREO_MODEL_RDMA_COMPLETER_RULES_H_
