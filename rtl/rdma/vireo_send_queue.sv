// SPDX-License-Identifier: Apache-2.0

// Schedules QPs for send work request fetches, and reads the work requests: requests buffers from descriptor fetch for
// QPs that may have some, have space for records and are in a state that sends (RTS) or flushes (ERR), first come first
// served and at most SendBuffersPerRequest at a time, and outputs the bytes of each as work_request, in order. It uses
// the work request's length only, not its contents; keys and opcodes are the requester's. One that is shorter than an
// rdma_sq_req is extensible: it takes one read.
//
// A replay outputs the work request of one record again; it waits for neither space nor state, because its record exists
// already. If the work request is kept here, the replay is quick: it passes everything but replays of its QP. Else it is
// read again, by the index of its descriptor. Replays of a QP stay in order; replays and the line take turns.
//
// A pushed work request (push_write) is a doorbell, and tells what its ring has next. If nothing else of the ring is known or
// requested, and descriptor fetch confirms that it is next, its bytes are those that were pushed and nothing is read.
//
// Of a stopped QP nothing is requested or read any more: its memory is the driver's. What is on its way passes as failed,
// without report.
//
// Every buffer received counts as a record in use until `retired` returns it, regardless of the state of its QP:
// so the count needs no clearing and is never wrong.
module vireo_send_queue
  import vireo_spec_pkg::*, vireo_common_pkg::is_narrow;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Requests,  // to descriptor fetch, in flight; a power of two, 4 or more
  parameter int unsigned Buffers,  // that these ask for; a power of two, 8 or more
  parameter int unsigned Fetches,  // reads in flight, at most two per work request; a power of two, 8 or more
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned SendRecords = Config.send_records  // per QP; a power of two, 2 or more
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one
  input  logic              extensible_i,  // extensible work requests are legal
  input  logic              hold_i,  // no ring is requested, from the next cycle on; the line does not count as work

  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic              push_write_valid_i,
  input  push_write_t       push_write_i,  // of a QP of the device
  // verilator lint_on UNUSEDSIGNAL

  input  logic              doorbell_valid_i,
  output logic              doorbell_ready_o,
  input  doorbell_t         doorbell_i,

  input  logic              retired_valid_i,        // one record of this send queue is free again
  output logic              retired_ready_o,
  input  doorbell_t         retired_i,

  input  logic              replay_valid_i,
  output logic              replay_ready_o,
  input  replay_t           replay_i,

  output logic              buffer_request_valid_o,
  input  logic              buffer_request_ready_i,
  output buffer_request_t   buffer_request_o,

  input  logic              buffer_valid_i,
  output logic              buffer_ready_o,
  input  buffer_t           buffer_i,

  output logic              fetch_request_valid_o,
  input  logic              fetch_request_ready_i,
  output dma_read_request_t fetch_request_o,

  input  logic              fetched_valid_i,        // in the order of the requests
  output logic              fetched_ready_o,
  input  dma_fetched_t      fetched_i,

  output logic              work_request_valid_o,
  input  logic              work_request_ready_i,
  output work_request_t     work_request_o,

  output logic              queue_failure_valid_o,
  input  logic              queue_failure_ready_i,
  output queue_failure_t    queue_failure_o,

  output logic              qp_sends_valid_o,       // a pulse, after each change
  output qp_sends_t         qp_sends_o,

  output logic [1:0]        fetches_wait_o,         // reads that were decided and are not requested yet
  output logic              settled_o,              // no request for buffers waits
  output logic              idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned RecordBits = $clog2(SendRecords) + 1;
  localparam int unsigned FetchCountBits = $bits(SendBuffersPerRequest);
  // Buffers that a request asks for: of a QP alone, and beside several others.
  localparam int unsigned Most = 32'(SendBuffersPerRequest);
  localparam int unsigned Few = 32'(BuffersPerRequest);
  // A QP that was out of space returns at this much: one request of many costs less than many of one.
  localparam int unsigned FetchRoom = SendRecords / 2 < Few ? SendRecords / 2 : Few;
  localparam int unsigned RequestBits = $clog2(Requests) + 1;
  localparam int unsigned BufferCountBits = $clog2(Buffers) + 1;
  localparam int unsigned Infos = Fetches;  // work requests that were requested and not issued
  localparam int unsigned InfoBits = $clog2(Infos) + 1;
  localparam int unsigned ReadBits = $clog2(Fetches) + 1;
  localparam int unsigned Replays = Fetches / 2;  // of these
  localparam int unsigned LineDepth = NumQps < 4 ? 4 : NumQps;

  // Bytes read of a work request: all but the inline data, and the first element.
  localparam int unsigned HeadBytes = RdmaSqReqInlineDataOffset;
  localparam int unsigned TailBytes = RdmaSqReqBytes - RdmaSqReqSizeOffset + RdmaSgeBytes;
  localparam int unsigned RestBytes = 32'(DmaFetchBytes) - HeadBytes;  // of an extensible one, behind them

  localparam bit Extensible = Config.extensible_requests != 0;

  localparam int unsigned Kept = Config.send_requests_kept == 0 ? 2 : Config.send_requests_kept;  // of all QPs; a power of two
  localparam int unsigned KeptBits = $clog2(Kept);
  localparam int unsigned KeptOfQp = SendRecords < Kept ? SendRecords : Kept;

  logic hold_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hold_q <= 1'b0;
    else hold_q <= hold_i;
  end

  // States in which a QP may have work requests. [IBTA vol. 1, 10.3.1]
  function automatic logic is_started(input logic [2:0] state);
    return state >= 3'(IbQpStateRts);
  endfunction

  function automatic logic is_served(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqe) || state == 3'(IbQpStateErr);
  endfunction

  function automatic work_request_t with_replay(input work_request_t work, input replay_t token);
    with_replay = work;
    with_replay.qpn = token.qpn;
    with_replay.head = token.head;
    with_replay.is_replay = 1'b1;
    with_replay.resume = token.resume;
    with_replay.epoch = token.epoch;
    with_replay.slot = token.slot;
    with_replay.psn = token.psn;
    with_replay.first_psn = token.first_psn;
    with_replay.last_psn = token.last_psn;
    with_replay.packets = token.packets;
    with_replay.first_transmission = token.first_transmission;
    with_replay.number = token.number;
    with_replay.serial = token.serial;
  endfunction

  logic [15:0] first_queue;  // index of the first send queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaTransmitqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic doorbell_valid, doorbell_pop, retired_valid, retired_pop;
  doorbell_t doorbell, retired;
  logic replay_valid, replay_pop, slow_pop;  // it is requested
  replay_t replay;
  logic buffer_valid, buffer_pop, fetched_valid, fetched_pop;
  // The tags and fields used for chains only are ignored.
  /* verilator lint_off UNUSEDSIGNAL */
  buffer_t buffer;
  dma_fetched_t fetched;
  /* verilator lint_on UNUSEDSIGNAL */

  vireo_slice #(.Width(DoorbellBits)) u_doorbell (
    .clk_i, .rst_ni,
    .s_valid_i(doorbell_valid_i), .s_ready_o(doorbell_ready_o), .s_data_i(doorbell_i),
    .m_valid_o(doorbell_valid), .m_ready_i(doorbell_pop), .m_data_o(doorbell)
  );
  vireo_slice #(.Width(DoorbellBits)) u_retired (
    .clk_i, .rst_ni,
    .s_valid_i(retired_valid_i), .s_ready_o(retired_ready_o), .s_data_i(retired_i),
    .m_valid_o(retired_valid), .m_ready_i(retired_pop), .m_data_o(retired)
  );
  vireo_slice #(.Width(ReplayBits), .Depth(vireo_common_pkg::wide_slice(Config.datapath_bits))) u_replay (
    .clk_i, .rst_ni,
    .s_valid_i(replay_valid_i), .s_ready_o(replay_ready_o), .s_data_i(replay_i),
    .m_valid_o(replay_valid), .m_ready_i(replay_pop), .m_data_o(replay)
  );
  // Space for all buffers requested.
  vireo_fifo #(.Width(BufferBits), .Depth(Buffers), .InLuts(is_narrow(Config.datapath_bits))) u_buffer (
    .clk_i, .rst_ni,
    .s_valid_i(buffer_valid_i), .s_ready_o(buffer_ready_o), .s_data_i(buffer_i),
    .m_valid_o(buffer_valid), .m_ready_i(buffer_pop), .m_data_o(buffer)
  );
  // Takes every answer at once: the stop of a QP waits until its reads have ended, and the requester may wait for the wire.
  vireo_fifo #(.Width(DmaFetchedBits), .Depth(Fetches), .InLuts(is_narrow(Config.datapath_bits))) u_fetched (
    .clk_i, .rst_ni,
    .s_valid_i(fetched_valid_i), .s_ready_o(fetched_ready_o), .s_data_i(fetched_i),
    .m_valid_o(fetched_valid), .m_ready_i(fetched_pop), .m_data_o(fetched)
  );

  // --- Work requests that are kept -----------------------------------------------------------------------------------

  typedef struct packed {
    logic valid;
    logic [QpBits-1:0] qpn;
    logic [15:0] head;
    logic [63:0] address;
    logic [31:0] bytes;
    logic [8*HeadBytes-1:0] head_bytes;
    logic [8*TailBytes-1:0] tail_bytes;
  } kept_t;

  // A place for each of the records of some QPs, if their heads follow each other; else for the last that came there.
  function automatic logic [KeptBits-1:0] place_of(input logic [QpBits-1:0] qpn, input logic [15:0] head);
    return KeptBits'(32'(qpn) * KeptOfQp) | KeptBits'(32'(head) % KeptOfQp);
  endfunction

  logic kept_write;
  logic [KeptBits-1:0] kept_place;
  kept_t kept_new, kept_read, kept;
  logic looked_up_q;  // `kept` is that of the replay at the input
  logic quick, slow;  // it needs no request; it can be requested
  logic replay_started;  // its QP is, likewise as of one cycle ago
  logic [Replays-1:0] slow_valid_q, slow_valid_d, slow_same;  // replays that were requested and not issued
  logic [QpBits-1:0] slow_qpn_q [Replays];
  logic [$clog2(Replays)-1:0] slow_in_q, slow_out_q;
  logic replays_pop;
  logic quick_valid_q, quick_pop;
  replay_t quick_replay_q;
  logic quick_started_q;
  /* verilator lint_off UNUSEDSIGNAL */
  kept_t quick_q;  // without what was compared
  /* verilator lint_on UNUSEDSIGNAL */

  // The newest work request of each head that was read: a record's replay comes after it, so it is the record's.
  assign kept = Config.send_requests_kept == 0 ? '0 : kept_read;
  vireo_table #(.Width($bits(kept_t)), .Depth(Kept)) u_kept (
    .clk_i, .rst_ni, .write_i(kept_write), .write_address_i(kept_place), .write_data_i(kept_new),
    .read_i(1'b1), .read_address_i(place_of(replay.qpn[QpBits-1:0], replay.head)), .read_data_o(kept_read)
  );

  vireo_table #(.Width(1), .Depth(NumQps)) u_replay_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(is_started(qp_state_write_i.state)),
    .read_i(1'b1), .read_address_i(replay.qpn[QpBits-1:0]), .read_data_o(replay_started)
  );

  always_comb begin
    for (int unsigned i = 0; i < Replays; i++) slow_same[i] = slow_valid_q[i] && slow_qpn_q[i] == replay.qpn[QpBits-1:0];
    // Those of a stopped QP have no effect, so their order does not matter.
    quick = !replay_started || (slow_same == '0
            && (replay.resume || (kept.valid && kept.qpn == replay.qpn[QpBits-1:0] && kept.head == replay.head)));
    // One that follows a quick one of its QP must not pass it.
    slow = !quick && !(quick_valid_q && quick_replay_q.qpn == replay.qpn);
  end

  always_comb begin
    replay_pop = slow_pop || (replay_valid && looked_up_q && quick && !quick_valid_q);
    slow_valid_d = slow_valid_q;
    if (slow_pop) slow_valid_d[slow_in_q] = 1'b1;
    if (replays_pop) slow_valid_d[slow_out_q] = 1'b0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      looked_up_q <= 1'b0;
      quick_valid_q <= 1'b0;
      slow_valid_q <= '0;
      slow_in_q <= '0;
      slow_out_q <= '0;
    end else begin
      looked_up_q <= replay_valid && !replay_pop;
      if (quick_valid_q) quick_valid_q <= !quick_pop;
      else quick_valid_q <= replay_pop && !slow_pop;
      slow_valid_q <= slow_valid_d;
      if (slow_pop) slow_in_q <= slow_in_q + 1'b1;
      if (replays_pop) slow_out_q <= slow_out_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!quick_valid_q) begin
      quick_replay_q <= replay;
      quick_started_q <= replay_started;
      quick_q <= kept;
    end
    if (slow_pop) slow_qpn_q[slow_in_q] <= replay.qpn[QpBits-1:0];
  end

  // --- Line: which QP requests next ----------------------------------------------------------------------------------

  typedef struct packed {
    logic queued;                   // is in the line
    logic requested;                    // a request is outstanding
    logic more;                     // its ring may hold more than was requested
    logic [RecordBits-1:0] in_use;  // records, including those requested
  } slot_t;

  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic [FetchCountBits-1:0] count;
    logic is_replay;   // for a replay
    logic resume;  // nothing was requested: it only takes its turn
    logic pushed;  // the one buffer is that of `position`, if it is the next one
    logic [15:0] position;
  } fetch_request_t;

  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic [FetchCountBits-1:0] count;
    logic pushed;
  } answer_t;

  typedef enum logic [2:0] {OpRetired, OpAnswer, OpWake, OpPush, OpRing, OpServe} op_e;
  typedef enum logic {StChoose, StDecide} state_e;

  state_e state_d, state_q;
  op_e op_d, op_q;
  logic [QpBits-1:0] qpn_d, qpn_q;
  logic line_turn_d, line_turn_q;  // the line and replays go before doorbells
  logic replay_turn_d, replay_turn_q;  // replays go before the line
  logic ring_turn_d, ring_turn_q;  // doorbells go before pushes
  logic request_valid_d, request_valid_q, request_free;
  buffer_request_t request_d, request_q;
  logic [RequestBits-1:0] requests_d, requests_q;  // whose last buffer was not taken
  logic [BufferCountBits-1:0] buffers_d, buffers_q, buffers_free;  // that these ask for; that can be requested
  logic fetches_pending_push, fetches_pending_valid, fetches_pending_pop;
  logic fetches_pending_ready, line_ready;  // asserted: at most Requests, at most one entry per QP
  fetch_request_t fetches_pending_in, fetches_pending;
  logic request_ready;           // a request can be made
  logic replays_ready, replays_valid, replay_servable;
  // Its QP is handled like all others.
  /* verilator lint_off UNUSEDSIGNAL */
  replay_t replays;
  /* verilator lint_on UNUSEDSIGNAL */
  logic answer_valid_d, answer_valid_q, answer_taken;  // a request has its response
  answer_t answer_d, answer_q;
  logic [FetchCountBits-1:0] got_d, got_q, answer_got_d, answer_got_q;

  logic read, slot_write;
  slot_t slot, slot_new;
  logic [2:0] qp_state;
  logic [31:0] room, share, others;  // of records; of the buffers; QPs that requested or wait
  logic [FetchCountBits-1:0] count;

  logic wake_valid, wake_pop, wake_empty;
  logic [QpBits-1:0] wake;
  logic line_push, line_valid, line_pop, line_servable;
  logic [QpBits-1:0] line;
  logic [QpBits:0] waiting_d, waiting_q;  // entries of the line

  logic [15:0] retired_offset, doorbell_offset;
  logic retired_known, doorbell_known;  // send queues of this device

  // --- Pushed work requests: what was pushed last to each queue

  typedef struct packed {
    logic [3:0] count;  // places that were written in order, since the last end
    logic sealed;       // it is complete, and its end has come
    logic [15:0] position;
    logic [15:0] head;
    logic [15:0] length;
  } push_head_t;

  logic push_valid, push_pop, push_empty;  // a push has ended
  logic [QpBits-1:0] push;
  push_head_t push_head;                    // of the QP that is decided on, as read one cycle ago
  logic [63:0] push_address;
  logic pushed_match;                       // what was pushed is still that of fetches_pending, likewise
  logic [8*32'(RdmaPushMost)-1:0] pushed_bytes;  // its bytes, without those behind its end

  if (Config.push_requests != 0) begin : gen_push
    localparam int unsigned Words = 32'(RdmaPushMost) / RdmaPushBytes;

    logic void_valid_q, write_valid_q, written_q;  // a QP's last lifetime has ended; a place is written; likewise before
    logic [QpBits-1:0] void_q, written_qpn_q;
    push_head_t written_head_q;
    // verilator lint_off UNUSEDSIGNAL
    push_write_t write_q;
    // verilator lint_on UNUSEDSIGNAL
    push_head_t head_read, head_now, head_new, fetch_head;
    logic [15:0] words;  // of the work request
    logic head_write;
    logic [QpBits-1:0] head_qpn;
    logic [QpBits-1:0] unused_push_index;
    logic unused_push_load;

    vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_pushes (
      .clk_i, .rst_ni,
      .push_valid_i(push_write_valid_i && push_write_i.place == '0), .push_i(push_write_i.qpn[QpBits-1:0]),
      .hold_i(1'b0), .clear_i(1'b0),
      .pop_valid_o(push_valid), .pop_ready_i(push_pop), .pop_o(push),
      .load_o(unused_push_load), .load_index_o(unused_push_index), .empty_o(push_empty)
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        void_valid_q <= 1'b0;
        write_valid_q <= 1'b0;
        written_q <= 1'b0;
      end else begin
        void_valid_q <= qp_state_write_valid_i
                     && (qp_state_write_i.clear || qp_state_write_i.state == 3'(IbQpStateInit));
        write_valid_q <= push_write_valid_i;
        written_q <= head_write;
      end
    end
    always_ff @(posedge clk_i) begin
      if (qp_state_write_valid_i) void_q <= qp_state_write_i.qpn[QpBits-1:0];
      if (push_write_valid_i) write_q <= push_write_i;
      if (head_write) begin
        written_qpn_q <= head_qpn;
        written_head_q <= head_new;
      end
    end

    // A write beside the end of a lifetime is lost, and with it what was to be pushed: it comes by the ring.
    always_comb begin
      head_write = void_valid_q || write_valid_q;
      head_qpn = void_valid_q ? void_q : write_q.qpn[QpBits-1:0];
      // The read in the cycle before did not see the write of that cycle.
      head_now = written_q && written_qpn_q == write_q.qpn[QpBits-1:0] ? written_head_q : head_read;
      words = (write_q.data[47:32] + 16'(RdmaPushBytes - 1)) / 16'(RdmaPushBytes);
      head_new = head_now;
      if (write_q.place == '0) begin
        head_new = '{count: '0, sealed: write_q.data[47:32] >= 16'(RdmaSqBaseBytes)
                                        && write_q.data[47:32] <= 16'(RdmaPushMost)
                                        && 16'(head_now.count) == words + 16'd1,
                     position: write_q.data[15:0], head: write_q.data[31:16], length: write_q.data[47:32]};
      end else begin
        head_new.count = write_q.place == 4'd1 || write_q.place == head_now.count + 4'd1 ? write_q.place : '0;
        head_new.sealed = 1'b0;
      end
      if (void_valid_q) head_new = '0;
    end

    vireo_table #(.Width($bits(push_head_t)), .Depth(NumQps)) u_newest (
      .clk_i, .rst_ni,
      .write_i(head_write), .write_address_i(head_qpn), .write_data_i(head_new),
      .read_i(push_write_valid_i), .read_address_i(push_write_i.qpn[QpBits-1:0]), .read_data_o(head_read)
    );
    vireo_table #(.Width($bits(push_head_t)), .Depth(NumQps)) u_head (
      .clk_i, .rst_ni,
      .write_i(head_write), .write_address_i(head_qpn), .write_data_i(head_new),
      .read_i(read), .read_address_i(qpn_d), .read_data_o(push_head)
    );
    vireo_table #(.Width($bits(push_head_t)), .Depth(NumQps)) u_fetch_head (
      .clk_i, .rst_ni,
      .write_i(head_write), .write_address_i(head_qpn), .write_data_i(head_new),
      .read_i(1'b1), .read_address_i(fetches_pending.qpn), .read_data_o(fetch_head)
    );
    vireo_table #(.Width(64), .Depth(NumQps)) u_address (
      .clk_i, .rst_ni,
      .write_i(write_valid_q && !void_valid_q && write_q.place == 4'd1),
      .write_address_i(write_q.qpn[QpBits-1:0]), .write_data_i(write_q.data),
      .read_i(read), .read_address_i(qpn_d), .read_data_o(push_address)
    );

    logic [Words-1:0][63:0] word;
    for (genvar i = 0; i < Words; i++) begin : gen_word
      vireo_table #(.Width(64), .Depth(NumQps)) u_word (
        .clk_i, .rst_ni,
        .write_i(write_valid_q && !void_valid_q && write_q.place == 4'(i + 2)),
        .write_address_i(write_q.qpn[QpBits-1:0]), .write_data_i(write_q.data),
        .read_i(1'b1), .read_address_i(fetches_pending.qpn), .read_data_o(word[i])
      );
    end

    always_comb begin
      pushed_match = fetches_pending.pushed && fetch_head.sealed && fetch_head.position == fetches_pending.position
                  && 32'(fetch_head.length) == buffer.bytes;
      for (int unsigned i = 0; i < 32'(RdmaPushMost); i++) begin
        pushed_bytes[8*i +: 8] = 16'(i) < fetch_head.length ? word[i/8][8*(i%8) +: 8] : '0;
      end
    end

    logic unused_head;
    assign unused_head = ^{fetch_head.count, fetch_head.head, push_head.count};
  end else begin : gen_no_push
    assign push_valid = 1'b0;
    assign push = '0;
    assign push_empty = 1'b1;
    assign push_head = '0;
    assign push_address = '0;
    assign pushed_match = 1'b0;
    assign pushed_bytes = '0;

    logic unused_push;
    assign unused_push = ^{push_pop, push_head, fetches_pending};
  end

  logic unused_wake_load;
  logic [QpBits-1:0] unused_wake_index;
  // Work may have been posted before the state that serves it: the start of that state acts as a doorbell.
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_wake (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && is_served(qp_state_write_i.state)),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(wake_valid), .pop_ready_i(wake_pop), .pop_o(wake),
    .load_o(unused_wake_load), .load_index_o(unused_wake_index), .empty_o(wake_empty)
  );
  logic unused_state_write;
  assign unused_state_write = &{1'b0, qp_state_write_i.qpn[23:QpBits]};

  vireo_fifo #(.Width(QpBits), .Depth(LineDepth)) u_line (
    .clk_i, .rst_ni,
    .s_valid_i(line_push), .s_ready_o(line_ready), .s_data_i(qpn_q),
    .m_valid_o(line_valid), .m_ready_i(line_pop), .m_data_o(line)
  );
  vireo_fifo #(.Width($bits(fetch_request_t)), .Depth(Requests), .InLuts(is_narrow(Config.datapath_bits))) u_fetches_pending (
    .clk_i, .rst_ni,
    .s_valid_i(fetches_pending_push), .s_ready_o(fetches_pending_ready), .s_data_i(fetches_pending_in),
    .m_valid_o(fetches_pending_valid), .m_ready_i(fetches_pending_pop), .m_data_o(fetches_pending)
  );
  // Replays whose work request was not issued. Their order is that of the replies, which are only marked as theirs.
  vireo_fifo #(.Width(ReplayBits), .Depth(Replays), .InLuts(is_narrow(Config.datapath_bits))) u_replays (
    .clk_i, .rst_ni,
    .s_valid_i(slow_pop), .s_ready_o(replays_ready), .s_data_i(replay),
    .m_valid_o(replays_valid), .m_ready_i(replays_pop), .m_data_o(replays)
  );
  // A replay is stored before its reply arrives.
  logic unused_ready;
  assign unused_ready = &{1'b0, replays_valid};

  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(qp_state)
  );
  vireo_table #(.Width($bits(slot_t)), .Depth(NumQps)) u_slot (
    .clk_i, .rst_ni,
    .write_i(slot_write), .write_address_i(qpn_q), .write_data_i(slot_new),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(slot)
  );

  always_comb begin
    state_d = state_q;
    op_d = op_q;
    qpn_d = qpn_q;
    line_turn_d = line_turn_q;
    replay_turn_d = replay_turn_q;
    ring_turn_d = ring_turn_q;
    push_pop = 1'b0;
    read = 1'b0;
    retired_pop = 1'b0;
    answer_taken = 1'b0;
    wake_pop = 1'b0;
    doorbell_pop = 1'b0;
    slow_pop = 1'b0;
    line_pop = 1'b0;
    line_push = 1'b0;
    slot_write = 1'b0;
    fetches_pending_push = 1'b0;

    request_free = !request_valid_q || buffer_request_ready_i;
    request_valid_d = request_valid_q && !buffer_request_ready_i;
    request_d = request_q;

    retired_offset = retired.vq_index - first_queue;
    doorbell_offset = doorbell.vq_index - first_queue;
    retired_known = retired.vq_index >= first_queue && !retired_offset[0] && retired_offset < 16'(2 * NumQps);
    doorbell_known = doorbell.vq_index >= first_queue && !doorbell_offset[0] && doorbell_offset < 16'(2 * NumQps);
    request_ready = request_free && requests_q != RequestBits'(Requests);
    buffers_free = BufferCountBits'(Buffers) - buffers_q;
    line_servable = line_valid && request_ready && buffers_free >= BufferCountBits'(Few) && !hold_q;
    replay_servable = replay_valid && looked_up_q && slow && request_ready && buffers_free != '0 && replays_ready;

    slot_new = slot;
    room = SendRecords - 32'(slot.in_use);
    others = 32'(waiting_q) + 32'(requests_q);
    share = others == 0 ? Most : others == 1 ? Most / 2 : Few;
    if (share > 32'(buffers_free)) share = 32'(buffers_free);
    count = FetchCountBits'(room < share ? room : share);
    fetches_pending_in = '{qpn: qpn_q, count: count, default: '0};

    unique case (state_q)
      StChoose: begin
        read = 1'b1;
        state_d = StDecide;
        if (retired_valid) begin
          op_d = OpRetired;
          qpn_d = retired_offset[QpBits:1];
          retired_pop = 1'b1;
          if (!retired_known) state_d = StChoose;
        end else if (answer_valid_q) begin
          op_d = OpAnswer;
          qpn_d = answer_q.qpn;
        end else if (wake_valid) begin
          op_d = OpWake;
          qpn_d = wake;
          wake_pop = 1'b1;
        end else if (push_valid && !(doorbell_valid && ring_turn_q)
                     && !((line_servable || replay_servable) && line_turn_q)) begin
          // Without room it is a doorbell.
          op_d = request_ready && buffers_free != '0 && !hold_q && Extensible && extensible_i ? OpPush : OpRing;
          qpn_d = push;
          push_pop = 1'b1;
          line_turn_d = 1'b1;
          ring_turn_d = 1'b1;
        end else if (doorbell_valid && !((line_servable || replay_servable) && line_turn_q)) begin
          ring_turn_d = 1'b0;
          op_d = OpRing;
          qpn_d = doorbell_offset[QpBits:1];
          doorbell_pop = 1'b1;
          line_turn_d = 1'b1;
          if (!doorbell_known) state_d = StChoose;
        end else if (replay_servable && (!line_servable || replay_turn_q)) begin
          // Its QP's slot is irrelevant, so it is decided at once.
          state_d = StChoose;
          slow_pop = 1'b1;
          line_turn_d = 1'b0;
          replay_turn_d = 1'b0;
          fetches_pending_push = 1'b1;
          fetches_pending_in = '{qpn: replay.qpn[QpBits-1:0], count: FetchCountBits'(1), is_replay: 1'b1,
                                 resume: replay.resume, default: '0};
          if (!replay.resume) begin
            request_valid_d = 1'b1;
            request_d = '{client: BufferClientSend, vq_index: first_queue + {15'(replay.qpn[QpBits-1:0]), 1'b0},
                          by_index: 1'b1, index: replay.head, count: 6'd1, default: '0};
          end
        end else if (line_servable) begin
          op_d = OpServe;
          qpn_d = line;
          line_pop = 1'b1;
          line_turn_d = 1'b0;
          replay_turn_d = 1'b1;
        end else begin
          read = 1'b0;
          state_d = StChoose;
        end
      end
      StDecide: begin
        state_d = StChoose;
        slot_write = 1'b1;
        unique case (op_q)
          OpRetired: slot_new.in_use = slot.in_use - 1'b1;
          OpAnswer: begin
            answer_taken = 1'b1;
            slot_new.requested = 1'b0;
            slot_new.in_use = slot.in_use - (RecordBits'(answer_q.count) - RecordBits'(answer_got_q));
            // One that was pushed is the last, if it was the next.
            if ((answer_got_q == answer_q.count) != answer_q.pushed) slot_new.more = 1'b1;
          end
          OpPush: begin
            if (is_served(qp_state) && !slot.more && !slot.requested && !slot.queued
                && slot.in_use != RecordBits'(SendRecords) && push_head.sealed) begin
              slot_new.requested = 1'b1;
              slot_new.in_use = slot.in_use + 1'b1;
              request_valid_d = 1'b1;
              request_d = '{client: BufferClientSend, vq_index: first_queue + {15'(qpn_q), 1'b0},
                            index: push_head.position, count: 6'd1, table_address: push_address,
                            table_entries: push_head.head, pushed: 1'b1, bytes: push_head.length[6:0], default: '0};
              fetches_pending_push = 1'b1;
              fetches_pending_in = '{qpn: qpn_q, count: FetchCountBits'(1), pushed: 1'b1,
                                     position: push_head.position, default: '0};
            end else begin
              slot_new.more = 1'b1;
            end
          end
          OpServe: begin
            slot_new.queued = 1'b0;
            if (is_served(qp_state)) begin
              slot_new.more = 1'b0;
              slot_new.requested = 1'b1;
              slot_new.in_use = slot.in_use + RecordBits'(count);
              request_valid_d = 1'b1;
              request_d = '{client: BufferClientSend, vq_index: first_queue + {15'(qpn_q), 1'b0}, by_index: 1'b0,
                            index: '0, count: count, default: '0};
              fetches_pending_push = 1'b1;
            end
          end
          default: slot_new.more = 1'b1;  // OpWake, OpRing
        endcase
        if (slot_new.more && !slot_new.queued && !slot_new.requested && is_served(qp_state)
            && slot_new.in_use <= RecordBits'(SendRecords - FetchRoom)) begin
          slot_new.queued = 1'b1;
          line_push = 1'b1;
        end
      end
      default: state_d = StChoose;
    endcase
    waiting_d = waiting_q + (QpBits + 1)'(line_push) - (QpBits + 1)'(line_pop);
  end

  // --- Reads ---------------------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic [15:0] head;
    logic [63:0] address;
    logic [31:0] bytes;
    logic [7:0] failed;  // rdma_error_e: nothing is read
    logic extensible;
    logic is_replay;         // of a replay
    logic resume;        // there is no work request
    logic pushed;        // its bytes are in pushed_q
  } info_t;

  typedef enum logic {FtHead, FtTail} fetch_e;

  fetch_e fetch_state_d, fetch_state_q;
  logic fetch_valid_d, fetch_valid_q, fetch_free;
  dma_read_request_t fetch_d, fetch_q;
  logic [63:0] tail_address_d, tail_address_q;
  logic [12:0] tail_bytes_d, tail_bytes_q;
  logic [InfoBits-1:0] infos_d, infos_q;  // whose work request was not issued
  logic [ReadBits-1:0] reads_d, reads_q;  // whose response was not taken
  logic reads_ready;                      // there is space for the responses to two more
  logic [1:0] reads_begin;
  logic info_push, info_ready, info_valid, info_pop;
  info_t info_in, info;
  logic [31:0] tail_bytes_left;  // the fixed part, of the descriptor
  logic extensible;  // the work request
  logic fetch_started;   // the QP of fetches_pending is, as read one cycle ago
  logic fetch_read_q;  // it was
  logic pushed_valid_q, pushed_push, pushed_pop;
  logic [8*32'(RdmaPushMost)-1:0] pushed_q;

  vireo_table #(.Width(1), .Depth(NumQps)) u_fetch_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(is_started(qp_state_write_i.state)),
    .read_i(1'b1), .read_address_i(fetches_pending.qpn), .read_data_o(fetch_started)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fetch_read_q <= 1'b0;
    else fetch_read_q <= fetches_pending_valid && !fetches_pending_pop;
  end

  vireo_fifo #(.Width($bits(info_t)), .Depth(Infos), .InLuts(is_narrow(Config.datapath_bits))) u_info (
    .clk_i, .rst_ni,
    .s_valid_i(info_push), .s_ready_o(info_ready), .s_data_i(info_in),
    .m_valid_o(info_valid), .m_ready_i(info_pop), .m_data_o(info)
  );

  always_comb begin
    fetch_state_d = fetch_state_q;
    reads_ready = reads_q <= ReadBits'(Fetches - 2);
    reads_begin = '0;
    fetch_free = !fetch_valid_q || fetch_request_ready_i;
    fetch_valid_d = fetch_valid_q && !fetch_request_ready_i;
    fetch_d = fetch_q;
    tail_address_d = tail_address_q;
    tail_bytes_d = tail_bytes_q;
    answer_valid_d = answer_valid_q && !answer_taken;
    answer_d = answer_q;
    answer_got_d = answer_got_q;
    got_d = got_q;
    buffer_pop = 1'b0;
    fetches_pending_pop = 1'b0;
    info_push = 1'b0;
    tail_bytes_left = buffer.bytes - 32'(RdmaSqReqBytes);
    extensible = Extensible && extensible_i && buffer.bytes < 32'(RdmaSqReqBytes)
              && buffer.bytes >= 32'(RdmaSqBaseBytes);
    info_in = '{qpn: fetches_pending.qpn, head: buffer.head, address: buffer.address, bytes: buffer.bytes, failed: RdmaErrorOk,
                extensible: extensible, is_replay: fetches_pending.is_replay, resume: fetches_pending.resume,
                pushed: 1'b0};
    pushed_push = 1'b0;
    // A send work request is one device-readable descriptor. [RFC v2, RoCE Support] That of a record existed before.
    // What was posted before a QP stopped is the driver's again.
    if (buffer.status != BufferStatusOk) begin
      info_in.address = '0;
      info_in.bytes = '0;
      info_in.failed = RdmaErrorBadDescriptor;
    end else if (buffer.writable || buffer.more || !fetch_started) begin
      info_in.failed = RdmaErrorBadDescriptor;
    end else if (buffer.bytes < 32'(RdmaSqReqBytes) && !extensible) begin
      info_in.failed = RdmaErrorBadWqe;
    end

    unique case (fetch_state_q)
      FtHead: begin
        if (fetches_pending_valid && fetches_pending.resume) begin
          if (info_ready) begin
            fetches_pending_pop = 1'b1;
            info_push = 1'b1;
            info_in = '{qpn: fetches_pending.qpn, failed: RdmaErrorOk, is_replay: 1'b1, resume: 1'b1, default: '0};
          end
        end else if (buffer_valid && fetches_pending_valid && !answer_valid_q && fetch_free && info_ready && reads_ready
                     && fetch_read_q && !(fetches_pending.pushed && pushed_valid_q)) begin
          buffer_pop = 1'b1;
          if (buffer.status == BufferStatusOk || fetches_pending.is_replay) begin
            got_d = got_q + 1'b1;
            info_push = 1'b1;
            if (info_in.failed == RdmaErrorOk && pushed_match) begin
              info_in.pushed = 1'b1;
              pushed_push = 1'b1;
            end else if (info_in.failed == RdmaErrorOk) begin
              fetch_valid_d = 1'b1;
              fetch_d = '{address: buffer.address, bytes: 13'(HeadBytes), tag: 8'd0};
              if (extensible) begin
                fetch_d.bytes = buffer.bytes < 32'(DmaFetchBytes) ? buffer.bytes[12:0] : 13'(DmaFetchBytes);
              end
              tail_address_d = buffer.address + 64'(RdmaSqReqSizeOffset);
              tail_bytes_d = tail_bytes_left < 32'(RdmaSgeBytes) ? 13'(TailBytes - RdmaSgeBytes) + tail_bytes_left[12:0]
                                                        : 13'(TailBytes);
              reads_begin = extensible ? 2'd1 : 2'd2;
              if (!extensible) fetch_state_d = FtTail;
            end
          end
          if (buffer.last) begin
            fetches_pending_pop = 1'b1;
            answer_valid_d = !fetches_pending.is_replay;
            answer_d = '{qpn: fetches_pending.qpn, count: fetches_pending.count, pushed: fetches_pending.pushed};
            answer_got_d = got_d;
            got_d = '0;
          end
        end
      end
      FtTail: begin
        if (fetch_free) begin
          fetch_valid_d = 1'b1;
          fetch_d = '{address: tail_address_q, bytes: tail_bytes_q, tag: 8'd1};
          fetch_state_d = FtHead;
        end
      end
      default: fetch_state_d = FtHead;
    endcase
  end

  // --- Work requests -------------------------------------------------------------------------------------------------

  typedef enum logic {AsHead, AsTail} assemble_e;

  assemble_e assemble_d, assemble_q;
  logic [8*HeadBytes-1:0] head_bytes_d, head_bytes_q;
  logic head_failed_d, head_failed_q;
  logic work_valid_d, work_valid_q, failure_valid_d, failure_valid_q, both_free, issue;
  work_request_t work_d, work_q;
  queue_failure_t failure_d, failure_q;
  logic [7:0] failed;
  logic own_failure;      // of a work request that is no replay
  logic info_startable;   // the oldest one has what it needs first
  logic [1:0] reads_due_d, reads_due_q;  // work requests that were read and go before the next quick replay
  logic silent, report;   // of info.qpn, as read one cycle ago; it is reported now
  logic flag_read_q;         // it was
  logic silenced_valid_q;  // `silenced_q` was stopped, or is new, since one cycle ago
  logic [QpBits-1:0] silenced_q;
  logic silenced_new_q;

  // QPs of which no failure is reported, because one was, or they are stopped. A change of the latter is written one cycle
  // late and has priority, so nothing waits for an external input in that cycle.
  vireo_table #(.Width(1), .Depth(NumQps)) u_silent (
    .clk_i, .rst_ni,
    .write_i(silenced_valid_q || report), .write_address_i(silenced_valid_q ? silenced_q : info.qpn),
    .write_data_i(!silenced_valid_q || !silenced_new_q),
    .read_i(1'b1), .read_address_i(info.qpn), .read_data_o(silent)
  );

  always_comb begin
    assemble_d = assemble_q;
    head_bytes_d = head_bytes_q;
    head_failed_d = head_failed_q;
    work_valid_d = work_valid_q && !work_request_ready_i;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    both_free = !work_valid_d && !failure_valid_d;
    work_d = work_q;
    failure_d = failure_q;
    fetched_pop = 1'b0;
    info_pop = 1'b0;
    replays_pop = 1'b0;
    issue = 1'b0;
    quick_pop = 1'b0;
    reads_due_d = reads_due_q;
    pushed_pop = 1'b0;
    info_startable = info_valid && (info.failed != RdmaErrorOk || info.resume || info.pushed || fetched_valid);
    failed = info.failed;
    own_failure = 1'b0;
    report = 1'b0;

    unique case (assemble_q)
      AsHead: begin
        if (quick_valid_q && both_free && !(info_startable && reads_due_q != '0)) begin
          quick_pop = 1'b1;
          // Two behind a burst of a long message.
          reads_due_d = !quick_replay_q.resume
                        && (quick_replay_q.packets != '0 || quick_replay_q.psn != quick_replay_q.first_psn) ? SendReadsPerBurst : 2'd1;
        end else if (info_valid && (info.failed != RdmaErrorOk || info.resume)) begin
          own_failure = !info.is_replay;
          issue = both_free && !(own_failure && (silenced_valid_q || !flag_read_q));
          if (issue && reads_due_q != '0) reads_due_d = reads_due_q - 1'b1;
        end else if (info_valid && info.pushed) begin
          issue = both_free;
          pushed_pop = issue;
          if (issue && reads_due_q != '0) reads_due_d = reads_due_q - 1'b1;
        end else if (info_valid && fetched_valid) begin
          // An extensible one has both parts in one response.
          fetched_pop = !info.extensible;
          if (reads_due_q != '0) reads_due_d = reads_due_q - 1'b1;
          head_bytes_d = fetched.data[8*HeadBytes-1:0];
          head_failed_d = fetched.resp != AxiRespOkay;
          assemble_d = AsTail;
        end
      end
      AsTail: begin
        if (head_failed_q || fetched.resp != AxiRespOkay) failed = RdmaErrorQueueDmaError;
        own_failure = failed != RdmaErrorOk && !info.is_replay;
        if (fetched_valid && both_free && !(own_failure && silenced_valid_q)) begin
          fetched_pop = 1'b1;
          issue = 1'b1;
          assemble_d = AsHead;
        end
      end
      default: assemble_d = AsHead;
    endcase
    if (issue) begin
      info_pop = 1'b1;
      replays_pop = info.is_replay;
      work_valid_d = 1'b1;
      work_d = '{qpn: 24'(info.qpn), head: info.head, failed: failed, address: info.address, bytes: info.bytes,
                 head_bytes: head_bytes_q, tail_bytes: fetched.data[8*TailBytes-1:0], default: '0};
      if (info.extensible) work_d.tail_bytes = (8 * TailBytes)'(fetched.data[8*HeadBytes +: 8*RestBytes]);
      if (info.pushed) begin
        work_d.head_bytes = pushed_q[8*HeadBytes-1:0];
        work_d.tail_bytes = (8 * TailBytes)'(pushed_q[8*HeadBytes +: 8*RestBytes]);
      end
      if (info.is_replay) work_d = with_replay(work_d, replays);
      if (failed != RdmaErrorOk || info.resume) begin
        work_d.head_bytes = '0;
        work_d.tail_bytes = '0;
      end
      // The completer judges a replay's failure: its record may have ended, and its buffer may be reused by now.
      if (own_failure) begin
        // One ends the QP: later work in flight reports nothing more.
        report = !silent;
        failure_valid_d = report;
        failure_d = '{vq_index: first_queue + {15'(info.qpn), 1'b0}, code: failed};
      end
    end
    kept_write = issue && !info.resume;
    kept_place = place_of(info.qpn, work_d.head);
    kept_new = '{valid: failed == RdmaErrorOk, qpn: info.qpn, head: work_d.head, address: work_d.address,
                 bytes: work_d.bytes, head_bytes: work_d.head_bytes, tail_bytes: work_d.tail_bytes};
    if (quick_pop) begin
      work_valid_d = 1'b1;
      work_d = '0;
      if (!quick_started_q) begin
        work_d.failed = RdmaErrorBadDescriptor;
      end else if (!quick_replay_q.resume) begin
        work_d.address = quick_q.address;
        work_d.bytes = quick_q.bytes;
        work_d.head_bytes = quick_q.head_bytes;
        work_d.tail_bytes = quick_q.tail_bytes;
      end
      work_d = with_replay(work_d, quick_replay_q);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flag_read_q <= 1'b0;
      silenced_valid_q <= 1'b0;
    end else begin
      flag_read_q <= info_valid && !info_pop;
      silenced_valid_q <= qp_state_write_valid_i
                       && (qp_state_write_i.clear || qp_state_write_i.state == 3'(IbQpStateInit));
    end
  end
  always_ff @(posedge clk_i) begin
    silenced_q <= qp_state_write_i.qpn[QpBits-1:0];
    silenced_new_q <= !qp_state_write_i.clear;
  end

  // What one machine adds and another removes.
  always_comb begin
    requests_d = requests_q + RequestBits'(fetches_pending_push) - RequestBits'(fetches_pending_pop);
    buffers_d = buffers_q;
    if (fetches_pending_push) buffers_d = buffers_d + BufferCountBits'(fetches_pending_in.count);
    if (fetches_pending_pop) buffers_d = buffers_d - BufferCountBits'(fetches_pending.count);
    infos_d = infos_q + InfoBits'(info_push) - InfoBits'(info_pop);
    reads_d = reads_q + ReadBits'(reads_begin) - ReadBits'(fetched_pop);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StChoose;
      line_turn_q <= 1'b0;
      replay_turn_q <= 1'b0;
      ring_turn_q <= 1'b0;
      pushed_valid_q <= 1'b0;
      request_valid_q <= 1'b0;
      requests_q <= '0;
      buffers_q <= '0;
      reads_due_q <= '0;
      waiting_q <= '0;
      fetch_state_q <= FtHead;
      fetch_valid_q <= 1'b0;
      answer_valid_q <= 1'b0;
      got_q <= '0;
      infos_q <= '0;
      reads_q <= '0;
      assemble_q <= AsHead;
      work_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      line_turn_q <= line_turn_d;
      replay_turn_q <= replay_turn_d;
      ring_turn_q <= ring_turn_d;
      pushed_valid_q <= pushed_push || (pushed_valid_q && !pushed_pop);
      request_valid_q <= request_valid_d;
      requests_q <= requests_d;
      buffers_q <= buffers_d;
      reads_due_q <= reads_due_d;
      waiting_q <= waiting_d;
      fetch_state_q <= fetch_state_d;
      fetch_valid_q <= fetch_valid_d;
      answer_valid_q <= answer_valid_d;
      got_q <= got_d;
      infos_q <= infos_d;
      reads_q <= reads_d;
      assemble_q <= assemble_d;
      work_valid_q <= work_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pushed_push) pushed_q <= pushed_bytes;
    op_q <= op_d;
    qpn_q <= qpn_d;
    request_q <= request_d;
    answer_q <= answer_d;
    answer_got_q <= answer_got_d;
    fetch_q <= fetch_d;
    tail_address_q <= tail_address_d;
    tail_bytes_q <= tail_bytes_d;
    head_bytes_q <= head_bytes_d;
    head_failed_q <= head_failed_d;
    work_q <= work_d;
    failure_q <= failure_d;
  end

  assign buffer_request_valid_o = request_valid_q;
  assign buffer_request_o = request_q;
  assign fetch_request_valid_o = fetch_valid_q;
  assign fetches_wait_o = 2'(fetch_valid_q) + 2'(fetch_state_q == FtTail);
  assign fetch_request_o = fetch_q;
  assign settled_o = !request_valid_q;
  assign work_request_valid_o = work_valid_q;
  assign work_request_o = work_q;
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = failure_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) qp_sends_valid_o <= 1'b0;
    else qp_sends_valid_o <= slot_write && slot_new.in_use != slot.in_use;
  end
  always_ff @(posedge clk_i) qp_sends_o <= '{qpn: 24'(qpn_q), outstanding: 16'(slot_new.in_use)};

  assign idle_o = state_q == StChoose && !doorbell_valid && !retired_valid && !replay_valid && wake_empty && push_empty
               && (waiting_q == '0 || hold_q) && requests_q == '0 && !answer_valid_q && fetch_state_q == FtHead
               && infos_q == '0 && !quick_valid_q && !request_valid_q && !fetch_valid_q && !work_valid_q && !failure_valid_q
               && !qp_sends_valid_o;

`ifndef SYNTHESIS
  fetches_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) fetches_pending_push |-> fetches_pending_ready);
  line_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) line_push |-> line_ready);
`endif

endmodule
