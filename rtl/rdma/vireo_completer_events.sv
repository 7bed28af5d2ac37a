// SPDX-License-Identifier: Apache-2.0

// What happens to vireo_completer, and what comes next: records, acknowledges and timers that wait, and the QPs that were
// cleared, that are to be flushed, that retransmit, and that have parked records, each once. In StChoose one of them
// becomes the turn. It does not act on any.
module vireo_completer_events
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              hold_i,            // from the next cycle on no replay is started
  input  logic              qp_state_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  qp_state_write_t   qp_state_write_i,  // of as many QPs as there are
  // verilator lint_on UNUSEDSIGNAL
  input  logic              record_valid_i,
  output logic              record_ready_o,
  input  send_record_t      record_i,
  input  logic              ack_valid_i,
  output logic              ack_ready_o,
  input  rx_ack_t           ack_i,
  input  logic              timer_expired_valid_i,
  output logic              timer_expired_ready_o,
  input  timer_expired_t    timer_expired_i,

  // Those that wait, and whether they have been taken.
  output logic              record_waits_o,
  output send_record_t      record_o,
  input  logic              record_ends_i,
  output logic [7:0]        taken_o,           // records, of all QPs
  output logic              ack_waits_o,
  output rx_ack_t           ack_o,
  input  logic              ack_ends_i,
  output timer_expired_t    expired_o,
  input  logic              timer_ends_i,

  // The turn.
  input  logic              choose_i,
  output logic              read_o,            // there is one: its tables are read
  output op_e               op_o,
  output logic [QpBits-1:0] read_qpn_o,
  output logic [QpBits-1:0] qpn_o,             // of the turn in progress
  input  logic              replay_room_i,     // a replay may be issued
  input  logic              again_i,           // the QP retransmits
  input  logic              polls_i,           // it has parked records
  input  logic              polls_first_i,     //   and had none before
  input  logic              polls_none_i,      //   and has none any more
  input  logic              polls_all_i,       // all such QPs are examined again
  output logic              settled_o,         // no QP is to be cleared or flushed
  output logic              idle_o
);

  logic record_valid, ack_valid, expired_valid;
  logic [QpBits-1:0] qpn_d, qpn_q;

  vireo_slice #(.Width(SendRecordBits), .Depth(wide_slice(Config.datapath_bits))) u_record (
    .clk_i, .rst_ni,
    .s_valid_i(record_valid_i), .s_ready_o(record_ready_o), .s_data_i(record_i),
    .m_valid_o(record_valid), .m_ready_i(record_ends_i), .m_data_o(record_o)
  );
  vireo_slice #(.Width(RxAckBits), .Depth(wide_slice(Config.datapath_bits))) u_ack (
    .clk_i, .rst_ni,
    .s_valid_i(ack_valid_i), .s_ready_o(ack_ready_o), .s_data_i(ack_i),
    .m_valid_o(ack_valid), .m_ready_i(ack_ends_i), .m_data_o(ack_o)
  );
  vireo_slice #(.Width(TimerExpiredBits), .Depth(wide_slice(Config.datapath_bits))) u_timer_expired (
    .clk_i, .rst_ni,
    .s_valid_i(timer_expired_valid_i), .s_ready_o(timer_expired_ready_o), .s_data_i(timer_expired_i),
    .m_valid_o(expired_valid), .m_ready_i(timer_ends_i), .m_data_o(expired_o)
  );

  // Two sets, so that a QP that is set up again before its turn is cleared nevertheless.
  logic clear_valid, clear_pop, clear_empty, flush_valid, flush_pop, flush_empty;
  logic [QpBits-1:0] clear_qpn, flush_qpn;

  logic unused_clear_load, unused_flush_load, unused_turn_load;
  logic [QpBits-1:0] unused_clear_index, unused_flush_index, unused_turn_index;
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_clear (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.clear),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(clear_valid), .pop_ready_i(clear_pop), .pop_o(clear_qpn),
    .load_o(unused_clear_load), .load_index_o(unused_clear_index), .empty_o(clear_empty)
  );
  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_flush (
    .clk_i, .rst_ni,
    .push_valid_i(qp_state_write_valid_i && qp_state_write_i.state == 3'(IbQpStateErr)),
    .push_i(qp_state_write_i.qpn[QpBits-1:0]), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(flush_valid), .pop_ready_i(flush_pop), .pop_o(flush_qpn),
    .load_o(unused_flush_load), .load_index_o(unused_flush_index), .empty_o(flush_empty)
  );

  // QPs with something to retransmit; each turn is one replay.
  logic turn_valid, turn_pop, turn_empty;
  logic [QpBits-1:0] turn_qpn;

  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_turn (
    .clk_i, .rst_ni,
    .push_valid_i(again_i), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(turn_valid), .pop_ready_i(turn_pop), .pop_o(turn_qpn),
    .load_o(unused_turn_load), .load_index_o(unused_turn_index), .empty_o(turn_empty)
  );

  // QPs with parked records.
  logic parked_valid, parked_pop, unused_parked_empty, unused_parked_load;
  logic [QpBits-1:0] parked_qpn, unused_parked_index;

  vireo_index_set #(.Entries(NumQps), .Lookup(1'b0)) u_parked (
    .clk_i, .rst_ni,
    .push_valid_i(polls_i || polls_first_i), .push_i(qpn_q), .hold_i(1'b0), .clear_i(1'b0),
    .pop_valid_o(parked_valid), .pop_ready_i(parked_pop), .pop_o(parked_qpn),
    .load_o(unused_parked_load), .load_index_o(unused_parked_index), .empty_o(unused_parked_empty)
  );

  logic replayed_d, replayed_q;       // the last turn, records excepted, was a replay's
  logic flushed_d, flushed_q;         // the last turn, other records excepted, was that of a record with a status
  logic polled_d, polled_q;           // the last turn, records excepted, was that of a QP with parked records
  logic [QpBits:0] parked_qps_d, parked_qps_q;  // QPs in the set of those
  logic [QpBits:0] polls_left_d, polls_left_q;  // of these, to be examined since the last change of the fence
  logic [7:0] taken_q;
  logic [QpBits-1:0] last_record_q;   // QP of the last record
  logic level_q;                      // hold_i
  logic flushes, retires, replays, expires, acks;

  always_comb begin
    // Records before acknowledges: a record must be processed before the acknowledge of its packets. Records with a
    // status free their own space, so their stream could starve other events; they alternate with all others, which do
    // not depend on later records of their QP. There are at most two in the slice.
    acks = ack_valid && !(record_valid && (ack_o.qpn[QpBits-1:0] == record_o.qpn[QpBits-1:0]
                                           || ack_o.qpn[QpBits-1:0] == last_record_q));
    expires = expired_valid;
    replays = turn_valid && !level_q && replay_room_i && (!replayed_q || (!expires && !acks));
    retires = polls_left_q != '0 && parked_valid && (!polled_q || (!replays && !expires && !acks));
    flushes = record_valid && (record_o.status != IbWcStatusSuccess || record_o.is_local);
  end

  always_comb begin
    op_o = OpClear;
    qpn_d = qpn_q;
    read_o = choose_i;
    clear_pop = 1'b0;
    flush_pop = 1'b0;
    parked_pop = 1'b0;
    turn_pop = 1'b0;
    replayed_d = replayed_q;
    flushed_d = flushed_q;
    polled_d = polled_q;
    if (choose_i) begin
      if (clear_valid) begin
        op_o = OpClear;
        qpn_d = clear_qpn;
        clear_pop = 1'b1;
      end else if (flush_valid) begin
        op_o = OpFlush;
        qpn_d = flush_qpn;
        flush_pop = 1'b1;
      end else if (record_valid && !(flushes && flushed_q && (retires || replays || expires || acks))) begin
        op_o = OpRecord;
        qpn_d = record_o.qpn[QpBits-1:0];
        flushed_d = flushed_q || flushes;
      end else if (retires) begin
        op_o = OpRetire;
        qpn_d = parked_qpn;
        parked_pop = 1'b1;
        polled_d = 1'b1;
        flushed_d = 1'b0;
      end else if (replays) begin
        op_o = OpReplay;
        qpn_d = turn_qpn;
        turn_pop = 1'b1;
        replayed_d = 1'b1;
        polled_d = 1'b0;
        flushed_d = 1'b0;
      end else if (expires || acks) begin
        op_o = expires ? OpTimer : OpAck;
        qpn_d = expires ? expired_o.qpn[QpBits-1:0] : ack_o.qpn[QpBits-1:0];
        replayed_d = 1'b0;
        polled_d = 1'b0;
        flushed_d = 1'b0;
      end else begin
        read_o = 1'b0;
      end
    end
    parked_qps_d = parked_qps_q + (QpBits + 1)'(polls_first_i) - (QpBits + 1)'(polls_none_i);
    polls_left_d = polls_all_i ? parked_qps_d : polls_left_q - (QpBits + 1)'(parked_pop);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      replayed_q <= 1'b0;
      polled_q <= 1'b0;
      flushed_q <= 1'b0;
      parked_qps_q <= '0;
      polls_left_q <= '0;
      taken_q <= '0;
      level_q <= 1'b0;
    end else begin
      replayed_q <= replayed_d;
      polled_q <= polled_d;
      flushed_q <= flushed_d;
      parked_qps_q <= parked_qps_d;
      polls_left_q <= polls_left_d;
      taken_q <= taken_q + 8'(record_ends_i);
      level_q <= hold_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (record_valid_i && record_ready_o) last_record_q <= record_i.qpn[QpBits-1:0];
    qpn_q <= qpn_d;
  end

  assign record_waits_o = record_valid;
  assign ack_waits_o = ack_valid;
  assign taken_o = taken_q;
  assign read_qpn_o = qpn_d;
  assign qpn_o = qpn_q;
  assign settled_o = clear_empty && flush_empty;
  assign idle_o = clear_empty && flush_empty && (turn_empty || level_q) && parked_qps_q == '0 && !record_valid && !ack_valid
               && !expired_valid;

endmodule
