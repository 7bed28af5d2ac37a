// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/qp_rules.h"

namespace vireo::firmware {
namespace {

using spec::IbQpState;
using Mask = spec::IbQpAttrMask;

struct Attributes {
  uint32_t required;
  uint32_t allowed;
};
struct Row {
  IbQpState from;
  IbQpState to;
  Attributes rc;
  Attributes uc;
  Attributes ud;
};

constexpr uint32_t kRcToRts = Mask::kAccessFlags | Mask::kMinRnrTimer | Mask::kRateLimit;
constexpr uint32_t kUcToRts = Mask::kAccessFlags | Mask::kRateLimit;
constexpr uint32_t kUdToRts = Mask::kQkey | Mask::kRateLimit;
constexpr uint32_t kPath = Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn;

// In addition: any state to RESET or ERR, with no attribute but cur_state.
constexpr Row kRows[] = {
    {.from = IbQpState::kReset,
     .to = IbQpState::kInit,
     .rc = {Mask::kAccessFlags, 0},
     .uc = {Mask::kAccessFlags, 0},
     .ud = {Mask::kQkey, 0}},
    {.from = IbQpState::kInit,
     .to = IbQpState::kInit,
     .rc = {0, Mask::kAccessFlags},
     .uc = {0, Mask::kAccessFlags},
     .ud = {0, Mask::kQkey}},
    {.from = IbQpState::kInit,
     .to = IbQpState::kRtr,
     .rc = {kPath | Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer, Mask::kAccessFlags},
     .uc = {kPath, Mask::kAccessFlags},
     .ud = {0, Mask::kQkey}},
    {.from = IbQpState::kRtr,
     .to = IbQpState::kRts,
     .rc = {Mask::kSqPsn | Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic, kRcToRts},
     .uc = {Mask::kSqPsn, kUcToRts},
     .ud = {Mask::kSqPsn, kUdToRts}},
    {.from = IbQpState::kRts, .to = IbQpState::kRts, .rc = {0, kRcToRts}, .uc = {0, kUcToRts}, .ud = {0, kUdToRts}},
    {.from = IbQpState::kRts, .to = IbQpState::kSqd, .rc = {0, 0}, .uc = {0, 0}, .ud = {0, 0}},
    {.from = IbQpState::kSqd, .to = IbQpState::kRts, .rc = {0, kRcToRts}, .uc = {0, kUcToRts}, .ud = {0, kUdToRts}},
    {.from = IbQpState::kSqd,
     .to = IbQpState::kSqd,
     .rc = {0, Mask::kAccessFlags | Mask::kAv | Mask::kMinRnrTimer | Mask::kTimeout | Mask::kRetryCnt |
                   Mask::kRnrRetry | Mask::kMaxQpRdAtomic | Mask::kMaxDestRdAtomic},
     .uc = {0, Mask::kAccessFlags | Mask::kAv},
     .ud = {0, Mask::kQkey}},
    {.from = IbQpState::kSqe, .to = IbQpState::kRts, .rc = {0, kRcToRts}, .uc = {0, kUcToRts}, .ud = {0, kUdToRts}},
};

}  // namespace

QpTransition TransitionOf(spec::IbQpType type, IbQpState from, IbQpState to) {
  if (to == IbQpState::kReset || to == IbQpState::kErr) return {.legal = true, .allowed = Mask::kCurState};
  for (const Row& row : kRows) {
    if (row.from != from || row.to != to) continue;
    const Attributes& attributes = type == spec::IbQpType::kRc ? row.rc : type == spec::IbQpType::kUc ? row.uc : row.ud;
    return {.legal = true, .required = attributes.required, .allowed = attributes.allowed | Mask::kCurState};
  }
  return {};
}

}  // namespace vireo::firmware
