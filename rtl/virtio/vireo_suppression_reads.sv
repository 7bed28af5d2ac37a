// SPDX-License-Identifier: Apache-2.0

// Reads of the driver's event suppression in flight: sends the request, keeps the question, and joins it with the
// answer, in order. It has space for every response. It does not decide whether to interrupt.
module vireo_suppression_reads
  import vireo_spec_pkg::*;
  import vireo_cq_pkg::*;
(
  input  logic                    clk_i,
  input  logic                    rst_ni,

  output logic                    free_o,           // for a request; `room_o` too
  output logic                    room_o,
  input  logic                    read_i,
  input  suppression_read_t       question_i,
  input  dma_read_request_t       request_i,

  output logic                    fetch_request_valid_o,
  input  logic                    fetch_request_ready_i,
  output dma_read_request_t       fetch_request_o,
  input  logic                    fetched_valid_i,
  output logic                    fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t            fetched_i,        // the tag: answers come in order
  // verilator lint_on UNUSEDSIGNAL

  output logic                    answer_valid_o,
  input  logic                    answer_pop_i,
  output suppression_read_t       question_o,
  output suppression_t            answer_o,
  output logic [QuestionBits-1:0] questions_o       // reads whose answer was not taken
);

  logic question_ready, question_valid;
  logic [QuestionBits-1:0] questions_q;

  vireo_output #(
    .Width(DmaReadRequestBits)
  ) u_request (
    .clk_i,
    .rst_ni,
    .free_o,
    .load_i(read_i),
    .data_i(request_i),
    .m_valid_o(fetch_request_valid_o),
    .m_ready_i(fetch_request_ready_i),
    .m_data_o(fetch_request_o)
  );

  vireo_fifo #(
    .Width($bits(suppression_read_t)),
    .Depth(Questions)
  ) u_questions (
    .clk_i,
    .rst_ni,
    .s_valid_i(read_i),
    .s_ready_o(question_ready),
    .s_data_i(question_i),
    .m_valid_o(question_valid),
    .m_ready_i(answer_pop_i),
    .m_data_o(question_o)
  );

  // resp 0 is okay [AMBA AXI, A3.4.4]
  vireo_fifo #(
    .Width($bits(suppression_t)),
    .Depth(Questions)
  ) u_suppressions (
    .clk_i,
    .rst_ni,
    .s_valid_i(fetched_valid_i),
    .s_ready_o(fetched_ready_o),
    .s_data_i({fetched_i.resp != '0, fetched_i.data[8*PvirtqEventSuppressBytes-1:0]}),
    .m_valid_o(answer_valid_o),
    .m_ready_i(answer_pop_i),
    .m_data_o(answer_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) questions_q <= '0;
    else questions_q <= questions_q + QuestionBits'(read_i) - QuestionBits'(answer_pop_i);
  end
  assign questions_o = questions_q;
  assign room_o = questions_q != QuestionBits'(Questions);

`ifndef SYNTHESIS
  questions_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) read_i |-> question_ready);
  answer_has_question: assert property (@(posedge clk_i) disable iff (!rst_ni) answer_pop_i |-> question_valid);
`endif

endmodule
