// SPDX-License-Identifier: Apache-2.0
// Says whether a key allows an access, and where in host memory the access goes: the counterpart of
// rtl/rdma/vireo_memory_check.sv. One access at a time, three clients round robin, the same number of cycles for
// each. Of an access of more than kMostBytes it says only whether it is allowed. It knows no queue pair; that a
// region's pages are in the table is firmware's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/table.h"
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

  // From the push of a check to the cycle in which its answer is visible, if nothing is under way.
  static constexpr uint64_t kLatency = 7;
  // From one check's start to the next one's, if the answers are taken.
  static constexpr uint64_t kInterval = 6;

  // num_translations: a power of two.
  MemoryCheck(Agenda& agenda, size_t num_mrs, size_t num_translations);
  MemoryCheck(Agenda& agenda, const spec::Config& config)
      : MemoryCheck(agenda, config.num_mrs, config.num_translations) {}

  std::array<Channel<spec::MemoryCheck>, kClients> check_in = {
      Channel<spec::MemoryCheck>::Slice(), Channel<spec::MemoryCheck>::Slice(), Channel<spec::MemoryCheck>::Slice()};
  std::array<Output<spec::MemoryPlace>, kClients> place_out;

  // Any table; those of others are ignored.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the cycle that ran last

 private:
  // An access on its way: what StRow knows of it.
  struct Access {
    spec::MemoryCheck check;
    spec::TableMr row;
    bool index_exists;
    Cycle taken;
  };

  void Take(Cycle now);
  void Answer(Cycle now);
  spec::MemoryStatus Status(const Access& access) const;
  spec::MemoryPlace Place(const Access& access);

  Table<spec::TableMr> mrs_;
  Table<uint64_t> pages_;
  size_t num_mrs_;
  size_t client_ = kClients - 1;  // of the access, else of the one before
  std::optional<Access> access_;
  Cycle free_at_ = 0;                                             // takes the next one from then on
  std::array<std::optional<spec::MemoryPlace>, kClients> place_;  // at the outputs
};

}  // namespace vireo::model
