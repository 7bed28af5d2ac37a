// SPDX-License-Identifier: Apache-2.0

// A queue from one clock to another, of groups of entries: a group becomes visible when its last entry has been pushed,
// all of it at once, and until then it can be taken back. So a reader that takes one entry per cycle finds no gap within
// a group, however slow the writer is, and a group that turns out bad leaves no trace. With s_last_i = 1 it is a queue of
// entries.
//
// Two numbers cross: how many groups were completed, and how many entries were read. Each is a Gray-coded register that
// counts by one at most, so what the other side sees was its value at some time. A path that is longer than one period
// of the faster clock for some bits and not for others breaks that: constrain them (set_max_delay -datapath_only).
//
// Resets: both sides are reset together, each leaves it with its own clock (vireo_reset_sync of one reset), in any order.
// What is inside is lost. Resetting one side alone is not allowed: a writer that starts anew drops its group instead.
//
//   the last entry of a group pushed    group visible: after the 3rd edge of m_clk_i behind the edge of the push; an
//                                       edge at the same time counts for the next one
//   an entry read from the memory       room again: 2 edges of s_clk_i to see it, 2 more to count it
//
// Then one entry per cycle on both sides. The output register holds one entry more than Depth.
module vireo_async_fifo #(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // entries, a power of two, 4 or more
  localparam int unsigned AddressBits = $clog2(Depth),
  localparam int unsigned CountBits = AddressBits + 1
) (
  input  logic                 s_clk_i,
  input  logic                 s_rst_ni,
  input  logic                 s_valid_i,
  output logic                 s_ready_o,  // a group longer than Depth waits for ever: its owner drops it
  input  logic [Width-1:0]     s_data_i,
  input  logic                 s_last_i,   // of its group
  input  logic                 s_drop_i,   // takes back what was pushed since the last group, and what is offered now
  output logic [CountBits-1:0] s_room_o,   // entries that can be pushed now, at least

  input  logic                 m_clk_i,
  input  logic                 m_rst_ni,
  output logic                 m_valid_o,
  input  logic                 m_ready_i,
  output logic [Width-1:0]     m_data_o,
  output logic                 m_last_o
);

  if (Depth < 4 || (Depth & (Depth - 1)) != 0) $fatal(1, "Depth is not a power of two, 4 or more");

  function automatic logic [CountBits-1:0] gray(input logic [CountBits-1:0] value);
    return value ^ (value >> 1);
  endfunction

  function automatic logic [CountBits-1:0] binary(input logic [CountBits-1:0] value);
    logic [CountBits-1:0] result;
    for (int i = 0; i < CountBits; ++i) result[i] = ^(value >> i);
    return result;
  endfunction

  logic [CountBits-1:0] groups_gray_q, reads_gray_q;  // what crosses
  logic [CountBits-1:0] groups_seen, reads_seen;      // and what the other side sees of it

  // --- Writer

  logic [CountBits-1:0] write_q, write_d;  // where the next entry goes
  logic [CountBits-1:0] begin_q;           // where the group began
  logic [CountBits-1:0] groups_q;
  logic [CountBits-1:0] reads_q, room_q;
  logic push, complete;

  assign push = s_valid_i && s_ready_o && !s_drop_i;
  assign complete = push && s_last_i;
  assign write_d = s_drop_i ? begin_q : write_q + CountBits'(push);

  vireo_sync #(.Width(CountBits)) u_reads (
    .clk_i(s_clk_i),
    .rst_ni(s_rst_ni),
    .d_i(reads_gray_q),
    .q_o(reads_seen)
  );

  always_ff @(posedge s_clk_i or negedge s_rst_ni) begin
    if (!s_rst_ni) begin
      write_q <= '0;
      begin_q <= '0;
      groups_q <= '0;
      groups_gray_q <= '0;
      reads_q <= '0;
      room_q <= '0;
    end else begin
      write_q <= write_d;
      if (complete) begin
        begin_q <= write_d;
        groups_q <= groups_q + 1'b1;
        groups_gray_q <= gray(groups_q + 1'b1);
      end
      reads_q <= binary(reads_seen);
      room_q <= CountBits'(Depth) - (write_d - reads_q);
    end
  end

  assign s_ready_o = room_q != '0;
  assign s_room_o = room_q;

  // --- Memory

  logic [AddressBits:0] read_q;
  logic read;

  vireo_ram_2clk #(
    .Width(Width + 1),
    .Depth(Depth)
  ) u_ram (
    .write_clk_i(s_clk_i),
    .write_i(push),
    .write_address_i(write_q[AddressBits-1:0]),
    .write_data_i({s_last_i, s_data_i}),
    .read_clk_i(m_clk_i),
    .read_i(read),
    .read_address_i(read_q[AddressBits-1:0]),
    .read_data_o({m_last_o, m_data_o})
  );

  // --- Reader. An entry of the group that is in the output can always be read, another only with a group that was not
  // begun yet.

  logic [CountBits-1:0] begun_q;  // groups
  logic valid_q, first;

  assign first = !valid_q || m_last_o;
  assign read = (!valid_q || m_ready_i) && (!first || groups_seen != gray(begun_q));

  vireo_sync #(.Width(CountBits)) u_groups (
    .clk_i(m_clk_i),
    .rst_ni(m_rst_ni),
    .d_i(groups_gray_q),
    .q_o(groups_seen)
  );

  always_ff @(posedge m_clk_i or negedge m_rst_ni) begin
    if (!m_rst_ni) begin
      read_q <= '0;
      reads_gray_q <= '0;
      begun_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (read) begin
        read_q <= read_q + 1'b1;
        reads_gray_q <= gray(read_q + 1'b1);
      end
      if (read && first) begun_q <= begun_q + 1'b1;
      valid_q <= read || (valid_q && !m_ready_i);
    end
  end

  assign m_valid_o = valid_q;

endmodule
