// SPDX-License-Identifier: Apache-2.0
// Which input a round-robin arbiter serves when: the counterpart of rtl/common/vireo_arb_rr.sv. It keeps cycles and the
// marks of last beats; data stays with the caller.
//
// Of all blocks only an arbiter must know what else has happened by a certain cycle. So it decides when time has come
// that far: Advance(now) says that every push before `now` has been told.
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

  // Decides everything that can be decided from the pushes before `now` and the pops told so far.
  void Advance(Cycle now);

  // No beat waits for a decision: there is nothing for Advance to do before the next push.
  bool IsDecided() const { return waiting_ == 0; }

  // The oldest beat at the output (output() must have one) is visible from this cycle on; kUnknown if there is none.
  Cycle PopReady() const { return output_.PopReady(); }
  const Ring<Beat>& output() const { return beats_; }
  void Pop(Cycle cycle);

  // The output holds the first two of a transaction's `beats`, at least 4, and its input the third. The others will be
  // pushed, one per cycle, from `now` + 1 on, and all popped, one per cycle, from `now` on: they have been.
  void Pass(Cycle now, size_t beats);

 private:
  struct Input {
    FifoTiming slice = FifoTiming::Slice();
    Ring<uint8_t> last{};  // of each beat in the slice: whether it is
  };

  bool Move(Cycle now);

  std::vector<Input> inputs_;
  uint64_t waiting_ = 0;  // inputs with beats, a bit for each
  FifoTiming output_ = FifoTiming::Slice();
  Ring<Beat> beats_;   // at the output
  size_t winner_;      // of the current transaction, else of the one before
  bool busy_ = false;  // between the first and the last beat of a transaction
};

}  // namespace vireo::model
