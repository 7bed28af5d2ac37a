// SPDX-License-Identifier: Apache-2.0
#include "host/service/context_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace vireo::service {
namespace {

using host::Error;
using host::ErrorCode;

constexpr uint64_t kPageBytes = 4096;
// Above any user-space address; the sum of two does not overflow.
constexpr uint64_t kLastAddress = uint64_t{1} << 57;

bool IsPages(uint64_t first, uint64_t bytes) {
  return bytes != 0 && bytes % kPageBytes == 0 && first % kPageBytes == 0 && bytes <= kLastAddress &&
         first <= kLastAddress - bytes;
}

Error NotPageAligned() { return {ErrorCode::kInvalidArgument, "memory to map must be page-aligned"}; }

}  // namespace

bool IsMemoryFile(int file, int seals) {
  const int have = ::fcntl(file, F_GET_SEALS);
  struct stat info {};
  // Not hugetlbfs: a huge page may be unavailable at first access, which would kill this process (SIGBUS).
  return have >= 0 && (have & seals) == seals && ::fstat(file, &info) == 0 &&
         static_cast<uint64_t>(info.st_blksize) == kPageBytes;
}

ContextMemory::Mapping::~Mapping() {
  device_.reset();
  if (!pages_.empty()) ::munmap(pages_.data(), pages_.size());
}

host::Result<uint64_t> ContextMemory::MapFile(host::PciFunction& function, int file, uint64_t offset, uint64_t bytes) {
  if (!IsPages(offset, bytes)) return NotPageAligned();
  struct stat info {};
  // If the file shrinks, access to its pages kills this process (SIGBUS).
  if (!IsMemoryFile(file, F_SEAL_SHRINK) || ::fstat(file, &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < offset + bytes) {
    return Error{ErrorCode::kInvalidArgument, "not a memory file of that size with F_SEAL_SHRINK"};
  }
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(offset));
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kNoMemory, std::string("mapping of a memory file: ") + std::strerror(errno)};
  }
  auto mapping = std::make_shared<Mapping>();
  mapping->pages_ = {static_cast<uint8_t*>(memory), bytes};
  host::Result<host::DmaBuffer> shown = function.MapDma(mapping->pages_.data(), bytes);
  if (!shown.ok()) return shown.error();
  mapping->device_ = std::move(shown).value();
  return Add(std::move(mapping));
}

host::Result<uint64_t> ContextMemory::MapUser(host::PciFunction& function, std::shared_ptr<MemoryAccess> access,
                                              uint64_t address, uint64_t bytes) {
  if (!IsPages(address, bytes)) return NotPageAligned();
  auto mapping = std::make_shared<Mapping>();
  host::Result<host::DmaBuffer> shown =
      function.MapForeign(MakeForeignMemory(std::move(access), address), address, bytes);
  if (!shown.ok()) return shown.error();
  mapping->device_ = std::move(shown).value();
  return Add(std::move(mapping));
}

host::Result<uint64_t> ContextMemory::Add(Use mapping) {
  if (mappings_.size() >= kMaxMappings) {
    return Error{ErrorCode::kNoMemory, "a client may have at most " + std::to_string(kMaxMappings) + " mappings"};
  }
  const uint64_t address = mapping->address();
  mappings_[address] = std::move(mapping);
  return address;
}

host::Status ContextMemory::Unmap(uint64_t address) {
  const auto found = mappings_.find(address);
  if (found == mappings_.end()) return Error{ErrorCode::kInvalidArgument, "nothing is mapped at this address"};
  if (found->second.use_count() > 1) {
    return Error{ErrorCode::kBadState, "a memory region or a queue uses this memory"};
  }
  mappings_.erase(found);
  return {};
}

ContextMemory::Use ContextMemory::Find(uint64_t address, uint64_t bytes) const {
  const auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return nullptr;
  const Use& mapping = std::prev(next)->second;
  const uint64_t offset = address - mapping->address();
  return offset <= mapping->bytes() && bytes <= mapping->bytes() - offset ? mapping : nullptr;
}

}  // namespace vireo::service
