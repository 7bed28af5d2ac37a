// SPDX-License-Identifier: Apache-2.0

// vireo_rr_pick picks a requesting input, and no requesting input lies between the last pick and the new one. Positions
// are counted from the one behind the last, with wrap-around: the pick's is the least of the requesting ones.
module vireo_rr_pick_proof #(
  parameter int unsigned Inputs = 4,
  localparam int unsigned IndexBits = $clog2(Inputs)
) (
  input logic [Inputs-1:0]    requests_i,
  input logic [IndexBits-1:0] last_i,
  input logic [IndexBits-1:0] other_i  // any other
);

  logic [IndexBits-1:0] pick;
  vireo_rr_pick #(.Inputs(Inputs)) dut (.requests_i, .last_i, .pick_o(pick));

  function automatic logic [31:0] turn(input logic [IndexBits-1:0] index, input logic [IndexBits-1:0] last);
    return (32'(index) + 2 * Inputs - 1 - 32'(last)) % Inputs;
  endfunction

  always_comb begin
    indices: assume (32'(last_i) < Inputs && 32'(other_i) < Inputs);
    wants: assert (requests_i == '0 || (32'(pick) < Inputs && requests_i[pick]));
    first: assert (!requests_i[other_i] || turn(pick, last_i) <= turn(other_i, last_i));
  end

endmodule
