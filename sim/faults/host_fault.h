// SPDX-License-Identifier: Apache-2.0
// Scripts of host faults: corrupt rings, doorbells, resets, a bit flip in the device. Syntax as for the wire (fault.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vireo::sim {

struct HostFault {
  enum class Kind : uint8_t {
    kLoop,           // send queue: a descriptor whose next field refers to itself
    kZeroLength,     // send queue: a descriptor without bytes
    kOversize,       // send queue: a descriptor that starts inside the queue's window and ends far outside
    kOutside,        // send queue: a descriptor below the window
    kIndexJump,      // send queue: more available entries than the ring's size
    kDoorbells,      // `amount` consecutive doorbells of the send queue
    kQueueReset,     // the send queue is reset under traffic
    kNoPoll,         // the completion queue (`amount` entries) is not polled, so it gets no buffers
    kFunctionReset,  // the device is reset under traffic
    kFlip,           // a bit flips in a context memory of the device, in the entry of the send queue (docs/parity.md)
  };
  Kind kind{};
  uint64_t amount = 0;
  uint64_t after = 0;  // inject when this many of the host's messages are complete
};

struct HostScript {
  HostFault fault;
  std::string error;  // empty: the text is valid
};

// One rule: KIND [amount] [after=N]. KIND is loop, zero_length, oversize, outside, index_jump, doorbells, queue_reset,
// no_poll, function_reset or flip; doorbells and no_poll need an amount of at least 1, the others have none.
//   doorbells 500 after=4
HostScript ParseHostScript(std::string_view text);

}  // namespace vireo::sim
