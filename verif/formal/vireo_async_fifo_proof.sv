// SPDX-License-Identifier: Apache-2.0

// vireo_async_fifo between two clocks of which nothing is known: every edge of either may come at any time, also both at
// once. What leaves are the entries of the completed groups, each once, in order, without a gap within a group; what was
// taken back leaves never. Registers that cross change by one bit at most: then a synchronizer that samples one in the
// moment of its change sees its value from before or after, as it does here. Positions are counted modulo 2 Depth, and one
// entry (`mark_i` is free) is tracked with its contents.
module vireo_async_fifo_proof #(
  parameter int unsigned Width = 1,
  parameter int unsigned Depth = 4,
  localparam int unsigned AddressBits = $clog2(Depth),
  localparam int unsigned CountBits = AddressBits + 1,
  localparam int unsigned SumBits = CountBits + 3
) (
  input logic             s_clk_i,
  input logic             m_clk_i,
  input logic             rst_ni,
  input logic             s_valid_i,
  input logic [Width-1:0] s_data_i,
  input logic             s_last_i,
  input logic             s_drop_i,
  input logic             m_ready_i,
  input logic             mark_i
);

  typedef logic [CountBits-1:0] count_t;

  logic s_rst_n, m_rst_n;
  logic s_ready, m_valid, m_last;
  logic [CountBits-1:0] s_room;
  logic [Width-1:0] m_data;
  logic push, pop;

  vireo_formal_reset u_reset (.clk_i(s_clk_i), .rst_ni);
  vireo_reset_sync u_s_reset (.clk_i(s_clk_i), .rst_ni, .rst_no(s_rst_n));
  vireo_reset_sync u_m_reset (.clk_i(m_clk_i), .rst_ni, .rst_no(m_rst_n));
  vireo_async_fifo #(.Width(Width), .Depth(Depth)) dut (
    .s_clk_i, .s_rst_ni(s_rst_n), .s_valid_i, .s_ready_o(s_ready), .s_data_i, .s_last_i, .s_drop_i, .s_room_o(s_room),
    .m_clk_i, .m_rst_ni(m_rst_n), .m_valid_o(m_valid), .m_ready_i, .m_data_o(m_data), .m_last_o(m_last)
  );

  assign push = s_valid_i && s_ready && !s_drop_i;
  assign pop = m_valid && m_ready_i;

  // --- The writer's clock

  count_t end_q;         // behind the last entry that was pushed
  count_t done_q;        // behind the last one of a completed group
  count_t read1_q, read2_q, read3_q, read4_q;  // what was read, as it was seen 1 to 4 cycles ago
  count_t groups_past_q;
  logic s_started_q;
  logic marked_q, last_q;
  count_t place_q;
  logic [Width-1:0] data_q;
  count_t read;          // behind the last entry that left the memory

  always_ff @(posedge s_clk_i or negedge s_rst_n) begin
    if (!s_rst_n) begin
      end_q <= '0;
      done_q <= '0;
      read1_q <= '0;
      read2_q <= '0;
      read3_q <= '0;
      read4_q <= '0;
      groups_past_q <= '0;
      s_started_q <= 1'b0;
      marked_q <= 1'b0;
    end else begin
      s_started_q <= 1'b1;
      end_q <= s_drop_i ? done_q : end_q + count_t'(push);
      if (push && s_last_i) done_q <= end_q + 1'b1;
      read1_q <= read;
      read2_q <= read1_q;
      read3_q <= read2_q;
      read4_q <= read3_q;
      groups_past_q <= dut.groups_gray_q;
      // An entry at the same place takes its place.
      if (push && (!marked_q || end_q == place_q)) marked_q <= mark_i;
    end
  end
  always_ff @(posedge s_clk_i) begin
    if (push && (!marked_q || end_q == place_q)) begin
      place_q <= end_q;
      data_q <= s_data_i;
      last_q <= s_last_i;
    end
  end

  // --- The reader's clock

  count_t out_q;         // the entry that is, or will be, shown next
  count_t done1_q, done2_q, done3_q;  // done_q, as it was seen 1 to 3 cycles ago
  count_t reads_past_q;
  logic within_q;        // an entry was taken that does not end its group
  logic waits_q, waiting_last_q;
  logic [Width-1:0] waiting_q;

  always_ff @(posedge m_clk_i or negedge m_rst_n) begin
    if (!m_rst_n) begin
      out_q <= '0;
      done1_q <= '0;
      done2_q <= '0;
      done3_q <= '0;
      reads_past_q <= '0;
      within_q <= 1'b0;
      waits_q <= 1'b0;
    end else begin
      out_q <= out_q + count_t'(pop);
      done1_q <= done_q;
      done2_q <= done1_q;
      done3_q <= done2_q;
      reads_past_q <= dut.reads_gray_q;
      if (pop) within_q <= !m_last;
      waits_q <= m_valid && !m_ready_i;
    end
  end
  always_ff @(posedge m_clk_i) begin
    waiting_q <= m_data;
    waiting_last_q <= m_last;
  end
  assign read = out_q + count_t'(m_valid);

  // --- What follows from the memory's contents

  function automatic logic [Width:0] entry(input count_t place);
    return dut.u_ram.memory[place[AddressBits-1:0]];
  endfunction

  // Groups that end in the memory before a place.
  function automatic count_t groups_until(input count_t place);
    count_t result;
    result = '0;
    for (int unsigned i = 0; i < Depth; ++i) begin
      count_t at;
      logic [Width:0] found;
      at = read + count_t'(i);
      found = entry(at);
      if (count_t'(i) < count_t'(place - read) && found[Width]) result = result + 1'b1;
    end
    return result;
  endfunction

  function automatic logic ends(input count_t place);
    logic [Width:0] found;
    found = entry(place - 1'b1);
    return place == read || found[Width];
  endfunction

  function automatic logic [SumBits-1:0] distance(input count_t from, input count_t to);
    return SumBits'(count_t'(to - from));
  endfunction

  logic open;  // a group was begun whose last entry is in the memory
  assign open = m_valid && !m_last;

  logic held, shown;  // the tracked entry; and it is in the output
  assign held = marked_q && count_t'(place_q - out_q) < count_t'(end_q - out_q);
  assign shown = held && m_valid && place_q == out_q;

  always_comb begin
    if (rst_ni) begin
      never_overrun: assert (distance(read, end_q) <= SumBits'(Depth));
      room: assert (!s_started_q || s_room == count_t'(Depth) - count_t'(end_q - read4_q));
      nothing_invented: assert (!m_valid || out_q != done_q);
      order: assert (!shown || m_data == data_q);
      ends_with_its_group: assert (!shown || m_last == last_q);
      no_gap: assert (!within_q || m_valid);
      in_time: assert (m_valid || out_q == done3_q);
      stays_valid: assert (!waits_q || m_valid);
      stays_equal: assert (!waits_q || (m_data == waiting_q && m_last == waiting_last_q));
      groups_cross: assert ($countones(dut.groups_gray_q ^ groups_past_q) <= 1);
      reads_cross: assert ($countones(dut.reads_gray_q ^ reads_past_q) <= 1);

      inv_resets: assert ((s_rst_n || end_q == '0) && (m_rst_n || out_q == '0)
                          && (!s_rst_n || u_s_reset.u_sync.meta_q) && (!m_rst_n || u_m_reset.u_sync.meta_q));
      inv_started: assert (s_started_q || (end_q == '0 && s_room == '0));
      inv_write: assert (dut.write_q == end_q && dut.begin_q == done_q && dut.read_q == read);
      inv_gray: assert (dut.groups_gray_q == dut.gray(dut.groups_q) && dut.reads_gray_q == dut.gray(dut.read_q));
      inv_reads_seen: assert (dut.u_reads.meta_q == dut.gray(read1_q) && dut.u_reads.sync_q == dut.gray(read2_q) && dut.reads_q == read3_q);
      inv_order: assert (distance(read4_q, read3_q) + distance(read3_q, read2_q) + distance(read2_q, read1_q) + distance(read1_q, read)
                         + distance(read, done2_q) + distance(done2_q, done1_q) + distance(done1_q, done_q) + distance(done_q, end_q)
                         <= SumBits'(Depth));
      inv_unfinished: assert (groups_until(end_q) == groups_until(done_q));
      inv_groups: assert (count_t'(dut.groups_q - dut.begun_q + count_t'(open)) == groups_until(done_q));
      inv_groups1: assert (count_t'(dut.binary(dut.u_groups.meta_q) - dut.begun_q + count_t'(open)) == groups_until(done1_q));
      inv_groups2: assert (count_t'(dut.binary(dut.u_groups.sync_q) - dut.begun_q + count_t'(open)) == groups_until(done2_q));
      inv_ends: assert (ends(done_q) && ends(done1_q) && ends(done2_q));
      inv_begun: assert (!open || read != done2_q);
      inv_within: assert (!within_q || m_valid);
      inv_marked: assert (!held || shown || entry(place_q) == {last_q, data_q});
      inv_groups_past: assert (groups_past_q == dut.gray(dut.groups_q) || groups_past_q == dut.gray(dut.groups_q - 1'b1));
      inv_reads_past: assert (reads_past_q == dut.gray(dut.read_q) || reads_past_q == dut.gray(dut.read_q - 1'b1));
    end
  end

endmodule
