// SPDX-License-Identifier: Apache-2.0

// Where vireo_read_responder compares PSNs, in its own words.

// An answer that is held back stays if it is of a later PSN than the one that comes.
bind vireo_read_responder vireo_psn_proof #(.First(1)) u_stays (
  .clk_i, .valid_i(row.held), .from_i(answer.packet.psn), .psn_i(row.held_psn), .verdict_i(stays));
