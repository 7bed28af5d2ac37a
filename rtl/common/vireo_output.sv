// SPDX-License-Identifier: Apache-2.0

// Output register of a stream: valid and token come from flip-flops and are held until accepted. Its owner may load it
// in a cycle in which it is free. Unlike vireo_slice it has one entry and still passes one per cycle, because free_o
// depends on m_ready_i in the same cycle.
module vireo_output #(
  parameter int unsigned Width
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  output logic             free_o,     // may be loaded
  input  logic             load_i,
  input  logic [Width-1:0] data_i,
  output logic             m_valid_o,
  input  logic             m_ready_i,
  output logic [Width-1:0] m_data_o
);

  logic valid_q;
  logic [Width-1:0] data_q;

  assign free_o = !valid_q || m_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= load_i || (valid_q && !m_ready_i);
  end
  always_ff @(posedge clk_i) begin
    if (load_i) data_q <= data_i;
  end

  assign m_valid_o = valid_q;
  assign m_data_o = data_q;

`ifndef SYNTHESIS
  loaded_when_free: assert property (@(posedge clk_i) disable iff (!rst_ni) load_i |-> free_o);
`endif

endmodule
