# SPDX-License-Identifier: Apache-2.0
# Every RTL source in dependency order, paths from the repository's root. Verilator, Yosys and vendor tools read this list.
spec/gen/vireo_spec_pkg.sv
rtl/common/vireo_ram_1r1w.sv
rtl/common/vireo_table.sv
rtl/common/vireo_slice.sv
rtl/common/vireo_fifo.sv
rtl/common/vireo_pending.sv
rtl/common/vireo_arb_rr.sv
rtl/dma/vireo_dma_pkg.sv
rtl/dma/vireo_dma_split.sv
rtl/dma/vireo_dma_reader.sv
rtl/dma/vireo_dma_writer.sv
rtl/dma/vireo_dma_read_port.sv
rtl/dma/vireo_dma_write_port.sv
rtl/virtio/vireo_queue_state.sv
rtl/virtio/vireo_common_cfg.sv
rtl/virtio/vireo_notify.sv
rtl/virtio/vireo_msix.sv
rtl/virtio/vireo_desc_fetch.sv
rtl/virtio/vireo_cq_writer.sv
rtl/ctrl/vireo_csr.sv
rtl/ctrl/vireo_mailbox.sv
rtl/rdma/vireo_rdma_pkg.sv
rtl/rdma/vireo_icrc.sv
rtl/rdma/vireo_rx_parser.sv
rtl/rdma/vireo_icrc_insert.sv
rtl/rdma/vireo_tx_framer.sv
rtl/rdma/vireo_qp_control.sv
rtl/rdma/vireo_memory_check.sv
rtl/rdma/vireo_qp_set.sv
rtl/rdma/vireo_send_queue.sv
<<<<<<< ours
rtl/rdma/vireo_recv_queue.sv
=======
rtl/rdma/vireo_retry_timer.sv
>>>>>>> theirs
rtl/rdma/vireo_requester.sv
rtl/rdma/vireo_completer.sv
rtl/rdma/vireo_tx_gather.sv
rtl/rdma/vireo_tx_builder.sv
rtl/rdma/vireo_rx_buffer.sv
rtl/rdma/vireo_responder.sv
rtl/rdma/vireo_rx_scatter.sv
rtl/vireo_nic.sv
