// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/board_frame.h"

#include <array>
#include <utility>

#include "spec/gen/vireo_config.h"

namespace vireo::sim {
namespace {

constexpr size_t kCrcBytes = 4;

// CRC-32 of Ethernet, reflected. [IEEE 802.3, 3.2.9]
constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb8'8320 : 0);
    table[i] = crc;
  }
  return table;
}();

uint32_t Crc(std::span<const uint8_t> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace

std::vector<uint8_t> EncodeBoardFrame(const spec::BoardHeader& header, std::span<const uint8_t> payload) {
  std::vector<uint8_t> plain(spec::BoardHeader::kBytes);
  header.Encode(plain.data());
  plain.insert(plain.end(), payload.begin(), payload.end());
  const uint32_t crc = Crc(plain);
  for (size_t i = 0; i < kCrcBytes; ++i) plain.push_back(static_cast<uint8_t>(crc >> 8 * i));
  std::vector<uint8_t> line = {spec::kBoardFlag};
  for (const uint8_t byte : plain) {
    const bool is_stuffed = byte == spec::kBoardFlag || byte == spec::kBoardEscape;
    if (is_stuffed) line.push_back(spec::kBoardEscape);
    line.push_back(is_stuffed ? static_cast<uint8_t>(byte ^ spec::kBoardEscapeBit) : byte);
  }
  line.push_back(spec::kBoardFlag);
  return line;
}

std::optional<BoardFrame> BoardFrameDecoder::Take(uint8_t byte) {
  constexpr size_t kLongest = spec::BoardHeader::kBytes + spec::kBoardPayloadMax + kCrcBytes;
  if (byte != spec::kBoardFlag) {
    if (byte == spec::kBoardEscape) {
      escaped_ = true;
      return std::nullopt;
    }
    // One byte more than the longest frame has tells that this one is too long.
    if (bytes_.size() <= kLongest) bytes_.push_back(escaped_ ? byte ^ spec::kBoardEscapeBit : byte);
    escaped_ = false;
    return std::nullopt;
  }
  const std::vector<uint8_t> bytes = std::exchange(bytes_, {});
  // What is in front of the first flag is no whole frame; nor is one that ends with an escape.
  const bool was_in_frame = std::exchange(in_frame_, true), was_escaped = std::exchange(escaped_, false);
  const bool is_whole = was_in_frame && !was_escaped;
  if (bytes.empty()) return std::nullopt;
  const std::span<const uint8_t> plain(bytes.data(), bytes.size() < kCrcBytes ? 0 : bytes.size() - kCrcBytes);
  bool is_good = is_whole && bytes.size() <= kLongest && plain.size() >= spec::BoardHeader::kBytes;
  if (is_good) {
    const uint32_t crc = Crc(plain);
    for (size_t i = 0; i < kCrcBytes; ++i) is_good = is_good && plain.data()[plain.size() + i] == (crc >> 8 * i & 0xff);
  }
  if (!is_good) {
    ++damaged_;
    return std::nullopt;
  }
  return BoardFrame{.header = spec::BoardHeader::Decode(plain.data()),
                    .payload = {plain.begin() + spec::BoardHeader::kBytes, plain.end()}};
}

uint32_t BoardConfigHash(const spec::Config& config) {
  uint32_t hash = 0x811c'9dc5;
  for (const spec::ParameterInfo& parameter : spec::kParameterInfo) {
    const uint32_t value = config.*parameter.member;
    for (int i = 0; i < 4; ++i) hash = (hash ^ (value >> 8 * i & 0xff)) * 0x0100'0193;
  }
  return hash;
}

}  // namespace vireo::sim
