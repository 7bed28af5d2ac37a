// SPDX-License-Identifier: Apache-2.0

// Receiver of a serial line: 8 bits without parity, idle high. Each bit is sampled once, in its middle; a start bit that
// is over by then is ignored, and so is a byte without a stop bit. valid_o is a pulse in the middle of the stop bit.
module vireo_uart_receiver #(
  parameter int unsigned CyclesPerBit  // clock frequency by bit rate, 3 or more
) (
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       rx_i,     // at any time
  output logic       valid_o,
  output logic [7:0] data_o
);

  localparam int unsigned CycleBits = $clog2(CyclesPerBit);
  localparam logic [3:0] FrameBits = 4'd10;  // start, data, stop

  if (CyclesPerBit < 3) $fatal(1, "CyclesPerBit is less than 3");

  logic [1:0] rx_q;               // two registers in front of all logic
  logic [3:0] bits_q;             // still to be sampled; 0: idle
  logic [CycleBits-1:0] cycle_q;  // until the next sample
  logic [8:0] shift_q;

  assign data_o = shift_q[7:0];

  always_ff @(posedge clk_i) begin
    rx_q <= {rx_q[0], rx_i};
    valid_o <= 1'b0;
    if (bits_q == '0) begin
      cycle_q <= CycleBits'(CyclesPerBit / 2 - 1);
      if (!rx_q[1]) bits_q <= FrameBits;
    end else if (cycle_q != '0) begin
      cycle_q <= cycle_q - 1'b1;
    end else begin
      cycle_q <= CycleBits'(CyclesPerBit - 1);
      shift_q <= {rx_q[1], shift_q[8:1]};
      bits_q <= bits_q - 1'b1;
      if (bits_q == FrameBits && rx_q[1]) bits_q <= '0;
      if (bits_q == 4'd1) valid_o <= rx_q[1];
    end
    if (!rst_ni) begin
      rx_q <= '1;
      bits_q <= '0;
      valid_o <= 1'b0;
    end
  end

endmodule
