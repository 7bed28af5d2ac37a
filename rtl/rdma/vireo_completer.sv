// SPDX-License-Identifier: Apache-2.0

// Keeps the send_records of every QP in order, as a ring in memory, until acknowledges, a failure or a change of state
// end them; gives a completion for each and tells the send queue of the room. It decides nothing about packets: it
// resends nothing and counts no time.
//
//   ACK        every record whose last PSN it covers completes with success  [IBTA vol. 1, 9.7.5.1.2]
//   NAK        what it acknowledges on the way completes with success, the next record with the NAK's status
//              [IBTA vol. 1, 9.7.5.2], all others flush
//   failed     a record that came with a status completes with it when it is the oldest, then all others flush
//   ERR        all flush
//   clear      all are forgotten, without completion
//
// An acknowledge outside of what is not acknowledged yet is ignored. [IBTA vol. 1, 9.7.5]
module vireo_completer
  import vireo_spec_pkg::*;
#(
  parameter int unsigned NetQueuePairs = 16,
  parameter int unsigned NumCqs = 1024,
  parameter int unsigned NumQps = 1024,     // a power of two, 2 or more
  parameter int unsigned SendRecords = 32   // per QP; a power of two, 2 or more
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              mq_i,  // net_feature.mq was accepted: there are NetQueuePairs pairs, else one

  input  logic              table_write_valid_i,
  input  table_write_t      table_write_i,
  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,

  input  logic              record_valid_i,
  output logic              record_ready_o,
  input  send_record_t      record_i,

  input  logic              ack_valid_i,
  output logic              ack_ready_o,
  input  rx_ack_t           ack_i,

  output logic              completion_valid_o,
  input  logic              completion_ready_i,
  output completion_t       completion_o,

  output logic              retired_valid_o,
  input  logic              retired_ready_i,
  output doorbell_t         retired_o,

  output logic              failure_valid_o,
  input  logic              failure_ready_i,
  output qp_failure_t       failure_o,

  output logic              idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned SlotBits = $clog2(SendRecords);
  // virtio 1.3, 5.1.2: without the feature, the other queues follow the first pair.
  localparam logic [15:0] FirstQueueOne = 16'(2 * NetMqVqPairsMin + NumCqs) + RdmaTransmitqOffset;
  localparam logic [15:0] FirstQueueMany = 16'(2 * NetQueuePairs + NumCqs) + RdmaTransmitqOffset;

  logic [15:0] first_queue_q;  // where the send queues' indices begin

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_queue_q <= FirstQueueOne;
    else first_queue_q <= mq_i ? FirstQueueMany : FirstQueueOne;
  end

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic record_valid, record_pop, ack_valid, ack_pop;
  send_record_t record;
  /* verilator lint_off UNUSEDSIGNAL */  // msn: for credits and duplicates of RDMA READ, later
  rx_ack_t ack;
  /* verilator lint_on UNUSEDSIGNAL */

  vireo_slice #(.Width(SendRecordBits)) u_record (
    .clk_i, .rst_ni,
    .s_valid_i(record_valid_i), .s_ready_o(record_ready_o), .s_data_i(record_i),
    .m_valid_o(record_valid), .m_ready_i(record_pop), .m_data_o(record)
  );
  vireo_slice #(.Width(RxAckBits)) u_ack (
    .clk_i, .rst_ni,
    .s_valid_i(ack_valid_i), .s_ready_o(ack_ready_o), .s_data_i(ack_i),
    .m_valid_o(ack_valid), .m_ready_i(ack_pop), .m_data_o(ack)
  );

  // Two sets, so that a QP that is set up anew before its turn has come is cleared all the same.
  logic clear_valid, clear_pop, clear_empty, flush_valid, flush_pop, flush_empty;
  logic [QpBits-1:0] clear_qpn, flush_qpn;

  vireo_qp_set #(.Entries(NumQps)) u_clear (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.clear), .push_i(qp_state_write_i.qpn[QpBits-1:0]),
    .pop_valid_o(clear_valid), .pop_ready_i(clear_pop), .pop_o(clear_qpn), .empty_o(clear_empty)
  );
  vireo_qp_set #(.Entries(NumQps)) u_flush (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.state == 3'(IbQpStateErr)),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]),
    .pop_valid_o(flush_valid), .pop_ready_i(flush_pop), .pop_o(flush_qpn), .empty_o(flush_empty)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  // A QP's ring.
  typedef struct packed {
    logic failed;                // it completed something with an error: all else flushes
    logic [SlotBits-1:0] oldest;
    logic [SlotBits:0] count;
    logic [23:0] unacked;        // oldest PSN without an acknowledge
    logic [23:0] newest;         // last PSN of the newest record
  } ring_t;

  // A record as it is kept.
  typedef struct packed {
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] opcode;      // ib_wc_opcode_e
    logic [7:0] status;      // ib_wc_status_e
    logic [31:0] vendor_err;
    logic signaled;
    logic silent;
    logic [23:0] last_psn;
  } kept_t;

  logic read, ring_write, kept_write, kept_read;
  logic [QpBits-1:0] qpn_d, qpn_q;
  ring_t ring_stored, ring_d, ring_q, ring;
  kept_t kept_in, kept;
  logic [SlotBits-1:0] kept_slot;
  logic [2:0] qp_state;
  logic [15:0] cqn;
  /* verilator lint_off UNUSEDSIGNAL */  // most attributes belong to others
  table_qp_context_t context_in;
  /* verilator lint_on UNUSEDSIGNAL */
  logic unused_bits;

  assign context_in = unpack_table_qp_context(table_write_i.data);
  assign unused_bits = &{1'b0, table_write_i.index[23:QpBits], qp_state_write_i.qpn[23:QpBits], record.qpn[23:QpBits]};

  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(qp_state)
  );
  vireo_table #(.Width(16), .Depth(NumQps)) u_cqn (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(context_in.send_cqn),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(cqn)
  );
  vireo_table #(.Width($bits(ring_t)), .Depth(NumQps)) u_ring (
    .clk_i, .rst_ni,
    .write_i(ring_write), .write_address_i(qpn_q), .write_data_i(ring_d),
    .read_i(read), .read_address_i(qpn_d), .read_data_o(ring_stored)
  );
  vireo_ram_1r1w #(.Width($bits(kept_t)), .Depth(NumQps * SendRecords)) u_kept (
    .clk_i,
    .write_i(kept_write), .write_address_i({qpn_q, kept_slot}), .write_data_i(kept_in),
    .read_i(kept_read), .read_address_i({qpn_q, ring_q.oldest}), .read_data_o(kept)
  );

  // --- Machine -------------------------------------------------------------------------------------------------------

  typedef enum logic [1:0] {OpClear, OpFlush, OpRecord, OpAck} op_e;
  typedef enum logic [1:0] {StChoose, StDecide, StRead, StCheck} state_e;
  // Why records leave.
  typedef enum logic [2:0] {
    WhyForget,  // all, without completion
    WhyFlush,   // all
    WhyOwn,     // those that came with a status, and what is behind them
    WhyAck,     // those that are covered
    WhyNak      // those that are covered; the next one fails
  } why_e;

  state_e state_d, state_q;
  op_e op_d, op_q;
  why_e why_d, why_q;
  logic [24:0] covered_d, covered_q;  // PSNs that the acknowledge covers, from base on
  logic [23:0] base_d, base_q;
  logic [7:0] nak_status_d, nak_status_q, syndrome_d, syndrome_q;
  logic completion_valid_d, completion_valid_q, retired_valid_d, retired_valid_q, failure_valid_d, failure_valid_q;
  logic all_free;
  completion_t completion_d, completion_q;
  doorbell_t retired_d, retired_q;
  qp_failure_t failure_d, failure_q;
  rdma_cq_req_t cqe;

  logic counts, is_positive, done, leaves, completes;
  logic [23:0] distance;
  logic [7:0] status;
  logic [31:0] vendor;
  logic [15:0] queue_index;
  logic [1:0] ack_kind;   // aeth_kind_e
  logic [4:0] ack_value;

  // States in which records count; in others they are left from before a clear.
  function automatic logic keeps(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd) || state == 3'(IbQpStateSqe);
  endfunction

  // [IBTA vol. 1, tables 44, 45; 11.6.2]
  function automatic logic [7:0] status_of_nak(input logic [1:0] kind, input logic [4:0] value);
    if (kind == AethKindRnrNak) return IbWcStatusRnrRetryExcErr;   // retries: later
    if (kind == AethKindNak) begin
      unique case (value)
        NakCodePsnSequenceError: return IbWcStatusRetryExcErr;     // resending: later
        NakCodeInvalidRequest: return IbWcStatusRemInvReqErr;
        NakCodeRemoteAccessError: return IbWcStatusRemAccessErr;
        NakCodeRemoteOperationalError: return IbWcStatusRemOpErr;
        default: return IbWcStatusBadRespErr;
      endcase
    end
    return IbWcStatusBadRespErr;
  endfunction

  assign kept_in = '{head: record.head, wr_id: record.wr_id, opcode: record.opcode, status: record.status,
                     vendor_err: record.vendor_err, signaled: record.signaled, silent: record.silent,
                     last_psn: record.last_psn};

  always_comb begin
    state_d = state_q;
    op_d = op_q;
    qpn_d = qpn_q;
    why_d = why_q;
    covered_d = covered_q;
    base_d = base_q;
    nak_status_d = nak_status_q;
    syndrome_d = syndrome_q;
    read = 1'b0;
    clear_pop = 1'b0;
    flush_pop = 1'b0;
    record_pop = 1'b0;
    ack_pop = 1'b0;
    ring = ring_stored;
    ring_d = ring_q;
    ring_write = 1'b0;
    kept_write = 1'b0;
    kept_slot = '0;
    kept_read = 1'b0;
    completion_valid_d = completion_valid_q && !completion_ready_i;
    completion_d = completion_q;
    retired_valid_d = retired_valid_q && !retired_ready_i;
    retired_d = retired_q;
    failure_valid_d = failure_valid_q && !failure_ready_i;
    failure_d = failure_q;
    all_free = !completion_valid_d && !retired_valid_d && !failure_valid_d;

    {ack_kind, ack_value} = ack.syndrome[6:0];  // the highest bit is reserved
    is_positive = ack_kind == AethKindAck;
    distance = ack.psn - ring.unacked;
    counts = keeps(qp_state) && !ring.failed && ring.count != '0 && distance <= ring.newest - ring.unacked;

    queue_index = first_queue_q + {15'(qpn_q), 1'b0};
    done = {1'b0, kept.last_psn - base_q} < covered_q;
    leaves = 1'b1;
    completes = 1'b1;
    status = IbWcStatusWrFlushErr;
    vendor = '0;
    if (why_q == WhyForget || kept.silent) begin
      completes = 1'b0;
    end else if (kept.status != IbWcStatusSuccess) begin
      status = kept.status;
      vendor = kept.vendor_err;
    end else if ((why_q == WhyAck || why_q == WhyNak) && done) begin
      status = IbWcStatusSuccess;
    end else if (why_q == WhyNak) begin
      status = nak_status_q;
      vendor = 32'(syndrome_q);
    end else if (why_q != WhyFlush && !ring_q.failed) begin
      leaves = 1'b0;
      completes = 1'b0;
    end
    cqe = '{wr_id: kept.wr_id, status: status, opcode: kept.opcode, vendor_err: vendor, qp_num: 32'(qpn_q),
            default: '0};

    unique case (state_q)
      StChoose: begin
        read = 1'b1;
        state_d = StDecide;
        // Records before acknowledges: a record is always here before the acknowledge of its packets.
        if (clear_valid) begin
          op_d = OpClear;
          qpn_d = clear_qpn;
          clear_pop = 1'b1;
        end else if (flush_valid) begin
          op_d = OpFlush;
          qpn_d = flush_qpn;
          flush_pop = 1'b1;
        end else if (record_valid) begin
          op_d = OpRecord;
          qpn_d = record.qpn[QpBits-1:0];
        end else if (ack_valid) begin
          op_d = OpAck;
          qpn_d = ack.qpn[QpBits-1:0];
        end else begin
          read = 1'b0;
          state_d = StChoose;
        end
      end
      StDecide: begin
        state_d = StRead;
        unique case (op_q)
          OpClear: begin
            why_d = WhyForget;
            ring.failed = 1'b0;
          end
          OpFlush: begin
            why_d = WhyFlush;
            if (qp_state != 3'(IbQpStateErr)) state_d = StChoose;
          end
          OpRecord: begin
            record_pop = 1'b1;
            if (record.amends) begin
              kept_slot = ring.oldest + SlotBits'(ring.count) - 1'b1;
              kept_write = ring.count != '0;
            end else begin
              kept_slot = ring.oldest + SlotBits'(ring.count);
              kept_write = 1'b1;
              if (ring.count == '0) ring.unacked = record.first_psn;
              ring.newest = record.last_psn;
              ring.count = ring.count + 1'b1;
            end
            if (qp_state == 3'(IbQpStateErr)) why_d = WhyFlush;
            else if (!keeps(qp_state)) why_d = WhyForget;
            else why_d = WhyOwn;
            if (why_d == WhyOwn && !ring.failed && record.status == IbWcStatusSuccess && !record.silent) begin
              ring_write = 1'b1;
              state_d = StChoose;
            end
          end
          default: begin  // OpAck
            ack_pop = 1'b1;
            why_d = is_positive ? WhyAck : WhyNak;
            nak_status_d = status_of_nak(ack_kind, ack_value);
            syndrome_d = ack.syndrome;
            base_d = ring.unacked;
            covered_d = {1'b0, distance} + 25'(is_positive);
            if (counts && !(|ack.qpn[23:QpBits])) ring.unacked = ring.unacked + covered_d[23:0];
            else state_d = StChoose;
          end
        endcase
        ring_d = ring;
      end
      StRead: begin
        if (ring_q.count == '0) begin
          ring_write = 1'b1;
          state_d = StChoose;
        end else begin
          kept_read = 1'b1;
          state_d = StCheck;
        end
      end
      StCheck: begin
        if (!leaves) begin
          ring_write = 1'b1;
          state_d = StChoose;
        end else if (all_free) begin
          retired_valid_d = 1'b1;
          retired_d = '{vq_index: queue_index};
          completion_valid_d = completes;
          if (completes) begin
            completion_d = '{vq_index: queue_index, head: kept.head, used_bytes: '0,
                             has_cqe: kept.signaled || status != IbWcStatusSuccess, cqn: cqn,
                             solicited: status != IbWcStatusSuccess, cqe: pack_rdma_cq_req(cqe)};
          end
          ring_d.oldest = ring_q.oldest + 1'b1;
          ring_d.count = ring_q.count - 1'b1;
          if (why_q != WhyForget && (kept.silent || status != IbWcStatusSuccess)) ring_d.failed = 1'b1;
          if (why_q == WhyNak && completes && status != IbWcStatusSuccess && kept.status == IbWcStatusSuccess) begin
            failure_valid_d = 1'b1;
            failure_d = '{qpn: 24'(qpn_q), event_type: 16'(RdmaEventTypeQpFatal), code: 32'(syndrome_q)};
          end
          if (ring_d.failed && why_q != WhyForget) why_d = WhyFlush;
          state_d = StRead;
        end
      end
      default: state_d = StChoose;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StChoose;
      completion_valid_q <= 1'b0;
      retired_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      completion_valid_q <= completion_valid_d;
      retired_valid_q <= retired_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    op_q <= op_d;
    qpn_q <= qpn_d;
    why_q <= why_d;
    covered_q <= covered_d;
    base_q <= base_d;
    nak_status_q <= nak_status_d;
    syndrome_q <= syndrome_d;
    ring_q <= ring_d;
    completion_q <= completion_d;
    retired_q <= retired_d;
    failure_q <= failure_d;
  end

  assign completion_valid_o = completion_valid_q;
  assign completion_o = completion_q;
  assign retired_valid_o = retired_valid_q;
  assign retired_o = retired_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign idle_o = state_q == StChoose && clear_empty && flush_empty && !record_valid && !ack_valid
               && !completion_valid_q && !retired_valid_q && !failure_valid_q;

endmodule
