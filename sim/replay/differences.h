// SPDX-License-Identifier: Apache-2.0
// The list of allowed differences between a recorded frame and ours, and the comparison.
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
  kFlushIcrc,
};

struct AllowedDifference {
  Allowed id;
  const char* name;  // as printed; explained in docs/golden.md
  const char* reason;
};
// In the order of Allowed.
std::span<const AllowedDifference> AllowedDifferences();

// A field with different values. Lengths count as fields.
struct FieldDifference {
  std::string field;  // "bth.psn"; "payload[17]": the first byte
  uint64_t recorded = 0, ours = 0;
};
// Compares all header fields and the payload of two frames. If the opcodes differ, only that is reported. ICRC and IPv4
// checksum are not compared; they follow from the others.
std::vector<FieldDifference> CompareFields(const RoceFrame& recorded, const RoceFrame& ours);
// The list entry that allows a difference of this field; null if none does.
const AllowedDifference* FindAllowed(const FieldDifference& difference, const RoceFrame& recorded);

// The differences of a replay.
class Differences {
 public:
  void Allow(Allowed id) { ++allowed_[id]; }
  // Counts allowed differences and adds a line for each other one. `where`: the frame. False: a line was added.
  bool Check(const std::string& where, const std::vector<FieldDifference>& differences, const RoceFrame& recorded);
  void Add(std::string line) { lines_.push_back(std::move(line)); }

  const std::map<Allowed, uint64_t>& allowed() const { return allowed_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::map<Allowed, uint64_t> allowed_;
  std::vector<std::string> lines_;
};

}  // namespace vireo::sim
