// SPDX-License-Identifier: Apache-2.0

// Descriptor fetch for all blocks that use virtqueue buffers: reads available index, ring entries and descriptors of
// split rings, and descriptors of packed rings.
//
// The pipeline has four stages, each a module, connected by FIFOs of jobs: vireo_desc_accept, vireo_desc_ring,
// vireo_desc_list and vireo_desc_answer. Stages 2 to 4 each wait for a DMA read that the stage before
// has requested. Requests without a read pass through the same FIFOs, so responses are in the order of the requests.
// Cycle counts: docs/blocks/desc_fetch.md.
//
// Of a split ring it keeps how many buffers behind the position the driver had made available when the index was last
// read: a request for no more than that reads no index.
//
// The block owns the available position of every queue. It checks index, head, length and memory window, and stops a
// queue whose driver violates a rule. A client requests further descriptors of a chain by index (by_index). If a
// descriptor refers to an indirect table, stage 4 reads the first descriptor of the table and returns it instead, so a
// client that uses one descriptor per buffer need not handle indirect tables. A client that follows chains sends the
// table's address with the index.
//
// Packed rings have no available index and no separate entries: stage 2 reads as many descriptors as were requested,
// and stage 3 checks which of them are available. Stage 3 also follows every chain to its end, where the next buffer
// starts. The index of a descriptor is its position in the ring, with the wrap counter in bit 15. Each response has the
// buffer id, which is valid in the last descriptor of a buffer, and the position after the descriptor.
module vireo_desc_fetch
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_desc_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Requests,     // outstanding index reads, and ring reads; a power of two, 4 or more
  parameter int unsigned Descriptors,  // outstanding descriptor reads; a power of two, 4 or more
  localparam int unsigned NumQueues = queues_of(Config)  // virtqueues; 2 or more
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  // Features accepted by the driver. They change only while nothing is in flight.
  input  logic                          ring_packed_i,
  input  logic                          event_idx_i,
  input  logic                          indirect_i,

  input  logic                          table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t                  table_write_i,            // fields of other blocks
  input  logic                          queue_row_write_valid_i,
  input  queue_row_write_t              queue_row_write_i,        // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic                          context_flip_valid_i,
  input  context_flip_t                 context_flip_i,
  output logic                          parity_error_o,

  input  logic [Clients-1:0]            buffer_request_valid_i,
  output logic [Clients-1:0]            buffer_request_ready_o,
  input  buffer_request_t [Clients-1:0] buffer_request_i,
  output logic [Clients-1:0]            buffer_valid_o,
  input  logic [Clients-1:0]            buffer_ready_i,
  output buffer_t [Clients-1:0]         buffer_o,

  output logic                          index_request_valid_o,
  input  logic                          index_request_ready_i,
  output dma_read_request_t             index_request_o,
  input  logic                          index_fetched_valid_i,
  output logic                          index_fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t                  index_fetched_i,          // the tag is not used: responses are in order
  // verilator lint_on UNUSEDSIGNAL

  output logic                          ring_request_valid_o,
  input  logic                          ring_request_ready_i,
  output dma_read_request_t             ring_request_o,
  input  logic                          ring_fetched_valid_i,
  output logic                          ring_fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t                  ring_fetched_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic                          descriptor_request_valid_o,
  input  logic                          descriptor_request_ready_i,
  output dma_read_request_t             descriptor_request_o,
  input  logic                          descriptor_fetched_valid_i,
  output logic                          descriptor_fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t                  descriptor_fetched_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic                          table_request_valid_o,    // of indirect tables
  input  logic                          table_request_ready_i,
  output dma_read_request_t             table_request_o,
  input  logic                          table_fetched_valid_i,
  output logic                          table_fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t                  table_fetched_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic                          queue_failure_valid_o,
  input  logic                          queue_failure_ready_i,
  output queue_failure_t                queue_failure_o,
  output logic                          window_violation_o,       // a pulse, for the counter

  output logic                          avail_event_valid_o,      // a pulse
  output avail_event_t                  avail_event_o,

  output logic                          fence_o,                  // accesses from before the last write of a
                                                                  // virtqueue's entry have not ended
  output logic                          idle_o
);

  // Of features that the configuration does not have nothing is left.
  logic ring_packed, event_idx;
  assign ring_packed = Config.packed_rings != 0 && ring_packed_i;
  assign event_idx = Config.event_index != 0 && event_idx_i;

  if (Requests < 4 || (Requests & (Requests - 1)) != 0) $fatal(1, "Requests is not a power of two, 4 or more");
  if (Descriptors < 4 || (Descriptors & (Descriptors - 1)) != 0) begin : gen_bad_descriptors
    $fatal(1, "Descriptors is not a power of two, 4 or more");
  end
  if (NumQueues < 2) $fatal(1, "NumQueues is less than 2");

  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned RingReads = 4 * Requests;  // outstanding; a request of a packed ring takes up to 9
  // Upper bound of the requests in all slices, FIFOs and registers.
  localparam int unsigned OutstandingMost = 4 * Clients + 4 * Requests + 2 * Descriptors;
  localparam int unsigned OutstandingBits = $clog2(OutstandingMost);

  // --- Pulses
  // verilator lint_off UNUSEDSIGNAL
  table_virtqueue_t pulse_virtqueue;  // fields of other blocks
  table_window_t pulse_window;        // reserved bits
  // verilator lint_on UNUSEDSIGNAL
  logic virtqueue_write, window_write, table_clear;
  logic [QueueBits-1:0] table_index;

  // Zero without a write, which speeds up simulation.
  always_comb begin
    pulse_virtqueue = '0;
    pulse_window = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      pulse_virtqueue = unpack_table_virtqueue(table_write_i.data[8*TableVirtqueueBytes-1:0]);
      pulse_window = unpack_table_window(table_write_i.data[8*TableWindowBytes-1:0]);
    end
  end

  assign virtqueue_write = table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue;
  assign window_write = table_write_valid_i && table_write_i.table_id == MgmtTableWindow;
  // An entry that is cleared has kind none; this clears the positions as well.
  assign table_clear = virtqueue_write
                    && (pulse_virtqueue.reset_positions || pulse_virtqueue.kind == TableQueueKindNone);
  assign table_index = table_write_i.index[QueueBits-1:0];
  // --- FIFOs of jobs between the stages, and read data. Data that a stage does not use yet waits in its places in the
  // read port. One entry is enough here where a stage does not have the next one in the cycle after: of descriptors two.
  logic index_job_push, index_job_space, index_job_valid, index_job_pop;
  index_job_t index_job_in, index_job;
  logic index_valid, index_pop, walk_pop;
  index_data_t index_data;
  logic ring_job_push, ring_job_space, ring_job_valid, ring_job_pop;
  ring_job_t ring_job_in, ring_job;
  logic ring_valid, ring_pop;
  ring_data_t ring_data;
  logic descriptor_job_push, descriptor_job_space, descriptor_job_valid, descriptor_job_pop;
  descriptor_job_t descriptor_job_in, descriptor_job;
  logic descriptor_valid, descriptor_pop;
  descriptor_data_t descriptor_data;
  logic accept_take, accept_corrupt, ring_corrupt, list_corrupt, answer_corrupt;
  logic index_done, known_write, failed_write;
  logic [15:0] known;
  logic walk_read, walk_free, walk_done, walk_write, position_ready;
  logic [15:0] walk_position;
  dma_read_request_t walk_request;
  logic leaves, free;

  vireo_fifo #(
    .Width($bits(index_job_t)),
    .Depth(Requests),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_index_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(index_job_push),
    .s_ready_o(index_job_space),
    .s_data_i(index_job_in),
    .m_valid_o(index_job_valid),
    .m_ready_i(index_job_pop),
    .m_data_o(index_job)
  );

  // resp 0 is okay [AMBA AXI, A3.4.4]
  vireo_slice #(
    .Width($bits(index_data_t)),
    .Depth(1)
  ) u_index_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(index_fetched_valid_i),
    .s_ready_o(index_fetched_ready_o),
    .s_data_i({index_fetched_i.resp != '0, index_fetched_i.data[8*PvirtqDescBytes-1:0]}),
    .m_valid_o(index_valid),
    .m_ready_i(index_pop || walk_pop),
    .m_data_o(index_data)
  );

  vireo_fifo #(
    .Width($bits(ring_job_t)),
    .Depth(Requests),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_ring_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(ring_job_push),
    .s_ready_o(ring_job_space),
    .s_data_i(ring_job_in),
    .m_valid_o(ring_job_valid),
    .m_ready_i(ring_job_pop),
    .m_data_o(ring_job)
  );

  vireo_slice #(
    .Width($bits(ring_data_t)),
    .Depth(1)
  ) u_ring_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(ring_fetched_valid_i),
    .s_ready_o(ring_fetched_ready_o),
    .s_data_i({ring_fetched_i.resp != '0, ring_fetched_i.data}),
    .m_valid_o(ring_valid),
    .m_ready_i(ring_pop),
    .m_data_o(ring_data)
  );

  vireo_fifo #(
    .Width($bits(descriptor_job_t)),
    .Depth(Descriptors),
    .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))
  ) u_descriptor_jobs (
    .clk_i,
    .rst_ni,
    .s_valid_i(descriptor_job_push),
    .s_ready_o(descriptor_job_space),
    .s_data_i(descriptor_job_in),
    .m_valid_o(descriptor_job_valid),
    .m_ready_i(descriptor_job_pop),
    .m_data_o(descriptor_job)
  );

  vireo_slice #(
    .Width($bits(descriptor_data_t))
  ) u_descriptor_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(descriptor_fetched_valid_i),
    .s_ready_o(descriptor_fetched_ready_o),
    .s_data_i({descriptor_fetched_i.resp != '0, descriptor_fetched_i.data[8*VirtqDescBytes-1:0]}),
    .m_valid_o(descriptor_valid),
    .m_ready_i(descriptor_pop),
    .m_data_o(descriptor_data)
  );

  // --- The stages
  vireo_desc_accept #(.Config(Config), .Requests(Requests)) u_accept (
    .clk_i, .rst_ni, .ring_packed_i(ring_packed),
    .row_write_i(queue_row_write_valid_i), .row_i(queue_row_write_i), .virtqueue_write_i(virtqueue_write),
    .virtqueue_i(pulse_virtqueue), .table_index_i(table_index), .table_clear_i(table_clear),
    .context_flip_valid_i, .context_flip_i, .corrupt_o(accept_corrupt),
    .buffer_request_valid_i, .buffer_request_ready_o, .buffer_request_i, .take_o(accept_take),
    .index_request_valid_o, .index_request_ready_i, .index_request_o,
    .walk_read_i(walk_read), .walk_request_i(walk_request), .walk_free_o(walk_free),
    .index_job_push_o(index_job_push), .index_job_space_i(index_job_space), .index_job_o(index_job_in),
    .index_done_i(index_done), .walk_done_i(walk_done),
    .failed_write_i(failed_write), .failed_index_i(descriptor_job.vq_index[QueueBits-1:0]),
    .known_write_i(known_write), .known_index_i(index_job.vq_index[QueueBits-1:0]), .known_i(known)
  );

  vireo_desc_ring #(.Config(Config), .Reads(RingReads)) u_ring (
    .clk_i, .rst_ni, .ring_packed_i(ring_packed), .event_idx_i(event_idx),
    .row_write_i(queue_row_write_valid_i), .row_i(queue_row_write_i), .virtqueue_write_i(virtqueue_write),
    .virtqueue_i(pulse_virtqueue), .table_index_i(table_index), .table_clear_i(table_clear),
    .context_flip_valid_i, .context_flip_i, .corrupt_o(ring_corrupt),
    .index_job_valid_i(index_job_valid), .index_job_pop_o(index_job_pop), .index_job_i(index_job),
    .index_valid_i(index_valid), .index_pop_o(index_pop), .index_data_i(index_data),
    .index_done_o(index_done), .known_write_o(known_write), .known_o(known),
    .ring_request_valid_o, .ring_request_ready_i, .ring_request_o, .ring_pop_i(ring_pop),
    .ring_job_push_o(ring_job_push), .ring_job_space_i(ring_job_space), .ring_job_o(ring_job_in),
    .walk_write_i(walk_write), .walk_index_i(ring_job.vq_index[QueueBits-1:0]), .walk_position_i(walk_position),
    .position_ready_o(position_ready), .avail_event_valid_o, .avail_event_o
  );

  vireo_desc_list #(.Config(Config)) u_list (
    .clk_i, .rst_ni, .ring_packed_i(ring_packed),
    .row_write_i(queue_row_write_valid_i), .row_i(queue_row_write_i),
    .context_flip_valid_i, .context_flip_i, .corrupt_o(list_corrupt),
    .ring_job_valid_i(ring_job_valid), .ring_job_pop_o(ring_job_pop), .ring_job_i(ring_job),
    .ring_valid_i(ring_valid), .ring_pop_o(ring_pop), .ring_data_i(ring_data),
    .index_valid_i(index_valid), .index_data_i(index_data), .walk_pop_o(walk_pop),
    .walk_read_o(walk_read), .walk_request_o(walk_request), .walk_free_i(walk_free), .walk_done_o(walk_done),
    .walk_write_o(walk_write), .walk_position_o(walk_position), .position_ready_i(position_ready),
    .descriptor_request_valid_o, .descriptor_request_ready_i, .descriptor_request_o,
    .descriptor_job_push_o(descriptor_job_push), .descriptor_job_space_i(descriptor_job_space),
    .descriptor_job_o(descriptor_job_in), .leaves_o(leaves)
  );

  vireo_desc_answer #(.Config(Config)) u_answer (
    .clk_i, .rst_ni, .ring_packed_i(ring_packed), .indirect_i,
    .row_write_i(queue_row_write_valid_i), .row_i(queue_row_write_i), .window_write_i(window_write),
    .window_i(pulse_window), .table_index_i(table_index), .table_clear_i(table_clear),
    .context_flip_valid_i, .context_flip_i, .corrupt_o(answer_corrupt),
    .descriptor_job_valid_i(descriptor_job_valid), .descriptor_job_pop_o(descriptor_job_pop),
    .descriptor_job_i(descriptor_job), .descriptor_valid_i(descriptor_valid), .descriptor_pop_o(descriptor_pop),
    .descriptor_data_i(descriptor_data),
    .table_request_valid_o, .table_request_ready_i, .table_request_o,
    .table_fetched_valid_i, .table_fetched_ready_o, .table_fetched_i,
    .buffer_valid_o, .buffer_ready_i, .buffer_o, .failed_write_o(failed_write),
    .queue_failure_valid_o, .queue_failure_ready_i, .queue_failure_o, .window_violation_o, .free_o(free)
  );

  // --- Parity: checked in the cycle after a read
  logic parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parity_error_q <= 1'b0;
    else parity_error_q <= accept_corrupt || ring_corrupt || list_corrupt || answer_corrupt;
  end
  assign parity_error_o = parity_error_q;

  // --- Number of requests from acceptance until stage 4 pops their last job
  logic [OutstandingBits-1:0] outstanding_d, outstanding_q;

  always_comb begin
    outstanding_d = outstanding_q - OutstandingBits'(descriptor_job_pop && descriptor_job.last);
    for (int unsigned i = 0; i < Clients; i++) begin
      outstanding_d += OutstandingBits'(buffer_request_valid_i[i] && buffer_request_ready_o[i]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      outstanding_q <= '0;
    end else begin
      outstanding_q <= outstanding_d;
    end
  end

  // --- Fence: requests accepted before the last write of a virtqueue's entry. Requests end in order, so a copy of the
  // number of those in progress is enough. Also while stage 3 takes entries that its request no longer needs.
  logic request_ends;
  logic [OutstandingBits-1:0] accepted_d, accepted_q;  // requests from stage 1 on
  logic [OutstandingBits-1:0] before_d, before_q;

  assign request_ends = descriptor_job_pop && descriptor_job.last;
  always_comb begin
    accepted_d = accepted_q + OutstandingBits'(accept_take) - OutstandingBits'(request_ends);
    before_d = before_q - OutstandingBits'(request_ends && before_q != '0);
    if (virtqueue_write) before_d = accepted_d;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accepted_q <= '0;
      before_q <= '0;
    end else begin
      accepted_q <= accepted_d;
      before_q <= before_d;
    end
  end

  assign fence_o = before_q != '0 || leaves;

  assign idle_o = outstanding_q == '0 && !leaves && free;

`ifndef SYNTHESIS
  // Features change only while nothing is in flight.
  features_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                    outstanding_q != '0 |-> $stable({ring_packed, event_idx, indirect_i}));
  index_data_one_user: assert property (@(posedge clk_i) disable iff (!rst_ni) !(index_pop && walk_pop));
  // The counter of outstanding requests neither underflows nor overflows.
  outstanding_not_zero: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                         descriptor_job_pop && descriptor_job.last |-> outstanding_q != '0);
  outstanding_bounded: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                        32'(outstanding_q) < OutstandingMost);
  accepted_are_outstanding: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                             before_q <= accepted_q && accepted_q <= outstanding_q);
`endif

endmodule
