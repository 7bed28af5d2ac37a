// SPDX-License-Identifier: Apache-2.0

// vireo_table returns the value last written in a cycle before the read, and zero if nothing was written: for one
// arbitrary entry, written and read in any cycles. Reset only at power-on: a reset in the cycle behind a write would
// lose it.
module vireo_table_proof #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   write_i,
  input logic [AddressBits-1:0] write_address_i,
  input logic [Width-1:0]       write_data_i,
  input logic                   read_i,
  input logic [AddressBits-1:0] read_address_i,
  input logic [AddressBits-1:0] entry_i
);

  logic [Width-1:0] read_data;
  vireo_table #(.Width(Width), .Depth(Depth)) dut (
    .clk_i, .rst_ni, .write_i, .write_address_i, .write_data_i, .read_i, .read_address_i, .read_data_o(read_data)
  );

  logic started_q;
  logic [AddressBits-1:0] entry_q;  // the tracked entry
  logic [Width-1:0] value_q;        // expected value of a read in this cycle
  logic expected_q;                 // the output is of this entry
  logic [Width-1:0] expected_value_q;

  initial begin
    started_q = 1'b0;
    value_q = '0;
    expected_q = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    entry_q <= entry_i;
    if (rst_ni && write_i && write_address_i == entry_i) value_q <= write_data_i;
    if (read_i) expected_q <= read_address_i == entry_i;
    if (read_i) expected_value_q <= value_q;
  end

  always_comb begin
    power_on: assume (rst_ni == started_q);
    one_entry: assume (!started_q || entry_i == entry_q);
    as_written: assert (!expected_q || read_data == expected_value_q);
    inv_kept: assert (!started_q || (dut.write_q && dut.write_address_q == entry_q ? dut.write_data_q : dut.memory[entry_q]) == value_q);
    inv_before: assert (started_q || (dut.memory[entry_i] == '0 && value_q == '0));
  end

endmodule
