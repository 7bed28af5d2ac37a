// SPDX-License-Identifier: Apache-2.0
#include "sim/wire/pcapng.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vireo::sim {
namespace {

// Block types, options and flags of draft-ietf-opsawg-pcapng, sections 3.5, 4.1, 4.2 and 4.3.
constexpr uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr uint32_t kInterfaceDescription = 1;
constexpr uint32_t kEnhancedPacket = 6;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint16_t kLinkTypeEthernet = 1;
constexpr uint16_t kOptEnd = 0;
constexpr uint16_t kOptComment = 1;
constexpr uint16_t kShbUserApplication = 4;
constexpr uint16_t kIfName = 2;
constexpr uint16_t kIfDescription = 3;
constexpr uint16_t kIfSpeed = 8;
constexpr uint16_t kIfTimestampResolution = 9;
constexpr uint16_t kEpbFlags = 2;
constexpr uint32_t kFlagInbound = 1;
constexpr uint32_t kFlagOutbound = 2;
constexpr uint32_t kFlagCrcError = uint32_t{1} << 24;
constexpr size_t kMaxOptionBytes = 0xffff;

}  // namespace

PcapngWriter::PcapngWriter(const std::string& path, std::string_view comment)
    : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) {
    error_ = path + ": " + std::strerror(errno);
    return;
  }
  Begin(kSectionHeader);
  Put32(kByteOrderMagic);
  Put16(1);  // version 1.0
  Put16(0);
  Put32(0xffffffff);  // length of the section: unspecified
  Put32(0xffffffff);
  if (!comment.empty()) PutOption(kOptComment, comment);
  PutOption(kShbUserApplication, "Vireo");
  PutOption(kOptEnd, "");
  End();
}

uint32_t PcapngWriter::AddInterface(std::string_view name, std::string_view description, uint32_t speed_mbps) {
  Begin(kInterfaceDescription);
  Put16(kLinkTypeEthernet);
  Put16(0);
  Put32(0);  // frames are never truncated
  PutOption(kIfName, name);
  if (!description.empty()) PutOption(kIfDescription, description);
  if (speed_mbps != 0) {
    const uint64_t bits_per_second = uint64_t{speed_mbps} * 1'000'000;
    uint8_t value[8];
    for (unsigned i = 0; i < 8; ++i) value[i] = static_cast<uint8_t>(bits_per_second >> 8 * i);
    PutOption(kIfSpeed, value, sizeof(value));
  }
  const uint8_t nanoseconds = 9;  // 10^-9 s
  PutOption(kIfTimestampResolution, &nanoseconds, 1);
  PutOption(kOptEnd, "");
  End();
  return interfaces_++;
}

void PcapngWriter::Write(uint32_t interface, Picoseconds time, Direction direction, const WireFrame& frame) {
  const uint64_t nanoseconds = time / kPicosecondsPerNanosecond;
  const auto bytes = static_cast<uint32_t>(frame.bytes.size());
  Begin(kEnhancedPacket);
  Put32(interface);
  Put32(static_cast<uint32_t>(nanoseconds >> 32));
  Put32(static_cast<uint32_t>(nanoseconds));
  Put32(bytes);
  Put32(bytes);
  PutPadded(frame.bytes.data(), bytes);
  const uint32_t flags =
      (direction == Direction::kIn ? kFlagInbound : kFlagOutbound) | (frame.bad_fcs ? kFlagCrcError : 0);
  uint8_t value[4];
  for (unsigned i = 0; i < 4; ++i) value[i] = static_cast<uint8_t>(flags >> 8 * i);
  PutOption(kEpbFlags, value, sizeof(value));
  if (!frame.comment.empty()) PutOption(kOptComment, frame.comment);
  PutOption(kOptEnd, "");
  End();
  ++frames_;
}

bool PcapngWriter::Flush() {
  if (error_.empty() && std::fflush(file_.get()) != 0) error_ = path_ + ": " + std::strerror(errno);
  return error_.empty();
}

void PcapngWriter::Put16(uint16_t value) {
  block_.push_back(static_cast<uint8_t>(value));
  block_.push_back(static_cast<uint8_t>(value >> 8));
}

void PcapngWriter::Put32(uint32_t value) {
  Put16(static_cast<uint16_t>(value));
  Put16(static_cast<uint16_t>(value >> 16));
}

void PcapngWriter::PutPadded(const void* data, size_t bytes) {
  const auto* first = static_cast<const uint8_t*>(data);
  block_.insert(block_.end(), first, first + bytes);
  block_.resize((block_.size() + 3) / 4 * 4);
}

void PcapngWriter::PutOption(uint16_t code, const void* data, size_t bytes) {
  bytes = std::min(bytes, kMaxOptionBytes);
  Put16(code);
  Put16(static_cast<uint16_t>(bytes));
  PutPadded(data, bytes);
}

void PcapngWriter::Begin(uint32_t type) {
  block_.clear();
  Put32(type);
  Put32(0);  // the length, set by End()
}

void PcapngWriter::End() {
  const auto length = static_cast<uint32_t>(block_.size() + 4);
  for (unsigned i = 0; i < 4; ++i) block_[4 + i] = static_cast<uint8_t>(length >> 8 * i);
  Put32(length);
  if (!error_.empty()) return;
  if (std::fwrite(block_.data(), 1, block_.size(), file_.get()) != block_.size()) {
    error_ = path_ + ": " + std::strerror(errno);
  }
}

}  // namespace vireo::sim
