// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/key_fence.h"

#include <algorithm>
#include <cassert>

namespace vireo::model {

uint32_t KeyFence::Side::At(Cycle now) const { return has_advanced && now <= advanced ? generation - 1 : generation; }

// The accesses of the generation before that of `now`.
bool KeyFence::Side::IsOpen(Cycle now) const {
  // It had ended when the generation that is current from the next cycle on began.
  if (has_advanced && now == advanced) return false;
  const Granted& before = granted[(At(now) + 1) % 2];
  return before.count != 0 || (before.has_ended && before.last_end >= now);
}

// Makes the steps of the cycles before `now`.
void KeyFence::Side::Advance(Cycle now) {
  while (!waits.empty()) {
    const Granted& before = granted[(generation + 1) % 2];
    if (before.count != 0) return;
    Cycle at = *std::min_element(waits.begin(), waits.end());
    if (before.has_ended) at = std::max(at, before.last_end + 1);
    if (has_advanced) at = std::max(at, advanced + 1);
    if (at >= now) return;
    std::erase_if(waits, [at](Cycle wait) { return wait <= at; });
    ++generation;
    advanced = at;
    has_advanced = true;
    granted[generation % 2] = {};
  }
}

bool KeyFence::Take(Cycle now, spec::KeySide side) {
  Side& each = sides_[static_cast<size_t>(side)];
  each.Advance(now);
  const uint32_t generation = each.At(now);
  ++each.granted[generation % 2].count;
  return generation % 2 != 0;
}

void KeyFence::End(spec::KeySide side, bool epoch, Cycle at) {
  Side::Granted& granted = sides_[static_cast<size_t>(side)].granted[epoch ? 1 : 0];
  assert(granted.count != 0);
  --granted.count;
  granted.last_end = granted.has_ended ? std::max(granted.last_end, at) : at;
  granted.has_ended = true;
}

void KeyFence::Wait(spec::KeySide side, Cycle at) { sides_[static_cast<size_t>(side)].waits.push_back(at); }

void KeyFence::Close(Cycle now) {
  closed_ = closing_;
  has_closed_ = closes_;
  close_ = now;
  for (size_t i = 0; i < kSides; ++i) {
    sides_[i].Advance(now);
    closing_[i] = sides_[i].At(now);
    sides_[i].waits.push_back(now);
  }
  closes_ = true;
}

bool KeyFence::Side::HasPassed(Cycle now, uint32_t ticket) const {
  return ticket != At(now) && !(ticket + 1 == At(now) && IsOpen(now));
}

bool KeyFence::IsFencing(Cycle now) {
  const bool is_before = closes_ && now <= close_;
  if (is_before ? !has_closed_ : !closes_) return false;
  bool passed = true;
  for (size_t i = 0; i < kSides; ++i) {
    sides_[i].Advance(now);
    passed = passed && sides_[i].HasPassed(now, is_before ? closed_[i] : closing_[i]);
  }
  return !passed;
}

spec::KeyFence KeyFence::State(Cycle now) {
  for (Side& side : sides_) side.Advance(now);
  const auto number = [now](const Side& side) { return static_cast<uint8_t>(side.At(now) % spec::kKeyGenerations); };
  const Side& sent = sides_[static_cast<size_t>(spec::KeySide::kSent)];
  const Side& received = sides_[static_cast<size_t>(spec::KeySide::kReceived)];
  return {.sent = number(sent),
          .sent_open = sent.IsOpen(now),
          .received = number(received),
          .received_open = received.IsOpen(now)};
}

}  // namespace vireo::model
