// SPDX-License-Identifier: Apache-2.0

// The handshake of vireo_memory_check's outputs, which come from no slice or FIFO (vireo_common_bind.sv binds to those).
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place0_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[0]), .ready_i(place_ready_i[0]), .payload_i(place_o[0])
);
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place1_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[1]), .ready_i(place_ready_i[1]), .payload_i(place_o[1])
);
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place2_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[2]), .ready_i(place_ready_i[2]), .payload_i(place_o[2])
);
