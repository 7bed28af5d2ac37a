// SPDX-License-Identifier: Apache-2.0

// Interrupt moderation: notification coalescing of net queues [virtio 1.3, 5.1.6.5.9]. The first notification of a
// queue starts a counter and a timer. After max_packets notifications or max_usecs, whichever is first, one interrupt
// is sent for all of them, and the next notification starts over. If either parameter is 0 or max_packets is 1, every
// notification becomes an interrupt; so does every notification of a queue that is disabled or does not belong to a net
// queue pair. The block counts notifications, not packets; notifications that the driver suppresses do not reach it.
//
// A row holds the start time of the count instead of its deadline. If firmware changes the parameters, all pending
// queues are therefore checked against the new ones, and an interrupt that is now due is sent at once [same section].
//
// As in vireo_retry_timer, least_q is a lower bound of all deadlines. Starting a count lowers it. When device time
// reaches it, a scan checks one pending queue after the other, sends the interrupts that are due and determines the new
// bound. No state changes between scans, so the device may be idle while counts are pending: its clock may be stopped
// until deadline_ns_o. Notifications and the steps of a scan alternate.
//
// A queue whose parameters or count have bad parity is due: a notification becomes an interrupt at once. A scan drops a
// bad count, whose vector is unknown.
module vireo_moderation
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [63:0]      time_ns_i,  // device time; never decreases

  input  logic             table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t     table_write_i,            // fields of other blocks
  input  logic             queue_row_write_valid_i,
  input  queue_row_write_t queue_row_write_i,        // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic             context_flip_valid_i,
  input  context_flip_t    context_flip_i,
  output logic             parity_error_o,

  input  logic             queue_interrupt_valid_i,
  output logic             queue_interrupt_ready_o,
  input  queue_interrupt_t queue_interrupt_i,

  output logic             interrupt_valid_o,
  input  logic             interrupt_ready_i,
  output interrupt_t       interrupt_o,

  output logic [63:0]      deadline_ns_o,  // while idle: time of the next event without input; all ones: none
  output logic             idle_o
);

  // Receive and transmit queues of the pairs come first [virtio 1.3, 5.1.2].
  localparam int unsigned NetQueues = 2 * NetQueuePairs;
  localparam int unsigned QueueBits = $clog2(NetQueues);
  localparam bit Moderates = Config.moderation != 0;  // else every notification is an interrupt
  localparam int unsigned CountBits = 32;  // of max_packets
  localparam int unsigned NsPerUs = 1000;
  localparam int unsigned NsPerUsBits = $clog2(NsPerUs);
  localparam logic [63:0] Never = '1;

  typedef struct packed {
    logic [31:0] max_packets;
    logic [31:0] max_usecs;
  } setting_t;

  // State of a queue with pending notifications.
  typedef struct packed {
    logic [CountBits-1:0] count;
    logic [63:0] first_ns;
    logic [15:0] msix_vector;
  } row_t;

  typedef enum logic [1:0] {StIdle, StCount, StExamine} state_e;

  logic in_valid, in_pop;
  queue_interrupt_t in;

  vireo_slice #(.Width(QueueInterruptBits)) u_queue_interrupt (
    .clk_i, .rst_ni,
    .s_valid_i(queue_interrupt_valid_i), .s_ready_o(queue_interrupt_ready_o), .s_data_i(queue_interrupt_i),
    .m_valid_o(in_valid), .m_ready_i(in_pop), .m_data_o(in)
  );

  state_e state_d, state_q;
  logic [NetQueues-1:0] enabled_d, enabled_q;
  logic [NetQueues-1:0] pending_d, pending_q;
  logic [NetQueues-1:0] left_d, left_q;  // still to be checked by the scan; subset of pending
  logic recheck_d, recheck_q;            // parameters changed: scan again
  logic pass_turn_d, pass_turn_q;        // the scan precedes the next notification
  logic [QueueBits-1:0] index_d, index_q;
  logic moderated_d, moderated_q;        // index_q is a net queue: its parameters apply
  logic [15:0] msix_vector_d, msix_vector_q;
  logic [63:0] least_d, least_q;         // lower bound of the deadlines of all pending queues
  logic interrupt_valid_d, interrupt_valid_q, interrupt_load, interrupt_free;
  interrupt_t interrupt_d, interrupt_q;

  // --- Parameters set by firmware, and pending counts

  // verilator lint_off UNUSEDSIGNAL
  table_virtqueue_t virtqueue;  // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  logic setting_write, row_write;
  setting_t setting;
  row_t row, row_new;
  logic setting_corrupt, row_corrupt;

  assign virtqueue = unpack_table_virtqueue(table_write_i.data[8*TableVirtqueueBytes-1:0]);
  assign setting_write = table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue
                      && Moderates && 32'(table_write_i.index) < NetQueues;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(setting_t)), .Depth(NetQueues), .Ram(ContextRamModerationLimits), .Gates(1'b0)
  ) u_settings (
    .clk_i, .rst_ni,
    .write_i(setting_write), .write_address_i(table_write_i.index[QueueBits-1:0]),
    .write_data_i({virtqueue.coal_max_packets, virtqueue.coal_max_usecs}),
    .read_i(state_q == StIdle), .read_address_i(index_d), .read_data_o(setting), .corrupt_o(setting_corrupt),
    .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(row_t)), .Depth(NetQueues), .Ram(ContextRamModerationCount), .Gates(1'b0)
  ) u_rows (
    .clk_i, .rst_ni,
    .write_i(row_write), .write_address_i(index_q), .write_data_i(row_new),
    .read_i(state_q == StIdle), .read_address_i(index_d), .read_data_o(row), .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );

  // --- Interrupt condition of the current queue

  logic had, had_corrupt, corrupt, due;
  logic [CountBits:0] count;
  logic [63:0] first_ns, deadline_ns;

  always_comb begin
    had = 1'b0;
    had_corrupt = 1'b0;
    corrupt = 1'b0;
    count = '0;
    first_ns = '0;
    deadline_ns = '0;
    due = 1'b0;
    row_new = '0;
    if (state_q != StIdle) begin
      had = moderated_q && pending_q[index_q];
      had_corrupt = had && row_corrupt;
      corrupt = had_corrupt || (moderated_q && setting_corrupt);
      count = had ? (CountBits + 1)'(row.count) : '0;
      if (state_q == StCount) count = count + 1'b1;
      first_ns = had ? row.first_ns : time_ns_i;
      deadline_ns = first_ns + 64'((32 + NsPerUsBits)'(setting.max_usecs) * (32 + NsPerUsBits)'(NsPerUs));
      // If a parameter is 0, the first notification meets the condition.
      due = !moderated_q || !enabled_q[index_q] || count >= (CountBits + 1)'(setting.max_packets)
         || time_ns_i >= deadline_ns || corrupt;
      row_new = '{count: count[CountBits-1:0], first_ns: first_ns,
                  msix_vector: state_q == StCount ? msix_vector_q : row.msix_vector};
    end
  end

  // --- Control: one notification or one step of a scan at a time

  logic [QueueBits-1:0] next_left;
  logic pass_begins;
  logic [NetQueues-1:0] discarded;

  always_comb begin
    next_left = '0;
    if (left_q != '0) for (int unsigned i = NetQueues; i > 0; i--) begin
      if (left_q[i-1]) next_left = QueueBits'(i - 1);
    end
    interrupt_free = !interrupt_valid_q || interrupt_ready_i;

    state_d = state_q;
    pending_d = pending_q;
    left_d = left_q;
    recheck_d = recheck_q;
    pass_turn_d = pass_turn_q;
    index_d = index_q;
    moderated_d = moderated_q;
    msix_vector_d = msix_vector_q;
    least_d = least_q;
    in_pop = 1'b0;
    row_write = 1'b0;
    interrupt_load = 1'b0;
    interrupt_d = row_new.msix_vector;
    pass_begins = 1'b0;

    unique case (state_q)
      StIdle: begin
        pass_begins = left_q == '0 && (recheck_q || time_ns_i >= least_q);
        if (pass_begins) begin
          left_d = pending_q;
          recheck_d = 1'b0;
          least_d = Never;
        end
        if (left_q != '0 && (pass_turn_q || !in_valid)) begin
          index_d = next_left;
          moderated_d = 1'b1;
          left_d[next_left] = 1'b0;
          pass_turn_d = 1'b0;
          state_d = StExamine;
        end else if (in_valid) begin
          index_d = in.vq_index[QueueBits-1:0];
          moderated_d = Moderates && 32'(in.vq_index) < NetQueues;
          msix_vector_d = in.msix_vector;
          in_pop = 1'b1;
          pass_turn_d = 1'b1;
          state_d = StCount;
        end
      end

      StCount: begin
        if (!due) begin
          row_write = 1'b1;
          pending_d[index_q] = 1'b1;
          if (deadline_ns < least_q) least_d = deadline_ns;
          state_d = StIdle;
        end else if (interrupt_free) begin
          interrupt_load = 1'b1;
          if (moderated_q) pending_d[index_q] = 1'b0;
          state_d = StIdle;
        end
      end

      StExamine: begin
        if (!had || had_corrupt) begin  // discarded since: the queue's row was written; or its count is lost
          pending_d[index_q] = 1'b0;
          state_d = StIdle;
        end else if (!due) begin
          if (deadline_ns < least_q) least_d = deadline_ns;
          state_d = StIdle;
        end else if (interrupt_free) begin
          interrupt_load = 1'b1;
          pending_d[index_q] = 1'b0;
          state_d = StIdle;
        end
      end

      default: state_d = StIdle;
    endcase

    discarded = '0;
    enabled_d = enabled_q;
    if (Moderates && queue_row_write_valid_i && 32'(queue_row_write_i.vq_index) < NetQueues) begin
      discarded[queue_row_write_i.vq_index[QueueBits-1:0]] = 1'b1;
      enabled_d[queue_row_write_i.vq_index[QueueBits-1:0]] = queue_row_write_i.enabled;
    end
    if (setting_write) recheck_d = 1'b1;
    pending_d &= ~discarded;
    left_d &= pending_d;
    if (pending_d == '0) least_d = Never;  // avoids a scan: most counts end before their deadline

    interrupt_valid_d = interrupt_load || (interrupt_valid_q && !interrupt_ready_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      enabled_q <= '0;
      pending_q <= '0;
      left_q <= '0;
      recheck_q <= 1'b0;
      pass_turn_q <= 1'b0;
      least_q <= Never;
      interrupt_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      enabled_q <= enabled_d;
      pending_q <= pending_d;
      left_q <= left_d;
      recheck_q <= recheck_d;
      pass_turn_q <= pass_turn_d;
      least_q <= least_d;
      interrupt_valid_q <= interrupt_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    index_q <= index_d;
    moderated_q <= moderated_d;
    msix_vector_q <= msix_vector_d;
    if (interrupt_load) interrupt_q <= interrupt_d;
  end

  // --- Parity: in the cycle after a read
  logic read_q, parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      read_q <= state_q == StIdle;
      parity_error_q <= read_q && corrupt;
    end
  end
  assign parity_error_o = parity_error_q;

  assign interrupt_valid_o = interrupt_valid_q;
  assign interrupt_o = interrupt_q;
  assign deadline_ns_o = left_q != '0 || state_q == StExamine || recheck_q ? Never : least_q;
  assign idle_o = state_q == StIdle && left_q == '0 && !recheck_q && !in_valid && !interrupt_valid_q;

endmodule
