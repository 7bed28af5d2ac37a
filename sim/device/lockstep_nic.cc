// SPDX-License-Identifier: Apache-2.0
#include "sim/device/lockstep_nic.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

// Interval of the check for unmatched events; a mismatch is detected at most this much late.
constexpr Cycle kCheckInterval = 1000;
constexpr size_t kShownBytes = 32;  // of a payload

std::string Hex(std::span<const uint8_t> bytes) {
  std::string text;
  char digits[4];
  for (const uint8_t byte : bytes.first(std::min(bytes.size(), kShownBytes))) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  if (bytes.size() > kShownBytes) text += "…";
  return text;
}

// Quotes words that a shell would split or expand.
std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string command;
  for (size_t at = 0; at < all.size();) {
    const std::string word = all.c_str() + at;
    at += word.size() + 1;
    const bool plain = word.find_first_of(" *?$'\"\\()[]{}<>|&;`~#!") == std::string::npos && !word.empty();
    command += (command.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return command;
}

CycleDifferences Summarize(const std::map<int64_t, uint64_t>& differences) {
  CycleDifferences result;
  std::map<Cycle, uint64_t> absolute;
  for (const auto& [difference, count] : differences) {
    result.count += count;
    if (difference == 0) result.exact += count;
    if (difference < 0) result.shadow_early += count;
    if (difference > 0) result.shadow_late += count;
    absolute[static_cast<Cycle>(difference < 0 ? -difference : difference)] += count;
  }
  uint64_t below = 0;
  for (const auto& [difference, count] : absolute) {
    // The smallest difference that p50 and p99 % of the events do not exceed.
    if (below * 100 < result.count * 50) result.p50 = difference;
    if (below * 100 < result.count * 99) result.p99 = difference;
    below += count;
    result.max = difference;
  }
  return result;
}

}  // namespace

// The environment of one device. Only the master's calls are forwarded.
class LockstepNic::Environment final : public NicEnvironment {
 public:
  Environment(LockstepNic& nic, Side side) : nic_(nic), side_(side) {}

  void CompleteBarRead(Cycle cycle, uint64_t value) override {
    Value(EventKind::kBarCompletion, cycle, value, 8);
    if (side_ == kMaster) nic_.environment_.CompleteBarRead(cycle, value);
  }
  void ReadDma(Cycle cycle, const DmaRead& read) override {
    nic_.OnOutput(side_, EventKind::kDmaRead, cycle, {}, read.address, read.tag, read.bytes);
    if (side_ == kMaster) return nic_.environment_.ReadDma(cycle, read);
    if (nic_.shadow_reads_.size() <= read.tag) nic_.shadow_reads_.resize(size_t{read.tag} + 1);
    nic_.shadow_reads_[read.tag] = {read.address, read.bytes, 0};
  }
  void WriteDma(Cycle cycle, const DmaWrite& write) override {
    nic_.OnOutput(side_, EventKind::kDmaWrite, cycle, write.data, write.address, 0,
                  static_cast<uint32_t>(write.data.size()));
    if (side_ == kMaster) nic_.environment_.WriteDma(cycle, write);
  }
  void SendMsix(Cycle cycle, uint16_t vector) override {
    nic_.OnOutput(side_, EventKind::kMsix, cycle, {}, 0, vector);
    if (side_ == kMaster) nic_.environment_.SendMsix(cycle, vector);
  }
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override {
    nic_.OnOutput(side_, EventKind::kTransmitStart, start, {});
    nic_.OnOutput(side_, EventKind::kTransmitEnd, end, bytes, 0, 0, static_cast<uint32_t>(bytes.size()));
    if (side_ == kMaster) nic_.environment_.TransmitFrame(start, end, bytes);
  }
  void CompleteCsrRead(Cycle cycle, uint32_t value) override {
    if (side_ == kShadow && nic_.shadow_csr_reads_ > 0) --nic_.shadow_csr_reads_;
    Value(EventKind::kCsrCompletion, cycle, value, 4);
    if (side_ == kMaster) nic_.environment_.CompleteCsrRead(cycle, value);
  }
  void SetFirmwareInterrupt(Cycle cycle, bool level) override {
    nic_.OnOutput(side_, EventKind::kFirmwareInterrupt, cycle, {}, 0, 0, 0, level ? 1 : 0);
    if (side_ == kMaster) nic_.environment_.SetFirmwareInterrupt(cycle, level);
  }

 private:
  void Value(EventKind kind, Cycle cycle, uint64_t value, uint32_t bytes) {
    uint8_t payload[8] = {};
    for (unsigned i = 0; i < bytes; ++i) payload[i] = static_cast<uint8_t>(value >> 8 * i);
    nic_.OnOutput(side_, kind, cycle, {payload, bytes}, 0, 0, bytes);
  }

  LockstepNic& nic_;
  const Side side_;
};

LockstepNic::LockstepNic(const NicContext& context, const NicFactory& master, const NicFactory& shadow,
                         LockstepOptions options)
    : name_(context.name),
      clock_(context.clock),
      scheduler_(context.scheduler),
      environment_(context.environment),
      options_(std::move(options)),
      client_(scheduler_.AddClient(*this)) {
  const auto build = [&](Side side, const NicFactory& factory) {
    environments_[side] = std::make_unique<Environment>(*this, side);
    return factory(
        {context.name, context.number, context.config, context.clock, context.scheduler, *environments_[side]});
  };
  master_ = build(kMaster, master);
  shadow_ = build(kShadow, shadow);
}

LockstepNic::~LockstepNic() = default;

// --- Inputs: to both devices

void LockstepNic::Reset(Cycle cycle) {
  ++epoch_;
  check_planned_ = false;
  last_event_ = 0;
  is_settled_ = true;
  for (Lane& lane : lanes_) {
    unmatched_at_reset_ += lane.waiting[kMaster].size() + lane.waiting[kShadow].size();
    lane = {};
  }
  shadow_reads_.clear();
  shadow_csr_reads_ = 0;
  master_->Reset(cycle);
  if (IsComparing()) shadow_->Reset(cycle);
}

uint32_t LockstepNic::ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) {
  const uint32_t value = master_->ReadConfig(cycle, offset, bytes);
  if (!IsComparing()) return value;
  if (const uint32_t other = shadow_->ReadConfig(cycle, offset, bytes); other != value) {
    char text[128];
    std::snprintf(text, sizeof text, "configuration space at 0x%x, %u bytes: %s has 0x%x, %s has 0x%x", offset, bytes,
                  options_.master_name.c_str(), value, options_.shadow_name.c_str(), other);
    Mismatch(Stream::kConfig, cycle, text);
  }
  return value;
}

void LockstepNic::WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) {
  Touch(cycle);
  master_->WriteConfig(cycle, offset, bytes, value);
  if (IsComparing()) shadow_->WriteConfig(cycle, offset, bytes, value);
}

void LockstepNic::ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) {
  Touch(cycle);
  master_->ReadBar(cycle, bar, offset, bytes);
  if (IsComparing()) shadow_->ReadBar(cycle, bar, offset, bytes);
}

void LockstepNic::WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  Touch(cycle);
  master_->WriteBar(cycle, bar, offset, bytes, value);
  if (IsComparing()) shadow_->WriteBar(cycle, bar, offset, bytes, value);
}

void LockstepNic::CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) {
  Touch(cycle);
  master_->CompleteDmaRead(cycle, completion);
  if (!IsComparing()) return;
  const bool requested = completion.tag < shadow_reads_.size() && shadow_reads_[completion.tag].bytes != 0;
  Read* read = requested ? &shadow_reads_[completion.tag] : nullptr;
  if (read == nullptr || read->address + read->done != completion.address ||
      read->done + completion.data.size() > read->bytes) {
    return Mismatch(Stream::kDmaRead, cycle,
                    "a completion for tag " + std::to_string(completion.tag) + " reaches " + options_.shadow_name +
                        (requested ? ", which requested something else" : ", which has not requested it"));
  }
  read->done += static_cast<uint32_t>(completion.data.size());
  if (completion.last) *read = {};
  shadow_->CompleteDmaRead(cycle, completion);
}

void LockstepNic::RefuseDmaWrite(Cycle cycle) {
  Touch(cycle);
  master_->RefuseDmaWrite(cycle);
  if (IsComparing()) shadow_->RefuseDmaWrite(cycle);
}

void LockstepNic::ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) {
  Touch(cycle);
  master_->ReturnCredits(cycle, kind, beats);
  if (IsComparing()) shadow_->ReturnCredits(cycle, kind, beats);
}

void LockstepNic::ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
  Touch(end);
  master_->ReceiveFrame(start, end, bytes, mac_error);
  if (IsComparing()) shadow_->ReceiveFrame(start, end, bytes, mac_error);
}

void LockstepNic::SetLink(Cycle cycle, bool up) {
  Touch(cycle);
  master_->SetLink(cycle, up);
  if (IsComparing()) shadow_->SetLink(cycle, up);
}

void LockstepNic::ReadCsr(Cycle cycle, uint32_t offset) {
  Touch(cycle);
  master_->ReadCsr(cycle, offset);
  if (!IsComparing()) return;
  if (shadow_csr_reads_ != 0) {
    return Mismatch(Stream::kFirmware, cycle,
                    "the next CSR read reaches " + options_.shadow_name + ", which has not answered the previous one");
  }
  ++shadow_csr_reads_;
  shadow_->ReadCsr(cycle, offset);
}

void LockstepNic::WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) {
  Touch(cycle);
  master_->WriteCsr(cycle, offset, value);
  if (IsComparing()) shadow_->WriteCsr(cycle, offset, value);
}

bool LockstepNic::IsIdle() const {
  if (!IsComparing()) return master_->IsIdle();
  return master_->IsIdle() && shadow_->IsIdle() && !IsWaiting();
}

Cycle LockstepNic::NextDeadline() const {
  return IsComparing() ? std::min(master_->NextDeadline(), shadow_->NextDeadline()) : master_->NextDeadline();
}

// --- Events

void LockstepNic::OnOutput(Side side, EventKind kind, Cycle cycle, std::span<const uint8_t> payload, uint64_t address,
                           uint32_t id, uint32_t bytes, uint8_t status) {
  const uint64_t of_kind = side == kMaster ? event_counts_[static_cast<size_t>(kind)]++ : 0;
  if (!IsComparing()) return;
  Touch(cycle);
  const Stream stream = StreamOf(kind);
  Lane& lane = lanes_[static_cast<size_t>(stream)];
  const Event event = {
      kind, status, cycle, address, id, bytes, lane.event_counts[side]++, of_kind, {payload.begin(), payload.end()}};
  auto& history = lane.history[side];
  history.push_back(event);
  if (history.size() > kHistory) history.pop_front();

  auto& others = lane.waiting[side == kMaster ? kShadow : kMaster];
  if (others.empty()) {
    lane.waiting[side].push_back(event);
    return;
  }
  const Event other = std::move(others.front());
  others.pop_front();
  const Event& mine = side == kMaster ? event : other;
  const Event& shadows = side == kMaster ? other : event;
  std::string what;
  if (mine.kind != shadows.kind) {
    what = "kind";
  } else if (mine.status != shadows.status) {
    what = kind == EventKind::kFirmwareInterrupt ? "level" : "status";
  } else if (mine.id != shadows.id) {
    what = kind == EventKind::kMsix ? "vector" : "tag";
  } else if (mine.address != shadows.address) {
    what = "address";
  } else if (mine.bytes != shadows.bytes) {
    what = "length";
  } else if (mine.payload != shadows.payload) {
    const auto at = std::mismatch(mine.payload.begin(), mine.payload.end(), shadows.payload.begin()).first;
    what = "byte " + std::to_string(at - mine.payload.begin());
  }
  if (!what.empty()) {
    return Mismatch(stream, cycle, "event " + std::to_string(mine.number) + " differs in " + what);
  }
  Count(kind, mine.cycle, shadows.cycle);
  if (on_pair_) on_pair_(kind, mine.of_kind, mine.cycle, shadows.cycle);
  const Cycle difference = mine.cycle < shadows.cycle ? shadows.cycle - mine.cycle : mine.cycle - shadows.cycle;
  if (options_.max_difference != kNever && difference > options_.max_difference) {
    Mismatch(stream, cycle,
             "event " + std::to_string(mine.number) + " differs by " + std::to_string(difference) +
                 " cycles, more than " + std::to_string(options_.max_difference));
  }
}

void LockstepNic::Count(EventKind kind, Cycle master, Cycle shadow) {
  ++differences_[static_cast<size_t>(kind)][static_cast<int64_t>(shadow - master)];
}

bool LockstepNic::IsWaiting() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return !lane.waiting[kMaster].empty() || !lane.waiting[kShadow].empty(); });
}

// --- Unmatched events, idle and deadlines

void LockstepNic::Touch(Cycle cycle) {
  if (!IsComparing()) return;
  last_event_ = std::max(last_event_, cycle);
  compare_from_ = last_event_ + kSettle;
  is_settled_ = false;
  if (!check_planned_) PlanCheck(cycle + kSettle);
}

void LockstepNic::CompareRest(Cycle now) {
  is_settled_ = true;
  const bool idle[] = {master_->IsIdle(), shadow_->IsIdle()};
  const std::string since = ", " + std::to_string(now - last_event_) + " cycles after the last event";
  if (idle[kMaster] != idle[kShadow] && now - last_event_ < kPatience) {
    // The model may still run for a timer that was stopped, or not at all while it works on a long frame.
    is_settled_ = false;
    compare_from_ = std::min(now + (now - last_event_), last_event_ + kPatience);
    return;
  }
  if (idle[kMaster] != idle[kShadow]) {
    const Side side = idle[kMaster] ? kMaster : kShadow;
    return Mismatch(Stream::kFirmware, now,
                    Name(side) + " is idle and " + Name(side == kMaster ? kShadow : kMaster) + " is not" + since);
  }
  if (!idle[kMaster]) return;
  const Cycle deadlines[] = {master_->NextDeadline(), shadow_->NextDeadline()};
  if (deadlines[kMaster] == deadlines[kShadow]) return;
  const auto text = [](Cycle cycle) {
    return cycle == kNever ? std::string("none") : "cycle " + std::to_string(cycle);
  };
  Mismatch(Stream::kFirmware, now,
           "the next deadline of " + Name(kMaster) + " is " + text(deadlines[kMaster]) + ", of " + Name(kShadow) + " " +
               text(deadlines[kShadow]) + since);
}

void LockstepNic::PlanCheck(Cycle cycle) {
  check_planned_ = true;
  scheduler_.At(std::max(clock_.Begin(cycle), scheduler_.now()), client_, epoch_);
}

void LockstepNic::OnTime(uint64_t cookie) {
  if (cookie != epoch_ || !IsComparing()) return;
  check_planned_ = false;
  const Cycle now = clock_.Containing(scheduler_.now());
  const bool at_rest =
      master_->IsIdle() && shadow_->IsIdle() && master_->NextDeadline() == kNever && shadow_->NextDeadline() == kNever;
  Cycle next = kNever;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    for (const Side side : {kMaster, kShadow}) {
      if (lanes_[i].waiting[side].empty()) continue;
      const Event& event = lanes_[i].waiting[side].front();
      const Side other = side == kMaster ? kShadow : kMaster;
      const bool is_late = now >= event.cycle && now - event.cycle >= options_.horizon;
      if (is_late || at_rest) {
        return Mismatch(static_cast<Stream>(i), now,
                        "event " + std::to_string(event.number) + " of " + Name(side) + " is missing in " +
                            Name(other) +
                            (is_late ? " after " + std::to_string(now - event.cycle) + " cycles" : "; both are idle") +
                            "\n  " + Text(event));
      }
      next = std::min(next, now + std::min(kCheckInterval, event.cycle + options_.horizon - now));
    }
  }
  if (!is_settled_) {
    if (now >= compare_from_ && next == kNever) {  // else the missing event is the better report
      CompareRest(now);
      if (!IsComparing()) return;
    }
    if (!is_settled_ && now < compare_from_) next = std::min(next, compare_from_);
  }
  if (next != kNever) PlanCheck(std::max(next, now + 1));
}

// --- Reports

std::string LockstepNic::Text(const Event& event) const {
  char text[160];
  std::snprintf(text, sizeof text, "#%-6llu cycle %-12llu %-18s address 0x%llx id %u bytes %u status %u  ",
                static_cast<unsigned long long>(event.number), static_cast<unsigned long long>(event.cycle),
                ToString(event.kind), static_cast<unsigned long long>(event.address), event.id, event.bytes,
                event.status);
  return text + Hex(event.payload);
}

void LockstepNic::Mismatch(Stream stream, Cycle cycle, const std::string& what) {
  const Lane& lane = lanes_[static_cast<size_t>(stream)];
  std::string report = "LOCKSTEP MISMATCH: " + name_ + ", cycle " + std::to_string(cycle) + ": " + what + "\n";
  for (const Side side : {kMaster, kShadow}) {
    report += Name(side) + ", the last " + std::to_string(lane.history[side].size()) + " of " +
              std::to_string(lane.event_counts[side]) + " events of this stream:\n";
    for (const Event& event : lane.history[side]) report += "  " + Text(event) + "\n";
  }
  report += DifferenceTable();
  if (options_.waveform) report += "waveform: " + options_.waveform(cycle) + "\n";
  report += "repeat: VIREO_SEED=" + std::to_string(Seed()) + " " +
            (options_.repeat_command.empty() ? CommandLine() : options_.repeat_command) + "\n";
  mismatch_ = report;
  for (Lane& each : lanes_) each.waiting = {};
  if (options_.on_mismatch) return options_.on_mismatch(report);
  std::fprintf(stderr, "%s", report.c_str());
  std::abort();
}

CycleDifferences LockstepNic::Differences(EventKind kind) const {
  return Summarize(differences_[static_cast<size_t>(kind)]);
}

CycleDifferences LockstepNic::TotalDifferences() const {
  std::map<int64_t, uint64_t> all;
  for (const auto& kind : differences_) {
    for (const auto& [difference, count] : kind) all[difference] += count;
  }
  return Summarize(all);
}

std::string LockstepNic::DifferenceTable() const {
  std::string table;
  char line[160];
  std::snprintf(line, sizeof line, "%-20s %12s %12s %12s %12s %8s %8s %8s\n", "event", "count", "exact", "early",
                "late", "p50", "p99", "max");
  table += line;
  const auto add = [&](const char* name, const CycleDifferences& row) {
    const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
    std::snprintf(line, sizeof line, "%-20s %12llu %12llu %12llu %12llu %8llu %8llu %8llu\n", name, number(row.count),
                  number(row.exact), number(row.shadow_early), number(row.shadow_late), number(row.p50),
                  number(row.p99), number(row.max));
    table += line;
  };
  for (unsigned kind = 0; kind < kEventKinds; ++kind) {
    const CycleDifferences row = Differences(static_cast<EventKind>(kind));
    if (row.count != 0) add(ToString(static_cast<EventKind>(kind)), row);
  }
  add("total", TotalDifferences());
  return table;
}

}  // namespace vireo::sim
