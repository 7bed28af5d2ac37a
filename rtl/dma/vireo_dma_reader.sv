// SPDX-License-Identifier: Apache-2.0

// Reads host memory. Splits requests into AXI4 read bursts, with up to Tags outstanding, accepts their beats in any
// order and interleaved, and delivers the data of each request as one unbroken train of beats that starts in lane 0, in
// the order of the requests. A train starts when all data of its request has arrived. Checks no addresses or rights and
// has no timeout: the bus must return every beat of every read.
//
// Tags and buffer space are allocated in rings, which needs no search: burst k has tag k modulo Tags and the next free
// beats of the buffer. Both are released in the order of the bursts. Bursts are aligned to beats of the bus, so the
// beats of a request are contiguous in the buffer; the train aligns them to lane 0.
module vireo_dma_reader
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_common_pkg::wide_slice;
#(
  parameter config_t Config,
  parameter int unsigned RequestTagBits,
  localparam int unsigned DataBits = Config.datapath_bits,             // 64 ... 1024, a power of two
  localparam int unsigned Tags = Config.dma_tags,                      // bursts in flight; a power of two, 2 or more
  localparam int unsigned BufferBytes = Config.dma_read_buffer_bytes,  // reorder buffer; a power of two, 8192 or more
  localparam int unsigned TagBits = $clog2(Tags),
  localparam int unsigned BytesBits = $clog2(BufferBytes)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  pcie_size_e                 max_read_request_size_i,  // sampled when a request is accepted

  input  logic                       request_valid_i,
  output logic                       request_ready_o,
  input  logic [63:0]                request_address_i,
  input  logic [BytesBits-1:0]       request_bytes_i,          // 1 ... BufferBytes - DataBits/8
  input  logic [RequestTagBits-1:0]  request_tag_i,            // returned with the train

  output logic                       m_axi_arvalid_o,
  input  logic                       m_axi_arready_i,
  output logic [TagBits-1:0]         m_axi_arid_o,
  output logic [63:0]                m_axi_araddr_o,
  output logic [7:0]                 m_axi_arlen_o,
  output logic [2:0]                 m_axi_arsize_o,
  output logic [1:0]                 m_axi_arburst_o,
  output logic [BurstBytesBits-1:0]  m_axi_aruser_o,           // bytes requested, from araddr on

  input  logic                       m_axi_rvalid_i,
  output logic                       m_axi_rready_o,           // always 1
  input  logic [TagBits-1:0]         m_axi_rid_i,
  input  logic [DataBits-1:0]        m_axi_rdata_i,
  input  axi_resp_e                  m_axi_rresp_i,
  input  logic                       m_axi_rlast_i,

  output logic                       train_valid_o,            // from the first to the last beat of a train
  input  logic                       train_ready_i,
  output logic [DataBits-1:0]        train_data_o,             // zero after the last byte
  output logic                       train_last_o,
  output logic [RequestTagBits-1:0]  train_tag_o,              // these three are constant for the whole train
  output logic [BytesBits-1:0]       train_bytes_o,
  output axi_resp_e                  train_resp_o              // not okay: the data is undefined
);

  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned BufferBeats = BufferBytes / BeatBytes;
  localparam int unsigned PlaceBits = $clog2(BufferBeats);

  // Bursts.
  logic burst_valid, burst_ready;
  logic [63:0] burst_address;
  logic [BurstBytesBits-1:0] burst_bytes;
  logic [8:0] burst_beats;
  logic burst_last;
  logic [LaneBits-1:0] request_lane;
  logic [BytesBits-1:0] request_bytes;
  logic [RequestTagBits-1:0] request_tag;
  logic unused_burst_first;

  vireo_dma_split #(
    .DataBits(DataBits),
    .BytesBits(BytesBits),
    .MetaBits(RequestTagBits)
  ) u_split (
    .clk_i,
    .rst_ni,
    .max_size_i(max_read_request_size_i),
    .request_valid_i,
    .request_ready_o,
    .request_address_i,
    .request_bytes_i,
    .request_meta_i(request_tag_i),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_address_o(burst_address),
    .burst_bytes_o(burst_bytes),
    .burst_beats_o(burst_beats),
    .burst_first_o(unused_burst_first),
    .burst_last_o(burst_last),
    .request_lane_o(request_lane),
    .request_bytes_o(request_bytes),
    .request_meta_o(request_tag)
  );

  // Allocation: a burst is issued when a tag, its space in the buffer and an address slot are free.
  logic [TagBits-1:0] tag_q;                          // of the next burst
  logic [TagBits:0] tags_used_d, tags_used_q;
  logic [PlaceBits-1:0] place_q;                      // of the next burst's first beat
  logic [PlaceBits:0] places_used_d, places_used_q;
  logic address_space;
  logic issue;
  logic retire;                                       // releases a tag
  logic fetch;                                        // releases a beat of the buffer

  always_comb begin
    issue = burst_valid && address_space && tags_used_q != (TagBits + 1)'(Tags)
         && (PlaceBits + 2)'(places_used_q) + (PlaceBits + 2)'(burst_beats) <= (PlaceBits + 2)'(BufferBeats);
    burst_ready = issue;
    tags_used_d = tags_used_q + (TagBits + 1)'(issue) - (TagBits + 1)'(retire);
    places_used_d = places_used_q - (PlaceBits + 1)'(fetch);
    if (issue) places_used_d = places_used_q + (PlaceBits + 1)'(burst_beats) - (PlaceBits + 1)'(fetch);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tag_q <= '0;
      tags_used_q <= '0;
      place_q <= '0;
      places_used_q <= '0;
    end else begin
      if (issue) begin
        tag_q <= tag_q + 1'b1;
        place_q <= place_q + PlaceBits'(burst_beats);
      end
      tags_used_q <= tags_used_d;
      places_used_q <= places_used_d;
    end
  end

  vireo_slice #(
    .Width(TagBits + 64 + 8 + BurstBytesBits),
    .Depth(wide_slice(DataBits))
  ) u_address (
    .clk_i,
    .rst_ni,
    .s_valid_i(issue),
    .s_ready_o(address_space),
    .s_data_i({tag_q, burst_address, 8'(burst_beats - 1'b1), burst_bytes}),
    .m_valid_o(m_axi_arvalid_o),
    .m_ready_i(m_axi_arready_i),
    .m_data_o({m_axi_arid_o, m_axi_araddr_o, m_axi_arlen_o, m_axi_aruser_o})
  );

  assign m_axi_arsize_o = 3'(LaneBits);
  assign m_axi_arburst_o = AxiBurstIncr;

  // State of a burst in flight: where its first beat goes (for arriving beats), and its request (for
  // the collector, which takes bursts in order).
  typedef struct packed {
    logic last;  // of its request
    logic [LaneBits-1:0] lane;
    logic [BytesBits-1:0] bytes;
    logic [RequestTagBits-1:0] tag;
  } burst_t;

  logic [PlaceBits-1:0] base1;
  burst_t burst1;
  logic [TagBits-1:0] head_q;  // tag of the oldest burst

  vireo_ram_1r1w #(
    .Width(PlaceBits),
    .Depth(Tags)
  ) u_base (
    .clk_i,
    .write_i(issue),
    .write_address_i(tag_q),
    .write_data_i(place_q),
    .read_i(m_axi_rvalid_i),
    .read_address_i(m_axi_rid_i),
    .read_data_o(base1)
  );

  vireo_ram_1r1w #(
    .Width($bits(burst_t)),
    .Depth(Tags)
  ) u_burst (
    .clk_i,
    .write_i(issue),
    .write_address_i(tag_q),
    .write_data_i({burst_last, request_lane, request_bytes, request_tag}),
    .read_i(retire),
    .read_address_i(head_q),
    .read_data_o(burst1)
  );

  // Beats, stage 1: where the beat goes. The place and the first error of a burst so far lie in a RAM, or are still
  // in stage 2 if the beat before was of the same burst.
  logic [Tags-1:0] started_d, started_q;  // a beat of the burst has come
  logic [Tags-1:0] done_d, done_q;    // all have
  logic valid1_q, started1_q, last1_q;
  logic [TagBits-1:0] id1_q;
  logic [DataBits-1:0] data1_q;
  axi_resp_e resp1_q;
  logic [PlaceBits-1:0] place1, next_place1;
  axi_resp_e so_far1, result1;
  logic [PlaceBits+1:0] state1;       // of the burst, from the RAM
  logic valid2_q;
  logic [TagBits-1:0] id2_q;
  logic [DataBits-1:0] data2_q;
  logic [PlaceBits-1:0] place2_q, next_place2_q;
  axi_resp_e result2_q;

  assign m_axi_rready_o = 1'b1;

  always_comb begin
    place1 = '0;
    next_place1 = '0;
    so_far1 = AxiRespOkay;
    result1 = AxiRespOkay;
    if (valid1_q) begin
      if (!started1_q) begin
        place1 = base1;
        so_far1 = AxiRespOkay;
      end else if (valid2_q && id2_q == id1_q) begin
        place1 = next_place2_q;
        so_far1 = result2_q;
      end else begin
        place1 = state1[PlaceBits+1:2];
        so_far1 = axi_resp_e'(state1[1:0]);
      end
      next_place1 = place1 + 1'b1;
      result1 = so_far1 == AxiRespOkay ? resp1_q : so_far1;
    end
  end

  always_comb begin
    started_d = '0;
    if (issue || m_axi_rvalid_i) begin
      started_d = started_q;
      if (issue) started_d[tag_q] = 1'b0;
      if (m_axi_rvalid_i) started_d[m_axi_rid_i] = 1'b1;
    end
    done_d = '0;
    if (retire || valid1_q) begin
      done_d = done_q;
      if (retire) done_d[head_q] = 1'b0;
      if (valid1_q && last1_q) done_d[id1_q] = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      started_q <= '0;
      done_q <= '0;
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end else begin
      if (issue || m_axi_rvalid_i) started_q <= started_d;
      if (retire || valid1_q) done_q <= done_d;
      valid1_q <= m_axi_rvalid_i;
      valid2_q <= valid1_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (m_axi_rvalid_i) begin
      started1_q <= started_q[m_axi_rid_i];
      last1_q <= m_axi_rlast_i;
      id1_q <= m_axi_rid_i;
      data1_q <= m_axi_rdata_i;
      resp1_q <= m_axi_rresp_i;
    end
    if (valid1_q) begin
      id2_q <= id1_q;
      data2_q <= data1_q;
      place2_q <= place1;
      next_place2_q <= next_place1;
      result2_q <= result1;
    end
  end

  vireo_ram_1r1w #(
    .Width(PlaceBits + 2),
    .Depth(Tags)
  ) u_state (
    .clk_i,
    .write_i(valid1_q),
    .write_address_i(id1_q),
    .write_data_i({next_place1, result1}),
    .read_i(m_axi_rvalid_i),
    .read_address_i(m_axi_rid_i),
    .read_data_o(state1)
  );

  // Collection: takes the bursts in order as they are done, one per cycle, and announces whole requests.
  typedef struct packed {
    axi_resp_e resp;
    logic lag;
    logic dummy;
    logic [PlaceBits-1:0] last_step;
    logic [LaneBits-1:0] lane;
    logic [BytesBits-1:0] bytes;
    logic [RequestTagBits-1:0] tag;
  } request_t;

  logic retired1_q;
  logic [1:0] result_bits;
  axi_resp_e request_resp_d, request_resp_q;  // of the bursts of the request so far
  axi_resp_e resp;
  request_t done_request, request;
  logic request_done, request_valid, request_ready;
  align_t align;

  assign retire = done_q[head_q];

  vireo_ram_1r1w #(
    .Width(2),
    .Depth(Tags)
  ) u_result (
    .clk_i,
    .write_i(valid1_q && last1_q),
    .write_address_i(id1_q),
    .write_data_i(result1),
    .read_i(retire),
    .read_address_i(head_q),
    .read_data_o(result_bits)
  );

  always_comb begin
    resp = request_resp_q == AxiRespOkay ? axi_resp_e'(result_bits) : request_resp_q;
    request_done = retired1_q && burst1.last;
    request_resp_d = request_resp_q;
    if (retired1_q) request_resp_d = burst1.last ? AxiRespOkay : resp;

    align = '0;
    done_request = '0;
    if (request_done) begin
      align = align_of(32'(burst1.lane), 32'(burst1.bytes), LaneBits);
      done_request.resp = resp;
      done_request.lag = align.lag;
      done_request.dummy = align.dummy;
      done_request.last_step = PlaceBits'(align.last_step);
      done_request.lane = burst1.lane;
      done_request.bytes = burst1.bytes;
      done_request.tag = burst1.tag;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      retired1_q <= 1'b0;
      request_resp_q <= AxiRespOkay;
    end else begin
      if (retire) head_q <= head_q + 1'b1;
      retired1_q <= retire;
      request_resp_q <= request_resp_d;
    end
  end

  // Cannot overflow (requests_not_full): every request in it has at least one beat in the buffer.
  logic request_space;

  vireo_fifo #(
    .Width($bits(request_t)),
    .Depth(BufferBeats)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .s_valid_i(request_done),
    .s_ready_o(request_space),
    .s_data_i(done_request),
    .m_valid_o(request_valid),
    .m_ready_i(request_ready),
    .m_data_o(request)
  );

  // Train: one step per beat from the buffer.
  logic [PlaceBits-1:0] fetch_place_q;
  logic [DataBits-1:0] fetched;

  vireo_ram_1r1w #(
    .Width(DataBits),
    .Depth(BufferBeats)
  ) u_buffer (
    .clk_i,
    .write_i(valid2_q),
    .write_address_i(place2_q),
    .write_data_i(data2_q),
    .read_i(fetch),
    .read_address_i(fetch_place_q),
    .read_data_o(fetched)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fetch_place_q <= '0;
    else if (fetch) fetch_place_q <= fetch_place_q + 1'b1;
  end

  vireo_dma_align #(
    .DataBits(DataBits),
    .StepBits(PlaceBits),
    .MetaBits(RequestTagBits + BytesBits + 2)
  ) u_align (
    .clk_i,
    .rst_ni,
    .run_valid_i(request_valid),
    .run_ready_o(request_ready),
    .run_lag_i(request.lag),
    .run_dummy_i(request.dummy),
    .run_last_step_i(request.last_step),
    .run_lane_i(request.lane),
    .run_end_lane_i(LaneBits'(request.bytes - 1'b1)),
    .run_meta_i({request.tag, request.bytes, request.resp}),
    .read_o(fetch),
    .data_i(fetched),
    .train_valid_o,
    .train_ready_i,
    .train_data_o,
    .train_last_o,
    .train_meta_o({train_tag_o, train_bytes_o, train_resp_o})
  );

`ifndef SYNTHESIS
  requests_not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) request_done |-> request_space);
  train_unbroken: assert property (@(posedge clk_i) disable iff (!rst_ni)
    train_valid_o && !(train_ready_i && train_last_o) |=> train_valid_o);
`endif

endmodule
