// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/memory_check.h"

#include <algorithm>
#include <cassert>

#include "model/common/fifo.h"

namespace vireo::model {
namespace {

// Cycles from the acceptance of a check, in which its region is read.
constexpr uint64_t kPages = 3;    // reads the page and the next one
constexpr uint64_t kVisible = 5;  // its response is at the output, if none is before it
constexpr uint64_t kRefused = 4;  // it ends, if it grants nothing

static_assert(MemoryCheck::kLatency == FifoTiming::kSliceLatency + kVisible);
// A response slot is free again in the cycle after its response leaves.
static_assert(MemoryCheck::kAnswers * MemoryCheck::kInterval >= kVisible + 1);

}  // namespace

MemoryCheck::MemoryCheck(Agenda& agenda, size_t num_mrs, size_t num_translations, bool invalidation, bool flush)
    : Block(agenda),
      mrs_(spec::ContextRam::kMemoryCheckMr, std::max<size_t>(num_mrs, 2), on_parity_error),
      pages_(spec::ContextRam::kMemoryCheckTranslation, num_translations, on_parity_error),
      num_mrs_(num_mrs),
      invalidation_(invalidation),
      flush_(flush) {
  for (auto& channel : check_in) channel.SetConsumer(this);
}

void MemoryCheck::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kMr) {
    WriteInvalidated(now);
    // Firmware goes first.
    if (invalidated_ && invalidated_->at == now) ++invalidated_->at;
    StartEpoch(now);
    mrs_.Write(now, write.index % mrs_.size(), spec::TableMr::Decode(write.data));
  } else if (write.table_id == spec::MgmtTable::kTranslation) {
    pages_.Write(now, write.index % pages_.size(), spec::TableTranslation::Decode(write.data).address);
  }
}

void MemoryCheck::WriteInvalidated(Cycle before) {
  if (!invalidated_ || invalidated_->at >= before) return;
  mrs_.Write(invalidated_->at, invalidated_->index, {});
  invalidated_.reset();
}

void MemoryCheck::StartEpoch(Cycle now) {
  Advance(now);
  fence_.Close(now);
}

void MemoryCheck::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  WriteInvalidated(now);
  mrs_.OnFlip(now, flip);
  pages_.OnFlip(now, flip);
}

void MemoryCheck::OnGrantEnded(Cycle /*now*/, Cycle at, spec::KeySide side, const spec::MemoryGrant& grant) {
  assert(grant.valid);
  fence_.End(side, grant.epoch, at);
}

bool MemoryCheck::IsFencing(Cycle now) {
  Advance(now);
  return fence_.IsFencing(now);
}

spec::KeyFence MemoryCheck::FenceState(Cycle now) {
  Advance(now);
  return fence_.State(now);
}

// Answers the accesses whose pages are read.
void MemoryCheck::Advance(Cycle now) {
  for (; !accesses_.empty() && accesses_.front().taken + kPages <= now; accesses_.pop_front()) {
    const Access& access = accesses_.front();
    spec::MemoryPlace place = Place(access);
    place.grant = {.valid = place.bytes0 != 0, .epoch = place.bytes0 != 0 && access.epoch};
    if (!place.grant.valid) fence_.End(SideOf(access.client), access.epoch, access.taken + kRefused);
    answers_[access.client].push_back({access.taken + kVisible, place});
  }
}

void MemoryCheck::Run(Cycle now) {
  Advance(now);
  for (size_t i = 0; i < kClients; ++i) Leave(now, i);
  Take(now);
}

void MemoryCheck::Leave(Cycle now, size_t client) {
  std::deque<Answer>& answers = answers_[client];
  if (answers.empty() || answers.front().visible > now || !place_out[client].CanPush(now)) return;
  place_out[client].Push(now, answers.front().place);
  answers.pop_front();
  room_[client].Return(now);
  const bool next_is_visible = !answers.empty() && answers.front().visible <= now;
  if (next_is_visible || check_in[client].size() != 0) WakeAt(now + 1);
}

bool MemoryCheck::CanTake(Cycle now, size_t client) const {
  return check_in[client].CanPop(now) && room_[client].Available(1) <= now;
}

void MemoryCheck::Take(Cycle now) {
  WriteInvalidated(now);
  // Those behind an invalidate find what it has written.
  if (invalidated_ || now == blocked_) return WakeAt(now + 1);
  std::array<bool, kClients> requests{};
  for (size_t i = 0; i < kClients; ++i) requests[i] = CanTake(now, i);
  const auto count = std::count(requests.begin(), requests.end(), true);
  if (count == 0) return;
  do last_ = (last_ + 1) % kClients;
  while (!requests[last_]);
  room_[last_].Take(1);
  const bool epoch = fence_.Take(now, SideOf(last_));
  const spec::MemoryCheck check = check_in[last_].Pop(now);
  const size_t index = check.key >> 8 * spec::RdmaKey::kIndexOffset;
  const bool index_exists = index < num_mrs_;
  accesses_.push_back({last_, check, index_exists ? mrs_.Read(now, index) : spec::TableMr{}, index_exists, now, epoch});
  if (check.invalidate) {
    blocked_ = now + 1;
    if (Status(accesses_.back()) == spec::MemoryStatus::kOk) invalidated_ = {now + 1, index};
    WakeAt(now + 2);
  }
  WakeAt(now + kVisible);
  if (count > 1) WakeAt(now + 1);
}

// Of its first byte.
uint64_t MemoryCheck::AddressOf(const Access& access) const {
  if (!flush_ || !access.check.whole) return access.check.address;
  return access.row.dma ? 0 : access.row.virt_addr;
}

// The first reason that applies.
spec::MemoryStatus MemoryCheck::Status(const Access& access) const {
  const spec::MemoryCheck& check = access.check;
  const spec::TableMr& row = access.row;
  const auto key = static_cast<uint8_t>(check.key);
  if (!access.index_exists || !row.valid || row.key != key) return spec::MemoryStatus::kKey;
  if (row.pdn != check.pdn) return spec::MemoryStatus::kPd;
  if (check.invalidate) {
    return invalidation_ && row.invalidatable ? spec::MemoryStatus::kOk : spec::MemoryStatus::kRights;
  }
  if ((check.local_write && !row.local_write) || (check.remote_write && !row.remote_write) ||
      (check.remote_read && !row.remote_read) || (check.remote_atomic && !row.remote_atomic) ||
      (check.flush_global && !(flush_ && row.flush_global)) ||
      (check.flush_persistent && !(flush_ && row.flush_persistent))) {
    return spec::MemoryStatus::kRights;
  }
  if (row.dma) {
    // The whole address space; an access must not wrap around.
    const uint64_t address = AddressOf(access);
    const bool wraps = check.bytes != 0 && address + (check.bytes - 1u) < address;
    return wraps ? spec::MemoryStatus::kBounds : spec::MemoryStatus::kOk;
  }
  const uint64_t address = AddressOf(access), distance = address - row.virt_addr;
  const bool inside = address >= row.virt_addr && distance <= row.length && check.bytes <= row.length - distance;
  return inside ? spec::MemoryStatus::kOk : spec::MemoryStatus::kBounds;
}

spec::MemoryPlace MemoryCheck::Place(const Access& access) {
  spec::MemoryPlace place{};
  place.status = Status(access);
  const spec::MemoryCheck& check = access.check;
  if (place.status != spec::MemoryStatus::kOk || check.invalidate || check.bytes > kMostBytes) return place;
  if (access.row.dma) {
    place.address0 = AddressOf(access);
    place.bytes0 = static_cast<uint16_t>(check.bytes);
    return place;
  }
  const unsigned shift = access.row.page_shift % 32;
  const uint64_t page_bytes = uint64_t{1} << shift;
  const uint64_t offset = AddressOf(access) - (access.row.virt_addr & ~(page_bytes - 1));
  const uint64_t page = access.row.first_translation + (offset >> shift);
  const uint64_t low = offset % page_bytes;
  place.address0 = pages_.Read(access.taken + kPages, page % pages_.size()) + low;
  bool corrupt = pages_.corrupt();
  place.bytes0 = static_cast<uint16_t>(std::min<uint64_t>(check.bytes, page_bytes - low));
  place.bytes1 = static_cast<uint16_t>(check.bytes - place.bytes0);
  if (place.bytes1 != 0) {
    place.address1 = pages_.Read(access.taken + kPages, (page + 1) % pages_.size());
    corrupt |= pages_.corrupt();
  }
  if (corrupt) return {.status = spec::MemoryStatus::kKey};
  return place;
}

bool MemoryCheck::IsIdle() const {
  const auto is_empty = [](const auto& channel) { return channel.size() == 0; };
  const auto is_free = [](const Credits& room) { return room.taken() == 0; };
  return std::all_of(check_in.begin(), check_in.end(), is_empty) && std::all_of(room_.begin(), room_.end(), is_free);
}

}  // namespace vireo::model
