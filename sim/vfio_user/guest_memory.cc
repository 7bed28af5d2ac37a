// SPDX-License-Identifier: Apache-2.0
#include "sim/vfio_user/guest_memory.h"

#include <linux/vfio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>

#include "host/service/context_memory.h"

namespace vireo::sim {

using host::vfio_user::Command;
using host::vfio_user::DmaAccess;
using host::vfio_user::DmaMap;
using host::vfio_user::Header;
using host::vfio_user::Message;

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMaxRequests = 4096;  // outstanding; message IDs have room for more

bool IsPages(uint64_t first, uint64_t bytes) {
  return bytes != 0 && bytes % kPageBytes == 0 && first % kPageBytes == 0 && first + (bytes - 1) >= first;
}

}  // namespace

class VfioUserMemory::RemoteWindow final : public MemoryBackend {
 public:
  RemoteWindow(VfioUserMemory& memory, uint64_t address) : memory_(memory), address_(address) {}
  bool Read(uint64_t offset, std::span<uint8_t> data) override { return memory_.ReadRemote(address_ + offset, data); }
  bool Write(uint64_t offset, std::span<const uint8_t> data) override {
    return memory_.WriteRemote(address_ + offset, data);
  }

 private:
  VfioUserMemory& memory_;
  const uint64_t address_;
};

bool StationWindows::Map(uint64_t address, std::span<uint8_t> memory, Permission permission) {
  return station_.memory().Map(address, memory, permission);
}
bool StationWindows::MapExternal(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> memory,
                                 Permission permission) {
  return station_.memory().Map(address, bytes, std::move(memory), permission);
}
void StationWindows::Remove(uint64_t address) { station_.memory().Remove(address); }
void StationWindows::OnDmaRead(std::function<bool(uint64_t address, uint32_t bytes)> is_ready) {
  station_.pcie().OnDmaRead(std::move(is_ready));
}
size_t StationWindows::WritesInFlight() const { return station_.pcie().bar_accesses_outstanding(); }

VfioUserMemory::VfioUserMemory(DmaWindows& device, Peer& peer) : device_(device), peer_(peer) {
  device_.OnDmaRead([this](uint64_t address, uint32_t bytes) { return IsReady(address, bytes); });
}

VfioUserMemory::~VfioUserMemory() {
  device_.OnDmaRead({});
  while (!windows_.empty()) Remove(windows_.begin());
}

uint32_t VfioUserMemory::Map(const DmaMap& map, std::vector<host::FileDescriptor> files) {
  if ((map.flags & ~(DmaMap::kReadable | DmaMap::kWriteable)) != 0 || !IsPages(map.address, map.size)) return EINVAL;
  if (files.size() > 1) return EINVAL;
  if (windows_.size() >= kMaxWindows) return ENOSPC;
  static_assert(DmaMap::kReadable == static_cast<uint32_t>(Permission::kRead) &&
                DmaMap::kWriteable == static_cast<uint32_t>(Permission::kWrite));
  const auto permission = static_cast<Permission>(map.flags);
  Window window{.bytes = map.size, .mapped = nullptr};
  if (!files.empty()) {
    const int file = files[0].get();
    struct stat info {};
    if (!IsPages(map.offset, map.size) || ::fstat(file, &info) != 0 || info.st_size < 0 ||
        map.offset + map.size > static_cast<uint64_t>(info.st_size)) {
      return EINVAL;
    }
    if (service::IsMemoryFile(file, F_SEAL_SHRINK)) {
      const int protection = map.flags == DmaMap::kReadable ? PROT_READ : PROT_READ | PROT_WRITE;
      void* const memory =
          ::mmap(nullptr, map.size, protection, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(map.offset));
      if (memory == MAP_FAILED) return static_cast<uint32_t>(errno);
      window.mapped = static_cast<uint8_t*>(memory);
    }
  }
  const bool is_added =
      window.mapped != nullptr
          ? device_.Map(map.address, std::span(window.mapped, map.size), permission)
          : device_.MapExternal(map.address, map.size, std::make_unique<RemoteWindow>(*this, map.address), permission);
  if (!is_added) {
    if (window.mapped != nullptr) ::munmap(window.mapped, map.size);
    return EEXIST;
  }
  windows_[map.address] = window;
  if (window.mapped == nullptr) remote_[map.address] = map.address + (map.size - 1);
  return 0;
}

uint32_t VfioUserMemory::Unmap(const host::vfio_user::DmaUnmap& unmap) {
  if (unmap.flags == VFIO_DMA_UNMAP_FLAG_ALL) {
    if (unmap.address != 0 || unmap.size != 0) return EINVAL;
    while (!windows_.empty()) Remove(windows_.begin());
    return 0;
  }
  if (unmap.flags != 0 || !IsPages(unmap.address, unmap.size)) return EINVAL;
  const uint64_t last = unmap.address + (unmap.size - 1);
  // The first window that ends behind the start of the range, and the first one behind the range.
  auto first = windows_.upper_bound(unmap.address);
  if (first != windows_.begin()) {
    const auto before = std::prev(first);
    if (before->first + (before->second.bytes - 1) >= unmap.address) first = before;
  }
  const auto end = windows_.upper_bound(last);
  if (first == end) return 0;
  const auto& [highest, window] = *std::prev(end);
  if (first->first < unmap.address || highest + (window.bytes - 1) > last) return ENOENT;
  while (first != end) Remove(first++);
  return 0;
}

void VfioUserMemory::Remove(std::map<uint64_t, Window>::iterator window) {
  device_.Remove(window->first);
  remote_.erase(window->first);
  if (window->second.mapped != nullptr) ::munmap(window->second.mapped, window->second.bytes);
  windows_.erase(window);
}

void VfioUserMemory::ForgetReads() {
  fetches_.clear();
  ++epoch_;
}

// --- Messages

void VfioUserMemory::SendRequest(Command command, uint64_t address, uint64_t bytes, std::span<const uint8_t> data,
                                 std::pair<uint64_t, uint64_t> fetch) {
  while (requests_.contains(next_id_)) ++next_id_;
  Header header;
  header.id = next_id_++;
  header.command = static_cast<uint16_t>(command);
  requests_[header.id] = {command, address, bytes, fetch, epoch_};
  if (command == Command::kDmaWrite) ++writes_;
  const DmaAccess access{.address = address, .count = bytes};
  peer_.SendDma(header, host::vfio_user::BytesOf(access), data);
}

bool VfioUserMemory::OnReply(const Message& message) {
  const auto found = requests_.find(message.header.id);
  if (found == requests_.end() || message.command() != found->second.command) return false;
  const Request request = found->second;
  requests_.erase(found);
  if (request.command == Command::kDmaWrite) {
    --writes_;
    return true;  // posted: errors are ignored
  }
  const bool is_failed = (message.header.flags & Header::kError) != 0;
  if (!is_failed) {
    if (message.payload.size() != sizeof(DmaAccess) + request.bytes) return false;
    const auto access = host::vfio_user::Get<DmaAccess>(message.payload);
    if (access.address != request.address || access.count != request.bytes) return false;
  }
  const auto fetch = fetches_.find(request.fetch);
  if (request.epoch != epoch_ || fetch == fetches_.end()) return true;
  fetch->second.missing -= request.bytes;
  fetch->second.is_failed = fetch->second.is_failed || is_failed;
  if (!is_failed) {
    std::ranges::copy(std::span(message.payload).subspan(sizeof(DmaAccess)),
                      fetch->second.data.begin() + static_cast<std::ptrdiff_t>(request.address - request.fetch.first));
  }
  return true;
}

// Called by the link before it reads memory.
bool VfioUserMemory::IsReady(uint64_t address, uint64_t bytes) {
  if (remote_.empty() || bytes == 0) return true;
  const uint64_t last = address + (bytes - 1);
  auto window = remote_.upper_bound(address);
  if (window != remote_.begin()) --window;
  bool is_ready = true;
  for (; window != remote_.end() && window->first <= last; ++window) {
    const uint64_t from = std::max(address, window->first), to = std::min(last, window->second);
    if (from <= to) is_ready = FetchNow(from, to - from + 1) && is_ready;
  }
  return is_ready;
}

// True: the data is here or has failed. False: the client cannot reply now.
bool VfioUserMemory::FetchNow(uint64_t address, uint64_t bytes) {
  const std::pair key{address, bytes};
  const uint64_t deadline_ns = peer_.ReplyDeadlineNs();
  if (!fetches_.contains(key)) {
    while (requests_.size() > kMaxRequests) {
      if (!peer_.MayWait()) return false;
      if (!peer_.WaitForReply(deadline_ns)) return true;
    }
    fetches_[key] = {std::vector<uint8_t>(bytes), bytes, false};
    for (uint64_t done = 0; done < bytes; done += transfer_) {
      SendRequest(Command::kDmaRead, address + done, std::min<uint64_t>(bytes - done, transfer_), {}, key);
    }
  }
  for (;;) {
    const auto fetch = fetches_.find(key);
    if (fetch == fetches_.end() || fetch->second.missing == 0) return true;
    if (!peer_.MayWait()) return false;
    if (!peer_.WaitForReply(deadline_ns)) return true;
  }
}

bool VfioUserMemory::ReadRemote(uint64_t address, std::span<uint8_t> data) {
  const std::pair key{address, uint64_t{data.size()}};
  if (!FetchNow(address, data.size())) return false;
  const auto fetch = fetches_.find(key);
  if (fetch == fetches_.end()) return false;
  const bool is_good = fetch->second.missing == 0 && !fetch->second.is_failed;
  if (is_good) std::ranges::copy(fetch->second.data, data.begin());
  // An incomplete fetch was abandoned because the connection is over.
  fetches_.erase(fetch);
  return is_good;
}

bool VfioUserMemory::WriteRemote(uint64_t address, std::span<const uint8_t> data) {
  const uint64_t deadline_ns = peer_.ReplyDeadlineNs();
  while (requests_.size() > kMaxRequests && peer_.MayWait()) {
    if (!peer_.WaitForReply(deadline_ns)) return false;
  }
  if (requests_.size() > 8 * kMaxRequests) return false;
  for (uint64_t done = 0; done < data.size(); done += transfer_) {
    const auto part = data.subspan(done, std::min<uint64_t>(data.size() - done, transfer_));
    SendRequest(Command::kDmaWrite, address + done, part.size(), part, {});
  }
  return true;
}

}  // namespace vireo::sim
