// SPDX-License-Identifier: Apache-2.0
// Says whether a key allows an access, and where in host memory the access goes: the counterpart of
// rtl/rdma/vireo_memory_check.sv. A pipeline: one access per cycle of three clients round robin, the same number of
// cycles for each; a client's answers come in the order of its checks, and one that does not take them stalls nobody
// else. Of an access of more than kMostBytes it says only whether it is allowed. It knows no queue pair; that a
// region's pages are in the table is firmware's business. A region whose parity is wrong is none, and neither is one
// with such a page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class MemoryCheck final : public Block {
 public:
  // Clients: numbers of streams.
  static constexpr size_t kRequester = 0;
  static constexpr size_t kResponder = 1;
  static constexpr size_t kReadResponder = 2;
  static constexpr size_t kClients = 3;

  // Of an access that has a place: the smallest page, so that there are two runs at most.
  static constexpr uint32_t kMostBytes = 1u << spec::kRdmaPageShiftMin;

  // From the push of a check to the cycle in which its answer is visible, if no other check waits.
  static constexpr uint64_t kLatency = 6;
  // From one check's take to the next one's, whichever clients they are of, if the answers are taken.
  static constexpr uint64_t kInterval = 1;
  // Checks of a client that are taken and whose answers have not left.
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
  // A region or a page that counts has bad parity. Told ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the cycle that ran last

 private:
  // What is taken, and known of it in that cycle.
  struct Access {
    size_t client;
    spec::MemoryCheck check;
    spec::TableMr row;
    bool index_exists;
    Cycle taken;
  };
  struct Answer {
    Cycle visible;
    spec::MemoryPlace place;
  };

  void Leave(Cycle now, size_t client);
  bool CanTake(Cycle now, size_t client) const;
  void Take(Cycle now);
  spec::MemoryStatus Status(const Access& access) const;
  spec::MemoryPlace Place(const Access& access);

  ContextTable<spec::TableMr> mrs_;
  ContextTable<uint64_t> pages_;
  size_t num_mrs_;
  size_t last_ = kClients - 1;   // whose check was taken last
  std::deque<Access> accesses_;  // whose pages have not been read
  std::array<std::deque<Answer>, kClients> answers_;
  std::array<Credits, kClients> room_ = {Credits(kAnswers), Credits(kAnswers), Credits(kAnswers)};
};

}  // namespace vireo::model
