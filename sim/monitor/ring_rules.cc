// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/ring_rules.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::sim::monitor {
namespace {

using Common = spec::VirtioPciCommonCfg;
using spec::TableQueueKind;

constexpr uint64_t kUsedEntries = spec::VirtqUsed::kBytes, kAvailEntries = spec::VirtqAvail::kBytes;
constexpr uint64_t kDescriptorBytes = spec::VirtqDesc::kBytes, kElementBytes = spec::VirtqUsedElem::kBytes;
constexpr uint32_t kIndexBytes = sizeof(uint16_t);

uint64_t Little(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

// Writes half or all of a 64-bit register.
void Merge(uint64_t& target, uint64_t at, uint64_t value, unsigned bytes) {
  const uint64_t mask = (bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1) << 8 * at;
  target = (target & ~mask) | (value << 8 * at & mask);
}

}  // namespace

bool RingRules::IsInOrder(const Queue& queue) const {
  if (queue.kind == TableQueueKind::kRq) return !shared_.contains(queue.owner);
  return queue.kind == TableQueueKind::kSq || queue.kind == TableQueueKind::kCq;
}

void RingRules::SetShared(uint32_t number, bool is_shared) {
  if (is_shared) {
    shared_.insert(number);
  } else {
    shared_.erase(number);
  }
}

std::string RingRules::NameOf(uint16_t index) const {
  const Queue& queue = queues_[index];
  const char* const kind = spec::ToString(queue.kind);
  return "queue " + std::to_string(index) + " (" + (kind == nullptr ? "?" : kind) + " " + std::to_string(queue.owner) +
         "): ";
}

void RingRules::OnReset() {
  for (size_t i = 0; i < queues_.size(); ++i) Release(static_cast<uint16_t>(i));
  queues_.clear();
  reads_.clear();
  pages_.reset();
  causes_.clear();
  bar_reads_.clear();
  unmasked_.clear();
  owing_.clear();
  elements_.OnReset();
  msix_control_ = 0;
  selected_ = 0;
  config_vector_ = spec::kVirtioMsiNoVector;
  feature_window_ = 0;
  is_packed_ = is_device_resetting_ = has_lost_events_ = false;
  has_arm_register_ = true;
}

// --- Driver and firmware

void RingRules::OnConfigWrite(const BoundaryEvent& event) {
  constexpr uint64_t kControl = spec::kPciCapAtMsix + sizeof(uint16_t);
  for (size_t i = 0; i < event.payload.size(); ++i) {
    const uint64_t at = event.address + i;
    if (at < kControl || at >= kControl + sizeof msix_control_) continue;
    const auto shift = static_cast<unsigned>(8 * (at - kControl));
    msix_control_ = static_cast<uint16_t>((msix_control_ & ~(0xff << shift)) | event.payload[i] << shift);
  }
  RestartOwed();
}

void RingRules::OnMsixTable(const BoundaryEvent& event) {
  using Entry = spec::MsixTableEntry;
  const uint64_t at = event.address - spec::kBarMsixTable;
  const auto vector = static_cast<uint16_t>(at / Entry::kBytes);
  const uint64_t mask = Entry::kBytes - sizeof(uint32_t);  // the vector control [PCIe 5.0, 7.7.2.9]
  if (event.address < spec::kBarMsixTable || vector >= spec::kMsixVectorsMax) return;
  if (at % Entry::kBytes > mask || at % Entry::kBytes + event.bytes <= mask) return;
  if ((event.payload[mask - at % Entry::kBytes] & 1) == 0) {
    unmasked_.insert(vector);
  } else {
    unmasked_.erase(vector);
  }
  RestartOwed();
}

void RingRules::RestartOwed() {
  for (const uint16_t index : owing_) queues_[index].owed_since = now_;
}

void RingRules::OnBarWrite(const BoundaryEvent& event) {
  if (event.id == spec::kBarMsix) return OnMsixTable(event);
  if (event.id != spec::kBarVirtio) return;
  const uint64_t value = Little(event.payload);
  if (event.address < spec::kBarVirtioCommonCfg + Common::kBytes) {
    return WriteCommon(event.address - spec::kBarVirtioCommonCfg, value, event.bytes);
  }
  if (event.address < spec::kBarVirtioNotify) return;
  const uint64_t at = event.address - spec::kBarVirtioNotify;
  const uint64_t index = at / spec::kNotifyOffMultiplier;
  if (index >= queues_.size()) return;
  if (at % spec::kNotifyOffMultiplier != 0) {
    if (!queues_[index].is_live) return;
    if (queues_[index].kind == TableQueueKind::kSq && event.bytes == spec::RdmaPush::kBytes && has_extensible_) {
      if (auto pushed = queues_[index].places.Write(at % spec::kNotifyOffMultiplier, value)) {
        queues_[index].pushed = std::move(pushed);
        TakePushed(static_cast<uint16_t>(index));
      }
      return;
    }
    Notify(queues_[index]);
    const auto arm = spec::RdmaCqArm::FromWord(static_cast<uint32_t>(value));
    if (!has_arm_register_ || at % spec::kNotifyOffMultiplier != spec::kRdmaCqArmOffset ||
        event.bytes != spec::RdmaCqArm::kBytes)
      return;
    return Arm(static_cast<uint16_t>(index), arm.seen_used_idx, arm.solicited, arm.next_completion);
  }
  if (queues_[index].kind == TableQueueKind::kTransmit) listener_.OnNetTransmit();
  queues_[index].is_rung = queues_[index].is_live;
}

void RingRules::OnBarRead(const BoundaryEvent& event) { bar_reads_.push_back({event.id, event.address, selected_}); }

// A reset ends when its register reads 0. [virtio 1.3, 2.4.2, 2.6.1, 4.1.4.3.2]
void RingRules::OnBarCompletion(uint64_t value) {
  if (bar_reads_.empty()) return;
  const BarRead read = bar_reads_.front();
  bar_reads_.pop_front();
  if (read.bar != spec::kBarVirtio || value != 0) return;
  if (read.offset == spec::kBarVirtioCommonCfg + Common::kQueueResetOffset) {
    if (read.queue < queues_.size() && queues_[read.queue].is_resetting) Release(read.queue);
  } else if (read.offset == spec::kBarVirtioCommonCfg + Common::kDeviceStatusOffset && is_device_resetting_) {
    is_device_resetting_ = false;
    for (size_t i = 0; i < queues_.size(); ++i) Release(static_cast<uint16_t>(i));
    causes_.clear();
    has_lost_events_ = false;
  }
}

void RingRules::WriteCommon(uint64_t offset, uint64_t value, unsigned bytes) {
  const auto in = [&](size_t at) { return offset >= at && offset < at + 8; };
  if (offset == Common::kQueueSelectOffset) selected_ = static_cast<uint16_t>(value);
  if (offset == Common::kConfigMsixVectorOffset) config_vector_ = static_cast<uint16_t>(value);
  if (offset == Common::kDeviceStatusOffset && value == 0) {
    is_device_resetting_ = true;
    is_packed_ = false;
    config_vector_ = spec::kVirtioMsiNoVector;
  }
  if (offset == Common::kDriverFeatureSelectOffset) feature_window_ = static_cast<uint32_t>(value);
  if (offset == Common::kDriverFeatureOffset) {
    constexpr auto kPacked = static_cast<uint32_t>(spec::VirtioFeature::kRingPacked);
    if (feature_window_ == kPacked / 32) is_packed_ = (value >> kPacked % 32 & 1) != 0;
  }
  if (selected_ >= spec::kNotifyQueuesMax || offset < Common::kQueueSizeOffset) return;
  if (queues_.size() <= selected_) queues_.resize(size_t{selected_} + 1);
  Queue& queue = queues_[selected_];
  if (offset == Common::kQueueResetOffset && value == 1) queue.is_resetting = true;
  if (queue.is_live && !queue.is_resetting) return;  // it is fixed while enabled
  if (offset == Common::kQueueSizeOffset) queue.size = static_cast<uint16_t>(value);
  if (offset == Common::kQueueMsixVectorOffset) queue.vector = static_cast<uint16_t>(value);
  if (in(Common::kQueueDescOffset)) Merge(queue.desc, offset - Common::kQueueDescOffset, value, bytes);
  if (in(Common::kQueueDriverOffset)) Merge(queue.driver, offset - Common::kQueueDriverOffset, value, bytes);
  if (in(Common::kQueueDeviceOffset)) Merge(queue.device, offset - Common::kQueueDeviceOffset, value, bytes);
  if (offset == Common::kQueueEnableOffset && value == 1) Enable(selected_);
}

void RingRules::Enable(uint16_t index) {
  Release(index);
  Queue& queue = queues_[index];
  queue.is_live = true;
  live_.push_back(index);
  queue.is_packed = is_packed_;
  queue.is_judged = true;
  epochs_.resize(std::max(epochs_.size(), queues_.size()));
  epochs_[index] = ++epoch_;
  queue.descriptors.assign(queue.size, {});
  queue.heads.assign(queue.size, -1);
  queue.are_heads_new.assign(queue.size, false);
  const uint64_t size = queue.size;
  const auto add = [&](uint64_t begin, uint64_t bytes, Part part) {
    MarkPages(begin, bytes);
    const auto after = std::ranges::lower_bound(areas_, begin, {}, &Area::begin);
    const bool hits_next = after != areas_.end() && after->begin - begin < bytes;
    const bool hits_previous = after != areas_.begin() && std::prev(after)->end > begin;
    if (hits_next || hits_previous || begin + bytes < begin) {
      queue.is_judged = false;
      if (hits_next) queues_[after->queue].is_judged = false;
      if (hits_previous) queues_[std::prev(after)->queue].is_judged = false;
      // Its memory may be accessed; which queue an access is for is not known.
      memory_.Add(uint64_t{index} << 32 | 0xffff'ffff, begin, bytes);
    }
    if (after == areas_.end() || after->begin != begin) areas_.insert(after, {begin, begin + bytes, index, part});
  };
  add(queue.desc, size * kDescriptorBytes, Part::kDescriptors);
  if (queue.is_packed) {
    add(queue.driver, spec::PvirtqEventSuppress::kBytes, Part::kDriver);
    add(queue.device, spec::PvirtqEventSuppress::kBytes, Part::kDevice);
    return;
  }
  // With used_event and avail_event at the end.
  add(queue.driver, kAvailEntries + (size + 1) * kIndexBytes, Part::kDriver);
  add(queue.device, kUsedEntries + size * kElementBytes + kIndexBytes, Part::kDevice);
}

void RingRules::Release(uint16_t index) {
  Queue& queue = queues_[index];
  if (!queue.is_live && !queue.is_resetting) return;  // as it was created
  if (queue.is_live) {
    std::erase(live_, index);
    std::erase_if(areas_, [index](const Area& area) { return area.queue == index; });
    for (size_t i = 0; i < queue.descriptors.size(); ++i) {
      DropBuffer(index, queue.descriptors[i], static_cast<uint16_t>(i));
    }
    CheckOwed(index);
    CheckSkip(index);
    std::erase(owing_, index);
  }
  const uint16_t size = queue.size, vector = queue.vector;
  const uint64_t desc = queue.desc, driver = queue.driver, device = queue.device;
  const TableQueueKind kind = queue.kind;
  const uint32_t owner = queue.owner;
  const bool has_window = queue.has_window;
  const uint64_t base = queue.window_base, last = queue.window_last;
  queue = {};
  // Firmware writes and clears it, the first before the driver enables the queue.
  queue.has_window = has_window, queue.window_base = base, queue.window_last = last;
  // A driver may write the registers before it polls the end of the reset.
  queue.size = size, queue.vector = vector;
  queue.desc = desc, queue.driver = driver, queue.device = device;
  queue.kind = kind, queue.owner = owner;
}

void RingRules::ResetPositions(uint16_t index) {
  Queue& queue = queues_[index];
  queue.unread.clear();
  queue.found = 0;
  for (Descriptor& descriptor : queue.descriptors) descriptor.is_available = false;
  for (Descriptor& descriptor : queue.descriptors) {
    const bool is_work = descriptor.kept == Descriptor::Kept::kWork;
    if (!is_work && descriptor.kept != Descriptor::Kept::kReceive) continue;
    is_work ? works_.Remove(descriptor.address) : receives_.Remove(descriptor.address);
    MoveToMemory(index, descriptor);
  }
  queue.pushed.reset();
  queue.used_bytes = queue.used = queue.available = 0;
  queue.is_rung = queue.is_refused = false;
  queue.used_index = 0;
  queue.solicited_ahead.clear();
  queue.heads.assign(queue.size, -1);
  queue.are_heads_new.assign(queue.size, false);
}

void RingRules::SetRow(uint16_t index, const spec::TableVirtqueue& row) {
  if (index >= spec::kNotifyQueuesMax) return;
  if (queues_.size() <= index) queues_.resize(size_t{index} + 1);
  Queue& queue = queues_[index];
  queue.kind = row.kind;
  queue.owner = row.owner;
  if (row.reset_positions) ResetPositions(index);
}

void RingRules::SetWindow(uint16_t index, const spec::TableWindow& window) {
  if (index >= spec::kNotifyQueuesMax) return;
  if (queues_.size() <= index) queues_.resize(size_t{index} + 1);
  Queue& queue = queues_[index];
  queue.has_window = window.enable;
  queue.window_base = window.base;
  queue.window_last = window.last;
}

void RingRules::OnArm(uint16_t index, bool solicited, bool next_completion) {
  if (index >= queues_.size() || !queues_[index].is_live) return;
  Notify(queues_[index]);
  Arm(index, {}, solicited, next_completion);
  queues_[index].is_armed_by_firmware = true;
  queues_[index].arm_answers = answers_;
}

// The CQEs that are visible behind `seen`, the driver's position (spec::RdmaCqArm). A buffer of a CQ is one descriptor.
uint64_t RingRules::Unseen(const Queue& queue, uint16_t seen) {
  if (!queue.is_packed) return static_cast<uint16_t>(queue.used_index - seen);
  constexpr uint16_t kWrap = 0x8000;
  const uint64_t size = std::max<uint64_t>(queue.size, 1);
  const bool wrap = queue.used / size % 2 == 0;  // the wrap counter starts as 1 [virtio 1.3, 2.8.1]
  const bool is_same = wrap == ((seen & kWrap) != 0);
  return queue.used % size + (is_same ? 0 : size) - (seen & (kWrap - 1U));
}

// `seen`: the position up to which the driver has processed CQEs; none: all of them.
void RingRules::Arm(uint16_t index, std::optional<uint16_t> seen, bool solicited, bool next_completion) {
  Queue& queue = queues_[index];
  if (queue.kind != TableQueueKind::kCq || !queue.is_judged || (!solicited && !next_completion)) return;
  // A driver that arms again has processed what the interrupt would have been for.
  CheckOwed(index);
  queue.owes = queue.is_armed_by_firmware = false;
  std::erase(owing_, index);
  queue.is_armed_solicited |= solicited;
  queue.is_armed_next |= next_completion;
  const uint64_t unseen = seen.has_value() ? Unseen(queue, *seen) : 0;
  const bool is_solicited = queue.solicited.has_value() && queue.used - *queue.solicited < unseen;
  if ((queue.is_armed_next && unseen != 0) || (queue.is_armed_solicited && is_solicited)) Owe(index);
}

// A CQE has become visible to the driver.
void RingRules::CheckArm(uint16_t index) {
  Queue& queue = queues_[index];
  bool is_solicited = false;
  while (!queue.solicited_ahead.empty() && queue.solicited_ahead.front() <= queue.used) {
    queue.solicited = queue.solicited_ahead.front();
    queue.solicited_ahead.erase(queue.solicited_ahead.begin());
    is_solicited = true;
  }
  if (!queue.is_armed_next && !(queue.is_armed_solicited && is_solicited)) return;
  if (queue.is_armed_by_firmware && queue.arm_answers == answers_) {
    // The device may have had it before the arm, and the driver looks once more behind the answer.
    queue.is_armed_next = queue.is_armed_solicited = false;
    return;
  }
  Owe(index);
}

void RingRules::Owe(uint16_t index) {
  Queue& queue = queues_[index];
  queue.is_armed_next = queue.is_armed_solicited = false;
  if (queue.vector == spec::kVirtioMsiNoVector || queue.owes) return;
  queue.owes = true;
  queue.owed_since = now_;
  owing_.push_back(index);
}

void RingRules::CheckOwed(uint16_t index) {
  Queue& queue = queues_[index];
  if (!queue.owes || !CanInterrupt(queue.vector) || now_ < queue.owed_since + kPatience) [[likely]]
    return;
  findings_.Add(kArmNotifies, queue.owed_since, NameOf(index) + "no interrupt after a CQE that it was armed for",
                "MSI-X " + std::to_string(queue.vector));
  queue.owes = false;
  std::erase(owing_, index);
}

void RingRules::Finish() {
  for (const uint16_t index : std::vector(owing_)) CheckOwed(index);
  for (const uint16_t index : live_) CheckSkip(index);
}

// --- Idle

std::string RingRules::Unfinished() const {
  for (const uint16_t index : live_) {
    const Queue& queue = queues_[index];
    if (!queue.is_judged || queue.is_resetting) continue;
    if (queue.used_bytes != queue.used * kElementBytes && !queue.is_packed) {
      return NameOf(index) + "used element " + std::to_string(queue.used) + " without its index";
    }
    if (queue.filled != 0) return NameOf(index) + "a CQE whose buffer is not used";
  }
  return "";
}

bool RingRules::CanComplete(uint32_t cqn) const {
  return std::ranges::any_of(live_, [&](uint16_t index) {
    const Queue& queue = queues_[index];
    return queue.kind == TableQueueKind::kCq && queue.owner == cqn && !queue.is_broken &&
           (queue.cqes != 0 || !queue.is_read);
  });
}

std::string RingRules::Owed(Cycle deadline) const {
  if (is_device_resetting_) return "";
  for (const uint16_t index : owing_) {
    // Before a deadline it may be moderated. An arm by firmware may come behind the CQE.
    if (deadline == kNever && !queues_[index].is_armed_by_firmware && CanInterrupt(queues_[index].vector))
      return NameOf(index) + "no interrupt for its CQE";
  }
  if (has_lost_events_) return "";  // what has stopped is not known
  for (const uint16_t index : live_) {
    const Queue& queue = queues_[index];
    if (!queue.is_judged || queue.is_resetting || queue.is_broken) continue;
    const bool is_sent = queue.kind == TableQueueKind::kSq ? listener_.MustSend(queue.owner, deadline)
                                                           : queue.kind == TableQueueKind::kTransmit;
    if (!is_sent) continue;
    if (queue.is_rung) return NameOf(index) + "a notification, and the ring not read since";
    if (!queue.is_packed && queue.available != queue.used) {
      return NameOf(index) + std::to_string(queue.available - queue.used) + " buffers that are available";
    }
  }
  return "";
}

void RingRules::Notify(const Queue& queue) {
  if (queue.vector != spec::kVirtioMsiNoVector) ++causes_[queue.vector];
}

// --- What the device reads

const RingRules::Area* RingRules::AreaAt(uint64_t address) {
  uint32_t& known = known_[(address >> 12) % known_.size()];
  const auto is_nearest = [&](size_t at) {
    return at < areas_.size() && areas_[at].begin <= address &&
           (at + 1 == areas_.size() || address < areas_[at + 1].begin);
  };
  if (!is_nearest(known)) {
    const auto after = std::ranges::upper_bound(areas_, address, {}, &Area::begin);
    if (after == areas_.begin()) return nullptr;
    known = static_cast<uint32_t>(after - areas_.begin()) - 1;
  }
  const Area& area = areas_[known];
  return address < area.end ? &area : nullptr;
}

void RingRules::MarkPages(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  if (bytes > pages_.size() * kPage) pages_.set();
  for (uint64_t at = 0; at < bytes && !pages_.all(); at += kPage) pages_.set((address + at) / kPage % pages_.size());
  if (bytes != 0) pages_.set((address + bytes - 1) / kPage % pages_.size());
}

bool RingRules::OnDmaRead(const BoundaryEvent& event) {
  if (reads_.size() <= event.id) reads_.resize(size_t{event.id} + 1);
  Read& read = reads_[event.id];
  read.use = Read::Use::kOther;
  if (!MayBeKnown(event.address)) return false;
  read.bytes.clear();
  if (const Area* const area = AreaAt(event.address)) {
    read.queue = area->queue;
    read.epoch = epochs_[area->queue];
    if (area->part == Part::kDescriptors) read.use = Read::Use::kDescriptors;
    if (area->part == Part::kDriver) read.use = Read::Use::kDriver;
    Queue& queue = queues_[area->queue];
    queue.is_read = true;
    if (area->part == (queue.is_packed ? Part::kDescriptors : Part::kDriver)) queue.is_rung = false;
    return event.address + event.bytes <= area->end;
  }
  auto table = tables_.upper_bound(event.address);
  if (table != tables_.begin() && event.address < (--table)->second.end) {
    read.use = Read::Use::kTable;
    read.queue = table->second.queue;
    read.head = table->second.head;
    read.epoch = epochs_[read.queue];
    return false;
  }
  const auto finds = [&](const auto& buffer, Read::Use use) {
    read.use = use;
    read.work = buffer.address;
    read.queue = buffer.value->queue;
    read.epoch = epochs_[read.queue];
    return event.address - buffer.address + event.bytes <= buffer.value->bytes;
  };
  if (Work* const work = works_.Find(event.address); work != nullptr && work->bytes != 0) {
    return finds(AddressMap<Work>::Found{event.address, work}, Read::Use::kWork);
  }
  if (Receive* const receive = receives_.Find(event.address); receive != nullptr && receive->bytes != 0) {
    return finds(AddressMap<Receive>::Found{event.address, receive}, Read::Use::kReceive);
  }
  // Behind the first bytes of an rdma_sq_req.
  const uint64_t begin = event.address - spec::RdmaSqReq::kSizeOffset;
  if (Work* const work = works_.Find(begin); work != nullptr && work->bytes > spec::RdmaSqReq::kSizeOffset) {
    return finds(AddressMap<Work>::Found{begin, work}, Read::Use::kWorkTail);
  }
  if (const auto work = FindBuffer(works_, event.address); work.value != nullptr) {
    return finds(work, Read::Use::kWorkTail);
  }
  const auto receive = FindBuffer(receives_, event.address);
  return receive.value != nullptr && finds(receive, Read::Use::kReceive);
}

template <typename Buffer>
typename AddressMap<Buffer>::Found RingRules::FindBuffer(AddressMap<Buffer>& buffers, uint64_t address) {
  const auto found = buffers.FindBefore(address);
  if (found.value == nullptr || address - found.address >= found.value->bytes) return {};
  return found;
}

// A message in progress may need what was read.
void RingRules::Renew(std::shared_ptr<std::vector<uint8_t>>& tail) {
  if (tail != nullptr && tail.use_count() == 1) {
    tail->clear();
  } else {
    tail = std::make_shared<std::vector<uint8_t>>();
  }
}

void RingRules::OnDmaCompletion(const BoundaryEvent& event) {
  if (event.id >= reads_.size()) return;
  Read& read = reads_[event.id];
  if (read.use == Read::Use::kOther) return listener_.OnOtherRead(event);
  if (read.queue >= queues_.size() || !queues_[read.queue].is_live || epochs_[read.queue] != read.epoch) return;
  Queue& queue = queues_[read.queue];
  if (read.use == Read::Use::kDriver) {
    if (queue.is_packed) return;
    for (size_t i = 0; i + 1 < event.payload.size(); i += kIndexBytes) {
      const uint64_t at = event.address + i - queue.driver;
      const auto value = static_cast<uint16_t>(Little(event.payload.subspan(i, kIndexBytes)));
      if (at == spec::VirtqUsed::kIdxOffset) {
        const auto ahead = static_cast<uint16_t>(value - static_cast<uint16_t>(queue.available));
        if (ahead <= queue.size) queue.available += ahead;
        // It is read for one event at a time.
        if (queue.kind == TableQueueKind::kEvent && queue.available <= queue.used_bytes / kElementBytes) {
          has_lost_events_ = true;
        }
      } else if (at >= kAvailEntries && (at - kAvailEntries) / kIndexBytes < queue.size) {
        queue.heads[(at - kAvailEntries) / kIndexBytes] = value;
        queue.are_heads_new[(at - kAvailEntries) / kIndexBytes] = true;
      }
    }
    ExpectWorks(read.queue);
    return TakePushed(read.queue);
  }
  if (read.use == Read::Use::kReceive) {
    const Receive* const receive = receives_.Find(read.work);
    if (receive != nullptr) ExtendTail(*receive->tail, read.work, event.address, event.payload);
    return;
  }
  if (read.use == Read::Use::kWork || read.use == Read::Use::kWorkTail) {
    const Work* const work = works_.Find(read.work);
    const bool is_extensible = work != nullptr && work->IsExtensible();
    const uint64_t begin = read.work + (is_extensible ? 0 : spec::RdmaSqReq::kSizeOffset);
    if (work != nullptr && !ExtendTail(*work->tail, begin, event.address, event.payload)) {
      listener_.OnSendWork(queue.owner, {});
    }
    if (read.use == Read::Use::kWorkTail) return;
  }
  // Parts of a read arrive in order and may cut a descriptor.
  std::span<const uint8_t> bytes = event.payload;
  const uint64_t start = event.address - read.bytes.size();
  if (!read.bytes.empty()) {
    read.bytes.insert(read.bytes.end(), bytes.begin(), bytes.end());
    bytes = read.bytes;
  }
  const auto keep_from = [&](size_t at) {
    if (!read.bytes.empty()) {
      read.bytes.erase(read.bytes.begin(), read.bytes.begin() + static_cast<ptrdiff_t>(at));
    } else if (at < bytes.size()) {
      read.bytes.assign(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end());
    }
  };
  if (read.use == Read::Use::kWork) {
    const Work* const work = works_.Find(read.work);
    if (bytes.size() < (work == nullptr ? kWorkBytes : work->FirstBytes())) return keep_from(0);
    read.use = Read::Use::kWorkTail;  // what follows
    return SetWork(read.queue, start, bytes);
  }
  size_t at = 0;
  for (; at + kDescriptorBytes <= bytes.size(); at += kDescriptorBytes) {
    if (read.use == Read::Use::kTable) {
      AddTableEntry(read.queue, read.head, bytes.data() + at);
      continue;
    }
    const uint64_t offset = start + at - queue.desc;
    if (offset % kDescriptorBytes != 0 || offset / kDescriptorBytes >= queue.size) continue;
    SetDescriptor(read.queue, static_cast<uint16_t>(offset / kDescriptorBytes), bytes.data() + at);
  }
  if (read.use == Read::Use::kDescriptors) {
    ExpectWorks(read.queue);
    for (uint64_t number = (start - queue.desc) / kDescriptorBytes, end = number + at / kDescriptorBytes;
         number < std::min<uint64_t>(end, queue.descriptors.size()); ++number) {
      if (queue.descriptors[number].kept == Descriptor::Kept::kNew) MoveToMemory(read.queue, queue.descriptors[number]);
    }
    TakePushed(read.queue);
  }
  keep_from(at);
}

// The device reads the elements in their order, and for a replay again.
bool RingRules::ExtendTail(std::vector<uint8_t>& tail, uint64_t begin, uint64_t address,
                           std::span<const uint8_t> bytes) {
  const uint64_t next = begin + tail.size(), end = address + bytes.size();
  if (const uint64_t first = std::max(begin, address), last = std::min(next, end); first < last) {
    const auto again = bytes.subspan(first - address, last - first);
    if (!std::equal(again.begin(), again.end(), tail.begin() + static_cast<ptrdiff_t>(first - begin))) return false;
  }
  if (address > next || end <= next) return true;
  const auto known = static_cast<ptrdiff_t>(next - address);
  tail.insert(tail.end(), bytes.begin() + known, bytes.end());
  return true;
}

// A descriptor alone is not enough: for a replay the device reads it again.
void RingRules::ExpectWorks(uint16_t index) {
  Queue& queue = queues_[index];
  if (queue.kind != TableQueueKind::kSq || queue.size == 0) return;
  while (queue.is_packed || queue.found < queue.available) {
    const size_t place = queue.found % queue.size;
    if (!queue.is_packed && !queue.are_heads_new[place]) return;
    const size_t head = queue.is_packed ? place : static_cast<size_t>(queue.heads[place]);
    if (head >= queue.descriptors.size()) return;
    Descriptor& descriptor = queue.descriptors[head];
    if (!descriptor.is_known || !descriptor.is_available) return;
    // Of a packed ring: available in this lap. [virtio 1.3, 2.8.1]
    const bool is_even_lap = queue.found / queue.size % 2 == 0;
    if (queue.is_packed && ((descriptor.flags & spec::VirtqDescFlags::kAvail) != 0) != is_even_lap) return;
    const Work* const known = works_.Find(descriptor.address);
    if (known != nullptr && known->queue == index && known->head == head) return;  // still the last one
    ++queue.found;
    queue.are_heads_new[place] = false;
    const size_t least = has_extensible_ ? spec::RdmaSqBase::kBytes : spec::RdmaSqReq::kBytes;
    if ((descriptor.flags & spec::VirtqDescFlags::kIndirect) != 0 || descriptor.bytes < least ||
        !IsInWindow(queue, descriptor.address, descriptor.bytes)) {
      listener_.OnSendWork(queue.owner, {});
      continue;
    }
    AddWork(index, static_cast<uint16_t>(head), descriptor);
    queue.unread.push_back(descriptor.address);
  }
}

void RingRules::TakePushed(uint16_t index) {
  Queue& queue = queues_[index];
  if (!queue.pushed.has_value() || queue.size == 0) return;
  const auto& [end, address, bytes] = *queue.pushed;
  constexpr uint16_t kWrap = 0x8000;
  const bool is_even_lap = queue.found / queue.size % 2 == 0;
  if (queue.is_packed) {
    if (end.position != (queue.found % queue.size | (is_even_lap ? kWrap : 0))) return;
  } else {
    if (queue.found != queue.available || end.head >= queue.size) return;
    const auto passed = static_cast<uint16_t>(queue.available - end.position);
    if (passed != 0 && passed <= queue.size) queue.pushed.reset();
    if (passed != 0) return;
  }
  std::array<uint8_t, kDescriptorBytes> descriptor{};
  const auto length = static_cast<uint32_t>(bytes.size());
  if (queue.is_packed) {
    const uint16_t flags = is_even_lap ? spec::VirtqDescFlags::kAvail : spec::VirtqDescFlags::kUsed;
    spec::PvirtqDesc{.addr = address, .len = length, .id = 0, .flags = flags}.Encode(descriptor.data());
    SetDescriptor(index, end.position & (kWrap - 1), descriptor.data());
  } else {
    const size_t place = queue.available++ % queue.size;
    queue.heads[place] = end.head;
    queue.are_heads_new[place] = true;
    spec::VirtqDesc{.addr = address, .len = length, .flags = 0, .next = 0}.Encode(descriptor.data());
    SetDescriptor(index, end.head, descriptor.data());
  }
  const size_t number = queue.is_packed ? end.position & (kWrap - 1U) : end.head;
  const auto pushed = *std::exchange(queue.pushed, std::nullopt);
  ExpectWorks(index);
  if (queue.descriptors[number].kept == Descriptor::Kept::kNew) MoveToMemory(index, queue.descriptors[number]);
  const Work* const work = works_.Find(pushed.address);
  if (work == nullptr || work->queue != index) return;
  ExtendTail(*work->tail, pushed.address, pushed.address, pushed.bytes);
  SetWork(index, pushed.address, pushed.bytes);
}

std::optional<SendWork> RingRules::WorkOf(const Work* work) {
  return work == nullptr || !work->is_read ? std::nullopt : std::optional(ParseWork(*work));
}

std::optional<SendHead> RingRules::HeadOf(const Work* work) {
  return work == nullptr || !work->is_read ? std::nullopt : std::optional(ParseHead(*work));
}

// Reads may be answered in another order than they were made in.
void RingRules::SetWork(uint16_t index, uint64_t address, std::span<const uint8_t> bytes) {
  Work* const found = works_.Find(address);
  if (found == nullptr) return;
  const size_t count = std::min(found->FirstBytes(), bytes.size());
  if (found->is_read) {  // read again
    if (std::memcmp(found->first.data(), bytes.data(), count) != 0) {
      listener_.OnSendWork(queues_[index].owner, {});
    }
    return;
  }
  found->first = {};
  std::memcpy(found->first.data(), bytes.data(), count);
  found->is_read = true;
  Queue& queue = queues_[index];
  while (!queue.unread.empty()) {
    const Work* const next = works_.Find(queue.unread.front());
    if (next != nullptr && !next->is_read) return;
    listener_.OnSendWork(queue.owner, WorkOf(next));
    if (queue.is_refused) listener_.OnSendUsed(queue.owner, HeadOf(next));
    queue.unread.erase(queue.unread.begin());
  }
}

// Base and elements of an extensible work request start as an rdma_sq_req does.
SendHead RingRules::ParseHead(const Work& read) {
  using Layout = spec::RdmaSqReq;
  const uint8_t* const bytes = read.first.data();
  SendHead head = {.wr_id = Little(std::span(bytes, sizeof head.wr_id)),
                   .opcode = static_cast<spec::IbWrOpcode>(bytes[Layout::kOpcodeOffset]),
                   .send_flags = bytes[Layout::kSendFlagsOffset],
                   .imm_data = {}};
  std::copy_n(bytes + Layout::kImmDataOffset, head.imm_data.size(), head.imm_data.begin());
  return head;
}

SendWork RingRules::ParseWork(const Work& read) {
  const uint8_t* const bytes = read.first.data();
  SendWork work = {ParseHead(read), {}, {}, {}, {}, {.bytes = read.tail}};
  if (!read.IsExtensible()) {
    const uint8_t* const wr = bytes + spec::RdmaSqReq::kWrOffset;
    switch (work.opcode) {
      case spec::IbWrOpcode::kRdmaWrite:
      case spec::IbWrOpcode::kRdmaWriteWithImm:
      case spec::IbWrOpcode::kRdmaRead: work.rdma = spec::RdmaSqReqRdma::Decode(wr); break;
      case spec::IbWrOpcode::kBindMw: work.bind = spec::RdmaSqReqBind::Decode(wr); break;
      case spec::IbWrOpcode::kRegMr: work.reg = spec::RdmaSqReqReg::Decode(wr); break;
      default: work.atomic = spec::RdmaSqReqAtomic::Decode(wr); break;
    }
    return work;
  }
  // An element for each bit, in their order.
  using Element = spec::RdmaSqElement;
  const uint8_t elements = bytes[spec::RdmaSqBase::kElementsOffset];
  size_t at = spec::RdmaSqBase::kBytes;
  if ((elements & Element::kRdma) != 0) {
    const auto rdma = spec::RdmaSqRdma::Decode(bytes + at);
    work.rdma = {.remote_addr = rdma.remote_addr, .rkey = rdma.rkey};
    work.atomic = {.remote_addr = rdma.remote_addr, .rkey = rdma.rkey};
    const auto bind = spec::RdmaSqBind::Decode(bytes + at);
    work.bind = {.addr = bind.addr, .rkey = bind.rkey, .lkey = bind.lkey};
    const auto reg = spec::RdmaSqReg::Decode(bytes + at);
    work.reg = {.virt_addr = reg.virt_addr, .key = reg.key, .page_shift = reg.page_shift};
    at += spec::RdmaSqRdma::kBytes;
  }
  if ((elements & Element::kUd) != 0) at += spec::RdmaSqUd::kBytes;
  if ((elements & Element::kAtomic) != 0) {
    const auto operands = spec::RdmaSqAtomic::Decode(bytes + at);
    work.atomic.compare_add = operands.compare_add;
    work.atomic.swap = operands.swap;
    const auto range = spec::RdmaSqBindRange::Decode(bytes + at);
    work.bind.length = range.length;
    work.bind.access_flags = range.access_flags;
    work.reg.length = range.length;
    work.reg.access_flags = range.access_flags;
    at += spec::RdmaSqAtomic::kBytes;
  }
  work.data.is_extensible = true;
  work.data.begin = at;
  const auto rest = static_cast<uint32_t>(read.bytes < at ? 0 : read.bytes - at);
  if ((elements & Element::kInlineData) != 0) {
    work.data.count = rest;
  } else if ((elements & Element::kSgList) != 0) {
    work.data.count = rest / static_cast<uint32_t>(spec::RdmaSge::kBytes);
  }
  return work;
}

void RingRules::SetDescriptor(uint16_t index, uint16_t number, const uint8_t* bytes) {
  Queue& queue = queues_[index];
  Descriptor& descriptor = queue.descriptors[number];
  const auto split = spec::VirtqDesc::Decode(bytes);
  const uint16_t flags = queue.is_packed ? spec::PvirtqDesc::Decode(bytes).flags : split.flags;
  if (queue.is_packed) {
    const bool avail = (flags & spec::VirtqDescFlags::kAvail) != 0, used = (flags & spec::VirtqDescFlags::kUsed) != 0;
    if (avail == used) {  // not available; it is read for one event at a time
      has_lost_events_ |= queue.kind == TableQueueKind::kEvent;
      return;
    }
  }
  const bool is_same = descriptor.is_known && descriptor.address == split.addr && descriptor.bytes == split.len &&
                       descriptor.flags == flags;
  descriptor.next = split.next;
  const uint16_t id = queue.is_packed ? spec::PvirtqDesc::Decode(bytes).id : uint16_t{0};
  descriptor.id = id;
  descriptor.is_available = true;
  if (is_same) return;  // read again
  if (descriptor.is_known && descriptor.kept == Descriptor::Kept::kWork) {
    const Work* const work = works_.Find(descriptor.address);
    if (work != nullptr) listener_.OnSendWork(queue.owner, {});  // what was found was not the one that is available now
  }
  DropBuffer(index, descriptor, number);
  descriptor = {split.addr, split.len, flags, split.next, id, true, true, Descriptor::Kept::kInMemory};
  // The device does not access it, and it may be another queue's: it says nothing of what is read there.
  if (!IsInWindow(queue, split.addr, split.len)) {
    queue.is_broken = true;
    return;
  }
  if ((flags & spec::VirtqDescFlags::kIndirect) != 0 || queue.kind == TableQueueKind::kCq ||
      queue.kind == TableQueueKind::kSq || queue.kind == TableQueueKind::kRq || queue.kind == TableQueueKind::kEvent) {
    MarkPages(split.addr, split.len);
  }
  if ((flags & spec::VirtqDescFlags::kIndirect) != 0) {
    tables_[split.addr] = {split.addr + split.len, index, number};
  } else if (queue.kind == TableQueueKind::kCq && split.len >= spec::RdmaCqReq::kBytes) {
    return AddCqe(index, number, descriptor);
  } else if (queue.kind == TableQueueKind::kEvent) {
    event_buffers_.Add(split.addr) = index;
    descriptor.kept = Descriptor::Kept::kEvent;
  } else if (queue.kind == TableQueueKind::kRq) {
    return AddReceive(index, number, descriptor);
  } else if (queue.kind == TableQueueKind::kSq) {
    descriptor.kept = Descriptor::Kept::kNew;
    return;
  }
  AddBuffer(index, split.addr, split.len);
}

void RingRules::MoveToMemory(uint16_t index, Descriptor& descriptor) {
  descriptor.kept = Descriptor::Kept::kInMemory;
  AddBuffer(index, descriptor.address, descriptor.bytes);
}

template <typename Buffer>
void RingRules::Replace(const Buffer* other, uint64_t address) {
  if (other == nullptr) return;
  Descriptor& descriptor = queues_[other->queue].descriptors[other->head];
  if (descriptor.address == address) MoveToMemory(other->queue, descriptor);
}

void RingRules::AddWork(uint16_t index, uint16_t number, Descriptor& descriptor) {
  Replace(works_.Find(descriptor.address), descriptor.address);
  if (descriptor.kept == Descriptor::Kept::kInMemory) memory_.Remove(index, descriptor.address, descriptor.bytes);
  Work& work = works_.Add(descriptor.address);
  work.queue = index;
  work.head = number;
  work.bytes = descriptor.bytes;
  work.is_read = false;
  Renew(work.tail);
  descriptor.kept = Descriptor::Kept::kWork;
}

void RingRules::AddCqe(uint16_t index, uint16_t number, Descriptor& descriptor) {
  if (const Cqe* const other = cqes_.Find(descriptor.address)) {
    --queues_[other->queue].cqes;
    Replace(other, descriptor.address);
  }
  cqes_.Add(descriptor.address) = {index, number, descriptor.bytes, 0, {}};
  descriptor.kept = Descriptor::Kept::kCqe;
  ++queues_[index].cqes;
}

void RingRules::AddReceive(uint16_t index, uint16_t number, Descriptor& descriptor) {
  Replace(receives_.Find(descriptor.address), descriptor.address);
  Receive& receive = receives_.Add(descriptor.address);
  receive.queue = index;
  receive.head = number;
  receive.bytes = descriptor.bytes;
  Renew(receive.tail);
  descriptor.kept = Descriptor::Kept::kReceive;
}

void RingRules::AddTableEntry(uint16_t index, uint16_t head, const uint8_t* bytes) {
  const auto descriptor = spec::VirtqDesc::Decode(bytes);
  queues_[index].tables[head].emplace_back(descriptor.addr, descriptor.len);
  AddBuffer(index, descriptor.addr, descriptor.len);
}

bool RingRules::IsInWindow(const Queue& queue, uint64_t address, uint64_t bytes) {
  if (!queue.has_window || bytes == 0) return true;
  const uint64_t last = address + bytes - 1;
  return address >= queue.window_base && last <= queue.window_last && last >= address;
}

void RingRules::AddBuffer(uint16_t index, uint64_t address, uint64_t bytes) {
  if (!IsInWindow(queues_[index], address, bytes)) {
    queues_[index].is_broken = true;
    return;
  }
  if (bytes != 0) memory_.Add(index, address, bytes);
}

void RingRules::DropBuffer(uint16_t index, Descriptor& descriptor, uint16_t number) {
  if (!descriptor.is_known) return;
  Queue& queue = queues_[index];
  if ((descriptor.flags & spec::VirtqDescFlags::kIndirect) != 0) {
    const auto at = tables_.find(descriptor.address);
    if (at != tables_.end() && at->second.queue == index && at->second.head == number) tables_.erase(at);
    for (const auto& [address, bytes] : queue.tables[number]) memory_.Remove(index, address, bytes);
    queue.tables.erase(number);
  }
  switch (descriptor.kept) {
    case Descriptor::Kept::kCqe: {
      const Cqe* const cqe = cqes_.Find(descriptor.address);
      if (cqe != nullptr && cqe->have >= spec::RdmaCqReq::kBytes) --queue.filled;
      cqes_.Remove(descriptor.address);
      --queue.cqes;
      break;
    }
    case Descriptor::Kept::kReceive: receives_.Remove(descriptor.address); break;
    case Descriptor::Kept::kEvent:
      event_buffers_.Remove(descriptor.address);
      memory_.Remove(index, descriptor.address, descriptor.bytes);
      break;
    case Descriptor::Kept::kWork: works_.Remove(descriptor.address); break;
    case Descriptor::Kept::kInMemory: memory_.Remove(index, descriptor.address, descriptor.bytes); break;
    case Descriptor::Kept::kNew: break;
  }
  descriptor = {};
}

void RingRules::DropChain(uint16_t index, uint16_t head) {
  Queue& queue = queues_[index];
  for (size_t i = 0; i < queue.descriptors.size() && head < queue.descriptors.size(); ++i) {
    const Descriptor descriptor = queue.descriptors[head];
    DropBuffer(index, queue.descriptors[head], head);
    if (!descriptor.is_known || (descriptor.flags & spec::VirtqDescFlags::kNext) == 0) return;
    head = queue.is_packed ? static_cast<uint16_t>((head + 1) % queue.size) : descriptor.next;
  }
}

// --- What the device writes

bool RingRules::OnDmaWrite(const BoundaryEvent& event) {
  if (!MayBeKnown(event.address)) return false;
  if (const Area* const area = AreaAt(event.address)) {
    const uint16_t index = area->queue;
    const uint64_t at = event.address - area->begin;
    const bool is_inside = event.address + event.bytes <= area->end;
    const Part part = area->part;
    if (queues_[index].is_judged && part != Part::kDriver && queues_[index].is_packed == (part == Part::kDescriptors)) {
      queues_[index].is_packed ? WritePacked(event.cycle, index, at, event.payload)
                               : WriteUsed(event.cycle, index, at, event.payload);
    } else if (part == Part::kDevice || part == Part::kDescriptors) {
      Notify(queues_[index]);  // not judged, but it may cause an interrupt
    }
    return is_inside && (part == Part::kDevice || (part == Part::kDescriptors && queues_[index].is_packed));
  }
  const auto [address, cqe] = cqes_.FindBefore(event.address);
  const uint64_t at = event.address - address;
  const bool is_inside = cqe != nullptr && at + event.bytes <= cqe->bytes;
  if (cqe == nullptr || at + event.bytes > spec::RdmaCqReq::kBytes) {
    WriteEvent(event);
    return is_inside;
  }
  std::memcpy(cqe->content.data() + at, event.payload.data(), event.payload.size());
  const bool was_filled = cqe->have >= spec::RdmaCqReq::kBytes;
  cqe->have += event.bytes;
  if (!was_filled && cqe->have >= spec::RdmaCqReq::kBytes) {
    ++queues_[cqe->queue].filled;
    elements_.OnCqe(event.cycle, cqe->queue, cqe->content);
  }
  return is_inside;
}

// What the device reports has stopped: nothing is owed of it. [docs/decisions/0003]
void RingRules::WriteEvent(const BoundaryEvent& event) {
  if (event_buffers_.Find(event.address) == nullptr) return;
  if (event.bytes < spec::RdmaEvent::kBytes) {  // cut by a page's end
    has_lost_events_ = true;
    return;
  }
  const auto report = spec::RdmaEvent::Decode(event.payload.data());
  const auto stop = [&](const auto& is_it) {
    for (const uint16_t index : live_) queues_[index].is_broken |= is_it(index, queues_[index]);
  };
  switch (report.event_type) {
    case spec::RdmaEventType::kVqErr:
      return stop([&](uint16_t index, const Queue&) { return index == report.element; });
    case spec::RdmaEventType::kCqErr:
      return stop([&](uint16_t, const Queue& queue) {
        return queue.kind == TableQueueKind::kCq && queue.owner == report.element;
      });
    case spec::RdmaEventType::kQpFatal:
    case spec::RdmaEventType::kQpReqErr:
    case spec::RdmaEventType::kQpAccessErr: return listener_.OnQpFatal(report.element);
    default: return;
  }
}

// The driver does not see which work requests are used from here on, but those that the device has read may have CQEs,
// in their order. (docs/decisions/0003, refused writes)
void RingRules::OnDmaRefusal(uint64_t address) {
  const Area* const area = AreaAt(address);
  if (area == nullptr) return;
  Queue& queue = queues_[area->queue];
  if (area->part != (queue.is_packed ? Part::kDescriptors : Part::kDevice) || queue.is_refused) return;
  queue.is_refused = true;
  if (queue.kind != TableQueueKind::kSq) return;
  if (queue.is_packed) return listener_.OnSendUsed(queue.owner, {});
  for (uint64_t number = queue.used_bytes / kElementBytes; number < queue.found; ++number) {
    const int32_t head = queue.heads[number % queue.size];
    const bool is_known = head >= 0 && static_cast<size_t>(head) < queue.descriptors.size();
    const Work* const work = is_known ? works_.Find(queue.descriptors[static_cast<size_t>(head)].address) : nullptr;
    if (work != nullptr && !work->is_read) return;  // not read yet (SetWork)
    listener_.OnSendUsed(queue.owner, HeadOf(work));
  }
}

void RingRules::WriteUsed(Cycle cycle, uint16_t index, uint64_t at, std::span<const uint8_t> bytes) {
  Queue& queue = queues_[index];
  const uint64_t ring = queue.size * kElementBytes;
  if (at >= kUsedEntries + ring) return;  // avail_event
  if (at < kUsedEntries) {
    if (at == spec::VirtqUsed::kIdxOffset && bytes.size() == kIndexBytes) {
      UsedIndex(cycle, index, static_cast<uint16_t>(Little(bytes)));
    } else if (at != spec::VirtqUsed::kFlagsOffset || bytes.size() != kIndexBytes) [[unlikely]] {
      findings_.Add(kUsedElement, cycle,
                    NameOf(index) + "write of " + std::to_string(bytes.size()) + " bytes at " + std::to_string(at) +
                        " of the used ring",
                    "flags, index or an element");
    }
    return;
  }
  const uint64_t next = queue.used_bytes % ring;
  if (at - kUsedEntries != next || next + bytes.size() > ring || next % kElementBytes + bytes.size() > kElementBytes)
      [[unlikely]] {
    findings_.Add(kUsedElement, cycle,
                  NameOf(index) + std::to_string(bytes.size()) + " bytes at used element " +
                      std::to_string((at - kUsedEntries) / kElementBytes),
                  "element " + std::to_string(next / kElementBytes) + ", the next one");
    queue.is_judged = false;
    return;
  }
  std::copy(bytes.begin(), bytes.end(), queue.element.begin() + static_cast<ptrdiff_t>(next % kElementBytes));
  queue.used_bytes += bytes.size();
  if (queue.used_bytes % kElementBytes == 0) UsedElement(cycle, index);
}

void RingRules::UsedElement(Cycle cycle, uint16_t index) {
  Queue& queue = queues_[index];
  const uint64_t number = queue.used_bytes / kElementBytes - 1;
  const auto element = spec::VirtqUsedElem::Decode(queue.element.data());
  if (number >= queue.available) [[unlikely]] {
    findings_.Add(kUsedAvailable, cycle, NameOf(index) + "used element " + std::to_string(number),
                  "at most " + std::to_string(queue.available) + " buffers, as available when read");
  }
  const int32_t head = queue.heads[number % queue.size];
  if (IsInOrder(queue) && head >= 0 && element.id != static_cast<uint32_t>(head)) {
    const Queue::Skip skip{cycle, element.id, static_cast<uint32_t>(head)};
    if (queue.kind != TableQueueKind::kSq) {
      ReportSkip(index, skip);
    } else if (!queue.skip.has_value()) {
      queue.skip = skip;
    }
  }
  CheckLength(cycle, index, element.len);
  Returned(cycle, index, static_cast<uint16_t>(element.id));
}

void RingRules::CheckSkip(uint16_t index) {
  Queue& queue = queues_[index];
  const auto skip = std::exchange(queue.skip, std::nullopt);
  if (skip.has_value() && !queue.is_broken && !has_lost_events_) ReportSkip(index, *skip);
}

void RingRules::ReportSkip(uint16_t index, const Queue::Skip& skip) {
  findings_.Add(kUsedOrder, skip.cycle, NameOf(index) + "used buffer " + std::to_string(skip.used),
                std::to_string(skip.oldest) + ", the oldest available");
}

// [virtio 1.3, 2.7.8.2: as many as were written]
void RingRules::CheckLength(Cycle cycle, uint16_t index, uint32_t bytes) {
  if (queues_[index].kind != TableQueueKind::kCq || bytes == spec::RdmaCqReq::kBytes) [[likely]]
    return;
  findings_.Add(kUsedLength, cycle, NameOf(index) + "used length " + std::to_string(bytes),
                std::to_string(spec::RdmaCqReq::kBytes) + ", a CQE");
}

void RingRules::UsedIndex(Cycle cycle, uint16_t index, uint16_t value) {
  Queue& queue = queues_[index];
  const uint64_t elements = queue.used_bytes / kElementBytes;
  // Elements may be written ahead of the index that makes them visible.
  const auto grows = static_cast<uint16_t>(value - queue.used_index);
  if (grows == 0 || grows > elements - queue.used) [[unlikely]] {
    findings_.Add(kUsedIndex, cycle,
                  NameOf(index) + "used index " + std::to_string(value) + " after " + std::to_string(queue.used_index),
                  "at most " + std::to_string(static_cast<uint16_t>(queue.used_index + elements - queue.used)) +
                      ", by " + std::to_string(elements - queue.used) + " elements written before");
    queue.is_judged = false;
    queue.used = elements;
  } else {
    queue.used += grows;
  }
  queue.used_index = value;
  Notify(queue);
  if (queue.kind == TableQueueKind::kCq) CheckArm(index);
}

void RingRules::WritePacked(Cycle cycle, uint16_t index, uint64_t at, std::span<const uint8_t> bytes) {
  Queue& queue = queues_[index];
  const auto number = static_cast<uint16_t>(at / kDescriptorBytes);
  if (at % kDescriptorBytes == spec::PvirtqDesc::kLenOffset && bytes.size() >= sizeof(uint32_t)) {
    queue.packed_length = {number, static_cast<uint32_t>(Little(bytes.first(sizeof(uint32_t))))};
    if (queue.kind == TableQueueKind::kRq && at % kDescriptorBytes + bytes.size() >= spec::PvirtqDesc::kFlagsOffset) {
      queue.packed_ids[number] = static_cast<uint16_t>(Little(bytes.subspan(sizeof(uint32_t), sizeof(uint16_t))));
    }
  }
  // The flags come last and make the descriptor used. (spec/virtio.toml, pvirtq_desc)
  if (at % kDescriptorBytes + bytes.size() <= spec::PvirtqDesc::kFlagsOffset) return;
  if (at % kDescriptorBytes + bytes.size() != kDescriptorBytes) [[unlikely]] {
    findings_.Add(kUsedElement, cycle, NameOf(index) + "write across descriptor " + std::to_string(number),
                  "within it");
    return;
  }
  const auto flags = static_cast<uint16_t>(Little(bytes.last(kIndexBytes)));
  if (((flags & spec::VirtqDescFlags::kAvail) != 0) != ((flags & spec::VirtqDescFlags::kUsed) != 0)) [[unlikely]] {
    findings_.Add(kUsedElement, cycle,
                  NameOf(index) + "descriptor " + std::to_string(number) + " with flags " + Hex(flags),
                  "avail equal to used");
  }
  if (!queue.descriptors[number].is_available) [[unlikely]] {
    findings_.Add(kUsedAvailable, cycle, NameOf(index) + "used descriptor " + std::to_string(number),
                  "one that was read as available and not used since");
  }
  if (queue.packed_length.has_value() && queue.packed_length->first == number &&
      (flags & spec::VirtqDescFlags::kWrite) != 0) {
    CheckLength(cycle, index, queue.packed_length->second);
  }
  if (queue.kind == TableQueueKind::kRq && shared_.contains(queue.owner)) Exchange(index, number);
  Returned(cycle, index, number);
  ++queue.used;
  Notify(queue);
  if (queue.kind == TableQueueKind::kCq) CheckArm(index);
}

void RingRules::Exchange(uint16_t index, uint16_t number) {
  Queue& queue = queues_[index];
  const auto id = queue.packed_ids.find(number);
  const auto at = std::ranges::find_if(queue.descriptors, [&](const Descriptor& descriptor) {
    return id != queue.packed_ids.end() && descriptor.is_known && descriptor.is_available &&
           descriptor.id == id->second;
  });
  if (id != queue.packed_ids.end()) queue.packed_ids.erase(id);
  if (at == queue.descriptors.end()) [[unlikely]] {
    findings_.Add(kUsedAvailable, now_, NameOf(index) + "used descriptor " + std::to_string(number),
                  "the id of a buffer that was read as available and not used since");
    return;
  }
  const auto other = static_cast<uint16_t>(at - queue.descriptors.begin());
  if (other == number) return;
  std::swap(queue.descriptors[other], queue.descriptors[number]);
  for (const uint16_t place : {other, number}) {
    if (queue.descriptors[place].kept != Descriptor::Kept::kReceive) continue;
    if (Receive* const receive = receives_.Find(queue.descriptors[place].address)) receive->head = place;
  }
}

void RingRules::Returned(Cycle cycle, uint16_t index, uint16_t head) {
  Queue& queue = queues_[index];
  if (queue.kind == TableQueueKind::kControl) {
    ++answers_;
    listener_.OnAnswer();
  }
  const bool exists = head < queue.descriptors.size();
  if (queue.kind == TableQueueKind::kSq && !queue.is_refused) {
    listener_.OnSendUsed(queue.owner, HeadOf(exists ? works_.Find(queue.descriptors[head].address) : nullptr));
  }
  if (queue.kind == TableQueueKind::kRq) {
    const Receive* const receive = exists ? receives_.Find(queue.descriptors[head].address) : nullptr;
    const bool is_own = receive != nullptr && receive->queue == index && receive->head == head;
    listener_.OnReceiveUsed(queue.owner, is_own ? receive->tail : nullptr);
  }
  if (!exists) return;
  const Descriptor& descriptor = queue.descriptors[head];
  if (queue.kind == TableQueueKind::kCq && descriptor.is_known) {
    const Cqe* const cqe = cqes_.Find(descriptor.address);
    // Missing: the driver gave several buffers one address, or an indirect table.
    if (cqe != nullptr && cqe->queue == index && cqe->head == head) {
      if (cqe->have < spec::RdmaCqReq::kBytes) [[unlikely]] {
        findings_.Add(kCqeWritten, cycle,
                      NameOf(index) + "buffer " + std::to_string(head) + " used with " + std::to_string(cqe->have) +
                          " bytes written",
                      std::to_string(spec::RdmaCqReq::kBytes));
      } else {
        const uint64_t position = queue.is_packed ? queue.used + 1 : queue.used_bytes / kElementBytes;
        if (listener_.OnCqe(cycle, spec::RdmaCqReq::Decode(cqe->content.data()))) {
          queue.solicited_ahead.push_back(position);
        }
      }
    }
  }
  DropChain(index, head);
}

void RingRules::OnMsix(Cycle cycle, uint16_t vector) {
  std::erase_if(owing_, [&](uint16_t index) {
    if (queues_[index].vector != vector) return false;
    queues_[index].owes = false;
    return true;
  });
  if (vector == config_vector_) return;  // changes of configuration are not watched
  uint64_t& causes = causes_[vector];
  if (causes == 0) [[unlikely]] {
    findings_.Add(kMsixCause, cycle, "MSI-X " + std::to_string(vector),
                  "a used buffer or an arm of one of its queues since the last one");
    return;
  }
  --causes;
}

}  // namespace vireo::sim::monitor
