// SPDX-License-Identifier: Apache-2.0

// The control queue for firmware: takes one command (a chain of descriptors) at a time, copies its readable bytes into
// a window of 512 bytes and the window's bytes into its writable ones, as firmware requests, and returns the chain as
// used. It interprets no byte of a command. One read is in flight at a time; writes are not waited for until the last.
//
// A chain that breaks virtio's rules, or a response that cannot be written, breaks the control queue: a queue_failure,
// unless descriptor fetch has reported one, and nothing more until the queue or the device is reset. Such a reset also
// discards the current command.
//
// The used element and index are written by cq_writer. If the bus refuses one of them, cq_writer stops the queue: the
// driver does not learn of that command, so none behind it may be executed. The mailbox breaks as above; a command that
// it has fetched is discarded.
module vireo_mailbox
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::AxiRespOkay;
#(
  parameter int unsigned ChainEntries  // descriptors of the longest chain; a power of two
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              control_doorbell_valid_i,
  output logic              control_doorbell_ready_o,
  input  doorbell_t         control_doorbell_i,

  output logic              buffer_request_valid_o,
  input  logic              buffer_request_ready_i,
  output buffer_request_t   buffer_request_o,
  input  logic              buffer_valid_i,
  output logic              buffer_ready_o,
  input  buffer_t           buffer_i,

  output logic              fetch_request_valid_o,
  input  logic              fetch_request_ready_i,
  output dma_read_request_t fetch_request_o,
  input  logic              fetched_valid_i,
  output logic              fetched_ready_o,
  input  dma_fetched_t      fetched_i,

  output logic              store_valid_o,
  input  logic              store_ready_i,
  output dma_store_t        store_o,
  input  logic              store_done_valid_i,
  input  dma_done_t         store_done_i,

  output logic              completion_valid_o,
  input  logic              completion_ready_i,
  output completion_t       completion_o,

  output logic              queue_failure_valid_o,
  input  logic              queue_failure_ready_i,
  output queue_failure_t    queue_failure_o,

  // Pulse from cq_writer, of any queue.
  input  logic              queue_stopped_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  queue_failure_t    queue_stopped_i,  // the code is for the event
  // verilator lint_on UNUSEDSIGNAL

  // From csr. Firmware's accesses to the window count only while not busy: otherwise they read 0 and write nothing.
  input  logic              device_reset_i,
  input  logic              queue_row_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  queue_row_write_t  queue_row_write_i,  // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic              fetch_valid_i,
  input  logic [31:0]       fetch_i,      // offset in the request
  input  logic              complete_valid_i,
  input  logic [31:0]       complete_i,   // bytes of the response
  input  logic              window_write_valid_i,
  input  logic [6:0]        window_write_word_i,
  input  logic [31:0]       window_write_data_i,
  input  logic              window_read_valid_i,
  input  logic [6:0]        window_read_word_i,
  output logic [31:0]       window_read_data_o,  // one cycle later

  output logic              request_o,
  output logic              busy_o,
  output logic              dma_error_o,
  output logic [31:0]       request_bytes_o,
  output logic [31:0]       response_bytes_o,
  output logic              idle_o
);

  localparam int unsigned WindowBytes = 512;  // mgmt.mailbox_data
  localparam int unsigned RowBytes = 32'(DmaFetchBytes);
  localparam int unsigned Rows = WindowBytes / RowBytes;
  localparam int unsigned Words = WindowBytes / 4;
  localparam int unsigned WordBits = $clog2(Words);
  localparam int unsigned ByteBits = $clog2(RowBytes);
  localparam int unsigned PosBits = $clog2(WindowBytes) + 1;
  localparam int unsigned PieceBits = ByteBits + 1;
  localparam int unsigned EntryBits = $clog2(ChainEntries);
  // Writes in flight: a piece ends with its row or with its descriptor.
  localparam int unsigned OutstandingBits = $clog2(ChainEntries + Rows + 1);

  typedef enum logic [3:0] {
    StIdle,     // waits for a doorbell
    StRequest,  // requests a descriptor
    StBuffer,   // waits for the descriptor
    StWait,     // a command waits for firmware
    StWalk,     // reads the next descriptor to copy from or to
    StPiece,    // determines its next part to copy
    StFetch,    // requests a read of that part
    StFetched,  // waits for the data, then copies it to the window
    StFill,     // writes zeros up to the end of the row
    StRead,     // copies that part from the window
    StStore,    // writes it to host memory
    StDrain,    // waits for writes
    StUsed,     // returns the chain
    StReport,   // reports that the queue is broken
    StBroken
  } state_e;
  state_e state_d, state_q;

  logic queue_reset;       // the command's queue is disabled
  logic abort_d, abort_q;  // the device or the queue was reset since the doorbell that began the queue's lifetime
  logic stopped_d, stopped_q;  // cq_writer has stopped the queue in this lifetime
  logic dma_error_d, dma_error_q;

  // Chain.
  logic [15:0] vq_index_d, vq_index_q;
  logic by_index_d, by_index_q;
  logic [15:0] next_index_d, next_index_q;
  logic indirect_d, indirect_q;  // in an indirect table
  logic [63:0] table_address_d, table_address_q;
  logic [15:0] table_entries_d, table_entries_q;
  logic [15:0] head_d, head_q;
  logic has_id_d, has_id_q;      // of the last descriptor; next_index_q is the position after it
  logic [15:0] id_d, id_q;
  logic [EntryBits:0] entries_d, entries_q;    // descriptors
  logic [EntryBits:0] readable_d, readable_q;  // readable ones, which precede the writable ones
  logic [31:0] request_bytes_d, request_bytes_q, response_bytes_d, response_bytes_q;

  // Copy.
  logic completing_d, completing_q;
  logic [EntryBits:0] entry_d, entry_q;
  logic [31:0] skip_d, skip_q;        // bytes to skip, from the start of the entry; may exceed it
  logic [PosBits-1:0] pos_d, pos_q;   // next byte of the window
  logic [PosBits-1:0] end_d, end_q;   // end of the copy in the window
  logic [63:0] address_d, address_q;
  logic [PieceBits-1:0] piece_d, piece_q;
  logic [PieceBits-1:0] copied_d, copied_q;    // bytes of it
  logic [OutstandingBits-1:0] outstanding_d, outstanding_q;
  logic store_failed_d, store_failed_q;

  // --- Inputs --------------------------------------------------------------------------------------------------------

  logic doorbell_valid, doorbell_ready;
  doorbell_t doorbell;
  logic buffer_valid_q, buffer_ready;
  buffer_t buffer_q;
  logic fetched_valid_q, fetched_ready;
  dma_fetched_t fetched_q;
  logic unused_bits;

  vireo_slice #(.Width(DoorbellBits)) u_doorbell (
    .clk_i, .rst_ni,
    .s_valid_i(control_doorbell_valid_i), .s_ready_o(control_doorbell_ready_o), .s_data_i(control_doorbell_i),
    .m_valid_o(doorbell_valid), .m_ready_i(doorbell_ready), .m_data_o(doorbell)
  );
  // One request of each kind is outstanding, so one place is enough for its answer, which needs no identification.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      buffer_valid_q <= 1'b0;
      fetched_valid_q <= 1'b0;
    end else begin
      buffer_valid_q <= buffer_valid_i || (buffer_valid_q && !buffer_ready);
      fetched_valid_q <= fetched_valid_i || (fetched_valid_q && !fetched_ready);
    end
  end
  always_ff @(posedge clk_i) begin
    if (buffer_valid_i) buffer_q <= buffer_i;
    if (fetched_valid_i) fetched_q <= fetched_i;
  end
  assign buffer_ready_o = 1'b1;
  assign fetched_ready_o = 1'b1;
  assign unused_bits = ^{buffer_q, fetched_q, store_done_i};

  // --- Chain and window ----------------------------------------------------------------------------------------------

  logic entry_write;
  logic [63:0] entry_address;
  logic [31:0] entry_bytes;

  vireo_ram_1r1w #(.Width(64 + 32), .Depth(ChainEntries)) u_chain (
    .clk_i,
    .write_i(entry_write), .write_address_i(entries_q[EntryBits-1:0]), .write_data_i({buffer_q.address, buffer_q.bytes}),
    .read_i(state_q == StWalk), .read_address_i(entry_q[EntryBits-1:0]), .read_data_o({entry_address, entry_bytes})
  );

  // Bytes of the window are copied one per cycle: moving a whole row to its place would take two shifters of 64 bytes.
  logic byte_write, byte_read, word_write, word_read;
  logic [7:0] fetched_byte, written_byte, read_byte;
  logic [WordBits-1:0] word_address;
  logic [3:0][7:0] word;
  logic byte_read_q, read_valid_q;
  logic [1:0] read_lane_q;
  logic [ByteBits-1:0] stored_lane_q;
  logic [RowBytes-1:0][7:0] fetched_bytes, stored_q;

  assign word_write = window_write_valid_i && !busy_o;
  assign word_read = window_read_valid_i && !busy_o;
  assign fetched_bytes = fetched_q.data;
  assign fetched_byte = fetched_bytes[copied_q[ByteBits-1:0]];
  assign written_byte = state_q == StFill ? '0 : fetched_byte;
  assign word_address = busy_o ? pos_q[2 +: WordBits] : window_read_word_i;

  for (genvar lane = 0; lane < 4; lane++) begin : gen_lane
    vireo_table #(.Width(8), .Depth(Words)) u_window (
      .clk_i, .rst_ni,
      .write_i(word_write || (byte_write && pos_q[1:0] == 2'(lane))),
      .write_address_i(busy_o ? pos_q[2 +: WordBits] : window_write_word_i),
      .write_data_i(busy_o ? written_byte : window_write_data_i[8*lane +: 8]),
      .read_i(word_read || byte_read), .read_address_i(word_address), .read_data_o(word[lane])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      byte_read_q <= 1'b0;
    end else begin
      read_valid_q <= word_read;
      byte_read_q <= byte_read;
    end
  end
  always_ff @(posedge clk_i) begin
    read_lane_q <= pos_q[1:0];
    stored_lane_q <= copied_q[ByteBits-1:0];
  end
  assign window_read_data_o = read_valid_q ? word : '0;
  assign read_byte = word[read_lane_q];

  // Zero behind the piece.
  for (genvar lane = 0; lane < int'(RowBytes); lane++) begin : gen_stored
    always_ff @(posedge clk_i) begin
      if (state_q == StPiece) stored_q[lane] <= '0;
      else if (byte_read_q && stored_lane_q == ByteBits'(lane)) stored_q[lane] <= read_byte;
    end
  end

  // --- State machine -------------------------------------------------------------------------------------------------

  logic [32:0] sum;
  logic [31:0] in_entry;         // bytes of the entry after skip_q
  logic [PieceBits-1:0] in_row;  // bytes up to the end of the row
  logic [PosBits-1:0] in_copy;   // bytes up to the end of the copy
  logic is_copied;
  logic store_taken, store_done;
  logic chain_is_bad;
  logic begins;                  // the next command starts

  assign sum = {1'b0, buffer_q.writable ? response_bytes_q : request_bytes_q} + {1'b0, buffer_q.bytes};
  // A chain has at most 2^32 bytes and its writable descriptors come last (virtio 1.3, 2.7.4.1 and 2.7.4.2); its length
  // is at most the queue's size, here ChainEntries, which also ends loops (2.7.5.3.1).
  assign chain_is_bad = entries_q == (EntryBits + 1)'(ChainEntries) || sum[32] ||
                        (!buffer_q.writable && entries_q != readable_q);
  assign in_entry = entry_bytes - skip_q;
  assign in_row = PieceBits'(RowBytes) - PieceBits'(pos_q[ByteBits-1:0]);
  assign in_copy = end_q - pos_q;
  assign is_copied = pos_q == end_q || entry_q == (completing_q ? entries_q : readable_q);
  assign store_taken = store_valid_o && store_ready_i;
  assign store_done = store_done_valid_i;
  assign queue_reset = queue_row_write_valid_i && !queue_row_write_i.enabled
                    && queue_row_write_i.vq_index == vq_index_q;

  always_comb begin
    state_d = state_q;
    abort_d = abort_q || device_reset_i || queue_reset;
    stopped_d = stopped_q || (queue_stopped_valid_i && queue_stopped_i.vq_index == vq_index_q && !abort_q);
    dma_error_d = dma_error_q;
    vq_index_d = vq_index_q;
    by_index_d = by_index_q;
    next_index_d = next_index_q;
    indirect_d = indirect_q;
    table_address_d = table_address_q;
    table_entries_d = table_entries_q;
    head_d = head_q;
    has_id_d = has_id_q;
    id_d = id_q;
    entries_d = entries_q;
    readable_d = readable_q;
    request_bytes_d = request_bytes_q;
    response_bytes_d = response_bytes_q;
    completing_d = completing_q;
    entry_d = entry_q;
    skip_d = skip_q;
    pos_d = pos_q;
    end_d = end_q;
    address_d = address_q;
    piece_d = piece_q;
    copied_d = copied_q;
    outstanding_d = outstanding_q + OutstandingBits'(store_taken) - OutstandingBits'(store_done);
    store_failed_d = store_failed_q || (store_done && store_done_i.resp != AxiRespOkay);
    doorbell_ready = 1'b0;
    buffer_ready = 1'b0;
    fetched_ready = 1'b0;
    entry_write = 1'b0;
    byte_write = 1'b0;
    byte_read = 1'b0;
    begins = 1'b0;

    unique case (state_q)
      StIdle: begin
        if (stopped_q && !abort_q) begin
          state_d = StBroken;
        end else begin
          doorbell_ready = 1'b1;
          if (doorbell_valid) begin
            vq_index_d = doorbell.vq_index;
            abort_d = 1'b0;
            if (abort_q) stopped_d = 1'b0;
            begins = 1'b1;
            state_d = StRequest;
          end
        end
      end

      StRequest: if (buffer_request_ready_i) state_d = StBuffer;

      StBuffer: begin
        buffer_ready = 1'b1;
        if (buffer_valid_q) begin
          if (!by_index_q) head_d = buffer_q.head;
          by_index_d = 1'b1;
          next_index_d = buffer_q.next_index;
          has_id_d = buffer_q.has_id;
          id_d = buffer_q.id;
          indirect_d = buffer_q.indirect;
          table_address_d = buffer_q.table_address;
          table_entries_d = buffer_q.table_entries;
          if (abort_q || buffer_q.status == BufferStatusEmpty) begin
            state_d = StIdle;
          end else if (stopped_q || buffer_q.status != BufferStatusOk) begin
            state_d = StBroken;
          end else if (chain_is_bad) begin
            state_d = StReport;
          end else begin
            entry_write = 1'b1;
            entries_d = entries_q + 1'b1;
            if (buffer_q.writable) begin
              response_bytes_d = sum[31:0];
            end else begin
              readable_d = readable_q + 1'b1;
              request_bytes_d = sum[31:0];
            end
            state_d = buffer_q.more ? StRequest : StWait;
          end
        end
      end

      StWait: begin
        pos_d = '0;
        if (abort_q || stopped_q) begin
          state_d = StDrain;
        end else if (fetch_valid_i) begin
          dma_error_d = 1'b0;
          entry_d = '0;
          skip_d = fetch_i;
          end_d = PosBits'(WindowBytes);
          state_d = StWalk;
        end else if (complete_valid_i) begin
          completing_d = 1'b1;
          entry_d = readable_q;
          skip_d = '0;
          // The copy is limited to the writable descriptors; excess bytes of the window are ignored.
          end_d = PosBits'(WindowBytes);
          if (response_bytes_q < 32'(end_d)) end_d = response_bytes_q[PosBits-1:0];
          if (complete_i < 32'(end_d)) end_d = complete_i[PosBits-1:0];
          state_d = StWalk;
        end
      end

      StWalk: begin
        if (abort_q || stopped_q) begin
          state_d = StDrain;
        end else if (is_copied && completing_q) begin
          state_d = StDrain;
        end else if (is_copied) begin
          state_d = pos_q[ByteBits-1:0] == '0 ? StWait : StFill;
        end else begin
          state_d = StPiece;
        end
      end

      StPiece: begin
        copied_d = '0;
        address_d = entry_address + 64'(skip_q);
        piece_d = in_row;
        if (in_copy < PosBits'(piece_d)) piece_d = in_copy[PieceBits-1:0];
        if (in_entry < 32'(piece_d)) piece_d = in_entry[PieceBits-1:0];
        if (skip_q >= entry_bytes) begin
          skip_d = skip_q - entry_bytes;
          entry_d = entry_q + 1'b1;
          state_d = StWalk;
        end else begin
          state_d = completing_q ? StRead : StFetch;
        end
      end

      StFetch: if (fetch_request_ready_i) state_d = StFetched;

      StFetched: if (fetched_valid_q) begin
        if (fetched_q.resp != AxiRespOkay) begin
          fetched_ready = 1'b1;
          dma_error_d = 1'b1;
          state_d = StWait;
        end else begin
          byte_write = 1'b1;
          copied_d = copied_q + 1'b1;
          pos_d = pos_q + 1'b1;
          skip_d = skip_q + 1'b1;
          fetched_ready = copied_d == piece_q;
          if (fetched_ready) state_d = StWalk;
        end
      end

      StFill: begin
        byte_write = 1'b1;
        pos_d = pos_q + 1'b1;
        if (pos_d[ByteBits-1:0] == '0) state_d = StWalk;
      end

      StRead: begin
        if (copied_q == piece_q) begin
          state_d = StStore;
        end else begin
          byte_read = 1'b1;
          copied_d = copied_q + 1'b1;
          pos_d = pos_q + 1'b1;
          skip_d = skip_q + 1'b1;
        end
      end

      StStore: if (store_ready_i) state_d = StWalk;

      // The used element, written by another client of the write port, must not precede the data.
      StDrain: if (outstanding_q == '0) begin
        if (abort_q) begin
          state_d = StIdle;
        end else if (stopped_q) begin
          state_d = StBroken;
        end else if (store_failed_q) begin
          state_d = StReport;
        end else begin
          state_d = StUsed;
        end
      end

      StUsed: if (completion_ready_i) begin
        begins = 1'b1;
        state_d = abort_q ? StIdle : stopped_q ? StBroken : StRequest;
      end

      StReport: if (queue_failure_ready_i) state_d = StBroken;

      StBroken: begin
        doorbell_ready = 1'b1;
        if (abort_q) state_d = StIdle;
      end

      default: state_d = StIdle;
    endcase

    if (begins) begin
      by_index_d = 1'b0;
      entries_d = '0;
      readable_d = '0;
      request_bytes_d = '0;
      response_bytes_d = '0;
      completing_d = 1'b0;
      store_failed_d = 1'b0;
      dma_error_d = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      abort_q <= 1'b1;
      stopped_q <= 1'b0;
      dma_error_q <= 1'b0;
      completing_q <= 1'b0;
      request_bytes_q <= '0;
      response_bytes_q <= '0;
      outstanding_q <= '0;
    end else begin
      state_q <= state_d;
      abort_q <= abort_d;
      stopped_q <= stopped_d;
      dma_error_q <= dma_error_d;
      completing_q <= completing_d;
      request_bytes_q <= request_bytes_d;
      response_bytes_q <= response_bytes_d;
      outstanding_q <= outstanding_d;
    end
  end

  always_ff @(posedge clk_i) begin
    vq_index_q <= vq_index_d;
    by_index_q <= by_index_d;
    next_index_q <= next_index_d;
    indirect_q <= indirect_d;
    table_address_q <= table_address_d;
    table_entries_q <= table_entries_d;
    head_q <= head_d;
    has_id_q <= has_id_d;
    id_q <= id_d;
    entries_q <= entries_d;
    readable_q <= readable_d;
    entry_q <= entry_d;
    skip_q <= skip_d;
    pos_q <= pos_d;
    end_q <= end_d;
    address_q <= address_d;
    piece_q <= piece_d;
    copied_q <= copied_d;
    store_failed_q <= store_failed_d;
  end

  assign buffer_request_valid_o = state_q == StRequest;
  assign buffer_request_o = '{
    client: BufferClientControl,
    vq_index: vq_index_q,
    by_index: by_index_q,
    index: by_index_q ? next_index_q : '0,
    count: 6'd1,
    indirect: by_index_q && indirect_q,
    table_address: by_index_q ? table_address_q : '0,
    table_entries: by_index_q ? table_entries_q : '0,
    default: '0
  };
  assign fetch_request_valid_o = state_q == StFetch;
  assign fetch_request_o = '{address: address_q, bytes: 13'(piece_q), tag: '0};
  assign store_valid_o = state_q == StStore;
  assign store_o = '{
    address: address_q,
    bytes: 7'(piece_q),
    notify: 1'b1,
    tag: '0,
    data: stored_q
  };
  assign completion_valid_o = state_q == StUsed;
  always_comb begin
    completion_o = '0;
    completion_o.vq_index = vq_index_q;
    completion_o.head = head_q;
    completion_o.used_bytes = 32'(pos_q);
    completion_o.has_id = has_id_q;
    completion_o.id = id_q;
    completion_o.next_position = has_id_q ? next_index_q : '0;
  end

  assign queue_failure_valid_o = state_q == StReport;
  assign queue_failure_o = '{
    vq_index: vq_index_q,
    code: store_failed_q ? RdmaErrorQueueDmaError : RdmaErrorBadDescriptor
  };

  always_comb begin
    busy_o = 1'b1;
    request_o = !abort_q && !stopped_q && !completing_q;
    unique case (state_q)
      StIdle, StRequest, StBuffer, StReport, StBroken: begin
        busy_o = 1'b0;
        request_o = 1'b0;
      end
      StWait: busy_o = 1'b0;
      default: ;
    endcase
  end
  assign dma_error_o = dma_error_q;
  assign request_bytes_o = request_bytes_q;
  assign response_bytes_o = response_bytes_q;
  assign idle_o = (state_q == StIdle || state_q == StBroken) && !doorbell_valid;

`ifndef SYNTHESIS
  one_buffer: assert property (@(posedge clk_i) disable iff (!rst_ni) buffer_valid_i |-> !buffer_valid_q);
  one_answer: assert property (@(posedge clk_i) disable iff (!rst_ni) fetched_valid_i |-> !fetched_valid_q);
`endif

endmodule
