// SPDX-License-Identifier: Apache-2.0

// The responder's checks of a READ response against the oldest outstanding READ of its QP. First or middle is not checked,
// because a retry may start anywhere; last and only must end the message. [IBTA vol. 1, 9.7.5.1.9, 9.7.6.1]
// Combinational, zero while `valid_i` is 0. What follows from the checks is for vireo_responder_control.
module vireo_response_checks
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
(
  input  logic         clk_i,       // for assertions
  input  logic         valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  rx_token_t    frame_i,     // fields that the checks need
  input  read_record_t oldest_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic         held_i,      // there is one
  input  read_half_t   read_half_i,
  input  logic [2:0]   path_mtu_i,
  output read_checks_t checks_o,
  output cursor_t      cursor_o     // where the payload goes
);

  rdma_sge_t first_sge;
  logic [PsnBits-1:0] response_ahead_by;
  logic [31:0] response_bytes;
  logic [15:0] mtu;
  // verilator lint_off UNUSEDSIGNAL
  aeth_t aeth;
  // verilator lint_on UNUSEDSIGNAL

  assign first_sge = unpack_rdma_sge(oldest_i.sge);

  always_comb begin
    checks_o = '0;
    cursor_o = '0;
    response_ahead_by = '0;
    response_bytes = '0;
    mtu = '0;
    aeth = '0;
    if (valid_i) begin
      aeth = unpack_aeth(frame_i.extension[8*AethBytes-1:0]);
      mtu = 16'(1 << MtuShift) << path_mtu_i;
      checks_o.psn = read_half_i.started ? read_half_i.psn : oldest_i.first_psn;
      checks_o.bytes_left = read_half_i.started ? read_half_i.bytes_left : oldest_i.bytes;
      if (read_half_i.started) begin
        cursor_o = read_half_i.cursor;
      end else begin
        cursor_o = '{next_element: oldest_i.elements + 64'(RdmaSgeBytes),
                     elements: oldest_i.num_sge == '0 ? '0 : oldest_i.num_sge - 1'b1,
                     address: first_sge.addr, key: first_sge.lkey,
                     bytes_left: oldest_i.num_sge == '0 ? '0 : first_sge.length};
      end
      response_ahead_by = frame_i.bth.psn - checks_o.psn;
      response_bytes = checks_o.bytes_left < 32'(mtu) ? checks_o.bytes_left : 32'(mtu);
      checks_o.held = held_i && !read_half_i.halted;
      checks_o.expected = response_ahead_by == '0;
      checks_o.ahead = !response_ahead_by[PsnBits-1];
      checks_o.acknowledges = !frame_i.info.has_aeth || aeth.kind == 2'(AethKindAck);
      checks_o.last = frame_i.bth.psn == oldest_i.last_psn;
      checks_o.at_first = 8'(cursor_o.elements + 1'b1) == oldest_i.num_sge;
      checks_o.fits = 32'(frame_i.payload_bytes) == (oldest_i.is_atomic ? '0 : response_bytes)
                   && frame_i.info.ends_message == checks_o.last
                   && frame_i.info.has_atomic_ack_eth == oldest_i.is_atomic;
    end
  end

  logic unused;
  assign unused = clk_i;

endmodule
