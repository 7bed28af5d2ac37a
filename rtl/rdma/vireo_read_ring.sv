// SPDX-License-Identifier: Apache-2.0

// The outstanding RDMA READs of each QP as requester, i.e. with incomplete responses: a ring per QP, the oldest first.
// The responder's fields of each are in its read_record; the responder itself tracks the position in the oldest one.
//
// Records are accepted at once, whatever the responder does: their source must never wait for blocks that wait for the
// responder. A duplicate (a retry sends the record again) is not stored: detected by its number, modulo 256,
// of which no more than half are outstanding. Packets of the peer have no influence on that.
module vireo_read_ring
  import vireo_spec_pkg::*;
  import vireo_common_pkg::wide_slice;
#(
  parameter config_t Config,
  localparam int unsigned NumQps = Config.num_qps,             // a power of two, 2 or more
  localparam int unsigned MaxRdAtomic = Config.max_rd_atomic,  // READs per QP; a power of two, 2 or more
  localparam int unsigned QpBits = $clog2(NumQps)
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               read_record_valid_i,
  output logic               read_record_ready_o,
  input  read_record_t       read_record_i,

  output logic               load_ready_o,
  input  logic               load_i,              // only if it is ready: discards all records of this QP
  input  logic [QpBits-1:0]  load_qpn_i,

  input  logic               read_i,              // starts a turn of this QP, to which the following ports apply
  input  logic [QpBits-1:0]  read_qpn_i,
  output logic               held_o,              // from one cycle later on: there is one
  output read_record_t       oldest_o,            // from two cycles later on
  input  logic               keep_i,              // retire_i concerns this turn, also when another one has started
  input  logic               retire_i,            // the oldest one is complete

  output logic               idle_o
);

  localparam int unsigned PlaceBits = $clog2(MaxRdAtomic);
  localparam int unsigned CountBits = PlaceBits + 1;

  // Counts are modulo twice the capacity; the entries between them are in the ring.
  typedef struct packed {
    logic [CountBits-1:0] count;
    logic any;                // since the load
    logic [7:0] next;         // then: new records have this number or a later one
  } taken_t;
  typedef logic [CountBits-1:0] ended_t;

  logic record_valid, record_ready;
  read_record_t record;
  // Its first fields are the QP and the READ's number.
  localparam int unsigned EntryBits = ReadRecordBits - $bits(record.qpn) - $bits(record.number);

  vireo_slice #(
    .Width(ReadRecordBits),
    .Depth(wide_slice(Config.datapath_bits))
  ) u_record (
    .clk_i,
    .rst_ni,
    .s_valid_i(read_record_valid_i),
    .s_ready_o(read_record_ready_o),
    .s_data_i(read_record_i),
    .m_valid_o(record_valid),
    .m_ready_i(record_ready),
    .m_data_o(record)
  );

  // --- Records: rows are read in one cycle, written in the next.

  logic writing_q;
  logic start;
  logic taken_write, ended_write;
  logic [QpBits-1:0] record_qpn, taken_qpn, ended_qpn, turn_q, kept_q;
  taken_t taken_d, record_taken, turn_taken;
  ended_t ended_d, record_ended, turn_ended, kept_ended_q;
  logic full, known, takes;
  logic [7:0] ahead_by;
  logic entries_read_q;

  always_comb begin
    record_qpn = QpBits'(record.qpn);
    start = record_valid && !writing_q && !load_i;
    record_ready = writing_q;
    full = record_taken.count - record_ended == CountBits'(MaxRdAtomic);
    ahead_by = record.number - record_taken.next;
    known = record_taken.any && ahead_by >= 8'h80;
    takes = writing_q && !known && !full;

    taken_write = takes || load_i;
    taken_qpn = load_i ? load_qpn_i : record_qpn;
    taken_d = load_i ? '0 : '{count: record_taken.count + 1'b1, any: 1'b1, next: record.number + 1'b1};

    ended_write = load_i || retire_i;
    ended_qpn = load_i ? load_qpn_i : kept_q;
    ended_d = load_i ? '0 : kept_ended_q + 1'b1;
  end

  assign load_ready_o = !writing_q;
  assign held_o = turn_taken.count != turn_ended;
  assign oldest_o.qpn = 24'(turn_q);
  assign oldest_o.number = '0;  // not used after this
  assign idle_o = !record_valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      entries_read_q <= 1'b0;
    end else begin
      writing_q <= start;
      entries_read_q <= read_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) turn_q <= read_qpn_i;
    if (keep_i) begin
      kept_q <= turn_q;
      kept_ended_q <= turn_ended;
    end
  end

  // Two readers: records and turns.
  vireo_table #(
    .Width($bits(taken_t)),
    .Depth(NumQps)
  ) u_record_taken (
    .clk_i,
    .rst_ni,
    .write_i(taken_write),
    .write_address_i(taken_qpn),
    .write_data_i(taken_d),
    .read_i(start),
    .read_address_i(record_qpn),
    .read_data_o(record_taken)
  );

  vireo_table #(
    .Width($bits(ended_t)),
    .Depth(NumQps)
  ) u_record_ended (
    .clk_i,
    .rst_ni,
    .write_i(ended_write),
    .write_address_i(ended_qpn),
    .write_data_i(ended_d),
    .read_i(start),
    .read_address_i(record_qpn),
    .read_data_o(record_ended)
  );

  vireo_table #(
    .Width($bits(taken_t)),
    .Depth(NumQps)
  ) u_turn_taken (
    .clk_i,
    .rst_ni,
    .write_i(taken_write),
    .write_address_i(taken_qpn),
    .write_data_i(taken_d),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(turn_taken)
  );

  vireo_table #(
    .Width($bits(ended_t)),
    .Depth(NumQps)
  ) u_turn_ended (
    .clk_i,
    .rst_ni,
    .write_i(ended_write),
    .write_address_i(ended_qpn),
    .write_data_i(ended_d),
    .read_i,
    .read_address_i(read_qpn_i),
    .read_data_o(turn_ended)
  );

  vireo_table #(
    .Width(EntryBits),
    .Depth(NumQps * MaxRdAtomic)
  ) u_entries (
    .clk_i,
    .rst_ni,
    .write_i(takes),
    .write_address_i({record_qpn, record_taken.count[PlaceBits-1:0]}),
    .write_data_i(record[EntryBits-1:0]),
    .read_i(entries_read_q),
    .read_address_i({turn_q, turn_ended[PlaceBits-1:0]}),
    .read_data_o(oldest_o[EntryBits-1:0])
  );

  // A record's QP number has more bits than there are QPs; of a turn only the oldest record's count is used.
  logic unused;
  assign unused = ^{record.qpn, turn_taken.any, turn_taken.next};

endmodule
