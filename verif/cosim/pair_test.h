// SPDX-License-Identifier: Apache-2.0
// Base of tests of connections, RC or UC: two hosts with a connected pair of queue pairs.
#pragma once

#include <memory>
#include <string>

#include "verif/cosim/system_test.h"

namespace vireo::sim {

class PairTest : public SystemTestWith<ConnectedPair> {
 protected:
  void Connect(const ConnectedPairOptions& options = {}) {
    pair_.reset();
    std::string error;
    pair_ = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
    auto random = MakeRandom("pair_test");
    for (auto& one : pair_->side) Fill(*one.memory, random);
  }
  // An operation of one side on the other's memory at `offset`.
  verbs::SendRequest Remote(spec::IbWrOpcode opcode, uint64_t wr_id, const Elements& list, uint64_t offset,
                            size_t from = 0) {
    return {.wr_id = wr_id,
            .opcode = opcode,
            .sg_list = list,
            .remote_addr = side(1 - from).region->address() + offset,
            .rkey = side(1 - from).region->rkey()};
  }
};

}  // namespace vireo::sim
