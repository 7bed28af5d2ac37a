// SPDX-License-Identifier: Apache-2.0

// Returns buffers to the driver: writes used element and used index of a work request's queue, then the CQE into a
// buffer of the CQ; writes events into buffers of the event queue. Owns the used position of every queue, and the arm
// state and failed state of every CQ. A single state machine processes one completion or event at a time. Only what
// tells the driver of a write waits for its completion: used indices (vireo_used_publish) and interrupts.
//
// Buffers of a CQ are fetched ahead: when half of them are used, more are requested. Answers are stored as they come,
// beside the state machine. A CQE whose CQ has no buffer is parked, in order, and passed by CQEs of other CQs; only a
// request that was made after a CQE had to wait decides that the CQ is overrun.
//
// Packed ring: the used descriptor's length and buffer id are written as the element, its flags as the index. Every
// queue but a shared receive queue is used in order, so the used descriptor overwrites the buffer's first descriptor, which already has the buffer
// id unless the buffer is a chain: only the last descriptor of a chain must have the id [virtio 1.3, 2.8.6]. It then
// comes with the completion. Buffers of a shared receive queue come with their id, in any order, and are used at the
// position that this block keeps.
//
// Completions with `more` and the first one without it form a batch. The driver must not see any buffer of a batch as
// used before all of them are, because it takes a whole frame when it sees the first [virtio 1.3, 5.1.6.4]. Split ring:
// the index is written once, after the last element. Packed ring: the flags of the first buffer are written after those
// of the last. The queue's state is sampled when the batch starts and holds to its end, so that no part can be omitted.
// No other job gets a slot before the batch ends, so an error is never reported for another queue.
//
// The writes to one queue end with its used index. Until that has completed a slot stores the next action: none, a check
// whether the CQ is armed, or, for a queue without a CQ, a read of the driver's event suppression [virtio 1.3, 2.7.7 and
// 2.8.10]. If one of the writes fails, the queue is stopped, and its CQ.
//
// Also writes avail_event, because it writes the used rings. When that write has completed, it raises the queue's
// doorbell, because the driver did not ring for buffers that it added before it could see the new value.
//
// A queue whose row or kind has bad parity is not enabled, and its completions write no CQE; a CQ whose context has bad
// parity is not known.
module vireo_cq_writer
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Slots,                            // used indices in flight; a power of two, 4 to 128
  localparam int unsigned NumQueues = queues_of(Config),  // virtqueues; 2 or more
  localparam int unsigned NumCqs = Config.num_cqs          // 2 or more
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Features that the driver accepted. They change while nothing is in flight.
  input  logic                 ring_packed_i,
  input  logic                 event_idx_i,

  output logic                 cq_context_ready_o,       // a cq_context may be written in the next cycle
  input  logic                 table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t         table_write_i,            // fields of other blocks
  input  logic                 queue_row_write_valid_i,
  input  queue_row_write_t     queue_row_write_i,        // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 parity_error_o,
  input  logic                 avail_event_valid_i,      // a pulse of descriptor fetch
  input  avail_event_t         avail_event_i,

  input  logic                 completion_valid_i,
  output logic                 completion_ready_o,
  output logic                 completion_waits_o,  // one is not taken yet
  input  completion_t          completion_i,
  input  logic                 host_event_valid_i,
  output logic                 host_event_ready_o,
  input  host_event_t          host_event_i,
  input  logic                 cq_arm_valid_i,
  output logic                 cq_arm_ready_o,
  input  cq_arm_t              cq_arm_i,

  output logic                 buffer_request_valid_o,
  input  logic                 buffer_request_ready_i,
  output buffer_request_t      buffer_request_o,
  input  logic                 buffer_valid_i,
  output logic                 buffer_ready_o,
  input  buffer_t              buffer_i,

  output logic                 store_valid_o,
  input  logic                 store_ready_i,
  output dma_store_t           store_o,
  input  logic                 done_valid_i,
  input  dma_done_t            done_i,

  output logic                 fetch_request_valid_o,
  input  logic                 fetch_request_ready_i,
  output dma_read_request_t    fetch_request_o,
  input  logic                 fetched_valid_i,
  output logic                 fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t         fetched_i,                // the tag: answers come in order
  // verilator lint_on UNUSEDSIGNAL

  output logic                 doorbell_valid_o,         // of queues whose avail_event was written
  input  logic                 doorbell_ready_i,
  output doorbell_t            doorbell_o,
  output logic                 queue_interrupt_valid_o,
  input  logic                 queue_interrupt_ready_i,
  output queue_interrupt_t     queue_interrupt_o,
  output logic                 queue_failure_valid_o,
  input  logic                 queue_failure_ready_i,
  output queue_failure_t       queue_failure_o,
  output logic                 queue_stopped_valid_o,    // pulse: queue_failure_o is new
  output logic                 fence_o,                  // accesses from before the last write of a virtqueue's entry
                                                         // have not ended
  output logic                 idle_o
);

  // Of features that the configuration does not have nothing is left.
  logic ring_packed, event_idx;
  assign ring_packed = Config.packed_rings != 0 && ring_packed_i;
  assign event_idx = Config.event_index != 0 && event_idx_i;

  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned CqBits = $clog2(NumCqs);
  localparam int unsigned SlotBits = $clog2(Slots);
  localparam int unsigned BufferSlots = 32;  // buffers of a CQ that are fetched ahead
  localparam int unsigned BufferSlotBits = $clog2(BufferSlots);
  localparam int unsigned BufferCountBits = BufferSlotBits + 1;
  localparam int unsigned Answers = 8;  // buffers at the input, which are taken as they come
  localparam int unsigned Asks = 8;  // outstanding requests for buffers; one of them is left for an event
  localparam int unsigned AskBits = $clog2(Asks + 1);
  localparam int unsigned Parks = 16;  // CQEs that wait for a buffer of their CQ
  localparam int unsigned ParkBits = $clog2(Parks + 1);
  localparam int unsigned Contexts = 8;  // pending writes of cq_context
  localparam int unsigned ContextBits = $clog2(Contexts + 1);
  localparam int unsigned TagSlotBits = 7;  // top bit of the tag: write of a used index
  localparam int unsigned PlaceBits = 15;  // position in a packed ring; bit 15: wrap counter [2.8.14]
  localparam int unsigned Questions = 32'(DmaFetchDepth);  // outstanding reads of event suppression
  localparam int unsigned QuestionBits = $clog2(Questions + 1);

  // State of a queue until it is reset.
  typedef struct packed {
    logic failed;
    logic [15:0] used;                 // next_used
    logic [BufferCountBits-1:0] cached;  // CQ: prefetched buffers not yet used
    logic [BufferSlotBits-1:0] first;  // the next of them
    logic asked;                       // CQ: more of them are requested
    logic [ParkBits-1:0] parked;       // CQ: CQEs that are parked
    logic wrapped;                     // packed ring: complement of the wrap counter at `place`
    logic [PlaceBits-1:0] place;       // CQ, shared receive queue: position after the last used descriptor
  } position_t;

  // The open batch: state of its queue when the batch started, and progress.
  typedef struct packed {
    logic usable;
    logic notifies;
    logic [15:0] size;
    logic [15:0] msix;
    logic [63:0] area;
    logic [15:0] first;  // ring entry, or packed position, of its first buffer
    logic written;       // something was written to the first buffer
    logic [15:0] used;   // next_used
  } batch_t;

  // State of a CQ until its context is cleared.
  typedef struct packed {
    logic failed;
    logic armed_solicited;
    logic armed_next;
    logic passed;            // a CQE after arm_position has been written
    logic [15:0] arm_position;   // the driver's position when it armed
    logic [15:0] written;    // position after the last CQE whose used index is in memory
    logic has_solicited;     // `solicited` is valid
    logic [15:0] solicited;  // position after the last solicited one of these CQEs
  } cq_state_t;

  typedef struct packed {
    logic [CqBits-1:0] cqn;
    logic valid;
    logic set_solicited;
    logic set_next;
    logic set_failed;
  } context_t;

  // Start and end of an update of the used position: ring entries, or packed positions.
  typedef struct packed {
    logic [15:0] first;
    logic [15:0] next_position;
  } span_t;

  typedef struct packed {
    span_t span;
    logic [15:0] vq_index;
    logic [15:0] msix;
  } suppression_read_t;

  typedef struct packed {
    logic error;
    logic [8*PvirtqEventSuppressBytes-1:0] data;
  } suppression_t;

  typedef struct packed {
    logic bad;  // cannot hold a CQE
    logic [15:0] head;
    logic [63:0] address;
  } cached_t;

  // A request for buffers.
  typedef struct packed {
    logic is_event;
    logic sure;                       // a CQE waited for it: without a buffer the CQ is overrun
    logic [CqBits-1:0] cqn;
    logic [15:0] vq_index;
    logic [BufferSlotBits-1:0] base;  // where the first buffer goes
  } asked_t;

  // And its answer.
  typedef struct packed {
    logic is_event;
    logic sure;
    logic [CqBits-1:0] cqn;
    logic [15:0] vq_index;
    logic is_empty;                   // the last part of the answer was `empty`
    logic [BufferCountBits-1:0] count;
  } filled_t;

  typedef struct packed {
    logic [CqBits-1:0] cqn;
    logic solicited;
    logic [8*RdmaCqReqBytes-1:0] cqe;
  } parked_t;

  // The buffer for the next event.
  typedef enum logic [1:0] {
    EventNone,
    EventAsked,
    EventVoid,   // requested, and its queue was reset since
    EventReady
  } event_buffer_e;

  typedef struct packed {
    logic is_avail;         // avail_event instead of a used index
    logic is_cq;
    span_t span;            // queue without a CQ
    logic [15:0] vq_index;
    logic [CqBits-1:0] cqn;
    logic solicited;
    logic [15:0] position;  // after the CQE
    logic [15:0] msix;
  } slot_t;

  typedef enum logic [4:0] {
    StIdle,
    StElement,        // of the work request's queue
    StIndex,
    StFirst,          // of a batch in a packed ring: the flags of its first buffer
    StCq,
    StCqRead,         // of a parked CQE
    StFilled,         // a request of a CQ is answered
    StEvent,
    StData,           // CQE or event
    StTargetElement,  // of the CQ or the event queue
    StTargetIndex,
    StFail,
    StArmRead,
    StArm,
    StDone,
    StSuppression,           // checks the driver's event suppression
    StAvail           // avail_event
  } state_e;

  // --- Pulses
  // verilator lint_off UNUSEDSIGNAL
  table_virtqueue_t pulse_virtqueue;  // fields of other blocks
  table_cq_context_t pulse_context;
  // verilator lint_on UNUSEDSIGNAL
  logic virtqueue_write, context_write, table_clear;
  logic [QueueBits-1:0] table_index, row_index;

  // Zero without a write, which speeds up simulation.
  always_comb begin
    pulse_virtqueue = '0;
    pulse_context = '0;
    if (table_write_valid_i) begin
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

  // Index of the event queue: set by firmware, because it depends on the features that the driver accepted.
  logic event_known_d, event_known_q;
  logic [15:0] event_vq_d, event_vq_q;
  logic event_row_clear;
  logic lost_clear, event_drop;  // event_drop: its queue begins a new lifetime

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
    lost_clear = event_row_clear
              || (virtqueue_write && pulse_virtqueue.kind == TableQueueKindEvent
                  && !(event_known_q && table_write_i.index[15:0] == event_vq_q));
    event_drop = event_row_clear
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

  // --- Inputs
  logic completion_valid, completion_pop;
  completion_t completion;
  logic host_event_valid, host_event_pop;
  host_event_t host_event;
  logic cq_arm_valid, cq_arm_pop;
  cq_arm_t cq_arm;
  logic buffer_valid, buffer_pop;
  // verilator lint_off UNUSEDSIGNAL
  buffer_t buffer;  // answers come in the order of the requests; chains: the first part holds all
  rdma_cq_arm_t arm_value;
  // verilator lint_on UNUSEDSIGNAL
  logic context_valid, context_pop;
  context_t context_job;
  logic [ContextBits-1:0] contexts_d, contexts_q;

  vireo_slice #(
    .Width(CompletionBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_completion (
    .clk_i,
    .rst_ni,
    .s_valid_i(completion_valid_i),
    .s_ready_o(completion_ready_o),
    .s_data_i(completion_i),
    .m_valid_o(completion_valid),
    .m_ready_i(completion_pop),
    .m_data_o(completion)
  );

  vireo_slice #(
    .Width(HostEventBits)
  ) u_host_event (
    .clk_i,
    .rst_ni,
    .s_valid_i(host_event_valid_i),
    .s_ready_o(host_event_ready_o),
    .s_data_i(host_event_i),
    .m_valid_o(host_event_valid),
    .m_ready_i(host_event_pop),
    .m_data_o(host_event)
  );

  vireo_slice #(
    .Width(CqArmBits)
  ) u_cq_arm (
    .clk_i,
    .rst_ni,
    .s_valid_i(cq_arm_valid_i),
    .s_ready_o(cq_arm_ready_o),
    .s_data_i(cq_arm_i),
    .m_valid_o(cq_arm_valid),
    .m_ready_i(cq_arm_pop),
    .m_data_o(cq_arm)
  );
  assign arm_value = unpack_rdma_cq_arm(cq_arm.value);

  vireo_fifo #(
    .Width(BufferBits),
    .Depth(Answers)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .s_valid_i(buffer_valid_i),
    .s_ready_o(buffer_ready_o),
    .s_data_i(buffer_i),
    .m_valid_o(buffer_valid),
    .m_ready_i(buffer_pop),
    .m_data_o(buffer)
  );

  // vireo_csr, the only source of writes, waits for space (contexts_not_full).
  vireo_fifo #(
    .Width($bits(context_t)),
    .Depth(Contexts)
  ) u_context (
    .clk_i,
    .rst_ni,
    .s_valid_i(context_write),
    .s_ready_o(cq_context_ready_o),
    .s_data_i({table_write_i.index[CqBits-1:0], pulse_context.valid, pulse_context.set_solicited,
               pulse_context.set_next_completion, pulse_context.set_failed}),
    .m_valid_o(context_valid),
    .m_ready_i(context_pop),
    .m_data_o(context_job)
  );
  assign contexts_d = contexts_q + ContextBits'(context_write) - ContextBits'(context_pop);

  // Outstanding reads of event suppression. The FIFO has space for every response.
  logic question_push, question_ready, question_valid, suppression_valid, suppression_pop;
  suppression_read_t question_in, question;
  suppression_t suppression;
  logic [QuestionBits-1:0] questions_d, questions_q;

  vireo_fifo #(
    .Width($bits(suppression_read_t)),
    .Depth(Questions)
  ) u_questions (
    .clk_i,
    .rst_ni,
    .s_valid_i(question_push),
    .s_ready_o(question_ready),
    .s_data_i(question_in),
    .m_valid_o(question_valid),
    .m_ready_i(suppression_pop),
    .m_data_o(question)
  );

  // resp 0 is okay [AMBA AXI, A3.4.4]
  vireo_fifo #(
    .Width($bits(suppression_t)),
    .Depth(Questions)
  ) u_suppressions (
    .clk_i,
    .rst_ni,
    .s_valid_i(fetched_valid_i),
    .s_ready_o(fetched_ready_o),
    .s_data_i({fetched_i.resp != '0, fetched_i.data[8*PvirtqEventSuppressBytes-1:0]}),
    .m_valid_o(suppression_valid),
    .m_ready_i(suppression_pop),
    .m_data_o(suppression)
  );
  assign questions_d = questions_q + QuestionBits'(question_push) - QuestionBits'(suppression_pop);

  // Queues with a pending avail_event, each once, with its latest value. Descriptor fetch is never stalled: this block
  // waits for its responses, so a stall could deadlock. The value is written one cycle before the push, so that a load
  // with which the push is merged reads the new value.
  logic avail_in_valid_q, avail_push_q;
  avail_event_t avail_in_q;
  logic [QueueBits-1:0] avail_push_vq_q;
  logic pending_valid, pending_ready, pending_load, pending_empty;
  logic [QueueBits-1:0] pending_vq, pending_load_vq;
  logic [15:0] pending_value;
  logic avail_valid, avail_pop;
  avail_event_t avail;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      avail_in_valid_q <= 1'b0;
      avail_push_q <= 1'b0;
    end else begin
      avail_in_valid_q <= avail_event_valid_i;
      avail_push_q <= avail_in_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    avail_in_q <= avail_event_i;
    avail_push_vq_q <= avail_in_q.vq_index[QueueBits-1:0];
  end

  vireo_index_set #(
    .Entries(NumQueues),
    .Lookup(1'b1)
  ) u_pending (
    .clk_i,
    .rst_ni,
    .push_valid_i(avail_push_q),
    .push_i(avail_push_vq_q),
    .hold_i(1'b0),
    .clear_i(1'b0),
    .pop_valid_o(pending_valid),
    .pop_ready_i(pending_ready),
    .pop_o(pending_vq),
    .load_o(pending_load),
    .load_index_o(pending_load_vq),
    .empty_o(pending_empty)
  );

  vireo_table #(
    .Width(16),
    .Depth(NumQueues)
  ) u_value (
    .clk_i,
    .rst_ni,
    .write_i(avail_in_valid_q),
    .write_address_i(avail_in_q.vq_index[QueueBits-1:0]),
    .write_data_i(avail_in_q.idx),
    .read_i(pending_load),
    .read_address_i(pending_load_vq),
    .read_data_o(pending_value)
  );

  vireo_slice #(
    .Width(AvailEventBits)
  ) u_avail (
    .clk_i,
    .rst_ni,
    .s_valid_i(pending_valid),
    .s_ready_o(pending_ready),
    .s_data_i({16'(pending_vq), pending_value}),
    .m_valid_o(avail_valid),
    .m_ready_i(avail_pop),
    .m_data_o(avail)
  );

  // --- Tables. Read data is held until the next read.
  logic queue_read;
  logic [QueueBits-1:0] queue_read_index;
  logic row_enabled, row_corrupt, kind_served, kind_corrupt, queue_corrupt, cq_corrupt;
  logic enabled, served, notifies;
  logic [15:0] size, msix;
  logic [63:0] area;         // address of the used ring, or of the packed ring
  logic [63:0] driver_area;
  position_t position, position_in;
  logic position_write, position_write_ready;
  logic [QueueBits-1:0] position_write_index;
  logic cq_read;
  logic [CqBits-1:0] cq_read_index;
  logic cq_known;
  logic [15:0] cq_vq;
  cq_state_t cq_state, cq_state_in;
  logic cq_state_write;
  logic [CqBits-1:0] cq_state_index;

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
                   ring_packed ? queue_row_write_i.queue_desc : queue_row_write_i.queue_device,
                   queue_row_write_i.queue_driver}),
    .read_i(queue_read),
    .read_address_i(queue_read_index),
    .read_data_o({row_enabled, size, msix, area, driver_area}),
    .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );
  assign enabled = row_enabled && !row_corrupt;

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
    .read_i(queue_read),
    .read_address_i(queue_read_index),
    .read_data_o({kind_served, notifies}),
    .corrupt_o(kind_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );
  assign served = kind_served && !kind_corrupt;
  assign queue_corrupt = row_corrupt || kind_corrupt;

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
    .write_i(position_write),
    .write_ready_o(position_write_ready),
    .write_index_i(position_write_index),
    .write_data_i(position_in),
    .read_i(queue_read),
    .read_index_i(queue_read_index),
    .read_data_o(position)
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(17),
    .Depth(NumCqs),
    .Ram(ContextRamCqWriterCq)
  ) u_context_entry (
    .clk_i,
    .rst_ni,
    .write_i(context_write),
    .write_address_i(table_write_i.index[CqBits-1:0]),
    .write_data_i({pulse_context.valid, pulse_context.vq_index}),
    .read_i(cq_read),
    .read_address_i(cq_read_index),
    .read_data_o({cq_known, cq_vq}),
    .corrupt_o(cq_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_table #(
    .Width($bits(cq_state_t)),
    .Depth(NumCqs)
  ) u_cq_state (
    .clk_i,
    .rst_ni,
    .write_i(cq_state_write),
    .write_address_i(cq_state_index),
    .write_data_i(cq_state_in),
    .read_i(cq_read),
    .read_address_i(cq_read_index),
    .read_data_o(cq_state)
  );

  // --- Buffers of CQs: requests, and their answers, which are stored as they come
  logic ask, ask_ready, ask_room, asked_valid, asked_pop;
  asked_t asked_in, asked;
  logic filled_ready, filled_valid, filled_pop;
  filled_t filled_in, filled;
  logic [AskBits-1:0] asks_d, asks_q;              // of both
  logic cached_write, cached_read;
  cached_t cached;
  logic [CqBits-1:0] cqn;                          // of the current completion, or of the parked CQE
  logic buffer_ok;
  logic bad;                                       // the buffer received cannot hold a CQE, or an event
  logic [BufferCountBits-1:0] fill_d, fill_q;      // buffers received for this request
  logic event_ok_q, event_bad_q;
  logic [15:0] event_head_q;
  logic [63:0] event_address_q;

  vireo_fifo #(
    .Width($bits(asked_t)),
    .Depth(Asks)
  ) u_asked (
    .clk_i,
    .rst_ni,
    .s_valid_i(ask),
    .s_ready_o(ask_ready),
    .s_data_i(asked_in),
    .m_valid_o(asked_valid),
    .m_ready_i(asked_pop),
    .m_data_o(asked)
  );

  vireo_fifo #(
    .Width($bits(filled_t)),
    .Depth(Asks)
  ) u_filled (
    .clk_i,
    .rst_ni,
    .s_valid_i(asked_pop),
    .s_ready_o(filled_ready),
    .s_data_i(filled_in),
    .m_valid_o(filled_valid),
    .m_ready_i(filled_pop),
    .m_data_o(filled)
  );
  assign asks_d = asks_q + AskBits'(ask) - AskBits'(filled_pop);

  always_comb begin
    buffer_pop = buffer_valid;
    buffer_ok = buffer.status == BufferStatusOk;
    bad = !buffer.writable || buffer.bytes < (asked.is_event ? 32'(RdmaEventBytes) : 32'(RdmaCqReqBytes));
    cached_write = buffer_valid && buffer_ok && !asked.is_event;
    asked_pop = buffer_valid && buffer.last;
    fill_d = fill_q + BufferCountBits'(buffer_valid && buffer_ok);
    filled_in = '{is_event: asked.is_event, sure: asked.sure, cqn: asked.cqn, vq_index: asked.vq_index,
                  is_empty: buffer.status == BufferStatusEmpty, count: fill_d};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asks_q <= '0;
      fill_q <= '0;
    end else begin
      asks_q <= asks_d;
      fill_q <= asked_pop ? '0 : fill_d;
    end
  end
  always_ff @(posedge clk_i) begin
    if (buffer_valid && asked.is_event) begin
      event_ok_q <= buffer_ok;
      event_bad_q <= bad;
      event_head_q <= buffer.head;
      event_address_q <= buffer.address;
    end
  end

  vireo_ram_1r1w #(
    .Width($bits(cached_t)),
    .Depth(NumCqs * BufferSlots)
  ) u_cached (
    .clk_i,
    .write_i(cached_write),
    .write_address_i({asked.cqn, BufferSlotBits'(asked.base + fill_q[BufferSlotBits-1:0])}),
    .write_data_i({bad, buffer.head, buffer.address}),
    .read_i(cached_read),
    .read_address_i({cqn, position.first}),
    .read_data_o(cached)
  );

  // --- Parked CQEs
  logic park_push, park_ready, park_valid, park_pop;
  parked_t park_in, park;
  logic [ParkBits-1:0] parks_d, parks_q;
  logic from_park_d, from_park_q;    // the current, or the previous, job is a parked CQE
  logic park_try_d, park_try_q;      // the first one may have a buffer
  logic solicited;                   // of the completion; one with an error is

  vireo_fifo #(
    .Width($bits(parked_t)),
    .Depth(Parks)
  ) u_parked (
    .clk_i,
    .rst_ni,
    .s_valid_i(park_push),
    .s_ready_o(park_ready),
    .s_data_i(park_in),
    .m_valid_o(park_valid),
    .m_ready_i(park_pop),
    .m_data_o(park)
  );
  assign parks_d = parks_q + ParkBits'(park_push) - ParkBits'(park_pop);
  assign solicited = completion.solicited || completion.cqe[8*RdmaCqReqStatusOffset +: 8] != IbWcStatusSuccess;
  assign park_in = '{cqn: completion.cqn[CqBits-1:0], solicited: solicited, cqe: completion.cqe};
  assign cqn = from_park_q ? park.cqn : completion.cqn[CqBits-1:0];

  // --- Slots
  logic slot_push, slot_no_interrupt, slot_pop;
  slot_t slot_in, slot;
  logic slot_read, slot_loaded_q;                  // the oldest is in `slot`
  logic slot_free;                                 // its writes are complete, and nothing follows
  logic [SlotBits-1:0] slot_tail_q, slot_head_q;
  logic [SlotBits:0] slots_d, slots_q;
  logic [Slots-1:0] slot_no_interrupt_d, slot_no_interrupt_q;  // no action after the write
  logic [Slots-1:0] slot_done_d, slot_done_q;      // its used index is written
  logic [Slots-1:0] slot_error_d, slot_error_q;    // one of its writes has failed

  vireo_ram_1r1w #(
    .Width($bits(slot_t)),
    .Depth(Slots)
  ) u_slots (
    .clk_i,
    .write_i(slot_push),
    .write_address_i(slot_tail_q),
    .write_data_i(slot_in),
    .read_i(slot_read),
    .read_address_i(slot_head_q),
    .read_data_o(slot)
  );

  // Of the used index that is written next.
  logic [SlotBits-1:0] publish_slot;
  logic withhold, withhold_again;

  // verilator lint_off UNUSEDSIGNAL
  logic [TagSlotBits-1:0] done_slot;
  // verilator lint_on UNUSEDSIGNAL
  assign done_slot = done_i.tag[TagSlotBits-1:0];

  assign slot_read = slots_q != '0 && !slot_loaded_q;
  assign slot_free = slot_done_q[slot_head_q] && slot_no_interrupt_q[slot_head_q] && !slot_error_q[slot_head_q];

  always_comb begin
    slots_d = slots_q + (SlotBits + 1)'(slot_push) - (SlotBits + 1)'(slot_pop);
    slot_no_interrupt_d = slot_no_interrupt_q;
    slot_done_d = slot_done_q;
    slot_error_d = slot_error_q;
    // The used index is not written: the queue fails, or has failed with an earlier one, which was reported.
    if (withhold) begin
      slot_done_d[publish_slot] = 1'b1;
      if (withhold_again) begin
        slot_no_interrupt_d[publish_slot] = 1'b1;
        slot_error_d[publish_slot] = 1'b0;
      end
    end
    if (slot_push) slot_no_interrupt_d[slot_tail_q] = slot_no_interrupt;
    if (slot_pop) begin
      slot_done_d[slot_head_q] = 1'b0;
      slot_error_d[slot_head_q] = 1'b0;
    end
    if (done_valid_i) begin
      if (done_i.resp != '0) slot_error_d[done_slot[SlotBits-1:0]] = 1'b1;  // 0 is okay [AMBA AXI, A3.4.4]
      if (done_i.tag[TagSlotBits]) slot_done_d[done_slot[SlotBits-1:0]] = 1'b1;
    end
  end

  // --- State machine
  state_e state_d, state_q;
  logic is_event_d, is_event_q;    // the current, or the previous, job is an event
  logic from_context_d, from_context_q;
  logic report_d, report_q;        // StFail: report it
  logic [7:0] code_d, code_q;
  logic [15:0] vq_d, vq_q;         // CQ or event queue
  logic [31:0] lost_d, lost_q;
  event_buffer_e event_buffer_d, event_buffer_q;
  logic completion_go, event_go;   // may start
  logic pick_event;
  logic cqe_pop;
  logic overrun;
  logic [BufferCountBits-1:0] cached_next;
  logic [ParkBits-1:0] parked_next;
  logic [15:0] ahead;              // buffers that are fetched ahead: no more than the ring has
  logic usable;
  logic batch_open_d, batch_open_q;  // the previous completion had `more`
  batch_t batch_d, batch_q;
  logic in_batch;                    // the completion belongs to the open batch
  logic in_ring;                     // StElement, StIndex, StFirst
  logic ring_done;                   // continues with the CQE
  logic publish;                     // a used index makes buffers visible to the driver
  logic [15:0] ring_size, ring_msix, ring_used;  // of the queue, or of the batch
  logic [63:0] ring_area;
  logic ring_notifies;

  logic store_load, store_free;
  dma_store_t store_in, store_q;
  logic store_valid_q;
  logic publish_push, publish_valid, publish_load;  // of the used index
  logic [63:0] publish_address;
  logic [15:0] publish_data;
  logic buffer_request_free;
  buffer_request_t buffer_request_in, buffer_request_q;
  logic buffer_request_valid_q;
  logic interrupt_load, interrupt_free;
  queue_interrupt_t interrupt_in, interrupt_q;
  logic interrupt_valid_q;
  logic queue_failure_load, queue_failure_free;
  queue_failure_t queue_failure_in, queue_failure_q;
  logic queue_failure_valid_q, queue_stopped_q;
  logic fetch_request_load, fetch_request_free;
  dma_read_request_t fetch_request_in, fetch_request_q;
  logic fetch_request_valid_q;
  logic doorbell_load, doorbell_free;
  doorbell_t doorbell_q;
  logic doorbell_valid_q;

  assign fetch_request_free = !fetch_request_valid_q || fetch_request_ready_i;
  assign doorbell_free = !doorbell_valid_q || doorbell_ready_i;
  assign store_free = !store_valid_q || store_ready_i;
  assign buffer_request_free = !buffer_request_valid_q || buffer_request_ready_i;
  assign interrupt_free = !interrupt_valid_q || queue_interrupt_ready_i;
  assign queue_failure_free = !queue_failure_valid_q || queue_failure_ready_i;

  // Positions are modulo 2^16, so they are compared by their distance to the device's position.
  logic [15:0] arm_unconsumed, arm_in_flight, arm_solicited;
  logic arm_set_solicited, arm_set_next, arm_after, arm_after_solicited, arm_fire;
  logic done_unconsumed, done_fire;
  // verilator lint_off UNUSEDSIGNAL
  pvirtq_event_suppress_t suppress;   // reserved bits
  // verilator lint_on UNUSEDSIGNAL
  logic [16:0] event_distance, span_length;  // in positions of a packed ring, signed
  logic interrupt_due;
  logic [SlotBits-1:0] tag_slot;
  logic [63:0] element_address, index_address;
  logic [15:0] used_next, at;
  logic [15:0] head;                  // of the buffer that is returned
  logic [31:0] head_bytes;            // that were written to it
  logic has_id;
  logic by_id;                        // packed ring: used at the queue's own position, in any order
  logic [15:0] flags_head;            // of the used descriptor: wrap counter of its position, flag write
  logic flags_written;
  logic [15:0] flags;
  logic [PlaceBits-1:0] place_next;
  logic place_last;
  logic [15:0] target_head;
  logic [31:0] target_bytes;
  logic [31:0] lost_next;

  always_comb begin
    state_d = state_q;
    is_event_d = is_event_q;
    from_context_d = from_context_q;
    report_d = report_q;
    code_d = code_q;
    vq_d = vq_q;
    lost_d = lost_q;
    event_buffer_d = event_buffer_q;
    from_park_d = from_park_q;
    park_try_d = park_try_q;
    batch_open_d = batch_open_q;
    batch_d = batch_q;
    ring_done = 1'b0;
    publish = 1'b0;

    completion_pop = 1'b0;
    host_event_pop = 1'b0;
    cq_arm_pop = 1'b0;
    context_pop = 1'b0;
    cqe_pop = 1'b0;
    park_push = 1'b0;
    park_pop = 1'b0;
    filled_pop = 1'b0;
    ask = 1'b0;
    queue_read = 1'b0;
    queue_read_index = completion.vq_index[QueueBits-1:0];
    cq_read = 1'b0;
    cq_read_index = completion.cqn[CqBits-1:0];
    cached_read = 1'b0;
    slot_push = 1'b0;
    slot_no_interrupt = 1'b0;
    slot_pop = slot_free;
    position_write = 1'b0;
    position_write_index = vq_q[QueueBits-1:0];
    position_in = position;
    cq_state_write = 1'b0;
    cq_state_index = cqn;
    cq_state_in = cq_state;
    store_load = 1'b0;
    publish_push = 1'b0;
    interrupt_load = 1'b0;
    queue_failure_load = 1'b0;
    fetch_request_load = 1'b0;
    doorbell_load = 1'b0;
    question_push = 1'b0;
    suppression_pop = 1'b0;
    avail_pop = 1'b0;

    in_ring = state_q == StElement || state_q == StIndex || state_q == StFirst;
    in_batch = in_ring && batch_open_q;
    usable = in_batch ? batch_q.usable : enabled && served && !position.failed;
    ring_notifies = in_batch ? batch_q.notifies : notifies;
    ring_size = in_batch ? batch_q.size : size;
    ring_msix = in_batch ? batch_q.msix : msix;
    ring_area = in_batch ? batch_q.area : area;
    ring_used = in_batch ? batch_q.used : position.used;
    completion_go = completion_valid && (!completion.has_cqe || park_ready);
    event_go = host_event_valid && !batch_open_q && (event_buffer_q == EventNone || event_buffer_q == EventReady);
    pick_event = event_go && (!completion_go || !is_event_q);
    lost_next = lost_q == '1 ? lost_q : lost_q + 32'd1;

    target_head = is_event_q ? event_head_q : cached.head;
    target_bytes = is_event_q ? 32'(RdmaEventBytes) : 32'(RdmaCqReqBytes);
    head = target_head;
    head_bytes = target_bytes;
    has_id = 1'b0;
    by_id = Config.max_srqs != 0 && in_ring && ring_packed && completion.by_id;
    if (in_ring) begin
      head = by_id ? {!position.wrapped, position.place} : completion.head;
      head_bytes = completion.used_bytes;
      has_id = completion.has_id;
    end
    flags_head = state_q == StFirst ? batch_q.first : head;
    flags_written = state_q == StFirst ? batch_q.written : head_bytes != '0;

    used_next = ring_used + 16'd1;
    tag_slot = slot_tail_q;
    if (ring_packed) begin
      at = 16'(flags_head[PlaceBits-1:0]);
      index_address = ring_area + 64'(PvirtqDescBytes) * 64'(at) + 64'(PvirtqDescFlagsOffset);
      element_address = ring_area + 64'(PvirtqDescBytes) * 64'(at) + 64'(PvirtqDescLenOffset);
    end else begin
      at = ring_used & (ring_size - 16'd1);  // sizes are powers of two [virtio 1.3, 2.7]
      index_address = ring_area + 64'(VirtqUsedIdxOffset);
      element_address = ring_area + 64'(VirtqUsedBytes) + 64'(VirtqUsedElemBytes) * 64'(at);
    end
    // Avail and used bit equal the wrap counter; flag write: the length is valid [virtio 1.3, 2.8.1, 2.8.2 and 2.8.4].
    flags = flags_head[PlaceBits] ? VirtqDescFlagsAvail | VirtqDescFlagsUsed : '0;
    if (flags_written) flags |= VirtqDescFlagsWrite;
    place_last = 16'(head[PlaceBits-1:0]) == ring_size - 16'd1;
    place_next = place_last ? '0 : head[PlaceBits-1:0] + 1'b1;

    // Address and data of the write, or of the used index, by state.
    store_in = '{address: element_address, bytes: 7'(VirtqUsedElemBytes), notify: 1'b1,
                 tag: 8'(tag_slot), data: '0};
    unique case (state_q)
      StElement, StTargetElement: begin
        if (ring_packed) begin
          store_in.bytes = has_id || by_id ? 7'(PvirtqDescFlagsOffset - PvirtqDescLenOffset)
                                           : 7'(PvirtqDescIdOffset - PvirtqDescLenOffset);
          store_in.data[31:0] = head_bytes;
          if (has_id || by_id) store_in.data[47:32] = by_id ? completion.head : completion.id;
        end else begin
          store_in.data[63:0] = pack_virtq_used_elem('{len: head_bytes, id: 32'(head)});
        end
      end
      StData: begin
        if (is_event_q) begin
          store_in.address = event_address_q;
          store_in.bytes = 7'(RdmaEventBytes);
          store_in.data[8*RdmaEventBytes-1:0] =
              pack_rdma_event('{lost: lost_q, code: host_event.code, element: host_event.element,
                                event_type: 32'(host_event.event_type)});
        end else begin
          store_in.address = cached.address;
          store_in.bytes = 7'(RdmaCqReqBytes);
          store_in.data[8*RdmaCqReqBytes-1:0] = from_park_q ? park.cqe : completion.cqe;
        end
      end
      StAvail: begin
        store_in.address = area + 64'(VirtqUsedBytes) + 64'(VirtqUsedElemBytes) * 64'(size);
        store_in.bytes = 7'(VirtqAvailEventBytes);
        store_in.tag[TagSlotBits] = 1'b1;
        store_in.data[15:0] = avail.idx;
      end
      default: begin
        store_in.address = index_address;
        store_in.bytes = 7'd2;
        store_in.data[15:0] = ring_packed ? flags : used_next;
      end
    endcase

    slot_in = '{is_avail: 1'b0, is_cq: !is_event_q, span: '{first: ring_used, next_position: used_next}, vq_index: vq_q,
                cqn: cqn, solicited: from_park_q ? park.solicited : solicited,
                position: used_next, msix: ring_msix};
    if (ring_packed) begin
      slot_in.span = '{first: head,
                       next_position: has_id ? completion.next_position : {head[PlaceBits] ^ place_last, place_next}};
    end
    if (in_batch) slot_in.span.first = batch_q.first;

    ask_room = asks_q < AskBits'(Asks - 1) && buffer_request_free;
    cached_next = position.cached - 1'b1;
    parked_next = position.parked - ParkBits'(from_park_q && position.parked != '0);
    ahead = size < 16'(BufferSlots) ? size : 16'(BufferSlots);
    asked_in = '{is_event: is_event_q, sure: state_q == StCq || (cached_next == '0 && parked_next != '0), cqn: cqn,
                 vq_index: vq_q, base: position.first + position.cached[BufferSlotBits-1:0]};
    buffer_request_in = '{client: BufferClientCompletion, vq_index: vq_q, by_index: 1'b0, index: '0,
                          count: is_event_q ? 6'd1
                               : 6'(BufferSlots) - (state_q == StCq ? 6'd0 : 6'(cached_next)), default: '0};
    overrun = filled.count == '0 && filled.sure && position.asked && cq_known && !cq_state.failed;
    interrupt_in = '{vq_index: cq_vq, msix_vector: msix};
    queue_failure_in = '{vq_index: vq_q, code: code_q};

    // Arming: notify at once if a matching CQE lies between the driver's position and the last CQE in memory.
    arm_set_solicited = from_context_q ? context_job.set_solicited : arm_value.solicited;
    arm_set_next = from_context_q ? context_job.set_next : arm_value.next_completion;
    arm_unconsumed = position.used - arm_value.seen_used_idx;
    if (ring_packed) begin
      arm_unconsumed = 16'(position.place) - 16'(arm_value.seen_used_idx[PlaceBits-1:0]);
      if (arm_value.seen_used_idx[PlaceBits] == position.wrapped) arm_unconsumed += size;
    end
    if (from_context_q) arm_unconsumed = '0;
    arm_in_flight = position.used - cq_state.written;
    arm_solicited = position.used - cq_state.solicited;
    arm_after = arm_unconsumed > arm_in_flight;
    arm_after_solicited = cq_state.has_solicited && arm_solicited < arm_unconsumed;
    arm_fire = (arm_set_next && arm_after) || (arm_set_solicited && arm_after_solicited);

    // No notification for a CQE that the driver had already seen when it armed the CQ, before its write completed.
    done_unconsumed = cq_state.passed || position.used - slot.position < position.used - cq_state.arm_position;
    done_fire = done_unconsumed && (cq_state.armed_next || (cq_state.armed_solicited && slot.solicited));

    // Event suppression of a queue without a CQ.
    question_in = '{span: slot.span, vq_index: slot.vq_index, msix: slot.msix};
    fetch_request_in = '{address: driver_area, bytes: 13'(PvirtqEventSuppressBytes), tag: '0};
    if (!ring_packed) begin
      fetch_request_in.bytes = 13'(VirtqUsedEventBytes);
      fetch_request_in.address = driver_area + 64'(VirtqAvailFlagsOffset);
      if (event_idx) begin
        fetch_request_in.address = driver_area + 64'(VirtqAvailBytes) + 64'(VirtqAvailRingEntryBytes) * 64'(size);
      end
    end
    // Is the event position in [first, next_position)? Its wrap counter selects the lap.
    suppress = unpack_pvirtq_event_suppress(suppression.data);
    event_distance = 17'(suppress.desc_event_off) - 17'(question.span.first[PlaceBits-1:0]);
    if (suppress.desc_event_wrap != question.span.first[PlaceBits]) event_distance += 17'(size);
    span_length = 17'(question.span.next_position[PlaceBits-1:0]) - 17'(question.span.first[PlaceBits-1:0]);
    if (question.span.next_position[PlaceBits] != question.span.first[PlaceBits]) span_length += 17'(size);
    interrupt_due = 1'b1;
    if (ring_packed) begin
      // The reserved value, and `desc` without ring_event_idx, are treated as `enable` [virtio 1.3, 2.8.10].
      if (suppress.desc_event_flags == RingEventFlagsDisable) begin
        interrupt_due = 1'b0;
      end else if (suppress.desc_event_flags == RingEventFlagsDesc && event_idx) begin
        interrupt_due = !event_distance[16] && event_distance < span_length;
      end
    end else if (event_idx) begin
      // [virtio 1.3, 2.7.7.2]
      interrupt_due = 16'(suppression.data[15:0] - question.span.first)
                    < 16'(question.span.next_position - question.span.first);
    end else begin
      interrupt_due = (suppression.data[15:0] & VirtqAvailFlagsNoInterrupt) == '0;
    end
    if (row_corrupt) interrupt_due = 1'b1;  // the size is unknown

    unique case (state_q)
      StIdle: begin
        if (suppression_valid) begin
          queue_read = 1'b1;
          queue_read_index = question.vq_index[QueueBits-1:0];
          state_d = StSuppression;
        end else if (slot_done_q[slot_head_q] && !slot_free && slot_loaded_q
                     && questions_q != QuestionBits'(Questions)) begin
          queue_read = 1'b1;
          queue_read_index = slot.vq_index[QueueBits-1:0];
          cq_read = 1'b1;
          cq_read_index = slot.cqn;
          state_d = StDone;
        end else if (filled_valid) begin
          queue_read = 1'b1;
          queue_read_index = filled.vq_index[QueueBits-1:0];
          cq_read = 1'b1;
          cq_read_index = filled.cqn;
          if (filled.is_event) begin
            event_buffer_d = event_buffer_q == EventVoid ? EventNone : EventReady;
            filled_pop = 1'b1;
            park_try_d = 1'b1;
          end else begin
            state_d = StFilled;
          end
        end else if (context_valid || cq_arm_valid) begin
          cq_read = 1'b1;
          cq_read_index = context_valid ? context_job.cqn : cq_arm.cqn[CqBits-1:0];
          from_context_d = context_valid;
          state_d = StArmRead;
        end else if (avail_valid && !batch_open_q && slots_q <= (SlotBits + 1)'(Slots - 2)) begin
          queue_read = 1'b1;
          queue_read_index = avail.vq_index[QueueBits-1:0];
          state_d = StAvail;
        end else if (park_valid && park_try_q && !batch_open_q && slots_q <= (SlotBits + 1)'(Slots - 2)) begin
          cq_read = 1'b1;
          cq_read_index = park.cqn;
          from_park_d = 1'b1;
          is_event_d = 1'b0;
          state_d = StCqRead;
        end else if ((completion_go || event_go) && slots_q <= (SlotBits + 1)'(Slots - 2)) begin
          queue_read = 1'b1;
          from_park_d = 1'b0;
          is_event_d = pick_event;
          if (pick_event) begin
            queue_read_index = event_vq_q[QueueBits-1:0];
            vq_d = event_vq_q;
            state_d = StEvent;
          end else begin
            cq_read = 1'b1;
            state_d = StElement;
          end
        end
      end

      StElement: begin
        vq_d = cq_vq;
        if (usable) begin
          if (store_free) begin
            store_load = 1'b1;
            state_d = StIndex;
            // The driver must not see its flags, or the index, yet.
            ring_done = completion.more && !(in_batch && ring_packed);
          end
        end else begin
          ring_done = 1'b1;
        end
      end

      StIndex: begin
        if (in_batch && ring_packed) begin
          if (store_free) begin
            store_load = 1'b1;
            state_d = StFirst;
            ring_done = completion.more;
          end
        end else if (position_write_ready) begin
          publish = 1'b1;
          ring_done = 1'b1;
        end
      end

      StFirst: begin
        if (position_write_ready) begin
          publish = 1'b1;
          ring_done = 1'b1;
        end
      end

      StCqRead: begin
        vq_d = cq_vq;
        queue_read = 1'b1;
        queue_read_index = cq_vq[QueueBits-1:0];
        state_d = StCq;
      end

      StCq: begin
        if (!cq_known || cq_state.failed || !usable) begin
          if (!from_park_q || position.parked == '0 || position_write_ready) begin
            position_write = parked_next != position.parked;
            position_in.parked = parked_next;
            cqe_pop = 1'b1;
            state_d = StIdle;
          end
        end else if (position.cached != '0 && (from_park_q || position.parked == '0)) begin
          cached_read = 1'b1;
          state_d = StData;
        end else if (position_write_ready) begin  // no buffer, or behind CQEs of this CQ without one
          ask = position.cached == '0 && !position.asked && ask_room;
          position_write = 1'b1;
          position_in.asked = position.asked || ask;
          if (from_park_q) begin
            park_try_d = 1'b0;
          end else begin
            park_push = 1'b1;
            position_in.parked = position.parked + 1'b1;
            if (position.cached != '0) park_try_d = 1'b1;
            cqe_pop = 1'b1;
          end
          state_d = StIdle;
        end
      end

      // If the queue was reset since the request, its buffers are void.
      StFilled: begin
        position_write_index = filled.vq_index[QueueBits-1:0];
        position_in.asked = 1'b0;
        position_in.cached = position.cached + filled.count;
        cq_state_index = filled.cqn;
        cq_state_in.failed = 1'b1;
        // No buffer: the CQ fails. If the status is `failed`, descriptor fetch has reported the cause.
        queue_failure_in = '{vq_index: filled.vq_index, code: RdmaErrorCqOverrun};
        if (position_write_ready && (!overrun || !filled.is_empty || queue_failure_free)) begin
          queue_failure_load = overrun && filled.is_empty;
          position_write = position.asked;
          cq_state_write = overrun;
          filled_pop = 1'b1;
          park_try_d = 1'b1;
          state_d = StIdle;
        end
      end

      StEvent: begin
        report_d = event_ok_q;
        code_d = RdmaErrorBadDescriptor;
        if (!event_known_q || !usable) begin
          lost_d = lost_next;
          host_event_pop = 1'b1;
          state_d = StIdle;
        end else if (event_buffer_q == EventNone) begin
          if (buffer_request_free) begin
            ask = 1'b1;
            event_buffer_d = EventAsked;
            state_d = StIdle;
          end
        end else if (event_ok_q && !event_bad_q) begin
          state_d = StData;
        end else begin
          lost_d = lost_next;
          state_d = StFail;
        end
      end

      StData: begin
        if (!is_event_q && cached.bad) begin
          report_d = 1'b1;
          code_d = RdmaErrorBadDescriptor;
          state_d = StFail;
        end else if (store_free) begin
          store_load = 1'b1;
          state_d = StTargetElement;
        end
      end

      StTargetElement: begin
        if (store_free) begin
          store_load = 1'b1;
          state_d = StTargetIndex;
        end
      end

      StTargetIndex: begin
        if (position_write_ready) begin
          publish_push = 1'b1;
          position_write = 1'b1;
          position_in.used = used_next;
          position_in.place = place_next;
          position_in.wrapped = !target_head[PlaceBits] ^ place_last;
          slot_push = 1'b1;
          slot_no_interrupt = is_event_q && msix == VirtioMsiNoVector;
          if (is_event_q) begin
            lost_d = '0;
            host_event_pop = 1'b1;
          end else begin
            position_in.cached = cached_next;
            position_in.first = position.first + 1'b1;
            position_in.parked = parked_next;
            // Half of them are used: more are requested.
            ask = !position.asked && 16'(cached_next) <= (ahead >> 1) && ask_room;
            position_in.asked = position.asked || ask;
            cqe_pop = 1'b1;
          end
          state_d = StIdle;
        end
      end

      StFail: begin
        if (position_write_ready && (!report_q || queue_failure_free)) begin
          queue_failure_load = report_q;
          if (is_event_q) begin
            position_write = report_q;
            position_in.failed = 1'b1;
            host_event_pop = 1'b1;
          end else begin
            cq_state_write = 1'b1;
            cq_state_in.failed = 1'b1;
            cqe_pop = 1'b1;
          end
          state_d = StIdle;
        end
      end

      StArmRead: begin
        queue_read = 1'b1;
        queue_read_index = cq_vq[QueueBits-1:0];
        state_d = StArm;
      end

      StArm: begin
        if (interrupt_free) begin
          cq_state_index = from_context_q ? context_job.cqn : cq_arm.cqn[CqBits-1:0];
          context_pop = from_context_q;
          cq_arm_pop = !from_context_q;
          state_d = StIdle;
          if (from_context_q && context_job.set_failed) cq_state_in.failed = 1'b1;
          if (arm_set_solicited || arm_set_next) begin
            cq_state_in.armed_solicited = !arm_fire && (arm_set_solicited || cq_state.armed_solicited);
            cq_state_in.armed_next = !arm_fire && (arm_set_next || cq_state.armed_next);
            cq_state_in.arm_position = position.used - arm_unconsumed;
            cq_state_in.passed = 1'b0;
          end
          if (from_context_q) begin
            cq_state_write = 1'b1;
            if (!context_job.valid) cq_state_in = '0;
          end else begin
            cq_state_write = cq_known && !row_corrupt;  // a failed CQ still reports CQEs written earlier
            interrupt_load = cq_state_write && arm_fire && msix != VirtioMsiNoVector;
          end
        end
      end

      StDone: begin
        cq_state_index = slot.cqn;
        interrupt_in = '{vq_index: slot.vq_index, msix_vector: slot.msix};
        position_write_index = slot.vq_index[QueueBits-1:0];
        queue_failure_in = '{vq_index: slot.vq_index, code: RdmaErrorQueueDmaError};
        if (slot_error_q[slot_head_q]) begin
          if (position_write_ready && queue_failure_free) begin
            queue_failure_load = !position.failed && !(slot.is_cq && cq_state.failed);  // once
            position_write = 1'b1;
            position_in.failed = 1'b1;
            cq_state_write = slot.is_cq;
            cq_state_in.failed = 1'b1;
            slot_pop = 1'b1;
            state_d = StIdle;
          end
        end else if (slot.is_avail) begin
          if (doorbell_free) begin
            doorbell_load = 1'b1;
            slot_pop = 1'b1;
            state_d = StIdle;
          end
        end else if (!slot.is_cq) begin
          if (!enabled) begin  // reset since: no event suppression to read
            slot_pop = 1'b1;
            state_d = StIdle;
          end else if (fetch_request_free) begin
            fetch_request_load = 1'b1;
            question_push = 1'b1;
            slot_pop = 1'b1;
            state_d = StIdle;
          end
        end else if (interrupt_free) begin
          interrupt_load = done_fire && slot.msix != VirtioMsiNoVector;
          cq_state_write = 1'b1;
          cq_state_in.written = slot.position;
          cq_state_in.passed = done_unconsumed;
          if (slot.solicited) begin
            cq_state_in.has_solicited = 1'b1;
            cq_state_in.solicited = slot.position;
          end else if (16'(slot.position - cq_state.solicited) >= VirtqSizeMax) begin
            cq_state_in.has_solicited = 1'b0;  // seen long ago; cleared before the distance wraps
          end
          if (done_fire) begin
            cq_state_in.armed_solicited = 1'b0;
            cq_state_in.armed_next = 1'b0;
          end
          slot_pop = 1'b1;
          state_d = StIdle;
        end
      end

      StSuppression: begin
        position_write_index = question.vq_index[QueueBits-1:0];
        interrupt_in = '{vq_index: question.vq_index, msix_vector: question.msix};
        queue_failure_in = '{vq_index: question.vq_index, code: RdmaErrorQueueDmaError};
        if (suppression.error) begin
          if (position_write_ready && queue_failure_free) begin
            queue_failure_load = !position.failed;  // once
            position_write = 1'b1;
            position_in.failed = 1'b1;
            suppression_pop = 1'b1;
            state_d = StIdle;
          end
        end else if (interrupt_free) begin
          interrupt_load = interrupt_due;
          suppression_pop = 1'b1;
          state_d = StIdle;
        end
      end

      StAvail: begin
        slot_in.is_avail = 1'b1;
        slot_in.is_cq = 1'b0;
        slot_in.vq_index = avail.vq_index;
        if (!usable) begin
          avail_pop = 1'b1;
          state_d = StIdle;
        end else if (store_free) begin
          store_load = 1'b1;
          slot_push = 1'b1;
          avail_pop = 1'b1;
          state_d = StIdle;
        end
      end

      default: state_d = StIdle;
    endcase

    if (publish) begin
      publish_push = 1'b1;
      position_write = 1'b1;
      position_write_index = completion.vq_index[QueueBits-1:0];
      position_in.used = used_next;
      if (by_id) begin
        position_in.place = place_next;
        position_in.wrapped = !head[PlaceBits] ^ place_last;
      end
      slot_push = 1'b1;
      slot_no_interrupt = completion.has_cqe || !ring_notifies || ring_msix == VirtioMsiNoVector;
      slot_in.is_cq = 1'b0;
      slot_in.vq_index = completion.vq_index;
    end
    if (ring_done) begin
      batch_open_d = completion.more;
      if (!in_batch) begin
        batch_d = '{usable: usable, notifies: notifies, size: size, msix: msix, area: area,
                    first: ring_packed ? head : position.used, written: head_bytes != '0, used: '0};
      end
      batch_d.used = used_next;
      // No CQE of a work request that is not returned because its queue has bad parity.
      if (completion.has_cqe && !queue_corrupt) begin
        queue_read = 1'b1;
        queue_read_index = cq_vq[QueueBits-1:0];
        state_d = StCq;
      end else begin
        completion_pop = 1'b1;
        state_d = StIdle;
      end
    end

    if (cqe_pop) begin
      completion_pop = !from_park_q;
      park_pop = from_park_q;
      if (from_park_q) park_try_d = 1'b1;
    end
    if (host_event_pop) event_buffer_d = EventNone;
    if (lost_clear) lost_d = '0;
    if (event_drop && event_buffer_d == EventReady) event_buffer_d = EventNone;
    if (event_drop && event_buffer_d == EventAsked) event_buffer_d = EventVoid;
  end

  // --- Parity: in the cycle after a read that counts
  logic queue_read_q, cq_read_q, cq_counts, parity_error_q;

  always_comb begin
    unique case (state_q)
      StElement: cq_counts = completion.has_cqe;
      StFilled, StArmRead, StCqRead: cq_counts = 1'b1;
      default: cq_counts = 1'b0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      queue_read_q <= 1'b0;
      cq_read_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      queue_read_q <= queue_read;
      cq_read_q <= cq_read;
      parity_error_q <= (queue_read_q && state_q != StIdle && queue_corrupt)
                     || (cq_read_q && cq_counts && cq_corrupt);
    end
  end
  assign parity_error_o = parity_error_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      is_event_q <= 1'b0;
      batch_open_q <= 1'b0;
      lost_q <= '0;
      contexts_q <= '0;
      parks_q <= '0;
      park_try_q <= 1'b0;
      event_buffer_q <= EventNone;
      slot_tail_q <= '0;
      slot_head_q <= '0;
      slots_q <= '0;
      slot_loaded_q <= 1'b0;
      slot_done_q <= '0;
      slot_error_q <= '0;
      store_valid_q <= 1'b0;
      buffer_request_valid_q <= 1'b0;
      interrupt_valid_q <= 1'b0;
      queue_failure_valid_q <= 1'b0;
      queue_stopped_q <= 1'b0;
      fetch_request_valid_q <= 1'b0;
      doorbell_valid_q <= 1'b0;
      questions_q <= '0;
    end else begin
      state_q <= state_d;
      is_event_q <= is_event_d;
      batch_open_q <= batch_open_d;
      lost_q <= lost_d;
      contexts_q <= contexts_d;
      parks_q <= parks_d;
      park_try_q <= park_try_d;
      event_buffer_q <= event_buffer_d;
      if (slot_push) slot_tail_q <= slot_tail_q + 1'b1;
      if (slot_pop) slot_head_q <= slot_head_q + 1'b1;
      slots_q <= slots_d;
      slot_loaded_q <= slots_q != '0 && !slot_pop;
      slot_done_q <= slot_done_d;
      slot_error_q <= slot_error_d;
      store_valid_q <= store_load || publish_load || (store_valid_q && !store_ready_i);
      buffer_request_valid_q <= ask || (buffer_request_valid_q && !buffer_request_ready_i);
      interrupt_valid_q <= interrupt_load || (interrupt_valid_q && !queue_interrupt_ready_i);
      queue_stopped_q <= queue_failure_load;
      queue_failure_valid_q <= queue_failure_load || (queue_failure_valid_q && !queue_failure_ready_i);
      fetch_request_valid_q <= fetch_request_load || (fetch_request_valid_q && !fetch_request_ready_i);
      doorbell_valid_q <= doorbell_load || (doorbell_valid_q && !doorbell_ready_i);
      questions_q <= questions_d;
    end
  end

  always_ff @(posedge clk_i) begin
    from_context_q <= from_context_d;
    report_q <= report_d;
    code_q <= code_d;
    vq_q <= vq_d;
    batch_q <= batch_d;
    from_park_q <= from_park_d;
    slot_no_interrupt_q <= slot_no_interrupt_d;
    if (store_load) begin
      store_q <= store_in;
    end else if (publish_load) begin
      store_q <= '{address: publish_address, bytes: 7'd2, notify: 1'b1,
                   tag: {1'b1, TagSlotBits'(publish_slot)}, data: $bits(store_q.data)'(publish_data)};
    end
    if (ask) buffer_request_q <= buffer_request_in;
    if (interrupt_load) interrupt_q <= interrupt_in;
    if (queue_failure_load) queue_failure_q <= queue_failure_in;
    if (fetch_request_load) fetch_request_q <= fetch_request_in;
    if (doorbell_load) doorbell_q <= doorbell_t'(slot.vq_index);
  end

  // --- Used indices, when what they make visible is in memory. Other writes go first: there are cycles without one.
  assign publish_load = publish_valid && store_free && !store_load;

  vireo_used_publish #(
    .NumQueues(NumQueues),
    .Slots(Slots)
  ) u_publish (
    .clk_i,
    .rst_ni,
    .row_clear_i(queue_row_write_valid_i),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(store_load && !store_in.tag[TagSlotBits]),
    .write_done_i(done_valid_i && !done_i.tag[TagSlotBits]),
    .push_i(publish_push),
    .push_slot_i(slot_tail_q),
    .push_vq_i(position_write_index),
    .push_address_i(store_in.address),
    .push_data_i(store_in.data[15:0]),
    .slot_o(publish_slot),
    .slot_error_i(slot_error_q[publish_slot]),
    .store_valid_o(publish_valid),
    .store_ready_i(store_free && !store_load),
    .store_address_o(publish_address),
    .store_data_o(publish_data),
    .withhold_o(withhold),
    .withhold_again_o(withhold_again)
  );

  // --- Fence: after a write of a virtqueue's entry, the end of the operation in progress and of an open batch, then of
  // the requests for buffers and of the CQEs parked, then of the slots in use, then of the reads of event suppression
  // that these have caused. All of them end in order.
  typedef enum logic [2:0] {
    FenceNone,
    FenceOperation,
    FenceBuffers,
    FenceSlots,
    FenceQuestions
  } fence_e;
  localparam int unsigned BeforeBits = SlotBits + 1 > QuestionBits ? SlotBits + 1 : QuestionBits;

  fence_e fence_d, fence_q;
  logic [BeforeBits-1:0] before_d, before_q;  // slots, questions
  logic [AskBits-1:0] asks_before_d, asks_before_q;
  logic [ParkBits-1:0] parks_before_d, parks_before_q;

  always_comb begin
    fence_d = fence_q;
    before_d = before_q;
    asks_before_d = asks_before_q - AskBits'(filled_pop && asks_before_q != '0);
    parks_before_d = parks_before_q - ParkBits'(park_pop && parks_before_q != '0);
    unique case (fence_q)
      FenceNone: ;
      FenceOperation: if (state_q == StIdle && !batch_open_q) begin
        fence_d = FenceBuffers;
        asks_before_d = asks_q - AskBits'(filled_pop);
        parks_before_d = parks_q - ParkBits'(park_pop);
      end
      FenceBuffers: if (asks_before_q == '0 && parks_before_q == '0) begin
        fence_d = FenceSlots;
        before_d = BeforeBits'(slots_q) - BeforeBits'(slot_pop);
      end
      FenceSlots: begin
        before_d = before_q - BeforeBits'(slot_pop);
        if (before_q == '0) begin
          fence_d = FenceQuestions;
          before_d = BeforeBits'(questions_q) - BeforeBits'(suppression_pop);
        end
      end
      FenceQuestions: begin
        before_d = before_q - BeforeBits'(suppression_pop);
        if (before_q == '0) fence_d = FenceNone;
      end
      default: fence_d = FenceNone;
    endcase
    if (virtqueue_write) fence_d = FenceOperation;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_q <= FenceNone;
    end else begin
      fence_q <= fence_d;
    end
  end
  always_ff @(posedge clk_i) begin
    before_q <= before_d;
    asks_before_q <= asks_before_d;
    parks_before_q <= parks_before_d;
  end

  assign fence_o = fence_q != FenceNone;
  assign completion_waits_o = completion_valid;

  assign store_valid_o = store_valid_q;
  assign store_o = store_q;
  assign buffer_request_valid_o = buffer_request_valid_q;
  assign buffer_request_o = buffer_request_q;
  assign queue_interrupt_valid_o = interrupt_valid_q;
  assign queue_interrupt_o = interrupt_q;
  assign queue_failure_valid_o = queue_failure_valid_q;
  assign queue_failure_o = queue_failure_q;
  assign queue_stopped_valid_o = queue_stopped_q;
  assign fetch_request_valid_o = fetch_request_valid_q;
  assign fetch_request_o = fetch_request_q;
  assign doorbell_valid_o = doorbell_valid_q;
  assign doorbell_o = doorbell_q;
  assign idle_o = state_q == StIdle && !batch_open_q && !completion_valid && !host_event_valid && !cq_arm_valid
               && asks_q == '0 && parks_q == '0 && contexts_q == '0 && slots_q == '0 && questions_q == '0
               && !store_valid_q && !buffer_request_valid_q && !interrupt_valid_q && !queue_failure_valid_q
               && !doorbell_valid_q && !avail_in_valid_q && !avail_push_q && pending_empty && !pending_valid
               && !avail_valid;

`ifndef SYNTHESIS
  contexts_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) context_write |-> cq_context_ready_o);
  questions_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) question_push |-> question_ready);
  asked_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) ask |-> ask_ready);
  filled_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) asked_pop |-> filled_ready);
  buffer_was_asked_for: assert property (@(posedge clk_i) disable iff (!rst_ni) buffer_valid |-> asked_valid);
  parked_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) park_push |-> park_ready);
  answer_has_question: assert property (@(posedge clk_i) disable iff (!rst_ni) suppression_pop |-> question_valid);
`endif

endmodule
