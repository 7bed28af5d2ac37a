// SPDX-License-Identifier: Apache-2.0
// Scripts of what a host does wrong, or to its device, as those of the wire (fault.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vireo::sim {

struct HostFault {
  enum class Kind : uint8_t {
    kLoop,           // a descriptor that goes on at itself, in the send queue
    kZeroLength,     // a descriptor without bytes, likewise
    kOversize,       // a descriptor from a good address to far beyond the queue's window
    kOutside,        // a descriptor in front of the window
    kIndexJump,      // more entries than the ring has
    kDoorbells,      // `amount` doorbells of that queue, one after the other
    kQueueReset,     // that queue is reset while it works
    kNoPoll,         // nobody looks at the completion queue, so that it gets no buffers; `amount`: its entries
    kFunctionReset,  // the whole device
    kFlip,           // a bit flips in a context memory: what the device knows of that queue (docs/parity.md)
  };
  Kind kind{};
  uint64_t amount = 0;
  uint64_t after = 0;  // when so many of this host's messages are complete
};

struct HostScript {
  HostFault fault;
  std::string error;  // empty: the text was understood
};

// One rule: KIND [amount] [after=N]. KIND is loop, zero_length, oversize, outside, index_jump, doorbells, queue_reset,
// no_poll, function_reset or flip; doorbells and no_poll need their amount, from 1, the others have none.
//   doorbells 500 after=4
HostScript ParseHostScript(std::string_view text);

}  // namespace vireo::sim
