// SPDX-License-Identifier: Apache-2.0

// Per-virtqueue state of a block that is cleared when the queue is reset: a table as vireo_table, which two kinds of
// pulse set to zero. One kind may come in every cycle; of the other, one waits while those of the first take the port:
// between two of the second kind lies at least one cycle without one of the first.
//
// A read sees pulses two cycles later, so that a pulse never decides in its own cycle whether a write goes: the owner
// writes when write_ready_o, a function of registers, is 1. All zero after reset.
module vireo_queue_state #(
  parameter int unsigned NumQueues,  // 2 or more
  parameter int unsigned Width,
  localparam int unsigned QueueBits = $clog2(NumQueues)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 row_clear_i,         // in any cycle
  input  logic [QueueBits-1:0] row_clear_index_i,
  input  logic                 table_clear_i,       // rare
  input  logic [QueueBits-1:0] table_clear_index_i,
  input  logic                 write_i,
  output logic                 write_ready_o,
  input  logic [QueueBits-1:0] write_index_i,
  input  logic [Width-1:0]     write_data_i,
  input  logic                 read_i,
  input  logic [QueueBits-1:0] read_index_i,
  output logic [Width-1:0]     read_data_o          // one cycle after read_i; stays until the next
);

  logic row_q, table_d, table_q;
  logic [QueueBits-1:0] row_index_q, table_index_q;

  assign table_d = table_clear_i || (table_q && row_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_q <= 1'b0;
      table_q <= 1'b0;
    end else begin
      row_q <= row_clear_i;
      table_q <= table_d;
    end
  end

  always_ff @(posedge clk_i) begin
    row_index_q <= row_clear_index_i;
    if (table_clear_i) table_index_q <= table_clear_index_i;
  end

  logic clear;
  assign clear = row_q || table_q;
  assign write_ready_o = !clear;

  vireo_table #(
    .Width(Width),
    .Depth(NumQueues)
  ) u_table (
    .clk_i,
    .rst_ni,
    .write_i(clear || write_i),
    .write_address_i(row_q ? row_index_q : table_q ? table_index_q : write_index_i),
    .write_data_i(clear ? '0 : write_data_i),
    .read_i,
    .read_address_i(read_index_i),
    .read_data_o
  );

endmodule
