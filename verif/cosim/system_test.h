// SPDX-License-Identifier: Apache-2.0
// Base of tests of two hosts with a NIC each: every device, configuration and kind of ring, faults on the wire, memory
// with random contents that is compared as a whole. At the end nothing may be in flight, and there must be no violation
// of a seam.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/device/devices.h"
#include "sim/topology/rdma_system.h"
#include "verif/cosim/every_device.h"
#ifdef VIREO_SYSTEMC_DEVICES
#include "verif/platform/systemc_nic.h"
#endif

namespace vireo::sim {

inline constexpr uint64_t kSecondNs = 1'000'000'000;
// Time within which the slowest device has written acknowledged data to memory.
inline constexpr Picoseconds kArrivalTime = 20'000 * kPicosecondsPerNanosecond;

using Bytes = std::vector<uint8_t>;
using Elements = std::vector<spec::RdmaSge>;

inline Bytes Copy(const host::DmaMemory& memory) { return {memory.data(), memory.data() + memory.size()}; }
inline void Fill(host::DmaMemory& memory, std::mt19937_64& random) {
  for (size_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<uint8_t>(random() >> 32);
}
// Describes the first difference of two byte strings. Empty: equal.
inline std::string Difference(const Bytes& expected, const host::DmaMemory& memory) {
  const auto [is, got] = std::mismatch(expected.begin(), expected.end(), memory.data());
  if (is == expected.end()) return "";
  return "byte " + std::to_string(is - expected.begin()) + " is " + std::to_string(*got) + ", expected " +
         std::to_string(*is);
}

// Side: of ConnectedPair or DatagramPair. The elements of a message of `bytes`, of random lengths, without overlaps, at
// `offset` of the memory or later.
template <typename Side>
Elements Cut(const Side& side, uint64_t offset, uint32_t bytes, size_t elements, std::mt19937_64& random) {
  std::vector<uint32_t> cuts = {0, bytes};
  while (cuts.size() < elements + 1) {
    cuts.push_back(static_cast<uint32_t>(UniformBelow(random, uint64_t{bytes} + 1)));
  }
  std::ranges::sort(cuts);
  Elements list;
  for (size_t i = 0; i < elements; ++i) {
    list.push_back(side.region->Sge(offset, cuts[i + 1] - cuts[i]));
    offset += cuts[i + 1] - cuts[i] + UniformBelow(random, 70);
  }
  return list;
}
template <typename Side>
Bytes Gather(const Side& side, const Elements& list) {
  Bytes bytes;
  for (const spec::RdmaSge& sge : list) {
    const uint8_t* from = side.memory->data() + (sge.addr - side.region->address());
    bytes.insert(bytes.end(), from, from + sge.length);
  }
  return bytes;
}
// The expected contents of `memory`, a copy of the side's, after `data` has arrived in the elements.
template <typename Side>
void Scatter(const Side& side, const Elements& list, const Bytes& data, Bytes& memory) {
  size_t at = 0;
  for (const spec::RdmaSge& sge : list) {
    const size_t bytes = std::min<size_t>(sge.length, data.size() - at);
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(at), bytes,
                memory.begin() + static_cast<ptrdiff_t>(sge.addr - side.region->address()));
    at += bytes;
  }
}

// The ABI profile of tests that do not choose one: VIREO_PROFILE, by default vireo.
inline spec::Profile ProfileOfTests() {
  const char* const name = std::getenv("VIREO_PROFILE");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) return spec::Profile{spec::kProfileDefault};
  const std::optional<spec::Profile> profile = FindProfile(name);
  if (!profile.has_value()) {
    std::fprintf(stderr, "VIREO_PROFILE=%s: the profiles are rfc-v2 and vireo\n", name);
    std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe)
  }
  return *profile;
}

// Which board the cases of `rtl_nic1` run on instead (VIREO_BOARD): the line of a board's name (board_device.h), such
// as `simulated` or /dev/ttyUSB0; empty: none, they run on the Verilated RTL.
inline std::string BoardOfTests() {
  const char* const line = std::getenv("VIREO_BOARD");  // NOLINT(concurrency-mt-unsafe)
  return line == nullptr ? "" : line;
}

class SystemTest : public testing::TestWithParam<EveryDeviceAndRing> {
 protected:
  // `options` except for device, configuration, profile and rings.
  void Build(RdmaSystemOptions options = {}) {
    options.device = std::get<0>(GetParam());
    options.config = &config();
    const bool on_board = options.device == "rtl" && options.config == &spec::kNic1 && !BoardOfTests().empty();
    if (on_board) options.device = "board:" + BoardOfTests();
    options.profile = profile_;
    const bool packed = std::get<2>(GetParam());
    options.driver.wanted = (packed ? host::DefaultFeatures() : SplitRings()) - removed_;
    for (size_t i = 0; i < options.hosts.size(); ++i) {
      options.hosts[i].device = on_board && i != 0 ? "model" : options.device;
      options.hosts[i].nic.config = options.config;
      options.hosts[i].profile = options.profile;
      options.hosts[i].nic.name = "nic" + std::to_string(i);
    }
#ifdef VIREO_SYSTEMC_DEVICES
    UseSystemcDevices(options);
#endif
    auto built = RdmaSystem::Build(options);
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < options.nics; ++i) {
      ASSERT_EQ(system_->host(i).device().net().features().Has(spec::VirtioFeature::kRingPacked), packed);
      ASSERT_EQ(system_->host(i).device().net().profile(), profile_);
    }
  }
  // A fault script for the frames sent by each NIC; empty: none.
  void BuildWith(const std::array<std::string, 2>& scripts) {
    RdmaSystemOptions options;
    for (const std::string& script : scripts) {
      const FaultScript faults = ParseFaultScript(script);
      ASSERT_EQ(faults.error, "");
      options.faults_out.push_back(faults.rules);
    }
    Build(options);
  }
  // Every rule of the NIC's script was applied.
  void ExpectAllFaultsInjected(size_t nic) {
    const auto& hits = system_->topology().faults_out(nic)->hits();
    for (size_t i = 0; i < hits.size(); ++i) EXPECT_NE(hits[i], 0U) << "rule " << i << " of NIC " << nic;
  }
  void TearDown() override {
    if (system_ == nullptr) return;
    Settle();
    EXPECT_EQ(system_->Violations(), "");
    system_.reset();
  }
  // Runs until nothing is in flight.
  void Settle() {
    EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecondNs * kPicosecondsPerNanosecond));
  }
  void RunFor(uint64_t ns) { system_->topology().RunFor(ns * kPicosecondsPerNanosecond); }
  // True: the device has what Vireo adds to the RFC: events, error codes, windows, VLAN GIDs, page sizes.
  bool has_additions() const { return spec::ConstantsOf(profile_).rdma_has_additions; }
  const spec::Config& config() const { return *std::get<1>(GetParam()); }
  // True: a test may carry more bytes per cycle.
  bool has_fast_wire() const { return config().link_mbps >= 10'000; }
  // True: cycles are cheap, so a test may try more cases. Expectations must not depend on it.
  bool has_cheap_cycles() const {
    return std::get<0>(GetParam()) == "model" || std::get<0>(GetParam()) == "systemc_model";
  }

  // The next completion of a CQ of this host; the test fails if none arrives in time.
  std::optional<spec::RdmaCqReq> NextOf(verbs::CompletionQueue& cq, size_t host, uint64_t timeout_ns) {
    auto completion = cq.Wait(system_->host(host).function().NowNs() + timeout_ns);
    if (!completion.ok() || !completion->has_value()) {
      ADD_FAILURE() << "no completion at host " << host;
      return std::nullopt;
    }
    return *completion;
  }
  // Expects that no completion arrives for a while.
  void ExpectNoneOf(verbs::CompletionQueue& cq, size_t host, uint64_t ns) {
    auto completion = cq.Wait(system_->host(host).function().NowNs() + ns);
    ASSERT_TRUE(completion.ok());
    EXPECT_FALSE(completion->has_value());
  }

  // Of all NICs and drivers; to be set before Build.
  spec::Profile profile_ = ProfileOfTests();
  host::FeatureSet removed_{};  // features that the driver does not accept
  std::unique_ptr<RdmaSystem> system_;
};

// The same with a pair of queue pairs, ConnectedPair or DatagramPair.
template <typename Pair>
class SystemTestWith : public SystemTest {
 protected:
  void TearDown() override {
    pair_.reset();
    SystemTest::TearDown();
  }
  using Side = typename Pair::Side;
  Side& side(size_t number) { return pair_->side.at(number); }
  Side& near() { return side(0); }
  Side& far() { return side(1); }

  std::optional<spec::RdmaCqReq> Next(size_t number, uint64_t timeout_ns = kSecondNs / 1000) {
    return NextOf(*side(number).cq, number, timeout_ns);
  }
  void ExpectNext(size_t number, uint64_t wr_id, spec::IbWcStatus status, uint64_t timeout_ns = kSecondNs / 1000) {
    const auto completion = Next(number, timeout_ns);
    if (!completion.has_value()) return;
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, status) << spec::ToString(completion->status) << ", " << completion->vendor_err;
    EXPECT_EQ(completion->qp_num, side(number).qp->qpn());
  }
  // Likewise, and the reason: a spec::RdmaError, or the syndrome of the peer's NAK.
  template <typename Reason>
  void ExpectError(size_t number, uint64_t wr_id, spec::IbWcStatus status, Reason why) {
    const auto completion = Next(number);
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, status) << spec::ToString(completion->status);
    EXPECT_EQ(completion->vendor_err, static_cast<uint32_t>(why));
  }
  // `count` requests of consecutive wr_id, from 0: successes, then at most one that the peer's rights refuse, and
  // behind it flushed ones.
  void ExpectUntilRefused(size_t number, uint64_t count) {
    bool is_refused = false;
    for (uint64_t i = 0; i < count; ++i) {
      const auto completion = Next(number);
      ASSERT_TRUE(completion.has_value());
      EXPECT_EQ(completion->wr_id, i);
      const spec::IbWcStatus expected = is_refused ? spec::IbWcStatus::kWrFlushErr
                                        : completion->status == spec::IbWcStatus::kRemAccessErr
                                            ? spec::IbWcStatus::kRemAccessErr
                                            : spec::IbWcStatus::kSuccess;
      EXPECT_EQ(completion->status, expected) << spec::ToString(completion->status);
      is_refused |= completion->status != spec::IbWcStatus::kSuccess;
    }
  }
  void ExpectNone(size_t number, uint64_t ns = 50'000) { ExpectNoneOf(*side(number).cq, number, ns); }
  void PostRecv(size_t number, uint64_t wr_id, const Elements& elements) {
    const verbs::Status posted = side(number).qp->PostRecv({.wr_id = wr_id, .sg_list = elements});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }
  void PostSend(const verbs::SendRequest& request, size_t number = 0) {
    const verbs::Status posted = side(number).qp->PostSend(request);
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }
  // All memory of both sides equals the copies.
  void ExpectMemory(const std::array<Bytes, 2>& expected) {
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(Difference(expected.at(i), *side(i).memory), "") << "host " << i;
  }
  std::array<Bytes, 2> Memory() { return {Copy(*near().memory), Copy(*far().memory)}; }

  std::unique_ptr<Pair> pair_;
};

}  // namespace vireo::sim
