// SPDX-License-Identifier: Apache-2.0
// vireo_notify against its model, and against the definition of doorbells.
#include "model/virtio/notify.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "Vnotify.h"
#include "sim/common/seed.h"
#include "verif/common/level_bench.h"
#include "verif/virtio/virtio_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Notify;
using spec::BarAccess;
using spec::CqArm;
using spec::Doorbell;
using spec::QueueRowWrite;

constexpr spec::Config TestConfig() {
  spec::Config config = spec::kNic1;
  config.net_queue_pairs = 2;
  config.num_cqs = 4;
  config.num_qps = 4;
  config.push_requests = 1;
  return config;
}
constexpr unsigned kQueues = 2 * 2 + 1 + 4 + 2 * 4 + 1;
constexpr unsigned kAfterReset = 20;  // longer than any of the sets takes to clear

struct Bench {
  Bench() {
    block.ConnectSend(send_sink);
    block.ConnectReceive(receive_sink);
    block.ConnectControl(control_sink);
    block.ConnectNet(net_sink);
    block.ConnectCqArm(arm_sink);
    bench.AddOther(levels);
    bench.AddOther(pushes);
    block.on_push_write = [this](Cycle cycle, const spec::PushWrite& write) { pushes.Tell(cycle, write); };
  }

  // Everything on, all queues enabled.
  void Start(bool with_mq = true) {
    ASSERT_EQ(bench.Run(kAfterReset), "");
    mq = with_mq;
    resetting = false;
    enable = true;
    vireo = true;
    for (uint16_t i = 0; i < kQueues; ++i) row.tokens.push_back({.vq_index = i, .enabled = true});
    ASSERT_EQ(bench.RunOut(10), "");
  }
  static BarAccess Write(uint32_t queue, uint32_t place, unsigned bytes, uint64_t data) {
    return {.write = true,
            .bar_index = spec::kBarVirtio,
            .offset = spec::kBarVirtioNotify + queue * spec::kNotifyOffMultiplier + place,
            .bytes = static_cast<uint8_t>(bytes),
            .data = data};
  }
  void Ring(uint32_t queue) { bar.tokens.push_back(Write(queue, spec::kNotifyPageQueue, 2, random())); }
  void Arm(uint32_t queue, bool next, bool solicited, uint16_t seen = 0) {
    const spec::RdmaCqArm arm{.seen_used_idx = seen, .solicited = solicited, .next_completion = next};
    bar.tokens.push_back(Write(queue, spec::kRdmaCqArmOffset, 4, arm.ToWord()));
  }
  void RingAgain(uint32_t queue) { again.tokens.push_back({.vq_index = static_cast<uint16_t>(queue)}); }
  uint64_t Count() const { return send.count + receive.count + control.count + net.count + arm.count; }

  std::mt19937_64 random = sim::MakeRandom("notify");
  Agenda agenda;
  Notify block{agenda, TestConfig()};
  Channel<Doorbell> send_sink = Channel<Doorbell>::Sink(), receive_sink = Channel<Doorbell>::Sink(),
                    control_sink = Channel<Doorbell>::Sink(), net_sink = Channel<Doorbell>::Sink();
  Channel<CqArm> arm_sink = Channel<CqArm>::Sink();
  RtlTop<Vnotify> rtl{[](const Vnotify& top, std::vector<uint8_t>& bytes) {
    for (const uint8_t bit : {top.send_doorbell_valid_o, top.receive_doorbell_valid_o, top.control_doorbell_valid_o,
                              top.net_doorbell_valid_o, top.cq_arm_valid_o, top.push_write_valid_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    AppendBytes(bytes, top.send_doorbell_o);
    AppendBytes(bytes, top.receive_doorbell_o);
    AppendBytes(bytes, top.control_doorbell_o);
    AppendBytes(bytes, top.net_doorbell_o);
    AppendBytes(bytes, top.cq_arm_o);
    AppendBytes(bytes, top.push_write_o);
  }};
  BlockBench<Vnotify> bench{rtl, agenda, random};
  Vnotify& p = rtl.ports();
  OutPulse<spec::PushWrite, decltype(p.push_write_valid_o), decltype(p.push_write_o)> pushes{
      "push_write", p.push_write_valid_o, p.push_write_o};

  bool enable = false, resetting = true, mq = false, vireo = false;
  uint64_t idle_cycles = 0;
  EveryCycle levels{[this](Cycle cycle) {
                      if ((p.idle_o != 0) != block.IsIdle(cycle)) {
                        levels.difference = "idle is not the model's in cycle " + std::to_string(cycle);
                      }
                      idle_cycles += p.idle_o;
                      p.enable_i = enable;
                      p.resetting_i = resetting;
                      p.mq_i = mq;
                      p.profile_i = vireo;
                      block.SetEnable(cycle, enable);
                      block.SetResetting(cycle, resetting);
                      block.SetMq(cycle, mq);
                      block.SetProfile(cycle, vireo ? spec::Profile::kVireo : spec::Profile::kRfcV2);
                    },
                    nullptr};
  decltype(bench.Pulse<BarAccess>(p.bar_valid_i, p.bar_i, nullptr)) bar = bench.Pulse<BarAccess>(
      p.bar_valid_i, p.bar_i, [this](Cycle cycle, const BarAccess& access) { block.OnBar(cycle, access); });
  decltype(bench.In("", block.internal_in, p.internal_valid_i, p.internal_ready_o, p.internal_i)) again =
      bench.In("again", block.internal_in, p.internal_valid_i, p.internal_ready_o, p.internal_i);
  decltype(bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, nullptr)) row =
      bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i,
                                 [this](Cycle cycle, const QueueRowWrite& t) { block.OnQueueRowWrite(cycle, t); });
  decltype(bench.Out("send", send_sink, p.send_doorbell_valid_o, p.send_doorbell_ready_i, p.send_doorbell_o)) send =
      bench.Out("send", send_sink, p.send_doorbell_valid_o, p.send_doorbell_ready_i, p.send_doorbell_o);
  decltype(bench.Out("receive", receive_sink, p.receive_doorbell_valid_o, p.receive_doorbell_ready_i,
                     p.receive_doorbell_o)) receive =
      bench.Out("receive", receive_sink, p.receive_doorbell_valid_o, p.receive_doorbell_ready_i, p.receive_doorbell_o);
  decltype(bench.Out("control", control_sink, p.control_doorbell_valid_o, p.control_doorbell_ready_i,
                     p.control_doorbell_o)) control =
      bench.Out("control", control_sink, p.control_doorbell_valid_o, p.control_doorbell_ready_i, p.control_doorbell_o);
  decltype(bench.Out("net", net_sink, p.net_doorbell_valid_o, p.net_doorbell_ready_i, p.net_doorbell_o)) net =
      bench.Out("net", net_sink, p.net_doorbell_valid_o, p.net_doorbell_ready_i, p.net_doorbell_o);
  decltype(bench.Out("cq_arm", arm_sink, p.cq_arm_valid_o, p.cq_arm_ready_i, p.cq_arm_o)) arm =
      bench.Out("cq_arm", arm_sink, p.cq_arm_valid_o, p.cq_arm_ready_i, p.cq_arm_o);
};

BarAccess RandomAccess(std::mt19937_64& random) {
  BarAccess access = Bench::Write(static_cast<uint32_t>(random() % (kQueues + 2)), random() % 2 == 0 ? 0 : 4,
                                  random() % 4 == 0 ? 2 : 4, random() & 0x3ffff);
  if (access.offset % spec::kNotifyOffMultiplier == 0 && random() % 4 != 0) access.bytes = 2;
  if (random() % 4 == 0) {
    access.bytes = 8;
    access.data = random();
    access.offset += random() % 4 == 0 ? 8 : 64 + 8 * static_cast<uint32_t>(random() % 10);
    if (random() % 8 == 0) access.offset += 4;
  }
  if (random() % 16 == 0) access.write = false;
  if (random() % 16 == 0) access.bar_index = static_cast<uint8_t>(random() % 8);
  if (random() % 16 == 0) access.offset += static_cast<uint32_t>(random() % 4096);
  if (random() % 16 == 0) access.offset -= static_cast<uint32_t>(random());
  if (random() % 16 == 0) access.bytes = static_cast<uint8_t>(random() % 16);
  return access;
}

TEST(Notify, MatchesModelInRandomTraffic) {
  for (const unsigned in_rate : {16u, 4u}) {
    for (const unsigned out_rate : {16u, 5u, 1u}) {
      Bench bench;
      ASSERT_EQ(bench.bench.Run(kAfterReset), "");
      bench.bar.rate = in_rate;
      bench.again.rate = in_rate;
      bench.row.rate = 3;
      bench.send.rate = bench.receive.rate = bench.control.rate = bench.net.rate = bench.arm.rate = out_rate;
      bench.enable = true;
      bench.resetting = false;
      for (int round = 0; round < 150; ++round) {
        for (int i = 0; i < 100; ++i) bench.bar.tokens.push_back(RandomAccess(bench.random));
        for (int i = 0; i < 10; ++i) bench.RingAgain(static_cast<uint32_t>(bench.random() % kQueues));
        for (int i = 0; i < 20; ++i) {
          bench.row.tokens.push_back(
              {.vq_index = static_cast<uint16_t>(bench.random() % (kQueues + 2)), .enabled = bench.random() % 4 != 0});
        }
        ASSERT_EQ(bench.bench.Run(100), "");
        bench.enable = bench.random() % 4 != 0;
        bench.vireo = bench.random() % 4 != 0;
        // A device reset now and then; the accepted features change with it.
        bench.resetting = round % 10 == 9;
        if (bench.resetting) bench.mq = bench.random() % 2 == 0;
      }
      bench.resetting = false;
      bench.enable = true;
      ASSERT_EQ(bench.bench.RunOut(200), "");
      EXPECT_GT(bench.send.count, 20u);
      EXPECT_GT(bench.receive.count, 20u);
      EXPECT_GT(bench.control.count, 10u);
      EXPECT_GT(bench.net.count, 20u);
      EXPECT_GT(bench.arm.count, 20u);
      EXPECT_GT(bench.pushes.sent.size(), 20u);
      EXPECT_GT(bench.idle_cycles, 50u);
    }
  }
}

// The queue numbers of RFC v2, written down independently.
TEST(Notify, EachKindOfQueueRingsItsStream) {
  for (const bool mq : {true, false}) {
    Bench bench;
    bench.Start(mq);
    const unsigned control = mq ? 4 : 2;
    for (unsigned queue = 0; queue < kQueues; ++queue) {
      const uint64_t send = bench.send.count, net = bench.net.count, ctrl = bench.control.count;
      const uint64_t receive = bench.receive.count;
      bench.Ring(queue);
      ASSERT_EQ(bench.bench.RunOut(30), "");
      const unsigned first_send = control + 1 + 4;
      const bool is_of_qp = queue >= first_send && queue < first_send + 8;
      const bool is_send = is_of_qp && (queue - first_send) % 2 == 0;
      const bool is_receive = is_of_qp && !is_send;
      EXPECT_EQ(bench.net.count - net, queue < control ? 1u : 0u) << queue;
      EXPECT_EQ(bench.control.count - ctrl, queue == control ? 1u : 0u) << queue;
      EXPECT_EQ(bench.send.count - send, is_send ? 1u : 0u) << queue;
      EXPECT_EQ(bench.receive.count - receive, is_receive ? 1u : 0u) << queue;
      if (queue < control) {
        EXPECT_EQ(bench.net_sink.sent().back().token.vq_index, queue);
      }
      if (queue == control) {
        EXPECT_EQ(bench.control_sink.sent().back().token.vq_index, queue);
      }
      if (is_send) {
        EXPECT_EQ(bench.send_sink.sent().back().token.vq_index, queue);
      }
      if (is_receive) {
        EXPECT_EQ(bench.receive_sink.sent().back().token.vq_index, queue);
      }
    }
    EXPECT_EQ(bench.arm.count, 0u);
    for (unsigned queue = 0; queue < kQueues; ++queue) {
      const uint64_t arms = bench.arm.count;
      bench.Arm(queue, true, false, static_cast<uint16_t>(queue));
      ASSERT_EQ(bench.bench.RunOut(30), "");
      const bool is_cq = queue > control && queue <= control + 4;
      ASSERT_EQ(bench.arm.count - arms, is_cq ? 1u : 0u) << queue;
      if (!is_cq) continue;
      EXPECT_EQ(bench.arm_sink.sent().back().token.cqn, queue - control - 1);
      EXPECT_EQ(bench.arm_sink.sent().back().token.value, 1u << 17 | queue);
    }
  }
}

TEST(Notify, LatenciesMatchModel) {
  Bench bench;
  bench.Start();
  Cycle at = bench.bench.cycle();
  bench.Ring(11);
  ASSERT_EQ(bench.bench.Run(Notify::kDoorbellLatency), "");
  EXPECT_EQ(bench.send.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.send.count, 1u);
  EXPECT_EQ(bench.send_sink.sent()[0].cycle, at + Notify::kDoorbellLatency);
  at = bench.bench.cycle();
  bench.Ring(12);
  ASSERT_EQ(bench.bench.Run(Notify::kDoorbellLatency), "");
  EXPECT_EQ(bench.receive.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.receive.count, 1u);
  EXPECT_EQ(bench.receive_sink.sent()[0].cycle, at + Notify::kDoorbellLatency);
  at = bench.bench.cycle();
  bench.Arm(6, false, true);
  ASSERT_EQ(bench.bench.Run(Notify::kArmLatency), "");
  EXPECT_EQ(bench.arm.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.arm.count, 1u);
  EXPECT_EQ(bench.arm_sink.sent()[0].cycle, at + Notify::kArmLatency);
}

// common_cfg broadcasts a row four cycles after the access; a doorbell right behind that access must find it.
TEST(Notify, DoorbellRightAfterTheEnablingAccessCounts) {
  for (const unsigned late : {3u, 4u}) {
    Bench bench;
    bench.Start();
    bench.row.tokens.push_back({.vq_index = 9, .enabled = false});
    ASSERT_EQ(bench.bench.RunOut(10), "");
    // The enabling access in cycle c would send the row in c + 4. The doorbell is in c + 1.
    bench.Ring(9);
    ASSERT_EQ(bench.bench.Run(late), "");
    bench.row.tokens.push_back({.vq_index = 9, .enabled = true});
    ASSERT_EQ(bench.bench.RunOut(20), "");
    EXPECT_EQ(bench.send.count, late == 3 ? 1u : 0u);
  }
}

TEST(Notify, InternalDoorbellEqualsTheDrivers) {
  Bench bench;
  bench.Start();
  for (unsigned queue = 0; queue < kQueues; ++queue) {
    const uint64_t before = bench.Count();
    bench.Ring(queue);
    ASSERT_EQ(bench.bench.RunOut(30), "");
    const uint64_t rung = bench.Count() - before;
    const Cycle at = bench.bench.cycle();
    const size_t sends = bench.send_sink.sent().size();
    bench.RingAgain(queue);
    ASSERT_EQ(bench.bench.RunOut(30), "");
    EXPECT_EQ(bench.Count() - before, 2 * rung);
    if (bench.send_sink.sent().size() > sends) {
      EXPECT_EQ(bench.send_sink.sent().back().cycle, at + Notify::kInternalLatency);
    }
  }
  bench.row.tokens.push_back({.vq_index = 9, .enabled = false});
  ASSERT_EQ(bench.bench.RunOut(10), "");
  const uint64_t before = bench.Count();
  bench.RingAgain(9);
  ASSERT_EQ(bench.bench.RunOut(30), "");
  EXPECT_EQ(bench.Count(), before) << "a queue that is disabled";
}

TEST(Notify, DriverDoorbellsDelayInternalOnesNoLongerThanTheyLast) {
  Bench bench;
  bench.Start();
  for (int i = 0; i < 20; ++i) bench.Ring(9);
  bench.RingAgain(11);
  ASSERT_EQ(bench.bench.Run(20), "");
  const auto is_given = [&] {
    for (const auto& sent : bench.send_sink.sent()) {
      if (sent.token.vq_index == 11) return true;
    }
    return false;
  };
  EXPECT_FALSE(is_given());
  ASSERT_EQ(bench.bench.Run(Notify::kInternalLatency + 2), "");
  EXPECT_TRUE(is_given());
}

TEST(Notify, DisabledQueuesRingNoDoorbell) {
  Bench bench;
  bench.Start();
  for (uint16_t i = 0; i < kQueues; ++i) bench.row.tokens.push_back({.vq_index = i});
  ASSERT_EQ(bench.bench.RunOut(5), "");
  for (unsigned i = 0; i < kQueues; ++i) {
    bench.Ring(i);
    bench.Arm(i, true, true);
  }
  ASSERT_EQ(bench.bench.RunOut(30), "");
  EXPECT_EQ(bench.Count(), 0u);
}

TEST(Notify, DoorbellsBeforeDatapathEnableAreKept) {
  Bench bench;
  bench.Start();
  bench.enable = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  for (int i = 0; i < 3; ++i) {
    bench.Ring(4);
    bench.Ring(1);
    bench.Ring(13);
    bench.Ring(14);
    bench.Arm(5, true, false, static_cast<uint16_t>(i));
  }
  ASSERT_EQ(bench.bench.RunOut(50), "");
  EXPECT_EQ(bench.Count(), 0u);
  EXPECT_EQ(bench.p.idle_o, 1);
  bench.enable = true;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.control.count, 1u);
  EXPECT_EQ(bench.net.count, 1u);
  EXPECT_EQ(bench.send.count, 1u);
  EXPECT_EQ(bench.receive.count, 1u);
  ASSERT_EQ(bench.arm.count, 1u);
  EXPECT_EQ(bench.arm_sink.sent()[0].token.value & 0xffff, 2u);  // the last one
}

TEST(Notify, DeviceResetDiscardsPendingDoorbells) {
  Bench bench;
  bench.Start();
  bench.enable = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  for (unsigned i = 0; i < kQueues; ++i) {
    bench.Ring(i);
    bench.Arm(i, true, false);
  }
  ASSERT_EQ(bench.bench.RunOut(10), "");
  bench.resetting = true;
  ASSERT_EQ(bench.bench.Run(5), "");
  for (unsigned i = 0; i < kQueues; ++i) bench.Ring(i);  // of a driver that does not wait
  ASSERT_EQ(bench.bench.RunOut(20), "");
  bench.resetting = false;
  bench.enable = true;
  ASSERT_EQ(bench.bench.Run(50), "");
  EXPECT_EQ(bench.Count(), 0u);
}

TEST(Notify, ArmForEveryCompletionIsNotUndoneByASolicitedArm) {
  Bench bench;
  bench.Start();
  bench.arm.rate = 0;
  bench.Arm(5, true, false, 1);  // goes to the output
  ASSERT_EQ(bench.bench.RunOut(20), "");
  bench.Arm(6, true, false, 2);
  bench.Arm(6, false, true, 3);
  bench.Arm(6, true, true, 4);    // replaces the first
  bench.Arm(6, false, false, 5);  // no flag: ignored
  ASSERT_EQ(bench.bench.RunOut(20), "");
  bench.arm.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  ASSERT_EQ(bench.arm.count, 3u);
  EXPECT_EQ(bench.arm_sink.sent()[1].token.value, 3u << 16 | 4);
  EXPECT_EQ(bench.arm_sink.sent()[2].token.value, 1u << 16 | 3);
}

TEST(Notify, RfcV2ProfileHasNoArm) {
  Bench bench;
  bench.Start();
  bench.vireo = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  for (unsigned i = 0; i < kQueues; ++i) bench.Arm(i, true, true);
  ASSERT_EQ(bench.bench.RunOut(30), "");
  EXPECT_EQ(bench.Count(), 0u);
}

// Offsets of spec/roce.toml, written down independently: the end at 8; address and work request from 64 to 135.
TEST(Notify, PushedWordsOfSendQueuesComeAfterTwoCycles) {
  for (const bool mq : {true, false}) {
    Bench bench;
    bench.Start(mq);
    const unsigned first_send = (mq ? 4 : 2) + 1 + 4;
    for (unsigned queue = 0; queue < kQueues; ++queue) {
      for (unsigned offset = 0; offset < 160; offset += 4) {
        const size_t before = bench.pushes.sent.size();
        const Cycle at = bench.bench.cycle();
        const uint64_t data = bench.random();
        bench.bar.tokens.push_back(Bench::Write(queue, offset, 8, data));
        ASSERT_EQ(bench.bench.RunOut(6), "");
        const bool is_send = queue >= first_send && queue < first_send + 8 && (queue - first_send) % 2 == 0;
        const bool is_place = offset % 8 == 0 && (offset == 8 || (offset >= 64 && offset < 136));
        ASSERT_EQ(bench.pushes.sent.size() - before, is_send && is_place ? 1u : 0u) << queue << " " << offset;
        if (!is_send || !is_place) continue;
        EXPECT_EQ(bench.pushes.sent.back().first, at + Notify::kPushLatency);
        EXPECT_EQ(bench.pushes.sent.back().second,
                  (spec::PushWrite{.qpn = (queue - first_send) / 2,
                                   .place = static_cast<uint8_t>(offset == 8 ? 0 : (offset - 64) / 8 + 1),
                                   .data = data}));
      }
    }
    EXPECT_EQ(bench.Count(), 0u) << "none of them is a doorbell here";
  }
}

TEST(Notify, NothingIsPushedByOtherAccessesOrWithoutTheProfile) {
  Bench bench;
  bench.Start();
  const uint32_t queue = 4 + 1 + 4;
  for (const unsigned bytes : {0u, 1u, 2u, 3u, 4u, 7u, 15u})
    bench.bar.tokens.push_back(Bench::Write(queue, 64, bytes, 1));
  spec::BarAccess access = Bench::Write(queue, 64, 8, 1);
  access.write = false;
  bench.bar.tokens.push_back(access);
  access = Bench::Write(queue, 64, 8, 1);
  access.bar_index = spec::kBarMsix;
  bench.bar.tokens.push_back(access);
  ASSERT_EQ(bench.bench.RunOut(20), "");
  bench.vireo = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  for (const unsigned offset : {8u, 64u}) bench.bar.tokens.push_back(Bench::Write(queue, offset, 8, 1));
  ASSERT_EQ(bench.bench.RunOut(20), "");
  bench.vireo = true;
  bench.resetting = true;
  ASSERT_EQ(bench.bench.Run(2), "");
  for (const unsigned offset : {8u, 64u}) bench.bar.tokens.push_back(Bench::Write(queue, offset, 8, 1));
  ASSERT_EQ(bench.bench.RunOut(20), "");
  EXPECT_EQ(bench.pushes.sent.size(), 0u);
}

TEST(Notify, OtherAccessesRingNoDoorbell) {
  Bench bench;
  bench.Start();
  auto& tokens = bench.bar.tokens;
  for (unsigned queue = 0; queue < kQueues; ++queue) {
    for (const unsigned bytes : {0u, 1u, 3u, 8u, 15u}) tokens.push_back(Bench::Write(queue, 0, bytes, 0));
    for (const unsigned bytes : {0u, 1u, 2u, 8u}) tokens.push_back(Bench::Write(queue, 4, bytes, 3u << 16));
    for (const unsigned place : {1u, 2u, 3u, 6u, 8u, 12u, 2048u, 4094u}) {
      tokens.push_back(Bench::Write(queue, place, 2, 3u << 16));
      tokens.push_back(Bench::Write(queue, place, 4, 3u << 16));
    }
    BarAccess access = Bench::Write(queue, 0, 2, 0);
    access.write = false;
    tokens.push_back(access);
    access.write = true;
    access.bar_index = spec::kBarMsix;
    tokens.push_back(access);
    access = Bench::Write(queue, 0, 2, 0);
    access.offset -= spec::kBarVirtioNotify;
    tokens.push_back(access);
    access.offset += spec::kBarVirtioNotify + spec::kBarVirtioNotifyBytes;
    tokens.push_back(access);
  }
  for (unsigned queue = kQueues; queue < spec::kNotifyQueuesMax; queue += 7) {
    bench.Ring(queue);
    bench.Arm(queue, true, true);
  }
  ASSERT_EQ(bench.bench.RunOut(30), "");
  EXPECT_EQ(bench.Count(), 0u);
  EXPECT_EQ(bench.p.idle_o, 1);
}

// Nothing is lost: every doorbell comes out after its last ring.
TEST(Notify, NoDoorbellIsLost) {
  Bench bench;
  bench.Start();
  bench.send.rate = 2;
  bench.receive.rate = 2;
  bench.arm.rate = 2;
  std::map<unsigned, uint32_t> last_value;  // by CQ and flag
  std::set<unsigned> rung;
  for (int round = 0; round < 300; ++round) {
    const unsigned qpn = static_cast<unsigned>(bench.random() % 4);
    bench.Ring(9 + 2 * qpn);
    bench.Ring(10 + 2 * qpn);
    const unsigned cqn = static_cast<unsigned>(bench.random() % 4);
    const bool next = bench.random() % 2 == 0;
    bench.Arm(5 + cqn, next, !next, static_cast<uint16_t>(round));
    last_value[2 * cqn + (next ? 1 : 0)] = (next ? 2u : 1u) << 16 | static_cast<uint32_t>(round);
    const size_t sends = bench.send_sink.sent().size();
    const size_t receives = bench.receive_sink.sent().size();
    ASSERT_EQ(bench.bench.Run(bench.random() % 8), "");
    if (round % 10 == 9) {
      ASSERT_EQ(bench.bench.Run(400), "");
      bool found = false;
      for (size_t i = sends; i < bench.send_sink.sent().size(); ++i) {
        found |= bench.send_sink.sent()[i].token.vq_index == 9 + 2 * qpn;
      }
      EXPECT_TRUE(found);
      found = false;
      for (size_t i = receives; i < bench.receive_sink.sent().size(); ++i) {
        found |= bench.receive_sink.sent()[i].token.vq_index == 10 + 2 * qpn;
      }
      EXPECT_TRUE(found);
    }
  }
  ASSERT_EQ(bench.bench.RunOut(400), "");
  std::map<unsigned, uint32_t> seen;
  for (const auto& sent : bench.arm_sink.sent()) {
    seen[2u * sent.token.cqn + (sent.token.value >> 17 & 1)] = sent.token.value;
  }
  EXPECT_EQ(seen, last_value);
}

}  // namespace
}  // namespace vireo::verif
