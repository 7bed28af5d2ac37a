// SPDX-License-Identifier: Apache-2.0

// Does a record of vireo_completer leave, and with which outcome: StCheck, of the oldest one, by the reason of the turn;
// StRetire, of the oldest parked one. A record whose memory may still be accessed is parked. Combinational; what is
// decided takes effect in vireo_completer_control. Whether an acknowledge causes a retransmission is for
// vireo_completer_ack.
module vireo_completer_retire
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::is_read_opcode;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic              parked_i,     // StRetire, else StCheck
  input  turn_t             turn_i,
  input  logic [QpBits-1:0] qpn_i,
  input  logic [2:0]        qp_state_i,
  input  logic              reliable_i,
  input  logic              dead_i,       // the attributes have bad parity
  input  ring_t             ring_i,
  input  stored_t           stored_i,
  input  access_t           access_i,     // to its memory
  // verilator lint_off UNUSEDSIGNAL
  input  key_fence_t        key_fence_i,  // the generations
  // verilator lint_on UNUSEDSIGNAL
  input  logic              free_i,       // completion, retired and failure may be issued
  output step_t             step_o
);

  logic done, ends, leaves, completes, own, reports, stored_is_read, is_positive, awaits, parks, retires_completion;
  logic [23:0] stored_last;
  logic [7:0] status;
  logic [31:0] vendor, code;

  // Its outcome, by the reason of the turn.
  always_comb begin
    stored_is_read = is_read_opcode(stored_i.opcode);
    is_positive = turn_i.syndrome[6:5] == AethKindAck;
    stored_last = stored_i.last_psn - turn_i.base;
    done = {1'b0, stored_last} < turn_i.covered && (turn_i.is_read || !stored_is_read);
    ends = done && {1'b0, stored_last} + 25'd1 == turn_i.covered;
    leaves = 1'b1;
    completes = 1'b1;
    own = 1'b0;
    status = IbWcStatusWrFlushErr;
    vendor = '0;
    if (turn_i.reason == ReasonDiscard || stored_i.no_completion) begin
      completes = 1'b0;
    end else if (stored_i.status != IbWcStatusSuccess) begin
      own = 1'b1;
      status = stored_i.status;
      vendor = stored_i.vendor_err;
    end else if (stored_i.is_local && turn_i.reason != ReasonFlush && !ring_i.failed) begin
      status = IbWcStatusSuccess;
    end else if ((turn_i.reason == ReasonAck || turn_i.reason == ReasonNak) && done) begin
      status = IbWcStatusSuccess;
    end else if (turn_i.reason == ReasonNak) begin
      status = turn_i.nak_status;
      vendor = 32'(turn_i.syndrome);
    end else if (turn_i.reason != ReasonFlush && !ring_i.failed) begin
      leaves = 1'b0;
      completes = 1'b0;
    end
    reports = (turn_i.reason == ReasonNak && completes && status != IbWcStatusSuccess
               && stored_i.status == IbWcStatusSuccess)
           // Failed when it was read again; when the QP flushes, the host has already been notified.
           || (own && stored_i.to_report && turn_i.reason != ReasonFlush);
    // A status comes with its error code.
    code = vendor;
    if (!own && !turn_i.has_status) code = 32'(error_of_nak(turn_i.nak_status));
    if (parked_i) begin
      // Its outcome was stored.
      status = stored_i.status;
      vendor = stored_i.vendor_err;
    end
    awaits = stored_is_read && status != IbWcStatusSuccess && access_i.responses != ResponsesClosed;
    parks = ring_i.parked != '0 || access_i.pending || (completes && (awaits || stored_i.is_local));
    retires_completion = !stored_i.no_completion && !dead_i && completes_in(qp_state_i);
  end

  always_comb begin
    step_o = nothing(StChoose, turn_i, ring_i);
    step_o.ring.responses = access_i.responses;
    step_o.status = status;
    step_o.vendor = vendor;
    step_o.failure = '{qpn: 24'(qpn_i), event_type: 16'(RdmaEventTypeQpFatal), code: code,
                       send_only: !reliable_i, reported: 1'b1};
    step_o.stored_slot = ring_i.oldest;
    step_o.stored = stored_i;
    step_o.stored.status = status;
    step_o.stored.vendor_err = vendor;
    step_o.stored.no_completion = !completes;
    step_o.stored.sent = key_fence_i.sent;
    step_o.stored.received = key_fence_i.received;
    step_o.stored_read_slot = ring_i.oldest - SlotWidth'(ring_i.parked) + 1'b1;
    if (parked_i) begin
      // The oldest parked record leaves, without completion if the QP was cleared since.
      step_o.ring_write = 1'b1;
      if (access_i.pending || (retires_completion && (awaits || (stored_i.is_local && access_i.fence_open)))) begin
        step_o.fence_waits = !access_i.pending && retires_completion && stored_i.is_local && access_i.fence_current;
        step_o.polls = 1'b1;
      end else if (!free_i) begin
        step_o.ring_write = 1'b0;
        step_o.state = StRetire;
      end else begin
        step_o.retires = 1'b1;
        step_o.completes = retires_completion;
        step_o.ring.parked = ring_i.parked - 1'b1;
        step_o.local_leaves = stored_i.is_local;
        step_o.stored_read = step_o.ring.parked != '0;
        if (step_o.ring.parked != '0) begin
          step_o.state = StRetire;
        end else begin
          step_o.ring.polled = 1'b0;
          step_o.polls_none = 1'b1;
        end
      end
    end else if (!leaves) begin
      // An acknowledge that may cause a retransmission, or fail this record.
      step_o.state = turn_i.op == OpAck && (!is_positive || (stored_is_read && !turn_i.is_read)) ? StApplyAck : StEnd;
    end else if (!free_i) begin
      step_o.state = StCheck;
    end else begin
      if (parks) begin
        step_o.fence_waits = stored_i.is_local;
        step_o.local_parks = stored_i.is_local;
        step_o.stored_write = 1'b1;
        step_o.ring.parked = ring_i.parked + 1'b1;
        step_o.ring.polled = 1'b1;
        step_o.polls_first = !ring_i.polled;
      end else begin
        step_o.retires = 1'b1;
        step_o.completes = completes;
      end
      step_o.ring.oldest = ring_i.oldest + 1'b1;
      step_o.ring.count = ring_i.count - 1'b1;
      if (ring_i.cursor != '0) begin
        step_o.ring.cursor = ring_i.cursor - 1'b1;
      end else begin
        // The replay continues with the next one.
        step_o.again = ring_i.awaits;
        step_o.ring.part = 1'b0;
        step_o.ring.awaits = 1'b0;
      end
      if (stored_is_read) begin
        step_o.ring.reads = ring_i.reads - 1'b1;
        if (ring_i.cursor != '0) step_o.ring.reads_replayed = ring_i.reads_replayed - 1'b1;
        step_o.ring.reads_ended = ring_i.reads_ended + 1'b1;
        step_o.read_ends = 1'b1;
        if (ring_i.waits_for_read) step_o.again = 1'b1;
        step_o.ring.waits_for_read = 1'b0;
      end
      if (turn_i.reason != ReasonDiscard
          && (stored_i.no_completion || reports || (status != IbWcStatusSuccess && reliable_i))) begin
        step_o.ring.failed = 1'b1;
      end
      step_o.fails = reports;
      // Those that the requester sent or held back before it knew of the failure flush.
      if (reports && !reliable_i) step_o.turn.next_action = NextHalt;
      if (step_o.ring.failed && turn_i.reason != ReasonDiscard) step_o.turn.reason = ReasonFlush;
      // If the acknowledge ends with this record, it does not concern the next one.
      step_o.state = turn_i.reason == ReasonAck && ends && is_positive && !ring_i.own_outcome ? StEnd : StRead;
    end
  end

endmodule
