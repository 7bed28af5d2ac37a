// SPDX-License-Identifier: Apache-2.0

// Types of the responder, and the order of its checks; model/rdma/responder_turn.h has the same.
package vireo_responder_pkg;
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;

  // Packets of a message, and one bit more so that the sum does not wrap.
  localparam int unsigned PacketsBits = 32 - MtuShift + 1;
  localparam int unsigned ReadsBits = 8;  // counts of READs, see qp_reads

  // Attributes of a QP that firmware writes.
  typedef struct packed {
    logic exists;
    logic [2:0] service;     // bth_service_e
    logic remote_write;
    logic remote_read;
    logic remote_atomic;
    logic flush_global;
    logic flush_persistent;
    logic [2:0] path_mtu;
    logic [15:0] pdn;
    logic [15:0] recv_cqn;
    logic has_srq;
    logic [15:0] srqn;
    logic [4:0] min_rnr_timer;
    logic [ReadsBits-1:0] max_reads;  // of the peer
    logic [31:0] qkey;
    logic [127:0] peer;      // GID, first byte most significant
    logic [127:0] own;
  } attributes_t;

  // Position of a message in a list of elements.
  typedef struct packed {
    logic [63:0] next_element;  // where it is in host memory
    logic [7:0] elements;       // that are left there
    logic [63:0] address;
    logic [31:0] key;
    logic [31:0] bytes_left;    // of the element
  } cursor_t;

  // Position of a message. WRITE uses the cursor's address, key and bytes_left only, which is then of the message.
  typedef struct packed {
    logic [15:0] head;          // of the receive that is held
    logic [63:0] wr_id;
    logic [7:0] num_sge;
    cursor_t cursor;
  } position_t;

  // The receive half of a QP; fields from in_message on belong to the current message.
  typedef struct packed {
    logic failed;            // ERR by our own decision; a load ends it
    logic established;       // comm_est was reported
    logic nak_sent;          // NAK of sequence or RNR
    logic access_refused;    // of a WRITE with immediate: the next receive to flush was its own
    logic drained;           // with a shared receive queue: qp_last_wqe_reached was reported in ERR
    logic [PsnBits-1:0] expected_psn;
    logic [PsnBits-1:0] msn;
    logic holds;             // a receive, of a SEND that is not complete
    logic in_message;
    logic send;              // else WRITE
    logic [31:0] received;   // bytes
    position_t position;
    logic reads_valid;            // a READ was issued since the load, and the fields below are valid
    logic [ReadsBits-1:0] reads_issued;     // READs, modulo 2^8 as qp_reads counts them
    logic [ReadsBits-1:0] duplicate_limit;  // `reads_issued` after the last duplicate
  } half_t;

  // The oldest of the QP's outstanding READs.
  typedef struct packed {
    logic halted;              // one has failed; a load ends it
    logic started;             // a part of it arrived, and the fields below are valid
    logic [PsnBits-1:0] psn; // expected
    logic [31:0] bytes_left;
    cursor_t cursor;
  } read_half_t;

  // Outcome of the checks that need the tables, each on its own; the action orders them.
  typedef struct packed {
    logic net;               // a frame of the net path
    logic taken;             // a packet for a QP of ours that receives, from its peer
    logic datagram;
    logic acknowledged;      // RC: requests are answered
    logic response;
    logic acknowledge;
    logic read_response;     // or an atomic acknowledge
    logic expected;
    logic ahead;
    logic acks_duplicate;
    logic request;
    logic duplicates_pending;           // a READ without space, because duplicates are outstanding
    logic send;
    logic read;              // READ request, atomic operation, ATOMIC WRITE or FLUSH
    logic atomic;            // then: one of the latter three
    logic store;             // then: ATOMIC WRITE
    logic flush;             // or: FLUSH, with the two below
    logic whole;             // of the region
    logic [1:0] placement;   // flush_placement
    logic replayable;             // may be executed again
    logic payload;
    logic right;
    logic starts;            // a message
    logic consumes;          // a receive
    logic bytes;             // the READ has some, or is a FLUSH, whose key is checked in any case
    logic nak_sent;
    logic announces;         // comm_est is reported first [11.6.3.1]
    logic [PacketsBits-1:0] packets;  // of its response
  } checks_t;

  // Of a READ response.
  typedef struct packed {
    logic held;              // a READ is outstanding
    logic expected;
    logic ahead;
    logic acknowledges;      // the AETH, if it has one
    logic fits;              // length and place in the message
    logic last;
    logic at_first;          // of its destination, no element behind the first one was requested
    logic [PsnBits-1:0] psn; // that is expected
    logic [31:0] bytes_left; // of the message, this packet included
  } read_checks_t;

  typedef enum logic [4:0] {
    ActDrop,
    ActAbandon,      // UC, UD: dropped, and the rest of its message, too
    ActAcknowledge,  // an acknowledge arrived
    ActDuplicate,
    ActSequence,     // NAK: something is missing
    ActInvalid,      // NAK: invalid request
    ActAccess,       // NAK: remote access error
    ActAccept,       // executed
    ActIssueRead,         // a READ: the read responder executes it
    ActReplayRead,    // likewise, a duplicate
    ActKeep,          // dropped, and the receive that was requested for it is kept
    // Not final:
    ActWrite,        // WRITE: its key is checked
    ActRead,         // READ: likewise
    ActReceive,      // a receive is needed
    ActContinue,     // a SEND continues
    ActResponse,     // of a READ of ours
    // Depend on more than the packet:
    ActResponseDone,       // all payload of the response has been issued
    ActGap,          // a response before this one is missing
    ActBadResponse,          // the response does not match the READ
    ActNotReady,     // RNR NAK: no receive
    ActOperation,    // NAK: remote operational error, because the receive or one of its elements could not be read
    ActProtection,   // likewise, because an element's key does not allow it
    ActInvalidate,   // NAK: remote access error, because the key of a SEND with invalidate does not allow it
    ActLength        // NAK: invalid request, because the elements are too short
  } action_e;

  typedef enum logic [3:0] {
    StIdle,
    StAct,      // check results are available
    StRead,     // a READ response: its place is available
    StMemory,   // waits for the key check
    StReceive,  // waits for a receive or an element
    StNext,     // receive and element are available
    StInvalidate,  // the key of a SEND with invalidate: its region is ended
    StDrain,    // a key was refused: what was requested and checked behind it comes, and is not used
    StFlush     // tables are read, of a QP to flush because of its state or receive queue
  } state_e;

  // Parts of a frame that go to a receive, in this order; payload only, except for datagrams. [11.4.1.2, A17.4.3]
  typedef enum logic [1:0] {
    PartZeros,   // IPv4: in front of its header, so that both are as long as a GRH
    PartHeader,  // of IP
    PartPayload
  } part_e;

  // The turn in progress: the frame, and what was read for it. Of a flush: half, CQ and shared receive queue only.
  typedef struct packed {
    rx_token_t frame;
    logic copied;            // a copy of a datagram to a group: others of its frame follow
    checks_t checks;
    half_t half;
    logic [15:0] pdn;
    logic [15:0] recv_cqn;
    logic has_srq;
    logic [15:0] srqn;
    logic [4:0] min_rnr_timer;
    // Of a WRITE or READ: this packet's first byte, and what is left of the message, this packet included.
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] bytes_left;
    logic [ReadsBits-1:0] reads_issued;
    logic [ReadsBits-1:0] duplicate_limit;
  } job_t;

  // How far it is.
  typedef struct packed {
    part_e part;
    logic element;           // an element is outstanding
    logic [2:0] refused;     // memory_status_e of the piece
    logic [12:0] rest;       // of the part, behind all whose keys are checked
    logic [1:0] status;      // of the receive or element
    logic [7:0] code;        // its error code
    position_t position;
    logic [12:0] left;       // of the part: bytes not yet placed
    logic [12:0] offset;     // where it starts in the frame
  } turn_t;

  // Behind the piece whose key is checked.
  typedef struct packed {
    logic ahead;             // the next element was requested
    logic checked;           // its key is checked
    logic further;           // the one after it was requested
  } ahead_t;

  // What a state does in this cycle.
  typedef struct packed {
    state_e state;           // the next one, unless the frame ends
    turn_t turn;             // as it goes on
    ahead_t ahead;
    logic check;             // of a key
    memory_check_t check_in;
    logic request;           // for a receive
    receive_request_t request_in;
    logic wants_element;     // or for the next element
    logic checks_ahead;      // whose key is checked already
    logic takes_memory;      // the answer to a key check
    logic drops_element;
    logic discards;          // the answer to an early check
    logic announces;         // comm_est is reported
    logic responds;          // the frame is a READ response
    logic drains;            // qp_last_wqe_reached is reported
    logic drops_receive;
    logic flushes;           // a receive leaves
    logic runs;              // bytes of the frame leave, more follow or not
    logic continues;         // and more of them follow
    logic ends;              // the frame, with this action:
    action_e done;
  } step_t;

  // Each function needs some of the checks only.
  /* verilator lint_off UNUSEDSIGNAL */

  // It needs a receive.
  function automatic logic starts_send(rx_token_t frame);
    return frame.verdict == RxVerdictRoce && frame.info.operation == BthOperationSend && frame.info.starts_message;
  endfunction

  // What follows from the checks, the first that applies.
  function automatic action_e decide(checks_t checks);
    action_e action;
    if (!checks.taken) action = ActDrop;
    else if (checks.response) begin
      if (checks.read_response) action = ActResponse;
      else action = checks.acknowledge ? ActAcknowledge : ActDrop;
    end else if (!checks.acknowledged) begin
      // Invalid packets are dropped silently. A datagram's PSN is ignored. [9.8.2, 9.8.3]
      if (!checks.request || !(checks.starts || checks.expected)) action = ActAbandon;
      else if (checks.send) action = checks.consumes ? ActReceive : ActContinue;
      else if (!checks.right) action = ActAbandon;
      else if (!checks.payload) action = checks.consumes ? ActReceive : ActAccept;
      else action = ActWrite;
    end else if (!checks.expected && !checks.ahead) begin
      if (checks.acks_duplicate) action = ActDuplicate;
      // A duplicate READ is executed again, the result of an atomic operation sent again. [9.7.5.1.4]
      else if (!checks.replayable) action = ActDrop;
      else action = !checks.atomic && checks.bytes ? ActRead : ActReplayRead;
    end
    // One NAK per gap, until the missing packet has arrived. [9.7.5]
    else if (!checks.expected) action = checks.nak_sent ? ActDrop : ActSequence;
    else if (checks.duplicates_pending) action = ActDrop;
    else if (!checks.request) action = ActInvalid;
    else if (checks.send) action = checks.consumes ? ActReceive : ActContinue;
    // An operation that the QP is not set up for is one that it does not support. [9.9.3]
    else if (!checks.right) action = ActInvalid;
    else if (checks.read) action = checks.bytes ? ActRead : ActIssueRead;
    // Without bytes the key is not checked. [9.7.4]
    else if (!checks.payload) action = checks.consumes ? ActReceive : ActAccept;
    else action = ActWrite;
    return action;
  endfunction

  // Of a WRITE's packet; of a READ the whole range at once, which the read responder translates packet by packet.
  function automatic memory_check_t key_check(checks_t checks, logic [31:0] rkey, logic [15:0] pdn, logic [23:0] qpn,
                                              logic [63:0] address, logic [31:0] bytes_left, logic [31:0] payload);
    return '{key: rkey, pdn: pdn, local_write: 1'b0, remote_write: !checks.read || checks.store,
             remote_read: checks.read && !checks.atomic,
             remote_atomic: checks.atomic && !checks.store && !checks.flush,
             flush_global: checks.placement[0], flush_persistent: checks.placement[1], whole: checks.whole,
             address: address, bytes: checks.read ? bytes_left : payload, qpn: qpn, default: '0};
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

endpackage
