// SPDX-License-Identifier: Apache-2.0
// MSI-X table, pending bits and masking of interrupts: the counterpart of rtl/virtio/vireo_msix.sv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Memory write of a message, for the PCI Express side.
struct MsixMessage {
  uint16_t vector = 0;
  uint64_t address = 0;
  uint32_t data = 0;

  friend bool operator==(const MsixMessage&, const MsixMessage&) = default;
};

class Msix final : public Block {
 public:
  // Latency from an interrupt to its message; from an access to its read data, before the merge.
  static constexpr unsigned kMessageLatency = 3;
  static constexpr unsigned kReadLatency = spec::kBarReadLatency - 1;

  explicit Msix(Agenda& agenda, uint32_t num_vectors = spec::kMsixVectorsMax);

  void Run(Cycle now) override;
  void OnBar(Cycle now, const spec::BarAccess& access);
  // Inputs from cycle `now` on; initially all 0.
  void SetControl(Cycle now, bool enable, bool mask, bool bus_master);

  // The first cycle in which ready_o is 1.
  Cycle ReadyFrom() const { return num_vectors_; }
  // idle_o in cycle `now`, before its Run.
  bool IsIdle(Cycle now);

  Channel<spec::Interrupt> interrupt_in = Channel<spec::Interrupt>::Slice();
  // In the cycle of the pulse.
  std::function<void(Cycle, const MsixMessage&)> on_message;
  // Reported ahead, in the cycle after the access: this block's read data in cycle `at`, if not 0.
  std::function<void(Cycle at, uint64_t data)> on_read_data;

 private:
  enum class State { kIdle, kDecide, kRow, kPick, kCandidate };
  struct Access {
    Cycle cycle;
    spec::BarAccess access;
  };
  struct Entry {
    uint64_t address = 0;
    uint32_t data = 0;
    bool unmasked = false;
  };
  Entry ReadEntry(Cycle now, uint32_t vector);
  void Send(Cycle now);
  bool HostAccess(Cycle now, const spec::BarAccess& access);  // true: may have released a message
  bool Walks(bool allowed) const { return walking_ || (restart_walk_ && allowed); }
  void EndRow();

  uint32_t num_vectors_;
  uint32_t rows_;
  // Entries, split into the parts that are written separately.
  Table<uint32_t> address_, upper_, data_;
  Table<uint8_t> unmasked_;
  Table<uint64_t> pending_;
  std::deque<Access> accesses_;
  Level<bool> allowed_{false};
  bool allowed_before_ = false;

  State state_ = State::kIdle;
  uint32_t vector_ = 0;
  Entry entry_;  // of vector_, as read
  uint64_t bits_ = 0, left_ = 0;
  uint32_t row_ = 0;
  bool walking_ = false, restart_walk_ = false, walk_next_ = false;
  bool send_ = false;  // a message leaves in cycle send_at_
  Cycle send_at_ = 0;
  MsixMessage message_;
};

}  // namespace vireo::model
