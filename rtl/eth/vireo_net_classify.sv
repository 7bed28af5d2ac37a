// SPDX-License-Identifier: Apache-2.0

// Classifies received Ethernet frames for the net path: destination MAC address, VLAN, a hash of the flow, and whether
// the TCP or UDP checksum is correct. Observes the beats, stores no frame and makes no filter decision.
//
// Takes one beat per cycle without backpressure, also if every beat is a whole frame. The class is a pulse
// NetClassifyLatency cycles after the last beat in which there may be headers, whether the checksum is correct another
// one NetClassifyLatency cycles after the frame's last beat; they cannot be stalled.
//
// Header offsets depend on the headers before them. Each beat therefore travels through the pipeline with the headers
// received so far, from which stage 4 derives which 16-bit words of the beat are addresses, ports or L4 data. With a
// datapath of at least 64 bits, a header field is never in a later beat than the words whose meaning it determines.
module vireo_net_classify
  import vireo_spec_pkg::*;
  import vireo_common_pkg::network16;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  // Frames without FCS, 1 to 16,383 bytes.
  input  logic                valid_i,
  input  logic [DataBits-1:0] data_i,        // byte k in [8k +: 8]; undefined after the frame's last byte
  input  logic                last_i,
  input  logic [13:0]         bytes_i,       // length of the frame; the same in all its beats

  output logic                class_valid_o,
  output logic                checked_o,     // class_o.checksum_valid is valid; not before class_valid_o of its frame
  output net_class_t          class_o        // the other fields: with class_valid_o
);

  // Cycles from a beat at the input to what is known with it at the output: the number of stages below.
  // model/eth/net_classify.h has the same constant; the block test compares them.
  localparam int unsigned NetClassifyLatency = 10;

  // Fibonacci hashing: 2^16 / golden ratio, odd. Multiplication by it is a bijection whose upper bits depend on all
  // input bits. [Knuth, The Art of Computer Programming vol. 3, 6.4]
  localparam logic [15:0] HashFactor = 16'h9e37;

  // Without options [RFC 9293, 3.1]. The checksum field needs no offset: it is included in the sum.
  localparam int unsigned TcpBytes = 20;
  // Source and destination port; at the same offset in TCP and UDP.
  localparam int unsigned PortBytes = 4;
  // IPv4 header length in words, without options.
  localparam int unsigned MinIhl = Ipv4Bytes / 4;

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned IndexBits = 14 - LaneBits;
  localparam int unsigned Words = BeatBytes / 2;
  localparam int unsigned Groups = Words / 4;
  localparam int unsigned Quads = (Groups + 3) / 4;

  // Bytes captured from the start of a frame: up to the end of the fixed IPv4 header, which includes the IPv6 fields
  // that are used.
  localparam int unsigned L3Bytes = Ipv4Bytes;
  localparam int unsigned HeaderBytes = EthernetBytes + VlanTagBytes + L3Bytes;
  localparam int unsigned HeaderBits = 8 * HeaderBytes;
  localparam int unsigned HeaderBeats = (HeaderBytes + BeatBytes - 1) / BeatBytes;
  // Up to the ports behind the longest IPv4 header: the class of a frame is known with these beats.
  localparam int unsigned ClassBytes = EthernetBytes + VlanTagBytes + 4 * 15 + PortBytes;
  localparam int unsigned ClassBeats = (ClassBytes + BeatBytes - 1) / BeatBytes;

  // Valid bits of the stages: valid_q for every beat, known_q for the beat with which the class of its frame is known,
  // done_q for the last beat of a frame only.
  logic [7:1] valid_q;
  logic [10:8] known_q, done_q;

  typedef struct packed {
    logic                 last;
    logic [IndexBits-1:0] index;
  } beat_t;

  logic [DataBits-1:0] data1_q, data2_q, data3_q, data4_q;
  beat_t beat1_d, beat1_q, beat2_q, beat3_q;
  logic [13:0] bytes1_q, bytes2_q;  // of the frame

  // --- Stage 1: registers the beat and captures the headers; bytes after the frame's end are zero --------------------

  logic [IndexBits-1:0] next_index_d, next_index_q;
  logic [HeaderBits-1:0] header_d, header_q;

  always_comb begin
    next_index_d = next_index_q;
    if (valid_i) next_index_d = last_i ? '0 : next_index_q + 1'b1;
    beat1_d.last = last_i;
    beat1_d.index = next_index_q;
  end

  for (genvar k = 0; k < HeaderBeats; k++) begin : gen_header
    localparam int unsigned Left = HeaderBytes - BeatBytes * k;
    localparam int unsigned Bytes = Left < BeatBytes ? Left : BeatBytes;
    always_comb begin
      header_d[DataBits*k +: 8*Bytes] = '0;
      if (valid_i && next_index_q == IndexBits'(k)) begin
        for (int unsigned i = 0; i < Bytes; i++) begin
          header_d[DataBits*k + 8*i +: 8] = data_i[8*i +: 8] & {8{bytes_i > 14'(BeatBytes*k + i)}};
        end
      end else if (valid_i && next_index_q != '0) begin
        header_d[DataBits*k +: 8*Bytes] = header_q[DataBits*k +: 8*Bytes];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_index_q <= '0;
      valid_q <= '0;
    end else begin
      next_index_q <= next_index_d;
      valid_q <= {valid_q[6:1], valid_i};
    end
  end

  always_ff @(posedge clk_i) begin
    // In all stages, registers without a valid beat hold their value and their logic inputs are gated.
    if (valid_i) begin
      data1_q <= data_i;
      beat1_q <= beat1_d;
      bytes1_q <= bytes_i;
      header_q <= header_d;
    end
  end

  // --- Stage 2: Ethernet header and tag ------------------------------------------------------------------------------

  typedef struct packed {
    logic [47:0] destination;
    logic        vlan;
    logic [11:0] vid;
  } ethernet_facts_t;

  ethernet_t ethernet;
  vlan_tag_t tag;
  logic [15:0] ethertype;
  ethernet_facts_t facts2_d, facts2_q;
  logic ip4_type_d, ip4_type_q;
  logic ip6_type_d, ip6_type_q;
  logic [15:0] mac_xor_d, mac_xor_q;
  logic [8*L3Bytes-1:0] l3_d, l3_q;

  always_comb begin
    ethernet = '0;
    tag = '0;
    facts2_d = '0;
    ethertype = '0;
    ip4_type_d = 1'b0;
    ip6_type_d = 1'b0;
    l3_d = '0;
    mac_xor_d = '0;
    if (valid_q[1]) begin
      ethernet = unpack_ethernet(header_q[0 +: 8*EthernetBytes]);
      tag = unpack_vlan_tag(header_q[8*EthernetBytes +: 8*VlanTagBytes]);
      facts2_d.destination = header_q[0 +: 48];
      // A truncated tag does not count as a tag.
      facts2_d.vlan = ethernet.ethertype == EthertypeVlan && bytes1_q >= 14'(EthernetBytes + VlanTagBytes);
      facts2_d.vid = facts2_d.vlan ? tag.vid : '0;
      ethertype = facts2_d.vlan ? tag.ethertype : ethernet.ethertype;
      ip4_type_d = ethertype == EthertypeIpv4;
      ip6_type_d = ethertype == EthertypeIpv6;
      l3_d = facts2_d.vlan ? header_q[8*(EthernetBytes + VlanTagBytes) +: 8*L3Bytes]
                           : header_q[8*EthernetBytes +: 8*L3Bytes];
      for (int unsigned i = 0; i < EthernetEthertypeOffset / 2; i++) mac_xor_d ^= network16(header_q[16*i +: 16]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[1]) begin
      data2_q <= data1_q;
      beat2_q <= beat1_q;
      bytes2_q <= bytes1_q;
      facts2_q <= facts2_d;
      ip4_type_q <= ip4_type_d;
      ip6_type_q <= ip6_type_d;
      mac_xor_q <= mac_xor_d;
      l3_q <= l3_d;
    end
  end

  // --- Stage 3: IP header --------------------------------------------------------------------------------------------

  // Properties of the frame; final with its last beat.
  typedef struct packed {
    ethernet_facts_t ethernet;
    logic [15:0]     hash_seed;   // hash input that is no word of the IP packet
    logic            checkable;   // all lengths are consistent, so the checksums can be verified
    logic            ip4;
    logic            udp;
    logic [13:0]     l4_bytes;    // if checkable
    logic [14:0]     pseudo;      // pseudo-header sum without the addresses; if checkable
  } facts_t;

  // Header offsets in bytes from the start of the frame; all but l4_end are even.
  typedef struct packed {
    logic        ip4;
    logic        ip;
    logic        ports;          // the frame has ports, and they are part of the hash
    logic [5:0]  l3;
    logic [5:0]  addresses;
    logic [5:0]  addresses_end;
    logic [6:0]  l4;
    logic [13:0] l4_end;         // if checkable
  } places_t;

  ipv4_t ip4;
  logic [7:0] protocol;
  logic [5:0] ip_header_bytes;
  logic [16:0] ip_bytes;  // IP header and payload
  logic [16:0] l4_bytes;
  logic [16:0] ip_end;
  logic fragment, tcp, udp;
  places_t places_d, places_q;
  facts_t facts3_d;
  facts_t [9:3] facts_q;

  always_comb begin
    ip4 = '0;
    protocol = '0;
    ip_header_bytes = '0;
    ip_bytes = '0;
    l4_bytes = '0;
    ip_end = '0;
    fragment = 1'b0;
    tcp = 1'b0;
    udp = 1'b0;
    places_d = '0;
    facts3_d = '0;
    if (valid_q[2]) begin
      ip4 = unpack_ipv4(l3_q[0 +: 8*Ipv4Bytes]);
      protocol = ip6_type_q ? l3_q[8*Ipv6NextHeaderOffset +: 8] : ip4.protocol;
      ip_header_bytes = ip6_type_q ? 6'(Ipv6Bytes) : {ip4.ihl, 2'b00};
      ip_bytes = ip6_type_q ? 17'(network16(l3_q[8*Ipv6PayloadLengthOffset +: 16])) + 17'(Ipv6Bytes)
                            : 17'(ip4.total_length);
      l4_bytes = ip_bytes - 17'(ip_header_bytes);

      places_d.l3 = facts2_q.vlan ? 6'(EthernetBytes + VlanTagBytes) : 6'(EthernetBytes);
      places_d.l4 = 7'(places_d.l3) + 7'(ip_header_bytes);
      ip_end = 17'(places_d.l3) + ip_bytes;
      places_d.l4_end = ip_end[13:0];
      places_d.addresses = places_d.l3 + (ip6_type_q ? 6'(Ipv6SourceOffset) : 6'(Ipv4SourceOffset));
      places_d.addresses_end = places_d.l3 + (ip6_type_q ? 6'(Ipv6Bytes) : 6'(Ipv4Bytes));

      // The version field is at the same offset in both [RFC 791, 3.1; RFC 8200, 3]. A truncated header does not count
      // as an IP header.
      places_d.ip4 = ip4_type_q && ip4.version == 4'd4 && ip4.ihl >= 4'(MinIhl) && bytes2_q >= 14'(places_d.l4);
      places_d.ip = places_d.ip4 || (ip6_type_q && ip4.version == 4'd6 && bytes2_q >= 14'(places_d.l4));
      fragment = !ip6_type_q && (ip4.more_fragments || ip4.fragment_offset != '0);
      tcp = protocol == IpProtocolTcp;
      udp = protocol == IpProtocolUdp;
      // All packets of a flow must have the same hash. Only the first fragment contains the ports, so fragments are
      // hashed without them. Otherwise ports are used if they lie within both the frame and the IP datagram.
      places_d.ports = places_d.ip && (tcp || udp) && !fragment
                    && bytes2_q >= 14'(places_d.l4) + 14'(PortBytes)
                    && ip_bytes >= 17'(ip_header_bytes) + 17'(PortBytes);

      facts3_d.ethernet = facts2_q;
      facts3_d.hash_seed = !places_d.ip ? mac_xor_q : places_d.ports ? 16'(protocol) : '0;
      facts3_d.ip4 = places_d.ip4;
      facts3_d.udp = udp;
      // If places_d.ports is set, l4_bytes did not underflow.
      facts3_d.checkable = places_d.ports && ip_end <= 17'(bytes2_q)
                        && l4_bytes >= (udp ? 17'(UdpBytes) : 17'(TcpBytes));
      facts3_d.l4_bytes = l4_bytes[13:0];
      facts3_d.pseudo = 15'(l4_bytes[13:0]) + 15'(protocol);
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      data3_q <= data2_q;
      beat3_q <= beat2_q;
      places_q <= places_d;
    end
    // One enable for all stages, so that synthesis infers a shift register.
    if (valid_q != '0 || known_q != '0 || done_q != '0) facts_q <= {facts_q[8:3], facts3_d};
  end

  // --- Stage 4: role of each 16-bit word of the beat -----------------------------------------------------------------

  typedef struct packed {
    logic l4_high;       // first byte is covered by the L4 checksum
    logic l4_low;        // second byte is covered by the L4 checksum
    logic header;        // covered by the IPv4 header checksum
    logic hash;
    logic udp_length;
    logic udp_checksum;
  } word_t;

  // The first lane of beat `index` whose frame offset is `place` or greater; BeatBytes if there is none.
  function automatic logic [LaneBits:0] lane_of(input logic [13:0] place, input logic [IndexBits-1:0] index);
    if (place[13:LaneBits] < index) lane_of = '0;
    else if (place[13:LaneBits] > index) lane_of = (LaneBits + 1)'(BeatBytes);
    else lane_of = {1'b0, place[LaneBits-1:0]};
  endfunction

  logic [LaneBits:0] lane_l3, lane_addresses, lane_addresses_end, lane_l4, lane_ports_end, lane_udp_checksum;
  logic [LaneBits:0] lane_udp_end, lane_l4_end;
  logic address;
  word_t [Words-1:0] words_d, words_q;
  logic [7:4] first_q, known_beat_q, last_q;

  always_comb begin
    lane_l3 = '0;
    lane_addresses = '0;
    lane_addresses_end = '0;
    lane_l4 = '0;
    lane_ports_end = '0;
    lane_udp_checksum = '0;
    lane_udp_end = '0;
    lane_l4_end = '0;
    address = 1'b0;
    words_d = '0;
    if (valid_q[3]) begin
      lane_l3 = lane_of(14'(places_q.l3), beat3_q.index);
      lane_addresses = lane_of(14'(places_q.addresses), beat3_q.index);
      lane_addresses_end = lane_of(14'(places_q.addresses_end), beat3_q.index);
      lane_l4 = lane_of(14'(places_q.l4), beat3_q.index);
      lane_ports_end = lane_of(14'(places_q.l4) + 14'(PortBytes), beat3_q.index);
      lane_udp_checksum = lane_of(14'(places_q.l4) + 14'(UdpChecksumOffset), beat3_q.index);
      lane_udp_end = lane_of(14'(places_q.l4) + 14'(UdpBytes), beat3_q.index);
      lane_l4_end = lane_of(places_q.l4_end, beat3_q.index);
    end
    if (valid_q[3]) for (int unsigned w = 0; w < Words; w++) begin
      address = places_q.ip && (LaneBits + 1)'(2*w) >= lane_addresses && (LaneBits + 1)'(2*w) < lane_addresses_end;
      // The addresses are part of the pseudo-header [RFC 9293, 3.1; RFC 768; RFC 8200, 8.1].
      words_d[w].l4_high = address
          || (places_q.ip && (LaneBits + 1)'(2*w) >= lane_l4 && (LaneBits + 1)'(2*w) < lane_l4_end);
      words_d[w].l4_low = address
          || (places_q.ip && (LaneBits + 1)'(2*w) >= lane_l4 && (LaneBits + 1)'(2*w + 1) < lane_l4_end);
      words_d[w].header = places_q.ip4 && (LaneBits + 1)'(2*w) >= lane_l3 && (LaneBits + 1)'(2*w) < lane_l4;
      words_d[w].hash = address
          || (places_q.ports && (LaneBits + 1)'(2*w) >= lane_l4 && (LaneBits + 1)'(2*w) < lane_ports_end);
      // In UDP, length and checksum follow the ports [RFC 768].
      words_d[w].udp_length = (LaneBits + 1)'(2*w) >= lane_ports_end && (LaneBits + 1)'(2*w) < lane_udp_checksum;
      words_d[w].udp_checksum = (LaneBits + 1)'(2*w) >= lane_udp_checksum && (LaneBits + 1)'(2*w) < lane_udp_end;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      data4_q <= data3_q;
      words_q <= words_d;
    end
    first_q <= {first_q[6:4], beat3_q.index == '0};
    known_beat_q <= {known_beat_q[6:4], beat3_q.index == IndexBits'(ClassBeats - 1)
                                        || (beat3_q.last && beat3_q.index <= IndexBits'(ClassBeats - 1))};
    last_q <= {last_q[6:4], beat3_q.last};
  end

  // --- Stages 5 to 7: adder tree over the words of a beat: 4 words, 16 words, all ------------------------------------

  // Each stage of the tree adds up to four operands, so sums grow by 2 bits per stage.
  logic [Groups-1:0][17:0] l4_sum5_d, l4_sum5_q, header_sum5_d, header_sum5_q;
  logic [Groups-1:0][15:0] hash5_d, hash5_q, udp_length5_d, udp_length5_q;
  logic [Groups-1:0] udp_checksum5_d, udp_checksum5_q;  // UDP checksum is not 0
  logic [Quads-1:0][19:0] l4_sum6_d, l4_sum6_q, header_sum6_d, header_sum6_q;
  logic [Quads-1:0][15:0] hash6_d, hash6_q, udp_length6_d, udp_length6_q;
  logic [Quads-1:0] udp_checksum6_d, udp_checksum6_q;
  logic [21:0] l4_sum7_d, l4_sum7_q, header_sum7_d, header_sum7_q;
  logic [15:0] hash7_d, hash7_q, udp_length7_d, udp_length7_q;
  logic udp_checksum7_q;
  logic [15:0] value, l4_value, header_value;

  always_comb begin
    l4_sum5_d = '0;
    header_sum5_d = '0;
    hash5_d = '0;
    udp_length5_d = '0;
    udp_checksum5_d = '0;
    value = '0;
    l4_value = '0;
    header_value = '0;
    if (valid_q[4]) for (int unsigned w = 0; w < Words; w++) begin
      value = network16(data4_q[16*w +: 16]);
      l4_value = value & {{8{words_q[w].l4_high}}, {8{words_q[w].l4_low}}};
      header_value = value & {16{words_q[w].header}};
      l4_sum5_d[w / 4] += 18'(l4_value);
      header_sum5_d[w / 4] += 18'(header_value);
      hash5_d[w / 4] ^= value & {16{words_q[w].hash}};
      udp_length5_d[w / 4] |= value & {16{words_q[w].udp_length}};
      udp_checksum5_d[w / 4] |= words_q[w].udp_checksum && value != '0;
    end

    l4_sum6_d = '0;
    header_sum6_d = '0;
    hash6_d = '0;
    udp_length6_d = '0;
    udp_checksum6_d = '0;
    if (valid_q[5]) for (int unsigned g = 0; g < Groups; g++) begin
      l4_sum6_d[g / 4] += 20'(l4_sum5_q[g]);
      header_sum6_d[g / 4] += 20'(header_sum5_q[g]);
      hash6_d[g / 4] ^= hash5_q[g];
      udp_length6_d[g / 4] |= udp_length5_q[g];
      udp_checksum6_d[g / 4] |= udp_checksum5_q[g];
    end

    l4_sum7_d = '0;
    header_sum7_d = '0;
    hash7_d = '0;
    udp_length7_d = '0;
    if (valid_q[6]) for (int unsigned g = 0; g < Quads; g++) begin
      l4_sum7_d += 22'(l4_sum6_q[g]);
      header_sum7_d += 22'(header_sum6_q[g]);
      hash7_d ^= hash6_q[g];
      udp_length7_d |= udp_length6_q[g];
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      l4_sum5_q <= l4_sum5_d;
      header_sum5_q <= header_sum5_d;
      hash5_q <= hash5_d;
      udp_length5_q <= udp_length5_d;
      udp_checksum5_q <= udp_checksum5_d;
    end
    if (valid_q[5]) begin
      l4_sum6_q <= l4_sum6_d;
      header_sum6_q <= header_sum6_d;
      hash6_q <= hash6_d;
      udp_length6_q <= udp_length6_d;
      udp_checksum6_q <= udp_checksum6_d;
    end
    if (valid_q[6]) begin
      l4_sum7_q <= l4_sum7_d;
      header_sum7_q <= header_sum7_d;
      hash7_q <= hash7_d;
      udp_length7_q <= udp_length7_d;
      udp_checksum7_q <= udp_checksum6_q != '0;
    end
  end

  // --- Stage 8: accumulates the sums over the beats of a frame -------------------------------------------------------

  // At most 8,191 words for the L4 sum and 30 words for the header sum.
  logic [28:0] l4_sum8_d, l4_sum8_q;
  logic [20:0] header_sum8_d, header_sum8_q;
  logic [15:0] hash8_d, hash8_q, udp_length8_d, udp_length8_q;
  logic udp_checksum8_d, udp_checksum8_q;

  always_comb begin
    l4_sum8_d = '0;
    header_sum8_d = '0;
    hash8_d = '0;
    udp_length8_d = '0;
    udp_checksum8_d = 1'b0;
    if (valid_q[7]) begin
      l4_sum8_d = 29'(l4_sum7_q) + (first_q[7] ? '0 : l4_sum8_q);
      header_sum8_d = header_sum7_q[20:0] + (first_q[7] ? '0 : header_sum8_q);
      hash8_d = hash7_q ^ (first_q[7] ? '0 : hash8_q);
      udp_length8_d = udp_length7_q | (first_q[7] ? '0 : udp_length8_q);
      udp_checksum8_d = udp_checksum7_q || (!first_q[7] && udp_checksum8_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[7]) begin
      l4_sum8_q <= l4_sum8_d;
      header_sum8_q <= header_sum8_d;
      hash8_q <= hash8_d;
      udp_length8_q <= udp_length8_d;
      udp_checksum8_q <= udp_checksum8_d;
    end
  end

  // --- Stages 9 and 10: end-around carry, checksum result, class -----------------------------------------------------

  // A checksum is correct if the ones' complement sum that includes it is 0xffff [RFC 1071, 1]. The carries are folded
  // in once; the result is less than 2 * 0xffff, so 0xffff is the only value of a correct checksum.
  logic [16:0] l4_sum9_d, l4_sum9_q;
  logic header_ok_d, header_ok_q;
  logic udp_ok_d, udp_ok_q;
  logic [15:0] hash9_d, hash9_q;
  net_class_t class_d, class_q;

  always_comb begin
    l4_sum9_d = '0;
    header_ok_d = 1'b0;
    udp_ok_d = 1'b0;
    hash9_d = '0;
    if (done_q[8]) begin
      l4_sum9_d = 17'(l4_sum8_q[15:0]) + 17'(l4_sum8_q[28:16]) + 17'(facts_q[8].pseudo);
      header_ok_d = !facts_q[8].ip4 || 17'(header_sum8_q[15:0]) + 17'(header_sum8_q[20:16]) == 17'hffff;
      // A UDP checksum of 0 means that there is none; IPv6 forbids it [RFC 768; RFC 8200, 8.1].
      udp_ok_d = !facts_q[8].udp || (udp_length8_q == 16'(facts_q[8].l4_bytes) && udp_checksum8_q);
    end
    if (known_q[8]) hash9_d = hash8_q ^ facts_q[8].hash_seed;

    class_d = '0;
    if (known_q[9]) begin
      class_d.destination_mac = facts_q[9].ethernet.destination;
      class_d.vlan_present = facts_q[9].ethernet.vlan;
      class_d.vlan_id = facts_q[9].ethernet.vid;
      class_d.flow_hash = hash9_q * HashFactor;
    end
    if (done_q[9]) begin
      class_d.checksum_valid = Config.net_offloads != 0 && facts_q[9].checkable && header_ok_q && udp_ok_q && l4_sum9_q == 17'hffff;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      known_q <= '0;
      done_q <= '0;
    end else begin
      known_q <= {known_q[9:8], valid_q[7] && known_beat_q[7]};
      done_q <= {done_q[9:8], valid_q[7] && last_q[7]};
    end
  end

  always_ff @(posedge clk_i) begin
    l4_sum9_q <= l4_sum9_d;
    header_ok_q <= header_ok_d;
    udp_ok_q <= udp_ok_d;
    hash9_q <= hash9_d;
    class_q <= class_d;
  end

  assign class_valid_o = known_q[NetClassifyLatency];
  assign checked_o = done_q[NetClassifyLatency];
  assign class_o = class_q;

  // Unused fields.
  logic unused;
  assign unused = ^{ethernet.destination, ethernet.source, tag.pcp, tag.dei, ip4.dscp, ip4.ecn, ip4.identification,
                    ip4.reserved, ip4.dont_fragment, ip4.time_to_live, ip4.header_checksum, ip4.source,
                    ip4.destination, ip_end[16:14], header_sum7_q[21], facts_q[9].hash_seed, facts_q[9].ip4,
                    facts_q[9].udp, facts_q[9].l4_bytes, facts_q[9].pseudo};

endmodule
