// SPDX-License-Identifier: Apache-2.0

// The board's end of the link of spec/board.toml: frames on a line of bytes that may lose, double and damage them, to
// commands and events, each exactly once. The board only answers. It keeps its last answer, and gives it again to a
// question with the same number, which it does not execute again: so no timer is needed here.
//
// A frame's payload is offered as command_* after its CRC was right. command_ready_i is 0 while a command is being
// executed, from the cycle after its last byte on, and after hello_o. The answer leaves when all of the payload was taken
// and command_ready_i is 1; or, with the kind `more`, when there is no room for another event: then event_ready_o is 0
// until a question without payload has come.
module vireo_link
  import vireo_spec_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  // The line. Bytes that arrive are always taken.
  input  logic       rx_valid_i,
  input  logic [7:0] rx_data_i,
  output logic       tx_valid_o,
  input  logic       tx_ready_i,
  output logic [7:0] tx_data_o,

  output logic       hello_o,          // a pulse: forget everything, and describe the board by events
  output logic       command_valid_o,
  input  logic       command_ready_i,
  output logic [7:0] command_data_o,
  input  logic       event_valid_i,
  output logic       event_ready_o,
  input  logic [7:0] event_data_i
);

  localparam int unsigned Capacity = 32'(BoardPayloadMax);
  localparam int unsigned AddressBits = $clog2(Capacity);
  localparam int unsigned CrcBytes = 4;
  // Counts up to a frame that is too long, and stays there.
  localparam int unsigned LengthMax = BoardHeaderBytes + Capacity + CrcBytes + 1;
  localparam int unsigned LengthBits = $clog2(LengthMax + 1);

  // CRC-32 of Ethernet, reflected; over a frame with its CRC it ends at CrcRest. [IEEE 802.3, 3.2.9]
  localparam logic [31:0] CrcRest = 32'hdebb20e3;
  function automatic logic [31:0] crc_step(input logic [31:0] crc, input logic [7:0] data);
    logic [31:0] next;
    next = crc ^ {24'b0, data};
    for (int i = 0; i < 8; ++i) next = (next >> 1) ^ (next[0] ? 32'hedb88320 : 32'h0);
    return next;
  endfunction

  // --- Receiver ------------------------------------------------------------------------------------------------------

  logic [LengthBits-1:0] length_q;  // bytes of the frame so far
  logic [31:0] rx_crc_q;
  logic escaped_q;
  board_header_t header_q;
  logic may_write_q;  // the buffer has been free since the frame began
  logic rx_byte, rx_flag;
  logic [7:0] rx_byte_data;
  logic frame_good;  // a frame ends, and its CRC is right
  logic has_payload;
  logic [LengthBits-1:0] payload_bytes;
  logic busy;        // the buffer is in use, or an answer is owed

  assign rx_flag = rx_valid_i && rx_data_i == BoardFlag;
  assign rx_byte = rx_valid_i && rx_data_i != BoardFlag && rx_data_i != BoardEscape;
  assign rx_byte_data = escaped_q ? rx_data_i ^ BoardEscapeBit : rx_data_i;
  assign payload_bytes = length_q - LengthBits'(BoardHeaderBytes + CrcBytes);
  assign has_payload = payload_bytes != '0;
  // An escape in front of the flag is a damaged frame.
  assign frame_good = rx_flag && !escaped_q && rx_crc_q == CrcRest && length_q >= LengthBits'(BoardHeaderBytes + CrcBytes) &&
                      length_q < LengthBits'(LengthMax);

  always_ff @(posedge clk_i) begin
    if (rx_valid_i) escaped_q <= rx_data_i == BoardEscape;
    if (busy) may_write_q <= 1'b0;
    if (rx_flag) begin
      length_q <= '0;
      rx_crc_q <= '1;
      may_write_q <= !busy;
    end
    if (rx_byte) begin
      if (length_q != LengthBits'(LengthMax)) length_q <= length_q + 1'b1;
      rx_crc_q <= crc_step(rx_crc_q, rx_byte_data);
      if (length_q == '0) header_q.kind <= rx_byte_data;
      if (length_q == LengthBits'(1)) header_q.serial <= rx_byte_data;
    end
    if (!rst_ni) begin
      length_q <= LengthBits'(LengthMax);  // until the first flag
      escaped_q <= 1'b0;
    end
  end

  // The CRC's bytes are written behind the payload; where there is no room for them, they are not.
  logic [LengthBits-1:0] rx_position;
  logic rx_write;

  assign rx_position = length_q - LengthBits'(BoardHeaderBytes);
  assign rx_write = rx_byte && may_write_q && !busy && length_q >= LengthBits'(BoardHeaderBytes) &&
                    rx_position < LengthBits'(Capacity);

  // --- What to do with a frame ------------------------------------------------------------------------------------------

  logic in_session_q;
  logic [7:0] serial_q;           // of the question that was taken last
  logic executing_q;              // and is not answered
  logic is_full_q;                // answered by `more`, and there was no other question since
  logic [AddressBits:0] left_q;   // bytes that were not read from the buffer
  logic [AddressBits:0] stored_q; // bytes of events
  logic sending_q, resend_q;
  board_frame_e answer_kind_q;    // of the last answer
  logic [7:0] answer_serial_q;
  logic is_hello, is_next, is_more, is_again, is_stray;
  logic answers, answers_more;

  assign busy = executing_q || sending_q || is_full_q;
  assign is_hello = frame_good && header_q.kind == BoardFrameHello && !has_payload;
  assign is_next = frame_good && header_q.kind == BoardFrameData && in_session_q && header_q.serial == serial_q + 8'd1 &&
                   !busy && (may_write_q || !has_payload);
  assign is_more = frame_good && header_q.kind == BoardFrameData && in_session_q && header_q.serial == serial_q + 8'd1 &&
                   is_full_q && !sending_q && !has_payload;
  assign is_again = frame_good && header_q.kind == BoardFrameData && in_session_q && header_q.serial == serial_q &&
                    header_q.serial == answer_serial_q && !executing_q;
  assign is_stray = frame_good && header_q.kind == BoardFrameData && !in_session_q && !sending_q;

  // --- Commands ----------------------------------------------------------------------------------------------------------

  logic [AddressBits-1:0] read_q;  // the next byte
  logic command_valid_q;
  logic command_read;

  assign command_read = left_q != '0 && !command_valid_q;
  assign command_valid_o = command_valid_q;

  vireo_ram_1r1w #(
    .Width(8),
    .Depth(Capacity)
  ) u_commands (
    .clk_i,
    .write_i(rx_write),
    .write_address_i(rx_position[AddressBits-1:0]),
    .write_data_i(rx_byte_data),
    .read_i(command_read),
    .read_address_i(read_q),
    .read_data_o(command_data_o)
  );

  assign hello_o = is_hello;
  // Not in the first cycle after a question: then command_ready_i is of the time before.
  logic settled_q;
  assign answers = executing_q && settled_q && left_q == '0 && !command_valid_q && command_ready_i;
  assign answers_more = executing_q && settled_q && stored_q == (AddressBits + 1)'(Capacity);

  always_ff @(posedge clk_i) begin
    settled_q <= executing_q;
    if (command_read) begin
      command_valid_q <= 1'b1;
      read_q <= read_q + 1'b1;
      left_q <= left_q - 1'b1;
    end else if (command_ready_i) begin
      command_valid_q <= 1'b0;
    end
    if (is_next) begin
      left_q <= payload_bytes[AddressBits:0];
      read_q <= '0;
    end
    if (is_next || is_more || is_hello) begin
      serial_q <= header_q.serial;
      executing_q <= 1'b1;
      is_full_q <= 1'b0;
      settled_q <= 1'b0;
    end
    if (answers || answers_more) begin
      executing_q <= 1'b0;
      is_full_q <= !answers;
      answer_kind_q <= !answers ? BoardFrameMore : answer_kind_q == BoardFrameHello ? BoardFrameHello : BoardFrameData;
      answer_serial_q <= serial_q;
    end
    // What the answer to the question will be, unless it gets too long.
    if (is_hello) answer_kind_q <= BoardFrameHello;
    if (is_next || is_more) answer_kind_q <= BoardFrameData;
    if (is_stray) begin
      answer_kind_q <= BoardFrameNoSession;
      answer_serial_q <= header_q.serial;
    end
    if (is_hello) begin
      in_session_q <= 1'b1;
      left_q <= '0;
      command_valid_q <= 1'b0;
    end
    if (!rst_ni) begin
      in_session_q <= 1'b0;
      executing_q <= 1'b0;
      settled_q <= 1'b0;
      is_full_q <= 1'b0;
      left_q <= '0;
      command_valid_q <= 1'b0;
    end
  end

  // --- Events and transmitter ----------------------------------------------------------------------------------------------

  // What is being sent: the flag, the answer's bytes (header, events, CRC), the flag.
  typedef enum logic [2:0] {
    TxIdle,
    TxStart,
    TxHeader,
    TxEvents,
    TxCrc,
    TxEnd
  } tx_state_e;

  tx_state_e tx_state_q;
  logic [AddressBits:0] tx_index_q;  // within header, events or CRC
  logic [31:0] tx_crc_q;
  logic tx_escaped_q;  // the escape of the current byte was sent
  logic tx_read_q;     // the event at tx_index_q is at the memory's output
  logic [7:0] tx_event, tx_byte;
  logic tx_is_stuffed, tx_sends, tx_done;
  logic event_write;

  assign event_write = event_valid_i && event_ready_o;
  assign event_ready_o = executing_q && stored_q != (AddressBits + 1)'(Capacity);
  assign sending_q = tx_state_q != TxIdle;

  vireo_ram_1r1w #(
    .Width(8),
    .Depth(Capacity)
  ) u_events (
    .clk_i,
    .write_i(event_write),
    .write_address_i(stored_q[AddressBits-1:0]),
    .write_data_i(event_data_i),
    .read_i(tx_state_q == TxEvents && !tx_read_q),
    .read_address_i(tx_index_q[AddressBits-1:0]),
    .read_data_o(tx_event)
  );

  always_comb begin
    unique case (tx_state_q)
      TxHeader: tx_byte = tx_index_q == '0 ? answer_kind_q : answer_serial_q;
      TxEvents: tx_byte = tx_event;
      default: tx_byte = ~tx_crc_q[8*tx_index_q[1:0]+:8];
    endcase
  end
  assign tx_is_stuffed = tx_state_q inside {TxHeader, TxEvents, TxCrc};
  assign tx_valid_o = tx_state_q != TxIdle && (tx_state_q != TxEvents || tx_read_q);
  always_comb begin
    tx_data_o = BoardFlag;
    if (tx_is_stuffed) begin
      tx_data_o = tx_byte;
      if (tx_escaped_q) tx_data_o = tx_byte ^ BoardEscapeBit;
      else if (tx_byte inside {BoardFlag, BoardEscape}) tx_data_o = BoardEscape;
    end
  end
  assign tx_sends = tx_valid_o && tx_ready_i;
  assign tx_done = tx_sends && (tx_escaped_q || tx_data_o != BoardEscape);  // with the current byte

  always_ff @(posedge clk_i) begin
    if (event_write) stored_q <= stored_q + 1'b1;
    if (tx_sends) tx_escaped_q <= !tx_done;
    tx_read_q <= tx_state_q == TxEvents && !tx_done;
    unique case (tx_state_q)
      TxIdle: begin
        tx_escaped_q <= 1'b0;
        if (answers || answers_more || is_stray || resend_q) tx_state_q <= TxStart;
        if (is_stray) stored_q <= '0;
      end
      TxStart: begin
        tx_index_q <= '0;
        tx_crc_q <= '1;
        if (tx_sends) tx_state_q <= TxHeader;
      end
      TxEnd: if (tx_sends) tx_state_q <= TxIdle;
      default: begin
        if (tx_done) begin
          tx_index_q <= tx_index_q + 1'b1;
          if (tx_state_q != TxCrc) tx_crc_q <= crc_step(tx_crc_q, tx_byte);
          if (tx_state_q == TxHeader && tx_index_q[0]) begin
            tx_index_q <= '0;
            tx_state_q <= stored_q == '0 ? TxCrc : TxEvents;
          end
          if (tx_state_q == TxEvents && tx_index_q + 1'b1 == stored_q) begin
            tx_index_q <= '0;
            tx_state_q <= TxCrc;
          end
          if (tx_state_q == TxCrc && tx_index_q[1:0] == '1) tx_state_q <= TxEnd;
        end
      end
    endcase
    if (is_again) resend_q <= 1'b1;
    if (tx_state_q == TxStart) resend_q <= 1'b0;
    // A new question: its answer is empty so far, and the one before is not wanted any more.
    if (is_next || is_more || is_hello) begin
      stored_q <= '0;
      resend_q <= 1'b0;
    end
    if (is_hello) tx_state_q <= TxIdle;
    if (!rst_ni) begin
      tx_state_q <= TxIdle;
      stored_q <= '0;
      resend_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) !(answers || answers_more) || tx_state_q == TxIdle)
  else $error("an answer while another one is being sent");
`endif

endmodule
