// SPDX-License-Identifier: Apache-2.0
// The whole board top, vireo_board, Verilated in one piece with its clock gates, NIC and control processor: the same
// cycles as the Verilated NIC. No part of the usual run, because it compiles for minutes (docs/boards.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "Vboard.h"
#include "sim/device/board/rtl_board.h"
#include "sim/device/board/serial_bits.h"
#include "sim/device/processor_rtl.h"
#include "verif/cosim/board_exchange.h"

namespace vireo::sim {
namespace {

class WholeBoard final : public ByteLine {
 public:
  WholeBoard() {
    rtl_.rx_i = 1;
    rtl_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) Clock();
    rtl_.rst_ni = 1;
  }
  ~WholeBoard() override {
    rtl_.final();
    Verilated::threadContextp(&context_);
  }
  bool Send(std::span<const uint8_t> bytes) override {
    to_board_.insert(to_board_.end(), bytes.begin(), bytes.end());
    return true;
  }
  bool Receive(std::vector<uint8_t>& bytes) override {
    while (!to_board_.empty()) Clock();
    for (uint64_t i = 0; i < kBoardPatience && from_board_.empty(); ++i) Clock();
    bytes.insert(bytes.end(), from_board_.begin(), from_board_.end());
    return !std::exchange(from_board_, {}).empty();
  }

 private:
  void Clock() {
    rtl_.rx_i = bits_.Clock(rtl_.tx_o, to_board_, from_board_) != 0;
    rtl_.clk_i = 1;
    rtl_.eval();
    rtl_.clk_i = 0;
    rtl_.eval();
  }

  VerilatedContext context_;
  Vboard rtl_{&context_};
  SerialBits bits_;
  std::deque<uint8_t> to_board_;
  std::vector<uint8_t> from_board_;
};

TEST(WholeBoard, RunsTheSameCyclesAsTheRtl) {
  const LineMaker line = [] { return std::make_unique<WholeBoard>(); };
  EXPECT_EQ(Exchange("native", line).events, Exchange("native", {}).events);
}

TEST(WholeBoard, RunsItsOwnProcessorInTheSameCycles) {
  const LineMaker line = [] { return std::make_unique<WholeBoard>(); };
  EXPECT_EQ(Exchange("rv32", line).events, Exchange("rv32", {}).events);
}

}  // namespace
}  // namespace vireo::sim
