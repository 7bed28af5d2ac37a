// SPDX-License-Identifier: Apache-2.0

// Types, latencies and CRC arithmetic that the blocks of rtl/rdma share. Numbers of the contract stay in
// vireo_spec_pkg; model/rdma/{rx_parser,tx_framer}.h mirror the tokens and the latencies, and verif/rdma compares the
// two. A block uses only some of these.
/* verilator lint_off UNUSEDPARAM */
package vireo_rdma_pkg;
  import vireo_spec_pkg::*;

  // Cycles from the one in which a frame's last beat is accepted to the one in which the result is visible. The same
  // for every DataBits: every stage handles a whole beat.
  localparam int unsigned IcrcLatency = 5;
  localparam int unsigned RxParserLatency = IcrcLatency + 1;

  // Longest run of extended headers in the opcode table: one AtomicETH.
  localparam int unsigned RxExtensionBytes = AtomicEthBytes;

  // Deepest header byte that the parser examines: tagged frame, IPv6, longest extended headers.
  localparam int unsigned RxHeaderBytes =
      EthernetBytes + VlanTagBytes + Ipv6Bytes + UdpBytes + BthBytes + RxExtensionBytes;

  // The parser's result for one frame. The first group (up to l3_offset) is valid for every frame; the rest is zero
  // unless the verdict is roce. Offsets count from the first byte of the frame.
  typedef struct packed {
    rx_verdict_e verdict;
    logic [15:0] frame_bytes;
    logic [47:0] destination_mac;
    logic [47:0] source_mac;
    logic vlan_present;
    logic [2:0] vlan_pcp;
    logic vlan_dei;
    logic [11:0] vlan_vid;
    logic is_ipv6;
    logic [4:0] l3_offset;
    logic [6:0] bth_offset;
    logic [6:0] payload_offset;
    logic [15:0] payload_bytes;  // without pad
    logic [5:0] dscp;
    logic [1:0] ecn;  // ip_ecn_e
    logic [7:0] hop_limit;
    logic [127:0] ip_source;  // first byte most significant; IPv4 as ::ffff:a.b.c.d
    logic [127:0] ip_destination;
    logic [15:0] udp_source_port;
    bth_t bth;
    // Byte k after the BTH in [8k +: 8]; zero after the opcode's extended headers.
    logic [8*RxExtensionBytes-1:0] extension;
    opcode_info_t info;
  } rx_token_t;

  // Cycles from the one in which the framer accepts a token to the one in which the frame's first beat is visible, and
  // of the ICRC's insertion alone. The same for every DataBits and every packet.
  localparam int unsigned IcrcInsertLatency = 6;
  localparam int unsigned TxFramerLatency = 4 + IcrcInsertLatency;

  // A path MTU has 2^(MtuShift + ib_mtu) bytes. [IBTA vol. 1, 9.4.3.2]
  localparam int unsigned MtuShift = 7;

  // The largest path MTU.
  localparam int unsigned TxPayloadBytes = 1 << (MtuShift + 32'(IbMtuMtu4096));

  // RETH.dma_length and every message: at most 2^31 bytes. [IBTA vol. 1, 9.3.3, 9.4.3]
  localparam logic [31:0] MaxMessageBytes = 32'h8000_0000;

  // Contents of a frame; the framer computes all other fields. Fields of the other IP version, the tag's fields
  // without tag, bth.pad_count and the extension after the opcode's extended headers are ignored.
  typedef struct packed {
    logic [47:0] destination_mac;
    logic [47:0] source_mac;
    logic vlan_present;
    logic [2:0] vlan_pcp;
    logic vlan_dei;
    logic [11:0] vlan_vid;
    logic is_ipv6;
    logic [5:0] dscp;
    logic [1:0] ecn;  // ip_ecn_e
    logic [7:0] hop_limit;
    logic [19:0] flow_label;  // IPv6
    logic [15:0] identification;  // IPv4; 0 is sufficient, because dont_fragment is set [RFC 6864, 4.1]
    logic [127:0] ip_source;  // first byte most significant; IPv4 as ::ffff:a.b.c.d
    logic [127:0] ip_destination;
    logic [15:0] udp_source_port;
    bth_t bth;
    logic [8*RxExtensionBytes-1:0] extension;  // byte k after the BTH in [8k +: 8]
    logic [12:0] payload_bytes;  // without pad, at most TxPayloadBytes
  } tx_token_t;

  // Transport service of a QP type (ib_qp_type). BthServiceCnp: there are no QPs of this type.
  function automatic bth_service_e service_of(input logic [7:0] qp_type);
    unique case (qp_type)
      IbQpTypeRc: return BthServiceRc;
      IbQpTypeUc: return BthServiceUc;
      IbQpTypeUd, IbQpTypeGsi: return BthServiceUd;
      default: return BthServiceCnp;
    endcase
  endfunction

  // Whether the accesses that were granted up to generation `ticket` have ended. (vireo_key_fence)
  function automatic logic key_generation_passed(input logic [$clog2(32'(KeyGenerations))-1:0] ticket,
                                                 input logic [$clog2(32'(KeyGenerations))-1:0] generation,
                                                 input logic open);
    return ticket != generation && !(open && ticket == generation - 1'b1);
  endfunction

  // A work request that responses complete: RDMA READ, and atomic operations, which are treated as READs of 8 bytes, and
  // ATOMIC WRITE and FLUSH, as READs of none.
  function automatic logic is_read_opcode(input logic [7:0] wc_opcode);
    return wc_opcode == IbWcOpcodeRdmaRead || wc_opcode == IbWcOpcodeCompSwap || wc_opcode == IbWcOpcodeFetchAdd
        || wc_opcode == IbWcOpcodeAtomicWrite || wc_opcode == IbWcOpcodeFlush;
  endfunction

  // The error that is reported for an access that memory check refuses (memory_status).
  function automatic rdma_error_e memory_error(input logic [2:0] status);
    unique case (status)
      3'(MemoryStatusKey):    return RdmaErrorBadMrn;
      3'(MemoryStatusPd):     return RdmaErrorBadPdn;
      3'(MemoryStatusRights): return RdmaErrorBadAccessFlags;
      default:                return RdmaErrorInvalidLength;
    endcase
  endfunction

  // An IPv4 address as an IPv4-mapped IPv6 address (and GID). [RFC 4291, 2.5.5.2]
  function automatic logic [127:0] mapped_ipv4(input logic [31:0] address);
    return {80'h0, 16'hffff, address};
  endfunction

  // CRC state after `bits` zero bits: multiplication by x^bits in the reflected representation.
  function automatic logic [31:0] icrc_shift(input logic [31:0] state, input int unsigned bits);
    icrc_shift = state;
    for (int unsigned i = 0; i < bits; i++) begin
      icrc_shift = {1'b0, icrc_shift[31:1]} ^ (icrc_shift[0] ? IcrcPolynomial : 32'h0);
    end
  endfunction

  // The inverse of icrc_shift.
  function automatic logic [31:0] icrc_unshift(input logic [31:0] state, input int unsigned bits);
    icrc_unshift = state;
    for (int unsigned i = 0; i < bits; i++) begin
      // The polynomial's highest bit is set, so the state's highest bit shows whether it was added.
      icrc_unshift = icrc_unshift[31] ? {icrc_unshift[30:0] ^ IcrcPolynomial[30:0], 1'b1} : {icrc_unshift[30:0], 1'b0};
    end
  endfunction

  // CRC state after the all-ones bytes that precede the IP header; the state itself starts as all ones.
  function automatic logic [31:0] icrc_prefix_state();
    icrc_prefix_state = '1;
    for (int unsigned i = 0; i < 32'(IcrcPrefixBytes); i++) begin
      icrc_prefix_state = icrc_shift(icrc_prefix_state ^ 32'hff, 8);
    end
  endfunction

  // What an rx_answer has of an AtomicETH, behind its AETH: the rest, behind address and key.
  localparam int unsigned AnswerOperandsBits = 8 * (AtomicEthBytes - AtomicEthSwapAddDataOffset);

  // A packet carries inline data where that is one beat; else it is read from the work request.
  function automatic logic carries_inline(input int unsigned data_bits);
    return data_bits >= 8 * 32'(TxInlineBytes);
  endfunction

  // For inputs whose packets carry none, so that it takes no register.
  function automatic tx_packet_t without_inline(input tx_packet_t packet);
    without_inline = packet;
    without_inline.has_inline = 1'b0;
    without_inline.inline_data = '0;
  endfunction
  function automatic tx_job_t job_without_inline(input tx_job_t job);
    job_without_inline = job;
    job_without_inline.packet = without_inline(job.packet);
  endfunction
  // What the packet of an answer of the responder can have: AETH, and the operands of an atomic operation.
  function automatic rx_answer_t bare_answer(input rx_answer_t answer, input bit atomics);
    bare_answer = answer;
    bare_answer.packet = '{qpn: answer.packet.qpn, opcode: answer.packet.opcode, psn: answer.packet.psn, default: '0};
    bare_answer.packet.extension[8*AethBytes-1:0] = answer.packet.extension[8*AethBytes-1:0];
    if (atomics) begin
      bare_answer.packet.extension[8*AethBytes +: AnswerOperandsBits] =
          answer.packet.extension[8*AethBytes +: AnswerOperandsBits];
    end
  endfunction

  // Deepest byte, of a tagged IPv6 frame, that is masked or excluded from the ICRC.
  localparam int unsigned IcrcHeaderBytes = EthernetBytes + VlanTagBytes + Ipv6Bytes + UdpBytes + BthBytes;

  typedef logic [8*IcrcHeaderBytes-1:0] icrc_header_t;

  // Bits of a frame that the ICRC treats as ones.
  function automatic icrc_header_t icrc_masked_bits(input logic vlan, input logic ip6);
    int unsigned l3 = vlan ? EthernetBytes + VlanTagBytes : EthernetBytes;
    int unsigned l4 = l3 + (ip6 ? Ipv6Bytes : Ipv4Bytes);
    icrc_masked_bits = '0;
    if (ip6) icrc_masked_bits[8*l3 +: 8*Ipv6Bytes] = pack_ipv6(Ipv6IcrcOnes);
    else     icrc_masked_bits[8*l3 +: 8*Ipv4Bytes] = pack_ipv4(Ipv4IcrcOnes);
    icrc_masked_bits[8*l4 +: 8*UdpBytes] = pack_udp(UdpIcrcOnes);
    icrc_masked_bits[8*(l4 + UdpBytes) +: 8*BthBytes] = pack_bth(BthIcrcOnes);
  endfunction

  // Bits of a frame that are forced for the CRC: those before the IP header and those that are masked.
  function automatic icrc_header_t icrc_forced_bits(input logic vlan, input logic ip6);
    int unsigned l3 = vlan ? EthernetBytes + VlanTagBytes : EthernetBytes;
    icrc_forced_bits = icrc_masked_bits(vlan, ip6);
    for (int unsigned i = 0; i < l3; i++) icrc_forced_bits[8*i +: 8] = '1;
  endfunction

  // Values of the forced bits, XORed into the others: ones under the masks, and the prefix.
  function automatic icrc_header_t icrc_forced_values(input logic vlan, input logic ip6);
    int unsigned l3 = vlan ? EthernetBytes + VlanTagBytes : EthernetBytes;
    icrc_forced_values = icrc_masked_bits(vlan, ip6);
    icrc_forced_values[8*l3 +: 32] = icrc_forced_values[8*l3 +: 32] ^ icrc_prefix_state();
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
