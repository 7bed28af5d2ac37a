// SPDX-License-Identifier: Apache-2.0

// Alveo U50: vireo_card as nic100 with AMD's blocks. Their settings are in project.tcl, the pins in vireo_u50.xdc. Outputs of
// the blocks that nobody reads are not listed.
module vireo_u50
  import vireo_spec_pkg::*;
  import vireo_mac_pkg::*;
#(
  parameter ImageFile = "image.hex"  // of the firmware: fpga/boards/image.py
) (
  input  logic        pcie_reset_n,
  input  logic        pcie_refclk_p,
  input  logic        pcie_refclk_n,
  input  logic [15:0] pcie_rx_p,
  input  logic [15:0] pcie_rx_n,
  output logic [15:0] pcie_tx_p,
  output logic [15:0] pcie_tx_n,
  input  logic        qsfp_refclk_p,
  input  logic        qsfp_refclk_n,
  input  logic [3:0]  qsfp_rx_p,
  input  logic [3:0]  qsfp_rx_n,
  output logic [3:0]  qsfp_tx_p,
  output logic [3:0]  qsfp_tx_n,
  input  logic        clk_100mhz_p,
  input  logic        clk_100mhz_n,
  output logic        console_tx,
  output logic        led_link,
  output logic        hbm_cattrip
);

  // 115,200 bits per second from 250 MHz.
  localparam int unsigned ConsoleCyclesPerBit = 2170;

  // --- Clocks

  logic pcie_refclk, pcie_refclk_half, clk_100mhz_in, clk_100mhz;

  IBUFDS_GTE4 #(.REFCLK_HROW_CK_SEL(2'b00)) u_pcie_refclk (
    .I(pcie_refclk_p),
    .IB(pcie_refclk_n),
    .CEB(1'b0),
    .O(pcie_refclk),
    .ODIV2(pcie_refclk_half)
  );
  IBUFDS u_clk_100mhz_in (
    .I(clk_100mhz_p),
    .IB(clk_100mhz_n),
    .O(clk_100mhz_in)
  );
  BUFG u_clk_100mhz (
    .I(clk_100mhz_in),
    .O(clk_100mhz)
  );

  // --- PCI Express

  logic user_clk, user_reset;
  logic m_axis_cq_tvalid;
  logic [511:0] m_axis_cq_tdata;
  logic [15:0] m_axis_cq_tkeep;
  logic m_axis_cq_tlast;
  logic [182:0] m_axis_cq_tuser;
  logic m_axis_cq_tready;
  logic [1:0] pcie_cq_np_req;
  logic s_axis_cc_tvalid;
  logic [511:0] s_axis_cc_tdata;
  logic [15:0] s_axis_cc_tkeep;
  logic s_axis_cc_tlast;
  logic [80:0] s_axis_cc_tuser;
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0] s_axis_cc_tready;  // four copies
  // verilator lint_on UNUSEDSIGNAL
  logic s_axis_rq_tvalid;
  logic [511:0] s_axis_rq_tdata;
  logic [15:0] s_axis_rq_tkeep;
  logic s_axis_rq_tlast;
  logic [136:0] s_axis_rq_tuser;
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0] s_axis_rq_tready;  // four copies
  // verilator lint_on UNUSEDSIGNAL
  logic m_axis_rc_tvalid;
  logic [511:0] m_axis_rc_tdata;
  logic [15:0] m_axis_rc_tkeep;
  logic m_axis_rc_tlast;
  logic [160:0] m_axis_rc_tuser;
  logic m_axis_rc_tready;
  logic pcie_rq_seq_num_vld0;
  logic [5:0] pcie_rq_seq_num0;
  logic pcie_rq_seq_num_vld1;
  logic [5:0] pcie_rq_seq_num1;
  logic [3:0] pcie_tfc_nph_av;
  logic [1:0] cfg_max_payload;
  logic [2:0] cfg_max_read_req;
  logic [15:0] cfg_function_status;
  logic [3:0] cfg_interrupt_msix_enable;
  logic [3:0] cfg_interrupt_msix_mask;
  logic [3:0] cfg_flr_in_process;
  logic [3:0] cfg_flr_done;
  logic cfg_ext_read_received;
  logic cfg_ext_write_received;
  logic [9:0] cfg_ext_register_number;
  logic [7:0] cfg_ext_function_number;
  logic [31:0] cfg_ext_write_data;
  logic [3:0] cfg_ext_write_byte_enable;
  logic [31:0] cfg_ext_read_data;
  logic cfg_ext_read_data_valid;
  logic [9:0] cfg_mgmt_addr;
  logic cfg_mgmt_read;
  logic [31:0] cfg_mgmt_read_data;
  logic cfg_mgmt_read_write_done;

  pcie4c_uscale_plus_0 u_pcie (
    .pci_exp_txp(pcie_tx_p),
    .pci_exp_txn(pcie_tx_n),
    .pci_exp_rxp(pcie_rx_p),
    .pci_exp_rxn(pcie_rx_n),
    .sys_clk(pcie_refclk_half),
    .sys_clk_gt(pcie_refclk),
    .sys_reset(pcie_reset_n),
    .user_clk(user_clk),
    .user_reset(user_reset),
    .m_axis_cq_tvalid(m_axis_cq_tvalid),
    .m_axis_cq_tdata(m_axis_cq_tdata),
    .m_axis_cq_tkeep(m_axis_cq_tkeep),
    .m_axis_cq_tlast(m_axis_cq_tlast),
    .m_axis_cq_tuser(m_axis_cq_tuser),
    .m_axis_cq_tready(m_axis_cq_tready),
    .pcie_cq_np_req(pcie_cq_np_req),
    .s_axis_cc_tvalid(s_axis_cc_tvalid),
    .s_axis_cc_tdata(s_axis_cc_tdata),
    .s_axis_cc_tkeep(s_axis_cc_tkeep),
    .s_axis_cc_tlast(s_axis_cc_tlast),
    .s_axis_cc_tuser(s_axis_cc_tuser),
    .s_axis_cc_tready(s_axis_cc_tready),
    .s_axis_rq_tvalid(s_axis_rq_tvalid),
    .s_axis_rq_tdata(s_axis_rq_tdata),
    .s_axis_rq_tkeep(s_axis_rq_tkeep),
    .s_axis_rq_tlast(s_axis_rq_tlast),
    .s_axis_rq_tuser(s_axis_rq_tuser),
    .s_axis_rq_tready(s_axis_rq_tready),
    .m_axis_rc_tvalid(m_axis_rc_tvalid),
    .m_axis_rc_tdata(m_axis_rc_tdata),
    .m_axis_rc_tkeep(m_axis_rc_tkeep),
    .m_axis_rc_tlast(m_axis_rc_tlast),
    .m_axis_rc_tuser(m_axis_rc_tuser),
    .m_axis_rc_tready(m_axis_rc_tready),
    .pcie_rq_seq_num_vld0(pcie_rq_seq_num_vld0),
    .pcie_rq_seq_num0(pcie_rq_seq_num0),
    .pcie_rq_seq_num_vld1(pcie_rq_seq_num_vld1),
    .pcie_rq_seq_num1(pcie_rq_seq_num1),
    .pcie_tfc_nph_av(pcie_tfc_nph_av),
    .cfg_max_payload(cfg_max_payload),
    .cfg_max_read_req(cfg_max_read_req),
    .cfg_function_status(cfg_function_status),
    .cfg_interrupt_msix_enable(cfg_interrupt_msix_enable),
    .cfg_interrupt_msix_mask(cfg_interrupt_msix_mask),
    .cfg_flr_in_process(cfg_flr_in_process),
    .cfg_flr_done(cfg_flr_done),
    .cfg_ext_read_received(cfg_ext_read_received),
    .cfg_ext_write_received(cfg_ext_write_received),
    .cfg_ext_register_number(cfg_ext_register_number),
    .cfg_ext_function_number(cfg_ext_function_number),
    .cfg_ext_write_data(cfg_ext_write_data),
    .cfg_ext_write_byte_enable(cfg_ext_write_byte_enable),
    .cfg_ext_read_data(cfg_ext_read_data),
    .cfg_ext_read_data_valid(cfg_ext_read_data_valid),
    .cfg_mgmt_addr(cfg_mgmt_addr),
    .cfg_mgmt_read(cfg_mgmt_read),
    .cfg_mgmt_read_data(cfg_mgmt_read_data),
    .cfg_mgmt_read_write_done(cfg_mgmt_read_write_done),
    .cfg_mgmt_function_number(8'd0),
    .cfg_mgmt_write(1'b0),
    .cfg_mgmt_write_data(32'd0),
    .cfg_mgmt_byte_enable(4'd0),
    .cfg_mgmt_debug_access(1'b0),
    .cfg_config_space_enable(1'b1),
    .cfg_link_training_enable(1'b1),
    .cfg_hot_reset_in(1'b0),
    .cfg_err_cor_in(1'b0),
    .cfg_err_uncor_in(1'b0),
    .cfg_power_state_change_ack(1'b1),
    .cfg_req_pm_transition_l23_ready(1'b0),
    .cfg_dsn(64'd0),
    .cfg_ds_port_number(8'd0),
    .cfg_ds_bus_number(8'd0),
    .cfg_ds_device_number(5'd0),
    .cfg_fc_sel(3'd0),
    .cfg_interrupt_int(4'd0),
    .cfg_interrupt_pending(4'd0),
    .cfg_interrupt_msi_attr(3'd0),
    .cfg_interrupt_msi_tph_present(1'b0),
    .cfg_interrupt_msi_tph_type(2'd0),
    .cfg_interrupt_msi_tph_st_tag(8'd0),
    .cfg_interrupt_msi_function_number(8'd0),
    .cfg_msg_transmit(1'b0),
    .cfg_msg_transmit_type(3'd0),
    .cfg_msg_transmit_data(32'd0),
    .cfg_vf_flr_func_num(8'd0),
    .cfg_vf_flr_done(1'b0),
    .cfg_pm_aspm_l1_entry_reject(1'b0),
    .cfg_pm_aspm_tx_l0s_entry_disable(1'b1)
  );

  // --- MAC

  logic mac_clk, tx_reset, rx_reset, init_rst_n, init_reset, rx_status, rx_status_q, remote_fault, link_q;
  logic rx_axis_tvalid, rx_axis_tlast, rx_axis_tuser, tx_axis_tvalid, tx_axis_tready, tx_axis_tlast, tx_axis_tuser;
  logic [511:0] rx_axis_tdata, tx_axis_tdata;
  logic [63:0] rx_axis_tkeep, tx_axis_tkeep;

  vireo_reset_sync u_init_reset (
    .clk_i(clk_100mhz),
    .rst_ni(pcie_reset_n),
    .rst_no(init_rst_n)
  );
  assign init_reset = !init_rst_n;

  // Without a signal from the other side it is told so (remote fault). [IEEE 802.3, 81.3.4]
  always_ff @(posedge mac_clk) begin
    rx_status_q <= rx_status;
    link_q <= rx_status && !remote_fault;
  end

  cmac_usplus_0 u_cmac (
    .gt_rxp_in(qsfp_rx_p),
    .gt_rxn_in(qsfp_rx_n),
    .gt_txp_out(qsfp_tx_p),
    .gt_txn_out(qsfp_tx_n),
    .gt_ref_clk_p(qsfp_refclk_p),
    .gt_ref_clk_n(qsfp_refclk_n),
    .init_clk(clk_100mhz),
    .sys_reset(init_reset),
    .gt_txusrclk2(mac_clk),
    .rx_clk(mac_clk),
    .usr_tx_reset(tx_reset),
    .usr_rx_reset(rx_reset),
    .rx_axis_tvalid(rx_axis_tvalid),
    .rx_axis_tdata(rx_axis_tdata),
    .rx_axis_tkeep(rx_axis_tkeep),
    .rx_axis_tlast(rx_axis_tlast),
    .rx_axis_tuser(rx_axis_tuser),
    .tx_axis_tvalid(tx_axis_tvalid),
    .tx_axis_tready(tx_axis_tready),
    .tx_axis_tdata(tx_axis_tdata),
    .tx_axis_tkeep(tx_axis_tkeep),
    .tx_axis_tlast(tx_axis_tlast),
    .tx_axis_tuser(tx_axis_tuser),
    .stat_rx_status(rx_status),
    .stat_rx_remote_fault(remote_fault),
    .ctl_tx_enable(!tx_reset),
    .ctl_rx_enable(1'b1),
    .ctl_tx_send_rfi(!rx_status_q),
    .ctl_tx_rsfec_enable(1'b1),
    .ctl_rx_rsfec_enable(1'b1),
    .ctl_rx_rsfec_enable_correction(1'b1),
    .ctl_rx_rsfec_enable_indication(1'b1),
    .ctl_tx_send_idle(1'b0),
    .ctl_tx_send_lfi(1'b0),
    .ctl_tx_test_pattern(1'b0),
    .ctl_rx_force_resync(1'b0),
    .ctl_rx_test_pattern(1'b0),
    .ctl_rsfec_ieee_error_indication_mode(1'b0),
    .core_tx_reset(1'b0),
    .core_rx_reset(1'b0),
    .core_drp_reset(1'b0),
    .gtwiz_reset_tx_datapath(1'b0),
    .gtwiz_reset_rx_datapath(1'b0),
    .gt_loopback_in(12'd0),
    .tx_preamblein(56'd0),
    .drp_clk(1'b0),
    .drp_addr(10'd0),
    .drp_di(16'd0),
    .drp_en(1'b0),
    .drp_we(1'b0)
  );

  // --- Card

  // verilator lint_off UNUSEDSIGNAL
  logic [7:0] failure;
  mac_counts_t mac_counts;  // for a logic analyzer
  // verilator lint_on UNUSEDSIGNAL

  vireo_card #(
    .ConfigIndex(Nic100Index),
    .MacBits(512),
    .MacBufferBytes(32768),
    .MemoryWords(24576),
    .WatchdogBits(32),
    .ConsoleCyclesPerBit(ConsoleCyclesPerBit),
    .ImageWords(16384),
    .ImageFile(ImageFile)
  ) u_card (
    .user_clk_i(user_clk),
    .user_reset_i(user_reset),
    .cq_tvalid_i(m_axis_cq_tvalid),
    .cq_tdata_i(m_axis_cq_tdata),
    .cq_tkeep_i(m_axis_cq_tkeep),
    .cq_tlast_i(m_axis_cq_tlast),
    .cq_tuser_i(m_axis_cq_tuser),
    .cq_tready_o(m_axis_cq_tready),
    .pcie_cq_np_req_o(pcie_cq_np_req),
    .cc_tvalid_o(s_axis_cc_tvalid),
    .cc_tdata_o(s_axis_cc_tdata),
    .cc_tkeep_o(s_axis_cc_tkeep),
    .cc_tlast_o(s_axis_cc_tlast),
    .cc_tuser_o(s_axis_cc_tuser),
    .cc_tready_i(s_axis_cc_tready[0]),
    .rq_tvalid_o(s_axis_rq_tvalid),
    .rq_tdata_o(s_axis_rq_tdata),
    .rq_tkeep_o(s_axis_rq_tkeep),
    .rq_tlast_o(s_axis_rq_tlast),
    .rq_tuser_o(s_axis_rq_tuser),
    .rq_tready_i(s_axis_rq_tready[0]),
    .rc_tvalid_i(m_axis_rc_tvalid),
    .rc_tdata_i(m_axis_rc_tdata),
    .rc_tkeep_i(m_axis_rc_tkeep),
    .rc_tlast_i(m_axis_rc_tlast),
    .rc_tuser_i(m_axis_rc_tuser),
    .rc_tready_o(m_axis_rc_tready),
    .pcie_rq_seq_num_vld0_i(pcie_rq_seq_num_vld0),
    .pcie_rq_seq_num0_i(pcie_rq_seq_num0),
    .pcie_rq_seq_num_vld1_i(pcie_rq_seq_num_vld1),
    .pcie_rq_seq_num1_i(pcie_rq_seq_num1),
    .pcie_tfc_nph_av_i(pcie_tfc_nph_av),
    .cfg_max_payload_i(cfg_max_payload),
    .cfg_max_read_req_i(cfg_max_read_req),
    .cfg_function_status_i(cfg_function_status),
    .cfg_interrupt_msix_enable_i(cfg_interrupt_msix_enable),
    .cfg_interrupt_msix_mask_i(cfg_interrupt_msix_mask),
    .cfg_flr_in_process_i(cfg_flr_in_process),
    .cfg_flr_done_o(cfg_flr_done),
    .cfg_ext_read_received_i(cfg_ext_read_received),
    .cfg_ext_write_received_i(cfg_ext_write_received),
    .cfg_ext_register_number_i(cfg_ext_register_number),
    .cfg_ext_function_number_i(cfg_ext_function_number),
    .cfg_ext_write_data_i(cfg_ext_write_data),
    .cfg_ext_write_byte_enable_i(cfg_ext_write_byte_enable),
    .cfg_ext_read_data_o(cfg_ext_read_data),
    .cfg_ext_read_data_valid_o(cfg_ext_read_data_valid),
    .cfg_mgmt_addr_o(cfg_mgmt_addr),
    .cfg_mgmt_read_o(cfg_mgmt_read),
    .cfg_mgmt_read_data_i(cfg_mgmt_read_data),
    .cfg_mgmt_read_write_done_i(cfg_mgmt_read_write_done),
    .tx_clk_i(mac_clk),
    .tx_reset_i(tx_reset),
    .tx_axis_tvalid_o(tx_axis_tvalid),
    .tx_axis_tready_i(tx_axis_tready),
    .tx_axis_tdata_o(tx_axis_tdata),
    .tx_axis_tkeep_o(tx_axis_tkeep),
    .tx_axis_tlast_o(tx_axis_tlast),
    .tx_axis_tuser_o(tx_axis_tuser),
    .rx_clk_i(mac_clk),
    .rx_reset_i(rx_reset),
    .rx_axis_tvalid_i(rx_axis_tvalid),
    .rx_axis_tdata_i(rx_axis_tdata),
    .rx_axis_tkeep_i(rx_axis_tkeep),
    .rx_axis_tlast_i(rx_axis_tlast),
    .rx_axis_tuser_i(rx_axis_tuser),
    .link_i(link_q),
    .console_tx_o(console_tx),
    .failure_o(failure),
    .mac_counts_o(mac_counts)
  );

  assign led_link = link_q;
  assign hbm_cattrip = 1'b0;  // there is no HBM in this design

endmodule
