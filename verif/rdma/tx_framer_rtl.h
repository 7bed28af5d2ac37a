// SPDX-License-Identifier: Apache-2.0
// Drives vireo_tx_framer in simulation and collects its frames with their cycles. Bits that the protocol leaves open (a
// token that is not valid, payload that is not requested, bytes behind a payload's end) are random, so that a design
// that uses them fails. Violations of the stream's rules (a bubble, a hole in tkeep, a combinational path) throw.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "model/rdma/tx_framer.h"

namespace vireo::verif {

// An assertion in the RTL failed; the simulator has printed which.
struct AssertionFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TimedFrame {
  model::TxTrain train;  // as observed
  std::vector<uint8_t> bytes;
};

class TxFramerRtl {
 public:
  // data_bits: one of the widths that the build has (64, 512); anything else gives null. `random` outlives the object.
  static std::unique_ptr<TxFramerRtl> Make(unsigned data_bits, std::mt19937_64& random);
  virtual ~TxFramerRtl() = default;

  virtual size_t beat_bytes() const = 0;
  // Cycles since reset; the current one has not happened yet.
  virtual uint64_t cycle() const = 0;

  // `ready` returns m_axis_tready_i once per cycle; 1 until this is called.
  virtual void SetReady(std::function<bool()> ready) = 0;
  // From now on payload_valid_i stays 0: a violation of the contract.
  virtual void WithholdPayload() = 0;

  // Offers a token from the current cycle on, at most `timeout` cycles. Returns whether it was accepted, which was
  // then in the cycle before the current one. Its payload is passed when requested.
  virtual bool Send(const model::TxToken& token, std::span<const uint8_t> payload, uint64_t timeout) = 0;
  // Cycles without a token.
  virtual void Idle(uint64_t cycles) = 0;

  // Complete frames, in order, since the last call.
  virtual std::vector<TimedFrame> TakeFrames() = 0;
  // Whether anything accepted has not left completely.
  virtual bool busy() const = 0;
};

}  // namespace vireo::verif
