// SPDX-License-Identifier: Apache-2.0
// The pulse by which a stop marks a queue pair's packets stale, wherever they wait, and a flush its requests: the
// counterpart of rtl/rdma/vireo_stop_marks.sv. It counts from the cycle behind it on; the next one comes much later.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

struct QpStop {
  uint32_t qpn = 0;
  bool all = false;  // not only its requests

  // `is_response`: of the read responder.
  bool Marks(const spec::TxPacket& packet, bool is_response) const {
    return packet.qpn == qpn && (all || !is_response);
  }
};

class StopPulse {
 public:
  void Set(Cycle cycle, const QpStop& stop) {
    assert(!pulse_);
    pulse_ = {cycle, stop};
  }
  // To be called at the start of cycle `now`, once behind each pulse.
  std::optional<QpStop> Take(Cycle now) {
    if (!pulse_ || pulse_->cycle >= now) return std::nullopt;
    const QpStop stop = pulse_->stop;
    pulse_.reset();
    return stop;
  }

 private:
  struct Pulse {
    Cycle cycle;
    QpStop stop;
  };
  std::optional<Pulse> pulse_;
};

}  // namespace vireo::model
