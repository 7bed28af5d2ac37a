// SPDX-License-Identifier: Apache-2.0
// State of MessageTracker for one NIC and its QPs. Internal to the tracker.
#pragma once

#include "sim/nic/table_window.h"
#include "sim/report/message_tracker.h"

namespace vireo::sim {

struct MessageTracker::Qp {
  spec::TableQpContext context;  // last one written by firmware; kept after the QP is destroyed
  bool exists = false;
  uint16_t nic = 0;
  uint32_t qpn = 0;
  std::optional<uint32_t> next_psn;      // of the next new packet
  std::optional<uint32_t> expected_psn;  // expected by the peer. RC
  // In ring order, messages not yet sent at the end. The last kLate ended ones are kept to attribute late packets.
  std::deque<MessagePtr> messages;
  MessagePtr sending;  // its last packet has not been sent
  // Work requests that were returned without a CQE so far: it may come after later ones were returned. The oldest are
  // dropped beyond kMaxUndelivered.
  struct Returned {
    MessagePtr message;  // null: its work request was not read
    bool is_signaled = false;
  };
  std::deque<Returned> returned;
  std::deque<MessagePtr> reported;  // their CQE was written, and their work request is not returned yet
  size_t returned_receives = 0;
  std::deque<MessagePtr> undelivered;  // sent; the peer's CQE is pending. RC
  std::deque<MessagePtr> arrived;      // received by this QP; its CQE is pending. UC, UD

  static constexpr size_t kLate = 64;  // ended messages kept
  static constexpr size_t kMaxUndelivered = 1024;

  bool is_reliable() const { return context.qp_type == spec::IbQpType::kRc; }
  // From one PSN to another modulo 2^24: -2^23 to 2^23 - 1.
  static int32_t Distance(uint32_t from, uint32_t to) { return static_cast<int32_t>((to - from) << 8) >> 8; }
  // The message with this PSN; null if none.
  MessagePtr At(uint32_t psn) const;
};

class MessageTracker::Nic final : public EventSink, private RingWatch::Listener {
 public:
  Nic(MessageTracker& tracker, uint16_t number, const CoreClock& clock)
      : tracker_(tracker), number_(number), clock_(clock), rings_(*this) {}

  // EventSink
  void OnEvent(const BoundaryEvent& event) override;

  uint16_t number() const { return number_; }
  const CoreClock& clock() const { return clock_; }
  const RingWatch& rings() const { return rings_; }
  Qp* FindQp(uint32_t qpn);
  std::vector<Qp*> FindByPeer(uint64_t mac, uint32_t dest_qpn);
  PayloadReads& reads() { return reads_; }
  PayloadWrites<Message>& writes() { return writes_; }
  std::map<uint32_t, Qp>& qps() { return qps_; }
  const std::map<uint32_t, Qp>& qps() const { return qps_; }
  std::optional<uint64_t>& mac() { return mac_; }

  // Lockstep
  void StartAt(EventKind kind, uint64_t count) { counts_[static_cast<size_t>(kind)] = count; }
  void OnPair(EventKind kind, uint64_t number, Cycle master, Cycle shadow);
  std::optional<int64_t> DeltaOf(EventKind kind, uint64_t number) const;
  void SetLockstep() { is_lockstep_ = true; }

 private:
  static constexpr size_t kMaxDeltas = 100'000;
  struct Completed {
    MessagePtr message;
    bool is_peer = false;  // the CQE is the receiver's
  };

  void OnWorkRequest(const WorkRequest& request) override;
  void OnSendUsed(uint32_t qpn, EventMark mark, bool was_read) override;
  void OnReceiveUsed(uint32_t qpn, EventMark mark) override;
  void OnCompletion(uint16_t queue, const spec::RdmaCqReq& cqe, EventMark mark) override;
  void OnCompletionVisible(uint16_t queue, EventMark mark) override;
  void OnTableWrite(const TableWindow::Write& write);
  MessagePtr Reported(Qp& qp, const spec::RdmaCqReq& cqe);
  MessagePtr Delivered(Qp& qp, const spec::RdmaCqReq& cqe);

  MessageTracker& tracker_;
  const uint16_t number_;
  const CoreClock clock_;
  RingWatch rings_;
  std::array<uint64_t, kEventKinds> counts_{};
  EventMark transmit_start_, receive_start_;
  TableWindow table_window_;
  std::map<uint32_t, Qp> qps_;
  std::multimap<std::pair<uint64_t, uint32_t>, uint32_t> by_peer_;  // MAC and QPN of the peer -> QPN
  std::optional<uint64_t> mac_;
  PayloadReads reads_;
  PayloadWrites<Message> writes_;
  std::optional<std::pair<uint32_t, bool>> last_used_;              // QPN; true: of its send queue
  std::unordered_map<uint16_t, std::vector<Completed>> invisible_;  // by completion queue
  std::unordered_map<uint16_t, Completed> last_visible_;            // by vector
  bool is_lockstep_ = false;
  std::array<uint64_t, kEventKinds> compared_{};
  std::map<std::pair<EventKind, uint64_t>, int64_t> deltas_;  // other than 0
};

}  // namespace vireo::sim
