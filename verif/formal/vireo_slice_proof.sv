// SPDX-License-Identifier: Apache-2.0

// vireo_slice is a queue of Depth entries, visible one cycle after the push.
module vireo_slice_proof #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 2
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             s_valid_i,
  input logic [Width-1:0] s_data_i,
  input logic             m_ready_i,
  input logic             mark_i
);

  logic s_ready, m_valid;
  logic [Width-1:0] m_data;

  vireo_formal_reset u_reset (.clk_i, .rst_ni);
  vireo_slice #(.Width(Width), .Depth(Depth)) dut (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_o(s_ready), .s_data_i, .m_valid_o(m_valid), .m_ready_i, .m_data_o(m_data)
  );
  vireo_queue_proof #(.Width(Width), .Depth(Depth)) u_queue (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_i(s_ready), .s_data_i, .m_valid_i(m_valid), .m_ready_i, .m_data_i(m_data), .mark_i
  );

  always_comb begin
    if (rst_ni) begin
      inv_entries: assert (2'(u_queue.count_q) == 2'(dut.valid0_q) + 2'(dut.valid1_q) && (dut.valid0_q || !dut.valid1_q));
      inv_marked: assert (!u_queue.marked_q || u_queue.data_q == (u_queue.ahead_q == '0 ? dut.data0_q : dut.data1_q));
    end
  end

endmodule
