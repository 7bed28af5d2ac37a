// SPDX-License-Identifier: Apache-2.0

// Claims that verif/formal/formal_test.py must find refused, each in the branch of a parameter: of vireo_slice.
module bad_proof #(
  parameter int unsigned Claim = 0
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       s_valid_i,
  input logic [1:0] s_data_i,
  input logic       m_ready_i
);

  logic m_valid;
  logic [1:0] m_data;
  logic [3:0] taken_q;

  vireo_formal_reset u_reset (.clk_i, .rst_ni);
  vireo_slice #(.Width(2)) dut (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_o(), .s_data_i, .m_valid_o(m_valid), .m_ready_i, .m_data_o(m_data)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) taken_q <= '0;
    else if (m_valid && m_ready_i) taken_q <= taken_q + 1'b1;
  end

  if (Claim == 0) begin : gen_false  // false, but only after many cycles
    always_comb claim: assert (taken_q < 4'd6);
  end else if (Claim == 1) begin : gen_vacuous  // true only because of its assumptions
    always_comb nothing_comes: assume (!s_valid_i);
    always_comb claim: assert (!rst_ni || !m_valid || m_data == 2'd1);
  end else if (Claim == 2) begin : gen_open  // true, but not by induction without help
    logic [1:0] data_q;
    always_ff @(posedge clk_i) if (s_valid_i) data_q <= s_data_i;
    always_comb never_two: assume (!s_valid_i || !dut.valid0_q);
    always_comb claim: assert (!rst_ni || !m_valid || m_data == data_q);
  end else begin : gen_nameless
    always_comb assert (rst_ni || !m_valid);
  end

endmodule
