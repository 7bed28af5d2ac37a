// SPDX-License-Identifier: Apache-2.0

// Requests of the host (CQ) to accesses of the BAR port, its answers to completions (CC).
//
// Accesses are made in the order of the requests, one per cycle; the port takes each at once. A request is cut into the
// sizes that the port has: 8 bytes where both double words are whole, else 4, 2 or 1 by the byte enables. Nothing that
// this block does for a request waits for the way to the host: what a read needs is reserved before the block passes
// the read on (`cq_np_req_o`), so that no write ever waits behind one. [PCIe 5.0, 2.4.1 and 2.6.1]
//
// A completion waits until every write and message that was before its answer has passed the point in the block
// behind which a completion cannot pass it.
module vireo_pcie_completer
  import vireo_spec_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter int unsigned DataBits,
  localparam int unsigned CqUserBits = cq_user_bits(DataBits),
  localparam int unsigned CcUserBits = cc_user_bits(DataBits)
) (
  input  logic                   clk_i,
  input  logic                   power_rst_ni,       // of the block's own state: the reads it may pass on
  input  logic                   rst_ni,             // also by a function level reset

  input  logic                   cq_tvalid_i,
  output logic                   cq_tready_o,
  input  logic [DataBits-1:0]    cq_tdata_i,
  input  logic [DataBits/32-1:0] cq_tkeep_i,
  input  logic                   cq_tlast_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [CqUserBits-1:0]  cq_tuser_i,         // enables of bytes of data and parity are not needed
  // verilator lint_on UNUSEDSIGNAL
  output logic                   cq_np_req_o,        // one more read may come
  output logic                   cc_tvalid_o,
  input  logic                   cc_tready_i,
  output logic [DataBits-1:0]    cc_tdata_o,
  output logic [DataBits/32-1:0] cc_tkeep_o,
  output logic                   cc_tlast_o,
  output logic [CcUserBits-1:0]  cc_tuser_o,

  output logic                   bar_valid_o,
  output bar_access_t            bar_o,
  input  logic                   bar_read_valid_i,
  input  logic [63:0]            bar_read_data_i,

  // An access of the window in configuration space.
  input  logic                   window_valid_i,
  output logic                   window_ready_o,
  input  bar_access_t            window_i,
  output logic                   window_read_valid_o,
  output logic [63:0]            window_read_data_o,

  input  logic [31:0]            posted_i,           // writes and messages of the device so far
  input  logic [31:0]            posted_passed_i,    // of them, those that no completion passes any more
  output logic [7:0]             received_o,         // requests of the host
  output logic [7:0]             done_o,             // those whose accesses have been made

  input  logic                   stop_i,             // begin no completion
  output logic                   cc_idle_o,          // no completion is half sent
  output logic                   idle_o              // all requests that came have been accessed
);

  localparam int unsigned Lanes = DataBits / 32;
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned LastBeAt = last_be_at(DataBits);
  localparam int unsigned DiscontinueAt = cq_discontinue_at(DataBits);

  // --- Requests

  pcie_cq_t look, request;
  logic look_wanted, request_valid, request_ready, request_payload;
  logic [7:0] request_be;  // of the last and of the first double word
  logic payload_valid, payload_ready, payload_last, payload_damaged, unpack_idle;
  logic [DataBits-1:0] payload;
  logic unused;
  assign unused = ^look ^ (^request);

  function automatic logic has_bar(input logic [2:0] bar_id);
    return bar_id == BarVirtio || bar_id == BarMsix;
  endfunction

  assign look_wanted = look.request_type == PcieRequestMemoryWrite && has_bar(look.bar_id);

  vireo_pcie_unpack #(
    .DataBits(DataBits),
    .HeaderDwords(PcieRequestDwords),
    .HeaderUserBits(8)
  ) u_unpack (
    .clk_i,
    .rst_ni,
    .s_valid_i(cq_tvalid_i),
    .s_ready_o(cq_tready_o),
    .s_data_i(cq_tdata_i),
    .s_keep_i(cq_tkeep_i),
    .s_last_i(cq_tlast_i),
    .s_user_i({cq_tuser_i[LastBeAt+:4], cq_tuser_i[3:0]}),
    .s_damaged_i(cq_tuser_i[DiscontinueAt]),
    .look_o(look),
    .wanted_i(look_wanted),
    .header_valid_o(request_valid),
    .header_ready_i(request_ready),
    .header_o(request),
    .header_user_o(request_be),
    .header_payload_o(request_payload),
    .payload_valid_o(payload_valid),
    .payload_ready_i(payload_ready),
    .payload_o(payload),
    .payload_last_o(payload_last),
    .payload_damaged_o(payload_damaged),
    .idle_o(unpack_idle)
  );

  // The completion of a request that is not posted.
  pcie_answer_t answer;
  logic is_posted, is_read, is_success;

  // Bytes of a read, and the place of the first one in its double word. [PCIe 5.0, 2.3.1.1, tables 2-38 and 2-39]
  function automatic logic [1:0] bytes_before(input logic [3:0] enables);
    return enables[0] ? 2'd0 : enables[1] ? 2'd1 : enables[2] ? 2'd2 : enables[3] ? 2'd3 : 2'd0;
  endfunction
  function automatic logic [1:0] bytes_behind(input logic [3:0] enables);
    return enables[3] ? 2'd0 : enables[2] ? 2'd1 : enables[1] ? 2'd2 : enables[0] ? 2'd3 : 2'd3;
  endfunction

  always_comb begin
    is_posted = request.request_type == PcieRequestMemoryWrite || request.request_type > PcieRequestLockedRead;
    is_read = request.request_type == PcieRequestMemoryRead;
    is_success = is_read && has_bar(request.bar_id) && request.dwords <= 11'(PcieReadDwordsMax) && request.dwords != '0;
    answer = '{
      attributes: request.attributes,
      traffic_class: request.traffic_class,
      target_function: request.target_function,
      tag: request.tag,
      requester_id: request.requester_id,
      locked: request.request_type == PcieRequestLockedRead,
      status: is_success ? PcieStatusSuccess
              : is_read && has_bar(request.bar_id) ? PcieStatusCompleterAbort : PcieStatusUnsupportedRequest,
      dwords: is_success ? request.dwords : '0,
      byte_count: 13'd4,
      lower_address: '0
    };
    if (is_read || answer.locked) begin
      answer.byte_count = {request.dwords, 2'b00} - 13'(bytes_before(request_be[3:0]))
                        - 13'(bytes_behind(request.dwords == 11'd1 ? request_be[3:0] : request_be[7:4]));
      answer.lower_address = {request.address[4:0], bytes_before(request_be[3:0])};
    end
  end

  // --- Accesses: a request is walked by 8 bytes, and these by what their enables leave

  typedef enum logic [1:0] {
    StIdle,
    StWrite,
    StRead,
    StDrop  // payload behind the length that the descriptor has
  } state_e;
  state_e state_d, state_q;
  logic [2:0] bar_q;
  logic [24:0] offset_d, offset_q;  // of a double word; then of 8 bytes
  logic [10:0] left_d, left_q;      // double words, this one included
  logic first_d, first_q;           // double word
  logic resumed_d, resumed_q;       // enables_q has what is left of these 8 bytes
  logic [7:0] enables_d, enables_q, be_q;
  logic [7:0] enables, picked;
  logic [2:0] place;
  logic [3:0] bytes;
  logic [10:0] covered;
  logic finishes, ends, beat_ends, is_flush;  // these 8 bytes; the request
  logic [63:0] word;
  logic access_valid;
  bar_access_t access;
  pcie_part_t part;
  logic [7:0] done_d;

  // The lowest bytes that one access takes.
  function automatic logic [7:0] pick(input logic [7:0] of);
    pick = '0;
    if (of == '1) return '1;
    for (int unsigned half = 2; half-- > 0;) if (of[4*half+:4] != '0) begin
      pick = '0;
      if (of[4*half+:4] == '1) begin
        pick[4*half+:4] = '1;
      end else if (of[4*half+:2] == '1) begin
        pick[4*half+:2] = '1;
      end else if (of[4*half+:2] != '0) begin
        pick[4*half+:2] = of[4*half] ? 2'b01 : 2'b10;
      end else if (of[4*half+2+:2] == '1) begin
        pick[4*half+2+:2] = '1;
      end else begin
        pick[4*half+2+:2] = of[4*half+2] ? 2'b01 : 2'b10;
      end
    end
  endfunction

  if (Lanes > 2) begin : gen_word_of_beat
    assign word = payload[64*offset_q[LaneBits+1:3]+:64];
    assign beat_ends = &offset_q[LaneBits+1:3];
  end else begin : gen_word_is_beat
    assign word = payload;
    assign beat_ends = 1'b1;
  end

  always_comb begin
    // These 8 bytes.
    covered = offset_q[2] || left_q == 11'd1 ? 11'd1 : 11'd2;
    enables = '0;
    if (offset_q[2]) begin
      enables[7:4] = be_q[3:0];  // only the first double word lies in an upper half alone
    end else begin
      enables[3:0] = first_q ? be_q[3:0] : left_q == 11'd1 ? be_q[7:4] : '1;
      if (left_q == 11'd2) enables[7:4] = be_q[7:4];
      else if (left_q > 11'd2) enables[7:4] = '1;
    end
    if (resumed_q) enables = enables_q;
    picked = pick(enables);
    place = '0;
    for (int unsigned i = 8; i-- > 0;) if (picked[i]) place = 3'(i);
    bytes = 4'($countones(picked));
    // A read without enables is a flush: it returns anything. [PCIe 5.0, 2.2.5] The pending bits can be read at any
    // time.
    is_flush = enables == '0 && state_q == StRead;
    finishes = enables == picked;
    ends = finishes && left_q == covered;

    access_valid = 1'b0;
    access = '{write: 1'b0, bar_index: bar_q, offset: {7'b0, offset_q[24:3], place}, bytes: bytes, data: '0};
    payload_ready = 1'b0;
    unique case (state_q)
      StWrite: begin
        access.write = 1'b1;
        for (int unsigned i = 0; i < 8; i++) begin
          if (4'(i) < bytes) access.data[8*i+:8] = word[8*(32'(place)+i)+:8];
        end
        access_valid = payload_valid && !payload_damaged && enables != '0;
        payload_ready = payload_damaged || (finishes && (ends || beat_ends));
      end
      StRead: begin
        access_valid = 1'b1;
        if (is_flush) access = '{write: 1'b0, bar_index: BarMsix, offset: BarMsixPba, bytes: 4'd4, data: '0};
      end
      StDrop: payload_ready = 1'b1;
      default: if (window_valid_i && !request_valid) begin
        access_valid = 1'b1;
        access = window_i;
      end
    endcase

    state_d = state_q;
    offset_d = offset_q;
    left_d = left_q;
    first_d = first_q;
    resumed_d = resumed_q;
    enables_d = enables & ~picked;
    done_d = done_o;
    unique case (state_q)
      StIdle: if (request_valid) begin
        offset_d = {request.address[22:0], 2'b00};
        if (request.bar_id == BarMsix) offset_d[24:16] = '0;
        left_d = request.dwords;
        first_d = 1'b1;
        resumed_d = 1'b0;
        if (is_success) state_d = StRead;
        else if (request_payload) state_d = StWrite;
        else done_d = done_o + 1'b1;
      end
      StWrite: if (payload_valid) begin
        resumed_d = !finishes;
        if (finishes) begin
          first_d = 1'b0;
          left_d = left_q - covered;
          offset_d = {offset_q[24:3] + 1'b1, 3'b000};
        end
        if (payload_ready && payload_last) begin
          state_d = StIdle;
          done_d = done_o + 1'b1;
        end else if (ends) begin
          state_d = StDrop;
        end
      end
      StDrop: if (payload_valid && payload_last) begin
        state_d = StIdle;
        done_d = done_o + 1'b1;
      end
      StRead: begin
        resumed_d = !finishes;
        if (finishes) begin
          first_d = 1'b0;
          left_d = left_q - covered;
          offset_d = {offset_q[24:3] + 1'b1, 3'b000};
        end
        if (ends) begin
          state_d = StIdle;
          done_d = done_o + 1'b1;
        end
      end
    endcase
  end

  assign part = '{window: state_q == StIdle, place: is_flush ? 3'd0 : place, bytes: access.bytes, last: finishes, ends: ends};

  assign request_ready = state_q == StIdle;
  assign window_ready_o = state_q == StIdle && !request_valid;
  assign bar_valid_o = access_valid;
  assign bar_o = access;
  assign idle_o = unpack_idle && state_q == StIdle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      done_o <= '0;
      received_o <= '0;
    end else begin
      state_q <= state_d;
      done_o <= done_d;
      if (cq_tvalid_i && cq_tready_o && cq_tlast_i) received_o <= received_o + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    offset_q <= offset_d;
    left_q <= left_d;
    first_q <= first_d;
    resumed_q <= resumed_d;
    enables_q <= enables_d;
    if (state_q == StIdle) begin
      bar_q <= request.bar_id;
      be_q <= request_be;
    end
  end

  vireo_pcie_answers #(.DataBits(DataBits)) u_answers (
    .clk_i,
    .power_rst_ni,
    .rst_ni,
    .cq_np_req_o,
    .cc_tvalid_o,
    .cc_tready_i,
    .cc_tdata_o,
    .cc_tkeep_o,
    .cc_tlast_o,
    .cc_tuser_o,
    .answer_valid_i(request_valid && request_ready && !is_posted),
    .answer_i(answer),
    .part_valid_i(access_valid && !access.write),
    .part_i(part),
    .bar_read_valid_i,
    .bar_read_data_i,
    .window_read_valid_o,
    .window_read_data_o,
    .posted_i,
    .posted_passed_i,
    .stop_i,
    .idle_o(cc_idle_o)
  );

endmodule
