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

  logic [Counters-1:0][31:0] counter_d, counter_q;
  logic [Counters-1:0][1:0] counts;
  logic [CounterBits-1:0] read;  // which is read
  logic changes;                 // any of them
  logic [32:0] count;

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

    changes = counts != '0 || is_counter_o;
    counter_d = '0;
    count = '0;
    if (changes) for (int unsigned i = 0; i < Counters; i++) begin
      count = 33'(counts[i]);
      if (!(is_counter_o && read == CounterBits'(i))) count = count + {1'b0, counter_q[i]};
      counter_d[i] = count[32] ? '1 : count[31:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      counter_q <= '0;
    end else if (changes) begin
      counter_q <= counter_d;
    end
  end
  assign counter_o = counter_q[read];

endmodule
