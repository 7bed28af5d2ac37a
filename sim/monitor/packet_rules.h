// SPDX-License-Identifier: Apache-2.0
// Rules of packets: their form, PSNs, retransmissions, acknowledges, and completions against acknowledges and against
// the messages that have arrived.
//
// A QP's packets are attributed by the peer's MAC and QP number, as its context names them. Packets of several QPs with
// the same peer QP are not judged by PSN. Frames of the net path, which a driver composes, are judged only if they are
// addressed as a QP's packets would be.
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
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/monitor/expected_writes.h"
#include "sim/monitor/findings.h"
#include "sim/monitor/payload_memory.h"
#include "sim/monitor/ring_rules.h"
#include "sim/monitor/roce_packet.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

class PacketRules {
 public:
  explicit PacketRules(Findings& findings) : findings_(findings) {}

  void OnReset();
  // A write of the QP's context.
  void SetQp(uint32_t qpn, const spec::TableQpContext& context);
  // The driver has rung a transmit queue: from now on frames may be the driver's.
  void OnNetTransmit() { is_net_used_ = true; }
  // A row of the table of attachments to multicast groups was written.
  void SetAttachment(uint32_t row, const spec::TableMcast& attachment);
  void OnTransmit(Cycle cycle, std::span<const uint8_t> frame);
  void OnReceive(std::span<const uint8_t> frame);
  // The device has read one more work request of the QP's send queue; none: one that cannot be followed.
  void OnSendWork(uint32_t qpn, std::optional<SendWork> work);
  // One work request of the QP's send queue was returned as used. `work`: what the device has read of it, if known.
  void OnSendUsed(uint32_t qpn, const std::optional<SendHead>& work);
  // One of its receive queue. `tail`: what the device has read of it.
  void OnReceiveUsed(uint32_t qpn, std::shared_ptr<std::vector<uint8_t>> tail);
  // A region is another one from now on, with the same key. `moves`: in other memory.
  void OnRegionChange(bool moves);
  // Firmware has answered a command: what it has changed before is in effect.
  void OnAnswer();
  // True: it is known to be solicited, by its error or by the message that it completes.
  bool OnCqe(Cycle cycle, const spec::RdmaCqReq& cqe);
  // Where bytes are in memory, in order.
  using Places = std::vector<std::pair<uint64_t, uint32_t>>;  // address and bytes
  // Of the peer; kLocal: of the QP's own work requests.
  enum class Right : uint8_t { kWrite, kRead, kAtomic, kFlushGlobal, kFlushPersistent, kLocal };
  // Adds where bytes of a region are to `places`. False: the key names no live region with these bytes.
  using Translate = std::function<bool(uint32_t key, Right right, uint64_t address, uint64_t bytes, Places& places)>;
  void SetTranslate(Translate translate) { translate_ = std::move(translate); }
  // Whether the peer may access these bytes by the key, through this QP of this protection domain.
  using MayAccess =
      std::function<bool(uint32_t qpn, uint32_t rkey, uint16_t pdn, Right right, uint64_t address, uint64_t bytes)>;
  void SetMayAccess(MayAccess may_access) { may_access_ = std::move(may_access); }
  // Whether a work request, or the peer's SEND with invalidate, may end the region of this key; it is going to, so that
  // from now on the key may be valid or not; it has, so that no access with it follows.
  struct Invalidation {
    std::function<bool(uint32_t qpn, uint32_t key, uint16_t pdn)> may_begin;
    std::function<void(uint32_t key)> begins, ends;
  };
  // A work request that binds a memory window, or registers a region, was read, and gets a number; it was executed.
  struct Binding {
    std::function<uint64_t(uint32_t qpn, uint16_t pdn, const spec::RdmaSqReqBind& bind)> begins;
    std::function<uint64_t(uint16_t pdn, const SendWork& work)> registers;
    std::function<void(uint64_t number)> ends;
  };
  void SetBinding(Binding binding) { binding_ = std::move(binding); }
  void SetInvalidation(Invalidation invalidation) { invalidation_ = std::move(invalidation); }
  // `is_of_queue`: to a ring or a buffer of a completion queue.
  void OnDmaWrite(Cycle cycle, uint64_t address, std::span<const uint8_t> data, bool is_of_queue);
  // A DMA completion with what may be payload.
  void OnOtherRead(const BoundaryEvent& completion);
  // Nothing keeps the QP from a work request that waits, in a device that is idle up to `deadline`.
  void OnQpFatal(uint32_t qpn);
  bool MustSend(uint32_t qpn, Cycle deadline, const RingRules& rings) const;
  // What is left to do of a device that is idle up to `deadline`; empty: nothing. `rings`: those of its queue pairs.
  std::string Owed(Cycle deadline, const RingRules& rings) const;
  // Adds what is a violation if nothing follows: gaps of RC behind which no work request has failed. Call it when the
  // NIC has come to rest.
  void Finish();

 private:
  // A packet sent for the first time.
  struct Sent {
    uint32_t psn = 0, psns = 1;  // psns: that it takes
    spec::BthOpcode opcode{};
    uint64_t extension = 0;  // a hash
    Checksum checksum;
    uint32_t bytes = 0;
    spec::Reth reth;
  };
  // `next_psn`: of a READ's next response. An atomic operation is a READ of 8 bytes here, ATOMIC WRITE and FLUSH
  // of none.
  struct Message {
    uint32_t next_psn = 0, last_psn = 0;
    bool is_read = false, is_atomic = false, is_answered = false;
    uint64_t number = 0;  // since RTS, from 1
    // Of a READ: where its data goes, if that is known, and how much has arrived.
    SendData work{};
    uint64_t arrived = 0;
  };
  // A new packet of RC that was not the next one.
  struct Gap {
    Cycle cycle = 0;
    uint32_t psn = 0, expected = 0;
  };
  // Entries of unwritten_ of one packet of a WRITE, by its PSN, or of one READ, by its number.
  struct Pending {
    uint64_t id = 0;
    size_t entries = 0;
  };
  // A READ request or atomic operation that has arrived: the PSN of its next response, and how many are left.
  struct Asked {
    uint32_t next_psn = 0, left = 0;
    bool has_begun = false;
    uint32_t rkey = 0;
    uint64_t address = 0;                   // of the next response's payload
    std::optional<spec::AtomicEth> atomic;  // none: a READ
    bool is_swap = false;                   // else FETCH ADD
  };
  // The first response to an atomic operation.
  struct Executed {
    uint32_t psn = 0;
    uint64_t before = 0;
  };
  // A message that has arrived and completes a receive.
  struct Arrived {
    uint32_t bytes = 0;
    bool is_send = false, is_solicited = false;
    uint32_t psn = 0;                                                   // of its last packet
    bool asks = false;                                                  // that requests an acknowledge
    std::optional<std::array<uint8_t, spec::Immdt::kBytes>> immediate;  // or the key of a SEND with invalidate
    bool invalidates = false;
    uint32_t source_qp = 0;     // of a datagram
    std::vector<uint8_t> data;  // of a SEND of RC, if it is kept
  };
  struct Qp {
    bool exists = false;
    spec::TableQpContext context;
    // Until the answer of the command that changes the context, the earlier one may be in effect.
    bool may_write = false, may_read = false, may_atomic = false, is_stopped = false;
    bool may_flush_global = false, may_flush_persistent = false;
    std::optional<spec::TablePath> earlier_path;
    // Requester.
    std::optional<uint32_t> next_psn;
    uint32_t unacked_psn = 0;
    std::deque<Sent> sent;  // not acknowledged, and the latest that were
    bool in_message = false;
    std::optional<uint64_t> bytes_left;  // of the message, if its length is known
    uint64_t bytes_sent = 0;             // of the message in progress, if it is followed
    spec::BthOperation operation{};
    std::deque<Message> open;  // sent completely and not acknowledged
    // Messages acknowledged, and work requests returned as used; the one of the last CQE counts as these do, or less if
    // works are not known.
    uint64_t messages_done = 0, used = 0, reported = 0;
    bool has_failed = false;          // a work request ended with an error: used and sent ones no longer correspond
    bool is_reported = false;         // the device has reported that it moved it to ERR
    std::optional<Gap> gap;           // the first, if the queue pair had not failed before it
    bool follows_works = true;        // messages and work requests correspond
    std::deque<SendWork> works;       // read by the device, and not yet a message
    std::optional<SendWork> working;  // that of the message in progress; none: not known
    bool are_works_known = true;      // every work request that was returned
    struct Unreported {
      uint64_t wr_id, number;               // `used` when it was returned
      std::optional<uint32_t> invalidated;  // key of a local invalidate
      std::optional<uint64_t> bind;         // number of a bind
    };
    std::deque<uint64_t> binds;         // numbers of those that were read, and not returned
    std::deque<Unreported> unreported;  // signaled work requests returned without a CQE so far
    // Responder: the PSN behind the last request of an unbroken sequence.
    std::optional<uint32_t> arrived_psn;
    std::optional<std::pair<uint32_t, uint64_t>> write;  // rkey and next address of the WRITE that arrives
    std::vector<Pending> unwritten, unplaced;            // in unwritten_: of WRITEs, of READs, in order of arrival
    uint32_t messages_arrived = 0;                       // of the unbroken sequence
    uint32_t arriving_bytes = 0;                         // of the message that arrives
    std::vector<uint8_t> arriving_data;
    size_t kept_data = 0;                 // bytes in `receives`
    std::optional<uint32_t> nak_psn;      // named by a sequence NAK, until a packet with it arrives
    std::optional<uint32_t> refused_psn;  // of a request that must be refused
    // Of the last request that was executed and asks for an acknowledge, until that is sent; of the last acknowledge.
    std::optional<uint32_t> due_psn, acked_psn;
    bool has_refused = false;  // a NAK that ends the connection was sent, or a request must be refused
    std::deque<Asked> asked;
    std::deque<Executed> executed;                               // the latest atomic operations
    std::deque<Arrived> receives;                                // not completed yet
    std::deque<std::shared_ptr<std::vector<uint8_t>>> received;  // work requests returned without a CQE so far
  };
  struct Peer {
    uint64_t mac = 0;
    uint32_t qpn = 0;
    friend bool operator==(const Peer&, const Peer&) = default;
  };
  struct HashOfPeer {
    size_t operator()(const Peer& peer) const {
      return static_cast<size_t>((peer.mac ^ peer.qpn) * 0x9e37'79b9'7f4a'7c15);
    }
  };
  using Qps = std::unordered_map<uint32_t, Qp>;

  static int32_t Distance(uint32_t from, uint32_t to);
  static uint64_t Mtu(const Qp& qp);
  static uint32_t PsnsOf(const Qp& qp, const RocePacket& packet);
  // The QP that sent the packet; null if none or several may have.
  Qps::value_type* SenderOf(const RocePacket& packet);
  void SentRequest(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void SentAgain(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void CheckPayload(Cycle cycle, uint32_t qpn, const Qp& qp, const RocePacket& packet);
  void CheckPath(Cycle cycle, uint32_t qpn, const Qp& qp, const RocePacket& packet);
  void CheckMessage(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void CheckWork(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  // The parts of a work request's memory that these bytes of its message are in; empty: not known. Valid until the next
  // call of one of these two.
  const Places& PlacesIn(const std::vector<uint8_t>& tail, uint32_t elements, size_t elements_at, uint64_t offset,
                         uint64_t bytes);
  // Of a send work request.
  const Places& PlacesIn(const SendData& work, uint64_t offset, uint64_t bytes);
  // Likewise of a region.
  const Places& PlacesOf(uint32_t key, Right right, uint64_t address, uint64_t bytes);
  void CheckReceived(Cycle cycle, uint32_t qpn, const Arrived& message, const std::vector<uint8_t>& tail);
  // `data` of the packet is what was read in these places.
  void CheckSource(Cycle cycle, uint32_t qpn, const RocePacket& packet, std::span<const uint8_t> data,
                   const Places& places);
  // The payload, which starts at this offset of the message, is that of the work request.
  void CheckInline(Cycle cycle, uint32_t qpn, const RocePacket& packet, const SendData& work, uint64_t offset);
  void ExpectData(const ExpectedWrite& write, const Places& places, std::span<const uint8_t> payload);
  template <typename Predicate>
  void EraseUnwritten(uint32_t qpn, Qp& qp, Predicate is_erased);
  // An entry of unwritten_ has left.
  static void Settle(Qp& qp, const ExpectedWrite& write);
  void SentResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void CheckAcknowledge(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void CheckReadResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet);
  void CheckAtomicResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet, const Asked& asked);
  void Forget(uint32_t qpn, Qp& qp);
  static bool IsOutstanding(const Qp& qp);
  static void OweAcknowledge(Qp& qp, uint32_t psn);
  bool IsFromPeer(const Qp& qp, const RocePacket& packet) const;
  static bool HasPartition(const RocePacket& packet);
  void ReceivedByGroup(const RocePacket& packet);
  void Arrive(Qp& qp, const RocePacket& packet);
  void ReceivedUnacknowledged(Qp& qp, const RocePacket& packet);
  void ReceivedRequest(uint32_t qpn, Qp& qp, const RocePacket& packet);
  bool MayFlush(uint32_t qpn, const Qp& qp, const RocePacket& packet) const;
  void ExpectWrite(uint32_t qpn, Qp& qp, const RocePacket& packet);
  void ReceivedResponse(uint32_t qpn, Qp& qp, const RocePacket& packet);
  void ReportGap(uint32_t qpn, Qp& qp);
  bool OnReceiveCqe(Cycle cycle, Qp& qp, const spec::RdmaCqReq& cqe);
  std::shared_ptr<std::vector<uint8_t>> TakeShared(Cycle cycle, const Qp& qp, const spec::RdmaCqReq& cqe);
  void OnSendCqe(Cycle cycle, Qp& qp, const spec::RdmaCqReq& cqe);

  Findings& findings_;
  Translate translate_;
  MayAccess may_access_;
  Invalidation invalidation_;
  Binding binding_;
  std::vector<uint32_t> changed_;  // QPs whose context was written since the last answer
  bool is_net_used_ = false;
  std::map<uint32_t, spec::TableMcast> attachments_;  // by row
  // The latest datagrams to groups: a queue pair that is attached meanwhile may get those that wait in the device.
  struct ToGroup {
    std::array<uint8_t, 16> group{};
    Arrived message;
  };
  std::deque<ToGroup> to_groups_;
  Qps qps_;
  std::unordered_map<Peer, std::vector<Qps::value_type*>, HashOfPeer> by_peer_;
  // Of QPs that were reset or destroyed: since the last answer, and before it.
  std::vector<Peer> left_;
  std::unordered_set<Peer, HashOfPeer> gone_;
  ExpectedWrites unwritten_;
  Places places_;  // of PlacesIn and PlacesOf
  std::optional<uint64_t> own_mac_;
  PayloadMemory payload_, written_;  // as read; as written by the device
  bool keeps_data_ = false;          // a SEND has arrived: `written_` is needed
};

}  // namespace vireo::sim::monitor
