// SPDX-License-Identifier: Apache-2.0
#include "sim/nic/nic_tap.h"

#include <algorithm>
#include <array>

namespace vireo::sim {
namespace {

struct KindInfo {
  const char* name;
  Stream stream;
};

// By EventKind.
constexpr std::array<KindInfo, kEventKinds> kKinds = {{
    {"reset", Stream::kConfig},
    {"config_read", Stream::kConfig},
    {"config_write", Stream::kConfig},
    {"bar_read", Stream::kBar},
    {"bar_write", Stream::kBar},
    {"bar_completion", Stream::kBarCompletion},
    {"dma_read", Stream::kDmaRead},
    {"dma_completion", Stream::kDmaCompletion},
    {"dma_write", Stream::kDmaWrite},
    {"msix", Stream::kDmaWrite},
    {"transmit_start", Stream::kTransmit},
    {"transmit_end", Stream::kTransmit},
    {"receive_start", Stream::kReceive},
    {"receive_end", Stream::kReceive},
    {"csr_read", Stream::kCsr},
    {"csr_write", Stream::kCsr},
    {"csr_completion", Stream::kFirmware},
    {"firmware_interrupt", Stream::kFirmware},
    {"credits", Stream::kCredit},
    {"link", Stream::kReceive},
    {"dma_refusal", Stream::kDmaCompletion},
}};

bool CrossesBoundary(uint64_t address, uint64_t bytes) {
  return address / spec::kPcieRequestBoundary != (address + bytes - 1) / spec::kPcieRequestBoundary;
}

bool HasData(DmaStatus status) { return status == DmaStatus::kOk || status == DmaStatus::kPoisoned; }

}  // namespace

const char* ToString(EventKind kind) { return kKinds[static_cast<size_t>(kind)].name; }
Stream StreamOf(EventKind kind) { return kKinds[static_cast<size_t>(kind)].stream; }

NicTap::NicTap(const Scheduler& scheduler, const CoreClock& clock, const spec::Config& config, const SeamLimits& limits,
               uint16_t number)
    : scheduler_(scheduler),
      clock_(clock),
      config_(config),
      limits_(limits),
      beat_bytes_(BeatBytes(config)),
      number_(number),
      reads_(config.dma_tags) {}

void NicTap::Report(EventKind kind, Cycle cycle, std::span<const uint8_t> payload, uint64_t address, uint32_t id,
                    uint32_t bytes, uint8_t status) {
  if (sinks_.empty()) return;
  last_event_ = std::max(last_event_, cycle);
  is_idle_told_ = false;
  const BoundaryEvent event = {.kind = kind,
                               .stream = StreamOf(kind),
                               .status = status,
                               .nic = number_,
                               .cycle = cycle,
                               .address = address,
                               .id = id,
                               .bytes = bytes,
                               .payload = payload};
  for (EventSink* sink : sinks_) sink->OnEvent(event);
}

void NicTap::ReportValue(EventKind kind, Cycle cycle, uint64_t value, unsigned bytes, uint64_t address, uint32_t id) {
  uint8_t payload[8] = {};
  for (unsigned i = 0; i < bytes; ++i) payload[i] = static_cast<uint8_t>(value >> 8 * i);
  Report(kind, cycle, {payload, bytes}, address, id, bytes);
}

bool NicTap::IsIdle() const {
  const bool is_idle = nic_->IsIdle();
  if (!is_idle || is_idle_told_ || !was_reset_) return is_idle;
  is_idle_told_ = true;
  for (EventSink* sink : sinks_) sink->OnIdle(clock_.Containing(scheduler_.now()), nic_->NextDeadline());
  return true;
}

void NicTap::Violation(Cycle cycle, const std::string& what) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back("nic " + std::to_string(number_) + ", cycle " + std::to_string(cycle) + ": " + what);
  }
}

void NicTap::CheckInput(Cycle cycle, const char* what) {
  if (!was_reset_) Violation(cycle, std::string(what) + " before the first reset");
  if (cycle < first_input_) Violation(cycle, std::string(what) + " during reset");
  if (scheduler_.now() != clock_.Begin(cycle)) Violation(cycle, std::string(what) + " not at the start of its cycle");
  if (!sinks_.empty() && cycle >= first_input_ && cycle > last_event_ + kSilence) IsIdle();
}

void NicTap::CheckOutput(Cycle cycle, const char* what) {
  if (cycle < first_input_) Violation(cycle, std::string(what) + " during reset");
  const Picoseconds now = scheduler_.now();
  if (now <= clock_.Begin(cycle) || now >= clock_.Begin(cycle + 1)) {
    Violation(cycle, std::string(what) + " not within its cycle, but in " + std::to_string(clock_.Containing(now)));
  }
}

void NicTap::CheckTrain(Port& port, Cycle first, uint32_t beats, const char* what) {
  if (first < port.free) Violation(first, std::string(what) + " overlaps the previous one");
  port.free = std::max(port.free, first + beats);
}

// --- Inputs

void NicTap::Reset(Cycle cycle) {
  if (scheduler_.now() != clock_.Begin(cycle)) Violation(cycle, "reset not at the start of its cycle");
  was_reset_ = true;
  first_input_ = cycle + kResetCycles;
  bar_ = bar_completion_ = dma_read_ = dma_completion_ = dma_write_ = msix_ = transmit_ = receive_ = csr_ = {};
  std::fill(reads_.begin(), reads_.end(), Read{});
  bar_reads_.clear();
  csr_read_.reset();
  interrupt_ = false;
  link_ = true;
  credits_[0] = credits_[1] = 0;
  written_ = kNever;
  last_event_ = 0;
  Report(EventKind::kReset, cycle, {});
  nic_->Reset(cycle);
}

uint32_t NicTap::ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) {
  const uint32_t value = nic_->ReadConfig(cycle, offset, bytes);
  ReportValue(EventKind::kConfigRead, cycle, value, bytes, offset);
  return value;
}

void NicTap::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  ReportValue(EventKind::kConfigWrite, cycle, value, bytes, offset);
  nic_->WriteConfig(cycle, offset, bytes, value);
}

void NicTap::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  CheckInput(cycle, "BAR read");
  CheckTrain(bar_, cycle, 1, "BAR access");
  bar_reads_.push_back(cycle);
  Report(EventKind::kBarRead, cycle, {}, offset, bar, bytes);
  nic_->ReadBar(cycle, bar, offset, bytes);
}

void NicTap::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  CheckInput(cycle, "BAR write");
  CheckTrain(bar_, cycle, 1, "BAR access");
  ReportValue(EventKind::kBarWrite, cycle, value, bytes, offset, bar);
  nic_->WriteBar(cycle, bar, offset, bytes, value);
}

void NicTap::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  CheckInput(cycle, "DMA completion");
  const auto bytes = static_cast<uint32_t>(completion.data.size());
  CheckTrain(dma_completion_, cycle, DmaBeats(completion.address, bytes, beat_bytes_), "DMA completion");
  if (completion.tag >= reads_.size() || reads_[completion.tag].bytes == 0) {
    Violation(cycle, "DMA completion for tag " + std::to_string(completion.tag) + ", not in use");
  } else {
    Read& read = reads_[completion.tag];
    const bool has_data = HasData(completion.status);
    if (completion.offset != read.done || completion.address != read.address + read.done || has_data != (bytes != 0) ||
        (has_data ? completion.last != (read.done + bytes == read.bytes) : !completion.last) ||
        read.done + bytes > read.bytes) {
      Violation(cycle, "DMA completion for tag " + std::to_string(completion.tag) + " does not match its request");
    }
    read.done += bytes;
    if (completion.last) read = {};
  }
  Report(EventKind::kDmaCompletion, cycle, completion.data, completion.address, completion.tag, bytes,
         static_cast<uint8_t>(static_cast<uint8_t>(completion.status) | (completion.last ? 0x80 : 0)));
  nic_->CompleteDmaRead(cycle, completion);
}

void NicTap::RefuseDmaWrite(Cycle cycle) {
  CheckInput(cycle, "refusal of a DMA write");
  if (written_ == kNever || written_ + 1 != cycle) Violation(cycle, "refusal of a DMA write that did not just end");
  written_ = kNever;
  Report(EventKind::kDmaRefusal, cycle, {});
  nic_->RefuseDmaWrite(cycle);
}

void NicTap::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  CheckInput(cycle, "credits");
  credits_[static_cast<size_t>(kind)] += beats;
  Report(EventKind::kCredits, cycle, {}, 0, static_cast<uint32_t>(kind), beats);
  nic_->ReturnCredits(cycle, kind, beats);
}

void NicTap::ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  CheckInput(start, "received frame");
  const uint32_t beats = FrameBeats(bytes.size(), beat_bytes_);
  CheckTrain(receive_, start, beats, "received frame");
  if (bytes.empty() || end != start + beats - 1) Violation(start, "received frame's end does not match its length");
  const auto count = static_cast<uint32_t>(bytes.size());
  Report(EventKind::kReceiveStart, start, {});
  Report(EventKind::kReceiveEnd, end, bytes, 0, 0, count, mac_error ? 1 : 0);
  nic_->ReceiveFrame(start, end, bytes, mac_error);
}

void NicTap::SetLink(Cycle cycle, bool up) {
  CheckInput(cycle, "link");
  if (up == link_) Violation(cycle, "link did not change");
  link_ = up;
  Report(EventKind::kLink, cycle, {}, 0, 0, 0, up ? 1 : 0);
  nic_->SetLink(cycle, up);
}

void NicTap::ReadCsr(Cycle cycle, uint32_t offset) {
  CheckInput(cycle, "CSR read");
  CheckTrain(csr_, cycle, 1, "CSR access");
  if (csr_read_) Violation(cycle, "CSR read while another is outstanding");
  csr_read_ = cycle;
  Report(EventKind::kCsrRead, cycle, {}, offset, 0, 4);
  nic_->ReadCsr(cycle, offset);
}

void NicTap::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  CheckInput(cycle, "CSR write");
  CheckTrain(csr_, cycle, 1, "CSR access");
  ReportValue(EventKind::kCsrWrite, cycle, value, 4, offset);
  nic_->WriteCsr(cycle, offset, value);
}

// --- Outputs. A violation is reported and the call still forwarded, unless it would be meaningless.

void NicTap::CompleteBarRead(Cycle cycle, uint64_t value) {
  CheckOutput(cycle, "BAR completion");
  CheckTrain(bar_completion_, cycle, 1, "BAR completion");
  ReportValue(EventKind::kBarCompletion, cycle, value, 8);
  if (bar_reads_.empty()) return Violation(cycle, "BAR completion without a read");
  if (cycle <= bar_reads_.front()) Violation(cycle, "BAR completion in the cycle of its read");
  bar_reads_.pop_front();
  pcie_->CompleteBarRead(cycle, value);
}

void NicTap::ReadDma(Cycle cycle, const DmaRead& read) {
  CheckOutput(cycle, "DMA read");
  CheckTrain(dma_read_, cycle, 1, "DMA read");
  Report(EventKind::kDmaRead, cycle, {}, read.address, read.tag, read.bytes);
  const auto name = [&] {
    return "DMA read of " + std::to_string(read.bytes) + " bytes with tag " + std::to_string(read.tag);
  };
  if (read.tag >= reads_.size()) return Violation(cycle, name() + ": no such tag");
  if (reads_[read.tag].bytes != 0) return Violation(cycle, name() + ": the tag is in use");
  if (read.bytes == 0 || read.bytes > limits_.max_read_request_bytes)
    return Violation(cycle, name() + ": invalid length");
  if (CrossesBoundary(read.address, read.bytes)) Violation(cycle, name() + " crosses a 4 KiB boundary");
  reads_[read.tag] = {.address = read.address, .bytes = read.bytes, .done = 0};
  pcie_->ReadDma(cycle, read);
}

void NicTap::WriteDma(Cycle cycle, const DmaWrite& write) {
  CheckOutput(cycle, "DMA write");
  const auto bytes = static_cast<uint32_t>(write.data.size());
  const uint32_t beats = DmaBeats(write.address, bytes, beat_bytes_);
  CheckTrain(dma_write_, cycle + 1 - beats, beats, "DMA write");
  written_ = cycle;
  Report(EventKind::kDmaWrite, cycle, write.data, write.address, 0, bytes);
  const auto name = [&] { return "DMA write of " + std::to_string(bytes) + " bytes"; };
  if (bytes == 0 || bytes > limits_.max_payload_bytes) return Violation(cycle, name() + ": invalid length");
  if (CrossesBoundary(write.address, bytes)) Violation(cycle, name() + " crosses a 4 KiB boundary");
  auto& credits = credits_[static_cast<size_t>(CreditKind::kDmaWrite)];
  credits -= beats;
  if (credits < 0) Violation(cycle, name() + " without credits");
  pcie_->WriteDma(cycle, write);
}

void NicTap::SendMsix(Cycle cycle, uint16_t vector) {
  CheckOutput(cycle, "MSI-X");
  CheckTrain(msix_, cycle, 1, "MSI-X");
  Report(EventKind::kMsix, cycle, {}, 0, vector);
  if (vector >= spec::kMsixVectorsMax) return Violation(cycle, "MSI-X: no vector " + std::to_string(vector));
  pcie_->SendMsix(cycle, vector);
}

void NicTap::TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) {
  CheckOutput(end, "transmitted frame");
  const auto count = static_cast<uint32_t>(bytes.size());
  const uint32_t beats = FrameBeats(count, beat_bytes_);
  Report(EventKind::kTransmitStart, start, {});
  Report(EventKind::kTransmitEnd, end, bytes, 0, 0, count);
  if (bytes.empty() || count > config_.max_frame_bytes) {
    return Violation(end, "transmitted frame of " + std::to_string(count) + " bytes");
  }
  CheckTrain(transmit_, start, beats, "transmitted frame");
  if (end != start + beats - 1) Violation(end, "transmitted frame's train is broken");
  auto& credits = credits_[static_cast<size_t>(CreditKind::kTransmit)];
  credits -= beats;
  if (credits < 0) Violation(end, "transmitted frame without credits");
  frames_->TransmitFrame(start, end, bytes);
}

void NicTap::CompleteCsrRead(Cycle cycle, uint32_t value) {
  CheckOutput(cycle, "CSR completion");
  ReportValue(EventKind::kCsrCompletion, cycle, value, 4);
  if (!csr_read_) return Violation(cycle, "CSR completion without a read");
  if (cycle <= *csr_read_) Violation(cycle, "CSR completion in the cycle of its read");
  csr_read_.reset();
  if (management_ != nullptr) management_->CompleteCsrRead(cycle, value);
}

void NicTap::SetFirmwareInterrupt(Cycle cycle, bool level) {
  CheckOutput(cycle, "firmware interrupt");
  Report(EventKind::kFirmwareInterrupt, cycle, {}, 0, 0, 0, level ? 1 : 0);
  if (level == interrupt_) Violation(cycle, "firmware interrupt did not change");
  interrupt_ = level;
  if (management_ != nullptr) management_->SetFirmwareInterrupt(cycle, level);
}

}  // namespace vireo::sim
