// SPDX-License-Identifier: Apache-2.0
// The responder's behavior, frame by frame, by IBTA without timing; and peers whose packets feed both it and the block.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "verif/rdma/responder_bench.h"

namespace vireo::verif {

// An outgoing READ, and the addresses of its elements.
struct OurRead {
  spec::ReadRecord record;
  std::vector<spec::RdmaSge> elements;
};

// The responder's behavior, frame by frame, by IBTA.
struct Reference {
  struct Half {
    bool halted = false, gap = false, inside = false, send = false, holds = false, dead_reads = false;
    bool refused = false;  // a WRITE with immediate, for its key
    uint32_t psn = 0, msn = 0, rkey = 0, received = 0;
    uint64_t at = 0, left = 0;
    Posted held{};
    size_t element = 0;
    uint32_t used = 0;  // of the element
    // Of the oldest outgoing READ.
    uint32_t read_psn = 0, read_bytes = 0;
    size_t read_element = 0;
    uint32_t read_used = 0;
  };
  std::array<spec::IbQpType, kQps> type{};
  std::array<Half, kQps> halves{};
  std::array<bool, kQps> may_write{}, may_read{}, may_atomic{}, may_flush_global{}, may_flush_persistent{};
  std::array<unsigned, kQps> max_reads{}, reads_issued{};  // given: since the load, none of which has ended
  std::array<bool, kQps> duplicate_limit{};                // duplicates are among them
  std::array<std::deque<Posted>, kQps> posted{};
  std::array<std::deque<OurRead>, kQps> reads{};
  std::array<bool, kQps> broken{};
  std::vector<spec::RxPlace> places{};
  std::vector<spec::QpFailure> failures{};

  void Frame(const RxToken& t) {
    if (const auto last = Decide(t)) places.push_back(*last);
  }
  // The receive that ERR flushes.
  std::vector<spec::RxPlace> Flush(uint32_t qpn) {
    std::vector<spec::RxPlace> result;
    const Half& h = halves[qpn];
    if (h.holds) result.push_back(Flushed(h.held, qpn));
    if (!broken[qpn]) {
      for (const auto& one : posted[qpn]) {
        const bool own = h.refused && result.empty();
        result.push_back(own ? Failed(one, IbWcStatus::kLocAccessErr,
                                      static_cast<uint32_t>(AethSyndrome::kNakRemoteAccessError), {.no_frame = true},
                                      qpn)
                             : Flushed(one, qpn));
      }
    }
    posted[qpn].clear();
    return result;
  }

 private:
  enum class Scattered { kAll, kShort, kKey };
  struct Part {
    bool zeros;
    uint32_t offset, bytes;
  };

  bool IsRc(uint32_t qpn) const { return type[qpn] == spec::IbQpType::kRc; }
  bool IsUd(uint32_t qpn) const { return !IsRc(qpn) && type[qpn] != spec::IbQpType::kUc; }
  // All but the last piece are sent at once.
  Scattered Scatter(const std::vector<Part>& parts, const std::vector<spec::RdmaSge>& elements, size_t& element,
                    uint32_t& used, spec::RxPlace& place) {
    for (const Part& part : parts) {
      for (uint32_t done = 0; done < part.bytes;) {
        if (element == elements.size()) return Scattered::kShort;
        const auto& to = elements[element];
        const uint32_t bytes = std::min(part.bytes - done, to.length - used);
        if (bytes != 0 && to.lkey != kLkey) return Scattered::kKey;
        if (bytes != 0) {
          const auto where = Check({.key = kLkey, .address = to.addr + used, .bytes = bytes});
          place = {.zeros = part.zeros,
                   .offset = static_cast<uint16_t>(part.offset + done),
                   .address0 = where.address0,
                   .bytes0 = where.bytes0,
                   .address1 = where.address1,
                   .bytes1 = where.bytes1,
                   .grant = where.grant};
          if (&part != &parts.back() || done + bytes != part.bytes) {
            place.more = true;
            places.push_back(place);
            place = {};
          }
        }
        done += bytes;
        used += bytes;
        if (used == to.length && done < part.bytes) {
          ++element;
          used = 0;
        }
      }
    }
    return Scattered::kAll;
  }
  spec::RxPlace Refuse(const RxToken& t, RdmaEventType event, AethSyndrome syndrome,
                       std::optional<RdmaError> own = {}) {
    Half& h = halves[t.bth.dest_qp];
    h.halted = true;
    const bool rc = IsRc(t.bth.dest_qp);
    failures.push_back({.qpn = t.bth.dest_qp,
                        .event_type = rc ? event : RdmaEventType::kQpFatal,
                        .code = own ? static_cast<uint32_t>(*own) : static_cast<uint32_t>(syndrome)});
    return rc ? Answer(t.bth.psn, syndrome, h.msn, t.bth.dest_qp) : kDropped;
  }
  // Likewise, and the receive completes. `own`: what is reported here; on RC what the peer gets, if `if_rc` is not.
  spec::RxPlace Fail(const RxToken& t, const Posted& receive, IbWcStatus status, RdmaEventType event,
                     AethSyndrome syndrome, RdmaError own, bool if_rc) {
    halves[t.bth.dest_qp].inside = halves[t.bth.dest_qp].holds = false;
    const bool is_own = if_rc || !IsRc(t.bth.dest_qp);
    const auto place = Refuse(t, event, syndrome, is_own ? std::optional(own) : std::nullopt);
    failures.back().reported = true;
    return Failed(receive, status, is_own ? static_cast<uint32_t>(own) : static_cast<uint32_t>(syndrome), place,
                  t.bth.dest_qp);
  }
  // The next receive; or none, with the place that reports it.
  std::optional<Posted> Receive(const RxToken& t, spec::RxPlace& place) {
    const uint32_t qpn = t.bth.dest_qp;
    Half& h = halves[qpn];
    if (h.holds) return h.held;
    if (!IsRc(qpn) && (broken[qpn] || posted[qpn].empty())) {
      h.inside = false;
      place = kDropped;
      return {};
    }
    if (broken[qpn]) {
      place = Refuse(t, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError,
                     RdmaError::kRemoteOperationalError);
      return {};
    }
    if (posted[qpn].empty()) {
      h.gap = true;
      place = NotReady(t.bth.psn, h.msn);
      place.answer.packet.qpn = qpn;
      return {};
    }
    const Posted receive = posted[qpn].front();
    posted[qpn].pop_front();
    if (receive.code == RdmaError::kOk) return receive;
    place = Fail(t, receive, IbWcStatus::kLocQpOpErr, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError,
                 receive.code, true);
    return {};
  }
  // A response to an outgoing READ.
  spec::RxPlace Response(const RxToken& t) {
    Half& h = halves[t.bth.dest_qp];
    auto& queue = reads[t.bth.dest_qp];
    if (queue.empty() || h.dead_reads) return kDropped;
    const OurRead& read = queue.front();
    const uint32_t distance = Psn(t.bth.psn - read.record.first_psn - h.read_psn);
    if (distance >= 0x800000) return kDropped;
    spec::RxAck ack{.qpn = t.bth.dest_qp, .psn = t.bth.psn, .syndrome = 0x1f, .is_read = true};
    if (distance != 0) {
      ack.psn = Psn(read.record.first_psn + h.read_psn);
      ack.syndrome = static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
      return News(ack);
    }
    const auto fail = [&](IbWcStatus status, RdmaError code) {
      h.dead_reads = true;
      ack.msn = 0;
      ack.status = status;
      ack.syndrome = static_cast<uint8_t>(code);
      return News(ack);
    };
    const auto op = t.bth.opcode;
    const bool atomic = op == BthOpcode::kRcAtomicAcknowledge;
    const bool ends = op == BthOpcode::kRcRdmaReadResponseLast || op == BthOpcode::kRcRdmaReadResponseOnly || atomic;
    if (op != BthOpcode::kRcRdmaReadResponseMiddle) {
      if ((t.extension[0] & 0x60) != 0) return fail(IbWcStatus::kBadRespErr, RdmaError::kInvalidParameter);
      ack.syndrome = t.extension[0];
      ack.msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3]);
    }
    const uint32_t left = read.record.bytes - h.read_bytes;
    const uint32_t expected = read.record.is_atomic ? 0 : std::min<uint32_t>(left, kMtu);
    if (t.payload_bytes != expected || ends != (left <= kMtu) || atomic != read.record.is_atomic) {
      return fail(IbWcStatus::kBadRespErr, RdmaError::kInvalidLength);
    }
    spec::RxPlace place;
    const size_t before = places.size();
    const Part part{false, atomic ? 0u : t.payload_offset, atomic ? 8u : t.payload_bytes};
    const auto scattered = Scatter({part}, read.elements, h.read_element, h.read_used, place);
    if (atomic) {
      // The value instead of the frame's bytes, from what was the offset in it.
      const auto value = spec::AtomicAckEth::Decode(t.extension + spec::Aeth::kBytes).original_data;
      const auto of_value = [&](spec::RxPlace& one) {
        if (one.bytes0 == 0) return;
        one.has_value = true;
        one.value = value >> 8 * std::exchange(one.offset, uint16_t{0});
      };
      for (size_t i = before; i < places.size(); ++i) of_value(places[i]);
      of_value(place);
    }
    switch (scattered) {
      case Scattered::kShort: return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
      case Scattered::kKey: return fail(IbWcStatus::kLocProtErr, RdmaError::kBadMrn);
      case Scattered::kAll: break;
    }
    h.read_bytes += t.payload_bytes;
    ++h.read_psn;
    if (ends) {
      queue.pop_front();
      h.read_psn = h.read_bytes = h.read_used = 0;
      h.read_element = 0;
    }
    return News(ack, place);
  }
  // By the read responder.
  static bool IsAnswered(BthOpcode op) {
    return op == BthOpcode::kRcRdmaReadRequest || op == BthOpcode::kRcAtomicWrite || op == BthOpcode::kRcFlush ||
           IsAtomic(op);
  }
  // Behind the PSN check of a duplicate, legality, rights and key are all that differs from an atomic operation.
  bool MayFlush(uint32_t qpn, uint8_t feth) const {
    return ((feth & 1) == 0 || may_flush_global[qpn]) && ((feth & 2) == 0 || may_flush_persistent[qpn]);
  }
  static bool IsFlushLegal(uint8_t feth, uint32_t length) {
    const bool whole = (feth & 0x30) == 0x10;
    return (feth & 3) != 0 && (feth & 0xc) == 0 && (whole || ((feth & 0x30) == 0 && length < 1u << 31));
  }
  // An incoming READ. `expected`: no duplicate.
  spec::RxPlace Request(const RxToken& t, bool expected) {
    const uint32_t qpn = t.bth.dest_qp;
    Half& h = halves[qpn];
    auto reth = spec::Reth::Decode(t.extension);
    const bool store = t.bth.opcode == BthOpcode::kRcAtomicWrite;
    const bool flush = t.bth.opcode == BthOpcode::kRcFlush;
    const uint8_t feth = t.extension[spec::Reth::kBytes + 3];
    const bool atomic = IsAtomic(t.bth.opcode) || store || flush;
    const bool whole = store ? t.payload_bytes == 8 && reth.dma_length == 8 : t.payload_bytes == 0;
    if (atomic && !flush) reth.dma_length = 8;
    const uint32_t packets =
        reth.dma_length == 0 || flush ? 1 : static_cast<uint32_t>((uint64_t{reth.dma_length} + kMtu - 1) / kMtu);
    const bool legal = (!expected || !h.inside) && whole &&
                       (flush ? IsFlushLegal(feth, reth.dma_length) : reth.dma_length <= 1u << 31) &&
                       reads_issued[qpn] < max_reads[qpn] && (expected || packets <= Psn(h.psn - t.bth.psn)) &&
                       !(atomic && !flush && reth.virtual_address % 8 != 0);
    if (expected && reads_issued[qpn] >= max_reads[qpn] && duplicate_limit[qpn]) return kDropped;
    // A duplicate of an atomic operation accesses nothing.
    const bool supported = (atomic && !expected) || (flush    ? MayFlush(qpn, feth)
                                                     : store  ? may_write[qpn]
                                                     : atomic ? may_atomic[qpn]
                                                              : may_read[qpn]);
    const bool allowed = (atomic && !expected) || (reth.dma_length == 0 && !flush) || reth.rkey == kRkey;
    if (!expected && (!legal || !supported || !allowed)) return kDropped;
    if (!legal || !supported) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    if (!allowed) return Refuse(t, RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError);
    ++reads_issued[qpn];
    if (!expected) duplicate_limit[qpn] = true;
    if (expected) {
      h.gap = false;
      h.psn = Psn(h.psn + packets);
      h.msn = Psn(h.msn + 1);
    }
    Packet packet{.opcode = t.bth.opcode,
                  .psn = t.bth.psn,
                  .qpn = qpn,
                  .address = reth.virtual_address,
                  .rkey = reth.rkey,
                  .dma_length = reth.dma_length};
    if (!atomic) return Given(packet, h.msn);
    if (flush) {
      packet.swap_add = feth;
      return GivenFlush(packet, h.msn, !expected);
    }
    if (store) {
      packet.swap_add = 0;
      for (unsigned i = 8; i-- != 0;) packet.swap_add = packet.swap_add << 8 | t.extension[spec::Reth::kBytes + i];
      return GivenStore(packet, h.msn, !expected);
    }
    const auto operands = spec::AtomicEth::Decode(t.extension);
    packet.swap_add = operands.swap_add_data;
    packet.compare = operands.compare_data;
    return GivenAtomic(packet, h.msn, !expected);
  }

  std::optional<spec::RxPlace> Decide(const RxToken& t) {
    const uint32_t qpn = t.bth.dest_qp;
    uint8_t peer[16];
    SetPeer(qpn, peer);
    uint8_t own[16];
    SetOwn(qpn, own);
    if (t.verdict == spec::RxVerdict::kNet) return spec::RxPlace{.net_bytes = t.frame_bytes};
    if (qpn >= kQps) return kDropped;
    Half& h = halves[qpn];
    const auto op = t.bth.opcode;
    const bool rc = IsRc(qpn), ud = IsUd(qpn);
    const auto service = static_cast<unsigned>(op) / 32;
    auto code = static_cast<unsigned>(op) % 32;
    if (h.halted || service != (rc ? 0u : ud ? 3u : 1u) || t.bth.pkey != spec::kPkeyDefault) return kDropped;
    if (!std::equal(kMac.begin(), kMac.end(), t.destination_mac)) return kDropped;
    if (ud && spec::Deth::Decode(t.extension).qkey != kQkey) return kDropped;
    if (!ud && (!std::equal(peer, peer + 16, t.ip_source) || !std::equal(own, own + 16, t.ip_destination))) {
      return kDropped;
    }
    if (op == BthOpcode::kRcAcknowledge) {
      if (t.payload_bytes != 0) return kDropped;
      return News({.qpn = qpn,
                   .psn = t.bth.psn,
                   .syndrome = t.extension[0],
                   .msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3])});
    }
    if (rc && ((code >= 0x0d && code <= 0x10) || op == BthOpcode::kRcAtomicAcknowledge)) return Response(t);
    const uint32_t distance = Psn(t.bth.psn - h.psn);
    if (rc && distance >= 0x800000) {
      if (IsAnswered(op)) return Request(t, false);
      const bool write_or_send =
          code <= 0x0b || op == BthOpcode::kRcSendLastWithInvalidate || op == BthOpcode::kRcSendOnlyWithInvalidate;
      return write_or_send ? Answer(h.psn - 1, AethSyndrome::kAckNoCredits, h.msn, qpn) : kDropped;
    }
    if (rc && distance != 0) {
      if (std::exchange(h.gap, true)) return kDropped;
      return Answer(h.psn, AethSyndrome::kNakPsnSequenceError, h.msn, qpn);
    }
    if (IsAnswered(op)) return Request(t, true);
    const bool invalidates = op == BthOpcode::kRcSendLastWithInvalidate || op == BthOpcode::kRcSendOnlyWithInvalidate;
    if (invalidates) code = op == BthOpcode::kRcSendLastWithInvalidate ? 2 : 4;
    if (code > 0x0b) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    // Of both operations: first, middle, last, last with immediate, only, only with immediate.
    const bool send = code < 6;
    const bool first = code % 6 == 0, middle = code % 6 == 1, only = code % 6 >= 4, ends = code % 6 >= 2;
    const bool immediate = code % 6 == 3 || code % 6 == 5;
    bool fits = (first || middle) ? t.payload_bytes == kMtu : t.payload_bytes <= kMtu;
    fits = fits && (only || t.payload_bytes != 0);
    uint64_t at = h.at, left = h.left;
    uint32_t rkey = h.rkey;
    if (!send && (first || only)) {
      const auto reth = spec::Reth::Decode(t.extension);
      at = reth.virtual_address;
      rkey = reth.rkey;
      left = reth.dma_length;
    }
    if (!send) fits = fits && (ends ? left == t.payload_bytes : left > t.payload_bytes);
    const bool begins = first || only;
    bool order = h.inside ? !begins && send == h.send : begins;
    if (!rc) order = begins || (h.inside && send == h.send && distance == 0);
    if (!order || !fits) {
      h.inside = false;
      if (!rc) return kDropped;
      h.inside = h.holds;  // an ERR that follows completes the receive
      return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    }

    spec::RxPlace place;
    Posted receive;
    if (send) {
      if (begins) {
        const auto got = Receive(t, place);
        if (!got) return place;
        h.held = *got;
        h.element = h.used = 0;
        h.holds = true;
      }
      receive = h.held;
      std::vector<Part> parts;
      if (ud && !t.is_ipv6) parts.push_back({true, 0, 20});
      if (ud) parts.push_back({false, t.l3_offset, t.is_ipv6 ? 40u : 20u});
      parts.push_back({false, t.payload_offset, t.payload_bytes});
      switch (Scatter(parts, receive.elements, h.element, h.used, place)) {
        case Scattered::kShort:
          return Fail(t, receive, IbWcStatus::kLocLenErr, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest,
                      RdmaError::kInvalidLength, false);
        case Scattered::kKey:
          return Fail(t, receive, IbWcStatus::kLocProtErr, RdmaEventType::kQpFatal,
                      AethSyndrome::kNakRemoteOperationalError, RdmaError::kBadMrn, true);
        case Scattered::kAll: break;
      }
      // The offset of zeros is ignored.
      if (invalidates) {
        // Its key is asked for when all of it has been placed.
        if (place.bytes0 != 0) {
          place.more = true;
          places.push_back(place);
          place = {};
        }
        const uint32_t key = spec::Ieth::Decode(t.extension).rkey;
        if (key != kRkey && key != kLkey) {
          return Fail(t, receive, IbWcStatus::kRemInvReqErr, RdmaEventType::kQpAccessErr,
                      AethSyndrome::kNakRemoteAccessError, RdmaError::kOk, false);
        }
      }
    } else {
      const bool supported = may_write[qpn];
      if (!supported || (t.payload_bytes != 0 && rkey != kRkey)) {
        h.inside = false;
        if (!rc) return kDropped;
        if (!supported) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
        h.refused = immediate;
        return Refuse(t, RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError);
      }
      if (immediate) {
        const auto got = Receive(t, place);
        if (!got) return place;
        receive = *got;
      }
      if (t.payload_bytes != 0) place = Write(t, at);
      h.at = at + t.payload_bytes;
      h.left = left - t.payload_bytes;
      h.rkey = rkey;
    }
    h.received = (begins ? 0 : h.received) + t.payload_bytes + (ud ? 40 : 0);
    h.send = send;
    h.inside = !ends;
    h.gap = false;
    h.msn = Psn(h.msn + ends);
    h.psn = Psn(t.bth.psn + 1);
    place.request = true;
    place.acknowledged = rc;
    place.uses_receive = send;
    place.ends_message = ends;
    place.fence = invalidates;
    place.has_answer = t.bth.ack_req && rc;
    place.answer = Answer(t.bth.psn, AethSyndrome::kAckNoCredits, h.msn, qpn).answer;
    if (ends && (send || immediate)) {
      spec::RdmaCqReq cqe{.opcode = send ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm, .byte_len = h.received};
      if (ud) {
        cqe.src_qp = spec::Deth::Decode(t.extension).source_qp;
        cqe.wc_flags = 1;
      }
      if (immediate) {
        std::copy_n(t.extension + (ud ? 8 : only && !send ? 16 : 0), 4, cqe.imm_data);
        cqe.wc_flags |= 2;
      }
      if (invalidates) {
        std::copy_n(t.extension, 4, cqe.imm_data);
        cqe.wc_flags |= 8;
      }
      h.holds = false;
      place = With(place, CompletionOf(receive, cqe, t.bth.solicited_event, qpn));
    }
    return place;
  }
};

// Of this many elements one has a wrong key, of this many lists one is likely to be too short.
inline std::vector<spec::RdmaSge> SomeElements(std::mt19937_64& random, unsigned bad = 60, unsigned few = 24) {
  std::vector<spec::RdmaSge> elements;
  for (auto count = random() % 5; count != 0; --count) {
    const auto length = static_cast<uint32_t>(random() % 4 == 0 ? 0 : random() % (random() % 2 ? 40 : 2 * kMtu));
    elements.push_back(Host::Element(random(), length, random() % bad == 0 ? kBadLkey : kLkey));
  }
  if (random() % few != 0) elements.push_back(Host::Element(random(), 8 * kMtu));
  return elements;
}

// A host's receives: nearly always right and long enough.
inline void PostOne(std::mt19937_64& random, Host& host, uint32_t qpn) {
  host.Post(qpn, SomeElements(random), random() % 60 == 0 ? RdmaError::kBadWqe : RdmaError::kOk);
}

// Peers that are nearly always right.
class Peers {
 public:
  // Their answers: may be changed at any time.
  std::array<std::deque<spec::ReadRecord>, kQps> reads{};

  Peers(std::mt19937_64& random, std::array<uint32_t, kQps> psn, std::array<spec::IbQpType, kQps> type = AllRc())
      : random_(random), psn_(psn), type_(type) {}

  static std::array<spec::IbQpType, kQps> AllRc() {
    std::array<spec::IbQpType, kQps> type{};
    type.fill(spec::IbQpType::kRc);
    return type;
  }
  static std::array<spec::IbQpType, kQps> Mixed(std::mt19937_64& random) {
    auto type = AllRc();
    for (auto& one : type) {
      const auto pick = random() % 8;
      if (pick == 0) one = spec::IbQpType::kUd;
      if (pick == 1) one = spec::IbQpType::kGsi;
      if (pick == 2 || pick == 3) one = spec::IbQpType::kUc;
    }
    return type;
  }

  RxToken Next() {
    const auto qpn = static_cast<uint32_t>(random_() % kQps);
    const bool rc = type_[qpn] == spec::IbQpType::kRc;
    if (rc && !reads[qpn].empty() && One(3)) return Response(qpn);
    if (rc && One(5)) {
      RxToken ack = AckOf(static_cast<uint32_t>(random_()), static_cast<uint8_t>(random_()),
                          static_cast<uint32_t>(random_() & 0xffffff));
      ack.bth.dest_qp = qpn;
      SetPeer(qpn, ack.ip_source);
      SetOwn(qpn, ack.ip_destination);
      return ack;
    }
    Packet packet{.psn = psn_[qpn],
                  .ack_req = One(2),
                  .qpn = qpn,
                  .address = random_(),
                  .solicited = One(3),
                  .immediate = static_cast<uint32_t>(random_()),
                  .source_qp = static_cast<uint32_t>(random_() & 0xffffff),
                  .is_ipv6 = One(2)};
    uint32_t left = left_[qpn];
    uint32_t packets = 1;
    const bool begins = left == 0;
    if (begins && rc && One(8)) {
      packet.opcode = One(2) ? BthOpcode::kRcCompareSwap : BthOpcode::kRcFetchAdd;
      packet.bytes = 0;
      if (!One(30)) packet.address &= ~uint64_t{7};
      packet.swap_add = random_();
      packet.compare = random_();
      if (One(3)) {
        packet.opcode = BthOpcode::kRcAtomicWrite;
        packet.bytes = static_cast<uint16_t>(One(30) ? random_() % 20 : 8);
        packet.dma_length = One(30) ? static_cast<uint32_t>(random_() % 20) : 8;
      } else if (One(4)) {
        packet.opcode = BthOpcode::kRcFlush;
        packet.swap_add = One(10) ? random_() % 64 : (One(2) ? 0 : 0x10) + 1 + random_() % 3;
        packet.dma_length = static_cast<uint32_t>(One(10) ? random_() : random_() % 5000);
        if (One(6)) packet.dma_length = 0;
      }
    } else if (begins && rc && One(5)) {
      packet.opcode = BthOpcode::kRcRdmaReadRequest;
      packet.bytes = 0;
      packet.dma_length = static_cast<uint32_t>(One(4) ? random_() % 3 : random_() % (10 * kMtu));
      if (One(20)) packet.dma_length = static_cast<uint32_t>(random_());
      packets = *packet.dma_length == 0 ? 1 : (*packet.dma_length - 1) / kMtu + 1;
    } else {
      if (begins) {
        left = static_cast<uint32_t>(random_() % (One(2) ? kMtu + 1 : 6 * kMtu));
        packet.dma_length = left;
        send_[qpn] = One(2);
      }
      const bool ud = !rc && type_[qpn] != spec::IbQpType::kUc;
      const bool ends = left <= kMtu || ud;
      const unsigned position = ends ? (begins ? 4 : 2) + (One(3) ? 1 : 0) : begins ? 0 : 1;
      const unsigned service = rc ? 0 : ud ? 0x60 : 0x20;
      packet.opcode = static_cast<BthOpcode>(service + position + (send_[qpn] || ud ? 0 : 6));
      packet.bytes = static_cast<uint16_t>(std::min<uint32_t>(left, kMtu));
      left = ud ? 0 : left - packet.bytes;
    }

    bool wrong = false;
    const auto sometimes = [&](unsigned of) {
      const bool now = One(of);
      wrong |= now;
      return now;
    };
    if (sometimes(12)) packet.psn -= static_cast<uint32_t>(random_() % (One(2) ? 20 : 0x800000));
    if (sometimes(40)) packet.psn += static_cast<uint32_t>(random_() % 0x800000);
    if (sometimes(60)) packet.opcode = static_cast<BthOpcode>(random_() % (One(4) ? 256 : 32));
    if (sometimes(200)) packet.bytes = static_cast<uint16_t>(random_() % 9000);
    if (sometimes(60)) packet.rkey = kBadRkey;
    if (sometimes(60)) packet.qkey ^= 1u << random_() % 32;
    return Send(packet, wrong, sometimes, [&] {
      psn_[qpn] = Psn(psn_[qpn] + packets);
      left_[qpn] = left;
    });
  }

 private:
  bool One(unsigned of) { return random_() % of == 0; }

  template <typename Sometimes, typename Done>
  RxToken Send(const Packet& packet, const bool& wrong, const Sometimes& sometimes, const Done& done) {
    RxToken token = TokenOf(packet);
    // The parser passes unknown opcodes only if they are of RC.
    if (!token.info.valid && static_cast<uint8_t>(packet.opcode) >= 0x20) token = TokenOf({});
    token.frame_bytes = static_cast<uint16_t>(1 + random_() % 0x3fff);
    if (sometimes(30)) token.verdict = spec::RxVerdict::kNet;
    if (sometimes(50)) token.ip_source[random_() % 16] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.ip_destination[random_() % 16] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.destination_mac[random_() % 6] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.bth.pkey = static_cast<uint16_t>(random_() & 0x7ffe);
    if (sometimes(100)) token.bth.dest_qp = static_cast<uint32_t>(random_() % (uint64_t{2} * kQps));
    // Most errors come beside the right packet, the rest instead of it.
    if (wrong && !One(4)) return token;
    done();
    return token;
  }
  RxToken Response(uint32_t qpn) {
    const spec::ReadRecord& read = reads[qpn].front();
    uint32_t& at = read_[qpn];
    const uint32_t left = read.bytes - std::min(at * kMtu, read.bytes);
    const bool begins = at == 0, ends = left <= kMtu;
    const auto base = static_cast<unsigned>(BthOpcode::kRcRdmaReadResponseFirst);
    Packet packet{.opcode = static_cast<BthOpcode>(base + (ends     ? (begins ? 3 : 2)
                                                           : begins ? 0
                                                                    : 1)),
                  .psn = read.first_psn + at,
                  .bytes = static_cast<uint16_t>(std::min<uint32_t>(left, kMtu)),
                  .ack_req = false,
                  .qpn = qpn};
    packet.swap_add = random_();
    if (read.is_atomic) {
      packet.opcode = BthOpcode::kRcAtomicAcknowledge;
      packet.bytes = 0;
    }
    bool wrong = false;
    const auto sometimes = [&](unsigned of) {
      const bool now = One(of);
      wrong |= now;
      return now;
    };
    if (sometimes(12)) packet.psn -= static_cast<uint32_t>(random_() % (One(2) ? 5 : 0x800000));
    if (sometimes(12)) packet.psn += static_cast<uint32_t>(random_() % (One(2) ? 5 : 0x800000));
    if (sometimes(60)) packet.opcode = static_cast<BthOpcode>(base + random_() % 4);
    if (sometimes(60)) packet.opcode = BthOpcode::kRcAtomicAcknowledge;
    if (sometimes(100)) packet.bytes = static_cast<uint16_t>(random_() % 9000);
    uint8_t syndrome = static_cast<uint8_t>(random_() % 32);
    if (sometimes(60)) syndrome = static_cast<uint8_t>(random_());
    RxToken token = Send(packet, wrong, sometimes, [&] {
      ++at;
      if (!ends) return;
      at = 0;
      reads[qpn].pop_front();
    });
    if (token.info.has_aeth) {
      token.extension[0] = syndrome;
      for (unsigned i = 1; i < 4; ++i) token.extension[i] = static_cast<uint8_t>(random_());
    }
    return token;
  }

  std::mt19937_64& random_;
  std::array<uint32_t, kQps> psn_;
  std::array<spec::IbQpType, kQps> type_;
  std::array<uint32_t, kQps> left_{};
  std::array<bool, kQps> send_{};
  std::array<uint32_t, kQps> read_{};  // packets of its first READ that were sent
};

}  // namespace vireo::verif
