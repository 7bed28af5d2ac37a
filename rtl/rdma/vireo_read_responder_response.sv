// SPDX-License-Identifier: Apache-2.0

// Responses to READs and atomic operations in vireo_read_responder. StEntry: the next packet of the QP's oldest READ is cut,
// and its key is checked; StIssue: it leaves, or the operation begins, or the check has failed; StResult, StRespond: the
// response to an operation leaves. Combinational; what is decided takes effect in vireo_read_responder. It handles no
// answers that wait.
module vireo_read_responder_response
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::MtuShift;
  import vireo_read_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  state_e             state_i,
  input  logic [QpBits-1:0]  qpn_i,
  input  row_t               row_i,
  input  attributes_t        attributes_i,
  input  logic               corrupt_i,        // in StEntry: they have bad parity
  input  read_t              entry_i,          // the oldest READ
  // verilator lint_off UNUSEDSIGNAL
  input  operands_t          operands_i,       // reserved bits
  input  atomic_result_t     result_i,         // the QP is known
  // verilator lint_on UNUSEDSIGNAL
  input  cut_t               cut_i,            // from StEntry on
  input  logic               place_valid_i,
  input  memory_place_t      place_i,
  input  logic               operation_room_i,  // for one more operation
  input  logic               operation_free_i,  // it may be issued
  input  logic               result_stale_i,    // the oldest operation is of an earlier lifetime of its QP
  input  logic [JobBits-1:0] number_i,          // of the next job
  output step_t              step_o
);

  /* verilator lint_off UNUSEDSIGNAL */  // its address and key come from the answer; reserved bits
  atomic_eth_t atomic_eth;
  feth_t feth;
  /* verilator lint_on UNUSEDSIGNAL */
  aeth_t nak;
  logic [31:0] left;
  logic [3:0] shift;
  logic [PacketBytesBits-1:0] mtu;
  logic first, fails;
  cut_t cut;
  memory_check_t check_in;
  atomic_request_t operation;

  // The packet that is next.
  always_comb begin
    feth = unpack_feth(operands_i.data[8*StoreOffset +: 8*FethBytes]);
    atomic_eth = unpack_atomic_eth({operands_i.data, 96'd0});
    nak = unpack_aeth(entry_i.aeth);
    nak = aeth_t'({AethSyndromeNakRemoteAccessError, nak.msn});
    fails = cut_i.checked && place_i.status != MemoryStatusOk;
    left = entry_i.bytes - row_i.done;
    shift = 4'(MtuShift) + attributes_i.path_mtu;
    mtu = PacketBytesBits'(1) << shift;
    first = row_i.done == '0;
    cut.last = left <= 32'(mtu);
    cut.bytes = cut.last ? left[PacketBytesBits-1:0] : mtu;
    // The responses use the PSNs from the request's own on. [IBTA vol. 1, 9.4.4]
    cut.psn = entry_i.psn + PsnBits'(row_i.done >> shift);
    if (first) cut.opcode = cut.last ? BthOpcodeRcRdmaReadResponseOnly : BthOpcodeRcRdmaReadResponseFirst;
    else cut.opcode = cut.last ? BthOpcodeRcRdmaReadResponseLast : BthOpcodeRcRdmaReadResponseMiddle;
    cut.atomic = operands_i.is_atomic;
    // Without bytes no key is checked. [IBTA vol. 1, 9.7.4] A duplicate of an atomic operation accesses nothing.
    cut.checked = cut.bytes != '0 && !operands_i.is_duplicate;
  end

  always_comb begin
    check_in = '{key: entry_i.rkey, pdn: attributes_i.pdn, local_write: 1'b0, remote_write: operands_i.is_write,
                 remote_read: !operands_i.is_atomic,
                 remote_atomic: operands_i.is_atomic && !operands_i.is_write && !operands_i.is_flush,
                 flush_global: operands_i.is_flush && feth.placement[0],
                 flush_persistent: operands_i.is_flush && feth.placement[1],
                 whole: operands_i.is_flush && feth.selectivity == FlushSelectivityMemoryRegion,
                 address: entry_i.address + 64'(row_i.done), bytes: 32'(cut.bytes), qpn: 24'(qpn_i), default: '0};
    operation = '{qpn: 24'(qpn_i), psn: cut_i.psn, is_duplicate: operands_i.is_duplicate,
                  is_swap: operands_i.is_swap, is_write: operands_i.is_write, is_flush: operands_i.is_flush,
                  address: cut_i.checked ? place_i.address0 : '0, grant: cut_i.checked ? place_i.grant : '0,
                  swap_add: operands_i.is_write ? operands_i.data[8*StoreOffset +: 64] : atomic_eth.swap_add_data,
                  compare: atomic_eth.compare_data};
  end

  always_comb begin
    step_o = '0;
    step_o.state = StChoose;
    step_o.row = row_i;
    step_o.cut = cut_i;
    step_o.check_in = check_in;
    step_o.operation = operation;
    step_o.job_in.packet.qpn = 24'(qpn_i);
    step_o.job_in.packet.psn = cut_i.psn;
    step_o.job_in.packet.is_response = 1'b1;
    step_o.failure = '{qpn: 24'(qpn_i), event_type: 16'(RdmaEventTypeQpAccessErr),
                       code: 32'(AethSyndromeNakRemoteAccessError), default: '0};
    unique case (state_i)
      StEntry: begin
        step_o.cut = cut;
        step_o.check = cut.checked && !corrupt_i && !(operands_i.is_atomic && !operation_room_i);
        step_o.again = operands_i.is_atomic && !operation_room_i && !corrupt_i;
        step_o.state = corrupt_i || (operands_i.is_atomic && !operation_room_i) ? StChoose : StIssue;
      end
      StIssue: begin
        step_o.state = StIssue;
        if ((!cut_i.checked || place_valid_i) && cut_i.atomic && !fails) begin
          // It is executed, and the QP waits for that; others do not.
          if (operation_free_i) begin
            step_o.place_ends = cut_i.checked;
            step_o.operates = 1'b1;
            step_o.row.parked = 1'b1;
            step_o.row_write = 1'b1;
            step_o.state = StChoose;
          end
        end else if (!cut_i.checked || place_valid_i) begin
          step_o.place_ends = cut_i.checked;
          step_o.job = 1'b1;
          step_o.row.last = number_i;
          if (fails) begin
            // A NAK may replace any response. [IBTA vol. 1, 9.7.5.2]
            step_o.job_in.packet.opcode = BthOpcodeRcAcknowledge;
            step_o.job_in.packet.extension[AethBits-1:0] = pack_aeth(nak);
            step_o.fails = 1'b1;
            step_o.row.halted = 1'b1;
            step_o.row.held = 1'b0;
            step_o.row.count = '0;
            step_o.row.done = '0;
            step_o.row.ended = row_i.ended + 8'(row_i.count);
          end else begin
            step_o.job_in.packet.opcode = cut_i.opcode;
            step_o.job_in.packet.extension[AethBits-1:0] = entry_i.aeth;
            step_o.job_in.packet.payload_bytes = 14'(cut_i.bytes);
            if (cut_i.checked) begin
              step_o.job_in.grant = place_i.grant;
              step_o.job_in.address0 = place_i.address0;
              step_o.job_in.bytes0 = place_i.bytes0;
              step_o.job_in.address1 = place_i.address1;
              step_o.job_in.bytes1 = place_i.bytes1;
            end
            step_o.row.done = row_i.done + 32'(cut_i.bytes);
            if (cut_i.last) begin
              step_o.row.done = '0;
              step_o.row.count = row_i.count - 1'b1;
              step_o.row.oldest = row_i.oldest + 1'b1;
              step_o.row.ended = row_i.ended + 1'b1;
            end
          end
          step_o.row_write = 1'b1;
          step_o.reads_end = fails || cut_i.last;
          step_o.again = step_o.row.count != '0 || step_o.row.held;
          step_o.state = StChoose;
        end else begin
          step_o.waits = 1'b1;
        end
      end
      StResult: begin
        // Of an earlier lifetime of the QP: nobody waits for it.
        step_o.result_ends = !row_i.parked || result_stale_i;
        step_o.ring_read = !step_o.result_ends;
        step_o.state = step_o.result_ends ? StChoose : StRespond;
      end
      default: begin  // StRespond
        step_o.result_ends = 1'b1;
        step_o.job_in.packet.psn = entry_i.psn;
        // A duplicate whose result is not kept is dropped.
        step_o.job = result_i.status != 2'(AtomicStatusUnknown);
        if (step_o.job) step_o.row.last = number_i;
        step_o.row.parked = 1'b0;
        if (result_i.status == 2'(AtomicStatusFailed)) begin
          // [IBTA vol. 1, 9.9.5.2]
          step_o.job_in.packet.opcode = BthOpcodeRcAcknowledge;
          step_o.job_in.packet.extension[AethBits-1:0] =
              pack_aeth(aeth_t'({AethSyndromeNakRemoteOperationalError, nak.msn}));
          step_o.fails = 1'b1;
          step_o.failure.event_type = 16'(RdmaEventTypeQpFatal);
          step_o.failure.code = 32'(RdmaErrorQueueDmaError);
          step_o.row.halted = 1'b1;
          step_o.row.held = 1'b0;
          step_o.row.count = '0;
          step_o.row.ended = row_i.ended + 8'(row_i.count);
        end else begin
          step_o.job_in.packet.extension[AethBits-1:0] = entry_i.aeth;
          if (operands_i.is_write || operands_i.is_flush) begin
            step_o.job_in.packet.opcode = BthOpcodeRcRdmaReadResponseOnly;
          end else begin
            step_o.job_in.packet.opcode = BthOpcodeRcAtomicAcknowledge;
            step_o.job_in.packet.extension[AethBits +: 8*AtomicAckEthBytes] =
                pack_atomic_ack_eth('{original_data: result_i.value});
          end
          step_o.row.count = row_i.count - 1'b1;
          step_o.row.oldest = row_i.oldest + 1'b1;
          step_o.row.ended = row_i.ended + 1'b1;
        end
        step_o.row_write = 1'b1;
        step_o.reads_end = 1'b1;
        step_o.again = step_o.row.count != '0 || step_o.row.held;
        step_o.state = StChoose;
      end
    endcase
  end

endmodule
