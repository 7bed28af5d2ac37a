// SPDX-License-Identifier: Apache-2.0
// The protocol of the socket that replaces /dev/infiniband/rdma_cm: SOCK_SEQPACKET, one message per packet.
//
// Client to service: a command as a program writes it to the device: struct rdma_ucm_cmd_hdr and hdr.in bytes
// (<rdma/rdma_user_cm.h>), followed, for SET_OPTION only, by the option's bytes, which the program passes by address.
// The service ignores addresses in commands. In MIGRATE_ID, `fd` is the other file's number (kUcmaFileNumber).
//
// Service to client: a UcmaMessage. Every command has one answer: result 0 or -errno, then the response, at most
// hdr.out bytes. A token means that an event is pending; it has no payload. At most one token is outstanding, and only
// while an event is pending: a socket without readable data means no event, as with poll() on the device. An answer
// invalidates all tokens sent before it: if events are still pending, another token follows. A malformed command closes
// the channel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vireo::service {

struct UcmaMessage {
  enum class Type : uint8_t { kAnswer = 1, kToken = 2 };
  Type type = Type::kAnswer;
  uint8_t reserved[3]{};
  int32_t result = 0;
};
static_assert(sizeof(UcmaMessage) == 8);

// As hdr.cmd, with hdr.in 0: the answer is a uint32_t, this file's number, unique among the files of the NIC.
inline constexpr uint32_t kUcmaFileNumber = 0x8000'0000;
// With hdr.in 16: a GID. The answer is a uint32_t: 0: not reachable from this NIC; 1: unknown, resolution in progress;
// 2: reachable, or the NIC's own. For choosing a NIC.
inline constexpr uint32_t kUcmaReach = 0x8000'0001;

inline constexpr size_t kUcmaCommandBytesMax = 8192;  // Linux takes options of up to 4096
inline constexpr size_t kUcmaAnswerBytesMax = 4096;

}  // namespace vireo::service
