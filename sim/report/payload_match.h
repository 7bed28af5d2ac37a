// SPDX-License-Identifier: Apache-2.0
// Which DMA reads brought the payload of a frame, and to which message a DMA write of payload belongs. A seam does not
// say it, and addresses do not either, because keys are translated inside of the device. So both are found by order,
// length and bytes together: what is asked for first leaves first. What does not fit stays unattributed.
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

// Reads of one NIC whose bytes have not left in a frame.
class PayloadReads {
 public:
  static constexpr size_t kMost = 512;  // older ones are forgotten

  struct Found {
    EventMark first;  // the request of the first read
    EventMark last;   // the last completion
  };
  // A reset took away what was under way with that tag, which is used for something else now.
  void Forget(uint32_t tag);
  void OnRead(uint32_t tag, uint32_t bytes, EventMark mark);
  void OnData(uint32_t tag, std::span<const uint8_t> data, bool is_last, EventMark mark);
  // The oldest reads that, one after the other, are these bytes; they are forgotten then.
  std::optional<Found> Take(std::span<const uint8_t> payload);

 private:
  struct Read {
    uint32_t tag = 0, bytes = 0;
    EventMark asked, completed;
    bool is_complete = false;
    std::vector<uint8_t> data;
  };
  std::deque<Read> reads_;
};

// Payload that arrived at one NIC and was not written yet.
template <typename Owner>
class PayloadWrites {
 public:
  // Frames: more than any receive buffer holds. Older ones, which were refused, are forgotten.
  static constexpr size_t kMost = 2048;

  void OnFrame(std::shared_ptr<Owner> owner, std::span<const uint8_t> payload) {
    if (frames_.size() == kMost) frames_.pop_front();
    frames_.push_back({std::move(owner), {payload.begin(), payload.end()}, 0});
  }
  // Whose it is; null if nobody's. The frame is forgotten when all of it was written.
  std::shared_ptr<Owner> Take(std::span<const uint8_t> data) {
    // A frame that was begun by mistake, because a few bytes were like its first ones, can be begun again.
    for (const bool anew : {false, true}) {
      for (auto frame = frames_.begin(); frame != frames_.end(); ++frame) {
        if (anew && frame->done == 0) continue;
        const size_t at = anew ? 0 : frame->done;
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
