// SPDX-License-Identifier: Apache-2.0
// The scheduler that owns a SystemC simulation: RunUntil() starts and pauses the kernel.
#pragma once

#include <functional>

#include "sim/time/module_scheduler.h"
#include "sim/time/systemc.h"

namespace vireo::sim {

// SystemC has one kernel per process: at most one object of this class may ever exist in a process, and it must exist
// before the simulation starts. The constructor ends the program with a message otherwise. A GoogleTest case that
// builds one therefore runs in a process of its own: RunInChild() of run_in_child.h, which also allows several runs in
// one case.
//
// Time resolution must be SystemC's default of 1 ps. RunUntil() calls sc_start() and so must not be called from within
// the simulation. Other modules of the simulation may keep running when this scheduler has no callback left: done() is
// then asked once more when nothing at all is pending.
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
