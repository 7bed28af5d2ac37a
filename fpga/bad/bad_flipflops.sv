// SPDX-License-Identifier: Apache-2.0
// Refused: has a memory that cannot be mapped to RAM, or that would become flip-flops
// One clock, three writes per cycle.
module bad_flipflops (
  input  logic            clk_i,
  input  logic [2:0]      write_i,
  input  logic [2:0][4:0] write_address_i,
  input  logic [2:0][7:0] write_data_i,
  input  logic [4:0]      read_address_i,
  output logic [7:0]      read_data_o
);
  logic [7:0] memory [32];
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 3; i++) if (write_i[i]) memory[write_address_i[i]] <= write_data_i[i];
    read_data_o <= memory[read_address_i];
  end
endmodule
