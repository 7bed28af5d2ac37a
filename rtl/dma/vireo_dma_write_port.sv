// SPDX-License-Identifier: Apache-2.0

// Connects vireo_dma_writer to its clients. A store client sends a write of up to DmaFetchBytes as one token, a train
// client one of up to BurstBytesMax as a request with a train of beats. One transaction at a time, round-robin. Checks
// no addresses, rights or lengths.
//
// Writes take effect in the order in which they leave the arbiter. A client gets a completion if it requested
// one or if the write failed.
module vireo_dma_write_port
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,                       // for trains; a power of two, 4096 or more
  parameter int unsigned StoreClients,                      // 1 or more
  parameter int unsigned WriteClients,                      // train clients; 1 or more
  // Bits of a store that a client may set; its others are 0 and take no register.
  parameter dma_store_t [StoreClients-1:0] Driven = '1,
  localparam int unsigned DataBits = Config.datapath_bits  // 64 ... 1024, a power of two
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  // Sampled when a request enters the writer.
  input  pcie_size_e                              max_payload_size_i,

  input  logic [StoreClients-1:0]                 store_valid_i,
  output logic [StoreClients-1:0]                 store_ready_o,
  input  dma_store_t [StoreClients-1:0]           store_i,             // of 1 ... DmaFetchBytes bytes

  output logic [StoreClients-1:0]                 done_valid_o,        // pulses; there is no ready
  output dma_done_t [StoreClients-1:0]            done_o,

  input  logic [WriteClients-1:0]                 write_valid_i,       // of 1 ... BurstBytesMax bytes
  output logic [WriteClients-1:0]                 write_ready_o,
  input  dma_write_request_t [WriteClients-1:0]   write_request_i,     // sampled with the first beat
  input  logic [WriteClients-1:0][DataBits-1:0]   write_data_i,        // first byte in lane 0; undefined after the
                                                                       // last byte
  input  logic [WriteClients-1:0]                 write_last_i,

  output logic [WriteClients-1:0]                 write_done_valid_o,  // as done_valid_o
  output dma_done_t [WriteClients-1:0]            write_done_o,
  output logic [WriteClients-1:0]                 accepted_o,          // the last beat of a write of the train client
                                                                       // leaves the arbiter: nothing overtakes it from
                                                                       // now on

  output logic                                    m_axi_awvalid_o,
  input  logic                                    m_axi_awready_i,
  output logic [63:0]                             m_axi_awaddr_o,
  output logic [7:0]                              m_axi_awlen_o,
  output logic [2:0]                              m_axi_awsize_o,
  output logic [1:0]                              m_axi_awburst_o,
  output logic [BurstBytesBits-1:0]               m_axi_awuser_o,

  output logic                                    m_axi_wvalid_o,
  input  logic                                    m_axi_wready_i,
  output logic [DataBits-1:0]                     m_axi_wdata_o,
  output logic [DataBits/8-1:0]                   m_axi_wstrb_o,
  output logic                                    m_axi_wlast_o,

  input  logic                                    m_axi_bvalid_i,
  output logic                                    m_axi_bready_o,      // always 1
  input  axi_resp_e                               m_axi_bresp_i,

  output logic                                    idle_o,
  output logic                                    dma_error_o          // with the done of a write that failed
);

  localparam int unsigned Clients = StoreClients + WriteClients;  // train clients have the highest indices
  localparam int unsigned IndexBits = $clog2(Clients);
  localparam int unsigned RequestDepth = 8;
  localparam int unsigned BeatBytes = DataBits / 8;
  localparam int unsigned LaneBits = $clog2(BeatBytes);
  localparam int unsigned StoreBits = 8 * 32'(DmaFetchBytes);
  localparam int unsigned StoreBeats = StoreBits > DataBits ? StoreBits / DataBits : 1;
  localparam int unsigned PartBits = StoreBits / StoreBeats;
  localparam int unsigned PartIndexBits = StoreBeats > 1 ? $clog2(StoreBeats) : 1;

  typedef struct packed {
    dma_write_request_t request;
    logic [DataBits-1:0] data;
  } beat_t;

  logic [Clients-1:0] in_valid, in_ready, in_last;  // into the arbiter
  beat_t [Clients-1:0] in_beat;                     // undefined without valid
  logic [Clients-1:0] in_first_d, in_first_q;       // the next beat is the first of a transaction

  // Store clients: splits their token into beats.
  for (genvar i = 0; i < StoreClients; i++) begin : gen_store
    logic valid, ready;
    dma_store_t store;
    logic [StoreBeats-1:0][PartBits-1:0] parts;
    beat_t beat;
    logic [PartIndexBits-1:0] part_d, part_q, last_part;

    // With several beats a token takes longer than a slice with one entry.
    vireo_slice #(
      .Width(DmaStoreBits),
      .Depth(StoreBeats == 1 ? 2 : 1)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .s_valid_i(store_valid_i[i]),
      .s_ready_o(store_ready_o[i]),
      .s_data_i(store_i[i] & Driven[i]),
      .m_valid_o(valid),
      .m_ready_i(ready),
      .m_data_o(store)
    );

    always_comb begin
      parts = '0;
      last_part = '0;
      beat = '0;
      if (valid || vireo_common_pkg::Synthesis) begin
        parts = store.data;
        if (StoreBeats > 1) last_part = PartIndexBits'((store.bytes - 1'b1) >> LaneBits);
        beat.request = '{address: store.address, bytes: 13'(store.bytes), notify: store.notify, tag: store.tag};
        beat.data = DataBits'(parts[part_q]);
      end
      in_valid[i] = valid;
      in_last[i] = part_q == last_part;
      ready = in_ready[i] && in_last[i];
      part_d = part_q;
      if (valid && in_ready[i]) part_d = in_last[i] ? '0 : part_q + 1'b1;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) part_q <= '0;
      else part_q <= part_d;
    end

    assign in_beat[i] = beat;
  end

  for (genvar i = 0; i < WriteClients; i++) begin : gen_write
    beat_t beat;

    vireo_slice #(
      .Width($bits(beat_t) + 1)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .s_valid_i(write_valid_i[i]),
      .s_ready_o(write_ready_o[i]),
      .s_data_i({write_last_i[i], write_request_i[i], write_data_i[i]}),
      .m_valid_o(in_valid[StoreClients + i]),
      .m_ready_i(in_ready[StoreClients + i]),
      .m_data_o({in_last[StoreClients + i], beat})
    );

    assign in_beat[StoreClients + i] = beat;
  end

  // Outstanding transactions, from the entry of their first beat into the arbiter until done. Bounded by the train
  // buffer and Writes.
  logic [Clients-1:0][15:0] writes_d, writes_q;
  logic [Clients-1:0] ended;

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      in_first_d[i] = in_first_q[i];
      if (in_valid[i] && in_ready[i]) in_first_d[i] = in_last[i];
      writes_d[i] = writes_q[i] + 16'(in_valid[i] && in_ready[i] && in_first_q[i]) - 16'(ended[i]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_first_q <= '1;
      writes_q <= '0;
    end else begin
      in_first_q <= in_first_d;
      writes_q <= writes_d;
    end
  end

  assign idle_o = in_valid == '0 && writes_q == '0;

  logic chosen_valid, chosen_ready, chosen_last;
  beat_t chosen;
  logic [IndexBits-1:0] chosen_client;
  logic chosen_first_d, chosen_first_q;

  logic unused_arb_idle;
  vireo_arb_rr #(
    .Inputs(Clients),
    .Width($bits(beat_t))
  ) u_arb (
    .clk_i,
    .rst_ni,
    .s_valid_i(in_valid),
    .s_ready_o(in_ready),
    .s_data_i(in_beat),
    .s_last_i(in_last),
    .m_valid_o(chosen_valid),
    .m_ready_i(chosen_ready),
    .m_data_o(chosen),
    .m_last_o(chosen_last),
    .m_index_o(chosen_client),
    .idle_o(unused_arb_idle)
  );

  // A first beat is a request and a beat of its train, accepted in one cycle. Requests are queued, so that a train is
  // filled while the previous one is sent, also with short writes between the two.
  typedef struct packed {
    dma_write_request_t request;
    logic [IndexBits-1:0] client;
  } request_t;

  logic space, train_ready;
  request_t request;
  logic request_valid, request_ready;
  logic done_valid, done_notify;
  logic [IndexBits-1:0] done_client;
  dma_done_t done;
  axi_resp_e done_resp;

  always_comb begin
    chosen_ready = train_ready && (space || !chosen_first_q);
    chosen_first_d = chosen_first_q;
    if (chosen_valid && chosen_ready) chosen_first_d = chosen_last;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chosen_first_q <= 1'b1;
    else chosen_first_q <= chosen_first_d;
  end

  for (genvar i = 0; i < WriteClients; i++) begin : gen_accepted
    assign accepted_o[i] =
        chosen_valid && chosen_ready && chosen_last && chosen_client == IndexBits'(StoreClients + i);
  end

  vireo_fifo #(
    .Width($bits(request_t)),
    .Depth(RequestDepth),
    .InLuts(vireo_common_pkg::is_narrow(DataBits))
  ) u_requests (
    .clk_i,
    .rst_ni,
    .s_valid_i(chosen_valid && chosen_first_q && train_ready),
    .s_ready_o(space),
    .s_data_i({chosen.request, chosen_client}),
    .m_valid_o(request_valid),
    .m_ready_i(request_ready),
    .m_data_o(request)
  );

  // The writer reports the end of every write, for the counter above; the tag selects the client to notify.
  vireo_dma_writer #(
    .Config(Config),
    .BufferBytes(BufferBytes),
    .RequestTagBits(IndexBits + 9)
  ) u_writer (
    .clk_i,
    .rst_ni,
    .max_payload_size_i,
    .request_valid_i(request_valid),
    .request_ready_o(request_ready),
    .request_address_i(request.request.address),
    .request_bytes_i(BurstBytesBits'(request.request.bytes)),
    .request_tag_i({request.client, request.request.notify, request.request.tag}),
    .request_notify_i(1'b1),
    .request_after_all_b_i(1'b0),
    .train_valid_i(chosen_valid && (space || !chosen_first_q)),
    .train_ready_o(train_ready),
    .train_data_i(chosen.data),
    .train_last_i(chosen_last),
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awsize_o,
    .m_axi_awburst_o,
    .m_axi_awuser_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i,
    .done_valid_o(done_valid),
    .done_tag_o({done_client, done_notify, done.tag}),
    .done_resp_o(done_resp)
  );

  logic done_failed;
  logic [Clients-1:0] done_valids;

  assign done.resp = done_resp;
  assign done_failed = done_resp != AxiRespOkay;

  always_comb begin
    for (int unsigned i = 0; i < Clients; i++) begin
      ended[i] = done_valid && done_client == IndexBits'(i);
      done_valids[i] = ended[i] && (done_notify || done_failed);
    end
  end

  assign {write_done_valid_o, done_valid_o} = done_valids;
  assign {write_done_o, done_o} = {Clients{done}};
  assign dma_error_o = done_valid && done_failed;

`ifndef SYNTHESIS
  for (genvar i = 0; i < StoreClients; i++) begin : gen_driven
    only_driven: assert property (@(posedge clk_i) disable iff (!rst_ni)
      store_valid_i[i] |-> (store_i[i] & ~Driven[i]) == '0);
  end
`endif

endmodule
