// SPDX-License-Identifier: Apache-2.0
// Waveforms of the cycles before a mismatch, with pins that write their times into a text file.
#include "sim/device/waveform_ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace vireo::sim {
namespace {

class TextPins final : public NicPins {
 public:
  void Reset(unsigned) override {}
  bool Clock(const NicInputs& inputs) override {
    if (file_.is_open()) file_ << inputs.time_ns << "\n";
    return true;
  }
  const NicOutputs& outputs() const override { return outputs_; }
  bool StartTrace(const std::string& path) override {
    file_.open(path);
    return file_.is_open();
  }
  void StopTrace() override { file_.close(); }

 private:
  NicOutputs outputs_;
  std::ofstream file_;
};

std::vector<uint64_t> Times(const std::string& path) {
  std::ifstream file(path);
  std::vector<uint64_t> times;
  for (uint64_t time = 0; file >> time;) times.push_back(time);
  return times;
}

// Two devices, the second of which sleeps every other cycle; a cycle takes 4 ns.
struct World {
  explicit World(WaveformRing::Options options = {.directory = testing::TempDir(), .cycles = 100, .interval = 20})
      : ring(std::make_shared<WaveformRing>(std::move(options))) {
    for (const char* name : {"nic0", "nic1"}) {
      pins.push_back(WaveformRing::Watch(ring, name, std::make_unique<TextPins>()));
    }
  }
  ~World() {
    for (const std::string& path : ring->files()) unlink(path.c_str());
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  void RunTo(uint64_t end) {
    for (; cycle < end; ++cycle) {
      pins[0]->Clock({.time_ns = 4 * cycle});
      if (cycle % 2 == 0) pins[1]->Clock({.time_ns = 4 * cycle});
    }
  }

  uint64_t cycle = 0;
  std::shared_ptr<WaveformRing> ring;
  std::vector<std::unique_ptr<NicPins>> pins;
};

TEST(WaveformRing, HasEveryCycleFromASnapshotToTheMismatch) {
  World world;
  world.RunTo(556);
  const std::string text = world.ring->OnMismatch();
  ASSERT_EQ(world.ring->files().size(), 2U) << text;
  EXPECT_NE(text.find(world.ring->files()[1]), std::string::npos) << text;
  const std::vector<uint64_t> times = Times(world.ring->files()[0]);
  ASSERT_GE(times.size(), 100U) << text;
  EXPECT_LT(times.size(), 100U + 20U);
  EXPECT_EQ(times.back(), 4U * 555U);
  EXPECT_EQ(times.size(), 556 - times.front() / 4) << "a cycle is missing";
  EXPECT_EQ(Times(world.ring->files()[1]).back(), 4U * 554U);
}

TEST(WaveformRing, HasAllOfAShortRun) {
  World world;
  world.RunTo(7);
  static_cast<void>(world.ring->OnMismatch());
  ASSERT_EQ(world.ring->files().size(), 2U);
  EXPECT_EQ(Times(world.ring->files()[0]).size(), 7U);
}

TEST(WaveformRing, WritesOnlyForTheFirstMismatch) {
  World world;
  world.RunTo(30);
  static_cast<void>(world.ring->OnMismatch());
  world.RunTo(300);
  EXPECT_EQ(world.ring->OnMismatch().substr(0, 5), "none:");
  EXPECT_EQ(world.ring->files().size(), 2U);
}

TEST(WaveformRing, ReportsAMissingWaveform) {
  World before;
  EXPECT_EQ(before.ring->OnMismatch().substr(0, 5), "none:");
  World nowhere({.directory = "/nonexistent", .cycles = 100, .interval = 20});
  nowhere.RunTo(30);
  EXPECT_EQ(nowhere.ring->OnMismatch().substr(0, 5), "none:");
}

TEST(WaveformRing, ReplayWithoutTheMismatchGivesNoWaveform) {
  const pid_t original = getpid();
  auto world = std::make_unique<World>();
  world->RunTo(30);
  if (getpid() != original) {
    world.reset();  // the copy ends here
    FAIL() << "the copy did not exit";
  }
  EXPECT_EQ(world->ring->OnMismatch().substr(0, 5), "none:");
}

TEST(WaveformRing, ConfiguredFromTheEnvironment) {
  setenv("VIREO_WAVEFORM", "off", 1);
  EXPECT_EQ(WaveformRing::FromEnvironment(), nullptr);
  setenv("VIREO_WAVEFORM", "/tmp", 1);
  EXPECT_NE(WaveformRing::FromEnvironment(), nullptr);
  unsetenv("VIREO_WAVEFORM");
}

}  // namespace
}  // namespace vireo::sim
