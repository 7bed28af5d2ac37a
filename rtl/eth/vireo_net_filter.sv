// SPDX-License-Identifier: Apache-2.0

// Receive buffer and receive filter of the net path. Stores received frames in a ring buffer and forwards, in order of
// arrival, those that pass the filter: the receive modes set by firmware, the device's MAC address, the table of
// additional MAC addresses and the VLAN table.
//
// The input has no backpressure and takes one beat per cycle. A frame is dropped whole if the ring has no space for it
// at its first beat or if it is longer than MaxFrameBytes. The space of a filtered frame is freed when all older frames
// are freed. A filter decision takes 3 cycles, plus one per entry scanned in the table of addresses.
//
// NetHdrBytes of zeros precede each frame in the buffer, so that the reader gets net_hdr and frame as one contiguous
// byte sequence. The reader addresses beats of the oldest frame by index and frees the frame when it has read what it
// needs, but not before it has taken the frame's token. Bytes after the end of a frame are undefined.
//
// Cut-through: a frame is decided on by its headers, and read while the rest of it is being stored. Whether its checksum
// is valid is known later, and the frame can be freed from then on.
//
// Filter order: virtio 1.3, 5.1.6.5.1 to 5.1.6.5.3; where the specification leaves it open, as in QEMU
// (hw/net/virtio-net.c, receive_filter).
module vireo_net_filter
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,                              // a power of two, at least 12 + MaxFrameBytes
  // The buffer holds at most BufferBytes / BytesPerFrame frames. The smallest frame has 72 bytes with its header, which
  // is two beats of 64 bytes. A power of two, at most BufferBytes / 4.
  parameter int unsigned BytesPerFrame,
  localparam int unsigned DataBits = Config.datapath_bits,         // 64 ... 1024, a power of two
  localparam int unsigned MaxFrameBytes = Config.max_frame_bytes,  // at most 16,383
  localparam int unsigned BeatBytes = DataBits / 8,
  localparam int unsigned Beats = BufferBytes / BeatBytes,
  localparam int unsigned PlaceBits = $clog2(Beats)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Frames without FCS, starting in lane 0, without gaps.
  input  logic                 net_valid_i,
  input  logic [DataBits-1:0]  net_data_i,
  input  logic                 net_last_i,
  input  logic [13:0]          net_bytes_i,       // length of the frame, at least 1; the same in all its beats

  input  mgmt_rx_mode_t        rx_mode_i,
  input  logic [47:0]          mac_i,             // of the device; first byte in 7:0
  input  logic [15:0]          active_pairs_i,    // at most 256
  input  logic                 table_write_valid_i,
  input  table_write_t         table_write_i,
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 parity_error_o,

  output logic                 drop_o,            // pulse: a frame was dropped, buffer full or frame too long
  output logic                 filtered_o,        // pulse: a frame did not pass the filter

  output logic                 frame_valid_o,
  input  logic                 frame_ready_i,
  output net_frame_t           frame_o,

  // The oldest frame has passed the filter and can be read: until oldest_checked_o from its first beat on, at most one
  // beat per cycle.
  output logic                 oldest_valid_o,
  input  logic                 oldest_read_i,
  input  logic [PlaceBits-1:0] oldest_beat_i,     // index in the oldest frame, from 0; headroom included
  output logic [DataBits-1:0]  oldest_data_o,     // one cycle after oldest_read_i; held until the next read
  output logic                 oldest_checked_o,  // with oldest_valid_o: all of it is stored, the next one is valid
  output logic                 oldest_checksum_valid_o,
  input  logic                 oldest_free_i,     // only with oldest_checked_o; allowed with the last read

  output logic                 idle_o
);

  localparam int unsigned MaxBeats = (NetHdrBytes + MaxFrameBytes + BeatBytes - 1) / BeatBytes;
  localparam int unsigned CountBits = $clog2(MaxBeats + 1);
  localparam int unsigned Frames = BufferBytes / BytesPerFrame;
  localparam int unsigned FrameBits = $clog2(Frames);
  localparam int unsigned BytesBits = 14;
  // Headroom for net_hdr: whole beats (0 or 1) and the bytes in the beat after them.
  localparam int unsigned LeadBeats = NetHdrBytes / BeatBytes;
  localparam int unsigned LowBytes = NetHdrBytes % BeatBytes;
  localparam int unsigned LowBits = 8 * LowBytes;
  localparam int unsigned HighBits = DataBits - LowBits;
  localparam int unsigned MacEntries = 32'(TableMacFilterEntries);
  localparam int unsigned MacIndexBits = $clog2(MacEntries);
  localparam int unsigned VlanBits = 12;
  localparam int unsigned VlanMemberBits = $clog2(32'(TableVlanFilterBits));
  localparam int unsigned VlanIndexBits = VlanBits - VlanMemberBits;

  typedef struct packed {
    logic good;                   // passed the filter
    logic [CountBits-1:0] beats;  // headroom included
  } record_t;

  function automatic logic [CountBits-1:0] beats_of(input logic [BytesBits-1:0] bytes);
    return CountBits'((32'(bytes) + NetHdrBytes + BeatBytes - 1) / BeatBytes);
  endfunction

  // --- Write side of the ring. Space is counted in beats and in frames, and is allocated for the whole frame at its
  // first beat, which carries the frame's length.
  logic first_q;                                     // the next beat is the first of a frame
  logic accept_q;                                    // the current frame is stored
  logic [PlaceBits-1:0] head_d, head_q, tail_q;      // next free beat; first beat of the oldest frame
  logic [PlaceBits-1:0] high, low, high_q;
  logic [PlaceBits:0] used_d, used_q;
  logic [FrameBits:0] frames_d, frames_q;
  logic drop_d, drop_q;
  logic begins, keep, write;
  logic [CountBits-1:0] beats;
  logic pop;
  record_t record;

  always_comb begin
    beats = beats_of(net_bytes_i);
    begins = net_valid_i && first_q;
    keep = accept_q;
    if (first_q) begin
      keep = frames_q != (FrameBits + 1)'(Frames) && net_bytes_i <= BytesBits'(MaxFrameBytes)
             && (PlaceBits + 2)'(used_q) + (PlaceBits + 2)'(beats) <= (PlaceBits + 2)'(Beats);
    end
    drop_d = begins && !keep;
    write = net_valid_i && keep;

    head_d = begins && keep ? head_q + PlaceBits'(beats) : head_q;
    // The headroom shifts the frame by LowBytes: the first part of an input beat goes to the high bytes of beat `high`,
    // the rest to the low bytes of the next one. Each RAM is written once per input beat, so no beat is needed for a
    // remainder and frames can follow each other without a gap.
    high = first_q ? head_q + PlaceBits'(LeadBeats) : high_q;
    low = high + 1'b1;
    used_d = used_q + (begins && keep ? (PlaceBits + 1)'(beats) : '0) - (pop ? (PlaceBits + 1)'(record.beats) : '0);
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
      if (net_valid_i) first_q <= net_last_i;
      if (net_valid_i) accept_q <= keep;
      head_q <= head_d;
      if (pop) tail_q <= tail_q + PlaceBits'(record.beats);
      used_q <= used_d;
      frames_q <= frames_d;
      drop_q <= drop_d;
    end
  end

  always_ff @(posedge clk_i) if (net_valid_i) high_q <= low;

  logic [PlaceBits-1:0] read_place;
  logic [HighBits-1:0] high_data;
  logic [LowBits-1:0] low_data;

  assign read_place = tail_q + oldest_beat_i;

  vireo_ram_1r1w #(
    .Width(HighBits),
    .Depth(Beats)
  ) u_high (
    .clk_i,
    .write_i(write),
    .write_address_i(high),
    .write_data_i(net_data_i[HighBits-1:0]),
    .read_i(oldest_read_i),
    .read_address_i(read_place),
    .read_data_o(high_data)
  );

  vireo_ram_1r1w #(
    .Width(LowBits),
    .Depth(Beats)
  ) u_low (
    .clk_i,
    // For the last beat of a frame the address may be one past the frame. These bytes are headroom of the next frame,
    // which always reads as zero.
    .write_i(write),
    .write_address_i(low),
    .write_data_i(net_data_i[DataBits-1:HighBits]),
    .read_i(oldest_read_i),
    .read_address_i(read_place),
    .read_data_o(low_data)
  );

  // The headroom reads as zero: it is not initialized in the RAMs.
  logic blank_q, blank_low_q;  // all bytes of the beat that was read; its low bytes

  always_ff @(posedge clk_i) begin
    if (oldest_read_i) begin
      blank_q <= LeadBeats != 0 && oldest_beat_i == '0;
      blank_low_q <= oldest_beat_i == PlaceBits'(LeadBeats);
    end
  end

  assign oldest_data_o = {blank_q ? HighBits'(0) : high_data, blank_q || blank_low_q ? LowBits'(0) : low_data};

  // --- Classification of stored frames; the class is available a fixed number of cycles after the headers.
  logic class_pulse, checked_pulse;
  net_class_t net_class;
  logic class_valid, decided;
  net_class_t class_head;
  logic [BytesBits-1:0] bytes_head;
  // These FIFOs cannot overflow, because frames_q is at most Frames. The length of a frame arrives before its class.
  // Both are asserted below.
  logic length_space, length_valid, class_space, check_space, record_space, frame_space;

  vireo_net_classify #(
    .Config(Config)
  ) u_classify (
    .clk_i,
    .rst_ni,
    .valid_i(write),
    .data_i(net_data_i),
    .last_i(net_last_i),
    .bytes_i(net_bytes_i),
    .class_valid_o(class_pulse),
    .checked_o(checked_pulse),
    .class_o(net_class)
  );

  vireo_fifo #(
    .Width(BytesBits),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_lengths (
    .clk_i,
    .rst_ni,
    .s_valid_i(begins && keep),
    .s_ready_o(length_space),
    .s_data_i(net_bytes_i),
    .m_valid_o(length_valid),
    .m_ready_i(decided),
    .m_data_o(bytes_head)
  );

  vireo_fifo #(
    .Width(NetClassBits),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_classes (
    .clk_i,
    .rst_ni,
    .s_valid_i(class_pulse),
    .s_ready_o(class_space),
    .s_data_i(net_class),
    .m_valid_o(class_valid),
    .m_ready_i(decided),
    .m_data_o(class_head)
  );

  // --- Filter decisions, one frame at a time.
  typedef enum logic [1:0] {
    StWait,    // for a class; reads the VLAN's word
    StDecide,  // samples the receive modes; reads the first address
    StScan,    // compares one address per cycle
    StEmit
  } state_e;

  state_e state_d, state_q;
  logic pass_d, pass_q;
  logic [MacIndexBits-1:0] index_d, index_q;  // of mac_entry
  logic [7:0] pair_d, pair_q;

  table_mac_filter_t written_mac, mac_entry;
  table_vlan_filter_t vlan_entry;
  logic mac_corrupt, vlan_corrupt;
  logic group, broadcast, refused_vlan;
  logic found, ends;

  assign written_mac = unpack_table_mac_filter(table_write_i.data[8*TableMacFilterBytes-1:0]);

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(48 + 1),
    .Depth(MacEntries),
    .Ram(ContextRamNetFilterMac),
    .Gates(1'b0)
  ) u_macs (
    .clk_i,
    .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableMacFilter),
    .write_address_i(table_write_i.index[MacIndexBits-1:0]),
    .write_data_i({written_mac.mac, written_mac.valid}),
    .read_i(state_q == StDecide || state_q == StScan),
    .read_address_i(state_q == StScan ? index_q + 1'b1 : '0),
    .read_data_o({mac_entry.mac, mac_entry.valid}),
    .corrupt_o(mac_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );
  assign {mac_entry.reserved, mac_entry.reserved1} = '0;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(8 * TableVlanFilterBytes),
    .Depth(1 << VlanIndexBits),
    .Ram(ContextRamNetFilterVlan),
    .Gates(1'b0)
  ) u_vlans (
    .clk_i,
    .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableVlanFilter),
    .write_address_i(table_write_i.index[VlanIndexBits-1:0]),
    .write_data_i(table_write_i.data[8*TableVlanFilterBytes-1:0]),
    .read_i(state_q == StWait),
    .read_address_i(class_head.vlan_id[VlanBits-1:VlanMemberBits]),
    .read_data_o(vlan_entry),
    .corrupt_o(vlan_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  always_comb begin
    group = class_head.destination_mac[0];  // I/G bit, the first on the wire [IEEE 802]
    broadcast = &class_head.destination_mac;
    refused_vlan = class_head.vlan_present && rx_mode_i.vlan_filter
                   && (vlan_corrupt || !vlan_entry.members[class_head.vlan_id[VlanMemberBits-1:0]]);
    found = mac_entry.valid && mac_entry.mac == class_head.destination_mac && !mac_corrupt;
    // Valid entries are contiguous from entry 0, so the first invalid entry ends the table.
    ends = !mac_entry.valid || mac_corrupt || index_q == MacIndexBits'(MacEntries - 1);
    // Maps the hash to a pair by multiplication and shift: evenly distributed, without a division.
    pair_d = pair_q;

    state_d = state_q;
    pass_d = pass_q;
    index_d = index_q;
    unique case (state_q)
      StWait: begin
        if (class_valid) state_d = StDecide;
      end
      StDecide: begin
        state_d = StEmit;
        pair_d = Config.net_queue_pairs == 1 ? '0 : 8'((32'(class_head.flow_hash) * 32'(active_pairs_i)) >> 16);
        index_d = '0;
        pass_d = 1'b0;
        if (rx_mode_i.promiscuous) begin
          pass_d = 1'b1;
        end else if (refused_vlan) begin
          pass_d = 1'b0;
        end else if (broadcast) begin
          pass_d = !rx_mode_i.no_broadcast;
        end else if (group ? rx_mode_i.no_multicast : rx_mode_i.no_unicast) begin
          pass_d = 1'b0;
        end else if (group ? rx_mode_i.all_multicast
                           : rx_mode_i.all_unicast || class_head.destination_mac == mac_i) begin
          pass_d = 1'b1;
        end else begin
          state_d = StScan;
        end
      end
      StScan: begin
        index_d = index_q + 1'b1;
        pass_d = found;
        if (found || ends) state_d = StEmit;
      end
      default: state_d = StWait;  // StEmit
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= StWait;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    pass_q <= pass_d;
    index_q <= index_d;
    pair_q <= pair_d;
  end

  assign decided = state_q == StEmit;

  // --- Parity: in the cycle after a read
  logic parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parity_error_q <= 1'b0;
    else parity_error_q <= (state_q == StDecide && vlan_corrupt) || (state_q == StScan && mac_corrupt);
  end
  assign parity_error_o = parity_error_q;

  // --- Results: tokens of the frames that passed, and a record of every frame to free its space.
  net_frame_t frame;
  logic record_valid;

  assign frame = '{bytes: bytes_head, pair_index: pair_q};

  vireo_fifo #(
    .Width(NetFrameBits),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_frames (
    .clk_i,
    .rst_ni,
    .s_valid_i(decided && pass_q),
    .s_ready_o(frame_space),
    .s_data_i(frame),
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
    .s_valid_i(decided),
    .s_ready_o(record_space),
    .s_data_i({pass_q, beats_of(bytes_head)}),
    .m_valid_o(record_valid),
    .m_ready_i(pop),
    .m_data_o(record)
  );

  // Whether the checksum of a frame is valid, for every stored frame.
  logic check_valid, checksum_valid;

  vireo_fifo #(
    .Width(1),
    .Depth(Frames),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_checks (
    .clk_i,
    .rst_ni,
    .s_valid_i(checked_pulse),
    .s_ready_o(check_space),
    .s_data_i(net_class.checksum_valid),
    .m_valid_o(check_valid),
    .m_ready_i(pop),
    .m_data_o(checksum_valid)
  );

  // Space is freed in order, so a filtered frame keeps its space until it is the oldest, and none is freed before all of
  // it is stored.
  assign pop = record_valid && check_valid && (!record.good || oldest_free_i);

  assign oldest_valid_o = record_valid && record.good;
  assign oldest_checked_o = oldest_valid_o && check_valid;
  assign oldest_checksum_valid_o = checksum_valid;
  assign drop_o = drop_q;
  assign filtered_o = decided && !pass_q;
  assign idle_o = frames_q == '0 && !drop_q;

  logic unused;
  assign unused = ^{table_write_i, written_mac, rx_mode_i, mac_entry, class_head};

`ifndef SYNTHESIS
  lengths_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) begins && keep |-> length_space);
  classes_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) class_pulse |-> class_space);
  checks_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) checked_pulse |-> check_space);
  freed_when_checked: assert property (@(posedge clk_i) disable iff (!rst_ni) oldest_free_i |-> oldest_checked_o);
  frames_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) decided && pass_q |-> frame_space);
  records_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) decided |-> record_space);
  length_before_class: assert property (@(posedge clk_i) disable iff (!rst_ni) class_valid |-> length_valid);
`endif

endmodule
