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

  // Polls up to completions.size() completions, oldest first; returns their number. Does not block. kMisbehaved: the
  // device violated the ring protocol, or wrote less than a completion.
  Result<size_t> Poll(std::span<spec::RdmaCqReq> completions);
  // Blocks for the next completion; none if the function's time reaches `deadline_ns` first. Arms, polls and sleeps if
  // the queue has a vector; else polls repeatedly.
  Result<std::optional<spec::RdmaCqReq>> Wait(uint64_t deadline_ns);

  // Requests one notification: at the next completion, or at the next solicited or failed one. A completion since the
  // last Poll counts (but not in profile rfc-v2: there, poll once more before sleeping).
  Status Arm(bool solicited_only = false);

  // Moves all completions from the ring to an internal queue for Poll. Arm does not notify of these: check buffered()
  // first. Errors as Poll.
  Status Collect();
  size_t buffered() const { return buffered_.size(); }
  // Total number of completions taken from the ring, polled or buffered.
  uint64_t taken() const { return taken_; }
  // Collects, then discards the completions of a queue pair: call it after the QP was destroyed or reset.
  Status Discard(uint32_t qpn);

 private:
  friend class Device;
  Result<bool> Take(spec::RdmaCqReq& completion);
  CompletionQueue(std::shared_ptr<Device> device, uint32_t cqn) : device_(std::move(device)), cqn_(cqn) {}
  static Result<std::shared_ptr<CompletionQueue>> Create(std::shared_ptr<Device> device, uint32_t cqe,
                                                         std::optional<uint16_t> vector);
  Status PostBuffer(host::Token slot);

  std::shared_ptr<Device> device_;
  uint32_t cqn_;
  std::optional<Device::WorkQueue> queue_;
  uint64_t taken_ = 0;
  std::deque<spec::RdmaCqReq> buffered_;  // older than the completions in the ring
};

}  // namespace vireo::verbs
