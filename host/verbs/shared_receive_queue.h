// SPDX-License-Identifier: Apache-2.0
// Shared receive queues: receives that the queue pairs of one protection domain take from.
#pragma once

#include <cstdint>
#include <memory>

#include "host/verbs/protection_domain.h"
#include "host/verbs/work_half.h"

namespace vireo::verbs {

struct SharedReceiveQueueOptions {
  uint32_t max_wr = 64;  // outstanding; the ring is rounded up to a power of two
  uint32_t max_sge = 1;  // per work request
  uint32_t room = 0;     // max_wr up to which Resize can go; 0: the same
};

class SharedReceiveQueue {
 public:
  // All queue pairs that use it are destroyed before.
  ~SharedReceiveQueue();
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  uint32_t srqn() const { return srqn_; }
  const std::shared_ptr<ProtectionDomain>& pd() const { return pd_; }

  // Does not block. kNoSpace: max_wr are outstanding: posted, and neither completed nor returned because the queue pair
  // that took them was reset. kInvalidArgument: more elements than max_sge.
  Status PostRecv(const RecvRequest& request);

  // Changes max_wr; receives stay. kNoSpace: above the room. kBadState: more are outstanding. kInvalidArgument: 0, or
  // below the limit that is armed.
  Status Resize(uint32_t max_wr);

  // Arms the event srq_limit_reached, once: fewer than `limit` receives are left that no queue pair has taken. 0:
  // disarms it. kRefused, or kInvalidArgument after room was asked for: above max_wr.
  Status Arm(uint32_t limit);
  // To be called for each event srq_limit_reached of this queue. True: the limit is reached, and no limit is armed any
  // more. False: receives were posted after it was armed, and it is armed again.
  Result<bool> ConfirmLimit();
  // The limit that is armed, or 0.
  uint32_t limit() const { return limit_; }

  Result<spec::RdmaAckQuerySrq> Query();

 private:
  friend class ProtectionDomain;
  SharedReceiveQueue(std::shared_ptr<ProtectionDomain> pd, uint32_t srqn) : pd_(std::move(pd)), srqn_(srqn) {}
  static Result<std::shared_ptr<SharedReceiveQueue>> Create(std::shared_ptr<ProtectionDomain> pd,
                                                            const SharedReceiveQueueOptions& options);

  std::shared_ptr<ProtectionDomain> pd_;
  uint32_t srqn_;
  uint32_t limit_ = 0;
  uint16_t posted_ = 0;     // modulo 2^16, as the device counts
  uint16_t posted_at_ = 0;  // when the limit was armed
  WorkHalf recv_;
};

}  // namespace vireo::verbs
