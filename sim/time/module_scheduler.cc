// SPDX-License-Identifier: Apache-2.0
#include "sim/time/module_scheduler.h"

#include <cstdio>
#include <cstdlib>

namespace vireo::sim {

using sc_core::sc_time;

ModuleScheduler::ModuleScheduler(sc_core::sc_module_name name) : sc_core::sc_module(name) {
  if (sc_core::sc_get_time_resolution() != sc_time(1, sc_core::SC_PS)) {
    std::fprintf(stderr, "ModuleScheduler: the time resolution must be 1 ps\n");
    std::abort();
  }
  SC_METHOD(Wake);  // runs at initialization, for callbacks scheduled before the start
  sensitive << wake_;
}

void ModuleScheduler::Wake() {
  started_ = true;
  running_due_ = true;
  RunDue(now());
  running_due_ = false;
  OnCallbacks();
  if (!empty()) wake_.notify(sc_time::from_value(next() - now()));
}

void ModuleScheduler::OnEarlier() {
  // Overrides a pending later notification. Before the start and within Wake(), Wake() itself looks.
  if (started_ && !running_due_) wake_.notify(sc_time::from_value(next() - now()));
}

bool ModuleScheduler::RunUntil(const std::function<bool()>&, Picoseconds) {
  std::fprintf(stderr, "ModuleScheduler: the platform runs the simulation\n");
  std::abort();
}

}  // namespace vireo::sim
