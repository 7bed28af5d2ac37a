// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of vireo_read_responder, in its own signals.

// An answer that is held back stays if its PSN is later than the new one's.
bind vireo_read_responder vireo_psn_proof #(.First(1)) u_stays (
  .clk_i, .valid_i(row.held), .from_i(answer.packet.psn), .psn_i(row.held_psn), .verdict_i(retains_held));
