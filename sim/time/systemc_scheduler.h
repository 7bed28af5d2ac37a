// SPDX-License-Identifier: Apache-2.0
// The scheduler that owns a SystemC simulation: RunUntil() starts and pauses the kernel.
#pragma once

#include <functional>

#include "sim/time/module_scheduler.h"
#include "sim/time/systemc.h"

namespace vireo::sim {

// SystemC has one kernel per process: at most one object of this class may ever exist in a process, constructed before
// the simulation starts; otherwise the constructor aborts the program with a message. A GoogleTest case that builds one
// therefore runs in a child process: RunInChild() of run_in_child.h.
//
// The time resolution must be SystemC's default of 1 ps. RunUntil() calls sc_start(), so do not call it from within the
// simulation. Other modules of the simulation may keep running when this scheduler has no callback left: done() is
// then called once more when no event is pending.
class SystemcScheduler final : public ModuleScheduler {
 public:
  explicit SystemcScheduler(sc_core::sc_module_name name = "scheduler");

  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) override;
  static bool exists();  // one has been built in this process

 private:
  void OnCallbacks() override;

  const std::function<bool()>* done_ = nullptr;  // while running
  bool is_done_ = false;
};

}  // namespace vireo::sim
