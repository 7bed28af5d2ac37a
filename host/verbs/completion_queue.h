// SPDX-License-Identifier: Apache-2.0
// Completion queues: polled, or armed for one notification at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "host/verbs/device.h"

namespace vireo::verbs {

class CompletionQueue {
 public:
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  uint32_t cqn() const { return cqn_; }
  std::optional<uint16_t> vector() const { return queue_->queue.vector; }

  // Takes completions, oldest first, as many as there are and `completions` has room for; gives their number. Does not
  // wait. kMisbehaved: the device broke a rule of the ring, or wrote less than a completion.
  Result<size_t> Poll(std::span<spec::RdmaCqReq> completions);
  // The next one within the function's time; none if `deadline_ns` comes first. Arms, looks and sleeps, if the queue
  // has a vector; else it looks again and again.
  Result<std::optional<spec::RdmaCqReq>> Wait(uint64_t deadline_ns);

  // Asks for one notification: at the next completion, or at the next solicited or failed one. One that came since the
  // last Poll counts (in profile rfc-v2 not: there, poll once more before sleeping).
  Status Arm(bool solicited_only = false);

  // Takes all completions out of the ring and keeps them for Poll. Arm says nothing of those that are kept: look at
  // kept() before. Errors as Poll.
  Status Collect();
  size_t kept() const { return kept_.size(); }
  // How many completions have ever been taken out of the ring, polled or kept.
  uint64_t taken() const { return taken_; }
  // The same, and throws away those of a queue pair: after it was destroyed, or went back to RESET.
  Status Discard(uint32_t qpn);

 private:
  friend class Device;
  Result<bool> Take(spec::RdmaCqReq& completion);
  CompletionQueue(std::shared_ptr<Device> device, uint32_t cqn) : device_(std::move(device)), cqn_(cqn) {}
  static Result<std::shared_ptr<CompletionQueue>> Create(std::shared_ptr<Device> device, uint32_t cqe,
                                                         std::optional<uint16_t> vector);
  Status GiveBuffer(host::Token slot);

  std::shared_ptr<Device> device_;
  uint32_t cqn_;
  std::optional<Device::WorkQueue> queue_;
  uint64_t taken_ = 0;
  std::deque<spec::RdmaCqReq> kept_;  // older than what is in the ring
};

}  // namespace vireo::verbs
