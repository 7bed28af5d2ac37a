// SPDX-License-Identifier: Apache-2.0

// Reads the function's device control register again and again by the management interface of AMD's block (PG213): it
// has no output for Extended Tag Field Enable. [PCIe 5.0, 7.5.3.4]
module vireo_card_control (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [9:0]  cfg_mgmt_addr_o,
  output logic        cfg_mgmt_read_o,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [31:0] cfg_mgmt_read_data_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic        cfg_mgmt_read_write_done_i,
  output logic        extended_tags_o
);

  localparam logic [9:0] DeviceControl = 10'h01e;  // in double words: the block has its PCI Express capability at 0x70
  localparam int unsigned ExtendedTagBit = 8;

  // The request is held until it is done, and its end is seen in a cycle without one.
  logic read_q, extended_tags_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      extended_tags_q <= 1'b0;
    end else begin
      read_q <= !cfg_mgmt_read_write_done_i;
      if (read_q && cfg_mgmt_read_write_done_i) extended_tags_q <= cfg_mgmt_read_data_i[ExtendedTagBit];
    end
  end

  assign cfg_mgmt_addr_o = DeviceControl;
  assign cfg_mgmt_read_o = read_q;
  assign extended_tags_o = extended_tags_q;

endmodule
