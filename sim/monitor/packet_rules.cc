// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/packet_rules.h"

#include <algorithm>

namespace vireo::sim::monitor {
namespace {

using spec::BthOperation;
using spec::BthService;
using spec::IbQpType;

constexpr uint32_t kPsnMask = 0xff'ffff;
constexpr int32_t kWindow = 1 << 23;  // of PSNs [IBTA 9.7.1]

uint64_t MacOf(const uint8_t* bytes) {
  return uint64_t{bytes[0]} << 40 | uint64_t{bytes[1]} << 32 | uint64_t{bytes[2]} << 24 | bytes[3] << 16 |
         bytes[4] << 8 | bytes[5];
}

std::string QpText(uint32_t qpn) { return "QP " + std::to_string(qpn) + ": "; }
std::string PsnText(uint32_t psn) { return "PSN " + std::to_string(psn); }

// So that what never ends, as receives that are never completed, does not grow forever.
constexpr size_t kMostKept = 4096;
template <typename Queue>
void Push(Queue& queue, typename Queue::value_type value) {
  if (queue.size() == kMostKept) queue.pop_front();
  queue.push_back(std::move(value));
}

// [IBTA 10.3.1] SQD and SQE finish what has started.
bool IsSending(spec::IbQpState state) {
  return state == spec::IbQpState::kRts || state == spec::IbQpState::kSqd || state == spec::IbQpState::kSqe;
}

BthOperation OperationOf(spec::IbWrOpcode opcode) {
  switch (opcode) {
    case spec::IbWrOpcode::kRdmaWrite:
    case spec::IbWrOpcode::kRdmaWriteWithImm: return BthOperation::kRdmaWrite;
    case spec::IbWrOpcode::kRdmaRead: return BthOperation::kRdmaReadRequest;
    case spec::IbWrOpcode::kAtomicCmpAndSwp: return BthOperation::kCompareSwap;
    case spec::IbWrOpcode::kAtomicFetchAndAdd: return BthOperation::kFetchAdd;
    case spec::IbWrOpcode::kAtomicWrite: return BthOperation::kAtomicWrite;
    case spec::IbWrOpcode::kFlush: return BthOperation::kFlush;
    default: return BthOperation::kSend;
  }
}
bool HasImmediate(spec::IbWrOpcode opcode) {
  return opcode == spec::IbWrOpcode::kSendWithImm || opcode == spec::IbWrOpcode::kRdmaWriteWithImm;
}
uint32_t KeyIn(std::span<const uint8_t> field) { return spec::Ieth::Decode(field.data()).rkey; }

bool IsAtomic(const RocePacket& packet) {
  return packet.info.operation == BthOperation::kCompareSwap || packet.info.operation == BthOperation::kFetchAdd;
}
// A WRITE that a response as to a READ acknowledges. [IBTA A19.4.2]
bool IsAtomicWrite(const RocePacket& packet) { return packet.info.operation == BthOperation::kAtomicWrite; }
bool IsFlush(const RocePacket& packet) { return packet.info.operation == BthOperation::kFlush; }
spec::Feth FethOf(const RocePacket& packet) { return spec::Feth::Decode(packet.extension.data()); }
// An operand as it is in memory: lowest byte first.
constexpr size_t kOperandBytes = 8;
std::array<uint8_t, kOperandBytes> InMemory(uint64_t value) {
  std::array<uint8_t, kOperandBytes> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes.at(i) = static_cast<uint8_t>(value >> 8 * i);
  return bytes;
}

bool IsDatagram(IbQpType type) { return type == IbQpType::kUd || type == IbQpType::kGsi; }
BthService ServiceOf(IbQpType type) {
  if (IsDatagram(type)) return BthService::kUd;
  return type == IbQpType::kUc ? BthService::kUc : BthService::kRc;
}

}  // namespace

// How far `to` is ahead of `from`; negative: behind.
int32_t PacketRules::Distance(uint32_t from, uint32_t to) {
  const uint32_t ahead = (to - from) & kPsnMask;
  return ahead < uint32_t{kWindow} ? static_cast<int32_t>(ahead) : static_cast<int32_t>(ahead) - 2 * kWindow;
}

uint64_t PacketRules::Mtu(const Qp& qp) { return uint64_t{128} << static_cast<unsigned>(qp.context.path_mtu); }

uint32_t PacketRules::PsnsOf(const Qp& qp, const RocePacket& packet) {
  if (packet.info.operation != BthOperation::kRdmaReadRequest) return 1;
  return static_cast<uint32_t>(std::max<uint64_t>(1, (packet.reth.dma_length + Mtu(qp) - 1) / Mtu(qp)));
}

void PacketRules::OnReset() {
  is_net_used_ = false;
  qps_.clear();
  by_peer_.clear();
  left_.clear();
  gone_.clear();
  unwritten_.Clear();
  own_mac_.reset();
  payload_.Clear();
  written_.Clear();
  keeps_data_ = false;
}

template <typename Predicate>
void PacketRules::EraseUnwritten(uint32_t qpn, Qp& qp, Predicate is_erased) {
  if (qp.unwritten.empty() && qp.unplaced.empty()) return;
  unwritten_.EraseIf([&](const ExpectedWrite& write, uint64_t address) {
    if (write.qpn != qpn || !is_erased(write, address)) return false;
    Settle(qp, write);
    return true;
  });
}

void PacketRules::Settle(Qp& qp, const ExpectedWrite& write) {
  auto& pending = write.message == 0 ? qp.unwritten : qp.unplaced;
  const uint64_t id = write.message == 0 ? write.psn : write.message;
  const auto at = std::ranges::find(pending, id, &Pending::id);
  if (at != pending.end() && --at->entries == 0) pending.erase(at);
}

void PacketRules::Forget(uint32_t qpn, Qp& qp) {
  EraseUnwritten(qpn, qp, [](const ExpectedWrite& write, uint64_t) { return write.message == 0; });
  qp.write.reset();
  qp.arrived_psn.reset();
  qp.messages_arrived = qp.arriving_bytes = 0;
  qp.nak_psn.reset();
  qp.refused_psn.reset();
  qp.due_psn.reset();
  qp.acked_psn.reset();
  qp.has_refused = false;
  qp.asked.clear();
  qp.executed.clear();
  qp.receives.clear();
  qp.received.clear();
  qp.arriving_data.clear();
  qp.kept_data = 0;
}

void PacketRules::SetQp(uint32_t qpn, const spec::TableQpContext& context) {
  Qps::value_type& entry = *qps_.try_emplace(qpn).first;
  Qp& qp = entry.second;
  if (context.is_srq) return;
  if (qp.exists) {
    auto& same_peer = by_peer_[{MacOf(qp.context.path.dmac), qp.context.dest_qpn}];
    std::erase(same_peer, &entry);
    left_.push_back({MacOf(qp.context.path.dmac), qp.context.dest_qpn});
  }
  if (!context.valid || context.state == spec::IbQpState::kReset) {
    Forget(qpn, qp);
    qp.next_psn.reset();
    qp.open.clear();
    qp.gap.reset();
    qp.unreported.clear();
    qp.is_reported = false;
    EraseUnwritten(qpn, qp, [](const ExpectedWrite& write, uint64_t) { return write.message != 0; });
  }
  qp.may_write = context.remote_write || (qp.exists && qp.may_write);
  qp.may_read = context.remote_read || (qp.exists && qp.may_read);
  qp.may_atomic = context.remote_atomic || (qp.exists && qp.may_atomic);
  qp.may_flush_global = context.flush_global || (qp.exists && qp.may_flush_global);
  qp.may_flush_persistent = context.flush_persistent || (qp.exists && qp.may_flush_persistent);
  qp.earlier_path.reset();
  if (qp.exists) qp.earlier_path = qp.context.path;
  qp.is_stopped = qp.is_stopped && !IsSending(context.state);
  changed_.push_back(qpn);
  qp.exists = context.valid;
  if (!context.valid) return;
  qp.context = context;
  const Peer peer{MacOf(context.path.dmac), context.dest_qpn};
  by_peer_[peer].push_back(&entry);
  gone_.erase(peer);  // until the answer of the command that ends this one, too
  if (context.load_requester) {
    qp.next_psn = qp.unacked_psn = context.next_psn;
    qp.sent.clear();
    qp.in_message = false;
    qp.open.clear();
    EraseUnwritten(qpn, qp, [](const ExpectedWrite& write, uint64_t) { return write.message != 0; });
    qp.messages_done = qp.used = qp.reported = 0;
    qp.unreported.clear();
    qp.works.clear();
    qp.working.reset();
    qp.follows_works = true;
    qp.are_works_known = true;
    qp.has_failed = qp.is_reported = false;
    qp.gap.reset();
  }
  if (context.load_responder) {
    Forget(qpn, qp);
    qp.arrived_psn = context.expected_psn;
  }
}

// A request that has arrived may be checked before or behind the change, so it need not be refused; nor is it known
// where its payload goes.
void PacketRules::OnRegionChange(bool moves) {
  for (auto& [qpn, qp] : qps_) {
    qp.refused_psn.reset();
    if (moves) EraseUnwritten(qpn, qp, [](const ExpectedWrite&, uint64_t) { return true; });
  }
}

void PacketRules::OnAnswer() {
  for (const uint32_t qpn : changed_) {
    Qp& qp = qps_[qpn];
    qp.may_write = qp.context.remote_write;
    qp.may_read = qp.context.remote_read;
    qp.may_atomic = qp.context.remote_atomic;
    qp.may_flush_global = qp.context.flush_global;
    qp.may_flush_persistent = qp.context.flush_persistent;
    qp.earlier_path.reset();
    qp.is_stopped = qp.exists && !IsSending(qp.context.state);
  }
  for (const Peer& peer : left_) {
    if (peer.mac != 0 && by_peer_[peer].empty()) gone_.insert(peer);
  }
  left_.clear();
  changed_.clear();
}

PacketRules::Qps::value_type* PacketRules::SenderOf(const RocePacket& packet) {
  Qps::value_type* sender = nullptr;
  if (packet.info.has_deth) {
    if (const auto found = qps_.find(packet.deth.source_qp); found != qps_.end()) sender = &*found;
  } else if (const auto peer = by_peer_.find({packet.destination_mac, packet.bth.dest_qp}); peer != by_peer_.end()) {
    if (peer->second.size() == 1) sender = peer->second.front();
  }
  if (sender == nullptr || !sender->second.exists) return nullptr;
  return ServiceOf(sender->second.context.qp_type) == packet.service ? sender : nullptr;
}

// --- Sent

void PacketRules::OnTransmit(Cycle cycle, std::span<const uint8_t> frame) {
  const auto packet = ReadRoce(frame);
  if (!packet.has_value()) return;
  auto* const sender = SenderOf(*packet);
  if (is_net_used_ && sender == nullptr) return;
  if (packet->broken != nullptr) [[unlikely]]
    findings_.Add(*packet->broken, cycle, packet->seen, packet->expected);
  if (packet->payload.data() == nullptr) return;  // not even that can be read; else its PSN counts as any
  own_mac_ = packet->source_mac;
  if (sender == nullptr) {
    const Peer peer{packet->destination_mac, packet->bth.dest_qp};
    if (gone_.contains(peer) && by_peer_[peer].empty()) [[unlikely]] {
      findings_.Add(kStopped, cycle,
                    std::string(spec::ToString(packet->bth.opcode)) + " to QP " + std::to_string(packet->bth.dest_qp),
                    "no packet of a QP that was reset or destroyed");
    }
    return;
  }
  auto& [qpn, qp] = *sender;
  CheckPath(cycle, qpn, qp, *packet);
  CheckPayload(cycle, qpn, qp, *packet);
  if (packet->info.is_response) return SentResponse(cycle, qpn, qp, *packet);
  if (qp.is_stopped) [[unlikely]] {
    findings_.Add(kStopped, cycle, QpText(qpn) + spec::ToString(packet->bth.opcode) + " of " + PsnText(packet->bth.psn),
                  "no request of a QP that does not send");
  }
  if (qp.next_psn.has_value()) SentRequest(cycle, qpn, qp, *packet);
}

// Of datagrams the path is an address handle's, and which one is not known.
void PacketRules::CheckPath(Cycle cycle, uint32_t qpn, const Qp& qp, const RocePacket& packet) {
  if (packet.info.has_deth) return;
  const char* what = nullptr;
  const auto matches = [&](const spec::TablePath& path) {
    if (packet.is_ipv6 == path.ipv4) return what = "IP version", false;
    if (!std::ranges::equal(packet.source, path.sgid)) return what = "source address", false;
    if (!std::ranges::equal(packet.destination, path.dgid)) return what = "destination address", false;
    if (packet.vlan.has_value() != path.vlan_present || packet.vlan.value_or(path.vlan) != path.vlan) {
      return what = "VLAN tag", false;
    }
    if (packet.traffic_class != path.traffic_class) return what = "traffic class", false;
    if (packet.hop_limit != path.hop_limit) return what = "hop limit", false;
    return true;
  };
  if (qp.earlier_path.has_value() && matches(*qp.earlier_path)) return;
  if (matches(qp.context.path)) [[likely]]
    return;
  findings_.Add(kWirePath, cycle, QpText(qpn) + PsnText(packet.bth.psn) + " with another " + what,
                "that of the QP's path");
}

void PacketRules::CheckPayload(Cycle cycle, uint32_t qpn, const Qp& qp, const RocePacket& packet) {
  const uint64_t bytes = packet.payload.size(), mtu = Mtu(qp);
  uint64_t least = 0, most = 0;
  switch (packet.info.payload) {
    case spec::PayloadRule::kNone: break;
    case spec::PayloadRule::kMtu: least = most = mtu; break;
    case spec::PayloadRule::kOneToMtu: least = 1, most = mtu; break;
    case spec::PayloadRule::kZeroToMtu: most = mtu; break;
    case spec::PayloadRule::kExact: least = most = packet.info.payload_exact; break;
  }
  if (bytes >= least && bytes <= most) [[likely]]
    return;
  findings_.Add(kWirePayload, cycle,
                QpText(qpn) + PsnText(packet.bth.psn) + ", " + spec::ToString(packet.bth.opcode) + " with " +
                    std::to_string(bytes) + " bytes",
                std::to_string(least) + " to " + std::to_string(most));
}

void PacketRules::SentRequest(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  const uint32_t psn = packet.bth.psn;
  const int32_t ahead = Distance(*qp.next_psn, psn);
  const bool is_reliable = packet.service == BthService::kRc;
  if (ahead < 0 && is_reliable) return SentAgain(cycle, qpn, qp, packet);
  // A packet that fails at its sender leaves a gap. Behind that of UC or UD a message starts, or what was in flight of
  // the one that failed follows, which the responder discards. [IBTA vol. 1, 9.8.2.2] RC fails, so whatever is still
  // sent behind it is nothing to the peer.
  if (ahead > 0) {
    qp.in_message = !packet.info.starts_message;
    qp.operation = packet.info.operation;
    qp.bytes_left.reset();
  }
  if (ahead > 0 && is_reliable && !qp.has_failed && !qp.gap.has_value()) qp.gap = {cycle, psn, *qp.next_psn};
  if (ahead < 0) [[unlikely]]
    findings_.Add(kPsnContiguous, cycle, QpText(qpn) + PsnText(psn), PsnText(*qp.next_psn));
  const uint32_t psns = PsnsOf(qp, packet);
  if (ahead >= 0 && !(is_reliable && (qp.gap.has_value() || qp.has_failed))) CheckMessage(cycle, qpn, qp, packet);
  if (ahead != 0) qp.follows_works = false;
  if (qp.follows_works && !qp.has_failed) CheckWork(cycle, qpn, qp, packet);
  qp.bytes_sent += packet.payload.size();
  qp.next_psn = (psn + psns) & kPsnMask;
  if (packet.info.ends_message) {
    if (is_reliable) {
      const bool is_read = packet.info.operation == BthOperation::kRdmaReadRequest || IsAtomic(packet) ||
                           IsAtomicWrite(packet) || IsFlush(packet);
      qp.open.push_back({.next_psn = psn,
                         .last_psn = (psn + psns - 1) & kPsnMask,
                         .is_read = is_read,
                         .is_atomic = IsAtomic(packet),
                         .number = qp.messages_done + qp.open.size() + 1});
      if (is_read && qp.follows_works && qp.working.has_value()) qp.open.back().work = qp.working->data;
    }
  }
  if (!is_reliable) return;
  qp.sent.push_back({psn, psns, packet.bth.opcode, HashOf(packet.extension), packet.checksum,
                     static_cast<uint32_t>(packet.payload.size()), packet.reth});
  // Distance is meaningful only for less than half of the numbers, so this is checked where it is still.
  const uint32_t outstanding = (*qp.next_psn - qp.unacked_psn) & kPsnMask;
  if (outstanding > uint32_t{kWindow}) [[unlikely]] {
    findings_.Add(kPsnWindow, cycle, QpText(qpn) + std::to_string(outstanding) + " PSNs not acknowledged",
                  "at most " + std::to_string(kWindow));
  }
}

// A new packet of RC or UC continues the message in progress, or starts one.
void PacketRules::CheckMessage(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (packet.service == BthService::kUd) return;
  const auto report = [&](const std::string& seen, const std::string& expected) {
    findings_.Add(kMessage, cycle, QpText(qpn) + PsnText(packet.bth.psn) + ", " + seen, expected);
  };
  // UC: after an error of its send half, a new message may follow the rest of a broken one.
  if (packet.info.starts_message && qp.in_message && packet.service == BthService::kRc) [[unlikely]] {
    report(spec::ToString(packet.bth.opcode), "the rest of the message in progress");
  }
  if (!packet.info.starts_message && (!qp.in_message || packet.info.operation != qp.operation)) [[unlikely]] {
    report(spec::ToString(packet.bth.opcode), "the first packet of a message");
  }
  if (packet.info.starts_message) {
    qp.bytes_left.reset();
    if (packet.info.has_reth) qp.bytes_left = IsFlush(packet) ? 0 : packet.reth.dma_length;
  }
  qp.operation = packet.info.operation;
  qp.in_message = !packet.info.ends_message;
  if (!qp.bytes_left.has_value() || packet.info.operation == BthOperation::kRdmaReadRequest) return;
  const uint64_t bytes = packet.payload.size();
  if (bytes > *qp.bytes_left || (packet.info.ends_message && bytes != *qp.bytes_left)) [[unlikely]] {
    report(std::to_string(bytes) + " bytes of payload", std::to_string(*qp.bytes_left) + ", as the RETH announced");
  }
  *qp.bytes_left -= std::min(bytes, *qp.bytes_left);
}

// A new packet says what its work request says. Messages and work requests are in the same order.
void PacketRules::CheckWork(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (packet.info.starts_message) {
    qp.working.reset();
    if (qp.works.empty()) {
      qp.follows_works = false;
      return;
    }
    qp.working = std::move(qp.works.front());
    qp.works.pop_front();
    qp.bytes_sent = 0;
  }
  if (!qp.working.has_value()) return;
  const SendWork& work = *qp.working;
  const auto report = [&](const std::string& seen, const std::string& expected) {
    findings_.Add(kWorkRequest, cycle, QpText(qpn) + PsnText(packet.bth.psn) + ", " + seen, expected);
    qp.working.reset();
  };
  if (packet.info.operation != OperationOf(work.opcode)) [[unlikely]] {
    return report(spec::ToString(packet.bth.opcode), "that of work request " + Hex(work.wr_id));
  }
  const bool is_solicited =
      packet.info.may_solicit && packet.info.ends_message && (work.send_flags & spec::IbSendFlags::kSolicited) != 0;
  if (packet.bth.solicited_event != is_solicited) [[unlikely]] {
    return report(is_solicited ? "not solicited" : "solicited", "the flag of work request " + Hex(work.wr_id));
  }
  if (IsFlush(packet)) {
    uint8_t wr[spec::RdmaSqReqAtomic::kBytes]{};
    work.atomic.Encode(wr);
    const auto flush = spec::RdmaSqReqFlush::Decode(wr);
    const spec::Feth feth = FethOf(packet);
    if (packet.reth.virtual_address != flush.remote_addr || packet.reth.rkey != flush.rkey ||
        packet.reth.dma_length != flush.length || static_cast<uint8_t>(feth.selectivity) != flush.selectivity ||
        feth.placement != flush.placement) [[unlikely]] {
      return report("FLUSH of " + std::to_string(packet.reth.dma_length) + " bytes at " +
                        Hex(packet.reth.virtual_address) + ", key " + Hex(packet.reth.rkey),
                    std::to_string(flush.length) + " bytes at " + Hex(flush.remote_addr) + ", key " + Hex(flush.rkey) +
                        ", extent and placement of work request " + Hex(work.wr_id));
    }
  } else if (IsAtomicWrite(packet)) {
    const spec::RdmaSqReqAtomic& atomic = work.atomic;
    if (packet.reth.virtual_address != atomic.remote_addr || packet.reth.rkey != atomic.rkey ||
        !std::ranges::equal(packet.payload, InMemory(atomic.compare_add))) [[unlikely]] {
      return report(
          "address " + Hex(packet.reth.virtual_address) + ", key " + Hex(packet.reth.rkey) + ", its value",
          Hex(atomic.remote_addr) + ", " + Hex(atomic.rkey) + ", the value of work request " + Hex(work.wr_id));
    }
  } else if (packet.info.has_reth) {
    const spec::RdmaSqReqRdma& rdma = work.rdma;
    if (packet.reth.virtual_address != rdma.remote_addr || packet.reth.rkey != rdma.rkey) [[unlikely]] {
      return report("address " + Hex(packet.reth.virtual_address) + ", key " + Hex(packet.reth.rkey),
                    Hex(rdma.remote_addr) + ", " + Hex(rdma.rkey));
    }
  }
  if (packet.info.has_atomic_eth) {
    const spec::RdmaSqReqAtomic& atomic = work.atomic;
    const spec::AtomicEth& eth = packet.atomic_eth;
    const bool is_swap = packet.info.operation == BthOperation::kCompareSwap;
    if (eth.virtual_address != atomic.remote_addr || eth.rkey != atomic.rkey ||
        eth.swap_add_data != (is_swap ? atomic.swap : atomic.compare_add) ||
        (is_swap && eth.compare_data != atomic.compare_add)) [[unlikely]] {
      return report("address " + Hex(eth.virtual_address) + ", key " + Hex(eth.rkey) + ", operands " +
                        Hex(eth.swap_add_data) + ", " + Hex(eth.compare_data),
                    Hex(atomic.remote_addr) + ", " + Hex(atomic.rkey) + ", those of work request " + Hex(work.wr_id));
    }
  }
  if (packet.info.has_immdt != (packet.info.ends_message && HasImmediate(work.opcode))) [[unlikely]] {
    return report(spec::ToString(packet.bth.opcode), "that of work request " + Hex(work.wr_id));
  }
  if (packet.info.has_immdt) {
    const auto field = packet.extension.subspan(packet.info.immdt_offset - spec::Bth::kBytes, spec::Immdt::kBytes);
    if (!std::ranges::equal(field, work.imm_data)) [[unlikely]]
      return report("another immediate", "that of " + Hex(work.wr_id));
  }
  if (packet.info.has_ieth != (packet.info.ends_message && work.opcode == spec::IbWrOpcode::kSendWithInv))
      [[unlikely]] {
    return report(spec::ToString(packet.bth.opcode), "that of work request " + Hex(work.wr_id));
  }
  if (packet.info.has_ieth) {
    const auto field = packet.extension.subspan(packet.info.ieth_offset - spec::Bth::kBytes, spec::Ieth::kBytes);
    if (!std::ranges::equal(field, work.imm_data)) [[unlikely]] {
      return report("key " + Hex(KeyIn(field)), Hex(KeyIn(work.imm_data)) + " of " + Hex(work.wr_id));
    }
  }
  const bool has_fence = packet.info.starts_message && (work.send_flags & spec::IbSendFlags::kFence) != 0;
  if (has_fence && std::ranges::any_of(qp.open, [](const Message& one) { return one.is_read && !one.is_answered; }))
      [[unlikely]] {
    report("a message with a fence", "the responses of all READs before it");
  }
  const bool is_inline = (work.send_flags & spec::IbSendFlags::kInline) != 0;
  if (packet.payload.empty() || work.data.bytes == nullptr || IsAtomicWrite(packet)) return;
  if (is_inline) return CheckInline(cycle, qpn, packet, work.data, qp.bytes_sent);
  CheckSource(cycle, qpn, packet, packet.payload, PlacesIn(work.data, qp.bytes_sent, packet.payload.size()));
}

const PacketRules::Places& PacketRules::PlacesOf(uint32_t key, Right right, uint64_t address, uint64_t bytes) {
  places_.clear();
  if (!translate_ || !translate_(key, right, address, bytes, places_)) places_.clear();
  return places_;
}

// The inline data of an extensible work request is at its end, and is sent as it was read.
void PacketRules::CheckInline(Cycle cycle, uint32_t qpn, const RocePacket& packet, const SendData& work,
                              uint64_t offset) {
  if (!work.is_extensible) return;
  const size_t bytes = packet.payload.size();
  if (offset + bytes > work.count) [[unlikely]] {
    return findings_.Add(kMessagePayload, cycle,
                         QpText(qpn) + PsnText(packet.bth.psn) + " with " + std::to_string(offset + bytes) + " bytes",
                         std::to_string(work.count) + " of inline data");
  }
  const size_t begin = work.begin + offset;
  if (work.bytes->size() < begin + bytes) return;
  if (!std::ranges::equal(packet.payload, std::span(*work.bytes).subspan(begin, bytes))) [[unlikely]] {
    findings_.Add(kMessagePayload, cycle,
                  QpText(qpn) + PsnText(packet.bth.psn) + " with " + std::to_string(bytes) + " bytes of payload",
                  "the inline data of its work request");
  }
}

const PacketRules::Places& PacketRules::PlacesIn(const SendData& work, uint64_t offset, uint64_t bytes) {
  const auto elements = work.Elements();
  places_.clear();
  return elements.has_value() ? PlacesIn(*work.bytes, *elements, work.begin, offset, bytes) : places_;
}

const PacketRules::Places& PacketRules::PlacesIn(const std::vector<uint8_t>& tail, uint32_t elements,
                                                 size_t elements_at, uint64_t offset, uint64_t bytes) {
  static const Places kUnknown;
  places_.clear();
  if (!translate_ || tail.size() < elements_at) return places_;
  for (uint32_t i = 0; i < elements && bytes != 0; ++i) {
    const size_t at = elements_at + size_t{i} * spec::RdmaSge::kBytes;
    if (tail.size() < at + spec::RdmaSge::kBytes) return kUnknown;
    const auto element = spec::RdmaSge::Decode(tail.data() + at);
    if (offset >= element.length) {
      offset -= element.length;
      continue;
    }
    const uint64_t part = std::min(bytes, element.length - offset);
    if (!translate_(element.lkey, Right::kLocal, element.addr + offset, part, places_)) return kUnknown;
    bytes -= part;
    offset = 0;
  }
  return bytes == 0 ? places_ : kUnknown;
}

// The data of a receive is in memory.
void PacketRules::CheckReceived(Cycle cycle, uint32_t qpn, const Arrived& message, const std::vector<uint8_t>& tail) {
  if (tail.size() < spec::RdmaRqReq::kBytes) return;
  const uint32_t elements = spec::RdmaRqReq::Decode(tail.data()).num_sge;
  size_t at = 0;
  for (const auto& [place, bytes] : PlacesIn(tail, elements, spec::RdmaRqReq::kBytes, 0, message.data.size())) {
    const auto verdict = written_.Compare(cycle, place, std::span(message.data).subspan(at, bytes));
    if (verdict == PayloadMemory::Verdict::kUnknown) return;
    // Large messages of many queue pairs at a time.
    if (verdict == PayloadMemory::Verdict::kNotRead && written_.has_forgotten()) return;
    if (verdict != PayloadMemory::Verdict::kEqual) [[unlikely]] {
      return findings_.Add(kCompletionData, cycle,
                           QpText(qpn) + "receive of " + std::to_string(message.bytes) + " bytes",
                           "the payload of its message, written at " + Hex(place));
    }
    at += bytes;
  }
}

void PacketRules::CheckSource(Cycle cycle, uint32_t qpn, const RocePacket& packet, std::span<const uint8_t> data,
                              const Places& places) {
  size_t at = 0;
  for (const auto& [place, bytes] : places) {
    const auto verdict = payload_.Compare(cycle, place, data.subspan(at, bytes));
    if (verdict == PayloadMemory::Verdict::kUnknown) return;
    if (verdict != PayloadMemory::Verdict::kEqual) [[unlikely]] {
      const bool is_other = verdict == PayloadMemory::Verdict::kOther;
      return findings_.Add(
          kMessagePayload, cycle,
          QpText(qpn) + PsnText(packet.bth.psn) + " with " + std::to_string(data.size()) + " bytes of payload",
          (is_other ? "those that were read at " : "bytes that were read before, at ") + Hex(place));
    }
    at += bytes;
  }
}

void PacketRules::OnOtherRead(const BoundaryEvent& completion) {
  if (!completion.payload.empty()) payload_.Read(completion.cycle, completion.address, completion.payload);
}

void PacketRules::SentAgain(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  const uint32_t psn = packet.bth.psn;
  const auto after =
      std::ranges::partition_point(qp.sent, [psn](const Sent& one) { return Distance(one.psn, psn) >= 0; });
  if (after == qp.sent.begin()) return;  // acknowledged long ago
  const Sent& first = *std::prev(after);
  if (static_cast<uint32_t>(Distance(first.psn, psn)) >= first.psns) return;  // in a gap: this is the first time
  const auto offset = static_cast<uint64_t>(Distance(first.psn, psn)) * Mtu(qp);
  const auto report = [&](const std::string& seen, const std::string& expected) {
    findings_.Add(kRetransmission, cycle, QpText(qpn) + PsnText(psn) + ", " + seen, expected + " as sent before");
  };
  if (packet.bth.opcode != first.opcode) [[unlikely]] {
    return report(spec::ToString(packet.bth.opcode), spec::ToString(first.opcode));
  }
  if (packet.info.operation == BthOperation::kRdmaReadRequest) {
    // The rest of a READ may be requested alone. [IBTA 9.7.3.2]
    const spec::Reth& was = first.reth;
    if (packet.reth.rkey != was.rkey || packet.reth.virtual_address != was.virtual_address + offset ||
        packet.reth.dma_length + offset != was.dma_length) [[unlikely]] {
      report("READ of " + std::to_string(packet.reth.dma_length) + " bytes at " + Hex(packet.reth.virtual_address),
             std::to_string(was.dma_length - offset) + " bytes at " + Hex(was.virtual_address + offset));
    }
    return;
  }
  if (packet.payload.size() != first.bytes) [[unlikely]] {
    return report(std::to_string(packet.payload.size()) + " bytes of payload", std::to_string(first.bytes));
  }
  if (HashOf(packet.extension) != first.extension) [[unlikely]]
    return report("another extension header", "the same");
  if (!HaveSameContent(packet.checksum, first.checksum)) [[unlikely]]
    report("other payload", "the same");
}

void PacketRules::SentResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (!qp.arrived_psn.has_value()) return;
  const uint32_t psn = packet.bth.psn;
  const bool is_nak = packet.info.has_aeth && packet.aeth.kind == spec::AethKind::kNak;
  // A NAK names the expected PSN, which need not have arrived.
  const int32_t beyond = Distance(*qp.arrived_psn, psn);
  if (beyond > 0 || (beyond == 0 && !is_nak)) [[unlikely]] {
    findings_.Add(kAcknowledge, cycle, QpText(qpn) + spec::ToString(packet.bth.opcode) + " of " + PsnText(psn),
                  "a PSN before " + std::to_string(*qp.arrived_psn) + ", the first that has not arrived");
  }
  if (packet.info.operation == BthOperation::kRdmaReadResponse || packet.info.has_atomic_ack_eth) {
    CheckReadResponse(cycle, qpn, qp, packet);
  }
  CheckAcknowledge(cycle, qpn, qp, packet);
  if (!packet.info.has_aeth || packet.aeth.kind != spec::AethKind::kAck || qp.unwritten.empty()) return;
  if (Distance(static_cast<uint32_t>(qp.unwritten.front().id), psn) < 0) return;
  EraseUnwritten(qpn, qp, [&](const ExpectedWrite& write, uint64_t address) {
    if (write.message != 0 || Distance(write.psn, psn) < 0) return false;
    findings_.Add(kAckWritten, cycle, QpText(qpn) + "acknowledge of " + PsnText(write.psn),
                  "the write of its payload at " + Hex(address) + " before it");
    return true;
  });
}

void PacketRules::CheckAcknowledge(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  const uint32_t psn = packet.bth.psn;
  const spec::Aeth& aeth = packet.aeth;
  if (!qp.acked_psn.has_value() || Distance(*qp.acked_psn, psn) > 0) qp.acked_psn = psn;
  if (qp.due_psn.has_value() && Distance(*qp.due_psn, psn) >= 0) qp.due_psn.reset();
  if (packet.info.has_aeth && aeth.kind == spec::AethKind::kNak) {
    if (static_cast<spec::NakCode>(aeth.value) != spec::NakCode::kPsnSequenceError) qp.has_refused = true;
    if (static_cast<spec::NakCode>(aeth.value) != spec::NakCode::kPsnSequenceError) return;
    if (qp.nak_psn == psn) [[unlikely]] {
      findings_.Add(kAckNakOnce, cycle, QpText(qpn) + "another sequence NAK of " + PsnText(psn),
                    "one, until that packet has arrived");
    }
    qp.nak_psn = psn;
    return;
  }
  if (packet.info.has_aeth && aeth.kind == spec::AethKind::kRnrNak) {
    if (aeth.value == qp.context.min_rnr_timer) [[likely]]
      return;
    findings_.Add(kAckRnrTimer, cycle, QpText(qpn) + "RNR NAK with timer " + std::to_string(aeth.value),
                  std::to_string(qp.context.min_rnr_timer) + ", the QP's");
    return;
  }
  if (qp.refused_psn.has_value() && Distance(*qp.refused_psn, psn) >= 0) [[unlikely]] {
    findings_.Add(kAckRefused, cycle, QpText(qpn) + spec::ToString(packet.bth.opcode) + " of " + PsnText(psn),
                  "a NAK of " + PsnText(*qp.refused_psn) + ", which the key or the rights do not allow");
    qp.refused_psn.reset();
  }
  // What is acknowledged is everything that has arrived, so the number of its messages is known.
  if (!packet.info.has_aeth || ((psn + 1) & kPsnMask) != *qp.arrived_psn) return;
  if (aeth.msn == (qp.messages_arrived & kPsnMask)) [[likely]]
    return;
  findings_.Add(kAckMsn, cycle, QpText(qpn) + "MSN " + std::to_string(aeth.msn) + " with " + PsnText(psn),
                std::to_string(qp.messages_arrived & kPsnMask) + " messages");
}

// Requests are answered in the order in which they have arrived; those that are dropped, not at all.
void PacketRules::CheckReadResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet) {
  const uint32_t psn = packet.bth.psn;
  const auto at = std::ranges::find_if(qp.asked, [&](const Asked& asked) {
    return asked.next_psn == psn && asked.atomic.has_value() == packet.info.has_atomic_ack_eth;
  });
  if (at == qp.asked.end()) [[unlikely]] {
    findings_.Add(kReadOnce, cycle, QpText(qpn) + spec::ToString(packet.bth.opcode) + " of " + PsnText(psn),
                  "one response per PSN of each READ request or atomic operation that has arrived");
    return;
  }
  qp.asked.erase(qp.asked.begin(), at);
  Asked& asked = qp.asked.front();
  if (asked.atomic.has_value()) {
    CheckAtomicResponse(cycle, qpn, qp, packet, asked);
    return qp.asked.pop_front();
  }
  asked.next_psn = (psn + 1) & kPsnMask;
  asked.has_begun = true;
  if (translate_ && !packet.payload.empty()) {
    CheckSource(cycle, qpn, packet, packet.payload,
                PlacesOf(asked.rkey, Right::kRead, asked.address, packet.payload.size()));
    asked.address += packet.payload.size();
  }
  if (--asked.left == 0) qp.asked.pop_front();
}

// The first response has what was read, and its result is in memory; the others repeat it: nothing is executed again.
void PacketRules::CheckAtomicResponse(Cycle cycle, uint32_t qpn, Qp& qp, const RocePacket& packet, const Asked& asked) {
  const uint32_t psn = packet.bth.psn;
  const uint64_t before = packet.atomic_ack_eth.original_data;
  const auto first = std::ranges::find(qp.executed, psn, &Executed::psn);
  if (first != qp.executed.end()) {
    if (first->before != before) [[unlikely]] {
      findings_.Add(kAtomicOnce, cycle, QpText(qpn) + "another response to " + PsnText(psn) + ", with " + Hex(before),
                    Hex(first->before) + ", as in the first one: an operation is executed once");
    }
    return;
  }
  constexpr size_t kMostExecuted = 256;  // more than a peer may have outstanding
  if (qp.executed.size() == kMostExecuted) qp.executed.pop_front();
  qp.executed.push_back({psn, before});
  if (!translate_) return;
  const Places& places = PlacesOf(asked.rkey, Right::kAtomic, asked.address, kOperandBytes);
  if (places.size() != 1) return;  // the key has died since
  CheckSource(cycle, qpn, packet, InMemory(before), places);
  if (asked.is_swap && before != asked.atomic->compare_data) return;
  const uint64_t after = asked.atomic->swap_add_data + (asked.is_swap ? 0 : before);
  const auto verdict = written_.Compare(cycle, places.front().first, InMemory(after));
  if (verdict == PayloadMemory::Verdict::kEqual || verdict == PayloadMemory::Verdict::kUnknown) [[likely]]
    return;
  findings_.Add(kAckWritten, cycle, QpText(qpn) + "response to " + PsnText(psn) + ", with " + Hex(before),
                "the write of " + Hex(after) + " at " + Hex(places.front().first) + " before it");
}

// --- Received

// Other packets must have no effect. [IBTA 9.6]
bool PacketRules::HasPartition(const RocePacket& packet) {
  constexpr uint16_t kPartition = 0x7fff;  // the other bit is the membership
  return (packet.bth.pkey & kPartition) == (spec::kPkeyDefault & kPartition);
}

bool PacketRules::IsFromPeer(const Qp& qp, const RocePacket& packet) const {
  if (!HasPartition(packet)) return false;
  if (own_mac_.has_value() && own_mac_ != packet.destination_mac) return false;
  if (packet.service == BthService::kUd) return packet.deth.qkey == qp.context.qkey;
  return std::ranges::equal(packet.source, qp.context.path.dgid) &&
         std::ranges::equal(packet.destination, qp.context.path.sgid);
}

void PacketRules::OnReceive(std::span<const uint8_t> frame) {
  const auto packet = ReadRoce(frame);
  if (!packet.has_value() || !packet->is_intact || !packet->info.valid) return;
  if (packet->service == BthService::kUd && packet->bth.dest_qp == spec::kMulticastQpn) return ReceivedByGroup(*packet);
  const auto found = qps_.find(packet->bth.dest_qp);
  if (found == qps_.end() || !found->second.exists) return;
  if (packet->service != ServiceOf(found->second.context.qp_type) || !IsFromPeer(found->second, *packet)) return;
  if (packet->service != BthService::kRc) return ReceivedUnacknowledged(found->second, *packet);
  if (packet->info.is_response) return ReceivedResponse(found->first, found->second, *packet);
  ReceivedRequest(found->first, found->second, *packet);
}

// A copy for each queue pair that is attached to its group. [IBTA 10.5.2; RFC 2464, 7; RFC 1112, 6.4]
void PacketRules::ReceivedByGroup(const RocePacket& packet) {
  constexpr uint64_t kIpv6Groups = 0x3333'0000'0000, kIpv4Groups = 0x0100'5e00'0000;
  uint64_t low = 0;
  for (size_t i = 12; i < 16; ++i) low = low << 8 | packet.destination[i];
  const uint64_t mac = packet.is_ipv6 ? kIpv6Groups | low : kIpv4Groups | (low & 0x7f'ffff);
  if (packet.destination_mac != mac || !HasPartition(packet) || !packet.info.ends_message) return;
  for (const auto& [row, attachment] : attachments_) {
    const auto found = qps_.find(attachment.qpn);
    if (!std::ranges::equal(packet.destination, attachment.mgid) || found == qps_.end() || !found->second.exists)
      continue;
    if (packet.deth.qkey == found->second.context.qkey) ReceivedUnacknowledged(found->second, packet);
  }
  Qp any;
  Arrive(any, packet);
  if (any.receives.empty()) return;
  constexpr size_t kMostToGroups = 1024;  // more than wait in a device
  if (to_groups_.size() == kMostToGroups) to_groups_.pop_front();
  ToGroup& kept = to_groups_.emplace_back();
  std::ranges::copy(packet.destination, kept.group.begin());
  kept.message = std::move(any.receives.front());
}

void PacketRules::SetAttachment(uint32_t row, const spec::TableMcast& attachment) {
  attachments_.erase(row);
  if (!attachment.valid) return;
  attachments_[row] = attachment;
  Qp& qp = qps_[attachment.qpn];
  std::deque<Arrived> earlier;
  for (const ToGroup& one : to_groups_) {
    if (std::ranges::equal(one.group, attachment.mgid)) earlier.push_back(one.message);
  }
  qp.receives.insert(qp.receives.begin(), earlier.begin(), earlier.end());
}

// An upper bound of what the device may accept: it may drop any of these.
void PacketRules::ReceivedRequest(uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (!qp.arrived_psn.has_value()) return;
  if (qp.nak_psn == packet.bth.psn) qp.nak_psn.reset();
  const bool is_read = packet.info.operation == BthOperation::kRdmaReadRequest;
  if (is_read || IsAtomicWrite(packet) || IsFlush(packet)) {
    Push(qp.asked, {.next_psn = packet.bth.psn,
                    .left = PsnsOf(qp, packet),
                    .rkey = packet.reth.rkey,
                    .address = packet.reth.virtual_address,
                    .atomic = {}});
  }
  if (IsAtomic(packet)) {
    keeps_data_ = true;
    Push(qp.asked, {.next_psn = packet.bth.psn,
                    .left = 1,
                    .rkey = packet.atomic_eth.rkey,
                    .address = packet.atomic_eth.virtual_address,
                    .atomic = packet.atomic_eth,
                    .is_swap = packet.info.operation == BthOperation::kCompareSwap});
  }
  if (packet.bth.psn != *qp.arrived_psn) {
    // Sent again, or another packet with this PSN: which one counts is not known, nor where a WRITE continues.
    qp.write.reset();
    return;
  }
  ExpectWrite(qpn, qp, packet);
  const bool has_bytes = is_read && packet.reth.dma_length != 0;  // else its key does not matter [IBTA 9.7.4]
  if (has_bytes && !qp.refused_psn.has_value() && may_access_ &&
      !(qp.may_read && may_access_(qpn, packet.reth.rkey, qp.context.pdn, Right::kRead, packet.reth.virtual_address,
                                   packet.reth.dma_length))) {
    qp.refused_psn = packet.bth.psn;
  }
  if (IsFlush(packet) && !qp.refused_psn.has_value() && may_access_ && !MayFlush(qpn, qp, packet)) {
    qp.refused_psn = packet.bth.psn;
  }
  if (IsAtomic(packet) && !qp.refused_psn.has_value() && may_access_) {
    const spec::AtomicEth& eth = packet.atomic_eth;
    const bool is_allowed =
        qp.may_atomic && may_access_(qpn, eth.rkey, qp.context.pdn, Right::kAtomic, eth.virtual_address, kOperandBytes);
    if (!is_allowed || eth.virtual_address % kOperandBytes != 0) qp.refused_psn = packet.bth.psn;
  }
  if (packet.info.has_ieth && packet.broken == nullptr && invalidation_.may_begin) {
    const auto field = packet.extension.subspan(packet.info.ieth_offset - spec::Bth::kBytes, spec::Ieth::kBytes);
    const uint32_t key = KeyIn(field);
    if (!qp.refused_psn.has_value() && !invalidation_.may_begin(qpn, key, qp.context.pdn))
      qp.refused_psn = packet.bth.psn;
    invalidation_.begins(key);
  }
  Arrive(qp, packet);
  if (is_read || packet.info.ends_message) ++qp.messages_arrived;
  qp.arrived_psn = (packet.bth.psn + PsnsOf(qp, packet)) & kPsnMask;
}

// Shape, the rights for each placement, and a range; where a whole region is, its key alone says. [IBTA A19.4.1]
bool PacketRules::MayFlush(uint32_t qpn, const Qp& qp, const RocePacket& packet) const {
  using Placement = spec::FlushPlacement;
  const spec::Feth feth = FethOf(packet);
  const bool is_global = (feth.placement & Placement::kGlobalVisibility) != 0;
  const bool is_persistent = (feth.placement & Placement::kPersistence) != 0;
  const bool is_range = feth.selectivity == spec::FlushSelectivity::kRange;
  if ((!is_global && !is_persistent) || !packet.payload.empty()) return false;
  if (is_range && packet.reth.dma_length >= uint32_t{1} << 31) return false;
  if ((is_global && !qp.may_flush_global) || (is_persistent && !qp.may_flush_persistent)) return false;
  if (!is_range) return feth.selectivity == spec::FlushSelectivity::kMemoryRegion;
  const auto may = [&](Right right) {
    return may_access_(qpn, packet.reth.rkey, qp.context.pdn, right, packet.reth.virtual_address,
                       packet.reth.dma_length);
  };
  return (!is_global || may(Right::kFlushGlobal)) && (!is_persistent || may(Right::kFlushPersistent));
}

void PacketRules::ExpectWrite(uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (packet.info.starts_message) qp.write.reset();
  const bool is_write = (packet.info.operation == BthOperation::kRdmaWrite || IsAtomicWrite(packet)) &&
                        packet.broken == nullptr && packet.source_mac == MacOf(qp.context.path.dmac);
  if (!is_write) return qp.write.reset();
  if (IsAtomicWrite(packet) && (packet.payload.size() != kOperandBytes || packet.reth.dma_length != kOperandBytes ||
                                packet.reth.virtual_address % kOperandBytes != 0)) {
    if (!qp.refused_psn.has_value()) qp.refused_psn = packet.bth.psn;
    return qp.write.reset();
  }
  if (packet.info.has_reth) qp.write = {packet.reth.rkey, packet.reth.virtual_address};
  if (!qp.write.has_value() || packet.payload.empty() || !translate_) return;
  auto& [rkey, address] = *qp.write;
  if (may_access_ &&
      !(qp.may_write && may_access_(qpn, rkey, qp.context.pdn, Right::kWrite, address, packet.payload.size()))) {
    if (!qp.refused_psn.has_value()) qp.refused_psn = packet.bth.psn;
    return qp.write.reset();
  }
  const Places& places = PlacesOf(rkey, Right::kWrite, address, packet.payload.size());
  if (places.empty()) return qp.write.reset();  // the device must refuse it
  address += packet.payload.size();
  ExpectData({.qpn = qpn, .psn = packet.bth.psn, .asks = packet.bth.ack_req}, places, packet.payload);
}

void PacketRules::ExpectData(const ExpectedWrite& write, const Places& places, std::span<const uint8_t> payload) {
  Qp& qp = qps_[write.qpn];
  auto& pending = write.message == 0 ? qp.unwritten : qp.unplaced;
  const uint64_t id = write.message == 0 ? write.psn : write.message;
  if (pending.empty() || pending.back().id != id) pending.push_back({id, 0});
  pending.back().entries += places.size();
  for (const auto& [place, bytes] : places) {
    unwritten_.Add(write, place, payload.first(bytes));
    payload = payload.subspan(bytes);
  }
}

// A packet of RC, the next one, or of UC or UD.
void PacketRules::Arrive(Qp& qp, const RocePacket& packet) {
  if (packet.info.starts_message) {
    qp.arriving_bytes = 0;
    qp.arriving_data.clear();
  }
  qp.arriving_bytes += static_cast<uint32_t>(packet.payload.size());
  constexpr size_t kMostData = size_t{1} << 20;
  const bool is_send = packet.info.operation == BthOperation::kSend;
  if (packet.service == BthService::kRc && is_send && qp.kept_data + qp.arriving_bytes <= kMostData) {
    keeps_data_ = true;
    qp.arriving_data.insert(qp.arriving_data.end(), packet.payload.begin(), packet.payload.end());
  }
  if (!packet.info.completes_recv) return;
  Arrived message{.bytes = qp.arriving_bytes,
                  .is_send = packet.info.operation == BthOperation::kSend,
                  .is_solicited = packet.bth.solicited_event,
                  .psn = packet.bth.psn,
                  .asks = packet.bth.ack_req,
                  .immediate = {},
                  .source_qp = packet.info.has_deth ? packet.deth.source_qp : 0,
                  .data = {}};
  if (qp.arriving_data.size() == qp.arriving_bytes) message.data = std::exchange(qp.arriving_data, {});
  qp.kept_data += message.data.size();
  if (packet.info.has_deth) message.bytes += spec::kRdmaUdGrhBytes;
  if (packet.info.has_immdt) {
    const auto field = packet.extension.subspan(packet.info.immdt_offset - spec::Bth::kBytes, spec::Immdt::kBytes);
    std::ranges::copy(field, message.immediate.emplace().begin());
  }
  if (packet.info.has_ieth) {
    const auto field = packet.extension.subspan(packet.info.ieth_offset - spec::Bth::kBytes, spec::Ieth::kBytes);
    std::ranges::copy(field, message.immediate.emplace().begin());
    message.invalidates = true;
  }
  if (qp.receives.size() == kMostKept) qp.kept_data -= qp.receives.front().data.size();
  Push(qp.receives, std::move(message));
}

// An upper bound of what the device may accept: it may drop any of these messages.
void PacketRules::ReceivedUnacknowledged(Qp& qp, const RocePacket& packet) {
  const bool continues = qp.arrived_psn == packet.bth.psn;
  if (!packet.info.starts_message && !continues) return qp.arrived_psn.reset();
  qp.arrived_psn.reset();
  if (!packet.info.ends_message) qp.arrived_psn = (packet.bth.psn + 1) & kPsnMask;
  Arrive(qp, packet);
}

void PacketRules::OnReceiveUsed(uint32_t qpn, std::shared_ptr<std::vector<uint8_t>> tail) {
  Push(qps_[qpn].received, std::move(tail));
}

void PacketRules::OnDmaWrite(Cycle cycle, uint64_t address, std::span<const uint8_t> data, bool is_of_queue) {
  if (keeps_data_ && !is_of_queue) written_.Read(cycle, address, data);
  const auto written = unwritten_.OnWrite(address, data);
  if (!written.has_value()) return;
  Qp& qp = qps_[written->qpn];
  Settle(qp, *written);
  if (written->message == 0 && written->asks) OweAcknowledge(qp, written->psn);
}

void PacketRules::ReportGap(uint32_t qpn, Qp& qp) {
  findings_.Add(kPsnContiguous, qp.gap->cycle, QpText(qpn) + PsnText(qp.gap->psn), PsnText(qp.gap->expected));
  qp.gap.reset();
  qp.has_failed = true;  // one report is enough
}

void PacketRules::Finish() {
  for (auto& [qpn, qp] : qps_) {
    if (qp.gap.has_value()) ReportGap(qpn, qp);
  }
}

void PacketRules::ReceivedResponse(uint32_t qpn, Qp& qp, const RocePacket& packet) {
  if (!qp.next_psn.has_value()) return;
  const uint32_t psn = packet.bth.psn;
  const bool is_nak = packet.info.has_aeth && packet.aeth.kind != spec::AethKind::kAck;
  const bool is_atomic = packet.info.has_atomic_ack_eth;
  const bool is_read = packet.info.operation == BthOperation::kRdmaReadResponse || is_atomic;
  // Everything up to here was received by the peer. Of what was never sent, nothing can have been.
  const uint32_t covered = is_nak ? (psn - 1) & kPsnMask : psn;
  if (Distance(*qp.next_psn, covered) >= 0) return;
  // The peer has received what stands in the gap, so the packet was sent out of order, not lost with its queue pair.
  if (qp.gap.has_value() && Distance(qp.gap->psn, covered) >= 0) ReportGap(qpn, qp);
  if (Distance(qp.unacked_psn, covered) >= 0) qp.unacked_psn = (covered + 1) & kPsnMask;
  // Only its responses, the oldest READ's first and in order, complete a READ; an acknowledge behind it does not.
  // [IBTA 9.7.5.1.2, 9.7.5.1.9]
  if (is_read) {
    const auto oldest =
        std::ranges::find_if(qp.open, [](const Message& message) { return message.is_read && !message.is_answered; });
    if (oldest != qp.open.end() && oldest->next_psn == psn && oldest->is_atomic == is_atomic) {
      oldest->next_psn = (psn + 1) & kPsnMask;
      const auto value = InMemory(packet.atomic_ack_eth.original_data);
      const std::span<const uint8_t> data = is_atomic ? std::span<const uint8_t>(value) : packet.payload;
      if (oldest->work.bytes != nullptr && !qp.has_failed && !data.empty()) {
        ExpectData({.qpn = qpn, .psn = psn, .message = oldest->number},
                   PlacesIn(oldest->work, oldest->arrived, data.size()), data);
      }
      oldest->arrived += data.size();
      oldest->is_answered = psn == oldest->last_psn;
    }
  }
  while (!qp.open.empty() && Distance(qp.open.front().last_psn, qp.unacked_psn) > 0 &&
         (!qp.open.front().is_read || qp.open.front().is_answered)) {
    qp.open.pop_front();
    ++qp.messages_done;
  }
  const auto is_acknowledged = [&](const Sent& one) {
    return Distance((one.psn + one.psns) & kPsnMask, qp.unacked_psn) >= 0;
  };
  // What was acknowledged may be on its way again.
  constexpr size_t kKept = 256;
  const auto is_old = [&](const Sent& one) { return Distance(one.psn, *qp.next_psn) > kWindow / 2; };
  while (!qp.sent.empty() && is_acknowledged(qp.sent.front()) && (qp.sent.size() > kKept || is_old(qp.sent.front()))) {
    qp.sent.pop_front();
  }
}

// --- Idle

bool PacketRules::IsOutstanding(const Qp& qp) { return qp.unacked_psn != *qp.next_psn || !qp.open.empty(); }

// The latest one: acknowledges cover what is before them.
void PacketRules::OweAcknowledge(Qp& qp, uint32_t psn) {
  if (qp.acked_psn.has_value() && Distance(psn, *qp.acked_psn) >= 0) return;
  if (!qp.due_psn.has_value() || Distance(*qp.due_psn, psn) > 0) qp.due_psn = psn;
}

// A queue pair of RC may wait for its peer, and for the end of a timer meanwhile; without a timer, only for work. With
// timeout 0 nothing shows that it waits for an acknowledge that has arrived and was dropped.
void PacketRules::OnQpFatal(uint32_t qpn) {
  if (const auto found = qps_.find(qpn); found != qps_.end()) found->second.is_reported = true;
}

bool PacketRules::MustSend(uint32_t qpn, Cycle deadline, const RingRules& rings) const {
  const auto found = qps_.find(qpn);
  if (found == qps_.end() || !changed_.empty()) return false;
  const Qp& qp = found->second;
  if (!qp.exists || qp.context.state != spec::IbQpState::kRts || qp.has_failed || qp.is_reported) return false;
  if (qp.gap.has_value() || !rings.CanComplete(qp.context.send_cqn)) return false;
  if (!qp.next_psn.has_value() || !qp.follows_works || !qp.are_works_known) return false;
  if (qp.context.qp_type != IbQpType::kRc) return true;
  return deadline == kNever && qp.context.timeout != 0 && !IsOutstanding(qp);
}

std::string PacketRules::Owed(Cycle deadline, const RingRules& rings) const {
  if (!changed_.empty() || rings.has_lost_events()) return "";  // a command is in progress
  for (const auto& [qpn, qp] : qps_) {
    const bool is_sending = qp.context.state == spec::IbQpState::kRts;
    if (!qp.exists || qp.has_failed || qp.is_reported || !(is_sending || qp.context.state == spec::IbQpState::kRtr))
      continue;
    if (qp.arrived_psn.has_value() && !qp.has_refused && !qp.refused_psn.has_value()) {
      if (qp.due_psn.has_value() && qp.unwritten.empty()) {
        return QpText(qpn) + "no acknowledge of " + PsnText(*qp.due_psn) + ", which was executed";
      }
      if (!qp.asked.empty() && qp.asked.front().has_begun) {
        return QpText(qpn) + "no response " + PsnText(qp.asked.front().next_psn) + ", behind those sent";
      }
    }
    if (!is_sending || !qp.next_psn.has_value() || qp.gap.has_value()) continue;
    const bool is_reliable = qp.context.qp_type == IbQpType::kRc;
    if (is_reliable && (deadline != kNever || qp.context.timeout == 0)) continue;
    if (!rings.CanComplete(qp.context.send_cqn)) continue;
    if (is_reliable && IsOutstanding(qp)) {
      return QpText(qpn) + "no timer for " + PsnText(qp.unacked_psn) + ", which is not acknowledged";
    }
    if ((is_reliable || qp.follows_works) && qp.in_message) return QpText(qpn) + "the rest of a message";
    if (qp.follows_works && !qp.works.empty()) {
      return QpText(qpn) + "work request " + Hex(qp.works.front().wr_id) + ", which was read";
    }
    if (is_reliable && qp.are_works_known && !qp.unreported.empty()) {
      return QpText(qpn) + "no CQE of work request " + Hex(qp.unreported.front().wr_id);
    }
  }
  return "";
}

// --- Completions

void PacketRules::OnSendWork(uint32_t qpn, std::optional<SendWork> work) {
  Qp& qp = qps_[qpn];
  qp.follows_works = qp.follows_works && work.has_value() && !qp.has_failed;
  // A bind, registration or local invalidate is no message.
  if (work.has_value() && work->opcode == spec::IbWrOpcode::kRegMr) {
    Push(qp.binds, binding_.registers ? binding_.registers(qp.context.pdn, *work) : 0);
    return;
  }
  if (work.has_value() && work->opcode == spec::IbWrOpcode::kBindMw) {
    Push(qp.binds, binding_.begins ? binding_.begins(qpn, qp.context.pdn, work->bind) : 0);
    return;
  }
  if (work.has_value() && work->opcode == spec::IbWrOpcode::kLocalInv) {
    if (invalidation_.begins) invalidation_.begins(KeyIn(work->imm_data));
    return;
  }
  if (qp.follows_works) Push(qp.works, std::move(*work));
}

void PacketRules::OnSendUsed(uint32_t qpn, const std::optional<SendHead>& work) {
  Qp& qp = qps_[qpn];
  // A bind, registration or local invalidate completes behind the messages before it, and is none.
  const bool is_bind =
      work.has_value() && (work->opcode == spec::IbWrOpcode::kBindMw || work->opcode == spec::IbWrOpcode::kRegMr);
  const bool invalidates = work.has_value() && work->opcode == spec::IbWrOpcode::kLocalInv;
  std::optional<uint64_t> bind;
  if (is_bind && !qp.binds.empty()) {
    bind = qp.binds.front();
    qp.binds.pop_front();
  }
  if (!is_bind && !invalidates) ++qp.used;
  if (!work.has_value()) qp.are_works_known = false;
  if (!qp.are_works_known || qp.has_failed) return;
  if (qp.context.sq_sig_all || (work->send_flags & spec::IbSendFlags::kSignaled) != 0) {
    Push(qp.unreported,
         {work->wr_id, qp.used, invalidates ? std::optional(KeyIn(work->imm_data)) : std::nullopt, bind});
  }
}

// Every CQE is of a signaled work request, in order, and each has one. [IBTA 10.8] It may come after later work
// requests were returned.
void PacketRules::OnSendCqe(Cycle cycle, Qp& qp, const spec::RdmaCqReq& cqe) {
  const bool invalidates = cqe.opcode == spec::IbWcOpcode::kLocalInv;
  const bool binds = cqe.opcode == spec::IbWcOpcode::kBindMw || cqe.opcode == spec::IbWcOpcode::kRegMr;
  if (!invalidates && !binds) ++qp.reported;
  if (!qp.are_works_known) return;
  if (!qp.unreported.empty() && qp.unreported.front().wr_id == cqe.wr_id &&
      qp.unreported.front().invalidated.has_value() == invalidates && qp.unreported.front().bind.has_value() == binds) {
    qp.reported = qp.unreported.front().number;
    if (const auto bind = qp.unreported.front().bind; bind.has_value() && binding_.ends) binding_.ends(*bind);
    if (const auto key = qp.unreported.front().invalidated; key.has_value() && invalidation_.ends) {
      invalidation_.ends(*key);
    }
    return qp.unreported.pop_front();
  }
  findings_.Add(kCompletionOnce, cycle, QpText(cqe.qp_num) + "CQE of work request " + Hex(cqe.wr_id),
                qp.unreported.empty() ? "none: no signaled work request was returned without one"
                                      : "that of " + Hex(qp.unreported.front().wr_id));
  qp.are_works_known = false;
}

// A completion belongs to one receive of the shared queue, which was returned before.
std::shared_ptr<std::vector<uint8_t>> PacketRules::TakeShared(Cycle cycle, const Qp& qp, const spec::RdmaCqReq& cqe) {
  auto& received = qps_[qp.context.srq].received;
  const auto matches = [&cqe](const std::shared_ptr<std::vector<uint8_t>>& tail) {
    return tail != nullptr && tail->size() >= spec::RdmaRqReq::kBytes &&
           spec::RdmaRqReq::Decode(tail->data()).wr_id == cqe.wr_id;
  };
  const auto at = std::ranges::find_if(received, matches);
  if (at != received.end()) {
    auto tail = std::move(*at);
    received.erase(at);
    return tail;
  }
  const auto is_unknown = [](const auto& tail) { return tail == nullptr || tail->size() < spec::RdmaRqReq::kBytes; };
  if (std::ranges::none_of(received, is_unknown) && cqe.status == spec::IbWcStatus::kSuccess) [[unlikely]] {
    findings_.Add(kCompletionReceive, cycle, QpText(cqe.qp_num) + "receive with wr_id " + Hex(cqe.wr_id),
                  "a receive of shared receive queue " + std::to_string(qp.context.srq) +
                      " that was returned and has not completed");
  }
  return nullptr;
}

// Receives of RC complete with the messages in their order; of UC and UD, messages may have been dropped.
bool PacketRules::OnReceiveCqe(Cycle cycle, Qp& qp, const spec::RdmaCqReq& cqe) {
  std::shared_ptr<std::vector<uint8_t>> tail;
  if (qp.context.has_srq) {
    tail = TakeShared(cycle, qp, cqe);
  } else if (!qp.received.empty()) {
    tail = std::move(qp.received.front());
    qp.received.pop_front();
  }
  const auto matches = [&cqe](const Arrived& message) {
    const bool invalidates = (cqe.wc_flags & spec::IbWcFlags::kWithInv) != 0;
    const bool has_immediate = invalidates || (cqe.wc_flags & spec::IbWcFlags::kWithImm) != 0;
    if (invalidates != message.invalidates) return false;
    if (cqe.byte_len != message.bytes || has_immediate != message.immediate.has_value()) return false;
    if (message.is_send != (cqe.opcode == spec::IbWcOpcode::kRecv) || cqe.src_qp != message.source_qp) return false;
    return !has_immediate || std::ranges::equal(cqe.imm_data, *message.immediate);
  };
  const bool is_reliable = qp.context.qp_type == IbQpType::kRc;
  const auto at = is_reliable && (qp.receives.empty() || matches(qp.receives.front()))
                      ? qp.receives.begin()
                      : std::ranges::find_if(qp.receives, matches);
  if (at == qp.receives.end() || (is_reliable && at != qp.receives.begin())) [[unlikely]] {
    findings_.Add(
        kCompletionReceive, cycle,
        QpText(cqe.qp_num) + "receive of " + std::to_string(cqe.byte_len) + " bytes, flags " + Hex(cqe.wc_flags),
        qp.receives.empty() ? "a message that has arrived"
                            : "length, flags and immediate of a message that has arrived: " +
                                  std::to_string(qp.receives.front().bytes) + " bytes");
    if (!qp.receives.empty()) {
      qp.kept_data -= qp.receives.front().data.size();
      qp.receives.pop_front();
    }
    return false;
  }
  if (at->invalidates && invalidation_.ends) invalidation_.ends(KeyIn(*at->immediate));
  if (tail != nullptr && !at->data.empty()) CheckReceived(cycle, cqe.qp_num, *at, *tail);
  for (auto dropped = qp.receives.begin(); dropped != std::next(at); ++dropped) qp.kept_data -= dropped->data.size();
  if (is_reliable && at->asks) OweAcknowledge(qp, at->psn);
  const bool is_solicited = is_reliable && at->is_solicited;  // of several alike datagrams, which one is not known
  qp.receives.erase(qp.receives.begin(), std::next(at));
  return is_solicited;
}

bool PacketRules::OnCqe(Cycle cycle, const spec::RdmaCqReq& cqe) {
  const auto found = qps_.find(cqe.qp_num);
  if (found == qps_.end() || !found->second.exists) return false;
  Qp& qp = found->second;
  if (cqe.status != spec::IbWcStatus::kSuccess) {
    qp.has_failed = true;
    if (qp.context.has_srq) TakeShared(cycle, qp, cqe);
    qp.received.clear();
    qp.gap.reset();
    qp.unreported.clear();
    qp.works.clear();
    EraseUnwritten(cqe.qp_num, qp, [](const ExpectedWrite& write, uint64_t) { return write.message != 0; });
    return true;
  }
  if (cqe.opcode == spec::IbWcOpcode::kRecv || cqe.opcode == spec::IbWcOpcode::kRecvRdmaWithImm) {
    return OnReceiveCqe(cycle, qp, cqe);
  }
  if (qp.has_failed || !qp.next_psn.has_value()) return false;
  OnSendCqe(cycle, qp, cqe);
  // Exception: UC and UD complete when the payload is in the device's transmit buffer. docs/monitor.md, "Exceptions".
  if (qp.context.qp_type != IbQpType::kRc) return false;
  if (!qp.unplaced.empty() && qp.unplaced.front().id <= qp.reported) {
    EraseUnwritten(cqe.qp_num, qp, [&](const ExpectedWrite& write, uint64_t address) {
      if (write.message == 0 || write.message > qp.reported) return false;
      findings_.Add(kCompletionRead, cycle,
                    QpText(cqe.qp_num) + "success of a READ whose response " + PsnText(write.psn) + " is not in memory",
                    "the write of its payload at " + Hex(address) + " before it");
      return true;
    });
  }
  const uint64_t most = qp.messages_done;
  if (qp.reported <= most) [[likely]]
    return false;
  findings_.Add(kCompletion, cycle,
                QpText(cqe.qp_num) + "success of work request " + std::to_string(qp.reported) + " since RTS",
                std::to_string(most) + " acknowledged");
  qp.messages_done = qp.reported;
  return false;
}

}  // namespace vireo::sim::monitor
