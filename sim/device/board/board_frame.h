// SPDX-License-Identifier: Apache-2.0
// Frames of the board link (spec/board.toml): header, payload and CRC as stuffed bytes between flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

struct BoardFrame {
  spec::BoardHeader header;
  std::vector<uint8_t> payload;
};

// With a flag before and after it.
std::vector<uint8_t> EncodeBoardFrame(const spec::BoardHeader& header, std::span<const uint8_t> payload);

// Finds frames in a stream of bytes.
class BoardFrameDecoder {
 public:
  // A frame with a right CRC and at most board_payload_max bytes of payload that ends with this byte.
  std::optional<BoardFrame> Take(uint8_t byte);
  // Frames that were damaged, or too long, so far. Two flags in a row are none.
  uint64_t damaged() const { return damaged_; }

 private:
  std::vector<uint8_t> bytes_;  // of the frame, not stuffed
  bool in_frame_ = false, escaped_ = false;
  uint64_t damaged_ = 0;
};

// Of the parameters, as in board_hello.config_hash.
uint32_t BoardConfigHash(const spec::Config& config);

}  // namespace vireo::sim
