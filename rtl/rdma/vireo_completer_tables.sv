// SPDX-License-Identifier: Apache-2.0

// Tables of vireo_completer: state and attributes of every QP, its ring of records, the records, and the last packet that
// was sent. Read data is there in the cycle after a read, and is held until the next. It decides nothing.
module vireo_completer_tables
  import vireo_spec_pkg::*;
  import vireo_completer_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,            // a power of two, 2 or more
  localparam int unsigned SendRecords = Config.send_records,  // per QP; a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps),
  localparam int unsigned SlotBits = $clog2(SendRecords)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Pulses.
  input  logic                 table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t         table_write_i,        // of as many QPs as there are
  input  qp_state_write_t      qp_state_write_i,
  input  qp_sent_t             qp_sent_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  input  logic                 qp_state_write_valid_i,
  input  logic                 qp_sent_valid_i,

  input  logic                 read_i,               // all of a QP but its records
  input  logic [QpBits-1:0]    read_qpn_i,
  output logic [2:0]           qp_state_o,
  output attributes_t          attributes_o,
  output logic                 corrupt_o,            // the attributes have bad parity
  output sent_t                sent_o,
  output ring_t                ring_o,

  input  logic [QpBits-1:0]    qpn_i,                // of all below
  input  logic                 ring_write_i,
  input  ring_t                ring_i,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [SlotWidth-1:0] stored_slot_i,        // modulo the records of a QP
  input  logic [SlotWidth-1:0] stored_read_slot_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 stored_write_i,
  input  stored_t              stored_i,
  input  logic                 stored_read_i,
  output stored_t              stored_o
);

  attributes_t attributes_in;
  /* verilator lint_off UNUSEDSIGNAL */  // most attributes are used by other blocks
  table_qp_context_t context_in;
  /* verilator lint_on UNUSEDSIGNAL */

  // Otherwise the written value is zero, so that simulation skips it.
  always_comb begin
    context_in = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      context_in = unpack_table_qp_context(table_write_i.data);
    end
  end

  assign attributes_in = '{reliable: context_in.qp_type == 8'(IbQpTypeRc), path_mtu: context_in.path_mtu[2:0],
                           cqn: context_in.send_cqn,
                           timeout: context_in.timeout, retry_cnt: context_in.retry_cnt,
                           rnr_retry: context_in.rnr_retry, max_rd_atomic: context_in.max_rd_atomic};
  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(qp_state_o)
  );
  // Nothing is sent before an instance of the QP starts. [IBTA vol. 1, 10.3.1] A qp_sent in the cycle in which one
  // starts is of the previous one; one of another QP is written one cycle later. Pulses of a kind are never closer.
  logic instance_starts, late_valid_q;
  logic [QpBits-1:0] sent_qpn, late_qpn_q;
  sent_t sent_new, late_q;

  always_comb begin
    instance_starts = qp_state_write_valid_i
               && (qp_state_write_i.state == 3'(IbQpStateReset) || qp_state_write_i.state == 3'(IbQpStateInit)
                   || qp_state_write_i.state == 3'(IbQpStateRtr));
    sent_qpn = qp_sent_i.qpn[QpBits-1:0];
    sent_new = '{valid: 1'b1, psn: qp_sent_i.psn, epoch: qp_sent_i.epoch};
    if (late_valid_q) begin
      sent_qpn = late_qpn_q;
      sent_new = late_q;
    end
    if (instance_starts) begin
      sent_qpn = qp_state_write_i.qpn[QpBits-1:0];
      sent_new = '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      late_valid_q <= 1'b0;
    end else begin
      late_valid_q <= instance_starts && qp_sent_valid_i && qp_sent_i.qpn[QpBits-1:0] != qp_state_write_i.qpn[QpBits-1:0];
    end
  end
  always_ff @(posedge clk_i) begin
    late_qpn_q <= qp_sent_i.qpn[QpBits-1:0];
    late_q <= '{valid: 1'b1, psn: qp_sent_i.psn, epoch: qp_sent_i.epoch};
  end

`ifndef SYNTHESIS
  assert property (@(posedge clk_i) disable iff (!rst_ni) late_valid_q |-> !instance_starts && !qp_sent_valid_i)
    else $error("pulses of two cycles");
`endif

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)), .Depth(NumQps), .Ram(ContextRamCompleterQp), .Gates(1'b0)
  ) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(attributes_o),
    .corrupt_o, .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_table #(.Width($bits(sent_t)), .Depth(NumQps)) u_sent (
    .clk_i, .rst_ni,
    .write_i(instance_starts || late_valid_q || qp_sent_valid_i), .write_address_i(sent_qpn), .write_data_i(sent_new),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(sent_o)
  );
  vireo_table #(.Width($bits(ring_t)), .Depth(NumQps)) u_ring (
    .clk_i, .rst_ni,
    .write_i(ring_write_i), .write_address_i(qpn_i), .write_data_i(ring_i),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(ring_o)
  );
  vireo_ram_1r1w #(.Width($bits(stored_t)), .Depth(NumQps * SendRecords)) u_stored (
    .clk_i,
    .write_i(stored_write_i), .write_address_i({qpn_i, stored_slot_i[SlotBits-1:0]}), .write_data_i(stored_i),
    .read_i(stored_read_i), .read_address_i({qpn_i, stored_read_slot_i[SlotBits-1:0]}), .read_data_o(stored_o)
  );

endmodule
