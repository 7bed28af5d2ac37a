// SPDX-License-Identifier: Apache-2.0
#include "sim/report/message_tracker.h"

#include <algorithm>

#include "model/rdma/icrc.h"
#include "sim/device/lockstep_nic.h"
#include "sim/report/tracked_nic.h"

namespace vireo::sim {
namespace {

using spec::IbWrOpcode;

constexpr size_t kUdpBytes = 8, kIcrcBytes = 4;

void SetOnce(Message& message, Stage stage, EventMark mark) {
  EventMark& at = message.marks[static_cast<size_t>(stage)];
  if (!at.is_set()) at = mark;
}
void Set(Message& message, Stage stage, EventMark mark) { message.marks[static_cast<size_t>(stage)] = mark; }

uint64_t MacOf(std::span<const uint8_t> bytes) {
  uint64_t mac = 0;
  for (size_t i = 0; i < 6; ++i) mac = mac << 8 | bytes[i];
  return mac;
}

bool Fits(IbWrOpcode opcode, const spec::OpcodeInfo& info) {
  switch (opcode) {
    case IbWrOpcode::kRdmaWrite:
    case IbWrOpcode::kRdmaWriteWithImm: return info.operation == spec::BthOperation::kRdmaWrite;
    case IbWrOpcode::kSend:
    case IbWrOpcode::kSendWithInv:
    case IbWrOpcode::kSendWithImm: return info.operation == spec::BthOperation::kSend;
    case IbWrOpcode::kBindMw:
    case IbWrOpcode::kRegMr:
    case IbWrOpcode::kLocalInv: break;  // they have no packet
    case IbWrOpcode::kRdmaRead: return info.operation == spec::BthOperation::kRdmaReadRequest;
    case IbWrOpcode::kAtomicCmpAndSwp: return info.operation == spec::BthOperation::kCompareSwap;
    case IbWrOpcode::kAtomicFetchAndAdd: return info.operation == spec::BthOperation::kFetchAdd;
    case IbWrOpcode::kFlush: return info.operation == spec::BthOperation::kFlush;
    case IbWrOpcode::kAtomicWrite: return info.operation == spec::BthOperation::kAtomicWrite;
  }
  return false;
}

bool TakesReceive(IbWrOpcode opcode) {
  return opcode == IbWrOpcode::kRdmaWriteWithImm || opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm ||
         opcode == IbWrOpcode::kSendWithInv;
}

uint64_t MtuBytes(spec::IbMtu mtu) { return uint64_t{128} << static_cast<unsigned>(mtu); }

// The output event of a stage at the seam; nullopt for inputs.
std::optional<EventKind> OutputOf(Stage stage) {
  switch (stage) {
    case Stage::kIndexRead:
    case Stage::kRingRead:
    case Stage::kDescriptorRead:
    case Stage::kWorkRequestRead:
    case Stage::kPayloadRead: return EventKind::kDmaRead;
    case Stage::kTransmit:
    case Stage::kAnswer: return EventKind::kTransmitStart;
    case Stage::kTransmitEnd: return EventKind::kTransmitEnd;
    case Stage::kPayloadWrite:
    case Stage::kPayloadWriteEnd:
    case Stage::kPeerCompletion:
    case Stage::kUsed:
    case Stage::kCompletion:
    case Stage::kVisible: return EventKind::kDmaWrite;
    case Stage::kPeerInterrupt:
    case Stage::kInterrupt: return EventKind::kMsix;
    default: return std::nullopt;
  }
}

}  // namespace

const char* ToString(Stage stage) {
  constexpr std::array<const char*, kStages> kNames = {
      "doorbell",     "index_read",    "ring_read",         "descriptor_read", "work_request_read", "work_request",
      "payload_read", "payload",       "transmit",          "transmit_end",    "arrival",           "arrival_end",
      "answer",       "payload_write", "payload_write_end", "peer_completion", "peer_interrupt",    "answer_arrival",
      "used",         "completion",    "visible",           "interrupt"};
  return kNames.at(static_cast<size_t>(stage));
}

bool Message::IsAtPeer(Stage stage) const {
  switch (stage) {
    case Stage::kPayloadRead:
    case Stage::kPayload: return is_read();
    case Stage::kPayloadWrite:
    case Stage::kPayloadWriteEnd: return !is_read();
    case Stage::kArrival:
    case Stage::kArrivalEnd:
    case Stage::kAnswer:
    case Stage::kPeerCompletion:
    case Stage::kPeerInterrupt: return true;
    default: return false;
  }
}

MessageTracker::MessageTracker() : MessageTracker(Options{}) {}
MessageTracker::MessageTracker(const Options& options) : options_(options) {}
MessageTracker::~MessageTracker() = default;

void MessageTracker::Watch(NicTap& tap, const CoreClock& clock, LockstepNic* lockstep) {
  nics_.push_back(std::make_unique<Nic>(*this, static_cast<uint16_t>(nics_.size()), clock));
  Nic& nic = *nics_.back();
  tap.AddSink(nic);
  if (lockstep == nullptr) return;
  nic.SetLockstep();
  for (unsigned kind = 0; kind < kEventKinds; ++kind) {
    nic.StartAt(static_cast<EventKind>(kind), lockstep->event_count(static_cast<EventKind>(kind)));
  }
  lockstep->OnPair([&nic](EventKind kind, uint64_t number, Cycle master, Cycle shadow) {
    nic.OnPair(kind, number, master, shadow);
  });
}

const CoreClock& MessageTracker::clock(size_t nic) const { return nics_[nic]->clock(); }

MessageTracker::Unattributed MessageTracker::unattributed() const {
  Unattributed result = unattributed_;
  for (const auto& nic : nics_) {
    const RingWatch::Counters& rings = nic->rings().counters();
    result.rings.doorbells += rings.doorbells;
    result.rings.used += rings.used;
    result.rings.completions += rings.completions;
  }
  return result;
}

std::vector<std::shared_ptr<const Message>> MessageTracker::Messages() const {
  std::vector<std::shared_ptr<const Message>> messages(ended_.begin(), ended_.end());
  for (const auto& nic : nics_) {
    for (const auto& [qpn, qp] : nic->qps()) {
      for (const MessagePtr& message : qp.messages) {
        if (message->end == Message::End::kOpen) messages.push_back(message);
      }
    }
  }
  return messages;
}

std::optional<int64_t> MessageTracker::ShadowDelta(const Message& message, Stage stage) const {
  const std::optional<EventKind> kind = OutputOf(stage);
  if (!kind.has_value() || !message.at(stage).is_set()) return std::nullopt;
  if (!message.IsAtPeer(stage)) return nics_[message.nic]->DeltaOf(*kind, message.at(stage).number);
  if (!message.peer.has_value()) return std::nullopt;
  return nics_[*message.peer]->DeltaOf(*kind, message.at(stage).number);
}

void MessageTracker::End(const MessagePtr& message, Message::End end) {
  message->end = end;
  ++(end == Message::End::kComplete ? totals_.completed : totals_.abandoned);
  ended_.push_back(message);
  if (ended_.size() <= options_.keep) return;
  if (on_forget_) on_forget_(*ended_.front());
  ended_.pop_front();
}

void MessageTracker::Abandon(Qp& qp) {
  for (const MessagePtr& message : qp.messages) {
    if (message->end == Message::End::kOpen) End(message, Message::End::kAbandoned);
  }
  qp.messages.clear();
  qp.sending = nullptr;
  qp.next_psn.reset();
  qp.expected_psn.reset();
  qp.arrived.clear();
  qp.returned.clear();
  qp.returned_receives = 0;
}

MessageTracker::Nic* MessageTracker::NicOf(uint64_t mac) {
  for (const auto& nic : nics_) {
    if (nic->mac() == mac) return nic.get();
  }
  return nullptr;
}

bool MessageTracker::IsFor(Nic& nic, const Packet& packet) {
  if (const Nic* const owner = NicOf(packet.destination_mac)) return owner == &nic;
  if (nic.mac().has_value()) return false;
  // The destination has not sent anything yet, so its MAC is unknown: decide by the destination QP.
  const Qp* const qp = nic.FindQp(packet.headers.bth.dest_qp);
  return qp != nullptr && (packet.info.has_deth || MacOf(qp->context.path.dmac) == packet.source_mac);
}

// --- Packets

std::optional<MessageTracker::Packet> MessageTracker::Read(std::span<const uint8_t> frame) {
  const auto headers = FindRoce(frame);
  if (!headers.has_value()) return std::nullopt;
  Packet packet;
  packet.headers = *headers;
  packet.info = spec::kOpcodeInfo[static_cast<uint8_t>(headers->bth.opcode)];
  if (!packet.info.valid) return std::nullopt;
  packet.destination_mac = MacOf(frame);
  packet.source_mac = MacOf(frame.subspan(6));
  // The end is from the UDP length: a frame may be padded.
  const size_t bth = headers->bth_offset;
  const size_t udp = size_t{frame[bth - 4]} << 8 | frame[bth - 3];
  const size_t end = bth - kUdpBytes + udp;
  const size_t begin = bth + spec::Bth::kBytes + packet.info.extension_bytes;
  const size_t behind = kIcrcBytes + headers->bth.pad_count;
  if (end > frame.size() || begin + behind > end) return std::nullopt;
  packet.payload = frame.subspan(begin, end - behind - begin);
  // The ICRC functions do not support IP options; no NIC here sends any.
  const size_t ip = headers->ip_offset;
  if (bth == ip + (headers->is_ipv6 ? spec::Ipv6::kBytes : spec::Ipv4::kBytes) + kUdpBytes) {
    packet.is_damaged = !model::IcrcCheck(frame.subspan(ip, end - ip), headers->is_ipv6);
  }
  if (packet.info.has_deth)
    packet.source_qp = spec::Deth::Decode(frame.data() + bth + packet.info.deth_offset).source_qp;
  if (packet.info.has_aeth) packet.syndrome = frame[bth + packet.info.aeth_offset];
  if (packet.info.has_reth) packet.reth = spec::Reth::Decode(frame.data() + bth + packet.info.reth_offset);
  return packet;
}

MessageTracker::Qp* MessageTracker::SenderOf(Nic& nic, const Packet& packet) {
  if (packet.info.has_deth) return nic.FindQp(packet.source_qp);
  std::vector<Qp*> senders = nic.FindByPeer(packet.destination_mac, packet.headers.bth.dest_qp);
  if (senders.size() == 1) return senders.front();
  // Several QPs send to the same one: decide by PSN.
  std::erase_if(senders, [&](const Qp* qp) {
    return qp->next_psn != packet.headers.bth.psn && qp->At(packet.headers.bth.psn) == nullptr;
  });
  return senders.size() == 1 ? senders.front() : nullptr;
}

void MessageTracker::Transmitted(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame) {
  const auto packet = Read(frame);
  if (!packet.has_value()) return;
  ++totals_.packets_sent;
  nic.mac() = packet->source_mac;
  if (packet->info.is_response) {
    SentResponse(nic, *packet, start);
  } else {
    SentRequest(nic, *packet, start, end);
  }
}

void MessageTracker::NotePayloadRead(Nic& nic, const Packet& packet, Message* message) {
  if (packet.payload.empty()) return;
  const auto found = nic.reads().Take(packet.payload);
  if (!found.has_value()) {
    ++unattributed_.payload_reads;
    return;
  }
  if (message == nullptr) return;
  SetOnce(*message, Stage::kPayloadRead, found->first);
  Set(*message, Stage::kPayload, found->last);
}

void MessageTracker::SentRequest(Nic& nic, const Packet& packet, EventMark start, EventMark end) {
  Qp* const qp = SenderOf(nic, packet);
  const uint32_t psn = packet.headers.bth.psn;
  if (qp == nullptr) {
    ++unattributed_.requests;
    return NotePayloadRead(nic, packet, nullptr);
  }
  if (!qp->next_psn.has_value() && packet.info.starts_message) qp->next_psn = psn;
  const int32_t ahead = qp->next_psn.has_value() ? Qp::Distance(*qp->next_psn, psn) : 1;
  if (ahead < 0) {
    ++totals_.retransmitted;
    const MessagePtr message = qp->At(psn);
    if (message != nullptr) ++message->retransmitted;
    return NotePayloadRead(nic, packet, nullptr);
  }
  MessagePtr message = qp->sending;
  if (packet.info.starts_message) {
    const auto next = std::ranges::find_if(qp->messages, [&](const MessagePtr& entry) {
      const bool is_new = entry->end == Message::End::kOpen && !entry->at(Stage::kTransmit).is_set();
      return is_new && Fits(entry->opcode, packet.info) &&
             (!packet.reth.has_value() ||
              (packet.reth->virtual_address == entry->remote_addr && packet.reth->rkey == entry->rkey &&
               (!entry->knows_bytes || packet.reth->dma_length == entry->bytes)));
    });
    message = next == qp->messages.end() ? nullptr : *next;
    if (message != nullptr) {
      message->first_psn = psn;
      if (!message->knows_bytes && packet.reth.has_value()) {
        message->bytes = packet.reth->dma_length;
        message->knows_bytes = true;
        totals_.bytes += message->bytes;
      }
      if (qp->is_reliable() && TakesReceive(message->opcode)) {
        if (qp->undelivered.size() == Qp::kMaxUndelivered) qp->undelivered.pop_front();
        qp->undelivered.push_back(message);
      }
    }
  }
  uint64_t psns = 1;
  if (message != nullptr && message->is_read()) {
    const uint64_t mtu = MtuBytes(qp->context.path_mtu);
    psns = std::max<uint64_t>(1, (message->bytes + mtu - 1) / mtu);
  }
  qp->next_psn = (psn + psns) & 0xff'ffff;
  qp->sending = packet.info.ends_message ? nullptr : message;
  NotePayloadRead(nic, packet, message.get());
  if (message == nullptr || ahead > 0) {
    ++unattributed_.requests;
    return;
  }
  message->packets += psns;
  if (!message->knows_bytes) {
    message->bytes += packet.payload.size();
    totals_.bytes += packet.payload.size();
  }
  SetOnce(*message, Stage::kTransmit, start);
  Set(*message, Stage::kTransmitEnd, end);
}

void MessageTracker::SentResponse(Nic& nic, const Packet& packet, EventMark start) {
  if (packet.info.has_aeth && packet.info.operation == spec::BthOperation::kAcknowledge) {
    const std::array<uint8_t, spec::Aeth::kBytes> bytes = {packet.syndrome};
    const spec::AethKind kind = spec::Aeth::Decode(bytes.data()).kind;
    if (kind == spec::AethKind::kRnrNak) ++totals_.rnr_naks;
    if (kind == spec::AethKind::kNak) {
      ++(packet.syndrome == static_cast<uint8_t>(spec::AethSyndrome::kNakPsnSequenceError) ? totals_.sequence_naks
                                                                                           : totals_.other_naks);
    }
  }
  Nic* const requester = NicOf(packet.destination_mac);
  Qp* const qp = requester == nullptr ? nullptr : requester->FindQp(packet.headers.bth.dest_qp);
  MessagePtr message;
  if (qp == nullptr) {
    ++unattributed_.responses;
  } else {
    message = qp->At(packet.headers.bth.psn);
    // Responses show the PSN that the peer expects. (Not a sequence NAK: its PSN may have been received meanwhile.)
    const uint32_t psn = packet.headers.bth.psn;
    const bool is_nak = packet.info.has_aeth && (packet.syndrome & 0x60) != 0;
    if (is_nak && packet.syndrome < static_cast<uint8_t>(spec::AethSyndrome::kNakPsnSequenceError)) {
      qp->expected_psn = psn;
    } else if (!is_nak && (!qp->expected_psn.has_value() || Qp::Distance(*qp->expected_psn, psn) >= 0)) {
      qp->expected_psn = (psn + 1) & 0xff'ffff;
    }
    OnResponse(*qp, packet, Stage::kAnswer, start);
    if (message == nullptr) ++unattributed_.responses;
  }
  const bool is_read = message != nullptr && message->is_read();
  NotePayloadRead(nic, packet, is_read ? message.get() : nullptr);
}

// An acknowledge covers all earlier messages, a READ response all before its READ.
void MessageTracker::OnResponse(Qp& qp, const Packet& packet, Stage stage, EventMark mark) {
  const uint32_t psn = packet.headers.bth.psn;
  const bool is_nak = packet.info.has_aeth && (packet.syndrome & 0x60) != 0;
  for (const MessagePtr& message : qp.messages) {
    if (!message->at(Stage::kTransmit).is_set()) return;
    const int32_t behind_first = Qp::Distance(message->first_psn, psn);
    if (behind_first < 0) return;
    const bool is_in = static_cast<uint64_t>(behind_first) < message->packets;
    const bool is_last = static_cast<uint64_t>(behind_first) + 1 >= message->packets;
    if (message->is_read()) {
      if (!is_in || packet.info.operation != spec::BthOperation::kRdmaReadResponse) continue;
      if (stage == Stage::kAnswer || is_last) SetOnce(*message, stage, mark);
    } else if (is_last && message != qp.sending && !(is_in && is_nak)) {
      SetOnce(*message, stage, mark);
    }
  }
}

void MessageTracker::Received(Nic& nic, EventMark start, EventMark end, std::span<const uint8_t> frame) {
  const auto packet = Read(frame);
  if (!packet.has_value() || !IsFor(nic, *packet)) return;
  if (packet->is_damaged) {
    ++totals_.icrc_errors;
    return;
  }
  ++totals_.packets_received;
  Nic* const sender = NicOf(packet->source_mac);
  const uint32_t psn = packet->headers.bth.psn;
  if (packet->info.is_response) {
    Qp* const qp = nic.FindQp(packet->headers.bth.dest_qp);
    const MessagePtr message = qp == nullptr ? nullptr : qp->At(psn);
    if (qp != nullptr) OnResponse(*qp, *packet, Stage::kAnswerArrival, start);
    if (message == nullptr) {
      ++unattributed_.arrivals;
    } else if (message->is_read() && packet->info.operation == spec::BthOperation::kRdmaReadResponse &&
               message->responses == static_cast<uint64_t>(Qp::Distance(message->first_psn, psn))) {
      // Only the next response in order is accepted; one after a loss or a duplicate is dropped.
      ++message->responses;
      if (!packet->payload.empty()) nic.writes().OnFrame(message, packet->payload);
    }
    return;
  }
  Qp* const qp = sender == nullptr ? nullptr : SenderOf(*sender, *packet);
  const MessagePtr message = qp == nullptr ? nullptr : qp->At(psn);
  if (message == nullptr) {
    ++unattributed_.arrivals;
    return;
  }
  message->peer = nic.number();
  SetOnce(*message, Stage::kArrival, start);
  ++message->arrived;
  if (packet->info.ends_message) SetOnce(*message, Stage::kArrivalEnd, end);
  const bool is_taken = !qp->is_reliable() || qp->expected_psn == psn;
  if (is_taken && !packet->payload.empty()) nic.writes().OnFrame(message, packet->payload);
  if (is_taken) qp->expected_psn = (psn + (message->is_read() ? message->packets : 1)) & 0xff'ffff;
  if (!qp->is_reliable() && packet->info.ends_message && message->arrived == message->packets &&
      TakesReceive(message->opcode)) {
    if (Qp* receiver = nic.FindQp(packet->headers.bth.dest_qp)) {
      if (receiver->arrived.size() == Qp::kMaxUndelivered) receiver->arrived.pop_front();
      receiver->arrived.push_back(message);
    }
  }
}

}  // namespace vireo::sim
