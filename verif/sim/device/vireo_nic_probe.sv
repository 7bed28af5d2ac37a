// SPDX-License-Identifier: Apache-2.0

// Test module with the ports of vireo_nic, to test the bridge and its environment. It copies bytes of host memory by
// DMA and sends the data as a frame; it counts received frames; it has registers with fixed latency, an MSI-X table and
// one timer. It uses the DMA blocks of the device, so that it drives the bus like the device.
//
// BAR 0 (writes of any width replace the register):
//   0x00 source  0x08 destination  0x10 bytes, 1 ... 4096: copies, then message 0, and sends the bytes as a frame
//   0x18 frames sent  0x20 frames received  0x28 bytes received  0x30 {errors received, failed copies}
//   0x38 {max read request size, max payload size, MSI-X mask, MSI-X enable, bus master}
//   0x40 deadline in ns; message 2 when time_ns_i has reached it; 0: none
//   0x48 busy
// A received frame without error sends message 1. BAR 2: MSI-X table of 8 vectors; masked messages are discarded.
// CSR: scratch, time_low. The firmware interrupt is asserted while scratch is not 0.
module vireo_nic_probe
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags)
) (
  input  logic                      clk_i,
  // Assertions of the DMA blocks sample the asynchronous reset, which Verilator takes for a synchronous use.
  // verilator lint_off SYNCASYNCNET
  input  logic                      rst_ni,
  // verilator lint_on SYNCASYNCNET
  input  logic [63:0]               time_ns_i,
  input  logic                      cfg_bus_master_i,
  input  logic                      cfg_msix_enable_i,
  input  logic                      cfg_msix_mask_i,
  input  logic [2:0]                cfg_max_payload_size_i,
  input  logic [2:0]                cfg_max_read_request_size_i,

  input  logic                      bar_valid_i,
  input  logic                      bar_write_i,
  input  logic [2:0]                bar_index_i,
  input  logic [31:0]               bar_offset_i,
  input  logic [3:0]                bar_bytes_i,
  input  logic [63:0]               bar_data_i,
  output logic                      bar_read_valid_o,
  output logic [63:0]               bar_read_data_o,

  output logic                      m_axi_arvalid_o,
  input  logic                      m_axi_arready_i,
  output logic [TagBits-1:0]        m_axi_arid_o,
  output logic [63:0]               m_axi_araddr_o,
  output logic [7:0]                m_axi_arlen_o,
  output logic [2:0]                m_axi_arsize_o,
  output logic [1:0]                m_axi_arburst_o,
  output logic [BurstBytesBits-1:0] m_axi_aruser_o,
  input  logic                      m_axi_rvalid_i,
  output logic                      m_axi_rready_o,
  input  logic [TagBits-1:0]        m_axi_rid_i,
  input  logic [DataBits-1:0]       m_axi_rdata_i,
  input  logic [1:0]                m_axi_rresp_i,
  input  logic                      m_axi_rlast_i,

  output logic                      m_axi_awvalid_o,
  input  logic                      m_axi_awready_i,
  output logic [63:0]               m_axi_awaddr_o,
  output logic [7:0]                m_axi_awlen_o,
  output logic [2:0]                m_axi_awsize_o,
  output logic [1:0]                m_axi_awburst_o,
  output logic [BurstBytesBits-1:0] m_axi_awuser_o,
  output logic                      m_axi_wvalid_o,
  input  logic                      m_axi_wready_i,
  output logic [DataBits-1:0]       m_axi_wdata_o,
  output logic [DataBits/8-1:0]     m_axi_wstrb_o,
  output logic                      m_axi_wlast_o,
  input  logic                      m_axi_bvalid_i,
  output logic                      m_axi_bready_o,
  input  logic [1:0]                m_axi_bresp_i,

  output logic                      msix_valid_o,
  output logic [15:0]               msix_vector_o,

  output logic                      m_axis_tvalid_o,
  input  logic                      m_axis_tready_i,
  output logic [DataBits-1:0]       m_axis_tdata_o,
  output logic [DataBits/8-1:0]     m_axis_tkeep_o,
  output logic                      m_axis_tlast_o,

  input  logic                      s_axis_tvalid_i,
  input  logic [DataBits-1:0]       s_axis_tdata_i,
  input  logic [DataBits/8-1:0]     s_axis_tkeep_i,
  input  logic                      s_axis_tlast_i,
  input  logic                      s_axis_tuser_i,

  input  logic                      csr_valid_i,
  input  logic                      csr_write_i,
  input  logic [11:0]               csr_address_i,
  input  logic [31:0]               csr_data_i,
  output logic                      csr_read_valid_o,
  output logic [31:0]               csr_read_data_o,
  output logic                      firmware_interrupt_o,

  input  logic                      mac_link_i,
  output logic [63:0]               deadline_ns_o,
  output logic                      idle_o
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned Beats = BurstBytesMax / BeatBytes;
  localparam int unsigned BeatBits = $clog2(Beats);
  localparam int unsigned Vectors = 8;
  // Idle cycles before the probe asserts idle: the DMA blocks still return credits internally.
  localparam int unsigned SettleCycles = 15;

  typedef enum logic [2:0] {
    StIdle,
    StRead,     // a request to the reader
    StCollect,  // its train into the buffer
    StWrite,    // a request to the writer
    StFill,     // its train out of the buffer
    StDone,     // waits for the write
    StReady,    // waits for room for a frame
    StSend
  } state_e;

  state_e state_d, state_q;
  logic [63:0] source_q, destination_q, deadline_q;
  logic [BurstBytesBits-1:0] bytes_q;
  logic [BeatBits-1:0] beat_d, beat_q;
  logic [31:0] sent_q, received_q, received_errors_q, failures_q;
  logic [63:0] received_bytes_q;

  // Accesses, registered.
  logic bar_valid_q, bar_write_q;
  logic [2:0] bar_index_q;
  logic [31:0] bar_offset_q;
  logic [63:0] bar_data_q;
  logic read_valid_q, read_valid1_q;
  logic [63:0] read_data_d, read_data_q, read_data1_q;
  logic csr_valid_q, csr_write_q, csr_answer_q;
  logic [11:0] csr_address_q;
  logic [31:0] csr_data_q, csr_answer_data_q, scratch_q;
  logic interrupt_q;
  logic [3:0] settle_q;

  logic go;
  assign go = bar_valid_q && bar_write_q && bar_index_q == 3'(BarVirtio) && bar_offset_q[7:0] == 8'h10;

  // --- DMA
  logic request_ready, train_valid, train_last;
  logic [DataBits-1:0] train_data;
  axi_resp_e train_resp;
  logic write_ready, fill_ready, done_valid;
  logic [DataBits-1:0] buffer [Beats];
  logic [BeatBits-1:0] last_beat;
  logic unused_train_tag, unused_done_tag;
  logic [14:0] unused_train_bytes;
  axi_resp_e unused_done_resp;

  assign last_beat = BeatBits'((bytes_q - 1'b1) >> LaneBits);

  vireo_dma_reader #(
    .Config(Config),
    .RequestTagBits(1)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .max_read_request_size_i(pcie_size_e'(cfg_max_read_request_size_i)),
    .request_valid_i(state_q == StRead),
    .request_ready_o(request_ready),
    .request_address_i(source_q),
    .request_bytes_i(15'(bytes_q)),
    .request_tag_i(1'b0),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_arid_o,
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arsize_o,
    .m_axi_arburst_o,
    .m_axi_aruser_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rid_i,
    .m_axi_rdata_i,
    .m_axi_rresp_i(axi_resp_e'(m_axi_rresp_i)),
    .m_axi_rlast_i,
    .train_valid_o(train_valid),
    .train_ready_i(1'b1),
    .train_data_o(train_data),
    .train_last_o(train_last),
    .train_tag_o(unused_train_tag),
    .train_bytes_o(unused_train_bytes),
    .train_resp_o(train_resp)
  );

  vireo_dma_writer #(
    .Config(Config),
    .BufferBytes(8192),
    .RequestTagBits(1)
  ) u_writer (
    .clk_i,
    .rst_ni,
    .max_payload_size_i(pcie_size_e'(cfg_max_payload_size_i)),
    .request_valid_i(state_q == StWrite),
    .request_ready_o(write_ready),
    .request_address_i(destination_q),
    .request_bytes_i(bytes_q),
    .request_tag_i(1'b0),
    .request_notify_i(1'b1),
    .request_after_all_b_i(1'b0),
    .train_valid_i(state_q == StFill),
    .train_ready_o(fill_ready),
    .train_data_i(buffer[beat_q]),
    .train_last_i(beat_q == last_beat),
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awsize_o,
    .m_axi_awburst_o,
    .m_axi_awuser_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i(axi_resp_e'(m_axi_bresp_i)),
    .done_valid_o(done_valid),
    .done_tag_o(unused_done_tag),
    .done_resp_o(unused_done_resp)
  );

  always_ff @(posedge clk_i) begin
    if (train_valid) buffer[beat_q] <= train_data;
  end

  // --- Pending messages: one bit per vector
  logic [2:0] message_d, message_q;
  logic received_good;
  logic [Vectors-1:0] mask_q;
  logic timer_fires;
  assign received_good = s_axis_tvalid_i && s_axis_tlast_i && !s_axis_tuser_i;
  assign timer_fires = deadline_q != '0 && time_ns_i >= deadline_q;

  always_comb begin
    state_d = state_q;
    beat_d = beat_q;
    unique case (state_q)
      StIdle: begin
        beat_d = '0;
        if (go && cfg_bus_master_i) state_d = StRead;
      end
      StRead: if (request_ready) state_d = StCollect;
      StCollect: begin
        if (train_valid) begin
          beat_d = train_last ? '0 : beat_q + 1'b1;
          if (train_last) state_d = train_resp == AxiRespOkay ? StWrite : StIdle;
        end
      end
      StWrite: if (write_ready) state_d = StFill;
      StFill: begin
        if (fill_ready) begin
          beat_d = beat_q == last_beat ? '0 : beat_q + 1'b1;
          if (beat_q == last_beat) state_d = StDone;
        end
      end
      StDone: if (done_valid) state_d = StReady;
      StReady: if (m_axis_tready_i) state_d = StSend;
      StSend: begin
        beat_d = beat_q + 1'b1;
        if (beat_q == last_beat) state_d = StIdle;
      end
      default: state_d = StIdle;
    endcase
  end

  // Lowest first; one per cycle.
  logic [2:0] message_now;
  assign message_now = message_q & (~message_q + 1'b1);
  always_comb begin
    message_d = message_q & ~message_now;
    if (state_q == StDone && done_valid) message_d[0] = 1'b1;
    if (state_q == StCollect && state_d == StIdle) message_d[0] = 1'b1;
    if (received_good) message_d[1] = 1'b1;
    if (timer_fires) message_d[2] = 1'b1;
  end
  always_comb begin
    msix_vector_o = 16'd0;
    if (message_now[1]) msix_vector_o = 16'd1;
    if (message_now[2]) msix_vector_o = 16'd2;
    msix_valid_o = message_q != '0 && allowed_q && !mask_q[msix_vector_o[2:0]];
  end
  // A register, because outputs must not depend on inputs combinationally.
  logic allowed_q;

  logic [LaneBits:0] tail;
  assign tail = bytes_q[LaneBits-1:0] == '0 ? (LaneBits + 1)'(BeatBytes) : {1'b0, bytes_q[LaneBits-1:0]};
  assign m_axis_tvalid_o = state_q == StSend;
  assign m_axis_tlast_o = beat_q == last_beat;
  assign m_axis_tdata_o = buffer[beat_q];
  assign m_axis_tkeep_o = m_axis_tlast_o ? BeatBytes'((BeatBytes + 1)'(1) << tail) - 1'b1 : '1;

  // --- Registers
  always_comb begin
    read_data_d = '0;
    if (bar_index_q == 3'(BarVirtio)) begin
      unique case (bar_offset_q[7:0])
        8'h00: read_data_d = source_q;
        8'h08: read_data_d = destination_q;
        8'h10: read_data_d = 64'(bytes_q);
        8'h18: read_data_d = 64'(sent_q);
        8'h20: read_data_d = 64'(received_q);
        8'h28: read_data_d = received_bytes_q;
        8'h30: read_data_d = {received_errors_q, failures_q};
        8'h38: read_data_d = 64'({cfg_max_read_request_size_i, cfg_max_payload_size_i, cfg_msix_mask_i,
                                  cfg_msix_enable_i, cfg_bus_master_i});
        8'h40: read_data_d = deadline_q;
        8'h48: read_data_d = 64'(state_q != StIdle);
        default: read_data_d = '0;
      endcase
    end else if (bar_index_q == 3'(BarMsix) && bar_offset_q[3:0] == 4'd12) begin
      read_data_d = 64'(bar_offset_q[15:7] != '0 || mask_q[bar_offset_q[6:4]]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      beat_q <= '0;
      source_q <= '0;
      destination_q <= '0;
      deadline_q <= '0;
      bytes_q <= '0;
      sent_q <= '0;
      received_q <= '0;
      received_errors_q <= '0;
      failures_q <= '0;
      received_bytes_q <= '0;
      bar_valid_q <= 1'b0;
      read_valid_q <= 1'b0;
      read_valid1_q <= 1'b0;
      csr_valid_q <= 1'b0;
      csr_answer_q <= 1'b0;
      scratch_q <= '0;
      interrupt_q <= 1'b0;
      message_q <= '0;
      mask_q <= '1;
      allowed_q <= 1'b0;
      settle_q <= 4'(SettleCycles);
    end else begin
      state_q <= state_d;
      beat_q <= beat_d;
      message_q <= message_d;
      allowed_q <= cfg_msix_enable_i && !cfg_msix_mask_i && cfg_bus_master_i;
      bar_valid_q <= bar_valid_i;
      read_valid_q <= bar_valid_q && !bar_write_q;
      read_valid1_q <= read_valid_q;
      csr_valid_q <= csr_valid_i;
      csr_answer_q <= csr_valid_q && !csr_write_q;
      interrupt_q <= scratch_q != '0;
      if (timer_fires) deadline_q <= '0;
      if (bar_valid_q && bar_write_q && bar_index_q == 3'(BarVirtio)) begin
        if (bar_offset_q[7:0] == 8'h00) source_q <= bar_data_q;
        if (bar_offset_q[7:0] == 8'h08) destination_q <= bar_data_q;
        if (bar_offset_q[7:0] == 8'h10 && state_q == StIdle) bytes_q <= BurstBytesBits'(bar_data_q);
        if (bar_offset_q[7:0] == 8'h40) deadline_q <= bar_data_q;
      end
      if (bar_valid_q && bar_write_q && bar_index_q == 3'(BarMsix) && bar_offset_q[15:7] == '0 &&
          bar_offset_q[3:0] == 4'd12) begin
        mask_q[bar_offset_q[6:4]] <= bar_data_q[0];
      end
      if (go && !cfg_bus_master_i) failures_q <= failures_q + 1'b1;
      if (state_q == StCollect && state_d == StIdle) failures_q <= failures_q + 1'b1;
      if (state_q == StSend && state_d == StIdle) sent_q <= sent_q + 1'b1;
      if (s_axis_tvalid_i) received_bytes_q <= received_bytes_q + 64'($countones(s_axis_tkeep_i));
      if (s_axis_tvalid_i && s_axis_tlast_i) begin
        if (s_axis_tuser_i) received_errors_q <= received_errors_q + 1'b1;
        else received_q <= received_q + 1'b1;
      end
      if (csr_valid_q && csr_write_q && csr_address_q == 12'(MgmtScratchRegister)) scratch_q <= csr_data_q;
      if (state_q != StIdle || message_q != '0 || bar_valid_q || csr_valid_q || s_axis_tvalid_i) begin
        settle_q <= 4'(SettleCycles);
      end else if (settle_q != '0) begin
        settle_q <= settle_q - 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    bar_write_q <= bar_write_i;
    bar_index_q <= bar_index_i;
    bar_offset_q <= bar_offset_i;
    bar_data_q <= bar_data_i;
    read_data_q <= read_data_d;
    read_data1_q <= read_data_q;
    csr_write_q <= csr_write_i;
    csr_address_q <= csr_address_i;
    csr_data_q <= csr_data_i;
    csr_answer_data_q <= csr_address_q == 12'(MgmtScratchRegister) ? scratch_q :
                         csr_address_q == 12'(MgmtTimeLowRegister) ? time_ns_i[31:0] : '0;
  end

  assign bar_read_valid_o = read_valid1_q;
  assign bar_read_data_o = read_data1_q;
  assign csr_read_valid_o = csr_answer_q;
  assign csr_read_data_o = csr_answer_data_q;
  assign firmware_interrupt_o = interrupt_q;
  assign deadline_ns_o = deadline_q;
  assign idle_o = settle_q == '0 && !bar_valid_q && !csr_valid_q && state_q == StIdle && message_q == '0;

  logic unused_inputs;
  assign unused_inputs = ^{s_axis_tdata_i, bar_bytes_i, bar_offset_q[31:16], mac_link_i};

endmodule
