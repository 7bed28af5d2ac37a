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
  parameter int unsigned FetchClients,  // 2 or more
  parameter int unsigned FetchDepth,  // responses per fetch client; a power of two, 4 or more
  parameter int unsigned ReadClients,  // train clients; 1 or more
  // Bytes that a fetch client asks for, at most. What it never gets takes neither registers nor memory.
  parameter logic [FetchClients-1:0][6:0] FetchBytes = {FetchClients{7'(DmaFetchBytes)}},
  localparam int unsigned DataBits = Config.datapath_bits,  // 64 ... 1024, a power of two
  localparam int unsigned Tags = Config.dma_tags,  // bursts in flight; a power of two, 2 or more
  localparam int unsigned BufferBytes = Config.dma_read_buffer_bytes,  // reorder buffer; a power of two, 8192 or more
  localparam int unsigned TagBits = $clog2(Tags)
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  // Sampled when the reader takes a request.
  input  pcie_size_e                            max_read_request_size_i,

  input  logic [FetchClients-1:0]               fetch_request_valid_i,
  output logic [FetchClients-1:0]               fetch_request_ready_o,
  input  dma_read_request_t [FetchClients-1:0]  fetch_request_i,        // of 1 ... FetchBytes[i] bytes

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
  localparam int unsigned FetchBits = 8 * 32'(DmaFetchBytes);
  localparam int unsigned FetchBeats = FetchBits > DataBits ? FetchBits / DataBits : 1;  // of the largest answer
  localparam int unsigned PartBits = FetchBits / FetchBeats;

  if (FetchClients < 2) $fatal(1, "FetchClients is less than 2");

  // Requests.
  logic [Clients-1:0] in_valid, in_ready, taken;
  dma_read_request_t [Clients-1:0] in_request;
  logic [Clients-1:0] request_valid;
  // Unpacked: of a packed array Verilator moves all requests into one word, and out of it, in every cycle.
  dma_read_request_t request [Clients];

  assign in_valid = {read_request_valid_i, fetch_request_valid_i};
  assign in_request = {read_request_i, fetch_request_i};
  assign {read_request_ready_o, fetch_request_ready_o} = in_ready;

  for (genvar i = 0; i < Clients; i++) begin : gen_request
    // With several beats an answer takes longer than a request with one entry.
    vireo_slice #(.Width(DmaReadRequestBits), .Depth(FetchBeats == 1 ? 2 : 1)) u_slice (
      .clk_i, .rst_ni,
      .s_valid_i(in_valid[i]), .s_ready_o(in_ready[i]), .s_data_i(in_request[i]),
      .m_valid_o(request_valid[i]), .m_ready_i(taken[i]), .m_data_o(request[i])
    );
  end

  // The turn of one client after the other, among those with a request and a place: as vireo_arb_rr, which could not ask
  // for a place behind its slices. A place is reserved from the request's turn until the answer is accepted.
  logic [FetchClients-1:0][RoomBits-1:0] reserved_d, reserved_q;
  logic [15:0] reads_d, reads_q;  // outstanding requests of train clients; bounded by the buffer's beats
  logic [Clients-1:0] asks;
  logic [IndexBits-1:0] turn, winner_q;
  logic takes, space;
  dma_read_request_t taken_request;
  logic whole_done;

  always_comb begin
    asks = request_valid;
    if (reserved_q != '0) begin
      for (int unsigned i = 0; i < FetchClients; i++) begin
        asks[i] = request_valid[i] && reserved_q[i] != RoomBits'(FetchDepth);
      end
    end
  end

  vireo_rr_pick #(.Inputs(Clients)) u_turn (.requests_i(asks), .last_i(winner_q), .pick_o(turn));

  always_comb begin
    takes = asks != '0 && space;
    taken = '0;
    taken_request = '0;
    if (takes) begin
      for (int unsigned i = 0; i < Clients; i++) taken[i] = turn == IndexBits'(i);
    end
    for (int unsigned i = 0; i < Clients; i++) begin
      if (taken[i]) taken_request |= request[i];
    end
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
      winner_q <= IndexBits'(Clients - 1);
    end else begin
      if (takes) winner_q <= turn;
      reserved_q <= reserved_d;
      reads_q <= reads_d;
    end
  end

  assign idle_o = request_valid == '0 && reserved_q == '0 && reads_q == '0;

  logic chosen_valid, chosen_ready;
  dma_read_request_t chosen;
  logic [IndexBits-1:0] chosen_client;

  vireo_slice #(
    .Width(IndexBits + DmaReadRequestBits),
    .Depth(FetchBeats == 1 ? 2 : 1)
  ) u_chosen (
    .clk_i,
    .rst_ni,
    .s_valid_i(takes),
    .s_ready_o(space),
    .s_data_i({turn, taken_request}),
    .m_valid_o(chosen_valid),
    .m_ready_i(chosen_ready),
    .m_data_o({chosen_client, chosen})
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

  // Answers to fetch clients, in reserved places (places_suffice).
  logic first_q;  // the next beat is the first of a train
  logic [FetchClients-1:0] for_client;
  logic [FetchClients-1:0] place_free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= 1'b1;
    else if (train_valid) first_q <= train_last;
  end

  for (genvar i = 0; i < FetchClients; i++) begin : gen_for_client
    assign for_client[i] = train_valid && train_client == IndexBits'(i);
  end

  if (FetchBeats == 1) begin : gen_queues  // a beat is an answer
    dma_fetched_t answer;

    always_comb begin
      answer = '0;
      if (train_valid) answer = '{tag: train_tag, resp: train_resp, data: train_data[PartBits-1:0]};
    end

    for (genvar i = 0; i < FetchClients; i++) begin : gen_answer
      localparam int unsigned Bits = 8 * 32'(FetchBytes[i]);
      logic [7:0] tag;
      logic [1:0] resp;
      logic [Bits-1:0] data;

      vireo_fifo #(
        .Width(8 + 2 + Bits),
        .Depth(FetchDepth)
      ) u_fifo (
        .clk_i,
        .rst_ni,
        .s_valid_i(for_client[i]),
        .s_ready_o(place_free[i]),
        .s_data_i({answer.tag, answer.resp, answer.data[Bits-1:0]}),
        .m_valid_o(fetched_valid_o[i]),
        .m_ready_i(fetched_ready_i[i]),
        .m_data_o({tag, resp, data})
      );

      assign fetched_o[i] = '{tag: tag, resp: resp, data: FetchBits'(data)};
    end
  end else begin : gen_store
    // The beats of all clients lie in one RAM, from which one per cycle, as many as arrive, goes to the client's output
    // register. An answer may be read from the cycle after its first beat: a train has no gaps, so the other beats are
    // there in time. Queues of whole answers would need a RAM and a register of 64 bytes each, per client.
    localparam int unsigned StoreBits = $clog2(FetchClients);
    localparam int unsigned PlaceBits = $clog2(FetchDepth);
    localparam int unsigned PartIndexBits = $clog2(FetchBeats);

    typedef struct packed {
      logic [7:0] tag;
      axi_resp_e resp;
      logic [PartIndexBits-1:0] last_part;
    } about_t;

    logic [PartIndexBits-1:0] part_d, part_q;                  // of the next beat
    logic [FetchClients-1:0][PlaceBits-1:0] write_place_d, write_place_q, read_place_d, read_place_q;
    logic [FetchClients-1:0][RoomBits-1:0] stored_d, stored_q;  // answers, from their first beat until they are chosen
    logic [FetchClients-1:0] full_d, full_q;                    // the output register has an answer
    logic [StoreBits-1:0] write_client;
    logic write, begins;
    // Stage 1 reads a part, stage 2 moves it.
    logic more, choose;
    logic [FetchClients-1:0] waits;
    logic [StoreBits-1:0] pick, chosen_q;
    logic valid2_q;
    logic [StoreBits-1:0] read_client;
    logic [StoreBits-1:0] client2_q;
    logic [PlaceBits-1:0] read_place, place2_q;
    logic [PartIndexBits-1:0] read_part, part2_q;
    logic [PartBits-1:0] data2;
    about_t about2;

    vireo_rr_pick #(.Inputs(FetchClients)) u_pick (.requests_i(waits), .last_i(chosen_q), .pick_o(pick));

    // Apart from what follows from the pick: no loop for simulators.
    always_comb begin
      more = valid2_q && part2_q != about2.last_part;
      for (int unsigned i = 0; i < FetchClients; i++) begin
        waits[i] = stored_q[i] != '0 && !full_q[i] && !(valid2_q && client2_q == StoreBits'(i));
      end
    end

    always_comb begin
      write = for_client != '0;
      begins = write && first_q;
      write_client = StoreBits'(train_client);
      part_d = part_q;
      if (train_valid) part_d = train_last ? '0 : part_q + 1'b1;  // counts on in trains of train clients

      choose = !more && waits != '0;
      read_client = more ? client2_q : pick;
      read_place = more ? place2_q : read_place_q[pick];
      read_part = more ? part2_q + 1'b1 : '0;

      write_place_d = write_place_q;
      read_place_d = read_place_q;
      stored_d = stored_q;
      full_d = full_q & ~fetched_ready_i;
      for (int unsigned i = 0; i < FetchClients; i++) begin
        if (for_client[i] && train_last) write_place_d[i] = write_place_q[i] + 1'b1;
        if (choose && pick == StoreBits'(i)) read_place_d[i] = read_place_q[i] + 1'b1;
        stored_d[i] = stored_q[i] + RoomBits'(for_client[i] && first_q) - RoomBits'(choose && pick == StoreBits'(i));
        if (valid2_q && !more && client2_q == StoreBits'(i)) full_d[i] = 1'b1;
        place_free[i] = stored_q[i] != RoomBits'(FetchDepth) || !first_q;
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        part_q <= '0;
        write_place_q <= '0;
        read_place_q <= '0;
        stored_q <= '0;
        full_q <= '0;
        chosen_q <= StoreBits'(FetchClients - 1);
        valid2_q <= 1'b0;
      end else begin
        part_q <= part_d;
        write_place_q <= write_place_d;
        read_place_q <= read_place_d;
        stored_q <= stored_d;
        full_q <= full_d;
        if (choose) chosen_q <= pick;
        valid2_q <= more || choose;
      end
    end

    always_ff @(posedge clk_i) begin
      if (more || choose) begin
        client2_q <= read_client;
        place2_q <= read_place;
        part2_q <= read_part;
      end
    end

    vireo_ram_1r1w #(
      .Width(PartBits),
      .Depth(FetchClients * FetchDepth * FetchBeats)
    ) u_parts (
      .clk_i,
      .write_i(write),
      .write_address_i({write_client, write_place_q[write_client], part_q}),
      .write_data_i(train_data),
      .read_i(more || choose),
      .read_address_i({read_client, read_place, read_part}),
      .read_data_o(data2)
    );

    vireo_ram_1r1w #(
      .Width($bits(about_t)),
      .Depth(FetchClients * FetchDepth)
    ) u_about (
      .clk_i,
      .write_i(begins),
      .write_address_i({write_client, write_place_q[write_client]}),
      .write_data_i({train_tag, train_resp, PartIndexBits'((train_bytes - 1'b1) / BytesBits'(PartBits / 8))}),
      .read_i(choose),
      .read_address_i({pick, read_place_q[pick]}),
      .read_data_o(about2)
    );

    for (genvar i = 0; i < FetchClients; i++) begin : gen_answer
      localparam int unsigned Parts = (8 * 32'(FetchBytes[i]) + PartBits - 1) / PartBits;  // of its largest answer
      logic load;
      logic [7:0] tag_q;
      axi_resp_e resp_q;
      logic [Parts-1:0][PartBits-1:0] data_q;

      assign load = valid2_q && client2_q == StoreBits'(i);

      always_ff @(posedge clk_i) begin
        if (load && part2_q == '0) begin
          tag_q <= about2.tag;
          resp_q <= about2.resp;
        end
      end

      for (genvar part = 0; part < Parts; part++) begin : gen_part
        always_ff @(posedge clk_i) begin
          if (load && part2_q == '0 && part != 0) data_q[part] <= '0;
          else if (load && part2_q == PartIndexBits'(part)) data_q[part] <= data2;
        end
      end

      assign fetched_valid_o[i] = full_q[i];
      assign fetched_o[i] = '{tag: tag_q, resp: resp_q, data: FetchBits'(data_q)};
    end
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
  for (genvar i = 0; i < FetchClients; i++) begin : gen_request_fits
    request_fits: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fetch_request_valid_i[i] |-> fetch_request_i[i].bytes <= 13'(FetchBytes[i]));
  end
  places_suffice: assert property (@(posedge clk_i) disable iff (!rst_ni) (for_client & ~place_free) == '0);
`endif

endmodule
