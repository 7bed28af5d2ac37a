// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/completion.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>

namespace vireo::verbs {
namespace {

using host::Error;
using host::ErrorCode;
using host::Result;

Error Misbehaved(const std::string& what) { return {ErrorCode::kMisbehaved, "a completion " + what}; }

}  // namespace

Result<Completion> ParseCompletion(std::span<const uint8_t> bytes, bool is_extended) {
  Completion completion;
  if (!is_extended) {
    if (bytes.size() < spec::RdmaCqReq::kBytes) return Misbehaved("of " + std::to_string(bytes.size()) + " bytes");
    static_cast<spec::RdmaCqReq&>(completion) = spec::RdmaCqReq::Decode(bytes.data());
    return completion;
  }
  if (bytes.size() < spec::RdmaCqBase::kBytes) return Misbehaved("of " + std::to_string(bytes.size()) + " bytes");
  const auto base = spec::RdmaCqBase::Decode(bytes.data());
  if (base.version == 0) return Misbehaved("without its version");
  if (base.base_bytes < spec::RdmaCqBase::kBytes || base.base_bytes > bytes.size()) {
    return Misbehaved("with a base of " + std::to_string(base.base_bytes) + " bytes");
  }
  // The fields of a base are where an rdma_cq_req has them.
  std::array<uint8_t, spec::RdmaCqReq::kBytes> plain{};
  std::copy_n(bytes.begin(), spec::RdmaCqBase::kVersionOffset, plain.begin());
  std::copy(bytes.begin() + spec::RdmaCqBase::kVendorErrOffset, bytes.begin() + spec::RdmaCqBase::kElementsOffset,
            plain.begin() + spec::RdmaCqBase::kVendorErrOffset);
  static_cast<spec::RdmaCqReq&>(completion) = spec::RdmaCqReq::Decode(plain.data());

  std::span<const uint8_t> rest = bytes.subspan(base.base_bytes);
  for (uint32_t left = base.elements; left != 0; left &= left - 1) {
    // Behind an element of a later version are only such.
    if (std::countr_zero(left) != std::countr_zero(uint32_t{spec::RdmaCqElement::kTimestamp})) break;
    if (rest.size() < spec::RdmaCqTimestamp::kBytes) return Misbehaved("that ends before its timestamp does");
    completion.timestamp_ns = spec::RdmaCqTimestamp::Decode(rest.data()).time_ns;
    rest = rest.subspan(spec::RdmaCqTimestamp::kBytes);
  }
  return completion;
}

}  // namespace vireo::verbs
