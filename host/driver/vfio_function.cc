// SPDX-License-Identifier: Apache-2.0
#include "host/driver/vfio_function.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <utility>

namespace vireo::host {
namespace {

constexpr uint64_t kPageBytes = VfioDevice::kPageBytes;
// Above 4 GiB, where the device addresses of no machine have holes.
constexpr uint64_t kFirstAddress = 0x20'0000'0000;
constexpr uint64_t kSecond = 1'000'000'000;

constexpr uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

VfioFunction::VfioFunction(std::unique_ptr<VfioDevice> device)
    : device_(std::move(device)), ranges_(device_->AddressRanges()), next_address_(kFirstAddress) {}

VfioFunction::~VfioFunction() = default;

Result<std::unique_ptr<VfioFunction>> VfioFunction::Open(std::unique_ptr<VfioDevice> device) {
  std::unique_ptr<VfioFunction> function(new VfioFunction(std::move(device)));
  if (Status done = function->ReadInfo(); !done.ok()) return done.error();
  return function;
}

Status VfioFunction::ReadInfo() {
  const auto info = device_->GetInfo();
  if (!info.ok()) return info.error();
  if ((info->flags & VFIO_DEVICE_FLAGS_PCI) == 0 || info->regions <= VFIO_PCI_CONFIG_REGION_INDEX ||
      info->irqs <= VFIO_PCI_MSIX_IRQ_INDEX) {
    return Error{ErrorCode::kUnsupported, "the VFIO device is not a PCI function"};
  }
  for (unsigned bar = 0; bar < kBars; ++bar) {
    const auto bytes = device_->RegionBytes(VFIO_PCI_BAR0_REGION_INDEX + bar);
    if (!bytes.ok()) return bytes.error();
    bar_bytes_[bar] = *bytes;
  }
  const auto msix = device_->GetIrq(VFIO_PCI_MSIX_IRQ_INDEX);
  if (!msix.ok()) return msix.error();
  // A larger count is invalid.
  if (msix->count <= VfioDevice::kMostMsixVectors && (msix->flags & VFIO_IRQ_INFO_EVENTFD) != 0)
    max_vectors_ = msix->count;
  return {};
}

// --- Registers

uint32_t VfioFunction::ReadConfig(uint32_t offset, unsigned bytes) {
  return static_cast<uint32_t>(device_->Read(VFIO_PCI_CONFIG_REGION_INDEX, offset, bytes));
}

void VfioFunction::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  if (bytes == 0 || bytes > sizeof value) return;
  device_->Write(VFIO_PCI_CONFIG_REGION_INDEX, offset, bytes, value);
}

uint64_t VfioFunction::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  return device_->Read(VFIO_PCI_BAR0_REGION_INDEX + bar, offset, bytes);
}

void VfioFunction::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  device_->Write(VFIO_PCI_BAR0_REGION_INDEX + bar, offset, bytes, value);
}

// --- Memory

class VfioFunction::Memory final : public DmaMemory {
 public:
  // `mapped`: bytes mapped for the device and, with `is_owner`, in this process.
  Memory(VfioDevice& device, uint8_t* data, uint64_t address, size_t bytes, size_t mapped, bool is_owner)
      : DmaMemory(data, address, bytes), device_(device), mapped_(mapped), is_owner_(is_owner) {}
  ~Memory() override {
    device_.Unmap(address(), mapped_);
    if (is_owner_) ::munmap(data(), mapped_);
  }

 private:
  VfioDevice& device_;
  const size_t mapped_;
  const bool is_owner_;
};

Result<uint64_t> VfioFunction::MapNext(std::span<uint8_t> memory, int file) {
  uint64_t address = 0;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t bytes = memory.size() + kPageBytes;  // with an unmapped guard page
    const auto range = std::ranges::find_if(ranges_, [&](const VfioDevice::Range& one) {
      const uint64_t first = std::max(RoundUp(one.first, kPageBytes), next_address_);
      return first <= one.last && bytes - 1 <= one.last - first;
    });
    if (range == ranges_.end()) return Error{ErrorCode::kNoMemory, "the device's addresses are used up"};
    address = std::max(RoundUp(range->first, kPageBytes), next_address_);
    next_address_ = address + bytes;
  }
  if (Status done = device_->Map(address, memory, file); !done.ok()) return done.error();
  return address;
}

Result<DmaBuffer> VfioFunction::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || bytes > size_t{1} << 46 || !std::has_single_bit(alignment) || alignment > kPageBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(bytes) + " bytes of DMA memory, aligned to " + std::to_string(alignment)};
  }
  if (Status healthy = health(); !healthy.ok()) return healthy.error();
  const size_t mapped = RoundUp(bytes, kPageBytes);
  // The mappings keep the file; its descriptor is closed.
  const FileDescriptor file(::memfd_create("vireo-dma", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ::ftruncate(file.get(), static_cast<off_t>(mapped)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return VfioDevice::SystemError(ErrorCode::kNoMemory, "memory file");
  }
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) return VfioDevice::SystemError(ErrorCode::kNoMemory, "mapping of a memory file");
  const auto address = MapNext({static_cast<uint8_t*>(memory), mapped}, file.get());
  if (!address.ok()) {
    ::munmap(memory, mapped);
    return address.error();
  }
  return DmaBuffer(std::make_unique<Memory>(*device_, static_cast<uint8_t*>(memory), *address, bytes, mapped, true));
}

Result<DmaBuffer> VfioFunction::MapDma(uint8_t* memory, size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || reinterpret_cast<uintptr_t>(memory) % kPageBytes != 0) {
    return Error{ErrorCode::kInvalidArgument, "memory to map must be page-aligned"};
  }
  if (!device_->MapsOrdinaryMemory()) {
    return Error{ErrorCode::kUnsupported, "the device's server maps only memory in files: no twin-socket mode"};
  }
  const auto address = MapNext({memory, bytes}, -1);
  if (!address.ok()) return address.error();
  return DmaBuffer(std::make_unique<Memory>(*device_, memory, *address, bytes, bytes, false));
}

// --- Interrupts and time

Status VfioFunction::EnableMsix(unsigned count) {
  if (count > max_vectors_) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(count) + " vectors of " + std::to_string(max_vectors_)};
  }
  if (Status healthy = health(); !healthy.ok()) return healthy;
  if (max_vectors_ == 0) return {};
  if (Status done = device_->DisableMsix(); !done.ok()) return done;
  vectors_.clear();
  std::vector<Vector> vectors(count);
  std::vector<int> fds;
  for (Vector& vector : vectors) {
    vector.fd = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!vector.fd.is_open()) return VfioDevice::SystemError(ErrorCode::kNoMemory, "eventfd");
    fds.push_back(vector.fd.get());
  }
  for (uint32_t start = 0; start < count;) {
    const auto part = std::span(fds).subspan(start, std::min<size_t>(count - start, device_->MostVectors()));
    if (Status done = device_->EnableMsix(start, part); !done.ok()) {
      static_cast<void>(device_->DisableMsix());
      return done;
    }
    start += static_cast<uint32_t>(part.size());
  }
  vectors_ = std::move(vectors);
  return {};
}

// Clear the eventfd counter, so that a message that is never taken does not wake the next Wait.
bool VfioFunction::Harvest(Vector& vector) {
  uint64_t count = 0;
  if (::read(vector.fd.get(), &count, sizeof count) != sizeof count) return false;
  vector.has_arrived = true;
  return true;
}

bool VfioFunction::TakeInterrupt(unsigned vector) {
  if (vector >= vectors_.size()) return false;
  Harvest(vectors_[vector]);
  return std::exchange(vectors_[vector].has_arrived, false);
}

uint64_t VfioFunction::NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

void VfioFunction::Wait(uint64_t deadline_ns) {
  const uint64_t now = NowNs();
  if (deadline_ns <= now) ::sched_yield();  // the device may run in another process, perhaps on this processor
  std::vector<pollfd> fds{{.fd = health().ok() ? device_->hang_up() : -1, .events = 0, .revents = 0}};
  for (const Vector& vector : vectors_) fds.push_back({.fd = vector.fd.get(), .events = POLLIN, .revents = 0});
  const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  const timespec timeout{.tv_sec = static_cast<time_t>(std::min<uint64_t>(left / kSecond, 1U << 30)),
                         .tv_nsec = static_cast<long>(left % kSecond)};
  if (::ppoll(fds.data(), fds.size(), &timeout, nullptr) <= 0) return;
  if ((fds[0].revents & (POLLHUP | POLLERR)) != 0) device_->OnHangUp();
  for (size_t i = 0; i < vectors_.size(); ++i) {
    if (fds[i + 1].revents != 0) Harvest(vectors_[i]);
  }
}

}  // namespace vireo::host
