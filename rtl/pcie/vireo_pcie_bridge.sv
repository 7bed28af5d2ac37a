// SPDX-License-Identifier: Apache-2.0

// Between vireo_nic and AMD's UltraScale+ block for PCI Express (PCIE4, PCIE4C; AMD PG213): the host's requests to BAR
// accesses, the NIC's DMA to requests, its MSI-X messages to writes, virtio's capabilities to the block's interface for
// user registers. The streams are as wide as the NIC's data path, aligned to double words, and do not straddle. One
// clock, the block's user_clk.
//
// A function level reset resets the NIC and everything here, between packets, so that the block never sees half of one.
module vireo_pcie_bridge
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags),
  localparam int unsigned CqUserBits = cq_user_bits(DataBits),
  localparam int unsigned CcUserBits = cc_user_bits(DataBits),
  localparam int unsigned RqUserBits = rq_user_bits(DataBits),
  localparam int unsigned RcUserBits = rc_user_bits(DataBits)
) (
  input  logic                      user_clk_i,
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
  // Of all physical functions; the NIC is function 0.
  // verilator lint_off UNUSEDSIGNAL
  input  logic [15:0]               cfg_function_status_i,     // 4 bits each; bit 2 of them is bus master
  input  logic [3:0]                cfg_interrupt_msix_enable_i,
  input  logic [3:0]                cfg_interrupt_msix_mask_i,
  input  logic [3:0]                cfg_flr_in_process_i,
  // verilator lint_on UNUSEDSIGNAL
  output logic [3:0]                cfg_flr_done_o,
  input  logic                      cfg_ext_read_received_i,
  input  logic                      cfg_ext_write_received_i,
  input  logic [9:0]                cfg_ext_register_number_i,
  input  logic [7:0]                cfg_ext_function_number_i,
  input  logic [31:0]               cfg_ext_write_data_i,
  input  logic [3:0]                cfg_ext_write_byte_enable_i,
  output logic [31:0]               cfg_ext_read_data_o,
  output logic                      cfg_ext_read_data_valid_o,
  // Extended Tag Field Enable of the device control register. The block has no output for it: whoever reads it by the
  // block's management interface sets this, else it is 0 and 32 reads are outstanding.
  input  logic                      extended_tags_i,

  // vireo_nic. Names as there.
  output logic                      nic_rst_no,
  output logic                      cfg_bus_master_o,
  output logic                      cfg_msix_enable_o,
  output logic                      cfg_msix_mask_o,
  output logic [2:0]                cfg_max_payload_size_o,
  output logic [2:0]                cfg_max_read_request_size_o,
  output logic                      bar_valid_o,
  output logic                      bar_write_o,
  output logic [2:0]                bar_index_o,
  output logic [31:0]               bar_offset_o,
  output logic [3:0]                bar_bytes_o,
  output logic [63:0]               bar_data_o,
  input  logic                      bar_read_valid_i,
  input  logic [63:0]               bar_read_data_i,
  input  logic                      arvalid_i,
  output logic                      arready_o,
  input  logic [TagBits-1:0]        arid_i,
  input  logic [63:0]               araddr_i,
  input  logic [7:0]                arlen_i,
  input  logic [BurstBytesBits-1:0] aruser_i,
  output logic                      rvalid_o,
  output logic [TagBits-1:0]        rid_o,
  output logic [DataBits-1:0]       rdata_o,
  output logic [1:0]                rresp_o,
  output logic                      rlast_o,
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
  input  logic [31:0]               msix_data_i
);

  localparam int unsigned ResetCycles = 16;

  // --- Resets

  typedef enum logic [1:0] {
    StReset,
    StRun,
    StStop,   // begin nothing, finish what is half here or half sent
    StDone    // the reset was done; wait until the block has taken note
  } state_e;
  state_e state_q;
  logic [$clog2(ResetCycles)-1:0] reset_q;
  logic flr_q, flr_done_q;    // this is a function level reset
  logic power_rst_n, rst_nq, stop, stopped;
  logic cq_half_q, rc_half_q; // a packet has begun and not ended
  logic cq_ready, rc_ready, cq_open, rc_open;
  logic completer_idle, cc_idle, rq_idle, read_data_idle;

  assign power_rst_n = !user_reset_i;
  assign stop = state_q != StRun;
  // What has begun is taken to its end.
  assign cq_open = !stop || (state_q == StStop && cq_half_q);
  assign rc_open = !stop || (state_q == StStop && rc_half_q);
  assign stopped = !cq_half_q && !rc_half_q && completer_idle && cc_idle && rq_idle && read_data_idle;

  always_ff @(posedge user_clk_i or negedge power_rst_n) begin
    if (!power_rst_n) begin
      state_q <= StReset;
      reset_q <= '0;
      rst_nq <= 1'b0;
      flr_q <= 1'b0;
      cq_half_q <= 1'b0;
      rc_half_q <= 1'b0;
      flr_done_q <= 1'b0;
    end else begin
      flr_done_q <= 1'b0;
      if (cq_tvalid_i && cq_tready_o) cq_half_q <= !cq_tlast_i;
      if (rc_tvalid_i && rc_tready_o) rc_half_q <= !rc_tlast_i;
      unique case (state_q)
        StReset: begin
          reset_q <= reset_q + 1'b1;
          if (&reset_q) begin
            rst_nq <= 1'b1;
            flr_done_q <= flr_q;
            state_q <= flr_q ? StDone : StRun;
          end
        end
        StRun: if (cfg_flr_in_process_i[0]) state_q <= StStop;
        StStop: if (stopped) begin
          rst_nq <= 1'b0;
          flr_q <= 1'b1;
          state_q <= StReset;
        end
        StDone: if (!cfg_flr_in_process_i[0]) begin
          flr_q <= 1'b0;
          state_q <= StRun;
        end
      endcase
    end
  end

  assign nic_rst_no = rst_nq;
  assign cfg_flr_done_o = {3'b0, flr_done_q};

  // --- What the NIC has to know of the configuration

  assign cfg_bus_master_o = cfg_function_status_i[2];
  assign cfg_msix_enable_o = cfg_interrupt_msix_enable_i[0];
  assign cfg_msix_mask_o = cfg_interrupt_msix_mask_i[0];
  assign cfg_max_payload_size_o = {1'b0, cfg_max_payload_i};
  assign cfg_max_read_request_size_o = cfg_max_read_req_i;

  // --- The host's requests

  bar_access_t bar, window;
  logic window_valid, window_ready, window_read_valid, np_req;
  logic [63:0] window_read_data;
  logic [31:0] posted, posted_passed;
  logic [7:0] requests_received, requests_done;

  assign cq_tready_o = cq_ready && cq_open;
  assign pcie_cq_np_req_o = {1'b0, np_req};

  vireo_pcie_completer #(.DataBits(DataBits)) u_completer (
    .clk_i(user_clk_i),
    .power_rst_ni(power_rst_n),
    .rst_ni(rst_nq),
    .cq_tvalid_i(cq_tvalid_i && cq_open),
    .cq_tready_o(cq_ready),
    .cq_tdata_i,
    .cq_tkeep_i,
    .cq_tlast_i,
    .cq_tuser_i,
    .cq_np_req_o(np_req),
    .cc_tvalid_o,
    .cc_tready_i,
    .cc_tdata_o,
    .cc_tkeep_o,
    .cc_tlast_o,
    .cc_tuser_o,
    .bar_valid_o,
    .bar_o(bar),
    .bar_read_valid_i,
    .bar_read_data_i,
    .window_valid_i(window_valid),
    .window_ready_o(window_ready),
    .window_i(window),
    .window_read_valid_o(window_read_valid),
    .window_read_data_o(window_read_data),
    .posted_i(posted),
    .posted_passed_i(posted_passed),
    .received_o(requests_received),
    .done_o(requests_done),
    .stop_i(stop),
    .cc_idle_o(cc_idle),
    .idle_o(completer_idle)
  );

  assign bar_write_o = bar.write;
  assign bar_index_o = bar.bar_index;
  assign bar_offset_o = bar.offset;
  assign bar_bytes_o = bar.bytes;
  assign bar_data_o = bar.data;

  vireo_pcie_config u_config (
    .clk_i(user_clk_i),
    .rst_ni(rst_nq),
    .read_received_i(cfg_ext_read_received_i),
    .write_received_i(cfg_ext_write_received_i),
    .register_number_i(cfg_ext_register_number_i),
    .function_number_i(cfg_ext_function_number_i),
    .write_data_i(cfg_ext_write_data_i),
    .write_byte_enable_i(cfg_ext_write_byte_enable_i),
    .read_data_o(cfg_ext_read_data_o),
    .read_data_valid_o(cfg_ext_read_data_valid_o),
    .window_valid_o(window_valid),
    .window_ready_i(window_ready),
    .window_o(window),
    .window_read_valid_i(window_read_valid),
    .window_read_data_i(window_read_data)
  );

  // --- The NIC's requests

  logic read_valid, read_ready, read_refused;
  logic [7:0] read_tag;
  logic [TagBits-1:0] read_id;
  logic [8:0] read_beats;
  logic [255:0] tag_busy;

  vireo_pcie_requester #(.Config(Config)) u_requester (
    .clk_i(user_clk_i),
    .rst_ni(rst_nq),
    .bus_master_i(cfg_bus_master_o),
    .extended_tags_i,
    .arvalid_i,
    .arready_o,
    .arid_i,
    .araddr_i,
    .arlen_i,
    .aruser_i,
    .awvalid_i,
    .awready_o,
    .awaddr_i,
    .awuser_i,
    .wvalid_i,
    .wready_o,
    .wdata_i,
    .wlast_i,
    .bvalid_o,
    .bresp_o,
    .msix_valid_i,
    .msix_address_i,
    .msix_data_i,
    .rq_tvalid_o,
    .rq_tready_i,
    .rq_tdata_o,
    .rq_tkeep_o,
    .rq_tlast_o,
    .rq_tuser_o,
    .seq_num0_valid_i(pcie_rq_seq_num_vld0_i),
    .seq_num0_i(pcie_rq_seq_num0_i),
    .seq_num1_valid_i(pcie_rq_seq_num_vld1_i),
    .seq_num1_i(pcie_rq_seq_num1_i),
    .nph_available_i(pcie_tfc_nph_av_i),
    .read_valid_o(read_valid),
    .read_ready_i(read_ready),
    .read_refused_o(read_refused),
    .read_tag_o(read_tag),
    .read_id_o(read_id),
    .read_beats_o(read_beats),
    .tag_busy_i(tag_busy),
    .posted_o(posted),
    .posted_passed_o(posted_passed),
    .stop_i(stop),
    .idle_o(rq_idle)
  );

  assign rc_tready_o = rc_ready && rc_open;

  vireo_pcie_read_data #(.Config(Config)) u_read_data (
    .clk_i(user_clk_i),
    .rst_ni(rst_nq),
    .rc_tvalid_i(rc_tvalid_i && rc_open),
    .rc_tready_o(rc_ready),
    .rc_tdata_i,
    .rc_tkeep_i,
    .rc_tlast_i,
    .rc_tuser_i,
    .read_valid_i(read_valid),
    .read_ready_o(read_ready),
    .read_refused_i(read_refused),
    .read_tag_i(read_tag),
    .read_id_i(read_id),
    .read_beats_i(read_beats),
    .tag_busy_o(tag_busy),
    .requests_received_i(requests_received),
    .requests_done_i(requests_done),
    .rvalid_o,
    .rid_o,
    .rdata_o,
    .rresp_o,
    .rlast_o,
    .idle_o(read_data_idle)
  );

endmodule
