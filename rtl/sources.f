# SPDX-License-Identifier: Apache-2.0
# Every RTL source in dependency order, paths from the repository's root. Verilator, Yosys and vendor tools read this list.
spec/gen/vireo_spec_pkg.sv
rtl/common/vireo_ram_1r1w.sv
rtl/common/vireo_table.sv
rtl/common/vireo_slice.sv
rtl/common/vireo_fifo.sv
rtl/common/vireo_arb_rr.sv
rtl/dma/vireo_dma_pkg.sv
rtl/dma/vireo_dma_split.sv
rtl/dma/vireo_dma_reader.sv
rtl/dma/vireo_dma_writer.sv
rtl/rdma/vireo_rdma_pkg.sv
rtl/rdma/vireo_icrc.sv
rtl/rdma/vireo_rx_parser.sv
rtl/rdma/vireo_icrc_insert.sv
rtl/rdma/vireo_tx_framer.sv
