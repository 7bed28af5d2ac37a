// SPDX-License-Identifier: Apache-2.0
// Elements of completions: each CQE has the base and the elements that firmware's entry of its CQ asks for, or is a
// plain one, and its timestamp is later than that of the CQE before it in the same CQ, and not later than its write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/monitor/findings.h"
#include "sim/nic/nic.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim::monitor {

class CqeElements {
 public:
  // `core_clock_khz`: of the device, whose time begins with cycle 0.
  CqeElements(Findings& findings, uint32_t core_clock_khz) : findings_(findings), core_clock_khz_(core_clock_khz) {}

  void OnReset() { cqs_.clear(); }
  // Firmware's entry of a CQ.
  void SetCq(const spec::TableCqContext& cq);
  // The last byte of a CQE is written. `bytes`: an rdma_cq_req or longer.
  void OnCqe(Cycle cycle, uint16_t queue, std::span<const uint8_t> bytes);

 private:
  struct Cq {
    uint8_t elements = 0;
    uint64_t timestamp = 0;  // of its last CQE
  };
  Findings& findings_;
  const uint64_t core_clock_khz_;
  std::vector<Cq> cqs_;  // by virtqueue
};

}  // namespace vireo::sim::monitor
