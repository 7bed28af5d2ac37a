// SPDX-License-Identifier: Apache-2.0
// Queue pairs: their states, and posting of work requests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/protection_domain.h"

namespace vireo::verbs {

struct QueuePairOptions {
  spec::IbQpType type = spec::IbQpType::kRc;
  std::shared_ptr<CompletionQueue> send_cq{};
  std::shared_ptr<CompletionQueue> recv_cq{};  // may be the same
  uint32_t max_send_wr = 64;                   // outstanding; a ring has a power of two of them
  uint32_t max_recv_wr = 64;
  uint32_t max_send_sge = 1;  // per work request
  uint32_t max_recv_sge = 1;
  uint32_t max_inline_data = 0;  // bytes per work request
  bool signal_all = false;       // every send work request completes with a CQE
};

// A send work request. What an operation does not use is ignored.
struct SendRequest {
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode = spec::IbWrOpcode::kSend;
  uint8_t flags = spec::IbSendFlags::kSignaled;  // spec::IbSendFlags
  uint8_t imm_data[4]{};                         // network order
  std::span<const spec::RdmaSge> sg_list{};
  std::span<const uint8_t> inline_data{};  // with flag inline: in place of sg_list
  uint64_t remote_addr = 0;                // RDMA READ, WRITE
  uint32_t rkey = 0;
  uint32_t remote_qpn = 0;            // UD, GSI
  uint32_t remote_qkey = 0;           // UD, GSI: that of the receiver; from 2^31 on the QP's own instead
  const AddressHandle* ah = nullptr;  // UD, GSI; outlives the work request
};

// UD, GSI: the first spec::kRdmaUdGrhBytes of the elements are for the header, and count in byte_len.
struct RecvRequest {
  uint64_t wr_id = 0;
  std::span<const spec::RdmaSge> sg_list{};
};

class QueuePair {
 public:
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  uint32_t qpn() const { return qpn_; }
  spec::IbQpType type() const { return type_; }

  // The command as it is; qpn is set here. `attr_mask`: spec::IbQpAttrMask. To RESET: what was posted is forgotten, and
  // nobody may post meanwhile; completions that were written before stay in their queues (CompletionQueue::Discard).
  Status Modify(spec::RdmaCmdModifyQp attributes, uint32_t attr_mask);
  Result<spec::RdmaAckQueryQp> Query();
  // What brings a connected QP (RC, UC) from RESET to RTS, in three steps of Modify.
  struct Connection {
    uint32_t dest_qpn = 0;
    uint32_t local_psn = 0;   // of the first packet sent
    uint32_t remote_psn = 0;  // of the first packet expected
    spec::IbMtu path_mtu = spec::IbMtu::kMtu1024;
    spec::RdmaAhAttr path{};
    uint32_t access = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead;
    uint8_t timeout = 14;  // local_ack_timeout_unit_ns times 2^n
    uint8_t retry_cnt = 7;
    uint8_t rnr_retry = 7;
    uint8_t min_rnr_timer = 12;
    uint8_t max_rd_atomic = 1;
    uint8_t max_dest_rd_atomic = 1;
  };
  Status Connect(const Connection& connection);
  // What brings a datagram QP (UD, GSI) from RESET to RTS, likewise.
  struct Datagrams {
    uint32_t qkey = 0;       // of this QP; spec::kGsiQkey for GSI
    uint32_t local_psn = 0;  // of the first packet sent
  };
  Status Start(const Datagrams& datagrams);

  // Neither waits. kNoSpace: max_send_wr (max_recv_wr) are outstanding. kInvalidArgument: more elements or inline data
  // than the QP was made for. What else is wrong with a work request, its completion says.
  Status PostSend(const SendRequest& request);
  Status PostRecv(const RecvRequest& request);
  // So many send work requests can be posted now without kNoSpace.
  Result<size_t> SendRoom();

 private:
  friend class ProtectionDomain;
  QueuePair(std::shared_ptr<ProtectionDomain> pd, const QueuePairOptions& options, uint32_t qpn)
      : pd_(std::move(pd)),
        send_cq_(options.send_cq),
        recv_cq_(options.recv_cq),
        type_(options.type),
        max_inline_data_(options.max_inline_data),
        qpn_(qpn) {}
  static Result<std::shared_ptr<QueuePair>> Create(std::shared_ptr<ProtectionDomain> pd,
                                                   const QueuePairOptions& options);

  // One direction: a virtqueue and a slot of memory for each work request.
  struct Half {
    std::optional<Device::WorkQueue> work;
    uint32_t entries = 0;
    uint32_t max_sge = 0;
    size_t slot_bytes = 0;
    std::vector<host::Token> free_slots;
  };
  Status Open(Half& half, uint16_t index, uint32_t entries, uint32_t max_sge, size_t fixed_bytes);
  // A stopped virtqueue begins anew.
  Status Reopen(Half& half);
  // Takes back the slots of work requests that are complete.
  Status Reclaim(Half& half);
  // A free slot; takes back those whose work requests are complete. kNoSpace.
  Result<host::Token> TakeSlot(Half& half, const char* what);
  Status Post(Half& half, host::Token slot, size_t bytes);

  std::shared_ptr<ProtectionDomain> pd_;
  std::shared_ptr<CompletionQueue> send_cq_, recv_cq_;
  spec::IbQpType type_;
  uint32_t max_inline_data_;
  uint32_t qpn_;
  Half send_, recv_;
};

}  // namespace vireo::verbs
