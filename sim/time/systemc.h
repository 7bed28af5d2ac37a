// SPDX-License-Identifier: Apache-2.0
// The only place that includes SystemC: its headers cause warnings under our flags.
#pragma once

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES  // sc_spawn, which the TLM-2.0 convenience sockets also need
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <systemc>
#pragma GCC diagnostic pop

// Use in a module whose constructor is written out: SystemC 2.3 needs it for SC_METHOD, SystemC 3 deprecates it.
#if SC_VERSION_MAJOR >= 3
#define VIREO_SC_MODULE(name)
#else
#define VIREO_SC_MODULE(name) SC_HAS_PROCESS(name);
#endif
