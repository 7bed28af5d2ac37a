// SPDX-License-Identifier: Apache-2.0

// The part of configuration space that the PCI Express block leaves to the user: virtio's five vendor-specific
// capabilities [virtio 1.3, 4.1.4]. They are where the block has nothing: the one for notifications in place of MSI, the
// others behind the block's PCI Express capability, which points to the first of them. The block has everything else.
//
// The data register of the last one is a window: reading or writing it is an access of a BAR [virtio 1.3, 4.1.4.9]. One
// with a place that the device does not have reads 0 and writes nothing.
module vireo_pcie_config
  import vireo_spec_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        read_received_i,
  input  logic        write_received_i,
  input  logic [9:0]  register_number_i,   // of 4 bytes
  input  logic [7:0]  function_number_i,
  input  logic [31:0] write_data_i,
  input  logic [3:0]  write_byte_enable_i,
  output logic [31:0] read_data_o,
  output logic        read_data_valid_o,   // a pulse; none for registers of the block

  output logic        window_valid_o,
  input  logic        window_ready_i,
  output bar_access_t window_o,
  input  logic        window_read_valid_i,
  input  logic [63:0] window_read_data_i
);

  // Free in the block's layout without MSI [PG213, 3, configuration space]: 0x48 to 0x5f, 0xb0 to 0xff.
  localparam int unsigned CommonAt = 'hb0;
  localparam int unsigned NotifyAt = 'h48;
  localparam int unsigned IsrAt = CommonAt + VirtioPciCapBytes;
  localparam int unsigned DeviceAt = IsrAt + VirtioPciCapBytes;
  localparam int unsigned WindowAt = DeviceAt + VirtioPciCapBytes;
  localparam int unsigned EndAt = WindowAt + VirtioPciCfgCapBytes;

  function automatic virtio_pci_cap_t region(input virtio_pci_cfg_type_e cfg_type, input logic [7:0] next,
                                             input logic [7:0] bytes, input logic [31:0] offset,
                                             input logic [31:0] length);
    return '{
      length: length, offset: offset, padding: '0, id: '0, bar: 8'(BarVirtio), cfg_type: cfg_type,
      cap_len: bytes, cap_next: next, cap_vndr: PciCapabilityIdVendorSpecific
    };
  endfunction

  localparam virtio_pci_notify_cap_t NotifyCap = '{
    notify_off_multiplier: NotifyOffMultiplier,
    cap: region(VirtioPciCfgTypeNotifyCfg, 8'(IsrAt), 8'(VirtioPciNotifyCapBytes), BarVirtioNotify, BarVirtioNotifyBytes)
  };
  localparam virtio_pci_cfg_cap_t WindowCap = '{
    pci_cfg_data: '0,
    cap: region(VirtioPciCfgTypePciCfg, 8'd0, 8'(VirtioPciCfgCapBytes), '0, '0)
  };
  localparam logic [VirtioPciNotifyCapBytes/4-1:0][31:0] NotifyImage = pack_virtio_pci_notify_cap(NotifyCap);
  localparam logic [(EndAt-CommonAt)/4-1:0][31:0] Image = {
    pack_virtio_pci_cfg_cap(WindowCap),
    pack_virtio_pci_cap(region(VirtioPciCfgTypeDeviceCfg, 8'(WindowAt), 8'(VirtioPciCapBytes), BarVirtioDeviceCfg, BarVirtioCfgBytes)),
    pack_virtio_pci_cap(region(VirtioPciCfgTypeIsrCfg, 8'(DeviceAt), 8'(VirtioPciCapBytes), BarVirtioIsrCfg, BarVirtioCfgBytes)),
    pack_virtio_pci_cap(region(VirtioPciCfgTypeCommonCfg, 8'(NotifyAt), 8'(VirtioPciCapBytes), BarVirtioCommonCfg, BarVirtioCfgBytes))
  };

  // Registers of the window.
  localparam logic [9:0] BarRegister = 10'((WindowAt + VirtioPciCapBarOffset) / 4);
  localparam logic [9:0] OffsetRegister = 10'((WindowAt + VirtioPciCapOffsetOffset) / 4);
  localparam logic [9:0] LengthRegister = 10'((WindowAt + VirtioPciCapLengthOffset) / 4);
  localparam logic [9:0] DataRegister = 10'((WindowAt + VirtioPciCfgCapPciCfgDataOffset) / 4);

  logic [7:0] bar_q;
  logic [31:0] offset_q, length_q;
  logic is_notify, here, is_data, placed;
  logic [31:0] limit, read_data, enable;
  logic pending_q, answers_q;  // an access is to be made; its answer is waited for
  logic write_q;
  logic [31:0] data_q;

  always_comb begin
    is_notify = register_number_i >= 10'(NotifyAt / 4)
             && register_number_i < 10'((NotifyAt + VirtioPciNotifyCapBytes) / 4);
    here = (is_notify || (register_number_i >= 10'(CommonAt / 4) && register_number_i < 10'(EndAt / 4)))
        && function_number_i == '0;
    is_data = register_number_i == DataRegister;
    // The registers that can be written, else what never changes.
    unique case (register_number_i)
      BarRegister:    read_data = {24'b0, bar_q};
      OffsetRegister: read_data = offset_q;
      LengthRegister: read_data = length_q;
      default:        read_data = is_notify ? NotifyImage[3'(register_number_i - 10'(NotifyAt / 4))]
                                            : Image[5'(register_number_i - 10'(CommonAt / 4))];
    endcase
    for (int unsigned i = 0; i < 4; i++) enable[8*i+:8] = {8{write_byte_enable_i[i]}};
    limit = bar_q == 8'(BarVirtio) ? BarVirtioBytes : bar_q == 8'(BarMsix) ? BarMsixBytes : '0;
    placed = (length_q == 32'd1 || (length_q == 32'd2 && !offset_q[0]) || (length_q == 32'd4 && offset_q[1:0] == '0))
          && offset_q < limit;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bar_q <= '0;
      offset_q <= '0;
      length_q <= '0;
      pending_q <= 1'b0;
      answers_q <= 1'b0;
      read_data_valid_o <= 1'b0;
    end else begin
      read_data_valid_o <= (read_received_i && here && !(is_data && placed)) || (answers_q && window_read_valid_i);
      if (write_received_i && here) begin
        if (register_number_i == BarRegister && write_byte_enable_i[0]) bar_q <= write_data_i[7:0];
        if (register_number_i == OffsetRegister) offset_q <= (offset_q & ~enable) | (write_data_i & enable);
        if (register_number_i == LengthRegister) length_q <= (length_q & ~enable) | (write_data_i & enable);
      end
      if (here && is_data && placed && (read_received_i || (write_received_i && write_byte_enable_i[0]))) begin
        pending_q <= 1'b1;
        answers_q <= read_received_i;
      end else begin
        if (window_ready_i) pending_q <= 1'b0;
        if (window_read_valid_i) answers_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_received_i || write_received_i) begin
      write_q <= write_received_i;
      data_q <= write_data_i;
    end
    if (answers_q && window_read_valid_i) read_data_o <= window_read_data_i[31:0];
    else if (read_received_i) read_data_o <= is_data ? '0 : read_data;
  end

  assign window_valid_o = pending_q;
  assign window_o = '{
    write: write_q, bar_index: bar_q[2:0], offset: offset_q, bytes: length_q[3:0], data: {32'b0, data_q}
  };

  logic unused;
  assign unused = ^window_read_data_i[63:32];

endmodule
