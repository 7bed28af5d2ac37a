// SPDX-License-Identifier: Apache-2.0

// Stage 1 of vireo_desc_fetch: chooses a client's request, checks that its queue is served and reads the available index of
// a split ring, unless so many entries are known to be available. A request whose queue is held waits in the slice of its
// client and stops no other client; it is compared with the queues that are held, and those on the way to this stage are
// not known there, so a client has at most one request on this way. It also sends the reads of stage 3.
module vireo_desc_accept
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_desc_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Requests,  // outstanding index reads; a power of two, 4 or more
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
  input  logic                 virtqueue_write_i,
  input  table_virtqueue_t     virtqueue_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QueueBits-1:0] table_index_i,
  input  logic                 table_clear_i,    // its positions, too
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 corrupt_o,        // what was read in the cycle before is

  input  logic [Clients-1:0]            buffer_request_valid_i,
  output logic [Clients-1:0]            buffer_request_ready_o,
  input  buffer_request_t [Clients-1:0] buffer_request_i,
  output logic                 take_o,           // a request passes

  output logic                 index_request_valid_o,
  input  logic                 index_request_ready_i,
  output dma_read_request_t    index_request_o,
  input  logic                 walk_read_i,      // stage 3 reads a descriptor, with walk_free_o
  input  dma_read_request_t    walk_request_i,
  output logic                 walk_free_o,

  output logic                 index_job_push_o,
  input  logic                 index_job_space_i,
  output index_job_t           index_job_o,
  input  logic                 index_done_i,     // stage 2 has ended a hold, the oldest
  input  logic                 walk_done_i,      // stage 3 has
  input  logic                 failed_write_i,   // stage 4 stops a queue
  input  logic [QueueBits-1:0] failed_index_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic                 known_write_i,    // stage 2: so many entries are known
  input  logic [QueueBits-1:0] known_index_i,
  input  logic [15:0]          known_i
  // verilator lint_on UNUSEDSIGNAL
);

  localparam bit Push = Config.push_requests != 0;
  localparam bit Known = Config.known_entries != 0;
  localparam int unsigned SlotBits = $clog2(Requests);

  logic request_valid, request_pop;
  logic [ClientBits-1:0] request_client;
  // verilator lint_off UNUSEDSIGNAL
  buffer_request_t request;  // the input identifies the client
  // verilator lint_on UNUSEDSIGNAL
  logic [Clients-1:0] client_valid, client_pop, eligible;
  buffer_request_t client_request [Clients];
  buffer_request_t picked_request;
  logic [Clients-1:0] accepting_d, accepting_q;  // has a request on this way
  logic [ClientBits-1:0] winner_q, pick;
  logic pick_valid, pick_ready;

  for (genvar i = 0; i < Clients; i++) begin : gen_client
    vireo_slice #(
      .Width(BufferRequestBits),
      .Depth(wide_slice(Config.datapath_bits))
    ) u_slice (
      .clk_i, .rst_ni,
      .s_valid_i(buffer_request_valid_i[i]), .s_ready_o(buffer_request_ready_o[i]), .s_data_i(buffer_request_i[i]),
      .m_valid_o(client_valid[i]), .m_ready_i(client_pop[i]), .m_data_o(client_request[i])
    );
  end

  vireo_rr_pick #(.Inputs(Clients)) u_pick (.requests_i(eligible), .last_i(winner_q), .pick_o(pick));

  // Each bit is a sum of products, as in vireo_arb_rr.
  always_comb begin
    picked_request = '0;
    for (int unsigned i = 0; i < Clients; i++) if (pick == ClientBits'(i)) picked_request |= client_request[i];
  end

  vireo_slice #(
    .Width(ClientBits + BufferRequestBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_request (
    .clk_i, .rst_ni,
    .s_valid_i(pick_valid), .s_ready_o(pick_ready), .s_data_i({pick, picked_request}),
    .m_valid_o(request_valid), .m_ready_i(request_pop), .m_data_o({request_client, request})
  );

  typedef enum logic {
    AcceptTake,
    AcceptLookup
  } accept_e;

  accept_e accept_d, accept_q;
  logic accept_lookup;
  logic served, chains, enabled, failed;
  logic row_corrupt, served_corrupt, took_q;
  logic [63:0] area;
  logic [15:0] known;                  // entries known to be available
  logic unused_failed1_ready;
  logic index_read, hold;
  logic index_request_valid_d, index_request_valid_q;
  dma_read_request_t index_request_d, index_request_q;

  // Queues that are held: those of the requests in front of stage 2, which writes how many entries are known, and of
  // which one at most reads the index: host memory may return the data of two reads in either order, and the index
  // would then appear to decrease. Pushed requests pass each other's hold. Packed ring: queues whose descriptors stage 3
  // has not yet walked, because the next request starts where the walk ends.
  logic [Requests-1:0] held_d, held_q;
  logic [Requests-1:0] held_pushed_d, held_pushed_q;
  logic [Requests-1:0][15:0] held_vq_d, held_vq_q;
  logic [SlotBits-1:0] held_tail_q, held_head_q;

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      eligible[i] = client_valid[i] && !accepting_q[i];
      for (int unsigned j = 0; j < Requests; j++) begin
        if (held_q[j] && held_vq_q[j] == client_request[i].vq_index && !client_request[i].by_index
            && !(Push && held_pushed_q[j] && client_request[i].pushed)) begin
          eligible[i] = 1'b0;
        end
      end
    end
  end

  always_comb begin
    pick_valid = eligible != '0;
    client_pop = '0;
    client_pop[pick] = pick_valid && pick_ready;

    take_o = accept_q == AcceptTake && request_valid && (request.by_index || !held_q[held_tail_q])
               && index_job_space_i && (ring_packed_i || walk_free_o);
    accept_lookup = accept_q == AcceptLookup;
    accept_d = take_o ? AcceptLookup : AcceptTake;
    request_pop = accept_lookup;
    accepting_d = accepting_q | client_pop;
    if (request_pop) accepting_d[request_client] = 1'b0;

    index_job_push_o = accept_lookup;
    index_job_o = '{kind: KindRead, client: request_client, vq_index: request.vq_index,
                     index: request.by_index || request.pushed ? request.index : known,
                     count: request.count, chains: chains && ring_packed_i,
                     area: request.by_index || request.pushed ? request.table_address : area,
                     indirect: request.by_index && request.indirect, entries: request.table_entries,
                     bytes: request.bytes};
    if (!enabled || !served) index_job_o.kind = KindEmpty;
    else if (failed) index_job_o.kind = KindFailed;
    else if (Push && request.pushed) index_job_o.kind = KindPushed;
    else if (request.by_index) index_job_o.kind = KindByIndex;
    else if (Known && !ring_packed_i && known >= 16'(request.count)) index_job_o.kind = KindKnown;

    index_read = accept_lookup && !ring_packed_i && index_job_o.kind == KindRead;
    hold = accept_lookup && (index_job_o.kind == KindRead || index_job_o.kind == KindKnown
                             || (Known && !ring_packed_i && index_job_o.kind == KindPushed));
    index_request_valid_d = index_read || walk_read_i
                         || (index_request_valid_q && !index_request_ready_i);
    index_request_d = index_request_q;
    if (walk_read_i) begin
      index_request_d = walk_request_i;
    end else if (index_read) begin
      index_request_d = '{address: area + 64'(VirtqAvailIdxOffset), bytes: 13'(VirtqAvailRingEntryBytes), tag: '0};
    end

    held_d = held_q;
    held_vq_d = held_vq_q;
    held_pushed_d = held_pushed_q;
    if (index_done_i || walk_done_i) held_d[held_head_q] = 1'b0;
    if (hold) begin
      held_d[held_tail_q] = 1'b1;
      held_pushed_d[held_tail_q] = index_job_o.kind == KindPushed;
      held_vq_d[held_tail_q] = request.vq_index;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      accept_q <= AcceptTake;
      took_q <= 1'b0;
      accepting_q <= '0;
      winner_q <= ClientBits'(Clients - 1);
      index_request_valid_q <= 1'b0;
      held_q <= '0;
      held_tail_q <= '0;
      held_head_q <= '0;
    end else begin
      accept_q <= accept_d;
      took_q <= take_o;
      accepting_q <= accepting_d;
      if (pick_valid && pick_ready) winner_q <= pick;
      index_request_valid_q <= index_request_valid_d;
      held_q <= held_d;
      if (hold) held_tail_q <= held_tail_q + 1'b1;
      if (index_done_i || walk_done_i) held_head_q <= held_head_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    index_request_q <= index_request_d;
    held_vq_q <= held_vq_d;
    held_pushed_q <= held_pushed_d;
  end

  assign walk_free_o = !index_request_valid_q || index_request_ready_i;
  assign corrupt_o = took_q && (row_corrupt || served_corrupt);
  assign index_request_valid_o = index_request_valid_q;
  assign index_request_o = index_request_q;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(65),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchArea)
  ) u_row (
    .clk_i,
    .rst_ni,
    .write_i(row_write_i),
    .write_address_i(row_i.vq_index[QueueBits-1:0]),
    .write_data_i({row_i.enabled,
                   ring_packed_i ? row_i.queue_desc : row_i.queue_driver}),
    .read_i(take_o),
    .read_address_i(request.vq_index[QueueBits-1:0]),
    .read_data_o({enabled, area}),
    .corrupt_o(row_corrupt),
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
    .write_i(virtqueue_write_i),
    .write_address_i(table_index_i),
    .write_data_i({virtqueue_i.kind != TableQueueKindNone && !virtqueue_i.stopped,
                   virtqueue_i.kind == TableQueueKindReceive || virtqueue_i.kind == TableQueueKindTransmit
                   || virtqueue_i.kind == TableQueueKindControl}),
    .read_i(take_o),
    .read_address_i(request.vq_index[QueueBits-1:0]),
    .read_data_o({served, chains}),
    .corrupt_o(served_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(1)
  ) u_failed (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_write_i),
    .row_clear_index_i(row_i.vq_index[QueueBits-1:0]),
    .table_clear_i,
    .table_clear_index_i(table_index_i),
    .write_i(failed_write_i),
    .write_ready_o(unused_failed1_ready),  // stage 4 looks at that of its own
    .write_index_i(failed_index_i),
    .write_data_i(1'b1),
    .read_i(take_o),
    .read_index_i(request.vq_index[QueueBits-1:0]),
    .read_data_o(failed)
  );

  // How many entries behind the position the driver is known to have made available. Unknown, that is 0, behind a
  // pushed buffer. Written by stage 2 whenever it passes a request on.
  if (Known) begin : gen_known
    logic unused_known_ready;  // stage 2 looks at that of its position
    vireo_queue_state #(
      .NumQueues(NumQueues),
      .Width(16)
    ) u_known (
      .clk_i,
      .rst_ni,
      .row_clear_i(row_write_i),
      .row_clear_index_i(row_i.vq_index[QueueBits-1:0]),
      .table_clear_i,
      .table_clear_index_i(table_index_i),
      .write_i(known_write_i),
      .write_ready_o(unused_known_ready),
      .write_index_i(known_index_i),
      .write_data_i(known_i),
      .read_i(take_o),
      .read_index_i(request.vq_index[QueueBits-1:0]),
      .read_data_o(known)
    );
  end else begin : gen_unknown
    logic unused_known;
    assign unused_known = ^{known_write_i, known_i};
    assign known = '0;
  end

`ifndef SYNTHESIS
  logic request_queue_held;
  always_comb begin
    request_queue_held = 1'b0;
    for (int unsigned i = 0; i < Requests; i++) begin
      if (held_q[i] && held_vq_q[i] == request.vq_index) request_queue_held = 1'b1;
    end
  end
  queue_exists: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 request_valid |-> 32'(request.vq_index) < NumQueues);
  count_legal: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                request_valid |-> request.count != '0 && request.count <= NetBuffersPerRequest);
  index_jobs_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) index_job_push_o |-> index_job_space_i);
  index_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni) index_read || walk_read_i |-> walk_free_o);
  // Queues that are held: allocated and released in order.
  held_one_release: assert property (@(posedge clk_i) disable iff (!rst_ni) !(index_done_i && walk_done_i));
  held_once: assert property (@(posedge clk_i) disable iff (!rst_ni)
                              request_valid && !request.by_index && !request.pushed |-> !request_queue_held);
  held_allocates_free: assert property (@(posedge clk_i) disable iff (!rst_ni) hold |-> !held_q[held_tail_q]);
  held_releases_used: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                       index_done_i || walk_done_i |-> held_q[held_head_q]);
`endif

endmodule
