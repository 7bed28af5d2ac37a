// SPDX-License-Identifier: Apache-2.0
// Address resolution on the link: ARP [RFC 826] and neighbour discovery [RFC 4861] for a NIC's own addresses. Answers
// requests for them, sends requests for others, and caches the answers. Limited to hosts on one link: no routers, no
// duplicate address detection, no ageing (a new answer replaces the old one), no VLANs.
//
// Frames are as on the wire, without FCS; malformed frames and frames for other hosts are ignored. Times are
// nanoseconds of CLOCK_MONOTONIC (real time, not simulated). Does no I/O; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace vireo::service {

class NeighborDiscovery {
 public:
  using Mac = std::array<uint8_t, 6>;
  using Gid = std::array<uint8_t, 16>;  // an IPv6 address, or IPv4 as ::ffff:a.b.c.d
  using SendFrame = std::function<void(std::span<const uint8_t>)>;
  // RFC 4861, 10: MAX_MULTICAST_SOLICIT × RETRANS_TIMER. Requests are repeated more often than that, because links here
  // drop frames on purpose.
  static constexpr uint64_t kSearchNs = 3'000'000'000;
  static constexpr uint64_t kRepeatNs = 250'000'000;
  static constexpr size_t kKnownMax = 1024;
  static constexpr size_t kSearchesMax = 256;
  static constexpr uint64_t kForeverNs = ~uint64_t{0};

  NeighborDiscovery(const Mac& mac, std::vector<Gid> own, SendFrame send)
      : mac_(mac), own_(std::move(own)), send_(std::move(send)) {}

  // Replaces the own addresses. Searches in progress go on.
  void SetOwn(std::vector<Gid> own) { own_ = std::move(own); }
  // The MAC address of `gid`; none if not cached. In that case either a search was started, or the last search ended
  // without an answer (reported once; the next call starts a new search), or a search cannot start: no own address of
  // that family, or kSearchesMax searches in progress.
  std::optional<Mac> Find(const Gid& gid, uint64_t now_ns);
  bool IsSearching(const Gid& gid) const { return searches_.contains(gid); }

  void OnFrame(std::span<const uint8_t> frame);
  // Repeats requests; call it by NextDeadlineNs() at the latest.
  void Tick(uint64_t now_ns);
  uint64_t NextDeadlineNs() const;

 private:
  struct Search {
    uint64_t begin_ns = 0, sent_ns = 0;
  };

  void OnArp(std::span<const uint8_t> frame);
  void OnIpv6(std::span<const uint8_t> frame);
  void SendRequest(const Gid& gid) const;
  void SendArp(uint16_t operation, const Mac& to, const Gid& own, const Mac& target_mac, const Gid& target) const;
  void SendDiscovery(uint8_t type, uint32_t flags, const Mac& to, const Gid& own, const Gid& destination,
                     const Gid& target) const;
  bool IsOwn(const Gid& gid) const;
  const Gid* OwnOfKind(bool is_ipv4) const;
  void AddNeighbor(const Gid& gid, const Mac& mac);

  const Mac mac_;
  std::vector<Gid> own_;
  const SendFrame send_;
  std::map<Gid, Mac> known_;
  std::map<Gid, Search> searches_;
};

}  // namespace vireo::service
