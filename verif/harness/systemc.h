// SPDX-License-Identifier: Apache-2.0
// The one way to include SystemC: its headers do not compile without warnings under our flags.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <systemc>
#pragma GCC diagnostic pop
