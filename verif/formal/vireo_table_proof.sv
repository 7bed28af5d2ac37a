// SPDX-License-Identifier: Apache-2.0

// vireo_table returns the value last written in a cycle before the read, and zero if nothing was written since reset:
// for one arbitrary entry, written and read in any cycles, with a reset at any time. What is written while the table
// clears itself has no effect.
module vireo_table_proof #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  parameter bit InLuts = 1'b0,
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
  vireo_table #(.Width(Width), .Depth(Depth), .InLuts(InLuts)) dut (
    .clk_i, .rst_ni, .write_i, .write_address_i, .write_data_i, .read_i, .read_address_i, .read_data_o(read_data)
  );

  logic started_q;
  logic [AddressBits-1:0] entry_q;  // the tracked entry
  logic [Width-1:0] value, value_q; // expected value of a read in this cycle
  logic expected_q;                 // the output is of this entry
  logic [Width-1:0] expected_value_q;

  initial begin
    started_q = 1'b0;
    value_q = '0;
    expected_q = 1'b0;
  end

  assign value = rst_ni ? value_q : '0;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    entry_q <= entry_i;
    value_q <= value;
    if (rst_ni && write_i && write_address_i == entry_i && !dut.sweeps) value_q <= write_data_i;
    if (read_i) expected_q <= read_address_i == entry_i;
    if (read_i) expected_value_q <= value;
  end

  always_comb begin
    power_on: assume (started_q || !rst_ni);
    one_entry: assume (!started_q || entry_i == entry_q);
    as_written: assert (!expected_q || read_data == expected_value_q);
  end

  // What a read of the entry finds.
  logic [Width-1:0] contents;
  if (InLuts && Width < 32) begin : gen_luts
    assign contents = dut.sweeps ? '0 : dut.gen_luts.memory[entry_i];
    always_comb begin
      inv_kept: assert (contents == value);
      inv_unused: assert (dut.used_q || dut.gen_luts.memory[entry_i] == '0);
      inv_swept: assert (!dut.sweeps || entry_i >= dut.write_address_q || dut.gen_luts.memory[entry_i] == '0);
    end
  end else if (InLuts) begin : gen_marked
    assign contents = dut.gen_marked.written_q[entry_i] ? dut.gen_marked.memory[entry_i] : '0;
    always_comb begin
      inv_kept: assert (contents == value);
      inv_unwritten: assert (!dut.sweeps || dut.gen_marked.written_q == '0);
    end
  end else begin : gen_blocks
    always_comb begin
      contents = dut.gen_blocks.memory[entry_i];
      if (dut.sweeps) contents = '0;
      else if (dut.gen_blocks.write_q && dut.write_address_q == entry_i) contents = dut.gen_blocks.write_data_q;
    end
    always_comb begin
      inv_kept: assert (contents == value);
      inv_unused: assert (dut.used_q || dut.gen_blocks.memory[entry_i] == '0);
      inv_sweep: assert (!dut.sweeps || (!dut.gen_blocks.write_q && dut.gen_blocks.write_data_q == '0));
      inv_swept: assert (!dut.sweeps || entry_i >= dut.write_address_q || dut.gen_blocks.memory[entry_i] == '0);
    end
  end

endmodule
