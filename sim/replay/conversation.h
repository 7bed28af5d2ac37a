// SPDX-License-Identifier: Apache-2.0
// What a capture says about those who talked in it: which queue pairs, messages, keys and memory. All that a peer needs
// to play one side of it again is inferred here, from the frames alone; nothing is simulated.
//
// A flow is one direction of a connection, the requests of one queue pair and the answers to them. Two halves of a
// queue pair know nothing of each other [IBTA vol. 1, 9.7.1], so a flow is played by itself.
//
// PSNs are extended to 64 bits: they do not wrap. UC and UD begin a new flow where a PSN is missing, because there
// nothing asks for it again.
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
  spec::BthOperation operation{};  // send, rdma_write, rdma_read_request
  uint64_t first = 0, last = 0;    // PSNs, those of a READ's responses included
  bool is_whole = true;            // false: the capture ends within it
  std::vector<uint8_t> payload;    // sent, or, of a READ, what its responses returned as far as they are recorded
  spec::Reth reth;
  spec::Deth deth;
  std::optional<spec::Immdt> immediate;
  bool solicited = false;
  std::optional<uint64_t> nak_psn;  // a NAK that ended the connection: where, and why
  spec::NakCode nak{};
};

struct Flow {
  GidBytes requester{}, responder{};
  bool is_ipv6 = false;
  spec::BthService service{};
  uint32_t responder_qpn = 0;
  std::optional<uint32_t> requester_qpn;  // known from DETH or from the answers
  spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
  bool is_answered = false;  // RC: there is a response to it
  bool has_repeats = false;  // a PSN was requested more than once
  uint64_t first_psn = 0;
  std::vector<Message> messages;   // in order, without a gap
  std::optional<uint64_t> hole;    // PSN that the capture lacks, behind the last message; what comes later is left out
  uint64_t highest_requested = 0;  // PSN
  // RC requester's patience, as the end of the flow shows it.
  std::optional<uint8_t> rnr_retry, retry_cnt;  // exhausted
  uint64_t retry_gap_ns = 0;                    // between the last two tries

  uint64_t end_psn() const { return messages.empty() ? first_psn : messages.back().last + 1; }
  const Message* Find(uint64_t psn) const;
  // How many messages are complete when everything up to this PSN has been executed. [IBTA vol. 1, 9.7.7.1]
  uint64_t CompletedAt(uint64_t psn) const;
};

struct Packet {
  size_t number = 0;  // of the frame in its file, from 1
  uint64_t time_ns = 0;
  size_t flow = 0;
  bool is_response = false;
  uint64_t psn = 0;
  RoceFrame frame;  // of an operation that Vireo does not serve: its stand-in
};

// One R_Key of one station, as wide and with such rights as requests that were not refused needed.
struct Region {
  uint64_t first = 0, end = 0;  // addresses
  bool written = false, read = false;
};
using RegionKey = std::pair<GidBytes, uint32_t>;

struct Conversation {
  std::vector<Flow> flows;
  std::vector<Packet> packets;  // in file order
  std::map<RegionKey, Region> regions;
  std::map<std::string, uint64_t> stand_ins;  // frames by opcode
  std::map<std::string, uint64_t> left_out;   // frames by reason
  // Requests with the PSN of an earlier one and other bytes: no requester may do that. [IBTA vol. 1, 9.7.5.1.3]
  std::vector<std::string> contradictions;
};
Conversation ReadConversation(const Capture& capture);

constexpr uint64_t kPsnModulus = uint64_t{1} << spec::kPsnBits;
// The one of PSNs equal to `psn` modulo 2^24 that is nearest to `reference`.
uint64_t ExtendPsn(uint32_t psn, uint64_t reference);
// PSNs that a request takes.
uint64_t PsnsOf(const RoceFrame& request, spec::IbMtu path_mtu);
constexpr uint32_t MtuBytes(spec::IbMtu mtu) { return 128U << static_cast<unsigned>(mtu); }

}  // namespace vireo::sim
