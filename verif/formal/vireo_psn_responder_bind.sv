// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of vireo_responder, in its own signals. A PSN that is neither expected nor ahead is a duplicate.

// In a turn; otherwise nothing is compared.
// Requests.
bind vireo_responder vireo_psn_proof #(.Behind(1)) u_request_expected (
  .clk_i, .valid_i(state_q != StIdle), .from_i(half.expected_psn), .psn_i(frame.bth.psn),
  .verdict_i(checks_d.expected));
bind vireo_responder vireo_psn_proof u_request_ahead (
  .clk_i, .valid_i(state_q != StIdle), .from_i(half.expected_psn), .psn_i(frame.bth.psn),
  .verdict_i(checks_d.ahead));
// READ responses.
bind vireo_responder vireo_psn_proof #(.Behind(1)) u_response_expected (
  .clk_i, .valid_i(state_q != StIdle), .from_i(read_checks_d.psn), .psn_i(frame.bth.psn),
  .verdict_i(read_checks_d.expected));
bind vireo_responder vireo_psn_proof u_response_ahead (
  .clk_i, .valid_i(state_q != StIdle), .from_i(read_checks_d.psn), .psn_i(frame.bth.psn),
  .verdict_i(read_checks_d.ahead));
// A duplicate READ is executed again only if all of its PSNs are past, its last one, too.
bind vireo_responder vireo_psn_repeat_proof u_repeat (
  .clk_i, .internal_i(checks_d.replayable && !checks_d.expected && !checks_d.ahead), .expected_i(half.expected_psn),
  .psn_i(frame.bth.psn), .packets_i(32'(checks_d.packets)));
