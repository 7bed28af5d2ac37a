// SPDX-License-Identifier: Apache-2.0
// An allocator that looks at a clock, as some do to know how long memory has not been used: preloaded into a program,
// it is in the middle of whatever the overlay does when a clock is looked at.
#include <cstddef>
#include <ctime>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): glibc's own, behind what is defined here
extern "C" void* __libc_malloc(size_t bytes);

extern "C" void* malloc(size_t bytes) noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return __libc_malloc(bytes);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
