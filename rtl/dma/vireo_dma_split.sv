// SPDX-License-Identifier: Apache-2.0

// Cuts requests into AXI4 bursts of which none crosses a multiple of its size limit (vireo_dma_pkg), in order, one per
// cycle (on a data path of less than 64 bytes in every second one). It issues nothing and has no tags. A request is
// visible 1 cycle after its acceptance, its first burst 1 later; the limit is that of the cycle in which the request was
// accepted.
module vireo_dma_split
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_common_pkg::wide_slice;
#(
  parameter int unsigned DataBits,   // 64 ... 1024, a power of two
  parameter int unsigned BytesBits,  // of a request's length; 13 or more
  parameter int unsigned MetaBits,
  localparam int unsigned LaneBits = $clog2(DataBits / 8)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  pcie_size_e                     max_size_i,
  input  logic                           request_valid_i,
  output logic                           request_ready_o,
  input  logic [63:0]                    request_address_i,
  input  logic [BytesBits-1:0]           request_bytes_i,    // 1 or more
  input  logic [MetaBits-1:0]            request_meta_i,     // goes with every burst of the request
  output logic                           burst_valid_o,
  input  logic                           burst_ready_i,
  output logic [63:0]                    burst_address_o,
  output logic [BurstBytesBits-1:0]      burst_bytes_o,
  output logic [8:0]                     burst_beats_o,      // 1 ... 256
  output logic                           burst_first_o,      // of its request
  output logic                           burst_last_o,       // of its request
  output logic [LaneBits-1:0]            request_lane_o,     // where the request begins in its first beat
  output logic [BytesBits-1:0]           request_bytes_o,
  output logic [MetaBits-1:0]            request_meta_o
);

  if (DataBits < 64 || DataBits > 1024 || (DataBits & (DataBits - 1)) != 0) begin : gen_bad_data_bits
    $fatal(1, "DataBits is not a power of two from 64 to 1024");
  end

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned MaskBits = BurstBytesBits - 1;
  localparam int unsigned BurstWidth = 64 + BurstBytesBits + 9 + 2 + LaneBits + BytesBits + MetaBits;

  // The request.
  logic request_valid, request_ready;
  logic [63:0] request_address;
  logic [BytesBits-1:0] request_bytes;
  logic [MetaBits-1:0] request_meta;
  logic [MaskBits-1:0] mask;

  // What follows is zero while no request is there, so that simulation passes it by.
  logic [64+BytesBits+MetaBits-1:0] request_in;

  always_comb begin
    request_in = '0;
    if (request_valid_i || vireo_common_pkg::Synthesis) request_in = {request_address_i, request_bytes_i, request_meta_i};
  end

  vireo_slice #(
    .Width(MaskBits + 64 + BytesBits + MetaBits),
    .Depth(wide_slice(DataBits))
  ) u_request (
    .clk_i,
    .rst_ni,
    .s_valid_i(request_valid_i),
    .s_ready_o(request_ready_o),
    .s_data_i({burst_mask(max_size_i, BeatBytes), request_in}),
    .m_valid_o(request_valid),
    .m_ready_i(request_ready),
    .m_data_o({mask, request_address, request_bytes, request_meta})
  );

  // Its next burst.
  logic first_d, first_q;
  logic [63:0] next_address_d, next_address_q;        // of the burst after the one cut last
  logic [BytesBits-1:0] bytes_left_d, bytes_left_q;   // from there on
  logic [63:0] address;
  logic [BytesBits-1:0] bytes_left;
  logic [BurstBytesBits-1:0] bytes_to_limit, bytes;
  logic [8:0] beats;
  logic last;
  logic space;
  logic [BurstWidth-1:0] burst_in;

  always_comb begin
    address = '0;
    bytes_left = '0;
    bytes_to_limit = '0;
    last = 1'b0;
    bytes = '0;
    beats = '0;
    burst_in = '0;
    next_address_d = '0;
    bytes_left_d = '0;
    if (request_valid) begin
      address = first_q ? request_address : next_address_q;
      bytes_left = first_q ? request_bytes : bytes_left_q;

      bytes_to_limit = {1'b0, mask} + 1'b1 - {1'b0, address[MaskBits-1:0] & mask};
      last = bytes_left <= BytesBits'(bytes_to_limit);
      bytes = last ? bytes_left[BurstBytesBits-1:0] : bytes_to_limit;
      beats = 9'((BurstBytesBits'(address[LaneBits-1:0]) + bytes + BurstBytesBits'(BeatBytes - 1)) >> LaneBits);
      burst_in = {address, bytes, beats, first_q, last, request_address[LaneBits-1:0], request_bytes, request_meta};
      next_address_d = (address | 64'(mask)) + 1'b1;
      bytes_left_d = bytes_left - BytesBits'(bytes_to_limit);
    end

    request_ready = space && last;
    first_d = first_q;
    if (request_valid && space) first_d = last;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= 1'b1;
    else first_q <= first_d;
  end

  always_ff @(posedge clk_i) begin
    if (request_valid && space) begin
      next_address_q <= next_address_d;
      bytes_left_q <= bytes_left_d;
    end
  end

  vireo_slice #(
    .Width(BurstWidth),
    .Depth(wide_slice(DataBits))
  ) u_burst (
    .clk_i,
    .rst_ni,
    .s_valid_i(request_valid),
    .s_ready_o(space),
    .s_data_i(burst_in),
    .m_valid_o(burst_valid_o),
    .m_ready_i(burst_ready_i),
    .m_data_o({burst_address_o, burst_bytes_o, burst_beats_o, burst_first_o, burst_last_o, request_lane_o,
               request_bytes_o, request_meta_o})
  );

endmodule
