// SPDX-License-Identifier: Apache-2.0

// Answers in vireo_read_responder. StAnswer: one that comes passes through, is held, or is a READ behind the others of its
// QP. StTurn: one that is held leaves, or all that a QP has is dropped; or the QP's oldest READ is read. Combinational;
// what is decided takes effect in vireo_read_responder. READs are cut in vireo_read_responder_response.
module vireo_read_responder_answer
  import vireo_spec_pkg::*;
  import vireo_read_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic               clk_i,       // for assertions
  input  logic               turns_i,     // StTurn, else StAnswer
  input  logic [QpBits-1:0]  qpn_i,
  input  row_t               row_i,
  input  logic [2:0]         qp_state_i,
  input  logic               corrupt_i,   // the attributes have bad parity
  // verilator lint_off UNUSEDSIGNAL
  input  rx_answer_t         answer_i,    // the READ is stored by others
  // verilator lint_on UNUSEDSIGNAL
  input  cut_t               cut_i,
  input  logic               dropping_i,  // the QP's state has no responses
  input  logic               acking_i,    // the turn is of a response that waits for the transmitter
  input  logic               busy_i,      // a job of the QP is in flight
  input  logic               room_i,      // the packet's register was free when the answer was chosen
  input  logic [JobBits-1:0] number_i,    // of the next job
  output step_t              step_o
);

  logic [PsnBits-1:0] distance;
  logic retains_held, can_respond, leaves, is_nak;
  /* verilator lint_off UNUSEDSIGNAL */  // its kind implies it
  aeth_t answer_aeth;
  /* verilator lint_on UNUSEDSIGNAL */

  always_comb begin
    answer_aeth = unpack_aeth(answer_i.packet.extension[AethBits-1:0]);
    is_nak = !answer_i.is_read && answer_aeth.kind != AethKindAck;
    // The held acknowledge has a later PSN than the new one, a response to a duplicate request, which does not cover
    // it: it stays.
    distance = row_i.held_psn - answer_i.packet.psn;
    retains_held = row_i.held && distance != '0 && !distance[PsnBits-1];
    can_respond = responds_in(qp_state_i) && !row_i.halted && !dropping_i;
    leaves = row_i.held && row_i.count == '0 && can_respond;
  end

  always_comb begin
    step_o = '0;
    step_o.state = StChoose;
    step_o.row = row_i;
    step_o.cut = cut_i;
    step_o.packet_in = answer_i.packet;
    step_o.job_in.packet.qpn = 24'(qpn_i);
    step_o.job_in.packet.opcode = BthOpcodeRcAcknowledge;
    step_o.job_in.packet.psn = row_i.held_psn;
    step_o.job_in.packet.extension[AethBits-1:0] = row_i.held_aeth;
    if (!turns_i) begin
      step_o.answer_ends = 1'b1;
      if (answer_i.is_read) begin
        // Its responses cover what was held before.
        step_o.ring_write = 1'b1;
        step_o.row.count = row_i.count + 1'b1;
        step_o.row.held = retains_held;
        step_o.row_write = 1'b1;
        step_o.again = 1'b1;
      end else if (row_i.halted) begin
        // The NAK is the last response.
      end else if (row_i.count == '0 && !busy_i && room_i && (!row_i.held || (is_nak && !retains_held))) begin
        step_o.packet = 1'b1;
        // A NAK covers the held acknowledge. [IBTA vol. 1, 9.7.5.1.2]
        step_o.row.held = 1'b0;
        step_o.row_write = 1'b1;
      end else begin
        step_o.row.held = 1'b1;
        if (!retains_held) begin
          step_o.row.held_psn = answer_i.packet.psn;
          step_o.row.held_aeth = answer_i.packet.extension[AethBits-1:0];
        end
        step_o.row_write = 1'b1;
        step_o.again = row_i.count != '0 || busy_i;
        step_o.ack_waits = !step_o.again;
      end
    end else if (leaves && acking_i && !busy_i) begin
      step_o.packet = 1'b1;
      step_o.packet_in = step_o.job_in.packet;
      step_o.row.held = 1'b0;
      step_o.row_write = 1'b1;
    end else if (leaves && acking_i) begin
      // A job was issued meanwhile, or only its number has wrapped to lie ahead.
      step_o.again = 1'b1;
    end else if (leaves) begin
      step_o.job = 1'b1;
      step_o.job_in.packet.is_response = 1'b1;
      step_o.row.last = number_i;
      step_o.row.held = 1'b0;
      step_o.row_write = 1'b1;
    end else if (!can_respond) begin
      if (dropping_i) step_o.row.halted = 1'b0;
      step_o.row.held = 1'b0;
      step_o.row.parked = 1'b0;
      step_o.row.count = '0;
      step_o.row.done = '0;
      step_o.row.ended = row_i.ended + 8'(row_i.count);
      step_o.row_write = 1'b1;
      step_o.reads_end = row_i.count != '0;
    end else if (row_i.count != '0 && !acking_i && !row_i.parked) begin
      // A QP with READs gets its turns for them.
      step_o.ring_read = 1'b1;
      step_o.corrupt = corrupt_i;
      step_o.state = StEntry;
    end
  end

  logic unused;
  assign unused = clk_i;

endmodule
