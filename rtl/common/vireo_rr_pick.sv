// SPDX-License-Identifier: Apache-2.0

// Round robin: of the requesting inputs, the first above the last winner, counting up and around. Combinational; the
// parent stores the last winner. Without a request, the pick is undefined.
module vireo_rr_pick #(
  parameter int unsigned Inputs,  // 2 or more
  localparam int unsigned IndexBits = $clog2(Inputs)
) (
  input  logic [Inputs-1:0]    requests_i,
  input  logic [IndexBits-1:0] last_i,
  output logic [IndexBits-1:0] pick_o
);

  if (Inputs < 2) $fatal(1, "Inputs is less than 2");

  logic [IndexBits-1:0] first_above, first_any;  // lowest requesting input: above the last one, of all
  logic above;

  always_comb begin
    first_above = '0;
    first_any = '0;
    above = 1'b0;
    for (int unsigned i = Inputs; i > 0; i--) begin
      if (requests_i[i-1]) begin
        first_any = IndexBits'(i - 1);
        if (IndexBits'(i - 1) > last_i) begin
          first_above = IndexBits'(i - 1);
          above = 1'b1;
        end
      end
    end
    pick_o = above ? first_above : first_any;
  end

endmodule
