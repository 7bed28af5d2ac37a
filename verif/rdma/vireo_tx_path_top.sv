// SPDX-License-Identifier: Apache-2.0

// vireo_tx_gather and vireo_tx_builder as connected in the device, to test the interface between the two.
module vireo_tx_path_top
  import vireo_spec_pkg::*;
  import vireo_dma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned BufferBytes,  // of the gather block
  localparam int unsigned DataBits = Config.datapath_bits
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,
  input  logic [47:0]           mac_i,
  input  logic                  table_write_valid_i,
  input  table_write_t          table_write_i,
  input  logic                  job_valid_i,
  output logic                  job_ready_o,
  input  tx_job_t               job_i,
  input  logic                  response_valid_i,
  output logic                  response_ready_o,
  input  tx_job_t               response_i,
  output logic                  read_request_valid_o,
  input  logic                  read_request_ready_i,
  output dma_read_request_t     read_request_o,
  input  logic                  train_valid_i,
  input  logic [DataBits-1:0]   train_data_i,
  input  logic                  train_last_i,
  input  logic [7:0]            train_tag_i,
  input  logic [12:0]           train_bytes_i,
  input  axi_resp_e             train_resp_i,
  output logic                  failed_valid_o,
  input  logic                  failed_ready_i,
  output qp_failure_t           failed_o,
  output logic                  response_taken_o,
  output logic                  qp_sent_valid_o,
  output qp_sent_t              qp_sent_o,
  output logic                  sent_valid_o,
  input  logic                  sent_ready_i,
  output rx_ack_t               sent_o,
  input  logic                  answer_valid_i,
  output logic                  answer_ready_o,
  input  tx_packet_t            answer_i,
  output logic                  m_axis_tvalid_o,
  input  logic                  m_axis_tready_i,
  output logic [DataBits-1:0]   m_axis_tdata_o,
  output logic [DataBits/8-1:0] m_axis_tkeep_o,
  output logic                  m_axis_tlast_o,
  output logic                  tx_frame_o,
  output logic [1:0]            idle_o  // gather, builder
);

  logic packet_valid, packet_ready, payload_valid, payload_ready;
  tx_packet_t packet;
  logic [DataBits-1:0] payload;
  logic unused_net_ready, unused_response_ends, unused_parity_error;
  memory_grant_t unused_grant_ended;
  logic [1:0] unused_packets_read, unused_room;

  vireo_tx_gather #(
    .Config(Config),
    .BufferBytes(BufferBytes),
    .Reserves(1'b0),
    .Net(1'b0)
  ) u_gather (
    .clk_i,
    .rst_ni,
    .job_valid_i,
    .job_ready_o,
    .job_i,
    .response_valid_i,
    .response_ready_o,
    .response_i,
    .room_o(unused_room),
    .room_used_i('0),
    .room_unused_i(1'b0),
    .read_request_valid_o,
    .read_request_ready_i,
    .read_request_o,
    .train_valid_i,
    .train_data_i,
    .train_last_i,
    .train_tag_i,
    .train_bytes_i,
    .train_resp_i,
    .packet_valid_o(packet_valid),
    .packet_ready_i(packet_ready),
    .packet_o(packet),
    .payload_valid_o(payload_valid),
    .payload_ready_i(payload_ready),
    .payload_data_o(payload),
    .failed_valid_o,
    .failed_ready_i,
    .failed_o,
    .sent_valid_o,
    .sent_ready_i,
    .sent_o,
    .stopped_valid_i(1'b0),
    .stopped_all_i(1'b0),
    .stopped_qpn_i('0),
    .response_ends_o(unused_response_ends),
    .grant_ended_o(unused_grant_ended),
    .packets_read_o(unused_packets_read),
    .idle_o(idle_o[0])
  );

  vireo_tx_builder #(
    .Config(Config)
  ) u_builder (
    .clk_i,
    .rst_ni,
    .enable_i,
    .mac_i,
    .table_write_valid_i,
    .table_write_i,
    .context_flip_valid_i(1'b0),
    .context_flip_i('0),
    .parity_error_o(unused_parity_error),
    .stopped_valid_i(1'b0),
    .stopped_all_i(1'b0),
    .stopped_qpn_i('0),
    .qp_state_write_valid_i(1'b0),
    .qp_state_write_i('0),
    .qp_hold_valid_i(1'b0),
    .qp_hold_i('0),
    .packet_valid_i(packet_valid),
    .packet_ready_o(packet_ready),
    .packet_i(packet),
    .answer_valid_i,
    .answer_ready_o,
    .answer_i,
    .payload_valid_i(payload_valid),
    .payload_ready_o(payload_ready),
    .payload_data_i(payload),
    .net_valid_i(1'b0),
    .net_ready_o(unused_net_ready),
    .net_bytes_i('0),
    .net_data_i('0),
    .m_axis_tvalid_o,
    .m_axis_tready_i,
    .m_axis_tdata_o,
    .m_axis_tkeep_o,
    .m_axis_tlast_o,
    .response_taken_o,
    .qp_sent_valid_o,
    .qp_sent_o,
    .tx_frame_o,
    .idle_o(idle_o[1])
  );

endmodule
