// SPDX-License-Identifier: Apache-2.0
// libc's original of a function that the overlay defines.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

namespace vireo::ibverbs {

// Aborts if there is none.
template <typename Function>
Function* Next(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));  // NOLINT(performance-no-int-to-ptr)
  if (found == nullptr) std::abort();
  return found;
}

}  // namespace vireo::ibverbs
