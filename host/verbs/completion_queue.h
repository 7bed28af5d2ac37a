// SPDX-License-Identifier: Apache-2.0
// Completion queues: polled, or armed for one notification at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/verbs/completion.h"
#include "host/verbs/device.h"

namespace vireo::verbs {

class CompletionQueue {
 public:
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  uint32_t cqn() const { return cqn_; }
  // Of its completions (spec::RdmaCqElement).
  uint32_t elements() const { return elements_; }
  std::optional<uint16_t> vector() const { return queue_->queue.vector; }

  // Polls up to completions.size() completions, oldest first; returns their number. Does not block. kMisbehaved: the
  // device violated the ring protocol, or wrote less than a completion.
  Result<size_t> Poll(std::span<spec::RdmaCqReq> completions) { return PollAny(completions); }
  // The same, with their elements.
  Result<size_t> Poll(std::span<Completion> completions) { return PollAny(completions); }
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
  // Capacity in completions.
  size_t capacity() const { return slots_; }
  // Changes the capacity to `cqe`, or, if buffers that the device has are too many, to more for the time being. No
  // completion is lost, and no queue pair stops. kInvalidArgument: none, or fewer than completions that were not
  // polled; kNoMemory: more than the queue was created with room for.
  Status Resize(uint32_t cqe);
  // Collects, then discards the completions of a queue pair: call it after the QP was destroyed or reset.
  Status Discard(uint32_t qpn);

 private:
  friend class Device;
  template <typename Kind>
  Result<size_t> PollAny(std::span<Kind> completions);
  Result<bool> Take(Completion& completion);
  CompletionQueue(std::shared_ptr<Device> device, uint32_t cqn, uint32_t elements)
      : device_(std::move(device)), cqn_(cqn), elements_(elements) {}
  static Result<std::shared_ptr<CompletionQueue>> Create(std::shared_ptr<Device> device, uint32_t cqe,
                                                         std::optional<uint16_t> vector, uint32_t room,
                                                         uint32_t elements);
  Status PostBuffer(host::Token slot);
  // Memory and buffers for slots up to `count`.
  Status AddSlots(size_t count);
  const host::DmaMemory& MemoryOf(host::Token slot, size_t& offset) const;

  std::shared_ptr<Device> device_;
  uint32_t cqn_;
  uint32_t elements_;
  // Its `memory` is that of the first `first_slots_`, its `more` that of those added later, from added_[i] on.
  std::optional<Device::WorkQueue> queue_;
  std::vector<host::Token> added_;
  size_t first_slots_ = 0;
  size_t slots_ = 0;                 // in use
  size_t wanted_ = 0;                // those in excess of it leave when their completion is taken
  std::vector<host::Token> unused_;  // slots that left
  uint64_t taken_ = 0;
  std::deque<Completion> buffered_;  // older than the completions in the ring
};

}  // namespace vireo::verbs
