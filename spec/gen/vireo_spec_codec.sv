// SPDX-License-Identifier: Apache-2.0
// Generated from spec/*.toml by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec.

// For the test that the package and the C++ header agree: converts any structure with the package's functions and outputs
// every number of the package by index. Not part of the device.
/* verilator lint_off UNUSEDSIGNAL */
module vireo_spec_codec
  import vireo_spec_pkg::*;
(
  input  logic [15:0] struct_i,
  input  logic [4607:0] bytes_i,
  output logic [4607:0] fields_o,  // unpacked: fields in order, each least significant bit first
  input  logic [4607:0] fields_i,
  output logic [4607:0] bytes_o,   // packed
  output logic [4607:0] icrc_ones_o,
  input  logic [15:0] number_i,
  output logic [63:0] number_o,
  input  logic [7:0]  opcode_i,
  output logic [87:0] opcode_info_o
);

  function automatic logic [15:0] board_header_fields(input board_header_t s);
    board_header_fields[0 +: 8] = s.kind;
    board_header_fields[8 +: 8] = s.serial;
  endfunction
  function automatic board_header_t board_header_of(input logic [15:0] fields);
    board_header_of.kind = fields[0 +: 8];
    board_header_of.serial = fields[8 +: 8];
  endfunction

  function automatic logic [95:0] board_hello_fields(input board_hello_t s);
    board_hello_fields[0 +: 32] = s.magic;
    board_hello_fields[32 +: 16] = s.version;
    board_hello_fields[48 +: 8] = s.has_processor;
    board_hello_fields[56 +: 8] = s.reserved;
    board_hello_fields[64 +: 32] = s.config_hash;
  endfunction
  function automatic board_hello_t board_hello_of(input logic [95:0] fields);
    board_hello_of.magic = fields[0 +: 32];
    board_hello_of.version = fields[32 +: 16];
    board_hello_of.has_processor = fields[48 +: 8];
    board_hello_of.reserved = fields[56 +: 8];
    board_hello_of.config_hash = fields[64 +: 32];
  endfunction

  function automatic logic [15:0] board_run_fields(input board_run_t s);
    board_run_fields[0 +: 16] = s.cycles;
  endfunction
  function automatic board_run_t board_run_of(input logic [15:0] fields);
    board_run_of.cycles = fields[0 +: 16];
  endfunction

  function automatic logic [63:0] board_time_fields(input board_time_t s);
    board_time_fields[0 +: 64] = s.ns;
  endfunction
  function automatic board_time_t board_time_of(input logic [63:0] fields);
    board_time_of.ns = fields[0 +: 64];
  endfunction

  function automatic logic [15:0] board_controls_fields(input board_controls_t s);
    board_controls_fields[0 +: 1] = s.bus_master;
    board_controls_fields[1 +: 1] = s.msix_enable;
    board_controls_fields[2 +: 1] = s.msix_mask;
    board_controls_fields[3 +: 1] = s.mac_link;
    board_controls_fields[4 +: 4] = s.reserved;
    board_controls_fields[8 +: 4] = s.max_payload_size;
    board_controls_fields[12 +: 4] = s.max_read_request_size;
  endfunction
  function automatic board_controls_t board_controls_of(input logic [15:0] fields);
    board_controls_of.bus_master = fields[0 +: 1];
    board_controls_of.msix_enable = fields[1 +: 1];
    board_controls_of.msix_mask = fields[2 +: 1];
    board_controls_of.mac_link = fields[3 +: 1];
    board_controls_of.reserved = fields[4 +: 4];
    board_controls_of.max_payload_size = fields[8 +: 4];
    board_controls_of.max_read_request_size = fields[12 +: 4];
  endfunction

  function automatic logic [111:0] board_bar_fields(input board_bar_t s);
    board_bar_fields[0 +: 4] = s.bar;
    board_bar_fields[4 +: 4] = s.is_write;
    board_bar_fields[8 +: 8] = s.length;
    board_bar_fields[16 +: 32] = s.offset;
    board_bar_fields[48 +: 64] = s.value;
  endfunction
  function automatic board_bar_t board_bar_of(input logic [111:0] fields);
    board_bar_of.bar = fields[0 +: 4];
    board_bar_of.is_write = fields[4 +: 4];
    board_bar_of.length = fields[8 +: 8];
    board_bar_of.offset = fields[16 +: 32];
    board_bar_of.value = fields[48 +: 64];
  endfunction

  function automatic logic [47:0] board_csr_fields(input board_csr_t s);
    board_csr_fields[0 +: 15] = s.offset;
    board_csr_fields[15 +: 1] = s.is_write;
    board_csr_fields[16 +: 32] = s.value;
  endfunction
  function automatic board_csr_t board_csr_of(input logic [47:0] fields);
    board_csr_of.offset = fields[0 +: 15];
    board_csr_of.is_write = fields[15 +: 1];
    board_csr_of.value = fields[16 +: 32];
  endfunction

  function automatic logic [31:0] board_credits_fields(input board_credits_t s);
    board_credits_fields[0 +: 16] = s.dma_write;
    board_credits_fields[16 +: 16] = s.transmit;
  endfunction
  function automatic board_credits_t board_credits_of(input logic [31:0] fields);
    board_credits_of.dma_write = fields[0 +: 16];
    board_credits_of.transmit = fields[16 +: 16];
  endfunction

  function automatic logic [31:0] board_read_beats_fields(input board_read_beats_t s);
    board_read_beats_fields[0 +: 8] = s.count;
    board_read_beats_fields[8 +: 8] = s.tag;
    board_read_beats_fields[16 +: 2] = s.resp;
    board_read_beats_fields[18 +: 1] = s.last;
    board_read_beats_fields[19 +: 5] = s.reserved;
    board_read_beats_fields[24 +: 8] = s.reserved1;
  endfunction
  function automatic board_read_beats_t board_read_beats_of(input logic [31:0] fields);
    board_read_beats_of.count = fields[0 +: 8];
    board_read_beats_of.tag = fields[8 +: 8];
    board_read_beats_of.resp = fields[16 +: 2];
    board_read_beats_of.last = fields[18 +: 1];
    board_read_beats_of.reserved = fields[19 +: 5];
    board_read_beats_of.reserved1 = fields[24 +: 8];
  endfunction

  function automatic logic [23:0] board_frame_beats_fields(input board_frame_beats_t s);
    board_frame_beats_fields[0 +: 8] = s.count;
    board_frame_beats_fields[8 +: 1] = s.last;
    board_frame_beats_fields[9 +: 1] = s.error;
    board_frame_beats_fields[10 +: 6] = s.reserved;
    board_frame_beats_fields[16 +: 8] = s.keep;
  endfunction
  function automatic board_frame_beats_t board_frame_beats_of(input logic [23:0] fields);
    board_frame_beats_of.count = fields[0 +: 8];
    board_frame_beats_of.last = fields[8 +: 1];
    board_frame_beats_of.error = fields[9 +: 1];
    board_frame_beats_of.reserved = fields[10 +: 6];
    board_frame_beats_of.keep = fields[16 +: 8];
  endfunction

  function automatic logic [63:0] board_load_fields(input board_load_t s);
    board_load_fields[0 +: 32] = s.address;
    board_load_fields[32 +: 32] = s.value;
  endfunction
  function automatic board_load_t board_load_of(input logic [63:0] fields);
    board_load_of.address = fields[0 +: 32];
    board_load_of.value = fields[32 +: 32];
  endfunction

  function automatic logic [63:0] board_bar_answer_fields(input board_bar_answer_t s);
    board_bar_answer_fields[0 +: 64] = s.value;
  endfunction
  function automatic board_bar_answer_t board_bar_answer_of(input logic [63:0] fields);
    board_bar_answer_of.value = fields[0 +: 64];
  endfunction

  function automatic logic [31:0] board_csr_answer_fields(input board_csr_answer_t s);
    board_csr_answer_fields[0 +: 32] = s.value;
  endfunction
  function automatic board_csr_answer_t board_csr_answer_of(input logic [31:0] fields);
    board_csr_answer_of.value = fields[0 +: 32];
  endfunction

  function automatic logic [7:0] board_interrupt_fields(input board_interrupt_t s);
    board_interrupt_fields[0 +: 8] = s.level;
  endfunction
  function automatic board_interrupt_t board_interrupt_of(input logic [7:0] fields);
    board_interrupt_of.level = fields[0 +: 8];
  endfunction

  function automatic logic [95:0] board_read_fields(input board_read_t s);
    board_read_fields[0 +: 64] = s.address;
    board_read_fields[64 +: 16] = s.length;
    board_read_fields[80 +: 16] = s.tag;
  endfunction
  function automatic board_read_t board_read_of(input logic [95:0] fields);
    board_read_of.address = fields[0 +: 64];
    board_read_of.length = fields[64 +: 16];
    board_read_of.tag = fields[80 +: 16];
  endfunction

  function automatic logic [79:0] board_write_fields(input board_write_t s);
    board_write_fields[0 +: 64] = s.address;
    board_write_fields[64 +: 16] = s.length;
  endfunction
  function automatic board_write_t board_write_of(input logic [79:0] fields);
    board_write_of.address = fields[0 +: 64];
    board_write_of.length = fields[64 +: 16];
  endfunction

  function automatic logic [15:0] board_msix_fields(input board_msix_t s);
    board_msix_fields[0 +: 16] = s.number;
  endfunction
  function automatic board_msix_t board_msix_of(input logic [15:0] fields);
    board_msix_of.number = fields[0 +: 16];
  endfunction

  function automatic logic [71:0] board_transmit_fields(input board_transmit_t s);
    board_transmit_fields[0 +: 7] = s.length;
    board_transmit_fields[7 +: 1] = s.last;
    board_transmit_fields[8 +: 64] = s.data;
  endfunction
  function automatic board_transmit_t board_transmit_of(input logic [71:0] fields);
    board_transmit_of.length = fields[0 +: 7];
    board_transmit_of.last = fields[7 +: 1];
    board_transmit_of.data = fields[8 +: 64];
  endfunction

  function automatic logic [95:0] board_ran_fields(input board_ran_t s);
    board_ran_fields[0 +: 16] = s.cycles;
    board_ran_fields[16 +: 1] = s.is_quiet;
    board_ran_fields[17 +: 1] = s.is_waiting;
    board_ran_fields[18 +: 6] = s.reserved;
    board_ran_fields[24 +: 8] = s.failure;
    board_ran_fields[32 +: 64] = s.deadline_ns;
  endfunction
  function automatic board_ran_t board_ran_of(input logic [95:0] fields);
    board_ran_of.cycles = fields[0 +: 16];
    board_ran_of.is_quiet = fields[16 +: 1];
    board_ran_of.is_waiting = fields[17 +: 1];
    board_ran_of.reserved = fields[18 +: 6];
    board_ran_of.failure = fields[24 +: 8];
    board_ran_of.deadline_ns = fields[32 +: 64];
  endfunction

  function automatic logic [223:0] net_config_fields(input net_config_t s);
    net_config_fields[0 +: 48] = s.mac;
    net_config_fields[48 +: 16] = s.status;
    net_config_fields[64 +: 16] = s.max_virtqueue_pairs;
    net_config_fields[80 +: 16] = s.mtu;
    net_config_fields[96 +: 32] = s.speed;
    net_config_fields[128 +: 8] = s.duplex;
    net_config_fields[136 +: 8] = s.rss_max_key_size;
    net_config_fields[144 +: 16] = s.rss_max_indirection_table_length;
    net_config_fields[160 +: 32] = s.supported_hash_types;
    net_config_fields[192 +: 32] = s.supported_tunnel_types;
  endfunction
  function automatic net_config_t net_config_of(input logic [223:0] fields);
    net_config_of.mac = fields[0 +: 48];
    net_config_of.status = fields[48 +: 16];
    net_config_of.max_virtqueue_pairs = fields[64 +: 16];
    net_config_of.mtu = fields[80 +: 16];
    net_config_of.speed = fields[96 +: 32];
    net_config_of.duplex = fields[128 +: 8];
    net_config_of.rss_max_key_size = fields[136 +: 8];
    net_config_of.rss_max_indirection_table_length = fields[144 +: 16];
    net_config_of.supported_hash_types = fields[160 +: 32];
    net_config_of.supported_tunnel_types = fields[192 +: 32];
  endfunction

  function automatic logic [95:0] net_hdr_fields(input net_hdr_t s);
    net_hdr_fields[0 +: 8] = s.flags;
    net_hdr_fields[8 +: 5] = s.gso_type;
    net_hdr_fields[13 +: 1] = s.gso_udp_tunnel_ipv4;
    net_hdr_fields[14 +: 1] = s.gso_udp_tunnel_ipv6;
    net_hdr_fields[15 +: 1] = s.gso_ecn;
    net_hdr_fields[16 +: 16] = s.hdr_len;
    net_hdr_fields[32 +: 16] = s.gso_size;
    net_hdr_fields[48 +: 16] = s.csum_start;
    net_hdr_fields[64 +: 16] = s.csum_offset;
    net_hdr_fields[80 +: 16] = s.num_buffers;
  endfunction
  function automatic net_hdr_t net_hdr_of(input logic [95:0] fields);
    net_hdr_of.flags = fields[0 +: 8];
    net_hdr_of.gso_type = fields[8 +: 5];
    net_hdr_of.gso_udp_tunnel_ipv4 = fields[13 +: 1];
    net_hdr_of.gso_udp_tunnel_ipv6 = fields[14 +: 1];
    net_hdr_of.gso_ecn = fields[15 +: 1];
    net_hdr_of.hdr_len = fields[16 +: 16];
    net_hdr_of.gso_size = fields[32 +: 16];
    net_hdr_of.csum_start = fields[48 +: 16];
    net_hdr_of.csum_offset = fields[64 +: 16];
    net_hdr_of.num_buffers = fields[80 +: 16];
  endfunction

  function automatic logic [159:0] net_hdr_hash_fields(input net_hdr_hash_t s);
    net_hdr_hash_fields[0 +: 96] = s.hdr;
    net_hdr_hash_fields[96 +: 32] = s.hash_value;
    net_hdr_hash_fields[128 +: 16] = s.hash_report;
    net_hdr_hash_fields[144 +: 16] = s.padding_reserved;
  endfunction
  function automatic net_hdr_hash_t net_hdr_hash_of(input logic [159:0] fields);
    net_hdr_hash_of.hdr = fields[0 +: 96];
    net_hdr_hash_of.hash_value = fields[96 +: 32];
    net_hdr_hash_of.hash_report = fields[128 +: 16];
    net_hdr_hash_of.padding_reserved = fields[144 +: 16];
  endfunction

  function automatic logic [191:0] net_hdr_hash_tunnel_fields(input net_hdr_hash_tunnel_t s);
    net_hdr_hash_tunnel_fields[0 +: 160] = s.hash_hdr;
    net_hdr_hash_tunnel_fields[160 +: 16] = s.outer_th_offset;
    net_hdr_hash_tunnel_fields[176 +: 16] = s.inner_nh_offset;
  endfunction
  function automatic net_hdr_hash_tunnel_t net_hdr_hash_tunnel_of(input logic [191:0] fields);
    net_hdr_hash_tunnel_of.hash_hdr = fields[0 +: 160];
    net_hdr_hash_tunnel_of.outer_th_offset = fields[160 +: 16];
    net_hdr_hash_tunnel_of.inner_nh_offset = fields[176 +: 16];
  endfunction

  function automatic logic [255:0] net_hdr_hash_tunnel_out_net_hdr_fields(input net_hdr_hash_tunnel_out_net_hdr_t s);
    net_hdr_hash_tunnel_out_net_hdr_fields[0 +: 192] = s.tnl_hdr;
    net_hdr_hash_tunnel_out_net_hdr_fields[192 +: 16] = s.outer_nh_offset;
    net_hdr_hash_tunnel_out_net_hdr_fields[208 +: 48] = s.padding_reserved_2;
  endfunction
  function automatic net_hdr_hash_tunnel_out_net_hdr_t net_hdr_hash_tunnel_out_net_hdr_of(input logic [255:0] fields);
    net_hdr_hash_tunnel_out_net_hdr_of.tnl_hdr = fields[0 +: 192];
    net_hdr_hash_tunnel_out_net_hdr_of.outer_nh_offset = fields[192 +: 16];
    net_hdr_hash_tunnel_out_net_hdr_of.padding_reserved_2 = fields[208 +: 48];
  endfunction

  function automatic logic [15:0] net_ctrl_hdr_fields(input net_ctrl_hdr_t s);
    net_ctrl_hdr_fields[0 +: 8] = s.ctrl_class;
    net_ctrl_hdr_fields[8 +: 8] = s.command;
  endfunction
  function automatic net_ctrl_hdr_t net_ctrl_hdr_of(input logic [15:0] fields);
    net_ctrl_hdr_of.ctrl_class = fields[0 +: 8];
    net_ctrl_hdr_of.command = fields[8 +: 8];
  endfunction

  function automatic logic [7:0] net_ctrl_rx_fields(input net_ctrl_rx_t s);
    net_ctrl_rx_fields[0 +: 8] = s.on;
  endfunction
  function automatic net_ctrl_rx_t net_ctrl_rx_of(input logic [7:0] fields);
    net_ctrl_rx_of.on = fields[0 +: 8];
  endfunction

  function automatic logic [47:0] net_ctrl_mac_addr_fields(input net_ctrl_mac_addr_t s);
    net_ctrl_mac_addr_fields[0 +: 48] = s.mac;
  endfunction
  function automatic net_ctrl_mac_addr_t net_ctrl_mac_addr_of(input logic [47:0] fields);
    net_ctrl_mac_addr_of.mac = fields[0 +: 48];
  endfunction

  function automatic logic [31:0] net_ctrl_mac_fields(input net_ctrl_mac_t s);
    net_ctrl_mac_fields[0 +: 32] = s.entries;
  endfunction
  function automatic net_ctrl_mac_t net_ctrl_mac_of(input logic [31:0] fields);
    net_ctrl_mac_of.entries = fields[0 +: 32];
  endfunction

  function automatic logic [15:0] net_ctrl_vlan_fields(input net_ctrl_vlan_t s);
    net_ctrl_vlan_fields[0 +: 16] = s.vlan_id;
  endfunction
  function automatic net_ctrl_vlan_t net_ctrl_vlan_of(input logic [15:0] fields);
    net_ctrl_vlan_of.vlan_id = fields[0 +: 16];
  endfunction

  function automatic logic [15:0] net_ctrl_mq_pairs_set_fields(input net_ctrl_mq_pairs_set_t s);
    net_ctrl_mq_pairs_set_fields[0 +: 16] = s.virtqueue_pairs;
  endfunction
  function automatic net_ctrl_mq_pairs_set_t net_ctrl_mq_pairs_set_of(input logic [15:0] fields);
    net_ctrl_mq_pairs_set_of.virtqueue_pairs = fields[0 +: 16];
  endfunction

  function automatic logic [15:0] rss_rq_id_fields(input rss_rq_id_t s);
    rss_rq_id_fields[0 +: 15] = s.vq_index_1_16;
    rss_rq_id_fields[15 +: 1] = s.reserved;
  endfunction
  function automatic rss_rq_id_t rss_rq_id_of(input logic [15:0] fields);
    rss_rq_id_of.vq_index_1_16 = fields[0 +: 15];
    rss_rq_id_of.reserved = fields[15 +: 1];
  endfunction

  function automatic logic [63:0] net_rss_config_hdr_fields(input net_rss_config_hdr_t s);
    net_rss_config_hdr_fields[0 +: 32] = s.hash_types;
    net_rss_config_hdr_fields[32 +: 16] = s.indirection_table_mask;
    net_rss_config_hdr_fields[48 +: 16] = s.unclassified_queue;
  endfunction
  function automatic net_rss_config_hdr_t net_rss_config_hdr_of(input logic [63:0] fields);
    net_rss_config_hdr_of.hash_types = fields[0 +: 32];
    net_rss_config_hdr_of.indirection_table_mask = fields[32 +: 16];
    net_rss_config_hdr_of.unclassified_queue = fields[48 +: 16];
  endfunction

  function automatic logic [23:0] net_rss_config_trailer_fields(input net_rss_config_trailer_t s);
    net_rss_config_trailer_fields[0 +: 16] = s.max_tx_vq;
    net_rss_config_trailer_fields[16 +: 8] = s.hash_key_length;
  endfunction
  function automatic net_rss_config_trailer_t net_rss_config_trailer_of(input logic [23:0] fields);
    net_rss_config_trailer_of.max_tx_vq = fields[0 +: 16];
    net_rss_config_trailer_of.hash_key_length = fields[16 +: 8];
  endfunction

  function automatic logic [103:0] net_hash_config_fields(input net_hash_config_t s);
    net_hash_config_fields[0 +: 32] = s.hash_types;
    net_hash_config_fields[32 +: 64] = s.reserved;
    net_hash_config_fields[96 +: 8] = s.hash_key_length;
  endfunction
  function automatic net_hash_config_t net_hash_config_of(input logic [103:0] fields);
    net_hash_config_of.hash_types = fields[0 +: 32];
    net_hash_config_of.reserved = fields[32 +: 64];
    net_hash_config_of.hash_key_length = fields[96 +: 8];
  endfunction

  function automatic logic [63:0] net_ctrl_guest_offloads_fields(input net_ctrl_guest_offloads_t s);
    net_ctrl_guest_offloads_fields[0 +: 64] = s.offloads;
  endfunction
  function automatic net_ctrl_guest_offloads_t net_ctrl_guest_offloads_of(input logic [63:0] fields);
    net_ctrl_guest_offloads_of.offloads = fields[0 +: 64];
  endfunction

  function automatic logic [63:0] net_ctrl_coal_fields(input net_ctrl_coal_t s);
    net_ctrl_coal_fields[0 +: 32] = s.max_packets;
    net_ctrl_coal_fields[32 +: 32] = s.max_usecs;
  endfunction
  function automatic net_ctrl_coal_t net_ctrl_coal_of(input logic [63:0] fields);
    net_ctrl_coal_of.max_packets = fields[0 +: 32];
    net_ctrl_coal_of.max_usecs = fields[32 +: 32];
  endfunction

  function automatic logic [95:0] net_ctrl_coal_vq_fields(input net_ctrl_coal_vq_t s);
    net_ctrl_coal_vq_fields[0 +: 16] = s.vq_index;
    net_ctrl_coal_vq_fields[16 +: 16] = s.reserved;
    net_ctrl_coal_vq_fields[32 +: 64] = s.coal;
  endfunction
  function automatic net_ctrl_coal_vq_t net_ctrl_coal_vq_of(input logic [95:0] fields);
    net_ctrl_coal_vq_of.vq_index = fields[0 +: 16];
    net_ctrl_coal_vq_of.reserved = fields[16 +: 16];
    net_ctrl_coal_vq_of.coal = fields[32 +: 64];
  endfunction

  function automatic logic [31:0] net_ctrl_coal_vq_get_fields(input net_ctrl_coal_vq_get_t s);
    net_ctrl_coal_vq_get_fields[0 +: 16] = s.vq_index;
    net_ctrl_coal_vq_get_fields[16 +: 16] = s.reserved;
  endfunction
  function automatic net_ctrl_coal_vq_get_t net_ctrl_coal_vq_get_of(input logic [31:0] fields);
    net_ctrl_coal_vq_get_of.vq_index = fields[0 +: 16];
    net_ctrl_coal_vq_get_of.reserved = fields[16 +: 16];
  endfunction

  function automatic logic [31:0] net_hash_tunnel_fields(input net_hash_tunnel_t s);
    net_hash_tunnel_fields[0 +: 32] = s.enabled_tunnel_types;
  endfunction
  function automatic net_hash_tunnel_t net_hash_tunnel_of(input logic [31:0] fields);
    net_hash_tunnel_of.enabled_tunnel_types = fields[0 +: 32];
  endfunction

  function automatic logic [15:0] net_rss_ctx_cap_fields(input net_rss_ctx_cap_t s);
    net_rss_ctx_cap_fields[0 +: 16] = s.max_rss_contexts;
  endfunction
  function automatic net_rss_ctx_cap_t net_rss_ctx_cap_of(input logic [15:0] fields);
    net_rss_ctx_cap_of.max_rss_contexts = fields[0 +: 16];
  endfunction

  function automatic logic [127:0] net_rss_ctx_add_modify_fields(input net_rss_ctx_add_modify_t s);
    net_rss_ctx_add_modify_fields[0 +: 16] = s.rss_ctx_id;
    net_rss_ctx_add_modify_fields[16 +: 48] = s.reserved;
    net_rss_ctx_add_modify_fields[64 +: 64] = s.rss;
  endfunction
  function automatic net_rss_ctx_add_modify_t net_rss_ctx_add_modify_of(input logic [127:0] fields);
    net_rss_ctx_add_modify_of.rss_ctx_id = fields[0 +: 16];
    net_rss_ctx_add_modify_of.reserved = fields[16 +: 48];
    net_rss_ctx_add_modify_of.rss = fields[64 +: 64];
  endfunction

  function automatic logic [15:0] net_rss_ctx_del_fields(input net_rss_ctx_del_t s);
    net_rss_ctx_del_fields[0 +: 16] = s.rss_ctx_id;
  endfunction
  function automatic net_rss_ctx_del_t net_rss_ctx_del_of(input logic [15:0] fields);
    net_rss_ctx_del_of.rss_ctx_id = fields[0 +: 16];
  endfunction

  function automatic logic [63:0] net_stats_capabilities_fields(input net_stats_capabilities_t s);
    net_stats_capabilities_fields[0 +: 64] = s.supported_stats_types;
  endfunction
  function automatic net_stats_capabilities_t net_stats_capabilities_of(input logic [63:0] fields);
    net_stats_capabilities_of.supported_stats_types = fields[0 +: 64];
  endfunction

  function automatic logic [127:0] net_ctrl_queue_stats_fields(input net_ctrl_queue_stats_t s);
    net_ctrl_queue_stats_fields[0 +: 16] = s.vq_index;
    net_ctrl_queue_stats_fields[16 +: 48] = s.reserved;
    net_ctrl_queue_stats_fields[64 +: 64] = s.types_bitmap;
  endfunction
  function automatic net_ctrl_queue_stats_t net_ctrl_queue_stats_of(input logic [127:0] fields);
    net_ctrl_queue_stats_of.vq_index = fields[0 +: 16];
    net_ctrl_queue_stats_of.reserved = fields[16 +: 48];
    net_ctrl_queue_stats_of.types_bitmap = fields[64 +: 64];
  endfunction

  function automatic logic [63:0] net_stats_reply_hdr_fields(input net_stats_reply_hdr_t s);
    net_stats_reply_hdr_fields[0 +: 8] = s.stats_type;
    net_stats_reply_hdr_fields[8 +: 8] = s.reserved;
    net_stats_reply_hdr_fields[16 +: 16] = s.vq_index;
    net_stats_reply_hdr_fields[32 +: 16] = s.reserved1;
    net_stats_reply_hdr_fields[48 +: 16] = s.size;
  endfunction
  function automatic net_stats_reply_hdr_t net_stats_reply_hdr_of(input logic [63:0] fields);
    net_stats_reply_hdr_of.stats_type = fields[0 +: 8];
    net_stats_reply_hdr_of.reserved = fields[8 +: 8];
    net_stats_reply_hdr_of.vq_index = fields[16 +: 16];
    net_stats_reply_hdr_of.reserved1 = fields[32 +: 16];
    net_stats_reply_hdr_of.size = fields[48 +: 16];
  endfunction

  function automatic logic [191:0] net_stats_cvq_fields(input net_stats_cvq_t s);
    net_stats_cvq_fields[0 +: 64] = s.hdr;
    net_stats_cvq_fields[64 +: 64] = s.command_num;
    net_stats_cvq_fields[128 +: 64] = s.ok_num;
  endfunction
  function automatic net_stats_cvq_t net_stats_cvq_of(input logic [191:0] fields);
    net_stats_cvq_of.hdr = fields[0 +: 64];
    net_stats_cvq_of.command_num = fields[64 +: 64];
    net_stats_cvq_of.ok_num = fields[128 +: 64];
  endfunction

  function automatic logic [447:0] net_stats_rx_basic_fields(input net_stats_rx_basic_t s);
    net_stats_rx_basic_fields[0 +: 64] = s.hdr;
    net_stats_rx_basic_fields[64 +: 64] = s.rx_notifications;
    net_stats_rx_basic_fields[128 +: 64] = s.rx_packets;
    net_stats_rx_basic_fields[192 +: 64] = s.rx_bytes;
    net_stats_rx_basic_fields[256 +: 64] = s.rx_interrupts;
    net_stats_rx_basic_fields[320 +: 64] = s.rx_drops;
    net_stats_rx_basic_fields[384 +: 64] = s.rx_drop_overruns;
  endfunction
  function automatic net_stats_rx_basic_t net_stats_rx_basic_of(input logic [447:0] fields);
    net_stats_rx_basic_of.hdr = fields[0 +: 64];
    net_stats_rx_basic_of.rx_notifications = fields[64 +: 64];
    net_stats_rx_basic_of.rx_packets = fields[128 +: 64];
    net_stats_rx_basic_of.rx_bytes = fields[192 +: 64];
    net_stats_rx_basic_of.rx_interrupts = fields[256 +: 64];
    net_stats_rx_basic_of.rx_drops = fields[320 +: 64];
    net_stats_rx_basic_of.rx_drop_overruns = fields[384 +: 64];
  endfunction

  function automatic logic [447:0] net_stats_tx_basic_fields(input net_stats_tx_basic_t s);
    net_stats_tx_basic_fields[0 +: 64] = s.hdr;
    net_stats_tx_basic_fields[64 +: 64] = s.tx_notifications;
    net_stats_tx_basic_fields[128 +: 64] = s.tx_packets;
    net_stats_tx_basic_fields[192 +: 64] = s.tx_bytes;
    net_stats_tx_basic_fields[256 +: 64] = s.tx_interrupts;
    net_stats_tx_basic_fields[320 +: 64] = s.tx_drops;
    net_stats_tx_basic_fields[384 +: 64] = s.tx_drop_malformed;
  endfunction
  function automatic net_stats_tx_basic_t net_stats_tx_basic_of(input logic [447:0] fields);
    net_stats_tx_basic_of.hdr = fields[0 +: 64];
    net_stats_tx_basic_of.tx_notifications = fields[64 +: 64];
    net_stats_tx_basic_of.tx_packets = fields[128 +: 64];
    net_stats_tx_basic_of.tx_bytes = fields[192 +: 64];
    net_stats_tx_basic_of.tx_interrupts = fields[256 +: 64];
    net_stats_tx_basic_of.tx_drops = fields[320 +: 64];
    net_stats_tx_basic_of.tx_drop_malformed = fields[384 +: 64];
  endfunction

  function automatic logic [319:0] net_stats_rx_csum_fields(input net_stats_rx_csum_t s);
    net_stats_rx_csum_fields[0 +: 64] = s.hdr;
    net_stats_rx_csum_fields[64 +: 64] = s.rx_csum_valid;
    net_stats_rx_csum_fields[128 +: 64] = s.rx_needs_csum;
    net_stats_rx_csum_fields[192 +: 64] = s.rx_csum_none;
    net_stats_rx_csum_fields[256 +: 64] = s.rx_csum_bad;
  endfunction
  function automatic net_stats_rx_csum_t net_stats_rx_csum_of(input logic [319:0] fields);
    net_stats_rx_csum_of.hdr = fields[0 +: 64];
    net_stats_rx_csum_of.rx_csum_valid = fields[64 +: 64];
    net_stats_rx_csum_of.rx_needs_csum = fields[128 +: 64];
    net_stats_rx_csum_of.rx_csum_none = fields[192 +: 64];
    net_stats_rx_csum_of.rx_csum_bad = fields[256 +: 64];
  endfunction

  function automatic logic [191:0] net_stats_tx_csum_fields(input net_stats_tx_csum_t s);
    net_stats_tx_csum_fields[0 +: 64] = s.hdr;
    net_stats_tx_csum_fields[64 +: 64] = s.tx_csum_none;
    net_stats_tx_csum_fields[128 +: 64] = s.tx_needs_csum;
  endfunction
  function automatic net_stats_tx_csum_t net_stats_tx_csum_of(input logic [191:0] fields);
    net_stats_tx_csum_of.hdr = fields[0 +: 64];
    net_stats_tx_csum_of.tx_csum_none = fields[64 +: 64];
    net_stats_tx_csum_of.tx_needs_csum = fields[128 +: 64];
  endfunction

  function automatic logic [319:0] net_stats_rx_gso_fields(input net_stats_rx_gso_t s);
    net_stats_rx_gso_fields[0 +: 64] = s.hdr;
    net_stats_rx_gso_fields[64 +: 64] = s.rx_gso_packets;
    net_stats_rx_gso_fields[128 +: 64] = s.rx_gso_bytes;
    net_stats_rx_gso_fields[192 +: 64] = s.rx_gso_packets_coalesced;
    net_stats_rx_gso_fields[256 +: 64] = s.rx_gso_bytes_coalesced;
  endfunction
  function automatic net_stats_rx_gso_t net_stats_rx_gso_of(input logic [319:0] fields);
    net_stats_rx_gso_of.hdr = fields[0 +: 64];
    net_stats_rx_gso_of.rx_gso_packets = fields[64 +: 64];
    net_stats_rx_gso_of.rx_gso_bytes = fields[128 +: 64];
    net_stats_rx_gso_of.rx_gso_packets_coalesced = fields[192 +: 64];
    net_stats_rx_gso_of.rx_gso_bytes_coalesced = fields[256 +: 64];
  endfunction

  function automatic logic [447:0] net_stats_tx_gso_fields(input net_stats_tx_gso_t s);
    net_stats_tx_gso_fields[0 +: 64] = s.hdr;
    net_stats_tx_gso_fields[64 +: 64] = s.tx_gso_packets;
    net_stats_tx_gso_fields[128 +: 64] = s.tx_gso_bytes;
    net_stats_tx_gso_fields[192 +: 64] = s.tx_gso_segments;
    net_stats_tx_gso_fields[256 +: 64] = s.tx_gso_segments_bytes;
    net_stats_tx_gso_fields[320 +: 64] = s.tx_gso_packets_noseg;
    net_stats_tx_gso_fields[384 +: 64] = s.tx_gso_bytes_noseg;
  endfunction
  function automatic net_stats_tx_gso_t net_stats_tx_gso_of(input logic [447:0] fields);
    net_stats_tx_gso_of.hdr = fields[0 +: 64];
    net_stats_tx_gso_of.tx_gso_packets = fields[64 +: 64];
    net_stats_tx_gso_of.tx_gso_bytes = fields[128 +: 64];
    net_stats_tx_gso_of.tx_gso_segments = fields[192 +: 64];
    net_stats_tx_gso_of.tx_gso_segments_bytes = fields[256 +: 64];
    net_stats_tx_gso_of.tx_gso_packets_noseg = fields[320 +: 64];
    net_stats_tx_gso_of.tx_gso_bytes_noseg = fields[384 +: 64];
  endfunction

  function automatic logic [191:0] net_stats_rx_speed_fields(input net_stats_rx_speed_t s);
    net_stats_rx_speed_fields[0 +: 64] = s.hdr;
    net_stats_rx_speed_fields[64 +: 64] = s.rx_packets_allowance_exceeded;
    net_stats_rx_speed_fields[128 +: 64] = s.rx_bytes_allowance_exceeded;
  endfunction
  function automatic net_stats_rx_speed_t net_stats_rx_speed_of(input logic [191:0] fields);
    net_stats_rx_speed_of.hdr = fields[0 +: 64];
    net_stats_rx_speed_of.rx_packets_allowance_exceeded = fields[64 +: 64];
    net_stats_rx_speed_of.rx_bytes_allowance_exceeded = fields[128 +: 64];
  endfunction

  function automatic logic [191:0] net_stats_tx_speed_fields(input net_stats_tx_speed_t s);
    net_stats_tx_speed_fields[0 +: 64] = s.hdr;
    net_stats_tx_speed_fields[64 +: 64] = s.tx_packets_allowance_exceeded;
    net_stats_tx_speed_fields[128 +: 64] = s.tx_bytes_allowance_exceeded;
  endfunction
  function automatic net_stats_tx_speed_t net_stats_tx_speed_of(input logic [191:0] fields);
    net_stats_tx_speed_of.hdr = fields[0 +: 64];
    net_stats_tx_speed_of.tx_packets_allowance_exceeded = fields[64 +: 64];
    net_stats_tx_speed_of.tx_bytes_allowance_exceeded = fields[128 +: 64];
  endfunction

  function automatic logic [511:0] pci_header_fields(input pci_header_t s);
    pci_header_fields[0 +: 16] = s.vendor_id;
    pci_header_fields[16 +: 16] = s.device_id;
    pci_header_fields[32 +: 16] = s.command;
    pci_header_fields[48 +: 16] = s.status;
    pci_header_fields[64 +: 8] = s.revision_id;
    pci_header_fields[72 +: 24] = s.class_code;
    pci_header_fields[96 +: 8] = s.cache_line_size;
    pci_header_fields[104 +: 8] = s.latency_timer;
    pci_header_fields[112 +: 8] = s.header_type;
    pci_header_fields[120 +: 8] = s.bist;
    pci_header_fields[128 +: 192] = s.base_address;
    pci_header_fields[320 +: 32] = s.cardbus_cis_pointer;
    pci_header_fields[352 +: 16] = s.subsystem_vendor_id;
    pci_header_fields[368 +: 16] = s.subsystem_id;
    pci_header_fields[384 +: 32] = s.expansion_rom_base_address;
    pci_header_fields[416 +: 8] = s.capabilities_pointer;
    pci_header_fields[424 +: 56] = s.reserved;
    pci_header_fields[480 +: 8] = s.interrupt_line;
    pci_header_fields[488 +: 8] = s.interrupt_pin;
    pci_header_fields[496 +: 8] = s.min_gnt;
    pci_header_fields[504 +: 8] = s.max_lat;
  endfunction
  function automatic pci_header_t pci_header_of(input logic [511:0] fields);
    pci_header_of.vendor_id = fields[0 +: 16];
    pci_header_of.device_id = fields[16 +: 16];
    pci_header_of.command = fields[32 +: 16];
    pci_header_of.status = fields[48 +: 16];
    pci_header_of.revision_id = fields[64 +: 8];
    pci_header_of.class_code = fields[72 +: 24];
    pci_header_of.cache_line_size = fields[96 +: 8];
    pci_header_of.latency_timer = fields[104 +: 8];
    pci_header_of.header_type = fields[112 +: 8];
    pci_header_of.bist = fields[120 +: 8];
    pci_header_of.base_address = fields[128 +: 192];
    pci_header_of.cardbus_cis_pointer = fields[320 +: 32];
    pci_header_of.subsystem_vendor_id = fields[352 +: 16];
    pci_header_of.subsystem_id = fields[368 +: 16];
    pci_header_of.expansion_rom_base_address = fields[384 +: 32];
    pci_header_of.capabilities_pointer = fields[416 +: 8];
    pci_header_of.reserved = fields[424 +: 56];
    pci_header_of.interrupt_line = fields[480 +: 8];
    pci_header_of.interrupt_pin = fields[488 +: 8];
    pci_header_of.min_gnt = fields[496 +: 8];
    pci_header_of.max_lat = fields[504 +: 8];
  endfunction

  function automatic logic [31:0] pci_memory_bar_fields(input pci_memory_bar_t s);
    pci_memory_bar_fields[0 +: 1] = s.io_space;
    pci_memory_bar_fields[1 +: 2] = s.memory_type;
    pci_memory_bar_fields[3 +: 1] = s.prefetchable;
    pci_memory_bar_fields[4 +: 28] = s.base_address;
  endfunction
  function automatic pci_memory_bar_t pci_memory_bar_of(input logic [31:0] fields);
    pci_memory_bar_of.io_space = fields[0 +: 1];
    pci_memory_bar_of.memory_type = fields[1 +: 2];
    pci_memory_bar_of.prefetchable = fields[3 +: 1];
    pci_memory_bar_of.base_address = fields[4 +: 28];
  endfunction

  function automatic logic [15:0] pci_capability_fields(input pci_capability_t s);
    pci_capability_fields[0 +: 8] = s.cap_id;
    pci_capability_fields[8 +: 8] = s.cap_next;
  endfunction
  function automatic pci_capability_t pci_capability_of(input logic [15:0] fields);
    pci_capability_of.cap_id = fields[0 +: 8];
    pci_capability_of.cap_next = fields[8 +: 8];
  endfunction

  function automatic logic [31:0] pcie_extended_capability_fields(input pcie_extended_capability_t s);
    pcie_extended_capability_fields[0 +: 16] = s.cap_id;
    pcie_extended_capability_fields[16 +: 4] = s.version;
    pcie_extended_capability_fields[20 +: 12] = s.cap_next;
  endfunction
  function automatic pcie_extended_capability_t pcie_extended_capability_of(input logic [31:0] fields);
    pcie_extended_capability_of.cap_id = fields[0 +: 16];
    pcie_extended_capability_of.version = fields[16 +: 4];
    pcie_extended_capability_of.cap_next = fields[20 +: 12];
  endfunction

  function automatic logic [63:0] pci_pm_cap_fields(input pci_pm_cap_t s);
    pci_pm_cap_fields[0 +: 8] = s.capability_id;
    pci_pm_cap_fields[8 +: 8] = s.next;
    pci_pm_cap_fields[16 +: 3] = s.pm_version;
    pci_pm_cap_fields[19 +: 1] = s.pme_clock;
    pci_pm_cap_fields[20 +: 1] = s.immediate_readiness;
    pci_pm_cap_fields[21 +: 1] = s.device_specific_initialization;
    pci_pm_cap_fields[22 +: 3] = s.aux_current;
    pci_pm_cap_fields[25 +: 1] = s.d1_support;
    pci_pm_cap_fields[26 +: 1] = s.d2_support;
    pci_pm_cap_fields[27 +: 5] = s.pme_support;
    pci_pm_cap_fields[32 +: 2] = s.power_state;
    pci_pm_cap_fields[34 +: 1] = s.reserved;
    pci_pm_cap_fields[35 +: 1] = s.no_soft_reset;
    pci_pm_cap_fields[36 +: 4] = s.reserved1;
    pci_pm_cap_fields[40 +: 1] = s.pme_enable;
    pci_pm_cap_fields[41 +: 4] = s.data_select;
    pci_pm_cap_fields[45 +: 2] = s.data_scale;
    pci_pm_cap_fields[47 +: 1] = s.pme_status;
    pci_pm_cap_fields[48 +: 8] = s.bridge_extensions;
    pci_pm_cap_fields[56 +: 8] = s.data;
  endfunction
  function automatic pci_pm_cap_t pci_pm_cap_of(input logic [63:0] fields);
    pci_pm_cap_of.capability_id = fields[0 +: 8];
    pci_pm_cap_of.next = fields[8 +: 8];
    pci_pm_cap_of.pm_version = fields[16 +: 3];
    pci_pm_cap_of.pme_clock = fields[19 +: 1];
    pci_pm_cap_of.immediate_readiness = fields[20 +: 1];
    pci_pm_cap_of.device_specific_initialization = fields[21 +: 1];
    pci_pm_cap_of.aux_current = fields[22 +: 3];
    pci_pm_cap_of.d1_support = fields[25 +: 1];
    pci_pm_cap_of.d2_support = fields[26 +: 1];
    pci_pm_cap_of.pme_support = fields[27 +: 5];
    pci_pm_cap_of.power_state = fields[32 +: 2];
    pci_pm_cap_of.reserved = fields[34 +: 1];
    pci_pm_cap_of.no_soft_reset = fields[35 +: 1];
    pci_pm_cap_of.reserved1 = fields[36 +: 4];
    pci_pm_cap_of.pme_enable = fields[40 +: 1];
    pci_pm_cap_of.data_select = fields[41 +: 4];
    pci_pm_cap_of.data_scale = fields[45 +: 2];
    pci_pm_cap_of.pme_status = fields[47 +: 1];
    pci_pm_cap_of.bridge_extensions = fields[48 +: 8];
    pci_pm_cap_of.data = fields[56 +: 8];
  endfunction

  function automatic logic [479:0] pcie_cap_fields(input pcie_cap_t s);
    pcie_cap_fields[0 +: 8] = s.cap_id;
    pcie_cap_fields[8 +: 8] = s.cap_next;
    pcie_cap_fields[16 +: 4] = s.version;
    pcie_cap_fields[20 +: 4] = s.port_type;
    pcie_cap_fields[24 +: 1] = s.slot_implemented;
    pcie_cap_fields[25 +: 5] = s.interrupt_message_number;
    pcie_cap_fields[30 +: 2] = s.reserved;
    pcie_cap_fields[32 +: 3] = s.max_payload_size_supported;
    pcie_cap_fields[35 +: 2] = s.phantom_functions_supported;
    pcie_cap_fields[37 +: 1] = s.extended_tag_supported;
    pcie_cap_fields[38 +: 3] = s.l0s_acceptable_latency;
    pcie_cap_fields[41 +: 3] = s.l1_acceptable_latency;
    pcie_cap_fields[44 +: 3] = s.reserved1;
    pcie_cap_fields[47 +: 1] = s.role_based_error_reporting;
    pcie_cap_fields[48 +: 2] = s.reserved2;
    pcie_cap_fields[50 +: 8] = s.slot_power_limit_value;
    pcie_cap_fields[58 +: 2] = s.slot_power_limit_scale;
    pcie_cap_fields[60 +: 1] = s.function_level_reset_capable;
    pcie_cap_fields[61 +: 3] = s.reserved3;
    pcie_cap_fields[64 +: 1] = s.correctable_error_reporting;
    pcie_cap_fields[65 +: 1] = s.non_fatal_error_reporting;
    pcie_cap_fields[66 +: 1] = s.fatal_error_reporting;
    pcie_cap_fields[67 +: 1] = s.unsupported_request_reporting;
    pcie_cap_fields[68 +: 1] = s.relaxed_ordering;
    pcie_cap_fields[69 +: 3] = s.max_payload_size;
    pcie_cap_fields[72 +: 1] = s.extended_tag;
    pcie_cap_fields[73 +: 1] = s.phantom_functions;
    pcie_cap_fields[74 +: 1] = s.aux_power_pm;
    pcie_cap_fields[75 +: 1] = s.no_snoop;
    pcie_cap_fields[76 +: 3] = s.max_read_request_size;
    pcie_cap_fields[79 +: 1] = s.initiate_function_level_reset;
    pcie_cap_fields[80 +: 1] = s.correctable_error_detected;
    pcie_cap_fields[81 +: 1] = s.non_fatal_error_detected;
    pcie_cap_fields[82 +: 1] = s.fatal_error_detected;
    pcie_cap_fields[83 +: 1] = s.unsupported_request_detected;
    pcie_cap_fields[84 +: 1] = s.aux_power_detected;
    pcie_cap_fields[85 +: 1] = s.transactions_pending;
    pcie_cap_fields[86 +: 10] = s.reserved4;
    pcie_cap_fields[96 +: 4] = s.max_link_speed;
    pcie_cap_fields[100 +: 6] = s.max_link_width;
    pcie_cap_fields[106 +: 2] = s.aspm_support;
    pcie_cap_fields[108 +: 3] = s.l0s_exit_latency;
    pcie_cap_fields[111 +: 3] = s.l1_exit_latency;
    pcie_cap_fields[114 +: 1] = s.clock_power_management;
    pcie_cap_fields[115 +: 1] = s.surprise_down_error_reporting;
    pcie_cap_fields[116 +: 1] = s.link_active_reporting;
    pcie_cap_fields[117 +: 1] = s.link_bandwidth_notification;
    pcie_cap_fields[118 +: 2] = s.reserved5;
    pcie_cap_fields[120 +: 8] = s.port_number;
    pcie_cap_fields[128 +: 16] = s.link_control;
    pcie_cap_fields[144 +: 4] = s.link_speed;
    pcie_cap_fields[148 +: 6] = s.link_width;
    pcie_cap_fields[154 +: 1] = s.reserved6;
    pcie_cap_fields[155 +: 1] = s.link_training;
    pcie_cap_fields[156 +: 1] = s.slot_clock_configuration;
    pcie_cap_fields[157 +: 1] = s.link_active;
    pcie_cap_fields[158 +: 1] = s.link_bandwidth_management;
    pcie_cap_fields[159 +: 1] = s.link_autonomous_bandwidth;
    pcie_cap_fields[160 +: 32] = s.slot_capabilities;
    pcie_cap_fields[192 +: 16] = s.slot_control;
    pcie_cap_fields[208 +: 16] = s.slot_status;
    pcie_cap_fields[224 +: 16] = s.root_control;
    pcie_cap_fields[240 +: 16] = s.root_capabilities;
    pcie_cap_fields[256 +: 32] = s.root_status;
    pcie_cap_fields[288 +: 32] = s.device_capabilities2;
    pcie_cap_fields[320 +: 16] = s.device_control2;
    pcie_cap_fields[336 +: 16] = s.device_status2;
    pcie_cap_fields[352 +: 32] = s.link_capabilities2;
    pcie_cap_fields[384 +: 16] = s.link_control2;
    pcie_cap_fields[400 +: 16] = s.link_status2;
    pcie_cap_fields[416 +: 32] = s.slot_capabilities2;
    pcie_cap_fields[448 +: 16] = s.slot_control2;
    pcie_cap_fields[464 +: 16] = s.slot_status2;
  endfunction
  function automatic pcie_cap_t pcie_cap_of(input logic [479:0] fields);
    pcie_cap_of.cap_id = fields[0 +: 8];
    pcie_cap_of.cap_next = fields[8 +: 8];
    pcie_cap_of.version = fields[16 +: 4];
    pcie_cap_of.port_type = fields[20 +: 4];
    pcie_cap_of.slot_implemented = fields[24 +: 1];
    pcie_cap_of.interrupt_message_number = fields[25 +: 5];
    pcie_cap_of.reserved = fields[30 +: 2];
    pcie_cap_of.max_payload_size_supported = fields[32 +: 3];
    pcie_cap_of.phantom_functions_supported = fields[35 +: 2];
    pcie_cap_of.extended_tag_supported = fields[37 +: 1];
    pcie_cap_of.l0s_acceptable_latency = fields[38 +: 3];
    pcie_cap_of.l1_acceptable_latency = fields[41 +: 3];
    pcie_cap_of.reserved1 = fields[44 +: 3];
    pcie_cap_of.role_based_error_reporting = fields[47 +: 1];
    pcie_cap_of.reserved2 = fields[48 +: 2];
    pcie_cap_of.slot_power_limit_value = fields[50 +: 8];
    pcie_cap_of.slot_power_limit_scale = fields[58 +: 2];
    pcie_cap_of.function_level_reset_capable = fields[60 +: 1];
    pcie_cap_of.reserved3 = fields[61 +: 3];
    pcie_cap_of.correctable_error_reporting = fields[64 +: 1];
    pcie_cap_of.non_fatal_error_reporting = fields[65 +: 1];
    pcie_cap_of.fatal_error_reporting = fields[66 +: 1];
    pcie_cap_of.unsupported_request_reporting = fields[67 +: 1];
    pcie_cap_of.relaxed_ordering = fields[68 +: 1];
    pcie_cap_of.max_payload_size = fields[69 +: 3];
    pcie_cap_of.extended_tag = fields[72 +: 1];
    pcie_cap_of.phantom_functions = fields[73 +: 1];
    pcie_cap_of.aux_power_pm = fields[74 +: 1];
    pcie_cap_of.no_snoop = fields[75 +: 1];
    pcie_cap_of.max_read_request_size = fields[76 +: 3];
    pcie_cap_of.initiate_function_level_reset = fields[79 +: 1];
    pcie_cap_of.correctable_error_detected = fields[80 +: 1];
    pcie_cap_of.non_fatal_error_detected = fields[81 +: 1];
    pcie_cap_of.fatal_error_detected = fields[82 +: 1];
    pcie_cap_of.unsupported_request_detected = fields[83 +: 1];
    pcie_cap_of.aux_power_detected = fields[84 +: 1];
    pcie_cap_of.transactions_pending = fields[85 +: 1];
    pcie_cap_of.reserved4 = fields[86 +: 10];
    pcie_cap_of.max_link_speed = fields[96 +: 4];
    pcie_cap_of.max_link_width = fields[100 +: 6];
    pcie_cap_of.aspm_support = fields[106 +: 2];
    pcie_cap_of.l0s_exit_latency = fields[108 +: 3];
    pcie_cap_of.l1_exit_latency = fields[111 +: 3];
    pcie_cap_of.clock_power_management = fields[114 +: 1];
    pcie_cap_of.surprise_down_error_reporting = fields[115 +: 1];
    pcie_cap_of.link_active_reporting = fields[116 +: 1];
    pcie_cap_of.link_bandwidth_notification = fields[117 +: 1];
    pcie_cap_of.reserved5 = fields[118 +: 2];
    pcie_cap_of.port_number = fields[120 +: 8];
    pcie_cap_of.link_control = fields[128 +: 16];
    pcie_cap_of.link_speed = fields[144 +: 4];
    pcie_cap_of.link_width = fields[148 +: 6];
    pcie_cap_of.reserved6 = fields[154 +: 1];
    pcie_cap_of.link_training = fields[155 +: 1];
    pcie_cap_of.slot_clock_configuration = fields[156 +: 1];
    pcie_cap_of.link_active = fields[157 +: 1];
    pcie_cap_of.link_bandwidth_management = fields[158 +: 1];
    pcie_cap_of.link_autonomous_bandwidth = fields[159 +: 1];
    pcie_cap_of.slot_capabilities = fields[160 +: 32];
    pcie_cap_of.slot_control = fields[192 +: 16];
    pcie_cap_of.slot_status = fields[208 +: 16];
    pcie_cap_of.root_control = fields[224 +: 16];
    pcie_cap_of.root_capabilities = fields[240 +: 16];
    pcie_cap_of.root_status = fields[256 +: 32];
    pcie_cap_of.device_capabilities2 = fields[288 +: 32];
    pcie_cap_of.device_control2 = fields[320 +: 16];
    pcie_cap_of.device_status2 = fields[336 +: 16];
    pcie_cap_of.link_capabilities2 = fields[352 +: 32];
    pcie_cap_of.link_control2 = fields[384 +: 16];
    pcie_cap_of.link_status2 = fields[400 +: 16];
    pcie_cap_of.slot_capabilities2 = fields[416 +: 32];
    pcie_cap_of.slot_control2 = fields[448 +: 16];
    pcie_cap_of.slot_status2 = fields[464 +: 16];
  endfunction

  function automatic logic [95:0] msix_cap_fields(input msix_cap_t s);
    msix_cap_fields[0 +: 8] = s.cap_id;
    msix_cap_fields[8 +: 8] = s.cap_next;
    msix_cap_fields[16 +: 11] = s.table_size;
    msix_cap_fields[27 +: 3] = s.reserved;
    msix_cap_fields[30 +: 1] = s.function_mask;
    msix_cap_fields[31 +: 1] = s.msix_enable;
    msix_cap_fields[32 +: 3] = s.table_bir;
    msix_cap_fields[35 +: 29] = s.table_offset;
    msix_cap_fields[64 +: 3] = s.pba_bir;
    msix_cap_fields[67 +: 29] = s.pba_offset;
  endfunction
  function automatic msix_cap_t msix_cap_of(input logic [95:0] fields);
    msix_cap_of.cap_id = fields[0 +: 8];
    msix_cap_of.cap_next = fields[8 +: 8];
    msix_cap_of.table_size = fields[16 +: 11];
    msix_cap_of.reserved = fields[27 +: 3];
    msix_cap_of.function_mask = fields[30 +: 1];
    msix_cap_of.msix_enable = fields[31 +: 1];
    msix_cap_of.table_bir = fields[32 +: 3];
    msix_cap_of.table_offset = fields[35 +: 29];
    msix_cap_of.pba_bir = fields[64 +: 3];
    msix_cap_of.pba_offset = fields[67 +: 29];
  endfunction

  function automatic logic [127:0] msix_table_entry_fields(input msix_table_entry_t s);
    msix_table_entry_fields[0 +: 32] = s.message_address;
    msix_table_entry_fields[32 +: 32] = s.message_upper_address;
    msix_table_entry_fields[64 +: 32] = s.message_data;
    msix_table_entry_fields[96 +: 1] = s.mask;
    msix_table_entry_fields[97 +: 31] = s.reserved;
  endfunction
  function automatic msix_table_entry_t msix_table_entry_of(input logic [127:0] fields);
    msix_table_entry_of.message_address = fields[0 +: 32];
    msix_table_entry_of.message_upper_address = fields[32 +: 32];
    msix_table_entry_of.message_data = fields[64 +: 32];
    msix_table_entry_of.mask = fields[96 +: 1];
    msix_table_entry_of.reserved = fields[97 +: 31];
  endfunction

  function automatic logic [63:0] msix_pba_entry_fields(input msix_pba_entry_t s);
    msix_pba_entry_fields[0 +: 64] = s.pending;
  endfunction
  function automatic msix_pba_entry_t msix_pba_entry_of(input logic [63:0] fields);
    msix_pba_entry_of.pending = fields[0 +: 64];
  endfunction

  function automatic logic [127:0] virtio_pci_cap_fields(input virtio_pci_cap_t s);
    virtio_pci_cap_fields[0 +: 8] = s.cap_vndr;
    virtio_pci_cap_fields[8 +: 8] = s.cap_next;
    virtio_pci_cap_fields[16 +: 8] = s.cap_len;
    virtio_pci_cap_fields[24 +: 8] = s.cfg_type;
    virtio_pci_cap_fields[32 +: 8] = s.bar;
    virtio_pci_cap_fields[40 +: 8] = s.id;
    virtio_pci_cap_fields[48 +: 16] = s.padding;
    virtio_pci_cap_fields[64 +: 32] = s.offset;
    virtio_pci_cap_fields[96 +: 32] = s.length;
  endfunction
  function automatic virtio_pci_cap_t virtio_pci_cap_of(input logic [127:0] fields);
    virtio_pci_cap_of.cap_vndr = fields[0 +: 8];
    virtio_pci_cap_of.cap_next = fields[8 +: 8];
    virtio_pci_cap_of.cap_len = fields[16 +: 8];
    virtio_pci_cap_of.cfg_type = fields[24 +: 8];
    virtio_pci_cap_of.bar = fields[32 +: 8];
    virtio_pci_cap_of.id = fields[40 +: 8];
    virtio_pci_cap_of.padding = fields[48 +: 16];
    virtio_pci_cap_of.offset = fields[64 +: 32];
    virtio_pci_cap_of.length = fields[96 +: 32];
  endfunction

  function automatic logic [191:0] virtio_pci_cap64_fields(input virtio_pci_cap64_t s);
    virtio_pci_cap64_fields[0 +: 128] = s.cap;
    virtio_pci_cap64_fields[128 +: 32] = s.offset_hi;
    virtio_pci_cap64_fields[160 +: 32] = s.length_hi;
  endfunction
  function automatic virtio_pci_cap64_t virtio_pci_cap64_of(input logic [191:0] fields);
    virtio_pci_cap64_of.cap = fields[0 +: 128];
    virtio_pci_cap64_of.offset_hi = fields[128 +: 32];
    virtio_pci_cap64_of.length_hi = fields[160 +: 32];
  endfunction

  function automatic logic [159:0] virtio_pci_notify_cap_fields(input virtio_pci_notify_cap_t s);
    virtio_pci_notify_cap_fields[0 +: 128] = s.cap;
    virtio_pci_notify_cap_fields[128 +: 32] = s.notify_off_multiplier;
  endfunction
  function automatic virtio_pci_notify_cap_t virtio_pci_notify_cap_of(input logic [159:0] fields);
    virtio_pci_notify_cap_of.cap = fields[0 +: 128];
    virtio_pci_notify_cap_of.notify_off_multiplier = fields[128 +: 32];
  endfunction

  function automatic logic [159:0] virtio_pci_cfg_cap_fields(input virtio_pci_cfg_cap_t s);
    virtio_pci_cfg_cap_fields[0 +: 128] = s.cap;
    virtio_pci_cfg_cap_fields[128 +: 32] = s.pci_cfg_data;
  endfunction
  function automatic virtio_pci_cfg_cap_t virtio_pci_cfg_cap_of(input logic [159:0] fields);
    virtio_pci_cfg_cap_of.cap = fields[0 +: 128];
    virtio_pci_cfg_cap_of.pci_cfg_data = fields[128 +: 32];
  endfunction

  function automatic logic [47:0] virtio_pci_vndr_data_fields(input virtio_pci_vndr_data_t s);
    virtio_pci_vndr_data_fields[0 +: 8] = s.cap_vndr;
    virtio_pci_vndr_data_fields[8 +: 8] = s.cap_next;
    virtio_pci_vndr_data_fields[16 +: 8] = s.cap_len;
    virtio_pci_vndr_data_fields[24 +: 8] = s.cfg_type;
    virtio_pci_vndr_data_fields[32 +: 16] = s.vendor_id;
  endfunction
  function automatic virtio_pci_vndr_data_t virtio_pci_vndr_data_of(input logic [47:0] fields);
    virtio_pci_vndr_data_of.cap_vndr = fields[0 +: 8];
    virtio_pci_vndr_data_of.cap_next = fields[8 +: 8];
    virtio_pci_vndr_data_of.cap_len = fields[16 +: 8];
    virtio_pci_vndr_data_of.cfg_type = fields[24 +: 8];
    virtio_pci_vndr_data_of.vendor_id = fields[32 +: 16];
  endfunction

  function automatic logic [127:0] processor_settings_fields(input processor_settings_t s);
    processor_settings_fields[0 +: 32] = s.magic;
    processor_settings_fields[32 +: 8] = s.abi_profile;
    processor_settings_fields[40 +: 8] = s.has_mac;
    processor_settings_fields[48 +: 48] = s.mac;
    processor_settings_fields[96 +: 32] = s.mtu;
  endfunction
  function automatic processor_settings_t processor_settings_of(input logic [127:0] fields);
    processor_settings_of.magic = fields[0 +: 32];
    processor_settings_of.abi_profile = fields[32 +: 8];
    processor_settings_of.has_mac = fields[40 +: 8];
    processor_settings_of.mac = fields[48 +: 48];
    processor_settings_of.mtu = fields[96 +: 32];
  endfunction

  function automatic logic [63:0] net_config_rdma_fields(input net_config_rdma_t s);
    net_config_rdma_fields[0 +: 32] = s.max_rdma_qps;
    net_config_rdma_fields[32 +: 32] = s.max_rdma_cqs;
  endfunction
  function automatic net_config_rdma_t net_config_rdma_of(input logic [63:0] fields);
    net_config_rdma_of.max_rdma_qps = fields[0 +: 32];
    net_config_rdma_of.max_rdma_cqs = fields[32 +: 32];
  endfunction

  function automatic logic [1023:0] rdma_ack_query_device_fields(input rdma_ack_query_device_t s);
    rdma_ack_query_device_fields[0 +: 64] = s.device_cap_flags;
    rdma_ack_query_device_fields[64 +: 64] = s.max_mr_size;
    rdma_ack_query_device_fields[128 +: 64] = s.page_size_cap;
    rdma_ack_query_device_fields[192 +: 32] = s.hw_ver;
    rdma_ack_query_device_fields[224 +: 32] = s.max_qp_wr;
    rdma_ack_query_device_fields[256 +: 32] = s.max_send_sge;
    rdma_ack_query_device_fields[288 +: 32] = s.max_recv_sge;
    rdma_ack_query_device_fields[320 +: 32] = s.max_sge_rd;
    rdma_ack_query_device_fields[352 +: 32] = s.max_cqe;
    rdma_ack_query_device_fields[384 +: 32] = s.max_mr;
    rdma_ack_query_device_fields[416 +: 32] = s.max_pd;
    rdma_ack_query_device_fields[448 +: 32] = s.max_qp_rd_atom;
    rdma_ack_query_device_fields[480 +: 32] = s.max_qp_init_rd_atom;
    rdma_ack_query_device_fields[512 +: 32] = s.max_ah;
    rdma_ack_query_device_fields[544 +: 8] = s.local_ca_ack_delay;
    rdma_ack_query_device_fields[552 +: 24] = s.reserved;
    rdma_ack_query_device_fields[576 +: 32] = s.max_mr_pages;
    rdma_ack_query_device_fields[608 +: 8] = s.atomic_cap;
    rdma_ack_query_device_fields[616 +: 8] = s.invalidation;
    rdma_ack_query_device_fields[624 +: 8] = s.sq_version;
    rdma_ack_query_device_fields[632 +: 8] = s.atomic_write;
    rdma_ack_query_device_fields[640 +: 32] = s.max_srq;
    rdma_ack_query_device_fields[672 +: 8] = s.flush;
    rdma_ack_query_device_fields[680 +: 8] = s.max_push;
    rdma_ack_query_device_fields[688 +: 16] = s.reserved2;
    rdma_ack_query_device_fields[704 +: 32] = s.max_mw;
    rdma_ack_query_device_fields[736 +: 32] = s.max_fast_mr_pages;
    rdma_ack_query_device_fields[768 +: 32] = s.cq_elements;
    rdma_ack_query_device_fields[800 +: 32] = s.max_mcast_attach;
    rdma_ack_query_device_fields[832 +: 192] = s.reserved3;
  endfunction
  function automatic rdma_ack_query_device_t rdma_ack_query_device_of(input logic [1023:0] fields);
    rdma_ack_query_device_of.device_cap_flags = fields[0 +: 64];
    rdma_ack_query_device_of.max_mr_size = fields[64 +: 64];
    rdma_ack_query_device_of.page_size_cap = fields[128 +: 64];
    rdma_ack_query_device_of.hw_ver = fields[192 +: 32];
    rdma_ack_query_device_of.max_qp_wr = fields[224 +: 32];
    rdma_ack_query_device_of.max_send_sge = fields[256 +: 32];
    rdma_ack_query_device_of.max_recv_sge = fields[288 +: 32];
    rdma_ack_query_device_of.max_sge_rd = fields[320 +: 32];
    rdma_ack_query_device_of.max_cqe = fields[352 +: 32];
    rdma_ack_query_device_of.max_mr = fields[384 +: 32];
    rdma_ack_query_device_of.max_pd = fields[416 +: 32];
    rdma_ack_query_device_of.max_qp_rd_atom = fields[448 +: 32];
    rdma_ack_query_device_of.max_qp_init_rd_atom = fields[480 +: 32];
    rdma_ack_query_device_of.max_ah = fields[512 +: 32];
    rdma_ack_query_device_of.local_ca_ack_delay = fields[544 +: 8];
    rdma_ack_query_device_of.reserved = fields[552 +: 24];
    rdma_ack_query_device_of.max_mr_pages = fields[576 +: 32];
    rdma_ack_query_device_of.atomic_cap = fields[608 +: 8];
    rdma_ack_query_device_of.invalidation = fields[616 +: 8];
    rdma_ack_query_device_of.sq_version = fields[624 +: 8];
    rdma_ack_query_device_of.atomic_write = fields[632 +: 8];
    rdma_ack_query_device_of.max_srq = fields[640 +: 32];
    rdma_ack_query_device_of.flush = fields[672 +: 8];
    rdma_ack_query_device_of.max_push = fields[680 +: 8];
    rdma_ack_query_device_of.reserved2 = fields[688 +: 16];
    rdma_ack_query_device_of.max_mw = fields[704 +: 32];
    rdma_ack_query_device_of.max_fast_mr_pages = fields[736 +: 32];
    rdma_ack_query_device_of.cq_elements = fields[768 +: 32];
    rdma_ack_query_device_of.max_mcast_attach = fields[800 +: 32];
    rdma_ack_query_device_of.reserved3 = fields[832 +: 192];
  endfunction

  function automatic logic [255:0] rdma_ack_query_port_fields(input rdma_ack_query_port_t s);
    rdma_ack_query_port_fields[0 +: 32] = s.gid_tbl_len;
    rdma_ack_query_port_fields[32 +: 32] = s.max_msg_sz;
    rdma_ack_query_port_fields[64 +: 192] = s.reserved;
  endfunction
  function automatic rdma_ack_query_port_t rdma_ack_query_port_of(input logic [255:0] fields);
    rdma_ack_query_port_of.gid_tbl_len = fields[0 +: 32];
    rdma_ack_query_port_of.max_msg_sz = fields[32 +: 32];
    rdma_ack_query_port_of.reserved = fields[64 +: 192];
  endfunction

  function automatic logic [63:0] rdma_ack_query_clock_fields(input rdma_ack_query_clock_t s);
    rdma_ack_query_clock_fields[0 +: 64] = s.time_ns;
  endfunction
  function automatic rdma_ack_query_clock_t rdma_ack_query_clock_of(input logic [63:0] fields);
    rdma_ack_query_clock_of.time_ns = fields[0 +: 64];
  endfunction

  function automatic logic [31:0] rdma_cmd_create_cq_fields(input rdma_cmd_create_cq_t s);
    rdma_cmd_create_cq_fields[0 +: 32] = s.cqe;
  endfunction
  function automatic rdma_cmd_create_cq_t rdma_cmd_create_cq_of(input logic [31:0] fields);
    rdma_cmd_create_cq_of.cqe = fields[0 +: 32];
  endfunction

  function automatic logic [31:0] rdma_ack_create_cq_fields(input rdma_ack_create_cq_t s);
    rdma_ack_create_cq_fields[0 +: 32] = s.cqn;
  endfunction
  function automatic rdma_ack_create_cq_t rdma_ack_create_cq_of(input logic [31:0] fields);
    rdma_ack_create_cq_of.cqn = fields[0 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_create_extended_cq_fields(input rdma_cmd_create_extended_cq_t s);
    rdma_cmd_create_extended_cq_fields[0 +: 32] = s.cqe;
    rdma_cmd_create_extended_cq_fields[32 +: 32] = s.elements;
  endfunction
  function automatic rdma_cmd_create_extended_cq_t rdma_cmd_create_extended_cq_of(input logic [63:0] fields);
    rdma_cmd_create_extended_cq_of.cqe = fields[0 +: 32];
    rdma_cmd_create_extended_cq_of.elements = fields[32 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_destroy_cq_fields(input rdma_cmd_destroy_cq_t s);
    rdma_cmd_destroy_cq_fields[0 +: 32] = s.cqn;
  endfunction
  function automatic rdma_cmd_destroy_cq_t rdma_cmd_destroy_cq_of(input logic [31:0] fields);
    rdma_cmd_destroy_cq_of.cqn = fields[0 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_req_notify_fields(input rdma_cmd_req_notify_t s);
    rdma_cmd_req_notify_fields[0 +: 32] = s.cqn;
    rdma_cmd_req_notify_fields[32 +: 32] = s.flags;
  endfunction
  function automatic rdma_cmd_req_notify_t rdma_cmd_req_notify_of(input logic [63:0] fields);
    rdma_cmd_req_notify_of.cqn = fields[0 +: 32];
    rdma_cmd_req_notify_of.flags = fields[32 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cq_arm_fields(input rdma_cq_arm_t s);
    rdma_cq_arm_fields[0 +: 16] = s.seen_used_idx;
    rdma_cq_arm_fields[16 +: 1] = s.solicited;
    rdma_cq_arm_fields[17 +: 1] = s.next_completion;
    rdma_cq_arm_fields[18 +: 14] = s.reserved;
  endfunction
  function automatic rdma_cq_arm_t rdma_cq_arm_of(input logic [31:0] fields);
    rdma_cq_arm_of.seen_used_idx = fields[0 +: 16];
    rdma_cq_arm_of.solicited = fields[16 +: 1];
    rdma_cq_arm_of.next_completion = fields[17 +: 1];
    rdma_cq_arm_of.reserved = fields[18 +: 14];
  endfunction

  function automatic logic [31:0] rdma_ack_create_pd_fields(input rdma_ack_create_pd_t s);
    rdma_ack_create_pd_fields[0 +: 32] = s.pdn;
  endfunction
  function automatic rdma_ack_create_pd_t rdma_ack_create_pd_of(input logic [31:0] fields);
    rdma_ack_create_pd_of.pdn = fields[0 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_destroy_pd_fields(input rdma_cmd_destroy_pd_t s);
    rdma_cmd_destroy_pd_fields[0 +: 32] = s.pdn;
  endfunction
  function automatic rdma_cmd_destroy_pd_t rdma_cmd_destroy_pd_of(input logic [31:0] fields);
    rdma_cmd_destroy_pd_of.pdn = fields[0 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_get_dma_mr_fields(input rdma_cmd_get_dma_mr_t s);
    rdma_cmd_get_dma_mr_fields[0 +: 32] = s.pdn;
    rdma_cmd_get_dma_mr_fields[32 +: 32] = s.access_flags;
  endfunction
  function automatic rdma_cmd_get_dma_mr_t rdma_cmd_get_dma_mr_of(input logic [63:0] fields);
    rdma_cmd_get_dma_mr_of.pdn = fields[0 +: 32];
    rdma_cmd_get_dma_mr_of.access_flags = fields[32 +: 32];
  endfunction

  function automatic logic [95:0] rdma_ack_get_dma_mr_fields(input rdma_ack_get_dma_mr_t s);
    rdma_ack_get_dma_mr_fields[0 +: 32] = s.mrn;
    rdma_ack_get_dma_mr_fields[32 +: 32] = s.lkey;
    rdma_ack_get_dma_mr_fields[64 +: 32] = s.rkey;
  endfunction
  function automatic rdma_ack_get_dma_mr_t rdma_ack_get_dma_mr_of(input logic [95:0] fields);
    rdma_ack_get_dma_mr_of.mrn = fields[0 +: 32];
    rdma_ack_get_dma_mr_of.lkey = fields[32 +: 32];
    rdma_ack_get_dma_mr_of.rkey = fields[64 +: 32];
  endfunction

  function automatic logic [255:0] rdma_cmd_reg_user_mr_fields(input rdma_cmd_reg_user_mr_t s);
    rdma_cmd_reg_user_mr_fields[0 +: 32] = s.pdn;
    rdma_cmd_reg_user_mr_fields[32 +: 32] = s.access_flags;
    rdma_cmd_reg_user_mr_fields[64 +: 64] = s.virt_addr;
    rdma_cmd_reg_user_mr_fields[128 +: 64] = s.length;
    rdma_cmd_reg_user_mr_fields[192 +: 32] = s.npages;
    rdma_cmd_reg_user_mr_fields[224 +: 8] = s.page_shift;
    rdma_cmd_reg_user_mr_fields[232 +: 8] = s.invalidatable;
    rdma_cmd_reg_user_mr_fields[240 +: 8] = s.is_pmem;
    rdma_cmd_reg_user_mr_fields[248 +: 8] = s.reserved;
  endfunction
  function automatic rdma_cmd_reg_user_mr_t rdma_cmd_reg_user_mr_of(input logic [255:0] fields);
    rdma_cmd_reg_user_mr_of.pdn = fields[0 +: 32];
    rdma_cmd_reg_user_mr_of.access_flags = fields[32 +: 32];
    rdma_cmd_reg_user_mr_of.virt_addr = fields[64 +: 64];
    rdma_cmd_reg_user_mr_of.length = fields[128 +: 64];
    rdma_cmd_reg_user_mr_of.npages = fields[192 +: 32];
    rdma_cmd_reg_user_mr_of.page_shift = fields[224 +: 8];
    rdma_cmd_reg_user_mr_of.invalidatable = fields[232 +: 8];
    rdma_cmd_reg_user_mr_of.is_pmem = fields[240 +: 8];
    rdma_cmd_reg_user_mr_of.reserved = fields[248 +: 8];
  endfunction

  function automatic logic [95:0] rdma_ack_reg_user_mr_fields(input rdma_ack_reg_user_mr_t s);
    rdma_ack_reg_user_mr_fields[0 +: 32] = s.mrn;
    rdma_ack_reg_user_mr_fields[32 +: 32] = s.lkey;
    rdma_ack_reg_user_mr_fields[64 +: 32] = s.rkey;
  endfunction
  function automatic rdma_ack_reg_user_mr_t rdma_ack_reg_user_mr_of(input logic [95:0] fields);
    rdma_ack_reg_user_mr_of.mrn = fields[0 +: 32];
    rdma_ack_reg_user_mr_of.lkey = fields[32 +: 32];
    rdma_ack_reg_user_mr_of.rkey = fields[64 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_dereg_mr_fields(input rdma_cmd_dereg_mr_t s);
    rdma_cmd_dereg_mr_fields[0 +: 32] = s.mrn;
  endfunction
  function automatic rdma_cmd_dereg_mr_t rdma_cmd_dereg_mr_of(input logic [31:0] fields);
    rdma_cmd_dereg_mr_of.mrn = fields[0 +: 32];
  endfunction

  function automatic logic [319:0] rdma_cmd_rereg_mr_fields(input rdma_cmd_rereg_mr_t s);
    rdma_cmd_rereg_mr_fields[0 +: 32] = s.mrn;
    rdma_cmd_rereg_mr_fields[32 +: 32] = s.flags;
    rdma_cmd_rereg_mr_fields[64 +: 32] = s.pdn;
    rdma_cmd_rereg_mr_fields[96 +: 32] = s.access_flags;
    rdma_cmd_rereg_mr_fields[128 +: 64] = s.virt_addr;
    rdma_cmd_rereg_mr_fields[192 +: 64] = s.length;
    rdma_cmd_rereg_mr_fields[256 +: 32] = s.npages;
    rdma_cmd_rereg_mr_fields[288 +: 8] = s.page_shift;
    rdma_cmd_rereg_mr_fields[296 +: 8] = s.is_pmem;
    rdma_cmd_rereg_mr_fields[304 +: 16] = s.reserved;
  endfunction
  function automatic rdma_cmd_rereg_mr_t rdma_cmd_rereg_mr_of(input logic [319:0] fields);
    rdma_cmd_rereg_mr_of.mrn = fields[0 +: 32];
    rdma_cmd_rereg_mr_of.flags = fields[32 +: 32];
    rdma_cmd_rereg_mr_of.pdn = fields[64 +: 32];
    rdma_cmd_rereg_mr_of.access_flags = fields[96 +: 32];
    rdma_cmd_rereg_mr_of.virt_addr = fields[128 +: 64];
    rdma_cmd_rereg_mr_of.length = fields[192 +: 64];
    rdma_cmd_rereg_mr_of.npages = fields[256 +: 32];
    rdma_cmd_rereg_mr_of.page_shift = fields[288 +: 8];
    rdma_cmd_rereg_mr_of.is_pmem = fields[296 +: 8];
    rdma_cmd_rereg_mr_of.reserved = fields[304 +: 16];
  endfunction

  function automatic logic [63:0] rdma_ack_rereg_mr_fields(input rdma_ack_rereg_mr_t s);
    rdma_ack_rereg_mr_fields[0 +: 32] = s.lkey;
    rdma_ack_rereg_mr_fields[32 +: 32] = s.rkey;
  endfunction
  function automatic rdma_ack_rereg_mr_t rdma_ack_rereg_mr_of(input logic [63:0] fields);
    rdma_ack_rereg_mr_of.lkey = fields[0 +: 32];
    rdma_ack_rereg_mr_of.rkey = fields[32 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_alloc_mw_fields(input rdma_cmd_alloc_mw_t s);
    rdma_cmd_alloc_mw_fields[0 +: 32] = s.pdn;
    rdma_cmd_alloc_mw_fields[32 +: 8] = s.mw_type;
    rdma_cmd_alloc_mw_fields[40 +: 24] = s.reserved;
  endfunction
  function automatic rdma_cmd_alloc_mw_t rdma_cmd_alloc_mw_of(input logic [63:0] fields);
    rdma_cmd_alloc_mw_of.pdn = fields[0 +: 32];
    rdma_cmd_alloc_mw_of.mw_type = fields[32 +: 8];
    rdma_cmd_alloc_mw_of.reserved = fields[40 +: 24];
  endfunction

  function automatic logic [63:0] rdma_ack_alloc_mw_fields(input rdma_ack_alloc_mw_t s);
    rdma_ack_alloc_mw_fields[0 +: 32] = s.mwn;
    rdma_ack_alloc_mw_fields[32 +: 32] = s.rkey;
  endfunction
  function automatic rdma_ack_alloc_mw_t rdma_ack_alloc_mw_of(input logic [63:0] fields);
    rdma_ack_alloc_mw_of.mwn = fields[0 +: 32];
    rdma_ack_alloc_mw_of.rkey = fields[32 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_dealloc_mw_fields(input rdma_cmd_dealloc_mw_t s);
    rdma_cmd_dealloc_mw_fields[0 +: 32] = s.mwn;
  endfunction
  function automatic rdma_cmd_dealloc_mw_t rdma_cmd_dealloc_mw_of(input logic [31:0] fields);
    rdma_cmd_dealloc_mw_of.mwn = fields[0 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_alloc_mr_fields(input rdma_cmd_alloc_mr_t s);
    rdma_cmd_alloc_mr_fields[0 +: 32] = s.pdn;
    rdma_cmd_alloc_mr_fields[32 +: 32] = s.max_pages;
  endfunction
  function automatic rdma_cmd_alloc_mr_t rdma_cmd_alloc_mr_of(input logic [63:0] fields);
    rdma_cmd_alloc_mr_of.pdn = fields[0 +: 32];
    rdma_cmd_alloc_mr_of.max_pages = fields[32 +: 32];
  endfunction

  function automatic logic [95:0] rdma_ack_alloc_mr_fields(input rdma_ack_alloc_mr_t s);
    rdma_ack_alloc_mr_fields[0 +: 32] = s.mrn;
    rdma_ack_alloc_mr_fields[32 +: 32] = s.lkey;
    rdma_ack_alloc_mr_fields[64 +: 32] = s.rkey;
  endfunction
  function automatic rdma_ack_alloc_mr_t rdma_ack_alloc_mr_of(input logic [95:0] fields);
    rdma_ack_alloc_mr_of.mrn = fields[0 +: 32];
    rdma_ack_alloc_mr_of.lkey = fields[32 +: 32];
    rdma_ack_alloc_mr_of.rkey = fields[64 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_query_mr_fields(input rdma_cmd_query_mr_t s);
    rdma_cmd_query_mr_fields[0 +: 32] = s.mrn;
  endfunction
  function automatic rdma_cmd_query_mr_t rdma_cmd_query_mr_of(input logic [31:0] fields);
    rdma_cmd_query_mr_of.mrn = fields[0 +: 32];
  endfunction

  function automatic logic [319:0] rdma_ack_query_mr_fields(input rdma_ack_query_mr_t s);
    rdma_ack_query_mr_fields[0 +: 32] = s.lkey;
    rdma_ack_query_mr_fields[32 +: 32] = s.rkey;
    rdma_ack_query_mr_fields[64 +: 32] = s.pdn;
    rdma_ack_query_mr_fields[96 +: 32] = s.access_flags;
    rdma_ack_query_mr_fields[128 +: 64] = s.virt_addr;
    rdma_ack_query_mr_fields[192 +: 64] = s.length;
    rdma_ack_query_mr_fields[256 +: 32] = s.npages;
    rdma_ack_query_mr_fields[288 +: 8] = s.page_shift;
    rdma_ack_query_mr_fields[296 +: 8] = s.is_alive;
    rdma_ack_query_mr_fields[304 +: 8] = s.invalidatable;
    rdma_ack_query_mr_fields[312 +: 8] = s.is_fast;
  endfunction
  function automatic rdma_ack_query_mr_t rdma_ack_query_mr_of(input logic [319:0] fields);
    rdma_ack_query_mr_of.lkey = fields[0 +: 32];
    rdma_ack_query_mr_of.rkey = fields[32 +: 32];
    rdma_ack_query_mr_of.pdn = fields[64 +: 32];
    rdma_ack_query_mr_of.access_flags = fields[96 +: 32];
    rdma_ack_query_mr_of.virt_addr = fields[128 +: 64];
    rdma_ack_query_mr_of.length = fields[192 +: 64];
    rdma_ack_query_mr_of.npages = fields[256 +: 32];
    rdma_ack_query_mr_of.page_shift = fields[288 +: 8];
    rdma_ack_query_mr_of.is_alive = fields[296 +: 8];
    rdma_ack_query_mr_of.invalidatable = fields[304 +: 8];
    rdma_ack_query_mr_of.is_fast = fields[312 +: 8];
  endfunction

  function automatic logic [191:0] rdma_qp_cap_fields(input rdma_qp_cap_t s);
    rdma_qp_cap_fields[0 +: 32] = s.max_send_wr;
    rdma_qp_cap_fields[32 +: 32] = s.max_recv_wr;
    rdma_qp_cap_fields[64 +: 32] = s.max_send_sge;
    rdma_qp_cap_fields[96 +: 32] = s.max_recv_sge;
    rdma_qp_cap_fields[128 +: 32] = s.max_inline_data;
    rdma_qp_cap_fields[160 +: 32] = s.reserved;
  endfunction
  function automatic rdma_qp_cap_t rdma_qp_cap_of(input logic [191:0] fields);
    rdma_qp_cap_of.max_send_wr = fields[0 +: 32];
    rdma_qp_cap_of.max_recv_wr = fields[32 +: 32];
    rdma_qp_cap_of.max_send_sge = fields[64 +: 32];
    rdma_qp_cap_of.max_recv_sge = fields[96 +: 32];
    rdma_qp_cap_of.max_inline_data = fields[128 +: 32];
    rdma_qp_cap_of.reserved = fields[160 +: 32];
  endfunction

  function automatic logic [447:0] rdma_cmd_create_qp_fields(input rdma_cmd_create_qp_t s);
    rdma_cmd_create_qp_fields[0 +: 32] = s.pdn;
    rdma_cmd_create_qp_fields[32 +: 8] = s.qp_type;
    rdma_cmd_create_qp_fields[40 +: 8] = s.sq_sig_all;
    rdma_cmd_create_qp_fields[48 +: 8] = s.has_srq;
    rdma_cmd_create_qp_fields[56 +: 8] = s.reserved;
    rdma_cmd_create_qp_fields[64 +: 32] = s.send_cqn;
    rdma_cmd_create_qp_fields[96 +: 32] = s.recv_cqn;
    rdma_cmd_create_qp_fields[128 +: 192] = s.cap;
    rdma_cmd_create_qp_fields[320 +: 32] = s.srqn;
    rdma_cmd_create_qp_fields[352 +: 96] = s.reserved1;
  endfunction
  function automatic rdma_cmd_create_qp_t rdma_cmd_create_qp_of(input logic [447:0] fields);
    rdma_cmd_create_qp_of.pdn = fields[0 +: 32];
    rdma_cmd_create_qp_of.qp_type = fields[32 +: 8];
    rdma_cmd_create_qp_of.sq_sig_all = fields[40 +: 8];
    rdma_cmd_create_qp_of.has_srq = fields[48 +: 8];
    rdma_cmd_create_qp_of.reserved = fields[56 +: 8];
    rdma_cmd_create_qp_of.send_cqn = fields[64 +: 32];
    rdma_cmd_create_qp_of.recv_cqn = fields[96 +: 32];
    rdma_cmd_create_qp_of.cap = fields[128 +: 192];
    rdma_cmd_create_qp_of.srqn = fields[320 +: 32];
    rdma_cmd_create_qp_of.reserved1 = fields[352 +: 96];
  endfunction

  function automatic logic [31:0] rdma_ack_create_qp_fields(input rdma_ack_create_qp_t s);
    rdma_ack_create_qp_fields[0 +: 32] = s.qpn;
  endfunction
  function automatic rdma_ack_create_qp_t rdma_ack_create_qp_of(input logic [31:0] fields);
    rdma_ack_create_qp_of.qpn = fields[0 +: 32];
  endfunction

  function automatic logic [191:0] rdma_global_route_fields(input rdma_global_route_t s);
    rdma_global_route_fields[0 +: 128] = s.dgid;
    rdma_global_route_fields[128 +: 32] = s.flow_label;
    rdma_global_route_fields[160 +: 8] = s.sgid_index;
    rdma_global_route_fields[168 +: 8] = s.hop_limit;
    rdma_global_route_fields[176 +: 8] = s.traffic_class;
    rdma_global_route_fields[184 +: 8] = s.reserved;
  endfunction
  function automatic rdma_global_route_t rdma_global_route_of(input logic [191:0] fields);
    rdma_global_route_of.dgid = fields[0 +: 128];
    rdma_global_route_of.flow_label = fields[128 +: 32];
    rdma_global_route_of.sgid_index = fields[160 +: 8];
    rdma_global_route_of.hop_limit = fields[168 +: 8];
    rdma_global_route_of.traffic_class = fields[176 +: 8];
    rdma_global_route_of.reserved = fields[184 +: 8];
  endfunction

  function automatic logic [319:0] rdma_ah_attr_fields(input rdma_ah_attr_t s);
    rdma_ah_attr_fields[0 +: 192] = s.grh;
    rdma_ah_attr_fields[192 +: 48] = s.dmac;
    rdma_ah_attr_fields[240 +: 80] = s.reserved;
  endfunction
  function automatic rdma_ah_attr_t rdma_ah_attr_of(input logic [319:0] fields);
    rdma_ah_attr_of.grh = fields[0 +: 192];
    rdma_ah_attr_of.dmac = fields[192 +: 48];
    rdma_ah_attr_of.reserved = fields[240 +: 80];
  endfunction

  function automatic logic [1023:0] rdma_cmd_modify_qp_fields(input rdma_cmd_modify_qp_t s);
    rdma_cmd_modify_qp_fields[0 +: 32] = s.qpn;
    rdma_cmd_modify_qp_fields[32 +: 32] = s.attr_mask;
    rdma_cmd_modify_qp_fields[64 +: 8] = s.qp_state;
    rdma_cmd_modify_qp_fields[72 +: 8] = s.cur_qp_state;
    rdma_cmd_modify_qp_fields[80 +: 8] = s.path_mtu;
    rdma_cmd_modify_qp_fields[88 +: 8] = s.max_rd_atomic;
    rdma_cmd_modify_qp_fields[96 +: 8] = s.max_dest_rd_atomic;
    rdma_cmd_modify_qp_fields[104 +: 8] = s.min_rnr_timer;
    rdma_cmd_modify_qp_fields[112 +: 8] = s.timeout;
    rdma_cmd_modify_qp_fields[120 +: 8] = s.retry_cnt;
    rdma_cmd_modify_qp_fields[128 +: 8] = s.rnr_retry;
    rdma_cmd_modify_qp_fields[136 +: 56] = s.reserved;
    rdma_cmd_modify_qp_fields[192 +: 32] = s.qkey;
    rdma_cmd_modify_qp_fields[224 +: 32] = s.rq_psn;
    rdma_cmd_modify_qp_fields[256 +: 32] = s.sq_psn;
    rdma_cmd_modify_qp_fields[288 +: 32] = s.dest_qp_num;
    rdma_cmd_modify_qp_fields[320 +: 32] = s.qp_access_flags;
    rdma_cmd_modify_qp_fields[352 +: 32] = s.rate_limit;
    rdma_cmd_modify_qp_fields[384 +: 192] = s.cap;
    rdma_cmd_modify_qp_fields[576 +: 320] = s.ah_attr;
    rdma_cmd_modify_qp_fields[896 +: 128] = s.reserved1;
  endfunction
  function automatic rdma_cmd_modify_qp_t rdma_cmd_modify_qp_of(input logic [1023:0] fields);
    rdma_cmd_modify_qp_of.qpn = fields[0 +: 32];
    rdma_cmd_modify_qp_of.attr_mask = fields[32 +: 32];
    rdma_cmd_modify_qp_of.qp_state = fields[64 +: 8];
    rdma_cmd_modify_qp_of.cur_qp_state = fields[72 +: 8];
    rdma_cmd_modify_qp_of.path_mtu = fields[80 +: 8];
    rdma_cmd_modify_qp_of.max_rd_atomic = fields[88 +: 8];
    rdma_cmd_modify_qp_of.max_dest_rd_atomic = fields[96 +: 8];
    rdma_cmd_modify_qp_of.min_rnr_timer = fields[104 +: 8];
    rdma_cmd_modify_qp_of.timeout = fields[112 +: 8];
    rdma_cmd_modify_qp_of.retry_cnt = fields[120 +: 8];
    rdma_cmd_modify_qp_of.rnr_retry = fields[128 +: 8];
    rdma_cmd_modify_qp_of.reserved = fields[136 +: 56];
    rdma_cmd_modify_qp_of.qkey = fields[192 +: 32];
    rdma_cmd_modify_qp_of.rq_psn = fields[224 +: 32];
    rdma_cmd_modify_qp_of.sq_psn = fields[256 +: 32];
    rdma_cmd_modify_qp_of.dest_qp_num = fields[288 +: 32];
    rdma_cmd_modify_qp_of.qp_access_flags = fields[320 +: 32];
    rdma_cmd_modify_qp_of.rate_limit = fields[352 +: 32];
    rdma_cmd_modify_qp_of.cap = fields[384 +: 192];
    rdma_cmd_modify_qp_of.ah_attr = fields[576 +: 320];
    rdma_cmd_modify_qp_of.reserved1 = fields[896 +: 128];
  endfunction

  function automatic logic [63:0] rdma_cmd_query_qp_fields(input rdma_cmd_query_qp_t s);
    rdma_cmd_query_qp_fields[0 +: 32] = s.qpn;
    rdma_cmd_query_qp_fields[32 +: 32] = s.attr_mask;
  endfunction
  function automatic rdma_cmd_query_qp_t rdma_cmd_query_qp_of(input logic [63:0] fields);
    rdma_cmd_query_qp_of.qpn = fields[0 +: 32];
    rdma_cmd_query_qp_of.attr_mask = fields[32 +: 32];
  endfunction

  function automatic logic [959:0] rdma_ack_query_qp_fields(input rdma_ack_query_qp_t s);
    rdma_ack_query_qp_fields[0 +: 8] = s.qp_state;
    rdma_ack_query_qp_fields[8 +: 8] = s.path_mtu;
    rdma_ack_query_qp_fields[16 +: 8] = s.sq_draining;
    rdma_ack_query_qp_fields[24 +: 8] = s.max_rd_atomic;
    rdma_ack_query_qp_fields[32 +: 8] = s.max_dest_rd_atomic;
    rdma_ack_query_qp_fields[40 +: 8] = s.min_rnr_timer;
    rdma_ack_query_qp_fields[48 +: 8] = s.timeout;
    rdma_ack_query_qp_fields[56 +: 8] = s.retry_cnt;
    rdma_ack_query_qp_fields[64 +: 8] = s.rnr_retry;
    rdma_ack_query_qp_fields[72 +: 56] = s.reserved;
    rdma_ack_query_qp_fields[128 +: 32] = s.qkey;
    rdma_ack_query_qp_fields[160 +: 32] = s.rq_psn;
    rdma_ack_query_qp_fields[192 +: 32] = s.sq_psn;
    rdma_ack_query_qp_fields[224 +: 32] = s.dest_qp_num;
    rdma_ack_query_qp_fields[256 +: 32] = s.qp_access_flags;
    rdma_ack_query_qp_fields[288 +: 32] = s.rate_limit;
    rdma_ack_query_qp_fields[320 +: 192] = s.cap;
    rdma_ack_query_qp_fields[512 +: 320] = s.ah_attr;
    rdma_ack_query_qp_fields[832 +: 128] = s.reserved1;
  endfunction
  function automatic rdma_ack_query_qp_t rdma_ack_query_qp_of(input logic [959:0] fields);
    rdma_ack_query_qp_of.qp_state = fields[0 +: 8];
    rdma_ack_query_qp_of.path_mtu = fields[8 +: 8];
    rdma_ack_query_qp_of.sq_draining = fields[16 +: 8];
    rdma_ack_query_qp_of.max_rd_atomic = fields[24 +: 8];
    rdma_ack_query_qp_of.max_dest_rd_atomic = fields[32 +: 8];
    rdma_ack_query_qp_of.min_rnr_timer = fields[40 +: 8];
    rdma_ack_query_qp_of.timeout = fields[48 +: 8];
    rdma_ack_query_qp_of.retry_cnt = fields[56 +: 8];
    rdma_ack_query_qp_of.rnr_retry = fields[64 +: 8];
    rdma_ack_query_qp_of.reserved = fields[72 +: 56];
    rdma_ack_query_qp_of.qkey = fields[128 +: 32];
    rdma_ack_query_qp_of.rq_psn = fields[160 +: 32];
    rdma_ack_query_qp_of.sq_psn = fields[192 +: 32];
    rdma_ack_query_qp_of.dest_qp_num = fields[224 +: 32];
    rdma_ack_query_qp_of.qp_access_flags = fields[256 +: 32];
    rdma_ack_query_qp_of.rate_limit = fields[288 +: 32];
    rdma_ack_query_qp_of.cap = fields[320 +: 192];
    rdma_ack_query_qp_of.ah_attr = fields[512 +: 320];
    rdma_ack_query_qp_of.reserved1 = fields[832 +: 128];
  endfunction

  function automatic logic [31:0] rdma_cmd_destroy_qp_fields(input rdma_cmd_destroy_qp_t s);
    rdma_cmd_destroy_qp_fields[0 +: 32] = s.qpn;
  endfunction
  function automatic rdma_cmd_destroy_qp_t rdma_cmd_destroy_qp_of(input logic [31:0] fields);
    rdma_cmd_destroy_qp_of.qpn = fields[0 +: 32];
  endfunction

  function automatic logic [127:0] rdma_cmd_create_srq_fields(input rdma_cmd_create_srq_t s);
    rdma_cmd_create_srq_fields[0 +: 32] = s.pdn;
    rdma_cmd_create_srq_fields[32 +: 32] = s.max_wr;
    rdma_cmd_create_srq_fields[64 +: 32] = s.max_sge;
    rdma_cmd_create_srq_fields[96 +: 32] = s.reserved;
  endfunction
  function automatic rdma_cmd_create_srq_t rdma_cmd_create_srq_of(input logic [127:0] fields);
    rdma_cmd_create_srq_of.pdn = fields[0 +: 32];
    rdma_cmd_create_srq_of.max_wr = fields[32 +: 32];
    rdma_cmd_create_srq_of.max_sge = fields[64 +: 32];
    rdma_cmd_create_srq_of.reserved = fields[96 +: 32];
  endfunction

  function automatic logic [31:0] rdma_ack_create_srq_fields(input rdma_ack_create_srq_t s);
    rdma_ack_create_srq_fields[0 +: 32] = s.srqn;
  endfunction
  function automatic rdma_ack_create_srq_t rdma_ack_create_srq_of(input logic [31:0] fields);
    rdma_ack_create_srq_of.srqn = fields[0 +: 32];
  endfunction

  function automatic logic [127:0] rdma_cmd_modify_srq_fields(input rdma_cmd_modify_srq_t s);
    rdma_cmd_modify_srq_fields[0 +: 32] = s.srqn;
    rdma_cmd_modify_srq_fields[32 +: 32] = s.srq_limit;
    rdma_cmd_modify_srq_fields[64 +: 32] = s.posted;
    rdma_cmd_modify_srq_fields[96 +: 32] = s.reserved;
  endfunction
  function automatic rdma_cmd_modify_srq_t rdma_cmd_modify_srq_of(input logic [127:0] fields);
    rdma_cmd_modify_srq_of.srqn = fields[0 +: 32];
    rdma_cmd_modify_srq_of.srq_limit = fields[32 +: 32];
    rdma_cmd_modify_srq_of.posted = fields[64 +: 32];
    rdma_cmd_modify_srq_of.reserved = fields[96 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_query_srq_fields(input rdma_cmd_query_srq_t s);
    rdma_cmd_query_srq_fields[0 +: 32] = s.srqn;
  endfunction
  function automatic rdma_cmd_query_srq_t rdma_cmd_query_srq_of(input logic [31:0] fields);
    rdma_cmd_query_srq_of.srqn = fields[0 +: 32];
  endfunction

  function automatic logic [127:0] rdma_ack_query_srq_fields(input rdma_ack_query_srq_t s);
    rdma_ack_query_srq_fields[0 +: 32] = s.max_wr;
    rdma_ack_query_srq_fields[32 +: 32] = s.max_sge;
    rdma_ack_query_srq_fields[64 +: 32] = s.srq_limit;
    rdma_ack_query_srq_fields[96 +: 32] = s.qps;
  endfunction
  function automatic rdma_ack_query_srq_t rdma_ack_query_srq_of(input logic [127:0] fields);
    rdma_ack_query_srq_of.max_wr = fields[0 +: 32];
    rdma_ack_query_srq_of.max_sge = fields[32 +: 32];
    rdma_ack_query_srq_of.srq_limit = fields[64 +: 32];
    rdma_ack_query_srq_of.qps = fields[96 +: 32];
  endfunction

  function automatic logic [31:0] rdma_cmd_destroy_srq_fields(input rdma_cmd_destroy_srq_t s);
    rdma_cmd_destroy_srq_fields[0 +: 32] = s.srqn;
  endfunction
  function automatic rdma_cmd_destroy_srq_t rdma_cmd_destroy_srq_of(input logic [31:0] fields);
    rdma_cmd_destroy_srq_of.srqn = fields[0 +: 32];
  endfunction

  function automatic logic [383:0] rdma_cmd_create_ah_fields(input rdma_cmd_create_ah_t s);
    rdma_cmd_create_ah_fields[0 +: 32] = s.pdn;
    rdma_cmd_create_ah_fields[32 +: 32] = s.reserved;
    rdma_cmd_create_ah_fields[64 +: 320] = s.ah_attr;
  endfunction
  function automatic rdma_cmd_create_ah_t rdma_cmd_create_ah_of(input logic [383:0] fields);
    rdma_cmd_create_ah_of.pdn = fields[0 +: 32];
    rdma_cmd_create_ah_of.reserved = fields[32 +: 32];
    rdma_cmd_create_ah_of.ah_attr = fields[64 +: 320];
  endfunction

  function automatic logic [31:0] rdma_ack_create_ah_fields(input rdma_ack_create_ah_t s);
    rdma_ack_create_ah_fields[0 +: 32] = s.ah;
  endfunction
  function automatic rdma_ack_create_ah_t rdma_ack_create_ah_of(input logic [31:0] fields);
    rdma_ack_create_ah_of.ah = fields[0 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cmd_destroy_ah_fields(input rdma_cmd_destroy_ah_t s);
    rdma_cmd_destroy_ah_fields[0 +: 32] = s.pdn;
    rdma_cmd_destroy_ah_fields[32 +: 32] = s.ah;
  endfunction
  function automatic rdma_cmd_destroy_ah_t rdma_cmd_destroy_ah_of(input logic [63:0] fields);
    rdma_cmd_destroy_ah_of.pdn = fields[0 +: 32];
    rdma_cmd_destroy_ah_of.ah = fields[32 +: 32];
  endfunction

  function automatic logic [191:0] rdma_cmd_add_gid_fields(input rdma_cmd_add_gid_t s);
    rdma_cmd_add_gid_fields[0 +: 16] = s.index;
    rdma_cmd_add_gid_fields[16 +: 8] = s.gid_type;
    rdma_cmd_add_gid_fields[24 +: 8] = s.flags;
    rdma_cmd_add_gid_fields[32 +: 16] = s.vlan;
    rdma_cmd_add_gid_fields[48 +: 16] = s.reserved;
    rdma_cmd_add_gid_fields[64 +: 128] = s.gid;
  endfunction
  function automatic rdma_cmd_add_gid_t rdma_cmd_add_gid_of(input logic [191:0] fields);
    rdma_cmd_add_gid_of.index = fields[0 +: 16];
    rdma_cmd_add_gid_of.gid_type = fields[16 +: 8];
    rdma_cmd_add_gid_of.flags = fields[24 +: 8];
    rdma_cmd_add_gid_of.vlan = fields[32 +: 16];
    rdma_cmd_add_gid_of.reserved = fields[48 +: 16];
    rdma_cmd_add_gid_of.gid = fields[64 +: 128];
  endfunction

  function automatic logic [15:0] rdma_cmd_del_gid_fields(input rdma_cmd_del_gid_t s);
    rdma_cmd_del_gid_fields[0 +: 16] = s.index;
  endfunction
  function automatic rdma_cmd_del_gid_t rdma_cmd_del_gid_of(input logic [15:0] fields);
    rdma_cmd_del_gid_of.index = fields[0 +: 16];
  endfunction

  function automatic logic [159:0] rdma_cmd_attach_mcast_fields(input rdma_cmd_attach_mcast_t s);
    rdma_cmd_attach_mcast_fields[0 +: 32] = s.qpn;
    rdma_cmd_attach_mcast_fields[32 +: 128] = s.mgid;
  endfunction
  function automatic rdma_cmd_attach_mcast_t rdma_cmd_attach_mcast_of(input logic [159:0] fields);
    rdma_cmd_attach_mcast_of.qpn = fields[0 +: 32];
    rdma_cmd_attach_mcast_of.mgid = fields[32 +: 128];
  endfunction

  function automatic logic [159:0] rdma_cmd_detach_mcast_fields(input rdma_cmd_detach_mcast_t s);
    rdma_cmd_detach_mcast_fields[0 +: 32] = s.qpn;
    rdma_cmd_detach_mcast_fields[32 +: 128] = s.mgid;
  endfunction
  function automatic rdma_cmd_detach_mcast_t rdma_cmd_detach_mcast_of(input logic [159:0] fields);
    rdma_cmd_detach_mcast_of.qpn = fields[0 +: 32];
    rdma_cmd_detach_mcast_of.mgid = fields[32 +: 128];
  endfunction

  function automatic logic [191:0] rdma_cmd_set_window_fields(input rdma_cmd_set_window_t s);
    rdma_cmd_set_window_fields[0 +: 16] = s.vq_index;
    rdma_cmd_set_window_fields[16 +: 8] = s.flags;
    rdma_cmd_set_window_fields[24 +: 40] = s.reserved;
    rdma_cmd_set_window_fields[64 +: 64] = s.base;
    rdma_cmd_set_window_fields[128 +: 64] = s.length;
  endfunction
  function automatic rdma_cmd_set_window_t rdma_cmd_set_window_of(input logic [191:0] fields);
    rdma_cmd_set_window_of.vq_index = fields[0 +: 16];
    rdma_cmd_set_window_of.flags = fields[16 +: 8];
    rdma_cmd_set_window_of.reserved = fields[24 +: 40];
    rdma_cmd_set_window_of.base = fields[64 +: 64];
    rdma_cmd_set_window_of.length = fields[128 +: 64];
  endfunction

  function automatic logic [127:0] rdma_event_fields(input rdma_event_t s);
    rdma_event_fields[0 +: 32] = s.event_type;
    rdma_event_fields[32 +: 32] = s.element;
    rdma_event_fields[64 +: 32] = s.code;
    rdma_event_fields[96 +: 32] = s.lost;
  endfunction
  function automatic rdma_event_t rdma_event_of(input logic [127:0] fields);
    rdma_event_of.event_type = fields[0 +: 32];
    rdma_event_of.element = fields[32 +: 32];
    rdma_event_of.code = fields[64 +: 32];
    rdma_event_of.lost = fields[96 +: 32];
  endfunction

  function automatic logic [127:0] rdma_sge_fields(input rdma_sge_t s);
    rdma_sge_fields[0 +: 64] = s.addr;
    rdma_sge_fields[64 +: 32] = s.length;
    rdma_sge_fields[96 +: 32] = s.lkey;
  endfunction
  function automatic rdma_sge_t rdma_sge_of(input logic [127:0] fields);
    rdma_sge_of.addr = fields[0 +: 64];
    rdma_sge_of.length = fields[64 +: 32];
    rdma_sge_of.lkey = fields[96 +: 32];
  endfunction

  function automatic logic [255:0] rdma_sq_req_rdma_fields(input rdma_sq_req_rdma_t s);
    rdma_sq_req_rdma_fields[0 +: 64] = s.remote_addr;
    rdma_sq_req_rdma_fields[64 +: 32] = s.rkey;
    rdma_sq_req_rdma_fields[96 +: 160] = s.reserved;
  endfunction
  function automatic rdma_sq_req_rdma_t rdma_sq_req_rdma_of(input logic [255:0] fields);
    rdma_sq_req_rdma_of.remote_addr = fields[0 +: 64];
    rdma_sq_req_rdma_of.rkey = fields[64 +: 32];
    rdma_sq_req_rdma_of.reserved = fields[96 +: 160];
  endfunction

  function automatic logic [255:0] rdma_sq_req_flush_fields(input rdma_sq_req_flush_t s);
    rdma_sq_req_flush_fields[0 +: 64] = s.remote_addr;
    rdma_sq_req_flush_fields[64 +: 32] = s.length;
    rdma_sq_req_flush_fields[96 +: 8] = s.placement;
    rdma_sq_req_flush_fields[104 +: 8] = s.selectivity;
    rdma_sq_req_flush_fields[112 +: 16] = s.reserved;
    rdma_sq_req_flush_fields[128 +: 64] = s.reserved1;
    rdma_sq_req_flush_fields[192 +: 32] = s.rkey;
    rdma_sq_req_flush_fields[224 +: 32] = s.reserved2;
  endfunction
  function automatic rdma_sq_req_flush_t rdma_sq_req_flush_of(input logic [255:0] fields);
    rdma_sq_req_flush_of.remote_addr = fields[0 +: 64];
    rdma_sq_req_flush_of.length = fields[64 +: 32];
    rdma_sq_req_flush_of.placement = fields[96 +: 8];
    rdma_sq_req_flush_of.selectivity = fields[104 +: 8];
    rdma_sq_req_flush_of.reserved = fields[112 +: 16];
    rdma_sq_req_flush_of.reserved1 = fields[128 +: 64];
    rdma_sq_req_flush_of.rkey = fields[192 +: 32];
    rdma_sq_req_flush_of.reserved2 = fields[224 +: 32];
  endfunction

  function automatic logic [255:0] rdma_sq_req_bind_fields(input rdma_sq_req_bind_t s);
    rdma_sq_req_bind_fields[0 +: 64] = s.addr;
    rdma_sq_req_bind_fields[64 +: 64] = s.length;
    rdma_sq_req_bind_fields[128 +: 32] = s.access_flags;
    rdma_sq_req_bind_fields[160 +: 32] = s.reserved;
    rdma_sq_req_bind_fields[192 +: 32] = s.rkey;
    rdma_sq_req_bind_fields[224 +: 32] = s.lkey;
  endfunction
  function automatic rdma_sq_req_bind_t rdma_sq_req_bind_of(input logic [255:0] fields);
    rdma_sq_req_bind_of.addr = fields[0 +: 64];
    rdma_sq_req_bind_of.length = fields[64 +: 64];
    rdma_sq_req_bind_of.access_flags = fields[128 +: 32];
    rdma_sq_req_bind_of.reserved = fields[160 +: 32];
    rdma_sq_req_bind_of.rkey = fields[192 +: 32];
    rdma_sq_req_bind_of.lkey = fields[224 +: 32];
  endfunction

  function automatic logic [255:0] rdma_sq_req_reg_fields(input rdma_sq_req_reg_t s);
    rdma_sq_req_reg_fields[0 +: 64] = s.virt_addr;
    rdma_sq_req_reg_fields[64 +: 64] = s.length;
    rdma_sq_req_reg_fields[128 +: 32] = s.access_flags;
    rdma_sq_req_reg_fields[160 +: 32] = s.reserved;
    rdma_sq_req_reg_fields[192 +: 32] = s.key;
    rdma_sq_req_reg_fields[224 +: 8] = s.page_shift;
    rdma_sq_req_reg_fields[232 +: 24] = s.reserved1;
  endfunction
  function automatic rdma_sq_req_reg_t rdma_sq_req_reg_of(input logic [255:0] fields);
    rdma_sq_req_reg_of.virt_addr = fields[0 +: 64];
    rdma_sq_req_reg_of.length = fields[64 +: 64];
    rdma_sq_req_reg_of.access_flags = fields[128 +: 32];
    rdma_sq_req_reg_of.reserved = fields[160 +: 32];
    rdma_sq_req_reg_of.key = fields[192 +: 32];
    rdma_sq_req_reg_of.page_shift = fields[224 +: 8];
    rdma_sq_req_reg_of.reserved1 = fields[232 +: 24];
  endfunction

  function automatic logic [127:0] rdma_page_pair_fields(input rdma_page_pair_t s);
    rdma_page_pair_fields[0 +: 64] = s.first;
    rdma_page_pair_fields[64 +: 64] = s.second;
  endfunction
  function automatic rdma_page_pair_t rdma_page_pair_of(input logic [127:0] fields);
    rdma_page_pair_of.first = fields[0 +: 64];
    rdma_page_pair_of.second = fields[64 +: 64];
  endfunction

  function automatic logic [255:0] rdma_sq_req_atomic_fields(input rdma_sq_req_atomic_t s);
    rdma_sq_req_atomic_fields[0 +: 64] = s.remote_addr;
    rdma_sq_req_atomic_fields[64 +: 64] = s.compare_add;
    rdma_sq_req_atomic_fields[128 +: 64] = s.swap;
    rdma_sq_req_atomic_fields[192 +: 32] = s.rkey;
    rdma_sq_req_atomic_fields[224 +: 32] = s.reserved;
  endfunction
  function automatic rdma_sq_req_atomic_t rdma_sq_req_atomic_of(input logic [255:0] fields);
    rdma_sq_req_atomic_of.remote_addr = fields[0 +: 64];
    rdma_sq_req_atomic_of.compare_add = fields[64 +: 64];
    rdma_sq_req_atomic_of.swap = fields[128 +: 64];
    rdma_sq_req_atomic_of.rkey = fields[192 +: 32];
    rdma_sq_req_atomic_of.reserved = fields[224 +: 32];
  endfunction

  function automatic logic [255:0] rdma_sq_req_ud_fields(input rdma_sq_req_ud_t s);
    rdma_sq_req_ud_fields[0 +: 32] = s.remote_qpn;
    rdma_sq_req_ud_fields[32 +: 32] = s.remote_qkey;
    rdma_sq_req_ud_fields[64 +: 32] = s.ah;
    rdma_sq_req_ud_fields[96 +: 160] = s.reserved;
  endfunction
  function automatic rdma_sq_req_ud_t rdma_sq_req_ud_of(input logic [255:0] fields);
    rdma_sq_req_ud_of.remote_qpn = fields[0 +: 32];
    rdma_sq_req_ud_of.remote_qkey = fields[32 +: 32];
    rdma_sq_req_ud_of.ah = fields[64 +: 32];
    rdma_sq_req_ud_of.reserved = fields[96 +: 160];
  endfunction

  function automatic logic [31:0] rdma_sq_req_num_sge_fields(input rdma_sq_req_num_sge_t s);
    rdma_sq_req_num_sge_fields[0 +: 32] = s.num_sge;
  endfunction
  function automatic rdma_sq_req_num_sge_t rdma_sq_req_num_sge_of(input logic [31:0] fields);
    rdma_sq_req_num_sge_of.num_sge = fields[0 +: 32];
  endfunction

  function automatic logic [31:0] rdma_sq_req_inline_len_fields(input rdma_sq_req_inline_len_t s);
    rdma_sq_req_inline_len_fields[0 +: 16] = s.inline_len;
    rdma_sq_req_inline_len_fields[16 +: 16] = s.reserved;
  endfunction
  function automatic rdma_sq_req_inline_len_t rdma_sq_req_inline_len_of(input logic [31:0] fields);
    rdma_sq_req_inline_len_of.inline_len = fields[0 +: 16];
    rdma_sq_req_inline_len_of.reserved = fields[16 +: 16];
  endfunction

  function automatic logic [4607:0] rdma_sq_req_fields(input rdma_sq_req_t s);
    rdma_sq_req_fields[0 +: 64] = s.wr_id;
    rdma_sq_req_fields[64 +: 8] = s.opcode;
    rdma_sq_req_fields[72 +: 8] = s.send_flags;
    rdma_sq_req_fields[80 +: 16] = s.reserved;
    rdma_sq_req_fields[96 +: 32] = s.imm_data;
    rdma_sq_req_fields[128 +: 256] = s.wr;
    rdma_sq_req_fields[384 +: 4096] = s.inline_data;
    rdma_sq_req_fields[4480 +: 32] = s.size;
    rdma_sq_req_fields[4512 +: 96] = s.reserved1;
  endfunction
  function automatic rdma_sq_req_t rdma_sq_req_of(input logic [4607:0] fields);
    rdma_sq_req_of.wr_id = fields[0 +: 64];
    rdma_sq_req_of.opcode = fields[64 +: 8];
    rdma_sq_req_of.send_flags = fields[72 +: 8];
    rdma_sq_req_of.reserved = fields[80 +: 16];
    rdma_sq_req_of.imm_data = fields[96 +: 32];
    rdma_sq_req_of.wr = fields[128 +: 256];
    rdma_sq_req_of.inline_data = fields[384 +: 4096];
    rdma_sq_req_of.size = fields[4480 +: 32];
    rdma_sq_req_of.reserved1 = fields[4512 +: 96];
  endfunction

  function automatic logic [127:0] rdma_sq_base_fields(input rdma_sq_base_t s);
    rdma_sq_base_fields[0 +: 64] = s.wr_id;
    rdma_sq_base_fields[64 +: 8] = s.opcode;
    rdma_sq_base_fields[72 +: 8] = s.send_flags;
    rdma_sq_base_fields[80 +: 8] = s.version;
    rdma_sq_base_fields[88 +: 8] = s.elements;
    rdma_sq_base_fields[96 +: 32] = s.imm_data;
  endfunction
  function automatic rdma_sq_base_t rdma_sq_base_of(input logic [127:0] fields);
    rdma_sq_base_of.wr_id = fields[0 +: 64];
    rdma_sq_base_of.opcode = fields[64 +: 8];
    rdma_sq_base_of.send_flags = fields[72 +: 8];
    rdma_sq_base_of.version = fields[80 +: 8];
    rdma_sq_base_of.elements = fields[88 +: 8];
    rdma_sq_base_of.imm_data = fields[96 +: 32];
  endfunction

  function automatic logic [63:0] rdma_push_fields(input rdma_push_t s);
    rdma_push_fields[0 +: 16] = s.position;
    rdma_push_fields[16 +: 16] = s.head;
    rdma_push_fields[32 +: 16] = s.length;
    rdma_push_fields[48 +: 16] = s.reserved;
  endfunction
  function automatic rdma_push_t rdma_push_of(input logic [63:0] fields);
    rdma_push_of.position = fields[0 +: 16];
    rdma_push_of.head = fields[16 +: 16];
    rdma_push_of.length = fields[32 +: 16];
    rdma_push_of.reserved = fields[48 +: 16];
  endfunction

  function automatic logic [127:0] rdma_sq_rdma_fields(input rdma_sq_rdma_t s);
    rdma_sq_rdma_fields[0 +: 64] = s.remote_addr;
    rdma_sq_rdma_fields[64 +: 32] = s.rkey;
    rdma_sq_rdma_fields[96 +: 32] = s.reserved;
  endfunction
  function automatic rdma_sq_rdma_t rdma_sq_rdma_of(input logic [127:0] fields);
    rdma_sq_rdma_of.remote_addr = fields[0 +: 64];
    rdma_sq_rdma_of.rkey = fields[64 +: 32];
    rdma_sq_rdma_of.reserved = fields[96 +: 32];
  endfunction

  function automatic logic [127:0] rdma_sq_ud_fields(input rdma_sq_ud_t s);
    rdma_sq_ud_fields[0 +: 32] = s.remote_qpn;
    rdma_sq_ud_fields[32 +: 32] = s.remote_qkey;
    rdma_sq_ud_fields[64 +: 32] = s.ah;
    rdma_sq_ud_fields[96 +: 32] = s.reserved;
  endfunction
  function automatic rdma_sq_ud_t rdma_sq_ud_of(input logic [127:0] fields);
    rdma_sq_ud_of.remote_qpn = fields[0 +: 32];
    rdma_sq_ud_of.remote_qkey = fields[32 +: 32];
    rdma_sq_ud_of.ah = fields[64 +: 32];
    rdma_sq_ud_of.reserved = fields[96 +: 32];
  endfunction

  function automatic logic [127:0] rdma_sq_atomic_fields(input rdma_sq_atomic_t s);
    rdma_sq_atomic_fields[0 +: 64] = s.compare_add;
    rdma_sq_atomic_fields[64 +: 64] = s.swap;
  endfunction
  function automatic rdma_sq_atomic_t rdma_sq_atomic_of(input logic [127:0] fields);
    rdma_sq_atomic_of.compare_add = fields[0 +: 64];
    rdma_sq_atomic_of.swap = fields[64 +: 64];
  endfunction

  function automatic logic [127:0] rdma_sq_flush_fields(input rdma_sq_flush_t s);
    rdma_sq_flush_fields[0 +: 32] = s.length;
    rdma_sq_flush_fields[32 +: 8] = s.placement;
    rdma_sq_flush_fields[40 +: 8] = s.selectivity;
    rdma_sq_flush_fields[48 +: 16] = s.reserved;
    rdma_sq_flush_fields[64 +: 64] = s.reserved1;
  endfunction
  function automatic rdma_sq_flush_t rdma_sq_flush_of(input logic [127:0] fields);
    rdma_sq_flush_of.length = fields[0 +: 32];
    rdma_sq_flush_of.placement = fields[32 +: 8];
    rdma_sq_flush_of.selectivity = fields[40 +: 8];
    rdma_sq_flush_of.reserved = fields[48 +: 16];
    rdma_sq_flush_of.reserved1 = fields[64 +: 64];
  endfunction

  function automatic logic [127:0] rdma_sq_bind_fields(input rdma_sq_bind_t s);
    rdma_sq_bind_fields[0 +: 64] = s.addr;
    rdma_sq_bind_fields[64 +: 32] = s.rkey;
    rdma_sq_bind_fields[96 +: 32] = s.lkey;
  endfunction
  function automatic rdma_sq_bind_t rdma_sq_bind_of(input logic [127:0] fields);
    rdma_sq_bind_of.addr = fields[0 +: 64];
    rdma_sq_bind_of.rkey = fields[64 +: 32];
    rdma_sq_bind_of.lkey = fields[96 +: 32];
  endfunction

  function automatic logic [127:0] rdma_sq_reg_fields(input rdma_sq_reg_t s);
    rdma_sq_reg_fields[0 +: 64] = s.virt_addr;
    rdma_sq_reg_fields[64 +: 32] = s.key;
    rdma_sq_reg_fields[96 +: 8] = s.page_shift;
    rdma_sq_reg_fields[104 +: 24] = s.reserved;
  endfunction
  function automatic rdma_sq_reg_t rdma_sq_reg_of(input logic [127:0] fields);
    rdma_sq_reg_of.virt_addr = fields[0 +: 64];
    rdma_sq_reg_of.key = fields[64 +: 32];
    rdma_sq_reg_of.page_shift = fields[96 +: 8];
    rdma_sq_reg_of.reserved = fields[104 +: 24];
  endfunction

  function automatic logic [127:0] rdma_sq_bind_range_fields(input rdma_sq_bind_range_t s);
    rdma_sq_bind_range_fields[0 +: 64] = s.length;
    rdma_sq_bind_range_fields[64 +: 32] = s.access_flags;
    rdma_sq_bind_range_fields[96 +: 32] = s.reserved;
  endfunction
  function automatic rdma_sq_bind_range_t rdma_sq_bind_range_of(input logic [127:0] fields);
    rdma_sq_bind_range_of.length = fields[0 +: 64];
    rdma_sq_bind_range_of.access_flags = fields[64 +: 32];
    rdma_sq_bind_range_of.reserved = fields[96 +: 32];
  endfunction

  function automatic logic [191:0] rdma_rq_req_fields(input rdma_rq_req_t s);
    rdma_rq_req_fields[0 +: 64] = s.wr_id;
    rdma_rq_req_fields[64 +: 32] = s.num_sge;
    rdma_rq_req_fields[96 +: 96] = s.reserved;
  endfunction
  function automatic rdma_rq_req_t rdma_rq_req_of(input logic [191:0] fields);
    rdma_rq_req_of.wr_id = fields[0 +: 64];
    rdma_rq_req_of.num_sge = fields[64 +: 32];
    rdma_rq_req_of.reserved = fields[96 +: 96];
  endfunction

  function automatic logic [383:0] rdma_cq_req_fields(input rdma_cq_req_t s);
    rdma_cq_req_fields[0 +: 64] = s.wr_id;
    rdma_cq_req_fields[64 +: 8] = s.status;
    rdma_cq_req_fields[72 +: 8] = s.opcode;
    rdma_cq_req_fields[80 +: 16] = s.reserved;
    rdma_cq_req_fields[96 +: 32] = s.vendor_err;
    rdma_cq_req_fields[128 +: 32] = s.byte_len;
    rdma_cq_req_fields[160 +: 32] = s.imm_data;
    rdma_cq_req_fields[192 +: 32] = s.qp_num;
    rdma_cq_req_fields[224 +: 32] = s.src_qp;
    rdma_cq_req_fields[256 +: 32] = s.wc_flags;
    rdma_cq_req_fields[288 +: 96] = s.reserved1;
  endfunction
  function automatic rdma_cq_req_t rdma_cq_req_of(input logic [383:0] fields);
    rdma_cq_req_of.wr_id = fields[0 +: 64];
    rdma_cq_req_of.status = fields[64 +: 8];
    rdma_cq_req_of.opcode = fields[72 +: 8];
    rdma_cq_req_of.reserved = fields[80 +: 16];
    rdma_cq_req_of.vendor_err = fields[96 +: 32];
    rdma_cq_req_of.byte_len = fields[128 +: 32];
    rdma_cq_req_of.imm_data = fields[160 +: 32];
    rdma_cq_req_of.qp_num = fields[192 +: 32];
    rdma_cq_req_of.src_qp = fields[224 +: 32];
    rdma_cq_req_of.wc_flags = fields[256 +: 32];
    rdma_cq_req_of.reserved1 = fields[288 +: 96];
  endfunction

  function automatic logic [319:0] rdma_cq_base_fields(input rdma_cq_base_t s);
    rdma_cq_base_fields[0 +: 64] = s.wr_id;
    rdma_cq_base_fields[64 +: 8] = s.status;
    rdma_cq_base_fields[72 +: 8] = s.opcode;
    rdma_cq_base_fields[80 +: 8] = s.version;
    rdma_cq_base_fields[88 +: 8] = s.base_bytes;
    rdma_cq_base_fields[96 +: 32] = s.vendor_err;
    rdma_cq_base_fields[128 +: 32] = s.byte_len;
    rdma_cq_base_fields[160 +: 32] = s.imm_data;
    rdma_cq_base_fields[192 +: 32] = s.qp_num;
    rdma_cq_base_fields[224 +: 32] = s.src_qp;
    rdma_cq_base_fields[256 +: 32] = s.wc_flags;
    rdma_cq_base_fields[288 +: 32] = s.elements;
  endfunction
  function automatic rdma_cq_base_t rdma_cq_base_of(input logic [319:0] fields);
    rdma_cq_base_of.wr_id = fields[0 +: 64];
    rdma_cq_base_of.status = fields[64 +: 8];
    rdma_cq_base_of.opcode = fields[72 +: 8];
    rdma_cq_base_of.version = fields[80 +: 8];
    rdma_cq_base_of.base_bytes = fields[88 +: 8];
    rdma_cq_base_of.vendor_err = fields[96 +: 32];
    rdma_cq_base_of.byte_len = fields[128 +: 32];
    rdma_cq_base_of.imm_data = fields[160 +: 32];
    rdma_cq_base_of.qp_num = fields[192 +: 32];
    rdma_cq_base_of.src_qp = fields[224 +: 32];
    rdma_cq_base_of.wc_flags = fields[256 +: 32];
    rdma_cq_base_of.elements = fields[288 +: 32];
  endfunction

  function automatic logic [63:0] rdma_cq_timestamp_fields(input rdma_cq_timestamp_t s);
    rdma_cq_timestamp_fields[0 +: 64] = s.time_ns;
  endfunction
  function automatic rdma_cq_timestamp_t rdma_cq_timestamp_of(input logic [63:0] fields);
    rdma_cq_timestamp_of.time_ns = fields[0 +: 64];
  endfunction

  function automatic logic [511:0] table_virtqueue_fields(input table_virtqueue_t s);
    table_virtqueue_fields[0 +: 8] = s.kind;
    table_virtqueue_fields[8 +: 1] = s.stopped;
    table_virtqueue_fields[9 +: 1] = s.reset_positions;
    table_virtqueue_fields[10 +: 6] = s.reserved;
    table_virtqueue_fields[16 +: 16] = s.limit;
    table_virtqueue_fields[32 +: 24] = s.owner;
    table_virtqueue_fields[56 +: 8] = s.reserved1;
    table_virtqueue_fields[64 +: 32] = s.coal_max_packets;
    table_virtqueue_fields[96 +: 32] = s.coal_max_usecs;
    table_virtqueue_fields[128 +: 64] = s.guest_offloads;
    table_virtqueue_fields[192 +: 1] = s.enabled;
    table_virtqueue_fields[193 +: 1] = s.failed;
    table_virtqueue_fields[194 +: 1] = s.avail_wrap;
    table_virtqueue_fields[195 +: 1] = s.used_wrap;
    table_virtqueue_fields[196 +: 4] = s.reserved2;
    table_virtqueue_fields[200 +: 8] = s.reserved3;
    table_virtqueue_fields[208 +: 16] = s.queue_size;
    table_virtqueue_fields[224 +: 16] = s.msix_vector;
    table_virtqueue_fields[240 +: 16] = s.next_avail;
    table_virtqueue_fields[256 +: 16] = s.next_used;
    table_virtqueue_fields[272 +: 16] = s.reserved4;
    table_virtqueue_fields[288 +: 32] = s.reserved5;
    table_virtqueue_fields[320 +: 64] = s.queue_desc;
    table_virtqueue_fields[384 +: 64] = s.queue_driver;
    table_virtqueue_fields[448 +: 64] = s.queue_device;
  endfunction
  function automatic table_virtqueue_t table_virtqueue_of(input logic [511:0] fields);
    table_virtqueue_of.kind = fields[0 +: 8];
    table_virtqueue_of.stopped = fields[8 +: 1];
    table_virtqueue_of.reset_positions = fields[9 +: 1];
    table_virtqueue_of.reserved = fields[10 +: 6];
    table_virtqueue_of.limit = fields[16 +: 16];
    table_virtqueue_of.owner = fields[32 +: 24];
    table_virtqueue_of.reserved1 = fields[56 +: 8];
    table_virtqueue_of.coal_max_packets = fields[64 +: 32];
    table_virtqueue_of.coal_max_usecs = fields[96 +: 32];
    table_virtqueue_of.guest_offloads = fields[128 +: 64];
    table_virtqueue_of.enabled = fields[192 +: 1];
    table_virtqueue_of.failed = fields[193 +: 1];
    table_virtqueue_of.avail_wrap = fields[194 +: 1];
    table_virtqueue_of.used_wrap = fields[195 +: 1];
    table_virtqueue_of.reserved2 = fields[196 +: 4];
    table_virtqueue_of.reserved3 = fields[200 +: 8];
    table_virtqueue_of.queue_size = fields[208 +: 16];
    table_virtqueue_of.msix_vector = fields[224 +: 16];
    table_virtqueue_of.next_avail = fields[240 +: 16];
    table_virtqueue_of.next_used = fields[256 +: 16];
    table_virtqueue_of.reserved4 = fields[272 +: 16];
    table_virtqueue_of.reserved5 = fields[288 +: 32];
    table_virtqueue_of.queue_desc = fields[320 +: 64];
    table_virtqueue_of.queue_driver = fields[384 +: 64];
    table_virtqueue_of.queue_device = fields[448 +: 64];
  endfunction

  function automatic logic [191:0] table_window_fields(input table_window_t s);
    table_window_fields[0 +: 1] = s.enable;
    table_window_fields[1 +: 7] = s.reserved;
    table_window_fields[8 +: 56] = s.reserved1;
    table_window_fields[64 +: 64] = s.base;
    table_window_fields[128 +: 64] = s.last;
  endfunction
  function automatic table_window_t table_window_of(input logic [191:0] fields);
    table_window_of.enable = fields[0 +: 1];
    table_window_of.reserved = fields[1 +: 7];
    table_window_of.reserved1 = fields[8 +: 56];
    table_window_of.base = fields[64 +: 64];
    table_window_of.last = fields[128 +: 64];
  endfunction

  function automatic logic [383:0] table_path_fields(input table_path_t s);
    table_path_fields[0 +: 128] = s.dgid;
    table_path_fields[128 +: 128] = s.sgid;
    table_path_fields[256 +: 48] = s.dmac;
    table_path_fields[304 +: 16] = s.vlan;
    table_path_fields[320 +: 20] = s.flow_label;
    table_path_fields[340 +: 1] = s.ipv4;
    table_path_fields[341 +: 1] = s.vlan_present;
    table_path_fields[342 +: 2] = s.reserved;
    table_path_fields[344 +: 8] = s.traffic_class;
    table_path_fields[352 +: 8] = s.hop_limit;
    table_path_fields[360 +: 8] = s.sgid_index;
    table_path_fields[368 +: 16] = s.reserved1;
  endfunction
  function automatic table_path_t table_path_of(input logic [383:0] fields);
    table_path_of.dgid = fields[0 +: 128];
    table_path_of.sgid = fields[128 +: 128];
    table_path_of.dmac = fields[256 +: 48];
    table_path_of.vlan = fields[304 +: 16];
    table_path_of.flow_label = fields[320 +: 20];
    table_path_of.ipv4 = fields[340 +: 1];
    table_path_of.vlan_present = fields[341 +: 1];
    table_path_of.reserved = fields[342 +: 2];
    table_path_of.traffic_class = fields[344 +: 8];
    table_path_of.hop_limit = fields[352 +: 8];
    table_path_of.sgid_index = fields[360 +: 8];
    table_path_of.reserved1 = fields[368 +: 16];
  endfunction

  function automatic logic [1023:0] table_qp_context_fields(input table_qp_context_t s);
    table_qp_context_fields[0 +: 8] = s.state;
    table_qp_context_fields[8 +: 8] = s.qp_type;
    table_qp_context_fields[16 +: 8] = s.path_mtu;
    table_qp_context_fields[24 +: 1] = s.valid;
    table_qp_context_fields[25 +: 1] = s.sq_sig_all;
    table_qp_context_fields[26 +: 1] = s.load_requester;
    table_qp_context_fields[27 +: 1] = s.load_responder;
    table_qp_context_fields[28 +: 1] = s.remote_write;
    table_qp_context_fields[29 +: 1] = s.remote_read;
    table_qp_context_fields[30 +: 1] = s.local_write;
    table_qp_context_fields[31 +: 1] = s.remote_atomic;
    table_qp_context_fields[32 +: 8] = s.max_rd_atomic;
    table_qp_context_fields[40 +: 8] = s.max_dest_rd_atomic;
    table_qp_context_fields[48 +: 5] = s.min_rnr_timer;
    table_qp_context_fields[53 +: 3] = s.retry_cnt;
    table_qp_context_fields[56 +: 5] = s.timeout;
    table_qp_context_fields[61 +: 3] = s.rnr_retry;
    table_qp_context_fields[64 +: 16] = s.pdn;
    table_qp_context_fields[80 +: 16] = s.send_cqn;
    table_qp_context_fields[96 +: 16] = s.recv_cqn;
    table_qp_context_fields[112 +: 16] = s.max_inline_data;
    table_qp_context_fields[128 +: 32] = s.qkey;
    table_qp_context_fields[160 +: 24] = s.dest_qpn;
    table_qp_context_fields[184 +: 8] = s.max_send_sge;
    table_qp_context_fields[192 +: 16] = s.max_send_wr;
    table_qp_context_fields[208 +: 16] = s.max_recv_wr;
    table_qp_context_fields[224 +: 8] = s.max_recv_sge;
    table_qp_context_fields[232 +: 16] = s.srq;
    table_qp_context_fields[248 +: 1] = s.has_srq;
    table_qp_context_fields[249 +: 1] = s.is_srq;
    table_qp_context_fields[250 +: 1] = s.limit_armed;
    table_qp_context_fields[251 +: 1] = s.flush_global;
    table_qp_context_fields[252 +: 1] = s.flush_persistent;
    table_qp_context_fields[253 +: 3] = s.reserved1;
    table_qp_context_fields[256 +: 384] = s.path;
    table_qp_context_fields[640 +: 8] = s.engine_state;
    table_qp_context_fields[648 +: 8] = s.reserved2;
    table_qp_context_fields[656 +: 16] = s.send_outstanding;
    table_qp_context_fields[672 +: 24] = s.next_psn;
    table_qp_context_fields[696 +: 3] = s.retries_left;
    table_qp_context_fields[699 +: 3] = s.rnr_retries_left;
    table_qp_context_fields[702 +: 1] = s.timer_running;
    table_qp_context_fields[703 +: 1] = s.timer_is_rnr;
    table_qp_context_fields[704 +: 24] = s.unacked_psn;
    table_qp_context_fields[728 +: 8] = s.reads_outstanding;
    table_qp_context_fields[736 +: 24] = s.messages_sent;
    table_qp_context_fields[760 +: 8] = s.reserved3;
    table_qp_context_fields[768 +: 24] = s.credit_limit;
    table_qp_context_fields[792 +: 8] = s.reserved4;
    table_qp_context_fields[800 +: 64] = s.deadline_ns;
    table_qp_context_fields[864 +: 24] = s.expected_psn;
    table_qp_context_fields[888 +: 8] = s.reads_held;
    table_qp_context_fields[896 +: 24] = s.msn;
    table_qp_context_fields[920 +: 1] = s.in_message;
    table_qp_context_fields[921 +: 1] = s.receive_taken;
    table_qp_context_fields[922 +: 1] = s.nak_sent;
    table_qp_context_fields[923 +: 1] = s.ack_due;
    table_qp_context_fields[924 +: 1] = s.communication_established;
    table_qp_context_fields[925 +: 3] = s.reserved5;
    table_qp_context_fields[928 +: 96] = s.reserved6;
  endfunction
  function automatic table_qp_context_t table_qp_context_of(input logic [1023:0] fields);
    table_qp_context_of.state = fields[0 +: 8];
    table_qp_context_of.qp_type = fields[8 +: 8];
    table_qp_context_of.path_mtu = fields[16 +: 8];
    table_qp_context_of.valid = fields[24 +: 1];
    table_qp_context_of.sq_sig_all = fields[25 +: 1];
    table_qp_context_of.load_requester = fields[26 +: 1];
    table_qp_context_of.load_responder = fields[27 +: 1];
    table_qp_context_of.remote_write = fields[28 +: 1];
    table_qp_context_of.remote_read = fields[29 +: 1];
    table_qp_context_of.local_write = fields[30 +: 1];
    table_qp_context_of.remote_atomic = fields[31 +: 1];
    table_qp_context_of.max_rd_atomic = fields[32 +: 8];
    table_qp_context_of.max_dest_rd_atomic = fields[40 +: 8];
    table_qp_context_of.min_rnr_timer = fields[48 +: 5];
    table_qp_context_of.retry_cnt = fields[53 +: 3];
    table_qp_context_of.timeout = fields[56 +: 5];
    table_qp_context_of.rnr_retry = fields[61 +: 3];
    table_qp_context_of.pdn = fields[64 +: 16];
    table_qp_context_of.send_cqn = fields[80 +: 16];
    table_qp_context_of.recv_cqn = fields[96 +: 16];
    table_qp_context_of.max_inline_data = fields[112 +: 16];
    table_qp_context_of.qkey = fields[128 +: 32];
    table_qp_context_of.dest_qpn = fields[160 +: 24];
    table_qp_context_of.max_send_sge = fields[184 +: 8];
    table_qp_context_of.max_send_wr = fields[192 +: 16];
    table_qp_context_of.max_recv_wr = fields[208 +: 16];
    table_qp_context_of.max_recv_sge = fields[224 +: 8];
    table_qp_context_of.srq = fields[232 +: 16];
    table_qp_context_of.has_srq = fields[248 +: 1];
    table_qp_context_of.is_srq = fields[249 +: 1];
    table_qp_context_of.limit_armed = fields[250 +: 1];
    table_qp_context_of.flush_global = fields[251 +: 1];
    table_qp_context_of.flush_persistent = fields[252 +: 1];
    table_qp_context_of.reserved1 = fields[253 +: 3];
    table_qp_context_of.path = fields[256 +: 384];
    table_qp_context_of.engine_state = fields[640 +: 8];
    table_qp_context_of.reserved2 = fields[648 +: 8];
    table_qp_context_of.send_outstanding = fields[656 +: 16];
    table_qp_context_of.next_psn = fields[672 +: 24];
    table_qp_context_of.retries_left = fields[696 +: 3];
    table_qp_context_of.rnr_retries_left = fields[699 +: 3];
    table_qp_context_of.timer_running = fields[702 +: 1];
    table_qp_context_of.timer_is_rnr = fields[703 +: 1];
    table_qp_context_of.unacked_psn = fields[704 +: 24];
    table_qp_context_of.reads_outstanding = fields[728 +: 8];
    table_qp_context_of.messages_sent = fields[736 +: 24];
    table_qp_context_of.reserved3 = fields[760 +: 8];
    table_qp_context_of.credit_limit = fields[768 +: 24];
    table_qp_context_of.reserved4 = fields[792 +: 8];
    table_qp_context_of.deadline_ns = fields[800 +: 64];
    table_qp_context_of.expected_psn = fields[864 +: 24];
    table_qp_context_of.reads_held = fields[888 +: 8];
    table_qp_context_of.msn = fields[896 +: 24];
    table_qp_context_of.in_message = fields[920 +: 1];
    table_qp_context_of.receive_taken = fields[921 +: 1];
    table_qp_context_of.nak_sent = fields[922 +: 1];
    table_qp_context_of.ack_due = fields[923 +: 1];
    table_qp_context_of.communication_established = fields[924 +: 1];
    table_qp_context_of.reserved5 = fields[925 +: 3];
    table_qp_context_of.reserved6 = fields[928 +: 96];
  endfunction

  function automatic logic [127:0] table_cq_context_fields(input table_cq_context_t s);
    table_cq_context_fields[0 +: 1] = s.valid;
    table_cq_context_fields[1 +: 1] = s.set_solicited;
    table_cq_context_fields[2 +: 1] = s.set_next_completion;
    table_cq_context_fields[3 +: 1] = s.set_failed;
    table_cq_context_fields[4 +: 4] = s.reserved;
    table_cq_context_fields[8 +: 8] = s.elements;
    table_cq_context_fields[16 +: 16] = s.vq_index;
    table_cq_context_fields[32 +: 32] = s.cqe;
    table_cq_context_fields[64 +: 1] = s.armed_solicited;
    table_cq_context_fields[65 +: 1] = s.armed_next_completion;
    table_cq_context_fields[66 +: 1] = s.failed;
    table_cq_context_fields[67 +: 5] = s.reserved1;
    table_cq_context_fields[72 +: 56] = s.reserved2;
  endfunction
  function automatic table_cq_context_t table_cq_context_of(input logic [127:0] fields);
    table_cq_context_of.valid = fields[0 +: 1];
    table_cq_context_of.set_solicited = fields[1 +: 1];
    table_cq_context_of.set_next_completion = fields[2 +: 1];
    table_cq_context_of.set_failed = fields[3 +: 1];
    table_cq_context_of.reserved = fields[4 +: 4];
    table_cq_context_of.elements = fields[8 +: 8];
    table_cq_context_of.vq_index = fields[16 +: 16];
    table_cq_context_of.cqe = fields[32 +: 32];
    table_cq_context_of.armed_solicited = fields[64 +: 1];
    table_cq_context_of.armed_next_completion = fields[65 +: 1];
    table_cq_context_of.failed = fields[66 +: 1];
    table_cq_context_of.reserved1 = fields[67 +: 5];
    table_cq_context_of.reserved2 = fields[72 +: 56];
  endfunction

  function automatic logic [319:0] table_mr_fields(input table_mr_t s);
    table_mr_fields[0 +: 1] = s.valid;
    table_mr_fields[1 +: 1] = s.dma;
    table_mr_fields[2 +: 1] = s.local_write;
    table_mr_fields[3 +: 1] = s.remote_write;
    table_mr_fields[4 +: 1] = s.remote_read;
    table_mr_fields[5 +: 1] = s.remote_atomic;
    table_mr_fields[6 +: 1] = s.invalidatable;
    table_mr_fields[7 +: 1] = s.reserved;
    table_mr_fields[8 +: 8] = s.key;
    table_mr_fields[16 +: 8] = s.page_shift;
    table_mr_fields[24 +: 1] = s.flush_global;
    table_mr_fields[25 +: 1] = s.flush_persistent;
    table_mr_fields[26 +: 1] = s.is_pmem;
    table_mr_fields[27 +: 1] = s.mw_bind;
    table_mr_fields[28 +: 1] = s.is_window;
    table_mr_fields[29 +: 1] = s.is_type_2;
    table_mr_fields[30 +: 1] = s.is_fast;
    table_mr_fields[31 +: 1] = s.reserved1;
    table_mr_fields[32 +: 32] = s.npages;
    table_mr_fields[64 +: 32] = s.first_translation;
    table_mr_fields[96 +: 16] = s.pdn;
    table_mr_fields[112 +: 16] = s.reserved2;
    table_mr_fields[128 +: 64] = s.virt_addr;
    table_mr_fields[192 +: 64] = s.length;
    table_mr_fields[256 +: 1] = s.is_bound;
    table_mr_fields[257 +: 1] = s.is_alive;
    table_mr_fields[258 +: 6] = s.reserved3;
    table_mr_fields[264 +: 24] = s.bound_to;
    table_mr_fields[288 +: 24] = s.bound_by;
    table_mr_fields[312 +: 8] = s.device_key;
  endfunction
  function automatic table_mr_t table_mr_of(input logic [319:0] fields);
    table_mr_of.valid = fields[0 +: 1];
    table_mr_of.dma = fields[1 +: 1];
    table_mr_of.local_write = fields[2 +: 1];
    table_mr_of.remote_write = fields[3 +: 1];
    table_mr_of.remote_read = fields[4 +: 1];
    table_mr_of.remote_atomic = fields[5 +: 1];
    table_mr_of.invalidatable = fields[6 +: 1];
    table_mr_of.reserved = fields[7 +: 1];
    table_mr_of.key = fields[8 +: 8];
    table_mr_of.page_shift = fields[16 +: 8];
    table_mr_of.flush_global = fields[24 +: 1];
    table_mr_of.flush_persistent = fields[25 +: 1];
    table_mr_of.is_pmem = fields[26 +: 1];
    table_mr_of.mw_bind = fields[27 +: 1];
    table_mr_of.is_window = fields[28 +: 1];
    table_mr_of.is_type_2 = fields[29 +: 1];
    table_mr_of.is_fast = fields[30 +: 1];
    table_mr_of.reserved1 = fields[31 +: 1];
    table_mr_of.npages = fields[32 +: 32];
    table_mr_of.first_translation = fields[64 +: 32];
    table_mr_of.pdn = fields[96 +: 16];
    table_mr_of.reserved2 = fields[112 +: 16];
    table_mr_of.virt_addr = fields[128 +: 64];
    table_mr_of.length = fields[192 +: 64];
    table_mr_of.is_bound = fields[256 +: 1];
    table_mr_of.is_alive = fields[257 +: 1];
    table_mr_of.reserved3 = fields[258 +: 6];
    table_mr_of.bound_to = fields[264 +: 24];
    table_mr_of.bound_by = fields[288 +: 24];
    table_mr_of.device_key = fields[312 +: 8];
  endfunction

  function automatic logic [31:0] rdma_key_fields(input rdma_key_t s);
    rdma_key_fields[0 +: 8] = s.key;
    rdma_key_fields[8 +: 24] = s.index;
  endfunction
  function automatic rdma_key_t rdma_key_of(input logic [31:0] fields);
    rdma_key_of.key = fields[0 +: 8];
    rdma_key_of.index = fields[8 +: 24];
  endfunction

  function automatic logic [63:0] table_translation_fields(input table_translation_t s);
    table_translation_fields[0 +: 64] = s.address;
  endfunction
  function automatic table_translation_t table_translation_of(input logic [63:0] fields);
    table_translation_of.address = fields[0 +: 64];
  endfunction

  function automatic logic [447:0] table_ah_fields(input table_ah_t s);
    table_ah_fields[0 +: 1] = s.valid;
    table_ah_fields[1 +: 7] = s.reserved;
    table_ah_fields[8 +: 8] = s.reserved1;
    table_ah_fields[16 +: 16] = s.pdn;
    table_ah_fields[32 +: 32] = s.reserved2;
    table_ah_fields[64 +: 384] = s.path;
  endfunction
  function automatic table_ah_t table_ah_of(input logic [447:0] fields);
    table_ah_of.valid = fields[0 +: 1];
    table_ah_of.reserved = fields[1 +: 7];
    table_ah_of.reserved1 = fields[8 +: 8];
    table_ah_of.pdn = fields[16 +: 16];
    table_ah_of.reserved2 = fields[32 +: 32];
    table_ah_of.path = fields[64 +: 384];
  endfunction

  function automatic logic [191:0] table_gid_fields(input table_gid_t s);
    table_gid_fields[0 +: 1] = s.valid;
    table_gid_fields[1 +: 1] = s.vlan_present;
    table_gid_fields[2 +: 1] = s.ipv4;
    table_gid_fields[3 +: 5] = s.reserved;
    table_gid_fields[8 +: 8] = s.reserved1;
    table_gid_fields[16 +: 16] = s.vlan;
    table_gid_fields[32 +: 32] = s.reserved2;
    table_gid_fields[64 +: 128] = s.gid;
  endfunction
  function automatic table_gid_t table_gid_of(input logic [191:0] fields);
    table_gid_of.valid = fields[0 +: 1];
    table_gid_of.vlan_present = fields[1 +: 1];
    table_gid_of.ipv4 = fields[2 +: 1];
    table_gid_of.reserved = fields[3 +: 5];
    table_gid_of.reserved1 = fields[8 +: 8];
    table_gid_of.vlan = fields[16 +: 16];
    table_gid_of.reserved2 = fields[32 +: 32];
    table_gid_of.gid = fields[64 +: 128];
  endfunction

  function automatic logic [191:0] table_mcast_fields(input table_mcast_t s);
    table_mcast_fields[0 +: 1] = s.valid;
    table_mcast_fields[1 +: 7] = s.reserved;
    table_mcast_fields[8 +: 24] = s.qpn;
    table_mcast_fields[32 +: 32] = s.reserved1;
    table_mcast_fields[64 +: 128] = s.mgid;
  endfunction
  function automatic table_mcast_t table_mcast_of(input logic [191:0] fields);
    table_mcast_of.valid = fields[0 +: 1];
    table_mcast_of.reserved = fields[1 +: 7];
    table_mcast_of.qpn = fields[8 +: 24];
    table_mcast_of.reserved1 = fields[32 +: 32];
    table_mcast_of.mgid = fields[64 +: 128];
  endfunction

  function automatic logic [63:0] table_mac_filter_fields(input table_mac_filter_t s);
    table_mac_filter_fields[0 +: 1] = s.valid;
    table_mac_filter_fields[1 +: 7] = s.reserved;
    table_mac_filter_fields[8 +: 8] = s.reserved1;
    table_mac_filter_fields[16 +: 48] = s.mac;
  endfunction
  function automatic table_mac_filter_t table_mac_filter_of(input logic [63:0] fields);
    table_mac_filter_of.valid = fields[0 +: 1];
    table_mac_filter_of.reserved = fields[1 +: 7];
    table_mac_filter_of.reserved1 = fields[8 +: 8];
    table_mac_filter_of.mac = fields[16 +: 48];
  endfunction

  function automatic logic [31:0] table_vlan_filter_fields(input table_vlan_filter_t s);
    table_vlan_filter_fields[0 +: 32] = s.members;
  endfunction
  function automatic table_vlan_filter_t table_vlan_filter_of(input logic [31:0] fields);
    table_vlan_filter_of.members = fields[0 +: 32];
  endfunction

  function automatic logic [447:0] table_rss_config_fields(input table_rss_config_t s);
    table_rss_config_fields[0 +: 1] = s.steer;
    table_rss_config_fields[1 +: 7] = s.reserved;
    table_rss_config_fields[8 +: 8] = s.unclassified_pair;
    table_rss_config_fields[16 +: 16] = s.indirection_table_mask;
    table_rss_config_fields[32 +: 32] = s.hash_types;
    table_rss_config_fields[64 +: 320] = s.hash_key_data;
    table_rss_config_fields[384 +: 8] = s.hash_key_length;
    table_rss_config_fields[392 +: 56] = s.reserved1;
  endfunction
  function automatic table_rss_config_t table_rss_config_of(input logic [447:0] fields);
    table_rss_config_of.steer = fields[0 +: 1];
    table_rss_config_of.reserved = fields[1 +: 7];
    table_rss_config_of.unclassified_pair = fields[8 +: 8];
    table_rss_config_of.indirection_table_mask = fields[16 +: 16];
    table_rss_config_of.hash_types = fields[32 +: 32];
    table_rss_config_of.hash_key_data = fields[64 +: 320];
    table_rss_config_of.hash_key_length = fields[384 +: 8];
    table_rss_config_of.reserved1 = fields[392 +: 56];
  endfunction

  function automatic logic [255:0] table_rss_fields(input table_rss_t s);
    table_rss_fields[0 +: 256] = s.pair;
  endfunction
  function automatic table_rss_t table_rss_of(input logic [255:0] fields);
    table_rss_of.pair = fields[0 +: 256];
  endfunction

  function automatic logic [511:0] virtio_pci_common_cfg_fields(input virtio_pci_common_cfg_t s);
    virtio_pci_common_cfg_fields[0 +: 32] = s.device_feature_select;
    virtio_pci_common_cfg_fields[32 +: 32] = s.device_feature;
    virtio_pci_common_cfg_fields[64 +: 32] = s.driver_feature_select;
    virtio_pci_common_cfg_fields[96 +: 32] = s.driver_feature;
    virtio_pci_common_cfg_fields[128 +: 16] = s.config_msix_vector;
    virtio_pci_common_cfg_fields[144 +: 16] = s.num_queues;
    virtio_pci_common_cfg_fields[160 +: 8] = s.device_status;
    virtio_pci_common_cfg_fields[168 +: 8] = s.config_generation;
    virtio_pci_common_cfg_fields[176 +: 16] = s.queue_select;
    virtio_pci_common_cfg_fields[192 +: 16] = s.queue_size;
    virtio_pci_common_cfg_fields[208 +: 16] = s.queue_msix_vector;
    virtio_pci_common_cfg_fields[224 +: 16] = s.queue_enable;
    virtio_pci_common_cfg_fields[240 +: 16] = s.queue_notify_off;
    virtio_pci_common_cfg_fields[256 +: 64] = s.queue_desc;
    virtio_pci_common_cfg_fields[320 +: 64] = s.queue_driver;
    virtio_pci_common_cfg_fields[384 +: 64] = s.queue_device;
    virtio_pci_common_cfg_fields[448 +: 16] = s.queue_notif_config_data;
    virtio_pci_common_cfg_fields[464 +: 16] = s.queue_reset;
    virtio_pci_common_cfg_fields[480 +: 16] = s.admin_queue_index;
    virtio_pci_common_cfg_fields[496 +: 16] = s.admin_queue_num;
  endfunction
  function automatic virtio_pci_common_cfg_t virtio_pci_common_cfg_of(input logic [511:0] fields);
    virtio_pci_common_cfg_of.device_feature_select = fields[0 +: 32];
    virtio_pci_common_cfg_of.device_feature = fields[32 +: 32];
    virtio_pci_common_cfg_of.driver_feature_select = fields[64 +: 32];
    virtio_pci_common_cfg_of.driver_feature = fields[96 +: 32];
    virtio_pci_common_cfg_of.config_msix_vector = fields[128 +: 16];
    virtio_pci_common_cfg_of.num_queues = fields[144 +: 16];
    virtio_pci_common_cfg_of.device_status = fields[160 +: 8];
    virtio_pci_common_cfg_of.config_generation = fields[168 +: 8];
    virtio_pci_common_cfg_of.queue_select = fields[176 +: 16];
    virtio_pci_common_cfg_of.queue_size = fields[192 +: 16];
    virtio_pci_common_cfg_of.queue_msix_vector = fields[208 +: 16];
    virtio_pci_common_cfg_of.queue_enable = fields[224 +: 16];
    virtio_pci_common_cfg_of.queue_notify_off = fields[240 +: 16];
    virtio_pci_common_cfg_of.queue_desc = fields[256 +: 64];
    virtio_pci_common_cfg_of.queue_driver = fields[320 +: 64];
    virtio_pci_common_cfg_of.queue_device = fields[384 +: 64];
    virtio_pci_common_cfg_of.queue_notif_config_data = fields[448 +: 16];
    virtio_pci_common_cfg_of.queue_reset = fields[464 +: 16];
    virtio_pci_common_cfg_of.admin_queue_index = fields[480 +: 16];
    virtio_pci_common_cfg_of.admin_queue_num = fields[496 +: 16];
  endfunction

  function automatic logic [127:0] virtq_desc_fields(input virtq_desc_t s);
    virtq_desc_fields[0 +: 64] = s.addr;
    virtq_desc_fields[64 +: 32] = s.len;
    virtq_desc_fields[96 +: 16] = s.flags;
    virtq_desc_fields[112 +: 16] = s.next;
  endfunction
  function automatic virtq_desc_t virtq_desc_of(input logic [127:0] fields);
    virtq_desc_of.addr = fields[0 +: 64];
    virtq_desc_of.len = fields[64 +: 32];
    virtq_desc_of.flags = fields[96 +: 16];
    virtq_desc_of.next = fields[112 +: 16];
  endfunction

  function automatic logic [31:0] virtq_avail_fields(input virtq_avail_t s);
    virtq_avail_fields[0 +: 16] = s.flags;
    virtq_avail_fields[16 +: 16] = s.idx;
  endfunction
  function automatic virtq_avail_t virtq_avail_of(input logic [31:0] fields);
    virtq_avail_of.flags = fields[0 +: 16];
    virtq_avail_of.idx = fields[16 +: 16];
  endfunction

  function automatic logic [15:0] virtq_used_event_fields(input virtq_used_event_t s);
    virtq_used_event_fields[0 +: 16] = s.used_event;
  endfunction
  function automatic virtq_used_event_t virtq_used_event_of(input logic [15:0] fields);
    virtq_used_event_of.used_event = fields[0 +: 16];
  endfunction

  function automatic logic [63:0] virtq_used_elem_fields(input virtq_used_elem_t s);
    virtq_used_elem_fields[0 +: 32] = s.id;
    virtq_used_elem_fields[32 +: 32] = s.len;
  endfunction
  function automatic virtq_used_elem_t virtq_used_elem_of(input logic [63:0] fields);
    virtq_used_elem_of.id = fields[0 +: 32];
    virtq_used_elem_of.len = fields[32 +: 32];
  endfunction

  function automatic logic [31:0] virtq_used_fields(input virtq_used_t s);
    virtq_used_fields[0 +: 16] = s.flags;
    virtq_used_fields[16 +: 16] = s.idx;
  endfunction
  function automatic virtq_used_t virtq_used_of(input logic [31:0] fields);
    virtq_used_of.flags = fields[0 +: 16];
    virtq_used_of.idx = fields[16 +: 16];
  endfunction

  function automatic logic [15:0] virtq_avail_event_fields(input virtq_avail_event_t s);
    virtq_avail_event_fields[0 +: 16] = s.avail_event;
  endfunction
  function automatic virtq_avail_event_t virtq_avail_event_of(input logic [15:0] fields);
    virtq_avail_event_of.avail_event = fields[0 +: 16];
  endfunction

  function automatic logic [127:0] pvirtq_desc_fields(input pvirtq_desc_t s);
    pvirtq_desc_fields[0 +: 64] = s.addr;
    pvirtq_desc_fields[64 +: 32] = s.len;
    pvirtq_desc_fields[96 +: 16] = s.id;
    pvirtq_desc_fields[112 +: 16] = s.flags;
  endfunction
  function automatic pvirtq_desc_t pvirtq_desc_of(input logic [127:0] fields);
    pvirtq_desc_of.addr = fields[0 +: 64];
    pvirtq_desc_of.len = fields[64 +: 32];
    pvirtq_desc_of.id = fields[96 +: 16];
    pvirtq_desc_of.flags = fields[112 +: 16];
  endfunction

  function automatic logic [31:0] pvirtq_event_suppress_fields(input pvirtq_event_suppress_t s);
    pvirtq_event_suppress_fields[0 +: 15] = s.desc_event_off;
    pvirtq_event_suppress_fields[15 +: 1] = s.desc_event_wrap;
    pvirtq_event_suppress_fields[16 +: 2] = s.desc_event_flags;
    pvirtq_event_suppress_fields[18 +: 14] = s.reserved;
  endfunction
  function automatic pvirtq_event_suppress_t pvirtq_event_suppress_of(input logic [31:0] fields);
    pvirtq_event_suppress_of.desc_event_off = fields[0 +: 15];
    pvirtq_event_suppress_of.desc_event_wrap = fields[15 +: 1];
    pvirtq_event_suppress_of.desc_event_flags = fields[16 +: 2];
    pvirtq_event_suppress_of.reserved = fields[18 +: 14];
  endfunction

  function automatic logic [15:0] virtq_notification_fields(input virtq_notification_t s);
    virtq_notification_fields[0 +: 16] = s.vq_index;
  endfunction
  function automatic virtq_notification_t virtq_notification_of(input logic [15:0] fields);
    virtq_notification_of.vq_index = fields[0 +: 16];
  endfunction

  function automatic logic [31:0] virtq_notification_data_fields(input virtq_notification_data_t s);
    virtq_notification_data_fields[0 +: 16] = s.vq_index;
    virtq_notification_data_fields[16 +: 16] = s.next_idx;
  endfunction
  function automatic virtq_notification_data_t virtq_notification_data_of(input logic [31:0] fields);
    virtq_notification_data_of.vq_index = fields[0 +: 16];
    virtq_notification_data_of.next_idx = fields[16 +: 16];
  endfunction

  function automatic logic [31:0] pvirtq_notification_data_fields(input pvirtq_notification_data_t s);
    pvirtq_notification_data_fields[0 +: 16] = s.vq_index;
    pvirtq_notification_data_fields[16 +: 15] = s.next_off;
    pvirtq_notification_data_fields[31 +: 1] = s.next_wrap;
  endfunction
  function automatic pvirtq_notification_data_t pvirtq_notification_data_of(input logic [31:0] fields);
    pvirtq_notification_data_of.vq_index = fields[0 +: 16];
    pvirtq_notification_data_of.next_off = fields[16 +: 15];
    pvirtq_notification_data_of.next_wrap = fields[31 +: 1];
  endfunction

  function automatic logic [111:0] ethernet_fields(input ethernet_t s);
    ethernet_fields[0 +: 48] = {<<8{s.destination}};
    ethernet_fields[48 +: 48] = {<<8{s.source}};
    ethernet_fields[96 +: 16] = s.ethertype;
  endfunction
  function automatic ethernet_t ethernet_of(input logic [111:0] fields);
    ethernet_of.destination = {<<8{fields[0 +: 48]}};
    ethernet_of.source = {<<8{fields[48 +: 48]}};
    ethernet_of.ethertype = fields[96 +: 16];
  endfunction

  function automatic logic [31:0] vlan_tag_fields(input vlan_tag_t s);
    vlan_tag_fields[0 +: 3] = s.pcp;
    vlan_tag_fields[3 +: 1] = s.dei;
    vlan_tag_fields[4 +: 12] = s.vid;
    vlan_tag_fields[16 +: 16] = s.ethertype;
  endfunction
  function automatic vlan_tag_t vlan_tag_of(input logic [31:0] fields);
    vlan_tag_of.pcp = fields[0 +: 3];
    vlan_tag_of.dei = fields[3 +: 1];
    vlan_tag_of.vid = fields[4 +: 12];
    vlan_tag_of.ethertype = fields[16 +: 16];
  endfunction

  function automatic logic [159:0] ipv4_fields(input ipv4_t s);
    ipv4_fields[0 +: 4] = s.version;
    ipv4_fields[4 +: 4] = s.ihl;
    ipv4_fields[8 +: 6] = s.dscp;
    ipv4_fields[14 +: 2] = s.ecn;
    ipv4_fields[16 +: 16] = s.total_length;
    ipv4_fields[32 +: 16] = s.identification;
    ipv4_fields[48 +: 1] = s.reserved;
    ipv4_fields[49 +: 1] = s.dont_fragment;
    ipv4_fields[50 +: 1] = s.more_fragments;
    ipv4_fields[51 +: 13] = s.fragment_offset;
    ipv4_fields[64 +: 8] = s.time_to_live;
    ipv4_fields[72 +: 8] = s.protocol;
    ipv4_fields[80 +: 16] = s.header_checksum;
    ipv4_fields[96 +: 32] = s.source;
    ipv4_fields[128 +: 32] = s.destination;
  endfunction
  function automatic ipv4_t ipv4_of(input logic [159:0] fields);
    ipv4_of.version = fields[0 +: 4];
    ipv4_of.ihl = fields[4 +: 4];
    ipv4_of.dscp = fields[8 +: 6];
    ipv4_of.ecn = fields[14 +: 2];
    ipv4_of.total_length = fields[16 +: 16];
    ipv4_of.identification = fields[32 +: 16];
    ipv4_of.reserved = fields[48 +: 1];
    ipv4_of.dont_fragment = fields[49 +: 1];
    ipv4_of.more_fragments = fields[50 +: 1];
    ipv4_of.fragment_offset = fields[51 +: 13];
    ipv4_of.time_to_live = fields[64 +: 8];
    ipv4_of.protocol = fields[72 +: 8];
    ipv4_of.header_checksum = fields[80 +: 16];
    ipv4_of.source = fields[96 +: 32];
    ipv4_of.destination = fields[128 +: 32];
  endfunction

  function automatic logic [319:0] ipv6_fields(input ipv6_t s);
    ipv6_fields[0 +: 4] = s.version;
    ipv6_fields[4 +: 6] = s.dscp;
    ipv6_fields[10 +: 2] = s.ecn;
    ipv6_fields[12 +: 20] = s.flow_label;
    ipv6_fields[32 +: 16] = s.payload_length;
    ipv6_fields[48 +: 8] = s.next_header;
    ipv6_fields[56 +: 8] = s.hop_limit;
    ipv6_fields[64 +: 128] = {<<8{s.source}};
    ipv6_fields[192 +: 128] = {<<8{s.destination}};
  endfunction
  function automatic ipv6_t ipv6_of(input logic [319:0] fields);
    ipv6_of.version = fields[0 +: 4];
    ipv6_of.dscp = fields[4 +: 6];
    ipv6_of.ecn = fields[10 +: 2];
    ipv6_of.flow_label = fields[12 +: 20];
    ipv6_of.payload_length = fields[32 +: 16];
    ipv6_of.next_header = fields[48 +: 8];
    ipv6_of.hop_limit = fields[56 +: 8];
    ipv6_of.source = {<<8{fields[64 +: 128]}};
    ipv6_of.destination = {<<8{fields[192 +: 128]}};
  endfunction

  function automatic logic [63:0] udp_fields(input udp_t s);
    udp_fields[0 +: 16] = s.source_port;
    udp_fields[16 +: 16] = s.destination_port;
    udp_fields[32 +: 16] = s.length;
    udp_fields[48 +: 16] = s.checksum;
  endfunction
  function automatic udp_t udp_of(input logic [63:0] fields);
    udp_of.source_port = fields[0 +: 16];
    udp_of.destination_port = fields[16 +: 16];
    udp_of.length = fields[32 +: 16];
    udp_of.checksum = fields[48 +: 16];
  endfunction

  function automatic logic [319:0] grh_fields(input grh_t s);
    grh_fields[0 +: 4] = s.ip_version;
    grh_fields[4 +: 8] = s.traffic_class;
    grh_fields[12 +: 20] = s.flow_label;
    grh_fields[32 +: 16] = s.payload_length;
    grh_fields[48 +: 8] = s.next_header;
    grh_fields[56 +: 8] = s.hop_limit;
    grh_fields[64 +: 128] = {<<8{s.sgid}};
    grh_fields[192 +: 128] = {<<8{s.dgid}};
  endfunction
  function automatic grh_t grh_of(input logic [319:0] fields);
    grh_of.ip_version = fields[0 +: 4];
    grh_of.traffic_class = fields[4 +: 8];
    grh_of.flow_label = fields[12 +: 20];
    grh_of.payload_length = fields[32 +: 16];
    grh_of.next_header = fields[48 +: 8];
    grh_of.hop_limit = fields[56 +: 8];
    grh_of.sgid = {<<8{fields[64 +: 128]}};
    grh_of.dgid = {<<8{fields[192 +: 128]}};
  endfunction

  function automatic logic [95:0] bth_fields(input bth_t s);
    bth_fields[0 +: 8] = s.opcode;
    bth_fields[8 +: 1] = s.solicited_event;
    bth_fields[9 +: 1] = s.mig_req;
    bth_fields[10 +: 2] = s.pad_count;
    bth_fields[12 +: 4] = s.transport_version;
    bth_fields[16 +: 16] = s.pkey;
    bth_fields[32 +: 1] = s.fecn;
    bth_fields[33 +: 1] = s.becn;
    bth_fields[34 +: 6] = s.reserved;
    bth_fields[40 +: 24] = s.dest_qp;
    bth_fields[64 +: 1] = s.ack_req;
    bth_fields[65 +: 7] = s.reserved1;
    bth_fields[72 +: 24] = s.psn;
  endfunction
  function automatic bth_t bth_of(input logic [95:0] fields);
    bth_of.opcode = fields[0 +: 8];
    bth_of.solicited_event = fields[8 +: 1];
    bth_of.mig_req = fields[9 +: 1];
    bth_of.pad_count = fields[10 +: 2];
    bth_of.transport_version = fields[12 +: 4];
    bth_of.pkey = fields[16 +: 16];
    bth_of.fecn = fields[32 +: 1];
    bth_of.becn = fields[33 +: 1];
    bth_of.reserved = fields[34 +: 6];
    bth_of.dest_qp = fields[40 +: 24];
    bth_of.ack_req = fields[64 +: 1];
    bth_of.reserved1 = fields[65 +: 7];
    bth_of.psn = fields[72 +: 24];
  endfunction

  function automatic logic [127:0] reth_fields(input reth_t s);
    reth_fields[0 +: 64] = s.virtual_address;
    reth_fields[64 +: 32] = s.rkey;
    reth_fields[96 +: 32] = s.dma_length;
  endfunction
  function automatic reth_t reth_of(input logic [127:0] fields);
    reth_of.virtual_address = fields[0 +: 64];
    reth_of.rkey = fields[64 +: 32];
    reth_of.dma_length = fields[96 +: 32];
  endfunction

  function automatic logic [31:0] aeth_fields(input aeth_t s);
    aeth_fields[0 +: 1] = s.reserved;
    aeth_fields[1 +: 2] = s.kind;
    aeth_fields[3 +: 5] = s.value;
    aeth_fields[8 +: 24] = s.msn;
  endfunction
  function automatic aeth_t aeth_of(input logic [31:0] fields);
    aeth_of.reserved = fields[0 +: 1];
    aeth_of.kind = fields[1 +: 2];
    aeth_of.value = fields[3 +: 5];
    aeth_of.msn = fields[8 +: 24];
  endfunction

  function automatic logic [63:0] deth_fields(input deth_t s);
    deth_fields[0 +: 32] = s.qkey;
    deth_fields[32 +: 8] = s.reserved;
    deth_fields[40 +: 24] = s.source_qp;
  endfunction
  function automatic deth_t deth_of(input logic [63:0] fields);
    deth_of.qkey = fields[0 +: 32];
    deth_of.reserved = fields[32 +: 8];
    deth_of.source_qp = fields[40 +: 24];
  endfunction

  function automatic logic [31:0] immdt_fields(input immdt_t s);
    immdt_fields[0 +: 32] = {<<8{s.immediate_data}};
  endfunction
  function automatic immdt_t immdt_of(input logic [31:0] fields);
    immdt_of.immediate_data = {<<8{fields[0 +: 32]}};
  endfunction

  function automatic logic [31:0] ieth_fields(input ieth_t s);
    ieth_fields[0 +: 32] = s.rkey;
  endfunction
  function automatic ieth_t ieth_of(input logic [31:0] fields);
    ieth_of.rkey = fields[0 +: 32];
  endfunction

  function automatic logic [223:0] atomic_eth_fields(input atomic_eth_t s);
    atomic_eth_fields[0 +: 64] = s.virtual_address;
    atomic_eth_fields[64 +: 32] = s.rkey;
    atomic_eth_fields[96 +: 64] = s.swap_add_data;
    atomic_eth_fields[160 +: 64] = s.compare_data;
  endfunction
  function automatic atomic_eth_t atomic_eth_of(input logic [223:0] fields);
    atomic_eth_of.virtual_address = fields[0 +: 64];
    atomic_eth_of.rkey = fields[64 +: 32];
    atomic_eth_of.swap_add_data = fields[96 +: 64];
    atomic_eth_of.compare_data = fields[160 +: 64];
  endfunction

  function automatic logic [63:0] atomic_ack_eth_fields(input atomic_ack_eth_t s);
    atomic_ack_eth_fields[0 +: 64] = s.original_data;
  endfunction
  function automatic atomic_ack_eth_t atomic_ack_eth_of(input logic [63:0] fields);
    atomic_ack_eth_of.original_data = fields[0 +: 64];
  endfunction

  function automatic logic [31:0] feth_fields(input feth_t s);
    feth_fields[0 +: 24] = s.reserved;
    feth_fields[24 +: 2] = s.reserved1;
    feth_fields[26 +: 2] = s.selectivity;
    feth_fields[28 +: 4] = s.placement;
  endfunction
  function automatic feth_t feth_of(input logic [31:0] fields);
    feth_of.reserved = fields[0 +: 24];
    feth_of.reserved1 = fields[24 +: 2];
    feth_of.selectivity = fields[26 +: 2];
    feth_of.placement = fields[28 +: 4];
  endfunction

  function automatic logic [31:0] mgmt_version_fields(input mgmt_version_t s);
    mgmt_version_fields[0 +: 16] = s.minor;
    mgmt_version_fields[16 +: 16] = s.major;
  endfunction
  function automatic mgmt_version_t mgmt_version_of(input logic [31:0] fields);
    mgmt_version_of.minor = fields[0 +: 16];
    mgmt_version_of.major = fields[16 +: 16];
  endfunction

  function automatic logic [31:0] mgmt_abi_profile_fields(input mgmt_abi_profile_t s);
    mgmt_abi_profile_fields[0 +: 1] = s.profile;
    mgmt_abi_profile_fields[1 +: 31] = s.reserved;
  endfunction
  function automatic mgmt_abi_profile_t mgmt_abi_profile_of(input logic [31:0] fields);
    mgmt_abi_profile_of.profile = fields[0 +: 1];
    mgmt_abi_profile_of.reserved = fields[1 +: 31];
  endfunction

  function automatic logic [31:0] mgmt_control_fields(input mgmt_control_t s);
    mgmt_control_fields[0 +: 1] = s.firmware_ready;
    mgmt_control_fields[1 +: 1] = s.datapath_enable;
    mgmt_control_fields[2 +: 1] = s.link_up;
    mgmt_control_fields[3 +: 1] = s.announce;
    mgmt_control_fields[4 +: 1] = s.pause;
    mgmt_control_fields[5 +: 27] = s.reserved;
  endfunction
  function automatic mgmt_control_t mgmt_control_of(input logic [31:0] fields);
    mgmt_control_of.firmware_ready = fields[0 +: 1];
    mgmt_control_of.datapath_enable = fields[1 +: 1];
    mgmt_control_of.link_up = fields[2 +: 1];
    mgmt_control_of.announce = fields[3 +: 1];
    mgmt_control_of.pause = fields[4 +: 1];
    mgmt_control_of.reserved = fields[5 +: 27];
  endfunction

  function automatic logic [31:0] mgmt_status_fields(input mgmt_status_t s);
    mgmt_status_fields[0 +: 1] = s.idle;
    mgmt_status_fields[1 +: 1] = s.mac_link;
    mgmt_status_fields[2 +: 1] = s.quiet;
    mgmt_status_fields[3 +: 1] = s.event_full;
    mgmt_status_fields[4 +: 4] = s.reserved;
    mgmt_status_fields[8 +: 8] = s.device_status;
    mgmt_status_fields[16 +: 16] = s.dma_outstanding;
  endfunction
  function automatic mgmt_status_t mgmt_status_of(input logic [31:0] fields);
    mgmt_status_of.idle = fields[0 +: 1];
    mgmt_status_of.mac_link = fields[1 +: 1];
    mgmt_status_of.quiet = fields[2 +: 1];
    mgmt_status_of.event_full = fields[3 +: 1];
    mgmt_status_of.reserved = fields[4 +: 4];
    mgmt_status_of.device_status = fields[8 +: 8];
    mgmt_status_of.dma_outstanding = fields[16 +: 16];
  endfunction

  function automatic logic [31:0] mgmt_interrupt_cause_fields(input mgmt_interrupt_cause_t s);
    mgmt_interrupt_cause_fields[0 +: 1] = s.mailbox_request;
    mgmt_interrupt_cause_fields[1 +: 1] = s.device_reset;
    mgmt_interrupt_cause_fields[2 +: 1] = s.features_written;
    mgmt_interrupt_cause_fields[3 +: 1] = s.driver_ok;
    mgmt_interrupt_cause_fields[4 +: 1] = s.queue_reset;
    mgmt_interrupt_cause_fields[5 +: 1] = s.link_change;
    mgmt_interrupt_cause_fields[6 +: 1] = s.qp_done;
    mgmt_interrupt_cause_fields[7 +: 1] = s.fatal;
    mgmt_interrupt_cause_fields[8 +: 24] = s.reserved;
  endfunction
  function automatic mgmt_interrupt_cause_t mgmt_interrupt_cause_of(input logic [31:0] fields);
    mgmt_interrupt_cause_of.mailbox_request = fields[0 +: 1];
    mgmt_interrupt_cause_of.device_reset = fields[1 +: 1];
    mgmt_interrupt_cause_of.features_written = fields[2 +: 1];
    mgmt_interrupt_cause_of.driver_ok = fields[3 +: 1];
    mgmt_interrupt_cause_of.queue_reset = fields[4 +: 1];
    mgmt_interrupt_cause_of.link_change = fields[5 +: 1];
    mgmt_interrupt_cause_of.qp_done = fields[6 +: 1];
    mgmt_interrupt_cause_of.fatal = fields[7 +: 1];
    mgmt_interrupt_cause_of.reserved = fields[8 +: 24];
  endfunction

  function automatic logic [31:0] mgmt_mailbox_status_fields(input mgmt_mailbox_status_t s);
    mgmt_mailbox_status_fields[0 +: 1] = s.request;
    mgmt_mailbox_status_fields[1 +: 1] = s.busy;
    mgmt_mailbox_status_fields[2 +: 1] = s.dma_error;
    mgmt_mailbox_status_fields[3 +: 29] = s.reserved;
  endfunction
  function automatic mgmt_mailbox_status_t mgmt_mailbox_status_of(input logic [31:0] fields);
    mgmt_mailbox_status_of.request = fields[0 +: 1];
    mgmt_mailbox_status_of.busy = fields[1 +: 1];
    mgmt_mailbox_status_of.dma_error = fields[2 +: 1];
    mgmt_mailbox_status_of.reserved = fields[3 +: 29];
  endfunction

  function automatic logic [31:0] mgmt_table_command_fields(input mgmt_table_command_t s);
    mgmt_table_command_fields[0 +: 8] = s.table_id;
    mgmt_table_command_fields[8 +: 2] = s.operation;
    mgmt_table_command_fields[10 +: 20] = s.reserved;
    mgmt_table_command_fields[30 +: 1] = s.error;
    mgmt_table_command_fields[31 +: 1] = s.busy;
  endfunction
  function automatic mgmt_table_command_t mgmt_table_command_of(input logic [31:0] fields);
    mgmt_table_command_of.table_id = fields[0 +: 8];
    mgmt_table_command_of.operation = fields[8 +: 2];
    mgmt_table_command_of.reserved = fields[10 +: 20];
    mgmt_table_command_of.error = fields[30 +: 1];
    mgmt_table_command_of.busy = fields[31 +: 1];
  endfunction

  function automatic logic [31:0] mgmt_qp_command_fields(input mgmt_qp_command_t s);
    mgmt_qp_command_fields[0 +: 24] = s.qpn;
    mgmt_qp_command_fields[24 +: 3] = s.operation;
    mgmt_qp_command_fields[27 +: 4] = s.reserved;
    mgmt_qp_command_fields[31 +: 1] = s.busy;
  endfunction
  function automatic mgmt_qp_command_t mgmt_qp_command_of(input logic [31:0] fields);
    mgmt_qp_command_of.qpn = fields[0 +: 24];
    mgmt_qp_command_of.operation = fields[24 +: 3];
    mgmt_qp_command_of.reserved = fields[27 +: 4];
    mgmt_qp_command_of.busy = fields[31 +: 1];
  endfunction

  function automatic logic [31:0] mgmt_flip_entry_fields(input mgmt_flip_entry_t s);
    mgmt_flip_entry_fields[0 +: 24] = s.index;
    mgmt_flip_entry_fields[24 +: 8] = s.ram;
  endfunction
  function automatic mgmt_flip_entry_t mgmt_flip_entry_of(input logic [31:0] fields);
    mgmt_flip_entry_of.index = fields[0 +: 24];
    mgmt_flip_entry_of.ram = fields[24 +: 8];
  endfunction

  function automatic logic [31:0] mgmt_rx_mode_fields(input mgmt_rx_mode_t s);
    mgmt_rx_mode_fields[0 +: 1] = s.promiscuous;
    mgmt_rx_mode_fields[1 +: 1] = s.all_multicast;
    mgmt_rx_mode_fields[2 +: 1] = s.all_unicast;
    mgmt_rx_mode_fields[3 +: 1] = s.no_multicast;
    mgmt_rx_mode_fields[4 +: 1] = s.no_unicast;
    mgmt_rx_mode_fields[5 +: 1] = s.no_broadcast;
    mgmt_rx_mode_fields[6 +: 1] = s.vlan_filter;
    mgmt_rx_mode_fields[7 +: 25] = s.reserved;
  endfunction
  function automatic mgmt_rx_mode_t mgmt_rx_mode_of(input logic [31:0] fields);
    mgmt_rx_mode_of.promiscuous = fields[0 +: 1];
    mgmt_rx_mode_of.all_multicast = fields[1 +: 1];
    mgmt_rx_mode_of.all_unicast = fields[2 +: 1];
    mgmt_rx_mode_of.no_multicast = fields[3 +: 1];
    mgmt_rx_mode_of.no_unicast = fields[4 +: 1];
    mgmt_rx_mode_of.no_broadcast = fields[5 +: 1];
    mgmt_rx_mode_of.vlan_filter = fields[6 +: 1];
    mgmt_rx_mode_of.reserved = fields[7 +: 25];
  endfunction

  function automatic logic [31:0] processor_console_fields(input processor_console_t s);
    processor_console_fields[0 +: 8] = s.character;
    processor_console_fields[8 +: 24] = s.reserved;
  endfunction
  function automatic processor_console_t processor_console_of(input logic [31:0] fields);
    processor_console_of.character = fields[0 +: 8];
    processor_console_of.reserved = fields[8 +: 24];
  endfunction

  function automatic logic [31:0] processor_last_failure_fields(input processor_last_failure_t s);
    processor_last_failure_fields[0 +: 8] = s.cause;
    processor_last_failure_fields[8 +: 24] = s.reserved;
  endfunction
  function automatic processor_last_failure_t processor_last_failure_of(input logic [31:0] fields);
    processor_last_failure_of.cause = fields[0 +: 8];
    processor_last_failure_of.reserved = fields[8 +: 24];
  endfunction

  always_comb begin
    fields_o = '0;
    bytes_o = '0;
    icrc_ones_o = '0;
    unique case (struct_i)
      16'd0: begin
        fields_o[15:0] = board_header_fields(unpack_board_header(bytes_i[15:0]));
        bytes_o[15:0] = pack_board_header(board_header_of(fields_i[15:0]));
      end
      16'd1: begin
        fields_o[95:0] = board_hello_fields(unpack_board_hello(bytes_i[95:0]));
        bytes_o[95:0] = pack_board_hello(board_hello_of(fields_i[95:0]));
      end
      16'd2: begin
        fields_o[15:0] = board_run_fields(unpack_board_run(bytes_i[15:0]));
        bytes_o[15:0] = pack_board_run(board_run_of(fields_i[15:0]));
      end
      16'd3: begin
        fields_o[63:0] = board_time_fields(unpack_board_time(bytes_i[63:0]));
        bytes_o[63:0] = pack_board_time(board_time_of(fields_i[63:0]));
      end
      16'd4: begin
        fields_o[15:0] = board_controls_fields(unpack_board_controls(bytes_i[15:0]));
        bytes_o[15:0] = pack_board_controls(board_controls_of(fields_i[15:0]));
      end
      16'd5: begin
        fields_o[111:0] = board_bar_fields(unpack_board_bar(bytes_i[111:0]));
        bytes_o[111:0] = pack_board_bar(board_bar_of(fields_i[111:0]));
      end
      16'd6: begin
        fields_o[47:0] = board_csr_fields(unpack_board_csr(bytes_i[47:0]));
        bytes_o[47:0] = pack_board_csr(board_csr_of(fields_i[47:0]));
      end
      16'd7: begin
        fields_o[31:0] = board_credits_fields(unpack_board_credits(bytes_i[31:0]));
        bytes_o[31:0] = pack_board_credits(board_credits_of(fields_i[31:0]));
      end
      16'd8: begin
        fields_o[31:0] = board_read_beats_fields(unpack_board_read_beats(bytes_i[31:0]));
        bytes_o[31:0] = pack_board_read_beats(board_read_beats_of(fields_i[31:0]));
      end
      16'd9: begin
        fields_o[23:0] = board_frame_beats_fields(unpack_board_frame_beats(bytes_i[23:0]));
        bytes_o[23:0] = pack_board_frame_beats(board_frame_beats_of(fields_i[23:0]));
      end
      16'd10: begin
        fields_o[63:0] = board_load_fields(unpack_board_load(bytes_i[63:0]));
        bytes_o[63:0] = pack_board_load(board_load_of(fields_i[63:0]));
      end
      16'd11: begin
        fields_o[63:0] = board_bar_answer_fields(unpack_board_bar_answer(bytes_i[63:0]));
        bytes_o[63:0] = pack_board_bar_answer(board_bar_answer_of(fields_i[63:0]));
      end
      16'd12: begin
        fields_o[31:0] = board_csr_answer_fields(unpack_board_csr_answer(bytes_i[31:0]));
        bytes_o[31:0] = pack_board_csr_answer(board_csr_answer_of(fields_i[31:0]));
      end
      16'd13: begin
        fields_o[7:0] = board_interrupt_fields(unpack_board_interrupt(bytes_i[7:0]));
        bytes_o[7:0] = pack_board_interrupt(board_interrupt_of(fields_i[7:0]));
      end
      16'd14: begin
        fields_o[95:0] = board_read_fields(unpack_board_read(bytes_i[95:0]));
        bytes_o[95:0] = pack_board_read(board_read_of(fields_i[95:0]));
      end
      16'd15: begin
        fields_o[79:0] = board_write_fields(unpack_board_write(bytes_i[79:0]));
        bytes_o[79:0] = pack_board_write(board_write_of(fields_i[79:0]));
      end
      16'd16: begin
        fields_o[15:0] = board_msix_fields(unpack_board_msix(bytes_i[15:0]));
        bytes_o[15:0] = pack_board_msix(board_msix_of(fields_i[15:0]));
      end
      16'd17: begin
        fields_o[71:0] = board_transmit_fields(unpack_board_transmit(bytes_i[71:0]));
        bytes_o[71:0] = pack_board_transmit(board_transmit_of(fields_i[71:0]));
      end
      16'd18: begin
        fields_o[95:0] = board_ran_fields(unpack_board_ran(bytes_i[95:0]));
        bytes_o[95:0] = pack_board_ran(board_ran_of(fields_i[95:0]));
      end
      16'd19: begin
        fields_o[223:0] = net_config_fields(unpack_net_config(bytes_i[223:0]));
        bytes_o[223:0] = pack_net_config(net_config_of(fields_i[223:0]));
      end
      16'd20: begin
        fields_o[95:0] = net_hdr_fields(unpack_net_hdr(bytes_i[95:0]));
        bytes_o[95:0] = pack_net_hdr(net_hdr_of(fields_i[95:0]));
      end
      16'd21: begin
        fields_o[159:0] = net_hdr_hash_fields(unpack_net_hdr_hash(bytes_i[159:0]));
        bytes_o[159:0] = pack_net_hdr_hash(net_hdr_hash_of(fields_i[159:0]));
      end
      16'd22: begin
        fields_o[191:0] = net_hdr_hash_tunnel_fields(unpack_net_hdr_hash_tunnel(bytes_i[191:0]));
        bytes_o[191:0] = pack_net_hdr_hash_tunnel(net_hdr_hash_tunnel_of(fields_i[191:0]));
      end
      16'd23: begin
        fields_o[255:0] = net_hdr_hash_tunnel_out_net_hdr_fields(unpack_net_hdr_hash_tunnel_out_net_hdr(bytes_i[255:0]));
        bytes_o[255:0] = pack_net_hdr_hash_tunnel_out_net_hdr(net_hdr_hash_tunnel_out_net_hdr_of(fields_i[255:0]));
      end
      16'd24: begin
        fields_o[15:0] = net_ctrl_hdr_fields(unpack_net_ctrl_hdr(bytes_i[15:0]));
        bytes_o[15:0] = pack_net_ctrl_hdr(net_ctrl_hdr_of(fields_i[15:0]));
      end
      16'd25: begin
        fields_o[7:0] = net_ctrl_rx_fields(unpack_net_ctrl_rx(bytes_i[7:0]));
        bytes_o[7:0] = pack_net_ctrl_rx(net_ctrl_rx_of(fields_i[7:0]));
      end
      16'd26: begin
        fields_o[47:0] = net_ctrl_mac_addr_fields(unpack_net_ctrl_mac_addr(bytes_i[47:0]));
        bytes_o[47:0] = pack_net_ctrl_mac_addr(net_ctrl_mac_addr_of(fields_i[47:0]));
      end
      16'd27: begin
        fields_o[31:0] = net_ctrl_mac_fields(unpack_net_ctrl_mac(bytes_i[31:0]));
        bytes_o[31:0] = pack_net_ctrl_mac(net_ctrl_mac_of(fields_i[31:0]));
      end
      16'd28: begin
        fields_o[15:0] = net_ctrl_vlan_fields(unpack_net_ctrl_vlan(bytes_i[15:0]));
        bytes_o[15:0] = pack_net_ctrl_vlan(net_ctrl_vlan_of(fields_i[15:0]));
      end
      16'd29: begin
        fields_o[15:0] = net_ctrl_mq_pairs_set_fields(unpack_net_ctrl_mq_pairs_set(bytes_i[15:0]));
        bytes_o[15:0] = pack_net_ctrl_mq_pairs_set(net_ctrl_mq_pairs_set_of(fields_i[15:0]));
      end
      16'd30: begin
        fields_o[15:0] = rss_rq_id_fields(unpack_rss_rq_id(bytes_i[15:0]));
        bytes_o[15:0] = pack_rss_rq_id(rss_rq_id_of(fields_i[15:0]));
      end
      16'd31: begin
        fields_o[63:0] = net_rss_config_hdr_fields(unpack_net_rss_config_hdr(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_rss_config_hdr(net_rss_config_hdr_of(fields_i[63:0]));
      end
      16'd32: begin
        fields_o[23:0] = net_rss_config_trailer_fields(unpack_net_rss_config_trailer(bytes_i[23:0]));
        bytes_o[23:0] = pack_net_rss_config_trailer(net_rss_config_trailer_of(fields_i[23:0]));
      end
      16'd33: begin
        fields_o[103:0] = net_hash_config_fields(unpack_net_hash_config(bytes_i[103:0]));
        bytes_o[103:0] = pack_net_hash_config(net_hash_config_of(fields_i[103:0]));
      end
      16'd34: begin
        fields_o[63:0] = net_ctrl_guest_offloads_fields(unpack_net_ctrl_guest_offloads(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_ctrl_guest_offloads(net_ctrl_guest_offloads_of(fields_i[63:0]));
      end
      16'd35: begin
        fields_o[63:0] = net_ctrl_coal_fields(unpack_net_ctrl_coal(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_ctrl_coal(net_ctrl_coal_of(fields_i[63:0]));
      end
      16'd36: begin
        fields_o[95:0] = net_ctrl_coal_vq_fields(unpack_net_ctrl_coal_vq(bytes_i[95:0]));
        bytes_o[95:0] = pack_net_ctrl_coal_vq(net_ctrl_coal_vq_of(fields_i[95:0]));
      end
      16'd37: begin
        fields_o[31:0] = net_ctrl_coal_vq_get_fields(unpack_net_ctrl_coal_vq_get(bytes_i[31:0]));
        bytes_o[31:0] = pack_net_ctrl_coal_vq_get(net_ctrl_coal_vq_get_of(fields_i[31:0]));
      end
      16'd38: begin
        fields_o[31:0] = net_hash_tunnel_fields(unpack_net_hash_tunnel(bytes_i[31:0]));
        bytes_o[31:0] = pack_net_hash_tunnel(net_hash_tunnel_of(fields_i[31:0]));
      end
      16'd39: begin
        fields_o[15:0] = net_rss_ctx_cap_fields(unpack_net_rss_ctx_cap(bytes_i[15:0]));
        bytes_o[15:0] = pack_net_rss_ctx_cap(net_rss_ctx_cap_of(fields_i[15:0]));
      end
      16'd40: begin
        fields_o[127:0] = net_rss_ctx_add_modify_fields(unpack_net_rss_ctx_add_modify(bytes_i[127:0]));
        bytes_o[127:0] = pack_net_rss_ctx_add_modify(net_rss_ctx_add_modify_of(fields_i[127:0]));
      end
      16'd41: begin
        fields_o[15:0] = net_rss_ctx_del_fields(unpack_net_rss_ctx_del(bytes_i[15:0]));
        bytes_o[15:0] = pack_net_rss_ctx_del(net_rss_ctx_del_of(fields_i[15:0]));
      end
      16'd42: begin
        fields_o[63:0] = net_stats_capabilities_fields(unpack_net_stats_capabilities(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_stats_capabilities(net_stats_capabilities_of(fields_i[63:0]));
      end
      16'd43: begin
        fields_o[127:0] = net_ctrl_queue_stats_fields(unpack_net_ctrl_queue_stats(bytes_i[127:0]));
        bytes_o[127:0] = pack_net_ctrl_queue_stats(net_ctrl_queue_stats_of(fields_i[127:0]));
      end
      16'd44: begin
        fields_o[63:0] = net_stats_reply_hdr_fields(unpack_net_stats_reply_hdr(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_stats_reply_hdr(net_stats_reply_hdr_of(fields_i[63:0]));
      end
      16'd45: begin
        fields_o[191:0] = net_stats_cvq_fields(unpack_net_stats_cvq(bytes_i[191:0]));
        bytes_o[191:0] = pack_net_stats_cvq(net_stats_cvq_of(fields_i[191:0]));
      end
      16'd46: begin
        fields_o[447:0] = net_stats_rx_basic_fields(unpack_net_stats_rx_basic(bytes_i[447:0]));
        bytes_o[447:0] = pack_net_stats_rx_basic(net_stats_rx_basic_of(fields_i[447:0]));
      end
      16'd47: begin
        fields_o[447:0] = net_stats_tx_basic_fields(unpack_net_stats_tx_basic(bytes_i[447:0]));
        bytes_o[447:0] = pack_net_stats_tx_basic(net_stats_tx_basic_of(fields_i[447:0]));
      end
      16'd48: begin
        fields_o[319:0] = net_stats_rx_csum_fields(unpack_net_stats_rx_csum(bytes_i[319:0]));
        bytes_o[319:0] = pack_net_stats_rx_csum(net_stats_rx_csum_of(fields_i[319:0]));
      end
      16'd49: begin
        fields_o[191:0] = net_stats_tx_csum_fields(unpack_net_stats_tx_csum(bytes_i[191:0]));
        bytes_o[191:0] = pack_net_stats_tx_csum(net_stats_tx_csum_of(fields_i[191:0]));
      end
      16'd50: begin
        fields_o[319:0] = net_stats_rx_gso_fields(unpack_net_stats_rx_gso(bytes_i[319:0]));
        bytes_o[319:0] = pack_net_stats_rx_gso(net_stats_rx_gso_of(fields_i[319:0]));
      end
      16'd51: begin
        fields_o[447:0] = net_stats_tx_gso_fields(unpack_net_stats_tx_gso(bytes_i[447:0]));
        bytes_o[447:0] = pack_net_stats_tx_gso(net_stats_tx_gso_of(fields_i[447:0]));
      end
      16'd52: begin
        fields_o[191:0] = net_stats_rx_speed_fields(unpack_net_stats_rx_speed(bytes_i[191:0]));
        bytes_o[191:0] = pack_net_stats_rx_speed(net_stats_rx_speed_of(fields_i[191:0]));
      end
      16'd53: begin
        fields_o[191:0] = net_stats_tx_speed_fields(unpack_net_stats_tx_speed(bytes_i[191:0]));
        bytes_o[191:0] = pack_net_stats_tx_speed(net_stats_tx_speed_of(fields_i[191:0]));
      end
      16'd54: begin
        fields_o[511:0] = pci_header_fields(unpack_pci_header(bytes_i[511:0]));
        bytes_o[511:0] = pack_pci_header(pci_header_of(fields_i[511:0]));
      end
      16'd55: begin
        fields_o[31:0] = pci_memory_bar_fields(unpack_pci_memory_bar(bytes_i[31:0]));
        bytes_o[31:0] = pack_pci_memory_bar(pci_memory_bar_of(fields_i[31:0]));
      end
      16'd56: begin
        fields_o[15:0] = pci_capability_fields(unpack_pci_capability(bytes_i[15:0]));
        bytes_o[15:0] = pack_pci_capability(pci_capability_of(fields_i[15:0]));
      end
      16'd57: begin
        fields_o[31:0] = pcie_extended_capability_fields(unpack_pcie_extended_capability(bytes_i[31:0]));
        bytes_o[31:0] = pack_pcie_extended_capability(pcie_extended_capability_of(fields_i[31:0]));
      end
      16'd58: begin
        fields_o[63:0] = pci_pm_cap_fields(unpack_pci_pm_cap(bytes_i[63:0]));
        bytes_o[63:0] = pack_pci_pm_cap(pci_pm_cap_of(fields_i[63:0]));
      end
      16'd59: begin
        fields_o[479:0] = pcie_cap_fields(unpack_pcie_cap(bytes_i[479:0]));
        bytes_o[479:0] = pack_pcie_cap(pcie_cap_of(fields_i[479:0]));
      end
      16'd60: begin
        fields_o[95:0] = msix_cap_fields(unpack_msix_cap(bytes_i[95:0]));
        bytes_o[95:0] = pack_msix_cap(msix_cap_of(fields_i[95:0]));
      end
      16'd61: begin
        fields_o[127:0] = msix_table_entry_fields(unpack_msix_table_entry(bytes_i[127:0]));
        bytes_o[127:0] = pack_msix_table_entry(msix_table_entry_of(fields_i[127:0]));
      end
      16'd62: begin
        fields_o[63:0] = msix_pba_entry_fields(unpack_msix_pba_entry(bytes_i[63:0]));
        bytes_o[63:0] = pack_msix_pba_entry(msix_pba_entry_of(fields_i[63:0]));
      end
      16'd63: begin
        fields_o[127:0] = virtio_pci_cap_fields(unpack_virtio_pci_cap(bytes_i[127:0]));
        bytes_o[127:0] = pack_virtio_pci_cap(virtio_pci_cap_of(fields_i[127:0]));
      end
      16'd64: begin
        fields_o[191:0] = virtio_pci_cap64_fields(unpack_virtio_pci_cap64(bytes_i[191:0]));
        bytes_o[191:0] = pack_virtio_pci_cap64(virtio_pci_cap64_of(fields_i[191:0]));
      end
      16'd65: begin
        fields_o[159:0] = virtio_pci_notify_cap_fields(unpack_virtio_pci_notify_cap(bytes_i[159:0]));
        bytes_o[159:0] = pack_virtio_pci_notify_cap(virtio_pci_notify_cap_of(fields_i[159:0]));
      end
      16'd66: begin
        fields_o[159:0] = virtio_pci_cfg_cap_fields(unpack_virtio_pci_cfg_cap(bytes_i[159:0]));
        bytes_o[159:0] = pack_virtio_pci_cfg_cap(virtio_pci_cfg_cap_of(fields_i[159:0]));
      end
      16'd67: begin
        fields_o[47:0] = virtio_pci_vndr_data_fields(unpack_virtio_pci_vndr_data(bytes_i[47:0]));
        bytes_o[47:0] = pack_virtio_pci_vndr_data(virtio_pci_vndr_data_of(fields_i[47:0]));
      end
      16'd68: begin
        fields_o[127:0] = processor_settings_fields(unpack_processor_settings(bytes_i[127:0]));
        bytes_o[127:0] = pack_processor_settings(processor_settings_of(fields_i[127:0]));
      end
      16'd69: begin
        fields_o[63:0] = net_config_rdma_fields(unpack_net_config_rdma(bytes_i[63:0]));
        bytes_o[63:0] = pack_net_config_rdma(net_config_rdma_of(fields_i[63:0]));
      end
      16'd70: begin
        fields_o[1023:0] = rdma_ack_query_device_fields(unpack_rdma_ack_query_device(bytes_i[1023:0]));
        bytes_o[1023:0] = pack_rdma_ack_query_device(rdma_ack_query_device_of(fields_i[1023:0]));
      end
      16'd71: begin
        fields_o[255:0] = rdma_ack_query_port_fields(unpack_rdma_ack_query_port(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_ack_query_port(rdma_ack_query_port_of(fields_i[255:0]));
      end
      16'd72: begin
        fields_o[63:0] = rdma_ack_query_clock_fields(unpack_rdma_ack_query_clock(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_ack_query_clock(rdma_ack_query_clock_of(fields_i[63:0]));
      end
      16'd73: begin
        fields_o[31:0] = rdma_cmd_create_cq_fields(unpack_rdma_cmd_create_cq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_create_cq(rdma_cmd_create_cq_of(fields_i[31:0]));
      end
      16'd74: begin
        fields_o[31:0] = rdma_ack_create_cq_fields(unpack_rdma_ack_create_cq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_ack_create_cq(rdma_ack_create_cq_of(fields_i[31:0]));
      end
      16'd75: begin
        fields_o[63:0] = rdma_cmd_create_extended_cq_fields(unpack_rdma_cmd_create_extended_cq(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_create_extended_cq(rdma_cmd_create_extended_cq_of(fields_i[63:0]));
      end
      16'd76: begin
        fields_o[31:0] = rdma_cmd_destroy_cq_fields(unpack_rdma_cmd_destroy_cq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_destroy_cq(rdma_cmd_destroy_cq_of(fields_i[31:0]));
      end
      16'd77: begin
        fields_o[63:0] = rdma_cmd_req_notify_fields(unpack_rdma_cmd_req_notify(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_req_notify(rdma_cmd_req_notify_of(fields_i[63:0]));
      end
      16'd78: begin
        fields_o[31:0] = rdma_cq_arm_fields(unpack_rdma_cq_arm(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cq_arm(rdma_cq_arm_of(fields_i[31:0]));
      end
      16'd79: begin
        fields_o[31:0] = rdma_ack_create_pd_fields(unpack_rdma_ack_create_pd(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_ack_create_pd(rdma_ack_create_pd_of(fields_i[31:0]));
      end
      16'd80: begin
        fields_o[31:0] = rdma_cmd_destroy_pd_fields(unpack_rdma_cmd_destroy_pd(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_destroy_pd(rdma_cmd_destroy_pd_of(fields_i[31:0]));
      end
      16'd81: begin
        fields_o[63:0] = rdma_cmd_get_dma_mr_fields(unpack_rdma_cmd_get_dma_mr(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_get_dma_mr(rdma_cmd_get_dma_mr_of(fields_i[63:0]));
      end
      16'd82: begin
        fields_o[95:0] = rdma_ack_get_dma_mr_fields(unpack_rdma_ack_get_dma_mr(bytes_i[95:0]));
        bytes_o[95:0] = pack_rdma_ack_get_dma_mr(rdma_ack_get_dma_mr_of(fields_i[95:0]));
      end
      16'd83: begin
        fields_o[255:0] = rdma_cmd_reg_user_mr_fields(unpack_rdma_cmd_reg_user_mr(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_cmd_reg_user_mr(rdma_cmd_reg_user_mr_of(fields_i[255:0]));
      end
      16'd84: begin
        fields_o[95:0] = rdma_ack_reg_user_mr_fields(unpack_rdma_ack_reg_user_mr(bytes_i[95:0]));
        bytes_o[95:0] = pack_rdma_ack_reg_user_mr(rdma_ack_reg_user_mr_of(fields_i[95:0]));
      end
      16'd85: begin
        fields_o[31:0] = rdma_cmd_dereg_mr_fields(unpack_rdma_cmd_dereg_mr(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_dereg_mr(rdma_cmd_dereg_mr_of(fields_i[31:0]));
      end
      16'd86: begin
        fields_o[319:0] = rdma_cmd_rereg_mr_fields(unpack_rdma_cmd_rereg_mr(bytes_i[319:0]));
        bytes_o[319:0] = pack_rdma_cmd_rereg_mr(rdma_cmd_rereg_mr_of(fields_i[319:0]));
      end
      16'd87: begin
        fields_o[63:0] = rdma_ack_rereg_mr_fields(unpack_rdma_ack_rereg_mr(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_ack_rereg_mr(rdma_ack_rereg_mr_of(fields_i[63:0]));
      end
      16'd88: begin
        fields_o[63:0] = rdma_cmd_alloc_mw_fields(unpack_rdma_cmd_alloc_mw(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_alloc_mw(rdma_cmd_alloc_mw_of(fields_i[63:0]));
      end
      16'd89: begin
        fields_o[63:0] = rdma_ack_alloc_mw_fields(unpack_rdma_ack_alloc_mw(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_ack_alloc_mw(rdma_ack_alloc_mw_of(fields_i[63:0]));
      end
      16'd90: begin
        fields_o[31:0] = rdma_cmd_dealloc_mw_fields(unpack_rdma_cmd_dealloc_mw(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_dealloc_mw(rdma_cmd_dealloc_mw_of(fields_i[31:0]));
      end
      16'd91: begin
        fields_o[63:0] = rdma_cmd_alloc_mr_fields(unpack_rdma_cmd_alloc_mr(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_alloc_mr(rdma_cmd_alloc_mr_of(fields_i[63:0]));
      end
      16'd92: begin
        fields_o[95:0] = rdma_ack_alloc_mr_fields(unpack_rdma_ack_alloc_mr(bytes_i[95:0]));
        bytes_o[95:0] = pack_rdma_ack_alloc_mr(rdma_ack_alloc_mr_of(fields_i[95:0]));
      end
      16'd93: begin
        fields_o[31:0] = rdma_cmd_query_mr_fields(unpack_rdma_cmd_query_mr(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_query_mr(rdma_cmd_query_mr_of(fields_i[31:0]));
      end
      16'd94: begin
        fields_o[319:0] = rdma_ack_query_mr_fields(unpack_rdma_ack_query_mr(bytes_i[319:0]));
        bytes_o[319:0] = pack_rdma_ack_query_mr(rdma_ack_query_mr_of(fields_i[319:0]));
      end
      16'd95: begin
        fields_o[191:0] = rdma_qp_cap_fields(unpack_rdma_qp_cap(bytes_i[191:0]));
        bytes_o[191:0] = pack_rdma_qp_cap(rdma_qp_cap_of(fields_i[191:0]));
      end
      16'd96: begin
        fields_o[447:0] = rdma_cmd_create_qp_fields(unpack_rdma_cmd_create_qp(bytes_i[447:0]));
        bytes_o[447:0] = pack_rdma_cmd_create_qp(rdma_cmd_create_qp_of(fields_i[447:0]));
      end
      16'd97: begin
        fields_o[31:0] = rdma_ack_create_qp_fields(unpack_rdma_ack_create_qp(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_ack_create_qp(rdma_ack_create_qp_of(fields_i[31:0]));
      end
      16'd98: begin
        fields_o[191:0] = rdma_global_route_fields(unpack_rdma_global_route(bytes_i[191:0]));
        bytes_o[191:0] = pack_rdma_global_route(rdma_global_route_of(fields_i[191:0]));
      end
      16'd99: begin
        fields_o[319:0] = rdma_ah_attr_fields(unpack_rdma_ah_attr(bytes_i[319:0]));
        bytes_o[319:0] = pack_rdma_ah_attr(rdma_ah_attr_of(fields_i[319:0]));
      end
      16'd100: begin
        fields_o[1023:0] = rdma_cmd_modify_qp_fields(unpack_rdma_cmd_modify_qp(bytes_i[1023:0]));
        bytes_o[1023:0] = pack_rdma_cmd_modify_qp(rdma_cmd_modify_qp_of(fields_i[1023:0]));
      end
      16'd101: begin
        fields_o[63:0] = rdma_cmd_query_qp_fields(unpack_rdma_cmd_query_qp(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_query_qp(rdma_cmd_query_qp_of(fields_i[63:0]));
      end
      16'd102: begin
        fields_o[959:0] = rdma_ack_query_qp_fields(unpack_rdma_ack_query_qp(bytes_i[959:0]));
        bytes_o[959:0] = pack_rdma_ack_query_qp(rdma_ack_query_qp_of(fields_i[959:0]));
      end
      16'd103: begin
        fields_o[31:0] = rdma_cmd_destroy_qp_fields(unpack_rdma_cmd_destroy_qp(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_destroy_qp(rdma_cmd_destroy_qp_of(fields_i[31:0]));
      end
      16'd104: begin
        fields_o[127:0] = rdma_cmd_create_srq_fields(unpack_rdma_cmd_create_srq(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_cmd_create_srq(rdma_cmd_create_srq_of(fields_i[127:0]));
      end
      16'd105: begin
        fields_o[31:0] = rdma_ack_create_srq_fields(unpack_rdma_ack_create_srq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_ack_create_srq(rdma_ack_create_srq_of(fields_i[31:0]));
      end
      16'd106: begin
        fields_o[127:0] = rdma_cmd_modify_srq_fields(unpack_rdma_cmd_modify_srq(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_cmd_modify_srq(rdma_cmd_modify_srq_of(fields_i[127:0]));
      end
      16'd107: begin
        fields_o[31:0] = rdma_cmd_query_srq_fields(unpack_rdma_cmd_query_srq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_query_srq(rdma_cmd_query_srq_of(fields_i[31:0]));
      end
      16'd108: begin
        fields_o[127:0] = rdma_ack_query_srq_fields(unpack_rdma_ack_query_srq(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_ack_query_srq(rdma_ack_query_srq_of(fields_i[127:0]));
      end
      16'd109: begin
        fields_o[31:0] = rdma_cmd_destroy_srq_fields(unpack_rdma_cmd_destroy_srq(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_cmd_destroy_srq(rdma_cmd_destroy_srq_of(fields_i[31:0]));
      end
      16'd110: begin
        fields_o[383:0] = rdma_cmd_create_ah_fields(unpack_rdma_cmd_create_ah(bytes_i[383:0]));
        bytes_o[383:0] = pack_rdma_cmd_create_ah(rdma_cmd_create_ah_of(fields_i[383:0]));
      end
      16'd111: begin
        fields_o[31:0] = rdma_ack_create_ah_fields(unpack_rdma_ack_create_ah(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_ack_create_ah(rdma_ack_create_ah_of(fields_i[31:0]));
      end
      16'd112: begin
        fields_o[63:0] = rdma_cmd_destroy_ah_fields(unpack_rdma_cmd_destroy_ah(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cmd_destroy_ah(rdma_cmd_destroy_ah_of(fields_i[63:0]));
      end
      16'd113: begin
        fields_o[191:0] = rdma_cmd_add_gid_fields(unpack_rdma_cmd_add_gid(bytes_i[191:0]));
        bytes_o[191:0] = pack_rdma_cmd_add_gid(rdma_cmd_add_gid_of(fields_i[191:0]));
      end
      16'd114: begin
        fields_o[15:0] = rdma_cmd_del_gid_fields(unpack_rdma_cmd_del_gid(bytes_i[15:0]));
        bytes_o[15:0] = pack_rdma_cmd_del_gid(rdma_cmd_del_gid_of(fields_i[15:0]));
      end
      16'd115: begin
        fields_o[159:0] = rdma_cmd_attach_mcast_fields(unpack_rdma_cmd_attach_mcast(bytes_i[159:0]));
        bytes_o[159:0] = pack_rdma_cmd_attach_mcast(rdma_cmd_attach_mcast_of(fields_i[159:0]));
      end
      16'd116: begin
        fields_o[159:0] = rdma_cmd_detach_mcast_fields(unpack_rdma_cmd_detach_mcast(bytes_i[159:0]));
        bytes_o[159:0] = pack_rdma_cmd_detach_mcast(rdma_cmd_detach_mcast_of(fields_i[159:0]));
      end
      16'd117: begin
        fields_o[191:0] = rdma_cmd_set_window_fields(unpack_rdma_cmd_set_window(bytes_i[191:0]));
        bytes_o[191:0] = pack_rdma_cmd_set_window(rdma_cmd_set_window_of(fields_i[191:0]));
      end
      16'd118: begin
        fields_o[127:0] = rdma_event_fields(unpack_rdma_event(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_event(rdma_event_of(fields_i[127:0]));
      end
      16'd119: begin
        fields_o[127:0] = rdma_sge_fields(unpack_rdma_sge(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sge(rdma_sge_of(fields_i[127:0]));
      end
      16'd120: begin
        fields_o[255:0] = rdma_sq_req_rdma_fields(unpack_rdma_sq_req_rdma(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_rdma(rdma_sq_req_rdma_of(fields_i[255:0]));
      end
      16'd121: begin
        fields_o[255:0] = rdma_sq_req_flush_fields(unpack_rdma_sq_req_flush(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_flush(rdma_sq_req_flush_of(fields_i[255:0]));
      end
      16'd122: begin
        fields_o[255:0] = rdma_sq_req_bind_fields(unpack_rdma_sq_req_bind(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_bind(rdma_sq_req_bind_of(fields_i[255:0]));
      end
      16'd123: begin
        fields_o[255:0] = rdma_sq_req_reg_fields(unpack_rdma_sq_req_reg(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_reg(rdma_sq_req_reg_of(fields_i[255:0]));
      end
      16'd124: begin
        fields_o[127:0] = rdma_page_pair_fields(unpack_rdma_page_pair(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_page_pair(rdma_page_pair_of(fields_i[127:0]));
      end
      16'd125: begin
        fields_o[255:0] = rdma_sq_req_atomic_fields(unpack_rdma_sq_req_atomic(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_atomic(rdma_sq_req_atomic_of(fields_i[255:0]));
      end
      16'd126: begin
        fields_o[255:0] = rdma_sq_req_ud_fields(unpack_rdma_sq_req_ud(bytes_i[255:0]));
        bytes_o[255:0] = pack_rdma_sq_req_ud(rdma_sq_req_ud_of(fields_i[255:0]));
      end
      16'd127: begin
        fields_o[31:0] = rdma_sq_req_num_sge_fields(unpack_rdma_sq_req_num_sge(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_sq_req_num_sge(rdma_sq_req_num_sge_of(fields_i[31:0]));
      end
      16'd128: begin
        fields_o[31:0] = rdma_sq_req_inline_len_fields(unpack_rdma_sq_req_inline_len(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_sq_req_inline_len(rdma_sq_req_inline_len_of(fields_i[31:0]));
      end
      16'd129: begin
        fields_o[4607:0] = rdma_sq_req_fields(unpack_rdma_sq_req(bytes_i[4607:0]));
        bytes_o[4607:0] = pack_rdma_sq_req(rdma_sq_req_of(fields_i[4607:0]));
      end
      16'd130: begin
        fields_o[127:0] = rdma_sq_base_fields(unpack_rdma_sq_base(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_base(rdma_sq_base_of(fields_i[127:0]));
      end
      16'd131: begin
        fields_o[63:0] = rdma_push_fields(unpack_rdma_push(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_push(rdma_push_of(fields_i[63:0]));
      end
      16'd132: begin
        fields_o[127:0] = rdma_sq_rdma_fields(unpack_rdma_sq_rdma(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_rdma(rdma_sq_rdma_of(fields_i[127:0]));
      end
      16'd133: begin
        fields_o[127:0] = rdma_sq_ud_fields(unpack_rdma_sq_ud(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_ud(rdma_sq_ud_of(fields_i[127:0]));
      end
      16'd134: begin
        fields_o[127:0] = rdma_sq_atomic_fields(unpack_rdma_sq_atomic(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_atomic(rdma_sq_atomic_of(fields_i[127:0]));
      end
      16'd135: begin
        fields_o[127:0] = rdma_sq_flush_fields(unpack_rdma_sq_flush(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_flush(rdma_sq_flush_of(fields_i[127:0]));
      end
      16'd136: begin
        fields_o[127:0] = rdma_sq_bind_fields(unpack_rdma_sq_bind(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_bind(rdma_sq_bind_of(fields_i[127:0]));
      end
      16'd137: begin
        fields_o[127:0] = rdma_sq_reg_fields(unpack_rdma_sq_reg(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_reg(rdma_sq_reg_of(fields_i[127:0]));
      end
      16'd138: begin
        fields_o[127:0] = rdma_sq_bind_range_fields(unpack_rdma_sq_bind_range(bytes_i[127:0]));
        bytes_o[127:0] = pack_rdma_sq_bind_range(rdma_sq_bind_range_of(fields_i[127:0]));
      end
      16'd139: begin
        fields_o[191:0] = rdma_rq_req_fields(unpack_rdma_rq_req(bytes_i[191:0]));
        bytes_o[191:0] = pack_rdma_rq_req(rdma_rq_req_of(fields_i[191:0]));
      end
      16'd140: begin
        fields_o[383:0] = rdma_cq_req_fields(unpack_rdma_cq_req(bytes_i[383:0]));
        bytes_o[383:0] = pack_rdma_cq_req(rdma_cq_req_of(fields_i[383:0]));
      end
      16'd141: begin
        fields_o[319:0] = rdma_cq_base_fields(unpack_rdma_cq_base(bytes_i[319:0]));
        bytes_o[319:0] = pack_rdma_cq_base(rdma_cq_base_of(fields_i[319:0]));
      end
      16'd142: begin
        fields_o[63:0] = rdma_cq_timestamp_fields(unpack_rdma_cq_timestamp(bytes_i[63:0]));
        bytes_o[63:0] = pack_rdma_cq_timestamp(rdma_cq_timestamp_of(fields_i[63:0]));
      end
      16'd143: begin
        fields_o[511:0] = table_virtqueue_fields(unpack_table_virtqueue(bytes_i[511:0]));
        bytes_o[511:0] = pack_table_virtqueue(table_virtqueue_of(fields_i[511:0]));
      end
      16'd144: begin
        fields_o[191:0] = table_window_fields(unpack_table_window(bytes_i[191:0]));
        bytes_o[191:0] = pack_table_window(table_window_of(fields_i[191:0]));
      end
      16'd145: begin
        fields_o[383:0] = table_path_fields(unpack_table_path(bytes_i[383:0]));
        bytes_o[383:0] = pack_table_path(table_path_of(fields_i[383:0]));
      end
      16'd146: begin
        fields_o[1023:0] = table_qp_context_fields(unpack_table_qp_context(bytes_i[1023:0]));
        bytes_o[1023:0] = pack_table_qp_context(table_qp_context_of(fields_i[1023:0]));
      end
      16'd147: begin
        fields_o[127:0] = table_cq_context_fields(unpack_table_cq_context(bytes_i[127:0]));
        bytes_o[127:0] = pack_table_cq_context(table_cq_context_of(fields_i[127:0]));
      end
      16'd148: begin
        fields_o[319:0] = table_mr_fields(unpack_table_mr(bytes_i[319:0]));
        bytes_o[319:0] = pack_table_mr(table_mr_of(fields_i[319:0]));
      end
      16'd149: begin
        fields_o[31:0] = rdma_key_fields(unpack_rdma_key(bytes_i[31:0]));
        bytes_o[31:0] = pack_rdma_key(rdma_key_of(fields_i[31:0]));
      end
      16'd150: begin
        fields_o[63:0] = table_translation_fields(unpack_table_translation(bytes_i[63:0]));
        bytes_o[63:0] = pack_table_translation(table_translation_of(fields_i[63:0]));
      end
      16'd151: begin
        fields_o[447:0] = table_ah_fields(unpack_table_ah(bytes_i[447:0]));
        bytes_o[447:0] = pack_table_ah(table_ah_of(fields_i[447:0]));
      end
      16'd152: begin
        fields_o[191:0] = table_gid_fields(unpack_table_gid(bytes_i[191:0]));
        bytes_o[191:0] = pack_table_gid(table_gid_of(fields_i[191:0]));
      end
      16'd153: begin
        fields_o[191:0] = table_mcast_fields(unpack_table_mcast(bytes_i[191:0]));
        bytes_o[191:0] = pack_table_mcast(table_mcast_of(fields_i[191:0]));
      end
      16'd154: begin
        fields_o[63:0] = table_mac_filter_fields(unpack_table_mac_filter(bytes_i[63:0]));
        bytes_o[63:0] = pack_table_mac_filter(table_mac_filter_of(fields_i[63:0]));
      end
      16'd155: begin
        fields_o[31:0] = table_vlan_filter_fields(unpack_table_vlan_filter(bytes_i[31:0]));
        bytes_o[31:0] = pack_table_vlan_filter(table_vlan_filter_of(fields_i[31:0]));
      end
      16'd156: begin
        fields_o[447:0] = table_rss_config_fields(unpack_table_rss_config(bytes_i[447:0]));
        bytes_o[447:0] = pack_table_rss_config(table_rss_config_of(fields_i[447:0]));
      end
      16'd157: begin
        fields_o[255:0] = table_rss_fields(unpack_table_rss(bytes_i[255:0]));
        bytes_o[255:0] = pack_table_rss(table_rss_of(fields_i[255:0]));
      end
      16'd158: begin
        fields_o[511:0] = virtio_pci_common_cfg_fields(unpack_virtio_pci_common_cfg(bytes_i[511:0]));
        bytes_o[511:0] = pack_virtio_pci_common_cfg(virtio_pci_common_cfg_of(fields_i[511:0]));
      end
      16'd159: begin
        fields_o[127:0] = virtq_desc_fields(unpack_virtq_desc(bytes_i[127:0]));
        bytes_o[127:0] = pack_virtq_desc(virtq_desc_of(fields_i[127:0]));
      end
      16'd160: begin
        fields_o[31:0] = virtq_avail_fields(unpack_virtq_avail(bytes_i[31:0]));
        bytes_o[31:0] = pack_virtq_avail(virtq_avail_of(fields_i[31:0]));
      end
      16'd161: begin
        fields_o[15:0] = virtq_used_event_fields(unpack_virtq_used_event(bytes_i[15:0]));
        bytes_o[15:0] = pack_virtq_used_event(virtq_used_event_of(fields_i[15:0]));
      end
      16'd162: begin
        fields_o[63:0] = virtq_used_elem_fields(unpack_virtq_used_elem(bytes_i[63:0]));
        bytes_o[63:0] = pack_virtq_used_elem(virtq_used_elem_of(fields_i[63:0]));
      end
      16'd163: begin
        fields_o[31:0] = virtq_used_fields(unpack_virtq_used(bytes_i[31:0]));
        bytes_o[31:0] = pack_virtq_used(virtq_used_of(fields_i[31:0]));
      end
      16'd164: begin
        fields_o[15:0] = virtq_avail_event_fields(unpack_virtq_avail_event(bytes_i[15:0]));
        bytes_o[15:0] = pack_virtq_avail_event(virtq_avail_event_of(fields_i[15:0]));
      end
      16'd165: begin
        fields_o[127:0] = pvirtq_desc_fields(unpack_pvirtq_desc(bytes_i[127:0]));
        bytes_o[127:0] = pack_pvirtq_desc(pvirtq_desc_of(fields_i[127:0]));
      end
      16'd166: begin
        fields_o[31:0] = pvirtq_event_suppress_fields(unpack_pvirtq_event_suppress(bytes_i[31:0]));
        bytes_o[31:0] = pack_pvirtq_event_suppress(pvirtq_event_suppress_of(fields_i[31:0]));
      end
      16'd167: begin
        fields_o[15:0] = virtq_notification_fields(unpack_virtq_notification(bytes_i[15:0]));
        bytes_o[15:0] = pack_virtq_notification(virtq_notification_of(fields_i[15:0]));
      end
      16'd168: begin
        fields_o[31:0] = virtq_notification_data_fields(unpack_virtq_notification_data(bytes_i[31:0]));
        bytes_o[31:0] = pack_virtq_notification_data(virtq_notification_data_of(fields_i[31:0]));
      end
      16'd169: begin
        fields_o[31:0] = pvirtq_notification_data_fields(unpack_pvirtq_notification_data(bytes_i[31:0]));
        bytes_o[31:0] = pack_pvirtq_notification_data(pvirtq_notification_data_of(fields_i[31:0]));
      end
      16'd170: begin
        fields_o[111:0] = ethernet_fields(unpack_ethernet(bytes_i[111:0]));
        bytes_o[111:0] = pack_ethernet(ethernet_of(fields_i[111:0]));
      end
      16'd171: begin
        fields_o[31:0] = vlan_tag_fields(unpack_vlan_tag(bytes_i[31:0]));
        bytes_o[31:0] = pack_vlan_tag(vlan_tag_of(fields_i[31:0]));
      end
      16'd172: begin
        fields_o[159:0] = ipv4_fields(unpack_ipv4(bytes_i[159:0]));
        bytes_o[159:0] = pack_ipv4(ipv4_of(fields_i[159:0]));
        icrc_ones_o[159:0] = pack_ipv4(Ipv4IcrcOnes);
      end
      16'd173: begin
        fields_o[319:0] = ipv6_fields(unpack_ipv6(bytes_i[319:0]));
        bytes_o[319:0] = pack_ipv6(ipv6_of(fields_i[319:0]));
        icrc_ones_o[319:0] = pack_ipv6(Ipv6IcrcOnes);
      end
      16'd174: begin
        fields_o[63:0] = udp_fields(unpack_udp(bytes_i[63:0]));
        bytes_o[63:0] = pack_udp(udp_of(fields_i[63:0]));
        icrc_ones_o[63:0] = pack_udp(UdpIcrcOnes);
      end
      16'd175: begin
        fields_o[319:0] = grh_fields(unpack_grh(bytes_i[319:0]));
        bytes_o[319:0] = pack_grh(grh_of(fields_i[319:0]));
      end
      16'd176: begin
        fields_o[95:0] = bth_fields(unpack_bth(bytes_i[95:0]));
        bytes_o[95:0] = pack_bth(bth_of(fields_i[95:0]));
        icrc_ones_o[95:0] = pack_bth(BthIcrcOnes);
      end
      16'd177: begin
        fields_o[127:0] = reth_fields(unpack_reth(bytes_i[127:0]));
        bytes_o[127:0] = pack_reth(reth_of(fields_i[127:0]));
      end
      16'd178: begin
        fields_o[31:0] = aeth_fields(unpack_aeth(bytes_i[31:0]));
        bytes_o[31:0] = pack_aeth(aeth_of(fields_i[31:0]));
      end
      16'd179: begin
        fields_o[63:0] = deth_fields(unpack_deth(bytes_i[63:0]));
        bytes_o[63:0] = pack_deth(deth_of(fields_i[63:0]));
      end
      16'd180: begin
        fields_o[31:0] = immdt_fields(unpack_immdt(bytes_i[31:0]));
        bytes_o[31:0] = pack_immdt(immdt_of(fields_i[31:0]));
      end
      16'd181: begin
        fields_o[31:0] = ieth_fields(unpack_ieth(bytes_i[31:0]));
        bytes_o[31:0] = pack_ieth(ieth_of(fields_i[31:0]));
      end
      16'd182: begin
        fields_o[223:0] = atomic_eth_fields(unpack_atomic_eth(bytes_i[223:0]));
        bytes_o[223:0] = pack_atomic_eth(atomic_eth_of(fields_i[223:0]));
      end
      16'd183: begin
        fields_o[63:0] = atomic_ack_eth_fields(unpack_atomic_ack_eth(bytes_i[63:0]));
        bytes_o[63:0] = pack_atomic_ack_eth(atomic_ack_eth_of(fields_i[63:0]));
      end
      16'd184: begin
        fields_o[31:0] = feth_fields(unpack_feth(bytes_i[31:0]));
        bytes_o[31:0] = pack_feth(feth_of(fields_i[31:0]));
      end
      16'd185: begin
        fields_o[31:0] = mgmt_version_fields(unpack_mgmt_version(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_version(mgmt_version_of(fields_i[31:0]));
      end
      16'd186: begin
        fields_o[31:0] = mgmt_abi_profile_fields(unpack_mgmt_abi_profile(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_abi_profile(mgmt_abi_profile_of(fields_i[31:0]));
      end
      16'd187: begin
        fields_o[31:0] = mgmt_control_fields(unpack_mgmt_control(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_control(mgmt_control_of(fields_i[31:0]));
      end
      16'd188: begin
        fields_o[31:0] = mgmt_status_fields(unpack_mgmt_status(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_status(mgmt_status_of(fields_i[31:0]));
      end
      16'd189: begin
        fields_o[31:0] = mgmt_interrupt_cause_fields(unpack_mgmt_interrupt_cause(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_interrupt_cause(mgmt_interrupt_cause_of(fields_i[31:0]));
      end
      16'd190: begin
        fields_o[31:0] = mgmt_mailbox_status_fields(unpack_mgmt_mailbox_status(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_mailbox_status(mgmt_mailbox_status_of(fields_i[31:0]));
      end
      16'd191: begin
        fields_o[31:0] = mgmt_table_command_fields(unpack_mgmt_table_command(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_table_command(mgmt_table_command_of(fields_i[31:0]));
      end
      16'd192: begin
        fields_o[31:0] = mgmt_qp_command_fields(unpack_mgmt_qp_command(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_qp_command(mgmt_qp_command_of(fields_i[31:0]));
      end
      16'd193: begin
        fields_o[31:0] = mgmt_flip_entry_fields(unpack_mgmt_flip_entry(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_flip_entry(mgmt_flip_entry_of(fields_i[31:0]));
      end
      16'd194: begin
        fields_o[31:0] = mgmt_rx_mode_fields(unpack_mgmt_rx_mode(bytes_i[31:0]));
        bytes_o[31:0] = pack_mgmt_rx_mode(mgmt_rx_mode_of(fields_i[31:0]));
      end
      16'd195: begin
        fields_o[31:0] = processor_console_fields(unpack_processor_console(bytes_i[31:0]));
        bytes_o[31:0] = pack_processor_console(processor_console_of(fields_i[31:0]));
      end
      16'd196: begin
        fields_o[31:0] = processor_last_failure_fields(unpack_processor_last_failure(bytes_i[31:0]));
        bytes_o[31:0] = pack_processor_last_failure(processor_last_failure_of(fields_i[31:0]));
      end
      default: ;
    endcase
  end

  always_comb begin
    unique case (number_i)
      16'd0: number_o = 64'(BoardVersion);
      16'd1: number_o = 64'(BoardMagic);
      16'd2: number_o = 64'(BoardFlag);
      16'd3: number_o = 64'(BoardEscape);
      16'd4: number_o = 64'(BoardEscapeBit);
      16'd5: number_o = 64'(BoardPayloadMax);
      16'd6: number_o = 64'(BoardBeatsMax);
      16'd7: number_o = 64'(NetMqVqPairsMin);
      16'd8: number_o = 64'(NetMqVqPairsMax);
      16'd9: number_o = 64'(NetSpeedMax);
      16'd10: number_o = 64'(NetSpeedUnknown);
      16'd11: number_o = 64'(NetMtuMin);
      16'd12: number_o = 64'(NetMtuRecommended);
      16'd13: number_o = 64'(NetRssKeyBytesMin);
      16'd14: number_o = 64'(NetRssTableEntriesMin);
      16'd15: number_o = 64'(NetPacketBytesMax);
      16'd16: number_o = 64'(NetPacketBytesMaxGso);
      16'd17: number_o = 64'(PciVendorId);
      16'd18: number_o = 64'(PciDeviceIdBase);
      16'd19: number_o = 64'(PciDeviceId);
      16'd20: number_o = 64'(PciDeviceIdTransitional);
      16'd21: number_o = 64'(PciRevisionId);
      16'd22: number_o = 64'(PciSubsystemVendorId);
      16'd23: number_o = 64'(PciSubsystemId);
      16'd24: number_o = 64'(PciClassCode);
      16'd25: number_o = 64'(PciConfigBytes);
      16'd26: number_o = 64'(PcieConfigBytes);
      16'd27: number_o = 64'(PciCapAtCommonCfg);
      16'd28: number_o = 64'(PciCapAtNotifyCfg);
      16'd29: number_o = 64'(PciCapAtIsrCfg);
      16'd30: number_o = 64'(PciCapAtDeviceCfg);
      16'd31: number_o = 64'(PciCapAtPciCfg);
      16'd32: number_o = 64'(PciCapAtMsix);
      16'd33: number_o = 64'(PciCapAtPcie);
      16'd34: number_o = 64'(PciCapAtPm);
      16'd35: number_o = 64'(PcieSizeUnit);
      16'd36: number_o = 64'(PcieRequestBoundary);
      16'd37: number_o = 64'(MsixVectorsMax);
      16'd38: number_o = 64'(BarVirtio);
      16'd39: number_o = 64'(BarVirtioBytes);
      16'd40: number_o = 64'(BarVirtioCommonCfg);
      16'd41: number_o = 64'(BarVirtioIsrCfg);
      16'd42: number_o = 64'(BarVirtioDeviceCfg);
      16'd43: number_o = 64'(BarVirtioCfgBytes);
      16'd44: number_o = 64'(BarVirtioNotify);
      16'd45: number_o = 64'(BarVirtioNotifyBytes);
      16'd46: number_o = 64'(NotifyOffMultiplier);
      16'd47: number_o = 64'(NotifyQueuesMax);
      16'd48: number_o = 64'(NotifyPageQueue);
      16'd49: number_o = 64'(BarMsix);
      16'd50: number_o = 64'(BarMsixBytes);
      16'd51: number_o = 64'(BarMsixTable);
      16'd52: number_o = 64'(BarMsixPba);
      16'd53: number_o = 64'(ProcessorStackBytes);
      16'd54: number_o = 64'(ProcessorMemoryLimit);
      16'd55: number_o = 64'(ProcessorRegistersBase);
      16'd56: number_o = 64'(ProcessorManagementBase);
      16'd57: number_o = 64'(ProcessorSettingsOffset);
      16'd58: number_o = 64'(ProcessorSettingsMagic);
      16'd59: number_o = 64'(ProfileDefault);
      16'd60: number_o = 64'(RfcV2Constants.net_f_roce);
      16'd61: number_o = 64'(VireoConstants.net_f_roce);
      16'd62: number_o = 64'(RfcV2Constants.net_ctrl_class_roce);
      16'd63: number_o = 64'(VireoConstants.net_ctrl_class_roce);
      16'd64: number_o = 64'(RfcV2Constants.net_config_rdma_offset);
      16'd65: number_o = 64'(VireoConstants.net_config_rdma_offset);
      16'd66: number_o = 64'(RfcV2Constants.net_features_withheld);
      16'd67: number_o = 64'(VireoConstants.net_features_withheld);
      16'd68: number_o = 64'(RfcV2Constants.rdma_event_queues);
      16'd69: number_o = 64'(VireoConstants.rdma_event_queues);
      16'd70: number_o = 64'(RfcV2Constants.rdma_last_command);
      16'd71: number_o = 64'(VireoConstants.rdma_last_command);
      16'd72: number_o = 64'(RfcV2Constants.rdma_has_error_codes);
      16'd73: number_o = 64'(VireoConstants.rdma_has_error_codes);
      16'd74: number_o = 64'(RfcV2Constants.rdma_has_additions);
      16'd75: number_o = 64'(VireoConstants.rdma_has_additions);
      16'd76: number_o = 64'(RfcV2Constants.rdma_has_cq_arm);
      16'd77: number_o = 64'(VireoConstants.rdma_has_cq_arm);
      16'd78: number_o = 64'(RfcV2Constants.rdma_needs_ring_reset);
      16'd79: number_o = 64'(VireoConstants.rdma_needs_ring_reset);
      16'd80: number_o = 64'(RdmaCompleteqOffset);
      16'd81: number_o = 64'(RdmaTransmitqOffset);
      16'd82: number_o = 64'(RdmaReceiveqOffset);
      16'd83: number_o = 64'(RdmaEventqOffset);
      16'd84: number_o = 64'(RdmaFirstQpn);
      16'd85: number_o = 64'(RdmaQpsMin);
      16'd86: number_o = 64'(RdmaQpsMax);
      16'd87: number_o = 64'(RdmaCqsMin);
      16'd88: number_o = 64'(RdmaCqsMax);
      16'd89: number_o = 64'(RdmaGidsMax);
      16'd90: number_o = 64'(RdmaInlineBytes);
      16'd91: number_o = 64'(RdmaUdGrhBytes);
      16'd92: number_o = 64'(RdmaPageShiftDefault);
      16'd93: number_o = 64'(RdmaPageShiftMin);
      16'd94: number_o = 64'(RdmaPageShiftMax);
      16'd95: number_o = 64'(RdmaPortNum);
      16'd96: number_o = 64'(RdmaCqArmOffset);
      16'd97: number_o = 64'(RdmaSqVersion);
      16'd98: number_o = 64'(RdmaPushOffset);
      16'd99: number_o = 64'(RdmaPushEndOffset);
      16'd100: number_o = 64'(RdmaPushMost);
      16'd101: number_o = 64'(RdmaCqVersion);
      16'd102: number_o = 64'(TableMacFilterEntries);
      16'd103: number_o = 64'(TableVlanFilterBits);
      16'd104: number_o = 64'(TableRssKeyBytes);
      16'd105: number_o = 64'(TableRssQueues);
      16'd106: number_o = 64'(DmaFetchBytes);
      16'd107: number_o = 64'(DmaFetchDepth);
      16'd108: number_o = 64'(BarReadLatency);
      16'd109: number_o = 64'(BuffersPerRequest);
      16'd110: number_o = 64'(ReceiveBuffersPerRequest);
      16'd111: number_o = 64'(SendBuffersPerRequest);
      16'd112: number_o = 64'(NetBuffersPerRequest);
      16'd113: number_o = 64'(NetWriteBytes);
      16'd114: number_o = 64'(KeyGenerations);
      16'd115: number_o = 64'(TxInlineBytes);
      16'd116: number_o = 64'(SendAckPackets);
      16'd117: number_o = 64'(SendReadsPerBurst);
      16'd118: number_o = 64'(AtomicBytes);
      16'd119: number_o = 64'(AtomicsInFlight);
      16'd120: number_o = 64'(NetTxFrames);
      16'd121: number_o = 64'(NetChainDescriptors);
      16'd122: number_o = 64'(NetReceivesAhead);
      16'd123: number_o = 64'(VirtioFeatureBits);
      16'd124: number_o = 64'(VirtioFeatureDeviceLowEnd);
      16'd125: number_o = 64'(VirtioFeatureDeviceHigh);
      16'd126: number_o = 64'(VirtioMsiNoVector);
      16'd127: number_o = 64'(VirtioQueuesMax);
      16'd128: number_o = 64'(VirtqSizeMax);
      16'd129: number_o = 64'(VirtqDescAlign);
      16'd130: number_o = 64'(VirtqAvailAlign);
      16'd131: number_o = 64'(VirtqUsedAlign);
      16'd132: number_o = 64'(PvirtqSizeMax);
      16'd133: number_o = 64'(PvirtqDescAlign);
      16'd134: number_o = 64'(PvirtqEventSuppressAlign);
      16'd135: number_o = 64'(EthernetFrameBytesMin);
      16'd136: number_o = 64'(UdpPortRocev2);
      16'd137: number_o = 64'(UdpSourcePortBase);
      16'd138: number_o = 64'(LocalAckTimeoutUnitNs);
      16'd139: number_o = 64'(IcrcBytes);
      16'd140: number_o = 64'(IcrcPolynomial);
      16'd141: number_o = 64'(IcrcPrefixBytes);
      16'd142: number_o = 64'(IcrcResidue);
      16'd143: number_o = 64'(PkeyDefault);
      16'd144: number_o = 64'(PsnBits);
      16'd145: number_o = 64'(GsiQpn);
      16'd146: number_o = 64'(GsiQkey);
      16'd147: number_o = 64'(MulticastQpn);
      16'd148: number_o = 64'(TableKeptWords[0]);
      16'd149: number_o = 64'(TableKeptWords[1]);
      16'd150: number_o = 64'(TableKeptWords[2]);
      16'd151: number_o = 64'(TableKeptWords[3]);
      16'd152: number_o = 64'(TableKeptWords[4]);
      16'd153: number_o = 64'(TableKeptWords[5]);
      16'd154: number_o = 64'(TableKeptWords[6]);
      16'd155: number_o = 64'(TableKeptWords[7]);
      16'd156: number_o = 64'(TableKeptWords[8]);
      16'd157: number_o = 64'(TableKeptWords[9]);
      16'd158: number_o = 64'(TableKeptWords[10]);
      16'd159: number_o = 64'(TableKeptWords[11]);
      16'd160: number_o = 64'(OfferedFeatures[0]);
      16'd161: number_o = 64'(OfferedFeatures[1]);
      16'd162: number_o = 64'(OfferedFeatures[2]);
      16'd163: number_o = 64'(OfferedFeatures[3]);
      16'd164: number_o = 64'(AethCredits[0]);
      16'd165: number_o = 64'(AethCredits[1]);
      16'd166: number_o = 64'(AethCredits[2]);
      16'd167: number_o = 64'(AethCredits[3]);
      16'd168: number_o = 64'(AethCredits[4]);
      16'd169: number_o = 64'(AethCredits[5]);
      16'd170: number_o = 64'(AethCredits[6]);
      16'd171: number_o = 64'(AethCredits[7]);
      16'd172: number_o = 64'(AethCredits[8]);
      16'd173: number_o = 64'(AethCredits[9]);
      16'd174: number_o = 64'(AethCredits[10]);
      16'd175: number_o = 64'(AethCredits[11]);
      16'd176: number_o = 64'(AethCredits[12]);
      16'd177: number_o = 64'(AethCredits[13]);
      16'd178: number_o = 64'(AethCredits[14]);
      16'd179: number_o = 64'(AethCredits[15]);
      16'd180: number_o = 64'(AethCredits[16]);
      16'd181: number_o = 64'(AethCredits[17]);
      16'd182: number_o = 64'(AethCredits[18]);
      16'd183: number_o = 64'(AethCredits[19]);
      16'd184: number_o = 64'(AethCredits[20]);
      16'd185: number_o = 64'(AethCredits[21]);
      16'd186: number_o = 64'(AethCredits[22]);
      16'd187: number_o = 64'(AethCredits[23]);
      16'd188: number_o = 64'(AethCredits[24]);
      16'd189: number_o = 64'(AethCredits[25]);
      16'd190: number_o = 64'(AethCredits[26]);
      16'd191: number_o = 64'(AethCredits[27]);
      16'd192: number_o = 64'(AethCredits[28]);
      16'd193: number_o = 64'(AethCredits[29]);
      16'd194: number_o = 64'(AethCredits[30]);
      16'd195: number_o = 64'(AethCredits[31]);
      16'd196: number_o = 64'(RnrTimerNs[0]);
      16'd197: number_o = 64'(RnrTimerNs[1]);
      16'd198: number_o = 64'(RnrTimerNs[2]);
      16'd199: number_o = 64'(RnrTimerNs[3]);
      16'd200: number_o = 64'(RnrTimerNs[4]);
      16'd201: number_o = 64'(RnrTimerNs[5]);
      16'd202: number_o = 64'(RnrTimerNs[6]);
      16'd203: number_o = 64'(RnrTimerNs[7]);
      16'd204: number_o = 64'(RnrTimerNs[8]);
      16'd205: number_o = 64'(RnrTimerNs[9]);
      16'd206: number_o = 64'(RnrTimerNs[10]);
      16'd207: number_o = 64'(RnrTimerNs[11]);
      16'd208: number_o = 64'(RnrTimerNs[12]);
      16'd209: number_o = 64'(RnrTimerNs[13]);
      16'd210: number_o = 64'(RnrTimerNs[14]);
      16'd211: number_o = 64'(RnrTimerNs[15]);
      16'd212: number_o = 64'(RnrTimerNs[16]);
      16'd213: number_o = 64'(RnrTimerNs[17]);
      16'd214: number_o = 64'(RnrTimerNs[18]);
      16'd215: number_o = 64'(RnrTimerNs[19]);
      16'd216: number_o = 64'(RnrTimerNs[20]);
      16'd217: number_o = 64'(RnrTimerNs[21]);
      16'd218: number_o = 64'(RnrTimerNs[22]);
      16'd219: number_o = 64'(RnrTimerNs[23]);
      16'd220: number_o = 64'(RnrTimerNs[24]);
      16'd221: number_o = 64'(RnrTimerNs[25]);
      16'd222: number_o = 64'(RnrTimerNs[26]);
      16'd223: number_o = 64'(RnrTimerNs[27]);
      16'd224: number_o = 64'(RnrTimerNs[28]);
      16'd225: number_o = 64'(RnrTimerNs[29]);
      16'd226: number_o = 64'(RnrTimerNs[30]);
      16'd227: number_o = 64'(RnrTimerNs[31]);
      16'd228: number_o = 64'(BoardFrameHello);
      16'd229: number_o = 64'(BoardFrameData);
      16'd230: number_o = 64'(BoardFrameMore);
      16'd231: number_o = 64'(BoardFrameNoSession);
      16'd232: number_o = 64'(BoardCommandReset);
      16'd233: number_o = 64'(BoardCommandRun);
      16'd234: number_o = 64'(BoardCommandTime);
      16'd235: number_o = 64'(BoardCommandControls);
      16'd236: number_o = 64'(BoardCommandBar);
      16'd237: number_o = 64'(BoardCommandCsr);
      16'd238: number_o = 64'(BoardCommandCredits);
      16'd239: number_o = 64'(BoardCommandRefuse);
      16'd240: number_o = 64'(BoardCommandReadBeats);
      16'd241: number_o = 64'(BoardCommandFrameBeats);
      16'd242: number_o = 64'(BoardCommandLoad);
      16'd243: number_o = 64'(BoardCommandStart);
      16'd244: number_o = 64'(BoardCommandAdmit);
      16'd245: number_o = 64'(BoardEventBarAnswer);
      16'd246: number_o = 64'(BoardEventCsrAnswer);
      16'd247: number_o = 64'(BoardEventInterrupt);
      16'd248: number_o = 64'(BoardEventRead);
      16'd249: number_o = 64'(BoardEventWriteBeat);
      16'd250: number_o = 64'(BoardEventWriteStart);
      16'd251: number_o = 64'(BoardEventMsix);
      16'd252: number_o = 64'(BoardEventTransmit);
      16'd253: number_o = 64'(BoardEventAccess);
      16'd254: number_o = 64'(BoardEventRan);
      16'd255: number_o = 64'(BoardEventConsole);
      16'd256: number_o = 64'(BoardEventRefused);
      16'd257: number_o = 64'(MgmtTableVirtqueue);
      16'd258: number_o = 64'(MgmtTableWindow);
      16'd259: number_o = 64'(MgmtTableQpContext);
      16'd260: number_o = 64'(MgmtTableCqContext);
      16'd261: number_o = 64'(MgmtTableMr);
      16'd262: number_o = 64'(MgmtTableTranslation);
      16'd263: number_o = 64'(MgmtTableAh);
      16'd264: number_o = 64'(MgmtTableGid);
      16'd265: number_o = 64'(MgmtTableMacFilter);
      16'd266: number_o = 64'(MgmtTableVlanFilter);
      16'd267: number_o = 64'(MgmtTableRss);
      16'd268: number_o = 64'(MgmtTableMcast);
      16'd269: number_o = 64'(MgmtTableOperationRead);
      16'd270: number_o = 64'(MgmtTableOperationWrite);
      16'd271: number_o = 64'(MgmtTableOperationClear);
      16'd272: number_o = 64'(QpOperationStart);
      16'd273: number_o = 64'(QpOperationDrain);
      16'd274: number_o = 64'(QpOperationFlush);
      16'd275: number_o = 64'(QpOperationStop);
      16'd276: number_o = 64'(ContextRamManagementContext);
      16'd277: number_o = 64'(ContextRamManagementQueueRow);
      16'd278: number_o = 64'(ContextRamManagementEngineState);
      16'd279: number_o = 64'(ContextRamMemoryCheckMr);
      16'd280: number_o = 64'(ContextRamMemoryCheckTranslation);
      16'd281: number_o = 64'(ContextRamDescFetchServed);
      16'd282: number_o = 64'(ContextRamDescFetchArea);
      16'd283: number_o = 64'(ContextRamDescFetchSize);
      16'd284: number_o = 64'(ContextRamDescFetchDescriptors);
      16'd285: number_o = 64'(ContextRamDescFetchWindow);
      16'd286: number_o = 64'(ContextRamRequesterQp);
      16'd287: number_o = 64'(ContextRamRequesterAh);
      16'd288: number_o = 64'(ContextRamResponderQp);
      16'd289: number_o = 64'(ContextRamNetFilterMac);
      16'd290: number_o = 64'(ContextRamNetFilterVlan);
      16'd291: number_o = 64'(ContextRamModerationLimits);
      16'd292: number_o = 64'(ContextRamModerationCount);
      16'd293: number_o = 64'(ContextRamQpControlQueue);
      16'd294: number_o = 64'(ContextRamQpControlCqs);
      16'd295: number_o = 64'(ContextRamQpControlRequested);
      16'd296: number_o = 64'(ContextRamQpControlState);
      16'd297: number_o = 64'(ContextRamTxBuilderQp);
      16'd298: number_o = 64'(ContextRamTxBuilderAh);
      16'd299: number_o = 64'(ContextRamReadResponderQp);
      16'd300: number_o = 64'(ContextRamCompleterQp);
      16'd301: number_o = 64'(ContextRamCqWriterRow);
      16'd302: number_o = 64'(ContextRamCqWriterKind);
      16'd303: number_o = 64'(ContextRamCqWriterCq);
      16'd304: number_o = 64'(ContextRamManagementMrBinding);
      16'd305: number_o = 64'(RxVerdictRoce);
      16'd306: number_o = 64'(RxVerdictNet);
      16'd307: number_o = 64'(RxVerdictTruncated);
      16'd308: number_o = 64'(RxVerdictIpHeader);
      16'd309: number_o = 64'(RxVerdictIpFragment);
      16'd310: number_o = 64'(RxVerdictUdpLength);
      16'd311: number_o = 64'(RxVerdictIcrc);
      16'd312: number_o = 64'(RxVerdictTransportVersion);
      16'd313: number_o = 64'(RxVerdictOpcode);
      16'd314: number_o = 64'(RxVerdictLength);
      16'd315: number_o = 64'(FatalCauseNone);
      16'd316: number_o = 64'(FatalCauseFirmware);
      16'd317: number_o = 64'(FatalCauseBus);
      16'd318: number_o = 64'(FatalCauseMemory);
      16'd319: number_o = 64'(RdmaErrorOk);
      16'd320: number_o = 64'(RdmaErrorErr);
      16'd321: number_o = 64'(RdmaErrorUnsupportedCommand);
      16'd322: number_o = 64'(RdmaErrorFeatureNotNegotiated);
      16'd323: number_o = 64'(RdmaErrorRequestTooShort);
      16'd324: number_o = 64'(RdmaErrorResponseTooShort);
      16'd325: number_o = 64'(RdmaErrorDmaError);
      16'd326: number_o = 64'(RdmaErrorInternal);
      16'd327: number_o = 64'(RdmaErrorBadPdn);
      16'd328: number_o = 64'(RdmaErrorBadCqn);
      16'd329: number_o = 64'(RdmaErrorBadQpn);
      16'd330: number_o = 64'(RdmaErrorBadMrn);
      16'd331: number_o = 64'(RdmaErrorBadAh);
      16'd332: number_o = 64'(RdmaErrorBadGidIndex);
      16'd333: number_o = 64'(RdmaErrorBadVqIndex);
      16'd334: number_o = 64'(RdmaErrorHandleBusy);
      16'd335: number_o = 64'(RdmaErrorBadSrqn);
      16'd336: number_o = 64'(RdmaErrorInvalidParameter);
      16'd337: number_o = 64'(RdmaErrorUnsupportedQpType);
      16'd338: number_o = 64'(RdmaErrorBadAccessFlags);
      16'd339: number_o = 64'(RdmaErrorCapCqeExceeded);
      16'd340: number_o = 64'(RdmaErrorCapWrExceeded);
      16'd341: number_o = 64'(RdmaErrorCapSgeExceeded);
      16'd342: number_o = 64'(RdmaErrorCapInlineExceeded);
      16'd343: number_o = 64'(RdmaErrorUnsupportedCqElement);
      16'd344: number_o = 64'(RdmaErrorNotAUdQp);
      16'd345: number_o = 64'(RdmaErrorCurStateMismatch);
      16'd346: number_o = 64'(RdmaErrorInvalidStateTransition);
      16'd347: number_o = 64'(RdmaErrorMissingAttribute);
      16'd348: number_o = 64'(RdmaErrorAttributeNotAllowed);
      16'd349: number_o = 64'(RdmaErrorInvalidAttribute);
      16'd350: number_o = 64'(RdmaErrorInvalidAddress);
      16'd351: number_o = 64'(RdmaErrorQueueNotReady);
      16'd352: number_o = 64'(RdmaErrorInvalidLength);
      16'd353: number_o = 64'(RdmaErrorInvalidPageSize);
      16'd354: number_o = 64'(RdmaErrorPageListTooLong);
      16'd355: number_o = 64'(RdmaErrorPageCountMismatch);
      16'd356: number_o = 64'(RdmaErrorUnalignedPage);
      16'd357: number_o = 64'(RdmaErrorUnsupportedGidType);
      16'd358: number_o = 64'(RdmaErrorInvalidVlan);
      16'd359: number_o = 64'(RdmaErrorInvalidGid);
      16'd360: number_o = 64'(RdmaErrorGidIndexInUse);
      16'd361: number_o = 64'(RdmaErrorGidDuplicate);
      16'd362: number_o = 64'(RdmaErrorInvalidWindow);
      16'd363: number_o = 64'(RdmaErrorNotAttached);
      16'd364: number_o = 64'(RdmaErrorNoFreePd);
      16'd365: number_o = 64'(RdmaErrorNoFreeCq);
      16'd366: number_o = 64'(RdmaErrorNoFreeQp);
      16'd367: number_o = 64'(RdmaErrorNoFreeMr);
      16'd368: number_o = 64'(RdmaErrorNoFreeAh);
      16'd369: number_o = 64'(RdmaErrorNoFreePages);
      16'd370: number_o = 64'(RdmaErrorNoFreeSrq);
      16'd371: number_o = 64'(RdmaErrorNoFreeMcast);
      16'd372: number_o = 64'(RdmaErrorWindowViolation);
      16'd373: number_o = 64'(RdmaErrorBadDescriptor);
      16'd374: number_o = 64'(RdmaErrorBadWqe);
      16'd375: number_o = 64'(RdmaErrorCqOverrun);
      16'd376: number_o = 64'(RdmaErrorCqFailed);
      16'd377: number_o = 64'(RdmaErrorQueueReset);
      16'd378: number_o = 64'(RdmaErrorQueueDmaError);
      16'd379: number_o = 64'(RdmaErrorRetryExceeded);
      16'd380: number_o = 64'(RdmaErrorRnrRetryExceeded);
      16'd381: number_o = 64'(RdmaErrorRemoteInvalidRequest);
      16'd382: number_o = 64'(RdmaErrorRemoteAccessError);
      16'd383: number_o = 64'(RdmaErrorRemoteOperationalError);
      16'd384: number_o = 64'(RdmaErrorBadResponse);
      16'd385: number_o = 64'(NetFeatureCsum);
      16'd386: number_o = 64'(NetFeatureGuestCsum);
      16'd387: number_o = 64'(NetFeatureCtrlGuestOffloads);
      16'd388: number_o = 64'(NetFeatureMtu);
      16'd389: number_o = 64'(NetFeatureMac);
      16'd390: number_o = 64'(NetFeatureGso);
      16'd391: number_o = 64'(NetFeatureGuestTso4);
      16'd392: number_o = 64'(NetFeatureGuestTso6);
      16'd393: number_o = 64'(NetFeatureGuestEcn);
      16'd394: number_o = 64'(NetFeatureGuestUfo);
      16'd395: number_o = 64'(NetFeatureHostTso4);
      16'd396: number_o = 64'(NetFeatureHostTso6);
      16'd397: number_o = 64'(NetFeatureHostEcn);
      16'd398: number_o = 64'(NetFeatureHostUfo);
      16'd399: number_o = 64'(NetFeatureMrgRxbuf);
      16'd400: number_o = 64'(NetFeatureStatus);
      16'd401: number_o = 64'(NetFeatureCtrlVq);
      16'd402: number_o = 64'(NetFeatureCtrlRx);
      16'd403: number_o = 64'(NetFeatureCtrlVlan);
      16'd404: number_o = 64'(NetFeatureCtrlRxExtra);
      16'd405: number_o = 64'(NetFeatureGuestAnnounce);
      16'd406: number_o = 64'(NetFeatureMq);
      16'd407: number_o = 64'(NetFeatureCtrlMacAddr);
      16'd408: number_o = 64'(NetFeatureGuestRsc4);
      16'd409: number_o = 64'(NetFeatureGuestRsc6);
      16'd410: number_o = 64'(NetFeatureDeviceStats);
      16'd411: number_o = 64'(NetFeatureHashTunnel);
      16'd412: number_o = 64'(NetFeatureVqNotfCoal);
      16'd413: number_o = 64'(NetFeatureNotfCoal);
      16'd414: number_o = 64'(NetFeatureGuestUso4);
      16'd415: number_o = 64'(NetFeatureGuestUso6);
      16'd416: number_o = 64'(NetFeatureHostUso);
      16'd417: number_o = 64'(NetFeatureHashReport);
      16'd418: number_o = 64'(NetFeatureGuestHdrlen);
      16'd419: number_o = 64'(NetFeatureRss);
      16'd420: number_o = 64'(NetFeatureRscExt);
      16'd421: number_o = 64'(NetFeatureStandby);
      16'd422: number_o = 64'(NetFeatureSpeedDuplex);
      16'd423: number_o = 64'(NetFeatureRssContext);
      16'd424: number_o = 64'(NetFeatureGuestUdpTunnelGso);
      16'd425: number_o = 64'(NetFeatureGuestUdpTunnelGsoCsum);
      16'd426: number_o = 64'(NetFeatureHostUdpTunnelGso);
      16'd427: number_o = 64'(NetFeatureHostUdpTunnelGsoCsum);
      16'd428: number_o = 64'(NetFeatureOutNetHeader);
      16'd429: number_o = 64'(NetFeatureIpsec);
      16'd430: number_o = 64'(NetDuplexHalf);
      16'd431: number_o = 64'(NetDuplexFull);
      16'd432: number_o = 64'(NetDuplexUnknown);
      16'd433: number_o = 64'(NetHdrGsoNone);
      16'd434: number_o = 64'(NetHdrGsoTcpv4);
      16'd435: number_o = 64'(NetHdrGsoUdp);
      16'd436: number_o = 64'(NetHdrGsoTcpv6);
      16'd437: number_o = 64'(NetHdrGsoUdpL4);
      16'd438: number_o = 64'(NetHashReportNone);
      16'd439: number_o = 64'(NetHashReportIpv4);
      16'd440: number_o = 64'(NetHashReportTcpv4);
      16'd441: number_o = 64'(NetHashReportUdpv4);
      16'd442: number_o = 64'(NetHashReportIpv6);
      16'd443: number_o = 64'(NetHashReportTcpv6);
      16'd444: number_o = 64'(NetHashReportUdpv6);
      16'd445: number_o = 64'(NetHashReportIpv6Ex);
      16'd446: number_o = 64'(NetHashReportTcpv6Ex);
      16'd447: number_o = 64'(NetHashReportUdpv6Ex);
      16'd448: number_o = 64'(NetCtrlAckOk);
      16'd449: number_o = 64'(NetCtrlAckErr);
      16'd450: number_o = 64'(NetCtrlClassRx);
      16'd451: number_o = 64'(NetCtrlClassMac);
      16'd452: number_o = 64'(NetCtrlClassVlan);
      16'd453: number_o = 64'(NetCtrlClassAnnounce);
      16'd454: number_o = 64'(NetCtrlClassMq);
      16'd455: number_o = 64'(NetCtrlClassGuestOffloads);
      16'd456: number_o = 64'(NetCtrlClassNotfCoal);
      16'd457: number_o = 64'(NetCtrlClassHashTunnel);
      16'd458: number_o = 64'(NetCtrlClassStats);
      16'd459: number_o = 64'(NetCtrlClassRssCtx);
      16'd460: number_o = 64'(NetCtrlRxCmdPromisc);
      16'd461: number_o = 64'(NetCtrlRxCmdAllmulti);
      16'd462: number_o = 64'(NetCtrlRxCmdAlluni);
      16'd463: number_o = 64'(NetCtrlRxCmdNomulti);
      16'd464: number_o = 64'(NetCtrlRxCmdNouni);
      16'd465: number_o = 64'(NetCtrlRxCmdNobcast);
      16'd466: number_o = 64'(NetCtrlMacCmdTableSet);
      16'd467: number_o = 64'(NetCtrlMacCmdAddrSet);
      16'd468: number_o = 64'(NetCtrlVlanCmdAdd);
      16'd469: number_o = 64'(NetCtrlVlanCmdDel);
      16'd470: number_o = 64'(NetCtrlAnnounceCmdAck);
      16'd471: number_o = 64'(NetCtrlMqCmdVqPairsSet);
      16'd472: number_o = 64'(NetCtrlMqCmdRssConfig);
      16'd473: number_o = 64'(NetCtrlMqCmdHashConfig);
      16'd474: number_o = 64'(NetCtrlGuestOffloadsCmdSet);
      16'd475: number_o = 64'(NetCtrlNotfCoalCmdTxSet);
      16'd476: number_o = 64'(NetCtrlNotfCoalCmdRxSet);
      16'd477: number_o = 64'(NetCtrlNotfCoalCmdVqSet);
      16'd478: number_o = 64'(NetCtrlNotfCoalCmdVqGet);
      16'd479: number_o = 64'(NetCtrlHashTunnelCmdSet);
      16'd480: number_o = 64'(NetCtrlRssCtxCmdCapGet);
      16'd481: number_o = 64'(NetCtrlRssCtxCmdAdd);
      16'd482: number_o = 64'(NetCtrlRssCtxCmdMod);
      16'd483: number_o = 64'(NetCtrlRssCtxCmdDel);
      16'd484: number_o = 64'(NetCtrlStatsCmdQuery);
      16'd485: number_o = 64'(NetCtrlStatsCmdGet);
      16'd486: number_o = 64'(NetStatsReplyTypeRxBasic);
      16'd487: number_o = 64'(NetStatsReplyTypeRxCsum);
      16'd488: number_o = 64'(NetStatsReplyTypeRxGso);
      16'd489: number_o = 64'(NetStatsReplyTypeRxSpeed);
      16'd490: number_o = 64'(NetStatsReplyTypeTxBasic);
      16'd491: number_o = 64'(NetStatsReplyTypeTxCsum);
      16'd492: number_o = 64'(NetStatsReplyTypeTxGso);
      16'd493: number_o = 64'(NetStatsReplyTypeTxSpeed);
      16'd494: number_o = 64'(NetStatsReplyTypeCvq);
      16'd495: number_o = 64'(BthServiceRc);
      16'd496: number_o = 64'(BthServiceUc);
      16'd497: number_o = 64'(BthServiceRd);
      16'd498: number_o = 64'(BthServiceUd);
      16'd499: number_o = 64'(BthServiceCnp);
      16'd500: number_o = 64'(BthServiceXrc);
      16'd501: number_o = 64'(BthOperationNone);
      16'd502: number_o = 64'(BthOperationSend);
      16'd503: number_o = 64'(BthOperationRdmaWrite);
      16'd504: number_o = 64'(BthOperationRdmaReadRequest);
      16'd505: number_o = 64'(BthOperationRdmaReadResponse);
      16'd506: number_o = 64'(BthOperationAcknowledge);
      16'd507: number_o = 64'(BthOperationAtomicAcknowledge);
      16'd508: number_o = 64'(BthOperationCompareSwap);
      16'd509: number_o = 64'(BthOperationFetchAdd);
      16'd510: number_o = 64'(BthOperationFlush);
      16'd511: number_o = 64'(BthOperationAtomicWrite);
      16'd512: number_o = 64'(BthOperationCongestionNotification);
      16'd513: number_o = 64'(PacketPositionMiddle);
      16'd514: number_o = 64'(PacketPositionFirst);
      16'd515: number_o = 64'(PacketPositionLast);
      16'd516: number_o = 64'(PacketPositionOnly);
      16'd517: number_o = 64'(PayloadRuleNone);
      16'd518: number_o = 64'(PayloadRuleMtu);
      16'd519: number_o = 64'(PayloadRuleOneToMtu);
      16'd520: number_o = 64'(PayloadRuleZeroToMtu);
      16'd521: number_o = 64'(PayloadRuleExact);
      16'd522: number_o = 64'(PciBarMemoryTypeMemory32);
      16'd523: number_o = 64'(PciBarMemoryTypeMemoryBelow);
      16'd524: number_o = 64'(PciBarMemoryTypeMemory64);
      16'd525: number_o = 64'(PciCapabilityIdPowerManagement);
      16'd526: number_o = 64'(PciCapabilityIdVpd);
      16'd527: number_o = 64'(PciCapabilityIdMsi);
      16'd528: number_o = 64'(PciCapabilityIdVendorSpecific);
      16'd529: number_o = 64'(PciCapabilityIdPciExpress);
      16'd530: number_o = 64'(PciCapabilityIdMsix);
      16'd531: number_o = 64'(PciCapabilityIdAdvancedFeatures);
      16'd532: number_o = 64'(PcieExtendedCapabilityIdAdvancedErrorReporting);
      16'd533: number_o = 64'(PcieExtendedCapabilityIdDeviceSerialNumber);
      16'd534: number_o = 64'(PcieExtendedCapabilityIdVendorSpecific);
      16'd535: number_o = 64'(PcieExtendedCapabilityIdAccessControlServices);
      16'd536: number_o = 64'(PcieExtendedCapabilityIdAlternativeRoutingId);
      16'd537: number_o = 64'(PcieExtendedCapabilityIdAddressTranslation);
      16'd538: number_o = 64'(PcieExtendedCapabilityIdSrIov);
      16'd539: number_o = 64'(PcieExtendedCapabilityIdPageRequest);
      16'd540: number_o = 64'(PcieExtendedCapabilityIdResizableBar);
      16'd541: number_o = 64'(PcieExtendedCapabilityIdTphRequester);
      16'd542: number_o = 64'(PcieExtendedCapabilityIdPasid);
      16'd543: number_o = 64'(PcieExtendedCapabilityIdDesignatedVendorSpecific);
      16'd544: number_o = 64'(PcieSizeBytes128);
      16'd545: number_o = 64'(PcieSizeBytes256);
      16'd546: number_o = 64'(PcieSizeBytes512);
      16'd547: number_o = 64'(PcieSizeBytes1024);
      16'd548: number_o = 64'(PcieSizeBytes2048);
      16'd549: number_o = 64'(PcieSizeBytes4096);
      16'd550: number_o = 64'(PciePortTypeEndpoint);
      16'd551: number_o = 64'(PciePortTypeLegacyEndpoint);
      16'd552: number_o = 64'(PciePortTypeRootPort);
      16'd553: number_o = 64'(PciePortTypeUpstreamPort);
      16'd554: number_o = 64'(PciePortTypeDownstreamPort);
      16'd555: number_o = 64'(PciePortTypePciBridge);
      16'd556: number_o = 64'(PciePortTypePcieBridge);
      16'd557: number_o = 64'(PciePortTypeRcEndpoint);
      16'd558: number_o = 64'(PciePortTypeRcEventCollector);
      16'd559: number_o = 64'(PcieLinkSpeedGen1);
      16'd560: number_o = 64'(PcieLinkSpeedGen2);
      16'd561: number_o = 64'(PcieLinkSpeedGen3);
      16'd562: number_o = 64'(PcieLinkSpeedGen4);
      16'd563: number_o = 64'(PcieLinkSpeedGen5);
      16'd564: number_o = 64'(PcieLinkSpeedGen6);
      16'd565: number_o = 64'(VirtioPciCfgTypeCommonCfg);
      16'd566: number_o = 64'(VirtioPciCfgTypeNotifyCfg);
      16'd567: number_o = 64'(VirtioPciCfgTypeIsrCfg);
      16'd568: number_o = 64'(VirtioPciCfgTypeDeviceCfg);
      16'd569: number_o = 64'(VirtioPciCfgTypePciCfg);
      16'd570: number_o = 64'(VirtioPciCfgTypeSharedMemoryCfg);
      16'd571: number_o = 64'(VirtioPciCfgTypeVendorCfg);
      16'd572: number_o = 64'(ProcessorFailureNone);
      16'd573: number_o = 64'(ProcessorFailureTrap);
      16'd574: number_o = 64'(ProcessorFailureBus);
      16'd575: number_o = 64'(ProcessorFailureWatchdog);
      16'd576: number_o = 64'(ProcessorFailureFirmware);
      16'd577: number_o = 64'(RdmaCtrlCmdQueryDevice);
      16'd578: number_o = 64'(RdmaCtrlCmdQueryPort);
      16'd579: number_o = 64'(RdmaCtrlCmdCreateCq);
      16'd580: number_o = 64'(RdmaCtrlCmdDestroyCq);
      16'd581: number_o = 64'(RdmaCtrlCmdCreatePd);
      16'd582: number_o = 64'(RdmaCtrlCmdDestroyPd);
      16'd583: number_o = 64'(RdmaCtrlCmdGetDmaMr);
      16'd584: number_o = 64'(RdmaCtrlCmdRegUserMr);
      16'd585: number_o = 64'(RdmaCtrlCmdDeregMr);
      16'd586: number_o = 64'(RdmaCtrlCmdCreateQp);
      16'd587: number_o = 64'(RdmaCtrlCmdModifyQp);
      16'd588: number_o = 64'(RdmaCtrlCmdQueryQp);
      16'd589: number_o = 64'(RdmaCtrlCmdDestroyQp);
      16'd590: number_o = 64'(RdmaCtrlCmdCreateAh);
      16'd591: number_o = 64'(RdmaCtrlCmdDestroyAh);
      16'd592: number_o = 64'(RdmaCtrlCmdAddGid);
      16'd593: number_o = 64'(RdmaCtrlCmdDelGid);
      16'd594: number_o = 64'(RdmaCtrlCmdReqNotifyCq);
      16'd595: number_o = 64'(RdmaCtrlCmdSetWindow);
      16'd596: number_o = 64'(RdmaCtrlCmdCreateSrq);
      16'd597: number_o = 64'(RdmaCtrlCmdModifySrq);
      16'd598: number_o = 64'(RdmaCtrlCmdQuerySrq);
      16'd599: number_o = 64'(RdmaCtrlCmdDestroySrq);
      16'd600: number_o = 64'(RdmaCtrlCmdReregMr);
      16'd601: number_o = 64'(RdmaCtrlCmdAllocMw);
      16'd602: number_o = 64'(RdmaCtrlCmdDeallocMw);
      16'd603: number_o = 64'(RdmaCtrlCmdAllocMr);
      16'd604: number_o = 64'(RdmaCtrlCmdQueryMr);
      16'd605: number_o = 64'(RdmaCtrlCmdCreateExtendedCq);
      16'd606: number_o = 64'(RdmaCtrlCmdQueryClock);
      16'd607: number_o = 64'(RdmaCtrlCmdAttachMcast);
      16'd608: number_o = 64'(RdmaCtrlCmdDetachMcast);
      16'd609: number_o = 64'(RdmaMwTypeType1);
      16'd610: number_o = 64'(RdmaMwTypeType2);
      16'd611: number_o = 64'(RdmaAtomicCapNone);
      16'd612: number_o = 64'(RdmaAtomicCapHca);
      16'd613: number_o = 64'(RdmaAtomicCapGlob);
      16'd614: number_o = 64'(IbQpTypeSmi);
      16'd615: number_o = 64'(IbQpTypeGsi);
      16'd616: number_o = 64'(IbQpTypeRc);
      16'd617: number_o = 64'(IbQpTypeUc);
      16'd618: number_o = 64'(IbQpTypeUd);
      16'd619: number_o = 64'(IbQpStateReset);
      16'd620: number_o = 64'(IbQpStateInit);
      16'd621: number_o = 64'(IbQpStateRtr);
      16'd622: number_o = 64'(IbQpStateRts);
      16'd623: number_o = 64'(IbQpStateSqd);
      16'd624: number_o = 64'(IbQpStateSqe);
      16'd625: number_o = 64'(IbQpStateErr);
      16'd626: number_o = 64'(IbMtuMtu256);
      16'd627: number_o = 64'(IbMtuMtu512);
      16'd628: number_o = 64'(IbMtuMtu1024);
      16'd629: number_o = 64'(IbMtuMtu2048);
      16'd630: number_o = 64'(IbMtuMtu4096);
      16'd631: number_o = 64'(IbWrOpcodeRdmaWrite);
      16'd632: number_o = 64'(IbWrOpcodeRdmaWriteWithImm);
      16'd633: number_o = 64'(IbWrOpcodeSend);
      16'd634: number_o = 64'(IbWrOpcodeSendWithImm);
      16'd635: number_o = 64'(IbWrOpcodeRdmaRead);
      16'd636: number_o = 64'(IbWrOpcodeAtomicCmpAndSwp);
      16'd637: number_o = 64'(IbWrOpcodeAtomicFetchAndAdd);
      16'd638: number_o = 64'(IbWrOpcodeLocalInv);
      16'd639: number_o = 64'(IbWrOpcodeBindMw);
      16'd640: number_o = 64'(IbWrOpcodeSendWithInv);
      16'd641: number_o = 64'(IbWrOpcodeFlush);
      16'd642: number_o = 64'(IbWrOpcodeAtomicWrite);
      16'd643: number_o = 64'(IbWrOpcodeRegMr);
      16'd644: number_o = 64'(IbWcOpcodeSend);
      16'd645: number_o = 64'(IbWcOpcodeRdmaWrite);
      16'd646: number_o = 64'(IbWcOpcodeRdmaRead);
      16'd647: number_o = 64'(IbWcOpcodeRecv);
      16'd648: number_o = 64'(IbWcOpcodeRecvRdmaWithImm);
      16'd649: number_o = 64'(IbWcOpcodeCompSwap);
      16'd650: number_o = 64'(IbWcOpcodeFetchAdd);
      16'd651: number_o = 64'(IbWcOpcodeLocalInv);
      16'd652: number_o = 64'(IbWcOpcodeAtomicWrite);
      16'd653: number_o = 64'(IbWcOpcodeFlush);
      16'd654: number_o = 64'(IbWcOpcodeBindMw);
      16'd655: number_o = 64'(IbWcOpcodeRegMr);
      16'd656: number_o = 64'(IbWcStatusSuccess);
      16'd657: number_o = 64'(IbWcStatusLocLenErr);
      16'd658: number_o = 64'(IbWcStatusLocQpOpErr);
      16'd659: number_o = 64'(IbWcStatusLocProtErr);
      16'd660: number_o = 64'(IbWcStatusWrFlushErr);
      16'd661: number_o = 64'(IbWcStatusBadRespErr);
      16'd662: number_o = 64'(IbWcStatusLocAccessErr);
      16'd663: number_o = 64'(IbWcStatusRemInvReqErr);
      16'd664: number_o = 64'(IbWcStatusRemAccessErr);
      16'd665: number_o = 64'(IbWcStatusRemOpErr);
      16'd666: number_o = 64'(IbWcStatusRetryExcErr);
      16'd667: number_o = 64'(IbWcStatusRnrRetryExcErr);
      16'd668: number_o = 64'(IbWcStatusRemAbortErr);
      16'd669: number_o = 64'(IbWcStatusFatalErr);
      16'd670: number_o = 64'(IbWcStatusRespTimeoutErr);
      16'd671: number_o = 64'(IbWcStatusGeneralErr);
      16'd672: number_o = 64'(IbWcStatusMwBindErr);
      16'd673: number_o = 64'(RdmaGidTypeUnspecified);
      16'd674: number_o = 64'(RdmaGidTypeIbRoceV1);
      16'd675: number_o = 64'(RdmaGidTypeRoceV2);
      16'd676: number_o = 64'(RdmaEventTypeCqErr);
      16'd677: number_o = 64'(RdmaEventTypeQpFatal);
      16'd678: number_o = 64'(RdmaEventTypeQpReqErr);
      16'd679: number_o = 64'(RdmaEventTypeQpAccessErr);
      16'd680: number_o = 64'(RdmaEventTypeCommEst);
      16'd681: number_o = 64'(RdmaEventTypeSqDrained);
      16'd682: number_o = 64'(RdmaEventTypePathMig);
      16'd683: number_o = 64'(RdmaEventTypePathMigErr);
      16'd684: number_o = 64'(RdmaEventTypeDeviceFatal);
      16'd685: number_o = 64'(RdmaEventTypePortActive);
      16'd686: number_o = 64'(RdmaEventTypePortErr);
      16'd687: number_o = 64'(RdmaEventTypeLidChange);
      16'd688: number_o = 64'(RdmaEventTypePkeyChange);
      16'd689: number_o = 64'(RdmaEventTypeSmChange);
      16'd690: number_o = 64'(RdmaEventTypeSrqErr);
      16'd691: number_o = 64'(RdmaEventTypeSrqLimitReached);
      16'd692: number_o = 64'(RdmaEventTypeQpLastWqeReached);
      16'd693: number_o = 64'(RdmaEventTypeClientReregister);
      16'd694: number_o = 64'(RdmaEventTypeGidChange);
      16'd695: number_o = 64'(RdmaEventTypeWqFatal);
      16'd696: number_o = 64'(RdmaEventTypeVqErr);
      16'd697: number_o = 64'(TableQueueKindNone);
      16'd698: number_o = 64'(TableQueueKindReceive);
      16'd699: number_o = 64'(TableQueueKindTransmit);
      16'd700: number_o = 64'(TableQueueKindControl);
      16'd701: number_o = 64'(TableQueueKindCq);
      16'd702: number_o = 64'(TableQueueKindSq);
      16'd703: number_o = 64'(TableQueueKindRq);
      16'd704: number_o = 64'(TableQueueKindEvent);
      16'd705: number_o = 64'(BufferClientSend);
      16'd706: number_o = 64'(BufferClientReceive);
      16'd707: number_o = 64'(BufferClientCompletion);
      16'd708: number_o = 64'(BufferClientControl);
      16'd709: number_o = 64'(BufferClientNetTransmit);
      16'd710: number_o = 64'(BufferClientNetReceive);
      16'd711: number_o = 64'(BufferStatusOk);
      16'd712: number_o = 64'(BufferStatusEmpty);
      16'd713: number_o = 64'(BufferStatusFailed);
      16'd714: number_o = 64'(BufferStatusPending);
      16'd715: number_o = 64'(TimerKindOff);
      16'd716: number_o = 64'(TimerKindAck);
      16'd717: number_o = 64'(TimerKindRnr);
      16'd718: number_o = 64'(MemoryStatusOk);
      16'd719: number_o = 64'(MemoryStatusKey);
      16'd720: number_o = 64'(MemoryStatusPd);
      16'd721: number_o = 64'(MemoryStatusRights);
      16'd722: number_o = 64'(MemoryStatusBounds);
      16'd723: number_o = 64'(KeySideSent);
      16'd724: number_o = 64'(KeySideReceived);
      16'd725: number_o = 64'(AtomicStatusOk);
      16'd726: number_o = 64'(AtomicStatusUnknown);
      16'd727: number_o = 64'(AtomicStatusFailed);
      16'd728: number_o = 64'(VirtioDeviceIdInvalid);
      16'd729: number_o = 64'(VirtioDeviceIdNet);
      16'd730: number_o = 64'(VirtioDeviceIdBlock);
      16'd731: number_o = 64'(VirtioDeviceIdConsole);
      16'd732: number_o = 64'(VirtioDeviceIdEntropy);
      16'd733: number_o = 64'(VirtioDeviceIdBalloon);
      16'd734: number_o = 64'(VirtioDeviceIdIomem);
      16'd735: number_o = 64'(VirtioDeviceIdRpmsg);
      16'd736: number_o = 64'(VirtioDeviceIdScsi);
      16'd737: number_o = 64'(VirtioDeviceIdP9);
      16'd738: number_o = 64'(VirtioDeviceIdMac80211Wlan);
      16'd739: number_o = 64'(VirtioDeviceIdRprocSerial);
      16'd740: number_o = 64'(VirtioDeviceIdCaif);
      16'd741: number_o = 64'(VirtioDeviceIdMemoryBalloon);
      16'd742: number_o = 64'(VirtioDeviceIdGpu);
      16'd743: number_o = 64'(VirtioDeviceIdClock);
      16'd744: number_o = 64'(VirtioDeviceIdInput);
      16'd745: number_o = 64'(VirtioDeviceIdVsock);
      16'd746: number_o = 64'(VirtioDeviceIdCrypto);
      16'd747: number_o = 64'(VirtioDeviceIdSignalDist);
      16'd748: number_o = 64'(VirtioDeviceIdPstore);
      16'd749: number_o = 64'(VirtioDeviceIdIommu);
      16'd750: number_o = 64'(VirtioDeviceIdMem);
      16'd751: number_o = 64'(VirtioDeviceIdSound);
      16'd752: number_o = 64'(VirtioDeviceIdFs);
      16'd753: number_o = 64'(VirtioDeviceIdPmem);
      16'd754: number_o = 64'(VirtioDeviceIdRpmb);
      16'd755: number_o = 64'(VirtioDeviceIdMac80211Hwsim);
      16'd756: number_o = 64'(VirtioDeviceIdVideoEncoder);
      16'd757: number_o = 64'(VirtioDeviceIdVideoDecoder);
      16'd758: number_o = 64'(VirtioDeviceIdScmi);
      16'd759: number_o = 64'(VirtioDeviceIdNitroSecMod);
      16'd760: number_o = 64'(VirtioDeviceIdI2cAdapter);
      16'd761: number_o = 64'(VirtioDeviceIdWatchdog);
      16'd762: number_o = 64'(VirtioDeviceIdCan);
      16'd763: number_o = 64'(VirtioDeviceIdDmabuf);
      16'd764: number_o = 64'(VirtioDeviceIdParamServ);
      16'd765: number_o = 64'(VirtioDeviceIdAudioPolicy);
      16'd766: number_o = 64'(VirtioDeviceIdBluetooth);
      16'd767: number_o = 64'(VirtioDeviceIdGpio);
      16'd768: number_o = 64'(VirtioDeviceIdRdma);
      16'd769: number_o = 64'(VirtioDeviceIdCamera);
      16'd770: number_o = 64'(VirtioDeviceIdIsm);
      16'd771: number_o = 64'(VirtioDeviceIdSpi);
      16'd772: number_o = 64'(VirtioDeviceIdTee);
      16'd773: number_o = 64'(VirtioDeviceIdCpuBalloon);
      16'd774: number_o = 64'(VirtioFeatureNotifyOnEmpty);
      16'd775: number_o = 64'(VirtioFeatureAnyLayout);
      16'd776: number_o = 64'(VirtioFeatureRingIndirectDesc);
      16'd777: number_o = 64'(VirtioFeatureRingEventIdx);
      16'd778: number_o = 64'(VirtioFeatureUnused);
      16'd779: number_o = 64'(VirtioFeatureVersion1);
      16'd780: number_o = 64'(VirtioFeatureAccessPlatform);
      16'd781: number_o = 64'(VirtioFeatureRingPacked);
      16'd782: number_o = 64'(VirtioFeatureInOrder);
      16'd783: number_o = 64'(VirtioFeatureOrderPlatform);
      16'd784: number_o = 64'(VirtioFeatureSrIov);
      16'd785: number_o = 64'(VirtioFeatureNotificationData);
      16'd786: number_o = 64'(VirtioFeatureNotifConfigData);
      16'd787: number_o = 64'(VirtioFeatureRingReset);
      16'd788: number_o = 64'(VirtioFeatureAdminVq);
      16'd789: number_o = 64'(RingEventFlagsEnable);
      16'd790: number_o = 64'(RingEventFlagsDisable);
      16'd791: number_o = 64'(RingEventFlagsDesc);
      16'd792: number_o = 64'(EthertypeIpv4);
      16'd793: number_o = 64'(EthertypeArp);
      16'd794: number_o = 64'(EthertypeVlan);
      16'd795: number_o = 64'(EthertypeIpv6);
      16'd796: number_o = 64'(EthertypePause);
      16'd797: number_o = 64'(EthertypeRoceV1);
      16'd798: number_o = 64'(IpProtocolIcmp);
      16'd799: number_o = 64'(IpProtocolTcp);
      16'd800: number_o = 64'(IpProtocolUdp);
      16'd801: number_o = 64'(IpProtocolIcmpv6);
      16'd802: number_o = 64'(IpEcnNotEct);
      16'd803: number_o = 64'(IpEcnEct1);
      16'd804: number_o = 64'(IpEcnEct0);
      16'd805: number_o = 64'(IpEcnCe);
      16'd806: number_o = 64'(AethKindAck);
      16'd807: number_o = 64'(AethKindRnrNak);
      16'd808: number_o = 64'(AethKindReserved);
      16'd809: number_o = 64'(AethKindNak);
      16'd810: number_o = 64'(NakCodePsnSequenceError);
      16'd811: number_o = 64'(NakCodeInvalidRequest);
      16'd812: number_o = 64'(NakCodeRemoteAccessError);
      16'd813: number_o = 64'(NakCodeRemoteOperationalError);
      16'd814: number_o = 64'(NakCodeInvalidRdRequest);
      16'd815: number_o = 64'(AethSyndromeAckNoCredits);
      16'd816: number_o = 64'(AethSyndromeRnrNak);
      16'd817: number_o = 64'(AethSyndromeNakPsnSequenceError);
      16'd818: number_o = 64'(AethSyndromeNakInvalidRequest);
      16'd819: number_o = 64'(AethSyndromeNakRemoteAccessError);
      16'd820: number_o = 64'(AethSyndromeNakRemoteOperationalError);
      16'd821: number_o = 64'(AethSyndromeNakInvalidRdRequest);
      16'd822: number_o = 64'(FlushSelectivityRange);
      16'd823: number_o = 64'(FlushSelectivityMemoryRegion);
      16'd824: number_o = 64'(BthOpcodeRcSendFirst);
      16'd825: number_o = 64'(BthOpcodeRcSendMiddle);
      16'd826: number_o = 64'(BthOpcodeRcSendLast);
      16'd827: number_o = 64'(BthOpcodeRcSendLastWithImmediate);
      16'd828: number_o = 64'(BthOpcodeRcSendOnly);
      16'd829: number_o = 64'(BthOpcodeRcSendOnlyWithImmediate);
      16'd830: number_o = 64'(BthOpcodeRcRdmaWriteFirst);
      16'd831: number_o = 64'(BthOpcodeRcRdmaWriteMiddle);
      16'd832: number_o = 64'(BthOpcodeRcRdmaWriteLast);
      16'd833: number_o = 64'(BthOpcodeRcRdmaWriteLastWithImmediate);
      16'd834: number_o = 64'(BthOpcodeRcRdmaWriteOnly);
      16'd835: number_o = 64'(BthOpcodeRcRdmaWriteOnlyWithImmediate);
      16'd836: number_o = 64'(BthOpcodeRcRdmaReadRequest);
      16'd837: number_o = 64'(BthOpcodeRcRdmaReadResponseFirst);
      16'd838: number_o = 64'(BthOpcodeRcRdmaReadResponseMiddle);
      16'd839: number_o = 64'(BthOpcodeRcRdmaReadResponseLast);
      16'd840: number_o = 64'(BthOpcodeRcRdmaReadResponseOnly);
      16'd841: number_o = 64'(BthOpcodeRcAcknowledge);
      16'd842: number_o = 64'(BthOpcodeRcAtomicAcknowledge);
      16'd843: number_o = 64'(BthOpcodeRcCompareSwap);
      16'd844: number_o = 64'(BthOpcodeRcFetchAdd);
      16'd845: number_o = 64'(BthOpcodeRcSendLastWithInvalidate);
      16'd846: number_o = 64'(BthOpcodeRcSendOnlyWithInvalidate);
      16'd847: number_o = 64'(BthOpcodeRcFlush);
      16'd848: number_o = 64'(BthOpcodeRcAtomicWrite);
      16'd849: number_o = 64'(BthOpcodeUcSendFirst);
      16'd850: number_o = 64'(BthOpcodeUcSendMiddle);
      16'd851: number_o = 64'(BthOpcodeUcSendLast);
      16'd852: number_o = 64'(BthOpcodeUcSendLastWithImmediate);
      16'd853: number_o = 64'(BthOpcodeUcSendOnly);
      16'd854: number_o = 64'(BthOpcodeUcSendOnlyWithImmediate);
      16'd855: number_o = 64'(BthOpcodeUcRdmaWriteFirst);
      16'd856: number_o = 64'(BthOpcodeUcRdmaWriteMiddle);
      16'd857: number_o = 64'(BthOpcodeUcRdmaWriteLast);
      16'd858: number_o = 64'(BthOpcodeUcRdmaWriteLastWithImmediate);
      16'd859: number_o = 64'(BthOpcodeUcRdmaWriteOnly);
      16'd860: number_o = 64'(BthOpcodeUcRdmaWriteOnlyWithImmediate);
      16'd861: number_o = 64'(BthOpcodeUdSendOnly);
      16'd862: number_o = 64'(BthOpcodeUdSendOnlyWithImmediate);
      16'd863: number_o = 64'(BthOpcodeCnp);
      16'd864: number_o = 64'(NetStatusLinkUp);
      16'd865: number_o = 64'(NetStatusAnnounce);
      16'd866: number_o = 64'(NetHashTypesIpv4);
      16'd867: number_o = 64'(NetHashTypesTcpv4);
      16'd868: number_o = 64'(NetHashTypesUdpv4);
      16'd869: number_o = 64'(NetHashTypesIpv6);
      16'd870: number_o = 64'(NetHashTypesTcpv6);
      16'd871: number_o = 64'(NetHashTypesUdpv6);
      16'd872: number_o = 64'(NetHashTypesIpEx);
      16'd873: number_o = 64'(NetHashTypesTcpEx);
      16'd874: number_o = 64'(NetHashTypesUdpEx);
      16'd875: number_o = 64'(NetHashTunnelTypesGre2784);
      16'd876: number_o = 64'(NetHashTunnelTypesGre2890);
      16'd877: number_o = 64'(NetHashTunnelTypesGre7676);
      16'd878: number_o = 64'(NetHashTunnelTypesGreUdp);
      16'd879: number_o = 64'(NetHashTunnelTypesVxlan);
      16'd880: number_o = 64'(NetHashTunnelTypesVxlanGpe);
      16'd881: number_o = 64'(NetHashTunnelTypesGeneve);
      16'd882: number_o = 64'(NetHashTunnelTypesIpip);
      16'd883: number_o = 64'(NetHashTunnelTypesNvgre);
      16'd884: number_o = 64'(NetHdrFlagsNeedsCsum);
      16'd885: number_o = 64'(NetHdrFlagsDataValid);
      16'd886: number_o = 64'(NetHdrFlagsRscInfo);
      16'd887: number_o = 64'(NetHdrFlagsUdpTunnelCsum);
      16'd888: number_o = 64'(NetGuestOffloadsGuestCsum);
      16'd889: number_o = 64'(NetGuestOffloadsGuestTso4);
      16'd890: number_o = 64'(NetGuestOffloadsGuestTso6);
      16'd891: number_o = 64'(NetGuestOffloadsGuestEcn);
      16'd892: number_o = 64'(NetGuestOffloadsGuestUfo);
      16'd893: number_o = 64'(NetGuestOffloadsGuestUdpTunnelGsoMapped);
      16'd894: number_o = 64'(NetGuestOffloadsGuestUdpTunnelGsoCsumMapped);
      16'd895: number_o = 64'(NetGuestOffloadsGuestUso4);
      16'd896: number_o = 64'(NetGuestOffloadsGuestUso6);
      16'd897: number_o = 64'(NetStatsTypesRxBasic);
      16'd898: number_o = 64'(NetStatsTypesRxCsum);
      16'd899: number_o = 64'(NetStatsTypesRxGso);
      16'd900: number_o = 64'(NetStatsTypesRxSpeed);
      16'd901: number_o = 64'(NetStatsTypesTxBasic);
      16'd902: number_o = 64'(NetStatsTypesTxCsum);
      16'd903: number_o = 64'(NetStatsTypesTxGso);
      16'd904: number_o = 64'(NetStatsTypesTxSpeed);
      16'd905: number_o = 64'(NetStatsTypesCvq);
      16'd906: number_o = 64'(PciCommandIoSpace);
      16'd907: number_o = 64'(PciCommandMemorySpace);
      16'd908: number_o = 64'(PciCommandBusMaster);
      16'd909: number_o = 64'(PciCommandSpecialCycles);
      16'd910: number_o = 64'(PciCommandMemoryInvalidate);
      16'd911: number_o = 64'(PciCommandVgaPaletteSnoop);
      16'd912: number_o = 64'(PciCommandParityErrorResponse);
      16'd913: number_o = 64'(PciCommandAddressStepping);
      16'd914: number_o = 64'(PciCommandSerrEnable);
      16'd915: number_o = 64'(PciCommandFastBackToBack);
      16'd916: number_o = 64'(PciCommandInterruptDisable);
      16'd917: number_o = 64'(PciStatusImmediateReadiness);
      16'd918: number_o = 64'(PciStatusInterruptStatus);
      16'd919: number_o = 64'(PciStatusCapabilitiesList);
      16'd920: number_o = 64'(PciStatusCapable66mhz);
      16'd921: number_o = 64'(PciStatusFastBackToBack);
      16'd922: number_o = 64'(PciStatusMasterDataParityError);
      16'd923: number_o = 64'(PciStatusSignaledTargetAbort);
      16'd924: number_o = 64'(PciStatusReceivedTargetAbort);
      16'd925: number_o = 64'(PciStatusReceivedMasterAbort);
      16'd926: number_o = 64'(PciStatusSignaledSystemError);
      16'd927: number_o = 64'(PciStatusDetectedParityError);
      16'd928: number_o = 64'(IbDeviceCapRcRnrNakGen);
      16'd929: number_o = 64'(IbAccessFlagsLocalWrite);
      16'd930: number_o = 64'(IbAccessFlagsRemoteWrite);
      16'd931: number_o = 64'(IbAccessFlagsRemoteRead);
      16'd932: number_o = 64'(IbAccessFlagsRemoteAtomic);
      16'd933: number_o = 64'(IbAccessFlagsMwBind);
      16'd934: number_o = 64'(IbAccessFlagsZeroBased);
      16'd935: number_o = 64'(IbAccessFlagsFlushGlobal);
      16'd936: number_o = 64'(IbAccessFlagsFlushPersistent);
      16'd937: number_o = 64'(RdmaReregFlagsTranslation);
      16'd938: number_o = 64'(RdmaReregFlagsPd);
      16'd939: number_o = 64'(RdmaReregFlagsAccess);
      16'd940: number_o = 64'(RdmaFlushCapGlobalVisibility);
      16'd941: number_o = 64'(RdmaFlushCapPersistence);
      16'd942: number_o = 64'(IbQpAttrMaskState);
      16'd943: number_o = 64'(IbQpAttrMaskCurState);
      16'd944: number_o = 64'(IbQpAttrMaskAccessFlags);
      16'd945: number_o = 64'(IbQpAttrMaskQkey);
      16'd946: number_o = 64'(IbQpAttrMaskAv);
      16'd947: number_o = 64'(IbQpAttrMaskPathMtu);
      16'd948: number_o = 64'(IbQpAttrMaskTimeout);
      16'd949: number_o = 64'(IbQpAttrMaskRetryCnt);
      16'd950: number_o = 64'(IbQpAttrMaskRnrRetry);
      16'd951: number_o = 64'(IbQpAttrMaskRqPsn);
      16'd952: number_o = 64'(IbQpAttrMaskMaxQpRdAtomic);
      16'd953: number_o = 64'(IbQpAttrMaskMinRnrTimer);
      16'd954: number_o = 64'(IbQpAttrMaskSqPsn);
      16'd955: number_o = 64'(IbQpAttrMaskMaxDestRdAtomic);
      16'd956: number_o = 64'(IbQpAttrMaskCap);
      16'd957: number_o = 64'(IbQpAttrMaskDestQpn);
      16'd958: number_o = 64'(IbQpAttrMaskRateLimit);
      16'd959: number_o = 64'(IbSendFlagsFence);
      16'd960: number_o = 64'(IbSendFlagsSignaled);
      16'd961: number_o = 64'(IbSendFlagsSolicited);
      16'd962: number_o = 64'(IbSendFlagsInline);
      16'd963: number_o = 64'(IbWcFlagsGrh);
      16'd964: number_o = 64'(IbWcFlagsWithImm);
      16'd965: number_o = 64'(IbWcFlagsWithInv);
      16'd966: number_o = 64'(IbNotifyFlagsSolicited);
      16'd967: number_o = 64'(IbNotifyFlagsNextCompletion);
      16'd968: number_o = 64'(RdmaGidFlagsVlanPresent);
      16'd969: number_o = 64'(RdmaWindowFlagsEnable);
      16'd970: number_o = 64'(RdmaSqElementRdma);
      16'd971: number_o = 64'(RdmaSqElementUd);
      16'd972: number_o = 64'(RdmaSqElementAtomic);
      16'd973: number_o = 64'(RdmaSqElementInlineData);
      16'd974: number_o = 64'(RdmaSqElementSgList);
      16'd975: number_o = 64'(RdmaCqElementTimestamp);
      16'd976: number_o = 64'(VirtioDeviceStatusAcknowledge);
      16'd977: number_o = 64'(VirtioDeviceStatusDriver);
      16'd978: number_o = 64'(VirtioDeviceStatusDriverOk);
      16'd979: number_o = 64'(VirtioDeviceStatusFeaturesOk);
      16'd980: number_o = 64'(VirtioDeviceStatusDeviceNeedsReset);
      16'd981: number_o = 64'(VirtioDeviceStatusFailed);
      16'd982: number_o = 64'(VirtioIsrQueue);
      16'd983: number_o = 64'(VirtioIsrDeviceConfig);
      16'd984: number_o = 64'(VirtqDescFlagsNext);
      16'd985: number_o = 64'(VirtqDescFlagsWrite);
      16'd986: number_o = 64'(VirtqDescFlagsIndirect);
      16'd987: number_o = 64'(VirtqDescFlagsAvail);
      16'd988: number_o = 64'(VirtqDescFlagsUsed);
      16'd989: number_o = 64'(VirtqAvailFlagsNoInterrupt);
      16'd990: number_o = 64'(VirtqUsedFlagsNoNotify);
      16'd991: number_o = 64'(FlushPlacementGlobalVisibility);
      16'd992: number_o = 64'(FlushPlacementPersistence);
      16'd993: number_o = 64'(BoardHeaderBytes);
      16'd994: number_o = 64'(BoardHeaderKindOffset);
      16'd995: number_o = 64'(BoardHeaderSerialOffset);
      16'd996: number_o = 64'(BoardHelloBytes);
      16'd997: number_o = 64'(BoardHelloMagicOffset);
      16'd998: number_o = 64'(BoardHelloVersionOffset);
      16'd999: number_o = 64'(BoardHelloHasProcessorOffset);
      16'd1000: number_o = 64'(BoardHelloConfigHashOffset);
      16'd1001: number_o = 64'(BoardRunBytes);
      16'd1002: number_o = 64'(BoardRunCyclesOffset);
      16'd1003: number_o = 64'(BoardTimeBytes);
      16'd1004: number_o = 64'(BoardTimeNsOffset);
      16'd1005: number_o = 64'(BoardControlsBytes);
      16'd1006: number_o = 64'(BoardBarBytes);
      16'd1007: number_o = 64'(BoardBarLengthOffset);
      16'd1008: number_o = 64'(BoardBarOffsetOffset);
      16'd1009: number_o = 64'(BoardBarValueOffset);
      16'd1010: number_o = 64'(BoardCsrBytes);
      16'd1011: number_o = 64'(BoardCsrValueOffset);
      16'd1012: number_o = 64'(BoardCreditsBytes);
      16'd1013: number_o = 64'(BoardCreditsDmaWriteOffset);
      16'd1014: number_o = 64'(BoardCreditsTransmitOffset);
      16'd1015: number_o = 64'(BoardReadBeatsBytes);
      16'd1016: number_o = 64'(BoardReadBeatsCountOffset);
      16'd1017: number_o = 64'(BoardReadBeatsTagOffset);
      16'd1018: number_o = 64'(BoardFrameBeatsBytes);
      16'd1019: number_o = 64'(BoardFrameBeatsCountOffset);
      16'd1020: number_o = 64'(BoardFrameBeatsKeepOffset);
      16'd1021: number_o = 64'(BoardLoadBytes);
      16'd1022: number_o = 64'(BoardLoadAddressOffset);
      16'd1023: number_o = 64'(BoardLoadValueOffset);
      16'd1024: number_o = 64'(BoardBarAnswerBytes);
      16'd1025: number_o = 64'(BoardBarAnswerValueOffset);
      16'd1026: number_o = 64'(BoardCsrAnswerBytes);
      16'd1027: number_o = 64'(BoardCsrAnswerValueOffset);
      16'd1028: number_o = 64'(BoardInterruptBytes);
      16'd1029: number_o = 64'(BoardInterruptLevelOffset);
      16'd1030: number_o = 64'(BoardReadBytes);
      16'd1031: number_o = 64'(BoardReadAddressOffset);
      16'd1032: number_o = 64'(BoardReadLengthOffset);
      16'd1033: number_o = 64'(BoardReadTagOffset);
      16'd1034: number_o = 64'(BoardWriteBytes);
      16'd1035: number_o = 64'(BoardWriteAddressOffset);
      16'd1036: number_o = 64'(BoardWriteLengthOffset);
      16'd1037: number_o = 64'(BoardMsixBytes);
      16'd1038: number_o = 64'(BoardMsixNumberOffset);
      16'd1039: number_o = 64'(BoardTransmitBytes);
      16'd1040: number_o = 64'(BoardTransmitDataOffset);
      16'd1041: number_o = 64'(BoardRanBytes);
      16'd1042: number_o = 64'(BoardRanCyclesOffset);
      16'd1043: number_o = 64'(BoardRanFailureOffset);
      16'd1044: number_o = 64'(BoardRanDeadlineNsOffset);
      16'd1045: number_o = 64'(NetConfigBytes);
      16'd1046: number_o = 64'(NetConfigMacOffset);
      16'd1047: number_o = 64'(NetConfigStatusOffset);
      16'd1048: number_o = 64'(NetConfigMaxVirtqueuePairsOffset);
      16'd1049: number_o = 64'(NetConfigMtuOffset);
      16'd1050: number_o = 64'(NetConfigSpeedOffset);
      16'd1051: number_o = 64'(NetConfigDuplexOffset);
      16'd1052: number_o = 64'(NetConfigRssMaxKeySizeOffset);
      16'd1053: number_o = 64'(NetConfigRssMaxIndirectionTableLengthOffset);
      16'd1054: number_o = 64'(NetConfigSupportedHashTypesOffset);
      16'd1055: number_o = 64'(NetConfigSupportedTunnelTypesOffset);
      16'd1056: number_o = 64'(NetHdrBytes);
      16'd1057: number_o = 64'(NetHdrFlagsOffset);
      16'd1058: number_o = 64'(NetHdrHdrLenOffset);
      16'd1059: number_o = 64'(NetHdrGsoSizeOffset);
      16'd1060: number_o = 64'(NetHdrCsumStartOffset);
      16'd1061: number_o = 64'(NetHdrCsumOffsetOffset);
      16'd1062: number_o = 64'(NetHdrNumBuffersOffset);
      16'd1063: number_o = 64'(NetHdrHashBytes);
      16'd1064: number_o = 64'(NetHdrHashHdrOffset);
      16'd1065: number_o = 64'(NetHdrHashHashValueOffset);
      16'd1066: number_o = 64'(NetHdrHashHashReportOffset);
      16'd1067: number_o = 64'(NetHdrHashPaddingReservedOffset);
      16'd1068: number_o = 64'(NetHdrHashTunnelBytes);
      16'd1069: number_o = 64'(NetHdrHashTunnelHashHdrOffset);
      16'd1070: number_o = 64'(NetHdrHashTunnelOuterThOffsetOffset);
      16'd1071: number_o = 64'(NetHdrHashTunnelInnerNhOffsetOffset);
      16'd1072: number_o = 64'(NetHdrHashTunnelOutNetHdrBytes);
      16'd1073: number_o = 64'(NetHdrHashTunnelOutNetHdrTnlHdrOffset);
      16'd1074: number_o = 64'(NetHdrHashTunnelOutNetHdrOuterNhOffsetOffset);
      16'd1075: number_o = 64'(NetHdrHashTunnelOutNetHdrPaddingReserved2Offset);
      16'd1076: number_o = 64'(NetCtrlHdrBytes);
      16'd1077: number_o = 64'(NetCtrlHdrCtrlClassOffset);
      16'd1078: number_o = 64'(NetCtrlHdrCommandOffset);
      16'd1079: number_o = 64'(NetCtrlRxBytes);
      16'd1080: number_o = 64'(NetCtrlRxOnOffset);
      16'd1081: number_o = 64'(NetCtrlMacAddrBytes);
      16'd1082: number_o = 64'(NetCtrlMacAddrMacOffset);
      16'd1083: number_o = 64'(NetCtrlMacBytes);
      16'd1084: number_o = 64'(NetCtrlMacEntriesOffset);
      16'd1085: number_o = 64'(NetCtrlVlanBytes);
      16'd1086: number_o = 64'(NetCtrlVlanVlanIdOffset);
      16'd1087: number_o = 64'(NetCtrlMqPairsSetBytes);
      16'd1088: number_o = 64'(NetCtrlMqPairsSetVirtqueuePairsOffset);
      16'd1089: number_o = 64'(RssRqIdBytes);
      16'd1090: number_o = 64'(NetRssConfigHdrBytes);
      16'd1091: number_o = 64'(NetRssConfigHdrHashTypesOffset);
      16'd1092: number_o = 64'(NetRssConfigHdrIndirectionTableMaskOffset);
      16'd1093: number_o = 64'(NetRssConfigHdrUnclassifiedQueueOffset);
      16'd1094: number_o = 64'(NetRssConfigTrailerBytes);
      16'd1095: number_o = 64'(NetRssConfigTrailerMaxTxVqOffset);
      16'd1096: number_o = 64'(NetRssConfigTrailerHashKeyLengthOffset);
      16'd1097: number_o = 64'(NetHashConfigBytes);
      16'd1098: number_o = 64'(NetHashConfigHashTypesOffset);
      16'd1099: number_o = 64'(NetHashConfigHashKeyLengthOffset);
      16'd1100: number_o = 64'(NetCtrlGuestOffloadsBytes);
      16'd1101: number_o = 64'(NetCtrlGuestOffloadsOffloadsOffset);
      16'd1102: number_o = 64'(NetCtrlCoalBytes);
      16'd1103: number_o = 64'(NetCtrlCoalMaxPacketsOffset);
      16'd1104: number_o = 64'(NetCtrlCoalMaxUsecsOffset);
      16'd1105: number_o = 64'(NetCtrlCoalVqBytes);
      16'd1106: number_o = 64'(NetCtrlCoalVqVqIndexOffset);
      16'd1107: number_o = 64'(NetCtrlCoalVqCoalOffset);
      16'd1108: number_o = 64'(NetCtrlCoalVqGetBytes);
      16'd1109: number_o = 64'(NetCtrlCoalVqGetVqIndexOffset);
      16'd1110: number_o = 64'(NetHashTunnelBytes);
      16'd1111: number_o = 64'(NetHashTunnelEnabledTunnelTypesOffset);
      16'd1112: number_o = 64'(NetRssCtxCapBytes);
      16'd1113: number_o = 64'(NetRssCtxCapMaxRssContextsOffset);
      16'd1114: number_o = 64'(NetRssCtxAddModifyBytes);
      16'd1115: number_o = 64'(NetRssCtxAddModifyRssCtxIdOffset);
      16'd1116: number_o = 64'(NetRssCtxAddModifyRssOffset);
      16'd1117: number_o = 64'(NetRssCtxDelBytes);
      16'd1118: number_o = 64'(NetRssCtxDelRssCtxIdOffset);
      16'd1119: number_o = 64'(NetStatsCapabilitiesBytes);
      16'd1120: number_o = 64'(NetStatsCapabilitiesSupportedStatsTypesOffset);
      16'd1121: number_o = 64'(NetCtrlQueueStatsBytes);
      16'd1122: number_o = 64'(NetCtrlQueueStatsVqIndexOffset);
      16'd1123: number_o = 64'(NetCtrlQueueStatsTypesBitmapOffset);
      16'd1124: number_o = 64'(NetStatsReplyHdrBytes);
      16'd1125: number_o = 64'(NetStatsReplyHdrStatsTypeOffset);
      16'd1126: number_o = 64'(NetStatsReplyHdrVqIndexOffset);
      16'd1127: number_o = 64'(NetStatsReplyHdrSizeOffset);
      16'd1128: number_o = 64'(NetStatsCvqBytes);
      16'd1129: number_o = 64'(NetStatsCvqHdrOffset);
      16'd1130: number_o = 64'(NetStatsCvqCommandNumOffset);
      16'd1131: number_o = 64'(NetStatsCvqOkNumOffset);
      16'd1132: number_o = 64'(NetStatsRxBasicBytes);
      16'd1133: number_o = 64'(NetStatsRxBasicHdrOffset);
      16'd1134: number_o = 64'(NetStatsRxBasicRxNotificationsOffset);
      16'd1135: number_o = 64'(NetStatsRxBasicRxPacketsOffset);
      16'd1136: number_o = 64'(NetStatsRxBasicRxBytesOffset);
      16'd1137: number_o = 64'(NetStatsRxBasicRxInterruptsOffset);
      16'd1138: number_o = 64'(NetStatsRxBasicRxDropsOffset);
      16'd1139: number_o = 64'(NetStatsRxBasicRxDropOverrunsOffset);
      16'd1140: number_o = 64'(NetStatsTxBasicBytes);
      16'd1141: number_o = 64'(NetStatsTxBasicHdrOffset);
      16'd1142: number_o = 64'(NetStatsTxBasicTxNotificationsOffset);
      16'd1143: number_o = 64'(NetStatsTxBasicTxPacketsOffset);
      16'd1144: number_o = 64'(NetStatsTxBasicTxBytesOffset);
      16'd1145: number_o = 64'(NetStatsTxBasicTxInterruptsOffset);
      16'd1146: number_o = 64'(NetStatsTxBasicTxDropsOffset);
      16'd1147: number_o = 64'(NetStatsTxBasicTxDropMalformedOffset);
      16'd1148: number_o = 64'(NetStatsRxCsumBytes);
      16'd1149: number_o = 64'(NetStatsRxCsumHdrOffset);
      16'd1150: number_o = 64'(NetStatsRxCsumRxCsumValidOffset);
      16'd1151: number_o = 64'(NetStatsRxCsumRxNeedsCsumOffset);
      16'd1152: number_o = 64'(NetStatsRxCsumRxCsumNoneOffset);
      16'd1153: number_o = 64'(NetStatsRxCsumRxCsumBadOffset);
      16'd1154: number_o = 64'(NetStatsTxCsumBytes);
      16'd1155: number_o = 64'(NetStatsTxCsumHdrOffset);
      16'd1156: number_o = 64'(NetStatsTxCsumTxCsumNoneOffset);
      16'd1157: number_o = 64'(NetStatsTxCsumTxNeedsCsumOffset);
      16'd1158: number_o = 64'(NetStatsRxGsoBytes);
      16'd1159: number_o = 64'(NetStatsRxGsoHdrOffset);
      16'd1160: number_o = 64'(NetStatsRxGsoRxGsoPacketsOffset);
      16'd1161: number_o = 64'(NetStatsRxGsoRxGsoBytesOffset);
      16'd1162: number_o = 64'(NetStatsRxGsoRxGsoPacketsCoalescedOffset);
      16'd1163: number_o = 64'(NetStatsRxGsoRxGsoBytesCoalescedOffset);
      16'd1164: number_o = 64'(NetStatsTxGsoBytes);
      16'd1165: number_o = 64'(NetStatsTxGsoHdrOffset);
      16'd1166: number_o = 64'(NetStatsTxGsoTxGsoPacketsOffset);
      16'd1167: number_o = 64'(NetStatsTxGsoTxGsoBytesOffset);
      16'd1168: number_o = 64'(NetStatsTxGsoTxGsoSegmentsOffset);
      16'd1169: number_o = 64'(NetStatsTxGsoTxGsoSegmentsBytesOffset);
      16'd1170: number_o = 64'(NetStatsTxGsoTxGsoPacketsNosegOffset);
      16'd1171: number_o = 64'(NetStatsTxGsoTxGsoBytesNosegOffset);
      16'd1172: number_o = 64'(NetStatsRxSpeedBytes);
      16'd1173: number_o = 64'(NetStatsRxSpeedHdrOffset);
      16'd1174: number_o = 64'(NetStatsRxSpeedRxPacketsAllowanceExceededOffset);
      16'd1175: number_o = 64'(NetStatsRxSpeedRxBytesAllowanceExceededOffset);
      16'd1176: number_o = 64'(NetStatsTxSpeedBytes);
      16'd1177: number_o = 64'(NetStatsTxSpeedHdrOffset);
      16'd1178: number_o = 64'(NetStatsTxSpeedTxPacketsAllowanceExceededOffset);
      16'd1179: number_o = 64'(NetStatsTxSpeedTxBytesAllowanceExceededOffset);
      16'd1180: number_o = 64'(PciHeaderBytes);
      16'd1181: number_o = 64'(PciHeaderVendorIdOffset);
      16'd1182: number_o = 64'(PciHeaderDeviceIdOffset);
      16'd1183: number_o = 64'(PciHeaderCommandOffset);
      16'd1184: number_o = 64'(PciHeaderStatusOffset);
      16'd1185: number_o = 64'(PciHeaderRevisionIdOffset);
      16'd1186: number_o = 64'(PciHeaderClassCodeOffset);
      16'd1187: number_o = 64'(PciHeaderCacheLineSizeOffset);
      16'd1188: number_o = 64'(PciHeaderLatencyTimerOffset);
      16'd1189: number_o = 64'(PciHeaderHeaderTypeOffset);
      16'd1190: number_o = 64'(PciHeaderBistOffset);
      16'd1191: number_o = 64'(PciHeaderBaseAddressOffset);
      16'd1192: number_o = 64'(PciHeaderCardbusCisPointerOffset);
      16'd1193: number_o = 64'(PciHeaderSubsystemVendorIdOffset);
      16'd1194: number_o = 64'(PciHeaderSubsystemIdOffset);
      16'd1195: number_o = 64'(PciHeaderExpansionRomBaseAddressOffset);
      16'd1196: number_o = 64'(PciHeaderCapabilitiesPointerOffset);
      16'd1197: number_o = 64'(PciHeaderInterruptLineOffset);
      16'd1198: number_o = 64'(PciHeaderInterruptPinOffset);
      16'd1199: number_o = 64'(PciHeaderMinGntOffset);
      16'd1200: number_o = 64'(PciHeaderMaxLatOffset);
      16'd1201: number_o = 64'(PciMemoryBarBytes);
      16'd1202: number_o = 64'(PciCapabilityBytes);
      16'd1203: number_o = 64'(PciCapabilityCapIdOffset);
      16'd1204: number_o = 64'(PciCapabilityCapNextOffset);
      16'd1205: number_o = 64'(PcieExtendedCapabilityBytes);
      16'd1206: number_o = 64'(PcieExtendedCapabilityCapIdOffset);
      16'd1207: number_o = 64'(PciPmCapBytes);
      16'd1208: number_o = 64'(PciPmCapCapabilityIdOffset);
      16'd1209: number_o = 64'(PciPmCapNextOffset);
      16'd1210: number_o = 64'(PciPmCapBridgeExtensionsOffset);
      16'd1211: number_o = 64'(PciPmCapDataOffset);
      16'd1212: number_o = 64'(PcieCapBytes);
      16'd1213: number_o = 64'(PcieCapCapIdOffset);
      16'd1214: number_o = 64'(PcieCapCapNextOffset);
      16'd1215: number_o = 64'(PcieCapPortNumberOffset);
      16'd1216: number_o = 64'(PcieCapLinkControlOffset);
      16'd1217: number_o = 64'(PcieCapSlotCapabilitiesOffset);
      16'd1218: number_o = 64'(PcieCapSlotControlOffset);
      16'd1219: number_o = 64'(PcieCapSlotStatusOffset);
      16'd1220: number_o = 64'(PcieCapRootControlOffset);
      16'd1221: number_o = 64'(PcieCapRootCapabilitiesOffset);
      16'd1222: number_o = 64'(PcieCapRootStatusOffset);
      16'd1223: number_o = 64'(PcieCapDeviceCapabilities2Offset);
      16'd1224: number_o = 64'(PcieCapDeviceControl2Offset);
      16'd1225: number_o = 64'(PcieCapDeviceStatus2Offset);
      16'd1226: number_o = 64'(PcieCapLinkCapabilities2Offset);
      16'd1227: number_o = 64'(PcieCapLinkControl2Offset);
      16'd1228: number_o = 64'(PcieCapLinkStatus2Offset);
      16'd1229: number_o = 64'(PcieCapSlotCapabilities2Offset);
      16'd1230: number_o = 64'(PcieCapSlotControl2Offset);
      16'd1231: number_o = 64'(PcieCapSlotStatus2Offset);
      16'd1232: number_o = 64'(MsixCapBytes);
      16'd1233: number_o = 64'(MsixCapCapIdOffset);
      16'd1234: number_o = 64'(MsixCapCapNextOffset);
      16'd1235: number_o = 64'(MsixTableEntryBytes);
      16'd1236: number_o = 64'(MsixTableEntryMessageAddressOffset);
      16'd1237: number_o = 64'(MsixTableEntryMessageUpperAddressOffset);
      16'd1238: number_o = 64'(MsixTableEntryMessageDataOffset);
      16'd1239: number_o = 64'(MsixPbaEntryBytes);
      16'd1240: number_o = 64'(MsixPbaEntryPendingOffset);
      16'd1241: number_o = 64'(VirtioPciCapBytes);
      16'd1242: number_o = 64'(VirtioPciCapCapVndrOffset);
      16'd1243: number_o = 64'(VirtioPciCapCapNextOffset);
      16'd1244: number_o = 64'(VirtioPciCapCapLenOffset);
      16'd1245: number_o = 64'(VirtioPciCapCfgTypeOffset);
      16'd1246: number_o = 64'(VirtioPciCapBarOffset);
      16'd1247: number_o = 64'(VirtioPciCapIdOffset);
      16'd1248: number_o = 64'(VirtioPciCapPaddingOffset);
      16'd1249: number_o = 64'(VirtioPciCapOffsetOffset);
      16'd1250: number_o = 64'(VirtioPciCapLengthOffset);
      16'd1251: number_o = 64'(VirtioPciCap64Bytes);
      16'd1252: number_o = 64'(VirtioPciCap64CapOffset);
      16'd1253: number_o = 64'(VirtioPciCap64OffsetHiOffset);
      16'd1254: number_o = 64'(VirtioPciCap64LengthHiOffset);
      16'd1255: number_o = 64'(VirtioPciNotifyCapBytes);
      16'd1256: number_o = 64'(VirtioPciNotifyCapCapOffset);
      16'd1257: number_o = 64'(VirtioPciNotifyCapNotifyOffMultiplierOffset);
      16'd1258: number_o = 64'(VirtioPciCfgCapBytes);
      16'd1259: number_o = 64'(VirtioPciCfgCapCapOffset);
      16'd1260: number_o = 64'(VirtioPciCfgCapPciCfgDataOffset);
      16'd1261: number_o = 64'(VirtioPciVndrDataBytes);
      16'd1262: number_o = 64'(VirtioPciVndrDataCapVndrOffset);
      16'd1263: number_o = 64'(VirtioPciVndrDataCapNextOffset);
      16'd1264: number_o = 64'(VirtioPciVndrDataCapLenOffset);
      16'd1265: number_o = 64'(VirtioPciVndrDataCfgTypeOffset);
      16'd1266: number_o = 64'(VirtioPciVndrDataVendorIdOffset);
      16'd1267: number_o = 64'(ProcessorSettingsBytes);
      16'd1268: number_o = 64'(ProcessorSettingsMagicOffset);
      16'd1269: number_o = 64'(ProcessorSettingsAbiProfileOffset);
      16'd1270: number_o = 64'(ProcessorSettingsHasMacOffset);
      16'd1271: number_o = 64'(ProcessorSettingsMacOffset);
      16'd1272: number_o = 64'(ProcessorSettingsMtuOffset);
      16'd1273: number_o = 64'(NetConfigRdmaBytes);
      16'd1274: number_o = 64'(NetConfigRdmaMaxRdmaQpsOffset);
      16'd1275: number_o = 64'(NetConfigRdmaMaxRdmaCqsOffset);
      16'd1276: number_o = 64'(RdmaAckQueryDeviceBytes);
      16'd1277: number_o = 64'(RdmaAckQueryDeviceDeviceCapFlagsOffset);
      16'd1278: number_o = 64'(RdmaAckQueryDeviceMaxMrSizeOffset);
      16'd1279: number_o = 64'(RdmaAckQueryDevicePageSizeCapOffset);
      16'd1280: number_o = 64'(RdmaAckQueryDeviceHwVerOffset);
      16'd1281: number_o = 64'(RdmaAckQueryDeviceMaxQpWrOffset);
      16'd1282: number_o = 64'(RdmaAckQueryDeviceMaxSendSgeOffset);
      16'd1283: number_o = 64'(RdmaAckQueryDeviceMaxRecvSgeOffset);
      16'd1284: number_o = 64'(RdmaAckQueryDeviceMaxSgeRdOffset);
      16'd1285: number_o = 64'(RdmaAckQueryDeviceMaxCqeOffset);
      16'd1286: number_o = 64'(RdmaAckQueryDeviceMaxMrOffset);
      16'd1287: number_o = 64'(RdmaAckQueryDeviceMaxPdOffset);
      16'd1288: number_o = 64'(RdmaAckQueryDeviceMaxQpRdAtomOffset);
      16'd1289: number_o = 64'(RdmaAckQueryDeviceMaxQpInitRdAtomOffset);
      16'd1290: number_o = 64'(RdmaAckQueryDeviceMaxAhOffset);
      16'd1291: number_o = 64'(RdmaAckQueryDeviceLocalCaAckDelayOffset);
      16'd1292: number_o = 64'(RdmaAckQueryDeviceMaxMrPagesOffset);
      16'd1293: number_o = 64'(RdmaAckQueryDeviceAtomicCapOffset);
      16'd1294: number_o = 64'(RdmaAckQueryDeviceInvalidationOffset);
      16'd1295: number_o = 64'(RdmaAckQueryDeviceSqVersionOffset);
      16'd1296: number_o = 64'(RdmaAckQueryDeviceAtomicWriteOffset);
      16'd1297: number_o = 64'(RdmaAckQueryDeviceMaxSrqOffset);
      16'd1298: number_o = 64'(RdmaAckQueryDeviceFlushOffset);
      16'd1299: number_o = 64'(RdmaAckQueryDeviceMaxPushOffset);
      16'd1300: number_o = 64'(RdmaAckQueryDeviceMaxMwOffset);
      16'd1301: number_o = 64'(RdmaAckQueryDeviceMaxFastMrPagesOffset);
      16'd1302: number_o = 64'(RdmaAckQueryDeviceCqElementsOffset);
      16'd1303: number_o = 64'(RdmaAckQueryDeviceMaxMcastAttachOffset);
      16'd1304: number_o = 64'(RdmaAckQueryPortBytes);
      16'd1305: number_o = 64'(RdmaAckQueryPortGidTblLenOffset);
      16'd1306: number_o = 64'(RdmaAckQueryPortMaxMsgSzOffset);
      16'd1307: number_o = 64'(RdmaAckQueryClockBytes);
      16'd1308: number_o = 64'(RdmaAckQueryClockTimeNsOffset);
      16'd1309: number_o = 64'(RdmaCmdCreateCqBytes);
      16'd1310: number_o = 64'(RdmaCmdCreateCqCqeOffset);
      16'd1311: number_o = 64'(RdmaAckCreateCqBytes);
      16'd1312: number_o = 64'(RdmaAckCreateCqCqnOffset);
      16'd1313: number_o = 64'(RdmaCmdCreateExtendedCqBytes);
      16'd1314: number_o = 64'(RdmaCmdCreateExtendedCqCqeOffset);
      16'd1315: number_o = 64'(RdmaCmdCreateExtendedCqElementsOffset);
      16'd1316: number_o = 64'(RdmaCmdDestroyCqBytes);
      16'd1317: number_o = 64'(RdmaCmdDestroyCqCqnOffset);
      16'd1318: number_o = 64'(RdmaCmdReqNotifyBytes);
      16'd1319: number_o = 64'(RdmaCmdReqNotifyCqnOffset);
      16'd1320: number_o = 64'(RdmaCmdReqNotifyFlagsOffset);
      16'd1321: number_o = 64'(RdmaCqArmBytes);
      16'd1322: number_o = 64'(RdmaCqArmSeenUsedIdxOffset);
      16'd1323: number_o = 64'(RdmaAckCreatePdBytes);
      16'd1324: number_o = 64'(RdmaAckCreatePdPdnOffset);
      16'd1325: number_o = 64'(RdmaCmdDestroyPdBytes);
      16'd1326: number_o = 64'(RdmaCmdDestroyPdPdnOffset);
      16'd1327: number_o = 64'(RdmaCmdGetDmaMrBytes);
      16'd1328: number_o = 64'(RdmaCmdGetDmaMrPdnOffset);
      16'd1329: number_o = 64'(RdmaCmdGetDmaMrAccessFlagsOffset);
      16'd1330: number_o = 64'(RdmaAckGetDmaMrBytes);
      16'd1331: number_o = 64'(RdmaAckGetDmaMrMrnOffset);
      16'd1332: number_o = 64'(RdmaAckGetDmaMrLkeyOffset);
      16'd1333: number_o = 64'(RdmaAckGetDmaMrRkeyOffset);
      16'd1334: number_o = 64'(RdmaCmdRegUserMrBytes);
      16'd1335: number_o = 64'(RdmaCmdRegUserMrPdnOffset);
      16'd1336: number_o = 64'(RdmaCmdRegUserMrAccessFlagsOffset);
      16'd1337: number_o = 64'(RdmaCmdRegUserMrVirtAddrOffset);
      16'd1338: number_o = 64'(RdmaCmdRegUserMrLengthOffset);
      16'd1339: number_o = 64'(RdmaCmdRegUserMrNpagesOffset);
      16'd1340: number_o = 64'(RdmaCmdRegUserMrPageShiftOffset);
      16'd1341: number_o = 64'(RdmaCmdRegUserMrInvalidatableOffset);
      16'd1342: number_o = 64'(RdmaCmdRegUserMrIsPmemOffset);
      16'd1343: number_o = 64'(RdmaAckRegUserMrBytes);
      16'd1344: number_o = 64'(RdmaAckRegUserMrMrnOffset);
      16'd1345: number_o = 64'(RdmaAckRegUserMrLkeyOffset);
      16'd1346: number_o = 64'(RdmaAckRegUserMrRkeyOffset);
      16'd1347: number_o = 64'(RdmaCmdDeregMrBytes);
      16'd1348: number_o = 64'(RdmaCmdDeregMrMrnOffset);
      16'd1349: number_o = 64'(RdmaCmdReregMrBytes);
      16'd1350: number_o = 64'(RdmaCmdReregMrMrnOffset);
      16'd1351: number_o = 64'(RdmaCmdReregMrFlagsOffset);
      16'd1352: number_o = 64'(RdmaCmdReregMrPdnOffset);
      16'd1353: number_o = 64'(RdmaCmdReregMrAccessFlagsOffset);
      16'd1354: number_o = 64'(RdmaCmdReregMrVirtAddrOffset);
      16'd1355: number_o = 64'(RdmaCmdReregMrLengthOffset);
      16'd1356: number_o = 64'(RdmaCmdReregMrNpagesOffset);
      16'd1357: number_o = 64'(RdmaCmdReregMrPageShiftOffset);
      16'd1358: number_o = 64'(RdmaCmdReregMrIsPmemOffset);
      16'd1359: number_o = 64'(RdmaAckReregMrBytes);
      16'd1360: number_o = 64'(RdmaAckReregMrLkeyOffset);
      16'd1361: number_o = 64'(RdmaAckReregMrRkeyOffset);
      16'd1362: number_o = 64'(RdmaCmdAllocMwBytes);
      16'd1363: number_o = 64'(RdmaCmdAllocMwPdnOffset);
      16'd1364: number_o = 64'(RdmaCmdAllocMwMwTypeOffset);
      16'd1365: number_o = 64'(RdmaAckAllocMwBytes);
      16'd1366: number_o = 64'(RdmaAckAllocMwMwnOffset);
      16'd1367: number_o = 64'(RdmaAckAllocMwRkeyOffset);
      16'd1368: number_o = 64'(RdmaCmdDeallocMwBytes);
      16'd1369: number_o = 64'(RdmaCmdDeallocMwMwnOffset);
      16'd1370: number_o = 64'(RdmaCmdAllocMrBytes);
      16'd1371: number_o = 64'(RdmaCmdAllocMrPdnOffset);
      16'd1372: number_o = 64'(RdmaCmdAllocMrMaxPagesOffset);
      16'd1373: number_o = 64'(RdmaAckAllocMrBytes);
      16'd1374: number_o = 64'(RdmaAckAllocMrMrnOffset);
      16'd1375: number_o = 64'(RdmaAckAllocMrLkeyOffset);
      16'd1376: number_o = 64'(RdmaAckAllocMrRkeyOffset);
      16'd1377: number_o = 64'(RdmaCmdQueryMrBytes);
      16'd1378: number_o = 64'(RdmaCmdQueryMrMrnOffset);
      16'd1379: number_o = 64'(RdmaAckQueryMrBytes);
      16'd1380: number_o = 64'(RdmaAckQueryMrLkeyOffset);
      16'd1381: number_o = 64'(RdmaAckQueryMrRkeyOffset);
      16'd1382: number_o = 64'(RdmaAckQueryMrPdnOffset);
      16'd1383: number_o = 64'(RdmaAckQueryMrAccessFlagsOffset);
      16'd1384: number_o = 64'(RdmaAckQueryMrVirtAddrOffset);
      16'd1385: number_o = 64'(RdmaAckQueryMrLengthOffset);
      16'd1386: number_o = 64'(RdmaAckQueryMrNpagesOffset);
      16'd1387: number_o = 64'(RdmaAckQueryMrPageShiftOffset);
      16'd1388: number_o = 64'(RdmaAckQueryMrIsAliveOffset);
      16'd1389: number_o = 64'(RdmaAckQueryMrInvalidatableOffset);
      16'd1390: number_o = 64'(RdmaAckQueryMrIsFastOffset);
      16'd1391: number_o = 64'(RdmaQpCapBytes);
      16'd1392: number_o = 64'(RdmaQpCapMaxSendWrOffset);
      16'd1393: number_o = 64'(RdmaQpCapMaxRecvWrOffset);
      16'd1394: number_o = 64'(RdmaQpCapMaxSendSgeOffset);
      16'd1395: number_o = 64'(RdmaQpCapMaxRecvSgeOffset);
      16'd1396: number_o = 64'(RdmaQpCapMaxInlineDataOffset);
      16'd1397: number_o = 64'(RdmaCmdCreateQpBytes);
      16'd1398: number_o = 64'(RdmaCmdCreateQpPdnOffset);
      16'd1399: number_o = 64'(RdmaCmdCreateQpQpTypeOffset);
      16'd1400: number_o = 64'(RdmaCmdCreateQpSqSigAllOffset);
      16'd1401: number_o = 64'(RdmaCmdCreateQpHasSrqOffset);
      16'd1402: number_o = 64'(RdmaCmdCreateQpSendCqnOffset);
      16'd1403: number_o = 64'(RdmaCmdCreateQpRecvCqnOffset);
      16'd1404: number_o = 64'(RdmaCmdCreateQpCapOffset);
      16'd1405: number_o = 64'(RdmaCmdCreateQpSrqnOffset);
      16'd1406: number_o = 64'(RdmaAckCreateQpBytes);
      16'd1407: number_o = 64'(RdmaAckCreateQpQpnOffset);
      16'd1408: number_o = 64'(RdmaGlobalRouteBytes);
      16'd1409: number_o = 64'(RdmaGlobalRouteDgidOffset);
      16'd1410: number_o = 64'(RdmaGlobalRouteFlowLabelOffset);
      16'd1411: number_o = 64'(RdmaGlobalRouteSgidIndexOffset);
      16'd1412: number_o = 64'(RdmaGlobalRouteHopLimitOffset);
      16'd1413: number_o = 64'(RdmaGlobalRouteTrafficClassOffset);
      16'd1414: number_o = 64'(RdmaAhAttrBytes);
      16'd1415: number_o = 64'(RdmaAhAttrGrhOffset);
      16'd1416: number_o = 64'(RdmaAhAttrDmacOffset);
      16'd1417: number_o = 64'(RdmaCmdModifyQpBytes);
      16'd1418: number_o = 64'(RdmaCmdModifyQpQpnOffset);
      16'd1419: number_o = 64'(RdmaCmdModifyQpAttrMaskOffset);
      16'd1420: number_o = 64'(RdmaCmdModifyQpQpStateOffset);
      16'd1421: number_o = 64'(RdmaCmdModifyQpCurQpStateOffset);
      16'd1422: number_o = 64'(RdmaCmdModifyQpPathMtuOffset);
      16'd1423: number_o = 64'(RdmaCmdModifyQpMaxRdAtomicOffset);
      16'd1424: number_o = 64'(RdmaCmdModifyQpMaxDestRdAtomicOffset);
      16'd1425: number_o = 64'(RdmaCmdModifyQpMinRnrTimerOffset);
      16'd1426: number_o = 64'(RdmaCmdModifyQpTimeoutOffset);
      16'd1427: number_o = 64'(RdmaCmdModifyQpRetryCntOffset);
      16'd1428: number_o = 64'(RdmaCmdModifyQpRnrRetryOffset);
      16'd1429: number_o = 64'(RdmaCmdModifyQpQkeyOffset);
      16'd1430: number_o = 64'(RdmaCmdModifyQpRqPsnOffset);
      16'd1431: number_o = 64'(RdmaCmdModifyQpSqPsnOffset);
      16'd1432: number_o = 64'(RdmaCmdModifyQpDestQpNumOffset);
      16'd1433: number_o = 64'(RdmaCmdModifyQpQpAccessFlagsOffset);
      16'd1434: number_o = 64'(RdmaCmdModifyQpRateLimitOffset);
      16'd1435: number_o = 64'(RdmaCmdModifyQpCapOffset);
      16'd1436: number_o = 64'(RdmaCmdModifyQpAhAttrOffset);
      16'd1437: number_o = 64'(RdmaCmdQueryQpBytes);
      16'd1438: number_o = 64'(RdmaCmdQueryQpQpnOffset);
      16'd1439: number_o = 64'(RdmaCmdQueryQpAttrMaskOffset);
      16'd1440: number_o = 64'(RdmaAckQueryQpBytes);
      16'd1441: number_o = 64'(RdmaAckQueryQpQpStateOffset);
      16'd1442: number_o = 64'(RdmaAckQueryQpPathMtuOffset);
      16'd1443: number_o = 64'(RdmaAckQueryQpSqDrainingOffset);
      16'd1444: number_o = 64'(RdmaAckQueryQpMaxRdAtomicOffset);
      16'd1445: number_o = 64'(RdmaAckQueryQpMaxDestRdAtomicOffset);
      16'd1446: number_o = 64'(RdmaAckQueryQpMinRnrTimerOffset);
      16'd1447: number_o = 64'(RdmaAckQueryQpTimeoutOffset);
      16'd1448: number_o = 64'(RdmaAckQueryQpRetryCntOffset);
      16'd1449: number_o = 64'(RdmaAckQueryQpRnrRetryOffset);
      16'd1450: number_o = 64'(RdmaAckQueryQpQkeyOffset);
      16'd1451: number_o = 64'(RdmaAckQueryQpRqPsnOffset);
      16'd1452: number_o = 64'(RdmaAckQueryQpSqPsnOffset);
      16'd1453: number_o = 64'(RdmaAckQueryQpDestQpNumOffset);
      16'd1454: number_o = 64'(RdmaAckQueryQpQpAccessFlagsOffset);
      16'd1455: number_o = 64'(RdmaAckQueryQpRateLimitOffset);
      16'd1456: number_o = 64'(RdmaAckQueryQpCapOffset);
      16'd1457: number_o = 64'(RdmaAckQueryQpAhAttrOffset);
      16'd1458: number_o = 64'(RdmaCmdDestroyQpBytes);
      16'd1459: number_o = 64'(RdmaCmdDestroyQpQpnOffset);
      16'd1460: number_o = 64'(RdmaCmdCreateSrqBytes);
      16'd1461: number_o = 64'(RdmaCmdCreateSrqPdnOffset);
      16'd1462: number_o = 64'(RdmaCmdCreateSrqMaxWrOffset);
      16'd1463: number_o = 64'(RdmaCmdCreateSrqMaxSgeOffset);
      16'd1464: number_o = 64'(RdmaAckCreateSrqBytes);
      16'd1465: number_o = 64'(RdmaAckCreateSrqSrqnOffset);
      16'd1466: number_o = 64'(RdmaCmdModifySrqBytes);
      16'd1467: number_o = 64'(RdmaCmdModifySrqSrqnOffset);
      16'd1468: number_o = 64'(RdmaCmdModifySrqSrqLimitOffset);
      16'd1469: number_o = 64'(RdmaCmdModifySrqPostedOffset);
      16'd1470: number_o = 64'(RdmaCmdQuerySrqBytes);
      16'd1471: number_o = 64'(RdmaCmdQuerySrqSrqnOffset);
      16'd1472: number_o = 64'(RdmaAckQuerySrqBytes);
      16'd1473: number_o = 64'(RdmaAckQuerySrqMaxWrOffset);
      16'd1474: number_o = 64'(RdmaAckQuerySrqMaxSgeOffset);
      16'd1475: number_o = 64'(RdmaAckQuerySrqSrqLimitOffset);
      16'd1476: number_o = 64'(RdmaAckQuerySrqQpsOffset);
      16'd1477: number_o = 64'(RdmaCmdDestroySrqBytes);
      16'd1478: number_o = 64'(RdmaCmdDestroySrqSrqnOffset);
      16'd1479: number_o = 64'(RdmaCmdCreateAhBytes);
      16'd1480: number_o = 64'(RdmaCmdCreateAhPdnOffset);
      16'd1481: number_o = 64'(RdmaCmdCreateAhAhAttrOffset);
      16'd1482: number_o = 64'(RdmaAckCreateAhBytes);
      16'd1483: number_o = 64'(RdmaAckCreateAhAhOffset);
      16'd1484: number_o = 64'(RdmaCmdDestroyAhBytes);
      16'd1485: number_o = 64'(RdmaCmdDestroyAhPdnOffset);
      16'd1486: number_o = 64'(RdmaCmdDestroyAhAhOffset);
      16'd1487: number_o = 64'(RdmaCmdAddGidBytes);
      16'd1488: number_o = 64'(RdmaCmdAddGidIndexOffset);
      16'd1489: number_o = 64'(RdmaCmdAddGidGidTypeOffset);
      16'd1490: number_o = 64'(RdmaCmdAddGidFlagsOffset);
      16'd1491: number_o = 64'(RdmaCmdAddGidVlanOffset);
      16'd1492: number_o = 64'(RdmaCmdAddGidGidOffset);
      16'd1493: number_o = 64'(RdmaCmdDelGidBytes);
      16'd1494: number_o = 64'(RdmaCmdDelGidIndexOffset);
      16'd1495: number_o = 64'(RdmaCmdAttachMcastBytes);
      16'd1496: number_o = 64'(RdmaCmdAttachMcastQpnOffset);
      16'd1497: number_o = 64'(RdmaCmdAttachMcastMgidOffset);
      16'd1498: number_o = 64'(RdmaCmdDetachMcastBytes);
      16'd1499: number_o = 64'(RdmaCmdDetachMcastQpnOffset);
      16'd1500: number_o = 64'(RdmaCmdDetachMcastMgidOffset);
      16'd1501: number_o = 64'(RdmaCmdSetWindowBytes);
      16'd1502: number_o = 64'(RdmaCmdSetWindowVqIndexOffset);
      16'd1503: number_o = 64'(RdmaCmdSetWindowFlagsOffset);
      16'd1504: number_o = 64'(RdmaCmdSetWindowBaseOffset);
      16'd1505: number_o = 64'(RdmaCmdSetWindowLengthOffset);
      16'd1506: number_o = 64'(RdmaEventBytes);
      16'd1507: number_o = 64'(RdmaEventEventTypeOffset);
      16'd1508: number_o = 64'(RdmaEventElementOffset);
      16'd1509: number_o = 64'(RdmaEventCodeOffset);
      16'd1510: number_o = 64'(RdmaEventLostOffset);
      16'd1511: number_o = 64'(RdmaSgeBytes);
      16'd1512: number_o = 64'(RdmaSgeAddrOffset);
      16'd1513: number_o = 64'(RdmaSgeLengthOffset);
      16'd1514: number_o = 64'(RdmaSgeLkeyOffset);
      16'd1515: number_o = 64'(RdmaSqReqRdmaBytes);
      16'd1516: number_o = 64'(RdmaSqReqRdmaRemoteAddrOffset);
      16'd1517: number_o = 64'(RdmaSqReqRdmaRkeyOffset);
      16'd1518: number_o = 64'(RdmaSqReqFlushBytes);
      16'd1519: number_o = 64'(RdmaSqReqFlushRemoteAddrOffset);
      16'd1520: number_o = 64'(RdmaSqReqFlushLengthOffset);
      16'd1521: number_o = 64'(RdmaSqReqFlushPlacementOffset);
      16'd1522: number_o = 64'(RdmaSqReqFlushSelectivityOffset);
      16'd1523: number_o = 64'(RdmaSqReqFlushRkeyOffset);
      16'd1524: number_o = 64'(RdmaSqReqBindBytes);
      16'd1525: number_o = 64'(RdmaSqReqBindAddrOffset);
      16'd1526: number_o = 64'(RdmaSqReqBindLengthOffset);
      16'd1527: number_o = 64'(RdmaSqReqBindAccessFlagsOffset);
      16'd1528: number_o = 64'(RdmaSqReqBindRkeyOffset);
      16'd1529: number_o = 64'(RdmaSqReqBindLkeyOffset);
      16'd1530: number_o = 64'(RdmaSqReqRegBytes);
      16'd1531: number_o = 64'(RdmaSqReqRegVirtAddrOffset);
      16'd1532: number_o = 64'(RdmaSqReqRegLengthOffset);
      16'd1533: number_o = 64'(RdmaSqReqRegAccessFlagsOffset);
      16'd1534: number_o = 64'(RdmaSqReqRegKeyOffset);
      16'd1535: number_o = 64'(RdmaSqReqRegPageShiftOffset);
      16'd1536: number_o = 64'(RdmaPagePairBytes);
      16'd1537: number_o = 64'(RdmaPagePairFirstOffset);
      16'd1538: number_o = 64'(RdmaPagePairSecondOffset);
      16'd1539: number_o = 64'(RdmaSqReqAtomicBytes);
      16'd1540: number_o = 64'(RdmaSqReqAtomicRemoteAddrOffset);
      16'd1541: number_o = 64'(RdmaSqReqAtomicCompareAddOffset);
      16'd1542: number_o = 64'(RdmaSqReqAtomicSwapOffset);
      16'd1543: number_o = 64'(RdmaSqReqAtomicRkeyOffset);
      16'd1544: number_o = 64'(RdmaSqReqUdBytes);
      16'd1545: number_o = 64'(RdmaSqReqUdRemoteQpnOffset);
      16'd1546: number_o = 64'(RdmaSqReqUdRemoteQkeyOffset);
      16'd1547: number_o = 64'(RdmaSqReqUdAhOffset);
      16'd1548: number_o = 64'(RdmaSqReqNumSgeBytes);
      16'd1549: number_o = 64'(RdmaSqReqNumSgeNumSgeOffset);
      16'd1550: number_o = 64'(RdmaSqReqInlineLenBytes);
      16'd1551: number_o = 64'(RdmaSqReqInlineLenInlineLenOffset);
      16'd1552: number_o = 64'(RdmaSqReqBytes);
      16'd1553: number_o = 64'(RdmaSqReqWrIdOffset);
      16'd1554: number_o = 64'(RdmaSqReqOpcodeOffset);
      16'd1555: number_o = 64'(RdmaSqReqSendFlagsOffset);
      16'd1556: number_o = 64'(RdmaSqReqImmDataOffset);
      16'd1557: number_o = 64'(RdmaSqReqWrOffset);
      16'd1558: number_o = 64'(RdmaSqReqInlineDataOffset);
      16'd1559: number_o = 64'(RdmaSqReqSizeOffset);
      16'd1560: number_o = 64'(RdmaSqBaseBytes);
      16'd1561: number_o = 64'(RdmaSqBaseWrIdOffset);
      16'd1562: number_o = 64'(RdmaSqBaseOpcodeOffset);
      16'd1563: number_o = 64'(RdmaSqBaseSendFlagsOffset);
      16'd1564: number_o = 64'(RdmaSqBaseVersionOffset);
      16'd1565: number_o = 64'(RdmaSqBaseElementsOffset);
      16'd1566: number_o = 64'(RdmaSqBaseImmDataOffset);
      16'd1567: number_o = 64'(RdmaPushBytes);
      16'd1568: number_o = 64'(RdmaPushPositionOffset);
      16'd1569: number_o = 64'(RdmaPushHeadOffset);
      16'd1570: number_o = 64'(RdmaPushLengthOffset);
      16'd1571: number_o = 64'(RdmaSqRdmaBytes);
      16'd1572: number_o = 64'(RdmaSqRdmaRemoteAddrOffset);
      16'd1573: number_o = 64'(RdmaSqRdmaRkeyOffset);
      16'd1574: number_o = 64'(RdmaSqUdBytes);
      16'd1575: number_o = 64'(RdmaSqUdRemoteQpnOffset);
      16'd1576: number_o = 64'(RdmaSqUdRemoteQkeyOffset);
      16'd1577: number_o = 64'(RdmaSqUdAhOffset);
      16'd1578: number_o = 64'(RdmaSqAtomicBytes);
      16'd1579: number_o = 64'(RdmaSqAtomicCompareAddOffset);
      16'd1580: number_o = 64'(RdmaSqAtomicSwapOffset);
      16'd1581: number_o = 64'(RdmaSqFlushBytes);
      16'd1582: number_o = 64'(RdmaSqFlushLengthOffset);
      16'd1583: number_o = 64'(RdmaSqFlushPlacementOffset);
      16'd1584: number_o = 64'(RdmaSqFlushSelectivityOffset);
      16'd1585: number_o = 64'(RdmaSqBindBytes);
      16'd1586: number_o = 64'(RdmaSqBindAddrOffset);
      16'd1587: number_o = 64'(RdmaSqBindRkeyOffset);
      16'd1588: number_o = 64'(RdmaSqBindLkeyOffset);
      16'd1589: number_o = 64'(RdmaSqRegBytes);
      16'd1590: number_o = 64'(RdmaSqRegVirtAddrOffset);
      16'd1591: number_o = 64'(RdmaSqRegKeyOffset);
      16'd1592: number_o = 64'(RdmaSqRegPageShiftOffset);
      16'd1593: number_o = 64'(RdmaSqBindRangeBytes);
      16'd1594: number_o = 64'(RdmaSqBindRangeLengthOffset);
      16'd1595: number_o = 64'(RdmaSqBindRangeAccessFlagsOffset);
      16'd1596: number_o = 64'(RdmaRqReqBytes);
      16'd1597: number_o = 64'(RdmaRqReqWrIdOffset);
      16'd1598: number_o = 64'(RdmaRqReqNumSgeOffset);
      16'd1599: number_o = 64'(RdmaCqReqBytes);
      16'd1600: number_o = 64'(RdmaCqReqWrIdOffset);
      16'd1601: number_o = 64'(RdmaCqReqStatusOffset);
      16'd1602: number_o = 64'(RdmaCqReqOpcodeOffset);
      16'd1603: number_o = 64'(RdmaCqReqVendorErrOffset);
      16'd1604: number_o = 64'(RdmaCqReqByteLenOffset);
      16'd1605: number_o = 64'(RdmaCqReqImmDataOffset);
      16'd1606: number_o = 64'(RdmaCqReqQpNumOffset);
      16'd1607: number_o = 64'(RdmaCqReqSrcQpOffset);
      16'd1608: number_o = 64'(RdmaCqReqWcFlagsOffset);
      16'd1609: number_o = 64'(RdmaCqBaseBytes);
      16'd1610: number_o = 64'(RdmaCqBaseWrIdOffset);
      16'd1611: number_o = 64'(RdmaCqBaseStatusOffset);
      16'd1612: number_o = 64'(RdmaCqBaseOpcodeOffset);
      16'd1613: number_o = 64'(RdmaCqBaseVersionOffset);
      16'd1614: number_o = 64'(RdmaCqBaseBaseBytesOffset);
      16'd1615: number_o = 64'(RdmaCqBaseVendorErrOffset);
      16'd1616: number_o = 64'(RdmaCqBaseByteLenOffset);
      16'd1617: number_o = 64'(RdmaCqBaseImmDataOffset);
      16'd1618: number_o = 64'(RdmaCqBaseQpNumOffset);
      16'd1619: number_o = 64'(RdmaCqBaseSrcQpOffset);
      16'd1620: number_o = 64'(RdmaCqBaseWcFlagsOffset);
      16'd1621: number_o = 64'(RdmaCqBaseElementsOffset);
      16'd1622: number_o = 64'(RdmaCqTimestampBytes);
      16'd1623: number_o = 64'(RdmaCqTimestampTimeNsOffset);
      16'd1624: number_o = 64'(TableVirtqueueBytes);
      16'd1625: number_o = 64'(TableVirtqueueKindOffset);
      16'd1626: number_o = 64'(TableVirtqueueLimitOffset);
      16'd1627: number_o = 64'(TableVirtqueueOwnerOffset);
      16'd1628: number_o = 64'(TableVirtqueueCoalMaxPacketsOffset);
      16'd1629: number_o = 64'(TableVirtqueueCoalMaxUsecsOffset);
      16'd1630: number_o = 64'(TableVirtqueueGuestOffloadsOffset);
      16'd1631: number_o = 64'(TableVirtqueueQueueSizeOffset);
      16'd1632: number_o = 64'(TableVirtqueueMsixVectorOffset);
      16'd1633: number_o = 64'(TableVirtqueueNextAvailOffset);
      16'd1634: number_o = 64'(TableVirtqueueNextUsedOffset);
      16'd1635: number_o = 64'(TableVirtqueueQueueDescOffset);
      16'd1636: number_o = 64'(TableVirtqueueQueueDriverOffset);
      16'd1637: number_o = 64'(TableVirtqueueQueueDeviceOffset);
      16'd1638: number_o = 64'(TableWindowBytes);
      16'd1639: number_o = 64'(TableWindowBaseOffset);
      16'd1640: number_o = 64'(TableWindowLastOffset);
      16'd1641: number_o = 64'(TablePathBytes);
      16'd1642: number_o = 64'(TablePathDgidOffset);
      16'd1643: number_o = 64'(TablePathSgidOffset);
      16'd1644: number_o = 64'(TablePathDmacOffset);
      16'd1645: number_o = 64'(TablePathVlanOffset);
      16'd1646: number_o = 64'(TablePathTrafficClassOffset);
      16'd1647: number_o = 64'(TablePathHopLimitOffset);
      16'd1648: number_o = 64'(TablePathSgidIndexOffset);
      16'd1649: number_o = 64'(TableQpContextBytes);
      16'd1650: number_o = 64'(TableQpContextStateOffset);
      16'd1651: number_o = 64'(TableQpContextQpTypeOffset);
      16'd1652: number_o = 64'(TableQpContextPathMtuOffset);
      16'd1653: number_o = 64'(TableQpContextMaxRdAtomicOffset);
      16'd1654: number_o = 64'(TableQpContextMaxDestRdAtomicOffset);
      16'd1655: number_o = 64'(TableQpContextPdnOffset);
      16'd1656: number_o = 64'(TableQpContextSendCqnOffset);
      16'd1657: number_o = 64'(TableQpContextRecvCqnOffset);
      16'd1658: number_o = 64'(TableQpContextMaxInlineDataOffset);
      16'd1659: number_o = 64'(TableQpContextQkeyOffset);
      16'd1660: number_o = 64'(TableQpContextDestQpnOffset);
      16'd1661: number_o = 64'(TableQpContextMaxSendSgeOffset);
      16'd1662: number_o = 64'(TableQpContextMaxSendWrOffset);
      16'd1663: number_o = 64'(TableQpContextMaxRecvWrOffset);
      16'd1664: number_o = 64'(TableQpContextMaxRecvSgeOffset);
      16'd1665: number_o = 64'(TableQpContextSrqOffset);
      16'd1666: number_o = 64'(TableQpContextPathOffset);
      16'd1667: number_o = 64'(TableQpContextEngineStateOffset);
      16'd1668: number_o = 64'(TableQpContextSendOutstandingOffset);
      16'd1669: number_o = 64'(TableQpContextNextPsnOffset);
      16'd1670: number_o = 64'(TableQpContextUnackedPsnOffset);
      16'd1671: number_o = 64'(TableQpContextReadsOutstandingOffset);
      16'd1672: number_o = 64'(TableQpContextMessagesSentOffset);
      16'd1673: number_o = 64'(TableQpContextCreditLimitOffset);
      16'd1674: number_o = 64'(TableQpContextDeadlineNsOffset);
      16'd1675: number_o = 64'(TableQpContextExpectedPsnOffset);
      16'd1676: number_o = 64'(TableQpContextReadsHeldOffset);
      16'd1677: number_o = 64'(TableQpContextMsnOffset);
      16'd1678: number_o = 64'(TableCqContextBytes);
      16'd1679: number_o = 64'(TableCqContextElementsOffset);
      16'd1680: number_o = 64'(TableCqContextVqIndexOffset);
      16'd1681: number_o = 64'(TableCqContextCqeOffset);
      16'd1682: number_o = 64'(TableMrBytes);
      16'd1683: number_o = 64'(TableMrKeyOffset);
      16'd1684: number_o = 64'(TableMrPageShiftOffset);
      16'd1685: number_o = 64'(TableMrNpagesOffset);
      16'd1686: number_o = 64'(TableMrFirstTranslationOffset);
      16'd1687: number_o = 64'(TableMrPdnOffset);
      16'd1688: number_o = 64'(TableMrVirtAddrOffset);
      16'd1689: number_o = 64'(TableMrLengthOffset);
      16'd1690: number_o = 64'(TableMrBoundToOffset);
      16'd1691: number_o = 64'(TableMrBoundByOffset);
      16'd1692: number_o = 64'(TableMrDeviceKeyOffset);
      16'd1693: number_o = 64'(RdmaKeyBytes);
      16'd1694: number_o = 64'(RdmaKeyKeyOffset);
      16'd1695: number_o = 64'(RdmaKeyIndexOffset);
      16'd1696: number_o = 64'(TableTranslationBytes);
      16'd1697: number_o = 64'(TableTranslationAddressOffset);
      16'd1698: number_o = 64'(TableAhBytes);
      16'd1699: number_o = 64'(TableAhPdnOffset);
      16'd1700: number_o = 64'(TableAhPathOffset);
      16'd1701: number_o = 64'(TableGidBytes);
      16'd1702: number_o = 64'(TableGidVlanOffset);
      16'd1703: number_o = 64'(TableGidGidOffset);
      16'd1704: number_o = 64'(TableMcastBytes);
      16'd1705: number_o = 64'(TableMcastQpnOffset);
      16'd1706: number_o = 64'(TableMcastMgidOffset);
      16'd1707: number_o = 64'(TableMacFilterBytes);
      16'd1708: number_o = 64'(TableMacFilterMacOffset);
      16'd1709: number_o = 64'(TableVlanFilterBytes);
      16'd1710: number_o = 64'(TableVlanFilterMembersOffset);
      16'd1711: number_o = 64'(TableRssConfigBytes);
      16'd1712: number_o = 64'(TableRssConfigUnclassifiedPairOffset);
      16'd1713: number_o = 64'(TableRssConfigIndirectionTableMaskOffset);
      16'd1714: number_o = 64'(TableRssConfigHashTypesOffset);
      16'd1715: number_o = 64'(TableRssConfigHashKeyDataOffset);
      16'd1716: number_o = 64'(TableRssConfigHashKeyLengthOffset);
      16'd1717: number_o = 64'(TableRssBytes);
      16'd1718: number_o = 64'(TableRssPairOffset);
      16'd1719: number_o = 64'(VirtioPciCommonCfgBytes);
      16'd1720: number_o = 64'(VirtioPciCommonCfgDeviceFeatureSelectOffset);
      16'd1721: number_o = 64'(VirtioPciCommonCfgDeviceFeatureOffset);
      16'd1722: number_o = 64'(VirtioPciCommonCfgDriverFeatureSelectOffset);
      16'd1723: number_o = 64'(VirtioPciCommonCfgDriverFeatureOffset);
      16'd1724: number_o = 64'(VirtioPciCommonCfgConfigMsixVectorOffset);
      16'd1725: number_o = 64'(VirtioPciCommonCfgNumQueuesOffset);
      16'd1726: number_o = 64'(VirtioPciCommonCfgDeviceStatusOffset);
      16'd1727: number_o = 64'(VirtioPciCommonCfgConfigGenerationOffset);
      16'd1728: number_o = 64'(VirtioPciCommonCfgQueueSelectOffset);
      16'd1729: number_o = 64'(VirtioPciCommonCfgQueueSizeOffset);
      16'd1730: number_o = 64'(VirtioPciCommonCfgQueueMsixVectorOffset);
      16'd1731: number_o = 64'(VirtioPciCommonCfgQueueEnableOffset);
      16'd1732: number_o = 64'(VirtioPciCommonCfgQueueNotifyOffOffset);
      16'd1733: number_o = 64'(VirtioPciCommonCfgQueueDescOffset);
      16'd1734: number_o = 64'(VirtioPciCommonCfgQueueDriverOffset);
      16'd1735: number_o = 64'(VirtioPciCommonCfgQueueDeviceOffset);
      16'd1736: number_o = 64'(VirtioPciCommonCfgQueueNotifConfigDataOffset);
      16'd1737: number_o = 64'(VirtioPciCommonCfgQueueResetOffset);
      16'd1738: number_o = 64'(VirtioPciCommonCfgAdminQueueIndexOffset);
      16'd1739: number_o = 64'(VirtioPciCommonCfgAdminQueueNumOffset);
      16'd1740: number_o = 64'(VirtqDescBytes);
      16'd1741: number_o = 64'(VirtqDescAddrOffset);
      16'd1742: number_o = 64'(VirtqDescLenOffset);
      16'd1743: number_o = 64'(VirtqDescFlagsOffset);
      16'd1744: number_o = 64'(VirtqDescNextOffset);
      16'd1745: number_o = 64'(VirtqAvailBytes);
      16'd1746: number_o = 64'(VirtqAvailFlagsOffset);
      16'd1747: number_o = 64'(VirtqAvailIdxOffset);
      16'd1748: number_o = 64'(VirtqUsedEventBytes);
      16'd1749: number_o = 64'(VirtqUsedEventUsedEventOffset);
      16'd1750: number_o = 64'(VirtqUsedElemBytes);
      16'd1751: number_o = 64'(VirtqUsedElemIdOffset);
      16'd1752: number_o = 64'(VirtqUsedElemLenOffset);
      16'd1753: number_o = 64'(VirtqUsedBytes);
      16'd1754: number_o = 64'(VirtqUsedFlagsOffset);
      16'd1755: number_o = 64'(VirtqUsedIdxOffset);
      16'd1756: number_o = 64'(VirtqAvailEventBytes);
      16'd1757: number_o = 64'(VirtqAvailEventAvailEventOffset);
      16'd1758: number_o = 64'(PvirtqDescBytes);
      16'd1759: number_o = 64'(PvirtqDescAddrOffset);
      16'd1760: number_o = 64'(PvirtqDescLenOffset);
      16'd1761: number_o = 64'(PvirtqDescIdOffset);
      16'd1762: number_o = 64'(PvirtqDescFlagsOffset);
      16'd1763: number_o = 64'(PvirtqEventSuppressBytes);
      16'd1764: number_o = 64'(VirtqNotificationBytes);
      16'd1765: number_o = 64'(VirtqNotificationVqIndexOffset);
      16'd1766: number_o = 64'(VirtqNotificationDataBytes);
      16'd1767: number_o = 64'(VirtqNotificationDataVqIndexOffset);
      16'd1768: number_o = 64'(VirtqNotificationDataNextIdxOffset);
      16'd1769: number_o = 64'(PvirtqNotificationDataBytes);
      16'd1770: number_o = 64'(PvirtqNotificationDataVqIndexOffset);
      16'd1771: number_o = 64'(EthernetBytes);
      16'd1772: number_o = 64'(EthernetDestinationOffset);
      16'd1773: number_o = 64'(EthernetSourceOffset);
      16'd1774: number_o = 64'(EthernetEthertypeOffset);
      16'd1775: number_o = 64'(VlanTagBytes);
      16'd1776: number_o = 64'(VlanTagEthertypeOffset);
      16'd1777: number_o = 64'(Ipv4Bytes);
      16'd1778: number_o = 64'(Ipv4TotalLengthOffset);
      16'd1779: number_o = 64'(Ipv4IdentificationOffset);
      16'd1780: number_o = 64'(Ipv4TimeToLiveOffset);
      16'd1781: number_o = 64'(Ipv4ProtocolOffset);
      16'd1782: number_o = 64'(Ipv4HeaderChecksumOffset);
      16'd1783: number_o = 64'(Ipv4SourceOffset);
      16'd1784: number_o = 64'(Ipv4DestinationOffset);
      16'd1785: number_o = 64'(Ipv6Bytes);
      16'd1786: number_o = 64'(Ipv6PayloadLengthOffset);
      16'd1787: number_o = 64'(Ipv6NextHeaderOffset);
      16'd1788: number_o = 64'(Ipv6HopLimitOffset);
      16'd1789: number_o = 64'(Ipv6SourceOffset);
      16'd1790: number_o = 64'(Ipv6DestinationOffset);
      16'd1791: number_o = 64'(UdpBytes);
      16'd1792: number_o = 64'(UdpSourcePortOffset);
      16'd1793: number_o = 64'(UdpDestinationPortOffset);
      16'd1794: number_o = 64'(UdpLengthOffset);
      16'd1795: number_o = 64'(UdpChecksumOffset);
      16'd1796: number_o = 64'(GrhBytes);
      16'd1797: number_o = 64'(GrhPayloadLengthOffset);
      16'd1798: number_o = 64'(GrhNextHeaderOffset);
      16'd1799: number_o = 64'(GrhHopLimitOffset);
      16'd1800: number_o = 64'(GrhSgidOffset);
      16'd1801: number_o = 64'(GrhDgidOffset);
      16'd1802: number_o = 64'(BthBytes);
      16'd1803: number_o = 64'(BthOpcodeOffset);
      16'd1804: number_o = 64'(BthPkeyOffset);
      16'd1805: number_o = 64'(BthDestQpOffset);
      16'd1806: number_o = 64'(BthPsnOffset);
      16'd1807: number_o = 64'(RethBytes);
      16'd1808: number_o = 64'(RethVirtualAddressOffset);
      16'd1809: number_o = 64'(RethRkeyOffset);
      16'd1810: number_o = 64'(RethDmaLengthOffset);
      16'd1811: number_o = 64'(AethBytes);
      16'd1812: number_o = 64'(AethMsnOffset);
      16'd1813: number_o = 64'(DethBytes);
      16'd1814: number_o = 64'(DethQkeyOffset);
      16'd1815: number_o = 64'(DethSourceQpOffset);
      16'd1816: number_o = 64'(ImmdtBytes);
      16'd1817: number_o = 64'(ImmdtImmediateDataOffset);
      16'd1818: number_o = 64'(IethBytes);
      16'd1819: number_o = 64'(IethRkeyOffset);
      16'd1820: number_o = 64'(AtomicEthBytes);
      16'd1821: number_o = 64'(AtomicEthVirtualAddressOffset);
      16'd1822: number_o = 64'(AtomicEthRkeyOffset);
      16'd1823: number_o = 64'(AtomicEthSwapAddDataOffset);
      16'd1824: number_o = 64'(AtomicEthCompareDataOffset);
      16'd1825: number_o = 64'(AtomicAckEthBytes);
      16'd1826: number_o = 64'(AtomicAckEthOriginalDataOffset);
      16'd1827: number_o = 64'(FethBytes);
      16'd1828: number_o = 64'(MgmtVersionBytes);
      16'd1829: number_o = 64'(MgmtVersionMinorOffset);
      16'd1830: number_o = 64'(MgmtVersionMajorOffset);
      16'd1831: number_o = 64'(MgmtAbiProfileBytes);
      16'd1832: number_o = 64'(MgmtControlBytes);
      16'd1833: number_o = 64'(MgmtStatusBytes);
      16'd1834: number_o = 64'(MgmtStatusDeviceStatusOffset);
      16'd1835: number_o = 64'(MgmtStatusDmaOutstandingOffset);
      16'd1836: number_o = 64'(MgmtInterruptCauseBytes);
      16'd1837: number_o = 64'(MgmtMailboxStatusBytes);
      16'd1838: number_o = 64'(MgmtTableCommandBytes);
      16'd1839: number_o = 64'(MgmtTableCommandTableIdOffset);
      16'd1840: number_o = 64'(MgmtQpCommandBytes);
      16'd1841: number_o = 64'(MgmtQpCommandQpnOffset);
      16'd1842: number_o = 64'(MgmtFlipEntryBytes);
      16'd1843: number_o = 64'(MgmtFlipEntryIndexOffset);
      16'd1844: number_o = 64'(MgmtFlipEntryRamOffset);
      16'd1845: number_o = 64'(MgmtRxModeBytes);
      16'd1846: number_o = 64'(ProcessorConsoleBytes);
      16'd1847: number_o = 64'(ProcessorConsoleCharacterOffset);
      16'd1848: number_o = 64'(ProcessorLastFailureBytes);
      16'd1849: number_o = 64'(ProcessorLastFailureCauseOffset);
      16'd1850: number_o = 64'($bits(dma_read_request_t));
      16'd1851: number_o = 64'($bits(dma_fetched_t));
      16'd1852: number_o = 64'($bits(dma_store_t));
      16'd1853: number_o = 64'($bits(dma_write_request_t));
      16'd1854: number_o = 64'($bits(dma_done_t));
      16'd1855: number_o = 64'($bits(bar_access_t));
      16'd1856: number_o = 64'($bits(table_write_t));
      16'd1857: number_o = 64'($bits(context_flip_t));
      16'd1858: number_o = 64'($bits(queue_row_write_t));
      16'd1859: number_o = 64'($bits(qp_state_write_t));
      16'd1860: number_o = 64'($bits(qp_load_t));
      16'd1861: number_o = 64'($bits(qp_order_t));
      16'd1862: number_o = 64'($bits(qp_done_t));
      16'd1863: number_o = 64'($bits(qp_sends_t));
      16'd1864: number_o = 64'($bits(qp_sent_t));
      16'd1865: number_o = 64'($bits(qp_psn_t));
      16'd1866: number_o = 64'($bits(qp_failure_t));
      16'd1867: number_o = 64'($bits(push_write_t));
      16'd1868: number_o = 64'($bits(buffer_request_t));
      16'd1869: number_o = 64'($bits(buffer_t));
      16'd1870: number_o = 64'($bits(avail_event_t));
      16'd1871: number_o = 64'($bits(queue_failure_t));
      16'd1872: number_o = 64'($bits(completion_t));
      16'd1873: number_o = 64'($bits(host_event_t));
      16'd1874: number_o = 64'($bits(queue_interrupt_t));
      16'd1875: number_o = 64'($bits(interrupt_t));
      16'd1876: number_o = 64'($bits(doorbell_t));
      16'd1877: number_o = 64'($bits(cq_arm_t));
      16'd1878: number_o = 64'($bits(work_request_t));
      16'd1879: number_o = 64'($bits(qp_hold_t));
      16'd1880: number_o = 64'($bits(replay_t));
      16'd1881: number_o = 64'($bits(timer_set_t));
      16'd1882: number_o = 64'($bits(timer_expired_t));
      16'd1883: number_o = 64'($bits(memory_check_t));
      16'd1884: number_o = 64'($bits(mr_binding_t));
      16'd1885: number_o = 64'($bits(memory_grant_t));
      16'd1886: number_o = 64'($bits(key_fence_t));
      16'd1887: number_o = 64'($bits(memory_place_t));
      16'd1888: number_o = 64'($bits(tx_packet_t));
      16'd1889: number_o = 64'($bits(tx_job_t));
      16'd1890: number_o = 64'($bits(send_record_t));
      16'd1891: number_o = 64'($bits(qp_reads_t));
      16'd1892: number_o = 64'($bits(read_record_t));
      16'd1893: number_o = 64'($bits(rx_ack_t));
      16'd1894: number_o = 64'($bits(rx_answer_t));
      16'd1895: number_o = 64'($bits(rx_place_t));
      16'd1896: number_o = 64'($bits(receive_request_t));
      16'd1897: number_o = 64'($bits(receive_retry_t));
      16'd1898: number_o = 64'($bits(queue_rung_t));
      16'd1899: number_o = 64'($bits(receive_t));
      16'd1900: number_o = 64'($bits(atomic_request_t));
      16'd1901: number_o = 64'($bits(atomic_result_t));
      16'd1902: number_o = 64'($bits(net_class_t));
      16'd1903: number_o = 64'($bits(net_frame_t));
      16'd1904: number_o = 64'(MgmtIdRegister);
      16'd1905: number_o = 64'(MgmtVersionRegister);
      16'd1906: number_o = 64'(MgmtAbiProfileRegister);
      16'd1907: number_o = 64'(MgmtScratchRegister);
      16'd1908: number_o = 64'(MgmtTimeLowRegister);
      16'd1909: number_o = 64'(MgmtTimeHighRegister);
      16'd1910: number_o = 64'(MgmtControlRegister);
      16'd1911: number_o = 64'(MgmtStatusRegister);
      16'd1912: number_o = 64'(MgmtInterruptCauseRegister);
      16'd1913: number_o = 64'(MgmtInterruptEnableRegister);
      16'd1914: number_o = 64'(MgmtQueueResetIndexRegister);
      16'd1915: number_o = 64'(MgmtQueueResetDoneRegister);
      16'd1916: number_o = 64'(MgmtFatalCauseRegister);
      16'd1917: number_o = 64'(MgmtMailboxStatusRegister);
      16'd1918: number_o = 64'(MgmtMailboxRequestBytesRegister);
      16'd1919: number_o = 64'(MgmtMailboxResponseBytesRegister);
      16'd1920: number_o = 64'(MgmtMailboxFetchRegister);
      16'd1921: number_o = 64'(MgmtMailboxCompleteRegister);
      16'd1922: number_o = 64'(MgmtMailboxDataRegister);
      16'd1923: number_o = 64'(MgmtTableCommandRegister);
      16'd1924: number_o = 64'(MgmtTableIndexRegister);
      16'd1925: number_o = 64'(MgmtTableDataRegister);
      16'd1926: number_o = 64'(MgmtQpCommandRegister);
      16'd1927: number_o = 64'(MgmtEventPushRegister);
      16'd1928: number_o = 64'(MgmtEventDataRegister);
      16'd1929: number_o = 64'(MgmtFlipEntryRegister);
      16'd1930: number_o = 64'(MgmtFlipBitRegister);
      16'd1931: number_o = 64'(MgmtMacLowRegister);
      16'd1932: number_o = 64'(MgmtMacHighRegister);
      16'd1933: number_o = 64'(MgmtRxModeRegister);
      16'd1934: number_o = 64'(MgmtActiveQueuePairsRegister);
      16'd1935: number_o = 64'(MgmtMtuRegister);
      16'd1936: number_o = 64'(MgmtRxVerdictCountRegister);
      16'd1937: number_o = 64'(MgmtTxFramesRegister);
      16'd1938: number_o = 64'(MgmtRxBufferDropsRegister);
      16'd1939: number_o = 64'(MgmtRetransmissionsRegister);
      16'd1940: number_o = 64'(MgmtDmaErrorsRegister);
      16'd1941: number_o = 64'(MgmtWindowViolationsRegister);
      16'd1942: number_o = 64'(MgmtNetRxFilteredRegister);
      16'd1943: number_o = 64'(MgmtNetRxDropsRegister);
      16'd1944: number_o = 64'(MgmtNetTxDropsRegister);
      16'd1945: number_o = 64'(MgmtParameterRegister);
      16'd1946: number_o = 64'(ProcessorWaitRegister);
      16'd1947: number_o = 64'(ProcessorConsoleRegister);
      16'd1948: number_o = 64'(ProcessorAliveRegister);
      16'd1949: number_o = 64'(ProcessorStopRegister);
      16'd1950: number_o = 64'(ProcessorLastFailureRegister);
      16'd1951: number_o = 64'(ProcessorFailureAddressRegister);
      16'd1952: number_o = 64'(MgmtDriverFeaturesRegister);
      16'd1953: number_o = 64'(Nic100.datapath_bits);
      16'd1954: number_o = 64'(Nic100.core_clock_khz);
      16'd1955: number_o = 64'(Nic100.link_mbps);
      16'd1956: number_o = 64'(Nic100.net_queue_pairs);
      16'd1957: number_o = 64'(Nic100.num_cqs);
      16'd1958: number_o = 64'(Nic100.num_qps);
      16'd1959: number_o = 64'(Nic100.num_pds);
      16'd1960: number_o = 64'(Nic100.num_mrs);
      16'd1961: number_o = 64'(Nic100.num_translations);
      16'd1962: number_o = 64'(Nic100.num_ahs);
      16'd1963: number_o = 64'(Nic100.num_gids);
      16'd1964: number_o = 64'(Nic100.max_queue_entries);
      16'd1965: number_o = 64'(Nic100.max_net_queue_entries);
      16'd1966: number_o = 64'(Nic100.max_send_sge);
      16'd1967: number_o = 64'(Nic100.max_recv_sge);
      16'd1968: number_o = 64'(Nic100.max_inline_bytes);
      16'd1969: number_o = 64'(Nic100.max_rd_atomic);
      16'd1970: number_o = 64'(Nic100.atomics);
      16'd1971: number_o = 64'(Nic100.atomic_write);
      16'd1972: number_o = 64'(Nic100.flush);
      16'd1973: number_o = 64'(Nic100.invalidation);
      16'd1974: number_o = 64'(Nic100.memory_windows);
      16'd1975: number_o = 64'(Nic100.fast_registration);
      16'd1976: number_o = 64'(Nic100.extensible_requests);
      16'd1977: number_o = 64'(Nic100.cqe_elements);
      16'd1978: number_o = 64'(Nic100.push_requests);
      16'd1979: number_o = 64'(Nic100.known_entries);
      16'd1980: number_o = 64'(Nic100.max_srqs);
      16'd1981: number_o = 64'(Nic100.max_mcast_attach);
      16'd1982: number_o = 64'(Nic100.parity);
      16'd1983: number_o = 64'(Nic100.net_offloads);
      16'd1984: number_o = 64'(Nic100.packed_rings);
      16'd1985: number_o = 64'(Nic100.event_index);
      16'd1986: number_o = 64'(Nic100.moderation);
      16'd1987: number_o = 64'(Nic100.max_path_mtu);
      16'd1988: number_o = 64'(Nic100.max_frame_bytes);
      16'd1989: number_o = 64'(Nic100.dma_tags);
      16'd1990: number_o = 64'(Nic100.rx_buffer_bytes);
      16'd1991: number_o = 64'(Nic100.tx_buffer_bytes);
      16'd1992: number_o = 64'(Nic100.net_buffer_bytes);
      16'd1993: number_o = 64'(Nic100.dma_read_buffer_bytes);
      16'd1994: number_o = 64'(Nic100.dma_writes);
      16'd1995: number_o = 64'(Nic100.send_records);
      16'd1996: number_o = 64'(Nic100.send_queue_requests);
      16'd1997: number_o = 64'(Nic100.send_queue_buffers);
      16'd1998: number_o = 64'(Nic100.send_queue_fetches);
      16'd1999: number_o = 64'(Nic100.receives_ahead);
      16'd2000: number_o = 64'(Nic100.send_requests_kept);
      16'd2001: number_o = 64'(Nic100.send_burst_bytes);
      16'd2002: number_o = 64'(Nic100.num_msix_vectors);
      16'd2003: number_o = 64'(Nic1.datapath_bits);
      16'd2004: number_o = 64'(Nic1.core_clock_khz);
      16'd2005: number_o = 64'(Nic1.link_mbps);
      16'd2006: number_o = 64'(Nic1.net_queue_pairs);
      16'd2007: number_o = 64'(Nic1.num_cqs);
      16'd2008: number_o = 64'(Nic1.num_qps);
      16'd2009: number_o = 64'(Nic1.num_pds);
      16'd2010: number_o = 64'(Nic1.num_mrs);
      16'd2011: number_o = 64'(Nic1.num_translations);
      16'd2012: number_o = 64'(Nic1.num_ahs);
      16'd2013: number_o = 64'(Nic1.num_gids);
      16'd2014: number_o = 64'(Nic1.max_queue_entries);
      16'd2015: number_o = 64'(Nic1.max_net_queue_entries);
      16'd2016: number_o = 64'(Nic1.max_send_sge);
      16'd2017: number_o = 64'(Nic1.max_recv_sge);
      16'd2018: number_o = 64'(Nic1.max_inline_bytes);
      16'd2019: number_o = 64'(Nic1.max_rd_atomic);
      16'd2020: number_o = 64'(Nic1.atomics);
      16'd2021: number_o = 64'(Nic1.atomic_write);
      16'd2022: number_o = 64'(Nic1.flush);
      16'd2023: number_o = 64'(Nic1.invalidation);
      16'd2024: number_o = 64'(Nic1.memory_windows);
      16'd2025: number_o = 64'(Nic1.fast_registration);
      16'd2026: number_o = 64'(Nic1.extensible_requests);
      16'd2027: number_o = 64'(Nic1.cqe_elements);
      16'd2028: number_o = 64'(Nic1.push_requests);
      16'd2029: number_o = 64'(Nic1.known_entries);
      16'd2030: number_o = 64'(Nic1.max_srqs);
      16'd2031: number_o = 64'(Nic1.max_mcast_attach);
      16'd2032: number_o = 64'(Nic1.parity);
      16'd2033: number_o = 64'(Nic1.net_offloads);
      16'd2034: number_o = 64'(Nic1.packed_rings);
      16'd2035: number_o = 64'(Nic1.event_index);
      16'd2036: number_o = 64'(Nic1.moderation);
      16'd2037: number_o = 64'(Nic1.max_path_mtu);
      16'd2038: number_o = 64'(Nic1.max_frame_bytes);
      16'd2039: number_o = 64'(Nic1.dma_tags);
      16'd2040: number_o = 64'(Nic1.rx_buffer_bytes);
      16'd2041: number_o = 64'(Nic1.tx_buffer_bytes);
      16'd2042: number_o = 64'(Nic1.net_buffer_bytes);
      16'd2043: number_o = 64'(Nic1.dma_read_buffer_bytes);
      16'd2044: number_o = 64'(Nic1.dma_writes);
      16'd2045: number_o = 64'(Nic1.send_records);
      16'd2046: number_o = 64'(Nic1.send_queue_requests);
      16'd2047: number_o = 64'(Nic1.send_queue_buffers);
      16'd2048: number_o = 64'(Nic1.send_queue_fetches);
      16'd2049: number_o = 64'(Nic1.receives_ahead);
      16'd2050: number_o = 64'(Nic1.send_requests_kept);
      16'd2051: number_o = 64'(Nic1.send_burst_bytes);
      16'd2052: number_o = 64'(Nic1.num_msix_vectors);
      16'd2053: number_o = 64'(Nic1Rc.datapath_bits);
      16'd2054: number_o = 64'(Nic1Rc.core_clock_khz);
      16'd2055: number_o = 64'(Nic1Rc.link_mbps);
      16'd2056: number_o = 64'(Nic1Rc.net_queue_pairs);
      16'd2057: number_o = 64'(Nic1Rc.num_cqs);
      16'd2058: number_o = 64'(Nic1Rc.num_qps);
      16'd2059: number_o = 64'(Nic1Rc.num_pds);
      16'd2060: number_o = 64'(Nic1Rc.num_mrs);
      16'd2061: number_o = 64'(Nic1Rc.num_translations);
      16'd2062: number_o = 64'(Nic1Rc.num_ahs);
      16'd2063: number_o = 64'(Nic1Rc.num_gids);
      16'd2064: number_o = 64'(Nic1Rc.max_queue_entries);
      16'd2065: number_o = 64'(Nic1Rc.max_net_queue_entries);
      16'd2066: number_o = 64'(Nic1Rc.max_send_sge);
      16'd2067: number_o = 64'(Nic1Rc.max_recv_sge);
      16'd2068: number_o = 64'(Nic1Rc.max_inline_bytes);
      16'd2069: number_o = 64'(Nic1Rc.max_rd_atomic);
      16'd2070: number_o = 64'(Nic1Rc.atomics);
      16'd2071: number_o = 64'(Nic1Rc.atomic_write);
      16'd2072: number_o = 64'(Nic1Rc.flush);
      16'd2073: number_o = 64'(Nic1Rc.invalidation);
      16'd2074: number_o = 64'(Nic1Rc.memory_windows);
      16'd2075: number_o = 64'(Nic1Rc.fast_registration);
      16'd2076: number_o = 64'(Nic1Rc.extensible_requests);
      16'd2077: number_o = 64'(Nic1Rc.cqe_elements);
      16'd2078: number_o = 64'(Nic1Rc.push_requests);
      16'd2079: number_o = 64'(Nic1Rc.known_entries);
      16'd2080: number_o = 64'(Nic1Rc.max_srqs);
      16'd2081: number_o = 64'(Nic1Rc.max_mcast_attach);
      16'd2082: number_o = 64'(Nic1Rc.parity);
      16'd2083: number_o = 64'(Nic1Rc.net_offloads);
      16'd2084: number_o = 64'(Nic1Rc.packed_rings);
      16'd2085: number_o = 64'(Nic1Rc.event_index);
      16'd2086: number_o = 64'(Nic1Rc.moderation);
      16'd2087: number_o = 64'(Nic1Rc.max_path_mtu);
      16'd2088: number_o = 64'(Nic1Rc.max_frame_bytes);
      16'd2089: number_o = 64'(Nic1Rc.dma_tags);
      16'd2090: number_o = 64'(Nic1Rc.rx_buffer_bytes);
      16'd2091: number_o = 64'(Nic1Rc.tx_buffer_bytes);
      16'd2092: number_o = 64'(Nic1Rc.net_buffer_bytes);
      16'd2093: number_o = 64'(Nic1Rc.dma_read_buffer_bytes);
      16'd2094: number_o = 64'(Nic1Rc.dma_writes);
      16'd2095: number_o = 64'(Nic1Rc.send_records);
      16'd2096: number_o = 64'(Nic1Rc.send_queue_requests);
      16'd2097: number_o = 64'(Nic1Rc.send_queue_buffers);
      16'd2098: number_o = 64'(Nic1Rc.send_queue_fetches);
      16'd2099: number_o = 64'(Nic1Rc.receives_ahead);
      16'd2100: number_o = 64'(Nic1Rc.send_requests_kept);
      16'd2101: number_o = 64'(Nic1Rc.send_burst_bytes);
      16'd2102: number_o = 64'(Nic1Rc.num_msix_vectors);
      default: number_o = '0;
    endcase
  end

  opcode_info_t info;
  assign info = opcode_info(opcode_i);
  assign opcode_info_o[0 +: 1] = info.valid;
  assign opcode_info_o[1 +: 4] = info.operation;
  assign opcode_info_o[5 +: 2] = info.position;
  assign opcode_info_o[7 +: 4] = info.response;
  assign opcode_info_o[11 +: 3] = info.payload;
  assign opcode_info_o[14 +: 5] = info.payload_exact;
  assign opcode_info_o[19 +: 1] = info.starts_message;
  assign opcode_info_o[20 +: 1] = info.ends_message;
  assign opcode_info_o[21 +: 1] = info.may_pad;
  assign opcode_info_o[22 +: 1] = info.is_response;
  assign opcode_info_o[23 +: 1] = info.consumes_recv;
  assign opcode_info_o[24 +: 1] = info.completes_recv;
  assign opcode_info_o[25 +: 1] = info.may_solicit;
  assign opcode_info_o[26 +: 6] = info.extension_bytes;
  assign opcode_info_o[32 +: 1] = info.has_immdt;
  assign opcode_info_o[33 +: 6] = info.immdt_offset;
  assign opcode_info_o[39 +: 1] = info.has_reth;
  assign opcode_info_o[40 +: 6] = info.reth_offset;
  assign opcode_info_o[46 +: 1] = info.has_aeth;
  assign opcode_info_o[47 +: 6] = info.aeth_offset;
  assign opcode_info_o[53 +: 1] = info.has_atomic_ack_eth;
  assign opcode_info_o[54 +: 6] = info.atomic_ack_eth_offset;
  assign opcode_info_o[60 +: 1] = info.has_atomic_eth;
  assign opcode_info_o[61 +: 6] = info.atomic_eth_offset;
  assign opcode_info_o[67 +: 1] = info.has_ieth;
  assign opcode_info_o[68 +: 6] = info.ieth_offset;
  assign opcode_info_o[74 +: 1] = info.has_feth;
  assign opcode_info_o[75 +: 6] = info.feth_offset;
  assign opcode_info_o[81 +: 1] = info.has_deth;
  assign opcode_info_o[82 +: 6] = info.deth_offset;

endmodule
/* verilator lint_on UNUSEDSIGNAL */
