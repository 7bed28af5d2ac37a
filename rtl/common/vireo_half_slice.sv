// SPDX-License-Identifier: Apache-2.0

// One entry between a producer and a consumer, in flip-flops: cuts every combinational path between the two, as
// vireo_slice does, with half of its registers and no multiplexer, but passes an entry in every second cycle only. For
// wide entries whose consumer takes longer. What is pushed in cycle t is visible in cycle t+1.
module vireo_half_slice #(
  parameter int unsigned Width
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             s_valid_i,
  output logic             s_ready_o,
  input  logic [Width-1:0] s_data_i,
  output logic             m_valid_o,
  input  logic             m_ready_i,
  output logic [Width-1:0] m_data_o
);

  logic valid_q;
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= valid_q ? !m_ready_i : s_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (s_valid_i && !valid_q) data_q <= s_data_i;
  end

  assign s_ready_o = !valid_q;
  assign m_valid_o = valid_q;
  assign m_data_o = data_q;

endmodule
