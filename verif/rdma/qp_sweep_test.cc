// SPDX-License-Identifier: Apache-2.0
// The sweep of fences: RTL against model in every cycle, and both against what is in progress. Everything is begun and
// ends at random, and without pause, so a fence that waited for later work would not end.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "Vqp_sweep.h"
#include "model/rdma/qp_sweep.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::QpSweep;
using Top = Vqp_sweep;

// Something in progress, in order. `waits`: begun, and its pulse is still to come.
struct Work {
  uint64_t begun = 0, counted = 0, ended = 0;
  uint64_t Waiting() const { return begun - counted; }
  QpSweep::Progress progress() const { return {begun, ended}; }
};

// An input of an arbiter and the slice behind it, whose consumer takes tokens of all inputs.
struct Stream {
  static constexpr size_t kInputs = 2, kDepth = 2;
  std::array<uint64_t, kInputs> entered{}, left_of{};
  std::vector<size_t> slice;  // inputs of its tokens
  uint64_t all = 0;
  uint64_t consumed = 0;
  size_t TokensOf(size_t input) const { return entered[input] - left_of[input]; }
  uint64_t LeftOf(size_t input) const { return left_of[input]; }
  uint64_t left() const { return all; }
};

class Bench {
 public:
  enum WorkIndex : size_t { kFetches, kEntries, kBatches, kPackets, kResponses, kPlaces, kWorks };

  Bench() {
    sweep_.passages = {
        .start_acks = [this](model::Passage& passage) { passage.Start(acks_, 0, false); },
        .advance_acks = [this](model::Passage& passage) { passage.Advance(acks_, 0); },
        .ack_waits = [this] { return !acks_.slice.empty(); },
        .start_completions = [this](model::Passage& passage,
                                    size_t source) { passage.Start(completions_, source, source == 0 && pending_); },
        .advance_completions = [this](model::Passage& passage,
                                      size_t source) { passage.Advance(completions_, source); },
        .completion_waits = [this] { return !completions_.slice.empty(); },
    };
    sweep_.on_epoch = [this](Cycle now) { epoch_at_ = now; };
    sweep_.on_stopped = [this](Cycle now, const model::QpStop& stop) {
      stopped_at_ = now;
      stop_ = stop;
    };
  }

  // How often in 16 cycles something is settled, ends or leaves.
  unsigned rate = 8;
  // The responder notes the state of the swept QP.
  bool notes = true;
  std::vector<Cycle> durations;  // of sweeps

  // A sweep is always in progress, with a few cycles between two. Empty, or the first difference.
  std::string Run(Cycle cycles) {
    for (const Cycle end = now_ + cycles; now_ < end; ++now_) {
      if (std::string difference = Step(); !difference.empty()) {
        return difference + " in cycle " + std::to_string(now_);
      }
      rtl_.Clock();
    }
    return {};
  }

 private:
  bool Chance(unsigned of16) { return random_() % 16 < of16; }

  std::string Step() {
    const bool swept = p_.swept_o != 0;
    if (swept != sweep_.IsSwept()) return "swept_o differs";
    // Levels of this cycle.
    const bool starts = !sweeps_ && now_ >= next_;
    if (sweeps_ && swept) {
      for (size_t i = 0; i < kWorks; ++i) {
        if (works_[i].ended < target_[i]) return "work " + std::to_string(i) + " of before has not ended";
      }
      if (epochs_ != 1) return std::to_string(epochs_) + " epochs";
      if (stops_ != 1) return "packets were marked stale " + std::to_string(stops_) + " times";
      durations.push_back(now_ - started_);
      sweeps_ = false;
      next_ = now_ + 2 + random_() % 4;
    }
    if (starts) {
      sweeps_ = true;
      started_ = now_;
      epochs_ = stops_ = 0;
      clears_ = Chance(8);
      qpn_ = static_cast<uint32_t>(random_() % 4);
      for (size_t i = 0; i < kWorks; ++i) target_[i] = works_[i].begun;
    }
    if (sweeps_ != (p_.sweep_i != 0)) sweep_.Set(now_ - 1, sweeps_);
    p_.sweep_i = sweeps_ ? 1 : 0;
    state_ = {.send_queue_settled = Chance(rate),
              .requester_settled = Chance(rate),
              .responder_settled = Chance(rate),
              .read_responder_settled = Chance(rate),
              .completer_settled = Chance(rate),
              .fetches = works_[kFetches].progress(),
              .entries = works_[kEntries].progress(),
              .batches = works_[kBatches].progress(),
              .packets = works_[kPackets].progress(),
              .responses = works_[kResponses].progress(),
              .places = works_[kPlaces].progress(),
              .memory_fence = !Chance(rate)};
    pending_ = pending_ || Chance(4);
    p_.send_queue_settled_i = state_.send_queue_settled;
    p_.requester_settled_i = state_.requester_settled;
    p_.responder_settled_i = state_.responder_settled;
    p_.read_responder_settled_i = state_.read_responder_settled;
    p_.completer_settled_i = state_.completer_settled;
    p_.memory_fence_i = state_.memory_fence;
    p_.fetches_wait_i = static_cast<CData>(works_[kFetches].Waiting());
    p_.response_waits_i = static_cast<CData>(works_[kResponses].Waiting());
    p_.place_waits_i = static_cast<CData>(works_[kPlaces].Waiting());
    p_.completion_pending_i = pending_ ? 1 : 0;
    p_.ack_waits_i = !acks_.slice.empty();
    p_.completion_waits_i = !completions_.slice.empty();
    if (now_ != 0 && (sweep_.IsActive() || p_.sweep_i != 0)) sweep_.Advance(now_ - 1, state_);

    // Pulses of this cycle.
    p_.qpn_i = starts ? qpn_ : static_cast<uint32_t>(random_() % 4);
    p_.clear_i = starts ? clears_ : Chance(8);
    if (starts) sweep_.OnQpStateWrite(now_, {.qpn = qpn_, .clear = clears_});
    const spec::QpPsn psn{.qpn = notes || !sweeps_ ? static_cast<uint32_t>(random_() % 4) : qpn_ + 1};
    p_.expected_psn_valid_i = Chance(8);
    SetPort(p_.expected_psn_i, psn);
    if (p_.expected_psn_valid_i != 0) sweep_.OnExpectedPsn(psn);
    Begin(kFetches, p_.fetch_begins_i, 2, false);
    Begin(kEntries, p_.entry_begins_i, 1, true);
    Begin(kBatches, p_.batch_begins_i, 1, true);
    // The pulse follows in the next cycle.
    p_.packet_begins_i = works_[kPackets].Waiting() != 0;
    works_[kPackets].counted = works_[kPackets].begun;
    if (works_[kPackets].begun - works_[kPackets].ended < 100 && Chance(8)) ++works_[kPackets].begun;
    if (works_[kResponses].begun - works_[kResponses].ended < 3)
      Begin(kResponses, p_.response_begins_i, 1, false);
    else
      Begin(kResponses, p_.response_begins_i, 0, false);
    Begin(kPlaces, p_.place_begins_i, 1, false);
    p_.fetch_ends_i = End(kFetches, 1);
    p_.entry_ends_i = End(kEntries, 1);
    p_.batch_ends_i = End(kBatches, 1);
    p_.packets_end_i = End(kPackets, 2);
    p_.response_ends_i = End(kResponses, 1);
    p_.place_ends_i = End(kPlaces, 1);
    CData leaves = 0, own = 0;
    p_.ack_enters_i = Move(acks_, 1, leaves, own) & 1U;
    p_.ack_leaves_i = leaves;
    p_.ack_own_i = own & 1U;
    const bool enters = pending_ && completions_.TokensOf(0) < 4 && Chance(8);
    const CData other = Move(completions_, 2, leaves, own) & 2U;
    if (enters) {
      ++completions_.entered[0];
      pending_ = false;
    }
    p_.completion_enters_i = static_cast<CData>(other | (enters ? 1U : 0U));
    p_.completion_leaves_i = leaves;
    p_.completion_own_i = own;
    p_.eval();
    const bool epoch = epoch_at_ == now_;
    if ((p_.epoch_o != 0) != epoch) return "epoch_o differs";
    epochs_ += epoch ? 1 : 0;
    const bool stops = stopped_at_ == now_;
    if ((p_.stopped_valid_o != 0) != stops) return "stopped_valid_o differs";
    stops_ += stops ? 1 : 0;
    if (!stops) return {};
    if (stop_.qpn != qpn_ || p_.stopped_qpn_o != qpn_) return "another QP is stopped";
    if (stop_.all != clears_ || (p_.stopped_all_o != 0) != clears_) return "a flush is a stop, or a stop a flush";
    for (size_t i = 0; i < kWorks; ++i) {
      if (works_[i].ended < target_[i]) return "packets are marked before all are there";
    }
    return {};
  }

  void Begin(WorkIndex index, CData& pulse, uint64_t most_waiting, bool at_once) {
    Work& work = works_[index];
    const bool begins = work.begun - work.ended < 12 && Chance(8);
    if (at_once) {
      pulse = begins ? 1 : 0;
      work.begun += begins ? 1 : 0;
      work.counted = work.begun;
      return;
    }
    pulse = work.Waiting() != 0 && Chance(10) ? 1 : 0;
    work.counted += pulse;
    if (begins && work.Waiting() < most_waiting) ++work.begun;
  }
  CData End(WorkIndex index, uint64_t most) {
    Work& work = works_[index];
    CData count = 0;
    // Not in the cycle of its own pulse, but in the next one at the earliest.
    while (count < most && work.ended < before_[index] && Chance(rate)) {
      ++work.ended;
      ++count;
    }
    before_[index] = work.counted;
    return count;
  }
  // Tokens enter inputs, one leaves the arbiter, the consumer takes one. The inputs that got one.
  CData Move(Stream& stream, size_t inputs, CData& leaves, CData& own) {
    const bool has_room = stream.slice.size() < Stream::kDepth;
    leaves = own = 0;
    if (!stream.slice.empty() && Chance(12)) {
      ++stream.consumed;
      stream.slice.erase(stream.slice.begin());
    }
    std::vector<size_t> offers;
    for (size_t i = 0; i < Stream::kInputs; ++i) {
      if (stream.TokensOf(i) != 0) offers.push_back(i);
    }
    if (has_room && !offers.empty() && Chance(12)) {
      const size_t input = offers[random_() % offers.size()];
      leaves = 1;
      own = static_cast<CData>(1U << input);
      ++stream.left_of[input];
      ++stream.all;
      stream.slice.push_back(input);
    }
    CData enters = 0;
    for (size_t i = inputs == 1 ? 0 : 1; i < Stream::kInputs; ++i) {
      if (stream.TokensOf(i) >= 4 || !Chance(8)) continue;
      ++stream.entered[i];
      enters = static_cast<CData>(enters | 1U << i);
    }
    return enters;
  }

  std::mt19937_64 random_ = sim::MakeRandom("qp_sweep");
  RtlTop<Top> rtl_{[](const Top& top, std::vector<uint8_t>& bytes) { bytes.push_back(top.swept_o); }};
  Top& p_ = rtl_.ports();
  model::Agenda agenda_;
  QpSweep sweep_{agenda_};
  std::array<Work, kWorks> works_;
  std::array<uint64_t, kWorks> before_{};  // begun before this cycle
  Stream acks_, completions_;
  bool pending_ = false;  // a completion of source 0 has not entered
  QpSweep::State state_;
  Cycle now_ = 0, next_ = 5, started_ = 0;
  Cycle epoch_at_ = model::kUnknown;
  bool sweeps_ = false;
  bool clears_ = false;  // it is for a stop
  Cycle stopped_at_ = model::kUnknown;
  model::QpStop stop_;
  unsigned stops_ = 0;  // since the sweep started
  uint32_t qpn_ = 0;
  unsigned epochs_ = 0;  // since the sweep started
  std::array<uint64_t, kWorks> target_{};
};

TEST(QpSweep, EndsWithWhatWasBegunBefore) {
  for (const unsigned rate : {16U, 8U, 2U}) {
    SCOPED_TRACE(rate);
    Bench bench;
    bench.rate = rate;
    ASSERT_EQ(bench.Run(20'000), "");
    EXPECT_GT(bench.durations.size(), rate == 2 ? 10U : 100U) << "it waits for later work";
  }
}

// Nothing else tells that the responder has discarded what it keeps of the QP.
TEST(QpSweep, WaitsForTheResponderToNoteTheState) {
  Bench bench;
  bench.notes = false;
  ASSERT_EQ(bench.Run(2'000), "");
  EXPECT_EQ(bench.durations.size(), 0U);
  bench.notes = true;
  ASSERT_EQ(bench.Run(500), "");
  EXPECT_GT(bench.durations.size(), 0U);
}

}  // namespace
}  // namespace vireo::verif
