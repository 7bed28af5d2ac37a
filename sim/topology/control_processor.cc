// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/control_processor.h"

#include <utility>

namespace vireo::sim {

ControlProcessor::ControlProcessor(Scheduler& scheduler, const CoreClock& clock, Nic& port)
    : scheduler_(scheduler), clock_(clock), port_(port), client_(scheduler.AddClient(*this)) {}

void ControlProcessor::ConnectTo(NicTap& tap) {
  tap.Connect(*this);
  tap.AddSink(*this);
  Restart(clock_.AtOrAfter(scheduler_.now()) + kResetCycles);
}

void ControlProcessor::Restart(Cycle first_input) {
  ++generation_;
  state_ = State::kStarting;
  is_waiting_ = false;
  interrupt_ = false;
  is_reading_ = false;
  peek_ = nullptr;
  accesses_ = 0;
  pokes_.clear();
  Boot(first_input);
}

void ControlProcessor::ContinueAt(Cycle cycle) {
  continues_ = cycle;
  scheduler_.At(clock_.Begin(cycle), client_, ++generation_);
}

void ControlProcessor::OnTime(uint64_t cookie) {
  if (cookie == kPoke) {
    Poke();
  } else if (cookie == generation_) {
    Continue();
  }
}

void ControlProcessor::WriteBeside(uint32_t offset, uint32_t value) {
  pokes_.push_back({offset, value});
  if (std::exchange(pokes_scheduled_, true)) return;
  scheduler_.At(clock_.Begin(Now() + 1), client_, kPoke);
}

void ControlProcessor::Poke() {
  pokes_scheduled_ = false;
  if (pokes_.empty()) return;
  if (accessed_ != Now() && continues_ != Now()) {
    port_.WriteCsr(Now(), pokes_.front().offset, pokes_.front().value);
    pokes_.pop_front();
  }
  if (pokes_.empty()) return;
  pokes_scheduled_ = true;
  scheduler_.At(clock_.Begin(Now() + 1), client_, kPoke);
}

void ControlProcessor::OnEvent(const BoundaryEvent& event) {
  if (event.kind == EventKind::kReset) Restart(event.cycle + kResetCycles);
}

void ControlProcessor::ReadRegister(uint32_t offset) {
  ++accesses_;
  accessed_ = Now();
  is_reading_ = true;
  port_.ReadCsr(Now(), offset);
}

void ControlProcessor::WriteRegister(uint32_t offset, uint32_t value) {
  ++accesses_;
  accessed_ = Now();
  port_.WriteCsr(Now(), offset, value);
}

void ControlProcessor::Peek(uint32_t offset, std::function<void(uint32_t)> done) {
  peek_ = std::move(done);
  port_.ReadCsr(Now(), offset);
}

void ControlProcessor::CompleteCsrRead(Cycle cycle, uint32_t value) {
  if (peek_) {
    const auto done = std::exchange(peek_, nullptr);
    done(value);
    if (interrupt_) SetFirmwareInterrupt(cycle, true);  // it came meanwhile
    return;
  }
  if (!std::exchange(is_reading_, false)) return;
  TakeAnswer(cycle, value);
}

void ControlProcessor::SetFirmwareInterrupt(Cycle cycle, bool level) {
  interrupt_ = level;
  if (!level || peek_ || !std::exchange(is_waiting_, false)) return;
  Wake(cycle);
}

}  // namespace vireo::sim
