// SPDX-License-Identifier: Apache-2.0
// Tells when the tokens that one input of an Arbiter had at a certain time have left the arbiter and the slice of its
// consumer: rtl/common/vireo_passage.sv. Tokens that follow, of this input or of others, may come without end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vireo::model {

class Passage {
 public:
  // From the next cycle on it is about the tokens of before. `pending`: one of them has not entered yet.
  template <typename T>
  void Start(const T& arbiter, size_t input, bool pending) {
    left_ = arbiter.TokensOf(input) + (pending ? 1 : 0);
    tail_ = kSliceDepth;
    own_ = arbiter.LeftOf(input);
    all_ = arbiter.left();
  }
  // To be called in each cycle after that, when its blocks have run.
  template <typename T>
  void Advance(const T& arbiter, size_t input) {
    const bool own = arbiter.LeftOf(input) != own_, any = arbiter.left() != all_;
    own_ = arbiter.LeftOf(input);
    all_ = arbiter.left();
    if (!any) return;
    if (left_ != 0) {
      if (own) --left_;
    } else if (tail_ != 0) {
      --tail_;
    }
  }
  // `waits`: the consumer's slice has a token.
  bool HasPassed(bool waits) const { return left_ == 0 && (tail_ == 0 || !waits); }

 private:
  static constexpr size_t kSliceDepth = 2;
  size_t left_ = 0;
  size_t tail_ = 0;  // tokens after which the last one that left has left the slice, too
  uint64_t own_ = 0, all_ = 0;
};

}  // namespace vireo::model
