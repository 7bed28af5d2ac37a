// SPDX-License-Identifier: Apache-2.0
#include "host/service/neighbor_discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/common/seed.h"
#include "sim/traffic/net_frame.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {
namespace {

using service::NeighborDiscovery;
using Gid = NeighborDiscovery::Gid;
using Frame = std::vector<uint8_t>;

constexpr NeighborDiscovery::Mac kMac = {2, 0x56, 0x49, 0x52, 0, 1}, kPeerMac = {2, 0x56, 0x49, 0x52, 0xff, 1};
constexpr Gid kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
constexpr Gid kPeerIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 200};
constexpr Gid kIpv6 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x56, 0x49, 0xff, 0xfe, 0x52, 0, 1};
constexpr Gid kPeerIpv6 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x56, 0x49, 0xff, 0xfe, 0x52, 0xff, 1};

// Two hosts; frames are queued until Pass() delivers them.
struct Link {
  std::vector<Frame> from_here, from_peer;
  NeighborDiscovery here{kMac, {kIpv6, kIpv4}, [this](std::span<const uint8_t> frame) {
                           from_here.emplace_back(frame.begin(), frame.end());
                         }};
  NeighborDiscovery peer{kPeerMac, {kPeerIpv6, kPeerIpv4}, [this](std::span<const uint8_t> frame) {
                           from_peer.emplace_back(frame.begin(), frame.end());
                         }};
  void Pass() {
    for (const Frame& frame : std::exchange(from_here, {})) peer.OnFrame(frame);
    for (const Frame& frame : std::exchange(from_peer, {})) here.OnFrame(frame);
  }
};

// Recorded from Linux: request of 10.0.0.200 for 10.0.0.1.
const Frame kArpRequest = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0x56, 0x49, 0x52, 0xff, 1,    8,    6,
                           0,    1,    8,    0,    6,    4,    0, 1,    2,    0x56, 0x49, 0x52, 0xff, 1,
                           10,   0,    0,    200,  0,    0,    0, 0,    0,    0,    10,   0,    0,    1};
const Frame kArpReply = {2,  0x56, 0x49, 0x52, 0xff, 1,    2,    0x56, 0x49, 0x52, 0,    1,    8, 6,
                         0,  1,    8,    0,    6,    4,    0,    2,    2,    0x56, 0x49, 0x52, 0, 1,
                         10, 0,    0,    1,    2,    0x56, 0x49, 0x52, 0xff, 1,    10,   0,    0, 200};

TEST(NeighborDiscovery, ArpReplyMatchesByteForByte) {
  Link link;
  link.here.OnFrame(kArpRequest);
  ASSERT_EQ(link.from_here.size(), 1U);
  EXPECT_EQ(link.from_here[0], kArpReply);
  // The requester is cached.
  EXPECT_EQ(link.here.Find(kPeerIpv4, 0), kPeerMac);
}

TEST(NeighborDiscovery, FindSendsRequestsAndCachesTheReply) {
  for (const Gid& gid : {kPeerIpv4, kPeerIpv6}) {
    Link link;
    EXPECT_EQ(link.here.Find(gid, 0), std::nullopt);
    EXPECT_TRUE(link.here.IsSearching(gid));
    link.Pass();
    EXPECT_EQ(link.here.Find(gid, 1), kPeerMac);
    EXPECT_FALSE(link.here.IsSearching(gid));
    EXPECT_EQ(link.here.NextDeadlineNs(), NeighborDiscovery::kForeverNs);
    EXPECT_TRUE(link.from_here.empty());
  }
}

TEST(NeighborDiscovery, FindsOwnAddresses) {
  Link link;
  EXPECT_EQ(link.here.Find(kIpv4, 0), kMac);
  EXPECT_EQ(link.here.Find(kIpv6, 0), kMac);
}

TEST(NeighborDiscovery, RetransmitsAndTimesOut) {
  Link link;
  constexpr uint64_t kStart = 77;
  EXPECT_EQ(link.here.Find(kPeerIpv4, kStart), std::nullopt);
  EXPECT_EQ(link.here.NextDeadlineNs(), kStart + NeighborDiscovery::kRepeatNs);
  link.here.Tick(kStart + NeighborDiscovery::kRepeatNs - 1);
  EXPECT_EQ(link.from_here.size(), 1U);
  link.here.Tick(kStart + NeighborDiscovery::kRepeatNs);
  EXPECT_EQ(link.from_here.size(), 2U);
  EXPECT_EQ(link.here.Find(kPeerIpv4, kStart + NeighborDiscovery::kSearchNs - 1), std::nullopt);
  EXPECT_TRUE(link.here.IsSearching(kPeerIpv4));
  EXPECT_EQ(link.here.Find(kPeerIpv4, kStart + NeighborDiscovery::kSearchNs), std::nullopt);
  EXPECT_FALSE(link.here.IsSearching(kPeerIpv4));
  // A new Find starts a new search.
  EXPECT_EQ(link.here.Find(kPeerIpv4, kStart + NeighborDiscovery::kSearchNs), std::nullopt);
  EXPECT_TRUE(link.here.IsSearching(kPeerIpv4));
}

TEST(NeighborDiscovery, SearchesAreLimitedAndExpire) {
  Link link;
  Gid gid = kPeerIpv4;
  for (size_t i = 0; i <= NeighborDiscovery::kSearchesMax; ++i) {
    gid[14] = static_cast<uint8_t>(1 + i / 256);
    gid[15] = static_cast<uint8_t>(i);
    EXPECT_EQ(link.here.Find(gid, 0), std::nullopt);
    EXPECT_EQ(link.here.IsSearching(gid), i < NeighborDiscovery::kSearchesMax);
  }
  link.here.Tick(2 * NeighborDiscovery::kSearchNs);
  EXPECT_EQ(link.here.NextDeadlineNs(), NeighborDiscovery::kForeverNs);
}

TEST(NeighborDiscovery, NoRequestWithoutOwnAddressOfTheFamily) {
  NeighborDiscovery only_ipv4(kMac, {kIpv4}, [](std::span<const uint8_t>) { ADD_FAILURE() << "a frame"; });
  EXPECT_EQ(only_ipv4.Find(kPeerIpv6, 0), std::nullopt);
  EXPECT_FALSE(only_ipv4.IsSearching(kPeerIpv6));
}

// Checked with an independent Internet checksum, and at fixed offsets.
TEST(NeighborDiscovery, SolicitationsFollowRfc4861) {
  Link link;
  link.here.Find(kPeerIpv6, 0);
  ASSERT_EQ(link.from_here.size(), 1U);
  const Frame frame = link.from_here[0];
  ASSERT_EQ(frame.size(), 14U + 40 + 32);
  EXPECT_TRUE(std::ranges::equal(std::span(frame).first(6), Mac{0x33, 0x33, 0xff, 0x52, 0xff, 1}));
  EXPECT_EQ(frame[14 + 7], 255);      // hop limit
  EXPECT_EQ(frame[14 + 40], 135);     // neighbour solicitation
  EXPECT_EQ(frame[14 + 40 + 24], 1);  // source link-layer address
  // Pseudo header: addresses, length, next header.
  const uint16_t addresses = InternetSum(std::span(frame).subspan(14 + 8, 32), 32 + 58);
  EXPECT_EQ(InternetSum(std::span(frame).subspan(14 + 40), addresses), 0xffff);
  link.Pass();
  link.peer.OnFrame(frame);
  ASSERT_EQ(link.from_peer.size(), 1U);
  const Frame answer = link.from_peer[0];
  EXPECT_EQ(answer[14 + 40], 136);       // neighbour advertisement
  EXPECT_EQ(answer[14 + 40 + 4], 0x60);  // solicited, override
  EXPECT_EQ(answer[14 + 40 + 24], 2);    // target link-layer address
  EXPECT_TRUE(std::ranges::equal(std::span(answer).first(6), kMac));
}

// Duplicate address detection by a host that has no address yet.
TEST(NeighborDiscovery, AnswersDuplicateAddressDetection) {
  Link link;
  NeighborDiscovery unnamed(kPeerMac, {Gid{}}, [&](std::span<const uint8_t> frame) { link.here.OnFrame(frame); });
  unnamed.Find(kIpv6, 0);
  ASSERT_EQ(link.from_here.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(std::span(link.from_here[0]).first(6), Mac{0x33, 0x33, 0, 0, 0, 1}));
  EXPECT_EQ(link.from_here[0][14 + 40 + 4], 0x20);  // override only
}

// Every byte of valid frames changed, and every length: no wrong answers, no crash.
TEST(NeighborDiscovery, MalformedFramesAreIgnored) {
  Link source;
  source.peer.Find(kIpv6, 0);
  ASSERT_EQ(source.from_peer.size(), 1U);
  const Frame solicitation = source.from_peer[0];
  for (const Frame& good : {kArpRequest, solicitation}) {
    for (size_t bytes = 0; bytes < good.size(); ++bytes) {
      Link link;
      link.here.OnFrame(std::span(good).first(bytes));
      EXPECT_TRUE(link.from_here.empty()) << bytes;
    }
  }
  for (size_t i = 14; i < solicitation.size(); ++i) {
    Link link;
    Frame bad = solicitation;
    bad[i] ^= 0x10;  // the checksum covers all but the traffic class, flow label and hop limit
    link.here.OnFrame(bad);
    EXPECT_EQ(link.from_here.empty(), !(i >= 14 && i < 18)) << i;
  }
  auto random = MakeRandom("neighbor_discovery");
  for (int i = 0; i < 20'000; ++i) {
    Link link;
    Frame frame = i % 2 == 0 ? kArpRequest : solicitation;
    for (int n = 0; n < 3; ++n) frame[random() % frame.size()] = static_cast<uint8_t>(random());
    frame.resize(random() % (frame.size() + 20));
    link.here.OnFrame(frame);
  }
}

// Cache poisoning: multicast MACs, own addresses and unrelated hosts are not cached.
TEST(NeighborDiscovery, CachesOnlyRequiredNeighbours) {
  Link link;
  Frame group = kArpRequest;
  group[22] = 0x33;
  link.here.OnFrame(group);
  EXPECT_EQ(link.here.Find(kPeerIpv4, 0), std::nullopt);
  Frame impostor = kArpRequest;
  impostor[31] = 1;  // claims to be 10.0.0.1
  link.here.OnFrame(impostor);
  EXPECT_EQ(link.here.Find(kIpv4, 0), kMac);
  Link other;
  Frame stranger = kArpRequest;
  stranger[41] = 9;  // requests 10.0.0.9
  other.here.OnFrame(stranger);
  EXPECT_EQ(other.here.Find(kPeerIpv4, 0), std::nullopt);
}

}  // namespace
}  // namespace vireo::sim
