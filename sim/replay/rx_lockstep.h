// SPDX-License-Identifier: Apache-2.0
// The receive parser as model and RTL in one SystemC simulation, fed with the same frames and compared token by token
// and cycle by cycle. The RTL is clocked only while it holds a frame, so time between frames costs nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/rdma/rx_parser.h"
#include "sim/device/rx_parser_rtl.h"
#include "sim/time/systemc.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class RxLockstep : public sc_core::sc_module {
 public:
  VIREO_SC_MODULE(RxLockstep)

  struct Counts {
    uint64_t frames = 0;             // frames with a token from both
    uint64_t token_differences = 0;  // frames whose tokens differ in a bit, or with a token from one side only
    uint64_t cycle_differences = 0;  // frames whose tokens are in different cycles
    uint64_t rtl_cycles = 0;         // evaluated cycles of the RTL
  };
  // Called for every frame with its number, the model's token and the differences ("" if equal).
  using Observer = std::function<void(uint64_t frame, const model::RxToken&, const std::string& difference)>;

  RxLockstep(sc_core::sc_module_name name, const spec::Config& config, std::mt19937_64& random, Observer observer);

  // The frame's first beat arrives at `start_ns` of simulated time, or right after the previous frame if that is later.
  // Call before the simulation starts, in order of time.
  void Add(std::vector<uint8_t> bytes, uint64_t start_ns);

  // Call after the simulation. Frames without a token from one side count as differences.
  Counts Finish();

 private:
  struct Input {
    std::vector<uint8_t> bytes;
    sc_core::sc_time start;
  };

  void Clock();      // SC_METHOD: one cycle of the RTL, or sleeps until the next frame
  void ModelEmit();  // SC_METHOD: emits the model's token when due
  void Compare();

  const sc_core::sc_time period_;
  Observer observer_;
  std::unique_ptr<RxParserRtl> rtl_;
  std::deque<Input> inputs_;
  size_t beat_offset_ = 0;      // bytes of the front input already sent
  uint64_t busy_until_ = 0;     // evaluated cycle after which the RTL holds nothing
  uint64_t skipped_ = 0;        // cycles not evaluated
  std::deque<TimedToken> due_;  // model tokens not yet due
  std::deque<TimedToken> from_model_, from_rtl_;
  sc_core::sc_event_queue model_due_;
  Counts counts_;
};

}  // namespace vireo::sim
