// SPDX-License-Identifier: Apache-2.0
#include "host/service/destination.h"

#include <algorithm>

namespace vireo::service {
namespace {

using host::Error;
using host::ErrorCode;
using host::Status;

Status Resolve(spec::RdmaAhAttr& path, const Neighbors& neighbors) {
  if (std::ranges::any_of(path.dmac, [](uint8_t byte) { return byte != 0; })) return {};
  std::array<uint8_t, 16> gid;
  std::ranges::copy(path.grh.dgid, gid.begin());
  const auto mac = neighbors ? neighbors(gid) : std::nullopt;
  if (!mac.has_value()) {
    return Error{.code = ErrorCode::kRefused,
                 .text = "no host on the link has the destination's GID",
                 .rdma = spec::RdmaError::kInvalidAddress};
  }
  std::ranges::copy(*mac, path.dmac);
  return {};
}

}  // namespace

std::optional<std::array<uint8_t, 6>> GroupMac(const std::array<uint8_t, 16>& gid) {
  constexpr std::array<uint8_t, 12> kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (gid[0] == 0xff) return {{0x33, 0x33, gid[12], gid[13], gid[14], gid[15]}};
  if (!std::equal(kIpv4.begin(), kIpv4.end(), gid.begin()) || gid[12] >> 4 != 0xe) return std::nullopt;
  return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(gid[13] & 0x7f), gid[14], gid[15]}};
}

Status ResolveDestination(spec::RdmaCtrlCmd command, std::span<uint8_t> request, const Neighbors& neighbors) {
  if (command == spec::RdmaCtrlCmd::kModifyQp) {
    auto modify = spec::RdmaCmdModifyQp::Decode(request.data());
    if ((modify.attr_mask & spec::IbQpAttrMask::kAv) == 0) return {};
    if (Status filled = Resolve(modify.ah_attr, neighbors); !filled.ok()) return filled;
    modify.Encode(request.data());
  } else if (command == spec::RdmaCtrlCmd::kCreateAh) {
    auto create = spec::RdmaCmdCreateAh::Decode(request.data());
    if (Status filled = Resolve(create.ah_attr, neighbors); !filled.ok()) return filled;
    create.Encode(request.data());
  }
  return {};
}

}  // namespace vireo::service
