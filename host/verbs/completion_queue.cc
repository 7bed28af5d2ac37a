// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/completion_queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

namespace vireo::verbs {
namespace {
constexpr size_t kSlotBytes = 64;  // a CQE in a cache line of its own
static_assert(spec::RdmaCqReq::kBytes <= kSlotBytes);
static_assert(spec::RdmaCqBase::kBytes + spec::RdmaCqTimestamp::kBytes <= kSlotBytes);
}  // namespace

Result<std::shared_ptr<CompletionQueue>> CompletionQueue::Create(std::shared_ptr<Device> device, uint32_t cqe,
                                                                 std::optional<uint16_t> vector, uint32_t room,
                                                                 uint32_t elements) {
  // The ring is as long as the queue may become; how many buffers are in it is its capacity.
  host::RoceCommands& roce = device->base().roce();
  const uint32_t most = std::max(cqe, room);
  Result<uint32_t> cqn = elements == 0 ? roce.CreateCq(most) : roce.CreateExtendedCq(most, elements);
  if (!cqn.ok()) return cqn.error();
  // From here on the destructor cleans up.
  std::shared_ptr<CompletionQueue> cq(new CompletionQueue(std::move(device), *cqn, elements));
  Device& owner = *cq->device_;
  Result<uint16_t> index = owner.base().CompletionQueueIndex(*cqn);
  if (!index.ok()) return index.error();
  Result<host::Queue> queue = owner.OpenQueue(*index, std::max(cqe, room), vector);
  if (!queue.ok()) return queue.error();
  cq->queue_.emplace(Device::WorkQueue{.queue = std::move(queue).value(), .memory = nullptr});
  const size_t entries = std::min<size_t>(std::bit_ceil(cqe), cq->queue_->queue.ring->size());
  if (Status added = cq->AddSlots(entries); !added.ok()) return added.error();
  cq->wanted_ = entries;
  return cq;
}

Status CompletionQueue::AddSlots(size_t count) {
  while (slots_ < count && !unused_.empty()) {
    const host::Token slot = unused_.back();
    unused_.pop_back();
    if (Status posted = PostBuffer(slot); !posted.ok()) return posted;
    ++slots_;
  }
  if (slots_ < count) {
    // All that were ever made are in use.
    Result<host::DmaBuffer> memory = device_->function().AllocateDma((count - slots_) * kSlotBytes, kSlotBytes);
    if (!memory.ok()) return memory.error();
    if (queue_->memory == nullptr) {
      queue_->memory = std::move(memory).value();
      first_slots_ = count;
    } else {
      added_.push_back(slots_);
      queue_->more.push_back(std::move(memory).value());
    }
    while (slots_ < count) {
      if (Status posted = PostBuffer(slots_); !posted.ok()) return posted;
      ++slots_;
    }
  }
  // No doorbell: the device reads the ring when it has a completion.
  static_cast<void>(queue_->queue.ring->Publish());
  return {};
}

const host::DmaMemory& CompletionQueue::MemoryOf(host::Token slot, size_t& offset) const {
  if (slot < first_slots_) {
    offset = slot * kSlotBytes;
    return *queue_->memory;
  }
  size_t part = added_.size() - 1;
  while (slot < added_[part]) --part;
  offset = (slot - added_[part]) * kSlotBytes;
  return *queue_->more[part];
}

Status CompletionQueue::Resize(uint32_t cqe) {
  const std::string name = "CQ " + std::to_string(cqn_) + ": ";
  if (cqe == 0) return Error{ErrorCode::kInvalidArgument, name + "no entries"};
  if (cqe > queue_->queue.ring->size()) {
    return Error{ErrorCode::kNoMemory, name + std::to_string(cqe) + " entries, but it was created for at most " +
                                           std::to_string(queue_->queue.ring->size())};
  }
  if (Status collected = Collect(); !collected.ok()) return collected;
  if (buffered_.size() > cqe) {
    return Error{ErrorCode::kInvalidArgument, name + std::to_string(buffered_.size()) +
                                                  " completions are not polled, more than " + std::to_string(cqe)};
  }
  if (Status added = AddSlots(cqe); !added.ok()) return added;
  wanted_ = cqe;
  return {};
}

CompletionQueue::~CompletionQueue() { device_->Close(std::move(queue_), device_->base().roce().DestroyCq(cqn_)); }

Status CompletionQueue::PostBuffer(host::Token slot) {
  size_t offset = 0;
  const host::DmaMemory& memory = MemoryOf(slot, offset);
  // A later version of the device may write longer ones.
  const uint32_t bytes = elements_ == 0 ? uint32_t{spec::RdmaCqReq::kBytes} : uint32_t{kSlotBytes};
  const host::Segment segment{.address = memory.address() + offset, .bytes = bytes};
  return queue_->queue.ring->Add({}, {&segment, 1}, slot);
}

Result<bool> CompletionQueue::Take(Completion& completion) {
  Result<std::optional<host::UsedBuffer>> used = queue_->queue.ring->Harvest();
  if (!used.ok()) return used.error();
  if (!used->has_value()) return false;
  size_t offset = 0;
  const host::DmaMemory& memory = MemoryOf((*used)->token, offset);
  const size_t written = std::min<size_t>((*used)->written, kSlotBytes);
  Result<Completion> parsed = ParseCompletion({memory.data() + offset, written}, elements_ != 0);
  if (!parsed.ok()) {
    return Error{parsed.error().code, "CQ " + std::to_string(cqn_) + ": " + parsed.error().text};
  }
  completion = *parsed;
  ++taken_;
  if (slots_ > wanted_) {
    --slots_;
    unused_.push_back((*used)->token);
    return true;
  }
  if (Status posted = PostBuffer((*used)->token); !posted.ok()) return posted.error();
  return true;
}

template <typename Kind>
Result<size_t> CompletionQueue::PollAny(std::span<Kind> completions) {
  size_t count = 0;
  for (; count < completions.size() && !buffered_.empty(); ++count) {
    completions[count] = buffered_.front();
    buffered_.pop_front();
  }
  const size_t from_ring = count;
  while (count < completions.size()) {
    Completion completion;
    Result<bool> taken = Take(completion);
    if (!taken.ok()) return taken.error();
    if (!*taken) break;
    completions[count++] = completion;
  }
  if (count != from_ring) static_cast<void>(queue_->queue.ring->Publish());
  return count;
}

template Result<size_t> CompletionQueue::PollAny(std::span<spec::RdmaCqReq> completions);
template Result<size_t> CompletionQueue::PollAny(std::span<Completion> completions);

Status CompletionQueue::Collect() {
  for (Completion completion;;) {
    Result<bool> taken = Take(completion);
    if (!taken.ok()) return taken.error();
    if (!*taken) break;
    buffered_.push_back(completion);
  }
  static_cast<void>(queue_->queue.ring->Publish());
  return {};
}

Status CompletionQueue::Discard(uint32_t qpn) {
  Status collected = Collect();
  std::erase_if(buffered_, [qpn](const Completion& completion) { return completion.qp_num == qpn; });
  return collected;
}

Result<std::optional<spec::RdmaCqReq>> CompletionQueue::Wait(uint64_t deadline_ns) {
  host::PciFunction& function = device_->function();
  std::array<spec::RdmaCqReq, 1> completion;
  for (;;) {
    const uint64_t now = function.NowNs();
    if (vector().has_value()) {
      // Where arming is a command on the control queue, completions arrive meanwhile: arm only an empty CQ.
      if (!device_->base().constants().rdma_has_cq_arm) {
        Result<size_t> early = Poll(completion);
        if (!early.ok()) return early.error();
        if (*early != 0) return std::optional(completion[0]);
      }
      if (Status armed = Arm(); !armed.ok()) return armed.error();
    }
    Result<size_t> count = Poll(completion);
    if (!count.ok()) return count.error();
    if (*count != 0) return std::optional(completion[0]);
    if (now >= deadline_ns) return std::optional<spec::RdmaCqReq>();
    if (Status health = function.health(); !health.ok()) return health.error();
    function.Wait(vector().has_value() ? deadline_ns : 0);
  }
}

Status CompletionQueue::Arm(bool solicited_only) {
  const uint32_t flags = solicited_only ? spec::IbNotifyFlags::kSolicited : spec::IbNotifyFlags::kNextCompletion;
  if (!device_->base().constants().rdma_has_cq_arm) return device_->base().roce().ReqNotifyCq(cqn_, flags);
  queue_->queue.doorbell.ArmCq(*queue_->queue.ring, flags);
  return {};
}

}  // namespace vireo::verbs
