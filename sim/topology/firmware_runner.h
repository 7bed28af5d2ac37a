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
//
// A hardware reset of the NIC, seen as a sink of the tap, restarts the firmware from scratch.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "firmware/app/firmware.h"
#include "sim/nic/nic.h"
#include "sim/nic/nic_tap.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class FirmwareRunner final : public ManagementEnvironment, public EventSink, private Scheduler::Client {
 public:
  struct Options {
    // A processor at the core clock with registers behind a bus of its own: 8 instructions and the bus.
    Cycle access_cycles = 12;
    firmware::Options firmware;
  };

  // Connects itself to `tap`, whose NIC has been reset in this cycle or has not run since. The scheduler does not run
  // after the runner is destroyed; but it may be destroyed whatever the firmware is doing.
  FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const Options& options);
  // For a port without a tap: the caller passes answers and interrupts, and calls Restart.
  FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, Nic& port, const Options& options);
  ~FirmwareRunner();
  FirmwareRunner(const FirmwareRunner&) = delete;
  FirmwareRunner& operator=(const FirmwareRunner&) = delete;

  // Forgets everything and starts, `first_input` being the first cycle in which the device takes inputs.
  void Restart(Cycle first_input);

  // A write by another master of the management port, such as a debugger: in one of the next cycles, one in which the
  // firmware makes no access. Several are made in order, one per cycle. A restart discards them.
  void WriteBeside(uint32_t offset, uint32_t value);

  // The device is this firmware's kind, and commands are served.
  bool is_started() const { return state_ == State::kServing || state_ == State::kSleeping; }
  bool is_refused() const { return state_ == State::kRefused; }    // Firmware::Start returned false
  bool is_sleeping() const { return state_ == State::kSleeping; }  // waits for the interrupt
  const firmware::Firmware& firmware() const { return *firmware_; }
  uint64_t accesses() const { return accesses_; }  // since the last restart
  // Reads a management register beside the firmware, at the begin of a cycle in which it sleeps; done(value) comes
  // with the answer. One at a time. If an interrupt wakes the firmware meanwhile, it goes on after the answer.
  void Peek(uint32_t offset, std::function<void(uint32_t)> done);

  // ManagementEnvironment and EventSink, for the tap.
  void CompleteCsrRead(Cycle cycle, uint32_t value) override;
  void SetFirmwareInterrupt(Cycle cycle, bool level) override;
  void OnEvent(const BoundaryEvent& event) override;

 private:
  enum class State : uint8_t { kStarting, kServing, kSleeping, kRefused };
  class Fiber;

  static uint32_t Read(void* self, uint32_t offset);
  static void Write(void* self, uint32_t offset, uint32_t value);
  void OnTime(uint64_t cookie) override;
  void Resume(Cycle cycle);  // at the begin of that cycle
  void Main();               // in the fiber; never returns to its caller
  void Pause(Cycle cycles);  // in the fiber
  void Poke();
  Cycle Now() const { return clock_.Containing(scheduler_.now()); }

  Scheduler& scheduler_;
  const CoreClock clock_;
  Nic& port_;
  const Options options_;
  const Scheduler::ClientNumber client_;

  // Cookies of OnTime: generations, and this.
  static constexpr uint64_t kPoke = ~uint64_t{0};

  struct Write32 {
    uint32_t offset;
    uint32_t value;
  };
  std::deque<Write32> pokes_;
  bool pokes_scheduled_ = false;
  Cycle resumes_ = 0;   // when the firmware goes on next, or did last
  Cycle accessed_ = 0;  // its last access

  uint64_t generation_ = 0;
  State state_ = State::kStarting;
  std::unique_ptr<Fiber> fiber_;
  std::unique_ptr<firmware::Firmware> firmware_;
  bool interrupt_ = false;
  bool is_reading_ = false;
  std::function<void(uint32_t)> peek_;  // empty: none is under way
  uint32_t answer_ = 0;
  uint64_t accesses_ = 0;
};

}  // namespace vireo::sim
