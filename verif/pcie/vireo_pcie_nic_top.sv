// SPDX-License-Identifier: Apache-2.0

// The NIC behind the bridge, with the names that the outside model of the PCI Express block expects.
module vireo_pcie_nic_top
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter int unsigned ConfigIndex,
  localparam config_t Config = Configs[ConfigIndex],
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags)
) (
  input  logic                              user_clk,
  input  logic                              user_reset,
  input  logic                              m_axis_cq_tvalid,
  output logic                              m_axis_cq_tready,
  input  logic [DataBits-1:0]               m_axis_cq_tdata,
  input  logic [DataBits/32-1:0]            m_axis_cq_tkeep,
  input  logic                              m_axis_cq_tlast,
  input  logic [cq_user_bits(DataBits)-1:0] m_axis_cq_tuser,
  output logic [1:0]                        pcie_cq_np_req,
  output logic                              s_axis_cc_tvalid,
  input  logic                              s_axis_cc_tready,
  output logic [DataBits-1:0]               s_axis_cc_tdata,
  output logic [DataBits/32-1:0]            s_axis_cc_tkeep,
  output logic                              s_axis_cc_tlast,
  output logic [cc_user_bits(DataBits)-1:0] s_axis_cc_tuser,
  output logic                              s_axis_rq_tvalid,
  input  logic                              s_axis_rq_tready,
  output logic [DataBits-1:0]               s_axis_rq_tdata,
  output logic [DataBits/32-1:0]            s_axis_rq_tkeep,
  output logic                              s_axis_rq_tlast,
  output logic [rq_user_bits(DataBits)-1:0] s_axis_rq_tuser,
  input  logic                              m_axis_rc_tvalid,
  output logic                              m_axis_rc_tready,
  input  logic [DataBits-1:0]               m_axis_rc_tdata,
  input  logic [DataBits/32-1:0]            m_axis_rc_tkeep,
  input  logic                              m_axis_rc_tlast,
  input  logic [rc_user_bits(DataBits)-1:0] m_axis_rc_tuser,
  input  logic                              pcie_rq_seq_num_vld0,
  input  logic [5:0]                        pcie_rq_seq_num0,
  input  logic                              pcie_rq_seq_num_vld1,
  input  logic [5:0]                        pcie_rq_seq_num1,
  input  logic [3:0]                        pcie_tfc_nph_av,
  input  logic [1:0]                        cfg_max_payload,
  input  logic [2:0]                        cfg_max_read_req,
  input  logic [15:0]                       cfg_function_status,
  input  logic [3:0]                        cfg_interrupt_msix_enable,
  input  logic [3:0]                        cfg_interrupt_msix_mask,
  input  logic [3:0]                        cfg_flr_in_process,
  output logic [3:0]                        cfg_flr_done,
  input  logic                              cfg_ext_read_received,
  input  logic                              cfg_ext_write_received,
  input  logic [9:0]                        cfg_ext_register_number,
  input  logic [7:0]                        cfg_ext_function_number,
  input  logic [31:0]                       cfg_ext_write_data,
  input  logic [3:0]                        cfg_ext_write_byte_enable,
  output logic [31:0]                       cfg_ext_read_data,
  output logic                              cfg_ext_read_data_valid,
  input  logic                              extended_tags,
  input  logic [63:0]                       time_ns,
  output logic                              nic_rst_n,
  output logic                              m_axis_tvalid,
  input  logic                              m_axis_tready,
  output logic [DataBits-1:0]               m_axis_tdata,
  output logic [DataBits/8-1:0]             m_axis_tkeep,
  output logic                              m_axis_tlast,
  input  logic                              s_axis_tvalid,
  input  logic [DataBits-1:0]               s_axis_tdata,
  input  logic [DataBits/8-1:0]             s_axis_tkeep,
  input  logic                              s_axis_tlast,
  input  logic                              s_axis_tuser,
  input  logic                              mac_link,
  input  logic                              csr_valid,
  input  logic                              csr_write,
  input  logic [11:0]                       csr_address,
  input  logic [31:0]                       csr_data,
  output logic                              csr_read_valid,
  output logic [31:0]                       csr_read_data,
  output logic                              firmware_interrupt,
  output logic                              idle,
  output logic [63:0]                       deadline_ns
);

  logic cfg_bus_master;
  logic cfg_msix_enable;
  logic cfg_msix_mask;
  logic [2:0] cfg_max_payload_size;
  logic [2:0] cfg_max_read_request_size;
  logic bar_valid;
  logic bar_write;
  logic [2:0] bar_index;
  logic [31:0] bar_offset;
  logic [3:0] bar_bytes;
  logic [63:0] bar_data;
  logic bar_read_valid;
  logic [63:0] bar_read_data;
  logic arvalid;
  logic arready;
  logic [TagBits-1:0] arid;
  logic [63:0] araddr;
  logic [7:0] arlen;
  logic [BurstBytesBits-1:0] aruser;
  logic rvalid;
  logic [TagBits-1:0] rid;
  logic [DataBits-1:0] rdata;
  logic [1:0] rresp;
  logic rlast;
  logic awvalid;
  logic awready;
  logic [63:0] awaddr;
  logic [BurstBytesBits-1:0] awuser;
  logic wvalid;
  logic wready;
  logic [DataBits-1:0] wdata;
  logic wlast;
  logic bvalid;
  logic [1:0] bresp;
  logic msix_valid;
  logic [63:0] msix_address;
  logic [31:0] msix_data;

  // Its ports have the names of those above.
  vireo_pcie_top #(.ConfigIndex(ConfigIndex)) u_bridge (.*);

  vireo_nic #(.ConfigIndex(ConfigIndex)) u_nic (
    .clk_i(user_clk),
    .rst_ni(nic_rst_n),
    .time_ns_i(time_ns),
    .cfg_bus_master_i(cfg_bus_master),
    .cfg_msix_enable_i(cfg_msix_enable),
    .cfg_msix_mask_i(cfg_msix_mask),
    .cfg_max_payload_size_i(cfg_max_payload_size),
    .cfg_max_read_request_size_i(cfg_max_read_request_size),
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
    .m_axis_tvalid_o(m_axis_tvalid),
    .m_axis_tready_i(m_axis_tready),
    .m_axis_tdata_o(m_axis_tdata),
    .m_axis_tkeep_o(m_axis_tkeep),
    .m_axis_tlast_o(m_axis_tlast),
    .s_axis_tvalid_i(s_axis_tvalid),
    .s_axis_tdata_i(s_axis_tdata),
    .s_axis_tkeep_i(s_axis_tkeep),
    .s_axis_tlast_i(s_axis_tlast),
    .s_axis_tuser_i(s_axis_tuser),
    .mac_link_i(mac_link),
    .csr_valid_i(csr_valid),
    .csr_write_i(csr_write),
    .csr_address_i(csr_address),
    .csr_data_i(csr_data),
    .csr_read_valid_o(csr_read_valid),
    .csr_read_data_o(csr_read_data),
    .firmware_interrupt_o(firmware_interrupt),
    .idle_o(idle),
    .deadline_ns_o(deadline_ns)
  );

endmodule
