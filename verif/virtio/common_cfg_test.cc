// SPDX-License-Identifier: Apache-2.0
// vireo_common_cfg against its model, and against the requirements of virtio and the real driver.
#include "model/virtio/common_cfg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "Vcommon_cfg.h"
#include "host/driver/features.h"
#include "host/driver/split_ring.h"
#include "host/driver/virtio_pci.h"
#include "sim/common/seed.h"
#include "verif/virtio/virtio_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::CommonCfg;
using model::Cycle;
using spec::BarAccess;
using spec::Doorbell;
using spec::Interrupt;
using spec::NetFeature;
using spec::QueueRowWrite;
using spec::VirtioFeature;
using Common = spec::VirtioPciCommonCfg;
using DeviceStatus = spec::VirtioDeviceStatus;

constexpr uint32_t kVectors = 8;
constexpr uint32_t kMaxEntries = 64, kMaxNetEntries = 32;
constexpr uint32_t kQueues = 2 * 2 + 1 + 4 + 2 * 4 + 1;  // in profile vireo
constexpr uint32_t kWalk = 2 * kQueues - 1;              // cycles of a reset's walk: every second one has a row

// The size that a queue has after a reset; `pairs` are those of net queues.
constexpr uint32_t DefaultEntries(uint32_t queue, uint32_t pairs) {
  return queue < 2 * pairs ? kMaxNetEntries : kMaxEntries;
}

constexpr spec::Config TestConfig() {
  spec::Config config = spec::kNic1;
  config.net_queue_pairs = 2;
  config.num_cqs = 4;
  config.num_qps = 4;
  config.max_queue_entries = kMaxEntries;
  config.max_net_queue_entries = kMaxNetEntries;
  return config;
}

constexpr uint32_t Bit(NetFeature feature) { return uint32_t{1} << static_cast<uint32_t>(feature) % 32; }
constexpr uint32_t Bit(VirtioFeature feature) { return uint32_t{1} << static_cast<uint32_t>(feature) % 32; }
constexpr uint32_t kNetWindow =
    Bit(NetFeature::kCsum) | Bit(NetFeature::kGuestCsum) | Bit(NetFeature::kCtrlGuestOffloads) | Bit(NetFeature::kMtu) |
    Bit(NetFeature::kMac) | Bit(NetFeature::kMrgRxbuf) | Bit(NetFeature::kStatus) | Bit(NetFeature::kCtrlVq) |
    Bit(NetFeature::kCtrlRx) | Bit(NetFeature::kCtrlVlan) | Bit(NetFeature::kCtrlRxExtra) | Bit(NetFeature::kMq) |
    Bit(NetFeature::kCtrlMacAddr) | Bit(VirtioFeature::kRingIndirectDesc) | Bit(VirtioFeature::kRingEventIdx);
constexpr uint32_t kVirtioWindow = Bit(VirtioFeature::kVersion1) | Bit(VirtioFeature::kAccessPlatform) |
                                   Bit(VirtioFeature::kRingPacked) | Bit(VirtioFeature::kRingReset);
constexpr uint32_t kCoalescing = Bit(NetFeature::kVqNotfCoal) | Bit(NetFeature::kNotfCoal);  // not in rfc-v2
constexpr uint32_t kRoceVireo = 1u << (58 - 32), kRoceRfc = 1u << (55 - 32);

static_assert(spec::kOfferedFeatures[0] == kNetWindow && spec::kOfferedFeatures[1] == (kVirtioWindow | kCoalescing) &&
              spec::kOfferedFeatures[2] == 0 && spec::kOfferedFeatures[3] == 0);

struct None {
  friend bool operator==(const None&, const None&) = default;
};

struct Bench {
  explicit Bench(bool firmware_is_ready = true) {
    p.msix_ready_i = 1;
    p.firmware_ready_i = firmware_is_ready;
    if (firmware_is_ready) block.OnFirmwareReady(0);
    block.ConnectQueueReset(queue_reset_sink);
    block.interrupt_out.Connect(interrupt_sink, block);
    block.on_read_data = [this](Cycle cycle, uint64_t data) { read(cycle, data); };
    block.on_queue_row_write = [this](Cycle cycle, const QueueRowWrite& row_write) { row(cycle, row_write); };
    block.on_device_reset = [this](Cycle cycle) { device_reset(cycle, {}); };
    block.on_features_written = [this](Cycle cycle) { features_written(cycle, {}); };
    block.on_driver_ok = [this](Cycle cycle) { driver_ok(cycle, {}); };
    block.on_levels = [this](Cycle from, const CommonCfg::Levels& levels) { level_changes.push_back({from, levels}); };
    inputs.profile = spec::Profile::kVireo;
    inputs.mac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
    inputs.mtu = 1500;
    inputs.link_up = true;
    bench.AddOther(others);
  }
  // Until the block is ready after reset.
  void Start() { ASSERT_EQ(bench.Run(kWalk + 4), ""); }

  // --- The host

  static BarAccess Access(bool write, uint32_t offset, unsigned bytes, uint64_t data = 0) {
    return {.write = write,
            .bar_index = spec::kBarVirtio,
            .offset = offset,
            .bytes = static_cast<uint8_t>(bytes),
            .data = data};
  }
  void WriteAt(uint32_t offset, unsigned bytes, uint64_t data) {
    bar.tokens.push_back(Access(true, offset, bytes, data));
    ASSERT_EQ(bench.RunOut(0), "");
  }
  uint64_t ReadAt(uint32_t offset, unsigned bytes) {
    bar.tokens.push_back(Access(false, offset, bytes));
    const size_t before = read.all.size();
    EXPECT_EQ(bench.Run(spec::kBarReadLatency + 1), "");
    EXPECT_EQ(read.all.size(), before + 1);
    return read.all.back().second;
  }
  void Write(size_t field, unsigned bytes, uint64_t data) {
    WriteAt(spec::kBarVirtioCommonCfg + static_cast<uint32_t>(field), bytes, data);
  }
  uint64_t Read(size_t field, unsigned bytes) {
    return ReadAt(spec::kBarVirtioCommonCfg + static_cast<uint32_t>(field), bytes);
  }
  uint8_t Status() { return static_cast<uint8_t>(Read(Common::kDeviceStatusOffset, 1)); }
  void WriteStatus(unsigned status) { Write(Common::kDeviceStatusOffset, 1, status); }
  void WriteFeatures(uint32_t window, uint32_t bits) {
    Write(Common::kDriverFeatureSelectOffset, 4, window);
    Write(Common::kDriverFeatureOffset, 4, bits);
  }
  void Select(uint32_t queue) { Write(Common::kQueueSelectOffset, 2, queue); }
  // Up to DRIVER_OK with everything that is offered.
  void Negotiate(uint32_t virtio_window = kVirtioWindow) {
    WriteStatus(DeviceStatus::kAcknowledge);
    WriteStatus(DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
    WriteFeatures(0, kNetWindow);
    WriteFeatures(1, virtio_window | kRoceVireo);
    WriteStatus(DeviceStatus::kFeaturesOk);
    WriteStatus(DeviceStatus::kDriverOk);
    ASSERT_EQ(Status(), 0x0f);
  }
  void Enable(uint32_t queue) {
    Select(queue);
    Write(Common::kQueueSizeOffset, 2, 32);
    Write(Common::kQueueMsixVectorOffset, 2, queue % kVectors);
    for (size_t i = 0; i < 6; ++i) Write(Common::kQueueDescOffset + 4 * i, 4, (queue + 1) * 0x1000'0001 * (i + 1));
    Write(Common::kQueueEnableOffset, 2, 1);
  }

  std::mt19937_64 random = sim::MakeRandom("common_cfg");
  Agenda agenda;
  CommonCfg block{agenda, TestConfig(), kVectors};
  Channel<Doorbell> queue_reset_sink = Channel<Doorbell>::Sink();
  Channel<Interrupt> interrupt_sink = Channel<Interrupt>::Sink();
  RtlTop<Vcommon_cfg> rtl{[](const Vcommon_cfg& top, std::vector<uint8_t>& bytes) {
    for (const uint8_t bit :
         {top.bar_read_valid_o, top.device_reset_o, top.features_written_o, top.driver_ok_o, top.queue_reset_valid_o,
          top.reset_all_o, top.resetting_o, top.queue_row_write_valid_o, top.interrupt_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    AppendBytes(bytes, top.bar_read_data_o);
    AppendBytes(bytes, top.device_status_o);
    AppendBytes(bytes, top.driver_features_o);
    AppendBytes(bytes, top.roce_o);
    AppendBytes(bytes, top.queue_reset_o);
    AppendBytes(bytes, top.queue_row_write_o);
    AppendBytes(bytes, top.interrupt_o);
  }};
  BlockBench<Vcommon_cfg> bench{rtl, agenda, random};
  Vcommon_cfg& p = rtl.ports();

  // --- Firmware and the rest of the device

  CommonCfg::Inputs inputs;
  bool say_reset_done = false;
  std::optional<uint16_t> say_queue_reset_done;
  bool with_other_data = false;
  std::function<void(Cycle)> each_cycle;

  ModelPulse<uint64_t> read;
  ModelPulse<QueueRowWrite> row;
  ModelPulse<None> device_reset, features_written, driver_ok;
  std::deque<std::pair<Cycle, CommonCfg::Levels>> level_changes;
  CommonCfg::Levels levels;

  void SetInputs(Cycle cycle) {
    if (each_cycle) each_cycle(cycle);
    p.profile_i = inputs.profile == spec::Profile::kVireo;
    p.needs_reset_i = inputs.needs_reset;
    p.link_up_i = inputs.link_up;
    p.announce_i = inputs.announce;
    uint64_t mac = 0;
    for (size_t i = 0; i < 6; ++i) mac |= uint64_t{inputs.mac[i]} << 8 * i;
    p.mac_i = mac;
    p.mtu_i = inputs.mtu;
    if (cycle == 0 || !(inputs == driven)) block.SetInputs(cycle, inputs);
    driven = inputs;
    p.reset_done_i = std::exchange(say_reset_done, false);
    if (p.reset_done_i) block.OnResetDone(cycle);
    p.queue_reset_done_valid_i = say_queue_reset_done.has_value();
    p.queue_reset_done_i = static_cast<uint16_t>(random());
    if (say_queue_reset_done.has_value()) {
      p.queue_reset_done_i = *say_queue_reset_done;
      block.OnQueueResetDone(cycle, *say_queue_reset_done);
      say_queue_reset_done.reset();
    }
    p.other_read_data_i = with_other_data ? random() & random() & random() : 0;
    if (with_other_data) block.OnOtherReadData(cycle, p.other_read_data_i);
  }
  std::string Compare(Cycle cycle) {
    while (!level_changes.empty() && level_changes.front().first <= cycle) {
      levels = level_changes.front().second;
      level_changes.pop_front();
    }
    const std::string at = " is not the model's in cycle " + std::to_string(cycle);
    CommonCfg::Features features;
    for (size_t i = 0; i < features.size(); ++i) features[i] = p.driver_features_o[i];
    if (p.device_status_o != levels.device_status) return "device_status" + at;
    if (features != levels.driver_features) return "driver_features" + at;
    if ((p.roce_o != 0) != levels.roce) return "roce" + at;
    if ((p.resetting_o != 0) != levels.resetting) return "resetting" + at;
    if (p.reset_all_o != p.device_reset_o) return "reset_all" + at;
    const auto number = [](uint64_t data) { return std::to_string(data); };
    const auto nothing = [](const None&) { return std::string(); };
    const auto bytes = BytesOf(std::as_const(p.queue_row_write_o));
    for (std::string difference :
         {read.Compare("read", cycle, p.bar_read_valid_o != 0, p.bar_read_data_o, number),
          row.Compare("queue_row_write", cycle, p.queue_row_write_valid_o != 0, TokenFrom<QueueRowWrite>(bytes),
                      [](const QueueRowWrite& token) { return TokenText(token); }),
          device_reset.Compare("device_reset", cycle, p.device_reset_o != 0, {}, nothing),
          features_written.Compare("features_written", cycle, p.features_written_o != 0, {}, nothing),
          driver_ok.Compare("driver_ok", cycle, p.driver_ok_o != 0, {}, nothing)}) {
      if (!difference.empty()) return difference;
    }
    return idle_difference;
  }
  CommonCfg::Inputs driven;
  std::string idle_difference;
  EveryCycle others{[this](Cycle cycle) {
                      if ((p.idle_o != 0) != block.IsIdle()) {
                        idle_difference = "idle is not the model's in cycle " + std::to_string(cycle);
                      }
                      SetInputs(cycle);
                    },
                    [this](Cycle cycle) { return Compare(cycle); }};
  decltype(bench.Pulse<BarAccess>(p.bar_valid_i, p.bar_i, nullptr)) bar = bench.Pulse<BarAccess>(
      p.bar_valid_i, p.bar_i, [this](Cycle cycle, const BarAccess& access) { block.OnBar(cycle, access); });
  decltype(bench.Out("queue_reset", queue_reset_sink, p.queue_reset_valid_o, p.queue_reset_ready_i,
                     p.queue_reset_o)) queue_reset =
      bench.Out("queue_reset", queue_reset_sink, p.queue_reset_valid_o, p.queue_reset_ready_i, p.queue_reset_o);
  decltype(bench.Out("interrupt", interrupt_sink, p.interrupt_valid_o, p.interrupt_ready_i, p.interrupt_o)) interrupt =
      bench.Out("interrupt", interrupt_sink, p.interrupt_valid_o, p.interrupt_ready_i, p.interrupt_o);
};

// --- Against the model
// -------------------------------------------------------------------------------------------------

// Mostly valid accesses.
BarAccess RandomAccess(std::mt19937_64& random) {
  const auto common = [&](bool write, size_t field, unsigned bytes, uint64_t data) {
    return Bench::Access(write, spec::kBarVirtioCommonCfg + static_cast<uint32_t>(field), bytes, data);
  };
  BarAccess access;
  switch (random() % 20) {
    case 0: {
      const uint8_t values[] = {1, 3, 3, 11, 15, 15, 15, 0x8f, 4, 8};
      access = common(true, Common::kDeviceStatusOffset, 1, values[random() % std::size(values)]);
      break;
    }
    case 1: access = common(true, Common::kDriverFeatureSelectOffset, 4, random() % 5); break;
    case 2: {
      const uint32_t values[] = {0,
                                 kNetWindow,
                                 kVirtioWindow | kRoceVireo,
                                 kVirtioWindow | kCoalescing | kRoceVireo,
                                 kVirtioWindow | kCoalescing | kRoceRfc,
                                 kVirtioWindow,
                                 (kVirtioWindow & ~Bit(VirtioFeature::kRingPacked)) | kRoceVireo,
                                 kVirtioWindow | kRoceRfc};
      access = common(true, Common::kDriverFeatureOffset, 4, values[random() % std::size(values)]);
      break;
    }
    case 3:
    case 4:
    case 5: access = common(true, Common::kQueueSelectOffset, 2, random() % (kQueues + 2)); break;
    case 6: access = common(true, Common::kQueueEnableOffset, 2, 1); break;
    case 7: access = common(true, Common::kQueueResetOffset, 2, 1); break;
    case 8: {
      const uint64_t size = random() % 2 == 0 ? uint64_t{1} << random() % 9 : random() % 80;
      access = common(true, Common::kQueueSizeOffset, 2, size);
      break;
    }
    case 9: access = common(true, Common::kQueueMsixVectorOffset, 2, random() % (kVectors + 2)); break;
    case 10: access = common(true, Common::kConfigMsixVectorOffset, 2, random() % (kVectors + 2)); break;
    case 11: access = common(true, Common::kDeviceFeatureSelectOffset, 4, random() % 5); break;
    case 12: access = common(true, Common::kQueueDescOffset + 4 * (random() % 6), 4, random()); break;
    case 13: access = Bench::Access(false, spec::kBarVirtioIsrCfg, 1); break;
    case 14:
      access = Bench::Access(false, spec::kBarVirtioDeviceCfg + static_cast<uint32_t>(random() % 10 * 8), 8);
      break;
    case 15: {
      const unsigned bytes = 1u << random() % 4;
      access = common(random() % 2 == 0, random() % 80 & ~uint64_t{bytes - 1}, bytes, random());
      break;
    }
    default: {
      const unsigned bytes = 1u << random() % 4;
      access = common(false, random() % 64 & ~uint64_t{bytes - 1}, bytes, 0);
      break;
    }
  }
  if (random() % 32 == 0) access.bytes = static_cast<uint8_t>(random() % 16);
  if (random() % 32 == 0) access.offset = static_cast<uint32_t>(random() % 0x4000);
  if (random() % 32 == 0) access.bar_index = static_cast<uint8_t>(random() % 8);
  access.data |= random() << 32;
  return access;
}

TEST(CommonCfg, MatchesModelInRandomTraffic) {
  for (const unsigned bar_rate : {16u, 8u, 1u}) {
    for (const unsigned out_rate : {16u, 2u}) {
      Bench bench;
      bench.Start();
      bench.with_other_data = true;
      bench.bar.rate = bar_rate;
      bench.queue_reset.rate = out_rate;
      bench.interrupt.rate = out_rate;
      size_t resets_seen = 0, queue_resets_seen = 0;
      bench.each_cycle = [&](Cycle) {
        auto& random = bench.random;
        if (bench.device_reset.all.size() > resets_seen && random() % 32 == 0) {
          resets_seen = bench.device_reset.all.size();
          bench.say_reset_done = true;
          bench.inputs.needs_reset = false;
          if (random() % 2 == 0) bench.inputs.profile = static_cast<spec::Profile>(random() % 4 != 0);
        }
        if (bench.queue_reset_sink.sent().size() > queue_resets_seen && random() % 16 == 0) {
          bench.say_queue_reset_done = bench.queue_reset_sink.sent()[queue_resets_seen++].token.vq_index;
        } else if (random() % 64 == 0) {
          bench.say_queue_reset_done = static_cast<uint16_t>(random() % (2 * kQueues));
        }
        if (random() % 128 == 0) bench.say_reset_done = true;
        if (random() % 64 == 0) bench.inputs.link_up = !bench.inputs.link_up;
        if (random() % 128 == 0) bench.inputs.announce = !bench.inputs.announce;
        if (random() % 256 == 0) bench.inputs.mac[random() % 6] ^= 0x10;
        if (random() % 256 == 0) bench.inputs.mtu = static_cast<uint16_t>(random());
        if (random() % 512 == 0) bench.inputs.needs_reset = true;
      };
      for (int round = 0; round < 60; ++round) {
        // A start that succeeds, then random accesses, then a reset.
        const auto status = [&](uint64_t value) {
          return Bench::Access(true, spec::kBarVirtioCommonCfg + uint32_t{Common::kDeviceStatusOffset}, 1, value);
        };
        const auto field = [&](size_t at, uint64_t value) {
          return Bench::Access(true, spec::kBarVirtioCommonCfg + static_cast<uint32_t>(at), 4, value);
        };
        auto& tokens = bench.bar.tokens;
        tokens.push_back(status(3));
        tokens.push_back(field(Common::kDriverFeatureOffset, kNetWindow));
        tokens.push_back(field(Common::kDriverFeatureSelectOffset, 1));
        const bool vireo = bench.inputs.profile == spec::Profile::kVireo;
        tokens.push_back(field(Common::kDriverFeatureOffset, kVirtioWindow | (vireo ? kRoceVireo : kRoceRfc)));
        tokens.push_back(status(15));
        for (int i = 0; i < 300; ++i) tokens.push_back(RandomAccess(bench.random));
        tokens.push_back(status(0));
        ASSERT_EQ(bench.bench.RunOut(100), "");
      }
      ASSERT_EQ(bench.bench.Run(500), "");
      size_t enabled = 0;
      for (const auto& [cycle, row] : bench.row.all) enabled += row.enabled;
      EXPECT_GT(enabled, 100u);
      EXPECT_GT(bench.device_reset.all.size(), 20u);
      EXPECT_GT(bench.features_written.all.size(), 20u);
      EXPECT_GT(bench.driver_ok.all.size(), 20u);
      EXPECT_GT(bench.queue_reset.count, 50u);
      EXPECT_GT(bench.interrupt.count, 20u);
    }
  }
}

// --- Against virtio
// ----------------------------------------------------------------------------------------------------

TEST(CommonCfg, ReadMeetsDocumentedLatency) {
  Bench bench;
  bench.Start();
  for (const uint32_t offset : {uint32_t{Common::kNumQueuesOffset}, spec::kBarVirtioDeviceCfg, 0x3000u, 0x100'0000u}) {
    const size_t before = bench.read.all.size();
    const Cycle at = bench.bench.cycle();
    bench.bar.tokens.push_back(Bench::Access(false, offset, 2));
    ASSERT_EQ(bench.bench.Run(spec::kBarReadLatency), "");
    EXPECT_EQ(bench.read.all.size(), before);
    ASSERT_EQ(bench.bench.Run(1), "");
    ASSERT_EQ(bench.read.all.size(), before + 1);
    EXPECT_EQ(bench.read.all.back().first, at + spec::kBarReadLatency);
  }
}

TEST(CommonCfg, HardwareResetBroadcastsTheRowsBeforeReady) {
  Bench bench;
  EXPECT_EQ(bench.Status(), DeviceStatus::kDeviceNeedsReset);
  bench.WriteStatus(DeviceStatus::kAcknowledge);  // too early
  bench.Start();
  ASSERT_EQ(bench.row.all.size(), kQueues);
  for (uint16_t i = 0; i < kQueues; ++i) EXPECT_EQ(bench.row.all[i].second, (QueueRowWrite{.vq_index = i}));
  EXPECT_EQ(bench.Status(), 0);
  EXPECT_TRUE(bench.device_reset.all.empty());
  EXPECT_EQ(bench.Read(Common::kNumQueuesOffset, 2), kQueues);
  EXPECT_EQ(bench.Read(Common::kConfigMsixVectorOffset, 2), spec::kVirtioMsiNoVector);
  for (uint32_t queue = 0; queue < kQueues + 3; ++queue) {
    bench.Select(queue);
    const bool exists = queue < kQueues;
    EXPECT_EQ(bench.Read(Common::kQueueSelectOffset, 2), queue);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), exists ? DefaultEntries(queue, 1) : 0);
    EXPECT_EQ(bench.Read(Common::kQueueMsixVectorOffset, 2), exists ? spec::kVirtioMsiNoVector : 0);
    EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 0u);
    EXPECT_EQ(bench.Read(Common::kQueueNotifyOffOffset, 2), exists ? queue : 0);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.Read(Common::kQueueDescOffset + 8 * i, 8), 0u);
    EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 0u);
  }
}

TEST(CommonCfg, ProfileSelectsRoceBitEventQueueAndRoceConfigurationOffset) {
  for (const bool vireo : {true, false}) {
    Bench bench;
    bench.inputs.profile = vireo ? spec::Profile::kVireo : spec::Profile::kRfcV2;
    bench.Start();
    EXPECT_EQ(bench.Read(Common::kNumQueuesOffset, 2), vireo ? kQueues : kQueues - 1);
    const uint32_t expected[] = {kNetWindow, kVirtioWindow | (vireo ? kCoalescing | kRoceVireo : kRoceRfc), 0, 0, 0};
    for (uint32_t window = 0; window < 5; ++window) {
      bench.Write(Common::kDeviceFeatureSelectOffset, 4, window);
      EXPECT_EQ(bench.Read(Common::kDeviceFeatureOffset, 4), expected[window]);
    }
    bench.Write(Common::kDeviceFeatureSelectOffset, 4, 0xffff'ffff);
    EXPECT_EQ(bench.Read(Common::kDeviceFeatureOffset, 4), 0u);
    bench.Select(kQueues - 1);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), vireo ? kMaxEntries : 0);
    const uint32_t at = vireo ? 64 : 24;
    for (uint32_t word = 0; word < 96; word += 4) {
      uint64_t value = 0;
      switch (word) {
        case 0: value = 0x3322'1102; break;
        case 4: value = 0x0001'5544; break;
        case 8: value = 1500u << 16 | 2; break;
        default: break;
      }
      if (word == at || word == at + 4) value = 4;
      EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg + word, 4), value) << word;
    }
    EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg + 5, 1), 0x55u);
    EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg + 0xff8, 8), 0u);
  }
}

TEST(CommonCfg, OnlyAllowedFeatureSetsAreAccepted) {
  const uint32_t v1 = Bit(VirtioFeature::kVersion1), reset = Bit(VirtioFeature::kRingReset);
  const uint32_t ctrl = Bit(NetFeature::kCtrlVq), mq = Bit(NetFeature::kMq);
  const struct {
    bool vireo;
    uint32_t net, virtio, high;
    bool good;
  } cases[] = {
      {true, 0, v1, 0, true},
      {true, kNetWindow, kVirtioWindow | kCoalescing | kRoceVireo, 0, true},
      {true, ctrl, v1 | kCoalescing, 0, true},
      {false, ctrl, v1, 0, true},
      {false, ctrl, v1 | Bit(NetFeature::kVqNotfCoal), 0, false},  // withheld
      {false, ctrl, v1 | Bit(NetFeature::kNotfCoal), 0, false},
      {true, ctrl, v1 | reset | kRoceVireo, 0, true},
      {true, 0, 0, 0, false},  // no version_1
      {true, kNetWindow, kVirtioWindow & ~v1, 0, false},
      {true, 0, v1 | reset | kRoceVireo, 0, false},       // roce without ctrl_vq
      {true, ctrl, v1 | kRoceVireo, 0, false},            // roce without ring_reset
      {true, mq, v1, 0, false},                           // mq without ctrl_vq
      {true, ctrl, v1 | reset | kRoceRfc, 0, false},      // the other profile's bit
      {true, Bit(NetFeature::kGuestTso4), v1, 0, false},  // not offered
      {true, 0, v1 | Bit(VirtioFeature::kRingPacked), 0, true},
      {true, 0, v1 | Bit(VirtioFeature::kInOrder), 0, false},
      {true, 0, v1, 1, false},
      {false, ctrl, v1 | kRoceRfc, 0, true},  // rfc-v2 needs no ring_reset
      {false, 0, v1 | kRoceRfc, 0, false},
      {false, ctrl, v1 | reset | kRoceVireo, 0, false},
  };
  for (const auto& c : cases) {
    Bench bench;
    bench.inputs.profile = c.vireo ? spec::Profile::kVireo : spec::Profile::kRfcV2;
    bench.Start();
    bench.WriteStatus(DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
    bench.WriteFeatures(0, c.net);
    bench.WriteFeatures(1, c.virtio);
    bench.WriteFeatures(3, c.high);
    EXPECT_EQ(bench.Read(Common::kDriverFeatureOffset, 4), c.high);
    bench.WriteStatus(DeviceStatus::kFeaturesOk);
    EXPECT_EQ((bench.Status() & DeviceStatus::kFeaturesOk) != 0, c.good) << c.net << " " << c.virtio;
    EXPECT_EQ(bench.features_written.all.size(), c.good ? 1u : 0u);
    // Without features there is no driver_ok, with them they are fixed.
    bench.WriteStatus(DeviceStatus::kDriverOk);
    EXPECT_EQ((bench.Status() & DeviceStatus::kDriverOk) != 0, c.good);
    EXPECT_EQ(bench.driver_ok.all.size(), c.good ? 1u : 0u);
    bench.WriteFeatures(0, 0x55);
    EXPECT_EQ(bench.Read(Common::kDriverFeatureOffset, 4), c.good ? c.net : 0x55);
    EXPECT_EQ(bench.p.driver_features_o[1], c.virtio);
  }
}

TEST(CommonCfg, StatusBitsAreOnlyAddedAndFeaturesNeedDriver) {
  Bench bench;
  bench.Start();
  bench.WriteFeatures(1, kVirtioWindow);  // before acknowledge: ignored
  EXPECT_EQ(bench.Read(Common::kDriverFeatureOffset, 4), 0u);
  bench.WriteStatus(DeviceStatus::kAcknowledge);
  bench.WriteFeatures(1, kVirtioWindow);
  bench.WriteStatus(DeviceStatus::kFeaturesOk);
  EXPECT_EQ(bench.Status(), DeviceStatus::kAcknowledge);
  bench.WriteStatus(0x70);  // reserved bits and the device's own
  EXPECT_EQ(bench.Status(), DeviceStatus::kAcknowledge);
  bench.WriteStatus(DeviceStatus::kDriver | DeviceStatus::kFeaturesOk | DeviceStatus::kDriverOk);
  EXPECT_EQ(bench.Status(), 0x0f);
  bench.WriteStatus(DeviceStatus::kFailed);
  EXPECT_EQ(bench.Status(), 0x8f);
  EXPECT_EQ(bench.p.device_status_o, 0x8f);
}

TEST(CommonCfg, EnablingAQueueBroadcastsItsRow) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Enable(7);
  const Cycle at = bench.bench.cycle() - 1;  // of the write of queue_enable
  const size_t rows = bench.row.all.size();
  ASSERT_EQ(bench.bench.Run(CommonCfg::kRowLatency - 1), "");
  EXPECT_EQ(bench.row.all.size(), rows);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.row.all.size(), rows + 1);
  EXPECT_EQ(bench.row.all.back().first, at + CommonCfg::kRowLatency);
  const auto address = [](uint64_t low, uint64_t high) {
    constexpr uint64_t kStep = 8 * 0x1000'0001ull;
    return (kStep * low & 0xffff'ffff) | kStep * high << 32;
  };
  EXPECT_EQ(bench.row.all.back().second, (QueueRowWrite{.vq_index = 7,
                                                        .enabled = true,
                                                        .queue_size = 32,
                                                        .msix_vector = 7,
                                                        .queue_desc = address(1, 2),
                                                        .queue_driver = address(3, 4),
                                                        .queue_device = address(5, 6)}));
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
  EXPECT_EQ(bench.Read(Common::kQueueDescOffset, 8), address(1, 2));
  EXPECT_EQ(bench.Read(Common::kQueueDeviceOffset + 4, 4), address(5, 6) >> 32);
  bench.Select(6);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 0u);
}

TEST(CommonCfg, EnabledQueueKeepsItsRow) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Enable(3);
  ASSERT_EQ(bench.bench.Run(10), "");
  const size_t rows = bench.row.all.size();
  bench.Write(Common::kQueueSizeOffset, 2, 16);
  bench.Write(Common::kQueueMsixVectorOffset, 2, 5);
  for (size_t i = 0; i < 6; ++i) bench.Write(Common::kQueueDescOffset + 4 * i, 4, 0);
  bench.Write(Common::kQueueEnableOffset, 2, 0);
  bench.Write(Common::kQueueEnableOffset, 2, 1);
  EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), 32u);
  EXPECT_EQ(bench.Read(Common::kQueueMsixVectorOffset, 2), 3u);
  EXPECT_NE(bench.Read(Common::kQueueDescOffset, 8), 0u);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
  EXPECT_EQ(bench.row.all.size(), rows);
}

TEST(CommonCfg, PackedRingHasAnySizeUpToTheMaximum) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Select(4);
  for (const uint32_t size : {1u, 3u, 33u, kMaxEntries - 1u, uint32_t{kMaxEntries}}) {
    bench.Write(Common::kQueueSizeOffset, 2, size);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), size);
  }
  for (const uint32_t size : {0u, kMaxEntries + 1u, 0xffffu}) {
    bench.Write(Common::kQueueSizeOffset, 2, size);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), kMaxEntries);
  }
}

// Net queues have a smaller maximum; which queues they are depends on net_feature.mq. [virtio 1.3, 5.1.2]
TEST(CommonCfg, NetQueuesHaveTheirOwnMaximum) {
  for (const bool mq : {false, true}) {
    Bench bench;
    bench.Start();
    bench.WriteStatus(DeviceStatus::kAcknowledge);
    bench.WriteStatus(DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
    bench.WriteFeatures(0, mq ? kNetWindow : kNetWindow & ~Bit(NetFeature::kMq));
    bench.WriteFeatures(1, kVirtioWindow | kRoceVireo);
    bench.WriteStatus(DeviceStatus::kFeaturesOk);
    bench.WriteStatus(DeviceStatus::kDriverOk);
    ASSERT_EQ(bench.Status(), 0x0f);
    for (uint32_t queue = 0; queue < kQueues; ++queue) {
      SCOPED_TRACE(queue);
      const uint32_t most = DefaultEntries(queue, mq ? 2 : 1);
      bench.Select(queue);
      EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), most);
      bench.Write(Common::kQueueSizeOffset, 2, 1);
      for (const uint32_t size : {most + 1, 2 * most}) {
        bench.Write(Common::kQueueSizeOffset, 2, size);
        EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), 1u);
      }
      for (const uint32_t size : {most - 1, most}) {
        bench.Write(Common::kQueueSizeOffset, 2, size);
        EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), size);
      }
      // A driver that keeps the default enables the queue with what it read. After a queue reset it is the default
      // again.
      bench.Write(Common::kQueueResetOffset, 2, 1);
      ASSERT_EQ(bench.bench.Run(10), "");
      bench.say_queue_reset_done = static_cast<uint16_t>(queue);
      ASSERT_EQ(bench.bench.Run(5), "");
      EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), most);
      bench.Write(Common::kQueueEnableOffset, 2, 1);
      ASSERT_EQ(bench.bench.Run(5), "");
      EXPECT_TRUE(bench.row.all.back().second.enabled);
      EXPECT_EQ(bench.row.all.back().second.queue_size, most);
    }
  }
}

TEST(CommonCfg, BadValuesAreRefused) {
  Bench bench;
  bench.Start();
  bench.Negotiate(kVirtioWindow & ~Bit(VirtioFeature::kRingPacked));
  bench.Select(2);
  bench.Write(Common::kQueueSizeOffset, 2, 8);
  for (const unsigned size : {0u, 3u, 63u, 128u, 0x8000u}) {
    bench.Write(Common::kQueueSizeOffset, 2, size);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), 8u);
  }
  for (const size_t field : {Common::kQueueMsixVectorOffset, Common::kConfigMsixVectorOffset}) {
    bench.Write(field, 2, kVectors - 1);
    EXPECT_EQ(bench.Read(field, 2), kVectors - 1);
    bench.Write(field, 2, kVectors);
    EXPECT_EQ(bench.Read(field, 2), spec::kVirtioMsiNoVector);
  }
  const size_t rows = bench.row.all.size();
  for (const unsigned value : {0u, 2u, 0x101u}) {
    bench.Write(Common::kQueueEnableOffset, 2, value);
    bench.Write(Common::kQueueResetOffset, 2, value);
  }
  for (const unsigned queue : {kQueues, kQueues + 1, 0xffffu}) {
    bench.Select(queue);
    bench.Write(Common::kQueueSizeOffset, 2, 8);
    bench.Write(Common::kQueueEnableOffset, 2, 1);
    bench.Write(Common::kQueueResetOffset, 2, 1);
    EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 0u);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 2), 0u);
  }
  EXPECT_EQ(bench.row.all.size(), rows);
  EXPECT_EQ(bench.queue_reset.count, 0u);
}

TEST(CommonCfg, FieldIsWrittenAtItsOwnWidthAndReadAtAny) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Enable(2);
  bench.Select(1);
  const uint64_t before = bench.Read(Common::kQueueSizeOffset, 8);
  bench.Write(Common::kQueueSizeOffset, 1, 8);
  bench.Write(Common::kQueueSizeOffset, 4, 8);
  bench.Write(Common::kQueueSizeOffset, 8, 0x1'0008);
  bench.Write(Common::kQueueSizeOffset + 1, 2, 8);
  bench.Write(Common::kQueueEnableOffset, 1, 1);
  bench.Write(Common::kQueueEnableOffset, 4, 1);
  bench.Write(Common::kQueueDescOffset, 8, ~uint64_t{0});
  bench.Write(Common::kQueueDescOffset, 2, 0xffff);
  bench.Write(Common::kDeviceStatusOffset, 2, 0);
  bench.Write(Common::kDeviceStatusOffset, 4, 0);
  bench.Write(Common::kQueueSelectOffset, 1, 5);
  bench.Write(Common::kQueueSelectOffset, 4, 5);
  EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 8), before);
  EXPECT_EQ(bench.Read(Common::kQueueDescOffset, 8), 0u);
  EXPECT_EQ(bench.Read(Common::kQueueSelectOffset, 2), 1u);
  EXPECT_EQ(bench.Status(), 0x0f);

  bench.Select(2);
  const uint64_t word = bench.Read(Common::kQueueSizeOffset, 8);
  EXPECT_EQ(word, uint64_t{2} << 48 | uint64_t{1} << 32 | uint64_t{2} << 16 | 32);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(bench.Read(Common::kQueueSizeOffset + i, 1), word >> 8 * i & 0xff);
  EXPECT_EQ(bench.Read(Common::kQueueSizeOffset + 4, 4), word >> 32);
  EXPECT_EQ(bench.Read(Common::kQueueSizeOffset + 1, 2), 0u);  // not aligned
}

TEST(CommonCfg, UnmappedAddressesReadZero) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  for (const uint32_t offset : {64u, 0x48u, 0xff8u, 0x1008u, 0x1ff8u, 0x2ff8u, 0x3000u, 0x80'0000u, 0x100'0000u,
                                0x1ff'fff8u, 0x200'0000u, 0xffff'fff8u}) {
    bench.WriteAt(offset, 4, ~uint64_t{0});
    EXPECT_EQ(bench.ReadAt(offset, 8), 0u) << offset;
  }
  for (uint8_t index = 1; index < 8; ++index) {
    BarAccess access = Bench::Access(false, Common::kNumQueuesOffset, 2);
    access.bar_index = index;
    bench.bar.tokens.push_back(access);
    access = Bench::Access(true, Common::kDeviceStatusOffset, 1, 0);
    access.bar_index = index;
    bench.bar.tokens.push_back(access);
    ASSERT_EQ(bench.bench.RunOut(spec::kBarReadLatency), "");
    EXPECT_EQ(bench.read.all.back().second, 0u);
  }
  EXPECT_EQ(bench.Status(), 0x0f);
}

TEST(CommonCfg, DeviceResetClearsAllStateUntilFirmwareIsDone) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Write(Common::kConfigMsixVectorOffset, 2, 3);
  for (const uint32_t queue : {0u, 5u, kQueues - 1}) bench.Enable(queue);
  ASSERT_EQ(bench.bench.Run(10), "");
  const size_t rows = bench.row.all.size();
  const Cycle at = bench.bench.cycle();
  bench.WriteStatus(0);
  EXPECT_EQ(bench.Status(), DeviceStatus::kDeviceNeedsReset);
  ASSERT_EQ(bench.device_reset.all.size(), 1u);
  EXPECT_EQ(bench.device_reset.all[0].first, at + CommonCfg::kPulseLatency);
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.p.idle_o, 1);  // firmware waits for this before it reports completion
  EXPECT_EQ(bench.p.device_status_o, 0);
  ASSERT_EQ(bench.row.all.size(), rows + kQueues);
  for (uint16_t i = 0; i < kQueues; ++i) EXPECT_EQ(bench.row.all[rows + i].second, (QueueRowWrite{.vq_index = i}));
  // A driver that does not wait has no effect.
  bench.WriteStatus(3);
  bench.WriteStatus(0);
  bench.Select(5);
  bench.Write(Common::kQueueEnableOffset, 2, 1);
  EXPECT_EQ(bench.Status(), DeviceStatus::kDeviceNeedsReset);
  EXPECT_EQ(bench.device_reset.all.size(), 1u);
  bench.say_reset_done = true;
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.Status(), 0);
  EXPECT_EQ(bench.p.resetting_o, 0);
  EXPECT_EQ(bench.Read(Common::kQueueSelectOffset, 2), 0u);
  EXPECT_EQ(bench.Read(Common::kConfigMsixVectorOffset, 2), spec::kVirtioMsiNoVector);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(bench.p.driver_features_o[i], 0u);
  for (uint32_t queue = 0; queue < kQueues; ++queue) {
    bench.Select(queue);
    EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 8),
              uint64_t{queue} << 48 | 0xffffu << 16 | DefaultEntries(queue, 1));
    EXPECT_EQ(bench.Read(Common::kQueueDescOffset, 8), 0u);
  }
  EXPECT_EQ(bench.row.all.size(), rows + kQueues);
  bench.Negotiate();
  bench.Enable(5);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
}

TEST(CommonCfg, EarlyResetDoneWaitsForTheRows) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.WriteStatus(0);
  ASSERT_EQ(bench.bench.Run(3), "");
  bench.say_reset_done = true;
  // The walk starts 3 cycles after the write, a queue in every second cycle; resetting falls in the second cycle behind
  // its last.
  ASSERT_EQ(bench.bench.Run(kWalk - 1), "");
  EXPECT_EQ(bench.p.resetting_o, 1);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.p.resetting_o, 0);
}

TEST(CommonCfg, ResetLastsUntilTheMsixTableIsReady) {
  Bench bench;
  constexpr Cycle kReady = 200;
  bench.p.msix_ready_i = 0;
  bench.block.SetMsixReady(kReady);
  ASSERT_EQ(bench.bench.Run(kReady), "");
  EXPECT_EQ(bench.p.resetting_o, 1);
  bench.p.msix_ready_i = 1;
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.p.resetting_o, 0);
  EXPECT_EQ(bench.Status(), 0);
}

// What the device offers is firmware's choice, so no driver negotiates before.
TEST(CommonCfg, HardwareResetLastsUntilFirmwareIsReady) {
  for (const Cycle ready : {Cycle{kWalk - 2}, Cycle{kWalk - 1}, Cycle{kWalk}, Cycle{200}}) {
    Bench bench(false);
    bench.inputs.profile = spec::Profile::kRfcV2;
    ASSERT_EQ(bench.bench.Run(ready), "");
    EXPECT_EQ(bench.p.resetting_o, 1);
    bench.p.firmware_ready_i = 1;
    bench.block.OnFirmwareReady(ready);
    ASSERT_EQ(bench.bench.Run(std::max<Cycle>(kWalk, ready + 1) - ready), "");
    EXPECT_EQ(bench.p.resetting_o, 1) << ready;
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.p.resetting_o, 0) << ready;
    // That it fails later is reported otherwise, and a reset of the device ends when firmware says so.
    bench.p.firmware_ready_i = 0;
    EXPECT_EQ(bench.Status(), 0);
  }
  Bench bench(false);
  ASSERT_EQ(bench.bench.Run(300), "");
  for (const unsigned status : {1U, 3U, 0U, 3U}) bench.WriteStatus(status);
  bench.WriteFeatures(1, kVirtioWindow | kRoceVireo);
  bench.WriteStatus(DeviceStatus::kFeaturesOk);
  EXPECT_EQ(bench.Status(), DeviceStatus::kDeviceNeedsReset);
  EXPECT_EQ(bench.p.device_status_o, 0);
  EXPECT_TRUE(bench.features_written.all.empty());
  EXPECT_TRUE(bench.device_reset.all.empty());
  bench.inputs.profile = spec::Profile::kRfcV2;
  bench.p.firmware_ready_i = 1;
  bench.block.OnFirmwareReady(bench.bench.cycle());
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.Status(), 0);
  // Nothing of what it had written before is left.
  bench.WriteStatus(DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
  EXPECT_EQ(bench.Status(), DeviceStatus::kAcknowledge | DeviceStatus::kDriver);
  bench.Write(Common::kDriverFeatureSelectOffset, 4, 1);
  EXPECT_EQ(bench.Read(Common::kDriverFeatureOffset, 4), 0u);
}

TEST(CommonCfg, ResetOfAnUntouchedDeviceIsIgnored) {
  Bench bench;
  bench.Start();
  bench.Select(3);
  bench.Write(Common::kQueueEnableOffset, 2, 1);  // ignored
  bench.WriteStatus(0);
  EXPECT_EQ(bench.Status(), 0);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 0u);
  EXPECT_TRUE(bench.device_reset.all.empty());
}

TEST(CommonCfg, QueueResetLastsUntilFirmwareIsDone) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Enable(6);
  bench.Enable(9);
  ASSERT_EQ(bench.bench.Run(10), "");
  const size_t rows = bench.row.all.size();
  const Cycle at = bench.bench.cycle();
  bench.Write(Common::kQueueResetOffset, 2, 1);
  ASSERT_EQ(bench.bench.Run(CommonCfg::kQueueResetLatency - 1), "");
  EXPECT_EQ(bench.queue_reset.count, 0u);
  ASSERT_EQ(bench.row.all.size(), rows + 1);
  EXPECT_EQ(bench.row.all.back(), (std::pair<Cycle, QueueRowWrite>{at + CommonCfg::kRowLatency, {.vq_index = 9}}));
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.queue_reset.count, 1u);
  EXPECT_EQ(bench.queue_reset_sink.sent()[0].token.vq_index, 9);
  EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 1u);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 0u);
  // It cannot be set up or reset again, and the end of another queue's reset does not affect it.
  bench.Write(Common::kQueueSizeOffset, 2, 8);
  bench.Write(Common::kQueueEnableOffset, 2, 1);
  bench.Write(Common::kQueueResetOffset, 2, 1);
  for (const unsigned other : {6u, 8u, 10u, 0xffffu}) {
    bench.say_queue_reset_done = static_cast<uint16_t>(other);
    ASSERT_EQ(bench.bench.Run(5), "");
  }
  EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 1u);
  EXPECT_EQ(bench.queue_reset.count, 1u);
  bench.say_queue_reset_done = 9;
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 0u);
  EXPECT_EQ(bench.Read(Common::kQueueSizeOffset, 8), uint64_t{9} << 48 | 0xffffu << 16 | kMaxEntries);
  EXPECT_EQ(bench.Read(Common::kQueueDescOffset, 8), 0u);
  bench.Select(6);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
  EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 0u);
  bench.Enable(9);
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
  bench.Write(Common::kQueueResetOffset, 2, 1);  // and again
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(bench.queue_reset.count, 2u);
}

TEST(CommonCfg, QueueResetNeedsTheFeature) {
  Bench bench;
  bench.Start();
  bench.WriteStatus(3);
  bench.WriteFeatures(1, Bit(VirtioFeature::kVersion1));
  bench.WriteStatus(15);
  bench.Enable(0);
  bench.Write(Common::kQueueResetOffset, 2, 1);
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.Read(Common::kQueueEnableOffset, 2), 1u);
  EXPECT_EQ(bench.queue_reset.count, 0u);
}

TEST(CommonCfg, DeviceResetDropsQueueResets) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.queue_reset.rate = 0;
  for (uint32_t queue = 0; queue < 6; ++queue) {
    bench.Enable(queue);
    bench.Write(Common::kQueueResetOffset, 2, 1);
  }
  ASSERT_EQ(bench.bench.Run(10), "");
  bench.WriteStatus(0);
  bench.say_reset_done = true;
  ASSERT_EQ(bench.bench.Run(4), "");
  bench.say_reset_done = true;
  ASSERT_EQ(bench.bench.Run(60), "");
  EXPECT_EQ(bench.Status(), 0);
  bench.queue_reset.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.queue_reset.count, 1u);  // what was offered stays offered
  for (uint32_t queue = 0; queue < 6; ++queue) {
    bench.Select(queue);
    EXPECT_EQ(bench.Read(Common::kQueueResetOffset, 2), 0u);
  }
}

TEST(CommonCfg, ConfigurationChangeIsReportedWithDriverOk) {
  Bench bench;
  bench.Start();
  const auto generation = [&] { return bench.Read(Common::kConfigGenerationOffset, 1); };
  const auto isr = [&] { return bench.ReadAt(spec::kBarVirtioIsrCfg, 1); };
  uint64_t before = generation();
  bench.inputs.link_up = false;
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(generation(), before + 1);
  EXPECT_EQ(isr(), 0u);
  bench.Negotiate();
  bench.Write(Common::kConfigMsixVectorOffset, 2, 5);
  EXPECT_EQ(bench.interrupt.count, 0u);
  bench.inputs.link_up = true;
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(generation(), before + 2);
  ASSERT_EQ(bench.interrupt.count, 1u);
  EXPECT_EQ(bench.interrupt_sink.sent()[0].token.msix_vector, 5);
  EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg + 6, 2), spec::NetStatus::kLinkUp);
  EXPECT_EQ(isr(), spec::VirtioIsr::kDeviceConfig);
  EXPECT_EQ(isr(), 0u);  // reading cleared it
  bench.inputs.mac[0] = 0x06;
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(generation(), before + 3);
  EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg, 1), 0x06u);
  EXPECT_EQ(bench.interrupt.count, 2u);
  bench.Write(Common::kConfigMsixVectorOffset, 2, spec::kVirtioMsiNoVector);
  bench.inputs.announce = true;
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(bench.interrupt.count, 2u);
  EXPECT_EQ(isr(), spec::VirtioIsr::kDeviceConfig);
  EXPECT_EQ(bench.ReadAt(spec::kBarVirtioDeviceCfg + 6, 2), spec::NetStatus::kLinkUp | spec::NetStatus::kAnnounce);
}

// The host reads the new configuration together with the new generation, in any cycle of a change.
TEST(CommonCfg, GenerationAndConfigurationChangeTogether) {
  size_t olds = 0, news = 0;
  for (unsigned delay = 0; delay < 12; ++delay) {
    Bench bench;
    bench.Start();
    const uint64_t before = bench.Read(Common::kConfigGenerationOffset, 1);
    const size_t reads = bench.read.all.size();
    for (int i = 0; i < 4; ++i) {
      bench.bar.tokens.push_back(Bench::Access(false, Common::kConfigGenerationOffset, 1));
      bench.bar.tokens.push_back(Bench::Access(false, spec::kBarVirtioDeviceCfg + 6, 2));
    }
    ASSERT_EQ(bench.bench.Run(delay), "");
    bench.inputs.link_up = false;
    ASSERT_EQ(bench.bench.RunOut(20), "");
    for (size_t i = reads; i + 2 < bench.read.all.size(); i += 2) {
      const uint64_t first = bench.read.all[i].second, status = bench.read.all[i + 1].second;
      if (first == bench.read.all[i + 2].second) {
        EXPECT_EQ(status, first == before ? 1u : 0u) << delay;
        ++(first == before ? olds : news);
      }
    }
  }
  EXPECT_GT(olds, 0u);
  EXPECT_GT(news, 0u);
}

TEST(CommonCfg, NeedsResetIsVisibleAndReported) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Write(Common::kConfigMsixVectorOffset, 2, 1);
  const uint64_t generation = bench.Read(Common::kConfigGenerationOffset, 1);
  bench.inputs.needs_reset = true;
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(bench.Status(), 0x4f);
  EXPECT_EQ(bench.p.device_status_o, 0x0f);
  EXPECT_EQ(bench.interrupt.count, 1u);
  EXPECT_EQ(bench.ReadAt(spec::kBarVirtioIsrCfg, 1), spec::VirtioIsr::kDeviceConfig);
  EXPECT_EQ(bench.Read(Common::kConfigGenerationOffset, 1), generation);
  bench.WriteStatus(0);
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(bench.device_reset.all.size(), 1u);
  bench.inputs.needs_reset = false;
  bench.say_reset_done = true;
  ASSERT_EQ(bench.bench.Run(40), "");
  EXPECT_EQ(bench.Status(), 0);
  // Without a driver, too, a reset recovers the device.
  bench.inputs.needs_reset = true;
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(bench.Status(), 0x40);
  bench.WriteStatus(0);
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(bench.device_reset.all.size(), 2u);
  EXPECT_EQ(bench.interrupt.count, 1u);
}

TEST(CommonCfg, ResetWaitsForAPendingMessage) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  bench.Write(Common::kConfigMsixVectorOffset, 2, 1);
  bench.interrupt.rate = 0;
  bench.inputs.link_up = false;
  ASSERT_EQ(bench.bench.Run(10), "");
  bench.WriteStatus(0);
  ASSERT_EQ(bench.bench.Run(4), "");
  bench.say_reset_done = true;
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.Status(), DeviceStatus::kDeviceNeedsReset);
  bench.interrupt.rate = 16;
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(bench.interrupt.count, 1u);
  EXPECT_EQ(bench.Status(), 0);
}

TEST(CommonCfg, HardwareResetClearsAllState) {
  Bench bench;
  bench.Start();
  bench.Negotiate();
  for (uint32_t queue = 0; queue < kQueues; ++queue) bench.Enable(queue);
  for (uint32_t queue = 0; queue < 4; ++queue) {
    bench.Select(queue);
    bench.Write(Common::kQueueResetOffset, 2, 1);
  }
  auto& p = bench.p;
  p.bar_valid_i = p.queue_reset_done_valid_i = p.reset_done_i = 0;
  bench.rtl.Reset();
  unsigned rows = 0;
  for (uint32_t i = 0; i < kWalk + 2; ++i) {
    rows += p.queue_row_write_valid_o;
    EXPECT_EQ(p.queue_reset_valid_o, 0);
    if (p.queue_row_write_valid_o) {
      EXPECT_FALSE(TokenFrom<QueueRowWrite>(BytesOf(std::as_const(p.queue_row_write_o))).enabled);
    }
    bench.rtl.Clock();
  }
  EXPECT_EQ(rows, kQueues);
  EXPECT_EQ(p.resetting_o, 0);
  const auto access = [&](const BarAccess& what) {
    SetPort(p.bar_i, what);
    p.bar_valid_i = 1;
    bench.rtl.Clock();
    p.bar_valid_i = 0;
    for (unsigned i = 1; i < spec::kBarReadLatency; ++i) bench.rtl.Clock();
    return uint64_t{p.bar_read_data_o};
  };
  p.other_read_data_i = 0;
  for (uint32_t queue = 0; queue < kQueues; ++queue) {
    access(Bench::Access(true, Common::kQueueSelectOffset, 2, queue));
    EXPECT_EQ(access(Bench::Access(false, Common::kQueueSizeOffset, 8)),
              uint64_t{queue} << 48 | 0xffffu << 16 | DefaultEntries(queue, 1));
    EXPECT_EQ(access(Bench::Access(false, Common::kQueueResetOffset, 2)), 0u);
  }
}

// --- Against the driver
// ------------------------------------------------------------------------------------------------

// The block as a PCI function, with a configuration space as in pci.toml and a firmware that answers.
class Function final : public host::PciFunction {
 public:
  explicit Function(Bench& bench) : bench_(bench), space_(spec::kPciConfigBytes) {
    spec::PciHeader header;
    header.vendor_id = spec::kPciVendorId;
    header.device_id = spec::kPciDeviceId;
    header.status = spec::PciStatus::kCapabilitiesList;
    header.capabilities_pointer = spec::kPciCapAtCommonCfg;
    header.Encode(space_.data());
    using Type = spec::VirtioPciCfgType;
    const auto cap = [](Type type, uint8_t next, uint32_t offset, uint32_t length) {
      spec::VirtioPciCap result;
      result.cap_vndr = spec::PciCapabilityId::kVendorSpecific;
      result.cap_next = next;
      result.cap_len = type == Type::kNotifyCfg ? spec::VirtioPciNotifyCap::kBytes : spec::VirtioPciCap::kBytes;
      result.cfg_type = type;
      result.bar = spec::kBarVirtio;
      result.offset = offset;
      result.length = length;
      return result;
    };
    cap(Type::kCommonCfg, spec::kPciCapAtNotifyCfg, spec::kBarVirtioCommonCfg, spec::kBarVirtioCfgBytes)
        .Encode(&space_[spec::kPciCapAtCommonCfg]);
    spec::VirtioPciNotifyCap notify;
    notify.cap = cap(Type::kNotifyCfg, spec::kPciCapAtIsrCfg, spec::kBarVirtioNotify, spec::kBarVirtioNotifyBytes);
    notify.notify_off_multiplier = spec::kNotifyOffMultiplier;
    notify.Encode(&space_[spec::kPciCapAtNotifyCfg]);
    cap(Type::kIsrCfg, spec::kPciCapAtDeviceCfg, spec::kBarVirtioIsrCfg, spec::kBarVirtioCfgBytes)
        .Encode(&space_[spec::kPciCapAtIsrCfg]);
    cap(Type::kDeviceCfg, 0, spec::kBarVirtioDeviceCfg, spec::kBarVirtioCfgBytes)
        .Encode(&space_[spec::kPciCapAtDeviceCfg]);
  }

  host::Status health() const override { return {}; }
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override {
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= uint32_t{space_[offset + i]} << (8 * i);
    return value;
  }
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override {
    for (unsigned i = 0; i < bytes; ++i) space_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
  }
  uint64_t BarBytes(unsigned bar) const override { return bar == spec::kBarVirtio ? spec::kBarVirtioBytes : 0; }
  uint64_t ReadBar(unsigned, uint64_t offset, unsigned bytes) override {
    return bench_.ReadAt(static_cast<uint32_t>(offset), bytes);
  }
  void WriteBar(unsigned, uint64_t offset, unsigned bytes, uint64_t value) override {
    bench_.WriteAt(static_cast<uint32_t>(offset), bytes, value);
  }
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t) override {
    next_address_ += 0x10000;
    return host::DmaBuffer(std::make_unique<Memory>(bytes, next_address_));
  }
  host::Result<host::DmaBuffer> MapDma(uint8_t*, size_t) override {
    return host::Error{host::ErrorCode::kUnsupported, "not here"};
  }
  unsigned MsixVectors() const override { return kVectors; }
  host::Status EnableMsix(unsigned) override { return {}; }
  bool TakeInterrupt(unsigned) override { return false; }
  uint64_t NowNs() override { return 4 * bench_.bench.cycle(); }
  void Wait(uint64_t) override {
    ++waits;
    if (bench_.device_reset.all.size() > resets_) {
      ++resets_;
      bench_.say_reset_done = true;
    }
    if (bench_.queue_reset_sink.sent().size() > queue_resets_) {
      bench_.say_queue_reset_done = bench_.queue_reset_sink.sent()[queue_resets_++].token.vq_index;
    }
    ASSERT_EQ(bench_.bench.Run(50), "");
  }
  unsigned waits = 0;

 private:
  class Memory final : public host::DmaMemory {
   public:
    Memory(size_t bytes, uint64_t address) : Memory(std::make_unique<uint8_t[]>(bytes), bytes, address) {}

   private:
    Memory(std::unique_ptr<uint8_t[]> bytes, size_t size, uint64_t address)
        : DmaMemory(bytes.get(), address, size), bytes_(std::move(bytes)) {}
    std::unique_ptr<uint8_t[]> bytes_;
  };

  Bench& bench_;
  std::vector<uint8_t> space_;
  uint64_t next_address_ = 0x5'0000'0000;
  size_t resets_ = 0, queue_resets_ = 0;
};

TEST(CommonCfg, DriverSetsUpAndResetsDeviceAndQueues) {
  Bench bench;  // the driver may come at any time
  Function function(bench);
  auto opened = host::VirtioPci::Open(function);
  ASSERT_TRUE(opened.ok());
  host::VirtioPci& pci = *opened;
  constexpr uint64_t kTimeout = 1'000'000;
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(pci.Reset(kTimeout).ok());
    pci.Acknowledge();
    const host::FeatureSet offered = pci.OfferedFeatures();
    EXPECT_EQ(offered.Window(0), kNetWindow);
    EXPECT_EQ(offered.Window(1), kVirtioWindow | kCoalescing | kRoceVireo);
    ASSERT_TRUE(pci.AcceptFeatures(offered, spec::Profile::kVireo).ok());
    ASSERT_TRUE(pci.SetConfigVector(0).ok());
    EXPECT_FALSE(pci.SetConfigVector(uint16_t{kVectors}).ok());
    EXPECT_EQ(pci.NumQueues(), kQueues);
    std::vector<std::unique_ptr<host::Virtqueue>> rings;
    const size_t rows = bench.row.all.size();
    for (uint16_t queue = 0; queue < kQueues; ++queue) {
      EXPECT_EQ(*pci.MaxQueueSize(queue), DefaultEntries(queue, 2));
      auto ring = host::SplitRing::Create(function, 16, {});
      ASSERT_TRUE(ring.ok());
      rings.push_back(std::move(*ring));
      const auto vector = static_cast<uint16_t>(queue % kVectors);
      ASSERT_TRUE(pci.EnableQueue(queue, *rings.back(), vector).ok());
      const host::RingAddresses addresses = rings.back()->addresses();
      ASSERT_EQ(bench.row.all.size(), rows + queue + 1);
      EXPECT_EQ(bench.row.all.back().second, (QueueRowWrite{.vq_index = queue,
                                                            .enabled = true,
                                                            .queue_size = 16,
                                                            .msix_vector = vector,
                                                            .queue_desc = addresses.descriptors,
                                                            .queue_driver = addresses.driver,
                                                            .queue_device = addresses.device}));
    }
    pci.DriverOk();
    EXPECT_EQ(pci.ReadStatus(), 0x0f);
    for (const uint16_t queue : {uint16_t{0}, uint16_t{4}, uint16_t{17}}) {
      ASSERT_TRUE(pci.ResetQueue(queue, kTimeout).ok());
      EXPECT_EQ(bench.row.all.back().second, (QueueRowWrite{.vq_index = queue}));
      ASSERT_TRUE(pci.EnableQueue(queue, *rings[queue], std::nullopt).ok());
      EXPECT_EQ(bench.row.all.back().second.msix_vector, spec::kVirtioMsiNoVector);
    }
    EXPECT_TRUE(pci.DoorbellOf(17).ok());
    EXPECT_FALSE(pci.MaxQueueSize(uint16_t{kQueues}).ok());
  }
  EXPECT_EQ(bench.device_reset.all.size(), 1u);
  EXPECT_GT(function.waits, 2u);
}

}  // namespace
}  // namespace vireo::verif
