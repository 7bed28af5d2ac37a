// SPDX-License-Identifier: Apache-2.0
// Both ring formats against mock_ring's device side: every buffer is returned once, notifications are neither lost nor
// spurious, and the driver rejects invalid values of a malicious device.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "host/driver/packed_ring.h"
#include "host/driver/split_ring.h"
#include "sim/common/seed.h"
#include "verif/host/driver/mock_device.h"

namespace vireo::sim {
namespace {

using host::ErrorCode;
using host::Segment;
using host::Token;
using host::UsedBuffer;
using host::Virtqueue;

struct RingCase {
  bool packed;
  uint16_t indirect_segments;
  bool event_idx;
  uint16_t size;
};

std::string NameOf(const testing::TestParamInfo<RingCase>& info) {
  const RingCase& ring = info.param;
  return std::string(ring.packed ? "Packed" : "Split") + std::to_string(ring.size) +
         (ring.indirect_segments > 0 ? "Indirect" : "") + (ring.event_idx ? "EventIdx" : "");
}

// A ring with driver and device side, and memory for buffers.
class RingBench {
 public:
  static constexpr uint32_t kPoolBytes = 1 << 16;

  explicit RingBench(const RingCase& ring_case) : case_(ring_case), device_(MockDeviceOptions{}) {
    device_.WriteConfig(spec::PciHeader::kCommandOffset, 2, spec::PciCommand::kBusMaster);
    pool_ = device_.AllocateDma(kPoolBytes, 64).value();
    const host::RingOptions options{.event_idx = case_.event_idx, .indirect_segments = case_.indirect_segments};
    driver_ = case_.packed ? host::PackedRing::Create(device_, case_.size, options).value()
                           : host::SplitRing::Create(device_, case_.size, options).value();
    Restart();
  }

  // Resets the device side; same ring.
  void Restart() {
    const host::RingAddresses at = driver_->addresses();
    const MockRingSetup setup{.size = case_.size,
                              .descriptors = at.descriptors,
                              .driver = at.driver,
                              .device = at.device,
                              .event_idx = case_.event_idx,
                              .indirect = case_.indirect_segments > 0};
    ring_ = case_.packed ? MakeMockPackedRing(device_, setup) : MakeMockSplitRing(device_, setup);
  }

  Virtqueue& driver() { return *driver_; }
  MockRing& device() { return *ring_; }
  MockDevice& function() { return device_; }
  uint64_t pool() const { return pool_->address(); }
  const RingCase& ring_case() const { return case_; }

  Segment Piece(uint32_t offset, uint32_t bytes) const { return {pool_->address() + offset, bytes}; }

  host::Status AddReadable(Token token, uint32_t bytes = 8) {
    const Segment segment = Piece(0, bytes);
    return driver_->Add({&segment, 1}, {}, token);
  }
  host::Status AddWritable(Token token, uint32_t bytes = 8) {
    const Segment segment = Piece(0, bytes);
    return driver_->Add({}, {&segment, 1}, token);
  }

 private:
  const RingCase case_;
  MockDevice device_;
  host::DmaBuffer pool_;
  std::unique_ptr<Virtqueue> driver_;
  std::unique_ptr<MockRing> ring_;
};

class VirtqueueTest : public testing::TestWithParam<RingCase> {};

// --- Random operations -----------------------------------------------------------------------------------------------

// One run of random operations; a simple reference tracks the expected state of both sides.
class RandomRun {
 public:
  explicit RandomRun(const RingCase& ring_case)
      : bench_(ring_case), random_(MakeRandom(testing::UnitTest::GetInstance()->current_test_info()->name())) {
    // One buffer, of up to 5 segments, stays outstanding for the whole run, while the others wrap around it.
    keeps_one_ = ring_case.size > 5;
  }

  void Step() {
    switch (Pick(8)) {
      case 0:
      case 1: Add(); break;
      case 2: Publish(); break;
      case 3: Fetch(); break;
      case 4: SleepOrRequestDoorbell(); break;
      case 5: Use(); break;
      case 6: Harvest(); break;
      case 7: SwitchInterrupts(); break;
    }
  }

  void Finish() {
    // Unharvested tokens are returned now, once, oldest first.
    std::vector<Token> expected;
    for (const auto& [token, buffer] : outstanding_) expected.push_back(token);  // tokens are ascending
    EXPECT_EQ(bench_.driver().outstanding(), expected.size());
    EXPECT_EQ(bench_.driver().Detach(), expected);
    EXPECT_EQ(bench_.driver().outstanding(), 0);
    EXPECT_EQ(bench_.driver().free_descriptors(), bench_.ring_case().size);
    EXPECT_TRUE(bench_.driver().Detach().empty());
    EXPECT_EQ(bench_.device().violations(), std::vector<std::string>());
  }

  uint64_t completed() const { return completed_; }

 private:
  struct Buffer {
    std::vector<MockSegment> segments;
    uint32_t room = 0;
  };
  struct AtDevice {
    Token token;
    MockChain chain;
  };

  uint32_t Pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void Add() {
    for (uint32_t count = 1 + Pick(4); count > 0; --count) {
      const uint32_t segments = 1 + Pick(std::min<uint32_t>(bench_.ring_case().size, 5));
      const uint32_t readable = Pick(segments + 1);
      Buffer buffer;
      std::vector<Segment> out;
      std::vector<Segment> in;
      for (uint32_t i = 0; i < segments; ++i) {
        const Segment piece = bench_.Piece(Pick(RingBench::kPoolBytes / 2), 1 + Pick(RingBench::kPoolBytes / 2));
        (i < readable ? out : in).push_back(piece);
        buffer.segments.push_back({piece.address, piece.bytes, i >= readable});
        if (i >= readable) buffer.room += piece.bytes;
      }
      const bool indirect = segments > 1 && segments <= bench_.ring_case().indirect_segments;
      const uint32_t needed = indirect ? 1 : segments;
      const uint16_t free_before = bench_.driver().free_descriptors();
      const host::Status added = bench_.driver().Add(out, in, next_token_);
      ASSERT_EQ(added.ok(), needed <= free_before);
      if (!added.ok()) {
        EXPECT_EQ(added.error().code, ErrorCode::kNoSpace);
        return;
      }
      EXPECT_EQ(bench_.driver().free_descriptors(), free_before - needed);
      outstanding_[next_token_] = buffer;
      unpublished_.push_back(next_token_++);
    }
  }

  void Publish() {
    MockRing& device = bench_.device();
    const uint64_t before = device.AvailableEnd();
    const bool kick = bench_.driver().Publish();
    const uint64_t after = device.AvailableEnd();
    // Entries are chains in a split ring and descriptors in a packed one; in both, new ones appear if buffers were
    // added.
    EXPECT_EQ(after > before, !unpublished_.empty());
    bool expected = false;
    const uint64_t modulus = bench_.ring_case().packed ? 2 * uint64_t{bench_.ring_case().size} : 65536;
    for (uint64_t entry = before; entry < after; ++entry) {
      expected |= doorbell_mode_ == DoorbellMode::kAlways ||
                  (doorbell_mode_ == DoorbellMode::kAt && (entry + 65536 * modulus - doorbell_at_) % modulus == 0);
    }
    EXPECT_EQ(kick, expected);
    kicked_ |= kick;
    published_.insert(published_.end(), unpublished_.begin(), unpublished_.end());
    unpublished_.clear();
  }

  void Fetch() {
    if (asleep_ && !kicked_) {
      // The device must have been notified of all published buffers.
      EXPECT_TRUE(published_.empty());
      return;
    }
    asleep_ = kicked_ = false;
    for (uint32_t count = Pick(8); count > 0; --count) {
      std::optional<MockChain> chain = bench_.device().Fetch();
      ASSERT_EQ(chain.has_value(), !published_.empty());
      if (!chain.has_value()) return;
      const Token token = published_.front();
      published_.pop_front();
      ASSERT_EQ(chain->segments, outstanding_[token].segments);
      at_device_.push_back({token, *chain});
    }
  }

  void SleepOrRequestDoorbell() {
    MockRing& device = bench_.device();
    if (asleep_) return;
    switch (Pick(3)) {
      case 0:
        device.EnableDoorbell();
        doorbell_mode_ = bench_.ring_case().event_idx ? DoorbellMode::kAt : DoorbellMode::kAlways;
        doorbell_at_ = device.fetched();
        asleep_ = device.AvailableEnd() == device.fetched();
        break;
      case 1:
        device.DisableDoorbell();
        doorbell_mode_ =
            bench_.ring_case().event_idx && !bench_.ring_case().packed ? DoorbellMode::kAt : DoorbellMode::kNever;
        doorbell_at_ = device.fetched() + 65535;
        break;
      case 2:
        if (!bench_.ring_case().event_idx) return;
        doorbell_mode_ = DoorbellMode::kAt;
        doorbell_at_ = device.fetched() + Pick(bench_.ring_case().size);
        device.EnableDoorbellAt(doorbell_at_);
        break;
    }
  }

  void Use() {
    const size_t kept = keeps_one_ ? 1 : 0;
    if (at_device_.size() <= kept) return;
    uint32_t count = 1 + Pick(static_cast<uint32_t>(at_device_.size() - kept));
    const bool in_order = Pick(2) == 0;
    for (; count > 0; --count) {
      const size_t index = kept + (in_order ? 0 : Pick(static_cast<uint32_t>(at_device_.size() - kept)));
      const AtDevice done = at_device_[index];
      at_device_.erase(at_device_.begin() + static_cast<ptrdiff_t>(index));
      const uint32_t room = outstanding_[done.token].room;
      const uint32_t written = room == 0 ? 0 : Pick(2) == 0 ? room : Pick(room + 1);
      bench_.device().Use(done.chain, written);
      used_.push_back({done.token, written});
      ++used_since_disable_;
    }
    const bool interrupt = bench_.device().PublishUsed();
    if (must_interrupt_) {
      EXPECT_TRUE(interrupt);
    }
    if (!enabled_ && used_since_disable_ < 60000) {
      EXPECT_FALSE(interrupt);
    }
    must_interrupt_ = false;
  }

  void Harvest() {
    for (uint32_t count = Pick(2 * bench_.ring_case().size + 1); count > 0; --count) {
      const host::Result<std::optional<UsedBuffer>> used = bench_.driver().Harvest();
      ASSERT_TRUE(used.ok()) << host::ToString(used.error());
      ASSERT_EQ(used->has_value(), !used_.empty());
      if (!used->has_value()) {
        must_interrupt_ = enabled_;
        return;
      }
      must_interrupt_ = false;
      EXPECT_EQ((*used)->token, used_.front().token);
      EXPECT_EQ((*used)->written, used_.front().written);
      EXPECT_EQ(outstanding_.erase((*used)->token), 1U);
      used_.pop_front();
      ++completed_;
    }
  }

  void SwitchInterrupts() {
    if (Pick(2) == 0) {
      bench_.driver().DisableInterrupts();
      enabled_ = must_interrupt_ = false;
      used_since_disable_ = 0;
    } else {
      const bool waiting = bench_.driver().EnableInterrupts();
      EXPECT_EQ(waiting, !used_.empty());
      enabled_ = true;
      must_interrupt_ = !waiting;
    }
  }

  RingBench bench_;
  std::mt19937_64 random_;
  bool keeps_one_ = false;
  Token next_token_ = 1;
  std::map<Token, Buffer> outstanding_;
  std::vector<Token> unpublished_;
  std::deque<Token> published_;
  std::vector<AtDevice> at_device_;
  std::deque<UsedBuffer> used_;
  uint64_t completed_ = 0;

  enum class DoorbellMode { kNever, kAlways, kAt };
  // A new ring is all zeros: without event_idx that means "always", with event_idx "at entry 0" in a split ring and
  // "always" in a packed one.
  DoorbellMode doorbell_mode_ =
      bench_.ring_case().event_idx && !bench_.ring_case().packed ? DoorbellMode::kAt : DoorbellMode::kAlways;
  uint64_t doorbell_at_ = 0;
  bool asleep_ = false;
  bool kicked_ = false;

  bool enabled_ = true;
  bool must_interrupt_ = true;
  uint64_t used_since_disable_ = 0;
};

TEST_P(VirtqueueTest, RandomOperationsLoseNoBufferAndNotifyExactly) {
  constexpr int kSteps = 200'000;
  RandomRun run(GetParam());
  for (int i = 0; i < kSteps && !HasFailure(); ++i) run.Step();
  run.Finish();
  EXPECT_GT(run.completed(), kSteps / 200U);
}

TEST_P(VirtqueueTest, IndicesWrapManyTimes) {
  // At least 5 wraps of a 16-bit index; many more of a packed ring's wrap counter.
  constexpr Token kBuffers = 350'000;
  RingBench bench(GetParam());
  Token added = 0;
  Token harvested = 0;
  std::vector<Segment> out;
  std::vector<Segment> in;
  while (harvested < kBuffers && !HasFailure()) {
    for (;;) {
      out.assign(1, bench.Piece(static_cast<uint32_t>(added % 1000), 16));
      in.assign(bench.ring_case().size > 2 ? added % 2 : 0, bench.Piece(2000, 32));
      if (!bench.driver().Add(out, in, added).ok()) break;
      ++added;
    }
    bench.driver().Publish();
    std::vector<MockChain> chains;
    while (std::optional<MockChain> chain = bench.device().Fetch()) chains.push_back(*chain);
    ASSERT_FALSE(chains.empty());
    for (const MockChain& chain : chains) bench.device().Use(chain, static_cast<uint32_t>(chain.Room()));
    bench.device().PublishUsed();
    for (const MockChain& chain : chains) {
      const auto used = bench.driver().Harvest();
      ASSERT_TRUE(used.ok() && used->has_value());
      EXPECT_EQ((*used)->token, harvested);
      EXPECT_EQ((*used)->written, chain.Room());
      ++harvested;
    }
  }
  EXPECT_EQ(bench.device().violations(), std::vector<std::string>());
}

// Two threads, to test the memory barriers and the recheck rules. A lost notification is a hang, which the deadline
// detects.
TEST_P(VirtqueueTest, NoNotificationIsLost) {
  constexpr Token kBuffers = 30'000;
  RingBench bench(GetParam());
  std::atomic<bool> doorbell = false;
  std::atomic<bool> interrupt = false;
  std::atomic<bool> stop = false;
  const auto wait_for = [&](std::atomic<bool>& flag) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!flag.exchange(false)) {
      if (stop || std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  };

  std::thread device([&] {
    MockRing& ring = bench.device();
    while (!stop) {
      ring.DisableDoorbell();
      while (std::optional<MockChain> chain = ring.Fetch()) {
        ring.Use(*chain, static_cast<uint32_t>(chain->Room()));
        if (ring.PublishUsed()) interrupt = true;
      }
      ring.EnableDoorbell();
      if (ring.AvailableEnd() != ring.fetched()) continue;
      if (!wait_for(doorbell)) return;
    }
  });

  Token added = 0;
  Token harvested = 0;
  bool hung = false;
  while (harvested < kBuffers && !hung) {
    while (added < kBuffers && added - harvested < bench.ring_case().size && bench.AddWritable(added).ok()) ++added;
    if (bench.driver().Publish()) doorbell = true;
    bench.driver().DisableInterrupts();
    for (;;) {
      const auto used = bench.driver().Harvest();
      if (!used.ok()) {
        ADD_FAILURE() << host::ToString(used.error());
        hung = true;
        break;
      }
      if (used->has_value()) {
        EXPECT_EQ((*used)->token, harvested);
        ++harvested;
        continue;
      }
      if (bench.driver().EnableInterrupts()) continue;
      break;
    }
    if (bench.driver().outstanding() == bench.ring_case().size && !hung) hung = !wait_for(interrupt);
  }
  EXPECT_FALSE(hung) << "after " << harvested << " buffers";
  stop = true;
  device.join();
  EXPECT_EQ(bench.device().violations(), std::vector<std::string>());
}

// The same with one buffer at a time and both sides racing: the device uses the buffer while the driver enables the
// interrupt and rechecks.
class InterruptRaceTest : public testing::TestWithParam<RingCase> {};

TEST_P(InterruptRaceTest, EnableInterruptsRacesWithUsedBuffer) {
  constexpr Token kBuffers = 20'000;
  RingBench bench(GetParam());
  std::atomic<Token> given = 0;
  std::atomic<Token> interrupts = 0;
  std::atomic<bool> stop = false;
  std::thread device([&] {
    for (Token token = 0; token < kBuffers; ++token) {
      while (given.load() <= token) {
        if (stop) return;
        std::this_thread::yield();
      }
      const MockChain chain = bench.device().Fetch().value();
      bench.device().Use(chain, 0);
      if (bench.device().PublishUsed()) interrupts = token + 1;
    }
  });
  std::mt19937_64 random = MakeRandom("race");
  bool hung = false;
  for (Token token = 0; token < kBuffers && !hung; ++token) {
    ASSERT_TRUE(bench.AddWritable(token).ok());
    bench.driver().DisableInterrupts();
    bench.driver().Publish();
    const uint64_t spin = random() % 1500;
    given = token + 1;
    for (uint64_t i = 0; i < spin; ++i) static_cast<void>(given.load());
    if (!bench.driver().EnableInterrupts()) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (interrupts.load() <= token && !hung) {
        std::this_thread::yield();
        hung = std::chrono::steady_clock::now() > deadline;
      }
    }
    // Either the used buffer was found or the interrupt came; in both cases it can be harvested.
    const auto used = bench.driver().Harvest();
    ASSERT_TRUE(used.ok());
    hung |= !used->has_value();
    EXPECT_FALSE(hung) << "at buffer " << token;
  }
  stop = true;
  device.join();
}

// --- A new ring, limits ----------------------------------------------------------------------------------------------

TEST_P(VirtqueueTest, NothingIsVisibleBeforePublish) {
  RingBench bench(GetParam());
  ASSERT_TRUE(bench.AddReadable(1).ok());
  EXPECT_EQ(bench.device().AvailableEnd(), 0U);
  EXPECT_FALSE(bench.device().Fetch().has_value());
  EXPECT_TRUE(bench.driver().Publish());
  EXPECT_TRUE(bench.device().Fetch().has_value());
  EXPECT_FALSE(bench.driver().Publish());  // nothing new
}

TEST_P(VirtqueueTest, FullRingReturnsNoSpace) {
  RingBench bench(GetParam());
  for (Token token = 0; token < GetParam().size; ++token) ASSERT_TRUE(bench.AddReadable(token).ok());
  const host::Status full = bench.AddReadable(9999);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(bench.driver().outstanding(), GetParam().size);
  std::vector<Token> tokens = bench.driver().Detach();
  EXPECT_EQ(tokens.size(), GetParam().size);
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), Token{9999}), 0);
}

TEST_P(VirtqueueTest, InvalidBuffersAreRefused) {
  RingBench bench(GetParam());
  const auto code = [&](std::vector<Segment> out, std::vector<Segment> in) {
    const host::Status status = bench.driver().Add(out, in, 0);
    return status.ok() ? std::string("ok") : host::ToString(status.error().code);
  };
  const std::string invalid = host::ToString(ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({}, {}), invalid);
  EXPECT_EQ(code({{bench.pool(), 0}}, {}), invalid);
  EXPECT_EQ(code({}, {{bench.pool(), 0}}), invalid);
  EXPECT_EQ(code(std::vector<Segment>(GetParam().size + size_t{1}, bench.Piece(0, 1)), {}), invalid);
  if (GetParam().size >= 2) {
    EXPECT_EQ(code({{bench.pool(), 0xffff'ffff}}, {{bench.pool(), 1}}), invalid);
  }
  EXPECT_EQ(bench.driver().outstanding(), 0);
}

TEST_P(VirtqueueTest, DetachReturnsEveryTokenOnceAndClearsTheRing) {
  RingBench bench(GetParam());
  for (int round = 0; round < 3; ++round) {
    std::vector<Token> expected;
    for (Token token = 0; token < GetParam().size; ++token) {
      ASSERT_TRUE(bench.AddWritable(100 + token).ok());
      // Some stay unpublished, some are fetched, some used but not harvested, some harvested.
      if (token % 3 != 2 || token + 1 < GetParam().size) bench.driver().Publish();
      expected.push_back(100 + token);
    }
    std::optional<MockChain> first = bench.device().Fetch();
    if (first.has_value()) {
      bench.device().Use(*first, 3);
      bench.device().PublishUsed();
      const auto used = bench.driver().Harvest();
      ASSERT_TRUE(used.ok() && used->has_value());
      EXPECT_EQ((*used)->written, 3U);
      std::erase(expected, (*used)->token);
    }
    if (std::optional<MockChain> second = bench.device().Fetch()) {
      bench.device().Use(*second, 0);
      bench.device().PublishUsed();
    }
    EXPECT_EQ(bench.driver().Detach(), expected);
    EXPECT_EQ(bench.device().violations(), std::vector<std::string>());
    bench.Restart();
  }
}

TEST_P(VirtqueueTest, UsedPositionAndNotificationDataMatchTheRing) {
  RingBench bench(GetParam());
  const uint32_t size = GetParam().size;
  for (uint32_t i = 0; i < 5 * size + 3; ++i) {
    const uint32_t laps = i / size;
    const auto packed_position = static_cast<uint16_t>(i % size | (laps % 2 == 0 ? 0x8000U : 0U));
    const auto expected = GetParam().packed ? packed_position : static_cast<uint16_t>(i);
    EXPECT_EQ(bench.driver().UsedPosition(), expected);
    EXPECT_EQ(bench.driver().NotificationData(7), 7U | static_cast<uint32_t>(expected) << 16);
    ASSERT_TRUE(bench.AddReadable(i).ok());
    EXPECT_EQ(bench.driver().NotificationData(7), 7U | static_cast<uint32_t>(expected) << 16) << "not yet published";
    bench.driver().Publish();
    std::optional<MockChain> chain = bench.device().Fetch();
    ASSERT_TRUE(chain.has_value());
    EXPECT_EQ(bench.driver().NewestPlace().position, expected);
    if (GetParam().packed) {
      EXPECT_EQ(bench.driver().NewestPlace().head, expected);
    }
    bench.device().Use(*chain, 0);
    bench.device().PublishUsed();
    ASSERT_TRUE(bench.driver().Harvest().value().has_value());
  }
}

// --- Malicious devices -----------------------------------------------------------------------------------------------

// The ring is broken, stays broken, and works again after Detach.
void ExpectBroken(RingBench& bench, const std::string& why) {
  const auto used = bench.driver().Harvest();
  ASSERT_FALSE(used.ok()) << why;
  EXPECT_EQ(used.error().code, ErrorCode::kMisbehaved);
  EXPECT_NE(used.error().text.find(why), std::string::npos) << used.error().text;
  EXPECT_TRUE(bench.driver().broken());
  EXPECT_FALSE(bench.driver().Harvest().ok());
  const host::Status add = bench.AddReadable(1000);
  ASSERT_FALSE(add.ok());
  EXPECT_EQ(add.error().code, ErrorCode::kMisbehaved);
  EXPECT_FALSE(bench.driver().Publish());
  EXPECT_FALSE(bench.driver().EnableInterrupts());

  const uint16_t outstanding = bench.driver().outstanding();
  EXPECT_EQ(bench.driver().Detach().size(), outstanding);
  EXPECT_FALSE(bench.driver().broken());
  bench.Restart();
  ASSERT_TRUE(bench.AddReadable(7).ok());
  bench.driver().Publish();
  std::optional<MockChain> chain = bench.device().Fetch();
  ASSERT_TRUE(chain.has_value());
  bench.device().Use(*chain, 0);
  bench.device().PublishUsed();
  const auto good = bench.driver().Harvest();
  ASSERT_TRUE(good.ok() && good->has_value());
  EXPECT_EQ((*good)->token, 7U);
}

class MaliciousDeviceTest : public testing::TestWithParam<RingCase> {
 protected:
  MaliciousDeviceTest() : bench_(GetParam()) {}

  // Makes one buffer of 8 writable bytes available; returns its id.
  uint16_t AddOne() {
    EXPECT_TRUE(bench_.AddWritable(1).ok());
    bench_.driver().Publish();
    return bench_.device().Fetch().value().id;
  }
  RingBench bench_;
};

TEST_P(MaliciousDeviceTest, AnIdBeyondTheRingIsRefused) {
  AddOne();
  bench_.device().UseRaw(GetParam().size, 0, 1);
  ExpectBroken(bench_, "used buffer " + std::to_string(GetParam().size) + " of");
}

TEST_P(MaliciousDeviceTest, AnIdFarBeyondTheRingIsRefused) {
  AddOne();
  bench_.device().UseRaw(0xffff'ffff, 0, 1);
  ExpectBroken(bench_, "used buffer");
}

TEST_P(MaliciousDeviceTest, AnIdThatIsNotOutstandingIsRefused) {
  const uint16_t id = AddOne();
  bench_.device().UseRaw((id + 1U) % GetParam().size, 0, 1);
  ExpectBroken(bench_, "which is not outstanding");
}

TEST_P(MaliciousDeviceTest, TheSameBufferTwiceIsRefused) {
  ASSERT_TRUE(bench_.AddWritable(1).ok());
  ASSERT_TRUE(bench_.AddWritable(2).ok());
  bench_.driver().Publish();
  const uint16_t id = bench_.device().Fetch().value().id;
  bench_.device().UseRaw(id, 0, 1);
  bench_.device().UseRaw(id, 0, 1);
  const auto first = bench_.driver().Harvest();
  ASSERT_TRUE(first.ok() && first->has_value());
  ExpectBroken(bench_, "which is not outstanding");
}

TEST_P(MaliciousDeviceTest, ABufferThatIsNotPublishedIsRefused) {
  const uint16_t id = AddOne();
  ASSERT_TRUE(bench_.AddWritable(2).ok());
  // The order of ids is the driver's choice; the second buffer's id, whatever it is, is not published.
  for (uint32_t other = 0; other < GetParam().size; ++other) {
    if (other == id) continue;
    RingBench fresh(GetParam());
    ASSERT_TRUE(fresh.AddWritable(1).ok());
    fresh.driver().Publish();
    ASSERT_TRUE(fresh.AddWritable(2).ok());
    fresh.device().UseRaw(other, 0, 1);
    ExpectBroken(fresh, "used buffer " + std::to_string(other));
    if (other > 4) break;
  }
}

TEST_P(MaliciousDeviceTest, UnpublishedBufferIsNamedInTheError) {
  const uint16_t first = AddOne();
  ASSERT_TRUE(bench_.AddWritable(2).ok());
  // Both formats allocate ids upwards from 0.
  bench_.device().UseRaw(first + 1U, 0, 1);
  ExpectBroken(bench_, "which was not made available");
}

TEST_P(MaliciousDeviceTest, MoreBytesThanTheBufferHasAreRefused) {
  const uint16_t id = AddOne();
  bench_.device().UseRaw(id, 9, 1);
  ExpectBroken(bench_, "with 9 bytes written of 8");
}

TEST_P(MaliciousDeviceTest, BytesInAReadableBufferAreRefused) {
  ASSERT_TRUE(bench_.AddReadable(1).ok());
  bench_.driver().Publish();
  bench_.device().UseRaw(bench_.device().Fetch().value().id, 1, 1);
  ExpectBroken(bench_, "with 1 bytes written of 0");
}

TEST_P(MaliciousDeviceTest, AllBytesOfABufferAreAccepted) {
  const uint16_t id = AddOne();
  bench_.device().UseRaw(id, 8, 1);
  const auto used = bench_.driver().Harvest();
  ASSERT_TRUE(used.ok() && used->has_value());
  EXPECT_EQ((*used)->written, 8U);
}

// Split rings only: the used index, and links between descriptors.
class MaliciousSplitDeviceTest : public MaliciousDeviceTest {};

TEST_P(MaliciousSplitDeviceTest, AnIndexThatRunsAheadIsRefused) {
  for (const uint16_t jump : {uint16_t{2}, uint16_t{300}, uint16_t{0x8000}, uint16_t{0xffff}}) {
    RingBench bench(GetParam());
    ASSERT_TRUE(bench.AddWritable(1).ok());
    bench.driver().Publish();
    ASSERT_TRUE(bench.AddWritable(2).ok());  // not published, so not counted
    bench.device().UseRaw(0, 0, jump);
    ExpectBroken(bench, "but the device has 1 buffers");
  }
}

TEST_P(MaliciousSplitDeviceTest, NonHeadDescriptorIsRefused) {
  const std::vector<Segment> segments(3, bench_.Piece(0, 8));
  ASSERT_TRUE(bench_.driver().Add({}, segments, 1).ok());
  bench_.driver().Publish();
  const uint16_t head = bench_.device().Fetch().value().id;
  bench_.device().UseRaw(head + 1U, 0, 1);
  ExpectBroken(bench_, "which is not outstanding");
}

TEST_P(MaliciousSplitDeviceTest, CorruptedDescriptorLinksAreIgnored) {
  const std::vector<Segment> segments(3, bench_.Piece(0, 8));
  ASSERT_TRUE(bench_.driver().Add({}, segments, 1).ok());
  bench_.driver().Publish();
  const MockChain chain = bench_.device().Fetch().value();
  uint8_t* table =
      bench_.function().At(bench_.driver().addresses().descriptors, spec::VirtqDesc::kBytes * GetParam().size);
  std::fill_n(table, spec::VirtqDesc::kBytes * GetParam().size, uint8_t{0xff});
  bench_.device().Use(chain, 0);
  bench_.device().PublishUsed();
  ASSERT_TRUE(bench_.driver().Harvest().value().has_value());
  EXPECT_EQ(bench_.driver().free_descriptors(), GetParam().size);
  for (Token token = 0; token < GetParam().size; ++token) ASSERT_TRUE(bench_.AddReadable(token).ok());
  bench_.driver().Publish();
  for (Token token = 0; token < GetParam().size; ++token) ASSERT_TRUE(bench_.device().Fetch().has_value());
  EXPECT_EQ(bench_.device().violations(), std::vector<std::string>());
}

std::vector<RingCase> AllRings() {
  std::vector<RingCase> cases;
  for (const bool event_idx : {false, true}) {
    for (const uint16_t indirect : {uint16_t{0}, uint16_t{4}}) {
      for (const uint16_t size : std::initializer_list<uint16_t>{1, 2, 8, 256}) {
        cases.push_back({false, indirect, event_idx, size});
      }
      for (const uint16_t size : std::initializer_list<uint16_t>{1, 2, 3, 7, 100, 256}) {
        cases.push_back({true, indirect, event_idx, size});
      }
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Rings, VirtqueueTest, testing::ValuesIn(AllRings()), NameOf);
INSTANTIATE_TEST_SUITE_P(Rings, InterruptRaceTest,
                         testing::Values(RingCase{false, 0, false, 8}, RingCase{false, 0, true, 8},
                                         RingCase{true, 0, false, 8}, RingCase{true, 0, true, 8}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Rings, MaliciousDeviceTest,
                         testing::Values(RingCase{false, 0, false, 8}, RingCase{false, 0, true, 8},
                                         RingCase{true, 0, false, 7}, RingCase{true, 0, true, 8}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Rings, MaliciousSplitDeviceTest,
                         testing::Values(RingCase{false, 0, false, 8}, RingCase{false, 0, true, 8}), NameOf);

TEST(RingCreation, RefusesInvalidSizes) {
  MockDevice device(MockDeviceOptions{});
  for (const uint16_t size : std::initializer_list<uint16_t>{0, 3, 6, 255, 0xffff, 0xc000}) {
    const auto ring = host::SplitRing::Create(device, size, {});
    ASSERT_FALSE(ring.ok()) << size;
    EXPECT_EQ(ring.error().code, ErrorCode::kInvalidArgument);
  }
  for (const uint16_t size : std::initializer_list<uint16_t>{0, 0x8001, 0xffff}) {
    const auto ring = host::PackedRing::Create(device, size, {});
    ASSERT_FALSE(ring.ok()) << size;
    EXPECT_EQ(ring.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(host::SplitRing::Create(device, spec::kVirtqSizeMax, {}).ok());
  EXPECT_TRUE(host::PackedRing::Create(device, spec::kPvirtqSizeMax, {}).ok());
  EXPECT_EQ(device.live_allocations(), 0U);
}

}  // namespace
}  // namespace vireo::sim
