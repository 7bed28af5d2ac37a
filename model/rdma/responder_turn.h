// SPDX-License-Identifier: Apache-2.0
// A received frame in the responder with what its tables say of the QP, and the checks that follow from both: the
// counterpart of rtl/rdma/vireo_responder_checks.sv. Nothing here changes state.
#pragma once

#include <cstdint>

#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

enum class ResponderAction : uint8_t {
  kDrop,
  kAbandon,  // UC, UD: dropped, including the rest of its message
  kAcknowledge,
  kDuplicate,
  kSequence,
  kInvalid,
  kAccess,
  kAccept,
  kIssueRead,   // a READ: issued to the read responder
  kReplayRead,  // likewise, a duplicate
  kKeep,        // dropped, and the receive that was requested for it is kept
  // Not final:
  kWrite,     // WRITE: its key is checked
  kRead,      // READ: likewise
  kReceive,   // asks for a receive
  kContinue,  // a SEND continues
  kResponse,  // of a READ of ours
  // Depend on more than the packet:
  kResponseDone,  // all of the response's payload has been issued
  kGap,           // a preceding response is missing
  kBadResponse,   // the response does not match the request
  kNotReady,      // no receive
  kOperation,     // the receive or one of its elements could not be read
  kProtection,    // an element's key does not allow it
  kInvalidate,    // the key of a SEND with invalidate does not allow it
  kLength         // the elements are too short
};

struct ResponderAttributes {
  bool exists = false;
  spec::BthService service{};
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
  bool flush_global = false;
  bool flush_persistent = false;
  unsigned path_mtu = 0;
  uint16_t pdn = 0;
  uint16_t recv_cqn = 0;
  bool has_srq = false;
  uint32_t srqn = 0;
  uint8_t min_rnr_timer = 0;
  uint8_t max_reads = 0;  // of the peer
  uint32_t qkey = 0;
  uint8_t peer[16]{};
  uint8_t own[16]{};
};

// Position of a message in a list of elements.
struct ElementCursor {
  uint64_t next_element = 0;  // its address in host memory
  uint8_t elements = 0;       // left there
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t bytes_left = 0;  // of the element
  void Take(const spec::RdmaSge& sge) {
    address = sge.addr;
    key = sge.lkey;
    bytes_left = sge.length;
  }
  // From the list's start; the first element has been read already.
  void Begin(uint64_t list, uint8_t num_sge, const spec::RdmaSge& first) {
    Take(first);
    if (num_sge == 0) bytes_left = 0;
    next_element = list + spec::RdmaSge::kBytes;
    elements = static_cast<uint8_t>(num_sge == 0 ? 0 : num_sge - 1);
  }
};

// Position of a message. WRITE uses the cursor's address, key and bytes_left only, which is then of the message.
struct ReceivePosition {
  uint16_t head = 0;  // of the receive that is held
  uint64_t wr_id = 0;
  uint8_t num_sge = 0;
  ElementCursor cursor{};
};

// The receive half of a QP; fields from in_message on belong to the current message.
struct ResponderHalf {
  bool failed = false;          // moved to ERR by this block; cleared by a load
  bool established = false;     // comm_est was sent
  bool nak_sent = false;        // sequence or RNR NAK
  bool access_refused = false;  // of a WRITE with immediate: the next receive to flush was its own
  bool drained = false;         // with a shared receive queue: qp_last_wqe_reached was sent in ERR
  uint32_t expected_psn = 0;
  uint32_t msn = 0;
  bool holds = false;  // a receive, of an incomplete SEND
  bool in_message = false;
  bool send = false;  // else WRITE
  uint32_t received = 0;
  ReceivePosition position{};
  bool reads_valid = false;     // a READ was issued since the load, and the next two fields are valid
  uint8_t reads_issued = 0;     // READs, modulo 2^8 as qp_reads counts them
  uint8_t duplicate_limit = 0;  // `reads_issued` after the last duplicate

  // As after the last packet of a SEND; what belongs to the message is not used any more.
  void EndSend();
};

// The oldest of the QP's outstanding READs.
struct ResponderReadHalf {
  bool halted = false;   // one has failed; cleared by a load
  bool started = false;  // a part of it has arrived, and the fields below are valid
  uint32_t psn = 0;      // expected
  uint32_t bytes_left = 0;
  ElementCursor cursor{};
};

struct ResponderTurn {
  using Action = ResponderAction;

  // From frame and tables on: the message's first byte in this packet, and what is left of it, this packet included.
  void Locate();

  // The outcome of all checks that need no memory and no receive.
  Action Decide() const;
  // comm_est is reported first. [IBTA vol. 1, 11.6.3.1]
  bool Announces() const;

  bool IsNet() const { return enabled && frame.verdict == spec::RxVerdict::kNet; }
  // A packet from its peer for a QP of ours that receives.
  bool IsTaken() const;
  bool IsSend() const { return frame.info.operation == spec::BthOperation::kSend; }
  bool Invalidates() const { return has_invalidation && IsSend() && frame.info.has_ieth; }
  bool IsAtomicWrite() const { return has_atomic_write && frame.info.operation == spec::BthOperation::kAtomicWrite; }
  bool IsFlush() const { return has_flush && frame.info.operation == spec::BthOperation::kFlush; }
  // What a FLUSH requests; of other requests nothing.
  spec::Feth Flush() const;
  bool IsWhole() const { return Flush().selectivity == spec::FlushSelectivity::kMemoryRegion; }
  bool IsPlaced(uint8_t placement) const { return (Flush().placement & placement) != 0; }
  // Or ATOMIC WRITE or FLUSH.
  bool IsAtomic() const { return (has_atomics && frame.info.has_atomic_eth) || IsAtomicWrite() || IsFlush(); }
  // An atomic operation is treated as a READ of its operand, which the read responder has executed.
  bool IsRead() const { return frame.info.operation == spec::BthOperation::kRdmaReadRequest || IsAtomic(); }
  bool IsAcknowledged() const { return attributes.service == spec::BthService::kRc; }
  bool IsDatagram() const { return attributes.service == spec::BthService::kUd; }
  // The receive queue that the QP's receives come from, private or shared.
  uint32_t ReceiveQueue() const { return attributes.has_srq ? attributes.srqn : qpn; }
  uint32_t MtuBytes() const;
  uint32_t PacketsOf(uint32_t bytes) const;
  // Of the response to a READ, as which a FLUSH is treated.
  uint32_t Packets() const { return IsFlush() ? 1 : PacketsOf(bytes_left); }

  uint32_t num_qps = 0;
  bool has_atomics = false;
  bool has_atomic_write = false;
  bool has_flush = false;
  bool has_invalidation = false;

  RxToken frame;
  uint32_t qpn = 0;         // modulo num_qps
  bool is_cleared = false;  // the QP, since the tables were read
  bool is_copy = false;     // of a datagram to a group: others of its frame follow
  bool enabled = false;
  bool is_ours = false;  // by its destination address
  ResponderAttributes attributes;
  spec::IbQpState qp_state{};
  ResponderHalf half;
  ResponderReadHalf read_half;
  // READs of the peer, modulo 2^8.
  uint8_t reads_issued = 0;
  uint8_t duplicate_limit = 0;
  uint8_t ended = 0;
  // WRITE, READ.
  uint64_t address = 0;
  uint32_t rkey = 0;
  uint32_t bytes_left = 0;

 private:
  // Of the QP, to the operation.
  bool HasRight() const {
    if (IsFlush()) {
      return (attributes.flush_global || !IsPlaced(spec::FlushPlacement::kGlobalVisibility)) &&
             (attributes.flush_persistent || !IsPlaced(spec::FlushPlacement::kPersistence));
    }
    if (IsAtomicWrite()) return attributes.remote_write;
    if (IsAtomic()) return attributes.remote_atomic;
    return IsRead() ? attributes.remote_read : attributes.remote_write;
  }
  bool HasRoom() const;
  bool IsReadLegal() const;
  bool IsLengthLegal() const;
  bool IsRequestValid() const;
  Action DecideUnacknowledged() const;
};

}  // namespace vireo::model
