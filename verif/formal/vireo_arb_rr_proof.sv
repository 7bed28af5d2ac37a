// SPDX-License-Identifier: Apache-2.0

// vireo_arb_rr grants the output to one input at a time, for whole transactions, and while an input waits at most
// Inputs - 1 transactions of others start, if they end. Its slices and its pick have proofs of their own.
module vireo_arb_rr_proof #(
  parameter int unsigned Inputs = 3,
  localparam int unsigned IndexBits = $clog2(Inputs)
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic [Inputs-1:0]      s_valid_i,
  input logic [Inputs-1:0][1:0] s_data_i,
  input logic [Inputs-1:0]      s_last_i,
  input logic                   m_ready_i,
  input logic [IndexBits-1:0]   watched_i
);

  vireo_formal_reset u_reset (.clk_i, .rst_ni);
  vireo_arb_rr #(.Inputs(Inputs), .Width(2)) dut (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_o(), .s_data_i, .s_last_i, .m_valid_o(), .m_ready_i, .m_data_o(), .m_last_o(),
    .m_index_o(), .idle_o()
  );

  logic [IndexBits-1:0] watched_q;  // one input, fixed forever
  logic [31:0] started_q;           // transactions of others that started since its beat has been waiting for a turn
  logic [IndexBits-1:0] owner_q;    // of the current transaction
  logic begins, waits;

  always_comb begin
    begins = dut.move && !dut.busy_q;
    waits = dut.valid[watched_q] && !(dut.busy_q && dut.winner_q == watched_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      watched_q <= '0;
      started_q <= '0;
      owner_q <= '0;
    end else begin
      if (dut.move) owner_q <= dut.winner_d;
      if (!waits || (begins && dut.winner_d == watched_q)) started_q <= '0;
      else if (begins) started_q <= started_q + 1;
      // Chosen while it has no beat waiting.
      if (!dut.valid[watched_q] && 32'(watched_i) < Inputs) watched_q <= watched_i;
    end
  end

  always_comb begin
    if (rst_ni) begin
      one_at_a_time: assert ((dut.ready & (dut.ready - 1'b1)) == '0);
      same_data: assert (!dut.move || dut.winner_data == dut.data[dut.winner_d]);
      whole: assert (!(dut.move && dut.busy_q) || dut.winner_d == owner_q);
      no_starvation: assert (started_q < Inputs);
      inv_indices: assert (32'(watched_q) < Inputs && 32'(dut.winner_q) < Inputs);
      inv_owner: assert (!dut.busy_q || owner_q == dut.winner_q);
      inv_turn: assert (!waits || started_q + (32'(watched_q) + 2 * Inputs - 1 - 32'(dut.winner_q)) % Inputs < Inputs);
    end
  end

endmodule
