// SPDX-License-Identifier: Apache-2.0

// A board without PCIe: the NIC with its control processor behind a serial line to a host (spec/board.toml). The line
// carries everything that crosses the device seam, the frames of the wire included. The NIC's clock is clk_i gated: it
// runs while the host lets it, and device time with it.
module vireo_board
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter int unsigned ConfigIndex = Nic1Index,  // of Configs
  parameter config_t Config = Configs[ConfigIndex],
  parameter int unsigned CyclesPerBit,             // of the serial line: frequency of clk_i by bit rate, 3 or more
  parameter int unsigned MemoryWords,              // of the control processor, see there; 0: there is none
  parameter int unsigned WatchdogBits,
  parameter int unsigned ConsoleCyclesPerBit       // in cycles of the NIC's clock
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic rx_i,
  output logic tx_o,
  output logic console_tx_o
);

  localparam int unsigned DataBits = Config.datapath_bits;
  localparam int unsigned TagBits = $clog2(Config.dma_tags);

  // --- Front ---------------------------------------------------------------------------------------------------------

  logic step, device_clk;
  // verilator lint_off SYNCASYNCNET
  logic device_rst_n;  // the NIC takes it asynchronously, the processor synchronously
  // verilator lint_on SYNCASYNCNET
  logic [63:0] time_ns, deadline_ns;
  // Structures of the contract have reserved bits.
  // verilator lint_off UNUSEDSIGNAL
  board_controls_t controls;
  // verilator lint_on UNUSEDSIGNAL
  logic bar_valid, bar_read_valid;
  board_bar_t bar;
  logic [63:0] bar_read_data;
  logic arvalid, rvalid, rlast;
  logic [TagBits-1:0] arid, rid;
  logic [63:0] araddr, awaddr;
  logic [BurstBytesBits-1:0] aruser, awuser;
  logic [DataBits-1:0] rdata, wdata, tdata, rx_beat;
  logic [1:0] rresp, bresp;
  logic awvalid, awready, wvalid, wready, wlast, bvalid;
  logic [7:0] awlen;
  logic msix_valid;
  logic [15:0] msix_vector;
  logic tvalid, tready, tlast, rx_beat_valid, rx_last, rx_error;
  logic [DataBits/8-1:0] tkeep, rx_keep;
  logic beside_valid, csr_valid, csr_read_valid, firmware_interrupt, idle;
  board_csr_t beside, csr, access;
  logic [31:0] csr_read_data;
  logic load_valid, start, access_valid, console_valid, waiting;
  board_load_t load;
  logic [7:0] console_data, failure;

  // verilator lint_off PINCONNECTEMPTY
  vireo_board_front #(
    .Config(Config),
    .HasProcessor(32'(MemoryWords != 0)),
    .CyclesPerBit(CyclesPerBit)
  ) u_front (
    .clk_i,
    .rst_ni,
    .rx_i,
    .tx_o,
    .rx_byte_valid_i(1'b0),
    .rx_byte_i('0),
    .tx_byte_valid_o(),
    .tx_byte_ready_i(1'b0),
    .tx_byte_o(),
    .step_o(step),
    .device_rst_no(device_rst_n),
    .time_ns_o(time_ns),
    .controls_o(controls),
    .bar_valid_o(bar_valid),
    .bar_o(bar),
    .bar_read_valid_i(bar_read_valid),
    .bar_read_data_i(bar_read_data),
    .arvalid_i(arvalid),
    .arid_i(arid),
    .araddr_i(araddr),
    .aruser_i(aruser),
    .rvalid_o(rvalid),
    .rid_o(rid),
    .rdata_o(rdata),
    .rresp_o(rresp),
    .rlast_o(rlast),
    .awvalid_i(awvalid),
    .awready_o(awready),
    .awaddr_i(awaddr),
    .awlen_i(awlen),
    .awuser_i(awuser),
    .wvalid_i(wvalid),
    .wready_o(wready),
    .wdata_i(wdata),
    .wlast_i(wlast),
    .bvalid_o(bvalid),
    .bresp_o(bresp),
    .msix_valid_i(msix_valid),
    .msix_vector_i(msix_vector),
    .tvalid_i(tvalid),
    .tready_o(tready),
    .tdata_i(tdata),
    .tkeep_i(tkeep),
    .tlast_i(tlast),
    .rx_valid_o(rx_beat_valid),
    .rx_data_o(rx_beat),
    .rx_keep_o(rx_keep),
    .rx_last_o(rx_last),
    .rx_error_o(rx_error),
    .csr_valid_o(beside_valid),
    .csr_o(beside),
    .csr_read_valid_i(csr_read_valid),
    .csr_read_data_i(csr_read_data),
    .firmware_interrupt_i(firmware_interrupt),
    .idle_i(idle),
    .deadline_ns_i(deadline_ns),
    .load_valid_o(load_valid),
    .load_o(load),
    .start_o(start),
    .access_valid_i(access_valid),
    .access_i(access),
    .console_valid_i(console_valid),
    .console_data_i(console_data),
    .processor_waiting_i(waiting),
    .processor_failure_i(failure)
  );
  // verilator lint_on PINCONNECTEMPTY

  // --- Device --------------------------------------------------------------------------------------------------------

  vireo_clock_gate u_clock (
    .clk_i,
    .enable_i(step),
    .clk_o(device_clk)
  );

  // The host makes none in a cycle in which the processor makes one.
  assign csr_valid = access_valid || beside_valid;
  assign csr = access_valid ? access : beside;

  // verilator lint_off PINCONNECTEMPTY
  vireo_nic #(
    .ConfigIndex(ConfigIndex),
    .Config(Config)
  ) u_nic (
    .clk_i(device_clk),
    .rst_ni(device_rst_n),
    .time_ns_i(time_ns),
    .cfg_bus_master_i(controls.bus_master),
    .cfg_msix_enable_i(controls.msix_enable),
    .cfg_msix_mask_i(controls.msix_mask),
    .cfg_max_payload_size_i(controls.max_payload_size[2:0]),
    .cfg_max_read_request_size_i(controls.max_read_request_size[2:0]),
    .bar_valid_i(bar_valid),
    .bar_write_i(bar.is_write[0]),
    .bar_index_i(bar.bar[2:0]),
    .bar_offset_i(bar.offset),
    .bar_bytes_i(bar.length[3:0]),
    .bar_data_i(bar.value),
    .bar_read_valid_o(bar_read_valid),
    .bar_read_data_o(bar_read_data),
    .m_axi_arvalid_o(arvalid),
    .m_axi_arready_i(1'b1),
    .m_axi_arid_o(arid),
    .m_axi_araddr_o(araddr),
    .m_axi_arlen_o(),
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
    .m_axi_awlen_o(awlen),
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
    .msix_vector_o(msix_vector),
    .msix_address_o(),
    .msix_data_o(),
    .m_axis_tvalid_o(tvalid),
    .m_axis_tready_i(tready),
    .m_axis_tdata_o(tdata),
    .m_axis_tkeep_o(tkeep),
    .m_axis_tlast_o(tlast),
    .s_axis_tvalid_i(rx_beat_valid),
    .s_axis_tdata_i(rx_beat),
    .s_axis_tkeep_i(rx_keep),
    .s_axis_tlast_i(rx_last),
    .s_axis_tuser_i(rx_error),
    .mac_link_i(controls.mac_link),
    .csr_valid_i(csr_valid),
    .csr_write_i(csr.is_write),
    .csr_address_i(csr.offset[11:0]),
    .csr_data_i(csr.value),
    .csr_read_valid_o(csr_read_valid),
    .csr_read_data_o(csr_read_data),
    .firmware_interrupt_o(firmware_interrupt),
    .idle_o(idle),
    .deadline_ns_o(deadline_ns)
  );
  // verilator lint_on PINCONNECTEMPTY

  // --- Control processor -----------------------------------------------------------------------------------------------

  if (MemoryWords != 0) begin : g_processor
    logic run_q;           // between start and reset
    logic reads_q;         // its read is not answered: an answer is its own
    logic access_write;
    logic [11:0] access_address;
    logic [31:0] access_data;

    assign access = '{offset: 15'(access_address), is_write: access_write, value: access_data};
    always_ff @(posedge clk_i or negedge device_rst_n) begin
      if (!device_rst_n) run_q <= 1'b0;
      else if (start) run_q <= 1'b1;
    end
    always_ff @(posedge device_clk or negedge device_rst_n) begin
      if (!device_rst_n) reads_q <= 1'b0;
      else if (access_valid && !access_write) reads_q <= 1'b1;
      else if (csr_read_valid) reads_q <= 1'b0;
    end

    // Loading its memory takes no cycle of the device.
    logic processor_clk;
    vireo_clock_gate u_clock (
      .clk_i,
      .enable_i(step || load_valid),
      .clk_o(processor_clk)
    );

    logic processor_waiting;
    assign waiting = processor_waiting || !run_q;

    vireo_control_processor #(
      .MemoryWords(MemoryWords),
      .WatchdogBits(WatchdogBits),
      .CyclesPerBit(ConsoleCyclesPerBit)
    ) u_processor (
      .clk_i(processor_clk),
      .rst_ni(device_rst_n),
      .load_valid_i(load_valid),
      .load_address_i(load.address),
      .load_data_i(load.value),
      .run_i(run_q),
      .csr_valid_o(access_valid),
      .csr_write_o(access_write),
      .csr_address_o(access_address),
      .csr_data_o(access_data),
      .csr_read_valid_i(csr_read_valid && reads_q),
      .csr_read_data_i(csr_read_data),
      .firmware_interrupt_i(firmware_interrupt),
      .console_tx_o,
      .console_valid_o(console_valid),
      .console_data_o(console_data),
      .waiting_o(processor_waiting),
      .failure_o(failure)
    );
  end else begin : g_no_processor
    assign access_valid = 1'b0;
    assign access = '0;
    assign console_valid = 1'b0;
    assign console_data = '0;
    assign console_tx_o = 1'b1;
    assign waiting = 1'b1;
    assign failure = '0;
  end

endmodule
