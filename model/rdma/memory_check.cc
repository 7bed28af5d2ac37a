// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/memory_check.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "model/common/fifo.h"
#include "model/common/wide_slice.h"

namespace vireo::model {
namespace {

// Cycles from the acceptance of a check, in which its region is read.
constexpr uint64_t kPages = 3;      // reads the page and the next one
constexpr uint64_t kVisible = 5;    // its response is at the output, if none is before it
constexpr uint64_t kRefused = 4;    // it ends, if it grants nothing
constexpr uint64_t kBindWrite = 4;  // a bind writes its window's row
constexpr uint64_t kRegister = 3;   // a registration writes its region's row, or a pair of pages

static_assert(MemoryCheck::kLatency == FifoTiming::kSliceLatency + kVisible);
// A response slot is free again in the cycle after its response leaves.
static_assert(MemoryCheck::kAnswers * MemoryCheck::kInterval >= kVisible + 1);

}  // namespace

MemoryCheck::MemoryCheck(Agenda& agenda, const spec::Config& config)
    : Block(agenda),
      check_in{WideSlice<spec::MemoryCheck>(config.datapath_bits), WideSlice<spec::MemoryCheck>(config.datapath_bits),
               WideSlice<spec::MemoryCheck>(config.datapath_bits)},
      mrs_(spec::ContextRam::kMemoryCheckMr, std::max<size_t>(config.num_mrs, 2), on_parity_error),
      pages_(spec::ContextRam::kMemoryCheckTranslation, config.num_translations, on_parity_error),
      num_mrs_(config.num_mrs),
      invalidation_(config.invalidation != 0),
      flush_(config.flush != 0),
      windows_(config.memory_windows != 0),
      fast_registration_(config.fast_registration != 0),
      max_pairs_(config.max_send_sge) {
  for (auto& channel : check_in) channel.SetConsumer(this);
}

void MemoryCheck::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id == spec::MgmtTable::kMr) {
    WriteChange(now);
    written_ = now;
    written_index_ = write.index % mrs_.size();
    if (bind_ && bind_->index == written_index_) bind_->overwritten = true;
    if (change_ && change_->index == written_index_) {
      // There is nothing to end or to bind any more.
      change_.reset();
      next_take_ = std::max(next_take_, now + 1);
    } else if (change_ && change_->at == now) {
      ++change_->at;  // firmware goes first
    }
    StartEpoch(now);
    Row row{.mr = spec::TableMr::Decode(write.data)};
    if (!windows_) row.mr.is_window = row.mr.mw_bind = false;
    if (!fast_registration_) row.mr.is_fast = false;
    if (row.mr.is_fast) row.pairs = row.mr.npages / 2 % std::bit_ceil(max_pairs_ + 1);
    mrs_.Write(now, written_index_, row);
    if (invalidation_) {
      on_binding(now + 1,
                 {.index = static_cast<uint32_t>(written_index_), .is_alive = row.mr.valid, .device_key = row.mr.key});
    }
  } else if (write.table_id == spec::MgmtTable::kTranslation) {
    WritePair(now);
    if (pair_ && pair_->at == now) {
      ++pair_->at;  // firmware goes first
      next_take_ = std::max(next_take_, now + 2);
    }
    pages_.Write(now, write.index % pages_.size(), spec::TableTranslation::Decode(write.data).address);
  }
}

void MemoryCheck::WriteChange(Cycle before) {
  if (!change_ || change_->at >= before) return;
  const Row& row = change_->row;
  mrs_.Write(change_->at, change_->index, row);
  on_binding(change_->at + 1, {.index = static_cast<uint32_t>(change_->index),
                               .is_bound = row.is_bound,
                               .bound_to = change_->bound_to,
                               .bound_by = row.bound_by,
                               .is_alive = row.mr.valid,
                               .device_key = row.mr.key});
  change_.reset();
}

void MemoryCheck::WritePair(Cycle before) {
  if (!pair_ || pair_->at >= before) return;
  for (size_t i = 0; i < 2; ++i) pages_.Write(pair_->at, (pair_->page + i) % pages_.size(), pair_->addresses[i]);
  pair_.reset();
}

void MemoryCheck::StartEpoch(Cycle now) {
  Advance(now);
  fence_.Close(now);
}

void MemoryCheck::OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
  WriteChange(now);
  WritePair(now);
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
  if (bind_) BindWindow(now);
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
  WriteChange(now);
  WritePair(now);
  // Those behind an invalidate, a bind or a registration find what it has written.
  if (change_ || pair_ || now < next_take_) return WakeAt(now + 1);
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
  accesses_.push_back({last_, check, index_exists ? mrs_.Read(now, index) : Row{}, index_exists, now, epoch});
  Access& access = accesses_.back();
  const bool is_overwritten = written_ == now && written_index_ == index % mrs_.size();
  if (check.invalidate) {
    next_take_ = now + 2;
    if (Status(access) == spec::MemoryStatus::kOk && !is_overwritten) {
      change_ = Change{.at = now + 1, .index = index};
      if (access.row.mr.is_fast) {
        change_->row = Unregistered(access);
      } else if (access.row.mr.is_window) {
        change_->row.mr = Unbound(access, access.row.mr.is_type_2);
      }
    }
    WakeAt(now + 1);
  }
  if (windows_ && check.binds) {
    bind_ = Bind{.taken = now,
                 .index = index % mrs_.size(),
                 .window_status = WindowStatus(access),
                 .is_type_2 = access.row.mr.is_type_2,
                 .overwritten = is_overwritten};
    access.taken = now + 1;
    next_take_ = now + kBindInterval;
    WakeAt(now + 1);
  }
  if (fast_registration_ && (check.maps || check.registers)) Register(now, access, is_overwritten);
  WakeAt(access.taken + kVisible);
  if (count > 1) WakeAt(now + 1);
}

// In the cycle behind the take of a bind.
void MemoryCheck::BindWindow(Cycle now) {
  assert(now == bind_->taken + 1);
  const Bind bind = *std::exchange(bind_, std::nullopt);
  Access& access = accesses_.back();
  const spec::MemoryCheck& check = access.check;
  const auto region = spec::RdmaKey::FromWord(check.lkey);
  access.index_exists = region.index < num_mrs_;
  access.row = access.index_exists ? mrs_.Read(now, region.index) : Row{};
  const uint64_t bytes = BindBytes(check);
  access.bind_status =
      bind.window_status != spec::MemoryStatus::kOk || bytes == 0 ? bind.window_status : RegionStatus(access);
  WakeAt(now + 1);
  if (*access.bind_status != spec::MemoryStatus::kOk || bind.overwritten) return;
  change_ = Change{.at = bind.taken + kBindWrite, .index = bind.index};
  Row& row = change_->row;
  row.mr = Unbound(access, bind.is_type_2);
  if (bytes == 0) return;
  row.is_bound = true;
  row.is_zero_based = check.zero_based;
  row.bound_by = check.qpn;
  row.mr.remote_write = check.remote_write;
  row.mr.remote_read = check.remote_read;
  row.mr.remote_atomic = check.remote_atomic;
  row.mr.virt_addr = check.address;
  row.mr.length = bytes;
  row.mr.page_shift = access.row.mr.page_shift;
  row.mr.first_translation = static_cast<uint32_t>(PageOf(access) % pages_.size());
  change_->bound_to = region.index;
}

void MemoryCheck::Register(Cycle now, const Access& access, bool is_overwritten) {
  const spec::MemoryCheck& check = access.check;
  next_take_ = now + kRegisterInterval;
  WakeAt(next_take_);
  if (FastStatus(access) != spec::MemoryStatus::kOk) return;
  if (check.maps) {
    pair_ = Pair{.at = now + kRegister,
                 .page = access.row.mr.first_translation + 2 * size_t{static_cast<uint16_t>(check.lkey)},
                 .addresses = {check.address, BindBytes(check)}};
    return;
  }
  if (is_overwritten) return;
  change_ = Change{.at = now + kRegister,
                   .index = spec::RdmaKey::FromWord(check.key).index % mrs_.size(),
                   .row = Unregistered(access)};
  spec::TableMr& mr = change_->row.mr;
  mr.valid = true;
  mr.local_write = check.local_write;
  mr.remote_write = check.remote_write;
  mr.remote_read = check.remote_read;
  mr.remote_atomic = check.remote_atomic;
  mr.virt_addr = check.address;
  mr.length = BindBytes(check);
  mr.page_shift = static_cast<uint8_t>(check.lkey) % 32;
}

// A region that can be registered, with the key that it has from now on.
MemoryCheck::Row MemoryCheck::Unregistered(const Access& access) {
  const spec::TableMr& mr = access.row.mr;
  return {.mr = {.invalidatable = mr.invalidatable,
                 .key = static_cast<uint8_t>(access.check.key),
                 .is_fast = true,
                 .first_translation = mr.first_translation,
                 .pdn = mr.pdn},
          .pairs = access.row.pairs};
}

// A window without a region, with the key that it has from now on.
spec::TableMr MemoryCheck::Unbound(const Access& access, bool is_type_2) {
  return {.valid = true,
          .key = static_cast<uint8_t>(access.check.key),
          .is_window = true,
          .is_type_2 = is_type_2,
          .pdn = access.check.pdn};
}

uint64_t MemoryCheck::BindBytes(const spec::MemoryCheck& check) {
  return uint64_t{check.bytes_high} << 32 | check.bytes;
}

// Of the region's first byte.
uint64_t MemoryCheck::FirstAddressOf(const Access& access) {
  return access.row.mr.dma || access.row.is_zero_based ? 0 : access.row.mr.virt_addr;
}

// Of the access's first byte.
uint64_t MemoryCheck::AddressOf(const Access& access) const {
  return flush_ && access.check.whole ? FirstAddressOf(access) : access.check.address;
}

uint64_t MemoryCheck::PageBytesOf(const Access& access) { return uint64_t{1} << access.row.mr.page_shift % 32; }

// From the first byte of the region's first page.
uint64_t MemoryCheck::OffsetOf(const Access& access) const {
  const uint64_t in_page = PageBytesOf(access) - 1;
  const uint64_t address = AddressOf(access);
  if (access.row.is_zero_based) return address + (access.row.mr.virt_addr & in_page);
  return address - (FirstAddressOf(access) & ~in_page);
}

uint64_t MemoryCheck::PageOf(const Access& access) const {
  return access.row.mr.first_translation + OffsetOf(access) / PageBytesOf(access);
}

bool MemoryCheck::IsInside(const Access& access, uint64_t bytes) const {
  const uint64_t address = AddressOf(access);
  // The whole address space; an access must not wrap around.
  if (access.row.mr.dma) return bytes == 0 || address + (bytes - 1) >= address;
  const uint64_t first = FirstAddressOf(access), length = access.row.mr.length, distance = address - first;
  return address >= first && distance <= length && bytes <= length - distance;
}

// The first reason that applies. [IBTA vol. 1, 10.6.7.2]
spec::MemoryStatus MemoryCheck::WindowStatus(const Access& access) {
  const spec::TableMr& mr = access.row.mr;
  const bool unbinds = BindBytes(access.check) == 0;
  if (!access.index_exists || !mr.valid || !mr.is_window) return spec::MemoryStatus::kKey;
  if (mr.pdn != access.check.pdn) return spec::MemoryStatus::kPd;
  if (mr.is_type_2 ? access.row.is_bound : access.check.zero_based) return spec::MemoryStatus::kRights;
  return mr.is_type_2 && unbinds ? spec::MemoryStatus::kBounds : spec::MemoryStatus::kOk;
}

// Likewise.
spec::MemoryStatus MemoryCheck::RegionStatus(const Access& access) const {
  const spec::MemoryCheck& check = access.check;
  const spec::TableMr& mr = access.row.mr;
  const auto key = static_cast<uint8_t>(check.lkey);
  if (!access.index_exists || !mr.valid || mr.is_window || mr.key != key) return spec::MemoryStatus::kKey;
  if (mr.pdn != check.pdn) return spec::MemoryStatus::kPd;
  if (!mr.mw_bind || ((check.remote_write || check.remote_atomic) && !mr.local_write)) {
    return spec::MemoryStatus::kRights;
  }
  return IsInside(access, BindBytes(check)) ? spec::MemoryStatus::kOk : spec::MemoryStatus::kBounds;
}

// The first reason that applies. [IBTA vol. 1, 10.6.3: the region is in the free state]
spec::MemoryStatus MemoryCheck::FastStatus(const Access& access) const {
  const spec::MemoryCheck& check = access.check;
  const spec::TableMr& mr = access.row.mr;
  if (!access.index_exists || !mr.is_fast) return spec::MemoryStatus::kKey;
  if (check.pdn != mr.pdn) return spec::MemoryStatus::kPd;
  if (mr.valid || ((check.remote_write || check.remote_atomic) && !check.local_write)) {
    return spec::MemoryStatus::kRights;
  }
  if (check.maps) {
    return static_cast<uint16_t>(check.lkey) < access.row.pairs ? spec::MemoryStatus::kOk : spec::MemoryStatus::kBounds;
  }
  const uint64_t pairs = static_cast<uint8_t>(check.lkey >> 8), page_shift = static_cast<uint8_t>(check.lkey) % 32;
  const uint64_t bytes = BindBytes(check), room = 2 * pairs << page_shift;
  const uint64_t in_page = check.address & ((uint64_t{1} << page_shift) - 1);
  const bool fits = bytes <= room && in_page <= room - bytes;
  const bool wraps = check.address + (bytes - 1) < check.address;
  return pairs <= access.row.pairs && fits && !wraps ? spec::MemoryStatus::kOk : spec::MemoryStatus::kBounds;
}

// The first reason that applies.
spec::MemoryStatus MemoryCheck::Status(const Access& access) const {
  const spec::MemoryCheck& check = access.check;
  const Row& row = access.row;
  const spec::TableMr& mr = row.mr;
  if (access.bind_status) return *access.bind_status;
  if (fast_registration_ && (check.maps || check.registers)) return FastStatus(access);
  const auto key = static_cast<uint8_t>(check.key);
  const bool is_remote =
      check.remote_write || check.remote_read || check.remote_atomic || check.flush_global || check.flush_persistent;
  if (!access.index_exists || !mr.valid || mr.key != key) return spec::MemoryStatus::kKey;
  // A window has no lkey, and one of type 2 is used and unbound by the QP that bound it.
  if (mr.is_window && (!row.is_bound || !(is_remote || check.invalidate))) return spec::MemoryStatus::kKey;
  if (mr.pdn != check.pdn || (mr.is_window && mr.is_type_2 && row.bound_by != check.qpn)) {
    return spec::MemoryStatus::kPd;
  }
  if (check.invalidate) {
    const bool may_end = mr.is_window ? mr.is_type_2 : mr.invalidatable;
    return invalidation_ && may_end ? spec::MemoryStatus::kOk : spec::MemoryStatus::kRights;
  }
  if ((check.local_write && !mr.local_write) || (check.remote_write && !mr.remote_write) ||
      (check.remote_read && !mr.remote_read) || (check.remote_atomic && !mr.remote_atomic) ||
      (check.flush_global && !(flush_ && mr.flush_global)) ||
      (check.flush_persistent && !(flush_ && mr.flush_persistent))) {
    return spec::MemoryStatus::kRights;
  }
  return IsInside(access, check.bytes) ? spec::MemoryStatus::kOk : spec::MemoryStatus::kBounds;
}

spec::MemoryPlace MemoryCheck::Place(const Access& access) {
  spec::MemoryPlace place{};
  place.status = Status(access);
  const spec::MemoryCheck& check = access.check;
  const bool is_access = !check.invalidate && !access.bind_status && !check.maps && !check.registers;
  if (place.status != spec::MemoryStatus::kOk || !is_access || check.bytes > kMostBytes) return place;
  if (access.row.mr.dma) {
    place.address0 = AddressOf(access);
    place.bytes0 = static_cast<uint16_t>(check.bytes);
    return place;
  }
  const uint64_t page_bytes = PageBytesOf(access);
  const uint64_t page = PageOf(access);
  const uint64_t low = OffsetOf(access) % page_bytes;
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
