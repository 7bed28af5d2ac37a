// SPDX-License-Identifier: Apache-2.0
// The scheduler inside a SystemC simulation: one SC_METHOD that wakes at the time of the earliest callback.
#pragma once

#include <functional>

#include "sim/time/scheduler.h"
#include "sim/time/systemc.h"

namespace vireo::sim {

// SystemC has one kernel per process: at most one object of this class may ever exist in a process, constructed before
// the simulation starts; otherwise the constructor aborts the program with a message. A GoogleTest case that builds one
// therefore runs in a child process: RunInChild() of run_in_child.h.
//
// The time resolution must be SystemC's default of 1 ps. RunUntil() calls sc_start(), so do not call it from within the
// simulation.
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
