// SPDX-License-Identifier: Apache-2.0

// State machine of vireo_cq_writer: takes one job at a time (a completion, an event, a parked CQE, an answered request
// for buffers, an arm, an avail_event, a write that has ended, an answer about event suppression) and decides step by
// step what is written, kept and reported. It has no memory but the current job's; what it decides (step_o) takes effect
// in the tables, slots and outputs around it, at the end of the cycle. How a write looks is for vireo_cq_store.
module vireo_cq_control
  import vireo_spec_pkg::*;
  import vireo_cq_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 ring_packed_i,
  input  logic                 event_idx_i,

  // Jobs, which wait until the step ends them.
  input  logic                 completion_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  completion_t          completion_i,     // what is written of it is for vireo_cq_store
  input  parked_t              parked_i,
  input  rdma_cq_arm_t         arm_value_i,
  input  cached_t              cached_i,
  input  cached_t              event_buffer_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 host_event_valid_i,
  input  logic                 parked_valid_i,
  input  logic                 filled_valid_i,
  input  filled_t              filled_i,
  input  logic                 arm_valid_i,
  input  logic [15:0]          arm_cqn_i,
  input  logic                 context_valid_i,
  input  context_t             context_i,
  input  logic                 avail_valid_i,
  input  logic [15:0]          avail_vq_i,
  input  logic                 ended_valid_i,    // the oldest slot
  input  slot_t                ended_i,
  input  logic                 ended_error_i,
  input  logic                 answer_valid_i,
  input  suppression_read_t    question_i,
  input  suppression_t         suppression_i,

  // What the tables say.
  input  queue_t               queue_i,
  input  position_t            position_i,
  input  logic                 cq_known_i,
  input  logic [15:0]          cq_vq_i,
  input  cq_state_t            cq_state_i,
  input  logic                 event_known_i,
  input  logic [15:0]          event_vq_i,
  input  logic                 event_ok_i,       // the event's buffer is one
  input  logic                 lost_clear_i,
  input  logic                 event_drop_i,

  // Room for what a step causes.
  input  logic                 position_ready_i,
  input  logic                 park_ready_i,
  input  logic [AskBits-1:0]   asks_i,
  input  logic                 ask_free_i,
  input  logic                 slot_room_i,
  input  logic                 slot_free_i,      // the oldest slot leaves, unnoticed
  input  logic                 store_free_i,
  input  logic                 suppression_room_i,
  input  logic                 suppression_free_i,
  input  logic                 interrupt_free_i,
  input  logic                 failure_free_i,
  input  logic                 doorbell_free_i,

  output step_t                step_o,
  // The current job.
  output state_e               state_o,
  output logic                 is_event_o,
  output logic                 from_park_o,      // the CQE is a parked one
  output logic                 from_context_o,   // a write of cq_context, else an arm
  output logic [15:0]          cqn_o,            // of the current completion, or of the parked CQE
  output logic                 batch_open_o,
  output logic                 in_ring_o,        // StElement, StIndex, StFirst
  output logic                 in_batch_o,       // the completion belongs to the open batch
  output ring_t                ring_o,
  output batch_t               batch_o,
  output logic [31:0]          lost_o,

  // What follows from the write, see vireo_cq_store.
  input  logic                 by_id_i,
  input  logic [15:0]          next_used_i,
  input  logic [PlaceBits-1:0] next_place_i,
  input  logic                 next_wrapped_i,
  input  span_t                span_i,

  output slot_t                slot_o,
  output parked_t              park_o,
  output asked_t               asked_o,
  output logic [5:0]           ask_count_o
);

  state_e state_q;
  logic is_event_d, is_event_q;    // the current, or the previous, job is an event
  logic from_context_d, from_context_q;
  logic from_park_d, from_park_q;
  logic park_try_d, park_try_q;    // the first parked CQE may have a buffer
  logic report_q;                  // StFail: report it
  logic [15:0] vq_d, vq_q;         // CQ or event queue
  logic [31:0] lost_d, lost_q;
  event_buffer_e event_buffer_d, event_buffer_q;
  logic batch_open_q;              // the previous completion had `more`
  batch_t batch_q;

  step_t step, pick, returned, placed, written, notified;

  // --- What all states need
  logic completion_go, event_go;     // may start
  logic pick_event;
  logic solicited;                   // of the completion; one with an error is
  logic ask_room;
  logic [BufferCountBits-1:0] cached_next;
  logic [ParkBits-1:0] parked_next;
  logic [15:0] ahead;                // buffers that are fetched ahead: no more than the ring has

  always_comb begin
    in_ring_o = state_q == StElement || state_q == StIndex || state_q == StFirst;
    in_batch_o = in_ring_o && batch_open_q;
    ring_o = '{usable: queue_i.enabled && queue_i.served && !position_i.failed, notifies: queue_i.notifies,
               size: queue_i.size, msix: queue_i.msix, area: queue_i.area, used: position_i.used};
    if (in_batch_o) ring_o = batch_q.ring;
    completion_go = completion_valid_i && (!completion_i.has_cqe || park_ready_i);
    event_go = host_event_valid_i && !batch_open_q && (event_buffer_q == EventNone || event_buffer_q == EventReady);
    pick_event = event_go && (!completion_go || !is_event_q);
    solicited = completion_i.solicited || completion_i.cqe[8*RdmaCqReqStatusOffset +: 8] != IbWcStatusSuccess;
    cqn_o = from_park_q ? parked_i.cqn : completion_i.cqn;
    ask_room = asks_i < AskBits'(Asks - 1) && ask_free_i;
    cached_next = position_i.cached - 1'b1;
    parked_next = position_i.parked - ParkBits'(from_park_q && position_i.parked != '0);
    ahead = queue_i.size < 16'(BufferSlots) ? queue_i.size : 16'(BufferSlots);
  end

  // --- StIdle: the next job
  always_comb begin
    pick = '0;
    pick.state = state_q;
    pick.queue_read_index = completion_i.vq_index;
    pick.cq_read_index = completion_i.cqn;
    is_event_d = is_event_q;
    from_context_d = from_context_q;
    from_park_d = from_park_q;
    if (state_q == StIdle) begin
      if (answer_valid_i) begin
        pick.queue_read = 1'b1;
        pick.queue_read_index = question_i.vq_index;
        pick.state = StSuppression;
      end else if (ended_valid_i && suppression_room_i) begin
        pick.queue_read = 1'b1;
        pick.queue_read_index = ended_i.vq_index;
        pick.cq_read = 1'b1;
        pick.cq_read_index = ended_i.cqn;
        pick.state = StDone;
      end else if (filled_valid_i) begin
        pick.queue_read = 1'b1;
        pick.queue_read_index = filled_i.vq_index;
        pick.cq_read = 1'b1;
        pick.cq_read_index = filled_i.cqn;
        pick.filled_ends = filled_i.is_event;
        if (!filled_i.is_event) pick.state = StFilled;
      end else if (context_valid_i || arm_valid_i) begin
        pick.cq_read = 1'b1;
        pick.cq_read_index = context_valid_i ? context_i.cqn : arm_cqn_i;
        from_context_d = context_valid_i;
        pick.state = StArmRead;
      end else if (avail_valid_i && !batch_open_q && slot_room_i) begin
        pick.queue_read = 1'b1;
        pick.queue_read_index = avail_vq_i;
        pick.state = StAvail;
      end else if (parked_valid_i && park_try_q && !batch_open_q && slot_room_i) begin
        pick.cq_read = 1'b1;
        pick.cq_read_index = parked_i.cqn;
        from_park_d = 1'b1;
        is_event_d = 1'b0;
        pick.state = StCqRead;
      end else if ((completion_go || event_go) && slot_room_i) begin
        pick.queue_read = 1'b1;
        from_park_d = 1'b0;
        is_event_d = pick_event;
        if (pick_event) begin
          pick.queue_read_index = event_vq_i;
          pick.state = StEvent;
        end else begin
          pick.cq_read = 1'b1;
          pick.state = StElement;
        end
      end
    end
  end

  // --- StElement, StIndex, StFirst: the work request's buffer is returned
  always_comb begin
    returned = '0;
    returned.state = state_q;
    unique case (state_q)
      StElement: begin
        if (ring_o.usable) begin
          if (store_free_i) begin
            returned.store = 1'b1;
            returned.state = StIndex;
            // The driver must not see its flags, or the index, yet.
            returned.batched = completion_i.more && !(in_batch_o && ring_packed_i);
          end
        end else begin
          returned.batched = 1'b1;
        end
      end

      StIndex: begin
        if (in_batch_o && ring_packed_i) begin
          if (store_free_i) begin
            returned.store = 1'b1;
            returned.state = StFirst;
            returned.batched = completion_i.more;
          end
        end else begin
          returned.publish = position_ready_i;
          returned.batched = position_ready_i;
        end
      end

      StFirst: begin
        returned.publish = position_ready_i;
        returned.batched = position_ready_i;
      end

      default: ;
    endcase

    returned.position = position_i;
    returned.position.used = next_used_i;
    if (by_id_i) begin
      returned.position.place = next_place_i;
      returned.position.wrapped = next_wrapped_i;
    end
    returned.position_index = completion_i.vq_index;
    returned.position_write = returned.publish;
    returned.slot = returned.publish;
    returned.slot_no_interrupt = completion_i.has_cqe || !ring_o.notifies || ring_o.msix == VirtioMsiNoVector;
    returned.queue_read_index = cq_vq_i;
    if (returned.batched) begin
      // No CQE of a work request that is not returned because its queue has bad parity.
      if (completion_i.has_cqe && !queue_i.corrupt) begin
        returned.queue_read = 1'b1;
        returned.state = StCq;
      end else begin
        returned.completion_ends = 1'b1;
        returned.state = StIdle;
      end
    end
  end

  // --- StCqRead to StEvent: a buffer of the CQ, or of the event queue
  logic overrun;

  always_comb begin
    placed = '0;
    placed.state = state_q;
    placed.position = position_i;
    placed.position_index = vq_q;
    placed.cq_state = cq_state_i;
    placed.cq_state.failed = 1'b1;
    placed.cq_state_index = cqn_o;
    placed.queue_read_index = cq_vq_i;
    overrun = filled_i.count == '0 && filled_i.sure && position_i.asked && cq_known_i && !cq_state_i.failed;
    unique case (state_q)
      StCqRead: begin
        placed.queue_read = 1'b1;
        placed.state = StCq;
      end

      StCq: begin
        if (!cq_known_i || cq_state_i.failed || !ring_o.usable) begin
          if (!from_park_q || position_i.parked == '0 || position_ready_i) begin
            placed.position_write = parked_next != position_i.parked;
            placed.position.parked = parked_next;
            placed.cqe_ends = 1'b1;
            placed.state = StIdle;
          end
        end else if (position_i.cached != '0 && (from_park_q || position_i.parked == '0)) begin
          placed.cached_read = 1'b1;
          placed.state = StData;
        end else if (position_ready_i) begin  // no buffer, or behind CQEs of this CQ without one
          placed.ask = position_i.cached == '0 && !position_i.asked && ask_room;
          placed.position_write = 1'b1;
          placed.position.asked = position_i.asked || placed.ask;
          if (from_park_q) begin
            placed.park_wait = 1'b1;
          end else begin
            placed.park = 1'b1;
            placed.position.parked = position_i.parked + 1'b1;
            placed.park_try = position_i.cached != '0;
            placed.cqe_ends = 1'b1;
          end
          placed.state = StIdle;
        end
      end

      // If the queue was reset since the request, its buffers are void.
      StFilled: begin
        placed.position_index = filled_i.vq_index;
        placed.position.asked = 1'b0;
        placed.position.cached = position_i.cached + filled_i.count;
        placed.cq_state_index = filled_i.cqn;
        // No buffer: the CQ fails. If the status is `failed`, descriptor fetch has reported the cause.
        placed.failure_in = '{vq_index: filled_i.vq_index, code: RdmaErrorCqOverrun};
        if (position_ready_i && (!overrun || !filled_i.is_empty || failure_free_i)) begin
          placed.failure = overrun && filled_i.is_empty;
          placed.position_write = position_i.asked;
          placed.cq_state_write = overrun;
          placed.filled_ends = 1'b1;
          placed.state = StIdle;
        end
      end

      StEvent: begin
        if (!event_known_i || !ring_o.usable) begin
          placed.event_lost = 1'b1;
          placed.event_ends = 1'b1;
          placed.state = StIdle;
        end else if (event_buffer_q == EventNone) begin
          if (ask_free_i) begin
            placed.ask = 1'b1;
            placed.state = StIdle;
          end
        end else if (event_ok_i && !event_buffer_i.bad) begin
          placed.state = StData;
        end else begin
          placed.event_lost = 1'b1;
          placed.state = StFail;
        end
      end

      default: ;
    endcase
  end

  // --- StData to StFail: a CQE or event into it
  always_comb begin
    written = '0;
    written.state = state_q;
    written.position = position_i;
    written.position_index = vq_q;
    written.cq_state = cq_state_i;
    written.cq_state.failed = 1'b1;
    written.cq_state_index = cqn_o;
    written.failure_in = '{vq_index: vq_q, code: RdmaErrorBadDescriptor};
    unique case (state_q)
      StData: begin
        if (!is_event_q && cached_i.bad) begin
          written.state = StFail;
        end else if (store_free_i) begin
          written.store = 1'b1;
          written.state = StTargetElement;
        end
      end

      StTargetElement: begin
        if (store_free_i) begin
          written.store = 1'b1;
          written.state = StTargetIndex;
        end
      end

      StTargetIndex: begin
        written.position.used = next_used_i;
        written.position.place = next_place_i;
        written.position.wrapped = next_wrapped_i;
        written.slot_no_interrupt = is_event_q && queue_i.msix == VirtioMsiNoVector;
        if (position_ready_i) begin
          written.publish = 1'b1;
          written.position_write = 1'b1;
          written.slot = 1'b1;
          if (is_event_q) begin
            written.event_written = 1'b1;
            written.event_ends = 1'b1;
          end else begin
            written.position.cached = cached_next;
            written.position.first = position_i.first + 1'b1;
            written.position.parked = parked_next;
            // Half of them are used: more are requested.
            written.ask = !position_i.asked && 16'(cached_next) <= (ahead >> 1) && ask_room;
            written.position.asked = position_i.asked || written.ask;
            written.cqe_ends = 1'b1;
          end
          written.state = StIdle;
        end
      end

      StFail: begin
        written.position.failed = 1'b1;
        if (position_ready_i && (!report_q || failure_free_i)) begin
          written.failure = report_q;
          written.position_write = is_event_q && report_q;
          written.event_ends = is_event_q;
          written.cq_state_write = !is_event_q;
          written.cqe_ends = !is_event_q;
          written.state = StIdle;
        end
      end

      default: ;
    endcase
  end

  // --- StArmRead to StAvail: arms, and what follows writes
  logic [15:0] arm_unconsumed;
  logic arm_set_solicited, arm_set_next, arm_fire, done_passed, done_fire, interrupt_due;

  always_comb begin
    arm_set_solicited = from_context_q ? context_i.set_solicited : arm_value_i.solicited;
    arm_set_next = from_context_q ? context_i.set_next : arm_value_i.next_completion;
    arm_unconsumed = from_context_q ? '0 : unconsumed(ring_packed_i, arm_value_i.seen_used_idx, position_i, queue_i.size);
    arm_fire = arm_fires(arm_set_solicited, arm_set_next, arm_unconsumed, position_i.used, cq_state_i);
    done_passed = done_passes(cq_state_i, ended_i, position_i.used);
    done_fire = done_fires(cq_state_i, ended_i, done_passed);
    interrupt_due = allows(ring_packed_i, event_idx_i, suppression_i.data, question_i.span, queue_i);
  end

  always_comb begin
    notified = '0;
    notified.state = state_q;
    notified.position = position_i;
    notified.position.failed = 1'b1;
    notified.position_index = ended_i.vq_index;
    notified.cq_state = cq_state_i;
    notified.cq_state_index = ended_i.cqn;
    notified.queue_read_index = cq_vq_i;
    notified.interrupt_in = '{vq_index: cq_vq_i, msix_vector: queue_i.msix};
    notified.failure_in = '{vq_index: ended_i.vq_index, code: RdmaErrorQueueDmaError};
    unique case (state_q)
      StArmRead: begin
        notified.queue_read = 1'b1;
        notified.state = StArm;
      end

      StArm: begin
        notified.cq_state_index = from_context_q ? context_i.cqn : arm_cqn_i;
        if (from_context_q && context_i.set_failed) notified.cq_state.failed = 1'b1;
        notified.cq_state = armed(notified.cq_state, arm_set_solicited, arm_set_next, arm_fire,
                                  position_i.used - arm_unconsumed);
        if (from_context_q && !context_i.valid) notified.cq_state = '0;
        if (interrupt_free_i) begin
          notified.arm_ends = 1'b1;
          // A failed CQ still reports CQEs written earlier.
          notified.cq_state_write = from_context_q || (cq_known_i && !queue_i.row_corrupt);
          notified.notify = !from_context_q && notified.cq_state_write && arm_fire
                         && queue_i.msix != VirtioMsiNoVector;
          notified.state = StIdle;
        end
      end

      StDone: begin
        notified.interrupt_in = '{vq_index: ended_i.vq_index, msix_vector: ended_i.msix};
        if (ended_error_i) begin
          notified.cq_state.failed = 1'b1;
          if (position_ready_i && failure_free_i) begin
            notified.failure = !position_i.failed && !(ended_i.is_cq && cq_state_i.failed);  // once
            notified.position_write = 1'b1;
            notified.cq_state_write = ended_i.is_cq;
            notified.slot_ends = 1'b1;
          end
        end else if (ended_i.is_avail) begin
          notified.doorbell = doorbell_free_i;
          notified.slot_ends = doorbell_free_i;
        end else if (!ended_i.is_cq) begin
          // If it was reset since, there is no event suppression to read.
          notified.suppression_read = queue_i.enabled && suppression_free_i;
          notified.slot_ends = !queue_i.enabled || suppression_free_i;
        end else if (interrupt_free_i) begin
          notified.notify = done_fire && ended_i.msix != VirtioMsiNoVector;
          notified.cq_state_write = 1'b1;
          notified.cq_state = done(cq_state_i, ended_i, done_passed, done_fire);
          notified.slot_ends = 1'b1;
        end
        if (notified.slot_ends) notified.state = StIdle;
      end

      StSuppression: begin
        notified.position_index = question_i.vq_index;
        notified.interrupt_in = '{vq_index: question_i.vq_index, msix_vector: question_i.msix};
        notified.failure_in.vq_index = question_i.vq_index;
        if (suppression_i.error) begin
          notified.failure = position_ready_i && failure_free_i && !position_i.failed;  // once
          notified.position_write = position_ready_i && failure_free_i;
          notified.answer_ends = position_ready_i && failure_free_i;
        end else begin
          notified.notify = interrupt_free_i && interrupt_due;
          notified.answer_ends = interrupt_free_i;
        end
        if (notified.answer_ends) notified.state = StIdle;
      end

      StAvail: begin
        notified.store = ring_o.usable && store_free_i;
        notified.slot = notified.store;
        notified.avail_ends = !ring_o.usable || store_free_i;
        if (notified.avail_ends) notified.state = StIdle;
      end

      default: notified.state = StIdle;
    endcase
  end

  // --- The step of this cycle
  always_comb begin
    unique case (state_q)
      StIdle: step = pick;
      StElement, StIndex, StFirst: step = returned;
      StCqRead, StCq, StFilled, StEvent: step = placed;
      StData, StTargetElement, StTargetIndex, StFail: step = written;
      default: step = notified;
    endcase
    if (slot_free_i) step.slot_ends = 1'b1;
  end

  // With it: what is written, asked, parked.
  always_comb begin
    slot_o = '{is_avail: 1'b0, is_cq: !is_event_q, span: span_i, vq_index: vq_q, cqn: cqn_o,
               solicited: from_park_q ? parked_i.solicited : solicited, position: next_used_i, msix: ring_o.msix};
    if (in_ring_o) begin
      slot_o.is_cq = 1'b0;
      slot_o.vq_index = completion_i.vq_index;
    end
    if (state_q == StAvail) begin
      slot_o.is_avail = 1'b1;
      slot_o.is_cq = 1'b0;
      slot_o.vq_index = avail_vq_i;
    end
    park_o = '{cqn: completion_i.cqn, solicited: solicited, cqe: completion_i.cqe};
    asked_o = '{is_event: is_event_q, sure: state_q == StCq || (cached_next == '0 && parked_next != '0), cqn: cqn_o,
                vq_index: vq_q, base: position_i.first + position_i.cached[BufferSlotBits-1:0]};
    ask_count_o = is_event_q ? 6'd1 : 6'(BufferSlots) - (state_q == StCq ? 6'd0 : 6'(cached_next));
  end

  // --- What stays for the next one
  always_comb begin
    vq_d = vq_q;
    if (state_q == StIdle && pick.state == StEvent) vq_d = event_vq_i;
    if (state_q == StElement || state_q == StCqRead) vq_d = cq_vq_i;

    lost_d = lost_q;
    if (step.event_lost && lost_q != '1) lost_d = lost_q + 32'd1;
    if (step.event_written || lost_clear_i) lost_d = '0;

    event_buffer_d = event_buffer_q;
    if (step.filled_ends && filled_i.is_event) event_buffer_d = event_buffer_q == EventVoid ? EventNone : EventReady;
    if (step.ask && state_q == StEvent) event_buffer_d = EventAsked;
    if (step.event_ends) event_buffer_d = EventNone;
    if (event_drop_i && event_buffer_d == EventReady) event_buffer_d = EventNone;
    if (event_drop_i && event_buffer_d == EventAsked) event_buffer_d = EventVoid;

    park_try_d = park_try_q;
    if (step.park_wait) park_try_d = 1'b0;
    if (step.park_try || step.filled_ends || (step.cqe_ends && from_park_q)) park_try_d = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      is_event_q <= 1'b0;
      batch_open_q <= 1'b0;
      lost_q <= '0;
      park_try_q <= 1'b0;
      event_buffer_q <= EventNone;
    end else begin
      state_q <= step.state;
      is_event_q <= is_event_d;
      if (step.batched) batch_open_q <= completion_i.more;
      lost_q <= lost_d;
      park_try_q <= park_try_d;
      event_buffer_q <= event_buffer_d;
    end
  end

  always_ff @(posedge clk_i) begin
    from_context_q <= from_context_d;
    from_park_q <= from_park_d;
    vq_q <= vq_d;
    // An event whose answer was no buffer: descriptor fetch has reported the cause.
    if (state_q == StEvent) report_q <= event_ok_i;
    else if (state_q == StData) report_q <= 1'b1;
    if (step.batched) begin
      if (!in_batch_o) batch_q <= '{ring: ring_o, first: span_i.first, written: completion_i.used_bytes != '0};
      batch_q.ring.used <= next_used_i;
    end
  end

  assign step_o = step;
  assign state_o = state_q;
  assign is_event_o = is_event_q;
  assign from_park_o = from_park_q;
  assign from_context_o = from_context_q;
  assign batch_open_o = batch_open_q;
  assign batch_o = batch_q;
  assign lost_o = lost_q;

endmodule
