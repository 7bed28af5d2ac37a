// SPDX-License-Identifier: Apache-2.0
// Matches DMA reads to the frame that carries their payload, and DMA writes of payload to a message. Neither the seam
// nor the addresses identify them, because the device translates keys internally. So both are matched by order, length
// and bytes: reads requested first are sent first. What does not match stays unattributed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/report/ring_watch.h"

namespace vireo::sim {

// Reads of one NIC whose bytes have not been sent in a frame.
class PayloadReads {
 public:
  static constexpr size_t kMaxReads = 512;  // older ones are forgotten

  struct Found {
    EventMark first;  // the request of the first read
    EventMark last;   // the last completion
  };
  // After a reset: drops the outstanding read with this tag, which is reused.
  void Forget(uint32_t tag);
  void OnRead(uint32_t tag, uint32_t bytes, EventMark mark);
  void OnData(uint32_t tag, std::span<const uint8_t> data, bool is_last, EventMark mark);
  // Finds and removes the oldest reads whose concatenated data is `payload`; nullopt if there are none.
  std::optional<Found> Take(std::span<const uint8_t> payload);

 private:
  struct Read {
    uint32_t tag = 0, bytes = 0;
    EventMark requested, completed;
    bool is_complete = false;
    std::vector<uint8_t> data;
  };
  std::deque<Read> reads_;
};

// Payload received by one NIC and not yet written to memory.
template <typename Owner>
class PayloadWrites {
 public:
  // More than any receive buffer holds. Older ones were dropped by the device and are forgotten.
  static constexpr size_t kMaxFrames = 2048;

  void OnFrame(std::shared_ptr<Owner> owner, std::span<const uint8_t> payload) {
    if (frames_.size() == kMaxFrames) frames_.pop_front();
    frames_.push_back({std::move(owner), {payload.begin(), payload.end()}, 0});
  }
  // The owner of the oldest frame that continues with `data`; null if none. A frame is removed when it is fully
  // written.
  std::shared_ptr<Owner> Take(std::span<const uint8_t> data) {
    // Second pass: restart frames that were matched by mistake because a few bytes equalled their first ones.
    for (const bool restart : {false, true}) {
      for (auto frame = frames_.begin(); frame != frames_.end(); ++frame) {
        if (restart && frame->done == 0) continue;
        const size_t at = restart ? 0 : frame->done;
        if (frame->bytes.size() - at < data.size()) continue;
        if (!std::equal(data.begin(), data.end(), frame->bytes.begin() + static_cast<ptrdiff_t>(at))) continue;
        std::shared_ptr<Owner> owner = frame->owner;
        frame->done = at + data.size();
        if (frame->done == frame->bytes.size()) frames_.erase(frame);
        return owner;
      }
    }
    return nullptr;
  }

 private:
  struct Frame {
    std::shared_ptr<Owner> owner;
    std::vector<uint8_t> bytes;
    size_t done = 0;
  };
  std::deque<Frame> frames_;
};

}  // namespace vireo::sim
