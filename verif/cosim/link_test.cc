// SPDX-License-Identifier: Apache-2.0
// A link that goes down and up: events at the host, and no loss of acknowledged data.
// [virtio 1.3, 5.1.4; IBTA vol. 1, 11.6.3.2 and 11.6.3.3]
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/traffic/net_frame.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::RdmaEventType;

class Link : public PairTest {
 protected:
  host::VirtioNetDevice& net(size_t number) { return system_->host(number).device().net(); }
  void TakeDown(uint64_t ns) {
    const Picoseconds now = system_->scheduler().now();
    system_->topology().wire(0).TakeDown(now + ns * kPicosecondsPerNanosecond);
  }
  bool IsUp(size_t number) {
    const auto config = net(number).ReadNetConfig();
    EXPECT_TRUE(config.ok());
    return config.ok() && (config->status & spec::NetStatus::kLinkUp) != 0;
  }
  struct Notifications {
    std::vector<RdmaEventType> ports;
    unsigned config_changes = 0;
  };
  Notifications Events(size_t number) {
    Notifications notified;
    for (;;) {
      const auto event = system_->host(number).device().PollEvent();
      EXPECT_TRUE(event.ok());
      if (!event.ok() || !event->has_value()) return notified;
      EXPECT_NE((*event)->kind, host::DeviceEvent::Kind::kNeedsReset);
      if ((*event)->kind == host::DeviceEvent::Kind::kConfigChanged) ++notified.config_changes;
      if ((*event)->kind != host::DeviceEvent::Kind::kRdma) continue;
      EXPECT_EQ((*event)->rdma.element, spec::kRdmaPortNum);
      notified.ports.push_back((*event)->rdma.event_type);
    }
  }
  std::vector<RdmaEventType> Reported(RdmaEventType type) const {
    return has_additions() ? std::vector{type} : std::vector<RdmaEventType>();
  }
  void ExpectNotified(RdmaEventType type) {
    for (size_t i = 0; i < 2; ++i) {
      SCOPED_TRACE("host " + std::to_string(i));
      const Notifications notified = Events(i);
      EXPECT_EQ(notified.ports, Reported(type));
      EXPECT_GE(notified.config_changes, 1u);
      EXPECT_EQ(IsUp(i), type == RdmaEventType::kPortActive);
    }
  }
};

TEST_P(Link, LinkDownAndUpIsReportedOnBothSidesAndConnectionsSurvive) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  constexpr uint64_t kMessages = 12;
  constexpr uint32_t kBytes = 2048;
  constexpr uint64_t kFar = 32'768;  // for the other host's bytes
  for (size_t from = 0; from < 2; ++from) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      PostSend(Remote(spec::IbWrOpcode::kRdmaWrite, i, {side(from).region->Sge(i * kBytes, kBytes)}, kFar + i * kBytes,
                      from),
               from);
    }
  }
  RunFor(3'000);  // some are in flight
  TakeDown(400'000);
  RunFor(100'000);
  ExpectNotified(RdmaEventType::kPortErr);
  for (size_t from = 0; from < 2; ++from) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      ExpectNext(from, i, spec::IbWcStatus::kSuccess, kSecondNs);
    }
  }
  RunFor(50'000);
  ExpectNotified(RdmaEventType::kPortActive);
  for (size_t from = 0; from < 2; ++from) {
    const uint8_t* const sent = side(from).memory->data();
    const uint8_t* const there = side(1 - from).memory->data() + kFar;
    EXPECT_EQ(Bytes(there, there + kMessages * kBytes), Bytes(sent, sent + kMessages * kBytes));
  }
}

// The net queues continue as well: frames sent meanwhile are lost, as on any line without carrier.
TEST_P(Link, LinkDownLosesFramesAndStallsNoQueue) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  const auto frame = [this](uint64_t seed) {
    return PlainFrame(system_->host(1).mac(), system_->host(0).mac(), 200, seed);
  };
  TakeDown(500'000);
  for (uint64_t i = 0; i < 3; ++i) {
    RunFor(20'000);
    ASSERT_TRUE(net(0).transmit(0).Send(frame(i), {}).ok());
  }
  ExpectNotified(RdmaEventType::kPortErr);
  RunFor(600'000);
  ExpectNotified(RdmaEventType::kPortActive);
  ASSERT_TRUE(net(0).transmit(0).Send(frame(7), {}).ok());
  const auto received = net(1).Receive(0, system_->host(1).function().NowNs() + kSecondNs / 1000);
  ASSERT_TRUE(received.ok() && received->has_value());
  EXPECT_EQ((*received)->bytes, frame(7));
}

TEST_P(Link, DriverStartedWithLinkDownSeesItComeUp) {
  Build();
  ASSERT_FALSE(HasFatalFailure());
  TakeDown(30'000'000);
  RunFor(50'000);
  system_->host(0).Close();
  ASSERT_EQ(system_->host(0).Open(), "");
  EXPECT_FALSE(IsUp(0));
  EXPECT_TRUE(Events(0).ports.empty());
  EXPECT_EQ(Events(1).ports, Reported(RdmaEventType::kPortErr));
  // Likewise a driver whose device comes out of a hardware reset.
  system_->host(1).Close();
  system_->Reset(1);
  ASSERT_EQ(system_->host(1).Open(), "");
  EXPECT_FALSE(IsUp(1));
  RunFor(30'000'000);
  ExpectNotified(RdmaEventType::kPortActive);
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  PostSend(Remote(spec::IbWrOpcode::kRdmaWrite, 1, {near().region->Sge(0, 100)}, 4096));
  ExpectNext(0, 1, spec::IbWcStatus::kSuccess);
}

VIREO_ON_EVERY_DEVICE(Link);

}  // namespace
}  // namespace vireo::sim
