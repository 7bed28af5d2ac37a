// SPDX-License-Identifier: Apache-2.0

// Beside a queue of packets: which of them are of a queue pair that was stopped or flushed since they came. A stop marks all
// of its packets at once, a flush its requests, so that they are dropped where they leave, however long they wait and
// whatever their queue pair is by then. It has the queue's pushes and pops, and no token.
module vireo_stop_marks #(
  parameter int unsigned Depth,  // of the queue or more; a power of two, 2 or more
  parameter int unsigned QpBits  // that are compared
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              push_i,
  input  logic [QpBits-1:0] push_qpn_i,
  input  logic              push_response_i,  // only a stop marks it
  input  logic              pop_i,
  input  logic              stopped_valid_i,  // pulse
  input  logic              stopped_all_i,    // a stop, else a flush
  input  logic [QpBits-1:0] stopped_qpn_i,
  output logic              marked_o          // the oldest one is
);

  localparam int unsigned PlaceBits = $clog2(Depth);

  if (Depth < 2 || 32'd1 << PlaceBits != Depth) $fatal(1, "Depth is not a power of two");

  logic [PlaceBits-1:0] in_q, out_q;
  logic [Depth-1:0][QpBits-1:0] qpn_q;  // all are compared at once, so it is no memory
  logic [Depth-1:0] response_q, marked_d, marked_q;

  // Places without a packet may be marked, too.
  always_comb begin
    marked_d = marked_q;
    if (stopped_valid_i) begin
      for (int unsigned i = 0; i < Depth; i++) begin
        marked_d[i] = marked_q[i] || (qpn_q[i] == stopped_qpn_i && (stopped_all_i || !response_q[i]));
      end
    end
    if (push_i) begin
      marked_d[in_q] = stopped_valid_i && push_qpn_i == stopped_qpn_i && (stopped_all_i || !push_response_i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_q <= '0;
      out_q <= '0;
      marked_q <= '0;
    end else begin
      if (push_i) in_q <= in_q + 1'b1;
      if (pop_i) out_q <= out_q + 1'b1;
      marked_q <= marked_d;
    end
  end

  always_ff @(posedge clk_i) if (push_i) begin
    qpn_q[in_q] <= push_qpn_i;
    response_q[in_q] <= push_response_i;
  end

  assign marked_o = marked_q[out_q];

endmodule
