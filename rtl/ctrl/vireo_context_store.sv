// SPDX-License-Identifier: Apache-2.0

// What table_command reads of the entries that firmware wrote: the first words of each (TableKeptWords), all tables one
// behind the other in one memory of 64-bit words with parity. The words of an entry are written and read one by one.
module vireo_context_store
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  // The entry: its table first, its index from the next cycle on. Accesses begin one cycle later; index_i stays.
  input  logic          select_i,
  input  logic [7:0]    table_id_i,
  input  logic [31:0]   index_i,
  output logic          exists_o,     // there is such an entry; like kept_o in each cycle of index_i
  output logic [3:0]    kept_o,       // its words here; 0: none

  input  logic          write_i,
  input  logic          read_i,
  input  logic [3:0]    word_i,       // less than kept_o
  input  logic [63:0]   write_data_i,
  output logic [63:0]   read_data_o,  // one cycle after read_i; stays until the next read
  output logic          corrupt_o,    // likewise: its parity is wrong, and read_data_o counts for nothing

  input  logic          flip_valid_i,
  input  context_flip_t flip_i
);

  localparam table_entries_t Entries = entries_of_tables(Config);
  localparam table_words_t First = first_words_of_tables(Config);
  localparam int unsigned Words = First[Tables];
  localparam int unsigned AddressBits = $clog2(Words);

  logic [31:0] entries_d, entries_q;
  logic [3:0] words_d, words_q;  // of each entry
  logic first_only_d, first_only_q;  // only entry 0 has words
  logic [AddressBits-1:0] first_d, first_q;  // address of the table's first word
  logic [AddressBits-1:0] entry_d, entry_q;  // of the entry's
  always_comb begin
    entries_d = '0;
    words_d = '0;
    first_d = '0;
    for (int unsigned t = 0; t < Tables; t++) begin
      if (table_id_i == 8'(t)) begin
        entries_d = Entries[t];
        words_d = 4'(TableKeptWords[t]);
        first_d = AddressBits'(First[t]);
      end
    end
    first_only_d = table_id_i == MgmtTableRss;
    exists_o = index_i < entries_q;
    kept_o = first_only_q && index_i != '0 ? '0 : words_q;
    // As sums: a multiplier is slower, and a scarce cell.
    entry_d = first_q;
    for (int unsigned bit_index = 0; bit_index < $bits(words_q); bit_index++) begin
      if (words_q[bit_index]) entry_d = entry_d + AddressBits'(index_i << bit_index);
    end
  end
  always_ff @(posedge clk_i) begin
    if (select_i) begin
      entries_q <= entries_d;
      words_q <= words_d;
      first_only_q <= first_only_d;
      first_q <= first_d;
    end
    entry_q <= entry_d;
  end

  logic [AddressBits-1:0] address;
  assign address = entry_q + AddressBits'(word_i);
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(64), .Depth(Words), .Ram(ContextRamManagementContext), .Gates(1'b0)
  ) u_words (
    .clk_i, .rst_ni,
    .write_i, .write_address_i(address), .write_data_i,
    .read_i, .read_address_i(address), .read_data_o,
    .corrupt_o, .flip_valid_i, .flip_i
  );

endmodule
