// SPDX-License-Identifier: Apache-2.0

// The management registers: the device's only interface to firmware. One access per cycle is always taken; reads
// are answered in order after 3 cycles, writes take effect before every later access is looked at. Tables are accessed by
// vireo_table_command; pulses are counted by vireo_csr_counters.
module vireo_csr
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config
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
  output logic             firmware_ready_o,
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
  input  logic             mr_binding_valid_i,  // of memory_check
  input  mr_binding_t      mr_binding_i,

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

  localparam int unsigned DataWords = 32;   // table_data
  localparam int unsigned EventWords = 4;   // event_data
  localparam int unsigned WindowWords = 128;  // mailbox_data
  localparam int unsigned Parameters = $bits(config_t) / 32;  // mgmt.parameter, in the order of config_t: first field highest
  localparam int unsigned ParameterBits = $clog2(Parameters);
  localparam logic [Parameters-1:0][31:0] Parameter = Config;

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
  vireo_fifo #(.Width(HostEventBits), .Depth(EventDepth),
               .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))) u_event (
    .clk_i, .rst_ni,
    .s_valid_i(event_push), .s_ready_o(event_room), .s_data_i(event_pushed),
    .m_valid_o(host_event_valid_o), .m_ready_i(host_event_ready_i), .m_data_o(host_event_o)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  mgmt_table_command_t written_table;
  logic [31:0] table_index_d, table_index_q;
  logic [7:0] table_id;
  logic [1:0] table_operation;
  logic table_error, table_busy, table_corrupt, table_sweeps;
  logic [31:0] table_data;
  mgmt_flip_entry_t flip_entry_d, flip_entry_q;  // what flip_bit flips
  assign written_table = unpack_mgmt_table_command(data1_q);
  assign context_flip_valid_o = write1_q && address1_q == MgmtFlipBitRegister;
  assign context_flip_o = '{ram: flip_entry_q.ram, index: flip_entry_q.index, bit_index: data1_q[9:0]};
  vireo_table_command #(
    .Config(Config)
  ) u_table_command (
    .clk_i, .rst_ni,
    .start_i(write1_q && address1_q == MgmtTableCommandRegister), .start_table_i(written_table.table_id),
    .start_operation_i(written_table.operation), .start_index_i(table_index_q),
    .table_id_o(table_id), .operation_o(table_operation), .error_o(table_error), .busy_o(table_busy),
    .corrupt_o(table_corrupt), .sweeps_o(table_sweeps),
    .data_write_i(write1_q && is_in(address1_q, MgmtTableDataRegister, DataWords)),
    .data_write_word_i(address1_q[6:2]), .data_i(data1_q), .data_read_word_i(address2_q[6:2]), .data_read_o(table_data),
    .memory_fence_i, .queue_fence_i, .cq_context_ready_i, .table_write_valid_o, .table_write_o,
    .requester_load_valid_o, .requester_load_ready_i, .requester_load_o,
    .responder_load_valid_o, .responder_load_ready_i, .responder_load_o,
    .queue_row_write_valid_i, .queue_row_write_i, .qp_state_write_valid_i, .qp_state_write_i,
    .qp_sends_valid_i, .qp_sends_i, .next_psn_valid_i, .next_psn_i, .expected_psn_valid_i, .expected_psn_i,
    .mr_binding_valid_i, .mr_binding_i,
    .flip_valid_i(context_flip_valid_o), .flip_i(context_flip_o)
  );

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

  mgmt_control_t written_control;
  mgmt_interrupt_cause_t written_cause;
  mgmt_rx_mode_t written_rx_mode;
  mgmt_qp_command_t written_qp;
  logic unused_written;
  assign written_control = unpack_mgmt_control(data1_q);
  assign written_cause = unpack_mgmt_interrupt_cause(data1_q);
  assign written_rx_mode = unpack_mgmt_rx_mode(data1_q);
  assign written_qp = unpack_mgmt_qp_command(data1_q);
  assign unused_written = ^{written_table, written_qp};

  logic is_counter2;
  logic [31:0] counter2;
  vireo_csr_counters u_counters (
    .clk_i, .rst_ni,
    .read_i(read2_q), .address_i(address2_q), .is_counter_o(is_counter2), .counter_o(counter2),
    .rx_verdict_valid_i, .rx_verdict_i, .tx_frame_i, .rx_drop_i, .retransmission_i, .dma_error_i, .window_violation_i,
    .net_rx_filtered_i, .net_rx_drop_i, .net_tx_drop_i
  );

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
    table_index_d = table_index_q;
    flip_entry_d = flip_entry_q;
    event_data_d = event_data_q;

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
      table_index_q <= MgmtTableIndexReset;
      flip_entry_q <= '0;
      event_data_q <= '0;
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
      parity_error_q <= table_corrupt;
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
      table_index_q <= table_index_d;
      flip_entry_q <= flip_entry_d;
      event_data_q <= event_data_d;
    end
  end
  always_ff @(posedge clk_i) begin
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
    table_command.table_id = table_id;
    table_command.operation = table_operation;
    table_command.error = table_error;
    table_command.busy = table_busy;
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
          read_data_d = Parameter[ParameterBits'(Parameters - 1) - ParameterBits'((address2_q - MgmtParameterRegister) >> 2)];
        end
        if (is_in(address2_q, MgmtDriverFeaturesRegister, 4)) begin
          read_data_d = driver_features_i[32*address2_q[3:2] +: 32];
        end
        if (is_in(address2_q, MgmtTableDataRegister, DataWords)) read_data_d = table_data;
        if (is_in(address2_q, MgmtEventDataRegister, EventWords)) read_data_d = event_data_q[address2_q[3:2]];
        if (is_in(address2_q, MgmtMailboxDataRegister, WindowWords)) read_data_d = window_read_data_i;
        if (is_counter2) read_data_d = counter2;
      end
    endcase
  end

  // --- Outputs -------------------------------------------------------------------------------------------------------

  assign firmware_interrupt_o = interrupt_q;
  assign queue_reset_done_valid_o = queue_reset_done_q;
  assign queue_reset_done_o = queue_reset_index_q;
  assign reset_done_o = reset_done_q;
  assign firmware_ready_o = control_q.firmware_ready;
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
  assign qp_order_valid_o = order_q;
  assign qp_order_o = command_q;
  // A drain in progress may wait for a peer, which is no work.
  assign idle_o = !table_busy && !table_sweeps && !(qp_busy_q && (order_q || command_q.operation != 3'(QpOperationDrain)))
               && !host_event_valid_o && !reset_waits;

endmodule
