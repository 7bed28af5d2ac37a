// SPDX-License-Identifier: Apache-2.0
// Table of QP state transitions with their required and allowed attributes, as roce.toml specifies for modify_qp. IBTA
// vol. 1, 10.3.1 (states) and 11.2.5.2 (Modify Queue Pair, attributes by transition), as Linux applies them to RC, UC
// and UD in ib_modify_qp_is_ok (drivers/infiniband/core/verbs.c), without features that Ethernet or Vireo lacks: P_Key
// index, port, alternate path, and the selection of the drained event.
#pragma once

#include <stdint.h>

#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

struct QpTransition {
  bool legal = false;
  uint32_t required = 0;  // spec::IbQpAttrMask; without `state`
  uint32_t allowed = 0;   // in addition to the required ones; without `state`
};

// `from` and `to` may hold any number. GSI follows the rules of UD.
QpTransition TransitionOf(spec::IbQpType type, spec::IbQpState from, spec::IbQpState to);

}  // namespace vireo::firmware
