// SPDX-License-Identifier: Apache-2.0
#include "sim/device/axi_bridge.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vireo::sim {

AxiBridge::AxiBridge(const spec::Config& config, std::string name)
    : config_(config),
      name_(std::move(name)),
      beat_bytes_(BeatBytes(config)),
      transmit_threshold_(FrameBeats(config.max_frame_bytes, beat_bytes_) + kTransmitReserve) {
  Reset();
}

void AxiBridge::Reset() {
  reads_.assign(config_.dma_tags, {});
  open_reads_ = 0;
  read_beats_.clear();
  read_free_ = 0;
  writes_.clear();
  answer_cycle_ = refused_cycle_ = kNever;
  write_ = transmit_ = {};
}

void AxiBridge::Defect(Cycle cycle, const std::string& what) const {
  std::fprintf(stderr, "%s, cycle %llu: %s\n", name_.c_str(), static_cast<unsigned long long>(cycle), what.c_str());
  std::abort();
}

// --- Reads

void AxiBridge::OnReadBurst(Cycle cycle, const DmaRead& read) {
  if (read.tag >= reads_.size()) Defect(cycle, "read burst with ID " + std::to_string(read.tag));
  if (read.bytes == 0) Defect(cycle, "read burst without bytes");
  Read& entry = reads_[read.tag];
  if (entry.bytes != 0) Defect(cycle, "read burst with ID " + std::to_string(read.tag) + ", in use");
  // Reuses the memory of its partial beats.
  entry.address = read.address;
  entry.bytes = read.bytes;
  entry.done = 0;
  entry.partial.clear();
  entry.poisoned = false;
  ++open_reads_;
}

// R4: the cycle of the last of `beats` beats, one per cycle from `cycle` on.
Cycle AxiBridge::Occupy(Cycle cycle, uint32_t beats) {
  read_free_ = std::max(cycle, read_free_) + beats;
  return read_free_ - 1;
}

void AxiBridge::MakeBeat(Cycle cycle, uint16_t id, std::span<const uint8_t> data, uint8_t resp, bool last) {
  ReadBeat& beat = read_beats_.Extend();
  beat.cycle = Occupy(cycle, 1);
  beat.id = id;
  beat.data.assign(data.begin(), data.end());
  beat.data.resize(beat_bytes_);
  beat.resp = resp;
  beat.last = last;
}

void AxiBridge::OnCompletion(Cycle cycle, const DmaCompletion& completion) {
  // A completion without a read is the environment's defect; NicTap reports it.
  if (completion.tag >= reads_.size() || reads_[completion.tag].bytes == 0) return;
  Read& read = reads_[completion.tag];
  const uint64_t end = read.address + read.bytes;
  const bool poisoned = completion.status == DmaStatus::kPoisoned;
  std::span<const uint8_t> data =
      completion.data.first(std::min<size_t>(completion.data.size(), read.bytes - read.done));
  for (Cycle at = cycle; !data.empty(); ++at) {
    const uint64_t address = read.address + read.done;
    const auto lane = static_cast<uint32_t>(address % beat_bytes_);
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(beat_bytes_ - lane, data.size()));
    read.partial.resize(beat_bytes_);
    std::copy_n(data.begin(), count, read.partial.begin() + lane);
    read.poisoned |= poisoned;
    read.done += count;
    data = data.subspan(count);
    const bool last = address + count == end;
    if (lane + count == beat_bytes_ || last) {
      MakeBeat(at, completion.tag, read.partial, read.poisoned ? kAxiSlverr : kAxiOkay, last);
      read.partial.clear();
      read.poisoned = false;
    }
  }
  if (completion.last && read.done != read.bytes) {
    // A partial bus beat is one of the missing ones.
    const uint64_t here = read.address + read.done;
    uint32_t missing = DmaBeats(here, end - here, beat_bytes_);
    while (missing-- > 0) MakeBeat(cycle, completion.tag, {}, kAxiSlverr, missing == 0);
    read.done = read.bytes;
  }
  if (read.done == read.bytes) {
    read.bytes = 0;
    --open_reads_;
  }
}

AxiBridge::ReadPart AxiBridge::TakeCompletion(Cycle cycle, const DmaCompletion& completion) {
  if (completion.tag >= reads_.size() || reads_[completion.tag].bytes == 0) return {};
  Read& read = reads_[completion.tag];
  const uint64_t end = read.address + read.bytes;
  ReadPart part{.bytes = std::min<size_t>(completion.data.size(), read.bytes - read.done)};
  uint64_t here = read.address + read.done;
  read.done += static_cast<uint32_t>(part.bytes);
  if (part.bytes != 0) {
    read.poisoned |= completion.status == DmaStatus::kPoisoned;
    uint32_t beats = DmaBeats(here, part.bytes, beat_bytes_);
    here += part.bytes;
    if (here != end && here % beat_bytes_ != 0) --beats;  // waits for the next part
    if (beats != 0) part.cycle = Occupy(cycle, beats);
  }
  if (completion.last && read.done != read.bytes) {
    part.cycle = Occupy(cycle, DmaBeats(here, end - here, beat_bytes_));
    read.poisoned = true;
    read.done = read.bytes;
  }
  if (read.done != read.bytes) return part;
  part.last = true;
  part.resp = read.poisoned ? kAxiSlverr : kAxiOkay;
  read.bytes = 0;
  --open_reads_;
  return part;
}

// --- Writes

bool AxiBridge::IsAddressReady(Cycle cycle, uint64_t address, uint32_t bytes) const {
  return write_.Before(cycle) >= static_cast<int64_t>(DmaBeats(address, bytes, beat_bytes_));
}

void AxiBridge::OnAddress(Cycle cycle, uint64_t address, uint32_t bytes) {
  if (bytes == 0) Defect(cycle, "write burst without bytes");
  if (!IsAddressReady(cycle, address, bytes)) Defect(cycle, "write burst without credits");
  write_.TakeAhead(DmaBeats(address, bytes, beat_bytes_));
  writes_.push_back({cycle, {address, {}}, bytes});
}

bool AxiBridge::IsDataReady(Cycle cycle) const { return !writes_.empty() && writes_.front().taken < cycle; }

std::pair<uint32_t, uint32_t> AxiBridge::NextLanes() const {
  const OpenWrite& open = writes_.front();
  const uint64_t address = open.write.address + open.write.data.size();
  const auto first = static_cast<uint32_t>(address % beat_bytes_);
  const auto left = static_cast<uint32_t>(open.bytes - open.write.data.size());
  return {first, std::min(beat_bytes_, first + left)};
}

std::optional<AxiBridge::Write> AxiBridge::OnData(Cycle cycle, std::span<const uint8_t> beat, bool last) {
  OpenWrite& open = OldestWrite(cycle);
  if (open.write.data.empty()) open.write.data.reserve(open.bytes);
  const auto [first, end] = NextLanes();
  const auto bytes = beat.subspan(first, end - first);
  open.write.data.insert(open.write.data.end(), bytes.begin(), bytes.end());
  const bool complete = open.write.data.size() == open.bytes;
  if (complete != last) Defect(cycle, "wlast does not match the burst's length");
  if (!complete) return std::nullopt;
  Write write = std::move(open.write);
  FinishWrite(cycle);
  return write;
}

uint64_t AxiBridge::OnBurstData(Cycle cycle, size_t bytes) {
  const OpenWrite& open = OldestWrite(cycle);
  if (bytes != open.bytes) Defect(cycle, "wlast does not match the burst's length");
  const uint64_t address = open.write.address;
  FinishWrite(cycle);
  return address;
}

AxiBridge::OpenWrite& AxiBridge::OldestWrite(Cycle cycle) {
  if (!IsDataReady(cycle)) Defect(cycle, "write data before its address");
  return writes_.front();
}

void AxiBridge::FinishWrite(Cycle cycle) {
  writes_.pop_front();
  answer_cycle_ = cycle + 1;
}

// --- Frames

bool AxiBridge::IsTransmitReady(Cycle cycle) const { return transmit_.Before(cycle) >= transmit_threshold_; }

void AxiBridge::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  (kind == CreditKind::kDmaWrite ? write_ : transmit_).Give(cycle, beats);
}

}  // namespace vireo::sim
