// SPDX-License-Identifier: Apache-2.0
// Go-back-N costs what was on its way when the NAK came, not what waited in the NIC: those frames are not sent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "sim/bench/go_back_n.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kMtuBytes = 4096, kMessageBytes = 16384, kMessages = 32;
constexpr uint32_t kPackets = kMessages * kMessageBytes / kMtuBytes;
constexpr uint32_t kBeforeBth = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes;
constexpr MacParameters kMac;
// Between the core and the line, in frames.
constexpr uint32_t kMacFrames = kMac.buffer_bytes / kMtuBytes;
// In the NIC behind the place where they are dropped, and those that are begun while the hold takes effect.
constexpr uint32_t kBegunFrames = 6;

class GoBack : public PairTest, protected EventSink {
 protected:
  void OnEvent(const BoundaryEvent& event) override {
    if (event.nic != 0 || event.kind != EventKind::kTransmitEnd || event.payload.size() < kMtuBytes) return;
    const auto bth = spec::Bth::Decode(event.payload.data() + kBeforeBth);
    ++frames_;
    psns_.insert(bth.psn);
  }
  uint32_t frames_ = 0;  // of data
  std::set<uint32_t> psns_;
};

TEST_P(GoBack, FramesThatWaitBehindALossAreNotSent) {
  for (const unsigned nth : {2, 9}) {
    SCOPED_TRACE(nth);
    BuildWith({fmt::format("drop opcode=rc_rdma_write_first nth={}", nth), ""});
    ASSERT_FALSE(HasFatalFailure());
    // The timeout is longer than the time of all frames.
    Connect({.path_mtu = spec::IbMtu::kMtu4096,
             .connection = {.timeout = static_cast<uint8_t>(has_fast_wire() ? 10 : 16), .retry_cnt = 7}});
    ASSERT_FALSE(HasFatalFailure());
    system_->topology().station(0).tap().AddSink(*this);
    frames_ = 0;
    psns_.clear();
    for (uint32_t i = 0; i < kMessages; ++i) {
      const uint32_t place = i % 4 * kMessageBytes;
      PostSend(Remote(IbWrOpcode::kRdmaWrite, i, {near().region->Sge(place, kMessageBytes)}, place));
    }
    for (uint32_t i = 0; i < kMessages; ++i) ExpectNext(0, i, IbWcStatus::kSuccess, 50'000'000);
    EXPECT_EQ(std::memcmp(far().memory->data(), near().memory->data(), 4 * size_t{kMessageBytes}), 0);
    EXPECT_EQ(system_->topology().faults_out(0)->hits().front(), 1U);
    EXPECT_EQ(psns_.size(), kPackets);
    LossyLine line = LineOf(system_->topology().wire(0), kMac, kMtuBytes);
    line.most_frames = kPackets;
    const auto away = static_cast<uint32_t>(FramesPerLoss(line));
    fmt::print("{} frames more than packets, {} of them on the line\n", frames_ - kPackets, away);
    EXPECT_GE(frames_, kPackets + 1);
    EXPECT_LE(frames_, kPackets + away + kMacFrames + kBegunFrames);
    TearDown();
    system_.reset();
  }
}

VIREO_ON_EVERY_DEVICE(GoBack);

}  // namespace
}  // namespace vireo::sim
