// SPDX-License-Identifier: Apache-2.0

// Connects vireo_dma_reader to its clients. A fetch client reads up to DmaFetchBytes per request and receives responses
// as tokens, in order. A train client reads up to BurstBytesMax and receives the beats unbuffered, without
// backpressure. Requests are served round-robin. Checks no addresses, rights or lengths.
//
// A fetch client's request is issued only when a place in its response queue is reserved, and a train client
// requests only what it has room for. So trains never wait, and no client stalls because another one is slow.
module vireo_dma_read_port
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned FetchClients,  // 1 or more
  parameter int unsigned FetchDepth,  // responses per fetch client; a power of two, 4 or more
  parameter int unsigned ReadClients,  // train clients; 1 or more
  localparam int unsigned DataBits = Config.datapath_bits,  // 64 ... 1024, a power of two
  localparam int unsigned Tags = Config.dma_tags,  // bursts in flight; a power of two, 2 or more
  localparam int unsigned BufferBytes = Config.dma_read_buffer_bytes,  // reorder buffer; a power of two, 8192 or more
  localparam int unsigned TagBits = $clog2(Tags)
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  // Sampled when a request leaves the arbiter.
  input  pcie_size_e                            max_read_request_size_i,

  input  logic [FetchClients-1:0]               fetch_request_valid_i,
  output logic [FetchClients-1:0]               fetch_request_ready_o,
  input  dma_read_request_t [FetchClients-1:0]  fetch_request_i,        // of 1 ... DmaFetchBytes bytes

  output logic [FetchClients-1:0]               fetched_valid_o,
  input  logic [FetchClients-1:0]               fetched_ready_i,
  output dma_fetched_t [FetchClients-1:0]       fetched_o,

  input  logic [ReadClients-1:0]                read_request_valid_i,
  output logic [ReadClients-1:0]                read_request_ready_o,
  input  dma_read_request_t [ReadClients-1:0]   read_request_i,         // of 1 ... BurstBytesMax bytes

  output logic [ReadClients-1:0]                train_valid_o,          // per client; no ready; trains are unbroken.
                                                                        // The following outputs are shared
  output logic [DataBits-1:0]                   train_data_o,           // zero after the last byte
  output logic                                  train_last_o,
  output logic [7:0]                            train_tag_o,            // these three are constant for the whole train
  output logic [12:0]                           train_bytes_o,
  output axi_resp_e                             train_resp_o,           // not okay: the data is undefined

  output logic                                  m_axi_arvalid_o,
  input  logic                                  m_axi_arready_i,
  output logic [TagBits-1:0]                    m_axi_arid_o,
  output logic [63:0]                           m_axi_araddr_o,
  output logic [7:0]                            m_axi_arlen_o,
  output logic [2:0]                            m_axi_arsize_o,
  output logic [1:0]                            m_axi_arburst_o,
  output logic [BurstBytesBits-1:0]             m_axi_aruser_o,

  input  logic                                  m_axi_rvalid_i,
  output logic                                  m_axi_rready_o,         // always 1
  input  logic [TagBits-1:0]                    m_axi_rid_i,
  input  logic [DataBits-1:0]                   m_axi_rdata_i,
  input  axi_resp_e                             m_axi_rresp_i,
  input  logic                                  m_axi_rlast_i,

  output logic                                  idle_o,
  output logic [15:0]                           outstanding_o,          // bursts on the bus: address accepted, last
                                                                        // beat not yet received
  output logic                                  dma_error_o             // with the first beat of a train that failed
);

  localparam int unsigned Clients = FetchClients + ReadClients;  // train clients have the highest indices
  localparam int unsigned IndexBits = $clog2(Clients);
  localparam int unsigned BytesBits = $clog2(BufferBytes);
  localparam int unsigned RoomBits = $clog2(FetchDepth + 1);

  // Requests.
  logic [Clients-1:0] in_valid, in_ready;
  dma_read_request_t [Clients-1:0] in_request;
  logic [Clients-1:0] request_valid, request_ready;
  dma_read_request_t [Clients-1:0] request;

  assign in_valid = {read_request_valid_i, fetch_request_valid_i};
  assign in_request = {read_request_i, fetch_request_i};
  assign {read_request_ready_o, fetch_request_ready_o} = in_ready;

  for (genvar i = 0; i < Clients; i++) begin : gen_request
    vireo_slice #(
      .Width(DmaReadRequestBits)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .s_valid_i(in_valid[i]),
      .s_ready_o(in_ready[i]),
      .s_data_i(in_request[i]),
      .m_valid_o(request_valid[i]),
      .m_ready_i(request_ready[i]),
      .m_data_o(request[i])
    );
  end

  // Reserved entries of the response FIFOs: from the request's entry into the arbiter until the response is accepted.
  logic [FetchClients-1:0][RoomBits-1:0] reserved_d, reserved_q;
  logic [15:0] reads_d, reads_q;  // outstanding requests of train clients; bounded by the buffer's beats
  logic [Clients-1:0] room, arb_ready, taken;
  logic whole_done;

  always_comb begin
    room = '1;
    if (reserved_q != '0) begin
      for (int unsigned i = 0; i < FetchClients; i++) room[i] = reserved_q[i] != RoomBits'(FetchDepth);
    end
    request_ready = arb_ready & room;
    taken = request_valid & request_ready;
    reserved_d = reserved_q;
    if (taken != '0 || fetched_valid_o != '0) begin
      for (int unsigned i = 0; i < FetchClients; i++) begin
        reserved_d[i] = reserved_q[i] + RoomBits'(taken[i]) - RoomBits'(fetched_valid_o[i] && fetched_ready_i[i]);
      end
    end
    reads_d = reads_q - 16'(whole_done);
    for (int unsigned i = FetchClients; i < Clients; i++) reads_d = reads_d + 16'(taken[i]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reserved_q <= '0;
      reads_q <= '0;
    end else begin
      reserved_q <= reserved_d;
      reads_q <= reads_d;
    end
  end

  assign idle_o = request_valid == '0 && reserved_q == '0 && reads_q == '0;

  logic chosen_valid, chosen_ready;
  dma_read_request_t chosen;
  logic [IndexBits-1:0] chosen_client;
  logic unused_chosen_last;

  logic unused_arb_idle;
  vireo_arb_rr #(
    .Inputs(Clients),
    .Width(DmaReadRequestBits)
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(request_valid & room),
    .s_ready_o(arb_ready),
    .s_data_i(request),
    .s_last_i('1),
    .m_valid_o(chosen_valid),
    .m_ready_i(chosen_ready),
    .m_data_o(chosen),
    .m_last_o(unused_chosen_last),
    .m_index_o(chosen_client),
    .idle_o(unused_arb_idle)
  );

  // Trains.
  logic train_valid, train_last;
  logic [DataBits-1:0] train_data;
  logic [IndexBits-1:0] train_client;
  logic [7:0] train_tag;
  logic [BytesBits-1:0] train_bytes;
  axi_resp_e train_resp;

  vireo_dma_reader #(
    .Config(Config),
    .RequestTagBits(IndexBits + 8)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .max_read_request_size_i,
    .request_valid_i(chosen_valid),
    .request_ready_o(chosen_ready),
    .request_address_i(chosen.address),
    .request_bytes_i(BytesBits'(chosen.bytes)),
    .request_tag_i({chosen_client, chosen.tag}),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_arid_o,
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arsize_o,
    .m_axi_arburst_o,
    .m_axi_aruser_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rid_i,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .train_valid_o(train_valid),
    .train_ready_i(1'b1),
    .train_data_o(train_data),
    .train_last_o(train_last),
    .train_tag_o({train_client, train_tag}),
    .train_bytes_o(train_bytes),
    .train_resp_o(train_resp)
  );

  for (genvar i = 0; i < ReadClients; i++) begin : gen_train
    assign train_valid_o[i] = train_valid && train_client == IndexBits'(FetchClients + i);
  end
  assign whole_done = train_valid_o != '0 && train_last;
  assign train_data_o = train_data;
  assign train_last_o = train_last;
  assign train_tag_o = train_tag;
  assign train_bytes_o = 13'(train_bytes);
  assign train_resp_o = train_resp;

  // Its range is that of the buffer; requests are shorter.
  logic unused;
  assign unused = ^train_bytes;

  // Responses to fetch clients: collects the beats of a train. Trains are not interleaved, so one collector suffices.
  localparam int unsigned FetchBits = 8 * 32'(DmaFetchBytes);
  localparam int unsigned FetchBeats = FetchBits > DataBits ? FetchBits / DataBits : 1;
  localparam int unsigned PartBits = FetchBits / FetchBeats;
  localparam int unsigned PartIndexBits = FetchBeats > 1 ? $clog2(FetchBeats) : 1;

  logic first_d, first_q;                         // the next beat is the first of a train
  logic [PartIndexBits-1:0] part_d, part_q;       // its number; not used for train clients
  logic [FetchBeats-1:0][PartBits-1:0] collected_d, collected_q;
  dma_fetched_t answer;

  always_comb begin
    first_d = first_q;
    part_d = part_q;
    collected_d = '0;
    answer = '0;
    if (train_valid) begin
      first_d = train_last;
      part_d = train_last || FetchBeats == 1 ? '0 : part_q + 1'b1;
      if (!first_q) collected_d = collected_q;
      collected_d[part_q] = train_data[PartBits-1:0];
      answer = '{tag: train_tag, resp: train_resp, data: collected_d};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
      part_q <= '0;
    end else begin
      first_q <= first_d;
      part_q <= part_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (train_valid) collected_q <= collected_d;
  end

  // Cannot overflow (not_full), because reserved_q counts their entries.
  logic [FetchClients-1:0] answer_push, answer_space;

  for (genvar i = 0; i < FetchClients; i++) begin : gen_answer
    assign answer_push[i] = train_valid && train_last && train_client == IndexBits'(i);

    vireo_fifo #(
      .Width(DmaFetchedBits),
      .Depth(FetchDepth)
    ) u_fifo (
      .clk_i,
      .rst_ni,
      .s_valid_i(answer_push[i]),
      .s_ready_o(answer_space[i]),
      .s_data_i(answer),
      .m_valid_o(fetched_valid_o[i]),
      .m_ready_i(fetched_ready_i[i]),
      .m_data_o(fetched_o[i])
    );
  end

  assign dma_error_o = train_valid && first_q && train_resp != AxiRespOkay;

  // Bursts on the bus.
  logic [15:0] outstanding_d, outstanding_q;

  always_comb begin
    outstanding_d = outstanding_q + 16'(m_axi_arvalid_o && m_axi_arready_i) - 16'(m_axi_rvalid_i && m_axi_rlast_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) outstanding_q <= '0;
    else outstanding_q <= outstanding_d;
  end

  assign outstanding_o = outstanding_q;

`ifndef SYNTHESIS
  not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) (answer_push & ~answer_space) == '0);
`endif

endmodule
