// SPDX-License-Identifier: Apache-2.0

// Decides on every received frame, in order, one at a time: what of it goes to memory, what it completes and what is
// answered. Owner of the receive half of every QP. Of requests it carries out SEND and RDMA WRITE, with or without
// immediate data, on RC; acknowledges go on to the completer. A refused request takes the QP to ERR: said as a failure,
// and held to from the next frame on. In ERR it flushes the QP's receives, one per turn, so that frames of other QPs
// are served between.
//
// A frame leaves as one rx_place or, when a SEND's payload goes to several elements, as several; one that is dropped,
// as a place without bytes and without answer. A flushed receive leaves as a place without frame.
module vireo_responder
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter int unsigned NetQueuePairs = 16,
  parameter int unsigned NumCqs = 1024,
  parameter int unsigned NumQps = 1024,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            enable_i,               // counts when a frame's turn comes; 0: it is dropped
  input  logic            mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one

  input  logic            table_write_valid_i,
  input  table_write_t    table_write_i,
  input  logic            qp_state_write_valid_i,
  input  qp_state_write_t qp_state_write_i,

  input  logic            load_valid_i,
  output logic            load_ready_o,
  input  qp_load_t        load_i,

  input  logic            frame_valid_i,
  output logic            frame_ready_o,
  input  rx_token_t       frame_i,                // verdict roce or net

  input  logic            doorbell_valid_i,       // of receive queues
  output logic            doorbell_ready_o,
  input  doorbell_t       doorbell_i,

  output logic            receive_request_valid_o,
  input  logic            receive_request_ready_i,
  output receive_request_t receive_request_o,
  input  logic            receive_valid_i,        // one for each receive_request
  output logic            receive_ready_o,
  input  receive_t        receive_i,

  output logic            memory_check_valid_o,
  input  logic            memory_check_ready_i,
  output memory_check_t   memory_check_o,
  input  logic            memory_place_valid_i,   // one for each memory_check
  output logic            memory_place_ready_o,
  input  memory_place_t   memory_place_i,

  output logic            place_valid_o,
  input  logic            place_ready_i,
  output rx_place_t       place_o,

  output logic            ack_valid_o,
  input  logic            ack_ready_i,
  output rx_ack_t         ack_o,

  output logic            failure_valid_o,
  input  logic            failure_ready_i,
  output qp_failure_t     failure_o,

  output logic            idle_o
);

  // A path MTU is this shifted left by its code; codes above the largest count as it. [IBTA vol. 1, 9.4.3.2]
  localparam int unsigned MtuUnit = 128;

  logic [15:0] first_queue;  // where the receive queues' indices begin

  vireo_qp_queues #(
    .NetQueuePairs(NetQueuePairs), .NumCqs(NumCqs), .Offset(RdmaReceiveqOffset)
  ) u_queues (
    .clk_i, .rst_ni, .mq_i, .first_o(first_queue)
  );

  typedef enum logic [2:0] {
    StIdle,
    StCheck,    // tables are read
    StAct,      // checks are known
    StMemory,   // waits for the key check
    StReceive,  // waits for a receive or an element
    StNext,     // receive and element are known
    StFlush     // tables are read, of a QP whose state or receive queue said something
  } state_e;

  // What firmware says of a QP.
  typedef struct packed {
    logic rc;                // exists and has this service
    logic remote_write;
    logic [2:0] path_mtu;
    logic [15:0] pdn;
    logic [15:0] recv_cqn;
    logic [4:0] min_rnr_timer;
    logic [127:0] peer;      // GID, first byte most significant
  } attributes_t;

  // Where a message goes on. WRITE has the second group only.
  typedef struct packed {
    logic [15:0] head;          // of the receive that the message holds
    logic [63:0] wr_id;
    logic [63:0] next_element;  // where it is in host memory
    logic [7:0] elements;       // that are left there

    logic [63:0] address;
    logic [31:0] key;
    logic [31:0] bytes_left;    // WRITE: of the message; SEND: of the element
  } position_t;

  // The receive half of a QP; the second group belongs to the message under way. One of a SEND holds a receive.
  typedef struct packed {
    logic failed;            // ERR by our own will; a load ends it
    logic nak_sent;          // NAK of sequence or RNR
    logic [PsnBits-1:0] expected_psn;
    logic [PsnBits-1:0] msn;
    logic in_message;
    logic send;              // else WRITE
    logic [31:0] received;   // bytes
    position_t position;
  } half_t;

  // Outcome of the checks that need the tables, each on its own; the action orders them.
  typedef struct packed {
    logic taken;             // a packet for a QP of ours that receives, from its peer
    logic response;
    logic acknowledge;
    logic expected;
    logic ahead;
    logic repeatable;
    logic request;
    logic send;
    logic payload;
    logic right;
  } checks_t;

  typedef enum logic [3:0] {
    ActDrop,
    ActAcknowledge,  // an acknowledge came
    ActRepeat,
    ActSequence,     // NAK: something is missing
    ActInvalid,      // NAK: invalid request
    ActAccess,       // NAK: remote access error
    ActAccept,       // nothing to write
    ActWrite,        // the last or only bytes of the frame
    // Not by the packet alone:
    ActReceive,      // a receive is needed: asks for it
    ActContinue,     // a SEND goes on
    ActNotReady,     // RNR NAK: no receive
    ActOperation,    // NAK: remote operational error, because the receive or one of its elements could not be read
    ActProtection,   // likewise, because an element's key does not allow it
    ActLength        // NAK: invalid request, because the elements are too short
  } action_e;

  // --- Inputs

  logic load_valid, load_ready, frame_valid, frame_ready, memory_valid, memory_ready;
  logic doorbell_valid, doorbell_ready, receive_valid, receive_ready;
  doorbell_t doorbell;
  receive_t receive;
  qp_load_t load;
  rx_token_t frame;
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
    .Width($bits(rx_token_t))
  ) u_frame (
    .clk_i,
    .rst_ni,
    .s_valid_i(frame_valid_i),
    .s_ready_o(frame_ready_o),
    .s_data_i(frame_i),
    .m_valid_o(frame_valid),
    .m_ready_i(frame_ready),
    .m_data_o(frame)
  );

  vireo_slice #(
    .Width($bits(memory_place_t))
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
    .Width(ReceiveBits)
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

  // --- QPs to flush: those whose state became ERR or was cleared, those whose receive queue was rung in ERR, and those
  // that had one receive flushed. A pulse comes one cycle late, so that the others know of it and wait.

  logic change_valid_q;
  logic [QpBits-1:0] change_q;
  logic again_valid_d, again_valid_q;  // set by the machine below
  logic [QpBits-1:0] again_d, again_q;
  logic ring_valid_d, ring_valid_q;
  logic [QpBits-1:0] ring_q;
  logic ring_in_error;
  logic [15:0] doorbell_offset;
  logic doorbell_known;
  logic flush_push, flush_valid, flush_pop, flush_empty;
  logic [QpBits-1:0] flush_push_qpn, flush_qpn;
  logic again_push;

  always_comb begin
    doorbell_offset = doorbell.vq_index - first_queue;
    doorbell_known = doorbell.vq_index >= first_queue && !doorbell_offset[0] && doorbell_offset < 16'(2 * NumQps);
    doorbell_ready = doorbell_valid && !ring_valid_q;
    ring_valid_d = doorbell_ready && doorbell_known;

    again_push = again_valid_q && !change_valid_q;
    flush_push = change_valid_q || again_valid_q || (ring_valid_q && ring_in_error);
    flush_push_qpn = change_valid_q ? change_q : again_valid_q ? again_q : ring_q;
    if (ring_valid_q && ring_in_error && (change_valid_q || again_valid_q)) ring_valid_d = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      change_valid_q <= 1'b0;
      again_valid_q <= 1'b0;
      ring_valid_q <= 1'b0;
    end else begin
      change_valid_q <= qp_state_write_valid_i
                     && (qp_state_write_i.clear || qp_state_write_i.state == 3'(IbQpStateErr));
      again_valid_q <= again_valid_d;
      ring_valid_q <= ring_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    change_q <= QpBits'(qp_state_write_i.qpn);
    again_q <= again_d;
    if (doorbell_ready) ring_q <= doorbell_offset[QpBits:1];
  end

  vireo_qp_set #(
    .Entries(NumQps)
  ) u_flush (
    .clk_i,
    .rst_ni,
    .push_valid_i(flush_push),
    .push_i(flush_push_qpn),
    .pop_valid_o(flush_valid),
    .pop_ready_i(flush_pop),
    .pop_o(flush_qpn),
    .empty_o(flush_empty)
  );

  // Most receive queues are rung in another state: those rings take no turn.
  vireo_table #(
    .Width(1),
    .Depth(NumQps)
  ) u_in_error (
    .clk_i,
    .rst_ni,
    .write_i(qp_state_write_valid_i),
    .write_address_i(QpBits'(qp_state_write_i.qpn)),
    .write_data_i(qp_state_write_i.state == 3'(IbQpStateErr)),
    .read_i(doorbell_ready),
    .read_address_i(doorbell_offset[QpBits:1]),
    .read_data_o(ring_in_error)
  );

  // --- Tables

  logic read;
  logic [QpBits-1:0] qpn_d, qpn_q;  // of the turn
  table_qp_context_t written;
  attributes_t written_attributes, attributes;
  logic [2:0] qp_state;
  logic half_write;
  logic [QpBits-1:0] half_index;
  half_t half_d, half;

  assign written = unpack_table_qp_context(table_write_i.data);

  always_comb begin
    written_attributes.rc = written.valid && written.qp_type == IbQpTypeRc;
    written_attributes.remote_write = written.remote_write;
    written_attributes.path_mtu = written.path_mtu > IbMtuMtu4096 ? 3'(IbMtuMtu4096) : 3'(written.path_mtu);
    written_attributes.pdn = written.pdn;
    written_attributes.recv_cqn = written.recv_cqn;
    written_attributes.min_rnr_timer = written.min_rnr_timer;
    for (int unsigned i = 0; i < 16; i++) written_attributes.peer[8*(15 - i) +: 8] = written.path.dgid[i];
  end

  vireo_table #(
    .Width($bits(attributes_t)),
    .Depth(NumQps)
  ) u_attributes (
    .clk_i,
    .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(QpBits'(table_write_i.index)),
    .write_data_i(written_attributes),
    .read_i(read),
    .read_address_i(qpn_d),
    .read_data_o(attributes)
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
    .read_address_i(qpn_d),
    .read_data_o(qp_state)
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
    .read_address_i(qpn_d),
    .read_data_o(half)
  );

  // --- Checks, in the order of IBTA vol. 1, 9.6 and 9.7.4

  reth_t reth;
  logic [15:0] mtu;
  logic [PsnBits-1:0] ahead_by;
  logic [63:0] address;       // of a WRITE: of this packet's first byte
  logic [31:0] rkey;
  logic [31:0] bytes_left;    // of the message, this packet included
  logic enabled_q;
  logic qp_receives, service_matches, pkey_matches, peer_matches;
  logic is_send, sequence_ok, served, length_ok, total_ok;
  checks_t checks_d, checks_q;

  always_comb begin
    reth = unpack_reth(frame.extension[8*RethBytes-1:0]);
    mtu = 16'(MtuUnit) << attributes.path_mtu;
    address = frame.info.starts_message ? reth.virtual_address : half.position.address;
    rkey = frame.info.starts_message ? reth.rkey : half.position.key;
    bytes_left = frame.info.starts_message ? reth.dma_length : half.position.bytes_left;

    // The QP exists and is in a state that receives. [9.6, 10.3.1]
    qp_receives = (frame.bth.dest_qp >> QpBits) == '0 && !half.failed
               && (qp_state == 3'(IbQpStateRtr) || qp_state == 3'(IbQpStateRts) || qp_state == 3'(IbQpStateSqd)
                   || qp_state == 3'(IbQpStateSqe));
    // The opcode's service is the QP's. [9.6]
    service_matches = attributes.rc && frame.bth.opcode[7:5] == BthServiceRc;
    // Partition: ours is a full member, so the membership bit of the other side does not matter. [9.6, 10.9.3]
    pkey_matches = frame.bth.pkey[14:0] == PkeyDefault[14:0];
    // A connected QP hears its peer only. [9.6]
    peer_matches = frame.ip_source == attributes.peer;

    // Half of the PSNs are ahead of the expected one. [9.7.4]
    ahead_by = frame.bth.psn - half.expected_psn;

    // First or only where no message is under way, middle or last of the same operation where one is. [9.7.4]
    is_send = frame.info.operation == BthOperationSend;
    sequence_ok = frame.info.starts_message != half.in_message && (frame.info.starts_message || is_send == half.send);
    served = is_send ? !frame.info.has_ieth : frame.info.operation == BthOperationRdmaWrite;
    // Of the packet, and of a WRITE: its last packet brings what is left, no other one does. [9.7.4]
    unique case (frame.info.payload)
      PayloadRuleMtu:       length_ok = frame.payload_bytes == mtu;
      PayloadRuleOneToMtu:  length_ok = frame.payload_bytes <= mtu && frame.payload_bytes != '0;
      PayloadRuleZeroToMtu: length_ok = frame.payload_bytes <= mtu;
      default:              length_ok = 1'b0;
    endcase
    total_ok = frame.info.ends_message ? bytes_left == 32'(frame.payload_bytes) : bytes_left > 32'(frame.payload_bytes);

    checks_d.taken = enabled_q && frame.verdict == RxVerdictRoce && qp_receives && service_matches && pkey_matches
                  && peer_matches;
    checks_d.response = frame.info.is_response;
    checks_d.acknowledge = frame.info.operation == BthOperationAcknowledge && frame.payload_bytes == '0;
    checks_d.expected = ahead_by == '0;
    checks_d.ahead = !ahead_by[PsnBits-1];
    checks_d.repeatable = frame.info.response == BthOperationAcknowledge;
    checks_d.request = sequence_ok && served && length_ok && (is_send || total_ok);
    checks_d.send = is_send;
    checks_d.payload = frame.payload_bytes != '0;
    checks_d.right = attributes.remote_write;
  end

  always_ff @(posedge clk_i) begin
    if (read) enabled_q <= enable_i;
    checks_q <= checks_d;
  end

  action_e action;

  always_comb begin
    if (!checks_q.taken) action = ActDrop;
    else if (checks_q.response) action = checks_q.acknowledge ? ActAcknowledge : ActDrop;
    else if (!checks_q.expected && !checks_q.ahead) action = checks_q.repeatable ? ActRepeat : ActDrop;
    // One NAK for a gap, until what is missing has come. [9.7.5]
    else if (!checks_q.expected) action = half.nak_sent ? ActDrop : ActSequence;
    else if (!checks_q.request) action = ActInvalid;
    else if (checks_q.send) action = frame.info.consumes_recv ? ActReceive : ActContinue;
    // Without bytes neither key nor right is looked at. [9.7.4]
    else if (!checks_q.payload) action = frame.info.consumes_recv ? ActReceive : ActAccept;
    else action = checks_q.right ? ActWrite : ActAccess;
  end

  // --- The turn of a frame, a flush or a load

  state_e state_d, state_q;
  logic flush_d, flush_q;            // the turn is a flush
  logic turn_d, turn_q;              // the last turn was a flush: a frame goes before the next one
  logic element_d, element_q;        // what is waited for is an element
  logic [1:0] status_d, status_q;    // of the receive or element
  logic [7:0] code_d, code_q;
  position_t position_d, position_q;
  logic [12:0] left_d, left_q;       // payload that has no place yet
  logic [12:0] offset_d, offset_q;   // where it begins in the frame
  logic check_valid_d, check_valid_q, request_valid_d, request_valid_q, place_valid_d, place_valid_q;
  logic ack_valid_d, ack_valid_q, failure_valid_d, failure_valid_q;
  memory_check_t check_d, check_q;
  receive_request_t request_d, request_q;
  rx_place_t place_d, place_q;
  rx_ack_t ack_d, ack_q;
  qp_failure_t failure_d, failure_q;
  logic space;
  action_e done;                     // what the frame ends with in this cycle, if it ends
  logic ends;
  logic continues;                   // bytes of the frame leave, and more of them follow
  logic flushes;                     // a receive leaves
  logic forgets;
  logic [12:0] chunk;                // payload for the element
  rdma_sge_t sge;

  assign sge = unpack_rdma_sge(receive.sge);

  always_comb begin
    state_d = state_q;
    flush_d = flush_q;
    turn_d = turn_q;
    element_d = element_q;
    status_d = status_q;
    code_d = code_q;
    position_d = position_q;
    left_d = left_q;
    offset_d = offset_q;
    qpn_d = qpn_q;
    read = 1'b0;
    load_ready = 1'b0;
    frame_ready = 1'b0;
    memory_ready = 1'b0;
    receive_ready = 1'b0;
    flush_pop = 1'b0;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    request_valid_d = request_valid_q && !receive_request_ready_i;
    request_d = request_q;
    again_valid_d = again_valid_q && !again_push;
    again_d = again_q;
    done = flush_q ? ActDrop : action;
    ends = 1'b0;
    continues = 1'b0;
    flushes = 1'b0;
    forgets = 1'b0;
    space = !place_valid_q && !ack_valid_q && !failure_valid_q;
    chunk = position_q.bytes_left < 32'(left_q) ? 13'(position_q.bytes_left) : left_q;

    unique case (state_q)
      StIdle: begin
        if (load_valid) begin
          load_ready = 1'b1;
        end else if (flush_valid && !(frame_valid && turn_q)) begin
          flush_pop = 1'b1;
          flush_d = 1'b1;
          turn_d = 1'b1;
          qpn_d = flush_qpn;
          read = 1'b1;
          state_d = StFlush;
        end else if (frame_valid) begin
          flush_d = 1'b0;
          turn_d = 1'b0;
          qpn_d = QpBits'(frame.bth.dest_qp);
          read = 1'b1;
          state_d = StCheck;
        end
      end

      StCheck: state_d = StAct;

      StAct: begin
        left_d = 13'(frame.payload_bytes);
        offset_d = 13'(frame.payload_offset);
        status_d = BufferStatusOk;
        element_d = 1'b0;
        if (space) begin
          unique case (action)
            ActWrite: begin
              check_valid_d = 1'b1;
              check_d = '{key: rkey, pdn: attributes.pdn, local_write: 1'b0, remote_write: 1'b1, remote_read: 1'b0,
                          address: address, bytes: 13'(frame.payload_bytes)};
              state_d = StMemory;
            end
            ActReceive: begin
              request_valid_d = 1'b1;
              request_d = '{qpn: 24'(qpn_q), is_element: 1'b0, address: '0};
              state_d = StReceive;
            end
            ActContinue: begin
              position_d = half.position;
              state_d = StNext;
            end
            default: ends = 1'b1;
          endcase
        end
      end

      StMemory: begin
        if (memory_valid && space) begin
          if (memory.status != MemoryStatusOk) begin
            memory_ready = 1'b1;
            done = checks_q.send ? ActProtection : ActAccess;
            ends = 1'b1;
          end else if (!checks_q.send && frame.info.consumes_recv) begin
            // Nothing is written without a receive: the place waits where it is.
            request_valid_d = 1'b1;
            request_d = '{qpn: 24'(qpn_q), is_element: 1'b0, address: '0};
            state_d = StReceive;
          end else begin
            memory_ready = 1'b1;
            done = ActWrite;
            position_d.address = position_q.address + 64'(chunk);
            position_d.bytes_left = position_q.bytes_left - 32'(chunk);
            if (checks_q.send && chunk != left_q) begin
              continues = 1'b1;
              left_d = left_q - chunk;
              offset_d = offset_q + chunk;
              state_d = StNext;
            end else begin
              ends = 1'b1;
            end
          end
        end
      end

      StReceive: begin
        if (receive_valid) begin
          receive_ready = 1'b1;
          status_d = receive.status;
          code_d = receive.code;
          position_d.address = sge.addr;
          position_d.key = sge.lkey;
          if (element_q) begin
            position_d.bytes_left = sge.length;
            position_d.next_element = position_q.next_element + 64'(RdmaSgeBytes);
            position_d.elements = position_q.elements - 1'b1;
          end else begin
            position_d.head = receive.head;
            position_d.wr_id = receive.wr_id;
            position_d.next_element = receive.elements + 64'(RdmaSgeBytes);
            position_d.elements = receive.num_sge == '0 ? '0 : receive.num_sge - 1'b1;
            position_d.bytes_left = receive.num_sge == '0 ? '0 : sge.length;
          end
          state_d = StNext;
        end
      end

      StNext: begin
        if (flush_q) begin
          if (status_q == BufferStatusEmpty || (status_q != BufferStatusOk && code_q == RdmaErrorOk)) begin
            state_d = StIdle;
          end else if (space && !again_valid_q) begin
            flushes = 1'b1;
            again_valid_d = 1'b1;
            again_d = qpn_q;
            state_d = StIdle;
          end
        end else if (status_q != BufferStatusOk) begin
          done = status_q == BufferStatusEmpty && !element_q ? ActNotReady : ActOperation;
          memory_ready = space && !checks_q.send && checks_q.payload;
          ends = space;
        end else if (!checks_q.send) begin
          done = checks_q.payload ? ActWrite : ActAccept;
          memory_ready = space && checks_q.payload;
          ends = space;
        end else if (left_q == '0) begin
          done = ActAccept;
          ends = space;
        end else if (position_q.bytes_left != '0) begin
          check_valid_d = 1'b1;
          check_d = '{key: position_q.key, pdn: attributes.pdn, local_write: 1'b1, remote_write: 1'b0,
                      remote_read: 1'b0, address: position_q.address, bytes: chunk};
          state_d = StMemory;
        end else if (position_q.elements != '0) begin
          element_d = 1'b1;
          request_valid_d = 1'b1;
          request_d = '{qpn: 24'(qpn_q), is_element: 1'b1, address: position_q.next_element};
          state_d = StReceive;
        end else begin
          done = ActLength;
          ends = space;
        end
      end

      StFlush: begin
        status_d = BufferStatusOk;
        element_d = 1'b0;
        position_d = half.position;
        forgets = qp_state == 3'(IbQpStateErr) || qp_state == 3'(IbQpStateReset);
        state_d = StIdle;
        if (qp_state == 3'(IbQpStateErr)) begin
          // What a message under way holds goes first.
          if (half.in_message && half.send) begin
            state_d = StNext;
          end else begin
            request_valid_d = 1'b1;
            request_d = '{qpn: 24'(qpn_q), is_element: 1'b0, address: '0};
            state_d = StReceive;
          end
        end
      end

      default: state_d = StIdle;
    endcase

    if (ends) begin
      frame_ready = 1'b1;
      state_d = StIdle;
    end
  end

  // --- What a turn leaves behind

  logic refused;                     // the QP goes to ERR
  logic write_runs;
  logic [7:0] syndrome, completion_status;
  logic [31:0] reason;
  logic [PsnBits-1:0] answer_psn, next_psn, answer_msn;
  logic [31:0] received;
  half_t next_half;
  aeth_t received_aeth;
  rdma_cq_req_t cqe;

  always_comb begin
    next_psn = half.expected_psn + 1'b1;
    received = (frame.info.starts_message ? '0 : half.received) + 32'(frame.payload_bytes);
    received_aeth = unpack_aeth(frame.extension[8*AethBytes-1:0]);
    write_runs = done == ActWrite || continues;

    refused = 1'b0;
    answer_psn = frame.bth.psn;
    answer_msn = half.msn;
    syndrome = AethSyndromeAckNoCredits;
    completion_status = IbWcStatusSuccess;
    place_d = '0;
    next_half = half;

    unique case (done)
      // Acknowledges everything so far. [9.7.5]
      ActRepeat: begin
        place_d.has_answer = 1'b1;
        answer_psn = half.expected_psn - 1'b1;
      end
      ActSequence: begin
        place_d.has_answer = 1'b1;
        answer_psn = half.expected_psn;
        syndrome = AethSyndromeNakPsnSequenceError;
        next_half.nak_sent = 1'b1;
      end
      // The packet comes again later; what is behind it is as good as lost. [9.7.5.2.8]
      ActNotReady: begin
        place_d.has_answer = 1'b1;
        syndrome = AethSyndromeRnrNak | 8'(attributes.min_rnr_timer);
        next_half.nak_sent = 1'b1;
      end
      ActInvalid: begin
        refused = 1'b1;
        syndrome = AethSyndromeNakInvalidRequest;
      end
      ActAccess: begin
        refused = 1'b1;
        syndrome = AethSyndromeNakRemoteAccessError;
      end
      ActOperation: begin
        refused = 1'b1;
        syndrome = AethSyndromeNakRemoteOperationalError;
        completion_status = IbWcStatusLocQpOpErr;
        // A queue that is broken gave no work request.
        place_d.has_completion = element_q || code_q != RdmaErrorOk;
      end
      ActProtection: begin
        refused = 1'b1;
        syndrome = AethSyndromeNakRemoteOperationalError;
        completion_status = IbWcStatusLocProtErr;
        place_d.has_completion = 1'b1;
      end
      ActLength: begin
        refused = 1'b1;
        syndrome = AethSyndromeNakInvalidRequest;
        completion_status = IbWcStatusLocLenErr;
        place_d.has_completion = 1'b1;
      end
      ActAccept, ActWrite: begin
        place_d.has_answer = frame.bth.ack_req;
        place_d.has_completion = frame.info.completes_recv;
        // Messages are counted when they are complete. [9.7.7]
        answer_msn = half.msn + PsnBits'(frame.info.ends_message);
        next_half.nak_sent = 1'b0;
        next_half.expected_psn = next_psn;
        next_half.msn = answer_msn;
        next_half.in_message = !frame.info.ends_message;
        next_half.send = checks_q.send;
        next_half.received = received;
        next_half.position = position_d;
        if (!checks_q.send) begin
          next_half.position.address = address + 64'(frame.payload_bytes);
          next_half.position.key = rkey;
          next_half.position.bytes_left = bytes_left - 32'(frame.payload_bytes);
        end
      end
      default: ;
    endcase

    // What a receive's own error is: its code; otherwise what the peer is told.
    reason = done == ActOperation && code_q != RdmaErrorOk ? 32'(code_q) : 32'(syndrome);
    if (refused) begin
      place_d.has_answer = 1'b1;
      next_half.failed = 1'b1;
      // A receive that is completed here is not held any more.
      if (place_d.has_completion) next_half.in_message = 1'b0;
    end

    cqe = '0;
    cqe.wr_id = position_q.wr_id;
    cqe.qp_num = 32'(qpn_q);
    cqe.opcode = IbWcOpcodeRecv;
    if (flushes) begin
      completion_status = IbWcStatusWrFlushErr;
    end else if (refused) begin
      cqe.vendor_err = reason;
    end else begin
      if (!checks_q.send) cqe.opcode = IbWcOpcodeRecvRdmaWithImm;
      cqe.byte_len = received;
      if (frame.info.has_immdt) begin
        // Behind the RETH of a message of one packet. [9.2, 9.3]
        cqe.imm_data = frame.info.has_reth ? frame.extension[8*RethBytes +: 8*ImmdtBytes]
                                           : frame.extension[0 +: 8*ImmdtBytes];
        cqe.wc_flags = IbWcFlagsWithImm;
      end
    end
    cqe.status = completion_status;

    if (flushes || continues) begin
      place_d.has_answer = 1'b0;
      place_d.has_completion = flushes;
      place_d.no_frame = flushes;
      place_d.more = continues;
    end
    if (write_runs) begin
      place_d.offset = offset_q;
      place_d.address0 = memory.address0;
      place_d.bytes0 = memory.bytes0;
      place_d.address1 = memory.address1;
      place_d.bytes1 = memory.bytes1;
    end
    if (place_d.has_completion) begin
      place_d.completion = '{vq_index: first_queue + {15'(qpn_q), 1'b0}, head: position_q.head, used_bytes: '0,
                             has_cqe: 1'b1, cqn: attributes.recv_cqn,
                             solicited: completion_status != IbWcStatusSuccess || frame.bth.solicited_event,
                             cqe: pack_rdma_cq_req(cqe)};
    end
    if (place_d.has_answer) begin
      place_d.answer.qpn = frame.bth.dest_qp;
      place_d.answer.opcode = BthOpcodeRcAcknowledge;
      place_d.answer.psn = answer_psn;
      place_d.answer.extension[8*AethBytes-1:0] = pack_aeth(aeth_t'({syndrome, answer_msn}));
    end

    ack_d = '{qpn: frame.bth.dest_qp, psn: frame.bth.psn,
              syndrome: {received_aeth.reserved, received_aeth.kind, received_aeth.value}, msn: received_aeth.msn};
    failure_d = '{qpn: frame.bth.dest_qp, event_type: 16'(RdmaEventTypeQpFatal), code: reason};
    if (done == ActAccess) failure_d.event_type = 16'(RdmaEventTypeQpAccessErr);
    if (done == ActInvalid || done == ActLength) failure_d.event_type = 16'(RdmaEventTypeQpReqErr);

    place_valid_d = ends || continues || flushes || (place_valid_q && !place_ready_i);
    ack_valid_d = (ends && done == ActAcknowledge) || (ack_valid_q && !ack_ready_i);
    failure_valid_d = (ends && refused) || (failure_valid_q && !failure_ready_i);

    half_write = load_ready || forgets || (ends && done != ActDrop && done != ActAcknowledge);
    half_index = load_ready ? QpBits'(load.qpn) : qpn_q;
    half_d = next_half;
    if (forgets) begin
      half_d = half;
      half_d.in_message = 1'b0;
    end
    if (load_ready) begin
      half_d = '0;
      half_d.expected_psn = load.psn;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      turn_q <= 1'b0;
      check_valid_q <= 1'b0;
      request_valid_q <= 1'b0;
      place_valid_q <= 1'b0;
      ack_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      turn_q <= turn_d;
      check_valid_q <= check_valid_d;
      request_valid_q <= request_valid_d;
      place_valid_q <= place_valid_d;
      ack_valid_q <= ack_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    flush_q <= flush_d;
    qpn_q <= qpn_d;
    element_q <= element_d;
    status_q <= status_d;
    code_q <= code_d;
    position_q <= position_d;
    left_q <= left_d;
    offset_q <= offset_d;
    check_q <= check_d;
    request_q <= request_d;
    if (ends || continues || flushes) place_q <= place_d;
    if (ends) begin
      ack_q <= ack_d;
      failure_q <= failure_d;
    end
  end

  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign receive_request_valid_o = request_valid_q;
  assign receive_request_o = request_q;
  assign place_valid_o = place_valid_q;
  assign place_o = place_q;
  assign ack_valid_o = ack_valid_q;
  assign ack_o = ack_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign idle_o = state_q == StIdle && !load_valid && !frame_valid && !doorbell_valid && !change_valid_q
               && !again_valid_q && !ring_valid_q && flush_empty && !check_valid_q && !request_valid_q
               && !place_valid_q && !ack_valid_q && !failure_valid_q;

  // What concerns others.
  logic unused;
  assign unused = ^{frame, written, qp_state_write_i.qpn};

endmodule
