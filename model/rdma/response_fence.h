// SPDX-License-Identifier: Apache-2.0
// Tells when the responses to READs that were accepted before a certain cycle are in memory, while others are received:
// the counterpart of rtl/rdma/vireo_response_fence.sv.
#pragma once

#include <cstdint>
#include <utility>

namespace vireo::model {

class ResponseFence {
 public:
  // At the end of a cycle, of all places of the receive scatter; those that wait at the responder are begun.
  struct Reception {
    bool responder_settled = false;  // it is between two frames
    uint64_t places_begun = 0;
    uint64_t places_ended = 0;
  };

  // In the current cycle. The epoch that it needs; the number is what RTL has in its register.
  uint16_t Start() {
    starts_ = true;
    return static_cast<uint16_t>(passed_ + (step_ == Step::kIdle ? 1 : 2));
  }
  bool IsBusy() const { return step_ != Step::kIdle || starts_; }
  // While it is idle, all epochs that somebody needs have passed.
  bool HasPassed(uint16_t epoch) const {
    return !IsBusy() || static_cast<int16_t>(static_cast<uint16_t>(passed_ - epoch)) >= 0;
  }
  // At the end of each cycle in which it is busy.
  void Advance(const Reception& reception) {
    const bool starts = std::exchange(starts_, false);
    again_ |= starts && step_ != Step::kIdle;
    switch (step_) {
      case Step::kIdle:
        if (starts) step_ = Step::kSettle;
        break;
      case Step::kSettle:
        if (!reception_.responder_settled) break;
        until_ = reception_.places_begun;
        step_ = Step::kPlaces;
        break;
      case Step::kPlaces:
        if (reception_.places_ended < until_) break;
        ++passed_;
        has_changed_ = true;
        step_ = std::exchange(again_, false) ? Step::kSettle : Step::kIdle;
        break;
    }
    reception_ = reception;
  }
  // True once for each change of what has passed.
  bool TakeChange() { return std::exchange(has_changed_, false); }

 private:
  enum class Step : uint8_t { kIdle, kSettle, kPlaces };

  Step step_ = Step::kIdle;
  bool starts_ = false, again_ = false, has_changed_ = false;
  uint16_t passed_ = 0;
  uint64_t until_ = 0;
  Reception reception_;  // as of the start of the cycle
};

}  // namespace vireo::model
