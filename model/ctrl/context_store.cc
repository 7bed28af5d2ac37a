// SPDX-License-Identifier: Apache-2.0
#include "model/ctrl/context_store.h"

#include <iterator>

#include "model/virtio/queue_count.h"

namespace vireo::model {

using spec::MgmtTable;

namespace {

constexpr uint32_t kVlans = 4096;  // IEEE 802.1Q, 9.6: VID has 12 bits

uint32_t EntriesOf(const spec::Config& config, MgmtTable table) {
  switch (table) {
    case MgmtTable::kVirtqueue:
    case MgmtTable::kWindow: return QueuesOf(config);
    case MgmtTable::kQpContext: return config.num_qps;
    case MgmtTable::kCqContext: return config.num_cqs;
    case MgmtTable::kMr: return config.num_mrs;
    case MgmtTable::kTranslation: return config.num_translations;
    case MgmtTable::kAh: return config.num_ahs;
    case MgmtTable::kGid: return config.num_gids;
    case MgmtTable::kMacFilter: return spec::kTableMacFilterEntries;
    case MgmtTable::kVlanFilter: return kVlans / spec::kTableVlanFilterBits;
    case MgmtTable::kRss: return 1 + spec::kTableRssQueues / spec::TableRss::kBytes;
    case MgmtTable::kMcast: return config.max_mcast_attach;
  }
  return 0;
}

}  // namespace

ContextStore::ContextStore(const spec::Config& config) {
  size_t words = 0;
  for (size_t i = 0; i < std::size(spec::kTableKeptWords); ++i) {
    const auto table = static_cast<MgmtTable>(i);
    entries_.push_back(EntriesOf(config, table));
    first_.push_back(words);
    words += spec::kTableKeptWords[i] * size_t{table == MgmtTable::kRss ? 1 : entries_.back()};
  }
  words_.resize(words);
}

bool ContextStore::Exists(MgmtTable table, uint32_t index) const {
  const auto id = static_cast<size_t>(table);
  return id < entries_.size() && index < entries_[id];
}

size_t ContextStore::KeptWords(MgmtTable table, uint32_t index) {
  return table == MgmtTable::kRss && index != 0 ? 0 : spec::kTableKeptWords[static_cast<size_t>(table)];
}

size_t ContextStore::AddressOf(MgmtTable table, uint32_t index) const {
  const auto id = static_cast<size_t>(table);
  return first_[id] + index * size_t{spec::kTableKeptWords[id]};
}

void ContextStore::Write(Cycle cycle, size_t address, uint64_t word) {
  flips_.Write(cycle, address);
  words_.at(address) = word;
}

uint64_t ContextStore::Read(Cycle cycle, size_t address, bool* corrupt) {
  if (!flips_.IsCorrupt(cycle, address)) return words_.at(address);
  *corrupt = true;
  return 0;
}

void ContextStore::OnFlip(Cycle cycle, const spec::ContextFlip& flip) {
  if (flip.ram == spec::ContextRam::kManagementContext) flips_.Flip(cycle, flip.index, flip.index < words_.size());
}

}  // namespace vireo::model
