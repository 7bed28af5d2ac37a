// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/guest_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vireo::sim::pvrdma {

bool GuestMemory::Map(uint64_t address, std::span<uint8_t> memory) {
  if (memory.empty() || address % kPageBytes != 0 || memory.size() % kPageBytes != 0 ||
      address + (memory.size() - 1) < address) {
    return false;
  }
  const auto next = windows_.lower_bound(address);
  if (next != windows_.end() && next->first <= address + (memory.size() - 1)) return false;
  if (next != windows_.begin()) {
    const auto& [before, window] = *std::prev(next);
    if (window->size() > address - before) return false;
  }
  host::Result<host::DmaBuffer> device = nic_.MapDma(memory.data(), memory.size());
  if (!device.ok()) return false;
  windows_.emplace(address, std::make_shared<Window>(memory, std::move(device).value()));
  return true;
}

bool GuestMemory::Unmap(uint64_t address) {
  const auto window = windows_.find(address);
  if (window == windows_.end()) return false;
  if (window->second.use_count() > 1 && release_) release_();
  windows_.erase(window);
  return true;
}

std::optional<GuestMemory::Place> GuestMemory::Find(uint64_t address, uint64_t bytes) const {
  const auto next = windows_.upper_bound(address);
  if (next == windows_.begin()) return std::nullopt;
  const auto& [first, window] = *std::prev(next);
  const uint64_t offset = address - first;
  if (offset >= window->size() || bytes > window->size() - offset) return std::nullopt;
  return Place{window, window->memory_.data() + offset, window->device_->address() + offset};
}

std::optional<GuestPages> GuestPages::Read(const GuestMemory& memory, uint64_t directory, uint32_t pages) {
  if (pages == 0 || pages > kMaxPages) return std::nullopt;
  const auto page = [&memory](uint64_t address) {
    return address % kPageBytes == 0 ? memory.Find(address, kPageBytes) : std::nullopt;
  };
  const auto tables = page(directory);
  if (!tables.has_value()) return std::nullopt;
  GuestPages read;
  std::optional<GuestMemory::Place> table;
  for (uint32_t i = 0; i < pages; ++i) {
    if (i % kEntriesPerPage == 0) {
      table = page(Load<uint64_t>(tables->data + i / kEntriesPerPage * sizeof(uint64_t)));
      if (!table.has_value()) return std::nullopt;
    }
    auto place = page(Load<uint64_t>(table->data + i % kEntriesPerPage * sizeof(uint64_t)));
    if (!place.has_value()) return std::nullopt;
    read.pages_.push_back(place->data);
    read.device_addresses_.push_back(place->device_address);
    if (std::ranges::find(read.uses_, place->window) == read.uses_.end()) {
      read.uses_.push_back(std::move(place->window));
    }
  }
  return read;
}

}  // namespace vireo::sim::pvrdma
