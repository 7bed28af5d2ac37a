// SPDX-License-Identifier: Apache-2.0

// A record comes to vireo_completer: StDecide of OpRecord puts it behind the newest one of its QP, unless it replaces the
// status of one that is there, which StAmend does, or reports that a part of a message has started. Combinational; what
// is decided takes effect in vireo_completer_control. It retires nothing: if the record has an outcome of its own, the
// turn goes on with the oldest one.
module vireo_completer_record
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned SendRecords = Config.send_records,
  localparam int unsigned SlotBits = $clog2(SendRecords)
) (
  input  logic                  amends_i,         // StAmend, else StDecide
  input  turn_t                 turn_i,
  // verilator lint_off UNUSEDSIGNAL
  input  send_record_t          record_i,         // the QP is known
  input  attributes_t           attributes_i,     // of it: those that a record needs
  // verilator lint_on UNUSEDSIGNAL
  input  logic [2:0]            qp_state_i,
  input  logic                  corrupt_i,
  input  ring_t                 ring_decided_i,   // in StDecide
  input  ring_t                 ring_i,           // in StAmend
  input  stored_t               stored_i,         // in StAmend: the record to be amended
  input  logic [NumberBits-1:0] works_ended_i,
  input  logic [NumberBits-1:0] replays_ended_i,
  input  logic [NumberBits-1:0] work_i,           // number of the next work request
  output step_t                 step_o
);

  stored_t stored_new;
  logic has_packets, has_timer, awaited, found;
  logic [SlotWidth-1:0] newest_slot, slot, slot_index, awaited_index;
  ring_t ring;

  always_comb begin
    has_packets = !record_i.unsent && record_i.status == IbWcStatusSuccess && !record_i.is_local;
    has_timer = attributes_i.reliable && attributes_i.timeout != '0;
    newest_slot = SlotWidth'(SlotBits'(ring_decided_i.oldest + SlotWidth'(ring_decided_i.count) - 1'b1));
    stored_new = '{head: record_i.head, wr_id: record_i.wr_id, opcode: record_i.opcode, status: record_i.status,
                   vendor_err: record_i.vendor_err, signaled: record_i.signaled,
                   no_completion: record_i.no_completion, to_report: 1'b0, first_psn: record_i.first_psn,
                   last_psn: record_i.last_psn, fence: record_i.fence, bytes: record_i.bytes,
                   work: has_packets ? work_i : works_ended_i, replay: replays_ended_i, is_local: record_i.is_local,
                   sent: '0, received: '0};
  end

  // The record that it amends.
  logic [SlotWidth-1:0] newest_now;
  always_comb begin
    newest_now = SlotWidth'(SlotBits'(ring_i.oldest + SlotWidth'(ring_i.count) - 1'b1));
    slot = record_i.is_replay ? SlotWidth'(record_i.slot[SlotBits-1:0]) : newest_now;
    slot_index = SlotWidth'(SlotBits'(record_i.slot - ring_i.oldest));
    awaited_index = SlotWidth'(SlotBits'(slot - ring_i.oldest));
    awaited = ring_i.replaying && ring_i.awaits && {1'b0, awaited_index} == ring_i.cursor;
    found = record_i.is_replay ? 32'(record_i.slot) < SendRecords && {1'b0, slot_index} < ring_i.count
                                 && stored_i.first_psn == record_i.first_psn
                               : ring_i.count != '0;
  end

  always_comb begin
    ring = ring_decided_i;
    step_o = nothing(StRead, turn_i, ring_decided_i);
    if (!amends_i) begin
      if (corrupt_i) step_o.turn.reason = ReasonDiscard;
      else if (qp_state_i == 3'(IbQpStateErr)) step_o.turn.reason = ReasonFlush;
      else if (!keeps_records(qp_state_i)) step_o.turn.reason = ReasonDiscard;
      else step_o.turn.reason = ReasonOwnStatus;
      if (record_i.replaces) begin
        // Only its status: the other fields are kept from the first record.
        step_o.stored_read = 1'b1;
        step_o.stored_read_slot = record_i.is_replay ? SlotWidth'(record_i.slot[SlotBits-1:0]) : newest_slot;
        step_o.state = StAmend;
      end else begin
        step_o.record_ends = 1'b1;
        step_o.stored_slot = newest_slot + 1'b1;
        step_o.stored = stored_new;
        step_o.stored_write = 1'b1;
        step_o.work_starts = has_packets;
        // The requester has seen the hold of the failure, and SQE after it.
        if (!attributes_i.reliable && !corrupt_i && record_i.recovers && record_i.epoch == ring.epoch) ring.failed = 1'b0;
        if (ring.count == '0) begin
          ring.unacked = record_i.first_psn;
          ring.sent = record_i.first_psn;
          ring.own_outcome = 1'b0;
        end
        if (record_i.status != IbWcStatusSuccess || record_i.no_completion || record_i.is_local) ring.own_outcome = 1'b1;
        ring.newest = record_i.last_psn;
        ring.number = ring.number + 1'b1;
        // A work request that failed has no packets, and earlier ones may be unsent.
        if (has_packets) begin
          ring.sent = record_i.packets != '0 ? record_i.first_psn + 24'(record_i.packets) : record_i.last_psn + 24'd1;
        end
        if (step_o.turn.reason == ReasonOwnStatus && !ring.failed && record_i.status == IbWcStatusSuccess
            && !record_i.no_completion && !record_i.is_local) begin
          if ((record_i.unsent || record_i.packets != '0) && !ring.paused && !ring.replaying) begin
            // The requester holds the QP itself, or will when the first part of the message has left, or the
            // resume was issued before it made this record.
            step_o.turn.next_action = NextContinue;
            ring.cursor = ring.count;
            ring.part = !record_i.unsent;
            ring.next = record_i.first_psn + 24'(record_i.packets);
            ring.reads_replayed = ring.reads;
            step_o.state = StEnd;
          end else if (!ring.timer && !ring.paused && has_timer) begin
            step_o.state = StEnd;
          end else begin
            step_o.ring_write = 1'b1;
            step_o.state = StChoose;
          end
        end
        ring.count = ring.count + 1'b1;
        if (is_read_opcode(record_i.opcode)) ring.reads = ring.reads + 1'b1;
      end
      step_o.ring = ring;
    end else begin
      step_o.ring = ring_i;
      step_o.record_ends = 1'b1;
      step_o.stored = stored_i;
      step_o.stored.status = record_i.status;
      step_o.stored.vendor_err = record_i.vendor_err;
      step_o.stored.to_report = record_i.is_replay;
      step_o.stored_slot = slot;
      if (found && record_i.packets == '0) begin
        step_o.stored_write = 1'b1;
        step_o.ring.own_outcome = 1'b1;
        // The requested part will not be sent.
        if (awaited) begin
          step_o.ring.replaying = 1'b0;
          step_o.ring.awaits = 1'b0;
        end
      end else begin
        step_o.state = StChoose;  // its message is complete, unless:
        if (found && awaited && record_i.epoch == ring_i.epoch) begin
          // A part of it has started: the next one may be requested, unless a later hold has restarted the replay.
          step_o.ring.awaits = 1'b0;
          step_o.ring_write = 1'b1;
          step_o.again = 1'b1;
        end
      end
    end
  end

endmodule
