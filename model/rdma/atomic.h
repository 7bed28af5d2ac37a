// SPDX-License-Identifier: Apache-2.0
// Executes the atomic operations of peers: the counterpart of rtl/rdma/vireo_atomic.sv. It reads 8 bytes of host
// memory, computes, writes what it computed, and reports what was there before when that is in memory; several at a
// time, in order, but no two at one address. It keeps the last results of every queue pair, and answers a duplicate
// from them. It checks nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/ring.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Atomic final : public Block {
 public:
  // Unloaded:
  static constexpr Cycle kRequestToFetch = 3;     // from the push of a request to its fetch_request visible
  static constexpr Cycle kRequestToStore = 5;     // of an ATOMIC WRITE
  static constexpr Cycle kFetchedToStore = 2;     // from the push of its value to its store visible
  static constexpr Cycle kDoneToResult = 3;       // from the pulse to the result visible
  static constexpr Cycle kFetchedToResult = 5;    // of an operation that writes nothing
  static constexpr Cycle kDuplicateToResult = 9;  // from the push of a duplicate of the QP's last operation
  static constexpr Cycle kInterval = 2;           // from one result to the next

  struct Sizes {
    uint32_t num_qps;                             // a power of two
    uint32_t max_rd_atomic;                       // results of a QP; a power of two
    uint32_t in_flight = spec::kAtomicsInFlight;  // a power of two, 4 or more
    bool is_present = true;                       // false: as if it did not exist, and no request comes
  };
  Atomic(Agenda& agenda, const Sizes& sizes);
  Atomic(Agenda& agenda, const spec::Config& config)
      : Atomic(agenda, Sizes{.num_qps = config.num_qps,
                             .max_rd_atomic = config.max_rd_atomic,
                             .is_present = config.atomics != 0}) {}

  Channel<spec::AtomicRequest> request_in;  // with room for one of each QP
  Channel<spec::DmaFetched> fetched_in = Channel<spec::DmaFetched>::Slice();
  Output<spec::AtomicResult> result_out;
  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::DmaStore> store_out;

  // Called with the cycle of the pulse, which is the next one.
  std::function<void(Cycle, Cycle, const spec::MemoryGrant&)> on_grant_ended = [](Cycle, Cycle,
                                                                                  const spec::MemoryGrant&) {};

  // Pulses. Done: of every store, in order.
  void OnDone(Cycle now, const spec::DmaDone& done);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);

  void Run(Cycle now) override;
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  enum class State { kHead, kRow, kScan };
  struct Ending {
    uint32_t qpn = 0;
    uint32_t psn = 0;
    bool is_duplicate = false;
    bool failed = false;  // the read
    bool writes = false;  // its store ends with a done
    spec::MemoryGrant grant{};
    uint64_t value = 0;  // before the operation; of ATOMIC WRITE 0
  };
  struct Slot {
    bool busy = false;  // an operation that is executed; `address` in units of an operand
    uint64_t address = 0;
  };
  // A QP's last results, in a ring.
  struct Row {
    uint32_t count = 0;
    uint32_t next = 0;
  };
  struct Kept {
    uint32_t psn = 0;
    uint64_t value = 0;
  };
  struct Done {
    Cycle cycle;
    bool is_refused;
  };

  void Begin(Cycle now);
  void Compute(Cycle now);
  bool Step(Cycle now);
  void End(Cycle now, spec::AtomicStatus status, uint64_t value);
  Kept& KeptOf(uint32_t qpn, uint32_t index) { return kept_[size_t{qpn} * ring_ + index % ring_]; }

  const bool is_present_;
  const uint32_t num_qps_;
  const uint32_t ring_;  // results of a QP
  const uint32_t in_flight_;
  std::deque<Slot> slots_;                // in use, in order
  Channel<spec::AtomicRequest> reading_;  // those whose read is outstanding, and duplicates
  Channel<Ending> ending_;                // those that were computed
  Ring<Done> dones_;                      // of operations that have not ended
  Table<Row> rows_;
  std::vector<Kept> kept_;

  State state_ = State::kHead;
  Row row_;
  Kept found_;
  uint32_t scanned_ = 0;  // results that were read
  struct Clear {
    Cycle cycle;  // the table's write port
    uint32_t qpn;
  };
  std::deque<Clear> clears_;  // pulses whose write is not done
  Cycle cleared_ = kUnknown;  // of the last one that is
  std::optional<spec::DmaReadRequest> fetch_;
  std::optional<spec::DmaStore> store_;
  std::optional<spec::AtomicResult> result_;
};

}  // namespace vireo::model
