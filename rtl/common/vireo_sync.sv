// SPDX-License-Identifier: Apache-2.0

// Bits of another clock, two flip-flops later. Each bit by itself: several bits of which more than one changes at a time
// may be seen in a mixture, so they are Gray-coded, or do not belong together. The source is a flip-flop.
module vireo_sync #(
  parameter int unsigned Width
) (
  input  logic             clk_i,
  input  logic             rst_ni,  // to 0
  input  logic [Width-1:0] d_i,
  output logic [Width-1:0] q_o
);

  // Vivado keeps such registers next to each other and reports paths to the first one.
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] meta_q;
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] sync_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      meta_q <= '0;
      sync_q <= '0;
    end else begin
      meta_q <= d_i;
      sync_q <= meta_q;
    end
  end

  assign q_o = sync_q;

endmodule
