// SPDX-License-Identifier: Apache-2.0
// Enables or bypasses the overlay. Without VIREO_SOCKET in the environment every function that the overlay defines
// calls libibverbs' own, so that the overlay has no effect.
#pragma once

#include <infiniband/verbs.h>

// Macros of verbs.h that would shadow functions of the overlay.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

namespace vireo::ibverbs {

// VIREO_SOCKET is set. Evaluated once per process, at the first call.
bool IsActive();

// libibverbs' own function; aborts if there is none.
void* NextSymbol(const char* name);

}  // namespace vireo::ibverbs

// Prefix of an exported function.
#define VIREO_API extern "C" __attribute__((visibility("default")))
// First line of every exported function: passes the call through if the overlay is inactive.
#define VIREO_PASS(name, ...)                                                      \
  if (!::vireo::ibverbs::IsActive())                                               \
  return reinterpret_cast<decltype(&::name)>(::vireo::ibverbs::NextSymbol(#name))( \
      __VA_ARGS__)  // NOLINT(performance-no-int-to-ptr)
