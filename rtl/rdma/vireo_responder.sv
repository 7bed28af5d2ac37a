// SPDX-License-Identifier: Apache-2.0

// Decides on every received frame, in order, one at a time: which bytes go to memory, what it completes and the
// response. Owner of the receive half of every QP and of its outstanding READs as requester. Of requests it executes
// SEND and RDMA WRITE, with or without immediate data, and RDMA READ on RC, SEND and WRITE on UC, and SEND
// on UD and GSI; of responses it accepts acknowledges and READ responses. A refused request takes the QP to ERR
// (on UC and UD only if a receive does not allow it): reported as a failure, and effective from the next frame on. In
// ERR it flushes the QP's receives, one per turn, so that frames of other QPs are processed in between.
//
// A frame leaves as one rx_place or, when its payload goes to several elements, as several; a dropped one as a
// place without bytes, response and acknowledge; one of the net path as a place with its length only. A
// flushed receive leaves as a place without frame.
module vireo_responder
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,             // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            enable_i,               // sampled when a frame's turn comes; 0: it is dropped
  input  logic            mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one
  input  logic [47:0]     mac_i,                  // the device's own, byte 0 in 7:0; sampled when a frame's turn comes
  input  logic            hold_i,  // no frame's turn comes, from the next cycle on; a waiting frame is no work

  input  logic            table_write_valid_i,
  input  table_write_t    table_write_i,
  input  logic            context_flip_valid_i,
  input  context_flip_t   context_flip_i,
  output logic            parity_error_o,
  input  logic            qp_state_write_valid_i,
  input  qp_state_write_t qp_state_write_i,
  input  logic            qp_reads_valid_i,       // of the read responder
  input  qp_reads_t       qp_reads_i,

  input  logic            load_valid_i,
  output logic            load_ready_o,
  input  qp_load_t        load_i,

  input  logic            frame_valid_i,
  output logic            frame_ready_o,
  input  rx_token_t       frame_i,                // verdict roce or net

  input  logic            doorbell_valid_i,       // of receive queues
  output logic            doorbell_ready_o,
  input  doorbell_t       doorbell_i,

  output logic            queue_rung_valid_o,     // a pulse: a doorbell of the receive queue
  output queue_rung_t     queue_rung_o,

  input  logic            read_record_valid_i,    // accepted at once, whatever else is in progress
  output logic            read_record_ready_o,
  input  read_record_t    read_record_i,

  output logic            receive_request_valid_o,
  input  logic            receive_request_ready_i,
  output receive_request_t receive_request_o,
  input  logic            receive_valid_i,        // one for each receive_request
  output logic            receive_ready_o,
  input  receive_t        receive_i,
  input  logic            receive_retry_valid_i,  // of a flush that was answered `pending`
  output logic            receive_retry_ready_o,
  input  receive_retry_t  receive_retry_i,

  output logic            memory_check_valid_o,
  input  logic            memory_check_ready_i,
  output memory_check_t   memory_check_o,
  input  logic            memory_place_valid_i,   // one for each memory_check
  output logic            memory_place_ready_o,
  input  memory_place_t   memory_place_i,

  output logic            place_valid_o,
  input  logic            place_ready_i,
  output rx_place_t       place_o,

  output logic            failure_valid_o,
  input  logic            failure_ready_i,
  output qp_failure_t     failure_o,

  output logic            expected_psn_valid_o,  // a pulse, one cycle after a possible change of the QP's expected PSN
  output qp_psn_t         expected_psn_o,

  output memory_grant_t   grant_ended_o,  // a pulse: a granted access is not made
  output logic            settled_o,  // no frame or flush has its turn
  output logic            idle_o
);

  localparam bit Invalidation = Config.invalidation != 0;
  localparam bit SharedQueues = Config.max_srqs != 0;

  logic [15:0] first_queue;  // index of the first receive queue

  vireo_qp_queues #(
    .Config(Config),
    .Offset(RdmaReceiveqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  typedef enum logic [3:0] {
    StIdle,
    StAct,      // check results are available
    StRead,     // a READ response: its place is available
    StMemory,   // waits for the key check
    StReceive,  // waits for a receive or an element
    StNext,     // receive and element are available
    StInvalidate,  // the key of a SEND with invalidate: its region is ended
    StDrain,    // a key was refused: what was requested and checked behind it comes, and is not used
    StFlush     // tables are read, of a QP to flush because of its state or receive queue
  } state_e;
  state_e state_d, state_q;   // of the turn in progress

  // --- Inputs

  logic load_valid, load_ready, waiting_valid, waiting_ready, memory_valid, memory_ready;
  logic doorbell_valid, doorbell_ready, receive_valid, receive_ready;
  doorbell_t doorbell;
  receive_t receive;
  logic retry_valid, retry_ready;
  // verilator lint_off UNUSEDSIGNAL
  receive_retry_t retry;
  // verilator lint_on UNUSEDSIGNAL
  qp_load_t load;
  rx_token_t waiting;  // the frame that is next
  memory_place_t memory;

  vireo_slice #(
    .Width($bits(qp_load_t))
  ) u_load (
    .clk_i,
    .rst_ni,
    .s_valid_i(load_valid_i),
    .s_ready_o(load_ready_o),
    .s_data_i(load_i),
    .m_valid_o(load_valid),
    .m_ready_i(load_ready),
    .m_data_o(load)
  );

  vireo_slice #(
    .Width($bits(rx_token_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_frame (
    .clk_i,
    .rst_ni,
    .s_valid_i(frame_valid_i),
    .s_ready_o(frame_ready_o),
    .s_data_i(frame_i),
    .m_valid_o(waiting_valid),
    .m_ready_i(waiting_ready),
    .m_data_o(waiting)
  );

  vireo_slice #(
    .Width($bits(memory_place_t)),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_memory_place (
    .clk_i,
    .rst_ni,
    .s_valid_i(memory_place_valid_i),
    .s_ready_o(memory_place_ready_o),
    .s_data_i(memory_place_i),
    .m_valid_o(memory_valid),
    .m_ready_i(memory_ready),
    .m_data_o(memory)
  );

  vireo_slice #(
    .Width(DoorbellBits)
  ) u_doorbell (
    .clk_i,
    .rst_ni,
    .s_valid_i(doorbell_valid_i),
    .s_ready_o(doorbell_ready_o),
    .s_data_i(doorbell_i),
    .m_valid_o(doorbell_valid),
    .m_ready_i(doorbell_ready),
    .m_data_o(doorbell)
  );

  vireo_slice #(
    .Width(ReceiveRetryBits)
  ) u_retry (
    .clk_i,
    .rst_ni,
    .s_valid_i(receive_retry_valid_i),
    .s_ready_o(receive_retry_ready_o),
    .s_data_i(receive_retry_i),
    .m_valid_o(retry_valid),
    .m_ready_i(retry_ready),
    .m_data_o(retry)
  );

  vireo_slice #(
    .Width(ReceiveBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_receive (
    .clk_i,
    .rst_ni,
    .s_valid_i(receive_valid_i),
    .s_ready_o(receive_ready_o),
    .s_data_i(receive_i),
    .m_valid_o(receive_valid),
    .m_ready_i(receive_ready),
    .m_data_o(receive)
  );

  // --- QPs to flush: those whose state became ERR or was cleared, those whose receive queue rang in ERR or has
  // something new to be requested, and those that had one receive flushed. A pulse comes one cycle late, so that the
  // other sets see it and wait.

  logic change_valid_q, change_clear_q;
  logic [QpBits-1:0] change_q;
  logic reflush_valid_d, reflush_valid_q;  // set by the machine below
  logic [QpBits-1:0] reflush_d, reflush_q;
  logic ring_valid_d, ring_valid_q;
  logic rung_q;
  logic [QpBits-1:0] ring_d, ring_q;
  logic ring_take;
  logic ring_in_error;
  logic [15:0] doorbell_offset;
  logic doorbell_known;
  logic flush_push, flush_valid, flush_pop, flush_empty;
  logic [QpBits-1:0] flush_push_qpn, flush_qpn;
  logic reflush_push;

  always_comb begin
    doorbell_offset = doorbell.vq_index - first_queue;
    doorbell_known = doorbell.vq_index >= first_queue && !doorbell_offset[0] && doorbell_offset < 16'(2 * NumQps);
    retry_ready = retry_valid && !ring_valid_q;
    doorbell_ready = doorbell_valid && !ring_valid_q && !retry_valid;
    ring_take = retry_ready || doorbell_ready;
    ring_d = retry_ready ? QpBits'(retry.qpn) : doorbell_offset[QpBits:1];
    ring_valid_d = retry_ready || (doorbell_ready && doorbell_known);

    reflush_push = reflush_valid_q && !change_valid_q;
    flush_push = change_valid_q || reflush_valid_q || (ring_valid_q && ring_in_error);
    flush_push_qpn = change_valid_q ? change_q : reflush_valid_q ? reflush_q : ring_q;
    if (ring_valid_q && ring_in_error && (change_valid_q || reflush_valid_q)) ring_valid_d = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      change_valid_q <= 1'b0;
      reflush_valid_q <= 1'b0;
      ring_valid_q <= 1'b0;
      rung_q <= 1'b0;
    end else begin
      change_valid_q <= qp_state_write_valid_i
                     && (qp_state_write_i.clear || qp_state_write_i.state == 3'(IbQpStateErr));
      reflush_valid_q <= reflush_valid_d;
      ring_valid_q <= ring_valid_d;
      rung_q <= doorbell_ready && doorbell_known;
    end
  end

  always_ff @(posedge clk_i) begin
    change_q <= QpBits'(qp_state_write_i.qpn);
    change_clear_q <= qp_state_write_i.clear;
    reflush_q <= reflush_d;
    if (ring_take) ring_q <= ring_d;
  end

  assign queue_rung_valid_o = rung_q;
  assign queue_rung_o = '{qpn: 24'(ring_q)};

  logic unused_flush_load;
  logic [QpBits-1:0] unused_flush_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_flush (
    .clk_i, .rst_ni,
    .push_valid_i(flush_push), .push_i(flush_push_qpn), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(flush_valid), .pop_ready_i(flush_pop), .pop_o(flush_qpn),
    .load_o(unused_flush_load), .load_index_o(unused_flush_index), .empty_o(flush_empty)
  );

  // Most receive queues ring in another state: those doorbells take no turn.
  vireo_table #(
    .Width(1),
    .Depth(NumQps)
  ) u_in_error (
    .clk_i,
    .rst_ni,
    .write_i(qp_state_write_valid_i),
    .write_address_i(QpBits'(qp_state_write_i.qpn)),
    .write_data_i(qp_state_write_i.state == 3'(IbQpStateErr)),
    .read_i(ring_take),
    .read_address_i(ring_d),
    .read_data_o(ring_in_error)
  );

  // --- Tables

  logic read;
  logic [QpBits-1:0] read_qpn;
  logic [QpBits-1:0] qpn_d, qpn_q;  // of the turn in progress
  table_qp_context_t written;
  logic attributes_write;
  attributes_t written_attributes, row_attributes;  // row_…: as read last
  logic attributes_corrupt;
  logic [2:0] row_state;
  logic half_write;
  logic [QpBits-1:0] half_index;
  half_t half_d, row_half;
  logic read_half_write;
  read_half_t read_half_d, row_read_half;

  assign attributes_write = table_write_valid_i && table_write_i.table_id == MgmtTableQpContext;

  // Signals used only in some cycles, here and below, are zero otherwise, so that simulation skips them.
  always_comb begin
    written = '0;
    written_attributes = '0;
    if (attributes_write) begin
      written = unpack_table_qp_context(table_write_i.data);
      written_attributes.exists = written.valid;
      written_attributes.service = 3'(service_of(written.qp_type));
      if (service_of(written.qp_type) == BthServiceCnp) begin
        written_attributes.service = 3'(BthServiceRc);
        written_attributes.exists = 1'b0;
      end
      written_attributes.remote_write = written.remote_write;
      written_attributes.remote_read = written.remote_read;
      written_attributes.remote_atomic = written.remote_atomic;
      written_attributes.flush_global = written.flush_global;
      written_attributes.flush_persistent = written.flush_persistent;
      written_attributes.max_reads = written.max_dest_rd_atomic;
      written_attributes.qkey = written.qkey;
      // Codes above the largest count as it.
      written_attributes.path_mtu = written.path_mtu > IbMtuMtu4096 ? 3'(IbMtuMtu4096) : 3'(written.path_mtu);
      written_attributes.pdn = written.pdn;
      written_attributes.recv_cqn = written.recv_cqn;
      written_attributes.has_srq = SharedQueues && written.has_srq;
      written_attributes.srqn = SharedQueues ? 16'(QpBits'(written.srq)) : '0;
      written_attributes.min_rnr_timer = written.min_rnr_timer;
      for (int unsigned i = 0; i < 16; i++) begin
        written_attributes.peer[8*(15 - i) +: 8] = written.path.dgid[i];
        written_attributes.own[8*(15 - i) +: 8] = written.path.sgid[i];
      end
    end
  end

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)),
    .Depth(NumQps),
    .Ram(ContextRamResponderQp)
  ) u_attributes (
    .clk_i,
    .rst_ni,
    .write_i(attributes_write),
    .write_address_i(QpBits'(table_write_i.index)),
    .write_data_i(written_attributes),
    .read_i(read),
    .read_address_i(read_qpn),
    .read_data_o(row_attributes),
    .corrupt_o(attributes_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_table #(
    .Width(3),
    .Depth(NumQps)
  ) u_state (
    .clk_i,
    .rst_ni,
    .write_i(qp_state_write_valid_i),
    .write_address_i(QpBits'(qp_state_write_i.qpn)),
    .write_data_i(qp_state_write_i.state),
    .read_i(read),
    .read_address_i(read_qpn),
    .read_data_o(row_state)
  );

  vireo_table #(
    .Width($bits(half_t)),
    .Depth(NumQps)
  ) u_half (
    .clk_i,
    .rst_ni,
    .write_i(half_write),
    .write_address_i(half_index),
    .write_data_i(half_d),
    .read_i(read),
    .read_address_i(read_qpn),
    .read_data_o(row_half)
  );

  vireo_table #(
    .Width($bits(read_half_t)),
    .Depth(NumQps)
  ) u_read_half (
    .clk_i,
    .rst_ni,
    .write_i(read_half_write),
    .write_address_i(half_index),
    .write_data_i(read_half_d),
    .read_i(read),
    .read_address_i(read_qpn),
    .read_data_o(row_read_half)
  );

  logic [ReadsBits-1:0] ended;  // READs of the peer

  vireo_table #(
    .Width(ReadsBits),
    .Depth(NumQps)
  ) u_ended (
    .clk_i,
    .rst_ni,
    .write_i(qp_reads_valid_i),
    .write_address_i(QpBits'(qp_reads_i.qpn)),
    .write_data_i(qp_reads_i.ended),
    .read_i(read),
    .read_address_i(read_qpn),
    .read_data_o(ended)
  );

  // Our outstanding READs.
  logic ring_load_ready, ring_idle, ring_held, retire;
  read_record_t oldest;

  vireo_read_ring #(
    .Config(Config)
  ) u_ring (
    .clk_i,
    .rst_ni,
    .read_record_valid_i,
    .read_record_ready_o,
    .read_record_i,
    .load_ready_o(ring_load_ready),
    .load_i(load_ready),
    .load_qpn_i(QpBits'(load.qpn)),
    .read_i(read),
    .read_qpn_i(read_qpn),
    .held_o(ring_held),
    .oldest_o(oldest),
    .keep_i(state_q == StAct),
    .retire_i(retire),
    .idle_o(ring_idle)
  );

  // --- The frame that is next: its tables are read while the one in progress waits, and nothing is issued for it before
  // the one in progress needs nothing but the answer to its last key check.

  aeth_t aeth;
  deth_t deth;
  ieth_t ieth;
  atomic_ack_eth_t atomic_ack;
  logic [47:0] mac;           // first byte most significant, as the frame has it
  logic enabled_q, ours_q;
  logic next_valid_d, next_valid_q;      // its turn has come
  logic next_checked_q;                  // next_checks_q is valid
  logic next_check_d, next_check_q;      // its key check was issued
  logic next_receive_d, next_receive_q;  // its receive was requested
  logic cleared_d, cleared_q, next_cleared_d, next_cleared_q;  // the QP was cleared since the tables were read
  checks_t next_checks_d, next_checks_q;
  logic [63:0] next_address;
  logic [31:0] next_rkey, next_bytes_left;
  logic [ReadsBits-1:0] next_reads_issued, next_duplicate_limit;
  action_e next_action;
  // The key check of a WRITE that is next was issued before its turn, because the frame in front of it is of its QP.
  logic early_d, early_q;
  logic early_pdn_q;                     // then, in progress: the protection domain is still that of the check
  reth_t early_reth;
  logic advance;                         // it becomes the one in progress

  vireo_responder_checks #(
    .Config(Config)
  ) u_checks (
    .clk_i,
    .valid_i(next_valid_q),
    .frame_i(waiting),
    .enabled_i(enabled_q),
    .ours_i(ours_q),
    .attributes_i(row_attributes),
    .qp_state_i(row_state),
    .half_i(row_half),
    .ended_i(ended),
    .checks_o(next_checks_d),
    .address_o(next_address),
    .rkey_o(next_rkey),
    .bytes_left_o(next_bytes_left),
    .reads_issued_o(next_reads_issued),
    .duplicate_limit_o(next_duplicate_limit)
  );

  always_comb begin
    for (int unsigned i = 0; i < 6; i++) mac[8*(5 - i) +: 8] = mac_i[8*i +: 8];
    next_action = next_checked_q ? decide(next_checks_q) : ActDrop;
  end

  always_ff @(posedge clk_i) begin
    if (read) begin
      enabled_q <= enable_i;
      ours_q <= waiting.destination_mac == mac;
    end
    if (next_valid_q) next_checks_q <= next_checks_d;
  end

  // The turn in progress. Of a flush: all but frame and checks.
  rx_token_t frame;
  checks_t checks_q;
  half_t half;
  logic [15:0] pdn, recv_cqn;
  logic has_srq;
  logic [QpBits-1:0] srqn;
  logic [QpBits-1:0] receive_queue;  // where the QP's receives come from
  logic [4:0] min_rnr_timer;
  logic [63:0] address;
  logic [31:0] rkey, bytes_left;
  logic [ReadsBits-1:0] reads_issued, duplicate_limit;
  action_e action;

  always_ff @(posedge clk_i) begin
    if (advance) begin
      frame <= waiting;
      checks_q <= next_checks_d;
      pdn <= row_attributes.pdn;
      early_pdn_q <= row_attributes.pdn == pdn;
      min_rnr_timer <= row_attributes.min_rnr_timer;
      address <= next_address;
      rkey <= next_rkey;
      bytes_left <= next_bytes_left;
      reads_issued <= next_reads_issued;
      duplicate_limit <= next_duplicate_limit;
    end
    if (advance || state_q == StFlush) begin
      half <= row_half;
      recv_cqn <= row_attributes.recv_cqn;
      has_srq <= row_attributes.has_srq;
      srqn <= QpBits'(row_attributes.srqn);
    end
  end

  always_comb begin
    aeth = '0;
    deth = '0;
    ieth = '0;
    atomic_ack = '0;
    action = ActDrop;
    if (state_q != StIdle) begin
      aeth = unpack_aeth(frame.extension[8*AethBytes-1:0]);
      deth = unpack_deth(frame.extension[8*DethBytes-1:0]);
      ieth = unpack_ieth(frame.extension[8*IethBytes-1:0]);
      atomic_ack = unpack_atomic_ack_eth(frame.extension[8*AethBytes +: 8*AtomicAckEthBytes]);
      action = decide(checks_q);
    end
  end
  // --- A READ response, against the oldest READ. First or middle is not checked, because a retry may start anywhere;
  // last and only must end the message. [9.7.5.1.9, 9.7.6.1]

  rdma_sge_t first_sge;
  logic [PsnBits-1:0] response_ahead_by;
  logic [31:0] response_bytes;
  logic [15:0] mtu;
  read_checks_t read_checks_d, read_checks_q;
  cursor_t read_cursor;

  assign first_sge = unpack_rdma_sge(oldest.sge);

  always_comb begin
    read_checks_d = '0;
    read_cursor = '0;
    response_ahead_by = '0;
    response_bytes = '0;
    mtu = '0;
    if (state_q == StAct) begin
      mtu = 16'(1 << MtuShift) << row_attributes.path_mtu;
      read_checks_d.psn = row_read_half.started ? row_read_half.psn : oldest.first_psn;
      read_checks_d.bytes_left = row_read_half.started ? row_read_half.bytes_left : oldest.bytes;
      if (row_read_half.started) begin
        read_cursor = row_read_half.cursor;
      end else begin
        read_cursor = '{next_element: oldest.elements + 64'(RdmaSgeBytes),
                        elements: oldest.num_sge == '0 ? '0 : oldest.num_sge - 1'b1,
                        address: first_sge.addr, key: first_sge.lkey,
                        bytes_left: oldest.num_sge == '0 ? '0 : first_sge.length};
      end
      response_ahead_by = frame.bth.psn - read_checks_d.psn;
      response_bytes = read_checks_d.bytes_left < 32'(mtu) ? read_checks_d.bytes_left : 32'(mtu);
      read_checks_d.held = ring_held && !row_read_half.halted;
      read_checks_d.expected = response_ahead_by == '0;
      read_checks_d.ahead = !response_ahead_by[PsnBits-1];
      read_checks_d.acknowledges = !frame.info.has_aeth || aeth.kind == 2'(AethKindAck);
      read_checks_d.last = frame.bth.psn == oldest.last_psn;
      read_checks_d.at_first = 8'(read_cursor.elements + 1'b1) == oldest.num_sge;
      read_checks_d.fits = 32'(frame.payload_bytes) == (oldest.is_atomic ? '0 : response_bytes)
                        && frame.info.ends_message == read_checks_d.last
                        && frame.info.has_atomic_ack_eth == oldest.is_atomic;
    end
  end

  always_ff @(posedge clk_i) if (state_q == StAct) read_checks_q <= read_checks_d;

  // --- The turn of a frame, a flush or a load

  // Parts of a frame that go to a receive, in this order; payload only, except for datagrams. [11.4.1.2, A17.4.3]
  typedef enum logic [1:0] {
    PartZeros,   // IPv4: in front of its header, so that both are as long as a GRH
    PartHeader,  // of IP
    PartPayload
  } part_e;

  logic flush_d, flush_q;            // the turn is a flush
  logic turn_d, turn_q;              // the last turn was a flush: a frame goes before the next one
  logic hold_q;
  logic flush_turn;                  // a flush goes before the next frame
  logic frame_turn;                  // a frame is present, and may have its turn
  logic starts;                      // its turn comes
  logic last;                        // the frame ends with the next answer to a key check
  logic announced_d, announced_q;    // comm_est was reported for this frame
  logic announces;
  logic discards;                    // the answer to an early check
  logic drains;                      // qp_last_wqe_reached is reported
  logic returns;                     // the receive of a shared queue leaves without a CQE
  logic element_d, element_q;        // an element is outstanding
  logic wants_element;
  // Behind the piece whose key is checked: the next element was requested, its key is checked, the one after it was
  // requested.
  logic ahead_d, ahead_q, checked_d, checked_q, further_d, further_q;
  logic checks_ahead;                // its key check is requested
  logic drops_element;
  logic [2:0] refused_d, refused_q;  // memory_status_e of the piece
  logic [12:0] rest_d, rest_q;       // of the part, behind all whose keys are checked
  logic [1:0] status_d, status_q;    // of the receive or element
  logic [7:0] code_d, code_q;        // its error code
  position_t position_d, position_q;
  position_t moved;                  // of the frame in progress, behind what leaves in this cycle
  part_e part_d, part_q;
  logic response_d, response_q;      // the frame is a READ response
  logic [12:0] left_d, left_q;       // of the part: bytes not yet placed
  logic [12:0] offset_d, offset_q;   // where it starts in the frame
  logic check_valid_d, check_valid_q, request_valid_d, request_valid_q, place_valid_d, place_valid_q;
  logic failure_valid_d, failure_valid_q;
  memory_check_t check_d, check_q;
  memory_grant_t grant_ended_d, grant_ended_q;
  receive_request_t request_d, request_q;
  rx_place_t place_d, place_q;
  qp_failure_t failure_d, failure_q;
  logic space;
  action_e done;                     // final action of the frame in this cycle, if it ends
  logic ends;
  logic continues;                   // bytes of the frame leave, and more of them follow
  logic runs;                        // bytes of the frame leave, more follow or not
  logic [7:0] passed;                // elements of the receive that is held, up to the current one
  logic flushes;                     // a receive leaves
  logic drops_receive;
  logic scatters;                    // the payload goes to elements
  logic invalidates;                 // then a region is ended
  logic [12:0] chunk;                // payload for the element
  logic takes_receive;
  rdma_sge_t sge;

  assign sge = unpack_rdma_sge(receive.sge);
  assign receive_queue = has_srq ? srqn : qpn_q;

  always_comb begin
    state_d = state_q;
    flush_d = flush_q;
    turn_d = turn_q;
    part_d = part_q;
    response_d = response_q;
    announced_d = announced_q;
    announces = 1'b0;
    drains = 1'b0;
    discards = 1'b0;
    early_d = early_q;
    element_d = element_q;
    ahead_d = ahead_q;
    checked_d = checked_q;
    further_d = further_q;
    refused_d = refused_q;
    rest_d = rest_q;
    checks_ahead = 1'b0;
    wants_element = 1'b0;
    drops_element = 1'b0;
    status_d = status_q;
    code_d = code_q;
    position_d = position_q;
    left_d = left_q;
    offset_d = offset_q;
    qpn_d = qpn_q;
    memory_ready = 1'b0;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    request_valid_d = request_valid_q && !receive_request_ready_i;
    request_d = request_q;
    reflush_valid_d = reflush_valid_q && !reflush_push;
    reflush_d = reflush_q;
    done = flush_q ? ActDrop : action;
    ends = 1'b0;
    continues = 1'b0;
    runs = 1'b0;
    flushes = 1'b0;
    drops_receive = 1'b0;
    space = !place_valid_q && !failure_valid_q;
    chunk = position_q.cursor.bytes_left < 32'(left_q) ? 13'(position_q.cursor.bytes_left) : left_q;
    scatters = checks_q.send || response_q;
    invalidates = Invalidation && checks_q.send && frame.info.has_ieth;
    passed = half.position.num_sge - half.position.cursor.elements;

    // A load and a flush wait for the frames whose turn has come; a frame waits for those of its QP.
    frame_turn = waiting_valid && (!hold_q || early_q);
    load_ready = load_valid && state_q == StIdle && !next_valid_q && ring_load_ready;
    flush_turn = flush_valid && !(frame_turn && turn_q);
    flush_pop = !load_valid && !next_valid_q && flush_turn && state_q == StIdle;
    starts = !load_valid && !next_valid_q && !flush_turn && frame_turn
          && (state_q == StIdle || (state_q != StAct && !flush_q && qpn_q != QpBits'(waiting.bth.dest_qp)));
    read = flush_pop || starts;
    read_qpn = starts ? QpBits'(waiting.bth.dest_qp) : flush_qpn;
    last = state_q == StMemory && (scatters ? chunk == left_q && part_q == PartPayload && !invalidates
                                            : checks_q.read || half.holds || !frame.info.consumes_recv);

    unique case (state_q)
      StIdle: begin
        if (flush_pop) begin
          flush_d = 1'b1;
          turn_d = 1'b1;
          qpn_d = flush_qpn;
          state_d = StFlush;
        end
      end

      StAct: begin
        discards = early_q && !(action == ActWrite && early_pdn_q);
        announces = space && checks_q.announces && !announced_q && !discards;
        if (discards) begin
          // Not what the early check asked: its answer is not used.
          if (memory_valid) begin
            memory_ready = 1'b1;
            early_d = 1'b0;
          end
        end else if (announces) begin
          announced_d = 1'b1;
        end else if (space) begin
          unique case (action)
            ActWrite, ActRead: begin
              if (!early_q) begin
                check_valid_d = 1'b1;
                check_d = key_check(checks_q, rkey, pdn, 24'(qpn_q), address, bytes_left, 32'(frame.payload_bytes));
              end
              early_d = 1'b0;
              state_d = StMemory;
            end
            ActReceive: begin
              if (half.holds) begin
                // Of a message that was never completed: this one reuses it from the start.
                position_d.cursor.next_element = half.position.cursor.next_element - 64'(RdmaSgeBytes) * 64'(passed);
                position_d.cursor.elements = half.position.num_sge;
                position_d.cursor.bytes_left = '0;
                state_d = StNext;
              end else begin
                request_valid_d = 1'b1;
                request_d = '{qpn: 24'(receive_queue), default: '0};
                state_d = StReceive;
              end
            end
            ActContinue: state_d = StNext;
            ActResponse: begin
              response_d = 1'b1;
              if (frame.info.has_atomic_ack_eth) left_d = 13'(AtomicBytes);
              position_d.cursor = read_cursor;
              state_d = StRead;
            end
            default: ends = 1'b1;
          endcase
        end
      end

      StRead: begin
        ends = 1'b1;
        done = ActDrop;
        if (read_checks_q.held && read_checks_q.expected) begin
          done = ActBadResponse;
          if (read_checks_q.acknowledges && read_checks_q.fits) begin
            ends = 1'b0;
            state_d = StNext;
          end
        end else if (read_checks_q.held && read_checks_q.ahead) begin
          done = ActGap;
        end
      end

      StMemory: begin
        if (memory_valid && space) begin
          if (checks_q.read) begin
            memory_ready = 1'b1;
            if (memory.status == MemoryStatusOk) done = checks_q.expected ? ActIssueRead : ActReplayRead;
            else done = checks_q.expected ? ActAccess : ActDrop;
            ends = 1'b1;
          end else if (memory.status != MemoryStatusOk) begin
            memory_ready = 1'b1;
            if (scatters) done = ActProtection;
            else done = checks_q.acknowledged ? ActAccess : ActAbandon;
            ends = !ahead_q;
            refused_d = memory.status;
            state_d = StDrain;  // unless it ends
          end else if (!scatters && frame.info.consumes_recv && !half.holds) begin
            // Nothing is written without a receive: the memory_place stays in its register.
            request_valid_d = 1'b1;
            request_d = '{qpn: 24'(receive_queue), default: '0};
            state_d = StReceive;
          end else begin
            memory_ready = 1'b1;
            runs = 1'b1;
            done = response_q ? ActResponseDone : ActAccept;
            position_d.cursor.address = position_q.cursor.address + 64'(chunk);
            position_d.cursor.bytes_left = position_q.cursor.bytes_left - 32'(chunk);
            if (scatters && (chunk != left_q || part_q != PartPayload || invalidates)) begin
              continues = 1'b1;
              if (checked_q) state_d = StMemory;
              else state_d = ahead_q && !receive_valid ? StReceive : StNext;
              ahead_d = further_q;
              checked_d = 1'b0;
              further_d = 1'b0;
              left_d = left_q - chunk;
              offset_d = offset_q + chunk;
              if (chunk == left_q && part_q != PartPayload) begin
                part_d = part_q == PartZeros ? PartHeader : PartPayload;
                left_d = part_q == PartZeros ? 13'(Ipv4Bytes) : 13'(frame.payload_bytes);
                offset_d = part_q == PartZeros ? 13'(frame.l3_offset) : 13'(frame.payload_offset);
              end
            end else begin
              ends = 1'b1;
            end
          end
        end else if (ahead_q && !checked_q && receive_valid && receive.status == BufferStatusOk && sge.length != '0
                     && !check_valid_q) begin
          // The next element came before the answer to the key check in front of it.
          checks_ahead = 1'b1;
          check_valid_d = 1'b1;
          check_d = '{key: sge.lkey, pdn: pdn, local_write: 1'b1, address: sge.addr,
                      bytes: sge.length < 32'(rest_q) ? sge.length : 32'(rest_q), default: '0};
          rest_d = rest_q - 13'(check_d.bytes);
          checked_d = 1'b1;
          further_d = rest_d != '0 && position_q.cursor.elements > 8'd1;
          wants_element = further_d;
        end
      end

      StReceive: begin
        if (receive_valid) state_d = StNext;
      end

      StNext: begin
        if (flush_q) begin
          if (status_q == BufferStatusEmpty || (status_q != BufferStatusOk && code_q == RdmaErrorOk)) begin
            state_d = StIdle;
          end else if (space && !reflush_valid_q) begin
            flushes = 1'b1;
            reflush_valid_d = 1'b1;
            reflush_d = qpn_q;
            state_d = StIdle;
          end
        end else if (status_q != BufferStatusOk) begin
          if (status_q == BufferStatusEmpty && !element_q) done = checks_q.acknowledged ? ActNotReady : ActAbandon;
          // Descriptor fetch has reported a broken queue: without a response to send there is nothing more to report.
          else if (!checks_q.acknowledged && !element_q && code_q == RdmaErrorOk) done = ActAbandon;
          else done = ActOperation;
          memory_ready = space && !scatters && checks_q.payload;
          ends = space;
        end else if (!scatters) begin
          done = ActAccept;
          runs = checks_q.payload;
          memory_ready = space && checks_q.payload;
          ends = space;
        end else if (left_q == '0 && invalidates) begin
          // Behind all of the message. [IBTA vol. 1, 9.4.1.1]
          check_valid_d = 1'b1;
          check_d = '{key: ieth.rkey, pdn: pdn, invalidate: 1'b1, qpn: 24'(qpn_q), default: '0};
          state_d = StInvalidate;
        end else if (left_q == '0) begin
          done = response_q ? ActResponseDone : ActAccept;
          ends = space;
        end else if (position_q.cursor.bytes_left != '0) begin
          check_valid_d = 1'b1;
          check_d = '{key: position_q.cursor.key, pdn: pdn, local_write: 1'b1,
                      address: position_q.cursor.address, bytes: 32'(chunk), default: '0};
          rest_d = left_q - chunk;
          ahead_d = rest_d != '0 && position_q.cursor.elements != '0;
          wants_element = ahead_d;
          state_d = StMemory;
        end else if (position_q.cursor.elements != '0) begin
          wants_element = 1'b1;
          state_d = StReceive;
        end else begin
          done = ActLength;
          ends = space;
        end
      end

      StInvalidate: begin
        if (memory_valid && space) begin
          memory_ready = 1'b1;
          done = memory.status == MemoryStatusOk ? ActAccept : ActInvalidate;
          ends = 1'b1;
        end
      end

      StDrain: begin
        done = ActProtection;
        if (!ahead_q) begin
          ends = space;
        end else if (checked_q) begin
          memory_ready = memory_valid;
          if (memory_valid) checked_d = 1'b0;
        end else begin
          drops_element = receive_valid;
          if (receive_valid) begin
            ahead_d = further_q;
            further_d = 1'b0;
          end
        end
      end

      StFlush: begin
        status_d = BufferStatusOk;
        element_d = 1'b0;
        position_d = row_half.position;
        drops_receive = row_state == 3'(IbQpStateErr) || row_state == 3'(IbQpStateReset);
        state_d = StIdle;
        // The CQ number is lost with the entry.
        if (row_state == 3'(IbQpStateErr) && !attributes_corrupt) begin
          // The held receive goes first.
          if (row_half.holds) begin
            state_d = StNext;
          end else if (row_attributes.has_srq) begin
            // The others are not this QP's.
            drains = !row_half.drained && space;
            if (!row_half.drained && !space) begin
              drops_receive = 1'b0;
              state_d = StFlush;
            end
          end else begin
            request_valid_d = 1'b1;
            // The one that a refused WRITE would have consumed is not left to a later turn.
            request_d = '{qpn: 24'(qpn_q), no_wait: !row_half.access_refused, default: '0};
            state_d = StReceive;
          end
        end else if (row_state == 3'(IbQpStateReset) && row_attributes.has_srq && row_half.holds && !attributes_corrupt) begin
          // The driver gets its buffer back.
          state_d = StNext;
        end
      end

      default: state_d = StIdle;
    endcase

    if (ends) state_d = StIdle;

    if (wants_element) begin
      element_d = 1'b1;
      request_valid_d = 1'b1;
      // The first element came with the receive, or with the READ.
      request_d = '{qpn: 24'(qpn_q), is_element: 1'b1, no_wait: 1'b0,
                    address: position_q.cursor.next_element + (checks_ahead ? 64'(RdmaSgeBytes) : '0),
                    elements: position_q.cursor.elements - 8'(checks_ahead),
                    is_new: !checks_ahead && (response_q ? read_checks_q.at_first && !element_q
                                                         : 8'(position_q.num_sge - position_q.cursor.elements) <= 8'd1)};
    end

    next_valid_d = next_valid_q || starts;
    if (starts) turn_d = 1'b0;
    next_check_d = next_check_q;
    next_receive_d = next_receive_q;
    // Answers come in the order of what was issued, so this is not before the last of the frame in progress.
    if (last && !next_checks_q.announces && !next_check_q && !next_receive_q) begin
      if ((next_action == ActWrite || next_action == ActRead) && !check_valid_q) begin
        next_check_d = 1'b1;
        check_valid_d = 1'b1;
        check_d = key_check(next_checks_q, next_rkey, row_attributes.pdn, 24'(QpBits'(waiting.bth.dest_qp)), next_address,
                            next_bytes_left, 32'(waiting.payload_bytes));
      end else if (next_action == ActReceive && !row_half.holds) begin
        next_receive_d = 1'b1;
        request_valid_d = 1'b1;
        request_d = '{qpn: row_attributes.has_srq ? 24'(row_attributes.srqn) : 24'(QpBits'(waiting.bth.dest_qp)),
                      default: '0};
      end
    end

    early_reth = unpack_reth(waiting.extension[8*RethBytes-1:0]);
    if (last && waiting_valid && !next_valid_q && !hold_q && !check_valid_q && qpn_q == QpBits'(waiting.bth.dest_qp)
        && waiting.verdict == RxVerdictRoce && waiting.info.operation == BthOperationRdmaWrite
        && waiting.info.starts_message && waiting.payload_bytes != '0
        && waiting.payload_bytes <= 16'(1 << MtuShift) << IbMtuMtu4096 && !early_q) begin
      early_d = 1'b1;
      check_valid_d = 1'b1;
      check_d = '{key: early_reth.rkey, pdn: pdn, remote_write: 1'b1, address: early_reth.virtual_address,
                  bytes: 32'(waiting.payload_bytes), qpn: 24'(qpn_q), default: '0};
    end

    moved = position_d;
    advance = next_valid_q && (state_q == StIdle || ends);
    waiting_ready = advance;
    takes_receive = receive_valid && (state_q == StReceive || (continues && ahead_q) || (advance && next_receive_q));
    receive_ready = takes_receive || drops_element;
    cleared_d = cleared_q || (change_valid_q && change_clear_q && change_q == qpn_q);
    next_cleared_d = next_cleared_q || (change_valid_q && change_clear_q && change_q == QpBits'(waiting.bth.dest_qp));
    if (flush_pop) cleared_d = 1'b0;
    if (advance) cleared_d = next_cleared_d;
    if (starts) next_cleared_d = 1'b0;
    if (advance) begin
      next_valid_d = 1'b0;
      flush_d = 1'b0;
      qpn_d = QpBits'(waiting.bth.dest_qp);
      response_d = 1'b0;
      announced_d = 1'b0;
      status_d = BufferStatusOk;
      element_d = 1'b0;
      position_d = row_half.position;
      if (!next_checks_d.datagram) begin
        part_d = PartPayload;
        left_d = 13'(waiting.payload_bytes);
        offset_d = 13'(waiting.payload_offset);
      end else begin
        part_d = waiting.is_ipv6 ? PartHeader : PartZeros;
        left_d = waiting.is_ipv6 ? 13'(Ipv6Bytes) : 13'(RdmaUdGrhBytes) - 13'(Ipv4Bytes);
        offset_d = waiting.is_ipv6 ? 13'(waiting.l3_offset) : '0;
      end
      if (next_check_d) state_d = StMemory;
      else if (next_receive_d) state_d = takes_receive ? StNext : StReceive;
      else state_d = StAct;
      next_check_d = 1'b0;
      next_receive_d = 1'b0;
    end
    if (takes_receive) begin
      status_d = receive.status;
      code_d = receive.code;
      position_d.cursor.address = sge.addr;
      position_d.cursor.key = sge.lkey;
      if (element_d) begin
        position_d.cursor.bytes_left = sge.length;
        position_d.cursor.next_element = position_q.cursor.next_element + 64'(RdmaSgeBytes);
        position_d.cursor.elements = position_q.cursor.elements - 1'b1;
      end else begin
        position_d.head = receive.head;
        position_d.wr_id = receive.wr_id;
        position_d.num_sge = receive.num_sge;
        position_d.cursor.next_element = receive.elements + 64'(RdmaSgeBytes);
        position_d.cursor.elements = receive.num_sge == '0 ? '0 : receive.num_sge - 1'b1;
        position_d.cursor.bytes_left = receive.num_sge == '0 ? '0 : sge.length;
        // It was behind others that are discarded, so it must not complete. A shared queue is not cleared.
        if (cleared_d && !(advance ? row_attributes.has_srq : has_srq)) status_d = BufferStatusEmpty;
      end
    end

    // A request that is refused after its check, or a READ: the read responder checks again.
    grant_ended_d = '0;
    if (memory_valid && memory_ready && !runs) grant_ended_d = memory.grant;
  end

  // --- State after a turn

  logic refused;                     // the QP goes to ERR
  logic issues_read;
  logic [7:0] syndrome, completion_status;
  logic [7:0] own_code;              // rdma_error_e, reported locally only
  logic [31:0] reason;
  logic [PsnBits-1:0] answer_psn, next_psn, answer_msn;
  logic [31:0] received;
  half_t next_half;
  read_half_t next_read_half;
  rdma_cq_req_t cqe;

  always_comb begin
    own_code = RdmaErrorOk;
    next_psn = '0;
    received = '0;
    issues_read = 1'b0;
    refused = 1'b0;
    answer_psn = '0;
    answer_msn = '0;
    syndrome = '0;
    completion_status = '0;
    reason = '0;
    place_d = '0;
    next_half = '0;
    next_read_half = '0;
    cqe = '0;
    returns = 1'b0;
    failure_d = '0;
    if (state_q != StIdle) begin
      next_psn = half.expected_psn + 1'b1;
      // UC, UD: the PSN of the message, not where ours ended.
      if (!checks_q.acknowledged) next_psn = frame.bth.psn + 1'b1;
      received = (frame.info.starts_message ? '0 : half.received) + 32'(frame.payload_bytes)
               + (checks_q.datagram ? 32'(RdmaUdGrhBytes) : '0);
      issues_read = done == ActIssueRead || done == ActReplayRead;

      refused = 1'b0;
      answer_psn = frame.bth.psn;
      answer_msn = half.msn;
      syndrome = AethSyndromeAckNoCredits;
      completion_status = IbWcStatusSuccess;
      own_code = RdmaErrorOk;
      place_d = '0;
      next_half = half;
      next_half.established = half.established || announced_q;
      next_read_half = '{halted: 1'b1, default: '0};

      unique case (done)
        // Acknowledges everything so far. [9.7.5]
        ActDuplicate: begin
          place_d.has_answer = 1'b1;
          answer_psn = half.expected_psn - 1'b1;
        end
        ActSequence: begin
          place_d.has_answer = 1'b1;
          answer_psn = half.expected_psn;
          syndrome = AethSyndromeNakPsnSequenceError;
          next_half.nak_sent = 1'b1;
        end
        // The packet will be retransmitted; those behind it are treated as lost. [9.7.5.2.8]
        ActNotReady: begin
          place_d.has_answer = 1'b1;
          syndrome = AethSyndromeRnrNak | 8'(min_rnr_timer);
          next_half.nak_sent = 1'b1;
        end
        // A receive that the message held is passed to the next message that needs one. [9.8.2.2]
        ActAbandon: next_half.in_message = 1'b0;
        ActInvalid: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakInvalidRequest;
        end
        ActAccess: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteAccessError;
          next_half.access_refused = frame.info.consumes_recv;
        end
        // Its data has arrived, but the completion would vouch for more. Status as Linux.
        ActInvalidate: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteAccessError;
          completion_status = IbWcStatusRemInvReqErr;
          place_d.has_completion = 1'b1;
        end
        ActOperation: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteOperationalError;
          completion_status = IbWcStatusLocQpOpErr;
          own_code = code_q;
          // A broken queue returned no work request.
          place_d.has_completion = element_q || code_q != RdmaErrorOk;
        end
        ActProtection: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakRemoteOperationalError;
          completion_status = IbWcStatusLocProtErr;
          own_code = memory_error(state_q == StDrain ? refused_q : memory.status);
          place_d.has_completion = 1'b1;
        end
        ActLength: begin
          refused = 1'b1;
          syndrome = AethSyndromeNakInvalidRequest;
          completion_status = IbWcStatusLocLenErr;
          own_code = RdmaErrorInvalidLength;
          place_d.has_completion = 1'b1;
        end
        ActBadResponse: begin
          completion_status = IbWcStatusBadRespErr;
          own_code = read_checks_q.acknowledges ? RdmaErrorInvalidLength : RdmaErrorInvalidParameter;
        end
        ActResponseDone: begin
          next_read_half = '{halted: 1'b0, started: !read_checks_q.last, psn: read_checks_q.psn + 1'b1,
                             bytes_left: read_checks_q.bytes_left - 32'(frame.payload_bytes),
                             cursor: moved.cursor};
        end
        ActIssueRead, ActReplayRead: begin
          place_d.has_answer = 1'b1;
          next_half.reads_valid = 1'b1;
          next_half.reads_issued = reads_issued + 1'b1;
          next_half.duplicate_limit = done == ActReplayRead ? reads_issued + 1'b1 : duplicate_limit;
          if (done == ActIssueRead) begin
            // Its response counts as sent. [9.7.7]
            answer_msn = half.msn + 1'b1;
            next_half.nak_sent = 1'b0;
            next_half.expected_psn = half.expected_psn + PsnBits'(checks_q.packets);
            next_half.msn = answer_msn;
          end
        end
        ActAccept: begin
          place_d.has_answer = frame.bth.ack_req && checks_q.acknowledged;
          place_d.has_completion = frame.info.completes_recv;
          place_d.request = 1'b1;
          place_d.acknowledged = checks_q.acknowledged;
          place_d.uses_receive = checks_q.send;
          place_d.ends_message = frame.info.ends_message;
          place_d.fence = invalidates;
          // Messages are counted when they are complete. [9.7.7]
          answer_msn = half.msn + PsnBits'(frame.info.ends_message);
          next_half.nak_sent = 1'b0;
          next_half.expected_psn = next_psn;
          next_half.msn = answer_msn;
          next_half.in_message = !frame.info.ends_message;
          next_half.send = checks_q.send;
          next_half.received = received;
          next_half.position = moved;
          if (checks_q.send) next_half.holds = 1'b1;
          else begin
            next_half.position.cursor.address = address + 64'(frame.payload_bytes);
            next_half.position.cursor.key = rkey;
            next_half.position.cursor.bytes_left = bytes_left - 32'(frame.payload_bytes);
          end
        end
        default: ;
      endcase

      // Our own error; for a broken queue, its detector has reported why. Otherwise the code sent to the peer.
      if (checks_q.acknowledged && done != ActOperation && done != ActProtection) reason = 32'(syndrome);
      else if (own_code == RdmaErrorOk) reason = 32'(RdmaErrorRemoteOperationalError);
      else reason = 32'(own_code);
      // The completer handles a READ of ours that fails.
      if (response_q) begin
        refused = 1'b0;
        place_d.has_completion = 1'b0;
      end
      if (refused) begin
        place_d.has_answer = checks_q.acknowledged;
        next_half.failed = 1'b1;
      end
      // A receive that is completed here is not held any more.
      if (place_d.has_completion) next_half.holds = 1'b0;
      if (refused && place_d.has_completion) next_half.in_message = 1'b0;

      cqe = '0;
      cqe.wr_id = position_q.wr_id;
      cqe.qp_num = 32'(qpn_q);
      cqe.opcode = IbWcOpcodeRecv;
      returns = flushes && row_state == 3'(IbQpStateReset);  // no other turn comes meanwhile
      if (flushes) begin
        // [IBTA vol. 1, 11.6.2: local access error]
        completion_status = half.access_refused ? IbWcStatusLocAccessErr : IbWcStatusWrFlushErr;
        if (half.access_refused) cqe.vendor_err = 32'(AethSyndromeNakRemoteAccessError);
      end else if (refused) begin
        cqe.vendor_err = reason;
      end else begin
        if (!checks_q.send) cqe.opcode = IbWcOpcodeRecvRdmaWithImm;
        cqe.byte_len = received;
        if (checks_q.datagram) begin
          cqe.src_qp = 32'(deth.source_qp);
          cqe.wc_flags = IbWcFlagsGrh;
        end
        if (frame.info.has_immdt) begin
          // After the DETH, or the RETH of a message of one packet. [9.2, 9.3]
          if (frame.info.has_deth) cqe.imm_data = frame.extension[8*DethBytes +: 8*ImmdtBytes];
          else if (frame.info.has_reth) cqe.imm_data = frame.extension[8*RethBytes +: 8*ImmdtBytes];
          else cqe.imm_data = frame.extension[0 +: 8*ImmdtBytes];
          cqe.wc_flags = cqe.wc_flags | IbWcFlagsWithImm;
        end
        if (Invalidation && frame.info.has_ieth) begin
          cqe.imm_data = frame.extension[0 +: 8*IethBytes];
          cqe.wc_flags = cqe.wc_flags | IbWcFlagsWithInv;
        end
      end
      cqe.status = completion_status;

      // The net path handles it.
      if (ends && checks_q.net) place_d.net_bytes = 14'(frame.frame_bytes);
      if (flushes || continues) begin
        place_d.request = 1'b0;
        place_d.acknowledged = 1'b0;
        place_d.uses_receive = 1'b0;
        place_d.ends_message = 1'b0;
        place_d.fence = 1'b0;
        place_d.has_answer = 1'b0;
        place_d.has_completion = flushes;
        place_d.no_frame = flushes;
        place_d.more = continues;
      end
      if (runs) begin
        place_d.zeros = scatters && part_q == PartZeros;
        // The result of an atomic operation of ours, in the order of memory; what is left of it.
        place_d.has_value = response_q && frame.info.has_atomic_ack_eth;
        if (place_d.has_value) place_d.value = atomic_ack.original_data >> (7'd64 - {left_q[3:0], 3'b000});
        else place_d.offset = offset_q;
        place_d.address0 = memory.address0;
        place_d.bytes0 = memory.bytes0;
        place_d.address1 = memory.address1;
        place_d.bytes1 = memory.bytes1;
        place_d.grant = memory.grant;
      end
      if (place_d.has_completion) begin
        place_d.completion = '{vq_index: first_queue + {15'(receive_queue), 1'b0}, head: position_q.head, used_bytes: '0,
                               by_id: has_srq, has_cqe: !returns, cqn: recv_cqn,
                               solicited: completion_status != IbWcStatusSuccess || frame.bth.solicited_event,
                               cqe: pack_rdma_cq_req(cqe), default: '0};
        if (returns) begin
          place_d.completion.cqn = '0;
          place_d.completion.solicited = 1'b0;
          place_d.completion.cqe = '0;
        end
      end
      if (place_d.has_completion) place_d.answer.packet.qpn = 24'(qpn_q);
      if (place_d.has_answer || place_d.request) begin
        place_d.answer.packet.qpn = frame.bth.dest_qp;
        place_d.answer.packet.psn = answer_psn;
        place_d.answer.packet.extension[8*AethBytes-1:0] = pack_aeth(aeth_t'({syndrome, answer_msn}));
        if (issues_read) begin
          place_d.answer.is_read = 1'b1;
          place_d.answer.address = address;
          place_d.answer.rkey = rkey;
          // Of a FLUSH one byte is read behind what was written; of one without bytes nothing, as of such a READ.
          place_d.answer.bytes = checks_q.flush ? 32'(bytes_left != '0) : bytes_left;
          if (checks_q.atomic && !(checks_q.flush && bytes_left == '0)) begin
            place_d.answer.packet.opcode = frame.bth.opcode;
            place_d.answer.packet.extension[8*AethBytes +: AnswerOperandsBits] =
                frame.extension[8*AtomicEthSwapAddDataOffset +: AnswerOperandsBits];
            place_d.answer.is_duplicate = done == ActReplayRead;
          end
        end else begin
          place_d.answer.packet.opcode = BthOpcodeRcAcknowledge;
        end
      end
      if (!continues && !flushes && (done == ActAcknowledge || (response_q && done != ActDrop))) begin
        place_d.has_ack = 1'b1;
        place_d.ack.qpn = frame.bth.dest_qp;
        place_d.ack.psn = frame.bth.psn;
        place_d.ack.is_read = response_q;
        place_d.ack.status = completion_status;
        place_d.ack.syndrome = AethSyndromeAckNoCredits;
        if (done == ActGap) begin
          place_d.ack.psn = read_checks_q.psn;
          place_d.ack.syndrome = AethSyndromeNakPsnSequenceError;
        end else if (completion_status != IbWcStatusSuccess) begin
          place_d.ack.syndrome = own_code;
        end else if (frame.info.has_aeth) begin
          place_d.ack.syndrome = {aeth.reserved, aeth.kind, aeth.value};
          place_d.ack.msn = aeth.msn;
        end
      end

      failure_d = '{qpn: frame.bth.dest_qp, event_type: 16'(RdmaEventTypeQpFatal), code: reason,
                    reported: refused && place_d.has_completion, default: '0};
      if (checks_q.acknowledged && (done == ActAccess || done == ActInvalidate)) failure_d.event_type = 16'(RdmaEventTypeQpAccessErr);
      if (checks_q.acknowledged && (done == ActInvalid || done == ActLength)) begin
        failure_d.event_type = 16'(RdmaEventTypeQpReqErr);
      end
      if (announces) begin
        failure_d.event_type = 16'(RdmaEventTypeCommEst);
        failure_d.code = '0;
        failure_d.reported = 1'b0;
      end
      if (drains) failure_d = '{qpn: 24'(qpn_q), event_type: 16'(RdmaEventTypeQpLastWqeReached), default: '0};
    end

    place_valid_d = ends || continues || flushes || (place_valid_q && !place_ready_i);
    failure_valid_d = announces || drains || (ends && refused) || (failure_valid_q && !failure_ready_i);

    retire = ends && done == ActResponseDone && read_checks_q.last;
    half_write = load_ready || drops_receive || announces || (ends && !response_q && done != ActDrop && done != ActAcknowledge);
    half_index = load_ready ? QpBits'(load.qpn) : qpn_q;
    half_d = next_half;
    if (announces) begin
      half_d = half;
      half_d.established = 1'b1;
    end
    if (drops_receive) begin
      half_d = row_half;
      half_d.in_message = 1'b0;
      half_d.holds = 1'b0;
      half_d.access_refused = 1'b0;
      half_d.drained = row_state == 3'(IbQpStateErr) && (row_half.drained || drains);
    end
    read_half_write = load_ready || (ends && response_q && done != ActDrop && done != ActGap);
    read_half_d = next_read_half;
    if (load_ready) begin
      half_d = '0;
      half_d.expected_psn = load.psn;
      read_half_d = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      turn_q <= 1'b0;
      hold_q <= 1'b0;
      ahead_q <= 1'b0;
      checked_q <= 1'b0;
      further_q <= 1'b0;
      next_valid_q <= 1'b0;
      next_checked_q <= 1'b0;
      early_q <= 1'b0;
      next_check_q <= 1'b0;
      next_receive_q <= 1'b0;
      check_valid_q <= 1'b0;
      request_valid_q <= 1'b0;
      place_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      grant_ended_q <= '0;
    end else begin
      state_q <= state_d;
      turn_q <= turn_d;
      grant_ended_q <= grant_ended_d;
      hold_q <= hold_i;
      ahead_q <= ahead_d;
      checked_q <= checked_d;
      further_q <= further_d;
      next_valid_q <= next_valid_d;
      next_checked_q <= next_valid_q && !advance;
      next_check_q <= next_check_d;
      early_q <= early_d;
      next_receive_q <= next_receive_d;
      check_valid_q <= check_valid_d;
      request_valid_q <= request_valid_d;
      place_valid_q <= place_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    flush_q <= flush_d;
    cleared_q <= cleared_d;
    next_cleared_q <= next_cleared_d;
    response_q <= response_d;
    announced_q <= announced_d;
    qpn_q <= qpn_d;
    if (state_q != StIdle || advance) begin
      part_q <= part_d;
      element_q <= element_d;
      status_q <= status_d;
      code_q <= code_d;
      position_q <= position_d;
      left_q <= left_d;
      rest_q <= rest_d;
      refused_q <= refused_d;
      offset_q <= offset_d;
      check_q <= check_d;
      request_q <= request_d;
    end
    if (ends || continues || flushes) place_q <= place_d;
    if (ends || announces || drains) failure_q <= failure_d;
  end

  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign receive_request_valid_o = request_valid_q;
  assign receive_request_o = request_q;
  assign grant_ended_o = grant_ended_q;
  assign place_valid_o = place_valid_q;
  assign place_o = place_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  // --- Parity: in the cycle after a read
  logic read_q, parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      read_q <= read;
      parity_error_q <= read_q && attributes_corrupt;
    end
  end
  assign parity_error_o = parity_error_q;

  assign settled_o = state_q == StIdle && !next_valid_q;
  assign idle_o = state_q == StIdle && !next_valid_q && !load_valid && (!waiting_valid || (hold_q && !early_q)) && !doorbell_valid && !retry_valid && !change_valid_q
               && !reflush_valid_q && !ring_valid_q && flush_empty && !check_valid_q && !request_valid_q
               && !place_valid_q && !failure_valid_q && ring_idle && !expected_psn_valid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) expected_psn_valid_o <= 1'b0;
    else expected_psn_valid_o <= half_write;
  end
  always_ff @(posedge clk_i) expected_psn_o <= '{qpn: 24'(half_index), psn: half_d.expected_psn};

  // Fields used by other blocks.
  logic unused;
  assign unused = ^{frame, checks_q, early_reth.dma_length, row_attributes, row_read_half, written, qp_state_write_i.qpn, qp_reads_i.qpn, oldest.qpn, oldest.number, deth.reserved, deth.qkey};

endmodule
