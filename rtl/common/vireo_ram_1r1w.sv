// SPDX-License-Identifier: Apache-2.0

// A memory with one write port and one registered read port on one clock. Contents survive reset and are unknown
// before they are written. It has no valid bits and no order.
//
// Reading a word in the cycle in which it is written gives an unknown word, which is what block RAMs of every family
// can do without extra logic; in simulation it is the inverse of what was written, so that a user who relies on it
// fails.
module vireo_ram_1r1w #(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // words, 2 or more
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o       // one cycle after read_i; stays until the next
);

  if (Depth < 2) $fatal(1, "Depth is less than 2");

  (* no_rw_check *)
  logic [Width-1:0] memory [Depth];
  logic [Width-1:0] read_data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
    if (read_i) begin
      read_data_q <= memory[read_address_i];
`ifndef SYNTHESIS
      if (write_i && write_address_i == read_address_i) read_data_q <= ~write_data_i;
`endif
    end
  end

  assign read_data_o = read_data_q;

endmodule
