// SPDX-License-Identifier: Apache-2.0
// Scripts of what goes wrong with DMA reads, as those of the wire (fault.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/pcie/pcie_link.h"

namespace vireo::sim {

struct PcieScript {
  std::vector<DmaFault> faults;
  std::string error;  // empty: the text was understood; else what is wrong, with its line. Then there are no faults
};
struct AddressRange {
  uint64_t address = 0, bytes = 0;
};

// One rule per line or between semicolons, `#` begins a comment:
//   KIND [amount] [on=PLACE] [nth=N] [count=N] [rate=R]
// KIND is unsupported, abort, poison, missing (amount: so many good bytes come first), delay or spread (amount needed:
// ns), or split. PLACE is a name in `places`; without it every read of the device may be hit. N and R as for the wire;
// count goes with nth.
//   missing nth=3 on=source
//   spread 3000 rate=0.5
PcieScript ParsePcieScript(std::string_view text, const std::map<std::string, AddressRange, std::less<>>& places);

}  // namespace vireo::sim
