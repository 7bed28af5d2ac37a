// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/pacer.h"

namespace vireo::sim {

void Pacer::RunSlice(unsigned steps) {
  has_anchor_ = false;
  const uint64_t end = scheduler_.callbacks() + steps;
  scheduler_.RunUntil([&] { return scheduler_.callbacks() >= end || IsIdle(); }, kForever);
}

uint64_t Pacer::SleepNs(uint64_t real_ns) {
  if (!IsIdle()) return 0;
  if (!has_anchor_) Restart(real_ns);
  if (scheduler_.next() == kForever) return kForeverNs;
  const uint64_t wanted_ns = (scheduler_.next() - anchor_ + kPicosecondsPerNanosecond - 1) / kPicosecondsPerNanosecond;
  const uint64_t passed_ns = real_ns - anchor_real_ns_;
  return wanted_ns > passed_ns ? wanted_ns - passed_ns : 0;
}

void Pacer::Advance(uint64_t real_ns) {
  if (!has_anchor_ || !IsIdle()) return;
  const Picoseconds target = anchor_ + (real_ns - anchor_real_ns_) * kPicosecondsPerNanosecond;
  const Picoseconds next = scheduler_.next(), before = scheduler_.now();
  if (target >= next) {
    scheduler_.RunUntil([] { return false; }, next + 1);  // events at this time only
    has_anchor_ = false;
  } else if (target > scheduler_.now()) {
    scheduler_.RunUntil([] { return false; }, target);
  }
  idle_ += scheduler_.now() - before;
}

void Pacer::Restart(uint64_t real_ns) {
  has_anchor_ = true;
  anchor_ = scheduler_.now();
  anchor_real_ns_ = real_ns;
}

}  // namespace vireo::sim
