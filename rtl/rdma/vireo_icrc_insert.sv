// SPDX-License-Identifier: Apache-2.0

// Computes the invariant CRC of every RoCEv2 frame that passes and writes it into the four bytes after its pad. The
// frame comes with a hole there, and with its shape and the hole's place beside it, so that no header is looked at. The
// beats of a frame come in consecutive cycles. It never stalls; everything comes out IcrcInsertLatency cycles later.
//
// Frames are laid out in words of four bytes of which the first begins two bytes before the frame: word w is the bytes
// 4w - 2 to 4w + 1. Every header, padded payload and ICRC of RoCEv2 is a whole number of words then, so that a frame
// can end at only BeatBytes/4 places of a beat.
//
// CRC is linear. As in vireo_icrc, bytes before the IP header are zero, and the state after the all-ones prefix is a
// constant XORed into the first four IP bytes. The bytes after the pad are zero in the stream: 4n + 2 of them in the
// beat with the last covered byte. Those two are taken back by the matrix of the beat, which is multiplied by x^-16,
// and the 4n by one constant matrix for each bit of n.
module vireo_icrc_insert
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter int unsigned DataBits = 512,  // 64 ... 1024, a power of two
  localparam int unsigned BeatBytes = DataBits / 8,
  localparam int unsigned WordBits = $clog2(BeatBytes / 4),
  localparam int unsigned IndexBits = 11 - WordBits
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 valid_i,
  input  logic [DataBits-1:0]  data_i,         // byte k of the beat in [8k +: 8]; zero from the ICRC on
  input  logic [BeatBytes-1:0] keep_i,
  input  logic                 last_i,
  input  logic [IndexBits-1:0] index_i,        // of the beat in its frame
  input  logic                 vlan_i,
  input  logic                 ip6_i,
  input  logic                 end_i,          // the beat with the last covered byte and the first half of the ICRC
  input  logic [WordBits-1:0]  icrc_word_i,    // the second half is bytes 4w and 4w + 1 of the last beat

  output logic                 m_axis_tvalid_o,
  output logic [DataBits-1:0]  m_axis_tdata_o,
  output logic [BeatBytes-1:0] m_axis_tkeep_o,
  output logic                 m_axis_tlast_o
);

  localparam int unsigned Words = BeatBytes / 4;
  localparam int unsigned HeaderBeats = (IcrcHeaderBytes + BeatBytes - 1) / BeatBytes;
  // Trailing zeros are taken back in two cycles, so many bits of their number in the first.
  localparam int unsigned EarlyBits = (WordBits + 1) / 2;

  typedef logic [HeaderBeats*DataBits-1:0] header_t;
  typedef logic [31:0][DataBits-1:0] matrix_t;
  typedef logic [31:0][31:0] state_matrix_t;

  // Row b: the data bits whose XOR is bit b of the state after one beat, from a zero state, times x^-16.
  function automatic matrix_t crc_matrix();
    logic [31:0] column = icrc_unshift(32'h1, 16);
    for (int unsigned i = 0; i < DataBits; i++) begin
      column = icrc_shift(column, 1);
      for (int unsigned b = 0; b < 32; b++) crc_matrix[b][DataBits-1-i] = column[b];
    end
  endfunction

  // Row b: the state bits whose XOR is bit b of the state after one beat of zeros.
  function automatic state_matrix_t beat_matrix();
    for (int unsigned i = 0; i < 32; i++) begin
      logic [31:0] column = icrc_shift(32'h1 << i, DataBits);
      for (int unsigned b = 0; b < 32; b++) beat_matrix[b][i] = column[b];
    end
  endfunction

  // Matrix k, row b: the state bits whose XOR is bit b of the state before 2^k words of zeros.
  function automatic state_matrix_t [WordBits-1:0] back_matrices();
    for (int unsigned k = 0; k < WordBits; k++) begin
      for (int unsigned i = 0; i < 32; i++) begin
        logic [31:0] column = icrc_unshift(32'h1 << i, 32 << k);
        for (int unsigned b = 0; b < 32; b++) back_matrices[k][b][i] = column[b];
      end
    end
  endfunction

  function automatic logic [31:0] multiply(input state_matrix_t matrix, input logic [31:0] state);
    for (int unsigned b = 0; b < 32; b++) multiply[b] = ^(state & matrix[b]);
  endfunction

  // By {vlan, ip6}.
  localparam header_t [3:0] Forced =
      {header_t'(icrc_forced_bits(1, 1)), header_t'(icrc_forced_bits(1, 0)),
       header_t'(icrc_forced_bits(0, 1)), header_t'(icrc_forced_bits(0, 0))};
  localparam header_t [3:0] Values =
      {header_t'(icrc_forced_values(1, 1)), header_t'(icrc_forced_values(1, 0)),
       header_t'(icrc_forced_values(0, 1)), header_t'(icrc_forced_values(0, 0))};
  localparam matrix_t Matrix = crc_matrix();
  localparam state_matrix_t BeatMatrix = beat_matrix();
  localparam state_matrix_t [WordBits-1:0] BackMatrices = back_matrices();

  // Beats wait for their ICRC.
  typedef struct packed {
    logic                 last;
    logic                 at_end;
    logic [WordBits-1:0]  icrc_word;
    logic [BeatBytes-1:0] keep;
    logic [DataBits-1:0]  data;
  } beat_t;

  logic [IcrcInsertLatency-1:1] valid_q;
  beat_t [IcrcInsertLatency-1:1] beat_q;  // [k]: after stage k

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[IcrcInsertLatency-2:1], valid_i};
  end

  always_ff @(posedge clk_i) begin
    beat_q <= {beat_q[IcrcInsertLatency-2:1],
               beat_t'{last: last_i, at_end: end_i, icrc_word: icrc_word_i, keep: keep_i, data: data_i}};
  end

  // Stage 1: the beat as the CRC sees it.
  logic [DataBits-1:0] crc_data1_d, crc_data1_q;
  logic first1_q;

  always_comb begin
    crc_data1_d = data_i;
    for (int unsigned i = 0; i < HeaderBeats; i++) begin
      if (index_i == IndexBits'(i)) begin
        crc_data1_d = (data_i & ~Forced[{vlan_i, ip6_i}][DataBits*i +: DataBits])
                    ^ Values[{vlan_i, ip6_i}][DataBits*i +: DataBits];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    crc_data1_q <= crc_data1_d;
    first1_q <= index_i == '0;
  end

  // Stage 2: the beat's contribution to the state.
  logic [31:0] contribution2_d, contribution2_q;
  logic first2_q;

  always_comb begin
    for (int unsigned b = 0; b < 32; b++) contribution2_d[b] = ^(crc_data1_q & Matrix[b]);
  end

  always_ff @(posedge clk_i) begin
    contribution2_q <= contribution2_d;
    first2_q <= first1_q;
  end

  // Stage 3: the state, which is the only loop. What comes after the end does no harm: the state is looked at before,
  // and begins anew with each frame.
  logic [31:0] state3_d, state3_q;

  always_comb begin
    state3_d = contribution2_q;
    if (!first2_q) state3_d = state3_d ^ multiply(BeatMatrix, state3_q);
  end

  always_ff @(posedge clk_i) state3_q <= state3_d;

  // Stages 4 and 5: the state before the zero words that fill the beat, and the final inversion.
  logic [WordBits-1:0] zeros3, zeros4;  // words of zeros, but for the two bytes in Matrix
  logic [31:0] state4_d, state4_q;
  logic [31:0] state5_d, state5_q;

  always_comb begin
    zeros3 = -beat_q[3].icrc_word;
    state4_d = state3_q;
    for (int unsigned i = 0; i < EarlyBits; i++) begin
      if (zeros3[i]) state4_d = multiply(BackMatrices[i], state4_d);
    end
  end

  always_comb begin
    zeros4 = -beat_q[4].icrc_word;
    state5_d = state4_q;
    for (int unsigned i = EarlyBits; i < WordBits; i++) begin
      if (zeros4[i]) state5_d = multiply(BackMatrices[i], state5_d);
    end
  end

  always_ff @(posedge clk_i) begin
    state4_q <= state4_d;
    state5_q <= state5_d;
  end

  // Stage 6: the ICRC in its place. Its halves may lie in two beats.
  logic [31:0] icrc;  // least significant byte first
  logic [15:0] half_q;
  logic valid6_q;
  logic [DataBits-1:0] data6_d, data6_q;
  logic [BeatBytes-1:0] keep6_q;
  logic last6_q;

  always_comb begin
    icrc = ~state5_q;
    data6_d = beat_q[5].data;
    for (int unsigned w = 0; w < Words; w++) begin
      if (beat_q[5].last && beat_q[5].icrc_word == WordBits'(w)) begin
        data6_d[32*w +: 16] = w == 0 ? half_q : icrc[31:16];
      end
      if (beat_q[5].at_end && beat_q[5].icrc_word == WordBits'(w + 1)) data6_d[32*w + 16 +: 16] = icrc[15:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid6_q <= 1'b0;
    else valid6_q <= valid_q[5];
  end

  always_ff @(posedge clk_i) begin
    half_q <= icrc[31:16];
    data6_q <= data6_d;
    keep6_q <= beat_q[5].keep;
    last6_q <= beat_q[5].last;
  end

  assign m_axis_tvalid_o = valid6_q;
  assign m_axis_tdata_o = data6_q;
  assign m_axis_tkeep_o = keep6_q;
  assign m_axis_tlast_o = last6_q;

endmodule
