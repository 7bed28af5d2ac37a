// SPDX-License-Identifier: Apache-2.0

// What tests should have done to a slice or queue: an entry moved, waited for the consumer, filled it, and stalled the
// producer.
// `disable iff` looks to Verilator like a synchronous use of the asynchronous reset.
/* verilator lint_off SYNCASYNCNET */
module vireo_stream_cov (
  input logic clk_i,
  input logic rst_ni,
  input logic s_valid_i,
  input logic s_ready_i,
  input logic m_valid_i,
  input logic m_ready_i
);

  moves: cover property (@(posedge clk_i) disable iff (!rst_ni) m_valid_i && m_ready_i);
  waits: cover property (@(posedge clk_i) disable iff (!rst_ni) m_valid_i && !m_ready_i);
  full: cover property (@(posedge clk_i) disable iff (!rst_ni) !s_ready_i);
  stalls: cover property (@(posedge clk_i) disable iff (!rst_ni) s_valid_i && !s_ready_i);

endmodule
/* verilator lint_on SYNCASYNCNET */
