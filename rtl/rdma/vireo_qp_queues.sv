// SPDX-License-Identifier: Apache-2.0

// First index of the queue pairs' virtqueues of one direction: that of QP q is first_o + 2 q. It follows
// the net queue pairs that the driver has accepted, one cycle later.
module vireo_qp_queues
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  parameter logic [15:0] Offset,  // RdmaTransmitqOffset or RdmaReceiveqOffset
  localparam int unsigned NetQueuePairs = Config.net_queue_pairs,
  localparam int unsigned NumCqs = Config.num_cqs
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        mq_i,   // the driver has accepted net_feature.mq
  output logic [15:0] first_o
);

  // Without the feature, the other queues follow the first pair. [virtio 1.3, 5.1.2]
  localparam logic [15:0] FirstOne = 16'(2 * NetMqVqPairsMin + NumCqs) + Offset;
  localparam logic [15:0] FirstMany = 16'(2 * NetQueuePairs + NumCqs) + Offset;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_o <= FirstOne;
    else first_o <= mq_i ? FirstMany : FirstOne;
  end

endmodule
