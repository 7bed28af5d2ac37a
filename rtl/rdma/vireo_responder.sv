// SPDX-License-Identifier: Apache-2.0

// Decides on every received frame, in order, one at a time: what of it goes to memory and what is answered. Owner of
// the receive half of every QP. Of requests it carries out RDMA WRITE without immediate data on RC; acknowledges go on
// to the completer. A refused request takes the QP to ERR: said as a failure, and held to from the next frame on.
//
// Each frame leaves as exactly one rx_place; one that is dropped, as a place without bytes and without answer.
module vireo_responder
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter int unsigned NumQps = 1024,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            enable_i,               // counts when a frame's turn comes; 0: it is dropped

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

  typedef enum logic [1:0] {
    StIdle,
    StCheck,   // tables are read
    StAct,     // checks are known
    StMemory   // waits for the key check
  } state_e;

  // What firmware says of a QP.
  typedef struct packed {
    logic rc;                // exists and has this service
    logic remote_write;
    logic [2:0] path_mtu;
    logic [15:0] pdn;
    logic [127:0] peer;      // GID, first byte most significant
  } attributes_t;

  // The receive half of a QP; the second group belongs to the message under way.
  typedef struct packed {
    logic failed;            // ERR by our own will; a load ends it
    logic nak_sent;
    logic [PsnBits-1:0] expected_psn;
    logic [PsnBits-1:0] msn;
    logic in_message;
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] bytes_left;
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
    logic payload;
    logic right;
  } checks_t;

  typedef enum logic [2:0] {
    ActDrop,
    ActAcknowledge,  // an acknowledge came
    ActRepeat,
    ActSequence,     // NAK: something is missing
    ActInvalid,      // NAK: invalid request
    ActAccess,       // NAK: remote access error
    ActAccept,       // nothing to write
    ActWrite
  } action_e;

  // --- Inputs

  logic load_valid, load_ready, frame_valid, frame_ready, memory_valid, memory_ready;
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

  // --- Tables

  logic read;
  logic [QpBits-1:0] qpn;
  table_qp_context_t written;
  attributes_t written_attributes, attributes;
  logic [2:0] qp_state;
  logic half_write;
  logic [QpBits-1:0] half_index;
  half_t half_d, half;

  assign qpn = QpBits'(frame.bth.dest_qp);
  assign written = unpack_table_qp_context(table_write_i.data);

  always_comb begin
    written_attributes.rc = written.valid && written.qp_type == IbQpTypeRc;
    written_attributes.remote_write = written.remote_write;
    written_attributes.path_mtu = written.path_mtu > IbMtuMtu4096 ? 3'(IbMtuMtu4096) : 3'(written.path_mtu);
    written_attributes.pdn = written.pdn;
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
    .read_address_i(qpn),
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
    .read_address_i(qpn),
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
    .read_address_i(qpn),
    .read_data_o(half)
  );

  // --- Checks, in the order of IBTA vol. 1, 9.6 and 9.7.4.1

  reth_t reth;
  logic [15:0] mtu;
  logic [PsnBits-1:0] ahead_by;
  logic [63:0] address;       // of this packet's first byte
  logic [31:0] rkey;
  logic [31:0] bytes_left;    // of the message, this packet included
  logic enabled_q;
  logic qp_receives, service_matches, pkey_matches, peer_matches;
  logic sequence_ok, served, length_ok, total_ok;
  checks_t checks_d, checks_q;

  always_comb begin
    reth = unpack_reth(frame.extension[8*RethBytes-1:0]);
    mtu = 16'(MtuUnit) << attributes.path_mtu;
    address = frame.info.starts_message ? reth.virtual_address : half.address;
    rkey = frame.info.starts_message ? reth.rkey : half.rkey;
    bytes_left = frame.info.starts_message ? reth.dma_length : half.bytes_left;

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

    // Half of the PSNs are ahead of the expected one. [9.7.4.1.1]
    ahead_by = frame.bth.psn - half.expected_psn;

    // First or only where no message is under way, middle or last where one is; its operation is RDMA WRITE, because
    // no other is served. [9.7.4.1.2]
    sequence_ok = frame.info.starts_message != half.in_message;
    served = frame.info.operation == BthOperationRdmaWrite && !frame.info.has_immdt;
    // Of the packet, and of the message: the last packet brings what is left, no other one does. [9.7.4.1.6, 9.7.4.1.7]
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
    checks_d.request = sequence_ok && served && length_ok && total_ok;
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
    // One NAK for a gap, until what is missing has come. [9.7.5.2.8]
    else if (!checks_q.expected) action = half.nak_sent ? ActDrop : ActSequence;
    else if (!checks_q.request) action = ActInvalid;
    // Without bytes neither key nor right is looked at. [9.7.4.1.5]
    else if (!checks_q.payload) action = ActAccept;
    else action = checks_q.right ? ActWrite : ActAccess;
  end

  // --- Actions

  state_e state_d, state_q;
  logic check_valid_d, check_valid_q, place_valid_d, place_valid_q;
  logic ack_valid_d, ack_valid_q, failure_valid_d, failure_valid_q;
  memory_check_t check_d, check_q;
  rx_place_t place_d, place_q;
  rx_ack_t ack_d, ack_q;
  qp_failure_t failure_d, failure_q;
  logic space;
  action_e done;                     // what the frame ends with in this cycle, if it ends
  logic ends;
  logic [7:0] syndrome;
  logic [PsnBits-1:0] answer_psn, next_psn, answer_msn;
  half_t next_half;
  aeth_t received_aeth;

  always_comb begin
    state_d = state_q;
    read = 1'b0;
    load_ready = 1'b0;
    frame_ready = 1'b0;
    memory_ready = 1'b0;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    done = action;
    ends = 1'b0;
    space = !place_valid_q && !ack_valid_q && !failure_valid_q;

    unique case (state_q)
      StIdle: begin
        if (load_valid) begin
          load_ready = 1'b1;
        end else if (frame_valid) begin
          read = 1'b1;
          state_d = StCheck;
        end
      end

      StCheck: state_d = StAct;

      StAct: begin
        if (space) begin
          if (action == ActWrite) begin
            check_valid_d = 1'b1;
            check_d = '{key: rkey, pdn: attributes.pdn, local_write: 1'b0, remote_write: 1'b1, remote_read: 1'b0,
                        address: address, bytes: 13'(frame.payload_bytes)};
            state_d = StMemory;
          end else begin
            ends = 1'b1;
          end
        end
      end

      StMemory: begin
        if (memory_valid) begin
          memory_ready = 1'b1;
          done = memory.status == MemoryStatusOk ? ActWrite : ActAccess;
          ends = 1'b1;
        end
      end

      default: state_d = StIdle;
    endcase

    if (ends) begin
      frame_ready = 1'b1;
      state_d = StIdle;
    end
  end

  // What the frame leaves behind.
  always_comb begin
    next_psn = half.expected_psn + 1'b1;
    next_half = half;
    answer_psn = frame.bth.psn;
    answer_msn = half.msn;
    syndrome = AethSyndromeAckNoCredits;
    received_aeth = unpack_aeth(frame.extension[8*AethBytes-1:0]);

    place_d = '0;
    unique case (done)
      // Acknowledges everything so far. [9.7.5.1.3]
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
      ActInvalid: begin
        place_d.has_answer = 1'b1;
        syndrome = AethSyndromeNakInvalidRequest;
        next_half.failed = 1'b1;
      end
      ActAccess: begin
        place_d.has_answer = 1'b1;
        syndrome = AethSyndromeNakRemoteAccessError;
        next_half.failed = 1'b1;
      end
      ActAccept, ActWrite: begin
        place_d.has_answer = frame.bth.ack_req;
        // Messages are counted when they are complete. [9.7.7.1]
        answer_msn = half.msn + PsnBits'(frame.info.ends_message);
        next_half.nak_sent = 1'b0;
        next_half.expected_psn = next_psn;
        next_half.msn = answer_msn;
        next_half.in_message = !frame.info.ends_message;
        next_half.address = address + 64'(frame.payload_bytes);
        next_half.rkey = rkey;
        next_half.bytes_left = bytes_left - 32'(frame.payload_bytes);
      end
      default: ;
    endcase

    if (done == ActWrite) begin
      place_d.offset = 8'(frame.payload_offset);
      place_d.address0 = memory.address0;
      place_d.bytes0 = memory.bytes0;
      place_d.address1 = memory.address1;
      place_d.bytes1 = memory.bytes1;
    end
    if (place_d.has_answer) begin
      place_d.answer.qpn = frame.bth.dest_qp;
      place_d.answer.opcode = BthOpcodeRcAcknowledge;
      place_d.answer.psn = answer_psn;
      place_d.answer.extension[8*AethBytes-1:0] = pack_aeth(aeth_t'({syndrome, answer_msn}));
    end

    ack_d = '{qpn: frame.bth.dest_qp, psn: frame.bth.psn,
              syndrome: {received_aeth.reserved, received_aeth.kind, received_aeth.value}, msn: received_aeth.msn};
    failure_d = '{qpn: frame.bth.dest_qp,
                  event_type: done == ActAccess ? 16'(RdmaEventTypeQpAccessErr) : 16'(RdmaEventTypeQpReqErr),
                  code: 32'(syndrome)};

    place_valid_d = ends || (place_valid_q && !place_ready_i);
    ack_valid_d = (ends && done == ActAcknowledge) || (ack_valid_q && !ack_ready_i);
    failure_valid_d = (ends && (done == ActInvalid || done == ActAccess)) || (failure_valid_q && !failure_ready_i);

    half_write = load_ready || (ends && done != ActDrop && done != ActAcknowledge);
    half_index = load_ready ? QpBits'(load.qpn) : qpn;
    half_d = next_half;
    if (load_ready) begin
      half_d = '0;
      half_d.expected_psn = load.psn;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      check_valid_q <= 1'b0;
      place_valid_q <= 1'b0;
      ack_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      check_valid_q <= check_valid_d;
      place_valid_q <= place_valid_d;
      ack_valid_q <= ack_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    check_q <= check_d;
    if (ends) begin
      place_q <= place_d;
      ack_q <= ack_d;
      failure_q <= failure_d;
    end
  end

  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign place_valid_o = place_valid_q;
  assign place_o = place_q;
  assign ack_valid_o = ack_valid_q;
  assign ack_o = ack_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign idle_o = state_q == StIdle && !load_valid && !frame_valid && !check_valid_q && !place_valid_q && !ack_valid_q
               && !failure_valid_q;

  // What concerns others. Nothing is kept that `clear` would have to end: a QP receives only after a load.
  logic unused;
  assign unused = ^{qp_state_write_i.clear, frame, written};

endmodule
