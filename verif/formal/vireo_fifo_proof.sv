// SPDX-License-Identifier: Apache-2.0

// vireo_fifo is a queue of Depth entries, visible two cycles after the push; and its RAM is never read at an address
// that is written in that cycle (the result would be unknown). Read without a register, its output shows the same.
module vireo_fifo_proof #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
  parameter bit InLuts = 1'b0,
  localparam int unsigned AddressBits = $clog2(Depth)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             s_valid_i,
  input logic [Width-1:0] s_data_i,
  input logic             m_ready_i,
  input logic             mark_i
);

  logic s_ready, m_valid;
  logic [Width-1:0] m_data;
  logic [AddressBits:0] behind;         // entries in the RAM before the tracked one
  logic [AddressBits-1:0] place;

  vireo_formal_reset u_reset (.clk_i, .rst_ni);
  vireo_fifo #(.Width(Width), .Depth(Depth), .InLuts(InLuts)) dut (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_o(s_ready), .s_data_i, .m_valid_o(m_valid), .m_ready_i, .m_data_o(m_data)
  );
  vireo_queue_proof #(.Width(Width), .Depth(Depth), .Latency(2)) u_queue (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_i(s_ready), .s_data_i, .m_valid_i(m_valid), .m_ready_i, .m_data_i(m_data), .mark_i
  );

  logic [Width-1:0] stored;             // at `place`

  if (InLuts) begin : gen_luts
    // Of an output without an entry, too: it stays as it was when it left.
    logic [Width-1:0] shown_q;
    logic read_q, had_q;  // an entry was read in the cycle before, or ever

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) {read_q, had_q} <= '0;
      else {read_q, had_q} <= {dut.read, had_q || dut.read};
    end
    always_ff @(posedge clk_i) shown_q <= m_data;

    assign stored = dut.gen_luts.memory[place];
    always_comb begin
      if (rst_ni) begin
        inv_shown_address: assert (!had_q || dut.gen_luts.shown_address_q == AddressBits'(dut.read_address_q - 1'b1));
        inv_had: assert (had_q || !dut.valid_q);
        stays: assert (!had_q || read_q || m_data == shown_q);
      end
    end
  end else begin : gen_register
    assign stored = dut.gen_register.u_ram.memory[place];
  end

  assign behind = u_queue.ahead_q - (AddressBits + 1)'(dut.valid_q);
  assign place = dut.read_address_q + AddressBits'(behind);

  always_comb begin
    if (rst_ni) begin
      no_collision: assert (!(dut.push && dut.read && dut.write_address_q == dut.read_address_q));
      inv_held: assert (dut.held_q == u_queue.count_q && dut.held_q == dut.stored_q + (AddressBits + 1)'(dut.valid_q));
      inv_addresses: assert (dut.write_address_q - dut.read_address_q == AddressBits'(dut.stored_q));
      inv_shown: assert (dut.valid_q || dut.stored_q == (AddressBits + 1)'(u_queue.fresh_q));
      inv_marked: assert (!u_queue.marked_q || (dut.valid_q && u_queue.ahead_q == '0)
                          || stored == u_queue.data_q);
    end
  end

endmodule
