// SPDX-License-Identifier: Apache-2.0

// Sends packets: adds path and peer from its queue pair's row, or for a datagram the path from its address handle's row
// and the peer from the packet itself, and has the framer make a frame of it.
// A packet may carry its payload with it; other payload comes on a stream of its own.
// Packets from gather, the responder's responses and net frames, which pass unchanged, take turns. It checks
// nothing and keeps no order except that of each input.
//
// A net frame does not pass through the framer: it waits until that is empty, and no packet enters it meanwhile.
//
// A packet whose row has bad parity, or whose queue pair was stopped since it was made (a request: or flushed), passes
// through the framer alone, so that its payload is taken, but its frame is not sent.
module vireo_tx_builder
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,  // 64 ... 1024, a power of two
  localparam int unsigned NumQps = Config.num_qps,          // 2 or more
  localparam int unsigned NumAhs = Config.num_ahs           // 2 or more
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,  // 0: no frame is started
  input  logic [47:0]           mac_i,     // the device's own; byte 0 in 7:0

  input  logic                  table_write_valid_i,
  input  table_write_t          table_write_i,
  input  logic                  context_flip_valid_i,
  input  context_flip_t         context_flip_i,
  output logic                  parity_error_o,

  input  logic                  stopped_valid_i,  // pulse: packets of this QP that are here are stale, or its requests only
  input  logic                  stopped_all_i,
  input  logic [23:0]           stopped_qpn_i,

  input  logic                  qp_state_write_valid_i,
  input  qp_state_write_t       qp_state_write_i,  // not in consecutive cycles
  input  logic                  qp_hold_valid_i,
  input  qp_hold_t              qp_hold_i,         // likewise

  input  logic                  packet_valid_i,
  output logic                  packet_ready_o,
  input  tx_packet_t            packet_i,

  input  logic                  answer_valid_i,
  output logic                  answer_ready_o,
  input  tx_packet_t            answer_i,  // an acknowledge

  // Payload of the accepted packets that do not carry it, in their order: as vireo_tx_framer takes it.
  input  logic                  payload_valid_i,
  output logic                  payload_ready_o,
  input  logic [DataBits-1:0]   payload_data_i,

  // Net frames, padded. From a frame's first beat on, one is valid in every cycle in which it is taken.
  input  logic                  net_valid_i,
  output logic                  net_ready_o,
  input  logic [13:0]           net_bytes_i,  // of the frame; stable for all of it
  input  logic [DataBits-1:0]   net_data_i,   // from lane 0 of a beat on, zero after the last byte

  // Frames, as of vireo_tx_framer.
  output logic                  m_axis_tvalid_o,
  input  logic                  m_axis_tready_i,
  output logic [DataBits-1:0]   m_axis_tdata_o,
  output logic [DataBits/8-1:0] m_axis_tkeep_o,
  output logic                  m_axis_tlast_o,

  output logic                  response_taken_o,  // a packet with is_response was taken
  output logic                  qp_sent_valid_o,   // likewise, one with ack_req that is not stale
  output qp_sent_t              qp_sent_o,
  output logic                  tx_frame_o,        // a frame's last beat is visible
  output logic                  idle_o
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned BeatsBits = 15 - LaneBits;  // of a net frame's beats
  localparam int unsigned QpBits = $clog2(NumQps);
  localparam bit CarriesInline = carries_inline(DataBits);
  localparam int unsigned AhBits = $clog2(NumAhs);

  // IPv6's flow label, and how much of it fits into a UDP source port.
  localparam int unsigned FlowLabelBits = 20;
  localparam int unsigned EntropyBits = 14;
  localparam int unsigned ProductBits = 48;  // of two queue pair numbers

  // Fields of table_path_t used here.
  typedef struct packed {
    logic [7:0] hop_limit;
    logic [7:0] traffic_class;
    logic vlan_present;
    logic ipv4;
    logic [FlowLabelBits-1:0] flow_label;
    logic [15:0] vlan;
    logic [5:0][7:0] dmac;
    logic [15:0][7:0] sgid;
    logic [15:0][7:0] dgid;
  } path_t;

  // Fields of table_qp_context_t used here. Of table_ah_t the path is used.
  typedef struct packed {
    logic [23:0] dest_qpn;
    path_t path;
  } row_t;

  function automatic logic [47:0] reverse6(input logic [5:0][7:0] bytes);
    for (int unsigned i = 0; i < 6; i++) reverse6[8*(5-i) +: 8] = bytes[i];
  endfunction

  function automatic logic [127:0] reverse16(input logic [15:0][7:0] bytes);
    for (int unsigned i = 0; i < 16; i++) reverse16[8*(15-i) +: 8] = bytes[i];
  endfunction

  // --- Tables
  table_qp_context_t written_qp;
  table_ah_t written_ah;
  row_t written_row, row;
  path_t written_ah_path, ah_path;
  logic row_corrupt, ah_corrupt;
  logic write_row, write_ah;

  always_comb begin
    // Signals used only in some cycles, here and below, are zero otherwise, so that simulation skips them.
    written_qp = '0;
    written_row = '0;
    written_ah = '0;
    written_ah_path = '0;
    write_row = table_write_valid_i && table_write_i.table_id == MgmtTableQpContext;
    if (write_row || vireo_common_pkg::Synthesis) begin
      written_qp = unpack_table_qp_context(table_write_i.data);
      written_row.dest_qpn = written_qp.dest_qpn;
      written_row.path = '{hop_limit: written_qp.path.hop_limit, traffic_class: written_qp.path.traffic_class,
                           vlan_present: written_qp.path.vlan_present, ipv4: written_qp.path.ipv4,
                           flow_label: written_qp.path.flow_label, vlan: written_qp.path.vlan,
                           dmac: written_qp.path.dmac, sgid: written_qp.path.sgid,
                           dgid: written_qp.path.dgid};
    end
    write_ah = table_write_valid_i && table_write_i.table_id == MgmtTableAh;
    if (write_ah || vireo_common_pkg::Synthesis) begin
      written_ah = unpack_table_ah(table_write_i.data[8*TableAhBytes-1:0]);
      written_ah_path = '{hop_limit: written_ah.path.hop_limit, traffic_class: written_ah.path.traffic_class,
                          vlan_present: written_ah.path.vlan_present, ipv4: written_ah.path.ipv4,
                          flow_label: written_ah.path.flow_label, vlan: written_ah.path.vlan,
                          dmac: written_ah.path.dmac, sgid: written_ah.path.sgid,
                          dgid: written_ah.path.dgid};
    end
  end

  // --- Inputs

  typedef enum int unsigned {
    InPacket,
    InAnswer,
    InNet,  // net frames, which have no slice here
    Inputs
  } input_e;
  localparam int unsigned InputBits = $clog2(Inputs);
  logic [InAnswer:InPacket] in_valid, in_ready;
  tx_packet_t packet_in, answer_in;
  logic enable_q;
  logic [47:0] mac_q;
  logic [InAnswer:InPacket] stale;  // the packet at the input
  logic [QpBits-1:0] stopped_qpn;

  assign stopped_qpn = stopped_qpn_i[QpBits-1:0];

  vireo_stop_marks #(.Depth(2), .QpBits(QpBits)) u_packet_marks (
    .clk_i, .rst_ni,
    .push_i(packet_valid_i && packet_ready_o), .push_qpn_i(packet_i.qpn[QpBits-1:0]),
    .push_response_i(packet_i.is_response),
    .pop_i(in_valid[InPacket] && in_ready[InPacket]),
    .stopped_valid_i,
    .stopped_all_i,
    .stopped_qpn_i(stopped_qpn),
    .marked_o(stale[InPacket])
  );

  vireo_stop_marks #(.Depth(2), .QpBits(QpBits)) u_answer_marks (
    .clk_i, .rst_ni,
    .push_i(answer_valid_i && answer_ready_o), .push_qpn_i(answer_i.qpn[QpBits-1:0]),
    .push_response_i(1'b1),
    .pop_i(in_valid[InAnswer] && in_ready[InAnswer]),
    .stopped_valid_i,
    .stopped_all_i,
    .stopped_qpn_i(stopped_qpn),
    .marked_o(stale[InAnswer])
  );

  // Answers are acknowledges.
  tx_packet_t acknowledge;
  always_comb begin
    acknowledge = '{qpn: answer_i.qpn, opcode: answer_i.opcode, psn: answer_i.psn, stale: answer_i.stale, default: '0};
    acknowledge.extension[8*AethBytes-1:0] = answer_i.extension[8*AethBytes-1:0];
  end

  // One entry each: a packet takes four cycles or more.
  vireo_slice #(.Width(TxPacketBits), .Depth(1)) u_packet (
    .clk_i, .rst_ni,
    .s_valid_i(packet_valid_i), .s_ready_o(packet_ready_o),
    .s_data_i(CarriesInline ? packet_i : without_inline(packet_i)),
    .m_valid_o(in_valid[InPacket]), .m_ready_i(in_ready[InPacket]), .m_data_o(packet_in)
  );

  vireo_slice #(.Width(TxPacketBits), .Depth(1)) u_answer (
    .clk_i, .rst_ni,
    .s_valid_i(answer_valid_i), .s_ready_o(answer_ready_o),
    .s_data_i(acknowledge),
    .m_valid_o(in_valid[InAnswer]), .m_ready_i(in_ready[InAnswer]), .m_data_o(answer_in)
  );

  // --- One packet or net frame after the other
  typedef enum logic [2:0] {
    StIdle,   // takes a packet and reads both rows, or chooses a net frame
    StRow,    // starts the source port
    StToken,  // decides how long the frame is
    StOffer,  // offers the token to the framer
    StDead,   // its frame leaves the framer and is not sent
    StEmpty,  // a net frame waits until the framer is empty and the MAC is ready
    StNet     // takes a net frame's beats
  } state_e;


  state_e state_d, state_q;
  logic [1:0] pick;
  logic [1:0] winner_d, winner_q;  // of the last packet or net frame
  logic net_waits_q;               // a net frame's first beat was valid in the cycle before
  logic ready_q;                   // of the MAC
  logic take;
  logic [$clog2(TxFramerLatency + 2)-1:0] frames_d, frames_q;
  logic net_last;                  // the beat that is taken is a net frame's last
  logic token_valid, token_ready;
  logic corrupt;                   // the packet's row has bad parity
  logic dead_q;                    // it has, or the packet is stale or old
  logic stops, takes_stale;        // the packet is stale from now on; the one that is taken
  logic parity_error_q;
  logic hides_q;                   // what leaves the framer is not sent
  tx_packet_t packet_d, packet_q;
  path_t path;             // of the packet, and its peer
  logic [23:0] dest_qpn;
  logic [ProductBits-1:0] product_q;
  logic [ProductBits-1:0] folded20, folded40;
  logic [FlowLabelBits-1:0] flow;
  logic [EntropyBits-1:0] entropy;
  tx_token_t token;  // in StOffer; the rows, which are read for the next packet only, hold it
  logic vlan_present_q, is_ipv6_q;

  vireo_rr_pick #(.Inputs(Inputs)) u_pick (.requests_i({net_waits_q, in_valid}), .last_i(winner_q), .pick_o(pick));

  always_comb begin
    state_d = state_q;
    winner_d = winner_q;
    in_ready = '0;
    take = 1'b0;
    unique case (state_q)
      StIdle: begin
        if (enable_q && (in_valid != '0 || net_waits_q)) begin
          winner_d = pick;
          take = pick != InputBits'(InNet);
          for (int unsigned i = 0; i < InNet; i++) in_ready[i] = pick == InputBits'(i);
          state_d = take ? StRow : StEmpty;
        end
      end
      StRow: state_d = StToken;
      StToken: state_d = StOffer;
      StOffer: if (token_valid && token_ready) state_d = dead_q ? StDead : StIdle;
      StDead: if (frames_q == '0) state_d = StIdle;
      StEmpty: if (frames_q == '0 && ready_q) state_d = StNet;
      StNet: if (net_last) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_comb begin
    packet_d = '0;
    if (take) begin
      packet_d = pick == 2'd1 ? answer_in : packet_in;
      packet_d.stale = packet_d.stale || stale[pick[0]];
    end
    path = '0;
    if (state_q == StToken || state_q == StOffer || vireo_common_pkg::Synthesis) begin
      path = packet_q.has_ah ? ah_path : row.path;
    end
    dest_qpn = packet_q.has_ah ? packet_q.dest_qpn : row.dest_qpn;
    corrupt = packet_q.has_ah ? ah_corrupt : row_corrupt;
    stops = stopped_valid_i && packet_q.qpn[QpBits-1:0] == stopped_qpn
         && (stopped_all_i || !(packet_q.is_response || winner_q == InputBits'(InAnswer)));
    takes_stale = packet_d.stale
               || (stopped_valid_i && packet_d.qpn[QpBits-1:0] == stopped_qpn
                   && (stopped_all_i || !(packet_d.is_response || pick == InputBits'(InAnswer))));
  end

  // --- Retransmission: epoch of each queue pair's last hold, 0 after a clear. A request of RC from before it is sent again,
  // so no frame of it is sent.
  logic clears, clear_waits_q;  // a hold goes first
  logic [QpBits-1:0] clear_qpn_q, hold_qpn;
  logic hold_write;
  logic [7:0] hold_epoch, last_epoch;
  logic is_old;                 // the packet in StRow

  assign clears = qp_state_write_valid_i && qp_state_write_i.clear;
  always_comb begin
    hold_write = qp_hold_valid_i || clear_waits_q || clears;
    hold_qpn = '0;
    hold_epoch = '0;
    if (qp_hold_valid_i) begin
      hold_qpn = qp_hold_i.qpn[QpBits-1:0];
      hold_epoch = qp_hold_i.epoch;
    end else if (clear_waits_q) begin
      hold_qpn = clear_qpn_q;
    end else if (clears) begin
      hold_qpn = qp_state_write_i.qpn[QpBits-1:0];
    end
    is_old = winner_q == InputBits'(InPacket) && !packet_q.is_response && packet_q.opcode[7:5] == 3'(BthServiceRc)
          && packet_q.epoch != last_epoch;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) clear_waits_q <= 1'b0;
    else clear_waits_q <= clears && qp_hold_valid_i;
  end
  always_ff @(posedge clk_i) clear_qpn_q <= qp_state_write_i.qpn[QpBits-1:0];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni) begin
    assert (!clear_waits_q || !(clears || qp_hold_valid_i)) else $error("a clear or hold follows at once");
  end
`endif

  vireo_table #(.Width(8), .Depth(NumQps)) u_epochs (
    .clk_i, .rst_ni,
    .write_i(hold_write),
    .write_address_i(hold_qpn),
    .write_data_i(hold_epoch),
    .read_i(take),
    .read_address_i(packet_d.qpn[QpBits-1:0]),
    .read_data_o(last_epoch)
  );

  assign token_valid = state_q == StOffer && (!dead_q || frames_q == '0);
  assign parity_error_o = parity_error_q;
  assign response_taken_o = take && packet_d.is_response;
  assign qp_sent_valid_o = take && packet_d.ack_req && !packet_d.stale;
  assign qp_sent_o = '{qpn: packet_d.qpn, psn: packet_d.last_psn, epoch: packet_d.epoch};

  // The source port as in Linux: from the flow label, else, symmetrically, from both queue pair numbers.
  // [IBTA A17.4.3; Linux, include/rdma/ib_verbs.h: rdma_get_udp_sport, rdma_calc_flow_label,
  // rdma_flow_label_to_udp_sport]
  always_comb begin
    folded20 = '0;
    folded40 = '0;
    flow = '0;
    entropy = '0;
    token = '0;
    if (state_q == StOffer || vireo_common_pkg::Synthesis) begin
      folded20 = product_q ^ (product_q >> FlowLabelBits);
      folded40 = folded20 ^ (folded20 >> (2 * FlowLabelBits));
      flow = path.flow_label != '0 ? path.flow_label : folded40[FlowLabelBits-1:0];
      entropy = flow[EntropyBits-1:0] ^ EntropyBits'(flow[FlowLabelBits-1:EntropyBits]);

      token.destination_mac = reverse6(path.dmac);
      token.source_mac = reverse6(mac_q);
      token.vlan_present = vlan_present_q;
      {token.vlan_pcp, token.vlan_dei, token.vlan_vid} = path.vlan;  // [IEEE 802.1Q, 9.6]
      token.is_ipv6 = is_ipv6_q;
      {token.dscp, token.ecn} = path.traffic_class;  // [RFC 3168, 5]
      token.hop_limit = path.hop_limit;
      token.flow_label = path.flow_label;
      token.ip_source = reverse16(path.sgid);
      token.ip_destination = reverse16(path.dgid);
      token.udp_source_port = UdpSourcePortBase | 16'(entropy);
      token.bth = '{opcode: packet_q.opcode, solicited_event: packet_q.solicited_event, pkey: PkeyDefault,
                    dest_qp: dest_qpn, ack_req: packet_q.ack_req, psn: packet_q.psn, default: '0};
      token.extension = packet_q.extension;
      token.payload_bytes = packet_q.payload_bytes[12:0];  // no more than a path MTU
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      winner_q <= InputBits'(InNet);
      enable_q <= 1'b0;
      ready_q <= 1'b0;
      net_waits_q <= 1'b0;
      parity_error_q <= 1'b0;
      hides_q <= 1'b0;
    end else begin
      parity_error_q <= state_q == StRow && corrupt;
      hides_q <= state_d == StDead;
      state_q <= state_d;
      winner_q <= winner_d;
      enable_q <= enable_i;
      ready_q <= m_axis_tready_i;
      // The beat after a frame's last one is another frame's; its presence is not known before it is sampled.
      net_waits_q <= net_valid_i && !net_ready_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q != StToken && state_q != StOffer) mac_q <= mac_i;
    if (take) begin
      packet_q <= packet_d;
      packet_q.stale <= takes_stale;
    end
    if (state_q == StRow) dead_q <= corrupt || packet_q.stale || stops || is_old;
    else if (stops) dead_q <= 1'b1;  // of no consequence once the framer has the packet
    if (state_q == StRow) product_q <= ProductBits'(packet_q.qpn) * ProductBits'(dest_qpn);
    // The framer's time depends on these two.
    if (state_q == StToken) begin
      vlan_present_q <= path.vlan_present && !dead_q;
      is_ipv6_q <= !path.ipv4 || dead_q;
    end
  end

  // A packet needs one of the two: in a small device they are one memory of LUTs, which has 16 entries in any case.
  localparam int unsigned JointBits = QpBits > AhBits ? QpBits : AhBits;

  if (Config.parity == 0 && JointBits <= 3) begin : gen_joint
    row_t joint_written;
    logic [JointBits-1:0] joint_write_index, joint_index;

    assign joint_written = write_ah ? '{dest_qpn: '0, path: written_ah_path} : written_row;
    assign joint_write_index = write_ah ? JointBits'(table_write_i.index[AhBits-1:0])
                                        : JointBits'(table_write_i.index[QpBits-1:0]);
    assign joint_index = packet_d.has_ah ? JointBits'(packet_d.ah[AhBits-1:0])
                                         : JointBits'(packet_d.qpn[QpBits-1:0]);

    vireo_table #(
      .Width($bits(row_t)),
      .Depth(2 ** (JointBits + 1))
    ) u_joint (
      .clk_i, .rst_ni,
      .write_i(write_row || write_ah),
      .write_address_i({write_ah, joint_write_index}),
      .write_data_i(joint_written),
      .read_i(take),
      .read_address_i({packet_d.has_ah, joint_index}),
      .read_data_o(row)
    );

    assign ah_path = row.path;
    assign row_corrupt = 1'b0;
    assign ah_corrupt = 1'b0;

    logic unused_flip;
    assign unused_flip = ^{context_flip_valid_i, context_flip_i};
  end else begin : gen_separate
    vireo_context_table #(
      .HasParity(Config.parity != 0),
      .Width($bits(row_t)),
      .Depth(NumQps),
      .Ram(ContextRamTxBuilderQp),
      .Gates(1'b0)
    ) u_rows (
      .clk_i, .rst_ni,
      .write_i(write_row),
      .write_address_i(table_write_i.index[QpBits-1:0]),
      .write_data_i(written_row),
      .read_i(take),
      .read_address_i(packet_d.qpn[QpBits-1:0]),
      .read_data_o(row), .corrupt_o(row_corrupt),
        .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
    );

    vireo_context_table #(
      .HasParity(Config.parity != 0),
      .Width($bits(path_t)),
      .Depth(NumAhs),
      .Ram(ContextRamTxBuilderAh),
      .Gates(1'b0)
    ) u_ahs (
      .clk_i, .rst_ni,
      .write_i(write_ah),
      .write_address_i(table_write_i.index[AhBits-1:0]),
      .write_data_i(written_ah_path),
      .read_i(take),
      .read_address_i(packet_d.ah[AhBits-1:0]),
      .read_data_o(ah_path), .corrupt_o(ah_corrupt),
        .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
    );
  end

  // --- Payload: gather's, or the packet's own, which is kept until the framer has taken it.
  logic has_inline_q;  // the packet in the framer's front
  logic [DataBits-1:0] inline_q;
  logic framer_payload_ready;
  logic [DataBits-1:0] framer_payload;

  always_comb begin
    payload_ready_o = framer_payload_ready && !has_inline_q;
    framer_payload = has_inline_q ? inline_q : payload_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) has_inline_q <= 1'b0;
    else if (token_valid && token_ready) has_inline_q <= packet_q.has_inline;
  end

  always_ff @(posedge clk_i) begin
    if (token_valid && token_ready) inline_q <= DataBits'(packet_q.inline_data);
  end

  logic framed_valid, framed_last;
  logic [DataBits-1:0] framed_data;
  logic [BeatBytes-1:0] framed_keep;

  vireo_tx_framer #(
    .Config(Config)
  ) u_framer (
    .clk_i, .rst_ni,
    .token_valid_i(token_valid),
    .token_ready_o(token_ready),
    .token_i(token),
    .payload_valid_i(payload_valid_i || has_inline_q),
    .payload_ready_o(framer_payload_ready),
    .payload_data_i(framer_payload),
    .m_axis_tvalid_o(framed_valid),
    .m_axis_tready_i,
    .m_axis_tdata_o(framed_data),
    .m_axis_tkeep_o(framed_keep),
    .m_axis_tlast_o(framed_last)
  );

  // --- Net frames: one register between input and MAC.
  logic [BeatsBits-1:0] left_d, left_q;  // beats of the net frame not yet taken
  logic net_valid_q, net_last_q;
  logic [DataBits-1:0] net_data_q;
  logic [BeatBytes-1:0] net_keep_d, net_keep_q;

  assign net_ready_o = state_q == StNet;

  always_comb begin
    left_d = left_q - 1'b1;
    if (state_q == StEmpty) left_d = BeatsBits'((15'(net_bytes_i) + 15'(BeatBytes - 1)) >> LaneBits);
    net_last = left_q == BeatsBits'(1);
    net_keep_d = '0;
    if (net_ready_o) begin
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        net_keep_d[i] = !net_last || net_bytes_i[LaneBits-1:0] == '0 || LaneBits'(i) < net_bytes_i[LaneBits-1:0];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) net_valid_q <= 1'b0;
    else net_valid_q <= net_ready_o;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StEmpty || state_q == StNet) left_q <= left_d;
    net_last_q <= net_last;
    if (net_ready_o) begin
      net_keep_q <= net_keep_d;
      net_data_q <= net_data_i;
    end
  end

  assign m_axis_tvalid_o = (framed_valid && !hides_q) || net_valid_q;
  assign m_axis_tdata_o = net_valid_q ? net_data_q : framed_data;
  assign m_axis_tkeep_o = net_valid_q ? net_keep_q : framed_keep;
  assign m_axis_tlast_o = net_valid_q ? net_last_q : framed_last;
  assign tx_frame_o = m_axis_tvalid_o && m_axis_tlast_o;

  // Frames in the framer: at most one accepted per cycle of its latency, and the one that leaves.
  always_comb begin
    frames_d = frames_q;
    if (token_valid && token_ready) frames_d = frames_d + 1'b1;
    if (framed_valid && framed_last) frames_d = frames_d - 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) frames_q <= '0;
    else frames_q <= frames_d;
  end

  assign idle_o = in_valid == '0 && state_q == StIdle && frames_q == '0 && !net_valid_q;

  // Fields of the table that are not used here.
  logic unused;
  assign unused = ^{written_qp, written_ah, table_write_i, folded40, packet_q, stopped_qpn_i, qp_state_write_i, qp_hold_i};

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) answer_valid_i |-> answer_i == acknowledge)
  else $error("an answer that is no acknowledge");
  assert property (@(posedge clk_i) disable iff (!rst_ni) packet_valid_i && packet_i.has_inline |-> CarriesInline)
  else $error("inline data of several beats");
  assert property (@(posedge clk_i) disable iff (!rst_ni) state_q == StEmpty || net_ready_o |-> net_valid_i)
  else $error("a beat of a net frame is missing");
  assert property (@(posedge clk_i) disable iff (!rst_ni) state_q == StEmpty |-> net_bytes_i != '0)
  else $error("a net frame without a byte");
  assert property (@(posedge clk_i) disable iff (!rst_ni) net_ready_o && !net_last |=> $stable(net_bytes_i))
  else $error("a net frame's length changes");
  assert property (@(posedge clk_i) disable iff (!rst_ni) !(framed_valid && net_valid_q))
  else $error("two frames at once");
  assert property (@(posedge clk_i) disable iff (!rst_ni) state_q == StDead |-> frames_q <= 1)
  else $error("a frame is hidden beside the dead one");
`endif

endmodule
