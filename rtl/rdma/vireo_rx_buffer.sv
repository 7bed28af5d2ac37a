// SPDX-License-Identifier: Apache-2.0

// Stores received frames in a ring of beats and outputs for each, in order, the parser's token. A frame without
// guaranteed space at its first beat is dropped completely; so is, later, one with another verdict than
// roce or net, or one longer than MaxFrameBytes. It never stalls the wire and never changes a frame.
//
// The reader accesses the beats of the oldest frame by index and frees it when it has read all it needs; it does so
// only after it has seen the frame's token.
module vireo_rx_buffer
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  // Tokens are nearly as wide as small frames, so there is room for as many frames as fit at this many bytes on
  // average; with smaller ones the list of frames is full before the ring. A power of two, BufferBytes / 4 or less.
  parameter int unsigned BytesPerFrame,
  localparam int unsigned DataBits = Config.datapath_bits,       // 64 ... 1024, a power of two
  localparam int unsigned BufferBytes = Config.rx_buffer_bytes,  // a power of two, at least MaxFrameBytes
  localparam int unsigned MaxFrameBytes = Config.max_frame_bytes,
  localparam int unsigned BeatBytes = DataBits / 8,
  localparam int unsigned Beats = BufferBytes / BeatBytes,
  localparam int unsigned PlaceBits = $clog2(Beats)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // Sampled with a frame's first beat.
  input  logic                  enable_i,           // 0: the frame is ignored
  input  logic                  roce_i,             // 0: it is a net frame, whatever is in it

  // Frames without check sequence, without gaps, at most 65,535 bytes.
  input  logic                  s_axis_tvalid_i,
  output logic                  s_axis_tready_o,    // always 1
  input  logic [DataBits-1:0]   s_axis_tdata_i,
  input  logic [DataBits/8-1:0] s_axis_tkeep_i,
  input  logic                  s_axis_tlast_i,
  input  logic                  s_axis_tuser_i,     // with tlast: the MAC reported an error

  output logic                  rx_drop_o,          // a frame was dropped for lack of space
  output logic                  rx_verdict_valid_o, // for every other frame
  output rx_verdict_e           rx_verdict_o,

  output logic                  frame_valid_o,
  input  logic                  frame_ready_i,
  output rx_token_t             frame_o,

  output logic                  oldest_valid_o,     // the oldest frame is here
  input  logic                  oldest_read_i,
  input  logic [PlaceBits-1:0]  oldest_beat_i,      // of the oldest frame, from 0
  output logic [DataBits-1:0]   oldest_data_o,      // one cycle later; stays until the next
  input  logic                  oldest_free_i,      // with oldest_valid_o; may come with the last read

  output logic                  idle_o
);

  localparam int unsigned MaxBeats = (MaxFrameBytes + BeatBytes - 1) / BeatBytes;
  localparam int unsigned CountBits = $clog2(MaxBeats + 1);
  localparam int unsigned Frames = BufferBytes / BytesPerFrame;
  localparam int unsigned FrameBits = $clog2(Frames);

  typedef struct packed {
    logic good;  // has a token
    logic [CountBits-1:0] beats;
  } record_t;

  assign s_axis_tready_o = 1'b1;

  logic token_valid;
  rx_token_t token;
  logic unused_tready;
  logic roce_d, roce_q;  // of the frame: it may be RoCE

  vireo_rx_parser #(
    .Config(Config)
  ) u_parser (
    .clk_i,
    .rst_ni,
    .s_axis_tvalid_i,
    .s_axis_tready_o(unused_tready),
    .s_axis_tdata_i,
    .s_axis_tkeep_i,
    .s_axis_tlast_i,
    .s_axis_tuser_i,
    .roce_i(roce_d),
    .token_valid_o(token_valid),
    .token_o(token)
  );

  // Into the ring. Space is counted in beats and in frames; a frame is started only if the largest one would fit.
  logic first_d, first_q;                          // the next beat is the first of its frame
  logic accept_d, accept_q;                            // the frame is
  logic [CountBits-1:0] count_d, count_q;          // beats of the frame so far, as far as stored
  logic [PlaceBits-1:0] head_q, tail_q;            // next beat to write; first beat of the oldest frame
  logic [PlaceBits:0] used_d, used_q;
  logic [FrameBits:0] frames_d, frames_q;
  logic drop_d, drop_q;
  logic begins, keep, write;
  logic pop;
  record_t record;

  always_comb begin
    begins = s_axis_tvalid_i && first_q;
    keep = first_q ? enable_i && frames_q != (FrameBits + 1)'(Frames)
                     && (PlaceBits + 2)'(used_q) + (PlaceBits + 2)'(MaxBeats) <= (PlaceBits + 2)'(Beats)
                   : accept_q;
    drop_d = begins && enable_i && !keep;
    // The excess of a longer frame is not stored, since it is never read.
    write = s_axis_tvalid_i && keep && (first_q || count_q != CountBits'(MaxBeats));

    roce_d = first_q ? roce_i : roce_q;
    first_d = first_q;
    accept_d = accept_q;
    count_d = count_q;
    if (s_axis_tvalid_i) begin
      first_d = s_axis_tlast_i;
      accept_d = keep;
      count_d = first_q ? CountBits'(1) : count_q + CountBits'(write);
    end
    used_d = used_q + (PlaceBits + 1)'(write) - (pop ? (PlaceBits + 1)'(record.beats) : '0);
    frames_d = frames_q + (FrameBits + 1)'(begins && keep) - (FrameBits + 1)'(pop);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
      accept_q <= 1'b0;
      head_q <= '0;
      tail_q <= '0;
      used_q <= '0;
      frames_q <= '0;
      drop_q <= 1'b0;
    end else begin
      first_q <= first_d;
      accept_q <= accept_d;
      if (write) head_q <= head_q + 1'b1;
      if (pop) tail_q <= tail_q + PlaceBits'(record.beats);
      used_q <= used_d;
      frames_q <= frames_d;
      drop_q <= drop_d;
    end
  end

  always_ff @(posedge clk_i) begin
    count_q <= count_d;
    if (s_axis_tvalid_i) roce_q <= roce_d;
  end

  vireo_ram_1r1w #(
    .Width(DataBits),
    .Depth(Beats)
  ) u_ring (
    .clk_i,
    .write_i(write),
    .write_address_i(head_q),
    .write_data_i(s_axis_tdata_i),
    .read_i(oldest_read_i),
    .read_address_i(tail_q + oldest_beat_i),
    .read_data_o(oldest_data_o)
  );

  // The state at a frame's end waits for its token, which comes a fixed time later.
  logic [RxParserLatency-1:0] ended_q;                 // end of a frame that is kept, [0] latest
  logic [RxParserLatency-1:0][CountBits-1:0] beats_q;
  logic verdict_valid, good;
  rx_verdict_e verdict;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ended_q <= '0;
    else ended_q <= {ended_q[RxParserLatency-2:0], s_axis_tvalid_i && s_axis_tlast_i && keep};
  end

  always_ff @(posedge clk_i) beats_q <= {beats_q[RxParserLatency-2:0], count_d};

  always_comb begin
    verdict_valid = token_valid && ended_q[RxParserLatency-1];
    verdict = token.frame_bytes > 16'(MaxFrameBytes) ? RxVerdictTruncated : token.verdict;
    good = verdict == RxVerdictRoce || verdict == RxVerdictNet;
  end

  // Neither list is ever full: frames_q counts their space. Asserted below.
  logic frame_space, record_space;
  logic record_valid;

  vireo_fifo #(
    .Width($bits(rx_token_t)),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_frames (
    .clk_i,
    .rst_ni,
    .s_valid_i(verdict_valid && good),
    .s_ready_o(frame_space),
    .s_data_i(token),
    .m_valid_o(frame_valid_o),
    .m_ready_i(frame_ready_i),
    .m_data_o(frame_o)
  );

  vireo_fifo #(
    .Width($bits(record_t)),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_records (
    .clk_i,
    .rst_ni,
    .s_valid_i(verdict_valid),
    .s_ready_o(record_space),
    .s_data_i({good, beats_q[RxParserLatency-1]}),
    .m_valid_o(record_valid),
    .m_ready_i(pop),
    .m_data_o(record)
  );

  // A ring returns space only in order, so an unwanted frame waits until it is the oldest.
  assign pop = record_valid && (!record.good || oldest_free_i);

  assign oldest_valid_o = record_valid && record.good;
  assign rx_drop_o = drop_q;
  assign rx_verdict_valid_o = verdict_valid;
  assign rx_verdict_o = verdict;
  assign idle_o = frames_q == '0;

`ifndef SYNTHESIS
  frames_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) verdict_valid && good |-> frame_space);
  records_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) verdict_valid |-> record_space);
`endif

endmodule
