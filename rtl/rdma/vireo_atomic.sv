// SPDX-License-Identifier: Apache-2.0

// Executes the atomic operations of peers: reads 8 bytes of host memory, computes, writes what it computed, and reports
// what was there before when that is in memory. Several at a time, in order, but no two at one address: so no other
// atomic operation of this device comes between a read and its write.
//
// It keeps the last results of every queue pair, as many as a peer may have outstanding, and answers a duplicate from
// them: an operation is executed once. [IBTA vol. 1, 9.7.5.1.4]
//
// A FLUSH is an operation that only reads: the read is issued behind everything of its QP that was written, and its
// answer shows that this has arrived.
//
// It checks nothing: the responder has checked the request, and memory_check granted the access.
module vireo_atomic
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::AxiRespOkay;
#(
  parameter config_t Config,
  parameter int unsigned InFlight = 32'(AtomicsInFlight),     // operations; a power of two, 4 or more
  localparam int unsigned NumQps = Config.num_qps,            // a power of two, 2 or more
  localparam int unsigned MaxRdAtomic = Config.max_rd_atomic  // results of a QP, 1 to 128
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              qp_state_write_valid_i,
  input  qp_state_write_t   qp_state_write_i,

  input  logic              request_valid_i,
  output logic              request_ready_o,
  input  atomic_request_t   request_i,

  output logic              result_valid_o,  // in the order of the requests
  input  logic              result_ready_i,
  output atomic_result_t    result_o,

  output logic              fetch_request_valid_o,
  input  logic              fetch_request_ready_i,
  output dma_read_request_t fetch_request_o,

  input  logic              fetched_valid_i,
  output logic              fetched_ready_o,
  input  dma_fetched_t      fetched_i,

  output logic              store_valid_o,
  input  logic              store_ready_i,
  output dma_store_t        store_o,

  input  logic              done_valid_i,    // a pulse for every store, in order
  input  dma_done_t         done_i,

  output memory_grant_t     grant_ended_o,   // a pulse: the operation has ended
  output logic              idle_o
);

  if (InFlight < 4 || (InFlight & (InFlight - 1)) != 0) $fatal(1, "InFlight is not a power of two, 4 or more");

  localparam int unsigned QpBits = $clog2(NumQps);
  localparam int unsigned SlotBits = $clog2(InFlight);
  localparam int unsigned LowBits = $clog2(32'(AtomicBytes));  // of an aligned address: 0
  // A ring of results has at least two entries.
  localparam int unsigned KeptBits = MaxRdAtomic < 2 ? 1 : $clog2(MaxRdAtomic);
  localparam int unsigned Kept = 1 << KeptBits;

  // An operation whose read is outstanding, or a duplicate.
  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic [PsnBits-1:0] psn;
    logic is_duplicate;
    logic is_swap;
    logic is_write;
    logic is_flush;
    logic [63:0] address;
    memory_grant_t grant;
    logic [63:0] swap_add;
    logic [63:0] compare;
  } reading_t;

  // An operation that has been computed.
  typedef struct packed {
    logic [QpBits-1:0] qpn;
    logic [PsnBits-1:0] psn;
    logic is_duplicate;
    logic failed;  // the read
    logic writes;  // its store ends with a done
    memory_grant_t grant;
    logic [63:0] value;  // before the operation
  } ending_t;

  // What is kept of a QP: its last results, in a ring.
  typedef struct packed {
    logic [KeptBits:0] count;
    logic [KeptBits-1:0] next;
  } row_t;

  typedef struct packed {
    logic [PsnBits-1:0] psn;
    logic [63:0] value;
  } kept_t;

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic request_valid, request_pop, fetched_valid, fetched_pop;
  atomic_request_t request;
  logic [63:0] fetched_value;
  logic [1:0] fetched_resp;

  // Room for all that there may be, so that the read responder does not wait for host memory.
  vireo_fifo #(.Width(AtomicRequestBits), .Depth(NumQps < 4 ? 4 : NumQps)) u_request (
    .clk_i, .rst_ni,
    .s_valid_i(request_valid_i), .s_ready_o(request_ready_o), .s_data_i(request_i),
    .m_valid_o(request_valid), .m_ready_i(request_pop), .m_data_o(request)
  );
  vireo_slice #(.Width(66)) u_fetched (
    .clk_i, .rst_ni,
    .s_valid_i(fetched_valid_i), .s_ready_o(fetched_ready_o), .s_data_i({fetched_i.resp, fetched_i.data[63:0]}),
    .m_valid_o(fetched_valid), .m_ready_i(fetched_pop), .m_data_o({fetched_resp, fetched_value})
  );

  // --- Begin: an operation whose address no other one has takes a slot, and is read ----------------------------------

  logic [InFlight-1:0] busy_d, busy_q;  // slots of operations that are executed
  logic [InFlight-1:0][63:LowBits] address_q;
  logic [SlotBits-1:0] first_q, next_q;
  logic [SlotBits:0] slots_d, slots_q;  // in use
  logic [QpBits:0] waiting_d, waiting_q;  // requests that have no slot
  logic conflicts, begins, reads, ends;
  logic fetch_valid_d, fetch_valid_q;
  dma_read_request_t fetch_d, fetch_q;
  logic reading_ready, reading_valid, reading_pop;
  reading_t reading_in, reading;

  always_comb begin
    conflicts = 1'b0;
    for (int unsigned i = 0; i < InFlight; i++) begin
      if (busy_q[i] && address_q[i] == request.address[63:LowBits]) conflicts = 1'b1;
    end
    fetch_valid_d = fetch_valid_q && !fetch_request_ready_i;
    fetch_d = fetch_q;
    // ATOMIC WRITE does not depend on what is there.
    reads = !request.is_duplicate && !request.is_write;
    begins = request_valid && slots_q != (SlotBits + 1)'(InFlight)
          && (request.is_duplicate || !conflicts) && (!reads || !fetch_valid_d);
    request_pop = begins;
    if (begins && reads) begin
      fetch_valid_d = 1'b1;
      fetch_d = '{address: request.address, bytes: request.is_flush ? 13'd1 : 13'(AtomicBytes), tag: '0};
    end
    reading_in = '{qpn: request.qpn[QpBits-1:0], psn: request.psn, is_duplicate: request.is_duplicate,
                   is_swap: request.is_swap, is_write: request.is_write, is_flush: request.is_flush,
                   address: request.address,
                   grant: request.is_duplicate ? '0 : request.grant, swap_add: request.swap_add,
                   compare: request.compare};
    busy_d = busy_q;
    if (begins) busy_d[next_q] = !request.is_duplicate;
    if (ends) busy_d[first_q] = 1'b0;
    waiting_d = waiting_q + (QpBits + 1)'(request_valid_i && request_ready_o) - (QpBits + 1)'(begins);
    slots_d = slots_q + (SlotBits + 1)'(begins) - (SlotBits + 1)'(ends);
  end

  // Never full (slots_not_full): slots_q counts the room of both queues.
  vireo_fifo #(.Width($bits(reading_t)), .Depth(InFlight)) u_reading (
    .clk_i, .rst_ni,
    .s_valid_i(begins), .s_ready_o(reading_ready), .s_data_i(reading_in),
    .m_valid_o(reading_valid), .m_ready_i(reading_pop), .m_data_o(reading)
  );

  // --- Compute: the value was read -----------------------------------------------------------------------------------

  logic store_valid_d, store_valid_q;
  dma_store_t store_d, store_q;
  logic ending_ready, ending_valid, was_read;
  ending_t ending_in, ending;

  always_comb begin
    store_valid_d = store_valid_q && !store_ready_i;
    store_d = store_q;
    was_read = !reading.is_duplicate && !reading.is_write;
    ending_in = '{qpn: reading.qpn, psn: reading.psn, is_duplicate: reading.is_duplicate,
                  failed: was_read && fetched_resp != AxiRespOkay, writes: 1'b0, grant: reading.grant,
                  value: was_read ? fetched_value : '0};
    ending_in.writes = !reading.is_duplicate && !ending_in.failed && !reading.is_flush
                    && (!reading.is_swap || fetched_value == reading.compare);
    reading_pop = reading_valid && (!was_read || fetched_valid) && (reading.is_duplicate || !store_valid_d);
    fetched_pop = reading_pop && was_read;
    if (reading_pop && ending_in.writes) begin
      store_valid_d = 1'b1;
      store_d = '0;
      store_d.address = reading.address;
      store_d.bytes = 7'(AtomicBytes);
      store_d.notify = 1'b1;
      store_d.data[63:0] = reading.is_swap || reading.is_write ? reading.swap_add : fetched_value + reading.swap_add;
    end
  end

  vireo_fifo #(.Width($bits(ending_t)), .Depth(InFlight)) u_ending (
    .clk_i, .rst_ni,
    .s_valid_i(reading_pop), .s_ready_o(ending_ready), .s_data_i(ending_in),
    .m_valid_o(ending_valid), .m_ready_i(ends), .m_data_o(ending)
  );

  // --- End: what was written is in memory; the result is kept, or that of a duplicate found --------------------------

  typedef enum logic [1:0] {
    StHead,  // the row of the oldest operation's QP is read
    StRow,   // the result is kept, or the newest one read
    StScan   // the results of the QP are compared, from the newest on
  } state_e;

  state_e state_d, state_q;
  logic [SlotBits:0] dones_d, dones_q;      // of operations that have not ended
  logic [SlotBits-1:0] done_next_q, done_first_q;
  logic [InFlight-1:0] refused_q;              // by the number of the done
  logic takes_done;
  logic clear_q, cleared_q;
  logic [QpBits-1:0] clear_index_q;
  logic row_write, kept_write, kept_read, finds;
  logic [QpBits-1:0] row_index;
  row_t row_d, row;
  kept_t kept;
  logic [KeptBits-1:0] kept_index;
  logic [KeptBits:0] scanned_d, scanned_q;  // results that were read
  logic result_valid_d, result_valid_q;
  atomic_result_t result_d, result_q;
  memory_grant_t grant_ended_q;
  logic failed;

  always_comb begin
    state_d = state_q;
    scanned_d = scanned_q;
    result_valid_d = result_valid_q && !result_ready_i;
    result_d = result_q;
    ends = 1'b0;
    finds = 1'b0;
    kept_write = 1'b0;
    kept_read = 1'b0;
    kept_index = row.next;
    failed = ending.failed || (ending.writes && refused_q[done_first_q]);
    // A pulse has the table's write port. A row that was read in its cycle may be of before it.
    row_write = clear_q;
    row_index = clear_index_q;
    row_d = '0;

    unique case (state_q)
      StHead: begin
        if (ending_valid && (!ending.writes || dones_q != '0) && !result_valid_d) state_d = StRow;
      end
      StRow: begin
        scanned_d = (KeptBits + 1)'(1);
        if (clear_q || cleared_q) begin
          state_d = StHead;
        end else if (!ending.is_duplicate) begin
          if (!failed) begin
            kept_write = 1'b1;
            row_write = 1'b1;
            row_index = ending.qpn;
            row_d.next = row.next + 1'b1;
            row_d.count = row.count == (KeptBits + 1)'(Kept) ? row.count : row.count + 1'b1;
          end
          ends = 1'b1;
        end else if (row.count == '0) begin
          ends = 1'b1;
        end else begin
          kept_read = 1'b1;
          kept_index = row.next - 1'b1;
          state_d = StScan;
        end
      end
      StScan: begin
        finds = kept.psn == ending.psn;
        if (finds || scanned_q == row.count) begin
          ends = 1'b1;
        end else begin
          kept_read = 1'b1;
          kept_index = row.next - 1'b1 - scanned_q[KeptBits-1:0];
          scanned_d = scanned_q + 1'b1;
        end
      end
      default: state_d = StHead;
    endcase

    if (ends) begin
      state_d = StHead;
      result_valid_d = 1'b1;
      result_d.qpn = 24'(ending.qpn);
      result_d.status = 2'(AtomicStatusOk);
      result_d.value = ending.value;
      if (ending.is_duplicate) begin
        result_d.value = finds ? kept.value : '0;
        if (!finds) result_d.status = 2'(AtomicStatusUnknown);
      end else if (failed) begin
        result_d.value = '0;
        result_d.status = 2'(AtomicStatusFailed);
      end
    end
    takes_done = ends && ending.writes;
    dones_d = dones_q + (SlotBits + 1)'(done_valid_i) - (SlotBits + 1)'(takes_done);
  end

  vireo_table #(.Width($bits(row_t)), .Depth(NumQps)) u_row (
    .clk_i, .rst_ni,
    .write_i(row_write), .write_address_i(row_index), .write_data_i(row_d),
    .read_i(state_q == StHead && ending_valid), .read_address_i(ending.qpn), .read_data_o(row)
  );
  vireo_table #(.Width($bits(kept_t)), .Depth(NumQps * Kept)) u_kept (
    .clk_i, .rst_ni,
    .write_i(kept_write), .write_address_i({ending.qpn, kept_index}),
    .write_data_i({ending.psn, ending.value}),
    .read_i(kept_read), .read_address_i({ending.qpn, kept_index}), .read_data_o(kept)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
      first_q <= '0;
      next_q <= '0;
      slots_q <= '0;
      waiting_q <= '0;
      fetch_valid_q <= 1'b0;
      store_valid_q <= 1'b0;
      state_q <= StHead;
      dones_q <= '0;
      done_next_q <= '0;
      done_first_q <= '0;
      clear_q <= 1'b0;
      cleared_q <= 1'b0;
      result_valid_q <= 1'b0;
      grant_ended_q <= '0;
    end else begin
      busy_q <= busy_d;
      if (ends) first_q <= first_q + 1'b1;
      if (begins) next_q <= next_q + 1'b1;
      slots_q <= slots_d;
      waiting_q <= waiting_d;
      fetch_valid_q <= fetch_valid_d;
      store_valid_q <= store_valid_d;
      state_q <= state_d;
      dones_q <= dones_d;
      if (done_valid_i) done_next_q <= done_next_q + 1'b1;
      if (takes_done) done_first_q <= done_first_q + 1'b1;
      // What a peer may ask for again is of one lifetime of its QP.
      clear_q <= qp_state_write_valid_i
              && (qp_state_write_i.state == 3'(IbQpStateReset) || qp_state_write_i.state == 3'(IbQpStateInit));
      cleared_q <= clear_q;
      result_valid_q <= result_valid_d;
      grant_ended_q <= ends ? ending.grant : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins) address_q[next_q] <= request.address[63:LowBits];
    fetch_q <= fetch_d;
    store_q <= store_d;
    if (done_valid_i) refused_q[done_next_q] <= done_i.resp != AxiRespOkay;
    clear_index_q <= qp_state_write_i.qpn[QpBits-1:0];
    scanned_q <= scanned_d;
    result_q <= result_d;
  end

  assign fetch_request_valid_o = fetch_valid_q;
  assign fetch_request_o = fetch_q;
  assign store_valid_o = store_valid_q;
  assign store_o = store_q;
  assign result_valid_o = result_valid_q;
  assign result_o = result_q;
  assign grant_ended_o = grant_ended_q;
  assign idle_o = waiting_q == '0 && slots_q == '0 && !result_valid_q && !clear_q;

  logic unused;
  assign unused = ^{qp_state_write_i, request.qpn, done_i.tag, fetched_i, reading_ready, ending_ready};

`ifndef SYNTHESIS
  slots_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
    !(begins && !reading_ready) && !(reading_pop && !ending_ready))
  else $error("an operation without room");
  done_expected: assert property (@(posedge clk_i) disable iff (!rst_ni)
    done_valid_i |-> dones_q < slots_q)
  else $error("a write that nobody has asked for");
  aligned: assert property (@(posedge clk_i) disable iff (!rst_ni)
    request_valid && !request.is_duplicate && !request.is_flush |-> request.address[LowBits-1:0] == '0)
  else $error("an address that is not aligned");
  // A QP has one operation here at most, and is cleared without any.
  logic [NumQps-1:0] pending_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= '0;
    end else begin
      if (ends) pending_q[ending.qpn] <= 1'b0;
      if (begins) pending_q[request.qpn[QpBits-1:0]] <= 1'b1;
    end
  end
  one_per_qp: assert property (@(posedge clk_i) disable iff (!rst_ni) begins |-> !pending_q[request.qpn[QpBits-1:0]])
  else $error("two operations of a queue pair");
  cleared_without: assert property (@(posedge clk_i) disable iff (!rst_ni) clear_q |-> !pending_q[clear_index_q])
  else $error("a queue pair is cleared while an operation of it is executed");
`endif

endmodule
