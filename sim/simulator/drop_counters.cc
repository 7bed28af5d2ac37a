// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/drop_counters.h"

#include <memory>
#include <optional>

#include "sim/topology/control_processor.h"

namespace vireo::sim {
namespace {

struct Reason {
  uint32_t offset;
  const char* name;
};

const std::vector<Reason>& Reasons() {
  static const std::vector<Reason> reasons = [] {
    std::vector<Reason> all = {{spec::kMgmtRxBufferDropsRegister, "rx_buffer_drops"},
                               {spec::kMgmtNetRxFilteredRegister, "net_rx_filtered"},
                               {spec::kMgmtNetRxDropsRegister, "net_rx_drops"},
                               {spec::kMgmtNetTxDropsRegister, "net_tx_drops"}};
    for (auto verdict = static_cast<uint32_t>(spec::RxVerdict::kTruncated);; ++verdict) {
      const char* const name = spec::ToString(static_cast<spec::RxVerdict>(verdict));
      if (name == nullptr) return all;
      all.push_back({spec::kMgmtRxVerdictCountRegister + 4 * verdict, name});
    }
  }();
  return reasons;
}

// Nothing if the NIC does not answer.
std::optional<uint32_t> ReadRegister(RdmaSystem& system, size_t nic, uint32_t offset) {
  constexpr Picoseconds kLongest = 10'000 * kPicosecondsPerNanosecond;
  Scheduler& scheduler = system.scheduler();
  ControlProcessor& firmware = system.host(nic).firmware();
  // A command may be under way.
  if (!scheduler.RunUntil([&] { return firmware.is_sleeping(); }, scheduler.now() + kLongest)) return std::nullopt;
  const CoreClock& clock = system.host(nic).station().clock();
  // It may come after the end of this call.
  const auto answer = std::make_shared<std::optional<uint32_t>>();
  scheduler.Call(clock.Begin(clock.AtOrAfter(scheduler.now())), [&firmware, offset, answer] {
    if (firmware.is_sleeping()) firmware.Peek(offset, [answer](uint32_t value) { *answer = value; });
  });
  scheduler.RunUntil([&] { return answer->has_value(); }, scheduler.now() + kLongest);
  return *answer;
}

}  // namespace

DropCounters::DropCounters(RdmaSystem& system, size_t nics) : system_(system), drops_(nics) {
  for (Drops& drops : drops_) {
    for (const Reason& reason : Reasons()) drops.emplace_back(reason.name, 0);
  }
}

void DropCounters::Update() {
  if (system_.is_mismatched()) return;
  for (size_t nic = 0; nic < drops_.size(); ++nic) {
    for (size_t i = 0; i < drops_[nic].size(); ++i) {
      const std::optional<uint32_t> more = ReadRegister(system_, nic, Reasons()[i].offset);
      if (!more.has_value()) break;
      drops_[nic][i].second += *more;
    }
  }
}

}  // namespace vireo::sim
