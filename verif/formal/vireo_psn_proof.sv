// SPDX-License-Identifier: Apache-2.0

// One comparison of packet sequence numbers against their definition: PSNs are numbers modulo 2^24; the half that
// starts with the expected one is ahead, the other half is past [IBTA vol. 1, 9.7.2 and 9.7.4]. Expressed without a
// subtraction: psn_i lies a number of steps behind from_i, and that number, which is free, decides. So all 2^48 pairs
// and all wraps are covered. Bound by the files next to this one where blocks compare PSNs.
module vireo_psn_proof #(
  parameter int unsigned First = 0,       // the verdict is 1 from this many steps on ...
  parameter int unsigned Behind = 1 << 23 // ... to one before this many
) (
  input logic        clk_i,
  input logic        valid_i,    // the verdict counts
  input logic [23:0] from_i,
  input logic [23:0] psn_i,
  input logic        verdict_i
);

  logic [23:0] steps_q;  // any number
  always_ff @(posedge clk_i) steps_q <= steps_q + 1'b1;

  logic [24:0] sum;
  logic [23:0] there;

  always_comb begin
    sum = 25'(from_i) + 25'(steps_q);
    there = 24'(sum < 25'h1000000 ? sum : sum - 25'h1000000);
    defined: assert (!valid_i || there != psn_i || verdict_i == (32'(steps_q) >= First && 32'(steps_q) < Behind));
  end

endmodule
