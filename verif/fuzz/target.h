// SPDX-License-Identifier: Apache-2.0
// A fuzzing target: one source file that defines Seeds() and LLVMFuzzerTestOneInput(), with GoogleTest expectations.
// Linked twice: with libFuzzer (libfuzzer_main.cc; the first failed expectation ends the run, and the input is kept),
// and as an ordinary test of its seeds and regression inputs (corpus_test.cc). See docs/fuzzing.md.
//
// Inputs must be deterministic: state kept between inputs (a simulation that is slow to build) must not affect
// expectations. Single-threaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vireo::sim {

using Bytes = std::vector<uint8_t>;

// Valid inputs as the start of mutation. Deterministic.
std::vector<Bytes> Seeds();

// Reads an input from its front. Beyond its end all bytes are 0.
class InputReader {
 public:
  explicit InputReader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  bool is_empty() const { return rest_.empty(); }
  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  uint16_t U16() { return static_cast<uint16_t>(Byte() | Byte() << 8); }
  uint32_t U32() { return U16() | static_cast<uint32_t>(U16()) << 16; }
  uint64_t U64() { return U32() | uint64_t{U32()} << 32; }
  // Up to `count` bytes.
  std::span<const uint8_t> Take(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  // Exactly `count` bytes, padded with 0.
  Bytes Fill(size_t count) {
    const auto taken = Take(count);
    Bytes bytes(taken.begin(), taken.end());
    bytes.resize(count);
    return bytes;
  }
  std::span<const uint8_t> Rest() { return Take(rest_.size()); }

 private:
  std::span<const uint8_t> rest_;
};

// Appends to a seed, little-endian.
inline void Put(Bytes& seed, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) seed.push_back(static_cast<uint8_t>(value >> 8 * i));
}
inline void Append(Bytes& seed, std::span<const uint8_t> more) { seed.insert(seed.end(), more.begin(), more.end()); }

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
