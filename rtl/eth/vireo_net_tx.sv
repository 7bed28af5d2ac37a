// SPDX-License-Identifier: Apache-2.0

// Processes net transmit queues (virtqueues 2p + 1). After a doorbell it requests buffers from descriptor fetch, pairs
// round-robin. Each buffer becomes tx_jobs that cover its bytes (net_hdr and frame) in order, and a completion when the
// gather reports that they have been read or have failed. Reads no data: vireo_net_checksum interprets net_hdr and
// frame.
//
// Two state machines. One requests the next buffers of rings while there is space for whole responses, up to
// PairRequests of a pair at a time. The other processes one buffer at a time: it follows the chain by index, stores it
// in a RAM, and cuts it into runs; it has at most one request outstanding. Both share one request stream with in-order
// responses.
//
// If a buffer violates a rule, its queue stops until the row is written. Fetched buffers of a queue are discarded when
// it stops and when its row is written. Buffers whose jobs have been issued still complete.
module vireo_net_tx
  import vireo_spec_pkg::*, vireo_common_pkg::is_narrow;
#(
  parameter config_t Config,
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs,  // 1 ... 16
  localparam int unsigned MaxFrameBytes = Config.max_frame_bytes   // without header
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             hold_i,  // 1: no new ring requests; pairs that need one do not count for idle_o

  input  logic             queue_row_write_valid_i,
  input  queue_row_write_t queue_row_write_i,

  input  logic             doorbell_valid_i,  // of net queues; those of receive queues are ignored
  output logic             doorbell_ready_o,
  input  doorbell_t        doorbell_i,
  output logic             doorbell_valid_o,  // a pulse: each doorbell, for the receive queues
  output doorbell_t        doorbell_o,

  output logic             buffer_request_valid_o,
  input  logic             buffer_request_ready_i,
  output buffer_request_t  buffer_request_o,

  input  logic             buffer_valid_i,
  output logic             buffer_ready_o,
  input  buffer_t          buffer_i,

  output logic             job_valid_o,
  input  logic             job_ready_i,
  output tx_job_t          job_o,

  input  logic             sent_valid_i,    // the oldest frame with jobs has been read
  output logic             sent_ready_o,
  input  rx_ack_t          sent_i,

  input  logic             failed_valid_i,  // the oldest frame with jobs could not be read and is dropped
  output logic             failed_ready_o,
  input  qp_failure_t      failed_i,

  output logic             completion_valid_o,
  input  logic             completion_ready_i,
  output completion_t      completion_o,

  output logic             queue_failure_valid_o,
  input  logic             queue_failure_ready_i,
  output queue_failure_t   queue_failure_o,

  output logic             drop_o,  // pulse: a buffer's frame is too short or too long, and is not sent
  output logic             idle_o
);

  localparam int unsigned Pairs = NetQueuePairs < 2 ? 2 : NetQueuePairs;  // inputs of the round-robin arbiter
  localparam int unsigned PairBits = $clog2(Pairs);
  localparam int unsigned Most = 32'(NetBuffersPerRequest);
  localparam int unsigned GotBits = $clog2(Most + 1);
  // Whole responses for which there is space: one is processed while others are fetched.
  localparam int unsigned Requests = NetQueuePairs < 2 ? 2 : NetQueuePairs < 4 ? 4 : 8;
  localparam int unsigned Heads = Requests * Most;
  // Of one pair: descriptor fetch reads the index for one, entries for the next, descriptors for a third.
  localparam int unsigned PairRequests = 3;
  localparam int unsigned AskedBits = $clog2(PairRequests + 1);
  localparam int unsigned HeadBits = $clog2(Heads);
  localparam int unsigned Frames = 32'(NetTxFrames);
  localparam int unsigned FrameBits = $clog2(Frames + 1);
  localparam int unsigned Entries = 32'(NetChainDescriptors);
  localparam int unsigned EntryBits = $clog2(Entries);
  localparam int unsigned TotalBits = 32 + EntryBits;
  // A run has at most so many bytes, and ends at a multiple of this address or with its descriptor. A host answers such a
  // read in one packet, so the reads of a frame are answered nearly in their order, and its first bytes need not wait
  // for its last ones.
  localparam int unsigned RunBytes = 256;
  localparam int unsigned RunBits = $clog2(RunBytes);
  // Jobs of a frame are made while fewer bytes of earlier ones are being read: more than the wire takes in one latency
  // of host memory, but not so many that the next descriptors wait behind them.
  localparam int unsigned ReadAheadBytes = 12288;
  localparam int unsigned ReadingBits = 16;
  localparam int unsigned BytesMin = NetHdrBytes + EthernetBytes;
  localparam int unsigned BytesMax = NetHdrBytes + MaxFrameBytes;

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic doorbell_valid, buffer_valid, sent_valid, failed_valid;
  doorbell_t doorbell;
  buffer_t buffer;
  logic unused_token;

  // Doorbells are always accepted.
  vireo_slice #(.Width(DoorbellBits)) u_doorbell (
    .clk_i, .rst_ni,
    .s_valid_i(doorbell_valid_i), .s_ready_o(doorbell_ready_o), .s_data_i(doorbell_i),
    .m_valid_o(doorbell_valid), .m_ready_i(1'b1), .m_data_o(doorbell)
  );
  vireo_slice #(.Width(BufferBits)) u_buffer (
    .clk_i, .rst_ni,
    .s_valid_i(buffer_valid_i), .s_ready_o(buffer_ready_o), .s_data_i(buffer_i),
    .m_valid_o(buffer_valid), .m_ready_i(1'b1), .m_data_o(buffer)
  );
  // Frames end in the order of their jobs, so a count of ended frames is sufficient.
  logic [1:0] unused_end;
  vireo_slice #(.Width(1)) u_sent (
    .clk_i, .rst_ni,
    .s_valid_i(sent_valid_i), .s_ready_o(sent_ready_o), .s_data_i(1'b0),
    .m_valid_o(sent_valid), .m_ready_i(1'b1), .m_data_o(unused_end[0])
  );
  vireo_slice #(.Width(1)) u_failed (
    .clk_i, .rst_ni,
    .s_valid_i(failed_valid_i), .s_ready_o(failed_ready_o), .s_data_i(1'b0),
    .m_valid_o(failed_valid), .m_ready_i(1'b1), .m_data_o(unused_end[1])
  );
  assign unused_token = ^{sent_i, failed_i, buffer.vq_index, unused_end};
  assign doorbell_valid_o = doorbell_valid;
  assign doorbell_o = doorbell;

  // Transmit queues of this device. Without mq, such an index may belong to another kind of queue; the pair then has no
  // state to discard.
  function automatic logic is_transmit(input logic [15:0] vq_index);
    return vq_index[0] && vq_index < 16'(2 * NetQueuePairs);
  endfunction

  logic rung, row_written;
  logic [PairBits-1:0] rung_pair, row_pair;
  assign rung = doorbell_valid && is_transmit(doorbell.vq_index);
  assign rung_pair = doorbell.vq_index[1 +: PairBits];
  assign row_written = queue_row_write_valid_i && is_transmit(queue_row_write_i.vq_index);
  assign row_pair = queue_row_write_i.vq_index[1 +: PairBits];
  logic unused_row;
  assign unused_row = ^queue_row_write_i;

  // --- State ---------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StTake,    // takes the next buffer
    StRequest,  // requests the next descriptor of its chain
    StWait,    // waits for that descriptor
    StDecide,  // the chain is complete: checks the buffer
    StRun,     // adds one run per cycle to the job
    StFail     // stops the queue
  } state_e;
  state_e state_d, state_q;

  typedef struct packed {
    logic [PairBits-1:0] pair;
    logic [15:0] head;
    logic has_id;
    logic [15:0] id;
    logic [15:0] next_position;
    logic dropped;        // without jobs
    logic [13:0] bytes;   // that its jobs read
  } record_t;
  typedef struct packed {
    logic by_index;  // the next descriptor of the chain, not the next buffers of the pair
    logic [PairBits-1:0] pair;
  } asked_t;

  logic hold_q;

  // Per pair.
  logic [Pairs-1:0] pending_d, pending_q;  // may have buffers
  logic [Pairs-1:0] broken_d, broken_q;    // stopped until the row is written
  logic [PairBits-1:0] last_pair_d, last_pair_q, pick;

  // The outstanding requests, in order.
  logic [Pairs-1:0][AskedBits-1:0] asked_d, asked_q;  // number for buffers of the pair
  logic [Pairs-1:0][AskedBits-1:0] stale_d, stale_q;  // of them, the oldest ones whose response is discarded
  logic [Pairs-1:0] may_ask;
  logic asked_push, asked_pop, asked_space, asked_valid;
  asked_t asked_in, asked;                   // asked: the one that is answered next
  logic [GotBits-1:0] got_d, got_q;          // buffers of its response so far
  logic walked;                              // its response belongs to the chain
  logic request_valid_d, request_valid_q, request_free;
  buffer_request_t request_d, request_q;
  logic make_request;

  // Fetched buffers, in order. Of each pair: their number, and how many of them, the oldest, are discarded.
  logic [HeadBits:0] heads_d, heads_q;       // number, including those requested
  logic [Pairs-1:0][HeadBits:0] held_d, held_q, skip_d, skip_q;
  logic [PairBits-1:0] head_pair;
  logic skip;
  logic head_push, head_valid, head_pop, head_ready;
  buffer_t head_token;
  logic unused_head;

  // The current buffer.
  logic walk_valid_d, walk_valid_q;            // its row has not been written since
  logic [PairBits-1:0] pair_d, pair_q;
  logic [15:0] head_d, head_q, next_index_d, next_index_q, id_d, id_q;
  logic has_id_d, has_id_q, indirect_d, indirect_q;
  logic [63:0] table_address_d, table_address_q;
  logic [15:0] table_entries_d, table_entries_q;
  logic [TotalBits-1:0] total_d, total_q;    // bytes
  logic [EntryBits:0] count_d, count_q;      // descriptors
  logic [EntryBits:0] next_d, next_q;        // index of the descriptor after the current one
  logic [63:0] address_d, address_q;         // of the current descriptor
  logic [31:0] bytes_d, bytes_q;             // remaining in the current descriptor
  logic entry_write;
  logic [63:0] entry_address;
  logic [31:0] entry_bytes;
  logic kill, breaks;                        // discard the fetched buffers of the queue; stop the queue

  // Job, record, completion.
  logic job_valid_d, job_valid_q, job_second_d, job_second_q;  // complete; has its first run
  logic [13:0] payload_bytes_d, payload_bytes_q;
  logic [63:0] address0_d, address0_q, address1_d, address1_q;
  logic [12:0] bytes0_d, bytes0_q, bytes1_d, bytes1_q;
  logic more_d, more_q;
  logic [12:0] run, to_boundary;
  logic run_ends, last_run;
  logic record_push, record_ready, record_valid, record_pop;
  record_t record_in, record;
  logic [FrameBits-1:0] records_d, records_q;
  logic [ReadingBits-1:0] reading_d, reading_q;  // bytes of frames with jobs whose completion has not left
  logic [FrameBits-1:0] ended_d, ended_q;    // ended frames whose completion is pending
  logic completion_valid_d, completion_valid_q;
  record_t completion_q;
  logic failure_valid_d, failure_valid_q, failure_load;
  logic [PairBits-1:0] failure_pair_q;
  logic drop_d, drop_q;

  always_comb begin
    for (int unsigned i = 0; i < Pairs; i++) may_ask[i] = pending_q[i] && asked_q[i] != AskedBits'(PairRequests);
  end
  vireo_rr_pick #(.Inputs(Pairs)) u_pick (.requests_i(may_ask), .last_i(last_pair_q), .pick_o(pick));

  // Cannot overflow: a request for buffers has reserved space for them, and the chain has one request.
  vireo_fifo #(.Width($bits(asked_t)), .Depth(2 * Requests), .InLuts(is_narrow(Config.datapath_bits))) u_asked (
    .clk_i, .rst_ni,
    .s_valid_i(asked_push), .s_ready_o(asked_space), .s_data_i(asked_in),
    .m_valid_o(asked_valid), .m_ready_i(asked_pop), .m_data_o(asked)
  );

  // Cannot overflow (heads_not_full): a request reserves space for its buffers.
  vireo_fifo #(.Width(PairBits + BufferBits), .Depth(Heads), .InLuts(is_narrow(Config.datapath_bits))) u_heads (
    .clk_i, .rst_ni,
    .s_valid_i(head_push), .s_ready_o(head_ready), .s_data_i({asked.pair, buffer}),
    .m_valid_o(head_valid), .m_ready_i(head_pop), .m_data_o({head_pair, head_token})
  );
  assign unused_head = ^{head_token.status, head_token.last, head_token.vq_index};

  // Descriptors of the buffer's chain, except the first.
  vireo_ram_1r1w #(.Width(64 + 32), .Depth(Entries)) u_chain (
    .clk_i,
    .write_i(entry_write), .write_address_i(count_q[EntryBits-1:0]), .write_data_i({buffer.address, buffer.bytes}),
    .read_i(state_q == StDecide || state_q == StRun), .read_address_i(next_d[EntryBits-1:0]),
    .read_data_o({entry_address, entry_bytes})
  );

  vireo_fifo #(.Width($bits(record_t)), .Depth(Frames), .InLuts(is_narrow(Config.datapath_bits))) u_records (
    .clk_i, .rst_ni,
    .s_valid_i(record_push), .s_ready_o(record_ready), .s_data_i(record_in),
    .m_valid_o(record_valid), .m_ready_i(record_pop), .m_data_o(record)
  );

  // --- State machines ------------------------------------------------------------------------------------------------

  always_comb begin
    state_d = state_q;
    pending_d = pending_q;
    broken_d = broken_q;
    last_pair_d = last_pair_q;
    asked_d = asked_q;
    stale_d = stale_q;
    got_d = got_q;
    walked = asked_valid && asked.by_index;
    asked_push = 1'b0;
    asked_in = '{by_index: 1'b0, pair: pick};
    request_free = !request_valid_q || buffer_request_ready_i;
    request_valid_d = request_valid_q && !buffer_request_ready_i;
    request_d = request_q;
    heads_d = heads_q;
    held_d = held_q;
    skip_d = skip_q;
    skip = skip_q[head_pair] != '0;
    head_push = 1'b0;
    head_pop = 1'b0;
    walk_valid_d = walk_valid_q;
    pair_d = pair_q;
    head_d = head_q;
    next_index_d = next_index_q;
    has_id_d = has_id_q;
    id_d = id_q;
    indirect_d = indirect_q;
    table_address_d = table_address_q;
    table_entries_d = table_entries_q;
    total_d = total_q;
    count_d = count_q;
    next_d = next_q;
    address_d = address_q;
    bytes_d = bytes_q;
    entry_write = 1'b0;
    kill = 1'b0;
    breaks = 1'b0;
    job_valid_d = job_valid_q && !job_ready_i;
    job_second_d = job_second_q;
    payload_bytes_d = payload_bytes_q;
    address0_d = address0_q;
    bytes0_d = bytes0_q;
    address1_d = address1_q;
    bytes1_d = bytes1_q;
    more_d = more_q;
    record_push = 1'b0;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    failure_load = 1'b0;
    drop_d = 1'b0;

    to_boundary = 13'(RunBytes) - 13'(address_q[RunBits-1:0]);
    run_ends = bytes_q <= RunBytes;
    run = run_ends ? bytes_q[12:0] : to_boundary;
    last_run = run_ends && next_q == count_q;
    record_in = '{pair: pair_q, head: head_q, has_id: has_id_q, id: has_id_q ? id_q : '0,
                  next_position: has_id_q ? next_index_q : '0, dropped: 1'b0, bytes: total_q[13:0]};

    // Request for the next buffers of a ring. A request for a chain has priority, because its buffer is older.
    make_request = may_ask != '0 && !hold_i && heads_q <= (HeadBits + 1)'(Heads - Most) && request_free
                   && state_q != StRequest;
    if (make_request) begin
      asked_push = 1'b1;
      asked_d[pick] = asked_d[pick] + 1'b1;
      last_pair_d = pick;
      pending_d[pick] = 1'b0;
      heads_d = heads_d + (HeadBits + 1)'(Most);
      request_valid_d = 1'b1;
      request_d = '{client: BufferClientNetTransmit, vq_index: 16'({pick, 1'b1}), count: NetBuffersPerRequest,
                    default: '0};
    end

    // Response to a request for buffers.
    asked_pop = 1'b0;
    if (buffer_valid && !walked) begin
      if (stale_q[asked.pair] == '0 && buffer.status == BufferStatusOk) begin
        head_push = 1'b1;
        held_d[asked.pair] = held_d[asked.pair] + 1'b1;
        got_d = got_q + 1'b1;
      end
      if (buffer.last) begin
        asked_pop = 1'b1;
        asked_d[asked.pair] = asked_d[asked.pair] - 1'b1;
        if (stale_q[asked.pair] != '0) stale_d[asked.pair] = stale_q[asked.pair] - 1'b1;
        heads_d = heads_d - ((HeadBits + 1)'(Most) - (HeadBits + 1)'(got_d));
        // Fewer buffers than requested: the ring is empty, and the driver will ring the doorbell.
        if (got_d == GotBits'(Most)) pending_d[asked.pair] = 1'b1;
        got_d = '0;
      end
    end

    unique case (state_q)
      StTake: if (head_valid && (record_ready || skip)) begin
        head_pop = 1'b1;
        held_d[head_pair] = held_d[head_pair] - 1'b1;
        if (skip) skip_d[head_pair] = skip_q[head_pair] - 1'b1;
        heads_d = heads_d - 1'b1;
        walk_valid_d = 1'b1;
        pair_d = head_pair;
        head_d = head_token.head;
        next_index_d = head_token.next_index;
        has_id_d = head_token.has_id;
        id_d = head_token.id;
        indirect_d = head_token.indirect;
        table_address_d = head_token.table_address;
        table_entries_d = head_token.table_entries;
        address_d = head_token.address;
        bytes_d = head_token.bytes;
        total_d = TotalBits'(head_token.bytes);
        count_d = (EntryBits + 1)'(1);
        next_d = (EntryBits + 1)'(1);
        if (!skip) begin
          state_d = StDecide;
          // Descriptors of a transmit queue must not be device-writable [virtio 1.3, 5.1.6.2].
          if (head_token.writable) state_d = StFail;
          else if (head_token.more) state_d = StRequest;
        end
      end

      StRequest: if (request_free) begin
        asked_push = 1'b1;
        asked_in = '{by_index: 1'b1, pair: pair_q};
        request_valid_d = 1'b1;
        request_d = '{client: BufferClientNetTransmit, vq_index: 16'({pair_q, 1'b1}), by_index: 1'b1,
                      index: next_index_q, count: GotBits'(1), indirect: indirect_q, table_address: table_address_q,
                      table_entries: table_entries_q, default: '0};
        state_d = StWait;
      end

      StWait: if (buffer_valid && walked) begin
        asked_pop = 1'b1;
        if (!walk_valid_q) begin
          state_d = StTake;
        end else if (buffer.status != BufferStatusOk) begin
          // Descriptor fetch has reported the cause; the queue delivers no more buffers.
          kill = 1'b1;
          state_d = StTake;
        end else if (buffer.writable || (buffer.more && count_q == (EntryBits + 1)'(Entries - 1))) begin
          state_d = StFail;
        end else begin
          entry_write = 1'b1;
          count_d = count_q + 1'b1;
          total_d = total_q + TotalBits'(buffer.bytes);
          next_index_d = buffer.next_index;
          // An indirect table takes one descriptor of the ring.
          has_id_d = buffer.has_id && !indirect_q;
          id_d = buffer.id;
          indirect_d = buffer.indirect;
          table_address_d = buffer.table_address;
          table_entries_d = buffer.table_entries;
          state_d = buffer.more ? StRequest : StDecide;
        end
      end

      StDecide: if (reading_q < ReadingBits'(ReadAheadBytes)) begin
        record_push = 1'b1;
        state_d = StRun;
        if (total_q < TotalBits'(BytesMin) || total_q > TotalBits'(BytesMax)) begin
          record_in.dropped = 1'b1;
          record_in.bytes = '0;
          drop_d = 1'b1;
          state_d = StTake;
        end
      end

      // A descriptor has 1 byte or more: descriptor fetch guarantees it.
      StRun: if (!job_valid_q || job_ready_i) begin
        payload_bytes_d = total_q[13:0];
        if (job_second_q) begin
          address1_d = address_q;
          bytes1_d = run;
        end else begin
          address0_d = address_q;
          bytes0_d = run;
          address1_d = '0;
          bytes1_d = '0;
        end
        more_d = !last_run;
        job_valid_d = job_second_q || last_run;
        job_second_d = !job_valid_d;
        address_d = address_q + 64'(run);
        bytes_d = bytes_q - 32'(run);
        if (run_ends) begin
          address_d = entry_address;
          bytes_d = entry_bytes;
          next_d = next_q + 1'b1;
        end
        if (last_run) state_d = StTake;
      end

      StFail: if (!walk_valid_q) begin
        state_d = StTake;
      end else if (!failure_valid_q || queue_failure_ready_i) begin
        failure_load = 1'b1;
        failure_valid_d = 1'b1;
        kill = 1'b1;
        breaks = 1'b1;
        state_d = StTake;
      end

      default: state_d = StTake;
    endcase

    if (rung && !broken_q[rung_pair]) pending_d[rung_pair] = 1'b1;

    // Last, because it overrides updates of the same cycle.
    if (kill) begin
      skip_d[pair_q] = held_d[pair_q];
      stale_d[pair_q] = asked_d[pair_q];
    end
    if (row_written) begin
      skip_d[row_pair] = held_d[row_pair];
      stale_d[row_pair] = asked_d[row_pair];
    end
    if (row_written && pair_d == row_pair) walk_valid_d = 1'b0;
    if (breaks) begin
      pending_d[pair_q] = 1'b0;
      broken_d[pair_q] = 1'b1;
    end
    if (row_written) broken_d[row_pair] = 1'b0;
  end

  always_comb begin
    record_pop = record_valid && (record.dropped || ended_q != '0) && (!completion_valid_q || completion_ready_i);
    completion_valid_d = record_pop || (completion_valid_q && !completion_ready_i);
    records_d = records_q + FrameBits'(record_push) - FrameBits'(record_pop);
    reading_d = reading_q + (record_push ? ReadingBits'(record_in.bytes) : '0)
              - (record_pop ? ReadingBits'(record.bytes) : '0);
    ended_d = ended_q + FrameBits'(sent_valid) + FrameBits'(failed_valid) - FrameBits'(record_pop && !record.dropped);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StTake;
      hold_q <= 1'b0;
      pending_q <= '0;
      broken_q <= '0;
      last_pair_q <= PairBits'(Pairs - 1);
      asked_q <= '0;
      stale_q <= '0;
      got_q <= '0;
      request_valid_q <= 1'b0;
      heads_q <= '0;
      held_q <= '0;
      skip_q <= '0;
      job_valid_q <= 1'b0;
      job_second_q <= 1'b0;
      records_q <= '0;
      reading_q <= '0;
      ended_q <= '0;
      completion_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      drop_q <= 1'b0;
    end else begin
      state_q <= state_d;
      hold_q <= hold_i;
      pending_q <= pending_d;
      broken_q <= broken_d;
      last_pair_q <= last_pair_d;
      asked_q <= asked_d;
      stale_q <= stale_d;
      got_q <= got_d;
      request_valid_q <= request_valid_d;
      heads_q <= heads_d;
      held_q <= held_d;
      skip_q <= skip_d;
      job_valid_q <= job_valid_d;
      job_second_q <= job_second_d;
      records_q <= records_d;
      reading_q <= reading_d;
      ended_q <= ended_d;
      completion_valid_q <= completion_valid_d;
      failure_valid_q <= failure_valid_d;
      drop_q <= drop_d;
    end
  end

  always_ff @(posedge clk_i) begin
    request_q <= request_d;
    walk_valid_q <= walk_valid_d;
    pair_q <= pair_d;
    head_q <= head_d;
    next_index_q <= next_index_d;
    has_id_q <= has_id_d;
    id_q <= id_d;
    indirect_q <= indirect_d;
    table_address_q <= table_address_d;
    table_entries_q <= table_entries_d;
    total_q <= total_d;
    count_q <= count_d;
    next_q <= next_d;
    address_q <= address_d;
    bytes_q <= bytes_d;
    payload_bytes_q <= payload_bytes_d;
    address0_q <= address0_d;
    bytes0_q <= bytes0_d;
    address1_q <= address1_d;
    bytes1_q <= bytes1_d;
    more_q <= more_d;
    if (record_pop) completion_q <= record;
    if (failure_load) failure_pair_q <= pair_q;
  end

  // --- Outputs -------------------------------------------------------------------------------------------------------

  always_comb begin
    job_o = '0;
    job_o.packet.payload_bytes = payload_bytes_q;
    job_o.packet.reports = 1'b1;
    job_o.address0 = address0_q;
    job_o.bytes0 = bytes0_q;
    job_o.address1 = address1_q;
    job_o.bytes1 = bytes1_q;
    job_o.more = more_q;
    // Used length 0: nothing is written to a transmit buffer. There is no CQ.
    completion_o = '0;
    completion_o.vq_index = 16'({completion_q.pair, 1'b1});
    completion_o.head = completion_q.head;
    completion_o.has_id = completion_q.has_id;
    completion_o.id = completion_q.id;
    completion_o.next_position = completion_q.next_position;
  end
  logic unused_dropped;
  assign unused_dropped = ^{completion_q.dropped, completion_q.bytes};

  assign buffer_request_valid_o = request_valid_q;
  assign buffer_request_o = request_q;
  assign job_valid_o = job_valid_q;
  assign completion_valid_o = completion_valid_q;
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = '{vq_index: 16'({failure_pair_q, 1'b1}), code: RdmaErrorBadDescriptor};
  assign drop_o = drop_q;
  assign idle_o = !doorbell_valid && (pending_q == '0 || hold_q) && asked_q == '0 && heads_q == '0 &&
                  state_q == StTake && records_q == '0 && !job_valid_q && !completion_valid_q && !failure_valid_q;

`ifndef SYNTHESIS
  response_expected: assert property (@(posedge clk_i) disable iff (!rst_ni) buffer_valid |-> asked_valid);
  asked_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) asked_push |-> asked_space);
  heads_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) head_push |-> head_ready);
`endif

endmodule
