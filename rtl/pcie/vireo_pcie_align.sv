// SPDX-License-Identifier: Apache-2.0

// Shifts the double words of a packet upwards by a number of lanes, from beat to beat. One beat per cycle; a packet
// whose last double words are shifted out of its last beat takes one more. With `skip` nothing of the first beat stays
// in it, and it makes no beat of its own.
module vireo_pcie_align #(
  parameter int unsigned DataBits,  // 64, 128, 256 or 512
  localparam int unsigned LaneBits = $clog2(DataBits / 32)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                s_valid_i,
  output logic                s_ready_o,
  input  logic [DataBits-1:0] s_data_i,
  input  logic                s_last_i,
  input  logic [LaneBits-1:0] s_end_i,    // lane of the last double word, with `last`
  input  logic [LaneBits-1:0] s_shift_i,  // the same in all beats of a packet
  input  logic                s_skip_i,   // valid in the first beat
  input  logic                s_mark_i,   // with `last`; comes out with it
  output logic                m_valid_o,
  input  logic                m_ready_i,
  output logic [DataBits-1:0] m_data_o,
  output logic                m_last_o,
  output logic [LaneBits-1:0] m_end_o,
  output logic                m_mark_o
);

  localparam int unsigned Lanes = DataBits / 32;

  logic [Lanes-1:0][31:0] data, rotated, carry_q, joined;
  logic first_q, flush_q, mark_q;
  logic [LaneBits-1:0] flush_end_q;
  logic [LaneBits:0] end_shifted;
  logic overflows, take, emit, emit_last, emit_mark, room;
  logic [LaneBits-1:0] from, emit_end;

  always_comb begin
    data = s_data_i;
    end_shifted = {1'b0, s_end_i} + {1'b0, s_shift_i};
    overflows = end_shifted[LaneBits];
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      from = LaneBits'(lane) - s_shift_i;
      rotated[lane] = data[from];
      joined[lane] = LaneBits'(lane) >= s_shift_i && !flush_q ? rotated[lane] : carry_q[lane];
    end
    s_ready_o = room && !flush_q;
    take = s_valid_i && s_ready_o;
    emit = flush_q || (s_valid_i && !(first_q && s_skip_i));
    emit_last = flush_q || (s_last_i && !overflows);
    emit_end = flush_q ? flush_end_q : end_shifted[LaneBits-1:0];
    emit_mark = flush_q ? mark_q : s_mark_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
      flush_q <= 1'b0;
    end else begin
      if (take) first_q <= s_last_i;
      if (take) flush_q <= s_last_i && overflows;
      else if (room) flush_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      carry_q <= rotated;
      flush_end_q <= end_shifted[LaneBits-1:0];
      mark_q <= s_mark_i;
    end
  end

  vireo_slice #(.Width(DataBits + 2 + LaneBits)) u_output (
    .clk_i,
    .rst_ni,
    .s_valid_i(emit),
    .s_ready_o(room),
    .s_data_i({emit_mark, emit_end, emit_last, joined}),
    .m_valid_o,
    .m_ready_i,
    .m_data_o({m_mark_o, m_end_o, m_last_o, m_data_o})
  );

endmodule
