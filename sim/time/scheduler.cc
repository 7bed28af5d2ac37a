// SPDX-License-Identifier: Apache-2.0
#include "sim/time/scheduler.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vireo::sim {

Scheduler::ClientNumber Scheduler::AddClient(Client& client) {
  clients_.push_back(&client);
  return static_cast<ClientNumber>(clients_.size() - 1);
}

void Scheduler::CheckTime(Picoseconds time, ClientNumber client) const {
  if (time >= now()) return;
  std::fprintf(stderr, "Scheduler: client %u requests at %llu ps a callback at %llu ps\n", client,
               static_cast<unsigned long long>(now()), static_cast<unsigned long long>(time));
  std::abort();
}

void Scheduler::At(Picoseconds time, ClientNumber client, uint64_t cookie) {
  CheckTime(time, client);
  const bool earlier = !is_running_ && time < next();
  Insert({time, uint64_t{client} << 40 | (added_++ & 0xff'ffff'ffff), cookie});
  ++pending_;
  if (earlier) OnEarlier();
}

void Scheduler::SetAlarm(Picoseconds time, ClientNumber client) {
  CheckTime(time, client);
  const bool earlier = !is_running_ && time < next();
  // Few clients have an alarm.
  auto alarm = std::find_if(alarms_.begin(), alarms_.end(), [&](const Alarm& other) { return other.client == client; });
  if (alarm == alarms_.end()) alarm = alarms_.insert(alarm, {kForever, client});
  alarm->time = time;
  alarms_changed_ = true;
  if (earlier) OnEarlier();
}

void Scheduler::FindAlarm() {
  first_alarm_ = 0;
  for (size_t i = 1; i < alarms_.size(); ++i) {
    if (alarms_[i] < alarms_[first_alarm_]) first_alarm_ = i;
  }
  alarm_ = alarms_[first_alarm_];
  alarms_changed_ = false;
}

void Scheduler::Insert(const Entry& entry) {
  const uint64_t slot = SlotOf(entry.time);
  if (slot > due_slot_) return Store(entry);
  if (slot < due_slot_ && due_.size() >= kDueMany) {
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
  uint32_t node = free_node_;
  if (node == kNone) {
    node = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_node_ = nodes_[node].next;
  }
  nodes_[node] = {entry, slots_[index]};
  slots_[index] = node;
  used_[index / 64] |= uint64_t{1} << index % 64;
}

// Moves the entries of the earliest slot to due_, which is empty.
void Scheduler::Refill() {
  if (pending_ == 0) return;
  uint64_t slot = far_.empty() ? ~uint64_t{0} : SlotOf(far_.front().time);
  const size_t first = first_slot_ % kSlots;
  size_t word = first / 64;
  uint64_t used = used_[word] & ~uint64_t{0} << first % 64;
  // Wraps around: the slots before `first` in its word come last.
  for (size_t i = 0; i < used_.size() && used == 0; ++i) {
    word = (word + 1) % used_.size();
    used = used_[word];
  }
  if (used != 0) {
    const size_t index = word * 64 + static_cast<size_t>(std::countr_zero(used));
    const uint64_t near = first_slot_ + (index + kSlots - first) % kSlots;
    slot = std::min(slot, near);
    if (slot == near) {
      for (uint32_t node = std::exchange(slots_[index], kNone); node != kNone;) {
        due_.push_back(nodes_[node].entry);
        const uint32_t next = std::exchange(nodes_[node].next, free_node_);
        free_node_ = std::exchange(node, next);
      }
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
  for (Picoseconds first = next(); first <= time && first != kForever; first = next()) {
    ++callbacks_;
    if (due_.empty() || alarm_ < Alarm{due_.back().time, static_cast<ClientNumber>(due_.back().order >> 40)}) {
      first_slot_ = SlotOf(alarm_.time);
      alarms_[first_alarm_].time = kForever;
      alarms_changed_ = true;
      clients_[alarm_.client]->OnTime(0);
      continue;
    }
    const Entry entry = due_.back();
    due_.pop_back();
    --pending_;
    first_slot_ = SlotOf(entry.time);
    const auto client = static_cast<ClientNumber>(entry.order >> 40);
    if (client != kFunctions) {
      clients_[client]->OnTime(entry.cookie);
    } else {
      // Moved out first: the function may schedule more functions.
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
  const Picoseconds outer_limit = std::exchange(proceed_limit_, deadline);
  bool is_done = false;
  for (Picoseconds time = next(); time < deadline && !is_done; time = next()) {
    now_ = time;
    RunDue(time);
    is_done = done();
  }
  proceed_limit_ = outer_limit;
  if (!is_done && deadline != kForever) now_ = std::max(now_, deadline);
  return is_done;
}

}  // namespace vireo::sim
