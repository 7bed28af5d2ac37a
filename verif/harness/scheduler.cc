// SPDX-License-Identifier: Apache-2.0
#include "verif/harness/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

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
  const bool earlier = time < next();
  heap_.push_back({time, uint64_t{client} << 40 | (added_++ & 0xff'ffff'ffff), cookie});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  if (earlier) OnEarlier();
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
  while (!heap_.empty() && heap_.front().time <= time) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Entry entry = heap_.back();
    heap_.pop_back();
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
