// SPDX-License-Identifier: Apache-2.0
// Timing of a round-robin arbiter: the counterpart of rtl/common/vireo_arb_rr.sv. It keeps cycles and last-beat flags;
// data stays with the caller.
//
// An arbiter alone must know all events up to a cycle before it decides. Advance(now) states that every push before
// `now` has been reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"

namespace vireo::model {

class ArbRr {
 public:
  struct Beat {
    Cycle moved;  // from its input's slice to the output's; the decision, if it is the first of its transaction
    size_t input;
    bool last;
  };

  explicit ArbRr(size_t inputs);

  // An input takes a beat from this cycle on; kUnknown if it is full.
  Cycle PushReady(size_t input) const { return inputs_[input].slice.PushReady(); }
  void Push(Cycle cycle, size_t input, bool last);

  // Decides everything that follows from pushes before `now` and pops reported so far.
  void Advance(Cycle now);

  // No beat awaits a decision: Advance has no work before the next push.
  bool IsDecided() const { return waiting_ == 0; }

  // The oldest beat at the output (output() must have one) is visible from this cycle on; kUnknown if there is none.
  Cycle PopReady() const { return output_.PopReady(); }
  const Ring<Beat>& output() const { return beats_; }
  void Pop(Cycle cycle);

  // The output holds the first two of a transaction's `beats` (at least 4), and its input the third. The others are
  // pushed, one per cycle, from `now` + 1 on, and all are popped, one per cycle, from `now` on; accounts for all of
  // that at once.
  void Pass(Cycle now, size_t beats);

 private:
  struct Input {
    FifoTiming slice = FifoTiming::Slice();
    Ring<uint8_t> last{};  // last flag of each beat in the slice
  };

  bool Move(Cycle now);

  std::vector<Input> inputs_;
  uint64_t waiting_ = 0;  // bit per input: has beats
  FifoTiming output_ = FifoTiming::Slice();
  Ring<Beat> beats_;   // at the output
  size_t winner_;      // of the current transaction, else of the one before
  bool busy_ = false;  // between the first and the last beat of a transaction
};

}  // namespace vireo::model
