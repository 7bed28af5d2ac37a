// SPDX-License-Identifier: Apache-2.0

// Carries out rx_place: reads bytes of the oldest frame in the receive buffer, shifts them to lane 0, gives them to the
// DMA write port as one or two writes, and frees the frame. The answer leaves when all of its place's writes have left
// the port's arbiter, behind every answer before it. It checks nothing: addresses and lengths are the responder's.
//
// Places are carried out one after the other, one beat per step; the write port decides how fast.
module vireo_rx_scatter
  import vireo_spec_pkg::*;
#(
  parameter int unsigned DataBits = 512,        // 64 ... 1024, a power of two
  parameter int unsigned BufferBytes = 524288,  // of the receive buffer
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
  output logic [DataBits-1:0]  write_data_o,     // zero behind the last byte
  output logic                 write_last_o,
  input  logic                 accepted_i,       // a write has left the arbiter; once per write, after its last beat

  output logic                 answer_valid_o,
  input  logic                 answer_ready_i,
  output tx_packet_t           answer_o,

  output logic                 idle_o
);

  localparam int unsigned LaneBits = $clog2(BeatBytes);
  // Of a position in the frame: offset plus both runs.
  localparam int unsigned OffsetBits = 14;
  localparam int unsigned StepBits = OffsetBits - LaneBits;
  // Depth of the queue at the end of the shift pipeline: the way of a credit around it is 5 cycles.
  localparam int unsigned StreamDepth = 8;
  // Places whose writes are not all accepted, or whose answer waits.
  localparam int unsigned Places = 16;
  localparam int unsigned WritesPerPlace = 2;
  localparam int unsigned AcceptedBits = $clog2(Places * WritesPerPlace + 1);

  typedef struct packed {
    logic [1:0] writes;
    logic has_answer;
    tx_packet_t answer;
  } pending_t;

  // One write: how the beats of the frame become its beats.
  typedef struct packed {
    logic lag;                       // needs the beat after for each of its beats
    logic dummy;                     // and there is none for the last one
    logic [StepBits-1:0] last_step;
    logic [LaneBits-1:0] lane;       // of the first byte
    logic [63:0] address;
    logic [12:0] bytes;
  } run_t;

  function automatic run_t run_of(input logic [LaneBits-1:0] lane, input logic [63:0] address,
                                  input logic [12:0] bytes);
    logic [StepBits:0] frame_beats, run_beats;
    run_beats = (StepBits + 1)'(((OffsetBits + 1)'(bytes) + (OffsetBits + 1)'(BeatBytes - 1)) >> LaneBits);
    frame_beats = (StepBits + 1)'(((OffsetBits + 1)'(bytes) + (OffsetBits + 1)'(lane)
                                   + (OffsetBits + 1)'(BeatBytes - 1)) >> LaneBits);
    run_of.lane = lane;
    run_of.lag = lane != '0 && frame_beats != (StepBits + 1)'(1);
    run_of.dummy = run_of.lag && frame_beats == run_beats;
    run_of.last_step = StepBits'(run_beats) - StepBits'(!run_of.lag);
    run_of.address = address;
    run_of.bytes = bytes;
  endfunction

  logic place_valid, place_ready;
  rx_place_t place;

  vireo_slice #(
    .Width($bits(rx_place_t))
  ) u_place (
    .clk_i,
    .rst_ni,
    .s_valid_i(place_valid_i),
    .s_ready_o(place_ready_o),
    .s_data_i(place_i),
    .m_valid_o(place_valid),
    .m_ready_i(place_ready),
    .m_data_o(place)
  );

  // Answers wait in order, together with the number of writes that they wait for. Places without one are in the line as
  // well, so that every accepted write finds its own.
  logic pending_space, pending_valid, pending_ready;
  pending_t pending;
  logic [1:0] place_writes;
  logic [AcceptedBits-1:0] accepted_d, accepted_q;  // writes accepted for places that are still in the line
  logic [$clog2(Places):0] places_d, places_q;      // in the line
  logic enough;

  vireo_fifo #(
    .Width($bits(pending_t)),
    .Depth(Places)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .s_valid_i(place_ready),
    .s_ready_o(pending_space),
    .s_data_i({place_writes, place.has_answer, place.answer}),
    .m_valid_o(pending_valid),
    .m_ready_i(pending_ready),
    .m_data_o(pending)
  );

  always_comb begin
    place_writes = place.bytes0 == '0 ? 2'd0 : place.bytes1 == '0 ? 2'd1 : 2'd2;
    enough = pending_valid && accepted_q >= AcceptedBits'(pending.writes);
    pending_ready = enough && (answer_ready_i || !pending.has_answer);
    accepted_d = accepted_q + AcceptedBits'(accepted_i)
               - (pending_ready ? AcceptedBits'(pending.writes) : '0);
    places_d = places_q + ($clog2(Places) + 1)'(place_ready) - ($clog2(Places) + 1)'(pending_ready);
  end

  assign answer_valid_o = enough && pending.has_answer;
  assign answer_o = pending.answer;

  // Steps: one per beat from the frame. A step that gives a beat needs room for it in the queue at the end.
  typedef enum logic [1:0] {
    StPlace,
    StRun,
    StFree
  } state_e;

  typedef struct packed {
    logic gives;  // a beat
    logic last;   // of the write
    logic lag;
    logic [LaneBits-1:0] lane;
    logic [63:0] address;
    logic [12:0] bytes;
  } step_t;

  state_e state_d, state_q;
  run_t run_d, run_q;
  logic [63:0] address1_d, address1_q;
  logic [12:0] bytes1_d, bytes1_q;              // of the second write, 0 once it has begun
  logic [OffsetBits-1:0] offset1_d, offset1_q;
  logic [StepBits-1:0] step_d, step_q;
  logic [PlaceBits-1:0] beat_d, beat_q;
  logic [$clog2(StreamDepth):0] waiting_d, waiting_q;  // beats that have been asked for and not been taken
  logic advance, gives, last_step;
  step_t step0;

  always_comb begin
    state_d = state_q;
    run_d = run_q;
    address1_d = address1_q;
    bytes1_d = bytes1_q;
    offset1_d = offset1_q;
    step_d = step_q;
    beat_d = beat_q;
    place_ready = 1'b0;
    oldest_free_o = 1'b0;

    last_step = step_q == run_q.last_step;
    gives = !(run_q.lag && step_q == '0);
    advance = state_q == StRun && (!gives || waiting_q != ($clog2(StreamDepth) + 1)'(StreamDepth));
    oldest_read_o = advance && !(last_step && run_q.dummy);

    unique case (state_q)
      StPlace: begin
        if (place_valid && oldest_valid_i && pending_space) begin
          place_ready = 1'b1;
          run_d = run_of(place.offset[LaneBits-1:0], place.address0, place.bytes0);
          address1_d = place.address1;
          bytes1_d = place.bytes1;
          offset1_d = OffsetBits'(place.offset) + OffsetBits'(place.bytes0);
          step_d = '0;
          beat_d = PlaceBits'(place.offset[7:LaneBits]);
          state_d = place.bytes0 == '0 ? StFree : StRun;
        end
      end

      StRun: begin
        if (oldest_read_o) beat_d = beat_q + 1'b1;
        if (advance) step_d = step_q + 1'b1;
        if (advance && last_step) begin
          step_d = '0;
          beat_d = PlaceBits'(offset1_q[OffsetBits-1:LaneBits]);
          run_d = run_of(offset1_q[LaneBits-1:0], address1_q, bytes1_q);
          bytes1_d = '0;
          if (bytes1_q == '0) begin
            oldest_free_o = 1'b1;
            state_d = StPlace;
          end
        end
      end

      StFree: begin
        oldest_free_o = 1'b1;
        state_d = StPlace;
      end

      default: state_d = StPlace;
    endcase

    waiting_d = waiting_q + ($clog2(StreamDepth) + 1)'(advance && gives)
              - ($clog2(StreamDepth) + 1)'(write_valid_o && write_ready_i);
    step0 = '{gives: gives, last: last_step, lag: run_q.lag, lane: run_q.lane, address: run_q.address,
              bytes: run_q.bytes};
  end

  assign oldest_beat_o = beat_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StPlace;
      waiting_q <= '0;
      accepted_q <= '0;
      places_q <= '0;
    end else begin
      state_q <= state_d;
      waiting_q <= waiting_d;
      accepted_q <= accepted_d;
      places_q <= places_d;
    end
  end

  always_ff @(posedge clk_i) begin
    run_q <= run_d;
    address1_q <= address1_d;
    bytes1_q <= bytes1_d;
    offset1_q <= offset1_d;
    step_q <= step_d;
    beat_q <= beat_d;
  end

  // The first byte moves to lane 0 in two stages: each beat is rotated, then joined with the one after.
  logic step1_valid_q, step2_valid_q;
  step_t step1_q, step2_q;
  logic [DataBits-1:0] rotated_q, rotated_before_q;
  logic [DataBits-1:0] joined;
  logic [LaneBits-1:0] end_lane;  // of the last byte
  logic from_before;
  dma_write_request_t request;

  always_comb begin
    end_lane = LaneBits'(step2_q.bytes - 1'b1);
    for (int unsigned i = 0; i < BeatBytes; i++) begin
      from_before = step2_q.lag && (LaneBits + 1)'(i) + (LaneBits + 1)'(step2_q.lane) < (LaneBits + 1)'(BeatBytes);
      joined[8*i +: 8] = from_before ? rotated_before_q[8*i +: 8] : rotated_q[8*i +: 8];
      if (step2_q.last && LaneBits'(i) > end_lane) joined[8*i +: 8] = '0;
    end
    // Posted writes: nobody waits for their completion, see the page.
    request = '{address: step2_q.address, bytes: step2_q.bytes, notify: 1'b0, tag: '0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step1_valid_q <= 1'b0;
      step2_valid_q <= 1'b0;
    end else begin
      step1_valid_q <= advance;
      step2_valid_q <= step1_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    step1_q <= step0;
    step2_q <= step1_q;
    if (step1_valid_q) begin
      rotated_q <= DataBits'({oldest_data_i, oldest_data_i} >> {step1_q.lane, 3'b000});
      rotated_before_q <= rotated_q;
    end
  end

  // Never full: waiting_q counts its room.
  logic unused_write_space;

  vireo_fifo #(
    .Width(DataBits + 1 + DmaWriteRequestBits),
    .Depth(StreamDepth)
  ) u_write (
    .clk_i,
    .rst_ni,
    .s_valid_i(step2_valid_q && step2_q.gives),
    .s_ready_o(unused_write_space),
    .s_data_i({joined, step2_q.last, request}),
    .m_valid_o(write_valid_o),
    .m_ready_i(write_ready_i),
    .m_data_o({write_data_o, write_last_o, write_request_o})
  );

  assign idle_o = state_q == StPlace && !place_valid && places_q == '0;

endmodule
