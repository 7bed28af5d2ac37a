// SPDX-License-Identifier: Apache-2.0

// Counts events of one clock for another. The count crosses in Gray code, so it is always one that was true; it shows an
// event 4 edges of m_clk_i after it, and wraps around.
module vireo_async_count #(
  parameter int unsigned Width
) (
  input  logic             s_clk_i,
  input  logic             s_rst_ni,   // both sides together, as of vireo_async_fifo
  input  logic             s_event_i,
  input  logic             m_clk_i,
  input  logic             m_rst_ni,
  output logic [Width-1:0] m_count_o
);

  logic [Width-1:0] count_q, gray_q, next, seen, binary;

  assign next = count_q + 1'b1;
  always_ff @(posedge s_clk_i or negedge s_rst_ni) begin
    if (!s_rst_ni) begin
      count_q <= '0;
      gray_q <= '0;
    end else if (s_event_i) begin
      count_q <= next;
      gray_q <= next ^ (next >> 1);
    end
  end

  vireo_sync #(.Width(Width)) u_sync (
    .clk_i(m_clk_i),
    .rst_ni(m_rst_ni),
    .d_i(gray_q),
    .q_o(seen)
  );

  always_comb begin
    for (int i = 0; i < Width; ++i) binary[i] = ^(seen >> i);
  end
  always_ff @(posedge m_clk_i or negedge m_rst_ni) begin
    if (!m_rst_ni) m_count_o <= '0;
    else m_count_o <= binary;
  end

endmodule
