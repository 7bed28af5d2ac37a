// SPDX-License-Identifier: Apache-2.0
// Net packets in, frames out, RTL and model side by side: payload as the gather drives it, frames as the builder takes
// them. The expected output is computed here byte by byte from the packet.
#include "model/eth/net_checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vnet_checksum_512.h"
#include "Vnet_checksum_64.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::NetChecksum;
using spec::NetHdr;
using spec::NetHdrFlags;
using spec::TxPacket;

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr size_t kBufferBytes = 16384;  // of the RTL's parameters
constexpr size_t kMaxFrameBytes = 9728;
constexpr size_t kMinFrameBytes = spec::Ethernet::kBytes;

// A packet's length fits into its field.
static_assert(NetHdr::kBytes + kMaxFrameBytes < 1u << 14);

Bytes RandomBytes(Random& random, size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// RFC 1071, byte by byte: the ones' complement sum of 16-bit words from `start` on.
uint32_t SumFrom(const Bytes& bytes, size_t start, uint32_t sum = 0) {
  for (size_t i = start; i < bytes.size(); ++i) {
    sum += (i - start) % 2 == 0 ? static_cast<uint32_t>(bytes[i] << 8) : bytes[i];
    if (sum > 0xffff) sum -= 0xffff;
  }
  return sum;
}

// The expected frame, with padding; nothing if the packet is dropped.
std::optional<Bytes> Expected(const Bytes& packet) {
  Bytes frame(packet.begin() + 12, packet.end());
  if (packet[1] != 0) return std::nullopt;
  if ((packet[0] & 1) != 0) {
    const size_t start = packet[6] + 256u * packet[7];
    const size_t at = start + packet[8] + 256u * packet[9];
    if (at + 2 > frame.size()) return std::nullopt;
    uint32_t checksum = 0xffff - SumFrom(frame, start);
    if (checksum == 0) checksum = 0xffff;
    frame[at] = static_cast<uint8_t>(checksum >> 8);
    frame[at + 1] = static_cast<uint8_t>(checksum);
  }
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

Bytes Packet(const NetHdr& header, const Bytes& frame) {
  Bytes packet(NetHdr::kBytes);
  header.Encode(packet.data());
  packet.insert(packet.end(), frame.begin(), frame.end());
  return packet;
}
NetHdr NeedsCsum(size_t start, size_t offset) {
  return {.flags = NetHdrFlags::kNeedsCsum,
          .csum_start = static_cast<uint16_t>(start),
          .csum_offset = static_cast<uint16_t>(offset)};
}
// Fields that the device must ignore.
NetHdr RandomHeader(Random& random) {
  return {.flags = static_cast<uint8_t>(random() & 0xfe),
          .hdr_len = static_cast<uint16_t>(random()),
          .gso_size = static_cast<uint16_t>(random()),
          .csum_start = static_cast<uint16_t>(random()),
          .csum_offset = static_cast<uint16_t>(random()),
          .num_buffers = static_cast<uint16_t>(random())};
}

template <typename Top>
typename RtlTop<Top>::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.packet_ready_o, top.payload_ready_o, top.net_valid_o, top.drop_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto length = BytesOf(top.net_bytes_o);
    bytes.insert(bytes.end(), length.begin(), length.end());
    const auto data = BytesOf(top.net_data_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
  };
}

// Payload as the gather drives it: valid with its packet, then one beat in every cycle. The model must take it in the
// RTL's cycles.
template <typename Top>
class Payload final : public BenchStream, public model::PayloadSource {
 public:
  Payload(Top& top, Random& random) : top_(top), random_(random) {}

  void Add(const Bytes& packet) {
    for_rtl_.push_back(packet);
    for_model_.push_back(packet);
  }
  Bytes TakePayload(Cycle first) override {
    if (first < end_) difference = "the model takes two payloads at once";
    Bytes payload = std::move(for_model_.front());
    for_model_.pop_front();
    first_ = first;
    end_ = first + (payload.size() + kBeatBytes - 1) / kBeatBytes;
    firsts.push_back(first_);
    lasts.push_back(end_ - 1);
    return payload;
  }
  void Begin(Cycle cycle) override {
    const bool wanted = first_ <= cycle && cycle < end_;
    if ((top_.payload_ready_o != 0) != wanted) {
      difference = "payload: cycle " + std::to_string(cycle) + (wanted ? ": only the model" : ": only the RTL");
    }
    top_.payload_valid_i = taken_ < accepted();
    Scramble(top_.payload_data_i, random_);
    if (top_.payload_valid_i == 0) return;
    const auto beat = BytesOf(top_.payload_data_i);
    for (size_t i = 0; i < beat.size(); ++i) beat[i] = at_ + i < for_rtl_[0].size() ? for_rtl_[0][at_ + i] : 0;
  }
  void End(Cycle) override {
    if (top_.payload_ready_o == 0) return;
    at_ += kBeatBytes;
    if (at_ < for_rtl_[0].size()) return;
    for_rtl_.pop_front();
    at_ = 0;
    ++taken_;
  }
  bool IsEmpty() const override { return for_rtl_.empty(); }

  std::function<uint64_t()> accepted;  // packets, until the cycle before
  std::vector<Cycle> firsts, lasts;    // beats of every payload

 private:
  static constexpr size_t kBeatBytes = sizeof(Top::payload_data_i);
  Top& top_;
  Random& random_;
  std::deque<Bytes> for_rtl_, for_model_;
  size_t at_ = 0;
  uint64_t taken_ = 0;
  Cycle first_ = 0;
  Cycle end_ = 0;
};

// Takes frames as the builder does, each in one train, and compares pulses and levels of RTL and model.
template <typename Top>
class Wire final : public BenchStream {
 public:
  Wire(Top& top, NetChecksum& block, Random& random) : top_(top), block_(block), random_(random) {
    top.net_ready_i = 0;
    block.on_drop = [this](Cycle cycle) { model_drops.push_back(cycle); };
  }

  void Begin(Cycle cycle) override {
    if ((top_.idle_o != 0) != block_.IsIdle()) {
      Differ(cycle, std::string("idle: ") + (top_.idle_o != 0 ? "only the RTL" : "only the model"));
    }
    if (!frame_) {
      if ((top_.net_valid_o != 0) != block_.HasFrame(cycle)) {
        Differ(cycle, std::string("a frame: ") + (top_.net_valid_o != 0 ? "only the RTL" : "only the model"));
      } else if (top_.net_valid_o != 0) {
        if (!seen_) visible.push_back(cycle);
        seen_ = true;
        if (random_() % 16 < rate) {
          first_ = cycle + random_() % (delay + 1);
          frame_ = block_.TakeFrame(first_);
          at_ = 0;
        }
      }
    }
    top_.net_ready_i = frame_ && first_ <= cycle;
  }
  void End(Cycle cycle) override {
    const bool model_drop = !model_drops.empty() && model_drops.back() == cycle;
    if ((top_.drop_o != 0) != model_drop) {
      Differ(cycle, std::string("drop: ") + (model_drop ? "only the model" : "only the RTL"));
    }
    if (!frame_) return;
    if (top_.net_valid_o == 0) return Differ(cycle, "a gap");
    if (top_.net_bytes_o != frame_->size()) return Differ(cycle, "length " + std::to_string(top_.net_bytes_o));
    const auto beat = BytesOf(top_.net_data_o);
    for (size_t i = 0; i < beat.size(); ++i) {
      if (beat[i] != (at_ + i < frame_->size() ? (*frame_)[at_ + i] : 0)) {
        return Differ(cycle, "byte " + std::to_string(at_ + i) + " of a frame of " + std::to_string(frame_->size()));
      }
    }
    if (top_.net_ready_i == 0) return;
    at_ += beat.size();
    if (at_ < frame_->size()) return;
    lasts.push_back(cycle);
    frames.push_back(std::move(*frame_));
    frame_.reset();
    seen_ = false;
  }
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  unsigned delay = 0;  // maximum cycles from visible to taken
  std::vector<Bytes> frames;
  std::vector<Cycle> visible, lasts;
  std::vector<Cycle> model_drops;

 private:
  void Differ(Cycle cycle, const std::string& text) { difference = "cycle " + std::to_string(cycle) + ": " + text; }

  Top& top_;
  NetChecksum& block_;
  Random& random_;
  std::optional<Bytes> frame_;  // being taken, or to be taken from first_ on
  Cycle first_ = 0;
  size_t at_ = 0;
  bool seen_ = false;
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::net_data_o);

  Bench(RtlTop<Top>& rtl, Random& shared) : random(shared), p(rtl.ports()), bench(rtl, agenda, random) {
    payload.accepted = [this] { return packet.accepted; };
  }

  void Add(const Bytes& bytes) {
    TxPacket token{};
    TxPacket::Visit(token, [&](const char*, auto& field, unsigned bits) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(random() & (~uint64_t{0} >> (64 - bits)));
    });
    token.payload_bytes = static_cast<uint16_t>(bytes.size());
    packet.tokens.push_back(token);
    payload.Add(bytes);
    if (std::optional<Bytes> frame = Expected(bytes)) {
      expected.push_back(std::move(*frame));
    } else {
      ++drops;
    }
  }
  // `bad`: in 16ths, how often the header deliberately requests an unsupported offload.
  void AddRandom(unsigned bad) {
    size_t bytes = kMinFrameBytes;
    switch (random() % 8) {
      case 0: bytes += random() % 9715; break;
      case 1: bytes += 1500; break;
      case 2: bytes += random() % 1500; break;
      default: bytes += random() % 200; break;
    }
    const Bytes frame = RandomBytes(random, bytes);
    NetHdr header = RandomHeader(random);
    if (random() % 4 != 0) {
      const size_t at = random() % (bytes - 1);
      header.csum_start = static_cast<uint16_t>(random() % (at + 1));
      header.csum_offset = static_cast<uint16_t>(at - header.csum_start);
      header.flags |= NetHdrFlags::kNeedsCsum;
      if (random() % 16 < bad) header.csum_offset = static_cast<uint16_t>(random());
    }
    if (random() % 16 < bad) header.gso_type = static_cast<spec::NetHdrGso>(random() % 32);
    if (random() % 16 < bad) header.gso_ecn = true;
    Add(Packet(header, frame));
  }
  // Everything has passed and is as expected.
  void Finish() {
    ASSERT_EQ(bench.RunOut(0), "");
    for (unsigned i = 0; i < 2000 && !block.IsIdle(); ++i) ASSERT_EQ(bench.Run(100), "");
    ASSERT_EQ(bench.Run(20), "");
    EXPECT_TRUE(block.IsIdle());
    EXPECT_EQ(wire.model_drops.size(), drops);
    ASSERT_EQ(wire.frames.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(wire.frames[i], expected[i]) << "frame " << i;
  }

  Random& random;
  Top& p;
  model::Agenda agenda;
  Payload<Top> payload{p, random};
  NetChecksum block{agenda, kBeatBytes, kBufferBytes, payload};
  Wire<Top> wire{p, block, random};
  BlockBench<Top> bench;
  // Before the stream: compares the state before the cycle.
  const bool others_ = (bench.AddOther(payload), bench.AddOther(wire), true);
  decltype(bench.In("packet", block.packet_in, p.packet_valid_i, p.packet_ready_o, p.packet_i)) packet =
      bench.In("packet", block.packet_in, p.packet_valid_i, p.packet_ready_o, p.packet_i);
  std::vector<Bytes> expected;
  size_t drops = 0;
};

template <typename Top>
class NetChecksumTest : public testing::Test {
 protected:
  Random random = sim::MakeRandom("net_checksum");
  RtlTop<Top> rtl{Outputs<Top>()};
  Bench<Top> b{rtl, random};
};
struct WidthNames {
  template <typename Top>
  static std::string GetName(int) {
    return "Bits" + std::to_string(8 * sizeof(Top::net_data_o));
  }
};
using Tops = testing::Types<Vnet_checksum_64, Vnet_checksum_512>;
TYPED_TEST_SUITE(NetChecksumTest, Tops, WidthNames);

TYPED_TEST(NetChecksumTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned packet, wire, delay, bad;
  };
  for (const Rates rates : {Rates{16, 16, 0, 0}, Rates{16, 16, 2, 4}, Rates{1, 16, 0, 2}, Rates{16, 1, 3, 2},
                            Rates{16, 2, 300, 1}, Rates{5, 5, 5, 15}}) {
    Bench<TypeParam> b(this->rtl, this->random);
    b.packet.rate = rates.packet;
    b.wire.rate = rates.wire;
    b.wire.delay = rates.delay;
    for (unsigned i = 0; i < 1000; ++i) b.AddRandom(rates.bad);
    ASSERT_NO_FATAL_FAILURE(b.Finish());
    this->rtl.Reset();
  }
}

// Every offset of the field in a beat, over two beats, too; sums from even and odd bytes, before and at the field.
TYPED_TEST(NetChecksumTest, InsertsTheChecksumAtEveryOffset) {
  auto& b = this->b;
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  for (size_t at = 0; at <= 2 * kBeat + 1; ++at) {
    for (const size_t before : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{16}, kBeat, kBeat + 3}) {
      if (before > at) continue;
      for (const size_t behind : {size_t{0}, size_t{1}, b.random() % (2 * kBeat)}) {
        const size_t bytes = std::max(at + 2 + behind, kMinFrameBytes);
        b.Add(Packet(NeedsCsum(at - before, before), RandomBytes(b.random, bytes)));
      }
    }
  }
  b.Finish();
}

TYPED_TEST(NetChecksumTest, SumsFromEveryStartToEveryEnd) {
  auto& b = this->b;
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  for (size_t bytes = kMinFrameBytes; bytes <= 60 + 2 * kBeat + 2; ++bytes) {
    const Bytes frame = RandomBytes(b.random, bytes);
    for (const bool odd : {false, true}) {
      const size_t start = 2 * (b.random() % (bytes / 2 - 1)) + (odd ? 1 : 0);
      b.Add(Packet(NeedsCsum(start, bytes - 2 - start), frame));
      b.Add(Packet(NeedsCsum(start, 0), frame));
    }
    b.Add(Packet({}, frame));
  }
  for (size_t start = 0; start <= kBeat + 1; ++start) {
    b.Add(Packet(NeedsCsum(start, 1), RandomBytes(b.random, 2 * kBeat + 40)));
  }
  b.Finish();
}

// Every byte 0xff, the largest possible sum; the longest frame from its first byte.
TYPED_TEST(NetChecksumTest, SumsTheLongestFrame) {
  auto& b = this->b;
  for (size_t bytes = kMaxFrameBytes - 3; bytes <= kMaxFrameBytes; ++bytes) {
    b.Add(Packet(NeedsCsum(0, 0), Bytes(bytes, 0xff)));
    b.Add(Packet(NeedsCsum(1, bytes - 3), Bytes(bytes, 0xff)));
    b.Add(Packet(NeedsCsum(0, 17), RandomBytes(b.random, bytes)));
    b.Add(Packet(NeedsCsum(bytes - 2, 0), RandomBytes(b.random, bytes)));
    b.Add(Packet({}, RandomBytes(b.random, bytes)));
  }
  b.Finish();
}

TYPED_TEST(NetChecksumTest, MatchesTheExampleOfRfc1071) {
  auto& b = this->b;
  Bytes frame = RandomBytes(b.random, 14);
  for (const int byte : {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0}) {  // RFC 1071, 3: its sum is 0xddf2
    frame.push_back(static_cast<uint8_t>(byte));
  }
  b.Add(Packet(NeedsCsum(14, 8), frame));
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  EXPECT_EQ(b.wire.frames.at(0)[22], 0x22);
  EXPECT_EQ(b.wire.frames.at(0)[23], 0x0d);
}

TYPED_TEST(NetChecksumTest, NeverSendsZeroAsAChecksum) {
  auto& b = this->b;
  for (const size_t start : {size_t{14}, size_t{15}}) {
    Bytes frame(40, 0);
    b.Add(Packet(NeedsCsum(start, 6), frame));  // sum 0
    frame[start] = 0xab;
    frame[start + 1] = 0xcd;
    frame[start + 8] = 0x54;
    frame[start + 9] = 0x32;
    b.Add(Packet(NeedsCsum(start, 6), frame));  // sum 0xffff
    frame[start + 9] = 0x33;
    b.Add(Packet(NeedsCsum(start, 6), frame));  // sum 1
  }
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  for (size_t i = 0; i < 6; ++i) {
    const size_t at = (i < 3 ? 14u : 15u) + 6;
    EXPECT_EQ(b.wire.frames.at(i)[at], 0xff);
    EXPECT_EQ(b.wire.frames.at(i)[at + 1], i % 3 == 2 ? 0xfe : 0xff);
  }
}

// Segments as a driver's stack makes them: the field holds the pseudo header's sum. The output must be right for a
// receiver, which sums pseudo header and segment. [RFC 9293, 3.1; RFC 768; RFC 8200, 8.1]
TYPED_TEST(NetChecksumTest, TcpAndUdpSegmentsHaveCorrectChecksums) {
  auto& b = this->b;
  struct Segment {
    size_t start;
    Bytes pseudo;
  };
  std::vector<Segment> segments;
  for (unsigned i = 0; i < 200; ++i) {
    const bool tagged = b.random() % 2 != 0;
    const bool ip6 = b.random() % 2 != 0;
    const bool tcp = b.random() % 2 != 0;
    const size_t start = 14 + (tagged ? 4 : 0) + (ip6 ? 40 : 20);
    const size_t length = (tcp ? 20 : 8) + b.random() % (i % 10 == 0 ? 8900 : 1460);
    Bytes frame = RandomBytes(b.random, start + length);
    if (!tcp) {
      frame[start + 4] = static_cast<uint8_t>(length >> 8);
      frame[start + 5] = static_cast<uint8_t>(length);
    }
    // Both addresses, then the same for both: protocol and length.
    Bytes pseudo(frame.begin() + static_cast<std::ptrdiff_t>(start - (ip6 ? 32 : 8)),
                 frame.begin() + static_cast<std::ptrdiff_t>(start));
    for (const size_t byte : {size_t{0}, size_t{tcp ? 6u : 17u}, length >> 8, length & 0xff}) {
      pseudo.push_back(static_cast<uint8_t>(byte));
    }
    const size_t offset = tcp ? 16 : 6;
    const uint32_t sum = SumFrom(pseudo, 0);
    frame[start + offset] = static_cast<uint8_t>(sum >> 8);
    frame[start + offset + 1] = static_cast<uint8_t>(sum);
    b.Add(Packet(NeedsCsum(start, offset), frame));
    segments.push_back({start, pseudo});
  }
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  ASSERT_EQ(b.wire.frames.size(), segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    // Padding is zero, so it changes nothing.
    EXPECT_EQ(SumFrom(b.wire.frames[i], segments[i].start, SumFrom(segments[i].pseudo, 0)), 0xffffu) << "frame " << i;
  }
}

TYPED_TEST(NetChecksumTest, PadsShortFramesWithZeros) {
  auto& b = this->b;
  for (size_t bytes = kMinFrameBytes; bytes <= 61; ++bytes) b.Add(Packet({}, Bytes(bytes, 0xee)));
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  for (size_t i = 0; i < b.wire.frames.size(); ++i) {
    const Bytes& frame = b.wire.frames[i];
    const size_t bytes = kMinFrameBytes + i;
    EXPECT_EQ(frame.size(), std::max<size_t>(bytes, spec::kEthernetFrameBytesMin));
    EXPECT_EQ(std::count(frame.begin(), frame.end(), 0xee), bytes);
  }
}

TYPED_TEST(NetChecksumTest, IgnoresAllOtherHeaderFields) {
  auto& b = this->b;
  for (unsigned i = 0; i < 50; ++i) {
    const Bytes frame = RandomBytes(b.random, 14 + b.random() % 150);
    b.Add(Packet(RandomHeader(b.random), frame));
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), b.expected.back().begin()));
    NetHdr header = RandomHeader(b.random);
    header.flags |= NetHdrFlags::kNeedsCsum;
    header.csum_start = 3;
    header.csum_offset = 4;
    b.Add(Packet(header, frame));
  }
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  EXPECT_EQ(b.drops, 0u);
}

TYPED_TEST(NetChecksumTest, DropsUnsupportedOffloads) {
  auto& b = this->b;
  const Bytes frame = RandomBytes(b.random, 100);
  for (unsigned bit = 0; bit < 8; ++bit) {  // every kind of segmentation, and its flags
    for (const uint8_t flags : {uint8_t{0}, NetHdrFlags::kNeedsCsum}) {
      Bytes packet = Packet({.flags = flags}, frame);
      packet[1] = static_cast<uint8_t>(1u << bit);
      b.Add(packet);
      b.Add(Packet({}, frame));
    }
  }
  EXPECT_EQ(b.drops, 16u);
  // The field ends with the frame, or one byte behind it, or far behind.
  for (const size_t bytes : {size_t{14}, size_t{63}, size_t{64}, size_t{65}, size_t{8192}, kMaxFrameBytes}) {
    const Bytes any = RandomBytes(b.random, bytes);
    const size_t before = b.drops;
    for (const size_t start : {size_t{0}, size_t{5}, bytes - 2})
      b.Add(Packet(NeedsCsum(start, bytes - 2 - start), any));
    b.Add(Packet({.csum_start = 0xffff, .csum_offset = 0xffff}, any));
    EXPECT_EQ(b.drops, before);
    for (const size_t start : {size_t{0}, size_t{5}, bytes - 1})
      b.Add(Packet(NeedsCsum(start, bytes - 1 - start), any));
    b.Add(Packet(NeedsCsum(0x4000, 0), any));
    b.Add(Packet(NeedsCsum(0, 0x4000), any));
    b.Add(Packet(NeedsCsum(0x8000, 0x8000), any));  // sums that wrap around
    b.Add(Packet(NeedsCsum(0xffff, 0xffff), any));
    b.Add(Packet(NeedsCsum(0xffff, 1), any));
    b.Add(Packet(NeedsCsum(0xfffe, 0xffff), any));
    EXPECT_EQ(b.drops, before + 9);
  }
  b.Finish();
}

TYPED_TEST(NetChecksumTest, DropsFreeAllOfTheirRoom) {
  auto& b = this->b;
  for (unsigned i = 0; i < 300; ++i) {
    b.Add(Packet({.gso_type = spec::NetHdrGso::kTcpv4}, RandomBytes(b.random, 14 + b.random() % 3000)));
  }
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  EXPECT_EQ(b.drops, 300u);
  // All of it: two frames fill it.
  for (unsigned i = 0; i < 2; ++i) b.Add(Packet(NeedsCsum(20, 20), RandomBytes(b.random, kBufferBytes / 2)));
  b.wire.rate = 0;
  ASSERT_EQ(b.bench.Run(4 * kBufferBytes / b.kBeatBytes), "");
  EXPECT_TRUE(b.payload.IsEmpty());
  b.wire.rate = 16;
  b.Finish();
}

// Behind a frame that waits, the third has room only after the second one was dropped.
TYPED_TEST(NetChecksumTest, RoomOfADropIsFreeOneCycleLater) {
  auto& b = this->b;
  b.wire.rate = 0;
  b.Add(Packet({}, RandomBytes(b.random, kBufferBytes / 2)));
  b.Add(Packet({.gso_ecn = true}, RandomBytes(b.random, kBufferBytes / 2)));
  b.Add(Packet({}, RandomBytes(b.random, kBufferBytes / 2)));
  ASSERT_EQ(b.bench.Run(4 * kBufferBytes / b.kBeatBytes), "");
  ASSERT_EQ(b.wire.model_drops.size(), 1u);
  EXPECT_EQ(b.payload.firsts.at(2), b.wire.model_drops[0] + 2);  // taken one cycle before
  b.wire.rate = 16;
  b.Finish();
}

TYPED_TEST(NetChecksumTest, StallsWhileTheBufferIsFull) {
  auto& b = this->b;
  for (unsigned i = 0; i < 9; ++i) {
    b.Add(Packet(NeedsCsum(1, 2), RandomBytes(b.random, 3000)));
    b.AddRandom(0);
  }
  while (b.payload.firsts.size() < b.expected.size()) {
    b.wire.rate = 0;
    ASSERT_EQ(b.bench.Run(6000), "") << "long enough to fill it";
    b.wire.rate = 16;
    ASSERT_EQ(b.bench.Run(1 + b.random() % 300), "");
  }
  b.Finish();
}

TYPED_TEST(NetChecksumTest, HoldsAsManyBytesAsItHasRoomFor) {
  auto& b = this->b;
  b.wire.rate = 0;
  for (unsigned i = 0; i < 3; ++i) b.Add(Packet({}, RandomBytes(b.random, kBufferBytes / 2)));
  ASSERT_EQ(b.bench.Run(4 * kBufferBytes / b.kBeatBytes), "");
  EXPECT_EQ(b.payload.firsts.size(), 2u);
  b.wire.rate = 16;
  ASSERT_EQ(b.bench.Run(kBufferBytes / b.kBeatBytes), "");
  // With the last beat of a frame its room is free, not earlier.
  EXPECT_EQ(b.payload.firsts.at(2), b.wire.lasts.at(0) + 2);
  b.Finish();
}

TYPED_TEST(NetChecksumTest, HoldsAsManyFramesAsItHasRoomFor) {
  auto& b = this->b;
  constexpr size_t kFrames = Bench<TypeParam>::kBeatBytes < spec::kDmaFetchBytes ? 16 : 64;
  b.wire.rate = 0;
  for (unsigned i = 0; i < 3 * kFrames; ++i) {
    b.Add(Packet(NeedsCsum(i % 12, 0), RandomBytes(b.random, 14 + b.random() % 60)));
  }
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.payload.firsts.size(), kFrames);
  EXPECT_EQ(b.packet.accepted, kFrames + 2);
  b.wire.rate = 1;
  b.Finish();
}

// The first beat of payload, the frame, the drop: not at n - 1, but at n; for every length.
TYPED_TEST(NetChecksumTest, MeetsDocumentedLatencies) {
  static_assert(NetChecksum::kTakeLatency == 2 && NetChecksum::kLatency == 11 && NetChecksum::kDropLatency == 2);
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  auto& p = this->rtl.ports();
  for (size_t bytes = kMinFrameBytes; bytes <= kMinFrameBytes + 2 * kBeat; ++bytes) {
    for (const bool good : {true, false}) {
      Bench<TypeParam> b(this->rtl, this->random);
      ASSERT_EQ(b.bench.Run(5), "");
      EXPECT_NE(p.idle_o, 0);
      b.wire.rate = 0;
      Bytes packet = Packet(NeedsCsum(3, 5), RandomBytes(b.random, bytes));
      if (!good) packet[1] = 1;
      b.Add(packet);
      const size_t beats = (12 + bytes + kBeat - 1) / kBeat;
      ASSERT_EQ(b.bench.Run(1), "");  // the push
      EXPECT_EQ(p.payload_ready_o, 0);
      ASSERT_EQ(b.bench.Run(1), "");
      EXPECT_EQ(p.payload_ready_o, 1);
      ASSERT_EQ(b.payload.firsts, std::vector<Cycle>{5 + 2});
      ASSERT_EQ(b.bench.Run(beats - 1), "");
      EXPECT_EQ(p.payload_ready_o, 1);  // the last beat
      ASSERT_EQ(b.bench.Run(1), "");
      EXPECT_EQ(p.payload_ready_o, 0);
      if (good) {
        ASSERT_EQ(b.bench.Run(9), "");
        EXPECT_EQ(p.net_valid_o, 0);
        ASSERT_EQ(b.bench.Run(1), "");
        EXPECT_EQ(p.net_valid_o, 1);
        b.wire.rate = 16;
      } else {
        EXPECT_EQ(p.drop_o, 0);
        EXPECT_EQ(p.idle_o, 0);
        ASSERT_EQ(b.bench.Run(1), "");
        EXPECT_EQ(p.drop_o, 1);
        EXPECT_EQ(p.idle_o, 0) << "not idle while a counter is pending";
        ASSERT_EQ(b.bench.Run(1), "");
        EXPECT_EQ(p.drop_o, 0);
        EXPECT_EQ(p.idle_o, 1);
      }
      ASSERT_NO_FATAL_FAILURE(b.Finish());
    }
  }
}

// A frame without checksum is visible a fixed time after its first beat, not at n - 1, but at n, however long it is;
// one that is shorter after its end. It is whole: the wire takes a beat in every cycle.
TYPED_TEST(NetChecksumTest, FramesWithoutChecksumDoNotWaitForTheirEnd) {
  static_assert(NetChecksum::kForwardLatency == 12);
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  constexpr size_t kHeaderBeats = (NetHdr::kBytes + kBeat - 1) / kBeat;
  for (const size_t bytes : {kMinFrameBytes, size_t{52}, size_t{100}, size_t{1514}, kBufferBytes / 2}) {
    Bench<TypeParam> b(this->rtl, this->random);
    b.Add(Packet({}, RandomBytes(b.random, bytes)));
    ASSERT_NO_FATAL_FAILURE(b.Finish());
    const Cycle push = b.payload.firsts.at(0) - NetChecksum::kTakeLatency;
    EXPECT_EQ(b.wire.visible.at(0), std::min(push + kHeaderBeats + NetChecksum::kForwardLatency,
                                             b.payload.lasts.at(0) + NetChecksum::kLatency));
    this->rtl.Reset();
  }
}

// Frames with and without checksum leave in the order of their packets, behind each other without a bubble in the
// payload, and sums start from 0 behind a frame that was not summed.
TYPED_TEST(NetChecksumTest, FramesWithAndWithoutChecksumStayInOrder) {
  auto& b = this->b;
  for (unsigned i = 0; i < 200; ++i) {
    b.Add(Packet(i % 2 == 0 ? NeedsCsum(1, 7) : NetHdr{}, RandomBytes(b.random, 14 + b.random() % 400)));
  }
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  for (size_t i = 1; i < 200; ++i) ASSERT_EQ(b.payload.firsts[i], b.payload.lasts[i - 1] + 1);
}

// A beat goes in and a beat leaves in every cycle, also of frames of one beat.
TYPED_TEST(NetChecksumTest, SustainsOneBeatPerCycle) {
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  for (const size_t beats : {size_t{60} / kBeat + 1, size_t{9}, size_t{40}}) {
    Bench<TypeParam> b(this->rtl, this->random);
    for (unsigned i = 0; i < 300; ++i) {
      b.Add(Packet(NeedsCsum(7, 3), RandomBytes(b.random, beats * kBeat - NetHdr::kBytes)));
    }
    ASSERT_NO_FATAL_FAILURE(b.Finish());
    for (size_t i = 1; i < 300; ++i) {
      ASSERT_EQ(b.payload.firsts[i], b.payload.lasts[i - 1] + 1);
      ASSERT_EQ(b.wire.visible[i], b.payload.lasts[i] + NetChecksum::kLatency);
    }
    this->rtl.Reset();
  }
}

// Waiting frames leave back to back.
TYPED_TEST(NetChecksumTest, FramesLeaveWithoutABubble) {
  auto& b = this->b;
  b.wire.rate = 0;
  for (unsigned i = 0; i < 40; ++i) b.Add(Packet(NeedsCsum(1, 7), RandomBytes(b.random, 14 + b.random() % 250)));
  ASSERT_EQ(b.bench.Run(3000), "");
  b.wire.rate = 16;
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  for (size_t i = 1; i < 40; ++i) {
    const size_t beats = (b.wire.frames[i].size() + b.kBeatBytes - 1) / b.kBeatBytes;
    EXPECT_EQ(b.wire.lasts[i], b.wire.lasts[i - 1] + beats);
  }
}

// The model does not run while only others can change its state.
TYPED_TEST(NetChecksumTest, ModelSleepsWhileItWaits) {
  auto& b = this->b;
  b.wire.rate = 0;
  for (unsigned i = 0; i < 70; ++i) b.Add(Packet({}, RandomBytes(b.random, 100)));
  ASSERT_EQ(b.bench.Run(3000), "");
  EXPECT_EQ(b.agenda.next(), model::kUnknown);
  b.wire.rate = 16;
  ASSERT_NO_FATAL_FAILURE(b.Finish());
  EXPECT_EQ(b.agenda.next(), model::kUnknown);
}

TYPED_TEST(NetChecksumTest, ResetClearsAllState) {
  for (unsigned round = 0; round < 30; ++round) {
    {
      Bench<TypeParam> b(this->rtl, this->random);
      b.wire.rate = round % 3 == 0 ? 16 : 1;
      for (unsigned i = 0; i < 100; ++i) b.AddRandom(2);
      ASSERT_EQ(b.bench.Run(5 + b.random() % (round % 2 == 0 ? 100 : 2000)), "");
    }
    auto& p = this->rtl.ports();
    p.packet_valid_i = 0;
    p.payload_valid_i = 0;
    p.net_ready_i = 0;
    this->rtl.Reset();
    EXPECT_EQ(p.idle_o, 1);
    EXPECT_EQ(p.net_valid_o, 0);
  }
  Bench<TypeParam> b(this->rtl, this->random);
  for (unsigned i = 0; i < 50; ++i) b.AddRandom(2);
  b.Finish();
}

// The model's frames are taken in one train. The RTL's reader may also stop within a frame.
TYPED_TEST(NetChecksumTest, BeatStaysUntilTaken) {
  auto& rtl = this->rtl;
  auto& p = rtl.ports();
  constexpr size_t kBeat = Bench<TypeParam>::kBeatBytes;
  Random random = sim::MakeRandom("net_checksum stalls");
  Bytes payload;  // of all packets, each padded to a whole beat
  std::deque<uint16_t> lengths;
  Bytes expected, got;
  for (unsigned i = 0; i < 200; ++i) {
    const Bytes packet = Packet(NeedsCsum(9, 30), RandomBytes(random, 41 + random() % 600));
    lengths.push_back(static_cast<uint16_t>(packet.size()));
    payload.insert(payload.end(), packet.begin(), packet.end());
    payload.resize((payload.size() + kBeat - 1) / kBeat * kBeat);
    const Bytes frame = *Expected(packet);
    expected.insert(expected.end(), frame.begin(), frame.end());
    expected.resize((expected.size() + kBeat - 1) / kBeat * kBeat);
  }
  size_t at = 0;
  for (unsigned cycle = 0; cycle < 100'000 && got.size() < expected.size(); ++cycle) {
    p.packet_valid_i = !lengths.empty();
    if (!lengths.empty()) SetPort(p.packet_i, TxPacket{.payload_bytes = lengths.front()});
    if (!lengths.empty() && p.packet_ready_o != 0) lengths.pop_front();
    p.payload_valid_i = at < payload.size();
    for (size_t i = 0; i < kBeat && at < payload.size(); ++i) BytesOf(p.payload_data_i)[i] = payload[at + i];
    if (p.payload_ready_o != 0) at += kBeat;
    p.net_ready_i = random() % 4 == 0;
    if (p.net_valid_o != 0 && p.net_ready_i != 0) {
      const auto beat = BytesOf(p.net_data_o);
      got.insert(got.end(), beat.begin(), beat.end());
    }
    rtl.Clock();
  }
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace vireo::verif
