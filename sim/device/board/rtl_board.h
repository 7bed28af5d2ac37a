// SPDX-License-Identifier: Apache-2.0
// A board in RTL at the far end of a line that is simulated in this process. The parts of rtl/board/vireo_board.sv are
// Verilated one by one and joined here as there: its front, the NIC (nic1) and the control processor, which other
// programs have too. The board's clock runs while somebody waits for a byte.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/device/board/byte_line.h"

namespace vireo::sim {

// Its power comes up. The line carries a byte in a cycle.
std::unique_ptr<ByteLine> MakeRtlBoard();
// Cycles of the board's clock without a byte after which there is no answer. More than any takes to begin.
inline constexpr uint64_t kBoardPatience = 40'000;
// The same at a serial line: a bit takes four cycles of the board's clock, 12.5 Mbaud at 50 MHz. A test takes ten times
// as long. `patience`: as kBoardPatience, for a caller that asks again.
std::unique_ptr<ByteLine> MakeSerialRtlBoard(uint64_t patience = kBoardPatience);

}  // namespace vireo::sim
