// SPDX-License-Identifier: Apache-2.0

// The BAR port's answers to completions (CC), in the order of the requests. The port cannot wait for the way to the
// host: so there is room for every answer of `Reads` requests, and no more than these are passed on by the block.
module vireo_pcie_answers
  import vireo_spec_pkg::*;
  import vireo_pcie_pkg::*;
#(
  parameter int unsigned DataBits,
  localparam int unsigned CcUserBits = cc_user_bits(DataBits)
) (
  input  logic                   clk_i,
  input  logic                   power_rst_ni,    // of the number of reads that the block may pass on
  input  logic                   rst_ni,

  output logic                   cq_np_req_o,     // one more request that is not posted may come
  output logic                   cc_tvalid_o,
  input  logic                   cc_tready_i,
  output logic [DataBits-1:0]    cc_tdata_o,
  output logic [DataBits/32-1:0] cc_tkeep_o,
  output logic                   cc_tlast_o,
  output logic [CcUserBits-1:0]  cc_tuser_o,

  input  logic                   answer_valid_i,  // always taken
  input  pcie_answer_t           answer_i,
  input  logic                   part_valid_i,    // an access that is answered, in the cycle in which it is made
  input  pcie_part_t             part_i,
  input  logic                   bar_read_valid_i,
  input  logic [63:0]            bar_read_data_i,
  output logic                   window_read_valid_o,
  output logic [63:0]            window_read_data_o,

  input  logic [31:0]            posted_i,        // writes and messages of the device so far
  input  logic [31:0]            posted_passed_i, // of them, those that no completion passes any more

  input  logic                   stop_i,          // begin no completion
  output logic                   idle_o           // no completion is half sent
);

  localparam int unsigned Lanes = DataBits / 32;
  localparam int unsigned Reads = 8;
  localparam int unsigned WordDepth = 128;  // Reads x (PcieReadDwordsMax / 2 + 1) words of 8 bytes, rounded up
  localparam int unsigned PartDepth = 16;   // more than BarReadLatency and the latency of the queue
  localparam int unsigned Dwords = PcieCompletionDwords + PcieReadDwordsMax;
  localparam int unsigned BufferDwords = (Dwords + Lanes - 1) / Lanes * Lanes;
  localparam int unsigned CountBits = $clog2(Reads + 1);

  if (32'(BarReadLatency) < 3) $fatal(1, "the queue of accesses is slower than their answers");

  // --- Reads that the block may pass on: given to it and not used, and those that are here

  logic [CountBits-1:0] given_q, held_q;
  logic done;

  always_ff @(posedge clk_i or negedge power_rst_ni) begin
    if (!power_rst_ni) given_q <= '0;
    else given_q <= given_q + CountBits'(cq_np_req_o) - CountBits'(answer_valid_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) held_q <= '0;
    else held_q <= held_q + CountBits'(answer_valid_i) - CountBits'(done);
  end

  assign cq_np_req_o = power_rst_ni && 32'(given_q) + 32'(held_q) < Reads;

  // --- What the port answers, put together to words of 8 bytes

  pcie_part_t part;
  logic part_room, part_known;
  logic [63:0] taken, word_d, word_q;
  logic word_valid_q, marks_q;

  vireo_fifo #(
    .Width($bits(pcie_part_t)),
    .Depth(PartDepth)
  ) u_parts (
    .clk_i,
    .rst_ni,
    .s_valid_i(part_valid_i),
    .s_ready_o(part_room),
    .s_data_i(part_i),
    .m_valid_o(part_known),
    .m_ready_i(bar_read_valid_i),
    .m_data_o(part)
  );

  always_comb begin
    taken = '0;
    for (int unsigned i = 0; i < 8; i++) if (4'(i) < part.bytes) taken[8*i+:8] = bar_read_data_i[8*i+:8];
    word_d = (word_valid_q ? '0 : word_q) | taken << 8 * part.place;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      word_valid_q <= 1'b0;
      marks_q <= 1'b0;
    end else begin
      if (bar_read_valid_i && !part.window) word_q <= word_d;
      else if (word_valid_q) word_q <= '0;
      word_valid_q <= bar_read_valid_i && !part.window && part.last;
      marks_q <= bar_read_valid_i && !part.window && part.ends;
    end
  end

  assign window_read_valid_o = bar_read_valid_i && part.window;
  assign window_read_data_o = bar_read_data_i;

  logic word_room, mark_room, answer_room;
  logic word_known, word_take, mark_known, mark_take, answer_known;
  logic [63:0] word;
  logic [31:0] mark;
  pcie_answer_t answer;

  vireo_fifo #(
    .Width(64),
    .Depth(WordDepth)
  ) u_words (
    .clk_i,
    .rst_ni,
    .s_valid_i(word_valid_q),
    .s_ready_o(word_room),
    .s_data_i(word_q),
    .m_valid_o(word_known),
    .m_ready_i(word_take),
    .m_data_o(word)
  );

  // What the device had written when it answered.
  vireo_fifo #(
    .Width(32),
    .Depth(Reads)
  ) u_marks (
    .clk_i,
    .rst_ni,
    .s_valid_i(marks_q),
    .s_ready_o(mark_room),
    .s_data_i(posted_i),
    .m_valid_o(mark_known),
    .m_ready_i(mark_take),
    .m_data_o(mark)
  );

  vireo_fifo #(
    .Width($bits(pcie_answer_t)),
    .Depth(Reads)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .s_valid_i(answer_valid_i),
    .s_ready_o(answer_room),
    .s_data_i(answer_i),
    .m_valid_o(answer_known),
    .m_ready_i(done),
    .m_data_o(answer)
  );

  // --- Completions: the descriptor, then the data behind it, then both are sent

  typedef enum logic [1:0] {
    StIdle,
    StGather,
    StSend
  } state_e;
  state_e state_q;
  logic [BufferDwords-1:0][31:0] buffer_q;
  logic [4:0] at_q;      // double word of the data that the next one is
  logic [4:0] left_q;    // double words to send
  logic upper_q;         // the first one is the upper half of its word
  logic first_q;
  logic begin_now, send_ready, send_last;
  logic behind;          // writes and messages before the answer have not passed yet
  logic [Lanes-1:0] keep;
  logic [CcUserBits-1:0] user;
  pcie_cc_t descriptor;

  assign behind = 32'(posted_passed_i - mark) >= 32'h8000_0000;

  always_comb begin
    begin_now = state_q == StIdle && answer_known && !stop_i
             && (answer.status != PcieStatusSuccess || (mark_known && !behind));
    mark_take = begin_now && answer.status == PcieStatusSuccess;
    word_take = state_q == StGather;
    send_last = 32'(left_q) <= Lanes;
    done = state_q == StSend && send_ready && send_last;
    for (int unsigned lane = 0; lane < Lanes; lane++) keep[lane] = lane < 32'(left_q);
    descriptor = '{
      force_ecrc: 1'b0,
      attributes: answer.attributes,
      traffic_class: answer.traffic_class,
      completer_id_enable: 1'b0,
      completer_id: {8'h00, answer.target_function},
      tag: answer.tag,
      requester_id: answer.requester_id,
      reserved3: '0,
      poisoned: 1'b0,
      status: answer.status,
      dwords: answer.dwords,
      reserved2: '0,
      locked: answer.locked,
      byte_count: answer.byte_count,
      reserved1: '0,
      address_type: '0,
      reserved0: '0,
      lower_address: answer.lower_address
    };
  end

  if (DataBits == 512) begin : gen_user_512
    logic [3:0] end_lane;
    assign end_lane = 4'(left_q - 5'd1);
    // is_sop, then is_eop with its lane, of the first of two packets.
    always_comb begin
      user = '0;
      user[0] = first_q;
      user[6] = send_last;
      user[8+:4] = send_last ? end_lane : '0;
    end
  end else begin : gen_user
    logic unused_first;
    assign unused_first = first_q;
    assign user = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (begin_now) state_q <= answer.status == PcieStatusSuccess ? StGather : StSend;
        StGather: if (word_known && 11'(at_q) + (upper_q ? 11'd1 : 11'd2) >= answer.dwords) state_q <= StSend;
        StSend: if (done) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        buffer_q[PcieCompletionDwords-1:0] <= descriptor;
        at_q <= '0;
        left_q <= 5'(PcieCompletionDwords) + 5'(answer.dwords);
        upper_q <= answer.lower_address[2];
        first_q <= 1'b1;
      end
      StGather: if (word_known) begin
        for (int unsigned i = 0; i < PcieReadDwordsMax; i++) begin
          if (5'(i) == at_q) buffer_q[PcieCompletionDwords+i] <= upper_q ? word[63:32] : word[31:0];
          if (5'(i) == at_q + 5'd1 && !upper_q) buffer_q[PcieCompletionDwords+i] <= word[63:32];
        end
        at_q <= at_q + (upper_q ? 5'd1 : 5'd2);
        upper_q <= 1'b0;
      end
      default: if (send_ready) begin
        buffer_q <= buffer_q >> DataBits;
        left_q <= left_q - 5'(Lanes);
        first_q <= 1'b0;
      end
    endcase
  end

  vireo_slice #(.Width(DataBits + Lanes + 1 + CcUserBits)) u_output (
    .clk_i,
    .rst_ni,
    .s_valid_i(state_q == StSend),
    .s_ready_o(send_ready),
    .s_data_i({user, send_last, keep, buffer_q[Lanes-1:0]}),
    .m_valid_o(cc_tvalid_o),
    .m_ready_i(cc_tready_i),
    .m_data_o({cc_tuser_o, cc_tlast_o, cc_tkeep_o, cc_tdata_o})
  );

  assign idle_o = state_q == StIdle && !cc_tvalid_o;

`ifndef SYNTHESIS
  room: assert property (@(posedge clk_i) disable iff (!rst_ni)
    (!part_valid_i || part_room) && (!word_valid_q || word_room) && (!marks_q || mark_room)
    && (!answer_valid_i || answer_room));
  part_is_known: assert property (@(posedge clk_i) disable iff (!rst_ni) bar_read_valid_i |-> part_known);
`else
  logic unused;
  assign unused = part_room ^ word_room ^ mark_room ^ answer_room ^ part_known;
`endif

endmodule
