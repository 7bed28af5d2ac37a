// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/monitor.h"

#include <algorithm>
#include <cstring>

namespace vireo::sim {
namespace {

using monitor::PacketRules;

constexpr uint8_t kLast = 0x80;                       // of the status of a DMA completion (EventKind)
constexpr uint64_t kRegionOwner = uint64_t{1} << 48;  // plus the region's index; below: queues

spec::RdmaKey KeyOf(uint32_t key) {
  const std::array<uint8_t, 4> bytes = {static_cast<uint8_t>(key), static_cast<uint8_t>(key >> 8),
                                        static_cast<uint8_t>(key >> 16), static_cast<uint8_t>(key >> 24)};
  return spec::RdmaKey::Decode(bytes.data());
}

// Of the peer.
bool HasRight(const spec::TableMr& region, PacketRules::Right right) {
  switch (right) {
    case PacketRules::Right::kWrite: return region.remote_write;
    case PacketRules::Right::kRead: return region.remote_read;
    case PacketRules::Right::kAtomic: return region.remote_atomic;
    case PacketRules::Right::kFlushGlobal: return region.flush_global;
    case PacketRules::Right::kFlushPersistent: return region.flush_persistent;
    case PacketRules::Right::kLocal: break;
  }
  return false;
}

bool IsSameMemory(const spec::TableMr& a, const spec::TableMr& b) {
  return a.dma == b.dma && a.page_shift == b.page_shift && a.first_translation == b.first_translation &&
         a.virt_addr == b.virt_addr && a.length == b.length;
}

// Others say nothing but that they are there.
bool IsJudged(EventKind kind) {
  switch (kind) {
    case EventKind::kConfigRead:
    case EventKind::kTransmitStart:
    case EventKind::kReceiveStart:
    case EventKind::kFirmwareInterrupt:
    case EventKind::kCredits:
    case EventKind::kLink: return false;
    default: return true;
  }
}

}  // namespace

Monitor::Monitor(uint16_t nic, uint32_t core_clock_khz)
    : findings_(nic), rings_(findings_, memory_, *this, core_clock_khz), packets_(findings_) {
  packets_.SetTranslate([this](uint32_t any_key, PacketRules::Right right, uint64_t address, uint64_t bytes,
                               PacketRules::Places& places) {
    const auto key = KeyOf(any_key);
    const auto found = regions_.find(key.index);
    if (found == regions_.end()) return false;
    const spec::TableMr& region = found->second;
    if (region.is_window) return false;  // which region it is bound to is not known for sure
    if (!region.valid || region.key != key.key || dying_.contains(any_key) || moved_.contains(key.index)) return false;
    if (right != PacketRules::Right::kLocal && !HasRight(region, right)) return false;
    return AddPlaces(region, address, bytes, places);
  });
  packets_.SetMayAccess([this](uint32_t qpn, uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address,
                               uint64_t bytes) {
    return MayAccess(rkey, pdn, right, address, bytes) || windows_.MayAccess(qpn, rkey, pdn, right, address, bytes) ||
           fast_regions_.MayAccess(rkey, pdn, right, address, bytes);
  });
  // Even numbers are those of binds.
  packets_.SetBinding(
      {.begins = [this](uint32_t qpn, uint16_t pdn,
                        const spec::RdmaSqReqBind& bind) { return 2 * windows_.OnBind(qpn, pdn, bind); },
       .registers =
           [this](uint16_t pdn, const monitor::SendWork& work) {
             return 2 * fast_regions_.OnRegister(pdn, work.reg, work.data) + 1;
           },
       .ends =
           [this](uint64_t number) {
             if (number % 2 == 0) return windows_.OnBound(number / 2);
             fast_regions_.OnRegistered(number / 2);
           }});
  packets_.SetInvalidation({.may_begin =
                                [this](uint32_t qpn, uint32_t any_key, uint16_t pdn) {
                                  if (windows_.MayInvalidate(qpn, any_key, pdn)) return true;
                                  if (fast_regions_.MayInvalidate(any_key, pdn)) return true;
                                  const auto key = KeyOf(any_key);
                                  const auto found = regions_.find(key.index);
                                  if (found == regions_.end()) return false;
                                  const spec::TableMr& region = found->second;
                                  return region.valid && region.key == key.key && region.pdn == pdn &&
                                         region.invalidatable;
                                },
                            .begins =
                                [this](uint32_t key) {
                                  dying_.insert(key);
                                  windows_.OnInvalidate(key);
                                  fast_regions_.OnInvalidate(key);
                                },
                            .ends =
                                [this](uint32_t key) {
                                  EndRegion(key);
                                  windows_.OnInvalidated(key);
                                  fast_regions_.OnInvalidated(key);
                                }});
}

// [IBTA 10.6] A completion vouches for it: what was begun has ended, too.
void Monitor::EndRegion(uint32_t any_key) {
  const auto key = KeyOf(any_key);
  dying_.erase(any_key);
  const auto found = regions_.find(key.index);
  if (found == regions_.end() || !found->second.valid || found->second.key != key.key) return;
  if (found->second.is_window) return;  // only what it was bound to ends
  found->second.valid = false;
  auto& pieces = pieces_[key.index];
  for (const Piece& piece : pieces) memory_.Remove(piece.owner, piece.address, piece.bytes);
  pieces.clear();
}

// [IBTA 10.6.3]
bool Monitor::MayAccess(uint32_t rkey, uint16_t pdn, PacketRules::Right right, uint64_t address, uint64_t bytes) const {
  const auto key = KeyOf(rkey);
  const auto allows = [&](const spec::TableMr& region) {
    if (!region.valid || region.is_window || region.key != key.key || region.pdn != pdn) return false;
    if (!HasRight(region, right)) return false;
    const uint64_t offset = address - region.virt_addr;
    return region.dma || (address >= region.virt_addr && offset <= region.length && bytes <= region.length - offset);
  };
  const auto found = regions_.find(key.index);
  if (found != regions_.end() && allows(found->second)) return true;
  return std::ranges::any_of(removed_regions_,
                             [&](const auto& entry) { return entry.first == key.index && allows(entry.second); });
}

void Monitor::OnEvent(const BoundaryEvent& event) {
  latest_ = event.cycle;
  if (is_idle_) [[unlikely]]
    return OnEventOfIdle(event);
  if (IsJudged(event.kind)) Keep(event);
}

// Every event before it has been judged.
void Monitor::OnEventOfIdle(const BoundaryEvent& event) {
  CheckSilence(event);
  if (IsJudged(event.kind)) Keep(event);
}

inline void Monitor::Keep(const BoundaryEvent& event) {
  const size_t bytes = event.payload.size();
  if (event_count_ == kMostEvents || bytes > kMostBytes - payload_bytes_ || bytes > kLong) [[unlikely]] {
    return JudgeAndKeep(event);
  }
  BoundaryEvent& kept = events_[event_count_++];
  kept = event;
  if (bytes == 0) return;
  uint8_t* const at = payload_.data() + payload_bytes_;
  kept.payload = {at, bytes};
  payload_bytes_ += bytes;
  std::memcpy(at, event.payload.data(), bytes);
}

void Monitor::JudgeAndKeep(const BoundaryEvent& event) {
  JudgeKept();
  if (event.payload.size() > kLong) return Judge(event);
  Keep(event);
}

void Monitor::JudgeKept() {
  for (const BoundaryEvent& event : std::span(events_).first(event_count_)) Judge(event);
  event_count_ = payload_bytes_ = 0;
  rings_.SetCycle(latest_);
}

void Monitor::Judge(const BoundaryEvent& event) {
  rings_.SetCycle(event.cycle);
  switch (event.kind) {
    case EventKind::kReset: return OnReset();
    case EventKind::kConfigWrite: return rings_.OnConfigWrite(event);
    case EventKind::kBarRead: ++bar_reads_; return rings_.OnBarRead(event);
    case EventKind::kBarWrite: return rings_.OnBarWrite(event);
    case EventKind::kBarCompletion: {
      if (bar_reads_ != 0) --bar_reads_;
      uint64_t value = 0;
      for (size_t i = 0; i < event.payload.size(); ++i) value |= uint64_t{event.payload[i]} << 8 * i;
      return rings_.OnBarCompletion(value);
    }
    case EventKind::kDmaRead:
      if (reading_.size() <= event.id) reading_.resize(size_t{event.id} + 1);
      if (std::exchange(reading_[event.id], event.bytes) == 0) ++reads_;
      if (!rings_.OnDmaRead(event)) CheckAccess(event, "read");
      return;
    case EventKind::kDmaCompletion:
      if ((event.status & kLast) != 0 && event.id < reading_.size())
        reads_ -= std::exchange(reading_[event.id], 0) != 0;
      if ((event.status & 0x7f) != static_cast<int>(DmaStatus::kOk)) has_bus_errors_ = true;
      return rings_.OnDmaCompletion(event);
    case EventKind::kDmaRefusal:  // of the last one (nic.h)
      has_bus_errors_ = true;
      return rings_.OnDmaRefusal(written_);
    case EventKind::kDmaWrite: {
      written_ = event.address;
      // Before the ring's picture changes: a write that returns a buffer is not a write to it.
      const bool is_of_queue = rings_.OnDmaWrite(event);
      if (!is_of_queue) CheckAccess(event, "write");
      return packets_.OnDmaWrite(event.cycle, event.address, event.payload, is_of_queue);
    }
    case EventKind::kMsix: return rings_.OnMsix(event.cycle, static_cast<uint16_t>(event.id));
    case EventKind::kTransmitEnd: return packets_.OnTransmit(event.cycle, event.payload);
    case EventKind::kReceiveEnd:
      if (event.status == 0) packets_.OnReceive(event.payload);
      return;
    case EventKind::kCsrWrite: return OnCsrWrite(event);
    case EventKind::kCsrRead:
      csr_read_ = event.address;
      table_window_.OnEvent(event);
      // The device looks at itself when the read arrives.
      if (event.address == spec::kMgmtStatusRegister) read_owed_ = OwedAnswer();
      return;
    case EventKind::kCsrCompletion: return OnCsrAnswer(event);
    default: return;
  }
}

// --- Idle

void Monitor::CheckSilence(const BoundaryEvent& event) {
  switch (event.kind) {
    case EventKind::kConfigRead: return;  // has no effect
    case EventKind::kBarCompletion:
    case EventKind::kDmaRead:
    case EventKind::kDmaWrite:
    case EventKind::kMsix:
    case EventKind::kTransmitStart:
    case EventKind::kCsrCompletion:
    case EventKind::kFirmwareInterrupt:
      if (event.cycle >= idle_until_) break;  // it woke
      findings_.Add(monitor::kIdleSilent, event.cycle, std::string(ToString(event.kind)) + " of a device that is idle",
                    idle_until_ == kNever ? "nothing before the next input"
                                          : "nothing before the next input or cycle " + std::to_string(idle_until_));
      break;
    default: break;
  }
  is_idle_ = false;
}

std::string Monitor::OwedAnswer() const {
  if (reads_ != 0) return std::to_string(reads_) + " DMA reads that are not answered";
  return has_bus_errors_ ? "" : rings_.Unfinished();
}

void Monitor::CheckIdle(Cycle cycle, const char* who, const std::string& owed) {
  if (!owed.empty() && owed != reported_) [[unlikely]]
    findings_.Add(monitor::kIdleOwed, cycle, who + owed, "work until it is done");
  reported_ = owed;
}

void Monitor::OnIdle(Cycle cycle, Cycle deadline) {
  JudgeKept();
  is_idle_ = true;
  idle_until_ = deadline;
  std::string owed = OwedAnswer();
  if (owed.empty() && bar_reads_ != 0) owed = std::to_string(bar_reads_) + " BAR reads that are not answered";
  if (owed.empty() && csr_read_.has_value()) owed = "a CSR read that is not answered";
  // An error of the bus ends what it hits in ways that are not known here.
  if (owed.empty() && works_ && !has_bus_errors_) owed = rings_.Owed(deadline);
  if (owed.empty() && works_ && !has_bus_errors_) owed = packets_.Owed(deadline, rings_);
  CheckIdle(cycle, "idle with ", owed);
}

void Monitor::OnCsrAnswer(const BoundaryEvent& event) {
  const auto read = std::exchange(csr_read_, {});
  table_window_.OnEvent(event);
  if (read != spec::kMgmtStatusRegister || event.payload.size() < 4) return;
  if (spec::MgmtStatus::Decode(event.payload.data()).idle) CheckIdle(event.cycle, "status.idle with ", read_owed_);
}

void Monitor::OnReset() {
  has_bus_errors_ = works_ = false;
  reported_.clear();
  reading_.clear();
  reads_ = bar_reads_ = 0;
  csr_read_.reset();
  rings_.OnReset();
  packets_.OnReset();
  memory_.Clear();
  table_window_ = {};
  translations_.clear();
  regions_.clear();
  moved_.clear();
  pieces_.clear();
  removed_.clear();
  removed_regions_.clear();
  dying_.clear();
  windows_.Clear();
  fast_regions_.Clear();
}

void Monitor::CheckAccess(const BoundaryEvent& event, const char* what) {
  if (memory_.Contains(event.address, event.bytes)) [[likely]]
    return;
  if (fast_regions_.Contains(event.address, event.bytes)) return;
  findings_.Add(
      monitor::kAccess, event.cycle,
      std::string("DMA ") + what + " of " + std::to_string(event.bytes) + " bytes at " + monitor::Hex(event.address),
      "an address in a ring, in a buffer that is available, or in a registered region");
}

// --- Firmware

void Monitor::OnCsrWrite(const BoundaryEvent& event) {
  if (event.address == spec::kMgmtAbiProfileRegister) {
    const bool is_vireo = spec::MgmtAbiProfile::Decode(event.payload.data()).profile;
    rings_.SetProfile(is_vireo ? spec::Profile::kVireo : spec::Profile::kRfcV2);
  } else if (event.address == spec::kMgmtControlRegister) {
    const auto control = spec::MgmtControl::Decode(event.payload.data());
    works_ = control.datapath_enable && !control.pause;
  } else if (const auto write = table_window_.OnEvent(event)) {
    WriteTable(*write);
  }
}

// Earlier accesses may still be in flight: firmware waits for them before it answers.
void Monitor::OnAnswer() {
  for (const Piece& piece : removed_) memory_.Remove(piece.owner, piece.address, piece.bytes);
  for (const auto& [index, region] : removed_regions_) {
    if (const auto now = regions_.find(index); region.is_window && (now == regions_.end() || !now->second.valid)) {
      windows_.OnDeallocated(index);
    }
    if (region.is_fast) fast_regions_.OnDeallocated(index);
  }
  removed_.clear();
  removed_regions_.clear();
  packets_.OnAnswer();
}

void Monitor::WriteTable(const TableWindow::Write& write) {
  const uint8_t* const entry = write.entry;
  switch (write.table) {
    case spec::MgmtTable::kVirtqueue:
      return rings_.SetRow(static_cast<uint16_t>(std::min<uint32_t>(write.index, 0xffff)),
                           spec::TableVirtqueue::Decode(entry));
    case spec::MgmtTable::kWindow:
      return rings_.SetWindow(static_cast<uint16_t>(std::min<uint32_t>(write.index, 0xffff)),
                              spec::TableWindow::Decode(entry));
    case spec::MgmtTable::kQpContext: {
      const auto context = spec::TableQpContext::Decode(entry);
      rings_.SetShared(write.index, context.is_srq);
      return packets_.SetQp(write.index, context);
    }
    case spec::MgmtTable::kCqContext: {
      const auto cq = spec::TableCqContext::Decode(entry);
      rings_.SetCq(cq);
      if (cq.set_solicited || cq.set_next_completion) {
        rings_.OnArm(cq.vq_index, cq.set_solicited, cq.set_next_completion);
      }
      return;
    }
    case spec::MgmtTable::kMcast: return packets_.SetAttachment(write.index, spec::TableMcast::Decode(entry));
    case spec::MgmtTable::kMr: return SetRegion(write.index, spec::TableMr::Decode(entry));
    case spec::MgmtTable::kTranslation:
      translations_[write.index] = spec::TableTranslation::Decode(entry).address;
      return;
    default: return;
  }
}

void Monitor::SetRegion(uint32_t index, const spec::TableMr& region) {
  auto& pieces = pieces_[index];
  removed_.insert(removed_.end(), pieces.begin(), pieces.end());
  pieces.clear();
  const auto found = regions_.find(index);
  const spec::TableMr before = found != regions_.end() ? found->second : spec::TableMr{};
  if (before.valid || before.is_fast) removed_regions_.emplace_back(index, before);
  regions_[index] = region;
  // By the same key, packets that are under way use the region of before or the new one: which one is not known.
  const bool is_same_key = before.valid && region.valid && before.key == region.key;
  const bool moves = is_same_key && !IsSameMemory(before, region);
  if (moves) moved_.insert(index);
  if (!is_same_key) moved_.erase(index);
  if (is_same_key) packets_.OnRegionChange(moves);
  if (!region.valid || region.is_window) return;
  const uint64_t owner = kRegionOwner + index;
  const auto add = [&](uint64_t address, uint64_t bytes) {
    pieces.push_back({owner, address, bytes});
    memory_.Add(owner, address, bytes);
  };
  if (region.dma) return add(0, ~uint64_t{0});
  PacketRules::Places places;
  if (!AddPlaces(region, region.virt_addr, region.length, places)) return;
  for (const auto& [address, bytes] : places) add(address, bytes);
}

bool Monitor::AddPlaces(const spec::TableMr& region, uint64_t address, uint64_t bytes,
                        PacketRules::Places& places) const {
  if (region.dma) {
    places.emplace_back(address, static_cast<uint32_t>(bytes));
    return true;
  }
  const uint64_t offset = address - region.virt_addr;
  if (address < region.virt_addr || offset > region.length || bytes > region.length - offset) return false;
  if (region.page_shift >= 64) return false;
  const uint64_t page_bytes = uint64_t{1} << region.page_shift;
  uint64_t at = (region.virt_addr & (page_bytes - 1)) + offset;  // from the start of the region's first page
  while (bytes != 0) {
    const uint64_t page = at >> region.page_shift, in_page = at & (page_bytes - 1);
    const auto found = translations_.find(static_cast<uint32_t>(region.first_translation + page));
    if (page >= region.npages || found == translations_.end()) return false;
    const uint64_t part = std::min({bytes, page_bytes - in_page, uint64_t{1} << 31});
    const uint64_t place = found->second + in_page;
    // Adjacent pages are one place, so that a large region has few.
    if (!places.empty() && places.back().first + places.back().second == place &&
        places.back().second + part < uint64_t{1} << 32) {
      places.back().second += static_cast<uint32_t>(part);
    } else {
      places.emplace_back(place, static_cast<uint32_t>(part));
    }
    at += part;
    bytes -= part;
  }
  return true;
}

}  // namespace vireo::sim
