// SPDX-License-Identifier: Apache-2.0

// Executes rx_place: reads bytes of the oldest frame in the receive buffer, shifts them to lane 0, writes them to the
// DMA write port as one or two writes, and frees the frame, unless more places of it follow. When all writes of a place
// and of those before it are in memory, its completion leaves, then its acknowledge, then its response, each after those
// of the places before: whoever learns of the data finds it in memory. It checks nothing: addresses and lengths are the
// responder's.
//
// If the bus refuses a write, nobody learns of the data: a request is answered with a NAK (RC), its receive fails, and
// so does the QP; from then on the QP's answers are dropped and its receives flushed. A READ response of ours becomes
// one that fails.
//
// A place of zeros is executed like one from the first byte of the frame on, but with the data read replaced by 0.
//
// A place of the net path outputs the whole frame, beat by beat without a gap, to the consumer of net frames; nothing
// can stall it, and it has no other output, so it waits for nothing but its turn.
//
// Places are executed one after the other, one beat per step; the write port determines the rate.
module vireo_rx_scatter
  import vireo_spec_pkg::*;
  import vireo_common_pkg::waiting_packets;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::bare_answer;
  import vireo_rdma_pkg::key_generation_passed;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,       // 64 ... 1024, a power of two
  localparam int unsigned NumQps = Config.num_qps,               // 2 ..., a power of two
  localparam int unsigned BufferBytes = Config.rx_buffer_bytes,  // of the receive buffer
  localparam int unsigned BeatBytes = DataBits / 8,
  localparam int unsigned PlaceBits = $clog2(BufferBytes / BeatBytes)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 place_valid_i,
  output logic                 place_ready_o,
  input  rx_place_t            place_i,

  input  logic                 oldest_valid_i,   // of vireo_rx_buffer
  output logic                 oldest_read_o,
  output logic [PlaceBits-1:0] oldest_beat_o,
  input  logic [DataBits-1:0]  oldest_data_i,
  output logic                 oldest_free_o,

  output logic                 write_valid_o,
  input  logic                 write_ready_i,
  output dma_write_request_t   write_request_o,  // the same in every beat of a write
  output logic [DataBits-1:0]  write_data_o,     // zero after the last byte
  output logic                 write_last_o,
  input  logic                 write_done_i,     // a write is in memory, or refused; once per write, in their order
  input  logic                 write_refused_i,  // with write_done_i

  input  logic                 qp_state_write_valid_i,  // pulse
  input  qp_state_write_t      qp_state_write_i,

  output logic                 completion_valid_o,
  input  logic                 completion_ready_i,
  output completion_t          completion_o,

  output logic                 answer_valid_o,
  input  logic                 answer_ready_i,
  output rx_answer_t           answer_o,

  output logic                 ack_valid_o,
  input  logic                 ack_ready_i,
  output rx_ack_t              ack_o,

  output logic                 failure_valid_o,
  input  logic                 failure_ready_i,
  output qp_failure_t          failure_o,

  output logic                 net_valid_o,      // from a frame's first beat to its last in every cycle
  output logic [DataBits-1:0]  net_data_o,       // from lane 0; undefined after the last byte
  output logic                 net_last_o,
  output logic [13:0]          net_bytes_o,      // of the frame; the same in every beat of it

  output memory_grant_t        grant_ended_o,    // a pulse: the writes of a place are in memory
  // A place with `fence` waits for the accesses that were granted to others before it: vireo_key_fence.
  input  key_fence_t           key_fence_i,
  output logic                 fence_waits_o,
  output logic                 place_ended_o,    // a pulse: a place, but not of a net frame, has no more outputs
  output logic                 idle_o
);

  localparam int unsigned LaneBits = $clog2(BeatBytes);
  // Of a position in the frame: offset plus both runs, which end inside the frame.
  localparam int unsigned OffsetBits = 14;
  localparam int unsigned StepBits = OffsetBits - LaneBits;
  // Places whose writes are not all in memory, or with an output that has not left.
  localparam int unsigned Places = waiting_packets(DataBits);
  localparam int unsigned WritesPerPlace = 2;

  // Number of a write, modulo: more than twice as many as the places in the line have.
  localparam int unsigned NumberBits = $clog2(Places * WritesPerPlace) + 2;
  // Of the writes of all places in the line.
  localparam int unsigned RecentBits = $clog2(Places * WritesPerPlace);
  localparam int unsigned QpBits = $clog2(NumQps);

  typedef struct packed {
    memory_grant_t grant;
    logic [NumberBits-1:0] number;            // of its last write, or of the last before it
    logic [1:0] writes;
    logic no_frame;
    logic more;
    logic request;
    logic acknowledged;
    logic uses_receive;
    logic ends_message;
    logic fence;
    logic [$bits(key_fence_i.sent)-1:0] generation;  // with fence: of the accesses before it
    logic has_completion;
    completion_t completion;
    logic has_ack;
    rx_ack_t ack;
    logic has_answer;
    rx_answer_t answer;
  } pending_t;

  // One write: how the beats of the frame become its beats, see vireo_dma_align.
  typedef struct packed {
    logic lag;
    logic dummy;
    logic [StepBits-1:0] last_step;
    logic [LaneBits-1:0] lane;       // of the first byte
    logic [63:0] address;
    logic [12:0] bytes;
  } run_t;

  function automatic run_t run_of(input logic [LaneBits-1:0] lane, input logic [63:0] address,
                                  input logic [12:0] bytes);
    vireo_dma_pkg::align_t align = vireo_dma_pkg::align_of(32'(lane), 32'(bytes), LaneBits);
    run_of.lane = lane;
    run_of.lag = align.lag;
    run_of.dummy = align.dummy;
    run_of.last_step = StepBits'(align.last_step);
    run_of.address = address;
    run_of.bytes = bytes;
  endfunction

  logic place_valid, place_ready;
  rx_place_t place;

  rx_place_t place_in;
  always_comb begin
    place_in = place_i;
    place_in.answer = bare_answer(place_i.answer, Config.atomics != 0);
  end

  vireo_slice #(
    .Width($bits(rx_place_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_place (
    .clk_i,
    .rst_ni,
    .s_valid_i(place_valid_i),
    .s_ready_o(place_ready_o),
    .s_data_i(place_in),
    .m_valid_o(place_valid),
    .m_ready_i(place_ready),
    .m_data_o(place)
  );

  // Completions, acknowledges and responses wait in order, with the number of writes that they wait for. Places
  // without any are in the line as well, so that every accepted write finds its place.
  logic pending_space, pending_valid, pending_ready;
  pending_t pending;
  logic writes_any;
  logic [1:0] place_writes;
  logic [$clog2(Places):0] places_d, places_q;      // in the line
  logic [NumberBits-1:0] number_d, number_q;        // of the last write of all places so far
  logic [NumberBits-1:0] done_q, ahead;             // of the last write that is in memory; how far it is ahead
  logic enough;
  logic fenced, fence_passed_q;                     // the first place in the line waits for others; it did not in a cycle before
  logic fence_waits_d, fence_waits_q;               // see vireo_key_fence
  logic completed_d, completed_q;                   // the completion of the first place in the line has left
  logic acked_d, acked_q;                           // and its acknowledge
  logic answered_d, answered_q;                     // and its answer
  logic reported_d, reported_q;                     // and its failure
  logic to_complete, to_ack, to_answer, to_report;  // the next output of it
  logic has_answer;
  logic last_taken;                                 // no output is left after this cycle
  memory_grant_t grant_ended_q;

  // Refused writes.
  typedef struct packed {
    logic failed;    // a write of it was refused
    logic receives;  // the receive of the message that it was of has not been completed
  } qp_refusal_t;
  logic [(1<<RecentBits)-1:0] refused_q;            // by the number of the write, modulo
  logic refused;                                    // a write of the first place in the line
  logic frame_refused, frame_refused_q;             // of its frame so far; of the places of it that have left
  logic ends_frame;
  logic fails;                                      // the first place makes its QP fail
  logic any_failed_q;                               // a QP has failed since reset
  logic looked_q;                                   // qp_read is that of the first place
  qp_refusal_t qp_read, qp, qp_written;
  logic qp_changes, qp_write;
  logic [QpBits-1:0] qp_index, place_qp_index;
  logic clear_q;                                    // a QP starts anew
  logic [QpBits-1:0] clear_index_q;
  rdma_cq_req_t cqe;
  aeth_t aeth;
  logic unused_bits;

  vireo_fifo #(
    .Width($bits(pending_t)),
    .Depth(Places),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_pending (
    .clk_i,
    .rst_ni,
    .s_valid_i(place_ready && place.net_bytes == '0),
    .s_ready_o(pending_space),
    .s_data_i({place.grant, number_d, place_writes, place.no_frame, place.more, place.request, place.acknowledged,
               place.uses_receive, place.ends_message, place.fence, key_fence_i.sent, place.has_completion, place.completion, place.has_ack, place.ack,
               place.has_answer, place.answer}),
    .m_valid_o(pending_valid),
    .m_ready_i(pending_ready),
    .m_data_o(pending)
  );

  always_comb begin
    writes_any = !place.no_frame && place.net_bytes == '0 && place.bytes0 != '0;
    place_writes = !writes_any ? 2'd0 : place.bytes1 == '0 ? 2'd1 : 2'd2;
    number_d = number_q + NumberBits'(place_writes);
    ahead = done_q - pending.number;
    fenced = pending.fence
          && !key_generation_passed(pending.generation, key_fence_i.sent, key_fence_i.sent_open);
    fence_waits_d = (place_ready && place.net_bytes == '0 && place.fence)
                 || (pending_valid && pending.fence && pending.generation == key_fence_i.sent);
    enough = pending_valid && !ahead[NumberBits-1] && (looked_q || !any_failed_q)
          && (!pending.fence || fence_passed_q);
    refused = (pending.writes != 2'd0 && refused_q[pending.number[RecentBits-1:0]])
           || (pending.writes == 2'd2 && refused_q[RecentBits'(pending.number - 1'b1)]);
    frame_refused = refused || (frame_refused_q && !pending.no_frame);
    ends_frame = !pending.no_frame && !pending.more;
    qp = any_failed_q ? qp_read : '0;
    fails = frame_refused && ends_frame && pending.request && !qp.failed;
    has_answer = fails ? pending.acknowledged : pending.has_answer && !qp.failed;
    to_complete = pending.has_completion && !completed_q;
    to_ack = !to_complete && pending.has_ack && !acked_q;
    to_answer = !to_complete && !to_ack && has_answer && !answered_q;
    to_report = !to_complete && !to_ack && !to_answer && fails && !reported_q;
    last_taken = to_complete ? completion_ready_i && !pending.has_ack && !has_answer && !fails
               : to_ack      ? ack_ready_i && !has_answer && !fails
               : to_answer   ? answer_ready_i && !fails
                             : failure_ready_i || !to_report;
    // Its last output takes it out of the line, together with what it changes of its QP.
    qp_changes = fails || (qp.failed && qp.receives && pending.has_completion);
    pending_ready = enough && last_taken && !(qp_changes && clear_q);
    completed_d = !pending_ready && (completed_q || (enough && to_complete && completion_ready_i));
    acked_d = !pending_ready && (acked_q || (enough && to_ack && ack_ready_i));
    answered_d = !pending_ready && (answered_q || (enough && to_answer && answer_ready_i));
    reported_d = !pending_ready && (reported_q || (enough && to_report && failure_ready_i));
    places_d = places_q + ($clog2(Places) + 1)'(place_ready && place.net_bytes == '0)
             - ($clog2(Places) + 1)'(pending_ready);

    place_qp_index = QpBits'(pending.answer.packet.qpn);
    qp_index = clear_q ? clear_index_q : place_qp_index;
    qp_write = clear_q || (pending_ready && qp_changes);
    // A message that is not complete keeps its receive until another place completes it.
    qp_written = '{failed: !clear_q, receives: !clear_q && fails && pending.uses_receive && !pending.has_completion};
  end

  vireo_table #(
    .Width($bits(qp_refusal_t)),
    .Depth(NumQps)
  ) u_refusals (
    .clk_i,
    .rst_ni,
    .write_i(qp_write),
    .write_address_i(qp_index),
    .write_data_i(qp_written),
    .read_i(pending_valid && any_failed_q),
    .read_address_i(place_qp_index),
    .read_data_o(qp_read)
  );

  always_comb begin
    completion_o = pending.completion;
    cqe = '0;
    if (fails || qp.failed) begin
      cqe = unpack_rdma_cq_req(pending.completion.cqe);
      if (fails || qp.receives) begin
        cqe.status = IbWcStatusLocQpOpErr;
        cqe.vendor_err = 32'(RdmaErrorQueueDmaError);
      end else begin
        cqe.status = IbWcStatusWrFlushErr;
        cqe.vendor_err = '0;
      end
      completion_o.cqe = pack_rdma_cq_req(cqe);
    end
    ack_o = pending.ack;
    if (frame_refused && ends_frame && pending.ack.is_read && pending.ack.status == IbWcStatusSuccess) begin
      ack_o.status = IbWcStatusLocQpOpErr;
      ack_o.syndrome = RdmaErrorQueueDmaError;
    end
    answer_o = pending.answer;
    aeth = '0;
    if (fails) begin
      // [IBTA vol. 1, 9.9.5.2]
      aeth = unpack_aeth(pending.answer.packet.extension[8*AethBytes-1:0]);
      aeth.msn = aeth.msn - 24'(pending.ends_message);
      answer_o.packet.extension[8*AethBytes-1:0] = pack_aeth(aeth_t'({AethSyndromeNakRemoteOperationalError, aeth.msn}));
    end
  end

  assign unused_bits = ^{aeth, qp_state_write_i, key_fence_i};
  assign fence_waits_o = fence_waits_q;
  assign grant_ended_o = grant_ended_q;
  assign completion_valid_o = enough && to_complete;
  assign ack_valid_o = enough && to_ack;
  assign answer_valid_o = enough && to_answer;
  assign failure_valid_o = enough && to_report;
  assign failure_o = '{qpn: pending.answer.packet.qpn, event_type: 16'(RdmaEventTypeQpFatal),
                       code: 32'(RdmaErrorQueueDmaError),
                       reported: pending.has_completion || pending.uses_receive, default: '0};

  // Steps: one per beat from the frame.
  typedef enum logic [1:0] {
    StPlace,
    StRun,
    StFree,
    StNet
  } state_e;

  state_e state_d, state_q;
  run_t run_d, run_q;
  logic [63:0] address1_d, address1_q;
  logic [12:0] bytes1_d, bytes1_q;              // of the second write, 0 once it has started
  logic [OffsetBits-1:0] offset0;
  logic [OffsetBits-1:0] offset1_d, offset1_q;
  logic more_d, more_q;                         // the frame stays
  logic zeros_d, zeros_q;                       // also in the cycle after the last read, when its data is valid
  logic has_value_d, has_value_q;               // likewise
  logic [63:0] value_d, value_q;                // of the run
  logic [63:0] value_data_q;                    // in the cycle in which data is valid
  logic from_start;                             // not from `offset`
  logic [PlaceBits-1:0] beat_d, beat_q;
  logic run_done, run_read;
  logic [13:0] bytes_d, bytes_q;                // of the net frame
  logic net_read, net_read_last;

  always_comb begin
    state_d = state_q;
    run_d = run_q;
    address1_d = address1_q;
    bytes1_d = bytes1_q;
    offset1_d = offset1_q;
    more_d = more_q;
    zeros_d = zeros_q;
    has_value_d = has_value_q;
    value_d = value_q;
    beat_d = beat_q;
    bytes_d = bytes_q;
    net_read = 1'b0;
    net_read_last = 1'b0;
    place_ready = 1'b0;
    oldest_free_o = 1'b0;
    from_start = place.zeros || place.has_value;
    offset0 = from_start ? '0 : OffsetBits'(place.offset);

    unique case (state_q)
      StPlace: begin
        if (place_valid && place.net_bytes != '0) begin
          if (oldest_valid_i) begin
            place_ready = 1'b1;
            bytes_d = place.net_bytes;
            beat_d = '0;
            state_d = StNet;
          end
        end else if (place_valid && (oldest_valid_i || place.no_frame) && pending_space) begin
          place_ready = 1'b1;
          run_d = run_of(offset0[LaneBits-1:0], place.address0, place.bytes0);
          address1_d = place.address1;
          bytes1_d = place.bytes1;
          offset1_d = from_start ? '0 : offset0 + OffsetBits'(place.bytes0);
          beat_d = PlaceBits'(offset0[OffsetBits-1:LaneBits]);
          more_d = place.more || place.copied;
          zeros_d = place.zeros;
          has_value_d = place.has_value;
          value_d = place.value;
          if (writes_any) state_d = StRun;
          else if (!place.no_frame && !place.more && !place.copied) state_d = StFree;
        end
      end

      StRun: begin
        if (run_read) beat_d = beat_q + 1'b1;
        if (run_done) begin
          beat_d = PlaceBits'(offset1_q[OffsetBits-1:LaneBits]);
          run_d = run_of(offset1_q[LaneBits-1:0], address1_q, bytes1_q);
          value_d = value_q >> {run_q.bytes[2:0], 3'b000};
          bytes1_d = '0;
          if (bytes1_q == '0) begin
            oldest_free_o = !more_q;
            state_d = StPlace;
          end
        end
      end

      StFree: begin
        oldest_free_o = 1'b1;
        state_d = StPlace;
      end

      StNet: begin
        net_read = 1'b1;
        net_read_last = beat_q == PlaceBits'((bytes_q - 1'b1) >> LaneBits);
        beat_d = beat_q + 1'b1;
        if (net_read_last) begin
          oldest_free_o = 1'b1;
          state_d = StPlace;
        end
      end

      default: state_d = StPlace;
    endcase
  end

  assign oldest_read_o = run_read || net_read;
  assign oldest_beat_o = beat_q;

  // The beat of a read is valid one cycle later, and is stored in a register.
  logic net_beat_q, net_beat_last_q, net_valid_q, net_last_q;
  logic [DataBits-1:0] net_data_q;
  logic [13:0] net_bytes_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      net_beat_q <= 1'b0;
      net_valid_q <= 1'b0;
    end else begin
      net_beat_q <= net_read;
      net_valid_q <= net_beat_q;
    end
  end

  always_ff @(posedge clk_i) begin
    net_beat_last_q <= net_read_last;
    if (net_beat_q) begin
      net_data_q <= oldest_data_i;
      net_last_q <= net_beat_last_q;
      net_bytes_q <= bytes_q;
    end
  end

  assign net_valid_o = net_valid_q;
  assign net_data_o = net_data_q;
  assign net_last_o = net_last_q;
  assign net_bytes_o = net_bytes_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StPlace;
      number_q <= '0;
      done_q <= '0;
      places_q <= '0;
      completed_q <= 1'b0;
      acked_q <= 1'b0;
      answered_q <= 1'b0;
      reported_q <= 1'b0;
      frame_refused_q <= 1'b0;
      any_failed_q <= 1'b0;
      looked_q <= 1'b0;
      clear_q <= 1'b0;
      grant_ended_q <= '0;
      fence_waits_q <= 1'b0;
      fence_passed_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (place_ready) number_q <= number_d;
      done_q <= done_q + NumberBits'(write_done_i);
      places_q <= places_d;
      completed_q <= completed_d;
      acked_q <= acked_d;
      answered_q <= answered_d;
      reported_q <= reported_d;
      if (pending_ready && !pending.no_frame) frame_refused_q <= frame_refused && pending.more;
      if (pending_ready && fails) any_failed_q <= 1'b1;
      looked_q <= pending_valid && any_failed_q && !pending_ready;
      clear_q <= qp_state_write_valid_i && qp_state_write_i.state == 3'(IbQpStateInit);
      grant_ended_q <= pending_ready ? pending.grant : '0;
      fence_waits_q <= fence_waits_d;
      fence_passed_q <= pending_valid && !pending_ready && (fence_passed_q || !fenced);
    end
  end

  always_ff @(posedge clk_i) begin
    clear_index_q <= QpBits'(qp_state_write_i.qpn);
    if (write_done_i) refused_q[RecentBits'(done_q + 1'b1)] <= write_refused_i;
    run_q <= run_d;
    address1_q <= address1_d;
    bytes1_q <= bytes1_d;
    offset1_q <= offset1_d;
    more_q <= more_d;
    zeros_q <= zeros_d;
    has_value_q <= has_value_d;
    value_q <= value_d;
    value_data_q <= value_q;
    beat_q <= beat_d;
    bytes_q <= bytes_d;
  end

  assign write_request_o.notify = 1'b1;
  assign write_request_o.tag = '0;

  vireo_dma_align #(
    .DataBits(DataBits),
    .StepBits(StepBits),
    .MetaBits($bits(run_q.address) + $bits(run_q.bytes))
  ) u_align (
    .clk_i,
    .rst_ni,
    .run_valid_i(state_q == StRun),
    .run_ready_o(run_done),
    .run_lag_i(run_q.lag),
    .run_dummy_i(run_q.dummy),
    .run_last_step_i(run_q.last_step),
    .run_lane_i(run_q.lane),
    .run_end_lane_i(LaneBits'(run_q.bytes - 1'b1)),
    .run_meta_i({run_q.address, run_q.bytes}),
    .read_o(run_read),
    .data_i(zeros_q ? '0 : has_value_q ? DataBits'(value_data_q) : oldest_data_i),
    .train_valid_o(write_valid_o),
    .train_ready_i(write_ready_i),
    .train_data_o(write_data_o),
    .train_last_o(write_last_o),
    .train_meta_o({write_request_o.address, write_request_o.bytes})
  );

  assign place_ended_o = pending_ready && pending_valid;
  assign idle_o = state_q == StPlace && !place_valid && places_q == '0 && !net_beat_q && !net_valid_q;

endmodule
