// SPDX-License-Identifier: Apache-2.0

// Two entries between a producer and a consumer, in flip-flops: cuts every combinational path between the two and
// still passes one entry per cycle. What is pushed in cycle t is visible in cycle t+1.
module vireo_slice #(
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

  // Entry 0 is the output; entry 1 is used only behind it.
  logic valid0_q, valid1_q;
  logic [Width-1:0] data0_q, data1_q;
  logic load0;

  assign load0 = !valid0_q || m_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid0_q <= 1'b0;
      valid1_q <= 1'b0;
    end else if (s_valid_i || valid0_q) begin  // else it stays empty, and simulation passes it by
      valid0_q <= !load0 || valid1_q || s_valid_i;
      valid1_q <= !load0 && (valid1_q || s_valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    // As enables: of "next value or itself" in always_comb Yosys makes three LUTs per bit, not one. Nothing moves while
    // nothing comes, neither in hardware nor in simulation.
    if (load0 && (valid1_q || s_valid_i)) data0_q <= valid1_q ? data1_q : s_data_i;
    if (s_valid_i && !valid1_q) data1_q <= s_data_i;
  end

  assign s_ready_o = !valid1_q;
  assign m_valid_o = valid0_q;
  assign m_data_o = data0_q;

endmodule
