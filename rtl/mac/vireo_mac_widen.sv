// SPDX-License-Identifier: Apache-2.0

// Beats of a frame to wider ones, from lane 0 on; the last one of a frame is short. Nothing waits: a beat that is complete
// leaves one cycle after its last part came. Bytes behind the last one are unknown.
module vireo_mac_widen #(
  parameter int unsigned InBits,
  parameter int unsigned OutBits,  // a multiple of InBits by a power of two, 1 included
  localparam int unsigned InSizeBits = $clog2(InBits / 8),
  localparam int unsigned OutSizeBits = $clog2(OutBits / 8)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   restart_i,  // what has not left is forgotten, and what comes now
  input  logic                   valid_i,
  input  logic [InBits-1:0]      data_i,
  input  logic [InSizeBits-1:0]  size_i,     // bytes less one; all ones but with last_i
  input  logic                   last_i,
  input  logic                   error_i,    // with last_i
  output logic                   valid_o,
  output logic [OutBits-1:0]     data_o,
  output logic [OutSizeBits-1:0] size_o,
  output logic                   last_o,
  output logic                   error_o
);

  localparam int unsigned Parts = OutBits / InBits;
  localparam int unsigned PartBits = Parts > 1 ? $clog2(Parts) : 1;

  logic [PartBits-1:0] part_q;
  logic complete;
  logic valid_q, last_q, error_q;
  logic [OutBits-1:0] data_q;
  logic [OutSizeBits-1:0] size_q;

  assign complete = last_i || part_q == PartBits'(Parts - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      part_q <= '0;
      valid_q <= 1'b0;
    end else begin
      valid_q <= valid_i && complete && !restart_i;
      if (restart_i || (valid_i && complete)) part_q <= '0;
      else if (valid_i) part_q <= part_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      for (int unsigned i = 0; i < Parts; ++i) begin
        if (part_q == PartBits'(i)) data_q[InBits*i+:InBits] <= data_i;
      end
      last_q <= last_i;
      error_q <= error_i;
    end
  end
  if (Parts > 1) begin : g_size
    always_ff @(posedge clk_i) begin
      if (valid_i) size_q <= {part_q, size_i};
    end
  end else begin : g_same_size
    always_ff @(posedge clk_i) begin
      if (valid_i) size_q <= size_i;
    end
  end

  assign valid_o = valid_q;
  assign data_o = data_q;
  assign size_o = size_q;
  assign last_o = last_q;
  assign error_o = error_q;

endmodule
