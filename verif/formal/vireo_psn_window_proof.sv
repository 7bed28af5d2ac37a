// SPDX-License-Identifier: Apache-2.0

// An acknowledge counts if its PSN belongs to an outstanding request: from the oldest unacknowledged one on, and before
// the first that was not requested, wherever the window lies in the circle of PSNs [IBTA vol. 1, 9.7.5.2]. The end and
// the PSN are given by steps from the oldest, which are free. Bound to vireo_completer_ack.
module vireo_psn_window_proof (
  input logic        clk_i,
  input logic        open_i,    // all conditions but the PSN hold
  input logic [23:0] oldest_i,
  input logic [23:0] end_i,
  input logic [23:0] psn_i,
  input logic        counts_i
);

  logic [23:0] window_q, steps_q;
  always_ff @(posedge clk_i) begin
    window_q <= window_q + 1'b1;
    steps_q <= steps_q + 1'b1;
  end

  logic meant;
  always_comb begin
    meant = 24'(oldest_i + window_q) == end_i && 24'(oldest_i + steps_q) == psn_i;
    nothing_else: assert (!meant || !counts_i || steps_q < window_q);
    all_of_it: assert (!meant || !open_i || steps_q >= window_q || counts_i);
  end

endmodule

bind vireo_completer_ack vireo_psn_window_proof u_window (
  .clk_i, .open_i(keeps_records(qp_state_i) && !ring.failed && ring.count != '0 && attributes_i.reliable),
  .oldest_i(ring.unacked), .end_i(ring.sent), .psn_i(ack_i.psn), .counts_i(counts));
