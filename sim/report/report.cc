// SPDX-License-Identifier: Apache-2.0
#include "sim/report/report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "sim/device/lockstep_nic.h"

namespace vireo::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPicosecondsPerNs = kPicosecondsPerNanosecond;

// Upper bound of the size class: 64 bytes, 256, 1 KiB, …
uint64_t SizeClass(uint64_t bytes) {
  uint64_t most = 64;
  while (most < bytes) most *= 4;
  return most;
}

const char* OperationOf(const Message& message) {
  switch (message.opcode) {
    case spec::IbWrOpcode::kRdmaRead: return "READ";
    case spec::IbWrOpcode::kRdmaWrite:
    case spec::IbWrOpcode::kRdmaWriteWithImm: return "WRITE";
    case spec::IbWrOpcode::kSend:
    case spec::IbWrOpcode::kSendWithInv:
    case spec::IbWrOpcode::kSendWithImm: return "SEND";
    case spec::IbWrOpcode::kLocalInv: return "INVALIDATE";
    case spec::IbWrOpcode::kBindMw: return "BIND";
    case spec::IbWrOpcode::kRegMr: return "REGISTER";
    case spec::IbWrOpcode::kAtomicCmpAndSwp:
    case spec::IbWrOpcode::kAtomicFetchAndAdd: return "ATOMIC";
    case spec::IbWrOpcode::kFlush: return "FLUSH";
    case spec::IbWrOpcode::kAtomicWrite: return "ATOMIC WRITE";
  }
  return "other";
}

const char* EndOf(const Message& message) {
  switch (message.end) {
    case Message::End::kOpen: return "open";
    case Message::End::kAbandoned: return "abandoned";
    case Message::End::kComplete: return "complete";
  }
  return "open";
}

double Ns(double picoseconds) { return picoseconds / kPicosecondsPerNs; }

Json Row(const CycleDifferences& differences) {
  return {{"count", differences.count},
          {"exact", differences.exact},
          {"model_early", differences.shadow_early},
          {"model_late", differences.shadow_late},
          {"max_cycles", differences.max}};
}

}  // namespace

// --- Durations

size_t Durations::ClassOf(Picoseconds duration) {
  constexpr Picoseconds kExact = Picoseconds{1} << kFractionBits;
  if (duration < kExact) return duration;
  const auto shift = static_cast<unsigned>(std::bit_width(duration)) - 1 - kFractionBits;
  return (size_t{shift} + 1) * kExact + (duration >> shift) - kExact;
}

Picoseconds Durations::UpperEnd(size_t index) {
  constexpr size_t kExact = size_t{1} << kFractionBits;
  if (index < kExact) return index;
  const size_t shift = index / kExact - 1;
  return ((Picoseconds{index % kExact + kExact} + 1) << shift) - 1;
}

void Durations::Add(Picoseconds duration) {
  const size_t index = ClassOf(duration);
  if (counts_.size() <= index) counts_.resize(index + 1);
  ++counts_[index];
  ++count_;
  sum_ += static_cast<double>(duration);
  max_ = std::max(max_, duration);
}

Picoseconds Durations::Percentile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (counts_[i] != 0 && static_cast<double>(seen) >= wanted) return std::min(UpperEnd(i), max_);
  }
  return max_;
}

// --- Report

const std::vector<Interval>& Intervals() {
  static const std::vector<Interval> intervals = {
      {"fetch", Stage::kDoorbell, Stage::kWorkRequestRead,
       "doorbell to the read of the work request: ring, descriptor; not of one that was pushed"},
      {"work_request", Stage::kWorkRequestRead, Stage::kWorkRequest, "read of the work request"},
      {"payload_read", Stage::kPayloadRead, Stage::kPayload, "DMA reads of the payload"},
      {"transmit", Stage::kTransmit, Stage::kTransmitEnd, "all packets, first time, at the sender's MAC"},
      {"wire", Stage::kTransmit, Stage::kArrival, "first packet to the peer"},
      {"arrival", Stage::kArrival, Stage::kArrivalEnd, "all packets at the peer's MAC"},
      {"payload_write", Stage::kPayloadWrite, Stage::kPayloadWriteEnd, "DMA writes of the payload"},
      {"peer", Stage::kArrival, Stage::kAnswer, "first packet at the peer to its response"},
      {"answer", Stage::kAnswer, Stage::kAnswerArrival, "acknowledge or responses on the wire"},
      {"peer_completion", Stage::kArrivalEnd, Stage::kPeerCompletion, "last packet at the peer to its CQE"},
      {"completion", Stage::kAnswerArrival, Stage::kCompletion, "response to the CQE"},
      {"interrupt", Stage::kCompletion, Stage::kInterrupt, "CQE to the MSI-X message"},
  };
  return intervals;
}

const std::vector<PathPart>& PathParts() {
  static const std::vector<PathPart> parts = {
      {"fetch", Stage::kDoorbell, Stage::kWorkRequestRead,
       "doorbell to the read of the work request; 0 if it was pushed"},
      {"work_request", Stage::kWorkRequestRead, Stage::kWorkRequest, "read of the work request; 0 if it was pushed"},
      {"prepare", Stage::kWorkRequest, Stage::kTransmit, "checks, arbitration, and the first packet's payload"},
      {"wire", Stage::kTransmit, Stage::kArrival, "first packet to the peer"},
      {"peer", Stage::kArrival, Stage::kAnswer, "the other packets, and processing at the peer until its response"},
      {"answer", Stage::kAnswer, Stage::kAnswerArrival, "acknowledge, or all responses, on the wire"},
      {"completion", Stage::kAnswerArrival, std::nullopt, "response to the CQE"},
  };
  return parts;
}

Report::Report(MessageTracker& tracker, Run run) : tracker_(tracker), run_(std::move(run)) {
  tracker_.OnForget([this](const Message& message) { Add(forgotten_, message); });
}

std::optional<Picoseconds> Report::TimeOf(const Message& message, Stage stage) const {
  if (!message.at(stage).is_set()) return std::nullopt;
  const size_t nic = message.IsAtPeer(stage) ? message.peer.value_or(message.nic) : message.nic;
  return tracker_.clock(nic).Begin(message.at(stage).cycle);
}

void Report::AddPath(Operation& operation, const Message& message, Stage end) const {
  // A work request that was pushed came with the doorbell, and was not read.
  const auto time_of = [&](Stage stage) {
    const bool is_pushed = stage == Stage::kWorkRequestRead && !message.at(stage).is_set();
    return TimeOf(message, is_pushed ? Stage::kWorkRequest : stage);
  };
  std::vector<Picoseconds> parts;
  for (const PathPart& part : PathParts()) {
    const auto from = time_of(part.from), to = time_of(part.to.value_or(end));
    // After a retransmission stages may be in another order; such messages have no path.
    if (!from.has_value() || !to.has_value() || *to < *from) return;
    parts.push_back(*to - *from);
  }
  operation.path.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) operation.path[i].Add(parts[i]);
  operation.path_latency.Add(*TimeOf(message, end) - *TimeOf(message, Stage::kDoorbell));
}

void Report::Add(Operations& operations, const Message& message) const {
  const auto add = [&](Durations& durations, Stage from, Stage to) {
    const auto begin = TimeOf(message, from), end = TimeOf(message, to);
    if (begin.has_value() && end.has_value() && *end >= *begin) durations.Add(*end - *begin);
  };
  if (message.end != Message::End::kComplete) return;
  if (message.status.value_or(spec::IbWcStatus::kSuccess) != spec::IbWcStatus::kSuccess) return;
  Operation& operation = operations[{OperationOf(message), SizeClass(message.bytes)}];
  operation.intervals.resize(Intervals().size());
  ++operation.count;
  operation.bytes += message.bytes;
  operation.retransmitted += message.retransmitted;
  const Stage end = message.at(Stage::kCompletion).is_set() ? Stage::kCompletion : Stage::kUsed;
  add(operation.latency, Stage::kDoorbell, end);
  AddPath(operation, message, end);
  for (size_t i = 0; i < Intervals().size(); ++i) {
    add(operation.intervals[i], Intervals()[i].from, Intervals()[i].to);
  }
}

Json Report::ToJson(const Message& message) const {
  Json json = {{"number", message.number},
               {"nic", message.nic},
               {"peer", nullptr},
               {"qp", message.qpn},
               {"peer_qp", message.peer_qpn},
               {"operation", OperationOf(message)},
               {"opcode", nullptr},
               {"wr_id", message.wr_id},
               {"bytes", message.bytes},
               {"packets", message.packets},
               {"retransmitted", message.retransmitted},
               {"end", EndOf(message)},
               {"status", nullptr}};
  if (message.peer.has_value()) json["peer"] = *message.peer;
  if (const char* name = spec::ToString(message.opcode)) json["opcode"] = name;
  if (message.status.has_value()) {
    if (const char* name = spec::ToString(*message.status)) json["status"] = name;
  }
  if (message.packets != 0) json["first_psn"] = message.first_psn;
  Json stages = Json::object();
  for (unsigned i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const EventMark& mark = message.at(stage);
    if (!mark.is_set()) continue;
    const size_t nic = message.IsAtPeer(stage) ? message.peer.value_or(message.nic) : message.nic;
    Json entry = {
        {"nic", nic}, {"cycle", mark.cycle}, {"ns", Ns(static_cast<double>(tracker_.clock(nic).Begin(mark.cycle)))}};
    if (const auto delta = tracker_.ShadowDelta(message, stage)) entry["model_delta_cycles"] = *delta;
    stages[ToString(stage)] = std::move(entry);
  }
  json["stages"] = std::move(stages);
  return json;
}

Json Report::ToJson(Picoseconds now, const std::vector<const LockstepNic*>& lockstep) const {
  const auto messages = tracker_.Messages();
  Operations operations = forgotten_;
  for (const auto& message : messages) Add(operations, *message);

  const MessageTracker::Totals& totals = tracker_.totals();
  const MessageTracker::Unattributed unattributed = tracker_.unattributed();
  Json json = {{"version", kVersion},   {"device", run_.device}, {"config", run_.config},
               {"preset", run_.preset}, {"seed", run_.seed},     {"simulated_ns", Ns(static_cast<double>(now))}};
  json["nics"] = Json::array();
  for (size_t i = 0; i < tracker_.nics(); ++i) {
    json["nics"].push_back({{"name", i < run_.nics.size() ? run_.nics[i] : "nic" + std::to_string(i)},
                            {"cycle_ns", 1e6 / tracker_.clock(i).khz()}});
  }
  json["totals"] = {{"messages", totals.messages},
                    {"bytes", totals.bytes},
                    {"completed", totals.completed},
                    {"failed", totals.failed},
                    {"abandoned", totals.abandoned},
                    {"open", totals.messages - totals.completed - totals.failed - totals.abandoned},
                    {"packets_sent", totals.packets_sent},
                    {"packets_received", totals.packets_received},
                    {"packets_lost", static_cast<int64_t>(totals.packets_sent - totals.packets_received)},
                    {"retransmitted_packets", totals.retransmitted},
                    {"sequence_naks", totals.sequence_naks},
                    {"rnr_naks", totals.rnr_naks},
                    {"other_naks", totals.other_naks},
                    {"mac_errors", totals.mac_errors},
                    {"icrc_errors", totals.icrc_errors}};
  json["unattributed"] = {{"doorbells", unattributed.rings.doorbells},
                          {"used_buffers", unattributed.rings.used},
                          {"work_requests", unattributed.work_requests},
                          {"requests", unattributed.requests},
                          {"responses", unattributed.responses},
                          {"arrivals", unattributed.arrivals},
                          {"payload_reads", unattributed.payload_reads},
                          {"completions", unattributed.completions + unattributed.rings.completions}};
  json["intervals"] = Json::array();
  for (const Interval& interval : Intervals()) {
    // at_peer: first element for all operations but READ, second for READ.
    Message message;
    const bool at_peer = message.IsAtPeer(interval.from);
    message.opcode = spec::IbWrOpcode::kRdmaRead;
    json["intervals"].push_back({{"name", interval.name},
                                 {"from", ToString(interval.from)},
                                 {"to", ToString(interval.to)},
                                 {"at_peer", {at_peer, message.IsAtPeer(interval.from)}},
                                 {"doc", interval.doc}});
  }
  json["path"] = Json::array();
  for (const PathPart& part : PathParts()) json["path"].push_back({{"name", part.name}, {"doc", part.doc}});
  json["operations"] = Json::array();
  for (const auto& [key, operation] : operations) {
    Json row = {{"operation", key.first},
                {"max_bytes", key.second},
                {"count", operation.count},
                {"bytes", operation.bytes},
                {"retransmitted_packets", operation.retransmitted},
                {"latency_ns",
                 {{"p50", Ns(static_cast<double>(operation.latency.Percentile(0.5)))},
                  {"p99", Ns(static_cast<double>(operation.latency.Percentile(0.99)))},
                  {"max", Ns(static_cast<double>(operation.latency.max()))},
                  {"mean", Ns(operation.latency.mean())}}}};
    Json stages = Json::object();
    for (size_t i = 0; i < Intervals().size(); ++i) {
      const Durations& durations = operation.intervals[i];
      if (durations.count() == 0) continue;
      stages[Intervals()[i].name] = {{"count", durations.count()}, {"mean", Ns(durations.mean())}};
    }
    row["stages_ns"] = std::move(stages);
    Json parts = Json::object();
    for (size_t i = 0; i < operation.path.size(); ++i) parts[PathParts()[i].name] = Ns(operation.path[i].mean());
    row["path_ns"] = {{"count", operation.path_latency.count()},
                      {"mean", Ns(operation.path_latency.mean())},
                      {"parts", std::move(parts)}};
    json["operations"].push_back(std::move(row));
  }
  for (size_t i = 0; i < lockstep.size(); ++i) {
    if (lockstep[i] == nullptr) continue;
    Json kinds = Json::object();
    for (unsigned kind = 0; kind < kEventKinds; ++kind) {
      const CycleDifferences row = lockstep[i]->Differences(static_cast<EventKind>(kind));
      if (row.count != 0) kinds[ToString(static_cast<EventKind>(kind))] = Row(row);
    }
    json["lockstep"].push_back(
        {{"nic", i}, {"kinds", std::move(kinds)}, {"total", Row(lockstep[i]->TotalDifferences())}});
  }
  json["messages"] = Json::array();
  for (const auto& message : messages) json["messages"].push_back(ToJson(*message));
  return json;
}

}  // namespace vireo::sim
