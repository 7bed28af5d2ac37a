// SPDX-License-Identifier: Apache-2.0

// What the blocks of rtl/dma share: the AXI4 they speak, and how a request is cut into bursts. model/dma/dma.h mirrors
// it. A block uses only some of these.
/* verilator lint_off UNUSEDPARAM */
package vireo_dma_pkg;
  import vireo_spec_pkg::*;

  // Answer of an AXI4 read beat or write burst. [AMBA AXI, A3.4.4]
  typedef enum logic [1:0] {
    AxiRespOkay   = 2'd0,
    AxiRespExokay = 2'd1,  // only for exclusive accesses, which Vireo never makes: an error here
    AxiRespSlverr = 2'd2,
    AxiRespDecerr = 2'd3
  } axi_resp_e;

  // Ascending addresses. [AMBA AXI, A3.4.1]
  localparam logic [1:0] AxiBurstIncr = 2'd1;

  // Longest INCR burst. [AMBA AXI, A3.4.1]
  localparam int unsigned AxiBurstBeatsMax = 256;

  // No burst crosses a multiple of its limit, which is a power of two of at most 4 KiB. So no burst exceeds the limit
  // or crosses a 4 KiB boundary, and all but the first burst of a request begin in lane 0.
  localparam int unsigned BurstBytesMax = 32'(PcieRequestBoundary);
  localparam int unsigned BurstBytesBits = $clog2(BurstBytesMax + 1);

  // Depth of the queues at the end of the shift pipelines: the way of a credit around them is 5 cycles.
  localparam int unsigned StreamDepth = 8;

  // How a run of bytes becomes a train that begins in lane 0, one step per beat of memory: see vireo_dma_align.
  typedef struct packed {
    logic lag;               // needs the beat after for each of its beats
    logic dummy;             // and there is none for the last one
    logic [31:0] last_step;  // its number, from 0
  } align_t;

  function automatic align_t align_of(input logic [31:0] lane, input logic [31:0] bytes, input int unsigned lane_bits);
    logic [31:0] memory_beats, train_beats, round;
    round = (32'd1 << lane_bits) - 32'd1;
    train_beats = (bytes + round) >> lane_bits;
    memory_beats = (bytes + lane + round) >> lane_bits;
    align_of.lag = lane != '0 && memory_beats != 32'd1;
    align_of.dummy = align_of.lag && memory_beats == train_beats;
    align_of.last_step = train_beats - 32'(!align_of.lag);
  endfunction

  // Address bits that vary within a burst of that size: 128 bytes << size - 1, and not more than beats allow. Reserved
  // codes count as the smallest size.
  function automatic logic [BurstBytesBits-2:0] burst_mask(input pcie_size_e size, input int unsigned beat_bytes);
    logic [BurstBytesBits-2:0] limit = (BurstBytesBits - 1)'(AxiBurstBeatsMax * beat_bytes - 1);
    if (AxiBurstBeatsMax * beat_bytes > BurstBytesMax) limit = '1;
    unique case (size)
      PcieSizeBytes256:  burst_mask = (BurstBytesBits - 1)'(255);
      PcieSizeBytes512:  burst_mask = (BurstBytesBits - 1)'(511);
      PcieSizeBytes1024: burst_mask = (BurstBytesBits - 1)'(1023);
      PcieSizeBytes2048: burst_mask = (BurstBytesBits - 1)'(2047);
      PcieSizeBytes4096: burst_mask = (BurstBytesBits - 1)'(4095);
      default:           burst_mask = (BurstBytesBits - 1)'(32'(PcieSizeUnit) - 1);
    endcase
    return burst_mask & limit;
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
