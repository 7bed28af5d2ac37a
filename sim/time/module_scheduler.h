// SPDX-License-Identifier: Apache-2.0
// A scheduler as a SystemC module: one SC_METHOD that runs at the time of the earliest callback. Any number of them in
// one simulation, which the platform starts and stops.
#pragma once

#include <functional>

#include "sim/time/scheduler.h"
#include "sim/time/systemc.h"

namespace vireo::sim {

// Must exist before the simulation starts. Time resolution must be SystemC's default of 1 ps; the constructor ends the
// program with a message otherwise. Nothing is pending in SystemC when no callback is.
class ModuleScheduler : public Scheduler, private sc_core::sc_module {
 public:
  VIREO_SC_MODULE(ModuleScheduler)

  explicit ModuleScheduler(sc_core::sc_module_name name);

  Picoseconds now() const override { return sc_core::sc_time_stamp().value(); }
  // Not available: the platform runs the simulation. Ends the program with a message.
  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) override;

 protected:
  // After the callbacks of one time.
  virtual void OnCallbacks() {}

 private:
  void Wake();
  void OnEarlier() override;

  sc_core::sc_event wake_;
  bool started_ = false;
  bool running_due_ = false;
};

}  // namespace vireo::sim
