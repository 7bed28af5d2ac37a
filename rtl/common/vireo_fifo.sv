// SPDX-License-Identifier: Apache-2.0

// A queue of Depth entries in a RAM whose read register is the output. What is pushed in cycle t is visible in cycle
// t+2 at the earliest; then one entry leaves per cycle. Room made by a pop shows one cycle later, so that nothing
// combinational leads from one side to the other.
//
// A short one in LUTs needs no register at the output: the entry stays where it is until another one is at the output.
module vireo_fifo #(
  parameter int unsigned Width,
  parameter int unsigned Depth,  // entries, the output included; a power of two, 4 or more
  // A queue of at most 16 entries is read without a register: Width flip-flops less, and less time for what is behind it.
  parameter bit InLuts = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             s_valid_i,
  output logic             s_ready_o,
  input  logic [Width-1:0] s_data_i,
  output logic             m_valid_o,
  input  logic             m_ready_i,
  output logic [Width-1:0] m_data_o
);

  if (Depth < 4 || (Depth & (Depth - 1)) != 0) $fatal(1, "Depth is not a power of two, 4 or more");

  localparam int unsigned AddressBits = $clog2(Depth);

  logic [AddressBits-1:0] write_address_q, read_address_q;
  logic [AddressBits:0] stored_q;  // entries in the RAM that are not in the output yet
  logic [AddressBits:0] held_q;    // all entries
  logic valid_q;
  logic push, read;

  always_comb begin
    push = s_valid_i && s_ready_o;
    read = stored_q != '0 && (!valid_q || m_ready_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_address_q <= '0;
      read_address_q <= '0;
      stored_q <= '0;
      held_q <= '0;
      valid_q <= 1'b0;
    end else if (s_valid_i || held_q != '0) begin  // else it stays empty, and simulation passes it by
      if (push) write_address_q <= write_address_q + 1'b1;
      if (read) read_address_q <= read_address_q + 1'b1;
      stored_q <= stored_q + (AddressBits + 1)'(push) - (AddressBits + 1)'(read);
      held_q <= held_q + (AddressBits + 1)'(push) - (AddressBits + 1)'(valid_q && m_ready_i);
      valid_q <= read || (valid_q && !m_ready_i);
    end
  end

  if (InLuts && Depth <= 16) begin : gen_luts
    // Not written while it is shown: the entry that would be is Depth behind it.
    logic [AddressBits-1:0] shown_address_q;
    logic [Width-1:0] memory [Depth];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) shown_address_q <= '0;
      else if (read) shown_address_q <= read_address_q;
    end

    always_ff @(posedge clk_i) begin
      if (push) memory[write_address_q] <= s_data_i;
    end

    assign m_data_o = memory[shown_address_q];
  end else begin : gen_register
    vireo_ram_1r1w #(
      .Width(Width),
      .Depth(Depth)
    ) u_ram (
      .clk_i,
      .write_i(push),
      .write_address_i(write_address_q),
      .write_data_i(s_data_i),
      .read_i(read),
      .read_address_i(read_address_q),
      .read_data_o(m_data_o)
    );
  end

  assign s_ready_o = held_q != (AddressBits + 1)'(Depth);
  assign m_valid_o = valid_q;

endmodule
