// SPDX-License-Identifier: Apache-2.0
// The indices of the queue pairs' virtqueues of one direction: the counterpart of rtl/rdma/vireo_qp_queues.sv.
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/cycle.h"
#include "model/common/level.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class QpQueues {
 public:
  // `offset`: spec::kRdmaTransmitqOffset or spec::kRdmaReceiveqOffset.
  QpQueues(uint32_t net_queue_pairs, uint32_t num_cqs, uint32_t num_qps, uint32_t offset)
      : num_qps_(num_qps),
        first_one_(2 * spec::kNetMqVqPairsMin + num_cqs + offset),
        first_many_(2 * net_queue_pairs + num_cqs + offset),
        first_(first_one_) {}

  // The input mq_i, effective from cycle `from` on; initially 0.
  void SetMq(Cycle from, bool mq) { first_.Set(from + 1, mq ? first_many_ : first_one_); }

  uint16_t IndexOf(Cycle now, uint32_t qpn) { return static_cast<uint16_t>(first_.At(now) + 2 * qpn); }
  // None: not such a queue of an existing QP.
  std::optional<uint32_t> QpOf(Cycle now, uint16_t vq_index) {
    const uint32_t first = first_.At(now);
    if (vq_index < first) return {};
    const uint32_t offset = vq_index - first;
    if (offset % 2 != 0 || offset >= 2 * num_qps_) return {};
    return offset / 2;
  }

 private:
  const uint32_t num_qps_;
  const uint32_t first_one_, first_many_;  // with one net queue pair, with all of them [virtio 1.3, 5.1.2]
  Level<uint32_t> first_;
};

}  // namespace vireo::model
