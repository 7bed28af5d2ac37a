# SPDX-License-Identifier: Apache-2.0
# Every RTL source in dependency order, paths from the repository's root. Verilator, Yosys and vendor tools read this list.
spec/gen/vireo_spec_pkg.sv
rtl/rdma/vireo_rdma_pkg.sv
rtl/rdma/vireo_icrc.sv
rtl/rdma/vireo_rx_parser.sv
rtl/rdma/vireo_icrc_insert.sv
rtl/rdma/vireo_tx_framer.sv
