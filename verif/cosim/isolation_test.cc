// SPDX-License-Identifier: Apache-2.0
// A hostile tenant of a NIC beside a well-behaved one, which must keep its memory, its queue pairs and its share of the
// throughput; no DMA may leave the hostile tenant's memory. Throughput is in simulated time, so it is the same in
// every run with a seed. Model, RTL, and both in lockstep. VIREO_ISOLATION=N measures N messages per direction with
// every attack and prints the table of docs/isolation.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/cosim/every_device.h"
#include "verif/cosim/tenants.h"

namespace vireo::sim {
namespace {

using Attack = HostileProgram::Attack;
constexpr std::array kAttacks = {Attack::kDoorbells,    Attack::kDescriptors, Attack::kRequests,
                                 Attack::kForeignPeers, Attack::kSends,       Attack::kEverything};

constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kTimeout = 1'000'000 * kMicrosecond;
constexpr size_t kVaultBytes = 1 << 16;
constexpr size_t kNeighbors = 4;  // queue pairs of the other tenant
constexpr double kMostSlowdown = 0.05;
// To destroy a queue pair with its two queues, whatever the transmitter does.
constexpr uint64_t kMostDestroyNs = 70'000;

// The tenant beside the measured one.
struct Neighbor {
  std::optional<Attack> attack{};
  bool is_well_behaved = false;  // as many queue pairs, as busy as possible
  bool renews = true;            // the hostile one has its queue pairs replaced, one after the other
  std::optional<ElementTenant::Options> elements{};
  std::optional<CommandTenant::Options> commands{};  // one after the other, as fast as they are answered
  // The transmitter of host 0 is stopped this often, and for so long each time.
  Picoseconds hold_period = 0, hold = 0;
};

// Stops the transmitter of host 0 now and then, as a PAUSE of its peer does: the line is busy with a frame that the
// peer drops, because it is too long.
class TransmitterHolds final : private Scheduler::Client {
 public:
  TransmitterHolds(RdmaSystem& system, Picoseconds period, Picoseconds hold)
      : system_(system), period_(period), hold_(hold), client_(system.scheduler().AddClient(*this)) {
    if (hold_ != 0) OnTime(0);
  }
  void Stop() { is_stopping_ = true; }

 private:
  void OnTime(uint64_t /*cookie*/) override {
    if (is_stopping_) return;
    const Picoseconds now = system_.scheduler().now();
    Wire& wire = system_.topology().wire(0);
    WireFrame frame;
    frame.bytes.resize(hold_ * wire.parameters().rate_mbps / (8 * 1'000'000));
    wire.Send(0, now, std::move(frame));
    system_.scheduler().At(now + period_, client_);
  }

  RdmaSystem& system_;
  const Picoseconds period_, hold_;
  const Scheduler::ClientNumber client_;
  bool is_stopping_ = false;
};

struct Measured {
  std::array<Picoseconds, 2> duration{};      // of the messages from host 0, from host 1
  std::array<uint64_t, 2> read{}, written{};  // bytes of DMA in the tenant's memory, by host
  HostileProgram::Counts attack;
  uint64_t renewals = 0;
  uint64_t rounds = 0;    // of commands
  uint64_t messages = 0;  // of many elements
  uint64_t longest_destroy_ns = 0, longest_deregister_ns = 0;
};

class Isolation : public testing::TestWithParam<EveryDeviceAndRing> {
 protected:
  void SetUp() override {
    if (const char* text = std::getenv("VIREO_ISOLATION"); text != nullptr) {
      wanted_ = std::strtoull(text, nullptr, 10);
      ASSERT_NE(wanted_, 0U) << "VIREO_ISOLATION is a number from 1";
    }
  }

  static bool is_fast() { return std::get<1>(GetParam())->link_mbps >= 10'000; }
  // Always as many outstanding as there is room for.
  SteadyWrites::Options Busy() const {
    return {.bytes = is_fast() ? 4096U : 1024U, .messages = wanted_ != 0 ? wanted_ : is_fast() ? 150 : 40};
  }
  // All attacks on a fast wire, where the run is short.
  std::vector<Attack> Attacks() const {
    if (wanted_ == 0 && !is_fast()) return {Attack::kEverything};
    return {kAttacks.begin(), kAttacks.end()};
  }
  static void ExpectNoForeignDma(const Measured& attacked, const Measured& alone) {
    EXPECT_EQ(attacked.read, alone.read);
    EXPECT_EQ(attacked.written, alone.written);
  }
  static void ExpectNotSlower(const Measured& attacked, const Measured& limit, double slowdown = kMostSlowdown) {
    for (size_t from = 0; from < 2; ++from) {
      EXPECT_LE(static_cast<double>(attacked.duration.at(from)),
                static_cast<double>(limit.duration.at(from)) * (1 + slowdown))
          << "from host " << from;
    }
  }
  void Print(const std::string& what, const Measured& one, const Measured& alone) const {
    if (wanted_ == 0) return;
    fmt::print("{:<20}", what);
    for (size_t from = 0; from < 2; ++from) {
      const auto duration = static_cast<double>(one.duration.at(from));
      fmt::print(" {:9.1f} us {:+7.2f} %", duration / static_cast<double>(kMicrosecond),
                 (duration / static_cast<double>(alone.duration.at(from)) - 1) * 100);
    }
    if (one.messages != 0) {
      fmt::print("  {} messages of many elements\n", one.messages);
    } else if (one.rounds == 0) {
      fmt::print("  {} doorbells, {} entries, {} queue pairs replaced\n", one.attack.doorbells, one.attack.entries,
                 one.renewals);
    } else {
      fmt::print("  {} rounds of commands; the longest: {:.1f} us to destroy, {:.1f} us to deregister\n", one.rounds,
                 static_cast<double>(one.longest_destroy_ns) / 1000,
                 static_cast<double>(one.longest_deregister_ns) / 1000);
    }
  }

  // Measures the tenant beside `neighbor`; everything else is the same for every neighbor.
  void Measure(const Neighbor& neighbor, SteadyWrites::Options options, Measured* measured) {
    const auto& [device, config, packed] = GetParam();
    auto built = RdmaSystem::Build({.device = device,
                                    .config = config,
                                    .driver = {.wanted = packed ? host::DefaultFeatures() : SplitRings()},
                                    .is_monitored = false});
    ASSERT_NE(built.system, nullptr) << built.error;
    RdmaSystem& system = *built.system;
    auto random = MakeRandom(fmt::format("isolation.{}.{}", config->name, packed));  // the same for every device
    // Memory without access for any tenant.
    std::array<host::DmaBuffer, 2> vault;
    for (size_t i = 0; i < 2; ++i) {
      auto memory = system.host(i).function().AllocateDma(kVaultBytes, HostMemory::kPageBytes);
      ASSERT_TRUE(memory.ok());
      vault.at(i) = std::move(memory).value();
      ASSERT_TRUE(system.host(i).station().memory().Protect(vault.at(i)->address(), Permission::kNone));
    }
    constexpr size_t kDepth = 64;
    const uint32_t bytes = options.bytes;
    options.depth = kDepth;
    std::string error;
    // Several at full speed in both directions overflow a receive buffer at times. A loss at the end of a run costs one
    // timeout, so that is little more than the wire time of a full queue: 262 us, 4 ms.
    ConnectedPairOptions wide;
    wide.memory_bytes = 2 * kDepth * bytes;
    wide.interrupts = false;
    wide.qp.max_send_wr = kDepth;
    wide.qp.push = true;
    wide.connection.timeout = is_fast() ? 6 : 10;
    auto pair = MakeConnectedPair(system.host(0), system.host(1), wide, &error);
    ASSERT_NE(pair, nullptr) << error;
    SteadyWrites tenant(system, *pair, options, random);

    OthersThings others;
    for (size_t i = 0; i < 2; ++i) {
      const auto& side = pair->side.at(i);
      others.addresses.insert(others.addresses.end(),
                              {side.memory->address(), side.region->address(), vault.at(i)->address()});
      others.keys.insert(others.keys.end(), {side.region->lkey(), side.region->rkey()});
      for (const uint16_t index : {system.host(i).device().net().SendQueueIndex(side.qp->qpn()).value(),
                                   system.host(i).device().net().CompletionQueueIndex(side.cq->cqn()).value()}) {
        const auto ring = FindRing(system.host(i), index);
        ASSERT_TRUE(ring.has_value());
        others.addresses.push_back(ring->address);
      }
    }
    std::optional<HostileTenant> hostile;
    std::vector<std::unique_ptr<ConnectedPair>> well_behaved_pairs;
    std::vector<std::unique_ptr<SteadyWrites>> well_behaved;
    if (neighbor.attack.has_value()) {
      hostile.emplace(system, HostileTenant::Options{.attack = *neighbor.attack, .queue_pairs = kNeighbors}, others,
                      random);
      ASSERT_EQ(hostile->MakeQueues(), "");
      hostile->Start();
    }
    for (size_t i = 0; neighbor.is_well_behaved && i < kNeighbors; ++i) {
      well_behaved_pairs.push_back(MakeConnectedPair(system.host(0), system.host(1), wide, &error));
      ASSERT_NE(well_behaved_pairs.back(), nullptr) << error;
      well_behaved.push_back(std::make_unique<SteadyWrites>(
          system, *well_behaved_pairs.back(), SteadyWrites::Options{.bytes = bytes, .depth = kDepth}, random));
      well_behaved.back()->Start();
    }
    std::optional<ElementTenant> elements;
    if (neighbor.elements.has_value()) {
      elements.emplace(system, *neighbor.elements);
      ASSERT_EQ(elements->Make(), "");
      elements->Start();
    }
    const auto tally = [&](size_t i) {
      return system.host(i).station().memory().TrafficOf(pair->side.at(i).memory->address()).value();
    };
    const std::array before = {tally(0), tally(1)};
    std::optional<CommandTenant> commands;
    if (neighbor.commands.has_value()) commands.emplace(system, *neighbor.commands);
    tenant.Start();
    TransmitterHolds holds(system, neighbor.hold_period, neighbor.hold);
    const Picoseconds deadline = system.scheduler().now() + kTimeout;
    while (!tenant.is_done()) {
      ASSERT_LT(system.scheduler().now(), deadline) << "hangs; " << tenant.Error();
      ASSERT_FALSE(system.is_mismatched());
      ASSERT_EQ(tenant.Error(), "");
      if (hostile.has_value() && neighbor.renews) {
        ASSERT_EQ(hostile->RenewOne(), "");
      } else if (commands.has_value()) {
        ASSERT_EQ(commands->Round(), "");
      } else {
        system.topology().RunFor(10 * kMicrosecond);
      }
      for (size_t i = 0; i < 2; ++i) TakeEvents(system.host(i), *pair->side.at(i).qp);
    }
    holds.Stop();
    if (hostile.has_value()) hostile->Stop();
    if (elements.has_value()) elements->Stop();
    for (const auto& one : well_behaved) one->Stop();
    EXPECT_TRUE(system.topology().RunUntilQuiet(system.scheduler().now() + kTimeout));
    ASSERT_EQ(tenant.Error(), "");
    for (const auto& one : well_behaved) EXPECT_EQ(one->Error(), "");
    if (elements.has_value()) {
      EXPECT_EQ(elements->Error(), "");
      measured->messages = elements->completed();
    }
    measured->duration = {tenant.duration(0), tenant.duration(1)};
    if (commands.has_value()) {
      measured->rounds = commands->rounds();
      measured->longest_destroy_ns = commands->longest_destroy_ns();
      measured->longest_deregister_ns = commands->longest_deregister_ns();
    }
    for (size_t i = 0; i < 2; ++i) {
      const auto after = tally(i);
      measured->read.at(i) = after.read_bytes - before.at(i).read_bytes;
      measured->written.at(i) = after.written_bytes - before.at(i).written_bytes;
    }
    if (hostile.has_value()) {
      measured->attack = hostile->counts();
      measured->renewals = hostile->renewals();
    }
    const auto state = pair->side[0].qp->Query();
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->qp_state, spec::IbQpState::kRts);
    for (const auto& memory : vault) EXPECT_TRUE(std::all_of(memory->data(), memory->data() + kVaultBytes, IsZero));
    well_behaved_pairs.clear();
    elements.reset();
    EXPECT_EQ(system.Violations(), "");
    hostile.reset();
    pair.reset();
  }

  static bool IsZero(uint8_t byte) { return byte == 0; }
  // No event is about the well-behaved tenant.
  static void TakeEvents(RdmaHost& host, const verbs::QueuePair& innocent) {
    for (;;) {
      const auto event = host.device().PollEvent();
      ASSERT_TRUE(event.ok()) << host::ToString(event.error());
      if (!event->has_value()) return;
      ASSERT_NE((*event)->kind, host::DeviceEvent::Kind::kNeedsReset);
      if ((*event)->kind != host::DeviceEvent::Kind::kRdma) continue;
      const spec::RdmaEvent& rdma = (*event)->rdma;
      using Type = spec::RdmaEventType;
      const bool is_of_qp = rdma.event_type == Type::kQpFatal || rdma.event_type == Type::kQpReqErr ||
                            rdma.event_type == Type::kQpAccessErr;
      EXPECT_FALSE(is_of_qp && rdma.element == innocent.qpn()) << spec::ToString(rdma.event_type);
    }
  }

  uint64_t wanted_ = 0;
};

// With each attack: completions, memory, queue pairs and events of the other tenant are as without it.
TEST_P(Isolation, HostileTenantReachesNoMemoryOfOthers) {
  Measured alone;
  ASSERT_NO_FATAL_FAILURE(Measure({}, Busy(), &alone));
  Print("alone", alone, alone);
  for (const Attack attack : Attacks()) {
    SCOPED_TRACE(HostileProgram::kNames.at(static_cast<size_t>(attack)));
    Measured attacked;
    ASSERT_NO_FATAL_FAILURE(Measure({.attack = attack}, Busy(), &attacked));
    Print(HostileProgram::kNames.at(static_cast<size_t>(attack)), attacked, alone);
    ExpectNoForeignDma(attacked, alone);
  }
}

// The time limits of docs/isolation.md.
class TimingIsolation : public Isolation {};
TEST_P(TimingIsolation, HostileTenantTakesAtMostItsShare) {
  Measured alone, share, paced;
  ASSERT_NO_FATAL_FAILURE(Measure({}, Busy(), &alone));
  Print("alone", alone, alone);
  // The share of a queue pair: its throughput beside a well-behaved tenant with as many as the hostile one.
  ASSERT_NO_FATAL_FAILURE(Measure({.is_well_behaved = true}, Busy(), &share));
  Print("well-behaved tenant", share, alone);
  // A tenant that requests only that share, for long enough.
  SteadyWrites::Options pace = Busy();
  pace.interval = std::max(share.duration[0], share.duration[1]) / pace.messages;
  if (wanted_ == 0 && is_fast()) pace.messages *= 2;
  ASSERT_NO_FATAL_FAILURE(Measure({}, pace, &paced));
  Print("at its share, alone", paced, paced);
  for (const Attack attack : kAttacks) {
    const char* const name = HostileProgram::kNames.at(static_cast<size_t>(attack));
    const bool stays = attack == Attack::kDoorbells || attack == Attack::kDescriptors;
    if (!stays && wanted_ == 0 && !is_fast()) continue;
    SCOPED_TRACE(name);
    Measured attacked;
    ASSERT_NO_FATAL_FAILURE(Measure({.attack = attack}, Busy(), &attacked));
    Print(name, attacked, alone);
    ExpectNotSlower(attacked, share);
    ASSERT_NO_FATAL_FAILURE(Measure({.attack = attack}, pace, &attacked));
    Print(fmt::format("at its share, {}", name), attacked, paced);
    ExpectNotSlower(attacked, paced);
  }
}

// Beside a tenant that creates and destroys objects as fast as it is answered; also with work in flight to a dead peer,
// and while the transmitter is held.
TEST_P(TimingIsolation, CommandsOfAnotherTenantTakeAtMostItsShare) {
  constexpr Picoseconds kPeriod = 100 * kMicrosecond, kHold = 30 * kMicrosecond;
  Measured share;
  ASSERT_NO_FATAL_FAILURE(Measure({.is_well_behaved = true}, Busy(), &share));
  SteadyWrites::Options pace = Busy();
  pace.interval = std::max(share.duration[0], share.duration[1]) / pace.messages;
  if (wanted_ == 0) pace.messages *= 2;
  for (const Picoseconds hold : {Picoseconds{0}, kHold}) {
    for (const bool is_paced : {false, true}) {
      const SteadyWrites::Options& options = is_paced ? pace : Busy();
      const std::string when = fmt::format("{}{}", is_paced ? ", at its share" : "", hold != 0 ? ", held" : "");
      Neighbor neighbor{.hold_period = kPeriod, .hold = hold};
      Measured alone;
      ASSERT_NO_FATAL_FAILURE(Measure(neighbor, options, &alone));
      Print("alone" + when, alone, alone);
      for (const size_t posts : {size_t{0}, size_t{8}}) {
        neighbor.commands = {.posts = posts};
        Measured beside;
        ASSERT_NO_FATAL_FAILURE(Measure(neighbor, options, &beside));
        Print(fmt::format("commands{}{}", posts != 0 ? ", dead peer" : "", when), beside, alone);
        if (is_paced) {
          EXPECT_GE(beside.rounds, 2u);
        }
        // No command waits for the wire.
        EXPECT_LT(beside.longest_destroy_ns, kMostDestroyNs);
        // The packets of the other tenant take their share of a slow wire.
        if (is_paced || is_fast()) {
          ExpectNotSlower(beside, alone);
        } else if (hold == 0) {
          ExpectNotSlower(beside, share);
        }
      }
    }
  }
}

// Beside a tenant whose receives, or destinations of READs, have several elements: their list is one access of host
// memory, for which all received frames wait, and each takes the responder some cycles. Long messages are sent in
// bursts. Both are within the share, or near it (docs/isolation.md).
TEST_P(TimingIsolation, ElementsOfAnotherTenant) {
  const uint32_t most = std::get<1>(GetParam())->max_recv_sge;
  constexpr uint32_t kPage = HostMemory::kPageBytes;
  constexpr double kNearShare = 0.4;
  struct Case {
    bool reads;
    uint32_t elements, element_bytes;
    double slowdown = kMostSlowdown;
  };
  const std::array cases = {Case{false, 2, 1},
                            Case{true, 2, 1},
                            Case{true, most, 1, is_fast() ? kNearShare : kMostSlowdown},
                            Case{false, most, 1, is_fast() ? kNearShare : kMostSlowdown},
                            Case{true, most, kPage, is_fast() ? kMostSlowdown : kNearShare},
                            Case{false, 1, most * kPage, kNearShare},
                            Case{false, most, kPage, kNearShare}};
  SteadyWrites::Options busy = Busy();
  if (wanted_ == 0 && !is_fast()) busy.messages *= 3;  // a burst of 16 KiB is a tenth of a shorter run
  Measured alone, share;
  ASSERT_NO_FATAL_FAILURE(Measure({}, busy, &alone));
  Print("alone", alone, alone);
  ASSERT_NO_FATAL_FAILURE(Measure({.is_well_behaved = true}, busy, &share));
  Print("well-behaved tenant", share, alone);
  for (const Case& one : cases) {
    const std::string name =
        fmt::format("{} of {} x {} bytes", one.reads ? "READs" : "SENDs", one.elements, one.element_bytes);
    SCOPED_TRACE(name);
    Neighbor neighbor;
    neighbor.elements = {.elements = one.elements,
                         .element_bytes = one.element_bytes,
                         .reads = one.reads,
                         .max_rd_atomic = static_cast<uint8_t>(std::get<1>(GetParam())->max_rd_atomic)};
    Measured beside;
    ASSERT_NO_FATAL_FAILURE(Measure(neighbor, busy, &beside));
    Print(name, beside, alone);
    EXPECT_GT(beside.messages, 0U);
    ExpectNotSlower(beside, share, one.slowdown);
  }
}

// Queue pairs in error whose owner continues to post.
TEST_P(TimingIsolation, RefusedRequestsTakeAtMostTheirShare) {
  Measured share, attacked;
  ASSERT_NO_FATAL_FAILURE(Measure({.is_well_behaved = true}, Busy(), &share));
  ASSERT_NO_FATAL_FAILURE(Measure({.attack = Attack::kRequests, .renews = false}, Busy(), &attacked));
  ExpectNotSlower(attacked, share);
}

INSTANTIATE_TEST_SUITE_P(Model, Isolation,
                         testing::Combine(testing::Values("model"), testing::Values(&spec::kNic100, &spec::kNic1),
                                          testing::Bool()),
                         NameOfWithRing);
INSTANTIATE_TEST_SUITE_P(Model, TimingIsolation,
                         testing::Combine(testing::Values("model"), testing::Values(&spec::kNic100, &spec::kNic1),
                                          testing::Bool()),
                         NameOfWithRing);
INSTANTIATE_TEST_SUITE_P(Rtl, Isolation,
                         testing::Combine(testing::Values("rtl", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
