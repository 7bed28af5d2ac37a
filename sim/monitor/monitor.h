// SPDX-License-Identifier: Apache-2.0
// An independent judge of one NIC: watches every event at its seam, keeps its own picture of queues, regions and queue
// pairs, and reports what breaks a rule of the standards or of the contract (docs/monitor.md). It shares no code with
// model or RTL and knows nothing of cycles, blocks or internal state, so a fault that both have is no secret from it.
//
// Events are kept and judged some at a time: between two of one device the caches are full of something else, and most
// of the cost of judging one alone is to fetch code and data again.
//
// It must watch from the first reset on. It never acts: a violation is a text in violations(), in time order. Not
// judged: configuration space, cycles, and what docs/monitor.md lists as gaps. The fault of a host (a ring that changes
// while the device reads it) is not a violation of the NIC.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/monitor/extent_map.h"
#include "sim/monitor/fast_regions.h"
#include "sim/monitor/findings.h"
#include "sim/monitor/memory_windows.h"
#include "sim/monitor/packet_rules.h"
#include "sim/monitor/ring_rules.h"
#include "sim/nic/nic.h"
#include "sim/nic/table_window.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class Monitor final : public EventSink, private monitor::RingRules::Listener {
 public:
  // `core_clock_khz`: of the NIC, for times that it tells.
  Monitor(uint16_t nic, uint32_t core_clock_khz);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  void OnEvent(const BoundaryEvent& event) override;
  void OnIdle(Cycle cycle, Cycle deadline) override;
  // The first monitor::Findings::kMax. Call it when the NIC has come to rest: what must have followed by then counts
  // too.
  const std::vector<std::string>& Violations() {
    JudgeKept();
    packets_.Finish();
    rings_.Finish();
    return findings_.list();
  }

 private:
  void OnNetTransmit() override { packets_.OnNetTransmit(); }
  void OnSendWork(uint32_t qpn, std::optional<monitor::SendWork> work) override {
    packets_.OnSendWork(qpn, std::move(work));
  }
  void OnSendUsed(uint32_t qpn, const std::optional<monitor::SendHead>& work) override {
    packets_.OnSendUsed(qpn, work);
  }
  bool OnCqe(Cycle cycle, const spec::RdmaCqReq& cqe) override { return packets_.OnCqe(cycle, cqe); }

  void OnReceiveUsed(uint32_t qpn, std::shared_ptr<std::vector<uint8_t>> tail) override {
    packets_.OnReceiveUsed(qpn, std::move(tail));
  }
  void OnOtherRead(const BoundaryEvent& completion) override { packets_.OnOtherRead(completion); }

  void OnAnswer() override;
  void OnQpFatal(uint32_t qpn) override { packets_.OnQpFatal(qpn); }
  bool MustSend(uint32_t qpn, Cycle deadline) override { return packets_.MustSend(qpn, deadline, rings_); }

  void OnEventOfIdle(const BoundaryEvent& event);
  void Keep(const BoundaryEvent& event);
  void JudgeAndKeep(const BoundaryEvent& event);
  void Judge(const BoundaryEvent& event);
  void JudgeKept();
  void OnReset();
  void CheckSilence(const BoundaryEvent& event);
  void CheckIdle(Cycle cycle, const char* who, const std::string& owed);
  void OnCsrAnswer(const BoundaryEvent& event);
  void OnCsrWrite(const BoundaryEvent& event);
  // What was asked for and is not answered; empty: nothing.
  std::string OwedAnswer() const;
  void WriteTable(const TableWindow::Write& write);
  void SetRegion(uint32_t index, const spec::TableMr& region);
  void EndRegion(uint32_t any_key);  // by an invalidate
  void CheckAccess(const BoundaryEvent& event, const char* what);
  bool MayAccess(uint32_t rkey, uint16_t pdn, monitor::PacketRules::Right right, uint64_t address,
                 uint64_t bytes) const;
  // Adds the parts of a region's bytes in memory. False: it does not have them all.
  bool AddPlaces(const spec::TableMr& region, uint64_t address, uint64_t bytes,
                 monitor::PacketRules::Places& places) const;

  // Events that are not judged yet, in time order, and their payload: a part of the first cache.
  static constexpr size_t kMostEvents = 128, kMostBytes = 16384;
  static constexpr size_t kLong = 512;  // a longer payload is judged where it is: that costs less than a copy
  std::array<BoundaryEvent, kMostEvents> events_;
  std::array<uint8_t, kMostBytes> payload_;
  size_t event_count_ = 0, payload_bytes_ = 0;
  Cycle latest_ = 0;  // of any event

  monitor::Findings findings_;
  monitor::ExtentMap memory_;  // what the device may access, besides rings
  monitor::RingRules rings_;
  monitor::PacketRules packets_;
  // Whether the device has said that it is idle, until when, and what was owed then at the last report.
  bool is_idle_ = false;
  Cycle idle_until_ = 0;
  std::string reported_;
  uint64_t written_ = 0;              // address of the last DMA write
  std::vector<uint32_t> reading_;     // bytes asked for, by the tag of a DMA read; 0: none
  size_t reads_ = 0, bar_reads_ = 0;  // not answered
  bool has_bus_errors_ = false;       // since the reset
  bool works_ = false;                // the datapath is enabled, and not paused
  std::optional<uint64_t> csr_read_;  // offset of one that is not answered
  std::string read_owed_;             // what was owed when the status register was read
  // Management tables.
  TableWindow table_window_;
  std::unordered_map<uint32_t, uint64_t> translations_;
  std::unordered_map<uint32_t, spec::TableMr> regions_;
  std::unordered_set<uint32_t> moved_;  // whose key has meant other memory before
  std::unordered_set<uint32_t> dying_;  // keys that somebody is invalidating: valid or not
  const spec::TableMr* FindRegion(uint32_t index) const {
    const auto found = regions_.find(index);
    return found == regions_.end() ? nullptr : &found->second;
  }
  monitor::MemoryWindows windows_{[this](uint32_t index) { return FindRegion(index); }};
  monitor::FastRegions fast_regions_{[this](uint32_t index) { return FindRegion(index); }};
  struct Piece {
    uint64_t owner = 0, address = 0, bytes = 0;
  };
  std::unordered_map<uint32_t, std::vector<Piece>> pieces_;  // by region
  std::vector<Piece> removed_;  // by a command that is not answered yet: accesses end with the answer
  std::vector<std::pair<uint32_t, spec::TableMr>> removed_regions_;  // likewise
};

}  // namespace vireo::sim
