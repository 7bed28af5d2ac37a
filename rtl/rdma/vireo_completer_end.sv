// SPDX-License-Identifier: Apache-2.0

// The end of a turn of vireo_completer (StEnd), when no further record leaves: what the QP does next (a replay from the
// oldest unacknowledged packet on, a pause, or on with what it did), and its timer. Combinational; what is decided takes
// effect in vireo_completer_control.
module vireo_completer_end
  import vireo_spec_pkg::*;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  // verilator lint_off UNUSEDSIGNAL
  input  turn_t             turn_i,       // of the acknowledge: what it covers
  input  attributes_t       attributes_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QpBits-1:0] qpn_i,
  input  ring_t             ring_i,
  input  sent_t             sent_i,
  input  logic [7:0]        taken_i,      // records, of all QPs
  input  logic              timer_free_i,
  output step_t             step_o
);

  logic stops, progress, has_timer, set_timer;
  logic [23:0] sent_ahead;
  logic [1:0] timer_kind;

  always_comb begin
    stops = turn_i.reason == ReasonDiscard || turn_i.reason == ReasonFlush;
    progress = turn_i.op == OpAck && turn_i.covered != '0;
    has_timer = attributes_i.reliable && attributes_i.timeout != '0;
    set_timer = ring_i.timer;
    timer_kind = TimerKindOff;
    if (stops) begin
      // Nothing outstanding for the timer.
    end else if (turn_i.next_action == NextPause) begin
      set_timer = 1'b1;
      timer_kind = TimerKindRnr;
    end else if (ring_i.paused && turn_i.next_action != NextReplay) begin
      set_timer = 1'b0;
    end else if (ring_i.count != '0 && has_timer) begin
      set_timer = !ring_i.timer || progress || turn_i.next_action == NextReplay;
      timer_kind = TimerKindAck;
    end
  end

  always_comb begin
    step_o = nothing(StEnd, turn_i, ring_i);
    step_o.sets_timer = set_timer && timer_free_i;
    sent_ahead = '0;
    if (!set_timer || timer_free_i) begin
      if (turn_i.op == OpAck) step_o.ring.unacked = turn_i.base + turn_i.covered[23:0];
      if (progress && turn_i.next_action == NextNothing) begin
        step_o.ring.nak_replayed = 1'b0;
        step_o.ring.retries = '0;
        step_o.ring.rnr_retries = '0;
      end
      if (stops) begin
        step_o.ring.replaying = 1'b0;
        step_o.ring.paused = 1'b0;
        step_o.ring.waits_for_read = 1'b0;
        step_o.ring.waits_for_ack = 1'b0;
        step_o.ring.awaits = 1'b0;
        // What was requested before has no effect once the QP sends again.
        step_o.holds = turn_i.next_action == NextHalt;
      end else begin
        unique case (turn_i.next_action)
          NextReplay, NextPause: begin
            step_o.holds = 1'b1;
            step_o.ring.replaying = turn_i.next_action == NextReplay;
            step_o.ring.paused = turn_i.next_action == NextPause;
            step_o.ring.cursor = '0;
            step_o.ring.reads_replayed = '0;
            step_o.ring.waits_for_read = 1'b0;
            step_o.ring.waits_for_ack = 1'b0;
            step_o.ring.part = 1'b0;
            step_o.ring.awaits = 1'b0;
            step_o.again = turn_i.next_action == NextReplay;
          end
          NextContinue: begin
            step_o.ring.replaying = 1'b1;
            step_o.again = 1'b1;
          end
          default: begin
            step_o.again = progress && ring_i.waits_for_ack;
            if (progress) step_o.ring.waits_for_ack = 1'b0;
          end
        endcase
      end
      if (step_o.holds) begin
        step_o.ring.epoch = ring_i.epoch + 1'b1;
        step_o.ring.records_before = taken_i;
      end
      sent_ahead = sent_i.psn - step_o.ring.unacked;
      if (set_timer) begin
        step_o.ring.timer = timer_kind != TimerKindOff;
        step_o.ring.timed = sent_i.valid && sent_i.epoch == step_o.ring.epoch && sent_ahead < 24'h80_0000;
        step_o.ring.timer_epoch = ring_i.timer_epoch + 1'b1;
      end
      step_o.ring_write = 1'b1;
      step_o.state = StChoose;
    end
    step_o.timer_set = '{qpn: 24'(qpn_i), kind: timer_kind, code: '0, epoch: ring_i.timer_epoch + 1'b1};
    if (timer_kind == TimerKindAck) step_o.timer_set.code = attributes_i.timeout;
    if (timer_kind == TimerKindRnr) step_o.timer_set.code = turn_i.syndrome[4:0];
  end

endmodule
