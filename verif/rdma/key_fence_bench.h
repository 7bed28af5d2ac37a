// SPDX-License-Identifier: Apache-2.0
// The key fence as blocks see it that wait for it: its state changes at random, and a generation ends only after
// somebody has waited for it. Compares when they wait.
#pragma once

#include <random>
#include <set>
#include <string>
#include <utility>

#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

template <typename Port, typename Waits, typename Block>
class KeyFenceBench final : public BenchStream {
 public:
  KeyFenceBench(Port& port, const Waits& waits, Block& block, std::mt19937_64& random)
      : port_(port), waits_(waits), random_(random) {
    block.key_fence = [this](model::Cycle) { return state; };
    block.on_fence_wait = [this](model::Cycle at) { due_.insert(at); };
    SetPort(port_, state);
  }
  void Begin(model::Cycle) override {
    if (rate == 0 || random_() % 64 >= rate) return SetPort(port_, state);
    const auto next = [](uint8_t number) { return static_cast<uint8_t>((number + 1) % spec::kKeyGenerations); };
    const bool sent = random_() % 2 == 0;
    bool open = sent ? state.sent_open : state.received_open;
    bool& wanted = sent ? sent_wanted_ : received_wanted_;
    if (open) {
      open = false;
    } else if (wanted || random_() % 8 == 0) {
      wanted = false;
      open = true;
      uint8_t number = next(sent ? state.sent : state.received);
      (sent ? state.sent : state.received) = number;
    }
    if (sent) {
      state.sent_open = open;
    } else {
      state.received_open = open;
    }
    SetPort(port_, state);
  }
  void End(model::Cycle cycle) override {
    const bool rtl = waits_ != 0;
    if (rtl != due_.contains(cycle)) {
      difference = "fence_waits: cycle " + std::to_string(cycle) + ": only " + (rtl ? "the RTL" : "the model");
    }
    due_.erase(due_.begin(), due_.upper_bound(cycle));
    if (rtl) sent_wanted_ = received_wanted_ = true;
  }
  bool IsEmpty() const override { return true; }

  spec::KeyFence state{};
  unsigned rate = 16;  // of changes, of 64

 private:
  Port& port_;
  const Waits& waits_;
  std::mt19937_64& random_;
  std::set<model::Cycle> due_;
  bool sent_wanted_ = false, received_wanted_ = false;
};

}  // namespace vireo::verif
