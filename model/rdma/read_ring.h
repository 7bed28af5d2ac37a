// SPDX-License-Identifier: Apache-2.0
// The RDMA READs that a QP has asked its peer for and whose responses are not complete, a ring of them per QP: the
// counterpart of rtl/rdma/vireo_read_ring.sv. It is a part of the responder, whose turns it follows.
//
// A record's rows are read in the first cycle in which it is visible and no load comes, and written one cycle later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class ReadRing {
 public:
  // `max_rd_atomic`: READs per QP, a power of two.
  ReadRing(uint32_t num_qps, uint32_t max_rd_atomic)
      : places_(max_rd_atomic), taken_(num_qps), ended_(num_qps), entries_(size_t{num_qps} * max_rd_atomic) {}

  // No record is being written in cycle `now`.
  bool CanLoad(Cycle now) const { return !began_ || *began_ == now; }
  // Forgets all of a QP. Told before Run in its cycle.
  void Load(Cycle now, uint32_t qpn) {
    taken_.Write(now, qpn, {});
    ended_.Write(now, qpn, {});
    load_ = now;
  }

  // Begins a turn of a QP; what follows is of it.
  void Read(Cycle now, uint32_t qpn) {
    qpn_ = qpn;
    turn_ = now;
    turn_taken_ = taken_.Read(now, qpn);
    turn_ended_ = ended_.Read(now, qpn);
  }
  bool IsHeld() const { return turn_taken_.count != turn_ended_.count; }
  // Not before two cycles after the turn began.
  const spec::ReadRecord& Oldest() { return entries_.Read(turn_ + 1, IndexOf(qpn_, turn_ended_.count)); }
  // The oldest one is complete.
  void Retire(Cycle now) {
    const uint32_t psn = Oldest().last_psn;
    ended_.Write(now, qpn_, {Next(turn_ended_.count), true, psn});
  }
  // The peer has all packets up to this one.
  void Acknowledge(Cycle now, uint32_t psn) {
    if (IsHeld() || !turn_ended_.any || IsBehind(psn, turn_ended_.psn)) return;
    ended_.Write(now, qpn_, {turn_ended_.count, true, psn});
  }

  // Cycle `now` of the records; true: it goes on in the next one.
  bool Run(Cycle now, Channel<spec::ReadRecord>& record_in) {
    if (began_ && *began_ < now) {
      began_.reset();
      Take(now, record_in.Pop(now));
      return true;
    }
    if (began_ || !record_in.CanPop(now)) return began_.has_value();
    if (load_ == now) return true;
    began_ = now;
    const auto qpn = static_cast<uint32_t>(record_in.front().qpn % taken_.size());
    record_taken_ = taken_.Read(now, qpn);
    record_ended_ = ended_.Read(now, qpn);
    return true;
  }

 private:
  struct Taken {
    uint32_t count = 0;  // modulo twice the places, as the other
    uint32_t psn = 0;    // last one of the newest READ
  };
  struct Ended {
    uint32_t count = 0;
    bool any = false;  // `psn` counts
    uint32_t psn = 0;  // nothing up to here is new, when the ring is empty
  };

  static constexpr uint32_t kPsnMask = (1u << spec::kPsnBits) - 1;
  static bool IsBehind(uint32_t psn, uint32_t other) { return ((psn - other) & kPsnMask) > kPsnMask / 2; }
  uint32_t Next(uint32_t count) const { return (count + 1) % (2 * places_); }
  size_t IndexOf(uint32_t qpn, uint32_t count) const { return size_t{qpn} * places_ + count % places_; }

  void Take(Cycle now, const spec::ReadRecord& record) {
    const bool held = record_taken_.count != record_ended_.count;
    const bool full = (record_taken_.count - record_ended_.count) % (2 * places_) == places_;
    const uint32_t limit = held ? record_taken_.psn : record_ended_.psn;
    const bool known = (held || record_ended_.any) && (record.last_psn == limit || IsBehind(record.last_psn, limit));
    if (known || full) return;
    const auto qpn = static_cast<uint32_t>(record.qpn % taken_.size());
    entries_.Write(now, IndexOf(qpn, record_taken_.count), record);
    taken_.Write(now, qpn, {Next(record_taken_.count), record.last_psn});
  }

  const uint32_t places_;
  Table<Taken> taken_;
  Table<Ended> ended_;
  Table<spec::ReadRecord> entries_;

  // Of the turn.
  uint32_t qpn_ = 0;
  Cycle turn_ = 0;
  Taken turn_taken_;
  Ended turn_ended_;
  // Of the record that is looked at.
  std::optional<Cycle> began_;
  Taken record_taken_;
  Ended record_ended_;
  Cycle load_ = kUnknown;
};

}  // namespace vireo::model
