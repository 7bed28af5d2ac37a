// SPDX-License-Identifier: Apache-2.0
// Emulates the time stamp counter for programs in simulated time: kTscHz, in step with CLOCK_MONOTONIC. Programs
// execute RDTSC inline (perftest does, for every message), so no function can be intercepted: the instruction is
// disabled for the thread (PR_SET_TSC), and the SIGSEGV handler emulates it. Other faults go to the previous SIGSEGV
// handler. A program that installs its own handler after device discovery disables the emulation.
//
// x86-64 only; no effect on other processors.
#pragma once

#include <cstdint>

namespace vireo::ibverbs {

inline constexpr uint64_t kTscHz = 1'000'000'000;

// For the calling thread and the threads that it starts later.
void TrapTsc();

// Re-enables the instruction in this thread during its lifetime. Needed around exec: the kernel passes PR_SET_TSC on to
// executed programs, which have no handler.
class TscTrapSuspension {
 public:
  TscTrapSuspension();
  ~TscTrapSuspension();
  TscTrapSuspension(const TscTrapSuspension&) = delete;
  TscTrapSuspension& operator=(const TscTrapSuspension&) = delete;

 private:
  bool was_trapped_ = false;
};

}  // namespace vireo::ibverbs
