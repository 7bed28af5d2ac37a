// SPDX-License-Identifier: Apache-2.0
// Shared code of the drivers of Verilated blocks: reset, one clock, ports as bytes, and the check for combinational
// paths from inputs to outputs.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/device/rtl_coverage.h"

namespace vireo::verif {

// A port's bytes. Ports are integers or arrays of 32-bit words, least significant first; the host is little-endian.
template <typename Port>
std::span<uint8_t> BytesOf(Port& port) {
  return {reinterpret_cast<uint8_t*>(&port), sizeof(port)};
}
template <typename Port>
std::span<const uint8_t> BytesOf(const Port& port) {
  return {reinterpret_cast<const uint8_t*>(&port), sizeof(port)};
}

// Fills a port of that width.
template <typename Port>
void Scramble(Port& port, std::mt19937_64& random, size_t bits = 8 * sizeof(Port)) {
  for (auto& byte : BytesOf(port)) {
    const auto mask = static_cast<uint8_t>(bits >= 8 ? 0xff : (1u << bits) - 1);
    byte = static_cast<uint8_t>(random() & mask);
    bits -= std::min<size_t>(bits, 8);
  }
}

template <typename Top>
class RtlTop {
 public:
  // `outputs` appends the bytes of every output; called often.
  using Outputs = std::function<void(const Top&, std::vector<uint8_t>&)>;

  explicit RtlTop(Outputs outputs) : top_(&context_), outputs_(std::move(outputs)) {
    top_.clk_i = 0;
    top_.rst_ni = 1;
    top_.eval();
    Reset();
  }
  ~RtlTop() {
    top_.final();
    sim::KeepCoverage(context_);
    Verilated::threadContextp(&context_);  // see RtlPins
  }
  RtlTop(const RtlTop&) = delete;
  RtlTop& operator=(const RtlTop&) = delete;

  // Two cycles of reset, at any time. Inputs keep their values, so nothing must be offered.
  void Reset() {
    top_.rst_ni = 0;  // the edge that an asynchronous reset needs
    top_.eval();
    for (const bool level : {false, true, false, true}) {
      top_.clk_i = level;
      top_.eval();
    }
    top_.clk_i = 0;
    top_.rst_ni = 1;
    top_.eval();
    Take(before_);
  }

  Top& ports() { return top_; }
  const Top& ports() const { return top_; }

  // One cycle with the inputs set since the last.
  void Clock() {
    top_.clk_i = 0;
    top_.eval();
    Take(now_);
    if (now_ != before_) throw std::logic_error("an output follows an input of the same cycle");
    top_.clk_i = 1;
    top_.eval();
    Take(before_);
  }

 private:
  void Take(std::vector<uint8_t>& bytes) {
    bytes.clear();
    outputs_(top_, bytes);
  }

  VerilatedContext context_;
  Top top_;
  Outputs outputs_;
  std::vector<uint8_t> before_, now_;
};

}  // namespace vireo::verif
