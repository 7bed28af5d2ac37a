// SPDX-License-Identifier: Apache-2.0

// Tells when what was begun before a certain cycle has ended, while more of it is begun: it ends in the order in which it
// began, so a copy of the number in progress, which counts down with each end, is enough.
module vireo_fence #(
  parameter int unsigned CountBits
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       begin_i,
  input  logic [1:0] end_i,    // number of those that end
  input  logic       start_i,  // the fence is for what was begun before this cycle
  input  logic [1:0] waits_i,  // with start_i: number of those that were begun, and whose begin_i comes now or later
  output logic       busy_o    // not all of it has ended; from the cycle after start_i on
);

  logic [CountBits-1:0] count_d, count_q;  // in progress
  logic [CountBits-1:0] left_now, left_d, left_q;

  always_comb begin
    count_d = count_q + CountBits'(begin_i) - CountBits'(end_i);
    left_now = start_i ? count_q + CountBits'(waits_i) : left_q;
    left_d = left_now < CountBits'(end_i) ? '0 : left_now - CountBits'(end_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      left_q <= '0;
    end else begin
      count_q <= count_d;
      left_q <= left_d;
    end
  end

  assign busy_o = left_q != '0;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) CountBits'(end_i) <= count_q + CountBits'(begin_i))
  else $error("more ends than were begun");
  assert property (@(posedge clk_i) begin_i |-> count_d != '0 || end_i != '0)
  else $error("more is in progress than can be counted");
`endif

endmodule
