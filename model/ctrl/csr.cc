// SPDX-License-Identifier: Apache-2.0
#include "model/ctrl/csr.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "model/virtio/queue_count.h"
#include "spec/gen/vireo_config.h"

namespace vireo::model {

using spec::ContextRam;
using spec::MgmtTable;

namespace {

constexpr uint32_t kWordBytes = sizeof(uint32_t);
constexpr uint32_t kFlipBitMask = 0x3ff;  // of context_flip.bit_index
constexpr size_t kTableWordBytes = sizeof(uint64_t);
// The second groups begin behind the words that are kept. Last word of a QP's that is read.
constexpr size_t kLastQpWord = spec::TableQpContext::kExpectedPsnOffset / kTableWordBytes;

bool IsFenced(MgmtTable table) { return table == MgmtTable::kMr || table == MgmtTable::kVirtqueue; }

constexpr const spec::RegisterInfo* InfoOf(uint32_t address) {
  for (const auto& info : spec::kMgmtRegisters) {
    if (address >= info.offset && address < info.offset + info.count * kWordBytes) return &info;
  }
  return nullptr;
}
constexpr uint32_t ResetOf(uint32_t address) { return InfoOf(address)->reset; }
// By word of the register space: the register, or the first of its array; an invalid offset if it is not listed.
constexpr auto kRegisterOf = [] {
  std::array<uint16_t, spec::kMgmtBytes / kWordBytes> registers{};
  for (uint32_t word = 0; word < registers.size(); ++word) {
    const auto* info = InfoOf(word * kWordBytes);
    registers[word] = static_cast<uint16_t>(info == nullptr ? spec::kMgmtBytes : info->offset);
  }
  return registers;
}();
// The same at an address, which need not be aligned.
uint32_t RegisterAt(uint32_t address) {
  return address % kWordBytes != 0 || address >= spec::kMgmtBytes ? spec::kMgmtBytes
                                                                  : kRegisterOf[address / kWordBytes];
}

constexpr uint32_t kCauseReset = spec::MgmtInterruptCause{.device_reset = true}.ToWord();
constexpr uint32_t kCauses = spec::MgmtInterruptCause{.mailbox_request = true,
                                                      .device_reset = true,
                                                      .features_written = true,
                                                      .driver_ok = true,
                                                      .queue_reset = true,
                                                      .link_change = true,
                                                      .qp_done = true,
                                                      .fatal = true}
                                 .ToWord();
constexpr uint32_t kCauseFatal = spec::MgmtInterruptCause{.fatal = true}.ToWord();
constexpr uint32_t kCauseMailbox = spec::MgmtInterruptCause{.mailbox_request = true}.ToWord();
constexpr uint32_t kCauseQueueReset = spec::MgmtInterruptCause{.queue_reset = true}.ToWord();

}  // namespace

// The deepest one. As sweep_cycles_of of rtl/common/vireo_common_pkg.sv.
Cycle Csr::SweepCycles(const spec::Config& config) {
  return std::max<size_t>({ContextStore(config).size(), QueuesOf(config),
                           size_t{config.num_qps} * std::max(config.max_rd_atomic, 2u), config.num_mrs,
                           config.num_translations / 2, config.num_ahs, config.send_requests_kept,
                           config.num_msix_vectors});
}

Csr::Csr(Agenda& agenda, const spec::Config& config, bool is_used)
    : Block(agenda),
      config_(config),
      profile_(ResetOf(spec::kMgmtAbiProfileRegister) != 0),
      mtu_(static_cast<uint16_t>(ResetOf(spec::kMgmtMtuRegister))),
      active_pairs_(static_cast<uint16_t>(ResetOf(spec::kMgmtActiveQueuePairsRegister))),
      store_(config),
      enabled_(ContextRam::kManagementQueueRow, QueuesOf(config), on_own_error_),
      engine_state_(ContextRam::kManagementEngineState, config.num_qps, on_own_error_),
      send_outstanding_(config.num_qps),
      next_psn_(config.num_qps),
      expected_psn_(config.num_qps),
      bindings_(ContextRam::kManagementMrBinding, std::max<size_t>(config.num_mrs, 2), on_own_error_),
      is_used_(is_used),
      cleared_(is_used ? SweepCycles(config) : 0) {
  queue_reset_in.SetConsumer(this);
  events_.SetConsumer(this);
  last_settings_ = {.profile = profile_, .mtu = mtu_, .active_pairs = active_pairs_};
  settings_ = Level<CsrSettings>(last_settings_);
  if (is_used) WakeAt(cleared_);
}

// --- Inputs ----------------------------------------------------------------------------------------------------------

void Csr::OnAccess(Cycle now, bool write, uint16_t address, uint32_t data) {
  // Who reads the status is told of every block; asking them takes longer than all else that an access does.
  const bool is_status = !write && address == spec::kMgmtStatusRegister;
  accesses_.push_back({now, write, address, data, is_status && idle(), is_status && quiet(),
                       is_status ? dma_outstanding(now) : uint16_t{0}});
  const bool acts_next = write || RegisterAt(address) == spec::kMgmtMailboxDataRegister;
  WakeAt(now + (acts_next ? 1 : kAnswerLatency));
}

void Csr::RecordPulse(Cycle now, PulseKind kind) {
  recorded_.emplace_back(now, kind);
  WakeAt(now + 1);
}

void Csr::OnMailboxStatus(Cycle now, const MailboxStatus& status) {
  if (new_mailbox_ && new_mailbox_->first < now) ApplyPulses(now);
  new_mailbox_ = {now, status};
  WakeAt(now + 1);
}

void Csr::SetMacLink(Cycle from, bool link) {
  mac_link_.Set(from, link);
  if (std::exchange(last_link_, link) != link) RecordPulse(from, kLinkChange);
}

void Csr::OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row) {
  if (row.vq_index < enabled_.size()) enabled_.Write(now, row.vq_index, row.enabled ? 1 : 0);
}

void Csr::OnQpStateWrite(Cycle now, const spec::QpStateWrite& state) {
  engine_state_.Write(now, state.qpn, state.state);
}

void Csr::OnQpSends(Cycle now, const spec::QpSends& sends) {
  send_outstanding_.Write(now, sends.qpn, sends.outstanding);
}

void Csr::OnMrBinding(Cycle at, const spec::MrBinding& binding) {
  bindings_.Write(at, binding.index,
                  {.is_bound = binding.is_bound,
                   .is_alive = binding.is_alive,
                   .bound_to = binding.bound_to,
                   .bound_by = binding.bound_by,
                   .device_key = binding.device_key});
}

void Csr::Count(Cycle now, size_t counter) {
  UpdateCounters(now);
  counts_.push_back({now, counter});
}

// Counters as of the beginning of a cycle.
void Csr::UpdateCounters(Cycle now) {
  const auto end = std::find_if(counts_.begin(), counts_.end(), [&](const Pulse& pulse) { return pulse.cycle >= now; });
  for (auto pulse = counts_.begin(); pulse != end; ++pulse) {
    uint32_t& counter = counters_[pulse->counter];
    if (counter != ~uint32_t{0}) ++counter;
  }
  counts_.erase(counts_.begin(), end);
}

// Applies pulses of cycles before `now`, after firmware's writes of those cycles.
void Csr::ApplyPulses(Cycle now) {
  if (new_mailbox_ && new_mailbox_->first < now) {
    if (new_mailbox_->second.request && !mailbox_.request) cause_ |= kCauseMailbox;
    mailbox_ = new_mailbox_->second;
    new_mailbox_.reset();
  }
  bool parity_error = false;
  std::erase_if(recorded_, [&](const auto& entry) {
    if (entry.first >= now) return false;
    switch (entry.second) {
      case kDeviceReset: cause_ |= kCauseReset; break;
      case kFeaturesWritten: cause_ |= spec::MgmtInterruptCause{.features_written = true}.ToWord(); break;
      case kDriverOk: cause_ |= spec::MgmtInterruptCause{.driver_ok = true}.ToWord(); break;
      case kLinkChange: cause_ |= spec::MgmtInterruptCause{.link_change = true}.ToWord(); break;
      case kDrainDone:
        // The end of a superseded drain does not apply to another order.
        if (command_.operation != spec::QpOperation::kDrain) break;
        [[fallthrough]];
      case kQpDone:
        cause_ |= spec::MgmtInterruptCause{.qp_done = true}.ToWord();
        qp_busy_ = false;
        break;
      case kParityError: parity_error = true; break;
    }
    return true;
  });
  // Other causes of this cycle take precedence.
  if (parity_error && fatal_ == spec::FatalCause::kNone) {
    fatal_ = spec::FatalCause::kMemory;
    cause_ |= kCauseFatal;
  }
}

// --- A cycle ---------------------------------------------------------------------------------------------------------

void Csr::Run(Cycle now) {
  changed_ = false;
  if (std::exchange(reset_done_, false)) on_reset_done(now);
  if (const auto index = std::exchange(queue_reset_done_, std::nullopt)) on_queue_reset_done(now, *index);
  ApplyPulses(now);
  const bool interrupt = (cause_ & enable_) != 0;
  const bool needs_reset = fatal_ != spec::FatalCause::kNone;
  // A device reset needs the waiting work to drain.
  const bool halts = fatal_ == spec::FatalCause::kMemory && (cause_ & kCauseReset) == 0;
  const State state = state_;

  // Read responses, before anything else of this cycle.
  for (Access& access : accesses_) {
    if (access.write) continue;
    if (access.cycle + kReadLatency == now) on_read(now, access.data);
    if (access.cycle + kAnswerLatency == now) access.data = Answer(now, access);
  }

  // Output streams loaded earlier.
  if (order_ && qp_order_out.CanPush(now)) {
    qp_order_out.Push(now, command_);
    order_ = false;
  }
  if (requester_load_ && requester_load_out.CanPush(now)) {
    requester_load_out.Push(now, *requester_load_);
    requester_load_.reset();
  }
  if (responder_load_ && responder_load_out.CanPush(now)) {
    responder_load_out.Push(now, *responder_load_);
    responder_load_.reset();
  }
  if (events_.CanPop(now) && host_event_out.CanPush(now)) host_event_out.Push(now, events_.Pop(now));

  RunTableCommand(now);

  const bool is_new_reset = TakeQueueReset(now);
  for (Access& access : accesses_) {
    if (access.cycle + 1 != now) continue;
    if (access.write) {
      Write(now, access, state);
      changed_ = true;
    } else if (RegisterAt(access.address) == spec::kMgmtMailboxDataRegister) {
      access.data = read_window(now, (access.address - spec::kMgmtMailboxDataRegister) / kWordBytes);
    }
  }
  // Events of the device take precedence over firmware's clears of the same cycle.
  if (is_new_reset) cause_ |= kCauseQueueReset;

  if (interrupt != last_interrupt_) {
    last_interrupt_ = interrupt;
    interrupt_.Set(now + 1, interrupt);
    on_firmware_interrupt(now + 1, interrupt);
  }
  const CsrSettings settings{.firmware_ready = control_.firmware_ready,
                             .profile = profile_,
                             .link_up = control_.link_up,
                             .announce = control_.announce,
                             .datapath_enable = control_.datapath_enable,
                             .pause = control_.pause || halts,
                             .needs_reset = needs_reset,
                             .mac = uint64_t{mac_high_} << 32 | mac_low_,
                             .mtu = mtu_,
                             .rx_mode = rx_mode_,
                             .active_pairs = active_pairs_};
  if (settings != last_settings_) {
    last_settings_ = settings;
    settings_.Set(now + 1, settings);
    on_settings(now + 1, settings);
  }
  while (!accesses_.empty() && accesses_.front().cycle + kReadLatency <= now) accesses_.pop_front();
  if (changed_) WakeAt(now + 1);
  for (const Access& access : accesses_) {
    if (access.write) continue;
    WakeAt(access.cycle + (access.cycle + kAnswerLatency > now ? kAnswerLatency : kReadLatency));
  }
}

// True: a queue reset is to be reported to firmware, once for each. Queue resets from before a device reset are
// dropped.
bool Csr::TakeQueueReset(Cycle now) {
  if (!queue_reset_in.CanPop(now)) return false;
  if ((cause_ & kCauseReset) != 0) {
    queue_reset_in.Pop(now);
    announced_ = false;
    return false;
  }
  if (!announced_) {
    announced_ = true;
    changed_ = true;
    return true;  // an acknowledge in this cycle is too early
  }
  for (const Access& access : accesses_) {
    if (access.cycle + 1 == now && access.write && access.address == spec::kMgmtQueueResetDoneRegister &&
        access.data == queue_reset_in.front().vq_index) {
      queue_reset_done_ = queue_reset_in.Pop(now).vq_index;
      announced_ = false;
      break;
    }
  }
  return false;
}

void Csr::Write(Cycle now, const Access& access, State state) {
  const uint32_t value = access.data;
  const uint32_t first = RegisterAt(access.address);
  const uint32_t word = (access.address - first) / kWordBytes;
  switch (first) {
    case spec::kMgmtAbiProfileRegister:
      if (device_status_.At(now) == 0) profile_ = (value & 1) != 0;
      break;
    case spec::kMgmtScratchRegister: scratch_ = value; break;
    case spec::kMgmtControlRegister: {
      const bool was_ready = control_.firmware_ready;
      control_ = spec::MgmtControl::FromWord(value);
      control_.reserved = 0;
      if (was_ready && !control_.firmware_ready && fatal_ == spec::FatalCause::kNone) {
        fatal_ = spec::FatalCause::kFirmware;
        cause_ |= kCauseFatal;
      }
      break;
    }
    case spec::kMgmtInterruptCauseRegister:
      if ((cause_ & value & kCauseReset) != 0) {
        reset_done_ = true;
        fatal_ = spec::FatalCause::kNone;
      }
      cause_ &= ~value;
      break;
    case spec::kMgmtInterruptEnableRegister: enable_ = value & kCauses; break;
    case spec::kMgmtMailboxFetchRegister: on_mailbox_fetch(now, value); break;
    case spec::kMgmtMailboxCompleteRegister: on_mailbox_complete(now, value); break;
    case spec::kMgmtMailboxDataRegister: on_window_write(now, word, value); break;
    case spec::kMgmtTableCommandRegister:
      if (state != State::kIdle) break;
      table_command_ = spec::MgmtTableCommand::FromWord(value);
      error_ = false;
      index_ = table_index_;
      state_ = State::kCheck;
      break;
    case spec::kMgmtTableIndexRegister: table_index_ = value; break;
    case spec::kMgmtFlipEntryRegister: flip_entry_ = spec::MgmtFlipEntry::FromWord(value); break;
    case spec::kMgmtFlipBitRegister:
      Flip(now, {.ram = flip_entry_.ram,
                 .index = flip_entry_.index,
                 .bit_index = static_cast<uint16_t>(value & kFlipBitMask)});
      break;
    case spec::kMgmtTableDataRegister:
      if (state == State::kIdle) std::memcpy(&table_data_[kWordBytes * word], &value, kWordBytes);
      break;
    case spec::kMgmtQpCommandRegister: {
      // A drain may never end. [tables.toml, table_qp_context]
      if (qp_busy_ && command_.operation != spec::QpOperation::kDrain) break;
      const auto command = spec::MgmtQpCommand::FromWord(value);
      command_ = {.qpn = command.qpn, .operation = command.operation};
      qp_busy_ = order_ = true;
      break;
    }
    case spec::kMgmtEventPushRegister:
      // Without space the event is lost: firmware reads event_full first.
      if (events_.CanPush(now)) {
        events_.Push(now, {.event_type = static_cast<spec::RdmaEventType>(event_data_[0] & 0xffff),
                           .element = event_data_[1],
                           .code = event_data_[2]});
      }
      break;
    case spec::kMgmtEventDataRegister: event_data_[word] = value; break;
    case spec::kMgmtMacLowRegister: mac_low_ = value; break;
    case spec::kMgmtMacHighRegister: mac_high_ = static_cast<uint16_t>(value); break;
    case spec::kMgmtRxModeRegister:
      rx_mode_ = spec::MgmtRxMode::FromWord(value);
      rx_mode_.reserved = 0;
      break;
    case spec::kMgmtActiveQueuePairsRegister: active_pairs_ = static_cast<uint16_t>(value); break;
    case spec::kMgmtMtuRegister: mtu_ = static_cast<uint16_t>(value); break;
    default: break;
  }
}

uint32_t Csr::Answer(Cycle now, const Access& access) {
  const uint32_t first = RegisterAt(access.address);
  const uint32_t word = (access.address - first) / kWordBytes;
  const auto count = [&](size_t counter) {
    UpdateCounters(now);
    return std::exchange(counters_[counter], 0);
  };
  switch (first) {
    case spec::kMgmtIdRegister:
    case spec::kMgmtVersionRegister: return ResetOf(first);
    case spec::kMgmtAbiProfileRegister: return profile_;
    case spec::kMgmtScratchRegister: return scratch_;
    case spec::kMgmtParameterRegister: {
      return word < std::size(spec::kParameterInfo) ? config_.*spec::kParameterInfo[word].member : 0;
    }
    case spec::kMgmtTimeLowRegister: {
      const uint64_t time = time_ns(now);
      time_high_ = static_cast<uint32_t>(time >> 32);
      return static_cast<uint32_t>(time);
    }
    case spec::kMgmtTimeHighRegister: return time_high_;
    case spec::kMgmtControlRegister: return control_.ToWord();
    case spec::kMgmtStatusRegister:
      return spec::MgmtStatus{.idle = access.idle,
                              .mac_link = mac_link_.At(now),
                              .quiet = access.quiet,
                              .event_full = !events_.CanPush(now),
                              .device_status = device_status_.At(now),
                              .dma_outstanding = access.dma_outstanding}
          .ToWord();
    case spec::kMgmtInterruptCauseRegister: return cause_;
    case spec::kMgmtInterruptEnableRegister: return enable_;
    case spec::kMgmtQueueResetIndexRegister: return queue_reset_in.CanPop(now) ? queue_reset_in.front().vq_index : 0;
    case spec::kMgmtDriverFeaturesRegister: return features_.At(now)[word];
    case spec::kMgmtFatalCauseRegister: return static_cast<uint32_t>(fatal_);
    case spec::kMgmtMailboxStatusRegister:
      return spec::MgmtMailboxStatus{
          .request = mailbox_.request, .busy = mailbox_.busy, .dma_error = mailbox_.dma_error}
          .ToWord();
    case spec::kMgmtMailboxRequestBytesRegister: return mailbox_.request_bytes;
    case spec::kMgmtMailboxResponseBytesRegister: return mailbox_.response_bytes;
    case spec::kMgmtMailboxDataRegister: return access.data;
    case spec::kMgmtTableCommandRegister: {
      auto command = table_command_;
      command.reserved = 0;
      command.error = error_;
      command.busy = state_ != State::kIdle;
      return command.ToWord();
    }
    case spec::kMgmtTableIndexRegister: return table_index_;
    case spec::kMgmtFlipEntryRegister: return flip_entry_.ToWord();
    case spec::kMgmtTableDataRegister: {
      uint32_t value;
      if (state_ != State::kIdle) return 0;
      std::memcpy(&value, &table_data_[kWordBytes * word], kWordBytes);
      return value;
    }
    case spec::kMgmtQpCommandRegister:
      return spec::MgmtQpCommand{.qpn = command_.qpn, .operation = command_.operation, .busy = qp_busy_}.ToWord();
    case spec::kMgmtEventDataRegister: return event_data_[word];
    case spec::kMgmtMacLowRegister: return mac_low_;
    case spec::kMgmtMacHighRegister: return mac_high_;
    case spec::kMgmtRxModeRegister: return rx_mode_.ToWord();
    case spec::kMgmtActiveQueuePairsRegister: return active_pairs_;
    case spec::kMgmtMtuRegister: return mtu_;
    case spec::kMgmtRxVerdictCountRegister: return count(word);
    case spec::kMgmtTxFramesRegister: return count(kTxFrames);
    case spec::kMgmtRxBufferDropsRegister: return count(kRxDrops);
    case spec::kMgmtRetransmissionsRegister: return count(kRetransmissions);
    case spec::kMgmtDmaErrorsRegister: return count(kDmaErrors);
    case spec::kMgmtWindowViolationsRegister: return count(kWindowViolations);
    case spec::kMgmtNetRxFilteredRegister: return count(kNetRxFiltered);
    case spec::kMgmtNetRxDropsRegister: return count(kNetRxDrops);
    case spec::kMgmtNetTxDropsRegister: return count(kNetTxDrops);
    default: return 0;  // write-only or not listed
  }
}

// --- Tables ----------------------------------------------------------------------------------------------------------

size_t Csr::WordsRead(MgmtTable table, uint32_t index) {
  const size_t kept = ContextStore::KeptWords(table, index);
  if (table == MgmtTable::kVirtqueue || table == MgmtTable::kMr) return kept + 1;
  return table == MgmtTable::kQpContext ? kLastQpWord + 1 : kept;
}

void Csr::RunTableCommand(Cycle now) {
  if (state_ == State::kIdle) return;
  changed_ = true;
  switch (state_) {
    case State::kIdle: break;
    case State::kCheck:
      error_ = !LookUp(now);
      if (error_) {
        state_ = State::kIdle;
      } else if (table_command_.operation == spec::MgmtTableOperation::kRead) {
        state_ = State::kRead;
      } else if (now >= cleared_ && (table_command_.table_id != MgmtTable::kCqContext || cq_context_ready(now))) {
        state_ = State::kWrite;
      }
      break;
    case State::kRead: ReadWord(now); break;
    case State::kWrite: WriteEntry(now); break;
    case State::kStore: StoreWord(now); break;
    case State::kFence:
      if (!(table_command_.table_id == MgmtTable::kMr ? memory_fence : queue_fence)(now)) state_ = State::kIdle;
      break;
    case State::kLoad:
      if (!requester_load_ && !responder_load_) state_ = State::kIdle;
      break;
  }
}

// False: the table, entry or operation does not exist, or nothing of the entry can be read.
bool Csr::LookUp(Cycle now) {
  const MgmtTable table = table_command_.table_id;
  const bool is_read = table_command_.operation == spec::MgmtTableOperation::kRead;
  if (!store_.Exists(table, index_) || table_command_.operation > spec::MgmtTableOperation::kClear) return false;
  if (is_read && ContextStore::KeptWords(table, index_) == 0) return false;
  if (table_command_.operation != spec::MgmtTableOperation::kWrite) table_data_ = {};
  word_ = 0;
  address_ = store_.AddressOf(table, index_);
  corrupt_ = false;
  second_ = {};
  if (is_read && table == MgmtTable::kVirtqueue) {
    spec::TableVirtqueue{.enabled = enabled_.Read(now, index_) != 0}.Encode(second_.data());
  } else if (is_read && table == MgmtTable::kQpContext) {
    spec::TableQpContext{.engine_state = engine_state_.Read(now, index_),
                         .send_outstanding = send_outstanding_.Read(now, index_),
                         .next_psn = next_psn_.Read(now, index_),
                         .expected_psn = expected_psn_.Read(now, index_)}
        .Encode(second_.data());
  } else if (is_read && table == MgmtTable::kMr && config_.invalidation != 0) {
    bindings_.Read(now, index_).Encode(second_.data());
  }
  return true;
}

// Each word comes to table_data a cycle after it was read; the last cycle only ends the operation.
void Csr::ReadWord(Cycle now) {
  const size_t kept = ContextStore::KeptWords(table_command_.table_id, index_);
  if (word_ == WordsRead(table_command_.table_id, index_)) {
    error_ = corrupt_;
    if (corrupt_) {
      table_data_ = {};  // all of it is invalid
      RecordPulse(now + 1, kParityError);
    }
    state_ = State::kIdle;
    return;
  }
  uint8_t* to = &table_data_[kTableWordBytes * word_];
  if (word_ < kept) {
    const uint64_t word = store_.Read(now, address_ + word_, &corrupt_);
    std::memcpy(to, &word, sizeof(word));
  } else {
    std::memcpy(to, &second_[kTableWordBytes * word_], kTableWordBytes);
  }
  ++word_;
}

void Csr::WriteEntry(Cycle now) {
  spec::TableWrite token{.table_id = table_command_.table_id, .index = index_ & 0xffffff};
  std::copy(table_data_.begin(), table_data_.end(), token.data);
  is_used_ = true;
  on_table_write(now, token);
  if (token.table_id == MgmtTable::kQpContext) {
    const auto qp = spec::TableQpContext::Decode(token.data);
    if (qp.load_requester) requester_load_ = {.qpn = token.index, .psn = qp.next_psn};
    if (qp.load_responder) responder_load_ = {.qpn = token.index, .psn = qp.expected_psn};
  }
  state_ = ContextStore::KeptWords(token.table_id, index_) != 0 ? State::kStore : AfterWrite();
}

// Without its request bits (load_, set_, reset_), which are in the first word.
void Csr::StoreWord(Cycle now) {
  std::array<uint8_t, kTableBytes> entry = table_data_;
  switch (table_command_.table_id) {
    case MgmtTable::kVirtqueue: {
      auto virtqueue = spec::TableVirtqueue::Decode(entry.data());
      virtqueue.reset_positions = false;
      virtqueue.Encode(entry.data());
      break;
    }
    case MgmtTable::kQpContext: {
      auto context = spec::TableQpContext::Decode(entry.data());
      context.load_requester = context.load_responder = false;
      context.Encode(entry.data());
      break;
    }
    case MgmtTable::kCqContext: {
      auto context = spec::TableCqContext::Decode(entry.data());
      context.set_solicited = context.set_next_completion = context.set_failed = false;
      context.Encode(entry.data());
      break;
    }
    default: break;
  }
  uint64_t word;
  std::memcpy(&word, &entry[kTableWordBytes * word_], sizeof(word));
  store_.Write(now, address_ + word_, word);
  if (++word_ == ContextStore::KeptWords(table_command_.table_id, index_)) state_ = AfterWrite();
}

Csr::State Csr::AfterWrite() const {
  if (requester_load_ || responder_load_) return State::kLoad;
  return IsFenced(table_command_.table_id) ? State::kFence : State::kIdle;
}

void Csr::Flip(Cycle now, const spec::ContextFlip& flip) {
  if (config_.parity == 0) return;
  store_.OnFlip(now, flip);
  enabled_.OnFlip(now, flip);
  engine_state_.OnFlip(now, flip);
  if (config_.invalidation != 0) bindings_.OnFlip(now, flip);
  on_context_flip(now, flip);
}

}  // namespace vireo::model
