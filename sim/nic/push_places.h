// SPDX-License-Identifier: Apache-2.0
// What a driver pushes to a send queue, from its writes to the queue's notify page. (docs/decisions/0029)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class PushPlaces {
 public:
  struct Pushed {
    spec::RdmaPush end{};
    uint64_t address = 0;
    std::vector<uint8_t> bytes{};
  };

  // A write of 8 bytes at this offset of the page. It ends a push: what is complete, all places in order.
  std::optional<Pushed> Write(uint64_t offset, uint64_t value) {
    constexpr size_t kWord = spec::RdmaPush::kBytes;
    if (offset == spec::kRdmaPushEndOffset) {
      const size_t count = count_;
      count_ = 0;
      Pushed pushed{.end = spec::RdmaPush::FromWord(value), .address = words_[0], .bytes = {}};
      const size_t length = pushed.end.length;
      if (length < spec::RdmaSqBase::kBytes || length > spec::kRdmaPushMost) return std::nullopt;
      if (count != 1 + (length + kWord - 1) / kWord) return std::nullopt;
      for (size_t i = 0; i < length; ++i) {
        pushed.bytes.push_back(static_cast<uint8_t>(words_[1 + i / kWord] >> 8 * (i % kWord)));
      }
      return pushed;
    }
    const uint64_t place = (offset - spec::kRdmaPushOffset) / kWord;
    if (offset < spec::kRdmaPushOffset || offset % kWord != 0 || place >= words_.size()) return std::nullopt;
    if (place != 0 && place != count_) {
      count_ = 0;
      return std::nullopt;
    }
    words_[place] = value;
    count_ = place + 1;
    return std::nullopt;
  }

 private:
  std::array<uint64_t, 1 + spec::kRdmaPushMost / spec::RdmaPush::kBytes> words_{};  // the address first
  size_t count_ = 0;                                                                // written in order
};

}  // namespace vireo::sim
