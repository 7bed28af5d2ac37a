// SPDX-License-Identifier: Apache-2.0
#include "verif/host/driver/vfio_shim.h"

#include <linux/vfio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vireo::sim {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Where vfio-pci puts the region of an index in the device's file.
constexpr unsigned kRegionShift = 40;

int Fail(int error) {
  errno = error;
  return -1;
}

// Null, with errno: the caller's structure is shorter than the kernel needs.
template <typename T>
T* Argument(uintptr_t argument, size_t least = sizeof(T)) {
  auto* const value = reinterpret_cast<T*>(argument);
  if (value->argsz >= least) return value;
  errno = EINVAL;
  return nullptr;
}

// A descriptor as a name of a file of the shim; the caller closes it.
int NewFile() { return ::eventfd(0, EFD_CLOEXEC); }

}  // namespace

std::string VfioShim::Link(const std::string& path) {
  const std::string device = std::string("/sys/bus/pci/devices/") + kAddress;
  if (path == device + "/iommu_group") return options_.has_group ? kGroup : "";
  if (path == device + "/driver") return options_.driver;
  return "";
}

bool VfioShim::WriteFile(const std::string& path, const std::string& text) {
  const std::string device = std::string("/sys/bus/pci/devices/") + kAddress;
  if (!options_.may_bind) return false;
  if (path == device + "/driver_override") override_ = text;
  if (path == device + "/driver/unbind" && text == kAddress) options_.driver.clear();
  // A device that has a driver keeps it.
  if (path == "/sys/bus/pci/drivers_probe" && text == kAddress && options_.driver.empty()) options_.driver = override_;
  return true;
}

int VfioShim::Open(const std::string& path) {
  if (path == "/dev/vfio/vfio") return container_ = NewFile();
  if (path != std::string("/dev/vfio/") + kGroup) return Fail(ENOENT);
  if (!options_.may_open_group) return Fail(EBUSY);
  return group_ = NewFile();
}

int VfioShim::Ioctl(int fd, unsigned long request, uintptr_t argument) {
  if (fd < 0) return Fail(EBADF);
  if (fd == container_) return Container(request, argument);
  if (fd == group_) return Group(request, argument);
  if (fd == device_fd_) return Device(request, argument);
  return Fail(EBADF);
}

// --- Container: the IOMMU

int VfioShim::Container(unsigned long request, uintptr_t argument) {
  switch (request) {
    case VFIO_GET_API_VERSION: return VFIO_API_VERSION;
    case VFIO_CHECK_EXTENSION: return argument == VFIO_TYPE1v2_IOMMU && options_.has_type1v2 ? 1 : 0;
    case VFIO_SET_IOMMU:
      if (!has_container_ || has_iommu_ || argument != VFIO_TYPE1v2_IOMMU) return Fail(EINVAL);
      has_iommu_ = true;
      return 0;
    default: break;
  }
  if (!has_iommu_) return Fail(EINVAL);
  switch (request) {
    case VFIO_IOMMU_GET_INFO: return IommuInfo(argument);
    case VFIO_IOMMU_MAP_DMA: return MapDma(argument);
    case VFIO_IOMMU_UNMAP_DMA: return UnmapDma(argument);
    default: return Fail(ENOTTY);
  }
}

// Capabilities are left out, and argsz says how long they are, if there is no room.
int VfioShim::IommuInfo(uintptr_t argument) const {
  auto* const info = Argument<vfio_iommu_type1_info>(argument, offsetof(vfio_iommu_type1_info, cap_offset));
  if (info == nullptr) return -1;
  info->flags = VFIO_IOMMU_INFO_PGSIZES | VFIO_IOMMU_INFO_CAPS;
  info->iova_pgsizes = 0x4020'1000;
  const size_t at = sizeof *info + sizeof(vfio_info_cap_header);  // behind another capability
  const size_t bytes =
      at + sizeof(vfio_iommu_type1_info_cap_iova_range) + options_.ranges.size() * sizeof(vfio_iova_range);
  if (info->argsz < bytes) {
    info->argsz = static_cast<uint32_t>(bytes);
    info->cap_offset = 0;
    return 0;
  }
  info->cap_offset = sizeof *info;
  auto* const start = reinterpret_cast<uint8_t*>(argument);
  const vfio_info_cap_header other = {.id = 99, .version = 1, .next = static_cast<uint32_t>(at)};
  std::memcpy(start + sizeof *info, &other, sizeof other);
  vfio_iommu_type1_info_cap_iova_range capability{};
  capability.header = {.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, .version = 1, .next = 0};
  capability.nr_iovas = static_cast<uint32_t>(options_.ranges.size());
  std::memcpy(start + at, &capability, sizeof capability);
  for (size_t i = 0; i < options_.ranges.size(); ++i) {
    const vfio_iova_range range = {.start = options_.ranges[i].first, .end = options_.ranges[i].last};
    std::memcpy(start + at + sizeof capability + i * sizeof range, &range, sizeof range);
  }
  return 0;
}

int VfioShim::MapDma(uintptr_t argument) {
  const auto* const map = Argument<vfio_iommu_type1_dma_map>(argument);
  if (map == nullptr) return -1;
  if (map->size == 0 || (map->size | map->iova | map->vaddr) % kPageBytes != 0 ||
      map->flags != (VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE)) {
    return Fail(EINVAL);
  }
  const uint64_t last = map->iova + map->size - 1;
  const bool is_in_range = std::ranges::any_of(options_.ranges, [&](const host::VfioDevice::Range& range) {
    return map->iova >= range.first && last <= range.last && last >= map->iova;
  });
  if (!is_in_range) return Fail(EINVAL);
  for (const auto& [address, bytes] : mappings) {
    if (map->iova < address + bytes && address <= last) return Fail(EEXIST);
  }
  if (locked_ + map->size > options_.locked_limit) return Fail(ENOMEM);
  const std::span memory(reinterpret_cast<uint8_t*>(map->vaddr), map->size);
  if (const host::Status done = device_.Map(map->iova, memory, -1); !done.ok()) return Fail(EFAULT);
  locked_ += map->size;
  mappings[map->iova] = map->size;
  return 0;
}

// Version 2 of type 1 ends whole mappings only.
int VfioShim::UnmapDma(uintptr_t argument) {
  auto* const unmap = Argument<vfio_iommu_type1_dma_unmap>(argument);
  if (unmap == nullptr) return -1;
  const auto found = mappings.find(unmap->iova);
  if (found == mappings.end() || found->second != unmap->size || unmap->flags != 0) return Fail(EINVAL);
  device_.Unmap(unmap->iova, unmap->size);
  locked_ -= unmap->size;
  mappings.erase(found);
  return 0;
}

// --- Group

int VfioShim::Group(unsigned long request, uintptr_t argument) {
  switch (request) {
    case VFIO_GROUP_GET_STATUS: {
      auto* const status = Argument<vfio_group_status>(argument);
      if (status == nullptr) return -1;
      status->flags =
          (options_.is_viable ? VFIO_GROUP_FLAGS_VIABLE : 0U) | (has_container_ ? VFIO_GROUP_FLAGS_CONTAINER_SET : 0U);
      return 0;
    }
    case VFIO_GROUP_SET_CONTAINER:
      if (has_container_ || *reinterpret_cast<const int*>(argument) != container_) return Fail(EINVAL);
      if (!options_.is_viable) return Fail(EPERM);
      has_container_ = true;
      return 0;
    case VFIO_GROUP_GET_DEVICE_FD:
      if (!has_iommu_) return Fail(EINVAL);
      if (std::strcmp(reinterpret_cast<const char*>(argument), kAddress) != 0) return Fail(ENODEV);
      return device_fd_ = NewFile();
    default: return Fail(ENOTTY);
  }
}

// --- Device

int VfioShim::Device(unsigned long request, uintptr_t argument) {
  switch (request) {
    case VFIO_DEVICE_GET_INFO: {
      auto* const info = Argument<vfio_device_info>(argument, offsetof(vfio_device_info, cap_offset));
      const auto known = device_.GetInfo();
      if (info == nullptr || !known.ok()) return -1;
      info->flags = VFIO_DEVICE_FLAGS_PCI | (options_.has_function_reset ? VFIO_DEVICE_FLAGS_RESET : 0U);
      info->num_regions = known->regions;
      info->num_irqs = known->irqs;
      return 0;
    }
    case VFIO_DEVICE_GET_REGION_INFO: return RegionInfo(argument);
    case VFIO_DEVICE_GET_IRQ_INFO: {
      auto* const info = Argument<vfio_irq_info>(argument);
      if (info == nullptr) return -1;
      const auto known = device_.GetIrq(info->index);
      if (!known.ok()) return Fail(EINVAL);
      info->flags = known->flags;
      info->count = known->count;
      return 0;
    }
    case VFIO_DEVICE_SET_IRQS: return SetIrqs(argument);
    case VFIO_DEVICE_RESET:
      if (!options_.has_function_reset) return Fail(EINVAL);
      if (options_.function_reset_error != 0) return Fail(options_.function_reset_error);
      ++resets;
      return device_.Reset().ok() ? 0 : Fail(EIO);
    case VFIO_DEVICE_GET_PCI_HOT_RESET_INFO:
      return options_.bus_reset_error != 0 ? Fail(options_.bus_reset_error) : HotResetInfo(argument);
    case VFIO_DEVICE_PCI_HOT_RESET: {
      const auto* const reset = Argument<vfio_pci_hot_reset>(argument, sizeof(vfio_pci_hot_reset) + sizeof(int32_t));
      if (reset == nullptr) return -1;
      // Every group of the bus must be the caller's.
      if (reset->flags != 0 || reset->count != options_.groups_of_bus.size() || reset->group_fds[0] != group_) {
        return Fail(EINVAL);
      }
      ++bus_resets;
      return device_.Reset().ok() ? 0 : Fail(EIO);
    }
    default: return Fail(ENOTTY);
  }
}

int VfioShim::RegionInfo(uintptr_t argument) {
  auto* const info = Argument<vfio_region_info>(argument);
  if (info == nullptr) return -1;
  const auto bytes = device_.RegionBytes(info->index);
  if (!bytes.ok()) return Fail(EINVAL);
  info->flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
  info->size = *bytes;
  info->offset = static_cast<uint64_t>(info->index) << kRegionShift;
  if (info->index != VFIO_PCI_BAR0_REGION_INDEX || options_.mapped_bytes == 0) return 0;
  info->flags |= VFIO_REGION_INFO_FLAG_MMAP | VFIO_REGION_INFO_FLAG_CAPS;
  vfio_region_info_cap_sparse_mmap sparse{};
  const vfio_region_sparse_mmap_area area = {.offset = options_.mapped_first, .size = options_.mapped_bytes};
  if (info->argsz < sizeof *info + sizeof sparse + sizeof area) {
    info->argsz = sizeof *info + sizeof sparse + sizeof area;
    info->cap_offset = 0;
    return 0;
  }
  info->cap_offset = sizeof *info;
  sparse.header = {.id = VFIO_REGION_INFO_CAP_SPARSE_MMAP, .version = 1, .next = 0};
  sparse.nr_areas = 1;
  auto* const start = reinterpret_cast<uint8_t*>(argument) + sizeof *info;
  std::memcpy(start, &sparse, sizeof sparse);
  std::memcpy(start + sizeof sparse, &area, sizeof area);
  return 0;
}

int VfioShim::SetIrqs(uintptr_t argument) {
  const auto* const set = Argument<vfio_irq_set>(argument);
  if (set == nullptr) return -1;
  const uint32_t data = set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
  if (set->index != VFIO_PCI_MSIX_IRQ_INDEX || (set->flags & VFIO_IRQ_SET_ACTION_TRIGGER) == 0) return Fail(EINVAL);
  if (data == VFIO_IRQ_SET_DATA_NONE) {
    // Only what is enabled can be disabled.
    if (!has_vectors_ || set->count != 0) return Fail(EINVAL);
    has_vectors_ = false;
    return device_.DisableMsix().ok() ? 0 : Fail(EIO);
  }
  const auto known = device_.GetIrq(set->index);
  if (data != VFIO_IRQ_SET_DATA_EVENTFD || !known.ok() || set->count == 0 || set->start + set->count > known->count ||
      set->argsz != sizeof *set + set->count * sizeof(int32_t)) {
    return Fail(EINVAL);
  }
  // Vectors cannot be added. [before Linux 6.5]
  if (has_vectors_) return Fail(EINVAL);
  std::vector<int> fds(set->count);
  std::memcpy(fds.data(), set->data, set->count * sizeof(int32_t));
  for (size_t done = 0; done < fds.size();) {
    const auto part = std::span(fds).subspan(done, std::min(device_.MostVectors(), fds.size() - done));
    if (!device_.EnableMsix(static_cast<uint32_t>(set->start + done), part).ok()) return Fail(EIO);
    done += part.size();
  }
  has_vectors_ = true;
  return 0;
}

int VfioShim::HotResetInfo(uintptr_t argument) const {
  auto* const info = Argument<vfio_pci_hot_reset_info>(argument);
  if (info == nullptr) return -1;
  info->count = static_cast<uint32_t>(options_.groups_of_bus.size());
  if (info->argsz < sizeof *info + info->count * sizeof(vfio_pci_dependent_device)) return Fail(ENOSPC);
  for (uint32_t i = 0; i < info->count; ++i) {
    const vfio_pci_dependent_device one = {
        .group_id = options_.groups_of_bus[i], .segment = 0, .bus = 3, .devfn = static_cast<uint8_t>(i)};
    std::memcpy(reinterpret_cast<uint8_t*>(argument) + sizeof *info + i * sizeof one, &one, sizeof one);
  }
  return 0;
}

// --- Accesses

ssize_t VfioShim::Read(int fd, void* to, size_t bytes, uint64_t offset) {
  if (fd != device_fd_) return Fail(EBADF);
  const auto region = static_cast<uint32_t>(offset >> kRegionShift);
  if (region == VFIO_PCI_BAR0_REGION_INDEX) ++calls;
  const uint64_t value =
      device_.Read(region, offset & ((uint64_t{1} << kRegionShift) - 1), static_cast<unsigned>(bytes));
  if (!device_.health().ok()) return Fail(EIO);
  std::memcpy(to, &value, bytes);
  return static_cast<ssize_t>(bytes);
}

ssize_t VfioShim::Write(int fd, const void* from, size_t bytes, uint64_t offset) {
  if (fd != device_fd_) return Fail(EBADF);
  const auto region = static_cast<uint32_t>(offset >> kRegionShift);
  if (region == VFIO_PCI_BAR0_REGION_INDEX) ++calls;
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  device_.Write(region, offset & ((uint64_t{1} << kRegionShift) - 1), static_cast<unsigned>(bytes), value);
  return device_.health().ok() ? static_cast<ssize_t>(bytes) : Fail(EIO);
}

void* VfioShim::Map(int fd, uint64_t offset, size_t bytes) {
  if (fd != device_fd_ || offset != options_.mapped_first || bytes != options_.mapped_bytes) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  pages_ = ::memfd_create("vireo-bar", MFD_CLOEXEC);
  if (pages_ < 0 || ::ftruncate(pages_, static_cast<off_t>(bytes)) != 0) return MAP_FAILED;
  mapped = static_cast<uint8_t*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages_, 0));
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages_, 0);
}

}  // namespace vireo::sim
