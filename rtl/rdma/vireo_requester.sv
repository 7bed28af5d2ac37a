// SPDX-License-Identifier: Apache-2.0

// The send half of a QP: checks a work request, cuts its message into packets of the path MTU, has the memory of each
// checked, and gives them to tx_gather as jobs. Before the first of a message it hands a send_record to the completer.
// What cannot be sent gets a record with a status, the QP is taken for dead at once, and QP control is told; all later
// work requests of a dead QP flush. It sees no acknowledge and sends nothing twice.
//
// Two halves with a queue between them: the front checks, cuts and asks for memory; the back decides with the answer,
// so that the latency of the memory check costs no throughput. All of one QP's decisions are the back's, in order.
module vireo_requester
  import vireo_spec_pkg::*;
#(
  parameter int unsigned NumQps = 1024,  // a power of two, 2 or more
  parameter int unsigned Packets = 16    // between front and back; a power of two, 4 or more
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              table_write_valid_i,
  input  table_write_t      table_write_i,
  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,

  input  logic              work_request_valid_i,
  output logic              work_request_ready_o,
  input  work_request_t     work_request_i,

  input  logic              load_valid_i,
  output logic              load_ready_o,
  input  qp_load_t          load_i,

  output logic              memory_check_valid_o,
  input  logic              memory_check_ready_i,
  output memory_check_t     memory_check_o,

  input  logic              memory_place_valid_i,    // one per memory_check, in order
  output logic              memory_place_ready_o,
  input  memory_place_t     memory_place_i,

  output logic              job_valid_o,
  input  logic              job_ready_i,
  output tx_job_t           job_o,

  output logic              record_valid_o,
  input  logic              record_ready_i,
  output send_record_t      record_o,

  output logic              failure_valid_o,
  input  logic              failure_ready_i,
  output qp_failure_t       failure_o,

  output logic              idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned PendingBits = $clog2(Packets) + 1;

  // RETH.dma_length and every message: at most 2^31 bytes. [IBTA vol. 1, 9.3.3]
  localparam logic [31:0] MaxMessageBytes = 32'h8000_0000;
  // ib_mtu counts in powers of two from 128. [IBTA vol. 1, 9.4.3.2]
  localparam int unsigned MtuShift = 7;

  localparam logic [7:0] KnownFlags = IbSendFlagsFence | IbSendFlagsSignaled | IbSendFlagsSolicited | IbSendFlagsInline;

  // What a work request's opcode means. A service or an opcode that comes later is a row more.
  typedef struct packed {
    logic legal;                     // RC has it
    logic [7:0] wc_opcode;           // ib_wc_opcode_e
    logic [3:0][7:0] bth;            // bth_opcode_e by packet_position_e
  } operation_t;

  function automatic operation_t operation_of(input logic [7:0] opcode);
    unique case (opcode)
      IbWrOpcodeRdmaWrite:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaWrite,
                         bth: {BthOpcodeRcRdmaWriteOnly, BthOpcodeRcRdmaWriteLast, BthOpcodeRcRdmaWriteFirst,
                               BthOpcodeRcRdmaWriteMiddle}};
      default: operation_of = '0;
    endcase
  endfunction

  // Sending, or finishing what was fetched before a drain. [IBTA vol. 1, 10.3.1]
  function automatic logic is_sending(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd);
  endfunction

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic work_valid, work_pop, load_valid, load_pop, place_valid, place_pop;
  // The address is for inline data and lists, which come later; immediate data too.
  /* verilator lint_off UNUSEDSIGNAL */
  work_request_t work;
  qp_load_t load;
  rdma_sq_req_rdma_t rdma;
  /* verilator lint_on UNUSEDSIGNAL */
  memory_place_t place;

  vireo_slice #(.Width(WorkRequestBits)) u_work_request (
    .clk_i, .rst_ni,
    .s_valid_i(work_request_valid_i), .s_ready_o(work_request_ready_o), .s_data_i(work_request_i),
    .m_valid_o(work_valid), .m_ready_i(work_pop), .m_data_o(work)
  );
  vireo_slice #(.Width(QpLoadBits)) u_load (
    .clk_i, .rst_ni,
    .s_valid_i(load_valid_i), .s_ready_o(load_ready_o), .s_data_i(load_i),
    .m_valid_o(load_valid), .m_ready_i(load_pop), .m_data_o(load)
  );
  // Room for every answer: there are at most as many as packets in the queue.
  vireo_fifo #(.Width(MemoryPlaceBits), .Depth(Packets)) u_memory_place (
    .clk_i, .rst_ni,
    .s_valid_i(memory_place_valid_i), .s_ready_o(memory_place_ready_o), .s_data_i(memory_place_i),
    .m_valid_o(place_valid), .m_ready_i(place_pop), .m_data_o(place)
  );

  // --- Attributes ----------------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [7:0] qp_type;  // ib_qp_type_e
    logic [7:0] path_mtu;  // ib_mtu_e
    logic sq_sig_all;
    logic [15:0] pdn;
    logic [7:0] max_send_sge;
  } attributes_t;

  /* verilator lint_off UNUSEDSIGNAL */  // most attributes belong to others
  table_qp_context_t context_in;
  /* verilator lint_on UNUSEDSIGNAL */
  attributes_t attributes_in, attributes;
  logic unused_pulses;

  assign context_in = unpack_table_qp_context(table_write_i.data);
  assign attributes_in = '{qp_type: context_in.qp_type, path_mtu: context_in.path_mtu,
                           sq_sig_all: context_in.sq_sig_all, pdn: context_in.pdn,
                           max_send_sge: context_in.max_send_sge};
  assign unused_pulses = &{1'b0, table_write_i.index[23:QpBits], qp_state_write_i.qpn[23:QpBits],
                           qp_state_write_i.clear};

  logic [QpBits-1:0] front_qpn, half_qpn, back_qpn;
  logic front_read, back_read, half_write, dead_write, dead_new;
  logic [23:0] half_psn, next_psn;
  logic [2:0] front_state, back_state;
  logic dead;

  vireo_table #(.Width($bits(attributes_t)), .Depth(NumQps)) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(attributes)
  );
  vireo_table #(.Width(3), .Depth(NumQps)) u_front_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(front_state)
  );
  vireo_table #(.Width(3), .Depth(NumQps)) u_back_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(back_read), .read_address_i(back_qpn), .read_data_o(back_state)
  );
  vireo_table #(.Width(24), .Depth(NumQps)) u_half (
    .clk_i, .rst_ni,
    .write_i(half_write), .write_address_i(half_qpn), .write_data_i(next_psn),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(half_psn)
  );
  vireo_table #(.Width(1), .Depth(NumQps)) u_dead (
    .clk_i, .rst_ni,
    .write_i(dead_write), .write_address_i(back_qpn), .write_data_i(dead_new),
    .read_i(back_read), .read_address_i(back_qpn), .read_data_o(dead)
  );

  // --- Front: checks, packets ----------------------------------------------------------------------------------------

  typedef struct packed {
    logic load;                // nothing but the QP's new beginning
    logic first;               // of its message, or of no message
    logic placed;              // a memory_place belongs to it
    logic [QpBits-1:0] qpn;
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] wc_opcode;
    logic [7:0] status;        // ib_wc_status_e: not success, there is no packet
    logic [31:0] vendor_err;
    logic signaled;
    logic silent;
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic [7:0] opcode;        // of the packet, with what follows
    logic solicited_event;
    logic ack_req;
    logic [23:0] psn;
    logic [12:0] payload_bytes;
    logic has_reth;
    logic [63:0] remote_address;
    logic [31:0] rkey;
    logic [31:0] dma_length;
  } entry_t;

  typedef enum logic [1:0] {FrIdle, FrCheck, FrPacket} front_e;

  front_e front_d, front_q;
  logic first_d, first_q;
  logic [7:0] status_d, status_q;
  logic [31:0] vendor_d, vendor_q;
  logic [31:0] left_d, left_q, length_d, length_q;
  logic [63:0] address_d, address_q;
  logic [23:0] psn_d, psn_q, first_psn_d, first_psn_q, last_psn_d, last_psn_q;
  logic [12:0] mtu_d, mtu_q;
  logic [15:0] pdn_d, pdn_q;
  logic signaled_d, signaled_q;
  logic check_valid_d, check_valid_q, check_free;
  memory_check_t check_d, check_q;
  logic [PendingBits-1:0] pending_d, pending_q;  // entries in the queue
  logic entry_push, entry_ready, entry_valid, entry_pop;
  entry_t entry_in, entry;

  logic [63:0] wr_id;
  logic [7:0] wr_opcode, wr_flags;
  logic [31:0] num_sge, length;
  rdma_sge_t sge;
  operation_t operation;
  logic last, placed;
  logic [12:0] payload_bytes;
  logic [7:0] opcode;
  opcode_info_t info;
  logic unused_info;

  vireo_fifo #(.Width($bits(entry_t)), .Depth(Packets)) u_entries (
    .clk_i, .rst_ni,
    .s_valid_i(entry_push), .s_ready_o(entry_ready), .s_data_i(entry_in),
    .m_valid_o(entry_valid), .m_ready_i(entry_pop), .m_data_o(entry)
  );

  // The work request's fields.
  assign wr_id = work.head_bytes[8*RdmaSqReqWrIdOffset +: 64];
  assign wr_opcode = work.head_bytes[8*RdmaSqReqOpcodeOffset +: 8];
  assign wr_flags = work.head_bytes[8*RdmaSqReqSendFlagsOffset +: 8];
  assign rdma = unpack_rdma_sq_req_rdma(work.head_bytes[8*RdmaSqReqWrOffset +: 8*RdmaSqReqRdmaBytes]);
  assign num_sge = work.tail_bytes[31:0];
  assign sge = unpack_rdma_sge(work.tail_bytes[8*(RdmaSqReqBytes-RdmaSqReqSizeOffset) +: 8*RdmaSgeBytes]);
  assign length = num_sge == '0 ? '0 : sge.length;
  assign operation = operation_of(wr_opcode);

  always_comb begin
    front_d = front_q;
    first_d = first_q;
    status_d = status_q;
    vendor_d = vendor_q;
    left_d = left_q;
    length_d = length_q;
    address_d = address_q;
    psn_d = psn_q;
    first_psn_d = first_psn_q;
    last_psn_d = last_psn_q;
    mtu_d = mtu_q;
    pdn_d = pdn_q;
    signaled_d = signaled_q;
    check_free = !check_valid_q || memory_check_ready_i;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    work_pop = 1'b0;
    load_pop = 1'b0;
    front_read = 1'b0;
    front_qpn = work.qpn[QpBits-1:0];
    half_qpn = front_qpn;
    half_write = 1'b0;
    next_psn = psn_q;
    entry_push = 1'b0;

    last = left_q <= 32'(mtu_q);
    payload_bytes = last ? left_q[12:0] : mtu_q;
    placed = status_q == IbWcStatusSuccess && left_q != '0;
    opcode = operation.bth[{last, first_q}];
    info = opcode_info(opcode);
    unused_info = &{1'b0, info};
    entry_in = '{load: 1'b0, first: first_q, placed: placed, qpn: front_qpn, head: work.head, wr_id: wr_id,
                 wc_opcode: operation.wc_opcode, status: status_q, vendor_err: vendor_q, signaled: signaled_q,
                 silent: work.failed != RdmaErrorOk, first_psn: first_psn_q, last_psn: last_psn_q,
                 opcode: opcode,
                 solicited_event: last && info.may_solicit && (wr_flags & IbSendFlagsSolicited) != '0,
                 ack_req: last || ((psn_q + 24'd1) & (24'(SendAckPackets) - 24'd1)) == '0,
                 psn: psn_q, payload_bytes: payload_bytes, has_reth: info.has_reth,
                 remote_address: rdma.remote_addr, rkey: rdma.rkey, dma_length: length_q};

    unique case (front_q)
      FrIdle: begin
        if (load_valid) begin
          if (entry_ready) begin
            load_pop = 1'b1;
            half_qpn = load.qpn[QpBits-1:0];
            half_write = 1'b1;
            next_psn = load.psn;
            entry_push = 1'b1;
            entry_in.load = 1'b1;
            entry_in.placed = 1'b0;
            entry_in.qpn = load.qpn[QpBits-1:0];
          end
        end else if (work_valid) begin
          front_read = 1'b1;
          front_d = FrCheck;
        end
      end
      FrCheck: begin
        // The first that applies.
        status_d = IbWcStatusLocQpOpErr;
        vendor_d = 32'(RdmaErrorOk);
        if (work.failed != RdmaErrorOk || !is_sending(front_state)) begin
          // Not carried out. [IBTA vol. 1, 10.3.1.7]
          status_d = IbWcStatusWrFlushErr;
        end else if (attributes.qp_type != IbQpTypeRc) begin
          vendor_d = 32'(RdmaErrorUnsupportedQpType);
        end else if (!operation.legal) begin
          // Which operations a service has: IBTA vol. 1, table 38.
          vendor_d = 32'(RdmaErrorUnsupportedCommand);
        end else if (attributes.path_mtu < IbMtuMtu256 || attributes.path_mtu > IbMtuMtu4096) begin
          vendor_d = 32'(RdmaErrorInvalidAttribute);
        end else if ((wr_flags & ~KnownFlags) != '0) begin
          vendor_d = 32'(RdmaErrorInvalidParameter);
        end else if ((wr_flags & IbSendFlagsInline) != '0) begin
          vendor_d = 32'(RdmaErrorCapInlineExceeded);  // later
        end else if (num_sge > 32'(attributes.max_send_sge) || num_sge > 32'd1) begin
          vendor_d = 32'(RdmaErrorCapSgeExceeded);  // more than one: later
        end else if (num_sge != '0 && work.bytes < 32'(RdmaSqReqBytes + RdmaSgeBytes)) begin
          vendor_d = 32'(RdmaErrorBadWqe);
        end else if (length > MaxMessageBytes) begin
          status_d = IbWcStatusLocLenErr;
          vendor_d = 32'(RdmaErrorInvalidLength);
        end else begin
          status_d = IbWcStatusSuccess;
        end
        first_d = 1'b1;
        left_d = status_d == IbWcStatusSuccess ? length : '0;
        length_d = length;
        address_d = sge.addr;
        psn_d = half_psn;
        first_psn_d = half_psn;
        last_psn_d = half_psn;
        if (status_d != IbWcStatusSuccess) begin
          last_psn_d = half_psn - 24'd1;
        end else if (length != '0) begin
          last_psn_d = half_psn + 24'((length - 32'd1) >> (4'(MtuShift) + attributes.path_mtu[3:0]));
        end
        mtu_d = 13'(1 << MtuShift) << attributes.path_mtu[2:0];
        pdn_d = attributes.pdn;
        // Failures have a CQE in any case.
        signaled_d = attributes.sq_sig_all || (wr_flags & IbSendFlagsSignaled) != '0;
        front_d = FrPacket;
      end
      FrPacket: begin
        front_read = 1'b1;
        if (!first_q && !is_sending(front_state)) begin
          half_write = 1'b1;
          work_pop = 1'b1;
          front_d = FrIdle;
        end else if (entry_ready && (!placed || check_free)) begin
          entry_push = 1'b1;
          check_valid_d = placed || check_valid_d;
          if (placed) check_d = '{key: sge.lkey, pdn: pdn_q, local_write: 1'b0, remote_write: 1'b0, remote_read: 1'b0,
                                  address: address_q, bytes: payload_bytes};
          first_d = 1'b0;
          left_d = left_q - 32'(payload_bytes);
          address_d = address_q + 64'(payload_bytes);
          psn_d = psn_q + 24'd1;
          if (last) begin
            half_write = 1'b1;
            // The PSN after a failure does not matter, because a dead QP sends nothing.
            next_psn = psn_d;
            work_pop = 1'b1;
            front_d = FrIdle;
          end
        end
      end
      default: front_d = FrIdle;
    endcase
    pending_d = pending_q + PendingBits'(entry_push) - PendingBits'(entry_pop);
  end

  // --- Back: decisions, in order -------------------------------------------------------------------------------------

  typedef enum logic [1:0] {BkIdle, BkDecide, BkJob, BkFail} back_e;

  back_e back_d, back_q;
  logic record_valid_d, record_valid_q, record_free, job_valid_d, job_valid_q, job_free;
  logic failure_valid_d, failure_valid_q, failure_free;
  send_record_t record_d, record_q;
  tx_job_t job_d, job_q;
  qp_failure_t failure_d, failure_q;
  logic alive, fails;
  logic [7:0] status;
  logic [31:0] vendor;
  reth_t reth;

  // What a memory_check's refusal is called.
  function automatic logic [31:0] memory_error(input logic [2:0] memory_status);
    unique case (memory_status)
      MemoryStatusKey: return 32'(RdmaErrorBadMrn);
      MemoryStatusPd: return 32'(RdmaErrorBadPdn);
      MemoryStatusRights: return 32'(RdmaErrorBadAccessFlags);
      default: return 32'(RdmaErrorInvalidLength);
    endcase
  endfunction

  always_comb begin
    back_d = back_q;
    back_qpn = entry.qpn;
    back_read = 1'b0;
    dead_write = 1'b0;
    dead_new = 1'b0;
    entry_pop = 1'b0;
    record_free = !record_valid_q || record_ready_i;
    record_valid_d = record_valid_q && !record_ready_i;
    record_d = record_q;
    job_free = !job_valid_q || job_ready_i;
    job_valid_d = job_valid_q && !job_ready_i;
    job_d = job_q;
    failure_free = !failure_valid_q || failure_ready_i;
    failure_valid_d = failure_valid_q && !failure_ready_i;
    failure_d = failure_q;

    // Why it is not sent.
    alive = is_sending(back_state) && !dead;
    status = IbWcStatusSuccess;
    vendor = '0;
    if (!alive) begin
      status = IbWcStatusWrFlushErr;
    end else if (entry.status != IbWcStatusSuccess) begin
      status = entry.status;
      vendor = entry.vendor_err;
    end else if (entry.placed && place.status != MemoryStatusOk) begin
      // [IBTA vol. 1, 11.6.2: local protection error]
      status = IbWcStatusLocProtErr;
      vendor = memory_error(place.status);
    end
    fails = status != IbWcStatusSuccess;
    reth = '{virtual_address: entry.remote_address, rkey: entry.rkey, dma_length: entry.dma_length};

    unique case (back_q)
      BkIdle: begin
        back_read = 1'b1;
        if (entry_valid && (!entry.placed || place_valid)) back_d = BkDecide;
      end
      BkDecide: begin
        back_read = 1'b1;  // while it waits, too
        if (entry.load) begin
          dead_write = 1'b1;
          entry_pop = 1'b1;
          back_d = BkIdle;
        end else if (!alive && !entry.first) begin
          // The rest of a message whose record failed or flushes.
          entry_pop = 1'b1;
          back_d = BkIdle;
        end else if (record_free) begin
          if (entry.first || fails) begin
            record_valid_d = 1'b1;
            record_d = '{qpn: 24'(entry.qpn), head: entry.head, wr_id: entry.wr_id, opcode: entry.wc_opcode,
                         status: status, vendor_err: vendor, signaled: entry.signaled, last_psn: entry.last_psn,
                         first_psn: entry.first_psn, amends: !entry.first, silent: entry.silent};
          end
          if (!fails) begin
            back_d = BkJob;
          end else begin
            dead_write = 1'b1;
            dead_new = 1'b1;
            if (status == IbWcStatusWrFlushErr) begin
              // Whoever put the QP into ERR, or stopped its queue, has said so.
              entry_pop = 1'b1;
              back_d = BkIdle;
            end else begin
              back_d = BkFail;
            end
          end
        end
      end
      BkJob: begin
        // Not before the record is in the completer's hands, so that no acknowledge can be there first.
        if (record_free && job_free) begin
          job_valid_d = 1'b1;
          job_d.packet = '{qpn: 24'(entry.qpn), opcode: entry.opcode, solicited_event: entry.solicited_event,
                           ack_req: entry.ack_req, psn: entry.psn,
                           extension: entry.has_reth ? $bits(job_d.packet.extension)'(pack_reth(reth)) : '0,
                           payload_bytes: entry.payload_bytes};
          job_d.address0 = entry.placed ? place.address0 : '0;
          job_d.bytes0 = entry.placed ? place.bytes0 : '0;
          job_d.address1 = entry.placed ? place.address1 : '0;
          job_d.bytes1 = entry.placed ? place.bytes1 : '0;
          entry_pop = 1'b1;
          back_d = BkIdle;
        end
      end
      BkFail: begin
        // After the record, so that the completer knows why before everything flushes.
        if (record_free && failure_free) begin
          failure_valid_d = 1'b1;
          failure_d = '{qpn: 24'(entry.qpn), event_type: 16'(RdmaEventTypeQpFatal), code: record_q.vendor_err};
          entry_pop = 1'b1;
          back_d = BkIdle;
        end
      end
      default: back_d = BkIdle;
    endcase
    place_pop = entry_pop && entry.placed;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      front_q <= FrIdle;
      check_valid_q <= 1'b0;
      pending_q <= '0;
      back_q <= BkIdle;
      record_valid_q <= 1'b0;
      job_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      front_q <= front_d;
      check_valid_q <= check_valid_d;
      pending_q <= pending_d;
      back_q <= back_d;
      record_valid_q <= record_valid_d;
      job_valid_q <= job_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    first_q <= first_d;
    status_q <= status_d;
    vendor_q <= vendor_d;
    left_q <= left_d;
    length_q <= length_d;
    address_q <= address_d;
    psn_q <= psn_d;
    first_psn_q <= first_psn_d;
    last_psn_q <= last_psn_d;
    mtu_q <= mtu_d;
    pdn_q <= pdn_d;
    signaled_q <= signaled_d;
    check_q <= check_d;
    record_q <= record_d;
    job_q <= job_d;
    failure_q <= failure_d;
  end

  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign record_valid_o = record_valid_q;
  assign record_o = record_q;
  assign job_valid_o = job_valid_q;
  assign job_o = job_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign idle_o = front_q == FrIdle && !work_valid && !load_valid && pending_q == '0
               && !record_valid_q && !job_valid_q && !failure_valid_q && !check_valid_q;

endmodule
