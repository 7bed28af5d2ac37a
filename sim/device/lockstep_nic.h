// SPDX-License-Identifier: Apache-2.0
// Two devices as one: the master drives the environment; the shadow gets the same inputs in the same cycles, and its
// outputs are only compared. Per stream both must report the same events in the same order and in the same cycles.
// While nothing crosses the seam, both must be idle or neither, with the same deadline.
//
// DMA completions reach the shadow in the cycle in which they reach the master: it must have requested them by then,
// with the same bytes and tag.
//
// A mismatch is
//   - an event that differs in kind or content from the one at its position in the other's stream,
//   - an event that the other device has not reported `horizon` cycles later, or when both are idle without deadlines,
//   - a cycle difference above `max_difference`,
//   - one device idle and the other not, kPatience cycles after the last event, input or output; different deadlines of
//     two idle ones, kSettle cycles after it,
//   - a completion that the shadow has not requested, or a CSR read before it has answered the previous one,
//   - configuration space that reads differently.
// The first one ends the comparison: on_mismatch gets the report, and the shadow gets no more inputs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

struct LockstepOptions {
  std::string master_name = "rtl", shadow_name = "model";
  Cycle horizon = 10'000;
  Cycle max_difference = 0;  // between the cycles of equal events; kNever: differences are only counted
  // Empty: prints the report and aborts the program. Else the master continues alone.
  std::function<void(const std::string& report)> on_mismatch;
  // The command of the report's repeat line, after VIREO_SEED=…; empty: the command line of this process.
  std::string repeat_command;
  // Writes the waveform of the cycles before a mismatch, from a ring of snapshots: called with the mismatch's cycle;
  // the report contains the returned path.
  std::function<std::string(Cycle cycle)> waveform;
};

// Cycle differences of the pairs of one kind of event, or of all.
struct CycleDifferences {
  uint64_t count = 0, exact = 0;
  uint64_t shadow_early = 0, shadow_late = 0;
  Cycle p50 = 0, p99 = 0, max = 0;  // of the absolute difference; p99: 99 % are not larger
};

class LockstepNic final : public Nic, private Scheduler::Client {
 public:
  static constexpr size_t kHistory = 20;  // events of each side in a report
  // Longer than what an event leaves in the RTL's pipelines (vireo_nic, DrainCycles), for which the model needs no
  // cycle.
  static constexpr Cycle kSettle = 64;
  // Longer than the model works on a frame, or runs for a timer that was stopped.
  static constexpr Cycle kPatience = 4096;

  // Builds both devices; with `context`, except for the environment.
  LockstepNic(const NicContext& context, const NicFactory& master, const NicFactory& shadow,
              LockstepOptions options = {});
  ~LockstepNic() override;

  void Reset(Cycle cycle) override;
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override;
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override;
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override;
  void RefuseDmaWrite(Cycle cycle) override;
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override;
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(Cycle cycle, bool up) override;
  void ReadCsr(Cycle cycle, uint32_t offset) override;
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override;
  // False until every event has been matched.
  bool IsIdle() const override;
  Cycle NextDeadline() const override;

  bool is_built() const { return master_ != nullptr && shadow_ != nullptr; }
  Nic& master() { return *master_; }
  Nic& shadow() { return *shadow_; }

  // Empty without a mismatch.
  const std::string& mismatch() const { return mismatch_; }
  // Since construction; resets do not clear them.
  CycleDifferences Differences(EventKind kind) const;
  CycleDifferences TotalDifferences() const;
  // One line per kind with events, and the total.
  std::string DifferenceTable() const;
  // Called for each pair of equal events: the number of the master's event among those of its kind, from 0 since
  // construction, and the cycle of each device. One observer; outlives the NIC.
  using PairObserver = std::function<void(EventKind kind, uint64_t number, Cycle master, Cycle shadow)>;
  void OnPair(PairObserver observer) { on_pair_ = std::move(observer); }
  // Number of the master's events of that kind.
  uint64_t event_count(EventKind kind) const { return event_counts_[static_cast<size_t>(kind)]; }
  // Events that a reset left unmatched.
  uint64_t unmatched_at_reset() const { return unmatched_at_reset_; }

 private:
  enum Side : uint8_t { kMaster, kShadow };
  struct Event {
    EventKind kind{};
    uint8_t status = 0;
    Cycle cycle = 0;
    uint64_t address = 0;
    uint32_t id = 0, bytes = 0;
    uint64_t number = 0;   // in its stream, since the last reset
    uint64_t of_kind = 0;  // of its kind, since the start; of the master's only
    std::vector<uint8_t> payload;
  };
  struct Lane {                                // a stream
    std::array<std::deque<Event>, 2> waiting;  // for the other side's event; one is empty
    std::array<std::deque<Event>, 2> history;
    std::array<uint64_t, 2> event_counts{};
  };
  struct Read {
    uint64_t address = 0;
    uint32_t bytes = 0, done = 0;
  };
  class Environment;

  void OnTime(uint64_t cookie) override;
  void OnOutput(Side side, EventKind kind, Cycle cycle, std::span<const uint8_t> payload, uint64_t address = 0,
                uint32_t id = 0, uint32_t bytes = 0, uint8_t status = 0);
  void Count(EventKind kind, Cycle master, Cycle shadow);
  void Mismatch(Stream stream, Cycle cycle, const std::string& what);
  std::string Text(const Event& event) const;
  const std::string& Name(Side side) const { return side == kMaster ? options_.master_name : options_.shadow_name; }
  bool IsComparing() const { return mismatch_.empty(); }
  bool IsWaiting() const;
  void Touch(Cycle cycle);  // an event in this cycle
  void CompareRest(Cycle now);
  void PlanCheck(Cycle cycle);

  const std::string name_;
  const CoreClock clock_;
  Scheduler& scheduler_;
  NicEnvironment& environment_;
  LockstepOptions options_;
  const Scheduler::ClientNumber client_;
  std::array<std::unique_ptr<Environment>, 2> environments_;
  std::unique_ptr<Nic> master_, shadow_;

  std::array<Lane, kStreams> lanes_;
  std::vector<Read> shadow_reads_;  // by tag
  uint64_t shadow_csr_reads_ = 0;   // not yet answered by the shadow
  uint64_t epoch_ = 0;
  bool check_planned_ = false;
  Cycle compare_from_ = 0;  // idle and deadlines, unless they are settled
  Cycle last_event_ = 0;    // input or output; compares up to then are done or planned
  bool is_settled_ = true;  // compared since the last event
  uint64_t unmatched_at_reset_ = 0;
  std::array<uint64_t, kEventKinds> event_counts_{};  // by the master
  PairObserver on_pair_;
  std::string mismatch_;
  // By kind: how often each difference, shadow - master.
  std::array<std::map<int64_t, uint64_t>, kEventKinds> differences_;
};

}  // namespace vireo::sim
