// SPDX-License-Identifier: Apache-2.0

// Assertions on vireo_dma_reader; compiled into the Verilated classes of the tests. The streams are checked at their
// slices and queues (vireo_common_bind.sv).
bind vireo_dma_reader vireo_room_sva u_requests_sva (
  .clk_i, .rst_ni, .push_i(request_done), .room_i(unused_request_space)
);
bind vireo_dma_align vireo_room_sva u_train_room_sva (
  .clk_i, .rst_ni, .push_i(step2_valid_q && step2_q.produces), .room_i(unused_train_space)
);
bind vireo_dma_reader vireo_train_sva u_train_sva (
  .clk_i, .rst_ni, .valid_i(train_valid_o), .ready_i(train_ready_i), .last_i(train_last_o)
);
