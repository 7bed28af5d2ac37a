// SPDX-License-Identifier: Apache-2.0

// Types that the parts of vireo_cq_writer share, and its decisions whether to interrupt, as functions without state;
// model/virtio/cq_writer.h has the same. Numbers of CQs have 16 bits here, those above a
// configuration's CQs are 0.
package vireo_cq_pkg;
  import vireo_spec_pkg::*;

  // Not every part needs each.
  // verilator lint_off UNUSEDPARAM
  localparam int unsigned BufferSlots = 32;  // buffers of a CQ that are fetched ahead
  localparam int unsigned BufferSlotBits = $clog2(BufferSlots);
  localparam int unsigned BufferCountBits = BufferSlotBits + 1;
  localparam int unsigned Asks = 8;  // outstanding requests for buffers; one of them is left for an event
  localparam int unsigned AskBits = $clog2(Asks + 1);
  localparam int unsigned Parks = 16;  // CQEs that wait for a buffer of their CQ
  localparam int unsigned ParkBits = $clog2(Parks + 1);
  localparam int unsigned Questions = 32'(DmaFetchDepth);  // outstanding reads of event suppression
  localparam int unsigned QuestionBits = $clog2(Questions + 1);
  localparam int unsigned TagSlotBits = 7;  // top bit of the tag: write of a used index
  localparam int unsigned CqElements = 1;  // bits of rdma_cq_element
  localparam int unsigned PlaceBits = 15;  // position in a packed ring; bit 15: wrap counter [2.8.14]
  // verilator lint_on UNUSEDPARAM

  // What host and firmware say about a queue. With bad parity it is neither enabled nor served.
  typedef struct packed {
    logic enabled;
    logic served;
    logic notifies;
    logic [15:0] size;
    logic [15:0] msix;
    logic [63:0] area;         // address of the used ring, or of the packed ring
    logic [63:0] driver_area;
    logic row_corrupt;         // the host's part: size, vector, addresses
    logic corrupt;             // it, or firmware's
  } queue_t;

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

  // The ring that is written to: of the current queue, or of the open batch, as it was when the batch started.
  typedef struct packed {
    logic usable;
    logic notifies;
    logic [15:0] size;
    logic [15:0] msix;
    logic [63:0] area;
    logic [15:0] used;   // next_used
  } ring_t;

  // The open batch: its ring, and progress.
  typedef struct packed {
    ring_t ring;
    logic [15:0] first;  // ring entry, or packed position, of its first buffer
    logic written;       // something was written to the first buffer
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

  // A write of cq_context.
  typedef struct packed {
    logic [15:0] cqn;
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

  // A prefetched buffer.
  typedef struct packed {
    logic bad;  // cannot hold a CQE, or an event
    logic [15:0] head;
    logic [63:0] address;
  } cached_t;

  // A request for buffers.
  typedef struct packed {
    logic is_event;
    logic sure;                       // a CQE waited for it: without a buffer the CQ is overrun
    logic [15:0] cqn;
    logic [15:0] vq_index;
    logic [BufferSlotBits-1:0] base;  // where the first buffer goes
  } asked_t;

  // And its answer.
  typedef struct packed {
    logic is_event;
    logic sure;
    logic [15:0] cqn;
    logic [15:0] vq_index;
    logic is_empty;                   // the last part of the answer was `empty`
    logic [BufferCountBits-1:0] count;
  } filled_t;

  typedef struct packed {
    logic [15:0] cqn;
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

  // What follows a write.
  typedef struct packed {
    logic is_avail;         // avail_event instead of a used index
    logic is_cq;
    span_t span;            // queue without a CQ
    logic [15:0] vq_index;
    logic [15:0] cqn;
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

  // What a state does in this cycle. Fields of an action that is 0 do not matter.
  typedef struct packed {
    state_e state;               // the next one
    // Jobs.
    logic cqe_ends;              // of the completion, or parked
    logic completion_ends;       // without a CQE
    logic event_ends;
    logic filled_ends;
    logic answer_ends;
    logic arm_ends;              // or write of cq_context
    logic avail_ends;
    logic slot_ends;
    logic park;                  // the CQE waits for a buffer
    logic park_try;              // the first parked CQE may have a buffer
    logic park_wait;             // it has none
    logic event_lost;
    logic event_written;
    logic batched;               // the completion is part of a batch, or ends it
    // Tables. A read's answer is there in the next cycle.
    logic queue_read;
    logic [15:0] queue_read_index;
    logic cq_read;
    logic [15:0] cq_read_index;
    logic cached_read;
    logic position_write;
    logic [15:0] position_index;
    position_t position;
    logic cq_state_write;
    logic [15:0] cq_state_index;
    cq_state_t cq_state;
    // Outputs.
    logic ask;                   // for buffers
    logic store;
    logic publish;               // a used index, with a slot: makes buffers visible to the driver
    logic slot;
    logic slot_no_interrupt;
    logic suppression_read;
    logic doorbell;
    logic notify;                // an interrupt
    queue_interrupt_t interrupt_in;
    logic failure;
    queue_failure_t failure_in;
  } step_t;

  // Each function needs some of the fields only.
  /* verilator lint_off UNUSEDSIGNAL */

  // Arming: notify at once if a matching CQE lies between the driver's position and the last CQE in memory. Positions
  // are modulo 2^16, so they are compared by their distance to the device's position.
  function automatic logic arm_fires(logic arm_set_solicited, logic arm_set_next, logic [15:0] arm_unconsumed,
                                     logic [15:0] used, cq_state_t cq_state);
    logic [15:0] arm_in_flight, arm_solicited;
    logic arm_after, arm_after_solicited;
    arm_in_flight = used - cq_state.written;
    arm_solicited = used - cq_state.solicited;
    arm_after = arm_unconsumed > arm_in_flight;
    arm_after_solicited = cq_state.has_solicited && arm_solicited < arm_unconsumed;
    return (arm_set_next && arm_after) || (arm_set_solicited && arm_after_solicited);
  endfunction

  // CQEs between the position that the driver names and the device's.
  function automatic logic [15:0] unconsumed(logic ring_packed, logic [15:0] seen, position_t position,
                                             logic [15:0] size);
    logic [15:0] entries;
    entries = position.used - seen;
    if (ring_packed) begin
      entries = 16'(position.place) - 16'(seen[PlaceBits-1:0]);
      if (seen[PlaceBits] == position.wrapped) entries += size;
    end
    return entries;
  endfunction

  // A CQ that is armed.
  function automatic cq_state_t armed(cq_state_t cq_state, logic arm_set_solicited, logic arm_set_next, logic fires,
                                      logic [15:0] arm_position);
    cq_state_t result;
    result = cq_state;
    if (arm_set_solicited || arm_set_next) begin
      result.armed_solicited = !fires && (arm_set_solicited || cq_state.armed_solicited);
      result.armed_next = !fires && (arm_set_next || cq_state.armed_next);
      result.arm_position = arm_position;
      result.passed = 1'b0;
    end
    return result;
  endfunction

  // A CQE whose used index is in memory. No notification for one that the driver had already seen when it armed the CQ,
  // before its write completed.
  function automatic logic done_passes(cq_state_t cq_state, slot_t slot, logic [15:0] used);
    return cq_state.passed || used - slot.position < used - cq_state.arm_position;
  endfunction

  function automatic logic done_fires(cq_state_t cq_state, slot_t slot, logic passes);
    return passes && (cq_state.armed_next || (cq_state.armed_solicited && slot.solicited));
  endfunction

  // The CQ behind it.
  function automatic cq_state_t done(cq_state_t cq_state, slot_t slot, logic passes, logic fires);
    cq_state_t result;
    result = cq_state;
    result.written = slot.position;
    result.passed = passes;
    if (slot.solicited) begin
      result.has_solicited = 1'b1;
      result.solicited = slot.position;
    end else if (16'(slot.position - cq_state.solicited) >= VirtqSizeMax) begin
      result.has_solicited = 1'b0;  // seen long ago; cleared before the distance wraps
    end
    if (fires) begin
      result.armed_solicited = 1'b0;
      result.armed_next = 1'b0;
    end
    return result;
  endfunction

  // Where the driver's event suppression is, of a queue without a CQ. [virtio 1.3, 2.7.7 and 2.8.10]
  function automatic dma_read_request_t suppression_request(logic ring_packed, logic event_idx, queue_t queue);
    dma_read_request_t request;
    request = '{address: queue.driver_area, bytes: 13'(PvirtqEventSuppressBytes), tag: '0};
    if (!ring_packed) begin
      request.bytes = 13'(VirtqUsedEventBytes);
      request.address = queue.driver_area + 64'(VirtqAvailFlagsOffset);
      if (event_idx) begin
        request.address = queue.driver_area + 64'(VirtqAvailBytes) + 64'(VirtqAvailRingEntryBytes) * 64'(queue.size);
      end
    end
    return request;
  endfunction

  // Does it allow an interrupt for what was used?
  function automatic logic allows(logic ring_packed, logic event_idx, logic [8*PvirtqEventSuppressBytes-1:0] data,
                                  span_t span, queue_t queue);
    pvirtq_event_suppress_t suppress;
    logic [16:0] event_distance, span_length;  // in positions of a packed ring, signed
    logic interrupt_due;
    // Is the event position in [first, next_position)? Its wrap counter selects the lap.
    suppress = unpack_pvirtq_event_suppress(data);
    event_distance = 17'(suppress.desc_event_off) - 17'(span.first[PlaceBits-1:0]);
    if (suppress.desc_event_wrap != span.first[PlaceBits]) event_distance += 17'(queue.size);
    span_length = 17'(span.next_position[PlaceBits-1:0]) - 17'(span.first[PlaceBits-1:0]);
    if (span.next_position[PlaceBits] != span.first[PlaceBits]) span_length += 17'(queue.size);
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
      interrupt_due = 16'(data[15:0] - span.first) < 16'(span.next_position - span.first);
    end else begin
      interrupt_due = (data[15:0] & VirtqAvailFlagsNoInterrupt) == '0;
    end
    if (queue.row_corrupt) interrupt_due = 1'b1;  // the size is unknown
    return interrupt_due;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

endpackage
