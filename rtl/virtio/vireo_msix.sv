// SPDX-License-Identifier: Apache-2.0

// MSI-X table and pending bit array (PBA) [PCIe 5.0, 6.1.4 and 7.7.2]. Sends an interrupt at once or, if it is masked,
// sets its pending bit and sends it when it is unmasked. Outputs address and data; the PCI Express interface sends the
// memory write. Does not moderate interrupts.
//
// Host accesses and the state machine do not stall each other, because each reads its own copy of table and PBA. When
// an entry is unmasked or MSI-X is enabled, the state machine scans the PBA in rows of 64 bits. It takes at most one
// interrupt between two rows, so neither interrupts nor the scan starve.
//
// After reset, all entries are masked and all pending bits cleared in NumVectors cycles. Until then, host accesses to
// the table are ignored and interrupts are stalled.
module vireo_msix
  import vireo_spec_pkg::*;
#(
  parameter int unsigned NumVectors  // 2 ... MsixVectorsMax
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        bar_valid_i,
  input  bar_access_t bar_i,
  output logic [63:0] bar_read_data_o,  // 3 cycles after the access; 0 unless it reads table or PBA
  input  logic        enable_i,         // msix_cap.msix_enable
  input  logic        mask_i,           // msix_cap.function_mask
  input  logic        bus_master_i,     // pci_command.bus_master
  input  logic        interrupt_valid_i,
  output logic        interrupt_ready_o,
  input  interrupt_t  interrupt_i,
  output logic        msix_valid_o,     // a pulse
  output logic [15:0] msix_vector_o,
  output logic [63:0] msix_address_o,
  output logic [31:0] msix_data_o,
  output logic        ready_o,          // initialization done: writes to the table take effect
  output logic        idle_o
);

  localparam int unsigned RowBits = 8 * MsixPbaEntryBytes;  // pending bits per row
  localparam int unsigned Rows = (NumVectors + RowBits - 1) / RowBits;
  localparam int unsigned RowDepth = Rows < 2 ? 2 : Rows;
  localparam int unsigned RowIndexBits = $clog2(RowDepth);
  localparam int unsigned BitBits = $clog2(RowBits);
  localparam int unsigned VectorBits = $clog2(NumVectors);
  localparam int unsigned EntryBits = $clog2(MsixTableEntryBytes);

  // --- Host accesses

  logic aligned;
  logic [31:0] table_at, pba_at;
  logic table1_q, pba1_q, write1_q;
  logic [31:0] at1_q;  // offset in table or PBA
  logic [3:0] bytes1_q;
  logic [63:0] data1_q;
  logic table2_q, pba2_q, half2_q;
  logic [2:0] shift2_q;
  logic [3:0] bytes2_q;
  logic [63:0] read_data_d, read_data_q;
  logic write, low, high;  // halves of the aligned 8 bytes at at1_q
  logic [31:0] high_data;
  logic write_address, write_upper, write_data, write_mask;
  logic [VectorBits-1:0] host_vector;
  logic [RowIndexBits-1:0] host_row;
  logic [31:0] host_address, host_upper, host_data;
  logic host_unmasked;
  logic [RowBits-1:0] host_pending;
  logic [63:0] word;

  logic sweep_d, sweep_q;
  logic [VectorBits-1:0] sweep_index_d, sweep_index_q;

  always_comb begin
    unique case (bar_i.bytes)
      4'd1: aligned = 1'b1;
      4'd2: aligned = !bar_i.offset[0];
      4'd4: aligned = bar_i.offset[1:0] == '0;
      4'd8: aligned = bar_i.offset[2:0] == '0;
      default: aligned = 1'b0;
    endcase
    table_at = bar_i.offset - BarMsixTable;
    pba_at = bar_i.offset - BarMsixPba;

    // Software must use aligned 4-byte or 8-byte accesses [PCIe 5.0, 7.7.2]; other writes are ignored.
    write = table1_q && write1_q && !sweep_q && (bytes1_q == 4'd4 || bytes1_q == 4'd8);
    low = write && !at1_q[2];
    high = write && (at1_q[2] || bytes1_q == 4'd8);
    high_data = at1_q[2] ? data1_q[31:0] : data1_q[63:32];
    write_address = low && !at1_q[3];
    write_upper = high && !at1_q[3];
    write_data = low && at1_q[3];
    write_mask = high && at1_q[3];
    host_vector = VectorBits'(at1_q >> EntryBits);
    host_row = RowIndexBits'(at1_q >> $clog2(MsixPbaEntryBytes));

    word = '0;
    if (table2_q) word = half2_q ? {31'd0, !host_unmasked, host_data} : {host_upper, host_address};
    if (pba2_q) word = host_pending;
    word = word >> {shift2_q, 3'd0};
    unique case (bytes2_q)
      4'd1: read_data_d = 64'(word[7:0]);
      4'd2: read_data_d = 64'(word[15:0]);
      4'd4: read_data_d = 64'(word[31:0]);
      default: read_data_d = word;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      table1_q <= 1'b0;
      pba1_q <= 1'b0;
      table2_q <= 1'b0;
      pba2_q <= 1'b0;
      read_data_q <= '0;
    end else begin
      table1_q <= bar_valid_i && bar_i.bar_index == BarMsix && aligned &&
                  table_at < 32'(NumVectors * MsixTableEntryBytes);
      pba1_q <= bar_valid_i && bar_i.bar_index == BarMsix && aligned && pba_at < 32'(Rows * MsixPbaEntryBytes);
      table2_q <= table1_q && !write1_q;
      pba2_q <= pba1_q && !write1_q;
      read_data_q <= read_data_d;
    end
  end

  always_ff @(posedge clk_i) begin
    write1_q <= bar_i.write;
    at1_q <= table_at < 32'(NumVectors * MsixTableEntryBytes) ? table_at : pba_at;
    bytes1_q <= bar_i.bytes;
    data1_q <= bar_i.data;
    half2_q <= at1_q[3];
    shift2_q <= at1_q[2:0];
    bytes2_q <= bytes1_q;
  end

  assign bar_read_data_o = read_data_q;

  // --- State machine

  typedef enum logic [2:0] {
    StIdle,
    StDecide,    // an interrupt: its entry and PBA row have been read
    StRow,       // a PBA row has been read
    StPick,      // selects the next pending bit of the row
    StCandidate  // the entry of the selected bit has been read
  } state_e;

  state_e state_d, state_q;
  logic allowed_q, allowed_before_q;
  logic [15:0] vector_d, vector_q;
  logic [RowBits-1:0] bits_d, bits_q;          // current PBA row
  logic [RowBits-1:0] left_d, left_q;          // pending bits of the row still to be checked
  logic [RowIndexBits-1:0] row_d, row_q;       // row of the scan
  logic walking_d, walking_q;
  logic restart_walk_d, restart_walk_q;                    // start the scan again from row 0
  logic walk_next_d, walk_next_q;              // an interrupt was taken; the scan is next
  logic walk, entry_exists, send;
  logic [BitBits-1:0] lowest;
  logic [RowBits-1:0] this_bit;

  logic interrupt_valid, interrupt_ready;
  interrupt_t interrupt;
  logic read_entry, read_row;
  logic [VectorBits-1:0] entry_index;
  logic [RowIndexBits-1:0] row_index;
  logic [31:0] entry_address, entry_upper, entry_data;
  logic entry_unmasked;
  logic [RowBits-1:0] pending, write_pending_data;
  logic write_pending;
  logic [RowIndexBits-1:0] write_pending_row;
  logic msix_valid_q;
  logic [15:0] msix_vector_q;
  logic [63:0] msix_address_q;
  logic [31:0] msix_data_q;

  vireo_slice #(
    .Width(InterruptBits)
  ) u_interrupt (
    .clk_i,
    .rst_ni,
    .s_valid_i(interrupt_valid_i),
    .s_ready_o(interrupt_ready_o),
    .s_data_i(interrupt_i),
    .m_valid_o(interrupt_valid),
    .m_ready_i(interrupt_ready),
    .m_data_o(interrupt)
  );

  always_comb begin
    sweep_d = sweep_q;
    sweep_index_d = sweep_index_q;
    if (sweep_q) begin
      sweep_index_d = sweep_index_q + 1'b1;
      sweep_d = sweep_index_q != VectorBits'(NumVectors - 1);
    end

    lowest = '0;
    if (state_q == StPick) for (int unsigned i = RowBits; i > 0; i--) if (left_q[i-1]) lowest = BitBits'(i - 1);
    this_bit = RowBits'(1) << vector_q[BitBits-1:0];

    state_d = state_q;
    vector_d = vector_q;
    bits_d = bits_q;
    left_d = left_q;
    row_d = row_q;
    walking_d = walking_q;
    restart_walk_d = restart_walk_q;
    walk_next_d = walk_next_q;
    interrupt_ready = 1'b0;
    read_entry = 1'b0;
    entry_index = VectorBits'(interrupt.msix_vector);
    read_row = 1'b0;
    row_index = RowIndexBits'(interrupt.msix_vector >> BitBits);
    write_pending = 1'b0;
    write_pending_row = RowIndexBits'(vector_q >> BitBits);
    write_pending_data = bits_q & ~this_bit;
    walk = walking_q || (restart_walk_q && allowed_q);
    entry_exists = vector_q < 16'(NumVectors);
    send = 1'b0;

    unique case (state_q)
      StIdle: begin
        if (interrupt_valid && !sweep_q && !(walk && walk_next_q)) begin
          interrupt_ready = 1'b1;
          vector_d = interrupt.msix_vector;
          read_entry = 1'b1;
          read_row = 1'b1;
          state_d = StDecide;
        end else if (walk && !sweep_q) begin
          if (!walking_q) begin
            restart_walk_d = 1'b0;
            row_d = '0;
          end
          walking_d = 1'b1;
          read_row = 1'b1;
          row_index = row_d;
          state_d = StRow;
        end
      end
      StDecide: begin
        send = entry_exists && allowed_q && entry_unmasked;
        write_pending = entry_exists;
        write_pending_data = send ? pending & ~this_bit : pending | this_bit;
        walk_next_d = 1'b1;
        state_d = StIdle;
      end
      StRow: begin
        bits_d = pending;
        left_d = pending;
        state_d = StPick;
        if (pending == '0) begin
          state_d = StIdle;
          walk_next_d = 1'b0;
          walking_d = row_q != RowIndexBits'(Rows - 1);
          row_d = row_q + 1'b1;
        end
      end
      StPick: begin
        vector_d = 16'({row_q, lowest});
        read_entry = 1'b1;
        entry_index = VectorBits'({row_q, lowest});
        state_d = StCandidate;
      end
      StCandidate: begin
        send = allowed_q && entry_unmasked;
        write_pending = send;
        if (send) bits_d = bits_q & ~this_bit;
        left_d = left_q & ~this_bit;
        state_d = StPick;
        if (left_d == '0) begin
          state_d = StIdle;
          walk_next_d = 1'b0;
          walking_d = row_q != RowIndexBits'(Rows - 1);
          row_d = row_q + 1'b1;
        end
      end
      default: state_d = StIdle;
    endcase

    // Every event that may unmask a pending interrupt starts the scan, or restarts one in progress.
    if (write_mask && !high_data[0]) restart_walk_d = 1'b1;
    if (allowed_q && !allowed_before_q) restart_walk_d = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sweep_q <= 1'b1;
      sweep_index_q <= '0;
      allowed_q <= 1'b0;
      allowed_before_q <= 1'b0;
      state_q <= StIdle;
      walking_q <= 1'b0;
      restart_walk_q <= 1'b0;
      walk_next_q <= 1'b0;
      row_q <= '0;
      msix_valid_q <= 1'b0;
    end else begin
      sweep_q <= sweep_d;
      sweep_index_q <= sweep_index_d;
      allowed_q <= enable_i && !mask_i && bus_master_i;
      allowed_before_q <= allowed_q;
      state_q <= state_d;
      walking_q <= walking_d;
      restart_walk_q <= restart_walk_d;
      walk_next_q <= walk_next_d;
      row_q <= row_d;
      msix_valid_q <= send;
    end
  end

  always_ff @(posedge clk_i) begin
    vector_q <= vector_d;
    bits_q <= bits_d;
    left_q <= left_d;
    if (send) begin
      msix_vector_q <= vector_q;
      msix_address_q <= {entry_upper, entry_address};
      msix_data_q <= entry_data;
    end
  end

  // --- Table and PBA, two copies each: copy 0 is read by the host, copy 1 by the state machine

  logic [1:0] copy_read_entry, copy_read_row;
  logic [VectorBits-1:0] copy_vector [2];
  logic [RowIndexBits-1:0] copy_row [2];
  logic [31:0] copy_address [2], copy_upper [2], copy_data [2];
  logic [1:0] copy_unmasked;
  logic [RowBits-1:0] copy_pending [2];

  assign copy_read_entry = {read_entry, table1_q};
  assign copy_read_row = {read_row, pba1_q};
  assign copy_vector = '{host_vector, entry_index};
  assign copy_row = '{host_row, row_index};
  assign {entry_unmasked, host_unmasked} = copy_unmasked;
  assign host_address = copy_address[0];
  assign host_upper = copy_upper[0];
  assign host_data = copy_data[0];
  assign host_pending = copy_pending[0];
  assign entry_address = copy_address[1];
  assign entry_upper = copy_upper[1];
  assign entry_data = copy_data[1];
  assign pending = copy_pending[1];

  for (genvar c = 0; c < 2; c++) begin : gen_copy
    vireo_table #(
      .Width(32),
      .Depth(NumVectors)
    ) u_address (
      .clk_i,
      .rst_ni,
      .write_i(sweep_q || write_address),
      .write_address_i(sweep_q ? sweep_index_q : host_vector),
      .write_data_i(sweep_q ? '0 : {data1_q[31:2], 2'b00}),
      .read_i(copy_read_entry[c]),
      .read_address_i(copy_vector[c]),
      .read_data_o(copy_address[c])
    );
    vireo_table #(
      .Width(32),
      .Depth(NumVectors)
    ) u_upper (
      .clk_i,
      .rst_ni,
      .write_i(sweep_q || write_upper),
      .write_address_i(sweep_q ? sweep_index_q : host_vector),
      .write_data_i(sweep_q ? '0 : high_data),
      .read_i(copy_read_entry[c]),
      .read_address_i(copy_vector[c]),
      .read_data_o(copy_upper[c])
    );
    vireo_table #(
      .Width(32),
      .Depth(NumVectors)
    ) u_data (
      .clk_i,
      .rst_ni,
      .write_i(sweep_q || write_data),
      .write_address_i(sweep_q ? sweep_index_q : host_vector),
      .write_data_i(sweep_q ? '0 : data1_q[31:0]),
      .read_i(copy_read_entry[c]),
      .read_address_i(copy_vector[c]),
      .read_data_o(copy_data[c])
    );
    vireo_table #(
      .Width(1),
      .Depth(NumVectors)
    ) u_unmasked (
      .clk_i,
      .rst_ni,
      .write_i(sweep_q || write_mask),
      .write_address_i(sweep_q ? sweep_index_q : host_vector),
      .write_data_i(!sweep_q && !high_data[0]),
      .read_i(copy_read_entry[c]),
      .read_address_i(copy_vector[c]),
      .read_data_o(copy_unmasked[c])
    );
    vireo_table #(
      .Width(RowBits),
      .Depth(RowDepth)
    ) u_pending (
      .clk_i,
      .rst_ni,
      .write_i(sweep_q ? 32'(sweep_index_q) < 32'(RowDepth) : write_pending),
      .write_address_i(sweep_q ? RowIndexBits'(sweep_index_q) : write_pending_row),
      .write_data_i(sweep_q ? '0 : write_pending_data),
      .read_i(copy_read_row[c]),
      .read_address_i(copy_row[c]),
      .read_data_o(copy_pending[c])
    );
  end

  assign msix_valid_o = msix_valid_q;
  assign msix_vector_o = msix_vector_q;
  assign msix_address_o = msix_address_q;
  assign msix_data_o = msix_data_q;
  assign ready_o = !sweep_q;
  assign idle_o = !sweep_q && state_q == StIdle && !walk && !interrupt_valid && !msix_valid_q;

endmodule
