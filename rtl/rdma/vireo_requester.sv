// SPDX-License-Identifier: Apache-2.0

// The send half of a QP: checks a work request, reads the elements of its list, cuts its message into packets of the
// path MTU, has the memory of each checked, and issues them to tx_gather as jobs, one per run of an element. Before the
// first of a message it sends a send_record to the completer. What cannot be sent gets a record with a status, the QP
// is treated as failed at once and reported to QP control; all its later work requests flush. An RDMA READ is one
// packet with one PSN per response; before its job the responder gets a record of the destination.
//
// A work request is an rdma_sq_req, or shorter than that and extensible: then its elements are found by walking its mask.
// Inline data of an extensible one goes with the job if it was read with the work request and is one beat; other inline
// data is read.
//
// After an error an RC QP sends nothing until it is loaded again. For UC and UD only the send half stops (SQE), until a
// work request arrives that was checked after the return to RTS.
//
// It does not process acknowledges. The completer decides on retransmission: a hold stops the QP's new packets, replays
// bring work requests again, a resume ends the hold. A QP whose next work request must wait for READs holds itself.
// So does one whose message is longer than a burst: it sends the burst, and replays request the rest burst by burst, so
// that other QPs get their turns in between.
//
// Two halves with a queue between them: the front checks, cuts and issues memory checks; the back decides on the
// responses, so that the memory check's latency costs no throughput. The back makes a QP's decisions in order.
module vireo_requester
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_dma_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Packets,  // runs of packets between front and back; a power of two, 4 or more
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned NumAhs = Config.num_ahs,  // 2 to 65536
  localparam int unsigned MaxSendSge = Config.max_send_sge,  // elements of a list, 1 to 255
  localparam int unsigned BurstBytes = Config.send_burst_bytes  // a power of two, 2^12 to 2^23
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              table_write_valid_i,
  input  table_write_t      table_write_i,
  input  logic              context_flip_valid_i,
  input  context_flip_t     context_flip_i,
  output logic              parity_error_o,
  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,
  input  logic              qp_hold_valid_i,
  input  qp_hold_t          qp_hold_i,
  input  logic              qp_reads_valid_i,
  input  qp_reads_t         qp_reads_i,

  input  logic              work_request_valid_i,
  output logic              work_request_ready_o,
  input  work_request_t     work_request_i,

  input  logic              load_valid_i,
  output logic              load_ready_o,
  input  qp_load_t          load_i,

  output logic              fetch_request_valid_o,
  input  logic              fetch_request_ready_i,
  output dma_read_request_t fetch_request_o,

  input  logic              fetched_valid_i,         // one per fetch_request, in order
  output logic              fetched_ready_o,
  input  dma_fetched_t      fetched_i,

  output logic              memory_check_valid_o,
  input  logic              memory_check_ready_i,
  output memory_check_t     memory_check_o,

  input  logic              memory_place_valid_i,    // one per memory_check, in order
  output logic              memory_place_ready_o,
  input  memory_place_t     memory_place_i,

  // Pulses. A packet is begun with room in tx_gather, so that its jobs never wait for the wire.
  input  logic              room_i,         // room for one more packet
  output logic              room_used_o,    // one is begun
  output logic              room_unused_o,  // one that was begun has no job
  output logic              job_valid_o,
  input  logic              job_ready_i,
  output tx_job_t           job_o,

  output logic              record_valid_o,
  input  logic              record_ready_i,
  output send_record_t      record_o,

  output logic              read_record_valid_o,     // accepted before the job of its request is visible
  input  logic              read_record_ready_i,
  output read_record_t      read_record_o,

  output logic              failure_valid_o,
  input  logic              failure_ready_i,
  output qp_failure_t       failure_o,

  output logic              next_psn_valid_o,  // a pulse, one cycle after a change of the QP's next PSN
  output qp_psn_t           next_psn_o,
  output logic              resent_o,  // a pulse: a packet of a replay went to the jobs
  // Pulses, for the completer's count: a packet, or the drop of one, went to the jobs; a work request with packets, or a
  // replay, has ended, behind that packet if both come together.
  output logic              issued_o,
  output logic              work_ended_o,
  output logic              replay_ended_o,
  output logic [6:0]        replay_serial_o,  // of that replay
  output memory_grant_t     grant_ended_o,  // a pulse: a granted access is not made
  // For stops of QPs: at no packet that was begun, and reading no list of elements; pulses: entries of the queue between
  // the machines begin, and end.
  output logic              settled_o,
  output logic              entry_begins_o,
  output logic              entry_ends_o,
  output logic              idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned AhBits = $clog2(NumAhs);
  localparam int unsigned PendingBits = $clog2(Packets) + 1;
  localparam int unsigned RoomBits = 2;  // of packets that tx_gather has room for before they are begun

  // Elements per read, after the first one; there is space for the responses to a whole list.
  localparam int unsigned FetchElements = 32'(DmaFetchBytes) / RdmaSgeBytes;
  localparam int unsigned MaxFetches = (MaxSendSge + FetchElements - 2) / FetchElements;
  localparam int unsigned FetchedDepth = MaxFetches < 4 ? 4 : 2 ** $clog2(MaxFetches);
  localparam int unsigned FetchSlotBits = $clog2(FetchElements);
  localparam int unsigned ListBits = $clog2(MaxSendSge + 1);


  // A longer READ waits until the completer knows that its PSNs fit: with the shorter ones of all records, and half of
  // what may be outstanding when the completer resumes, no more than that is. [IBTA vol. 1, 9.7.1]
  localparam logic [23:0] MostReadPackets = 24'h40_0000 / 24'(Config.send_records);

  localparam logic [7:0] KnownFlags = IbSendFlagsFence | IbSendFlagsSignaled | IbSendFlagsSolicited | IbSendFlagsInline;

  // remote_qkey with this bit: the QP's own Q_Key is sent. [IBTA vol. 1, 10.2.5]
  localparam int unsigned OwnQkeyBit = 31;

  localparam bit Invalidation = Config.invalidation != 0;
  localparam bit Windows = Config.memory_windows != 0;
  localparam bit FastRegistration = Config.fast_registration != 0;
  localparam bit Extensible = Config.extensible_requests != 0;
  localparam bit CarriesInline = carries_inline(Config.datapath_bits);

  // Of a bind. [IBTA vol. 1, 10.6.7.2]
  localparam logic [31:0] WindowAccess = IbAccessFlagsRemoteWrite | IbAccessFlagsRemoteRead | IbAccessFlagsRemoteAtomic
                                       | IbAccessFlagsZeroBased;
  // Of a registration.
  localparam logic [31:0] RegionAccess = IbAccessFlagsLocalWrite | IbAccessFlagsRemoteWrite | IbAccessFlagsRemoteRead
                                       | IbAccessFlagsRemoteAtomic;

  // Each element of an extensible work request before the data or the list has this length, and so has the base.
  localparam int unsigned ElementBytes = RdmaSqBaseBytes;

  // Properties of a work request's opcode. [IBTA vol. 1, table 38] One row per operation.
  typedef struct packed {
    logic legal;                     // the service supports it
    logic [7:0] wc_opcode;           // ib_wc_opcode_e
    logic [3:0][7:0] bth;            // bth_opcode_e by packet_position_e
  } operation_t;

  function automatic operation_t operation_of(input bth_service_e service, input logic [7:0] opcode);
    unique case ({service, opcode})
      {BthServiceRc, IbWrOpcodeRdmaWrite}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaWrite,
                         bth: {BthOpcodeRcRdmaWriteOnly, BthOpcodeRcRdmaWriteLast, BthOpcodeRcRdmaWriteFirst,
                               BthOpcodeRcRdmaWriteMiddle}};
      {BthServiceRc, IbWrOpcodeRdmaWriteWithImm}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaWrite,
                         bth: {BthOpcodeRcRdmaWriteOnlyWithImmediate, BthOpcodeRcRdmaWriteLastWithImmediate,
                               BthOpcodeRcRdmaWriteFirst, BthOpcodeRcRdmaWriteMiddle}};
      {BthServiceRc, IbWrOpcodeSend}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend,
                         bth: {BthOpcodeRcSendOnly, BthOpcodeRcSendLast, BthOpcodeRcSendFirst, BthOpcodeRcSendMiddle}};
      {BthServiceRc, IbWrOpcodeSendWithImm}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend,
                         bth: {BthOpcodeRcSendOnlyWithImmediate, BthOpcodeRcSendLastWithImmediate,
                               BthOpcodeRcSendFirst, BthOpcodeRcSendMiddle}};
      // One request, whatever PSN of its responses it starts with.
      {BthServiceRc, IbWrOpcodeRdmaRead}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaRead, bth: {4{BthOpcodeRcRdmaReadRequest}}};
      {BthServiceRc, IbWrOpcodeAtomicCmpAndSwp}:
        operation_of = '{legal: Config.atomics != 0, wc_opcode: IbWcOpcodeCompSwap, bth: {4{BthOpcodeRcCompareSwap}}};
      {BthServiceRc, IbWrOpcodeAtomicFetchAndAdd}:
        operation_of = '{legal: Config.atomics != 0, wc_opcode: IbWcOpcodeFetchAdd, bth: {4{BthOpcodeRcFetchAdd}}};
      {BthServiceRc, IbWrOpcodeAtomicWrite}:
        operation_of = '{legal: Config.atomic_write != 0, wc_opcode: IbWcOpcodeAtomicWrite, bth: {4{BthOpcodeRcAtomicWrite}}};
      {BthServiceRc, IbWrOpcodeFlush}:
        operation_of = '{legal: Config.flush != 0, wc_opcode: IbWcOpcodeFlush, bth: {4{BthOpcodeRcFlush}}};
      {BthServiceRc, IbWrOpcodeSendWithInv}:
        operation_of = '{legal: Invalidation, wc_opcode: IbWcOpcodeSend,
                         bth: {BthOpcodeRcSendOnlyWithInvalidate, BthOpcodeRcSendLastWithInvalidate,
                               BthOpcodeRcSendFirst, BthOpcodeRcSendMiddle}};
      // It has no packet.
      {BthServiceRc, IbWrOpcodeLocalInv}:
        operation_of = '{legal: Invalidation, wc_opcode: IbWcOpcodeLocalInv, bth: {4{BthOpcodeRcSendOnly}}};
      {BthServiceRc, IbWrOpcodeBindMw}:
        operation_of = '{legal: Windows, wc_opcode: IbWcOpcodeBindMw, bth: {4{BthOpcodeRcSendOnly}}};
      {BthServiceRc, IbWrOpcodeRegMr}:
        operation_of = '{legal: FastRegistration, wc_opcode: IbWcOpcodeRegMr, bth: {4{BthOpcodeRcSendOnly}}};
      {BthServiceUc, IbWrOpcodeLocalInv}:
        operation_of = '{legal: Invalidation, wc_opcode: IbWcOpcodeLocalInv, bth: {4{BthOpcodeUcSendOnly}}};
      {BthServiceUc, IbWrOpcodeBindMw}:
        operation_of = '{legal: Windows, wc_opcode: IbWcOpcodeBindMw, bth: {4{BthOpcodeUcSendOnly}}};
      {BthServiceUc, IbWrOpcodeRegMr}:
        operation_of = '{legal: FastRegistration, wc_opcode: IbWcOpcodeRegMr, bth: {4{BthOpcodeUcSendOnly}}};
      {BthServiceUc, IbWrOpcodeRdmaWrite}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaWrite,
                         bth: {BthOpcodeUcRdmaWriteOnly, BthOpcodeUcRdmaWriteLast, BthOpcodeUcRdmaWriteFirst,
                               BthOpcodeUcRdmaWriteMiddle}};
      {BthServiceUc, IbWrOpcodeRdmaWriteWithImm}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeRdmaWrite,
                         bth: {BthOpcodeUcRdmaWriteOnlyWithImmediate, BthOpcodeUcRdmaWriteLastWithImmediate,
                               BthOpcodeUcRdmaWriteFirst, BthOpcodeUcRdmaWriteMiddle}};
      {BthServiceUc, IbWrOpcodeSend}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend,
                         bth: {BthOpcodeUcSendOnly, BthOpcodeUcSendLast, BthOpcodeUcSendFirst, BthOpcodeUcSendMiddle}};
      {BthServiceUc, IbWrOpcodeSendWithImm}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend,
                         bth: {BthOpcodeUcSendOnlyWithImmediate, BthOpcodeUcSendLastWithImmediate,
                               BthOpcodeUcSendFirst, BthOpcodeUcSendMiddle}};
      // A datagram is one packet.
      {BthServiceUd, IbWrOpcodeSend}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend, bth: {4{BthOpcodeUdSendOnly}}};
      {BthServiceUd, IbWrOpcodeSendWithImm}:
        operation_of = '{legal: 1'b1, wc_opcode: IbWcOpcodeSend, bth: {4{BthOpcodeUdSendOnlyWithImmediate}}};
      default: operation_of = '0;
    endcase
  endfunction

  // Sending, or finishing work fetched before a drain. [IBTA vol. 1, 10.3.1]
  function automatic logic is_sending(input logic [2:0] state);
    return state == 3'(IbQpStateRts) || state == 3'(IbQpStateSqd);
  endfunction

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic work_valid, work_pop, load_valid, load_pop, place_valid, place_pop;
  logic fetched_valid, fetched_pop;
  /* verilator lint_off UNUSEDSIGNAL */  // QP numbers are wider than needed, and some work request fields are not used
  work_request_t work;
  qp_load_t load;
  rdma_sq_req_rdma_t rdma;
  rdma_sq_req_atomic_t atomic;
  rdma_sq_req_ud_t datagram;
  dma_fetched_t fetched;  // its tag is unused
  /* verilator lint_on UNUSEDSIGNAL */
  memory_place_t place;

  vireo_slice #(.Width(WorkRequestBits), .Depth(wide_slice(Config.datapath_bits))) u_work_request (
    .clk_i, .rst_ni,
    .s_valid_i(work_request_valid_i), .s_ready_o(work_request_ready_o), .s_data_i(work_request_i),
    .m_valid_o(work_valid), .m_ready_i(work_pop), .m_data_o(work)
  );
  vireo_slice #(.Width(QpLoadBits), .Depth(wide_slice(Config.datapath_bits))) u_load (
    .clk_i, .rst_ni,
    .s_valid_i(load_valid_i), .s_ready_o(load_ready_o), .s_data_i(load_i),
    .m_valid_o(load_valid), .m_ready_i(load_pop), .m_data_o(load)
  );
  // Takes every answer at once: the stop of a QP waits until its reads have ended, and this block may wait for the wire.
  vireo_fifo #(.Width(DmaFetchedBits), .Depth(FetchedDepth)) u_fetched (
    .clk_i, .rst_ni,
    .s_valid_i(fetched_valid_i), .s_ready_o(fetched_ready_o), .s_data_i(fetched_i),
    .m_valid_o(fetched_valid), .m_ready_i(fetched_pop), .m_data_o(fetched)
  );
  // Space for every response: there are at most as many as entries in the queue.
  vireo_fifo #(.Width(MemoryPlaceBits), .Depth(Packets),
               .InLuts(vireo_common_pkg::is_narrow(Config.datapath_bits))) u_memory_place (
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
    logic [15:0] max_inline_data;
    logic [7:0] max_rd_atomic;
    logic [31:0] qkey;
  } attributes_t;

  // The fields of an address handle that are used here.
  typedef struct packed {
    logic valid;
    logic [15:0] pdn;
  } handle_t;

  // Epoch of a QP's last hold, and of the last that ended; the QP is held while they differ. A load sets both to 0, and
  // the first hold after it is 1. Holds by the requester itself are known to the front only.
  typedef struct packed {
    logic by_itself;
    logic [7:0] epoch;
  } resumed_t;

  /* verilator lint_off UNUSEDSIGNAL */  // most attributes are used by other blocks
  table_qp_context_t context_in;
  table_ah_t ah_in;
  /* verilator lint_on UNUSEDSIGNAL */
  attributes_t attributes_in, attributes;
  handle_t handle;
  logic attributes_corrupt, handle_corrupt;
  logic unused_pulses;

  // Otherwise the written value is zero, so that simulation skips it.
  always_comb begin
    context_in = '0;
    ah_in = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      context_in = unpack_table_qp_context(table_write_i.data);
      ah_in = unpack_table_ah(table_write_i.data[8*TableAhBytes-1:0]);
    end
  end

  assign attributes_in = '{qp_type: context_in.qp_type, path_mtu: context_in.path_mtu,
                           sq_sig_all: context_in.sq_sig_all, pdn: context_in.pdn,
                           max_send_sge: context_in.max_send_sge, max_inline_data: context_in.max_inline_data,
                           max_rd_atomic: context_in.max_rd_atomic, qkey: context_in.qkey};
  assign unused_pulses = &{1'b0, table_write_i.index, qp_state_write_i.qpn[23:QpBits], qp_state_write_i.clear,
                           qp_hold_i.qpn[23:QpBits], qp_reads_i.qpn[23:QpBits]};

  logic [QpBits-1:0] front_qpn, half_qpn, back_qpn;
  logic front_read, back_read, half_write, halted_write;
  logic [23:0] half_psn, next_psn;
  logic [2:0] front_state, back_state;
  // Nothing is sent after an error that this block detected.
  typedef struct packed {
    logic until_load;   // until the next load
    logic send_only;  // until SQE has ended: shown by a work request that was checked after it
  } halted_t;
  halted_t halted, halted_new;
  logic sqe_valid_q;  // the pulse of SQE, one cycle late like that of a hold
  logic [QpBits-1:0] sqe_qpn_q;
  logic was_sqe, was_sqe_clear;
  logic hold_valid_q;  // the pulse, one cycle late, so that users of the tables' write port can wait for it
  logic [QpBits-1:0] hold_qpn_q;
  logic [7:0] hold_new_q;
  logic [7:0] front_hold, back_hold, back_resumed, back_resumed_new;
  resumed_t front_resumed, front_resumed_new;
  logic front_loads, front_resumed_write, back_loads, back_resumed_write;
  logic [7:0] number;  // records of the QP, total
  logic reads_started_write;
  logic [7:0] reads_started, ended;  // READs

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_valid_q <= 1'b0;
      sqe_valid_q <= 1'b0;
    end else begin
      hold_valid_q <= qp_hold_valid_i;
      sqe_valid_q <= qp_state_write_valid_i && qp_state_write_i.state == 3'(IbQpStateSqe);
    end
  end
  always_ff @(posedge clk_i) begin
    hold_qpn_q <= qp_hold_i.qpn[QpBits-1:0];
    hold_new_q <= qp_hold_i.epoch;
    sqe_qpn_q <= qp_state_write_i.qpn[QpBits-1:0];
  end

  vireo_context_table #(.HasParity(Config.parity != 0), .Width($bits(attributes_t)), .Depth(NumQps), .Ram(ContextRamRequesterQp)) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(attributes), .corrupt_o(attributes_corrupt),
    .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
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
  // No load resets it.
  vireo_table #(.Width(8), .Depth(NumQps)) u_number (
    .clk_i, .rst_ni,
    .write_i(half_write && !front_loads), .write_address_i(front_qpn), .write_data_i(number + 1'b1),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(number)
  );
  vireo_context_table #(.HasParity(Config.parity != 0), .Width($bits(handle_t)), .Depth(NumAhs), .Ram(ContextRamRequesterAh)) u_handles (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableAh),
    .write_address_i(table_write_i.index[AhBits-1:0]), .write_data_i({ah_in.valid, ah_in.pdn}),
    .read_i(front_read), .read_address_i(datagram.ah[AhBits-1:0]), .read_data_o(handle),
    .corrupt_o(handle_corrupt), .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  // READs with a record, and READs that ended: the difference is outstanding. No load resets them, so that a count of
  // the previous instance is harmless.
  vireo_table #(.Width(8), .Depth(NumQps)) u_reads_started (
    .clk_i, .rst_ni,
    .write_i(reads_started_write), .write_address_i(front_qpn), .write_data_i(reads_started + 1'b1),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(reads_started)
  );
  vireo_table #(.Width(8), .Depth(NumQps)) u_ended (
    .clk_i, .rst_ni,
    .write_i(qp_reads_valid_i), .write_address_i(qp_reads_i.qpn[QpBits-1:0]), .write_data_i(qp_reads_i.ended),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(ended)
  );
  vireo_table #(.Width(8), .Depth(NumQps)) u_front_hold (
    .clk_i, .rst_ni,
    .write_i(hold_valid_q || front_loads), .write_address_i(hold_valid_q ? hold_qpn_q : half_qpn),
    .write_data_i(hold_valid_q ? hold_new_q : '0),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(front_hold)
  );
  vireo_table #(.Width($bits(resumed_t)), .Depth(NumQps)) u_front_resumed (
    .clk_i, .rst_ni,
    .write_i(front_resumed_write), .write_address_i(half_qpn), .write_data_i(front_resumed_new),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(front_resumed)
  );
  vireo_table #(.Width(8), .Depth(NumQps)) u_back_hold (
    .clk_i, .rst_ni,
    .write_i(hold_valid_q || back_loads), .write_address_i(hold_valid_q ? hold_qpn_q : back_qpn),
    .write_data_i(hold_valid_q ? hold_new_q : '0),
    .read_i(back_read), .read_address_i(back_qpn), .read_data_o(back_hold)
  );
  vireo_table #(.Width(8), .Depth(NumQps)) u_back_resumed (
    .clk_i, .rst_ni,
    .write_i(back_resumed_write), .write_address_i(back_qpn), .write_data_i(back_resumed_new),
    .read_i(back_read), .read_address_i(back_qpn), .read_data_o(back_resumed)
  );
  // The QP went to SQE, and no work request has been checked in a state that sends since then. A flag left from
  // before a load is harmless: it recovers a QP that has not failed.
  vireo_table #(.Width(1), .Depth(NumQps)) u_was_sqe (
    .clk_i, .rst_ni,
    .write_i(sqe_valid_q || was_sqe_clear), .write_address_i(sqe_valid_q ? sqe_qpn_q : front_qpn),
    .write_data_i(sqe_valid_q),
    .read_i(front_read), .read_address_i(front_qpn), .read_data_o(was_sqe)
  );
  vireo_table #(.Width($bits(halted_t)), .Depth(NumQps)) u_halted (
    .clk_i, .rst_ni,
    .write_i(halted_write), .write_address_i(back_qpn), .write_data_i(halted_new),
    .read_i(back_read), .read_address_i(back_qpn), .read_data_o(halted)
  );

  // --- Front: checks, packets ----------------------------------------------------------------------------------------

  // One run of a packet, or another event that the back processes in order.
  typedef struct packed {
    logic load;                // only the start of a new instance of the QP
    logic resume;              // only the end of the hold of `generation`
    logic first;               // of its message, or of no message
    logic start;               // of its packet
    logic room;                // with it, for which room is taken
    logic more;                // the packet continues in the next one
    logic ends;                // the last one of its work request
    logic mark;                // nothing else; with `placed` the answer to a check of pages
    logic placed;              // a memory_place belongs to it
    logic direct;              // inline data: the payload is at `address`
    logic carried;             // or is {compare, swap_add, sge}
    logic unsent;              // of a held QP: a record and no packet
    logic is_replay;               // of a replay: no record unless it fails
    logic recovers;             // with `first`: the QP's first one since SQE has ended
    logic send_only;           // a failure stops only the send half
    logic first_transmission;               // of a replay: not sent before
    logic [15:0] packets;      // with `first`, not 0: number sent now
    logic [7:0] epoch;         // of a replay or resume; with `recovers` of the QP's last hold
    logic [7:0] slot;
    logic [6:0] serial;        // of a replay
    logic [QpBits-1:0] qpn;
    logic [15:0] head;
    logic [63:0] wr_id;
    logic [7:0] wc_opcode;
    logic [7:0] status;        // ib_wc_status_e: not success, there is no packet
    logic [31:0] vendor_err;
    logic signaled;
    logic no_completion;
    logic [23:0] first_psn;
    logic [23:0] last_psn;
    logic fence;
    logic read;                // RDMA READ or atomic, with what follows: its number, elements, and the first one
    logic atomic;              // then: its response is an atomic acknowledge
    logic [63:0] swap_add;
    logic [63:0] compare;
    logic [7:0] number;
    logic [31:0] bytes;
    logic [7:0] num_sge;
    logic [8*RdmaSgeBytes-1:0] sge;
    logic [63:0] address;      // inline data's, or of a READ's elements
    logic [7:0] opcode;        // of the packet, with what follows
    logic solicited_event;
    logic ack_req;
    logic [23:0] psn;
    logic [12:0] payload_bytes;
    logic has_reth;
    logic [63:0] remote_address;
    logic [31:0] rkey;
    logic [31:0] dma_length;
    logic has_deth;
    logic [31:0] qkey;
    logic [15:0] ah;
    logic [23:0] dest_qpn;
    logic reports;
    logic has_immdt;           // or an IETH, which is as long
    logic [8*ImmdtBytes-1:0] immediate;  // as in memory and on the wire
    logic is_local;            // the memory_place is the answer to its invalidate, bind or registration; there is no packet
    logic is_bind;             // one of the latter
  } entry_t;

  typedef enum logic [2:0] {FrIdle, FrCheck, FrList, FrSum, FrSkip, FrPacket, FrLeave, FrMap} front_e;

  front_e front_d, front_q;
  logic first_d, first_q;
  logic [7:0] status_d, status_q;
  logic [31:0] vendor_d, vendor_q;
  logic [31:0] left_d, left_q, length_d, length_q;  // the message from the packet on, all of it
  logic [12:0] cut_bytes_d, cut_bytes_q;                    // of the packet
  logic [63:0] address_d, address_q;                // the element, its remaining bytes
  logic [31:0] element_d, element_q;
  logic [31:0] lkey_d, lkey_q;
  logic [ListBits-1:0] next_d, next_q, count_d, count_q;  // elements
  logic [ListBits-1:0] elements_requested_d, elements_requested_q, got_d, got_q;
  logic [39:0] total_d, total_q;  // of up to 255 elements
  logic bad_d, bad_q;
  logic [31:0] skip_d, skip_q;
  logic [23:0] psn_d, psn_q, first_psn_d, first_psn_q, last_psn_d, last_psn_q;
  logic cut_d, cut_q;  // the message pauses before its last packet
  logic [15:0] packets_d, packets_q;  // then: number sent now, and the last of them
  logic [23:0] end_psn_d, end_psn_q;
  logic [3:0] shift_d, shift_q;  // path MTU: 2 to the power of it
  logic [12:0] mtu;
  logic [15:0] pdn_d, pdn_q;
  bth_service_e service_d, service_q;
  operation_t operation_d, operation_q;
  logic [31:0] qkey_d, qkey_q;
  logic [7:0] max_reads_d, max_reads_q;
  logic signaled_d, signaled_q;
  logic recovers_d, recovers_q;
  logic [7:0] hold_d, hold_q;        // of the QP when it was checked
  logic check_valid_d, check_valid_q, check_free;
  memory_check_t check_d, check_q;
  logic fetch_valid_d, fetch_valid_q, fetch_free;
  dma_read_request_t fetch_d, fetch_q;
  logic [PendingBits-1:0] pending_d, pending_q;  // entries in the queue
  logic begins, room_used_d;
  logic [RoomBits-1:0] room_d, room_q;  // packets that may be begun
  logic entry_push, entry_ready, entry_valid, entry_pop;
  entry_t entry_in, entry;

  logic [63:0] wr_id;
  logic [7:0] wr_opcode, wr_flags;
  logic [31:0] num_sge, length;
  logic [15:0] inline_len;
  logic is_inline, fence;
  rdma_sge_t sge;
  // Of an extensible work request: bytes of base and elements before data or list, behind them; it has the elements of
  // its operation, and its descriptor ends where they do.
  logic extensible, has_elements, has_length;
  logic [7:0] version, elements, needed;
  logic [6:0] fixed_bytes;
  logic [9:0] rest_bytes;
  logic [63:0] list_address, inline_address;
  logic [8*RdmaSgeBytes-1:0] first_sge;
  logic carries;  // the payload goes with the job
  logic [8*32'(TxInlineBytes)-1:0] carried_data;
  logic is_atomic, is_read, is_datagram, is_connected;  // an atomic operation is a READ, too
  logic is_store;             // ATOMIC WRITE or FLUSH, which are READs of no bytes
  logic sends_atomic, sends_store;
  logic is_flush;             // the latter
  logic flush_legal;
  /* verilator lint_off UNUSEDSIGNAL */  // reserved fields
  rdma_sq_flush_t flush;
  /* verilator lint_on UNUSEDSIGNAL */
  logic is_bind;                // bind of a memory window
  logic is_register;            // registration of a memory region, whose elements are pages
  logic is_local, changes_key;  // one of these, or a local invalidate; its checks have passed
  /* verilator lint_off UNUSEDSIGNAL */  // reserved fields
  rdma_sq_req_bind_t bind_request;
  rdma_sq_bind_t bind_element;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [31:0] bind_lkey;
  ieth_t ieth;
  logic front_sending, front_held;
  logic [7:0] reads_outstanding;             // READs
  logic [23:0] read_packets;         // PSNs of a READ
  logic waits;                       // for READs, or for the completer to count its PSNs
  logic ends_check;                  // the length is known
  logic marks;                       // the end of the work request, without another packet
  logic [23:0] summed_last_psn, skipped, span;  // the last two: packets before the first to retransmit, all but one
  logic [ListBits-1:0] elements_to_request;
  logic advance, element_write, element_read;
  rdma_sge_t element_in, element;
  logic last, ends, leaves, placed;
  logic [12:0] payload_bytes, rest, piece;
  logic [7:0] opcode;
  opcode_info_t info;
  logic unused_info;

  vireo_fifo #(.Width($bits(entry_t)), .Depth(Packets)) u_entries (
    .clk_i, .rst_ni,
    .s_valid_i(entry_push), .s_ready_o(entry_ready), .s_data_i(entry_in),
    .m_valid_o(entry_valid), .m_ready_i(entry_pop), .m_data_o(entry)
  );
  // The elements after the first one, by their number. The next one is always at the output.
  vireo_ram_1r1w #(.Width(8 * RdmaSgeBytes), .Depth(2 ** ListBits)) u_elements (
    .clk_i,
    .write_i(element_write), .write_address_i(got_q), .write_data_i(element_in),
    .read_i(element_read), .read_address_i(next_d), .read_data_o(element)
  );

  // The work request's fields.
  always_comb begin
    wr_id = '0;
    wr_opcode = '0;
    wr_flags = '0;
    rdma = '0;
    atomic = '0;
    datagram = '0;
    num_sge = '0;
    inline_len = '0;
    first_sge = '0;
    extensible = 1'b0;
    version = '0;
    elements = '0;
    fixed_bytes = 7'(ElementBytes);
    rest_bytes = '0;
    carried_data = '0;
    list_address = work.address + 64'(RdmaSqReqBytes);
    inline_address = work.address + 64'(RdmaSqReqInlineDataOffset);
    if (work_valid || vireo_common_pkg::Synthesis) begin
      wr_id = work.head_bytes[8*RdmaSqReqWrIdOffset +: 64];
      wr_opcode = work.head_bytes[8*RdmaSqReqOpcodeOffset +: 8];
      wr_flags = work.head_bytes[8*RdmaSqReqSendFlagsOffset +: 8];
      rdma = unpack_rdma_sq_req_rdma(work.head_bytes[8*RdmaSqReqWrOffset +: 8*RdmaSqReqRdmaBytes]);
      atomic = unpack_rdma_sq_req_atomic(work.head_bytes[8*RdmaSqReqWrOffset +: 8*RdmaSqReqAtomicBytes]);
      datagram = unpack_rdma_sq_req_ud(work.head_bytes[8*RdmaSqReqWrOffset +: 8*RdmaSqReqUdBytes]);
      num_sge = work.tail_bytes[31:0];
      inline_len = work.tail_bytes[15:0];
      first_sge = work.tail_bytes[8*(RdmaSqReqBytes-RdmaSqReqSizeOffset) +: 8*RdmaSgeBytes];
      extensible = Extensible && work.bytes < 32'(RdmaSqReqBytes);
      if (extensible) begin
        version = work.head_bytes[8*RdmaSqBaseVersionOffset +: 8];
        elements = work.head_bytes[8*RdmaSqBaseElementsOffset +: 8];
        if ((elements & RdmaSqElementRdma) != '0) fixed_bytes = fixed_bytes + 7'(ElementBytes);
        if ((elements & RdmaSqElementUd) != '0) fixed_bytes = fixed_bytes + 7'(ElementBytes);
        if ((elements & RdmaSqElementAtomic) != '0) fixed_bytes = fixed_bytes + 7'(ElementBytes);
        rest_bytes = work.bytes[9:0] - 10'(fixed_bytes);
        // The operands follow the peer's memory; before them the two formats have the same fields in the same places.
        atomic = '{remote_addr: rdma.remote_addr, rkey: rdma.rkey,
                   compare_add: work.head_bytes[8*(2*ElementBytes+RdmaSqAtomicCompareAddOffset) +: 64],
                   swap: work.head_bytes[8*(2*ElementBytes+RdmaSqAtomicSwapOffset) +: 64], default: '0};
        num_sge = (elements & RdmaSqElementSgList) != '0 ? 32'(rest_bytes[9:4]) : '0;
        inline_len = 16'(rest_bytes);
        unique case (fixed_bytes)
          7'(ElementBytes): first_sge = work.head_bytes[8*ElementBytes +: 8*RdmaSgeBytes];
          7'(2 * ElementBytes): first_sge = work.head_bytes[8*2*ElementBytes +: 8*RdmaSgeBytes];
          default: first_sge = work.tail_bytes[8*RdmaSgeBytes-1:0];
        endcase
        carried_data = {work.tail_bytes[8*ElementBytes-1:0], work.head_bytes[8*2*ElementBytes +: 8*ElementBytes]};
        if (fixed_bytes == 7'(ElementBytes)) begin
          carried_data = work.head_bytes[8*ElementBytes +: 8*2*ElementBytes];
        end
        list_address = work.address + 64'(fixed_bytes);
        inline_address = list_address;
      end
    end
    sge = unpack_rdma_sge(first_sge);
  end

  assign is_inline = (wr_flags & IbSendFlagsInline) != '0;
  assign carries = CarriesInline && extensible && is_inline && inline_len <= 16'(TxInlineBytes);
  assign fence = (wr_flags & IbSendFlagsFence) != '0;
  always_comb begin
    length = sge.length;
    if (is_inline) length = 32'(inline_len);
    else if (num_sge == '0) length = '0;
  end
  assign mtu = 13'(1 << MtuShift) << (shift_q - 4'(MtuShift));
  assign element_in = fetched.data[8*RdmaSgeBytes*32'(FetchSlotBits'(got_q - 1'b1)) +: 8*RdmaSgeBytes];

  always_comb begin
    front_d = front_q;
    first_d = first_q;
    status_d = status_q;
    vendor_d = vendor_q;
    left_d = left_q;
    length_d = length_q;
    cut_bytes_d = cut_bytes_q;
    address_d = address_q;
    element_d = element_q;
    lkey_d = lkey_q;
    next_d = next_q;
    count_d = count_q;
    elements_requested_d = elements_requested_q;
    got_d = got_q;
    total_d = total_q;
    bad_d = bad_q;
    skip_d = skip_q;
    psn_d = psn_q;
    first_psn_d = first_psn_q;
    last_psn_d = last_psn_q;
    cut_d = cut_q;
    packets_d = packets_q;
    end_psn_d = end_psn_q;
    shift_d = shift_q;
    pdn_d = pdn_q;
    service_d = service_q;
    operation_d = operation_q;
    if (front_q == FrCheck) begin
      service_d = service_of(attributes.qp_type);
      operation_d = operation_of(service_d, wr_opcode);
    end
    is_atomic = operation_d.wc_opcode == IbWcOpcodeCompSwap || operation_d.wc_opcode == IbWcOpcodeFetchAdd;
    is_flush = Config.flush != 0 && operation_d.wc_opcode == IbWcOpcodeFlush;
    is_store = operation_d.wc_opcode == IbWcOpcodeAtomicWrite || is_flush;
    flush = unpack_rdma_sq_flush({64'd0, atomic.compare_add});
    // [IBTA vol. 1, A19.4.1]
    flush_legal = flush.placement != '0 && flush.placement[7:2] == '0
               && (flush.selectivity == 8'(FlushSelectivityMemoryRegion)
                   || (flush.selectivity == 8'(FlushSelectivityRange) && !flush.length[31]));
    is_read = operation_d.wc_opcode == IbWcOpcodeRdmaRead || is_atomic || is_store;
    is_bind = Windows && operation_d.wc_opcode == IbWcOpcodeBindMw;
    is_register = FastRegistration && operation_d.wc_opcode == IbWcOpcodeRegMr;
    is_local = operation_d.wc_opcode == IbWcOpcodeLocalInv || is_bind || is_register;
    changes_key = Invalidation && is_local && status_q == IbWcStatusSuccess;
    // Address, length and rights are in the place of an atomic operation's address and operands. Those of a registration
    // are where a bind has its own, the key is in the place of rkey, and the page size in that of lkey.
    bind_request = unpack_rdma_sq_req_bind(pack_rdma_sq_req_atomic(atomic));
    bind_element = unpack_rdma_sq_bind(work.head_bytes[8*RdmaSqReqWrOffset +: 8*RdmaSqBindBytes]);
    bind_lkey = extensible ? bind_element.lkey : work.head_bytes[8*(RdmaSqReqWrOffset+RdmaSqReqBindLkeyOffset) +: 32];
    ieth = unpack_ieth(work.head_bytes[8*RdmaSqReqImmDataOffset +: 8*IethBytes]);
    is_datagram = service_d == BthServiceUd;
    needed = '0;
    if (is_datagram) needed = RdmaSqElementUd;
    else if (is_read || operation_d.wc_opcode == IbWcOpcodeRdmaWrite) needed = RdmaSqElementRdma;
    if (is_bind || is_register) needed = RdmaSqElementRdma;
    if (is_atomic || is_store || is_bind || is_register) needed = needed | RdmaSqElementAtomic;
    if (is_inline) needed = needed | RdmaSqElementInlineData;
    // A list may be there without an element.
    has_elements = (elements & ~RdmaSqElementSgList) == needed && !(is_inline && (elements & RdmaSqElementSgList) != '0);
    has_length = work.bytes[9:0] >= 10'(fixed_bytes)
              && (is_inline || rest_bytes == '0 || ((elements & RdmaSqElementSgList) != '0 && rest_bytes[3:0] == '0));
    is_connected = service_d == BthServiceRc;
    qkey_d = qkey_q;
    max_reads_d = max_reads_q;
    signaled_d = signaled_q;
    recovers_d = recovers_q;
    hold_d = hold_q;
    was_sqe_clear = 1'b0;
    check_free = !check_valid_q || memory_check_ready_i;
    check_valid_d = check_valid_q && !memory_check_ready_i;
    check_d = check_q;
    fetch_free = !fetch_valid_q || fetch_request_ready_i;
    fetch_valid_d = fetch_valid_q && !fetch_request_ready_i;
    fetch_d = fetch_q;
    work_pop = 1'b0;
    load_pop = 1'b0;
    fetched_pop = 1'b0;
    front_read = front_q != FrIdle;
    front_qpn = work.qpn[QpBits-1:0];
    half_qpn = front_qpn;
    half_write = 1'b0;
    next_psn = psn_q;
    front_loads = 1'b0;
    front_resumed_write = 1'b0;
    front_resumed_new = '{by_itself: 1'b0, epoch: work.epoch};
    reads_started_write = 1'b0;
    entry_push = 1'b0;
    ends_check = 1'b0;
    marks = 1'b0;
    advance = 1'b0;
    element_write = 1'b0;
    element_read = front_q == FrSum || front_q == FrSkip || front_q == FrPacket || front_q == FrMap;

    front_sending = is_sending(front_state);
    reads_outstanding = reads_started - ended;
    read_packets = last_psn_q - first_psn_q + 24'd1;
    waits = first_q && is_connected
         && ((is_read && (reads_outstanding >= max_reads_q || read_packets > MostReadPackets))
             || (fence && reads_outstanding != '0));
    // A replay belongs to one hold, new work to none.
    if (work.is_replay) front_held = front_hold != work.epoch;
    else front_held = front_hold != front_resumed.epoch || front_resumed.by_itself || waits;
    elements_to_request = count_q - elements_requested_q;
    if (32'(elements_to_request) > FetchElements) elements_to_request = ListBits'(FetchElements);

    last = left_q <= 32'(mtu);
    ends = last || (cut_q && psn_q == end_psn_q);
    payload_bytes = last ? left_q[12:0] : mtu;
    rest = payload_bytes - cut_bytes_q;
    piece = element_q < 32'(rest) ? element_q[12:0] : rest;
    placed = (left_q != '0 && !is_inline) || changes_key;
    // Between packets, and not before a message that has no record yet. A local invalidate or bind waits for none.
    leaves = cut_bytes_q == '0 && status_q == IbWcStatusSuccess && !is_local
          && (front_held || (!first_q && !front_sending));
    begins = cut_bytes_q == '0 && status_q == IbWcStatusSuccess && !is_local;
    room_used_d = 1'b0;
    opcode = operation_q.bth[{last, psn_q == first_psn_q}];
    info = opcode_info(opcode);
    unused_info = &{1'b0, info};
    // Else the work request fails, and has no packet.
    sends_atomic = Config.atomics != 0 && is_atomic;
    sends_store = Config.atomics != 0 && is_store;
    // In every state, although only some push it: a condition would be a LUT for each bit.
    entry_in = '{load: 1'b0, resume: 1'b0, first: first_q, start: cut_bytes_q == '0, room: 1'b0, more: piece != rest,
                 ends: piece == rest && ends, mark: 1'b0, placed: placed,
                 direct: is_inline, carried: carries, unsent: 1'b0, is_replay: work.is_replay, recovers: first_q && recovers_q,
                 send_only: service_q == BthServiceUc || is_datagram,
                 first_transmission: work.first_transmission, packets: cut_q ? packets_q : '0,
                 epoch: first_q && recovers_q ? hold_q : work.epoch, slot: work.slot, serial: work.serial,
                 qpn: front_qpn, head: work.head, wr_id: wr_id,
                 wc_opcode: operation_q.wc_opcode, status: status_q, vendor_err: vendor_q, signaled: signaled_q,
                 no_completion: work.failed != RdmaErrorOk && !work.is_replay, first_psn: first_psn_q, last_psn: last_psn_q,
                 fence: fence, read: is_read && status_q == IbWcStatusSuccess,
                 atomic: sends_atomic && status_q == IbWcStatusSuccess,
                 swap_add: carries ? carried_data[8*RdmaSgeBytes +: 64]
                           : !sends_atomic && !sends_store ? '0
                           : operation_q.wc_opcode == IbWcOpcodeCompSwap ? atomic.swap : atomic.compare_add,
                 compare: carries ? carried_data[8*RdmaSgeBytes + 64 +: 64]
                          : sends_atomic && operation_q.wc_opcode == IbWcOpcodeCompSwap ? atomic.compare_add : '0,
                 number: work.is_replay ? work.number : reads_started,
                 bytes: is_read && status_q == IbWcStatusSuccess ? length_q : '0, num_sge: num_sge[7:0],
                 sge: carries ? carried_data[8*RdmaSgeBytes-1:0] : num_sge == '0 ? '0 : first_sge,
                 address: is_read ? list_address : address_q, opcode: opcode,
                 solicited_event: last && info.may_solicit && (wr_flags & IbSendFlagsSolicited) != '0,
                 ack_req: is_connected
                          && (ends || ((psn_q + 24'd1) & (24'(SendAckPackets) - 24'd1)) == '0),
                 psn: psn_q, payload_bytes: payload_bytes, has_reth: info.has_reth,
                 remote_address: rdma.remote_addr + 64'(skip_q), rkey: sends_atomic || sends_store ? atomic.rkey : rdma.rkey,
                 dma_length: is_flush ? flush.length : sends_store ? 32'(AtomicBytes) : length_q - skip_q,
                 has_deth: is_datagram, qkey: qkey_q, ah: datagram.ah[15:0], dest_qpn: datagram.remote_qpn[23:0],
                 reports: last && !is_connected,
                 has_immdt: info.has_immdt || info.has_ieth,
                 immediate: work.head_bytes[8*RdmaSqReqImmDataOffset +: 8*ImmdtBytes], is_local: changes_key,
                 is_bind: (is_bind || is_register) && changes_key};

    unique case (front_q)
      FrIdle: begin
        if (load_valid) begin
          front_loads = entry_ready && !hold_valid_q;
        end else if (work_valid) begin
          front_read = 1'b1;
          front_d = FrCheck;
        end
      end
      FrCheck: begin
        first_d = 1'b1;
        cut_bytes_d = '0;
        length_d = length;
        address_d = is_inline ? inline_address : sge.addr;
        element_d = length;
        lkey_d = sge.lkey;
        next_d = ListBits'(1);
        count_d = ListBits'(1);
        elements_requested_d = ListBits'(1);
        got_d = ListBits'(1);
        total_d = 40'(length);
        bad_d = 1'b0;
        first_psn_d = work.is_replay ? work.first_psn : half_psn;
        psn_d = work.is_replay ? work.psn : half_psn;
        shift_d = 4'(MtuShift) + attributes.path_mtu[3:0];
        pdn_d = attributes.pdn;
        qkey_d = datagram.remote_qkey[OwnQkeyBit] ? attributes.qkey : datagram.remote_qkey;
        max_reads_d = attributes.max_rd_atomic;
        // Failures always have a CQE.
        signaled_d = attributes.sq_sig_all || (wr_flags & IbSendFlagsSignaled) != '0;

        // The first that applies.
        status_d = IbWcStatusLocQpOpErr;
        vendor_d = 32'(RdmaErrorOk);
        if (work.failed != RdmaErrorOk && work.is_replay) begin
          vendor_d = 32'(work.failed);
        end else if (work.failed != RdmaErrorOk || !front_sending) begin
          // Not executed. [IBTA vol. 1, 10.3.1.7]
          status_d = IbWcStatusWrFlushErr;
        end else if (extensible && version != RdmaSqVersion) begin
          vendor_d = 32'(RdmaErrorUnsupportedCommand);
        end else if (service_d == BthServiceCnp) begin
          vendor_d = 32'(RdmaErrorUnsupportedQpType);
        end else if (!operation_d.legal) begin
          vendor_d = 32'(RdmaErrorUnsupportedCommand);
        end else if (attributes.path_mtu < IbMtuMtu256 || attributes.path_mtu > IbMtuMtu4096
                     || (is_read && attributes.max_rd_atomic == '0)) begin
          // Such a READ would wait forever.
          vendor_d = 32'(RdmaErrorInvalidAttribute);
        end else if ((wr_flags & ~KnownFlags) != '0 || (is_read && is_inline) || (extensible && !has_elements)
                     || (is_store && num_sge != '0) || (is_flush && !flush_legal)
                     || (is_local && (is_inline || fence || (num_sge != '0) != is_register || work.is_replay))
                     || (is_bind && (bind_request.access_flags & ~WindowAccess) != '0)
                     || (is_register && ((bind_request.access_flags & ~RegionAccess) != '0 || bind_request.length == '0
                                         || bind_lkey[7:0] < RdmaPageShiftMin || bind_lkey[7:0] > RdmaPageShiftMax))) begin
          // What has no packet is never replayed: the work request has changed.
          vendor_d = 32'(RdmaErrorInvalidParameter);
        end else if (extensible && !has_length) begin
          vendor_d = 32'(RdmaErrorBadWqe);
        end else if (is_datagram && (datagram.ah >= NumAhs || !handle.valid || handle.pdn != attributes.pdn)) begin
          // [IBTA vol. 1, 10.2.3: AH and QP are of one protection domain]
          vendor_d = 32'(RdmaErrorBadAh);
        end else if (is_inline) begin
          if (inline_len > attributes.max_inline_data || inline_len > RdmaInlineBytes) begin
            vendor_d = 32'(RdmaErrorCapInlineExceeded);
          end else begin
            status_d = IbWcStatusSuccess;
          end
        end else if (num_sge > 32'(attributes.max_send_sge) || num_sge > MaxSendSge) begin
          vendor_d = 32'(RdmaErrorCapSgeExceeded);
        end else if (!extensible && work.bytes < RdmaSqReqBytes + RdmaSgeBytes * 32'(num_sge[7:0])) begin
          vendor_d = 32'(RdmaErrorBadWqe);
        end else begin
          status_d = IbWcStatusSuccess;
          if (num_sge != '0) count_d = num_sge[ListBits-1:0];
        end

        recovers_d = was_sqe && front_sending && !work.is_replay;
        hold_d = front_hold;
        if (sqe_valid_q) begin
          // It has the table's write port.
        end else if (work.resume) begin
          // New packets follow only if all before them were requested: packets that the completer has not yet seen
          // arrive there as an unsent record, and it resumes again. PSNs alone would not show all of them: two READs
          // may take as many as there are.
          if (front_hold != work.epoch || half_psn != work.psn || number != work.number) begin
            work_pop = 1'b1;
            front_d = FrIdle;
          end else if (entry_ready) begin
            front_resumed_write = 1'b1;
            entry_push = 1'b1;
            entry_in.resume = 1'b1;
            entry_in.ends = 1'b0;
            entry_in.epoch = work.epoch;
            entry_in.placed = 1'b0;
            work_pop = 1'b1;
            front_d = FrIdle;
          end
        end else if (work.is_replay && !entry_ready) begin
          // Its end needs a place.
        end else if (work.is_replay && (front_held || !front_sending)) begin
          // Another replay follows, or the QP no longer sends.
          marks = 1'b1;
          work_pop = 1'b1;
          front_d = FrIdle;
        end else begin
          was_sqe_clear = recovers_d;
          if (status_d == IbWcStatusSuccess && count_d != ListBits'(1)) front_d = FrList;
          else ends_check = 1'b1;
        end
      end
      FrList: begin
        if (elements_requested_q != count_q && fetch_free) begin
          fetch_valid_d = 1'b1;
          fetch_d = '{address: list_address + 64'(RdmaSgeBytes) * 64'(elements_requested_q),
                      bytes: 13'(RdmaSgeBytes) * 13'(elements_to_request), tag: '0};
          elements_requested_d = elements_requested_q + elements_to_request;
        end
        if (fetched_valid) begin
          element_write = 1'b1;
          total_d = total_q + 40'(element_in.length);
          bad_d = bad_q || fetched.resp != AxiRespOkay;
          got_d = got_q + 1'b1;
          if (got_d == count_q) front_d = FrSum;
          fetched_pop = got_d == count_q || FetchSlotBits'(got_q) == '0;
        end
      end
      FrSum: begin
        length_d = total_q[31:0];
        if (bad_q) begin
          status_d = IbWcStatusLocQpOpErr;
          vendor_d = 32'(RdmaErrorQueueDmaError);
        end
        ends_check = 1'b1;
      end
      FrMap: begin
        // The pages of a registration, a pair at a time. Their answers say nothing that its own one does not.
        if (entry_ready && check_free) begin
          entry_push = 1'b1;
          entry_in.mark = 1'b1;
          entry_in.ends = 1'b0;
          entry_in.placed = 1'b1;
          check_valid_d = 1'b1;
          check_d = '{key: bind_request.rkey, pdn: pdn_q, address: address_q, bytes: element_q, bytes_high: lkey_q,
                      lkey: 32'(next_q) - 32'd1, qpn: 24'(front_qpn), maps: 1'b1, default: '0};
          advance = next_q != count_q;
          if (!advance) front_d = FrPacket;
        end
      end
      FrSkip: begin
        // Skip to the first byte to retransmit.
        if (skip_q > element_q) begin
          skip_d = skip_q - element_q;
          left_d = left_q - element_q;
          advance = 1'b1;
        end else begin
          left_d = left_q - skip_q;
          address_d = address_q + 64'(skip_q);
          element_d = element_q - skip_q;
          front_d = FrPacket;
        end
      end
      FrPacket: begin
        if (leaves && (!first_q || work.is_replay)) begin
          front_d = FrLeave;
        end else if (leaves) begin
          if (entry_ready) begin
            entry_push = 1'b1;
            entry_in.unsent = 1'b1;
            entry_in.ends = 1'b1;
            entry_in.placed = 1'b0;
            reads_started_write = is_read;
            if (waits) begin
              front_resumed_write = 1'b1;
              front_resumed_new = '{by_itself: 1'b1, epoch: front_resumed.epoch};
            end
            half_write = 1'b1;
            next_psn = last_psn_q + 24'd1;
            work_pop = 1'b1;
            front_d = FrIdle;
          end
        end else if (rest != '0 && element_q == '0) begin
          advance = 1'b1;
        end else if (entry_ready && (!placed || check_free) && (!begins || room_q != '0)) begin
          // The room comes first: from the check on, nothing waits for the wire.
          entry_push = 1'b1;
          entry_in.room = begins;
          room_used_d = begins;
          check_valid_d = placed || check_valid_d;
          if (placed) check_d = '{key: lkey_q, pdn: pdn_q, address: address_q, bytes: 32'(piece), default: '0};
          if (changes_key && !is_bind && !is_register) begin
            check_d = '{key: ieth.rkey, pdn: pdn_q, invalidate: 1'b1, qpn: 24'(front_qpn), default: '0};
          end else if (changes_key) begin
            check_d = '{key: bind_request.rkey, pdn: pdn_q, address: bind_request.addr, bytes: bind_request.length[31:0],
                        bytes_high: bind_request.length[63:32],
                        lkey: is_register ? {16'd0, 8'(count_q), bind_lkey[7:0]} : bind_lkey,
                        qpn: 24'(front_qpn), binds: is_bind, registers: is_register,
                        local_write: is_register && (bind_request.access_flags & IbAccessFlagsLocalWrite) != '0,
                        remote_write: (bind_request.access_flags & IbAccessFlagsRemoteWrite) != '0,
                        remote_read: (bind_request.access_flags & IbAccessFlagsRemoteRead) != '0,
                        remote_atomic: (bind_request.access_flags & IbAccessFlagsRemoteAtomic) != '0,
                        zero_based: is_bind && (bind_request.access_flags & IbAccessFlagsZeroBased) != '0, default: '0};
          end
          reads_started_write = first_q && is_read && !work.is_replay;
          first_d = 1'b0;
          cut_bytes_d = cut_bytes_q + piece;
          address_d = address_q + 64'(piece);
          element_d = element_q - 32'(piece);
          advance = element_d == '0 && next_q != count_q;
          if (piece == rest) begin
            cut_bytes_d = '0;
            left_d = left_q - 32'(payload_bytes);
            psn_d = psn_q + 24'd1;
            if (ends) begin
              half_write = !work.is_replay;
              if (!last && !work.is_replay) begin
                // The completer has a record of that, and requests the rest.
                front_resumed_write = 1'b1;
                front_resumed_new = '{by_itself: 1'b1, epoch: front_resumed.epoch};
              end
              // A failure before the first packet uses no PSN: its last one is the one before its first.
              next_psn = last_psn_q + 24'd1;
              work_pop = 1'b1;
              front_d = FrIdle;
            end
          end
        end else if (begins && room_q == '0) begin
          // Or commands would wait for the wire.
          front_loads = load_valid && entry_ready && !hold_valid_q;
        end
      end
      FrLeave: begin
        // Waits for a place.
      end
      default: front_d = FrIdle;
    endcase

    if (front_loads) begin
      load_pop = 1'b1;
      half_qpn = load.qpn[QpBits-1:0];
      half_write = 1'b1;
      next_psn = load.psn;
      front_resumed_write = 1'b1;
      front_resumed_new = '0;
      entry_push = 1'b1;
      entry_in.load = 1'b1;
      entry_in.ends = 1'b0;
      entry_in.placed = 1'b0;
      entry_in.qpn = load.qpn[QpBits-1:0];
    end
    if (front_d == FrLeave && entry_ready) begin
      // The rest of the message is not cut; its record covers all of it.
      marks = 1'b1;
      half_write = !work.is_replay;
      next_psn = last_psn_q + 24'd1;
      work_pop = 1'b1;
      front_d = FrIdle;
    end
    if (marks) begin
      // The work request ends without another packet.
      entry_push = 1'b1;
      entry_in.ends = 1'b1;
      entry_in.mark = 1'b1;
      entry_in.placed = 1'b0;
    end

    // Of the elements only as many bytes are written.
    if (ends_check && is_atomic) length_d = 32'(AtomicBytes);
    // They are pages.
    if (ends_check && is_register) length_d = '0;
    skipped = work.psn - work.first_psn;
    span = work.last_psn - work.first_psn;
    summed_last_psn = first_psn_d;
    if (length_d != '0) summed_last_psn = first_psn_d + 24'((length_d - 32'd1) >> shift_d);
    if (ends_check) begin
      if (status_d == IbWcStatusSuccess && !is_register && total_d > 40'(MaxMessageBytes)) begin
        status_d = IbWcStatusLocLenErr;
        vendor_d = 32'(RdmaErrorInvalidLength);
      end
      if (status_d == IbWcStatusSuccess && is_atomic && total_d < 40'(AtomicBytes)) begin
        status_d = IbWcStatusLocLenErr;
        vendor_d = 32'(RdmaErrorInvalidLength);
      end
      if (status_d == IbWcStatusSuccess && is_datagram && total_d > 40'd1 << shift_d) begin
        // [IBTA vol. 1, 9.8.3: a datagram is one packet]
        status_d = IbWcStatusLocLenErr;
        vendor_d = 32'(RdmaErrorInvalidLength);
      end
      // It has changed since its packets got their PSNs.
      if (status_d == IbWcStatusSuccess && work.is_replay
          && (summed_last_psn != work.last_psn || skipped > span)) begin
        status_d = IbWcStatusLocQpOpErr;
        vendor_d = 32'(RdmaErrorBadWqe);
      end
      // The request of a READ has no payload.
      front_d = status_d == IbWcStatusSuccess && work.is_replay && !is_read ? FrSkip : FrPacket;
      if (status_d == IbWcStatusSuccess && is_register) front_d = FrMap;
      left_d = status_d == IbWcStatusSuccess && !is_read ? length_d : '0;
      skip_d = work.is_replay ? 32'(skipped) << shift_d : '0;
      last_psn_d = summed_last_psn;
      if (work.is_replay) last_psn_d = work.last_psn;
      else if (status_d != IbWcStatusSuccess || is_local) last_psn_d = first_psn_d - 24'd1;
      cut_d = status_d == IbWcStatusSuccess && !is_read
           && (work.is_replay ? work.packets != '0 : length_d > 32'(BurstBytes));
      packets_d = work.is_replay ? work.packets : 16'(32'(BurstBytes) >> shift_d);
      end_psn_d = psn_d + 24'(packets_d) - 24'd1;
    end
    if (advance) begin
      address_d = element.addr;
      element_d = element.length;
      lkey_d = element.lkey;
      next_d = next_q + 1'b1;
    end
    pending_d = pending_q + PendingBits'(entry_push) - PendingBits'(entry_pop);
    room_d = room_q + RoomBits'(room_i) - RoomBits'(room_used_d);
  end

  // --- Back: decisions, in order -------------------------------------------------------------------------------------

  typedef enum logic [2:0] {BkIdle, BkDecide, BkRead, BkJob, BkFail} back_e;

  back_e back_d, back_q;
  logic stop_d, stop_q;  // the rest of the message is not sent
  logic drop_d, drop_q;  // the job that follows ends a packet that was started
  logic record_valid_d, record_valid_q, record_free, job_valid_d, job_valid_q, job_free;
  logic failure_valid_d, failure_valid_q, failure_free, resent_d, resent_q;
  logic has_packets_d, has_packets_q;  // the work request
  logic issued_d;
  logic room_unused_d;
  memory_grant_t grant_ended_d, grant_ended_q;
  logic read_valid_d, read_valid_q, read_free;
  send_record_t record_d, record_q;
  read_record_t read_d, read_q;
  tx_job_t job_d, job_q;
  qp_failure_t failure_d, failure_q;
  logic can_send, back_held, skips, fails, halts, continues, record_recovers;
  logic [7:0] status;
  logic [31:0] vendor;
  reth_t reth;
  feth_t feth;
  deth_t deth;
  atomic_eth_t atomic_eth;

  always_comb begin
    back_d = back_q;
    stop_d = stop_q;
    drop_d = drop_q;
    back_qpn = entry.qpn;
    back_read = 1'b0;
    halted_write = 1'b0;
    halted_new = '0;
    back_loads = 1'b0;
    back_resumed_write = 1'b0;
    back_resumed_new = entry.epoch;
    entry_pop = 1'b0;
    record_free = !record_valid_q || record_ready_i;
    record_valid_d = record_valid_q && !record_ready_i;
    record_d = record_q;
    read_free = !read_valid_q || read_record_ready_i;
    read_valid_d = read_valid_q && !read_record_ready_i;
    read_d = read_q;
    job_free = !job_valid_q || job_ready_i;
    job_valid_d = job_valid_q && !job_ready_i;
    job_d = job_q;
    failure_free = !failure_valid_q || failure_ready_i;
    failure_valid_d = failure_valid_q && !failure_ready_i;
    resent_d = 1'b0;
    issued_d = 1'b0;
    has_packets_d = has_packets_q;
    failure_d = failure_q;

    // Why it is not sent. A packet that was started is finished, unless its memory check fails.
    can_send = is_sending(back_state) && !halted.until_load && !(halted.send_only && !entry.recovers);
    back_held = !entry.is_local && (entry.unsent
                                     || back_hold != (entry.is_replay ? entry.epoch : back_resumed));
    skips = (!entry.first && stop_q)
         || ((!entry.first || entry.is_replay) && entry.start && (!can_send || back_held));
    status = IbWcStatusSuccess;
    vendor = '0;
    if (entry.first && !can_send) begin
      status = IbWcStatusWrFlushErr;
    end else if (entry.status != IbWcStatusSuccess) begin
      status = entry.status;
      vendor = entry.vendor_err;
    end else if (entry.placed && place.status != MemoryStatusOk) begin
      // [IBTA vol. 1, 11.6.2: local protection error, memory management operation error]
      status = entry.is_bind ? IbWcStatusMwBindErr : entry.is_local ? IbWcStatusLocQpOpErr : IbWcStatusLocProtErr;
      vendor = 32'(memory_error(place.status));
    end
    fails = status != IbWcStatusSuccess;
    // A flush because of the QP's state does not change that state: SQE may end, and later work may be sent. The
    // completer judges a replay's failure: the record may have been acknowledged.
    halts = fails && !entry.is_replay && (status != IbWcStatusWrFlushErr || entry.no_completion);
    // A burst starts, of new work or of a replay, and more of the message follows.
    continues = entry.first && entry.packets != '0 && !fails && !back_held;
    record_recovers = entry.recovers && can_send;
    reth = '{virtual_address: entry.remote_address, rkey: entry.rkey, dma_length: entry.dma_length};
    // What the work request has of a FLUSH is in the place of an operand.
    feth = '{selectivity: entry.swap_add[8*RdmaSqFlushSelectivityOffset +: 2],
             placement: entry.swap_add[8*RdmaSqFlushPlacementOffset +: 4], default: '0};
    deth = '{qkey: entry.qkey, reserved: '0, source_qp: 24'(entry.qpn)};
    atomic_eth = '{virtual_address: entry.remote_address, rkey: entry.rkey, swap_add_data: entry.swap_add,
                   compare_data: entry.compare};

    unique case (back_q)
      BkIdle: begin
        back_read = 1'b1;
        if (entry_valid && (!entry.placed || place_valid)) back_d = BkDecide;
      end
      BkDecide: begin
        back_read = 1'b1;  // while it waits, too
        drop_d = 1'b0;
        if (entry.load) begin
          if (!hold_valid_q) begin
            halted_write = 1'b1;
            back_loads = 1'b1;
            back_resumed_write = 1'b1;
            back_resumed_new = '0;
            entry_pop = 1'b1;
            back_d = BkIdle;
          end
        end else if (entry.resume) begin
          back_resumed_write = 1'b1;
          entry_pop = 1'b1;
          back_d = BkIdle;
        end else if (entry.mark) begin
          entry_pop = 1'b1;
          back_d = BkIdle;
        end else if (skips) begin
          // The rest of a message whose record failed, flushes or is kept for a replay; or an outdated replay.
          stop_d = 1'b1;
          entry_pop = 1'b1;
          back_d = BkIdle;
        end else if (record_free) begin
          if (fails || (entry.first && !entry.is_replay) || continues) begin
            record_valid_d = 1'b1;
            record_d = '{qpn: 24'(entry.qpn), head: entry.head, wr_id: entry.wr_id, opcode: entry.wc_opcode,
                         status: status, vendor_err: vendor, signaled: entry.signaled, last_psn: entry.last_psn,
                         first_psn: entry.first_psn, replaces: !entry.first || entry.is_replay, is_replay: entry.is_replay,
                         slot: entry.slot, unsent: back_held && entry.first && !fails, fence: entry.fence,
                         bytes: entry.bytes, no_completion: entry.no_completion, packets: continues ? entry.packets : '0,
                         epoch: (continues && entry.is_replay) || record_recovers ? entry.epoch : '0,
                         recovers: record_recovers, is_local: entry.is_local && !fails};
          end
          stop_d = fails || (entry.first && back_held);
          if (entry.first) has_packets_d = !stop_d && !entry.is_local;
          halted_write = halts || entry.recovers;
          halted_new = '{until_load: halted.until_load || (halts && (!entry.send_only || entry.no_completion)),
                       send_only: (halted.send_only && !entry.recovers) || (halts && entry.send_only && !entry.no_completion)};
          if (!stop_d && entry.is_local) begin
            entry_pop = 1'b1;
            back_d = BkIdle;
          end else if (!stop_d) begin
            back_d = entry.read ? BkRead : BkJob;
          end else begin
            if (!entry.start) begin
              drop_d = 1'b1;
              back_d = BkJob;
            end else if (!fails || entry.is_replay || status == IbWcStatusWrFlushErr) begin
              // The block that put the QP into ERR, or stopped its queue, has reported it.
              entry_pop = 1'b1;
              back_d = BkIdle;
            end else begin
              back_d = BkFail;
            end
          end
        end
      end
      BkRead: begin
        if (record_free && read_free) begin
          read_valid_d = 1'b1;
          read_d = '{qpn: 24'(entry.qpn), number: entry.number, first_psn: entry.first_psn, last_psn: entry.last_psn, bytes: entry.bytes,
                     elements: entry.address, num_sge: entry.num_sge, sge: entry.sge, is_atomic: entry.atomic};
          back_d = BkJob;
        end
      end
      BkJob: begin
        // Not before the completer has accepted the record, so that no acknowledge can arrive first; nor a READ's
        // response before the responder has its record.
        if (record_free && read_free && job_free) begin
          job_valid_d = 1'b1;
          job_d = '0;
          job_d.packet = '{qpn: 24'(entry.qpn), opcode: entry.opcode, solicited_event: entry.solicited_event,
                           ack_req: entry.ack_req, psn: entry.psn,
                           extension: '0, payload_bytes: 14'(entry.payload_bytes), has_ah: entry.has_deth, ah: '0,
                           dest_qpn: '0, reports: entry.reports, is_response: 1'b0,
                           last_psn: entry.read ? entry.last_psn : entry.psn,
                           epoch: entry.is_replay ? entry.epoch : back_resumed, stale: 1'b0,
                           has_inline: 1'b0, inline_data: '0};
          if (entry.atomic) begin
            job_d.packet.extension[8*AtomicEthBytes-1:0] = pack_atomic_eth(atomic_eth);
          end else if (Config.flush != 0 && entry.opcode == BthOpcodeRcFlush) begin
            job_d.packet.extension[8*FethBytes-1:0] = pack_feth(feth);
            job_d.packet.extension[8*FethBytes +: 8*RethBytes] = pack_reth(reth);
          end else if (entry.has_reth) begin
            job_d.packet.extension[8*RethBytes-1:0] = pack_reth(reth);
            if (entry.has_immdt) job_d.packet.extension[8*RethBytes +: 8*ImmdtBytes] = entry.immediate;
            else if (Config.atomic_write != 0 && entry.opcode == BthOpcodeRcAtomicWrite) begin
              // The value is in the order of memory.
              job_d.packet.extension[8*RethBytes +: 64] = entry.swap_add;
            end
          end else if (entry.has_deth) begin
            job_d.packet.ah = entry.ah;
            job_d.packet.dest_qpn = entry.dest_qpn;
            job_d.packet.extension[8*DethBytes-1:0] = pack_deth(deth);
            if (entry.has_immdt) job_d.packet.extension[8*DethBytes +: 8*ImmdtBytes] = entry.immediate;
          end else if (entry.has_immdt) begin
            job_d.packet.extension[8*ImmdtBytes-1:0] = entry.immediate;
          end
          job_d.drop = drop_q;
          if (!drop_q) begin
            job_d.more = entry.more;
            if (entry.placed) begin
              job_d.grant = place.grant;
              job_d.address0 = place.address0;
              job_d.bytes0 = place.bytes0;
              job_d.address1 = place.address1;
              job_d.bytes1 = place.bytes1;
            end else if (CarriesInline && entry.carried) begin
              job_d.packet.has_inline = entry.payload_bytes != '0;
              job_d.packet.inline_data = {entry.compare, entry.swap_add, entry.sge};
            end else if (entry.direct && entry.payload_bytes != '0) begin
              job_d.address0 = entry.address;
              job_d.bytes0 = entry.payload_bytes;
            end
          end
          resent_d = entry.is_replay && !entry.first_transmission && !drop_q && !entry.more;
          issued_d = !job_d.more;
          if (drop_q && !entry.is_replay) begin
            back_d = BkFail;
          end else begin
            entry_pop = 1'b1;
            back_d = BkIdle;
          end
        end
      end
      BkFail: begin
        // After the record, so that the completer has the reason before everything flushes.
        if (record_free && failure_free) begin
          failure_valid_d = 1'b1;
          failure_d = '{qpn: 24'(entry.qpn), event_type: 16'(RdmaEventTypeQpFatal), code: record_q.vendor_err,
                        send_only: entry.send_only, reported: 1'b1};
          entry_pop = 1'b1;
          back_d = BkIdle;
        end
      end
      default: back_d = BkIdle;
    endcase
    place_pop = entry_pop && entry.placed;
    // A packet that is not sent: its payload is not read.
    room_unused_d = entry_pop && entry.room && back_q != BkJob;
    grant_ended_d = '0;
    if (place_pop && !(back_q == BkJob && !drop_q)) grant_ended_d = place.grant;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      front_q <= FrIdle;
      check_valid_q <= 1'b0;
      fetch_valid_q <= 1'b0;
      pending_q <= '0;
      room_q <= '0;
      room_used_o <= 1'b0;
      room_unused_o <= 1'b0;
      back_q <= BkIdle;
      record_valid_q <= 1'b0;
      read_valid_q <= 1'b0;
      job_valid_q <= 1'b0;
      failure_valid_q <= 1'b0;
      resent_q <= 1'b0;
      issued_o <= 1'b0;
      work_ended_o <= 1'b0;
      replay_ended_o <= 1'b0;
      grant_ended_q <= '0;
    end else begin
      front_q <= front_d;
      check_valid_q <= check_valid_d;
      fetch_valid_q <= fetch_valid_d;
      pending_q <= pending_d;
      room_q <= room_d;
      room_used_o <= room_used_d;
      room_unused_o <= room_unused_d;
      back_q <= back_d;
      record_valid_q <= record_valid_d;
      read_valid_q <= read_valid_d;
      job_valid_q <= job_valid_d;
      failure_valid_q <= failure_valid_d;
      resent_q <= resent_d;
      issued_o <= issued_d;
      work_ended_o <= entry_pop && entry.ends && !entry.is_replay && has_packets_d;
      replay_ended_o <= entry_pop && entry.ends && entry.is_replay;
      grant_ended_q <= grant_ended_d;
    end
  end

  // --- Parity of the context used to check a work request
  logic checks, checks_handle;
  logic parity_error_q;
  assign checks = front_q == FrCheck && !sqe_valid_q && !work.resume && !(work.is_replay && !entry_ready);
  assign checks_handle = checks && !(work.is_replay && (front_held || !front_sending)) && is_datagram && datagram.ah < NumAhs;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) parity_error_q <= 1'b0;
    else parity_error_q <= (checks && attributes_corrupt) || (checks_handle && handle_corrupt);
  end
  assign parity_error_o = parity_error_q;

  always_ff @(posedge clk_i) begin
    replay_serial_o <= entry.serial;
    first_q <= first_d;
    status_q <= status_d;
    vendor_q <= vendor_d;
    left_q <= left_d;
    length_q <= length_d;
    cut_bytes_q <= cut_bytes_d;
    address_q <= address_d;
    element_q <= element_d;
    lkey_q <= lkey_d;
    next_q <= next_d;
    count_q <= count_d;
    elements_requested_q <= elements_requested_d;
    got_q <= got_d;
    total_q <= total_d;
    bad_q <= bad_d;
    skip_q <= skip_d;
    psn_q <= psn_d;
    first_psn_q <= first_psn_d;
    last_psn_q <= last_psn_d;
    cut_q <= cut_d;
    packets_q <= packets_d;
    end_psn_q <= end_psn_d;
    shift_q <= shift_d;
    pdn_q <= pdn_d;
    service_q <= service_d;
    operation_q <= operation_d;
    qkey_q <= qkey_d;
    max_reads_q <= max_reads_d;
    signaled_q <= signaled_d;
    recovers_q <= recovers_d;
    hold_q <= hold_d;
    check_q <= check_d;
    fetch_q <= fetch_d;
    stop_q <= stop_d;
    drop_q <= drop_d;
    has_packets_q <= has_packets_d;
    record_q <= record_d;
    read_q <= read_d;
    job_q <= job_d;
    failure_q <= failure_d;
  end

  assign memory_check_valid_o = check_valid_q;
  assign memory_check_o = check_q;
  assign fetch_request_valid_o = fetch_valid_q;
  assign fetch_request_o = fetch_q;
  assign record_valid_o = record_valid_q;
  assign record_o = record_q;
  assign read_record_valid_o = read_valid_q;
  assign read_record_o = read_q;
  assign job_valid_o = job_valid_q;
  assign job_o = job_q;
  assign failure_valid_o = failure_valid_q;
  assign failure_o = failure_q;
  assign resent_o = resent_q;
  assign grant_ended_o = grant_ended_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) next_psn_valid_o <= 1'b0;
    else next_psn_valid_o <= half_write;
  end
  always_ff @(posedge clk_i) next_psn_o <= '{qpn: 24'(half_qpn), psn: next_psn};

  assign settled_o = front_q != FrList && front_q != FrSum && front_q != FrMap && cut_bytes_q == '0;
  assign entry_begins_o = entry_push;
  assign entry_ends_o = entry_pop;
  assign idle_o = front_q == FrIdle && !work_valid && !load_valid && pending_q == '0
               && !record_valid_q && !job_valid_q && !failure_valid_q && !check_valid_q && !next_psn_valid_o
               && !issued_o && !work_ended_o && !replay_ended_o && !room_unused_o;

endmodule
