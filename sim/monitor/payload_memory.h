// SPDX-License-Identifier: Apache-2.0
// Memory as the device has read it: what each byte was when it was last read, and the time before. For one question: is
// this payload, which the device sends, what it has read there?
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "sim/nic/nic.h"

namespace vireo::sim::monitor {

class PayloadMemory {
 public:
  enum class Verdict : uint8_t { kEqual, kOther, kNotRead, kUnknown };

  void Clear();
  // The bytes do not cross a multiple of 4 KiB, as every DMA access (nic.h).
  void Read(Cycle cycle, uint64_t address, std::span<const uint8_t> data);
  // Other threads of the host may change memory while the device reads it more than once: kUnknown if a part has
  // changed twice within kRecent.
  Verdict Compare(Cycle cycle, uint64_t address, std::span<const uint8_t> data);
  // Pages were dropped to make room: kNotRead may be one of them.
  bool has_forgotten() const { return has_forgotten_; }

  static constexpr unsigned kPageShift = 12;
  static constexpr size_t kMostPages = 1024;  // read last: far more than a device has on its way to the wire

 private:
  static constexpr unsigned kGranuleShift = 6;
  static constexpr size_t kPageBytes = size_t{1} << kPageShift, kGranules = kPageBytes >> kGranuleShift;
  static constexpr Cycle kRecent = 1'000'000;

  // What is known of the bytes before they were read again with another content.
  struct Changes {
    std::array<uint8_t, kPageBytes> previous{};
    std::array<Cycle, kGranules> last{}, before{};
  };
  struct Page {
    std::array<uint64_t, kGranules> is_read{};  // a bit per byte
    uint32_t whole = 0;                         // granules of which every byte was read
    std::array<uint8_t, kPageBytes> bytes{};
    std::unique_ptr<Changes> changes;
  };
  using Pages = std::unordered_map<uint64_t, std::unique_ptr<Page>>;

  static uint64_t MaskOf(size_t begin, size_t end, size_t granule);
  struct IsRead {
    bool all = true, any = false;
  };
  static IsRead ReadOf(const Page& page, size_t begin, size_t bytes);
  Page* Find(uint64_t number);
  static void KeepChanges(Cycle cycle, Page& page, size_t begin, std::span<const uint8_t> data);
  static void MarkRead(Page& page, size_t begin, size_t bytes);
  Verdict ComparePart(Cycle cycle, uint64_t address, std::span<const uint8_t> data);

  Pages young_, old_;  // by address >> kPageShift
  uint64_t last_number_ = 0;
  Page* last_ = nullptr;
  bool has_forgotten_ = false;
};

}  // namespace vireo::sim::monitor
