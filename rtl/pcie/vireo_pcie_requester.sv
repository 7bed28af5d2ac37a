// SPDX-License-Identifier: Apache-2.0

// DMA and MSI-X messages of the device to requests (RQ).
//
// Order: writes and messages leave in the order in which they came, a write with its last beat; a write before a message
// of the same cycle. A read leaves behind every write and message that came before it. Writes and messages never wait
// for reads: while the other side has no room for a read, they pass it. [PCIe 5.0, 2.4.1]
//
// A write is stored until it is complete, because a packet may not pause, and answered then: it is posted, and no
// request that the device makes later can pass it. Requests come cut: no burst crosses 4 KiB, or is longer than the
// sizes that the host chose (vireo_dma_split).
//
// Without the right to be bus master nothing is sent: reads and writes are answered with an error, messages dropped.
module vireo_pcie_requester
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags),
  localparam int unsigned RqUserBits = rq_user_bits(DataBits)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      bus_master_i,
  input  logic                      extended_tags_i,    // the host allows tags of 8 bits; else 5

  input  logic                      arvalid_i,
  output logic                      arready_o,
  input  logic [TagBits-1:0]        arid_i,
  input  logic [63:0]               araddr_i,
  input  logic [7:0]                arlen_i,
  input  logic [BurstBytesBits-1:0] aruser_i,
  input  logic                      awvalid_i,
  output logic                      awready_o,
  input  logic [63:0]               awaddr_i,
  input  logic [BurstBytesBits-1:0] awuser_i,
  input  logic                      wvalid_i,
  output logic                      wready_o,
  input  logic [DataBits-1:0]       wdata_i,
  input  logic                      wlast_i,
  output logic                      bvalid_o,
  output logic [1:0]                bresp_o,
  input  logic                      msix_valid_i,
  input  logic [63:0]               msix_address_i,
  input  logic [31:0]               msix_data_i,

  output logic                      rq_tvalid_o,
  input  logic                      rq_tready_i,
  output logic [DataBits-1:0]       rq_tdata_o,
  output logic [DataBits/32-1:0]    rq_tkeep_o,
  output logic                      rq_tlast_o,
  output logic [RqUserBits-1:0]     rq_tuser_o,
  input  logic                      seq_num0_valid_i,   // requests that no completion can pass any more
  input  logic [5:0]                seq_num0_i,
  input  logic                      seq_num1_valid_i,
  input  logic [5:0]                seq_num1_i,
  input  logic [3:0]                nph_available_i,    // reads that the other side has room for; 15: or more

  // A read that is sent, or that is refused and gets no completion.
  output logic                      read_valid_o,
  input  logic                      read_ready_i,
  output logic                      read_refused_o,
  output logic [7:0]                read_tag_o,         // on the link
  output logic [TagBits-1:0]        read_id_o,
  output logic [8:0]                read_beats_o,
  input  logic [255:0]              tag_busy_i,

  output logic [31:0]               posted_o,           // writes and messages so far
  output logic [31:0]               posted_passed_o,    // of them, those that no completion passes any more
  input  logic                      stop_i,             // begin no request
  output logic                      idle_o              // no request is half sent
);

  localparam int unsigned Lanes = DataBits / 32;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned Bursts = 16;             // writes, and reads, that wait here
  localparam int unsigned PayloadMax = 1024;       // of the block
  localparam int unsigned DataDepth = 2 * PayloadMax / BeatBytes;
  // Every vector can have a message here: those of a scan of pending bits cannot wait.
  localparam int unsigned Messages = Config.num_msix_vectors <= 16 ? 16 : 32'd1 << $clog2(Config.num_msix_vectors);
  localparam int unsigned MessageBits = $clog2(Messages + 1);
  localparam int unsigned Unpassed = 30;           // sent, and not known to be passed; their numbers have 5 bits
  // What a packet has in its first beat besides payload.
  localparam int unsigned Rest = PcieRequestDwords % Lanes;
  localparam int unsigned ShortDwords = PcieRequestDwords + 1;

  if (DataBits < 64 || DataBits > 512) $fatal(1, "the block has 64 to 512 bits");
  if (Config.dma_tags > 256) $fatal(1, "tags of more than 8 bits are not supported");

  // --- Writes come in

  logic open_known, open_take, data_room, data_known, data_take, burst_room, burst_known, burst_take;
  logic [63:0] open_address, burst_address, new_address;
  logic [BurstBytesBits-1:0] open_bytes, burst_bytes;
  logic [31:0] burst_number;
  logic burst_refused, written, message_room;
  logic [DataBits-1:0] data;
  logic [31:0] posted_q, posted_d;
  logic [MessageBits-1:0] messages_q;

  vireo_fifo #(
    .Width(64 + BurstBytesBits),
    .Depth(Bursts)
  ) u_open (
    .clk_i,
    .rst_ni,
    .s_valid_i(awvalid_i),
    .s_ready_o(awready_o),
    .s_data_i({awaddr_i, awuser_i}),
    .m_valid_o(open_known),
    .m_ready_i(open_take),
    .m_data_o({open_address, open_bytes})
  );

  // Writes are the source of messages: they stop before these have no room.
  assign wready_o = open_known && data_room && burst_room && 32'(messages_q) <= Messages / 2;
  assign written = wvalid_i && wready_o && wlast_i;
  assign open_take = written;
  assign posted_d = posted_q + 32'(written) + 32'(msix_valid_i);
  assign new_address = open_address;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      posted_q <= '0;
      bvalid_o <= 1'b0;
    end else begin
      posted_q <= posted_d;
      bvalid_o <= written;
    end
  end

  always_ff @(posedge clk_i) bresp_o <= bus_master_i ? AxiRespOkay : AxiRespSlverr;

  vireo_fifo #(
    .Width(DataBits),
    .Depth(DataDepth)
  ) u_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(wvalid_i && wready_o),
    .s_ready_o(data_room),
    .s_data_i(wdata_i),
    .m_valid_o(data_known),
    .m_ready_i(data_take),
    .m_data_o(data)
  );

  // Complete ones.
  vireo_fifo #(
    .Width(64 + BurstBytesBits + 33),
    .Depth(Bursts)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .s_valid_i(written),
    .s_ready_o(burst_room),
    .s_data_i({new_address, open_bytes, posted_q, !bus_master_i}),
    .m_valid_o(burst_known),
    .m_ready_i(burst_take),
    .m_data_o({burst_address, burst_bytes, burst_number, burst_refused})
  );

  // --- Messages and reads

  logic message_known, message_take, read_known, read_take;
  logic [63:0] message_address, read_address;
  logic [31:0] message_data, message_number, read_number;
  logic [BurstBytesBits-1:0] read_bytes;
  logic [TagBits-1:0] read_id;
  logic [8:0] read_beats;

  vireo_fifo #(
    .Width(128),
    .Depth(Messages)
  ) u_messages (
    .clk_i,
    .rst_ni,
    .s_valid_i(msix_valid_i),
    .s_ready_o(message_room),
    .s_data_i({msix_address_i, msix_data_i, posted_q + 32'(written)}),
    .m_valid_o(message_known),
    .m_ready_i(message_take),
    .m_data_o({message_address, message_data, message_number})
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) messages_q <= '0;
    else messages_q <= messages_q + MessageBits'(msix_valid_i && message_room) - MessageBits'(message_take);
  end

  vireo_fifo #(
    .Width(64 + BurstBytesBits + TagBits + 9 + 32),
    .Depth(Bursts)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .s_valid_i(arvalid_i),
    .s_ready_o(arready_o),
    .s_data_i({araddr_i, aruser_i, arid_i, {1'b0, arlen_i} + 9'd1, posted_d}),
    .m_valid_o(read_known),
    .m_ready_i(read_take),
    .m_data_o({read_address, read_bytes, read_id, read_beats, read_number})
  );

  // --- The payload of writes, moved to its place behind the descriptor

  logic feeding_q, feed, feed_last, align_ready, align_last_known, header_room;
  logic [8:0] beats_left, beats_left_q;
  logic [LaneBits-1:0] lane, end_lane, shift;
  logic write_known, write_take, write_refused, payload_known, payload_take, payload_last;
  logic [63:0] write_address;
  logic [BurstBytesBits-1:0] write_bytes;
  logic [31:0] write_number;
  logic [DataBits-1:0] payload;
  logic [LaneBits-1:0] payload_end;
  logic [BurstBytesBits:0] burst_end;

  always_comb begin
    lane = burst_address[2+:LaneBits];
    burst_end = (BurstBytesBits + 1)'(burst_address[$clog2(BeatBytes)-1:0]) + {1'b0, burst_bytes}
              - (BurstBytesBits + 1)'(1);
    end_lane = burst_end[2+:LaneBits];
    shift = LaneBits'(Rest) - lane;
    beats_left = feeding_q ? beats_left_q : 9'(burst_end >> $clog2(BeatBytes));
    // All beats are here. Those of a refused write go nowhere.
    feed = burst_known && data_known && (feeding_q || header_room) && (burst_refused || align_ready);
    feed_last = beats_left == '0;
    data_take = feed;
    burst_take = feed && feed_last;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) feeding_q <= 1'b0;
    else if (feed) feeding_q <= !feed_last;
  end

  always_ff @(posedge clk_i) if (feed) beats_left_q <= beats_left - 9'd1;

  vireo_pcie_align #(.DataBits(DataBits)) u_align (
    .clk_i,
    .rst_ni,
    .s_valid_i(burst_known && data_known && (feeding_q || header_room) && !burst_refused),
    .s_ready_o(align_ready),
    .s_data_i(data),
    .s_last_i(feed_last),
    .s_end_i(end_lane),
    .s_shift_i(shift),
    .s_skip_i({1'b0, lane} + {1'b0, shift} >= (LaneBits + 1)'(Lanes)),
    .s_mark_i(1'b0),
    .m_valid_o(payload_known),
    .m_ready_i(payload_take),
    .m_data_o(payload),
    .m_last_o(payload_last),
    .m_end_o(payload_end),
    .m_mark_o(align_last_known)
  );

  vireo_slice #(.Width(64 + BurstBytesBits + 33)) u_write (
    .clk_i,
    .rst_ni,
    .s_valid_i(feed && !feeding_q),
    .s_ready_o(header_room),
    .s_data_i({burst_address, burst_bytes, burst_number, burst_refused}),
    .m_valid_o(write_known),
    .m_ready_i(write_take),
    .m_data_o({write_address, write_bytes, write_number, write_refused})
  );

  // --- Which request is next

  logic busy_q, payload_follows_q, first_q;       // of the packet that is being sent
  logic [ShortDwords-1:0][31:0] short_q, short_rest;  // what it has besides payload, and behind this beat
  logic [2:0] short_left_q;
  logic [7:0] be_q;
  logic [5:0] seq_q;
  logic read_turn_q;
  logic [31:0] sent_q, last_sent_q, passed_q;     // writes and messages; last: without refused ones
  logic [7:0] recent_q;                           // cycles in which a read was sent
  logic out_ready, out_valid, out_last, free, can_post, message_next, write_next, read_next, refuse_write, refuse_message;
  logic [7:0] tag;
  logic read_fits, read_refused;
  logic [63:0] address;
  logic [BurstBytesBits-1:0] bytes;
  pcie_rq_t descriptor;
  logic [1:0] end_place;
  logic [3:0] first_be, last_be;
  logic [10:0] dwords;
  logic begins;

  // Reads take credits that the block reports some cycles late.
  assign read_fits = 32'($countones(recent_q)) < 32'(nph_available_i);
  assign tag = extended_tags_i ? 8'(read_id) : 8'(read_id) & 8'h1f;

  always_comb begin
    free = (!busy_q || (out_valid && out_ready && out_last)) && !stop_i;
    can_post = sent_q - passed_q < 32'(Unpassed);
    message_next = message_known && message_number == sent_q;
    write_next = write_known && write_number == sent_q;
    refuse_write = write_next && write_refused;
    refuse_message = message_next && !bus_master_i;
    read_refused = !bus_master_i;
    read_next = read_known && 32'(sent_q - read_number) < 32'h8000_0000 && read_ready_i && !tag_busy_i[tag] && (read_fits || read_refused);

    message_take = 1'b0;
    write_take = 1'b0;
    read_take = 1'b0;
    if (refuse_write || refuse_message) begin
      write_take = can_post && refuse_write;
      message_take = can_post && refuse_message;
    end else if (free) begin
      if (read_next && (read_turn_q || !can_post || !(message_next || write_next))) read_take = 1'b1;
      else if (can_post && message_next) message_take = 1'b1;
      else if (can_post && write_next) write_take = 1'b1;
    end
    begins = (read_take && !read_refused) || (message_take && !refuse_message) || (write_take && !refuse_write);

    address = read_take ? read_address : message_take ? message_address : write_address;
    bytes = read_take ? read_bytes : message_take ? BurstBytesBits'(4) : write_bytes;
    end_place = address[1:0] + bytes[1:0] - 2'd1;
    dwords = 11'((13'(address[1:0]) + 13'(bytes) + 13'd3) >> 2);
    first_be = 4'hf << address[1:0];
    last_be = 4'hf >> (2'd3 - end_place);
    if (dwords == 11'd1) begin
      first_be &= last_be;
      last_be = '0;
    end
    descriptor = '{
      force_ecrc: 1'b0,
      attributes: '0,  // no relaxed ordering: what is written last is seen last
      traffic_class: '0,
      requester_id_enable: 1'b0,
      completer_id: '0,
      tag: read_take ? tag : '0,
      requester_id: '0,
      poisoned: 1'b0,
      request_type: read_take ? PcieRequestMemoryRead : PcieRequestMemoryWrite,
      dwords: dwords,
      address: address[63:2],
      address_type: '0
    };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      read_turn_q <= 1'b0;
      sent_q <= '0;
      last_sent_q <= '0;
      recent_q <= '0;
    end else begin
      if (begins) busy_q <= 1'b1;
      else if (out_valid && out_ready && out_last) busy_q <= 1'b0;
      if (read_take) read_turn_q <= 1'b0;
      else if (message_take || write_take) read_turn_q <= 1'b1;
      if (message_take || write_take) sent_q <= sent_q + 32'd1;
      if (begins && !read_take) last_sent_q <= sent_q + 32'd1;
      recent_q <= {recent_q[6:0], read_take && !read_refused};
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins) begin
      short_q <= {message_data, descriptor};
      short_left_q <= 3'(PcieRequestDwords) + 3'(message_take);
      payload_follows_q <= write_take;
      first_q <= 1'b1;
      be_q <= {last_be, first_be};
      seq_q <= {!read_take, sent_q[4:0]};  // reads have numbers that nobody waits for
    end else if (out_valid && out_ready) begin
      first_q <= 1'b0;
      short_q <= short_rest;
      short_left_q <= 32'(short_left_q) <= Lanes ? '0 : short_left_q - 3'(Lanes);
    end
  end

  if (Lanes < ShortDwords) begin : gen_short_rest
    assign short_rest = short_q >> DataBits;
  end else begin : gen_no_short_rest
    assign short_rest = '0;
  end

  assign read_valid_o = read_take;
  assign read_refused_o = read_refused;
  assign read_tag_o = tag;
  assign read_id_o = read_id;
  assign read_beats_o = read_beats;

  // --- The beats of a packet

  logic [Lanes-1:0][31:0] out_data;
  logic [Lanes-1:0] out_keep;
  logic [LaneBits-1:0] out_end;
  logic [RqUserBits-1:0] out_user;
  logic short_only;  // a beat without payload

  always_comb begin
    // With at most 4 lanes descriptor and payload have beats of their own.
    short_only = !payload_follows_q || (Rest == 0 && short_left_q != '0);
    out_valid = busy_q && (short_only || payload_known);
    payload_take = busy_q && !short_only && out_ready;
    out_last = short_only ? !payload_follows_q && 32'(short_left_q) <= Lanes : payload_last;
    out_end = short_only ? LaneBits'(short_left_q - 3'd1) : payload_end;
    out_data = payload;
    for (int unsigned i = 0; i < Lanes; i++) begin
      if (i < ShortDwords && (short_only || (first_q && i < PcieRequestDwords && Rest != 0))) out_data[i] = short_q[i];
      out_keep[i] = !out_last || LaneBits'(i) <= out_end;
    end
    out_user = '0;
    out_user[3:0] = be_q[3:0];
    out_user[last_be_at(DataBits)+:4] = be_q[7:4];
  end

  logic [RqUserBits-1:0] user;
  if (DataBits == 512) begin : gen_user_512
    // is_sop, is_eop with its lane, and the sequence number, of the first of two packets.
    always_comb begin
      user = out_user;
      user[20] = first_q;
      user[26] = out_last;
      user[28+:4] = out_last ? out_end : '0;
      user[61+:6] = seq_q;
    end
  end else begin : gen_user
    always_comb begin
      user = out_user;
      user[24+:4] = seq_q[3:0];
      user[60+:2] = seq_q[5:4];
    end
  end

  vireo_slice #(.Width(DataBits + Lanes + 1 + RqUserBits)) u_output (
    .clk_i,
    .rst_ni,
    .s_valid_i(out_valid),
    .s_ready_o(out_ready),
    .s_data_i({user, out_last, out_keep, out_data}),
    .m_valid_o(rq_tvalid_o),
    .m_ready_i(rq_tready_i),
    .m_data_o({rq_tuser_o, rq_tlast_o, rq_tkeep_o, rq_tdata_o})
  );

  // --- What has passed: the block reports the numbers in order, up to two per cycle. One of a request that it dropped
  // does not come; the next one stands for it.

  logic [31:0] passed0, passed1;

  function automatic logic [31:0] passed_by(input logic [31:0] so_far, input logic valid, input logic [5:0] number);
    logic [4:0] step;
    step = number[4:0] + 5'd1 - so_far[4:0];
    return valid && number[5] && 32'(step) <= sent_q - so_far ? so_far + 32'(step) : so_far;
  endfunction

  // Behind the last one that was sent there are only refused ones, of which nothing is reported.
  assign passed0 = passed_by(passed_q, seq_num0_valid_i, seq_num0_i);
  assign passed1 = passed_by(passed0, seq_num1_valid_i, seq_num1_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) passed_q <= '0;
    else passed_q <= (!bus_master_i && !busy_q) || passed1 == last_sent_q ? sent_q : passed1;
  end

  assign posted_o = posted_q;
  assign posted_passed_o = passed_q;
  assign idle_o = !busy_q && !rq_tvalid_o;

  logic unused;
  assign unused = align_last_known;

`ifndef SYNTHESIS
  messages_have_room: assert property (@(posedge clk_i) disable iff (!rst_ni) msix_valid_i |-> message_room);
  packet_unbroken: assert property (@(posedge clk_i) disable iff (!rst_ni)
    rq_tvalid_o && !(rq_tready_i && rq_tlast_o) |=> rq_tvalid_o);
  read_is_cut: assert property (@(posedge clk_i) disable iff (!rst_ni)
    read_known |-> 32'(read_address[11:0]) + 32'(read_bytes) <= 32'(PcieRequestBoundary));
  write_fits: assert property (@(posedge clk_i) disable iff (!rst_ni) burst_known |-> 32'(burst_bytes) <= PayloadMax);
  write_is_cut: assert property (@(posedge clk_i) disable iff (!rst_ni)
    burst_known |-> 32'(burst_address[11:0]) + 32'(burst_bytes) <= 32'(PcieRequestBoundary));
`endif

endmodule
