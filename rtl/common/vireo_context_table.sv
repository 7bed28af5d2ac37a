// SPDX-License-Identifier: Apache-2.0

// A vireo_table whose entries have a parity bit: for what the device acts upon and only its owner writes. An entry whose
// parity is wrong reads as zero, like one that was never written, and is reported: corrupted contents
// never leave the table. One bit per entry detects every odd number of flips.
//
// A requested flip is held in a register at the reader, and inverts the bit as it comes out of the memory
// until the entry is written: a block RAM has no port that could invert a bit in place. A flip and a write of the entry
// in one cycle: the write wins. One flip at a time; a new one, also of an entry that does not exist, replaces
// the previous one.
module vireo_context_table
  import vireo_spec_pkg::*;
#(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // entries, 2 or more
  parameter logic [7:0] Ram,     // a context_ram_e
  // 0: the entries come with their parity as highest bit, and the user of several tables checks what he chose of them:
  // what is read is what is stored, and corrupt_o says that one bit of it is to be taken as inverted.
  parameter bit Checks = 1'b1,
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

  localparam int unsigned BitBits = $clog2(Width + 1);

  logic flip_d, flip_q;  // there is one
  logic [AddressBits-1:0] flip_address_d, flip_address_q;
  logic [BitBits-1:0] flip_bit_d, flip_bit_q;
  logic flipped_q;                 // the last read was of its entry

  always_comb begin
    flip_d = flip_q && !(write_i && write_address_i == flip_address_q);
    flip_address_d = flip_address_q;
    flip_bit_d = flip_bit_q;
    if (flip_valid_i && flip_i.ram == Ram) begin
      flip_address_d = flip_i.index[AddressBits-1:0];
      flip_bit_d = 32'(flip_i.bit_index) < Width ? BitBits'(flip_i.bit_index) : BitBits'(Width);
      flip_d = 32'(flip_i.index) < Depth && !(write_i && write_address_i == flip_address_d);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flip_q <= 1'b0;
      flip_address_q <= '0;
      flip_bit_q <= '0;
      flipped_q <= 1'b0;
    end else begin
      flip_q <= flip_d;
      flip_address_q <= flip_address_d;
      flip_bit_q <= flip_bit_d;
      if (read_i) flipped_q <= flip_q && flip_address_q == read_address_i;
    end
  end

  if (Checks) begin : gen_checked
    logic [Width:0] stored, seen;  // the parity bit is the highest

    vireo_table #(.Width(Width + 1), .Depth(Depth)) u_table (
      .clk_i, .rst_ni,
      .write_i, .write_address_i, .write_data_i({^write_data_i, write_data_i}),
      .read_i, .read_address_i, .read_data_o(stored)
    );

    always_comb begin
      seen = stored;
      if (flipped_q) seen[flip_bit_q] = !stored[flip_bit_q];
      corrupt_o = ^seen;
      read_data_o = corrupt_o ? '0 : seen[Width-1:0];
    end
  end else begin : gen_stored
    vireo_table #(.Width(Width), .Depth(Depth)) u_table (
      .clk_i, .rst_ni,
      .write_i, .write_address_i, .write_data_i,
      .read_i, .read_address_i, .read_data_o
    );

    // Which bit it is does not matter to a parity.
    logic unused_bit;
    assign unused_bit = ^flip_bit_q;
    assign corrupt_o = flipped_q;
  end

endmodule
