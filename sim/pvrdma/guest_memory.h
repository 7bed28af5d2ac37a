// SPDX-License-Identifier: Apache-2.0
// A guest's memory: windows of guest addresses, each mapped into this process and for the DMA of one NIC. Guests choose
// every address that the function uses, so all access goes through here and is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "host/driver/pci_function.h"
#include "sim/pvrdma/abi.h"

namespace vireo::sim::pvrdma {

class GuestMemory {
 public:
  class Window;
  // A reference to a window; the window is in use while one exists.
  using Use = std::shared_ptr<const Window>;

  // `nic` is the function of the NIC that accesses the memory; it outlives this.
  explicit GuestMemory(host::PciFunction& nic) : nic_(nic) {}
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  // Called before a window that is in use is removed; it must end all use.
  void OnUnmap(std::function<void()> release) { release_ = std::move(release); }

  // Multiples of a page; `memory` must outlive the window. False: it overlaps another one, or the NIC has no address
  // for it.
  bool Map(uint64_t address, std::span<uint8_t> memory);
  // False: no window starts there.
  bool Unmap(uint64_t address);

  // The bytes, if all are in one window.
  struct Place {
    Use window{};
    uint8_t* data = nullptr;
    uint64_t device_address = 0;  // for the NIC
  };
  std::optional<Place> Find(uint64_t address, uint64_t bytes) const;

 private:
  host::PciFunction& nic_;
  std::function<void()> release_;
  std::map<uint64_t, Use> windows_;  // by first address
};

class GuestMemory::Window {
 public:
  Window(std::span<uint8_t> memory, host::DmaBuffer device) : memory_(memory), device_(std::move(device)) {}
  uint64_t size() const { return memory_.size(); }

 private:
  friend class GuestMemory;
  std::span<uint8_t> memory_;
  host::DmaBuffer device_;
};

// Pages that a directory lists, in use while this exists. Offsets count through all pages.
class GuestPages {
 public:
  // Nothing: the directory, a table or a page is outside of the memory or not aligned, or there are none or more than
  // kMaxPages.
  static std::optional<GuestPages> Read(const GuestMemory& memory, uint64_t directory, uint32_t pages);

  size_t size() const { return pages_.size(); }
  // The bytes, which must be in one page.
  uint8_t* At(uint64_t offset) const { return pages_[offset / kPageBytes] + offset % kPageBytes; }
  const std::vector<uint64_t>& device_addresses() const { return device_addresses_; }

 private:
  std::vector<GuestMemory::Use> uses_;
  std::vector<uint8_t*> pages_;
  std::vector<uint64_t> device_addresses_;
};

// A copy, taken once: the guest may change its memory at any time.
template <typename T>
T Load(const uint8_t* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void Store(uint8_t* to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace vireo::sim::pvrdma
