// SPDX-License-Identifier: Apache-2.0
// vireo_key_fence against its model in every cycle, and both against a list of accesses: who waits is told that what
// was granted before has ended when it has, and soon after; two generations are enough for any number of those who
// wait.
#include "model/rdma/key_fence.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "Vkey_fence_5.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using spec::KeySide;

constexpr std::array kSides = {KeySide::kSent, KeySide::kReceived};
constexpr std::array<unsigned, 2> kHolder = {0, 1};  // one that reports for each side

class KeyFence : public testing::Test {
 protected:
  struct Access {
    size_t side;
    bool epoch;
    Cycle taken;
  };
  struct Wait {
    size_t side;
    uint8_t ticket;
    Cycle since;
  };

  void SetUp() override {
    rtl_.Reset();
    p_.taken_i = p_.refused_i = p_.waits_i = p_.close_i = 0;
    p_.ended_i = 0;
    p_.eval();
  }
  spec::KeyFence State() { return TokenFrom<spec::KeyFence>(BytesOf(std::as_const(p_.state_o))); }
  static bool Passed(const spec::KeyFence& state, size_t side, uint8_t ticket) {
    return side == 0 ? model::HasPassed(ticket, state.sent, state.sent_open)
                     : model::HasPassed(ticket, state.received, state.received_open);
  }
  static uint8_t Number(const spec::KeyFence& state, size_t side) { return side == 0 ? state.sent : state.received; }

  // One cycle. Each argument: bits by side.
  void Step(unsigned takes, unsigned waits, bool closes, unsigned ends) {
    p_.taken_i = static_cast<CData>(takes);
    p_.waits_i = static_cast<CData>(waits);
    p_.close_i = closes;
    p_.refused_i = 0;
    p_.ended_i = 0;
    for (size_t side = 0; side < 2; ++side) {
      if ((ends >> side & 1) == 0 || open_[side].empty()) continue;
      const size_t which = random_() % open_[side].size();
      const Access access = open_[side][which];
      open_[side].erase(open_[side].begin() + static_cast<ptrdiff_t>(which));
      const unsigned grant = 2u | unsigned{access.epoch};
      if (random_() % 4 == 0) {
        p_.refused_i = static_cast<CData>(p_.refused_i | grant << 2 * side);
      } else {
        p_.ended_i = static_cast<SData>(p_.ended_i | grant << 2 * kHolder.at(side));
      }
      model_.End(kSides.at(side), access.epoch, cycle_);
    }
    p_.eval();
    for (size_t side = 0; side < 2; ++side) {
      if ((takes >> side & 1) != 0) {
        const bool epoch = (p_.epoch_o >> side & 1) != 0;
        EXPECT_EQ(model_.Take(cycle_, kSides.at(side)), epoch);
        open_[side].push_back({side, epoch, cycle_});
      }
      if ((waits >> side & 1) != 0) model_.Wait(kSides.at(side), cycle_);
    }
    if (closes) {
      model_.Close(cycle_);
      closed_ = cycle_;
      is_closed_ = true;
    }
    rtl_.Clock();
    ++cycle_;
    Compare();
  }
  void Compare() {
    const spec::KeyFence state = State();
    const spec::KeyFence model = model_.State(cycle_);
    ASSERT_EQ(state, model) << "cycle " << cycle_ << ": RTL " << TokenText(state) << ", model " << TokenText(model);
    ASSERT_EQ(p_.fence_o != 0, model_.IsFencing(cycle_)) << "cycle " << cycle_;
    if (is_closed_ && p_.fence_o == 0) {
      for (const auto& side : open_) {
        for (const Access& access : side) EXPECT_GT(access.taken, closed_) << "one from before has not ended";
      }
    }
    std::erase_if(waiting_, [&](const Wait& wait) {
      if (!Passed(state, wait.side, wait.ticket)) return false;
      for (const Access& access : open_[wait.side]) EXPECT_GE(access.taken, wait.since) << "it has not ended";
      return true;
    });
  }

  std::mt19937_64 random_ = sim::MakeRandom("key_fence");
  RtlTop<Vkey_fence_5> rtl_{[](const Vkey_fence_5& top, std::vector<uint8_t>& bytes) {
    const auto state = BytesOf(top.state_o);
    bytes.insert(bytes.end(), state.begin(), state.end());
    bytes.insert(bytes.end(), {top.epoch_o, top.fence_o});
  }};
  Vkey_fence_5& p_ = rtl_.ports();
  model::KeyFence model_;
  Cycle cycle_ = 0;
  std::array<std::vector<Access>, 2> open_;
  std::vector<Wait> waiting_;
  Cycle closed_ = 0;
  bool is_closed_ = false;
};

TEST_F(KeyFence, RtlAndModelAgreeWithTheListOfAccesses) {
  size_t waited = 0;
  for (unsigned i = 0; i < 40'000 && !HasFailure(); ++i) {
    const bool crowded = open_[0].size() + open_[1].size() > 60;
    const auto sometimes = [&](unsigned n) { return static_cast<unsigned>(random_() % n == 0); };
    unsigned waits = 0;
    if (waiting_.size() < 8 && sometimes(8) != 0) {
      const size_t side = random_() % 2;
      waiting_.push_back({side, Number(State(), side), cycle_});
      ++waited;
    }
    // As long as its generation is the current one.
    for (const Wait& wait : waiting_) waits |= unsigned{Number(State(), wait.side) == wait.ticket} << wait.side;
    Step(crowded ? 0 : sometimes(2) | sometimes(2) << 1, waits, sometimes(64) != 0, sometimes(2) | sometimes(2) << 1);
  }
  EXPECT_GT(waited, 1000u);
  // Everything ends, and so do all waits.
  for (unsigned i = 0; i < 400 && !HasFailure(); ++i) {
    unsigned waits = 0;
    for (const Wait& wait : waiting_) waits |= unsigned{Number(State(), wait.side) == wait.ticket} << wait.side;
    Step(0, waits, false, 3);
  }
  EXPECT_TRUE(waiting_.empty());
  EXPECT_EQ(p_.fence_o, 0);
}

TEST_F(KeyFence, AGenerationBeginsOnlyIfSomebodyWaitsAndTheOneBeforeHasEnded) {
  Step(1, 0, false, 0);
  for (unsigned i = 0; i < 20; ++i) Step(0, 0, false, 0);
  EXPECT_EQ(State().sent, 0);
  Step(0, 1, false, 0);
  EXPECT_EQ(State().sent, 1);
  EXPECT_TRUE(State().sent_open);
  EXPECT_EQ(State().received, 0) << "the other side goes on";
  for (unsigned i = 0; i < 20; ++i) Step(1, 1, false, 0);
  EXPECT_EQ(State().sent, 1) << "later accesses are of the same generation";
  // The first access ends, and nothing else.
  const Access first = open_[0].front();
  const std::vector<Access> later(open_[0].begin() + 1, open_[0].end());
  open_[0] = {first};
  Step(0, 0, false, 1);
  open_[0] = later;
  EXPECT_FALSE(State().sent_open);
  Step(0, 0, false, 0);
  EXPECT_EQ(State().sent, 2) << "it was waited for meanwhile";
}

}  // namespace
}  // namespace vireo::verif
