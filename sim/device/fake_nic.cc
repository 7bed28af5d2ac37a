// SPDX-License-Identifier: Apache-2.0
#include "sim/device/fake_nic.h"

#include <algorithm>
#include <utility>

namespace vireo::sim {
namespace {

constexpr uint32_t kMaxReadBytes = 512;
constexpr uint32_t kMaxWriteBytes = 256;
constexpr Cycle kSendLatency = 4;     // from a frame's last data to its first beat
constexpr Cycle kReceiveLatency = 3;  // from a frame's last beat to its first write

// Up to the next multiple of `unit`, so that no access crosses a 4 KiB boundary.
uint32_t Piece(uint64_t address, uint64_t left, uint32_t unit) {
  return static_cast<uint32_t>(std::min<uint64_t>(left, unit - address % unit));
}

}  // namespace

FakeNic::FakeNic(Scheduler& scheduler, const CoreClock& clock, const spec::Config& config, NicEnvironment& environment)
    : scheduler_(scheduler),
      clock_(clock),
      config_(config),
      environment_(environment),
      beat_bytes_(BeatBytes(config)),
      client_(scheduler.AddClient(*this)) {}

void FakeNic::Reset(Cycle) {
  next_evaluation_ = kNever;
  scheduler_.SetAlarm(kForever, client_);
  config_space_ = {};
  spec::PciHeader header;
  header.vendor_id = spec::kPciVendorId;
  header.device_id = spec::kPciDeviceId;
  header.Encode(config_space_.data());
  send_address_ = receive_address_ = receive_slots_ = scratch_ = 0;
  sent_ = received_ = dropped_ = 0;
  csr_ = 0;
  interrupt_ = interrupt_shown_ = false;
  timer_ = kNever;
  inputs_.clear();
  bar_answers_.clear();
  csr_answer_.reset();
  messages_.clear();
  jobs_.clear();
  first_job_ = requesting_job_ = 0;
  tags_.assign(config_.dma_tags, {});
  free_tags_.clear();
  for (uint32_t tag = config_.dma_tags; tag-- > 0;) free_tags_.push_back(static_cast<uint16_t>(tag));
  writes_.clear();
  write_end_ = frame_end_ = kNever;
  write_credits_ = transmit_credits_ = 0;
}

uint32_t FakeNic::ReadConfig(Cycle, uint16_t offset, unsigned bytes) {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    if (offset + i < config_space_.size()) value |= uint32_t{config_space_[offset + i]} << 8 * i;
  }
  return value;
}

void FakeNic::WriteConfig(Cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  for (unsigned i = 0; i < bytes; ++i) {
    if (offset + i < config_space_.size()) config_space_[offset + i] = static_cast<uint8_t>(value >> 8 * i);
  }
}

void FakeNic::Take(Cycle cycle, std::function<void()> apply) {
  inputs_.push_back({cycle, std::move(apply)});
  Wake(cycle + 1);
}

void FakeNic::ReadBar(Cycle cycle, unsigned, uint64_t offset, unsigned bytes) {
  Take(cycle, [this, offset, bytes] {
    const uint64_t value = ReadRegister(offset);
    bar_answers_.push_back(bytes >= 8 ? value : value & ((uint64_t{1} << 8 * bytes) - 1));
  });
}

void FakeNic::WriteBar(Cycle cycle, unsigned, uint64_t offset, unsigned, uint64_t value) {
  Take(cycle, [this, cycle, offset, value] { WriteRegister(cycle, offset, value); });
}

void FakeNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  Take(cycle, [this, cycle, completion, data = std::vector<uint8_t>(completion.data.begin(), completion.data.end())] {
    TakeCompletion(cycle, completion, data);
  });
}

void FakeNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  Take(cycle, [this, kind, beats] { (kind == CreditKind::kDmaWrite ? write_credits_ : transmit_credits_) += beats; });
}

void FakeNic::ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  Take(start, [this, end, mac_error, copy = std::vector<uint8_t>(bytes.begin(), bytes.end())] {
    if (mac_error || receive_slots_ == 0 || copy.size() > kSlotBytes - kSlotHeader) {
      ++dropped_;
    } else {
      QueueFrame(end, copy);
    }
  });
}

// Ignored.
void FakeNic::SetLink(Cycle, bool) {}

void FakeNic::ReadCsr(Cycle cycle, uint32_t offset) {
  Take(cycle, [this, offset] { csr_answer_ = offset == spec::kMgmtScratchRegister ? csr_ : 0; });
}

void FakeNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  Take(cycle, [this, offset, value] {
    if (offset == spec::kMgmtScratchRegister) csr_ = value;
    interrupt_ = csr_ != 0;
  });
}

uint64_t FakeNic::ReadRegister(uint64_t offset) const {
  switch (offset) {
    case kSent: return sent_;
    case kReceived: return received_;
    case kDropped: return dropped_;
    case kScratch: return scratch_;
    default: return 0;
  }
}

void FakeNic::WriteRegister(Cycle cycle, uint64_t offset, uint64_t value) {
  switch (offset) {
    case kSendAddress: send_address_ = value; break;
    case kSendBytes: {
      SendJob job;
      job.address = send_address_;
      job.bytes.resize(value);
      jobs_.push_back(std::move(job));
      break;
    }
    case kReceiveAddress: receive_address_ = value; break;
    case kReceiveSlots: receive_slots_ = value; break;
    case kTimer: timer_ = cycle + value; break;
    case kScratch: scratch_ = value; break;
    default: break;
  }
}

void FakeNic::TakeCompletion(Cycle cycle, const DmaCompletion& completion, std::span<const uint8_t> data) {
  const Tag tag = tags_[completion.tag];
  SendJob& job = jobs_[tag.job - first_job_];
  std::copy(data.begin(), data.end(), job.bytes.begin() + tag.offset + completion.offset);
  if (completion.status != DmaStatus::kOk) job.failed = true;
  if (completion.last) {
    job.arrived += tag.bytes;
    free_tags_.push_back(completion.tag);
  }
  job.ready = cycle + DmaBeats(completion.address, data.size(), beat_bytes_);
}

void FakeNic::QueueFrame(Cycle end, std::span<const uint8_t> bytes) {
  const uint64_t slot = receive_address_ + received_++ % receive_slots_ * kSlotBytes;
  for (size_t at = 0; at < bytes.size();) {
    const uint32_t count = Piece(slot + kSlotHeader + at, bytes.size() - at, kMaxWriteBytes);
    const auto part = bytes.subspan(at, count);
    writes_.push_back({slot + kSlotHeader + at, {part.begin(), part.end()}, std::nullopt, end + kReceiveLatency});
    at += count;
  }
  std::vector<uint8_t> length(4);
  for (unsigned i = 0; i < 4; ++i) length[i] = static_cast<uint8_t>(bytes.size() >> 8 * i);
  writes_.push_back({slot, std::move(length), kReceiveVector, 0});
}

bool FakeNic::IsIdle() const {
  return inputs_.empty() && bar_answers_.empty() && !csr_answer_ && messages_.empty() && jobs_.empty() &&
         writes_.empty() && interrupt_ == interrupt_shown_;
}

void FakeNic::Wake(Cycle cycle) {
  // A pending earlier evaluation schedules the later one itself, because the device is busy then.
  if (cycle >= next_evaluation_) return;
  next_evaluation_ = cycle;
  scheduler_.SetAlarm(clock_.Middle(cycle), client_);
}

void FakeNic::OnTime(uint64_t) {
  const Cycle cycle = std::exchange(next_evaluation_, kNever);
  ++evaluated_cycles_;
  Evaluate(cycle);
  if (!IsIdle()) {
    Wake(cycle + 1);
  } else if (timer_ != kNever) {
    Wake(timer_);
  }
}

void FakeNic::Evaluate(Cycle cycle) {
  while (!inputs_.empty() && inputs_.front().cycle < cycle) {
    inputs_.front().apply();
    inputs_.pop_front();
  }
  if (timer_ <= cycle) {
    timer_ = kNever;
    messages_.push_back(kTimerVector);
  }
  if (!bar_answers_.empty()) {
    environment_.CompleteBarRead(cycle, bar_answers_.front());
    bar_answers_.pop_front();
  }
  if (csr_answer_) {
    environment_.CompleteCsrRead(cycle, *csr_answer_);
    csr_answer_.reset();
  }
  if (interrupt_ != interrupt_shown_) {
    interrupt_shown_ = interrupt_;
    environment_.SetFirmwareInterrupt(cycle, interrupt_);
  }

  // One read request per cycle, for the oldest frame with reads left to issue.
  requesting_job_ = std::max(requesting_job_, first_job_);
  if (requesting_job_ < first_job_ + jobs_.size() && !free_tags_.empty()) {
    SendJob& job = jobs_[requesting_job_ - first_job_];
    const uint64_t address = job.address + job.requested;
    const uint32_t bytes = Piece(address, job.bytes.size() - job.requested, kMaxReadBytes);
    if (bytes != 0) {
      const uint16_t tag = free_tags_.back();
      free_tags_.pop_back();
      tags_[tag] = {requesting_job_, job.requested, bytes};
      job.requested += bytes;
      environment_.ReadDma(cycle, {tag, address, bytes});
    }
    if (job.requested == job.bytes.size()) ++requesting_job_;
  }

  // Frames leave in order, each as one train.
  if (frame_end_ == cycle) {
    environment_.TransmitFrame(frame_start_, cycle, jobs_.front().bytes);
    jobs_.pop_front();
    ++first_job_;
    ++sent_;
    frame_end_ = kNever;
    messages_.push_back(kSendVector);
  } else if (frame_end_ == kNever && !jobs_.empty() && jobs_.front().arrived == jobs_.front().bytes.size()) {
    const SendJob& job = jobs_.front();
    const uint32_t beats = FrameBeats(job.bytes.size(), beat_bytes_);
    if (job.failed || job.bytes.empty()) {
      jobs_.pop_front();
      ++first_job_;
      ++dropped_;
    } else if (cycle + 1 >= job.ready + kSendLatency && transmit_credits_ >= beats) {
      transmit_credits_ -= beats;
      frame_start_ = cycle + 1;
      frame_end_ = cycle + beats;
    }
  }

  // Writes in order, each as one train; its message comes with its last beat.
  if (write_end_ == cycle) {
    environment_.WriteDma(cycle, {writes_.front().address, writes_.front().data});
    if (writes_.front().then) messages_.push_back(*writes_.front().then);
    writes_.pop_front();
    write_end_ = kNever;
  }
  if (write_end_ == kNever && !writes_.empty()) {
    const uint32_t beats = DmaBeats(writes_.front().address, writes_.front().data.size(), beat_bytes_);
    if (write_credits_ >= beats && cycle + 1 >= writes_.front().not_before) {
      write_credits_ -= beats;
      write_end_ = cycle + beats;
    }
  }
  if (!messages_.empty()) {
    environment_.SendMsix(cycle, messages_.front());
    messages_.pop_front();
  }
}

}  // namespace vireo::sim
