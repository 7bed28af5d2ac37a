// SPDX-License-Identifier: Apache-2.0

// Beats of a frame to narrower ones; parts behind the frame's last byte are left out. Combinational, with a count of the
// parts that have left: the beat stays at the input until its last part is taken.
module vireo_mac_narrow #(
  parameter int unsigned InBits,   // a multiple of OutBits by a power of two, 1 included
  parameter int unsigned OutBits,
  localparam int unsigned InSizeBits = $clog2(InBits / 8),
  localparam int unsigned OutSizeBits = $clog2(OutBits / 8)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   restart_i, // nothing of the beat at the input has left
  input  logic                   valid_i,
  output logic                   ready_o,
  input  logic [InBits-1:0]      data_i,
  input  logic [InSizeBits-1:0]  size_i,   // bytes less one; all ones but with last_i
  input  logic                   last_i,
  output logic                   valid_o,
  input  logic                   ready_i,
  output logic [OutBits-1:0]     data_o,
  output logic [OutSizeBits-1:0] size_o,
  output logic                   last_o
);

  localparam int unsigned Parts = InBits / OutBits;

  if (Parts > 1) begin : g_parts
    localparam int unsigned PartBits = $clog2(Parts);
    logic [PartBits-1:0] part_q, end_part;
    logic at_end;

    assign end_part = size_i[InSizeBits-1:OutSizeBits];
    assign at_end = part_q == end_part;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) part_q <= '0;
      else if (restart_i) part_q <= '0;
      else if (valid_i && ready_i) part_q <= at_end ? '0 : part_q + 1'b1;
    end
    always_comb begin
      data_o = '0;
      for (int unsigned i = 0; i < Parts; ++i) begin
        if (part_q == PartBits'(i)) data_o = data_i[OutBits*i+:OutBits];
      end
    end
    assign size_o = at_end ? size_i[OutSizeBits-1:0] : '1;
    assign last_o = last_i && at_end;
    assign ready_o = ready_i && at_end;
  end else begin : g_same
    // verilator lint_off UNUSEDSIGNAL
    logic unused;
    assign unused = clk_i ^ rst_ni ^ restart_i;
    // verilator lint_on UNUSEDSIGNAL
    assign data_o = data_i;
    assign size_o = size_i;
    assign last_o = last_i;
    assign ready_o = ready_i;
  end
  assign valid_o = valid_i;

endmodule
