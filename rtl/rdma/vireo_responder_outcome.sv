// SPDX-License-Identifier: Apache-2.0

// Output stage of vireo_responder: what follows from the step of this cycle. Forms the rx_place (bytes to memory,
// completion, answer to the peer, acknowledge for the completer), the failure, and the QP's state after the frame; holds
// the two tokens until they are taken, while which nothing ends (`space_o`). It does not decide how a frame ends:
// step_i.done says that.
module vireo_responder_outcome
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [15:0]       first_queue_i,  // index of the first receive queue

  // The turn in progress.
  input  state_e            state_i,
  // verilator lint_off UNUSEDSIGNAL
  input  step_t             step_i,         // of which only what leaves
  input  job_t              job_i,
  input  turn_t             turn_i,         // before this cycle
  input  memory_place_t     memory_i,
  input  read_checks_t      read_checks_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QpBits-1:0] qpn_i,
  input  logic [QpBits-1:0] receive_queue_i,
  input  logic              response_i,     // the frame is a READ response
  input  logic              announced_i,    // comm_est was reported for it
  input  logic [2:0]        qp_state_i,     // of the QP read last, as is the next
  input  half_t             half_i,
  input  logic              load_i,
  input  logic [QpBits-1:0] load_qpn_i,
  input  logic [23:0]       load_psn_i,

  output logic              space_o,        // for a place and a failure
  output logic              place_valid_o,
  input  logic              place_ready_i,
  output rx_place_t         place_o,
  output logic              failure_valid_o,
  input  logic              failure_ready_i,
  output qp_failure_t       failure_o,

  output logic              retire_o,       // the oldest READ has ended
  output logic              half_write_o,
  output logic              read_half_write_o,
  output logic [QpBits-1:0] half_qpn_o,     // of both
  output half_t             half_o,
  output read_half_t        read_half_o
);

  localparam bit Invalidation = Config.invalidation != 0;

  // verilator lint_off UNUSEDSIGNAL
  rx_token_t frame;                  // fields that what leaves needs
  checks_t checks_q;
  deth_t deth;
  // verilator lint_on UNUSEDSIGNAL
  half_t half;
  action_e done;
  logic active;
  logic [4:0] min_rnr_timer;
  logic [31:0] bytes_left;
  aeth_t aeth;
  atomic_ack_eth_t atomic_ack;

  assign frame = job_i.frame;
  assign checks_q = job_i.checks;
  assign half = job_i.half;
  assign done = step_i.done;
  assign min_rnr_timer = job_i.min_rnr_timer;
  assign bytes_left = job_i.bytes_left;

  // Signals used only in some cycles, here and below, are zero otherwise, so that simulation skips them.
  assign active = state_i != StIdle;
  always_comb begin
    aeth = '0;
    deth = '0;
    atomic_ack = '0;
    if (active || vireo_common_pkg::Synthesis) begin
      aeth = unpack_aeth(frame.extension[8*AethBytes-1:0]);
      deth = unpack_deth(frame.extension[8*DethBytes-1:0]);
      atomic_ack = unpack_atomic_ack_eth(frame.extension[8*AethBytes +: 8*AtomicAckEthBytes]);
    end
  end

  // --- How the frame ends: for the peer, for the receive, for the QP

  logic refused;                     // the QP goes to ERR
  logic completes, answers;
  logic [7:0] syndrome, completion_status;
  logic [7:0] own_code;              // rdma_error_e, reported locally only
  logic [31:0] reason;
  logic [PsnBits-1:0] answer_psn;

  always_comb begin
    refused = 1'b0;
    completes = 1'b0;
    answers = 1'b0;
    syndrome = AethSyndromeAckNoCredits;
    completion_status = IbWcStatusSuccess;
    own_code = RdmaErrorOk;
    answer_psn = frame.bth.psn;
    if (active) begin
      unique case (done)
        // Acknowledges everything so far. [9.7.5]
        ActDuplicate: begin
          answers = 1'b1;
          answer_psn = half.expected_psn - 1'b1;
        end
        ActSequence: begin
          answers = 1'b1;
          answer_psn = half.expected_psn;
          syndrome = AethSyndromeNakPsnSequenceError;
        end
        // The packet will be retransmitted; those behind it are treated as lost. [9.7.5.2.8]
        ActNotReady: begin
          answers = 1'b1;
          syndrome = AethSyndromeRnrNak | 8'(min_rnr_timer);
        end
        ActInvalid: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakInvalidRequest;
        end
        ActAccess: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteAccessError;
        end
        // Its data has arrived, but the completion would vouch for more. Status as Linux.
        ActInvalidate: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteAccessError;
          completion_status = IbWcStatusRemInvReqErr;
          completes = 1'b1;
        end
        ActOperation: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteOperationalError;
          completion_status = IbWcStatusLocQpOpErr;
          own_code = turn_i.code;
          // A broken queue returned no work request.
          completes = turn_i.element || turn_i.code != RdmaErrorOk;
        end
        ActProtection: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteOperationalError;
          completion_status = IbWcStatusLocProtErr;
          own_code = memory_error(state_i == StDrain ? turn_i.refused : memory_i.status);
          completes = 1'b1;
        end
        ActLength: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakInvalidRequest;
          completion_status = IbWcStatusLocLenErr;
          own_code = RdmaErrorInvalidLength;
          completes = 1'b1;
        end
        ActBadResponse: begin
          completion_status = IbWcStatusBadRespErr;
          own_code = read_checks_i.acknowledges ? RdmaErrorInvalidLength : RdmaErrorInvalidParameter;
        end
        ActIssueRead, ActReplayRead: answers = 1'b1;
        ActAccept: begin
          answers = frame.bth.ack_req && checks_q.acknowledged;
          completes = frame.info.completes_recv;
        end
        default: ;
      endcase
      // The completer handles a READ of ours that fails.
      if (response_i) begin
        refused = 1'b0;
        completes = 1'b0;
      end
      if (refused) answers = checks_q.acknowledged;
    end

    // Our own error; for a broken queue, its detector has reported why. Otherwise the code sent to the peer.
    if (checks_q.acknowledged && done != ActOperation && done != ActProtection) reason = 32'(syndrome);
    else if (own_code == RdmaErrorOk) reason = 32'(RdmaErrorRemoteOperationalError);
    else reason = 32'(own_code);
  end

  // --- The QP behind it

  logic [PsnBits-1:0] next_psn, answer_msn;
  logic [31:0] received;
  half_t next_half;

  always_comb begin
    next_psn = '0;
    received = '0;
    answer_msn = '0;
    next_half = '0;
    if (active || vireo_common_pkg::Synthesis) begin
      next_psn = half.expected_psn + 1'b1;
      // UC, UD: the PSN of the message, not where ours ended.
      if (!checks_q.acknowledged) next_psn = frame.bth.psn + 1'b1;
      received = (frame.info.starts_message ? '0 : half.received) + 32'(frame.payload_bytes)
               + (checks_q.datagram ? 32'(RdmaUdGrhBytes) : '0);
      answer_msn = half.msn;
      next_half = half;
      next_half.established = half.established || announced_i;
      unique case (done)
        ActSequence, ActNotReady: next_half.nak_sent = 1'b1;
        // A receive that the message held is passed to the next message that needs one. [9.8.2.2]
        ActAbandon: next_half.in_message = 1'b0;
        ActAccess: next_half.access_refused = frame.info.consumes_recv;
        ActIssueRead, ActReplayRead: begin
          next_half.reads_valid = 1'b1;
          next_half.reads_issued = job_i.reads_issued + 1'b1;
          next_half.duplicate_limit = done == ActReplayRead ? job_i.reads_issued + 1'b1 : job_i.duplicate_limit;
          if (done == ActIssueRead) begin
            // Its response counts as sent. [9.7.7]
            answer_msn = half.msn + 1'b1;
            next_half.nak_sent = 1'b0;
            next_half.expected_psn = half.expected_psn + PsnBits'(checks_q.packets);
            next_half.msn = answer_msn;
          end
        end
        // The next one to flush, unless there was none, or the queue is broken.
        ActKeep: begin
          next_half.holds = turn_i.status == BufferStatusOk
                         || (turn_i.status != BufferStatusEmpty && turn_i.code != RdmaErrorOk);
          next_half.position = step_i.turn.position;
        end
        ActAccept: begin
          // Messages are counted when they are complete. [9.7.7]
          answer_msn = half.msn + PsnBits'(frame.info.ends_message);
          next_half.nak_sent = 1'b0;
          next_half.expected_psn = next_psn;
          next_half.msn = answer_msn;
          next_half.in_message = !frame.info.ends_message;
          next_half.send = checks_q.send;
          next_half.received = received;
          next_half.position = step_i.turn.position;
          if (checks_q.send) next_half.holds = 1'b1;
          else begin
            next_half.position.cursor.address = job_i.address + 64'(frame.payload_bytes);
            next_half.position.cursor.key = job_i.rkey;
            next_half.position.cursor.bytes_left = bytes_left - 32'(frame.payload_bytes);
          end
        end
        default: ;
      endcase
      if (refused) next_half.failed = 1'b1;
      // A receive that is completed here is not held any more.
      if (completes) next_half.holds = 1'b0;
      if (refused && completes) next_half.in_message = 1'b0;
    end
  end

  always_comb begin
    retire_o = step_i.ends && done == ActResponseDone && read_checks_i.last;
    half_write_o = load_i || step_i.drops_receive || step_i.announces
                || (step_i.ends && !response_i && done != ActDrop && done != ActAcknowledge);
    half_qpn_o = load_i ? load_qpn_i : qpn_i;
    half_o = next_half;
    if (step_i.announces) begin
      half_o = half;
      half_o.established = 1'b1;
    end
    if (step_i.drops_receive) begin
      half_o = half_i;
      half_o.in_message = 1'b0;
      half_o.holds = 1'b0;
      half_o.access_refused = 1'b0;
      half_o.drained = qp_state_i == 3'(IbQpStateErr) && (half_i.drained || step_i.drains);
    end
    read_half_write_o = load_i || (step_i.ends && response_i && done != ActDrop && done != ActGap);
    read_half_o = '{halted: 1'b1, default: '0};
    if (done == ActResponseDone) begin
      read_half_o = '{halted: 1'b0, started: !read_checks_i.last, psn: read_checks_i.psn + 1'b1,
                      bytes_left: read_checks_i.bytes_left - 32'(frame.payload_bytes),
                      cursor: step_i.turn.position.cursor};
    end
    if (load_i) begin
      half_o = '0;
      half_o.expected_psn = load_psn_i;
      read_half_o = '0;
    end
  end

  // --- The completion of a receive

  rdma_cq_req_t cqe;
  logic [7:0] cqe_status;            // or of a READ response
  logic returns;                     // the receive of a shared queue leaves without a CQE
  logic has_completion;

  always_comb begin
    cqe = '0;
    cqe_status = completion_status;
    returns = step_i.flushes && qp_state_i == 3'(IbQpStateReset);  // no other turn comes meanwhile
    has_completion = step_i.flushes || (completes && !step_i.continues);
    if (active || vireo_common_pkg::Synthesis) begin
      cqe.wr_id = turn_i.position.wr_id;
      cqe.qp_num = 32'(qpn_i);
      cqe.opcode = IbWcOpcodeRecv;
      if (step_i.flushes) begin
        // [IBTA vol. 1, 11.6.2: local access error]
        cqe_status = half.access_refused ? IbWcStatusLocAccessErr : IbWcStatusWrFlushErr;
        if (half.access_refused) cqe.vendor_err = 32'(AethSyndromeNakRemoteAccessError);
      end else if (refused) begin
        cqe.vendor_err = reason;
      end else begin
        if (!checks_q.send) cqe.opcode = IbWcOpcodeRecvRdmaWithImm;
        cqe.byte_len = received;
        if (checks_q.datagram) begin
          cqe.src_qp = 32'(deth.source_qp);
          cqe.wc_flags = IbWcFlagsGrh;
        end
        if (frame.info.has_immdt) begin
          // After the DETH, or the RETH of a message of one packet. [9.2, 9.3]
          if (frame.info.has_deth) cqe.imm_data = frame.extension[8*DethBytes +: 8*ImmdtBytes];
          else if (frame.info.has_reth) cqe.imm_data = frame.extension[8*RethBytes +: 8*ImmdtBytes];
          else cqe.imm_data = frame.extension[0 +: 8*ImmdtBytes];
          cqe.wc_flags = cqe.wc_flags | IbWcFlagsWithImm;
        end
        if (Invalidation && frame.info.has_ieth) begin
          cqe.imm_data = frame.extension[0 +: 8*IethBytes];
          cqe.wc_flags = cqe.wc_flags | IbWcFlagsWithInv;
        end
      end
      cqe.status = cqe_status;
    end
  end

  // --- The place

  rx_place_t place_d, place_q;
  logic place_valid_q;

  always_comb begin
    place_d = '0;
    if (active || vireo_common_pkg::Synthesis) begin
      // The net path handles it.
      if (step_i.ends && checks_q.net) place_d.net_bytes = 14'(frame.frame_bytes);
      place_d.has_completion = has_completion;
      place_d.no_frame = step_i.flushes;
      place_d.more = step_i.continues;
      place_d.copied = Config.max_mcast_attach != 0 && step_i.ends && job_i.copied;
      if (!step_i.flushes && !step_i.continues) begin
        place_d.has_answer = answers;
        if (done == ActAccept) begin
          place_d.request = 1'b1;
          place_d.acknowledged = checks_q.acknowledged;
          place_d.uses_receive = checks_q.send;
          place_d.ends_message = frame.info.ends_message;
          place_d.fence = Invalidation && checks_q.send && frame.info.has_ieth;
        end
      end
      if (step_i.runs) begin
        place_d.zeros = (checks_q.send || response_i) && turn_i.part == PartZeros;
        // The result of an atomic operation of ours, in the order of memory; what is left of it.
        place_d.has_value = response_i && frame.info.has_atomic_ack_eth;
        if (place_d.has_value) place_d.value = atomic_ack.original_data >> (7'd64 - {turn_i.left[3:0], 3'b000});
        else place_d.offset = turn_i.offset;
        place_d.address0 = memory_i.address0;
        place_d.bytes0 = memory_i.bytes0;
        place_d.address1 = memory_i.address1;
        place_d.bytes1 = memory_i.bytes1;
        place_d.grant = memory_i.grant;
      end
      if (has_completion) begin
        place_d.completion = '{vq_index: first_queue_i + {15'(receive_queue_i), 1'b0}, head: turn_i.position.head,
                               used_bytes: '0, by_id: job_i.has_srq, has_cqe: !returns, cqn: job_i.recv_cqn,
                               solicited: cqe_status != IbWcStatusSuccess || frame.bth.solicited_event,
                               cqe: pack_rdma_cq_req(cqe), default: '0};
        if (returns) begin
          place_d.completion.cqn = '0;
          place_d.completion.solicited = 1'b0;
          place_d.completion.cqe = '0;
        end
      end
      if (has_completion) place_d.answer.packet.qpn = 24'(qpn_i);
      if (place_d.has_answer || place_d.request) begin
        place_d.answer.packet.qpn = frame.bth.dest_qp;
        place_d.answer.packet.psn = answer_psn;
        place_d.answer.packet.extension[8*AethBytes-1:0] = pack_aeth(aeth_t'({syndrome, answer_msn}));
        if (done == ActIssueRead || done == ActReplayRead) begin
          place_d.answer.is_read = 1'b1;
          place_d.answer.address = job_i.address;
          place_d.answer.rkey = job_i.rkey;
          // Of a FLUSH one byte is read behind what was written; of one without bytes nothing, as of such a READ.
          place_d.answer.bytes = checks_q.flush ? 32'(bytes_left != '0) : bytes_left;
          if (checks_q.atomic && !(checks_q.flush && bytes_left == '0)) begin
            place_d.answer.packet.opcode = frame.bth.opcode;
            place_d.answer.packet.extension[8*AethBytes +: AnswerOperandsBits] =
                frame.extension[8*AtomicEthSwapAddDataOffset +: AnswerOperandsBits];
            place_d.answer.is_duplicate = done == ActReplayRead;
          end
        end else begin
          place_d.answer.packet.opcode = BthOpcodeRcAcknowledge;
        end
      end
      if (!step_i.continues && !step_i.flushes && (done == ActAcknowledge || (response_i && done != ActDrop))) begin
        place_d.has_ack = 1'b1;
        place_d.ack.qpn = frame.bth.dest_qp;
        place_d.ack.psn = frame.bth.psn;
        place_d.ack.is_read = response_i;
        place_d.ack.status = completion_status;
        place_d.ack.syndrome = AethSyndromeAckNoCredits;
        if (done == ActGap) begin
          place_d.ack.psn = read_checks_i.psn;
          place_d.ack.syndrome = AethSyndromeNakPsnSequenceError;
        end else if (completion_status != IbWcStatusSuccess) begin
          place_d.ack.syndrome = own_code;
        end else if (frame.info.has_aeth) begin
          place_d.ack.syndrome = {aeth.reserved, aeth.kind, aeth.value};
          place_d.ack.msn = aeth.msn;
        end
      end
    end
  end

  // --- The failure

  qp_failure_t failure_d, failure_q;
  logic failure_valid_q;

  always_comb begin
    failure_d = '{qpn: frame.bth.dest_qp, event_type: 16'(RdmaEventTypeQpFatal), code: reason,
                  reported: refused && has_completion, default: '0};
    if (checks_q.acknowledged && (done == ActAccess || done == ActInvalidate)) begin
      failure_d.event_type = 16'(RdmaEventTypeQpAccessErr);
    end
    if (checks_q.acknowledged && (done == ActInvalid || done == ActLength)) begin
      failure_d.event_type = 16'(RdmaEventTypeQpReqErr);
    end
    if (step_i.announces) begin
      failure_d.event_type = 16'(RdmaEventTypeCommEst);
      failure_d.code = '0;
      failure_d.reported = 1'b0;
    end
    if (step_i.drains) failure_d = '{qpn: 24'(qpn_i), event_type: 16'(RdmaEventTypeQpLastWqeReached), default: '0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      place_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      place_valid_q <= step_i.ends || step_i.continues || step_i.flushes || (place_valid_q && !place_ready_i);
      failure_valid_q <= step_i.announces || step_i.drains || (step_i.ends && refused)
                      || (failure_valid_q && !failure_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_i.ends || step_i.continues || step_i.flushes) place_q <= place_d;
    if (step_i.ends || step_i.announces || step_i.drains) failure_q <= failure_d;
  end

  assign space_o = !place_valid_q && !failure_valid_q;
  assign place_valid_o = place_valid_q;
  assign place_o = place_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;

endmodule
