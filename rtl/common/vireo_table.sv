// SPDX-License-Identifier: Apache-2.0

// A table of records: one write and one read per cycle, on one clock. A read in cycle t sees the writes of all cycles
// before t and none of t or later; its entry is there in t+1 and stays until the next read. All zero after power-on and
// after reset.
//
// A reset begins a sweep that writes zero to one entry per cycle: in the first Depth cycles every read returns zero,
// and a write has no effect, so its data must be zero. A table that was never written since power-on needs no sweep and
// can be used at once.
//
// The memory is written one cycle late, so that it never reads and writes one word in a cycle, which block RAMs do not
// define: a read of the word that is just being written takes it from the register. A small table is in LUTs, whose
// reads are asynchronous: it is written at once, and needs neither register.
module vireo_table #(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // entries, 2 or more
  parameter bit InLuts = Depth <= 16 || (Depth <= 32 && Width < 24),
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   write_i,
  input  logic [AddressBits-1:0] write_address_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic                   read_i,
  input  logic [AddressBits-1:0] read_address_i,
  output logic [Width-1:0]       read_data_o
);

  if (Depth < 2) $fatal(1, "Depth is less than 2");

  // A wide table in LUTs has a flip-flop for each entry that tells whether it was written: a LUT for each bit of the word
  // that could be cleared costs more.
  localparam int unsigned MarkedWidth = 32;

  logic sweep_q, used_q, sweeps;  // used: written since power-on
  logic [AddressBits-1:0] write_address_q;  // of the sweep, too

  assign sweeps = sweep_q && used_q;

  // Contents at power-on; the one place in the device where a memory needs them.
  initial used_q = 1'b0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
    end else begin
      sweep_q <= sweeps && write_address_q != AddressBits'(Depth - 1);
`ifndef SYNTHESIS
      never_lost: assert (!(sweeps && write_i) || write_data_i == '0);
`endif
    end
  end

  if (InLuts && Width < MarkedWidth) begin : gen_luts
    logic [Width-1:0] read_data_q;

    logic [Width-1:0] memory [Depth];
`ifdef SYNTHESIS
    initial memory = '{default: '0};  // a loop is one more cell per entry for Yosys
`else
    initial begin  // the pattern is one more statement per entry for Verilator
      for (int unsigned i = 0; i < Depth; i++) memory[i] = '0;
    end
`endif

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) write_address_q <= '0;
      else if (sweeps) write_address_q <= write_address_q + 1'b1;
    end

    always_ff @(posedge clk_i) begin
      if (write_i) used_q <= 1'b1;
      if (write_i || sweeps) memory[sweeps ? write_address_q : write_address_i] <= sweeps ? '0 : write_data_i;
      if (read_i) read_data_q <= sweeps ? '0 : memory[read_address_i];
    end

    assign read_data_o = read_data_q;
  end else if (InLuts) begin : gen_marked
    logic [Width-1:0] read_data_q;
    logic [Depth-1:0] written_q;  // since reset; else the entry is 0

    logic [Width-1:0] memory [Depth];

    initial written_q = '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        write_address_q <= '0;
        written_q <= '0;
      end else begin
        if (sweeps) write_address_q <= write_address_q + 1'b1;
        if (write_i && !sweeps) written_q[write_address_i] <= 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (write_i) begin
        used_q <= 1'b1;
        memory[write_address_i] <= write_data_i;
      end
      if (read_i) read_data_q <= written_q[read_address_i] ? memory[read_address_i] : '0;
    end

    assign read_data_o = read_data_q;
  end else begin : gen_blocks
    logic write_q;
    logic [Width-1:0] write_data_q;   // 0 while it sweeps
    logic forward, forward_q;         // the read's word is, was just being written
    logic [Width-1:0] forward_data_q;
    logic [Width-1:0] memory_data_q;

    (* no_rw_check *)
    logic [Width-1:0] memory [Depth];
`ifdef SYNTHESIS
    initial memory = '{default: '0};
`else
    initial begin
      for (int unsigned i = 0; i < Depth; i++) memory[i] = '0;
    end
`endif

    assign forward = sweeps || (write_q && write_address_q == read_address_i);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        write_q <= 1'b0;
        write_address_q <= '0;
        write_data_q <= '0;
      end else begin
        write_q <= write_i && !sweeps;
        if (sweeps) begin
          write_address_q <= write_address_q + 1'b1;
        end else if (write_i) begin
          write_address_q <= write_address_i;
          write_data_q <= write_data_i;
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (write_q) used_q <= 1'b1;
      if (write_q || sweeps) memory[write_address_q] <= write_data_q;
      if (read_i) begin
        forward_q <= forward;
        if (forward) forward_data_q <= write_data_q;
        else memory_data_q <= memory[read_address_i];
      end
    end

    assign read_data_o = forward_q ? forward_data_q : memory_data_q;
  end

endmodule
