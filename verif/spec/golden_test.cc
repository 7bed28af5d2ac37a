// SPDX-License-Identifier: Apache-2.0
// Frames that Linux sent decode through the contract's accessors into values that make sense and encode to the same
// bytes.
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"
#include "verif/harness/pcap.h"

namespace vireo::verif {
namespace {

using spec::BthOpcode;

// Walks one frame and puts back together what it reads.
class RoundTrip {
 public:
  explicit RoundTrip(std::span<const uint8_t> frame) : rest_(frame) {}

  template <typename T>
  T Take() {
    if (rest_.size() < T::kBytes) {
      ADD_FAILURE() << "frame ends inside a header of " << T::kBytes << " bytes";
      return {};
    }
    const T header = T::Decode(rest_.data());
    const size_t at = rebuilt_.size();
    rebuilt_.resize(at + T::kBytes);
    header.Encode(rebuilt_.data() + at);
    rest_ = rest_.subspan(T::kBytes);
    return header;
  }
  void TakePayload() { rebuilt_.insert(rebuilt_.end(), rest_.begin(), rest_.end()); }
  size_t left() const { return rest_.size(); }
  const std::vector<uint8_t>& rebuilt() const { return rebuilt_; }

 private:
  std::span<const uint8_t> rest_;
  std::vector<uint8_t> rebuilt_;
};

// Decodes one frame completely; returns its opcode.
BthOpcode CheckFrame(const Frame& frame) {
  RoundTrip walk(frame.bytes);
  const auto ethernet = walk.Take<spec::Ethernet>();
  size_t datagram = walk.left();
  if (ethernet.ethertype == spec::Ethertype::kIpv4) {
    const auto ip = walk.Take<spec::Ipv4>();
    EXPECT_EQ(ip.version, 4);
    EXPECT_EQ(ip.ihl, 5);
    EXPECT_EQ(ip.protocol, spec::IpProtocol::kUdp);
    EXPECT_TRUE(ip.dont_fragment);
    EXPECT_LE(ip.total_length, datagram);
    datagram = ip.total_length - spec::Ipv4::kBytes;
  } else {
    EXPECT_EQ(ethernet.ethertype, spec::Ethertype::kIpv6);
    const auto ip = walk.Take<spec::Ipv6>();
    EXPECT_EQ(ip.version, 6);
    EXPECT_EQ(ip.next_header, spec::IpProtocol::kUdp);
    datagram = ip.payload_length;
  }
  const auto udp = walk.Take<spec::Udp>();
  EXPECT_EQ(udp.destination_port, spec::kUdpPortRocev2);
  EXPECT_EQ(udp.length, datagram);
  EXPECT_GE(udp.source_port, spec::kUdpSourcePortBase);
  const auto bth = walk.Take<spec::Bth>();
  EXPECT_EQ(bth.transport_version, 0);
  EXPECT_EQ(bth.pkey, spec::kPkeyDefault);
  const auto& info = spec::kOpcodeInfo[static_cast<uint8_t>(bth.opcode)];
  EXPECT_TRUE(info.valid) << "opcode " << static_cast<int>(bth.opcode);
  // Headers come in the order of their offsets; every header of the captures is one of these.
  for (size_t offset = spec::Bth::kBytes, end = offset + info.extension_bytes; offset < end;) {
    const size_t before = walk.left();
    if (info.has_reth && info.reth_offset == offset) {
      walk.Take<spec::Reth>();
    } else if (info.has_aeth && info.aeth_offset == offset) {
      const auto aeth = walk.Take<spec::Aeth>();
      EXPECT_NE(aeth.kind, spec::AethKind::kReserved);
    } else if (info.has_deth && info.deth_offset == offset) {
      walk.Take<spec::Deth>();
    } else if (info.has_immdt && info.immdt_offset == offset) {
      walk.Take<spec::Immdt>();
    } else if (info.has_ieth && info.ieth_offset == offset) {
      walk.Take<spec::Ieth>();
    } else if (info.has_atomic_eth && info.atomic_eth_offset == offset) {
      walk.Take<spec::AtomicEth>();
    } else if (info.has_atomic_ack_eth && info.atomic_ack_eth_offset == offset) {
      walk.Take<spec::AtomicAckEth>();
    } else {
      ADD_FAILURE() << "no header at offset " << offset;
      break;
    }
    offset += before - walk.left();
  }
  const size_t payload = walk.left() - spec::kIcrcBytes;
  switch (info.payload) {
    case spec::PayloadRule::kNone: EXPECT_EQ(payload, 0u); break;
    case spec::PayloadRule::kExact: EXPECT_EQ(payload, info.payload_exact); break;
    case spec::PayloadRule::kMtu: EXPECT_TRUE(payload == 1024 || payload == 4096) << payload; break;
    case spec::PayloadRule::kOneToMtu: EXPECT_GT(payload, 0u); [[fallthrough]];
    case spec::PayloadRule::kZeroToMtu: EXPECT_LE(payload, 4096u); break;
  }
  EXPECT_TRUE(info.may_pad || bth.pad_count == 0);
  walk.TakePayload();
  EXPECT_EQ(walk.rebuilt(), frame.bytes);
  return bth.opcode;
}

TEST(SpecGolden, FramesOfLinuxDecodeAndEncodeToTheSameBytes) {
  std::map<BthOpcode, int> seen;
  const auto paths = ListCaptures(VIREO_VECTORS_DIR);
  ASSERT_EQ(paths.size(), 24u);
  int frames = 0;
  for (const auto& path : paths) {
    const Capture capture = ReadPcap(path);
    ASSERT_EQ(capture.error, "");
    EXPECT_FALSE(capture.frames.empty()) << path;
    for (const auto& frame : capture.frames) {
      ++frames;
      ++seen[CheckFrame(frame)];
      if (HasFailure()) FAIL() << path << ", frame " << frames;
    }
  }
  std::printf("%d frames, %zu of the table's opcodes\n", frames, seen.size());
  for (const auto& [opcode, count] : seen) std::printf("  %-36s %6d\n", ToString(opcode), count);
  // All but CNP, FLUSH and rc_send_last_with_invalidate, which none of the recorded programs made Linux send.
  EXPECT_EQ(seen.size(), 37u);
}

}  // namespace
}  // namespace vireo::verif
