// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sim/replay/flow_replay.h"
#include "sim/replay/frame_text.h"
#include "sim/replay/peer_nic.h"
#include "sim/replay/replay.h"

namespace vireo::sim {
namespace {

using spec::AethKind;
using spec::BthOperation;

constexpr uint32_t kSends = 128;             // most outstanding work requests
constexpr uint64_t kShortNs = 20'000;        // timeout of optional actions of the NIC
constexpr uint64_t kEndNs = 10'000'000;      // timeout of outstanding work at the end, at the slowest line
constexpr uint64_t kRestNs = 5'000;          // time to react to a response
constexpr uint64_t kLongNs = 3'000'000'000;  // timeout of required actions: longer than the longest RNR timer
constexpr uint8_t kTimeout = 22;             // 17 s: no retry for a lost response, which the capture has later

class Requester final : public FlowReplay {
 public:
  Requester(const Conversation& conversation, const ReplayOptions& options) : FlowReplay(conversation, options) {}

 private:
  void Play() override {
    for (const Packet& packet : conversation_.packets) {
      if (packet.is_response) {
        FeedResponse(packet);
      } else {
        PostRequests(packet);
      }
      if (!result_.error.empty()) return;
    }
    for (size_t i = 0; i < sides_.size(); ++i) Finish(i);
    TakeSent();
    for (size_t i = 0; i < sides_.size(); ++i) CompareFlow(i);
  }

  struct Side {                // of one flow
    PeerNic::Memory memory;    // payload of its messages, consecutively
    std::vector<uint64_t> at;  // offset by message
    std::shared_ptr<verbs::AddressHandle> ah;
    PeerNic::QueuePair pair;
    size_t posted = 0;                       // number of messages
    std::vector<spec::IbWcStatus> statuses;  // by message, in order
    uint64_t timeout_ns = 0;
    uint64_t wanted = 0, reached = 0;  // PSN after the highest one recorded, or sent by us, since the last NAK
  };

  std::string MakeAll() override {
    sides_.resize(conversation_.flows.size());
    return MakeSides();
  }

  std::string MakeSide(size_t index) override {
    Side& side = sides_[index];
    const Flow& flow = this->flow(index);
    if (flow.messages.empty()) return "";
    side.wanted = side.reached = flow.first_psn;
    uint64_t bytes = 0;
    for (const Message& message : flow.messages) {
      side.at.push_back(bytes);
      bytes += (LengthOf(message) + 63) / 64 * 64;
    }
    auto memory = nic_->Allocate(0, bytes, spec::IbAccessFlags::kLocalWrite);
    if (!memory.ok()) return host::ToString(memory.error());
    side.memory = std::move(memory).value();
    for (size_t i = 0; i < flow.messages.size(); ++i) {
      if (IsAnsweredWithData(flow.messages[i])) continue;
      std::ranges::copy(flow.messages[i].payload, side.memory.at(side.at[i]));
    }
    verbs::QueuePair::Connection attributes;
    attributes.timeout = kTimeout;
    if (flow.rnr_retry) attributes.rnr_retry = *flow.rnr_retry;
    if (flow.retry_cnt) {
      attributes.retry_cnt = *flow.retry_cnt;
      // The longest timeout not above the recorded pause.
      const uint64_t units = std::max<uint64_t>(flow.retry_gap_ns / spec::kLocalAckTimeoutUnitNs, 1);
      attributes.timeout = static_cast<uint8_t>(std::clamp(static_cast<int>(std::bit_width(units)) - 1, 1, 31));
    }
    side.timeout_ns = uint64_t{spec::kLocalAckTimeoutUnitNs} << attributes.timeout;
    const auto like = std::ranges::find_if(
        conversation_.packets, [index](const Packet& packet) { return packet.flow == index && !packet.is_response; });
    auto pair = nic_->Connect(flow, false, attributes, like->frame, kSends);
    if (!pair.ok()) return host::ToString(pair.error());
    side.pair = *pair;
    if (flow.service == spec::BthService::kUd) {
      auto ah = nic_->CreateAh(flow, like->frame);
      if (!ah.ok()) return host::ToString(ah.error());
      side.ah = *ah;
    }
    return "";
  }
  static bool IsAnsweredWithData(const Message& message) {
    return message.operation == BthOperation::kRdmaReadRequest || IsAtomic(message.operation);
  }
  // Of what is in memory.
  static uint64_t LengthOf(const Message& message) {
    if (message.operation == BthOperation::kAtomicWrite) return 0;
    return IsAnsweredWithData(message) ? message.reth.dma_length : message.payload.size();
  }

  // --- Replay

  void PostRequests(const Packet& packet) {
    const Flow& flow = this->flow(packet.flow);
    Side& side = sides_[packet.flow];
    while (side.posted < flow.messages.size() && flow.messages[side.posted].first <= packet.psn) {
      if (!Post(packet.flow)) return;
    }
    // Incomplete messages are not posted.
    if (!flow.Find(packet.psn)->is_whole) return;
    side.wanted = std::max(side.wanted, packet.psn + PsnsOf(packet.frame, flow.path_mtu));
  }

  bool Post(size_t index) {
    const Flow& flow = this->flow(index);
    Side& side = sides_[index];
    const Message& message = flow.messages[side.posted];
    if (!message.is_whole) {
      result_.notes.push_back(
          fmt::format("queue pair {:#x}: the capture ends within the message of PSN {}; it is not posted",
                      flow.responder_qpn, message.first % kPsnModulus));
      ++side.posted;
      return true;
    }
    verbs::SendRequest request;
    request.wr_id = side.posted;
    const bool has_immediate = message.immediate.has_value();
    switch (message.operation) {
      case BthOperation::kRdmaWrite:
        request.opcode = has_immediate ? spec::IbWrOpcode::kRdmaWriteWithImm : spec::IbWrOpcode::kRdmaWrite;
        break;
      case BthOperation::kRdmaReadRequest: request.opcode = spec::IbWrOpcode::kRdmaRead; break;
      case BthOperation::kCompareSwap:
        request.opcode = spec::IbWrOpcode::kAtomicCmpAndSwp;
        request.compare_add = message.atomic.compare_data;
        request.swap = message.atomic.swap_add_data;
        break;
      case BthOperation::kAtomicWrite:
        request.opcode = spec::IbWrOpcode::kAtomicWrite;
        for (size_t i = message.payload.size(); i-- > 0;)
          request.compare_add = request.compare_add << 8 | message.payload[i];
        break;
      case BthOperation::kFlush:
        request.opcode = spec::IbWrOpcode::kFlush;
        request.flush_length = message.reth.dma_length;
        request.flush_placement = message.feth.placement;
        request.flush_selectivity = message.feth.selectivity;
        break;
      case BthOperation::kFetchAdd:
        request.opcode = spec::IbWrOpcode::kAtomicFetchAndAdd;
        request.compare_add = message.atomic.swap_add_data;
        break;
      default:
        if (message.invalidated) {
          request.opcode = spec::IbWrOpcode::kSendWithInv;
          request.invalidate_rkey = *message.invalidated;
          break;
        }
        request.opcode = has_immediate ? spec::IbWrOpcode::kSendWithImm : spec::IbWrOpcode::kSend;
        break;
    }
    if (message.solicited) request.flags = static_cast<uint8_t>(request.flags | spec::IbSendFlags::kSolicited);
    if (has_immediate) std::ranges::copy(message.immediate->immediate_data, request.imm_data);
    const spec::RdmaSge sge = {side.at[side.posted], static_cast<uint32_t>(LengthOf(message)),
                               side.memory.region->lkey()};
    if (sge.length != 0) request.sg_list = std::span(&sge, 1);
    request.remote_addr = message.reth.virtual_address;
    request.rkey = message.reth.rkey;
    request.remote_qpn = flow.responder_qpn;
    request.remote_qkey = message.deth.qkey;
    request.ah = side.ah.get();
    Poll(index);
    const auto has_room = [&] {
      const auto room = side.pair.qp->SendRoom();
      return !room.ok() || *room != 0;
    };
    for (unsigned tries = 0; !has_room() && tries < 1000; ++tries) {
      nic_->RunUntil([] { return false; }, kRestNs);
      Poll(index);
    }
    const verbs::Status posted = side.pair.qp->PostSend(request);
    if (!posted.ok()) {
      result_.error = fmt::format("message of PSN {}: {}", message.first % kPsnModulus, host::ToString(posted.error()));
      return false;
    }
    ++side.posted;
    return true;
  }

  // The flow of a frame, and its PSN.
  std::optional<std::pair<size_t, uint64_t>> OwnerOf(const RoceFrame& frame) const {
    const auto service = static_cast<spec::BthService>(static_cast<unsigned>(frame.bth.opcode) >> 5);
    for (size_t i = 0; i < sides_.size(); ++i) {
      const Flow& flow = this->flow(i);
      if (flow.service != service || flow.responder_qpn != frame.bth.dest_qp || flow.requester != frame.source() ||
          flow.responder != frame.destination() || sides_[i].pair.qp == nullptr) {
        continue;
      }
      if (service == spec::BthService::kUd && frame.deth.source_qp != sides_[i].pair.qp->qpn()) continue;
      const uint64_t psn = ExtendPsn(frame.bth.psn, flow.highest_requested);
      if (psn >= flow.first_psn && psn < flow.end_psn()) return std::pair(i, psn);
    }
    return std::nullopt;
  }

  void TakeSent() {
    for (; taken_ < nic_->sent().size(); ++taken_) {
      const PeerNic::Sent& sent = nic_->sent()[taken_];
      const auto owner = OwnerOf(sent.frame);
      if (!owner) {
        result_.differences.Add("sent to an unknown queue pair: " + FrameText(sent.frame));
        continue;
      }
      Side& side = sides_[owner->first];
      sent_of_[owner->first].push_back(taken_);
      side.reached = std::max(side.reached, owner->second + PsnsOf(sent.frame, flow(owner->first).path_mtu));
    }
  }

  void FeedResponse(const Packet& packet) {
    const Flow& flow = this->flow(packet.flow);
    Side& side = sides_[packet.flow];
    if (!flow.Find(packet.psn)->is_whole) return;
    const auto has_reached = [&](uint64_t psn) {
      return [this, &side, psn] {
        TakeSent();
        return side.reached >= psn;
      };
    };
    nic_->RunUntil(has_reached(side.wanted), kShortNs);
    // The NIC may have sent less, but it must have sent the request of this response.
    if (!has_reached(packet.psn + 1)() && !nic_->RunUntil(has_reached(packet.psn + 1), kLongNs)) {
      result_.differences.Add(fmt::format("frame {}: response to PSN {}, which our requester did not send",
                                          packet.number, packet.frame.bth.psn));
      return;
    }
    Feed(packet);
    nic_->RunUntil([] { return false; }, kRestNs);
    Poll(packet.flow);
  }
  void Feed(const Packet& packet) {
    RoceFrame frame = packet.frame;
    Side& side = sides_[packet.flow];
    frame.bth.dest_qp = side.pair.qp->qpn();
    const bool is_retransmit_request =
        frame.info().has_aeth && (frame.aeth.kind == AethKind::kRnrNak ||
                                  (frame.aeth.kind == AethKind::kNak &&
                                   static_cast<spec::NakCode>(frame.aeth.value) == spec::NakCode::kPsnSequenceError));
    TakeSent();
    // Retransmission starts at this PSN.
    if (is_retransmit_request) side.wanted = side.reached = packet.psn;
    nic_->Feed(std::move(frame));
  }

  void Poll(size_t index) {
    Side& side = sides_[index];
    if (side.pair.cq == nullptr) return;
    std::array<spec::RdmaCqReq, 16> completions;
    for (;;) {
      const auto polled = side.pair.cq->Poll(completions);
      if (!polled.ok()) return result_.differences.Add("completion queue: " + host::ToString(polled.error()));
      for (size_t i = 0; i < *polled; ++i) Complete(index, completions.at(i));
      if (*polled < completions.size()) return;
    }
  }
  void Complete(size_t index, const spec::RdmaCqReq& completion) {
    Side& side = sides_[index];
    const size_t number = side.statuses.size();
    if (completion.wr_id != number) {
      return result_.differences.Add(fmt::format("queue pair {:#x}: completion of work request {} instead of {}",
                                                 flow(index).responder_qpn, completion.wr_id, number));
    }
    side.statuses.push_back(completion.status);
    if (completion.status != spec::IbWcStatus::kSuccess) return;
    ++result_.messages;
    const Message& message = flow(index).messages.at(number);
    if (!IsAnsweredWithData(message)) return;
    if (!std::ranges::equal(message.payload, std::span(side.memory.at(side.at[number]), message.payload.size()))) {
      result_.differences.Add(
          fmt::format("{}: the operation returned data other than the recorded responses", Where(index, number)));
    }
  }
  std::string Where(size_t index, size_t message) const {
    return fmt::format("message of PSN {} to queue pair {:#x}", flow(index).messages.at(message).first % kPsnModulus,
                       flow(index).responder_qpn);
  }

  // --- Completion

  // The status of each message according to the recorded responses; nullopt: the capture ends before its response.
  std::vector<std::optional<spec::IbWcStatus>> Expected(size_t index) const {
    const Flow& flow = this->flow(index);
    uint64_t acknowledged = 0;  // PSN after the highest one
    for (const Packet& packet : conversation_.packets) {
      if (packet.flow != index || !packet.is_response) continue;
      const bool is_ack = !packet.frame.info().has_aeth || packet.frame.aeth.kind == AethKind::kAck;
      // A NAK acknowledges all packets before it. [IBTA vol. 1, 9.7.5.1.2]
      acknowledged = std::max(acknowledged, packet.psn + (is_ack ? 1 : 0));
    }
    std::vector<std::optional<spec::IbWcStatus>> statuses;
    bool is_over = false;
    for (const Message& message : flow.messages) {
      if (!message.is_whole) break;
      std::optional<spec::IbWcStatus> status;
      if (is_over) {
        status = spec::IbWcStatus::kWrFlushErr;
      } else if (flow.service != spec::BthService::kRc || (acknowledged > message.last && !message.nak_psn)) {
        status = spec::IbWcStatus::kSuccess;
      } else if (message.nak_psn) {
        status = message.nak == spec::NakCode::kInvalidRequest      ? spec::IbWcStatus::kRemInvReqErr
                 : message.nak == spec::NakCode::kRemoteAccessError ? spec::IbWcStatus::kRemAccessErr
                                                                    : spec::IbWcStatus::kRemOpErr;
      } else if (flow.rnr_retry) {
        status = spec::IbWcStatus::kRnrRetryExcErr;
      } else if (flow.retry_cnt) {
        status = spec::IbWcStatus::kRetryExcErr;
      }
      is_over = status && *status != spec::IbWcStatus::kSuccess;
      statuses.push_back(status);
      if (!status) break;
    }
    return statuses;
  }

  void Finish(size_t index) {
    Side& side = sides_[index];
    const Flow& flow = this->flow(index);
    if (side.pair.qp == nullptr) return;
    const auto expected = Expected(index);
    const auto known =
        static_cast<size_t>(std::ranges::count_if(expected, [](const auto& status) { return status.has_value(); }));
    const uint64_t timeout_ns = kEndNs + (flow.retry_cnt ? (*flow.retry_cnt + 2ULL) * 4 * side.timeout_ns : 0);
    const bool is_over = std::ranges::any_of(expected, [](const auto& status) {
      return status.value_or(spec::IbWcStatus::kSuccess) != spec::IbWcStatus::kSuccess;
    });
    const auto is_complete = [&] {
      Poll(index);
      TakeSent();
      return side.statuses.size() >= known && (side.reached >= side.wanted || is_over);
    };
    bool complete = nic_->RunUntil(is_complete, timeout_ns);
    // After a loss our requester may retry requests whose response the recorded one received earlier: feed it again.
    for (unsigned round = 0; !complete && flow.has_repeats && round < 4; ++round) {
      for (const Packet& packet : conversation_.packets) {
        const size_t done = side.statuses.size();
        if (packet.flow != index || !packet.is_response || done >= flow.messages.size() ||
            packet.psn < flow.messages[done].first ||
            (packet.frame.info().has_aeth && packet.frame.aeth.kind != AethKind::kAck)) {
          continue;
        }
        TakeSent();
        if (side.reached <= packet.psn) continue;
        Feed(packet);
        complete = nic_->RunUntil(is_complete, kRestNs);
      }
    }
    for (size_t i = 0; i < known; ++i) {
      if (i >= side.statuses.size()) {
        result_.differences.Add(
            fmt::format("{}: not complete, expected {}", Where(index, i), spec::ToString(*expected[i])));
        break;
      }
      if (side.statuses[i] == *expected[i]) continue;
      result_.differences.Add(fmt::format("{}: completed with {}; the recorded responses require {}", Where(index, i),
                                          spec::ToString(side.statuses[i]), spec::ToString(*expected[i])));
    }
  }

  // --- Requests

  void CompareFlow(size_t index) {
    const Side& side = sides_[index];
    const Flow& flow = this->flow(index);
    if (side.pair.qp == nullptr) return;
    std::map<uint64_t, std::vector<const Packet*>> recorded;  // by PSN
    for (const Packet& packet : conversation_.packets) {
      if (packet.flow == index && !packet.is_response && flow.Find(packet.psn)->is_whole) {
        recorded[packet.psn].push_back(&packet);
      }
    }
    std::map<uint64_t, uint64_t> times;
    for (const size_t number : sent_of_[index]) {
      RoceFrame ours = nic_->sent()[number].frame;
      const uint64_t psn = ExtendPsn(ours.bth.psn, flow.highest_requested);
      if (flow.service == spec::BthService::kUd) ours.deth.source_qp = *flow.requester_qpn;
      CompareRequest(flow, recorded, ours, psn);
      ++times[psn];
    }
    const bool repeats = MayRepeat(index);
    for (const auto& [psn, packets] : recorded) {
      const auto at = times.find(psn);
      const uint64_t count = at == times.end() ? 0 : at->second;
      const std::string where = fmt::format("frame {}", packets.front()->number);
      if (count == 0) {
        // A partial READ that the recorded requester retried.
        if (flow.Find(psn)->first != psn && packets.front()->frame.info().operation == BthOperation::kRdmaReadRequest) {
          result_.differences.Allow(Allowed::kRetransmission);
        } else {
          result_.differences.Add(
              fmt::format("{}: recorded, but not sent: {}", where, FrameText(packets.front()->frame)));
        }
        continue;
      }
      if (count == packets.size()) continue;
      const bool is_exhausted = (flow.retry_cnt || flow.rnr_retry) && !repeats;
      if (!is_exhausted && (repeats || packets.size() > 1)) {
        result_.differences.Allow(Allowed::kRetransmission);
      } else {
        result_.differences.Add(fmt::format("{}: sent {} times, recorded {} times: {}", where, count, packets.size(),
                                            FrameText(packets.front()->frame)));
      }
    }
  }
  // The recording has retransmissions, and no retry counter ended the connection.
  bool MayRepeat(size_t index) const {
    const Flow& flow = this->flow(index);
    if (flow.retry_cnt || flow.rnr_retry) {
      return false;
    }
    return flow.has_repeats;
  }

  void CompareRequest(const Flow& flow, const std::map<uint64_t, std::vector<const Packet*>>& recorded,
                      const RoceFrame& ours, uint64_t psn) {
    const auto at = recorded.find(psn);
    const Message& message = *flow.Find(psn);
    const bool is_read = message.operation == BthOperation::kRdmaReadRequest;
    if (at == recorded.end()) {
      if (is_read && psn != message.first && flow.has_repeats) return CompareRest(flow, message, ours, psn);
      return result_.differences.Add("not recorded: " + FrameText(ours));
    }
    // If the READ was retried in part, compare with the one of the same length.
    const auto like = std::ranges::find_if(
        at->second, [&](const Packet* packet) { return packet->frame.reth.dma_length == ours.reth.dma_length; });
    const Packet& packet = like == at->second.end() ? *at->second.front() : **like;
    ++result_.compared;
    result_.differences.Check(fmt::format("frame {}", packet.number), CompareFields(packet.frame, ours), packet.frame);
  }
  // A partial READ from a PSN where the recorded requester did not retry.
  void CompareRest(const Flow& flow, const Message& message, const RoceFrame& ours, uint64_t psn) {
    const uint64_t offset = (psn - message.first) * MtuBytes(flow.path_mtu);
    if (ours.info().operation != BthOperation::kRdmaReadRequest || ours.reth.rkey != message.reth.rkey ||
        ours.reth.virtual_address != message.reth.virtual_address + offset ||
        ours.reth.dma_length != message.reth.dma_length - offset) {
      return result_.differences.Add("not recorded, and not the rest of the READ: " + FrameText(ours));
    }
    result_.differences.Allow(Allowed::kRetransmission);
  }

  std::vector<Side> sides_;
  std::map<size_t, std::vector<size_t>> sent_of_;  // by flow
  size_t taken_ = 0;                               // frames of the NIC processed
};

}  // namespace

ReplayResult ReplayRequester(const Conversation& conversation, const ReplayOptions& options) {
  return Requester(conversation, options).Run();
}

}  // namespace vireo::sim
