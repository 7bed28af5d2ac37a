// SPDX-License-Identifier: Apache-2.0
#include "verif/firmware/mock_device.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "spec/gen/vireo_config.h"

namespace vireo::verif {
namespace {

using spec::MgmtTable;

// Called at every access, so it is a table with a row per word.
const spec::RegisterInfo* InfoOf(uint32_t offset) {
  static const std::vector<const spec::RegisterInfo*> by_word = [] {
    std::vector<const spec::RegisterInfo*> words;
    for (const auto& info : spec::kMgmtRegisters) {
      const size_t first = info.offset / 4;
      words.resize(std::max<size_t>(words.size(), first + info.count));
      std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(first), info.count, &info);
    }
    return words;
  }();
  return offset / 4 < by_word.size() ? by_word[offset / 4] : nullptr;
}

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", value);
  return text;
}

}  // namespace

MockDevice::MockDevice(const spec::Config& config, spec::Profile profile)
    : config_(config), table_window_(128, 0xee), mailbox_window_(512), event_window_(16) {
  for (const auto& info : spec::kMgmtRegisters) {
    for (uint32_t i = 0; i < info.count; ++i) registers_[info.offset + 4 * i] = info.has_reset ? info.reset : 0;
  }
  registers_[spec::kMgmtAbiProfileRegister] = static_cast<uint32_t>(profile);
  // The configuration's members after the name, in the order of csr.toml.
  uint32_t offset = spec::kMgmtParameterRegister;
  for (const spec::ParameterInfo& parameter : spec::kParameterInfo) {
    registers_[offset] = config_.*parameter.member;
    offset += 4;
  }
  registers_[spec::kMgmtMacLowRegister] = 0x33221102;
  registers_[spec::kMgmtMacHighRegister] = 0x5544;
  registers_[spec::kMgmtMtuRegister] = 9000;
  registers_[spec::kMgmtStatusRegister] = spec::MgmtStatus{.idle = true, .mac_link = true}.ToWord();
}

firmware::Csr MockDevice::MakeCsr() {
  return firmware::Csr(
      this, [](void* self, uint32_t offset) { return static_cast<MockDevice*>(self)->Read(offset); },
      [](void* self, uint32_t offset, uint32_t value) { static_cast<MockDevice*>(self)->Write(offset, value); });
}

void MockDevice::Raise(void (*set)(spec::MgmtInterruptCause&)) {
  auto cause = RegisterAs<spec::MgmtInterruptCause>(spec::kMgmtInterruptCauseRegister);
  set(cause);
  registers_[spec::kMgmtInterruptCauseRegister] = cause.ToWord();
}

bool MockDevice::IsInterruptRaised() const {
  return (Register(spec::kMgmtInterruptCauseRegister) & Register(spec::kMgmtInterruptEnableRegister)) != 0;
}

// --- Host ------------------------------------------------------------------------------------------------------------

void MockDevice::SetFeatures(const std::set<uint32_t>& bits) {
  for (uint32_t i = 0; i < spec::kVirtioFeatureBits / 32; ++i)
    registers_[spec::kMgmtDriverFeaturesRegister + 4 * i] = 0;
  for (uint32_t bit : bits) registers_[spec::kMgmtDriverFeaturesRegister + 4 * (bit / 32)] |= 1u << (bit % 32);
  Raise([](spec::MgmtInterruptCause& cause) { cause.features_written = true; });
}

void MockDevice::SetDriverOk() {
  Raise([](spec::MgmtInterruptCause& cause) { cause.driver_ok = true; });
}

void MockDevice::EnableQueue(uint32_t index, uint16_t size) {
  auto queue = Get<spec::TableVirtqueue>(MgmtTable::kVirtqueue, index);
  queue.enabled = true;
  queue.queue_size = size;
  queue.avail_wrap = queue.used_wrap = true;
  queue.queue_desc = 0x10000 + uint64_t{index} * 0x1000;
  Set(MgmtTable::kVirtqueue, index, queue);
}

void MockDevice::ResetQueue(uint32_t index) {
  auto queue = Get<spec::TableVirtqueue>(MgmtTable::kVirtqueue, index);
  queue.enabled = queue.failed = queue.avail_wrap = queue.used_wrap = false;
  queue.queue_size = queue.next_avail = queue.next_used = 0;
  queue.queue_desc = queue.queue_driver = queue.queue_device = 0;
  Set(MgmtTable::kVirtqueue, index, queue);
  queue_resets_.push_back(index);
  Raise([](spec::MgmtInterruptCause& cause) { cause.queue_reset = true; });
}

void MockDevice::ResetDevice() {
  reset_pending_ = true;
  requests_.clear();
  queue_resets_.clear();
  idle_polls_ = 0;
  for (auto& word : {0u, 4u, 8u, 12u}) registers_[spec::kMgmtDriverFeaturesRegister + word] = 0;
  // The common configuration belongs to the device.
  for (auto it = tables_.begin(); it != tables_.end();) {
    const auto key = (it++)->first;
    if (key.first != MgmtTable::kVirtqueue) continue;
    const auto queue = Get<spec::TableVirtqueue>(key.first, key.second);
    Set(key.first, key.second,
        spec::TableVirtqueue{.kind = queue.kind,
                             .stopped = queue.stopped,
                             .limit = queue.limit,
                             .owner = queue.owner,
                             .coal_max_packets = queue.coal_max_packets,
                             .coal_max_usecs = queue.coal_max_usecs,
                             .guest_offloads = queue.guest_offloads});
  }
  Raise([](spec::MgmtInterruptCause& cause) { cause.device_reset = true; });
}

void MockDevice::SetLink(bool up) {
  auto status = RegisterAs<spec::MgmtStatus>(spec::kMgmtStatusRegister);
  status.mac_link = up;
  registers_[spec::kMgmtStatusRegister] = status.ToWord();
  Raise([](spec::MgmtInterruptCause& cause) { cause.link_change = true; });
}

void MockDevice::RaiseFatal(spec::FatalCause cause) {
  registers_[spec::kMgmtFatalCauseRegister] = static_cast<uint32_t>(cause);
  Raise([](spec::MgmtInterruptCause& bits) { bits.fatal = true; });
}

void MockDevice::Post(const MailboxRequest& request) {
  requests_.push_back(request);
  Raise([](spec::MgmtInterruptCause& cause) { cause.mailbox_request = true; });
}

// --- Datapath --------------------------------------------------------------------------------------------------------

void MockDevice::SetEngineState(uint32_t qpn, spec::IbQpState state) {
  auto context = Qp(qpn);
  context.engine_state = state;
  Set(MgmtTable::kQpContext, qpn, context);
}

void MockDevice::SetSendOutstanding(uint32_t qpn, uint16_t count) {
  auto context = Qp(qpn);
  context.send_outstanding = count;
  Set(MgmtTable::kQpContext, qpn, context);
}

void MockDevice::SetBound(uint32_t mwn, bool is_bound, uint32_t mrn, uint32_t qpn) {
  auto window = Get<spec::TableMr>(MgmtTable::kMr, mwn);
  window.is_bound = is_bound;
  window.bound_to = is_bound ? mrn : 0;
  window.bound_by = is_bound ? qpn : 0;
  Set(MgmtTable::kMr, mwn, window);
}

void MockDevice::SetAlive(uint32_t mrn, bool is_alive, uint8_t key) { alive_[mrn] = {is_alive, key}; }

MockDevice::State MockDevice::Snapshot() const {
  State state{tables_, {}};
  for (uint32_t offset : {spec::kMgmtControlRegister, spec::kMgmtInterruptEnableRegister, spec::kMgmtMacLowRegister,
                          spec::kMgmtMacHighRegister, spec::kMgmtRxModeRegister, spec::kMgmtActiveQueuePairsRegister,
                          spec::kMgmtMtuRegister, spec::kMgmtAbiProfileRegister}) {
    state.registers[offset] = registers_.at(offset);
  }
  return state;
}

// --- Registers -------------------------------------------------------------------------------------------------------

uint8_t* MockDevice::Window(uint32_t first_register) {
  if (first_register == spec::kMgmtTableDataRegister) return table_window_.data();
  if (first_register == spec::kMgmtMailboxDataRegister) return mailbox_window_.data();
  if (first_register == spec::kMgmtEventDataRegister) return event_window_.data();
  return nullptr;
}

uint32_t MockDevice::Read(uint32_t offset) {
  ++accesses;
  const auto* info = InfoOf(offset);
  if (info == nullptr || offset % 4 != 0) {
    Violation("read of " + Hex(offset));
    return 0;
  }
  if (info->access == spec::Access::kWo) Violation(std::string("read of ") + info->name);
  if (const uint8_t* window = Window(info->offset)) {
    if (info->offset == spec::kMgmtTableDataRegister && table_busy_) Violation("read of table_data while busy");
    if (info->offset == spec::kMgmtMailboxDataRegister && mailbox_busy_) Violation("read of mailbox_data while busy");
    uint32_t word;
    std::memcpy(&word, window + (offset - info->offset), sizeof(word));
    return word;
  }
  switch (offset) {
    case spec::kMgmtTimeLowRegister:
      time_high_ = static_cast<uint32_t>(time_ns >> 32);
      return static_cast<uint32_t>(time_ns);
    case spec::kMgmtTimeHighRegister: return time_high_;
    case spec::kMgmtTableCommandRegister:
      if (table_busy_ && !is_table_stuck && table_polls_++ >= table_delay) DoTable();
      table_command_.busy = table_busy_;
      table_command_.error = table_error_;
      return table_command_.ToWord();
    case spec::kMgmtQpCommandRegister:
      if (qp_busy_ && IsQpDone()) FinishQp();
      qp_command_.busy = qp_busy_;
      return qp_command_.ToWord();
    case spec::kMgmtMailboxStatusRegister:
      if (mailbox_busy_ && mailbox_polls_++ >= mailbox_delay &&
          !(mailbox_completing_ ? is_complete_stuck : is_fetch_stuck)) {
        mailbox_busy_ = false;
        if (mailbox_completing_ && !requests_.empty()) requests_.pop_front();
        mailbox_completing_ = false;
      }
      return spec::MgmtMailboxStatus{
          .request = !requests_.empty() && !mailbox_completing_, .busy = mailbox_busy_, .dma_error = mailbox_dma_error_}
          .ToWord();
    case spec::kMgmtMailboxRequestBytesRegister:
      if (requests_.empty()) Violation("mailbox read without a request");
      return requests_.empty() ? 0 : static_cast<uint32_t>(requests_.front().readable.size());
    case spec::kMgmtMailboxResponseBytesRegister: return requests_.empty() ? 0 : requests_.front().writable;
    case spec::kMgmtQueueResetIndexRegister:
      if (queue_resets_.empty()) Violation("queue_reset_index without a reset");
      return queue_resets_.empty() ? 0 : queue_resets_.front();
    case spec::kMgmtStatusRegister: {
      auto status = RegisterAs<spec::MgmtStatus>(offset);
      status.idle = !is_never_idle && (!reset_pending_ || idle_polls_++ >= idle_delay);
      const bool is_paused = RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister).pause;
      if (!is_paused) quiet_polls_ = 0;
      status.quiet = is_paused && !is_never_quiet && quiet_polls_++ >= quiet_delay;
      if (event_polls_ != 0) --event_polls_;
      status.event_full = is_event_stuck || event_polls_ != 0;
      return status.ToWord();
    }
    default: return registers_.at(offset);
  }
}

void MockDevice::Write(uint32_t offset, uint32_t value) {
  ++accesses;
  const auto* info = InfoOf(offset);
  if (info == nullptr || offset % 4 != 0) {
    Violation("write of " + Hex(offset));
    return;
  }
  if (info->access == spec::Access::kRo || info->access == spec::Access::kRc) {
    Violation(std::string("write of ") + info->name);
    return;
  }
  if (uint8_t* window = Window(info->offset)) {
    if (info->offset == spec::kMgmtTableDataRegister && table_busy_ && !is_table_stuck) {
      Violation("write of table_data while busy");
    }
    table_words_written += info->offset == spec::kMgmtTableDataRegister;
    std::memcpy(window + (offset - info->offset), &value, sizeof(value));
    return;
  }
  switch (offset) {
    case spec::kMgmtTableCommandRegister: StartTable(value); return;
    case spec::kMgmtQpCommandRegister: StartQp(value); return;
    case spec::kMgmtMailboxFetchRegister: Fetch(value); return;
    case spec::kMgmtMailboxCompleteRegister: Complete(value); return;
    case spec::kMgmtEventPushRegister:
      if (event_polls_ != 0) return Violation("event_push without room");
      event_polls_ = event_delay;
      if (!is_event_stuck) events.push_back(spec::RdmaEvent::Decode(event_window_.data()));
      return;
    case spec::kMgmtInterruptCauseRegister: {
      registers_[offset] &= ~value;
      if (spec::MgmtInterruptCause::FromWord(value).device_reset && reset_pending_) {
        reset_pending_ = false;
        if (!tables_.empty()) {
          Violation("reset done with entry " + std::to_string(tables_.begin()->first.second) + " of table " +
                    spec::ToString(tables_.begin()->first.first) + " not clear");
        }
      }
      return;
    }
    case spec::kMgmtQueueResetDoneRegister:
      if (queue_resets_.empty() || queue_resets_.front() != value) Violation("queue_reset_done of another queue");
      if (!queue_resets_.empty()) queue_resets_.pop_front();
      queue_resets_done.push_back(value);
      if (!queue_resets_.empty()) Raise([](spec::MgmtInterruptCause& cause) { cause.queue_reset = true; });
      return;
    default: registers_[offset] = value; return;
  }
}

// --- Tables ----------------------------------------------------------------------------------------------------------

uint32_t MockDevice::EntryBytes(const TableKey& key) const {
  switch (key.first) {
    case MgmtTable::kVirtqueue: return spec::TableVirtqueue::kBytes;
    case MgmtTable::kWindow: return spec::TableWindow::kBytes;
    case MgmtTable::kQpContext: return spec::TableQpContext::kBytes;
    case MgmtTable::kCqContext: return spec::TableCqContext::kBytes;
    case MgmtTable::kMr: return spec::TableMr::kBytes;
    case MgmtTable::kTranslation: return spec::TableTranslation::kBytes;
    case MgmtTable::kAh: return spec::TableAh::kBytes;
    case MgmtTable::kGid: return spec::TableGid::kBytes;
    case MgmtTable::kMacFilter: return spec::TableMacFilter::kBytes;
    case MgmtTable::kVlanFilter: return spec::TableVlanFilter::kBytes;
    case MgmtTable::kRss: return key.second == 0 ? spec::TableRssConfig::kBytes : spec::TableRss::kBytes;
    case MgmtTable::kMcast: return spec::TableMcast::kBytes;
  }
  return 0;
}

// What a read returns of firmware's fields.
size_t MockDevice::KeptBytes(const TableKey& key) {
  if (key.first == MgmtTable::kRss && key.second != 0) return 0;
  return sizeof(uint64_t) * spec::kTableKeptWords[static_cast<size_t>(key.first)];
}

uint32_t MockDevice::EntryCount(MgmtTable table) const {
  switch (table) {
    case MgmtTable::kVirtqueue:
    case MgmtTable::kWindow: return 2 * config_.net_queue_pairs + 1 + config_.num_cqs + 2 * config_.num_qps + 1;
    case MgmtTable::kQpContext: return config_.num_qps;
    case MgmtTable::kCqContext: return config_.num_cqs;
    case MgmtTable::kMr: return config_.num_mrs;
    case MgmtTable::kTranslation: return config_.num_translations;
    case MgmtTable::kAh: return config_.num_ahs;
    case MgmtTable::kGid: return config_.num_gids;
    case MgmtTable::kMacFilter: return spec::kTableMacFilterEntries;
    case MgmtTable::kVlanFilter: return 4096 / spec::kTableVlanFilterBits;
    case MgmtTable::kRss: return 1 + spec::kTableRssQueues / 32;
    case MgmtTable::kMcast: return config_.max_mcast_attach;
  }
  return 0;
}

void MockDevice::Store(const TableKey& key, const std::vector<uint8_t>& bytes) {
  if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; })) {
    tables_.erase(key);
  } else {
    tables_[key] = bytes;
  }
}

void MockDevice::StartTable(uint32_t value) {
  if (table_busy_ && !is_table_stuck) Violation("table_command while busy");
  if (tables_stick_after && ++table_operations_ > *tables_stick_after) is_table_stuck = true;
  table_command_ = spec::MgmtTableCommand::FromWord(value);
  table_busy_ = true;
  table_polls_ = 0;
}

void MockDevice::DoTable() {
  table_busy_ = false;
  const TableKey key{table_command_.table_id, registers_.at(spec::kMgmtTableIndexRegister)};
  table_error_ = key.second >= EntryCount(key.first) || missing_tables.contains(key.first);
  if (table_error_) return;
  if (table_command_.operation != spec::MgmtTableOperation::kRead) corrupt_entries.erase(key);
  if (corrupt_entries.contains(key)) {
    table_error_ = true;
    std::fill(table_window_.begin(), table_window_.end(), 0);
    RaiseFatal(spec::FatalCause::kMemory);
    return;
  }
  switch (table_command_.operation) {
    case spec::MgmtTableOperation::kRead: {
      const size_t kept = KeptBytes(key);
      if (kept == 0) {
        Violation(std::string("read of ") + spec::ToString(key.first));
        table_error_ = true;
        return;
      }
      std::fill(table_window_.begin(), table_window_.end(), 0);
      const auto found = tables_.find(key);
      if (found == tables_.end()) return;
      const auto& entry = found->second;
      std::copy(entry.begin(), entry.end(), table_window_.begin());
      if (key.first == MgmtTable::kMr) {
        auto region = spec::TableMr::Decode(entry.data());
        const auto changed = alive_.find(key.second);
        region.is_alive = changed != alive_.end() ? changed->second.first : region.valid;
        region.device_key = changed != alive_.end() ? changed->second.second : region.key;
        region.Encode(table_window_.data());
      }
      // Of the others neither the rest of firmware's fields nor a second group is read.
      if (key.first == MgmtTable::kAh) {
        std::fill(table_window_.begin() + static_cast<ptrdiff_t>(kept), table_window_.end(), 0);
      }
      return;
    }
    case spec::MgmtTableOperation::kWrite: WriteByOwner(key, table_window_.data()); return;
    case spec::MgmtTableOperation::kClear:
      std::fill(table_window_.begin(), table_window_.end(), 0);
      tables_.erase(key);
      if (key.first == MgmtTable::kMr) alive_.erase(key.second);
      if (key.first == MgmtTable::kQpContext && key.second == has_old_work) SetSendOutstanding(key.second, 1);
      return;
  }
}

// Fields owned by the engine or the host are kept, except where the entry requests a change.
void MockDevice::WriteByOwner(const TableKey& key, const uint8_t* written) {
  const uint32_t index = key.second;
  // Of the second group nothing is taken, but what the cases below say.
  uint8_t bytes[128];
  std::copy_n(written, sizeof(bytes), bytes);
  if (key.first == MgmtTable::kVirtqueue || key.first == MgmtTable::kQpContext || key.first == MgmtTable::kCqContext ||
      key.first == MgmtTable::kMr) {
    std::fill(bytes + KeptBytes(key), std::end(bytes), uint8_t{0});
  }
  switch (key.first) {
    case MgmtTable::kVirtqueue: {
      auto entry = spec::TableVirtqueue::Decode(bytes);
      const auto old = Get<spec::TableVirtqueue>(key.first, index);
      const bool reset = entry.reset_positions;
      entry.reset_positions = false;
      entry.enabled = old.enabled;
      entry.failed = old.failed;
      entry.avail_wrap = old.avail_wrap || (reset && old.enabled);
      entry.used_wrap = old.used_wrap || (reset && old.enabled);
      entry.queue_size = old.queue_size;
      entry.msix_vector = old.msix_vector;
      entry.next_avail = reset ? 0 : old.next_avail;
      entry.next_used = reset ? 0 : old.next_used;
      entry.queue_desc = old.queue_desc;
      entry.queue_driver = old.queue_driver;
      entry.queue_device = old.queue_device;
      Set(key.first, index, entry);
      return;
    }
    case MgmtTable::kQpContext: {
      auto entry = spec::TableQpContext::Decode(bytes);
      if (entry.load_requester || entry.load_responder) entry = spec::TableQpContext::Decode(written);
      entry.reserved2 = entry.reserved3 = entry.reserved4 = entry.reserved5 = 0;
      std::fill(std::begin(entry.reserved6), std::end(entry.reserved6), 0u);
      const auto old = Qp(index);
      entry.engine_state = old.engine_state;
      entry.send_outstanding = old.send_outstanding;
      if (!entry.load_requester) {
        entry.next_psn = old.next_psn;
        entry.retries_left = old.retries_left;
        entry.rnr_retries_left = old.rnr_retries_left;
        entry.timer_running = old.timer_running;
        entry.timer_is_rnr = old.timer_is_rnr;
        entry.unacked_psn = old.unacked_psn;
        entry.reads_outstanding = old.reads_outstanding;
        entry.messages_sent = old.messages_sent;
        entry.credit_limit = old.credit_limit;
        entry.deadline_ns = old.deadline_ns;
      }
      if (!entry.load_responder) {
        entry.expected_psn = old.expected_psn;
        entry.reads_held = old.reads_held;
        entry.msn = old.msn;
        entry.in_message = old.in_message;
        entry.receive_taken = old.receive_taken;
        entry.nak_sent = old.nak_sent;
        entry.ack_due = old.ack_due;
        entry.communication_established = old.communication_established;
      }
      entry.load_requester = entry.load_responder = false;
      Set(key.first, index, entry);
      return;
    }
    case MgmtTable::kCqContext: {
      auto entry = spec::TableCqContext::Decode(bytes);
      const auto old = Get<spec::TableCqContext>(key.first, index);
      entry.armed_next_completion = old.armed_next_completion || entry.set_next_completion;
      entry.armed_solicited = old.armed_solicited || entry.set_solicited;
      entry.failed = old.failed || entry.set_failed;
      entry.set_solicited = entry.set_next_completion = entry.set_failed = false;
      Set(key.first, index, entry);
      return;
    }
    case MgmtTable::kMr: {
      if (binds_at_write && index == binds_at_write->mrn) {
        const LateBind bind = *std::exchange(binds_at_write, std::nullopt);
        SetBound(bind.mwn, true, bind.mrn);
      }
      // A window is unbound.
      auto entry = spec::TableMr::Decode(bytes);
      entry.is_bound = false;
      entry.bound_to = entry.bound_by = 0;
      entry.is_alive = false;  // the second group is the device's
      entry.device_key = 0;
      alive_.erase(index);
      Set(key.first, index, entry);
      return;
    }
    default: Store(key, std::vector<uint8_t>(bytes, bytes + EntryBytes(key))); return;
  }
}

// --- QP operations ---------------------------------------------------------------------------------------------------

void MockDevice::StartQp(uint32_t value) {
  const auto command = spec::MgmtQpCommand::FromWord(value);
  if (qp_busy_ && qp_command_.operation != spec::QpOperation::kDrain && !is_qp_stuck) {
    Violation("qp_command while busy with an operation other than a drain");
  }
  if (qp_busy_ && keeps_drains) return;
  // A shared receive queue is stopped like a QP.
  const bool exists = Qp(command.qpn).valid || Qp(command.qpn).is_srq;
  if (!exists) Violation("qp_command for QP " + std::to_string(command.qpn) + ", which does not exist");
  qp_command_ = command;
  qp_busy_ = true;
  qp_polls_ = 0;
  qp_operations.push_back({command.qpn, command.operation});
  if (command.operation == spec::QpOperation::kDrain && Qp(command.qpn).engine_state == spec::IbQpState::kRts) {
    SetEngineState(command.qpn, spec::IbQpState::kSqd);
  }
}

bool MockDevice::IsQpDone() {
  if (is_qp_stuck || qp_polls_++ < qp_delay) return false;
  const auto context = Qp(qp_command_.qpn);
  return qp_command_.operation != spec::QpOperation::kDrain || context.engine_state != spec::IbQpState::kSqd ||
         context.send_outstanding == 0;
}

void MockDevice::FinishQp() {
  qp_busy_ = false;
  Raise([](spec::MgmtInterruptCause& cause) { cause.qp_done = true; });
  auto context = Qp(qp_command_.qpn);
  switch (qp_command_.operation) {
    case spec::QpOperation::kStart:
      if (context.engine_state != spec::IbQpState::kErr) context.engine_state = context.state;
      break;
    case spec::QpOperation::kDrain: break;
    case spec::QpOperation::kFlush:
      context.engine_state = spec::IbQpState::kErr;
      context.send_outstanding = 0;
      break;
    case spec::QpOperation::kStop: {
      uint8_t bytes[spec::TableQpContext::kBytes];
      context.Encode(bytes);
      std::fill(bytes + spec::TableQpContext::kEngineStateOffset, bytes + sizeof(bytes), 0);
      context = spec::TableQpContext::Decode(bytes);
      context.send_outstanding = qp_command_.qpn == has_old_work ? 1 : 0;
      break;
    }
  }
  Set(MgmtTable::kQpContext, qp_command_.qpn, context);
}

// --- Mailbox ---------------------------------------------------------------------------------------------------------

void MockDevice::Fetch(uint32_t offset) {
  ++fetches;
  if (requests_.empty() || mailbox_busy_) {
    Violation("mailbox_fetch without a request or while busy");
    return;
  }
  if (drains_at_fetch) SetSendOutstanding(*drains_at_fetch, 0);
  drains_at_fetch.reset();
  const auto& request = requests_.front();
  if (offset >= request.readable.size()) Violation("mailbox_fetch beyond the request");
  std::fill(mailbox_window_.begin(), mailbox_window_.end(), 0xee);  // poison: must not be used
  const size_t end = std::min<size_t>(request.readable.size(), offset + mailbox_window_.size());
  mailbox_dma_error_ = end > request.fails_from;
  if (std::exchange(discards_at_fetch, false)) {
    // What the window still has may look like a command.
    std::copy_n(request.readable.begin(), std::min(request.readable.size(), mailbox_window_.size()),
                mailbox_window_.begin());
    requests_.pop_front();
    was_discarded_ = true;
    return;
  }
  if (!mailbox_dma_error_ && offset < end) {
    std::copy(request.readable.begin() + offset, request.readable.begin() + static_cast<ptrdiff_t>(end),
              mailbox_window_.begin());
  }
  mailbox_busy_ = true;
  mailbox_polls_ = 0;
}

void MockDevice::Complete(uint32_t count) {
  if (std::exchange(was_discarded_, false)) return;
  if (requests_.empty() || (mailbox_busy_ && !is_fetch_stuck)) {
    Violation("mailbox_complete without a request or while busy");
    return;
  }
  if (count > requests_.front().writable) Violation("mailbox_complete with more bytes than writable");
  answers.emplace_back(mailbox_window_.begin(), mailbox_window_.begin() + count);
  mailbox_busy_ = true;
  mailbox_completing_ = true;
  mailbox_polls_ = 0;
}

}  // namespace vireo::verif
