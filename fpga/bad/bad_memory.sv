// SPDX-License-Identifier: Apache-2.0
// Refused: has a memory that cannot be mapped to RAM, or that would become flip-flops
// Written by two clocks, and read at four addresses per cycle by a third.
module bad_memory (
  input  logic            a_clk_i,
  input  logic            b_clk_i,
  input  logic            write_i,
  input  logic [1:0][5:0] write_address_i,
  input  logic [1:0][7:0] write_data_i,
  input  logic [3:0][5:0] read_address_i,
  output logic [3:0][7:0] read_data_o
);
  logic [7:0] memory [64];
  always @(posedge a_clk_i) if (write_i) memory[write_address_i[0]] <= write_data_i[0];
  always @(posedge b_clk_i) if (write_i) memory[write_address_i[1]] <= write_data_i[1];
  always_comb for (int unsigned i = 0; i < 4; i++) read_data_o[i] = memory[read_address_i[i]];
endmodule
