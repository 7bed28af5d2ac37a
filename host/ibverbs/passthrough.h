// SPDX-License-Identifier: Apache-2.0
// Whether the overlay works in this process at all, and the way around it. Without VIREO_SOCKET in the environment
// every function that the overlay defines calls libibverbs' own; programs notice nothing.
#pragma once

#include <infiniband/verbs.h>

// Macros of verbs.h in place of functions that the overlay defines.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

namespace vireo::ibverbs {

// VIREO_SOCKET is set: decided at the first call, for the life of the process.
bool IsActive();

// libibverbs' own function; ends the program if there is none, because it then was called from nowhere.
void* NextSymbol(const char* name);

}  // namespace vireo::ibverbs

// Begins the definition of a function that programs see.
#define VIREO_API extern "C" __attribute__((visibility("default")))
// First line of each.
#define VIREO_PASS(name, ...)                                                      \
  if (!::vireo::ibverbs::IsActive())                                               \
  return reinterpret_cast<decltype(&::name)>(::vireo::ibverbs::NextSymbol(#name))( \
      __VA_ARGS__)  // NOLINT(performance-no-int-to-ptr)
