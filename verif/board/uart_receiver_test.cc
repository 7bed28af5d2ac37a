// SPDX-License-Identifier: Apache-2.0
// The serial receiver: bytes of senders that are slower or faster, noise, bytes without a stop bit.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "Vuart_receiver.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/device/rtl_coverage.h"

namespace vireo::sim {
namespace {

constexpr double kCyclesPerBit = 16;

class Receiver {
 public:
  Receiver() {
    rtl_.rx_i = 1;
    rtl_.rst_ni = 0;
    Hold(1, 4);
    rtl_.rst_ni = 1;
    Hold(1, 40);
  }
  ~Receiver() {
    rtl_.final();
    KeepCoverage(context_);
  }
  // The line has this level for so many cycles, of which the fraction adds up.
  void Hold(int level, double cycles) {
    until_ += cycles;
    for (; now_ < until_; ++now_) {
      rtl_.rx_i = level != 0;
      rtl_.clk_i = 1;
      rtl_.eval();
      rtl_.clk_i = 0;
      rtl_.eval();
      if (rtl_.valid_o != 0) bytes.push_back(rtl_.data_o);
    }
  }
  void Byte(uint8_t byte, double cycles_per_bit, int stop = 1) {
    Hold(0, cycles_per_bit);
    for (int i = 0; i < 8; ++i) Hold(byte >> i & 1, cycles_per_bit);
    Hold(stop, cycles_per_bit);
  }
  std::vector<uint8_t> bytes;

 private:
  VerilatedContext context_;
  Vuart_receiver rtl_{&context_};
  double now_ = 0, until_ = 0;
};

TEST(UartReceiver, TakesBytesBackToBackAtRatesOfThreePercentAround) {
  std::mt19937_64 random = MakeRandom("uart");
  for (const double error : {-0.03, -0.01, 0.0, 0.01, 0.03}) {
    Receiver receiver;
    std::vector<uint8_t> sent(500);
    for (uint8_t& byte : sent) {
      byte = static_cast<uint8_t>(random());
      receiver.Byte(byte, kCyclesPerBit * (1 + error));
      if (UniformBelow(random, 4) == 0) receiver.Hold(1, static_cast<double>(UniformBelow(random, 100)));
    }
    receiver.Hold(1, 400);
    EXPECT_EQ(receiver.bytes, sent) << error;
  }
}

TEST(UartReceiver, IgnoresNoiseShorterThanHalfABit) {
  Receiver receiver;
  for (int i = 0; i < 20; ++i) {
    receiver.Hold(0, kCyclesPerBit / 2 - 2);
    receiver.Hold(1, 200);
  }
  EXPECT_TRUE(receiver.bytes.empty());
  receiver.Byte(0x5a, kCyclesPerBit);
  EXPECT_EQ(receiver.bytes, std::vector<uint8_t>{0x5a});
}

TEST(UartReceiver, DropsABreakAndAByteWithoutAStopBit) {
  Receiver receiver;
  receiver.Byte(0xff, kCyclesPerBit, /*stop=*/0);
  receiver.Hold(1, 400);
  receiver.Byte(0x11, kCyclesPerBit);
  receiver.Hold(1, 40);
  EXPECT_EQ(receiver.bytes.back(), 0x11);
  const size_t before = receiver.bytes.size();
  receiver.Hold(0, 10 * kCyclesPerBit);
  receiver.Hold(1, 400);
  EXPECT_EQ(receiver.bytes.size(), before);
}

}  // namespace
}  // namespace vireo::sim
