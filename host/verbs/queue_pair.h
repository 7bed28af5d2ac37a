// SPDX-License-Identifier: Apache-2.0
// Queue pairs: state transitions, and posting of work requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/shared_receive_queue.h"
#include "host/verbs/work_half.h"

namespace vireo::verbs {

struct QueuePairOptions {
  spec::IbQpType type = spec::IbQpType::kRc;
  std::shared_ptr<CompletionQueue> send_cq{};
  std::shared_ptr<CompletionQueue> recv_cq{};  // may be the same
  std::shared_ptr<SharedReceiveQueue> srq{};   // of the same PD: receives come from it, max_recv_* are ignored
  uint32_t max_send_wr = 64;                   // outstanding; the ring is rounded up to a power of two
  uint32_t max_recv_wr = 64;
  uint32_t max_send_sge = 1;  // per work request
  uint32_t max_recv_sge = 1;
  uint32_t max_inline_data = 0;  // bytes per work request
  bool signal_all = false;       // every send work request completes with a CQE
  // Send work requests of a base and elements, if the device has them: inline data of up to 32 bytes (of a SEND too) is
  // not read from memory again. Else, and with false, those of the RFC.
  bool extensible_requests = true;
  // Extensible ones that fit are pushed to the device, if it has that, while no other is outstanding: it reads nothing
  // for them. Else, and with false, it reads all.
  bool push = true;
};

// A send work request. Fields that the opcode does not use are ignored.
struct SendRequest {
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode = spec::IbWrOpcode::kSend;
  uint8_t flags = spec::IbSendFlags::kSignaled;  // spec::IbSendFlags
  uint8_t imm_data[4]{};                         // network order
  uint32_t invalidate_rkey = 0;                  // send_with_inv: of the peer; local_inv: a region of the QP's PD
  std::span<const spec::RdmaSge> sg_list{};
  std::span<const uint8_t> inline_data{};  // with flag inline: replaces sg_list
  uint64_t remote_addr = 0;                // RDMA READ, WRITE; atomic operations, ATOMIC WRITE: a multiple of 8
  // bind_mw: the window's from now on, with its number; reg_mr: likewise both keys of the region
  uint32_t rkey = 0;
  uint64_t compare_add = 0;     // atomic operations: value to compare with, or to add; ATOMIC WRITE: to store
  uint64_t swap = 0;            // atomic_cmp_and_swp: value to store
  uint32_t flush_length = 0;    // flush: bytes from remote_addr on, up to 2^31 - 1
  uint8_t flush_placement = 0;  // flush: spec::FlushPlacement, at least one
  spec::FlushSelectivity flush_selectivity{};  // flush: memory_region: address and length are ignored
  // bind_mw: first address of the window, in the region of bind_lkey; reg_mr: of the region, at this offset in its
  // first page
  uint64_t bind_address = 0;
  uint64_t bind_length = 0;           // bytes; 0, of bind_mw and type 1: it ends
  uint32_t bind_access = 0;           // spec::IbAccessFlags: remote_*; bind_mw: zero_based; reg_mr: local_write
  uint32_t bind_lkey = 0;             // bind_mw: of a region with the right mw_bind
  std::span<const uint64_t> pages{};  // reg_mr: device addresses; two for an element of max_send_sge
  uint8_t page_shift = spec::kRdmaPageShiftDefault;  // reg_mr
  uint32_t remote_qpn = 0;                           // UD, GSI
  uint32_t remote_qkey = 0;           // UD, GSI: the receiver's; with bit 31 set, the QP's own Q_Key is sent
  const AddressHandle* ah = nullptr;  // UD, GSI; outlives the work request
};

class QueuePair {
 public:
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  uint32_t qpn() const { return qpn_; }
  spec::IbQpType type() const { return type_; }

  // Sends the command as given; qpn is filled in. `attr_mask`: spec::IbQpAttrMask. To RESET: outstanding work requests
  // are discarded, and posting is not allowed meanwhile; earlier completions stay in their queues
  // (CompletionQueue::Discard).
  Status Modify(spec::RdmaCmdModifyQp attributes, uint32_t attr_mask);
  Result<spec::RdmaAckQueryQp> Query();
  // Takes a connected QP (RC, UC) from RESET to RTS with three Modify calls.
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
  // Takes a datagram QP (UD, GSI) from RESET to RTS likewise.
  struct Datagrams {
    uint32_t qkey = 0;       // of this QP; spec::kGsiQkey for GSI
    uint32_t local_psn = 0;  // of the first packet sent
  };
  Status Start(const Datagrams& datagrams);

  // Of a UD QP, in any state: it receives a copy of each datagram to the group that has its Q_Key. Attached again: no
  // effect. kUnsupported: the device receives no multicast. The destructor detaches it.
  using Group = std::array<uint8_t, 16>;  // ff00::/8, or ::ffff:224.0.0.0/100
  Status Attach(const Group& group);
  // A datagram that had arrived before may still complete a receive.
  Status Detach(const Group& group);
  bool is_attached() const { return !groups_.empty(); }

  // Neither blocks. kNoSpace: max_send_wr (max_recv_wr) are outstanding. kInvalidArgument: more elements or inline data
  // than the QP was created for; a receive, if it has a shared receive queue. kUnsupported: an atomic operation, if the
  // device's atomic_cap is none; an ATOMIC WRITE, FLUSH, bind, registration or invalidate, if it has none. Other errors
  // of a work request are reported by its completion.
  Status PostSend(const SendRequest& request);
  Status PostRecv(const RecvRequest& request);
  // Number of send work requests that can be posted now without kNoSpace.
  Result<size_t> SendRoom();

 private:
  friend class ProtectionDomain;
  QueuePair(std::shared_ptr<ProtectionDomain> pd, const QueuePairOptions& options, uint32_t qpn)
      : pd_(std::move(pd)),
        send_cq_(options.send_cq),
        recv_cq_(options.recv_cq),
        srq_(options.srq),
        type_(options.type),
        max_inline_data_(options.max_inline_data),
        is_extensible_(options.extensible_requests && pd_->device().has_extensible_requests()),
        qpn_(qpn) {}
  static Result<std::shared_ptr<QueuePair>> Create(std::shared_ptr<ProtectionDomain> pd,
                                                   const QueuePairOptions& options);

  bool IsDatagram() const { return type_ == spec::IbQpType::kUd || type_ == spec::IbQpType::kGsi; }
  // Write the work request to `bytes`, of slot_bytes, and return its length.
  size_t EncodeFixed(const SendRequest& request, uint8_t* bytes) const;
  static size_t EncodeElements(const SendRequest& request, uint8_t* bytes, size_t count);
  size_t EncodeExtensible(const SendRequest& request, uint8_t* bytes) const;
  WorkHalf::Owner owner() const { return {.kind = "QP", .number = qpn_}; }

  std::shared_ptr<ProtectionDomain> pd_;
  std::shared_ptr<CompletionQueue> send_cq_, recv_cq_;
  std::shared_ptr<SharedReceiveQueue> srq_;
  spec::IbQpType type_;
  uint32_t max_inline_data_;
  bool is_extensible_;
  uint32_t qpn_;
  std::vector<Group> groups_;  // that it is attached to
  WorkHalf send_, recv_;
};

}  // namespace vireo::verbs
