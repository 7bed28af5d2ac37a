// SPDX-License-Identifier: Apache-2.0

// A MAC's frames to the NIC, from the MAC's clock to the NIC's. The MAC does not wait, and neither does the NIC want to: a
// frame is handed on when all of it is here and is good, without a gap. All others are dropped whole and counted: those
// that the MAC found bad, shorter than MacMinFrameBytes, longer than MaxFrameBytes, and without room.
//
// A reset of the MAC drops the frame that it cuts. Of a frame that a reset of the NIC cuts nothing more is handed on.
module vireo_mac_rx
  import vireo_mac_pkg::*;
#(
  parameter int unsigned CoreBits,
  parameter int unsigned MacBits,
  parameter int unsigned BufferBytes,    // a power of two
  parameter int unsigned MaxFrameBytes,
  localparam int unsigned CoreBytes = CoreBits / 8,
  localparam int unsigned MacBytes = MacBits / 8
) (
  input  logic                 mac_clk_i,
  input  logic                 mac_rst_ni,     // with rst_ni, as of vireo_async_fifo
  input  logic                 mac_reset_i,    // of the MAC's receiver; changes with mac_clk_i
  input  logic                 s_axis_tvalid_i,
  input  logic [MacBits-1:0]   s_axis_tdata_i,
  input  logic [MacBytes-1:0]  s_axis_tkeep_i,
  input  logic                 s_axis_tlast_i,
  input  logic                 s_axis_tuser_i,  // with tlast: the frame is bad
  // A pulse per frame.
  output logic                 good_o,
  output logic                 error_o,
  output logic                 runt_o,
  output logic                 oversize_o,
  output logic                 overrun_o,

  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 nic_rst_ni,     // changes with clk_i
  output logic                 m_axis_tvalid_o,
  output logic [CoreBits-1:0]  m_axis_tdata_o,
  output logic [CoreBytes-1:0] m_axis_tkeep_o,
  output logic                 m_axis_tlast_o
);

  localparam int unsigned StoreBits = wider(CoreBits, MacBits);
  localparam int unsigned StoreBytes = StoreBits / 8;
  localparam int unsigned SizeBits = $clog2(StoreBytes);
  localparam int unsigned CoreSizeBits = $clog2(CoreBytes);
  localparam int unsigned MacSizeBits = $clog2(MacBytes);
  localparam int unsigned Depth = BufferBytes / StoreBytes;
  localparam int unsigned BeatsBits = $clog2(MaxFrameBytes / StoreBytes + 2);
  localparam int unsigned BytesBits = BeatsBits + SizeBits;

  if (MaxFrameBytes > BufferBytes) $fatal(1, "BufferBytes is less than the longest frame");

  // --- The MAC's clock

  logic in_valid_q, in_last_q, in_error_q;
  logic [MacBits-1:0] in_data_q;
  logic [MacSizeBits-1:0] in_size, in_size_q;

  always_comb begin
    in_size = '0;
    for (int unsigned i = 0; i < MacBytes; ++i) begin
      if (s_axis_tkeep_i[i]) in_size = MacSizeBits'(i);
    end
  end
  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) in_valid_q <= 1'b0;
    else in_valid_q <= s_axis_tvalid_i;
  end
  always_ff @(posedge mac_clk_i) begin
    in_data_q <= s_axis_tdata_i;
    in_size_q <= in_size;
    in_last_q <= s_axis_tlast_i;
    in_error_q <= s_axis_tuser_i;
  end

  logic wide_valid, wide_last, wide_error;
  logic [StoreBits-1:0] wide_data;
  logic [SizeBits-1:0] wide_size;

  vireo_mac_widen #(
    .InBits(MacBits),
    .OutBits(StoreBits)
  ) u_widen (
    .clk_i(mac_clk_i),
    .rst_ni(mac_rst_ni),
    .restart_i(mac_reset_i),
    .valid_i(in_valid_q),
    .data_i(in_data_q),
    .size_i(in_size_q),
    .last_i(in_last_q),
    .error_i(in_error_q),
    .valid_o(wide_valid),
    .data_o(wide_data),
    .size_o(wide_size),
    .last_o(wide_last),
    .error_o(wide_error)
  );

  logic [BeatsBits-1:0] beats_q;  // of this frame before
  logic skip_q;                   // the frame was dropped; its rest does not count
  logic [BytesBits-1:0] bytes;
  logic judged, too_long, too_short, no_room, bad, store_ready;

  assign bytes = {beats_q, wide_size};  // less one
  assign judged = wide_valid && !skip_q;
  assign too_long = bytes >= BytesBits'(MaxFrameBytes);
  assign too_short = bytes < BytesBits'(MacMinFrameBytes - 1);
  assign no_room = !store_ready;
  assign bad = too_long || no_room || (wide_last && (wide_error || too_short));

  always_ff @(posedge mac_clk_i or negedge mac_rst_ni) begin
    if (!mac_rst_ni) begin
      beats_q <= '0;
      skip_q <= 1'b0;
      good_o <= 1'b0;
      error_o <= 1'b0;
      runt_o <= 1'b0;
      oversize_o <= 1'b0;
      overrun_o <= 1'b0;
    end else begin
      if (mac_reset_i) begin
        beats_q <= '0;
        skip_q <= 1'b0;
      end else if (wide_valid) begin
        beats_q <= wide_last || skip_q || bad ? '0 : beats_q + 1'b1;
        skip_q <= (skip_q || bad) && !wide_last;
      end
      good_o <= judged && wide_last && !bad && !mac_reset_i;
      error_o <= judged && wide_last && wide_error && !too_long && !no_room && !mac_reset_i;
      runt_o <= judged && wide_last && too_short && !wide_error && !no_room && !mac_reset_i;
      oversize_o <= judged && too_long && !mac_reset_i;
      overrun_o <= judged && no_room && !too_long && !mac_reset_i;
    end
  end

  // --- The NIC's clock

  logic beat_valid, beat_ready, beat_last, part_valid, part_last, part_ready;
  logic [StoreBits-1:0] beat_data;
  logic [SizeBits-1:0] beat_size;
  logic [CoreBits-1:0] part_data;
  logic [CoreSizeBits-1:0] part_size;
  logic within_q, pass_q, pass;  // in a frame; that is for the NIC

  // verilator lint_off PINCONNECTEMPTY
  vireo_async_fifo #(
    .Width(StoreBits + SizeBits),
    .Depth(Depth)
  ) u_store (
    .s_clk_i(mac_clk_i),
    .s_rst_ni(mac_rst_ni),
    .s_valid_i(judged),
    .s_ready_o(store_ready),
    .s_data_i({wide_size, wide_data}),
    .s_last_i(wide_last),
    .s_drop_i(mac_reset_i || (judged && bad)),
    .s_room_o(),
    .m_clk_i(clk_i),
    .m_rst_ni(rst_ni),
    .m_valid_o(beat_valid),
    .m_ready_i(beat_ready),
    .m_data_o({beat_size, beat_data}),
    .m_last_o(beat_last)
  );
  // verilator lint_on PINCONNECTEMPTY

  assign pass = (within_q ? pass_q : 1'b1) && nic_rst_ni;
  assign beat_ready = !pass || part_ready;

  vireo_mac_narrow #(
    .InBits(StoreBits),
    .OutBits(CoreBits)
  ) u_narrow (
    .clk_i,
    .rst_ni,
    .restart_i(!nic_rst_ni),
    .valid_i(beat_valid && pass),
    .ready_o(part_ready),
    .data_i(beat_data),
    .size_i(beat_size),
    .last_i(beat_last),
    .valid_o(part_valid),
    .ready_i(1'b1),
    .data_o(part_data),
    .size_o(part_size),
    .last_o(part_last)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      within_q <= 1'b0;
      pass_q <= 1'b0;
      m_axis_tvalid_o <= 1'b0;
    end else begin
      if (beat_valid) begin
        within_q <= !(beat_ready && beat_last);
        pass_q <= pass;
      end else if (!nic_rst_ni) begin
        pass_q <= 1'b0;
      end
      m_axis_tvalid_o <= part_valid;
    end
  end
  // Behind the last byte everything is zero, as in what the MAC model of the simulation gives.
  always_ff @(posedge clk_i) begin
    m_axis_tlast_o <= part_last;
    for (int unsigned i = 0; i < CoreBytes; ++i) begin
      m_axis_tkeep_o[i] <= CoreSizeBits'(i) <= part_size;
      m_axis_tdata_o[8*i+:8] <= CoreSizeBits'(i) <= part_size ? part_data[8*i+:8] : '0;
    end
  end

endmodule
