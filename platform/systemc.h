// SPDX-License-Identifier: Apache-2.0
// SystemC and its TLM-2.0 sockets, as this folder includes them: their headers do not compile without warnings under
// our flags, and the sockets need dynamic processes.
#pragma once

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <systemc>
#include <tlm>
#pragma GCC diagnostic pop

// Stands in a module whose constructor is written out: SystemC 2.3 needs it for processes, SystemC 3 calls it obsolete.
#if SC_VERSION_MAJOR >= 3
#define VIREO_SC_PROCESSES(name)
#else
#define VIREO_SC_PROCESSES(name) SC_HAS_PROCESS(name)
#endif
