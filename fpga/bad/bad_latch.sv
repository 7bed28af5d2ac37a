// SPDX-License-Identifier: Apache-2.0
// Refused: has a latch
module bad_latch (
  input  logic       open_i,
  input  logic [3:0] data_i,
  output logic [3:0] data_o
);
  always_latch if (open_i) data_o = data_i;
endmodule
