// SPDX-License-Identifier: Apache-2.0
#include "host/driver/vfio_kernel_device.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace vireo::host {
namespace {

constexpr const char* kDriver = "vfio-pci";
// A kernel that asks for more is wrong.
constexpr uint32_t kMostAnswerBytes = 1U << 20;

template <typename T>
std::vector<uint8_t> BytesOf(T value) {
  value.argsz = sizeof value;
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Part of an answer; zeros if the answer ends before.
template <typename T>
T Get(const std::vector<uint8_t>& bytes, size_t at = 0) {
  T value{};
  if (at <= bytes.size() && sizeof value <= bytes.size() - at) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The capability `id` of an answer whose first one is at `at`; 0: there is none.
size_t FindCapability(const std::vector<uint8_t>& bytes, size_t at, uint16_t id) {
  for (unsigned hops = 0; at != 0 && hops < 64; ++hops) {
    const auto header = Get<vfio_info_cap_header>(bytes, at);
    if (header.id == id) return at;
    at = header.next;
  }
  return 0;
}

// With the domain, in the form of sysfs.
Result<std::string> SysfsName(const std::string& address) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int end = 0;
  const bool is_full = std::sscanf(address.c_str(), "%4x:%2x:%2x.%1u%n", &domain, &bus, &device, &function, &end) == 4;
  if (!is_full) domain = 0;
  const bool is_short = !is_full && std::sscanf(address.c_str(), "%2x:%2x.%1u%n", &bus, &device, &function, &end) == 3;
  if ((!is_full && !is_short) || static_cast<size_t>(end) != address.size() || device > 31 || function > 7) {
    return Error{ErrorCode::kInvalidArgument, "'" + address + "' is no address of PCI, such as 0000:03:00.0"};
  }
  std::array<char, 32> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "%04x:%02x:%02x.%u", domain, bus, device, function));
  return std::string(name.data());
}

std::string DevicePath(const std::string& name) { return "/sys/bus/pci/devices/" + name; }

}  // namespace

// --- System calls

int VfioSystem::Open(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); }
int VfioSystem::Ioctl(int fd, unsigned long request, uintptr_t argument) { return ::ioctl(fd, request, argument); }
ssize_t VfioSystem::Read(int fd, void* to, size_t bytes, uint64_t offset) {
  return ::pread(fd, to, bytes, static_cast<off_t>(offset));
}
ssize_t VfioSystem::Write(int fd, const void* from, size_t bytes, uint64_t offset) {
  return ::pwrite(fd, from, bytes, static_cast<off_t>(offset));
}
void* VfioSystem::Map(int fd, uint64_t offset, size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
}
std::string VfioSystem::Link(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).filename().string();
}
bool VfioSystem::WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}
VfioSystem& VfioSystem::Kernel() {
  static VfioSystem kernel;
  return kernel;
}

// --- Opening

Status VfioKernelDevice::Bind(const std::string& address, VfioSystem& system) {
  const auto name = SysfsName(address);
  if (!name.ok()) return name.error();
  const std::string path = DevicePath(*name);
  const std::string driver = system.Link(path + "/driver");
  if (driver == kDriver) return {};
  const bool is_given = system.WriteFile(path + "/driver_override", kDriver) &&
                        (driver.empty() || system.WriteFile(path + "/driver/unbind", *name)) &&
                        system.WriteFile("/sys/bus/pci/drivers_probe", *name) &&
                        system.Link(path + "/driver") == kDriver;
  if (is_given) return {};
  return Error{ErrorCode::kRefused,
               *name + " cannot be given to vfio-pci: run as root, with the module vfio-pci loaded"};
}

Result<std::unique_ptr<VfioDevice>> VfioKernelDevice::Open(const std::string& address, VfioSystem& system) {
  const auto name = SysfsName(address);
  if (!name.ok()) return name.error();
  const std::string group = system.Link(DevicePath(*name) + "/iommu_group");
  if (group.empty()) {
    return Error{ErrorCode::kNoDevice, *name + " has no IOMMU group: no such device, or no IOMMU (intel_iommu=on)"};
  }
  const std::string driver = system.Link(DevicePath(*name) + "/driver");
  if (driver != kDriver) {
    return Error{ErrorCode::kNoDevice, *name + " has the driver " + (driver.empty() ? "none" : driver) +
                                           ": give it to vfio-pci (VfioKernelDevice::Bind, or driverctl)"};
  }
  std::unique_ptr<VfioKernelDevice> device(new VfioKernelDevice(system));
  device->address_ = *name;
  if (Status done = device->OpenGroup(group); !done.ok()) return done.error();
  if (Status done = device->ReadRanges(); !done.ok()) return done.error();
  auto info = device->Ask(device->device_.get(), VFIO_DEVICE_GET_INFO, BytesOf(vfio_device_info{}), "device");
  if (!info.ok()) return info.error();
  const auto got = Get<vfio_device_info>(*info);
  device->info_ = {.flags = got.flags, .regions = got.num_regions, .irqs = got.num_irqs};
  for (uint32_t region = 0; region <= VFIO_PCI_CONFIG_REGION_INDEX && region < got.num_regions; ++region) {
    if (Status done = device->ReadRegion(region); !done.ok()) return done.error();
  }
  return std::unique_ptr<VfioDevice>(std::move(device));
}

Result<std::unique_ptr<VfioFunction>> OpenVfio(const std::string& address) {
  auto device = VfioKernelDevice::Open(address);
  if (!device.ok()) return device.error();
  return VfioFunction::Open(std::move(device).value());
}

Status VfioKernelDevice::OpenGroup(const std::string& group) {
  const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), group_number_);
  if (error != std::errc() || end != group.data() + group.size()) {
    return Error{ErrorCode::kNoDevice, address_ + " is in IOMMU group '" + group + "', which is no number"};
  }
  container_ = FileDescriptor(system_.Open("/dev/vfio/vfio"));
  if (!container_.is_open()) return SystemError(ErrorCode::kRefused, "/dev/vfio/vfio");
  if (system_.Ioctl(container_.get(), VFIO_GET_API_VERSION, 0) != VFIO_API_VERSION ||
      system_.Ioctl(container_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1) {
    return Error{ErrorCode::kUnsupported, "this kernel's VFIO has another version, or no IOMMU of type 1"};
  }
  const std::string path = "/dev/vfio/" + group;
  group_ = FileDescriptor(system_.Open(path));
  if (!group_.is_open()) return SystemError(ErrorCode::kRefused, path);
  vfio_group_status status{.argsz = sizeof status, .flags = 0};
  if (system_.Ioctl(group_.get(), VFIO_GROUP_GET_STATUS, reinterpret_cast<uintptr_t>(&status)) != 0) {
    return SystemError(ErrorCode::kRefused, "status of IOMMU group " + group);
  }
  if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
    return Error{ErrorCode::kRefused,
                 "IOMMU group " + group + " has devices of other drivers: give all of them to vfio-pci"};
  }
  int container = container_.get();
  if (system_.Ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, reinterpret_cast<uintptr_t>(&container)) != 0) {
    return SystemError(ErrorCode::kRefused, "container of IOMMU group " + group);
  }
  if (system_.Ioctl(container_.get(), VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
    return SystemError(ErrorCode::kUnsupported, "IOMMU of type 1");
  }
  device_ = FileDescriptor(
      system_.Ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, reinterpret_cast<uintptr_t>(address_.c_str())));
  if (!device_.is_open()) return SystemError(ErrorCode::kRefused, address_);
  return {};
}

Result<std::vector<uint8_t>> VfioKernelDevice::Ask(int fd, unsigned long request, std::vector<uint8_t> bytes,
                                                   const char* what) {
  const std::vector<uint8_t> question = bytes;
  for (int tries = 0; tries < 2; ++tries) {
    const bool is_done = system_.Ioctl(fd, request, reinterpret_cast<uintptr_t>(bytes.data())) == 0;
    const auto wanted = Get<uint32_t>(bytes);
    if (!is_done) return SystemError(ErrorCode::kRefused, address_ + ": information about its " + what);
    if (wanted <= bytes.size()) return bytes;
    if (wanted > kMostAnswerBytes) break;
    bytes.assign(wanted, 0);
    std::ranges::copy(question, bytes.begin());
    std::memcpy(bytes.data(), &wanted, sizeof wanted);
  }
  return Error{ErrorCode::kMisbehaved, address_ + ": the kernel's information about its " + what + " does not end"};
}

Status VfioKernelDevice::ReadRanges() {
  const auto info = Ask(container_.get(), VFIO_IOMMU_GET_INFO, BytesOf(vfio_iommu_type1_info{}), "IOMMU");
  if (!info.ok()) return info.error();
  const auto got = Get<vfio_iommu_type1_info>(*info);
  if ((got.flags & VFIO_IOMMU_INFO_PGSIZES) != 0 && (got.iova_pgsizes & kPageBytes) == 0) {
    return Error{ErrorCode::kUnsupported, address_ + ": its IOMMU has no pages of 4 KiB"};
  }
  const size_t at = (got.flags & VFIO_IOMMU_INFO_CAPS) == 0
                        ? 0
                        : FindCapability(*info, got.cap_offset, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
  const auto capability = Get<vfio_iommu_type1_info_cap_iova_range>(*info, at);
  for (uint32_t i = 0; at != 0 && i < capability.nr_iovas; ++i) {
    const size_t entry = at + sizeof capability + i * sizeof(vfio_iova_range);
    if (entry + sizeof(vfio_iova_range) > info->size()) break;
    const auto range = Get<vfio_iova_range>(*info, entry);
    ranges_.push_back({.first = range.start, .last = range.end});
  }
  // A kernel before 5.4 does not say: what the smallest IOMMUs have.
  if (ranges_.empty()) ranges_.push_back({.first = 0, .last = (uint64_t{1} << 39) - 1});
  return {};
}

Status VfioKernelDevice::ReadRegion(uint32_t index) {
  vfio_region_info ask{};
  ask.index = index;
  const auto info = Ask(device_.get(), VFIO_DEVICE_GET_REGION_INFO, BytesOf(ask), "regions");
  if (!info.ok()) return info.error();
  const auto got = Get<vfio_region_info>(*info);
  Region& region = regions_.emplace_back();
  region.file_offset = got.offset;
  region.bytes = got.size;
  if ((got.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0) return {};
  const size_t at = (got.flags & VFIO_REGION_INFO_FLAG_CAPS) == 0
                        ? 0
                        : FindCapability(*info, got.cap_offset, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
  if (at == 0) {
    MapWindow(region, 0, got.size);
    return {};
  }
  const auto sparse = Get<vfio_region_info_cap_sparse_mmap>(*info, at);
  for (uint32_t i = 0; i < sparse.nr_areas; ++i) {
    const size_t entry = at + sizeof sparse + i * sizeof(vfio_region_sparse_mmap_area);
    if (entry + sizeof(vfio_region_sparse_mmap_area) > info->size()) break;
    const auto area = Get<vfio_region_sparse_mmap_area>(*info, entry);
    MapWindow(region, area.offset, area.size);
  }
  return {};
}

// Without it system calls do the same, more slowly.
void VfioKernelDevice::MapWindow(Region& region, uint64_t first, uint64_t bytes) {
  if (bytes == 0 || first % kPageBytes != 0 || first > region.bytes || bytes > region.bytes - first) return;
  void* const memory = system_.Map(device_.get(), region.file_offset + first, bytes);
  if (memory == MAP_FAILED) return;
  region.windows.push_back({.first = first, .bytes = bytes, .memory = static_cast<uint8_t*>(memory)});
}

VfioKernelDevice::~VfioKernelDevice() {
  for (const Region& region : regions_) {
    for (const Window& window : region.windows) ::munmap(window.memory, window.bytes);
  }
  // The kernel resets the device, and ends its mappings, when the last of its files closes.
  device_.Close();
  group_.Close();
  container_.Close();
}

Status VfioKernelDevice::health() const {
  if (!is_lost_) return {};
  return Error{ErrorCode::kLost, address_ + " is gone, or was taken away"};
}

Result<VfioDevice::Info> VfioKernelDevice::GetInfo() { return info_; }

Result<uint64_t> VfioKernelDevice::RegionBytes(uint32_t region) {
  return region < regions_.size() ? regions_[region].bytes : 0;
}

Result<VfioDevice::Irq> VfioKernelDevice::GetIrq(uint32_t index) {
  vfio_irq_info ask{};
  ask.index = index;
  const auto info = Ask(device_.get(), VFIO_DEVICE_GET_IRQ_INFO, BytesOf(ask), "interrupts");
  if (!info.ok()) return info.error();
  const auto got = Get<vfio_irq_info>(*info);
  return Irq{.flags = got.flags, .count = got.count};
}

// --- Registers

const uint8_t* VfioKernelDevice::Find(uint32_t region, uint64_t offset, unsigned bytes) const {
  for (const Window& window : regions_[region].windows) {
    if (offset >= window.first && offset - window.first + bytes <= window.bytes) {
      return window.memory + (offset - window.first);
    }
  }
  return nullptr;
}

void VfioKernelDevice::NoteFailure() {
  if (errno == ENODEV || errno == ENXIO || errno == EIO) is_lost_ = true;
}

uint64_t VfioKernelDevice::Read(uint32_t region, uint64_t offset, unsigned bytes) {
  if (region >= regions_.size() || bytes == 0 || bytes > sizeof(uint64_t)) return Ones(bytes);
  if (offset > regions_[region].bytes || bytes > regions_[region].bytes - offset) return Ones(bytes);
  if (const uint8_t* const at = Find(region, offset, bytes); at != nullptr) {
    switch (bytes) {
      case 1: return *reinterpret_cast<const volatile uint8_t*>(at);
      case 2: return *reinterpret_cast<const volatile uint16_t*>(at);
      case 4: return *reinterpret_cast<const volatile uint32_t*>(at);
      case 8: return *reinterpret_cast<const volatile uint64_t*>(at);
      default: return Ones(bytes);
    }
  }
  uint64_t value = 0;
  if (system_.Read(device_.get(), &value, bytes, regions_[region].file_offset + offset) ==
      static_cast<ssize_t>(bytes)) {
    return value;
  }
  NoteFailure();
  return Ones(bytes);
}

void VfioKernelDevice::Write(uint32_t region, uint64_t offset, unsigned bytes, uint64_t value) {
  if (region >= regions_.size() || bytes == 0 || bytes > sizeof value) return;
  if (offset > regions_[region].bytes || bytes > regions_[region].bytes - offset) return;
  // Stores to memory before this access are visible to the device first.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (const uint8_t* const found = Find(region, offset, bytes); found != nullptr) {
    auto* const at = const_cast<uint8_t*>(found);
    switch (bytes) {
      case 1: *reinterpret_cast<volatile uint8_t*>(at) = static_cast<uint8_t>(value); return;
      case 2: *reinterpret_cast<volatile uint16_t*>(at) = static_cast<uint16_t>(value); return;
      case 4: *reinterpret_cast<volatile uint32_t*>(at) = static_cast<uint32_t>(value); return;
      case 8: *reinterpret_cast<volatile uint64_t*>(at) = value; return;
      default: return;
    }
  }
  if (system_.Write(device_.get(), &value, bytes, regions_[region].file_offset + offset) !=
      static_cast<ssize_t>(bytes)) {
    NoteFailure();
  }
}

// --- Memory

Status VfioKernelDevice::Map(uint64_t address, std::span<uint8_t> memory, int /*file*/) {
  vfio_iommu_type1_dma_map map{};
  map.argsz = sizeof map;
  map.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
  map.vaddr = reinterpret_cast<uintptr_t>(memory.data());
  map.iova = address;
  map.size = memory.size();
  if (system_.Ioctl(container_.get(), VFIO_IOMMU_MAP_DMA, reinterpret_cast<uintptr_t>(&map)) == 0) return {};
  const bool is_limit = errno == ENOMEM;
  return SystemError(ErrorCode::kNoMemory, std::to_string(memory.size()) + " bytes of memory for " + address_ +
                                               (is_limit ? " (RLIMIT_MEMLOCK: ulimit -l)" : ""));
}

void VfioKernelDevice::Unmap(uint64_t address, size_t bytes) {
  vfio_iommu_type1_dma_unmap unmap{};
  unmap.argsz = sizeof unmap;
  unmap.iova = address;
  unmap.size = bytes;
  static_cast<void>(system_.Ioctl(container_.get(), VFIO_IOMMU_UNMAP_DMA, reinterpret_cast<uintptr_t>(&unmap)));
}

// --- Interrupts and reset

Status VfioKernelDevice::SetIrqs(uint32_t flags, uint32_t start, std::span<const int> fds) {
  vfio_irq_set set{};
  set.flags = flags | VFIO_IRQ_SET_ACTION_TRIGGER;
  set.index = VFIO_PCI_MSIX_IRQ_INDEX;
  set.start = start;
  set.count = static_cast<uint32_t>(fds.size());
  set.argsz = static_cast<uint32_t>(sizeof set + fds.size_bytes());
  std::vector<uint8_t> bytes(set.argsz);
  std::memcpy(bytes.data(), &set, sizeof set);
  if (!fds.empty()) std::memcpy(bytes.data() + sizeof set, fds.data(), fds.size_bytes());
  if (system_.Ioctl(device_.get(), VFIO_DEVICE_SET_IRQS, reinterpret_cast<uintptr_t>(bytes.data())) == 0) return {};
  return SystemError(ErrorCode::kRefused, address_ + ": MSI-X vectors");
}

Status VfioKernelDevice::EnableMsix(uint32_t start, std::span<const int> fds) {
  if (fds.empty()) return {};
  Status done = SetIrqs(VFIO_IRQ_SET_DATA_EVENTFD, start, fds);
  has_vectors_ |= done.ok();
  return done;
}

// The kernel refuses it while no vector is enabled.
Status VfioKernelDevice::DisableMsix() {
  if (!has_vectors_) return {};
  Status done = SetIrqs(VFIO_IRQ_SET_DATA_NONE, 0, {});
  has_vectors_ &= !done.ok();
  return done;
}

namespace {

// Of a request for a reset: there is no such one. Linux answers EINVAL of a function that had none when it was opened,
// ENOTTY if all methods are disabled (reset_method of sysfs), ENODEV of a bus. [drivers/vfio/pci of Linux 6.1]
bool IsWithoutReset(int error) { return error == EINVAL || error == ENOTTY || error == ENODEV; }

}  // namespace

Status VfioKernelDevice::Reset() {
  if ((info_.flags & VFIO_DEVICE_FLAGS_RESET) == 0) return HotReset();
  if (system_.Ioctl(device_.get(), VFIO_DEVICE_RESET, 0) == 0) return {};
  if (IsWithoutReset(errno)) return HotReset();
  return SystemError(ErrorCode::kRefused, "reset of " + address_);
}

Status VfioKernelDevice::HotReset() {
  // The kernel answers ENOSPC, with the count, if there is no room for all devices.
  std::vector<uint8_t> bytes = BytesOf(vfio_pci_hot_reset_info{});
  for (int tries = 0; tries < 2; ++tries) {
    if (system_.Ioctl(device_.get(), VFIO_DEVICE_GET_PCI_HOT_RESET_INFO, reinterpret_cast<uintptr_t>(bytes.data())) ==
        0)
      break;
    if (IsWithoutReset(errno)) {
      return SystemError(ErrorCode::kUnsupported,
                         "the kernel can reset neither " + address_ +
                             " nor its bus, only its driver can, by virtio's device_status; reset of the bus");
    }
    const uint32_t count = Get<vfio_pci_hot_reset_info>(bytes).count;
    if (errno != ENOSPC || tries != 0 || count > kMostAnswerBytes / sizeof(vfio_pci_dependent_device)) {
      return SystemError(ErrorCode::kRefused, "reset of " + address_);
    }
    vfio_pci_hot_reset_info ask{};
    bytes.assign(sizeof ask + count * sizeof(vfio_pci_dependent_device), 0);
    ask.argsz = static_cast<uint32_t>(bytes.size());
    std::memcpy(bytes.data(), &ask, sizeof ask);
  }
  const uint32_t count = Get<vfio_pci_hot_reset_info>(bytes).count;
  for (uint32_t i = 0; i < count; ++i) {
    const auto other =
        Get<vfio_pci_dependent_device>(bytes, sizeof(vfio_pci_hot_reset_info) + i * sizeof(vfio_pci_dependent_device));
    if (other.group_id != group_number_) {
      return Error{ErrorCode::kRefused, "a reset of " + address_ + " would reset a device of IOMMU group " +
                                            std::to_string(other.group_id) + ", too"};
    }
  }
  vfio_pci_hot_reset reset{};
  const int32_t group = group_.get();
  reset.argsz = sizeof reset + sizeof group;
  reset.count = 1;
  std::vector<uint8_t> request(reset.argsz);
  std::memcpy(request.data(), &reset, sizeof reset);
  std::memcpy(request.data() + sizeof reset, &group, sizeof group);
  if (system_.Ioctl(device_.get(), VFIO_DEVICE_PCI_HOT_RESET, reinterpret_cast<uintptr_t>(request.data())) == 0)
    return {};
  return SystemError(ErrorCode::kRefused, "reset of the bus of " + address_);
}

}  // namespace vireo::host
