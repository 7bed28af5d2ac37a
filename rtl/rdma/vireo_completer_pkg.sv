// SPDX-License-Identifier: Apache-2.0

// Types that the parts of vireo_completer share, and its tables of status, as functions without state;
// model/rdma/completer.h has the same. Slots and counts of records have the width of the largest ring here, and only the
// bits that a configuration needs are ever set.
package vireo_completer_pkg;
  import vireo_spec_pkg::*;

  // Not every part needs each.
  // verilator lint_off UNUSEDPARAM
  localparam int unsigned SlotWidth = 8;

  // Two in the slice, one in the requester's register, and those decided before the hold reached the requester; this
  // block accepts one in two cycles.
  localparam logic [7:0] RecordsInFlight = 8'd8;

  // rnr_retry: unlimited. [IBTA vol. 1, 9.7.5.2.8]
  localparam logic [2:0] RnrRetryInfinite = 3'd7;

  // A requester has no more PSNs outstanding than this. [IBTA vol. 1, 9.7.1]
  localparam logic [24:0] MostOutstanding = 25'h80_0000;

  // Work requests and replays are numbered modulo 2 ** NumberBits.
  localparam int unsigned NumberBits = 10;
  // Replays that have not ended: no other one is started. Far more than there is room for on the way, except for outdated
  // ones while the wire is paused.
  localparam logic [NumberBits-1:0] MostReplays = NumberBits'(128);

  localparam int unsigned FenceBits = 4;  // of each generation in key_fence_t
  localparam int unsigned EpochBits = 16;
  // verilator lint_on UNUSEDPARAM

  // Responses to its READs: are they accepted, or, since it is in ERR, may they be on their way to memory.
  typedef enum logic [1:0] {ResponsesOpen, ResponsesClosing, ResponsesClosed} responses_e;

  // A QP's ring.
  typedef struct packed {
    logic failed;                // it completed something with an error that stops the QP: all others flush
    logic [SlotWidth:0] parked;  // in the slots before the oldest
    logic polled;                // in the set of QPs with parked records
    responses_e responses;
    logic [EpochBits-1:0] closed_by;  // ResponsesClosing: they are closed when this epoch has passed
    logic [SlotWidth-1:0] oldest;
    logic [SlotWidth:0] count;
    logic own_outcome;           // a record that leaves without an acknowledge may be among them
    logic [23:0] unacked;        // oldest unacknowledged PSN
    logic [23:0] newest;         // last PSN of the newest record
    logic [7:0] epoch;      // of the last hold
    logic [7:0] records_before;  // accepted before it, of all QPs
    logic replaying;             // replays or the resume of that hold are still to be issued
    logic [SlotWidth:0] cursor;  // while replaying: records, from the oldest on, whose replay was issued
    logic part;                  // of the record at the cursor, a part was requested, up to
    logic [23:0] next;           //   this PSN
    logic awaits;                // no turn before the requester has started that part
    logic [23:0] sent;           // PSNs before it were requested once; at most MostOutstanding from `unacked` on
    logic [7:0] number;          // of records, total
    logic [SlotWidth:0] reads;   // READs among the records
    logic [SlotWidth:0] reads_replayed;  // READs before the cursor
    logic [7:0] reads_ended;     // READs that have left, total
    logic waits_for_read;                // the replay waits for a READ to leave
    logic waits_for_ack;         // the replay or the resume waits for an acknowledge: too much is outstanding
    logic paused;                // RNR wait: nothing is replayed before the timer expires
    logic nak_replayed;                 // a sequence NAK of `unacked` started the last replay
    logic [2:0] retries;         // started without progress, after sequence NAKs and timeouts
    logic [2:0] rnr_retries;     // likewise after RNR NAKs
    logic timer;                 // it runs
    logic timed;                 // what it covers had been sent when it was set
    logic [7:0] timer_epoch;  // of the last timer_set
  } ring_t;

  // A record as stored.
  typedef struct packed {
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] opcode;      // ib_wc_opcode_e
    logic [7:0] status;      // ib_wc_status_e
    logic [31:0] vendor_err;
    logic signaled;
    logic no_completion;
    logic to_report;              // `status` has not been reported to QP control yet
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic fence;
    logic [31:0] bytes;
    // Numbers of its work request and of its last replay; those of others if it has no packets, or no replay.
    logic [NumberBits-1:0] work;
    logic [NumberBits-1:0] replay;
    logic is_local;
    logic [FenceBits-1:0] sent, received;  // then, when parked: generations of the accesses before it
  } stored_t;

  // Last qp_sent of a QP, and the hold epoch of that packet.
  typedef struct packed {
    logic valid;  // in this instance of the QP
    logic [23:0] psn;
    logic [7:0] epoch;
  } sent_t;

  // QP attributes used for completions and retries.
  typedef struct packed {
    logic reliable;  // RC: acknowledged by the peer
    logic [2:0] path_mtu;  // ib_mtu_e; the requester sends with no other value
    logic [15:0] cqn;
    logic [4:0] timeout;
    logic [2:0] retry_cnt;
    logic [2:0] rnr_retry;
    logic [7:0] max_rd_atomic;
  } attributes_t;

  typedef enum logic [2:0] {OpClear, OpFlush, OpRecord, OpRetire, OpTimer, OpAck, OpReplay} op_e;
  typedef enum logic [3:0] {StChoose, StDecide, StAmend, StReplay, StRead, StCheck, StApplyAck, StEnd, StRetire} state_e;
  // Reason for retiring records.
  typedef enum logic [2:0] {
    ReasonDiscard,  // all, without completion
    ReasonFlush,   // all
    ReasonOwnStatus,     // those that arrived with a status, and the records behind them
    ReasonAck,     // those that are covered
    ReasonNak      // those that are covered; the next one fails
  } reason_e;
  // Action after the retirement.
  typedef enum logic [2:0] {NextNothing, NextReplay, NextPause, NextContinue, NextHalt} next_action_e;

  // The turn in progress.
  typedef struct packed {
    op_e op;
    reason_e reason;
    next_action_e next_action;
    logic is_read;           // the acknowledge is a READ response
    logic has_status;        // it has a status
    logic [24:0] covered;    // PSNs that the acknowledge covers, from base on
    logic [23:0] base;
    logic [7:0] nak_status;
    logic [7:0] syndrome;
  } turn_t;

  // What is known of the oldest record, or of the one that was read, and of the accesses to its memory.
  typedef struct packed {
    logic pending;           // packets of it, or a replay, may still be read
    responses_e responses;   // as of now
    logic fence_current;     // of a parked local invalidate: accesses of before it may not have ended
    logic fence_open;
  } access_t;

  // What a state does in this cycle. Fields of an action that is 0 do not matter.
  typedef struct packed {
    state_e state;           // the next one
    turn_t turn;
    ring_t ring;
    logic ring_write;
    logic stored_write;
    logic [SlotWidth-1:0] stored_slot;
    stored_t stored;
    logic stored_read;
    logic [SlotWidth-1:0] stored_read_slot;
    // Inputs that have been taken.
    logic record_ends;
    logic ack_ends;
    logic timer_ends;
    // Turns.
    logic again;             // the QP has something to retransmit
    logic polls_all;         // all QPs with parked records are examined again
    logic polls;             // the QP has parked records
    logic polls_first;       // it had none before
    logic polls_none;        // it has none any more
    // Accesses to memory.
    logic work_starts;       // a record with packets
    logic replay_starts;
    logic closes;            // responses that come from now on are not accepted
    logic local_parks;       // a local invalidate
    logic local_leaves;
    logic fence_waits;
    // Outputs.
    logic retires;           // the record's room is free
    logic completes;
    logic [7:0] status;      // of the completion
    logic [31:0] vendor;
    logic fails;
    qp_failure_t failure;
    logic replays;
    replay_t replay;
    logic sets_timer;
    timer_set_t timer_set;
    logic holds;             // with the ring's epoch
    logic read_ends;
  } step_t;

  // States in which records are valid; in others they are left over from before a clear.
  function automatic logic keeps_records(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd) || state == 3'(IbQpStateSqe);
  endfunction

  // States in which records complete.
  function automatic logic completes_in(input logic [2:0] state);
    return keeps_records(state) || state == 3'(IbQpStateErr);
  endfunction

  // [IBTA vol. 1, tables 44, 45; 11.6.2]
  function automatic logic [7:0] status_of_nak(input logic [1:0] kind, input logic [4:0] value);
    if (kind == AethKindRnrNak) return IbWcStatusRnrRetryExcErr;
    if (kind == AethKindNak) begin
      unique case (value)
        NakCodePsnSequenceError: return IbWcStatusRetryExcErr;
        NakCodeInvalidRequest: return IbWcStatusRemInvReqErr;
        NakCodeRemoteAccessError: return IbWcStatusRemAccessErr;
        NakCodeRemoteOperationalError: return IbWcStatusRemOpErr;
        default: return IbWcStatusBadRespErr;
      endcase
    end
    return IbWcStatusBadRespErr;
  endfunction

  // Error code of the event.
  function automatic logic [7:0] error_of_nak(input logic [7:0] nak_status);
    unique case (nak_status)
      IbWcStatusRetryExcErr: return RdmaErrorRetryExceeded;
      IbWcStatusRnrRetryExcErr: return RdmaErrorRnrRetryExceeded;
      IbWcStatusRemInvReqErr: return RdmaErrorRemoteInvalidRequest;
      IbWcStatusRemAccessErr: return RdmaErrorRemoteAccessError;
      IbWcStatusRemOpErr: return RdmaErrorRemoteOperationalError;
      default: return RdmaErrorBadResponse;
    endcase
  endfunction

  // What a state does by default: nothing.
  function automatic step_t nothing(input state_e state, input turn_t turn, input ring_t ring);
    step_t step;
    step = '0;
    step.state = state;
    step.turn = turn;
    step.ring = ring;
    return step;
  endfunction

endpackage
