// SPDX-License-Identifier: Apache-2.0
#include "host/service/gid_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "host/driver/unix_socket.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1; not in the C library's headers before 2.32
#endif

namespace vireo::service {
namespace {

using Words = std::array<uint64_t, sizeof(GidSlot) / sizeof(uint64_t)>;
static_assert(sizeof(Words) == sizeof(GidSlot));

std::atomic_ref<uint64_t> Sequence(GidPage& page) { return std::atomic_ref<uint64_t>(page.sequence); }
std::atomic_ref<uint64_t> Word(GidPage& page, size_t slot, size_t word) {
  return std::atomic_ref<uint64_t>(page.slots[slot].words[word]);
}

}  // namespace

host::Result<std::unique_ptr<GidTableWriter>> GidTableWriter::Create() {
  host::FileDescriptor file(::memfd_create("vireo-gids", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ::ftruncate(file.get(), sizeof(GidPage)) != 0)
    return host::SystemError("memory of the GID table");
  std::unique_ptr<GidTableWriter> writer(new GidTableWriter(std::move(file)));
  void* const page = ::mmap(nullptr, sizeof(GidPage), PROT_READ | PROT_WRITE, MAP_SHARED, writer->file(), 0);
  if (page == MAP_FAILED) return host::SystemError("mapping of the GID table");
  writer->page_ = static_cast<GidPage*>(page);
  // Only this mapping can write.
  if (::fcntl(writer->file(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    return host::SystemError("sealing of the GID table");
  }
  return writer;
}

GidTableWriter::~GidTableWriter() {
  if (page_ != nullptr) ::munmap(page_, sizeof(GidPage));
}

void GidTableWriter::Write(const std::vector<Gid>& gids) {
  std::array<Words, kMaxGids> all{};
  for (const Gid& gid : gids) {
    GidEntryBytes entry{.is_used = 1, .type = static_cast<uint8_t>(gid.type)};
    std::ranges::copy(gid.gid, entry.gid);
    all[gid.index] = std::bit_cast<Words>(entry);
  }
  // Odd while entries change.
  const uint64_t sequence = Sequence(*page_).load(std::memory_order_relaxed);
  Sequence(*page_).store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t slot = 0; slot < all.size(); ++slot) {
    for (size_t word = 0; word < all[slot].size(); ++word) {
      Word(*page_, slot, word).store(all[slot][word], std::memory_order_relaxed);
    }
  }
  Sequence(*page_).store(sequence + 2, std::memory_order_release);
}

host::Result<std::shared_ptr<const GidTable>> GidTable::Map(int file) {
  // Atomic loads of a mapping that is not writable are plain loads.
  void* const page = ::mmap(nullptr, sizeof(GidPage), PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return host::SystemError("mapping of the GID table");
  return std::shared_ptr<const GidTable>(new GidTable(static_cast<GidPage*>(page)));
}

GidTable::~GidTable() { ::munmap(page_, sizeof(GidPage)); }

std::vector<Gid> GidTable::Read() const {
  std::array<Words, kMaxGids> all{};
  for (;;) {
    const uint64_t sequence = Sequence(*page_).load(std::memory_order_acquire);
    for (size_t slot = 0; slot < all.size(); ++slot) {
      for (size_t word = 0; word < all[slot].size(); ++word) {
        all[slot][word] = Word(*page_, slot, word).load(std::memory_order_relaxed);
      }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (sequence % 2 == 0 && Sequence(*page_).load(std::memory_order_relaxed) == sequence) break;
  }
  std::vector<Gid> gids;
  for (size_t slot = 0; slot < all.size(); ++slot) {
    const auto entry = std::bit_cast<GidEntryBytes>(all[slot]);
    if (entry.is_used == 0) continue;
    Gid& gid = gids.emplace_back();
    gid.index = static_cast<uint16_t>(slot);
    gid.type = static_cast<spec::RdmaGidType>(entry.type);
    std::ranges::copy(entry.gid, gid.gid);
  }
  return gids;
}

}  // namespace vireo::service
