// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of vireo_responder's READ responses, in its own signals.

// In the cycle that decides; otherwise nothing is compared.
bind vireo_responder vireo_psn_proof #(.Behind(1)) u_response_expected (
  .clk_i, .valid_i(state_q == StAct), .from_i(read_checks_d.psn), .psn_i(frame.bth.psn),
  .verdict_i(read_checks_d.expected));
bind vireo_responder vireo_psn_proof u_response_ahead (
  .clk_i, .valid_i(state_q == StAct), .from_i(read_checks_d.psn), .psn_i(frame.bth.psn),
  .verdict_i(read_checks_d.ahead));
