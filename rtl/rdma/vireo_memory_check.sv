// SPDX-License-Identifier: Apache-2.0

// Says whether a key allows an access, and where in host memory the access goes. It owns the tables of memory regions
// and of their pages. Three clients, round robin, one access at a time: every answer takes the same six steps, whatever
// it is. Of an access of more than a smallest page it says only whether it is allowed: it may have more than two runs.
//
// It looks at nothing but the key, the protection domain, the rights and the bounds, in this order; it knows no queue
// pair. That a region's pages are in the table, and as many as its length needs, is firmware's business.
module vireo_memory_check
  import vireo_spec_pkg::*;
#(
  parameter int unsigned NumMrs = 4096,
  parameter int unsigned NumTranslations = 65536,  // a power of two
  localparam int unsigned Clients = 3
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic                          table_write_valid_i,
  input  table_write_t                  table_write_i,

  input  logic [Clients-1:0]            check_valid_i,  // 0: requester, 1: responder, 2: read responder
  output logic [Clients-1:0]            check_ready_o,
  input  memory_check_t [Clients-1:0]   check_i,

  output logic [Clients-1:0]            place_valid_o,
  input  logic [Clients-1:0]            place_ready_i,
  output memory_place_t [Clients-1:0]   place_o,

  output logic                          idle_o
);

  // A table has at least two entries; the second one of a device with one region is never used.
  localparam int unsigned MrDepth = NumMrs < 2 ? 2 : NumMrs;
  localparam int unsigned MrBits = $clog2(MrDepth);
  localparam int unsigned PageBits = $clog2(NumTranslations);
  localparam int unsigned ShiftBits = $clog2(32'(RdmaPageShiftMax) + 1);
  localparam int unsigned LowBits = 32'(RdmaPageShiftMax);  // of an offset in a page
  localparam int unsigned BytesBits = 13;
  localparam int unsigned MostBytes = 1 << RdmaPageShiftMin;  // of an access that has a place
  localparam int unsigned ClientBits = $clog2(Clients);

  // What of a table_mr_t counts here.
  typedef struct packed {
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [15:0] pdn;
    logic [PageBits-1:0] first_translation;
    logic [ShiftBits-1:0] page_shift;
    logic [7:0] key;
    logic remote_read;
    logic remote_write;
    logic local_write;
    logic dma;
    logic valid;
  } row_t;

  // --- Tables
  table_mr_t written_mr;
  row_t written_row;
  table_translation_t written_page;
  logic write_mr, write_page;
  logic [MrBits-1:0] mr_address;
  row_t row;
  logic [PageBits-1:0] page_address;
  logic read_page;
  table_translation_t page;

  always_comb begin
    written_mr = unpack_table_mr(table_write_i.data[8*TableMrBytes-1:0]);
    written_page = unpack_table_translation(table_write_i.data[8*TableTranslationBytes-1:0]);
    write_mr = table_write_valid_i && table_write_i.table_id == MgmtTableMr;
    write_page = table_write_valid_i && table_write_i.table_id == MgmtTableTranslation;
    written_row = '{length: written_mr.length, virt_addr: written_mr.virt_addr, pdn: written_mr.pdn,
                    first_translation: written_mr.first_translation[PageBits-1:0],
                    page_shift: written_mr.page_shift[ShiftBits-1:0], key: written_mr.key,
                    remote_read: written_mr.remote_read, remote_write: written_mr.remote_write,
                    local_write: written_mr.local_write, dma: written_mr.dma, valid: written_mr.valid};
  end

  // --- Inputs
  logic [Clients-1:0] check_valid, check_ready;
  memory_check_t [Clients-1:0] check;

  for (genvar i = 0; i < Clients; i++) begin : gen_client
    vireo_slice #(
      .Width(MemoryCheckBits)
    ) u_check (
      .clk_i,
      .rst_ni,
      .s_valid_i(check_valid_i[i]),
      .s_ready_o(check_ready_o[i]),
      .s_data_i(check_i[i]),
      .m_valid_o(check_valid[i]),
      .m_ready_i(check_ready[i]),
      .m_data_o(check[i])
    );
  end

  // --- One access after the other
  typedef enum logic [2:0] {
    StIdle,   // takes a check and reads the region
    StRow,    // key, protection domain, rights, distances
    StBounds, // bounds, number of the page
    StPage0,  // reads the page
    StPage1,  // reads the one after it
    StPlace   // answers
  } state_e;

  state_e state_d, state_q;
  logic [ClientBits-1:0] client_d, client_q;        // of the access, else of the one before
  logic [ClientBits-1:0] pick;                      // whose check is taken next
  logic take, answer, answer_space;
  logic [Clients-1:0] is_client;                    // one bit: of the access's client
  memory_check_t check_d, check_q;
  rdma_key_t key;
  logic [63:0] page_mask;    // the bits of an address that are an offset in the page

  // After StRow.
  memory_status_e status1_d, status1_q;
  logic dma1_q;
  logic [64:0] distance1_q;  // from the region's first address; the highest bit: it lies before it
  logic [63:0] offset1_q;    // from the first byte of the region's first page
  logic [63:0] length1_q;
  logic [PageBits-1:0] first1_q;
  logic [ShiftBits-1:0] shift1_q;
  logic [LowBits-1:0] mask1_q;

  // After StBounds.
  memory_status_e status2_d, status2_q;
  logic [64:0] end_distance;
  logic [PageBits-1:0] page2_q;
  logic [LowBits-1:0] low2_d, low2_q;
  logic [LowBits:0] room;  // in the page from the first byte on
  logic crosses2_d, crosses2_q;
  logic [BytesBits-1:0] bytes0_2_q;

  // After StPage1.
  logic [63:0] address0_3_q;

  memory_place_t place_d;
  memory_place_t [Clients-1:0] place_q;
  logic [Clients-1:0] place_valid_d, place_valid_q;

  assign key = unpack_rdma_key(check_d.key);
  assign mr_address = key.index[MrBits-1:0];

  vireo_rr_pick #(.Inputs(Clients)) u_pick (.wants_i(check_valid), .last_i(client_q), .pick_o(pick));

  always_comb begin
    client_d = client_q;
    state_d = state_q;
    take = 1'b0;
    answer = 1'b0;
    for (int unsigned i = 0; i < Clients; i++) is_client[i] = client_q == ClientBits'(i);
    answer_space = (is_client & place_valid_q & ~place_ready_i) == '0;
    place_valid_d = place_valid_q & ~place_ready_i;
    unique case (state_q)
      StIdle: begin
        if (check_valid != '0) begin
          client_d = pick;
          take = 1'b1;
          state_d = StRow;
        end
      end
      StRow: state_d = StBounds;
      StBounds: state_d = StPage0;
      StPage0: state_d = StPage1;
      StPage1: state_d = StPlace;
      StPlace: begin
        if (answer_space) begin
          answer = 1'b1;
          place_valid_d = place_valid_d | is_client;
          state_d = StIdle;
        end
      end
      default: state_d = StIdle;
    endcase

    // Not check[client_d]: for a width that is no multiple of 32 Verilator 5.006 makes a read behind the array of it.
    check_d = check[0];
    for (int unsigned i = 0; i < Clients; i++) begin
      check_ready[i] = take && client_d == ClientBits'(i);
      if (client_d == ClientBits'(i)) check_d = check[i];
    end
  end

  // Which rights a check needs is the client's decision; the row must have them all. [IBTA vol. 1, 10.6.3]
  logic index_exists_q;  // the key names an entry of the table
  logic right_missing;

  always_comb begin
    right_missing = (check_q.local_write && !row.local_write) || (check_q.remote_write && !row.remote_write)
                 || (check_q.remote_read && !row.remote_read);
    if (!index_exists_q || !row.valid || row.key != check_q.key[7:0]) status1_d = MemoryStatusKey;
    else if (row.pdn != check_q.pdn) status1_d = MemoryStatusPd;
    else if (right_missing) status1_d = MemoryStatusRights;
    else status1_d = MemoryStatusOk;

    page_mask = (64'd1 << row.page_shift) - 64'd1;
  end

  // An access to the whole address space must end within it, too.
  always_comb begin
    end_distance = (dma1_q ? {1'b0, check_q.address} : {1'b0, distance1_q[63:0]}) + 65'(check_q.bytes);
    status2_d = status1_q;
    if (status1_q == MemoryStatusOk) begin
      if (dma1_q) begin
        if (end_distance > {1'b1, 64'd0}) status2_d = MemoryStatusBounds;
      end else if (distance1_q[64] || end_distance > {1'b0, length1_q}) begin
        status2_d = MemoryStatusBounds;
      end
    end

    low2_d = offset1_q[LowBits-1:0] & mask1_q;
    room = {1'b0, mask1_q} - {1'b0, low2_d} + 1'b1;
    crosses2_d = !dma1_q && (LowBits + 1)'(check_q.bytes) > room;
  end

  assign read_page = state_q == StPage0 || state_q == StPage1;
  assign page_address = state_q == StPage1 ? page2_q + 1'b1 : page2_q;

  always_comb begin
    place_d = '0;
    place_d.status = status2_q;
    if (status2_q == MemoryStatusOk && check_q.bytes <= MostBytes) begin
      place_d.address0 = address0_3_q;
      place_d.bytes0 = bytes0_2_q;
      if (crosses2_q) begin
        place_d.address1 = page.address;
        place_d.bytes1 = BytesBits'(check_q.bytes) - bytes0_2_q;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      client_q <= ClientBits'(Clients - 1);
      place_valid_q <= '0;
    end else begin
      state_q <= state_d;
      client_q <= client_d;
      place_valid_q <= place_valid_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      check_q <= check_d;
      index_exists_q <= 32'(key.index) < NumMrs;
    end
    if (state_q == StRow) begin
      status1_q <= status1_d;
      dma1_q <= row.dma;
      distance1_q <= {1'b0, check_q.address} - {1'b0, row.virt_addr};
      offset1_q <= check_q.address - (row.virt_addr & ~page_mask);
      length1_q <= row.length;
      first1_q <= row.first_translation;
      shift1_q <= row.page_shift;
      mask1_q <= page_mask[LowBits-1:0];
    end
    if (state_q == StBounds) begin
      status2_q <= status2_d;
      page2_q <= first1_q + PageBits'(offset1_q >> shift1_q);
      low2_q <= low2_d;
      crosses2_q <= crosses2_d;
      bytes0_2_q <= crosses2_d ? room[BytesBits-1:0] : BytesBits'(check_q.bytes);
    end
    if (state_q == StPage1) address0_3_q <= dma1_q ? check_q.address : page.address + 64'(low2_q);
    for (int unsigned i = 0; i < Clients; i++) begin
      if (answer && is_client[i]) place_q[i] <= place_d;
    end
  end

  vireo_table #(
    .Width($bits(row_t)),
    .Depth(MrDepth)
  ) u_mrs (
    .clk_i,
    .rst_ni,
    .write_i(write_mr),
    .write_address_i(table_write_i.index[MrBits-1:0]),
    .write_data_i(written_row),
    .read_i(take),
    .read_address_i(mr_address),
    .read_data_o(row)
  );

  vireo_table #(
    .Width($bits(table_translation_t)),
    .Depth(NumTranslations)
  ) u_pages (
    .clk_i,
    .rst_ni,
    .write_i(write_page),
    .write_address_i(table_write_i.index[PageBits-1:0]),
    .write_data_i(written_page),
    .read_i(read_page),
    .read_address_i(page_address),
    .read_data_o(page)
  );

  assign place_valid_o = place_valid_q;
  assign place_o = place_q;
  assign idle_o = state_q == StIdle && check_valid == '0 && place_valid_q == '0;

  // Fields of the tables that do not matter here.
  logic unused;
  assign unused = ^{table_write_i, written_mr, key};

endmodule
