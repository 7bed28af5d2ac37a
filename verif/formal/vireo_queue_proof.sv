// SPDX-License-Identifier: Apache-2.0

// Requirements on every queue with the standard handshake, for any contents: it neither loses nor invents nor reorders
// entries, reports exactly when it has room, shows an entry in time, and keeps it until it is taken. One entry, of any
// value and pushed at any time, is tracked (`mark_i` is free): if each single one comes out unchanged and in order, all
// do. The count of entries ahead of it makes the proof independent of their contents.
module vireo_queue_proof #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 2,
  parameter int unsigned Latency = 1,  // cycles from a push to the first in which the entry is visible; 1 or 2
  localparam int unsigned CountBits = $clog2(Depth + 1)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             s_valid_i,
  input logic             s_ready_i,
  input logic [Width-1:0] s_data_i,
  input logic             m_valid_i,
  input logic             m_ready_i,
  input logic [Width-1:0] m_data_i,
  input logic             mark_i      // track the entry that is pushed in this cycle, if none is tracked yet
);

  logic [CountBits-1:0] count_q;  // entries
  logic fresh_q;                  // one was pushed in the cycle before
  logic marked_q;                 // the tracked entry is inside
  logic [CountBits-1:0] ahead_q;  // entries before it
  logic [Width-1:0] data_q;
  logic push, pop;
  logic waits_q;                  // the output of the cycle before was not taken
  logic [Width-1:0] waiting_q;

  assign push = s_valid_i && s_ready_i;
  assign pop = m_valid_i && m_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      fresh_q <= 1'b0;
      marked_q <= 1'b0;
      waits_q <= 1'b0;
    end else begin
      count_q <= count_q + CountBits'(push) - CountBits'(pop);
      fresh_q <= push;
      waits_q <= m_valid_i && !m_ready_i;
      if (!marked_q) begin
        marked_q <= push && mark_i;
      end else if (pop && ahead_q == '0) begin
        marked_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    waiting_q <= m_data_i;
    if (!marked_q) begin
      ahead_q <= count_q - CountBits'(pop);
      data_q <= s_data_i;
    end else if (pop) begin
      ahead_q <= ahead_q - 1'b1;
    end
  end

  always_comb begin
    if (rst_ni) begin
      room: assert (s_ready_i == (count_q != CountBits'(Depth)));
      nothing_invented: assert (!m_valid_i || count_q != '0);
      in_time: assert (m_valid_i || count_q == '0 || (Latency == 2 && fresh_q && count_q == CountBits'(1)));
      order: assert (!(m_valid_i && marked_q && ahead_q == '0) || m_data_i == data_q);
      stays_valid: assert (!waits_q || m_valid_i);
      stays_equal: assert (!waits_q || m_data_i == waiting_q);
      inv_count: assert (count_q <= CountBits'(Depth));
      inv_ahead: assert (!marked_q || ahead_q < count_q);
    end
  end

endmodule
