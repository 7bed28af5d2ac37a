// SPDX-License-Identifier: Apache-2.0

// Between vireo_nic and a MAC with AXI4-Streams: AMD's CMAC (PG203, 512 bits) or xxv_ethernet (PG210, 64 bits), set to
// add and to delete the check sequence, and without flow control. Three clocks that need have nothing in common.
// docs/blocks/mac.md has the settings.
module vireo_mac
  import vireo_mac_pkg::*;
#(
  parameter int unsigned CoreBits,
  parameter int unsigned MacBits,
  parameter int unsigned BufferBytes,    // in each direction; a power of two
  parameter int unsigned MaxFrameBytes,
  localparam int unsigned CoreBytes = CoreBits / 8,
  localparam int unsigned MacBytes = MacBits / 8
) (
  input  logic                 power_rst_ni,     // everything, at any time

  // vireo_nic
  input  logic                 clk_i,
  input  logic                 nic_rst_ni,       // of the NIC; changes with clk_i. Frames beside it stay
  input  logic                 s_axis_tvalid_i,
  output logic                 s_axis_tready_o,
  input  logic [CoreBits-1:0]  s_axis_tdata_i,
  input  logic [CoreBytes-1:0] s_axis_tkeep_i,
  input  logic                 s_axis_tlast_i,
  output logic                 m_axis_tvalid_o,
  output logic [CoreBits-1:0]  m_axis_tdata_o,
  output logic [CoreBytes-1:0] m_axis_tkeep_o,
  output logic                 m_axis_tlast_o,
  output logic                 m_axis_tuser_o,   // always 0: bad frames are dropped here
  output logic                 mac_link_o,
  output mac_counts_t          counts_o,

  // The MAC. Names as there.
  input  logic                 tx_clk_i,
  input  logic                 tx_reset_i,       // changes with tx_clk_i
  output logic                 tx_axis_tvalid_o,
  input  logic                 tx_axis_tready_i,
  output logic [MacBits-1:0]   tx_axis_tdata_o,
  output logic [MacBytes-1:0]  tx_axis_tkeep_o,
  output logic                 tx_axis_tlast_o,
  output logic                 tx_axis_tuser_o,  // always 0: the frame is good
  input  logic                 rx_clk_i,
  input  logic                 rx_reset_i,       // changes with rx_clk_i
  input  logic                 rx_axis_tvalid_i,
  input  logic [MacBits-1:0]   rx_axis_tdata_i,
  input  logic [MacBytes-1:0]  rx_axis_tkeep_i,
  input  logic                 rx_axis_tlast_i,
  input  logic                 rx_axis_tuser_i,
  input  logic                 link_i            // of a flip-flop of any clock: frames can be sent and received
);

  logic rst_n, tx_rst_n, rx_rst_n, tx_link;
  logic good, error, runt, oversize, overrun, discarded;

  vireo_reset_sync u_reset (
    .clk_i,
    .rst_ni(power_rst_ni),
    .rst_no(rst_n)
  );
  vireo_reset_sync u_tx_reset (
    .clk_i(tx_clk_i),
    .rst_ni(power_rst_ni),
    .rst_no(tx_rst_n)
  );
  vireo_reset_sync u_rx_reset (
    .clk_i(rx_clk_i),
    .rst_ni(power_rst_ni),
    .rst_no(rx_rst_n)
  );
  vireo_sync #(.Width(1)) u_link (
    .clk_i,
    .rst_ni(rst_n),
    .d_i(link_i),
    .q_o(mac_link_o)
  );
  vireo_sync #(.Width(1)) u_tx_link (
    .clk_i(tx_clk_i),
    .rst_ni(tx_rst_n),
    .d_i(link_i),
    .q_o(tx_link)
  );

  vireo_mac_tx #(
    .CoreBits(CoreBits),
    .MacBits(MacBits),
    .BufferBytes(BufferBytes),
    .MaxFrameBytes(MaxFrameBytes)
  ) u_tx (
    .clk_i,
    .rst_ni(rst_n),
    .nic_rst_ni,
    .s_axis_tvalid_i,
    .s_axis_tready_o,
    .s_axis_tdata_i,
    .s_axis_tkeep_i,
    .s_axis_tlast_i,
    .mac_clk_i(tx_clk_i),
    .mac_rst_ni(tx_rst_n),
    .mac_reset_i(tx_reset_i),
    .link_i(tx_link),
    .m_axis_tvalid_o(tx_axis_tvalid_o),
    .m_axis_tready_i(tx_axis_tready_i),
    .m_axis_tdata_o(tx_axis_tdata_o),
    .m_axis_tkeep_o(tx_axis_tkeep_o),
    .m_axis_tlast_o(tx_axis_tlast_o),
    .discarded_o(discarded)
  );
  assign tx_axis_tuser_o = 1'b0;

  vireo_mac_rx #(
    .CoreBits(CoreBits),
    .MacBits(MacBits),
    .BufferBytes(BufferBytes),
    .MaxFrameBytes(MaxFrameBytes)
  ) u_rx (
    .mac_clk_i(rx_clk_i),
    .mac_rst_ni(rx_rst_n),
    .mac_reset_i(rx_reset_i),
    .s_axis_tvalid_i(rx_axis_tvalid_i),
    .s_axis_tdata_i(rx_axis_tdata_i),
    .s_axis_tkeep_i(rx_axis_tkeep_i),
    .s_axis_tlast_i(rx_axis_tlast_i),
    .s_axis_tuser_i(rx_axis_tuser_i),
    .good_o(good),
    .error_o(error),
    .runt_o(runt),
    .oversize_o(oversize),
    .overrun_o(overrun),
    .clk_i,
    .rst_ni(rst_n),
    .nic_rst_ni,
    .m_axis_tvalid_o,
    .m_axis_tdata_o,
    .m_axis_tkeep_o,
    .m_axis_tlast_o
  );
  assign m_axis_tuser_o = 1'b0;

  // --- Counts

  localparam int unsigned RxCounts = 5;
  logic [RxCounts-1:0] rx_events;
  logic [RxCounts-1:0][MacCountBits-1:0] rx_counts;

  assign rx_events = {good, error, runt, oversize, overrun};
  for (genvar i = 0; i < RxCounts; ++i) begin : g_rx
    vireo_async_count #(.Width(MacCountBits)) u_count (
      .s_clk_i(rx_clk_i),
      .s_rst_ni(rx_rst_n),
      .s_event_i(rx_events[i]),
      .m_clk_i(clk_i),
      .m_rst_ni(rst_n),
      .m_count_o(rx_counts[i])
    );
  end
  assign {counts_o.rx_good, counts_o.rx_error, counts_o.rx_runt, counts_o.rx_oversize, counts_o.rx_overrun} = rx_counts;
  vireo_async_count #(.Width(MacCountBits)) u_discarded (
    .s_clk_i(tx_clk_i),
    .s_rst_ni(tx_rst_n),
    .s_event_i(discarded),
    .m_clk_i(clk_i),
    .m_rst_ni(rst_n),
    .m_count_o(counts_o.tx_discarded)
  );

endmodule
