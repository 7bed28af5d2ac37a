// SPDX-License-Identifier: Apache-2.0

// Checks whether a key allows an access, and translates its address to host memory. It owns the tables of memory
// regions and their pages. Three clients, round robin; a pipeline that takes one access per cycle and never stalls: an
// access is accepted only if there is space for its response. Every response takes the same steps, and a client's
// responses come in request order. For an access of more than a smallest page it returns only the status, as it may
// have more than two runs.
//
// It checks only the key, the protection domain, the rights and the bounds, in this order; it knows no queue pair.
// Firmware ensures that a region's pages are in the table, as many as its length needs. A region with bad parity, or
// with such a page, is treated as nonexistent.
//
// It also ends regions: an invalidate is checked like an access, and if it is allowed, the region is gone for every check
// that is taken after it. And it binds memory windows, whose row is one of a region with a part of another region's pages: a
// bind reads the window's row, then the region's, and passes the stages of an access to the range, which compute the
// window's first page. And it registers regions that firmware allocated for that: pages come in pairs, each like a check, then
// the range. Firmware is the only other writer of regions and pages, and goes first.
//
// What was granted before a region was written or invalidated goes on; vireo_key_fence tells when it has ended.
module vireo_memory_check
  import vireo_spec_pkg::*;
  import vireo_common_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned NumMrs = Config.num_mrs,
  localparam int unsigned NumTranslations = Config.num_translations,  // a power of two, 4 or more
  localparam int unsigned Clients = MemoryClients
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic                          table_write_valid_i,
  input  table_write_t                  table_write_i,
  input  logic                          context_flip_valid_i,
  input  context_flip_t                 context_flip_i,
  output logic                          parity_error_o,

  input  logic [Clients-1:0]            check_valid_i,  // memory_client_e
  output logic [Clients-1:0]            check_ready_o,
  input  memory_check_t [Clients-1:0]   check_i,

  output logic [Clients-1:0]            place_valid_o,
  input  logic [Clients-1:0]            place_ready_i,
  output memory_place_t [Clients-1:0]   place_o,

  input  memory_grant_t [GrantHolders-1:0] ended_i,  // grant_holder_e; pulses: a granted access has ended
  input  logic                          epoch_i,     // pulse: fence_o begins anew, as with a write of a region
  output logic                          fence_o,     // some granted before that have not ended
  // Who waits for accesses to an invalidated region: the receive scatter for side `sent`, the completer for both.
  input  logic                          scatter_waits_i,
  input  logic                          completer_waits_i,
  output key_fence_t                    key_fence_o,

  output logic                          binding_valid_o,  // a pulse, one cycle after each write of a row
  output mr_binding_t                   binding_o,

  output logic                          idle_o
);

  // A table has at least two entries; the second one of a device with one region is never used.
  localparam int unsigned MrDepth = NumMrs < 2 ? 2 : NumMrs;
  localparam int unsigned MrBits = $clog2(MrDepth);
  localparam int unsigned PageBits = $clog2(NumTranslations);
  localparam int unsigned ShiftBits = $clog2(32'(RdmaPageShiftMax) + 1);
  localparam int unsigned LowBits = 32'(RdmaPageShiftMax);  // of an offset in a page
  localparam int unsigned BytesBits = 13;
  localparam int unsigned MostBytes = 1 << RdmaPageShiftMin;  // of an access that is translated
  localparam int unsigned ClientBits = $clog2(Clients);
  // Places for the responses of one client: from a take to the next one for the same place are 6 cycles, so that a
  // client that accepts its responses at once has one check taken per cycle.
  localparam int unsigned Answers = 8;
  localparam int unsigned AnswersBits = $clog2(Answers + 1);
  // Pages by the lowest bit of their number: a page and the next one are in different banks and read at once.
  localparam int unsigned Banks = 2;
  localparam int unsigned BankBits = PageBits - 1;
  localparam bit Invalidation = Config.invalidation != 0;
  localparam bit Flush = Config.flush != 0;
  localparam bit Windows = Config.memory_windows != 0;
  localparam bit FastRegistration = Config.fast_registration != 0;
  localparam int unsigned MaxPairs = Config.max_send_sge;  // of pages of a registration
  localparam int unsigned PairBits = $clog2(MaxPairs + 1);
  localparam int unsigned QpBits = $clog2(Config.num_qps);
  localparam int unsigned Sides = 2;  // key_side_e

  // The fields of table_mr_t used here, and what a bind sets of a window.
  typedef struct packed {
    logic is_fast;
    logic [PairBits-1:0] pairs;  // with it: the most
    logic [QpBits-1:0] bound_by;
    logic bound;               // a window
    logic zero_based;          // likewise: accesses begin at address 0, and virt_addr is where it is in the region
    logic is_window;
    logic is_type_2;
    logic mw_bind;
    logic [63:0] length;
    logic [63:0] virt_addr;
    logic [15:0] pdn;
    logic [PageBits-1:0] first_translation;
    logic [ShiftBits-1:0] page_shift;
    logic [7:0] key;
    logic invalidatable;
    logic flush_persistent;
    logic flush_global;
    logic remote_atomic;
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
  logic [Banks-1:0][BankBits-1:0] bank_address, write_bank_address;
  logic [Banks-1:0] bank_write;
  logic pair_write;
  table_translation_t [Banks-1:0] bank_in;
  table_translation_t [Banks-1:0] bank;
  logic [Banks-1:0] bank_corrupt;
  logic row_corrupt;
  // An invalidate whose region ends, or a bind or registration that changes its row; and one that had to let a write of
  // firmware go first.
  logic row_valid_q, ends, rewrites, late_d, late_q, row_write;
  // Firmware's write of its row, also in the cycle in which that was read: then there is nothing to end or to bind any more.
  logic overwritten, overwritten_d, overwritten_q, write_mr_q;
  logic [MrBits-1:0] changed_index, row_index, written_index_q;
  row_t changed_row;
  memory_check_t check_q;

  always_comb begin
    write_mr = table_write_valid_i && table_write_i.table_id == MgmtTableMr;
    write_page = table_write_valid_i && table_write_i.table_id == MgmtTableTranslation;
    // Otherwise the written value is zero, so that simulation skips it.
    written_mr = '0;
    written_page = '0;
    written_row = '0;
    if (table_write_valid_i || vireo_common_pkg::Synthesis) begin
      written_mr = unpack_table_mr(table_write_i.data[8*TableMrBytes-1:0]);
      written_page = unpack_table_translation(table_write_i.data[8*TableTranslationBytes-1:0]);
      written_row = '{bound_by: '0, bound: 1'b0, zero_based: 1'b0, is_window: Windows && written_mr.is_window,
                      is_type_2: Windows && written_mr.is_type_2, mw_bind: Windows && written_mr.mw_bind,
                      length: written_mr.length, virt_addr: written_mr.virt_addr, pdn: written_mr.pdn,
                      first_translation: written_mr.first_translation[PageBits-1:0],
                      page_shift: written_mr.page_shift[ShiftBits-1:0], key: written_mr.key,
                      is_fast: FastRegistration && written_mr.is_fast,
                      pairs: FastRegistration && written_mr.is_fast ? PairBits'(written_mr.npages >> 1) : '0,
                      invalidatable: Invalidation && written_mr.invalidatable,
                      flush_persistent: Flush && written_mr.flush_persistent,
                      flush_global: Flush && written_mr.flush_global,
                      remote_atomic: written_mr.remote_atomic, remote_read: written_mr.remote_read,
                      remote_write: written_mr.remote_write,
                      local_write: written_mr.local_write, dma: written_mr.dma, valid: written_mr.valid};
    end
    // check_q stays: no check is taken until the row is written.
    changed_index = check_q.key[8*RdmaKeyIndexOffset +: MrBits];
    overwritten = overwritten_q || (write_mr_q && written_index_q == changed_index);
    overwritten_d = overwritten || (write_mr && table_write_i.index[MrBits-1:0] == changed_index);
    row_write = write_mr || ((ends || rewrites || late_q) && !overwritten);
    row_index = write_mr ? table_write_i.index[MrBits-1:0] : changed_index;
    late_d = (ends || rewrites || late_q) && write_mr && !overwritten_d;
    if (!write_mr) written_row = row_write || vireo_common_pkg::Synthesis ? changed_row : '0;
  end

  // --- Inputs
  logic [Clients-1:0] check_valid, check_ready;
  memory_check_t [Clients-1:0] check;

  for (genvar i = 0; i < Clients; i++) begin : gen_client
    vireo_slice #(
      .Width(MemoryCheckBits),
      .Depth(wide_slice(Config.datapath_bits))
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

  // Places for responses: an accepted check owns one until its response leaves
  logic [Clients-1:0][AnswersBits-1:0] held_d, held_q;
  logic [Clients-1:0] place_leaves, requests;

  assign place_leaves = place_valid_o & place_ready_i;

  for (genvar i = 0; i < Clients; i++) begin : gen_wants
    assign requests[i] = check_valid[i] && held_q[i] != AnswersBits'(Answers);
  end

  // --- Take a check and read its region
  logic [ClientBits-1:0] last_d, last_q;  // client of the last accepted check
  logic [ClientBits-1:0] pick;            // client of the next check
  logic take;
  memory_check_t check_d;
  rdma_key_t key, region_key;
  // A bind or registration, or its pages: from its take to the write. A bind's second read of a row, which is of the region.
  logic binding_d, binding_q, second_d, second_q;
  logic changes;  // the check that is taken is one of these

  vireo_rr_pick #(.Inputs(Clients)) u_pick (.requests_i(requests), .last_i(last_q), .pick_o(pick));

  always_comb begin
    // Those behind an invalidate or a bind find what it has written.
    take = requests != '0 && !(row_valid_q && check_q.invalidate) && !binding_q && !late_q;
    last_d = take ? pick : last_q;

    // Not check[pick]: for a width that is not a multiple of 32 Verilator 5.006 reads beyond the array.
    check_d = check[0];
    for (int unsigned i = 0; i < Clients; i++) begin
      check_ready[i] = take && pick == ClientBits'(i);
      held_d[i] = held_q[i] + AnswersBits'(check_ready[i]) - AnswersBits'(place_leaves[i]);
      if (pick == ClientBits'(i)) check_d = check[i];
    end
    changes = (Windows && check_d.binds) || (FastRegistration && (check_d.maps || check_d.registers));
  end

  // --- Fence: accesses between their check and their end
  function automatic logic side_of(input logic [ClientBits-1:0] client);
    return client == ClientBits'(MemoryClientResponder) ? KeySideReceived : KeySideSent;
  endfunction

  logic [Sides-1:0] epoch, taken;  // of the checks that are taken
  logic row_epoch_q, bounds_epoch_q, page_epoch_q, place_epoch_q;
  memory_grant_t [Sides-1:0] refused;  // a check that granted nothing: it has ended

  always_comb begin
    taken = '0;
    taken[side_of(pick)] = take;
  end

  vireo_key_fence #(
    .Holders(GrantHolders),
    .HolderSides(GrantHolders'(1 << GrantHolderResponder | 1 << GrantHolderRxScatter))
  ) u_fence (
    .clk_i,
    .rst_ni,
    .taken_i(taken),
    .refused_i(refused),
    .ended_i,
    .waits_i({completer_waits_i, completer_waits_i || scatter_waits_i}),
    .close_i(write_mr || epoch_i),
    .epoch_o(epoch),
    .fence_o,
    .state_o(key_fence_o)
  );

  assign key = unpack_rdma_key(check_d.key);
  assign region_key = unpack_rdma_key(check_q.lkey);
  assign mr_address = second_d ? region_key.index[MrBits-1:0] : key.index[MrBits-1:0];

  // --- Key, protection domain, rights; distances
  logic [ClientBits-1:0] row_client_q;
  logic index_exists_q;  // the key names an entry of the table
  logic right_missing, may_invalidate;
  logic is_remote;       // an access by the peer
  logic unbinds;         // a bind of no bytes
  logic maps, registers;          // pages of a registration, or the registration
  logic [15:0] pair;              // their number, or how many there are
  logic too_long;                 // it has more pages than the region may have, or goes past 2^64
  logic [64:0] last_distance;
  memory_status_e fast_status;
  memory_status_e status1_d, window_status_d, window_status_q;
  logic window_type_2_q;
  logic [63:0] first_address;  // of the region; 0 if it is the whole address space
  logic [63:0] address;        // of the access's first byte
  logic [63:0] page_mask;      // the bits of an address that are an offset in the page
  logic [63:0] page_base, offset;
  logic unused_carry;

  // The client decides which rights a check needs; the row must have them all. [IBTA vol. 1, 10.6.3]
  always_comb begin
    right_missing = (check_q.local_write && !row.local_write) || (check_q.remote_write && !row.remote_write)
                 || (check_q.remote_read && !row.remote_read) || (check_q.remote_atomic && !row.remote_atomic)
                 || (check_q.flush_global && !row.flush_global) || (check_q.flush_persistent && !row.flush_persistent);
    is_remote = check_q.remote_write || check_q.remote_read || check_q.remote_atomic || check_q.flush_global
             || check_q.flush_persistent;
    unbinds = {check_q.bytes_high, check_q.bytes} == '0;
    // The window of a bind, whatever its key was.
    if (!index_exists_q || !row.valid || !row.is_window) window_status_d = MemoryStatusKey;
    else if (row.pdn != check_q.pdn) window_status_d = MemoryStatusPd;
    else if (row.is_type_2 ? row.bound : check_q.zero_based) window_status_d = MemoryStatusRights;
    else if (row.is_type_2 && unbinds) window_status_d = MemoryStatusBounds;
    else window_status_d = MemoryStatusOk;
    // A region that firmware allocated to be registered, and that is not. [IBTA vol. 1, 10.6.3: it is in the free state]
    maps = FastRegistration && check_q.maps;
    registers = FastRegistration && check_q.registers;
    pair = maps ? check_q.lkey[15:0] : {8'd0, check_q.lkey[15:8]};
    last_distance = {1'b0, check_q.address} + {1'b0, check_q.bytes_high, check_q.bytes} - 65'd1;
    too_long = maps ? pair >= 16'(row.pairs) : pair > 16'(row.pairs) || last_distance[64];
    if (!index_exists_q || !row.is_fast) fast_status = MemoryStatusKey;
    else if (check_q.pdn != row.pdn) fast_status = MemoryStatusPd;
    else if (row.valid || ((check_q.remote_write || check_q.remote_atomic) && !check_q.local_write)) fast_status = MemoryStatusRights;
    else if (too_long) fast_status = MemoryStatusBounds;
    else fast_status = MemoryStatusOk;
    // A window has no lkey, and one of type 2 is used and unbound by the QP that bound it. [IBTA vol. 1, 10.6.7.2]
    may_invalidate = row.is_window ? row.is_type_2 : row.invalidatable;
    if (Windows && second_q) begin
      // The region of a bind. [IBTA vol. 1, 10.6.7.2.2, C10-73 to C10-75]
      if (window_status_q != MemoryStatusOk || unbinds) status1_d = window_status_q;
      else if (!index_exists_q || !row.valid || row.is_window || row.key != check_q.lkey[7:0]) status1_d = MemoryStatusKey;
      else if (row.pdn != check_q.pdn) status1_d = MemoryStatusPd;
      else if (!row.mw_bind || ((check_q.remote_write || check_q.remote_atomic) && !row.local_write)) status1_d = MemoryStatusRights;
      else status1_d = MemoryStatusOk;
    end else if (maps || registers) begin
      status1_d = fast_status;
    end else if (!index_exists_q || !row.valid || row.key != check_q.key[7:0]
                 || (row.is_window && (!row.bound || !(is_remote || check_q.invalidate)))) begin
      status1_d = MemoryStatusKey;
    end else if (row.pdn != check_q.pdn
                 || (row.is_window && row.is_type_2 && row.bound_by != check_q.qpn[QpBits-1:0])) begin
      status1_d = MemoryStatusPd;
    end else if (check_q.invalidate ? !may_invalidate : right_missing) begin
      status1_d = MemoryStatusRights;
    end else begin
      status1_d = MemoryStatusOk;
    end

    second_d = Windows && row_valid_q && check_q.binds && !second_q;

    ends = Invalidation && row_valid_q && check_q.invalidate && status1_d == MemoryStatusOk;

    first_address = row.dma || row.zero_based ? '0 : row.virt_addr;
    address = Flush && check_q.whole ? first_address : check_q.address;
    page_mask = (64'd1 << row.page_shift) - 64'd1;
    // Added to the address: from there on it is an offset from the first page.
    page_base = row.zero_based ? row.virt_addr & page_mask : ~(first_address & ~page_mask);
    // One adder, with the carry of a negation.
    {offset, unused_carry} = {address, 1'b1} + {page_base, !row.zero_based};
  end

  // --- Bounds, number of the page
  logic bounds_valid_q;
  logic [ClientBits-1:0] bounds_client_q;
  memory_status_e status1_q, status2_d;
  logic dma1_q;
  logic [63:0] bytes1_q;
  logic [64:0] distance1_q;  // from the region's first address; the highest bit: it lies before it
  logic [64:0] limit1_q;     // the region's length
  logic [63:0] offset1_q;    // from the first byte of the region's first page
  logic [PageBits-1:0] first1_q;
  logic [ShiftBits-1:0] shift1_q;
  logic [LowBits-1:0] mask1_q;
  logic [64:0] end_distance;
  logic [LowBits-1:0] low2_d;
  logic [LowBits:0] room;  // in the page from the first byte on
  logic crosses2_d;

  // An access to the whole address space must end within it, too.
  always_comb begin
    end_distance = {1'b0, distance1_q[63:0]} + {1'b0, bytes1_q};
    status2_d = status1_q;
    if (status1_q == MemoryStatusOk && (distance1_q[64] || end_distance > limit1_q)) status2_d = MemoryStatusBounds;

    low2_d = offset1_q[LowBits-1:0] & mask1_q;
    room = {1'b0, mask1_q} - {1'b0, low2_d} + 1'b1;
    crosses2_d = !dma1_q && (LowBits + 1)'(bytes1_q) > room;  // matters for a translated access only
  end

  // Read the page and the next one; a bind or registration writes its row, or its pages
  logic page_valid_q;
  logic [ClientBits-1:0] page_client_q;
  memory_status_e status2_q;
  logic placed2_q;            // the response has a place
  logic dma2_q, crosses2_q;
  logic [PageBits-1:0] page2_q;
  logic bounds_binds_q, page_binds_q;
  logic page_pair_d, page_pair_q;  // pages are written, or had to let a write of firmware go first
  mr_binding_t pulse_d;
  logic [63:0] low2_q;        // added to the page's address; the whole address, if there is no page
  logic [BytesBits-1:0] bytes2_q, bytes0_2_q;

  always_comb begin
    // Neither row is read any more: `row` is the region's, or of an invalidate the window's own.
    changed_row = '0;
    if (FastRegistration && row.is_fast && !(Windows && check_q.binds)) begin
      changed_row.is_fast = 1'b1;
      changed_row.pairs = row.pairs;
      changed_row.invalidatable = row.invalidatable;
      changed_row.first_translation = row.first_translation;
      changed_row.pdn = row.pdn;
      changed_row.key = check_q.key[7:0];
      if (registers) begin
        changed_row.valid = 1'b1;
        changed_row.local_write = check_q.local_write;
        changed_row.remote_write = check_q.remote_write;
        changed_row.remote_read = check_q.remote_read;
        changed_row.remote_atomic = check_q.remote_atomic;
        changed_row.virt_addr = check_q.address;
        changed_row.length = {check_q.bytes_high, check_q.bytes};
        changed_row.page_shift = check_q.lkey[ShiftBits-1:0];
      end
    end else if (Windows && (binding_q || row.is_window)) begin
      changed_row.valid = 1'b1;
      changed_row.is_window = 1'b1;
      changed_row.is_type_2 = !binding_q || window_type_2_q;
      changed_row.pdn = check_q.pdn;
      changed_row.key = check_q.key[7:0];
      if (binding_q && !unbinds) begin
        changed_row.bound = 1'b1;
        changed_row.bound_by = check_q.qpn[QpBits-1:0];
        changed_row.zero_based = check_q.zero_based;
        changed_row.remote_write = check_q.remote_write;
        changed_row.remote_read = check_q.remote_read;
        changed_row.remote_atomic = check_q.remote_atomic;
        changed_row.virt_addr = check_q.address;
        changed_row.length = {check_q.bytes_high, check_q.bytes};
        changed_row.page_shift = row.page_shift;
        changed_row.first_translation = page2_q;
      end
    end
  end

  assign rewrites = page_valid_q && page_binds_q && !maps && status2_q == MemoryStatusOk;

  always_comb begin
    page_pair_d = FastRegistration && write_page
               && ((page_valid_q && page_binds_q && maps && status2_q == MemoryStatusOk) || page_pair_q);
    binding_d = (take && changes)
             || (binding_q && (late_d || page_pair_d || !((page_valid_q && page_binds_q) || late_q || page_pair_q)));
    pulse_d = '0;
    if (row_write) pulse_d = '{index: 24'(row_index), is_bound: !write_mr && changed_row.bound,
                               bound_to: !write_mr && changed_row.bound ? 24'(region_key.index[MrBits-1:0]) : '0,
                               bound_by: write_mr ? '0 : 24'(changed_row.bound_by),
                               is_alive: written_row.valid, device_key: written_row.key};
  end

  always_comb begin
    bank_address[0] = page2_q[PageBits-1:1] + BankBits'(page2_q[0]);
    bank_address[1] = page2_q[PageBits-1:1];
    // No check is behind a pair of pages: they stay until they are written.
    pair_write = FastRegistration && !write_page
              && ((page_valid_q && page_binds_q && maps && status2_q == MemoryStatusOk) || page_pair_q);
    for (int unsigned i = 0; i < Banks; i++) begin
      bank_write[i] = pair_write || (write_page && table_write_i.index[0] == 1'(i));
      write_bank_address[i] = write_page ? table_write_i.index[PageBits-1:1] : bank_address[i];
      bank_in[i] = written_page;
      if (pair_write) begin
        bank_in[i].address = page2_q[0] == 1'(i) ? check_q.address : {check_q.bytes_high, check_q.bytes};
      end
    end
  end

  // Response
  logic place_valid_q;
  logic [ClientBits-1:0] place_client_q;
  memory_status_e status3_q;
  logic paged3_q, crosses3_q; // the first, the second run starts at a page
  logic odd3_q;               // the first run's page
  logic [63:0] low3_q;
  logic [BytesBits-1:0] bytes0_3_q, bytes1_3_q;
  memory_place_t place;
  logic [Clients-1:0] place_push;

  logic page_corrupt;
  always_comb begin
    page_corrupt = (paged3_q && bank_corrupt[odd3_q]) || (crosses3_q && bank_corrupt[!odd3_q]);
    place = '{status: MemoryStatusKey, default: '0};
    if (!page_corrupt) begin
      place.status = status3_q;
      place.address0 = (paged3_q ? bank[odd3_q].address : 64'd0) + low3_q;
      place.bytes0 = bytes0_3_q;
      place.address1 = crosses3_q ? bank[!odd3_q].address : 64'd0;
      place.bytes1 = bytes1_3_q;
      place.grant = '{valid: bytes0_3_q != '0, epoch: bytes0_3_q != '0 && place_epoch_q};
    end
    refused = '0;
    refused[side_of(place_client_q)] = '{valid: place_valid_q && !place.grant.valid, epoch: place_epoch_q};
    for (int unsigned i = 0; i < Clients; i++) place_push[i] = place_valid_q && place_client_q == ClientBits'(i);
  end

  // Responses wait in a memory of LUTs; one that finds the client's queue empty bypasses it to the register at the output.
  for (genvar i = 0; i < Clients; i++) begin : gen_place
    localparam int unsigned AddressBits = $clog2(Answers);
    logic [AddressBits-1:0] write_address_q, read_address_q;
    logic [AddressBits:0] stored_d, stored_q;  // in the RAM, without the one at the output
    logic valid_d, valid_q;
    logic next, read, write, straight;
    memory_place_t place_q;  // the one at the output
    logic [MemoryPlaceBits-1:0] places [Answers];

    always_comb begin
      next = !valid_q || place_ready_i[i];
      read = next && stored_q != '0;
      straight = next && stored_q == '0 && place_push[i];
      write = place_push[i] && !straight;
      stored_d = stored_q + (AddressBits + 1)'(write) - (AddressBits + 1)'(read);
      valid_d = !next || read || straight;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        write_address_q <= '0;
        read_address_q <= '0;
        stored_q <= '0;
        valid_q <= 1'b0;
      end else begin
        if (write) write_address_q <= write_address_q + 1'b1;
        if (read) read_address_q <= read_address_q + 1'b1;
        stored_q <= stored_d;
        valid_q <= valid_d;
      end
    end

    always_ff @(posedge clk_i) begin
      if (write) places[write_address_q] <= place;
      if (read) place_q <= places[read_address_q];
      else if (straight) place_q <= place;
    end

    assign place_valid_o[i] = valid_q;
    assign place_o[i] = place_q;

`ifndef SYNTHESIS
    // The take has reserved the place.
    not_full: assert property (@(posedge clk_i) disable iff (!rst_ni) write |-> 32'(stored_q) < Answers);
`endif
  end

  // --- Registers
  logic parity_error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q <= ClientBits'(Clients - 1);
      held_q <= '0;
      late_q <= 1'b0;
      overwritten_q <= 1'b0;
      write_mr_q <= 1'b0;
      binding_q <= 1'b0;
      second_q <= 1'b0;
      page_pair_q <= 1'b0;
      binding_valid_o <= 1'b0;
      row_valid_q <= 1'b0;
      bounds_valid_q <= 1'b0;
      page_valid_q <= 1'b0;
      place_valid_q <= 1'b0;
      parity_error_q <= 1'b0;
    end else begin
      last_q <= last_d;
      held_q <= held_d;
      late_q <= late_d;
      overwritten_q <= overwritten_d && binding_q && binding_d;
      write_mr_q <= write_mr;
      binding_q <= binding_d;
      second_q <= second_d;
      binding_valid_o <= Invalidation && row_write;
      page_pair_q <= page_pair_d;
      row_valid_q <= take || second_d;
      bounds_valid_q <= row_valid_q && !second_d;
      page_valid_q <= bounds_valid_q;
      place_valid_q <= page_valid_q;
      parity_error_q <= (row_valid_q && index_exists_q && row_corrupt) || (place_valid_q && page_corrupt);
    end
  end

  always_ff @(posedge clk_i) begin
    written_index_q <= table_write_i.index[MrBits-1:0];
    binding_o <= pulse_d;
    if (second_d) begin
      window_status_q <= window_status_d;
      window_type_2_q <= row.is_type_2;
      index_exists_q <= 32'(region_key.index) < NumMrs;
    end
    if (take) begin
      row_client_q <= pick;
      row_epoch_q <= epoch[side_of(pick)];
      check_q <= check_d;
      index_exists_q <= 32'(key.index) < NumMrs;
    end
    if (row_valid_q) begin
      bounds_client_q <= row_client_q;
      bounds_epoch_q <= row_epoch_q;
      bounds_binds_q <= second_q || maps || registers;
      status1_q <= status1_d;
      dma1_q <= row.dma;
      bytes1_q <= {check_q.bytes_high, check_q.bytes};
      // An invalidate has no bounds, nor a bind of no bytes.
      distance1_q <= check_q.invalidate || (check_q.binds && unbinds) ? '0 : {1'b0, address} - {1'b0, first_address};
      limit1_q <= row.dma ? {1'b1, 64'd0} : {1'b0, row.length};
      offset1_q <= offset;
      first1_q <= row.first_translation;
      shift1_q <= row.page_shift;
      if (maps) begin
        // Not in bytes; both in the region.
        distance1_q <= '0;
        bytes1_q <= '0;
        offset1_q <= 64'({pair, 1'b0});
        shift1_q <= '0;
      end else if (registers) begin
        // From the first byte of its first page, in as many pages as there are.
        distance1_q <= {1'b0, check_q.address} & ~(~65'd0 << check_q.lkey[ShiftBits-1:0]);
        limit1_q <= 65'({pair, 1'b0}) << check_q.lkey[ShiftBits-1:0];
      end
      mask1_q <= page_mask[LowBits-1:0];
    end
    if (bounds_valid_q) begin
      page_client_q <= bounds_client_q;
      page_epoch_q <= bounds_epoch_q;
      page_binds_q <= bounds_binds_q;
      status2_q <= status2_d;
      placed2_q <= status2_d == MemoryStatusOk && bytes1_q <= 64'(MostBytes) && bytes1_q != '0 && !bounds_binds_q;
      dma2_q <= dma1_q;
      crosses2_q <= crosses2_d;
      page2_q <= first1_q + PageBits'(offset1_q >> shift1_q);
      low2_q <= dma1_q ? offset1_q : 64'(low2_d);
      bytes2_q <= BytesBits'(bytes1_q);
      bytes0_2_q <= crosses2_d ? room[BytesBits-1:0] : BytesBits'(bytes1_q);
    end
    if (page_valid_q) begin
      place_client_q <= page_client_q;
      place_epoch_q <= page_epoch_q;
      status3_q <= status2_q;
      paged3_q <= placed2_q && !dma2_q;
      crosses3_q <= placed2_q && crosses2_q;
      odd3_q <= page2_q[0];
      low3_q <= placed2_q ? low2_q : '0;
      bytes0_3_q <= placed2_q ? bytes0_2_q : '0;
      bytes1_3_q <= placed2_q ? bytes2_q - bytes0_2_q : '0;
    end
  end

  vireo_context_table #(
    .HasParity(Config.parity != 0),
    .Width($bits(row_t)),
    .Depth(MrDepth),
    .Ram(ContextRamMemoryCheckMr)
  ) u_mrs (
    .clk_i,
    .rst_ni,
    .write_i(row_write),
    .write_address_i(row_index),
    .write_data_i(written_row),
    .read_i(take || second_d),
    .read_address_i(mr_address),
    .read_data_o(row),
    .corrupt_o(row_corrupt),
    .flip_valid_i(context_flip_valid_i),
    .flip_i(context_flip_i)
  );

  for (genvar i = 0; i < Banks; i++) begin : gen_bank
    // An event of the other bank belongs to no entry of this one.
    context_flip_t bank_flip;
    assign bank_flip = '{ram: context_flip_i.ram,
                         index: context_flip_i.index[0] == 1'(i) ? context_flip_i.index >> 1 : '1,
                         bit_index: context_flip_i.bit_index};
    vireo_context_table #(
      .HasParity(Config.parity != 0),
      .Width($bits(table_translation_t)),
      .Depth(NumTranslations / Banks),
      .Ram(ContextRamMemoryCheckTranslation)
    ) u_pages (
      .clk_i,
      .rst_ni,
      .write_i(bank_write[i]),
      .write_address_i(write_bank_address[i]),
      .write_data_i(bank_in[i]),
      .read_i(page_valid_q),
      .read_address_i(bank_address[i]),
      .read_data_o(bank[i]),
      .corrupt_o(bank_corrupt[i]),
      .flip_valid_i(context_flip_valid_i),
      .flip_i(bank_flip)
    );
  end

  assign parity_error_o = parity_error_q;
  assign idle_o = check_valid == '0 && held_q == '0;

  // Fields of the tables that are not used here.
  logic unused;
  assign unused = ^{last_distance[63:0], table_write_i, written_mr, key, region_key, check_q.qpn, check_q.lkey, check_q.binds, check_q.zero_based, check_q.maps, check_q.registers};

endmodule
