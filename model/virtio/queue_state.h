// SPDX-License-Identifier: Apache-2.0
// Per-virtqueue state of a block, cleared when the queue is reset: the counterpart of rtl/virtio/vireo_queue_state.sv.
// Two kinds of pulse set an entry to T{}: row writes in any cycle, table writes rarely. They use the write port one
// cycle later, so a read sees them two cycles later.
#pragma once

#include <cassert>
#include <cstddef>
#include <deque>
#include <optional>

#include "model/common/cycle.h"
#include "model/common/table.h"

namespace vireo::model {

template <typename T>
class QueueState {
 public:
  explicit QueueState(size_t queues) : table_(queues) {}

  void OnRowClear(Cycle cycle, size_t index) { rows_.push_back({cycle + 1, index}); }
  // At least one cycle without OnRowClear lies between two of these.
  void OnTableClear(Cycle cycle, size_t index) {
    Advance(cycle);
    assert(!waiting_);
    waiting_ = Clear{cycle + 1, index};
  }

  // Whether the owner may write in cycle `now`; pulses of `now` do not count.
  bool CanWrite(Cycle now) {
    Advance(now);
    return used_ != now;
  }
  void Write(Cycle now, size_t index, const T& entry) {
    assert(CanWrite(now));
    table_.Write(now, index, entry);
  }
  const T& Read(Cycle now, size_t index) {
    Advance(now);
    return table_.Read(now, index);
  }

 private:
  struct Clear {
    Cycle at;  // the cycle in which it uses the port
    size_t index;
  };

  // Applies every clear that uses the port up to `now`.
  void Advance(Cycle now) {
    while (true) {
      const Cycle row = rows_.empty() ? kUnknown : rows_.front().at;
      const Cycle table = waiting_ ? waiting_->at : kUnknown;
      if (row <= table) {
        if (row > now) return;
        if (row == table) ++waiting_->at;
        Apply(rows_.front());
        rows_.pop_front();
      } else {
        if (table > now) return;
        Apply(*waiting_);
        waiting_.reset();
      }
    }
  }
  void Apply(const Clear& clear) {
    table_.Write(clear.at, clear.index, T{});
    used_ = clear.at;
  }

  Table<T> table_;
  std::deque<Clear> rows_;
  std::optional<Clear> waiting_;
  Cycle used_ = kUnknown;  // the last cycle in which a clear used the port
};

}  // namespace vireo::model
