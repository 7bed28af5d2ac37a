// SPDX-License-Identifier: Apache-2.0
// Replays a recorded conversation with our NIC in the place of one side and compares what it sends with the recording.
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
  std::string capture_path{};  // pcapng file for the frames of the replay; empty: none
};

struct ReplayResult {
  std::string error;  // set: nothing was replayed
  Differences differences;
  std::vector<std::string> notes;  // parts that could not be replayed or inferred
  uint64_t fed = 0;                // recorded frames delivered to our NIC
  uint64_t compared = 0;           // our frames compared with a recorded one
  uint64_t sent = 0;               // our frames
  uint64_t messages = 0;           // messages whose data or completion was checked
};

// Our NIC is the responder of all flows, one queue pair each. Requests are fed in recorded order; the NIC must be idle
// before a request that was recorded after a response, so it never has more outstanding than the recorded peer. Memory
// holds the data that READs returned. A receive is posted when a request needs one, unless the recorded response was
// RNR NAK. Compares responses, the memory that requests wrote, and receives.
ReplayResult ReplayResponder(const Conversation& conversation, const ReplayOptions& options);

// Our NIC is the requester. A work request is posted where its first packet was recorded; a recorded response is fed
// when the NIC has sent all that was recorded before it. Compares requests, completions with the recorded responses,
// and the data of READs.
ReplayResult ReplayRequester(const Conversation& conversation, const ReplayOptions& options);

}  // namespace vireo::sim
