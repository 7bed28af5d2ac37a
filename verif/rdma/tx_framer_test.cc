// SPDX-License-Identifier: Apache-2.0
// The transmit framer: the model against frames that Linux sent and against the receive parser, then the RTL against
// the model, byte for byte and cycle for cycle.
#include "model/rdma/tx_framer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/rdma/rx_parser.h"
#include "model/rdma/transport.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/rdma/frames.h"
#include "verif/rdma/tx_framer_rtl.h"

namespace vireo::verif {
namespace {

using model::RxParser;
using model::RxToken;
using model::TxFramer;
using model::TxToken;
using model::TxTrain;
using spec::BthOpcode;
using Random = std::mt19937_64;

// --- Packets ---------------------------------------------------------------------------------------------------------

struct Packet {
  TxToken token;
  Bytes payload;
};

// Opcodes of the opcode table.
std::vector<BthOpcode> Opcodes() {
  std::vector<BthOpcode> result;
  for (unsigned i = 0; i < std::size(spec::kOpcodeInfo); ++i) {
    if (spec::kOpcodeInfo[i].valid) result.push_back(BthOpcode{static_cast<uint8_t>(i)});
  }
  return result;
}

Bytes RandomBytes(size_t size, Random& random) {
  Bytes result(size);
  for (auto& byte : result) byte = static_cast<uint8_t>(random());
  return result;
}

// Random in every field that is not set, also in ignored ones. The transport version is 0, so that the parser accepts
// the frame.
Packet RandomPacket(BthOpcode opcode, bool vlan, bool ip6, size_t payload_bytes, Random& random) {
  Packet packet;
  TxToken::Visit(packet.token, [&](const char*, auto& field, unsigned bits) {
    field = static_cast<std::remove_reference_t<decltype(field)>>(random() & ((uint64_t{1} << bits) - 1));
  });
  packet.token.vlan_present = vlan;
  packet.token.is_ipv6 = ip6;
  packet.token.bth.opcode = opcode;
  packet.token.bth.transport_version = 0;
  // That of an ATOMIC WRITE is in the extension.
  if (opcode == BthOpcode::kRcAtomicWrite) payload_bytes = 0;
  packet.token.payload_bytes = static_cast<uint16_t>(payload_bytes);
  packet.payload = RandomBytes(payload_bytes, random);
  return packet;
}

Packet AnyPacket(Random& random, size_t payload_limit) {
  static const std::vector<BthOpcode> opcodes = Opcodes();
  const bool empty = random() % 4 == 0;
  return RandomPacket(opcodes[random() % opcodes.size()], random() & 1, random() & 1,
                      empty ? 0 : random() % (payload_limit + 1), random);
}

// The packet that a frame holds, for sending it again.
Packet PacketOf(const Bytes& frame, const RxToken& rx) {
  TxToken tx;
  const auto ethernet = spec::Ethernet::Decode(frame.data());
  std::copy_n(ethernet.destination, sizeof(tx.destination_mac), tx.destination_mac);
  std::copy_n(rx.source_mac, sizeof(tx.source_mac), tx.source_mac);
  tx.vlan_present = rx.vlan_present;
  tx.vlan_pcp = rx.vlan_pcp;
  tx.vlan_dei = rx.vlan_dei;
  tx.vlan_vid = rx.vlan_vid;
  tx.is_ipv6 = rx.is_ipv6;
  tx.dscp = rx.dscp;
  tx.ecn = rx.ecn;
  tx.hop_limit = rx.hop_limit;
  if (rx.is_ipv6) {
    tx.flow_label = spec::Ipv6::Decode(frame.data() + rx.l3_offset).flow_label;
  } else {
    tx.identification = spec::Ipv4::Decode(frame.data() + rx.l3_offset).identification;
  }
  std::copy_n(rx.ip_source, sizeof(tx.ip_source), tx.ip_source);
  std::copy_n(rx.ip_destination, sizeof(tx.ip_destination), tx.ip_destination);
  tx.udp_source_port = rx.udp_source_port;
  tx.bth = rx.bth;
  tx.bth.pad_count = 0;
  std::copy_n(rx.extension, sizeof(tx.extension), tx.extension);
  // The parser puts a FETH behind the RETH.
  if (rx.bth.opcode == BthOpcode::kRcFlush) {
    std::rotate(tx.extension, tx.extension + spec::Reth::kBytes,
                tx.extension + spec::Reth::kBytes + spec::Feth::kBytes);
  }
  if (rx.bth.opcode == BthOpcode::kRcAtomicWrite && rx.payload_bytes == spec::kAtomicBytes) return {tx, {}};
  tx.payload_bytes = rx.payload_bytes;
  const auto payload = frame.begin() + rx.payload_offset;
  return {tx, {payload, payload + rx.payload_bytes}};
}

struct GoldenPacket {
  Packet packet;
  Bytes frame;  // as it must leave: recorded without the MAC's padding, so padded here
};

const std::vector<GoldenPacket>& Golden() {
  static const std::vector<GoldenPacket> packets = [] {
    std::vector<GoldenPacket> result;
    for (Bytes& frame : GoldenFrames(VIREO_VECTORS_DIR)) {
      const RxToken rx = RxParser::Parse(frame, false);
      EXPECT_EQ(rx.verdict, spec::RxVerdict::kRoce);
      Packet packet = PacketOf(frame, rx);
      if (frame.size() < spec::kEthernetFrameBytesMin) frame.resize(spec::kEthernetFrameBytesMin);
      result.push_back({std::move(packet), std::move(frame)});
    }
    return result;
  }();
  return packets;
}

// The packet without ignored fields.
Packet Essence(Packet packet) {
  TxToken& token = packet.token;
  if (!token.vlan_present) {
    token.vlan_pcp = 0;
    token.vlan_dei = false;
    token.vlan_vid = 0;
  }
  if (token.is_ipv6) {
    token.identification = 0;
  } else {
    token.flow_label = 0;
    for (uint8_t* const address : {token.ip_source, token.ip_destination}) {
      std::fill_n(address, 10, uint8_t{0});
      std::fill_n(address + 10, 2, uint8_t{0xff});
    }
  }
  token.bth.pad_count = 0;
  const auto& info = spec::kOpcodeInfo[static_cast<uint8_t>(token.bth.opcode)];
  std::fill(token.extension + model::TokenExtensionBytes(info), std::end(token.extension), uint8_t{0});
  return packet;
}

// The differences of two packets, by name.
std::string Difference(const Packet& expected, const Packet& actual) {
  std::vector<uint64_t> wanted;
  TxToken::Visit(expected.token,
                 [&](const char*, const auto& field, unsigned) { wanted.push_back(static_cast<uint64_t>(field)); });
  std::string result;
  size_t index = 0;
  TxToken::Visit(actual.token, [&](const char* name, const auto& field, unsigned) {
    if (wanted[index++] != static_cast<uint64_t>(field)) result += std::string(" ") + name;
  });
  if (expected.payload != actual.payload) result += " payload";
  return result;
}

// The receive parser must decode a frame to its input.
void ExpectThatTheParserAgrees(const Packet& packet, const Bytes& frame) {
  const RxToken rx = RxParser::Parse(frame, false);
  ASSERT_EQ(rx.verdict, spec::RxVerdict::kRoce) << spec::ToString(rx.verdict) << "\n" << Hex(frame);
  ASSERT_EQ(rx.bth.pad_count, (4 - packet.payload.size() % 4) % 4);
  ASSERT_EQ(Difference(Essence(packet), PacketOf(frame, rx)), "") << Hex(frame);
}

// --- The model -------------------------------------------------------------------------------------------------------

TEST(TxFramerModel, RebuildsEveryGoldenFrame) {
  ASSERT_GT(Golden().size(), 1000u);
  for (const auto& [packet, frame] : Golden()) {
    ASSERT_EQ(Hex(TxFramer::Frame(packet.token, packet.payload)), Hex(frame));
  }
}

TEST(TxFramerModel, WritesTheTokensFields) {
  // An RDMA WRITE with 5 bytes, written out.
  TxToken token;
  std::copy_n("\x02\x11\x22\x33\x44\x55", 6, token.destination_mac);
  std::copy_n("\x02\x66\x77\x88\x99\xaa", 6, token.source_mac);
  token.vlan_present = true;
  token.vlan_pcp = 3;
  token.vlan_dei = true;
  token.vlan_vid = 0x064;
  token.dscp = 26;
  token.ecn = spec::IpEcn::kEct0;
  token.hop_limit = 63;
  token.identification = 0x1234;
  std::copy_n("\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\xa8\x00\x01", 16, token.ip_source);
  std::copy_n("\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\xa8\x01\x02", 16, token.ip_destination);
  token.udp_source_port = 0xd123;
  token.bth.opcode = BthOpcode::kRcRdmaWriteOnly;
  token.bth.pkey = 0xffff;
  token.bth.dest_qp = 0x123456;
  token.bth.ack_req = true;
  token.bth.psn = 0xfedcba;
  for (unsigned i = 0; i < spec::Reth::kBytes; ++i) token.extension[i] = static_cast<uint8_t>(0xa0 + i);
  token.payload_bytes = 5;
  const Bytes payload = {1, 2, 3, 4, 5};

  const Bytes without_icrc = {
      0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x02, 0x66, 0x77, 0x88, 0x99, 0xaa, 0x81, 0x00, 0x70, 0x64, 0x08, 0x00,
      // IPv4: 20 + 8 + 12 + 16 + 5 + 3 + 4 bytes
      0x45, 0x6a, 0x00, 0x44, 0x12, 0x34, 0x40, 0x00, 0x3f, 0x11, 0xa6, 0xb7, 192, 168, 0, 1, 192, 168, 1, 2,
      // UDP
      0xd1, 0x23, 0x12, 0xb7, 0x00, 0x30, 0x00, 0x00,
      // BTH: 3 bytes of pad
      0x0a, 0x30, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xfe, 0xdc, 0xba,
      // RETH
      0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf,
      // Payload and pad
      1, 2, 3, 4, 5, 0, 0, 0};
  Bytes frame = TxFramer::Frame(token, payload);
  ASSERT_EQ(frame.size(), without_icrc.size() + spec::kIcrcBytes);
  ExpectThatTheParserAgrees({token, payload}, frame);
  frame.resize(without_icrc.size());
  EXPECT_EQ(Hex(frame), Hex(without_icrc));
}

TEST(TxFramerModel, PadsTheShortestFrameWithZeros) {
  auto random = sim::MakeRandom("TxFramerModel.PadsTheShortestFrameWithZeros");
  const Packet packet = RandomPacket(BthOpcode::kRcSendOnly, false, false, 0, random);
  const Bytes frame = TxFramer::Frame(packet.token, packet.payload);
  EXPECT_EQ(frame.size(), spec::kEthernetFrameBytesMin);
  EXPECT_EQ(frame[58], 0);
  EXPECT_EQ(frame[59], 0);
  ExpectThatTheParserAgrees(packet, frame);

  const Packet longer = RandomPacket(BthOpcode::kRcSendOnly, false, false, 1, random);
  EXPECT_EQ(TxFramer::Frame(longer.token, longer.payload).size(), 62u);
}

// The formulas of docs/blocks/tx_framer.md with numbers.
TEST(TxFramerModel, ComputesBeatAndNextTokenCycles) {
  auto random = sim::MakeRandom("TxFramerModel.ComputesBeatAndNextTokenCycles");
  TxFramer wide(64);
  // 62 bytes: one beat.
  const Packet ack = RandomPacket(BthOpcode::kRcAcknowledge, false, false, 0, random);
  EXPECT_EQ(wide.Accept(5, ack.token), (TxTrain{0, 0, 15, 15}));
  EXPECT_EQ(wide.free_at(), 6u);
  // 4,154 bytes: 65 beats. The payload starts in the first.
  const Packet middle = RandomPacket(BthOpcode::kRcSendMiddle, false, false, 4096, random);
  EXPECT_EQ(wide.Accept(6, middle.token), (TxTrain{64, 7, 16, 80}));
  EXPECT_EQ(wide.free_at(), 71u);
  // 18 + 40 + 8 + 12 + 28 + 4 bytes.
  const Packet atomic = RandomPacket(BthOpcode::kRcCompareSwap, true, true, 0, random);
  EXPECT_EQ(wide.Accept(100, atomic.token), (TxTrain{0, 0, 110, 111}));
  EXPECT_EQ(wide.free_at(), 102u);

  TxFramer narrow(8);
  EXPECT_EQ(narrow.Accept(6, middle.token), (TxTrain{512, 13, 16, 535}));
  EXPECT_EQ(narrow.free_at(), 526u);
}

// --- RTL against model -----------------------------------------------------------------------------------------------

// Sends packets through the RTL and compares every frame with the model's, including every cycle.
class Bench {
 public:
  // stalls: tokens come late now and then, and m_axis_tready_i is random.
  Bench(unsigned data_bits, bool stalls, const char* consumer)
      : random_(sim::MakeRandom(consumer)),
        rtl_(TxFramerRtl::Make(data_bits, random_)),
        framer_(rtl_->beat_bytes()),
        stalls_(stalls) {
    rtl_->SetReady([this] {
      ready_.push_back(!stalls_ || random_() % 4 != 0);
      return ready_.back();
    });
    rtl_->Idle(TxFramer::kLatency);
  }

  // The expected frame.
  Bytes Send(const Packet& packet) {
    if (stalls_ && random_() % 2 == 0) rtl_->Idle(random_() % (2 * TxFramer::kLatency));
    const uint64_t offered = rtl_->cycle();
    const bool accepted = rtl_->Send(packet.token, packet.payload, kTimeout);
    EXPECT_TRUE(accepted);
    uint64_t cycle = std::max(offered, framer_.free_at());
    while (cycle < ready_.size() && !ready_[cycle - TxFramer::kReadyLatency]) ++cycle;
    EXPECT_EQ(rtl_->cycle() - 1, cycle) << "offered in cycle " << offered;
    expected_.push_back({framer_.Accept(cycle, packet.token), TxFramer::Frame(packet.token, packet.payload)});
    const Bytes frame = expected_.back().bytes;
    if (expected_.size() >= 1000) Check();
    return frame;
  }

  // Drains the framer and compares. Reports the first difference only: the rest would repeat it.
  void Check() {
    Drain();
    const auto frames = rtl_->TakeFrames();
    EXPECT_EQ(frames.size(), expected_.size());
    EXPECT_FALSE(rtl_->busy());
    for (size_t i = 0; i < std::min(frames.size(), expected_.size()); ++i) {
      const auto& [train, bytes] = expected_[i];
      if (frames[i].train == train && frames[i].bytes == bytes) continue;
      const TxTrain& seen = frames[i].train;
      ADD_FAILURE() << "beats in cycles " << seen.first_beat_cycle << " to " << seen.last_beat_cycle << ", expected "
                    << train.first_beat_cycle << " to " << train.last_beat_cycle << "; " << seen.payload_beats
                    << " beats of payload from cycle " << seen.first_payload_cycle << ", expected "
                    << train.payload_beats << " from " << train.first_payload_cycle << "\ngot\n"
                    << Hex(frames[i].bytes) << "\nexpected\n"
                    << Hex(bytes);
      break;
    }
    expected_.clear();
  }

  // Waits until everything accepted so far has left.
  void Drain() {
    if (!expected_.empty()) rtl_->Idle(expected_.back().train.last_beat_cycle + 1 - rtl_->cycle());
  }

  Random& random() { return random_; }
  TxFramerRtl& rtl() { return *rtl_; }
  const TxFramer& framer() const { return framer_; }

 private:
  // Far more than any frame takes.
  static constexpr uint64_t kTimeout = 10000;

  Random random_;
  std::unique_ptr<TxFramerRtl> rtl_;
  TxFramer framer_;
  bool stalls_;
  std::vector<bool> ready_;  // by cycle
  std::vector<TimedFrame> expected_;
};

// Datapath width, and whether tokens and their destination stall.
class TxFramerRtlTest : public testing::TestWithParam<std::tuple<unsigned, bool>> {
 protected:
  unsigned data_bits() const { return std::get<0>(GetParam()); }
  Bench bench_{std::get<0>(GetParam()), std::get<1>(GetParam()),
               testing::UnitTest::GetInstance()->current_test_info()->name()};
};

INSTANTIATE_TEST_SUITE_P(Rtl, TxFramerRtlTest, testing::Combine(testing::Values(64u, 512u), testing::Bool()),
                         [](const auto& info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Stalls" : "Dense");
                         });

TEST_P(TxFramerRtlTest, RebuildsEveryGoldenFrame) {
  for (const auto& [packet, frame] : Golden()) ASSERT_EQ(bench_.Send(packet), frame);
  bench_.Check();
}

// Every opcode behind every kind of header, with every payload length that a beat can end with, and with long payloads.
TEST_P(TxFramerRtlTest, MatchesModelOnEveryKindAndLength) {
  auto& random = bench_.random();
  for (const BthOpcode opcode : Opcodes()) {
    for (const bool vlan : {false, true}) {
      for (const bool ip6 : {false, true}) {
        for (size_t size = 0; size < 64 + 4; ++size) {
          // Long payloads take long at 64 bits and end like short ones.
          const size_t bytes = size < 64 ? size + 64 * (random() % 3) : random() % (TxToken::kPayloadBytes + 1);
          const Packet packet = RandomPacket(opcode, vlan, ip6, bytes, random);
          ASSERT_NO_FATAL_FAILURE(ExpectThatTheParserAgrees(packet, bench_.Send(packet)));
        }
      }
    }
  }
  bench_.Check();
}

TEST_P(TxFramerRtlTest, MatchesModelOnEveryPayloadLength) {
  for (size_t bytes = 0; bytes <= TxToken::kPayloadBytes; ++bytes) {
    bench_.Send(RandomPacket(BthOpcode::kRcRdmaWriteOnly, bytes & 1, bytes & 2, bytes, bench_.random()));
  }
  bench_.Check();
}

// Short frames follow each other in every mixture.
TEST_P(TxFramerRtlTest, MatchesModelOnMixturesOfShortFrames) {
  for (int i = 0; i < 20000; ++i) bench_.Send(AnyPacket(bench_.random(), i % 2 == 0 ? 8 : 100));
  bench_.Check();
}

// Checksums whose carries carry again are rare: generate sums around them.
TEST_P(TxFramerRtlTest, MatchesModelOnEveryChecksum) {
  auto& random = bench_.random();
  Packet packet = RandomPacket(BthOpcode::kRcAcknowledge, false, false, 0, random);
  std::fill(std::begin(packet.token.ip_source), std::end(packet.token.ip_source), uint8_t{0xff});
  std::fill(std::begin(packet.token.ip_destination), std::end(packet.token.ip_destination), uint8_t{0xff});
  for (unsigned i = 0; i < 0x10000; i += data_bits() == 64 ? 5 : 1) {
    packet.token.identification = static_cast<uint16_t>(i);
    bench_.Send(packet);
  }
  bench_.Check();
}

TEST_P(TxFramerRtlTest, BeatsComeExactlyInTheCycleOfTheFormula) {
  auto& rtl = bench_.rtl();
  auto& random = bench_.random();
  for (const size_t bytes : {0u, 1u, 63u, 64u, 65u, 1024u, 4096u}) {
    for (const bool ip6 : {false, true}) {
      const Packet packet = RandomPacket(BthOpcode::kRcSendOnly, ip6, ip6, bytes, random);
      bench_.Send(packet);
      bench_.Drain();
      bench_.Check();
      rtl.Idle(2 * TxFramer::kLatency);

      ASSERT_TRUE(rtl.Send(packet.token, packet.payload, 1000));
      const uint64_t accepted = rtl.cycle() - 1;
      TxFramer framer(rtl.beat_bytes());
      const TxTrain train = framer.Accept(accepted, packet.token);
      // The current cycle is accepted + 1; stop before the last beat's cycle is reached.
      rtl.Idle(train.last_beat_cycle - 1 - rtl.cycle());
      EXPECT_EQ(rtl.TakeFrames().size(), 0u);
      rtl.Idle(1);
      const auto frames = rtl.TakeFrames();
      ASSERT_EQ(frames.size(), 1u);
      EXPECT_EQ(frames[0].train, train);
      EXPECT_EQ(frames[0].train.first_beat_cycle, accepted + TxFramer::kLatency);
      rtl.Idle(2 * TxFramer::kLatency);
      EXPECT_EQ(rtl.TakeFrames().size(), 0u);
    }
  }
}

class TxFramerRtlWidthTest : public testing::TestWithParam<unsigned> {
 protected:
  Random random_{sim::MakeRandom(testing::UnitTest::GetInstance()->current_test_info()->name())};
  std::unique_ptr<TxFramerRtl> rtl_{TxFramerRtl::Make(GetParam(), random_)};
};

INSTANTIATE_TEST_SUITE_P(Rtl, TxFramerRtlWidthTest, testing::Values(64u, 512u));

// Frames leave without a cycle between them, whatever their lengths; so frames of one beat leave in every cycle.
TEST_P(TxFramerRtlWidthTest, LeavesNoCycleBetweenFrames) {
  rtl_->Idle(2);
  std::vector<Packet> packets;
  // 4,154 bytes.
  for (int i = 0; i < 20; ++i) packets.push_back(RandomPacket(BthOpcode::kRcSendMiddle, false, false, 4096, random_));
  // 62 bytes.
  for (int i = 0; i < 200; ++i) packets.push_back(RandomPacket(BthOpcode::kRcAcknowledge, false, false, 0, random_));
  for (int i = 0; i < 200; ++i) packets.push_back(AnyPacket(random_, 200));
  for (const auto& packet : packets) ASSERT_TRUE(rtl_->Send(packet.token, packet.payload, 1000));
  rtl_->Idle(1000);
  const auto frames = rtl_->TakeFrames();
  ASSERT_EQ(frames.size(), packets.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto& [train, bytes] = frames[i];
    const size_t beats = train.last_beat_cycle - train.first_beat_cycle + 1;
    ASSERT_EQ(beats, (bytes.size() + rtl_->beat_bytes() - 1) / rtl_->beat_bytes());
    if (GetParam() == 512 && i < 220) {
      ASSERT_EQ(beats, i < 20 ? 65u : 1u);
    }
    if (i > 0) {
      ASSERT_EQ(train.first_beat_cycle, frames[i - 1].train.last_beat_cycle + 1);
    }
  }
}

TEST_P(TxFramerRtlWidthTest, StartsOneFramePerReadyAndInterruptsNone) {
  bool ready = false;
  rtl_->SetReady([&] { return std::exchange(ready, false); });
  rtl_->Idle(3);
  for (int i = 0; i < 50; ++i) {
    const Packet packet = AnyPacket(random_, 300);
    EXPECT_FALSE(rtl_->Send(packet.token, packet.payload, 40));
    // Ready in this cycle only: accepted in the next.
    ready = true;
    const uint64_t cycle = rtl_->cycle();
    EXPECT_TRUE(rtl_->Send(packet.token, packet.payload, 40));
    EXPECT_EQ(rtl_->cycle() - 1, cycle + TxFramer::kReadyLatency);
    rtl_->Idle(100);
    const auto frames = rtl_->TakeFrames();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].bytes, TxFramer::Frame(packet.token, packet.payload));
  }
  // Unused, it is lost.
  ready = true;
  rtl_->Idle(2);
  EXPECT_FALSE(rtl_->Send(RandomPacket(BthOpcode::kCnp, false, false, 16, random_).token, {}, 40));
}

TEST_P(TxFramerRtlWidthTest, AssertsThatPayloadIsValid) {
  const Packet packet = RandomPacket(BthOpcode::kRcSendOnly, false, false, 500, random_);
  rtl_->Idle(2);
  rtl_->WithholdPayload();
  ASSERT_TRUE(rtl_->Send(packet.token, packet.payload, 1));
  EXPECT_THROW(rtl_->Idle(100), AssertionFailed);
}

TEST_P(TxFramerRtlWidthTest, AssertsThatPayloadIsNotTooLong) {
  rtl_->Idle(2);
  const Packet packet = RandomPacket(BthOpcode::kRcSendOnly, false, false, TxToken::kPayloadBytes + 1, random_);
  EXPECT_THROW(rtl_->Send(packet.token, packet.payload, 1), AssertionFailed);
}

}  // namespace
}  // namespace vireo::verif
