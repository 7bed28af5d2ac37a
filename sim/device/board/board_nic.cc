// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/board_nic.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vireo::sim {
namespace {

// A run of this many cycles takes the board less time than a line waits for an answer.
constexpr Cycle kRunMax = 4096;
constexpr size_t kBeatBytes = 8;
// This device works after the others' middle of a cycle: RunUntil() evaluates in between whether it is done, and then
// may call with an input for the next cycle.
constexpr Picoseconds kLater = 1;

spec::BoardControls Controls(const PciConfig::Controls& from, bool link) {
  return {.bus_master = from.bus_master,
          .msix_enable = from.msix_enable,
          .msix_mask = from.msix_mask,
          .mac_link = link,
          .max_payload_size = static_cast<uint8_t>(from.max_payload_size),
          .max_read_request_size = static_cast<uint8_t>(from.max_read_request_size)};
}

}  // namespace

BoardNic::BoardNic(const NicContext& context, std::unique_ptr<BoardLink> link, const PciConfig::Options& options)
    : scheduler_(context.scheduler),
      clock_(context.clock),
      environment_(context.environment),
      name_(context.name),
      link_(std::move(link)),
      config_space_(options, context.config),
      bridge_(context.config, context.name + " (board)"),
      client_(scheduler_.AddClient(*this)) {}

void BoardNic::Fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), what.c_str());
  is_gone_ = true;
  busy_ = false;
  deadline_ = kNever;
  pending_.reset();
  alarm_ = kNever;
  scheduler_.SetAlarm(kForever, client_);
}

void BoardNic::Reset(Cycle cycle) {
  alarm_ = deadline_ = kNever;
  scheduler_.SetAlarm(kForever, client_);
  runs_ = 0;
  pending_.reset();
  busy_ = false;
  config_space_.Reset();
  bridge_.Reset();
  bar_accesses_.clear();
  csr_accesses_.clear();
  frame_beats_.clear();
  controls_changes_.clear();
  credits_.clear();
  refused_.reset();
  writes_.clear();
  transmitting_.clear();
  is_time_known_ = is_loaded_ = false;
  announced_.reset();
  read_beats_until_ = frame_beats_until_ = 0;
  position_ = cycle + kResetCycles;
  if (is_gone_) return;
  commands_ = {static_cast<uint8_t>(spec::BoardCommand::kReset)};
  controls_ = Controls(config_space_.controls(), /*link=*/true);
  Put(spec::BoardCommand::kControls, controls_);
  if (!link_->Execute(commands_).has_value()) return Fail(link_->error());
  commands_.clear();
  busy_ = true;
  Wake(position_);
}

// --- Inputs

uint32_t BoardNic::ReadConfig(Cycle, uint16_t offset, unsigned bytes) { return config_space_.Read(offset, bytes); }

void BoardNic::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  const PciConfig::Controls before = config_space_.controls();
  config_space_.Write(offset, bytes, value);
  if (config_space_.controls() == before) return;
  // Calls may come at any time of their cycle; a reset lasts until position_.
  const Cycle from = std::max(cycle + 1, position_);
  controls_.mac_link = controls_changes_.empty() ? controls_.mac_link : controls_changes_.back().controls.mac_link;
  controls_changes_.push_back({from, Controls(config_space_.controls(), controls_.mac_link)});
  Enter(from);
}

void BoardNic::SetLink(Cycle cycle, bool up) {
  controls_changes_.push_back({cycle, Controls(config_space_.controls(), up)});
  Enter(cycle);
}

void BoardNic::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  bar_accesses_.push_back({cycle,
                           {.bar = static_cast<uint8_t>(bar),
                            .is_write = 0,
                            .length = static_cast<uint8_t>(bytes),
                            .offset = static_cast<uint32_t>(offset),
                            .value = 0}});
  Enter(cycle);
}

void BoardNic::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  bar_accesses_.push_back({cycle,
                           {.bar = static_cast<uint8_t>(bar),
                            .is_write = 1,
                            .length = static_cast<uint8_t>(bytes),
                            .offset = static_cast<uint32_t>(offset),
                            .value = value}});
  Enter(cycle);
}

void BoardNic::ReadCsr(Cycle cycle, uint32_t offset) {
  csr_accesses_.push_back({cycle, {.offset = static_cast<uint16_t>(offset), .is_write = false, .value = 0}});
  Enter(cycle);
}

void BoardNic::LoadProcessor(BoardProcessor& owner, std::vector<uint8_t> image) {
  processor_ = &owner;
  image_ = std::move(image);
  image_.resize((image_.size() + 3) / 4 * 4);
  is_loaded_ = false;
}

void BoardNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  csr_accesses_.push_back({cycle, {.offset = static_cast<uint16_t>(offset), .is_write = true, .value = value}});
  Enter(cycle);
}

void BoardNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  bridge_.OnCompletion(cycle, completion);
  Enter(cycle);
}

void BoardNic::RefuseDmaWrite(Cycle cycle) {
  refused_ = cycle;
  Enter(cycle);
}

void BoardNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  // No wake-up: the credits count at the device's next request.
  Credits& credits = credits_.emplace_back(Credits{.cycle = cycle, .credits = {}});
  (kind == CreditKind::kDmaWrite ? credits.credits.dma_write : credits.credits.transmit) = static_cast<uint16_t>(beats);
}

void BoardNic::ReceiveFrame(Cycle start, Cycle, std::span<const uint8_t> bytes, bool mac_error) {
  for (Cycle cycle = start; !bytes.empty(); ++cycle) {
    const auto beat = bytes.first(std::min(bytes.size(), kBeatBytes));
    bytes = bytes.subspan(beat.size());
    const bool last = bytes.empty();
    frame_beats_.push_back({cycle, {beat.begin(), beat.end()}, last, last && mac_error});
  }
  Enter(start);
}

// --- Time

void BoardNic::Enter(Cycle cycle) {
  if (is_gone_) return;
  if (cycle < position_) bridge_.Defect(cycle, "an input for a cycle that is over on the board");
  busy_ = true;
  if (!pending_.has_value()) Wake(cycle);
}

void BoardNic::Wake(Cycle cycle) {
  if (cycle >= alarm_) return;
  alarm_ = cycle;
  scheduler_.SetAlarm(clock_.Middle(cycle) + kLater, client_);
}

void BoardNic::OnTime(uint64_t) {
  const Cycle cycle = std::exchange(alarm_, kNever);
  if (!pending_.has_value()) Run(cycle);
  if (is_gone_) return;
  if (*pending_ != cycle) return Wake(*pending_);
  pending_.reset();
  Report(cycle);
  if (is_gone_) return;
  if (processor_ != nullptr) processor_->OnRan(cycle, ran_);

  deadline_ = kNever;
  const Cycle next = cycle + 1;
  if (ran_.deadline_ns != 0) {
    // The first cycle whose time has reached it.
    const Cycle at = clock_.AtOrAfterNs(ran_.deadline_ns);
    if (at != kNever) deadline_ = std::max(next, at);
  }
  busy_ = !ran_.is_quiet || !bar_accesses_.empty() || !csr_accesses_.empty() || !frame_beats_.empty() ||
          !controls_changes_.empty() || refused_.has_value() || !bridge_.read_beats().empty();
  if (busy_) {
    Wake(next);
  } else if (deadline_ != kNever) {
    Wake(deadline_);
  }
}

// --- Cycles

template <typename T>
void BoardNic::Put(spec::BoardCommand command, const T& structure) {
  commands_.push_back(static_cast<uint8_t>(command));
  commands_.resize(commands_.size() + T::kBytes);
  structure.Encode(commands_.data() + commands_.size() - T::kBytes);
}

// Beats for consecutive cycles go to the board ahead of time, as many as it has room for.
void BoardNic::PutReadBeats(Cycle cycle, Cycle& limit) {
  auto& beats = bridge_.read_beats();
  Cycle& until = read_beats_until_;
  until = std::max(until, cycle);
  const Cycle end = cycle + spec::kBoardBeatsMax;
  while (!beats.empty() && beats.front().cycle <= until && until < end) {
    spec::BoardReadBeats header{.tag = static_cast<uint8_t>(beats.front().id), .resp = beats.front().resp};
    std::vector<uint8_t> data;
    while (!header.last && !beats.empty() && beats.front().cycle <= until && until < end &&
           beats.front().id == header.tag && beats.front().resp == header.resp) {
      const AxiBridge::ReadBeat& beat = beats.front();
      data.insert(data.end(), beat.data.begin(), beat.data.end());
      header.last = beat.last;
      ++header.count;
      ++until;
      beats.pop_front();
    }
    Put(spec::BoardCommand::kReadBeats, header);
    commands_.insert(commands_.end(), data.begin(), data.end());
  }
  if (!beats.empty()) limit = std::min(limit, std::max(until, beats.front().cycle));
}

void BoardNic::PutFrameBeats(Cycle cycle, Cycle& limit) {
  Cycle& until = frame_beats_until_;
  until = std::max(until, cycle);
  const Cycle end = cycle + spec::kBoardBeatsMax;
  while (!frame_beats_.empty() && frame_beats_.front().cycle <= until && until < end) {
    spec::BoardFrameBeats header;
    std::vector<uint8_t> data;
    while (!header.last && !frame_beats_.empty() && frame_beats_.front().cycle <= until && until < end) {
      const FrameBeat& beat = frame_beats_.front();
      data.insert(data.end(), beat.bytes.begin(), beat.bytes.end());
      data.resize((data.size() + kBeatBytes - 1) / kBeatBytes * kBeatBytes);
      header.keep = static_cast<uint8_t>((1u << beat.bytes.size()) - 1);
      header.last = beat.last;
      header.error = beat.error;
      ++header.count;
      ++until;
      frame_beats_.pop_front();
    }
    Put(spec::BoardCommand::kFrameBeats, header);
    commands_.insert(commands_.end(), data.begin(), data.end());
  }
  if (!frame_beats_.empty()) limit = std::min(limit, std::max(until, frame_beats_.front().cycle));
}

void BoardNic::PutInputs(Cycle cycle, Cycle& limit) {
  if (!is_time_known_ || position_ != cycle) {
    Put(spec::BoardCommand::kTime, spec::BoardTime{.ns = clock_.Begin(cycle) / kPicosecondsPerNanosecond});
    is_time_known_ = true;
  }
  bool changed = false;
  for (; !controls_changes_.empty() && controls_changes_.front().cycle <= cycle; controls_changes_.pop_front()) {
    controls_ = controls_changes_.front().controls;
    changed = true;
  }
  if (changed) Put(spec::BoardCommand::kControls, controls_);
  if (!controls_changes_.empty()) limit = std::min(limit, controls_changes_.front().cycle);
  if (!bar_accesses_.empty() && bar_accesses_.front().cycle <= cycle) {
    Put(spec::BoardCommand::kBar, bar_accesses_.front().access);
    bar_accesses_.pop_front();
  }
  if (!bar_accesses_.empty()) limit = std::min(limit, std::max(cycle + 1, bar_accesses_.front().cycle));
  if (!csr_accesses_.empty() && csr_accesses_.front().cycle <= cycle) {
    if (!announced_.has_value()) Put(spec::BoardCommand::kCsr, csr_accesses_.front().access);
    csr_accesses_.pop_front();
  }
  if (!csr_accesses_.empty()) limit = std::min(limit, std::max(cycle + 1, csr_accesses_.front().cycle));
  spec::BoardCredits credits;
  for (; !credits_.empty() && credits_.front().cycle < cycle; credits_.pop_front()) {
    credits.dma_write = static_cast<uint16_t>(credits.dma_write + credits_.front().credits.dma_write);
    credits.transmit = static_cast<uint16_t>(credits.transmit + credits_.front().credits.transmit);
  }
  if (credits.dma_write != 0 || credits.transmit != 0) Put(spec::BoardCommand::kCredits, credits);
  if (!credits_.empty()) limit = std::min(limit, credits_.front().cycle + 1);
  if (refused_ == cycle) commands_.push_back(static_cast<uint8_t>(spec::BoardCommand::kRefuse));
  refused_.reset();
  PutReadBeats(cycle, limit);
  PutFrameBeats(cycle, limit);
  PutProcessor();
}

void BoardNic::PutProcessor() {
  // Its access is one of those above, or nobody's who cares.
  if (announced_.has_value()) commands_.push_back(static_cast<uint8_t>(spec::BoardCommand::kAdmit));
  announced_.reset();
  if (is_loaded_ || image_.empty()) return;
  is_loaded_ = true;
  for (size_t at = 0; at < image_.size(); at += 4) {
    Put(spec::BoardCommand::kLoad,
        spec::BoardLoad{.address = static_cast<uint32_t>(spec::kProcessorStackBytes + at),
                        .value = static_cast<uint32_t>(image_[at] | image_[at + 1] << 8 | image_[at + 2] << 16 |
                                                       image_[at + 3] << 24)});
  }
  commands_.push_back(static_cast<uint8_t>(spec::BoardCommand::kStart));
}

void BoardNic::Run(Cycle cycle) {
  const Picoseconds horizon = scheduler_.Horizon();
  Cycle limit = horizon == kForever ? cycle + kRunMax : std::min(cycle + kRunMax, clock_.AtOrAfter(horizon));
  PutInputs(cycle, limit);
  limit = std::max(limit, cycle + 1);
  Put(spec::BoardCommand::kRun, spec::BoardRun{.cycles = static_cast<uint16_t>(limit - cycle)});
  auto events = link_->Execute(commands_);
  commands_.clear();
  if (!events.has_value()) return Fail(link_->error());
  ++runs_;
  // A run's last event says how long it was.
  const size_t at = events->size() - std::min(events->size(), spec::BoardRan::kBytes);
  if (at == 0 || (*events)[at - 1] != static_cast<uint8_t>(spec::BoardEvent::kRan)) {
    return Fail("the board has not run");
  }
  ran_ = spec::BoardRan::Decode(events->data() + at);
  if (ran_.cycles == 0 || ran_.cycles > limit - cycle) return Fail("the board has not run as many cycles as it should");
  events->resize(at - 1);
  events_ = *std::move(events);
  position_ = cycle + ran_.cycles;
  pending_ = position_ - 1;
}

// --- Outputs: all that a host must know of are of the run's last cycle, in the order of rule C3 (axi_bridge.h).

void BoardNic::Report(Cycle cycle) {
  const std::vector<uint8_t> events = std::exchange(events_, {});
  std::span<const uint8_t> left = events;
  const auto take = [&left](size_t bytes) {
    const uint8_t* const at = left.data();
    left = left.subspan(bytes);
    return at;
  };
  const auto has = [&left](size_t bytes) { return left.size() >= bytes; };
  while (!left.empty()) {
    const auto event = static_cast<spec::BoardEvent>(*take(1));
    switch (event) {
      case spec::BoardEvent::kBarAnswer:
        if (!has(spec::BoardBarAnswer::kBytes)) break;
        environment_.CompleteBarRead(cycle, spec::BoardBarAnswer::Decode(take(spec::BoardBarAnswer::kBytes)).value);
        continue;
      case spec::BoardEvent::kCsrAnswer:
        if (!has(spec::BoardCsrAnswer::kBytes)) break;
        environment_.CompleteCsrRead(cycle, spec::BoardCsrAnswer::Decode(take(spec::BoardCsrAnswer::kBytes)).value);
        continue;
      case spec::BoardEvent::kInterrupt:
        if (!has(spec::BoardInterrupt::kBytes)) break;
        environment_.SetFirmwareInterrupt(cycle, *take(spec::BoardInterrupt::kBytes) != 0);
        continue;
      case spec::BoardEvent::kRead: {
        if (!has(spec::BoardRead::kBytes)) break;
        const auto request = spec::BoardRead::Decode(take(spec::BoardRead::kBytes));
        const DmaRead read{.tag = request.tag, .address = request.address, .bytes = request.length};
        bridge_.OnReadBurst(cycle, read);
        environment_.ReadDma(cycle, read);
        continue;
      }
      case spec::BoardEvent::kWriteBeat: {
        if (!has(kBeatBytes) || writes_.empty()) break;
        const uint8_t* const beat = take(kBeatBytes);
        Write& write = writes_.front();
        write.beats.insert(write.beats.end(), beat, beat + kBeatBytes);
        FinishWrite(cycle);
        continue;
      }
      case spec::BoardEvent::kWriteStart:
        if (!has(spec::BoardWrite::kBytes)) break;
        writes_.push_back({.start = spec::BoardWrite::Decode(take(spec::BoardWrite::kBytes)), .beats = {}});
        continue;
      case spec::BoardEvent::kMsix:
        if (!has(spec::BoardMsix::kBytes)) break;
        environment_.SendMsix(cycle, spec::BoardMsix::Decode(take(spec::BoardMsix::kBytes)).number);
        continue;
      case spec::BoardEvent::kTransmit: {
        if (!has(spec::BoardTransmit::kBytes)) break;
        const auto beat = spec::BoardTransmit::Decode(take(spec::BoardTransmit::kBytes));
        transmitting_.insert(transmitting_.end(), beat.data, beat.data + beat.length);
        if (beat.last) {
          const Cycle beats = FrameBeats(transmitting_.size(), kBeatBytes);
          environment_.TransmitFrame(cycle + 1 - beats, cycle, transmitting_);
          transmitting_.clear();
        }
        continue;
      }
      case spec::BoardEvent::kAccess:
        if (!has(spec::BoardCsr::kBytes)) break;
        announced_ = spec::BoardCsr::Decode(take(spec::BoardCsr::kBytes));
        if (processor_ != nullptr) processor_->OnAccess(cycle + 1, *announced_);
        continue;
      case spec::BoardEvent::kConsole:
        if (!has(1)) break;
        if (processor_ != nullptr) processor_->OnConsole(static_cast<char>(*take(1)));
        continue;
      default: break;
    }
    return Fail("the board sends what this program does not know: event " + std::to_string(static_cast<int>(event)));
  }
}

void BoardNic::FinishWrite(Cycle cycle) {
  const Write& write = writes_.front();
  if (write.beats.size() < DmaBeats(write.start.address, write.start.length, kBeatBytes) * kBeatBytes) return;
  environment_.WriteDma(
      cycle, {.address = write.start.address,
              .data = std::span(write.beats).subspan(write.start.address % kBeatBytes).first(write.start.length)});
  writes_.pop_front();
}

}  // namespace vireo::sim
