// SPDX-License-Identifier: Apache-2.0
#include "sim/wire/outer_port.h"

#include <utility>

namespace vireo::sim {

void OuterPort::Send(WireFrame frame) {
  ++counters_.sent;
  if (frame.bytes.size() < kMinFrameBytes) frame.bytes.resize(kMinFrameBytes);
  if (recorder_ == nullptr) {
    wire_.Send(end_, scheduler_.now(), std::move(frame));
    return;
  }
  const WireFrame copy = frame;
  const Picoseconds left = wire_.Send(end_, scheduler_.now(), std::move(frame));
  scheduler_.Call(left, [this, copy] { recorder_->OnFrame(Direction::kOut, copy); });
}

void OuterPort::OnFrame(WireFrame frame) {
  if (recorder_ != nullptr) recorder_->OnFrame(Direction::kIn, frame);
  if (frame.bad_fcs) {
    ++counters_.bad_fcs_drops;
    return;
  }
  ++counters_.received;
  if (receiver_) receiver_(frame);
}

}  // namespace vireo::sim
