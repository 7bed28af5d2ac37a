// SPDX-License-Identifier: Apache-2.0
// What the hash must and must not depend on.
#include "sim/nic/trace_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace vireo::sim {
namespace {

BoundaryEvent Event(EventKind kind, Cycle cycle, uint32_t content, uint16_t nic = 0) {
  BoundaryEvent event;
  event.kind = kind;
  event.stream = StreamOf(kind);
  event.cycle = cycle;
  event.nic = nic;
  event.id = content;
  return event;
}

TraceHash Of(const std::vector<BoundaryEvent>& events) {
  TraceHash trace;
  for (const BoundaryEvent& event : events) trace.OnEvent(event);
  return trace;
}

const BoundaryEvent kRead = Event(EventKind::kDmaRead, 10, 1);
const BoundaryEvent kNextRead = Event(EventKind::kDmaRead, 11, 2);
const BoundaryEvent kWrite = Event(EventKind::kDmaWrite, 10, 3);
const BoundaryEvent kMessage = Event(EventKind::kMsix, 10, 4);

TEST(TraceHash, SameEventsGiveTheSameHash) {
  EXPECT_EQ(Of({kRead, kWrite, kNextRead}).hash(), Of({kRead, kWrite, kNextRead}).hash());
  EXPECT_EQ(Of({kRead, kWrite, kNextRead}).events(), 3u);
}

TEST(TraceHash, OrderMattersOnlyWithinAStream) {
  EXPECT_NE(Of({kRead, kNextRead}).hash(), Of({kNextRead, kRead}).hash());
  EXPECT_NE(Of({kWrite, kMessage}).hash(), Of({kMessage, kWrite}).hash());  // one stream: writes push messages
  EXPECT_EQ(Of({kRead, kWrite}).hash(), Of({kWrite, kRead}).hash());
}

TEST(TraceHash, EveryDifferenceChangesTheHash) {
  std::set<uint64_t> hashes;
  const std::vector<std::vector<BoundaryEvent>> traces = {
      {},
      {kRead},
      {kRead, kRead},
      {kRead, kNextRead},
      {Event(EventKind::kDmaRead, 11, 1)},     // other cycle
      {Event(EventKind::kDmaRead, 10, 2)},     // other content
      {Event(EventKind::kDmaRead, 10, 1, 1)},  // other NIC
      {Event(EventKind::kDmaWrite, 10, 1)},    // other stream
      {Event(EventKind::kDmaRead, 0, 0)},      // an event of zeros counts, too
      {Event(EventKind::kDmaRead, 0, 0), Event(EventKind::kDmaRead, 0, 0)},
  };
  for (const auto& trace : traces) hashes.insert(Of(trace).hash());
  EXPECT_EQ(hashes.size(), traces.size());
}

TEST(TraceHash, ContentHashIgnoresOnlyCycles) {
  EXPECT_EQ(Of({kRead}).content_hash(), Of({Event(EventKind::kDmaRead, 99, 1)}).content_hash());
  EXPECT_NE(Of({kRead}).content_hash(), Of({Event(EventKind::kDmaRead, 10, 2)}).content_hash());
}

TEST(TraceHash, HashBytesCoversEveryBitAndTheLength) {
  std::set<uint64_t> hashes;
  std::vector<uint8_t> bytes(77);
  hashes.insert(HashBytes(0, bytes));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(1 << bit % 8);
    hashes.insert(HashBytes(0, bytes));
    bytes[bit / 8] = 0;
  }
  for (size_t length = 0; length < bytes.size(); ++length) hashes.insert(HashBytes(0, std::span(bytes).first(length)));
  EXPECT_EQ(hashes.size(), 1 + 77 * 8 + 77u);
  // Fixed value, independent of the machine: computed with a separate Python implementation of HashWord.
  const uint8_t text[] = {'V', 'i', 'r', 'e', 'o', ' ', 'N', 'I', 'C'};
  EXPECT_EQ(HashBytes(0, text), 13218746534991146235u);
}

}  // namespace
}  // namespace vireo::sim
