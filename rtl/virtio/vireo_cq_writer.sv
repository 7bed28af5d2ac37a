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
// queue but a shared receive queue is used in order, so the used descriptor overwrites the buffer's first descriptor,
// which already has the buffer id unless the buffer is a chain: only the last descriptor of a chain must have the id
// [virtio 1.3, 2.8.6]. It then comes with the completion. Buffers of a shared receive queue come with their id, in any
// order, and are used at the position that this block keeps.
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
//
// This module connects the parts: vireo_cq_control, the state machine, decides a step per cycle; vireo_cq_tables is what
// it knows, vireo_cq_buffers where CQEs go, vireo_cqe_elements what is added to them, vireo_cq_store the write of each
// state, vireo_cq_slots what follows writes that have not ended, vireo_suppression_reads and vireo_avail_pending jobs of
// their own, vireo_cq_fence their end.
module vireo_cq_writer
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Slots,                            // used indices in flight; a power of two, 4 to 128
  localparam int unsigned NumQueues = queues_of(Config)   // virtqueues; 2 or more
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic [63:0]          time_ns_i,                // device time; never decreases

  // Features that the driver accepted. They change while nothing is in flight.
  input  logic                 ring_packed_i,
  input  logic                 event_idx_i,

  output logic                 cq_context_ready_o,       // a cq_context may be written in the next cycle
  input  logic                 table_write_valid_i,
  input  table_write_t         table_write_i,
  input  logic                 queue_row_write_valid_i,
  input  queue_row_write_t     queue_row_write_i,
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
  input  dma_fetched_t         fetched_i,

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
  localparam int unsigned CqBits = $clog2(Config.num_cqs);
  localparam int unsigned SlotBits = $clog2(Slots);

  // --- The state machine, and its current job
  // verilator lint_off UNUSEDSIGNAL
  step_t step;  // some actions concern the state machine alone
  // verilator lint_on UNUSEDSIGNAL
  state_e state;
  logic is_event, from_park, from_context, batch_open, in_ring, in_batch;
  logic [15:0] cqn;
  ring_t ring;
  batch_t batch;
  logic [31:0] lost;
  slot_t slot_in;
  parked_t park_in;
  asked_t asked_in;
  logic [5:0] ask_count;

  // --- Inputs
  logic completion_valid, host_event_valid, cq_arm_valid;
  // verilator lint_off UNUSEDSIGNAL
  completion_t completion_in;
  // verilator lint_on UNUSEDSIGNAL
  completion_t completion;  // of as many CQs as there are
  host_event_t host_event;
  cq_arm_t cq_arm;

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
    .m_ready_i(step.completion_ends || (step.cqe_ends && !from_park)),
    .m_data_o(completion_in)
  );

  always_comb begin
    completion = completion_in;
    completion.cqn = 16'(completion_in.cqn[CqBits-1:0]);
  end

  vireo_slice #(
    .Width(HostEventBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_host_event (
    .clk_i,
    .rst_ni,
    .s_valid_i(host_event_valid_i),
    .s_ready_o(host_event_ready_o),
    .s_data_i(host_event_i),
    .m_valid_o(host_event_valid),
    .m_ready_i(step.event_ends),
    .m_data_o(host_event)
  );

  vireo_slice #(
    .Width(CqArmBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_cq_arm (
    .clk_i,
    .rst_ni,
    .s_valid_i(cq_arm_valid_i),
    .s_ready_o(cq_arm_ready_o),
    .s_data_i(cq_arm_i),
    .m_valid_o(cq_arm_valid),
    .m_ready_i(step.arm_ends && !from_context),
    .m_data_o(cq_arm)
  );

  logic avail_valid, avail_idle;
  avail_event_t avail;

  vireo_avail_pending #(
    .Config(Config)
  ) u_avail (
    .clk_i,
    .rst_ni,
    .event_valid_i(avail_event_valid_i),
    .event_i(avail_event_i),
    .avail_valid_o(avail_valid),
    .avail_pop_i(step.avail_ends),
    .avail_o(avail),
    .idle_o(avail_idle)
  );

  logic suppression_free, suppression_room, answer_valid;
  suppression_read_t question;
  suppression_t suppression;
  logic [QuestionBits-1:0] questions;
  slot_t ended;
  queue_t queue;

  vireo_suppression_reads u_suppression (
    .clk_i,
    .rst_ni,
    .free_o(suppression_free),
    .room_o(suppression_room),
    .read_i(step.suppression_read),
    .question_i('{span: ended.span, vq_index: ended.vq_index, msix: ended.msix}),
    .request_i(suppression_request(ring_packed, event_idx, queue)),
    .fetch_request_valid_o,
    .fetch_request_ready_i,
    .fetch_request_o,
    .fetched_valid_i,
    .fetched_ready_o,
    .fetched_i,
    .answer_valid_o(answer_valid),
    .answer_pop_i(step.answer_ends),
    .question_o(question),
    .answer_o(suppression),
    .questions_o(questions)
  );

  // --- Tables
  logic virtqueue_write, table_clear, context_valid, contexts_idle;
  context_t context_job;
  logic [CqElements-1:0] cq_elements;
  logic event_known, lost_clear, event_drop, cq_known, position_ready, cq_counts;
  logic [15:0] event_vq, cq_vq;
  position_t position;
  cq_state_t cq_state;

  always_comb begin
    unique case (state)
      StElement: cq_counts = completion.has_cqe;
      StFilled, StArmRead, StCqRead: cq_counts = 1'b1;
      default: cq_counts = 1'b0;
    endcase
  end

  vireo_cq_tables #(
    .Config(Config)
  ) u_tables (
    .clk_i,
    .rst_ni,
    .ring_packed_i(ring_packed),
    .table_write_valid_i,
    .table_write_i,
    .queue_row_write_i,
    .queue_row_write_valid_i,
    .context_flip_valid_i,
    .context_flip_i,
    .virtqueue_write_o(virtqueue_write),
    .table_clear_o(table_clear),
    .context_ready_o(cq_context_ready_o),
    .context_valid_o(context_valid),
    .context_pop_i(step.arm_ends && from_context),
    .context_o(context_job),
    .contexts_idle_o(contexts_idle),
    .event_known_o(event_known),
    .event_vq_o(event_vq),
    .lost_clear_o(lost_clear),
    .event_drop_o(event_drop),
    .queue_read_index_i(step.queue_read_index),
    .cq_read_index_i(step.cq_read_index),
    .position_index_i(step.position_index),
    .cq_state_index_i(step.cq_state_index),
    .queue_read_i(step.queue_read),
    .queue_o(queue),
    .position_o(position),
    .cq_read_i(step.cq_read),
    .cq_known_o(cq_known),
    .cq_vq_o(cq_vq),
    .cq_elements_o(cq_elements),
    .cq_state_o(cq_state),
    .position_ready_o(position_ready),
    .position_write_i(step.position_write),
    .position_i(step.position),
    .cq_state_write_i(step.cq_state_write),
    .cq_state_i(step.cq_state),
    .queue_counts_i(state != StIdle),
    .cq_counts_i(cq_counts),
    .parity_error_o
  );

  // --- Buffers of CQs and for events, and CQEs that wait for them
  logic filled_valid, event_ok, park_ready, parked_valid, ask_free;
  filled_t filled;
  logic [AskBits-1:0] asks;
  logic [ParkBits-1:0] parks;
  cached_t cached, event_buffer;
  parked_t parked;

  vireo_cq_buffers #(
    .Config(Config)
  ) u_buffers (
    .clk_i,
    .rst_ni,
    .buffer_valid_i,
    .buffer_ready_o,
    .buffer_i,
    .ask_free_o(ask_free),
    .ask_i(step.ask),
    .asked_i(asked_in),
    .ask_count_i(ask_count),
    .buffer_request_valid_o,
    .buffer_request_ready_i,
    .buffer_request_o,
    .filled_valid_o(filled_valid),
    .filled_pop_i(step.filled_ends),
    .filled_o(filled),
    .asks_o(asks),
    .read_i(step.cached_read),
    .read_cqn_i(cqn),
    .read_slot_i(position.first),
    .read_o(cached),
    .event_ok_o(event_ok),
    .event_o(event_buffer),
    .park_i(step.park),
    .park_ready_o(park_ready),
    .park_data_i(park_in),
    .parked_valid_o(parked_valid),
    .parked_pop_i(step.cqe_ends && from_park),
    .parked_o(parked),
    .parks_o(parks)
  );

  // --- Writes, and what follows them
  logic [8*RdmaCqReqBytes-1:0] cqe;
  logic store_free, by_id, publish_valid, publish_ready;
  dma_store_t index_in, publish;
  logic [15:0] next_used;
  logic [PlaceBits-1:0] next_place;
  logic next_wrapped;
  span_t span;
  logic slot_room, slot_free, ended_valid, ended_error;
  logic [SlotBits:0] slots;
  logic [SlotBits-1:0] slot_tail;

  vireo_cqe_elements #(
    .Config(Config)
  ) u_elements (
    .cqe_i(from_park ? parked.cqe : completion.cqe),
    .elements_i(cq_elements),
    .time_ns_i,
    .cqe_o(cqe)
  );

  vireo_cq_store #(
    .Config(Config)
  ) u_store (
    .clk_i,
    .rst_ni,
    .ring_packed_i(ring_packed),
    .state_i(state),
    .is_event_i(is_event),
    .in_ring_i(in_ring),
    .in_batch_i(in_batch),
    .ring_i(ring),
    .batch_i(batch),
    .position_i(position),
    .completion_i(completion),
    .cached_i(cached),
    .event_buffer_i(event_buffer),
    .cqe_i(cqe),
    .event_i(host_event),
    .lost_i(lost),
    .avail_i(avail.idx),
    .slot_i(TagSlotBits'(slot_tail)),
    .by_id_o(by_id),
    .next_used_o(next_used),
    .next_place_o(next_place),
    .next_wrapped_o(next_wrapped),
    .span_o(span),
    .index_o(index_in),
    .free_o(store_free),
    .load_i(step.store),
    .publish_valid_i(publish_valid),
    .publish_ready_o(publish_ready),
    .publish_i(publish),
    .store_valid_o,
    .store_ready_i,
    .store_o
  );

  vireo_cq_slots #(
    .Config(Config),
    .Slots(Slots)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .row_clear_i(queue_row_write_valid_i),
    .row_clear_index_i(queue_row_write_i.vq_index[QueueBits-1:0]),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_write_i.index[QueueBits-1:0]),
    .room_o(slot_room),
    .slots_o(slots),
    .tail_o(slot_tail),
    .push_i(step.slot),
    .slot_i(slot_in),
    .no_interrupt_i(step.slot_no_interrupt),
    .publish_i(step.publish),
    .index_i(index_in),
    .write_i(step.store && state != StAvail),
    .done_i,
    .done_valid_i,
    .ended_valid_o(ended_valid),
    .ended_o(ended),
    .ended_error_o(ended_error),
    .free_o(slot_free),
    .pop_i(step.slot_ends),
    .store_valid_o(publish_valid),
    .store_ready_i(publish_ready),
    .store_o(publish)
  );

  logic interrupt_free, failure_free, doorbell_free, queue_stopped_q;

  vireo_output #(
    .Width(QueueInterruptBits)
  ) u_interrupt (
    .clk_i,
    .rst_ni,
    .free_o(interrupt_free),
    .load_i(step.notify),
    .data_i(step.interrupt_in),
    .m_valid_o(queue_interrupt_valid_o),
    .m_ready_i(queue_interrupt_ready_i),
    .m_data_o(queue_interrupt_o)
  );

  vireo_output #(
    .Width(QueueFailureBits)
  ) u_failure (
    .clk_i,
    .rst_ni,
    .free_o(failure_free),
    .load_i(step.failure),
    .data_i(step.failure_in),
    .m_valid_o(queue_failure_valid_o),
    .m_ready_i(queue_failure_ready_i),
    .m_data_o(queue_failure_o)
  );

  vireo_output #(
    .Width(DoorbellBits)
  ) u_doorbell (
    .clk_i,
    .rst_ni,
    .free_o(doorbell_free),
    .load_i(step.doorbell),
    .data_i(ended.vq_index),
    .m_valid_o(doorbell_valid_o),
    .m_ready_i(doorbell_ready_i),
    .m_data_o(doorbell_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) queue_stopped_q <= 1'b0;
    else queue_stopped_q <= step.failure;
  end
  assign queue_stopped_valid_o = queue_stopped_q;

  vireo_cq_control u_control (
    .clk_i,
    .rst_ni,
    .ring_packed_i(ring_packed),
    .event_idx_i(event_idx),
    .completion_valid_i(completion_valid),
    .completion_i(completion),
    .parked_i(parked),
    .arm_value_i(unpack_rdma_cq_arm(cq_arm.value)),
    .cached_i(cached),
    .event_buffer_i(event_buffer),
    .host_event_valid_i(host_event_valid),
    .parked_valid_i(parked_valid),
    .filled_valid_i(filled_valid),
    .filled_i(filled),
    .arm_valid_i(cq_arm_valid),
    .arm_cqn_i(cq_arm.cqn),
    .context_valid_i(context_valid),
    .context_i(context_job),
    .avail_valid_i(avail_valid),
    .avail_vq_i(avail.vq_index),
    .ended_valid_i(ended_valid),
    .ended_i(ended),
    .ended_error_i(ended_error),
    .answer_valid_i(answer_valid),
    .question_i(question),
    .suppression_i(suppression),
    .queue_i(queue),
    .position_i(position),
    .cq_known_i(cq_known),
    .cq_vq_i(cq_vq),
    .cq_state_i(cq_state),
    .event_known_i(event_known),
    .event_vq_i(event_vq),
    .event_ok_i(event_ok),
    .lost_clear_i(lost_clear),
    .event_drop_i(event_drop),
    .position_ready_i(position_ready),
    .park_ready_i(park_ready),
    .asks_i(asks),
    .ask_free_i(ask_free),
    .slot_room_i(slot_room),
    .slot_free_i(slot_free),
    .store_free_i(store_free),
    .suppression_room_i(suppression_room),
    .suppression_free_i(suppression_free),
    .interrupt_free_i(interrupt_free),
    .failure_free_i(failure_free),
    .doorbell_free_i(doorbell_free),
    .step_o(step),
    .state_o(state),
    .is_event_o(is_event),
    .from_park_o(from_park),
    .from_context_o(from_context),
    .cqn_o(cqn),
    .batch_open_o(batch_open),
    .in_ring_o(in_ring),
    .in_batch_o(in_batch),
    .ring_o(ring),
    .batch_o(batch),
    .lost_o(lost),
    .by_id_i(by_id),
    .next_used_i(next_used),
    .next_place_i(next_place),
    .next_wrapped_i(next_wrapped),
    .span_i(span),
    .slot_o(slot_in),
    .park_o(park_in),
    .asked_o(asked_in),
    .ask_count_o(ask_count)
  );

  vireo_cq_fence #(
    .Slots(Slots)
  ) u_fence (
    .clk_i,
    .rst_ni,
    .start_i(virtqueue_write),
    .operates_i(state != StIdle || batch_open),
    .asks_i(asks),
    .ask_ends_i(step.filled_ends),
    .parks_i(parks),
    .park_ends_i(step.cqe_ends && from_park),
    .slots_i(slots),
    .slot_ends_i(step.slot_ends),
    .questions_i(questions),
    .question_ends_i(step.answer_ends),
    .fence_o
  );

  assign completion_waits_o = completion_valid;
  assign idle_o = state == StIdle && !batch_open && !completion_valid && !host_event_valid && !cq_arm_valid
               && asks == '0 && parks == '0 && contexts_idle && slots == '0 && questions == '0
               && !store_valid_o && !buffer_request_valid_o && !queue_interrupt_valid_o && !queue_failure_valid_o
               && !doorbell_valid_o && avail_idle;

endmodule
