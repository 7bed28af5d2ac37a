// SPDX-License-Identifier: Apache-2.0
// Multicast in front of the responder's turns: the counterpart of rtl/rdma/vireo_responder_groups.sv. A datagram to a
// group becomes the next frame once for each attached queue pair, and then once more as it came, so that it is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/common/cycle.h"
#include "model/common/ring.h"
#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class ResponderGroups {
 public:
  ResponderGroups(uint32_t num_qps, uint32_t attachments) : num_qps_(num_qps), attachments_(attachments) {}

  // A pulse, in its cycle.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  // What is found out of the first frame in cycle `now`; call it in each cycle in which there is one. True: the next
  // cycle has work, too.
  bool Run(Cycle now, const RxToken& frame);
  // The frame, or a copy or the rest of it, may have its turn in cycle `now`, after Run.
  bool IsReady(Cycle now, const RxToken& frame) const;
  // It is not ready, and will be without anything else: as of the end of the last cycle that ran.
  bool IsBusy(const RxToken& frame) const;
  // What is next is a copy, for this queue pair.
  bool IsCopy() const { return state_ == State::kCopy; }
  uint32_t qpn() const { return qpn_; }
  // It becomes the one in progress. False: a copy, and the frame stays.
  bool Advance(Cycle now);

 private:
  enum class State : uint8_t { kPass, kPick, kCopy };
  struct Attachment {
    bool is_valid = false;
    uint32_t qpn = 0;
    std::array<uint8_t, 16> group{};
  };
  struct Write {
    Cycle cycle = 0;
    uint32_t row = 0;
    Attachment entry;
  };

  bool IsGroup(const RxToken& frame) const;
  uint64_t Find(const RxToken& frame) const;
  void Merge(Cycle now);
  void Set(Cycle now, State state) {
    state_ = state;
    since_ = now + 1;
  }

  const uint32_t num_qps_;
  std::vector<Attachment> attachments_;
  Ring<Write> writes_;  // not merged yet
  State state_ = State::kPass;
  Cycle since_ = 0;
  uint64_t left_ = 0;  // attachments without their copy, one bit each
  uint32_t qpn_ = 0;
};

}  // namespace vireo::model
