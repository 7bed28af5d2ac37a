// SPDX-License-Identifier: Apache-2.0
// Gives each client of tx_gather room for the packets that it will begin, before it begins them: the counterpart of
// rtl/rdma/vireo_tx_room.sv. A client always has room for kAhead packets, if there is any.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <deque>
#include <optional>

#include "model/common/cycle.h"

namespace vireo::model {

class TxRoom {
 public:
  static constexpr size_t kClients = 2;  // 0 the requester, 1 the read responder
  static constexpr size_t kAhead = 2;
  // From the pulse that room is used to the one that gives the next.
  static constexpr uint64_t kUsedToRoom = 1;

  // max_beats: of the longest packet; packets: that may wait.
  TxRoom(size_t max_beats, size_t packets) : max_beats_(max_beats), packets_(packets) {}

  size_t max_beats() const { return max_beats_; }

  // Pulses in cycle `at`, which may be in the future; those of a client come in the order of their cycles.
  void OnUsed(Cycle at, size_t client) { used_.at(client).push_back(at); }
  void OnUnused(Cycle at) { unused_.push_back(at); }
  // A packet does not wait any more from cycle now + 1 on, or `count` packets.
  void End(Cycle now, size_t count = 1) { ended_.insert(ended_.end(), count, now); }

  // Packets that were begun and have no job, of pulses before `now` that were not counted yet.
  size_t TakeUnused(Cycle now) {
    size_t count = 0;
    for (; !unused_.empty() && unused_.front() < now; unused_.pop_front()) ++count;
    packets_ += count;
    return count;
  }

  // To be called in each cycle in which something may change; `free`: beats without owner at its start. The client that
  // is given room, by a pulse in the next cycle.
  std::optional<size_t> Give(Cycle now, size_t free) {
    for (; !ended_.empty() && ended_.front() < now; ended_.pop_front()) ++packets_;
    std::array<bool, kClients> wants{};
    for (size_t i = 0; i < kClients; ++i) {
      for (auto& used = used_.at(i); !used.empty() && used.front() <= now; used.pop_front()) {
        assert(given_.at(i) != 0);
        --given_.at(i);
      }
      wants.at(i) = given_.at(i) != kAhead;
    }
    const bool gives = packets_ != 0 && (wants[0] || wants[1]);
    waits_ = gives && free < max_beats_;
    if (!gives || waits_) return std::nullopt;
    const size_t client = wants[0] && wants[1] ? 1 - last_ : wants[1] ? 1 : 0;
    last_ = client;
    --packets_;
    ++given_.at(client);
    return client;
  }

  // In the last cycle of Give: nothing else is missing.
  bool WaitsForBeats() const { return waits_; }
  // At the end of the last cycle of Give: every client has room for kAhead packets, or is about to.
  bool IsIdle() const { return given_[0] == kAhead && given_[1] == kAhead; }

 private:
  const size_t max_beats_;
  size_t packets_;                        // that may wait and have no place yet
  std::array<size_t, kClients> given_{};  // and not used
  size_t last_ = 1;                       // client that had the last turn
  bool waits_ = false;                    // in the last cycle of Give
  std::array<std::deque<Cycle>, kClients> used_;
  std::deque<Cycle> unused_;
  std::deque<Cycle> ended_;
};

}  // namespace vireo::model
