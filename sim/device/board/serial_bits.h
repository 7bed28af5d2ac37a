// SPDX-License-Identifier: Apache-2.0
// The far end of a simulated serial line, bit by bit: 8 bits, no parity, 1 stop bit.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace vireo::sim {

class SerialBits {
 public:
  // Of a board's clock, per bit. Few, so that a simulation spends its time on the NIC: 12.5 Mbaud at 50 MHz.
  static constexpr unsigned kCyclesPerBit = 4;

  // One cycle: takes the level that the board sends, and returns the one that it receives. Takes the next byte of
  // `to_board` when it has sent the one before, and appends to `from_board`.
  int Clock(int from, std::deque<uint8_t>& to_board, std::vector<uint8_t>& from_board) {
    if (send_wait_ != 0) {
      --send_wait_;
    } else if (sending_ > 1) {
      level_ = sending_ & 1;
      sending_ = static_cast<uint16_t>(sending_ >> 1);
      send_wait_ = kCyclesPerBit - 1;
    } else if (!to_board.empty()) {
      level_ = 0;
      sending_ = static_cast<uint16_t>(to_board.front() | 1u << 8 | 1u << 9);
      to_board.pop_front();
      send_wait_ = kCyclesPerBit - 1;
    }
    if (receive_bits_ == 0) {
      if (from == 0) {
        receive_bits_ = kFrameBits;
        receive_wait_ = kCyclesPerBit / 2;
      }
    } else if (receive_wait_ != 0) {
      --receive_wait_;
    } else {
      receiving_ = static_cast<uint16_t>(receiving_ >> 1 | (from != 0 ? 1u << (kFrameBits - 1) : 0u));
      receive_wait_ = kCyclesPerBit - 1;
      if (--receive_bits_ == 0 && (receiving_ >> (kFrameBits - 1) & 1) != 0) {
        from_board.push_back(static_cast<uint8_t>(receiving_ >> 1));
      }
    }
    return level_;
  }

 private:
  static constexpr unsigned kFrameBits = 10;  // start, data, stop

  int level_ = 1;
  uint16_t sending_ = 0;       // data and stop bit to come, the next one at the bottom, and a one above
  unsigned send_wait_ = 0;     // cycles until the next bit
  uint16_t receiving_ = 0;     // bits so far, the last one at the top
  unsigned receive_bits_ = 0;  // still to come; 0: none is being received
  unsigned receive_wait_ = 0;
};

}  // namespace vireo::sim
