// SPDX-License-Identifier: Apache-2.0

// What a board has in front of the device: line, link, bridge. Apart from vireo_board, so that a simulation can have it
// without another copy of the device. The line is a serial one, or one that carries whole bytes.
module vireo_board_front
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned HasProcessor,  // 1: it is there
  parameter int unsigned CyclesPerBit,  // of rx_i and tx_o: frequency of clk_i by bit rate, 3 or more; 0: bytes instead
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  // A serial line, or one of bytes; the other one is unused.
  // verilator lint_off UNUSEDSIGNAL
  input  logic                      rx_i,
  output logic                      tx_o,
  input  logic                      rx_byte_valid_i,    // always taken
  input  logic [7:0]                rx_byte_i,
  output logic                      tx_byte_valid_o,
  input  logic                      tx_byte_ready_i,
  output logic [7:0]                tx_byte_o,
  // verilator lint_on UNUSEDSIGNAL

  // As of vireo_bridge.
  output logic                      step_o,
  output logic                      device_rst_no,
  output logic [63:0]               time_ns_o,
  output board_controls_t           controls_o,
  output logic                      bar_valid_o,
  output board_bar_t                bar_o,
  input  logic                      bar_read_valid_i,
  input  logic [63:0]               bar_read_data_i,
  input  logic                      arvalid_i,
  input  logic [TagBits-1:0]        arid_i,
  input  logic [63:0]               araddr_i,
  input  logic [BurstBytesBits-1:0] aruser_i,
  output logic                      rvalid_o,
  output logic [TagBits-1:0]        rid_o,
  output logic [DataBits-1:0]       rdata_o,
  output logic [1:0]                rresp_o,
  output logic                      rlast_o,
  input  logic                      awvalid_i,
  output logic                      awready_o,
  input  logic [63:0]               awaddr_i,
  input  logic [7:0]                awlen_i,
  input  logic [BurstBytesBits-1:0] awuser_i,
  input  logic                      wvalid_i,
  output logic                      wready_o,
  input  logic [DataBits-1:0]       wdata_i,
  input  logic                      wlast_i,
  output logic                      bvalid_o,
  output logic [1:0]                bresp_o,
  input  logic                      msix_valid_i,
  input  logic [15:0]               msix_vector_i,
  input  logic                      tvalid_i,
  output logic                      tready_o,
  input  logic [DataBits-1:0]       tdata_i,
  input  logic [DataBits/8-1:0]     tkeep_i,
  input  logic                      tlast_i,
  output logic                      rx_valid_o,
  output logic [DataBits-1:0]       rx_data_o,
  output logic [DataBits/8-1:0]     rx_keep_o,
  output logic                      rx_last_o,
  output logic                      rx_error_o,
  output logic                      csr_valid_o,
  output board_csr_t                csr_o,
  input  logic                      csr_read_valid_i,
  input  logic [31:0]               csr_read_data_i,
  input  logic                      firmware_interrupt_i,
  input  logic                      idle_i,
  input  logic [63:0]               deadline_ns_i,
  output logic                      load_valid_o,
  output board_load_t               load_o,
  output logic                      start_o,
  input  logic                      access_valid_i,
  input  board_csr_t                access_i,
  input  logic                      console_valid_i,
  input  logic [7:0]                console_data_i,
  input  logic                      processor_waiting_i,
  input  logic [7:0]                processor_failure_i
);

  logic rx_valid, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data;
  logic hello, command_valid, command_ready, event_valid, event_ready;
  logic [7:0] command_data, event_data;

  if (CyclesPerBit != 0) begin : g_serial
    vireo_uart_receiver #(
      .CyclesPerBit(CyclesPerBit)
    ) u_receiver (
      .clk_i,
      .rst_ni,
      .rx_i,
      .valid_o(rx_valid),
      .data_o(rx_data)
    );
    vireo_console #(
      .CyclesPerBit(CyclesPerBit)
    ) u_transmitter (
      .clk_i,
      .rst_ni,
      .valid_i(tx_valid),
      .ready_o(tx_ready),
      .data_i(tx_data),
      .tx_o
    );
    assign tx_byte_valid_o = 1'b0;
    assign tx_byte_o = '0;
  end else begin : g_bytes
    assign rx_valid = rx_byte_valid_i;
    assign rx_data = rx_byte_i;
    assign tx_byte_valid_o = tx_valid;
    assign tx_ready = tx_byte_ready_i;
    assign tx_byte_o = tx_data;
    assign tx_o = 1'b1;
  end

  vireo_link u_link (
    .clk_i,
    .rst_ni,
    .rx_valid_i(rx_valid),
    .rx_data_i(rx_data),
    .tx_valid_o(tx_valid),
    .tx_ready_i(tx_ready),
    .tx_data_o(tx_data),
    .hello_o(hello),
    .command_valid_o(command_valid),
    .command_ready_i(command_ready),
    .command_data_o(command_data),
    .event_valid_i(event_valid),
    .event_ready_o(event_ready),
    .event_data_i(event_data)
  );
  vireo_bridge #(
    .Config(Config),
    .HasProcessor(HasProcessor)
  ) u_bridge (
    .clk_i,
    .rst_ni,
    .hello_i(hello),
    .command_valid_i(command_valid),
    .command_ready_o(command_ready),
    .command_data_i(command_data),
    .event_valid_o(event_valid),
    .event_ready_i(event_ready),
    .event_data_o(event_data),
    .step_o,
    .device_rst_no,
    .time_ns_o,
    .controls_o,
    .bar_valid_o,
    .bar_o,
    .bar_read_valid_i,
    .bar_read_data_i,
    .arvalid_i,
    .arid_i,
    .araddr_i,
    .aruser_i,
    .rvalid_o,
    .rid_o,
    .rdata_o,
    .rresp_o,
    .rlast_o,
    .awvalid_i,
    .awready_o,
    .awaddr_i,
    .awlen_i,
    .awuser_i,
    .wvalid_i,
    .wready_o,
    .wdata_i,
    .wlast_i,
    .bvalid_o,
    .bresp_o,
    .msix_valid_i,
    .msix_vector_i,
    .tvalid_i,
    .tready_o,
    .tdata_i,
    .tkeep_i,
    .tlast_i,
    .rx_valid_o,
    .rx_data_o,
    .rx_keep_o,
    .rx_last_o,
    .rx_error_o,
    .csr_valid_o,
    .csr_o,
    .csr_read_valid_i,
    .csr_read_data_i,
    .firmware_interrupt_i,
    .idle_i,
    .deadline_ns_i,
    .load_valid_o,
    .load_o,
    .start_o,
    .access_valid_i,
    .access_i,
    .console_valid_i,
    .console_data_i,
    .processor_waiting_i,
    .processor_failure_i
  );

endmodule
