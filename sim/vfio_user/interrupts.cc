// SPDX-License-Identifier: Apache-2.0
#include "sim/vfio_user/interrupts.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace vireo::sim {
namespace {

// Accepts eventfds only: a write to any other file could block.
bool IsEventFd(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::array<char, 64> target{};
  const ssize_t bytes = ::readlink(link.c_str(), target.data(), target.size());
  if (bytes < 0 || std::string_view(target.data(), static_cast<size_t>(bytes)) != "anon_inode:[eventfd]") return false;
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// [Linux, drivers/vfio/pci/vfio_pci_core.c, vfio_pci_get_irq_count: 1 each for a PCI Express function]
bool IsSingle(uint32_t index) { return index == VFIO_PCI_ERR_IRQ_INDEX || index == VFIO_PCI_REQ_IRQ_INDEX; }

}  // namespace

host::vfio_user::IrqInfo VfioUserInterrupts::Info(uint32_t index) const {
  host::vfio_user::IrqInfo info;
  info.index = index;
  if (index == VFIO_PCI_MSIX_IRQ_INDEX) {
    info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE;
    info.count = static_cast<uint32_t>(vectors_.size());
  } else if (IsSingle(index)) {
    info.flags = VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
    info.count = 1;
  }
  return info;
}

std::span<VfioUserInterrupts::Vector> VfioUserInterrupts::VectorsOf(uint32_t index) {
  switch (index) {
    case VFIO_PCI_MSIX_IRQ_INDEX: return vectors_;
    case VFIO_PCI_ERR_IRQ_INDEX: return error_;
    case VFIO_PCI_REQ_IRQ_INDEX: return request_;
    default: return {};
  }
}

uint32_t VfioUserInterrupts::Set(const host::vfio_user::IrqSet& set, std::span<const uint8_t> data,
                                 std::vector<host::FileDescriptor> fds) {
  constexpr uint32_t kData = VFIO_IRQ_SET_DATA_TYPE_MASK, kAction = VFIO_IRQ_SET_ACTION_TYPE_MASK;
  const uint32_t type = set.flags & kData, action = set.flags & kAction;
  if ((set.flags & ~(kData | kAction)) != 0 || !std::has_single_bit(type) || !std::has_single_bit(action) ||
      set.index >= VFIO_PCI_NUM_IRQS || (type != VFIO_IRQ_SET_DATA_EVENTFD && !fds.empty())) {
    return EINVAL;
  }
  const std::span<Vector> all = VectorsOf(set.index);
  if (set.count == 0) {
    if (type != VFIO_IRQ_SET_DATA_NONE || action != VFIO_IRQ_SET_ACTION_TRIGGER || set.start != 0) return EINVAL;
    for (Vector& vector : all) vector = Vector();
    static_cast<void>(Enable());  // on failure the function is about to be reset
    return 0;
  }
  if (set.start >= all.size() || set.count > all.size() - set.start) return EINVAL;
  if (IsSingle(set.index) && action != VFIO_IRQ_SET_ACTION_TRIGGER) return ENOTSUP;  // not maskable
  const std::span<Vector> range = all.subspan(set.start, set.count);
  if (type == VFIO_IRQ_SET_DATA_EVENTFD) {
    if (action != VFIO_IRQ_SET_ACTION_TRIGGER) return ENOTSUP;
    if (!fds.empty() && fds.size() != set.count) return EINVAL;
    if (!std::ranges::all_of(fds, [](const auto& fd) { return IsEventFd(fd.get()); })) return EINVAL;
    Deliver();  // to the previous eventfds
    for (size_t i = 0; i < range.size(); ++i) {
      range[i].fd = fds.empty() ? host::FileDescriptor() : std::move(fds[i]);
      range[i].is_pending = false;
    }
    return Enable() ? 0 : EIO;
  }
  if (type == VFIO_IRQ_SET_DATA_BOOL && data.size() != set.count) return EINVAL;
  for (size_t i = 0; i < range.size(); ++i) {
    if (type == VFIO_IRQ_SET_DATA_BOOL && data[i] == 0) continue;
    if (action == VFIO_IRQ_SET_ACTION_TRIGGER) {
      Signal(range[i]);
    } else {
      range[i].is_masked = action == VFIO_IRQ_SET_ACTION_MASK;
      if (!range[i].is_masked && std::exchange(range[i].is_pending, false)) Signal(range[i]);
    }
  }
  return 0;
}

// Enables vectors up to the last one with an eventfd. Interrupts of others are dropped.
bool VfioUserInterrupts::Enable() {
  unsigned wanted = 0;
  for (unsigned i = 0; i < vectors_.size(); ++i) {
    if (vectors_[i].fd.is_open()) wanted = i + 1;
  }
  if (wanted == enabled_) return true;
  if (!function_.EnableMsix(wanted).ok()) return false;
  enabled_ = wanted;
  return true;
}

void VfioUserInterrupts::Signal(Vector& vector) {
  if (vector.is_masked) {
    vector.is_pending = true;
    return;
  }
  // Does not block: if the eventfd's counter is full, it is signaled already.
  pollfd writable{.fd = vector.fd.get(), .events = POLLOUT, .revents = 0};
  if (!vector.fd.is_open() || ::poll(&writable, 1, 0) != 1 || (writable.revents & POLLOUT) == 0) return;
  const uint64_t one = 1;
  static_cast<void>(::write(vector.fd.get(), &one, sizeof one) == 0);
}

void VfioUserInterrupts::Deliver() {
  for (unsigned i = 0; i < enabled_; ++i) {
    if (function_.TakeInterrupt(i)) Signal(vectors_[i]);
  }
}

void VfioUserInterrupts::Restore() {
  enabled_ = 0;
  static_cast<void>(Enable());
}

}  // namespace vireo::sim
