// SPDX-License-Identifier: Apache-2.0
// A simulated board at a pseudo terminal, for other programs: to them it is a board at a serial port.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/device/board/byte_line.h"

namespace vireo::sim {

class PtyBoard {
 public:
  struct Opened {
    std::unique_ptr<PtyBoard> board;  // null if there is an error
    std::string error;
  };
  // Of the board's line, see MakeSerialRtlBoard: a few bytes, so that the next question is seen soon.
  static constexpr uint64_t kPatience = 200;
  static Opened Open(std::unique_ptr<ByteLine> board);
  ~PtyBoard();
  PtyBoard(const PtyBoard&) = delete;
  PtyBoard& operator=(const PtyBoard&) = delete;

  const std::string& path() const { return path_; }
  // Carries bytes both ways, while nobody sends any without using the processor, until `stop`.
  void Serve(const std::atomic<bool>& stop);

 private:
  PtyBoard(std::unique_ptr<ByteLine> board, int file) : board_(std::move(board)), file_(file) {}
  const std::unique_ptr<ByteLine> board_;
  const int file_;
  std::string path_;
};

}  // namespace vireo::sim
