// SPDX-License-Identifier: Apache-2.0

// When vireo_desc_fetch decides about a descriptor, the address of its last byte, computed in the cycle before, is that
// of the same descriptor: nothing moved in between, and nothing was decided without a descriptor. Bound to the
// last stage, in the block; its inputs are free.
module vireo_desc_end_proof (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        looks_i,           // state AnswerLookup
  input logic        says_i,            // state AnswerRespond
  input logic        waits_i,           // state AnswerTable
  input logic        job_valid_i,
  input logic        has_i,             // its job has a descriptor: passed in, or read
  input logic        job_reads_i,       // read
  input logic        read_valid_i,
  input logic [63:0] address_i,         // of the descriptor
  input logic [31:0] bytes_i,
  input logic [64:0] end_i              // its last byte, as computed one cycle before
);

  vireo_formal_reset u_reset (.clk_i, .rst_ni);

  always_comb begin
    if (rst_ni) begin
      last_byte: assert (!says_i || !has_i || end_i == 65'(address_i) + 65'(bytes_i) - 65'd1);
      job_there: assert (!(looks_i || says_i || waits_i) || job_valid_i);
      descriptor_there: assert (!(looks_i || says_i || waits_i) || !job_reads_i || read_valid_i);
    end
  end

endmodule

bind vireo_desc_answer vireo_desc_end_proof u_end_proof (
  .clk_i, .rst_ni, .looks_i(answer_q == AnswerLookup), .says_i(answer_q == AnswerRespond), .waits_i(answer_q == AnswerTable),
  .job_valid_i(descriptor_job_valid_i), .has_i(has_descriptor), .job_reads_i(descriptor_job_i.kind == KindRead),
  .read_valid_i(descriptor_valid_i), .address_i(descriptor.addr), .bytes_i(descriptor.len), .end_i(end_q));
