// SPDX-License-Identifier: Apache-2.0
// Stands in for tx_gather's room in tests of a block that begins packets: gives room, and compares what the block uses.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "model/common/cycle.h"
#include "model/rdma/tx_room.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

template <typename Block>
class Room final : public BenchStream {
 public:
  // `unused` of a block that may begin packets without jobs; else null.
  Room(CData& room, const CData& used, const CData* unused, Block& block, std::mt19937_64& random)
      : room_(room), used_(used), unused_(unused), block_(block), random_(random) {
    room_ = 0;
    block_.on_room_used = [this](model::Cycle at) { ++used_due_[at]; };
    if constexpr (requires { block_.on_room_unused; }) {
      block_.on_room_unused = [this](model::Cycle at) { ++unused_due_[at]; };
    }
  }
  void Begin(model::Cycle cycle) override {
    room_ = given_ < model::TxRoom::kAhead && random_() % 16 < rate;
    if (room_ == 0) return;
    ++given_;
    block_.OnRoom(cycle);
  }
  void End(model::Cycle cycle) override {
    Compare("room_used_o", cycle, used_, used_due_, used);
    if (unused_ != nullptr) Compare("room_unused_o", cycle, *unused_, unused_due_, unused);
    if (used_ == 0) return;
    if (given_ == 0) difference = "a packet is begun without room: cycle " + std::to_string(cycle);
    --given_;
  }
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  uint64_t used = 0, unused = 0;

 private:
  void Compare(const char* name, model::Cycle cycle, CData port, std::map<model::Cycle, unsigned>& due,
               uint64_t& count) {
    const auto model = due.find(cycle);
    const unsigned expected = model == due.end() ? 0 : model->second;
    if (model != due.end()) due.erase(model);
    if (expected != port) difference = std::string(name) + " differs: cycle " + std::to_string(cycle);
    count += expected;
  }

  CData& room_;
  const CData& used_;
  const CData* unused_;
  Block& block_;
  std::mt19937_64& random_;
  std::map<model::Cycle, unsigned> used_due_, unused_due_;
  unsigned given_ = 0;  // and not used
};

}  // namespace vireo::verif
