// SPDX-License-Identifier: Apache-2.0
#include "model/virtio/msix.h"

#include <algorithm>
#include <bit>

namespace vireo::model {
namespace {

using spec::MsixPbaEntry;
using spec::MsixTableEntry;

constexpr uint32_t kRowBits = 8 * MsixPbaEntry::kBytes;

uint64_t BytesOf(uint64_t word, uint32_t at, unsigned bytes) {
  const uint64_t shifted = word >> 8 * (at % 8);
  return bytes >= 8 ? shifted : shifted & ((uint64_t{1} << 8 * bytes) - 1);
}

}  // namespace

Msix::Msix(Agenda& agenda, uint32_t num_vectors)
    : Block(agenda),
      num_vectors_(num_vectors),
      rows_((num_vectors + kRowBits - 1) / kRowBits),
      address_(num_vectors),
      upper_(num_vectors),
      data_(num_vectors),
      unmasked_(num_vectors),
      pending_(rows_) {
  interrupt_in.SetConsumer(this);
  WakeAt(num_vectors_);
}

void Msix::OnBar(Cycle now, const spec::BarAccess& access) {
  if (access.bar_index != spec::kBarMsix) return;
  accesses_.push_back({now, access});
  WakeAt(now + 1);
}

void Msix::SetControl(Cycle now, bool enable, bool mask, bool bus_master) {
  allowed_.Set(now + 1, enable && !mask && bus_master);
  WakeAt(now + 1);
}

bool Msix::HostAccess(Cycle now, const spec::BarAccess& access) {
  const unsigned bytes = access.bytes;
  if (!std::has_single_bit(bytes) || access.offset % bytes != 0) return false;
  const uint32_t table_at = access.offset - spec::kBarMsixTable;
  const uint32_t pba_at = access.offset - spec::kBarMsixPba;
  const auto answer = [&](uint64_t word) {
    const uint64_t value = BytesOf(word, access.offset, bytes);
    if (value != 0 && on_read_data) on_read_data(now - 1 + kReadLatency, value);
  };
  if (table_at >= num_vectors_ * MsixTableEntry::kBytes) {
    if (pba_at < rows_ * MsixPbaEntry::kBytes && !access.write)
      answer(pending_.Read(now, pba_at / MsixPbaEntry::kBytes));
    return false;
  }
  const uint32_t vector = table_at / MsixTableEntry::kBytes;
  const bool second_half = table_at % MsixTableEntry::kBytes >= MsixTableEntry::kMessageDataOffset;
  if (!access.write) {
    const uint64_t low = second_half ? data_.Read(now, vector) : address_.Read(now, vector);
    const uint64_t high = second_half ? (unmasked_.Read(now, vector) != 0 ? 0 : 1) : upper_.Read(now, vector);
    answer(high << 32 | low);
    return false;
  }
  if (now < num_vectors_ || bytes < 4) return false;
  const bool high = bytes == 8 || table_at % 8 != 0;
  const bool low = bytes == 8 || table_at % 8 == 0;
  const auto low_data = static_cast<uint32_t>(access.data);
  const auto high_data = static_cast<uint32_t>(bytes == 8 ? access.data >> 32 : access.data);
  if (!second_half) {
    if (low) address_.Write(now, vector, low_data & ~3u);  // bits 1:0 are 0
    if (high) upper_.Write(now, vector, high_data);
    return false;
  }
  if (low) data_.Write(now, vector, low_data);
  const bool mask = (high_data & 1) != 0;
  if (high) unmasked_.Write(now, vector, mask ? 0 : 1);
  return high && !mask;
}

Msix::Entry Msix::ReadEntry(Cycle now, uint32_t vector) {
  return {.address = uint64_t{upper_.Read(now, vector)} << 32 | address_.Read(now, vector),
          .data = data_.Read(now, vector),
          .unmasked = unmasked_.Read(now, vector) != 0};
}

void Msix::Send(Cycle now) {
  send_ = true;
  send_at_ = now + 1;
  message_ = {.vector = static_cast<uint16_t>(vector_), .address = entry_.address, .data = entry_.data};
}

void Msix::EndRow() {
  state_ = State::kIdle;
  walk_next_ = false;
  walking_ = row_ + 1 != rows_;
  ++row_;
}

void Msix::Run(Cycle now) {
  const bool allowed = allowed_.At(now);
  if (send_ && send_at_ <= now) {
    send_ = false;
    if (on_message) on_message(now, message_);
  }

  bool restart_walk = allowed && !allowed_before_;
  allowed_before_ = allowed;
  while (!accesses_.empty() && accesses_.front().cycle < now) {
    if (HostAccess(now, accesses_.front().access)) restart_walk = true;
    accesses_.pop_front();
  }

  switch (state_) {
    case State::kIdle: {
      if (now < num_vectors_) break;
      const bool walk = Walks(allowed);
      if (interrupt_in.CanPop(now) && !(walk && walk_next_)) {
        vector_ = interrupt_in.Pop(now).msix_vector;
        state_ = State::kDecide;
        if (vector_ < num_vectors_) {
          entry_ = ReadEntry(now, vector_);
          bits_ = pending_.Read(now, vector_ / kRowBits);
        }
      } else if (walk) {
        if (!walking_) {
          restart_walk_ = false;
          row_ = 0;
        }
        walking_ = true;
        bits_ = pending_.Read(now, row_);
        state_ = State::kRow;
      }
      break;
    }
    case State::kDecide:
      if (vector_ < num_vectors_) {
        const uint64_t bit = uint64_t{1} << vector_ % kRowBits;
        const bool sends = allowed && entry_.unmasked;
        pending_.Write(now, vector_ / kRowBits, sends ? bits_ & ~bit : bits_ | bit);
        if (sends) Send(now);
      }
      walk_next_ = true;
      state_ = State::kIdle;
      break;
    case State::kRow:
      left_ = bits_;
      state_ = State::kPick;
      if (left_ == 0) EndRow();
      break;
    case State::kPick:
      vector_ = row_ * kRowBits + static_cast<uint32_t>(std::countr_zero(left_));
      entry_ = ReadEntry(now, vector_);
      state_ = State::kCandidate;
      break;
    case State::kCandidate: {
      const uint64_t bit = uint64_t{1} << vector_ % kRowBits;
      if (allowed && entry_.unmasked) {
        bits_ &= ~bit;
        pending_.Write(now, row_, bits_);
        Send(now);
      }
      left_ &= ~bit;
      state_ = State::kPick;
      if (left_ == 0) EndRow();
      break;
    }
  }
  if (restart_walk) restart_walk_ = true;
  if (state_ != State::kIdle || send_) WakeAt(now + 1);
  if (Walks(allowed) || interrupt_in.size() != 0) WakeAt(std::max<Cycle>(now + 1, num_vectors_));
}

bool Msix::IsIdle(Cycle now) {
  return now >= num_vectors_ && state_ == State::kIdle && !Walks(allowed_.At(now)) && !interrupt_in.CanPop(now) &&
         !(send_ && send_at_ == now);
}

}  // namespace vireo::model
