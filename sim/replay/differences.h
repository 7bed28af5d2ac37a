// SPDX-License-Identifier: Apache-2.0
// What may differ between a recorded frame and ours, in one list, and the comparison that goes by it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/replay/roce_frame.h"

namespace vireo::sim {

enum class Allowed : uint8_t {
  kIpIdentification,
  kUdpSourcePort,
  kAckReq,
  kMigReq,
  kCredits,
  kAckCoalescing,
  kAckOfRepeat,
  kMsnOfRepeat,
  kRepeatedResponse,
  kRetransmission,
  kBehindTheEnd,
  kShortReceive,
  kHostMemory,
};

struct AllowedDifference {
  Allowed id;
  const char* name;  // as it is printed, and as docs/golden.md explains it
  const char* reason;
};
// In the order of Allowed.
std::span<const AllowedDifference> AllowedDifferences();

// A field that has two values. Both frames are complete; lengths count as fields.
struct FieldDifference {
  std::string field;  // "bth.psn"; "payload[17]": the first byte
  uint64_t recorded = 0, ours = 0;
};
// All fields of the headers of two frames of one opcode (else only the opcode), and the payload. Not the ICRC and the
// IPv4 checksum, which follow from the others.
std::vector<FieldDifference> CompareFields(const RoceFrame& recorded, const RoceFrame& ours);
// The entry of the list that allows it by the field alone; null: none does.
const AllowedDifference* FindAllowed(const FieldDifference& difference, const RoceFrame& recorded);

// What came of a replay.
class Differences {
 public:
  void Allow(Allowed id) { ++allowed_[id]; }
  // `where` is the frame; allowed ones are counted, the others become a line. False: there was one.
  bool Judge(const std::string& where, const std::vector<FieldDifference>& differences, const RoceFrame& recorded);
  void Add(std::string line) { lines_.push_back(std::move(line)); }

  const std::map<Allowed, uint64_t>& allowed() const { return allowed_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::map<Allowed, uint64_t> allowed_;
  std::vector<std::string> lines_;
};

}  // namespace vireo::sim
