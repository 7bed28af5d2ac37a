// SPDX-License-Identifier: Apache-2.0

// Assertions on vireo_memory_check; compiled into the Verilated class of its test. The checks are checked at their
// slices (vireo_common_bind.sv).
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place0_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[0]), .ready_i(place_ready_i[0]), .payload_i(place_o[0])
);
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place1_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[1]), .ready_i(place_ready_i[1]), .payload_i(place_o[1])
);
bind vireo_memory_check vireo_stream_sva #(.Width(MemoryPlaceBits)) u_place2_sva (
  .clk_i, .rst_ni, .valid_i(place_valid_o[2]), .ready_i(place_ready_i[2]), .payload_i(place_o[2])
);
// A place in the RAM is free whenever one is needed: it was counted when the check was taken.
bind vireo_memory_check vireo_room_sva u_room0_sva (
  .clk_i, .rst_ni, .push_i(gen_place[0].write), .room_i(32'(gen_place[0].stored_q) < Answers)
);
bind vireo_memory_check vireo_room_sva u_room1_sva (
  .clk_i, .rst_ni, .push_i(gen_place[1].write), .room_i(32'(gen_place[1].stored_q) < Answers)
);
bind vireo_memory_check vireo_room_sva u_room2_sva (
  .clk_i, .rst_ni, .push_i(gen_place[2].write), .room_i(32'(gen_place[2].stored_q) < Answers)
);
