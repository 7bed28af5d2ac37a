// SPDX-License-Identifier: Apache-2.0
#include "host/ibverbs/passthrough.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace vireo::ibverbs {

bool IsActive() {
  static const bool is_active = [] {
    const char* sockets = std::getenv("VIREO_SOCKET");
    return sockets != nullptr && *sockets != '\0';
  }();
  return is_active;
}

void* NextSymbol(const char* name) {
  if (void* next = dlsym(RTLD_NEXT, name); next != nullptr) return next;
  // A plugin may have loaded libibverbs with RTLD_LOCAL (as Python modules do).
  static void* const library = dlopen("libibverbs.so.1", RTLD_NOW);
  void* next = library == nullptr ? nullptr : dlsym(library, name);
  if (next == nullptr) {
    static_cast<void>(std::fprintf(stderr, "vireo: libibverbs has no %s\n", name));
    std::abort();
  }
  return next;
}

}  // namespace vireo::ibverbs
