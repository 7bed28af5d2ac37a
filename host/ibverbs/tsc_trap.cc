// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/tsc_trap.h"

#if defined(__x86_64__)

#include <elf.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>

#include "host/service/client_clock.h"

namespace vireo::ibverbs {
namespace {

struct sigaction former {};

// The code of the vDSO, by which libc reads the system's clocks: it needs the real counter.
std::span<const uint8_t> Vdso() {
  const auto* const start =
      reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));  // NOLINT(performance-no-int-to-ptr)
  if (start == nullptr) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof header);
  uint64_t bytes = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, start + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) bytes = std::max(bytes, segment.p_vaddr + segment.p_memsz);
  }
  return {start, bytes};
}
std::span<const uint8_t> vdso;

uint64_t CounterFor(const uint8_t* instruction) {
  if (instruction >= vdso.data() && instruction < vdso.data() + vdso.size()) {
    prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
    const uint64_t value = __rdtsc();
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return value;
  }
  static_assert(kTscHz == 1'000'000'000);
  service::ClientClock& clock = service::ClientClock::OfProcess();
  constexpr unsigned kEffort = 200;  // cost of a signal and its return
  return clock.monotonic_base_ns() + clock.Read(kEffort);
}

void OnFault(int signal, siginfo_t* info, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const instruction =
      reinterpret_cast<const uint8_t*>(registers[REG_RIP]);  // NOLINT(performance-no-int-to-ptr)
  // Only a general protection fault is at a readable instruction. Intel SDM, volume 2: RDTSC is 0f 31, RDTSCP 0f 01 f9.
  if (info->si_code == SI_KERNEL && instruction[0] == 0x0f) {
    const bool is_rdtsc = instruction[1] == 0x31;
    const bool is_rdtscp = instruction[1] == 0x01 && instruction[2] == 0xf9;
    if (is_rdtsc || is_rdtscp) {
      const uint64_t value = CounterFor(instruction);
      registers[REG_RAX] = static_cast<greg_t>(value & 0xffff'ffff);
      registers[REG_RDX] = static_cast<greg_t>(value >> 32);
      if (is_rdtscp) registers[REG_RCX] = 0;  // processor number: always 0
      registers[REG_RIP] += is_rdtscp ? 3 : 2;
      return;
    }
  }
  if ((former.sa_flags & SA_SIGINFO) != 0) return former.sa_sigaction(signal, info, context);
  if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) return former.sa_handler(signal);
  // The instruction faults again, with the default or previous action.
  sigaction(signal, &former, nullptr);
}

void SetTsc(int mode) { prctl(PR_SET_TSC, mode, 0, 0, 0); }

bool IsTrapped() {
  int mode = PR_TSC_ENABLE;
  return prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV;
}

}  // namespace

void TrapTsc() {
  static const bool is_handled = [] {
    vdso = Vdso();
    struct sigaction action {};
    action.sa_sigaction = OnFault;
    // SA_NODEFER: a fault inside the previous handler must not be blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
    return sigaction(SIGSEGV, &action, &former) == 0;
  }();
  if (!is_handled) return;
  // A fault while its signal is blocked ends the process. Threads that this one starts inherit both.
  sigset_t fault;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  pthread_sigmask(SIG_UNBLOCK, &fault, nullptr);
  SetTsc(PR_TSC_SIGSEGV);
}

TscTrapSuspension::TscTrapSuspension() {
  was_trapped_ = service::ClientClock::OfProcess().is_attached() && IsTrapped();
  if (was_trapped_) SetTsc(PR_TSC_ENABLE);
}
TscTrapSuspension::~TscTrapSuspension() {
  if (was_trapped_) SetTsc(PR_TSC_SIGSEGV);
}

}  // namespace vireo::ibverbs

#else

namespace vireo::ibverbs {

void TrapTsc() {}
TscTrapSuspension::TscTrapSuspension() { static_cast<void>(was_trapped_); }
TscTrapSuspension::~TscTrapSuspension() = default;

}  // namespace vireo::ibverbs

#endif
