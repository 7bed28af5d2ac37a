// SPDX-License-Identifier: Apache-2.0
#include "sim/monitor/payload_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::sim::monitor {

void PayloadMemory::Clear() {
  young_.clear();
  old_.clear();
  last_ = nullptr;
  has_forgotten_ = false;
}

// Moves a page that was found to those that stay longest.
PayloadMemory::Page* PayloadMemory::Find(uint64_t number) {
  if (last_ != nullptr && last_number_ == number) return last_;
  auto found = young_.find(number);
  if (found == young_.end()) {
    auto node = old_.extract(number);
    if (node.empty()) return nullptr;
    found = young_.insert(std::move(node)).position;
  }
  last_number_ = number;
  return last_ = found->second.get();
}

void PayloadMemory::Read(Cycle cycle, uint64_t address, std::span<const uint8_t> data) {
  const uint64_t number = address >> kPageShift;
  const size_t begin = address % kPageBytes, bytes = std::min(data.size(), kPageBytes - begin);
  Page* page = Find(number);
  if (page == nullptr) {
    if (young_.size() >= kMostPages) {
      has_forgotten_ |= !old_.empty();
      old_ = std::exchange(young_, {});
    }
    last_number_ = number;
    page = last_ = young_.emplace(number, std::make_unique<Page>()).first->second.get();
  }
  uint8_t* const at = page->bytes.data() + begin;
  const IsRead is_read = ReadOf(*page, begin, bytes);
  if (is_read.all && std::memcmp(at, data.data(), bytes) == 0) return;
  if (is_read.any) KeepChanges(cycle, *page, begin, data.first(bytes));
  if (!is_read.all) MarkRead(*page, begin, bytes);
  std::memcpy(at, data.data(), bytes);
}

// Of what was read before.
void PayloadMemory::KeepChanges(Cycle cycle, Page& page, size_t begin, std::span<const uint8_t> data) {
  const uint8_t* const at = page.bytes.data() + begin;
  const size_t bytes = data.size();
  for (size_t done = 0; done < bytes;) {
    const size_t granule = (begin + done) >> kGranuleShift;
    const size_t part = std::min(bytes - done, ((granule + 1) << kGranuleShift) - begin - done);
    const uint64_t mask = MaskOf(begin + done, begin + done + part, granule);
    if ((page.is_read.at(granule) & mask) != 0 && std::memcmp(at + done, data.data() + done, part) != 0) {
      if (page.changes == nullptr) {
        page.changes = std::make_unique<Changes>();
        page.changes->previous = page.bytes;
      }
      page.changes->before.at(granule) = std::exchange(page.changes->last.at(granule), cycle);
      std::memcpy(page.changes->previous.data() + begin + done, at + done, part);
    }
    done += part;
  }
}

void PayloadMemory::MarkRead(Page& page, size_t begin, size_t bytes) {
  const size_t end = begin + bytes;
  for (size_t granule = begin >> kGranuleShift; granule << kGranuleShift < end; ++granule) {
    uint64_t& is_read = page.is_read.at(granule);
    const uint64_t before = std::exchange(is_read, is_read | MaskOf(begin, end, granule));
    if (before != ~uint64_t{0} && is_read == ~uint64_t{0}) ++page.whole;
  }
}

// The bits of the bytes from `begin` to `end` that are in the granule.
uint64_t PayloadMemory::MaskOf(size_t begin, size_t end, size_t granule) {
  constexpr size_t kBits = size_t{1} << kGranuleShift;
  const size_t first = granule * kBits;
  const size_t low = begin > first ? begin - first : 0, high = std::min(end - first, kBits);
  return (~uint64_t{0} >> (kBits - (high - low))) << low;
}

PayloadMemory::IsRead PayloadMemory::ReadOf(const Page& page, size_t begin, size_t bytes) {
  if (page.whole == kGranules) return {.all = true, .any = true};
  IsRead is_read;
  const size_t end = begin + bytes;
  for (size_t granule = begin >> kGranuleShift; granule << kGranuleShift < end; ++granule) {
    const uint64_t mask = MaskOf(begin, end, granule), read = page.is_read.at(granule) & mask;
    is_read.all = is_read.all && read == mask;
    is_read.any = is_read.any || read != 0;
  }
  return is_read;
}

PayloadMemory::Verdict PayloadMemory::Compare(Cycle cycle, uint64_t address, std::span<const uint8_t> data) {
  while (!data.empty()) {
    const size_t part = std::min<size_t>(data.size(), kPageBytes - address % kPageBytes);
    const Verdict verdict = ComparePart(cycle, address, data.first(part));
    if (verdict != Verdict::kEqual) return verdict;
    address += part;
    data = data.subspan(part);
  }
  return Verdict::kEqual;
}

PayloadMemory::Verdict PayloadMemory::ComparePart(Cycle cycle, uint64_t address, std::span<const uint8_t> data) {
  const Page* const page = Find(address >> kPageShift);
  if (page == nullptr) return Verdict::kNotRead;
  const size_t begin = address % kPageBytes;
  if (!ReadOf(*page, begin, data.size()).all) return Verdict::kNotRead;
  if (std::memcmp(page->bytes.data() + begin, data.data(), data.size()) == 0) return Verdict::kEqual;
  for (size_t i = 0; i < data.size(); ++i) {
    if (page->bytes.at(begin + i) == data[i]) continue;
    if (page->changes == nullptr) return Verdict::kOther;
    const Changes& changes = *page->changes;
    const size_t granule = (begin + i) >> kGranuleShift;
    const bool was_changed = changes.last.at(granule) != 0;
    if (was_changed && changes.previous.at(begin + i) == data[i]) continue;
    const Cycle before = changes.before.at(granule);
    return before != 0 && cycle - before < kRecent ? Verdict::kUnknown : Verdict::kOther;
  }
  return Verdict::kEqual;
}

}  // namespace vireo::sim::monitor
