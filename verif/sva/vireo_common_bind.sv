// SPDX-License-Identifier: Apache-2.0

// Assertions on rtl/common; compiled into the Verilated classes of the tests.
bind vireo_slice vireo_stream_sva #(.Width(Width)) u_output_sva (
  .clk_i, .rst_ni, .valid_i(m_valid_o), .ready_i(m_ready_i), .payload_i(m_data_o)
);
bind vireo_fifo vireo_stream_sva #(.Width(Width)) u_output_sva (
  .clk_i, .rst_ni, .valid_i(m_valid_o), .ready_i(m_ready_i), .payload_i(m_data_o)
);
