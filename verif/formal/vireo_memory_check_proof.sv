// SPDX-License-Identifier: Apache-2.0

// What vireo_memory_check allows lies within the region or window, for any key, address, length and table contents: bound to
// the block, it samples the check and the region's row in the first cycle of the pipeline, follows them, and compares with
// the answer by the definition in whole numbers [IBTA vol. 1, 10.6.3]. vireo_table's proof covers that the row is the
// key's. Firmware and the requester give page sizes of spec/ only; that is assumed, and that the check is no invalidate,
// bind or registration, which grant nothing.
module vireo_memory_check_proof
  import vireo_spec_pkg::*;
#(
  parameter int unsigned NumMrs = 2,
  parameter int unsigned QpBits = 4,
  parameter int unsigned PageBits = 2
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                row_valid_i,
  input memory_check_t       check_i,
  input logic                row_valid_bit_i,
  input logic                row_dma_i,
  input logic [3:0]          row_window_i,       // is_window, is_type_2, bound, zero_based
  input logic [QpBits-1:0]   row_bound_by_i,
  input logic                second_i,           // of a bind
  input logic [63:0]         row_virt_addr_i,
  input logic [63:0]         row_length_i,
  input logic [15:0]         row_pdn_i,
  input logic [7:0]          row_key_i,
  input logic [5:0]          row_rights_i,       // flush persistent, flush global, remote atomic, remote read, remote write, local write
  input logic [31:0]         row_page_shift_i,
  input logic [PageBits-1:0] row_first_i,
  input logic                page_valid_i,
  input logic [PageBits-1:0] page_i,             // being read
  input logic                place_valid_i,
  input logic [2:0]          status_i,
  input logic [12:0]         bytes0_i,
  input logic [12:0]         bytes1_i,
  input logic                paged_i,
  input logic                crosses_i,
  input logic [63:0]         low_i               // added to the page's address
);

  typedef struct packed {
    memory_check_t check;
    logic valid;
    logic dma;
    logic is_window;
    logic is_type_2;
    logic bound;
    logic zero_based;
    logic [QpBits-1:0] bound_by;
    logic [63:0] virt_addr;
    logic [63:0] length;
    logic [15:0] pdn;
    logic [7:0] key;
    logic [5:0] rights;
    logic [5:0] page_shift;
    logic [PageBits-1:0] first;
  } seen_t;

  seen_t seen, bounds_q, page_q, place_q;

  vireo_formal_reset u_reset (.clk_i, .rst_ni);

  always_comb begin
    seen = '{check: check_i, valid: row_valid_bit_i, dma: row_dma_i, is_window: row_window_i[3],
             is_type_2: row_window_i[2], bound: row_window_i[1], zero_based: row_window_i[0], bound_by: row_bound_by_i,
             virt_addr: row_virt_addr_i, length: row_length_i, pdn: row_pdn_i, key: row_key_i, rights: row_rights_i, page_shift: 6'(row_page_shift_i), first: row_first_i};
    accesses: assume (!second_i && (!row_valid_i || (!check_i.invalidate && !check_i.binds && !check_i.maps && !check_i.registers
                                                       && check_i.bytes_high == '0)));
    // Firmware writes only regions `dma`, and binds only windows that begin at 0.
    rows: assume (!row_valid_i || !row_dma_i || !row_window_i[0]);
    page_sizes: assume (!row_valid_i || (row_page_shift_i >= 32'(RdmaPageShiftMin) && row_page_shift_i <= 32'(RdmaPageShiftMax)));
  end

  always_ff @(posedge clk_i) begin
    bounds_q <= seen;
    page_q <= bounds_q;
    place_q <= page_q;
  end

  logic [65:0] begins, ends, region_begins, region_ends;
  logic contained, rights, key_fits, pd_fits;
  rdma_key_t key;
  logic [63:0] address, page_address, page_mask, page_mask2, page_low, region_page;
  logic by_peer;
  logic ok;

  always_comb begin
    key = unpack_rdma_key(place_q.check.key);
    address = place_q.check.whole ? (place_q.dma || place_q.zero_based ? '0 : place_q.virt_addr) : place_q.check.address;
    page_mask2 = (64'd1 << page_q.page_shift) - 64'd1;
    page_address = page_q.check.whole ? (page_q.zero_based ? '0 : page_q.virt_addr) : page_q.check.address;
    begins = 66'(address);
    ends = begins + 66'(place_q.check.bytes);
    region_begins = place_q.dma || place_q.zero_based ? '0 : 66'(place_q.virt_addr);
    region_ends = place_q.dma ? 66'h1_0000_0000_0000_0000 : region_begins + 66'(place_q.length);
    contained = begins >= region_begins && ends <= region_ends;
    by_peer = {place_q.check.flush_persistent, place_q.check.flush_global, place_q.check.remote_atomic, place_q.check.remote_read,
               place_q.check.remote_write} != '0;
    key_fits = place_q.valid && place_q.key == place_q.check.key[7:0] && 32'(key.index) < NumMrs
            && (!place_q.is_window || (place_q.bound && by_peer));
    pd_fits = place_q.pdn == place_q.check.pdn
           && (!place_q.is_window || !place_q.is_type_2 || place_q.bound_by == place_q.check.qpn[QpBits-1:0]);
    rights = (place_q.rights | ~{place_q.check.flush_persistent, place_q.check.flush_global, place_q.check.remote_atomic, place_q.check.remote_read, place_q.check.remote_write,
                                 place_q.check.local_write}) == '1;
    page_mask = (64'd1 << place_q.page_shift) - 64'd1;
    // The first byte of one that begins at 0 is where it was bound to.
    page_low = (place_q.zero_based ? address + (place_q.virt_addr & page_mask) : address) & page_mask;
    region_page = (page_address >> page_q.page_shift) - (page_q.virt_addr >> page_q.page_shift);
    if (page_q.zero_based) region_page = (page_address + (page_q.virt_addr & page_mask2)) >> page_q.page_shift;
    ok = rst_ni && place_valid_i && status_i == MemoryStatusOk;

    within_region: assert (!ok || contained);
    entitled: assert (!ok || (key_fits && pd_fits && rights));
    no_less: assert (!(rst_ni && place_valid_i) || !(contained && key_fits && pd_fits && rights) || ok);
    first_reason: assert (!(rst_ni && place_valid_i)
                          || (status_i == MemoryStatusKey) == !key_fits);
    makes_up: assert (!ok || place_q.check.bytes > 32'd4096 || 32'(bytes0_i) + 32'(bytes1_i) == place_q.check.bytes);
    nothing_else: assert (!(rst_ni && place_valid_i) || ok || (bytes0_i == '0 && bytes1_i == '0));
    in_page: assert (!ok || !paged_i || (low_i == page_low && page_low + 64'(bytes0_i) <= page_mask + 64'd1));
    next_page: assert (!ok || !paged_i || (bytes1_i == '0 && !crosses_i)
                       || (crosses_i && page_low + 64'(bytes0_i) == page_mask + 64'd1 && 64'(bytes1_i) <= page_mask + 64'd1));
    right_page: assert (!(rst_ni && page_valid_i) || page_q.dma || page_i == page_q.first + PageBits'(region_page));
  end

endmodule

bind vireo_memory_check vireo_memory_check_proof #(.NumMrs(NumMrs), .QpBits(QpBits), .PageBits(PageBits)) u_proof (
  .clk_i, .rst_ni, .row_valid_i(row_valid_q), .check_i(check_q), .row_valid_bit_i(row.valid), .row_dma_i(row.dma),
  .row_window_i({row.is_window, row.is_type_2, row.bound, row.zero_based}), .row_bound_by_i(row.bound_by), .second_i(second_q),
  .row_virt_addr_i(row.virt_addr), .row_length_i(row.length), .row_pdn_i(row.pdn), .row_key_i(row.key),
  .row_rights_i({row.flush_persistent, row.flush_global, row.remote_atomic, row.remote_read, row.remote_write, row.local_write}),
  .row_page_shift_i(32'(row.page_shift)),
  .row_first_i(row.first_translation), .page_valid_i(page_valid_q), .page_i(page2_q), .place_valid_i(place_valid_q),
  .status_i(status3_q), .bytes0_i(bytes0_3_q), .bytes1_i(bytes1_3_q), .paged_i(paged3_q), .crosses_i(crosses3_q),
  .low_i(low3_q));
