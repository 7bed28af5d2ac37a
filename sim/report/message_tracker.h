// SPDX-License-Identifier: Apache-2.0
// Tracks each RDMA message of all NICs through its stages (`Stage`), only from the events at their seams, without
// support from programs, drivers or devices. Ring contents come from ring_watch.h; packets are attributed by QP and
// PSN, payload by payload_match.h, completions by the buffers that they are written to.
//
// Events that match no message are counted, never guessed. A stage that did not occur or was not found has no mark.
// Memory is bounded by the messages in flight and the number kept; totals cover all messages.
//
// It must observe a NIC from before its driver opens it (ring_watch.h), and its QPs from before they connect.
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
  kDoorbell,         // the queue's last doorbell before the device read the ring; a message that waited in the ring had
                     // its own doorbell earlier
  kIndexRead,        // request of the available index. Split rings only
  kRingRead,         // request of the ring entry; in packed rings the descriptor
  kDescriptorRead,   // request. Split rings only
  kWorkRequestRead,  // request of its first part
  kWorkRequest,      // completion of its last part
  kPayloadRead,      // request of the first part of the payload. READ: at the peer
  kPayload,          // completion of its last part
  kTransmit,         // first beat of the first packet. READ: of the request
  kTransmitEnd,      // last beat of the last packet sent for the first time
  kArrival,          // first beat of the first packet received by the peer
  kArrivalEnd,       // last beat of the message's last packet, when first received there
  kAnswer,           // first beat of the peer's acknowledge. READ: of its first response
  kPayloadWrite,     // first DMA write of payload, at the peer. READ: at the requester
  kPayloadWriteEnd,  // last DMA write of payload
  kPeerCompletion,   // DMA write of the peer's CQE, if any
  kPeerInterrupt,    // MSI-X for it
  kAnswerArrival,    // first beat of the received acknowledge. READ: of the last response
  kUsed,             // DMA write of the used element
  kCompletion,       // DMA write of the CQE, if any
  kVisible,          // DMA write that makes the CQE visible to the driver
  kInterrupt,        // MSI-X for it
};
inline constexpr size_t kStages = 22;
const char* ToString(Stage stage);

struct Message {
  enum class End : uint8_t { kOpen, kComplete, kAbandoned };  // kAbandoned: its QP was destroyed or reset

  uint64_t number = 0;  // among all messages, in the order in which work requests were read
  uint16_t nic = 0;
  std::optional<uint16_t> peer;  // set when the peer receives the first packet
  uint32_t qpn = 0, peer_qpn = 0;
  spec::IbQpType service{};
  spec::IbWrOpcode opcode{};
  uint64_t wr_id = 0;
  uint64_t bytes = 0;
  bool is_signaled = false;  // its success has a CQE
  End end = End::kOpen;
  std::optional<spec::IbWcStatus> status;  // of its CQE
  uint32_t first_psn = 0;
  uint64_t packets = 0;        // PSNs. READ: of its responses
  uint64_t retransmitted = 0;  // request packets retransmitted
  std::array<EventMark, kStages> marks;
  // For attribution of its packets.
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  bool knows_bytes = false;  // `bytes` is known before the first packet
  uint64_t arrived = 0;      // request packets received by the peer, including duplicates
  uint64_t responses = 0;    // READ responses received in order

  bool is_read() const { return opcode == spec::IbWrOpcode::kRdmaRead; }
  const EventMark& at(Stage stage) const { return marks[static_cast<size_t>(stage)]; }
  // Whether the stage occurs at the peer.
  bool IsAtPeer(Stage stage) const;
};

class MessageTracker {
 public:
  struct Options {
    size_t keep = 10'000;  // number of ended messages kept
  };
  // Over all NICs.
  struct Totals {
    uint64_t messages = 0, bytes = 0;  // work requests read
    uint64_t completed = 0;            // with success, with or without a CQE
    uint64_t failed = 0, abandoned = 0;
    uint64_t packets_sent = 0, packets_received = 0;           // RoCE packets at the MACs
    uint64_t retransmitted = 0;                                // request packets whose PSN had been sent before
    uint64_t sequence_naks = 0, rnr_naks = 0, other_naks = 0;  // sent
    uint64_t mac_errors = 0;
    uint64_t icrc_errors = 0;  // packets with a wrong ICRC; not in packets_received
    friend bool operator==(const Totals&, const Totals&) = default;
  };
  // Events that match no known message.
  struct Unattributed {
    RingWatch::Counters rings;             // of all NICs
    uint64_t work_requests = 0;            // used without having been read
    uint64_t requests = 0, responses = 0;  // packets sent
    uint64_t arrivals = 0;                 // packets received, requests and responses
    uint64_t payload_reads = 0;            // packets with payload that matches no reads
    uint64_t completions = 0;              // CQEs
    friend bool operator==(const Unattributed&, const Unattributed&) = default;
  };

  MessageTracker();
  explicit MessageTracker(const Options& options);
  ~MessageTracker();
  MessageTracker(const MessageTracker&) = delete;
  MessageTracker& operator=(const MessageTracker&) = delete;

  // Call once per NIC, in the order of their numbers. `lockstep`: null if the NIC is not in lockstep. The tracker must
  // outlive the tap.
  void Watch(NicTap& tap, const CoreClock& clock, LockstepNic* lockstep);

  // Called with each ended message when it is no longer kept; the message is final.
  void OnForget(std::function<void(const Message&)> observer) { on_forget_ = std::move(observer); }

  size_t nics() const { return nics_.size(); }
  const CoreClock& clock(size_t nic) const;
  const Totals& totals() const { return totals_; }
  Unattributed unattributed() const;
  // Ended messages, oldest first, then open ones.
  std::vector<std::shared_ptr<const Message>> Messages() const;
  // Cycles by which the shadow's event is later than the master's, which the mark records; nullopt without lockstep,
  // for inputs of the NIC, and for events not compared.
  std::optional<int64_t> ShadowDelta(const Message& message, Stage stage) const;

 private:
  class Nic;
  struct Qp;
  using MessagePtr = std::shared_ptr<Message>;
  // A decoded RoCE packet.
  struct Packet {
    RoceHeaders headers;
    spec::OpcodeInfo info;
    uint64_t source_mac = 0, destination_mac = 0;
    uint32_t source_qp = 0;  // if it has a DETH
    uint8_t syndrome = 0;    // if it has an AETH
    std::optional<spec::Reth> reth;
    std::span<const uint8_t> payload;
    bool is_damaged = false;  // wrong ICRC
  };

  static std::optional<Packet> Read(std::span<const uint8_t> frame);
  void Transmitted(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame);
  void Received(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame);
  void SentRequest(Nic& nic, const Packet& packet, EventMark start, EventMark end);
  void SentResponse(Nic& nic, const Packet& packet, EventMark start);
  void OnResponse(Qp& qp, const Packet& packet, Stage stage, EventMark mark);
  void NotePayloadRead(Nic& nic, const Packet& packet, Message* message);
  // The QP that sent this request; null if none or ambiguous.
  Qp* SenderOf(Nic& nic, const Packet& packet);
  Nic* NicOf(uint64_t mac);
  // False for frames flooded by a switch that has not learned the destination.
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
