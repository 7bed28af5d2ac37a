// SPDX-License-Identifier: Apache-2.0

// The counters of the management registers: rx_verdict_count, then tx_frames to net_tx_drops. Each saturates, and is 0
// after it was read; what is counted in the cycle of the read is not lost.
module vireo_csr_counters
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  // A read of a register.
  input  logic        read_i,
  input  logic [11:0] address_i,
  output logic        is_counter_o,  // in the same cycle
  output logic [31:0] counter_o,

  input  logic        rx_verdict_valid_i,
  input  logic [3:0]  rx_verdict_i,
  input  logic        tx_frame_i,
  input  logic        rx_drop_i,
  input  logic        retransmission_i,
  input  logic [DmaDirections-1:0] dma_error_i,  // of each source
  input  logic        window_violation_i,
  input  logic        net_rx_filtered_i,
  input  logic [NetRxDrops-1:0] net_rx_drop_i,
  input  logic [NetTxDrops-1:0] net_tx_drop_i
);

  localparam int unsigned Verdicts = 16;
  localparam int unsigned Counters = Verdicts + 8;
  localparam int unsigned CounterBits = $clog2(Counters);

  // Word of a register array at `first`.
  function automatic logic is_in(input logic [11:0] address, input logic [11:0] first, input int unsigned words);
    return address >= first && 32'(address) < 32'(first) + 4 * words;
  endfunction

  // A counter is a sum in a memory and what came since, in a few flip-flops: 24 counters of 32 bits in flip-flops, each with
  // an adder, were half of the register block. What came is moved to the sums, one counter per cycle, so it is at most
  // two for each cycle of a round.
  localparam int unsigned NewBits = $clog2(2 * Counters + 1);

  logic [31:0] sum [Counters];
  logic [Counters-1:0] summed_q;                  // the memory has its sum; else that is 0
  logic [Counters-1:0][NewBits-1:0] new_d, new_q;  // what came since
  logic [Counters-1:0][1:0] counts;
  logic [CounterBits-1:0] read;     // which is read
  logic [CounterBits-1:0] moved_q;  // which is moved
  logic moves;                      // there is something to move
  logic moved_is_read;

  function automatic logic [31:0] saturated(input logic [31:0] old, input logic is_old, input logic [NewBits-1:0] more);
    logic [32:0] total;
    total = {1'b0, is_old ? old : 32'd0} + 33'(more);
    return total[32] ? '1 : total[31:0];
  endfunction

  always_comb begin
    counts = '0;
    if (rx_verdict_valid_i) counts[CounterBits'(rx_verdict_i)] = 2'd1;
    counts[Verdicts] = 2'(tx_frame_i);
    counts[Verdicts+1] = 2'(rx_drop_i);
    counts[Verdicts+2] = 2'(retransmission_i);
    counts[Verdicts+3] = 2'(dma_error_i[DmaDirectionRead]) + 2'(dma_error_i[DmaDirectionWrite]);
    counts[Verdicts+4] = 2'(window_violation_i);
    counts[Verdicts+5] = 2'(net_rx_filtered_i);
    counts[Verdicts+6] = 2'(net_rx_drop_i[NetRxDropFilter]) + 2'(net_rx_drop_i[NetRxDropRx]);
    counts[Verdicts+7] = 2'(net_tx_drop_i[NetTxDropChecksum]) + 2'(net_tx_drop_i[NetTxDropTx]);

    is_counter_o = 1'b0;
    read = '0;
    if (!read_i) begin
      is_counter_o = 1'b0;
    end else if (is_in(address_i, MgmtRxVerdictCountRegister, Verdicts)) begin
      is_counter_o = 1'b1;
      read = CounterBits'(address_i[5:2]);
    end else if (is_in(address_i, MgmtTxFramesRegister, Counters - Verdicts)) begin
      is_counter_o = 1'b1;
      read = CounterBits'(Verdicts) + CounterBits'(address_i[5:2]);
    end

    moves = new_q != '0;
    moved_is_read = is_counter_o && read == moved_q;
    for (int unsigned i = 0; i < Counters; i++) begin
      new_d[i] = NewBits'(counts[i]);
      if (moved_q != CounterBits'(i) && !(is_counter_o && read == CounterBits'(i))) new_d[i] += new_q[i];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      new_q <= '0;
      summed_q <= '0;
      moved_q <= '0;
    end else if (moves || is_counter_o || counts != '0) begin  // else nothing changes, and simulation passes it by
      new_q <= new_d;
      summed_q[moved_q] <= 1'b1;
      if (is_counter_o) summed_q[read] <= 1'b0;
      moved_q <= moved_q == CounterBits'(Counters - 1) ? '0 : moved_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!moved_is_read && (moves || is_counter_o || counts != '0)) begin
      sum[moved_q] <= saturated(sum[moved_q], summed_q[moved_q], new_q[moved_q]);
    end
  end
  assign counter_o = is_counter_o ? saturated(sum[read], summed_q[read], new_q[read]) : '0;

`ifndef SYNTHESIS
  for (genvar i = 0; i < Counters; i++) begin : gen_room
    has_room: assert property (@(posedge clk_i) disable iff (!rst_ni)
      new_q[i] <= NewBits'(2 * Counters));
  end
`endif

endmodule
