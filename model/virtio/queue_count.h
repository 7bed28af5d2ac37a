// SPDX-License-Identifier: Apache-2.0
// How many virtqueues a device of a configuration has.
#pragma once

#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Net queue pairs, control queue, CQs, two queues per QP, and the event queue, which exists whatever the profile.
constexpr uint32_t QueuesOf(const spec::Config& config) {
  return 2 * config.net_queue_pairs + 1 + config.num_cqs + 2 * config.num_qps + spec::kVireoConstants.rdma_event_queues;
}

}  // namespace vireo::model
