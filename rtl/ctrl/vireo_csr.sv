// SPDX-License-Identifier: Apache-2.0

// The management registers: the device's only interface to firmware. One access per cycle is always taken; reads
// are answered in order after 3 cycles, writes take effect before every later access is looked at. It keeps
// what firmware wrote to the tables, so that firmware can read it back, and broadcasts every write to all blocks; it
// interprets no field of the entries but those that it must complete.
module vireo_csr
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumCqs = Config.num_cqs,
  localparam int unsigned NumQps = Config.num_qps,
  localparam int unsigned NumMrs = Config.num_mrs,
  localparam int unsigned NumTranslations = Config.num_translations,
  localparam int unsigned NumAhs = Config.num_ahs,
  localparam int unsigned NumGids = Config.num_gids
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             csr_valid_i,
  input  logic             csr_write_i,
  input  logic [11:0]      csr_address_i,
  input  logic [31:0]      csr_data_i,
  output logic             csr_read_valid_o,
  output logic [31:0]      csr_read_data_o,
  output logic             firmware_interrupt_o,

  // State of the device. idle, quiet and dma_outstanding count in the cycle of the access that reads them.
  input  logic [63:0]      time_ns_i,
  input  logic             mac_link_i,
  input  logic             idle_i,
  input  logic             memory_fence_i,  // accesses granted before the last write of a region have not ended
  input  logic             queue_fence_i,   // accesses to queues from before the last write of an entry have not ended
  input  logic             quiet_i,
  input  logic [15:0]      dma_outstanding_i,

  // Common configuration. device_reset does not come again before reset_done.
  input  logic [7:0]       device_status_i,
  input  logic [127:0]     driver_features_i,
  input  logic             device_reset_i,
  input  logic             features_written_i,
  input  logic             driver_ok_i,
  input  logic             queue_reset_valid_i,
  output logic             queue_reset_ready_o,
  input  doorbell_t        queue_reset_i,
  output logic             queue_reset_done_valid_o,
  output logic [15:0]      queue_reset_done_o,
  output logic             reset_done_o,
  output logic             profile_o,
  output logic             link_up_o,
  output logic             announce_o,
  output logic [47:0]      mac_o,  // byte 0 in bits 7:0
  output logic [15:0]      mtu_o,
  output mgmt_rx_mode_t    rx_mode_o,
  output logic [15:0]      active_pairs_o,
  output logic             needs_reset_o,
  output logic             datapath_enable_o,
  output logic             pause_o,

  // Tables and QPs.
  input  logic             cq_context_ready_i,  // of the CQ writer: until the next table_write of a cq_context
  output logic             table_write_valid_o,
  output table_write_t     table_write_o,
  output logic             context_flip_valid_o,
  output context_flip_t    context_flip_o,
  input  logic [ContextOwners-1:0] parity_error_i,  // of the blocks that keep contexts
  output logic             requester_load_valid_o,
  input  logic             requester_load_ready_i,
  output qp_load_t         requester_load_o,
  output logic             responder_load_valid_o,
  input  logic             responder_load_ready_i,
  output qp_load_t         responder_load_o,
  output logic             qp_order_valid_o,
  input  logic             qp_order_ready_i,
  output qp_order_t        qp_order_o,
  input  logic             qp_done_valid_i,
  input  qp_done_t         qp_done_i,
  output logic             host_event_valid_o,
  input  logic             host_event_ready_i,
  output host_event_t      host_event_o,
  input  logic             queue_row_write_valid_i,
  input  queue_row_write_t queue_row_write_i,
  input  logic             qp_state_write_valid_i,
  input  qp_state_write_t  qp_state_write_i,
  input  logic             qp_sends_valid_i,
  input  qp_sends_t        qp_sends_i,
  input  logic             next_psn_valid_i,  // of the requester
  input  qp_psn_t          next_psn_i,
  input  logic             expected_psn_valid_i,  // of the responder
  input  qp_psn_t          expected_psn_i,

  // Mailbox.
  output logic             mailbox_fetch_valid_o,
  output logic [31:0]      mailbox_fetch_o,
  output logic             mailbox_complete_valid_o,
  output logic [31:0]      mailbox_complete_o,
  output logic             window_write_valid_o,
  output logic [6:0]       window_write_word_o,
  output logic [31:0]      window_write_data_o,
  output logic             window_read_valid_o,
  output logic [6:0]       window_read_word_o,
  input  logic [31:0]      window_read_data_i,  // one cycle later
  input  logic             mailbox_request_i,
  input  logic             mailbox_busy_i,
  input  logic             mailbox_dma_error_i,
  input  logic [31:0]      mailbox_request_bytes_i,
  input  logic [31:0]      mailbox_response_bytes_i,
  input  logic             mailbox_fatal_valid_i,

  // To be counted.
  input  logic             rx_verdict_valid_i,
  input  logic [3:0]       rx_verdict_i,
  input  logic             tx_frame_i,
  input  logic             rx_drop_i,
  input  logic             retransmission_i,
  input  logic [DmaDirections-1:0] dma_error_i,
  input  logic             window_violation_i,
  input  logic             net_rx_filtered_i,
  input  logic [NetRxDrops-1:0] net_rx_drop_i,
  input  logic [NetTxDrops-1:0] net_tx_drop_i,

  output logic             idle_o
);

  localparam int unsigned EventDepth = 16;  // events that wait for QP control

  localparam int unsigned NumQueues = queues_of(Config);
  localparam int unsigned Vlans = 4096;  // IEEE 802.1Q, 9.6: VID has 12 bits
  localparam int unsigned MacFilters = 32'(TableMacFilterEntries);
  localparam int unsigned VlanFilters = Vlans / 32'(TableVlanFilterBits);
  localparam int unsigned RssEntries = 1 + 32'(TableRssQueues) / TableRssBytes;

  // The first groups, which are firmware's.
  localparam int unsigned VirtqueueBytes = TableVirtqueueGuestOffloadsOffset + 8;
  localparam int unsigned QpContextBytes = TableQpContextEngineStateOffset;
  localparam int unsigned CqContextBytes = TableCqContextCqeOffset + 4;

  localparam int unsigned DataWords = 32;   // table_data
  localparam int unsigned EventWords = 4;   // event_data
  localparam int unsigned WindowWords = 128;  // mailbox_data
  localparam int unsigned Parameters = $bits(config_t) / 32;  // mgmt.parameter, in the order of config_t: first field highest
  localparam logic [Parameters-1:0][31:0] Parameter = Config;

  localparam int unsigned Verdicts = 16;
  localparam int unsigned Counters = Verdicts + 8;  // rx_verdict_count, then tx_frames to net_tx_drops
  localparam int unsigned CounterBits = $clog2(Counters);

  // Word `word` of a register array at `first`.
  function automatic logic is_in(input logic [11:0] address, input logic [11:0] first, input int unsigned words);
    return address >= first && 32'(address) < 32'(first) + 4 * words;
  endfunction

  // --- Accesses -----------------------------------------------------------------------------------------------------

  // 1: the access is there; a write happens, a read looks into the mailbox. 2: the answer is chosen. 3: it is there.
  logic write1_q, read1_q;  // aligned accesses
  logic read_valid1_q, read_valid2_q, read_valid3_q;
  logic [11:0] address1_q;
  logic [31:0] data1_q;
  logic idle1_q, idle2_q, quiet1_q, quiet2_q;
  logic [15:0] dma_outstanding1_q, dma_outstanding2_q;
  logic read2_q;
  logic [11:0] address2_q;
  logic [31:0] read_data_d, read_data3_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write1_q <= 1'b0;
      read1_q <= 1'b0;
      read2_q <= 1'b0;
      read_valid1_q <= 1'b0;
      read_valid2_q <= 1'b0;
      read_valid3_q <= 1'b0;
    end else begin
      write1_q <= csr_valid_i && csr_write_i && csr_address_i[1:0] == '0;
      read1_q <= csr_valid_i && !csr_write_i && csr_address_i[1:0] == '0;
      read2_q <= read1_q;
      read_valid1_q <= csr_valid_i && !csr_write_i;
      read_valid2_q <= read_valid1_q;
      read_valid3_q <= read_valid2_q;
    end
  end
  always_ff @(posedge clk_i) begin
    address1_q <= csr_address_i;
    data1_q <= csr_data_i;
    idle1_q <= idle_i;
    quiet1_q <= quiet_i;
    dma_outstanding1_q <= dma_outstanding_i;
    address2_q <= address1_q;
    idle2_q <= idle1_q;
    quiet2_q <= quiet1_q;
    dma_outstanding2_q <= dma_outstanding1_q;
    read_data3_q <= read_data_d;
  end
  assign csr_read_valid_o = read_valid3_q;
  assign csr_read_data_o = read_data3_q;

  // --- Mailbox -------------------------------------------------------------------------------------------------------

  logic in_window;
  assign in_window = is_in(address1_q, MgmtMailboxDataRegister, WindowWords);
  assign mailbox_fetch_valid_o = write1_q && address1_q == MgmtMailboxFetchRegister;
  assign mailbox_fetch_o = data1_q;
  assign mailbox_complete_valid_o = write1_q && address1_q == MgmtMailboxCompleteRegister;
  assign mailbox_complete_o = data1_q;
  assign window_write_valid_o = write1_q && in_window;
  assign window_write_word_o = address1_q[8:2];
  assign window_write_data_o = data1_q;
  assign window_read_valid_o = read1_q && in_window;
  assign window_read_word_o = address1_q[8:2];

  logic mailbox_request_q, mailbox_busy_q, mailbox_dma_error_q;
  logic [31:0] mailbox_request_bytes_q, mailbox_response_bytes_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mailbox_request_q <= 1'b0;
      mailbox_busy_q <= 1'b0;
      mailbox_dma_error_q <= 1'b0;
      mailbox_request_bytes_q <= '0;
      mailbox_response_bytes_q <= '0;
    end else begin
      mailbox_request_q <= mailbox_request_i;
      mailbox_busy_q <= mailbox_busy_i;
      mailbox_dma_error_q <= mailbox_dma_error_i;
      mailbox_request_bytes_q <= mailbox_request_bytes_i;
      mailbox_response_bytes_q <= mailbox_response_bytes_i;
    end
  end

  // --- Queue resets --------------------------------------------------------------------------------------------------

  logic reset_waits, reset_take;
  doorbell_t reset_head;
  vireo_slice #(.Width(DoorbellBits)) u_queue_reset (
    .clk_i, .rst_ni,
    .s_valid_i(queue_reset_valid_i), .s_ready_o(queue_reset_ready_o), .s_data_i(queue_reset_i),
    .m_valid_o(reset_waits), .m_ready_i(reset_take), .m_data_o(reset_head)
  );

  // --- Events --------------------------------------------------------------------------------------------------------

  logic event_push, event_room;
  host_event_t event_pushed;
  rdma_event_t event_words;
  logic [EventWords-1:0][31:0] event_data_d, event_data_q;
  logic unused_bits;
  assign event_words = unpack_rdma_event(event_data_q);
  assign event_push = write1_q && address1_q == MgmtEventPushRegister;
  assign event_pushed =
      '{event_type: event_words.event_type[15:0], element: event_words.element, code: event_words.code};
  // Without room the event is lost: firmware reads event_full first. `lost` is the writer's.
  assign unused_bits = ^event_words;
  vireo_fifo #(.Width(HostEventBits), .Depth(EventDepth)) u_event (
    .clk_i, .rst_ni,
    .s_valid_i(event_push), .s_ready_o(event_room), .s_data_i(event_pushed),
    .m_valid_o(host_event_valid_o), .m_ready_i(host_event_ready_i), .m_data_o(host_event_o)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,
    StCheck,  // does the entry exist; it is looked up; a write waits until it can be taken
    StRead,   // it goes to table_data
    StWrite,  // it is broadcast, and stored
    StFence,  // accesses that started with the old entry end
    StLoad    // a half of a QP is set up
  } state_e;
  state_e state_d, state_q;
  logic [7:0] table_id_d, table_id_q;
  logic [1:0] operation_d, operation_q;
  logic error_d, error_q;
  logic [31:0] index_d, index_q;              // of the operation
  logic [31:0] table_index_d, table_index_q;  // the register
  logic [DataWords-1:0][31:0] table_data_q;
  logic requester_load_d, requester_load_q, responder_load_d, responder_load_q;
  logic [23:0] next_psn_d, next_psn_q, expected_psn_d, expected_psn_q;
  logic reads_entry, stores;
  logic [31:0] entries;
  logic exists;
  logic [1023:0] data, stored;  // the entry: as broadcast, and without the bits that are only commands
  logic stored_parity;
  table_qp_context_t qp;

  assign reads_entry = state_q == StCheck;
  assign stores = state_q == StWrite;
  always_comb begin
    data = '0;
    if (stores) data = operation_q == MgmtTableOperationClear ? '0 : table_data_q;
  end
  assign qp = unpack_table_qp_context(data);
  assign table_write_valid_o = stores;
  assign table_write_o = '{table_id: table_id_q, index: index_q[23:0], data: data};

  always_comb begin
    entries = '0;
    if (reads_entry) unique case (table_id_q)
      MgmtTableVirtqueue: entries = NumQueues;
      MgmtTableWindow: entries = NumQueues;
      MgmtTableQpContext: entries = NumQps;
      MgmtTableCqContext: entries = NumCqs;
      MgmtTableMr: entries = NumMrs;
      MgmtTableTranslation: entries = NumTranslations;
      MgmtTableAh: entries = NumAhs;
      MgmtTableGid: entries = NumGids;
      MgmtTableMacFilter: entries = MacFilters;
      MgmtTableVlanFilter: entries = VlanFilters;
      MgmtTableRss: entries = RssEntries;
      default: entries = '0;
    endcase
    exists = index_q < entries && operation_q <= MgmtTableOperationClear;
  end

  always_comb begin
    table_virtqueue_t virtqueue;
    table_qp_context_t qp_context;
    table_cq_context_t cq_context;
    virtqueue = unpack_table_virtqueue(data[8*TableVirtqueueBytes-1:0]);
    virtqueue.reset_positions = 1'b0;
    qp_context = qp;
    qp_context.load_requester = 1'b0;
    qp_context.load_responder = 1'b0;
    cq_context = unpack_table_cq_context(data[8*TableCqContextBytes-1:0]);
    cq_context.set_solicited = 1'b0;
    cq_context.set_next_completion = 1'b0;
    cq_context.set_failed = 1'b0;
    stored = '0;
    // What is behind the table's entry is not stored, and does not count for its parity.
    if (stores) unique case (table_id_q)
      MgmtTableVirtqueue: begin
        stored[8*TableVirtqueueBytes-1:0] = pack_table_virtqueue(virtqueue);
        stored[1023:8*VirtqueueBytes] = '0;
      end
      MgmtTableWindow: stored = 1024'(data[8*TableWindowBytes-1:0]);
      MgmtTableQpContext: begin
        stored = pack_table_qp_context(qp_context);
        stored[1023:8*QpContextBytes] = '0;
      end
      MgmtTableCqContext: begin
        stored[8*TableCqContextBytes-1:0] = pack_table_cq_context(cq_context);
        stored[1023:8*CqContextBytes] = '0;
      end
      MgmtTableMr: stored = 1024'(data[8*TableMrBytes-1:0]);
      MgmtTableTranslation: stored = 1024'(data[8*TableTranslationBytes-1:0]);
      MgmtTableAh: stored = 1024'(data[8*TableAhBytes-1:0]);
      MgmtTableGid: stored = 1024'(data[8*TableGidBytes-1:0]);
      MgmtTableMacFilter: stored = 1024'(data[8*TableMacFilterBytes-1:0]);
      MgmtTableVlanFilter: stored = 1024'(data[8*TableVlanFilterBytes-1:0]);
      MgmtTableRss: stored = 1024'(data[8*TableRssConfigBytes-1:0]);
      default: ;
    endcase
    stored_parity = stores && ^stored;
  end

  // What flip_bit flips.
  mgmt_flip_entry_t flip_entry_d, flip_entry_q;
  assign context_flip_valid_o = write1_q && address1_q == MgmtFlipBitRegister;
  assign context_flip_o = '{ram: flip_entry_q.ram, index: flip_entry_q.index, bit_index: data1_q[9:0]};

  // Entries with their parity as highest bit. It is made of what is written, and checked of the entry that was chosen:
  // one tree each for all tables.
  logic virtqueue_flipped, window_flipped, qp_context_flipped, cq_context_flipped, mr_flipped, translation_flipped;
  logic ah_flipped, gid_flipped, mac_filter_flipped, vlan_filter_flipped, rss_flipped;
  logic [8 * VirtqueueBytes:0] virtqueue_entry;
  logic [8 * TableWindowBytes:0] window_entry;
  logic [8 * QpContextBytes:0] qp_context_entry;
  logic [8 * CqContextBytes:0] cq_context_entry;
  logic [8 * TableMrBytes:0] mr_entry;
  logic [8 * TableTranslationBytes:0] translation_entry;
  logic [8 * TableAhBytes:0] ah_entry;
  logic [8 * TableGidBytes:0] gid_entry;
  logic [8 * TableMacFilterBytes:0] mac_filter_entry;
  logic [8 * TableVlanFilterBytes:0] vlan_filter_entry;
  logic [8 * TableRssConfigBytes:0] rss_entry;
  vireo_context_table #(
    .Width(8 * VirtqueueBytes + 1), .Depth(NumQueues), .Ram(ContextRamManagementVirtqueue), .Checks(1'b0)
  ) u_virtqueue (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableVirtqueue), .write_address_i(index_q[$clog2(NumQueues)-1:0]),
    .write_data_i({stored_parity, stored[8 * VirtqueueBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQueues)-1:0]), .read_data_o(virtqueue_entry),
    .corrupt_o(virtqueue_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableWindowBytes + 1), .Depth(NumQueues), .Ram(ContextRamManagementWindow), .Checks(1'b0)
  ) u_window (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableWindow), .write_address_i(index_q[$clog2(NumQueues)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableWindowBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQueues)-1:0]), .read_data_o(window_entry),
    .corrupt_o(window_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * QpContextBytes + 1), .Depth(NumQps), .Ram(ContextRamManagementQpContext), .Checks(1'b0)
  ) u_qp_context (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableQpContext), .write_address_i(index_q[$clog2(NumQps)-1:0]),
    .write_data_i({stored_parity, stored[8 * QpContextBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(qp_context_entry),
    .corrupt_o(qp_context_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * CqContextBytes + 1), .Depth(NumCqs), .Ram(ContextRamManagementCqContext), .Checks(1'b0)
  ) u_cq_context (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableCqContext), .write_address_i(index_q[$clog2(NumCqs)-1:0]),
    .write_data_i({stored_parity, stored[8 * CqContextBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumCqs)-1:0]), .read_data_o(cq_context_entry),
    .corrupt_o(cq_context_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableMrBytes + 1), .Depth(NumMrs), .Ram(ContextRamManagementMr), .Checks(1'b0)
  ) u_mr (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableMr), .write_address_i(index_q[$clog2(NumMrs)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableMrBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumMrs)-1:0]), .read_data_o(mr_entry),
    .corrupt_o(mr_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableTranslationBytes + 1), .Depth(NumTranslations), .Ram(ContextRamManagementTranslation), .Checks(1'b0)
  ) u_translation (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableTranslation), .write_address_i(index_q[$clog2(NumTranslations)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableTranslationBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumTranslations)-1:0]), .read_data_o(translation_entry),
    .corrupt_o(translation_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableAhBytes + 1), .Depth(NumAhs), .Ram(ContextRamManagementAh), .Checks(1'b0)
  ) u_ah (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableAh), .write_address_i(index_q[$clog2(NumAhs)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableAhBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumAhs)-1:0]), .read_data_o(ah_entry),
    .corrupt_o(ah_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableGidBytes + 1), .Depth(NumGids), .Ram(ContextRamManagementGid), .Checks(1'b0)
  ) u_gid (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableGid), .write_address_i(index_q[$clog2(NumGids)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableGidBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumGids)-1:0]), .read_data_o(gid_entry),
    .corrupt_o(gid_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableMacFilterBytes + 1), .Depth(MacFilters), .Ram(ContextRamManagementMacFilter), .Checks(1'b0)
  ) u_mac_filter (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableMacFilter), .write_address_i(index_q[$clog2(MacFilters)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableMacFilterBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(MacFilters)-1:0]), .read_data_o(mac_filter_entry),
    .corrupt_o(mac_filter_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableVlanFilterBytes + 1), .Depth(VlanFilters), .Ram(ContextRamManagementVlanFilter), .Checks(1'b0)
  ) u_vlan_filter (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableVlanFilter), .write_address_i(index_q[$clog2(VlanFilters)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableVlanFilterBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(VlanFilters)-1:0]), .read_data_o(vlan_filter_entry),
    .corrupt_o(vlan_filter_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(8 * TableRssConfigBytes + 1), .Depth(RssEntries), .Ram(ContextRamManagementRss), .Checks(1'b0)
  ) u_rss (
    .clk_i, .rst_ni,
    .write_i(stores && table_id_q == MgmtTableRss), .write_address_i(index_q[$clog2(RssEntries)-1:0]),
    .write_data_i({stored_parity, stored[8 * TableRssConfigBytes-1:0]}),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(RssEntries)-1:0]), .read_data_o(rss_entry),
    .corrupt_o(rss_flipped), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );

  // Copies of what belongs to the host and to QP control.
  logic [QueueRowWriteBits-16-1:0] row_bits;
  queue_row_write_t row;
  logic [2:0] engine_state;
  logic queue_row_corrupt, engine_state_corrupt;
  logic [15:0] send_outstanding;
  logic [23:0] next_psn, expected_psn;
  assign row = {16'b0, row_bits};
  vireo_context_table #(
    .Width(QueueRowWriteBits - 16), .Depth(NumQueues), .Ram(ContextRamManagementQueueRow)
  ) u_row (
    .clk_i, .rst_ni,
    .write_i(queue_row_write_valid_i && 32'(queue_row_write_i.vq_index) < NumQueues),
    .write_address_i(queue_row_write_i.vq_index[$clog2(NumQueues)-1:0]),
    .write_data_i(queue_row_write_i[QueueRowWriteBits-16-1:0]),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQueues)-1:0]), .read_data_o(row_bits),
    .corrupt_o(queue_row_corrupt), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );
  vireo_context_table #(
    .Width(3), .Depth(NumQps), .Ram(ContextRamManagementEngineState)
  ) u_engine_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(engine_state),
    .corrupt_o(engine_state_corrupt), .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );

  vireo_table #(.Width(16), .Depth(NumQps)) u_send_outstanding (
    .clk_i, .rst_ni,
    .write_i(qp_sends_valid_i), .write_address_i(qp_sends_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(qp_sends_i.outstanding),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(send_outstanding)
  );
  vireo_table #(.Width(24), .Depth(NumQps)) u_next_psn (
    .clk_i, .rst_ni,
    .write_i(next_psn_valid_i), .write_address_i(next_psn_i.qpn[$clog2(NumQps)-1:0]), .write_data_i(next_psn_i.psn),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(next_psn)
  );
  vireo_table #(.Width(24), .Depth(NumQps)) u_expected_psn (
    .clk_i, .rst_ni,
    .write_i(expected_psn_valid_i), .write_address_i(expected_psn_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(expected_psn_i.psn),
    .read_i(reads_entry), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(expected_psn)
  );

  logic [1023:0] read_entry;
  logic read_parity;
  logic corrupt_entry;  // nothing of it counts
  always_comb begin
    table_virtqueue_t virtqueue;
    table_qp_context_t qp_context;
    virtqueue = '0;
    qp_context = '0;
    read_entry = '0;
    read_parity = 1'b0;
    corrupt_entry = 1'b0;
    if (state_q == StRead) begin
      unique case (table_id_q)
        MgmtTableVirtqueue: begin
          read_entry = 1024'(virtqueue_entry[8*VirtqueueBytes-1:0]);
          read_parity = virtqueue_entry[8*VirtqueueBytes] ^ virtqueue_flipped;
        end
        MgmtTableWindow: begin
          read_entry = 1024'(window_entry[8*TableWindowBytes-1:0]);
          read_parity = window_entry[8*TableWindowBytes] ^ window_flipped;
        end
        MgmtTableQpContext: begin
          read_entry = 1024'(qp_context_entry[8*QpContextBytes-1:0]);
          read_parity = qp_context_entry[8*QpContextBytes] ^ qp_context_flipped;
        end
        MgmtTableCqContext: begin
          read_entry = 1024'(cq_context_entry[8*CqContextBytes-1:0]);
          read_parity = cq_context_entry[8*CqContextBytes] ^ cq_context_flipped;
        end
        MgmtTableMr: begin
          read_entry = 1024'(mr_entry[8*TableMrBytes-1:0]);
          read_parity = mr_entry[8*TableMrBytes] ^ mr_flipped;
        end
        MgmtTableTranslation: begin
          read_entry = 1024'(translation_entry[8*TableTranslationBytes-1:0]);
          read_parity = translation_entry[8*TableTranslationBytes] ^ translation_flipped;
        end
        MgmtTableAh: begin
          read_entry = 1024'(ah_entry[8*TableAhBytes-1:0]);
          read_parity = ah_entry[8*TableAhBytes] ^ ah_flipped;
        end
        MgmtTableGid: begin
          read_entry = 1024'(gid_entry[8*TableGidBytes-1:0]);
          read_parity = gid_entry[8*TableGidBytes] ^ gid_flipped;
        end
        MgmtTableMacFilter: begin
          read_entry = 1024'(mac_filter_entry[8*TableMacFilterBytes-1:0]);
          read_parity = mac_filter_entry[8*TableMacFilterBytes] ^ mac_filter_flipped;
        end
        MgmtTableVlanFilter: begin
          read_entry = 1024'(vlan_filter_entry[8*TableVlanFilterBytes-1:0]);
          read_parity = vlan_filter_entry[8*TableVlanFilterBytes] ^ vlan_filter_flipped;
        end
        MgmtTableRss: begin
          read_entry = 1024'(rss_entry[8*TableRssConfigBytes-1:0]);
          read_parity = rss_entry[8*TableRssConfigBytes] ^ rss_flipped;
        end
        default: ;
      endcase
      corrupt_entry = ^read_entry ^ read_parity;

      // What is not firmware's comes from elsewhere.
      virtqueue = unpack_table_virtqueue(read_entry[8*TableVirtqueueBytes-1:0]);
      virtqueue.enabled = row.enabled;
      virtqueue.queue_size = row.queue_size;
      virtqueue.msix_vector = row.msix_vector;
      virtqueue.queue_desc = row.queue_desc;
      virtqueue.queue_driver = row.queue_driver;
      virtqueue.queue_device = row.queue_device;
      qp_context = unpack_table_qp_context(read_entry);
      qp_context.engine_state = 8'(engine_state);
      qp_context.send_outstanding = send_outstanding;
      qp_context.next_psn = next_psn;
      qp_context.expected_psn = expected_psn;
      unique case (table_id_q)
        MgmtTableVirtqueue: begin
          read_entry[8*TableVirtqueueBytes-1:0] = pack_table_virtqueue(virtqueue);
          corrupt_entry |= queue_row_corrupt;
        end
        MgmtTableQpContext: begin
          read_entry = pack_table_qp_context(qp_context);
          corrupt_entry |= engine_state_corrupt;
        end
        MgmtTableRss: if (index_q != '0) read_entry[1023:8*TableRssBytes] = '0;
        default: ;
      endcase
      if (corrupt_entry) read_entry = '0;
    end
  end
  logic unused_copies;
  assign unused_copies = ^{row.vq_index, qp_state_write_i, qp_sends_i, next_psn_i, expected_psn_i, qp, stored};

  // --- Registers -----------------------------------------------------------------------------------------------------

  logic profile_d, profile_q;
  logic [31:0] scratch_d, scratch_q;
  mgmt_control_t control_d, control_q;
  mgmt_interrupt_cause_t cause_d, cause_q, enable_d, enable_q;
  logic interrupt_q;
  logic [3:0] fatal_d, fatal_q;
  logic needs_reset_q;
  logic halts_q;         // no work is started: its context may be lost
  logic parity_error_q;  // of an entry that firmware read
  logic [31:0] mac_low_d, mac_low_q;
  logic [15:0] mac_high_d, mac_high_q, mtu_d, mtu_q, active_pairs_d, active_pairs_q;
  mgmt_rx_mode_t rx_mode_d, rx_mode_q;
  logic [31:0] time_high_d, time_high_q;
  logic announced_d, announced_q;  // of the queue reset that waits
  logic reset_done_d, reset_done_q;
  logic queue_reset_done_d, queue_reset_done_q;
  logic [15:0] queue_reset_index_q;
  logic mac_link_q;
  logic qp_busy_d, qp_busy_q, order_d, order_q;
  qp_order_t command_d, command_q;  // the last qp_command
  logic [Counters-1:0][31:0] counter_d, counter_q;
  logic [Counters-1:0][1:0] counts;
  logic [CounterBits-1:0] counter2;
  logic is_counter2;
  logic counter_changes;  // any of them
  logic [32:0] count;

  mgmt_control_t written_control;
  mgmt_interrupt_cause_t written_cause;
  mgmt_rx_mode_t written_rx_mode;
  mgmt_table_command_t written_table;
  mgmt_qp_command_t written_qp;
  logic unused_written;
  assign written_control = unpack_mgmt_control(data1_q);
  assign written_cause = unpack_mgmt_interrupt_cause(data1_q);
  assign written_rx_mode = unpack_mgmt_rx_mode(data1_q);
  assign written_table = unpack_mgmt_table_command(data1_q);
  assign written_qp = unpack_mgmt_qp_command(data1_q);
  assign unused_written = ^{written_table, written_qp};

  always_comb begin
    counts = '0;
    if (rx_verdict_valid_i) counts[CounterBits'(rx_verdict_i)] = 2'd1;
    counts[Verdicts] = 2'(tx_frame_i);
    counts[Verdicts+1] = 2'(rx_drop_i);
    counts[Verdicts+2] = 2'(retransmission_i);
    counts[Verdicts+3] = 2'(dma_error_i[DmaDirectionRead]) + 2'(dma_error_i[DmaDirectionWrite]);
    counts[Verdicts+4] = 2'(window_violation_i);
    counts[Verdicts+5] = 2'(net_rx_filtered_i);
    counts[Verdicts+6] = 2'(net_rx_drop_i[NetRxDropFilter]) + 2'(net_rx_drop_i[NetRxDropRx]);
    counts[Verdicts+7] = 2'(net_tx_drop_i[NetTxDropChecksum]) + 2'(net_tx_drop_i[NetTxDropTx]);

    is_counter2 = 1'b0;
    counter2 = '0;
    if (!read2_q) begin
      is_counter2 = 1'b0;
    end else if (is_in(address2_q, MgmtRxVerdictCountRegister, Verdicts)) begin
      is_counter2 = 1'b1;
      counter2 = CounterBits'(address2_q[5:2]);
    end else if (is_in(address2_q, MgmtTxFramesRegister, Counters - Verdicts)) begin
      is_counter2 = 1'b1;
      counter2 = CounterBits'(Verdicts) + CounterBits'(address2_q[5:2]);
    end

    counter_changes = counts != '0 || is_counter2;
    counter_d = '0;
    count = '0;
    if (counter_changes) for (int unsigned i = 0; i < Counters; i++) begin
      count = 33'(counts[i]);
      if (!(is_counter2 && counter2 == CounterBits'(i))) count = count + {1'b0, counter_q[i]};
      counter_d[i] = count[32] ? '1 : count[31:0];
    end
  end

  always_comb begin
    profile_d = profile_q;
    scratch_d = scratch_q;
    control_d = control_q;
    cause_d = cause_q;
    enable_d = enable_q;
    fatal_d = fatal_q;
    mac_low_d = mac_low_q;
    mac_high_d = mac_high_q;
    mtu_d = mtu_q;
    active_pairs_d = active_pairs_q;
    rx_mode_d = rx_mode_q;
    announced_d = announced_q;
    reset_done_d = 1'b0;
    reset_take = 1'b0;
    queue_reset_done_d = 1'b0;
    qp_busy_d = qp_busy_q;
    order_d = order_q && !qp_order_ready_i;
    command_d = command_q;
    state_d = state_q;
    table_id_d = table_id_q;
    operation_d = operation_q;
    error_d = error_q;
    index_d = index_q;
    table_index_d = table_index_q;
    flip_entry_d = flip_entry_q;
    event_data_d = event_data_q;
    requester_load_d = requester_load_q && !requester_load_ready_i;
    responder_load_d = responder_load_q && !responder_load_ready_i;
    next_psn_d = next_psn_q;
    expected_psn_d = expected_psn_q;

    // Queue resets of a driver that has reset the device have no effect any more.
    if (reset_waits && cause_q.device_reset) reset_take = 1'b1;

    if (write1_q) begin
      unique case (address1_q)
        MgmtAbiProfileRegister: if (device_status_i == '0) profile_d = data1_q[0];
        MgmtScratchRegister: scratch_d = data1_q;
        MgmtControlRegister: begin
          control_d = written_control;
          control_d.reserved = '0;
          if (control_q.firmware_ready && !control_d.firmware_ready && fatal_q == FatalCauseNone) begin
            fatal_d = FatalCauseFirmware;
            cause_d.fatal = 1'b1;
          end
        end
        MgmtInterruptCauseRegister: begin
          cause_d = cause_q & ~written_cause;
          if (cause_q.device_reset && written_cause.device_reset) begin
            reset_done_d = 1'b1;
            fatal_d = FatalCauseNone;
          end
        end
        MgmtInterruptEnableRegister: begin
          enable_d = written_cause;
          enable_d.reserved = '0;
        end
        MgmtQueueResetDoneRegister: begin
          if (reset_waits && announced_q && !cause_q.device_reset && data1_q == 32'(reset_head.vq_index)) begin
            reset_take = 1'b1;
            queue_reset_done_d = 1'b1;
          end
        end
        MgmtTableCommandRegister: if (state_q == StIdle) begin
          table_id_d = written_table.table_id;
          operation_d = written_table.operation;
          error_d = 1'b0;
          index_d = table_index_q;
          state_d = StCheck;
        end
        MgmtTableIndexRegister: table_index_d = data1_q;
        MgmtFlipEntryRegister: flip_entry_d = unpack_mgmt_flip_entry(data1_q);
        // A drain may take for ever. [tables.toml, table_qp_context]
        MgmtQpCommandRegister: if (!qp_busy_q || command_q.operation == 3'(QpOperationDrain)) begin
          command_d = '{qpn: written_qp.qpn, operation: written_qp.operation};
          qp_busy_d = 1'b1;
          order_d = 1'b1;
        end
        MgmtMacLowRegister: mac_low_d = data1_q;
        MgmtMacHighRegister: mac_high_d = data1_q[15:0];
        MgmtRxModeRegister: begin
          rx_mode_d = written_rx_mode;
          rx_mode_d.reserved = '0;
        end
        MgmtActiveQueuePairsRegister: active_pairs_d = data1_q[15:0];
        MgmtMtuRegister: mtu_d = data1_q[15:0];
        default: begin
          if (is_in(address1_q, MgmtEventDataRegister, EventWords)) event_data_d[address1_q[3:2]] = data1_q;
        end
      endcase
    end

    unique case (state_q)
      StIdle: ;
      StCheck: begin
        state_d = operation_q == MgmtTableOperationRead ? StRead : StWrite;
        if (!exists) begin
          error_d = 1'b1;
          state_d = StIdle;
        end else if (state_d == StWrite && table_id_q == MgmtTableCqContext && !cq_context_ready_i) begin
          state_d = StCheck;
        end
      end
      StRead: begin
        error_d = corrupt_entry;
        state_d = StIdle;
      end
      StWrite: begin
        state_d = table_id_q == MgmtTableMr || table_id_q == MgmtTableVirtqueue ? StFence : StIdle;
        next_psn_d = qp.next_psn;
        expected_psn_d = qp.expected_psn;
        if (table_id_q == MgmtTableQpContext && (qp.load_requester || qp.load_responder)) begin
          requester_load_d = qp.load_requester;
          responder_load_d = qp.load_responder;
          state_d = StLoad;
        end
      end
      StFence: if (!(table_id_q == MgmtTableMr ? memory_fence_i : queue_fence_i)) state_d = StIdle;
      StLoad: if (!requester_load_d && !responder_load_d) state_d = StIdle;
      default: state_d = StIdle;
    endcase

    // What happens in the device comes after what firmware clears in the same cycle.
    // The end of an abandoned drain has no effect on another order.
    if (qp_done_valid_i && (!qp_done_i.is_drain || command_d.operation == 3'(QpOperationDrain))) begin
      qp_busy_d = 1'b0;
      cause_d.qp_done = 1'b1;
    end
    if (reset_waits && !announced_q && !cause_q.device_reset) begin
      announced_d = 1'b1;
      cause_d.queue_reset = 1'b1;
    end
    if (reset_take) announced_d = 1'b0;
    if (device_reset_i) cause_d.device_reset = 1'b1;
    if (features_written_i) cause_d.features_written = 1'b1;
    if (driver_ok_i) cause_d.driver_ok = 1'b1;
    if (mac_link_i != mac_link_q) cause_d.link_change = 1'b1;
    if (mailbox_request_i && !mailbox_request_q) cause_d.mailbox_request = 1'b1;
    if (mailbox_fatal_valid_i && fatal_d == FatalCauseNone) begin
      fatal_d = FatalCauseControlQueue;
      cause_d.fatal = 1'b1;
    end
    if ((parity_error_i != '0 || parity_error_q) && fatal_d == FatalCauseNone) begin
      fatal_d = FatalCauseMemory;
      cause_d.fatal = 1'b1;
    end
    cause_d.reserved = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      profile_q <= MgmtAbiProfileReset[0];
      scratch_q <= MgmtScratchReset;
      control_q <= MgmtControlReset;
      cause_q <= MgmtInterruptCauseReset;
      enable_q <= MgmtInterruptEnableReset;
      interrupt_q <= 1'b0;
      fatal_q <= MgmtFatalCauseReset[3:0];
      needs_reset_q <= 1'b0;
      halts_q <= 1'b0;
      parity_error_q <= 1'b0;
      mac_low_q <= '0;
      mac_high_q <= '0;
      mtu_q <= MgmtMtuReset[15:0];
      active_pairs_q <= MgmtActiveQueuePairsReset[15:0];
      rx_mode_q <= MgmtRxModeReset;
      time_high_q <= '0;
      announced_q <= 1'b0;
      reset_done_q <= 1'b0;
      queue_reset_done_q <= 1'b0;
      mac_link_q <= 1'b0;
      qp_busy_q <= 1'b0;
      order_q <= 1'b0;
      command_q <= '0;
      counter_q <= '0;
      state_q <= StIdle;
      table_id_q <= '0;
      operation_q <= '0;
      error_q <= 1'b0;
      table_index_q <= MgmtTableIndexReset;
      flip_entry_q <= '0;
      table_data_q <= '0;
      event_data_q <= '0;
      requester_load_q <= 1'b0;
      responder_load_q <= 1'b0;
    end else begin
      profile_q <= profile_d;
      scratch_q <= scratch_d;
      control_q <= control_d;
      cause_q <= cause_d;
      enable_q <= enable_d;
      interrupt_q <= (cause_q & enable_q) != '0;
      fatal_q <= fatal_d;
      needs_reset_q <= fatal_q != FatalCauseNone;
      // A reset of the device needs what waits for its turn to end.
      halts_q <= fatal_q == FatalCauseMemory && !cause_q.device_reset;
      parity_error_q <= corrupt_entry;
      mac_low_q <= mac_low_d;
      mac_high_q <= mac_high_d;
      mtu_q <= mtu_d;
      active_pairs_q <= active_pairs_d;
      rx_mode_q <= rx_mode_d;
      time_high_q <= time_high_d;
      announced_q <= announced_d;
      reset_done_q <= reset_done_d;
      queue_reset_done_q <= queue_reset_done_d;
      mac_link_q <= mac_link_i;
      qp_busy_q <= qp_busy_d;
      order_q <= order_d;
      command_q <= command_d;
      if (counter_changes) counter_q <= counter_d;
      state_q <= state_d;
      table_id_q <= table_id_d;
      operation_q <= operation_d;
      error_q <= error_d;
      table_index_q <= table_index_d;
      flip_entry_q <= flip_entry_d;
      if (state_q == StRead) begin
        table_data_q <= read_entry;
      end else if (write1_q && is_in(address1_q, MgmtTableDataRegister, DataWords)) begin
        table_data_q[address1_q[6:2]] <= data1_q;
      end
      event_data_q <= event_data_d;
      requester_load_q <= requester_load_d;
      responder_load_q <= responder_load_d;
    end
  end
  always_ff @(posedge clk_i) begin
    index_q <= index_d;
    next_psn_q <= next_psn_d;
    expected_psn_q <= expected_psn_d;
    queue_reset_index_q <= reset_head.vq_index;
  end

  // --- Reads ---------------------------------------------------------------------------------------------------------

  mgmt_status_t status;
  mgmt_mailbox_status_t mailbox_status;
  mgmt_table_command_t table_command;
  mgmt_qp_command_t qp_command;
  always_comb begin
    status = '0;
    status.idle = idle2_q;
    status.quiet = quiet2_q;
    status.mac_link = mac_link_i;
    status.event_full = !event_room;
    status.device_status = device_status_i;
    status.dma_outstanding = dma_outstanding2_q;
    mailbox_status = '0;
    mailbox_status.request = mailbox_request_q;
    mailbox_status.busy = mailbox_busy_q;
    mailbox_status.dma_error = mailbox_dma_error_q;
    table_command = '0;
    table_command.table_id = table_id_q;
    table_command.operation = operation_q;
    table_command.error = error_q;
    table_command.busy = state_q != StIdle;
    qp_command = '0;
    qp_command.qpn = command_q.qpn;
    qp_command.operation = command_q.operation;
    qp_command.busy = qp_busy_q;

    time_high_d = time_high_q;
    if (read2_q && address2_q == MgmtTimeLowRegister) time_high_d = time_ns_i[63:32];

    read_data_d = '0;
    if (read2_q) unique case (address2_q)
      MgmtIdRegister: read_data_d = MgmtIdReset;
      MgmtVersionRegister: read_data_d = MgmtVersionReset;
      MgmtAbiProfileRegister: read_data_d = 32'(profile_q);
      MgmtScratchRegister: read_data_d = scratch_q;
      MgmtTimeLowRegister: read_data_d = time_ns_i[31:0];
      MgmtTimeHighRegister: read_data_d = time_high_q;
      MgmtControlRegister: read_data_d = pack_mgmt_control(control_q);
      MgmtStatusRegister: read_data_d = pack_mgmt_status(status);
      MgmtInterruptCauseRegister: read_data_d = pack_mgmt_interrupt_cause(cause_q);
      MgmtInterruptEnableRegister: read_data_d = pack_mgmt_interrupt_cause(enable_q);
      MgmtQueueResetIndexRegister: read_data_d = reset_waits ? 32'(reset_head.vq_index) : '0;
      MgmtFatalCauseRegister: read_data_d = 32'(fatal_q);
      MgmtMailboxStatusRegister: read_data_d = pack_mgmt_mailbox_status(mailbox_status);
      MgmtMailboxRequestBytesRegister: read_data_d = mailbox_request_bytes_q;
      MgmtMailboxResponseBytesRegister: read_data_d = mailbox_response_bytes_q;
      MgmtTableCommandRegister: read_data_d = pack_mgmt_table_command(table_command);
      MgmtTableIndexRegister: read_data_d = table_index_q;
      MgmtFlipEntryRegister: read_data_d = pack_mgmt_flip_entry(flip_entry_q);
      MgmtQpCommandRegister: read_data_d = pack_mgmt_qp_command(qp_command);
      MgmtMacLowRegister: read_data_d = mac_low_q;
      MgmtMacHighRegister: read_data_d = 32'(mac_high_q);
      MgmtRxModeRegister: read_data_d = pack_mgmt_rx_mode(rx_mode_q);
      MgmtActiveQueuePairsRegister: read_data_d = 32'(active_pairs_q);
      MgmtMtuRegister: read_data_d = 32'(mtu_q);
      default: begin
        if (is_in(address2_q, MgmtParameterRegister, Parameters)) begin
          read_data_d = Parameter[5'(Parameters - 1) - 5'((address2_q - MgmtParameterRegister) >> 2)];
        end
        if (is_in(address2_q, MgmtDriverFeaturesRegister, 4)) begin
          read_data_d = driver_features_i[32*address2_q[3:2] +: 32];
        end
        if (is_in(address2_q, MgmtTableDataRegister, DataWords)) read_data_d = table_data_q[address2_q[6:2]];
        if (is_in(address2_q, MgmtEventDataRegister, EventWords)) read_data_d = event_data_q[address2_q[3:2]];
        if (is_in(address2_q, MgmtMailboxDataRegister, WindowWords)) read_data_d = window_read_data_i;
        if (is_counter2) read_data_d = counter_q[counter2];
      end
    endcase
  end

  // --- Outputs -------------------------------------------------------------------------------------------------------

  assign firmware_interrupt_o = interrupt_q;
  assign queue_reset_done_valid_o = queue_reset_done_q;
  assign queue_reset_done_o = queue_reset_index_q;
  assign reset_done_o = reset_done_q;
  assign profile_o = profile_q;
  assign link_up_o = control_q.link_up;
  assign announce_o = control_q.announce;
  assign mac_o = {mac_high_q, mac_low_q};
  assign mtu_o = mtu_q;
  assign rx_mode_o = rx_mode_q;
  assign active_pairs_o = active_pairs_q;
  assign needs_reset_o = needs_reset_q;
  assign datapath_enable_o = control_q.datapath_enable;
  assign pause_o = control_q.pause || halts_q;
  assign requester_load_valid_o = requester_load_q;
  assign requester_load_o = '{qpn: index_q[23:0], psn: next_psn_q};
  assign responder_load_valid_o = responder_load_q;
  assign responder_load_o = '{qpn: index_q[23:0], psn: expected_psn_q};
  assign qp_order_valid_o = order_q;
  assign qp_order_o = command_q;
  // A drain in progress may wait for a peer, which is no work.
  assign idle_o = state_q == StIdle && !(qp_busy_q && (order_q || command_q.operation != 3'(QpOperationDrain)))
               && !host_event_valid_o && !reset_waits;

endmodule
