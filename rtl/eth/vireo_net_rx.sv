// SPDX-License-Identifier: Apache-2.0

// Writes received net frames to the buffers of their queue pair. Takes frames in order, allocates as many buffers of
// receive queue 2 * pair as net_hdr and frame need, writes both contiguously over the buffers' descriptors, and returns
// the buffers when all writes are in memory. If there are too few buffers, the frame is dropped and the buffers stay in
// the cache for the next one. If the bus refuses a write, the queue stops, and neither this frame nor a later one of its
// queue is returned. Does not parse or filter frames.
//
// Cut-through: a frame is written while the net filter still receives it. net_hdr says whether its checksum is valid; if
// that is not known yet, the frame is written behind the place of net_hdr, and net_hdr is the last write.
//
// State machines: allocation of buffers (for the next frame while one is written), requests for buffers ahead of the
// frames, storing of responses in the cache, writing, and completions that wait for their writes. Up to Requests
// buffer_requests are outstanding, at most one of them for the next buffers of each pair.
module vireo_net_rx
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,                              // of the buffer in vireo_net_filter; a power of two
  localparam int unsigned DataBits = Config.datapath_bits,         // 64 ... 1024, a power of two
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs,  // 1 ... 128
  localparam int unsigned BeatBytes = DataBits / 8,
  localparam int unsigned PlaceBits = $clog2(BufferBytes / BeatBytes)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 mrg_rxbuf_i,  // net_feature.mrg_rxbuf was accepted: a frame may take several buffers
  input  logic                 hold_i,       // 1: no new requests ahead of frames; they do not count for idle_o

  input  logic                 table_write_valid_i,
  input  table_write_t         table_write_i,
  input  logic                 queue_row_write_valid_i,
  input  queue_row_write_t     queue_row_write_i,
  input  logic                 doorbell_valid_i,  // a pulse, of any net queue
  input  doorbell_t            doorbell_i,

  input  logic                 frame_valid_i,
  output logic                 frame_ready_o,
  input  net_frame_t           frame_i,

  input  logic                 oldest_valid_i,   // from vireo_net_filter: the frames of frame_i, in order
  output logic                 oldest_read_o,
  output logic [PlaceBits-1:0] oldest_beat_o,
  input  logic [DataBits-1:0]  oldest_data_i,    // beat 0: the frame starts after NetHdrBytes bytes
  input  logic                 oldest_checked_i,  // all of it is stored, and the next one is valid
  input  logic                 oldest_checksum_valid_i,
  output logic                 oldest_free_o,

  output logic                 buffer_request_valid_o,
  input  logic                 buffer_request_ready_i,
  output buffer_request_t      buffer_request_o,

  input  logic                 buffer_valid_i,
  output logic                 buffer_ready_o,
  input  buffer_t              buffer_i,

  output logic                 write_valid_o,
  input  logic                 write_ready_i,
  output dma_write_request_t   write_request_o,  // the same in every beat of a write
  output logic [DataBits-1:0]  write_data_o,     // zero after the last byte
  output logic                 write_last_o,
  input  logic                 write_done_valid_i,  // a write is in memory, or refused; once per write, in their order
  input  dma_done_t            write_done_i,

  output logic                 completion_valid_o,
  input  logic                 completion_ready_i,
  output completion_t          completion_o,

  output logic                 queue_failure_valid_o,
  input  logic                 queue_failure_ready_i,
  output queue_failure_t       queue_failure_o,

  output logic                 drop_o,           // a frame is dropped
  output logic                 idle_o
);

  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned PairBits = NetQueuePairs > 1 ? $clog2(NetQueuePairs) : 1;
  localparam int unsigned Pairs = 2**PairBits;
  // Most descriptors, hence buffers, of a frame. A pair's cache has space for all of them, because they stay in it if
  // the frame is dropped; NetReceivesAhead are prefetched.
  localparam int unsigned Descriptors = 32'(NetChainDescriptors);
  localparam int unsigned EntryIndexBits = $clog2(Descriptors);
  localparam int unsigned CountBits = EntryIndexBits + 1;
  localparam int unsigned RequestCountBits = $bits(NetBuffersPerRequest);
  localparam int unsigned Most = 32'(NetBuffersPerRequest);
  localparam int unsigned Requests = 4;  // outstanding
  // So many buffers in the cache, or fewer: the next ones are requested.
  localparam logic [CountBits-1:0] Low = CountBits'(32'(NetReceivesAhead) - Most);
  // Width of a byte offset in net_hdr and frame, and of their length.
  localparam int unsigned PosBits = $bits(frame_i.bytes);
  localparam int unsigned StepBits = PosBits - LaneBits;
  // A write ends at a multiple of NetWriteBytes, or with its descriptor.
  localparam int unsigned WriteBits = $clog2(NetWriteBytes);
  // Pending completions: at least those of one frame, otherwise the first would wait for writes that wait for the last.
  localparam int unsigned Waiting = Descriptors;
  localparam int unsigned WaitingBits = $clog2(Waiting);

  // A descriptor from descriptor fetch.
  typedef struct packed {
    logic [15:0] head;
    logic [63:0] address;
    logic [31:0] bytes;
    logic writable;
    logic more;
    logic [15:0] next_index;
    logic has_id;
    logic [15:0] id;
    logic indirect;
    logic [63:0] table_address;
    logic [15:0] table_entries;
  } piece_t;

  // A descriptor of a frame: the part that is written, and the buffer's completion if it is the buffer's last one.
  typedef struct packed {
    logic [63:0] address;
    logic [PosBits-1:0] bytes;
    logic ends;
    logic [15:0] head;
    logic [PosBits-1:0] used_bytes;
    logic has_id;
    logic [15:0] id;
    logic [15:0] next_position;
  } entry_t;

  // Decision on the oldest frame.
  typedef struct packed {
    logic drop;                       // the other fields are invalid
    logic [PairBits-1:0] pair;
    logic guest_csum;
    logic [CountBits-1:0] buffers;
    logic [CountBits-1:0] entries;
    logic [PosBits-1:0] bytes;        // net_hdr and frame
  } job_t;

  typedef struct packed {
    logic first;                      // of its frame: waits for all writes of it
    logic [PairBits-1:0] pair;
    logic more;
    logic [15:0] head;
    logic [PosBits-1:0] used_bytes;
    logic has_id;
    logic [15:0] id;
    logic [15:0] next_position;
  } pending_t;

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic frame_valid, frame_pop, buffer_valid, buffer_pop;
  net_frame_t frame;
  buffer_t buffer;

  vireo_slice #(.Width(NetFrameBits)) u_frame (
    .clk_i, .rst_ni,
    .s_valid_i(frame_valid_i), .s_ready_o(frame_ready_o), .s_data_i(frame_i),
    .m_valid_o(frame_valid), .m_ready_i(frame_pop), .m_data_o(frame)
  );
  vireo_slice #(.Width(BufferBits), .Depth(wide_slice(Config.datapath_bits))) u_buffer (
    .clk_i, .rst_ni,
    .s_valid_i(buffer_valid_i), .s_ready_o(buffer_ready_o), .s_data_i(buffer_i),
    .m_valid_o(buffer_valid), .m_ready_i(buffer_pop), .m_data_o(buffer)
  );

  logic row_hit, rung, offloads_hit;
  logic [PairBits-1:0] row_pair, rung_pair, offloads_pair;

  // Pair i has receive queue 2 * i [virtio 1.3, 5.1.2].
  assign row_hit = queue_row_write_valid_i && !queue_row_write_i.vq_index[0]
                && 32'(queue_row_write_i.vq_index) < 2 * NetQueuePairs;
  assign row_pair = queue_row_write_i.vq_index[1 +: PairBits];
  assign rung = doorbell_valid_i && !doorbell_i.vq_index[0] && 32'(doorbell_i.vq_index) < 2 * NetQueuePairs;
  assign rung_pair = doorbell_i.vq_index[1 +: PairBits];
  assign offloads_hit = table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue
                     && !table_write_i.index[0] && 32'(table_write_i.index) < 2 * NetQueuePairs;
  assign offloads_pair = table_write_i.index[1 +: PairBits];

  // Unused fields. Responses need no identification, because they are in the order of the requests.
  logic unused_fields;
  assign unused_fields = ^{queue_row_write_i, table_write_i, doorbell_i, buffer.vq_index};

  // --- Buffers -------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StFrame,   // waits for a frame
    StNeedBuffer,  // needs a buffer
    StTake,    // has a buffer
    StRequest,  // requests the next descriptor of a chain
    StAnswer,  // waits for that descriptor
    StReady,   // has all buffers: the frame can be written
    StFail,    // stops the queue
    StDrop
  } state_e;
  typedef struct packed {
    logic by_index;                        // the next descriptor of a chain, not the next buffers of the pair
    logic [PairBits-1:0] pair;
    logic [RequestCountBits-1:0] count;
  } asked_t;

  state_e state_d, state_q;

  // Per pair. The cache has `count` buffers, starting at entry `first`.
  logic [Pairs-1:0] enabled_d, enabled_q;  // the queue is enabled
  logic [Pairs-1:0] broken_d, broken_q;    // its driver violated a rule, or the bus refused a write
  logic [Pairs-1:0] refused_d, refused_q;  // the bus refused a write: no frame is returned any more
  logic [Pairs-1:0] short_d, short_q;      // the last response had fewer buffers than requested
  logic [Pairs-1:0] guest_csum_d, guest_csum_q;
  logic [Pairs-1:0][EntryIndexBits-1:0] first_d, first_q;
  logic [Pairs-1:0][CountBits-1:0] count_d, count_q;

  logic [Pairs-1:0] wanted_d, wanted_q;    // may have to prefetch
  logic [Pairs-1:0] asked_d, asked_q;      // a request for buffers is outstanding
  logic [Pairs-1:0] stale_d, stale_q;      // discard the response to it

  // Outstanding requests, in order.
  logic asked_push, asked_pop, asked_space, asked_valid;
  asked_t asked_in, asked;                         // asked: the one that is answered next
  logic [RequestCountBits-1:0] got_d, got_q;       // buffers of its response so far
  logic [PairBits-1:0] last_pair_d, last_pair_q, pick, request_pair;
  logic request_free, prefetch, walked;
  logic hold_q;
  logic request_valid_d, request_valid_q;
  buffer_request_t request_d, request_q;

  // The frame.
  logic [PairBits-1:0] pair_d, pair_q;
  logic mrg_d, mrg_q;
  logic queue_lost_d, queue_lost_q;                           // its queue is disabled, or has been enabled again
  logic requested_since_d, requested_since_q;                       // requested buffers since it needed one
  logic [PosBits-1:0] left_d, left_q;             // bytes without a descriptor so far
  logic [CountBits-1:0] taken_d, taken_q;         // buffers
  logic [CountBits-1:0] entries_d, entries_q;     // descriptors
  logic [PosBits-1:0] all_d, all_q;               // bytes of net_hdr and frame
  // The buffer.
  logic [15:0] head_d, head_q;
  logic [PosBits-1:0] used_d, used_q;             // bytes of it
  logic [15:0] next_index_d, next_index_q;
  logic indirect_d, indirect_q;
  logic [63:0] table_address_d, table_address_q;
  logic [15:0] table_entries_d, table_entries_q;

  logic failure_valid_d, failure_valid_q;
  queue_failure_t failure_d, failure_q;
  logic refusal_report, refusal_reported;  // stop the queue of the frame that is returned next: a write was refused
  logic [PairBits-1:0] refusal_pair;

  logic cache_write, cache_read;
  logic [EntryIndexBits-1:0] cache_write_index, cache_read_index;
  piece_t answer, cached, piece;

  logic entry_write;
  entry_t entry_in;
  logic [CountBits:0] listed_d, listed_q;         // descriptors listed for writing, modulo
  logic [CountBits:0] walked_d, walked_q;         // those read by the write state machine
  logic [CountBits:0] entry_index;

  logic job_push, job_space;
  job_t job_in;

  logic takes, store, answers, make_request, make_walk, is_full, is_bad;
  logic [PosBits-1:0] use_bytes, used_new;
  logic [CountBits-1:0] my_count, rest, request_room;

  always_comb begin
    answer.head = buffer.head;
    answer.address = buffer.address;
    answer.bytes = buffer.bytes;
    answer.writable = buffer.writable;
    answer.more = buffer.more;
    answer.next_index = buffer.next_index;
    answer.has_id = buffer.has_id;
    answer.id = buffer.id;
    answer.indirect = buffer.indirect;
    answer.table_address = buffer.table_address;
    answer.table_entries = buffer.table_entries;
    piece = '0;
    if (state_q == StAnswer) piece = answer;
    else if (state_q == StTake) piece = cached;
  end

  vireo_ram_1r1w #(.Width($bits(piece_t)), .Depth(Pairs * Descriptors)) u_cache (
    .clk_i,
    .write_i(cache_write), .write_address_i({asked.pair, cache_write_index}), .write_data_i(answer),
    .read_i(cache_read), .read_address_i({pair_q, cache_read_index}), .read_data_o(cached)
  );
  vireo_fifo #(.Width($bits(asked_t)), .Depth(Requests), .InLuts(vireo_common_pkg::is_narrow(DataBits))) u_asked (
    .clk_i, .rst_ni,
    .s_valid_i(asked_push), .s_ready_o(asked_space), .s_data_i(asked_in),
    .m_valid_o(asked_valid), .m_ready_i(asked_pop), .m_data_o(asked)
  );
  if (NetQueuePairs > 1) begin : gen_pick
    vireo_rr_pick #(.Inputs(Pairs)) u_pick (.requests_i(wanted_q & ~asked_q), .last_i(last_pair_q), .pick_o(pick));
  end else begin : gen_one
    assign pick = '0;
    logic unused_last_pair;
    assign unused_last_pair = ^last_pair_q;
  end

  always_comb begin
    state_d = state_q;
    enabled_d = enabled_q;
    broken_d = broken_q;
    refused_d = refused_q;
    short_d = short_q;
    guest_csum_d = guest_csum_q;
    first_d = first_q;
    count_d = count_q;
    wanted_d = wanted_q;
    asked_d = asked_q;
    stale_d = stale_q;
    got_d = got_q;
    last_pair_d = last_pair_q;
    request_valid_d = request_valid_q && !buffer_request_ready_i;
    request_free = !request_valid_d && asked_space;
    request_d = request_q;
    pair_d = pair_q;
    mrg_d = mrg_q;
    queue_lost_d = queue_lost_q;
    requested_since_d = requested_since_q;
    left_d = left_q;
    taken_d = taken_q;
    entries_d = entries_q;
    all_d = all_q;
    head_d = head_q;
    used_d = used_q;
    next_index_d = next_index_q;
    indirect_d = indirect_q;
    table_address_d = table_address_q;
    table_entries_d = table_entries_q;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    failure_d = failure_q;
    if (refusal_reported) begin
      failure_valid_d = 1'b1;
      failure_d = '{vq_index: 16'({refusal_pair, 1'b0}), code: RdmaErrorQueueDmaError};
      broken_d[refusal_pair] = 1'b1;
      refused_d[refusal_pair] = 1'b1;
    end
    listed_d = listed_q;
    frame_pop = 1'b0;
    cache_read = 1'b0;
    entry_write = 1'b0;
    job_push = 1'b0;
    make_request = 1'b0;
    make_walk = 1'b0;
    request_pair = pair_q;
    walked = asked_valid && asked.by_index;
    takes = 1'b0;

    my_count = count_q[pair_q];
    rest = my_count - taken_q;
    cache_read_index = first_q[pair_q] + taken_q[EntryIndexBits-1:0];

    // The used part of the descriptor, and the resulting state of its buffer.
    use_bytes = piece.bytes < 32'(left_q) ? piece.bytes[PosBits-1:0] : left_q;
    used_new = used_q + use_bytes;
    // All descriptors of a receive buffer must be device-writable [virtio 1.3, 5.1.6.3]. If one chain fills the list,
    // the chain is too long and the queue stops; if several buffers fill it, only the frame is dropped.
    is_full = entries_q == CountBits'(Descriptors);
    is_bad = !piece.writable || (is_full && taken_q == '0);
    entry_in = '0;
    if (state_q == StTake || state_q == StAnswer) begin
      entry_in.address = piece.address;
      entry_in.bytes = use_bytes;
      entry_in.ends = !piece.more;
      entry_in.head = state_q == StTake ? piece.head : head_q;
      entry_in.used_bytes = used_new;
      entry_in.has_id = piece.has_id;
      entry_in.id = piece.has_id ? piece.id : '0;
      entry_in.next_position = piece.has_id ? piece.next_index : '0;
    end
    entry_index = listed_q + (CountBits + 1)'(entries_q);

    job_in = '{drop: state_q == StDrop, pair: pair_q, guest_csum: guest_csum_q[pair_q], buffers: taken_q,
               entries: entries_q, bytes: all_q};

    unique case (state_q)
      StFrame: begin
        queue_lost_d = 1'b0;
        // Only with space for all resulting entries, whatever their number.
        if (frame_valid && job_space && listed_q - walked_q <= (CountBits + 1)'(Descriptors)) begin
          frame_pop = 1'b1;
          pair_d = PairBits'(frame.pair_index);
          queue_lost_d = 32'(frame.pair_index) >= NetQueuePairs;
          mrg_d = mrg_rxbuf_i;
          requested_since_d = 1'b0;
          all_d = frame.bytes + PosBits'(NetHdrBytes);
          left_d = all_d;
          taken_d = '0;
          entries_d = '0;
          used_d = '0;
          state_d = StNeedBuffer;
        end
      end

      StNeedBuffer: begin
        if (queue_lost_q || !enabled_q[pair_q] || broken_q[pair_q]) begin
          state_d = StDrop;
        end else if (rest != '0) begin
          cache_read = 1'b1;
          state_d = StTake;
        end else if (taken_q == CountBits'(Descriptors)) begin
          state_d = StDrop;
        end else if (!asked_q[pair_q]) begin
          // Also after a request from before the frame needed a buffer: the driver may have added one since.
          if (requested_since_q) begin
            state_d = StDrop;
          end else if (request_free) begin
            requested_since_d = 1'b1;
            make_request = 1'b1;
          end
        end
      end

      StTake: takes = 1'b1;

      StRequest: begin
        if (queue_lost_q) begin
          state_d = StDrop;
        end else if (request_free) begin
          make_walk = 1'b1;
          state_d = StAnswer;
        end
      end

      StAnswer: begin
        if (buffer_valid && walked) begin
          takes = buffer.status == BufferStatusOk;
          if (!takes) state_d = StDrop;  // after `failed`: descriptor fetch has reported it
        end
      end

      StReady: begin
        if (queue_lost_q) begin
          state_d = StDrop;
        end else begin
          job_push = 1'b1;
          listed_d = entry_index;
          first_d[pair_q] = cache_read_index;
          count_d[pair_q] = rest;
          // Prefetch, unless the ring was empty.
          if (rest <= Low && !short_q[pair_q] && !asked_q[pair_q]) wanted_d[pair_q] = 1'b1;
          state_d = StFrame;
        end
      end

      StFail: begin
        if (queue_lost_q) begin
          state_d = StDrop;
        end else if (!failure_valid_d) begin
          failure_valid_d = 1'b1;
          failure_d = '{vq_index: 16'({pair_q, 1'b0}), code: RdmaErrorBadDescriptor};
          broken_d[pair_q] = 1'b1;
          state_d = StDrop;
        end
      end

      default: begin  // StDrop
        job_push = 1'b1;
        state_d = StFrame;
      end
    endcase

    // Use of a descriptor.
    if (takes) begin
      if (queue_lost_q) begin
        state_d = StDrop;
      end else if (is_bad) begin
        state_d = StFail;
      end else if (is_full) begin
        state_d = StDrop;
      end else begin
        entry_write = 1'b1;
        entries_d = entries_q + 1'b1;
        left_d = left_q - use_bytes;
        head_d = entry_in.head;
        next_index_d = piece.next_index;
        indirect_d = piece.indirect;
        table_address_d = piece.table_address;
        table_entries_d = piece.table_entries;
        if (piece.more) begin
          used_d = used_new;
          state_d = StRequest;
        end else begin
          used_d = '0;
          taken_d = taken_q + 1'b1;
          requested_since_d = 1'b0;
          // Without mrg_rxbuf a frame must fit into one buffer [virtio 1.3, 5.1.6.3.1, 5.1.6.4].
          if (left_d == '0) state_d = StReady;
          else state_d = mrg_q ? StNeedBuffer : StDrop;
        end
      end
    end

    // Requests ahead of the frames, pairs round-robin. Conditions may have changed since the pair was marked.
    prefetch = (wanted_q & ~asked_q) != '0 && request_free && !hold_i && !make_request && !make_walk;
    if (prefetch) begin
      request_pair = pick;
      last_pair_d = pick;
      wanted_d[pick] = 1'b0;
      make_request = enabled_q[pick] && !broken_d[pick] && !short_q[pick] && count_d[pick] <= Low;
    end

    // A pair has no other request for buffers outstanding, so there is space for the whole response.
    request_room = CountBits'(Descriptors) - count_d[request_pair];
    asked_push = make_request || make_walk;
    asked_in = '{by_index: make_walk, pair: request_pair, count: NetBuffersPerRequest};
    if (32'(request_room) < Most) asked_in.count = RequestCountBits'(request_room);
    if (make_walk) asked_in.count = RequestCountBits'(1);
    if (make_request) begin
      asked_d[request_pair] = 1'b1;
      stale_d[request_pair] = 1'b0;
    end
    if (asked_push) begin
      request_valid_d = 1'b1;
      request_d = '{client: BufferClientNetReceive, vq_index: 16'({request_pair, 1'b0}), count: asked_in.count,
                    default: '0};
      if (make_walk) begin
        request_d.by_index = 1'b1;
        request_d.index = next_index_q;
        request_d.indirect = indirect_q;
        request_d.table_address = table_address_q;
        request_d.table_entries = table_entries_q;
      end
    end

    // The response goes into the cache, or to the state machine above.
    store = buffer_valid && asked_valid && !asked.by_index;
    answers = store && buffer.status == BufferStatusOk;
    cache_write = answers && !stale_q[asked.pair];
    cache_write_index = first_q[asked.pair] + count_q[asked.pair][EntryIndexBits-1:0];
    buffer_pop = store || (state_q == StAnswer && walked);
    asked_pop = buffer_valid && buffer_pop && (asked.by_index || buffer.last);
    if (cache_write) count_d[asked.pair] = count_d[asked.pair] + 1'b1;
    if (store) begin
      got_d = got_q + RequestCountBits'(answers);
      if (buffer.last) begin
        asked_d[asked.pair] = 1'b0;
        // If the driver has rung since, a short response does not mean that the ring is empty.
        if (!stale_q[asked.pair]) begin
          short_d[asked.pair] = got_d != asked.count && !wanted_q[asked.pair];
          if (got_d == asked.count && count_d[asked.pair] <= Low) wanted_d[asked.pair] = 1'b1;
        end
        got_d = '0;
      end
    end

    // The ring has more.
    if (rung) begin
      short_d[rung_pair] = 1'b0;
      wanted_d[rung_pair] = 1'b1;
    end
    if (Config.net_offloads != 0 && offloads_hit) begin
      guest_csum_d[offloads_pair] =
          (table_write_i.data[8*TableVirtqueueGuestOffloadsOffset +: 64] & NetGuestOffloadsGuestCsum) != '0;
    end
    // Last, because it overrides all of the above.
    if (row_hit) begin
      enabled_d[row_pair] = queue_row_write_i.enabled;
      broken_d[row_pair] = 1'b0;
      refused_d[row_pair] = 1'b0;
      short_d[row_pair] = 1'b0;
      first_d[row_pair] = '0;
      count_d[row_pair] = '0;
      wanted_d[row_pair] = 1'b0;
      stale_d[row_pair] = 1'b1;
      if (state_d != StFrame && pair_d == row_pair) queue_lost_d = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StFrame;
      enabled_q <= '0;
      broken_q <= '0;
      refused_q <= '0;
      short_q <= '0;
      guest_csum_q <= '0;
      first_q <= '0;
      count_q <= '0;
      wanted_q <= '0;
      asked_q <= '0;
      got_q <= '0;
      last_pair_q <= PairBits'(Pairs - 1);
      hold_q <= 1'b0;
      request_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      listed_q <= '0;
    end else begin
      state_q <= state_d;
      enabled_q <= enabled_d;
      broken_q <= broken_d;
      refused_q <= refused_d;
      short_q <= short_d;
      guest_csum_q <= guest_csum_d;
      first_q <= first_d;
      count_q <= count_d;
      wanted_q <= wanted_d;
      asked_q <= asked_d;
      got_q <= got_d;
      last_pair_q <= last_pair_d;
      hold_q <= hold_i;
      request_valid_q <= request_valid_d;
      failure_valid_q <= failure_valid_d;
      listed_q <= listed_d;
    end
  end

  always_ff @(posedge clk_i) begin
    stale_q <= stale_d;
    request_q <= request_d;
    pair_q <= pair_d;
    mrg_q <= mrg_d;
    queue_lost_q <= queue_lost_d;
    requested_since_q <= requested_since_d;
    left_q <= left_d;
    taken_q <= taken_d;
    entries_q <= entries_d;
    all_q <= all_d;
    head_q <= head_d;
    used_q <= used_d;
    next_index_q <= next_index_d;
    indirect_q <= indirect_d;
    table_address_q <= table_address_d;
    table_entries_q <= table_entries_d;
    failure_q <= failure_d;
  end

  assign buffer_request_valid_o = request_valid_q;
  assign buffer_request_o = request_q;
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = failure_q;
  assign drop_o = state_q == StDrop;

  // --- Writing -------------------------------------------------------------------------------------------------------

  logic entry_read;
  entry_t entry;
  logic job_valid, job_pop;
  job_t job;

  // Descriptor lists of two frames: one is written while the next one is made.
  vireo_ram_1r1w #(.Width($bits(entry_t)), .Depth(2 * Descriptors)) u_list (
    .clk_i,
    .write_i(entry_write), .write_address_i(entry_index[EntryIndexBits:0]), .write_data_i(entry_in),
    .read_i(entry_read), .read_address_i(walked_q[EntryIndexBits:0]), .read_data_o(entry)
  );
  vireo_slice #(.Width($bits(job_t))) u_job (
    .clk_i, .rst_ni,
    .s_valid_i(job_push), .s_ready_o(job_space), .s_data_i(job_in),
    .m_valid_o(job_valid), .m_ready_i(job_pop), .m_data_o(job)
  );

  // Alignment of the frame's beats to those of a write: see vireo_dma_align.
  typedef struct packed {
    logic lag;
    logic dummy;
    logic [StepBits-1:0] last_step;
    logic [LaneBits-1:0] lane;
    logic [63:0] address;
    logic [12:0] bytes;
    logic last;                            // of the frame
  } run_t;

  function automatic run_t run_of(input logic [LaneBits-1:0] lane, input logic [63:0] address,
                                  input logic [12:0] bytes, input logic last);
    vireo_dma_pkg::align_t align = vireo_dma_pkg::align_of(32'(lane), 32'(bytes), LaneBits);
    run_of.lane = lane;
    run_of.lag = align.lag;
    run_of.dummy = align.dummy;
    run_of.last_step = StepBits'(align.last_step);
    run_of.address = address;
    run_of.bytes = bytes;
    run_of.last = last;
  endfunction

  typedef enum logic [2:0] {
    WrJob,     // waits for a frame
    WrEntry,   // has a descriptor
    WrRun,     // writes to it
    WrHeader,  // all but net_hdr is written: waits until it is known
    WrFree     // frees the frame in vireo_net_filter when all of it is stored
  } write_state_e;

  write_state_e write_state_d, write_state_q;
  job_t job_d, job_q;
  logic [CountBits-1:0] to_walk_d, to_walk_q;   // descriptors of the frame that have not been started
  logic late_d, late_q;                           // net_hdr is written last
  logic [63:0] header_address_d, header_address_q;  // then
  logic data_valid, data_valid_d, data_valid_q;   // the flag in net_hdr
  logic checked_q, checksum_valid_q;              // of the oldest frame, a cycle late
  logic no_completion_yet_d, no_completion_yet_q;                       // no buffer of the frame has been returned yet
  run_t run_d, run_q;
  logic [PosBits-1:0] position_d, position_q;   // offset in net_hdr and frame, after the run
  logic [63:0] address_d, address_q;            // of the descriptor's bytes after the run
  logic [PosBits-1:0] bytes_d, bytes_q;         // number of these bytes
  logic [PlaceBits-1:0] beat_d, beat_q;
  logic run_done, run_begins, header_begins, waits, ends;
  logic [$clog2(NetHdrBytes+1)-1:0] skip;  // bytes of net_hdr that are left out
  logic [63:0] run_address;
  logic [PosBits-1:0] run_left;
  logic [PosBits-1:0] run_position;
  logic [WriteBits-1:0] run_place;
  logic [12:0] run_room, run_bytes, run_end;  // run_room: up to the next multiple of NetWriteBytes
  logic run_last;

  logic pending_push, pending_space, pending_valid, pending_pop;
  pending_t pending_in, pending;

  always_comb begin
    write_state_d = write_state_q;
    job_d = job_q;
    to_walk_d = to_walk_q;
    late_d = late_q;
    header_address_d = header_address_q;
    data_valid_d = data_valid_q;
    no_completion_yet_d = no_completion_yet_q;
    run_d = run_q;
    address_d = address_q;
    bytes_d = bytes_q;
    beat_d = beat_q;
    walked_d = walked_q;
    job_pop = 1'b0;
    entry_read = 1'b0;
    pending_push = 1'b0;
    run_begins = 1'b0;
    header_begins = 1'b0;
    ends = 1'b0;
    skip = '0;
    oldest_free_o = 1'b0;
    waits = position_q == '0 && job_q.guest_csum && !checked_q;

    unique case (write_state_q)
      WrJob: begin
        if (job_valid && oldest_valid_i) begin
          job_pop = 1'b1;
          job_d = job;
          to_walk_d = job.entries;
          late_d = 1'b0;
          no_completion_yet_d = 1'b1;
          entry_read = !job.drop;
          write_state_d = job.drop ? WrFree : WrEntry;
        end
      end

      WrEntry: begin
        // In a shorter descriptor than net_hdr nothing is written before net_hdr is known.
        if (pending_space && (!waits || entry.bytes >= PosBits'(NetHdrBytes))) begin
          if (position_q == '0) begin
            late_d = waits;
            data_valid_d = data_valid;
            header_address_d = entry.address;
          end
          if (waits) skip = ($clog2(NetHdrBytes + 1))'(NetHdrBytes);
          to_walk_d = to_walk_q - 1'b1;
          pending_push = entry.ends;
          if (entry.ends) no_completion_yet_d = 1'b0;
          run_begins = entry.bytes != PosBits'(skip);
          if (run_begins) write_state_d = WrRun;
          else if (to_walk_q == CountBits'(1)) write_state_d = late_d ? WrHeader : WrFree;
          else entry_read = 1'b1;
        end
      end

      WrRun: begin
        if (oldest_read_o) beat_d = beat_q + 1'b1;
        if (run_done) begin
          if (bytes_q != '0) begin
            run_begins = 1'b1;
          end else if (to_walk_q != '0) begin
            entry_read = 1'b1;
            write_state_d = WrEntry;
          end else begin
            ends = 1'b1;
          end
        end
      end

      default: ends = 1'b1;  // WrHeader, WrFree
    endcase

    // The end of a frame: net_hdr, if it is not written yet.
    if (ends) begin
      if (!checked_q) begin
        write_state_d = late_q ? WrHeader : WrFree;
      end else if (late_q) begin
        header_begins = 1'b1;
        data_valid_d = data_valid;
        late_d = 1'b0;
        write_state_d = WrRun;
      end else begin
        oldest_free_o = 1'b1;
        write_state_d = WrJob;
      end
    end

    if (entry_read) walked_d = walked_q + 1'b1;

    run_address = write_state_q == WrEntry ? entry.address : address_q;
    run_left = write_state_q == WrEntry ? entry.bytes - PosBits'(skip) : bytes_q;
    run_place = run_address[WriteBits-1:0] + WriteBits'(skip);
    run_room = 13'(NetWriteBytes) - 13'(run_place);
    run_bytes = run_left > PosBits'(run_room) ? run_room : 13'(run_left);
    run_end = run_bytes + 13'(skip);
    run_position = position_q + PosBits'(skip);
    run_last = run_left <= PosBits'(run_room) && run_position + run_left == job_q.bytes && !late_d;
    position_d = run_position;
    if (run_begins) begin
      run_d = run_of(run_position[LaneBits-1:0], run_address + 64'(skip), run_bytes, run_last);
      beat_d = PlaceBits'(run_position[PosBits-1:LaneBits]);
      position_d = run_position + PosBits'(run_bytes);
      address_d = run_address + 64'(run_end);
      bytes_d = run_left - PosBits'(run_bytes);
    end
    if (header_begins) begin
      run_d = run_of('0, header_address_q, 13'(NetHdrBytes), 1'b1);
      beat_d = '0;
    end
    if (write_state_q == WrJob) position_d = '0;

    pending_in = '0;
    if (pending_push) begin
      pending_in = '{first: no_completion_yet_q, pair: job_q.pair, more: to_walk_q != CountBits'(1),
                     head: entry.head, used_bytes: entry.used_bytes, has_id: entry.has_id, id: entry.id,
                     next_position: entry.next_position};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_state_q <= WrJob;
      walked_q <= '0;
      checked_q <= 1'b0;
    end else begin
      write_state_q <= write_state_d;
      checked_q <= oldest_checked_i && !oldest_free_o;
      walked_q <= walked_d;
    end
  end

  logic [PlaceBits-1:0] read_beat_q;  // of the current read data

  always_ff @(posedge clk_i) begin
    job_q <= job_d;
    to_walk_q <= to_walk_d;
    late_q <= late_d;
    header_address_q <= header_address_d;
    data_valid_q <= data_valid_d;
    checksum_valid_q <= oldest_checksum_valid_i;
    no_completion_yet_q <= no_completion_yet_d;
    run_q <= run_d;
    position_q <= position_d;
    address_q <= address_d;
    bytes_q <= bytes_d;
    beat_q <= beat_d;
    read_beat_q <= beat_q;
  end

  assign oldest_beat_o = beat_q;
  assign data_valid = job_q.guest_csum && checksum_valid_q;

  // net_hdr is in the first beat, or in the first two. All other fields are 0: there is no segmentation, so the driver
  // ignores them [virtio 1.3, 5.1.6.4].
  logic [NetHdrBytes-1:0][7:0] header;
  logic [BeatBytes-1:0][7:0] data;

  always_comb begin
    header = '0;
    header[NetHdrFlagsOffset] = data_valid_q ? NetHdrFlagsDataValid : '0;
    header[NetHdrNumBuffersOffset] = 8'(job_q.buffers);
    data = oldest_data_i;
    for (int unsigned i = 0; i < NetHdrBytes; i++) begin
      if (read_beat_q == PlaceBits'(i / BeatBytes)) data[i % BeatBytes] = header[i];
    end
  end

  // The tag returns with the end of the write: 1 for the last one of a frame.
  logic write_last_of_frame;
  assign write_request_o.notify = 1'b1;
  assign write_request_o.tag = 8'(write_last_of_frame);

  vireo_dma_align #(
    .DataBits(DataBits),
    .StepBits(StepBits),
    .MetaBits($bits(run_q.address) + $bits(run_q.bytes) + 1)
  ) u_align (
    .clk_i,
    .rst_ni,
    .run_valid_i(write_state_q == WrRun),
    .run_ready_o(run_done),
    .run_lag_i(run_q.lag),
    .run_dummy_i(run_q.dummy),
    .run_last_step_i(run_q.last_step),
    .run_lane_i(run_q.lane),
    .run_end_lane_i(LaneBits'(run_q.bytes - 1'b1)),
    .run_meta_i({run_q.address, run_q.bytes, run_q.last}),
    .read_o(oldest_read_o),
    .data_i(data),
    .train_valid_o(write_valid_o),
    .train_ready_i(write_ready_i),
    .train_data_o(write_data_o),
    .train_last_o(write_last_o),
    .train_meta_o({write_request_o.address, write_request_o.bytes, write_last_of_frame})
  );

  // --- Completions ---------------------------------------------------------------------------------------------------

  // Frames whose writes have all ended, until their last buffer has been returned: at most one per pending completion.
  logic [CountBits-1:0] ended_d, ended_q;
  logic [WaitingBits-1:0] end_d, end_q;        // number of the frame whose writes end next
  logic [WaitingBits-1:0] return_d, return_q;  // and of the one that is returned next
  logic refusal_d, refusal_q;                  // a write of the former was refused so far
  logic frame_end;
  logic [Waiting-1:0] frame_refused_q;         // by number
  logic withheld_d, withheld_q;                // a frame is not returned: decided for its first buffer
  logic withhold, returned;
  logic [CountBits-1:0] pendings_d, pendings_q;

  vireo_fifo #(.Width($bits(pending_t)), .Depth(Waiting), .InLuts(vireo_common_pkg::is_narrow(DataBits))) u_pending (
    .clk_i, .rst_ni,
    .s_valid_i(pending_push), .s_ready_o(pending_space), .s_data_i(pending_in),
    .m_valid_o(pending_valid), .m_ready_i(pending_pop), .m_data_o(pending)
  );

  assign completion_o = '{vq_index: 16'({pending.pair, 1'b0}), head: pending.head,
                          used_bytes: 32'(pending.used_bytes), more: pending.more, has_id: pending.has_id,
                          id: pending.id, next_position: pending.next_position, default: '0};

  assign returned = pending_valid && (!pending.first || ended_q != '0);
  assign withhold = pending.first ? frame_refused_q[return_q] || refused_q[pending.pair] : withheld_q;
  assign completion_valid_o = returned && !withhold;
  // Once; and not for a queue that was reset meanwhile.
  assign refusal_pair = pending.pair;
  assign refusal_report = returned && pending.first && frame_refused_q[return_q] && !refused_q[pending.pair]
                       && enabled_q[pending.pair];
  assign refusal_reported = refusal_report && (!failure_valid_q || queue_failure_ready_i);

  always_comb begin
    frame_end = write_done_valid_i && write_done_i.tag[0];
    refusal_d = refusal_q;
    if (write_done_valid_i) refusal_d = !frame_end && (refusal_q || write_done_i.resp != 2'(vireo_dma_pkg::AxiRespOkay));

    pending_pop = completion_valid_o ? completion_ready_i : returned && (!refusal_report || refusal_reported);
    withheld_d = pending_pop ? withhold : withheld_q;
    return_d = return_q + WaitingBits'(pending_pop && !pending.more);
    end_d = end_q + WaitingBits'(frame_end);
    ended_d = ended_q + CountBits'(frame_end) - CountBits'(pending_pop && pending.first);
    pendings_d = pendings_q + CountBits'(pending_push) - CountBits'(pending_pop);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q <= '0;
      end_q <= '0;
      return_q <= '0;
      refusal_q <= 1'b0;
      pendings_q <= '0;
    end else begin
      ended_q <= ended_d;
      end_q <= end_d;
      return_q <= return_d;
      refusal_q <= refusal_d;
      pendings_q <= pendings_d;
    end
  end

  always_ff @(posedge clk_i) begin
    withheld_q <= withheld_d;
    if (frame_end) frame_refused_q[end_q] <= refusal_q || write_done_i.resp != 2'(vireo_dma_pkg::AxiRespOkay);
  end

  // Of the tag, one bit is used.
  logic unused_done;
  assign unused_done = ^write_done_i.tag;

  assign idle_o = !frame_valid && state_q == StFrame && (wanted_q == '0 || hold_q) && asked_q == '0 && !failure_valid_q
                  && !job_valid && write_state_q == WrJob && pendings_q == '0;

`ifndef SYNTHESIS
  response_expected: assert property (@(posedge clk_i) disable iff (!rst_ni) buffer_valid |-> asked_valid);
  // A frame whose writes end has a completion that waits, or is being written, with room for one.
  ended_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                   frame_end |-> 32'(ended_q) < Waiting);
  cache_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                   cache_write |-> 32'(count_q[asked.pair]) < Descriptors);
`endif

endmodule
