// SPDX-License-Identifier: Apache-2.0
// The outstanding RDMA READs of each QP as requester, in a ring per QP: the counterpart of rtl/rdma/vireo_read_ring.sv.
// Part of the responder, whose turns it follows.
//
// A record's rows are read in the first cycle in which it is visible without a load, and written one cycle later.
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
  bool CanLoad(Cycle now) const { return !started_ || *started_ == now; }
  // Discards all records of a QP. To be called before Run in its cycle.
  void Load(Cycle now, uint32_t qpn) {
    taken_.Write(now, qpn, {});
    ended_.Write(now, qpn, 0);
    load_ = now;
  }

  // Starts a turn of a QP, to which the following calls apply.
  void Read(Cycle now, uint32_t qpn) {
    qpn_ = qpn;
    turn_ = now;
    turn_taken_ = taken_.Read(now, qpn);
    turn_ended_ = ended_.Read(now, qpn);
  }
  bool IsHeld() const { return turn_taken_.count != turn_ended_; }
  // Not before two cycles after the start of the turn.
  const spec::ReadRecord& Oldest() { return entries_.Read(turn_ + 1, IndexOf(qpn_, turn_ended_)); }
  // Retire concerns this turn, also when another one has started.
  void Keep() {
    kept_qpn_ = qpn_;
    kept_ended_ = turn_ended_;
  }
  // The oldest one is complete.
  void Retire(Cycle now) { ended_.Write(now, kept_qpn_, Next(kept_ended_)); }

  // Record processing of cycle `now`; true: it continues in the next one.
  bool Run(Cycle now, Channel<spec::ReadRecord>& record_in) {
    if (started_ && *started_ < now) {
      started_.reset();
      Take(now, record_in.Pop(now));
      return true;
    }
    if (started_ || !record_in.CanPop(now)) return started_.has_value();
    if (load_ == now) return true;
    started_ = now;
    const auto qpn = static_cast<uint32_t>(record_in.front().qpn % taken_.size());
    record_taken_ = taken_.Read(now, qpn);
    record_ended_ = ended_.Read(now, qpn);
    return true;
  }

 private:
  struct Taken {
    uint32_t count = 0;  // modulo twice the ring size, as the count of ended ones
    bool any = false;    // since the load
    uint8_t next = 0;    // valid with `any`: a new record has this number or a later one
  };

  uint32_t Next(uint32_t count) const { return (count + 1) % (2 * places_); }
  size_t IndexOf(uint32_t qpn, uint32_t count) const { return size_t{qpn} * places_ + count % places_; }

  void Take(Cycle now, const spec::ReadRecord& record) {
    const bool full = (record_taken_.count - record_ended_) % (2 * places_) == places_;
    const bool known = record_taken_.any && static_cast<int8_t>(record.number - record_taken_.next) < 0;
    if (known || full) return;
    const auto qpn = static_cast<uint32_t>(record.qpn % taken_.size());
    entries_.Write(now, IndexOf(qpn, record_taken_.count), record);
    taken_.Write(now, qpn, {Next(record_taken_.count), true, static_cast<uint8_t>(record.number + 1)});
  }

  const uint32_t places_;
  Table<Taken> taken_;
  Table<uint32_t> ended_;
  Table<spec::ReadRecord> entries_;

  // Of the turn.
  uint32_t qpn_ = 0;
  Cycle turn_ = 0;
  Taken turn_taken_;
  uint32_t turn_ended_ = 0;
  uint32_t kept_qpn_ = 0;
  uint32_t kept_ended_ = 0;
  // The record in progress.
  std::optional<Cycle> started_;
  Taken record_taken_;
  uint32_t record_ended_ = 0;
  Cycle load_ = kUnknown;
};

}  // namespace vireo::model
