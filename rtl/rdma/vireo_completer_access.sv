// SPDX-License-Identifier: Apache-2.0

// May the memory of a record of vireo_completer still be accessed: by its packets and replays on their way (numbers of
// work requests and replays that have ended), by responses to READs of a QP in ERR (epochs), and, of a local invalidate,
// by accesses that were granted before it (generations). Tells when one of these changes, so that parked records are
// examined again. It parks nothing.
module vireo_completer_access
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::key_generation_passed;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Places,        // of the receive scatter
  localparam int unsigned LocalBits = $clog2(Config.num_qps) + $clog2(Config.send_records) + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // Pulses of requester and tx_gather.
  input  logic                  issued_i,
  input  logic                  work_ended_i,
  input  logic                  replay_ended_i,
  input  logic [6:0]            replay_serial_i,
  input  logic [1:0]            packets_read_i,
  // Of responder and receive scatter.
  input  logic                  responder_settled_i,
  input  logic                  place_begins_i,
  input  logic                  place_ends_i,
  input  logic                  place_waits_i,
  input  key_fence_t            key_fence_i,

  input  logic                  work_starts_i,
  input  logic                  replay_starts_i,
  input  logic                  closes_i,       // responses that come from now on are not accepted
  output logic [EpochBits-1:0]  closed_by_o,    // the epoch behind which none is under way
  input  logic                  local_parks_i,
  input  logic                  local_leaves_i,
  output logic [NumberBits-1:0] next_work_o,
  output logic [NumberBits-1:0] next_replay_o,
  output logic [NumberBits-1:0] works_ended_o,
  output logic [NumberBits-1:0] replays_ended_o,
  output logic                  replay_room_o,

  // verilator lint_off UNUSEDSIGNAL
  input  ring_t                 ring_i,         // of the record's QP: READ responses
  input  stored_t               stored_i,       // numbers and generations
  // verilator lint_on UNUSEDSIGNAL
  output access_t               access_o,
  output logic                  changes_o,
  output logic                  busy_o
);

  // Packets between requester and tx_gather's output: 64 wait there, and fewer than this are on their way.
  localparam int unsigned FencePackets = 128;

  logic fence_changes, response_fence_changes;
  logic [EpochBits-1:0] response_epoch_passed, response_lead;
  logic [NumberBits-1:0] works_started_q, replays_started_q;  // records with packets; issued
  logic [NumberBits-1:0] works_open, replays_open;            // that have not ended
  logic [LocalBits-1:0] locals_parked_q;
  key_fence_t key_fence_q;             // one cycle ago, while such are parked

  vireo_work_fence #(.Packets(FencePackets), .Replays(32'(MostReplays)), .CountBits(NumberBits)) u_fence (
    .clk_i, .rst_ni, .issued_i, .work_ended_i, .replay_ended_i, .replay_serial_i, .packets_read_i,
    .works_o(works_ended_o), .replays_o(replays_ended_o), .changes_o(fence_changes)
  );

  vireo_response_fence #(.Places(Places), .CountBits(EpochBits)) u_response_fence (
    .clk_i, .rst_ni, .start_i(closes_i), .responder_settled_i, .place_begins_i, .place_ends_i,
    .place_waits_i, .needed_o(closed_by_o), .passed_o(response_epoch_passed),
    .changes_o(response_fence_changes), .busy_o
  );

  always_comb begin
    // Packets of it, or a replay, may still be read: behind its completion the driver could use its memory for something
    // else, and behind its room the QP may start again. The number of a record from long ago may be among those that have
    // not ended by chance: it waits without need.
    // Work requests of records that wait in the slice may have ended.
    works_open = works_started_q - works_ended_o;
    replays_open = replays_started_q - replays_ended_o;
    access_o.pending = (!works_open[NumberBits-1] && stored_i.work - works_ended_o - 1'b1 < works_open)
                    || stored_i.replay - replays_ended_o - 1'b1 < replays_open;
    access_o.fence_current = stored_i.sent == key_fence_i.sent || stored_i.received == key_fence_i.received;
    access_o.fence_open = !key_generation_passed(stored_i.sent, key_fence_i.sent, key_fence_i.sent_open)
                       || !key_generation_passed(stored_i.received, key_fence_i.received, key_fence_i.received_open);
    // While the fence is idle, all epochs that somebody needs have passed.
    access_o.responses = ring_i.responses;
    response_lead = response_epoch_passed - ring_i.closed_by;
    if (ring_i.responses == ResponsesClosing && (!busy_o || !response_lead[EpochBits-1])) begin
      access_o.responses = ResponsesClosed;
    end
  end

  assign next_work_o = works_started_q + 1'b1;
  assign next_replay_o = replays_started_q + 1'b1;
  assign replay_room_o = replays_open < MostReplays;
  assign changes_o = fence_changes || response_fence_changes || (locals_parked_q != '0 && key_fence_i != key_fence_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      works_started_q <= '0;
      replays_started_q <= '0;
      locals_parked_q <= '0;
      key_fence_q <= '0;
    end else begin
      if (work_starts_i) works_started_q <= next_work_o;
      if (replay_starts_i) replays_started_q <= next_replay_o;
      locals_parked_q <= locals_parked_q + LocalBits'(local_parks_i) - LocalBits'(local_leaves_i);
      if (locals_parked_q != '0) key_fence_q <= key_fence_i;
    end
  end

endmodule
