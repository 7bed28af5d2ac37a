// SPDX-License-Identifier: Apache-2.0

// A set of QPs that wait for something, first come first served. A push always succeeds; of a QP that waits already it
// adds nothing, unless it comes in the very cycle in which that QP is taken: who takes one in cycle t has read what was
// so before t, and must hear of it again. What is pushed in cycle t can be taken from t + 2 on.
module vireo_qp_set #(
  parameter int unsigned Entries = 1024,  // QPs; a power of two, 2 or more
  localparam int unsigned IndexBits = $clog2(Entries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 push_valid_i,
  input  logic [IndexBits-1:0] push_i,
  output logic                 pop_valid_o,
  input  logic                 pop_ready_i,
  output logic [IndexBits-1:0] pop_o,
  output logic                 empty_o
);

  // Twice the entries: when all wait, the one that is taken may come again in that cycle.
  localparam int unsigned Depth = 2 * Entries;

  logic [Entries-1:0] waiting_d, waiting_q;
  logic pop, push;
  logic unused_ready;

  always_comb begin
    pop = pop_valid_o && pop_ready_i;
    push = push_valid_i && (!waiting_q[push_i] || (pop && pop_o == push_i));
    waiting_d = waiting_q;
    if (pop) waiting_d[pop_o] = 1'b0;
    if (push) waiting_d[push_i] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= '0;
    end else begin
      waiting_q <= waiting_d;
    end
  end

  vireo_fifo #(
    .Width(IndexBits),
    .Depth(Depth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .s_valid_i(push),
    .s_ready_o(unused_ready),  // there is always room, see Depth
    .s_data_i(push_i),
    .m_valid_o(pop_valid_o),
    .m_ready_i(pop_ready_i),
    .m_data_o(pop_o)
  );

  assign empty_o = waiting_q == '0;

endmodule
