// SPDX-License-Identifier: Apache-2.0

// vireo_fifo is a queue of Depth entries, visible two cycles after the push; and its RAM is never read at an address
// that is written in that cycle (the result would be unknown).
module vireo_fifo_proof #(
  parameter int unsigned Width = 2,
  parameter int unsigned Depth = 4,
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
  vireo_fifo #(.Width(Width), .Depth(Depth)) dut (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_o(s_ready), .s_data_i, .m_valid_o(m_valid), .m_ready_i, .m_data_o(m_data)
  );
  vireo_queue_proof #(.Width(Width), .Depth(Depth), .Latency(2)) u_queue (
    .clk_i, .rst_ni, .s_valid_i, .s_ready_i(s_ready), .s_data_i, .m_valid_i(m_valid), .m_ready_i, .m_data_i(m_data), .mark_i
  );

  assign behind = u_queue.ahead_q - (AddressBits + 1)'(dut.valid_q);
  assign place = dut.read_address_q + AddressBits'(behind);

  always_comb begin
    if (rst_ni) begin
      no_collision: assert (!(dut.push && dut.read && dut.write_address_q == dut.read_address_q));
      inv_held: assert (dut.held_q == u_queue.count_q && dut.held_q == dut.stored_q + (AddressBits + 1)'(dut.valid_q));
      inv_addresses: assert (dut.write_address_q - dut.read_address_q == AddressBits'(dut.stored_q));
      inv_shown: assert (dut.valid_q || dut.stored_q == (AddressBits + 1)'(u_queue.fresh_q));
      inv_marked: assert (!u_queue.marked_q || (dut.valid_q && u_queue.ahead_q == '0)
                          || dut.u_ram.memory[place] == u_queue.data_q);
    end
  end

endmodule
