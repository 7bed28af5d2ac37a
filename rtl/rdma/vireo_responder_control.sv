// SPDX-License-Identifier: Apache-2.0

// State machine of vireo_responder: whose turn it is (a load, a flush, the next frame), and step by step what the frame
// or flush in progress needs: key checks, receives and their elements, and how it ends (step_o.done). It checks no frame:
// vireo_responder_next and vireo_response_checks do. What a step causes is for vireo_responder_outcome.
module vireo_responder_control
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 hold_i,            // no frame's turn comes, from the next cycle on
  output logic                 held_o,

  // Whose turn may come.
  input  logic                 load_valid_i,
  input  logic                 load_room_i,
  output logic                 load_o,            // it takes effect
  input  logic                 flush_valid_i,
  input  logic [QpBits-1:0]    flush_qpn_i,
  output logic                 flush_pop_o,
  input  logic                 waiting_valid_i,
  input  logic                 waiting_send_i,    // the first packet of a SEND
  input  logic                 next_valid_i,      // a frame whose turn has come
  // verilator lint_off UNUSEDSIGNAL
  input  job_t                 next_i,            // some of the checks are for others
  input  attributes_t          attributes_i,
  input  read_checks_t         read_checks_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QpBits-1:0]    next_qpn_i,
  input  logic                 next_cleared_i,
  input  logic                 next_refused_i,    // a SEND of its QP, which it expected to be complete, is refused
  output logic                 read_o,            // tables are read
  output logic [QpBits-1:0]    read_qpn_o,
  output logic                 starts_o,          // for the next frame
  output logic                 expects_o,         // then: the SEND in progress, of its QP, to be complete
  output logic                 refuses_o,         // that one is not
  output logic                 advance_o,         // the next frame becomes the one in progress

  // What was read last.
  input  logic                 corrupt_i,         // the attributes are
  input  logic [2:0]           qp_state_i,
  input  half_t                half_i,
  input  logic                 cleared_valid_i,
  input  logic [QpBits-1:0]    cleared_qpn_i,
  input  cursor_t              read_cursor_i,     // in StAct; read_checks_i: one cycle later

  // Requests of the next frame, which are issued before it is the one in progress.
  output logic                 last_o,            // the frame ends with the next answer to a key check
  output logic                 check_free_o,
  input  logic                 next_check_i,
  input  memory_check_t        next_check_in_i,
  input  logic                 next_receive_i,
  input  receive_request_t     next_receive_in_i,
  input  logic                 check_first_i,
  input  logic                 receive_first_i,
  input  logic                 early_i,
  output logic                 early_end_o,

  output logic                 memory_check_valid_o,
  input  logic                 memory_check_ready_i,
  output memory_check_t        memory_check_o,
  input  logic                 memory_valid_i,
  output logic                 memory_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  memory_place_t        memory_i,          // where to is for others
  // verilator lint_on UNUSEDSIGNAL
  output logic                 receive_request_valid_o,
  input  logic                 receive_request_ready_i,
  output receive_request_t     receive_request_o,
  input  logic                 receive_valid_i,
  output logic                 receive_ready_o,
  input  receive_t             receive_i,
  output memory_grant_t        grant_ended_o,     // a pulse: a granted access is not made
  input  logic                 reflush_free_i,
  input  logic                 space_i,           // for what leaves

  output step_t                step_o,
  output state_e               state_o,
  output job_t                 job_o,
  output turn_t                turn_o,
  output logic [QpBits-1:0]    qpn_o,
  output logic [QpBits-1:0]    receive_queue_o,   // where the QP's receives come from
  output logic                 response_o,        // the frame is a READ response
  output logic                 announced_o        // comm_est was reported for it
);

  localparam bit Invalidation = Config.invalidation != 0;

  state_e state_d, state_q;            // of the turn in progress
  logic [QpBits-1:0] qpn_q;
  // verilator lint_off UNUSEDSIGNAL
  job_t job_q;
  ieth_t ieth;
  // verilator lint_on UNUSEDSIGNAL
  turn_t turn_d, turn_q;
  ahead_t ahead_q;
  step_t step, acts, places, receives, flushed;
  logic early_pdn_q;                   // of an early check, in progress: the protection domain is still that of it
  logic flush_q;                       // the turn is a flush
  logic after_flush_q;                 // the last turn was a flush: a frame goes before the next one
  logic hold_q;
  logic response_q, announced_q;
  logic cleared_d, cleared_q;          // the QP was cleared since the tables were read
  logic check_valid_q, request_valid_q;
  memory_check_t check_q;
  receive_request_t request_q;

  rdma_sge_t sge;
  // verilator lint_off UNUSEDSIGNAL
  position_t held;                     // the receive that the QP holds
  // verilator lint_on UNUSEDSIGNAL
  logic [7:0] passed;                  // its elements up to the current one
  action_e action;
  logic scatters;                      // the payload goes to elements
  logic invalidates;                   // then a region is ended
  logic [12:0] chunk;                  // payload for the element
  logic last_chunk;                    // nothing follows it
  logic certain;                       // a SEND is complete if the key of its last element allows it
  logic takes_receive;
  logic flush_turn;                    // a flush goes before the next frame
  logic frame_turn;                    // a frame is present, and may have its turn

  assign sge = unpack_rdma_sge(receive_i.sge);
  assign receive_queue_o = job_q.has_srq ? QpBits'(job_q.srqn) : qpn_q;
  assign held = job_q.half.position;

  always_comb begin
    ieth = '0;
    action = ActDrop;
    if (state_q != StIdle) begin
      ieth = unpack_ieth(job_q.frame.extension[8*IethBytes-1:0]);
      action = decide(job_q.checks);
    end
    chunk = turn_q.position.cursor.bytes_left < 32'(turn_q.left) ? 13'(turn_q.position.cursor.bytes_left) : turn_q.left;
    scatters = job_q.checks.send || response_q;
    invalidates = Invalidation && job_q.checks.send && job_q.frame.info.has_ieth;
    last_chunk = chunk == turn_q.left && turn_q.part == PartPayload && !invalidates;
    certain = job_q.checks.send && job_q.checks.acknowledged && job_q.checks.taken && job_q.frame.info.ends_message
           && last_chunk
           && (state_q == StMemory || (state_q == StNext && turn_q.status == BufferStatusOk && turn_q.left != '0));
    passed = held.num_sge - held.cursor.elements;
  end

  // --- Whose turn comes. A load and a flush wait for the frames whose turn has come; a frame waits for those of its QP,
  // a SEND until the one in front of it is certain.
  always_comb begin
    frame_turn = waiting_valid_i && (!hold_q || early_i);
    load_o = load_valid_i && state_q == StIdle && !next_valid_i && load_room_i;
    flush_turn = flush_valid_i && !(frame_turn && after_flush_q);
    flush_pop_o = !load_valid_i && !next_valid_i && flush_turn && state_q == StIdle;
    starts_o = !load_valid_i && !next_valid_i && !flush_turn && frame_turn
            && (state_q == StIdle
                || (state_q != StAct && !flush_q && (qpn_q != next_qpn_i || (certain && waiting_send_i))));
    expects_o = state_q != StIdle && qpn_q == next_qpn_i;
    read_o = flush_pop_o || starts_o;
    read_qpn_o = starts_o ? next_qpn_i : flush_qpn_i;
    last_o = state_q == StMemory && (scatters ? last_chunk
                                              : job_q.checks.read || job_q.half.holds || !job_q.frame.info.consumes_recv);
  end

  // --- StAct, StRead: what follows from the checks
  always_comb begin
    acts = '0;
    acts.state = state_q;
    acts.turn = turn_q;
    acts.ahead = ahead_q;
    acts.done = state_q == StAct ? action : ActDrop;
    acts.check_in = key_check(job_q.checks, job_q.rkey, job_q.pdn, 24'(qpn_q), job_q.address, job_q.bytes_left,
                              32'(job_q.frame.payload_bytes));
    acts.request_in = '{qpn: 24'(receive_queue_o), default: '0};
    acts.discards = state_q == StAct && early_i && !(action == ActWrite && early_pdn_q);
    acts.announces = state_q == StAct && space_i && job_q.checks.announces && !announced_q && !acts.discards;
    if (acts.discards) begin
      // Not what the early check asked: its answer is not used.
      acts.takes_memory = memory_valid_i;
    end else if (state_q == StAct && space_i && !acts.announces) begin
      unique case (action)
        ActWrite, ActRead: begin
          acts.check = !early_i;
          acts.state = StMemory;
        end
        ActReceive: begin
          if (job_q.half.holds) begin
            // Of a message that was never completed: this one reuses it from the start.
            acts.turn.position.cursor.next_element = held.cursor.next_element - 64'(RdmaSgeBytes) * 64'(passed);
            acts.turn.position.cursor.elements = held.num_sge;
            acts.turn.position.cursor.bytes_left = '0;
            acts.state = StNext;
          end else begin
            acts.request = 1'b1;
            acts.state = StReceive;
          end
        end
        ActContinue: acts.state = StNext;
        ActResponse: begin
          acts.responds = 1'b1;
          if (job_q.frame.info.has_atomic_ack_eth) acts.turn.left = 13'(AtomicBytes);
          acts.turn.position.cursor = read_cursor_i;
          acts.state = StRead;
        end
        default: acts.ends = 1'b1;
      endcase
    end
    if (state_q == StRead) begin
      acts.ends = 1'b1;
      if (read_checks_i.held && read_checks_i.expected) begin
        acts.done = ActBadResponse;
        if (read_checks_i.acknowledges && read_checks_i.fits) begin
          acts.ends = 1'b0;
          acts.state = StNext;
        end
      end else if (read_checks_i.held && read_checks_i.ahead) begin
        acts.done = ActGap;
      end
    end
  end

  // --- StMemory, StInvalidate, StDrain: a key was checked
  always_comb begin
    places = '0;
    places.state = state_q;
    places.turn = turn_q;
    places.ahead = ahead_q;
    places.request_in = '{qpn: 24'(receive_queue_o), default: '0};
    places.done = action;
    unique case (state_q)
      StMemory: begin
        if (memory_valid_i && space_i) begin
          if (job_q.checks.read) begin
            places.takes_memory = 1'b1;
            if (memory_i.status == MemoryStatusOk) places.done = job_q.checks.expected ? ActIssueRead : ActReplayRead;
            else places.done = job_q.checks.expected ? ActAccess : ActDrop;
            places.ends = 1'b1;
          end else if (memory_i.status != MemoryStatusOk) begin
            places.takes_memory = 1'b1;
            if (scatters) places.done = ActProtection;
            else places.done = job_q.checks.acknowledged ? ActAccess : ActAbandon;
            places.ends = !ahead_q.ahead;
            places.turn.refused = memory_i.status;
            places.state = StDrain;  // unless it ends
          end else if (!scatters && job_q.frame.info.consumes_recv && !job_q.half.holds) begin
            // Nothing is written without a receive: the memory_place stays in its register.
            places.request = 1'b1;
            places.state = StReceive;
          end else begin
            places.takes_memory = 1'b1;
            places.runs = 1'b1;
            places.done = response_q ? ActResponseDone : ActAccept;
            places.turn.position.cursor.address = turn_q.position.cursor.address + 64'(chunk);
            places.turn.position.cursor.bytes_left = turn_q.position.cursor.bytes_left - 32'(chunk);
            if (scatters && (chunk != turn_q.left || turn_q.part != PartPayload || invalidates)) begin
              places.continues = 1'b1;
              if (ahead_q.checked) places.state = StMemory;
              else places.state = ahead_q.ahead && !receive_valid_i ? StReceive : StNext;
              places.ahead = '{ahead: ahead_q.further, default: '0};
              places.turn.left = turn_q.left - chunk;
              places.turn.offset = turn_q.offset + chunk;
              if (chunk == turn_q.left && turn_q.part != PartPayload) begin
                places.turn.part = turn_q.part == PartZeros ? PartHeader : PartPayload;
                places.turn.left = turn_q.part == PartZeros ? 13'(Ipv4Bytes) : 13'(job_q.frame.payload_bytes);
                places.turn.offset = turn_q.part == PartZeros ? 13'(job_q.frame.l3_offset)
                                                              : 13'(job_q.frame.payload_offset);
              end
            end else begin
              places.ends = 1'b1;
            end
          end
        end else if (ahead_q.ahead && !ahead_q.checked && receive_valid_i && receive_i.status == BufferStatusOk
                     && sge.length != '0 && !check_valid_q) begin
          // The next element came before the answer to the key check in front of it.
          places.checks_ahead = 1'b1;
          places.check = 1'b1;
          places.check_in = '{key: sge.lkey, pdn: job_q.pdn, local_write: 1'b1, address: sge.addr,
                              bytes: sge.length < 32'(turn_q.rest) ? sge.length : 32'(turn_q.rest), default: '0};
          places.turn.rest = turn_q.rest - 13'(places.check_in.bytes);
          places.ahead.checked = 1'b1;
          places.ahead.further = places.turn.rest != '0 && turn_q.position.cursor.elements > 8'd1;
          places.wants_element = places.ahead.further;
        end
      end

      StInvalidate: begin
        places.takes_memory = memory_valid_i && space_i;
        places.ends = memory_valid_i && space_i;
        places.done = memory_i.status == MemoryStatusOk ? ActAccept : ActInvalidate;
      end

      StDrain: begin
        places.done = ActProtection;
        if (!ahead_q.ahead) begin
          places.ends = space_i;
        end else if (ahead_q.checked) begin
          places.takes_memory = memory_valid_i;
          if (memory_valid_i) places.ahead.checked = 1'b0;
        end else begin
          places.drops_element = receive_valid_i;
          if (receive_valid_i) places.ahead = '{ahead: ahead_q.further, checked: ahead_q.checked, further: 1'b0};
        end
      end

      default: ;
    endcase
  end

  // --- StReceive, StNext: a receive or an element
  always_comb begin
    receives = '0;
    receives.state = state_q;
    receives.turn = turn_q;
    receives.ahead = ahead_q;
    receives.done = flush_q ? ActDrop : action;
    if (state_q == StReceive) begin
      if (receive_valid_i) receives.state = StNext;
    end else if (flush_q) begin
      if (turn_q.status == BufferStatusEmpty || (turn_q.status != BufferStatusOk && turn_q.code == RdmaErrorOk)) begin
        receives.state = StIdle;
      end else if (space_i && reflush_free_i) begin
        receives.flushes = 1'b1;
        receives.state = StIdle;
      end
    end else if (!job_q.checks.taken) begin
      // Requested before the SEND in front of it was refused.
      receives.done = ActKeep;
      receives.ends = space_i;
    end else if (turn_q.status != BufferStatusOk) begin
      if (turn_q.status == BufferStatusEmpty && !turn_q.element) begin
        receives.done = job_q.checks.acknowledged ? ActNotReady : ActAbandon;
      // Descriptor fetch has reported a broken queue: without a response to send there is nothing more to report.
      end else if (!job_q.checks.acknowledged && !turn_q.element && turn_q.code == RdmaErrorOk) begin
        receives.done = ActAbandon;
      end else begin
        receives.done = ActOperation;
      end
      receives.takes_memory = space_i && !scatters && job_q.checks.payload;
      receives.ends = space_i;
    end else if (!scatters) begin
      receives.done = ActAccept;
      receives.runs = job_q.checks.payload;
      receives.takes_memory = space_i && job_q.checks.payload;
      receives.ends = space_i;
    end else if (turn_q.left == '0 && invalidates) begin
      // Behind all of the message. [IBTA vol. 1, 9.4.1.1]
      receives.check = 1'b1;
      receives.check_in = '{key: ieth.rkey, pdn: job_q.pdn, invalidate: 1'b1, qpn: 24'(qpn_q), default: '0};
      receives.state = StInvalidate;
    end else if (turn_q.left == '0) begin
      receives.done = response_q ? ActResponseDone : ActAccept;
      receives.ends = space_i;
    end else if (turn_q.position.cursor.bytes_left != '0) begin
      receives.check = 1'b1;
      receives.check_in = '{key: turn_q.position.cursor.key, pdn: job_q.pdn, local_write: 1'b1,
                            address: turn_q.position.cursor.address, bytes: 32'(chunk), default: '0};
      receives.turn.rest = turn_q.left - chunk;
      receives.ahead.ahead = receives.turn.rest != '0 && turn_q.position.cursor.elements != '0;
      receives.wants_element = receives.ahead.ahead;
      receives.state = StMemory;
    end else if (turn_q.position.cursor.elements != '0) begin
      receives.wants_element = 1'b1;
      receives.state = StReceive;
    end else begin
      receives.done = ActLength;
      receives.ends = space_i;
    end
  end

  // --- StIdle, StFlush: receives of a QP in ERR, or a shared queue's that a QP without state holds
  always_comb begin
    flushed = '0;
    flushed.state = flush_pop_o ? StFlush : StIdle;
    flushed.turn = turn_q;
    flushed.ahead = ahead_q;
    // The one that a refused WRITE would have consumed is not left to a later turn.
    flushed.request_in = '{qpn: 24'(qpn_q), no_wait: !half_i.access_refused, default: '0};
    if (state_q == StFlush) begin
      flushed.turn.status = BufferStatusOk;
      flushed.turn.element = 1'b0;
      flushed.turn.position = half_i.position;
      flushed.drops_receive = qp_state_i == 3'(IbQpStateErr) || qp_state_i == 3'(IbQpStateReset);
      // The CQ number is lost with the entry.
      if (qp_state_i == 3'(IbQpStateErr) && !corrupt_i) begin
        // The held receive goes first.
        if (half_i.holds) begin
          flushed.state = StNext;
        end else if (attributes_i.has_srq) begin
          // The others are not this QP's.
          flushed.drains = !half_i.drained && space_i;
          if (!half_i.drained && !space_i) begin
            flushed.drops_receive = 1'b0;
            flushed.state = StFlush;
          end
        end else begin
          flushed.request = 1'b1;
          flushed.state = StReceive;
        end
      end else if (qp_state_i == 3'(IbQpStateReset) && attributes_i.has_srq && half_i.holds && !corrupt_i) begin
        // The driver gets its buffer back.
        flushed.state = StNext;
      end
    end
  end

  always_comb begin
    unique case (state_q)
      StAct, StRead: step = acts;
      StMemory, StInvalidate, StDrain: step = places;
      StReceive, StNext: step = receives;
      default: step = flushed;
    endcase
    if (step.wants_element) step.turn.element = 1'b1;
  end

  // --- The frame behind it, and the receive or element that is taken
  always_comb begin
    turn_d = step.turn;
    advance_o = next_valid_i && (state_q == StIdle || step.ends);
    takes_receive = receive_valid_i && (state_q == StReceive || (step.continues && ahead_q.ahead)
                                        || (advance_o && receive_first_i));
    state_d = step.ends ? StIdle : step.state;
    cleared_d = cleared_q || (cleared_valid_i && cleared_qpn_i == qpn_q);
    if (flush_pop_o) cleared_d = 1'b0;
    if (advance_o) begin
      cleared_d = next_cleared_i;
      turn_d.status = BufferStatusOk;
      turn_d.element = 1'b0;
      turn_d.position = half_i.position;
      if (!next_i.checks.datagram) begin
        turn_d.part = PartPayload;
        turn_d.left = 13'(next_i.frame.payload_bytes);
        turn_d.offset = 13'(next_i.frame.payload_offset);
      end else begin
        turn_d.part = next_i.frame.is_ipv6 ? PartHeader : PartZeros;
        turn_d.left = next_i.frame.is_ipv6 ? 13'(Ipv6Bytes) : 13'(RdmaUdGrhBytes) - 13'(Ipv4Bytes);
        turn_d.offset = next_i.frame.is_ipv6 ? 13'(next_i.frame.l3_offset) : '0;
      end
      if (check_first_i) state_d = StMemory;
      else if (receive_first_i) state_d = takes_receive ? StNext : StReceive;
      else state_d = StAct;
    end
    if (takes_receive) begin
      turn_d.status = receive_i.status;
      turn_d.code = receive_i.code;
      turn_d.position.cursor.address = sge.addr;
      turn_d.position.cursor.key = sge.lkey;
      if (turn_d.element) begin
        turn_d.position.cursor.bytes_left = sge.length;
        turn_d.position.cursor.next_element = turn_q.position.cursor.next_element + 64'(RdmaSgeBytes);
        turn_d.position.cursor.elements = turn_q.position.cursor.elements - 1'b1;
      end else begin
        turn_d.position.head = receive_i.head;
        turn_d.position.wr_id = receive_i.wr_id;
        turn_d.position.num_sge = receive_i.num_sge;
        turn_d.position.cursor.next_element = receive_i.elements + 64'(RdmaSgeBytes);
        turn_d.position.cursor.elements = receive_i.num_sge == '0 ? '0 : receive_i.num_sge - 1'b1;
        turn_d.position.cursor.bytes_left = receive_i.num_sge == '0 ? '0 : sge.length;
        // It was behind others that are discarded, so it must not complete. A shared queue is not cleared.
        if (cleared_d && !(advance_o ? attributes_i.has_srq : job_q.has_srq)) turn_d.status = BufferStatusEmpty;
      end
    end
  end

  assign early_end_o = (step.discards && memory_valid_i) || (state_q == StAct && step.state == StMemory);
  assign memory_ready_o = step.takes_memory;
  assign receive_ready_o = takes_receive || step.drops_element;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      after_flush_q <= 1'b0;
      hold_q <= 1'b0;
      ahead_q <= '0;
      check_valid_q <= 1'b0;
      request_valid_q <= 1'b0;
      grant_ended_o <= '0;
    end else begin
      state_q <= state_d;
      after_flush_q <= (after_flush_q || flush_pop_o) && !starts_o;
      hold_q <= hold_i;
      ahead_q <= step.ahead;
      check_valid_q <= step.check || next_check_i || (check_valid_q && !memory_check_ready_i);
      request_valid_q <= step.request || step.wants_element || next_receive_i
                      || (request_valid_q && !receive_request_ready_i);
      // A request that is refused after its check, or a READ: the read responder checks again.
      grant_ended_o <= memory_valid_i && memory_ready_o && !step.runs ? memory_i.grant : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    flush_q <= (flush_q || flush_pop_o) && !advance_o;
    cleared_q <= cleared_d;
    response_q <= (response_q || step.responds) && !advance_o;
    announced_q <= (announced_q || step.announces) && !advance_o;
    if (advance_o) qpn_q <= next_qpn_i;
    else if (flush_pop_o) qpn_q <= flush_qpn_i;
    if (state_q != StIdle || advance_o) turn_q <= turn_d;
    if (next_check_i) check_q <= next_check_in_i;
    else if (step.check) check_q <= step.check_in;
    if (next_receive_i) begin
      request_q <= next_receive_in_i;
    end else if (step.wants_element) begin
      // The first element came with the receive, or with the READ.
      request_q <= '{qpn: 24'(qpn_q), is_element: 1'b1, no_wait: 1'b0,
                     address: turn_q.position.cursor.next_element + (step.checks_ahead ? 64'(RdmaSgeBytes) : '0),
                     elements: turn_q.position.cursor.elements - 8'(step.checks_ahead),
                     is_new: !step.checks_ahead
                             && (response_q ? read_checks_i.at_first && !turn_q.element
                                            : 8'(turn_q.position.num_sge - turn_q.position.cursor.elements) <= 8'd1)};
    end else if (step.request) begin
      request_q <= step.request_in;
    end
    if (advance_o) begin
      job_q <= next_i;
      if (next_refused_i) begin
        job_q.checks.taken <= 1'b0;
        job_q.checks.announces <= 1'b0;
      end
      early_pdn_q <= next_i.pdn == job_q.pdn;
    end else if (state_q == StFlush) begin
      job_q.half <= half_i;
      job_q.recv_cqn <= attributes_i.recv_cqn;
      job_q.has_srq <= attributes_i.has_srq;
      job_q.srqn <= attributes_i.srqn;
    end
  end

  assign refuses_o = step.ends && step.done == ActProtection;
  assign held_o = hold_q;
  assign check_free_o = !check_valid_q;
  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign receive_request_valid_o = request_valid_q;
  assign receive_request_o = request_q;
  assign step_o = step;
  assign state_o = state_q;
  assign job_o = job_q;
  assign turn_o = turn_q;
  assign qpn_o = qpn_q;
  assign response_o = response_q;
  assign announced_o = announced_q;

endmodule
