// SPDX-License-Identifier: Apache-2.0

// The responder's next frame: its tables are read, and it is checked, while the one in progress waits. When that one needs
// nothing but the answer to its last key check (`last_i`), the first request of the next one is issued: its key check or
// its receive, or, before its turn, the key check of a WRITE of the same QP (`early`). A SEND behind one of the same QP is
// checked as if that one were complete (`expects`). It does not act on the frame.
module vireo_responder_next
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
  import vireo_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,  // a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 enable_i,
  input  logic [47:0]          mac_i,
  input  logic                 waiting_valid_i,
  input  rx_token_t            waiting_i,        // the frame
  input  logic                 copied_i,         // a copy of a datagram to a group
  input  logic                 held_i,           // its turn does not come

  input  logic                 read_i,           // tables are read, for it or for a flush
  input  logic                 starts_i,         // its turn comes
  input  logic                 advance_i,        // it becomes the one in progress
  output logic                 valid_o,          // its turn has come
  output logic                 send_o,           // the waiting frame is the first packet of a SEND
  output job_t                 job_o,            // what is known of it
  output logic [QpBits-1:0]    qpn_o,

  input  attributes_t          attributes_i,
  input  logic [2:0]           qp_state_i,
  input  half_t                half_i,
  input  logic [ReadsBits-1:0] ended_i,
  input  logic                 cleared_valid_i,  // pulse: a QP is cleared
  input  logic [QpBits-1:0]    cleared_qpn_i,
  output logic                 cleared_o,        // its QP was, since the tables were read

  // The one in progress.
  input  logic                 last_i,
  input  logic                 check_free_i,
  input  logic [QpBits-1:0]    current_qpn_i,
  input  logic [15:0]          current_pdn_i,
  input  logic                 expects_i,        // with starts_i: it is a SEND of the same QP, expected to be complete
  input  logic                 refuses_i,        // pulse: it is not, and ends
  // verilator lint_off UNUSEDSIGNAL
  input  half_t                current_half_i,   // before it
  // verilator lint_on UNUSEDSIGNAL
  output logic                 refused_o,        // the next one's QP has failed since its tables were read

  output logic                 check_o,          // a key check is issued in this cycle
  output memory_check_t        check_in_o,
  output logic                 receive_o,        // a receive is requested
  output receive_request_t     receive_in_o,
  output logic                 check_first_o,    // its key check was issued, or is now
  output logic                 receive_first_o,  // likewise, the request for its receive
  output logic                 early_o,          // the answer to an early check comes or waits
  input  logic                 early_end_i       // it was used, or discarded
);

  logic [47:0] mac;           // first byte most significant, as the frame has it
  logic enabled_q, ours_q;
  logic valid_q;
  logic checked_q;            // checks_q is valid
  logic check_d, check_q, receive_d, receive_q, cleared_d, cleared_q, early_d, early_q;
  logic check_now, early_now;
  logic expects_q, refused_q;
  logic [PsnBits-1:0] expected_psn_q;
  half_t half, job_half;      // as checked, as it is used
  checks_t checks_d, checks_q;
  logic [63:0] address;
  logic [31:0] rkey, bytes_left;
  logic [ReadsBits-1:0] reads_issued, duplicate_limit;
  action_e action;
  // verilator lint_off UNUSEDSIGNAL
  reth_t early_reth;          // the length is that of the message
  // verilator lint_on UNUSEDSIGNAL

  vireo_responder_checks #(
    .Config(Config)
  ) u_checks (
    .clk_i,
    .valid_i(valid_q),
    .frame_i(waiting_i),
    .enabled_i(enabled_q),
    .ours_i(ours_q),
    .attributes_i,
    .qp_state_i,
    .half_i(half),
    .ended_i,
    .checks_o(checks_d),
    .address_o(address),
    .rkey_o(rkey),
    .bytes_left_o(bytes_left),
    .reads_issued_o(reads_issued),
    .duplicate_limit_o(duplicate_limit)
  );

  always_comb begin
    half = half_i;
    if (expects_q) begin
      half.expected_psn = expected_psn_q;
      half.nak_sent = 1'b0;
      half.holds = 1'b0;
      half.in_message = 1'b0;
    end
    job_half = half;
    if (expects_q) job_half.msn = current_half_i.msn + 1'b1;
    if (refused_o) begin
      job_half.expected_psn = half_i.expected_psn;
      job_half.msn = half_i.msn;
      job_half.nak_sent = half_i.nak_sent;
      job_half.failed = 1'b1;
    end
  end

  assign send_o = starts_send(waiting_i);
  assign refused_o = expects_q && (refuses_i || refused_q);
  assign job_o = '{frame: waiting_i, copied: copied_i, checks: checks_d, half: job_half, pdn: attributes_i.pdn,
                   recv_cqn: attributes_i.recv_cqn, has_srq: attributes_i.has_srq, srqn: attributes_i.srqn,
                   min_rnr_timer: attributes_i.min_rnr_timer, address: address, rkey: rkey, bytes_left: bytes_left,
                   reads_issued: reads_issued, duplicate_limit: duplicate_limit};
  assign qpn_o = QpBits'(waiting_i.bth.dest_qp);

  always_comb begin
    for (int unsigned i = 0; i < 6; i++) mac[8*(5 - i) +: 8] = mac_i[8*i +: 8];
    action = checked_q ? decide(checks_q) : ActDrop;
  end

  always_comb begin
    // Answers come in the order of what was issued, so this is not before the last of the frame in progress.
    check_now = 1'b0;
    receive_o = 1'b0;
    if (last_i && !checks_q.announces && !check_q && !receive_q) begin
      if (action == ActWrite || action == ActRead) check_now = check_free_i;
      receive_o = action == ActReceive && !half.holds;
    end
    early_reth = unpack_reth(waiting_i.extension[8*RethBytes-1:0]);
    early_now = last_i && waiting_valid_i && !valid_q && !held_i && check_free_i && current_qpn_i == qpn_o
             && waiting_i.verdict == RxVerdictRoce && waiting_i.info.operation == BthOperationRdmaWrite
             && waiting_i.info.starts_message && waiting_i.payload_bytes != '0
             && waiting_i.payload_bytes <= 16'(1 << MtuShift) << IbMtuMtu4096 && !early_q;

    check_o = check_now || early_now;
    check_in_o = key_check(checks_q, rkey, attributes_i.pdn, 24'(qpn_o), address, bytes_left,
                           32'(waiting_i.payload_bytes));
    if (early_now) begin
      check_in_o = '{key: early_reth.rkey, pdn: current_pdn_i, remote_write: 1'b1, address: early_reth.virtual_address,
                     bytes: 32'(waiting_i.payload_bytes), qpn: 24'(current_qpn_i), default: '0};
    end
    receive_in_o = '{qpn: attributes_i.has_srq ? 24'(attributes_i.srqn) : 24'(qpn_o), default: '0};

    check_d = check_q || check_now;
    receive_d = receive_q || receive_o;
    early_d = (early_q && !early_end_i) || early_now;
    cleared_d = cleared_q || (cleared_valid_i && cleared_qpn_i == qpn_o);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      checked_q <= 1'b0;
      check_q <= 1'b0;
      receive_q <= 1'b0;
      early_q <= 1'b0;
      refused_q <= 1'b0;
    end else begin
      valid_q <= (valid_q || starts_i) && !advance_i;
      checked_q <= valid_q && !advance_i;
      check_q <= check_d && !advance_i;
      receive_q <= receive_d && !advance_i;
      early_q <= early_d;
      refused_q <= starts_i && refuses_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      enabled_q <= enable_i;
      ours_q <= copied_i || waiting_i.destination_mac == mac;
    end
    if (starts_i) begin
      expects_q <= expects_i;
      expected_psn_q <= current_half_i.expected_psn + 1'b1;
    end
    if (valid_q) checks_q <= checks_d;
    cleared_q <= cleared_d && !starts_i;
  end

  assign valid_o = valid_q;
  assign cleared_o = cleared_d;
  assign check_first_o = check_d;
  assign receive_first_o = receive_d;
  assign early_o = early_q;

endmodule
