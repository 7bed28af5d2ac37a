// SPDX-License-Identifier: Apache-2.0

// The NIC: wiring of its blocks and nothing else. docs/microarchitecture.md shows what is joined to what.
//
// To the host: BAR accesses as a PCIe hard block delivers them, AXI4 for DMA, MSI-X as messages; configuration space
// comes as cfg_*. To the line: AXI4-Stream. To firmware: the management port. BAR and management accesses are
// always taken, one per cycle, and reads are answered in order after a fixed time. Frames are always taken. The frames'
// destination asserts m_axis_tready_i between frames while it has room for the longest one and all that is on its
// way.
module vireo_nic
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter int unsigned ConfigIndex = Nic100Index,  // of Configs; what tools choose from outside
  parameter config_t Config = Configs[ConfigIndex],       // or a configuration that has no name
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [63:0]               time_ns_i,                // of the device

  input  logic                      cfg_bus_master_i,
  input  logic                      cfg_msix_enable_i,
  input  logic                      cfg_msix_mask_i,          // of the whole function
  input  logic [2:0]                cfg_max_payload_size_i,   // pcie_size_e
  input  logic [2:0]                cfg_max_read_request_size_i,

  input  logic                      bar_valid_i,
  input  logic                      bar_write_i,
  input  logic [2:0]                bar_index_i,
  input  logic [31:0]               bar_offset_i,
  input  logic [3:0]                bar_bytes_i,              // 1, 2, 4 or 8
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
  output logic [BurstBytesBits-1:0] m_axi_aruser_o,           // bytes that are requested
  input  logic                      m_axi_rvalid_i,
  output logic                      m_axi_rready_o,           // always 1
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
  output logic [BurstBytesBits-1:0] m_axi_awuser_o,           // bytes that are written
  output logic                      m_axi_wvalid_o,
  input  logic                      m_axi_wready_i,
  output logic [DataBits-1:0]       m_axi_wdata_o,
  output logic [DataBits/8-1:0]     m_axi_wstrb_o,
  output logic                      m_axi_wlast_o,
  input  logic                      m_axi_bvalid_i,
  output logic                      m_axi_bready_o,           // always 1
  input  logic [1:0]                m_axi_bresp_i,

  output logic                      msix_valid_o,             // a pulse
  output logic [15:0]               msix_vector_o,
  output logic [63:0]               msix_address_o,           // of the table's entry
  output logic [31:0]               msix_data_o,

  output logic                      m_axis_tvalid_o,
  input  logic                      m_axis_tready_i,
  output logic [DataBits-1:0]       m_axis_tdata_o,
  output logic [DataBits/8-1:0]     m_axis_tkeep_o,
  output logic                      m_axis_tlast_o,
  input  logic                      s_axis_tvalid_i,
  input  logic [DataBits-1:0]       s_axis_tdata_i,
  input  logic [DataBits/8-1:0]     s_axis_tkeep_i,
  input  logic                      s_axis_tlast_i,
  input  logic                      s_axis_tuser_i,           // the MAC reports an error (bad FCS); valid with tlast
  input  logic                      mac_link_i,

  input  logic                      csr_valid_i,
  input  logic                      csr_write_i,
  input  logic [11:0]               csr_address_i,
  input  logic [31:0]               csr_data_i,
  output logic                      csr_read_valid_o,
  output logic [31:0]               csr_read_data_o,
  output logic                      firmware_interrupt_o,

  output logic                      idle_o,                   // nothing is in flight: the next event is an input or
  output logic [63:0]               deadline_ns_o             // this device time; all ones: inputs only
);

  // Sizes that do not depend on the configuration; the model uses the same.
  localparam int unsigned DmaWriteBufferBytes = 8192;
  localparam int unsigned DescFetchRequests = 8;
  localparam int unsigned MailboxChainEntries = 64;
  localparam int unsigned RecvQueueRequests = 8;
  localparam int unsigned RecvQueueFetches = 32;
  localparam int unsigned RequesterPackets = 16;
  localparam int unsigned NetBytesPerFrame = 128;

  // Broadcast buses.
  logic table_write_valid, queue_row_write_valid, qp_state_write_valid, cq_context_ready;
  table_write_t table_write;
  logic [ContextOwners-1:0] parity_error;
  logic context_flip_valid;
  context_flip_t context_flip;
  queue_row_write_t queue_row_write;
  qp_state_write_t qp_state_write;
  logic datapath_enable, datapath_idle;
  logic [47:0] mac;

  // idle_o of every block. path_block_e: blocks of the send, the receive and the net path; `quiet` is all of them.
  // other_block_e: all other blocks. A new block needs a member in one of the two.
  typedef enum int unsigned {
    PathSendQueue,
    PathRequester,
    PathCompleter,
    PathMemoryCheck,
    PathTxGather,
    PathTxBuilder,
    PathRecvQueue,
    PathResponder,
    PathRxScatter,
    PathReadResponder,
    PathAtomic,
    PathAcks,
    PathNetTx,
    PathNetGather,
    PathNetChecksum,
    PathNetFilter,
    PathNetRx,
    PathCompletions,
    PathCqWriter,
    PathWritePort,
    PathBlocks
  } path_block_e;
  logic [PathBlocks-1:0] path_idle;
  typedef enum int unsigned {
    OtherReadPort,
    OtherCommonCfg,
    OtherNotify,
    OtherMsix,
    OtherDescFetch,
    OtherQpControl,
    OtherRxBuffer,
    OtherInterrupts,
    OtherQueueFailures,
    OtherWorkFailures,
    OtherSendFailures,
    OtherRequestFailures,
    OtherRetryTimer,
    OtherModeration,
    OtherBlocks
  } other_block_e;
  logic [OtherBlocks-1:0] other_idle;

  // --- DMA ---------------------------------------------------------------------------------------------------------

  // Fetch clients of the read port: short reads, the data arrives as one token.
  typedef enum int unsigned {
    FetchIndex,
    FetchRing,
    FetchDescriptor,
    FetchWorkRequest,
    FetchElement,
    FetchReceive,
    FetchMailbox,
    FetchTable,
    FetchSuppression,
    FetchAtomic,
    FetchClients
  } fetch_client_e;
  // The last one is only there with atomic operations.
  localparam int unsigned FetchPorts = Config.atomics != 0 ? 32'(FetchClients) : 32'(FetchAtomic);
  logic [FetchClients-1:0] fetch_request_valid, fetch_request_ready, fetched_valid, fetched_ready;
  dma_read_request_t [FetchClients-1:0] fetch_request;
  dma_fetched_t [FetchClients-1:0] fetched;
  // Train clients of the read port: long reads, the data arrives as a train of beats.
  typedef enum int unsigned {
    ReadGather,
    ReadNetGather,
    ReadClients
  } read_client_e;
  logic [ReadClients-1:0] read_request_valid, read_request_ready, train_valid;
  dma_read_request_t [ReadClients-1:0] read_request;
  logic train_last;
  logic [DataBits-1:0] train_data;
  logic [7:0] train_tag;
  logic [12:0] train_bytes;
  axi_resp_e train_resp;
  logic [15:0] dma_outstanding;
  logic [DmaDirections-1:0] dma_error;

  // Store clients of the write port: short writes, one token each.
  typedef enum int unsigned {
    StoreCqWriter,
    StoreMailbox,
    StoreAtomic,
    StoreClients
  } store_client_e;
  localparam int unsigned StorePorts = Config.atomics != 0 ? 32'(StoreClients) : 32'(StoreAtomic);  // likewise
  logic [StoreClients-1:0] store_valid, store_ready, done_valid;
  dma_store_t [StoreClients-1:0] store;
  dma_done_t [StoreClients-1:0] done;
  // Train clients of the write port: long writes, a train of beats each.
  typedef enum int unsigned {
    WriteScatter,
    WriteNetRx,
    WriteClients
  } write_client_e;
  logic [WriteClients-1:0] write_valid, write_ready, write_last;
  // verilator lint_off UNUSEDSIGNAL
  logic [WriteClients-1:0] accepted;  // both wait for memory
  // verilator lint_on UNUSEDSIGNAL
  dma_write_request_t [WriteClients-1:0] write_request;
  logic [WriteClients-1:0][DataBits-1:0] write_data;
  logic [WriteClients-1:0] write_done_valid;
  dma_done_t [WriteClients-1:0] write_done;
  logic unused_write_done;
  assign unused_write_done = ^write_done;

  // More reads than tags are not in flight. A queue has 4 places at least.
  localparam int unsigned FetchDepth =
      Config.dma_tags >= 32'(DmaFetchDepth) ? 32'(DmaFetchDepth) : Config.dma_tags < 4 ? 4 : Config.dma_tags;

  // A narrow data path has fewer under way in host memory's latency.
  localparam int unsigned CqWriterSlots = waiting_packets(DataBits);
  localparam bit HalfRate = is_narrow(DataBits);  // of arbiters: what a token belongs to takes several beats
  localparam int unsigned RxBytesPerFrame = 1024;

  // The most bytes that each client reads at once. [asserted in the port]
  function automatic logic [FetchClients-1:0][6:0] fetch_bytes();
    fetch_bytes = {32'(FetchClients){7'(DmaFetchBytes)}};
    fetch_bytes[FetchIndex] = 7'(PvirtqDescBytes);  // packed ring; the index of a split one is shorter
    fetch_bytes[FetchDescriptor] = 7'(VirtqDescBytes);
    fetch_bytes[FetchTable] = 7'(VirtqDescBytes);
    // One of the RFC's is read in two parts, of which the first one is longer.
    if (Config.extensible_requests == 0) fetch_bytes[FetchWorkRequest] = 7'(RdmaSqReqInlineDataOffset);
    // A work request, and lists of more than four elements by 64 bytes.
    if (Config.max_recv_sge <= 4 && Config.max_send_sge <= 4) fetch_bytes[FetchReceive] = 7'(RdmaRqReqBytes + RdmaSgeBytes);
    fetch_bytes[FetchSuppression] = 7'(PvirtqEventSuppressBytes);
    fetch_bytes[FetchAtomic] = 7'(AtomicBytes);
  endfunction

  localparam logic [FetchClients-1:0][6:0] FetchBytes = fetch_bytes();

  vireo_dma_read_port #(
    .Config(Config),
    .FetchClients(FetchPorts),
    .FetchDepth(FetchDepth),
    .ReadClients(ReadClients),
    .FetchBytes(FetchBytes[FetchPorts-1:0])
  ) u_dma_read_port (
    .clk_i,
    .rst_ni,
    .max_read_request_size_i(pcie_size_e'(cfg_max_read_request_size_i)),
    .fetch_request_valid_i(fetch_request_valid[FetchPorts-1:0]),
    .fetch_request_ready_o(fetch_request_ready[FetchPorts-1:0]),
    .fetch_request_i(fetch_request[FetchPorts-1:0]),
    .fetched_valid_o(fetched_valid[FetchPorts-1:0]),
    .fetched_ready_i(fetched_ready[FetchPorts-1:0]),
    .fetched_o(fetched[FetchPorts-1:0]),
    .read_request_valid_i(read_request_valid),
    .read_request_ready_o(read_request_ready),
    .read_request_i(read_request),
    .train_valid_o(train_valid),
    .train_data_o(train_data),
    .train_last_o(train_last),
    .train_tag_o(train_tag),
    .train_bytes_o(train_bytes),
    .train_resp_o(train_resp),
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
    .idle_o(other_idle[OtherReadPort]),
    .outstanding_o(dma_outstanding),
    .dma_error_o(dma_error[DmaDirectionRead])
  );

  // Bits that each store client may set: an atomic operation writes 8 bytes.
  function automatic dma_store_t [StorePorts-1:0] store_bits();
    dma_store_t operand = '1;
    operand.data = '0;
    operand.data[63:0] = '1;
    store_bits = '1;
    for (int unsigned i = 32'(StoreAtomic); i < StorePorts; i++) store_bits[i] = operand;
  endfunction

  vireo_dma_write_port #(
    .Config(Config),
    .BufferBytes(DmaWriteBufferBytes),
    .StoreClients(StorePorts),
    .WriteClients(WriteClients),
    .Driven(store_bits())
  ) u_dma_write_port (
    .clk_i,
    .rst_ni,
    .max_payload_size_i(pcie_size_e'(cfg_max_payload_size_i)),
    .store_valid_i(store_valid[StorePorts-1:0]),
    .store_ready_o(store_ready[StorePorts-1:0]),
    .store_i(store[StorePorts-1:0]),
    .done_valid_o(done_valid[StorePorts-1:0]),
    .done_o(done[StorePorts-1:0]),
    .write_valid_i(write_valid),
    .write_ready_o(write_ready),
    .write_request_i(write_request),
    .write_data_i(write_data),
    .write_last_i(write_last),
    .write_done_valid_o(write_done_valid),
    .write_done_o(write_done),
    .accepted_o(accepted),
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
    .idle_o(path_idle[PathWritePort]),
    .dma_error_o(dma_error[DmaDirectionWrite])
  );

  // --- Host -------------------------------------------------------------------------------------------------------

  bar_access_t bar;
  assign bar = '{write: bar_write_i, bar_index: bar_index_i, offset: bar_offset_i, bytes: bar_bytes_i,
                 data: bar_data_i};
  logic [63:0] msix_read_data;
  logic msix_ready;
  logic firmware_ready, profile, link_up, announce, needs_reset, reset_done, queue_reset_done_valid;
  logic [15:0] mtu, queue_reset_done;
  logic [7:0] device_status;
  logic [127:0] driver_features;
  logic roce;
  logic device_reset, features_written, driver_ok, unused_reset_all, resetting;
  logic queue_reset_valid, queue_reset_ready;
  doorbell_t queue_reset;
  logic internal_valid, internal_ready;
  doorbell_t internal_doorbell;
  logic send_doorbell_valid, send_doorbell_ready;
  doorbell_t send_doorbell;
  logic receive_doorbell_valid, receive_doorbell_ready;
  doorbell_t receive_doorbell;
  logic control_doorbell_valid, control_doorbell_ready;
  doorbell_t control_doorbell;
  logic net_doorbell_valid, net_doorbell_ready;
  doorbell_t net_doorbell;
  logic push_write_valid;
  push_write_t push_write;
  logic cq_arm_valid, cq_arm_ready;
  cq_arm_t cq_arm;
  logic interrupt_valid, interrupt_ready;
  interrupt_t interrupt;
  // Sources of interrupts.
  typedef enum int unsigned {
    InterruptCommonCfg,
    InterruptModeration,
    InterruptSources
  } interrupt_source_e;
  logic [InterruptSources-1:0] interrupts_valid, interrupts_ready;
  interrupt_t [InterruptSources-1:0] interrupts;
  logic unused_interrupt_last, unused_interrupt_index;
  logic queue_interrupt_valid, queue_interrupt_ready;
  queue_interrupt_t queue_interrupt;
  logic [63:0] moderation_deadline_ns, retry_deadline_ns;

  // Whether there are all net queue pairs or one, for blocks that still work for the previous driver when a reset has
  // cleared the features: it changes only while nothing is in flight.
  logic mq_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) mq_q <= 1'b0;
    else if (!resetting) mq_q <= driver_features[7'(NetFeatureMq)];
  end
  // Likewise how rings and receive buffers are, and whether received frames may be RoCE.
  logic ring_packed_q, event_idx_q, indirect_q, mrg_rxbuf_q, roce_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ring_packed_q <= 1'b0;
      event_idx_q <= 1'b0;
      indirect_q <= 1'b0;
      mrg_rxbuf_q <= 1'b0;
      roce_q <= 1'b0;
    end else if (!resetting) begin
      ring_packed_q <= driver_features[7'(VirtioFeatureRingPacked)];
      event_idx_q <= driver_features[7'(VirtioFeatureRingEventIdx)];
      indirect_q <= driver_features[7'(VirtioFeatureRingIndirectDesc)];
      mrg_rxbuf_q <= driver_features[7'(NetFeatureMrgRxbuf)];
      roce_q <= roce;
    end
  end

  vireo_common_cfg #(
    .Config(Config),
    .NumVectors(Config.num_msix_vectors)
  ) u_common_cfg (
    .clk_i,
    .rst_ni,
    .bar_valid_i,
    .bar_i(bar),
    .other_read_data_i(msix_read_data),
    .msix_ready_i(msix_ready),
    .bar_read_valid_o,
    .bar_read_data_o,
    .firmware_ready_i(firmware_ready),
    .profile_i(profile),
    .link_up_i(link_up),
    .announce_i(announce),
    .mac_i(mac),
    .mtu_i(mtu),
    .needs_reset_i(needs_reset),
    .reset_done_i(reset_done),
    .queue_reset_done_valid_i(queue_reset_done_valid),
    .queue_reset_done_i(queue_reset_done),
    .device_status_o(device_status),
    .driver_features_o(driver_features),
    .roce_o(roce),
    .device_reset_o(device_reset),
    .features_written_o(features_written),
    .driver_ok_o(driver_ok),
    .queue_reset_valid_o(queue_reset_valid),
    .queue_reset_ready_i(queue_reset_ready),
    .queue_reset_o(queue_reset),
    .reset_all_o(unused_reset_all),
    .resetting_o(resetting),
    .queue_row_write_valid_o(queue_row_write_valid),
    .queue_row_write_o(queue_row_write),
    .interrupt_valid_o(interrupts_valid[InterruptCommonCfg]),
    .interrupt_ready_i(interrupts_ready[InterruptCommonCfg]),
    .interrupt_o(interrupts[InterruptCommonCfg]),
    .idle_o(other_idle[OtherCommonCfg])
  );

  vireo_notify #(
    .Config(Config)
  ) u_notify (
    .clk_i,
    .rst_ni,
    .bar_valid_i,
    .bar_i(bar),
    .internal_valid_i(internal_valid),
    .internal_ready_o(internal_ready),
    .internal_i(internal_doorbell),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .enable_i(datapath_enable),
    .resetting_i(resetting),
    .mq_i(driver_features[7'(NetFeatureMq)]),
    .profile_i(profile),
    .send_doorbell_valid_o(send_doorbell_valid),
    .send_doorbell_ready_i(send_doorbell_ready),
    .send_doorbell_o(send_doorbell),
    .receive_doorbell_valid_o(receive_doorbell_valid),
    .receive_doorbell_ready_i(receive_doorbell_ready),
    .receive_doorbell_o(receive_doorbell),
    .control_doorbell_valid_o(control_doorbell_valid),
    .control_doorbell_ready_i(control_doorbell_ready),
    .control_doorbell_o(control_doorbell),
    .net_doorbell_valid_o(net_doorbell_valid),
    .net_doorbell_ready_i(net_doorbell_ready),
    .net_doorbell_o(net_doorbell),
    .cq_arm_valid_o(cq_arm_valid),
    .cq_arm_ready_i(cq_arm_ready),
    .cq_arm_o(cq_arm),
    .push_write_valid_o(push_write_valid),
    .push_write_o(push_write),
    .idle_o(other_idle[OtherNotify])
  );

  vireo_moderation #(
    .Config(Config)
  ) u_moderation (
    .clk_i,
    .rst_ni,
    .time_ns_i,
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerModeration]),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .queue_interrupt_valid_i(queue_interrupt_valid),
    .queue_interrupt_ready_o(queue_interrupt_ready),
    .queue_interrupt_i(queue_interrupt),
    .interrupt_valid_o(interrupts_valid[InterruptModeration]),
    .interrupt_ready_i(interrupts_ready[InterruptModeration]),
    .interrupt_o(interrupts[InterruptModeration]),
    .deadline_ns_o(moderation_deadline_ns),
    .idle_o(other_idle[OtherModeration])
  );

  vireo_arb_rr #(
    .Inputs(InterruptSources),
    .Width(InterruptBits), .HalfRate(HalfRate)
  ) u_interrupt_arb (
    .clk_i, .rst_ni,
    .s_valid_i(interrupts_valid),
    .s_ready_o(interrupts_ready),
    .s_data_i(interrupts),
    .s_last_i('1),
    .m_valid_o(interrupt_valid),
    .m_ready_i(interrupt_ready),
    .m_data_o(interrupt),
    .m_last_o(unused_interrupt_last),
    .m_index_o(unused_interrupt_index),
    .idle_o(other_idle[OtherInterrupts])
  );

  vireo_msix #(
    .NumVectors(Config.num_msix_vectors)
  ) u_msix (
    .clk_i,
    .rst_ni,
    .bar_valid_i,
    .bar_i(bar),
    .bar_read_data_o(msix_read_data),
    .enable_i(cfg_msix_enable_i),
    .mask_i(cfg_msix_mask_i),
    .bus_master_i(cfg_bus_master_i),
    .interrupt_valid_i(interrupt_valid),
    .interrupt_ready_o(interrupt_ready),
    .interrupt_i(interrupt),
    .msix_valid_o,
    .msix_vector_o,
    .msix_address_o,
    .msix_data_o,
    .ready_o(msix_ready),
    .idle_o(other_idle[OtherMsix])
  );

  // --- Management -------------------------------------------------------------------------------------------------

  logic qp_done_valid;
  qp_done_t qp_done;
  // State of a QP, for requesters.
  logic qp_sends_valid, next_psn_valid, expected_psn_valid;
  qp_sends_t qp_sends;
  qp_psn_t next_psn, expected_psn;
  logic mr_binding_valid;
  mr_binding_t mr_binding;
  logic mailbox_fetch_valid, mailbox_complete_valid, window_write_valid, window_read_valid;
  logic [31:0] mailbox_fetch, mailbox_complete, window_write_data, window_read_data;
  logic [6:0] window_write_word, window_read_word;
  logic mailbox_request, mailbox_busy, mailbox_dma_error;
  // Blocks that report queues with a bad work request or a bad chain.
  typedef enum int unsigned {
    WorkFailureSendQueue,
    WorkFailureRecvQueue,
    WorkFailureNetTx,
    WorkFailureNetRx,
    WorkFailureMailbox,
    WorkFailures
  } work_failure_e;
  // Blocks that report failed queues.
  typedef enum int unsigned {
    QueueFailureDescFetch,
    QueueFailureCqWriter,
    QueueFailures
  } queue_failure_e;
  logic [QueueFailures-1:0] queue_failures_valid, queue_failures_ready;
  queue_failure_t [QueueFailures-1:0] queue_failures;
  logic queue_stopped_valid;
  logic [WorkFailures-1:0] work_failures_valid, work_failures_ready;
  queue_failure_t [WorkFailures-1:0] work_failures;
  logic memory_fence, desc_fetch_fence, cq_writer_fence;
  logic [31:0] mailbox_request_bytes, mailbox_response_bytes;
  logic rx_verdict_valid, rx_drop, tx_frame, window_violation;
  mgmt_rx_mode_t rx_mode;
  logic [15:0] active_pairs;
  logic pause, quiet;  // firmware stops it: no work is started; the blocks of all paths have nothing in flight
  // An order of QP control waits until nothing of before it is in progress.
  logic sweep, swept;
  logic stopped_valid, stopped_all;  // packets of this QP are stale, or its requests only
  logic [23:0] stopped_qpn;
  logic completion_waits, memory_epoch;
  logic [1:0] fetches_wait;
  logic send_queue_settled, requester_settled, responder_settled, read_responder_settled, completer_settled, ack_waits;
  logic entry_begins, entry_ends, batch_begins, batch_ends, place_ended;
  localparam int unsigned ScatterPlaces = 128;  // on their way, at most
  logic place_valid, place_ready;
  rx_place_t place;
  logic net_filtered;
  logic [NetRxDrops-1:0] net_rx_drop;
  logic [NetTxDrops-1:0] net_tx_drop;
  rx_verdict_e rx_verdict;
  logic resent;
  logic requester_load_valid, requester_load_ready;
  qp_load_t requester_load;
  logic responder_load_valid, responder_load_ready;
  qp_load_t responder_load;
  logic qp_order_valid, qp_order_ready;
  qp_order_t qp_order;
  logic csr_event_valid, csr_event_ready;
  host_event_t csr_event;
  logic host_event_valid, host_event_ready;
  host_event_t host_event;
  // Requests for buffers, by buffer_client_e.
  logic [BufferClients-1:0] buffer_request_valid, buffer_request_ready, buffer_valid, buffer_ready;
  buffer_request_t [BufferClients-1:0] buffer_request;
  buffer_t [BufferClients-1:0] buffer;
  // Sources of completions.
  typedef enum int unsigned {
    CompletionCompleter,
    CompletionMailbox,
    CompletionScatter,
    CompletionNetTx,
    CompletionNetRx,
    Completions
  } completion_source_e;
  logic [Completions-1:0] completions_valid, completions_ready, completions_last;
  completion_t [Completions-1:0] completions;
  logic csr_idle, mailbox_idle;

  vireo_csr #(
    .Config(Config)
  ) u_csr (
    .clk_i,
    .rst_ni,
    .csr_valid_i,
    .csr_write_i,
    .csr_address_i,
    .csr_data_i,
    .csr_read_valid_o,
    .csr_read_data_o,
    .firmware_interrupt_o,
    .time_ns_i,
    .mac_link_i,
    .idle_i(datapath_idle),
    .memory_fence_i(memory_fence),
    .queue_fence_i(desc_fetch_fence || cq_writer_fence),
    .quiet_i(quiet),
    .dma_outstanding_i(dma_outstanding),
    .device_status_i(device_status),
    .driver_features_i(driver_features),
    .device_reset_i(device_reset),
    .features_written_i(features_written),
    .driver_ok_i(driver_ok),
    .queue_reset_valid_i(queue_reset_valid),
    .queue_reset_ready_o(queue_reset_ready),
    .queue_reset_i(queue_reset),
    .queue_reset_done_valid_o(queue_reset_done_valid),
    .queue_reset_done_o(queue_reset_done),
    .reset_done_o(reset_done),
    .firmware_ready_o(firmware_ready),
    .profile_o(profile),
    .link_up_o(link_up),
    .announce_o(announce),
    .mac_o(mac),
    .mtu_o(mtu),
    .rx_mode_o(rx_mode),
    .active_pairs_o(active_pairs),
    .needs_reset_o(needs_reset),
    .datapath_enable_o(datapath_enable),
    .pause_o(pause),
    .cq_context_ready_i(cq_context_ready),
    .table_write_valid_o(table_write_valid),
    .table_write_o(table_write),
    .context_flip_valid_o(context_flip_valid),
    .context_flip_o(context_flip),
    .parity_error_i(parity_error),
    .requester_load_valid_o(requester_load_valid),
    .requester_load_ready_i(requester_load_ready),
    .requester_load_o(requester_load),
    .responder_load_valid_o(responder_load_valid),
    .responder_load_ready_i(responder_load_ready),
    .responder_load_o(responder_load),
    .qp_order_valid_o(qp_order_valid),
    .qp_order_ready_i(qp_order_ready),
    .qp_order_o(qp_order),
    .qp_done_valid_i(qp_done_valid),
    .qp_done_i(qp_done),
    .qp_sends_valid_i(qp_sends_valid),
    .qp_sends_i(qp_sends),
    .next_psn_valid_i(next_psn_valid),
    .next_psn_i(next_psn),
    .expected_psn_valid_i(expected_psn_valid),
    .expected_psn_i(expected_psn),
    .mr_binding_valid_i(mr_binding_valid),
    .mr_binding_i(mr_binding),
    .host_event_valid_o(csr_event_valid),
    .host_event_ready_i(csr_event_ready),
    .host_event_o(csr_event),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .mailbox_fetch_valid_o(mailbox_fetch_valid),
    .mailbox_fetch_o(mailbox_fetch),
    .mailbox_complete_valid_o(mailbox_complete_valid),
    .mailbox_complete_o(mailbox_complete),
    .window_write_valid_o(window_write_valid),
    .window_write_word_o(window_write_word),
    .window_write_data_o(window_write_data),
    .window_read_valid_o(window_read_valid),
    .window_read_word_o(window_read_word),
    .window_read_data_i(window_read_data),
    .mailbox_request_i(mailbox_request),
    .mailbox_busy_i(mailbox_busy),
    .mailbox_dma_error_i(mailbox_dma_error),
    .mailbox_request_bytes_i(mailbox_request_bytes),
    .mailbox_response_bytes_i(mailbox_response_bytes),
    .rx_verdict_valid_i(rx_verdict_valid),
    .rx_verdict_i(rx_verdict),
    .tx_frame_i(tx_frame),
    .rx_drop_i(rx_drop),
    .retransmission_i(resent),
    .dma_error_i(dma_error),
    .window_violation_i(window_violation),
    .net_rx_filtered_i(net_filtered),
    .net_rx_drop_i(net_rx_drop),
    .net_tx_drop_i(net_tx_drop),
    .idle_o(csr_idle)
  );

  vireo_mailbox #(
    .ChainEntries(MailboxChainEntries)
  ) u_mailbox (
    .clk_i,
    .rst_ni,
    .control_doorbell_valid_i(control_doorbell_valid),
    .control_doorbell_ready_o(control_doorbell_ready),
    .control_doorbell_i(control_doorbell),
    .buffer_request_valid_o(buffer_request_valid[BufferClientControl]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientControl]),
    .buffer_request_o(buffer_request[BufferClientControl]),
    .buffer_valid_i(buffer_valid[BufferClientControl]),
    .buffer_ready_o(buffer_ready[BufferClientControl]),
    .buffer_i(buffer[BufferClientControl]),
    .fetch_request_valid_o(fetch_request_valid[FetchMailbox]),
    .fetch_request_ready_i(fetch_request_ready[FetchMailbox]),
    .fetch_request_o(fetch_request[FetchMailbox]),
    .fetched_valid_i(fetched_valid[FetchMailbox]),
    .fetched_ready_o(fetched_ready[FetchMailbox]),
    .fetched_i(fetched[FetchMailbox]),
    .store_valid_o(store_valid[StoreMailbox]),
    .store_ready_i(store_ready[StoreMailbox]),
    .store_o(store[StoreMailbox]),
    .store_done_valid_i(done_valid[StoreMailbox]),
    .store_done_i(done[StoreMailbox]),
    .completion_valid_o(completions_valid[CompletionMailbox]),
    .completion_ready_i(completions_ready[CompletionMailbox]),
    .completion_o(completions[CompletionMailbox]),
    .queue_failure_valid_o(work_failures_valid[WorkFailureMailbox]),
    .queue_failure_ready_i(work_failures_ready[WorkFailureMailbox]),
    .queue_failure_o(work_failures[WorkFailureMailbox]),
    .queue_stopped_valid_i(queue_stopped_valid),
    .queue_stopped_i(queue_failures[QueueFailureCqWriter]),
    .device_reset_i(device_reset),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .fetch_valid_i(mailbox_fetch_valid),
    .fetch_i(mailbox_fetch),
    .complete_valid_i(mailbox_complete_valid),
    .complete_i(mailbox_complete),
    .window_write_valid_i(window_write_valid),
    .window_write_word_i(window_write_word),
    .window_write_data_i(window_write_data),
    .window_read_valid_i(window_read_valid),
    .window_read_word_i(window_read_word),
    .window_read_data_o(window_read_data),
    .request_o(mailbox_request),
    .busy_o(mailbox_busy),
    .dma_error_o(mailbox_dma_error),
    .request_bytes_o(mailbox_request_bytes),
    .response_bytes_o(mailbox_response_bytes),
    .idle_o(mailbox_idle)
  );

  // --- Virtqueues -------------------------------------------------------------------------------------------------

  logic completion_valid, completion_ready;
  completion_t completion;
  logic queue_failure_valid, queue_failure_ready;
  queue_failure_t queue_failure;
  logic work_failure_valid, work_failure_ready;
  queue_failure_t work_failure;
  logic unused_work_failure_last;
  logic [$clog2(WorkFailures)-1:0] unused_work_failure_index;
  logic unused_completion_last, unused_queue_failure_last, unused_queue_failure_index;
  logic [$clog2(Completions)-1:0] completion_index;
  logic avail_event_valid;
  avail_event_t avail_event;

  vireo_desc_fetch #(
    .Config(Config),
    .Requests(DescFetchRequests),
    .Descriptors(FetchDepth)  // as many as have a place for their answer
  ) u_desc_fetch (
    .clk_i,
    .rst_ni,
    .ring_packed_i(ring_packed_q),
    .event_idx_i(event_idx_q),
    .indirect_i(indirect_q),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerDescFetch]),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .buffer_request_valid_i(buffer_request_valid),
    .buffer_request_ready_o(buffer_request_ready),
    .buffer_request_i(buffer_request),
    .buffer_valid_o(buffer_valid),
    .buffer_ready_i(buffer_ready),
    .buffer_o(buffer),
    .index_request_valid_o(fetch_request_valid[FetchIndex]),
    .index_request_ready_i(fetch_request_ready[FetchIndex]),
    .index_request_o(fetch_request[FetchIndex]),
    .index_fetched_valid_i(fetched_valid[FetchIndex]),
    .index_fetched_ready_o(fetched_ready[FetchIndex]),
    .index_fetched_i(fetched[FetchIndex]),
    .ring_request_valid_o(fetch_request_valid[FetchRing]),
    .ring_request_ready_i(fetch_request_ready[FetchRing]),
    .ring_request_o(fetch_request[FetchRing]),
    .ring_fetched_valid_i(fetched_valid[FetchRing]),
    .ring_fetched_ready_o(fetched_ready[FetchRing]),
    .ring_fetched_i(fetched[FetchRing]),
    .descriptor_request_valid_o(fetch_request_valid[FetchDescriptor]),
    .descriptor_request_ready_i(fetch_request_ready[FetchDescriptor]),
    .descriptor_request_o(fetch_request[FetchDescriptor]),
    .descriptor_fetched_valid_i(fetched_valid[FetchDescriptor]),
    .descriptor_fetched_ready_o(fetched_ready[FetchDescriptor]),
    .descriptor_fetched_i(fetched[FetchDescriptor]),
    .table_request_valid_o(fetch_request_valid[FetchTable]),
    .table_request_ready_i(fetch_request_ready[FetchTable]),
    .table_request_o(fetch_request[FetchTable]),
    .table_fetched_valid_i(fetched_valid[FetchTable]),
    .table_fetched_ready_o(fetched_ready[FetchTable]),
    .table_fetched_i(fetched[FetchTable]),
    .queue_failure_valid_o(queue_failures_valid[QueueFailureDescFetch]),
    .queue_failure_ready_i(queue_failures_ready[QueueFailureDescFetch]),
    .queue_failure_o(queue_failures[QueueFailureDescFetch]),
    .window_violation_o(window_violation),
    .avail_event_valid_o(avail_event_valid),
    .avail_event_o(avail_event),
    .fence_o(desc_fetch_fence),
    .idle_o(other_idle[OtherDescFetch])
  );

  // Those of one frame stay together.
  always_comb begin
    for (int unsigned i = 0; i < Completions; i++) completions_last[i] = !completions[i].more;
  end

  // Bits that each source may set: queues of the net path and the control queue have no CQE.
  function automatic completion_t [Completions-1:0] completion_bits();
    completion_t without_cqe = '1;
    without_cqe.by_id = 1'b0;
    without_cqe.has_cqe = 1'b0;
    without_cqe.cqn = '0;
    without_cqe.solicited = 1'b0;
    without_cqe.cqe = '0;
    completion_bits = '1;
    completion_bits[CompletionMailbox] = without_cqe;
    completion_bits[CompletionNetTx] = without_cqe;
    completion_bits[CompletionNetRx] = without_cqe;
    completion_bits[CompletionNetTx].used_bytes = '0;
  endfunction

  vireo_arb_rr #(
    .Inputs(Completions),
    .Width(CompletionBits),
    .Driven(completion_bits()),
    .HalfRate(HalfRate)
  ) u_completion_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(completions_valid),
    .s_ready_o(completions_ready),
    .s_data_i(completions),
    .s_last_i(completions_last),
    .m_valid_o(completion_valid),
    .m_ready_i(completion_ready),
    .m_data_o(completion),
    .m_last_o(unused_completion_last),
    .m_index_o(completion_index),
    .idle_o(path_idle[PathCompletions])
  );

  vireo_cq_writer #(
    .Config(Config),
    .Slots(CqWriterSlots)
  ) u_cq_writer (
    .clk_i,
    .rst_ni,
    .time_ns_i,
    .ring_packed_i(ring_packed_q),
    .event_idx_i(event_idx_q),
    .cq_context_ready_o(cq_context_ready),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerCqWriter]),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .avail_event_valid_i(avail_event_valid),
    .avail_event_i(avail_event),
    .completion_valid_i(completion_valid),
    .completion_ready_o(completion_ready),
    .completion_waits_o(completion_waits),
    .completion_i(completion),
    .host_event_valid_i(host_event_valid),
    .host_event_ready_o(host_event_ready),
    .host_event_i(host_event),
    .cq_arm_valid_i(cq_arm_valid),
    .cq_arm_ready_o(cq_arm_ready),
    .cq_arm_i(cq_arm),
    .buffer_request_valid_o(buffer_request_valid[BufferClientCompletion]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientCompletion]),
    .buffer_request_o(buffer_request[BufferClientCompletion]),
    .buffer_valid_i(buffer_valid[BufferClientCompletion]),
    .buffer_ready_o(buffer_ready[BufferClientCompletion]),
    .buffer_i(buffer[BufferClientCompletion]),
    .store_valid_o(store_valid[StoreCqWriter]),
    .store_ready_i(store_ready[StoreCqWriter]),
    .store_o(store[StoreCqWriter]),
    .done_valid_i(done_valid[StoreCqWriter]),
    .done_i(done[StoreCqWriter]),
    .fetch_request_valid_o(fetch_request_valid[FetchSuppression]),
    .fetch_request_ready_i(fetch_request_ready[FetchSuppression]),
    .fetch_request_o(fetch_request[FetchSuppression]),
    .fetched_valid_i(fetched_valid[FetchSuppression]),
    .fetched_ready_o(fetched_ready[FetchSuppression]),
    .fetched_i(fetched[FetchSuppression]),
    .doorbell_valid_o(internal_valid),
    .doorbell_ready_i(internal_ready),
    .doorbell_o(internal_doorbell),
    .queue_interrupt_valid_o(queue_interrupt_valid),
    .queue_interrupt_ready_i(queue_interrupt_ready),
    .queue_interrupt_o(queue_interrupt),
    .queue_failure_valid_o(queue_failures_valid[QueueFailureCqWriter]),
    .queue_failure_ready_i(queue_failures_ready[QueueFailureCqWriter]),
    .queue_failure_o(queue_failures[QueueFailureCqWriter]),
    .queue_stopped_valid_o(queue_stopped_valid),
    .fence_o(cq_writer_fence),
    .idle_o(path_idle[PathCqWriter])
  );

  vireo_arb_rr #(
    .Inputs(QueueFailures),
    .Width(QueueFailureBits), .HalfRate(HalfRate)
  ) u_queue_failure_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(queue_failures_valid),
    .s_ready_o(queue_failures_ready),
    .s_data_i(queue_failures),
    .s_last_i('1),
    .m_valid_o(queue_failure_valid),
    .m_ready_i(queue_failure_ready),
    .m_data_o(queue_failure),
    .m_last_o(unused_queue_failure_last),
    .m_index_o(unused_queue_failure_index),
    .idle_o(other_idle[OtherQueueFailures])
  );

  vireo_arb_rr #(
    .Inputs(WorkFailures),
    .Width(QueueFailureBits), .HalfRate(HalfRate)
  ) u_work_failure_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(work_failures_valid),
    .s_ready_o(work_failures_ready),
    .s_data_i(work_failures),
    .s_last_i('1),
    .m_valid_o(work_failure_valid),
    .m_ready_i(work_failure_ready),
    .m_data_o(work_failure),
    .m_last_o(unused_work_failure_last),
    .m_index_o(unused_work_failure_index),
    .idle_o(other_idle[OtherWorkFailures])
  );

  // --- Queue pairs ------------------------------------------------------------------------------------------------

  logic requester_failure_valid, requester_failure_ready;
  qp_failure_t requester_failure;
  logic completer_failure_valid, completer_failure_ready;
  qp_failure_t completer_failure;
  logic responder_failure_valid, responder_failure_ready;
  qp_failure_t responder_failure;
  // Failures of a QP's send half: of the requester, of reads of payload.
  typedef enum int unsigned {
    SendFailureRequester,
    SendFailureGather,
    SendFailures
  } send_failure_e;
  logic [SendFailures-1:0] send_failures_valid, send_failures_ready;
  qp_failure_t [SendFailures-1:0] send_failures;
  logic unused_send_failure_last, unused_send_failure_index;
  // Failures of a QP's receive half: of the responder, of responses to READs, of writes.
  typedef enum int unsigned {
    RequestFailureResponder,
    RequestFailureReadResponder,
    RequestFailureScatter,
    RequestFailures
  } request_failure_e;
  logic [RequestFailures-1:0] request_failures_valid, request_failures_ready;
  qp_failure_t [RequestFailures-1:0] request_failures;
  logic unused_request_failure_last;
  logic [$clog2(RequestFailures)-1:0] unused_request_failure_index;
  memory_grant_t unused_net_grant_ended;
  logic [1:0] unused_net_packets_read, unused_net_room;
  // Checks of keys and their results, by memory_client_e.
  logic [MemoryClients-1:0] memory_check_valid, memory_check_ready, memory_place_valid, memory_place_ready;
  memory_check_t [MemoryClients-1:0] memory_check;
  memory_place_t [MemoryClients-1:0] memory_place;
  memory_grant_t [GrantHolders-1:0] grant_ended;
  key_fence_t key_fence;
  logic scatter_fence_waits, completer_fence_waits;

  vireo_arb_rr #(
    .Inputs(SendFailures),
    .Width(QpFailureBits), .HalfRate(HalfRate)
  ) u_send_failure_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(send_failures_valid),
    .s_ready_o(send_failures_ready),
    .s_data_i(send_failures),
    .s_last_i('1),
    .m_valid_o(requester_failure_valid),
    .m_ready_i(requester_failure_ready),
    .m_data_o(requester_failure),
    .m_last_o(unused_send_failure_last),
    .m_index_o(unused_send_failure_index),
    .idle_o(other_idle[OtherSendFailures])
  );

  vireo_arb_rr #(
    .Inputs(RequestFailures),
    .Width(QpFailureBits), .HalfRate(HalfRate)
  ) u_request_failure_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(request_failures_valid),
    .s_ready_o(request_failures_ready),
    .s_data_i(request_failures),
    .s_last_i('1),
    .m_valid_o(responder_failure_valid),
    .m_ready_i(responder_failure_ready),
    .m_data_o(responder_failure),
    .m_last_o(unused_request_failure_last),
    .m_index_o(unused_request_failure_index),
    .idle_o(other_idle[OtherRequestFailures])
  );

  vireo_qp_control #(
    .Config(Config)
  ) u_qp_control (
    .clk_i,
    .rst_ni,
    .qp_order_valid_i(qp_order_valid),
    .qp_order_ready_o(qp_order_ready),
    .qp_order_i(qp_order),
    .requester_failure_valid_i(requester_failure_valid),
    .requester_failure_ready_o(requester_failure_ready),
    .requester_failure_i(requester_failure),
    .completer_failure_valid_i(completer_failure_valid),
    .completer_failure_ready_o(completer_failure_ready),
    .completer_failure_i(completer_failure),
    .responder_failure_valid_i(responder_failure_valid),
    .responder_failure_ready_o(responder_failure_ready),
    .responder_failure_i(responder_failure),
    .desc_fetch_failure_valid_i(queue_failure_valid),
    .desc_fetch_failure_ready_o(queue_failure_ready),
    .desc_fetch_failure_i(queue_failure),
    .work_failure_valid_i(work_failure_valid),
    .work_failure_ready_o(work_failure_ready),
    .work_failure_i(work_failure),
    .csr_event_valid_i(csr_event_valid),
    .csr_event_ready_o(csr_event_ready),
    .csr_event_i(csr_event),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerQpControl]),
    .swept_i(swept),
    .sweep_o(sweep),
    .qp_sends_valid_i(qp_sends_valid),
    .qp_sends_i(qp_sends),
    .qp_state_write_valid_o(qp_state_write_valid),
    .qp_state_write_o(qp_state_write),
    .qp_done_valid_o(qp_done_valid),
    .qp_done_o(qp_done),
    .host_event_valid_o(host_event_valid),
    .host_event_ready_i(host_event_ready),
    .host_event_o(host_event),
    .idle_o(other_idle[OtherQpControl])
  );

  vireo_memory_check #(
    .Config(Config)
  ) u_memory_check (
    .clk_i,
    .rst_ni,
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerMemoryCheck]),
    .check_valid_i(memory_check_valid),
    .check_ready_o(memory_check_ready),
    .check_i(memory_check),
    .place_valid_o(memory_place_valid),
    .place_ready_i(memory_place_ready),
    .place_o(memory_place),
    .ended_i(grant_ended),
    .epoch_i(memory_epoch),
    .fence_o(memory_fence),
    .scatter_waits_i(scatter_fence_waits),
    .completer_waits_i(completer_fence_waits),
    .key_fence_o(key_fence),
    .binding_valid_o(mr_binding_valid),
    .binding_o(mr_binding),
    .idle_o(path_idle[PathMemoryCheck])
  );

  // --- Send -------------------------------------------------------------------------------------------------------

  logic work_request_valid, work_request_ready;
  work_request_t work_request;
  logic replay_valid, replay_ready;
  replay_t replay;
  logic qp_hold_valid;
  qp_hold_t qp_hold;
  logic timer_set_valid, timer_set_ready;
  timer_set_t timer_set;
  logic timer_expired_valid, timer_expired_ready;
  timer_expired_t timer_expired;
  logic job_valid, job_ready;
  tx_job_t job;
  logic record_valid, record_ready;
  send_record_t record;
  logic retired_valid, retired_ready;
  doorbell_t retired;
  // Acknowledges: of the wire, of packets that are not acknowledged.
  typedef enum int unsigned {
    AckWire,
    AckSent,
    AckSources
  } ack_source_e;
  logic [AckSources-1:0] acks_valid, acks_ready;
  rx_ack_t [AckSources-1:0] acks;
  logic ack_valid, ack_ready, unused_ack_last, ack_index;
  rx_ack_t ack;
  logic read_record_valid, read_record_ready;
  read_record_t read_record;
  // Ended READs: as requester, as responder.
  logic requester_reads_valid, responder_reads_valid;
  qp_reads_t requester_reads, responder_reads;
  logic work_issued, work_ended, replay_ended;
  logic [6:0] replay_serial;
  logic [1:0] packets_read;
  // Room in tx_gather, of its two inputs.
  logic [1:0] room, room_used;
  logic room_unused;
  logic packet_valid, packet_ready;
  tx_packet_t packet;
  logic answer_valid, answer_ready;
  logic atomic_valid, atomic_ready, atomic_result_valid, atomic_result_ready;
  atomic_request_t atomic_request;
  atomic_result_t atomic_result;
  rx_answer_t answer;
  logic answer_packet_valid, answer_packet_ready;
  tx_packet_t answer_packet;
  logic response_valid, response_ready, response_ends, response_taken;
  tx_job_t response;
  logic qp_sent_valid;
  qp_sent_t qp_sent;
  logic payload_valid, payload_ready;
  logic [DataBits-1:0] payload_data;
  logic net_valid, net_ready;  // frames of net queues
  logic [13:0] net_bytes;
  logic [DataBits-1:0] net_data;

  vireo_send_queue #(
    .Config(Config),
    .Requests(Config.send_queue_requests),
    .Buffers(Config.send_queue_buffers),
    .Fetches(Config.send_queue_fetches)
  ) u_send_queue (
    .clk_i,
    .rst_ni,
    .mq_i(mq_q),
    .extensible_i(profile),
    .hold_i(pause),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .push_write_valid_i(push_write_valid),
    .push_write_i(push_write),
    .doorbell_valid_i(send_doorbell_valid),
    .doorbell_ready_o(send_doorbell_ready),
    .doorbell_i(send_doorbell),
    .retired_valid_i(retired_valid),
    .retired_ready_o(retired_ready),
    .retired_i(retired),
    .buffer_request_valid_o(buffer_request_valid[BufferClientSend]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientSend]),
    .buffer_request_o(buffer_request[BufferClientSend]),
    .buffer_valid_i(buffer_valid[BufferClientSend]),
    .buffer_ready_o(buffer_ready[BufferClientSend]),
    .buffer_i(buffer[BufferClientSend]),
    .fetch_request_valid_o(fetch_request_valid[FetchWorkRequest]),
    .fetch_request_ready_i(fetch_request_ready[FetchWorkRequest]),
    .fetch_request_o(fetch_request[FetchWorkRequest]),
    .fetched_valid_i(fetched_valid[FetchWorkRequest]),
    .fetched_ready_o(fetched_ready[FetchWorkRequest]),
    .fetched_i(fetched[FetchWorkRequest]),
    .replay_valid_i(replay_valid),
    .replay_ready_o(replay_ready),
    .replay_i(replay),
    .work_request_valid_o(work_request_valid),
    .work_request_ready_i(work_request_ready),
    .work_request_o(work_request),
    .queue_failure_valid_o(work_failures_valid[WorkFailureSendQueue]),
    .queue_failure_ready_i(work_failures_ready[WorkFailureSendQueue]),
    .queue_failure_o(work_failures[WorkFailureSendQueue]),
    .qp_sends_valid_o(qp_sends_valid),
    .qp_sends_o(qp_sends),
    .fetches_wait_o(fetches_wait),
    .settled_o(send_queue_settled),
    .idle_o(path_idle[PathSendQueue])
  );

  vireo_requester #(
    .Config(Config),
    .Packets(RequesterPackets)
  ) u_requester (
    .clk_i,
    .rst_ni,
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerRequester]),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .work_request_valid_i(work_request_valid),
    .work_request_ready_o(work_request_ready),
    .work_request_i(work_request),
    .qp_hold_valid_i(qp_hold_valid),
    .qp_hold_i(qp_hold),
    .fetch_request_valid_o(fetch_request_valid[FetchElement]),
    .fetch_request_ready_i(fetch_request_ready[FetchElement]),
    .fetch_request_o(fetch_request[FetchElement]),
    .fetched_valid_i(fetched_valid[FetchElement]),
    .fetched_ready_o(fetched_ready[FetchElement]),
    .fetched_i(fetched[FetchElement]),
    .load_valid_i(requester_load_valid),
    .load_ready_o(requester_load_ready),
    .load_i(requester_load),
    .memory_check_valid_o(memory_check_valid[MemoryClientRequester]),
    .memory_check_ready_i(memory_check_ready[MemoryClientRequester]),
    .memory_check_o(memory_check[MemoryClientRequester]),
    .memory_place_valid_i(memory_place_valid[MemoryClientRequester]),
    .memory_place_ready_o(memory_place_ready[MemoryClientRequester]),
    .memory_place_i(memory_place[MemoryClientRequester]),
    .room_i(room[0]),
    .room_used_o(room_used[0]),
    .room_unused_o(room_unused),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready),
    .job_o(job),
    .record_valid_o(record_valid),
    .record_ready_i(record_ready),
    .record_o(record),
    .read_record_valid_o(read_record_valid),
    .read_record_ready_i(read_record_ready),
    .read_record_o(read_record),
    .qp_reads_valid_i(requester_reads_valid),
    .qp_reads_i(requester_reads),
    .failure_valid_o(send_failures_valid[SendFailureRequester]),
    .failure_ready_i(send_failures_ready[SendFailureRequester]),
    .failure_o(send_failures[SendFailureRequester]),
    .next_psn_valid_o(next_psn_valid),
    .next_psn_o(next_psn),
    .resent_o(resent),
    .issued_o(work_issued),
    .work_ended_o(work_ended),
    .replay_ended_o(replay_ended),
    .replay_serial_o(replay_serial),
    .grant_ended_o(grant_ended[GrantHolderRequester]),
    .settled_o(requester_settled),
    .entry_begins_o(entry_begins),
    .entry_ends_o(entry_ends),
    .idle_o(path_idle[PathRequester])
  );

  vireo_completer #(
    .Config(Config),
    .Places(ScatterPlaces)
  ) u_completer (
    .clk_i,
    .rst_ni,
    .key_fence_i(key_fence),
    .fence_waits_o(completer_fence_waits),
    .mq_i(mq_q),
    .hold_i(pause),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerCompleter]),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .record_valid_i(record_valid),
    .record_ready_o(record_ready),
    .record_i(record),
    .ack_valid_i(ack_valid),
    .ack_ready_o(ack_ready),
    .ack_i(ack),
    .timer_expired_valid_i(timer_expired_valid),
    .timer_expired_ready_o(timer_expired_ready),
    .timer_expired_i(timer_expired),
    .qp_sent_valid_i(qp_sent_valid),
    .qp_sent_i(qp_sent),
    .timer_set_valid_o(timer_set_valid),
    .timer_set_ready_i(timer_set_ready),
    .timer_set_o(timer_set),
    .replay_valid_o(replay_valid),
    .replay_ready_i(replay_ready),
    .replay_o(replay),
    .issued_i(work_issued),
    .work_ended_i(work_ended),
    .replay_ended_i(replay_ended),
    .replay_serial_i(replay_serial),
    .packets_read_i(packets_read),
    .responder_settled_i(responder_settled),
    .place_begins_i(place_valid && place_ready && place.net_bytes == '0),
    .place_ends_i(place_ended),
    .place_waits_i(place_valid && place.net_bytes == '0),
    .qp_hold_valid_o(qp_hold_valid),
    .qp_hold_o(qp_hold),
    .qp_reads_valid_o(requester_reads_valid),
    .qp_reads_o(requester_reads),
    .completion_valid_o(completions_valid[CompletionCompleter]),
    .completion_ready_i(completions_ready[CompletionCompleter]),
    .completion_o(completions[CompletionCompleter]),
    .retired_valid_o(retired_valid),
    .retired_ready_i(retired_ready),
    .retired_o(retired),
    .failure_valid_o(completer_failure_valid),
    .failure_ready_i(completer_failure_ready),
    .failure_o(completer_failure),
    .settled_o(completer_settled),
    .ack_waits_o(ack_waits),
    .idle_o(path_idle[PathCompleter])
  );

  vireo_retry_timer #(
    .Config(Config)
  ) u_retry_timer (
    .clk_i,
    .rst_ni,
    .time_ns_i,
    .timer_set_valid_i(timer_set_valid),
    .timer_set_ready_o(timer_set_ready),
    .timer_set_i(timer_set),
    .timer_expired_valid_o(timer_expired_valid),
    .timer_expired_ready_i(timer_expired_ready),
    .timer_expired_o(timer_expired),
    .deadline_ns_o(retry_deadline_ns),
    .idle_o(other_idle[OtherRetryTimer])
  );

  vireo_tx_gather #(
    .Config(Config),
    .BufferBytes(Config.tx_buffer_bytes),
    .Reserves(1'b1),
    .Net(1'b0)
  ) u_tx_gather (
    .clk_i,
    .rst_ni,
    .job_valid_i(job_valid),
    .job_ready_o(job_ready),
    .job_i(job),
    .response_valid_i(response_valid),
    .response_ready_o(response_ready),
    .response_i(response),
    .room_o(room),
    .room_used_i(room_used),
    .room_unused_i(room_unused),
    .sent_valid_o(acks_valid[AckSent]),
    .sent_ready_i(acks_ready[AckSent]),
    .sent_o(acks[AckSent]),
    .read_request_valid_o(read_request_valid[ReadGather]),
    .read_request_ready_i(read_request_ready[ReadGather]),
    .read_request_o(read_request[ReadGather]),
    .train_valid_i(train_valid[ReadGather]),
    .train_data_i(train_data),
    .train_last_i(train_last),
    .train_tag_i(train_tag),
    .train_bytes_i(train_bytes),
    .train_resp_i(train_resp),
    .packet_valid_o(packet_valid),
    .packet_ready_i(packet_ready),
    .packet_o(packet),
    .payload_valid_o(payload_valid),
    .payload_ready_i(payload_ready),
    .payload_data_o(payload_data),
    .failed_valid_o(send_failures_valid[SendFailureGather]),
    .failed_ready_i(send_failures_ready[SendFailureGather]),
    .failed_o(send_failures[SendFailureGather]),
    .stopped_valid_i(stopped_valid),
    .stopped_all_i(stopped_all),
    .stopped_qpn_i(stopped_qpn),
    .response_ends_o(response_ends),
    .grant_ended_o(grant_ended[GrantHolderTxGather]),
    .packets_read_o(packets_read),
    .idle_o(path_idle[PathTxGather])
  );

  vireo_tx_builder #(
    .Config(Config)
  ) u_tx_builder (
    .clk_i,
    .rst_ni,
    .enable_i(datapath_enable),
    .mac_i(mac),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerTxBuilder]),
    .stopped_valid_i(stopped_valid),
    .stopped_all_i(stopped_all),
    .stopped_qpn_i(stopped_qpn),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .qp_hold_valid_i(qp_hold_valid),
    .qp_hold_i(qp_hold),
    .packet_valid_i(packet_valid),
    .packet_ready_o(packet_ready),
    .packet_i(packet),
    .answer_valid_i(answer_packet_valid),
    .answer_ready_o(answer_packet_ready),
    .answer_i(answer_packet),
    .response_taken_o(response_taken),
    .qp_sent_valid_o(qp_sent_valid),
    .qp_sent_o(qp_sent),
    .payload_valid_i(payload_valid),
    .payload_ready_o(payload_ready),
    .payload_data_i(payload_data),
    .net_valid_i(net_valid),
    .net_ready_o(net_ready),
    .net_bytes_i(net_bytes),
    .net_data_i(net_data),
    .m_axis_tvalid_o,
    .m_axis_tready_i,
    .m_axis_tdata_o,
    .m_axis_tkeep_o,
    .m_axis_tlast_o,
    .tx_frame_o(tx_frame),
    .idle_o(path_idle[PathTxBuilder])
  );

  // --- Receive ----------------------------------------------------------------------------------------------------

  logic frame_valid, frame_ready;
  rx_token_t frame;
  localparam int unsigned PlaceBits = $clog2(Config.rx_buffer_bytes / (DataBits / 8));
  logic oldest_valid, oldest_read, oldest_free, unused_rx_ready;
  logic [PlaceBits-1:0] oldest_beat;
  logic [DataBits-1:0] oldest_data;
  logic receive_request_valid, receive_request_ready;
  receive_request_t receive_request;
  logic receive_valid, receive_ready;
  receive_t receive;
  logic receive_retry_valid, receive_retry_ready;
  receive_retry_t receive_retry;
  logic queue_rung_valid;
  queue_rung_t queue_rung;

  logic net_beat_valid, net_beat_last;  // frames for net queues
  logic [DataBits-1:0] net_beat_data;
  logic [13:0] net_beat_bytes;

  vireo_rx_buffer #(
    .Config(Config),
    .BytesPerFrame(RxBytesPerFrame)
  ) u_rx_buffer (
    .clk_i,
    .rst_ni,
    .enable_i(datapath_enable && !resetting),  // or the device might never get idle
    .roce_i(roce_q),
    .s_axis_tvalid_i,
    .s_axis_tready_o(unused_rx_ready),
    .s_axis_tdata_i,
    .s_axis_tkeep_i,
    .s_axis_tlast_i,
    .s_axis_tuser_i,
    .rx_drop_o(rx_drop),
    .rx_verdict_valid_o(rx_verdict_valid),
    .rx_verdict_o(rx_verdict),
    .frame_valid_o(frame_valid),
    .frame_ready_i(frame_ready),
    .frame_o(frame),
    .oldest_valid_o(oldest_valid),
    .oldest_read_i(oldest_read),
    .oldest_beat_i(oldest_beat),
    .oldest_data_o(oldest_data),
    .oldest_free_i(oldest_free),
    .idle_o(other_idle[OtherRxBuffer])
  );

  vireo_recv_queue #(
    .Config(Config),
    .Ahead(Config.receives_ahead),
    .Requests(RecvQueueRequests),
    .Fetches(RecvQueueFetches)
  ) u_recv_queue (
    .clk_i,
    .rst_ni,
    .mq_i(mq_q),
    .ring_packed_i(ring_packed_q),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .queue_rung_valid_i(queue_rung_valid),
    .queue_rung_i(queue_rung),
    .receive_retry_valid_o(receive_retry_valid),
    .receive_retry_ready_i(receive_retry_ready),
    .receive_retry_o(receive_retry),
    .receive_request_valid_i(receive_request_valid),
    .receive_request_ready_o(receive_request_ready),
    .receive_request_i(receive_request),
    .receive_valid_o(receive_valid),
    .receive_ready_i(receive_ready),
    .receive_o(receive),
    .buffer_request_valid_o(buffer_request_valid[BufferClientReceive]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientReceive]),
    .buffer_request_o(buffer_request[BufferClientReceive]),
    .buffer_valid_i(buffer_valid[BufferClientReceive]),
    .buffer_ready_o(buffer_ready[BufferClientReceive]),
    .buffer_i(buffer[BufferClientReceive]),
    .fetch_request_valid_o(fetch_request_valid[FetchReceive]),
    .fetch_request_ready_i(fetch_request_ready[FetchReceive]),
    .fetch_request_o(fetch_request[FetchReceive]),
    .fetched_valid_i(fetched_valid[FetchReceive]),
    .fetched_ready_o(fetched_ready[FetchReceive]),
    .fetched_i(fetched[FetchReceive]),
    .queue_failure_valid_o(work_failures_valid[WorkFailureRecvQueue]),
    .queue_failure_ready_i(work_failures_ready[WorkFailureRecvQueue]),
    .queue_failure_o(work_failures[WorkFailureRecvQueue]),
    .batch_begins_o(batch_begins),
    .batch_ends_o(batch_ends),
    .idle_o(path_idle[PathRecvQueue])
  );

  vireo_responder #(
    .Config(Config)
  ) u_responder (
    .clk_i,
    .rst_ni,
    .mq_i(mq_q),
    .enable_i(datapath_enable),
    .hold_i(pause),
    .mac_i(mac),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerResponder]),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .load_valid_i(responder_load_valid),
    .load_ready_o(responder_load_ready),
    .load_i(responder_load),
    .frame_valid_i(frame_valid),
    .frame_ready_o(frame_ready),
    .frame_i(frame),
    .memory_check_valid_o(memory_check_valid[MemoryClientResponder]),
    .memory_check_ready_i(memory_check_ready[MemoryClientResponder]),
    .memory_check_o(memory_check[MemoryClientResponder]),
    .memory_place_valid_i(memory_place_valid[MemoryClientResponder]),
    .memory_place_ready_o(memory_place_ready[MemoryClientResponder]),
    .memory_place_i(memory_place[MemoryClientResponder]),
    .queue_rung_valid_o(queue_rung_valid),
    .queue_rung_o(queue_rung),
    .receive_retry_valid_i(receive_retry_valid),
    .receive_retry_ready_o(receive_retry_ready),
    .receive_retry_i(receive_retry),
    .receive_request_valid_o(receive_request_valid),
    .receive_request_ready_i(receive_request_ready),
    .receive_request_o(receive_request),
    .receive_valid_i(receive_valid),
    .receive_ready_o(receive_ready),
    .receive_i(receive),
    .doorbell_valid_i(receive_doorbell_valid),
    .doorbell_ready_o(receive_doorbell_ready),
    .doorbell_i(receive_doorbell),
    .place_valid_o(place_valid),
    .place_ready_i(place_ready),
    .place_o(place),
    .read_record_valid_i(read_record_valid),
    .read_record_ready_o(read_record_ready),
    .read_record_i(read_record),
    .qp_reads_valid_i(responder_reads_valid),
    .qp_reads_i(responder_reads),
    .failure_valid_o(request_failures_valid[RequestFailureResponder]),
    .failure_ready_i(request_failures_ready[RequestFailureResponder]),
    .failure_o(request_failures[RequestFailureResponder]),
    .expected_psn_valid_o(expected_psn_valid),
    .expected_psn_o(expected_psn),
    .grant_ended_o(grant_ended[GrantHolderResponder]),
    .settled_o(responder_settled),
    .idle_o(path_idle[PathResponder])
  );

  vireo_rx_scatter #(
    .Config(Config)
  ) u_rx_scatter (
    .clk_i,
    .rst_ni,
    .key_fence_i(key_fence),
    .fence_waits_o(scatter_fence_waits),
    .place_valid_i(place_valid),
    .place_ready_o(place_ready),
    .place_i(place),
    .oldest_valid_i(oldest_valid),
    .oldest_read_o(oldest_read),
    .oldest_beat_o(oldest_beat),
    .oldest_data_i(oldest_data),
    .oldest_free_o(oldest_free),
    .net_valid_o(net_beat_valid),
    .net_data_o(net_beat_data),
    .net_last_o(net_beat_last),
    .net_bytes_o(net_beat_bytes),
    .write_valid_o(write_valid[WriteScatter]),
    .write_ready_i(write_ready[WriteScatter]),
    .write_request_o(write_request[WriteScatter]),
    .write_data_o(write_data[WriteScatter]),
    .write_last_o(write_last[WriteScatter]),
    .write_done_i(write_done_valid[WriteScatter]),
    .write_refused_i(write_done[WriteScatter].resp != 2'(AxiRespOkay)),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .completion_valid_o(completions_valid[CompletionScatter]),
    .completion_ready_i(completions_ready[CompletionScatter]),
    .completion_o(completions[CompletionScatter]),
    .answer_valid_o(answer_valid),
    .answer_ready_i(answer_ready),
    .answer_o(answer),
    .ack_valid_o(acks_valid[AckWire]),
    .ack_ready_i(acks_ready[AckWire]),
    .ack_o(acks[AckWire]),
    .failure_valid_o(request_failures_valid[RequestFailureScatter]),
    .failure_ready_i(request_failures_ready[RequestFailureScatter]),
    .failure_o(request_failures[RequestFailureScatter]),
    .grant_ended_o(grant_ended[GrantHolderRxScatter]),
    .place_ended_o(place_ended),
    .idle_o(path_idle[PathRxScatter])
  );

  vireo_read_responder #(
    .Config(Config)
  ) u_read_responder (
    .clk_i,
    .rst_ni,
    .hold_i(pause),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerReadResponder]),
    .qp_state_write_valid_i(qp_state_write_valid),
    .qp_state_write_i(qp_state_write),
    .answer_valid_i(answer_valid),
    .answer_ready_o(answer_ready),
    .answer_i(answer),
    .memory_check_valid_o(memory_check_valid[MemoryClientReadResponder]),
    .memory_check_ready_i(memory_check_ready[MemoryClientReadResponder]),
    .memory_check_o(memory_check[MemoryClientReadResponder]),
    .memory_place_valid_i(memory_place_valid[MemoryClientReadResponder]),
    .memory_place_ready_o(memory_place_ready[MemoryClientReadResponder]),
    .memory_place_i(memory_place[MemoryClientReadResponder]),
    .room_i(room[1]),
    .room_used_o(room_used[1]),
    .response_taken_i(response_taken),
    .packet_valid_o(answer_packet_valid),
    .packet_ready_i(answer_packet_ready),
    .packet_o(answer_packet),
    .job_valid_o(response_valid),
    .job_ready_i(response_ready),
    .job_o(response),
    .atomic_valid_o(atomic_valid),
    .atomic_ready_i(atomic_ready),
    .atomic_o(atomic_request),
    .stopped_valid_i(stopped_valid && stopped_all),
    .stopped_qpn_i(stopped_qpn),
    .result_valid_i(atomic_result_valid),
    .result_ready_o(atomic_result_ready),
    .result_i(atomic_result),
    .failure_valid_o(request_failures_valid[RequestFailureReadResponder]),
    .failure_ready_i(request_failures_ready[RequestFailureReadResponder]),
    .failure_o(request_failures[RequestFailureReadResponder]),
    .qp_reads_valid_o(responder_reads_valid),
    .qp_reads_o(responder_reads),
    .settled_o(read_responder_settled),
    .idle_o(path_idle[PathReadResponder])
  );

  if (Config.atomics != 0) begin : gen_atomic
    vireo_atomic #(
      .Config(Config)
    ) u_atomic (
      .clk_i,
      .rst_ni,
      .qp_state_write_valid_i(qp_state_write_valid),
      .qp_state_write_i(qp_state_write),
      .request_valid_i(atomic_valid),
      .request_ready_o(atomic_ready),
      .request_i(atomic_request),
      .result_valid_o(atomic_result_valid),
      .result_ready_i(atomic_result_ready),
      .result_o(atomic_result),
      .fetch_request_valid_o(fetch_request_valid[FetchAtomic]),
      .fetch_request_ready_i(fetch_request_ready[FetchAtomic]),
      .fetch_request_o(fetch_request[FetchAtomic]),
      .fetched_valid_i(fetched_valid[FetchAtomic]),
      .fetched_ready_o(fetched_ready[FetchAtomic]),
      .fetched_i(fetched[FetchAtomic]),
      .store_valid_o(store_valid[StoreAtomic]),
      .store_ready_i(store_ready[StoreAtomic]),
      .store_o(store[StoreAtomic]),
      .done_valid_i(done_valid[StoreAtomic]),
      .done_i(done[StoreAtomic]),
      .grant_ended_o(grant_ended[GrantHolderAtomic]),
      .idle_o(path_idle[PathAtomic])
    );
  end else begin : gen_no_atomic
    logic unused_atomic;
    assign unused_atomic = ^{atomic_valid, atomic_request, atomic_result_ready, fetch_request_valid[FetchAtomic],
                             fetch_request_ready[FetchAtomic], fetch_request[FetchAtomic], fetched_valid[FetchAtomic],
                             fetched_ready[FetchAtomic], fetched[FetchAtomic], store_valid[StoreAtomic],
                             store_ready[StoreAtomic], store[StoreAtomic], done_valid[StoreAtomic], done[StoreAtomic]};
    assign fetch_request_ready[FetchAtomic] = 1'b0;
    assign fetched_valid[FetchAtomic] = 1'b0;
    assign fetched[FetchAtomic] = '0;
    assign store_ready[StoreAtomic] = 1'b0;
    assign done_valid[StoreAtomic] = 1'b0;
    assign done[StoreAtomic] = '0;
    assign atomic_ready = 1'b1;
    assign atomic_result_valid = 1'b0;
    assign atomic_result = '0;
    assign fetch_request_valid[FetchAtomic] = 1'b0;
    assign fetch_request[FetchAtomic] = '0;
    assign fetched_ready[FetchAtomic] = 1'b1;
    assign store_valid[StoreAtomic] = 1'b0;
    assign store[StoreAtomic] = '0;
    assign grant_ended[GrantHolderAtomic] = '0;
    assign path_idle[PathAtomic] = 1'b1;
  end

  // Acknowledges for the completer.
  vireo_arb_rr #(
    .Inputs(AckSources),
    .Width(RxAckBits), .HalfRate(HalfRate)
  ) u_ack_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(acks_valid),
    .s_ready_o(acks_ready),
    .s_data_i(acks),
    .s_last_i('1),
    .m_valid_o(ack_valid),
    .m_ready_i(ack_ready),
    .m_data_o(ack),
    .m_last_o(unused_ack_last),
    .m_index_o(ack_index),
    .idle_o(path_idle[PathAcks])
  );

  // --- Stops of QPs ------------------------------------------------------------------------------------------------

  vireo_qp_sweep #(
    .Packets(128),
    .Entries(128),
    .Fetches(Config.send_queue_fetches),
    .Batches(RecvQueueRequests + RecvQueueFetches),
    .Places(ScatterPlaces)
  ) u_qp_sweep (
    .clk_i,
    .rst_ni,
    .sweep_i(sweep),
    .qpn_i(qp_state_write.qpn),
    .clear_i(qp_state_write.clear),
    .send_queue_settled_i(send_queue_settled),
    .requester_settled_i(requester_settled),
    .responder_settled_i(responder_settled),
    .read_responder_settled_i(read_responder_settled),
    .completer_settled_i(completer_settled),
    .expected_psn_valid_i(expected_psn_valid),
    .expected_psn_i(expected_psn),
    .fetch_begins_i(fetch_request_valid[FetchWorkRequest] && fetch_request_ready[FetchWorkRequest]),
    .fetch_ends_i(fetched_valid[FetchWorkRequest] && fetched_ready[FetchWorkRequest]),
    .fetches_wait_i(fetches_wait),
    .entry_begins_i(entry_begins),
    .entry_ends_i(entry_ends),
    .batch_begins_i(batch_begins),
    .batch_ends_i(batch_ends),
    .packet_begins_i(work_issued),
    .packets_end_i(packets_read),
    .response_begins_i(response_valid && response_ready),
    .response_ends_i(response_ends),
    .response_waits_i(response_valid),
    .place_begins_i(place_valid && place_ready && place.net_bytes == '0),
    .place_ends_i(place_ended),
    .place_waits_i(place_valid && place.net_bytes == '0),
    .epoch_o(memory_epoch),
    .memory_fence_i(memory_fence),
    .ack_enters_i(acks_valid[AckWire] && acks_ready[AckWire]),
    .ack_leaves_i(ack_valid && ack_ready),
    .ack_own_i(32'(ack_index) == AckWire),
    .ack_waits_i(ack_waits),
    .completion_enters_i({completions_valid[CompletionScatter] && completions_ready[CompletionScatter],
                          completions_valid[CompletionCompleter] && completions_ready[CompletionCompleter]}),
    .completion_leaves_i(completion_valid && completion_ready),
    .completion_own_i({32'(completion_index) == CompletionScatter, 32'(completion_index) == CompletionCompleter}),
    .completion_pending_i({1'b0, completions_valid[CompletionCompleter]}),
    .completion_waits_i(completion_waits),
    .stopped_valid_o(stopped_valid),
    .stopped_all_o(stopped_all),
    .stopped_qpn_o(stopped_qpn),
    .swept_o(swept)
  );

  // --- Net queues --------------------------------------------------------------------------------------------------

  logic net_job_valid, net_job_ready;
  tx_job_t net_job;
  logic net_sent_valid, net_sent_ready, net_failed_valid, net_failed_ready;
  rx_ack_t net_sent;
  qp_failure_t net_failed;
  logic net_packet_valid, net_packet_ready;
  tx_packet_t net_packet;
  logic net_payload_valid, net_payload_ready;
  logic [DataBits-1:0] net_payload_data;
  logic unused_net_response_ready, unused_net_response_ends;
  logic net_frame_valid, net_frame_ready;
  net_frame_t net_frame;
  logic net_rung_valid;
  doorbell_t net_rung;
  localparam int unsigned NetPlaceBits = $clog2(Config.net_buffer_bytes / (DataBits / 8));
  logic net_oldest_valid, net_oldest_read, net_oldest_checked, net_oldest_checksum_valid, net_oldest_free;
  logic [NetPlaceBits-1:0] net_oldest_beat;
  logic [DataBits-1:0] net_oldest_data;

  vireo_net_tx #(
    .Config(Config)
  ) u_net_tx (
    .clk_i,
    .rst_ni,
    .hold_i(pause),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .doorbell_valid_i(net_doorbell_valid),
    .doorbell_ready_o(net_doorbell_ready),
    .doorbell_i(net_doorbell),
    .doorbell_valid_o(net_rung_valid),
    .doorbell_o(net_rung),
    .buffer_request_valid_o(buffer_request_valid[BufferClientNetTransmit]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientNetTransmit]),
    .buffer_request_o(buffer_request[BufferClientNetTransmit]),
    .buffer_valid_i(buffer_valid[BufferClientNetTransmit]),
    .buffer_ready_o(buffer_ready[BufferClientNetTransmit]),
    .buffer_i(buffer[BufferClientNetTransmit]),
    .job_valid_o(net_job_valid),
    .job_ready_i(net_job_ready),
    .job_o(net_job),
    .sent_valid_i(net_sent_valid),
    .sent_ready_o(net_sent_ready),
    .sent_i(net_sent),
    .failed_valid_i(net_failed_valid),
    .failed_ready_o(net_failed_ready),
    .failed_i(net_failed),
    .completion_valid_o(completions_valid[CompletionNetTx]),
    .completion_ready_i(completions_ready[CompletionNetTx]),
    .completion_o(completions[CompletionNetTx]),
    .queue_failure_valid_o(work_failures_valid[WorkFailureNetTx]),
    .queue_failure_ready_i(work_failures_ready[WorkFailureNetTx]),
    .queue_failure_o(work_failures[WorkFailureNetTx]),
    .drop_o(net_tx_drop[NetTxDropTx]),
    .idle_o(path_idle[PathNetTx])
  );

  vireo_tx_gather #(
    .Config(Config),
    .BufferBytes(Config.net_buffer_bytes),
    .Reserves(1'b0),
    .Net(1'b1)
  ) u_net_gather (
    .clk_i,
    .rst_ni,
    .job_valid_i(net_job_valid),
    .job_ready_o(net_job_ready),
    .job_i(net_job),
    .response_valid_i(1'b0),
    .response_ready_o(unused_net_response_ready),
    .response_i('0),
    .room_o(unused_net_room),
    .room_used_i('0),
    .room_unused_i(1'b0),
    .sent_valid_o(net_sent_valid),
    .sent_ready_i(net_sent_ready),
    .sent_o(net_sent),
    .read_request_valid_o(read_request_valid[ReadNetGather]),
    .read_request_ready_i(read_request_ready[ReadNetGather]),
    .read_request_o(read_request[ReadNetGather]),
    .train_valid_i(train_valid[ReadNetGather]),
    .train_data_i(train_data),
    .train_last_i(train_last),
    .train_tag_i(train_tag),
    .train_bytes_i(train_bytes),
    .train_resp_i(train_resp),
    .packet_valid_o(net_packet_valid),
    .packet_ready_i(net_packet_ready),
    .packet_o(net_packet),
    .payload_valid_o(net_payload_valid),
    .payload_ready_i(net_payload_ready),
    .payload_data_o(net_payload_data),
    .failed_valid_o(net_failed_valid),
    .failed_ready_i(net_failed_ready),
    .failed_o(net_failed),
    .stopped_valid_i(1'b0),
    .stopped_all_i(1'b0),
    .stopped_qpn_i('0),
    .response_ends_o(unused_net_response_ends),
    .grant_ended_o(unused_net_grant_ended),
    .packets_read_o(unused_net_packets_read),
    .idle_o(path_idle[PathNetGather])
  );

  vireo_net_checksum #(
    .Config(Config),
    .BufferBytes(Config.net_buffer_bytes)
  ) u_net_checksum (
    .clk_i,
    .rst_ni,
    .packet_valid_i(net_packet_valid),
    .packet_ready_o(net_packet_ready),
    .packet_i(net_packet),
    .payload_valid_i(net_payload_valid),
    .payload_ready_o(net_payload_ready),
    .payload_data_i(net_payload_data),
    .net_valid_o(net_valid),
    .net_ready_i(net_ready),
    .net_bytes_o(net_bytes),
    .net_data_o(net_data),
    .drop_o(net_tx_drop[NetTxDropChecksum]),
    .idle_o(path_idle[PathNetChecksum])
  );

  vireo_net_filter #(
    .Config(Config),
    .BufferBytes(Config.net_buffer_bytes),
    .BytesPerFrame(NetBytesPerFrame)
  ) u_net_filter (
    .clk_i,
    .rst_ni,
    .rx_mode_i(rx_mode),
    .mac_i(mac),
    .active_pairs_i(active_pairs),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .context_flip_valid_i(context_flip_valid),
    .context_flip_i(context_flip),
    .parity_error_o(parity_error[ContextOwnerNetFilter]),
    .net_valid_i(net_beat_valid),
    .net_data_i(net_beat_data),
    .net_last_i(net_beat_last),
    .net_bytes_i(net_beat_bytes),
    .drop_o(net_rx_drop[NetRxDropFilter]),
    .filtered_o(net_filtered),
    .frame_valid_o(net_frame_valid),
    .frame_ready_i(net_frame_ready),
    .frame_o(net_frame),
    .oldest_valid_o(net_oldest_valid),
    .oldest_read_i(net_oldest_read),
    .oldest_beat_i(net_oldest_beat),
    .oldest_data_o(net_oldest_data),
    .oldest_checked_o(net_oldest_checked),
    .oldest_checksum_valid_o(net_oldest_checksum_valid),
    .oldest_free_i(net_oldest_free),
    .idle_o(path_idle[PathNetFilter])
  );

  vireo_net_rx #(
    .Config(Config),
    .BufferBytes(Config.net_buffer_bytes)
  ) u_net_rx (
    .clk_i,
    .rst_ni,
    .mrg_rxbuf_i(mrg_rxbuf_q),
    .hold_i(pause),
    .doorbell_valid_i(net_rung_valid),
    .doorbell_i(net_rung),
    .table_write_valid_i(table_write_valid),
    .table_write_i(table_write),
    .queue_row_write_valid_i(queue_row_write_valid),
    .queue_row_write_i(queue_row_write),
    .frame_valid_i(net_frame_valid),
    .frame_ready_o(net_frame_ready),
    .frame_i(net_frame),
    .oldest_valid_i(net_oldest_valid),
    .oldest_read_o(net_oldest_read),
    .oldest_beat_o(net_oldest_beat),
    .oldest_data_i(net_oldest_data),
    .oldest_checked_i(net_oldest_checked),
    .oldest_checksum_valid_i(net_oldest_checksum_valid),
    .oldest_free_o(net_oldest_free),
    .buffer_request_valid_o(buffer_request_valid[BufferClientNetReceive]),
    .buffer_request_ready_i(buffer_request_ready[BufferClientNetReceive]),
    .buffer_request_o(buffer_request[BufferClientNetReceive]),
    .buffer_valid_i(buffer_valid[BufferClientNetReceive]),
    .buffer_ready_o(buffer_ready[BufferClientNetReceive]),
    .buffer_i(buffer[BufferClientNetReceive]),
    .write_valid_o(write_valid[WriteNetRx]),
    .write_ready_i(write_ready[WriteNetRx]),
    .write_request_o(write_request[WriteNetRx]),
    .write_data_o(write_data[WriteNetRx]),
    .write_last_o(write_last[WriteNetRx]),
    .write_done_valid_i(write_done_valid[WriteNetRx]),
    .write_done_i(write_done[WriteNetRx]),
    .completion_valid_o(completions_valid[CompletionNetRx]),
    .completion_ready_i(completions_ready[CompletionNetRx]),
    .completion_o(completions[CompletionNetRx]),
    .queue_failure_valid_o(work_failures_valid[WorkFailureNetRx]),
    .queue_failure_ready_i(work_failures_ready[WorkFailureNetRx]),
    .queue_failure_o(work_failures[WorkFailureNetRx]),
    .drop_o(net_rx_drop[NetRxDropRx]),
    .idle_o(path_idle[PathNetRx])
  );

  // --- Idle -------------------------------------------------------------------------------------------------------
  // Longer than any pipeline between an input and a block that counts what came as work.
  localparam int unsigned DrainCycles = 10;
  // Longer than any pipeline in which a block's last work leaves something behind: a credit on its way back, a slice.
  localparam int unsigned DrainWorkCycles = 5;
  logic [DrainCycles-1:0] recent_q;
  logic [DrainWorkCycles-1:0] recent_work_q;
  logic others_idle;  // all but the mailbox
  logic works, mac_link_q;

  always_comb begin
    quiet = &path_idle;
    others_idle = quiet && &other_idle;
    datapath_idle = others_idle && mailbox_idle;
    // A command that waits for firmware is work for status, but the clock need not run for it.
    works = !others_idle || !(mailbox_idle || (mailbox_request && !mailbox_busy)) || !csr_idle;
    idle_o = !works && recent_q == '0 && recent_work_q == '0;
    deadline_ns_o = retry_deadline_ns < moderation_deadline_ns ? retry_deadline_ns : moderation_deadline_ns;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mac_link_q <= 1'b0;
      recent_q <= '1;
      recent_work_q <= '1;
    end else begin
      mac_link_q <= mac_link_i;
      recent_q <= {recent_q[DrainCycles-2:0], bar_valid_i || s_axis_tvalid_i || m_axi_rvalid_i || m_axi_bvalid_i
                                               || mac_link_i != mac_link_q};
      recent_work_q <= {recent_work_q[DrainWorkCycles-2:0], works || csr_valid_i};
    end
  end

endmodule
