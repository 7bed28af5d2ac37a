// SPDX-License-Identifier: Apache-2.0
// The processor's time stamp counter as a program sees it where time is simulated: kTscHz, counting with
// CLOCK_MONOTONIC. Programs read it by an instruction of their own (perftest does, for every message), so that no
// function can be put in its place: the instruction is forbidden to the thread (PR_SET_TSC), and the signal that comes
// of it carries it out. What is not such an instruction goes to the handler of SIGSEGV that there was before; a program
// that sets one of its own later than it looks for devices takes this one away.
//
// On x86-64; elsewhere these do nothing.
#pragma once

#include <cstdint>

namespace vireo::ibverbs {

inline constexpr uint64_t kTscHz = 1'000'000'000;

// For the calling thread, and those that it starts from now on.
void TrapTsc();

// The kernel passes the prohibition on to what a process executes, where nobody could carry the instruction out: while
// one of these lives, there is none in this thread.
class TscForOthers {
 public:
  TscForOthers();
  ~TscForOthers();
  TscForOthers(const TscForOthers&) = delete;
  TscForOthers& operator=(const TscForOthers&) = delete;

 private:
  bool was_trapped_ = false;
};

}  // namespace vireo::ibverbs
