// SPDX-License-Identifier: Apache-2.0
// Checks whether a key allows an access, and translates its address to host memory: the counterpart of
// rtl/rdma/vireo_memory_check.sv. A pipeline with fixed latency: one access per cycle, three clients round robin; a
// client's responses come in request order, and a client that stalls does not stall the others. For an access of more
// than kMostBytes it returns only the status. It knows no queue pair; firmware ensures that a region's pages are in the
// table. A region with bad parity, or with such a page, is treated as nonexistent.
//
// It also ends regions: an invalidate is checked like an access, and if it is allowed, the region is gone for every
// check that is taken after it. And it binds memory windows, whose row is one of a region with a part of another
// region's pages. And it registers regions that firmware allocated for that: pages come in pairs, each like a check,
// then the range. KeyFence tells when the accesses that were granted before have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/rdma/key_fence.h"
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
  static constexpr uint64_t kBindLatency = kLatency + 1;
  // From the acceptance of one check to that of the next, of any client, if responses are accepted.
  static constexpr uint64_t kInterval = 1;
  // From the acceptance of a bind to that of the next check; behind an invalidate it is 2.
  static constexpr uint64_t kBindInterval = 5;
  // Likewise of a registration, or a pair of its pages.
  static constexpr uint64_t kRegisterInterval = 4;
  // Accepted checks of a client whose responses have not left.
  static constexpr size_t kAnswers = 8;

  // num_translations: a power of two.
  MemoryCheck(Agenda& agenda, const spec::Config& config);

  std::array<Channel<spec::MemoryCheck>, kClients> check_in;
  std::array<Output<spec::MemoryPlace>, kClients> place_out;

  // Any table; those of others are ignored.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  // Any memory; those of others are ignored.
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // Pulses in cycle `at`, which may be in the future: an access granted to `side` has ended.
  void OnGrantEnded(Cycle now, Cycle at, spec::KeySide side, const spec::MemoryGrant& grant);
  // IsFencing is for what was granted up to now.
  void StartEpoch(Cycle now);
  // fence_o: accesses granted before the last of these, or before the last write of a region, have not ended.
  bool IsFencing(Cycle now);
  // Somebody waits in cycle `at` for the accesses of a side's current generation.
  void Wait(spec::KeySide side, Cycle at) { fence_.Wait(side, at); }
  spec::KeyFence FenceState(Cycle now);
  // A region or page in use has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  // A row was written: the cycle of the pulse, which may be in the past.
  std::function<void(Cycle at, const spec::MrBinding& binding)> on_binding = [](Cycle, const spec::MrBinding&) {};

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the last cycle that ran

 private:
  // What firmware wrote, and what a bind sets of a window.
  struct Row {
    spec::TableMr mr;
    uint32_t pairs = 0;  // of a region that work requests register: the most
    bool is_bound = false;
    bool is_zero_based = false;  // accesses begin at address 0, and virt_addr is where it is in the region
    uint32_t bound_by = 0;
  };
  // An accepted check, with the data read in that cycle. Of a bind the region's, one cycle later.
  struct Access {
    size_t client;
    spec::MemoryCheck check;
    Row row;
    bool index_exists;
    Cycle taken;
    bool epoch;
    std::optional<spec::MemoryStatus> bind_status = std::nullopt;  // of a bind
  };
  struct Answer {
    Cycle visible;
    spec::MemoryPlace place;
  };

  // A row that an invalidate or bind changes: `at` is when it is written.
  struct Change {
    Cycle at;
    size_t index;
    Row row{};
    uint32_t bound_to = 0;
  };
  // A pair of pages of a registration.
  struct Pair {
    Cycle at;
    size_t page;  // the first one
    uint64_t addresses[2];
  };
  // A bind whose region is read in the cycle behind its take.
  struct Bind {
    Cycle taken;
    size_t index;
    spec::MemoryStatus window_status;
    bool is_type_2;
    bool overwritten;  // by firmware
  };
  static spec::KeySide SideOf(size_t client) {
    return client == kResponder ? spec::KeySide::kReceived : spec::KeySide::kSent;
  }
  void Advance(Cycle now);
  void Leave(Cycle now, size_t client);
  bool CanTake(Cycle now, size_t client) const;
  void Take(Cycle now);
  void WriteChange(Cycle before);
  void WritePair(Cycle before);
  void BindWindow(Cycle now);
  void Register(Cycle now, const Access& access, bool is_overwritten);
  static spec::TableMr Unbound(const Access& access, bool is_type_2);
  static uint64_t BindBytes(const spec::MemoryCheck& check);
  static uint64_t FirstAddressOf(const Access& access);
  static uint64_t PageBytesOf(const Access& access);
  uint64_t AddressOf(const Access& access) const;
  uint64_t OffsetOf(const Access& access) const;
  uint64_t PageOf(const Access& access) const;
  bool IsInside(const Access& access, uint64_t bytes) const;
  static spec::MemoryStatus WindowStatus(const Access& access);
  spec::MemoryStatus RegionStatus(const Access& access) const;
  static Row Unregistered(const Access& access);
  spec::MemoryStatus FastStatus(const Access& access) const;
  spec::MemoryStatus Status(const Access& access) const;
  spec::MemoryPlace Place(const Access& access);

  ContextTable<Row> mrs_;
  ContextTable<uint64_t> pages_;
  size_t num_mrs_;
  bool invalidation_;
  bool flush_;
  bool windows_;
  bool fast_registration_;
  uint32_t max_pairs_;
  KeyFence fence_;
  std::optional<Bind> bind_;      // its region is not read yet
  std::optional<Change> change_;  // not written yet
  std::optional<Pair> pair_;      // likewise
  Cycle next_take_ = 0;           // no check is taken before: it follows an invalidate, bind or registration
  Cycle written_ = kUnknown;      // firmware's last write of a row
  size_t written_index_ = 0;
  size_t last_ = kClients - 1;   // client granted last
  std::deque<Access> accesses_;  // before their page reads
  std::array<std::deque<Answer>, kClients> answers_;
  std::array<Credits, kClients> room_ = {Credits(kAnswers), Credits(kAnswers), Credits(kAnswers)};
};

}  // namespace vireo::model
