// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of READ responses, in the signals of vireo_response_checks.

// In the cycle that decides; otherwise nothing is compared.
bind vireo_response_checks vireo_psn_proof #(.Behind(1)) u_response_expected (
  .clk_i, .valid_i, .from_i(checks_o.psn), .psn_i(frame_i.bth.psn), .verdict_i(checks_o.expected));
bind vireo_response_checks vireo_psn_proof u_response_ahead (
  .clk_i, .valid_i, .from_i(checks_o.psn), .psn_i(frame_i.bth.psn), .verdict_i(checks_o.ahead));
