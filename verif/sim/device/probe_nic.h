// SPDX-License-Identifier: Apache-2.0
// A passive device that records its inputs, for tests of the environment of devices.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/nic/nic.h"

namespace vireo::sim {

class ProbeNic final : public Nic {
 public:
  struct Completion {
    Cycle cycle = 0;
    uint16_t tag = 0;
    uint32_t offset = 0;
    uint64_t address = 0;
    std::vector<uint8_t> data;
    bool last = false;
    DmaStatus status = DmaStatus::kOk;
  };
  struct BarAccess {
    Cycle cycle = 0;
    bool is_write = false;
    unsigned bar = 0;
    uint64_t offset = 0;
    unsigned bytes = 0;
    uint64_t value = 0;
  };
  struct Credits {
    Cycle cycle = 0;
    CreditKind kind{};
    uint32_t beats = 0;
  };
  struct ReceivedFrame {
    Cycle start = 0, end = 0;
    std::vector<uint8_t> bytes;
    bool mac_error = false;
  };

  void Reset(Cycle cycle) override { resets.push_back(cycle); }
  uint32_t ReadConfig(Cycle, uint16_t offset, unsigned) override { return offset; }
  void WriteConfig(Cycle, uint16_t, unsigned, uint32_t) override {}
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override {
    bar_accesses.push_back({cycle, false, bar, offset, bytes, 0});
    if (on_bar) on_bar(bar_accesses.back());
  }
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override {
    bar_accesses.push_back({cycle, true, bar, offset, bytes, value});
    if (on_bar) on_bar(bar_accesses.back());
  }
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override {
    completions.push_back({cycle,
                           completion.tag,
                           completion.offset,
                           completion.address,
                           {completion.data.begin(), completion.data.end()},
                           completion.last,
                           completion.status});
    if (on_completion) on_completion(completions.back());
  }
  void RefuseDmaWrite(Cycle cycle) override { refusals.push_back(cycle); }
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override {
    credits.push_back({cycle, kind, beats});
    if (on_credits) on_credits(credits.back());
  }
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override {
    frames.push_back({start, end, {bytes.begin(), bytes.end()}, mac_error});
  }
  void SetLink(Cycle cycle, bool up) override { links.push_back({cycle, up}); }
  void ReadCsr(Cycle, uint32_t) override {}
  void WriteCsr(Cycle, uint32_t, uint32_t) override {}
  bool IsIdle() const override { return true; }
  Cycle NextDeadline() const override { return kNever; }

  std::vector<Cycle> resets;
  std::vector<Completion> completions;
  std::vector<BarAccess> bar_accesses;
  std::vector<Credits> credits;
  std::vector<Cycle> refusals;  // of writes
  std::vector<ReceivedFrame> frames;
  std::vector<std::pair<Cycle, bool>> links;
  std::function<void(const Completion&)> on_completion;
  std::function<void(const BarAccess&)> on_bar;
  std::function<void(const Credits&)> on_credits;
};

}  // namespace vireo::sim
