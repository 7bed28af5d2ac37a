// SPDX-License-Identifier: Apache-2.0

// Prefetches receive work requests and delivers them one by one: the next one of a receive queue on a receive_request,
// from a ring of up to Ahead per queue that it fills in the background, or at once if that is empty. A queue is that of
// a QP or a shared one, and has the number of the QP or of the shared receive queue. Reads lists of elements (rdma_sge),
// too: all that is left of one when its first is requested, and keeps them for the frames of its message. It checks a work request's format; it does not handle keys, messages or completions, which
// belong to the responder, which has one request outstanding.
//
// It serves a QP in every state, because ERR flushes and only the responder decides when it needs a receive. A
// qp_state_write with `clear` discards the ring's content and receives in flight to it. At most PerQueue
// buffer_requests of a QP are outstanding, until all of their buffers are in the ring, and none is sent while there are
// stale ones: so one bit per QP marks them as valid or stale.
//
// When descriptor fetch has returned fewer than it was asked for, the queue is dry: all that is posted is in its ring,
// until its doorbell rings. So a request that finds nothing there is answered `empty` at once, and the doorbell makes
// the ring be filled in the background. A request that comes meanwhile waits for it, but no more than one part in
// WaitShare of the time.
//
// A request with no_wait never waits for host memory: if the ring is empty it is answered `pending`, and a receive_retry
// says when to request again.
//
// Of a shared queue it counts the receives that are taken, and reports once when the count reaches the position that
// firmware has armed: as a queue_failure with code ok.
module vireo_recv_queue
  import vireo_spec_pkg::*, vireo_common_pkg::is_narrow;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Ahead,  // prefetched per QP; a power of two, 8 or more
  parameter int unsigned Requests,  // to descriptor fetch, in flight; a power of two
  parameter int unsigned Fetches,  // reads in flight, one per work request; a power of two, 4 or more
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned MaxRecvSge = Config.max_recv_sge,  // 255 or less
  localparam int unsigned MaxSendSge = Config.max_send_sge
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one
  input  logic              ring_packed_i,  // feature ring_packed was accepted; changes while nothing is in flight

  input  logic              table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t      table_write_i,  // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,

  input  logic              queue_rung_valid_i,  // a pulse: a doorbell of the receive queue
  input  queue_rung_t       queue_rung_i,

  input  logic              receive_request_valid_i,
  output logic              receive_request_ready_o,
  input  receive_request_t  receive_request_i,

  output logic              receive_valid_o,
  input  logic              receive_ready_i,
  output receive_t          receive_o,

  output logic              receive_retry_valid_o,  // taken within a bounded time, whatever receive_o waits for
  input  logic              receive_retry_ready_i,
  output receive_retry_t    receive_retry_o,

  output logic              buffer_request_valid_o,
  input  logic              buffer_request_ready_i,
  output buffer_request_t   buffer_request_o,

  input  logic              buffer_valid_i,
  output logic              buffer_ready_o,
  input  buffer_t           buffer_i,

  output logic              fetch_request_valid_o,
  input  logic              fetch_request_ready_i,
  output dma_read_request_t fetch_request_o,

  input  logic              fetched_valid_i,        // in the order of the requests
  output logic              fetched_ready_o,
  input  dma_fetched_t      fetched_i,

  output logic              queue_failure_valid_o,
  input  logic              queue_failure_ready_i,
  output queue_failure_t    queue_failure_o,

  // Pulses: a request to descriptor fetch; the last receive of one is stored.
  output logic              batch_begins_o,
  output logic              batch_ends_o,
  output logic              idle_o
);

  // Of features that the configuration does not have nothing is left.
  logic ring_packed;
  assign ring_packed = Config.packed_rings != 0 && ring_packed_i;

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned PlaceBits = $clog2(Ahead);
  localparam int unsigned CountBits = PlaceBits + 1;
  localparam int unsigned RequestCountBits = $bits(ReceiveBuffersPerRequest);
  localparam int unsigned Most = Ahead < 32'(ReceiveBuffersPerRequest) ? Ahead : 32'(ReceiveBuffersPerRequest);  // in one
  localparam int unsigned RequestBits = $clog2(Requests) + 1;
  // While receives are taken, as many are asked for at a time. So that the ring does not run empty meanwhile, several
  // requests of a queue are outstanding.
  localparam int unsigned Step = Ahead < 32 ? Ahead / 2 : Ahead * 5 / 16;
  localparam int unsigned PerQueue = 3;
  localparam int unsigned InfoBits = $clog2(Fetches) + 1;
  localparam bit SharedQueues = Config.max_srqs != 0;
  // Requests for receives of dry queues may make others wait this part of the time.
  localparam int unsigned WaitShare = 32;
  localparam int unsigned WaitBits = 15;  // of the longest wait that counts, in cycles
  // Of a list, of a receive or of a READ.
  localparam int unsigned MostElements = MaxRecvSge > MaxSendSge ? MaxRecvSge : MaxSendSge;
  localparam int unsigned ElementBits = MostElements > 2 ? $clog2(MostElements) : 1;
  // In one read. Of short lists each is read alone, so that no read is longer than that of a work request.
  localparam int unsigned ReadElements = MostElements > 4 ? 4 : 1;
  localparam int unsigned SgeBits = 8 * RdmaSgeBytes;

  // Bytes read of a work request: the fixed part and the first element.
  localparam int unsigned FixedBytes = RdmaRqReqBytes;
  localparam int unsigned ReadBytes = FixedBytes + RdmaSgeBytes;

  logic [15:0] first_queue;  // index of the first receive queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaReceiveqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic request_valid, request_pop, buffer_valid, buffer_pop, fetched_valid, fetched_pop;
  // The tags, fields used for chains only, and bits that names of this configuration do not have.
  /* verilator lint_off UNUSEDSIGNAL */
  receive_request_t request;
  buffer_t buffer;
  dma_fetched_t fetched;
  /* verilator lint_on UNUSEDSIGNAL */

  vireo_slice #(.Width(ReceiveRequestBits)) u_request (
    .clk_i, .rst_ni,
    .s_valid_i(receive_request_valid_i), .s_ready_o(receive_request_ready_o), .s_data_i(receive_request_i),
    .m_valid_o(request_valid), .m_ready_i(request_pop), .m_data_o(request)
  );
  // Space for all buffers requested.
  vireo_fifo #(.Width(BufferBits), .Depth(Requests * Most)) u_buffer (
    .clk_i, .rst_ni,
    .s_valid_i(buffer_valid_i), .s_ready_o(buffer_ready_o), .s_data_i(buffer_i),
    .m_valid_o(buffer_valid), .m_ready_i(buffer_pop), .m_data_o(buffer)
  );
  vireo_fifo #(.Width(DmaFetchedBits), .Depth(Fetches), .InLuts(is_narrow(Config.datapath_bits))) u_fetched (
    .clk_i, .rst_ni,
    .s_valid_i(fetched_valid_i), .s_ready_o(fetched_ready_o), .s_data_i(fetched_i),
    .m_valid_o(fetched_valid), .m_ready_i(fetched_pop), .m_data_o(fetched)
  );

  // --- Reads ---------------------------------------------------------------------------------------------------------

  // Requests to descriptor fetch and reads of lists, in processing order.
  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic element;         // of a list, whose elements from the first one of the read on are `bytes`; else of a
                           // buffer_request
    logic receive;         // there is a work request
    logic reads;           // its bytes (or the element's) come as `fetched`
    logic broken;          // no work request, because the queue is broken
    logic last;            // of the buffer_request
    logic [15:0] head;
    logic has_id;
    logic [15:0] id;
    logic [63:0] address;
    logic [31:0] bytes;
    logic [7:0] failed;    // rdma_error_e: nothing is read
  } info_t;

  logic fetch_valid_d, fetch_valid_q, fetch_free;
  dma_read_request_t fetch_d, fetch_q;
  logic rest_valid_d, rest_valid_q, rest_taken, rest_set;  // of a list, to be read: from
  logic [63:0] rest_address_d, rest_address_q;
  logic [7:0] rest_elements_d, rest_elements_q;
  logic [2:0] rest_count;  // in the next read
  logic [63:0] element_address_d, element_address_q;  // of the element that the responder waits for
  logic [7:0] element_d, element_q;  // its number: elements are counted from the list's end, the last one is 1
  logic [QpBits-1:0] wait_qpn_d, wait_qpn_q;
  logic [InfoBits-1:0] infos_d, infos_q;  // not yet processed
  logic info_push, info_ready, info_valid, info_pop;
  info_t info_in, info;
  logic request_done;  // the last buffer of a request was taken

  // As many as reads, so that there is space for all responses.
  vireo_fifo #(.Width($bits(info_t)), .Depth(Fetches), .InLuts(is_narrow(Config.datapath_bits))) u_info (
    .clk_i, .rst_ni,
    .s_valid_i(info_push), .s_ready_o(info_ready), .s_data_i(info_in),
    .m_valid_o(info_valid), .m_ready_i(info_pop), .m_data_o(info)
  );

  always_comb begin
    fetch_free = !fetch_valid_q || fetch_request_ready_i;
    fetch_valid_d = fetch_valid_q && !fetch_request_ready_i;
    fetch_d = fetch_q;
    buffer_pop = 1'b0;
    rest_taken = 1'b0;
    rest_count = rest_elements_q < 8'(ReadElements) ? 3'(rest_elements_q) : 3'(ReadElements);
    info_push = 1'b0;
    request_done = 1'b0;
    info_in = '0;

    if (rest_valid_q) begin
      info_in.qpn = wait_qpn_q;
      info_in.element = 1'b1;
      info_in.reads = 1'b1;
      info_in.bytes = 32'(rest_elements_q);
      if (fetch_free && info_ready) begin
        rest_taken = 1'b1;
        info_push = 1'b1;
        fetch_valid_d = 1'b1;
        fetch_d = '{address: rest_address_q, bytes: 13'(RdmaSgeBytes) * 13'(rest_count), tag: 8'd0};
      end
    end else begin
      info_in.qpn = QpBits'((buffer.vq_index - first_queue) >> 1);
      info_in.last = buffer.last;
      info_in.broken = buffer.status == BufferStatusFailed;
      if (buffer.status == BufferStatusOk) begin
        info_in.receive = 1'b1;
        info_in.head = buffer.head;
        info_in.has_id = SharedQueues && buffer.has_id;
        info_in.id = SharedQueues ? buffer.id : '0;
        info_in.address = buffer.address;
        info_in.bytes = buffer.bytes;
        // A receive work request is one device-readable descriptor. [RFC v2, RoCE Support]
        if (buffer.writable || buffer.more) info_in.failed = RdmaErrorBadDescriptor;
        else if (buffer.bytes < 32'(FixedBytes)) info_in.failed = RdmaErrorBadWqe;
        info_in.reads = info_in.failed == RdmaErrorOk;
      end
      if (buffer_valid && fetch_free && info_ready) begin
        buffer_pop = 1'b1;
        info_push = 1'b1;
        request_done = buffer.last;
        if (info_in.reads) begin
          fetch_valid_d = 1'b1;
          fetch_d = '{address: buffer.address,
                      bytes: buffer.bytes < 32'(ReadBytes) ? buffer.bytes[12:0] : 13'(ReadBytes), tag: 8'd0};
        end
      end
    end
    rest_valid_d = rest_valid_q;
    rest_address_d = rest_address_q;
    rest_elements_d = rest_elements_q;
    if (rest_set) begin
      rest_valid_d = 1'b1;
      rest_address_d = element_address_q;
      rest_elements_d = element_q;
    end else if (rest_taken) begin
      rest_valid_d = rest_elements_q != 8'(rest_count);
      rest_address_d = rest_address_q + 64'(RdmaSgeBytes) * 64'(rest_count);
      rest_elements_d = rest_elements_q - 8'(rest_count);
    end
  end

  // --- Rings ---------------------------------------------------------------------------------------------------------

  // A QP's ring: `count` receives from place `first` on.
  typedef struct packed {
    logic [PlaceBits-1:0] first;
    logic [CountBits-1:0] count;
    logic [1:0] requests;  // outstanding, or their buffers; PerQueue at most
    logic stale;  // their buffers are to be discarded
    logic retries;  // a request was answered `pending`
    logic since;  // after which the outstanding request was made
    logic dry;  // the last request found fewer than it asked for
    logic again;  // rung since that request or the last outstanding one was made
    logic [PerQueue-1:0][RequestCountBits-1:0] missing;  // of each, the first one in place 0: not stored yet
    logic [CountBits-1:0] coming;  // the sum
    logic [15:0] taken;  // shared queue: receives delivered since the last clear
    logic armed;  // to report when as many are taken:
    logic [15:0] position;
  } slot_t;

  // What firmware has written of a shared queue.
  typedef struct packed {
    logic is_shared;
    logic armed;
    logic [15:0] position;
  } limit_t;

  // A receive as read. Failed: elements, num_sge and sge are 0.
  typedef struct packed {
    logic [7:0] code;  // rdma_error_e
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [63:0] elements;
    logic [7:0] num_sge;
    logic [8*RdmaSgeBytes-1:0] sge;
  } entry_t;

  typedef enum logic [1:0] {StChoose, StDecide, StDeliver} state_e;
  // The list of elements that a QP's message goes to.
  typedef struct packed {
    logic [63:0] list_end;  // address behind its last element
    logic [7:0] first;      // the first one that was read; 0: none was
  } list_t;

  typedef struct packed {
    logic failed;  // its read
    logic [SgeBits-1:0] sge;
  } element_t;

  typedef enum logic [2:0] {OpClear, OpServe, OpStore, OpLimit, OpRung, OpElement} op_e;
  // What the responder waits for.
  typedef enum logic [2:0] {
    WaitNone,
    WaitServe,    // processing of its QP's ring
    WaitRoom,     // space for a request
    WaitBatch,    // receives in flight to the ring
    WaitElement,  // an element
    WaitList      // the reads of its list
  } wait_e;

  state_e state_d, state_q;
  op_e op_d, op_q;
  logic [QpBits-1:0] qpn_d, qpn_q;
  wait_e wait_d, wait_q;
  logic requested_since_d, requested_since_q;  // a request was made after the responder asked for one
  logic broken_d, broken_q;  // and failed
  logic no_wait_d, no_wait_q;  // of the responder's request
  logic dry_waits_d, dry_waits_q, may_wait;  // WaitBatch, of a dry queue
  logic retry_valid_d, retry_valid_q;
  logic [QpBits-1:0] retry_d, retry_q;
  logic request_valid_d, request_valid_q, can_request, request_batch;
  buffer_request_t request_d, request_q;
  logic [RequestBits-1:0] requests_d, requests_q;  // whose last buffer was not taken
  logic receive_valid_d, receive_valid_q, failure_valid_d, failure_valid_q, both_free;
  receive_t receive_d, receive_q;
  queue_failure_t failure_d, failure_q;

  logic clear_valid, clear_pop, clear_empty;
  logic [QpBits-1:0] clear_qpn;

  logic rung_valid, rung_pop, rung_empty;
  logic [QpBits-1:0] rung_qpn;

  limit_t limit;
  logic limit_valid, limit_pop, limit_empty;  // queues whose limit was armed or disarmed
  logic [QpBits-1:0] limit_qpn;
  logic due_d, due_q;  // the limit of queue qpn_q is reached

  logic element_new_d, element_new_q;  // nothing of its list was requested before
  logic [1:0] stored_d, stored_q;  // elements of the read that is being stored
  logic [7:0] store_number;
  logic list_read, list_write, element_write;
  list_t list, list_new;
  element_t element, element_in;

  logic read, slot_write, place_write, place_read, stored;
  slot_t slot, slot_new;
  logic [15:0] distance;  // of the count of receives taken from the limit: negative before it
  logic unused_distance;
  assign unused_distance = ^distance[14:0];
  logic [PlaceBits-1:0] append_place;  // the last one of the ring
  logic [CountBits-1:0] room;
  logic [RequestCountBits-1:0] request_count;
  entry_t entry_in, entry;
  logic bus_failed;
  logic unnamed;  // a buffer of a shared queue that cannot be returned: without its id
  logic [31:0] num_sge, needed;

  logic unused_clear_load;
  logic [QpBits-1:0] unused_clear_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_clear (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.clear),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(clear_valid), .pop_ready_i(clear_pop), .pop_o(clear_qpn),
    .load_o(unused_clear_load), .load_index_o(unused_clear_index), .empty_o(clear_empty)
  );
  logic unused_rung_load;
  logic [QpBits-1:0] unused_rung_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_rung (
    .clk_i, .rst_ni,
    .push_valid_i(queue_rung_valid_i), .push_i(queue_rung_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(rung_valid), .pop_ready_i(rung_pop), .pop_o(rung_qpn),
    .load_o(unused_rung_load), .load_index_o(unused_rung_index), .empty_o(rung_empty)
  );
  logic unused_rung;
  assign unused_rung = ^queue_rung_i.qpn[23:QpBits];
  logic unused_state_write;
  assign unused_state_write = &{1'b0, qp_state_write_i.state, qp_state_write_i.qpn[23:QpBits]};

  if (SharedQueues) begin : gen_limits
    limit_t limit_in;
    table_qp_context_t written;
    logic limit_write, unused_limit_load;
    logic [QpBits-1:0] unused_limit_index;
    assign limit_write = table_write_valid_i && table_write_i.table_id == MgmtTableQpContext;
    always_comb begin
      written = '0;
      limit_in = '0;
      if (limit_write) begin
        written = unpack_table_qp_context(table_write_i.data);
        if (written.is_srq) begin
          limit_in = '{is_shared: 1'b1, armed: written.limit_armed, position: written.srq};
        end
      end
    end
    logic unused_written;
    assign unused_written = ^written;

    vireo_table #(.Width($bits(limit_t)), .Depth(NumQps)) u_limit (
      .clk_i, .rst_ni,
      .write_i(limit_write), .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(limit_in),
      .read_i(read), .read_address_i(qpn_d), .read_data_o(limit)
    );
    vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_armed (
      .clk_i, .rst_ni,
      .push_valid_i(limit_write && limit_in.is_shared), .push_i(table_write_i.index[QpBits-1:0]),
      .hold_i(1'b0), .clear_i(1'b0),
      .pop_valid_o(limit_valid), .pop_ready_i(limit_pop), .pop_o(limit_qpn),
      .load_o(unused_limit_load), .load_index_o(unused_limit_index), .empty_o(limit_empty)
    );
  end else begin : gen_no_limits
    logic unused_limits;
    assign unused_limits = ^{table_write_valid_i, table_write_i, ring_packed, limit_pop, limit_qpn};
    assign limit = '0;
    assign limit_valid = 1'b0;
    assign limit_empty = 1'b1;
    assign limit_qpn = '0;
  end

  vireo_table #(.Width($bits(slot_t)), .Depth(NumQps)) u_slot (
    .clk_i, .rst_ni,
    .write_i(slot_write), .write_address_i(qpn_q), .write_data_i(slot_new),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(slot)
  );
  // Written and read by one machine, in different cycles.
  vireo_ram_1r1w #(.Width($bits(entry_t)), .Depth(NumQps * Ahead)) u_ring (
    .clk_i,
    .write_i(place_write), .write_address_i({qpn_q, append_place}), .write_data_i(entry_in),
    .read_i(place_read), .read_address_i({qpn_q, slot.first}), .read_data_o(entry)
  );

  vireo_table #(.Width($bits(list_t)), .Depth(NumQps)) u_list (
    .clk_i, .rst_ni,
    .write_i(list_write), .write_address_i(qpn_q), .write_data_i(list_new),
    .read_i(list_read), .read_address_i(qpn_d), .read_data_o(list)
  );
  // Likewise written and read in different cycles.
  vireo_ram_1r1w #(.Width($bits(element_t)), .Depth(NumQps << ElementBits)) u_elements (
    .clk_i,
    .write_i(element_write), .write_address_i({qpn_q, store_number[ElementBits-1:0]}), .write_data_i(element_in),
    .read_i(list_read), .read_address_i({qpn_d, element_d[ElementBits-1:0]}), .read_data_o(element)
  );

  // The work request as read.
  always_comb begin
    bus_failed = info.reads && fetched.resp != AxiRespOkay;
    num_sge = fetched.data[8*RdmaRqReqNumSgeOffset+:32];
    needed = 32'(FixedBytes) + 32'(RdmaSgeBytes) * 32'(num_sge[7:0]);
    entry_in = '0;
    entry_in.head = info.head;
    entry_in.code = info.failed;
    // Of a shared queue buffers are used in any order, so a packed ring's used descriptor needs the id.
    unnamed = ring_packed && limit.is_shared && !info.has_id;
    if (limit.is_shared && info.has_id) entry_in.head = info.id;
    if (unnamed) entry_in.code = RdmaErrorBadDescriptor;
    else if (bus_failed) entry_in.code = RdmaErrorQueueDmaError;
    else if (info.reads && (num_sge > 32'(MaxRecvSge) || info.bytes < needed)) entry_in.code = RdmaErrorBadWqe;
    if (info.reads && !bus_failed) entry_in.wr_id = fetched.data[8*RdmaRqReqWrIdOffset+:64];
    if (entry_in.code == RdmaErrorOk) begin
      entry_in.elements = info.address + 64'(FixedBytes);
      entry_in.num_sge = num_sge[7:0];
      if (num_sge != '0) entry_in.sge = fetched.data[8*FixedBytes+:8*RdmaSgeBytes];
    end
  end

  always_comb begin
    state_d = state_q;
    op_d = op_q;
    qpn_d = qpn_q;
    wait_d = wait_q;
    wait_qpn_d = wait_qpn_q;
    requested_since_d = requested_since_q;
    broken_d = broken_q;
    no_wait_d = no_wait_q;
    dry_waits_d = dry_waits_q;
    retry_valid_d = retry_valid_q && !receive_retry_ready_i;
    retry_d = retry_q;
    rest_set = 1'b0;
    element_address_d = element_address_q;
    element_d = element_q;
    element_new_d = element_new_q;
    stored_d = stored_q;
    list_read = 1'b0;
    list_write = 1'b0;
    element_write = 1'b0;
    list_new = '{list_end: element_address_q + 64'(RdmaSgeBytes) * 64'(element_q), first: element_q};
    store_number = info.bytes[7:0] - 8'(stored_q);
    element_in = '{failed: bus_failed, sge: fetched.data[SgeBits-1:0]};
    if (ReadElements != 1) element_in.sge = fetched.data[SgeBits*stored_q +: SgeBits];
    due_d = due_q;
    limit_pop = 1'b0;
    rung_pop = 1'b0;
    read = 1'b0;
    slot_write = 1'b0;
    place_write = 1'b0;
    place_read = 1'b0;
    clear_pop = 1'b0;
    request_pop = 1'b0;
    info_pop = 1'b0;
    fetched_pop = 1'b0;
    request_batch = 1'b0;
    batch_ends_o = 1'b0;

    can_request = (!request_valid_q || buffer_request_ready_i) && requests_q != RequestBits'(Requests);
    request_valid_d = request_valid_q && !buffer_request_ready_i;
    request_d = request_q;
    receive_valid_d = receive_valid_q && !receive_ready_i;
    receive_d = receive_q;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    failure_d = failure_q;
    // Both are free while the responder waits for a receive, but for the report of a limit.
    both_free = !receive_valid_d && !failure_valid_d && !retry_valid_d;

    stored = info_valid && (!info.reads || fetched_valid);
    distance = '0;
    slot_new = slot;
    append_place = slot.first + slot.count[PlaceBits-1:0];

    unique case (state_q)
      StChoose: begin
        if (due_q) begin
          if (!failure_valid_d) begin
            due_d = 1'b0;
            failure_valid_d = 1'b1;
            failure_d = '{vq_index: first_queue + {15'(qpn_q), 1'b0}, code: RdmaErrorOk};
          end
        end else if (clear_valid) begin
          op_d = OpClear;
          qpn_d = clear_qpn;
          clear_pop = 1'b1;
          read = 1'b1;
          state_d = StDecide;
        end else if (limit_valid) begin
          op_d = OpLimit;
          qpn_d = limit_qpn;
          limit_pop = 1'b1;
          read = 1'b1;
          state_d = StDecide;
        end else if (wait_q == WaitNone && request_valid && both_free) begin
          request_pop = 1'b1;
          wait_qpn_d = request.qpn[QpBits-1:0];
          no_wait_d = request.no_wait;
          requested_since_d = 1'b0;
          broken_d = 1'b0;
          if (request.is_element) begin
            wait_d = WaitElement;
            element_address_d = request.address;
            element_d = request.elements;
            element_new_d = request.is_new;
            op_d = OpElement;
            qpn_d = request.qpn[QpBits-1:0];
            list_read = 1'b1;
            state_d = StDecide;
          end else begin
            wait_d = WaitServe;
            op_d = OpServe;
            qpn_d = request.qpn[QpBits-1:0];
            read = 1'b1;
            state_d = StDecide;
          end
        end else if (both_free && wait_q == WaitElement) begin
          op_d = OpElement;
          qpn_d = wait_qpn_q;
          list_read = 1'b1;
          state_d = StDecide;
        end else if (both_free && (wait_q == WaitServe || (wait_q == WaitRoom && can_request))) begin
          op_d = OpServe;
          qpn_d = wait_qpn_q;
          read = 1'b1;
          state_d = StDecide;
        end else if (stored && !retry_valid_d) begin
          op_d = OpStore;
          qpn_d = info.qpn;
          read = 1'b1;
          state_d = StDecide;
        end else if (rung_valid && can_request) begin
          op_d = OpRung;
          qpn_d = rung_qpn;
          rung_pop = 1'b1;
          read = 1'b1;
          state_d = StDecide;
        end
      end
      StDecide: begin
        state_d = StChoose;
        unique case (op_q)
          OpServe: begin
            slot_write = 1'b1;
            if (slot.count != '0) begin
              place_read = 1'b1;
              slot_new.first = slot.first + 1'b1;
              slot_new.count = slot.count - 1'b1;
              slot_new.taken = slot.taken + 16'(limit.is_shared);
              slot_new.retries = 1'b0;
              state_d = StDeliver;
              // If there is no space for a request, the next receive that is delivered makes it.
              request_batch = 32'(slot.requests) != PerQueue && can_request && (!slot.dry || slot.again)
                           && 32'(slot_new.count) + 32'(slot.coming) <= Ahead - Step;
            end else if (no_wait_q) begin
              wait_d = WaitNone;
              receive_valid_d = 1'b1;
              receive_d = '0;
              receive_d.status = BufferStatusPending;
              request_batch = slot.requests == '0 && can_request;
              slot_new.retries = slot.requests != '0 || can_request;
              slot_new.since = slot.requests == '0;
              if (!slot_new.retries) begin
                retry_valid_d = 1'b1;
                retry_d = qpn_q;
              end
            end else if (slot.dry) begin
              // What its doorbell announced is, or can be, under way.
              request_batch = slot.requests == '0 && can_request && slot.again;
              if (may_wait && (slot.requests != '0 || request_batch)) begin
                wait_d = WaitBatch;
                dry_waits_d = 1'b1;
              end else begin
                wait_d = WaitNone;
                receive_valid_d = 1'b1;
                receive_d = '0;
                receive_d.status = BufferStatusEmpty;
              end
            end else if (slot.requests != '0) begin
              wait_d = WaitBatch;
            end else if (requested_since_q) begin
              wait_d = WaitNone;
              receive_valid_d = 1'b1;
              receive_d = '0;
              receive_d.status = broken_q ? BufferStatusFailed : BufferStatusEmpty;
            end else if (can_request) begin
              // Also after a request made before the responder asked for a receive: one may have been posted since.
              wait_d = WaitBatch;
              requested_since_d = 1'b1;
              request_batch = 1'b1;
            end else begin
              wait_d = WaitRoom;
            end
          end
          OpStore: begin
            info_pop = 1'b1;
            fetched_pop = info.reads;
            if (info.element) begin
              element_write = 1'b1;
              // With the last one nothing of the list is in flight any more.
              if (store_number == 8'd1) wait_d = WaitElement;
              if (store_number == 8'd1 || stored_q == 2'(ReadElements - 1)) begin
                stored_d = '0;
              end else begin
                stored_d = stored_q + 1'b1;
                info_pop = 1'b0;
                fetched_pop = 1'b0;
                state_d = StDecide;
              end
            end else begin
              slot_write = 1'b1;
              slot_new.missing[0] = slot.missing[0] - RequestCountBits'(info.receive);
              slot_new.coming = slot.coming - CountBits'(info.receive);
              if (info.receive && !slot.stale) begin
                place_write = 1'b1;
                slot_new.count = slot.count + 1'b1;
              end
              if (info.last) begin
                batch_ends_o = 1'b1;
                // Only the last one outstanding tells that all is in the ring.
                slot_new.requests = slot.requests - 1'b1;
                slot_new.dry = slot_new.missing[0] != '0 && !info.broken && !slot.stale
                            && (slot_new.requests == '0 || slot.dry);
                request_batch = slot_new.dry && slot.again && can_request && slot_new.requests == '0;
                slot_new.stale = slot.stale && slot_new.requests != '0;
                slot_new.retries = 1'b0;
                slot_new.coming = slot_new.coming - CountBits'(slot_new.missing[0]);
                for (int unsigned i = 1; i < PerQueue; i++) slot_new.missing[i-1] = slot.missing[i];
                slot_new.missing[PerQueue-1] = '0;
                // Without a receive only if one may have been posted since the request was made.
                if (slot.retries && (slot_new.count != '0 || !slot.since)) begin
                  retry_valid_d = 1'b1;
                  retry_d = qpn_q;
                end
              end
              if (wait_q == WaitBatch && wait_qpn_q == qpn_q) begin
                wait_d = WaitServe;
                dry_waits_d = 1'b0;
                if (info.broken && requested_since_q) broken_d = 1'b1;
              end
            end
          end
          OpLimit: begin
            slot_write = 1'b1;
            slot_new.armed = limit.armed;
            slot_new.position = limit.position;
          end
          OpElement: begin
            if (element_new_q || list.list_end != list_new.list_end || element_q > list.first) begin
              list_write = 1'b1;
              rest_set = 1'b1;
              element_new_d = 1'b0;
              wait_d = WaitList;
            end else begin
              wait_d = WaitNone;
              receive_valid_d = 1'b1;
              receive_d = '0;
              if (element.failed) begin
                receive_d.status = BufferStatusFailed;
                receive_d.code = RdmaErrorQueueDmaError;
              end else begin
                receive_d.status = BufferStatusOk;
                receive_d.sge = element.sge;
              end
            end
          end
          OpRung: begin
            slot_write = 1'b1;
            slot_new.again = slot.dry || slot.requests != '0;
            request_batch = slot.dry && slot.requests == '0;
          end
          default: begin  // OpClear
            slot_write = 1'b1;
            slot_new.count = '0;
            slot_new.stale = slot.requests != '0;
            slot_new.retries = 1'b0;
            slot_new.dry = 1'b0;
            slot_new.again = 1'b0;
            slot_new.taken = '0;
            slot_new.armed = 1'b0;
          end
        endcase
        distance = slot_new.taken - slot_new.position;
        if (SharedQueues && (op_q == OpServe || op_q == OpLimit) && slot_new.armed && !distance[15]) begin
          due_d = 1'b1;
          slot_new.armed = 1'b0;
        end
      end
      StDeliver: begin
        state_d = StChoose;
        wait_d = WaitNone;
        receive_valid_d = 1'b1;
        receive_d = '{status: entry.code == RdmaErrorOk ? BufferStatusOk : BufferStatusFailed, code: entry.code,
                      head: entry.head, wr_id: entry.wr_id, elements: entry.elements, num_sge: entry.num_sge,
                      sge: entry.sge};
        if (entry.code != RdmaErrorOk) begin
          failure_valid_d = 1'b1;
          failure_d = '{vq_index: first_queue + {15'(qpn_q), 1'b0}, code: entry.code};
        end
      end
      default: state_d = StChoose;
    endcase

    room = CountBits'(Ahead) - slot_new.count - slot_new.coming;
    request_count = 32'(room) < Most ? RequestCountBits'(room) : RequestCountBits'(Most);
    if (request_batch) begin
      slot_new.again = 1'b0;
      for (int unsigned i = 0; i < PerQueue; i++) begin
        if (32'(slot_new.requests) == i) slot_new.missing[i] = request_count;
      end
      slot_new.coming = slot_new.coming + CountBits'(request_count);
      slot_new.requests = slot_new.requests + 1'b1;
      request_valid_d = 1'b1;
      request_d = '{client: BufferClientReceive, vq_index: first_queue + {15'(qpn_q), 1'b0}, by_index: 1'b0, index: '0,
                count: request_count, default: '0};
    end
  end

  // What one machine adds and another removes.
  always_comb begin
    requests_d = requests_q + RequestBits'(request_batch) - RequestBits'(request_done);
    infos_d = infos_q + InfoBits'(info_push) - InfoBits'(info_pop);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fetch_valid_q <= 1'b0;
      rest_valid_q <= 1'b0;
      stored_q <= '0;
      infos_q <= '0;
      state_q <= StChoose;
      wait_q <= WaitNone;
      request_valid_q <= 1'b0;
      requests_q <= '0;
      receive_valid_q <= 1'b0;
      retry_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      due_q <= 1'b0;
      dry_waits_q <= 1'b0;
    end else begin
      fetch_valid_q <= fetch_valid_d;
      rest_valid_q <= rest_valid_d;
      stored_q <= stored_d;
      infos_q <= infos_d;
      state_q <= state_d;
      wait_q <= wait_d;
      request_valid_q <= request_valid_d;
      requests_q <= requests_d;
      receive_valid_q <= receive_valid_d;
      retry_valid_q <= retry_valid_d;
      failure_valid_q <= failure_valid_d;
      due_q <= due_d;
      dry_waits_q <= dry_waits_d;
    end
  end

  vireo_wait_budget #(
    .Share(WaitShare),
    .WaitBits(WaitBits)
  ) u_budget (
    .clk_i, .rst_ni,
    .waits_i(dry_waits_q),
    .may_wait_o(may_wait)
  );

  always_ff @(posedge clk_i) begin
    fetch_q <= fetch_d;
    rest_address_q <= rest_address_d;
    rest_elements_q <= rest_elements_d;
    element_address_q <= element_address_d;
    element_q <= element_d;
    element_new_q <= element_new_d;
    op_q <= op_d;
    qpn_q <= qpn_d;
    wait_qpn_q <= wait_qpn_d;
    requested_since_q <= requested_since_d;
    broken_q <= broken_d;
    no_wait_q <= no_wait_d;
    retry_q <= retry_d;
    request_q <= request_d;
    receive_q <= receive_d;
    failure_q <= failure_d;
  end

  assign receive_valid_o = receive_valid_q;
  assign receive_o = receive_q;
  assign receive_retry_valid_o = retry_valid_q;
  assign receive_retry_o = '{qpn: 24'(retry_q)};
  assign buffer_request_valid_o = request_valid_q;
  assign buffer_request_o = request_q;
  assign fetch_request_valid_o = fetch_valid_q;
  assign fetch_request_o = fetch_q;
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = failure_q;
  assign batch_begins_o = request_batch;
  assign idle_o = state_q == StChoose && !due_q && limit_empty && rung_empty && wait_q == WaitNone && !request_valid && clear_empty && requests_q == '0
               && infos_q == '0 && !request_valid_q && !fetch_valid_q && !receive_valid_q && !failure_valid_q && !retry_valid_q;

endmodule
