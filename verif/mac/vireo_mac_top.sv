// SPDX-License-Identifier: Apache-2.0

// vireo_mac with the names that the outside model of AXI4-Stream expects.
module vireo_mac_top
  import vireo_mac_pkg::*;
#(
  parameter int unsigned CoreBits,
  parameter int unsigned MacBits
) (
  input  logic                  power_rst_n,
  input  logic                  clk,
  input  logic                  nic_rst_n,
  input  logic                  s_axis_tvalid,
  output logic                  s_axis_tready,
  input  logic [CoreBits-1:0]   s_axis_tdata,
  input  logic [CoreBits/8-1:0] s_axis_tkeep,
  input  logic                  s_axis_tlast,
  output logic                  m_axis_tvalid,
  output logic [CoreBits-1:0]   m_axis_tdata,
  output logic [CoreBits/8-1:0] m_axis_tkeep,
  output logic                  m_axis_tlast,
  output logic                  m_axis_tuser,
  output logic                  mac_link,
  input  logic                  tx_clk,
  input  logic                  tx_reset,
  output logic                  tx_axis_tvalid,
  input  logic                  tx_axis_tready,
  output logic [MacBits-1:0]    tx_axis_tdata,
  output logic [MacBits/8-1:0]  tx_axis_tkeep,
  output logic                  tx_axis_tlast,
  output logic                  tx_axis_tuser,
  input  logic                  rx_clk,
  input  logic                  rx_reset,
  input  logic                  rx_axis_tvalid,
  input  logic [MacBits-1:0]    rx_axis_tdata,
  input  logic [MacBits/8-1:0]  rx_axis_tkeep,
  input  logic                  rx_axis_tlast,
  input  logic                  rx_axis_tuser,
  input  logic                  link,
  output logic [31:0]           rx_good,
  output logic [31:0]           rx_error,
  output logic [31:0]           rx_runt,
  output logic [31:0]           rx_oversize,
  output logic [31:0]           rx_overrun,
  output logic [31:0]           tx_discarded
);

  mac_counts_t counts;
  assign {rx_good, rx_error, rx_runt, rx_oversize, rx_overrun, tx_discarded} = counts;

  vireo_mac #(
    .CoreBits(CoreBits),
    .MacBits(MacBits),
    .BufferBytes(32768),
    .MaxFrameBytes(9728)
  ) u_mac (
    .power_rst_ni(power_rst_n),
    .clk_i(clk),
    .nic_rst_ni(nic_rst_n),
    .s_axis_tvalid_i(s_axis_tvalid),
    .s_axis_tready_o(s_axis_tready),
    .s_axis_tdata_i(s_axis_tdata),
    .s_axis_tkeep_i(s_axis_tkeep),
    .s_axis_tlast_i(s_axis_tlast),
    .m_axis_tvalid_o(m_axis_tvalid),
    .m_axis_tdata_o(m_axis_tdata),
    .m_axis_tkeep_o(m_axis_tkeep),
    .m_axis_tlast_o(m_axis_tlast),
    .m_axis_tuser_o(m_axis_tuser),
    .mac_link_o(mac_link),
    .counts_o(counts),
    .tx_clk_i(tx_clk),
    .tx_reset_i(tx_reset),
    .tx_axis_tvalid_o(tx_axis_tvalid),
    .tx_axis_tready_i(tx_axis_tready),
    .tx_axis_tdata_o(tx_axis_tdata),
    .tx_axis_tkeep_o(tx_axis_tkeep),
    .tx_axis_tlast_o(tx_axis_tlast),
    .tx_axis_tuser_o(tx_axis_tuser),
    .rx_clk_i(rx_clk),
    .rx_reset_i(rx_reset),
    .rx_axis_tvalid_i(rx_axis_tvalid),
    .rx_axis_tdata_i(rx_axis_tdata),
    .rx_axis_tkeep_i(rx_axis_tkeep),
    .rx_axis_tlast_i(rx_axis_tlast),
    .rx_axis_tuser_i(rx_axis_tuser),
    .link_i(link)
  );

endmodule
