// SPDX-License-Identifier: Apache-2.0

// vireo_passage as in the device: behind an arbiter, whose consumer has a slice. Input 0 is watched.
module vireo_passage_top #(
  localparam int unsigned Inputs = 3,
  localparam int unsigned Width = 48
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [Inputs-1:0]             s_valid_i,
  output logic [Inputs-1:0]             s_ready_o,
  input  logic [Inputs-1:0][Width-1:0]  s_data_i,
  output logic                          m_valid_o,
  input  logic                          m_ready_i,
  output logic [Width-1:0]              m_data_o,
  input  logic                          start_i,
  output logic                          passed_o
);

  logic valid, ready, unused_last, unused_idle;
  logic [Width-1:0] data;
  logic [$clog2(Inputs)-1:0] index;

  vireo_arb_rr #(
    .Inputs(Inputs),
    .Width(Width)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i,
    .s_ready_o,
    .s_data_i,
    .s_last_i('1),
    .m_valid_o(valid),
    .m_ready_i(ready),
    .m_data_o(data),
    .m_last_o(unused_last),
    .m_index_o(index),
    .idle_o(unused_idle)
  );

  vireo_slice #(
    .Width(Width)
  ) u_consumer (
    .clk_i,
    .rst_ni,
    .s_valid_i(valid),
    .s_ready_o(ready),
    .s_data_i(data),
    .m_valid_o,
    .m_ready_i,
    .m_data_o
  );

  vireo_passage u_passage (
    .clk_i,
    .rst_ni,
    .enter_i(s_valid_i[0] && s_ready_o[0]),
    .leave_i(valid && ready),
    .own_i(index == 2'd0),
    .waits_i(m_valid_o),
    .start_i,
    .pending_i(start_i && s_valid_i[0]),
    .passed_o
  );

endmodule
