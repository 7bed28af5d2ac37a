// SPDX-License-Identifier: Apache-2.0

// READs have numbers modulo 2^8. The half that starts with the next one is new, the other half is a duplicate; before
// the first one since the load there are no duplicates. Expressed without a subtraction, as in vireo_psn_proof: the
// record's number lies a number of steps behind the next one, and that number, which is free, decides. Bound to
// vireo_read_ring.
module vireo_read_number_proof (
  input logic       clk_i,
  input logic       any_i,
  input logic [7:0] next_i,
  input logic [7:0] number_i,
  input logic       known_i
);

  logic [7:0] steps_q;  // any number
  always_ff @(posedge clk_i) steps_q <= steps_q + 1'b1;

  logic [8:0] sum;
  logic [7:0] there;

  always_comb begin
    sum = 9'(next_i) + 9'(steps_q);
    there = 8'(sum < 9'h100 ? sum : sum - 9'h100);
    defined: assert (there != number_i || known_i == (any_i && 32'(steps_q) >= 128));
  end

endmodule

bind vireo_read_ring vireo_read_number_proof u_number (
  .clk_i, .any_i(record_taken.any), .next_i(record_taken.next), .number_i(record.number), .known_i(known));
