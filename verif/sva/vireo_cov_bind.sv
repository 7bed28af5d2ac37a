// SPDX-License-Identifier: Apache-2.0

// Events that the tests should have caused at least once: the user points of `./vireo coverage`, and of no other build.
// They observe ports, which the block's page explains. Lines and branches need no points: Verilator counts them.
// The first byte of an AETH is its syndrome.
bind vireo_slice vireo_stream_cov u_stream_cov (
  .clk_i, .rst_ni, .s_valid_i, .s_ready_i(s_ready_o), .m_valid_i(m_valid_o), .m_ready_i
);
bind vireo_fifo vireo_stream_cov u_stream_cov (
  .clk_i, .rst_ni, .s_valid_i, .s_ready_i(s_ready_o), .m_valid_i(m_valid_o), .m_ready_i
);

// A named point in a block: a condition in the block's own signals is true in a cycle.
`define VIREO_POINT(block, name, condition) \
  bind block vireo_point_cov u_cov_``name (.clk_i, .rst_ni, .hit_i(condition));

// The verdicts that need no state
`VIREO_POINT(vireo_rx_parser, verdict_roce, token_valid_o && token_o.verdict == RxVerdictRoce)
`VIREO_POINT(vireo_rx_parser, verdict_net, token_valid_o && token_o.verdict == RxVerdictNet)
`VIREO_POINT(vireo_rx_parser, verdict_truncated, token_valid_o && token_o.verdict == RxVerdictTruncated)
`VIREO_POINT(vireo_rx_parser, verdict_ip_header, token_valid_o && token_o.verdict == RxVerdictIpHeader)
`VIREO_POINT(vireo_rx_parser, verdict_ip_fragment, token_valid_o && token_o.verdict == RxVerdictIpFragment)
`VIREO_POINT(vireo_rx_parser, verdict_udp_length, token_valid_o && token_o.verdict == RxVerdictUdpLength)
`VIREO_POINT(vireo_rx_parser, verdict_icrc, token_valid_o && token_o.verdict == RxVerdictIcrc)
`VIREO_POINT(vireo_rx_parser, verdict_transport_version, token_valid_o && token_o.verdict == RxVerdictTransportVersion)
`VIREO_POINT(vireo_rx_parser, verdict_opcode, token_valid_o && token_o.verdict == RxVerdictOpcode)
`VIREO_POINT(vireo_rx_parser, verdict_length, token_valid_o && token_o.verdict == RxVerdictLength)
`VIREO_POINT(vireo_rx_parser, tagged, token_valid_o && token_o.verdict == RxVerdictRoce && token_o.vlan_present)
`VIREO_POINT(vireo_rx_parser, ipv6, token_valid_o && token_o.verdict == RxVerdictRoce && token_o.is_ipv6)
`VIREO_POINT(vireo_rx_buffer, drops, rx_drop_o)

// Descriptor fetch: its answers to each client, and the reasons for which it stops a queue
`VIREO_POINT(vireo_desc_fetch, send_ok, buffer_valid_o[0] && buffer_o[0].status == BufferStatusOk)
`VIREO_POINT(vireo_desc_fetch, send_empty, buffer_valid_o[0] && buffer_o[0].status == BufferStatusEmpty)
`VIREO_POINT(vireo_desc_fetch, send_failed, buffer_valid_o[0] && buffer_o[0].status == BufferStatusFailed)
`VIREO_POINT(vireo_desc_fetch, receive_ok, buffer_valid_o[1] && buffer_o[1].status == BufferStatusOk)
`VIREO_POINT(vireo_desc_fetch, receive_empty, buffer_valid_o[1] && buffer_o[1].status == BufferStatusEmpty)
`VIREO_POINT(vireo_desc_fetch, receive_failed, buffer_valid_o[1] && buffer_o[1].status == BufferStatusFailed)
`VIREO_POINT(vireo_desc_fetch, completion_ok, buffer_valid_o[2] && buffer_o[2].status == BufferStatusOk)
`VIREO_POINT(vireo_desc_fetch, completion_empty, buffer_valid_o[2] && buffer_o[2].status == BufferStatusEmpty)
`VIREO_POINT(vireo_desc_fetch, completion_failed, buffer_valid_o[2] && buffer_o[2].status == BufferStatusFailed)
`VIREO_POINT(vireo_desc_fetch, control_ok, buffer_valid_o[3] && buffer_o[3].status == BufferStatusOk)
`VIREO_POINT(vireo_desc_fetch, control_empty, buffer_valid_o[3] && buffer_o[3].status == BufferStatusEmpty)
`VIREO_POINT(vireo_desc_fetch, control_failed, buffer_valid_o[3] && buffer_o[3].status == BufferStatusFailed)
`VIREO_POINT(vireo_desc_fetch, transmit_ok, buffer_valid_o[4] && buffer_o[4].status == BufferStatusOk)
`VIREO_POINT(vireo_desc_fetch, transmit_empty, buffer_valid_o[4] && buffer_o[4].status == BufferStatusEmpty)
`VIREO_POINT(vireo_desc_fetch, transmit_failed, buffer_valid_o[4] && buffer_o[4].status == BufferStatusFailed)
`VIREO_POINT(vireo_desc_fetch, packed_ok,
    ring_packed_i && |buffer_valid_o && |{buffer_valid_o[0] && buffer_o[0].status == BufferStatusOk, buffer_valid_o[2]
    && buffer_o[2].status == BufferStatusOk})
`VIREO_POINT(vireo_desc_fetch, packed_empty,
    ring_packed_i && |buffer_valid_o && |{buffer_valid_o[0] && buffer_o[0].status == BufferStatusEmpty,
    buffer_valid_o[2] && buffer_o[2].status == BufferStatusEmpty})
`VIREO_POINT(vireo_desc_fetch, packed_failed,
    ring_packed_i && |buffer_valid_o && |{buffer_valid_o[0] && buffer_o[0].status == BufferStatusFailed,
    buffer_valid_o[2] && buffer_o[2].status == BufferStatusFailed})
`VIREO_POINT(vireo_desc_fetch, failure_bad_descriptor,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorBadDescriptor)
`VIREO_POINT(vireo_desc_fetch, failure_window_violation,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorWindowViolation)
`VIREO_POINT(vireo_desc_fetch, failure_queue_dma_error,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorQueueDmaError)
`VIREO_POINT(vireo_desc_fetch, chain, |buffer_valid_o && |{buffer_valid_o[3] && buffer_o[3].more})

// Completion writer
`VIREO_POINT(vireo_cq_writer, failure_cq_overrun, queue_failure_valid_o && queue_failure_o.code == RdmaErrorCqOverrun)
`VIREO_POINT(vireo_cq_writer, failure_bad_descriptor,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorBadDescriptor)
`VIREO_POINT(vireo_cq_writer, failure_queue_dma_error,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorQueueDmaError)
`VIREO_POINT(vireo_cq_writer, interrupt, queue_interrupt_valid_o)
`VIREO_POINT(vireo_cq_writer, event, host_event_valid_i && host_event_ready_o)
`VIREO_POINT(vireo_cq_writer, arm, cq_arm_valid_i && cq_arm_ready_o)
`VIREO_POINT(vireo_cq_writer, write_fails, done_valid_i && done_i.resp != vireo_dma_pkg::AxiRespOkay)
`VIREO_POINT(vireo_cq_writer, packed, store_valid_o && ring_packed_i)
`VIREO_POINT(vireo_cq_writer, split, store_valid_o && !ring_packed_i)
`VIREO_POINT(vireo_cq_writer, waits_for_a_buffer, step.park)
`VIREO_POINT(vireo_cq_writer, timestamp, state == StData && step.store && !is_event && cq_elements != '0)
`VIREO_POINT(vireo_cq_control, waits_for_the_event_buffer,
             event_buffer_q == EventAsked && (step.completion_ends || (step.cqe_ends && !from_park_q)))

// Notification coalescing
`VIREO_POINT(vireo_moderation, counts, deadline_ns_o != '1)
`VIREO_POINT(vireo_moderation, deadline_is_over, idle_o && time_ns_i >= deadline_ns_o)
`VIREO_POINT(vireo_moderation, new_numbers_while_it_counts,
    deadline_ns_o != '1 && table_write_valid_i && table_write_i.table_id == MgmtTableVirtqueue)
`VIREO_POINT(vireo_moderation, row_while_it_counts, deadline_ns_o != '1 && queue_row_write_valid_i)

// Mailbox
`VIREO_POINT(vireo_mailbox, dma_error, dma_error_o)
`VIREO_POINT(vireo_mailbox, failure, queue_failure_valid_o && queue_failure_ready_i)
`VIREO_POINT(vireo_mailbox, reset_while_busy, device_reset_i && busy_o)
`VIREO_POINT(vireo_mailbox, reset_with_a_request, device_reset_i && request_o)

// Doorbells
`VIREO_POINT(vireo_notify, send, send_doorbell_valid_o)
`VIREO_POINT(vireo_notify, receive, receive_doorbell_valid_o)
`VIREO_POINT(vireo_notify, control, control_doorbell_valid_o)
`VIREO_POINT(vireo_notify, net, net_doorbell_valid_o)
`VIREO_POINT(vireo_notify, arm, cq_arm_valid_o)
`VIREO_POINT(vireo_notify, while_resetting, resetting_i && bar_valid_i)
`VIREO_POINT(vireo_msix, sends, msix_valid_o)
`VIREO_POINT(vireo_msix, masked, interrupt_valid_i && mask_i)
`VIREO_POINT(vireo_msix, not_enabled, interrupt_valid_i && !enable_i)

// Queue pairs: every state, every command, every reason to leave a state
`VIREO_POINT(vireo_qp_control, state_reset, qp_state_write_valid_o && qp_state_write_o.state == 3'(IbQpStateReset))
`VIREO_POINT(vireo_qp_control, state_init, qp_state_write_valid_o && qp_state_write_o.state == 3'(IbQpStateInit))
`VIREO_POINT(vireo_qp_control, state_rtr, qp_state_write_valid_o && qp_state_write_o.state == 3'(IbQpStateRtr))
`VIREO_POINT(vireo_qp_control, state_rts, qp_state_write_valid_o && qp_state_write_o.state == 3'(IbQpStateRts))
`VIREO_POINT(vireo_qp_control, state_err, qp_state_write_valid_o && qp_state_write_o.state == 3'(IbQpStateErr))
`VIREO_POINT(vireo_qp_control, clear, qp_state_write_valid_o && qp_state_write_o.clear)
`VIREO_POINT(vireo_qp_control, requester_failure, requester_failure_valid_i && requester_failure_ready_o)
`VIREO_POINT(vireo_qp_control, completer_failure, completer_failure_valid_i && completer_failure_ready_o)
`VIREO_POINT(vireo_qp_control, responder_failure, responder_failure_valid_i && responder_failure_ready_o)
`VIREO_POINT(vireo_qp_control, desc_fetch_failure, desc_fetch_failure_valid_i && desc_fetch_failure_ready_o)
`VIREO_POINT(vireo_qp_control, work_failure, work_failure_valid_i && work_failure_ready_o)
`VIREO_POINT(vireo_qp_control, event_cq_err, host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeCqErr))
`VIREO_POINT(vireo_qp_control, event_qp_fatal,
    host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeQpFatal))
`VIREO_POINT(vireo_qp_control, event_qp_req_err,
    host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeQpReqErr))
`VIREO_POINT(vireo_qp_control, event_qp_access_err,
    host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeQpAccessErr))
`VIREO_POINT(vireo_qp_control, event_vq_err, host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeVqErr))
`VIREO_POINT(vireo_qp_control, event_comm_est,
    host_event_valid_o && host_event_o.event_type == 16'(RdmaEventTypeCommEst))

// Memory check: every status, for each client
`VIREO_POINT(vireo_memory_check, requester_ok, place_valid_o[0] && place_o[0].status == MemoryStatusOk)
`VIREO_POINT(vireo_memory_check, requester_key, place_valid_o[0] && place_o[0].status == MemoryStatusKey)
`VIREO_POINT(vireo_memory_check, requester_pd, place_valid_o[0] && place_o[0].status == MemoryStatusPd)
`VIREO_POINT(vireo_memory_check, requester_rights, place_valid_o[0] && place_o[0].status == MemoryStatusRights)
`VIREO_POINT(vireo_memory_check, requester_bounds, place_valid_o[0] && place_o[0].status == MemoryStatusBounds)
`VIREO_POINT(vireo_memory_check, requester_two_pages,
    place_valid_o[0] && place_o[0].status == MemoryStatusOk && place_o[0].bytes1 != '0)
`VIREO_POINT(vireo_memory_check, region_ends, ends)
`VIREO_POINT(vireo_memory_check, firmware_goes_first, late_q)
`VIREO_POINT(vireo_memory_check, region_registered, rewrites && registers)
`VIREO_POINT(vireo_memory_check, firmwares_page_goes_first, page_pair_q)
`VIREO_POINT(vireo_memory_check, responder_ok, place_valid_o[1] && place_o[1].status == MemoryStatusOk)
`VIREO_POINT(vireo_memory_check, responder_key, place_valid_o[1] && place_o[1].status == MemoryStatusKey)
`VIREO_POINT(vireo_memory_check, responder_pd, place_valid_o[1] && place_o[1].status == MemoryStatusPd)
`VIREO_POINT(vireo_memory_check, responder_rights, place_valid_o[1] && place_o[1].status == MemoryStatusRights)
`VIREO_POINT(vireo_memory_check, responder_bounds, place_valid_o[1] && place_o[1].status == MemoryStatusBounds)
`VIREO_POINT(vireo_memory_check, responder_two_pages,
    place_valid_o[1] && place_o[1].status == MemoryStatusOk && place_o[1].bytes1 != '0)

// Send queue: work requests, replays, read failures
`VIREO_POINT(vireo_send_queue, replay, work_request_valid_o && work_request_o.is_replay)
`VIREO_POINT(vireo_send_queue, replay_kept, quick_pop && !quick_replay_q.resume)
`VIREO_POINT(vireo_send_queue, replay_read, buffer_request_valid_o && buffer_request_o.by_index)
`VIREO_POINT(vireo_send_queue, resume, work_request_valid_o && work_request_o.resume)
`VIREO_POINT(vireo_send_queue, failed_bad_wqe, work_request_valid_o && work_request_o.failed == RdmaErrorBadWqe)
`VIREO_POINT(vireo_send_queue, failed_bad_descriptor,
    work_request_valid_o && work_request_o.failed == RdmaErrorBadDescriptor)
`VIREO_POINT(vireo_send_queue, failed_queue_dma_error,
    work_request_valid_o && work_request_o.failed == RdmaErrorQueueDmaError)

// Requester: every operation, every status with which a work request can end here
`VIREO_POINT(vireo_requester, status_success, record_valid_o && record_o.status == IbWcStatusSuccess)
`VIREO_POINT(vireo_requester, status_loc_len_err, record_valid_o && record_o.status == IbWcStatusLocLenErr)
`VIREO_POINT(vireo_requester, status_loc_qp_op_err, record_valid_o && record_o.status == IbWcStatusLocQpOpErr)
`VIREO_POINT(vireo_requester, status_loc_prot_err, record_valid_o && record_o.status == IbWcStatusLocProtErr)
`VIREO_POINT(vireo_requester, status_wr_flush_err, record_valid_o && record_o.status == IbWcStatusWrFlushErr)
`VIREO_POINT(vireo_requester, opcode_send, record_valid_o && record_o.opcode == IbWcOpcodeSend)
`VIREO_POINT(vireo_requester, opcode_rdma_write, record_valid_o && record_o.opcode == IbWcOpcodeRdmaWrite)
`VIREO_POINT(vireo_requester, opcode_rdma_read, record_valid_o && record_o.opcode == IbWcOpcodeRdmaRead)
`VIREO_POINT(vireo_requester, opcode_comp_swap, record_valid_o && record_o.opcode == IbWcOpcodeCompSwap)
`VIREO_POINT(vireo_requester, opcode_fetch_add, record_valid_o && record_o.opcode == IbWcOpcodeFetchAdd)
`VIREO_POINT(vireo_requester, opcode_atomic_write, record_valid_o && record_o.opcode == IbWcOpcodeAtomicWrite)
`VIREO_POINT(vireo_requester, opcode_flush, record_valid_o && record_o.opcode == IbWcOpcodeFlush)
`VIREO_POINT(vireo_requester, opcode_local_inv, record_valid_o && record_o.opcode == IbWcOpcodeLocalInv)
`VIREO_POINT(vireo_requester, opcode_bind_mw, record_valid_o && record_o.opcode == IbWcOpcodeBindMw)
`VIREO_POINT(vireo_requester, unsent, record_valid_o && record_o.unsent)
`VIREO_POINT(vireo_requester, is_replay, record_valid_o && record_o.is_replay)
`VIREO_POINT(vireo_requester, replaces, record_valid_o && record_o.replaces)
`VIREO_POINT(vireo_requester, no_completion, record_valid_o && record_o.no_completion)
`VIREO_POINT(vireo_requester, sends_rc_send_first, job_valid_o && job_o.packet.opcode == BthOpcodeRcSendFirst)
`VIREO_POINT(vireo_requester, sends_rc_send_middle, job_valid_o && job_o.packet.opcode == BthOpcodeRcSendMiddle)
`VIREO_POINT(vireo_requester, sends_rc_send_last, job_valid_o && job_o.packet.opcode == BthOpcodeRcSendLast)
`VIREO_POINT(vireo_requester, sends_rc_send_last_with_immediate,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcSendLastWithImmediate)
`VIREO_POINT(vireo_requester, sends_rc_send_only, job_valid_o && job_o.packet.opcode == BthOpcodeRcSendOnly)
`VIREO_POINT(vireo_requester, sends_rc_send_only_with_immediate,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcSendOnlyWithImmediate)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_first,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteFirst)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_middle,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteMiddle)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_last, job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteLast)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_last_with_immediate,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteLastWithImmediate)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_only, job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteOnly)
`VIREO_POINT(vireo_requester, sends_rc_rdma_write_only_with_immediate,
    job_valid_o && job_o.packet.opcode == BthOpcodeRcRdmaWriteOnlyWithImmediate)
`VIREO_POINT(vireo_requester, sends_rc_atomic_write, job_valid_o && job_o.packet.opcode == BthOpcodeRcAtomicWrite)
`VIREO_POINT(vireo_requester, sends_rc_flush, job_valid_o && job_o.packet.opcode == BthOpcodeRcFlush)
`VIREO_POINT(vireo_requester, hold_in_a_message, qp_hold_valid_i && !idle_o)
`VIREO_POINT(vireo_requester, fetch_fails, fetched_valid_i && fetched_i.resp != vireo_dma_pkg::AxiRespOkay)

// Completer: every acknowledge, every status
`VIREO_POINT(vireo_completer, ack_ack_no_credits, ack_valid_i && ack_i.syndrome == AethSyndromeAckNoCredits)
`VIREO_POINT(vireo_completer, ack_nak_psn_sequence_error,
    ack_valid_i && ack_i.syndrome == AethSyndromeNakPsnSequenceError)
`VIREO_POINT(vireo_completer, ack_nak_invalid_request, ack_valid_i && ack_i.syndrome == AethSyndromeNakInvalidRequest)
`VIREO_POINT(vireo_completer, ack_nak_remote_access_error,
    ack_valid_i && ack_i.syndrome == AethSyndromeNakRemoteAccessError)
`VIREO_POINT(vireo_completer, ack_nak_remote_operational_error,
    ack_valid_i && ack_i.syndrome == AethSyndromeNakRemoteOperationalError)
`VIREO_POINT(vireo_completer, ack_nak_invalid_rd_request,
    ack_valid_i && ack_i.syndrome == AethSyndromeNakInvalidRdRequest)
`VIREO_POINT(vireo_completer, ack_rnr_nak, ack_valid_i && (ack_i.syndrome & 8'he0) == AethSyndromeRnrNak)
`VIREO_POINT(vireo_completer, timer_expired, timer_expired_valid_i && timer_expired_ready_o)
`VIREO_POINT(vireo_completer, hold, qp_hold_valid_o)
`VIREO_POINT(vireo_completer, replay, replay_valid_o && !replay_o.resume)
`VIREO_POINT(vireo_completer, resume, replay_valid_o && replay_o.resume)
`VIREO_POINT(vireo_completer, cqe, completion_valid_o && completion_o.has_cqe)
`VIREO_POINT(vireo_completer, without_cqe, completion_valid_o && !completion_o.has_cqe)
`VIREO_POINT(vireo_completer, status_success,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] == IbWcStatusSuccess)
`VIREO_POINT(vireo_completer, status_loc_len_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] == IbWcStatusLocLenErr)
`VIREO_POINT(vireo_completer, status_loc_qp_op_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusLocQpOpErr)
`VIREO_POINT(vireo_completer, status_loc_prot_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusLocProtErr)
`VIREO_POINT(vireo_completer, status_wr_flush_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusWrFlushErr)
`VIREO_POINT(vireo_completer, status_rem_inv_req_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusRemInvReqErr)
`VIREO_POINT(vireo_completer, status_rem_access_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusRemAccessErr)
`VIREO_POINT(vireo_completer, status_rem_op_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] == IbWcStatusRemOpErr)
`VIREO_POINT(vireo_completer, status_retry_exc_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusRetryExcErr)
`VIREO_POINT(vireo_completer, status_rnr_retry_exc_err,
    completion_valid_o && completion_o.has_cqe && completion_o.cqe[8*RdmaCqReqStatusOffset +: 8] ==
    IbWcStatusRnrRetryExcErr)

// Receive queue: its answers to the responder
`VIREO_POINT(vireo_recv_queue, receive_ok, receive_valid_o && receive_o.status == BufferStatusOk)
`VIREO_POINT(vireo_recv_queue, receive_empty, receive_valid_o && receive_o.status == BufferStatusEmpty)
`VIREO_POINT(vireo_recv_queue, receive_failed, receive_valid_o && receive_o.status == BufferStatusFailed)
`VIREO_POINT(vireo_recv_queue, receive_pending, receive_valid_o && receive_o.status == BufferStatusPending)
`VIREO_POINT(vireo_recv_queue, receive_retry, receive_retry_valid_o)
`VIREO_POINT(vireo_recv_queue, failure_bad_wqe, queue_failure_valid_o && queue_failure_o.code == RdmaErrorBadWqe)
`VIREO_POINT(vireo_recv_queue, failure_bad_descriptor,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorBadDescriptor)
`VIREO_POINT(vireo_recv_queue, failure_queue_dma_error,
    queue_failure_valid_o && queue_failure_o.code == RdmaErrorQueueDmaError)

// Atomic operations, ATOMIC WRITE and FLUSH: what is executed, and what is answered again
`VIREO_POINT(vireo_atomic, operation, begins && reads && !request.is_flush)
`VIREO_POINT(vireo_atomic, store, begins && !request.is_duplicate && request.is_write)
`VIREO_POINT(vireo_atomic, flush, begins && reads && request.is_flush)
`VIREO_POINT(vireo_atomic, duplicate, begins && request.is_duplicate)
`VIREO_POINT(vireo_atomic, waits_for_one_at_its_address, request_valid && !request.is_duplicate && conflicts)
`VIREO_POINT(vireo_atomic, store_waits_for_one_at_its_address,
    request_valid && !request.is_duplicate && request.is_write && conflicts)
`VIREO_POINT(vireo_atomic, flush_read_fails,
    reading_pop && reading.is_flush && was_read && fetched_resp != AxiRespOkay)

// Memory windows and FLUSH in the check of keys
`VIREO_POINT(vireo_memory_check, window_binds, rewrites && !registers)
`VIREO_POINT(vireo_memory_check, window_ends, ends && row.is_window)
`VIREO_POINT(vireo_memory_check, flush_of_a_region, row_valid_q && check_q.whole)
`VIREO_POINT(vireo_memory_check, flush_of_a_range, row_valid_q && check_q.flush_global && !check_q.whole)
`VIREO_POINT(vireo_memory_check, flush_persistent, row_valid_q && check_q.flush_persistent)

// Responder: its outputs for a frame
`VIREO_POINT(vireo_responder, places, place_valid_o && !place_o.no_frame)
`VIREO_POINT(vireo_responder, several_places, place_valid_o && place_o.more)
`VIREO_POINT(vireo_responder, completes, place_valid_o && place_o.has_completion)
`VIREO_POINT(vireo_responder, fails, failure_valid_o)
`VIREO_POINT(vireo_responder, receive_ok, receive_valid_i && receive_i.status == BufferStatusOk)
`VIREO_POINT(vireo_responder, receive_empty, receive_valid_i && receive_i.status == BufferStatusEmpty)
`VIREO_POINT(vireo_responder, receive_failed, receive_valid_i && receive_i.status == BufferStatusFailed)
`VIREO_POINT(vireo_responder, place_ok, memory_place_valid_i && memory_place_i.status == MemoryStatusOk)
`VIREO_POINT(vireo_responder, place_key, memory_place_valid_i && memory_place_i.status == MemoryStatusKey)
`VIREO_POINT(vireo_responder, place_pd, memory_place_valid_i && memory_place_i.status == MemoryStatusPd)
`VIREO_POINT(vireo_responder, place_rights, memory_place_valid_i && memory_place_i.status == MemoryStatusRights)
`VIREO_POINT(vireo_responder, place_bounds, memory_place_valid_i && memory_place_i.status == MemoryStatusBounds)
`VIREO_POINT(vireo_rx_scatter, waits_for_the_write, write_valid_o && !write_ready_i)
`VIREO_POINT(vireo_rx_scatter, write_refused, write_done_i && write_refused_i)
`VIREO_POINT(vireo_rx_scatter, refused_qp_changes, qp_changes && clear_q)

// Sending
`VIREO_POINT(vireo_tx_gather, read_fails, failed_valid_o)
`VIREO_POINT(vireo_tx_gather, drops, job_valid_i && job_i.drop)
`VIREO_POINT(vireo_tx_gather, no_payload, packet_valid_o && packet_o.payload_bytes == '0)
`VIREO_POINT(vireo_tx_builder, line_stalls, m_axis_tvalid_o && !m_axis_tready_i)
`VIREO_POINT(vireo_tx_builder, both_wait, packet_valid_i && answer_valid_i)
`VIREO_POINT(vireo_tx_builder, answers_ack_no_credits,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && answer_i.extension[7:0] == AethSyndromeAckNoCredits)
`VIREO_POINT(vireo_tx_builder, answers_nak_psn_sequence_error,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && answer_i.extension[7:0] ==
    AethSyndromeNakPsnSequenceError)
`VIREO_POINT(vireo_tx_builder, answers_nak_invalid_request,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && answer_i.extension[7:0] ==
    AethSyndromeNakInvalidRequest)
`VIREO_POINT(vireo_tx_builder, answers_nak_remote_access_error,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && answer_i.extension[7:0] ==
    AethSyndromeNakRemoteAccessError)
`VIREO_POINT(vireo_tx_builder, answers_nak_remote_operational_error,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && answer_i.extension[7:0] ==
    AethSyndromeNakRemoteOperationalError)
`VIREO_POINT(vireo_tx_builder, answers_rnr_nak,
    answer_valid_i && answer_i.opcode == BthOpcodeRcAcknowledge && (answer_i.extension[7:0] & 8'he0) ==
    AethSyndromeRnrNak)

// Timers
`VIREO_POINT(vireo_retry_timer, expires, timer_expired_valid_o)
`VIREO_POINT(vireo_retry_timer, set_while_one_expires, timer_expired_valid_o && timer_set_valid_i)

// Host memory
`VIREO_POINT(vireo_dma_reader, read_fails, m_axi_rvalid_i && m_axi_rresp_i != vireo_dma_pkg::AxiRespOkay)
`VIREO_POINT(vireo_dma_reader, bus_stalls, m_axi_arvalid_o && !m_axi_arready_i)
`VIREO_POINT(vireo_dma_writer, write_fails, m_axi_bvalid_i && m_axi_bresp_i != vireo_dma_pkg::AxiRespOkay)
`VIREO_POINT(vireo_dma_writer, bus_stalls_address, m_axi_awvalid_o && !m_axi_awready_i)
`VIREO_POINT(vireo_dma_writer, bus_stalls_data, m_axi_wvalid_o && !m_axi_wready_i)

`undef VIREO_POINT
