// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/atomic.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "model/common/output_register.h"
#include "model/dma/dma_split.h"
#include "model/rdma/transport.h"

namespace vireo::model {
namespace {

bool IsOkay(uint8_t resp) { return resp == static_cast<uint8_t>(AxiResp::kOkay); }

void Encode(uint64_t value, uint8_t* data) {
  for (unsigned i = 0; i < spec::kAtomicBytes; ++i) data[i] = static_cast<uint8_t>(value >> 8 * i);
}

}  // namespace

Atomic::Atomic(Agenda& agenda, const Sizes& sizes)
    : Block(agenda),
      request_in(Channel<spec::AtomicRequest>::Fifo(std::max(sizes.num_qps, 4u))),
      is_present_(sizes.is_present),
      num_qps_(sizes.num_qps),
      ring_(std::max(sizes.max_rd_atomic, 2u)),
      in_flight_(sizes.in_flight),
      reading_(Channel<spec::AtomicRequest>::Fifo(sizes.in_flight)),
      ending_(Channel<Ending>::Fifo(sizes.in_flight)),
      rows_(sizes.num_qps),
      kept_(size_t{sizes.num_qps} * ring_) {
  assert(std::has_single_bit(ring_) && std::has_single_bit(in_flight_) && in_flight_ >= 4);
  request_in.SetConsumer(this);
  fetched_in.SetConsumer(this);
  reading_.SetProducer(this);
  reading_.SetConsumer(this);
  ending_.SetProducer(this);
  ending_.SetConsumer(this);
}

void Atomic::OnDone(Cycle now, const spec::DmaDone& done) {
  dones_.push_back({now, !IsOkay(done.resp)});
  WakeAt(now + 1);
}

// What a peer may ask for again is of one lifetime of its QP.
void Atomic::OnQpStateWrite(Cycle now, const spec::QpStateWrite& write) {
  if (!is_present_) return;
  if (write.state != spec::IbQpState::kReset && write.state != spec::IbQpState::kInit) return;
  clears_.push_back({now + 1, static_cast<uint32_t>(write.qpn % num_qps_)});
  WakeAt(now + 1);
}

void Atomic::Run(Cycle now) {
  while (!clears_.empty() && clears_.front().cycle <= now) {
    cleared_ = clears_.front().cycle;
    rows_.Write(cleared_, clears_.front().qpn, {});
    clears_.pop_front();
  }
  bool moved = Leave(now, fetch_, fetch_request_out);
  moved |= Leave(now, store_, store_out);
  moved |= Leave(now, result_, result_out);
  Begin(now);  // first: a slot is in use in the cycle of its end
  Compute(now);
  moved |= Step(now);
  if (moved) WakeAt(now + 1);
}

// An operation whose address no other one has takes a slot, and is read.
void Atomic::Begin(Cycle now) {
  if (!request_in.CanPop(now)) return;
  if (slots_.size() == in_flight_) return;
  const spec::AtomicRequest& request = request_in.front();
  if (!request.is_duplicate) {
    const auto conflicts = [&](const Slot& slot) {
      return slot.busy && slot.address == request.address / spec::kAtomicBytes;
    };
    if (std::any_of(slots_.begin(), slots_.end(), conflicts)) return;
    // ATOMIC WRITE does not depend on what is there.
    if (!request.is_write) {
      if (fetch_) return;
      const uint16_t bytes = request.is_flush ? 1 : spec::kAtomicBytes;
      fetch_ = {.address = request.address, .bytes = bytes, .tag = 0};
    }
  }
  slots_.push_back({.busy = !request.is_duplicate, .address = request.address / spec::kAtomicBytes});
  reading_.Push(now, request);
  request_in.Drop(now);
  WakeAt(now + 1);
}

void Atomic::Compute(Cycle now) {
  if (!reading_.CanPop(now)) return;
  const spec::AtomicRequest& request = reading_.front();
  Ending ending{
      .qpn = static_cast<uint32_t>(request.qpn % num_qps_), .psn = request.psn, .is_duplicate = request.is_duplicate};
  if (!request.is_duplicate) {
    if (store_ || (!request.is_write && !fetched_in.CanPop(now))) return;
    if (!request.is_write) {
      const spec::DmaFetched fetched = fetched_in.Pop(now);
      ending.failed = !IsOkay(fetched.resp);
      ending.value = HostValue(fetched.data);
    }
    ending.grant = request.grant;
    ending.writes = !ending.failed && !request.is_flush && (!request.is_swap || ending.value == request.compare);
    if (ending.writes) {
      store_ = {.address = request.address, .bytes = spec::kAtomicBytes, .notify = true, .tag = 0};
      const bool sums = !request.is_swap && !request.is_write;
      Encode(sums ? ending.value + request.swap_add : request.swap_add, store_->data);
    }
  }
  ending_.Push(now, ending);
  reading_.Drop(now);
  WakeAt(now + 1);
}

bool Atomic::Step(Cycle now) {
  const bool port_busy = cleared_ == now;
  switch (state_) {
    case State::kHead: {
      if (!ending_.CanPop(now) || result_) return false;
      const Ending& ending = ending_.front();
      if (ending.writes && (dones_.empty() || dones_.front().cycle >= now)) return false;
      row_ = rows_.Read(now, ending.qpn);
      state_ = State::kRow;
      return true;
    }
    case State::kRow: {
      // A row that was read in the cycle of a pulse's write may be of before it.
      if (port_busy || (cleared_ != kUnknown && cleared_ + 1 == now)) {
        state_ = State::kHead;
        return true;
      }
      const Ending& ending = ending_.front();
      if (ending.is_duplicate) {
        if (row_.count == 0) {
          End(now, spec::AtomicStatus::kUnknown, 0);
        } else {
          found_ = KeptOf(ending.qpn, row_.next + ring_ - 1);
          scanned_ = 1;
          state_ = State::kScan;
        }
        return true;
      }
      if (ending.failed || (ending.writes && dones_.front().is_refused)) {
        End(now, spec::AtomicStatus::kFailed, 0);
        return true;
      }
      KeptOf(ending.qpn, row_.next) = {.psn = ending.psn, .value = ending.value};
      rows_.Write(now, ending.qpn, {.count = std::min(row_.count + 1, ring_), .next = (row_.next + 1) % ring_});
      End(now, spec::AtomicStatus::kOk, ending.value);
      return true;
    }
    case State::kScan:
      if (found_.psn == ending_.front().psn) {
        End(now, spec::AtomicStatus::kOk, found_.value);
      } else if (scanned_ == row_.count) {
        End(now, spec::AtomicStatus::kUnknown, 0);
      } else {
        found_ = KeptOf(ending_.front().qpn, row_.next + 2 * ring_ - 1 - scanned_);
        ++scanned_;
      }
      return true;
  }
  return false;
}

void Atomic::End(Cycle now, spec::AtomicStatus status, uint64_t value) {
  const Ending& ending = ending_.front();
  result_ = {.qpn = ending.qpn, .status = status, .value = value};
  if (ending.grant.valid) on_grant_ended(now, now + 1, ending.grant);
  if (ending.writes) dones_.pop_front();
  ending_.Drop(now);
  slots_.pop_front();
  state_ = State::kHead;
}

bool Atomic::IsIdle() const { return request_in.size() == 0 && slots_.empty() && !result_ && clears_.empty(); }

}  // namespace vireo::model
