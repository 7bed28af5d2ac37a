// SPDX-License-Identifier: Apache-2.0

// What an acknowledge or the timer means for a QP of vireo_completer. StDecide of OpAck: does it count, and which PSNs does
// it cover; of OpTimer: has it run out in vain. StApplyAck: its effect on the first record that it does not complete: a
// retransmission, a pause, or the record's failure. Combinational; what is decided takes effect in
// vireo_completer_control. The records that are covered leave in vireo_completer_retire.
module vireo_completer_ack
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic           clk_i,           // for assertions
  input  state_e         state_i,         // StApplyAck, else StDecide
  input  turn_t          turn_i,
  input  logic           ack_begins_i,    // in StDecide: an acknowledge, else the timer
  // verilator lint_off UNUSEDSIGNAL
  input  rx_ack_t        ack_i,           // msn: for credits, later
  input  attributes_t    attributes_i,    // those that concern acknowledges
  input  stored_t        stored_i,
  // verilator lint_on UNUSEDSIGNAL
  input  timer_expired_t expired_i,
  input  logic [2:0]     qp_state_i,
  input  logic           corrupt_i,
  input  ring_t          ring_decided_i,  // in StDecide
  input  ring_t          ring_i,          // in StApplyAck, with the record that is examined:
  output step_t          step_o
);

  // verilator lint_off UNUSEDSIGNAL
  ring_t ring;                     // its window and counters
  // verilator lint_on UNUSEDSIGNAL
  logic comes_positive, fatal, counts, retries_left;
  logic [23:0] distance;

  assign ring = ring_decided_i;

  // UC, UD: only rx_acks for packets that have left or cannot be sent.
  always_comb begin
    distance = ack_i.psn - ring.unacked;
    comes_positive = ack_i.syndrome[6:5] == AethKindAck;  // the highest bit is reserved
    fatal = (ack_i.is_read || !attributes_i.reliable) && ack_i.status != IbWcStatusSuccess;
    // The records' PSNs may be more than fit into the space of numbers, those that were requested are less than half.
    counts = keeps_records(qp_state_i) && !ring.failed && ring.count != '0 && distance < ring.sent - ring.unacked
          && (attributes_i.reliable || (!ack_i.is_read && (comes_positive || fatal)));
    retries_left = ring.retries < attributes_i.retry_cnt;
  end

  // Effect of an acknowledge on the first record that it does not complete. Of a READ, the part after the received
  // responses is missing.
  logic stored_is_read, lost, is_positive, is_sequence, is_rnr, rnr_forever;
  logic [23:0] stored_first, stored_last, missing;
  logic [24:0] covered;
  logic [1:0] ack_kind;   // aeth_kind_e
  logic [4:0] ack_value;

  always_comb begin
    stored_is_read = is_read_opcode(stored_i.opcode);
    stored_first = stored_i.first_psn - turn_i.base;
    stored_last = stored_i.last_psn - turn_i.base;
    missing = stored_first > stored_last ? '0 : stored_first;
    lost = stored_is_read && !turn_i.is_read && {1'b0, missing} < turn_i.covered;
    covered = lost ? {1'b0, missing} : turn_i.covered;
    {ack_kind, ack_value} = turn_i.syndrome[6:0];
    is_positive = ack_kind == AethKindAck;
    is_sequence = lost || (ack_kind == AethKindNak && ack_value == NakCodePsnSequenceError);
    is_rnr = ack_kind == AethKindRnrNak;
    rnr_forever = attributes_i.rnr_retry == RnrRetryInfinite;
  end

  always_comb begin
    step_o = nothing(StRead, turn_i, ring_decided_i);
    if (state_i == StApplyAck) begin
      // An acknowledge that makes progress resets both retry counters. A sequence NAK without progress must not
      // consume a retry if a replay has already answered it: a responder sends one per gap. [IBTA vol. 1, 9.7.5.2.3]
      step_o.ring = ring_i;
      step_o.turn.covered = covered;
      step_o.turn.nak_status = status_of_nak(ack_kind, ack_value);
      if (lost) begin
        step_o.turn.nak_status = IbWcStatusRetryExcErr;
        step_o.turn.syndrome = AethSyndromeNakPsnSequenceError;
      end
      if (covered != '0) begin
        step_o.ring.nak_replayed = 1'b0;
        step_o.ring.retries = '0;
        step_o.ring.rnr_retries = '0;
      end
      if (is_sequence) begin
        // During the RNR wait it counts as an acknowledge only.
        if (!ring_i.paused && !step_o.ring.nak_replayed) begin
          if (step_o.ring.retries < attributes_i.retry_cnt) step_o.turn.next_action = NextReplay;
          else step_o.turn.reason = ReasonNak;
          step_o.ring.retries = step_o.ring.retries + 1'b1;
          step_o.ring.nak_replayed = 1'b1;
        end
      end else if (is_rnr) begin
        // A repeated RNR NAK during its wait is a duplicate.
        if (!ring_i.paused || covered != '0) begin
          if (rnr_forever || step_o.ring.rnr_retries < attributes_i.rnr_retry) step_o.turn.next_action = NextPause;
          else step_o.turn.reason = ReasonNak;
          if (!rnr_forever) step_o.ring.rnr_retries = step_o.ring.rnr_retries + 1'b1;
          step_o.ring.nak_replayed = 1'b0;
        end
      end else if (!is_positive) begin
        step_o.turn.reason = ReasonNak;
      end
      step_o.state = step_o.turn.reason == ReasonNak ? StCheck : StEnd;  // StCheck: the record being examined
    end else if (ack_begins_i) begin
      step_o.ack_ends = 1'b1;
      step_o.turn.reason = fatal ? ReasonNak : ReasonAck;
      step_o.turn.is_read = ack_i.is_read;
      step_o.turn.has_status = fatal;
      step_o.turn.nak_status = ack_i.status;
      step_o.turn.syndrome = ack_i.syndrome;
      step_o.turn.base = ring.unacked;
      step_o.turn.covered = {1'b0, distance} + 25'(!fatal && comes_positive);
      if (!counts || (|ack_i.qpn[23:QpBits]) || corrupt_i) step_o.state = StChoose;
    end else begin
      step_o.timer_ends = 1'b1;
      step_o.turn.reason = ReasonAck;
      step_o.turn.base = ring.unacked;
      step_o.turn.covered = '0;
      step_o.turn.nak_status = IbWcStatusRetryExcErr;
      step_o.turn.syndrome = '0;
      step_o.turn.has_status = 1'b0;
      if (!keeps_records(qp_state_i) || ring.failed || !ring.timer || ring.timer_epoch != expired_i.epoch
          || (|expired_i.qpn[23:QpBits]) || corrupt_i) begin
        step_o.state = StChoose;
      end else if (!ring.paused && !ring.timed) begin
        // No timeout while the packets to be acknowledged wait for the wire, or less than the timeout has
        // passed since they left. [IBTA vol. 1, 9.7.6.1.3]
        step_o.state = StEnd;
      end else if (ring.paused || retries_left) begin
        step_o.turn.next_action = NextReplay;
        step_o.state = StEnd;
      end else begin
        step_o.turn.reason = ReasonNak;
      end
      if (!ring.paused && ring.timed && retries_left) step_o.ring.retries = ring.retries + 1'b1;
      if (ring.paused || ring.timed) step_o.ring.nak_replayed = 1'b0;
      step_o.ring.timer = 1'b0;
    end
  end

  logic unused;
  assign unused = clk_i;

endmodule
