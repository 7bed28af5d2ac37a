// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/shared_receive_queue.h"

#include <algorithm>
#include <string>
#include <utility>

namespace vireo::verbs {

Result<std::shared_ptr<SharedReceiveQueue>> SharedReceiveQueue::Create(std::shared_ptr<ProtectionDomain> pd,
                                                                       const SharedReceiveQueueOptions& options) {
  host::RoceDevice& base = pd->device().base();
  // The device's max_wr is the length of the ring; it refuses 0.
  const uint32_t room = options.max_wr == 0 ? 0 : std::max(options.room, options.max_wr);
  Result<uint32_t> srqn = base.roce().CreateSrq({.pdn = pd->pdn(), .max_wr = room, .max_sge = options.max_sge});
  if (!srqn.ok()) return srqn.error();
  // From here on the destructor cleans up.
  std::shared_ptr<SharedReceiveQueue> srq(new SharedReceiveQueue(std::move(pd), *srqn));
  Result<uint16_t> index = base.ReceiveQueueIndex(*srqn);
  if (!index.ok()) return index.error();
  Status opened = srq->recv_.OpenWithRoom(srq->pd_->device(), *index, options.max_wr, room, options.max_sge,
                                          spec::RdmaRqReq::kBytes);
  if (!opened.ok()) return opened.error();
  return srq;
}

SharedReceiveQueue::~SharedReceiveQueue() {
  Device& device = pd_->device();
  device.Close(std::move(recv_.work), device.base().roce().DestroySrq(srqn_));
}

Status SharedReceiveQueue::PostRecv(const RecvRequest& request) {
  Status posted = recv_.PostRecv({.kind = "SRQ", .number = srqn_}, request);
  if (posted.ok()) ++posted_;
  return posted;
}

Status SharedReceiveQueue::Resize(uint32_t max_wr) {
  if (max_wr == 0 || max_wr < limit_) {
    return Error{ErrorCode::kInvalidArgument, "SRQ " + std::to_string(srqn_) + ": fewer receives than its limit"};
  }
  return recv_.Resize(max_wr);
}

Status SharedReceiveQueue::Arm(uint32_t limit) {
  // The device compares with the room.
  if (limit > recv_.entries && !recv_.spare_slots.empty()) {
    return Error{ErrorCode::kInvalidArgument, "SRQ " + std::to_string(srqn_) + ": the limit is above its receives"};
  }
  const uint16_t posted = posted_;
  Status armed = pd_->device().base().roce().ModifySrq({.srqn = srqn_, .srq_limit = limit, .posted = posted});
  if (!armed.ok()) return armed;
  limit_ = limit;
  posted_at_ = posted;
  return {};
}

Result<bool> SharedReceiveQueue::ConfirmLimit() {
  if (limit_ == 0) return false;  // was disarmed meanwhile
  if (posted_ == posted_at_) {
    limit_ = 0;
    return true;
  }
  if (Status armed = Arm(limit_); !armed.ok()) return armed.error();
  return false;
}

Result<spec::RdmaAckQuerySrq> SharedReceiveQueue::Query() { return pd_->device().base().roce().QuerySrq(srqn_); }

}  // namespace vireo::verbs
