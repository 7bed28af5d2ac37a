// SPDX-License-Identifier: Apache-2.0
// Checks whether a key allows an access, and translates its address to host memory: the counterpart of
// rtl/rdma/vireo_memory_check.sv. A pipeline with fixed latency: one access per cycle, three clients round robin; a
// client's responses come in request order, and a client that stalls does not stall the others. For an access of more
// than kMostBytes it returns only the status. It knows no queue pair; firmware ensures that a region's pages are in the
// table. A region with bad parity, or with such a page, is treated as nonexistent.
//
// A fence for writes of regions: accesses that were granted before the last one are counted until they have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class MemoryCheck final : public Block {
 public:
  // Client indices.
  static constexpr size_t kRequester = 0;
  static constexpr size_t kResponder = 1;
  static constexpr size_t kReadResponder = 2;
  static constexpr size_t kClients = 3;

  // Largest access that is translated: the smallest page, so that there are at most two runs.
  static constexpr uint32_t kMostBytes = 1u << spec::kRdmaPageShiftMin;

  // From the push of a check to the cycle in which its response is visible, if no other check waits.
  static constexpr uint64_t kLatency = 6;
  // From the acceptance of one check to that of the next, of any client, if responses are accepted.
  static constexpr uint64_t kInterval = 1;
  // Accepted checks of a client whose responses have not left.
  static constexpr size_t kAnswers = 8;

  // num_translations: a power of two.
  MemoryCheck(Agenda& agenda, size_t num_mrs, size_t num_translations);
  MemoryCheck(Agenda& agenda, const spec::Config& config)
      : MemoryCheck(agenda, config.num_mrs, config.num_translations) {}

  std::array<Channel<spec::MemoryCheck>, kClients> check_in = {
      Channel<spec::MemoryCheck>::Slice(), Channel<spec::MemoryCheck>::Slice(), Channel<spec::MemoryCheck>::Slice()};
  std::array<Output<spec::MemoryPlace>, kClients> place_out;

  // Any table; those of others are ignored.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  // Any memory; those of others are ignored.
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // Pulses in cycle `at`, which may be in the future: a granted access has ended.
  void OnGrantEnded(Cycle now, Cycle at, const spec::MemoryGrant& grant);
  // A new epoch from the next cycle on; not while one is fencing.
  void StartEpoch(Cycle now);
  // fence_o: accesses granted before the last epoch began, or write of a region, have not ended. The next one must
  // wait.
  bool IsFencing(Cycle now);
  // A region or page in use has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the last cycle that ran

 private:
  // An accepted check, with the data read in that cycle.
  struct Access {
    size_t client;
    spec::MemoryCheck check;
    spec::TableMr row;
    bool index_exists;
    Cycle taken;
    bool epoch;
  };
  struct Answer {
    Cycle visible;
    spec::MemoryPlace place;
  };

  // Accesses between check and end, of one epoch.
  struct Granted {
    size_t count = 0;
    std::vector<Cycle> ends;  // of them, known and not yet subtracted; in any order
    void End(Cycle now, Cycle at);
    size_t Count(Cycle now);  // in cycle `now`
  };

  // A write counts from the next cycle on.
  bool Epoch(Cycle now) const { return epoch_ != (written_ != kUnknown && now <= written_); }
  void Advance(Cycle now);
  void Leave(Cycle now, size_t client);
  bool CanTake(Cycle now, size_t client) const;
  void Take(Cycle now);
  spec::MemoryStatus Status(const Access& access) const;
  spec::MemoryPlace Place(const Access& access);

  ContextTable<spec::TableMr> mrs_;
  ContextTable<uint64_t> pages_;
  size_t num_mrs_;
  bool epoch_ = false;        // lowest bit of its number
  Cycle written_ = kUnknown;  // when the last one was begun
  std::array<Granted, 2> granted_;
  size_t last_ = kClients - 1;   // client granted last
  std::deque<Access> accesses_;  // before their page reads
  std::array<std::deque<Answer>, kClients> answers_;
  std::array<Credits, kClients> room_ = {Credits(kAnswers), Credits(kAnswers), Credits(kAnswers)};
};

}  // namespace vireo::model
