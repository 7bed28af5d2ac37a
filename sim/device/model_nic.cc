// SPDX-License-Identifier: Apache-2.0
#include "sim/device/model_nic.h"

#include <algorithm>
#include <utility>

namespace vireo::sim {
namespace {

uint8_t Width(unsigned bytes) { return static_cast<uint8_t>(bytes); }

model::AxiResp RespOf(uint8_t code) { return static_cast<model::AxiResp>(code); }

}  // namespace

ModelNic::ModelNic(const NicContext& context, const PciConfig::Options& options, std::vector<model::Nic::Faster> faster)
    : scheduler_(context.scheduler),
      clock_(context.clock),
      config_(context.config),
      is_metered_(context.is_metered),
      faster_(std::move(faster)),
      environment_(context.environment),
      config_space_(options, context.config),
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
  reads_.clear();
  writes_.clear();
  pending_ = kNever;
  first_input_ = cycle + kResetCycles;
  beats_counted_ = first_input_;
  transmit_ready_ = false;
  transmit_change_ = kNever;

  const bool is_used = model_ != nullptr && model_->is_used();
  model_ = std::make_unique<model::Nic>(config_, static_cast<model::NicOutputs&>(*this), is_metered_, faster_, is_used);
  SetControls(first_input_, config_space_.controls());
  link_changes_.clear();
  SetLink(first_input_, true);
  Wake(NextRun(first_input_));
}

model::Meters::Counts ModelNic::MetersAt(Cycle cycle) const {
  const model::Meters* const meters = model_->meters();
  return meters == nullptr ? model::Meters::Counts{} : meters->At(Ours(cycle));
}

// --- Inputs

uint32_t ModelNic::ReadConfig(Cycle, uint16_t offset, unsigned bytes) { return config_space_.Read(offset, bytes); }

void ModelNic::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  const PciConfig::Controls before = config_space_.controls();
  config_space_.Write(offset, bytes, value);
  const PciConfig::Controls controls = config_space_.controls();
  if (controls == before) return;
  config_changes_.push_back({std::max(cycle + 1, first_input_), controls});
  Expect(config_changes_.back().cycle);
}

void ModelNic::SetControls(Cycle cycle, const PciConfig::Controls& controls) {
  model_->SetControls(Ours(cycle), {.bus_master = controls.bus_master,
                                    .msix_enable = controls.msix_enable,
                                    .msix_mask = controls.msix_mask,
                                    .max_payload_size = controls.max_payload_size,
                                    .max_read_request_size = controls.max_read_request_size});
}

void ModelNic::ApplyConfig(Cycle cycle) {
  // Configuration changes of this cycle first: they are on the pins from its start.
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
  const AxiBridge::ReadPart part = bridge_.TakeCompletion(cycle, completion);
  if (part.bytes != 0) model_->read_port().OnReadData(completion.tag, completion.data.first(part.bytes));
  if (!part.last) return;
  model_->read_port().OnReadEnd(Ours(part.cycle), completion.tag, RespOf(part.resp));
  TakeReadBursts();  // that waited for a tag or a place
  Wake(std::min(pending_, Theirs(model_->next())));
}

void ModelNic::RefuseDmaWrite(Cycle cycle) {
  if (bridge_.IsAnswer(cycle)) model_->write_port().AmendAnswer(RespOf(kAxiSlverr));
}

void ModelNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  if (kind == CreditKind::kTransmit) TellTransmitReady(cycle);
  bridge_.ReturnCredits(cycle, kind, beats);
  // They count from the next cycle on.
  if (kind == CreditKind::kTransmit) {
    if (bridge_.IsTransmitReady(cycle + 1) == transmit_ready_) return;
    transmit_change_ = cycle + 1;
    return Expect(transmit_change_);
  }
  if (TakeWriteBursts(cycle)) Wake(std::min(pending_, Theirs(model_->next())));
}

void ModelNic::ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  Enter(start);
  model_->OnFrame(Ours(start), Ours(end), bytes, mac_error);
}

void ModelNic::SetLink(Cycle cycle, bool up) {
  // One link state per cycle: a link down at the end of the reset was never up.
  if (!link_changes_.empty() && link_changes_.back().first == cycle) {
    link_changes_.back().second = up;
  } else {
    link_changes_.emplace_back(cycle, up);
  }
  Expect(cycle);
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

bool ModelNic::IsIdle() const {
  const bool waits_for_credits = model_->write_port().writer().has_burst();
  const Cycle now = clock_.Containing(scheduler_.now());
  // A run later than any block works without one is what remains of a timer that was stopped. The longest is a frame
  // of 9,728 bytes in beats of 8.
  constexpr Cycle kSoon = 2048;
  if (waits_for_credits || (next_run_ < NextDeadline() && next_run_ < now + kSoon)) return false;
  // Work that waits for an input, as for the data of a read, needs no run.
  return now <= first_input_ || !model_->HasWork(Ours(now - 1));
}

// Schedules a run for work outside the model's blocks.
void ModelNic::Expect(Cycle cycle) {
  pending_ = std::min(pending_, cycle);
  Wake(cycle);
}

void ModelNic::Wake(Cycle cycle) {
  if (cycle >= next_run_) return;
  next_run_ = cycle;
  scheduler_.SetAlarm(clock_.Middle(cycle), client_);
}

void ModelNic::OnTime(uint64_t) {
  // Runs consecutive cycles while nothing else is due, up to kMost: RunUntil may have to return.
  constexpr Cycle kMost = 64;
  Cycle cycle = std::exchange(next_run_, kNever);
  for (const Cycle last = cycle + kMost;;) {
    ++run_cycles_;
    RunCycle(cycle);
    const Cycle next = NextRun(cycle + 1);
    if (next > last || !scheduler_.Proceed(clock_.Middle(next))) return Wake(next);
    cycle = next;
  }
}

// In cycle `first` or later.
Cycle ModelNic::NextRun(Cycle first) { return std::max(std::min(Theirs(model_->next()), pending_), first); }

Cycle ModelNic::FirstPending() const {
  Cycle cycle = transmit_change_;
  if (!reads_.empty()) cycle = std::min(cycle, reads_.front().cycle);
  if (!writes_.empty()) cycle = std::min(cycle, writes_.front().last);
  if (!config_changes_.empty()) cycle = std::min(cycle, config_changes_.front().cycle);
  if (!link_changes_.empty()) cycle = std::min(cycle, link_changes_.front().first);
  if (!interrupts_.empty()) cycle = std::min(cycle, interrupts_.front().first);
  return cycle;
}

Cycle ModelNic::NextDeadline() const { return clock_.AtOrAfterNs(model_->deadline_ns()); }

Cycle ModelNic::CycleAt(uint64_t ns) {
  const Cycle cycle = clock_.AtOrAfterNs(ns);
  return cycle == kNever ? model::kUnknown : Ours(std::max(cycle, first_input_));
}

// --- One cycle

void ModelNic::RunCycle(Cycle cycle) {
  const bool is_pending = pending_ <= cycle;
  if (is_pending) ApplyChanges(cycle);
  if (is_pending || !frames_ahead_.empty()) TellTransmitReady(cycle);
  model_->Run(Ours(cycle));
  if (is_pending) TellBus(cycle);
  if (model_->read_port().reader().has_burst()) TakeReadBursts();
  if (model_->write_port().writer().has_burst()) TakeWriteBursts(cycle);
  if (!messages_.empty()) TellMessages(cycle);
  if (pending_ > cycle) return;
  while (!interrupts_.empty() && interrupts_.front().first <= cycle) {
    environment_.SetFirmwareInterrupt(cycle, interrupts_.front().second);
    interrupts_.pop_front();
  }
  pending_ = FirstPending();
}

void ModelNic::ApplyChanges(Cycle cycle) {
  ApplyConfig(cycle);
  while (!link_changes_.empty() && link_changes_.front().first <= cycle) {
    model_->SetMacLink(Ours(cycle), link_changes_.front().second);
    link_changes_.pop_front();
  }
}

void ModelNic::TellMessages(Cycle cycle) {
  for (const model::MsixMessage& message : messages_) {
    message_ = message;
    environment_.SendMsix(cycle, message.vector);
  }
  messages_.clear();
}

// Outputs that the model computed ahead are reported in their cycle.
void ModelNic::TellBus(Cycle cycle) {
  for (; !reads_.empty() && reads_.front().cycle <= cycle; reads_.pop_front()) {
    bridge_.OnReadBurst(cycle, reads_.front().read);
    environment_.ReadDma(cycle, reads_.front().read);
  }
  for (; !writes_.empty() && writes_.front().last <= cycle; writes_.pop_front()) {
    const Write& write = writes_.front();
    environment_.WriteDma(cycle, {bridge_.OnBurstData(cycle, write.data.size()), write.data});
    model_->write_port().OnAnswer(Ours(cycle + 1), RespOf(kAxiOkay));  // rule W3; unless it is refused then
  }
}

// Accepted as soon as they are visible (rule R1).
void ModelNic::TakeReadBursts() {
  model::DmaReadPort& port = model_->read_port();
  while (port.reader().has_burst()) {
    const Cycle cycle = Theirs(port.reader().BurstCycle());
    const model::DmaReader::Burst burst = port.TakeBurst();
    reads_.push_back({cycle, {static_cast<uint16_t>(burst.id), burst.address, burst.bytes}});
    pending_ = std::min(pending_, cycle);
  }
}

// Accepts those with credits, from cycle `cycle` on (rule W1). Once its address is accepted, nothing stalls a burst's
// beats (rule W2). Returns whether there were any.
bool ModelNic::TakeWriteBursts(Cycle cycle) {
  model::DmaWritePort& port = model_->write_port();
  bool took = false;
  for (; port.writer().has_burst(); took = true) {
    const model::DmaWriter::Burst burst = port.writer().burst();
    Cycle taken = std::max(Theirs(port.writer().BurstCycle()), cycle);
    if (!bridge_.IsAddressReady(taken, burst.address, burst.bytes)) ++taken;  // credits of this cycle count then
    if (!bridge_.IsAddressReady(taken, burst.address, burst.bytes)) break;
    bridge_.OnAddress(taken, burst.address, burst.bytes);
    Write& write = writes_.Extend();
    write.data = port.writer().burst_data();
    write.last = Theirs(port.TakeBurst(Ours(taken)));
    pending_ = std::min(pending_, write.last);
  }
  return took;
}

void ModelNic::TellTransmitReady(Cycle cycle) {
  if (transmit_change_ <= cycle) transmit_change_ = kNever;
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
  Expect(Theirs(from));
}

}  // namespace vireo::sim
