// SPDX-License-Identifier: Apache-2.0
#include "sim/time/systemc_scheduler.h"

#include <cstdio>
#include <cstdlib>

namespace vireo::sim {

using sc_core::sc_time;

namespace {

bool scheduler_exists = false;

}  // namespace

bool SystemcScheduler::exists() { return scheduler_exists; }

SystemcScheduler::SystemcScheduler(sc_core::sc_module_name name) : ModuleScheduler(name) {
  if (scheduler_exists || sc_core::sc_get_status() != sc_core::SC_ELABORATION) {
    std::fprintf(stderr,
                 "SystemcScheduler: this process has already built a simulation, and SystemC allows one. Run each test "
                 "case in its own process: through ctest, or inside RunInChild().\n");
    std::abort();
  }
  scheduler_exists = true;
}

void SystemcScheduler::OnCallbacks() {
  if (done_ == nullptr || is_done_ || !(*done_)()) return;
  is_done_ = true;
  sc_core::sc_pause();
}

bool SystemcScheduler::RunUntil(const std::function<bool()>& done, Picoseconds deadline) {
  if (done()) return true;
  if (deadline <= now()) return false;
  done_ = &done;
  is_done_ = false;
  if (deadline == kForever) {
    sc_core::sc_start();
  } else {
    sc_core::sc_start(sc_time::from_value(deadline - now()), sc_core::SC_EXIT_ON_STARVATION);
  }
  if (!is_done_ && now() < deadline) is_done_ = done();
  if (!is_done_ && now() < deadline && deadline != kForever) {
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
