// SPDX-License-Identifier: Apache-2.0

// Completions of the device's reads (RC) to beats on its R channel, in the lanes of their addresses. Completions of one
// read come in the order of their addresses, split at the read completion boundary, which is a whole number of beats;
// those of different reads in any order. [PCIe 5.0, 2.3.1.1]
//
// Every read gets exactly its beats: what a failed one lacks is made here, with an error. There is no timer: the block
// has one, whose time the host chose, and reports the reads that it gave up.
//
// A completion waits until the writes of the host that came before it have been done. [PCIe 5.0, 2.4.1; PG213: the block
// passes it on behind them]
module vireo_pcie_read_data
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits,
  localparam int unsigned TagBits = $clog2(Config.dma_tags),
  localparam int unsigned RcUserBits = rc_user_bits(DataBits)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   rc_tvalid_i,
  output logic                   rc_tready_o,
  input  logic [DataBits-1:0]    rc_tdata_i,
  input  logic [DataBits/32-1:0] rc_tkeep_i,
  input  logic                   rc_tlast_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [RcUserBits-1:0]  rc_tuser_i,      // enables of bytes and parity are not needed
  // verilator lint_on UNUSEDSIGNAL

  input  logic                   read_valid_i,    // a read is sent, or refused
  output logic                   read_ready_o,
  input  logic                   read_refused_i,
  input  logic [7:0]             read_tag_i,
  input  logic [TagBits-1:0]     read_id_i,
  input  logic [8:0]             read_beats_i,
  output logic [255:0]           tag_busy_o,

  input  logic [7:0]             requests_received_i,  // of the host
  input  logic [7:0]             requests_done_i,

  output logic                   rvalid_o,        // always taken
  output logic [TagBits-1:0]     rid_o,
  output logic [DataBits-1:0]    rdata_o,
  output logic [1:0]             rresp_o,
  output logic                   rlast_o,
  output logic                   idle_o           // no completion is here or half here
);

  localparam int unsigned DiscontinueAt = rc_discontinue_at(DataBits);

  if (DataBits > 512) $fatal(1, "a beat is longer than the read completion boundary");

  // What is known of a read, by its tag on the link.
  typedef struct packed {
    logic [TagBits-1:0] id;
    logic [8:0]         beats;
  } read_t;
  read_t reads [256];
  logic [8:0] done [256];         // beats that have been sent, if `begun`
  logic [255:0] busy_q, begun_q;

  // --- Completions come in

  pcie_rc_t look, header;
  logic header_valid, header_take, header_payload, payload_valid, payload_take, payload_last, payload_damaged;
  logic unpack_idle, unpack_ready, wanted;
  logic [DataBits-1:0] payload;
  logic header_user;

  // Only a completion without error, or a poisoned one, has data that is used.
  assign wanted = look.error_code == PcieErrorNone || look.error_code == PcieErrorPoisoned;

  vireo_pcie_unpack #(
    .DataBits(DataBits),
    .HeaderDwords(PcieCompletionDwords),
    .HeaderUserBits(1)
  ) u_unpack (
    .clk_i,
    .rst_ni,
    .s_valid_i(rc_tvalid_i),
    .s_ready_o(unpack_ready),
    .s_data_i(rc_tdata_i),
    .s_keep_i(rc_tkeep_i),
    .s_last_i(rc_tlast_i),
    .s_user_i(1'b0),
    .s_damaged_i(rc_tuser_i[DiscontinueAt]),
    .look_o(look),
    .wanted_i(wanted),
    .header_valid_o(header_valid),
    .header_ready_i(header_take),
    .header_o(header),
    .header_user_o(header_user),
    .header_payload_o(header_payload),
    .payload_valid_o(payload_valid),
    .payload_ready_i(payload_take),
    .payload_o(payload),
    .payload_last_o(payload_last),
    .payload_damaged_o(payload_damaged),
    .idle_o(unpack_idle)
  );
  assign rc_tready_o = unpack_ready;

  // --- Beats go out

  typedef enum logic [2:0] {
    StIdle,
    StOrder,  // earlier writes of the host are being done
    StData,
    StDrop,   // data that belongs to no read
    StFill    // what a read lacks
  } state_e;
  state_e state_d, state_q;
  logic [7:0] tag_d, tag_q;
  read_t read;
  logic [8:0] sent, sent_next, left;
  logic ends_d, ends_q;          // the read ends with this completion
  logic poisoned_d, poisoned_q;
  logic data_d, data_q;
  logic [7:0] until_d, until_q;
  logic earlier, behind;         // requests of the host have come and are not done; those from before this completion
  logic known, fatal;
  logic emit, emit_last, emit_error, finish, store;
  logic refused_valid, refused_ready;
  logic [7:0] refused_tag;

  vireo_slice #(.Width(8)) u_refused (
    .clk_i,
    .rst_ni,
    .s_valid_i(read_valid_i && read_refused_i),
    .s_ready_o(read_ready_o),
    .s_data_i(read_tag_i),
    .m_valid_o(refused_valid),
    .m_ready_i(refused_ready),
    .m_data_o(refused_tag)
  );

  assign earlier = 8'(requests_done_i - requests_received_i) >= 8'h80;
  assign behind = 8'(requests_done_i - until_q) >= 8'h80;

  always_comb begin
    read = reads[tag_q];
    sent = begun_q[tag_q] ? done[tag_q] : '0;
    left = read.beats - sent;
    sent_next = sent + 9'd1;
    known = busy_q[header.tag] && header.error_code != PcieErrorTag && header.error_code != PcieErrorMismatch;
    fatal = header.error_code == PcieErrorStatus || header.error_code == PcieErrorLength
         || header.error_code == PcieErrorReset || header.error_code == PcieErrorTimeout;

    state_d = state_q;
    tag_d = tag_q;
    ends_d = ends_q;
    poisoned_d = poisoned_q;
    data_d = data_q;
    until_d = until_q;
    header_take = 1'b0;
    refused_ready = 1'b0;
    payload_take = 1'b0;
    emit = 1'b0;
    emit_error = poisoned_q;
    finish = 1'b0;
    unique case (state_q)
      StIdle: if (header_valid) begin
        header_take = 1'b1;
        tag_d = header.tag;
        ends_d = fatal || header.completed;
        poisoned_d = header.error_code == PcieErrorPoisoned;
        data_d = header_payload;
        until_d = requests_received_i;
        if (!known) state_d = header_payload ? StDrop : StIdle;
        else if (earlier) state_d = StOrder;
        else state_d = header_payload ? StData : ends_d ? StFill : StIdle;
      end else if (refused_valid) begin
        refused_ready = 1'b1;
        tag_d = refused_tag;
        ends_d = 1'b1;
        state_d = StFill;
      end
      StOrder: if (!behind) state_d = data_q ? StData : ends_q ? StFill : StIdle;
      StData: if (payload_valid) begin
        payload_take = 1'b1;
        emit = left != '0;
        emit_error = poisoned_q || payload_damaged;
        if (payload_last) begin
          finish = ends_q && left <= 9'd1;
          state_d = ends_q && left > 9'd1 ? StFill : StIdle;
        end
      end
      StDrop: begin
        payload_take = 1'b1;
        if (payload_valid && payload_last) state_d = StIdle;
      end
      StFill: begin
        emit = left != '0;
        emit_error = 1'b1;
        finish = left <= 9'd1;
        if (finish) state_d = StIdle;
      end
      default: state_d = StIdle;
    endcase
    emit_last = emit && left == 9'd1;
    store = emit;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      busy_q <= '0;
      begun_q <= '0;
      rvalid_o <= 1'b0;
    end else begin
      state_q <= state_d;
      rvalid_o <= emit;
      if (store) begun_q[tag_q] <= 1'b1;
      if (finish) busy_q[tag_q] <= 1'b0;
      if (read_valid_i) begin
        busy_q[read_tag_i] <= 1'b1;
        begun_q[read_tag_i] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    tag_q <= tag_d;
    ends_q <= ends_d;
    poisoned_q <= poisoned_d;
    data_q <= data_d;
    until_q <= until_d;
    rid_o <= read.id;
    rdata_o <= state_q == StData ? payload : '0;
    rresp_o <= emit_error ? AxiRespSlverr : AxiRespOkay;
    rlast_o <= emit_last;
    if (store) done[tag_q] <= sent_next;
    if (read_valid_i) reads[read_tag_i] <= '{id: read_id_i, beats: read_beats_i};
  end

  assign tag_busy_o = busy_q;
  assign idle_o = unpack_idle && state_q == StIdle && !refused_valid;

  logic unused;
  assign unused = header_user ^ (^header) ^ (^look);

endmodule
