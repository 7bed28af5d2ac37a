// SPDX-License-Identifier: Apache-2.0
// A received frame through all stateless frame parsers: the receive parser, the net classifier, the fault injector's
// parser, and the contract's codecs. Parsers must agree, parsed headers must encode to the same bytes, and a frame with
// a bit flipped in its protected part must not be accepted.
//
// Input: a byte of Flags, two bytes that choose a bit, then the frame without check sequence.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/eth/net_classify.h"
#include "model/rdma/icrc.h"
#include "model/rdma/rx_parser.h"
#include "sim/traffic/forged_frame.h"
#include "verif/fuzz/recorded.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

enum Flags : uint8_t { kMacError = 1, kMakeRight = 2 };
constexpr size_t kMaxFrame = 16'383;  // the classifier's limit
constexpr size_t kTagBytes = 4;       // IEEE 802.1Q

// Every bit pattern is a valid header and round-trips.
template <typename Header>
void ExpectCodec(std::span<const uint8_t> bytes) {
  if (bytes.size() < Header::kBytes) return;
  uint8_t again[Header::kBytes]{};
  Header::Decode(bytes.data()).Encode(again);
  EXPECT_TRUE(std::equal(again, again + Header::kBytes, bytes.begin()));
}

void ExpectPacket(Bytes frame, const model::RxToken& token, uint16_t bit) {
  const auto roce = FindRoce(frame);
  ASSERT_TRUE(roce.has_value());
  EXPECT_EQ(roce->ip_offset, token.l3_offset);
  EXPECT_EQ(roce->is_ipv6, token.is_ipv6);
  EXPECT_EQ(roce->bth_offset, token.bth_offset);
  uint8_t bth[spec::Bth::kBytes];
  token.bth.Encode(bth);
  EXPECT_TRUE(std::ranges::equal(bth, std::span(frame).subspan(token.bth_offset, sizeof bth)));
  ASSERT_EQ(token.payload_offset, token.bth_offset + spec::Bth::kBytes + token.info.extension_bytes);
  const size_t end = size_t{token.payload_offset} + token.payload_bytes + token.bth.pad_count + spec::kIcrcBytes;
  ASSERT_LE(end, frame.size());
  EXPECT_TRUE(model::IcrcCheck(std::span(frame).subspan(token.l3_offset, end - token.l3_offset), token.is_ipv6));
  if (!token.is_ipv6) {
    EXPECT_TRUE(MayBeAccepted(frame));
  }
  // Everything from the destination queue pair on is protected, including the ICRC. [IBTA vol. 1, A17.3.3]
  constexpr size_t kFirst = 5;
  const size_t bits = 8 * (end - token.bth_offset - kFirst);
  const size_t flipped = 8 * (token.bth_offset + kFirst) + bit % bits;
  frame[flipped / 8] = static_cast<uint8_t>(frame[flipped / 8] ^ 1U << flipped % 8);
  EXPECT_NE(model::RxParser::Parse(frame, false).verdict, spec::RxVerdict::kRoce)
      << "with bit " << flipped << " flipped";
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const auto& frame : RecordedFrames()) {
    Bytes seed = {static_cast<uint8_t>(seeds.size() % 2 == 0 ? kMakeRight : 0), 7, 1};
    Append(seed, frame);
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo;       // NOLINT(google-build-using-namespace)
  using namespace vireo::sim;  // NOLINT(google-build-using-namespace)
  InputReader input({data, size});
  const uint8_t flags = input.Byte();
  const uint16_t bit = input.U16();
  const auto rest = input.Rest();
  if (rest.empty() || rest.size() > kMaxFrame) return 0;
  Bytes frame(rest.begin(), rest.end());
  if ((flags & kMakeRight) != 0) FixAll(frame);
  const bool mac_error = (flags & kMacError) != 0;
  const model::RxToken token = model::RxParser::Parse(frame, mac_error);
  EXPECT_EQ(token.frame_bytes, frame.size());
  EXPECT_LE(token.l3_offset, spec::Ethernet::kBytes + kTagBytes);
  if (mac_error) {
    EXPECT_NE(token.verdict, spec::RxVerdict::kRoce);
  }
  if (token.verdict == spec::RxVerdict::kRoce) ExpectPacket(frame, token, bit);
  // Unprotected frames are accepted by no parser.
  if (!MayBeAccepted(frame) && !token.is_ipv6) {
    EXPECT_NE(token.verdict, spec::RxVerdict::kRoce);
  }
  const spec::NetClass net = model::NetClassify::Classify(frame);
  for (size_t i = 0; i < std::min<size_t>(frame.size(), 6); ++i) EXPECT_EQ(net.destination_mac[i], frame[i]);
  ExpectCodec<spec::Ethernet>(rest);
  ExpectCodec<spec::Ipv4>(rest);
  ExpectCodec<spec::Ipv6>(rest);
  ExpectCodec<spec::Udp>(rest);
  ExpectCodec<spec::Bth>(rest);
  ExpectCodec<spec::Deth>(rest);
  ExpectCodec<spec::Reth>(rest);
  ExpectCodec<spec::Aeth>(rest);
  ExpectCodec<spec::AtomicEth>(rest);
  ExpectCodec<spec::AtomicAckEth>(rest);
  ExpectCodec<spec::Immdt>(rest);
  return 0;
}
