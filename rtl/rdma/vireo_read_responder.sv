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
module vireo_read_responder
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_rdma_pkg::MtuShift;
  import vireo_rdma_pkg::AnswerOperandsBits;
  import vireo_rdma_pkg::bare_answer;
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
  input  logic [23:0]     stopped_qpn_i,

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
  // A ring has a power of two of entries, and at least two.
  localparam int unsigned SlotBits = MaxRdAtomic < 2 ? 1 : $clog2(MaxRdAtomic);
  localparam int unsigned AethBits = 8 * AethBytes;
  localparam int unsigned PacketBytesBits = 13;  // of a packet's payload
  // Jobs are counted modulo 2 to the power of this; far fewer than half of it are in flight at a time.
  localparam int unsigned JobBits = 16;
  localparam int unsigned RoomBits = 2;  // of packets that tx_gather has room for before they are issued

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic answer_valid, answer_pop, place_valid, place_pop, result_valid, result_pop;
  rx_answer_t answer;
  memory_place_t place;
  /* verilator lint_off UNUSEDSIGNAL */  // QP numbers are wider than needed
  atomic_result_t result;
  /* verilator lint_on UNUSEDSIGNAL */

  vireo_slice #(.Width(RxAnswerBits), .Depth(wide_slice(Config.datapath_bits))) u_answer (
    .clk_i, .rst_ni,
    .s_valid_i(answer_valid_i), .s_ready_o(answer_ready_o), .s_data_i(bare_answer(answer_i, Config.atomics != 0)),
    .m_valid_o(answer_valid), .m_ready_i(answer_pop), .m_data_o(answer)
  );
  vireo_slice #(.Width(MemoryPlaceBits), .Depth(wide_slice(Config.datapath_bits))) u_memory_place (
    .clk_i, .rst_ni,
    .s_valid_i(memory_place_valid_i), .s_ready_o(memory_place_ready_o), .s_data_i(memory_place_i),
    .m_valid_o(place_valid), .m_ready_i(place_pop), .m_data_o(place)
  );

  // Room for the results of all operations: so none that was granted waits for room in tx_gather.
  localparam int unsigned Atomics = 32;
  // Of the value of an ATOMIC WRITE, in the operands: behind the RETH's length.
  localparam int unsigned StoreOffset = RethBytes - RethDmaLengthOffset;
  logic [QpBits-1:0] qpn_d, qpn_q;  // QP of the turn
  logic [QpBits-1:0] stopped_qpn;
  logic operation_begins, result_stale;  // the oldest operation is of an earlier lifetime of its QP
  logic [$clog2(Atomics):0] atomics_d, atomics_q;  // operations whose result was not taken
  logic [$clog2(Atomics):0] results_d, results_q;  // of these, those whose result is here

  assign stopped_qpn = stopped_qpn_i[QpBits-1:0];

  vireo_fifo #(.Width(AtomicResultBits), .Depth(Atomics)) u_result (
    .clk_i, .rst_ni,
    .s_valid_i(result_valid_i), .s_ready_o(result_ready_o), .s_data_i(result_i),
    .m_valid_o(result_valid), .m_ready_i(result_pop), .m_data_o(result)
  );
  vireo_stop_marks #(.Depth(Atomics), .QpBits(QpBits)) u_result_marks (
    .clk_i, .rst_ni,
    .push_i(operation_begins), .push_qpn_i(qpn_q), .push_response_i(1'b1),
    .pop_i(result_pop), .stopped_valid_i, .stopped_all_i(1'b1), .stopped_qpn_i(stopped_qpn), .marked_o(result_stale)
  );

  // QPs whose READs end, because of a state without responses; a set of its own, so that a QP that is set up again
  // before its turn is cleared nevertheless.
  logic drop_valid, drop_pop, drop_empty, turn_push, turn_valid, turn_pop, turn_empty;
  logic ack_push, ack_valid, ack_pop, ack_empty;
  logic [QpBits-1:0] drop_qpn, turn_qpn, ack_qpn;

  // States in which a responder responds [IBTA vol. 1, 10.3.1]; also ERR, where no new request is accepted, but
  // responses to READs before the failed request, and its NAK after them, are still sent.
  function automatic logic responds_in(input logic [2:0] state);
    return state == 3'(IbQpStateRtr) || state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd)
        || state == 3'(IbQpStateSqe) || state == 3'(IbQpStateErr);
  endfunction

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
    .push_valid_i(turn_push), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(turn_valid), .pop_ready_i(turn_pop), .pop_o(turn_qpn),
    .load_o(unused_turn_load), .load_index_o(unused_turn_index), .empty_o(turn_empty)
  );
  // Every QP that only has a response here that waits for the transmitter is in this set: separate, because turns
  // wait for jobs and holds.
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_ack (
    .clk_i, .rst_ni,
    .push_valid_i(ack_push), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(ack_valid), .pop_ready_i(ack_pop), .pop_o(ack_qpn),
    .load_o(unused_ack_load), .load_index_o(unused_ack_index), .empty_o(ack_empty)
  );

  // --- Tables --------------------------------------------------------------------------------------------------------

  typedef struct packed {
    logic [15:0] pdn;
    logic [3:0] path_mtu;  // ib_mtu_e
  } attributes_t;

  // What a QP has here.
  typedef struct packed {
    logic halted;                     // a key check has failed: nothing leaves any more in this instance of the QP
    logic [7:0] ended;              // READs, as in qp_reads
    logic [JobBits-1:0] last;       // number of the last job issued
    logic held;                     // a response is held or waits: an acknowledge with the fields below
    logic [PsnBits-1:0] held_psn;
    logic [AethBits-1:0] held_aeth;
    logic [SlotBits:0] count;       // READs
    logic [SlotBits-1:0] oldest;
    logic parked;                   // the oldest one is an atomic operation that is being executed
    logic [31:0] done;              // bytes of the oldest READ
  } row_t;

  typedef struct packed {
    logic [PsnBits-1:0] psn;      // of the first response
    logic [AethBits-1:0] aeth;    // of every response that has one
    logic [63:0] address;
    logic [31:0] rkey;
    logic [31:0] bytes;
  } read_t;

  // What an atomic operation needs besides.
  typedef struct packed {
    logic is_atomic;
    logic is_duplicate;
    logic is_swap;
    logic is_write;               // ATOMIC WRITE
    logic is_flush;               // FLUSH
    logic [127:0] data;           // as in an AtomicETH, from swap_add_data on; of ATOMIC WRITE length and value, of FLUSH length and FETH
  } operands_t;

  logic row_read, row_write, ring_write, ring_read;
  operands_t operands_in, operands;
  /* verilator lint_off UNUSEDSIGNAL */  // its address and key come from the answer; reserved bits
  atomic_eth_t atomic_eth;
  feth_t feth;
  /* verilator lint_on UNUSEDSIGNAL */
  atomic_ack_eth_t atomic_ack;
  row_t row, row_d;
  read_t ring_in, entry;
  logic [SlotBits-1:0] ring_slot;
  logic [2:0] qp_state;
  attributes_t attributes_in, attributes;
  logic attributes_corrupt;
  /* verilator lint_off UNUSEDSIGNAL */  // most attributes are used by other blocks
  table_qp_context_t context_in;
  /* verilator lint_on UNUSEDSIGNAL */
  logic unused_bits;

  // Otherwise the written value is zero, so that simulation skips it.
  always_comb begin
    context_in = '0;
    if (table_write_valid_i) begin
      context_in = unpack_table_qp_context(table_write_i.data);
    end
  end

  assign attributes_in = '{pdn: context_in.pdn, path_mtu: context_in.path_mtu[3:0]};
  assign ring_in = '{psn: answer.packet.psn, aeth: answer.packet.extension[AethBits-1:0], address: answer.address,
                     rkey: answer.rkey, bytes: answer.bytes};
  assign operands_in = '{is_atomic: answer.packet.opcode != '0, is_duplicate: answer.is_duplicate,
                         is_swap: answer.packet.opcode == BthOpcodeRcCompareSwap,
                         is_write: Config.atomic_write != 0 && answer.packet.opcode == BthOpcodeRcAtomicWrite,
                         is_flush: Config.flush != 0 && answer.packet.opcode == BthOpcodeRcFlush,
                         data: answer.packet.extension[AethBits +: AnswerOperandsBits]};
  assign feth = unpack_feth(operands.data[8*StoreOffset +: 8*FethBytes]);
  assign atomic_eth = unpack_atomic_eth({operands.data, 96'd0});
  assign atomic_ack = '{original_data: result.value};
  assign ring_slot = row.oldest + row.count[SlotBits-1:0];
  assign unused_bits = &{1'b0, table_write_i.index[23:QpBits], qp_state_write_i.qpn[23:QpBits],
                         qp_state_write_i.clear,  // implied by its state
                         stopped_qpn_i};

  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i(row_read), .read_address_i(qpn_d), .read_data_o(qp_state)
  );
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)), .Depth(NumQps), .Ram(ContextRamReadResponderQp), .Gates(1'b0)
  ) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i(row_read), .read_address_i(qpn_d), .read_data_o(attributes),
    .corrupt_o(attributes_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_table #(.Width($bits(row_t)), .Depth(NumQps)) u_row (
    .clk_i, .rst_ni,
    .write_i(row_write), .write_address_i(qpn_q), .write_data_i(row_d),
    .read_i(row_read), .read_address_i(qpn_d), .read_data_o(row)
  );
  vireo_ram_1r1w #(.Width($bits(read_t)), .Depth(NumQps * 2 ** SlotBits)) u_ring (
    .clk_i,
    .write_i(ring_write), .write_address_i({qpn_q, ring_slot}), .write_data_i(ring_in),
    .read_i(ring_read), .read_address_i({qpn_q, row.oldest}), .read_data_o(entry)
  );

  if (Config.atomics != 0) begin : gen_operands
    vireo_ram_1r1w #(.Width($bits(operands_t)), .Depth(NumQps * 2 ** SlotBits)) u_operands (
      .clk_i,
      .write_i(ring_write), .write_address_i({qpn_q, ring_slot}), .write_data_i(operands_in),
      .read_i(ring_read), .read_address_i({qpn_q, row.oldest}), .read_data_o(operands)
    );
  end else begin : gen_no_operands
    logic unused_operands;
    assign unused_operands = ^operands_in;
    assign operands = '0;
  end

  // --- Machine -------------------------------------------------------------------------------------------------------

  typedef enum logic [2:0] {
    StChoose,  // selects a response or a QP; its row is read
    StAnswer,  // a response passes through or is held
    StTurn,    // the QP's oldest READ is read, or all that it has is dropped
    StEntry,   // the packet is cut and its memory requested
    StIssue,    // it leaves
    StResult,   // the QP's atomic operation is read, whose result has come
    StRespond   // its response leaves
  } state_e;

  state_e state_d, state_q;
  logic dropping_d, dropping_q;  // the turn is one of u_drop
  logic acking_d, acking_q;      // the turn is one of u_ack
  logic room_d, room_q;          // the packet's register was free when the answer was chosen
  logic turned_d, turned_q;      // the last choice between the two was for a turn
  logic meanwhile_d, meanwhile_q;  // the answer is processed while a turn waits for its memory place: that of
  logic [QpBits-1:0] turn_qpn_d, turn_qpn_q;
  logic [JobBits-1:0] issued_d, issued_q, ended_d, ended_q;  // jobs issued, and jobs that have left
  logic [JobBits-1:0] number, in_flight;
  logic issues;
  logic checked_d, checked_q, last_d, last_q;  // of the packet
  logic [7:0] opcode_d, opcode_q;
  logic [PsnBits-1:0] psn_d, psn_q, distance;
  logic [PacketBytesBits-1:0] bytes_d, bytes_q, mtu;
  logic [31:0] left;
  logic [3:0] shift;
  logic retains_held, can_respond, leaves, fails, first, busy, is_nak;
  logic atomic_d, atomic_q;  // the packet is the response to an atomic operation
  logic waits;  // there are as many operations as can be
  logic can_turn, can_result;  // with space for every result of a turn, so that responses never wait for jobs
  logic hold_q;
  logic [RoomBits-1:0] job_room_d, job_room_q;  // packets that may be issued
  logic parity_error_d, parity_error_q;  // the attributes of a turn with a READ: it ends
  aeth_t nak;
  /* verilator lint_off UNUSEDSIGNAL */  // its kind implies it
  aeth_t answer_aeth;
  /* verilator lint_on UNUSEDSIGNAL */

  logic packet_valid_d, packet_valid_q, packet_free, job_valid_d, job_valid_q, job_free;
  logic atomic_valid_d, atomic_valid_q, atomic_free;
  atomic_request_t request_d, request_q;
  logic failure_valid_d, failure_valid_q, failure_free, check_valid_d, check_valid_q, reads_valid_d, reads_valid_q;
  tx_packet_t packet_d, packet_q;
  tx_job_t job_d, job_q;
  qp_failure_t failure_d, failure_q;
  memory_check_t check_d, check_q;
  qp_reads_t reads_d, reads_q;

  assign ended_d = ended_q + JobBits'(response_taken_i);

  always_comb begin
    state_d = state_q;
    qpn_d = qpn_q;
    dropping_d = dropping_q;
    acking_d = acking_q;
    room_d = room_q;
    turned_d = turned_q;
    meanwhile_d = meanwhile_q;
    turn_qpn_d = turn_qpn_q;
    issued_d = issued_q;
    issues = 1'b0;
    checked_d = checked_q;
    atomic_d = atomic_q;
    last_d = last_q;
    opcode_d = opcode_q;
    psn_d = psn_q;
    bytes_d = bytes_q;
    answer_pop = 1'b0;
    place_pop = 1'b0;
    result_pop = 1'b0;
    operation_begins = 1'b0;
    waits = 1'b0;
    drop_pop = 1'b0;
    turn_pop = 1'b0;
    turn_push = 1'b0;
    ack_pop = 1'b0;
    ack_push = 1'b0;
    row_read = 1'b0;
    row_write = 1'b0;
    row_d = row;
    ring_write = 1'b0;
    ring_read = 1'b0;
    packet_free = !packet_valid_q || packet_ready_i;
    packet_valid_d = packet_valid_q && !packet_ready_i;
    packet_d = packet_q;
    job_free = !job_valid_q || job_ready_i;
    job_valid_d = job_valid_q && !job_ready_i;
    job_d = job_q;
    atomic_free = !atomic_valid_q || atomic_ready_i;
    atomic_valid_d = atomic_valid_q && !atomic_ready_i;
    request_d = request_q;
    failure_free = !failure_valid_q || failure_ready_i;
    failure_valid_d = failure_valid_q && !failure_ready_i;
    failure_d = failure_q;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    reads_valid_d = 1'b0;
    parity_error_d = 1'b0;
    reads_d = '{qpn: 24'(qpn_q), ended: row.ended};

    // Responses issued before a QP's job have left before it.
    can_turn = turn_valid && job_free && failure_free && !hold_q && job_room_q != '0
            && (packet_free || packet_q.qpn[QpBits-1:0] != turn_qpn);
    // What has started ends, also during a hold.
    can_result = result_valid
              && (result_stale || (job_free && failure_free && job_room_q != '0
                                   && (packet_free || packet_q.qpn[QpBits-1:0] != result.qpn[QpBits-1:0])));
    number = issued_q + 1'b1;
    // As a signed number: above 0, the QP's last job is in flight. The number of a QP that issued none for long wraps
    // to lie ahead again; its next response then leaves as a job, which is only a detour.
    in_flight = row.last - ended_q;
    busy = in_flight != '0 && !in_flight[JobBits-1];
    answer_aeth = unpack_aeth(answer.packet.extension[AethBits-1:0]);
    is_nak = !answer.is_read && answer_aeth.kind != AethKindAck;
    // The held acknowledge has a later PSN than the new one, a response to a duplicate request, which does not cover
    // it: it stays.
    distance = row.held_psn - answer.packet.psn;
    retains_held = row.held && distance != '0 && !distance[PsnBits-1];
    can_respond = responds_in(qp_state) && !row.halted && !dropping_q;
    leaves = row.held && row.count == '0 && can_respond;
    fails = checked_q && place.status != MemoryStatusOk;
    left = entry.bytes - row.done;
    shift = 4'(MtuShift) + attributes.path_mtu;
    mtu = PacketBytesBits'(1) << shift;
    first = row.done == '0;
    nak = unpack_aeth(entry.aeth);
    nak = aeth_t'({AethSyndromeNakRemoteAccessError, nak.msn});

    unique case (state_q)
      StChoose: begin
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
      end
      StAnswer: begin
        answer_pop = 1'b1;
        if (answer.is_read) begin
          // Its responses cover what was held before.
          ring_write = 1'b1;
          row_d.count = row.count + 1'b1;
          row_d.held = retains_held;
          row_write = 1'b1;
          turn_push = 1'b1;
        end else if (row.halted) begin
          // The NAK is the last response.
        end else if (row.count == '0 && !busy && room_q && (!row.held || (is_nak && !retains_held))) begin
          packet_valid_d = 1'b1;
          packet_d = answer.packet;
          // A NAK covers the held acknowledge. [IBTA vol. 1, 9.7.5.1.2]
          row_d.held = 1'b0;
          row_write = 1'b1;
        end else begin
          row_d.held = 1'b1;
          if (!retains_held) begin
            row_d.held_psn = answer.packet.psn;
            row_d.held_aeth = answer.packet.extension[AethBits-1:0];
          end
          row_write = 1'b1;
          turn_push = row.count != '0 || busy;
          ack_push = !turn_push;
        end
        state_d = StChoose;
        if (meanwhile_q) begin
          row_read = 1'b1;  // of another QP than is written
          qpn_d = turn_qpn_q;
          meanwhile_d = 1'b0;
          state_d = StIssue;
        end
      end
      StTurn: begin
        state_d = StChoose;
        if (leaves && acking_q && !busy) begin
          packet_valid_d = 1'b1;
          packet_d = '0;
          packet_d.qpn = 24'(qpn_q);
          packet_d.opcode = BthOpcodeRcAcknowledge;
          packet_d.psn = row.held_psn;
          packet_d.extension[AethBits-1:0] = row.held_aeth;
          row_d.held = 1'b0;
          row_write = 1'b1;
        end else if (leaves && acking_q) begin
          // A job was issued meanwhile, or only its number has wrapped to lie ahead.
          turn_push = 1'b1;
        end else if (leaves) begin
          job_valid_d = 1'b1;
          job_d = '0;
          job_d.packet.qpn = 24'(qpn_q);
          job_d.packet.opcode = BthOpcodeRcAcknowledge;
          job_d.packet.psn = row.held_psn;
          job_d.packet.extension[AethBits-1:0] = row.held_aeth;
          job_d.packet.is_response = 1'b1;
          issued_d = number;
          issues = 1'b1;
          row_d.last = number;
          row_d.held = 1'b0;
          row_write = 1'b1;
        end else if (!can_respond) begin
          if (dropping_q) row_d.halted = 1'b0;
          row_d.held = 1'b0;
          row_d.parked = 1'b0;
          row_d.count = '0;
          row_d.done = '0;
          row_d.ended = row.ended + 8'(row.count);
          row_write = 1'b1;
          reads_valid_d = row.count != '0;
        end else if (row.count != '0 && !acking_q && !row.parked) begin
          // A QP with READs gets its turns for them.
          ring_read = 1'b1;
          parity_error_d = attributes_corrupt;
          state_d = StEntry;
        end
      end
      StEntry: begin
        last_d = left <= 32'(mtu);
        bytes_d = last_d ? left[PacketBytesBits-1:0] : mtu;
        // The responses use the PSNs from the request's own on. [IBTA vol. 1, 9.4.4]
        psn_d = entry.psn + PsnBits'(row.done >> shift);
        if (first) opcode_d = last_d ? BthOpcodeRcRdmaReadResponseOnly : BthOpcodeRcRdmaReadResponseFirst;
        else opcode_d = last_d ? BthOpcodeRcRdmaReadResponseLast : BthOpcodeRcRdmaReadResponseMiddle;
        atomic_d = operands.is_atomic;
        // Without bytes no key is checked. [IBTA vol. 1, 9.7.4] A duplicate of an atomic operation accesses nothing.
        checked_d = bytes_d != '0 && !operands.is_duplicate;
        waits = operands.is_atomic && atomics_q == ($clog2(Atomics) + 1)'(Atomics);
        check_valid_d = checked_d && !parity_error_q && !waits;
        check_d = '{key: entry.rkey, pdn: attributes.pdn, local_write: 1'b0, remote_write: operands.is_write,
                    remote_read: !operands.is_atomic,
                    remote_atomic: operands.is_atomic && !operands.is_write && !operands.is_flush,
                    flush_global: operands.is_flush && feth.placement[0],
                    flush_persistent: operands.is_flush && feth.placement[1],
                    whole: operands.is_flush && feth.selectivity == FlushSelectivityMemoryRegion,
                    address: entry.address + 64'(row.done), bytes: 32'(bytes_d), qpn: 24'(qpn_q), default: '0};
        turn_push = waits && !parity_error_q;
        state_d = parity_error_q || waits ? StChoose : StIssue;
      end
      StIssue: begin
        if ((!checked_q || place_valid) && atomic_q && !fails) begin
          // It is executed, and the QP waits for that; others do not.
          if (atomic_free) begin
            place_pop = checked_q;
            atomic_valid_d = 1'b1;
            request_d = '{qpn: 24'(qpn_q), psn: psn_q, is_duplicate: operands.is_duplicate, is_swap: operands.is_swap,
                          is_write: operands.is_write, is_flush: operands.is_flush,
                          address: checked_q ? place.address0 : '0, grant: checked_q ? place.grant : '0,
                          swap_add: operands.is_write ? operands.data[8*StoreOffset +: 64] : atomic_eth.swap_add_data,
                          compare: atomic_eth.compare_data};
            row_d.parked = 1'b1;
            row_write = 1'b1;
            operation_begins = 1'b1;
            state_d = StChoose;
          end
        end else if (!checked_q || place_valid) begin
          place_pop = checked_q;
          job_valid_d = 1'b1;
          job_d = '0;
          job_d.packet.qpn = 24'(qpn_q);
          job_d.packet.psn = psn_q;
          job_d.packet.is_response = 1'b1;
          issued_d = number;
          issues = 1'b1;
          row_d.last = number;
          if (fails) begin
            // A NAK may replace any response. [IBTA vol. 1, 9.7.5.2]
            job_d.packet.opcode = BthOpcodeRcAcknowledge;
            job_d.packet.extension[AethBits-1:0] = pack_aeth(nak);
            failure_valid_d = 1'b1;
            failure_d = '{qpn: 24'(qpn_q), event_type: 16'(RdmaEventTypeQpAccessErr),
                          code: 32'(AethSyndromeNakRemoteAccessError), default: '0};
            row_d.halted = 1'b1;
            row_d.held = 1'b0;
            row_d.count = '0;
            row_d.done = '0;
            row_d.ended = row.ended + 8'(row.count);
          end else begin
            job_d.packet.opcode = opcode_q;
            job_d.packet.extension[AethBits-1:0] = entry.aeth;
            job_d.packet.payload_bytes = 14'(bytes_q);
            if (checked_q) begin
              job_d.grant = place.grant;
              job_d.address0 = place.address0;
              job_d.bytes0 = place.bytes0;
              job_d.address1 = place.address1;
              job_d.bytes1 = place.bytes1;
            end
            row_d.done = row.done + 32'(bytes_q);
            if (last_q) begin
              row_d.done = '0;
              row_d.count = row.count - 1'b1;
              row_d.oldest = row.oldest + 1'b1;
              row_d.ended = row.ended + 1'b1;
            end
          end
          row_write = 1'b1;
          reads_valid_d = fails || last_q;
          turn_push = row_d.count != '0 || row_d.held;
          state_d = StChoose;
        end else if (answer_valid && answer.packet.qpn[QpBits-1:0] != qpn_q) begin
          // While it waits, an answer of another QP is processed.
          row_read = 1'b1;
          turn_qpn_d = qpn_q;
          qpn_d = answer.packet.qpn[QpBits-1:0];
          room_d = packet_free;
          turned_d = 1'b0;
          meanwhile_d = 1'b1;
          state_d = StAnswer;
        end
      end
      StResult: begin
        // Of an earlier lifetime of the QP: nobody waits for it.
        result_pop = !row.parked || result_stale;
        ring_read = !result_pop;
        state_d = result_pop ? StChoose : StRespond;
      end
      StRespond: begin
        result_pop = 1'b1;
        job_d = '0;
        job_d.packet.qpn = 24'(qpn_q);
        job_d.packet.psn = entry.psn;
        job_d.packet.is_response = 1'b1;
        // A duplicate whose result is not kept is dropped.
        if (result.status != 2'(AtomicStatusUnknown)) begin
          job_valid_d = 1'b1;
          issued_d = number;
          issues = 1'b1;
          row_d.last = number;
        end
        row_d.parked = 1'b0;
        if (result.status == 2'(AtomicStatusFailed)) begin
          // [IBTA vol. 1, 9.9.5.2]
          job_d.packet.opcode = BthOpcodeRcAcknowledge;
          job_d.packet.extension[AethBits-1:0] = pack_aeth(aeth_t'({AethSyndromeNakRemoteOperationalError, nak.msn}));
          failure_valid_d = 1'b1;
          failure_d = '{qpn: 24'(qpn_q), event_type: 16'(RdmaEventTypeQpFatal), code: 32'(RdmaErrorQueueDmaError),
                        default: '0};
          row_d.halted = 1'b1;
          row_d.held = 1'b0;
          row_d.count = '0;
          row_d.ended = row.ended + 8'(row.count);
        end else begin
          job_d.packet.extension[AethBits-1:0] = entry.aeth;
          if (operands.is_write || operands.is_flush) begin
            job_d.packet.opcode = BthOpcodeRcRdmaReadResponseOnly;
          end else begin
            job_d.packet.opcode = BthOpcodeRcAtomicAcknowledge;
            job_d.packet.extension[AethBits +: 8*AtomicAckEthBytes] = pack_atomic_ack_eth(atomic_ack);
          end
          row_d.count = row.count - 1'b1;
          row_d.oldest = row.oldest + 1'b1;
          row_d.ended = row.ended + 1'b1;
        end
        row_write = 1'b1;
        reads_valid_d = 1'b1;
        turn_push = row_d.count != '0 || row_d.held;
        state_d = StChoose;
      end
      default: state_d = StChoose;
    endcase
    if (stopped_valid_i && packet_d.qpn[QpBits-1:0] == stopped_qpn) packet_d.stale = 1'b1;
    atomics_d = atomics_q + ($clog2(Atomics) + 1)'(operation_begins) - ($clog2(Atomics) + 1)'(result_pop);
    results_d = results_q + ($clog2(Atomics) + 1)'(result_valid_i && result_ready_o)
              - ($clog2(Atomics) + 1)'(result_pop);
    reads_d.ended = row_d.ended;
    job_room_d = job_room_q + RoomBits'(room_i) - RoomBits'(issues);
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
      job_valid_q <= 1'b0;
      atomic_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      check_valid_q <= 1'b0;
      reads_valid_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      state_q <= state_d;
      hold_q <= hold_i;
      turned_q <= turned_d;
      meanwhile_q <= meanwhile_d;
      issued_q <= issued_d;
      ended_q <= ended_d;
      job_room_q <= job_room_d;
      atomics_q <= atomics_d;
      results_q <= results_d;
      room_used_o <= issues;
      packet_valid_q <= packet_valid_d;
      job_valid_q <= job_valid_d;
      atomic_valid_q <= atomic_valid_d;
      failure_valid_q <= failure_valid_d;
      check_valid_q <= check_valid_d;
      reads_valid_q <= reads_valid_d;
      parity_error_q <= parity_error_d;
    end
  end

  always_ff @(posedge clk_i) begin
    qpn_q <= qpn_d;
    dropping_q <= dropping_d;
    acking_q <= acking_d;
    room_q <= room_d;
    turn_qpn_q <= turn_qpn_d;
    checked_q <= checked_d;
    atomic_q <= atomic_d;
    last_q <= last_d;
    opcode_q <= opcode_d;
    psn_q <= psn_d;
    bytes_q <= bytes_d;
    packet_q <= packet_d;
    job_q <= job_d;
    request_q <= request_d;
    failure_q <= failure_d;
    check_q <= check_d;
    reads_q <= reads_d;
  end

  assign packet_valid_o = packet_valid_q;
  assign packet_o = packet_q;
  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign job_valid_o = job_valid_q;
  assign job_o = job_q;
  assign atomic_valid_o = atomic_valid_q;
  assign atomic_o = request_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign qp_reads_valid_o = reads_valid_q;
  assign qp_reads_o = reads_q;
  assign parity_error_o = parity_error_q;
  assign settled_o = state_q == StChoose && drop_empty && !answer_valid;
  assign idle_o = state_q == StChoose && drop_empty && (turn_empty || hold_q) && ack_empty && !answer_valid
               && results_q == '0 && !atomic_valid_q && !packet_valid_q && !job_valid_q && !failure_valid_q && !check_valid_q && !reads_valid_q;

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) state_q == StAnswer && answer.is_read |-> 32'(row.count) < MaxRdAtomic)
  else $error("more READs of a queue pair than it may have");
  // Of a held response only PSN and AETH are stored.
  assert property (@(posedge clk_i) answer_valid && !answer.is_read
                   |-> answer.packet.opcode == BthOpcodeRcAcknowledge && answer.packet.payload_bytes == '0)
  else $error("an answer that is no acknowledge");
`endif

endmodule
