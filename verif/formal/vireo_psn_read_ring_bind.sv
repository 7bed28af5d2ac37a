// SPDX-License-Identifier: Apache-2.0

// Where vireo_read_ring compares PSNs, in its own words.

// READs that the ring knows already: those that do not lie behind the last one.
bind vireo_read_ring vireo_psn_proof #(.First(1)) u_new (
  .clk_i, .valid_i(record_held || record_ended.any), .from_i(limit), .psn_i(record.last_psn), .verdict_i(!known));
// An acknowledge that comes when no READ is under way carries on what is known, and never takes it back.
bind vireo_read_ring vireo_psn_proof u_carries (
  .clk_i, .valid_i(!load_i && !retire_i && acknowledged_i && !held_o && turn_ended.any), .from_i(turn_ended.psn),
  .psn_i(acknowledged_psn_i), .verdict_i(ended_write));
