// SPDX-License-Identifier: Apache-2.0
#include "sim/report/tracked_nic.h"

#include <algorithm>

namespace vireo::sim {
namespace {

using spec::IbQpType;
using spec::IbWcOpcode;
using spec::IbWcStatus;

void SetOnce(Message& message, Stage stage, EventMark mark) {
  EventMark& at = message.marks[static_cast<size_t>(stage)];
  if (!at.is_set()) at = mark;
}
void Set(Message& message, Stage stage, EventMark mark) { message.marks[static_cast<size_t>(stage)] = mark; }

uint64_t MacOf(const uint8_t* bytes) {
  uint64_t mac = 0;
  for (size_t i = 0; i < 6; ++i) mac = mac << 8 | bytes[i];
  return mac;
}

}  // namespace

MessageTracker::MessagePtr MessageTracker::Qp::At(uint32_t psn) const {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (!(*message)->at(Stage::kTransmit).is_set()) continue;
    const int32_t distance = Distance((*message)->first_psn, psn);
    if (distance >= 0) return static_cast<uint64_t>(distance) < (*message)->packets ? *message : nullptr;
  }
  return nullptr;
}

MessageTracker::Qp* MessageTracker::Nic::FindQp(uint32_t qpn) {
  const auto found = qps_.find(qpn);
  return found == qps_.end() ? nullptr : &found->second;
}

std::vector<MessageTracker::Qp*> MessageTracker::Nic::FindByPeer(uint64_t mac, uint32_t dest_qpn) {
  std::vector<Qp*> found;
  const auto [begin, end] = by_peer_.equal_range({mac, dest_qpn});
  for (auto at = begin; at != end; ++at) found.push_back(&qps_.at(at->second));
  return found;
}

void MessageTracker::Nic::OnEvent(const BoundaryEvent& event) {
  const EventMark mark = {event.cycle, counts_[static_cast<size_t>(event.kind)]++};
  switch (event.kind) {
    case EventKind::kReset: table_window_ = {}; return rings_.OnReset();
    case EventKind::kBarWrite: return rings_.OnBarWrite(event, mark);
    case EventKind::kCsrRead:
    case EventKind::kCsrWrite:
    case EventKind::kCsrCompletion:
      if (const auto write = table_window_.OnEvent(event)) OnTableWrite(*write);
      return;
    case EventKind::kDmaRead:
      // A work request may contain inline payload.
      if (rings_.OnRead(event, mark) != RingWatch::Target::kRing) return reads_.OnRead(event.id, event.bytes, mark);
      return reads_.Forget(event.id);
    case EventKind::kDmaCompletion:
      rings_.OnReadData(event, mark);
      return reads_.OnData(event.id, event.payload, (event.status & 0x80) != 0, mark);
    case EventKind::kDmaWrite: {
      if (rings_.OnWrite(event, mark) != RingWatch::Target::kOther) return;
      const MessagePtr message = writes_.Take(event.payload);
      if (message == nullptr) return;  // of the net path or the control queue
      SetOnce(*message, Stage::kPayloadWrite, mark);
      return Set(*message, Stage::kPayloadWriteEnd, mark);
    }
    case EventKind::kMsix: {
      const auto found = last_visible_.find(static_cast<uint16_t>(event.id));
      if (found == last_visible_.end()) return;
      SetOnce(*found->second.message, found->second.is_peer ? Stage::kPeerInterrupt : Stage::kInterrupt, mark);
      last_visible_.erase(found);
      return;
    }
    case EventKind::kTransmitStart: transmit_start_ = mark; return;
    case EventKind::kTransmitEnd: return tracker_.Transmitted(*this, transmit_start_, mark, event.payload);
    case EventKind::kReceiveStart: receive_start_ = mark; return;
    case EventKind::kReceiveEnd:
      if (event.status != 0) {
        ++tracker_.totals_.mac_errors;
        return;
      }
      return tracker_.Received(*this, receive_start_, mark, event.payload);
    default: return;
  }
}

// --- Writes of firmware

void MessageTracker::Nic::OnTableWrite(const TableWindow::Write& write) {
  rings_.OnTableWrite(write);
  if (write.table != spec::MgmtTable::kQpContext || write.index >= spec::kNotifyQueuesMax) return;
  Qp& qp = qps_[write.index];
  qp.nic = number_;
  qp.qpn = write.index;
  const auto context = spec::TableQpContext::Decode(write.entry);
  if (!context.valid || context.state == spec::IbQpState::kReset) tracker_.Abandon(qp);
  qp.exists = context.valid;
  if (!context.valid) return;  // keep its context for packets in flight
  std::erase_if(by_peer_, [&](const auto& entry) { return entry.second == qp.qpn; });
  qp.context = context;
  if (context.qp_type == IbQpType::kRc || context.qp_type == IbQpType::kUc) {
    by_peer_.insert({{MacOf(context.path.dmac), context.dest_qpn}, qp.qpn});
  }
  if (context.load_requester) qp.next_psn = qp.expected_psn = context.next_psn;
}

// --- Events of the rings

void MessageTracker::Nic::OnWorkRequest(const WorkRequest& request) {
  auto message = std::make_shared<Message>();
  message->number = tracker_.number_++;
  message->nic = number_;
  message->qpn = request.qpn;
  message->opcode = request.opcode;
  message->wr_id = request.wr_id;
  message->bytes = request.knows_bytes ? request.bytes : 0;
  message->knows_bytes = request.knows_bytes;
  message->remote_addr = request.remote_addr;
  message->rkey = request.rkey;
  Qp& qp = qps_[request.qpn];
  message->service = qp.context.qp_type;
  message->is_signaled = qp.context.sq_sig_all || (request.send_flags & spec::IbSendFlags::kSignaled) != 0;
  const bool is_datagram = message->service == IbQpType::kUd || message->service == IbQpType::kGsi;
  message->peer_qpn = is_datagram ? request.remote_qpn : qp.context.dest_qpn;
  Set(*message, Stage::kDoorbell, request.doorbell);
  Set(*message, Stage::kIndexRead, request.index_read);
  Set(*message, Stage::kRingRead, request.ring_read);
  Set(*message, Stage::kDescriptorRead, request.descriptor_read);
  Set(*message, Stage::kWorkRequestRead, request.read);
  Set(*message, Stage::kWorkRequest, request.completed);
  ++tracker_.totals_.messages;
  tracker_.totals_.bytes += message->bytes;
  qp.messages.push_back(std::move(message));
}

void MessageTracker::Nic::OnSendUsed(uint32_t qpn, EventMark mark, bool was_read) {
  last_used_ = {qpn, true};
  Qp& qp = qps_[qpn];
  if (qp.returned.size() == Qp::kMaxUndelivered) qp.returned.pop_front();
  qp.returned.emplace_back();
  if (!was_read) {
    ++tracker_.unattributed_.work_requests;
    return;
  }
  const auto message =
      std::ranges::find_if(qp.messages, [](const MessagePtr& entry) { return entry->end == Message::End::kOpen; });
  if (message == qp.messages.end()) {
    ++tracker_.unattributed_.work_requests;
    return;
  }
  Set(**message, Stage::kUsed, mark);
  qp.returned.back() = {*message, (*message)->is_signaled};
  if (std::erase(qp.reported, *message) != 0) qp.returned.clear();
  tracker_.End(*message, Message::End::kComplete);
  while (qp.messages.size() > Qp::kLate && qp.messages.front()->end != Message::End::kOpen) qp.messages.pop_front();
}

void MessageTracker::Nic::OnReceiveUsed(uint32_t qpn, EventMark) {
  last_used_ = {qpn, false};
  ++qps_[qpn].returned_receives;
}

// The work request of a send CQE, which with all before it is no longer waited for; null: not known. A failed one has a
// CQE, too, if it was not signaled.
MessageTracker::MessagePtr MessageTracker::Nic::Reported(Qp& qp, const spec::RdmaCqReq& cqe) {
  const auto is_its = [&cqe](const Qp::Returned& one) {
    return one.message != nullptr && one.message->wr_id == cqe.wr_id;
  };
  auto found = std::ranges::find_if(qp.returned, [&](const auto& one) { return one.is_signaled && is_its(one); });
  if (found == qp.returned.end() && cqe.status != IbWcStatus::kSuccess)
    found = std::ranges::find_if(qp.returned, is_its);
  if (found == qp.returned.end()) {
    // A used index, in a packed ring the flags, may be written after the CQE.
    const auto open = std::ranges::find_if(qp.messages, [&](const MessagePtr& entry) {
      return entry->end == Message::End::kOpen && entry->wr_id == cqe.wr_id &&
             (entry->is_signaled || cqe.status != IbWcStatus::kSuccess) && std::ranges::count(qp.reported, entry) == 0;
    });
    if (open == qp.messages.end()) return nullptr;
    qp.reported.push_back(*open);
    return *open;
  }
  MessagePtr message = std::move(found->message);
  qp.returned.erase(qp.returned.begin(), found + 1);
  return message;
}

void MessageTracker::Nic::OnCompletion(uint16_t queue, const spec::RdmaCqReq& cqe, EventMark mark) {
  Qp* const qp = FindQp(cqe.qp_num);
  // A failed CQE has no opcode; mostly its work request was used just before.
  bool is_send = cqe.opcode != IbWcOpcode::kRecv && cqe.opcode != IbWcOpcode::kRecvRdmaWithImm;
  if (cqe.status != IbWcStatus::kSuccess) {
    is_send = last_used_ == std::pair{cqe.qp_num, true};
    if (qp != nullptr && qp->returned.empty()) is_send = false;
    if (qp != nullptr && qp->returned_receives == 0) is_send = true;
  }
  if (qp != nullptr && !is_send && qp->returned_receives != 0) --qp->returned_receives;
  MessagePtr message;
  if (qp != nullptr && is_send) {
    message = Reported(*qp, cqe);
    if (message != nullptr) {
      message->status = cqe.status;
      if (cqe.status != IbWcStatus::kSuccess) {
        --tracker_.totals_.completed;
        ++tracker_.totals_.failed;
      }
    }
  } else if (qp != nullptr && cqe.status == IbWcStatus::kSuccess) {
    message = Delivered(*qp, cqe);
  } else if (qp != nullptr) {
    return;  // a receive that failed or was flushed belongs to no message
  }
  if (message == nullptr) {
    ++tracker_.unattributed_.completions;
    return;
  }
  SetOnce(*message, is_send ? Stage::kCompletion : Stage::kPeerCompletion, mark);
  invisible_[queue].push_back({message, !is_send});
}

// The message of a receive completion.
MessageTracker::MessagePtr MessageTracker::Nic::Delivered(Qp& qp, const spec::RdmaCqReq& cqe) {
  MessagePtr message;
  if (qp.is_reliable()) {
    Nic* const peer = tracker_.NicOf(MacOf(qp.context.path.dmac));
    Qp* const sender = peer == nullptr ? nullptr : peer->FindQp(qp.context.dest_qpn);
    if (sender == nullptr || sender->undelivered.empty()) return nullptr;
    // RC receives complete in message order without gaps.
    message = sender->undelivered.front();
    sender->undelivered.pop_front();
    if (!message->at(Stage::kArrivalEnd).is_set() || message->bytes != cqe.byte_len) return nullptr;
    return message;
  }
  // UC and UD messages may have been dropped, so the length must be unambiguous.
  const uint64_t header = qp.context.qp_type == IbQpType::kUc ? 0 : spec::kRdmaUdGrhBytes;
  const auto fits = [&](const MessagePtr& entry) { return entry->bytes + header == cqe.byte_len; };
  if (std::ranges::count_if(qp.arrived, fits) == 1) message = *std::ranges::find_if(qp.arrived, fits);
  if (message != nullptr) std::erase(qp.arrived, message);
  return message;
}

void MessageTracker::Nic::OnCompletionVisible(uint16_t queue, EventMark mark) {
  const auto found = invisible_.find(queue);
  if (found == invisible_.end()) return;
  for (const Completed& one : found->second) {
    if (!one.is_peer) SetOnce(*one.message, Stage::kVisible, mark);
    if (const uint16_t vector = rings_.VectorOf(queue); vector != RingWatch::kNoVector) last_visible_[vector] = one;
  }
  invisible_.erase(found);
}

// --- Lockstep

void MessageTracker::Nic::OnPair(EventKind kind, uint64_t number, Cycle master, Cycle shadow) {
  compared_[static_cast<size_t>(kind)] = number + 1;
  if (master == shadow) return;
  if (deltas_.size() == kMaxDeltas) deltas_.erase(deltas_.begin());
  deltas_[{kind, number}] = static_cast<int64_t>(shadow - master);
}

std::optional<int64_t> MessageTracker::Nic::DeltaOf(EventKind kind, uint64_t number) const {
  if (!is_lockstep_ || number >= compared_[static_cast<size_t>(kind)]) return std::nullopt;
  const auto found = deltas_.find({kind, number});
  return found == deltas_.end() ? 0 : found->second;
}

}  // namespace vireo::sim
