// SPDX-License-Identifier: Apache-2.0

// Converts runs of bytes at any offset in a memory of beats to trains of beats that begin in lane 0. One step per beat
// of memory; runs follow each other without a gap. The latency from a step to the beat that it produces is fixed,
// and a step that produces one is made only when there is room for it at the end. It has no addresses: read_o is of the
// run's next beat, whichever that is.
module vireo_dma_align
  import vireo_dma_pkg::*;
#(
  parameter int unsigned DataBits,  // 64 ... 1024, a power of two
  parameter int unsigned StepBits,  // enough for the number of a run's last step
  parameter int unsigned MetaBits,
  localparam int unsigned LaneBits = $clog2(DataBits / 8)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // The current run stays until it is taken, with its last step.
  input  logic                 run_valid_i,
  output logic                 run_ready_o,
  input  logic                 run_lag_i,        // these three as align_of returns them
  input  logic                 run_dummy_i,
  input  logic [StepBits-1:0]  run_last_step_i,
  input  logic [LaneBits-1:0]  run_lane_i,       // of the first byte in memory
  input  logic [LaneBits-1:0]  run_end_lane_i,   // of the last byte in the train
  input  logic [MetaBits-1:0]  run_meta_i,       // the client's; stays for the whole train

  output logic                 read_o,           // in the cycle of the step: follows run_valid_i without a register
  input  logic [DataBits-1:0]  data_i,           // one cycle after read_o

  output logic                 train_valid_o,
  input  logic                 train_ready_i,
  output logic [DataBits-1:0]  train_data_o,     // zero behind the last byte
  output logic                 train_last_o,
  output logic [MetaBits-1:0]  train_meta_o
);

  if (DataBits < 64 || DataBits > 1024 || (DataBits & (DataBits - 1)) != 0) begin : gen_bad_data_bits
    $fatal(1, "DataBits is not a power of two from 64 to 1024");
  end

  localparam int unsigned BeatBytes = DataBits / 8;

  typedef struct packed {
    logic produces;  // a beat of the train
    logic last;
    logic lag;
    logic [LaneBits-1:0] lane;
    logic [LaneBits-1:0] end_lane;
    logic [MetaBits-1:0] meta;
  } step_t;

  logic [StepBits-1:0] step_d, step_q;
  logic [$clog2(StreamDepth):0] pending_d, pending_q;  // beats that have been requested and not been taken
  logic last_step, produces, advance;
  step_t step0;

  always_comb begin
    last_step = step_q == run_last_step_i;
    produces = !(run_lag_i && step_q == '0);
    advance = run_valid_i && (!produces || pending_q != ($clog2(StreamDepth) + 1)'(StreamDepth));
    read_o = advance && !(last_step && run_dummy_i);
    run_ready_o = advance && last_step;
    step_d = step_q;
    if (advance) step_d = last_step ? '0 : step_q + 1'b1;
    pending_d = pending_q + ($clog2(StreamDepth) + 1)'(advance && produces)
              - ($clog2(StreamDepth) + 1)'(train_valid_o && train_ready_i);
    step0 = '0;
    if (run_valid_i) begin
      step0 = '{produces: produces, last: last_step, lag: run_lag_i, lane: run_lane_i, end_lane: run_end_lane_i,
                meta: run_meta_i};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= '0;
      pending_q <= '0;
    end else begin
      step_q <= step_d;
      pending_q <= pending_d;
    end
  end

  // The first byte moves to lane 0 in two stages: each beat is rotated, then joined with the one after.
  logic step1_valid_q, step2_valid_q;
  step_t step1_q, step2_q;
  logic [DataBits-1:0] rotated_q, rotated_before_q;
  logic [DataBits-1:0] joined;

  always_comb begin
    joined = rotated_q;
    if (step2_valid_q && step2_q.lag) begin
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        if ((LaneBits + 1)'(i) + (LaneBits + 1)'(step2_q.lane) < (LaneBits + 1)'(BeatBytes)) begin
          joined[8*i +: 8] = rotated_before_q[8*i +: 8];
        end
      end
    end
    if (step2_valid_q && step2_q.last) begin
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        if (LaneBits'(i) > step2_q.end_lane) joined[8*i +: 8] = '0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step1_valid_q <= 1'b0;
      step2_valid_q <= 1'b0;
    end else begin
      step1_valid_q <= advance;
      step2_valid_q <= step1_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) step1_q <= step0;
    if (step1_valid_q) step2_q <= step1_q;
    if (step1_valid_q) begin
      rotated_q <= DataBits'({data_i, data_i} >> {step1_q.lane, 3'b000});
      rotated_before_q <= rotated_q;
    end
  end

  // Never full (train_not_full): pending_q counts its room.
  logic train_space;

  vireo_fifo #(
    .Width(DataBits + 1 + MetaBits),
    .Depth(StreamDepth),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_train (
    .clk_i,
    .rst_ni,
    .s_valid_i(step2_valid_q && step2_q.produces),
    .s_ready_o(train_space),
    .s_data_i({step2_q.last, step2_q.meta, joined}),
    .m_valid_o(train_valid_o),
    .m_ready_i(train_ready_i),
    .m_data_o({train_last_o, train_meta_o, train_data_o})
  );

`ifndef SYNTHESIS
  train_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni)
    step2_valid_q && step2_q.produces |-> train_space);
`endif

endmodule
