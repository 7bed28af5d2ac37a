// SPDX-License-Identifier: Apache-2.0
// Follows each RDMA message of a world of NICs through its stages, by what crosses their seams and nothing else: no
// program, driver or device tells it anything. What rings hold ring_watch.h finds out; packets belong to a message by
// QP and PSN, payload by payload_match.h, completions by the buffers that they are written to.
//
// What cannot be attributed is counted and left out, never guessed. What a stage of a message is, `Stage` says; one
// that did not happen, or was not found, has no mark. Memory is bounded by what the NICs have under way and the number
// of messages that are kept; totals are of all.
//
// It must see a NIC from before its driver opens it (ring_watch.h), and its QPs from before they connect.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/nic/nic_tap.h"
#include "sim/report/payload_match.h"
#include "sim/report/ring_watch.h"
#include "sim/time/core_clock.h"
#include "sim/wire/fault.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class LockstepNic;

// In the order in which a WRITE reaches them. "Peer" is where the message goes; for a READ, where the payload is read.
enum class Stage : uint8_t {
  kDoorbell,         // the queue's last ring before the device looked at it; a message that waited in its ring had one
                     // of its own before
  kIndexRead,        // request of the available index. Split rings only
  kRingRead,         // request of the ring entry; in packed rings it is the descriptor
  kDescriptorRead,   // request. Split rings only
  kWorkRequestRead,  // request of its first part
  kWorkRequest,      // completion of its last part
  kPayloadRead,      // request of the first part of the payload. READ: at the peer
  kPayload,          // completion of the last one
  kTransmit,         // first beat of the first packet. READ: of the request
  kTransmitEnd,      // last beat of the last packet sent for the first time
  kArrival,          // first beat of the first packet that arrived at the peer
  kArrivalEnd,       // last beat of the last packet of the message, when it first arrived there
  kAnswer,           // first beat of the peer's acknowledge, READ: of its first response
  kPayloadWrite,     // first DMA write of payload, at the peer. READ: here
  kPayloadWriteEnd,  // the last one
  kPeerCompletion,   // DMA write of the peer's CQE, if it has one
  kPeerInterrupt,    // that tells of it
  kAnswerArrival,    // first beat of the acknowledge, READ: of the last response
  kUsed,             // DMA write that gives the work request back
  kCompletion,       // DMA write of the CQE, if it has one
  kVisible,          // DMA write with which the driver sees the CQE
  kInterrupt,        // MSI-X that tells of it
};
inline constexpr size_t kStages = 22;
const char* ToString(Stage stage);

struct Message {
  enum class End : uint8_t { kOpen, kComplete, kAbandoned };  // kAbandoned: its QP went before it ended

  uint64_t number = 0;  // of all, in the order in which work requests were read
  uint16_t nic = 0;
  std::optional<uint16_t> peer;  // not before something arrived there
  uint32_t qpn = 0, peer_qpn = 0;
  spec::IbQpType service{};
  spec::IbWrOpcode opcode{};
  uint64_t wr_id = 0;
  uint64_t bytes = 0;
  End end = End::kOpen;
  std::optional<spec::IbWcStatus> status;  // of its CQE
  uint32_t first_psn = 0;
  uint64_t packets = 0;        // PSNs. Of a READ those of its responses
  uint64_t retransmitted = 0;  // request packets sent again
  std::array<EventMark, kStages> marks;
  // To find its packets again.
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  bool knows_bytes = false;  // before the first packet
  uint64_t arrived = 0;      // request packets at the peer, repeated ones too
  uint64_t responses = 0;    // of a READ, that arrived in their order

  bool is_read() const { return opcode == spec::IbWrOpcode::kRdmaRead; }
  const EventMark& at(Stage stage) const { return marks[static_cast<size_t>(stage)]; }
  // Whether the stage happens at the peer.
  bool IsAtPeer(Stage stage) const;
};

class MessageTracker {
 public:
  struct Options {
    size_t keep = 10'000;  // of the messages that ended the last so many
  };
  // Of all NICs together.
  struct Totals {
    uint64_t messages = 0, bytes = 0;  // work requests read
    uint64_t completed = 0;            // with success, with or without a CQE
    uint64_t failed = 0, abandoned = 0;
    uint64_t packets_sent = 0, packets_received = 0;           // RoCE, at the MACs
    uint64_t retransmitted = 0;                                // request packets whose PSN had been sent before
    uint64_t sequence_naks = 0, rnr_naks = 0, other_naks = 0;  // sent
    uint64_t mac_errors = 0;
    uint64_t icrc_errors = 0;  // packets that were damaged on their way; not among packets_received
    friend bool operator==(const Totals&, const Totals&) = default;
  };
  // What belongs to no message that is known.
  struct Unattributed {
    RingWatch::Counters rings;             // of all NICs
    uint64_t work_requests = 0;            // came back without having been read
    uint64_t requests = 0, responses = 0;  // packets sent
    uint64_t arrivals = 0;                 // packets received, of either kind
    uint64_t payload_reads = 0;            // packets whose payload no reads were found for
    uint64_t completions = 0;              // CQEs
    friend bool operator==(const Unattributed&, const Unattributed&) = default;
  };

  MessageTracker();
  explicit MessageTracker(const Options& options);
  ~MessageTracker();
  MessageTracker(const MessageTracker&) = delete;
  MessageTracker& operator=(const MessageTracker&) = delete;

  // The NICs of a world, in the order of their numbers. `lockstep`: null if the NIC is not in lockstep. Must outlive
  // the tap.
  void Watch(NicTap& tap, const CoreClock& clock, LockstepNic* lockstep);

  // Called with each message that ended when it is no longer kept; after that nothing of it changes.
  void OnForget(std::function<void(const Message&)> observer) { on_forget_ = std::move(observer); }

  size_t nics() const { return nics_.size(); }
  const CoreClock& clock(size_t nic) const;
  const Totals& totals() const { return totals_; }
  Unattributed unattributed() const;
  // Those that ended, the oldest first, then those that have not.
  std::vector<std::shared_ptr<const Message>> Messages() const;
  // How many cycles later the shadow said it than the master, whose event the mark is; nothing without lockstep, for
  // what comes from outside, and for what was not compared.
  std::optional<int64_t> ShadowDelta(const Message& message, Stage stage) const;

 private:
  class Nic;
  struct Qp;
  using MessagePtr = std::shared_ptr<Message>;
  // A RoCE packet, read as far as all need it.
  struct Packet {
    RoceHeaders headers;
    spec::OpcodeInfo info;
    uint64_t source_mac = 0, destination_mac = 0;
    uint32_t source_qp = 0;  // if it has a DETH
    uint8_t syndrome = 0;    // if it has an AETH
    std::optional<spec::Reth> reth;
    std::span<const uint8_t> payload;
    bool is_damaged = false;  // its ICRC says so
  };

  static std::optional<Packet> Read(std::span<const uint8_t> frame);
  void Transmitted(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame);
  void Received(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame);
  void SentRequest(Nic& nic, const Packet& packet, EventMark start, EventMark end);
  void SentResponse(Nic& nic, const Packet& packet, EventMark start);
  void Answered(Qp& qp, const Packet& packet, Stage stage, EventMark mark);
  void NotePayloadRead(Nic& nic, const Packet& packet, Message* message);
  // The QP that sends such requests; null if none, or it cannot be told which.
  Qp* SenderOf(Nic& nic, const Packet& packet);
  Nic* NicOf(uint64_t mac);
  // A switch gives a frame to everybody while it does not know where its destination is.
  bool IsFor(Nic& nic, const Packet& packet);
  void End(const MessagePtr& message, Message::End end);
  void Abandon(Qp& qp);

  const Options options_;
  std::vector<std::unique_ptr<Nic>> nics_;
  Totals totals_;
  Unattributed unattributed_;
  uint64_t number_ = 0;
  std::deque<MessagePtr> ended_;
  std::function<void(const Message&)> on_forget_;
};

}  // namespace vireo::sim
