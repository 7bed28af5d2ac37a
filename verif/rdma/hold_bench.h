// SPDX-License-Identifier: Apache-2.0
// hold_i of a block: a level that a test sets, or that toggles at random.
#pragma once

#include <verilated.h>

#include <random>

#include "verif/common/block_bench.h"

namespace vireo::verif {

template <typename Block>
class Hold final : public BenchStream {
 public:
  Hold(CData& port, Block& model, std::mt19937_64& random) : port_(port), model_(model), random_(random) { port_ = 0; }
  void Begin(model::Cycle cycle) override {
    if (toggles != 0 && random_() % 64 < toggles) on = !on;
    if (on != (port_ != 0)) model_.SetHold(cycle, on);
    port_ = on;
  }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return true; }

  bool on = false;
  unsigned toggles = 0;  // toggles in this many cycles of 64

 private:
  CData& port_;
  Block& model_;
  std::mt19937_64& random_;
};

}  // namespace vireo::verif
