// SPDX-License-Identifier: Apache-2.0
// The host's end of the board link (spec/board.toml): commands to the board, events from it, each exactly once and in
// order over a line that loses, doubles and damages bytes. One question is under way at a time; it is asked again until
// its answer has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/device/board/board_frame.h"
#include "sim/device/board/byte_line.h"

namespace vireo::sim {

class BoardLink {
 public:
  explicit BoardLink(std::unique_ptr<ByteLine> line) : line_(std::move(line)) {}

  // Starts a session; what the board was executing is stopped. Returns an error message, empty if none: the board must
  // have this version and configuration.
  std::string Open(const spec::Config& config);
  // Executes these commands, and returns all events that they caused. Nothing, if the board did not answer: then
  // error() is set, and all later calls fail too.
  std::optional<std::vector<uint8_t>> Execute(std::span<const uint8_t> commands);

  const std::string& error() const { return error_; }
  const spec::BoardHello& hello() const { return hello_; }

  struct Counters {
    uint64_t questions = 0;  // frames, without those that were repeated
    uint64_t repeated = 0;
    uint64_t damaged = 0;             // frames from the board
    uint64_t sent = 0, received = 0;  // bytes
  };
  Counters counters() const;

 private:
  std::optional<BoardFrame> Ask(spec::BoardFrame kind, std::span<const uint8_t> payload);

  const std::unique_ptr<ByteLine> line_;
  BoardFrameDecoder decoder_;
  uint8_t serial_ = 0;  // of the last question
  std::string error_;
  spec::BoardHello hello_;
  Counters counters_;
};

}  // namespace vireo::sim
