// SPDX-License-Identifier: Apache-2.0
#include "sim/pcie/pcie_link.h"

#include <algorithm>
#include <utility>

#include "sim/common/random.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr uint32_t kMsixBytes = 4;

// Million transfers per second and lane (PCIe 5.0, 4.2.1: 8 GT/s and up with 128b/130b).
constexpr uint64_t MegaTransfers(spec::PcieLinkSpeed speed) {
  return uint64_t{8000} << (static_cast<unsigned>(speed) - static_cast<unsigned>(spec::PcieLinkSpeed::kGen3));
}

DmaStatus StatusOf(DmaFault::Kind kind) {
  switch (kind) {
    case DmaFault::Kind::kUnsupportedRequest: return DmaStatus::kUnsupportedRequest;
    case DmaFault::Kind::kCompleterAbort: return DmaStatus::kCompleterAbort;
    case DmaFault::Kind::kPoisoned: return DmaStatus::kPoisoned;
    case DmaFault::Kind::kTimeout: return DmaStatus::kTimeout;
    case DmaFault::Kind::kDelay:
    case DmaFault::Kind::kSpread:
    case DmaFault::Kind::kSplit:
    case DmaFault::Kind::kRefused: break;
  }
  return DmaStatus::kOk;
}

constexpr uint64_t Mask(unsigned bytes) { return bytes >= 8 ? kAllOnes : (uint64_t{1} << 8 * bytes) - 1; }

constexpr uint32_t RequestBytes(uint64_t address) { return address >> 32 == 0 ? kTlpShortBytes : kTlpLongBytes; }

}  // namespace

const PcieParameters* FindPciePreset(std::string_view name) {
  for (const PcieParameters& preset : kPciePresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

Picoseconds PcieTime(const PcieParameters& parameters, uint64_t bytes) {
  const uint64_t numerator = bytes * 8 * 130 * 1'000'000 * 100;
  const uint64_t denominator = MegaTransfers(parameters.speed) * parameters.lanes * 128 * (100 - kDllpPercent);
  return (numerator + denominator - 1) / denominator;
}

PcieLink::PcieLink(Scheduler& scheduler, const CoreClock& clock, const PcieParameters& parameters,
                   const spec::Config& config, HostMemory& memory, std::mt19937_64 random)
    : scheduler_(scheduler),
      clock_(clock),
      parameters_(parameters),
      beat_bytes_(BeatBytes(config)),
      memory_(memory),
      random_(random),
      client_(scheduler.AddClient(*this)) {}

// --- Callbacks. The epoch excludes those from before a restart.

uint64_t PcieLink::Cookie(Event event, uint64_t value) const {
  return epoch_ << 40 | uint64_t{static_cast<uint8_t>(event)} << 32 | (value & 0xffff'ffff);
}

void PcieLink::Schedule(Picoseconds time, Event event, uint64_t value) {
  scheduler_.At(time, client_, Cookie(event, value));
}

void PcieLink::OnTime(uint64_t cookie) {
  if (cookie >> 40 != epoch_) return;
  const auto value = static_cast<uint32_t>(cookie);
  switch (static_cast<Event>(cookie >> 32 & 0xff)) {
    case Event::kBar: {
      const BarAccess access = bar_accesses_.front();
      bar_accesses_.pop_front();
      if (access.is_write) {
        nic_->WriteBar(access.cycle, access.bar, access.offset, access.bytes, access.value);
      } else {
        nic_->ReadBar(access.cycle, access.bar, access.offset, access.bytes);
      }
      return;
    }
    case Event::kCompletion: return DeliverCompletion();
    case Event::kCredit: {
      const uint32_t beats = credits_.front();
      credits_.pop_front();
      return nic_->ReturnCredits(clock_.Containing(scheduler_.now()), CreditKind::kDmaWrite, beats);
    }
    case Event::kRefusal: return nic_->RefuseDmaWrite(clock_.Containing(scheduler_.now()));
    case Event::kHost: return DeliverToHost();
    case Event::kRead: return AnswerRead(value);
    case Event::kReadTimeout: {
      PendingRead& read = reads_[value];
      Completion completion;
      completion.header = {.tag = read.request.tag,
                           .offset = read.sent,
                           .address = read.request.address + read.sent,
                           .data = {},
                           .last = true,
                           .status = DmaStatus::kTimeout};
      completion.slot = value;
      return PutCompletion(scheduler_.now(), std::move(completion));
    }
    case Event::kBarTimeout:
      for (BarRead& read : bar_reads_) {
        if (static_cast<uint32_t>(read.number) != value || read.is_abandoned) continue;
        read.is_abandoned = true;
        ++counters_.bar_timeouts;
        const auto done = std::move(read.done);
        return done(kAllOnes & Mask(read.bytes));
      }
      return;
  }
}

void PcieLink::Restart(Cycle first_input) {
  ++epoch_;
  upstream_free_ = downstream_free_ = scheduler_.now();
  bar_free_ = completion_free_ = credit_free_ = last_bar_write_ = first_input;
  reads_.clear();
  free_reads_.clear();
  waiting_reads_.clear();
  completions_.clear();
  bar_accesses_.clear();
  arrivals_.clear();
  credits_.clear();
  credits_.push_back(parameters_.write_buffer_beats);
  Schedule(clock_.Begin(first_input), Event::kCredit);
  std::deque<BarRead> unanswered;
  unanswered.swap(bar_reads_);
  for (const BarRead& read : unanswered) {
    if (!read.is_abandoned) read.done(kAllOnes & Mask(read.bytes));
  }
}

bool PcieLink::IsIdle() const {
  return free_reads_.size() == reads_.size() && waiting_reads_.empty() && bar_accesses_.empty() && bar_reads_.empty() &&
         arrivals_.empty() && credits_.empty();
}

// --- The two directions. Return the time when the last byte has left.

Picoseconds PcieLink::PutUpstream(Picoseconds earliest, uint64_t bytes) {
  upstream_free_ = std::max({earliest, upstream_free_, scheduler_.now()}) + PcieTime(parameters_, bytes);
  return upstream_free_;
}

Picoseconds PcieLink::PutDownstream(uint64_t bytes) {
  downstream_free_ = std::max(scheduler_.now(), downstream_free_) + PcieTime(parameters_, bytes);
  return downstream_free_;
}

// --- Host to device

uint32_t PcieLink::ReadConfig(uint16_t offset, unsigned bytes) {
  return nic_->ReadConfig(clock_.Containing(scheduler_.now()), offset, bytes);
}

void PcieLink::WriteConfig(uint16_t offset, unsigned bytes, uint32_t value) {
  nic_->WriteConfig(clock_.Containing(scheduler_.now()), offset, bytes, value);
}

void PcieLink::SendBarAccess(BarAccess access) {
  // The link does not know where the host maps BARs. Both are 64-bit BARs, so assume above 4 GiB.
  const Picoseconds sent = PutDownstream(kTlpLongBytes + (access.is_write ? access.bytes : 0));
  const Picoseconds arrival = sent + parameters_.downstream_ns * kPicosecondsPerNanosecond;
  access.cycle = std::max(clock_.AtOrAfter(arrival), bar_free_);
  bar_free_ = access.cycle + 1;
  if (access.is_write) last_bar_write_ = access.cycle;
  Schedule(clock_.Begin(access.cycle), Event::kBar);
  bar_accesses_.push_back(access);
}

void PcieLink::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  ++counters_.bar_writes;
  SendBarAccess(
      {.is_write = true, .bar = bar, .bytes = bytes, .offset = offset, .value = value & Mask(bytes), .cycle = 0});
}

void PcieLink::ReadBar(unsigned bar, uint64_t offset, unsigned bytes, std::function<void(uint64_t)> done) {
  ++counters_.bar_reads;
  bar_reads_.push_back({std::move(done), bytes, ++bar_read_number_, false});
  Schedule(scheduler_.now() + parameters_.completion_timeout_ns * kPicosecondsPerNanosecond, Event::kBarTimeout,
           bar_read_number_);
  SendBarAccess({.is_write = false, .bar = bar, .bytes = bytes, .offset = offset, .value = 0, .cycle = 0});
}

// Counts the access for the fault's condition.
bool PcieLink::Hits(ActiveFault& active, uint64_t address, uint64_t bytes) {
  const DmaFault& fault = active.fault;
  const bool touches =
      address >= fault.address ? address - fault.address < fault.bytes : fault.address - address < bytes;
  if (!touches) return false;
  if (fault.per_million < 1'000'000 && UniformBelow(random_, 1'000'000) >= fault.per_million) return false;
  ++active.seen;
  return fault.nth == 0 || (active.seen >= fault.nth && active.seen - fault.nth < fault.count);
}

bool PcieLink::IsRefused(const DmaWrite& write) {
  bool is_refused = false;
  for (ActiveFault& active : faults_) {
    if (active.fault.kind == DmaFault::Kind::kRefused && Hits(active, write.address, write.data.size())) {
      is_refused = true;
    }
  }
  return is_refused;
}

// --- Device to host. An output of a cycle leaves the core at the end of the cycle.

void PcieLink::WriteDma(Cycle cycle, const DmaWrite& write) {
  if (!faults_.empty() && IsRefused(write)) {
    ++counters_.refused_writes;
    Schedule(clock_.Begin(cycle + 1), Event::kRefusal);
    return ReturnBuffer(clock_.Begin(cycle + 1), DmaBeats(write.address, write.data.size(), beat_bytes_));
  }
  const Picoseconds sent = PutUpstream(clock_.Begin(cycle + 1), RequestBytes(write.address) + write.data.size());
  ReturnBuffer(sent, DmaBeats(write.address, write.data.size(), beat_bytes_));
  Arrival arrival;
  arrival.kind = Arrival::Kind::kWrite;
  arrival.address = write.address;
  arrival.data = TakeBuffer(write.data);
  arrivals_.push_back(std::move(arrival));
  Schedule(sent + parameters_.upstream_ns * kPicosecondsPerNanosecond, Event::kHost);
}

void PcieLink::SendMsix(Cycle cycle, uint16_t vector) {
  // The message's address (0xfee….…) is below 4 GiB on every PC.
  const Picoseconds sent = PutUpstream(clock_.Begin(cycle + 1), kTlpShortBytes + kMsixBytes);
  arrivals_.push_back({.kind = Arrival::Kind::kMsix, .address = 0, .value = vector, .data = {}});
  Schedule(sent + parameters_.upstream_ns * kPicosecondsPerNanosecond, Event::kHost);
}

void PcieLink::CompleteBarRead(Cycle cycle, uint64_t value) {
  const Picoseconds sent = PutUpstream(clock_.Begin(cycle + 1), kTlpShortBytes + 8);
  arrivals_.push_back({.kind = Arrival::Kind::kBarCompletion, .address = 0, .value = value, .data = {}});
  Schedule(sent + parameters_.upstream_ns * kPicosecondsPerNanosecond, Event::kHost);
}

void PcieLink::DeliverToHost() {
  Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  switch (arrival.kind) {
    case Arrival::Kind::kWrite:
      ++counters_.writes;
      counters_.write_bytes += arrival.data.size();
      if (memory_.Write(arrival.address, arrival.data) != MemoryError::kNone) ++counters_.failed_writes;
      KeepBuffer(std::move(arrival.data));
      return;
    case Arrival::Kind::kMsix:
      memory_.FlushWrites();
      ++counters_.msix;
      if (on_msix_) on_msix_(static_cast<uint16_t>(arrival.value));
      return;
    case Arrival::Kind::kBarCompletion: memory_.FlushWrites(); return AnswerBarRead(arrival.value);
  }
}

void PcieLink::AnswerBarRead(uint64_t value) {
  if (bar_reads_.empty()) return;  // NicTap reports it
  const BarRead read = std::move(bar_reads_.front());
  bar_reads_.pop_front();
  if (!read.is_abandoned) read.done(value & Mask(read.bytes));
}

void PcieLink::ReturnBuffer(Picoseconds time, uint32_t beats) {
  const Cycle cycle = std::max(clock_.AtOrAfter(time), credit_free_);
  credit_free_ = cycle;
  credits_.push_back(beats);
  Schedule(clock_.Begin(cycle), Event::kCredit);
}

std::vector<uint8_t> PcieLink::TakeBuffer(std::span<const uint8_t> data) {
  std::vector<uint8_t> buffer;
  if (!free_buffers_.empty()) {
    buffer = std::move(free_buffers_.back());
    free_buffers_.pop_back();
  }
  buffer.assign(data.begin(), data.end());
  return buffer;
}

void PcieLink::KeepBuffer(std::vector<uint8_t> buffer) {
  // More are in flight only during bursts, whose memory is not kept.
  constexpr size_t kMaxFree = 512;
  if (free_buffers_.size() < kMaxFree) free_buffers_.push_back(std::move(buffer));
}

// --- DMA reads

void PcieLink::ReadDma(Cycle cycle, const DmaRead& read) {
  ++counters_.read_requests;
  if (reads_.size() - free_reads_.size() >= parameters_.outstanding_reads) {
    waiting_reads_.push_back(read);
  } else {
    IssueRead(clock_.Begin(cycle + 1), read);
  }
}

void PcieLink::IssueRead(Picoseconds earliest, const DmaRead& request) {
  const Picoseconds sent = PutUpstream(earliest, RequestBytes(request.address));
  if (free_reads_.empty()) {
    free_reads_.push_back(static_cast<uint32_t>(reads_.size()));
    reads_.emplace_back();
  }
  const uint32_t slot = free_reads_.back();
  free_reads_.pop_back();
  PendingRead& read = reads_[slot];
  read.request = request;
  read.sent = 0;
  read.status = DmaStatus::kOk;
  read.good_bytes = request.bytes;
  read.reached = kForever;
  read.is_sampled = false;
  read.is_split = false;

  bool is_faulted = false;
  uint64_t latency_ns = parameters_.upstream_ns + parameters_.read_ns;
  for (ActiveFault& active : faults_) {
    const DmaFault& fault = active.fault;
    if (fault.kind == DmaFault::Kind::kRefused || !Hits(active, request.address, request.bytes)) continue;
    is_faulted = true;
    if (fault.kind == DmaFault::Kind::kDelay) {
      latency_ns += fault.delay_ns;
    } else if (fault.kind == DmaFault::Kind::kSpread) {
      latency_ns += UniformBelow(random_, uint64_t{fault.delay_ns} + 1);
    } else if (fault.kind == DmaFault::Kind::kSplit) {
      read.is_split = true;
    } else if (read.status == DmaStatus::kOk) {  // the first fault that fails the read decides how
      read.status = StatusOf(fault.kind);
      read.good_bytes = std::min(fault.after_bytes, request.bytes - 1);
    }
  }
  counters_.faulted_reads += is_faulted;
  if (latency_ns >= parameters_.completion_timeout_ns && read.status == DmaStatus::kOk) {
    read.status = DmaStatus::kTimeout;
    read.good_bytes = 0;
  }
  Picoseconds ready = sent + latency_ns * kPicosecondsPerNanosecond;
  ready += UniformBelow(random_, parameters_.read_spread_ns * kPicosecondsPerNanosecond + 1);
  if (read.status == DmaStatus::kTimeout) {
    Schedule(sent + parameters_.completion_timeout_ns * kPicosecondsPerNanosecond, Event::kReadTimeout, slot);
    if (read.good_bytes == 0) {  // memory never sees it, but its permissions are checked
      static_cast<void>(memory_.Probe(request.address, request.bytes, Permission::kRead));
      return;
    }
  }
  read.reached = sent + parameters_.upstream_ns * kPicosecondsPerNanosecond;
  Schedule(ready, Event::kRead, slot);
}

// Samples `first` and contiguous reads in one access. Reads that are still unsampled then are sampled individually.
void PcieLink::SampleWithOthers(const PendingRead& first) {
  const uint64_t begin = first.request.address;
  if (!memory_.IsExternal(begin, first.request.bytes)) return;
  together_.clear();
  for (PendingRead& read : reads_) {
    if (read.is_sampled || read.reached > scheduler_.now()) continue;
    if (read.request.address - begin < most_together_) together_.push_back(&read);
  }
  std::ranges::sort(together_, {}, [](const PendingRead* read) { return read->request.address; });
  uint64_t end = begin;
  size_t count = 0;
  for (; count < together_.size(); ++count) {
    const DmaRead& request = together_[count]->request;
    if (request.address != end || !memory_.IsExternal(begin, request.address + request.bytes - begin)) break;
    end += request.bytes;
  }
  together_.resize(count);
  if (count < 2) return;
  together_data_.resize(end - begin);
  if (!memory_.ReadExternal(begin, together_data_)) return;  // sampled individually: some may succeed
  for (PendingRead* read : together_) {
    const auto from = together_data_.begin() + static_cast<ptrdiff_t>(read->request.address - begin);
    read->data.assign(from, from + read->request.bytes);
    read->is_sampled = true;
  }
}

// Puts the next completion of a read on the link; called again when that has left, so that reads share the link
// round-robin.
void PcieLink::AnswerRead(uint32_t slot) {
  PendingRead& read = reads_[slot];
  if (!read.is_sampled) {
    if (is_ready_ && !is_ready_(read.request.address, read.request.bytes)) {
      return Schedule(scheduler_.now() + kAskAgain, Event::kRead, slot);
    }
    if (most_together_ != 0 && !is_ready_) SampleWithOthers(read);
  }
  if (!read.is_sampled) {
    read.is_sampled = true;
    read.data.resize(read.request.bytes);
    if (memory_.Read(read.request.address, read.data) != MemoryError::kNone) {
      read.status = DmaStatus::kUnsupportedRequest;
      read.good_bytes = 0;
      ++counters_.failed_reads;
    }
  }
  Completion completion;
  completion.slot = slot;
  const uint64_t address = read.request.address + read.sent;
  completion.header = {.tag = read.request.tag,
                       .offset = read.sent,
                       .address = address,
                       .data = {},
                       .last = false,
                       .status = DmaStatus::kOk};

  // As much as fits into a packet, up to the last read completion boundary in it or the end.
  const uint64_t end = read.request.address + read.request.bytes;
  const uint64_t most = read.is_split ? parameters_.rcb_bytes : parameters_.max_payload_bytes;
  uint64_t cut = (address + most) / parameters_.rcb_bytes * parameters_.rcb_bytes;
  cut = std::min(cut, end);
  const bool poisoned = read.status == DmaStatus::kPoisoned;
  const bool fails = read.status != DmaStatus::kOk && !poisoned && cut - read.request.address > read.good_bytes;
  uint64_t bytes = cut - address;
  if (fails) {
    if (read.status == DmaStatus::kTimeout) return;  // the rest is never sent
    completion.header.status = read.status;
    completion.header.last = true;
    bytes = 0;
  } else {
    if (poisoned) completion.header.status = DmaStatus::kPoisoned;
    completion.header.last = cut == end;
    completion.data = TakeBuffer(std::span(read.data).subspan(read.sent, bytes));
    read.sent += static_cast<uint32_t>(bytes);
  }
  const bool last = completion.header.last;
  const Picoseconds sent = PutDownstream(kTlpShortBytes + bytes);
  PutCompletion(sent + parameters_.downstream_ns * kPicosecondsPerNanosecond, std::move(completion));
  if (!last) Schedule(sent, Event::kRead, slot);
}

void PcieLink::PutCompletion(Picoseconds arrival, Completion completion) {
  const Cycle cycle = std::max({clock_.AtOrAfter(arrival), completion_free_, last_bar_write_});
  completion_free_ = cycle + DmaBeats(completion.header.address, completion.data.size(), beat_bytes_);
  completions_.push_back(std::move(completion));
  Schedule(clock_.Begin(cycle), Event::kCompletion);
}

void PcieLink::DeliverCompletion() {
  Completion completion = std::move(completions_.front());
  completions_.pop_front();
  counters_.read_bytes += completion.data.size();
  completion.header.data = completion.data;
  const bool last = completion.header.last;
  if (last) free_reads_.push_back(completion.slot);
  nic_->CompleteDmaRead(clock_.Containing(scheduler_.now()), completion.header);
  KeepBuffer(std::move(completion.data));
  if (last && !waiting_reads_.empty()) {
    const DmaRead read = waiting_reads_.front();
    waiting_reads_.pop_front();
    IssueRead(scheduler_.now(), read);
  }
}

}  // namespace vireo::sim
