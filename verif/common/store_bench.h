// SPDX-License-Identifier: Apache-2.0
// A store of received frames with its read port (oldest_* of vireo_rx_buffer and vireo_net_filter), for RTL and model
// alike: each frame becomes the oldest some time after the previous one was freed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/common/frame_store.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {

// `front`: arbitrary bytes before each frame. `Store`: the interface of the model's reader.
template <typename Top, size_t front = 0, typename Store = model::FrameStore>
class StoreBench : public BenchStream, public Store {
 public:
  StoreBench(Top& ports, std::mt19937_64& random) : p_(ports), random_(random) { p_.oldest_valid_i = 0; }

  bool HasOldest(model::Cycle now) const override { return !frames_.empty() && visible_ <= now; }
  std::span<const uint8_t> oldest() const override { return frames_.front(); }
  void Free(model::Cycle now) override {
    EXPECT_TRUE(HasOldest(now));
    freed_ = now;
    frames_.pop_front();
    Show(now + 1);
  }

  void Add(model::Cycle now, std::vector<uint8_t> frame) {
    frames_.push_back(std::move(frame));
    if (frames_.size() == 1) Show(freed_ ? std::max(now, *freed_ + 1) : now);
  }

  void Begin(model::Cycle cycle) override {
    p_.oldest_valid_i = HasOldest(cycle);
    // The beat is valid in the cycle after its read; otherwise the port is random.
    std::copy(beat_.begin(), beat_.end(), BytesOf(p_.oldest_data_i).begin());
    Scramble(beat_);
    if (!p_.oldest_read_o) return;
    if (!HasOldest(cycle)) {
      difference = "reads a frame that is not there";
      return;
    }
    const std::vector<uint8_t>& frame = frames_.front();
    const size_t from = p_.oldest_beat_o * beat_.size();
    for (size_t i = 0; i < beat_.size(); ++i) {
      if (from + i >= front && from + i < front + frame.size()) beat_[i] = frame[from + i - front];
    }
    if (from >= front + frame.size()) difference = "reads behind the end of the frame";
  }
  void End(model::Cycle cycle) override {
    if ((p_.oldest_free_o != 0) != (freed_ == cycle)) difference = "free: cycle " + std::to_string(cycle);
  }
  bool IsEmpty() const override { return true; }
  size_t size() const { return frames_.size(); }

  unsigned late = 0;  // maximum cycles between two frames

 protected:
  // A frame becomes the oldest, visible from cycle `from` on.
  virtual void OnShow(model::Cycle /*from*/) {}

  Top& p_;
  std::mt19937_64& random_;

 private:
  void Show(model::Cycle from) {
    visible_ = from + (late != 0 ? random_() % (late + 1) : 0);
    if (frames_.empty()) return;
    OnShow(visible_);
    this->reader_->WakeAt(visible_);
  }
  void Scramble(std::vector<uint8_t>& bytes) {
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random_());
  }

  std::deque<std::vector<uint8_t>> frames_;
  model::Cycle visible_ = 0;
  std::optional<model::Cycle> freed_;
  std::vector<uint8_t> beat_ = std::vector<uint8_t>(sizeof(Top::oldest_data_i));
};

}  // namespace vireo::verif
