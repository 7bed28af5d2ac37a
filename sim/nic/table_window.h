// SPDX-License-Identifier: Apache-2.0
// What firmware writes to the device's tables, seen at its management port. Firmware need not write a word of
// table_data that holds the value already (tables.toml), so what it holds is followed: words written and read, entries
// read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/nic/nic.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class TableWindow {
 public:
  static constexpr size_t kBytes = 128;
  struct Write {
    spec::MgmtTable table{};
    uint32_t index = 0;
    const uint8_t* entry = nullptr;  // kBytes, until the next event
  };

  // Of kReset, kCsrRead, kCsrWrite and kCsrCompletion; others have no effect. An entry that is written or cleared.
  std::optional<Write> OnEvent(const BoundaryEvent& event);

 private:
  std::optional<Write> OnWrite(uint64_t offset, uint32_t value);

  std::array<uint8_t, kBytes> data_{};
  uint32_t index_ = 0;
  std::optional<size_t> reads_;  // a word of table_data, that is not answered yet
  std::map<std::pair<spec::MgmtTable, uint32_t>, std::array<uint8_t, kBytes>> kept_;  // what a read returns
};

}  // namespace vireo::sim
