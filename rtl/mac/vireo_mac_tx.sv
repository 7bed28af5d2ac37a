// SPDX-License-Identifier: Apache-2.0

// The NIC's frames to a MAC, from the NIC's clock to the MAC's. A frame leaves when all of it is here, so it has no gap,
// which the MAC would take for its end. The NIC is ready while there is room for its longest frame and for what is on
// its way.
//
// A reset of the NIC takes back the frame that it cuts. A frame that would begin while there is no link is discarded, so
// that nothing old is sent when the link comes; a reset of the MAC discards the rest of the frame that is in it.
module vireo_mac_tx
  import vireo_mac_pkg::*;
#(
  parameter int unsigned CoreBits,
  parameter int unsigned MacBits,
  parameter int unsigned BufferBytes,    // a power of two
  parameter int unsigned MaxFrameBytes,
  localparam int unsigned CoreBytes = CoreBits / 8,
  localparam int unsigned MacBytes = MacBits / 8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 nic_rst_ni,     // changes with clk_i
  input  logic                 s_axis_tvalid_i,
  output logic                 s_axis_tready_o,
  input  logic [CoreBits-1:0]  s_axis_tdata_i,
  input  logic [CoreBytes-1:0] s_axis_tkeep_i,
  input  logic                 s_axis_tlast_i,

  input  logic                 mac_clk_i,
  input  logic                 mac_rst_ni,     // with rst_ni, as of vireo_async_fifo
  input  logic                 mac_reset_i,    // of the MAC's transmitter, which has forgotten its frame
  input  logic                 link_i,         // changes with mac_clk_i
  output logic                 m_axis_tvalid_o,
  input  logic                 m_axis_tready_i,
  output logic [MacBits-1:0]   m_axis_tdata_o,
  output logic [MacBytes-1:0]  m_axis_tkeep_o,
  output logic                 m_axis_tlast_o,
  output logic                 discarded_o     // a pulse per frame
);

  localparam int unsigned StoreBits = wider(CoreBits, MacBits);
  localparam int unsigned StoreBytes = StoreBits / 8;
  localparam int unsigned SizeBits = $clog2(StoreBytes);
  localparam int unsigned CoreSizeBits = $clog2(CoreBytes);
  localparam int unsigned MacSizeBits = $clog2(MacBytes);
  localparam int unsigned Depth = BufferBytes / StoreBytes;
  localparam int unsigned RoomBits = $clog2(Depth) + 1;
  // Frames that were begun, in the NIC's framer and here, before the NIC sees that it is not ready.
  localparam int unsigned OnTheWay = 16;
  localparam int unsigned NeededBeats = (MaxFrameBytes + StoreBytes - 1) / StoreBytes + OnTheWay;

  if (NeededBeats > Depth) $fatal(1, "BufferBytes is less than the longest frame");

  // --- The NIC's clock

  logic [CoreSizeBits-1:0] core_size;
  logic wide_valid, wide_last;
  logic [StoreBits-1:0] wide_data;
  logic [SizeBits-1:0] wide_size;
  logic store_ready;
  logic [RoomBits-1:0] room;
  logic ready_q;

  always_comb begin
    core_size = '0;
    for (int unsigned i = 0; i < CoreBytes; ++i) begin
      if (s_axis_tkeep_i[i]) core_size = CoreSizeBits'(i);
    end
  end

  // verilator lint_off PINCONNECTEMPTY
  vireo_mac_widen #(
    .InBits(CoreBits),
    .OutBits(StoreBits)
  ) u_widen (
    .clk_i,
    .rst_ni,
    .restart_i(!nic_rst_ni),
    .valid_i(s_axis_tvalid_i),
    .data_i(s_axis_tdata_i),
    .size_i(core_size),
    .last_i(s_axis_tlast_i),
    .error_i(1'b0),
    .valid_o(wide_valid),
    .data_o(wide_data),
    .size_o(wide_size),
    .last_o(wide_last),
    .error_o()
  );
  // verilator lint_on PINCONNECTEMPTY

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ready_q <= 1'b0;
    else ready_q <= room >= RoomBits'(NeededBeats);
  end
  assign s_axis_tready_o = ready_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && wide_valid && nic_rst_ni) no_overrun: assert (store_ready);
  end
`else
  // verilator lint_off UNUSEDSIGNAL
  logic unused_ready;
  assign unused_ready = store_ready;
  // verilator lint_on UNUSEDSIGNAL
`endif

  // --- The MAC's clock

  logic beat_valid, beat_ready, beat_last, part_valid, part_ready, part_last;
  logic [StoreBits-1:0] beat_data;
  logic [SizeBits-1:0] beat_size;
  logic [MacBits-1:0] part_data, out_data;
  logic [MacSizeBits-1:0] part_size, out_size;
  logic within_q, pass_q;  // in a frame; that is for the MAC
  logic pass;
  logic stop_q, out_rst_nq;  // the MAC is in reset, to either kind of flip-flops

  vireo_async_fifo #(
    .Width(StoreBits + SizeBits),
    .Depth(Depth)
  ) u_store (
    .s_clk_i(clk_i),
    .s_rst_ni(rst_ni),
    .s_valid_i(wide_valid),
    .s_ready_o(store_ready),
    .s_data_i({wide_size, wide_data}),
    .s_last_i(wide_last),
    .s_drop_i(!nic_rst_ni),
    .s_room_o(room),
    .m_clk_i(mac_clk_i),
    .m_rst_ni(mac_rst_ni),
    .m_valid_o(beat_valid),
    .m_ready_i(beat_ready),
    .m_data_o({beat_size, beat_data}),
    .m_last_o(beat_last)
  );

  assign pass = (within_q ? pass_q : link_i) && !stop_q;
  assign beat_ready = !pass || part_ready;

  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) begin
      within_q <= 1'b0;
      pass_q <= 1'b0;
      stop_q <= 1'b1;
      out_rst_nq <= 1'b0;
      discarded_o <= 1'b0;
    end else begin
      stop_q <= mac_reset_i;
      out_rst_nq <= !mac_reset_i;
      discarded_o <= beat_valid && beat_last && !pass;
      // The first part of a beat may leave before the beat is taken.
      if (beat_valid && beat_ready && beat_last) within_q <= 1'b0;
      else if (beat_valid) within_q <= 1'b1;
      if (beat_valid) pass_q <= pass;
      else if (stop_q) pass_q <= 1'b0;
    end
  end

  logic out_ready;
  vireo_mac_narrow #(
    .InBits(StoreBits),
    .OutBits(MacBits)
  ) u_narrow (
    .clk_i(mac_clk_i),
    .rst_ni(mac_rst_ni),
    .restart_i(stop_q),
    .valid_i(beat_valid && pass),
    .ready_o(part_ready),
    .data_i(beat_data),
    .size_i(beat_size),
    .last_i(beat_last),
    .valid_o(part_valid),
    .ready_i(out_ready),
    .data_o(part_data),
    .size_o(part_size),
    .last_o(part_last)
  );

  vireo_slice #(
    .Width(1 + MacSizeBits + MacBits),
    .Depth(2)
  ) u_out (
    .clk_i(mac_clk_i),
    .rst_ni(out_rst_nq),
    .s_valid_i(part_valid),
    .s_ready_o(out_ready),
    .s_data_i({part_last, part_size, part_data}),
    .m_valid_o(m_axis_tvalid_o),
    .m_ready_i(m_axis_tready_i),
    .m_data_o({m_axis_tlast_o, out_size, out_data})
  );

  assign m_axis_tdata_o = out_data;
  always_comb begin
    for (int unsigned i = 0; i < MacBytes; ++i) m_axis_tkeep_o[i] = MacSizeBits'(i) <= out_size;
  end

endmodule
