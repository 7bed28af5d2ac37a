// SPDX-License-Identifier: Apache-2.0

// Bounds the share of time that something optional may make others wait: after a wait of n cycles none may begin for
// Share × n. Waits that last longer than 2^WaitBits - 1 cycles count as that.
module vireo_wait_budget #(
  parameter int unsigned Share,    // a power of two, 2 or more
  parameter int unsigned WaitBits  // 1 or more
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic waits_i,  // a wait is in progress; it has begun in a cycle with may_wait_o
  output logic may_wait_o
);

  localparam int unsigned DebtBits = WaitBits + $clog2(Share);

  if (Share < 2 || 32'd1 << $clog2(Share) != Share) $fatal(1, "Share is not a power of two");

  logic [DebtBits-1:0] debt_d, debt_q;  // cycles until the next wait

  always_comb begin
    debt_d = debt_q;
    if (waits_i) begin
      if (debt_q[DebtBits-1 -: WaitBits] != '1) debt_d = debt_q + DebtBits'(Share);
    end else if (debt_q != '0) begin
      debt_d = debt_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) debt_q <= '0;
    else debt_q <= debt_d;
  end

  assign may_wait_o = debt_q == '0;

endmodule
