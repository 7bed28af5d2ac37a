// SPDX-License-Identifier: Apache-2.0
// It checks that a longjmp goes to an older frame of the same stack, which a switch of stacks does not.
#undef _FORTIFY_SOURCE

#include "sim/topology/firmware_runner.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

// The sanitizer must know which stack is in use. g++ defines the first, clang has the second.
#if defined(__SANITIZE_ADDRESS__)
#define VIREO_ASAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VIREO_ASAN_FIBERS 1
#endif
#endif
#ifdef VIREO_ASAN_FIBERS
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
    if (memory_ == MAP_FAILED || mprotect(memory_, page, PROT_NONE) != 0 || getcontext(&begin_) != 0) {
      std::perror("FirmwareRunner: no stack");
      std::abort();
    }
    stack_ = static_cast<char*>(memory_) + page;
    begin_.uc_stack.ss_sp = stack_;
    begin_.uc_stack.ss_size = kStackBytes;
    begin_.uc_link = nullptr;
    // makecontext passes ints only.
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&begin_, reinterpret_cast<void (*)()>(&Fiber::Begin), 2, static_cast<unsigned>(self >> 32),
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
    if (_setjmp(outside_) == 0) {
      if (std::exchange(is_begun_, true)) _longjmp(inside_, 1);
      setcontext(&begin_);
    }
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  void Leave() {
#ifdef VIREO_ASAN_FIBERS
    __sanitizer_start_switch_fiber(&fake_, outside_stack_, outside_bytes_);
#endif
    if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
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
  // Only the first switch is one of contexts: they have a signal mask, which costs a system call per switch.
  ucontext_t begin_{};
  bool is_begun_ = false;
  jmp_buf inside_{}, outside_{};
#ifdef VIREO_ASAN_FIBERS
  void* fake_ = nullptr;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
#endif
};

FirmwareRunner::FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, NicTap& tap, const Options& options)
    : FirmwareRunner(scheduler, clock, static_cast<Nic&>(tap), options) {
  ConnectTo(tap);
}

FirmwareRunner::FirmwareRunner(Scheduler& scheduler, const CoreClock& clock, Nic& port, const Options& options)
    : ControlProcessor(scheduler, clock, port), options_(options) {}

FirmwareRunner::~FirmwareRunner() = default;

void FirmwareRunner::Boot(Cycle first_input) {
  fiber_.reset();
  firmware_ = std::make_unique<firmware::Firmware>(firmware::Csr(this, &FirmwareRunner::Read, &FirmwareRunner::Write),
                                                   options_.firmware);
  fiber_ = std::make_unique<Fiber>([this] { Main(); });
  ContinueAt(first_input + options_.access_cycles);
}

void FirmwareRunner::Continue() { fiber_->Enter(); }

void FirmwareRunner::TakeAnswer(Cycle cycle, uint32_t value) {
  answer_ = value;
  ContinueAt(cycle + options_.access_cycles);
}

void FirmwareRunner::Wake(Cycle cycle) { ContinueAt(cycle + options_.access_cycles); }

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
    if (interrupt()) {
      // The level may still be that of the served command. Polling again costs time even if it reads nothing.
      Pause(options_.access_cycles);
      continue;
    }
    is_waiting_ = true;
    fiber_->Leave();  // until Wake
  }
}

void FirmwareRunner::Pause(Cycle cycles) {
  ContinueAt(Now() + cycles);
  fiber_->Leave();
}

uint32_t FirmwareRunner::Read(void* self, uint32_t offset) {
  auto* runner = static_cast<FirmwareRunner*>(self);
  runner->ReadRegister(offset);
  runner->fiber_->Leave();  // until the answer, and the cost
  return runner->answer_;
}

void FirmwareRunner::Write(void* self, uint32_t offset, uint32_t value) {
  auto* runner = static_cast<FirmwareRunner*>(self);
  runner->WriteRegister(offset, value);
  runner->Pause(runner->options_.access_cycles);
}

}  // namespace vireo::sim
