// SPDX-License-Identifier: Apache-2.0

// Receive buffer, responder and scatter block connected as in the device, to test their interfaces.
module vireo_reception
  import vireo_spec_pkg::*;
  import vireo_rdma_pkg::*;
#(
  parameter config_t Config,
  parameter int unsigned BytesPerFrame,
  localparam int unsigned DataBits = Config.datapath_bits
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  enable_i,
  input  logic [47:0]           mac_i,
  input  logic                  hold_i,

  input  logic                  s_axis_tvalid_i,
  output logic                  s_axis_tready_o,
  input  logic [DataBits-1:0]   s_axis_tdata_i,
  input  logic [DataBits/8-1:0] s_axis_tkeep_i,
  input  logic                  s_axis_tlast_i,
  input  logic                  s_axis_tuser_i,
  output logic                  rx_drop_o,
  output logic                  rx_verdict_valid_o,
  output rx_verdict_e           rx_verdict_o,

  input  logic                  table_write_valid_i,
  input  table_write_t          table_write_i,
  input  logic                  qp_state_write_valid_i,
  input  qp_state_write_t       qp_state_write_i,
  input  logic                  load_valid_i,
  output logic                  load_ready_o,
  input  qp_load_t              load_i,

  output logic                  memory_check_valid_o,
  input  logic                  memory_check_ready_i,
  output memory_check_t         memory_check_o,
  input  logic                  memory_place_valid_i,
  output logic                  memory_place_ready_o,
  input  memory_place_t         memory_place_i,

  output logic                  ack_valid_o,
  input  logic                  ack_ready_i,
  output rx_ack_t               ack_o,
  output logic                  failure_valid_o,
  input  logic                  failure_ready_i,
  output qp_failure_t           failure_o,
  output logic                  write_failure_valid_o,
  input  logic                  write_failure_ready_i,
  output qp_failure_t           write_failure_o,

  output logic                  write_valid_o,
  input  logic                  write_ready_i,
  output dma_write_request_t    write_request_o,
  output logic [DataBits-1:0]   write_data_o,
  output logic                  write_last_o,
  input  logic                  write_done_i,
  input  logic                  write_refused_i,

  output logic                  completion_valid_o,
  input  logic                  completion_ready_i,
  output completion_t           completion_o,

  output logic                  answer_valid_o,
  input  logic                  answer_ready_i,
  output rx_answer_t            answer_o,

  output logic                  net_valid_o,
  output logic [DataBits-1:0]   net_data_o,
  output logic                  net_last_o,
  output logic [13:0]           net_bytes_o,

  output logic                  quiet_o,  // except frames that wait in the buffer
  output logic                  idle_o
);

  localparam int unsigned PlaceBits = $clog2(Config.rx_buffer_bytes / (DataBits / 8));

  logic frame_valid, frame_ready, place_valid, place_ready;
  rx_token_t frame;
  rx_place_t place;
  logic oldest_valid, oldest_read, oldest_free;
  logic [PlaceBits-1:0] oldest_beat;
  logic [DataBits-1:0] oldest_data;
  logic buffer_idle, responder_idle, scatter_idle;

  vireo_rx_buffer #(
    .Config(Config),
    .BytesPerFrame(BytesPerFrame)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .enable_i,
    .roce_i(1'b1),
    .s_axis_tvalid_i,
    .s_axis_tready_o,
    .s_axis_tdata_i,
    .s_axis_tkeep_i,
    .s_axis_tlast_i,
    .s_axis_tuser_i,
    .rx_drop_o,
    .rx_verdict_valid_o,
    .rx_verdict_o,
    .frame_valid_o(frame_valid),
    .frame_ready_i(frame_ready),
    .frame_o(frame),
    .oldest_valid_o(oldest_valid),
    .oldest_read_i(oldest_read),
    .oldest_beat_i(oldest_beat),
    .oldest_data_o(oldest_data),
    .oldest_free_i(oldest_free),
    .idle_o(buffer_idle)
  );

  // The frames of this test request no receives, and answer no READ.
  logic unused_doorbell_ready, unused_retry_ready, unused_rung_valid, unused_request_valid, unused_receive_ready, unused_record_ready;
  logic unused_psn_valid, unused_parity_error, unused_settled, unused_place_ended;
  memory_grant_t unused_responder_grant, unused_scatter_grant;
  logic unused_fence_waits;
  qp_psn_t unused_psn;
  receive_request_t unused_request;
  queue_rung_t unused_rung;

  vireo_responder #(
    .Config(Config)
  ) u_responder (
    .clk_i,
    .rst_ni,
    .enable_i,
    .mq_i(1'b0),
    .mac_i,
    .hold_i,
    .table_write_valid_i,
    .table_write_i,
    .context_flip_valid_i(1'b0),
    .context_flip_i('0),
    .parity_error_o(unused_parity_error),
    .qp_state_write_valid_i,
    .qp_state_write_i,
    .qp_reads_valid_i(1'b0),
    .qp_reads_i('0),
    .load_valid_i,
    .load_ready_o,
    .load_i,
    .frame_valid_i(frame_valid),
    .frame_ready_o(frame_ready),
    .frame_i(frame),
    .doorbell_valid_i(1'b0),
    .doorbell_ready_o(unused_doorbell_ready),
    .doorbell_i('0),
    .read_record_valid_i(1'b0),
    .read_record_ready_o(unused_record_ready),
    .read_record_i('0),
    .receive_request_valid_o(unused_request_valid),
    .receive_request_ready_i(1'b0),
    .receive_request_o(unused_request),
    .receive_valid_i(1'b0),
    .receive_ready_o(unused_receive_ready),
    .receive_i('0),
    .queue_rung_valid_o(unused_rung_valid),
    .queue_rung_o(unused_rung),
    .receive_retry_valid_i(1'b0),
    .receive_retry_ready_o(unused_retry_ready),
    .receive_retry_i('0),
    .memory_check_valid_o,
    .memory_check_ready_i,
    .memory_check_o,
    .memory_place_valid_i,
    .memory_place_ready_o,
    .memory_place_i,
    .place_valid_o(place_valid),
    .place_ready_i(place_ready),
    .place_o(place),
    .failure_valid_o,
    .failure_ready_i,
    .failure_o,
    .expected_psn_valid_o(unused_psn_valid),
    .expected_psn_o(unused_psn),
    .grant_ended_o(unused_responder_grant),
    .settled_o(unused_settled),
    .idle_o(responder_idle)
  );

  vireo_rx_scatter #(
    .Config(Config)
  ) u_scatter (
    .clk_i,
    .rst_ni,
    .place_valid_i(place_valid),
    .place_ready_o(place_ready),
    .place_i(place),
    .oldest_valid_i(oldest_valid),
    .oldest_read_o(oldest_read),
    .oldest_beat_o(oldest_beat),
    .oldest_data_i(oldest_data),
    .oldest_free_o(oldest_free),
    .write_valid_o,
    .write_ready_i,
    .write_request_o,
    .write_data_o,
    .write_last_o,
    .write_done_i,
    .write_refused_i,
    .qp_state_write_valid_i,
    .qp_state_write_i,
    .completion_valid_o,
    .completion_ready_i,
    .completion_o,
    .answer_valid_o,
    .answer_ready_i,
    .answer_o,
    .ack_valid_o,
    .ack_ready_i,
    .ack_o,
    .failure_valid_o(write_failure_valid_o),
    .failure_ready_i(write_failure_ready_i),
    .failure_o(write_failure_o),
    .net_valid_o,
    .net_data_o,
    .net_last_o,
    .net_bytes_o,
    .grant_ended_o(unused_scatter_grant),
    .key_fence_i('0),
    .fence_waits_o(unused_fence_waits),
    .place_ended_o(unused_place_ended),
    .idle_o(scatter_idle)
  );

  assign quiet_o = responder_idle && scatter_idle;
  assign idle_o = buffer_idle && responder_idle && scatter_idle;

endmodule
