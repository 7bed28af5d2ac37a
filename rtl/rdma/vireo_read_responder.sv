// SPDX-License-Identifier: Apache-2.0

// Executes the RDMA READs of peers: queues those that the responder allowed, in order, and cuts each into its response
// packets, as jobs for tx_gather. All responses of the receive side pass through here, so that none leaves before the
// READs that came before it: an acknowledge implies all PSNs before its own. [IBTA vol. 1, 9.7.5.1.2]
//
// A response of a QP that has nothing here and no job in flight passes through. Otherwise the QP holds it, one at most,
// and it leaves as a job without payload after the READs. Queue pairs with work take turns, one packet each.
//
// A response that cannot be sent at once is held, too, and a later one of its QP replaces it: so the receive side does
// not wait for the transmitter, and at most one per QP waits.
//
// It does not validate or count requests: the responder limits the READs of a QP. It handles no path and no payload,
// only the payload's location, for which it queries memory_check one packet at a time: the key may have become invalid
// since the request arrived. READs of a QP whose attributes have bad parity are not executed: they end with the QP.
//
// The state machine is here: whose turn comes, and the registers of what leaves. What a turn does is decided in
// vireo_read_responder_answer and vireo_read_responder_response, on what vireo_read_responder_tables keeps.
module vireo_read_responder
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::bare_answer;
  import vireo_read_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,            // a power of two, 2 or more
  localparam int unsigned MaxRdAtomic = Config.max_rd_atomic  // READs of a QP, 1 to 128
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            table_write_valid_i,
  input  table_write_t    table_write_i,
  input  logic            context_flip_valid_i,
  input  context_flip_t   context_flip_i,
  output logic            parity_error_o,
  input  logic            qp_state_write_valid_i,
  input  qp_state_write_t qp_state_write_i,
  input  logic            response_taken_i,   // a pulse: tx_builder has taken one of our jobs' packets
  input  logic            hold_i,  // no job is started, from the next cycle on; what waits for its turn is no work

  input  logic            answer_valid_i,
  output logic            answer_ready_o,
  input  rx_answer_t      answer_i,

  output logic            packet_valid_o,
  input  logic            packet_ready_i,
  output tx_packet_t      packet_o,

  output logic            memory_check_valid_o,
  input  logic            memory_check_ready_i,
  output memory_check_t   memory_check_o,

  input  logic            memory_place_valid_i,  // one per memory_check, in order
  output logic            memory_place_ready_o,
  input  memory_place_t   memory_place_i,

  // Pulses: tx_gather has room for one more packet; one is issued. So jobs never wait for the wire.
  input  logic            room_i,
  output logic            room_used_o,
  output logic            job_valid_o,
  input  logic            job_ready_i,
  output tx_job_t         job_o,

  output logic            atomic_valid_o,  // atomic operations to execute; of a QP one at a time
  input  logic            atomic_ready_i,
  output atomic_request_t atomic_o,

  input  logic            stopped_valid_i,  // pulse: what waits here of this QP is stale
  // verilator lint_off UNUSEDSIGNAL
  input  logic [23:0]     stopped_qpn_i,    // of as many QPs as there are
  // verilator lint_on UNUSEDSIGNAL

  input  logic            result_valid_i,
  output logic            result_ready_o,
  input  atomic_result_t  result_i,

  output logic            failure_valid_o,
  input  logic            failure_ready_i,
  output qp_failure_t     failure_o,

  output logic            qp_reads_valid_o,
  output qp_reads_t       qp_reads_o,

  output logic            settled_o,  // nothing is being issued, no answer waits, and what stopped QPs had is dropped
  output logic            idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned RoomBits = 2;  // of packets that tx_gather has room for before they are issued

  // --- Inputs --------------------------------------------------------------------------------------------------------

  step_t step;
  logic answer_valid, place_valid, result_valid;
  rx_answer_t answer;
  memory_place_t place;
  /* verilator lint_off UNUSEDSIGNAL */  // QP numbers are wider than needed
  atomic_result_t result;
  /* verilator lint_on UNUSEDSIGNAL */

  vireo_slice #(.Width(RxAnswerBits), .Depth(wide_slice(Config.datapath_bits))) u_answer (
    .clk_i, .rst_ni,
    .s_valid_i(answer_valid_i), .s_ready_o(answer_ready_o), .s_data_i(bare_answer(answer_i, Config.atomics != 0)),
    .m_valid_o(answer_valid), .m_ready_i(step.answer_ends), .m_data_o(answer)
  );
  vireo_slice #(.Width(MemoryPlaceBits), .Depth(wide_slice(Config.datapath_bits))) u_memory_place (
    .clk_i, .rst_ni,
    .s_valid_i(memory_place_valid_i), .s_ready_o(memory_place_ready_o), .s_data_i(memory_place_i),
    .m_valid_o(place_valid), .m_ready_i(step.place_ends), .m_data_o(place)
  );

  // Room for the results of all operations: so none that was granted waits for room in tx_gather.
  localparam int unsigned Atomics = 32;
  logic [QpBits-1:0] qpn_d, qpn_q;  // QP of the turn
  logic [QpBits-1:0] stopped_qpn;
  logic result_stale;  // the oldest operation is of an earlier lifetime of its QP
  logic [$clog2(Atomics):0] atomics_d, atomics_q;  // operations whose result was not taken
  logic [$clog2(Atomics):0] results_d, results_q;  // of these, those whose result is here

  assign stopped_qpn = stopped_qpn_i[QpBits-1:0];

  vireo_fifo #(.Width(AtomicResultBits), .Depth(Atomics)) u_result (
    .clk_i, .rst_ni,
    .s_valid_i(result_valid_i), .s_ready_o(result_ready_o), .s_data_i(result_i),
    .m_valid_o(result_valid), .m_ready_i(step.result_ends), .m_data_o(result)
  );
  vireo_stop_marks #(.Depth(Atomics), .QpBits(QpBits)) u_result_marks (
    .clk_i, .rst_ni,
    .push_i(step.operates), .push_qpn_i(qpn_q), .push_response_i(1'b1),
    .pop_i(step.result_ends), .stopped_valid_i, .stopped_all_i(1'b1), .stopped_qpn_i(stopped_qpn), .marked_o(result_stale)
  );

  // QPs whose READs end, because of a state without responses; a set of its own, so that a QP that is set up again
  // before its turn is cleared nevertheless.
  logic drop_valid, drop_pop, drop_empty, turn_valid, turn_pop, turn_empty;
  logic ack_valid, ack_pop, ack_empty;
  logic [QpBits-1:0] drop_qpn, turn_qpn, ack_qpn;

  logic unused_drop_load, unused_turn_load, unused_ack_load;
  logic [QpBits-1:0] unused_drop_index, unused_turn_index, unused_ack_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_drop (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && !responds_in(qp_state_write_i.state)),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(drop_valid), .pop_ready_i(drop_pop), .pop_o(drop_qpn),
    .load_o(unused_drop_load), .load_index_o(unused_drop_index), .empty_o(drop_empty)
  );
  // Every QP with a READ here or a response behind one is in this set, or its turn is in progress.
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_turn (
    .clk_i, .rst_ni,
    .push_valid_i(step.again), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(turn_valid), .pop_ready_i(turn_pop), .pop_o(turn_qpn),
    .load_o(unused_turn_load), .load_index_o(unused_turn_index), .empty_o(turn_empty)
  );
  // Every QP that only has a response here that waits for the transmitter is in this set: separate, because turns
  // wait for jobs and holds.
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_ack (
    .clk_i, .rst_ni,
    .push_valid_i(step.ack_waits), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(ack_valid), .pop_ready_i(ack_pop), .pop_o(ack_qpn),
    .load_o(unused_ack_load), .load_index_o(unused_ack_index), .empty_o(ack_empty)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  state_e state_d, state_q;
  logic row_read;
  row_t row;
  read_t entry;
  operands_t operands;
  logic [2:0] qp_state;
  attributes_t attributes;
  logic attributes_corrupt;

  vireo_read_responder_tables #(.Config(Config)) u_tables (
    .clk_i, .rst_ni, .table_write_valid_i, .table_write_i, .qp_state_write_i, .context_flip_valid_i, .context_flip_i,
    .qp_state_write_valid_i,
    .read_i(row_read), .read_qpn_i(qpn_d), .qp_state_o(qp_state), .attributes_o(attributes),
    .corrupt_o(attributes_corrupt), .row_o(row),
    .qpn_i(qpn_q), .row_write_i(step.row_write), .row_i(step.row), .ring_write_i(step.ring_write), .answer_i(answer),
    .ring_read_i(step.ring_read), .entry_o(entry), .operands_o(operands)
  );

  // --- Turns ---------------------------------------------------------------------------------------------------------

  logic dropping_d, dropping_q;  // the turn is one of u_drop
  logic acking_d, acking_q;      // the turn is one of u_ack
  logic room_d, room_q;          // the packet's register was free when the answer was chosen
  logic turned_d, turned_q;      // the last choice between the two was for a turn
  logic meanwhile_d, meanwhile_q;  // the answer is processed while a turn waits for its memory place: that of
  logic [QpBits-1:0] turn_qpn_d, turn_qpn_q;
  logic [JobBits-1:0] issued_q, ended_q;  // jobs issued, and jobs that have left
  logic [JobBits-1:0] number, in_flight;
  logic busy;
  logic can_turn, can_result;  // with space for every result of a turn, so that responses never wait for jobs
  logic hold_q;
  logic [RoomBits-1:0] job_room_q;  // packets that may be issued
  logic parity_error_q;             // the attributes of a turn with a READ: it ends
  cut_t cut_q;
  step_t answers, responds;
  logic packet_valid_q, packet_free, job_free, atomic_free, failure_free, reads_valid_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic check_free;                 // the last one has been answered
  /* verilator lint_on UNUSEDSIGNAL */
  tx_packet_t packet_d, packet_q;
  qp_reads_t reads_q;

  vireo_read_responder_answer #(.Config(Config)) u_answers (
    .clk_i, .turns_i(state_q == StTurn), .qpn_i(qpn_q), .row_i(row), .qp_state_i(qp_state),
    .corrupt_i(attributes_corrupt), .answer_i(answer), .cut_i(cut_q), .dropping_i(dropping_q), .acking_i(acking_q),
    .busy_i(busy), .room_i(room_q), .number_i(number), .step_o(answers)
  );
  vireo_read_responder_response #(.Config(Config)) u_responses (
    .state_i(state_q), .qpn_i(qpn_q), .row_i(row), .attributes_i(attributes), .corrupt_i(parity_error_q),
    .entry_i(entry), .operands_i(operands), .result_i(result), .cut_i(cut_q), .place_valid_i(place_valid),
    .place_i(place), .operation_room_i(atomics_q != ($clog2(Atomics) + 1)'(Atomics)),
    .operation_free_i(atomic_free), .result_stale_i(result_stale), .number_i(number), .step_o(responds)
  );

  always_comb begin
    number = issued_q + 1'b1;
    // As a signed number: above 0, the QP's last job is in flight. The number of a QP that issued none for long wraps
    // to lie ahead again; its next response then leaves as a job, which is only a detour.
    in_flight = row.last - ended_q;
    busy = in_flight != '0 && !in_flight[JobBits-1];
    // Responses issued before a QP's job have left before it.
    can_turn = turn_valid && job_free && failure_free && !hold_q && job_room_q != '0
            && (packet_free || packet_q.qpn[QpBits-1:0] != turn_qpn);
    // What has started ends, also during a hold.
    can_result = result_valid
              && (result_stale || (job_free && failure_free && job_room_q != '0
                                   && (packet_free || packet_q.qpn[QpBits-1:0] != result.qpn[QpBits-1:0])));
  end

  always_comb begin
    unique case (state_q)
      StChoose: begin
        step = '0;
        step.cut = cut_q;
      end
      StAnswer, StTurn: step = answers;
      default: step = responds;
    endcase
  end

  always_comb begin
    state_d = step.state;
    qpn_d = qpn_q;
    dropping_d = dropping_q;
    acking_d = acking_q;
    room_d = room_q;
    turned_d = turned_q;
    meanwhile_d = meanwhile_q;
    turn_qpn_d = turn_qpn_q;
    drop_pop = 1'b0;
    turn_pop = 1'b0;
    ack_pop = 1'b0;
    row_read = 1'b0;
    if (state_q == StChoose) begin
      row_read = 1'b1;
      if (drop_valid) begin
        qpn_d = drop_qpn;
        drop_pop = 1'b1;
        dropping_d = 1'b1;
        acking_d = 1'b0;
        state_d = StTurn;
      end else if (ack_valid && packet_free) begin
        // Before new responses, which could occupy the register indefinitely. The transmitter is slower than this.
        qpn_d = ack_qpn;
        ack_pop = 1'b1;
        dropping_d = 1'b0;
        acking_d = 1'b1;
        state_d = StTurn;
      end else if (can_result) begin
        qpn_d = result.qpn[QpBits-1:0];
        dropping_d = 1'b0;
        acking_d = 1'b0;
        state_d = StResult;
      end else if (answer_valid && !(can_turn && !turned_q)) begin
        qpn_d = answer.packet.qpn[QpBits-1:0];
        room_d = packet_free;
        turned_d = 1'b0;
        state_d = StAnswer;
      end else if (can_turn) begin
        qpn_d = turn_qpn;
        turn_pop = 1'b1;
        dropping_d = 1'b0;
        acking_d = 1'b0;
        turned_d = 1'b1;
        state_d = StTurn;
      end
    end else if (state_q == StAnswer && meanwhile_q) begin
      row_read = 1'b1;  // of another QP than is written
      qpn_d = turn_qpn_q;
      meanwhile_d = 1'b0;
      state_d = StIssue;
    end else if (step.waits && answer_valid && answer.packet.qpn[QpBits-1:0] != qpn_q) begin
      // While it waits, an answer of another QP is processed.
      row_read = 1'b1;
      turn_qpn_d = qpn_q;
      qpn_d = answer.packet.qpn[QpBits-1:0];
      room_d = packet_free;
      turned_d = 1'b0;
      meanwhile_d = 1'b1;
      state_d = StAnswer;
    end
    packet_d = step.packet ? step.packet_in : packet_q;
    if (stopped_valid_i && packet_d.qpn[QpBits-1:0] == stopped_qpn) packet_d.stale = 1'b1;
    atomics_d = atomics_q + ($clog2(Atomics) + 1)'(step.operates) - ($clog2(Atomics) + 1)'(step.result_ends);
    results_d = results_q + ($clog2(Atomics) + 1)'(result_valid_i && result_ready_o)
              - ($clog2(Atomics) + 1)'(step.result_ends);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StChoose;
      hold_q <= 1'b0;
      turned_q <= 1'b0;
      meanwhile_q <= 1'b0;
      issued_q <= '0;
      ended_q <= '0;
      job_room_q <= '0;
      atomics_q <= '0;
      results_q <= '0;
      room_used_o <= 1'b0;
      packet_valid_q <= 1'b0;
      reads_valid_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      state_q <= state_d;
      hold_q <= hold_i;
      turned_q <= turned_d;
      meanwhile_q <= meanwhile_d;
      if (step.job) issued_q <= number;
      ended_q <= ended_q + JobBits'(response_taken_i);
      job_room_q <= job_room_q + RoomBits'(room_i) - RoomBits'(step.job);
      atomics_q <= atomics_d;
      results_q <= results_d;
      room_used_o <= step.job;
      packet_valid_q <= step.packet || (packet_valid_q && !packet_ready_i);
      reads_valid_q <= step.reads_end;
      parity_error_q <= step.corrupt;
    end
  end

  always_ff @(posedge clk_i) begin
    qpn_q <= qpn_d;
    dropping_q <= dropping_d;
    acking_q <= acking_d;
    room_q <= room_d;
    turn_qpn_q <= turn_qpn_d;
    cut_q <= step.cut;
    packet_q <= packet_d;
    reads_q <= '{qpn: 24'(qpn_q), ended: step.row.ended};
  end

  // --- Outputs. What left before a QP stopped is marked while it waits (packet_d), the others go to where that is done.

  vireo_output #(.Width(TxJobBits)) u_job (
    .clk_i, .rst_ni, .free_o(job_free), .load_i(step.job), .data_i(step.job_in),
    .m_valid_o(job_valid_o), .m_ready_i(job_ready_i), .m_data_o(job_o)
  );
  vireo_output #(.Width(AtomicRequestBits)) u_operation (
    .clk_i, .rst_ni, .free_o(atomic_free), .load_i(step.operates), .data_i(step.operation),
    .m_valid_o(atomic_valid_o), .m_ready_i(atomic_ready_i), .m_data_o(atomic_o)
  );
  vireo_output #(.Width(QpFailureBits)) u_failure (
    .clk_i, .rst_ni, .free_o(failure_free), .load_i(step.fails), .data_i(step.failure),
    .m_valid_o(failure_valid_o), .m_ready_i(failure_ready_i), .m_data_o(failure_o)
  );
  vireo_output #(.Width(MemoryCheckBits)) u_check (
    .clk_i, .rst_ni, .free_o(check_free), .load_i(step.check), .data_i(step.check_in),
    .m_valid_o(memory_check_valid_o), .m_ready_i(memory_check_ready_i), .m_data_o(memory_check_o)
  );

  assign packet_free = !packet_valid_q || packet_ready_i;
  assign packet_valid_o = packet_valid_q;
  assign packet_o = packet_q;
  assign qp_reads_valid_o = reads_valid_q;
  assign qp_reads_o = reads_q;
  assign parity_error_o = parity_error_q;
  assign settled_o = state_q == StChoose && drop_empty && !answer_valid;
  assign idle_o = state_q == StChoose && drop_empty && (turn_empty || hold_q) && ack_empty && !answer_valid
               && results_q == '0 && !atomic_valid_o && !packet_valid_q && !job_valid_o && !failure_valid_o
               && !memory_check_valid_o && !reads_valid_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) state_q == StAnswer && answer.is_read |-> 32'(row.count) < MaxRdAtomic)
  else $error("more READs of a queue pair than it may have");
  // Of a held response only PSN and AETH are stored.
  assert property (@(posedge clk_i) answer_valid && !answer.is_read
                   |-> answer.packet.opcode == BthOpcodeRcAcknowledge && answer.packet.payload_bytes == '0)
  else $error("an answer that is no acknowledge");
`endif

endmodule
