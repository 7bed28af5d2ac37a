// SPDX-License-Identifier: Apache-2.0
// The vfio-user messages (QEMU's docs/interop/vfio-user, protocol 0.0) that a virtio-net NIC needs, and their framing:
// whole messages on a Unix stream socket, file descriptors with the message's first byte. Numbers are in host byte
// order. Names of <linux/vfio.h> are used where it has them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::host::vfio_user {

enum class Command : uint16_t {
  kVersion = 1,
  kDmaMap = 2,
  kDmaUnmap = 3,
  kGetInfo = 4,
  kGetRegionInfo = 5,
  kGetRegionIoFds = 6,
  kGetIrqInfo = 7,
  kSetIrqs = 8,
  kRegionRead = 9,
  kRegionWrite = 10,
  kDmaRead = 11,   // server to client
  kDmaWrite = 12,  // server to client
  kReset = 13,
  kRegionWriteMulti = 15,
};

struct Header {
  static constexpr uint32_t kTypeMask = 0xf, kCommand = 0, kReply = 1, kNoReply = 1U << 4, kError = 1U << 5;
  uint16_t id = 0;  // of a command; its reply repeats it
  uint16_t command = 0;
  uint32_t bytes = 0;  // of the message, header included
  uint32_t flags = 0;
  uint32_t error = 0;  // errno, with kError
};

struct Version {
  uint16_t major = 0, minor = 0;  // JSON follows, with its terminating zero
};
struct DmaMap {
  static constexpr uint32_t kReadable = 1, kWriteable = 2;
  uint32_t argsz = sizeof(DmaMap), flags = kReadable | kWriteable;
  uint64_t offset = 0, address = 0, size = 0;
};
struct DmaUnmap {
  uint32_t argsz = sizeof(DmaUnmap), flags = 0;
  uint64_t address = 0, size = 0;
};
struct DeviceInfo {
  uint32_t argsz = sizeof(DeviceInfo), flags = 0, regions = 0, irqs = 0;
};
struct RegionInfo {
  uint32_t argsz = sizeof(RegionInfo), flags = 0, index = 0, cap_offset = 0;
  uint64_t size = 0, offset = 0;
};
struct IrqInfo {
  uint32_t argsz = sizeof(IrqInfo), flags = 0, index = 0, count = 0;
};
struct IrqSet {
  uint32_t argsz = sizeof(IrqSet), flags = 0, index = 0, start = 0, count = 0;
};
struct RegionAccess {
  uint64_t offset = 0;
  uint32_t region = 0, count = 0;
};
struct SmallWrite {  // one of kRegionWriteMulti, which starts with their count (8 bytes)
  RegionAccess access;
  uint8_t data[8]{};
};
struct DmaAccess {
  uint64_t address = 0, count = 0;
};
static_assert(sizeof(Header) == 16 && sizeof(DmaMap) == 32 && sizeof(DmaUnmap) == 24 && sizeof(RegionInfo) == 32);
static_assert(sizeof(IrqSet) == 20 && sizeof(RegionAccess) == 16 && sizeof(SmallWrite) == 24);

// Defaults of peers that do not negotiate a value.
inline constexpr uint32_t kDefaultTransfer = 1U << 20;
inline constexpr size_t kDefaultFds = 1;
// Limits of a received message.
inline constexpr uint32_t kMaxMessageBytes = kDefaultTransfer + 256;
inline constexpr size_t kMaxFds = 16;

template <typename T>
std::span<const uint8_t> BytesOf(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}
// `bytes` holds at least sizeof(T).
template <typename T>
T Get(std::span<const uint8_t> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

struct Message {
  Header header;
  std::vector<uint8_t> payload;
  std::vector<FileDescriptor> fds;
  bool has_lost_fds = false;  // there were more than kMaxFds

  bool is_reply() const { return (header.flags & Header::kTypeMask) == Header::kReply; }
  bool wants_reply() const { return (header.flags & Header::kNoReply) == 0; }
  Command command() const { return static_cast<Command>(header.command); }
};

// Splits a stream into messages; one per socket. Never reads beyond a message, so that descriptors belong to the
// current message.
class MessageReader {
 public:
  enum class Got { kMessage, kNothing, kClosed, kBroken };  // kBroken: framing is lost
  // With `wait` false: kNothing until a message is complete; partial data is kept.
  Got Read(int socket, bool wait, Message& message);

 private:
  Message message_;
  size_t received_ = 0;  // bytes of message_
};

// Sends one message: header (Header::bytes is filled in), then the parts. Blocks until all is sent. False: the peer
// closed the socket. Not thread-safe per socket.
bool SendMessage(int socket, Header header, std::span<const uint8_t> first, std::span<const uint8_t> second = {},
                 std::span<const int> fds = {});

}  // namespace vireo::host::vfio_user
