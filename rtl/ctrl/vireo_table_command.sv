// SPDX-License-Identifier: Apache-2.0

// The registers table_command and table_data: reads, writes and clears entries of the datapath's tables. An entry that is
// written goes to all blocks at once, and word by word to the store of what firmware reads back; a read collects it from
// there, and from copies of what the host, the engines and QP control own. Interprets no field of an entry but those that
// it must complete. The data window is 0 to readers, and not written, while an operation is in progress.
module vireo_table_command
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQueues = queues_of(Config),
  localparam int unsigned NumQps = Config.num_qps
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  // table_command; ignored while busy.
  input  logic             start_i,
  input  logic [7:0]       start_table_i,
  input  logic [1:0]       start_operation_i,
  input  logic [31:0]      start_index_i,
  output logic [7:0]       table_id_o,   // of the last operation
  output logic [1:0]       operation_o,
  output logic             error_o,
  output logic             busy_o,
  output logic             corrupt_o,    // pulse: an entry that was read has wrong parity
  output logic             sweeps_o,     // the tables are being cleared: a write or clear waits

  // table_data
  input  logic             data_write_i,
  input  logic [4:0]       data_write_word_i,
  input  logic [31:0]      data_i,
  input  logic [4:0]       data_read_word_i,
  output logic [31:0]      data_read_o,  // in the same cycle

  input  logic             memory_fence_i,
  input  logic             queue_fence_i,
  input  logic             cq_context_ready_i,
  output logic             table_write_valid_o,
  output table_write_t     table_write_o,
  output logic             requester_load_valid_o,
  input  logic             requester_load_ready_i,
  output qp_load_t         requester_load_o,
  output logic             responder_load_valid_o,
  input  logic             responder_load_ready_i,
  output qp_load_t         responder_load_o,

  // To be copied.
  input  logic             queue_row_write_valid_i,
  input  queue_row_write_t queue_row_write_i,
  input  logic             qp_state_write_valid_i,
  input  qp_state_write_t  qp_state_write_i,
  input  logic             qp_sends_valid_i,
  input  qp_sends_t        qp_sends_i,
  input  logic             next_psn_valid_i,
  input  qp_psn_t          next_psn_i,
  input  logic             expected_psn_valid_i,
  input  qp_psn_t          expected_psn_i,
  input  logic             mr_binding_valid_i,
  input  mr_binding_t      mr_binding_i,

  input  logic             flip_valid_i,
  input  context_flip_t    flip_i
);

  localparam int unsigned WordBytes = 8;
  localparam int unsigned Words = 128 / WordBytes;  // of table_data
  localparam int unsigned WordBits = $clog2(Words);
  // The second groups of fields begin behind the words that are kept. Their last words that are read:
  localparam logic [WordBits-1:0] LastVirtqueueWord = WordBits'(TableKeptWords[MgmtTableVirtqueue]);
  localparam logic [WordBits-1:0] LastMrWord = WordBits'(TableKeptWords[MgmtTableMr]);
  localparam int unsigned MrDepth = Config.num_mrs < 2 ? 2 : Config.num_mrs;
  localparam int unsigned MrBits = $clog2(MrDepth);
  localparam logic [WordBits-1:0] LastQpWord = WordBits'(TableQpContextExpectedPsnOffset / WordBytes);

  typedef enum logic [2:0] {
    StIdle,
    StCheck,  // does the entry exist; it is selected; a write waits until it can be taken and the tables are cleared
    StRead,   // its words go to table_data, each one cycle after it was read
    StWrite,  // it is broadcast
    StStore,  // its words go to the store
    StFence,  // accesses that started with the old entry end
    StLoad    // a half of a QP is set up
  } state_e;
  state_e state_d, state_q;
  logic [7:0] table_id_d, table_id_q;
  logic [1:0] operation_d, operation_q;
  logic error_d, error_q;
  logic [31:0] index_d, index_q;
  logic [WordBits-1:0] word_d, word_q;
  logic [WordBits-1:0] kept_d, kept_q;      // words of the entry in the store
  logic corrupt_d, corrupt_q;               // so was a word of the entry
  logic [Words-1:0][63:0] table_data_q;
  logic clears;                             // all of table_data
  logic started_q;                          // 0 in the first cycle after reset
  logic requester_load_d, requester_load_q, responder_load_d, responder_load_q;
  logic [23:0] next_psn_d, next_psn_q, expected_psn_d, expected_psn_q;

  // --- The entry as written ------------------------------------------------------------------------------------------

  table_qp_context_t qp;
  logic unused_qp;
  assign qp = unpack_table_qp_context(table_data_q);
  assign unused_qp = ^qp;
  assign table_write_valid_o = state_q == StWrite;
  assign table_write_o = '{table_id: table_id_q, index: index_q[23:0], data: table_data_q};

  // Without the bits that only request an action. They are in the first word.
  logic [63:0] stored_word;
  logic [8*TableVirtqueueBytes-1:0] virtqueue_requests;
  logic [8*TableQpContextBytes-1:0] qp_context_requests;
  logic [8*TableCqContextBytes-1:0] cq_context_requests;
  logic unused_requests;
  always_comb begin
    table_virtqueue_t virtqueue;
    table_qp_context_t qp_context;
    table_cq_context_t cq_context;
    virtqueue = '0;
    virtqueue.reset_positions = 1'b1;
    qp_context = '0;
    qp_context.load_requester = 1'b1;
    qp_context.load_responder = 1'b1;
    cq_context = '0;
    cq_context.set_solicited = 1'b1;
    cq_context.set_next_completion = 1'b1;
    cq_context.set_failed = 1'b1;
    virtqueue_requests = pack_table_virtqueue(virtqueue);
    qp_context_requests = pack_table_qp_context(qp_context);
    cq_context_requests = pack_table_cq_context(cq_context);
    stored_word = table_data_q[word_q];
    if (word_q == '0) begin
      if (table_id_q == MgmtTableVirtqueue) stored_word &= ~virtqueue_requests[63:0];
      if (table_id_q == MgmtTableQpContext) stored_word &= ~qp_context_requests[63:0];
      if (table_id_q == MgmtTableCqContext) stored_word &= ~cq_context_requests[63:0];
    end
  end
  assign unused_requests = ^{virtqueue_requests, qp_context_requests, cq_context_requests};

  // --- Store and copies ----------------------------------------------------------------------------------------------

  logic exists;
  logic [3:0] kept;
  logic [63:0] kept_word;
  logic word_corrupt;
  vireo_context_store #(
    .Config(Config)
  ) u_store (
    .clk_i, .rst_ni,
    .select_i(state_q == StIdle), .table_id_i(start_table_i), .index_i(index_q), .exists_o(exists), .kept_o(kept),
    .write_i(state_q == StStore), .read_i(state_q == StRead && word_q < kept_q), .word_i(word_q),
    .write_data_i(stored_word), .read_data_o(kept_word), .corrupt_o(word_corrupt), .flip_valid_i, .flip_i
  );

  logic reads_copies;
  logic enabled, enabled_corrupt, engine_state_corrupt;
  logic [2:0] engine_state;
  logic [15:0] send_outstanding;
  logic [23:0] next_psn, expected_psn;
  assign reads_copies = state_q == StCheck;
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(1), .Depth(NumQueues), .Ram(ContextRamManagementQueueRow)
  ) u_enabled (
    .clk_i, .rst_ni,
    .write_i(queue_row_write_valid_i && 32'(queue_row_write_i.vq_index) < NumQueues),
    .write_address_i(queue_row_write_i.vq_index[$clog2(NumQueues)-1:0]), .write_data_i(queue_row_write_i.enabled),
    .read_i(reads_copies), .read_address_i(index_q[$clog2(NumQueues)-1:0]), .read_data_o(enabled),
    .corrupt_o(enabled_corrupt), .flip_valid_i, .flip_i
  );
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(3), .Depth(NumQps), .Ram(ContextRamManagementEngineState)
  ) u_engine_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(reads_copies), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(engine_state),
    .corrupt_o(engine_state_corrupt), .flip_valid_i, .flip_i
  );
  vireo_table #(.Width(16), .Depth(NumQps)) u_send_outstanding (
    .clk_i, .rst_ni,
    .write_i(qp_sends_valid_i), .write_address_i(qp_sends_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(qp_sends_i.outstanding),
    .read_i(reads_copies), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(send_outstanding)
  );
  vireo_table #(.Width(24), .Depth(NumQps)) u_next_psn (
    .clk_i, .rst_ni,
    .write_i(next_psn_valid_i), .write_address_i(next_psn_i.qpn[$clog2(NumQps)-1:0]), .write_data_i(next_psn_i.psn),
    .read_i(reads_copies), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(next_psn)
  );
  vireo_table #(.Width(24), .Depth(NumQps)) u_expected_psn (
    .clk_i, .rst_ni,
    .write_i(expected_psn_valid_i), .write_address_i(expected_psn_i.qpn[$clog2(NumQps)-1:0]),
    .write_data_i(expected_psn_i.psn),
    .read_i(reads_copies), .read_address_i(index_q[$clog2(NumQps)-1:0]), .read_data_o(expected_psn)
  );
  // What memory regions and windows are in the device.
  typedef struct packed {
    logic is_alive;
    logic [7:0] device_key;
    logic is_bound;
    logic [MrBits-1:0] bound_to;
    logic [$clog2(NumQps)-1:0] bound_by;
  } binding_t;
  binding_t binding;
  logic binding_corrupt;
  if (Config.invalidation != 0) begin : gen_bindings
    vireo_context_table #(
      .HasParity(Config.parity != 0),
      .Width($bits(binding_t)), .Depth(MrDepth), .Ram(ContextRamManagementMrBinding)
    ) u_binding (
      .clk_i, .rst_ni,
      .write_i(mr_binding_valid_i), .write_address_i(mr_binding_i.index[MrBits-1:0]),
      .write_data_i({mr_binding_i.is_alive, mr_binding_i.device_key, mr_binding_i.is_bound, mr_binding_i.bound_to[MrBits-1:0],
                     mr_binding_i.bound_by[$clog2(NumQps)-1:0]}),
      .read_i(reads_copies), .read_address_i(index_q[MrBits-1:0]), .read_data_o(binding),
      .corrupt_o(binding_corrupt), .flip_valid_i, .flip_i
    );
  end else begin : gen_no_bindings
    assign binding = '0;
    assign binding_corrupt = 1'b0;
  end
  logic unused_copies;
  assign unused_copies = ^{mr_binding_valid_i, mr_binding_i, queue_row_write_i, qp_state_write_i, qp_sends_i, next_psn_i, expected_psn_i};

  // The word before word_q, which was read in the last cycle.
  logic [WordBits-1:0] read_word, last_word;
  logic [Words-1:0][63:0] second;  // the second group
  logic [63:0] read_data;
  logic read_corrupt;
  always_comb begin
    table_virtqueue_t virtqueue;
    table_qp_context_t qp_context;
    table_mr_t mr;
    virtqueue = '0;
    virtqueue.enabled = enabled;
    mr = '0;
    mr.is_alive = binding.is_alive;
    mr.device_key = binding.device_key;
    mr.is_bound = binding.is_bound;
    mr.bound_to = 24'(binding.bound_to);
    mr.bound_by = 24'(binding.bound_by);
    qp_context = '0;
    qp_context.engine_state = 8'(engine_state);
    qp_context.send_outstanding = send_outstanding;
    qp_context.next_psn = next_psn;
    qp_context.expected_psn = expected_psn;
    second = pack_table_qp_context(qp_context);
    if (table_id_q == MgmtTableVirtqueue) second = 1024'(pack_table_virtqueue(virtqueue));
    if (table_id_q == MgmtTableMr) second = 1024'(pack_table_mr(mr));
    read_word = word_q - 1'b1;
    last_word = kept_q - 1'b1;
    if (table_id_q == MgmtTableVirtqueue) last_word = LastVirtqueueWord;
    if (table_id_q == MgmtTableQpContext) last_word = LastQpWord;
    if (table_id_q == MgmtTableMr) last_word = LastMrWord;
    read_data = kept_word;
    read_corrupt = word_corrupt;
    if (read_word >= kept_q) begin
      read_data = second[read_word];
      read_corrupt = engine_state_corrupt;
      if (table_id_q == MgmtTableVirtqueue) read_corrupt = enabled_corrupt;
      if (table_id_q == MgmtTableMr) read_corrupt = binding_corrupt;
    end
  end

  // --- After reset ---------------------------------------------------------------------------------------------------

  // Each vireo_table clears itself, one entry per cycle. No entry was written since power-on: all are clear.
  localparam int unsigned SweepCycles = sweep_cycles_of(Config);
  localparam int unsigned SweepBits = $clog2(SweepCycles);
  logic sweep_q, used_q, sweeps;
  logic [SweepBits-1:0] sweep_count_q;
  assign sweeps = sweep_q && used_q;
  assign sweeps_o = sweeps;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      sweep_count_q <= '0;
    end else begin
      sweep_q <= sweeps && sweep_count_q != SweepBits'(SweepCycles - 1);
      if (sweeps) sweep_count_q <= sweep_count_q + 1'b1;
    end
  end
  initial used_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (state_q == StWrite) used_q <= 1'b1;
  end

  // --- State machine -------------------------------------------------------------------------------------------------

  logic loads;  // to be taken
  always_comb begin
    state_d = state_q;
    table_id_d = table_id_q;
    operation_d = operation_q;
    error_d = error_q;
    index_d = index_q;
    word_d = '0;
    kept_d = kept_q;
    corrupt_d = 1'b0;
    clears = !started_q;
    corrupt_o = 1'b0;
    requester_load_d = requester_load_q && !requester_load_ready_i;
    responder_load_d = responder_load_q && !responder_load_ready_i;
    next_psn_d = next_psn_q;
    expected_psn_d = expected_psn_q;
    loads = requester_load_d || responder_load_d;

    unique case (state_q)
      StIdle: if (start_i) begin
        table_id_d = start_table_i;
        operation_d = start_operation_i;
        error_d = 1'b0;
        index_d = start_index_i;
        state_d = StCheck;
      end
      StCheck: begin
        kept_d = kept;
        if (!exists || operation_q > MgmtTableOperationClear || (operation_q == MgmtTableOperationRead && kept == '0))
        begin
          error_d = 1'b1;
          state_d = StIdle;
        end else if (operation_q == MgmtTableOperationRead) begin
          clears = 1'b1;
          state_d = StRead;
        end else begin
          clears = operation_q == MgmtTableOperationClear;
          if (!sweeps && (table_id_q != MgmtTableCqContext || cq_context_ready_i)) state_d = StWrite;
        end
      end
      StRead: begin
        word_d = word_q + 1'b1;
        corrupt_d = corrupt_q || (word_q != '0 && read_corrupt);
        if (word_q != '0 && read_word == last_word) begin
          error_d = corrupt_d;
          corrupt_o = corrupt_d;
          clears = corrupt_d;
          state_d = StIdle;
        end
      end
      StWrite: begin
        state_d = StIdle;
        if (table_id_q == MgmtTableMr || table_id_q == MgmtTableVirtqueue) state_d = StFence;
        if (kept_q != '0) state_d = StStore;
        next_psn_d = qp.next_psn;
        expected_psn_d = qp.expected_psn;
        if (table_id_q == MgmtTableQpContext) begin
          requester_load_d = qp.load_requester;
          responder_load_d = qp.load_responder;
        end
      end
      StStore: begin
        word_d = word_q + 1'b1;
        if (word_d == kept_q) begin
          state_d = StIdle;
          if (table_id_q == MgmtTableMr || table_id_q == MgmtTableVirtqueue) state_d = StFence;
          if (loads) state_d = StLoad;
        end
      end
      StFence: if (!(table_id_q == MgmtTableMr ? memory_fence_i : queue_fence_i)) state_d = StIdle;
      StLoad: if (!loads) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      table_id_q <= '0;
      operation_q <= '0;
      error_q <= 1'b0;
      started_q <= 1'b0;
      requester_load_q <= 1'b0;
      responder_load_q <= 1'b0;
    end else begin
      state_q <= state_d;
      table_id_q <= table_id_d;
      operation_q <= operation_d;
      error_q <= error_d;
      started_q <= 1'b1;
      requester_load_q <= requester_load_d;
      responder_load_q <= responder_load_d;
    end
  end
  always_ff @(posedge clk_i) begin
    index_q <= index_d;
    word_q <= word_d;
    kept_q <= kept_d;
    corrupt_q <= corrupt_d;
    next_psn_q <= next_psn_d;
    expected_psn_q <= expected_psn_d;
    if (clears) begin
      table_data_q <= '0;
    end else if (state_q == StRead) begin
      if (word_q != '0) table_data_q[read_word] <= read_data;
    end else if (state_q == StIdle && data_write_i) begin
      table_data_q[data_write_word_i[4:1]][32*data_write_word_i[0] +: 32] <= data_i;
    end
  end

  assign table_id_o = table_id_q;
  assign operation_o = operation_q;
  assign error_o = error_q;
  assign busy_o = state_q != StIdle;
  assign data_read_o = busy_o ? '0 : table_data_q[data_read_word_i[4:1]][32*data_read_word_i[0] +: 32];
  assign requester_load_valid_o = requester_load_q;
  assign requester_load_o = '{qpn: index_q[23:0], psn: next_psn_q};
  assign responder_load_valid_o = responder_load_q;
  assign responder_load_o = '{qpn: index_q[23:0], psn: expected_psn_q};

endmodule
