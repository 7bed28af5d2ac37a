// SPDX-License-Identifier: Apache-2.0
// The memory that a context has mapped for the device. A mapping in use by a region or a queue cannot be unmapped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "host/driver/pci_function.h"
#include "host/service/foreign_memory.h"

namespace vireo::service {

class ContextMemory {
 public:
  static constexpr size_t kMaxMappings = 65536;

  class Mapping {
   public:
    ~Mapping();
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    uint64_t address() const { return device_->address(); }
    uint64_t bytes() const { return device_->size(); }

   private:
    friend class ContextMemory;
    std::span<uint8_t> pages_;  // of a file, in this process
    host::DmaBuffer device_;
  };
  // Reference to a mapping; the mapping is in use while one exists.
  using Use = std::shared_ptr<Mapping>;

  // Both return the device address. kInvalidArgument: not page-aligned, or not a valid memory file; kNoMemory.
  host::Result<uint64_t> MapFile(host::PciFunction& function, int file, uint64_t offset, uint64_t bytes);
  host::Result<uint64_t> MapUser(host::PciFunction& function, std::shared_ptr<MemoryAccess> access, uint64_t address,
                                 uint64_t bytes);
  // kInvalidArgument: no mapping starts at `address`; kBadState: in use.
  host::Status Unmap(uint64_t address);

  // The mapping that contains the whole range, or null.
  Use Find(uint64_t address, uint64_t bytes) const;
  size_t size() const { return mappings_.size(); }

 private:
  host::Result<uint64_t> Add(Use mapping);

  std::map<uint64_t, Use> mappings_;  // by device address
};

// True for a memfd with all of `seals`: reading it never blocks on another process.
bool IsMemoryFile(int file, int seals);

}  // namespace vireo::service
