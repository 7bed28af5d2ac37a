// SPDX-License-Identifier: Apache-2.0

// Identifies RoCEv2 among received Ethernet frames, performs every stateless check (lengths, IP header, ICRC, BTH
// version, opcode) and outputs the result in one token per frame. It observes the stream and does not forward it:
// payload is stored elsewhere and found by the token's offsets. It has no queue pair state, so the transport checks
// keys, sequence numbers and the payload length against the path MTU.
//
// It never stalls and takes a beat in every cycle, also when every beat is a frame. The token is a pulse
// RxParserLatency cycles after the frame's last beat; the consumer must accept it.
module vireo_rx_parser
  import vireo_spec_pkg::*;
  import vireo_common_pkg::network16;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  // Frames without check sequence, at most 65,535 bytes.
  input  logic                  s_axis_tvalid_i,
  output logic                  s_axis_tready_o,  // always 1
  input  logic [DataBits-1:0]   s_axis_tdata_i,   // byte k of the beat in [8k +: 8]
  input  logic [DataBits/8-1:0] s_axis_tkeep_i,   // all ones except in the last beat, there ones from bit 0 upwards
  input  logic                  s_axis_tlast_i,
  input  logic                  s_axis_tuser_i,   // with tlast: the MAC reported an error
  input  logic                  roce_i,           // with tlast; 0: no frame is RoCE, every good one is `net`

  output logic                  token_valid_o,
  output rx_token_t             token_o           // with token_valid_o
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned IndexBits = 16 - LaneBits;
  localparam int unsigned HeaderBits = 8 * RxHeaderBytes;
  localparam int unsigned HeaderBeats = (RxHeaderBytes + BeatBytes - 1) / BeatBytes;

  // Beats are delayed so that header fields need only two stages of their own before the ICRC: up to 512 bits, a
  // beat is narrower than the headers.
  localparam int unsigned BeatDelay = RxParserLatency - 3;

  // IP header and the headers after it, as far as the parser examines them.
  localparam int unsigned L3Bytes = RxHeaderBytes - EthernetBytes - VlanTagBytes;
  localparam int unsigned L4Bytes = L3Bytes - Ipv6Bytes;
  // Bytes after the IP header of every RoCEv2 datagram.
  localparam int unsigned FixedBytes = UdpBytes + BthBytes + 32'(IcrcBytes);
  // IPv4 header length in words, without options and maximum.
  localparam int unsigned MinIhl = Ipv4Bytes / 4;
  localparam int unsigned MaxIhl = 15;

  assign s_axis_tready_o = 1'b1;

  logic icrc_valid, icrc_ok;

  vireo_icrc #(
    .Config(Config)
  ) u_icrc (
    .clk_i,
    .rst_ni,
    .s_axis_tvalid_i,
    .s_axis_tdata_i,
    .s_axis_tlast_i,
    .valid_o(icrc_valid),
    .ok_o(icrc_ok)
  );

  // Beats, delayed. Bytes without tkeep are zero from here on.
  typedef struct packed {
    logic                 last;
    logic                 bad;
    logic                 roce;
    logic [IndexBits-1:0] index;
    logic [LaneBits:0]    bytes;
    logic [DataBits-1:0]  data;
  } beat_t;

  function automatic logic [DataBits-1:0] kept(input logic [DataBits-1:0] data, input logic [BeatBytes-1:0] keep);
    for (int unsigned i = 0; i < BeatBytes; i++) kept[8*i +: 8] = data[8*i +: 8] & {8{keep[i]}};
  endfunction

  logic [IndexBits-1:0] next_index_d, next_index_q;
  logic [BeatDelay-1:0] beat_valid_q;
  beat_t [BeatDelay-1:0] beat_q;  // [0] youngest; without a beat they keep their values

  always_comb begin
    next_index_d = next_index_q;
    if (s_axis_tvalid_i) next_index_d = s_axis_tlast_i ? '0 : next_index_q + 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_index_q <= '0;
      beat_valid_q <= '0;
    end else begin
      next_index_q <= next_index_d;
      beat_valid_q <= {beat_valid_q[BeatDelay-2:0], s_axis_tvalid_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_axis_tvalid_i) begin
      beat_q[0] <= '{last: s_axis_tlast_i, bad: s_axis_tuser_i, roce: roce_i, index: next_index_q,
                     bytes: (LaneBits + 1)'($countones(s_axis_tkeep_i)), data: kept(s_axis_tdata_i, s_axis_tkeep_i)};
    end
    for (int unsigned k = 1; k < BeatDelay; k++) begin
      if (beat_valid_q[k-1]) beat_q[k] <= beat_q[k-1];
    end
  end

  // The frame's headers; bytes after its end are zero.
  logic valid_in;
  beat_t beat_in;
  logic [HeaderBits-1:0] header_d, header_q;
  logic header_done_d, header_done_q;
  logic bad_q, roce_q;
  logic [15:0] frame_bytes_d, frame_bytes_q;
  logic vlan_d, vlan_q;
  logic ip4_d, ip4_q;
  logic ip6_d, ip6_q;
  logic roce_v1_d, roce_v1_q;

  assign valid_in = beat_valid_q[BeatDelay-1];
  assign beat_in = beat_q[BeatDelay-1];

  for (genvar k = 0; k < HeaderBeats; k++) begin : gen_header
    localparam int unsigned Left = HeaderBits - DataBits * k;
    localparam int unsigned Bits = Left < DataBits ? Left : DataBits;
    always_comb begin
      // Results of a stage are zero without a beat or a frame, here and below, so that simulation skips them.
      header_d[DataBits*k +: Bits] = '0;
      if (valid_in || vireo_common_pkg::Synthesis) begin
        if (beat_in.index == IndexBits'(k)) header_d[DataBits*k +: Bits] = beat_in.data[Bits-1:0];
        else if (beat_in.index != '0) header_d[DataBits*k +: Bits] = header_q[DataBits*k +: Bits];
      end
    end
  end

  logic [15:0] ethertype;

  always_comb begin
    header_done_d = valid_in && beat_in.last;
    frame_bytes_d = '0;
    vlan_d = 1'b0;
    ethertype = '0;
    ip4_d = 1'b0;
    ip6_d = 1'b0;
    roce_v1_d = 1'b0;
    if (valid_in || vireo_common_pkg::Synthesis) begin
      frame_bytes_d = {beat_in.index, LaneBits'(0)} + 16'(beat_in.bytes);
      // A field that the frame does not hold completely is treated as absent.
      vlan_d = network16(header_d[8*EthernetEthertypeOffset +: 16]) == EthertypeVlan
            && frame_bytes_d >= 16'(EthernetBytes + VlanTagBytes);
      ethertype = vlan_d ? network16(header_d[8*(EthernetBytes + VlanTagEthertypeOffset) +: 16])
                         : network16(header_d[8*EthernetEthertypeOffset +: 16]);
      ip4_d = ethertype == EthertypeIpv4 && frame_bytes_d >= 16'(EthernetBytes);
      ip6_d = ethertype == EthertypeIpv6 && frame_bytes_d >= 16'(EthernetBytes);
      roce_v1_d = ethertype == EthertypeRoceV1 && frame_bytes_d >= 16'(EthernetBytes);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) header_done_q <= 1'b0;
    else header_done_q <= header_done_d;
  end

  always_ff @(posedge clk_i) begin
    if (valid_in) begin
      header_q <= header_d;
      bad_q <= beat_in.bad;
      roce_q <= beat_in.roce;
      frame_bytes_q <= frame_bytes_d;
      vlan_q <= vlan_d;
      ip4_q <= ip4_d;
      ip6_q <= ip6_d;
      roce_v1_q <= roce_v1_d;
    end
  end

  // The checks, independent of each other; the verdict orders them.
  typedef struct packed {
    logic roce_v1;
    logic net;
    logic truncated;
    logic ip_header;
    logic ip_fragment;
    logic udp_length;
    logic transport_version;
    logic opcode;
    logic length;
  } checks_t;

  ethernet_t ethernet;
  vlan_tag_t tag;
  logic [8*L3Bytes-1:0] l3;
  logic [8*L4Bytes-1:0] l4;
  ipv4_t ip4;
  ipv6_t ip6;
  udp_t udp;
  bth_t bth;
  opcode_info_t info;
  logic [4:0] l3_offset;
  logic [3:0] ip_words;            // length of the IP header in 4-byte words
  logic [16:0] ip_bytes;           // from the IP header to the end of the ICRC
  logic [16:0] l4_offset;
  logic [15:0] destination_port;
  logic [16:0] payload_bytes;      // negative: no room
  logic [19:0] checksum_d, checksum_q;
  checks_t checks_d, checks_q;
  rx_token_t token1_d, token1_q;
  logic done1_q;

  always_comb begin
    ethernet = '0;
    tag = '0;
    l3 = '0;
    l4 = '0;
    ip4 = '0;
    ip6 = '0;
    udp = '0;
    bth = '0;
    info = '0;
    l3_offset = '0;
    ip_words = '0;
    ip_bytes = '0;
    l4_offset = '0;
    destination_port = '0;
    checksum_d = '0;
    payload_bytes = '0;
    if (header_done_q || vireo_common_pkg::Synthesis) begin
      ethernet = unpack_ethernet(header_q[0 +: 8*EthernetBytes]);
      tag = unpack_vlan_tag(header_q[8*EthernetBytes +: 8*VlanTagBytes]);
      l3 = vlan_q ? header_q[8*(EthernetBytes + VlanTagBytes) +: 8*L3Bytes] : header_q[8*EthernetBytes +: 8*L3Bytes];
      l4 = ip6_q ? l3[8*Ipv6Bytes +: 8*L4Bytes] : l3[8*Ipv4Bytes +: 8*L4Bytes];
      ip4 = unpack_ipv4(l3[0 +: 8*Ipv4Bytes]);
      ip6 = unpack_ipv6(l3[0 +: 8*Ipv6Bytes]);
      udp = unpack_udp(l4[0 +: 8*UdpBytes]);
      bth = unpack_bth(l4[8*UdpBytes +: 8*BthBytes]);
      info = opcode_info(bth.opcode);

      l3_offset = 5'(EthernetBytes + (vlan_q ? VlanTagBytes : 0));
      // An IPv4 header with a length below the minimum is parsed as one without options, and refused
      // below.
      ip_words = ip6_q ? 4'(Ipv6Bytes / 4) : ip4.ihl < 4'(MinIhl) ? 4'(MinIhl) : ip4.ihl;
      ip_bytes = ip6_q ? 17'(ip6.payload_length) + 17'(Ipv6Bytes) : 17'(ip4.total_length);
      l4_offset = 17'(l3_offset) + 17'({ip_words, 2'b00});

      // Also after IPv4 options, so that such packets are counted and do not reach the host as unrelated traffic.
      for (int unsigned i = MinIhl; i <= MaxIhl; i++) begin
        if (ip_words == 4'(i)) destination_port = network16(l3[8*(4*i + UdpDestinationPortOffset) +: 16]);
      end

      // The sum is symmetric in byte order (RFC 1071, 1), so the words need not be swapped.
      for (int unsigned i = 0; i < Ipv4Bytes / 2; i++) checksum_d += 20'(l3[16*i +: 16]);

      payload_bytes = 17'(udp.length) - 17'(FixedBytes) - 17'(info.extension_bytes) - 17'(bth.pad_count);
    end
  end

  always_comb begin
    checks_d = '0;
    token1_d = '0;
    if (header_done_q || vireo_common_pkg::Synthesis) begin
      checks_d.roce_v1 = roce_v1_q && roce_q;
      // A port is valid only if frame and datagram hold it. A later fragment has none (RFC 791, 3.2).
      checks_d.net = !roce_q
                  || !((ip4_q && ip4.protocol == IpProtocolUdp && ip4.fragment_offset == '0)
                       || (ip6_q && ip6.next_header == IpProtocolUdp))
                  || destination_port != UdpPortRocev2
                  || 17'(frame_bytes_q) < l4_offset + 17'(UdpDestinationPortOffset + 2)
                  || ip_bytes < 17'({ip_words, 2'b00}) + 17'(UdpDestinationPortOffset + 2);
      checks_d.truncated = 17'(frame_bytes_q) < 17'(l3_offset) + ip_bytes
                        || ip_bytes < 17'({ip_words, 2'b00}) + 17'(FixedBytes);
      // The IPv4 checksum follows a stage later.
      checks_d.ip_header = ip6_q ? ip6.version != 4'd6 : ip4.version != 4'd4 || ip4.ihl != 4'(MinIhl);
      checks_d.ip_fragment = !ip6_q && ip4.more_fragments;
      checks_d.udp_length = 17'(udp.length) + 17'({ip_words, 2'b00}) != ip_bytes;
      checks_d.transport_version = bth.transport_version != '0;
      checks_d.opcode = !info.valid && bth.opcode[7:5] != BthServiceRc;
      checks_d.length = payload_bytes[16];

      token1_d.verdict = bad_q ? RxVerdictTruncated : RxVerdictRoce;
      token1_d.frame_bytes = frame_bytes_q;
      token1_d.destination_mac = ethernet.destination;
      token1_d.source_mac = ethernet.source;
      token1_d.vlan_present = vlan_q;
      {token1_d.vlan_pcp, token1_d.vlan_dei, token1_d.vlan_vid} = vlan_q ? {tag.pcp, tag.dei, tag.vid} : '0;
      token1_d.is_ipv6 = ip6_q;
      token1_d.l3_offset = l3_offset;
      token1_d.bth_offset = 7'(l4_offset) + 7'(UdpBytes);
      token1_d.payload_offset = 7'(l4_offset) + 7'(UdpBytes + BthBytes) + 7'(info.extension_bytes);
      token1_d.payload_bytes = payload_bytes[15:0];
      token1_d.dscp = ip6_q ? ip6.dscp : ip4.dscp;
      token1_d.ecn = ip6_q ? ip6.ecn : ip4.ecn;
      token1_d.hop_limit = ip6_q ? ip6.hop_limit : ip4.time_to_live;
      token1_d.ip_source = ip6_q ? ip6.source : mapped_ipv4(ip4.source);
      token1_d.ip_destination = ip6_q ? ip6.destination : mapped_ipv4(ip4.destination);
      token1_d.udp_source_port = udp.source_port;
      token1_d.bth = bth;
      for (int unsigned i = 0; i < RxExtensionBytes; i++) begin
        token1_d.extension[8*i +: 8] = l4[8*(UdpBytes + BthBytes + i) +: 8] & {8{6'(i) < info.extension_bytes}};
      end
      // Of another length it is refused.
      if (info.operation == BthOperationAtomicWrite && payload_bytes == 17'(AtomicBytes)) begin
        token1_d.extension[8*RethBytes +: 8*AtomicBytes] = l4[8*(UdpBytes + BthBytes + RethBytes) +: 8*AtomicBytes];
      end
      // The RETH where others have it: the FETH is behind it.
      if (info.operation == BthOperationFlush) begin
        token1_d.extension[8*RethBytes-1:0] = l4[8*(UdpBytes + BthBytes + FethBytes) +: 8*RethBytes];
        token1_d.extension[8*RethBytes +: 8*FethBytes] = l4[8*(UdpBytes + BthBytes) +: 8*FethBytes];
      end
      token1_d.info = info;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done1_q <= 1'b0;
    else done1_q <= header_done_q;
  end

  always_ff @(posedge clk_i) begin
    if (header_done_q) begin
      checksum_q <= checksum_d;
      checks_q <= checks_d;
      token1_q <= token1_d;
    end
  end

  // Verdict: the first check that applies. The ICRC's result arrives here.
  logic checksum_ok;
  rx_verdict_e verdict;
  rx_token_t token2_d, token2_q;
  logic done2_q;

  always_comb begin
    checksum_ok = 1'b0;
    verdict = RxVerdictRoce;
    token2_d = '0;
    if (done1_q || vireo_common_pkg::Synthesis) begin
      // One addition of the carries is enough: ten words carry at most 9, so that the sum cannot carry again and be all
      // ones.
      checksum_ok = {1'b0, checksum_q[15:0]} + 17'(checksum_q[19:16]) == 17'hffff;

      if (token1_q.verdict != RxVerdictRoce) verdict = token1_q.verdict;
      else if (checks_q.roce_v1) verdict = RxVerdictTransportVersion;
      else if (checks_q.net) verdict = RxVerdictNet;
      else if (checks_q.truncated) verdict = RxVerdictTruncated;
      else if (checks_q.ip_header || (!token1_q.is_ipv6 && !checksum_ok)) verdict = RxVerdictIpHeader;
      else if (checks_q.ip_fragment) verdict = RxVerdictIpFragment;
      else if (checks_q.udp_length) verdict = RxVerdictUdpLength;
      else if (!icrc_ok) verdict = RxVerdictIcrc;
      else if (checks_q.transport_version) verdict = RxVerdictTransportVersion;
      else if (checks_q.opcode) verdict = RxVerdictOpcode;
      else if (checks_q.length) verdict = RxVerdictLength;
      else verdict = RxVerdictRoce;

      token2_d = token1_q;
      if (verdict != RxVerdictRoce) begin
        token2_d = '0;
        token2_d.frame_bytes = token1_q.frame_bytes;
        token2_d.destination_mac = token1_q.destination_mac;
        token2_d.source_mac = token1_q.source_mac;
        token2_d.vlan_present = token1_q.vlan_present;
        token2_d.vlan_pcp = token1_q.vlan_pcp;
        token2_d.vlan_dei = token1_q.vlan_dei;
        token2_d.vlan_vid = token1_q.vlan_vid;
        token2_d.is_ipv6 = token1_q.is_ipv6;
        token2_d.l3_offset = token1_q.l3_offset;
      end
      token2_d.verdict = verdict;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done2_q <= 1'b0;
    else done2_q <= done1_q;
  end

  always_ff @(posedge clk_i) begin
    if (done1_q) token2_q <= token2_d;
  end

  assign token_valid_o = done2_q;
  assign token_o = token2_q;

  // Fields that are unused, or that the ICRC unit parses itself.
  logic unused;
  assign unused = ^{icrc_valid, ethernet.ethertype, tag.ethertype, ip4.identification,
                    ip4.reserved, ip4.dont_fragment, ip4.header_checksum, ip6.flow_label, udp.destination_port,
                    udp.checksum};

endmodule
