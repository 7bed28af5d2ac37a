// SPDX-License-Identifier: Apache-2.0
#include "model/rdma/responder_groups.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace vireo::model {
namespace {

// [RFC 2464, 7; RFC 1112, 6.4]
std::array<uint8_t, 6> GroupMac(const RxToken& frame) {
  const uint8_t* const to = frame.ip_destination;
  if (frame.is_ipv6) return {0x33, 0x33, to[12], to[13], to[14], to[15]};
  return {0x01, 0x00, 0x5e, static_cast<uint8_t>(to[13] & 0x7f), to[14], to[15]};
}

}  // namespace

void ResponderGroups::OnTableWrite(Cycle now, const spec::TableWrite& write) {
  if (write.table_id != spec::MgmtTable::kMcast || write.index >= attachments_.size()) return;
  Merge(now);
  const auto entry = spec::TableMcast::Decode(write.data);
  Write& pending = writes_.Extend();
  pending.cycle = now;
  pending.row = write.index;
  pending.entry.is_valid = entry.valid;
  pending.entry.qpn = entry.qpn % num_qps_;
  std::copy(std::begin(entry.mgid), std::end(entry.mgid), pending.entry.group.begin());
}

// Those of earlier cycles. What was found by them gets no copy.
void ResponderGroups::Merge(Cycle now) {
  while (!writes_.empty() && writes_.front().cycle < now) {
    const Write& write = writes_.front();
    attachments_[write.row] = write.entry;
    left_ &= ~(uint64_t{1} << write.row);
    writes_.pop_front();
  }
}

bool ResponderGroups::IsGroup(const RxToken& frame) const {
  return !attachments_.empty() && frame.verdict == spec::RxVerdict::kRoce &&
         static_cast<spec::BthService>(static_cast<uint8_t>(frame.bth.opcode) >> 5) == spec::BthService::kUd &&
         frame.bth.dest_qp == spec::kMulticastQpn;
}

uint64_t ResponderGroups::Find(const RxToken& frame) const {
  if (!std::ranges::equal(frame.destination_mac, GroupMac(frame))) return 0;
  uint64_t found = 0;
  for (size_t row = 0; row < attachments_.size(); ++row) {
    const Attachment& attachment = attachments_[row];
    if (attachment.is_valid && std::ranges::equal(frame.ip_destination, attachment.group)) found |= uint64_t{1} << row;
  }
  return found;
}

bool ResponderGroups::Run(Cycle now, const RxToken& frame) {
  Merge(now);
  if (since_ > now) return true;
  switch (state_) {
    case State::kPass:
      if (!IsGroup(frame)) return false;
      left_ = Find(frame);
      Set(now, State::kPick);
      return true;
    case State::kPick:
      if (left_ == 0) return false;
      qpn_ = attachments_[static_cast<size_t>(std::countr_zero(left_))].qpn;
      left_ &= left_ - 1;
      Set(now, State::kCopy);
      return true;
    case State::kCopy: return false;
  }
  return false;
}

bool ResponderGroups::IsReady(Cycle now, const RxToken& frame) const { return since_ <= now && !IsBusy(frame); }

bool ResponderGroups::IsBusy(const RxToken& frame) const {
  switch (state_) {
    case State::kPass: return IsGroup(frame);
    case State::kPick: {
      uint64_t left = left_;
      for (const Write& write : writes_) left &= ~(uint64_t{1} << write.row);
      return left != 0;
    }
    case State::kCopy: return false;
  }
  return false;
}

bool ResponderGroups::Advance(Cycle now) {
  const bool was_copy = IsCopy();
  if (state_ != State::kPass) Set(now, was_copy ? State::kPick : State::kPass);
  return !was_copy;
}

}  // namespace vireo::model
