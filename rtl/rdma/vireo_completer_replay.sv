// SPDX-License-Identifier: Apache-2.0

// A turn of vireo_completer for a QP that retransmits: StDecide of OpReplay reads the record at the cursor, or issues the
// resume behind the last one; StReplay issues the replay of that record, or of a burst of it, or lets the QP wait for a
// READ to leave or an acknowledge. Combinational; what is decided takes effect in vireo_completer_control. It does not
// decide that something is retransmitted: vireo_completer_ack does.
module vireo_completer_replay
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::MtuShift;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps),
  localparam int unsigned SlotBits = $clog2(Config.send_records),
  localparam int unsigned BurstBytes = Config.send_burst_bytes
) (
  input  logic                  issues_i,         // StReplay, else StDecide
  input  turn_t                 turn_i,
  input  logic [QpBits-1:0]     qpn_i,
  input  logic [2:0]            qp_state_i,
  // verilator lint_off UNUSEDSIGNAL
  input  attributes_t           attributes_i,     // those that a replay needs
  input  ring_t                 ring_decided_i,   // in StDecide
  // verilator lint_on UNUSEDSIGNAL
  input  logic                  corrupt_i,
  input  ring_t                 ring_i,           // in StReplay
  input  stored_t               stored_i,         // in StReplay: the record at the cursor
  input  logic                  record_waits_i,   // at the input
  input  logic [7:0]            taken_i,          // records, of all QPs
  input  logic [NumberBits-1:0] number_i,         // of the next replay
  output step_t                 step_o
);

  logic stored_is_read, waits, exceeds, cuts, first_transmission, drained;
  logic [15:0] burst;  // packets
  logic [23:0] replay_psn, rest, replay_end;  // where a replay starts, how many packets follow that one, where it ends
  logic [23:0] replay_ahead;        // PSNs outstanding before the replay
  logic [24:0] replay_outstanding;  // with it
  logic [23:0] outstanding;         // PSNs of all records, if all were requested
  logic [SlotWidth-1:0] slot;

  // What is requested of the record at the cursor.
  always_comb begin
    stored_is_read = is_read_opcode(stored_i.opcode);
    waits = ring_i.reads_replayed != '0
         && (stored_i.fence || (stored_is_read && 32'(ring_i.reads_replayed) >= 32'(attributes_i.max_rd_atomic)));
    // Acknowledged packets are not retransmitted.
    burst = 16'(32'(BurstBytes) >> MtuShift >> attributes_i.path_mtu);
    replay_psn = stored_i.first_psn;
    if (ring_i.cursor == '0) replay_psn = ring_i.unacked;
    if (ring_i.part && (ring_i.cursor != '0 || replay_psn - stored_i.first_psn < ring_i.next - stored_i.first_psn)) begin
      replay_psn = ring_i.next;
    end
    rest = stored_i.last_psn - replay_psn;
    cuts = !stored_is_read && burst != '0 && rest >= 24'(burst);
    replay_end = cuts ? replay_psn + 24'(burst) : stored_i.last_psn + 24'd1;
    replay_ahead = replay_psn - ring_i.unacked;
    replay_outstanding = 25'(replay_ahead) + (cuts ? 25'(burst) : 25'(rest) + 25'd1);
    exceeds = replay_outstanding > MostOutstanding;
    first_transmission = replay_psn - ring_i.unacked >= ring_i.sent - ring_i.unacked;
    slot = SlotWidth'(SlotBits'(ring_i.oldest + SlotWidth'(ring_i.cursor)));
    // A message that had started to leave when its QP was held must arrive before the resume is issued: no record from
    // before the QP's hold is in flight.
    drained = taken_i - ring_decided_i.records_before >= RecordsInFlight;
    outstanding = ring_decided_i.newest + 24'd1 - ring_decided_i.unacked;
  end

  always_comb begin
    step_o = nothing(StChoose, turn_i, issues_i ? ring_i : ring_decided_i);
    step_o.stored = stored_i;
    step_o.stored.replay = number_i;
    step_o.stored_slot = slot;
    step_o.stored_read_slot = ring_decided_i.oldest + SlotWidth'(ring_decided_i.cursor);
    if (!issues_i) begin
      step_o.replay = '{qpn: 24'(qpn_i), resume: 1'b1, epoch: ring_decided_i.epoch, head: '0, slot: '0,
                        psn: ring_decided_i.newest + 24'd1, first_psn: '0, last_psn: '0, packets: '0,
                        first_transmission: 1'b0, number: ring_decided_i.number, serial: '0};
      if (!keeps_records(qp_state_i) || ring_decided_i.failed || !ring_decided_i.replaying || ring_decided_i.awaits
          || corrupt_i) begin
        // Nothing to retransmit any more, or not yet.
      end else if (ring_decided_i.cursor != ring_decided_i.count) begin
        step_o.stored_read = 1'b1;
        step_o.state = StReplay;
      end else if (record_waits_i && !drained) begin
        step_o.again = 1'b1;
      end else if (25'(outstanding) > MostOutstanding >> 1) begin
        step_o.ring.waits_for_ack = 1'b1;
        step_o.ring_write = 1'b1;
      end else begin
        step_o.replays = 1'b1;
        step_o.ring.replaying = 1'b0;
        step_o.ring_write = 1'b1;
      end
    end else begin
      // All READs before it have ended or are before the cursor: that is its number.
      step_o.replay = '{qpn: 24'(qpn_i), resume: 1'b0, epoch: ring_i.epoch, head: stored_i.head, slot: 8'(slot),
                        psn: replay_psn, first_psn: stored_i.first_psn, last_psn: stored_i.last_psn,
                        packets: cuts ? burst : '0, first_transmission: first_transmission,
                        number: stored_is_read ? ring_i.reads_ended + 8'(ring_i.reads_replayed) : '0,
                        serial: 7'(number_i)};
      step_o.ring_write = 1'b1;
      if (stored_i.status != IbWcStatusSuccess || stored_i.no_completion) begin
        // It is never acknowledged, so replaying later records is useless.
        step_o.ring.replaying = 1'b0;
      end else if (stored_i.is_local) begin
        // It was executed when it came.
        step_o.ring.part = 1'b0;
        step_o.ring.cursor = ring_i.cursor + 1'b1;
        step_o.again = 1'b1;
      end else if (waits) begin
        step_o.ring.waits_for_read = 1'b1;
      end else if (exceeds) begin
        step_o.ring.waits_for_ack = 1'b1;
      end else begin
        step_o.stored_write = 1'b1;
        step_o.replay_starts = 1'b1;
        step_o.replays = 1'b1;
        if (replay_end - ring_i.unacked > ring_i.sent - ring_i.unacked) step_o.ring.sent = replay_end;
        step_o.ring.part = cuts;
        step_o.ring.next = replay_end;
        step_o.ring.awaits = cuts;
        if (!cuts) begin
          step_o.ring.cursor = ring_i.cursor + 1'b1;
          if (stored_is_read) step_o.ring.reads_replayed = ring_i.reads_replayed + 1'b1;
          step_o.again = 1'b1;
        end
      end
    end
  end

endmodule
