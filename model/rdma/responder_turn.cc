// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/responder_turn.h"

#include <algorithm>
#include <iterator>

#include "model/rdma/psn.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

using spec::BthOperation;
using spec::BthService;
using spec::IbQpState;
using spec::PayloadRule;
using spec::RxVerdict;

// The other bit of a P_Key is the membership.
constexpr uint16_t kPkeyMask = 0x7fff;

}  // namespace

void ResponderHalf::EndSend() {
  nak_sent = false;
  expected_psn = (expected_psn + 1) & kPsnMask;
  msn = (msn + 1) & kPsnMask;
  holds = false;
  in_message = false;
}

void ResponderTurn::Locate() {
  const bool starts = frame.info.starts_message;
  const auto reth = spec::Reth::Decode(frame.extension);
  address = starts ? reth.virtual_address : half.position.cursor.address;
  rkey = starts ? reth.rkey : half.position.cursor.key;
  bytes_left = starts ? reth.dma_length : half.position.cursor.bytes_left;
  if (IsWhole()) {
    bytes_left = 1;  // stands for all of the region
  } else if (IsAtomic() && !IsFlush()) {
    bytes_left = spec::kAtomicBytes;  // address and key are where a RETH has them
  }
}

spec::Feth ResponderTurn::Flush() const {
  return IsFlush() ? spec::Feth::Decode(frame.extension + spec::Reth::kBytes) : spec::Feth{};
}

// The first request of a connection, even if it fails. In RTR a response belongs to an earlier instance of the QP.
bool ResponderTurn::Announces() const {
  return qp_state == IbQpState::kRtr && !half.established && IsTaken() && !IsDatagram() && !frame.info.is_response;
}

uint32_t ResponderTurn::MtuBytes() const { return uint32_t{1} << (kMtuShift + attributes.path_mtu); }

// For a READ's response; each packet has a PSN. [IBTA vol. 1, 9.7.2]
uint32_t ResponderTurn::PacketsOf(uint32_t bytes) const {
  return bytes == 0 ? 1 : static_cast<uint32_t>((uint64_t{bytes} + MtuBytes() - 1) / MtuBytes());
}

// A packet from its peer for a QP of ours that receives. [IBTA vol. 1, 9.6]
bool ResponderTurn::IsTaken() const {
  if (!enabled || !is_ours || frame.verdict != RxVerdict::kRoce) return false;
  const bool receives = attributes.exists && frame.bth.dest_qp < num_qps && !half.failed &&
                        (qp_state == IbQpState::kRtr || qp_state == IbQpState::kRts || qp_state == IbQpState::kSqd ||
                         qp_state == IbQpState::kSqe);
  const bool service_matches =
      static_cast<BthService>(static_cast<uint8_t>(frame.bth.opcode) >> 5) == attributes.service;
  // Ours is a full member, so the membership bit of the other side does not matter. [10.9.3]
  const bool pkey_matches = (frame.bth.pkey & kPkeyMask) == (spec::kPkeyDefault & kPkeyMask);
  if (!receives || !service_matches || !pkey_matches) return false;
  if (IsDatagram()) return spec::Deth::Decode(frame.extension).qkey == attributes.qkey;
  // A connected QP accepts packets from its peer only, sent to its own address.
  return std::equal(std::begin(frame.ip_source), std::end(frame.ip_source), attributes.peer) &&
         std::equal(std::begin(frame.ip_destination), std::end(frame.ip_destination), attributes.own);
}

bool ResponderTurn::HasRoom() const { return static_cast<uint8_t>(reads_issued - ended) < attributes.max_reads; }

// Checks that do not depend on the READ request's PSN.
bool ResponderTurn::IsReadLegal() const {
  // More READs than the peer may have outstanding are invalid, too. [IBTA vol. 1, 9.7.4.1]
  // The operand of an atomic operation is aligned. [9.4.5]
  if (IsFlush()) {
    // What is reserved cannot be promised.
    const spec::Feth feth = Flush();
    return frame.payload_bytes == 0 &&
           IsFlushLegal(static_cast<uint8_t>(feth.placement), static_cast<uint8_t>(feth.selectivity), bytes_left) &&
           HasRoom();
  }
  if (IsAtomic() && address % spec::kAtomicBytes != 0) return false;
  if (IsAtomicWrite()) {
    // Header and payload have its length. [A19.4.2]
    const auto reth = spec::Reth::Decode(frame.extension);
    return frame.payload_bytes == spec::kAtomicBytes && reth.dma_length == spec::kAtomicBytes && HasRoom();
  }
  return frame.payload_bytes == 0 && bytes_left <= kMaxMessageBytes && HasRoom();
}

bool ResponderTurn::IsLengthLegal() const {
  switch (frame.info.payload) {
    case PayloadRule::kMtu: return frame.payload_bytes == MtuBytes();
    case PayloadRule::kOneToMtu: return frame.payload_bytes != 0 && frame.payload_bytes <= MtuBytes();
    case PayloadRule::kZeroToMtu: return frame.payload_bytes <= MtuBytes();
    default: return false;
  }
}

// Opcode sequence, operation and lengths of the expected packet. [IBTA vol. 1, 9.7.4]
bool ResponderTurn::IsRequestValid() const {
  // Without acknowledges, any first or only packet starts a message. [9.8.2]
  const bool restarts = !IsAcknowledged() && frame.info.starts_message;
  if (!restarts && frame.info.starts_message == half.in_message) return false;
  if (!frame.info.starts_message && IsSend() != half.send) return false;
  if (IsRead()) return IsReadLegal();
  if (IsSend() ? frame.info.has_ieth && !has_invalidation : frame.info.operation != BthOperation::kRdmaWrite)
    return false;
  if (!IsLengthLegal()) return false;
  // A SEND's length is checked against its elements.
  if (IsSend()) return true;
  return frame.info.ends_message ? bytes_left == frame.payload_bytes : bytes_left > frame.payload_bytes;
}

// Invalid packets are dropped silently. A datagram's PSN is ignored. [IBTA vol. 1, 9.8.2, 9.8.3]
ResponderAction ResponderTurn::DecideUnacknowledged() const {
  if (!IsRequestValid() || (!frame.info.starts_message && frame.bth.psn != half.expected_psn)) return Action::kAbandon;
  if (IsSend()) return frame.info.consumes_recv ? Action::kReceive : Action::kContinue;
  if (!HasRight()) return Action::kAbandon;
  if (frame.payload_bytes == 0) return frame.info.consumes_recv ? Action::kReceive : Action::kAccept;
  return Action::kWrite;
}

ResponderAction ResponderTurn::Decide() const {
  if (!IsTaken()) return Action::kDrop;
  if (frame.info.is_response) {
    if (frame.info.operation == BthOperation::kRdmaReadResponse) return Action::kResponse;
    if (has_atomics && frame.info.has_atomic_ack_eth) return Action::kResponse;
    return frame.info.operation == BthOperation::kAcknowledge && frame.payload_bytes == 0 ? Action::kAcknowledge
                                                                                          : Action::kDrop;
  }
  if (!IsAcknowledged()) return DecideUnacknowledged();
  const uint32_t ahead_by = (frame.bth.psn - half.expected_psn) & kPsnMask;
  if (IsBehind(ahead_by)) {
    if (frame.info.response == BthOperation::kAcknowledge) return Action::kDuplicate;
    // A duplicate READ is executed again, if all of it is behind; the result of an atomic operation is sent again,
    // without an access. [9.7.5.1.4]
    const uint32_t psns_behind = kPsnMask + 1 - ahead_by;
    if (!IsRead() || !IsReadLegal() || Packets() > psns_behind) return Action::kDrop;
    if (IsAtomic()) return Action::kReplayRead;
    if (!attributes.remote_read) return Action::kDrop;
    return bytes_left != 0 ? Action::kRead : Action::kReplayRead;
  }
  // One NAK per gap, until the missing packet has arrived. [9.7.5]
  if (ahead_by != 0) return half.nak_sent ? Action::kDrop : Action::kSequence;
  // Duplicates whose responses the peer already has take space from READs behind them, which are retransmitted then.
  if (IsRead() && !HasRoom() && static_cast<int8_t>(duplicate_limit - ended) > 0) return Action::kDrop;
  if (!IsRequestValid()) return Action::kInvalid;
  if (IsSend()) return frame.info.consumes_recv ? Action::kReceive : Action::kContinue;
  // An operation that the QP is not set up for is one that it does not support. [9.9.3]
  if (!HasRight()) return Action::kInvalid;
  // The key of a FLUSH is checked in any case.
  if (IsRead()) return IsFlush() || bytes_left != 0 ? Action::kRead : Action::kIssueRead;
  // Without bytes the key is not checked. [9.7.4]
  if (frame.payload_bytes == 0) return frame.info.consumes_recv ? Action::kReceive : Action::kAccept;
  return Action::kWrite;
}

}  // namespace vireo::model
