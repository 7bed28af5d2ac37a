// SPDX-License-Identifier: Apache-2.0
// A mock of the device behind the management registers, as specified by csr.toml and tables.toml, without a datapath: a
// mailbox with commands posted by the test, table storage with both owners' fields, QP operations with configurable
// delay.
//
// Firmware accesses that violate the contract are recorded in violations().
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "firmware/hal/csr.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {

struct MailboxRequest {
  std::vector<uint8_t> readable{};
  uint32_t writable = 0;
  // Fetches of bytes from this offset fail.
  uint64_t fails_from = ~uint64_t{0};
};

struct QpOperationRecord {
  uint32_t qpn = 0;
  spec::QpOperation operation{};
  friend bool operator==(const QpOperationRecord&, const QpOperationRecord&) = default;
};

class MockDevice {
 public:
  using TableKey = std::pair<spec::MgmtTable, uint32_t>;
  // Entries that are not all zero.
  using Tables = std::map<TableKey, std::vector<uint8_t>>;
  struct State {
    Tables tables;
    std::map<uint32_t, uint32_t> registers;  // written by firmware for the datapath
    friend bool operator==(const State&, const State&) = default;
  };

  explicit MockDevice(const spec::Config& config, spec::Profile profile);

  firmware::Csr MakeCsr();

  // --- Driver and host ---
  void SetFeatures(const std::set<uint32_t>& bits);  // and FEATURES_OK
  void SetDriverOk();
  void EnableQueue(uint32_t index, uint16_t size = 64);
  void ResetQueue(uint32_t index);  // queue_reset = 1; completion is in queue_resets_done
  void ResetDevice();               // device_status = 0
  bool IsResetPending() const { return reset_pending_; }
  void SetLink(bool up);
  void RaiseFatal(spec::FatalCause cause);
  void Post(const MailboxRequest& request);
  bool HasRequest() const { return !requests_.empty(); }
  // All answers, oldest first.
  std::vector<std::vector<uint8_t>> answers;

  // --- Datapath ---
  template <typename Entry>
  Entry Get(spec::MgmtTable table, uint32_t index) const {
    const auto found = tables_.find({table, index});
    const std::vector<uint8_t> zero(Entry::kBytes);
    return Entry::Decode((found == tables_.end() ? zero : found->second).data());
  }
  template <typename Entry>
  void Set(spec::MgmtTable table, uint32_t index, const Entry& entry) {
    std::vector<uint8_t> bytes(Entry::kBytes);
    entry.Encode(bytes.data());
    Store({table, index}, bytes);
  }
  spec::TableQpContext Qp(uint32_t qpn) const { return Get<spec::TableQpContext>(spec::MgmtTable::kQpContext, qpn); }
  void SetEngineState(uint32_t qpn, spec::IbQpState state);
  void SetSendOutstanding(uint32_t qpn, uint16_t count);
  // A work request binds a memory window, or ends that.
  void SetBound(uint32_t mwn, bool is_bound, uint32_t mrn = 0, uint32_t qpn = 0);
  // A work request registers or invalidates a region.
  void SetAlive(uint32_t mrn, bool is_alive, uint8_t key);
  // A bind of a window that is executed just before the next write of the region's entry.
  struct LateBind {
    uint32_t mwn, mrn;
  };
  std::optional<LateBind> binds_at_write;
  // Discarded work that outlives the stop of a QP, and the clear of its entry.
  std::optional<uint32_t> has_old_work;

  // --- Observed by the test ---
  const Tables& tables() const { return tables_; }
  State Snapshot() const;
  void Force(uint32_t offset, uint32_t value) { registers_[offset] = value; }
  uint32_t Register(uint32_t offset) const { return registers_.at(offset); }
  template <typename T>
  T RegisterAs(uint32_t offset) const {
    return T::FromWord(registers_.at(offset));
  }
  bool IsInterruptRaised() const;
  std::vector<spec::RdmaEvent> events;
  std::vector<uint32_t> queue_resets_done;
  std::vector<QpOperationRecord> qp_operations;  // as started
  uint64_t accesses = 0;
  uint64_t table_words_written = 0;
  uint64_t fetches = 0;
  const std::vector<std::string>& violations() const { return violations_; }

  // --- Behaviour ---
  uint64_t time_ns = 0;
  uint32_t table_delay = 1;  // reads of a busy bit until it clears
  uint32_t qp_delay = 3;
  uint32_t mailbox_delay = 2;
  uint32_t idle_delay = 2;
  uint32_t quiet_delay = 2;
  uint32_t event_delay = 0;  // reads of status after an event until there is room for the next one
  bool is_table_stuck = false;
  bool is_qp_stuck = false;
  bool is_fetch_stuck = false;
  bool is_complete_stuck = false;
  bool is_never_idle = false;
  bool is_never_quiet = false;
  bool is_event_stuck = false;  // there is never room
  bool keeps_drains = false;    // an outstanding drain is not aborted by another operation
  std::set<spec::MgmtTable> missing_tables;
  std::set<TableKey> corrupt_entries;       // have bad parity until they are written
  bool discards_at_fetch = false;           // the driver resets the control queue during the next mailbox fetch
  std::optional<uint32_t> drains_at_fetch;  // QP whose drain completes at the next mailbox fetch
  // Number of table operations after which the tables are stuck.
  std::optional<uint64_t> tables_stick_after;

 private:
  uint32_t Read(uint32_t offset);
  void Write(uint32_t offset, uint32_t value);
  void Store(const TableKey& key, const std::vector<uint8_t>& bytes);
  void StartTable(uint32_t value);
  void DoTable();
  void WriteByOwner(const TableKey& key, const uint8_t* written);
  uint32_t EntryBytes(const TableKey& key) const;
  static size_t KeptBytes(const TableKey& key);
  uint32_t EntryCount(spec::MgmtTable table) const;
  void StartQp(uint32_t value);
  bool IsQpDone();
  void FinishQp();
  void Fetch(uint32_t offset);
  void Complete(uint32_t count);
  void Raise(void (*set)(spec::MgmtInterruptCause&));
  void Violation(const std::string& text) { violations_.push_back(text); }
  uint8_t* Window(uint32_t first_register);

  const spec::Config config_;
  Tables tables_;
  std::map<uint32_t, std::pair<bool, uint8_t>> alive_;  // regions that work requests have changed: valid, key
  std::map<uint32_t, uint32_t> registers_;
  std::vector<uint8_t> table_window_, mailbox_window_, event_window_;
  std::vector<std::string> violations_;

  uint32_t event_polls_ = 0;
  uint32_t table_polls_ = 0;
  uint32_t time_high_ = 0;  // as the read of its low half has kept it
  bool table_busy_ = false;
  bool table_error_ = false;
  uint64_t table_operations_ = 0;
  spec::MgmtTableCommand table_command_;

  bool qp_busy_ = false;
  uint32_t qp_polls_ = 0;
  spec::MgmtQpCommand qp_command_;

  std::deque<MailboxRequest> requests_;
  uint32_t mailbox_polls_ = 0;
  bool mailbox_busy_ = false;
  bool mailbox_completing_ = false;
  bool was_discarded_ = false;  // the command that firmware still serves
  bool mailbox_dma_error_ = false;

  std::deque<uint32_t> queue_resets_;
  bool reset_pending_ = false;
  uint32_t idle_polls_ = 0;
  uint32_t quiet_polls_ = 0;
};

}  // namespace vireo::verif
