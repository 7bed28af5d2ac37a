// SPDX-License-Identifier: Apache-2.0
#include "sim/time/systemc_scheduler.h"

#include <cstdio>
#include <cstdlib>

namespace vireo::sim {

using sc_core::sc_time;

SystemcScheduler::SystemcScheduler(sc_core::sc_module_name name) : sc_core::sc_module(name) {
  static bool exists = false;
  if (exists || sc_core::sc_get_status() != sc_core::SC_ELABORATION) {
    std::fprintf(stderr,
                 "SystemcScheduler: this process has already built a simulation, and SystemC allows one. Run each test "
                 "case in its own process: through ctest, or inside RunInChild().\n");
    std::abort();
  }
  exists = true;
  if (sc_core::sc_get_time_resolution() != sc_time(1, sc_core::SC_PS)) {
    std::fprintf(stderr, "SystemcScheduler: the time resolution must be 1 ps\n");
    std::abort();
  }
  SC_METHOD(Wake);  // runs at initialization, for callbacks scheduled before the start
  sensitive << wake_;
}

void SystemcScheduler::Wake() {
  started_ = true;
  running_due_ = true;
  RunDue(now());
  running_due_ = false;
  if (done_ != nullptr && !is_done_ && (*done_)()) {
    is_done_ = true;
    sc_core::sc_pause();
  }
  if (!empty()) wake_.notify(sc_time::from_value(next() - now()));
}

void SystemcScheduler::OnEarlier() {
  // Overrides a pending later notification. Before the start and within Wake(), Wake() notifies.
  if (started_ && !running_due_) wake_.notify(sc_time::from_value(next() - now()));
}

bool SystemcScheduler::RunUntil(const std::function<bool()>& done, Picoseconds deadline) {
  if (done()) return true;
  if (deadline <= now()) return false;
  done_ = &done;
  is_done_ = false;
  if (deadline == kForever) {
    sc_core::sc_start();
  } else {
    sc_core::sc_start(sc_time::from_value(deadline - now()), sc_core::SC_RUN_TO_TIME);
  }
  done_ = nullptr;
  return is_done_;
}

}  // namespace vireo::sim

// SystemC's library contains a main() that needs this symbol. Programs with their own main() need it only to link; a
// real sc_main() overrides it.
__attribute__((weak)) int sc_main(int, char**) {
  std::fprintf(stderr, "This program has neither main() nor sc_main().\n");
  return 2;
}
