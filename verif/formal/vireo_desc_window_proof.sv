// SPDX-License-Identifier: Apache-2.0

// No buffer or table outside of a queue's window leaves vireo_desc_fetch: every buffer that it delivers and every
// indirect table that it reads lies in the window that was read for its queue, first and last byte, in whole numbers,
// for any descriptor that the driver wrote; and none is empty or wraps around the end of the address space. Bound to
// the last stage. The last byte's address comes from the cycle before, which vireo_desc_end_proof covers; vireo_table's
// proof covers that the window read is the one that firmware wrote.
module vireo_desc_window_proof (
  input logic        says_i,            // state AnswerRespond, with a descriptor
  input logic [63:0] address_i,         // of the descriptor
  input logic [31:0] bytes_i,
  input logic [64:0] end_i,             // its last byte, as computed one cycle before
  input logic        gives_i,           // a buffer that may be used
  input logic [63:0] buffer_address_i,
  input logic [31:0] buffer_bytes_i,
  input logic        reads_i,           // an indirect table will be read
  input logic [63:0] table_address_i,
  input logic [31:0] table_bytes_i,
  input logic        window_i,          // the queue has a window
  input logic        corrupt_i,         // its parity is wrong
  input logic [63:0] window_base_i,
  input logic [63:0] window_last_i
);

  function automatic logic contained(input logic [63:0] address, input logic [31:0] bytes, input logic window,
                                     input logic [63:0] base, input logic [63:0] last);
    logic [65:0] begins = 66'(address);
    logic [65:0] ends = begins + 66'(bytes);  // behind the last byte
    return !window || (begins >= 66'(base) && ends <= 66'(last) + 66'd1);
  endfunction

  always_comb begin
    last_byte: assume (!says_i || end_i == 65'(address_i) + 65'(bytes_i) - 65'd1);
    buffer_in_window: assert (!gives_i || contained(buffer_address_i, buffer_bytes_i, window_i, window_base_i, window_last_i));
    buffer_exists: assert (!gives_i || (buffer_bytes_i != '0
                                        && 66'(buffer_address_i) + 66'(buffer_bytes_i) <= 66'h1_0000_0000_0000_0000));
    table_in_window: assert (!reads_i || contained(table_address_i, table_bytes_i, window_i, window_base_i, window_last_i));
    not_corrupt: assert (!corrupt_i || (!gives_i && !reads_i));
  end

endmodule

bind vireo_desc_answer vireo_desc_window_proof u_window_proof (
  .says_i(answer_q == AnswerRespond && has_descriptor), .address_i(descriptor.addr), .bytes_i(descriptor.len),
  .end_i(end_q), .gives_i(respond && buffer_d.status == BufferStatusOk), .buffer_address_i(buffer_d.address),
  .buffer_bytes_i(buffer_d.bytes), .reads_i(answer_q == AnswerRespond && failed_write_ready && table_request),
  .table_address_i(table_request_d.address), .table_bytes_i(descriptor.len), .window_i(window_enable), .corrupt_i(window_corrupt),
  .window_base_i(window_base), .window_last_i(window_last));
