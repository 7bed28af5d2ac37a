// SPDX-License-Identifier: Apache-2.0

// The firmware's image as part of the bitstream, loaded into the control processor's memory after every reset, then the
// processor starts: so each start finds the same image, whatever the one before did. One word per cycle.
module vireo_card_boot
  import vireo_spec_pkg::*;
#(
  parameter int unsigned ImageWords,  // of 32 bits; what the file does not have is unknown
  parameter ImageFile = ""            // as $readmemh reads it: fpga/boards/image.py makes it
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        load_valid_o,
  output logic [31:0] load_address_o,  // bytes
  output logic [31:0] load_data_o,
  output logic        run_o
);

  localparam int unsigned AddressBits = $clog2(ImageWords);

  logic [31:0] image [ImageWords];
  initial begin
    if (ImageFile != "") $readmemh(ImageFile, image);
  end

  logic [AddressBits-1:0] address_q;
  logic done_q, run_q;               // the last word was read; it has been written
  logic valid_q;
  logic [AddressBits-1:0] written_q;  // the place of the word that is written now

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      address_q <= '0;
      written_q <= '0;
      done_q <= 1'b0;
      valid_q <= 1'b0;
      run_q <= 1'b0;
    end else begin
      if (!done_q) address_q <= address_q + 1'b1;
      if (address_q == AddressBits'(ImageWords - 1)) done_q <= 1'b1;
      written_q <= address_q;
      valid_q <= !done_q;
      run_q <= done_q && !valid_q;
    end
  end
  always_ff @(posedge clk_i) load_data_o <= image[address_q];

  assign load_valid_o = valid_q;
  assign load_address_o = ProcessorStackBytes + {(30 - AddressBits)'(0), written_q, 2'b00};
  assign run_o = run_q;

endmodule
