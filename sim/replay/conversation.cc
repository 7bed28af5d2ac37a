// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/replay/frame_text.h"

namespace vireo::sim {
namespace {

using spec::BthOpcode;
using spec::BthOperation;
using spec::BthService;

constexpr uint64_t kFirstEpoch = 4 * kPsnModulus;   // so that no extended PSN is negative
constexpr int64_t kReconnected = int64_t{1} << 20;  // a PSN step of this size is a new connection
constexpr uint8_t kMaxRetries = 7;                  // 3-bit counters [IBTA vol. 1, 9.9.2.1]
constexpr uint8_t kRnrRetryForever = 7;

BthService ServiceOf(BthOpcode opcode) { return static_cast<BthService>(static_cast<unsigned>(opcode) >> 5); }

int64_t Distance(uint32_t psn, uint64_t reference) {
  const auto ahead = static_cast<int64_t>((psn - reference) & (kPsnModulus - 1));
  return ahead < static_cast<int64_t>(kPsnModulus / 2) ? ahead : ahead - static_cast<int64_t>(kPsnModulus);
}

// --- Frames to packets

using FlowKey = std::tuple<GidBytes, GidBytes, BthService, uint32_t, uint32_t>;  // from, to, …, QP, source QP (UD)
using ResponseKey = std::tuple<GidBytes, GidBytes, uint32_t>;

class Reader {
 public:
  Conversation Read(const Capture& capture) {
    for (size_t i = 0; i < capture.frames.size(); ++i) Take(capture.frames[i], i + 1);
    FindMtus();
    Pair();
    AssignResponses();
    for (size_t i = 0; i < flows().size(); ++i) Assemble(i);
    SkipStrays();
    for (size_t i = 0; i < flows().size(); ++i) ReadResponses(i);
    FindRegions();
    return std::move(result_);
  }

 private:
  std::vector<Flow>& flows() { return result_.flows; }

  void Take(const Frame& bytes, size_t number) {
    ParsedFrame parsed = ParseRoceFrame(bytes.bytes);
    const auto skip = [this](const std::string& why) { ++result_.skipped[why]; };
    if (parsed.kind == ParsedFrame::Kind::kForeign) return skip("not RoCEv2");
    if (parsed.kind == ParsedFrame::Kind::kMalformed) return skip("malformed: " + parsed.what);
    RoceFrame& frame = parsed.frame;
    if (!IsIcrcRight(frame)) {
      if (!IsSoftRoceFlush(frame)) return skip("ICRC wrong");
      ++result_.flush_icrcs;
    }
    if (!frame.info().valid) return skip("unknown opcode: " + OpcodeText(frame.bth.opcode));
    const BthService service = ServiceOf(frame.bth.opcode);
    if (service != BthService::kRc && service != BthService::kUc && service != BthService::kUd) {
      return skip("unsupported service: " + OpcodeText(frame.bth.opcode));
    }
    Packet packet{number, bytes.time_ns, 0, frame.info().is_response, 0, {}};
    if (!packet.is_response) packet.flow = FlowOf(frame, service, packet.psn);
    // VLAN tags belong to the network, not to the connection.
    frame.vlan.reset();
    frame.ethernet.ethertype = frame.is_ipv6 ? spec::Ethertype::kIpv6 : spec::Ethertype::kIpv4;
    // Where an atomic operation accesses memory, in the form of the other operations.
    if (IsAtomic(frame.info().operation)) {
      frame.reth = {.virtual_address = frame.atomic_eth.virtual_address,
                    .rkey = frame.atomic_eth.rkey,
                    .dma_length = spec::kAtomicBytes};
    }
    if (!packet.is_response) NoteRequest(packet, frame);
    packet.frame = std::move(frame);
    result_.packets.push_back(std::move(packet));
  }

  size_t FlowOf(const RoceFrame& frame, BthService service, uint64_t& psn) {
    const FlowKey key{frame.source(), frame.destination(), service, frame.bth.dest_qp,
                      service == BthService::kUd ? frame.deth.source_qp : 0};
    const auto known = latest_.find(key);
    if (known != latest_.end()) {
      const Flow& flow = flows()[known->second];
      const int64_t step = Distance(frame.bth.psn, flow.highest_requested);
      if (service == BthService::kRc ? std::abs(step) < kReconnected : step == 1) {
        psn = ExtendPsn(frame.bth.psn, flow.highest_requested);
        return known->second;
      }
    }
    psn = kFirstEpoch + frame.bth.psn;
    Flow& flow = flows().emplace_back();
    flow.requester = frame.source();
    flow.responder = frame.destination();
    flow.is_ipv6 = frame.is_ipv6;
    flow.service = service;
    flow.responder_qpn = frame.bth.dest_qp;
    if (service == BthService::kUd) flow.requester_qpn = frame.deth.source_qp;
    flow.first_psn = flow.highest_requested = psn;
    requests_.emplace_back();
    return latest_[key] = flows().size() - 1;
  }

  void NoteRequest(const Packet& packet, const RoceFrame& frame) {
    Flow& flow = flows()[packet.flow];
    flow.first_psn = std::min(flow.first_psn, packet.psn);
    flow.highest_requested = std::max(flow.highest_requested, packet.psn);
    auto [at, is_new] = requests_[packet.flow].try_emplace(packet.psn, frame);
    if (!is_new) {
      flow.has_repeats = true;
      if (frame.bth.opcode != at->second.bth.opcode || frame.payload != at->second.payload) {
        result_.contradictions.push_back(fmt::format("frame {}: repeats PSN {} with different contents: {}",
                                                     packet.number, frame.bth.psn, FrameText(frame)));
      }
      // A READ that is retried in part is shorter than the original one.
      if (frame.info().has_reth && frame.reth.dma_length > at->second.reth.dma_length) at->second = frame;
    }
  }

  // The path MTU is the payload length of first and middle packets. [IBTA vol. 1, 9.3.3.3]
  void FindMtus() {
    std::map<std::pair<GidBytes, GidBytes>, uint64_t> of_pair;  // of any QP
    std::vector<uint64_t> shown(flows().size()), exact(flows().size());
    for (const Packet& packet : result_.packets) {
      const auto position = packet.frame.info().position;
      const uint64_t bytes = packet.frame.payload.size();
      const bool is_exact = position == spec::PacketPosition::kFirst || position == spec::PacketPosition::kMiddle;
      auto ends = std::minmax(packet.frame.source(), packet.frame.destination());
      if (is_exact) of_pair[ends] = bytes;
      if (!packet.is_response && is_exact) exact[packet.flow] = bytes;
      if (!packet.is_response && (is_exact || shown[packet.flow] < bytes)) shown[packet.flow] = bytes;
    }
    for (size_t i = 0; i < flows().size(); ++i) {
      const auto pair = of_pair.find(std::minmax(flows()[i].requester, flows()[i].responder));
      uint64_t bytes = std::max<uint64_t>(shown[i], pair == of_pair.end() ? 1024 : pair->second);
      if (exact[i] != 0) bytes = exact[i];
      if (flows()[i].service == BthService::kUd) bytes = std::max<uint64_t>(shown[i], 1024);
      flows()[i].path_mtu = spec::IbMtu::kMtu4096;
      for (const auto mtu :
           {spec::IbMtu::kMtu2048, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu512, spec::IbMtu::kMtu256}) {
        if (bytes <= MtuBytes(mtu)) flows()[i].path_mtu = mtu;
      }
    }
  }

  // Responses do not carry their source QP. Responses to one QP are assigned to the requests whose PSNs match most
  // often.
  void Pair() {
    std::map<ResponseKey, std::map<uint32_t, uint64_t>> votes;  // by the requests' destination QP
    for (const Packet& packet : result_.packets) {
      if (!packet.is_response) continue;
      for (size_t i = 0; i < flows().size(); ++i) {
        if (Covers(i, packet.frame)) {
          ++votes[{packet.frame.source(), packet.frame.destination(), packet.frame.bth.dest_qp}]
                 [flows()[i].responder_qpn];
        }
      }
    }
    std::vector<std::tuple<uint64_t, ResponseKey, uint32_t>> ranked;
    for (const auto& [key, candidates] : votes) {
      for (const auto& [qpn, count] : candidates) ranked.emplace_back(count, key, qpn);
    }
    std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
    std::set<std::tuple<GidBytes, GidBytes, uint32_t>> taken;
    for (const auto& [count, key, qpn] : ranked) {
      const auto& [responder, requester, requester_qpn] = key;
      if (pairs_.contains(key) || taken.contains({responder, requester, qpn})) continue;
      pairs_[key] = qpn;
      taken.insert({responder, requester, qpn});
    }
  }
  bool Covers(size_t index, const RoceFrame& response) {
    const Flow& flow = flows()[index];
    if (flow.service != BthService::kRc || flow.responder != response.source() ||
        flow.requester != response.destination()) {
      return false;
    }
    const uint64_t psn = ExtendPsn(response.bth.psn, flow.highest_requested);
    if (psn < flow.first_psn) return false;
    const auto& requests = requests_[index];
    const auto last = std::prev(requests.end());
    return psn < last->first + PsnsOf(last->second, flow.path_mtu);
  }

  void AssignResponses() {
    for (Packet& packet : result_.packets) {
      if (!packet.is_response) continue;
      packet.flow = SIZE_MAX;
      const auto pair = pairs_.find({packet.frame.source(), packet.frame.destination(), packet.frame.bth.dest_qp});
      if (pair == pairs_.end()) continue;
      for (size_t i = flows().size(); i-- > 0 && packet.flow == SIZE_MAX;) {
        if (flows()[i].responder_qpn == pair->second && Covers(i, packet.frame)) packet.flow = i;
      }
      if (packet.flow == SIZE_MAX) continue;
      Flow& flow = flows()[packet.flow];
      flow.requester_qpn = packet.frame.bth.dest_qp;
      flow.has_responses = true;
      packet.psn = ExtendPsn(packet.frame.bth.psn, flow.highest_requested);
    }
  }

  // --- Packets to messages

  void Assemble(size_t index) {
    Flow& flow = flows()[index];
    const auto& requests = requests_[index];
    // Packets of a message whose start is not in the capture are skipped.
    auto start = requests.begin();
    while (start != requests.end() && !start->second.info().starts_message) ++start;
    if (start == requests.end()) {
      flow.first_psn = flow.highest_requested + 1;
      return;
    }
    flow.first_psn = start->first;
    for (uint64_t psn = flow.first_psn; psn <= flow.highest_requested;) {
      const auto first = requests.find(psn);
      if (first == requests.end() || !first->second.info().starts_message) {
        flow.hole = psn;
        return;
      }
      Message message = Begin(first->second);
      message.first = psn;
      message.last = psn + PsnsOf(first->second, flow.path_mtu) - 1;
      bool is_open = !first->second.info().ends_message;
      while (is_open) {
        const auto next = requests.find(message.last + 1);
        if (next == requests.end() || next->second.info().starts_message) {
          message.is_whole = false;
          flow.hole = message.last + 1;
          break;
        }
        Continue(message, next->second);
        ++message.last;
        is_open = !next->second.info().ends_message;
      }
      flow.messages.push_back(std::move(message));
      if (flow.hole) return;
      psn = flow.end_psn();
    }
  }
  static Message Begin(const RoceFrame& frame) {
    Message message;
    message.operation = frame.info().operation;
    message.reth = frame.reth;
    message.atomic = frame.atomic_eth;
    message.deth = frame.deth;
    message.feth = frame.feth;
    Continue(message, frame);
    return message;
  }
  static void Continue(Message& message, const RoceFrame& frame) {
    message.payload.insert(message.payload.end(), frame.payload.begin(), frame.payload.end());
    if (frame.info().has_immdt) message.immediate = frame.immdt;
    if (frame.info().has_ieth) message.invalidated = frame.ieth.rkey;
    message.solicited = frame.bth.solicited_event;
  }

  void SkipStrays() {
    std::erase_if(result_.packets, [this](const Packet& packet) {
      if (packet.flow == SIZE_MAX) {
        ++result_.skipped["response to a request that is not in the capture"];
        return true;
      }
      const Flow& flow = flows()[packet.flow];
      if (packet.psn >= flow.first_psn && packet.psn < flow.end_psn()) return false;
      ++result_.skipped["part of an incomplete message, or after one"];
      return true;
    });
  }

  void ReadResponses(size_t index) {
    Flow& flow = flows()[index];
    std::map<uint64_t, uint64_t> rnr_naks;  // by PSN
    const Packet *last = nullptr, *before = nullptr;
    uint64_t tries = 0;  // of the last packet, since the last response
    for (const Packet& packet : result_.packets) {
      if (packet.flow != index) continue;
      const auto message =
          std::ranges::partition_point(flow.messages, [&](const Message& each) { return each.last < packet.psn; });
      if (packet.is_response) {
        if (packet.frame.info().operation == BthOperation::kRdmaReadResponse) TakeReadData(flow, *message, packet);
        if (packet.frame.info().operation == BthOperation::kAtomicAcknowledge && IsAtomic(message->operation)) {
          message->payload = InMemory(packet.frame.atomic_ack_eth.original_data);
        }
        if (packet.frame.info().has_aeth && packet.frame.aeth.kind == spec::AethKind::kRnrNak) ++rnr_naks[packet.psn];
        if (packet.frame.info().has_aeth && packet.frame.aeth.kind == spec::AethKind::kNak &&
            static_cast<spec::NakCode>(packet.frame.aeth.value) != spec::NakCode::kPsnSequenceError) {
          message->nak_psn = packet.psn;
          message->nak = static_cast<spec::NakCode>(packet.frame.aeth.value);
        }
        tries = 0;
      } else {
        tries = last != nullptr && !last->is_response && last->psn == packet.psn ? tries + 1 : 1;
      }
      before = last;
      last = &packet;
    }
    if (last == nullptr || flow.service != BthService::kRc) return;
    if (last->is_response) {
      const bool refused = last->frame.info().has_aeth && last->frame.aeth.kind == spec::AethKind::kRnrNak;
      if (refused && rnr_naks[last->psn] <= kRnrRetryForever) {
        flow.rnr_retry = static_cast<uint8_t>(rnr_naks[last->psn] - 1);
      }
    } else if (tries >= 2 && tries <= kMaxRetries + 1U) {
      flow.retry_cnt = static_cast<uint8_t>(tries - 1);
      flow.retry_gap_ns = last->time_ns > before->time_ns ? last->time_ns - before->time_ns : 0;
    }
  }
  static void TakeReadData(const Flow& flow, Message& message, const Packet& packet) {
    if (message.operation != BthOperation::kRdmaReadRequest) return;
    const uint64_t offset = (packet.psn - message.first) * MtuBytes(flow.path_mtu);
    if (message.payload.size() < message.reth.dma_length) message.payload.resize(message.reth.dma_length);
    const auto& data = packet.frame.payload;
    if (offset + data.size() <= message.payload.size()) {
      std::ranges::copy(data, message.payload.begin() + static_cast<ptrdiff_t>(offset));
    }
  }

  void FindRegions() {
    FindRegions(/*whole=*/false);
    FindRegions(/*whole=*/true);
  }
  // `whole`: what a FLUSH of a whole region says, which names its key only: the region is known by other requests.
  void FindRegions(bool whole) {
    for (const Flow& flow : flows()) {
      for (const Message& message : flow.messages) {
        if (message.nak_psn) break;  // it and all later ones were not executed
        if (whole != IsWholeFlush(message)) continue;
        if (whole) {
          const auto known = result_.regions.find({flow.responder, message.reth.rkey});
          if (known != result_.regions.end()) known->second.flushed |= message.feth.placement;
          continue;
        }
        if (message.operation == BthOperation::kSend || message.reth.dma_length == 0) continue;
        const uint64_t first = message.reth.virtual_address, end = first + message.reth.dma_length;
        auto [at, is_new] = result_.regions.try_emplace({flow.responder, message.reth.rkey}, Region{first, end});
        at->second.first = std::min(at->second.first, first);
        at->second.end = std::max(at->second.end, end);
        Region& region = at->second;
        if (message.operation == BthOperation::kFlush) {
          region.flushed |= message.feth.placement;
          continue;
        }
        (IsWrite(message.operation)    ? region.written
         : IsAtomic(message.operation) ? region.changed
                                       : region.read) = true;
      }
    }
  }

  Conversation result_;
  std::map<FlowKey, size_t> latest_;
  std::vector<std::map<uint64_t, RoceFrame>> requests_;  // by flow: each PSN once
  std::map<ResponseKey, uint32_t> pairs_;
};

}  // namespace

uint64_t ExtendPsn(uint32_t psn, uint64_t reference) {
  return static_cast<uint64_t>(static_cast<int64_t>(reference) + Distance(psn, reference));
}

bool IsAtomic(BthOperation operation) {
  return operation == BthOperation::kCompareSwap || operation == BthOperation::kFetchAdd;
}

bool IsWholeFlush(const Message& message) {
  return message.operation == BthOperation::kFlush && message.feth.selectivity == spec::FlushSelectivity::kMemoryRegion;
}

bool IsWrite(BthOperation operation) {
  return operation == BthOperation::kRdmaWrite || operation == BthOperation::kAtomicWrite;
}

std::vector<uint8_t> InMemory(uint64_t value) {
  std::vector<uint8_t> bytes(sizeof value);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  return bytes;
}

uint64_t PsnsOf(const RoceFrame& request, spec::IbMtu path_mtu) {
  if (request.info().operation != BthOperation::kRdmaReadRequest) return 1;
  const uint64_t mtu = MtuBytes(path_mtu);
  return std::max<uint64_t>(1, (request.reth.dma_length + mtu - 1) / mtu);
}

const Message* Flow::Find(uint64_t psn) const {
  const auto at = std::ranges::partition_point(messages, [psn](const Message& each) { return each.last < psn; });
  return at == messages.end() || psn < at->first ? nullptr : &*at;
}

uint64_t Flow::CompletedAt(uint64_t psn) const {
  const auto end = std::ranges::partition_point(messages, [psn](const Message& each) {
    return psn >= (each.operation == BthOperation::kRdmaReadRequest ? each.first : each.last);
  });
  return static_cast<uint64_t>(end - messages.begin());
}

Conversation ReadConversation(const Capture& capture) { return Reader().Read(capture); }

}  // namespace vireo::sim
