// SPDX-License-Identifier: Apache-2.0
// Scripts of faults of DMA reads and writes, with the same syntax as those of the wire (fault.h).
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
  std::string error;  // empty: no error; else the error, with its line, and no faults
};
struct AddressRange {
  uint64_t address = 0, bytes = 0;
};

// One rule per line or between semicolons, `#` starts a comment:
//   KIND [amount] [on=PLACE] [nth=N] [count=N] [rate=R]
// KIND is unsupported, abort, poison, missing (amount: good bytes before the failure), delay or spread (amount
// required: ns), split, or refuse, which applies to writes, the others to reads. PLACE is a name in `places`; without
// it the rule applies to every read, or write, of the device. N and R as for the wire; count needs nth.
//   missing nth=3 on=source
//   spread 3000 rate=0.5
PcieScript ParsePcieScript(std::string_view text, const std::map<std::string, AddressRange, std::less<>>& places);

}  // namespace vireo::sim
