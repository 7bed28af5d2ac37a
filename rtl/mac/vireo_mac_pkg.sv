// SPDX-License-Identifier: Apache-2.0

// Between the NIC's frame streams and a MAC.
// A module that is linted alone uses some of it.
// verilator lint_off UNUSEDPARAM
package vireo_mac_pkg;

  // Without check sequence, which the MAC makes and checks. [IEEE 802.3, 3.2.8 and 4A.2.9]
  localparam int unsigned MacMinFrameBytes = 60;

  localparam int unsigned MacCountBits = 32;

  // Frames, since the reset; they wrap around. A received frame is in one of the first five.
  typedef struct packed {
    logic [MacCountBits-1:0] rx_good;       // handed on to the NIC, or dropped because the NIC was in reset
    logic [MacCountBits-1:0] rx_error;      // the MAC said so: check sequence, length, coding
    logic [MacCountBits-1:0] rx_runt;       // shorter than MacMinFrameBytes
    logic [MacCountBits-1:0] rx_oversize;   // longer than the configuration's longest frame
    logic [MacCountBits-1:0] rx_overrun;    // no room
    logic [MacCountBits-1:0] tx_discarded;  // of the NIC's: there was no link, or the MAC was reset
  } mac_counts_t;

  function automatic int unsigned wider(input int unsigned a, input int unsigned b);
    return a > b ? a : b;
  endfunction

endpackage
// verilator lint_on UNUSEDPARAM
