// SPDX-License-Identifier: Apache-2.0
#include "verif/harness/scheduler.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vireo::verif {

Scheduler::ClientNumber Scheduler::AddClient(Client& client) {
  clients_.push_back(&client);
  return static_cast<ClientNumber>(clients_.size() - 1);
}

void Scheduler::At(Picoseconds time, ClientNumber client, uint64_t cookie) {
  if (time < now()) {
    std::fprintf(stderr, "Scheduler: client %u asks at %llu ps for a callback at %llu ps\n", client,
                 static_cast<unsigned long long>(now()), static_cast<unsigned long long>(time));
    std::abort();
  }
  const bool earlier = !is_running_ && time < next();
  Insert({time, uint64_t{client} << 40 | (added_++ & 0xff'ffff'ffff), cookie});
  ++pending_;
  if (earlier) OnEarlier();
}

void Scheduler::Insert(const Entry& entry) {
  const uint64_t slot = SlotOf(entry.time);
  if (slot > due_slot_) return Store(entry);
  if (slot < due_slot_) {
    // So that due_ stays short: it is kept in order by moving what is in it.
    const auto keep =
        std::find_if(due_.begin(), due_.end(), [&](const Entry& due) { return SlotOf(due.time) <= slot; });
    std::for_each(due_.begin(), keep, [&](const Entry& due) { Store(due); });
    due_.erase(due_.begin(), keep);
    due_slot_ = slot;
  }
  due_.insert(std::upper_bound(due_.begin(), due_.end(), entry, std::greater<>()), entry);
}

void Scheduler::Store(const Entry& entry) {
  const uint64_t slot = SlotOf(entry.time);
  if (slot - first_slot_ >= kSlots) {
    far_.push_back(entry);
    std::push_heap(far_.begin(), far_.end(), std::greater<>());
    return;
  }
  const size_t index = slot % kSlots;
  slots_[index].push_back(entry);
  used_[index / 64] |= uint64_t{1} << index % 64;
}

// The entries of the earliest slot, when there are no others in due_.
void Scheduler::Refill() {
  if (pending_ == 0) return;
  uint64_t slot = far_.empty() ? ~uint64_t{0} : SlotOf(far_.front().time);
  const size_t first = first_slot_ % kSlots;
  size_t word = first / 64;
  uint64_t used = used_[word] & ~uint64_t{0} << first % 64;
  // Once around: the slots of the first word before the first one come last.
  for (size_t i = 0; i < used_.size() && used == 0; ++i) {
    word = (word + 1) % used_.size();
    used = used_[word];
  }
  if (used != 0) {
    const size_t index = word * 64 + static_cast<size_t>(std::countr_zero(used));
    const uint64_t near = first_slot_ + (index + kSlots - first) % kSlots;
    slot = std::min(slot, near);
    if (slot == near) {
      due_.swap(slots_[index]);
      used_[word] &= ~(uint64_t{1} << index % 64);
    }
  }
  for (; !far_.empty() && SlotOf(far_.front().time) == slot; far_.pop_back()) {
    due_.push_back(far_.front());
    std::pop_heap(far_.begin(), far_.end(), std::greater<>());
  }
  if (due_.size() > 1) std::sort(due_.begin(), due_.end(), std::greater<>());
  due_slot_ = slot;
}

void Scheduler::Call(Picoseconds time, std::function<void()> function) {
  uint64_t slot = functions_.size();
  if (free_functions_.empty()) {
    functions_.push_back(std::move(function));
  } else {
    slot = free_functions_.back();
    free_functions_.pop_back();
    functions_[slot] = std::move(function);
  }
  At(time, kFunctions, slot);
}

void Scheduler::RunDue(Picoseconds time) {
  const bool was_running = std::exchange(is_running_, true);
  while (next() <= time && pending_ != 0) {
    const Entry entry = due_.back();
    due_.pop_back();
    --pending_;
    first_slot_ = SlotOf(entry.time);
    ++callbacks_;
    const auto client = static_cast<ClientNumber>(entry.order >> 40);
    if (client != kFunctions) {
      clients_[client]->OnTime(entry.cookie);
    } else {
      // Moved out first: the function may ask for more of them.
      const std::function<void()> function = std::move(functions_[entry.cookie]);
      functions_[entry.cookie] = nullptr;
      free_functions_.push_back(entry.cookie);
      function();
    }
  }
  is_running_ = was_running;
}

bool StandaloneScheduler::RunUntil(const std::function<bool()>& done, Picoseconds deadline) {
  if (done()) return true;
  while (next() < deadline) {
    now_ = next();
    RunDue(now_);
    if (done()) return true;
  }
  if (deadline != kForever) now_ = std::max(now_, deadline);
  return false;
}

}  // namespace vireo::verif
