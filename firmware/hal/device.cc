// SPDX-License-Identifier: Apache-2.0
#include "firmware/hal/device.h"

namespace vireo::firmware {
namespace {

constexpr uint32_t kWordBytes = sizeof(uint32_t);

constexpr uint32_t RegisterCount(uint32_t offset) {
  for (const auto& info : spec::kMgmtRegisters) {
    if (info.offset == offset) return info.count;
  }
  return 0;
}
constexpr uint32_t kWindowBytes = RegisterCount(spec::kMgmtMailboxDataRegister) * kWordBytes;
static_assert(kWindowBytes > 0);
static_assert(RegisterCount(spec::kMgmtTableDataRegister) == 32);

constexpr uint32_t kTableBusy = spec::MgmtTableCommand{.busy = true}.ToWord();
constexpr uint32_t kQpBusy = spec::MgmtQpCommand{.busy = true}.ToWord();
constexpr uint32_t kMailboxBusy = spec::MgmtMailboxStatus{.busy = true}.ToWord();

// Bytes from `count` on are 0.
uint32_t WordOf(const uint8_t* bytes, size_t at, size_t count) {
  uint32_t word = 0;
  for (size_t i = 0; i < kWordBytes && at + i < count; ++i) word |= static_cast<uint32_t>(bytes[at + i]) << (8 * i);
  return word;
}

}  // namespace

bool Device::WaitFor(uint32_t offset, uint32_t mask, uint32_t value) {
  if (broken_) return false;
  for (uint32_t polls = 0; polls < max_polls_; ++polls) {
    polled_ = csr_.Read(offset);
    if ((polled_ & mask) == value) return true;
  }
  broken_ = true;
  return false;
}

void Device::Repair() {
  broken_ = false;
  known_ = 0;
  table_index_ = kNoIndex;
  WaitFor(spec::kMgmtTableCommandRegister, kTableBusy, 0);
  WaitFor(spec::kMgmtMailboxStatusRegister, kMailboxBusy, 0);
  if (Get<spec::MgmtQpCommand>(spec::kMgmtQpCommandRegister).operation != spec::QpOperation::kDrain) {
    WaitFor(spec::kMgmtQpCommandRegister, kQpBusy, 0);
  }
}

// The last word may be partly used: bytes after `count` are written as 0.
void Device::WriteWords(uint32_t offset, const uint8_t* bytes, size_t count) {
  for (size_t at = 0; at < count; at += kWordBytes) {
    csr_.Write(static_cast<uint32_t>(offset + at), WordOf(bytes, at, count));
  }
}

// --- Tables ----------------------------------------------------------------------------------------------------------

bool Device::RunTable(spec::MgmtTable table, uint32_t index, spec::MgmtTableOperation operation) {
  refused_ = false;
  if (broken_) return false;
  const Words known = operation == spec::MgmtTableOperation::kWrite ? known_ : 0;
  known_ = 0;
  if (index != table_index_) csr_.Write(spec::kMgmtTableIndexRegister, index);
  table_index_ = index;
  Put(spec::kMgmtTableCommandRegister, spec::MgmtTableCommand{.table_id = table, .operation = operation});
  if (!WaitFor(spec::kMgmtTableCommandRegister, kTableBusy, 0)) return false;
  refused_ = broken_ = spec::MgmtTableCommand::FromWord(polled_).error;
  if (broken_) return false;
  known_ = known;
  if (operation == spec::MgmtTableOperation::kClear) {
    for (uint32_t& word : table_data_) word = 0;
    known_ = ~Words{0};
  }
  return true;
}

void Device::ReadTable(spec::MgmtTable table, uint32_t index, Words words, uint8_t* bytes, size_t count) {
  if (!RunTable(table, index, spec::MgmtTableOperation::kRead)) return;
  for (size_t at = 0; at < count; at += kWordBytes) {
    if ((words & WordAt(at)) == 0) continue;
    const uint32_t word = csr_.Read(static_cast<uint32_t>(spec::kMgmtTableDataRegister + at));
    table_data_[at / kWordBytes] = word;
    known_ |= WordAt(at);
    for (size_t i = 0; i < kWordBytes && at + i < count; ++i) bytes[at + i] = static_cast<uint8_t>(word >> (8 * i));
  }
}

void Device::WriteTable(spec::MgmtTable table, uint32_t index, Words words, const uint8_t* bytes, size_t count) {
  if (broken_) return;
  for (size_t at = 0; at < count; at += kWordBytes) {
    const uint32_t word = WordOf(bytes, at, count);
    uint32_t& there = table_data_[at / kWordBytes];
    if ((words & WordAt(at)) == 0 || ((known_ & WordAt(at)) != 0 && there == word)) continue;
    csr_.Write(static_cast<uint32_t>(spec::kMgmtTableDataRegister + at), word);
    there = word;
    known_ |= WordAt(at);
  }
  RunTable(table, index, spec::MgmtTableOperation::kWrite);
}

// --- QP operations ---------------------------------------------------------------------------------------------------

void Device::StartQp(uint32_t qpn, spec::QpOperation operation) {
  const spec::MgmtQpCommand command{.qpn = qpn, .operation = operation};
  // A device that is busy with an operation that it cannot abandon shows that until it is done.
  for (uint32_t polls = 0; !broken_; ++polls) {
    if (polls == max_polls_) {
      broken_ = true;
      return;
    }
    Put(spec::kMgmtQpCommandRegister, command);
    const auto now = Get<spec::MgmtQpCommand>(spec::kMgmtQpCommandRegister);
    if (now.qpn == qpn && now.operation == operation) return;
  }
}

void Device::RunQp(uint32_t qpn, spec::QpOperation operation) {
  StartQp(qpn, operation);
  WaitFor(spec::kMgmtQpCommandRegister, kQpBusy, 0);
}

// --- Mailbox ---------------------------------------------------------------------------------------------------------

void Device::OpenMailbox() {
  request_bytes_ = csr_.Read(spec::kMgmtMailboxRequestBytesRegister);
  response_bytes_ = csr_.Read(spec::kMgmtMailboxResponseBytesRegister);
  window_valid_ = false;
}

bool Device::Fetch(uint32_t offset) {
  if (broken_) return false;
  csr_.Write(spec::kMgmtMailboxFetchRegister, offset);
  if (!WaitFor(spec::kMgmtMailboxStatusRegister, kMailboxBusy, 0)) return false;
  // Without a request it was discarded: the driver has reset the queue, and the window still has other bytes.
  const auto status = spec::MgmtMailboxStatus::FromWord(polled_);
  window_valid_ = status.request && !status.dma_error;
  window_offset_ = offset;
  return window_valid_;
}

bool Device::ReadRequest(uint64_t offset, uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t at = static_cast<uint32_t>(offset + i);
    if (!window_valid_ || at < window_offset_ || at - window_offset_ >= kWindowBytes) {
      if (!Fetch(at)) {
        for (size_t j = 0; j < count; ++j) bytes[j] = 0;
        return false;
      }
      word_at_ = kWindowBytes;  // none
    }
    const uint32_t in_window = at - window_offset_;
    if (in_window / kWordBytes != word_at_) {
      word_at_ = in_window / kWordBytes;
      word_ = csr_.Read(spec::kMgmtMailboxDataRegister + word_at_ * kWordBytes);
    }
    bytes[i] = static_cast<uint8_t>(word_ >> (8 * (in_window % kWordBytes)));
  }
  return true;
}

void Device::Complete(const uint8_t* bytes, size_t count) {
  const bool was_broken = broken_;
  broken_ = false;
  WriteWords(spec::kMgmtMailboxDataRegister, bytes, count);
  csr_.Write(spec::kMgmtMailboxCompleteRegister, static_cast<uint32_t>(count));
  WaitFor(spec::kMgmtMailboxStatusRegister, kMailboxBusy, 0);
  broken_ = broken_ || was_broken;
}

void Device::PushEvent(const spec::RdmaEvent& event) {
  uint8_t bytes[spec::RdmaEvent::kBytes];
  event.Encode(bytes);
  // If the device is broken, the event may be lost.
  WaitFor(spec::kMgmtStatusRegister, spec::MgmtStatus{.event_full = true}.ToWord(), 0);
  WriteWords(spec::kMgmtEventDataRegister, bytes, sizeof(bytes));
  csr_.Write(spec::kMgmtEventPushRegister, 1);
}

}  // namespace vireo::firmware
