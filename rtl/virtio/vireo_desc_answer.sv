// SPDX-License-Identifier: Apache-2.0

// Stage 4 of vireo_desc_fetch: checks the descriptor and responds. Only this stage stops queues. A descriptor that refers to
// an indirect table is checked like a buffer and then replaced by the first descriptor of the table.
module vireo_desc_answer
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_desc_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQueues = queues_of(Config),
  localparam int unsigned QueueBits = $clog2(NumQueues)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 ring_packed_i,
  input  logic                 indirect_i,

  // Pulses: what the driver, and firmware, say about a queue.
  input  logic                 row_write_i,
  // verilator lint_off UNUSEDSIGNAL
  input  queue_row_write_t     row_i,            // fields of other blocks
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 window_write_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_window_t        window_i,         // reserved bits
  // verilator lint_on UNUSEDSIGNAL
  input  logic [QueueBits-1:0] table_index_i,
  input  logic                 table_clear_i,    // its positions, too
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 corrupt_o,        // what was read in the cycle before is

  input  logic                 descriptor_job_valid_i,
  output logic                 descriptor_job_pop_o,
  input  descriptor_job_t      descriptor_job_i,
  input  logic                 descriptor_valid_i,
  output logic                 descriptor_pop_o,
  input  descriptor_data_t     descriptor_data_i,

  output logic                 table_request_valid_o,    // of indirect tables
  input  logic                 table_request_ready_i,
  output dma_read_request_t    table_request_o,
  input  logic                 table_fetched_valid_i,
  output logic                 table_fetched_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  dma_fetched_t         table_fetched_i,
  // verilator lint_on UNUSEDSIGNAL

  output logic [Clients-1:0]    buffer_valid_o,
  input  logic [Clients-1:0]    buffer_ready_i,
  output buffer_t [Clients-1:0] buffer_o,
  output logic                 failed_write_o,           // the job's queue is stopped
  output logic                 queue_failure_valid_o,
  input  logic                 queue_failure_ready_i,
  output queue_failure_t       queue_failure_o,
  output logic                 window_violation_o,       // a pulse
  output logic                 free_o                    // nothing waits to leave
);

  // Largest indirect table: a chain is at most as long as its queue, hence as the largest queue
  // [virtio 1.3, 2.7.5.3.1 and 2.8.19].
  localparam logic [31:0] TableBytesMost = 32'(VirtqSizeMax) * 32'(VirtqDescBytes);

  typedef enum logic [1:0] {
    AnswerTake,
    AnswerLookup,
    AnswerRespond,
    AnswerTable  // waits for the descriptor of the table
  } answer_e;

  answer_e answer_d, answer_q;
  logic take, took_q;
  logic failed_write_ready;
  logic failed;                      // the queue delivers no buffers, because
  logic stopped, window_corrupt;     // it was stopped, or its window has a parity error
  logic window_enable;
  logic [63:0] window_base, window_last;
  virtq_desc_t descriptor;            // with flags and next of the packed format, if that is used
  logic [64:0] end_d, end_q;          // address of the last byte
  logic drop_d, drop_q;               // drop the remaining jobs of a request that has failed
  logic respond, bad, report;
  logic outside;
  logic has_descriptor, names_table, table_request;
  logic from_table_d, from_table_q;   // the descriptor is the first one of a table, read by this stage
  logic in_table;                     // the descriptor is in a table
  logic table_valid, table_pop;
  descriptor_data_t table_data, table_data_d, table_data_q;
  logic [63:0] table_address_d, table_address_q, table_address;
  logic [15:0] table_entries_d, table_entries_q, table_entries;
  logic [15:0] table_next;            // packed format: index of the next descriptor
  logic more;
  logic [15:0] id;                    // buffer id of a packed ring
  logic has_id;
  logic table_request_valid_d, table_request_valid_q;
  dma_read_request_t table_request_d, table_request_q;
  logic [7:0] code;
  logic [Clients-1:0] buffer_valid_d, buffer_valid_q;
  buffer_t buffer_d, buffer_q;
  logic failure_valid_d, failure_valid_q;
  queue_failure_t failure_d, failure_q;

  // verilator lint_off UNUSEDSIGNAL
  pvirtq_desc_t packed_descriptor;
  // verilator lint_on UNUSEDSIGNAL
  always_comb begin
    descriptor = unpack_virtq_desc(descriptor_data_i.data);
    packed_descriptor = unpack_pvirtq_desc(descriptor_data_i.data);
    if (ring_packed_i) begin
      descriptor.flags = packed_descriptor.flags;
      descriptor.next = descriptor_job_i.next;
    end
    id = packed_descriptor.id;
    if (descriptor_job_i.kind == KindWalked || descriptor_job_i.kind == KindPushed) begin
      descriptor.addr = descriptor_job_i.address;
      descriptor.len = descriptor_job_i.bytes;
      descriptor.flags = descriptor_job_i.flags;
      id = descriptor_job_i.id;
    end

    in_table = from_table_q || (descriptor_job_i.kind == KindRead && descriptor_job_i.indirect);
    table_address = from_table_q ? table_address_q : descriptor_job_i.address;
    table_entries = from_table_q ? table_entries_q : descriptor_job_i.bytes[15:0];
    table_next = (from_table_q ? '0 : descriptor_job_i.head) + 16'd1;
    if (from_table_q) begin
      descriptor = unpack_virtq_desc(table_data_q.data);
      packed_descriptor = unpack_pvirtq_desc(table_data_q.data);
    end
    more = (descriptor.flags & VirtqDescFlagsNext) != '0;
    has_id = ring_packed_i && !in_table && descriptor_job_i.kind != KindPushed;
    // In a packed table, descriptors are in sequence and only the flag `write` is valid [virtio 1.3, 2.8.7].
    if (ring_packed_i && in_table) begin
      descriptor.flags = packed_descriptor.flags & VirtqDescFlagsWrite;
      descriptor.next = table_next;
      more = table_next != table_entries;
    end
  end

  vireo_slice #(
    .Width($bits(descriptor_data_t)),
    .Depth(1)
  ) u_table_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(table_fetched_valid_i),
    .s_ready_o(table_fetched_ready_o),
    .s_data_i({table_fetched_i.resp != '0, table_fetched_i.data[8*VirtqDescBytes-1:0]}),
    .m_valid_o(table_valid),
    .m_ready_i(table_pop),
    .m_data_o(table_data)
  );

  // Checks of the descriptor.
  always_comb begin
    outside = window_enable && (descriptor.addr < window_base || end_q[63:0] > window_last);
    bad = 1'b0;
    code = descriptor_job_i.code;
    has_descriptor = descriptor_job_i.kind == KindRead || descriptor_job_i.kind == KindWalked
                     || descriptor_job_i.kind == KindPushed;
    names_table = (descriptor.flags & VirtqDescFlagsIndirect) != '0;
    if (descriptor_job_i.kind == KindBroken) begin
      bad = 1'b1;
    end else if (has_descriptor) begin
      if (from_table_q ? table_data_q.error : descriptor_job_i.kind == KindRead && descriptor_data_i.error) begin
        bad = 1'b1;
        code = RdmaErrorQueueDmaError;
      end else if (descriptor.len == '0 || end_q[64]) begin
        bad = 1'b1;
        code = RdmaErrorBadDescriptor;
      // One table per buffer, of whole descriptors, at the end of the chain [virtio 1.3, 2.7.5.3.1 and 2.8.19].
      end else if (names_table && (!indirect_i || in_table || more || descriptor.len > TableBytesMost
                                   || descriptor.len % 32'(VirtqDescBytes) != '0)) begin
        bad = 1'b1;
        code = RdmaErrorBadDescriptor;
      end else if (outside) begin
        bad = 1'b1;
        code = RdmaErrorWindowViolation;
      end
    end
    if (failed) bad = 1'b0;
    report = bad && !descriptor_job_i.replay;
    table_request = has_descriptor && names_table && !bad && !failed;
  end

  always_comb begin
    answer_d = answer_q;
    take = 1'b0;
    drop_d = drop_q;
    end_d = end_q;
    respond = 1'b0;
    descriptor_job_pop_o = 1'b0;
    from_table_d = from_table_q;
    table_data_d = table_data_q;
    table_pop = 1'b0;

    unique case (answer_q)
      AnswerTake: begin
        if (descriptor_job_valid_i && (descriptor_job_i.kind != KindRead || descriptor_valid_i)) begin
          if (drop_q) begin
            descriptor_job_pop_o = 1'b1;
            drop_d = !descriptor_job_i.last;
          end else if ((buffer_valid_q & ~buffer_ready_i) == '0 && (!failure_valid_q || queue_failure_ready_i)) begin
            take = 1'b1;
            answer_d = AnswerLookup;
          end
        end
      end
      AnswerLookup: begin
        end_d = 65'(descriptor.addr) + 65'(descriptor.len) - 65'd1;
        answer_d = AnswerRespond;
      end
      AnswerRespond: begin
        if (failed_write_ready) begin
          respond = !table_request;
          descriptor_job_pop_o = respond;
          if (respond) from_table_d = 1'b0;
          answer_d = respond ? AnswerTake : AnswerTable;
        end
      end
      AnswerTable: begin
        table_pop = 1'b1;
        table_data_d = table_data;
        if (table_valid) begin
          from_table_d = 1'b1;
          answer_d = AnswerLookup;
        end
      end
      default: answer_d = AnswerTake;
    endcase
    descriptor_pop_o = descriptor_job_pop_o && descriptor_job_i.kind == KindRead;

    table_address_d = table_address_q;
    table_entries_d = table_entries_q;
    table_request_valid_d = table_request_valid_q && !table_request_ready_i;
    table_request_d = table_request_q;
    if (answer_q == AnswerRespond && failed_write_ready && table_request) begin
      table_address_d = descriptor.addr;
      table_entries_d = 16'(descriptor.len / 32'(VirtqDescBytes));
      table_request_valid_d = 1'b1;
      table_request_d = '{address: descriptor.addr, bytes: 13'(VirtqDescBytes), tag: '0};
    end

    buffer_valid_d = buffer_valid_q & ~buffer_ready_i;
    buffer_d = buffer_q;
    failure_valid_d = failure_valid_q && !queue_failure_ready_i;
    failure_d = failure_q;
    if (respond) begin
      buffer_valid_d[descriptor_job_i.client] = 1'b1;
      buffer_d = '{status: BufferStatusFailed, last: 1'b1, vq_index: descriptor_job_i.vq_index, default: '0};
      if (!failed && descriptor_job_i.kind == KindEmpty) begin
        buffer_d.status = BufferStatusEmpty;
      end else if (!failed && !bad && has_descriptor) begin
        buffer_d.status = BufferStatusOk;
        buffer_d.last = descriptor_job_i.last;
        buffer_d.head = descriptor_job_i.head;
        buffer_d.address = descriptor.addr;
        buffer_d.bytes = descriptor.len;
        buffer_d.writable = (descriptor.flags & VirtqDescFlagsWrite) != '0;
        buffer_d.more = more;
        buffer_d.has_id = has_id;
        if (has_id) buffer_d.id = id;
        if (more || has_id) buffer_d.next_index = descriptor.next;
        if (more && in_table) begin
          buffer_d.indirect = 1'b1;
          buffer_d.table_address = table_address;
          buffer_d.table_entries = table_entries;
        end
      end
      drop_d = buffer_d.last && !descriptor_job_i.last;
      if (report) begin
        failure_valid_d = 1'b1;
        failure_d = '{vq_index: descriptor_job_i.vq_index, code: code};
      end
    end
    failed_write_o = respond && report;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer_q <= AnswerTake;
      took_q <= 1'b0;
      from_table_q <= 1'b0;
      table_request_valid_q <= 1'b0;
      drop_q <= 1'b0;
      buffer_valid_q <= '0;
      failure_valid_q <= 1'b0;
    end else begin
      answer_q <= answer_d;
      took_q <= take;
      from_table_q <= from_table_d;
      table_request_valid_q <= table_request_valid_d;
      drop_q <= drop_d;
      buffer_valid_q <= buffer_valid_d;
      failure_valid_q <= failure_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    end_q <= end_d;
    table_data_q <= table_data_d;
    table_address_q <= table_address_d;
    table_entries_q <= table_entries_d;
    table_request_q <= table_request_d;
    buffer_q <= buffer_d;
    failure_q <= failure_d;
  end

  assign failed = stopped || window_corrupt;
  assign corrupt_o = took_q && window_corrupt;
  assign free_o = buffer_valid_q == '0 && !failure_valid_q;
  assign table_request_valid_o = table_request_valid_q;
  assign table_request_o = table_request_q;
  assign buffer_valid_o = buffer_valid_q;
  assign buffer_o = {Clients{buffer_q}};
  assign queue_failure_valid_o = failure_valid_q;
  assign queue_failure_o = failure_q;
  assign window_violation_o = failed_write_o && code == RdmaErrorWindowViolation;

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width(129),
    .Depth(NumQueues),
    .Ram(ContextRamDescFetchWindow)
  ) u_window (
    .clk_i,
    .rst_ni,
    .write_i(window_write_i),
    .write_address_i(table_index_i),
    .write_data_i({window_i.enable, window_i.base, window_i.last}),
    .read_i(take),
    .read_address_i(descriptor_job_i.vq_index[QueueBits-1:0]),
    .read_data_o({window_enable, window_base, window_last}),
    .corrupt_o(window_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(1)
  ) u_failed (
    .clk_i,
    .rst_ni,
    .row_clear_i(row_write_i),
    .row_clear_index_i(row_i.vq_index[QueueBits-1:0]),
    .table_clear_i,
    .table_clear_index_i(table_index_i),
    .write_i(failed_write_o),
    .write_ready_o(failed_write_ready),
    .write_index_i(descriptor_job_i.vq_index[QueueBits-1:0]),
    .write_data_i(1'b1),
    .read_i(take),
    .read_index_i(descriptor_job_i.vq_index[QueueBits-1:0]),
    .read_data_o(stopped)
  );

`ifndef SYNTHESIS
  table_data_expected: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                        table_fetched_valid_i |-> answer_q == AnswerTable);
  descriptor_data_not_empty: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                              descriptor_pop_o |-> descriptor_valid_i);
  table_request_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                       table_request_valid_d && answer_q == AnswerRespond |-> !table_request_valid_q);
  buffer_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                respond |-> (buffer_valid_q & ~buffer_ready_i) == '0);
  failure_free: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                 failed_write_o |-> !failure_valid_q || queue_failure_ready_i);
  buffer_one_client: assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(buffer_valid_q));
  client_exists: assert property (@(posedge clk_i) disable iff (!rst_ni)
                                  respond |-> 32'(descriptor_job_i.client) < Clients);
`endif

endmodule
