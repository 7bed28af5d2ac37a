// SPDX-License-Identifier: Apache-2.0
// Reconstructs queue pairs, messages, keys and memory from the frames of a capture: everything needed to replay one
// side. No simulation.
//
// A flow is one direction of a connection: the requests of one queue pair and their responses. The requester and
// responder halves of a queue pair are independent [IBTA vol. 1, 9.7.1], so each flow is replayed separately.
//
// PSNs are extended to 64 bits, so they do not wrap. A missing PSN starts a new flow of UC and UD, which do not
// retransmit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/pcap.h"
#include "sim/replay/roce_frame.h"

namespace vireo::sim {

struct Message {
  spec::BthOperation operation{};  // send, rdma_write, rdma_read_request, compare_swap, fetch_add, atomic_write, flush
  uint64_t first = 0, last = 0;    // PSNs, those of a READ's responses included
  bool is_whole = true;            // false: the capture ends within it
  std::vector<uint8_t> payload;    // sent data; READ, atomic operation: returned data, as far as recorded
  spec::Reth reth;                 // also where an atomic operation accesses memory
  spec::AtomicEth atomic;
  spec::Feth feth;
  spec::Deth deth;
  std::optional<spec::Immdt> immediate;
  std::optional<uint32_t> invalidated;  // key of a SEND with invalidate
  bool solicited = false;
  std::optional<uint64_t> nak_psn;  // PSN of a NAK that ended the connection; its code is `nak`
  spec::NakCode nak{};
};

struct Flow {
  GidBytes requester{}, responder{};
  bool is_ipv6 = false;
  spec::BthService service{};
  uint32_t responder_qpn = 0;
  std::optional<uint32_t> requester_qpn;  // known from DETH or from responses
  spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
  bool has_responses = false;  // RC
  bool has_repeats = false;    // a PSN was requested more than once
  uint64_t first_psn = 0;
  std::vector<Message> messages;   // in order, without a gap
  std::optional<uint64_t> hole;    // PSN after the last message that the capture lacks; later messages are skipped
  uint64_t highest_requested = 0;  // PSN
  // RC: the requester's retry limit that ended the flow, if any.
  std::optional<uint8_t> rnr_retry, retry_cnt;
  uint64_t retry_gap_ns = 0;  // between the last two tries

  uint64_t end_psn() const { return messages.empty() ? first_psn : messages.back().last + 1; }
  const Message* Find(uint64_t psn) const;
  // Number of messages complete when everything up to this PSN has been executed. [IBTA vol. 1, 9.7.7.1]
  uint64_t CompletedAt(uint64_t psn) const;
};

struct Packet {
  size_t number = 0;  // of the frame in its file, from 1
  uint64_t time_ns = 0;
  size_t flow = 0;
  bool is_response = false;
  uint64_t psn = 0;
  RoceFrame frame;
};

// The memory of one R_Key of one station: the range and access rights that accepted requests needed.
struct Region {
  uint64_t first = 0, end = 0;                          // addresses
  bool written = false, read = false, changed = false;  // the last one: by atomic operations
  uint8_t flushed = 0;                                  // spec::FlushPlacement
};
using RegionKey = std::pair<GidBytes, uint32_t>;

struct Conversation {
  std::vector<Flow> flows;
  std::vector<Packet> packets;  // in file order
  std::map<RegionKey, Region> regions;
  std::map<std::string, uint64_t> skipped;  // frames by reason
  uint64_t flush_icrcs = 0;                 // frames with SoftRoceFlushIcrc
  // Requests that repeat a PSN with different bytes, which is not allowed. [IBTA vol. 1, 9.7.5.1.3]
  std::vector<std::string> contradictions;
};
Conversation ReadConversation(const Capture& capture);

constexpr uint64_t kPsnModulus = uint64_t{1} << spec::kPsnBits;
// The 64-bit PSN equal to `psn` modulo 2^24 and nearest to `reference`.
uint64_t ExtendPsn(uint32_t psn, uint64_t reference);
// Number of PSNs that a request takes.
uint64_t PsnsOf(const RoceFrame& request, spec::IbMtu path_mtu);
bool IsAtomic(spec::BthOperation operation);
// A FLUSH whose address and length mean nothing.
bool IsWholeFlush(const Message& message);
// Writes the bytes in its packets: also ATOMIC WRITE.
bool IsWrite(spec::BthOperation operation);
// The operand of an atomic operation as it is in memory: lowest byte first, as in the recorded hosts.
std::vector<uint8_t> InMemory(uint64_t value);
constexpr uint32_t MtuBytes(spec::IbMtu mtu) { return 128U << static_cast<unsigned>(mtu); }

}  // namespace vireo::sim
