// SPDX-License-Identifier: Apache-2.0
// What goes over the socket that plays /dev/infiniband/rdma_cm: SOCK_SEQPACKET, one message per packet.
//
// Client to service: a command as a program writes it to the device: struct rdma_ucm_cmd_hdr and hdr.in bytes
// (<rdma/rdma_user_cm.h>); behind them, for SET_OPTION only, the option's bytes, which the program gives by address.
// The addresses in it mean nothing to the service. In MIGRATE_ID, `fd` is the other file's number (kFileNumber).
//
// Service to client: a UcmaMessage. Every command has one answer: result 0 or -errno, then the response, at most
// hdr.out bytes. A token says that an event waits; it has no more bytes. There is at most one token under way, and only
// while an event waits; so a socket with nothing to read has no event, as poll() on the device tells it. Every token
// that was sent before an answer counts as taken with it: if events still wait, another one follows the answer. A
// message that is no command ends the channel.
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

// In place of hdr.cmd, with hdr.in 0: the answer has uint32_t, this file's number, which no other file of the NIC has.
inline constexpr uint32_t kUcmaFileNumber = 0x8000'0000;
// With hdr.in 16: a GID. The answer has uint32_t: 0: nobody who has it can be reached from this NIC; 1: perhaps, that
// is being found out; 2: it can, or is the NIC's own. For who has to choose a NIC.
inline constexpr uint32_t kUcmaReach = 0x8000'0001;

inline constexpr size_t kUcmaCommandBytesMax = 8192;  // Linux takes options of up to 4096
inline constexpr size_t kUcmaAnswerBytesMax = 4096;

}  // namespace vireo::service
