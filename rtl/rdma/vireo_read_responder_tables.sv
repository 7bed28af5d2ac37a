// SPDX-License-Identifier: Apache-2.0

// Tables of vireo_read_responder: state and attributes of every QP, what it has here, and its READs with the operands of
// atomic operations. Read data is there in the cycle after a read, and is held until the next. It decides nothing.
module vireo_read_responder_tables
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::AnswerOperandsBits;
  import vireo_read_responder_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,             // a power of two, 2 or more
  localparam int unsigned MaxRdAtomic = Config.max_rd_atomic,  // READs of a QP, 1 to 128
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t      table_write_i,        // of as many QPs as there are
  input  qp_state_write_t   qp_state_write_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic              context_flip_valid_i,
  input  context_flip_t     context_flip_i,
  input  logic              qp_state_write_valid_i,

  input  logic              read_i,               // all of a QP but its READs
  input  logic [QpBits-1:0] read_qpn_i,
  output logic [2:0]        qp_state_o,
  output attributes_t       attributes_o,
  output logic              corrupt_o,            // the attributes have bad parity
  output row_t              row_o,

  input  logic [QpBits-1:0] qpn_i,                // of all below
  input  logic              row_write_i,
  input  row_t              row_i,
  input  logic              ring_write_i,         // behind the newest READ
  // verilator lint_off UNUSEDSIGNAL
  input  rx_answer_t        answer_i,             // the READ
  // verilator lint_on UNUSEDSIGNAL
  input  logic              ring_read_i,          // the oldest READ
  output read_t             entry_o,
  output operands_t         operands_o
);

  // A ring has a power of two of entries, and at least two.
  localparam int unsigned SlotBits = MaxRdAtomic < 2 ? 1 : $clog2(MaxRdAtomic);

  row_t row_in;
  read_t ring_in;
  operands_t operands_in;
  logic [SlotBits-1:0] ring_slot;
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

  assign attributes_in = '{pdn: context_in.pdn, path_mtu: context_in.path_mtu[3:0]};
  assign ring_in = '{psn: answer_i.packet.psn, aeth: answer_i.packet.extension[AethBits-1:0],
                     address: answer_i.address, rkey: answer_i.rkey, bytes: answer_i.bytes};
  assign operands_in = '{is_atomic: answer_i.packet.opcode != '0, is_duplicate: answer_i.is_duplicate,
                         is_swap: answer_i.packet.opcode == BthOpcodeRcCompareSwap,
                         is_write: Config.atomic_write != 0 && answer_i.packet.opcode == BthOpcodeRcAtomicWrite,
                         is_flush: Config.flush != 0 && answer_i.packet.opcode == BthOpcodeRcFlush,
                         data: answer_i.packet.extension[AethBits +: AnswerOperandsBits]};
  assign ring_slot = row_o.oldest[SlotBits-1:0] + row_o.count[SlotBits-1:0];

  // Only as many bits as the QP's READs need.
  always_comb begin
    row_in = row_i;
    row_in.count = (SlotWidth + 1)'((SlotBits + 1)'(row_i.count));
    row_in.oldest = SlotWidth'(SlotBits'(row_i.oldest));
  end

  vireo_table #(.Width(3), .Depth(NumQps)) u_state (
    .clk_i, .rst_ni,
    .write_i(qp_state_write_valid_i), .write_address_i(qp_state_write_i.qpn[QpBits-1:0]),
    .write_data_i(qp_state_write_i.state),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(qp_state_o)
  );
  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)), .Depth(NumQps), .Ram(ContextRamReadResponderQp), .Gates(1'b0)
  ) u_attributes (
    .clk_i, .rst_ni,
    .write_i(table_write_valid_i && table_write_i.table_id == MgmtTableQpContext),
    .write_address_i(table_write_i.index[QpBits-1:0]), .write_data_i(attributes_in),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(attributes_o),
    .corrupt_o, .flip_valid_i(context_flip_valid_i), .flip_i(context_flip_i)
  );
  vireo_table #(.Width($bits(row_t)), .Depth(NumQps)) u_row (
    .clk_i, .rst_ni,
    .write_i(row_write_i), .write_address_i(qpn_i), .write_data_i(row_in),
    .read_i, .read_address_i(read_qpn_i), .read_data_o(row_o)
  );
  vireo_ram_1r1w #(.Width($bits(read_t)), .Depth(NumQps * 2 ** SlotBits)) u_ring (
    .clk_i,
    .write_i(ring_write_i), .write_address_i({qpn_i, ring_slot}), .write_data_i(ring_in),
    .read_i(ring_read_i), .read_address_i({qpn_i, row_o.oldest[SlotBits-1:0]}), .read_data_o(entry_o)
  );

  if (Config.atomics != 0) begin : gen_operands
    vireo_ram_1r1w #(.Width($bits(operands_t)), .Depth(NumQps * 2 ** SlotBits)) u_operands (
      .clk_i,
      .write_i(ring_write_i), .write_address_i({qpn_i, ring_slot}), .write_data_i(operands_in),
      .read_i(ring_read_i), .read_address_i({qpn_i, row_o.oldest[SlotBits-1:0]}), .read_data_o(operands_o)
    );
  end else begin : gen_no_operands
    logic unused_operands;
    assign unused_operands = ^operands_in;
    assign operands_o = '0;
  end

endmodule
