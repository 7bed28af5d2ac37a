// SPDX-License-Identifier: Apache-2.0
// Why a workload is not faster: what the blocks of both models did in the measured part, how full the streams between
// them were, how busy wire, PCIe links and DMA tags. `./vireo bench --bottleneck`; docs/bench.md.
#pragma once

#include <string>

#include "sim/bench/bench.h"

namespace vireo::sim {

// Between two marks of a metered bench with its metrics and so many messages outstanding: sets the row's bottleneck,
// limits, blocks and streams, and adds metrics of the resources. `begins_all`: the NIC may begin each message before
// the one in front has ended; false with more READs or atomic operations than max_rd_atomic.
void FindBottleneck(const Options& options, const Mark& begin, const Mark& end, uint64_t outstanding, bool begins_all,
                    Row& row);
// As text for people.
void PrintBottleneck(const Row& row);

}  // namespace vireo::sim
