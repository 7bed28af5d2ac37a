// SPDX-License-Identifier: Apache-2.0

// Stage 2 of vireo_desc_fetch: computes how many entries of a split ring are available, reads as many as are requested and
// advances the position, which it keeps for every queue. Of a packed ring it reads as many descriptors as buffers were
// requested. It reports an index at which it found the ring empty (avail_event), once. It checks the index; whether an
// entry or a descriptor is right is for the next stages.
module vireo_desc_ring
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_desc_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Reads,     // outstanding
  localparam int unsigned NumQueues = queues_of(Config),
  localparam int unsigned QueueBits = $clog2(NumQueues)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 ring_packed_i,
  input  logic                 event_idx_i,

  // Pulses: what the driver, and firmware, say about a queue.
  input  logic                 row_write_i,
  // verilator lint_off UNUSEDSIGNAL
  input  queue_row_write_t     row_i,            // fields of other blocks
  input  logic                 virtqueue_write_i,
  input  table_virtqueue_t     virtqueue_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QueueBits-1:0] table_index_i,
  input  logic                 table_clear_i,    // its positions, too
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 corrupt_o,        // what was read in the cycle before is

  input  logic                 index_job_valid_i,
  output logic                 index_job_pop_o,
  input  index_job_t           index_job_i,
  input  logic                 index_valid_i,
  output logic                 index_pop_o,
  // verilator lint_off UNUSEDSIGNAL
  input  index_data_t          index_data_i,     // an index, of a split ring
  // verilator lint_on UNUSEDSIGNAL
  output logic                 index_done_o,     // the next request of the queue may read the index
  output logic                 known_write_o,    // of the job's queue: entries behind the position
  output logic [15:0]          known_o,

  output logic                 ring_request_valid_o,
  input  logic                 ring_request_ready_i,
  output dma_read_request_t    ring_request_o,
  input  logic                 ring_pop_i,       // stage 3 takes the data of a read
  output logic                 ring_job_push_o,
  input  logic                 ring_job_space_i,
  output ring_job_t            ring_job_o,
  input  logic                 walk_write_i,     // stage 3 ends at this position
  input  logic [QueueBits-1:0] walk_index_i,
  input  logic [15:0]          walk_position_i,
  output logic                 position_ready_o, // a position may be written

  output logic                 avail_event_valid_o,  // a pulse
  output avail_event_t         avail_event_o
);

  localparam bit Known = Config.known_entries != 0;
  localparam int unsigned RingSlotBits = $clog2(Reads + 1);

  typedef enum logic [1:0] {
    RingTake,
    RingLookup,
    RingIssue,
    RingMore   // further reads: after the wrap of the ring, or beyond the size of one read
  } ring_e;

  ring_e ring_d, ring_q;
  logic ring_take, ring_read, ring_free, took_q;
  logic enabled, row_corrupt;
  logic [15:0] size, position;
  logic position_write;
  logic [15:0] position_in;
  logic [QueueBits-1:0] position_index;
  logic [15:0] available_d, available_q;  // entries that the driver has made available, or the size of a packed ring
  logic [15:0] to_end_d, to_end_q;        // entries until the ring wraps
  logic [15:0] at_d, at_q;                // the next entry in the ring
  logic [CountBits-1:0] left_d, left_q;   // entries to ask for
  logic [CountBits-1:0] take, part;
  logic [CountBits-1:0] before_end, past_end;  // of `take`
  logic [RingSlotBits-1:0] ring_slots_d, ring_slots_q;  // reads that have space for their data
  logic [63:0] area_d, area_q;            // copy for RingMore, when the job has been popped
  logic rings;                            // the driver rings doorbells for this queue
  logic reported_known, reported_write;   // avail_event since the queue was enabled
  logic [15:0] reported, index;
  logic index_reads;                      // the job has read the index
  logic is_next;                          // the pushed buffer is the queue's next one
  logic position_last;                    // packed ring: the last place
  logic [15:0] position_next;             // behind one buffer
  logic avail_event_valid_q;
  avail_event_t avail_event_q;
  logic ring_request_valid_d, ring_request_valid_q;
  dma_read_request_t ring_request_d, ring_request_q;

  // What follows from the job, the position and the index.
  always_comb begin
    ring_free = (!ring_request_valid_q || ring_request_ready_i) && ring_slots_q != '0;
    area_d = ring_q == RingMore ? area_q : index_job_i.area;

    take = index_job_i.count;
    if (available_q < 16'(take)) take = available_q[CountBits-1:0];
    before_end = to_end_q < 16'(take) ? to_end_q[CountBits-1:0] : take;
    past_end = take - before_end;
    part = ring_q == RingIssue ? take : left_q;
    if (to_end_q < 16'(part)) part = to_end_q[CountBits-1:0];
    if (ring_packed_i && part > DescriptorsPerRead) part = DescriptorsPerRead;
    // A client that gets fewer buffers than requested waits for a doorbell, so avail_event must be updated. With packed
    // rings the driver always rings, because the device event suppression structure stays zero
    // [virtio 1.3, 2.7.10 and 2.8.10].
    index_reads = !ring_packed_i && index_job_i.kind == KindRead;
    index = position + available_q;
    position_last = 16'(position[PlaceBits-1:0]) == size - 16'd1;
    position_next = !ring_packed_i ? position + 16'd1
                    : {position[PlaceBits] ^ position_last, position_last ? '0 : position[PlaceBits-1:0] + 1'b1};
    is_next = enabled && index_job_i.index == (ring_packed_i ? {!position[PlaceBits], position[PlaceBits-1:0]} : position)
              && (ring_packed_i || index_job_i.entries < size);
  end

  always_comb begin
    ring_d = ring_q;
    reported_write = 1'b0;
    ring_take = 1'b0;
    ring_read = 1'b0;
    ring_job_push_o = 1'b0;
    index_job_pop_o = 1'b0;
    index_pop_o = 1'b0;
    index_done_o = 1'b0;
    known_write_o = 1'b0;
    known_o = '0;
    available_d = available_q;
    to_end_d = to_end_q;
    at_d = at_q;
    left_d = left_q;
    position_write = 1'b0;
    ring_job_o = '{kind: index_job_i.kind == KindKnown ? KindRead : index_job_i.kind, client: index_job_i.client,
                    vq_index: index_job_i.vq_index, index: index_job_i.index, count: CountBits'(1), reads: '0,
                    chains: index_job_i.chains, held: ring_packed_i && index_job_i.kind == KindRead,
                    code: RdmaErrorOk, indirect: index_job_i.indirect, table_address: index_job_i.area,
                    entries: index_job_i.entries, bytes: index_job_i.bytes};
    unique case (ring_q)
      RingTake: begin
        if (index_job_valid_i && ring_job_space_i) begin
          if (index_job_i.kind == KindPushed) begin
            ring_take = 1'b1;
            ring_d = RingLookup;
          end else if (index_job_i.kind != KindRead && index_job_i.kind != KindKnown) begin
            ring_job_push_o = 1'b1;
            index_job_pop_o = 1'b1;
          end else if ((!index_reads || index_valid_i) && ring_free) begin
            ring_take = 1'b1;
            ring_d = RingLookup;
          end
        end
      end
      RingLookup: begin
        if (ring_packed_i) begin
          at_d = 16'(position[PlaceBits-1:0]);
          available_d = size;
        end else begin
          at_d = position & (size - 16'd1);  // sizes are powers of two [virtio 1.3, 2.7]
          available_d = index_job_i.kind == KindKnown ? index_job_i.index : index_data_i.data[15:0] - position;
        end
        to_end_d = size - at_d;
        ring_d = RingIssue;
      end
      RingIssue: begin
        if (index_job_i.kind == KindPushed) begin
          if (position_ready_o && !walk_write_i) begin
            ring_job_push_o = 1'b1;
            index_job_pop_o = 1'b1;
            index_done_o = Known && !ring_packed_i;
            ring_d = RingTake;
            position_write = is_next;
            known_write_o = 1'b1;
            if (!is_next) ring_job_o.kind = KindEmpty;
          end
        end else if (position_ready_o) begin
          ring_job_push_o = 1'b1;
          index_job_pop_o = 1'b1;
          index_pop_o = index_reads;
          index_done_o = !ring_packed_i;
          ring_d = RingTake;
          known_write_o = 1'b1;
          reported_write = event_idx_i && enabled && rings && index_reads && !index_data_i.error
                        && available_q <= size && available_q < 16'(index_job_i.count)
                        && !(reported_known && reported == index);
          if (!enabled) begin
            ring_job_o.kind = KindEmpty;
          end else if (index_reads && index_data_i.error) begin
            ring_job_o.kind = KindBroken;
            ring_job_o.code = RdmaErrorQueueDmaError;
          end else if (available_q > size) begin
            // The driver must not make more entries available than the queue has [virtio 1.3, 2.7.13.1].
            ring_job_o.kind = KindBroken;
            ring_job_o.code = RdmaErrorBadDescriptor;
          end else if (available_q == '0) begin
            ring_job_o.kind = KindEmpty;
          end else begin
            ring_read = 1'b1;
            position_write = !ring_packed_i;
            known_o = available_q - 16'(take);
            left_d = take - part;
            if (left_d != '0) ring_d = RingMore;
            ring_job_o.count = take;
            ring_job_o.index = {ring_packed_i && position[PlaceBits], at_q[PlaceBits-1:0]};
            ring_job_o.reads = ReadsBits'(1) + ReadsBits'(past_end != '0);
            if (ring_packed_i) begin
              ring_job_o.reads = ReadsBits'((before_end + DescriptorsPerRead - 1'b1) / DescriptorsPerRead)
                                + ReadsBits'((past_end + DescriptorsPerRead - 1'b1) / DescriptorsPerRead);
            end
          end
        end
      end
      RingMore: begin
        if (ring_free) begin
          ring_read = 1'b1;
          left_d = left_q - part;
          if (left_d == '0) ring_d = RingTake;
        end
      end
      default: ring_d = RingTake;
    endcase

    if (ring_read) begin
      at_d = 16'(part) == to_end_q ? '0 : at_q + 16'(part);
      to_end_d = size - at_d;
    end
  end

  always_comb begin
    ring_request_valid_d = ring_read || (ring_request_valid_q && !ring_request_ready_i);
    ring_request_d = ring_request_q;
    ring_slots_d = ring_slots_q - RingSlotBits'(ring_read) + RingSlotBits'(ring_pop_i);
    if (ring_read) begin
      if (ring_packed_i) begin
        ring_request_d = '{address: area_d + 64'(PvirtqDescBytes) * 64'(at_q),
                           bytes: 13'(PvirtqDescBytes) * 13'(part), tag: '0};
      end else begin
        ring_request_d = '{address: area_d + 64'(VirtqAvailBytes) + 64'(VirtqAvailRingEntryBytes) * 64'(at_q),
                           bytes: 13'(VirtqAvailRingEntryBytes) * 13'(part), tag: '0};
      end
    end
    position_in = walk_write_i ? walk_position_i
                  : index_job_i.kind == KindPushed ? position_next : position + 16'(take);
    position_index = walk_write_i ? walk_index_i : index_job_i.vq_index[QueueBits-1:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ring_q <= RingTake;
      took_q <= 1'b0;
      ring_request_valid_q <= 1'b0;
      ring_slots_q <= RingSlotBits'(Reads);
      avail_event_valid_q <= 1'b0;
    end else begin
      ring_q <= ring_d;
      took_q <= ring_take;
      avail_event_valid_q <= reported_write;
      ring_request_valid_q <= ring_request_valid_d;
      ring_slots_q <= ring_slots_d;
    end
  end

  always_ff @(posedge clk_i) begin
    available_q <= available_d;
    to_end_q <= to_end_d;
    at_q <= at_d;
    left_q <= left_d;
    area_q <= area_d;
    ring_request_q <= ring_request_d;
    avail_event_q <= '{vq_index: index_job_i.vq_index, idx: index};
  end

  assign corrupt_o = took_q && row_corrupt;
  assign ring_request_valid_o = ring_request_valid_q;
  assign ring_request_o = ring_request_q;
  assign avail_event_valid_o = avail_event_valid_q;
  assign avail_event_o = avail_event_q;

  // Completion queues and the event queue need no doorbell: they are read when a buffer is needed.
  vireo_table #(
    .Width(1),
    .Depth(NumQueues)
  ) u_rings (
    .clk_i,
    .rst_ni,
    .write_i(virtqueue_write_i),
    .write_address_i(table_index_i),
    .write_data_i(virtqueue_i.kind != TableQueueKindCq && virtqueue_i.kind != TableQueueKindEvent),
    .read_i(ring_take),
    .read_address_i(index_job_i.vq_index[QueueBits-1:0]),
    .read_data_o(rings)
  );

  // The last avail_event that was reported, so that repeated reads of an unchanged index report it only once.
  logic unused_reported_ready;  // that of u_position
  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(17)
  ) u_reported (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_write_i),
    .row_clear_index_i(row_i.vq_index[QueueBits-1:0]),
    .table_clear_i,
    .table_clear_index_i(table_index_i),
    .write_i(reported_write),
    .write_ready_o(unused_reported_ready),
    .write_index_i(index_job_i.vq_index[QueueBits-1:0]),
    .write_data_i({1'b1, index}),
    .read_i(ring_take),
    .read_index_i(index_job_i.vq_index[QueueBits-1:0]),
    .read_data_o({reported_known, reported})
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(17),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchSize)
  ) u_row (
    .clk_i,
    .rst_ni,
    .write_i(row_write_i),
    .write_address_i(row_i.vq_index[QueueBits-1:0]),
    .write_data_i({row_i.enabled, row_i.queue_size}),
    .read_i(ring_take),
    .read_address_i(index_job_i.vq_index[QueueBits-1:0]),
    .read_data_o({enabled, size}),
    .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  // Split ring: number of entries taken, modulo 2^16. Packed ring: position, with the complement of the wrap counter in
  // bit 15, because the wrap counter is initially 1 [virtio 1.3, 2.8.1].
  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(16)
  ) u_position (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_write_i),
    .row_clear_index_i(row_i.vq_index[QueueBits-1:0]),
    .table_clear_i,
    .table_clear_index_i(table_index_i),
    .write_i(position_write || walk_write_i),
    .write_ready_o(position_ready_o),
    .write_index_i(position_index),
    .write_data_i(position_in),
    .read_i(ring_take),
    .read_index_i(index_job_i.vq_index[QueueBits-1:0]),
    .read_data_o(position)
  );

`ifndef SYNTHESIS
  ring_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_job_push_o |-> ring_job_space_i);
  index_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) index_pop_o |-> index_valid_i);
  ring_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_read |-> ring_free);
  position_one_writer: assert property (@(posedge clk_i) disable iff (!rst_ni) !(position_write && walk_write_i));
  position_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  position_write || walk_write_i |-> position_ready_o);
`endif

endmodule
