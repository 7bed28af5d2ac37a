// SPDX-License-Identifier: Apache-2.0

// Transmit checksum offload and frame buffer of the net path. Takes packets of a net_hdr followed by a frame, removes
// the header, inserts the checksum if the header requests it, and keeps the frame until it is sent: one with a checksum
// is stored first, another one may leave from its first beat on, as all of its payload is there. Frames leave in the
// order of their packets; short frames are padded. A frame whose header requests an operation that is not supported is
// dropped. Does not segment and does not parse IP, TCP or UDP: csum_start and csum_offset of the header determine where
// the sum starts and where it is inserted.
//
// In a configuration without net_offloads every frame leaves unchanged.
//
// Space for a frame is allocated with its packet, before the payload. One beat per cycle in, and one out, at once.
module vireo_net_checksum
  import vireo_spec_pkg::*;
  import vireo_common_pkg::waiting_packets;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,                             // a power of two, at least MaxFrameBytes
  localparam int unsigned DataBits = Config.datapath_bits,        // 64 ... 1024, a power of two
  localparam int unsigned MaxFrameBytes = Config.max_frame_bytes  // without header; less than 16,384 with it
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                packet_valid_i,
  output logic                packet_ready_o,
  input  tx_packet_t          packet_i,         // only payload_bytes is used: length of net_hdr and frame

  // Header and frame of the accepted packets, in order, each starting in lane 0, zero after its last byte.
  input  logic                payload_valid_i,  // must be 1 whenever payload_ready_o is
  output logic                payload_ready_o,
  input  logic [DataBits-1:0] payload_data_i,

  // Frames, each starting in lane 0, zero after its last byte. From a frame's first to its last beat, valid is 1 in
  // every cycle; a beat is held until accepted.
  output logic                net_valid_o,
  input  logic                net_ready_i,
  output logic [13:0]         net_bytes_o,      // of the frame, with padding; constant for the whole frame
  output logic [DataBits-1:0] net_data_o,

  output logic                drop_o,           // a frame was dropped
  output logic                idle_o
);

  localparam int unsigned Frames = waiting_packets(DataBits);  // stored at most
  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned Beats = BufferBytes / BeatBytes;
  localparam int unsigned PlaceBits = $clog2(Beats);
  localparam int unsigned BytesBits = 14;                     // length of header and frame
  localparam int unsigned CountBits = BytesBits - LaneBits;   // number of their beats
  localparam int unsigned FramesBits = $clog2(Frames) + 1;

  // Removing the header shifts the frame: each input beat starts with bytes of the previous output beat.
  localparam int unsigned HeaderBeats = (NetHdrBytes + BeatBytes - 1) / BeatBytes;
  localparam int unsigned ShiftBytes = NetHdrBytes % BeatBytes;
  localparam int unsigned LeftBytes = BeatBytes - ShiftBytes;

  // Adder tree: words of a beat in groups of four, twice; then the rest.
  localparam int unsigned Words = BeatBytes / 2;
  localparam int unsigned Sums2 = (Words + 3) / 4;
  localparam int unsigned Sums3 = (Sums2 + 3) / 4;
  localparam int unsigned TotalBits = 16 + $clog2((MaxFrameBytes + 1) / 2 + 1);  // of a frame's sum

  function automatic logic [CountBits-1:0] beats_of(input logic [BytesBits-1:0] bytes);
    return CountBits'(((BytesBits + 1)'(bytes) + (BytesBits + 1)'(BeatBytes - 1)) >> LaneBits);
  endfunction

  // Beats of the frame in a packet of so many bytes.
  function automatic logic [CountBits-1:0] frame_beats_of(input logic [BytesBits-1:0] bytes);
    return CountBits'(((BytesBits + 1)'(bytes) + (BytesBits + 1)'(BeatBytes - 1 - NetHdrBytes)) >> LaneBits);
  endfunction

  // --- Packets: allocates space, then accepts all beats of the payload.
  logic in_valid;
  logic [BytesBits-1:0] in_bytes;
  logic [CountBits-1:0] in_beats;           // of the frame
  logic take;
  logic busy_d, busy_q;                     // a beat of payload is accepted in this cycle
  logic [CountBits-1:0] left_d, left_q;     // beats of payload not yet accepted
  logic [1:0] header_left_d, header_left_q; // of these, beats with bytes of the header
  logic last;
  logic [BytesBits-1:0] bytes_q;            // of the frame whose payload is accepted
  logic [PlaceBits:0] free_d, free_q;       // free beats of the ring
  logic [FramesBits-1:0] frames_d, frames_q;
  logic drop_d, drop_q;
  logic sent;
  logic [CountBits-1:0] drop_beats_q, sent_beats;

  vireo_slice #(
    .Width(BytesBits)
  ) u_packet (
    .clk_i,
    .rst_ni,
    .s_valid_i(packet_valid_i),
    .s_ready_o(packet_ready_o),
    .s_data_i(packet_i.payload_bytes),
    .m_valid_o(in_valid),
    .m_ready_i(take),
    .m_data_o(in_bytes)
  );

  always_comb begin
    in_beats = frame_beats_of(in_bytes);
    last = left_q == CountBits'(1);
    take = in_valid && (!busy_q || last) && frames_q != FramesBits'(Frames)
        && (PlaceBits + 1)'(in_beats) <= free_q;

    busy_d = take || (busy_q && !last);
    left_d = left_q - CountBits'(busy_q);
    header_left_d = header_left_q - 2'(busy_q && header_left_q != '0);
    if (take) begin
      left_d = beats_of(in_bytes);
      header_left_d = 2'(HeaderBeats);
    end

    free_d = free_q - (take ? (PlaceBits + 1)'(in_beats) : '0)
           + (sent ? (PlaceBits + 1)'(sent_beats) : '0) + (drop_q ? (PlaceBits + 1)'(drop_beats_q) : '0);
    frames_d = frames_q + FramesBits'(take) - FramesBits'(sent) - FramesBits'(drop_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      free_q <= (PlaceBits + 1)'(Beats);
      frames_q <= '0;
      drop_q <= 1'b0;
    end else begin
      busy_q <= busy_d;
      free_q <= free_d;
      frames_q <= frames_d;
      drop_q <= drop_d;
    end
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
    header_left_q <= header_left_d;
    if (take) bytes_q <= in_bytes - BytesBits'(NetHdrBytes);
  end

  assign payload_ready_o = busy_q;

  // --- Removes the header. The frame ends one cycle after the last beat of payload, with or without a remaining beat.
  // The next packet's first beat may arrive in that cycle, because no beat of a frame is written for it.
  typedef struct packed {
    logic [BytesBits-1:0] bytes;
    logic needs_csum;
    logic odd;                     // the sum starts at an odd byte
    logic [BytesBits-1:0] at;      // offset of the checksum
  } info_t;

  logic [8*NetHdrBytes-1:0] header_d, header_q;
  net_hdr_t header;
  logic [BytesBits-1:0] frame_bytes_q;        // of the frame of this header
  logic [8*LeftBytes-1:0] left_data_q;
  logic tail_q;                               // the cycle after the last beat
  logic [LaneBits-1:0] last_lane;
  logic needs_csum, bad;
  logic [16:0] at;
  logic whole, write;
  logic known;                                // the frame is recorded: it may leave once this has passed the stages
  logic [CountBits-1:0] index_d, index_q;     // of the frame's beat
  logic [DataBits-1:0] data1_d;
  logic [BeatBytes-1:0] mask1_d;
  info_t info1_d;

  always_comb begin
    header_d = '0;
    if (busy_q) header_d = header_q;
    if (busy_q) for (int unsigned i = 0; i < NetHdrBytes; i++) begin
      if (header_left_q == 2'(HeaderBeats - i / BeatBytes)) begin
        header_d[8*i +: 8] = payload_data_i[8*(i%BeatBytes) +: 8];
      end
    end

    header = unpack_net_hdr(header_q);
    needs_csum = Config.net_offloads != 0 && (header.flags & NetHdrFlagsNeedsCsum) != '0;
    at = 17'(header.csum_start) + 17'(header.csum_offset);
    // Segmentation is not offered [virtio 1.3, 5.1.6.2].
    bad = {header.gso_ecn, header.gso_udp_tunnel_ipv6, header.gso_udp_tunnel_ipv4, header.gso_type} != '0
       || (needs_csum && 18'(at) + 18'd2 > 18'(frame_bytes_q));

    last_lane = LaneBits'(frame_bytes_q - 1'b1);
    whole = busy_q && header_left_q == '0;
    write = !bad && (whole || (tail_q && (LaneBits + 1)'(last_lane) < (LaneBits + 1)'(LeftBytes)));
    index_d = tail_q ? '0 : index_q + CountBits'(whole);
    data1_d = '0;
    if (write) data1_d = {tail_q ? {(8*ShiftBytes){1'b0}} : payload_data_i[8*ShiftBytes-1:0], left_data_q};

    mask1_d = '0;
    if (write && needs_csum) for (int unsigned i = 0; i < BeatBytes; i++) begin
      mask1_d[i] = (16 - LaneBits)'(index_q) > header.csum_start[15:LaneBits]
                || ((16 - LaneBits)'(index_q) == header.csum_start[15:LaneBits]
                    && LaneBits'(i) >= header.csum_start[LaneBits-1:0]);
    end
    info1_d = '{bytes: frame_bytes_q, needs_csum: needs_csum, odd: header.csum_start[0], at: at[BytesBits-1:0]};

    // With a checksum at its end; else with its first beat, as the others follow without a gap. A frame that is shorter
    // than a beat has its first one at the end.
    known = !bad && (needs_csum ? tail_q : (whole || tail_q) && index_q == '0);

    drop_d = tail_q && bad;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tail_q <= 1'b0;
      index_q <= '0;
    end else begin
      tail_q <= busy_q && last;
      index_q <= index_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (busy_q) header_q <= header_d;
    drop_beats_q <= beats_of(frame_bytes_q);
    if (busy_q) begin
      frame_bytes_q <= bytes_q;
      left_data_q <= payload_data_i[DataBits-1:8*ShiftBytes];
    end
  end

  // --- Stage 1: writes a beat of the frame. Stages 1 ... 4: add its words; stage 5: adds them to the frame's sum.
  //
  // The ones' complement sum is independent of byte order, except that the bytes of the result are swapped [RFC 1071, 2
  // (B)]. So words always start at even bytes of the frame, lower lane less significant; if the sum starts at an odd
  // byte, the result is swapped.
  localparam int unsigned FoldStage = 6;

  logic [FoldStage:1] known_q; // in this stage a frame that is not dropped ends or, without a checksum, starts
  logic [4:1] beat_q;
  info_t [FoldStage:1] info_q;
  logic [DataBits-1:0] data1_q;
  logic [BeatBytes-1:0] mask1_q;
  logic [PlaceBits-1:0] write_place_q;
  logic [Sums2-1:0][17:0] sum2_d, sum2_q;
  logic [Sums3-1:0][19:0] sum3_d, sum3_q;
  logic [21:0] sum4_d, sum4_q;
  logic [TotalBits-1:0] total_d, total_q;
  logic [16:0] folded_q;

  always_comb begin
    sum2_d = '0;
    if (beat_q[1]) for (int unsigned i = 0; i < Words; i++) begin
      sum2_d[i/4] = sum2_d[i/4] + 18'({data1_q[16*i + 8 +: 8] & {8{mask1_q[2*i + 1]}},
                                      data1_q[16*i +: 8] & {8{mask1_q[2*i]}}});
    end
    sum3_d = '0;
    if (beat_q[2]) for (int unsigned i = 0; i < Sums2; i++) sum3_d[i/4] = sum3_d[i/4] + 20'(sum2_q[i]);
    sum4_d = '0;
    if (beat_q[3]) for (int unsigned i = 0; i < Sums3; i++) sum4_d = sum4_d + 22'(sum3_q[i]);
    total_d = known_q[5] ? '0 : total_q;
    if (beat_q[4]) total_d = total_d + TotalBits'(sum4_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q <= '0;
      beat_q <= '0;
      write_place_q <= '0;
      total_q <= '0;
    end else begin
      known_q <= {known_q[FoldStage-1:1], known};
      beat_q <= {beat_q[3:1], write};
      if (beat_q[1]) write_place_q <= write_place_q + 1'b1;
      total_q <= total_d;
    end
  end

  always_ff @(posedge clk_i) begin
    // One enable for all stages, so that synthesis infers a shift register.
    if (known || known_q != '0) info_q <= {info_q[FoldStage-1:1], info1_d};
    if (write) begin
      data1_q <= data1_d;
      mask1_q <= mask1_d;
    end
    if (beat_q[1]) sum2_q <= sum2_d;
    if (beat_q[2]) sum3_q <= sum3_d;
    if (beat_q[3]) sum4_q <= sum4_d;
    folded_q <= 17'(total_q[15:0]) + 17'(total_q[TotalBits-1:16]);
  end

  // Stage 6: final checksum; the frame may leave.
  typedef struct packed {
    logic [BytesBits-1:0] bytes;       // with padding
    logic [CountBits-1:0] beats;       // stored beats
    logic [CountBits-1:0] last_index;  // of the last beat, with padding
    logic needs_csum;
    logic [BytesBits-1:0] at;
    logic [15:0] checksum;             // low byte first
  } record_t;

  logic [15:0] sum, inverted;
  logic [BytesBits-1:0] whole_bytes;
  record_t whole_record, record;
  logic record_space, record_valid, record_take;

  always_comb begin
    // End-around carry. It cannot carry again, because the upper part is small.
    sum = '0;
    inverted = '0;
    whole_bytes = '0;
    whole_record = '0;
    if (known_q[FoldStage]) begin
      sum = folded_q[15:0] + 16'(folded_q[16]);
      inverted = info_q[FoldStage].odd ? ~{sum[7:0], sum[15:8]} : ~sum;
      whole_bytes = info_q[FoldStage].bytes < BytesBits'(EthernetFrameBytesMin) ? BytesBits'(EthernetFrameBytesMin)
                                                                              : info_q[FoldStage].bytes;
      whole_record = '{bytes: whole_bytes, beats: beats_of(info_q[FoldStage].bytes),
                       last_index: CountBits'((whole_bytes - 1'b1) >> LaneBits),
                       needs_csum: info_q[FoldStage].needs_csum, at: info_q[FoldStage].at,
                       // In UDP, 0 means no checksum; 0xffff is the same sum [RFC 768].
                       checksum: inverted == '0 ? 16'hffff : inverted};
    end
  end

  // Cannot overflow, because frames_q is at most Frames.
  vireo_fifo #(
    .Width($bits(record_t)),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_records (
    .clk_i,
    .rst_ni,
    .s_valid_i(known_q[FoldStage]),
    .s_ready_o(record_space),
    .s_data_i(whole_record),
    .m_valid_o(record_valid),
    .m_ready_i(record_take),
    .m_data_o(record)
  );

  // --- Output: reads a beat, then inserts the checksum.
  typedef struct packed {
    logic last;
    logic [BytesBits-1:0] bytes;    // with padding
    logic [CountBits-1:0] beats;    // stored beats
  } out_t;

  logic [CountBits-1:0] out_index_d, out_index_q;
  logic issue, read, read_space, out_space;
  logic read_valid_q, out_valid_q;
  logic [PlaceBits-1:0] read_place_q;
  out_t read_d, read_q, out_q;
  logic stored_q;                        // the beat has bytes of the frame, not only padding
  logic [BytesBits-1:0] at_high;
  logic put_low_q, put_high_q;           // the beat contains the checksum's low, high byte, in lane:
  logic [LaneBits-1:0] low_lane_q, high_lane_q;
  logic [15:0] checksum_q;
  logic [DataBits-1:0] ring_data, out_data_d, out_data_q;

  always_comb begin
    out_space = !out_valid_q || net_ready_i;
    read_space = !read_valid_q || out_space;
    issue = record_valid && read_space;

    read_d = '{last: out_index_q == record.last_index, bytes: record.bytes, beats: record.beats};
    read = issue && out_index_q < record.beats;
    record_take = issue && read_d.last;
    out_index_d = out_index_q;
    if (issue) out_index_d = read_d.last ? '0 : out_index_q + 1'b1;
    at_high = record.at + 1'b1;

    out_data_d = '0;
    if (read_valid_q && stored_q) out_data_d = ring_data;
    if (read_valid_q && (put_low_q || put_high_q)) for (int unsigned i = 0; i < BeatBytes; i++) begin
      if (put_low_q && low_lane_q == LaneBits'(i)) out_data_d[8*i +: 8] = checksum_q[7:0];
      if (put_high_q && high_lane_q == LaneBits'(i)) out_data_d[8*i +: 8] = checksum_q[15:8];
    end
    sent = out_valid_q && net_ready_i && out_q.last;
    sent_beats = out_q.beats;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
      out_index_q <= '0;
      read_place_q <= '0;
    end else begin
      if (read_space) read_valid_q <= issue;
      if (out_space) out_valid_q <= read_valid_q;
      out_index_q <= out_index_d;
      if (read) read_place_q <= read_place_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue) begin
      read_q <= read_d;
      stored_q <= read;
      put_low_q <= record.needs_csum && record.at[BytesBits-1:LaneBits] == out_index_q;
      put_high_q <= record.needs_csum && at_high[BytesBits-1:LaneBits] == out_index_q;
      low_lane_q <= record.at[LaneBits-1:0];
      high_lane_q <= at_high[LaneBits-1:0];
      checksum_q <= record.checksum;
    end
    if (out_space && read_valid_q) begin
      out_q <= read_q;
      out_data_q <= out_data_d;
    end
  end

  vireo_ram_1r1w #(
    .Width(DataBits),
    .Depth(Beats)
  ) u_ring (
    .clk_i,
    .write_i(beat_q[1]),
    .write_address_i(write_place_q),
    .write_data_i(data1_q),
    .read_i(read),
    .read_address_i(read_place_q),
    .read_data_o(ring_data)
  );

  assign net_valid_o = out_valid_q;
  assign net_bytes_o = out_q.bytes;
  assign net_data_o = out_data_q;
  assign drop_o = drop_q;
  assign idle_o = !in_valid && frames_q == '0;  // a drop counts as a frame until it is reported

  // Unused bits.
  logic unused;
  assign unused = ^{packet_i, payload_valid_i, header, at, record_space};

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) payload_ready_o |-> payload_valid_i)
  else $error("the payload is not there");
  assert property (@(posedge clk_i) disable iff (!rst_ni) take
                   |-> 32'(in_bytes) >= NetHdrBytes + EthernetBytes && 32'(in_bytes) <= NetHdrBytes + MaxFrameBytes)
  else $error("the frame is too short or too long");
  assert property (@(posedge clk_i) disable iff (!rst_ni) known_q[FoldStage] |-> record_space)
  else $error("the list of frames is full");
`endif

endmodule
