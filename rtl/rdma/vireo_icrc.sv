// SPDX-License-Identifier: Apache-2.0

// Checks the invariant CRC of every frame of an Ethernet stream: finds the IP header itself (at most one 802.1Q tag),
// forces the variant bits to ones, stops at the end given by the IP length and outputs one bit per frame. It does not
// decide whether a frame is RoCEv2: ok_o is valid only for a frame that holds a whole RoCEv2 datagram without
// IPv4 options. It never stalls, and it neither generates nor removes an ICRC.
//
// The header needs no look-ahead: EtherType and length always come before, or in the same beat as, the first byte whose
// treatment depends on them. CRC is linear, hence three simplifications: bytes before the IP header are zero and leave
// a zero state alone; the state after the all-ones prefix is a constant XORed into the first four IP bytes; the zero
// bytes after the datagram in its last beat multiply the residue by a constant, looked up by their number.
module vireo_icrc
  import vireo_spec_pkg::*;
  import vireo_common_pkg::network16;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                s_axis_tvalid_i,
  input  logic [DataBits-1:0] s_axis_tdata_i,   // byte k of the beat in [8k +: 8]
  input  logic                s_axis_tlast_i,
  output logic                valid_o,          // one cycle per frame, IcrcLatency cycles after its last beat
  output logic                ok_o              // with valid_o
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  // Where a datagram ends in its frame. A frame has at most 65,535 bytes; a datagram that claims to end later is
  // truncated, regardless of its ICRC.
  localparam int unsigned EndBits = 16;
  localparam int unsigned IndexBits = EndBits - LaneBits;

  // Bytes that determine where the datagram starts and ends: from the EtherType to a tagged IPv6 packet's length field.
  localparam int unsigned TypeOffset = EthernetEthertypeOffset;
  localparam int unsigned TypeBytes = EthernetBytes + VlanTagBytes + Ipv6PayloadLengthOffset + 2 - TypeOffset;
  localparam int unsigned TagTypeOffset = EthernetBytes + VlanTagEthertypeOffset - TypeOffset;
  localparam int unsigned L3Plain = EthernetBytes - TypeOffset;
  localparam int unsigned L3Tagged = EthernetBytes + VlanTagBytes - TypeOffset;

  // Beats that can hold variant bits or bytes before the IP header.
  localparam int unsigned HeaderBeats = (IcrcHeaderBytes + BeatBytes - 1) / BeatBytes;
  // Beats that lie wholly inside the shortest valid frame. The length field may come later than the first of
  // them, so they do not depend on it.
  localparam int unsigned MinEnd = EthernetBytes + Ipv4Bytes + UdpBytes + BthBytes + 32'(IcrcBytes);
  localparam logic [HeaderBeats-1:0] Sure = HeaderBeats'((1 << (MinEnd / BeatBytes)) - 1);

  typedef logic [HeaderBeats*DataBits-1:0] header_t;
  typedef logic [31:0][DataBits-1:0] matrix_t;
  typedef logic [BeatBytes-1:0][31:0] residues_t;

  // Row b: the data bits whose XOR is bit b of the state after one beat, from a zero state. The state before the beat
  // acts like its first 32 data bits.
  function automatic matrix_t crc_matrix();
    logic [31:0] column = 32'h1;
    for (int unsigned i = 0; i < DataBits; i++) begin
      column = icrc_shift(column, 1);
      for (int unsigned b = 0; b < 32; b++) crc_matrix[b][DataBits-1-i] = column[b];
    end
  endfunction

  // Entry e: state of a correct packet whose last beat holds e bytes of it (0: all), after the zero bytes that fill the
  // beat.
  function automatic residues_t crc_residues();
    logic [31:0] state = IcrcResidue;
    for (int unsigned zeros = 0; zeros < BeatBytes; zeros++) begin
      crc_residues[(BeatBytes - zeros) % BeatBytes] = state;
      state = icrc_shift(state, 8);
    end
  endfunction

  // By {vlan, ip6}.
  localparam header_t [3:0] Forced =
      {header_t'(icrc_forced_bits(1, 1)), header_t'(icrc_forced_bits(1, 0)), header_t'(icrc_forced_bits(0, 1)), header_t'(icrc_forced_bits(0, 0))};
  localparam header_t [3:0] Values =
      {header_t'(icrc_forced_values(1, 1)), header_t'(icrc_forced_values(1, 0)), header_t'(icrc_forced_values(0, 1)), header_t'(icrc_forced_values(0, 0))};
  localparam matrix_t Matrix = crc_matrix();
  localparam residues_t Residues = crc_residues();

  // State carried with a beat until its frame's result.
  typedef struct packed {
    logic                first;
    logic                last;
    logic                is_ip;
    logic [LaneBits-1:0] end_lane;
  } beat_t;

  // Stage 1: where the datagram starts and ends.
  logic [IndexBits-1:0] next_index_d, next_index_q;  // of the next beat
  logic [8*TypeBytes-1:0] type_d, type_q;            // byte k of the frame, from TypeOffset on
  logic valid1_q;
  logic [DataBits-1:0] data1_q;
  logic [IndexBits-1:0] index1_q;
  logic vlan_d, vlan1_q;
  logic ip6_d, ip6_1_q;
  logic [EndBits-1:0] end_d, end1_q;
  beat_t beat1_d, beat1_q;

  always_comb begin
    next_index_d = next_index_q;
    if (s_axis_tvalid_i) next_index_d = s_axis_tlast_i ? '0 : next_index_q + 1'b1;

    type_d = type_q;
    for (int unsigned i = 0; i < TypeBytes; i++) begin
      if (s_axis_tvalid_i && next_index_q == IndexBits'((TypeOffset + i) / BeatBytes)) begin
        type_d[8*i +: 8] = s_axis_tdata_i[8*((TypeOffset + i) % BeatBytes) +: 8];
      end
    end
  end

  logic [15:0] ethertype;
  logic [15:0] total_length;
  logic [15:0] payload_length;

  always_comb begin
    vlan_d = network16(type_d[15:0]) == EthertypeVlan;
    ethertype = vlan_d ? network16(type_d[8*TagTypeOffset +: 16]) : network16(type_d[15:0]);
    ip6_d = ethertype == EthertypeIpv6;

    total_length = vlan_d ? network16(type_d[8*(L3Tagged + Ipv4TotalLengthOffset) +: 16])
                          : network16(type_d[8*(L3Plain + Ipv4TotalLengthOffset) +: 16]);
    payload_length = vlan_d ? network16(type_d[8*(L3Tagged + Ipv6PayloadLengthOffset) +: 16])
                            : network16(type_d[8*(L3Plain + Ipv6PayloadLengthOffset) +: 16]);
    end_d = (ip6_d ? EndBits'(payload_length) : EndBits'(total_length))
          + EndBits'(EthernetBytes + (vlan_d ? VlanTagBytes : 0) + (ip6_d ? Ipv6Bytes : 0));

    beat1_d.first = next_index_q == '0;
    beat1_d.last = s_axis_tlast_i;
    beat1_d.is_ip = ip6_d || ethertype == EthertypeIpv4;
    beat1_d.end_lane = end_d[LaneBits-1:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_index_q <= '0;
      valid1_q <= 1'b0;
    end else begin
      next_index_q <= next_index_d;
      valid1_q <= s_axis_tvalid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    // Here and below: a stage without a beat keeps its value.
    if (s_axis_tvalid_i) begin
      type_q <= type_d;
      data1_q <= s_axis_tdata_i;
      index1_q <= next_index_q;
      vlan1_q <= vlan_d;
      ip6_1_q <= ip6_d;
      end1_q <= end_d;
      beat1_q <= beat1_d;
    end
  end

  // Stage 2: the beat as the CRC sees it.
  logic valid2_q;
  logic before_end;              // every byte is
  logic at_end;                  // some bytes are, unless the end lies between two beats
  logic [DataBits-1:0] data2_q;
  logic update2_d, update2_q;
  beat_t beat2_q;

  // The covered bytes of the beat with the variant bits as ones.
  function automatic logic [DataBits-1:0] crc_data(input logic [DataBits-1:0] data, input logic [IndexBits-1:0] index,
                                                   input logic [1:0] kind, input logic all, input logic some,
                                                   input logic [LaneBits-1:0] end_lane);
    crc_data = data;
    for (int unsigned i = 0; i < HeaderBeats; i++) begin
      if (index == IndexBits'(i)) begin
        crc_data = (crc_data & ~Forced[kind][DataBits*i +: DataBits]) ^ Values[kind][DataBits*i +: DataBits];
      end
    end
    if (!all) begin
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        if (!some || LaneBits'(i) >= end_lane) crc_data[8*i +: 8] = '0;
      end
    end
  endfunction

  always_comb begin
    before_end = index1_q < end1_q[EndBits-1:LaneBits];
    for (int unsigned i = 0; i < HeaderBeats; i++) begin
      if (index1_q == IndexBits'(i)) before_end = before_end || Sure[i];
    end

    at_end = index1_q == end1_q[EndBits-1:LaneBits];
    update2_d = before_end || (at_end && end1_q[LaneBits-1:0] != '0);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid2_q <= 1'b0;
    else valid2_q <= valid1_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid1_q) begin
      data2_q <= crc_data(data1_q, index1_q, {vlan1_q, ip6_1_q}, before_end, at_end, end1_q[LaneBits-1:0]);
      update2_q <= update2_d;
      beat2_q <= beat1_q;
    end
  end

  // Stage 3: the beat's contribution to the state.
  logic valid3_q;
  logic [31:0] contribution_q;
  logic update3_q;
  beat_t beat3_q;

  function automatic logic [31:0] contribution(input logic [DataBits-1:0] data);
    for (int unsigned b = 0; b < 32; b++) contribution[b] = ^(data & Matrix[b]);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid3_q <= 1'b0;
    else valid3_q <= valid2_q;
  end

  always_ff @(posedge clk_i) begin
    if (valid2_q) begin
      contribution_q <= contribution(data2_q);
      update3_q <= update2_q;
      beat3_q <= beat2_q;
    end
  end

  // Stage 4: the state, which is the only loop.
  logic done4_d, done4_q;
  logic is_ip4_q;
  logic [31:0] state_d, state_q;
  logic [31:0] residue_q;

  always_comb begin
    done4_d = valid3_q && beat3_q.last;
    state_d = state_q;
    if (valid3_q) begin
      if (beat3_q.first) begin
        state_d = contribution_q;
      end else if (update3_q) begin
        for (int unsigned b = 0; b < 32; b++) state_d[b] = contribution_q[b] ^ (^(state_q & Matrix[b][31:0]));
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done4_q <= 1'b0;
    else done4_q <= done4_d;
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    residue_q <= Residues[beat3_q.end_lane];
    is_ip4_q <= beat3_q.is_ip;
  end

  // Stage 5: the result.
  logic valid5_q, ok5_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid5_q <= 1'b0;
      ok5_q <= 1'b0;
    end else begin
      valid5_q <= done4_q;
      ok5_q <= is_ip4_q && state_q == residue_q;
    end
  end

  assign valid_o = valid5_q;
  assign ok_o = ok5_q;

endmodule
