// SPDX-License-Identifier: Apache-2.0

// Makes an Ethernet frame of one token and its payload: headers with their lengths and checksum, payload, pad,
// ICRC, and padding to the shortest frame. It has no queue pair state and decides nothing: it sends the token's
// fields as they are, for any opcode.
//
// A frame is one unbroken train of beats that starts TxFramerLatency cycles after its token is accepted; the payload is
// taken as an unbroken train, too. Back-pressure works between frames only and at the front: m_axis_tready_i allows one
// more frame to start, and its driver reserves space for that frame and all that are in flight.
//
// Frames are laid out in words of four bytes that start two bytes before the frame (see vireo_icrc_insert), so that the
// payload is shifted by a whole number of words, plus two bytes at no cost.
module vireo_tx_framer
  import vireo_spec_pkg::*;
  import vireo_common_pkg::network16;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  token_valid_i,
  output logic                  token_ready_o,
  input  tx_token_t             token_i,

  // Payload of the accepted token, in beats that are full except for the last.
  input  logic                  payload_valid_i,  // must be 1 whenever payload_ready_o is
  output logic                  payload_ready_o,
  input  logic [DataBits-1:0]   payload_data_i,   // byte k of the beat in [8k +: 8]

  // Frames without check sequence. Once started, a frame is not stalled.
  output logic                  m_axis_tvalid_o,
  input  logic                  m_axis_tready_i,  // a token may be accepted in the next cycle
  output logic [DataBits-1:0]   m_axis_tdata_o,   // byte k of the beat in [8k +: 8]; bytes without tkeep are zero
  output logic [DataBits/8-1:0] m_axis_tkeep_o,   // all ones except in the last beat, there ones from bit 0 upwards
  output logic                  m_axis_tlast_o
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned WordBits = LaneBits - 2;  // of a word's place in a beat
  localparam int unsigned IndexBits = 11 - WordBits;
  localparam int unsigned L4Bytes = UdpBytes + BthBytes + RxExtensionBytes;
  localparam int unsigned HeaderBeats = (RxHeaderBytes + BeatBytes - 1) / BeatBytes;
  // The payload is shifted in two cycles, by this many bits of the number of words in the first.
  localparam int unsigned EarlyBits = WordBits < 2 ? WordBits : 2;

  // The first word of a frame holds two bytes of it.
  localparam int unsigned WordOffset = 2;
  localparam int unsigned EthernetWords = (EthernetBytes + WordOffset) / 4;
  localparam int unsigned TransportWords = (UdpBytes + BthBytes) / 4;
  localparam int unsigned IcrcWords = 32'(IcrcBytes) / 4;

  localparam int unsigned ChecksumPlain = EthernetBytes + Ipv4HeaderChecksumOffset;
  localparam int unsigned ChecksumTagged = ChecksumPlain + VlanTagBytes;

  typedef logic [IndexBits-1:0] index_t;

  // Index of the beat that a word ends in.
  function automatic index_t beat_of(input logic [10:0] word);
    return index_t'(word >> WordBits);
  endfunction

  // Index of the beat in which the payload starts, or would start. The first half of a word lies in the four bytes of
  // a beat that the word before it ends.
  function automatic index_t payload_beat(input logic [4:0] header_words);
    return beat_of(11'(header_words) - 11'd1);
  endfunction

  // Rotates a beat upwards by a constant number of bytes.
  function automatic logic [DataBits-1:0] rotate(input logic [DataBits-1:0] data, input int unsigned bytes);
    return (data << (8 * bytes)) | (data >> (DataBits - 8 * bytes));
  endfunction

  // Rotates a beat upwards by as many words as bits [from, to) of a number encode.
  function automatic logic [DataBits-1:0] rotate_words(input logic [DataBits-1:0] data, input logic [4:0] words,
                                                       input int unsigned from, input int unsigned to);
    rotate_words = data;
    for (int unsigned i = 0; i < WordBits; i++) begin
      if (i >= from && i < to && words[i]) rotate_words = rotate(rotate_words, 4 << i);
    end
  endfunction

  // The sequencer: one slot per beat. Lengths of the frame are known as soon as its token is accepted, so that a frame
  // of one beat can be followed by the next one at once.
  logic ready_q;  // of the frames' destination
  logic valid1_d, valid1_q;
  tx_token_t token1_q;
  opcode_info_t info;
  logic [4:0] header_words_d, header_words1_q;  // up to the payload
  logic [10:0] end_words_d, end_words1_q;       // up to the ICRC
  logic [LaneBits-1:0] partial_bytes;
  logic [13-LaneBits:0] payload_left_d, payload_left1_q;  // beats not yet taken
  logic payload_ready_d, payload_ready1_q;
  index_t index_d, index1_q;  // of the beat in this slot
  logic last_d, last1_q;
  logic accept;

  assign token_ready_o = ready_q && (!valid1_q || last1_q);
  assign payload_ready_o = payload_ready1_q;
  assign accept = token_valid_i && token_ready_o;

  always_comb begin
    info = '0;
    partial_bytes = '0;
    valid1_d = valid1_q;
    header_words_d = header_words1_q;
    end_words_d = end_words1_q;
    if (accept) begin
      info = opcode_info(token_i.bth.opcode);
      partial_bytes = token_i.payload_bytes[LaneBits-1:0];
      valid1_d = 1'b1;
      header_words_d = 5'(EthernetWords + TransportWords)
                     + (token_i.vlan_present ? 5'(VlanTagBytes / 4) : 5'd0)
                     + (token_i.is_ipv6 ? 5'(Ipv6Bytes / 4) : 5'(Ipv4Bytes / 4))
                     + 5'(info.extension_bytes[5:2])
                     // The payload of an ATOMIC WRITE is behind its header in the token.
                     + (info.operation == BthOperationAtomicWrite ? 5'(AtomicBytes / 8'd4) : 5'd0);
      end_words_d = 11'(header_words_d) + token_i.payload_bytes[12:2] + 11'(token_i.payload_bytes[1:0] != '0);
      payload_left_d = (14 - LaneBits)'(token_i.payload_bytes[12:LaneBits]) + (14 - LaneBits)'(partial_bytes != '0);
      index_d = '0;
    end else begin
      if (last1_q) valid1_d = 1'b0;
      payload_left_d = payload_left1_q - (14 - LaneBits)'(payload_ready1_q);
      index_d = index1_q + 1'b1;
    end
    last_d = index_d == beat_of(end_words_d);
    payload_ready_d = valid1_d && index_d >= payload_beat(header_words_d) && payload_left_d != '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_q <= 1'b0;
      valid1_q <= 1'b0;
      payload_ready1_q <= 1'b0;
    end else begin
      ready_q <= m_axis_tready_i;
      valid1_q <= valid1_d;
      payload_ready1_q <= payload_ready_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) token1_q <= token_i;
    header_words1_q <= header_words_d;
    end_words1_q <= end_words_d;
    payload_left1_q <= payload_left_d;
    index1_q <= index_d;
    last1_q <= last_d;
  end

  // Stage 1: the beat's part of the headers. The IPv4 checksum is still zero.
  ethernet_t ethernet;
  vlan_tag_t tag;
  ipv4_t ip4;
  ipv6_t ip6;
  udp_t udp;
  bth_t bth;
  ethertype_e ethertype;
  logic [10:0] ip_words;   // from the IP header to the end of the ICRC
  logic [10:0] udp_words;  // from the UDP header
  logic [8*L4Bytes-1:0] l4;
  logic [8*(Ipv6Bytes+L4Bytes)-1:0] l3;
  logic [8*RxHeaderBytes-1:0] header;
  logic [HeaderBeats-1:0][DataBits-1:0] headers;

  always_comb begin
    ip_words = '0;
    udp_words = '0;
    ethertype = EthertypeIpv4;
    ethernet = '0;
    tag = '0;
    ip4 = '0;
    ip6 = '0;
    udp = '0;
    bth = '0;
    l4 = '0;
    l3 = '0;
    header = '0;
    headers = '0;
    if (valid1_q || vireo_common_pkg::Synthesis) begin
      ip_words = end_words1_q + 11'(IcrcWords) - 11'(EthernetWords)
               - (token1_q.vlan_present ? 11'(VlanTagBytes / 4) : 11'd0);
      udp_words = ip_words - (token1_q.is_ipv6 ? 11'(Ipv6Bytes / 4) : 11'(Ipv4Bytes / 4));

      ethertype = token1_q.is_ipv6 ? EthertypeIpv6 : EthertypeIpv4;
      ethernet = '{destination: token1_q.destination_mac, source: token1_q.source_mac,
                   ethertype: token1_q.vlan_present ? EthertypeVlan : ethertype};
      tag = '{pcp: token1_q.vlan_pcp, dei: token1_q.vlan_dei, vid: token1_q.vlan_vid, ethertype: ethertype};
      ip4 = '{version: 4'd4, ihl: 4'(Ipv4Bytes / 4), dscp: token1_q.dscp, ecn: token1_q.ecn,
              total_length: 16'({ip_words, 2'b00}), identification: token1_q.identification, dont_fragment: 1'b1,
              time_to_live: token1_q.hop_limit, protocol: IpProtocolUdp, source: token1_q.ip_source[31:0],
              destination: token1_q.ip_destination[31:0], default: '0};
      ip6 = '{version: 4'd6, dscp: token1_q.dscp, ecn: token1_q.ecn, flow_label: token1_q.flow_label,
              payload_length: 16'({udp_words, 2'b00}), next_header: IpProtocolUdp, hop_limit: token1_q.hop_limit,
              source: token1_q.ip_source, destination: token1_q.ip_destination};
      udp = '{source_port: token1_q.udp_source_port, destination_port: UdpPortRocev2,
              length: 16'({udp_words, 2'b00}), checksum: '0};
      bth = token1_q.bth;
      bth.pad_count = -token1_q.payload_bytes[1:0];

      l4 = {token1_q.extension, pack_bth(bth), pack_udp(udp)};
      l3 = token1_q.is_ipv6 ? {l4, pack_ipv6(ip6)} : $bits(l3)'({l4, pack_ipv4(ip4)});
      header = token1_q.vlan_present ? {l3, pack_vlan_tag(tag), pack_ethernet(ethernet)}
                                     : $bits(header)'({l3, pack_ethernet(ethernet)});
      headers = $bits(headers)'(header);
    end
  end

  // State carried with a beat.
  typedef struct packed {
    logic                last;
    logic                at_end;      // holds the last byte before the ICRC
    logic                short_frame;
    logic                vlan;
    logic                ip6;
    index_t              index;
    logic [WordBits-1:0] icrc_word;   // place of the word behind `at_end`'s
  } beat_t;

  logic valid2_q;
  beat_t beat2_d, beat2_q;
  logic [DataBits-1:0] header2_d, header2_q;
  logic [2:0][17:0] sum2_d, sum2_q;  // of IPv4 header words
  logic [12:0] payload_end2_q;       // offset in the frame
  logic [4:0] header_words2_q;
  logic header_all2_q, header_edge2_q;
  logic [DataBits-1:0] shifted2_q;

  always_comb begin
    header2_d = '0;
    sum2_d = '0;
    beat2_d = '0;
    if (valid1_q || vireo_common_pkg::Synthesis) begin
      for (int unsigned i = 0; i < HeaderBeats; i++) begin
        header2_d = header2_d | (headers[i] & {DataBits{index1_q == index_t'(i)}});
      end

      for (int unsigned i = 0; i < Ipv4Bytes / 2; i++) sum2_d[i%3] = sum2_d[i%3] + 18'(ip4[16*i +: 16]);

      beat2_d.last = last1_q;
      beat2_d.at_end = index1_q == beat_of(end_words1_q - 11'd1);
      beat2_d.short_frame = {end_words1_q, 2'b00} < 13'(32'(EthernetFrameBytesMin) - 32'(IcrcBytes) + WordOffset);
      beat2_d.vlan = token1_q.vlan_present;
      beat2_d.ip6 = token1_q.is_ipv6;
      beat2_d.index = index1_q;
      beat2_d.icrc_word = end_words1_q[WordBits-1:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid2_q <= 1'b0;
    else valid2_q <= valid1_q;
  end

  always_ff @(posedge clk_i) begin
    // Here and below: a stage without a beat keeps its value, and its inputs are zero, so that simulation
    // skips it.
    if (valid1_q) begin
      beat2_q <= beat2_d;
      header2_q <= header2_d;
      shifted2_q <= rotate_words(rotate(payload_data_i, BeatBytes - WordOffset), header_words1_q, 0, EarlyBits);
      sum2_q <= sum2_d;
      payload_end2_q <= {6'h0, header_words1_q, 2'b00} - 13'(WordOffset) + token1_q.payload_bytes;
      header_words2_q <= header_words1_q;
      header_all2_q <= index1_q < payload_beat(header_words1_q);
      header_edge2_q <= index1_q == payload_beat(header_words1_q);
    end
  end

  // Stage 2: the rest of the shift, and the source of each byte of the beat: the headers, this beat of payload or
  // the one before.
  logic valid3_q;
  beat_t beat3_q;
  logic [DataBits-1:0] header3_q;
  logic [DataBits-1:0] shifted3_q;
  logic [19:0] sum3_d, sum3_q;
  logic [LaneBits-1:0] payload_lane;
  logic payload_all, payload_edge;
  logic below, in_payload;  // of one lane
  logic [BeatBytes-1:0] from_header3_d, from_header3_q;
  logic [BeatBytes-1:0] from_beat3_d, from_beat3_q;
  logic [BeatBytes-1:0] from_previous3_d, from_previous3_q;

  always_comb begin
    sum3_d = '0;
    payload_lane = '0;
    payload_all = 1'b0;
    payload_edge = 1'b0;
    below = 1'b0;
    in_payload = 1'b0;
    from_header3_d = '0;
    from_beat3_d = '0;
    from_previous3_d = '0;
    if (valid2_q || vireo_common_pkg::Synthesis) begin
      sum3_d = 20'(sum2_q[0]) + 20'(sum2_q[1]) + 20'(sum2_q[2]);

      payload_lane = {header_words2_q[WordBits-1:0], 2'b00} - LaneBits'(WordOffset);
      payload_all = beat2_q.index < index_t'(payload_end2_q[12:LaneBits]);
      payload_edge = beat2_q.index == index_t'(payload_end2_q[12:LaneBits]);
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        below = LaneBits'(i) < payload_lane;
        in_payload = payload_all || (payload_edge && LaneBits'(i) < payload_end2_q[LaneBits-1:0]);
        from_header3_d[i] = header_all2_q || (header_edge2_q && below);
        from_beat3_d[i] = !header_all2_q && !below && in_payload;
        from_previous3_d[i] = !header_all2_q && !header_edge2_q && below && in_payload;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid3_q <= 1'b0;
    else valid3_q <= valid2_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid2_q) begin
      beat3_q <= beat2_q;
      header3_q <= header2_q;
      shifted3_q <= rotate_words(shifted2_q, header_words2_q, EarlyBits, WordBits);
      sum3_q <= sum3_d;
      from_header3_q <= from_header3_d;
      from_beat3_q <= from_beat3_d;
      from_previous3_q <= from_previous3_d;
    end
  end

  // Stage 3: the beat as sent, except for the ICRC.
  logic valid4_q;
  beat_t beat4_q;
  logic [DataBits-1:0] previous_q;
  logic [16:0] folded;
  logic [15:0] checksum;
  logic [DataBits-1:0] header3;
  logic [DataBits-1:0] data4_q;
  logic [BeatBytes-1:0] keep4_q;

  always_comb begin
    folded = '0;
    checksum = '0;
    header3 = '0;
    if (valid3_q || vireo_common_pkg::Synthesis) begin
      // The carries are added back; so may the one that this produces, which cannot produce another. [RFC 1071, 2]
      folded = {1'b0, sum3_q[15:0]} + 17'(sum3_q[19:16]);
      checksum = ~(folded[15:0] + 16'(folded[16]));

      header3 = header3_q;
      if (!beat3_q.ip6) begin
        if (!beat3_q.vlan && beat3_q.index == index_t'(ChecksumPlain / BeatBytes)) begin
          header3[8*(ChecksumPlain % BeatBytes) +: 16] = network16(checksum);
        end
        if (beat3_q.vlan && beat3_q.index == index_t'(ChecksumTagged / BeatBytes)) begin
          header3[8*(ChecksumTagged % BeatBytes) +: 16] = network16(checksum);
        end
      end
    end
  end

  function automatic logic [DataBits-1:0] merge(input logic [DataBits-1:0] header_beat,
                                                input logic [DataBits-1:0] beat,
                                                input logic [DataBits-1:0] previous,
                                                input logic [BeatBytes-1:0] from_headers,
                                                input logic [BeatBytes-1:0] from_beat,
                                                input logic [BeatBytes-1:0] from_previous);
    for (int unsigned i = 0; i < BeatBytes; i++) begin
      merge[8*i +: 8] = (header_beat[8*i +: 8] & {8{from_headers[i]}})
                      | (beat[8*i +: 8] & {8{from_beat[i]}})
                      | (previous[8*i +: 8] & {8{from_previous[i]}});
    end
  endfunction

  // The ICRC ends in the middle of a word; the shortest frame is padded to the word's end.
  function automatic logic [BeatBytes-1:0] keep_of(input logic last, input logic short_frame,
                                                   input logic [WordBits-1:0] icrc_word);
    for (int unsigned i = 0; i < BeatBytes; i++) begin
      keep_of[i] = !last || LaneBits'(i) < {icrc_word, 1'b1, 1'b0}
                || (short_frame && LaneBits'(i / 4) == LaneBits'(icrc_word));
    end
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid4_q <= 1'b0;
    else valid4_q <= valid3_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid3_q) begin
      beat4_q <= beat3_q;
      previous_q <= shifted3_q;
      data4_q <= merge(header3, shifted3_q, previous_q, from_header3_q, from_beat3_q, from_previous3_q);
      keep4_q <= keep_of(beat3_q.last, beat3_q.short_frame, beat3_q.icrc_word);
    end
  end

  vireo_icrc_insert #(
    .Config(Config)
  ) u_icrc_insert (
    .clk_i,
    .rst_ni,
    .valid_i(valid4_q),
    .data_i(data4_q),
    .keep_i(keep4_q),
    .last_i(beat4_q.last),
    .index_i(beat4_q.index),
    .vlan_i(beat4_q.vlan),
    .ip6_i(beat4_q.ip6),
    .end_i(beat4_q.at_end),
    .icrc_word_i(beat4_q.icrc_word),
    .m_axis_tvalid_o,
    .m_axis_tdata_o,
    .m_axis_tkeep_o,
    .m_axis_tlast_o
  );

  // Unused bits.
  logic unused;
  assign unused = ^{info, token1_q.bth.pad_count, beat4_q.short_frame};

`ifndef SYNTHESIS
  logic in_frame_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) in_frame_q <= 1'b0;
    else in_frame_q <= m_axis_tvalid_o && !m_axis_tlast_o;
  end

  assert property (@(posedge clk_i) payload_ready_o |-> payload_valid_i)
  else $error("the payload is not there");
  assert property (@(posedge clk_i) accept |-> 32'(token_i.payload_bytes) <= TxPayloadBytes)
  else $error("more payload than the largest path MTU");
  assert property (@(posedge clk_i) in_frame_q |-> m_axis_tvalid_o)
  else $error("a frame was interrupted");
`endif

endmodule
