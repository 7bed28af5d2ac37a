// SPDX-License-Identifier: Apache-2.0
// The firmware of one NIC, run natively on its management port, in simulated time. A fiber takes the place of the
// control processor: it runs until it accesses a register, and continues when the access is done. So firmware/ needs no
// change to run in a simulation, and every run is the same.
//
// Time
//   The first access is in the cycle `access_cycles` after the device takes inputs. After an access that completes in
//   cycle d (a write in its cycle, a read in that of its answer) the next one is in cycle d + access_cycles: the cost
//   of all instructions between two accesses. After an interrupt in cycle d, sleeping ends in cycle d + access_cycles.
//   Timing does not depend on how fast this process runs.
#pragma once

#include <cstdint>
#include <memory>

#include "firmware/app/firmware.h"
#include "sim/topology/control_processor.h"

namespace vireo::sim {

class FirmwareRunner final : public ControlProcessor {
 public:
  struct Options {
    // A processor at the core clock with registers behind a bus of its own: 8 instructions and the bus.
    Cycle access_cycles = 12;
    firmware::Options firmware;
  };

  // See ControlProcessor::ConnectTo.
  FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const Options& options);
  // For a port without a tap: the caller passes answers and interrupts, and calls Restart.
  FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, Nic& port, const Options& options);
  ~FirmwareRunner() override;

 private:
  class Fiber;

  void Boot(Cycle first_input) override;
  void Continue() override;
  void TakeAnswer(Cycle cycle, uint32_t value) override;
  void Wake(Cycle cycle) override;

  static uint32_t Read(void* self, uint32_t offset);
  static void Write(void* self, uint32_t offset, uint32_t value);
  void Main();               // in the fiber; never returns to its caller
  void Pause(Cycle cycles);  // in the fiber

  const Options options_;
  std::unique_ptr<Fiber> fiber_;
  std::unique_ptr<firmware::Firmware> firmware_;
  uint32_t answer_ = 0;
};

}  // namespace vireo::sim
