// SPDX-License-Identifier: Apache-2.0
#include "host/service/destination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace vireo::sim {
namespace {

using service::ResolveDestination;
using spec::RdmaCtrlCmd;

constexpr uint8_t kKnown = 0x77;  // last byte of the only GID that can be resolved
const service::Neighbors kNeighbors = [](const std::array<uint8_t, 16>& gid) -> std::optional<std::array<uint8_t, 6>> {
  if (gid[15] != kKnown) return std::nullopt;
  return std::array<uint8_t, 6>{2, 0, 0, 0, 0, 9};
};

template <typename Request>
std::vector<uint8_t> Bytes(const Request& request) {
  std::vector<uint8_t> bytes(Request::kBytes);
  request.Encode(bytes.data());
  return bytes;
}

spec::RdmaAhAttr PathTo(uint8_t last) {
  spec::RdmaAhAttr path{};
  path.grh.dgid[15] = last;
  return path;
}

TEST(Destination, MissingMacIsFilledIn) {
  auto create = Bytes(spec::RdmaCmdCreateAh{.pdn = 3, .ah_attr = PathTo(kKnown)});
  ASSERT_TRUE(ResolveDestination(RdmaCtrlCmd::kCreateAh, create, kNeighbors).ok());
  const auto created = spec::RdmaCmdCreateAh::Decode(create.data());
  EXPECT_EQ(created.ah_attr.dmac[5], 9);
  EXPECT_EQ(created.pdn, 3U);
  auto modify = Bytes(spec::RdmaCmdModifyQp{.qpn = 4, .attr_mask = spec::IbQpAttrMask::kAv, .ah_attr = PathTo(kKnown)});
  ASSERT_TRUE(ResolveDestination(RdmaCtrlCmd::kModifyQp, modify, kNeighbors).ok());
  EXPECT_EQ(spec::RdmaCmdModifyQp::Decode(modify.data()).ah_attr.dmac[5], 9);
}

TEST(Destination, MacOfTheClientIsKept) {
  spec::RdmaAhAttr path = PathTo(kKnown);
  path.dmac[0] = 6;
  auto create = Bytes(spec::RdmaCmdCreateAh{.ah_attr = path});
  const auto before = create;
  ASSERT_TRUE(ResolveDestination(RdmaCtrlCmd::kCreateAh, create, kNeighbors).ok());
  EXPECT_EQ(create, before);
}

TEST(Destination, CommandsWithoutAPathAreUnchanged) {
  auto modify = Bytes(spec::RdmaCmdModifyQp{.qpn = 4, .attr_mask = spec::IbQpAttrMask::kState});
  auto before = modify;
  ASSERT_TRUE(ResolveDestination(RdmaCtrlCmd::kModifyQp, modify, kNeighbors).ok());
  EXPECT_EQ(modify, before);
  auto destroy = Bytes(spec::RdmaCmdDestroyQp{.qpn = 4});
  before = destroy;
  ASSERT_TRUE(ResolveDestination(RdmaCtrlCmd::kDestroyQp, destroy, kNeighbors).ok());
  EXPECT_EQ(destroy, before);
}

TEST(Destination, UnresolvableGidIsRefused) {
  auto create = Bytes(spec::RdmaCmdCreateAh{.ah_attr = PathTo(1)});
  for (const service::Neighbors& neighbors : {kNeighbors, service::Neighbors()}) {
    const host::Status filled = ResolveDestination(RdmaCtrlCmd::kCreateAh, create, neighbors);
    ASSERT_FALSE(filled.ok());
    EXPECT_EQ(filled.error().rdma, spec::RdmaError::kInvalidAddress);
  }
}

// [RFC 2464, 7; RFC 1112, 6.4]
TEST(Destination, MulticastGroupsHaveTheirOwnAddresses) {
  using Mac = std::array<uint8_t, 6>;
  std::array<uint8_t, 16> gid{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa1, 0xb2, 0xc3, 0xd4};
  EXPECT_EQ(service::GroupMac(gid), (Mac{0x33, 0x33, 0xa1, 0xb2, 0xc3, 0xd4}));
  gid[0] = 0xfe;
  EXPECT_EQ(service::GroupMac(gid), std::nullopt);
  gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 0x81, 2, 3};
  EXPECT_EQ(service::GroupMac(gid), (Mac{0x01, 0x00, 0x5e, 0x01, 2, 3}));
  for (const uint8_t first : {uint8_t{223}, uint8_t{240}}) {
    gid[12] = first;
    EXPECT_EQ(service::GroupMac(gid), std::nullopt);
  }
}

}  // namespace
}  // namespace vireo::sim
