// SPDX-License-Identifier: Apache-2.0

// The output of vireo_dma_split to its slice: bursts that PCIe and AXI4 allow, and that make up the request, byte for
// byte. Requests have 1 byte or more; addresses are all of 64 bits and may wrap. The limit of a request is the one
// pushed with it (`limit_is_meant`), whatever it is later.
module vireo_dma_split_proof
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter int unsigned DataBits = 64,
  parameter int unsigned BytesBits = 13
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input pcie_size_e           max_size_i,
  input logic                 request_valid_i,
  input logic [63:0]          request_address_i,
  input logic [BytesBits-1:0] request_bytes_i,
  input logic                 burst_ready_i
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned MaskBits = BurstBytesBits - 1;
  localparam int unsigned RequestBits = MaskBits + 64 + BytesBits + 1;

  vireo_formal_reset u_reset (.clk_i, .rst_ni);
  vireo_dma_split #(.DataBits(DataBits), .BytesBits(BytesBits), .MetaBits(1)) dut (
    .clk_i, .rst_ni, .max_size_i, .request_valid_i, .request_ready_o(), .request_address_i, .request_bytes_i,
    .request_meta_i(1'b0), .burst_valid_o(), .burst_ready_i, .burst_address_o(), .burst_bytes_o(), .burst_beats_o(),
    .burst_first_o(), .burst_last_o(), .request_lane_o(), .request_bytes_o(), .request_meta_o()
  );

  // The limit by definition: 128 bytes << code [PCIe, 7.5.3.4], reserved codes the minimum, and 256 beats at most.
  function automatic logic [31:0] limit_of(input logic [2:0] code);
    logic [31:0] limit = code <= 3'd5 ? 32'd128 << code : 32'd128;
    return limit < 32'(256 * BeatBytes) ? limit : 32'(256 * BeatBytes);
  endfunction

  function automatic logic legal(input logic [RequestBits-1:0] request);
    logic [31:0] limit = 32'(request[RequestBits-1 -: MaskBits]) + 32'd1;
    return (limit == 128 || limit == 256 || limit == 512 || limit == 1024 || limit == 2048 || limit == 4096)
        && limit <= 32'(256 * BeatBytes) && request[1 +: BytesBits] != '0;
  endfunction

  logic [BytesBits-1:0] done_q;  // bytes of the request already cut
  logic [31:0] bytes, limit;
  logic there;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= '0;
    else if (dut.request_valid && dut.space) done_q <= dut.last ? '0 : done_q + BytesBits'(dut.bytes);
  end

  always_comb begin
    bytes = 32'(dut.bytes);
    limit = 32'(dut.mask) + 32'd1;
    there = rst_ni && dut.request_valid;
    not_empty: assume (request_bytes_i != '0);
    limit_is_meant: assert (32'(dut.u_request.s_data_i[RequestBits-1 -: MaskBits]) + 32'd1 == limit_of(max_size_i));
    some_bytes: assert (!there || bytes != 0);
    within_limit: assert (!there || (32'(dut.address) & 32'(dut.mask)) + bytes <= limit);
    within_4k: assert (!there || 32'(dut.address[11:0]) + bytes <= 4096);
    adjacent: assert (!there || dut.address == dut.request_address + 64'(done_q));
    makes_up: assert (!there || (dut.last ? 32'(done_q) + bytes == 32'(dut.request_bytes)
                                          : 32'(done_q) + bytes < 32'(dut.request_bytes)));
    beats: assert (!there || (32'(dut.beats) == (32'(dut.address[11:0]) + bytes - 1) / BeatBytes
                              - 32'(dut.address[11:0]) / BeatBytes + 1 && dut.beats <= 9'd256));
    from_lane_0: assert (!there || dut.first_q || (dut.address & 64'(dut.mask)) == '0);
    inv_first: assert (!rst_ni || dut.first_q == (done_q == '0));
    inv_left: assert (!rst_ni || dut.first_q || (dut.request_valid && dut.bytes_left_q == dut.request_bytes - done_q
                                                 && dut.bytes_left_q != '0 && done_q < dut.request_bytes));
    inv_request: assert (!rst_ni || ((!dut.u_request.valid0_q || legal(dut.u_request.data0_q))
                                     && (!dut.u_request.valid1_q || (dut.u_request.valid0_q && legal(dut.u_request.data1_q)))));
  end

endmodule
