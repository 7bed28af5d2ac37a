// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of requests in vireo_responder_checks, in its own signals. A PSN that is neither expected nor
// ahead is a duplicate.
bind vireo_responder_checks vireo_psn_proof #(.Behind(1)) u_request_expected (
  .clk_i, .valid_i, .from_i(half.expected_psn), .psn_i(frame.bth.psn), .verdict_i(checks_o.expected));
bind vireo_responder_checks vireo_psn_proof u_request_ahead (
  .clk_i, .valid_i, .from_i(half.expected_psn), .psn_i(frame.bth.psn), .verdict_i(checks_o.ahead));
// A duplicate READ is executed again only if all of its PSNs are past, its last one, too.
bind vireo_responder_checks vireo_psn_repeat_proof u_repeat (
  .clk_i, .internal_i(checks_o.replayable && !checks_o.expected && !checks_o.ahead), .expected_i(half.expected_psn),
  .psn_i(frame.bth.psn), .packets_i(32'(checks_o.packets)));
