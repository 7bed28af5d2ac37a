// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "sim/replay/flow_replay.h"
#include "sim/replay/frame_text.h"
#include "sim/replay/peer_nic.h"
#include "sim/replay/replay.h"

namespace vireo::sim {
namespace {

using spec::AethKind;
using spec::BthOperation;

constexpr uint32_t kUnknownQpn = 0xfed'cba;    // QP number that the NIC does not have
constexpr uint32_t kUnknownKey = 0xdead'beef;  // R_Key that the NIC does not have: index part not below num_mrs
constexpr uint32_t kReceives = 16;

bool HasAethKind(const RoceFrame& frame, AethKind kind) { return frame.info().has_aeth && frame.aeth.kind == kind; }

class Responder final : public FlowReplay {
 public:
  Responder(const Conversation& conversation, const ReplayOptions& options) : FlowReplay(conversation, options) {}

 private:
  void Play() override {
    bool was_response = false;
    for (size_t i = 0; i < conversation_.packets.size(); ++i) {
      const Packet& packet = conversation_.packets[i];
      if (packet.is_response) {
        was_response = true;
        continue;
      }
      if (std::exchange(was_response, false)) WaitUntilIdle();
      Feed(i);
      if (!result_.error.empty()) return;
    }
    WaitUntilIdle();
    Compare();
  }

  struct Side {  // of one flow
    std::optional<PeerNic::Memory> receives;
    PeerNic::QueuePair pair;
    uint64_t expected = 0;               // PSN
    bool has_ended = false;              // a NAK ended it
    uint64_t receive_at = 0;             // next offset in `receives`
    std::map<uint64_t, uint64_t> times;  // number of times fed, by PSN of the request
    std::vector<const PeerNic::Sent*> sent;
  };
  struct Target {  // memory of an R_Key
    PeerNic::Memory memory;
    std::vector<uint8_t> expected;  // expected contents
    std::vector<bool> written;      // bytes written by requests
  };
  struct Receive {
    size_t flow = 0;
    const Message* message = nullptr;
    uint64_t at = 0;
    uint32_t bytes = 0;
  };

  std::string MakeAll() override {
    for (const auto& [key, region] : conversation_.regions) {
      uint32_t access = region.written ? spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite : 0;
      if (region.read) access |= spec::IbAccessFlags::kRemoteRead;
      if (region.changed) access |= spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteAtomic;
      if ((region.flushed & spec::FlushPlacement::kGlobalVisibility) != 0) access |= spec::IbAccessFlags::kFlushGlobal;
      if ((region.flushed & spec::FlushPlacement::kPersistence) != 0) access |= spec::IbAccessFlags::kFlushPersistent;
      auto memory = nic_->Allocate(region.first, region.end - region.first, access);
      if (!memory.ok()) return fmt::format("memory of R_Key {:#x}: {}", key.second, host::ToString(memory.error()));
      Target& target = targets_[key];
      target.memory = std::move(memory).value();
      target.expected.assign(target.memory.buffer->data(), target.memory.buffer->data() + target.memory.buffer->size());
      target.written.resize(target.expected.size());
    }
    sides_.resize(conversation_.flows.size());
    return MakeSides();
  }

  std::string MakeSide(size_t index) override {
    Side& side = sides_[index];
    const Flow& flow = this->flow(index);
    side.expected = flow.first_psn;
    if (flow.messages.empty()) return "";
    if (flow.service == spec::BthService::kRc && !flow.has_responses) {
      result_.notes.push_back(fmt::format(
          "queue pair {:#x} never responded in the capture: replayed as a nonexistent one", flow.responder_qpn));
      return "";
    }
    const RoceFrame* like = nullptr;  // a recorded response; else a request, with addresses swapped
    verbs::QueuePair::Connection attributes;
    for (const Packet& packet : conversation_.packets) {
      if (packet.flow != index) continue;
      if (like == nullptr || (packet.is_response && !like->info().is_response)) like = &packet.frame;
      if (HasAethKind(packet.frame, AethKind::kRnrNak)) attributes.min_rnr_timer = packet.frame.aeth.value;
    }
    RoceFrame turned = *like;
    if (!like->info().is_response) {
      std::swap(turned.ethernet.source, turned.ethernet.destination);
      std::swap(turned.ipv4.source, turned.ipv4.destination);
      std::swap(turned.ipv6.source, turned.ipv6.destination);
    }
    auto pair = nic_->Connect(flow, true, attributes, turned, kReceives);
    if (!pair.ok()) return host::ToString(pair.error());
    side.pair = *pair;
    uint64_t bytes = 0;
    for (const Message& message : flow.messages) bytes += Align(message.payload.size() + spec::kRdmaUdGrhBytes);
    auto memory = nic_->Allocate(0, bytes, spec::IbAccessFlags::kLocalWrite);
    if (!memory.ok()) return host::ToString(memory.error());
    side.receives = std::move(memory).value();
    return "";
  }
  static uint64_t Align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

  // The recorded response to this packet was RNR NAK.
  bool WasRnrNak(size_t index) const {
    const Packet& request = conversation_.packets[index];
    for (size_t i = index + 1; i < conversation_.packets.size(); ++i) {
      const Packet& packet = conversation_.packets[i];
      if (packet.flow != request.flow) continue;
      if (!packet.is_response) {
        if (packet.psn == request.psn) return false;
      } else if (packet.psn >= request.psn && packet.frame.info().has_aeth) {
        return packet.psn == request.psn && packet.frame.aeth.kind == AethKind::kRnrNak;
      }
    }
    return false;
  }

  void Feed(size_t index) {
    const Packet& packet = conversation_.packets[index];
    Side& side = sides_[packet.flow];
    const Message& message = *flow(packet.flow).Find(packet.psn);
    const spec::OpcodeInfo& info = packet.frame.info();
    const bool is_read = info.operation == BthOperation::kRdmaReadRequest;
    const bool is_atomic = IsAtomic(info.operation);
    const bool is_new = packet.psn == side.expected && !side.has_ended && side.pair.qp != nullptr;
    ++side.times[packet.psn];
    const bool is_held =
        is_read || is_atomic || info.operation == BthOperation::kAtomicWrite || info.operation == BthOperation::kFlush;
    if (is_held && !side.has_ended && packet.psn <= side.expected) {
      if (++reads_ > nic_->max_reads()) WaitUntilIdle(), reads_ = 1;
    }
    if (is_read && !side.has_ended && packet.psn <= side.expected) Preload(packet, message, index);
    const bool refused = is_new && info.consumes_recv && WasRnrNak(index);
    if (is_new && info.consumes_recv && !refused) PostReceive(packet, message);
    if (is_new && !refused && info.has_ieth) MakeInvalidatable(packet, message);
    if (is_new && !refused) {
      side.has_ended = message.nak_psn == packet.psn;
      if (!side.has_ended) {
        if (IsWrite(info.operation)) Expect(packet, message, packet.frame.payload);
        if (is_atomic) ExpectAtomic(packet, message);
        side.expected += PsnsOf(packet.frame, flow(packet.flow).path_mtu);
      }
    }
    nic_->Feed(Translate(packet, message));
  }

  RoceFrame Translate(const Packet& packet, const Message& message) {
    RoceFrame frame = packet.frame;
    const Side& side = sides_[packet.flow];
    frame.bth.dest_qp = side.pair.qp != nullptr ? side.pair.qp->qpn() : kUnknownQpn;
    if (frame.info().has_reth) frame.reth.rkey = RkeyFor(packet, message);
    if (frame.info().has_atomic_eth) frame.atomic_eth.rkey = RkeyFor(packet, message);
    if (frame.info().has_ieth) {
      const auto found = invalidatable_.find({packet.flow, message.first});
      frame.ieth.rkey = found == invalidatable_.end() ? kUnknownKey : found->second.region->rkey();
    }
    return frame;
  }
  // The capture does not say what the key's region was: one of its own for each, unless the peer refused it.
  void MakeInvalidatable(const Packet& packet, const Message& message) {
    if (message.nak_psn) return;
    auto memory = nic_->Allocate(0, 1, spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite, true);
    if (!memory.ok()) {
      result_.error = "memory of a key to invalidate: " + host::ToString(memory.error());
      return;
    }
    invalidatable_.emplace(std::pair(packet.flow, message.first), std::move(memory).value());
  }

  uint32_t RkeyFor(const Packet& packet, const Message& message) const {
    const auto target = targets_.find({flow(packet.flow).responder, packet.frame.reth.rkey});
    return target == targets_.end() || IsKeyRefused(message) ? kUnknownKey : target->second.memory.region->rkey();
  }
  // Rejected although range and rights fit: the key was not valid at that time.
  bool IsKeyRefused(const Message& message) const {
    if (!message.nak_psn || message.nak != spec::NakCode::kRemoteAccessError) return false;
    for (const auto& [key, region] : conversation_.regions) {
      if (key.second != message.reth.rkey) continue;
      const bool is_inside =
          IsWholeFlush(message) || (message.reth.virtual_address >= region.first &&
                                    message.reth.virtual_address + message.reth.dma_length <= region.end);
      const bool has_right = message.operation == BthOperation::kFlush ? (message.feth.placement & ~region.flushed) == 0
                             : IsWrite(message.operation)              ? region.written
                             : IsAtomic(message.operation)             ? region.changed
                                                                       : region.read;
      return is_inside && has_right;
    }
    return true;
  }

  // Writes the data that the recorded responses to this READ returned to memory before it is executed.
  void Preload(const Packet& packet, const Message& message, size_t index) {
    const auto found = targets_.find({flow(packet.flow).responder, packet.frame.reth.rkey});
    if (found == targets_.end() || IsKeyRefused(message)) return;
    Target& target = found->second;
    const uint64_t mtu = MtuBytes(flow(packet.flow).path_mtu);
    const uint64_t last = packet.psn + PsnsOf(packet.frame, flow(packet.flow).path_mtu) - 1;
    std::map<uint64_t, const RoceFrame*> responses;  // by PSN: the first one after the request, else the last before it
    for (size_t i = 0; i < conversation_.packets.size(); ++i) {
      const Packet& response = conversation_.packets[i];
      if (response.flow != packet.flow || response.frame.info().operation != BthOperation::kRdmaReadResponse) continue;
      if (response.psn < packet.psn || response.psn > last) continue;
      if (i < index || !later_.contains({index, response.psn})) responses[response.psn] = &response.frame;
      if (i > index) later_.insert({index, response.psn});
    }
    for (const auto& [psn, response] : responses) {
      Put(target, packet.frame.reth.virtual_address + (psn - packet.psn) * mtu, response->payload);
    }
  }
  // Makes the memory at `address` these bytes, if it is not yet: the recorded host has written there.
  void Put(Target& target, uint64_t address, std::span<const uint8_t> data) {
    const uint64_t offset = address - target.memory.base, bytes = target.memory.buffer->size();
    if (offset > bytes || data.size() > bytes - offset) return;
    if (std::ranges::equal(data, std::span(target.memory.at(address), data.size()))) return;
    WaitUntilIdle();  // a write may be in flight
    if (std::ranges::equal(data, std::span(target.memory.at(address), data.size()))) return;
    for (size_t i = 0; i < data.size(); ++i) {
      if (!target.written[offset + i] || data[i] == target.memory.at(address)[i]) continue;
      result_.differences.Allow(Allowed::kHostMemory);
      break;
    }
    std::ranges::copy(data, target.memory.at(address));
    std::ranges::copy(data, target.expected.begin() + static_cast<ptrdiff_t>(offset));
  }

  // The value that the recorded response returned is in memory before the operation, its result behind it. Without a
  // recorded response the value is what is there.
  void ExpectAtomic(const Packet& packet, const Message& message) {
    const auto found = targets_.find({flow(packet.flow).responder, message.reth.rkey});
    if (found == targets_.end()) return;
    Target& target = found->second;
    const uint64_t address = message.reth.virtual_address;
    if (message.payload.size() == spec::kAtomicBytes) {
      Put(target, address, message.payload);
    } else {
      WaitUntilIdle();
    }
    const uint64_t offset = address - target.memory.base, bytes = target.memory.buffer->size();
    if (offset > bytes || spec::kAtomicBytes > bytes - offset) return;
    uint64_t before = 0;
    for (size_t i = spec::kAtomicBytes; i-- > 0;) before = before << 8 | target.expected[offset + i];
    uint64_t after = before + message.atomic.swap_add_data;
    if (message.operation == BthOperation::kCompareSwap) {
      after = before == message.atomic.compare_data ? message.atomic.swap_add_data : before;
    }
    Expect(packet, message, InMemory(after));
  }

  void Expect(const Packet& packet, const Message& message, std::span<const uint8_t> data) {
    const auto found = targets_.find({flow(packet.flow).responder, message.reth.rkey});
    if (found == targets_.end()) return;
    const uint64_t address =
        message.reth.virtual_address + (packet.psn - message.first) * MtuBytes(flow(packet.flow).path_mtu);
    const uint64_t at = address - found->second.memory.base;
    const uint64_t bytes = found->second.expected.size();
    if (at > bytes || data.size() > bytes - at) return;
    std::ranges::copy(data, found->second.expected.begin() + static_cast<ptrdiff_t>(at));
    std::fill_n(found->second.written.begin() + static_cast<ptrdiff_t>(at), data.size(), true);
  }

  void PostReceive(const Packet& packet, const Message& message) {
    Side& side = sides_[packet.flow];
    uint64_t bytes = message.operation == BthOperation::kSend ? message.payload.size() : 0;
    if (flow(packet.flow).service == spec::BthService::kUd) bytes += spec::kRdmaUdGrhBytes;
    if (message.nak_psn && message.nak != spec::NakCode::kRemoteAccessError && bytes != 0) {
      // The receive was too short for the rejected packet; IBTA and Linux use different NAK codes for it.
      const uint64_t before = (*message.nak_psn - message.first) * MtuBytes(flow(packet.flow).path_mtu);
      bytes = std::min<uint64_t>(bytes - 1, before + (before == 0 ? packet.frame.payload.size() : 1) - 1);
    }
    const spec::RdmaSge sge{side.receive_at, static_cast<uint32_t>(bytes), side.receives->region->lkey()};
    if (pending_.size() >= kReceives) WaitUntilIdle();
    const verbs::Status posted = side.pair.qp->PostRecv(
        {.wr_id = pending_.size(), .sg_list = bytes == 0 ? std::span<const spec::RdmaSge>() : std::span(&sge, 1)});
    if (!posted.ok()) {
      result_.error = "posting a receive failed: " + host::ToString(posted.error());
      return;
    }
    pending_.push_back({packet.flow, &message, side.receive_at, static_cast<uint32_t>(bytes)});
    side.receive_at += Align(message.payload.size() + spec::kRdmaUdGrhBytes);
    // The NIC must read the receive before the frame arrives.
    nic_->RunUntilIdle();
  }

  // Runs until the NIC is idle and checks that its memory matches the effect of the requests.
  void WaitUntilIdle() {
    nic_->RunUntilIdle();
    reads_ = 0;
    for (size_t i = 0; i < sides_.size(); ++i) CheckReceives(i);
    for (auto& [key, target] : targets_) {
      const std::span<const uint8_t> is(target.memory.buffer->data(), target.memory.buffer->size());
      const auto [expected, got] = std::ranges::mismatch(target.expected, is);
      if (expected == target.expected.end()) continue;
      result_.differences.Add(fmt::format(
          "memory at {:#x} (R_Key {:#x}) is {:#04x}, expected after the requests {:#04x}",
          target.memory.base + static_cast<uint64_t>(expected - target.expected.begin()), key.second, *got, *expected));
      target.expected.assign(is.begin(), is.end());
    }
  }

  void CheckReceives(size_t index) {
    Side& side = sides_[index];
    if (side.pair.cq == nullptr) return;
    std::array<spec::RdmaCqReq, kReceives> completions;
    const auto polled = side.pair.cq->Poll(completions);
    if (!polled.ok()) return result_.differences.Add("completion queue: " + host::ToString(polled.error()));
    for (size_t i = 0; i < *polled; ++i) CheckReceive(index, completions.at(i));
    std::erase_if(pending_, [&](const Receive& receive) {
      // The message is complete, so its receive should be.
      if (receive.flow != index || side.expected <= receive.message->last) return false;
      result_.differences.Add(fmt::format("{}: its receive did not complete", Where(receive)));
      return true;
    });
  }
  void CheckReceive(size_t index, const spec::RdmaCqReq& completion) {
    const Side& side = sides_[index];
    const auto at = std::ranges::find(pending_, index, &Receive::flow);
    if (at == pending_.end()) return result_.differences.Add("unexpected completion");
    const Receive receive = *at;
    pending_.erase(at);
    const Message& message = *receive.message;
    const bool is_send = message.operation == BthOperation::kSend;
    if (message.nak_psn) {
      if (completion.status == spec::IbWcStatus::kSuccess) {
        result_.differences.Add(
            fmt::format("{}: its receive completed with success, but the recorded response is a NAK", Where(receive)));
      }
      return;
    }
    if (completion.status != spec::IbWcStatus::kSuccess) {
      return result_.differences.Add(
          fmt::format("{}: its receive completed with {}", Where(receive), spec::ToString(completion.status)));
    }
    ++result_.messages;
    const uint64_t header = flow(index).service == spec::BthService::kUd ? spec::kRdmaUdGrhBytes : 0;
    const uint64_t bytes = header + message.payload.size();
    if (completion.byte_len != bytes) {
      result_.differences.Add(
          fmt::format("{}: byte_len is {}, the message has {}", Where(receive), completion.byte_len, bytes));
    }
    if (message.immediate && !std::ranges::equal(message.immediate->immediate_data, completion.imm_data)) {
      result_.differences.Add(fmt::format("{}: wrong immediate data", Where(receive)));
    }
    if (message.invalidated) {
      const auto key = invalidatable_.find({index, message.first});
      if ((completion.wc_flags & spec::IbWcFlags::kWithInv) == 0 || key == invalidatable_.end() ||
          spec::Ieth::Decode(completion.imm_data).rkey != key->second.region->rkey()) {
        result_.differences.Add(fmt::format("{}: another key was invalidated", Where(receive)));
      }
    }
    if (is_send && !std::ranges::equal(message.payload,
                                       std::span(side.receives->at(receive.at + header), message.payload.size()))) {
      result_.differences.Add(fmt::format("{}: wrong data in its receive", Where(receive)));
    }
  }
  std::string Where(const Receive& receive) const {
    return fmt::format("message of PSN {} to queue pair {:#x}", receive.message->first % kPsnModulus,
                       flow(receive.flow).responder_qpn);
  }

  // --- Responses

  struct Recorded {
    const Packet* packet;
    bool is_used = false;
  };
  // Identifies a response for matching.
  using Kind = std::tuple<uint64_t, bool, AethKind>;  // PSN, response with data
  static bool HasData(const RoceFrame& response) {
    return response.info().operation == BthOperation::kRdmaReadResponse ||
           response.info().operation == BthOperation::kAtomicAcknowledge;
  }
  static Kind KindOf(const RoceFrame& frame, uint64_t psn) {
    const bool has_data = HasData(frame);
    return {psn, has_data, has_data ? AethKind::kAck : frame.aeth.kind};
  }

  void Compare() {
    for (const auto& sent : nic_->sent()) {
      const auto owner = std::ranges::find_if(conversation_.flows, [&](const Flow& each) {
        return each.service == spec::BthService::kRc && each.requester_qpn == sent.frame.bth.dest_qp &&
               each.requester == sent.frame.destination() && each.responder == sent.frame.source() &&
               each.has_responses && IsNear(each, sent.frame.bth.psn);
      });
      if (owner == conversation_.flows.end()) {
        result_.differences.Add("sent to an unknown queue pair: " + FrameText(sent.frame));
      } else {
        sides_[static_cast<size_t>(owner - conversation_.flows.begin())].sent.push_back(&sent);
      }
    }
    for (size_t i = 0; i < sides_.size(); ++i) CompareFlow(i);
  }
  static bool IsNear(const Flow& flow, uint32_t psn) {
    const uint64_t full = ExtendPsn(psn, flow.highest_requested);
    return full >= flow.first_psn && full < flow.end_psn();
  }

  void CompareFlow(size_t index) {
    const Side& side = sides_[index];
    const Flow& flow = this->flow(index);
    std::map<Kind, std::deque<Recorded>> recorded;
    uint64_t highest_response = 0;
    std::optional<uint32_t> msn_offset;  // nonzero if the capture starts within a connection
    for (const Packet& packet : conversation_.packets) {
      if (packet.flow != index || !packet.is_response) continue;
      recorded[KindOf(packet.frame, packet.psn)].push_back({&packet});
      highest_response = std::max(highest_response, packet.psn);
      if (!msn_offset && packet.frame.info().has_aeth && packet.frame.aeth.kind == AethKind::kAck) {
        const bool is_first =
            flow.first_psn == flow.messages.front().first && flow.CompletedAt(packet.psn) == packet.frame.aeth.msn;
        msn_offset =
            is_first ? 0 : static_cast<uint32_t>((packet.frame.aeth.msn - flow.CompletedAt(packet.psn)) % kPsnModulus);
      }
    }
    if (msn_offset.value_or(0) != 0 && !flow.has_repeats) {
      result_.notes.push_back(
          fmt::format("queue pair {:#x}: the capture starts after {} messages; MSNs are compared with that offset",
                      flow.responder_qpn, *msn_offset));
    } else {
      msn_offset = 0;
    }
    uint64_t highest_sent = 0;
    for (const PeerNic::Sent* sent : side.sent) {
      RoceFrame ours = sent->frame;
      const uint64_t psn = ExtendPsn(ours.bth.psn, flow.highest_requested);
      highest_sent = std::max(highest_sent, psn);
      if (ours.info().has_aeth) ours.aeth.msn = static_cast<uint32_t>((ours.aeth.msn + *msn_offset) % kPsnModulus);
      CompareResponse(index, ours, psn, *msn_offset, recorded, highest_response);
    }
    for (const auto& [kind, responses] : recorded) {
      for (const Recorded& response : responses) {
        if (!response.is_used) CheckMissing(index, kind, *response.packet, highest_sent, *msn_offset);
      }
    }
  }

  bool IsRepeated(const Side& side, const Flow& flow, uint64_t psn) const {
    const Message* message = flow.Find(psn);
    for (auto at = side.times.lower_bound(message->first); at != side.times.end() && at->first <= message->last; ++at) {
      if (at->second > 1) return true;
      // A READ that was retried in part.
      if (message->operation == BthOperation::kRdmaReadRequest && at->first != message->first) return true;
    }
    return false;
  }

  void CompareResponse(size_t index, const RoceFrame& ours, uint64_t psn, uint32_t msn_offset,
                       std::map<Kind, std::deque<Recorded>>& recorded, uint64_t highest_response) {
    const Flow& flow = this->flow(index);
    const bool is_repeated = IsRepeated(sides_[index], flow, psn);
    Differences& differences = result_.differences;
    auto group = recorded.find(KindOf(ours, psn));
    if (group == recorded.end()) {
      // The same response with another syndrome is a field difference.
      for (auto& [kind, responses] : recorded) {
        if (std::get<0>(kind) != psn || std::get<1>(kind) != std::get<1>(KindOf(ours, psn))) continue;
        const auto unused = std::ranges::find(responses, false, &Recorded::is_used);
        if (unused == responses.end() || flow.has_repeats) continue;
        unused->is_used = true;
        differences.Check(Where(*unused->packet), CompareFields(unused->packet->frame, ours), unused->packet->frame);
        return;
      }
      return CheckExtra(index, ours, psn, msn_offset, highest_response);
    }
    auto response = std::ranges::find(group->second, false, &Recorded::is_used);
    const bool is_more = response == group->second.end();
    if (is_more) {
      response = std::prev(group->second.end());
      if (!flow.has_repeats) return differences.Add("sent once more than recorded: " + FrameText(ours));
      differences.Allow(std::get<1>(group->first) ? Allowed::kRepeatedResponse : Allowed::kAckOfRepeat);
    }
    response->is_used = true;
    ++result_.compared;
    const RoceFrame& theirs = response->packet->frame;
    RoceFrame like = ours;
    if (is_repeated && ours.bth.opcode != theirs.bth.opcode && std::get<1>(group->first)) {
      differences.Allow(Allowed::kRepeatedResponse);
      like.bth.opcode = theirs.bth.opcode;
      if (!ours.info().has_aeth) like.aeth = theirs.aeth;
    }
    if (theirs.info().has_aeth && like.aeth.msn != theirs.aeth.msn && flow.has_repeats &&
        IsMsnPossible(flow, psn, like.aeth.msn, msn_offset)) {
      differences.Allow(Allowed::kMsnOfRepeat);
      like.aeth.msn = theirs.aeth.msn;
    }
    if (IsShortReceive(*flow.Find(psn), theirs, ours)) {
      differences.Allow(Allowed::kShortReceive);
      like.aeth.value = theirs.aeth.value;
    }
    if (like.bth.opcode != ours.bth.opcode) {  // their lengths differ by an AETH
      like.ipv4.total_length = theirs.ipv4.total_length;
      like.ipv6.payload_length = theirs.ipv6.payload_length;
      like.udp.length = theirs.udp.length;
    }
    differences.Check(Where(*response->packet), CompareFields(theirs, like), theirs);
  }
  static bool IsShortReceive(const Message& message, const RoceFrame& theirs, const RoceFrame& ours) {
    const auto code = [](const RoceFrame& frame) { return static_cast<spec::NakCode>(frame.aeth.value); };
    return message.operation == BthOperation::kSend && HasAethKind(theirs, AethKind::kNak) &&
           HasAethKind(ours, AethKind::kNak) && code(theirs) == spec::NakCode::kRemoteOperationalError &&
           code(ours) == spec::NakCode::kInvalidRequest;
  }
  // At least the MSN at its PSN, at most the number of messages of the capture.
  static bool IsMsnPossible(const Flow& flow, uint64_t psn, uint32_t msn, uint32_t offset) {
    const uint64_t completed = (msn - offset) % kPsnModulus;
    return completed >= flow.CompletedAt(psn) && completed <= flow.messages.size();
  }

  // A response that the recording does not have.
  void CheckExtra(size_t index, const RoceFrame& ours, uint64_t psn, uint32_t msn_offset, uint64_t highest_response) {
    const Flow& flow = this->flow(index);
    Differences& differences = result_.differences;
    const auto bad = [&](const std::string& why) {
      differences.Add(fmt::format("not recorded, {}: {}", why, FrameText(ours)));
    };
    if (ours.info().has_aeth && ours.aeth.kind == AethKind::kAck) {
      const bool is_exact = ours.aeth.msn == (flow.CompletedAt(psn) + msn_offset) % kPsnModulus;
      if (!is_exact && !(flow.has_repeats && IsMsnPossible(flow, psn, ours.aeth.msn, msn_offset))) {
        return bad(fmt::format("expected MSN {}", flow.CompletedAt(psn) + msn_offset));
      }
    }
    if (psn > highest_response) return differences.Allow(Allowed::kBehindTheEnd);
    if (HasData(ours)) return flow.has_repeats ? differences.Allow(Allowed::kRepeatedResponse) : bad("data");
    switch (ours.aeth.kind) {
      case AethKind::kAck: return differences.Allow(flow.has_repeats ? Allowed::kAckOfRepeat : Allowed::kAckCoalescing);
      case AethKind::kNak:
        // The recorded NAK was lost, too.
        if (flow.has_repeats && static_cast<spec::NakCode>(ours.aeth.value) == spec::NakCode::kPsnSequenceError) {
          return differences.Allow(Allowed::kAckOfRepeat);
        }
        return bad("a NAK");
      default: return bad("RNR NAK");
    }
  }
  // A recorded response that we did not send.
  void CheckMissing(size_t index, const Kind& kind, const Packet& packet, uint64_t highest_sent, uint32_t msn_offset) {
    const Flow& flow = this->flow(index);
    const auto& [psn, is_read, aeth] = kind;
    const bool is_covered = psn <= highest_sent;
    if (flow.has_repeats && is_covered && aeth == AethKind::kAck) {
      return result_.differences.Allow(is_read ? Allowed::kRepeatedResponse : Allowed::kAckOfRepeat);
    }
    const bool is_msn_right = packet.frame.aeth.msn == (flow.CompletedAt(psn) + msn_offset) % kPsnModulus;
    if (!is_read && aeth == AethKind::kAck && is_covered && is_msn_right)
      return result_.differences.Allow(Allowed::kAckCoalescing);
    const bool is_gap = aeth == AethKind::kNak &&
                        static_cast<spec::NakCode>(packet.frame.aeth.value) == spec::NakCode::kPsnSequenceError;
    if (flow.has_repeats && is_gap && is_covered) return result_.differences.Allow(Allowed::kAckOfRepeat);
    result_.differences.Add(fmt::format("{}: recorded, but not sent: {}", Where(packet), FrameText(packet.frame)));
  }
  static std::string Where(const Packet& packet) { return fmt::format("frame {}", packet.number); }

  std::map<RegionKey, Target> targets_;
  std::map<std::pair<size_t, uint64_t>, PeerNic::Memory> invalidatable_;  // by flow and first PSN of the SEND
  std::vector<Side> sides_;
  std::vector<Receive> pending_;
  std::set<std::pair<size_t, uint64_t>> later_;
  uint32_t reads_ = 0;  // fed since the NIC was idle
};

}  // namespace

ReplayResult ReplayResponder(const Conversation& conversation, const ReplayOptions& options) {
  return Responder(conversation, options).Run();
}

}  // namespace vireo::sim
