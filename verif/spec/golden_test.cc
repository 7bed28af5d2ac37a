// SPDX-License-Identifier: Apache-2.0
// Frames that Linux sent decode through the contract's accessors into plausible values and encode to the same bytes,
// ICRC included; that of FLUSH as Linux has it.
#include <gtest/gtest.h>

#include <map>

#include "sim/common/pcap.h"
#include "sim/replay/roce_frame.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {
namespace {

using spec::BthOpcode;

// Decodes one frame completely; returns its opcode.
BthOpcode CheckFrame(const sim::Frame& bytes) {
  const sim::ParsedFrame parsed = sim::ParseRoceFrame(bytes.bytes);
  EXPECT_EQ(parsed.kind, sim::ParsedFrame::Kind::kRoce) << parsed.what;
  const sim::RoceFrame& frame = parsed.frame;
  if (frame.is_ipv6) {
    EXPECT_EQ(frame.ipv6.version, 6);
  } else {
    EXPECT_EQ(frame.ipv4.ihl, 5);
    EXPECT_TRUE(frame.ipv4.dont_fragment);
    EXPECT_TRUE(sim::IsChecksumRight(frame));
  }
  EXPECT_GE(frame.udp.source_port, spec::kUdpSourcePortBase);
  EXPECT_EQ(frame.bth.transport_version, 0);
  EXPECT_EQ(frame.bth.pkey, spec::kPkeyDefault);
  const auto& info = frame.info();
  EXPECT_TRUE(info.valid) << "opcode " << static_cast<int>(frame.bth.opcode);
  if (info.has_aeth) {
    EXPECT_NE(frame.aeth.kind, spec::AethKind::kReserved);
  }
  const size_t payload = frame.payload.size() + frame.pad.size();
  switch (info.payload) {
    case spec::PayloadRule::kNone: EXPECT_EQ(payload, 0u); break;
    case spec::PayloadRule::kExact: EXPECT_EQ(payload, info.payload_exact); break;
    case spec::PayloadRule::kMtu: EXPECT_TRUE(payload == 1024 || payload == 4096) << payload; break;
    case spec::PayloadRule::kOneToMtu: EXPECT_GT(payload, 0u); [[fallthrough]];
    case spec::PayloadRule::kZeroToMtu: EXPECT_LE(payload, 4096u); break;
  }
  EXPECT_TRUE(info.may_pad || frame.bth.pad_count == 0);
  const bool is_soft_roce_flush = frame.bth.opcode == BthOpcode::kRcFlush;
  EXPECT_TRUE(is_soft_roce_flush ? sim::IsSoftRoceFlush(frame) : sim::IsIcrcRight(frame));
  EXPECT_EQ(sim::Encode(frame, is_soft_roce_flush), bytes.bytes);
  return frame.bth.opcode;
}

TEST(SpecGolden, LinuxFramesDecodeAndEncodeToTheSameBytes) {
  std::map<BthOpcode, int> seen;
  const auto paths = sim::ListCaptures(VIREO_VECTORS_DIR);
  ASSERT_EQ(paths.size(), 25u);
  int frames = 0;
  for (const auto& path : paths) {
    const sim::Capture capture = sim::ReadPcap(path);
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
  // All but CNP and rc_send_last_with_invalidate, which none of the recorded programs made Linux send.
  EXPECT_EQ(seen.size(), 38u);
}

}  // namespace
}  // namespace vireo::verif
