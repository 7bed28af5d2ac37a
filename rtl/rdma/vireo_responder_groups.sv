// SPDX-License-Identifier: Apache-2.0

// Multicast in front of the responder's turns: a datagram to a group becomes the next frame once for each attached queue
// pair, with that one's number as destination (`copied_o`), and then once more as it came, so that it is dropped and its
// bytes are freed. Every other frame passes in the same cycle. The attachments are registers, all compared at once: a
// flood of datagrams to groups that nobody is attached to is dropped as fast as any other.
//
// An attachment that is written while a datagram waits for its turn there gets no copy of it.
module vireo_responder_groups
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned QpBits = $clog2(Config.num_qps)
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t table_write_i,    // of as many QPs as there are
  // verilator lint_on UNUSEDSIGNAL

  input  logic         frame_valid_i,
  output logic         frame_ready_o,
  input  rx_token_t    frame_i,

  output logic         waiting_valid_o,  // stays until it is taken
  output rx_token_t    waiting_o,
  output logic         copied_o,         // it is a copy
  input  logic         advance_i         // it is taken; only if it is valid
);

  localparam int unsigned Attachments = Config.max_mcast_attach;

  if (Attachments == 0) begin : gen_none
    logic unused;
    assign unused = ^{clk_i, rst_ni, table_write_valid_i};
    assign waiting_valid_o = frame_valid_i;
    assign waiting_o = frame_i;
    assign copied_o = 1'b0;
    assign frame_ready_o = advance_i;
  end else begin : gen_groups

    // --- Attachments

    // verilator lint_off UNUSEDSIGNAL
    table_mcast_t written;
    // verilator lint_on UNUSEDSIGNAL
    logic [127:0] written_group;  // first byte most significant, as a token has it
    logic [Attachments-1:0] written_row;
    logic [Attachments-1:0] attached_q;
    logic [Attachments-1:0][QpBits-1:0] qpn_q;
    logic [Attachments-1:0][127:0] group_q;

    always_comb begin
      written = unpack_table_mcast(table_write_i.data[8*TableMcastBytes-1:0]);
      for (int unsigned i = 0; i < 16; i++) written_group[8*(15 - i) +: 8] = written.mgid[i];
      for (int unsigned row = 0; row < Attachments; row++) begin
        written_row[row] = table_write_valid_i && table_write_i.table_id == MgmtTableMcast
                        && 32'(table_write_i.index) == row;
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        attached_q <= '0;
      end else begin
        for (int unsigned row = 0; row < Attachments; row++) begin
          if (written_row[row]) attached_q[row] <= written.valid;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      for (int unsigned row = 0; row < Attachments; row++) begin
        if (written_row[row]) begin
          qpn_q[row] <= QpBits'(written.qpn);
          group_q[row] <= written_group;
        end
      end
    end

    // --- The frame that is next

    typedef enum logic [1:0] {
      StPass,  // a frame passes; those to attach to a datagram are found
      StPick,  // the next of them; if there is none, the datagram as it came
      StCopy   // a copy
    } state_e;

    state_e state_d, state_q;
    logic is_group, is_group_mac;
    logic [47:0] group_mac;
    logic [Attachments-1:0] found, left_d, left_q;  // attachments of its group; those without their copy
    logic [QpBits-1:0] picked, to_q;

    always_comb begin
      is_group = frame_valid_i && frame_i.verdict == RxVerdictRoce && frame_i.bth.opcode[7:5] == 3'(BthServiceUd)
              && frame_i.bth.dest_qp == MulticastQpn;
      // [RFC 2464, 7; RFC 1112, 6.4]
      group_mac = frame_i.is_ipv6 ? {16'h3333, frame_i.ip_destination[31:0]}
                                  : {24'h01005e, 1'b0, frame_i.ip_destination[22:0]};
      is_group_mac = frame_i.destination_mac == group_mac;
      found = '0;
      if (is_group || vireo_common_pkg::Synthesis) begin
        for (int unsigned row = 0; row < Attachments; row++) begin
          found[row] = attached_q[row] && is_group_mac && group_q[row] == frame_i.ip_destination;
        end
      end

      // The lowest one.
      picked = '0;
      for (int unsigned row = Attachments; row > 0; row--) begin
        if (left_q[row-1]) picked = qpn_q[row-1];
      end
    end

    always_comb begin
      state_d = state_q;
      left_d = left_q;
      unique case (state_q)
        StPass: begin
          left_d = found;
          if (is_group) state_d = StPick;
        end
        StPick: begin
          left_d = left_q & (left_q - 1'b1);
          if (left_q != '0) state_d = StCopy;
          else if (advance_i) state_d = StPass;
        end
        StCopy: if (advance_i) state_d = StPick;
        default: state_d = StPass;
      endcase
      left_d &= ~written_row;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        state_q <= StPass;
        left_q <= '0;
      end else begin
        state_q <= state_d;
        left_q <= left_d;
      end
    end
    always_ff @(posedge clk_i) if (state_q == StPick) to_q <= picked;

    always_comb begin
      waiting_o = frame_i;
      if (state_q == StCopy) waiting_o.bth.dest_qp = 24'(to_q);
    end
    assign waiting_valid_o = state_q == StCopy || (state_q == StPick && left_q == '0)
                          || (state_q == StPass && frame_valid_i && !is_group);
    assign copied_o = state_q == StCopy;
    assign frame_ready_o = advance_i && state_q != StCopy;
  end

endmodule
