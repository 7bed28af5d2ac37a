// SPDX-License-Identifier: Apache-2.0

// Tables of vireo_responder: what firmware writes about each QP, its state, the receive half, the oldest of its outstanding
// READs, and how many READs of the peer have ended. Read data is there in the cycle after a read, and is held until the
// next. Tells of each write of a half, because it may change the expected PSN. It decides nothing; a QP whose attributes
// have bad parity does not exist.
module vireo_responder_tables
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
  input  logic                 table_write_valid_i,
  // verilator lint_off UNUSEDSIGNAL
  input  table_write_t         table_write_i,       // of as many QPs as there are
  input  qp_state_write_t      qp_state_write_i,
  input  qp_reads_t            qp_reads_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic                 qp_state_write_valid_i,
  input  logic                 qp_reads_valid_i,    // of the read responder
  input  logic                 context_flip_valid_i,
  input  context_flip_t        context_flip_i,
  output logic                 parity_error_o,

  input  logic                 read_i,
  input  logic [QpBits-1:0]    read_qpn_i,
  output attributes_t          attributes_o,
  output logic                 corrupt_o,           // of the attributes
  output logic [2:0]           qp_state_o,
  output half_t                half_o,
  output read_half_t           read_half_o,
  output logic [ReadsBits-1:0] ended_o,             // READs of the peer

  input  logic                 half_write_i,
  input  logic                 read_half_write_i,
  input  logic [QpBits-1:0]    half_qpn_i,          // of both
  input  half_t                half_i,
  input  read_half_t           read_half_i,
  output logic                 expected_psn_valid_o,  // a pulse, one cycle after a possible change
  output qp_psn_t              expected_psn_o
);

  localparam bit SharedQueues = Config.max_srqs != 0;

  // verilator lint_off UNUSEDSIGNAL
  table_qp_context_t written;
  // verilator lint_on UNUSEDSIGNAL
  logic attributes_write;
  attributes_t written_attributes;

  assign attributes_write = table_write_valid_i && table_write_i.table_id == MgmtTableQpContext;

  // Zero otherwise, so that simulation skips them.
  always_comb begin
    written = '0;
    written_attributes = '0;
    if (attributes_write || vireo_common_pkg::Synthesis) begin
      written = unpack_table_qp_context(table_write_i.data);
      written_attributes.exists = written.valid;
      written_attributes.service = 3'(service_of(written.qp_type));
      if (service_of(written.qp_type) == BthServiceCnp) begin
        written_attributes.service = 3'(BthServiceRc);
        written_attributes.exists = 1'b0;
      end
      written_attributes.remote_write = written.remote_write;
      written_attributes.remote_read = written.remote_read;
      written_attributes.remote_atomic = written.remote_atomic;
      written_attributes.flush_global = written.flush_global;
      written_attributes.flush_persistent = written.flush_persistent;
      written_attributes.max_reads = written.max_dest_rd_atomic;
      written_attributes.qkey = written.qkey;
      // Codes above the largest count as it.
      written_attributes.path_mtu = written.path_mtu > IbMtuMtu4096 ? 3'(IbMtuMtu4096) : 3'(written.path_mtu);
      written_attributes.pdn = written.pdn;
      written_attributes.recv_cqn = written.recv_cqn;
      written_attributes.has_srq = SharedQueues && written.has_srq;
      written_attributes.srqn = SharedQueues ? 16'(QpBits'(written.srq)) : '0;
      written_attributes.min_rnr_timer = written.min_rnr_timer;
      for (int unsigned i = 0; i < 16; i++) begin
        written_attributes.peer[8*(15 - i) +: 8] = written.path.dgid[i];
        written_attributes.own[8*(15 - i) +: 8] = written.path.sgid[i];
      end
    end
  end

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(attributes_t)),
    .Depth(NumQps),
    .Ram(ContextRamResponderQp)
  ) u_attributes (
    .clk_i,
    .rst_ni,
    .write_i(attributes_write),
    .write_address_i(QpBits'(table_write_i.index)),
    .write_data_i(written_attributes),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(attributes_o),
    .corrupt_o,
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  vireo_table #(
    .Width(3),
    .Depth(NumQps)
  ) u_state (
    .clk_i,
    .rst_ni,
    .write_i(qp_state_write_valid_i),
    .write_address_i(QpBits'(qp_state_write_i.qpn)),
    .write_data_i(qp_state_write_i.state),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(qp_state_o)
  );

  vireo_table #(
    .Width($bits(half_t)),
    .Depth(NumQps)
  ) u_half (
    .clk_i,
    .rst_ni,
    .write_i(half_write_i),
    .write_address_i(half_qpn_i),
    .write_data_i(half_i),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(half_o)
  );

  vireo_table #(
    .Width($bits(read_half_t)),
    .Depth(NumQps)
  ) u_read_half (
    .clk_i,
    .rst_ni,
    .write_i(read_half_write_i),
    .write_address_i(half_qpn_i),
    .write_data_i(read_half_i),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(read_half_o)
  );

  vireo_table #(
    .Width(ReadsBits),
    .Depth(NumQps)
  ) u_ended (
    .clk_i,
    .rst_ni,
    .write_i(qp_reads_valid_i),
    .write_address_i(QpBits'(qp_reads_i.qpn)),
    .write_data_i(qp_reads_i.ended),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(ended_o)
  );

  // --- Parity: in the cycle after a read
  logic read_q, parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      read_q <= read_i;
      parity_error_q <= read_q && corrupt_o;
    end
  end
  assign parity_error_o = parity_error_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) expected_psn_valid_o <= 1'b0;
    else expected_psn_valid_o <= half_write_i;
  end
  always_ff @(posedge clk_i) expected_psn_o <= '{qpn: 24'(half_qpn_i), psn: half_i.expected_psn};

endmodule
