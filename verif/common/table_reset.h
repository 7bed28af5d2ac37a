// SPDX-License-Identifier: Apache-2.0
// Reset of a block whose tables are in use.
#pragma once

#include "verif/common/rtl_top.h"

namespace vireo::verif {

// A vireo_table that was written clears one entry per cycle after a reset, and must not be written meanwhile. In the
// device vireo_table_command waits for that. Nothing must be offered. `entries`: as many as the deepest table has, or
// more.
template <typename Top>
void ResetAndClear(RtlTop<Top>& rtl, unsigned entries) {
  rtl.Reset();
  for (unsigned i = 0; i < entries; ++i) rtl.Clock();
}

}  // namespace vireo::verif
