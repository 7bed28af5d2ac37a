// SPDX-License-Identifier: Apache-2.0
// A board at a serial port of this machine, or at a pseudo terminal.
#pragma once

#include <memory>
#include <string>

#include "sim/device/board/byte_line.h"

namespace vireo::sim {

class SerialLine final : public ByteLine {
 public:
  struct Opened {
    std::unique_ptr<SerialLine> line;  // null if there is an error
    std::string error;
  };
  // Of all boards, unless another one is asked for.
  static constexpr unsigned kBitRate = 3'000'000;
  // No answer takes longer to begin: USB adapters deliver every 16 ms by default.
  static constexpr int kPatienceMs = 100;

  // Raw, 8 bits, no parity, no flow control, for this process alone. What arrived before is discarded.
  static Opened Open(const std::string& path, unsigned bit_rate = kBitRate);
  ~SerialLine() override;
  SerialLine(const SerialLine&) = delete;
  SerialLine& operator=(const SerialLine&) = delete;

  bool Send(std::span<const uint8_t> bytes) override;
  bool Receive(std::vector<uint8_t>& bytes) override;

 private:
  explicit SerialLine(int file) : file_(file) {}
  const int file_;
};

}  // namespace vireo::sim
