// SPDX-License-Identifier: Apache-2.0

// State machine of vireo_completer: one turn at a time, of one QP. It keeps the turn and the QP's ring meanwhile, and joins
// what the parts decide: vireo_completer_record, vireo_completer_replay, vireo_completer_ack, vireo_completer_retire and
// vireo_completer_end, each for its states. It decides itself on clears, flushes and the start of a retirement. What a
// step causes (step_o) takes effect at the end of the cycle, around it.
module vireo_completer_control
  import vireo_spec_pkg::*;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps),
  localparam int unsigned SlotBits = $clog2(Config.send_records)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  // The next turn, in StChoose.
  input  logic                  begins_i,
  input  op_e                   op_i,
  input  logic [QpBits-1:0]     qpn_i,            // of the turn in progress

  // Inputs of the turn.
  input  send_record_t          record_i,
  input  logic                  record_waits_i,
  input  logic [7:0]            taken_i,
  input  rx_ack_t               ack_i,
  input  timer_expired_t        expired_i,

  // What the tables say.
  input  logic [2:0]            qp_state_i,
  input  attributes_t           attributes_i,
  input  logic                  corrupt_i,        // the attributes have bad parity
  input  sent_t                 sent_i,
  input  ring_t                 ring_i,           // in StDecide
  input  stored_t               stored_i,         // the record that was read

  // Accesses to the record's memory.
  input  access_t               access_i,
  input  key_fence_t            key_fence_i,
  input  logic [EpochBits-1:0]  closed_by_i,
  input  logic [NumberBits-1:0] next_work_i,
  input  logic [NumberBits-1:0] next_replay_i,
  input  logic [NumberBits-1:0] works_ended_i,
  input  logic [NumberBits-1:0] replays_ended_i,

  input  logic                  free_i,           // completion, retired and failure may be issued
  input  logic                  timer_free_i,

  output state_e                state_o,
  output step_t                 step_o,
  output ring_t                 ring_o,           // of the turn's QP, after StDecide
  output logic                  parity_error_o
);

  state_e state_q;
  turn_t turn_q;
  ring_t ring_q;
  logic dead_q;          // the attributes of the turn have bad parity, and it is no clear
  logic bad, parity_error_q;
  step_t step, started, record, replay, ack, retire, ended;

  // --- StDecide of a clear, a flush, a retirement; StChoose, StRead
  always_comb begin
    started = nothing(StRead, turn_q, ring_i);
    started.stored_read_slot = ring_i.oldest - SlotWidth'(ring_i.parked);
    unique case (turn_q.op)
      OpClear: begin
        started.turn.reason = ReasonDiscard;
        started.ring.failed = 1'b0;
        started.ring.epoch = '0;
        started.ring.records_before = taken_i;
        started.ring.nak_replayed = 1'b0;
        started.ring.retries = '0;
        started.ring.rnr_retries = '0;
        started.ring.responses = ResponsesOpen;
        // What only waits for responses leaves now.
        started.polls_all = ring_i.parked != '0;
      end
      OpRetire: begin
        started.stored_read = 1'b1;
        started.state = StRetire;
      end
      default: begin  // OpFlush
        started.turn.reason = ReasonFlush;
        if (qp_state_i != 3'(IbQpStateErr) || corrupt_i) begin
          started.state = StChoose;
        end else if (ring_i.responses == ResponsesOpen) begin
          started.ring.responses = ResponsesClosed;
          if (ring_i.reads != '0 || ring_i.parked != '0) begin
            started.ring.responses = ResponsesClosing;
            started.ring.closed_by = closed_by_i;
            started.closes = 1'b1;
          end
        end
      end
    endcase
  end

  // --- The parts
  vireo_completer_record #(.Config(Config)) u_record (
    .amends_i(state_q == StAmend), .turn_i(turn_q), .record_i, .attributes_i, .qp_state_i, .corrupt_i,
    .ring_decided_i(ring_i), .ring_i(ring_q), .stored_i, .works_ended_i, .replays_ended_i, .work_i(next_work_i),
    .step_o(record)
  );
  vireo_completer_replay #(.Config(Config)) u_replay (
    .issues_i(state_q == StReplay), .turn_i(turn_q), .qpn_i, .qp_state_i, .attributes_i, .ring_decided_i(ring_i),
    .corrupt_i, .ring_i(ring_q), .stored_i, .record_waits_i, .taken_i, .number_i(next_replay_i), .step_o(replay)
  );
  vireo_completer_ack #(.Config(Config)) u_ack (
    .clk_i, .state_i(state_q), .turn_i(turn_q), .ack_begins_i(turn_q.op == OpAck), .ack_i, .attributes_i, .stored_i,
    .expired_i, .qp_state_i, .corrupt_i, .ring_decided_i(ring_i), .ring_i(ring_q), .step_o(ack)
  );
  vireo_completer_retire #(.Config(Config)) u_retire (
    .parked_i(state_q == StRetire), .turn_i(turn_q), .qpn_i, .qp_state_i, .reliable_i(attributes_i.reliable),
    .dead_i(dead_q), .ring_i(ring_q), .stored_i, .access_i, .key_fence_i, .free_i, .step_o(retire)
  );
  vireo_completer_end #(.Config(Config)) u_end (
    .turn_i(turn_q), .attributes_i, .qpn_i, .ring_i(ring_q), .sent_i, .taken_i, .timer_free_i, .step_o(ended)
  );

  // --- The step of this cycle
  always_comb begin
    unique case (state_q)
      StDecide: begin
        unique case (turn_q.op)
          OpRecord: step = record;
          OpReplay: step = replay;
          OpAck, OpTimer: step = ack;
          default: step = started;
        endcase
      end
      StAmend: step = record;
      StReplay: step = replay;
      StCheck, StRetire: step = retire;
      StApplyAck: step = ack;
      StEnd: step = ended;
      default: begin
        step = nothing(StChoose, turn_q, ring_q);
        if (state_q == StRead) begin
          step.stored_read = ring_q.count != '0;
          step.stored_read_slot = ring_q.oldest;
          step.state = ring_q.count == '0 ? StEnd : StCheck;
        end else begin
          if (begins_i) step.turn.op = op_i;
          if (begins_i) step.state = StDecide;
          step.turn.next_action = NextNothing;
        end
      end
    endcase
    // Only as many bits as the QP's records need.
    step.ring.parked = (SlotWidth + 1)'((SlotBits + 1)'(step.ring.parked));
    step.ring.oldest = SlotWidth'(SlotBits'(step.ring.oldest));
    step.ring.count = (SlotWidth + 1)'((SlotBits + 1)'(step.ring.count));
    step.ring.cursor = (SlotWidth + 1)'((SlotBits + 1)'(step.ring.cursor));
    step.ring.reads = (SlotWidth + 1)'((SlotBits + 1)'(step.ring.reads));
    step.ring.reads_replayed = (SlotWidth + 1)'((SlotBits + 1)'(step.ring.reads_replayed));
  end

  // --- Parity: in the cycle after a read. A turn that clears a QP does not use its attributes.
  assign bad = corrupt_i && turn_q.op != OpClear;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StChoose;
      dead_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      state_q <= step.state;
      if (state_q == StDecide) dead_q <= bad;
      parity_error_q <= state_q == StDecide && bad;
    end
  end
  always_ff @(posedge clk_i) begin
    turn_q <= step.turn;
    ring_q <= step.ring;
  end

  assign state_o = state_q;
  assign step_o = step;
  assign ring_o = ring_q;
  assign parity_error_o = parity_error_q;

endmodule
