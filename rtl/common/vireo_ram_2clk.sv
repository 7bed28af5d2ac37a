// SPDX-License-Identifier: Apache-2.0

// A memory with one write port and one registered read port, each on its own clock. Contents survive reset and are
// unknown before they are written. The user never reads a word while it is written.
module vireo_ram_2clk #(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // words, 2 or more
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   write_clk_i,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_clk_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o       // one cycle after read_i; stays until the next
);

  if (Depth < 2) $fatal(1, "Depth is less than 2");

  (* no_rw_check *)
  logic [Width-1:0] memory [Depth];
  logic [Width-1:0] read_data_q;

  always_ff @(posedge write_clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
  end
  always_ff @(posedge read_clk_i) begin
    if (read_i) read_data_q <= memory[read_address_i];
  end

  assign read_data_o = read_data_q;

endmodule
