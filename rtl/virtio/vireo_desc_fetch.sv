// SPDX-License-Identifier: Apache-2.0

// Descriptor fetch for all blocks that use virtqueue buffers: reads available index, ring entries and descriptors of
// split rings, and descriptors of packed rings.
//
// The pipeline has four stages connected by FIFOs of jobs. Stages 2 to 4 each wait for a DMA read that the stage before
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
#(
  parameter config_t Config,
  parameter int unsigned Requests,     // outstanding index reads, and ring reads; a power of two, 4 or more
  parameter int unsigned Descriptors,  // outstanding descriptor reads; a power of two, 4 or more
  localparam int unsigned NumQueues = queues_of(Config),  // virtqueues; 2 or more
  localparam int unsigned Clients = BufferClients
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

  localparam bit Push = Config.push_requests != 0;
  localparam bit Known = Config.known_entries != 0;
  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned ClientBits = $clog2(Clients);
  localparam int unsigned SlotBits = $clog2(Requests);
  localparam int unsigned RingReads = 4 * Requests;  // outstanding; a request of a packed ring takes up to 9
  localparam int unsigned RingSlotBits = $clog2(RingReads + 1);
  localparam int unsigned CountBits = $bits(NetBuffersPerRequest);
  localparam int unsigned EntryBits = CountBits - 1;                              // of one read of ring entries
  localparam int unsigned ReadsBits = 4;
  localparam int unsigned PlaceBits = 15;            // position in a packed ring; bit 15: wrap counter [2.8.14]
  // Packed descriptors per read. An aligned 64-byte read is a single cache line of the host.
  localparam logic [CountBits-1:0] DescriptorsPerRead = CountBits'(DmaFetchBytes / 8'(PvirtqDescBytes));
  localparam logic [6:0] ChainMost = 7'd64;  // longest packed chain, as in vireo_mailbox
  // Largest indirect table: a chain is at most as long as its queue, hence as the largest queue
  // [virtio 1.3, 2.7.5.3.1 and 2.8.19].
  localparam logic [31:0] TableBytesMost = 32'(VirtqSizeMax) * 32'(VirtqDescBytes);
  // Upper bound of the requests in all slices, FIFOs and registers.
  localparam int unsigned OutstandingMost = 4 * Clients + 4 * Requests + 2 * Descriptors;
  localparam int unsigned OutstandingBits = $clog2(OutstandingMost);

  typedef enum logic [2:0] {
    KindRead,     // needs the read of the next stage
    KindByIndex,  // reads one descriptor, at `index`
    KindEmpty,    // no buffer is available
    KindFailed,   // the queue was stopped earlier
    KindBroken,   // this job stops the queue, for the reason `code`
    KindWalked,   // packed ring: the job contains the descriptor
    KindPushed,   // the job contains the buffer, as the driver has pushed it
    KindKnown     // split ring: as KindRead, but so many entries are known to be available that no index is read
  } kind_e;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] index;   // by_index: of the descriptor; pushed: position; otherwise entries that are known
    logic [CountBits-1:0] count;
    logic chains;         // packed ring whose buffers may be chains
    logic [63:0] area;    // address of available ring or packed ring; by_index: of the indirect table
    logic indirect;       // by_index: in an indirect table
    logic [15:0] entries; // descriptors in the table; pushed: head
    logic [6:0] bytes;    // pushed: of the buffer at `area`
  } index_job_t;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] index;   // by_index: of the descriptor; otherwise position of the first entry, packed: with bit 15
    logic [CountBits-1:0] count;
    logic [ReadsBits-1:0] reads;
    logic chains;
    logic held;           // no further request of the queue is accepted until this job ends
    logic [7:0] code;
    logic indirect;       // by_index: in an indirect table
    logic [63:0] table_address;
    logic [15:0] entries;
    logic [6:0] bytes;
  } ring_job_t;

  typedef struct packed {
    kind_e kind;
    logic [ClientBits-1:0] client;
    logic [15:0] vq_index;
    logic [15:0] head;
    logic [15:0] next;    // packed ring: position after the descriptor
    logic [15:0] id;      // packed ring: buffer id
    logic [7:0] code;
    logic last;
    logic replay;         // the buffer may have been used since, so a fault does not stop the queue
    logic indirect;       // in an indirect table: `address` is the table's, `bytes` its number of descriptors
    logic [63:0] address;
    logic [31:0] bytes;
    logic [15:0] flags;
  } descriptor_job_t;

  // Fields of dma_fetched_t that are used.
  typedef struct packed {
    logic error;
    logic [8*PvirtqDescBytes-1:0] data;
  } index_data_t;
  typedef struct packed {
    logic error;
    logic [8*DmaFetchBytes-1:0] data;
  } ring_data_t;
  typedef struct packed {
    logic error;
    logic [8*VirtqDescBytes-1:0] data;
  } descriptor_data_t;

  // --- Pulses
  // verilator lint_off UNUSEDSIGNAL
  table_virtqueue_t pulse_virtqueue;  // fields of other blocks
  table_window_t pulse_window;        // reserved bits
  // verilator lint_on UNUSEDSIGNAL
  logic virtqueue_write, window_write, table_clear, row_clear;
  logic [QueueBits-1:0] table_index, row_index;

  // Zero without a write, which speeds up simulation.
  always_comb begin
    pulse_virtqueue = '0;
    pulse_window = '0;
    if (table_write_valid_i) begin
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
  assign row_clear = queue_row_write_valid_i;
  assign row_index = queue_row_write_i.vq_index[QueueBits-1:0];

  // --- Requests of all clients: as vireo_arb_rr, but a request that stage 1 could not accept, because its queue is
  // being read, waits in the slice of its client and stops no other client. It is compared with the queues being read;
  // those on the way to stage 1 are not known there, so a client has at most one request on this way.
  logic request_valid, request_pop;
  logic [ClientBits-1:0] request_client;
  // verilator lint_off UNUSEDSIGNAL
  buffer_request_t request;  // the input identifies the client
  // verilator lint_on UNUSEDSIGNAL
  logic [Clients-1:0] client_valid, client_pop, eligible;
  buffer_request_t client_request [Clients];
  logic [Clients-1:0] accepting_d, accepting_q;  // has a request on this way
  logic [ClientBits-1:0] winner_q, pick;
  logic pick_valid, pick_ready;

  for (genvar i = 0; i < Clients; i++) begin : gen_client
    vireo_slice #(
      .Width(BufferRequestBits)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .s_valid_i(buffer_request_valid_i[i]),
      .s_ready_o(buffer_request_ready_o[i]),
      .s_data_i(buffer_request_i[i]),
      .m_valid_o(client_valid[i]),
      .m_ready_i(client_pop[i]),
      .m_data_o(client_request[i])
    );
  end

  vireo_rr_pick #(.Inputs(Clients)) u_pick (.requests_i(eligible), .last_i(winner_q), .pick_o(pick));

  vireo_slice #(
    .Width(ClientBits + BufferRequestBits)
  ) u_request (
    .clk_i,
    .rst_ni,
    .s_valid_i(pick_valid),
    .s_ready_o(pick_ready),
    .s_data_i({pick, client_request[pick]}),
    .m_valid_o(request_valid),
    .m_ready_i(request_pop),
    .m_data_o({request_client, request})
  );

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

  vireo_fifo #(
    .Width($bits(index_job_t)),
    .Depth(Requests)
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
    .Depth(Requests)
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
    .Depth(Descriptors)
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

  // Position of stage 3 in the ring; packed: with the complement of the wrap counter. Stage 2 writes it to u_position.
  logic [PlaceBits-1:0] walk_place_q;
  logic walk_wrapped_q;

  // Failed queues: written by stage 4, read by stages 1 and 4.
  logic failed_write, failed_write_ready;

  // --- Stage 1: checks that the queue is served and reads the available index.
  typedef enum logic {
    AcceptTake,
    AcceptLookup
  } accept_e;

  accept_e accept_d, accept_q;
  logic accept_take, accept_lookup;
  logic served1, chains1, enabled1, failed1;
  logic row1_corrupt, served1_corrupt;
  logic [63:0] area1;
  logic [15:0] known1;                  // entries known to be available
  logic unused_failed1_ready;
  logic index_read, hold;
  logic index_request_valid_d, index_request_valid_q;
  dma_read_request_t index_request_d, index_request_q;

  // Queues that are held: those of the requests in front of stage 2, which writes how many entries are known, and of
  // which one at most reads the index: host memory may return the data of two reads in either order, and the index
  // would then appear to decrease. Pushed requests pass each other's hold. Packed ring: queues whose descriptors stage 3
  // has not yet walked, because the next request starts where the walk ends.
  logic [Requests-1:0] reading_d, reading_q;
  logic [Requests-1:0] reading_pushed_d, reading_pushed_q;
  logic [Requests-1:0][15:0] reading_vq_d, reading_vq_q;
  logic [SlotBits-1:0] reading_tail_q, reading_head_q;
  logic index_done, walk_done;
  logic walk_read;                      // stage 3 reads a descriptor of a packed ring
  dma_read_request_t walk_request;

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      eligible[i] = client_valid[i] && !accepting_q[i];
      for (int unsigned j = 0; j < Requests; j++) begin
        if (reading_q[j] && reading_vq_q[j] == client_request[i].vq_index && !client_request[i].by_index
            && !(Push && reading_pushed_q[j] && client_request[i].pushed)) begin
          eligible[i] = 1'b0;
        end
      end
    end
  end

  always_comb begin
    pick_valid = eligible != '0;
    client_pop = '0;
    client_pop[pick] = pick_valid && pick_ready;

    accept_take = accept_q == AcceptTake && request_valid && (request.by_index || !reading_q[reading_tail_q])
               && index_job_space && (ring_packed || !index_request_valid_q || index_request_ready_i);
    accept_lookup = accept_q == AcceptLookup;
    accept_d = accept_take ? AcceptLookup : AcceptTake;
    request_pop = accept_lookup;
    accepting_d = accepting_q | client_pop;
    if (request_pop) accepting_d[request_client] = 1'b0;

    index_job_push = accept_lookup;
    index_job_in = '{kind: KindRead, client: request_client, vq_index: request.vq_index,
                     index: request.by_index || request.pushed ? request.index : known1,
                     count: request.count, chains: chains1 && ring_packed,
                     area: request.by_index || request.pushed ? request.table_address : area1,
                     indirect: request.by_index && request.indirect, entries: request.table_entries,
                     bytes: request.bytes};
    if (!enabled1 || !served1) index_job_in.kind = KindEmpty;
    else if (failed1) index_job_in.kind = KindFailed;
    else if (Push && request.pushed) index_job_in.kind = KindPushed;
    else if (request.by_index) index_job_in.kind = KindByIndex;
    else if (Known && !ring_packed && known1 >= 16'(request.count)) index_job_in.kind = KindKnown;

    index_read = accept_lookup && !ring_packed && index_job_in.kind == KindRead;
    hold = accept_lookup && (index_job_in.kind == KindRead || index_job_in.kind == KindKnown
                             || (Known && !ring_packed && index_job_in.kind == KindPushed));
    index_request_valid_d = index_read || walk_read
                         || (index_request_valid_q && !index_request_ready_i);
    index_request_d = index_request_q;
    if (walk_read) begin
      index_request_d = walk_request;
    end else if (index_read) begin
      index_request_d = '{address: area1 + 64'(VirtqAvailIdxOffset), bytes: 13'(VirtqAvailRingEntryBytes), tag: '0};
    end

    reading_d = reading_q;
    reading_vq_d = reading_vq_q;
    reading_pushed_d = reading_pushed_q;
    if (index_done || walk_done) reading_d[reading_head_q] = 1'b0;
    if (hold) begin
      reading_d[reading_tail_q] = 1'b1;
      reading_pushed_d[reading_tail_q] = index_job_in.kind == KindPushed;
      reading_vq_d[reading_tail_q] = request.vq_index;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accept_q <= AcceptTake;
      accepting_q <= '0;
      winner_q <= ClientBits'(Clients - 1);
      index_request_valid_q <= 1'b0;
      reading_q <= '0;
      reading_tail_q <= '0;
      reading_head_q <= '0;
    end else begin
      accept_q <= accept_d;
      accepting_q <= accepting_d;
      if (pick_valid && pick_ready) winner_q <= pick;
      index_request_valid_q <= index_request_valid_d;
      reading_q <= reading_d;
      if (hold) reading_tail_q <= reading_tail_q + 1'b1;
      if (index_done || walk_done) reading_head_q <= reading_head_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    index_request_q <= index_request_d;
    reading_vq_q <= reading_vq_d;
    reading_pushed_q <= reading_pushed_d;
  end

  assign index_request_valid_o = index_request_valid_q;
  assign index_request_o = index_request_q;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(65),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchArea)
  ) u_row1 (
    .clk_i,
    .rst_ni,
    .write_i(row_clear),
    .write_address_i(row_index),
    .write_data_i({queue_row_write_i.enabled,
                   ring_packed ? queue_row_write_i.queue_desc : queue_row_write_i.queue_driver}),
    .read_i(accept_take),
    .read_address_i(request.vq_index[QueueBits-1:0]),
    .read_data_o({enabled1, area1}),
    .corrupt_o(row1_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(2),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchServed)
  ) u_served (
    .clk_i,
    .rst_ni,
    .write_i(virtqueue_write),
    .write_address_i(table_index),
    .write_data_i({pulse_virtqueue.kind != TableQueueKindNone && !pulse_virtqueue.stopped,
                   pulse_virtqueue.kind == TableQueueKindReceive || pulse_virtqueue.kind == TableQueueKindTransmit
                   || pulse_virtqueue.kind == TableQueueKindControl}),
    .read_i(accept_take),
    .read_address_i(request.vq_index[QueueBits-1:0]),
    .read_data_o({served1, chains1}),
    .corrupt_o(served1_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(1)
  ) u_failed1 (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_clear),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(failed_write),
    .write_ready_o(unused_failed1_ready),  // that of u_failed4
    .write_index_i(descriptor_job.vq_index[QueueBits-1:0]),
    .write_data_i(1'b1),
    .read_i(accept_take),
    .read_index_i(request.vq_index[QueueBits-1:0]),
    .read_data_o(failed1)
  );

  // How many entries behind the position the driver is known to have made available. Unknown, that is 0, behind a
  // pushed buffer. Written by stage 2 whenever it passes a request on.
  logic known_write;
  logic [15:0] known_in;
  if (Known) begin : gen_known
    logic unused_known_ready;  // that of u_position
    vireo_queue_state #(
      .NumQueues(NumQueues),
      .Width(16)
    ) u_known1 (
      .clk_i,
      .rst_ni,
      .row_clear_i(row_clear),
      .row_clear_index_i(row_index),
      .table_clear_i(table_clear),
      .table_clear_index_i(table_index),
      .write_i(known_write),
      .write_ready_o(unused_known_ready),
      .write_index_i(index_job.vq_index[QueueBits-1:0]),
      .write_data_i(known_in),
      .read_i(accept_take),
      .read_index_i(request.vq_index[QueueBits-1:0]),
      .read_data_o(known1)
    );
  end else begin : gen_unknown
    logic unused_known;
    assign unused_known = ^{known_write, known_in};
    assign known1 = '0;
  end

  // --- Stage 2: computes the number of available entries, reads them and advances the position. Packed ring: reads as
  // many descriptors as buffers were requested.
  typedef enum logic [1:0] {
    RingTake,
    RingLookup,
    RingIssue,
    RingMore   // further reads: after the wrap of the ring, or beyond the size of one read
  } ring_e;

  ring_e ring_d, ring_q;
  logic ring_take, ring_read, ring_free;
  logic enabled2, row2_corrupt;
  logic [15:0] size2, position;
  logic position_write, position_write_ready, walk_write;
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
  logic rings2;                           // the driver rings doorbells for this queue
  logic reported_known, reported_write;           // avail_event since the queue was enabled
  logic [15:0] reported, index2;
  logic index_reads;                      // the job has read the index
  logic is_next;                          // the pushed buffer is the queue's next one
  logic position_last;                    // packed ring: the last place
  logic [15:0] position_next;             // behind one buffer
  logic avail_event_valid_q;
  avail_event_t avail_event_q;
  logic ring_request_valid_d, ring_request_valid_q;
  dma_read_request_t ring_request_d, ring_request_q;

  always_comb begin
    ring_d = ring_q;
    ring_take = 1'b0;
    ring_read = 1'b0;
    ring_job_push = 1'b0;
    index_job_pop = 1'b0;
    index_pop = 1'b0;
    index_done = 1'b0;
    known_write = 1'b0;
    known_in = '0;
    available_d = available_q;
    to_end_d = to_end_q;
    at_d = at_q;
    left_d = left_q;
    position_write = 1'b0;
    ring_free = (!ring_request_valid_q || ring_request_ready_i) && ring_slots_q != '0;
    area_d = ring_q == RingMore ? area_q : index_job.area;

    take = index_job.count;
    if (available_q < 16'(take)) take = available_q[CountBits-1:0];
    before_end = to_end_q < 16'(take) ? to_end_q[CountBits-1:0] : take;
    past_end = take - before_end;
    part = ring_q == RingIssue ? take : left_q;
    if (to_end_q < 16'(part)) part = to_end_q[CountBits-1:0];
    if (ring_packed && part > DescriptorsPerRead) part = DescriptorsPerRead;

    ring_job_in = '{kind: index_job.kind == KindKnown ? KindRead : index_job.kind, client: index_job.client, vq_index: index_job.vq_index,
                    index: index_job.index, count: CountBits'(1), reads: '0, chains: index_job.chains,
                    held: ring_packed && index_job.kind == KindRead, code: RdmaErrorOk,
                    indirect: index_job.indirect, table_address: index_job.area, entries: index_job.entries,
                    bytes: index_job.bytes};
    // A client that gets fewer buffers than requested waits for a doorbell, so avail_event must be updated. With packed
    // rings the driver always rings, because the device event suppression structure stays zero
    // [virtio 1.3, 2.7.10 and 2.8.10].
    index_reads = !ring_packed && index_job.kind == KindRead;
    index2 = position + available_q;
    reported_write = 1'b0;
    position_last = 16'(position[PlaceBits-1:0]) == size2 - 16'd1;
    position_next = !ring_packed ? position + 16'd1
                    : {position[PlaceBits] ^ position_last, position_last ? '0 : position[PlaceBits-1:0] + 1'b1};
    is_next = enabled2 && index_job.index == (ring_packed ? {!position[PlaceBits], position[PlaceBits-1:0]} : position)
              && (ring_packed || index_job.entries < size2);

    unique case (ring_q)
      RingTake: begin
        if (index_job_valid && ring_job_space) begin
          if (index_job.kind == KindPushed) begin
            ring_take = 1'b1;
            ring_d = RingLookup;
          end else if (index_job.kind != KindRead && index_job.kind != KindKnown) begin
            ring_job_push = 1'b1;
            index_job_pop = 1'b1;
          end else if ((!index_reads || index_valid) && ring_free) begin
            ring_take = 1'b1;
            ring_d = RingLookup;
          end
        end
      end
      RingLookup: begin
        if (ring_packed) begin
          at_d = 16'(position[PlaceBits-1:0]);
          available_d = size2;
        end else begin
          at_d = position & (size2 - 16'd1);  // sizes are powers of two [virtio 1.3, 2.7]
          available_d = index_job.kind == KindKnown ? index_job.index : index_data.data[15:0] - position;
        end
        to_end_d = size2 - at_d;
        ring_d = RingIssue;
      end
      RingIssue: begin
        if (index_job.kind == KindPushed) begin
          if (position_write_ready && !walk_write) begin
            ring_job_push = 1'b1;
            index_job_pop = 1'b1;
            index_done = Known && !ring_packed;
            ring_d = RingTake;
            position_write = is_next;
            known_write = 1'b1;
            if (!is_next) ring_job_in.kind = KindEmpty;
          end
        end else if (position_write_ready) begin
          ring_job_push = 1'b1;
          index_job_pop = 1'b1;
          index_pop = index_reads;
          index_done = !ring_packed;
          ring_d = RingTake;
          known_write = 1'b1;
          reported_write = event_idx && enabled2 && rings2 && index_reads && !index_data.error
                    && available_q <= size2 && available_q < 16'(index_job.count)
                    && !(reported_known && reported == index2);
          if (!enabled2) begin
            ring_job_in.kind = KindEmpty;
          end else if (index_reads && index_data.error) begin
            ring_job_in.kind = KindBroken;
            ring_job_in.code = RdmaErrorQueueDmaError;
          end else if (available_q > size2) begin
            // The driver must not make more entries available than the queue has [virtio 1.3, 2.7.13.1].
            ring_job_in.kind = KindBroken;
            ring_job_in.code = RdmaErrorBadDescriptor;
          end else if (available_q == '0) begin
            ring_job_in.kind = KindEmpty;
          end else begin
            ring_read = 1'b1;
            position_write = !ring_packed;
            known_in = available_q - 16'(take);
            left_d = take - part;
            if (left_d != '0) ring_d = RingMore;
            ring_job_in.count = take;
            ring_job_in.index = {ring_packed && position[PlaceBits], at_q[PlaceBits-1:0]};
            ring_job_in.reads = ReadsBits'(1) + ReadsBits'(past_end != '0);
            if (ring_packed) begin
              ring_job_in.reads = ReadsBits'((before_end + DescriptorsPerRead - 1'b1) / DescriptorsPerRead)
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

    ring_request_valid_d = ring_read || (ring_request_valid_q && !ring_request_ready_i);
    ring_request_d = ring_request_q;
    ring_slots_d = ring_slots_q - RingSlotBits'(ring_read) + RingSlotBits'(ring_pop);
    if (ring_read) begin
      at_d = 16'(part) == to_end_q ? '0 : at_q + 16'(part);
      to_end_d = size2 - at_d;
      if (ring_packed) begin
        ring_request_d = '{address: area_d + 64'(PvirtqDescBytes) * 64'(at_q),
                           bytes: 13'(PvirtqDescBytes) * 13'(part), tag: '0};
      end else begin
        ring_request_d = '{address: area_d + 64'(VirtqAvailBytes) + 64'(VirtqAvailRingEntryBytes) * 64'(at_q),
                           bytes: 13'(VirtqAvailRingEntryBytes) * 13'(part), tag: '0};
      end
    end
    position_in = walk_write ? {walk_wrapped_q, walk_place_q}
                  : index_job.kind == KindPushed ? position_next : position + 16'(take);
    position_index = walk_write ? ring_job.vq_index[QueueBits-1:0] : index_job.vq_index[QueueBits-1:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ring_q <= RingTake;
      ring_request_valid_q <= 1'b0;
      ring_slots_q <= RingSlotBits'(RingReads);
      avail_event_valid_q <= 1'b0;
    end else begin
      ring_q <= ring_d;
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
    avail_event_q <= '{vq_index: index_job.vq_index, idx: index2};
  end

  assign ring_request_valid_o = ring_request_valid_q;
  assign ring_request_o = ring_request_q;
  assign avail_event_valid_o = avail_event_valid_q;
  assign avail_event_o = avail_event_q;

  // Completion queues and the event queue need no doorbell: they are read when a buffer is needed.
  vireo_table #(
    .Width(1),
    .Depth(NumQueues)
  ) u_rings2 (
    .clk_i,
    .rst_ni,
    .write_i(virtqueue_write),
    .write_address_i(table_index),
    .write_data_i(pulse_virtqueue.kind != TableQueueKindCq && pulse_virtqueue.kind != TableQueueKindEvent),
    .read_i(ring_take),
    .read_address_i(index_job.vq_index[QueueBits-1:0]),
    .read_data_o(rings2)
  );

  // The last avail_event that was reported, so that repeated reads of an unchanged index report it only once.
  logic unused_reported_ready;  // that of u_position
  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(17)
  ) u_reported (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_clear),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(reported_write),
    .write_ready_o(unused_reported_ready),
    .write_index_i(index_job.vq_index[QueueBits-1:0]),
    .write_data_i({1'b1, index2}),
    .read_i(ring_take),
    .read_index_i(index_job.vq_index[QueueBits-1:0]),
    .read_data_o({reported_known, reported})
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(17),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchSize)
  ) u_row2 (
    .clk_i,
    .rst_ni,
    .write_i(row_clear),
    .write_address_i(row_index),
    .write_data_i({queue_row_write_i.enabled, queue_row_write_i.queue_size}),
    .read_i(ring_take),
    .read_address_i(index_job.vq_index[QueueBits-1:0]),
    .read_data_o({enabled2, size2}),
    .corrupt_o(row2_corrupt),
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
    .row_clear_i(row_clear),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(position_write || walk_write),
    .write_ready_o(position_write_ready),
    .write_index_i(position_index),
    .write_data_i(position_in),
    .read_i(ring_take),
    .read_index_i(index_job.vq_index[QueueBits-1:0]),
    .read_data_o(position)
  );

  // --- Stage 3: reads the descriptor of each entry. Packed ring: checks the descriptors that were read.
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

  list_e list_d, list_q;
  logic list_take, list_free, descriptor_read;
  logic enabled3, row3_corrupt;
  logic [15:0] size3;
  logic [63:0] desc3;
  logic [EntryBits-1:0] entry_d, entry_q;
  logic [EntryBits-1:0] part_entry_d, part_entry_q;  // index in the data of one read
  logic part_end;                            // the last entry of the read
  logic [ReadsBits-1:0] reads_d, reads_q;    // reads whose data has not been popped
  logic [15:0] head, head_at;                // head_at: without the wrap counter
  logic descriptor_request_valid_d, descriptor_request_valid_q;
  dma_read_request_t descriptor_request_d, descriptor_request_q;
  logic [PlaceBits-1:0] walk_place_d, place_next;
  logic walk_wrapped_d, place_last;
  logic by_itself_d, by_itself_q;            // after a chain: descriptors are read here, not by stage 2
  logic in_chain_d, in_chain_q;
  logic [6:0] chain_d, chain_q;              // descriptors of the chain so far
  logic [CountBits-1:0] returned_d, returned_q;
  logic deferred_d, deferred_q;              // a buffer is held until it is known whether it is the last one
  descriptor_job_t deferred_job_d, deferred_job_q;
  logic broken_d, broken_q;                  // ListEnd: with this error
  logic [7:0] broken_code_d, broken_code_q;
  pvirtq_desc_t walk_descriptor;
  logic walk_valid, walk_error, walk_available, walk_next, walk_indirect;
  logic [15:0] head_limit;

  always_comb begin
    list_d = list_q;
    list_take = 1'b0;
    entry_d = entry_q;
    part_entry_d = part_entry_q;
    reads_d = reads_q;
    walk_place_d = walk_place_q;
    walk_wrapped_d = walk_wrapped_q;
    by_itself_d = by_itself_q;
    in_chain_d = in_chain_q;
    chain_d = chain_q;
    returned_d = returned_q;
    deferred_d = deferred_q;
    deferred_job_d = deferred_job_q;
    broken_d = broken_q;
    broken_code_d = broken_code_q;
    descriptor_read = 1'b0;
    ring_job_pop = 1'b0;
    ring_pop = 1'b0;
    walk_read = 1'b0;
    walk_write = 1'b0;
    walk_done = 1'b0;
    walk_pop = 1'b0;
    list_free = !descriptor_request_valid_q || descriptor_request_ready_i;

    place_last = 16'(walk_place_q) == size3 - 16'd1;
    place_next = place_last ? '0 : walk_place_q + 1'b1;
    part_end = place_last || (ring_packed && CountBits'(part_entry_q) == DescriptorsPerRead - 1'b1);

    // The current descriptor and whether it is available [virtio 1.3, 2.8.1 and 2.8.6].
    walk_descriptor = unpack_pvirtq_desc(by_itself_q || in_chain_q ? index_data.data
                              : ring_data.data[8*PvirtqDescBytes*part_entry_q[1:0] +: 8*PvirtqDescBytes]);
    walk_valid = by_itself_q || in_chain_q ? index_valid : ring_valid;
    walk_error = by_itself_q || in_chain_q ? index_data.error : ring_data.error;
    walk_available = ((walk_descriptor.flags & VirtqDescFlagsAvail) != '0) == !walk_wrapped_q
                  && ((walk_descriptor.flags & VirtqDescFlagsUsed) != '0) == walk_wrapped_q;
    walk_next = (walk_descriptor.flags & VirtqDescFlagsNext) != '0;
    walk_indirect = (walk_descriptor.flags & VirtqDescFlagsIndirect) != '0;

    head = ring_job.kind == KindByIndex ? ring_job.index : ring_data.data[16*part_entry_q +: 16];
    head_at = ring_packed && !ring_job.indirect ? 16'(head[PlaceBits-1:0]) : head;
    head_limit = ring_job.indirect ? ring_job.entries : size3;
    descriptor_job_push = 1'b0;
    descriptor_job_in = '{kind: ring_job.kind, client: ring_job.client, vq_index: ring_job.vq_index, head: head,
                          next: {head[PlaceBits] ^ place_last, place_next}, id: '0, code: ring_job.code, last: 1'b1,
                          replay: ring_job.kind == KindByIndex && ring_job.client == ClientBits'(BufferClientSend),
                          indirect: ring_job.kind == KindByIndex && ring_job.indirect,
                          address: ring_job.table_address, bytes: 32'(ring_job.entries), flags: '0};
    if (ring_job.kind == KindPushed) begin
      descriptor_job_in.head = ring_packed ? ring_job.index : ring_job.entries;
      descriptor_job_in.bytes = 32'(ring_job.bytes);
    end

    unique case (list_q)
      ListTake: begin
        entry_d = '0;
        part_entry_d = '0;
        reads_d = ring_job.reads;
        walk_place_d = ring_job.index[PlaceBits-1:0];
        walk_wrapped_d = ring_job.index[PlaceBits];
        by_itself_d = 1'b0;
        in_chain_d = 1'b0;
        returned_d = '0;
        deferred_d = 1'b0;
        broken_d = 1'b0;
        if (ring_job_valid) begin
          if (ring_job.kind != KindRead && ring_job.kind != KindByIndex) begin
            descriptor_job_push = descriptor_job_space;
            ring_job_pop = descriptor_job_space;
            walk_done = descriptor_job_space && ring_job.held;
          end else if (ring_job.kind == KindByIndex || ring_valid) begin
            list_take = 1'b1;
            list_d = ring_packed && ring_job.kind == KindRead ? ListWalk : ListNext;
          end
        end
      end
      ListNext: begin
        if (descriptor_job_space && list_free && (ring_job.kind == KindByIndex || ring_valid)) begin
          descriptor_job_push = 1'b1;
          entry_d = entry_q + 1'b1;
          part_entry_d = part_end ? '0 : part_entry_q + 1'b1;
          walk_place_d = place_next;
          if (!enabled3) begin
            descriptor_job_in.kind = KindEmpty;
          end else if (ring_job.kind == KindRead && ring_data.error) begin
            descriptor_job_in.kind = KindBroken;
            descriptor_job_in.code = RdmaErrorQueueDmaError;
          end else if (head_at >= head_limit) begin
            descriptor_job_in.kind = KindBroken;
            descriptor_job_in.code = RdmaErrorBadDescriptor;
          end else begin
            descriptor_job_in.kind = KindRead;
            descriptor_job_in.last = CountBits'(entry_q) + 1'b1 == ring_job.count;
            descriptor_read = 1'b1;
          end
          if (ring_job.kind == KindRead && (part_end || descriptor_job_in.last)) begin
            ring_pop = 1'b1;
            reads_d = reads_q - 1'b1;
          end
          if (descriptor_job_in.last) begin
            ring_job_pop = reads_d == '0;
            list_d = reads_d == '0 ? ListTake : ListDrain;
          end
        end
      end
      ListDrain: begin
        ring_pop = ring_valid;
        ring_job_pop = ring_valid;  // at most one read is left
        if (ring_valid) list_d = ListTake;
      end

      ListWalk: begin
        if (walk_valid && descriptor_job_space) begin
          walk_pop = by_itself_q;
          if (!enabled3) begin
            list_d = ListEnd;
          end else if (walk_error) begin
            broken_d = 1'b1;
            broken_code_d = RdmaErrorQueueDmaError;
            list_d = ListEnd;
          end else if (!walk_available) begin
            list_d = ListEnd;
          end else if (walk_next && (!ring_job.chains || walk_indirect)) begin
            broken_d = 1'b1;
            broken_code_d = RdmaErrorBadDescriptor;
            list_d = ListEnd;
          end else begin
            descriptor_job_push = deferred_q;
            descriptor_job_in = deferred_job_q;
            deferred_d = 1'b1;
            deferred_job_d = '{kind: KindWalked, client: ring_job.client, vq_index: ring_job.vq_index,
                           head: {!walk_wrapped_q, walk_place_q},
                           next: {!walk_wrapped_q ^ place_last, place_next}, id: walk_descriptor.id, code: RdmaErrorOk,
                           last: 1'b0, replay: 1'b0, indirect: 1'b0, address: walk_descriptor.addr,
                           bytes: walk_descriptor.len, flags: walk_descriptor.flags};
            walk_place_d = place_next;
            walk_wrapped_d = walk_wrapped_q ^ place_last;
            if (walk_next) begin
              in_chain_d = 1'b1;
              chain_d = 7'd1;
              list_d = ListRequest;
            end else begin
              returned_d = returned_q + 1'b1;
              if (!by_itself_q) begin
                part_entry_d = part_end ? '0 : part_entry_q + 1'b1;
                if (part_end || returned_d == ring_job.count) begin
                  ring_pop = 1'b1;
                  reads_d = reads_q - 1'b1;
                end
              end else begin
                list_d = ListRequest;
              end
              if (returned_d == ring_job.count) list_d = ListEnd;
            end
          end
        end
      end
      ListRequest: begin
        if (!index_request_valid_q || index_request_ready_i) begin
          walk_read = 1'b1;
          list_d = in_chain_q ? ListChain : ListWalk;
        end
      end
      // The driver makes the first descriptor of a chain available last, so the rest of the chain is available here
      // [virtio 1.3, 2.8.21.1].
      ListChain: begin
        if (walk_valid) begin
          walk_pop = 1'b1;
          list_d = ListRequest;
          if (walk_error) begin
            broken_d = 1'b1;
            broken_code_d = RdmaErrorQueueDmaError;
            list_d = ListEnd;
          end else if (!walk_available || walk_indirect || chain_q == ChainMost || 16'(chain_q) == size3) begin
            broken_d = 1'b1;
            broken_code_d = RdmaErrorBadDescriptor;
            list_d = ListEnd;
          end else begin
            walk_place_d = place_next;
            walk_wrapped_d = walk_wrapped_q ^ place_last;
            chain_d = chain_q + 1'b1;
            if (!walk_next) begin
              in_chain_d = 1'b0;
              by_itself_d = 1'b1;
              returned_d = returned_q + 1'b1;
              if (returned_d == ring_job.count) list_d = ListEnd;
            end
          end
          if (list_d == ListEnd && broken_d) deferred_d = 1'b0;  // an unterminated chain is not a buffer
        end
      end
      ListEnd: begin
        if (descriptor_job_space) begin
          descriptor_job_push = 1'b1;
          if (deferred_q) begin
            descriptor_job_in = deferred_job_q;
            descriptor_job_in.last = !broken_q;
            deferred_d = 1'b0;
          end else begin
            descriptor_job_in.kind = broken_q ? KindBroken : KindEmpty;
            descriptor_job_in.code = broken_code_q;
          end
          if (!deferred_q || !broken_q) list_d = ListLeave;
        end
      end
      ListLeave: begin
        if (reads_q != '0) begin
          ring_pop = ring_valid;
          if (ring_valid) reads_d = reads_q - 1'b1;
        end else if (position_write_ready) begin
          walk_write = 1'b1;
          walk_done = 1'b1;
          ring_job_pop = 1'b1;
          list_d = ListTake;
        end
      end
      default: list_d = ListTake;
    endcase

    descriptor_request_valid_d = descriptor_read || (descriptor_request_valid_q && !descriptor_request_ready_i);
    descriptor_request_d = descriptor_request_q;
    if (descriptor_read) begin
      descriptor_request_d = '{address: (ring_job.indirect ? ring_job.table_address : desc3)
                                        + 64'(VirtqDescBytes) * 64'(head_at),
                               bytes: 13'(VirtqDescBytes), tag: '0};
    end
    walk_request = '{address: desc3 + 64'(PvirtqDescBytes) * 64'(walk_place_q), bytes: 13'(PvirtqDescBytes), tag: '0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      list_q <= ListTake;
      descriptor_request_valid_q <= 1'b0;
    end else begin
      list_q <= list_d;
      descriptor_request_valid_q <= descriptor_request_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    entry_q <= entry_d;
    part_entry_q <= part_entry_d;
    reads_q <= reads_d;
    walk_place_q <= walk_place_d;
    walk_wrapped_q <= walk_wrapped_d;
    by_itself_q <= by_itself_d;
    in_chain_q <= in_chain_d;
    chain_q <= chain_d;
    returned_q <= returned_d;
    deferred_q <= deferred_d;
    deferred_job_q <= deferred_job_d;
    broken_q <= broken_d;
    broken_code_q <= broken_code_d;
    descriptor_request_q <= descriptor_request_d;
  end

  assign descriptor_request_valid_o = descriptor_request_valid_q;
  assign descriptor_request_o = descriptor_request_q;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(81),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchDescriptors)
  ) u_row3 (
    .clk_i,
    .rst_ni,
    .write_i(row_clear),
    .write_address_i(row_index),
    .write_data_i({queue_row_write_i.enabled, queue_row_write_i.queue_size, queue_row_write_i.queue_desc}),
    .read_i(list_take),
    .read_address_i(ring_job.vq_index[QueueBits-1:0]),
    .read_data_o({enabled3, size3, desc3}),
    .corrupt_o(row3_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  // --- Stage 4: checks the descriptor and responds. Only this stage stops queues. A descriptor that refers to an
  // indirect table is checked like a buffer and then replaced by the first descriptor of the table.
  typedef enum logic [1:0] {
    AnswerTake,
    AnswerLookup,
    AnswerRespond,
    AnswerTable  // waits for the descriptor of the table
  } answer_e;

  answer_e answer_d, answer_q;
  logic answer_take;
  logic failed4;                      // the queue delivers no buffers, because
  logic stopped4, window_corrupt;     // it was stopped, or its window has a parity error
  logic window_enable;
  logic [63:0] window_base, window_last;
  virtq_desc_t descriptor;            // with flags and next of the packed format, if that is used
  logic [64:0] end_d, end_q;          // address of the last byte
  logic drop_d, drop_q;               // drop the remaining jobs of a request that has failed
  logic respond, bad, report;
  logic outside;
  logic has_descriptor, names_table, table_request;
  logic from_table_d, from_table_q;   // the descriptor is the first one of a table, read by this stage
  logic in_table;                     // the descriptor is in a table
  logic table_valid, table_pop;
  descriptor_data_t table_data, table_data_d, table_data_q;
  logic [63:0] table_address_d, table_address_q, table_address;
  logic [15:0] table_entries_d, table_entries_q, table_entries;
  logic [15:0] table_next;            // packed format: index of the next descriptor
  logic more;
  logic [15:0] id;                    // buffer id of a packed ring
  logic has_id;
  logic table_request_valid_d, table_request_valid_q;
  dma_read_request_t table_request_d, table_request_q;
  logic [7:0] code;
  logic [Clients-1:0] buffer_valid_d, buffer_valid_q;
  buffer_t buffer_d, buffer_q;
  logic failure_valid_d, failure_valid_q;
  queue_failure_t failure_d, failure_q;

  // verilator lint_off UNUSEDSIGNAL
  pvirtq_desc_t packed_descriptor;
  // verilator lint_on UNUSEDSIGNAL
  always_comb begin
    descriptor = unpack_virtq_desc(descriptor_data.data);
    packed_descriptor = unpack_pvirtq_desc(descriptor_data.data);
    if (ring_packed) begin
      descriptor.flags = packed_descriptor.flags;
      descriptor.next = descriptor_job.next;
    end
    id = packed_descriptor.id;
    if (descriptor_job.kind == KindWalked || descriptor_job.kind == KindPushed) begin
      descriptor.addr = descriptor_job.address;
      descriptor.len = descriptor_job.bytes;
      descriptor.flags = descriptor_job.flags;
      id = descriptor_job.id;
    end

    in_table = from_table_q || (descriptor_job.kind == KindRead && descriptor_job.indirect);
    table_address = from_table_q ? table_address_q : descriptor_job.address;
    table_entries = from_table_q ? table_entries_q : descriptor_job.bytes[15:0];
    table_next = (from_table_q ? '0 : descriptor_job.head) + 16'd1;
    if (from_table_q) begin
      descriptor = unpack_virtq_desc(table_data_q.data);
      packed_descriptor = unpack_pvirtq_desc(table_data_q.data);
    end
    more = (descriptor.flags & VirtqDescFlagsNext) != '0;
    has_id = ring_packed && !in_table && descriptor_job.kind != KindPushed;
    // In a packed table, descriptors are in sequence and only the flag `write` is valid [virtio 1.3, 2.8.7].
    if (ring_packed && in_table) begin
      descriptor.flags = packed_descriptor.flags & VirtqDescFlagsWrite;
      descriptor.next = table_next;
      more = table_next != table_entries;
    end
  end

  vireo_slice #(
    .Width($bits(descriptor_data_t)),
    .Depth(1)
  ) u_table_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(table_fetched_valid_i),
    .s_ready_o(table_fetched_ready_o),
    .s_data_i({table_fetched_i.resp != '0, table_fetched_i.data[8*VirtqDescBytes-1:0]}),
    .m_valid_o(table_valid),
    .m_ready_i(table_pop),
    .m_data_o(table_data)
  );

  // Checks of the descriptor.
  always_comb begin
    outside = window_enable && (descriptor.addr < window_base || end_q[63:0] > window_last);
    bad = 1'b0;
    code = descriptor_job.code;
    has_descriptor = descriptor_job.kind == KindRead || descriptor_job.kind == KindWalked
                     || descriptor_job.kind == KindPushed;
    names_table = (descriptor.flags & VirtqDescFlagsIndirect) != '0;
    if (descriptor_job.kind == KindBroken) begin
      bad = 1'b1;
    end else if (has_descriptor) begin
      if (from_table_q ? table_data_q.error : descriptor_job.kind == KindRead && descriptor_data.error) begin
        bad = 1'b1;
        code = RdmaErrorQueueDmaError;
      end else if (descriptor.len == '0 || end_q[64]) begin
        bad = 1'b1;
        code = RdmaErrorBadDescriptor;
      // One table per buffer, of whole descriptors, at the end of the chain [virtio 1.3, 2.7.5.3.1 and 2.8.19].
      end else if (names_table && (!indirect_i || in_table || more || descriptor.len > TableBytesMost
                                   || descriptor.len % 32'(VirtqDescBytes) != '0)) begin
        bad = 1'b1;
        code = RdmaErrorBadDescriptor;
      end else if (outside) begin
        bad = 1'b1;
        code = RdmaErrorWindowViolation;
      end
    end
    if (failed4) bad = 1'b0;
    report = bad && !descriptor_job.replay;
    table_request = has_descriptor && names_table && !bad && !failed4;
  end

  always_comb begin
    answer_d = answer_q;
    answer_take = 1'b0;
    drop_d = drop_q;
    end_d = end_q;
    respond = 1'b0;
    descriptor_job_pop = 1'b0;
    from_table_d = from_table_q;
    table_data_d = table_data_q;
    table_pop = 1'b0;

    unique case (answer_q)
      AnswerTake: begin
        if (descriptor_job_valid && (descriptor_job.kind != KindRead || descriptor_valid)) begin
          if (drop_q) begin
            descriptor_job_pop = 1'b1;
            drop_d = !descriptor_job.last;
          end else if ((buffer_valid_q & ~buffer_ready_i) == '0 && (!failure_valid_q || queue_failure_ready_i)) begin
            answer_take = 1'b1;
            answer_d = AnswerLookup;
          end
        end
      end
      AnswerLookup: begin
        end_d = 65'(descriptor.addr) + 65'(descriptor.len) - 65'd1;
        answer_d = AnswerRespond;
      end
      AnswerRespond: begin
        if (failed_write_ready) begin
          respond = !table_request;
          descriptor_job_pop = respond;
          if (respond) from_table_d = 1'b0;
          answer_d = respond ? AnswerTake : AnswerTable;
        end
      end
      AnswerTable: begin
        table_pop = 1'b1;
        table_data_d = table_data;
        if (table_valid) begin
          from_table_d = 1'b1;
          answer_d = AnswerLookup;
        end
      end
      default: answer_d = AnswerTake;
    endcase
    descriptor_pop = descriptor_job_pop && descriptor_job.kind == KindRead;

    table_address_d = table_address_q;
    table_entries_d = table_entries_q;
    table_request_valid_d = table_request_valid_q && !table_request_ready_i;
    table_request_d = table_request_q;
    if (answer_q == AnswerRespond && failed_write_ready && table_request) begin
      table_address_d = descriptor.addr;
      table_entries_d = 16'(descriptor.len / 32'(VirtqDescBytes));
      table_request_valid_d = 1'b1;
      table_request_d = '{address: descriptor.addr, bytes: 13'(VirtqDescBytes), tag: '0};
    end

    buffer_valid_d = buffer_valid_q & ~buffer_ready_i;
    buffer_d = buffer_q;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    failure_d = failure_q;
    if (respond) begin
      buffer_valid_d[descriptor_job.client] = 1'b1;
      buffer_d = '{status: BufferStatusFailed, last: 1'b1, vq_index: descriptor_job.vq_index, default: '0};
      if (!failed4 && descriptor_job.kind == KindEmpty) begin
        buffer_d.status = BufferStatusEmpty;
      end else if (!failed4 && !bad && has_descriptor) begin
        buffer_d.status = BufferStatusOk;
        buffer_d.last = descriptor_job.last;
        buffer_d.head = descriptor_job.head;
        buffer_d.address = descriptor.addr;
        buffer_d.bytes = descriptor.len;
        buffer_d.writable = (descriptor.flags & VirtqDescFlagsWrite) != '0;
        buffer_d.more = more;
        buffer_d.has_id = has_id;
        if (has_id) buffer_d.id = id;
        if (more || has_id) buffer_d.next_index = descriptor.next;
        if (more && in_table) begin
          buffer_d.indirect = 1'b1;
          buffer_d.table_address = table_address;
          buffer_d.table_entries = table_entries;
        end
      end
      drop_d = buffer_d.last && !descriptor_job.last;
      if (report) begin
        failure_valid_d = 1'b1;
        failure_d = '{vq_index: descriptor_job.vq_index, code: code};
      end
    end
    failed_write = respond && report;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer_q <= AnswerTake;
      from_table_q <= 1'b0;
      table_request_valid_q <= 1'b0;
      drop_q <= 1'b0;
      buffer_valid_q <= '0;
      failure_valid_q <= 1'b0;
    end else begin
      answer_q <= answer_d;
      from_table_q <= from_table_d;
      table_request_valid_q <= table_request_valid_d;
      drop_q <= drop_d;
      buffer_valid_q <= buffer_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    end_q <= end_d;
    table_data_q <= table_data_d;
    table_address_q <= table_address_d;
    table_entries_q <= table_entries_d;
    table_request_q <= table_request_d;
    buffer_q <= buffer_d;
    failure_q <= failure_d;
  end

  assign failed4 = stopped4 || window_corrupt;

  // --- Parity: checked in the cycle after a read
  logic accept_took_q, ring_took_q, list_took_q, answer_took_q;
  logic parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accept_took_q <= 1'b0;
      ring_took_q <= 1'b0;
      list_took_q <= 1'b0;
      answer_took_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      accept_took_q <= accept_take;
      ring_took_q <= ring_take;
      list_took_q <= list_take;
      answer_took_q <= answer_take;
      parity_error_q <= (accept_took_q && (row1_corrupt || served1_corrupt)) || (ring_took_q && row2_corrupt)
                     || (list_took_q && row3_corrupt) || (answer_took_q && window_corrupt);
    end
  end
  assign parity_error_o = parity_error_q;

  assign table_request_valid_o = table_request_valid_q;
  assign table_request_o = table_request_q;
  assign buffer_valid_o = buffer_valid_q;
  assign buffer_o = {Clients{buffer_q}};
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = failure_q;
  assign window_violation_o = failed_write && code == RdmaErrorWindowViolation;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(129),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchWindow)
  ) u_window (
    .clk_i,
    .rst_ni,
    .write_i(window_write),
    .write_address_i(table_index),
    .write_data_i({pulse_window.enable, pulse_window.base, pulse_window.last}),
    .read_i(answer_take),
    .read_address_i(descriptor_job.vq_index[QueueBits-1:0]),
    .read_data_o({window_enable, window_base, window_last}),
    .corrupt_o(window_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(1)
  ) u_failed4 (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_clear),
    .row_clear_index_i(row_index),
    .table_clear_i(table_clear),
    .table_clear_index_i(table_index),
    .write_i(failed_write),
    .write_ready_o(failed_write_ready),
    .write_index_i(descriptor_job.vq_index[QueueBits-1:0]),
    .write_data_i(1'b1),
    .read_i(answer_take),
    .read_index_i(descriptor_job.vq_index[QueueBits-1:0]),
    .read_data_o(stopped4)
  );

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

  assign fence_o = before_q != '0 || list_q == ListDrain || list_q == ListLeave;

  assign idle_o = outstanding_q == '0 && list_q != ListDrain && list_q != ListLeave && buffer_valid_q == '0
               && !failure_valid_q;

`ifndef SYNTHESIS
  logic request_queue_read;
  always_comb begin
    request_queue_read = 1'b0;
    for (int unsigned i = 0; i < Requests; i++) begin
      if (reading_q[i] && reading_vq_q[i] == request.vq_index) request_queue_read = 1'b1;
    end
  end
  // Inputs: legal requests, table data only when expected, features that change only while nothing is in flight.
  queue_exists: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 request_valid |-> 32'(request.vq_index) < NumQueues);
  count_legal: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                request_valid |-> request.count != '0 && request.count <= NetBuffersPerRequest);
  table_data_expected: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                        table_fetched_valid_i |-> answer_q == AnswerTable);
  features_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                    outstanding_q != '0 |-> $stable({ring_packed, event_idx, indirect_i}));
  // Jobs are pushed only with space, and data is popped only if there is some.
  index_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) index_job_push |-> index_job_space);
  ring_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_job_push |-> ring_job_space);
  descriptor_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                             descriptor_job_push |-> descriptor_job_space);
  index_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) index_pop || walk_pop |-> index_valid);
  ring_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_pop |-> ring_valid);
  descriptor_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                              descriptor_pop |-> descriptor_valid);
  // Output registers are loaded only if they are free.
  index_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                       index_read || walk_read
                                       |-> !index_request_valid_q || index_request_ready_i);
  ring_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni) ring_read |-> ring_free);
  descriptor_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni) descriptor_read |-> list_free);
  table_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                       table_request_valid_d && answer_q == AnswerRespond |-> !table_request_valid_q);
  buffer_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                respond |-> (buffer_valid_q & ~buffer_ready_i) == '0);
  failure_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 failed_write |-> !failure_valid_q || queue_failure_ready_i);
  // One user at a time of what two stages, or all clients, share.
  buffer_one_client: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(buffer_valid_q));
  client_exists: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  respond |-> 32'(descriptor_job.client) < Clients);
  index_data_one_user: assert property (@(posedge clk_i) disable iff (!rst_ni) !(index_pop && walk_pop));
  position_one_writer: assert property (@(posedge clk_i) disable iff (!rst_ni) !(position_write && walk_write));
  position_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  position_write || walk_write |-> position_write_ready);
  // Queues with an index read: allocated and released in order.
  reading_one_release: assert property (@(posedge clk_i) disable iff (!rst_ni) !(index_done && walk_done));
  reading_once: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 request_valid && !request.by_index && !request.pushed |-> !request_queue_read);
  reading_allocates_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                           hold |-> !reading_q[reading_tail_q]);
  reading_releases_used: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                          index_done || walk_done |-> reading_q[reading_head_q]);
  // The counter of outstanding requests neither underflows nor overflows.
  outstanding_not_zero: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                         descriptor_job_pop && descriptor_job.last |-> outstanding_q != '0);
  outstanding_bounded: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                        32'(outstanding_q) < OutstandingMost);
  accepted_are_outstanding: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                             before_q <= accepted_q && accepted_q <= outstanding_q);
`endif

endmodule
