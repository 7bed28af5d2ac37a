// SPDX-License-Identifier: Apache-2.0

// The responder's checks of a received frame against the tables of its QP, in the order of IBTA vol. 1, 9.6 and 9.7.4.
// Combinational: what enters is read from the tables in one cycle, and what leaves goes to registers at its end. Zero
// while `valid_i` is 0.
module vireo_responder_checks
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic                 clk_i,
  input  logic                 valid_i,
  input  rx_token_t            frame_i,
  input  logic                 enabled_i,
  input  logic                 ours_i,      // by its destination address
  input  attributes_t          attributes_i,
  input  logic [2:0]           qp_state_i,
  input  half_t                half_i,
  input  logic [ReadsBits-1:0] ended_i,     // READs of the peer, see qp_reads

  output checks_t              checks_o,
  // Of a WRITE or READ: this packet's first byte, and what is left of the message, this packet included.
  output logic [63:0]          address_o,
  output logic [31:0]          rkey_o,
  output logic [31:0]          bytes_left_o,
  output logic [ReadsBits-1:0] reads_issued_o,
  output logic [ReadsBits-1:0] duplicate_limit_o
);

  rx_token_t frame;
  attributes_t attributes;
  half_t half;

  assign frame = frame_i;
  assign attributes = attributes_i;
  assign half = half_i;

  // Outstanding READs of the peer: those issued to the read responder minus those that it has ended.
  // None is outstanding when a load starts a new half.
  logic [ReadsBits-1:0] outstanding_reads, duplicates;

  assign reads_issued_o = half.reads_valid ? half.reads_issued : ended_i;
  assign duplicate_limit_o = half.reads_valid ? half.duplicate_limit : ended_i;
  assign outstanding_reads = reads_issued_o - ended_i;
  assign duplicates = duplicate_limit_o - ended_i;

  reth_t reth;
  deth_t deth;
  feth_t feth;
  logic [15:0] mtu;
  logic [PsnBits-1:0] ahead_by, psns_behind;
  logic [31:0] rounded;
  logic [PacketsBits-1:0] packets;  // of a READ's response
  logic [31:0] bytes_left;    // of the message, this packet included
  logic qp_receives, service_matches, pkey_matches, peer_matches, qkey_matches, datagram;
  logic is_send, is_atomic, is_store, is_flush, is_whole, is_read, sequence_ok, served, length_ok, total_ok, room;
  logic [31:0] read_bytes;    // of a READ or atomic operation; of a FLUSH those to check

  always_comb begin
    reth = '0;
    deth = '0;
    feth = '0;
    mtu = '0;
    address_o = '0;
    rkey_o = '0;
    bytes_left_o = '0;
    bytes_left = '0;
    qp_receives = 1'b0;
    service_matches = 1'b0;
    datagram = 1'b0;
    pkey_matches = 1'b0;
    peer_matches = 1'b0;
    qkey_matches = 1'b0;
    ahead_by = '0;
    psns_behind = '0;
    rounded = '0;
    packets = '0;
    room = 1'b0;
    is_send = 1'b0;
    is_atomic = 1'b0;
    is_store = 1'b0;
    is_flush = 1'b0;
    is_whole = 1'b0;
    is_read = 1'b0;
    read_bytes = '0;
    sequence_ok = 1'b0;
    served = 1'b0;
    length_ok = 1'b0;
    total_ok = 1'b0;
    checks_o = '0;
    if (valid_i) begin
      reth = unpack_reth(frame.extension[8*RethBytes-1:0]);
      deth = unpack_deth(frame.extension[8*DethBytes-1:0]);
      mtu = 16'(1 << MtuShift) << attributes.path_mtu;
      address_o = frame.info.starts_message ? reth.virtual_address : half.position.cursor.address;
      rkey_o = frame.info.starts_message ? reth.rkey : half.position.cursor.key;
      bytes_left = frame.info.starts_message ? reth.dma_length : half.position.cursor.bytes_left;

      // The QP exists and is in a state that receives. [9.6, 10.3.1]
      qp_receives = attributes.exists && (frame.bth.dest_qp >> QpBits) == '0 && !half.failed
                 && (qp_state_i == 3'(IbQpStateRtr) || qp_state_i == 3'(IbQpStateRts) || qp_state_i == 3'(IbQpStateSqd)
                     || qp_state_i == 3'(IbQpStateSqe));
      // The opcode's service is the QP's. [9.6]
      service_matches = frame.bth.opcode[7:5] == attributes.service;
      datagram = attributes.service == 3'(BthServiceUd);
      // Partition: ours is a full member, so the membership bit of the other side does not matter. [9.6, 10.9.3]
      pkey_matches = frame.bth.pkey[14:0] == PkeyDefault[14:0];
      // A connected QP accepts packets from its peer only, sent to its own address. [9.6]
      peer_matches = frame.ip_source == attributes.peer && frame.ip_destination == attributes.own;
      qkey_matches = deth.qkey == attributes.qkey;

      // Half of the PSN range is ahead of the expected one. [9.7.4]
      ahead_by = frame.bth.psn - half.expected_psn;
      psns_behind = half.expected_psn - frame.bth.psn;

      // A READ takes as many PSNs as its response has packets. [9.7.2]
      is_store = Config.atomic_write != 0 && frame.info.operation == BthOperationAtomicWrite;
      // Of a FLUSH of the whole region one byte stands for all.
      is_flush = Config.flush != 0 && frame.info.operation == BthOperationFlush;
      feth = unpack_feth(frame.extension[8*RethBytes +: 8*FethBytes]);
      is_whole = is_flush && feth.selectivity == FlushSelectivityMemoryRegion;
      is_atomic = (Config.atomics != 0 && frame.info.has_atomic_eth) || is_store || is_flush;
      if (is_whole) read_bytes = 32'd1;
      else read_bytes = is_atomic && !is_flush ? 32'(AtomicBytes) : reth.dma_length;
      rounded = (read_bytes + 32'(mtu) - 1'b1) >> MtuShift;
      packets = read_bytes == '0 || is_flush ? PacketsBits'(1) : PacketsBits'(rounded >> attributes.path_mtu);
      room = outstanding_reads < attributes.max_reads;

      is_send = frame.info.operation == BthOperationSend;
      is_read = frame.info.operation == BthOperationRdmaReadRequest || is_atomic;
      // First or only outside of a message, middle or last of the same operation inside one [9.7.4]; but
      // without acknowledges, any first or only packet starts a message. [9.8.2]
      if (attributes.service != 3'(BthServiceRc) && frame.info.starts_message) sequence_ok = 1'b1;
      else sequence_ok = frame.info.starts_message != half.in_message
                      && (frame.info.starts_message || is_send == half.send);
      served = is_send ? Config.invalidation != 0 || !frame.info.has_ieth : is_read || frame.info.operation == BthOperationRdmaWrite;
      // Of the packet, and of a WRITE: its last packet completes the length, no other one does. [9.7.4]
      unique case (frame.info.payload)
        // The operand of an atomic operation is aligned. [9.4.5]
        PayloadRuleNone: begin
          length_ok = is_read && frame.payload_bytes == '0 && read_bytes <= MaxMessageBytes
                   && !(is_atomic && !is_flush && reth.virtual_address[2:0] != '0);
          // What is reserved cannot be promised. A range has less than 2^31 bytes. [A19.4.1]
          if (is_flush && (feth.selectivity > 2'(FlushSelectivityMemoryRegion) || feth.placement[1:0] == '0
                           || feth.placement[3:2] != '0 || read_bytes[31])) length_ok = 1'b0;
        end
        PayloadRuleMtu:       length_ok = frame.payload_bytes == mtu;
        // So is an ATOMIC WRITE's, which both header and payload have the length of. [A19.4.2]
        PayloadRuleExact:     length_ok = is_store && frame.payload_bytes == 16'(AtomicBytes)
                                       && reth.dma_length == 32'(AtomicBytes) && reth.virtual_address[2:0] == '0;
        PayloadRuleOneToMtu:  length_ok = frame.payload_bytes <= mtu && frame.payload_bytes != '0;
        PayloadRuleZeroToMtu: length_ok = frame.payload_bytes <= mtu;
        default:              length_ok = 1'b0;
      endcase
      total_ok = frame.info.ends_message ? bytes_left == 32'(frame.payload_bytes)
                                         : bytes_left > 32'(frame.payload_bytes);

      checks_o.net = enabled_i && frame.verdict == RxVerdictNet;
      checks_o.taken = enabled_i && ours_i && frame.verdict == RxVerdictRoce && qp_receives && service_matches
                    && pkey_matches && (datagram ? qkey_matches : peer_matches);
      checks_o.datagram = datagram;
      checks_o.acknowledged = attributes.service == 3'(BthServiceRc);
      checks_o.response = frame.info.is_response;
      checks_o.acknowledge = frame.info.operation == BthOperationAcknowledge && frame.payload_bytes == '0;
      checks_o.read_response = frame.info.operation == BthOperationRdmaReadResponse
                            || (Config.atomics != 0 && frame.info.has_atomic_ack_eth);
      checks_o.expected = ahead_by == '0;
      checks_o.ahead = !ahead_by[PsnBits-1];
      checks_o.acks_duplicate = frame.info.response == BthOperationAcknowledge;
      // More READs than the peer may have outstanding are invalid, too [9.7.4.1]; but not if it has repeated some of
      // them, whose responses it already has: then the new one is retransmitted.
      checks_o.duplicates_pending = is_read && !room && duplicates != '0 && !duplicates[ReadsBits-1];
      checks_o.request = sequence_ok && served && length_ok && (is_read ? room : is_send || total_ok);
      checks_o.send = is_send;
      checks_o.read = is_read;
      checks_o.atomic = is_atomic;
      checks_o.store = is_store;
      checks_o.flush = is_flush;
      checks_o.whole = is_whole;
      checks_o.placement = is_flush ? feth.placement[1:0] : '0;
      // The result of an atomic operation is sent again without an access.
      checks_o.replayable = is_read && length_ok && room && (is_atomic || attributes.remote_read)
                         && packets <= PacketsBits'(psns_behind);
      checks_o.payload = frame.payload_bytes != '0;
      if (is_flush) checks_o.right = (feth.placement[1:0] & ~{attributes.flush_persistent, attributes.flush_global}) == '0;
      else if (is_store) checks_o.right = attributes.remote_write;
      else if (is_atomic) checks_o.right = attributes.remote_atomic;
      else checks_o.right = is_read ? attributes.remote_read : attributes.remote_write;
      checks_o.packets = packets;
      checks_o.starts = frame.info.starts_message;
      checks_o.consumes = frame.info.consumes_recv;
      checks_o.bytes = read_bytes != '0 || is_flush;
      checks_o.nak_sent = half.nak_sent;
      // The first request of a connection, even if it fails. In RTR a response belongs to an earlier QP instance.
      // [IBTA vol. 1, 11.6.3.1]
      checks_o.announces = checks_o.taken && !datagram && !frame.info.is_response && qp_state_i == 3'(IbQpStateRtr)
                        && !half.established;
      bytes_left_o = is_read ? read_bytes : bytes_left;
    end
  end

  // The clock is for assertions. Fields used elsewhere.
  logic unused;
  assign unused = ^{clk_i, frame, attributes, half, deth.reserved, deth.source_qp, feth, rounded};

endmodule
