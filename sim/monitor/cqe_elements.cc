// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/cqe_elements.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace vireo::sim::monitor {

// A cleared entry does not say whose it was: the next lifetime's first CQE is later than the last one's, too.
void CqeElements::SetCq(const spec::TableCqContext& cq) {
  if (!cq.valid) return;
  cqs_.resize(std::max<size_t>(cqs_.size(), size_t{cq.vq_index} + 1));
  cqs_[cq.vq_index].elements = cq.elements;
}

void CqeElements::OnCqe(Cycle cycle, uint16_t queue, std::span<const uint8_t> bytes) {
  Cq plain;
  Cq& cq = queue < cqs_.size() ? cqs_[queue] : plain;
  const auto add = [&](const std::string& seen, const std::string& expected) {
    findings_.Add(kCqeElements, cycle, "CQE of virtqueue " + std::to_string(queue) + " with " + seen, expected);
  };
  const auto base = spec::RdmaCqBase::Decode(bytes.data());
  if (cq.elements == 0) {
    if (base.version == 0 && base.base_bytes == 0) [[likely]]
      return;
    return add("version " + std::to_string(base.version), "0, an rdma_cq_req");
  }
  if (base.version != spec::kRdmaCqVersion || base.base_bytes != spec::RdmaCqBase::kBytes) {
    return add("version " + std::to_string(base.version) + " and a base of " + std::to_string(base.base_bytes),
               std::to_string(spec::kRdmaCqVersion) + ", and " + std::to_string(spec::RdmaCqBase::kBytes));
  }
  if (base.elements != cq.elements) return add("elements " + Hex(base.elements), Hex(cq.elements));
  const uint64_t timestamp = spec::RdmaCqTimestamp::Decode(bytes.data() + spec::RdmaCqBase::kBytes).time_ns;
  const uint64_t now = cycle * 1'000'000 / core_clock_khz_;  // in ns
  if (timestamp <= cq.timestamp || timestamp > now) {
    add("timestamp " + std::to_string(timestamp),
        "one behind " + std::to_string(cq.timestamp) + " of the CQE before it, and up to " + std::to_string(now));
  }
  cq.timestamp = timestamp;
}

}  // namespace vireo::sim::monitor
