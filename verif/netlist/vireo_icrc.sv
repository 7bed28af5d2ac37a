// SPDX-License-Identifier: Apache-2.0

// Stands in for rtl/rdma/vireo_icrc.sv: the ICRC's netlist in the parser's RTL, which has its tests. 64 bits only.
module vireo_icrc
  import vireo_spec_pkg::*;
#(
  parameter config_t Config,
  localparam int unsigned DataBits = Config.datapath_bits
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                s_axis_tvalid_i,
  input  logic [DataBits-1:0] s_axis_tdata_i,
  input  logic                s_axis_tlast_i,
  output logic                valid_o,
  output logic                ok_o
);

  vireo_icrc_netlist u_netlist (
    .clk_i,
    .rst_ni,
    .s_axis_tvalid_i,
    .s_axis_tdata_i,
    .s_axis_tlast_i,
    .valid_o,
    .ok_o
  );

endmodule
