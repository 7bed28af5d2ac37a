// SPDX-License-Identifier: Apache-2.0

// A vireo_table with a parity bit per entry, for context that is written by its owner only (docs/parity.md). An entry
// with wrong parity is reported and reads as zero, like an entry that was never written, so corrupted contents never
// leave the table. One bit per entry detects every odd number of flipped bits.
//
// Error injection: a requested flip is held in a register at the read port and inverts the parity of what is read until
// the entry is written, because a block RAM has no port that could invert a bit in place. Which bit is flipped makes no
// difference, as nobody uses the contents of a corrupt entry. If a flip and a write of the entry are in the same cycle,
// the write has priority. One flip at a time; a new one replaces the previous one, even if its entry does not exist.
// Zero, with its parity, after reset, which ends a flip.
module vireo_context_table
  import vireo_spec_pkg::*;
#(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // entries, 2 or more
  parameter logic [7:0] Ram,     // a context_ram_e
  // 0: a corrupt entry is output as it was written, and the user gives it no effect. For users that compute with the entry
  // while its parity is checked, so that the two do not add up.
  parameter bit Gates = 1'b1,
  parameter bit HasParity = 1'b1,  // 0: a vireo_table; no entry is corrupt, and a flip has no effect
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o,
  output logic                   corrupt_o,  // so is the entry at the output; like it, it stays until the next read
  input  logic                   flip_valid_i,
  input  context_flip_t          flip_i
);

  if (!HasParity) begin : gen_plain
    vireo_table #(.Width(Width), .Depth(Depth)) u_table (
      .clk_i, .rst_ni,
      .write_i, .write_address_i, .write_data_i,
      .read_i, .read_address_i, .read_data_o
    );
    assign corrupt_o = 1'b0;

    logic unused_flip;
    assign unused_flip = ^{flip_valid_i, flip_i};
  end else begin : gen_parity
    logic flip_d, flip_q;  // there is one
    logic [AddressBits-1:0] flip_address_d, flip_address_q;
    logic flipped_q;                 // the last read was of its entry

    always_comb begin
      flip_d = flip_q && !(write_i && write_address_i == flip_address_q);
      flip_address_d = flip_address_q;
      if (flip_valid_i && flip_i.ram == Ram) begin
        flip_address_d = flip_i.index[AddressBits-1:0];
        flip_d = 32'(flip_i.index) < Depth && !(write_i && write_address_i == flip_address_d);
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        flip_q <= 1'b0;
        flip_address_q <= '0;
        flipped_q <= 1'b0;
      end else begin
        flip_q <= flip_d;
        flip_address_q <= flip_address_d;
        if (read_i) flipped_q <= flip_q && flip_address_q == read_address_i;
      end
    end

    logic [Width:0] stored;  // the parity bit is the highest

    vireo_table #(.Width(Width + 1), .Depth(Depth)) u_table (
      .clk_i, .rst_ni,
      .write_i, .write_address_i, .write_data_i({^write_data_i, write_data_i}),
      .read_i, .read_address_i, .read_data_o(stored)
    );

    always_comb begin
      corrupt_o = ^{stored, flipped_q};
      read_data_o = Gates && corrupt_o ? '0 : stored[Width-1:0];
    end

    logic unused_bit;
    assign unused_bit = ^flip_i.bit_index;
  end

endmodule
