// SPDX-License-Identifier: Apache-2.0

// One timer per QP. A timer_set restarts or stops it; when its time has come, a timer_expired reports it, once. It
// knows neither retries nor packets: the completer interprets an expiry.
//
// The earliest deadline is always known as a lower bound: a set lowers it, and when device time has reached it a
// pass over all timers reports those that are due and finds the next one. Between passes the block is idle, so a device
// with running timers may be idle: its clock may stop until deadline_ns_o. Sets and the pass take turns, so neither can
// delay the other for long, and a set never waits for an expiry to be accepted.
module vireo_retry_timer
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps  // a power of two, 2 or more
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic [63:0]    time_ns_i,  // of the device; never goes back

  input  logic           timer_set_valid_i,
  output logic           timer_set_ready_o,
  input  timer_set_t     timer_set_i,

  output logic           timer_expired_valid_o,
  input  logic           timer_expired_ready_i,
  output timer_expired_t timer_expired_o,

  output logic [63:0]    deadline_ns_o,  // while idle: no event occurs before; all ones: never
  output logic           idle_o
);

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned DurationBits = $bits(LocalAckTimeoutUnitNs) + 31;  // of the longest ack timeout
  localparam logic [63:0] Never = '1;

  typedef struct packed {
    logic running;
    logic [7:0] epoch;
    logic [63:0] deadline_ns;
  } timer_t;

  typedef enum logic [1:0] {OpNone, OpSet, OpExamine} op_e;

  logic set_valid, set_pop;
  // verilator lint_off UNUSEDSIGNAL
  timer_set_t set;  // no QP has the upper bits
  // verilator lint_on UNUSEDSIGNAL

  vireo_slice #(.Width(TimerSetBits)) u_timer_set (
    .clk_i, .rst_ni,
    .s_valid_i(timer_set_valid_i), .s_ready_o(timer_set_ready_o), .s_data_i(timer_set_i),
    .m_valid_o(set_valid), .m_ready_i(set_pop), .m_data_o(set)
  );

  // A timer is read in one cycle (a set's or the pass's next) and decided on in the next.
  logic sweep_d, sweep_q;                       // after reset all timers are stopped
  logic scan_d, scan_q;                         // the pass still has timers to read
  logic [QpBits-1:0] index_d, index_q;          // the next one, of the pass or the sweep
  logic pass_turn_d, pass_turn_q;               // the pass goes before the next set
  op_e op_d, op_q;
  logic [QpBits-1:0] qpn_d, qpn_q;
  logic runs_d, runs_q;                         // the set does not stop the timer
  logic [DurationBits-1:0] duration_d, duration_q;
  logic [7:0] generation_d, generation_q;
  logic [QpBits:0] running_d, running_q;        // timers
  logic [63:0] least_d, least_q;                // no running timer is due before
  logic expired_valid_d, expired_valid_q;
  timer_expired_t expired_d, expired_q;

  timer_t timer, timer_new;
  logic pass_begins, expires, keeps_running, write, set_first;
  logic [63:0] deadline_ns;

  vireo_table #(.Width($bits(timer_t)), .Depth(NumQps)) u_timers (
    .clk_i, .rst_ni,
    .write_i(write), .write_address_i(sweep_q ? index_q : qpn_q), .write_data_i(timer_new),
    .read_i(1'b1), .read_address_i(qpn_d), .read_data_o(timer)
  );

  // Decide.
  always_comb begin
    deadline_ns = op_q == OpSet ? time_ns_i + 64'(duration_q) : timer.deadline_ns;
    expires = op_q == OpExamine && timer.running && timer.deadline_ns <= time_ns_i;
    keeps_running = (op_q == OpSet && runs_q) || (op_q == OpExamine && timer.running && !expires);
    write = sweep_q || op_q == OpSet || expires;
    timer_new = '{running: op_q == OpSet && runs_q, epoch: generation_q, deadline_ns: deadline_ns};
    if (sweep_q) timer_new = '0;

    running_d = running_q;
    if (op_q == OpSet && runs_q && !timer.running) running_d = running_q + 1'b1;
    if ((op_q == OpSet && !runs_q && timer.running) || expires) running_d = running_q - 1'b1;

    // A pass recomputes the earliest deadline; sets meanwhile are included, whether the pass is before or after them.
    pass_begins = !scan_q && op_q != OpExamine && time_ns_i >= least_q;
    least_d = pass_begins ? Never : least_q;
    if (keeps_running && (pass_begins || deadline_ns < least_q)) least_d = deadline_ns;
    // Most often the last timer is stopped before it expires.
    if (running_d == '0) least_d = Never;

    // The register is free, or no timer would be examined.
    expired_valid_d = expires || (expired_valid_q && !timer_expired_ready_i);
    expired_d = expired_q;
    if (expires) expired_d = '{qpn: 24'(qpn_q), epoch: timer.epoch};
  end

  // Read. Not in the cycle of a write: it could be the same timer.
  always_comb begin
    sweep_d = sweep_q;
    scan_d = scan_q || pass_begins;
    index_d = index_q;
    op_d = OpNone;
    set_pop = 1'b0;
    pass_turn_d = pass_turn_q;
    set_first = set_valid && !(pass_turn_q && scan_q && !expired_valid_q);
    qpn_d = set_first ? set.qpn[QpBits-1:0] : index_q;
    generation_d = set.epoch;
    runs_d = set.kind == TimerKindRnr || (set.kind == TimerKindAck && set.code != '0);
    // IBTA vol. 1, 9.7.6.1.3 and table 47
    duration_d = set.kind == TimerKindRnr ? DurationBits'(RnrTimerNs[set.code])
                                          : DurationBits'(LocalAckTimeoutUnitNs) << set.code;

    if (sweep_q) begin
      index_d = index_q + 1'b1;
      sweep_d = index_q != QpBits'(NumQps - 1);
    end else if (!write) begin
      if (set_first) begin
        op_d = OpSet;
        set_pop = 1'b1;
        pass_turn_d = 1'b1;
      end else if (scan_q && !expired_valid_q) begin
        op_d = OpExamine;
        pass_turn_d = 1'b0;
        index_d = index_q + 1'b1;  // back to 0 after the last
        scan_d = index_q != QpBits'(NumQps - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      scan_q <= 1'b0;
      index_q <= '0;
      pass_turn_q <= 1'b0;
      op_q <= OpNone;
      running_q <= '0;
      least_q <= Never;
      expired_valid_q <= 1'b0;
    end else begin
      sweep_q <= sweep_d;
      scan_q <= scan_d;
      index_q <= index_d;
      pass_turn_q <= pass_turn_d;
      op_q <= op_d;
      running_q <= running_d;
      least_q <= least_d;
      expired_valid_q <= expired_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    qpn_q <= qpn_d;
    runs_q <= runs_d;
    duration_q <= duration_d;
    generation_q <= generation_d;
    expired_q <= expired_d;
  end

  assign timer_expired_valid_o = expired_valid_q;
  assign timer_expired_o = expired_q;
  assign deadline_ns_o = scan_q || op_q == OpExamine ? Never : least_q;
  assign idle_o = !sweep_q && !scan_q && op_q == OpNone && !set_valid && !expired_valid_q;

endmodule
