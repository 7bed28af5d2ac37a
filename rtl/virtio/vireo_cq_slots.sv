// SPDX-License-Identifier: Apache-2.0

// Writes of vireo_cq_writer that have not ended. Each used index, and each avail_event, has a slot: what follows when it
// is in memory. The oldest slot whose write has ended is a job, unless nothing follows; slots leave in their order. Used
// indices are held until what they make visible is in memory (vireo_used_publish), then written. It does not decide
// what follows, and does not know queues.
module vireo_cq_slots
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned Slots,                           // a power of two, 4 to 128
  localparam int unsigned NumQueues = queues_of(Config),  // virtqueues; 2 or more
  localparam int unsigned QueueBits = $clog2(NumQueues),
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 row_clear_i,        // as vireo_queue_state: the queue is reset
  input  logic [QueueBits-1:0] row_clear_index_i,
  input  logic                 table_clear_i,
  input  logic [QueueBits-1:0] table_clear_index_i,

  output logic                 room_o,             // for two more
  output logic [SlotBits:0]    slots_o,            // in use
  output logic [SlotBits-1:0]  tail_o,             // number of the next one
  input  logic                 push_i,
  input  slot_t                slot_i,
  input  logic                 no_interrupt_i,     // nothing follows the write
  input  logic                 publish_i,          // with push_i: of this used index
  // verilator lint_off UNUSEDSIGNAL
  input  dma_store_t           index_i,            // two bytes
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 write_i,            // a write that an index makes visible was issued

  // verilator lint_off UNUSEDSIGNAL
  input  dma_done_t            done_i,             // of as many slots as there are
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 done_valid_i,

  output logic                 ended_valid_o,      // a job: the oldest slot
  output slot_t                ended_o,
  output logic                 ended_error_o,      // one of its writes was refused
  output logic                 free_o,             // the oldest slot has ended, and nothing follows: it leaves
  input  logic                 pop_i,

  output logic                 store_valid_o,      // a used index is written
  input  logic                 store_ready_i,
  output dma_store_t           store_o
);

  logic loaded_q;                                   // the oldest is in ended_o
  logic [SlotBits-1:0] tail_q, head_q;
  logic [SlotBits:0] slots_d, slots_q;
  logic [Slots-1:0] no_interrupt_d, no_interrupt_q;  // no action after the write
  logic [Slots-1:0] done_d, done_q;                 // its used index is written
  logic [Slots-1:0] error_d, error_q;               // one of its writes has failed
  logic [SlotBits-1:0] done_slot;
  // Of the used index that is written next.
  logic [SlotBits-1:0] publish_slot;
  logic withhold, withhold_again;

  vireo_ram_1r1w #(
    .Width($bits(slot_t)),
    .Depth(Slots)
  ) u_slots (
    .clk_i,
    .write_i(push_i),
    .write_address_i(tail_q),
    .write_data_i(slot_i),
    .read_i(slots_q != '0 && !loaded_q),
    .read_address_i(head_q),
    .read_data_o(ended_o)
  );

  assign done_slot = done_i.tag[SlotBits-1:0];
  assign free_o = done_q[head_q] && no_interrupt_q[head_q] && !error_q[head_q];
  assign ended_valid_o = done_q[head_q] && !free_o && loaded_q;
  assign ended_error_o = error_q[head_q];
  assign room_o = slots_q <= (SlotBits + 1)'(Slots - 2);
  assign slots_o = slots_q;
  assign tail_o = tail_q;

  always_comb begin
    slots_d = slots_q + (SlotBits + 1)'(push_i) - (SlotBits + 1)'(pop_i);
    no_interrupt_d = no_interrupt_q;
    done_d = done_q;
    error_d = error_q;
    // The used index is not written: the queue fails, or has failed with an earlier one, which was reported.
    if (withhold) begin
      done_d[publish_slot] = 1'b1;
      if (withhold_again) begin
        no_interrupt_d[publish_slot] = 1'b1;
        error_d[publish_slot] = 1'b0;
      end
    end
    if (push_i) no_interrupt_d[tail_q] = no_interrupt_i;
    if (pop_i) begin
      done_d[head_q] = 1'b0;
      error_d[head_q] = 1'b0;
    end
    if (done_valid_i) begin
      if (done_i.resp != '0) error_d[done_slot] = 1'b1;  // 0 is okay [AMBA AXI, A3.4.4]
      if (done_i.tag[TagSlotBits]) done_d[done_slot] = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tail_q <= '0;
      head_q <= '0;
      slots_q <= '0;
      loaded_q <= 1'b0;
      done_q <= '0;
      error_q <= '0;
    end else begin
      if (push_i) tail_q <= tail_q + 1'b1;
      if (pop_i) head_q <= head_q + 1'b1;
      slots_q <= slots_d;
      loaded_q <= slots_q != '0 && !pop_i;
      done_q <= done_d;
      error_q <= error_d;
    end
  end
  always_ff @(posedge clk_i) no_interrupt_q <= no_interrupt_d;

  logic [63:0] publish_address;
  logic [15:0] publish_data;

  vireo_used_publish #(
    .NumQueues(NumQueues),
    .Slots(Slots)
  ) u_publish (
    .clk_i,
    .rst_ni,
    .row_clear_i,
    .row_clear_index_i,
    .table_clear_i,
    .table_clear_index_i,
    .write_i,
    .write_done_i(done_valid_i && !done_i.tag[TagSlotBits]),
    .push_i(publish_i),
    .push_slot_i(tail_q),
    .push_vq_i(slot_i.vq_index[QueueBits-1:0]),
    .push_address_i(index_i.address),
    .push_data_i(index_i.data[15:0]),
    .slot_o(publish_slot),
    .slot_error_i(error_q[publish_slot]),
    .store_valid_o,
    .store_ready_i,
    .store_address_o(publish_address),
    .store_data_o(publish_data),
    .withhold_o(withhold),
    .withhold_again_o(withhold_again)
  );

  always_comb begin
    store_o = '{address: publish_address, bytes: 7'd2, notify: 1'b1, tag: {1'b1, TagSlotBits'(publish_slot)},
                data: '0};
    store_o.data[15:0] = publish_data;
  end

endmodule
