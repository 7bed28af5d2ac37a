// SPDX-License-Identifier: Apache-2.0
// Refused: has a net with several drivers
module bad_drivers (
  input  logic a_i,
  input  logic b_i,
  output wire  either_o
);
  assign either_o = a_i;
  assign either_o = b_i;
endmodule
