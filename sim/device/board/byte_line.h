// SPDX-License-Identifier: Apache-2.0
// A line of bytes to a board: a serial port, or a board that is simulated in this process. It may lose, double and
// damage bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vireo::sim {

class ByteLine {
 public:
  virtual ~ByteLine() = default;
  // False: the line is gone for good.
  virtual bool Send(std::span<const uint8_t> bytes) = 0;
  // Appends bytes that have arrived, and waits for at least one. False: none came for as long as the longest answer
  // may take to begin.
  virtual bool Receive(std::vector<uint8_t>& bytes) = 0;
};

}  // namespace vireo::sim
