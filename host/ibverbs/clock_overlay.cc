// SPDX-License-Identifier: Apache-2.0
// Clock and sleep functions of a program in simulated time (service::ClientClock), from its first device discovery on.
// Before that, and without such a service, calls go to libc.
//
// Intercepted: clock_gettime of all clocks except the CPU-time clocks; gettimeofday, timespec_get, time; nanosleep,
// clock_nanosleep, usleep, sleep, which signals do not interrupt; the exec and spawn functions, and the functions that
// block signals (tsc_trap.h). Not intercepted:
// timeouts of other calls (poll, select, pthread_cond_timedwait), timers and alarms, file times; they use the system's
// clock.
#include <spawn.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <vector>

#include "host/ibverbs/next.h"
#include "host/ibverbs/tsc_trap.h"
#include "host/service/client_clock.h"

#define VIREO_CLOCK_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

service::ClientClock& Clock() { return service::ClientClock::OfProcess(); }

// The value of clock `id` at simulated time 0; none for CPU-time clocks.
std::optional<uint64_t> BaseOf(clockid_t id) {
  if (!Clock().is_attached()) return std::nullopt;
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI: return Clock().realtime_base_ns();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM: return Clock().monotonic_base_ns();
    default: return std::nullopt;
  }
}

timespec ToTimespec(uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecondNs), .tv_nsec = static_cast<long>(ns % kSecondNs)};
}

std::optional<uint64_t> ToNs(const timespec* time) {
  if (time == nullptr || time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= static_cast<long>(kSecondNs)) {
    return std::nullopt;  // libc reports the error
  }
  return static_cast<uint64_t>(time->tv_sec) * kSecondNs + static_cast<uint64_t>(time->tv_nsec);
}

// What of `set` may be blocked.
const sigset_t* WithoutTrap(int how, const sigset_t* set, sigset_t& reduced) {
  if (set == nullptr || how == SIG_UNBLOCK || !Clock().is_attached()) return set;
  reduced = *set;
  sigdelset(&reduced, SIGSEGV);
  return &reduced;
}

// True: slept. A process without its own connection (a child) follows the simulated time of others.
bool Sleep(uint64_t ns) { return Clock().SleepUntil(Clock().NowNs() + ns); }

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

VIREO_CLOCK_API int clock_gettime(clockid_t id, timespec* time) noexcept {
  if (const auto base = overlay::BaseOf(id); base.has_value()) {
    *time = overlay::ToTimespec(*base + overlay::Clock().Read());
    return 0;
  }
  static auto* const next = overlay::Next<int(clockid_t, timespec*)>("clock_gettime");
  return next(id, time);
}

VIREO_CLOCK_API int gettimeofday(timeval* time, void* zone) noexcept {
  if (const auto base = overlay::BaseOf(CLOCK_REALTIME)) {
    const timespec now = overlay::ToTimespec(*base + overlay::Clock().Read());
    *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    // As glibc and a kernel whose zone nobody has set. [gettimeofday(2): obsolete, of no use on Linux]
    if (zone != nullptr) *static_cast<struct timezone*>(zone) = {};
    return 0;
  }
  static auto* const next = overlay::Next<int(timeval*, void*)>("gettimeofday");
  return next(time, zone);
}

VIREO_CLOCK_API int timespec_get(timespec* time, int time_base) noexcept {
  if (const auto base = overlay::BaseOf(CLOCK_REALTIME); base.has_value() && time_base == TIME_UTC) {
    *time = overlay::ToTimespec(*base + overlay::Clock().Read());
    return time_base;
  }
  static auto* const next = overlay::Next<int(timespec*, int)>("timespec_get");
  return next(time, time_base);
}

VIREO_CLOCK_API time_t time(time_t* time) noexcept {
  if (const auto base = overlay::BaseOf(CLOCK_REALTIME)) {
    const time_t now = overlay::ToTimespec(*base + overlay::Clock().Read()).tv_sec;
    if (time != nullptr) *time = now;
    return now;
  }
  static auto* const next = overlay::Next<time_t(time_t*)>("time");
  return next(time);
}

VIREO_CLOCK_API int nanosleep(const timespec* wanted, timespec* left) {
  const auto ns = overlay::ToNs(wanted);
  if (overlay::Clock().is_attached() && ns.has_value() && overlay::Sleep(*ns)) return 0;
  static auto* const next = overlay::Next<int(const timespec*, timespec*)>("nanosleep");
  return next(wanted, left);
}

VIREO_CLOCK_API int clock_nanosleep(clockid_t id, int flags, const timespec* wanted, timespec* left) {
  const auto base = overlay::BaseOf(id);
  const auto ns = overlay::ToNs(wanted);
  if (base.has_value() && ns.has_value()) {
    const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
    if (is_absolute && *ns <= *base) return 0;
    if (is_absolute ? overlay::Clock().SleepUntil(*ns - *base) : overlay::Sleep(*ns)) return 0;
  }
  static auto* const next = overlay::Next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  return next(id, flags, wanted, left);
}

VIREO_CLOCK_API int usleep(useconds_t microseconds) {
  if (overlay::Clock().is_attached() && overlay::Sleep(uint64_t{microseconds} * 1000)) return 0;
  static auto* const next = overlay::Next<int(useconds_t)>("usleep");
  return next(microseconds);
}

VIREO_CLOCK_API unsigned sleep(unsigned seconds) {
  if (overlay::Clock().is_attached() && overlay::Sleep(seconds * overlay::kSecondNs)) return 0;
  static auto* const next = overlay::Next<unsigned(unsigned)>("sleep");
  return next(seconds);
}

// --- Signals: SIGSEGV, by which a trapped rdtsc is reported, stays unblocked

VIREO_CLOCK_API int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  static auto* const next = overlay::Next<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
  sigset_t reduced;
  return next(how, overlay::WithoutTrap(how, set, reduced), old);
}

VIREO_CLOCK_API int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  static auto* const next = overlay::Next<int(int, const sigset_t*, sigset_t*)>("sigprocmask");
  sigset_t reduced;
  return next(how, overlay::WithoutTrap(how, set, reduced), old);
}

// --- Execution of other programs

VIREO_CLOCK_API int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<int(const char*, char* const*, char* const*)>("execve");
  return next(path, arguments, environment);
}

VIREO_CLOCK_API int execv(const char* path, char* const arguments[]) noexcept {
  return execve(path, arguments, environ);
}

VIREO_CLOCK_API int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<int(const char*, char* const*, char* const*)>("execvpe");
  return next(file, arguments, environment);
}

VIREO_CLOCK_API int execvp(const char* file, char* const arguments[]) noexcept {
  return execvpe(file, arguments, environ);
}

VIREO_CLOCK_API int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const arguments[],
                                char* const environment[]) {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<decltype(posix_spawn)>("posix_spawn");
  return next(child, path, actions, attributes, arguments, environment);
}

VIREO_CLOCK_API int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const arguments[],
                                 char* const environment[]) {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<decltype(posix_spawnp)>("posix_spawnp");
  return next(child, file, actions, attributes, arguments, environment);
}

VIREO_CLOCK_API int system(const char* command) {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<int(const char*)>("system");
  return next(command);
}

VIREO_CLOCK_API FILE* popen(const char* command, const char* modes) {
  const overlay::TscTrapSuspension allowed;
  static auto* const next = overlay::Next<FILE*(const char*, const char*)>("popen");
  return next(command, modes);
}
