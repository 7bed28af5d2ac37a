// SPDX-License-Identifier: Apache-2.0
// Holds used indices of the CQ writer back until the writes that they make visible are in memory, and drops those of a
// queue of which the bus refused such a write: the counterpart of rtl/virtio/vireo_used_publish.sv.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/virtio/queue_state.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class UsedPublish {
 public:
  struct Index {
    size_t slot = 0;
    uint16_t vq_index = 0;
    spec::DmaStore store{};
    uint64_t writes = 0;  // before it; set by Push
  };

  // `block` is woken when there is something to do; it must outlive this.
  UsedPublish(Block& block, size_t queues, size_t slots)
      : block_(block), withheld_(queues), held_(Channel<Index>::Fifo(slots)) {
    held_.SetConsumer(&block);
  }

  void OnRowClear(Cycle cycle, size_t vq_index) { withheld_.OnRowClear(cycle, vq_index); }
  void OnTableClear(Cycle cycle, size_t vq_index) { withheld_.OnTableClear(cycle, vq_index); }
  // A write that an index makes visible was issued; has ended.
  void OnWrite() { ++issued_; }
  void OnWriteDone() { ++ended_; }
  // Behind the writes of earlier cycles.
  void Push(Cycle now, Index index) {
    index.writes = issued_;
    held_.Push(now, index);
  }

  // The oldest one, if it is known in this cycle what to do with it; to be called in every cycle that runs. Null: none.
  const Index* Due(Cycle now) {
    if (!held_.CanPop(now)) return nullptr;
    if (!is_known_) {
      is_withheld_ = withheld_.Read(now, held_.front().vq_index).is_set;
      is_known_ = true;
      block_.WakeAt(now + 1);
      return nullptr;
    }
    return ended_ < held_.front().writes ? nullptr : &held_.front();
  }
  // An earlier index of the same queue as the one that is due was withheld.
  bool IsWithheld() const { return is_withheld_; }
  // Withholds that one, and later ones of its queue. False: not in this cycle.
  bool Withhold(Cycle now) {
    block_.WakeAt(now + 1);
    if (!withheld_.CanWrite(now)) return false;
    withheld_.Write(now, held_.front().vq_index, {.is_set = true});
    Drop(now);
    return true;
  }
  // It is written.
  void Drop(Cycle now) {
    held_.Drop(now);
    is_known_ = false;
  }

 private:
  struct Withheld {
    bool is_set = false;
  };

  Block& block_;
  QueueState<Withheld> withheld_;  // of a queue: an index
  Channel<Index> held_;
  uint64_t issued_ = 0, ended_ = 0;
  bool is_known_ = false, is_withheld_ = false;
};

}  // namespace vireo::model
