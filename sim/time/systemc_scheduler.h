// SPDX-License-Identifier: Apache-2.0
// The scheduler inside a SystemC simulation: one SC_METHOD that wakes at the time of the earliest callback.
#pragma once

#include <functional>

#include "sim/time/scheduler.h"
#include "sim/time/systemc.h"

namespace vireo::sim {

// SystemC has one kernel per process: at most one object of this class may ever exist in a process, and it must exist
// before the simulation starts. The constructor ends the program with a message otherwise. A GoogleTest case that
// builds one therefore runs in a process of its own: RunInChild() of run_in_child.h, which also allows several runs in
// one case.
//
// Time resolution must be SystemC's default of 1 ps. RunUntil() calls sc_start() and so must not be called from within
// the simulation.
class SystemcScheduler final : public Scheduler, private sc_core::sc_module {
 public:
  VIREO_SC_MODULE(SystemcScheduler)

  explicit SystemcScheduler(sc_core::sc_module_name name = "scheduler");

  Picoseconds now() const override { return sc_core::sc_time_stamp().value(); }
  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) override;

 private:
  void Wake();
  void OnEarlier() override;

  sc_core::sc_event wake_;
  const std::function<bool()>* done_ = nullptr;  // while running
  bool is_done_ = false;
  bool started_ = false;
  bool running_due_ = false;
};

}  // namespace vireo::sim
