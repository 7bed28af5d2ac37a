// SPDX-License-Identifier: Apache-2.0

// Holds the used indices of vireo_cq_writer back until every write that they make visible to the driver is in memory:
// the buffer's data, its used element, and those of the earlier buffers of a batch. In a packed ring, the flags of a
// used descriptor take the place of the index. Nothing waits for it: writes continue, and are counted.
//
// If the bus refused one of these writes, the index is not written, and none of a later buffer of its queue, whose index
// would cover it, too. A table keeps which queues these are, until they are reset.
module vireo_used_publish #(
  parameter int unsigned NumQueues,                 // virtqueues; 2 or more
  parameter int unsigned Slots,                     // indices held; a power of two, 4 or more
  localparam int unsigned QueueBits = $clog2(NumQueues),
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 row_clear_i,         // as vireo_queue_state: the queue is reset
  input  logic [QueueBits-1:0] row_clear_index_i,
  input  logic                 table_clear_i,
  input  logic [QueueBits-1:0] table_clear_index_i,

  input  logic                 write_i,             // a write that an index makes visible was issued
  input  logic                 write_done_i,        // likewise, has ended; in their order
  input  logic                 push_i,              // an index, behind the writes of earlier cycles
  input  logic [SlotBits-1:0]  push_slot_i,
  input  logic [QueueBits-1:0] push_vq_i,
  input  logic [63:0]          push_address_i,
  input  logic [15:0]          push_data_i,

  output logic [SlotBits-1:0]  slot_o,              // of the oldest index
  input  logic                 slot_error_i,        // one of its ended writes was refused
  output logic                 store_valid_o,       // the index is written
  input  logic                 store_ready_i,
  output logic [63:0]          store_address_o,
  output logic [15:0]          store_data_o,
  output logic                 withhold_o,          // pulse: it is not
  output logic                 withhold_again_o     // with withhold_o: nor was an earlier one of its queue
);

  // Of writes, modulo. More than are outstanding.
  localparam int unsigned CountBits = 16;

  typedef struct packed {
    logic [CountBits-1:0] count;                    // writes issued before it
    logic [SlotBits-1:0] slot;
    logic [QueueBits-1:0] vq;
    logic [63:0] address;
    logic [15:0] data;
  } held_t;

  logic [CountBits-1:0] issued_q, ended_q, missing;
  logic push_ready, held_valid, held_pop;
  held_t held_in, held;
  logic known_q;                                    // `withheld` is that of its queue
  logic withheld, withheld_write, withheld_ready;

  assign held_in = '{count: issued_q, slot: push_slot_i, vq: push_vq_i, address: push_address_i,
                     data: push_data_i};

  vireo_fifo #(
    .Width($bits(held_t)),
    .Depth(Slots),
    .InLuts(1'b1)
  ) u_held (
    .clk_i,
    .rst_ni,
    .s_valid_i(push_i),
    .s_ready_o(push_ready),
    .s_data_i(held_in),
    .m_valid_o(held_valid),
    .m_ready_i(held_pop),
    .m_data_o(held)
  );

  vireo_queue_state #(
    .NumQueues(NumQueues),
    .Width(1)
  ) u_withheld (
    .clk_i,
    .rst_ni,
    .row_clear_i,
    .row_clear_index_i,
    .table_clear_i,
    .table_clear_index_i,
    .write_i(withheld_write),
    .write_ready_o(withheld_ready),
    .write_index_i(held.vq),
    .write_data_i(1'b1),
    .read_i(held_valid && !known_q),
    .read_index_i(held.vq),
    .read_data_o(withheld)
  );

  logic due, fails;

  assign missing = held.count - ended_q;
  assign due = held_valid && known_q && (missing == '0 || missing[CountBits-1]);
  assign fails = withheld || slot_error_i;
  assign withheld_write = due && fails && withheld_ready;

  assign slot_o = held.slot;
  assign store_valid_o = due && !fails;
  assign store_address_o = held.address;
  assign store_data_o = held.data;
  assign withhold_o = withheld_write;
  assign withhold_again_o = withheld;
  assign held_pop = withheld_write || (store_valid_o && store_ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      issued_q <= '0;
      ended_q <= '0;
      known_q <= 1'b0;
    end else begin
      issued_q <= issued_q + CountBits'(write_i);
      ended_q <= ended_q + CountBits'(write_done_i);
      known_q <= held_valid && !held_pop;
    end
  end

`ifndef SYNTHESIS
  held_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> push_ready);
  write_was_issued: assert property (@(posedge clk_i) disable iff (!rst_ni) write_done_i |-> issued_q != ended_q);
`endif

endmodule
