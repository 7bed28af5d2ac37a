// SPDX-License-Identifier: Apache-2.0

// Transmitter of the control processor's console: one byte at a time, 8 bits without parity, 1 stop bit, idle high. A
// byte that is accepted in cycle t starts its start bit in t + 1 and takes 10 * CyclesPerBit cycles; then the next one
// is accepted.
module vireo_console #(
  parameter int unsigned CyclesPerBit  // clock frequency by bit rate, 2 or more
) (
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       valid_i,
  output logic       ready_o,
  input  logic [7:0] data_i,

  output logic       tx_o
);

  localparam int unsigned CycleBits = $clog2(CyclesPerBit);
  localparam logic [3:0] FrameBits = 4'd10;  // start, data, stop

  if (CyclesPerBit < 2) $fatal(1, "CyclesPerBit is less than 2");

  logic [3:0] bits_q;                // still to be sent, the current one included
  logic [CycleBits-1:0] cycle_q;     // of the current bit
  logic [8:0] shift_q;               // the next bits, least significant first
  logic tx_q;
  logic bit_ends;

  assign bit_ends = cycle_q == CycleBits'(CyclesPerBit - 1);
  assign ready_o = bits_q == '0;
  assign tx_o = tx_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bits_q <= '0;
      cycle_q <= '0;
      shift_q <= '1;
      tx_q <= 1'b1;
    end else if (ready_o) begin
      if (valid_i) begin
        bits_q <= FrameBits;
        cycle_q <= '0;
        shift_q <= {1'b1, data_i};
        tx_q <= 1'b0;
      end
    end else if (bit_ends) begin
      bits_q <= bits_q - 1'b1;
      cycle_q <= '0;
      {shift_q, tx_q} <= {1'b1, shift_q};
    end else begin
      cycle_q <= cycle_q + 1'b1;
    end
  end

endmodule
