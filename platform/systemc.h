// SPDX-License-Identifier: Apache-2.0
// SystemC and its TLM-2.0 sockets, as this folder includes them: their headers do not compile without warnings under
// our flags.
#pragma once

#include "sim/time/systemc.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <tlm>
#pragma GCC diagnostic pop
