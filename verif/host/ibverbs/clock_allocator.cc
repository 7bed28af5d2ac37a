// SPDX-License-Identifier: Apache-2.0
// An allocator that reads a clock, as some do to age unused memory. Preloaded into a program, it calls the overlay's
// clock functions from within malloc. And it looks up the next malloc, as such allocators do: libc's, not its own.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): glibc's names
extern "C" void* __libc_malloc(size_t bytes);

extern "C" void* malloc(size_t bytes) noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return __libc_malloc(bytes);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace {

struct Searches {
  Searches() {
    void* const next = dlsym(RTLD_NEXT, "malloc");
    if (next == nullptr || next == reinterpret_cast<void*>(&malloc)) std::abort();
  }
} const searches;

}  // namespace
