// SPDX-License-Identifier: Apache-2.0
// A completion as a CQ writes it into a buffer: an rdma_cq_req or, if the CQ was created with elements, a base with
// elements. [docs/decisions/0039]
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "host/driver/result.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verbs {

struct Completion : spec::RdmaCqReq {
  // By the device's clock, in ns; none: it came without.
  std::optional<uint64_t> timestamp_ns;
};

// Of the bytes that the device has written. `is_extended`: it has a base and elements, of this version or a later one,
// of which it takes what it knows. kMisbehaved: fewer bytes than what they announce, or no version.
host::Result<Completion> ParseCompletion(std::span<const uint8_t> bytes, bool is_extended);

}  // namespace vireo::verbs
