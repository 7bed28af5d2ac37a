// SPDX-License-Identifier: Apache-2.0
// Ordinary Ethernet frames between two hosts over their net queue pairs: lengths, order, offloads, filters, multiqueue,
// chained and indirect buffers, full queues, resets, and RDMA beside them. [virtio 1.3, 5.1.6]
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/traffic/net_frame.h"
#include "sim/traffic/raw_queue.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::NetFeature;
using spec::NetHdrFlags;

constexpr uint64_t kTimeoutNs = kSecondNs / 1000;
constexpr Mac kMulticast = {0x33, 0x33, 0, 0, 0, 7};
constexpr Mac kStranger = {0x02, 0, 0, 0, 0x12, 0x34};

// The received frame: the sender pads with zeros to 60 bytes.
Bytes Padded(Bytes frame) {
  frame.resize(std::max(frame.size(), kShortestFrame));
  return frame;
}

class Net : public PairTest {
 protected:
  host::VirtioNetDevice& net(size_t number) { return system_->host(number).device().net(); }
  Mac mac(size_t number) { return system_->host(number).mac(); }
  size_t largest() { return net(0).max_frame_bytes(); }
  Bytes Plain(size_t from, size_t bytes, uint64_t seed) { return PlainFrame(mac(1 - from), mac(from), bytes, seed); }

  void Send(size_t from, const Bytes& frame, const spec::NetHdr& header = {}, uint16_t pair = 0) {
    for (uint64_t waited = 0;; waited += 1000) {
      const host::Status sent = net(from).transmit(pair).Send(frame, header);
      if (sent.ok()) return;
      ASSERT_EQ(sent.error().code, host::ErrorCode::kNoSpace) << host::ToString(sent.error());
      ASSERT_LT(waited, kTimeoutNs) << "the device sends nothing";
      RunFor(1000);
    }
  }
  // The next frame of a queue pair.
  std::optional<host::ReceivedFrame> Next(size_t at, uint16_t pair = 0, uint64_t timeout_ns = kTimeoutNs) {
    auto frame = net(at).Receive(pair, system_->host(at).function().NowNs() + timeout_ns);
    if (!frame.ok()) {
      ADD_FAILURE() << host::ToString(frame.error());
      return std::nullopt;
    }
    return std::move(frame).value();
  }
  void Expect(size_t at, const Bytes& frame, uint8_t flags = 0, uint16_t pair = 0) {
    const auto received = Next(at, pair);
    ASSERT_TRUE(received.has_value()) << "a frame of " << frame.size() << " bytes did not arrive";
    const Bytes expected = Padded(frame);
    ASSERT_EQ(received->bytes.size(), expected.size());
    const auto [is, got] = std::ranges::mismatch(expected, received->bytes);
    ASSERT_EQ(is, expected.end()) << "byte " << is - expected.begin() << " of " << expected.size();
    EXPECT_EQ(received->header.flags, flags);
    EXPECT_EQ(received->header.gso_type, spec::NetHdrGso::kNone);
  }
  void ExpectNothing(size_t at, uint64_t ns = 30'000) {
    const auto received = Next(at, 0, ns);
    EXPECT_FALSE(received.has_value()) << "a frame of " << received->bytes.size() << " bytes";
  }
  // Sends it from host 0; returns whether it arrived at host 1.
  bool Arrives(const Bytes& frame) {
    Send(0, frame);
    const auto received = Next(1, 0, 30'000);
    if (!received.has_value()) return false;
    EXPECT_EQ(received->bytes, Padded(frame));
    return true;
  }
  void Ok(const host::Status& status) { ASSERT_TRUE(status.ok()) << host::ToString(status.error()); }
};

TEST_P(Net, FramesOfEveryLengthClassArriveUnchanged) {
  Build();
  // Around beats, buffers of 2048 bytes with their header, writes of 4096, and both limits.
  std::vector<size_t> lengths = {14, 15, 51, 52, 53, 59, 60, 61, 63, 64, 65, 115, 116, 117, 128, 500, 1514, 1518};
  for (const size_t length : {2036, 2037, 4083, 4084, 4085, 4096, 6132, 9000}) lengths.push_back(length);
  for (size_t before = 3; before-- > 0;) lengths.push_back(largest() - before);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const size_t from = i % 2;
    const Bytes frame = Plain(from, lengths[i], i);
    Send(from, frame);
    ASSERT_NO_FATAL_FAILURE(Expect(1 - from, frame)) << lengths[i] << " bytes";
  }
}

TEST_P(Net, FrameUsesOneBufferWithoutMergeableBuffers) {
  RdmaSystemOptions options;
  options.driver.net_queue_size = 8;
  Build(options);
  for (size_t i = 0; i < 2; ++i) {
    const host::FeatureSet without = net(i).features() - host::FeatureSet{NetFeature::kMrgRxbuf};
    system_->host(i).Close();
    ASSERT_EQ(system_->host(i).Open(without & host::DefaultFeatures()), "");
    ASSERT_FALSE(net(i).features().Has(NetFeature::kMrgRxbuf));
  }
  size_t seed = 0;
  for (const size_t length : {size_t{14}, size_t{1514}, size_t{4097}, largest()}) {
    const Bytes frame = Plain(0, length, ++seed);
    Send(0, frame);
    ASSERT_NO_FATAL_FAILURE(Expect(1, frame));
  }
}

// To the RoCE port, but no RoCE packets; and RoCE version 1. With the feature the NIC drops them; a driver without it
// gets them like all others, for an implementation of its own, or for another use of the port.
TEST_P(Net, RoceFramesAreOrdinaryFramesWithoutTheFeature) {
  Build();
  std::vector<Bytes> frames;
  for (const bool ipv6 : {false, true}) {
    for (const size_t data : {size_t{0}, size_t{100}, size_t{4000}}) {
      frames.push_back(MakeTransportFrame(mac(1), mac(0), {.ipv6 = ipv6, .destination_port = spec::kUdpPortRocev2},
                                          data, frames.size(), /*complete=*/true)
                           .bytes);
    }
  }
  Bytes version1 = Plain(0, 100, frames.size());
  constexpr auto kRoceV1 = static_cast<uint16_t>(spec::Ethertype::kRoceV1);
  version1.at(spec::Ethernet::kEthertypeOffset) = kRoceV1 >> 8;
  version1.at(spec::Ethernet::kEthertypeOffset + 1) = kRoceV1 & 0xff;
  frames.push_back(version1);

  for (const Bytes& frame : frames) Send(0, frame);
  ExpectNothing(1);
  system_->host(1).Close();
  const auto opened = host::VirtioNetDevice::Open(
      system_->host(1).function(), {.wanted = host::DefaultFeatures(), .roce = host::DeviceOptions::Roce::kOff});
  ASSERT_TRUE(opened.ok()) << host::ToString(opened.error());
  RunFor(kTimeoutNs);  // firmware starts the net path
  for (const Bytes& frame : frames) {
    Send(0, frame);
    auto received = (*opened)->Receive(0, system_->host(1).function().NowNs() + kTimeoutNs);
    ASSERT_TRUE(received.ok() && received->has_value()) << frame.size() << " bytes";
    EXPECT_EQ((*received)->bytes, Padded(frame));
  }
}

TEST_P(Net, FramesKeepTheirOrderBesideRdma) {
  Build();
  Connect();
  auto random = MakeRandom("net_test");
  std::array<std::deque<Bytes>, 2> expected;
  const auto receive = [&](size_t at, uint64_t timeout_ns) {
    const auto received = Next(at, 0, timeout_ns);
    if (!received.has_value()) return false;
    EXPECT_FALSE(expected.at(at).empty());
    if (expected.at(at).empty()) return false;
    EXPECT_EQ(received->bytes, expected.at(at).front());
    expected.at(at).pop_front();
    return true;
  };
  std::array<Bytes, 2> memory = Memory();
  const size_t frames = has_fast_wire() ? 300 : 100;
  uint64_t writes = 0;
  for (size_t i = 0; i < frames; ++i) {
    const size_t from = random() % 2;
    const size_t bytes = 14 + UniformBelow(random, random() % 4 == 0 ? largest() - 13 : 300);
    const Bytes frame = Plain(from, bytes, i);
    expected.at(1 - from).push_back(Padded(frame));
    ASSERT_NO_FATAL_FAILURE(Send(from, frame));
    if (i % 4 == 0) {
      const auto length = static_cast<uint32_t>(UniformBelow(random, 5000));
      const spec::RdmaSge sge = near().region->Sge(UniformBelow(random, 10'000), length);
      const uint64_t offset = 20'000 + UniformBelow(random, 30'000);
      Scatter(far(), {far().region->Sge(offset, length)}, Gather(near(), {sge}), memory[1]);
      PostSend(Remote(spec::IbWrOpcode::kRdmaWrite, writes, {sge}, offset));
      ExpectNext(0, writes++, spec::IbWcStatus::kSuccess, kTimeoutNs);
    }
    // No more in flight than the receiver has buffers.
    for (size_t at = 0; at < 2; ++at) {
      while (expected.at(at).size() > 20) ASSERT_TRUE(receive(at, kTimeoutNs));
    }
  }
  for (size_t at = 0; at < 2; ++at) {
    while (!expected.at(at).empty()) ASSERT_TRUE(receive(at, kTimeoutNs)) << expected.at(at).size() << " are missing";
    ExpectNothing(at);
  }
  RunFor(kArrivalTime / kPicosecondsPerNanosecond);
  ExpectMemory(memory);
}

TEST_P(Net, ChecksumsAreCompletedAndVerified) {
  RdmaSystemOptions options;
  options.driver.required = {NetFeature::kCsum, NetFeature::kGuestCsum};
  Build(options);
  size_t seed = 0;
  for (const bool ipv6 : {false, true}) {
    for (const uint8_t protocol : {kProtocolTcp, kProtocolUdp}) {
      for (const size_t data : {0, 1, 6, 7, 64, 101, 1400, 1441, 8000}) {
        const Flow flow{.ipv6 = ipv6, .protocol = protocol};
        const std::string what = (ipv6 ? "IPv6, protocol " : "IPv4, protocol ") + std::to_string(protocol) + ", " +
                                 std::to_string(data) + " bytes";
        TransportFrame frame = MakeTransportFrame(mac(1), mac(0), flow, data, ++seed, false);
        Send(0, frame.bytes,
             {.flags = NetHdrFlags::kNeedsCsum, .csum_start = frame.csum_start, .csum_offset = frame.csum_offset});
        auto received = Next(1);
        ASSERT_TRUE(received.has_value()) << what;
        EXPECT_TRUE(HasGoodChecksum(received->bytes)) << what;
        EXPECT_EQ(received->header.flags, NetHdrFlags::kDataValid) << what;
        const TransportFrame complete = MakeTransportFrame(mac(1), mac(0), flow, data, seed, true);
        EXPECT_EQ(received->bytes, Padded(complete.bytes)) << what;

        // A frame with a bad checksum arrives unchanged, and is not reported as valid.
        Bytes wrong = complete.bytes;
        ++wrong.at(frame.csum_start);
        Send(0, wrong);
        ASSERT_NO_FATAL_FAILURE(Expect(1, wrong)) << what;
      }
    }
  }
}

TEST_P(Net, UnsendableFrameIsDroppedWithoutEffectOnOthers) {
  Build();
  const Bytes good = Plain(0, 200, 1);
  const auto bad = [&](const Bytes& frame, const spec::NetHdr& header) {
    Send(0, frame, header);
    Send(0, good);
    ASSERT_NO_FATAL_FAILURE(Expect(1, good));
  };
  bad(Plain(0, 100, 2), {.flags = NetHdrFlags::kNeedsCsum, .csum_start = 90, .csum_offset = 9});
  bad(Plain(0, 100, 3), {.flags = NetHdrFlags::kNeedsCsum, .csum_start = 0xffff, .csum_offset = 0xffff});
  bad(Plain(0, 100, 4), {.gso_type = spec::NetHdrGso::kTcpv4, .gso_size = 20});
  bad(Bytes(13, 0xff), {});
  // All buffers are returned.
  for (int i = 0; i < 20 && *net(0).transmit(0).Reclaim() != 0; ++i) RunFor(1000);
  EXPECT_EQ(*net(0).transmit(0).Reclaim(), 0);
}

TEST_P(Net, ReceiveFilterPassesWhatTheDriverConfigured) {
  Build();
  host::NetCommands& commands = *net(1).net();
  const Bytes own = Plain(0, 100, 1), broadcast = PlainFrame(kBroadcast, mac(0), 100, 2);
  const Bytes multicast = PlainFrame(kMulticast, mac(0), 100, 3), stranger = PlainFrame(kStranger, mac(0), 100, 4);
  EXPECT_TRUE(Arrives(own));
  EXPECT_TRUE(Arrives(broadcast));
  EXPECT_FALSE(Arrives(multicast));
  EXPECT_FALSE(Arrives(stranger));

  using Cmd = spec::NetCtrlRxCmd;
  const auto with = [&](Cmd mode, const Bytes& frame, bool arrives) {
    Ok(commands.SetRxMode(mode, true));
    EXPECT_EQ(Arrives(frame), arrives) << static_cast<int>(mode);
    Ok(commands.SetRxMode(mode, false));
    EXPECT_EQ(Arrives(frame), !arrives) << static_cast<int>(mode);
  };
  with(Cmd::kPromisc, stranger, true);
  with(Cmd::kPromisc, multicast, true);
  with(Cmd::kAllmulti, multicast, true);
  with(Cmd::kAlluni, stranger, true);
  with(Cmd::kNouni, own, false);
  with(Cmd::kNobcast, broadcast, false);

  const std::array<Mac, 2> unicast = {Mac{2, 0, 0, 0, 0, 1}, kStranger};
  const std::array<Mac, 1> group = {kMulticast};
  Ok(commands.SetMacTable(unicast, group));
  EXPECT_TRUE(Arrives(stranger));
  EXPECT_TRUE(Arrives(multicast));
  with(Cmd::kNomulti, multicast, false);
  Ok(commands.SetMacTable({}, {}));
  EXPECT_FALSE(Arrives(stranger));

  // The driver's new address, no longer its old one.
  Ok(commands.SetMacAddress(kStranger));
  EXPECT_TRUE(Arrives(stranger));
  EXPECT_FALSE(Arrives(own));
  Ok(commands.SetMacAddress(mac(1)));
  EXPECT_TRUE(Arrives(own));
}

TEST_P(Net, TaggedFrameNeedsAVlanFilterEntry) {
  Build();
  host::NetCommands& commands = *net(1).net();
  const auto tagged = [&](uint16_t vlan) { return TaggedFrame(mac(1), mac(0), vlan, 100, vlan); };
  EXPECT_FALSE(Arrives(tagged(5)));
  for (const uint16_t vlan : std::initializer_list<uint16_t>{0, 5, 31, 32, 4095}) {
    Ok(commands.AddVlan(vlan));
    EXPECT_TRUE(Arrives(tagged(vlan))) << vlan;
    EXPECT_FALSE(Arrives(tagged(static_cast<uint16_t>(vlan ^ 1)))) << vlan;
    EXPECT_FALSE(Arrives(tagged(static_cast<uint16_t>(vlan ^ 32)))) << vlan;
    Ok(commands.DeleteVlan(vlan));
    EXPECT_FALSE(Arrives(tagged(vlan))) << vlan;
  }
  EXPECT_TRUE(Arrives(Plain(0, 100, 1)));
}

TEST_P(Net, RssSpreadsFlowsAndKeepsEachOnOneQueue) {
  RdmaSystemOptions options;
  options.driver.queue_pairs = static_cast<uint16_t>(std::min(config().net_queue_pairs, 5U));
  options.driver.net_queue_size = 32;
  Build(options);
  const uint16_t pairs = options.driver.queue_pairs;
  std::set<uint16_t> used;
  for (uint16_t port = 0; port < 24; ++port) {
    const Flow flow{.protocol = kProtocolUdp, .source_port = static_cast<uint16_t>(40'000 + port)};
    std::optional<uint16_t> home;
    for (uint64_t i = 0; i < 2; ++i) {
      // Independent of the sending queue pair.
      const Bytes frame = MakeTransportFrame(mac(1), mac(0), flow, 40 + i, 7, true).bytes;
      Send(0, frame, {}, static_cast<uint16_t>((port + i) % pairs));
      RunFor(has_fast_wire() ? 10'000 : 40'000);
      for (uint16_t pair = 0; pair < pairs; ++pair) {
        auto received = net(1).receive(pair).Receive();
        ASSERT_TRUE(received.ok());
        if (!received->has_value()) continue;
        EXPECT_EQ((*received)->bytes, Padded(frame));
        EXPECT_EQ(home.value_or(pair), pair) << "port " << port;
        home = pair;
        used.insert(pair);
      }
      ASSERT_TRUE(home.has_value()) << "port " << port << " was lost";
    }
  }
  EXPECT_EQ(used.size(), pairs);
}

TEST_P(Net, BuffersMayBeChainedOrIndirect) {
  for (const uint16_t table_segments : std::initializer_list<uint16_t>{0, 8}) {
    RdmaSystemOptions options;
    options.driver.net_indirect_segments = table_segments;
    Build(options);
    auto memory = system_->host(0).function().AllocateDma(65536, 64);
    ASSERT_TRUE(memory.ok());
    host::DmaMemory& bytes = **memory;
    host::Queue& queue = net(0).transmit(0).queue();
    auto random = MakeRandom("net_chains");
    for (size_t i = 0; i < 24; ++i) {
      const Bytes frame = Plain(0, 14 + UniformBelow(random, i % 3 == 0 ? largest() - 13 : 400), i);
      // Header and frame as one byte string, split anywhere, the parts anywhere in memory.
      Bytes all(spec::NetHdr::kBytes);
      all.insert(all.end(), frame.begin(), frame.end());
      const size_t pieces = 1 + UniformBelow(random, 7);
      std::set<size_t> ends = {all.size()};
      while (ends.size() < pieces) ends.insert(1 + UniformBelow(random, all.size() - 1));
      std::vector<host::Segment> segments;
      size_t begin = 0, place = UniformBelow(random, 64);
      for (const size_t end : ends) {
        std::copy_n(all.begin() + static_cast<ptrdiff_t>(begin), end - begin, bytes.data() + place);
        segments.push_back({bytes.address() + place, static_cast<uint32_t>(end - begin)});
        place += end - begin + UniformBelow(random, 100);
        begin = end;
      }
      Ok(queue.ring->Add(segments, {}, i));
      queue.Kick();
      ASSERT_NO_FATAL_FAILURE(Expect(1, frame)) << i;
      RunFor(kArrivalTime / kPicosecondsPerNanosecond);
      const auto used = queue.ring->Harvest();
      ASSERT_TRUE(used.ok());
      ASSERT_TRUE(used->has_value());
      EXPECT_EQ((*used)->token, i);
    }
    Settle();
    EXPECT_EQ(system_->Violations(), "");
    memory->reset();
    system_.reset();
  }
}

TEST_P(Net, FullReceiveQueueDropsOnlyFrames) {
  RdmaSystemOptions options;
  options.driver.net_queue_size = 8;
  Build(options);
  Connect();
  std::vector<Bytes> frames;
  for (uint64_t i = 0; i < 20; ++i) frames.push_back(Plain(0, 300, i));
  for (const Bytes& frame : frames) ASSERT_NO_FATAL_FAILURE(Send(0, frame));
  // RDMA is not blocked by them.
  PostSend(Remote(spec::IbWrOpcode::kRdmaWrite, 1, {near().region->Sge(0, 1000)}, 2000));
  ExpectNext(0, 1, spec::IbWcStatus::kSuccess, kTimeoutNs);
  RunFor(100'000);
  for (size_t i = 0; i < 8; ++i) ASSERT_NO_FATAL_FAILURE(Expect(1, frames[i])) << i;
  ExpectNothing(1);
  for (size_t i = 8; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(Send(0, frames[i]));
    ASSERT_NO_FATAL_FAILURE(Expect(1, frames[i])) << i;
  }
}

// The frame is not reported, nor is one behind it, and the queue stops; what the host sends goes on, RDMA as well.
TEST_P(Net, RefusedFrameWriteStopsItsQueue) {
  Build();
  constexpr size_t kFrames = 6;
  for (const uint64_t nth : {uint64_t{1}, uint64_t{3}}) {
    const auto ring = FindRing(system_->host(1), net(1).receive(0).queue().index);
    ASSERT_TRUE(ring.has_value());
    const auto [first, end] = BuffersIn(*ring);
    system_->host(1).station().pcie().AddFault(
        {.kind = DmaFault::Kind::kRefused, .address = first, .bytes = end - first, .nth = nth});
    std::vector<Bytes> frames;
    for (size_t i = 0; i < kFrames; ++i) {
      frames.push_back(Plain(0, 100, 100 * nth + i));  // one write each
      Send(0, frames.back());
    }
    for (size_t i = 0; i + 1 < nth; ++i) ASSERT_NO_FATAL_FAILURE(Expect(1, frames[i]));
    ExpectNothing(1);
    const auto event = system_->host(1).device().PollEvent();
    ASSERT_TRUE(event.ok() && event->has_value());
    EXPECT_EQ((*event)->rdma.event_type, spec::RdmaEventType::kVqErr);
    EXPECT_EQ((*event)->rdma.element, ring->index);
    EXPECT_EQ((*event)->rdma.code, static_cast<uint32_t>(spec::RdmaError::kQueueDmaError));
    const Bytes back = Plain(1, 300, nth);
    Send(1, back);
    ASSERT_NO_FATAL_FAILURE(Expect(0, back));
    system_->host(1).station().pcie().ClearFaults();
    Ok(net(1).RestartPair(0));
    const Bytes again = Plain(0, 500, nth);
    Send(0, again);
    ASSERT_NO_FATAL_FAILURE(Expect(1, again));
  }
}

TEST_P(Net, QueuePairContinuesAfterRestartInTraffic) {
  Build();
  auto random = MakeRandom("net_restart");
  for (uint64_t round = 0; round < 4; ++round) {
    for (uint64_t i = 0; i < 12; ++i) {
      for (size_t from = 0; from < 2; ++from) {
        ASSERT_NO_FATAL_FAILURE(Send(from, Plain(from, 14 + UniformBelow(random, 3000), i)));
      }
    }
    RunFor(UniformBelow(random, 5000));
    Ok(net(round % 2).RestartPair(0));
    // Frames in flight may have arrived or not.
    RunFor(300'000);
    for (size_t at = 0; at < 2; ++at) {
      while (Next(at, 0, 30'000).has_value()) {
      }
    }
    for (size_t from = 0; from < 2; ++from) {
      const Bytes frame = Plain(from, 1000, round);
      ASSERT_NO_FATAL_FAILURE(Send(from, frame));
      ASSERT_NO_FATAL_FAILURE(Expect(1 - from, frame));
    }
  }
}

// The reset of the receive queue waits for frames whose buffers were fetched, not for all in the transmit queue.
TEST_P(Net, ResetOfAQueueDoesNotWaitForWaitingFrames) {
  RdmaSystemOptions options;
  options.driver.net_queue_size = has_fast_wire() ? 1024 : 256;
  Build(options);
  const Bytes frame = Plain(0, has_fast_wire() ? 1514 : 200, 1);
  uint64_t queued = 0;
  while (net(0).transmit(0).Send(frame).ok()) ++queued;
  RunFor(5'000);
  const uint64_t begin = system_->host(0).function().NowNs();
  Ok(net(0).pci().ResetQueue(net(0).receive(0).queue().index, kTimeoutNs));
  const uint64_t took_ns = system_->host(0).function().NowNs() - begin;
  const uint64_t wire_ns = queued * frame.size() * 8'000 / config().link_mbps;
  EXPECT_LT(took_ns, wire_ns * 2 / 5);
  Ok(net(0).RestartPair(0));
  while (Next(1, 0, 100'000).has_value()) {
  }
  for (size_t from = 0; from < 2; ++from) {
    const Bytes next = Plain(from, 100, 2);
    ASSERT_NO_FATAL_FAILURE(Send(from, next));
    ASSERT_NO_FATAL_FAILURE(Expect(1 - from, next));
  }
}

TEST_P(Net, ResetInTrafficLeavesNothingBehind) {
  Build();
  for (uint64_t round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 16; ++i) {
      for (size_t from = 0; from < 2; ++from) ASSERT_NO_FATAL_FAILURE(Send(from, Plain(from, 1514, i)));
    }
    RunFor(1000 + 1500 * round);
    system_->host(1).Close();
    ASSERT_EQ(system_->host(1).Open(), "");
    while (Next(0, 0, 30'000).has_value()) {
    }
    while (Next(1, 0, 30'000).has_value()) {
    }
    for (size_t from = 0; from < 2; ++from) {
      const Bytes frame = Plain(from, 777, round);
      ASSERT_NO_FATAL_FAILURE(Send(from, frame));
      ASSERT_NO_FATAL_FAILURE(Expect(1 - from, frame));
    }
  }
}

// Without event_idx, so that the driver requests an interrupt per frame. [virtio 1.3, 5.1.6.5.9]
TEST_P(Net, InterruptModerationByFramesOrTime) {
  if (!has_additions()) GTEST_SKIP() << "its features are not offered in this profile";
  Build();
  const host::FeatureSet without = net(1).features() - host::FeatureSet{spec::VirtioFeature::kRingEventIdx};
  system_->host(1).Close();
  ASSERT_EQ(system_->host(1).Open(without & host::DefaultFeatures()), "");
  const auto vector = net(1).SpreadVector(0);
  ASSERT_TRUE(vector.has_value());
  const auto interrupted = [&] { return system_->host(1).function().TakeInterrupt(*vector); };
  const auto messages = [&] { return system_->topology().station(1).pcie().counters().msix; };
  std::deque<Bytes> expected;
  const auto send = [&](size_t frames) {
    for (; frames > 0; --frames) {
      expected.push_back(Plain(0, 60 + 7 * expected.size(), expected.size()));
      Send(0, expected.back());
    }
  };
  host::NetCommands& commands = *net(1).net();
  Ok(commands.SetCoalescing(host::NetCommands::Direction::kReceive, {.max_packets = 4, .max_usecs = 200}));
  ExpectNothing(1);  // interrupts are requested from here on
  Settle();

  // By time.
  uint64_t before = messages();
  interrupted();
  send(3);
  RunFor(100'000);
  EXPECT_EQ(messages(), before);
  RunFor(150'000);
  EXPECT_EQ(messages(), before + 1);
  EXPECT_TRUE(interrupted());
  // By count.
  send(4);
  RunFor(100'000);
  EXPECT_EQ(messages(), before + 2);
  EXPECT_TRUE(interrupted());
  // Limits that the pending frames reach; the other direction has none.
  send(3);
  RunFor(50'000);
  EXPECT_FALSE(interrupted());
  Ok(commands.SetCoalescing(host::NetCommands::Direction::kTransmit, {.max_packets = 1, .max_usecs = 1}));
  RunFor(20'000);
  EXPECT_FALSE(interrupted());
  Ok(commands.SetQueueCoalescing(0, {.max_packets = 3, .max_usecs = 1'000'000}));
  RunFor(20'000);
  EXPECT_TRUE(interrupted());
  while (!expected.empty()) {
    ASSERT_NO_FATAL_FAILURE(Expect(1, expected.front()));
    expected.pop_front();
  }

  // Pending frames are discarded with their queue; the queue keeps the direction's limits.
  ExpectNothing(1);
  interrupted();
  Send(0, Plain(0, 100, 1));
  Send(0, Plain(0, 100, 2));
  RunFor(50'000);
  Ok(net(1).RestartPair(0));
  RunFor(1'500'000);
  EXPECT_FALSE(interrupted());
  ExpectNothing(1);
  before = messages();
  send(1);
  RunFor(100'000);
  EXPECT_EQ(messages(), before);
  RunFor(150'000);
  EXPECT_EQ(messages(), before + 1);
  ASSERT_NO_FATAL_FAILURE(Expect(1, expected.front()));

  // 0: an interrupt per frame.
  Ok(commands.SetCoalescing(host::NetCommands::Direction::kReceive, {}));
  ExpectNothing(1);
  before = messages();
  send(5);
  RunFor(100'000);
  EXPECT_EQ(messages(), before + 5);
}

VIREO_ON_EVERY_DEVICE(Net);

}  // namespace
}  // namespace vireo::sim
