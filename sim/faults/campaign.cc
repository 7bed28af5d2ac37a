// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/common/seed.h"
#include "sim/faults/host_fault.h"
#include "sim/faults/traffic.h"
#include "sim/pcie/pcie_fault.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/frame_log.h"
#include "sim/traffic/raw_queue.h"

namespace vireo::sim {
namespace {

constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kSecond = 1'000'000 * kMicrosecond;
constexpr Picoseconds kStep = 5 * kMicrosecond;
// Longest time without progress; longer than all retries of a connection.
constexpr Picoseconds kStallTimeout = 200'000 * kMicrosecond;
constexpr uint64_t kFreshMessages = 3;
constexpr uint64_t kResetTimeoutNs = 1'000'000'000;  // after a corrupt entry firmware clears every table
constexpr size_t kNear = 0, kFar = 1;

struct Register {
  uint32_t offset;
  std::string name;
};
std::vector<Register> Registers() {
  std::vector<Register> all = {
      {spec::kMgmtRxBufferDropsRegister, "rx_buffer_drops"}, {spec::kMgmtRetransmissionsRegister, "retransmissions"},
      {spec::kMgmtDmaErrorsRegister, "dma_errors"},          {spec::kMgmtWindowViolationsRegister, "window_violations"},
      {spec::kMgmtNetRxFilteredRegister, "net_rx_filtered"}, {spec::kMgmtNetRxDropsRegister, "net_rx_drops"},
      {spec::kMgmtNetTxDropsRegister, "net_tx_drops"}};
  for (uint32_t i = 0; const char* name = spec::ToString(static_cast<spec::RxVerdict>(i)); ++i) {
    all.push_back({spec::kMgmtRxVerdictCountRegister + 4 * i, name});
  }
  return all;
}

// The code of an event, after a blank: an error of the device, or the syndrome that one side sent; "" if none.
std::string CodeText(spec::RdmaEventType type, uint32_t code) {
  if (code == 0) return "";
  const char* name = type == spec::RdmaEventType::kQpReqErr || type == spec::RdmaEventType::kQpAccessErr
                         ? spec::ToString(static_cast<spec::AethSyndrome>(code))
                         : spec::ToString(static_cast<spec::RdmaError>(code));
  return " " + (name == nullptr ? std::to_string(code) : std::string(name));
}

class Case {
 public:
  Case(const Fault& fault, Transport transport, const CaseOptions& options)
      : fault_(fault),
        transport_(transport),
        outcome_(*fault.outcomes.at(static_cast<size_t>(transport))),
        options_(options),
        random_(
            MakeRandom(fmt::format("faults.{}.{}", fault.name, kTransportNames.at(static_cast<size_t>(transport))))) {}

  CaseResult Run() {
    if (Build()) {
      RunTraffic();
      Check();
      TestNewConnections();
      victim_.reset();
      bystander_.reset();
      const std::string violations = system_->Violations();
      if (!violations.empty()) AddViolation(violations);
      result_.trace_hash = system_->topology().trace().hash();
    }
    return std::move(result_);
  }

 private:
  void AddViolation(const std::string& what) { result_.violations.push_back(what); }
  bool Fail(const std::string& what) {
    AddViolation(what);
    return false;
  }
  RdmaHost& near() { return system_->host(kNear); }
  PcieLink& pcie() { return near().station().pcie(); }
  Picoseconds now() { return system_->scheduler().now(); }

  // --- Setup

  bool Build() {
    RdmaSystemOptions options{.device = options_.device, .config = options_.config};
    options.capture_path = options_.capture_path;
    options.is_monitored = false;  // each outcome is defined by the catalogue
    if (fault_.place == FaultPlace::kWire) {
      const FaultScript script = ParseFaultScript(fault_.script);
      if (!script.error.empty()) return Fail(script.error);
      options.faults_out = {script.rules, script.rules};
    }
    auto built = RdmaSystem::Build(options);
    if (built.system == nullptr) return Fail(built.error);
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) logs_.at(i).Watch(system_->host(i).station());

    Traffic::Options victim{.transport = transport_};
    if (fault_.place == FaultPlace::kHost) {
      const HostScript script = ParseHostScript(fault_.script);
      if (!script.error.empty()) return Fail(script.error);
      host_fault_ = script.fault;
      if (host_fault_->kind == HostFault::Kind::kNoPoll) victim.cqe = static_cast<uint32_t>(host_fault_->amount);
    }
    if (!Make(victim, victim_) || !Make({}, bystander_)) return false;
    if (fault_.place != FaultPlace::kPcie) return true;
    const PcieScript script = ParsePcieScript(fault_.script, victim_->Places());
    if (!script.error.empty()) return Fail(script.error);
    for (const DmaFault& fault : script.faults) pcie().AddFault(fault);
    return true;
  }
  bool Make(const Traffic::Options& options, std::unique_ptr<Traffic>& traffic) {
    auto made = Traffic::Make(*system_, options, random_);
    if (made.traffic == nullptr) return Fail(made.error);
    traffic = std::move(made.traffic);
    return true;
  }

  // --- Traffic

  void RunTraffic() {
    Picoseconds progress = now();
    uint64_t before = 0;
    while (!victim_->IsDone() || !bystander_->IsDone() || host_fault_) {
      Step(*victim_, *bystander_);
      if (host_fault_) TryHostFault();
      uint64_t state = reported_[kNear] + reported_[kFar];
      for (const Traffic* traffic : {victim_.get(), bystander_.get()}) {
        state += traffic->arrived() + traffic->ended(kNear) + traffic->ended(kFar);
      }
      if (state != std::exchange(before, state)) progress = now();
      if (now() - progress > kStallTimeout) break;
    }
    if (host_fault_) AddViolation("the host fault was never injected");
    RunUntilIdle();
    victim_->Ignore(kNear, false);
    Harvest(*victim_, *bystander_);
  }
  // The time at which idleness is detected depends on the device; rounding it up makes what follows equal.
  void RunUntilIdle() {
    constexpr Picoseconds kGrid = 100 * kMicrosecond;
    if (!system_->topology().RunUntilQuiet(now() + kSecond)) AddViolation("the system does not become idle");
    system_->topology().RunFor(kGrid - now() % kGrid);
  }
  template <typename... Traffics>
  void Step(Traffics&... traffics) {
    for (size_t side = 0; side < 2; ++side) (traffics.Post(side), ...);
    system_->topology().RunFor(kStep);
    Harvest(traffics...);
  }
  template <typename... Traffics>
  void Harvest(Traffics&... traffics) {
    for (size_t side = 0; side < 2; ++side) {
      if (is_reset_ && side == kNear) continue;
      (traffics.Harvest(side), ...);
      TakeEvents(side);
    }
    if (!needs_reset_) return;
    system_->topology().RunFor(100 * kMicrosecond);  // its event may follow
    TakeEvents(kNear);
    needs_reset_ = false;
    ResetNear();
  }
  void TakeEvents(size_t side) {
    for (;;) {
      const auto event = system_->host(side).device().PollEvent();
      if (!event.ok()) return AddViolation(fmt::format("{}: {}", kSideNames.at(side), host::ToString(event.error())));
      if (!event->has_value()) return;
      if ((*event)->kind == host::DeviceEvent::Kind::kConfigChanged) continue;  // the port event is counted instead
      if ((*event)->kind != host::DeviceEvent::Kind::kRdma) {
        reports_.insert(fmt::format("{} event device_needs_reset", kSideNames.at(side)));
        ++reported_.at(side);
        if (!fault_.ends_all) AddViolation(fmt::format("{}: the device needs a reset", kSideNames.at(side)));
        if (side == kNear) needs_reset_ = true;
        continue;
      }
      const spec::RdmaEvent& rdma = (*event)->rdma;
      const char* type = spec::ToString(rdma.event_type);
      if (rdma.event_type == spec::RdmaEventType::kPortErr || rdma.event_type == spec::RdmaEventType::kPortActive) {
        // Port events are counted only: they end nothing, and their number depends on the link.
        ++port_events_.at(side);
        continue;
      }
      const std::string text = fmt::format("{} event {}{}", kSideNames.at(side), type == nullptr ? "?" : type,
                                           CodeText(rdma.event_type, rdma.code));
      ++reported_.at(side);
      bool is_known = fault_.ends_all;
      for (Traffic* traffic : {victim_.get(), bystander_.get()}) {
        if (!traffic->Owns(side, rdma)) continue;
        traffic->Stop(side, rdma);
        is_known = is_known || traffic == victim_.get();
      }
      if (transport_ == Transport::kNet && rdma.event_type == spec::RdmaEventType::kVqErr) is_known = true;
      if (!is_known) AddViolation(text + " of a connection that the fault does not target");
      reports_.insert(text);
    }
  }

  // --- Host faults

  void TryHostFault() {
    using Kind = HostFault::Kind;
    if (host_fault_->kind == Kind::kNoPoll) {
      victim_->Ignore(kNear, true);
      ++result_.injected;
      host_fault_.reset();
      return;
    }
    if (victim_->ended(kNear) < host_fault_->after) return;
    const bool is_of_ring = host_fault_->kind <= Kind::kIndexJump;
    if (is_of_ring && victim_->has_outstanding(kNear)) return victim_->Pause(kNear, true);
    const HostFault fault = *std::exchange(host_fault_, std::nullopt);
    const uint16_t index = victim_->SendQueue();
    host::VirtioNetDevice& net = near().device().net();
    result_.injected += std::max<uint64_t>(fault.amount, 1);
    if (fault.kind == Kind::kDoorbells) {
      for (uint64_t i = 0; i < fault.amount; ++i) (void)RingRawDoorbell(near(), index, random_());
    } else if (fault.kind == Kind::kQueueReset) {
      const host::Status reset = net.pci().ResetQueue(index, kResetTimeoutNs);
      if (!reset.ok()) AddViolation("reset of the queue: " + host::ToString(reset.error()));
    } else if (fault.kind == Kind::kFunctionReset) {
      ResetNear();
    } else if (fault.kind == Kind::kFlip) {
      near().FlipBit(spec::ContextRam::kDescFetchDescriptors, index, static_cast<uint32_t>(random_() % 1024));
    } else {
      CorruptRing(fault.kind, index);
      victim_->Pause(kNear, false);
    }
  }
  void ResetNear() {
    const host::Status reset = near().device().net().pci().Reset(kResetTimeoutNs);
    if (!reset.ok()) AddViolation("reset of the function: " + host::ToString(reset.error()));
    is_reset_ = true;
    victim_->End(kNear);
    bystander_->End(kNear);
  }
  // Makes a bad descriptor available in place of the driver's next one.
  void CorruptRing(HostFault::Kind kind, uint16_t index) {
    using Kind = HostFault::Kind;
    const auto ring = FindRing(near(), index);
    if (!ring) return AddViolation("there is no ring of the send queue");
    const auto [first, end] = BuffersIn(*ring);
    if (kind == Kind::kOversize || kind == Kind::kOutside) {
      const host::Status bounded = SetWindowAroundBuffers(near(), *ring);
      if (!bounded.ok()) return AddViolation("window: " + host::ToString(bounded.error()));
    }
    const RingPosition next = NextPosition(*ring);
    const uint64_t place = next.number % ring->size;
    RawDescriptor bad{first, static_cast<uint32_t>(end - first), next.flags, static_cast<uint16_t>(place)};
    if (kind == Kind::kLoop) bad.flags |= spec::VirtqDescFlags::kNext;
    if (kind == Kind::kZeroLength) bad.bytes = 0;
    if (kind == Kind::kOversize) bad.bytes = ~uint32_t{0};
    if (kind == Kind::kOutside) bad.address = first - bad.bytes;
    PutDescriptor(*ring, place, bad);
    Put16(AvailableEntry(*ring, next.number), place);
    PutAvailableIndex(*ring, next.number + (kind == Kind::kIndexJump ? ring->size + 1U : 1U));
    if (!RingRawDoorbell(near(), index)) return AddViolation("there is no doorbell of the send queue");
    system_->topology().RunFor(50 * kMicrosecond);
  }

  // --- Checks

  void Check() {
    const uint64_t wire = fault_.place == FaultPlace::kWire ? system_->topology().faults_out(kNear)->injected() +
                                                                  system_->topology().faults_out(kFar)->injected()
                                                            : 0;
    const uint64_t lost = fault_.place == FaultPlace::kWire ? system_->topology().wire(kNear).lost() : 0;
    result_.injected += wire + lost + pcie().counters().faulted_reads + pcie().counters().refused_writes;
    if (result_.injected == 0) AddViolation("the fault was never injected");
    const Account account = victim_->Check(outcome_, result_.injected, result_.violations);
    result_.recovered = account.recovered;
    result_.lost = account.lost;
    result_.hung = account.hung;

    std::vector<std::string> others;
    (void)bystander_->Check(fault_.ends_all ? outcome_ : Outcome{}, 0, others);
    for (const std::string& other : others) AddViolation("another connection: " + other);

    for (const Traffic* traffic : {victim_.get(), bystander_.get()}) {
      reports_.insert(traffic->statuses().begin(), traffic->statuses().end());
    }
    for (const std::string& report : reports_) result_.reports += report + "; ";
    if (!result_.reports.empty()) result_.reports.resize(result_.reports.size() - 2);
    if (result_.reports != outcome_.reports) {
      AddViolation(fmt::format("reports are '{}', expected '{}'", result_.reports, outcome_.reports));
    }

    CountAll(account);
    std::string_view names = fault_.counters;
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      for (const char* side : kSideNames) {
        const auto counter = result_.counters.find(fmt::format("{} {}", side, name));
        if (counter != result_.counters.end()) result_.detected += counter->second;
      }
    }
    if (result_.counters.contains("near port_events") !=
        (fault_.counters.find("port_events") != std::string_view::npos)) {
      AddViolation("port events differ from the catalogue");
    }
    if (!fault_.counters.empty() && result_.detected == 0) {
      AddViolation(fmt::format("not detected by any of the counters: {}", fault_.counters));
    }
  }
  void CountAll(const Account& account) {
    const auto put = [this](size_t side, std::string_view name, uint64_t value) {
      if (value != 0) result_.counters[fmt::format("{} {}", kSideNames.at(side), name)] += value;
    };
    for (size_t side = 0; side < 2; ++side) {
      if (is_reset_ && side == kNear) continue;  // the reset cleared its counters
      for (const Register& one : Registers()) put(side, one.name, Peek(side, one.offset));
      uint64_t naks = 0;
      for (const FrameLog::Entry& entry : logs_.at(side).entries()) {
        if (!entry.is_sent) continue;
        const auto syndrome = entry.syndrome();
        naks += syndrome && (static_cast<unsigned>(*syndrome) >> 5 & 3) == 3;  // [IBTA vol. 1, table 44]
      }
      put(side, "naks", naks);
      put(side, "mac_drops", system_->topology().station(side).mac().counters().oversize_drops);
    }
    for (size_t side = 0; side < 2; ++side) put(side, "reports", reported_.at(side) + victim_->failures(side));
    for (size_t side = 0; side < 2; ++side) put(side, "port_events", port_events_.at(side));
    put(kFar, "missing", account.missing);
    put(kFar, "repeated", account.repeated);
  }
  uint32_t Peek(size_t side, uint32_t offset) {
    RdmaHost& host = system_->host(side);
    const CoreClock& clock = host.station().clock();
    std::optional<uint32_t> answer;
    system_->scheduler().Call(clock.Begin(clock.AtOrAfter(now())), [&] {
      if (!host.firmware().is_sleeping()) return;
      host.firmware().Peek(offset, [&answer](uint32_t value) { answer = value; });
    });
    system_->topology().RunFor(kMicrosecond);
    if (!answer) AddViolation(fmt::format("{}: no response from register {:#x}", kSideNames.at(side), offset));
    return answer.value_or(0);
  }

  void TestNewConnections() {
    for (size_t i = 0; i < 2; ++i) {
      if (FaultInjector* injector = system_->topology().faults_out(i)) injector->Disarm();
    }
    pcie().ClearFaults();
    victim_.reset();
    bystander_.reset();
    if (is_reset_) {
      near().Close();
      const std::string error = near().Open();
      if (!error.empty()) return AddViolation("after the reset: " + error);
      is_reset_ = false;
    }
    if (transport_ == Transport::kNet && outcome_.ends()) {
      const host::Status restarted = near().device().net().RestartPair(0);
      if (!restarted.ok()) return AddViolation("restart of the net queues: " + host::ToString(restarted.error()));
    }
    for (const Transport transport : {transport_, Transport::kRc}) {
      if (!Make({.transport = transport, .messages = kFreshMessages}, victim_)) return;
      const Picoseconds deadline = now() + kStallTimeout;
      while (!victim_->IsDone() && now() < deadline) {
        for (size_t side = 0; side < 2; ++side) victim_->Post(side);
        system_->topology().RunFor(kStep);
        for (size_t side = 0; side < 2; ++side) victim_->Harvest(side);
      }
      RunUntilIdle();
      for (size_t side = 0; side < 2; ++side) victim_->Harvest(side);
      std::vector<std::string> violations;
      (void)victim_->Check({}, 0, violations);
      for (const std::string& violation : violations) AddViolation("afterwards: " + violation);
      victim_.reset();
    }
  }

  const Fault& fault_;
  const Transport transport_;
  const Outcome outcome_;
  const CaseOptions options_;
  std::mt19937_64 random_;
  std::array<FrameLog, 2> logs_;
  std::unique_ptr<RdmaSystem> system_;
  std::unique_ptr<Traffic> victim_, bystander_;
  std::optional<HostFault> host_fault_;  // not injected yet
  bool is_reset_ = false;                // the near device was reset and not opened since
  bool needs_reset_ = false;             // the near device has set DEVICE_NEEDS_RESET
  std::set<std::string> reports_;
  std::array<uint64_t, 2> reported_{};  // events by side, without port events
  std::array<uint64_t, 2> port_events_{};
  CaseResult result_;
};

}  // namespace

CaseResult RunCase(const Fault& fault, Transport transport, const CaseOptions& options) {
  return Case(fault, transport, options).Run();
}

}  // namespace vireo::sim
