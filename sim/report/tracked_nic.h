// SPDX-License-Identifier: Apache-2.0
// What MessageTracker knows of one NIC and its QPs. Only for message_tracker*.cc.
#pragma once

#include "sim/report/message_tracker.h"

namespace vireo::sim {

struct MessageTracker::Qp {
  spec::TableQpContext context;  // as firmware wrote it last; stays when the QP goes
  bool exists = false;
  uint16_t nic = 0;
  uint32_t qpn = 0;
  std::optional<uint32_t> next_psn;      // of the next packet that is new
  std::optional<uint32_t> expected_psn;  // that the peer takes next. RC
  // In the order of the ring: those without packets at the end. Those that ended stay for what comes late.
  std::deque<MessagePtr> messages;
  MessagePtr sending;  // whose last packet has not left
  MessagePtr last_used;
  std::deque<MessagePtr> undelivered;  // sent, with a CQE of the peer to come. RC
  std::deque<MessagePtr> arrived;      // at this QP, likewise. UC, UD

  static constexpr size_t kLate = 64;  // ended messages that stay
  static constexpr size_t kMostUndelivered = 1024;

  bool is_reliable() const { return context.qp_type == spec::IbQpType::kRc; }
  // PSNs modulo 2^24, from -2^23 on.
  static int32_t Distance(uint32_t from, uint32_t to) { return static_cast<int32_t>((to - from) << 8) >> 8; }
  // The message that this PSN belongs to; null if none.
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
  void StartAt(EventKind kind, uint64_t said) { counts_[static_cast<size_t>(kind)] = said; }
  void OnPair(EventKind kind, uint64_t number, Cycle master, Cycle shadow);
  std::optional<int64_t> DeltaOf(EventKind kind, uint64_t number) const;
  void SetLockstep() { is_lockstep_ = true; }

 private:
  static constexpr size_t kMostDeltas = 100'000;
  struct Told {
    MessagePtr message;
    bool is_peer = false;  // its CQE is that of the receiver
  };

  void OnWorkRequest(const WorkRequest& request) override;
  void OnSendUsed(uint32_t qpn, EventMark mark, bool was_read) override;
  void OnReceiveUsed(uint32_t qpn, EventMark mark) override;
  void OnCompletion(uint16_t queue, const spec::RdmaCqReq& cqe, EventMark mark) override;
  void OnCompletionVisible(uint16_t queue, EventMark mark) override;
  void OnCsrWrite(const BoundaryEvent& event);
  void OnTableWrite(spec::MgmtTable table, bool is_clear);
  MessagePtr Delivered(Qp& qp, const spec::RdmaCqReq& cqe);

  MessageTracker& tracker_;
  const uint16_t number_;
  const CoreClock clock_;
  RingWatch rings_;
  std::array<uint64_t, kEventKinds> counts_{};
  EventMark transmit_start_, receive_start_;
  std::array<uint8_t, 128> table_data_{};
  uint32_t table_index_ = 0;
  std::map<uint32_t, Qp> qps_;
  std::multimap<std::pair<uint64_t, uint32_t>, uint32_t> by_peer_;  // MAC and QPN of the peer -> QPN
  std::optional<uint64_t> mac_;
  PayloadReads reads_;
  PayloadWrites<Message> writes_;
  std::optional<std::pair<uint32_t, bool>> last_used_;         // QPN; of its send queue
  std::unordered_map<uint16_t, std::vector<Told>> invisible_;  // by completion queue
  std::unordered_map<uint16_t, Told> last_told_;               // by vector
  bool is_lockstep_ = false;
  std::array<uint64_t, kEventKinds> compared_{};
  std::map<std::pair<EventKind, uint64_t>, int64_t> deltas_;  // other than 0
};

}  // namespace vireo::sim
