// SPDX-License-Identifier: Apache-2.0
// What runs the firmware of one NIC, on its management port, in simulated time: FirmwareRunner natively, RiscvRunner on
// the control processor in RTL. Either has no state that depends on how fast this process runs.
//
// A hardware reset of the NIC, seen as a sink of the tap, restarts the firmware from scratch.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "sim/nic/nic.h"
#include "sim/nic/nic_tap.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class ControlProcessor : public ManagementEnvironment, public EventSink, private Scheduler::Client {
 public:
  virtual ~ControlProcessor() = default;
  ControlProcessor(const ControlProcessor&) = delete;
  ControlProcessor& operator=(const ControlProcessor&) = delete;

  // Forgets everything and starts, `first_input` being the first cycle in which the device takes inputs.
  void Restart(Cycle first_input);

  // A write by another master of the management port, such as a debugger: in one of the next cycles, one in which the
  // firmware makes no access. Several are made in order, one per cycle. A restart discards them.
  void WriteBeside(uint32_t offset, uint32_t value);

  // The device is this firmware's kind, and commands are served.
  bool is_started() const { return state_ == State::kServing; }
  bool is_refused() const { return state_ == State::kRefused; }  // the firmware does not know this device
  // Serves commands, and waits for the interrupt.
  bool is_sleeping() const { return is_started() && is_waiting_; }
  uint64_t accesses() const { return accesses_; }  // since the last restart
  // Reads a management register beside the firmware, at the begin of a cycle in which it sleeps; done(value) comes
  // with the answer. One at a time. If an interrupt wakes the firmware meanwhile, it goes on after the answer.
  void Peek(uint32_t offset, std::function<void(uint32_t)> done);

  // ManagementEnvironment and EventSink, for the tap.
  void CompleteCsrRead(Cycle cycle, uint32_t value) final;
  void SetFirmwareInterrupt(Cycle cycle, bool level) final;
  void OnEvent(const BoundaryEvent& event) final;

 protected:
  enum class State : uint8_t { kStarting, kServing, kRefused };

  // For a port without a tap: the caller passes answers and interrupts, and calls Restart.
  ControlProcessor(Scheduler& scheduler, const CoreClock& clock, Nic& port);
  // Connects itself to `tap`, whose NIC has been reset in this cycle or has not run since, and restarts. The scheduler
  // does not run after the runner is destroyed; but it may be destroyed whatever the firmware is doing.
  void ConnectTo(NicTap& tap);

  // Starts the firmware from scratch.
  virtual void Boot(Cycle first_input) = 0;
  // The cycle of ContinueAt has begun.
  virtual void Continue() = 0;
  // The answer to ReadRegister has come.
  virtual void TakeAnswer(Cycle cycle, uint32_t value) = 0;
  // The interrupt is asserted, and is_waiting_ was true; it is false now.
  virtual void Wake(Cycle cycle) = 0;

  // Accesses in the cycle that has begun.
  void ReadRegister(uint32_t offset);
  void WriteRegister(uint32_t offset, uint32_t value);
  // A new call replaces the one before.
  void ContinueAt(Cycle cycle);
  Cycle Now() const { return clock_.Containing(scheduler_.now()); }
  bool interrupt() const { return interrupt_; }

  State state_ = State::kStarting;
  bool is_waiting_ = false;

 private:
  void OnTime(uint64_t cookie) override;
  void Poke();

  Scheduler& scheduler_;
  const CoreClock clock_;
  Nic& port_;
  const Scheduler::ClientNumber client_;

  // Cookies of OnTime: generations, and this.
  static constexpr uint64_t kPoke = ~uint64_t{0};
  uint64_t generation_ = 0;  // of ContinueAt

  struct Write32 {
    uint32_t offset;
    uint32_t value;
  };
  std::deque<Write32> pokes_;
  bool pokes_scheduled_ = false;
  Cycle continues_ = 0;  // when the firmware goes on next, or did last
  Cycle accessed_ = 0;   // its last access
  bool interrupt_ = false;
  bool is_reading_ = false;
  std::function<void(uint32_t)> peek_;  // empty: none is under way
  uint64_t accesses_ = 0;
};

}  // namespace vireo::sim
