// SPDX-License-Identifier: Apache-2.0

// Assertions on vireo_dma_writer; compiled into the Verilated classes of the tests. The streams are checked at their
// slices and queues (vireo_common_bind.sv).
bind vireo_dma_writer vireo_room_sva u_write_room_sva (
  .clk_i, .rst_ni, .push_i(step1_valid_q), .room_i(unused_write_space)
);
// The train is complete when its request's beats go out.
bind vireo_dma_writer vireo_room_sva u_data_sva (
  .clk_i, .rst_ni, .push_i(data_ready), .room_i(data_valid)
);
