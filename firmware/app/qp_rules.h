// SPDX-License-Identifier: Apache-2.0
// Which changes of a QP's state exist and which attributes each needs and allows: what roce.toml says about modify_qp,
// as a table. IBTA vol. 1, 10.3.1 (states) and 11.2.5.2 (Modify Queue Pair, attributes by transition), as Linux applies
// them to RC, UC and UD in ib_modify_qp_is_ok (drivers/infiniband/core/verbs.c), without what Ethernet or Vireo does
// not have: P_Key index, port, alternate path, and the choice whether draining is told of.
#pragma once

#include <stdint.h>

#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

struct QpTransition {
  bool legal = false;
  uint32_t required = 0;  // spec::IbQpAttrMask; without `state`
  uint32_t allowed = 0;   // besides the required ones; without `state`
};

// `from` and `to` can hold any number. GSI goes by the rules of UD.
QpTransition TransitionOf(spec::IbQpType type, spec::IbQpState from, spec::IbQpState to);

}  // namespace vireo::firmware
