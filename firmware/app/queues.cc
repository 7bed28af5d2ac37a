// SPDX-License-Identifier: Apache-2.0
// Virtqueues: programs the datapath's virtqueue table.
#include "firmware/app/firmware.h"

namespace vireo::firmware {

using spec::TableVirtqueue;

namespace {

// Kind, whether it is stopped, limit; owner; of the host.
constexpr Words kKind = WordAt(TableVirtqueue::kKindOffset), kOwner = WordAt(TableVirtqueue::kOwnerOffset),
                kEnabled = WordAt(kVirtqueueEnabledOffset);

}  // namespace

uint32_t Firmware::QueueCount() const {
  if (!HasRoce()) return ControlQueue() + 1;
  return EventQueue() + profile_->rdma_event_queues;
}

// Assigns the queue's owner. A stopped queue stays stopped: only the driver's reset of the queue ends that.
void Firmware::BindQueue(uint32_t index, spec::TableQueueKind kind, uint32_t owner, uint32_t limit) {
  auto queue = device_.ReadEntry<TableVirtqueue>(index, kKind);
  queue.kind = kind;
  queue.owner = owner;
  queue.limit = static_cast<uint16_t>(limit);
  device_.RewriteEntry(index, queue, kKind | kOwner);
  queue_bound_.Set(index);
}

// After the owner was destroyed (release) or returned to RESET. With ring_reset an enabled queue stays stopped until
// the driver resets it; without, it restarts at once.
void Firmware::StopQueue(uint32_t index, bool release) {
  auto queue = device_.ReadEntry<TableVirtqueue>(index, kKind | kEnabled);
  if (release) {
    queue.kind = spec::TableQueueKind::kNone;
    queue.owner = 0;
    queue.limit = 0;
  }
  if (HasFeature(spec::VirtioFeature::kRingReset)) {
    queue.stopped = queue.enabled;
  } else {
    queue.reset_positions = true;
  }
  device_.RewriteEntry(index, queue, release ? kKind | kOwner : kKind);
  if (release && !queue.stopped) queue_bound_.Clear(index);
}

bool Firmware::IsQueueReady(uint32_t index) {
  const auto queue = device_.ReadEntry<TableVirtqueue>(index, kKind | kEnabled);
  return queue.enabled && !queue.stopped && !queue.failed;
}

}  // namespace vireo::firmware
