// SPDX-License-Identifier: Apache-2.0

// The only block that changes the state of a QP: on firmware's orders and on failures that other blocks report, one at
// a time. It broadcasts the new state (qp_state_write) and then sends the event for the host (host_event). SQE causes
// no event, and comm_est, which arrives like a failure, changes no state. Firmware's own events pass through it, so
// that all events form one stream in order. A failed virtqueue fails its QP, too, a failed CQ every QP that completes
// into it. It uses only the state that firmware requests, the CQs of a QP, and the
// ownership of virtqueues. An entry with bad parity changes no QP: a virtqueue has no owner, a QP no CQ, the state in
// force is ERR, the requested one is not applied. The virtqueue of a shared receive queue fails no QP.
module vireo_qp_control
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,
  localparam int unsigned NumQueues = queues_of(Config)  // virtqueues of all kinds
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            qp_order_valid_i,
  output logic            qp_order_ready_o,
  input  qp_order_t       qp_order_i,
  input  logic            requester_failure_valid_i,
  output logic            requester_failure_ready_o,
  input  qp_failure_t     requester_failure_i,
  input  logic            completer_failure_valid_i,
  output logic            completer_failure_ready_o,
  input  qp_failure_t     completer_failure_i,
  input  logic            responder_failure_valid_i,
  output logic            responder_failure_ready_o,
  input  qp_failure_t     responder_failure_i,
  input  logic            desc_fetch_failure_valid_i,
  output logic            desc_fetch_failure_ready_o,
  input  queue_failure_t  desc_fetch_failure_i,
  input  logic            work_failure_valid_i,
  output logic            work_failure_ready_o,
  input  queue_failure_t  work_failure_i,
  input  logic            csr_event_valid_i,
  output logic            csr_event_ready_o,
  input  host_event_t     csr_event_i,

  input  logic            table_write_valid_i,
  input  table_write_t    table_write_i,
  input  logic            context_flip_valid_i,
  input  context_flip_t   context_flip_i,
  output logic            parity_error_o,
  input  logic            swept_i,  // nothing of before the order is in progress any more
  input  logic            qp_sends_valid_i,
  input  qp_sends_t       qp_sends_i,

  output logic            qp_state_write_valid_o,
  output qp_state_write_t qp_state_write_o,
  output logic            sweep_o,  // an order waits for swept_i
  output logic            qp_done_valid_o,
  output qp_done_t        qp_done_o,
  output logic            host_event_valid_o,
  input  logic            host_event_ready_i,
  output host_event_t     host_event_o,
  output logic            idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned QueueBits = $clog2(NumQueues);
  localparam int unsigned StateBits = 3;   // of ib_qp_state, as in qp_state_write
  localparam int unsigned KindBits = 3;    // of table_queue_kind
  localparam int unsigned OwnerBits = 24;  // of table_virtqueue.owner
  // Cycles for the blocks to process a new state before swept_i, or their reports of a drain, count.
  localparam int unsigned FenceCycles = 4;
  localparam int unsigned FenceBits = $clog2(FenceCycles + 1);

  // --- Inputs, round robin -------------------------------------------------------------------------------------------

  typedef enum int unsigned {
    InRequester,
    InCompleter,
    InResponder,
    InDescFetch,
    InWork,
    InEvent,
    InOrder,
    Inputs
  } input_e;
  localparam int unsigned InputBits = $clog2(Inputs);

  logic [Inputs-1:0] valid, ready, requests;
  logic [QueueBits:0] queued_d, queued_q;  // tokens of desc_fetch, including those on their way through the FIFO
  qp_failure_t [InResponder:InRequester] qp_failure;
  queue_failure_t [InWork:InDescFetch] queue_failure;
  host_event_t event_in;
  qp_order_t order_in;

  vireo_slice #(.Width(QpFailureBits)) u_requester (
    .clk_i, .rst_ni,
    .s_valid_i(requester_failure_valid_i), .s_ready_o(requester_failure_ready_o), .s_data_i(requester_failure_i),
    .m_valid_o(valid[InRequester]), .m_ready_i(ready[InRequester]), .m_data_o(qp_failure[InRequester])
  );
  vireo_slice #(.Width(QpFailureBits)) u_completer (
    .clk_i, .rst_ni,
    .s_valid_i(completer_failure_valid_i), .s_ready_o(completer_failure_ready_o), .s_data_i(completer_failure_i),
    .m_valid_o(valid[InCompleter]), .m_ready_i(ready[InCompleter]), .m_data_o(qp_failure[InCompleter])
  );
  vireo_slice #(.Width(QpFailureBits)) u_responder (
    .clk_i, .rst_ni,
    .s_valid_i(responder_failure_valid_i), .s_ready_o(responder_failure_ready_o), .s_data_i(responder_failure_i),
    .m_valid_o(valid[InResponder]), .m_ready_i(ready[InResponder]), .m_data_o(qp_failure[InResponder])
  );
  // Space for every queue, so that descriptor fetch and the CQ writer, which consume the outputs, never wait for it.
  vireo_fifo #(.Width(QueueFailureBits), .Depth(2 ** QueueBits),
               .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))) u_desc_fetch (
    .clk_i, .rst_ni,
    .s_valid_i(desc_fetch_failure_valid_i), .s_ready_o(desc_fetch_failure_ready_o), .s_data_i(desc_fetch_failure_i),
    .m_valid_o(valid[InDescFetch]), .m_ready_i(ready[InDescFetch]), .m_data_o(queue_failure[InDescFetch])
  );
  vireo_slice #(.Width(QueueFailureBits)) u_work (
    .clk_i, .rst_ni,
    .s_valid_i(work_failure_valid_i), .s_ready_o(work_failure_ready_o), .s_data_i(work_failure_i),
    .m_valid_o(valid[InWork]), .m_ready_i(ready[InWork]), .m_data_o(queue_failure[InWork])
  );
  vireo_slice #(.Width(HostEventBits)) u_csr_event (
    .clk_i, .rst_ni,
    .s_valid_i(csr_event_valid_i), .s_ready_o(csr_event_ready_o), .s_data_i(csr_event_i),
    .m_valid_o(valid[InEvent]), .m_ready_i(ready[InEvent]), .m_data_o(event_in)
  );
  vireo_slice #(.Width(QpOrderBits)) u_order (
    .clk_i, .rst_ni,
    .s_valid_i(qp_order_valid_i), .s_ready_o(qp_order_ready_o), .s_data_i(qp_order_i),
    .m_valid_o(valid[InOrder]), .m_ready_i(ready[InOrder]), .m_data_o(order_in)
  );

  // --- State ---------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StIdle,    // accepts the next token
    StQueue,   // looks up the virtqueue's owner
    StQp,      // looks up the QP
    StDecide,
    StSendEvents,     // events leave
    StScan,    // looks up whether the next QP completes into the CQ that failed
    StMatch
  } state_e;
  state_e state_d, state_q;

  typedef enum logic [1:0] {
    JobQpFailure,
    JobQueueFailure,
    JobEvent,
    JobOrder
  } job_e;
  // The current token. For a virtqueue, qpn becomes its owner: QP or CQ.
  job_e job_d, job_q;
  logic [23:0] qpn_d, qpn_q;
  logic has_qp_d, has_qp_q;  // qpn names an existing QP
  logic [15:0] vq_index_d, vq_index_q;
  logic [2:0] operation_d, operation_q;
  host_event_t event_d, event_q;  // as received, or type and code of the failure
  logic send_only_d, send_only_q;
  logic reported_d, reported_q;  // by a completion
  logic is_cq_d, is_cq_q;
  logic scanning_d, scanning_q;  // a QP is left to be looked up
  logic [QpBits-1:0] scan_d, scan_q;
  logic [InputBits-1:0] winner_d, winner_q;  // the last granted input

  // An order that completes when nothing of before it is in progress.
  logic fence_d, fence_q;
  // It ended in the cycle before. Other blocks see its end one cycle late and do not count deferred work as work until
  // then, so this block must not be idle, or all would seem to be.
  logic fenced_q;
  logic [FenceBits-1:0] fence_count_d, fence_count_q;

  // A drain whose end is to be reported. Unlike other orders it blocks no other; a later one supersedes it silently.
  logic drain_d, drain_q;
  logic [QpBits-1:0] drain_qpn_d, drain_qpn_q;
  logic sends;  // it has work requests outstanding, as of two cycles ago
  logic sends_recent_q;  // an update arrived since

  // After a reset every vireo_index_set is cleared, NumQps cycles long: no state is broadcast meanwhile.
  logic starts;
  logic [QpBits:0] start_q;
  assign starts = start_q != (QpBits + 1)'(NumQps);

  logic state_write_valid_d, state_write_valid_q;
  qp_state_write_t state_write_d, state_write_q;
  logic done_d, done_q, done_drain_d, done_drain_q;
  logic event0_d, event0_q, event1_d, event1_q;  // events to send; the second only after the first
  host_event_t host_event0_d, host_event0_q, host_event1_d, host_event1_q;

  // --- Tables --------------------------------------------------------------------------------------------------------

  logic [StateBits-1:0] engine_stored, engine_state, requested_state;
  logic written_srq, is_srq;
  logic engine_corrupt, requested_corrupt, cqns_corrupt, queue_corrupt;
  logic [15:0] send_cqn, recv_cqn;
  logic [QpBits-1:0] state_index;
  logic [KindBits-1:0] kind;
  logic [OwnerBits-1:0] owner;
  logic table_is_qp, table_is_queue;
  table_qp_context_t table_qp;
  table_virtqueue_t table_queue;
  logic unused_bits;

  assign table_is_qp = table_write_valid_i && table_write_i.table_id == MgmtTableQpContext;
  assign table_is_queue = table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue;
  // Otherwise the written value is zero, so that simulation skips it.
  always_comb begin
    table_qp = '0;
    table_queue = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      table_qp = unpack_table_qp_context(table_write_i.data);
      table_queue = unpack_table_virtqueue(table_write_i.data[511:0]);
    end
  end

  assign unused_bits = ^{table_write_i, table_qp, table_queue, qp_sends_i};
  assign state_index = state_q == StScan ? scan_q : qpn_d[QpBits-1:0];

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(StateBits), .Depth(NumQps), .Ram(ContextRamQpControlState), .Gates(1'b0)
  ) u_engine_state (
    .clk_i, .rst_ni,
    .write_i(state_write_valid_d), .write_address_i(state_write_d.qpn[QpBits-1:0]), .write_data_i(state_write_d.state),
    .read_i(state_q == StQp || state_q == StScan), .read_address_i(state_index), .read_data_o(engine_stored),
    .corrupt_o(engine_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  assign engine_state = engine_corrupt ? IbQpStateErr[StateBits-1:0] : engine_stored;
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(32), .Depth(NumQps), .Ram(ContextRamQpControlCqs), .Gates(1'b0)
  ) u_cqns (
    .clk_i, .rst_ni,
    .write_i(table_is_qp), .write_address_i(table_write_i.index[QpBits-1:0]),
    .write_data_i({table_qp.send_cqn, table_qp.recv_cqn}),
    .read_i(state_q == StScan), .read_address_i(scan_q), .read_data_o({send_cqn, recv_cqn}),
    .corrupt_o(cqns_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(StateBits + 1), .Depth(NumQps), .Ram(ContextRamQpControlRequested), .Gates(1'b0)
  ) u_requested_state (
    .clk_i, .rst_ni,
    .write_i(table_is_qp), .write_address_i(table_write_i.index[QpBits-1:0]),
    .write_data_i({Config.max_srqs != 0 && table_qp.is_srq, table_qp.state[StateBits-1:0]}),
    .read_i(state_q == StQp), .read_address_i(qpn_d[QpBits-1:0]), .read_data_o({written_srq, requested_state}),
    .corrupt_o(requested_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_table #(.Width(1), .Depth(NumQps)) u_sends (
    .clk_i, .rst_ni,
    .write_i(qp_sends_valid_i), .write_address_i(qp_sends_i.qpn[QpBits-1:0]),
    .write_data_i(qp_sends_i.outstanding != '0),
    .read_i(1'b1), .read_address_i(drain_qpn_q), .read_data_o(sends)
  );
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(KindBits + OwnerBits), .Depth(NumQueues), .Ram(ContextRamQpControlQueue), .Gates(1'b0)
  ) u_queue (
    .clk_i, .rst_ni,
    .write_i(table_is_queue), .write_address_i(table_write_i.index[QueueBits-1:0]),
    .write_data_i({table_queue.kind[KindBits-1:0], table_queue.owner}),
    .read_i(state_q == StQueue), .read_address_i(vq_index_q[QueueBits-1:0]), .read_data_o({kind, owner}),
    .corrupt_o(queue_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );

  // --- Actions -------------------------------------------------------------------------------------------------------

  logic [InputBits-1:0] pick;
  logic take;
  logic can_fail;    // a state that a failure can stop (IBTA vol. 1, 10.3.1)
  logic can_fail_now;  // and the QP exists
  logic queue_exists, queue_known;
  logic is_event, is_drained;  // the token is an event that changes no state; of a QP in ERR

  assign can_fail = engine_state >= IbQpStateRtr[StateBits-1:0] && engine_state <= IbQpStateSqe[StateBits-1:0];
  assign can_fail_now = has_qp_q && can_fail;
  assign is_srq = job_q == JobQueueFailure && has_qp_q && written_srq && !requested_corrupt;
  assign is_event = event_q.event_type == RdmaEventTypeCommEst[15:0]
                 || event_q.event_type == RdmaEventTypeQpLastWqeReached[15:0];
  assign is_drained = has_qp_q && engine_state == IbQpStateErr[StateBits-1:0]
                   && event_q.event_type == RdmaEventTypeQpLastWqeReached[15:0];
  assign queue_exists = 32'(vq_index_q) < NumQueues;
  assign queue_known = queue_exists && !queue_corrupt;

  // An order waits for the end of the previous one; failures do not, or a block that has one would not end.
  assign requests = valid & ~(Inputs'(fence_q || starts) << InOrder);
  vireo_rr_pick #(.Inputs(Inputs)) u_pick (.requests_i(requests), .last_i(winner_q), .pick_o(pick));

  always_comb begin
    state_d = state_q;
    job_d = job_q;
    qpn_d = qpn_q;
    has_qp_d = has_qp_q;
    vq_index_d = vq_index_q;
    operation_d = operation_q;
    event_d = event_q;
    send_only_d = send_only_q;
    reported_d = reported_q;
    is_cq_d = is_cq_q;
    scanning_d = scanning_q;
    scan_d = scan_q;
    winner_d = winner_q;
    fence_d = fence_q;
    fence_count_d = fence_count_q;
    state_write_valid_d = 1'b0;
    state_write_d = state_write_q;
    done_d = 1'b0;
    done_drain_d = 1'b0;
    drain_d = drain_q;
    drain_qpn_d = drain_qpn_q;
    event0_d = event0_q;
    event1_d = event1_q;
    host_event0_d = host_event0_q;
    host_event1_d = host_event1_q;
    ready = '0;

    take = state_q == StIdle && requests != '0;

    if (fence_count_q != '0) begin
      fence_count_d = fence_count_q - 1'b1;
    end else begin
      if (fence_q && swept_i) begin
        fence_d = 1'b0;
        done_d = 1'b1;
      end
      if (drain_q && !sends) begin
        drain_d = 1'b0;
        done_d = 1'b1;
        done_drain_d = 1'b1;
      end
    end

    unique case (state_q)
      StIdle: if (take) begin
        winner_d = pick;
        ready[winner_d] = 1'b1;
        state_d = StQueue;
        is_cq_d = 1'b0;
        unique case (winner_d)
          InputBits'(InDescFetch), InputBits'(InWork): begin
            job_d = JobQueueFailure;
            vq_index_d = winner_d == InputBits'(InDescFetch) ? queue_failure[InDescFetch].vq_index : queue_failure[InWork].vq_index;
            event_d.code = 32'(queue_failure[InWork].code);
            if (winner_d == InputBits'(InDescFetch)) event_d.code = 32'(queue_failure[InDescFetch].code);
          end
          InputBits'(InEvent): begin
            job_d = JobEvent;
            event_d = event_in;
          end
          InputBits'(InOrder): begin
            job_d = JobOrder;
            qpn_d = order_in.qpn;
            operation_d = order_in.operation;
          end
          default: begin
            job_d = JobQpFailure;
            qpn_d = qp_failure[winner_d[1:0]].qpn;
            event_d.event_type = qp_failure[winner_d[1:0]].event_type;
            event_d.code = qp_failure[winner_d[1:0]].code;
            send_only_d = qp_failure[winner_d[1:0]].send_only;
            reported_d = qp_failure[winner_d[1:0]].reported;
          end
        endcase
      end

      StQueue: state_d = StQp;

      StQp: begin
        state_d = StDecide;
        has_qp_d = 32'(qpn_q) < NumQps;
        if (job_q == JobQueueFailure) begin
          qpn_d = owner;
          is_cq_d = queue_known && kind == TableQueueKindCq[KindBits-1:0];
          has_qp_d = queue_known && 32'(owner) < NumQps &&
                     (kind == TableQueueKindSq[KindBits-1:0] || kind == TableQueueKindRq[KindBits-1:0]);
        end
      end

      StDecide: begin
        state_d = StIdle;
        state_write_d.qpn = qpn_q;
        state_write_d.state = IbQpStateErr[StateBits-1:0];
        state_write_d.clear = 1'b0;
        unique case (job_q)
          JobQpFailure: begin
            host_event0_d = '{event_type: event_q.event_type, element: 32'(qpn_q), code: event_q.code};
            if (send_only_q) begin
              // [IBTA vol. 1, 10.3.1.6]
              state_write_d.state = IbQpStateSqe[StateBits-1:0];
              state_write_valid_d = has_qp_q && (engine_state == IbQpStateRts[StateBits-1:0]
                                                 || engine_state == IbQpStateSqd[StateBits-1:0]);
            end else if (can_fail_now || is_drained) begin
              state_write_valid_d = !is_event;
              // This event is for errors that no completion can report. [IBTA vol. 1, 11.6.3.2]
              if (!(reported_q && event_q.event_type == RdmaEventTypeQpFatal[15:0])) begin
                event0_d = 1'b1;
                state_d = StSendEvents;
              end
            end
          end
          // docs/decisions/0003: "Violation", and "CQ full", where the ring is well-formed
          JobQueueFailure: begin
            event0_d = 1'b1;
            host_event0_d =
                '{event_type: RdmaEventTypeVqErr[15:0], element: 32'(vq_index_q), code: event_q.code};
            state_write_valid_d = can_fail_now;
            event1_d = can_fail_now || is_cq_q;
            host_event1_d = '{event_type: is_cq_q ? RdmaEventTypeCqErr[15:0] : RdmaEventTypeQpFatal[15:0],
                              element: 32'(qpn_q), code: event_q.code};
            if (is_cq_q && event_q.code == 32'(RdmaErrorCqOverrun)) begin
              host_event0_d = host_event1_d;
              event1_d = 1'b0;
            end
            if (is_srq) begin
              event1_d = 1'b1;
              host_event1_d.event_type = RdmaEventTypeSrqErr[15:0];
              if (event_q.code == 32'(RdmaErrorOk)) begin
                event1_d = 1'b0;
                host_event0_d = host_event1_d;
                host_event0_d.event_type = RdmaEventTypeSrqLimitReached[15:0];
              end
            end
            scanning_d = is_cq_q;
            scan_d = '0;
            state_d = StSendEvents;
          end
          JobEvent: begin
            event0_d = 1'b1;
            host_event0_d = event_q;
            state_d = StSendEvents;
          end
          // tables.toml, table_qp_context
          default: begin
            done_d = 1'b1;
            done_drain_d = 1'b0;
            drain_d = 1'b0;
            if (has_qp_q) begin
              unique case (operation_q)
                QpOperationStart: begin
                  state_write_d.state = requested_state;
                  state_write_valid_d = engine_state != IbQpStateErr[StateBits-1:0] && !requested_corrupt;
                end
                QpOperationDrain: begin
                  state_write_d.state = IbQpStateSqd[StateBits-1:0];
                  state_write_valid_d = engine_state == IbQpStateRts[StateBits-1:0];
                  done_d = 1'b0;
                  drain_d = 1'b1;
                  drain_qpn_d = qpn_q[QpBits-1:0];
                  fence_count_d = FenceBits'(FenceCycles);
                end
                QpOperationFlush, QpOperationStop: begin
                  state_write_valid_d = 1'b1;
                  if (operation_q == QpOperationStop) begin
                    state_write_d.state = IbQpStateReset[StateBits-1:0];
                    state_write_d.clear = 1'b1;
                  end
                  done_d = 1'b0;
                  fence_d = 1'b1;
                  fence_count_d = FenceBits'(FenceCycles);
                end
                default: ;  // no such operation: done, without effect
              endcase
            end
          end
        endcase
      end

      StSendEvents: if (host_event_ready_i) begin
        event0_d = event1_q;
        event1_d = 1'b0;
        host_event0_d = host_event1_q;
        if (!event1_q) state_d = scanning_q ? StScan : StIdle;
      end

      StScan: state_d = StMatch;

      StMatch: begin
        scan_d = scan_q + 1'b1;
        scanning_d = scan_q != QpBits'(NumQps - 1);
        state_d = scanning_d ? StScan : StIdle;
        state_write_d = '{qpn: 24'(scan_q), state: IbQpStateErr[StateBits-1:0], clear: 1'b0};
        host_event0_d = '{event_type: RdmaEventTypeQpFatal[15:0], element: 32'(scan_q), code: 32'(RdmaErrorCqFailed)};
        if (can_fail && !cqns_corrupt && (24'(send_cqn) == qpn_q || 24'(recv_cqn) == qpn_q)) begin
          state_write_valid_d = 1'b1;
          event0_d = 1'b1;
          state_d = StSendEvents;
        end
      end

      default: state_d = StIdle;
    endcase

    queued_d = queued_q + (QueueBits + 1)'(desc_fetch_failure_valid_i && desc_fetch_failure_ready_o)
             - (QueueBits + 1)'(valid[InDescFetch] && ready[InDescFetch]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      winner_q <= InputBits'(Inputs - 1);
      fence_q <= 1'b0;
      fenced_q <= 1'b0;
      drain_q <= 1'b0;
      fence_count_q <= '0;
      state_write_valid_q <= 1'b0;
      done_q <= 1'b0;
      event0_q <= 1'b0;
      event1_q <= 1'b0;
      scanning_q <= 1'b0;
      start_q <= '0;
      queued_q <= '0;
    end else begin
      state_q <= state_d;
      winner_q <= winner_d;
      fence_q <= fence_d;
      fenced_q <= fence_q;
      drain_q <= drain_d;
      fence_count_q <= fence_count_d;
      state_write_valid_q <= state_write_valid_d;
      done_q <= done_d;
      event0_q <= event0_d;
      event1_q <= event1_d;
      scanning_q <= scanning_d;
      if (starts) start_q <= start_q + 1'b1;
      queued_q <= queued_d;
    end
  end

  always_ff @(posedge clk_i) begin
    job_q <= job_d;
    qpn_q <= qpn_d;
    has_qp_q <= has_qp_d;
    vq_index_q <= vq_index_d;
    operation_q <= operation_d;
    event_q <= event_d;
    send_only_q <= send_only_d;
    reported_q <= reported_d;
    is_cq_q <= is_cq_d;
    scan_q <= scan_d;
    drain_qpn_q <= drain_qpn_d;
    sends_recent_q <= qp_sends_valid_i && qp_sends_i.qpn[QpBits-1:0] == drain_qpn_q;
    done_drain_q <= done_drain_d;
    state_write_q <= state_write_d;
    host_event0_q <= host_event0_d;
    host_event1_q <= host_event1_d;
  end

  // --- Parity: in the cycle after a read
  logic starts_qp, parity_error_d, parity_error_q;
  assign starts_qp = job_q == JobOrder && operation_q == QpOperationStart;
  always_comb begin
    unique case (state_q)
      StQp: parity_error_d = job_q == JobQueueFailure && queue_exists && queue_corrupt;
      StDecide: parity_error_d = has_qp_q && job_q != JobEvent && (engine_corrupt || (starts_qp && requested_corrupt));
      StMatch: parity_error_d = engine_corrupt || cqns_corrupt;
      default: parity_error_d = 1'b0;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parity_error_q <= 1'b0;
    else parity_error_q <= parity_error_d;
  end
  assign parity_error_o = parity_error_q;

  assign qp_state_write_valid_o = state_write_valid_q;
  assign qp_state_write_o = state_write_q;
  assign sweep_o = fence_q;
  assign qp_done_valid_o = done_q;
  assign qp_done_o = '{is_drain: done_drain_q};
  assign host_event_valid_o = event0_q;
  assign host_event_o = host_event0_q;
  // A drain that waits for a peer does not count as work.
  assign idle_o = state_q == StIdle && !fence_q && !fenced_q && valid == '0 && queued_q == '0
               && !(drain_q && (fence_count_q != '0 || !sends || sends_recent_q));

endmodule
