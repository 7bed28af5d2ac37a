// SPDX-License-Identifier: Apache-2.0

// Counts the work requests whose memory the transmit path reads no more. The requester processes work requests and
// replays one after the other and issues packets; the transmit gather reads their payload in order. So a work request
// has ended when the last packet issued before its end is read. For each packet a memory keeps the counts of before it.
//
// Work requests end in order. Replays may not: one whose work request is kept passes those that are read again. It
// counts when all that were started before it have ended, one per cycle.
module vireo_work_fence #(
  parameter int unsigned Packets,    // issued and not read; a power of two
  parameter int unsigned Replays,    // started and not ended; a power of two, at most 2 ** (CountBits - 1)
  parameter int unsigned CountBits
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Pulses of the requester; with issued_i, the others follow that packet.
  input  logic                 issued_i,        // a packet, or the drop of one
  input  logic                 work_ended_i,    // a work request with packets
  input  logic                 replay_ended_i,
  input  logic [$clog2(Replays)-1:0] replay_serial_i,  // which: how many were started up to it, modulo Replays
  input  logic [1:0]           packets_read_i,  // that are read now
  output logic [CountBits-1:0] works_o,         // that have ended, modulo 2 ** CountBits
  output logic [CountBits-1:0] replays_o,
  output logic                 changes_o        // in the cycle before a change
);

  localparam int unsigned PlaceBits = $clog2(Packets);
  localparam int unsigned SerialBits = $clog2(Replays);

  typedef struct packed {
    logic [CountBits-1:0] works;
    logic [CountBits-1:0] replays;
  } counts_t;

  counts_t total_d, total_q;  // ended at the requester
  counts_t ended_d, ended_q;
  counts_t read;
  logic late_d, late_q;       // `read` is valid
  logic [PlaceBits:0] left;   // packets not read, of those issued before
  logic [PlaceBits:0] outstanding_q;
  logic [PlaceBits-1:0] next_q, oldest;  // place of the next one, of the oldest that is not read
  logic [Replays-1:0] passed_d, passed_q;  // replays that have ended before an older one, by serial
  logic [SerialBits-1:0] first;            // the oldest replay that does not count
  logic counts;                            // now it does

  vireo_ram_1r1w #(
    .Width($bits(counts_t)),
    .Depth(Packets)
  ) u_before (
    .clk_i,
    .write_i(issued_i),
    .write_address_i(next_q),
    .write_data_i(total_q),
    .read_i(late_d),
    .read_address_i(oldest),
    .read_data_o(read)
  );

  always_comb begin
    first = SerialBits'(total_q.replays + 1'b1);
    counts = passed_q[first] || (replay_ended_i && replay_serial_i == first);
    passed_d = passed_q;
    if (replay_ended_i) passed_d[replay_serial_i] = 1'b1;
    if (counts) passed_d[first] = 1'b0;
    total_d.works = total_q.works + CountBits'(work_ended_i);
    total_d.replays = total_q.replays + CountBits'(counts);
    left = outstanding_q - (PlaceBits + 1)'(packets_read_i);
    oldest = next_q - PlaceBits'(left);
    late_d = left != '0 && packets_read_i != '0;
    ended_d = ended_q;
    if (left == '0) ended_d = issued_i ? total_q : total_d;
    else if (late_q) ended_d = read;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_q <= '0;
      passed_q <= '0;
      ended_q <= '0;
      late_q <= 1'b0;
      outstanding_q <= '0;
      next_q <= '0;
    end else begin
      total_q <= total_d;
      passed_q <= passed_d;
      ended_q <= ended_d;
      late_q <= late_d;
      outstanding_q <= left + (PlaceBits + 1)'(issued_i);
      next_q <= next_q + PlaceBits'(issued_i);
    end
  end

  assign works_o = ended_q.works;
  assign replays_o = ended_q.replays;
  assign changes_o = ended_d != ended_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) (PlaceBits + 1)'(packets_read_i) <= outstanding_q)
  else $error("more packets are read than were issued");
  assert property (@(posedge clk_i) disable iff (!rst_ni) 32'(outstanding_q) <= Packets)
  else $error("more packets than places");
  assert property (@(posedge clk_i) disable iff (!rst_ni) replay_ended_i |-> !passed_q[replay_serial_i])
  else $error("a replay ends twice");
`endif

endmodule
