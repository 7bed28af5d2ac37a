// SPDX-License-Identifier: Apache-2.0

// Elements of a completion, of vireo_cq_writer: makes an rdma_cq_base with the elements of its CQ from an rdma_cq_req, which
// is 0 where they are. The timestamp is that of the cycle in which the CQE goes to the output stage: CQEs of a CQ are
// written in order and take several cycles each, so each is later than the one before. A CQ without elements has its
// CQEs as they are. It has no state, and does not know which CQ it is.
module vireo_cqe_elements
  import vireo_spec_pkg::*;
  import vireo_cq_pkg::*;
#(
  parameter config_t Config
) (
  input  logic [8*RdmaCqReqBytes-1:0] cqe_i,
  input  logic [CqElements-1:0]       elements_i,  // none: cqe_o is cqe_i
  input  logic [63:0]                 time_ns_i,
  output logic [8*RdmaCqReqBytes-1:0] cqe_o
);

  always_comb begin
    cqe_o = cqe_i;
    if (Config.cqe_elements != 0 && elements_i != '0) begin
      cqe_o[8*RdmaCqBaseVersionOffset +: 8] = RdmaCqVersion;
      cqe_o[8*RdmaCqBaseBaseBytesOffset +: 8] = 8'(RdmaCqBaseBytes);
      cqe_o[8*RdmaCqBaseElementsOffset +: 32] = 32'(elements_i);
      cqe_o[8*RdmaCqBaseBytes +: 8*RdmaCqTimestampBytes] = time_ns_i;
    end
  end

endmodule
