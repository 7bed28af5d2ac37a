// SPDX-License-Identifier: Apache-2.0

// AMD's blocks and cells as black boxes, with the ports that vireo_u50 connects: for lint and for a check of the hierarchy. A
// build by Vivado takes its own.
// verilator lint_off DECLFILENAME
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off UNUSEDPARAM
// verilator lint_off UNDRIVEN
(* blackbox *)
module pcie4c_uscale_plus_0 (
  output logic [15:0] pci_exp_txp,
  output logic [15:0] pci_exp_txn,
  input  logic [15:0] pci_exp_rxp,
  input  logic [15:0] pci_exp_rxn,
  input  logic sys_clk,
  input  logic sys_clk_gt,
  input  logic sys_reset,
  output logic user_clk,
  output logic user_reset,
  output logic m_axis_cq_tvalid,
  output logic [511:0] m_axis_cq_tdata,
  output logic [15:0] m_axis_cq_tkeep,
  output logic m_axis_cq_tlast,
  output logic [182:0] m_axis_cq_tuser,
  input  logic m_axis_cq_tready,
  input  logic [1:0] pcie_cq_np_req,
  input  logic s_axis_cc_tvalid,
  input  logic [511:0] s_axis_cc_tdata,
  input  logic [15:0] s_axis_cc_tkeep,
  input  logic s_axis_cc_tlast,
  input  logic [80:0] s_axis_cc_tuser,
  output logic [3:0] s_axis_cc_tready,
  input  logic s_axis_rq_tvalid,
  input  logic [511:0] s_axis_rq_tdata,
  input  logic [15:0] s_axis_rq_tkeep,
  input  logic s_axis_rq_tlast,
  input  logic [136:0] s_axis_rq_tuser,
  output logic [3:0] s_axis_rq_tready,
  output logic m_axis_rc_tvalid,
  output logic [511:0] m_axis_rc_tdata,
  output logic [15:0] m_axis_rc_tkeep,
  output logic m_axis_rc_tlast,
  output logic [160:0] m_axis_rc_tuser,
  input  logic m_axis_rc_tready,
  output logic pcie_rq_seq_num_vld0,
  output logic [5:0] pcie_rq_seq_num0,
  output logic pcie_rq_seq_num_vld1,
  output logic [5:0] pcie_rq_seq_num1,
  output logic [3:0] pcie_tfc_nph_av,
  output logic [1:0] cfg_max_payload,
  output logic [2:0] cfg_max_read_req,
  output logic [15:0] cfg_function_status,
  output logic [3:0] cfg_interrupt_msix_enable,
  output logic [3:0] cfg_interrupt_msix_mask,
  output logic [3:0] cfg_flr_in_process,
  input  logic [3:0] cfg_flr_done,
  output logic cfg_ext_read_received,
  output logic cfg_ext_write_received,
  output logic [9:0] cfg_ext_register_number,
  output logic [7:0] cfg_ext_function_number,
  output logic [31:0] cfg_ext_write_data,
  output logic [3:0] cfg_ext_write_byte_enable,
  input  logic [31:0] cfg_ext_read_data,
  input  logic cfg_ext_read_data_valid,
  input  logic [9:0] cfg_mgmt_addr,
  input  logic cfg_mgmt_read,
  output logic [31:0] cfg_mgmt_read_data,
  output logic cfg_mgmt_read_write_done,
  input  logic [7:0] cfg_mgmt_function_number,
  input  logic cfg_mgmt_write,
  input  logic [31:0] cfg_mgmt_write_data,
  input  logic [3:0] cfg_mgmt_byte_enable,
  input  logic cfg_mgmt_debug_access,
  input  logic cfg_config_space_enable,
  input  logic cfg_link_training_enable,
  input  logic cfg_hot_reset_in,
  input  logic cfg_err_cor_in,
  input  logic cfg_err_uncor_in,
  input  logic cfg_power_state_change_ack,
  input  logic cfg_req_pm_transition_l23_ready,
  input  logic [63:0] cfg_dsn,
  input  logic [7:0] cfg_ds_port_number,
  input  logic [7:0] cfg_ds_bus_number,
  input  logic [4:0] cfg_ds_device_number,
  input  logic [2:0] cfg_fc_sel,
  input  logic [3:0] cfg_interrupt_int,
  input  logic [3:0] cfg_interrupt_pending,
  input  logic [2:0] cfg_interrupt_msi_attr,
  input  logic cfg_interrupt_msi_tph_present,
  input  logic [1:0] cfg_interrupt_msi_tph_type,
  input  logic [7:0] cfg_interrupt_msi_tph_st_tag,
  input  logic [7:0] cfg_interrupt_msi_function_number,
  input  logic cfg_msg_transmit,
  input  logic [2:0] cfg_msg_transmit_type,
  input  logic [31:0] cfg_msg_transmit_data,
  input  logic [7:0] cfg_vf_flr_func_num,
  input  logic cfg_vf_flr_done,
  input  logic cfg_pm_aspm_l1_entry_reject,
  input  logic cfg_pm_aspm_tx_l0s_entry_disable
);
endmodule

(* blackbox *)
module cmac_usplus_0 (
  input  logic [3:0] gt_rxp_in,
  input  logic [3:0] gt_rxn_in,
  output logic [3:0] gt_txp_out,
  output logic [3:0] gt_txn_out,
  input  logic gt_ref_clk_p,
  input  logic gt_ref_clk_n,
  input  logic init_clk,
  input  logic sys_reset,
  output logic gt_txusrclk2,
  input  logic rx_clk,
  output logic usr_tx_reset,
  output logic usr_rx_reset,
  output logic rx_axis_tvalid,
  output logic [511:0] rx_axis_tdata,
  output logic [63:0] rx_axis_tkeep,
  output logic rx_axis_tlast,
  output logic rx_axis_tuser,
  input  logic tx_axis_tvalid,
  output logic tx_axis_tready,
  input  logic [511:0] tx_axis_tdata,
  input  logic [63:0] tx_axis_tkeep,
  input  logic tx_axis_tlast,
  input  logic tx_axis_tuser,
  output logic stat_rx_status,
  output logic stat_rx_remote_fault,
  input  logic ctl_tx_enable,
  input  logic ctl_rx_enable,
  input  logic ctl_tx_send_rfi,
  input  logic ctl_tx_rsfec_enable,
  input  logic ctl_rx_rsfec_enable,
  input  logic ctl_rx_rsfec_enable_correction,
  input  logic ctl_rx_rsfec_enable_indication,
  input  logic ctl_tx_send_idle,
  input  logic ctl_tx_send_lfi,
  input  logic ctl_tx_test_pattern,
  input  logic ctl_rx_force_resync,
  input  logic ctl_rx_test_pattern,
  input  logic ctl_rsfec_ieee_error_indication_mode,
  input  logic core_tx_reset,
  input  logic core_rx_reset,
  input  logic core_drp_reset,
  input  logic gtwiz_reset_tx_datapath,
  input  logic gtwiz_reset_rx_datapath,
  input  logic [11:0] gt_loopback_in,
  input  logic [55:0] tx_preamblein,
  input  logic drp_clk,
  input  logic [9:0] drp_addr,
  input  logic [15:0] drp_di,
  input  logic drp_en,
  input  logic drp_we
);
endmodule

(* blackbox *)
module IBUFDS_GTE4 #(
  parameter logic [1:0] REFCLK_HROW_CK_SEL = 2'b00
) (
  input  logic I,
  input  logic IB,
  input  logic CEB,
  output logic O,
  output logic ODIV2
);
endmodule

(* blackbox *)
module IBUFDS (
  input  logic I,
  input  logic IB,
  output logic O
);
endmodule

(* blackbox *)
module BUFG (
  input  logic I,
  output logic O
);
endmodule
