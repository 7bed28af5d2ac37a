// SPDX-License-Identifier: Apache-2.0

// Two entries between a producer and a consumer, in flip-flops: cuts every combinational path between the two and
// still passes one entry per cycle. What is pushed in cycle t is visible in cycle t+1.
//
// With one entry it has half of the registers and no multiplexer, but passes an entry in every second cycle only: for
// wide entries whose consumer takes longer.
module vireo_slice #(
  parameter int unsigned Width,
  parameter int unsigned Depth = 2  // entries: 1 or 2
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

  if (Depth < 1 || Depth > 2) $fatal(1, "Depth is neither 1 nor 2");

  // Entry 0 is the output; entry 1 is used only behind it.
  logic valid0_q, valid1_q;
  logic [Width-1:0] data0_q, data1_q;
  logic push, load0;

  assign push = s_valid_i && s_ready_o;
  assign load0 = !valid0_q || m_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid0_q <= 1'b0;
    // Else it stays empty, and simulation passes it by.
    else if (s_valid_i || valid0_q) valid0_q <= !load0 || valid1_q || push;
  end

  // As enables: of "next value or itself" in always_comb Yosys makes three LUTs per bit, not one. Nothing moves while
  // nothing comes, neither in hardware nor in simulation.
  always_ff @(posedge clk_i) begin
    if (load0 && (valid1_q || push)) data0_q <= valid1_q ? data1_q : s_data_i;
  end

  if (Depth == 2) begin : gen_second
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid1_q <= 1'b0;
      else if (s_valid_i || valid0_q) valid1_q <= !load0 && (valid1_q || s_valid_i);
    end

    always_ff @(posedge clk_i) begin
      if (push) data1_q <= s_data_i;
    end

    assign s_ready_o = !valid1_q;
  end else begin : gen_no_second
    assign valid1_q = 1'b0;
    assign data1_q = '0;
    assign s_ready_o = !valid0_q;
  end

  assign m_valid_o = valid0_q;
  assign m_data_o = data0_q;

endmodule
