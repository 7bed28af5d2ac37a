// SPDX-License-Identifier: Apache-2.0
// A pair of queue pairs for tests of operations on 8 bytes of the peer's memory: FETCH ADD, and numbers in memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {

class AtomicPair : public PairTest {
 protected:
  // READs and atomic operations outstanding as far as the device goes, and all rights.
  ConnectedPairOptions Options() {
    ConnectedPairOptions options;
    options.memory_bytes = 8192;
    options.qp.max_send_sge = options.qp.max_recv_sge = config().max_send_sge;
    options.qp.max_inline_data = 64;
    options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic =
        static_cast<uint8_t>(config().max_rd_atomic);
    options.connection.access = system_->host(0).device().all_access();
    return options;
  }
  verbs::SendRequest FetchAdd(uint64_t wr_id, const Elements& into, uint64_t at, uint64_t add) {
    auto request = Remote(spec::IbWrOpcode::kAtomicFetchAndAdd, wr_id, into, at);
    request.compare_add = add;
    return request;
  }
  // The number at `offset` of a memory, in host order.
  static uint64_t Load(const host::DmaMemory& memory, uint64_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, memory.data() + offset, sizeof value);
    return value;
  }
  static void Put(Bytes& memory, uint64_t offset, uint64_t value) {
    std::memcpy(memory.data() + offset, &value, sizeof value);
  }

  FrameLog log_;  // of host 0
};

}  // namespace vireo::sim
