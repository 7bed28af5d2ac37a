// SPDX-License-Identifier: Apache-2.0
// Bandwidth of every preset against the header's derivation, exact latencies, the ordering rules, completion splitting,
// and all errors and faults.
#include "sim/pcie/pcie_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/nic/nic_tap.h"
#include "verif/sim/device/probe_nic.h"
#include "verif/sim/pcie/recorded_memory.h"

namespace vireo::sim {
namespace {

class NoFrames final : public FrameEnvironment {
 public:
  void TransmitFrame(Cycle, Cycle, std::span<const uint8_t>) override {}
};

PcieParameters Exact(PcieParameters parameters = kPciePresets[1]) {
  parameters.read_spread_ns = 0;
  return parameters;
}

spec::Config Wide() {
  spec::Config config = spec::kNic100;
  config.datapath_bits = 1024;  // 32 GB/s: more than any preset
  return config;
}

// A passive device behind its tap, on a link. The rules of the seam are checked in every test.
struct World {
  explicit World(const PcieParameters& parameters = Exact(), const spec::Config& config_ = spec::kNic100)
      : config(config_),
        tap(scheduler, clock, config, {parameters.max_read_request_bytes, parameters.max_payload_bytes}, 0),
        link(scheduler, clock, parameters, config, memory, MakeRandom("pcie_link_test")) {
    tap.Attach(nic);
    tap.Connect(link, frames);
    link.Attach(tap);
    region = *memory.Allocate(kBytes, 4096);
    for (size_t i = 0; i < kBytes; i += 8) {
      const uint64_t value = i * 0x9e3779b97f4a7c15;
      std::memcpy(region.data.data() + i, &value, 8);
    }
    tap.Reset(0);
    link.Restart(kResetCycles);
  }
  ~World() { EXPECT_EQ(tap.violations(), std::vector<std::string>()); }

  // Actions of the device in a cycle.
  void In(Cycle cycle, std::function<void()> action) { scheduler.Call(clock.Middle(cycle), std::move(action)); }
  void Read(Cycle cycle, uint16_t tag, uint64_t address, uint32_t bytes) {
    In(cycle, [=, this] { tap.ReadDma(cycle, {tag, address, bytes}); });
  }
  void Write(Cycle cycle, uint64_t address, std::vector<uint8_t> data) {
    In(cycle, [=, this] { tap.WriteDma(cycle, {address, data}); });
  }
  // Runs up to the start of the cycle, without the events at that time.
  void RunBefore(Cycle cycle) { RunTo(clock.Begin(cycle)); }
  void RunTo(Picoseconds time) {
    scheduler.RunUntil([] { return false; }, time);
  }
  void Run() { RunTo(kForever); }
  std::vector<uint8_t> Expected(uint64_t address, size_t bytes) const {
    const auto part = region.data.subspan(address - region.address, bytes);
    return {part.begin(), part.end()};
  }

  static constexpr size_t kBytes = 1 << 20;
  const CoreClock clock{250'000};
  const spec::Config config;
  StandaloneScheduler scheduler;
  HostMemory memory;
  NoFrames frames;
  NicTap tap;
  PcieLink link;
  ProbeNic nic;
  DmaRegion region;
};

// --- Bandwidth

// Device reads as fast as tags allow; bytes per second between first and last completion.
double MeasureReads(const PcieParameters& parameters) {
  World world(parameters, Wide());
  constexpr uint64_t kReads = 4000;
  uint64_t issued = 0, bytes = 0;
  Picoseconds first = 0, last = 0;
  std::vector<uint16_t> free;
  for (uint16_t tag = 0; tag < 256; ++tag) free.push_back(tag);
  std::function<void(Cycle)> step = [&](Cycle cycle) {
    if (!free.empty()) {
      const uint64_t address = world.region.address + issued % 2048 * 512;
      world.tap.ReadDma(cycle, {free.back(), address, 512});
      free.pop_back();
      ++issued;
    }
    if (issued < kReads) world.In(cycle + 1, [&step, cycle] { step(cycle + 1); });
  };
  world.nic.on_completion = [&](const ProbeNic::Completion& completion) {
    if (completion.last) free.push_back(completion.tag);
    // Steady state: the first reads find an empty link.
    if (world.nic.completions.size() == 1000) first = world.scheduler.now();
    if (world.nic.completions.size() > 1000) {
      bytes += completion.data.size();
      last = world.scheduler.now();
    }
  };
  world.In(20, [&step] { step(20); });
  world.Run();
  EXPECT_EQ(world.link.counters().read_bytes, kReads * 512);
  return static_cast<double>(bytes) / static_cast<double>(last - first) * 1000;
}

double MeasureWrites(const PcieParameters& parameters) {
  World world(parameters, Wide());
  constexpr uint64_t kWrites = 4000;
  const std::vector<uint8_t> data(256, 0x5a);
  uint64_t credits = 0, made = 0;
  Cycle free = 0;
  Picoseconds first = 0, last = 0;
  std::function<void(Cycle)> step = [&](Cycle cycle) {
    if (credits >= 2 && cycle >= free) {
      credits -= 2;
      free = cycle + 2;
      world.Write(cycle + 1, world.region.address + made % 4096 * 256, data);
      ++made;
    }
    if (made < kWrites) world.In(cycle + 1, [&step, cycle] { step(cycle + 1); });
  };
  world.nic.on_credits = [&](const ProbeNic::Credits& returned) {
    credits += returned.beats;
    if (world.nic.credits.size() == 1001) first = world.scheduler.now();
    last = world.scheduler.now();
  };
  world.In(20, [&step] { step(20); });
  world.Run();
  EXPECT_EQ(world.link.counters().write_bytes, kWrites * 256);
  EXPECT_EQ(world.nic.credits.size(), kWrites + 1);
  return static_cast<double>(kWrites - 1000) * 256 / static_cast<double>(last - first) * 1000;
}

TEST(PcieLink, PresetsReachTheirDerivedRates) {
  // From the comment above kPciePresets.
  const struct {
    const char* name;
    double write, read;
  } rows[] = {{"gen3x8", 6.626, 6.722}, {"gen3x16", 13.251, 13.443}, {"gen4x16", 26.503, 26.887}};
  ASSERT_EQ(std::size(rows), kPciePresets.size());
  for (const auto& row : rows) {
    const PcieParameters* preset = FindPciePreset(row.name);
    ASSERT_NE(preset, nullptr);
    const double read = MeasureReads(*preset), write = MeasureWrites(*preset);
    std::printf("%-8s DMA reads %6.3f GB/s (derived %6.3f), DMA writes %6.3f GB/s (derived %6.3f)\n", row.name, read,
                row.read, write, row.write);
    EXPECT_LT(std::abs(read / row.read - 1), 0.01);
    EXPECT_LT(std::abs(write / row.write - 1), 0.01);
  }
  EXPECT_EQ(FindPciePreset("gen2x1"), nullptr);
}

TEST(PcieLink, DevicePortLimitsTheReadRate) {
  // 64 bits at 250 MHz are 2 GB/s: completions of 256 bytes take 32 cycles each.
  spec::Config narrow = spec::kNic100;
  narrow.datapath_bits = 64;
  World world(Exact(), narrow);
  for (uint16_t i = 0; i < 8; ++i) world.Read(20 + i, i, world.region.address + i * uint64_t{256}, 256);
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 8u);
  for (size_t i = 1; i < 8; ++i) EXPECT_EQ(world.nic.completions[i].cycle, world.nic.completions[i - 1].cycle + 32);
}

// --- Exact latency. gen3x16 moves 14.4935 bytes per ns: 24 bytes take 1,656 ps, 84 bytes 5,796 ps.

TEST(PcieLink, ReadLatencyIsExact) {
  World world;
  world.Read(100, 5, world.region.address + 128, 64);
  // Leaves at the end of cycle 100: 404,000 + 1,656 + 130,000 + 170,000 + 5,796 + 130,000 = 841,452 ps, in cycle 211.
  world.RunBefore(211);
  EXPECT_EQ(world.nic.completions.size(), 0u);
  world.RunBefore(212);
  ASSERT_EQ(world.nic.completions.size(), 1u);
  const auto& completion = world.nic.completions[0];
  EXPECT_EQ(completion.cycle, 211u);
  EXPECT_EQ(completion.tag, 5);
  EXPECT_EQ(completion.offset, 0u);
  EXPECT_EQ(completion.address, world.region.address + 128);
  EXPECT_TRUE(completion.last);
  EXPECT_EQ(completion.status, DmaStatus::kOk);
  EXPECT_EQ(completion.data, world.Expected(world.region.address + 128, 64));
  // 2 ns more are still in cycle 211, which starts at 844,000 ps; 3 ns more are not.
  for (const uint32_t more : {2u, 3u}) {
    PcieParameters slower = Exact();
    slower.read_ns += more;
    World other(slower);
    other.Read(100, 5, other.region.address + 128, 64);
    other.Run();
    EXPECT_EQ(other.nic.completions.at(0).cycle, more == 2 ? 211u : 212u);
  }
  for (const PcieParameters& preset : kPciePresets) {
    World other(Exact(preset), Wide());
    other.Read(100, 0, other.region.address, 64);
    other.Run();
    const uint64_t ns = (other.nic.completions.at(0).cycle - 100) * 4;
    std::printf("%-8s 64-byte DMA read of an idle link: %s to %s ns\n", preset.name, std::to_string(ns).c_str(),
                std::to_string(ns + preset.read_spread_ns).c_str());
  }
}

TEST(PcieLink, ReadOfUnreadyMemoryIsDeferred) {
  World world;
  const uint64_t address = world.region.address + 128;
  std::vector<Picoseconds> asked;
  world.link.OnDmaRead([&](uint64_t at, uint32_t bytes) {
    if (at != address) return true;
    EXPECT_EQ(bytes, 64u);
    asked.push_back(world.scheduler.now());
    world.region.data[128] = static_cast<uint8_t>(asked.size());
    return asked.size() == 4;
  });
  world.Read(100, 5, address, 64);
  world.Read(101, 6, world.region.address + 4096, 64);
  world.Run();
  ASSERT_EQ(asked.size(), 4u);
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i] - asked[i - 1], PcieLink::kAskAgain);
  // The other read is not delayed.
  ASSERT_EQ(world.nic.completions.size(), 2u);
  EXPECT_EQ(world.nic.completions[0].tag, 6);
  EXPECT_EQ(world.nic.completions[1].tag, 5);
  EXPECT_EQ(world.nic.completions[1].data[0], 4);
  // 841,452 ps undelayed, plus 300,000: in cycle 286.
  EXPECT_EQ(world.nic.completions[1].cycle, 286u);
  EXPECT_TRUE(world.link.IsIdle());
}

TEST(PcieLink, WriteLatencyAndCreditReturnAreExact) {
  World world;
  world.RunBefore(kResetCycles);
  EXPECT_EQ(world.nic.credits.size(), 0u);
  world.RunBefore(kResetCycles + 1);
  ASSERT_EQ(world.nic.credits.size(), 1u);
  EXPECT_EQ(world.nic.credits[0].beats, kPciePresets[1].write_buffer_beats);
  // 256 bytes at an address of 4 beats; 280 bytes take 19,319 ps. Leaves from 404,000 to 423,319 ps: credits in cycle
  // 106.
  world.Write(100, world.region.address, std::vector<uint8_t>(256, 0xee));
  world.RunBefore(106);
  EXPECT_EQ(world.nic.credits.size(), 1u);
  world.RunBefore(107);
  ASSERT_EQ(world.nic.credits.size(), 2u);
  EXPECT_EQ(world.nic.credits[1].beats, 4u);
  world.RunTo(553'319);
  EXPECT_NE(world.region.data[0], 0xee);
  world.RunTo(553'320);
  EXPECT_EQ(world.region.data[0], 0xee);
  EXPECT_EQ(world.region.data[255], 0xee);
  EXPECT_TRUE(world.link.IsIdle());
}

TEST(PcieLink, AddressBelow4GiBUsesA3DwHeader) {
  std::vector<uint8_t> low(4096);
  World world;
  ASSERT_TRUE(world.memory.Map(0x10000, low, Permission::kReadWrite));
  // 276 bytes instead of 280: 19,043 instead of 19,319 ps.
  world.Write(100, 0x10000, std::vector<uint8_t>(256, 1));
  world.RunTo(404'000 + 19'043 + 130'000);
  EXPECT_EQ(low[0], 0);
  world.RunTo(404'000 + 19'043 + 130'000 + 1);
  EXPECT_EQ(low[0], 1);
}

TEST(PcieLink, BarAccessLatencyIsExact) {
  World world;
  world.RunBefore(100);  // 400,000 ps
  // A write of 4 bytes takes 1,932 ps on the link: 531,932 ps, cycle 133. The next one comes a cycle later although it
  // arrives 1.9 ns later.
  world.link.WriteBar(2, 0x40, 4, 0x1'2345'6789);
  world.link.WriteBar(2, 0x44, 4, 2);
  world.RunBefore(133);
  EXPECT_EQ(world.nic.bar_accesses.size(), 0u);
  world.RunBefore(135);
  ASSERT_EQ(world.nic.bar_accesses.size(), 2u);
  EXPECT_EQ(world.nic.bar_accesses[0].cycle, 133u);
  EXPECT_EQ(world.nic.bar_accesses[0].bar, 2u);
  EXPECT_EQ(world.nic.bar_accesses[0].offset, 0x40u);
  EXPECT_EQ(world.nic.bar_accesses[0].value, 0x2345'6789u);
  EXPECT_EQ(world.nic.bar_accesses[1].cycle, 134u);

  world.nic.on_bar = [&](const ProbeNic::BarAccess& access) {
    if (!access.is_write)
      world.In(access.cycle + 3, [&world, access] { world.tap.CompleteBarRead(access.cycle + 3, 0xaabb); });
  };
  uint64_t value = 0;
  world.RunTo(world.clock.Begin(200));
  world.link.ReadBar(0, 8, 2, [&](uint64_t answer) { value = answer; });
  // There at 931,656 ps: cycle 233. Answered in 236: leaves at 948,000; 28 bytes take 1,932 ps: 1,079,932 ps.
  world.RunTo(1'079'932);
  EXPECT_EQ(value, 0u);
  world.RunTo(1'079'933);
  EXPECT_EQ(value, 0xaabbu);
}

TEST(PcieLink, ConfigurationAccessTakesNoTime) {
  World world;
  world.RunBefore(100);
  EXPECT_EQ(world.link.ReadConfig(0x34, 1), 0x34u);
  EXPECT_EQ(world.scheduler.now(), 400'000u);
}

// --- Ordering

TEST(PcieLink, ReadsAreReorderedButTheirCompletionsAreNot) {
  World world(kPciePresets[1]);  // with its latency spread
  auto random = MakeRandom("pcie_link_test.order");
  std::map<uint16_t, std::pair<uint64_t, uint32_t>> asked;
  for (uint16_t tag = 0; tag < 200; ++tag) {
    const uint64_t offset = UniformBelow(random, World::kBytes - 4096);
    const uint32_t room = 4096 - static_cast<uint32_t>((world.region.address + offset) % 4096);
    const uint32_t bytes = std::min(room, 1 + static_cast<uint32_t>(UniformBelow(random, 512)));
    asked[tag] = {world.region.address + offset, bytes};
    world.Read(20 + tag, tag, world.region.address + offset, bytes);
  }
  world.Run();
  std::map<uint16_t, std::vector<uint8_t>> got;
  std::vector<uint16_t> finished;
  bool is_interleaved = false;
  uint64_t parts = 0;
  for (const auto& completion : world.nic.completions) {
    const auto& [address, bytes] = asked[completion.tag];
    auto& data = got[completion.tag];
    EXPECT_EQ(completion.offset, data.size());  // in order within a read
    data.insert(data.end(), completion.data.begin(), completion.data.end());
    // Split only at read completion boundaries (PCIe 5.0, 2.3.1.1), never more than a packet.
    const uint64_t end = completion.address + completion.data.size();
    EXPECT_TRUE(completion.offset == 0 || completion.address % 64 == 0);
    EXPECT_TRUE(completion.last || end % 64 == 0);
    EXPECT_LE(completion.data.size(), 256u);
    EXPECT_EQ(completion.last, data.size() == bytes);
    if (completion.last) finished.push_back(completion.tag);
    ++parts;
  }
  for (size_t i = 0; i + 1 < world.nic.completions.size(); ++i) {
    const auto& now = world.nic.completions;
    is_interleaved = is_interleaved || (!now[i].last && now[i].tag != now[i + 1].tag);
  }
  EXPECT_TRUE(is_interleaved);
  EXPECT_GT(parts, 250u);
  EXPECT_FALSE(std::is_sorted(finished.begin(), finished.end()));
  ASSERT_EQ(finished.size(), 200u);
  for (const auto& [tag, request] : asked) EXPECT_EQ(got[tag], world.Expected(request.first, request.second));
}

TEST(PcieLink, ReadObservesEarlierWrites) {
  PcieParameters fast = Exact();
  fast.read_ns = 0;  // only the rule orders them
  World world(fast);
  for (uint16_t i = 0; i < 100; ++i) {
    const uint64_t address = world.region.address + i * uint64_t{256};
    world.Write(100 + i * 8u, address, std::vector<uint8_t>(256, static_cast<uint8_t>(i + 1)));
    world.Read(100 + i * 8u, i, address, 64);  // in the same cycle, after it
  }
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 100u);
  for (const auto& completion : world.nic.completions) {
    EXPECT_EQ(completion.data, std::vector<uint8_t>(64, static_cast<uint8_t>(completion.tag + 1)));
  }
}

TEST(PcieLink, MsixDoesNotPassEarlierWrites) {
  World world;
  std::vector<std::pair<uint16_t, uint8_t>> seen;  // vector, last byte written
  world.link.OnMsix([&](uint16_t vector) { seen.emplace_back(vector, world.region.data[255]); });
  for (uint8_t i = 1; i <= 50; ++i) {
    const Cycle cycle = 20 + i * 4u;
    world.In(cycle, [&world, cycle, i] {
      world.tap.WriteDma(cycle, {world.region.address, std::vector<uint8_t>(256, i)});
      world.tap.SendMsix(cycle, i);
    });
    // 64 beats of credits are 16 writes; later ones must wait for credits.
    if (i == 16) break;
  }
  world.Run();
  ASSERT_EQ(seen.size(), 16u);
  for (uint8_t i = 1; i <= 16; ++i) EXPECT_EQ(seen[i - 1u], (std::pair<uint16_t, uint8_t>(i, i)));
  EXPECT_EQ(world.link.counters().msix, 16u);
}

TEST(PcieLink, BarReadCompletionDoesNotPassEarlierWrites) {
  World world;
  world.nic.on_bar = [&](const ProbeNic::BarAccess& access) {
    const Cycle cycle = access.cycle + 8;
    world.In(cycle, [&world, cycle] {
      for (unsigned i = 0; i < 1; ++i)
        world.tap.WriteDma(cycle, {world.region.address + 256, std::vector<uint8_t>(256, 0x77)});
      world.tap.CompleteBarRead(cycle, 1);
    });
  };
  uint8_t seen = 0;
  world.RunBefore(20);
  world.link.ReadBar(0, 0, 4, [&](uint64_t) { seen = world.region.data[511]; });
  world.Run();
  EXPECT_EQ(seen, 0x77);
}

TEST(PcieLink, CompletionsDoNotPassBarWrites) {
  World world;
  world.Read(100, 0, world.region.address, 64);
  // The data is ready at 705,656 ps. Just before that the host sends 100 doorbells, which the device accepts at one per
  // cycle.
  world.RunTo(705'655);
  for (uint64_t i = 0; i < 100; ++i) world.link.WriteBar(0, 4 * i, 4, i);
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 1u);
  ASSERT_EQ(world.nic.bar_accesses.size(), 100u);
  for (size_t i = 1; i < 100; ++i) EXPECT_EQ(world.nic.bar_accesses[i].offset, 4 * i);
  EXPECT_GE(world.nic.completions[0].cycle, world.nic.bar_accesses.back().cycle);
  EXPECT_GE(world.nic.bar_accesses.back().cycle, world.nic.bar_accesses.front().cycle + 99);
}

TEST(PcieLink, WritesPassReadsWaitingForATag) {
  PcieParameters few = Exact();
  few.outstanding_reads = 2;
  World world(few);
  for (uint16_t tag = 0; tag < 3; ++tag) world.Read(100 + tag, tag, world.region.address + tag * uint64_t{64}, 64);
  world.Write(103, world.region.address + 128, std::vector<uint8_t>(64, 0x33));
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 3u);
  // The third one is issued when the first completes, and observes writes issued after it.
  EXPECT_GE(world.nic.completions[2].cycle, world.nic.completions[0].cycle + 108);
  EXPECT_EQ(world.nic.completions[2].data, std::vector<uint8_t>(64, 0x33));
  EXPECT_TRUE(world.link.IsIdle());
}

// --- External memory

// A base class, because it must outlive the world.
struct MemoryElsewhere {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(16384);
  std::vector<std::string> calls;
};

struct WorldElsewhere : MemoryElsewhere, World {
  explicit WorldElsewhere(bool together) {
    std::ranges::generate(bytes, [i = 0]() mutable { return static_cast<uint8_t>(i++ * 37 >> 3); });
    auto owned = std::make_unique<RecordedMemory>(bytes, calls);
    slow = owned.get();
    address = *memory.MapLike(0, bytes.size(), std::move(owned));
    if (!together) return;
    memory.CombineWrites(65536);
    link.SampleTogether(65536);
  }
  RecordedMemory* slow = nullptr;
  uint64_t address = 0;
};

TEST(PcieLink, ContiguousExternalReadsAreSampledTogether) {
  WorldElsewhere plain(false), together(true);
  for (WorldElsewhere* world : {&plain, &together}) {
    // Two streams, one of them in reverse order, and one to another place.
    for (uint16_t i = 0; i < 8; ++i) {
      world->Read(100 + 3U * i, i, world->address + 512U * i, 512);
      world->Read(101 + 3U * i, static_cast<uint16_t>(8 + i), world->address + 8192 + 512U * (7U - i), 512);
    }
    world->Read(130, 16, world->address + 16000, 384);
    world->Read(131, 17, world->region.address, 512);
    world->Run();
  }
  ASSERT_EQ(together.nic.completions.size(), plain.nic.completions.size());
  for (size_t i = 0; i < plain.nic.completions.size(); ++i) {
    EXPECT_EQ(together.nic.completions[i].cycle, plain.nic.completions[i].cycle) << i;
    EXPECT_EQ(together.nic.completions[i].tag, plain.nic.completions[i].tag) << i;
    EXPECT_EQ(together.nic.completions[i].data, plain.nic.completions[i].data) << i;
  }
  EXPECT_EQ(plain.calls.size(), 17u);
  EXPECT_LE(together.calls.size(), 12u);
  EXPECT_EQ(together.memory.TrafficOf(together.address)->read_bytes, 17 * 512u - 128);
}

TEST(PcieLink, CombinedExternalReadObservesEarlierWrites) {
  WorldElsewhere world(true);
  world.Read(100, 1, world.address, 512);
  world.Write(101, world.address + 512, std::vector<uint8_t>(256, 0x77));
  world.Read(103, 2, world.address + 512, 256);
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 3u);
  for (const auto& completion : world.nic.completions) {
    if (completion.tag == 2) {
      EXPECT_EQ(completion.data, std::vector<uint8_t>(256, 0x77));
    }
  }
  EXPECT_EQ(world.calls, std::vector<std::string>({"write 512+256", "read 0+768"}));
}

TEST(PcieLink, CombinedReadsFailIndividually) {
  WorldElsewhere world(true);
  world.slow->good_bytes = 1024;
  for (uint16_t i = 0; i < 4; ++i) world.Read(100 + i, i, world.address + 512U * i, 512);
  world.Run();
  EXPECT_EQ(world.link.counters().failed_reads, 2u);
  for (const auto& completion : world.nic.completions) {
    EXPECT_EQ(completion.status, completion.tag < 2 ? DmaStatus::kOk : DmaStatus::kUnsupportedRequest);
  }
  world.memory.ClearViolations();  // they were expected
}

// A message or the answer of a BAR read means that earlier writes are visible.
TEST(PcieLink, CombinedWriteIsFlushedBeforeMsix) {
  WorldElsewhere world(true);
  std::vector<std::vector<std::string>> seen;
  world.link.OnMsix([&](uint16_t) { seen.push_back(world.calls); });
  world.Write(100, world.address, std::vector<uint8_t>(256, 1));
  world.Write(104, world.address + 256, std::vector<uint8_t>(256, 2));
  world.In(108, [&] { world.tap.SendMsix(108, 3); });
  world.Run();
  EXPECT_EQ(seen, (std::vector<std::vector<std::string>>{{"write 0+512"}}));
  EXPECT_EQ(world.bytes[511], 2);
}

// --- Errors and faults

TEST(PcieLink, AccessOutsideTheWindowsIsAnError) {
  World world;
  const auto secret = world.memory.Allocate(4096, 4096, Permission::kWrite);
  world.Read(100, 1, 0xdead'0000, 512);
  world.Read(101, 2, secret->address, 512);
  world.Read(102, 3, world.region.address + World::kBytes - 64, 64);
  world.Write(110, 0xdead'0000, std::vector<uint8_t>(64, 1));
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 3u);
  for (const auto& completion : world.nic.completions) {
    const bool is_good = completion.tag == 3;
    EXPECT_EQ(completion.status, is_good ? DmaStatus::kOk : DmaStatus::kUnsupportedRequest);
    EXPECT_EQ(completion.data.size(), is_good ? 64u : 0u);
    EXPECT_TRUE(completion.last);
  }
  EXPECT_EQ(world.memory.violations().size(), 3u);
  EXPECT_EQ(world.link.counters().failed_reads, 2u);
  EXPECT_EQ(world.link.counters().failed_writes, 1u);
}

// Without a check in the test: the access alone aborts. A lost read counts as well.
TEST(PcieLink, UnacknowledgedViolationAborts) {
  EXPECT_DEATH(
      {
        World world;
        world.Read(100, 1, world.region.address + World::kBytes - 8, 16);
        world.Run();
      },
      "DMA read of 16 bytes at .*: no_window, and not expected");
  EXPECT_DEATH(
      {
        World world;
        world.link.AddFault({.kind = DmaFault::Kind::kTimeout});
        world.Read(100, 1, 0xdead'0000, 16);
        world.Run();
      },
      "DMA read of 16 bytes at 0xdead0000: no_window, and not expected");
}

TEST(PcieLink, FaultsHitTheReadsTheyName) {
  World world;
  const uint64_t base = world.region.address;
  using Kind = DmaFault::Kind;
  world.link.AddFault({.kind = Kind::kUnsupportedRequest, .address = base + 4096, .bytes = 1, .nth = 2});
  world.link.AddFault({.kind = Kind::kCompleterAbort, .address = base + 8192 + 511, .bytes = 1, .after_bytes = 300});
  world.link.AddFault({.kind = Kind::kPoisoned, .address = base + 12288, .bytes = 4096});
  world.link.AddFault({.kind = Kind::kDelay, .address = base + 16384, .bytes = 1, .delay_ns = 10'000});
  const struct {
    uint64_t offset;
    std::vector<std::pair<DmaStatus, size_t>> parts;
  } rows[] = {
      {0, {{DmaStatus::kOk, 256}, {DmaStatus::kOk, 256}}},
      {4096 - 512, {{DmaStatus::kOk, 256}, {DmaStatus::kOk, 256}}},  // touches only the byte before
      {4096, {{DmaStatus::kOk, 256}, {DmaStatus::kOk, 256}}},        // the first of two
      {4096, {{DmaStatus::kUnsupportedRequest, 0}}},
      {8192, {{DmaStatus::kOk, 256}, {DmaStatus::kCompleterAbort, 0}}},
      {12288 + 512, {{DmaStatus::kPoisoned, 256}, {DmaStatus::kPoisoned, 256}}},
      {16384, {{DmaStatus::kOk, 256}, {DmaStatus::kOk, 256}}},
      {4096, {{DmaStatus::kOk, 256}, {DmaStatus::kOk, 256}}},  // the third
  };
  for (size_t i = 0; i < std::size(rows); ++i)
    world.Read(1000 + i * 500, static_cast<uint16_t>(i), base + rows[i].offset, 512);
  world.Run();
  std::map<uint16_t, std::vector<std::pair<DmaStatus, size_t>>> got;
  std::map<uint16_t, Cycle> cycle;
  for (const auto& completion : world.nic.completions) {
    got[completion.tag].emplace_back(completion.status, completion.data.size());
    cycle[completion.tag] = completion.cycle;
  }
  for (size_t i = 0; i < std::size(rows); ++i) EXPECT_EQ(got[static_cast<uint16_t>(i)], rows[i].parts) << i;
  EXPECT_EQ(cycle[6] - 3000, cycle[0] + 2500);     // 10 us
  EXPECT_TRUE(world.memory.violations().empty());  // no violation in host memory
}

TEST(PcieLink, RefusedWriteIsAnsweredInTheNextCycleAndDoesNotReachMemory) {
  World world;
  const uint64_t address = world.region.address;
  world.link.AddFault({.kind = DmaFault::Kind::kRefused, .address = address + 0x100, .bytes = 0x100, .nth = 2});
  const std::vector<uint8_t> data(64, 0xee);
  const auto before = world.Expected(address + 0x180, 64);
  world.Read(20, 1, address + 0x100, 64);  // counts for faults of reads only
  world.Write(21, address, data);          // elsewhere
  world.Write(22, address + 0x100, data);
  world.Write(23, address + 0x180, data);
  world.Write(24, address + 0x140, data);
  world.Run();
  EXPECT_EQ(world.nic.refusals, (std::vector<Cycle>{24}));
  EXPECT_EQ(world.Expected(address + 0x180, 64), before);
  for (const uint64_t offset : {0x0, 0x100, 0x140}) EXPECT_EQ(world.Expected(address + offset, 64), data);
  EXPECT_EQ(world.link.counters().refused_writes, 1u);
  EXPECT_EQ(world.link.counters().writes, 3u);
  EXPECT_EQ(world.link.counters().faulted_reads, 0u);
  // Its credits return without a way over the link.
  uint32_t beats = 0;
  for (const auto& credits : world.nic.credits) beats += credits.beats;
  EXPECT_EQ(beats, world.link.parameters().write_buffer_beats + 4);
  EXPECT_TRUE(world.link.IsIdle());
}

TEST(PcieLink, LostReadTimesOutExactly) {
  World world;
  world.link.AddFault({.kind = DmaFault::Kind::kTimeout, .address = 0, .nth = 1});
  world.link.AddFault({.kind = DmaFault::Kind::kTimeout, .address = 0, .nth = 2, .after_bytes = 256});
  world.Read(100, 0, world.region.address, 512);
  world.Read(1000, 1, world.region.address, 512);
  world.Read(2000, 2, world.region.address, 512);
  // 50 us after the request left: 404,000 + 1,656 + 50,000,000 ps are in cycle 12,602.
  world.RunBefore(12'602);
  EXPECT_EQ(world.nic.completions.size(), 3u);  // 256 bytes of the second, all of the third
  world.RunBefore(12'603);
  ASSERT_EQ(world.nic.completions.size(), 4u);
  EXPECT_EQ(world.nic.completions[3].tag, 0);
  EXPECT_EQ(world.nic.completions[3].status, DmaStatus::kTimeout);
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 5u);
  EXPECT_EQ(world.nic.completions[4].tag, 1);
  EXPECT_EQ(world.nic.completions[4].offset, 256u);
  EXPECT_EQ(world.nic.completions[4].status, DmaStatus::kTimeout);
  EXPECT_TRUE(world.link.IsIdle());
}

TEST(PcieLink, DelayOfTheTimeoutIsATimeoutWithoutALateCompletion) {
  for (const uint32_t delay_ns : {30'000U, 50'000U}) {
    World world;
    world.link.AddFault({.kind = DmaFault::Kind::kDelay, .nth = 1, .delay_ns = delay_ns});
    world.Read(100, 0, world.region.address, 64);
    world.Run();
    ASSERT_EQ(world.nic.completions.size(), 1u);
    EXPECT_EQ(world.nic.completions[0].status, delay_ns < 50'000 ? DmaStatus::kOk : DmaStatus::kTimeout);
    EXPECT_EQ(world.nic.completions[0].data.size(), delay_ns < 50'000 ? 64u : 0u);
    EXPECT_EQ(world.link.counters().faulted_reads, 1u);
    EXPECT_TRUE(world.link.IsIdle());
  }
}

TEST(PcieLink, SplitReadEndsAtEveryBoundaryWithTheSameBytes) {
  World world;
  world.link.AddFault({.kind = DmaFault::Kind::kSplit, .nth = 2, .count = 2});
  const uint64_t address = world.region.address + 40;
  for (uint16_t tag = 0; tag < 4; ++tag) world.Read(100 + 500U * tag, tag, address, 300);
  world.Run();
  std::map<uint16_t, std::vector<uint8_t>> data;
  std::map<uint16_t, size_t> parts;
  for (const auto& completion : world.nic.completions) {
    data[completion.tag].insert(data[completion.tag].end(), completion.data.begin(), completion.data.end());
    ++parts[completion.tag];
  }
  for (uint16_t tag = 0; tag < 4; ++tag) {
    EXPECT_EQ(parts[tag], tag == 1 || tag == 2 ? 6u : 2u) << tag;
    EXPECT_EQ(data[tag], world.Expected(address, 300)) << tag;
  }
  EXPECT_EQ(world.link.counters().faulted_reads, 2u);
}

TEST(PcieLink, LatencySpreadReordersReads) {
  World world;
  world.link.AddFault({.kind = DmaFault::Kind::kSpread, .delay_ns = 5'000});
  for (uint16_t tag = 0; tag < 32; ++tag) world.Read(100U + tag, tag, world.region.address, 64);
  world.Run();
  ASSERT_EQ(world.nic.completions.size(), 32u);
  std::vector<uint16_t> order;
  for (const auto& completion : world.nic.completions) order.push_back(completion.tag);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  EXPECT_LT(world.nic.completions.back().cycle, 100u + 32 + 250 + 5'000 / 4);
}

TEST(PcieLink, RandomFaultsOccurAtTheirRate) {
  World world(kPciePresets[1]);
  world.link.AddFault({.kind = DmaFault::Kind::kCompleterAbort, .per_million = 100'000});
  for (unsigned i = 0; i < 5000; ++i) world.Read(100 + i * 300u, 0, world.region.address, 64);
  world.Run();
  const auto failed = std::count_if(world.nic.completions.begin(), world.nic.completions.end(),
                                    [](const auto& completion) { return completion.status != DmaStatus::kOk; });
  EXPECT_GT(failed, 400);
  EXPECT_LT(failed, 600);
}

TEST(PcieLink, UnansweredBarReadReturnsAllOnesAndALateAnswerIsDropped) {
  World world;
  std::vector<std::pair<uint64_t, Picoseconds>> answers;
  const auto note = [&](uint64_t value) { answers.emplace_back(value, world.scheduler.now()); };
  world.RunBefore(100);
  world.link.ReadBar(0, 0, 4, note);
  world.RunTo(400'000 + 50'000'000);
  EXPECT_EQ(answers.size(), 0u);
  world.RunTo(400'000 + 50'000'001);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].first, 0xffff'ffffu);
  EXPECT_EQ(world.link.counters().bar_timeouts, 1u);
  // The device finally answers it, and then the next one.
  world.link.ReadBar(0, 4, 4, note);
  world.In(20'000, [&] { world.tap.CompleteBarRead(20'000, 1); });
  world.In(20'001, [&] { world.tap.CompleteBarRead(20'001, 2); });
  world.Run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].first, 2u);
}

TEST(PcieLink, RestartDropsOutstandingTransactions) {
  World world;
  uint64_t answer = 0;
  world.Read(100, 0, world.region.address, 512);
  world.Write(100, world.region.address + 4096, std::vector<uint8_t>(256, 0xcc));
  world.RunBefore(110);
  world.link.WriteBar(0, 0, 4, 1);
  world.link.ReadBar(0, 0, 4, [&](uint64_t value) { answer = value; });
  world.tap.Reset(110);
  world.link.Restart(110 + kResetCycles);
  EXPECT_EQ(answer, 0xffff'ffffu);
  world.Run();
  EXPECT_EQ(world.nic.completions.size(), 0u);
  EXPECT_EQ(world.nic.bar_accesses.size(), 0u);
  EXPECT_NE(world.region.data[4096], 0xcc);
  ASSERT_EQ(world.nic.credits.size(), 3u);  // initial, of the write, and new ones
  EXPECT_EQ(world.nic.credits[2].cycle, 110 + kResetCycles);
  world.Read(20'000, 0, world.region.address, 64);  // the same tag again
  world.Run();
  EXPECT_EQ(world.nic.completions.size(), 1u);
}

}  // namespace
}  // namespace vireo::sim
