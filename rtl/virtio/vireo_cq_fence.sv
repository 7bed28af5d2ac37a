// SPDX-License-Identifier: Apache-2.0

// Tells when the accesses of vireo_cq_writer that were begun before the last write of a virtqueue's entry have ended:
// the operation in progress and an open batch, then the requests for buffers and the CQEs parked, then the slots in use,
// then the reads of event suppression that these have caused. All of them end in order, so it counts those of before,
// and stops nobody.
module vireo_cq_fence
  import vireo_cq_pkg::*;
#(
  parameter int unsigned Slots,  // a power of two, 4 to 128
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    start_i,      // pulse: an entry is written
  input  logic                    operates_i,   // an operation or a batch is in progress
  // How many there are, and that one ends.
  input  logic [AskBits-1:0]      asks_i,
  input  logic                    ask_ends_i,
  input  logic [ParkBits-1:0]     parks_i,
  input  logic                    park_ends_i,
  input  logic [SlotBits:0]       slots_i,
  input  logic                    slot_ends_i,
  input  logic [QuestionBits-1:0] questions_i,
  input  logic                    question_ends_i,
  output logic                    fence_o       // they have not ended
);

  typedef enum logic [2:0] {
    FenceNone,
    FenceOperation,
    FenceBuffers,
    FenceSlots,
    FenceQuestions
  } fence_e;
  localparam int unsigned BeforeBits = SlotBits + 1 > QuestionBits ? SlotBits + 1 : QuestionBits;

  fence_e fence_d, fence_q;
  logic [BeforeBits-1:0] before_d, before_q;  // slots, questions
  logic [AskBits-1:0] asks_before_d, asks_before_q;
  logic [ParkBits-1:0] parks_before_d, parks_before_q;

  always_comb begin
    fence_d = fence_q;
    before_d = before_q;
    asks_before_d = asks_before_q - AskBits'(ask_ends_i && asks_before_q != '0);
    parks_before_d = parks_before_q - ParkBits'(park_ends_i && parks_before_q != '0);
    unique case (fence_q)
      FenceNone: ;
      FenceOperation: if (!operates_i) begin
        fence_d = FenceBuffers;
        asks_before_d = asks_i - AskBits'(ask_ends_i);
        parks_before_d = parks_i - ParkBits'(park_ends_i);
      end
      FenceBuffers: if (asks_before_q == '0 && parks_before_q == '0) begin
        fence_d = FenceSlots;
        before_d = BeforeBits'(slots_i) - BeforeBits'(slot_ends_i);
      end
      FenceSlots: begin
        before_d = before_q - BeforeBits'(slot_ends_i);
        if (before_q == '0) begin
          fence_d = FenceQuestions;
          before_d = BeforeBits'(questions_i) - BeforeBits'(question_ends_i);
        end
      end
      FenceQuestions: begin
        before_d = before_q - BeforeBits'(question_ends_i);
        if (before_q == '0) fence_d = FenceNone;
      end
      default: fence_d = FenceNone;
    endcase
    if (start_i) fence_d = FenceOperation;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fence_q <= FenceNone;
    else fence_q <= fence_d;
  end
  always_ff @(posedge clk_i) begin
    before_q <= before_d;
    asks_before_q <= asks_before_d;
    parks_before_q <= parks_before_d;
  end

  assign fence_o = fence_q != FenceNone;

endmodule
