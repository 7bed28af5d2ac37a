// SPDX-License-Identifier: Apache-2.0

// A card on PCI Express: the NIC with its control processor between AMD's UltraScale+ block for PCI Express and a MAC,
// whose primitives are outside (fpga/boards). The NIC, the bridge and the processor have the clock of the PCI Express
// block; the MAC has its own.
//
// A function level reset resets the NIC and the processor, which loads its firmware anew; user_reset_i resets everything,
// the frames on their way to and from the MAC included.
module vireo_card
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_pcie_pkg::*;
  import vireo_mac_pkg::*;
#(
  parameter int unsigned ConfigIndex = Nic100Index,  // of Configs
  parameter config_t Config = Configs[ConfigIndex],
  parameter int unsigned MacBits,              // of the MAC's streams: 512 (CMAC) or 64 (xxv_ethernet)
  parameter int unsigned MacBufferBytes,       // see vireo_mac
  parameter int unsigned MemoryWords,          // of the control processor, see there
  parameter int unsigned WatchdogBits,
  parameter int unsigned ConsoleCyclesPerBit,
  parameter int unsigned ImageWords,           // see vireo_card_boot
  parameter ImageFile = "",
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned CqUserBits = cq_user_bits(DataBits),
  localparam int unsigned CcUserBits = cc_user_bits(DataBits),
  localparam int unsigned RqUserBits = rq_user_bits(DataBits),
  localparam int unsigned RcUserBits = rc_user_bits(DataBits)
) (
  input  logic                      user_clk_i,             // the NIC's clock: Config.core_clock_khz
  input  logic                      user_reset_i,

  // The block. Names as there, without m_axis and s_axis.
  input  logic                      cq_tvalid_i,
  output logic                      cq_tready_o,
  input  logic [DataBits-1:0]       cq_tdata_i,
  input  logic [DataBits/32-1:0]    cq_tkeep_i,
  input  logic                      cq_tlast_i,
  input  logic [CqUserBits-1:0]     cq_tuser_i,
  output logic [1:0]                pcie_cq_np_req_o,
  output logic                      cc_tvalid_o,
  input  logic                      cc_tready_i,
  output logic [DataBits-1:0]       cc_tdata_o,
  output logic [DataBits/32-1:0]    cc_tkeep_o,
  output logic                      cc_tlast_o,
  output logic [CcUserBits-1:0]     cc_tuser_o,
  output logic                      rq_tvalid_o,
  input  logic                      rq_tready_i,
  output logic [DataBits-1:0]       rq_tdata_o,
  output logic [DataBits/32-1:0]    rq_tkeep_o,
  output logic                      rq_tlast_o,
  output logic [RqUserBits-1:0]     rq_tuser_o,
  input  logic                      rc_tvalid_i,
  output logic                      rc_tready_o,
  input  logic [DataBits-1:0]       rc_tdata_i,
  input  logic [DataBits/32-1:0]    rc_tkeep_i,
  input  logic                      rc_tlast_i,
  input  logic [RcUserBits-1:0]     rc_tuser_i,
  input  logic                      pcie_rq_seq_num_vld0_i,
  input  logic [5:0]                pcie_rq_seq_num0_i,
  input  logic                      pcie_rq_seq_num_vld1_i,
  input  logic [5:0]                pcie_rq_seq_num1_i,
  input  logic [3:0]                pcie_tfc_nph_av_i,
  input  logic [1:0]                cfg_max_payload_i,
  input  logic [2:0]                cfg_max_read_req_i,
  input  logic [15:0]               cfg_function_status_i,     // 4 bits each; bit 2 of them is bus master
  input  logic [3:0]                cfg_interrupt_msix_enable_i,
  input  logic [3:0]                cfg_interrupt_msix_mask_i,
  input  logic [3:0]                cfg_flr_in_process_i,
  output logic [3:0]                cfg_flr_done_o,
  input  logic                      cfg_ext_read_received_i,
  input  logic                      cfg_ext_write_received_i,
  input  logic [9:0]                cfg_ext_register_number_i,
  input  logic [7:0]                cfg_ext_function_number_i,
  input  logic [31:0]               cfg_ext_write_data_i,
  input  logic [3:0]                cfg_ext_write_byte_enable_i,
  output logic [31:0]               cfg_ext_read_data_o,
  output logic                      cfg_ext_read_data_valid_o,
  output logic [9:0]                cfg_mgmt_addr_o,
  output logic                      cfg_mgmt_read_o,
  input  logic [31:0]               cfg_mgmt_read_data_i,
  input  logic                      cfg_mgmt_read_write_done_i,

  // The MAC, see vireo_mac.
  input  logic                      tx_clk_i,
  input  logic                      tx_reset_i,
  output logic                      tx_axis_tvalid_o,
  input  logic                      tx_axis_tready_i,
  output logic [MacBits-1:0]        tx_axis_tdata_o,
  output logic [MacBits/8-1:0]      tx_axis_tkeep_o,
  output logic                      tx_axis_tlast_o,
  output logic                      tx_axis_tuser_o,
  input  logic                      rx_clk_i,
  input  logic                      rx_reset_i,
  input  logic                      rx_axis_tvalid_i,
  input  logic [MacBits-1:0]        rx_axis_tdata_i,
  input  logic [MacBits/8-1:0]      rx_axis_tkeep_i,
  input  logic                      rx_axis_tlast_i,
  input  logic                      rx_axis_tuser_i,
  input  logic                      link_i,

  // For the board: a serial line, and what a logic analyzer looks at.
  output logic                      console_tx_o,
  output logic [7:0]                failure_o,               // processor_failure_e
  output mac_counts_t               mac_counts_o
);

  localparam int unsigned TagBits = $clog2(Config.dma_tags);
  localparam int unsigned NsPerCycle = 1_000_000 / Config.core_clock_khz;

  if (NsPerCycle * Config.core_clock_khz != 1_000_000) $fatal(1, "a cycle is no whole number of nanoseconds");

  // verilator lint_off SYNCASYNCNET
  logic nic_rst_n;  // the NIC takes it asynchronously, the processor and the MAC's side synchronously
  // verilator lint_on SYNCASYNCNET
  logic power_rst_n, extended_tags;
  logic bus_master, msix_enable, msix_mask;
  logic [2:0] max_payload_size, max_read_request_size;
  logic bar_valid, bar_write, bar_read_valid;
  logic [2:0] bar_index;
  logic [31:0] bar_offset;
  logic [3:0] bar_bytes;
  logic [63:0] bar_data, bar_read_data;
  logic arvalid, arready, rvalid, rlast, awvalid, awready, wvalid, wready, wlast, bvalid;
  logic [TagBits-1:0] arid, rid;
  logic [63:0] araddr, awaddr;
  logic [7:0] arlen;
  logic [BurstBytesBits-1:0] aruser, awuser;
  logic [DataBits-1:0] rdata, wdata;
  logic [1:0] rresp, bresp;
  logic msix_valid;
  logic [63:0] msix_address;
  logic [31:0] msix_data;

  assign power_rst_n = !user_reset_i;

  // --- PCI Express

  vireo_pcie_bridge #(.Config(Config)) u_bridge (
    .user_clk_i,
    .user_reset_i,
    .cq_tvalid_i,
    .cq_tready_o,
    .cq_tdata_i,
    .cq_tkeep_i,
    .cq_tlast_i,
    .cq_tuser_i,
    .pcie_cq_np_req_o,
    .cc_tvalid_o,
    .cc_tready_i,
    .cc_tdata_o,
    .cc_tkeep_o,
    .cc_tlast_o,
    .cc_tuser_o,
    .rq_tvalid_o,
    .rq_tready_i,
    .rq_tdata_o,
    .rq_tkeep_o,
    .rq_tlast_o,
    .rq_tuser_o,
    .rc_tvalid_i,
    .rc_tready_o,
    .rc_tdata_i,
    .rc_tkeep_i,
    .rc_tlast_i,
    .rc_tuser_i,
    .pcie_rq_seq_num_vld0_i,
    .pcie_rq_seq_num0_i,
    .pcie_rq_seq_num_vld1_i,
    .pcie_rq_seq_num1_i,
    .pcie_tfc_nph_av_i,
    .cfg_max_payload_i,
    .cfg_max_read_req_i,
    .cfg_function_status_i,
    .cfg_interrupt_msix_enable_i,
    .cfg_interrupt_msix_mask_i,
    .cfg_flr_in_process_i,
    .cfg_flr_done_o,
    .cfg_ext_read_received_i,
    .cfg_ext_write_received_i,
    .cfg_ext_register_number_i,
    .cfg_ext_function_number_i,
    .cfg_ext_write_data_i,
    .cfg_ext_write_byte_enable_i,
    .cfg_ext_read_data_o,
    .cfg_ext_read_data_valid_o,
    .extended_tags_i(extended_tags),
    .nic_rst_no(nic_rst_n),
    .cfg_bus_master_o(bus_master),
    .cfg_msix_enable_o(msix_enable),
    .cfg_msix_mask_o(msix_mask),
    .cfg_max_payload_size_o(max_payload_size),
    .cfg_max_read_request_size_o(max_read_request_size),
    .bar_valid_o(bar_valid),
    .bar_write_o(bar_write),
    .bar_index_o(bar_index),
    .bar_offset_o(bar_offset),
    .bar_bytes_o(bar_bytes),
    .bar_data_o(bar_data),
    .bar_read_valid_i(bar_read_valid),
    .bar_read_data_i(bar_read_data),
    .arvalid_i(arvalid),
    .arready_o(arready),
    .arid_i(arid),
    .araddr_i(araddr),
    .arlen_i(arlen),
    .aruser_i(aruser),
    .rvalid_o(rvalid),
    .rid_o(rid),
    .rdata_o(rdata),
    .rresp_o(rresp),
    .rlast_o(rlast),
    .awvalid_i(awvalid),
    .awready_o(awready),
    .awaddr_i(awaddr),
    .awuser_i(awuser),
    .wvalid_i(wvalid),
    .wready_o(wready),
    .wdata_i(wdata),
    .wlast_i(wlast),
    .bvalid_o(bvalid),
    .bresp_o(bresp),
    .msix_valid_i(msix_valid),
    .msix_address_i(msix_address),
    .msix_data_i(msix_data)
  );

  vireo_card_control u_control (
    .clk_i(user_clk_i),
    .rst_ni(power_rst_n),
    .cfg_mgmt_addr_o,
    .cfg_mgmt_read_o,
    .cfg_mgmt_read_data_i,
    .cfg_mgmt_read_write_done_i,
    .extended_tags_o(extended_tags)
  );

  // --- NIC. Its time goes on over its resets.

  logic [63:0] time_ns_q;
  always_ff @(posedge user_clk_i or negedge power_rst_n) begin
    if (!power_rst_n) time_ns_q <= '0;
    else time_ns_q <= time_ns_q + 64'(NsPerCycle);
  end

  logic tvalid, tready, tlast, beat_valid, beat_last, beat_error, mac_link;
  logic [DataBits-1:0] tdata, beat;
  logic [DataBits/8-1:0] tkeep, beat_keep;
  logic csr_valid, csr_write, csr_read_valid, firmware_interrupt;
  logic [11:0] csr_address;
  logic [31:0] csr_data, csr_read_data;

  // verilator lint_off PINCONNECTEMPTY
  vireo_nic #(
    .ConfigIndex(ConfigIndex),
    .Config(Config)
  ) u_nic (
    .clk_i(user_clk_i),
    .rst_ni(nic_rst_n),
    .time_ns_i(time_ns_q),
    .cfg_bus_master_i(bus_master),
    .cfg_msix_enable_i(msix_enable),
    .cfg_msix_mask_i(msix_mask),
    .cfg_max_payload_size_i(max_payload_size),
    .cfg_max_read_request_size_i(max_read_request_size),
    .bar_valid_i(bar_valid),
    .bar_write_i(bar_write),
    .bar_index_i(bar_index),
    .bar_offset_i(bar_offset),
    .bar_bytes_i(bar_bytes),
    .bar_data_i(bar_data),
    .bar_read_valid_o(bar_read_valid),
    .bar_read_data_o(bar_read_data),
    .m_axi_arvalid_o(arvalid),
    .m_axi_arready_i(arready),
    .m_axi_arid_o(arid),
    .m_axi_araddr_o(araddr),
    .m_axi_arlen_o(arlen),
    .m_axi_arsize_o(),
    .m_axi_arburst_o(),
    .m_axi_aruser_o(aruser),
    .m_axi_rvalid_i(rvalid),
    .m_axi_rready_o(),
    .m_axi_rid_i(rid),
    .m_axi_rdata_i(rdata),
    .m_axi_rresp_i(rresp),
    .m_axi_rlast_i(rlast),
    .m_axi_awvalid_o(awvalid),
    .m_axi_awready_i(awready),
    .m_axi_awaddr_o(awaddr),
    .m_axi_awlen_o(),
    .m_axi_awsize_o(),
    .m_axi_awburst_o(),
    .m_axi_awuser_o(awuser),
    .m_axi_wvalid_o(wvalid),
    .m_axi_wready_i(wready),
    .m_axi_wdata_o(wdata),
    .m_axi_wstrb_o(),
    .m_axi_wlast_o(wlast),
    .m_axi_bvalid_i(bvalid),
    .m_axi_bready_o(),
    .m_axi_bresp_i(bresp),
    .msix_valid_o(msix_valid),
    .msix_vector_o(),
    .msix_address_o(msix_address),
    .msix_data_o(msix_data),
    .m_axis_tvalid_o(tvalid),
    .m_axis_tready_i(tready),
    .m_axis_tdata_o(tdata),
    .m_axis_tkeep_o(tkeep),
    .m_axis_tlast_o(tlast),
    .s_axis_tvalid_i(beat_valid),
    .s_axis_tdata_i(beat),
    .s_axis_tkeep_i(beat_keep),
    .s_axis_tlast_i(beat_last),
    .s_axis_tuser_i(beat_error),
    .mac_link_i(mac_link),
    .csr_valid_i(csr_valid),
    .csr_write_i(csr_write),
    .csr_address_i(csr_address),
    .csr_data_i(csr_data),
    .csr_read_valid_o(csr_read_valid),
    .csr_read_data_o(csr_read_data),
    .firmware_interrupt_o(firmware_interrupt),
    .idle_o(),
    .deadline_ns_o()
  );

  // --- Control processor

  logic load_valid, run;
  logic [31:0] load_address, load_data;

  vireo_card_boot #(
    .ImageWords(ImageWords),
    .ImageFile(ImageFile)
  ) u_boot (
    .clk_i(user_clk_i),
    .rst_ni(nic_rst_n),
    .load_valid_o(load_valid),
    .load_address_o(load_address),
    .load_data_o(load_data),
    .run_o(run)
  );

  vireo_control_processor #(
    .MemoryWords(MemoryWords),
    .WatchdogBits(WatchdogBits),
    .CyclesPerBit(ConsoleCyclesPerBit)
  ) u_processor (
    .clk_i(user_clk_i),
    .rst_ni(nic_rst_n),
    .load_valid_i(load_valid),
    .load_address_i(load_address),
    .load_data_i(load_data),
    .run_i(run),
    .csr_valid_o(csr_valid),
    .csr_write_o(csr_write),
    .csr_address_o(csr_address),
    .csr_data_o(csr_data),
    .csr_read_valid_i(csr_read_valid),
    .csr_read_data_i(csr_read_data),
    .firmware_interrupt_i(firmware_interrupt),
    .console_tx_o,
    .console_valid_o(),
    .console_data_o(),
    .waiting_o(),
    .failure_o
  );
  // verilator lint_on PINCONNECTEMPTY

  // --- MAC

  vireo_mac #(
    .CoreBits(DataBits),
    .MacBits(MacBits),
    .BufferBytes(MacBufferBytes),
    .MaxFrameBytes(Config.max_frame_bytes)
  ) u_mac (
    .power_rst_ni(power_rst_n),
    .clk_i(user_clk_i),
    .nic_rst_ni(nic_rst_n),
    .s_axis_tvalid_i(tvalid),
    .s_axis_tready_o(tready),
    .s_axis_tdata_i(tdata),
    .s_axis_tkeep_i(tkeep),
    .s_axis_tlast_i(tlast),
    .m_axis_tvalid_o(beat_valid),
    .m_axis_tdata_o(beat),
    .m_axis_tkeep_o(beat_keep),
    .m_axis_tlast_o(beat_last),
    .m_axis_tuser_o(beat_error),
    .mac_link_o(mac_link),
    .counts_o(mac_counts_o),
    .tx_clk_i,
    .tx_reset_i,
    .tx_axis_tvalid_o,
    .tx_axis_tready_i,
    .tx_axis_tdata_o,
    .tx_axis_tkeep_o,
    .tx_axis_tlast_o,
    .tx_axis_tuser_o,
    .rx_clk_i,
    .rx_reset_i,
    .rx_axis_tvalid_i,
    .rx_axis_tdata_i,
    .rx_axis_tkeep_i,
    .rx_axis_tlast_i,
    .rx_axis_tuser_i,
    .link_i
  );

endmodule
