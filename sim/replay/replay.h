// SPDX-License-Identifier: Apache-2.0
// A conversation played again with our NIC in the place of one side; what it sends is compared with what was recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/replay/conversation.h"
#include "sim/replay/differences.h"

namespace vireo::sim {

struct ReplayOptions {
  std::string device = "model";  // DeviceNames()
  const spec::Config* config = &spec::kNic100;
  std::string capture_path{};  // of what was on the wire this time; empty: none
};

struct ReplayResult {
  std::string error;  // nothing was played, and why
  Differences differences;
  std::vector<std::string> notes;  // what could not be played, or what the capture does not tell
  uint64_t fed = 0;                // frames of the capture
  uint64_t compared = 0;           // frames of ours, with a recorded one
  uint64_t sent = 0;               // frames of ours
  uint64_t messages = 0;           // whose data or completion was checked
};

// Requests of all flows go to our NIC, one queue pair per flow, in recorded order. Before a request that was recorded
// later than an answer, the NIC comes to rest: so it is never asked more at once than the recorded peer was. Memory has
// what READs returned; a receive is posted when a request that needs one comes, unless the recorded answer was RNR NAK.
// Answers are compared, and the memory that requests wrote, and their receives.
ReplayResult ReplayResponder(const Conversation& conversation, const ReplayOptions& options);

// Our NIC has the recorded requesters' work. A work request is posted where its first packet was recorded; a recorded
// answer is fed when the NIC has sent all that was recorded before it. Requests are compared, and completions with what
// the answers ask for, and the data that READs brought.
ReplayResult ReplayRequester(const Conversation& conversation, const ReplayOptions& options);

}  // namespace vireo::sim
