// SPDX-License-Identifier: Apache-2.0
#include "sim/device/rtl_nic.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace vireo::sim {
namespace {

bool IsLaneSet(const BeatLanes& lanes, uint32_t lane) { return (lanes[lane / 8] >> lane % 8 & 1) != 0; }

}  // namespace

RtlNic::RtlNic(const NicContext& context, std::unique_ptr<NicPins> pins, const PciConfig::Options& options)
    : scheduler_(context.scheduler),
      clock_(context.clock),
      environment_(context.environment),
      pins_(std::move(pins)),
      config_space_(options, context.config),
      bridge_(context.config, context.name + " (rtl)"),
      beat_bytes_(BeatBytes(context.config)),
      client_(scheduler_.AddClient(*this)) {}

void RtlNic::Reset(Cycle cycle) {
  next_evaluation_ = deadline_ = kNever;
  scheduler_.SetAlarm(kForever, client_);
  evaluated_cycles_ = 0;
  config_space_.Reset();
  bridge_.Reset();
  bar_accesses_.clear();
  csr_accesses_.clear();
  frames_.clear();
  config_changes_.clear();
  link_changes_.clear();
  interrupt_ = false;
  transmitting_.clear();
  transmit_start_ = kNever;
  inputs_ = {};
  SetControls(config_space_.controls());
  // Nothing enters or leaves during a reset, so its edges need no simulated time.
  pins_->Reset(kResetCycles);
  first_input_ = cycle + kResetCycles;
  Sleep(first_input_);
}

// --- Inputs

uint32_t RtlNic::ReadConfig(Cycle, uint16_t offset, unsigned bytes) { return config_space_.Read(offset, bytes); }

void RtlNic::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  const PciConfig::Controls before = config_space_.controls();
  config_space_.Write(offset, bytes, value);
  const PciConfig::Controls controls = config_space_.controls();
  if (controls == before) return;
  const Cycle from = std::max(cycle + 1, first_input_);
  config_changes_.push_back({from, controls});
  Enter(from);
}

void RtlNic::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  bar_accesses_.push_back(
      {cycle, false, static_cast<uint8_t>(bar), static_cast<uint8_t>(bytes), static_cast<uint32_t>(offset), 0});
  Enter(cycle);
}

void RtlNic::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  bar_accesses_.push_back(
      {cycle, true, static_cast<uint8_t>(bar), static_cast<uint8_t>(bytes), static_cast<uint32_t>(offset), value});
  Enter(cycle);
}

void RtlNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  bridge_.OnCompletion(cycle, completion);
  Enter(cycle);
}

void RtlNic::RefuseDmaWrite(Cycle cycle) {
  // No wake-up: it is answered in this cycle in any case.
  bridge_.RefuseWrite(cycle);
}

void RtlNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  // No wake-up: the credits count at the device's next request.
  bridge_.ReturnCredits(cycle, kind, beats);
}

void RtlNic::ReceiveFrame(Cycle start, Cycle, std::span<const uint8_t> bytes, bool mac_error) {
  frames_.push_back({start, {bytes.begin(), bytes.end()}, mac_error});
  Enter(start);
}

void RtlNic::SetLink(Cycle cycle, bool up) {
  link_changes_.push_back({cycle, up});
  Enter(cycle);
}

void RtlNic::ReadCsr(Cycle cycle, uint32_t offset) {
  csr_accesses_.push_back({cycle, false, 0, 4, offset, 0});
  Enter(cycle);
}

void RtlNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  csr_accesses_.push_back({cycle, true, 0, 4, offset, value});
  Enter(cycle);
}

// --- Time

void RtlNic::Wake(Cycle cycle) {
  // While the clock runs, every cycle is evaluated anyway.
  if (cycle >= next_evaluation_) return;
  next_evaluation_ = cycle;
  scheduler_.SetAlarm(clock_.Middle(cycle), client_);
}

void RtlNic::OnTime(uint64_t) {
  const Cycle cycle = std::exchange(next_evaluation_, kNever);
  ++evaluated_cycles_;
  Evaluate(cycle);
  Sleep(cycle + 1);
}

bool RtlNic::HasInput() const {
  return !bar_accesses_.empty() || !csr_accesses_.empty() || !frames_.empty() || !config_changes_.empty() ||
         !link_changes_.empty();
}

void RtlNic::Sleep(Cycle next) {
  const NicOutputs& out = pins_->outputs();
  const uint64_t deadline_ns = out.deadline_ns;
  deadline_ = kNever;
  if (deadline_ns != 0) {
    // The first cycle whose time_ns_i has reached it.
    const Cycle cycle = clock_.AtOrAfterNs(deadline_ns);
    if (cycle != kNever) deadline_ = std::max(next, cycle);
  }
  busy_ = !out.idle || out.HasValid() || out.firmware_interrupt != interrupt_ || transmit_start_ != kNever ||
          HasInput() || !bridge_.IsIdle(next);
  if (busy_) {
    Wake(next);
  } else if (deadline_ != kNever) {
    Wake(deadline_);
  }
}

// --- One cycle

void RtlNic::SetControls(const PciConfig::Controls& controls) {
  inputs_.bus_master = controls.bus_master;
  inputs_.msix_enable = controls.msix_enable;
  inputs_.msix_mask = controls.msix_mask;
  inputs_.max_payload_size = static_cast<uint8_t>(controls.max_payload_size);
  inputs_.max_read_request_size = static_cast<uint8_t>(controls.max_read_request_size);
}

void RtlNic::Evaluate(Cycle cycle) {
  // A copy: outputs of this cycle are reported before its clock edge.
  const NicOutputs out = pins_->outputs();
  SetInputs(cycle, out);
  TakeOutputs(cycle, out);
  if (!pins_->Clock(inputs_)) bridge_.Defect(cycle, "an output depends on an input of the same cycle");
}

void RtlNic::SetInputs(Cycle cycle, const NicOutputs& out) {
  inputs_.time_ns = clock_.Begin(cycle) / kPicosecondsPerNanosecond;
  while (!config_changes_.empty() && config_changes_.front().cycle <= cycle) {
    SetControls(config_changes_.front().controls);
    config_changes_.pop_front();
  }
  while (!link_changes_.empty() && link_changes_.front().cycle <= cycle) {
    inputs_.mac_link = link_changes_.front().up;
    link_changes_.pop_front();
  }

  inputs_.bar_valid = !bar_accesses_.empty() && bar_accesses_.front().cycle <= cycle;
  if (inputs_.bar_valid) {
    const RegisterAccess& access = bar_accesses_.front();
    inputs_.bar_write = access.is_write;
    inputs_.bar_index = access.bar;
    inputs_.bar_bytes = access.bytes;
    inputs_.bar_offset = access.offset;
    inputs_.bar_data = access.value;
    bar_accesses_.pop_front();
  }
  inputs_.csr_valid = !csr_accesses_.empty() && csr_accesses_.front().cycle <= cycle;
  if (inputs_.csr_valid) {
    const RegisterAccess& access = csr_accesses_.front();
    inputs_.csr_write = access.is_write;
    inputs_.csr_address = static_cast<uint16_t>(access.offset);
    inputs_.csr_data = static_cast<uint32_t>(access.value);
    csr_accesses_.pop_front();
  }

  auto& beats = bridge_.read_beats();
  inputs_.rvalid = !beats.empty() && beats.front().cycle <= cycle;
  if (inputs_.rvalid) {
    const AxiBridge::ReadBeat& beat = beats.front();
    inputs_.rid = beat.id;
    inputs_.rresp = beat.resp;
    inputs_.rlast = beat.last;
    std::copy(beat.data.begin(), beat.data.end(), inputs_.rdata.begin());
    beats.pop_front();
  }

  inputs_.awready = out.awvalid && bridge_.IsAddressReady(cycle, out.awaddr, out.awuser);
  inputs_.wready = bridge_.IsDataReady(cycle);
  inputs_.bvalid = bridge_.IsAnswer(cycle);
  inputs_.bresp = bridge_.AnswerResp(cycle);

  inputs_.tx_ready = bridge_.IsTransmitReady(cycle);
  inputs_.rx_valid = !frames_.empty() && frames_.front().start <= cycle;
  inputs_.rx_last = inputs_.rx_error = false;
  if (inputs_.rx_valid) {
    const Frame& frame = frames_.front();
    const size_t at = (cycle - frame.start) * beat_bytes_;
    const size_t count = std::min<size_t>(beat_bytes_, frame.bytes.size() - at);
    inputs_.rx_data.fill(0);
    inputs_.rx_keep.fill(0);
    std::copy_n(frame.bytes.begin() + static_cast<ptrdiff_t>(at), count, inputs_.rx_data.begin());
    for (size_t lane = 0; lane < count; ++lane) {
      inputs_.rx_keep[lane / 8] = static_cast<uint8_t>(inputs_.rx_keep[lane / 8] | 1u << lane % 8);
    }
    inputs_.rx_last = at + count == frame.bytes.size();
    inputs_.rx_error = inputs_.rx_last && frame.mac_error;
    if (inputs_.rx_last) frames_.pop_front();
  }
}

// In the order of rule C3.
void RtlNic::TakeOutputs(Cycle cycle, const NicOutputs& out) {
  if (out.bar_read_valid) environment_.CompleteBarRead(cycle, out.bar_read_data);
  if (out.csr_read_valid) environment_.CompleteCsrRead(cycle, out.csr_read_data);
  if (out.firmware_interrupt != interrupt_) {
    interrupt_ = out.firmware_interrupt;
    environment_.SetFirmwareInterrupt(cycle, interrupt_);
  }

  if (out.arvalid) {
    const DmaRead read{.tag = out.arid, .address = out.araddr, .bytes = out.aruser};
    if (out.arlen + 1u != DmaBeats(read.address, read.bytes, beat_bytes_)) {
      bridge_.Defect(cycle, "read burst of " + std::to_string(out.arlen + 1u) + " beats for " +
                                std::to_string(read.bytes) + " bytes");
    }
    bridge_.OnReadBurst(cycle, read);
    environment_.ReadDma(cycle, read);
  }

  // Data first: it never belongs to an address of the same cycle.
  if (out.wvalid && inputs_.wready) {
    const auto [first, end] = bridge_.NextLanes();
    for (uint32_t lane = 0; lane < beat_bytes_; ++lane) {
      if (IsLaneSet(out.wstrb, lane) != (lane >= first && lane < end)) {
        bridge_.Defect(cycle, "wstrb does not match the burst's address and length in lane " + std::to_string(lane));
      }
    }
    const auto write = bridge_.OnData(cycle, std::span(out.wdata).first(beat_bytes_), out.wlast);
    if (write) environment_.WriteDma(cycle, {write->address, write->data});
  }
  if (inputs_.awready) {
    if (out.awlen + 1u != DmaBeats(out.awaddr, out.awuser, beat_bytes_)) {
      bridge_.Defect(cycle, "write burst of " + std::to_string(out.awlen + 1u) + " beats for " +
                                std::to_string(out.awuser) + " bytes");
    }
    bridge_.OnAddress(cycle, out.awaddr, out.awuser);
  }
  if (out.msix_valid) environment_.SendMsix(cycle, out.msix_vector);

  if (out.tx_valid) {
    if (transmit_start_ == kNever) transmit_start_ = cycle;
    bridge_.OnTransmitBeat(cycle);
    uint32_t count = 0;
    while (count < beat_bytes_ && IsLaneSet(out.tx_keep, count)) ++count;
    for (uint32_t lane = count; lane < beat_bytes_; ++lane) {
      if (IsLaneSet(out.tx_keep, lane)) bridge_.Defect(cycle, "a hole in tkeep");
    }
    if (count == 0 || (count < beat_bytes_ && !out.tx_last)) bridge_.Defect(cycle, "a beat of a frame is not full");
    transmitting_.insert(transmitting_.end(), out.tx_data.begin(), out.tx_data.begin() + count);
    if (out.tx_last) {
      environment_.TransmitFrame(std::exchange(transmit_start_, kNever), cycle, transmitting_);
      transmitting_.clear();
    }
  } else if (transmit_start_ != kNever) {
    bridge_.Defect(cycle, "a frame is interrupted");
  }
}

}  // namespace vireo::sim
