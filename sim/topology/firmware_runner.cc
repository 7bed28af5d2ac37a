// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/firmware_runner.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

// The sanitizer must know which stack is in use.
#if defined(__SANITIZE_ADDRESS__)
#define VIREO_ASAN_FIBERS 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace vireo::sim {

// A second stack in this thread. Enter() runs its code until that calls Leave(). Nothing on it owns resources, so it
// may be discarded at any time, as the destructor does.
class FirmwareRunner::Fiber {
 public:
  explicit Fiber(std::function<void()> body) : body_(std::move(body)) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = kStackBytes + page;
    // Stacks grow downwards: the lowest page is a guard page.
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED || mprotect(memory_, page, PROT_NONE) != 0 || getcontext(&inside_) != 0) {
      std::perror("FirmwareRunner: no stack");
      std::abort();
    }
    stack_ = static_cast<char*>(memory_) + page;
    inside_.uc_stack.ss_sp = stack_;
    inside_.uc_stack.ss_size = kStackBytes;
    inside_.uc_link = nullptr;
    // makecontext passes ints only.
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::Begin), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }
  ~Fiber() {
#ifdef VIREO_ASAN_FIBERS
    __asan_unpoison_memory_region(stack_, kStackBytes);
#endif
    munmap(memory_, bytes_);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void Enter() {
#ifdef VIREO_ASAN_FIBERS
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_, kStackBytes);
#endif
    swapcontext(&outside_, &inside_);
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  void Leave() {
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_start_switch_fiber(&fake_, outside_stack_, outside_bytes_);
#endif
    swapcontext(&inside_, &outside_);
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake_, &outside_stack_, &outside_bytes_);
#endif
  }

 private:
  static constexpr size_t kStackBytes = size_t{512} * 1024;  // many times what the firmware needs, sanitized too

  static void Begin(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(nullptr, &self->outside_stack_, &self->outside_bytes_);
#endif
    self->body_();
    std::abort();  // the body does not return
  }

  const std::function<void()> body_;
  void* memory_ = nullptr;
  char* stack_ = nullptr;
  size_t bytes_ = 0;
  ucontext_t inside_{}, outside_{};
#ifdef VIREO_ASAN_FIBERS
  void* fake_ = nullptr;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
#endif
};

FirmwareRunner::FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const Options& options)
    : FirmwareRunner(scheduler, clock, static_cast<Nic&>(tap), options) {
  tap.Connect(*this);
  tap.AddSink(*this);
  Restart(clock_.AtOrAfter(scheduler.now()) + kResetCycles);
}

FirmwareRunner::FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, Nic& port, const Options& options)
    : scheduler_(scheduler), clock_(clock), port_(port), options_(options), client_(scheduler.AddClient(*this)) {}

FirmwareRunner::~FirmwareRunner() = default;

void FirmwareRunner::Restart(Cycle first_input) {
  ++generation_;
  state_ = State::kStarting;
  interrupt_ = false;
  is_reading_ = false;
  peek_ = nullptr;
  accesses_ = 0;
  pokes_.clear();
  fiber_.reset();
  firmware_ = std::make_unique<firmware::Firmware>(firmware::Csr(this, &FirmwareRunner::Read, &FirmwareRunner::Write),
                                                   options_.firmware);
  fiber_ = std::make_unique<Fiber>([this] { Main(); });
  Resume(first_input + options_.access_cycles);
}

void FirmwareRunner::Resume(Cycle cycle) {
  resumes_ = cycle;
  scheduler_.At(clock_.Begin(cycle), client_, generation_);
}

void FirmwareRunner::OnTime(uint64_t cookie) {
  if (cookie == kPoke) {
    Poke();
  } else if (cookie == generation_) {
    fiber_->Enter();
  }
}

void FirmwareRunner::WriteBeside(uint32_t offset, uint32_t value) {
  pokes_.push_back({offset, value});
  if (std::exchange(pokes_scheduled_, true)) return;
  scheduler_.At(clock_.Begin(Now() + 1), client_, kPoke);
}

void FirmwareRunner::Poke() {
  pokes_scheduled_ = false;
  if (pokes_.empty()) return;
  if (accessed_ != Now() && resumes_ != Now()) {
    port_.WriteCsr(Now(), pokes_.front().offset, pokes_.front().value);
    pokes_.pop_front();
  }
  if (pokes_.empty()) return;
  pokes_scheduled_ = true;
  scheduler_.At(clock_.Begin(Now() + 1), client_, kPoke);
}

void FirmwareRunner::OnEvent(const BoundaryEvent& event) {
  if (event.kind == EventKind::kReset) Restart(event.cycle + kResetCycles);
}

// --- On the fiber

void FirmwareRunner::Main() {
  if (firmware_->Start()) {
    state_ = State::kServing;
  } else {
    state_ = State::kRefused;
    for (;;) fiber_->Leave();
  }
  for (;;) {
    if (firmware_->Poll()) continue;
    if (interrupt_) {
      // The level may still be that of the served command. Polling again costs time even if it reads nothing.
      Pause(options_.access_cycles);
      continue;
    }
    state_ = State::kSleeping;
    fiber_->Leave();  // until SetFirmwareInterrupt
    state_ = State::kServing;
  }
}

void FirmwareRunner::Pause(Cycle cycles) {
  Resume(Now() + cycles);
  fiber_->Leave();
}

uint32_t FirmwareRunner::Read(void* self, uint32_t offset) {
  auto* runner = static_cast<FirmwareRunner*>(self);
  ++runner->accesses_;
  runner->accessed_ = runner->Now();
  runner->is_reading_ = true;
  runner->port_.ReadCsr(runner->Now(), offset);
  runner->fiber_->Leave();  // until CompleteCsrRead, and the cost
  return runner->answer_;
}

void FirmwareRunner::Write(void* self, uint32_t offset, uint32_t value) {
  auto* runner = static_cast<FirmwareRunner*>(self);
  ++runner->accesses_;
  runner->accessed_ = runner->Now();
  runner->port_.WriteCsr(runner->Now(), offset, value);
  runner->Pause(runner->options_.access_cycles);
}

void FirmwareRunner::Peek(uint32_t offset, std::function<void(uint32_t)> done) {
  peek_ = std::move(done);
  port_.ReadCsr(Now(), offset);
}

// --- From the device

void FirmwareRunner::CompleteCsrRead(Cycle cycle, uint32_t value) {
  if (peek_) {
    const auto done = std::exchange(peek_, nullptr);
    done(value);
    if (interrupt_) SetFirmwareInterrupt(cycle, true);  // it came meanwhile
    return;
  }
  if (!is_reading_) return;
  is_reading_ = false;
  answer_ = value;
  Resume(cycle + options_.access_cycles);
}

void FirmwareRunner::SetFirmwareInterrupt(Cycle cycle, bool level) {
  interrupt_ = level;
  if (level && !peek_ && state_ == State::kSleeping) {
    state_ = State::kServing;  // wakes once
    Resume(cycle + options_.access_cycles);
  }
}

}  // namespace vireo::sim
