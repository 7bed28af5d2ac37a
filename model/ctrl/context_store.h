// SPDX-License-Identifier: Apache-2.0
// What table_command reads of the entries that firmware wrote: the first words of each (spec::kTableKeptWords), all
// tables one behind the other in one memory of 64-bit words with parity.
//
// Counterpart of rtl/ctrl/vireo_context_store.sv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/common/context_table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class ContextStore {
 public:
  explicit ContextStore(const spec::Config& config);

  bool Exists(spec::MgmtTable table, uint32_t index) const;
  // Words of an existing entry that are kept; 0: none.
  static size_t KeptWords(spec::MgmtTable table, uint32_t index);
  // Of the entry's first word.
  size_t AddressOf(spec::MgmtTable table, uint32_t index) const;

  size_t size() const { return words_.size(); }

  // One word in a cycle. A word with wrong parity sets `corrupt` and has no contents.
  void Write(Cycle cycle, size_t address, uint64_t word);
  uint64_t Read(Cycle cycle, size_t address, bool* corrupt);
  // A flip in any memory.
  void OnFlip(Cycle cycle, const spec::ContextFlip& flip);

 private:
  std::vector<uint32_t> entries_;  // by table
  std::vector<size_t> first_;      // address of its first entry, by table
  std::vector<uint64_t> words_;
  Flips flips_;
};

}  // namespace vireo::model
