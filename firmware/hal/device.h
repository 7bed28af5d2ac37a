// SPDX-License-Identifier: Apache-2.0
// Register-level access to the device: typed registers, table entries, QP operations, the mailbox. Implements no object
// and no rule of RoCE.
//
// Every wait is bounded. When a limit is reached, or the device rejects a table access that this firmware's limits
// allow, the device is `broken`: from then on every operation but Complete returns at once and does nothing (reads
// return zeros), until Repair(). Callers check broken() once, at their end, and need no error path of their own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "firmware/hal/csr.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::firmware {

// The table that holds entries of a structure.
template <typename Entry>
inline constexpr spec::MgmtTable kTableOf = Entry::kHasNoTable;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableVirtqueue> = spec::MgmtTable::kVirtqueue;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableWindow> = spec::MgmtTable::kWindow;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableQpContext> = spec::MgmtTable::kQpContext;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableCqContext> = spec::MgmtTable::kCqContext;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableMr> = spec::MgmtTable::kMr;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableTranslation> = spec::MgmtTable::kTranslation;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableAh> = spec::MgmtTable::kAh;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableGid> = spec::MgmtTable::kGid;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableMacFilter> = spec::MgmtTable::kMacFilter;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableVlanFilter> = spec::MgmtTable::kVlanFilter;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableRssConfig> = spec::MgmtTable::kRss;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableMcast> = spec::MgmtTable::kMcast;
template <>
inline constexpr spec::MgmtTable kTableOf<spec::TableRss> = spec::MgmtTable::kRss;

// Words of a table's entry: a bit for each.
using Words = uint32_t;
constexpr Words WordsUpTo(size_t end) { return end == 0 ? 0 : ~Words{0} >> (32 - (end + 3) / 4); }
constexpr Words WordsFrom(size_t first, size_t end) {
  return WordsUpTo(end) & ~(first == 0 ? 0 : WordsUpTo(first / 4 * 4));
}
constexpr Words WordAt(size_t offset) { return WordsFrom(offset, offset + 1); }

// Groups of fields [tables.toml]. The first one, which a write sets: of these entries all of it is kept.
template <typename Entry>
inline constexpr Words kKeptWords =
    WordsUpTo(sizeof(uint64_t) * spec::kTableKeptWords[static_cast<size_t>(kTableOf<Entry>)]);
inline constexpr size_t kVirtqueueEnabledOffset = 24;
// Of which a read returns something.
template <typename Entry>
inline constexpr Words kReadWords = WordsUpTo(Entry::kBytes);
template <>
inline constexpr Words kReadWords<spec::TableVirtqueue> =
    kKeptWords<spec::TableVirtqueue> | WordAt(kVirtqueueEnabledOffset);
template <>
inline constexpr Words kReadWords<spec::TableQpContext> =
    kKeptWords<spec::TableQpContext> | WordAt(spec::TableQpContext::kEngineStateOffset) |
    WordAt(spec::TableQpContext::kNextPsnOffset) | WordAt(spec::TableQpContext::kExpectedPsnOffset);
// Of which a write takes something.
template <typename Entry>
constexpr Words WordsTaken(const Entry&) {
  return WordsUpTo(Entry::kBytes);
}
constexpr Words WordsTaken(const spec::TableVirtqueue&) { return kKeptWords<spec::TableVirtqueue>; }
constexpr Words WordsTaken(const spec::TableCqContext&) { return kKeptWords<spec::TableCqContext>; }
constexpr Words WordsTaken(const spec::TableMr&) { return kKeptWords<spec::TableMr>; }
constexpr Words WordsTaken(const spec::TableQpContext& context) {
  using Context = spec::TableQpContext;
  return kKeptWords<Context> |
         (context.load_requester ? WordsFrom(Context::kNextPsnOffset, Context::kExpectedPsnOffset) : 0) |
         (context.load_responder ? WordsFrom(Context::kExpectedPsnOffset, Context::kBytes) : 0);
}

class Device {
 public:
  // No wait reads its register more than `max_polls` times.
  Device(const Csr& csr, uint32_t max_polls) : csr_(csr), max_polls_(max_polls) {}

  bool broken() const { return broken_; }
  // Restarts: waits until no earlier operation is in progress. A drain may be.
  void Repair();

  // --- Registers: never fail ---
  uint32_t Read(uint32_t offset) const { return csr_.Read(offset); }
  void Write(uint32_t offset, uint32_t value) const { csr_.Write(offset, value); }
  // A register with fields: Get<spec::MgmtStatus>(spec::kMgmtStatusRegister).
  template <typename Register>
  Register Get(uint32_t offset) const {
    return Register::FromWord(csr_.Read(offset));
  }
  template <typename Register>
  void Put(uint32_t offset, const Register& value) const {
    csr_.Write(offset, value.ToWord());
  }
  // True when (register & mask) == value; false when the limit is reached: the device is then broken.
  bool WaitFor(uint32_t offset, uint32_t mask, uint32_t value);

  // --- Tables: complete when they return ---
  // Fields that are not in `words` are 0.
  template <typename Entry>
  Entry ReadEntry(uint32_t index, Words words = kReadWords<Entry>) {
    uint8_t bytes[Entry::kBytes]{};
    ReadTable(kTableOf<Entry>, index, words, bytes, Entry::kBytes);
    return Entry::Decode(bytes);
  }
  // For callers that can tolerate a failure: false, and the device is not broken, if it rejects the entry (bad parity).
  template <typename Entry>
  bool TryReadEntry(uint32_t index, Entry* entry, Words words = kReadWords<Entry>) {
    *entry = ReadEntry<Entry>(index, words);
    if (!refused_) return true;
    broken_ = refused_ = false;
    return false;
  }
  template <typename Entry>
  void WriteEntry(uint32_t index, const Entry& entry) {
    uint8_t bytes[Entry::kBytes];
    entry.Encode(bytes);
    WriteTable(kTableOf<Entry>, index, WordsTaken(entry), bytes, Entry::kBytes);
  }
  // Right after ReadEntry of the same entry: its other words, read or not, stay as they are.
  template <typename Entry>
  void RewriteEntry(uint32_t index, const Entry& entry, Words words) {
    uint8_t bytes[Entry::kBytes];
    entry.Encode(bytes);
    WriteTable(kTableOf<Entry>, index, words, bytes, Entry::kBytes);
  }
  template <typename Entry>
  void ClearEntry(uint32_t index) {
    ClearEntry(kTableOf<Entry>, index);
  }
  void ClearEntry(spec::MgmtTable table, uint32_t index) { RunTable(table, index, spec::MgmtTableOperation::kClear); }

  // --- QP operations ---
  // Starts an operation. It supersedes one in progress, which may only be a drain (see docs/firmware.md).
  void StartQp(uint32_t qpn, spec::QpOperation operation);
  // Starts an operation and waits until it is done.
  void RunQp(uint32_t qpn, spec::QpOperation operation);

  // --- Mailbox ---
  // Reads the sizes of the waiting command and discards the previous request.
  void OpenMailbox();
  uint32_t request_bytes() const { return request_bytes_; }    // device-readable
  uint32_t response_bytes() const { return response_bytes_; }  // device-writable
  // Copies bytes of the request, which must be within request_bytes(). Bytes are fetched from the host in chunks of the
  // window; the last chunk is cached. False: bus error, or the device is broken; `bytes` is then zeros.
  bool ReadRequest(uint64_t offset, uint8_t* bytes, size_t count);
  // Completes the command: writes the first `count` bytes to the host. Works on a broken device too, if its mailbox
  // does.
  void Complete(const uint8_t* bytes, size_t count);

  // Waits until there is room for the event.
  void PushEvent(const spec::RdmaEvent& event);

 private:
  void ReadTable(spec::MgmtTable table, uint32_t index, Words words, uint8_t* bytes, size_t count);
  void WriteTable(spec::MgmtTable table, uint32_t index, Words words, const uint8_t* bytes, size_t count);
  bool RunTable(spec::MgmtTable table, uint32_t index, spec::MgmtTableOperation operation);
  void WriteWords(uint32_t offset, const uint8_t* bytes, size_t count);
  bool Fetch(uint32_t offset);

  Csr csr_;
  uint32_t max_polls_;
  bool broken_ = false;
  bool refused_ = false;  // by the last table access, which broke the device
  uint32_t polled_ = 0;   // what the last wait has read

  // The device keeps table_data [tables.toml]: what is known of it need not be written again.
  static constexpr size_t kTableDataWords = 32;
  uint32_t table_data_[kTableDataWords]{};
  Words known_ = 0;
  static constexpr uint32_t kNoIndex = ~uint32_t{0};
  uint32_t table_index_ = kNoIndex;  // what the register holds

  uint32_t request_bytes_ = 0;
  uint32_t response_bytes_ = 0;
  bool window_valid_ = false;  // the window holds the request from window_offset_ on
  uint32_t window_offset_ = 0;
  // The word of the window that was read last.
  uint32_t word_at_ = 0;
  uint32_t word_ = 0;
};

}  // namespace vireo::firmware
