// SPDX-License-Identifier: Apache-2.0

// Computes the invariant CRC of every RoCEv2 frame that passes and writes it into the four bytes after its pad. A frame
// arrives with a hole there, its shape and the hole's place as side-band, so that no header is parsed. The
// beats of a frame come in consecutive cycles. It never stalls; the latency is IcrcInsertLatency cycles.
//
// Frames are laid out in words of four bytes of which the first starts two bytes before the frame: word w is the bytes
// 4w - 2 to 4w + 1. Every header, padded payload and ICRC of RoCEv2 is a whole number of words then, so that a frame
// can end at only BeatBytes/4 places of a beat.
//
// CRC is linear. As in vireo_icrc, bytes before the IP header are zero, and the state after the all-ones prefix is a
// constant XORed into the first four IP bytes. The bytes after the pad are zero in the stream: 4n + 2 of them in the
// beat with the last covered byte. The matrix of the beat, multiplied by x^-16, removes those two, and one constant
// matrix for each bit of n removes the 4n.
module vireo_icrc_insert
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,  // 64 ... 1024, a power of two
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
  // Trailing zeros are removed in two cycles, this many bits of their number in the first.
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
  beat_t [IcrcInsertLatency-1:1] beat_q;  // [k]: after stage k; without a beat it keeps its value

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[IcrcInsertLatency-2:1], valid_i};
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      beat_q[1] <= beat_t'{last: last_i, at_end: end_i, icrc_word: icrc_word_i, keep: keep_i, data: data_i};
    end
    for (int unsigned k = 2; k < IcrcInsertLatency; k++) begin
      if (valid_q[k-1]) beat_q[k] <= beat_q[k-1];
    end
  end

  // Stage 1: the beat as the CRC sees it.
  logic [DataBits-1:0] crc_data1_q;
  logic first1_q;

  function automatic logic [DataBits-1:0] crc_data(input logic [DataBits-1:0] data, input logic [IndexBits-1:0] index,
                                                   input logic [1:0] kind);
    crc_data = data;
    for (int unsigned i = 0; i < HeaderBeats; i++) begin
      if (index == IndexBits'(i)) begin
        crc_data = (data & ~Forced[kind][DataBits*i +: DataBits]) ^ Values[kind][DataBits*i +: DataBits];
      end
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      crc_data1_q <= crc_data(data_i, index_i, {vlan_i, ip6_i});
      first1_q <= index_i == '0;
    end
  end

  // Stage 2: the beat's contribution to the state.
  logic [31:0] contribution2_q;
  logic first2_q;

  function automatic logic [31:0] contribution(input logic [DataBits-1:0] data);
    for (int unsigned b = 0; b < 32; b++) contribution[b] = ^(data & Matrix[b]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (valid_q[1]) begin
      contribution2_q <= contribution(crc_data1_q);
      first2_q <= first1_q;
    end
  end

  // Stage 3: the state, which is the only loop. Data after the end is harmless: the state is sampled before,
  // and restarts with each frame.
  logic [31:0] state3_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[2]) state3_q <= contribution2_q ^ (first2_q ? '0 : multiply(BeatMatrix, state3_q));
  end

  // Stages 4 and 5: the state before the zero words that fill the beat, and the final inversion.
  logic [31:0] state4_q, state5_q;

  // Undoes the effect of trailing zero words on the CRC state; their number is in bits [from, to) of `zeros`.
  function automatic logic [31:0] undo_zeros(input logic [31:0] state, input logic [WordBits-1:0] zeros,
                                             input int unsigned from, input int unsigned to);
    undo_zeros = state;
    for (int unsigned i = 0; i < WordBits; i++) begin
      if (i >= from && i < to && zeros[i]) undo_zeros = multiply(BackMatrices[i], undo_zeros);
    end
  endfunction

  // Words of zeros, except the two bytes in Matrix: as many as there are from the ICRC's word to the beat's end.
  always_ff @(posedge clk_i) begin
    if (valid_q[3]) state4_q <= undo_zeros(state3_q, -beat_q[3].icrc_word, 0, EarlyBits);
    if (valid_q[4]) state5_q <= undo_zeros(state4_q, -beat_q[4].icrc_word, EarlyBits, WordBits);
  end

  // Stage 6: the ICRC in its place. Its halves may lie in two beats.
  logic [31:0] icrc;  // least significant byte first
  logic [15:0] half_q;
  logic valid6_q;
  logic [DataBits-1:0] data6_q;
  logic [BeatBytes-1:0] keep6_q;
  logic last6_q;

  assign icrc = ~state5_q;

  function automatic logic [DataBits-1:0] with_icrc(input logic [DataBits-1:0] data, input logic last,
                                                    input logic at_end, input logic [WordBits-1:0] icrc_word,
                                                    input logic [31:0] value, input logic [15:0] half);
    with_icrc = data;
    for (int unsigned w = 0; w < Words; w++) begin
      if (last && icrc_word == WordBits'(w)) with_icrc[32*w +: 16] = w == 0 ? half : value[31:16];
      if (at_end && icrc_word == WordBits'(w + 1)) with_icrc[32*w + 16 +: 16] = value[15:0];
    end
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid6_q <= 1'b0;
    else valid6_q <= valid_q[5];
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[5]) begin
      half_q <= icrc[31:16];
      data6_q <= with_icrc(beat_q[5].data, beat_q[5].last, beat_q[5].at_end, beat_q[5].icrc_word, icrc, half_q);
      keep6_q <= beat_q[5].keep;
      last6_q <= beat_q[5].last;
    end
  end

  assign m_axis_tvalid_o = valid6_q;
  assign m_axis_tdata_o = data6_q;
  assign m_axis_tkeep_o = keep6_q;
  assign m_axis_tlast_o = last6_q;

endmodule
