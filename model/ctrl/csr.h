// SPDX-License-Identifier: Apache-2.0
// The management registers: firmware's only access to the device. One access per cycle is always accepted; reads are
// answered in order after kReadLatency cycles, writes take effect before every later access is evaluated. It broadcasts
// every write of a table entry to all blocks, and keeps the words of it that firmware reads; it does not interpret the
// entries except for the fields that it must complete.
//
// Counterpart of rtl/ctrl/vireo_csr.sv and vireo_table_command.sv; docs/blocks/csr.md has the latencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "model/ctrl/context_store.h"
#include "model/ctrl/mailbox.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Levels that firmware sets.
struct CsrSettings {
  bool firmware_ready = false;
  bool profile = true;
  bool link_up = false;
  bool announce = false;
  bool datapath_enable = false;
  bool pause = false;
  bool needs_reset = false;
  uint64_t mac = 0;  // byte 0 in bits 7:0
  uint16_t mtu = 0;
  spec::MgmtRxMode rx_mode{};
  uint16_t active_pairs = 0;
  friend bool operator==(const CsrSettings&, const CsrSettings&) = default;
};

class Csr final : public Block {
 public:
  static constexpr Cycle kReadLatency = 3;
  // A read returns the state kAnswerLatency cycles after it.
  static constexpr Cycle kAnswerLatency = 2;
  // From a write of table_command to the pulse, and to the first cycle that is not busy: if rejected, and else without
  // loads, to which comes a cycle per word: of a read WordsRead, of a write or clear ContextStore::KeptWords.
  static constexpr Cycle kTableWriteLatency = 3;
  static constexpr Cycle kCqContextReadyLatency = 1;  // of a table write that waited for it
  static constexpr Cycle kTableLatency = 4;
  static constexpr Cycle kTableErrorLatency = 3;
  // A write or clear of a memory region or a virtqueue: until accesses that started with the old entry have ended;
  // without a fence, this long, likewise.
  static constexpr Cycle kFencedLatency = 5;
  // From a write of qp_command and event_push to their tokens.
  static constexpr Cycle kQpOrderLatency = 2;
  static constexpr Cycle kEventLatency = 3;
  // From the pulse of a parity error to settings that request a reset and pause.
  static constexpr Cycle kParityLatency = 2;
  // Events waiting for QP control: with as many, event_full is 1 and further ones are lost.
  static constexpr size_t kEventDepth = 16;

  // Words of table_data that a read fills: the entry's kept ones, and of its second group.
  static size_t WordsRead(spec::MgmtTable table, uint32_t index);

  // After a reset RTL's tables clear themselves if an entry was written since power-on. Until this cycle writes and
  // clears of entries wait.
  static Cycle SweepCycles(const spec::Config& config);

  // `is_used`: is_used() of the device before its reset; false at power-on.
  Csr(Agenda& agenda, const spec::Config& config, bool is_used = false);

  Channel<spec::Doorbell> queue_reset_in = Channel<spec::Doorbell>::Slice();
  Output<spec::QpLoad> requester_load_out;
  Output<spec::QpLoad> responder_load_out;
  Output<spec::QpOrder> qp_order_out;
  Output<spec::HostEvent> host_event_out;

  // --- The management port
  void OnAccess(Cycle now, bool write, uint16_t address, uint32_t data);
  std::function<void(Cycle, uint32_t data)> on_read = [](Cycle, uint32_t) {};  // in the cycle of the response

  // --- Broadcast outputs, in the cycle of the pulse
  std::function<void(Cycle, const spec::TableWrite&)> on_table_write = [](Cycle, const spec::TableWrite&) {};
  std::function<void(Cycle, const spec::ContextFlip&)> on_context_flip = [](Cycle, const spec::ContextFlip&) {};
  std::function<void(Cycle)> on_reset_done = [](Cycle) {};
  std::function<void(Cycle, uint16_t)> on_queue_reset_done = [](Cycle, uint16_t) {};
  std::function<void(Cycle, uint32_t)> on_mailbox_fetch = [](Cycle, uint32_t) {};
  std::function<void(Cycle, uint32_t)> on_mailbox_complete = [](Cycle, uint32_t) {};
  std::function<void(Cycle, uint32_t word, uint32_t data)> on_window_write = [](Cycle, uint32_t, uint32_t) {};
  std::function<uint32_t(Cycle, uint32_t word)> read_window = [](Cycle, uint32_t) { return 0u; };
  // Levels, when they change: reported in the cycle before `from`.
  std::function<void(Cycle from, const CsrSettings&)> on_settings = [](Cycle, const CsrSettings&) {};
  std::function<void(Cycle from, bool)> on_firmware_interrupt = [](Cycle, bool) {};
  const CsrSettings& SettingsAt(Cycle now) { return settings_.At(now); }
  bool FirmwareInterruptAt(Cycle now) { return interrupt_.At(now); }

  // --- Inputs: pulses
  void OnDeviceReset(Cycle now) { RecordPulse(now, kDeviceReset); }
  void OnFeaturesWritten(Cycle now) { RecordPulse(now, kFeaturesWritten); }
  void OnDriverOk(Cycle now) { RecordPulse(now, kDriverOk); }
  void OnQpDone(Cycle now, const spec::QpDone& done) { RecordPulse(now, done.is_drain ? kDrainDone : kQpDone); }
  void OnParityError(Cycle at) {
    RecordPulse(at, kParityError);
  }  // from a block with contexts; `at` is not in the past
  void OnMailboxStatus(Cycle now, const MailboxStatus& status);  // in the first cycle of a new status
  void OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& state);
  void OnQpSends(Cycle now, const spec::QpSends& sends);
  void OnNextPsn(Cycle now, const spec::QpPsn& psn) { next_psn_.Write(now, psn.qpn, psn.psn); }
  void OnMrBinding(Cycle at, const spec::MrBinding& binding);
  void OnExpectedPsn(Cycle now, const spec::QpPsn& psn) { expected_psn_.Write(now, psn.qpn, psn.psn); }
  void OnRxVerdict(Cycle now, spec::RxVerdict verdict) { Count(now, static_cast<size_t>(verdict)); }
  void OnTxFrame(Cycle now) { Count(now, kTxFrames); }
  void OnRxDrop(Cycle now) { Count(now, kRxDrops); }
  void OnRetransmission(Cycle now) { Count(now, kRetransmissions); }
  void OnDmaError(Cycle now) { Count(now, kDmaErrors); }  // from each source
  void OnWindowViolation(Cycle now) { Count(now, kWindowViolations); }
  void OnNetRxFiltered(Cycle now) { Count(now, kNetRxFiltered); }
  void OnNetRxDrop(Cycle now) { Count(now, kNetRxDrops); }  // from each source
  void OnNetTxDrop(Cycle now) { Count(now, kNetTxDrops); }  // from each source

  // --- Inputs: levels, effective from a cycle that has not run yet
  void SetDeviceStatus(Cycle from, uint8_t status) { device_status_.Set(from, status); }
  void SetDriverFeatures(Cycle from, const std::array<uint32_t, 4>& features) { features_.Set(from, features); }
  void SetMacLink(Cycle from, bool link);
  // Sampled in OnAccess, so in the cycle of the access, before the blocks of that cycle run.
  std::function<bool()> idle = [] { return true; };
  // memory_fence_i, queue_fence_i.
  std::function<bool(Cycle)> memory_fence = [](Cycle) { return false; };
  std::function<bool(Cycle)> queue_fence = [](Cycle) { return false; };
  std::function<bool()> quiet = [] { return true; };
  std::function<uint16_t(Cycle now)> dma_outstanding = [](Cycle) { return uint16_t{0}; };
  // Whether the CQ writer accepts a cq_context in the next cycle; sampled while such a write waits.
  std::function<bool(Cycle now)> cq_context_ready = [](Cycle) { return true; };
  std::function<uint64_t(Cycle)> time_ns = [](Cycle) { return uint64_t{0}; };

  bool is_used() const { return is_used_; }  // an entry was written since power-on

  void Run(Cycle now) override;
  // idle_o in the next cycle, when all blocks of cycle `now` have run.
  bool IsIdle(Cycle now) {
    ApplyPulses(now + 1);
    // A drain in progress may wait for a peer, which does not count as work.
    const bool works = qp_busy_ && (order_ || command_.operation != spec::QpOperation::kDrain);
    return now + 1 >= cleared_ && state_ == State::kIdle && !works && !events_.CanPop(now + 1) &&
           !queue_reset_in.CanPop(now + 1);
  }

 private:
  enum class State { kIdle, kCheck, kRead, kWrite, kStore, kFence, kLoad };
  enum PulseKind { kDeviceReset, kFeaturesWritten, kDriverOk, kQpDone, kDrainDone, kLinkChange, kParityError };
  enum Counter : size_t {
    kVerdicts = 16,  // rx_verdict_count comes first
    kTxFrames = kVerdicts,
    kRxDrops,
    kRetransmissions,
    kDmaErrors,
    kWindowViolations,
    kNetRxFiltered,
    kNetRxDrops,
    kNetTxDrops,
    kCounters
  };
  struct Access {
    Cycle cycle;
    bool write;
    uint16_t address;
    uint32_t data;  // written, looked up, read
    bool idle;
    bool quiet;
    uint16_t dma_outstanding;
  };
  void RecordPulse(Cycle now, PulseKind kind);
  void Count(Cycle now, size_t counter);
  void ApplyPulses(Cycle now);
  void UpdateCounters(Cycle now);
  uint32_t Answer(Cycle now, const Access& access);
  void Write(Cycle now, const Access& access, State state);
  bool TakeQueueReset(Cycle now);
  void RunTableCommand(Cycle now);
  bool LookUp(Cycle now);
  void ReadWord(Cycle now);
  void WriteEntry(Cycle now);
  void StoreWord(Cycle now);
  State AfterWrite() const;
  void Flip(Cycle now, const spec::ContextFlip& flip);

  const spec::Config config_;
  std::deque<Access> accesses_;  // of the last three cycles
  std::vector<std::pair<Cycle, PulseKind>> recorded_;
  std::optional<std::pair<Cycle, MailboxStatus>> new_mailbox_;
  MailboxStatus mailbox_;
  Level<uint8_t> device_status_;
  Level<std::array<uint32_t, 4>> features_;
  Level<bool> mac_link_;
  bool last_link_ = false;

  // Registers.
  bool profile_;
  uint32_t scratch_ = 0;
  spec::MgmtControl control_;
  uint32_t cause_ = 0;
  uint32_t enable_ = 0;
  spec::FatalCause fatal_{};
  uint32_t mac_low_ = 0;
  uint16_t mac_high_ = 0;
  uint16_t mtu_;
  uint16_t active_pairs_;
  spec::MgmtRxMode rx_mode_;
  uint32_t time_high_ = 0;
  bool announced_ = false;                    // the waiting queue reset is reported
  bool reset_done_ = false;                   // pulse of the next cycle
  std::optional<uint16_t> queue_reset_done_;  // likewise
  bool changed_ = false;                      // a setting changed in the current cycle

  std::array<uint32_t, kCounters> counters_{};
  struct Pulse {
    Cycle cycle;
    size_t counter;
  };
  std::vector<Pulse> counts_;

  bool qp_busy_ = false;
  bool order_ = false;
  spec::QpOrder command_;

  std::array<uint32_t, 4> event_data_{};
  Channel<spec::HostEvent> events_ = Channel<spec::HostEvent>::Fifo(kEventDepth);

  // Tables.
  ContextStore store_;
  const std::function<void(Cycle)> on_own_error_ = [this](Cycle) { corrupt_ = true; };
  ContextTable<uint8_t> enabled_;  // of virtqueues
  ContextTable<spec::IbQpState> engine_state_;
  Table<uint16_t> send_outstanding_;
  Table<uint32_t> next_psn_;
  Table<uint32_t> expected_psn_;
  ContextTable<spec::TableMr> bindings_;  // second group of mr
  bool is_used_;
  Cycle cleared_;  // the first cycle in which all tables are
  State state_ = State::kIdle;
  spec::MgmtTableCommand table_command_;
  bool error_ = false;
  uint32_t index_ = 0;        // of the operation
  uint32_t table_index_ = 0;  // the register
  spec::MgmtFlipEntry flip_entry_;
  static constexpr size_t kTableBytes = 128;
  std::array<uint8_t, kTableBytes> table_data_{};
  // The operation in progress: steps of kRead or kStore, address in the store, something that was read is corrupt, the
  // second group.
  size_t word_ = 0;
  size_t address_ = 0;
  bool corrupt_ = false;
  std::array<uint8_t, kTableBytes> second_{};
  std::optional<spec::QpLoad> requester_load_, responder_load_;

  CsrSettings last_settings_;
  Level<CsrSettings> settings_;
  bool last_interrupt_ = false;
  Level<bool> interrupt_;
};

}  // namespace vireo::model
