// SPDX-License-Identifier: Apache-2.0

// Tells QP control when the device has nothing in progress any more for a QP that it has stopped or flushed, while all
// others go on. The new state was broadcast: from then on each block drops, or flushes, work of this QP when it takes it.
// What was begun before ends in order, so fences follow each other in the direction of the data, and each is for what was
// begun before its start, of all QPs. None waits for the wire: docs/decisions/0010. At the end of a stop, packets of this
// QP that do wait for it are marked stale, at the end of a flush its requests.
module vireo_qp_sweep
  import vireo_spec_pkg::*;
#(
  parameter int unsigned Packets,  // between requester and tx_gather's output
  parameter int unsigned Entries,  // between the requester's machines
  parameter int unsigned Fetches,  // reads of work requests
  parameter int unsigned Batches,  // requests for receives
  parameter int unsigned Places    // in the receive scatter
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       sweep_i,                // level: until swept_o
  input  logic [23:0] qpn_i,                 // in its first cycle
  input  logic       clear_i,                // likewise: the QP is stopped

  // Levels: the block is at no work that depends on an earlier state.
  input  logic       send_queue_settled_i,
  input  logic       requester_settled_i,
  input  logic       responder_settled_i,
  input  logic       read_responder_settled_i,
  input  logic       completer_settled_i,
  input  logic       expected_psn_valid_i,   // pulse of the responder: the turn in which it notes the new state
  input  qp_psn_t    expected_psn_i,

  // Pulses: what begins and ends; *_wait: begun, but its pulse is still to come, or comes now.
  input  logic       fetch_begins_i,         // reads of work requests
  input  logic       fetch_ends_i,
  input  logic [1:0] fetches_wait_i,
  input  logic       entry_begins_i,         // entries of the requester's queue
  input  logic       entry_ends_i,
  input  logic       batch_begins_i,         // requests for receives
  input  logic       batch_ends_i,
  input  logic       packet_begins_i,        // packets of the requester, until their payload is read
  input  logic [1:0] packets_end_i,
  input  logic       response_begins_i,      // jobs of the read responder, until tx_gather has them
  input  logic       response_ends_i,
  input  logic       response_waits_i,
  input  logic       place_begins_i,         // places of the receive scatter, until their outputs are taken
  input  logic       place_ends_i,
  input  logic       place_waits_i,
  output logic       epoch_o,                // pulse: a new epoch of grants
  input  logic       memory_fence_i,

  // Acknowledges from the receive scatter to the completer, completions of completer and receive scatter.
  input  logic       ack_enters_i,
  input  logic       ack_leaves_i,
  input  logic       ack_own_i,
  input  logic       ack_waits_i,
  input  logic [1:0] completion_enters_i,
  input  logic       completion_leaves_i,
  input  logic [1:0] completion_own_i,
  input  logic [1:0] completion_pending_i,
  input  logic       completion_waits_i,

  output logic       stopped_valid_o,        // pulse: packets of this QP are stale; of one that is flushed its requests
  output logic       stopped_all_o,
  output logic [23:0] stopped_qpn_o,
  output logic       swept_o                 // level, as long as sweep_i
);

  // Until every block uses the new state, and sets of QPs show their work.
  localparam int unsigned Delay = 8;
  localparam int unsigned DelayBits = $clog2(Delay + 1);
  // By then the responder reads the new state, and has not noted it yet.
  localparam int unsigned ResponderDelay = 2;

  typedef enum logic [2:0] {
    StIdle,
    StSettle,       // every block is at the end of what it does
    StBegun,        // what the requester has begun; reads of work requests and receives
    StAccess,       // payload read, places written, grants ended
    StAnswers,      // acknowledges at the completer, answers at the read responder
    StComplete,     // the completer's turns for them; the read responder's jobs in tx_gather
    StCompletions,  // completions at the CQ writer
    StDone
  } state_e;

  state_e state_d, state_q;
  logic [DelayBits-1:0] delay_d, delay_q;
  logic [23:0] qpn_q;
  logic clear_q;
  logic noted_q;  // a pulse of the responder for this QP, one cycle ago
  // Since the start of the state; of the responder: its turn was over, and since then it has noted the state.
  logic send_queue_seen_d, send_queue_seen_q, requester_seen_d, requester_seen_q;
  logic responder_seen_d, responder_seen_q, noted_seen_d, noted_seen_q;
  logic read_responder_seen_d, read_responder_seen_q, completer_seen_d, completer_seen_q;
  logic start_begun, start_access, start_answers, start_complete, start_completions;
  logic responses_busy, fetches_busy, entries_busy, batches_busy, packets_busy, places_busy, acks_passed;
  logic [1:0] completions_passed;

  always_comb begin
    state_d = state_q;
    delay_d = delay_q == '0 ? '0 : delay_q - 1'b1;
    start_begun = 1'b0;
    start_access = 1'b0;
    start_answers = 1'b0;
    start_complete = 1'b0;
    start_completions = 1'b0;
    send_queue_seen_d = send_queue_seen_q;
    requester_seen_d = requester_seen_q;
    responder_seen_d = responder_seen_q;
    noted_seen_d = noted_seen_q || (responder_seen_q && noted_q);
    read_responder_seen_d = read_responder_seen_q;
    completer_seen_d = completer_seen_q;

    unique case (state_q)
      StIdle: begin
        delay_d = DelayBits'(Delay);
        send_queue_seen_d = 1'b0;
        requester_seen_d = 1'b0;
        responder_seen_d = 1'b0;
        noted_seen_d = 1'b0;
        read_responder_seen_d = 1'b0;
        completer_seen_d = 1'b0;
        if (sweep_i) state_d = StSettle;
      end
      StSettle: begin
        responder_seen_d = responder_seen_q
                        || (delay_q <= DelayBits'(Delay - ResponderDelay) && responder_settled_i);
        if (delay_q == '0) begin
          send_queue_seen_d = send_queue_seen_q || send_queue_settled_i;
          requester_seen_d = requester_seen_q || requester_settled_i;
          read_responder_seen_d = read_responder_seen_q || read_responder_settled_i;
          completer_seen_d = completer_seen_q || completer_settled_i;
        end
        if (send_queue_seen_d && requester_seen_d && noted_seen_q && read_responder_seen_d && completer_seen_d) begin
          start_begun = 1'b1;
          state_d = StBegun;
        end
      end
      StBegun: if (!fetches_busy && !entries_busy && !batches_busy) begin
        start_access = 1'b1;
        read_responder_seen_d = 1'b0;
        completer_seen_d = 1'b0;
        state_d = StAccess;
      end
      StAccess: if (!packets_busy && !places_busy && !memory_fence_i) begin
        start_answers = 1'b1;
        state_d = StAnswers;
      end
      StAnswers: begin
        read_responder_seen_d = read_responder_seen_q || read_responder_settled_i;
        if (read_responder_seen_d && acks_passed) begin
          start_complete = 1'b1;
          state_d = StComplete;
        end
      end
      StComplete: if (completer_settled_i && !responses_busy) begin
        start_completions = 1'b1;
        state_d = StCompletions;
      end
      StCompletions: if (completions_passed == '1) state_d = StDone;
      default: ;  // StDone
    endcase
    if (!sweep_i) state_d = StIdle;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      noted_q <= 1'b0;
    end else begin
      state_q <= state_d;
      noted_q <= expected_psn_valid_i && expected_psn_i.qpn == qpn_q;
    end
  end

  logic unused_psn;
  assign unused_psn = ^expected_psn_i.psn;

  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      qpn_q <= qpn_i;
      clear_q <= clear_i;
    end
    delay_q <= delay_d;
    send_queue_seen_q <= send_queue_seen_d;
    requester_seen_q <= requester_seen_d;
    responder_seen_q <= responder_seen_d;
    noted_seen_q <= noted_seen_d;
    read_responder_seen_q <= read_responder_seen_d;
    completer_seen_q <= completer_seen_d;
  end

  vireo_fence #(.CountBits($clog2(Fetches + 4))) u_fetches (
    .clk_i, .rst_ni, .begin_i(fetch_begins_i), .end_i({1'b0, fetch_ends_i}), .start_i(start_begun),
    .waits_i(fetches_wait_i), .busy_o(fetches_busy)
  );
  vireo_fence #(.CountBits($clog2(Entries + 2))) u_entries (
    .clk_i, .rst_ni, .begin_i(entry_begins_i), .end_i({1'b0, entry_ends_i}), .start_i(start_begun), .waits_i(2'd0),
    .busy_o(entries_busy)
  );
  vireo_fence #(.CountBits($clog2(Batches + 2))) u_batches (
    .clk_i, .rst_ni, .begin_i(batch_begins_i), .end_i({1'b0, batch_ends_i}), .start_i(start_begun), .waits_i(2'd0),
    .busy_o(batches_busy)
  );
  // The pulse of a packet that the last entry issued comes in the cycle of the start.
  vireo_fence #(.CountBits($clog2(Packets + 2))) u_packets (
    .clk_i, .rst_ni, .begin_i(packet_begins_i), .end_i(packets_end_i), .start_i(start_access),
    .waits_i({1'b0, packet_begins_i}), .busy_o(packets_busy)
  );
  vireo_fence #(.CountBits($clog2(Places + 4))) u_places (
    .clk_i, .rst_ni, .begin_i(place_begins_i), .end_i({1'b0, place_ends_i}), .start_i(start_access),
    .waits_i({1'b0, place_waits_i}), .busy_o(places_busy)
  );
  vireo_fence #(.CountBits(3)) u_responses (
    .clk_i, .rst_ni, .begin_i(response_begins_i), .end_i({1'b0, response_ends_i}), .start_i(start_complete),
    .waits_i({1'b0, response_waits_i}), .busy_o(responses_busy)
  );
  assign epoch_o = start_access;
  assign stopped_valid_o = start_completions;
  assign stopped_all_o = clear_q;
  assign stopped_qpn_o = qpn_q;

  vireo_passage u_acks (
    .clk_i, .rst_ni, .enter_i(ack_enters_i), .leave_i(ack_leaves_i), .own_i(ack_own_i), .waits_i(ack_waits_i),
    .start_i(start_answers), .pending_i(1'b0), .passed_o(acks_passed)
  );
  for (genvar i = 0; i < 2; i++) begin : gen_completions
    vireo_passage u_completions (
      .clk_i, .rst_ni, .enter_i(completion_enters_i[i]), .leave_i(completion_leaves_i), .own_i(completion_own_i[i]),
      .waits_i(completion_waits_i), .start_i(start_completions), .pending_i(completion_pending_i[i]),
      .passed_o(completions_passed[i])
    );
  end

  assign swept_o = state_q == StDone;

endmodule
