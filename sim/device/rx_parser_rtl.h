// SPDX-License-Identifier: Apache-2.0
// Drives vireo_rx_parser in simulation and collects its tokens with their cycles. Bits that the protocol leaves open
// (data that tkeep excludes, everything while tvalid is 0, tuser before the last beat) are random, so that a design
// that uses them fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "model/rdma/rx_parser.h"

namespace vireo::sim {

struct TimedToken {
  uint64_t cycle;  // in which token_valid_o was 1
  model::RxToken token;
};

class RxParserRtl {
 public:
  // data_bits: a width of the build (64, 512); null for any other. `random` outlives the object.
  static std::unique_ptr<RxParserRtl> Make(unsigned data_bits, std::mt19937_64& random);
  virtual ~RxParserRtl() = default;

  virtual size_t beat_bytes() const = 0;
  // Cycles since reset; not counting the current one.
  virtual uint64_t cycle() const = 0;

  // One cycle with a beat of 1 … beat_bytes() bytes; full unless it is the frame's last.
  virtual void Beat(std::span<const uint8_t> bytes, bool last, bool mac_error, bool roce = true) = 0;
  // Cycles without a beat.
  virtual void Idle(uint64_t cycles) = 0;

  // Sends a frame with idle_before() idle cycles before each beat; returns the cycle of the last beat.
  uint64_t Send(std::span<const uint8_t> frame, bool mac_error, const std::function<unsigned()>& idle_before,
                bool roce = true);

  // The outputs since the last call.
  std::vector<TimedToken> TakeTokens();

 protected:
  std::vector<TimedToken> tokens_;
};

// The fields in which two tokens differ, by name, one per line; empty if equal.
std::string Difference(const model::RxToken& expected, const model::RxToken& actual);

}  // namespace vireo::sim
