// SPDX-License-Identifier: Apache-2.0
// A beat of a write client of the DMA write port.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "spec/gen/vireo_config.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Up to a beat of the widest datapath, stored in place: beats are too frequent for heap memory.
class BeatBytes {
 public:
  static constexpr size_t kMax = spec::kDatapathBitsMax / 8;

  BeatBytes() = default;
  template <typename Iterator>
  BeatBytes(Iterator first, Iterator last) {
    assign(first, last);
  }
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    size_ = static_cast<size_t>(last - first);
    assert(size_ <= kMax);
    std::copy(first, last, bytes_.begin());
  }
  // New ones are zero.
  void resize(size_t size) {
    assert(size <= kMax);
    if (size > size_) std::fill(bytes_.begin() + size_, bytes_.begin() + size, uint8_t{0});
    size_ = size;
  }
  size_t size() const { return size_; }
  const uint8_t* data() const { return bytes_.data(); }
  const uint8_t* begin() const { return data(); }
  const uint8_t* end() const { return data() + size_; }
  uint8_t operator[](size_t index) const { return bytes_[index]; }

 private:
  size_t size_ = 0;
  std::array<uint8_t, kMax> bytes_;
};

struct WriteBeat {
  spec::DmaWriteRequest request{};  // the same in every beat of a write
  BeatBytes data{};                 // a full beat; in the last one, at least the rest
  bool last{};
};

}  // namespace vireo::model
