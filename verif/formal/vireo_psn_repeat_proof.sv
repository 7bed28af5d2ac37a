// SPDX-License-Identifier: Apache-2.0

// A READ takes as many PSNs as its response has packets [IBTA vol. 1, 9.7.2]: a duplicate must end before the expected
// PSN, or it would be answered with packets that were not requested. The expected PSN lies a number of steps behind its
// first one, and that number is free. Bound to vireo_responder_checks.
module vireo_psn_repeat_proof (
  input logic        clk_i,
  input logic        internal_i,    // it is executed again
  input logic [23:0] expected_i,
  input logic [23:0] psn_i,
  input logic [31:0] packets_i
);

  logic [23:0] steps_q;
  always_ff @(posedge clk_i) steps_q <= steps_q + 1'b1;

  always_comb ends_before: assert (!internal_i || 24'(psn_i + steps_q) != expected_i || packets_i <= 32'(steps_q));

endmodule
