// SPDX-License-Identifier: Apache-2.0
// A FIFO set of QPs: the counterpart of rtl/rdma/vireo_qp_set.sv. A push of a QP that is in the set has no effect,
// unless it comes in the same cycle in which that QP is taken. Pushes and takes of one cycle may be reported in either
// order. In the first cycles, one for each entry, pushes are ignored.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/common/cycle.h"
#include "model/common/fifo.h"

namespace vireo::model {

class QpSet {
 public:
  explicit QpSet(size_t entries) : order_(FifoTiming::Fifo(2 * entries)), waiting_(entries) {}

  // At most one per cycle.
  void Push(Cycle cycle, uint32_t qpn) {
    if (cycle < waiting_.size()) return;  // both bits of every QP are being cleared
    if (waiting_[qpn]) {
      again_cycle_ = cycle;
      again_ = qpn;
      return;
    }
    Add(cycle, qpn);
  }
  // The first cycle in which the oldest can be taken; kUnknown if there is none.
  Cycle PopReady() const { return order_.PopReady(); }
  uint32_t front() const { return qpns_.front(); }
  bool CanPop(Cycle now) const { return order_.PopReady() <= now; }
  uint32_t Pop(Cycle now) {
    assert(CanPop(now));
    const uint32_t qpn = qpns_.front();
    qpns_.pop_front();
    order_.Pop(now);
    waiting_[qpn] = false;
    if (again_cycle_ == now && again_ == qpn) Add(now, qpn);
    return qpn;
  }
  bool IsEmpty() const { return qpns_.empty(); }

 private:
  void Add(Cycle cycle, uint32_t qpn) {
    waiting_[qpn] = true;
    order_.Push(cycle);
    qpns_.push_back(qpn);
  }

  FifoTiming order_;
  std::deque<uint32_t> qpns_;
  std::vector<bool> waiting_;
  Cycle again_cycle_ = kUnknown;  // of the last push without effect
  uint32_t again_ = 0;
};

}  // namespace vireo::model
