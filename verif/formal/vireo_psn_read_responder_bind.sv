// SPDX-License-Identifier: Apache-2.0

// The PSN comparisons of vireo_read_responder_answer, in its own signals.

// An answer that is held back stays if its PSN is later than the new one's.
bind vireo_read_responder_answer vireo_psn_proof #(.First(1)) u_stays (
  .clk_i, .valid_i(row_i.held), .from_i(answer_i.packet.psn), .psn_i(row_i.held_psn), .verdict_i(retains_held));
