// SPDX-License-Identifier: Apache-2.0
#include "verif/harness/model_nic.h"

#include <algorithm>
#include <utility>

namespace vireo::verif {
namespace {

uint8_t Width(unsigned bytes) { return static_cast<uint8_t>(bytes); }

model::AxiResp RespOf(uint8_t code) { return static_cast<model::AxiResp>(code); }

}  // namespace

ModelNic::ModelNic(const NicContext& context, const PciConfig::Options& options)
    : scheduler_(context.scheduler),
      clock_(context.clock),
      config_(context.config),
      environment_(context.environment),
      config_space_(options),
      bridge_(context.config, context.name + " (model)"),
      client_(scheduler_.AddClient(*this)) {}

ModelNic::~ModelNic() = default;

void ModelNic::Reset(Cycle cycle) {
  next_run_ = kNever;
  scheduler_.SetAlarm(kForever, client_);
  run_cycles_ = 0;
  config_space_.Reset();
  bridge_.Reset();
  config_changes_.clear();
  frames_ahead_.clear();
  interrupts_.clear();
  messages_.clear();
  read_bursts_.sent().clear();
  write_bursts_.sent().clear();
  read_ends_.clear();
  writes_.clear();
  first_input_ = cycle + kResetCycles;
  beats_counted_ = first_input_;
  transmit_ready_ = false;

  model_ = std::make_unique<model::Nic>(config_, static_cast<model::NicOutputs&>(*this));
  model_->read_port().ar_out.Connect(read_bursts_, model_->read_port());
  model_->write_port().aw_out.Connect(write_bursts_, model_->write_port());
  SetControls(first_input_, config_space_.controls());
  link_changes_.assign(1, {first_input_, true});
  Plan(first_input_);
}

// --- Inputs

uint32_t ModelNic::ReadConfig(Cycle, uint16_t offset, unsigned bytes) { return config_space_.Read(offset, bytes); }

void ModelNic::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  const PciConfig::Controls before = config_space_.controls();
  config_space_.Write(offset, bytes, value);
  const PciConfig::Controls controls = config_space_.controls();
  if (controls == before) return;
  config_changes_.push_back({std::max(cycle + 1, first_input_), controls});
  Wake(config_changes_.back().cycle);
}

void ModelNic::SetControls(Cycle cycle, const PciConfig::Controls& controls) {
  model_->SetControls(Ours(cycle), {.bus_master = controls.bus_master,
                                    .msix_enable = controls.msix_enable,
                                    .msix_mask = controls.msix_mask,
                                    .max_payload_size = controls.max_payload_size,
                                    .max_read_request_size = controls.max_read_request_size});
}

void ModelNic::ApplyConfig(Cycle cycle) {
  // Configuration changes of this cycle come first, as they are on the pins from its begin.
  while (!config_changes_.empty() && config_changes_.front().cycle <= cycle) {
    SetControls(cycle, config_changes_.front().controls);
    config_changes_.pop_front();
  }
}

void ModelNic::Enter(Cycle cycle) {
  ApplyConfig(cycle);
  Wake(cycle);
}

void ModelNic::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  Enter(cycle);
  model_->OnBar(Ours(cycle), {.bar_index = Width(bar), .offset = static_cast<uint32_t>(offset), .bytes = Width(bytes)});
}

void ModelNic::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  Enter(cycle);
  model_->OnBar(Ours(cycle), {.write = true,
                              .bar_index = Width(bar),
                              .offset = static_cast<uint32_t>(offset),
                              .bytes = Width(bytes),
                              .data = value});
}

void ModelNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  Enter(cycle);
  const AxiBridge::ReadPart part = bridge_.TakeCompletion(cycle, completion);
  if (part.bytes != 0) model_->read_port().OnReadData(completion.tag, completion.data.first(part.bytes));
  if (part.last) read_ends_.push_back({part.cycle, completion.tag, part.resp});
}

void ModelNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  TellTransmitReady(cycle);
  bridge_.ReturnCredits(cycle, kind, beats);
  Wake(cycle + 1);  // they count from then on
}

void ModelNic::ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  Enter(start);
  model_->OnFrame(Ours(start), Ours(end), bytes, mac_error);
}

void ModelNic::SetLink(Cycle cycle, bool up) {
  // A cycle has one state of it: a link that is not there when the reset ends never was.
  if (!link_changes_.empty() && link_changes_.back().first == cycle) {
    link_changes_.back().second = up;
  } else {
    link_changes_.emplace_back(cycle, up);
  }
  Wake(cycle);
}

void ModelNic::ReadCsr(Cycle cycle, uint32_t offset) {
  Enter(cycle);
  model_->OnCsr(Ours(cycle), false, static_cast<uint16_t>(offset), 0);
}

void ModelNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  Enter(cycle);
  model_->OnCsr(Ours(cycle), true, static_cast<uint16_t>(offset), value);
}

// --- Time

void ModelNic::Wake(Cycle cycle) {
  if (cycle >= next_run_) return;
  next_run_ = cycle;
  scheduler_.SetAlarm(clock_.Middle(cycle), client_);
}

void ModelNic::OnTime(uint64_t) {
  const Cycle cycle = next_run_;
  next_run_ = kNever;
  ++run_cycles_;
  RunCycle(cycle);
  Plan(cycle + 1);
}

void ModelNic::Plan(Cycle next) {
  Cycle cycle = Theirs(model_->next());
  if (!read_ends_.empty()) cycle = std::min(cycle, read_ends_.front().cycle);
  if (!writes_.empty()) cycle = std::min(cycle, writes_.front().last);
  if (bridge_.IsAnswer(next)) cycle = std::min(cycle, next);
  if (!config_changes_.empty()) cycle = std::min(cycle, config_changes_.front().cycle);
  if (!link_changes_.empty()) cycle = std::min(cycle, link_changes_.front().first);
  if (!interrupts_.empty()) cycle = std::min(cycle, interrupts_.front().first);
  // Credits that came in the cycle that ran: their own wish to be woken was behind that cycle's.
  if (bridge_.IsTransmitReady(next) != transmit_ready_) cycle = std::min(cycle, next);
  // What waits for the bus is looked at in every cycle: what it waits for is not the model's.
  const Cycle waiting = model_->write_port().writer().BurstCycle();
  if (waiting != model::kUnknown) cycle = std::min(cycle, std::max(Theirs(waiting), next));
  if (cycle != kNever) Wake(std::max(cycle, next));
}

Cycle ModelNic::NextDeadline() const { return clock_.AtOrAfterNs(model_->deadline_ns()); }

Cycle ModelNic::CycleAt(uint64_t ns) {
  const Cycle cycle = clock_.AtOrAfterNs(ns);
  return cycle == kNever ? model::kUnknown : Ours(std::max(cycle, first_input_));
}

// --- One cycle

void ModelNic::RunCycle(Cycle cycle) {
  ApplyConfig(cycle);
  while (!link_changes_.empty() && link_changes_.front().first <= cycle) {
    model_->SetMacLink(Ours(cycle), link_changes_.front().second);
    link_changes_.pop_front();
  }
  TellTransmitReady(cycle);
  for (; !read_ends_.empty() && read_ends_.front().cycle <= cycle; read_ends_.pop_front()) {
    const ReadEnd& end = read_ends_.front();
    model_->read_port().OnReadEnd(Ours(end.cycle), end.id, RespOf(end.resp));
  }
  if (bridge_.IsAnswer(cycle)) model_->write_port().OnAnswer(Ours(cycle), RespOf(kAxiOkay));
  OpenBus(cycle);
  model_->RunThrough(Ours(cycle));
  TakeBus(cycle);
  for (const uint16_t vector : messages_) environment_.SendMsix(cycle, vector);
  messages_.clear();
  while (!interrupts_.empty() && interrupts_.front().first <= cycle) {
    environment_.SetFirmwareInterrupt(cycle, interrupts_.front().second);
    interrupts_.pop_front();
  }
}

void ModelNic::OpenBus(Cycle cycle) {
  const model::DmaWriter& writer = model_->write_port().writer();
  const bool has_burst = writer.BurstCycle() <= Ours(cycle);
  write_bursts_.SetOpen(Ours(cycle),
                        has_burst && bridge_.IsAddressReady(cycle, writer.burst().address, writer.burst().bytes));
}

// With its address taken, nothing stops a burst's beats (rule W2).
void ModelNic::TakeWriteBurst(Cycle cycle, const model::DmaWriter::Burst& burst) {
  bridge_.OnAddress(cycle, burst.address, burst.bytes);
  model::DmaWritePort& port = model_->write_port();
  Write& write = writes_.Extend();
  write.data = port.writer().burst_data();
  write.last = Theirs(port.TakeBurstData(Ours(cycle), Ours(cycle + 1)));
}

void ModelNic::TakeBus(Cycle cycle) {
  for (const auto& sent : read_bursts_.sent()) {
    const DmaRead read{
        .tag = static_cast<uint16_t>(sent.token.id), .address = sent.token.address, .bytes = sent.token.bytes};
    bridge_.OnReadBurst(cycle, read);
    environment_.ReadDma(cycle, read);
  }
  read_bursts_.sent().clear();
  for (; !writes_.empty() && writes_.front().last <= cycle; writes_.pop_front()) {
    const Write& write = writes_.front();
    environment_.WriteDma(cycle, {bridge_.OnBurstData(write.last, write.data.size()), write.data});
  }
  for (const auto& sent : write_bursts_.sent()) TakeWriteBurst(cycle, sent.token);
  write_bursts_.sent().clear();
}

void ModelNic::TellTransmitReady(Cycle cycle) {
  const auto tell = [&](Cycle at) {
    const bool ready = bridge_.IsTransmitReady(at);
    if (ready == transmit_ready_) return;
    transmit_ready_ = ready;
    model_->SetTransmitReady(Ours(at), ready);
  };
  while (!frames_ahead_.empty() && beats_counted_ < cycle) {
    const Frame& frame = frames_ahead_.front();
    beats_counted_ = std::max(beats_counted_, frame.start);
    if (beats_counted_ >= cycle) break;
    bridge_.OnTransmitBeat(beats_counted_);
    if (beats_counted_ == frame.end) frames_ahead_.pop_front();
    tell(++beats_counted_);
  }
  tell(cycle);
}

// --- Outputs

void ModelNic::OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) {
  environment_.TransmitFrame(Theirs(start), Theirs(end), bytes);
}

void ModelNic::OnFirmwareInterrupt(Cycle from, bool level) {
  interrupts_.emplace_back(Theirs(from), level);
  Wake(Theirs(from));
}

}  // namespace vireo::verif
