// SPDX-License-Identifier: Apache-2.0

// Writes host memory. Splits requests into AXI4 write bursts and shifts their data from lane 0 to the lanes of their
// addresses. Trains of data arrive in the order of the requests. The first burst of a request is issued when its whole
// train has arrived, so that the bus never waits for data. Checks no addresses or rights and has no timeout.
//
// Bursts leave in the order of the requests and of their addresses, under one AXI ID: on PCIe they are posted writes,
// which do not overtake each other, so no later write is visible without the earlier ones. A request with
// after_all_b waits in addition until every burst before it has been answered, for hosts that do reorder.
module vireo_dma_writer
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_common_pkg::wide_slice;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,                       // for trains; a power of two, 4096 or more
  parameter int unsigned RequestTagBits,
  localparam int unsigned DataBits = Config.datapath_bits,  // 64 ... 1024, a power of two
  localparam int unsigned Writes = Config.dma_writes        // bursts in flight; a power of two, 2 or more
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  pcie_size_e                 max_payload_size_i,     // counts when a request is accepted

  input  logic                       request_valid_i,
  output logic                       request_ready_o,
  input  logic [63:0]                request_address_i,
  input  logic [BurstBytesBits-1:0]  request_bytes_i,        // 1 ... 4096
  input  logic [RequestTagBits-1:0]  request_tag_i,          // the client's; comes back with the completion
  input  logic                       request_notify_i,       // report completion also if successful
  input  logic                       request_after_all_b_i,

  input  logic                       train_valid_i,          // data of the requests, starting in lane 0
  output logic                       train_ready_o,
  input  logic [DataBits-1:0]        train_data_i,
  input  logic                       train_last_i,

  output logic                       m_axi_awvalid_o,
  input  logic                       m_axi_awready_i,
  output logic [63:0]                m_axi_awaddr_o,
  output logic [7:0]                 m_axi_awlen_o,
  output logic [2:0]                 m_axi_awsize_o,
  output logic [1:0]                 m_axi_awburst_o,
  output logic [BurstBytesBits-1:0]  m_axi_awuser_o,         // bytes written, from awaddr on

  output logic                       m_axi_wvalid_o,
  input  logic                       m_axi_wready_i,
  output logic [DataBits-1:0]        m_axi_wdata_o,          // zero where wstrb is 0
  output logic [DataBits/8-1:0]      m_axi_wstrb_o,
  output logic                       m_axi_wlast_o,

  input  logic                       m_axi_bvalid_i,
  output logic                       m_axi_bready_o,         // always 1
  input  axi_resp_e                  m_axi_bresp_i,

  output logic                       done_valid_o,           // a pulse, no ready
  output logic [RequestTagBits-1:0]  done_tag_o,
  output axi_resp_e                  done_resp_o             // the first error by address
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned WriteBits = $clog2(Writes);
  localparam int unsigned TrainBits = $clog2(BufferBytes / BeatBytes);

  // Bursts.
  logic burst_valid, burst_ready;
  logic [63:0] burst_address;
  logic [BurstBytesBits-1:0] burst_bytes;
  logic [8:0] burst_beats;
  logic burst_first, burst_last;
  logic [LaneBits-1:0] request_lane;
  logic [RequestTagBits-1:0] request_tag;
  logic request_notify, request_after_all_b;
  logic [BurstBytesBits-1:0] unused_request_bytes;

  vireo_dma_split #(
    .DataBits(DataBits),
    .BytesBits(BurstBytesBits),
    .MetaBits(RequestTagBits + 2)
  ) u_split (
    .clk_i,
    .rst_ni,
    .max_size_i(max_payload_size_i),
    .request_valid_i,
    .request_ready_o,
    .request_address_i,
    .request_bytes_i,
    .request_meta_i({request_tag_i, request_notify_i, request_after_all_b_i}),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_address_o(burst_address),
    .burst_bytes_o(burst_bytes),
    .burst_beats_o(burst_beats),
    .burst_first_o(burst_first),
    .burst_last_o(burst_last),
    .request_lane_o(request_lane),
    .request_bytes_o(unused_request_bytes),
    .request_meta_o({request_tag, request_notify, request_after_all_b})
  );

  // Trains.
  logic data_valid, data_ready, data_last;
  logic [DataBits-1:0] data;

  vireo_fifo #(
    .Width(DataBits + 1),
    .Depth(BufferBytes / BeatBytes)
  ) u_data (
    .clk_i,
    .rst_ni,
    .s_valid_i(train_valid_i),
    .s_ready_o(train_ready_o),
    .s_data_i({train_last_i, train_data_i}),
    .m_valid_o(data_valid),
    .m_ready_i(data_ready),
    .m_data_o({data_last, data})
  );

  // Issue: a burst is issued when there is space for its address, its job and its response; the first burst of a
  // request also waits for its complete train.
  logic [TrainBits:0] trains_d, trains_q;      // complete trains whose request has not started
  logic [WriteBits:0] writes_d, writes_q;      // bursts without a response
  logic [WriteBits-1:0] tail_q, head_q;        // ring of these bursts: the next one, the oldest one
  logic address_space, job_space;
  logic issue;

  always_comb begin
    issue = burst_valid && address_space && job_space && writes_q != (WriteBits + 1)'(Writes);
    if (burst_first && (trains_q == '0 || (request_after_all_b && writes_q != '0))) issue = 1'b0;
    burst_ready = issue;
    trains_d = trains_q + (TrainBits + 1)'(train_valid_i && train_ready_o && train_last_i)
             - (TrainBits + 1)'(issue && burst_first);
    writes_d = writes_q + (WriteBits + 1)'(issue) - (WriteBits + 1)'(m_axi_bvalid_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      trains_q <= '0;
      writes_q <= '0;
      tail_q <= '0;
      head_q <= '0;
    end else begin
      trains_q <= trains_d;
      writes_q <= writes_d;
      if (issue) tail_q <= tail_q + 1'b1;
      if (m_axi_bvalid_i) head_q <= head_q + 1'b1;
    end
  end

  vireo_slice #(
    .Width(64 + 8 + BurstBytesBits),
    .Depth(wide_slice(DataBits))
  ) u_address (
    .clk_i,
    .rst_ni,
    .s_valid_i(issue),
    .s_ready_o(address_space),
    .s_data_i({burst_address, 8'(burst_beats - 1'b1), burst_bytes}),
    .m_valid_o(m_axi_awvalid_o),
    .m_ready_i(m_axi_awready_i),
    .m_data_o({m_axi_awaddr_o, m_axi_awlen_o, m_axi_awuser_o})
  );

  assign m_axi_awsize_o = 3'(LaneBits);
  assign m_axi_awburst_o = AxiBurstIncr;

  // Beats of the bus, one step each.
  typedef struct packed {
    logic first;                     // burst of its request
    logic last;
    logic [LaneBits-1:0] lane;       // of the request's first byte
    logic [LaneBits-1:0] end_lane;   // of the burst's last byte
    logic [7:0] last_beat;
  } job_t;

  typedef struct packed {
    logic [LaneBits-1:0] lane;
    logic [LaneBits-1:0] begin_lane;  // first and last lane that is written
    logic [LaneBits-1:0] end_lane;
    logic last;                       // of its burst
  } step_t;

  job_t new_job, job;
  logic job_valid, job_ready;
  logic [7:0] beat_d, beat_q;
  logic taken_d, taken_q;                              // the last beat of the request's train
  logic [$clog2(StreamDepth):0] pending_d, pending_q;  // beats requested and not yet accepted
  logic last_beat, advance;
  step_t step0;

  always_comb begin
    new_job = '0;
    if (burst_valid) begin
      new_job.first = burst_first;
      new_job.last = burst_last;
      new_job.lane = request_lane;
      new_job.end_lane = burst_address[LaneBits-1:0] + LaneBits'(burst_bytes) - 1'b1;
      new_job.last_beat = 8'(burst_beats - 1'b1);
    end
  end

  vireo_slice #(
    .Width($bits(job_t))
  ) u_job (
    .clk_i,
    .rst_ni,
    .s_valid_i(issue),
    .s_ready_o(job_space),
    .s_data_i(new_job),
    .m_valid_o(job_valid),
    .m_ready_i(job_ready),
    .m_data_o(job)
  );

  always_comb begin
    last_beat = beat_q == job.last_beat;
    // The train is complete, so its beats follow without a gap.
    advance = job_valid && pending_q != ($clog2(StreamDepth) + 1)'(StreamDepth);
    data_ready = advance && !taken_q;
    job_ready = advance && last_beat;
    beat_d = beat_q;
    taken_d = taken_q;
    if (advance) begin
      beat_d = last_beat ? '0 : beat_q + 1'b1;
      taken_d = !(last_beat && job.last) && (taken_q || data_last);
    end
    pending_d = pending_q + ($clog2(StreamDepth) + 1)'(advance)
              - ($clog2(StreamDepth) + 1)'(m_axi_wvalid_o && m_axi_wready_i);
    step0 = '0;
    if (job_valid) begin
      step0.lane = job.lane;
      step0.begin_lane = job.first && beat_q == '0 ? job.lane : '0;
      step0.end_lane = last_beat ? job.end_lane : '1;
      step0.last = last_beat;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      taken_q <= 1'b0;
      pending_q <= '0;
    end else begin
      beat_q <= beat_d;
      taken_q <= taken_d;
      pending_q <= pending_d;
    end
  end

  // Lane 0 moves to the lane of the address in two stages: each beat is rotated, then joined with the one before.
  logic step1_valid_q;
  step_t step1_q;
  logic [DataBits-1:0] rotated_q, rotated_before_q;
  logic [DataBits-1:0] joined;
  logic [BeatBytes-1:0] strobes;

  always_comb begin
    strobes = '0;
    joined = rotated_q;
    if (step1_valid_q) begin
      for (int unsigned i = 0; i < BeatBytes; i++) begin
        strobes[i] = LaneBits'(i) >= step1_q.begin_lane && LaneBits'(i) <= step1_q.end_lane;
        if (LaneBits'(i) < step1_q.lane) joined[8*i +: 8] = rotated_before_q[8*i +: 8];
        if (!strobes[i]) joined[8*i +: 8] = '0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step1_valid_q <= 1'b0;
    else step1_valid_q <= advance;
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      step1_q <= step0;
      rotated_q <= DataBits'(({data, data} << {job.lane, 3'b000}) >> DataBits);
      rotated_before_q <= rotated_q;
    end
  end

  // Cannot overflow (write_not_full), because pending_q counts its entries.
  logic write_space;

  vireo_fifo #(
    .Width(DataBits + BeatBytes + 1),
    .Depth(StreamDepth),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_write (
    .clk_i,
    .rst_ni,
    .s_valid_i(step1_valid_q),
    .s_ready_o(write_space),
    .s_data_i({step1_q.last, strobes, joined}),
    .m_valid_o(m_axi_wvalid_o),
    .m_ready_i(m_axi_wready_i),
    .m_data_o({m_axi_wlast_o, m_axi_wstrb_o, m_axi_wdata_o})
  );

  // Responses are in the order of the bursts.
  typedef struct packed {
    logic last;  // of its request
    logic notify;
    logic [RequestTagBits-1:0] tag;
  } burst_t;

  burst_t burst1;
  logic answer1_q;
  axi_resp_e resp1_q;
  axi_resp_e request_resp_d, request_resp_q;  // of the bursts of the request so far
  axi_resp_e resp;
  logic done_valid_d, done_valid_q;
  logic [RequestTagBits-1:0] done_tag_q;
  axi_resp_e done_resp_q;

  assign m_axi_bready_o = 1'b1;

  vireo_ram_1r1w #(
    .Width($bits(burst_t)),
    .Depth(Writes)
  ) u_burst (
    .clk_i,
    .write_i(issue),
    .write_address_i(tail_q),
    .write_data_i({burst_last, request_notify, request_tag}),
    .read_i(m_axi_bvalid_i),
    .read_address_i(head_q),
    .read_data_o(burst1)
  );

  always_comb begin
    resp = request_resp_q == AxiRespOkay ? resp1_q : request_resp_q;
    request_resp_d = request_resp_q;
    if (answer1_q) request_resp_d = burst1.last ? AxiRespOkay : resp;
    done_valid_d = answer1_q && burst1.last && (burst1.notify || resp != AxiRespOkay);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer1_q <= 1'b0;
      request_resp_q <= AxiRespOkay;
      done_valid_q <= 1'b0;
    end else begin
      answer1_q <= m_axi_bvalid_i;
      request_resp_q <= request_resp_d;
      done_valid_q <= done_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (m_axi_bvalid_i) resp1_q <= m_axi_bresp_i;
    done_tag_q <= burst1.tag;
    done_resp_q <= resp;
  end

  assign done_valid_o = done_valid_q;
  assign done_tag_o = done_tag_q;
  assign done_resp_o = done_resp_q;

  logic unused;
  assign unused = data_valid;

`ifndef SYNTHESIS
  write_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) step1_valid_q |-> write_space);
  train_complete: assert property (@(posedge clk_i) disable iff (!rst_ni) data_ready |-> data_valid);
`endif

endmodule
