// SPDX-License-Identifier: Apache-2.0

// Stage 3 of vireo_desc_fetch: reads the descriptor of each entry of a split ring. Of a packed ring it checks which of the
// descriptors that stage 2 has read are available, and follows every chain to its end, where the next buffer starts: it
// reads those descriptors itself, through stage 1. It checks heads; descriptors are for stage 4.
module vireo_desc_list
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_desc_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQueues = queues_of(Config),
  localparam int unsigned QueueBits = $clog2(NumQueues)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 ring_packed_i,

  // Pulses: what the driver, and firmware, say about a queue.
  input  logic                 row_write_i,
  // verilator lint_off UNUSEDSIGNAL
  input  queue_row_write_t     row_i,            // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 corrupt_o,        // what was read in the cycle before is

  input  logic                 ring_job_valid_i,
  output logic                 ring_job_pop_o,
  input  ring_job_t            ring_job_i,
  input  logic                 ring_valid_i,
  output logic                 ring_pop_o,
  input  ring_data_t           ring_data_i,
  input  logic                 index_valid_i,    // data of walk_read_o
  input  index_data_t          index_data_i,
  output logic                 walk_pop_o,
  output logic                 walk_read_o,      // a descriptor of a packed ring, with walk_free_i
  output dma_read_request_t    walk_request_o,
  input  logic                 walk_free_i,
  output logic                 walk_done_o,      // the next request of the queue may begin
  output logic                 walk_write_o,     // at this position, with position_ready_i
  output logic [15:0]          walk_position_o,
  input  logic                 position_ready_i,

  output logic                 descriptor_request_valid_o,
  input  logic                 descriptor_request_ready_i,
  output dma_read_request_t    descriptor_request_o,
  output logic                 descriptor_job_push_o,
  input  logic                 descriptor_job_space_i,
  output descriptor_job_t      descriptor_job_o,
  output logic                 leaves_o          // the request has ended for the next stage, and not here
);

  localparam logic [6:0] ChainMost = 7'd64;  // longest packed chain, as in vireo_mailbox

  typedef enum logic [2:0] {
    ListTake,
    ListNext,
    ListDrain,    // discards read data after a bad entry
    ListWalk,     // packed ring: checks whether the descriptor is available
    ListRequest,  // packed ring: reads a descriptor that stage 2 has not read, or has read too early
    ListChain,    // packed ring: follows a chain
    ListEnd,      // packed ring: pushes the last job
    ListLeave     // packed ring: discards the rest of the read data and writes the position
  } list_e;

  // What is kept, and what a step causes.
  typedef struct packed {
    list_e state;
    logic [EntryBits-1:0] entry;
    logic [EntryBits-1:0] part_entry;  // index in the data of one read
    logic [ReadsBits-1:0] reads;       // whose data has not been popped
    logic [PlaceBits-1:0] place;       // in the ring; packed: with the complement of the wrap counter
    logic wrapped;
    logic by_itself;                   // after a chain: descriptors are read here, not by stage 2
    logic in_chain;
    logic [6:0] chain;                 // descriptors of the chain so far
    logic [CountBits-1:0] returned;
    logic deferred;                    // a buffer is held until it is known whether it is the last one
    descriptor_job_t deferred_job;
    logic broken;                      // ListEnd: with this error
    logic [7:0] broken_code;
    logic takes;
    logic reads_descriptor;
    logic push;
    descriptor_job_t job;
    logic job_pop;
    logic ring_pop;
    logic walk_read;
    logic walk_write;
    logic walk_done;
    logic walk_pop;
  } step_t;

  list_e list_q;
  step_t kept, listed, walked, step;
  logic list_free, took_q;
  logic enabled, row_corrupt;
  logic [15:0] size;
  logic [63:0] descriptors;
  logic [EntryBits-1:0] entry_q, part_entry_q;
  logic [ReadsBits-1:0] reads_q;
  logic [PlaceBits-1:0] place_q, place_next;
  logic wrapped_q, place_last;
  logic part_end;                            // the last entry of the read
  logic by_itself_q, in_chain_q;
  logic [6:0] chain_q;
  logic [CountBits-1:0] returned_q;
  logic deferred_q, broken_q;
  descriptor_job_t job, deferred_job_q;
  logic [7:0] broken_code_q;
  logic [15:0] head, head_at, head_limit;    // head_at: without the wrap counter
  pvirtq_desc_t walk_descriptor;
  logic walk_valid, walk_error, walk_available, walk_next, walk_indirect;
  logic descriptor_request_valid_q;
  dma_read_request_t descriptor_request_q;

  always_comb begin
    list_free = !descriptor_request_valid_q || descriptor_request_ready_i;

    place_last = 16'(place_q) == size - 16'd1;
    place_next = place_last ? '0 : place_q + 1'b1;
    part_end = place_last || (ring_packed_i && CountBits'(part_entry_q) == DescriptorsPerRead - 1'b1);

    // The current descriptor and whether it is available [virtio 1.3, 2.8.1 and 2.8.6].
    walk_descriptor = unpack_pvirtq_desc(by_itself_q || in_chain_q ? index_data_i.data
                              : ring_data_i.data[8*PvirtqDescBytes*part_entry_q[1:0] +: 8*PvirtqDescBytes]);
    walk_valid = by_itself_q || in_chain_q ? index_valid_i : ring_valid_i;
    walk_error = by_itself_q || in_chain_q ? index_data_i.error : ring_data_i.error;
    walk_available = ((walk_descriptor.flags & VirtqDescFlagsAvail) != '0) == !wrapped_q
                  && ((walk_descriptor.flags & VirtqDescFlagsUsed) != '0) == wrapped_q;
    walk_next = (walk_descriptor.flags & VirtqDescFlagsNext) != '0;
    walk_indirect = (walk_descriptor.flags & VirtqDescFlagsIndirect) != '0;

    head = ring_job_i.kind == KindByIndex ? ring_job_i.index : ring_data_i.data[16*part_entry_q +: 16];
    head_at = ring_packed_i && !ring_job_i.indirect ? 16'(head[PlaceBits-1:0]) : head;
    head_limit = ring_job_i.indirect ? ring_job_i.entries : size;
    job = '{kind: ring_job_i.kind, client: ring_job_i.client, vq_index: ring_job_i.vq_index, head: head,
            next: {head[PlaceBits] ^ place_last, place_next}, id: '0, code: ring_job_i.code, last: 1'b1,
            replay: ring_job_i.kind == KindByIndex && ring_job_i.client == ClientBits'(BufferClientSend),
            indirect: ring_job_i.kind == KindByIndex && ring_job_i.indirect, address: ring_job_i.table_address,
            bytes: 32'(ring_job_i.entries), flags: '0};
    if (ring_job_i.kind == KindPushed) begin
      job.head = ring_packed_i ? ring_job_i.index : ring_job_i.entries;
      job.bytes = 32'(ring_job_i.bytes);
    end
    kept = '0;
    kept.state = list_q;
    kept.entry = entry_q;
    kept.part_entry = part_entry_q;
    kept.reads = reads_q;
    kept.place = place_q;
    kept.wrapped = wrapped_q;
    kept.by_itself = by_itself_q;
    kept.in_chain = in_chain_q;
    kept.chain = chain_q;
    kept.returned = returned_q;
    kept.deferred = deferred_q;
    kept.deferred_job = deferred_job_q;
    kept.broken = broken_q;
    kept.broken_code = broken_code_q;
    kept.job = job;
  end

  // --- A split ring, or a descriptor by its index
  always_comb begin
    listed = kept;
    unique case (list_q)
      ListTake: begin
        listed.entry = '0;
        listed.part_entry = '0;
        listed.reads = ring_job_i.reads;
        listed.place = ring_job_i.index[PlaceBits-1:0];
        listed.wrapped = ring_job_i.index[PlaceBits];
        listed.by_itself = 1'b0;
        listed.in_chain = 1'b0;
        listed.returned = '0;
        listed.deferred = 1'b0;
        listed.broken = 1'b0;
        if (ring_job_valid_i) begin
          if (ring_job_i.kind != KindRead && ring_job_i.kind != KindByIndex) begin
            listed.push = descriptor_job_space_i;
            listed.job_pop = descriptor_job_space_i;
            listed.walk_done = descriptor_job_space_i && ring_job_i.held;
          end else if (ring_job_i.kind == KindByIndex || ring_valid_i) begin
            listed.takes = 1'b1;
            listed.state = ring_packed_i && ring_job_i.kind == KindRead ? ListWalk : ListNext;
          end
        end
      end
      ListNext: begin
        if (descriptor_job_space_i && list_free && (ring_job_i.kind == KindByIndex || ring_valid_i)) begin
          listed.push = 1'b1;
          listed.entry = entry_q + 1'b1;
          listed.part_entry = part_end ? '0 : part_entry_q + 1'b1;
          listed.place = place_next;
          if (!enabled) begin
            listed.job.kind = KindEmpty;
          end else if (ring_job_i.kind == KindRead && ring_data_i.error) begin
            listed.job.kind = KindBroken;
            listed.job.code = RdmaErrorQueueDmaError;
          end else if (head_at >= head_limit) begin
            listed.job.kind = KindBroken;
            listed.job.code = RdmaErrorBadDescriptor;
          end else begin
            listed.job.kind = KindRead;
            listed.job.last = CountBits'(entry_q) + 1'b1 == ring_job_i.count;
            listed.reads_descriptor = 1'b1;
          end
          if (ring_job_i.kind == KindRead && (part_end || listed.job.last)) begin
            listed.ring_pop = 1'b1;
            listed.reads = reads_q - 1'b1;
          end
          if (listed.job.last) begin
            listed.job_pop = listed.reads == '0;
            listed.state = listed.reads == '0 ? ListTake : ListDrain;
          end
        end
      end
      ListDrain: begin
        listed.ring_pop = ring_valid_i;
        listed.job_pop = ring_valid_i;  // at most one read is left
        if (ring_valid_i) listed.state = ListTake;
      end
      default: ;
    endcase
  end

  // --- A packed ring
  always_comb begin
    walked = kept;
    unique case (list_q)
      ListWalk: begin
        if (walk_valid && descriptor_job_space_i) begin
          walked.walk_pop = by_itself_q;
          if (!enabled) begin
            walked.state = ListEnd;
          end else if (walk_error) begin
            walked.broken = 1'b1;
            walked.broken_code = RdmaErrorQueueDmaError;
            walked.state = ListEnd;
          end else if (!walk_available) begin
            walked.state = ListEnd;
          end else if (walk_next && (!ring_job_i.chains || walk_indirect)) begin
            walked.broken = 1'b1;
            walked.broken_code = RdmaErrorBadDescriptor;
            walked.state = ListEnd;
          end else begin
            walked.push = deferred_q;
            walked.job = deferred_job_q;
            walked.deferred = 1'b1;
            walked.deferred_job = '{kind: KindWalked, client: ring_job_i.client, vq_index: ring_job_i.vq_index,
                                    head: {!wrapped_q, place_q}, next: {!wrapped_q ^ place_last, place_next},
                                    id: walk_descriptor.id, code: RdmaErrorOk, last: 1'b0, replay: 1'b0,
                                    indirect: 1'b0, address: walk_descriptor.addr, bytes: walk_descriptor.len,
                                    flags: walk_descriptor.flags};
            walked.place = place_next;
            walked.wrapped = wrapped_q ^ place_last;
            if (walk_next) begin
              walked.in_chain = 1'b1;
              walked.chain = 7'd1;
              walked.state = ListRequest;
            end else begin
              walked.returned = returned_q + 1'b1;
              if (!by_itself_q) begin
                walked.part_entry = part_end ? '0 : part_entry_q + 1'b1;
                if (part_end || walked.returned == ring_job_i.count) begin
                  walked.ring_pop = 1'b1;
                  walked.reads = reads_q - 1'b1;
                end
              end else begin
                walked.state = ListRequest;
              end
              if (walked.returned == ring_job_i.count) walked.state = ListEnd;
            end
          end
        end
      end
      ListRequest: begin
        if (walk_free_i) begin
          walked.walk_read = 1'b1;
          walked.state = in_chain_q ? ListChain : ListWalk;
        end
      end
      // The driver makes the first descriptor of a chain available last, so the rest of the chain is available here
      // [virtio 1.3, 2.8.21.1].
      ListChain: begin
        if (walk_valid) begin
          walked.walk_pop = 1'b1;
          walked.state = ListRequest;
          if (walk_error) begin
            walked.broken = 1'b1;
            walked.broken_code = RdmaErrorQueueDmaError;
            walked.state = ListEnd;
          end else if (!walk_available || walk_indirect || chain_q == ChainMost || 16'(chain_q) == size) begin
            walked.broken = 1'b1;
            walked.broken_code = RdmaErrorBadDescriptor;
            walked.state = ListEnd;
          end else begin
            walked.place = place_next;
            walked.wrapped = wrapped_q ^ place_last;
            walked.chain = chain_q + 1'b1;
            if (!walk_next) begin
              walked.in_chain = 1'b0;
              walked.by_itself = 1'b1;
              walked.returned = returned_q + 1'b1;
              if (walked.returned == ring_job_i.count) walked.state = ListEnd;
            end
          end
          if (walked.state == ListEnd && walked.broken) walked.deferred = 1'b0;  // an unterminated chain is not a buffer
        end
      end
      ListEnd: begin
        if (descriptor_job_space_i) begin
          walked.push = 1'b1;
          if (deferred_q) begin
            walked.job = deferred_job_q;
            walked.job.last = !broken_q;
            walked.deferred = 1'b0;
          end else begin
            walked.job.kind = broken_q ? KindBroken : KindEmpty;
            walked.job.code = broken_code_q;
          end
          if (!deferred_q || !broken_q) walked.state = ListLeave;
        end
      end
      ListLeave: begin
        if (reads_q != '0) begin
          walked.ring_pop = ring_valid_i;
          if (ring_valid_i) walked.reads = reads_q - 1'b1;
        end else if (position_ready_i) begin
          walked.walk_write = 1'b1;
          walked.walk_done = 1'b1;
          walked.job_pop = 1'b1;
          walked.state = ListTake;
        end
      end
      default: ;
    endcase
  end

  assign step = list_q == ListTake || list_q == ListNext || list_q == ListDrain ? listed : walked;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      list_q <= ListTake;
      took_q <= 1'b0;
      descriptor_request_valid_q <= 1'b0;
    end else begin
      list_q <= step.state;
      took_q <= step.takes;
      descriptor_request_valid_q <= step.reads_descriptor
                                 || (descriptor_request_valid_q && !descriptor_request_ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    entry_q <= step.entry;
    part_entry_q <= step.part_entry;
    reads_q <= step.reads;
    place_q <= step.place;
    wrapped_q <= step.wrapped;
    by_itself_q <= step.by_itself;
    in_chain_q <= step.in_chain;
    chain_q <= step.chain;
    returned_q <= step.returned;
    deferred_q <= step.deferred;
    deferred_job_q <= step.deferred_job;
    broken_q <= step.broken;
    broken_code_q <= step.broken_code;
    if (step.reads_descriptor) begin
      descriptor_request_q <= '{address: (ring_job_i.indirect ? ring_job_i.table_address : descriptors)
                                         + 64'(VirtqDescBytes) * 64'(head_at),
                                bytes: 13'(VirtqDescBytes), tag: '0};
    end
  end

  assign corrupt_o = took_q && row_corrupt;
  assign ring_job_pop_o = step.job_pop;
  assign ring_pop_o = step.ring_pop;
  assign walk_pop_o = step.walk_pop;
  assign walk_read_o = step.walk_read;
  assign walk_request_o = '{address: descriptors + 64'(PvirtqDescBytes) * 64'(place_q), bytes: 13'(PvirtqDescBytes),
                            tag: '0};
  assign walk_done_o = step.walk_done;
  assign walk_write_o = step.walk_write;
  assign walk_position_o = {wrapped_q, place_q};
  assign descriptor_job_push_o = step.push;
  assign descriptor_job_o = step.job;
  assign descriptor_request_valid_o = descriptor_request_valid_q;
  assign descriptor_request_o = descriptor_request_q;
  assign leaves_o = list_q == ListDrain || list_q == ListLeave;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(81),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchDescriptors)
  ) u_row (
    .clk_i,
    .rst_ni,
    .write_i(row_write_i),
    .write_address_i(row_i.vq_index[QueueBits-1:0]),
    .write_data_i({row_i.enabled, row_i.queue_size, row_i.queue_desc}),
    .read_i(step.takes),
    .read_address_i(ring_job_i.vq_index[QueueBits-1:0]),
    .read_data_o({enabled, size, descriptors}),
    .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

`ifndef SYNTHESIS
  descriptor_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                             descriptor_job_push_o |-> descriptor_job_space_i);
  ring_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_pop_o |-> ring_valid_i);
  index_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) walk_pop_o |-> index_valid_i);
  descriptor_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                            step.reads_descriptor |-> list_free);
`endif

endmodule
