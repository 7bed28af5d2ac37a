// SPDX-License-Identifier: Apache-2.0
#include "sim/nic/table_window.h"

#include <algorithm>
#include <cstring>

namespace vireo::sim {
namespace {

constexpr size_t kWordBytes = sizeof(uint32_t);

uint32_t Value(const BoundaryEvent& event) {
  uint32_t value = 0;
  for (size_t i = 0; i < std::min(event.payload.size(), kWordBytes); ++i) {
    value |= uint32_t{event.payload[i]} << 8 * i;
  }
  return value;
}

std::optional<size_t> WordOf(uint64_t offset) {
  if (offset < spec::kMgmtTableDataRegister || offset >= spec::kMgmtTableDataRegister + TableWindow::kBytes) return {};
  return (offset - spec::kMgmtTableDataRegister) / kWordBytes * kWordBytes;
}

// Bits that only request an action read 0.
template <typename Entry, typename Clear>
void Change(std::array<uint8_t, TableWindow::kBytes>& bytes, const Clear& clear) {
  auto entry = Entry::Decode(bytes.data());
  clear(entry);
  entry.Encode(bytes.data());
}

std::array<uint8_t, TableWindow::kBytes> Kept(spec::MgmtTable table, std::array<uint8_t, TableWindow::kBytes> bytes) {
  switch (table) {
    case spec::MgmtTable::kVirtqueue:
      Change<spec::TableVirtqueue>(bytes, [](auto& entry) { entry.reset_positions = false; });
      break;
    case spec::MgmtTable::kQpContext:
      Change<spec::TableQpContext>(bytes, [](auto& entry) { entry.load_requester = entry.load_responder = false; });
      break;
    case spec::MgmtTable::kCqContext:
      Change<spec::TableCqContext>(
          bytes, [](auto& entry) { entry.set_solicited = entry.set_next_completion = entry.set_failed = false; });
      break;
    default: break;
  }
  const auto words = static_cast<size_t>(spec::kTableKeptWords[static_cast<size_t>(table)]);
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(words * sizeof(uint64_t)), bytes.end(), uint8_t{0});
  return bytes;
}

}  // namespace

std::optional<TableWindow::Write> TableWindow::OnEvent(const BoundaryEvent& event) {
  switch (event.kind) {
    case EventKind::kReset: *this = {}; return {};
    case EventKind::kCsrRead: reads_ = WordOf(event.address); return {};
    case EventKind::kCsrCompletion:
      if (const auto word = std::exchange(reads_, {})) {
        const uint32_t value = Value(event);
        std::memcpy(&data_[*word], &value, kWordBytes);
      }
      return {};
    case EventKind::kCsrWrite: return OnWrite(event.address, Value(event));
    default: return {};
  }
}

std::optional<TableWindow::Write> TableWindow::OnWrite(uint64_t offset, uint32_t value) {
  if (const auto word = WordOf(offset)) {
    std::memcpy(&data_[*word], &value, kWordBytes);
    return {};
  }
  if (offset == spec::kMgmtTableIndexRegister) index_ = value;
  if (offset != spec::kMgmtTableCommandRegister) return {};
  const auto command = spec::MgmtTableCommand::FromWord(value);
  const std::pair key(command.table_id, index_);
  const bool is_kept = static_cast<size_t>(command.table_id) < std::size(spec::kTableKeptWords) &&
                       spec::kTableKeptWords[static_cast<size_t>(command.table_id)] != 0;
  switch (command.operation) {
    case spec::MgmtTableOperation::kRead: {
      const auto found = kept_.find(key);
      data_ = {};
      if (found != kept_.end()) data_ = found->second;
      return {};
    }
    case spec::MgmtTableOperation::kWrite:
      if (is_kept) kept_[key] = Kept(command.table_id, data_);
      break;
    case spec::MgmtTableOperation::kClear:
      data_ = {};
      kept_.erase(key);
      break;
    default: return {};
  }
  return Write{.table = command.table_id, .index = index_, .entry = data_.data()};
}

}  // namespace vireo::sim
