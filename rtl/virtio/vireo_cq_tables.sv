// SPDX-License-Identifier: Apache-2.0

// Tables of vireo_cq_writer: what host and firmware say about each queue and CQ, the used position of every queue, arm
// and failed state of every CQ, and which queue is the event queue. Read data is there in the cycle after a read, and is
// held until the next. It decides nothing: a queue whose row or kind has bad parity is not enabled or not served, a CQ
// whose context has bad parity is not known. Writes of cq_context also wait here, in order, as jobs.
module vireo_cq_tables
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQueues = queues_of(Config),  // virtqueues; 2 or more
  localparam int unsigned NumCqs = Config.num_cqs          // 2 or more
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 ring_packed_i,

  // Pulses.
  input  logic                 table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t         table_write_i,            // fields of other blocks
  input  queue_row_write_t     queue_row_write_i,        // likewise
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 queue_row_write_valid_i,
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 virtqueue_write_o,        // an entry of `virtqueue` is written
  output logic                 table_clear_o,            // and clears the position

  // Jobs: writes of cq_context.
  output logic                 context_ready_o,          // one may come in the next cycle
  output logic                 context_valid_o,
  input  logic                 context_pop_i,
  output context_t             context_o,
  output logic                 contexts_idle_o,

  output logic                 event_known_o,            // there is an event queue
  output logic [15:0]          event_vq_o,
  output logic                 lost_clear_o,             // events that were lost are not counted any more
  output logic                 event_drop_o,             // the event queue begins a new lifetime

  // verilator lint_off UNUSEDSIGNAL
  input  logic [15:0]          queue_read_index_i,       // of as many queues and CQs as there are
  input  logic [15:0]          cq_read_index_i,
  input  logic [15:0]          position_index_i,
  input  logic [15:0]          cq_state_index_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 queue_read_i,
  output queue_t               queue_o,
  output position_t            position_o,
  input  logic                 cq_read_i,
  output logic                 cq_known_o,
  output logic [15:0]          cq_vq_o,
  output logic [CqElements-1:0] cq_elements_o,           // of its completions
  output cq_state_t            cq_state_o,

  output logic                 position_ready_o,         // a write is possible
  input  logic                 position_write_i,
  input  position_t            position_i,
  input  logic                 cq_state_write_i,
  input  cq_state_t            cq_state_i,

  input  logic                 queue_counts_i,           // what was read in the cycle before is used
  input  logic                 cq_counts_i,
  output logic                 parity_error_o
);

  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned CqBits = $clog2(NumCqs);
  localparam int unsigned Contexts = 8;  // pending writes of cq_context
  localparam int unsigned ContextBits = $clog2(Contexts + 1);

  // --- Pulses
  // verilator lint_off UNUSEDSIGNAL
  table_virtqueue_t pulse_virtqueue;  // fields of other blocks
  table_cq_context_t pulse_context;
  // verilator lint_on UNUSEDSIGNAL
  logic virtqueue_write, context_write, table_clear;
  logic [QueueBits-1:0] table_index, row_index, queue_read_index;
  logic [CqBits-1:0] cq_read_index;

  // Zero without a write, which speeds up simulation.
  always_comb begin
    pulse_virtqueue = '0;
    pulse_context = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      pulse_virtqueue = unpack_table_virtqueue(table_write_i.data[8*TableVirtqueueBytes-1:0]);
      pulse_context = unpack_table_cq_context(table_write_i.data[8*TableCqContextBytes-1:0]);
    end
  end

  assign virtqueue_write = table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue;
  assign context_write = table_write_valid_i && table_write_i.table_id == MgmtTableCqContext;
  // An entry that is cleared has kind none; this clears the positions as well.
  assign table_clear = virtqueue_write
                    && (pulse_virtqueue.reset_positions || pulse_virtqueue.kind == TableQueueKindNone);
  assign table_index = table_write_i.index[QueueBits-1:0];
  assign row_index = queue_row_write_i.vq_index[QueueBits-1:0];
  assign virtqueue_write_o = virtqueue_write;
  assign table_clear_o = table_clear;
  assign queue_read_index = queue_read_index_i[QueueBits-1:0];
  assign cq_read_index = cq_read_index_i[CqBits-1:0];

  // --- Index of the event queue: set by firmware, because it depends on the features that the driver accepted.
  logic event_known_d, event_known_q;
  logic [15:0] event_vq_d, event_vq_q;
  logic event_row_clear;

  always_comb begin
    event_known_d = event_known_q;
    event_vq_d = event_vq_q;
    if (virtqueue_write && pulse_virtqueue.kind == TableQueueKindEvent) begin
      event_known_d = 1'b1;
      event_vq_d = table_write_i.index[15:0];
    end else if (virtqueue_write && table_write_i.index[15:0] == event_vq_q) begin
      event_known_d = 1'b0;
    end
    event_row_clear = queue_row_write_valid_i && event_known_q && queue_row_write_i.vq_index == event_vq_q;
    // Events from before there was an event queue are not those of its driver.
    lost_clear_o = event_row_clear
                || (virtqueue_write && pulse_virtqueue.kind == TableQueueKindEvent
                    && !(event_known_q && table_write_i.index[15:0] == event_vq_q));
    event_drop_o = event_row_clear
                || (table_write_i.index[15:0] == event_vq_q
                    ? table_clear : virtqueue_write && pulse_virtqueue.kind == TableQueueKindEvent);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_known_q <= 1'b0;
      event_vq_q <= '0;
    end else begin
      event_known_q <= event_known_d;
      event_vq_q <= event_vq_d;
    end
  end
  assign event_known_o = event_known_q;
  assign event_vq_o = event_vq_q;

  // --- Writes of cq_context. vireo_csr, their only source, waits for space (contexts_not_full).
  logic [ContextBits-1:0] contexts_q;

  vireo_fifo #(
    .Width($bits(context_t)),
    .Depth(Contexts),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_context (
    .clk_i,
    .rst_ni,
    .s_valid_i(context_write),
    .s_ready_o(context_ready_o),
    .s_data_i({16'(table_write_i.index[CqBits-1:0]), pulse_context.valid, pulse_context.set_solicited,
               pulse_context.set_next_completion, pulse_context.set_failed}),
    .m_valid_o(context_valid_o),
    .m_ready_i(context_pop_i),
    .m_data_o(context_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) contexts_q <= '0;
    else contexts_q <= contexts_q + ContextBits'(context_write) - ContextBits'(context_pop_i);
  end
  assign contexts_idle_o = contexts_q == '0;

  // --- Tables
  localparam int unsigned CqEntryBits = 17 + (Config.cqe_elements != 0 ? CqElements : 32'd0);
  logic [CqEntryBits-1:0] cq_entry;
  logic row_enabled, row_corrupt, kind_served, kind_corrupt, cq_corrupt;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(161),
    .Depth(NumQueues),
    .Ram(ContextRamCqWriterRow),
    .Gates(1'b0)
  ) u_row (
    .clk_i,
    .rst_ni,
    .write_i(queue_row_write_valid_i),
    .write_address_i(row_index),
    .write_data_i({queue_row_write_i.enabled, queue_row_write_i.queue_size, queue_row_write_i.msix_vector,
                   ring_packed_i ? queue_row_write_i.queue_desc : queue_row_write_i.queue_device,
                   queue_row_write_i.queue_driver}),
    .read_i(queue_read_i),
    .read_address_i(queue_read_index),
    .read_data_o({row_enabled, queue_o.size, queue_o.msix, queue_o.area, queue_o.driver_area}),
    .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );
  assign queue_o.enabled = row_enabled && !row_corrupt;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(2),
    .Depth(NumQueues),
    .Ram(ContextRamCqWriterKind),
    .Gates(1'b0)
  ) u_kind (
    .clk_i,
    .rst_ni,
    .write_i(virtqueue_write),
    .write_address_i(table_index),
    .write_data_i({pulse_virtqueue.kind != TableQueueKindNone && !pulse_virtqueue.stopped,
                   pulse_virtqueue.kind == TableQueueKindReceive || pulse_virtqueue.kind == TableQueueKindTransmit
                   || pulse_virtqueue.kind == TableQueueKindControl}),
    .read_i(queue_read_i),
    .read_address_i(queue_read_index),
    .read_data_o({kind_served, queue_o.notifies}),
    .corrupt_o(kind_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );
  assign queue_o.served = kind_served && !kind_corrupt;
  assign queue_o.row_corrupt = row_corrupt;
  assign queue_o.corrupt = row_corrupt || kind_corrupt;

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width($bits(position_t))
  ) u_position (
    .clk_i,
    .rst_ni,
    .row_clear_i(queue_row_write_valid_i),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(position_write_i),
    .write_ready_o(position_ready_o),
    .write_index_i(position_index_i[QueueBits-1:0]),
    .write_data_i(position_i),
    .read_i(queue_read_i),
    .read_index_i(queue_read_index),
    .read_data_o(position_o)
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(CqEntryBits),
    .Depth(NumCqs),
    .Ram(ContextRamCqWriterCq)
  ) u_context_entry (
    .clk_i,
    .rst_ni,
    .write_i(context_write),
    .write_address_i(table_write_i.index[CqBits-1:0]),
    .write_data_i(CqEntryBits'({pulse_context.elements[CqElements-1:0], pulse_context.valid, pulse_context.vq_index})),
    .read_i(cq_read_i),
    .read_address_i(cq_read_index),
    .read_data_o(cq_entry),
    .corrupt_o(cq_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  assign {cq_known_o, cq_vq_o} = cq_entry[16:0];
  if (Config.cqe_elements != 0) begin : gen_elements
    assign cq_elements_o = cq_entry[CqEntryBits-1:17];
  end else begin : gen_no_elements
    assign cq_elements_o = '0;
  end

  vireo_table #(
    .Width($bits(cq_state_t)),
    .Depth(NumCqs)
  ) u_cq_state (
    .clk_i,
    .rst_ni,
    .write_i(cq_state_write_i),
    .write_address_i(cq_state_index_i[CqBits-1:0]),
    .write_data_i(cq_state_i),
    .read_i(cq_read_i),
    .read_address_i(cq_read_index),
    .read_data_o(cq_state_o)
  );

  // --- Parity: in the cycle after a read that counts
  logic queue_read_q, cq_read_q, parity_error_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      queue_read_q <= 1'b0;
      cq_read_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      queue_read_q <= queue_read_i;
      cq_read_q <= cq_read_i;
      parity_error_q <= (queue_read_q && queue_counts_i && (row_corrupt || kind_corrupt))
                     || (cq_read_q && cq_counts_i && cq_corrupt);
    end
  end
  assign parity_error_o = parity_error_q;

`ifndef SYNTHESIS
  contexts_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) context_write |-> context_ready_o);
`endif

endmodule
