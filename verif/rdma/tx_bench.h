// SPDX-License-Identifier: Apache-2.0
// Shared code of the transmit path's tests: the host memory that payload comes from, and the frames that leave.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/dma/train.h"
#include "model/rdma/tx_builder.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/rdma/frames.h"

namespace vireo::verif {

// --- Host memory: a byte for every address; part of it is unreadable.
inline uint8_t MemoryByte(uint64_t address) {
  address *= 0x9e3779b97f4a7c15;
  return static_cast<uint8_t>(address >> 56);
}
inline constexpr uint64_t kBadBit = uint64_t{1} << 60;
inline bool IsBad(uint64_t address) { return (address & kBadBit) != 0; }

inline void AppendMemory(uint64_t address, size_t bytes, Bytes& to) {
  for (size_t i = 0; i < bytes; ++i) to.push_back(MemoryByte(address + i));
}

// Answers the read requests, in order, each after a delay.
template <typename Top>
class Memory final : public BenchStream {
 public:
  Memory(Top& top, model::TrainSink& block, std::mt19937_64& random) : top_(top), block_(block), random_(random) {}

  void Ask(const spec::DmaReadRequest& request) { requests_.push_back(request); }

  void Begin(model::Cycle cycle) override {
    if (!busy_ && !requests_.empty() && random_() % 16 < rate) {
      const spec::DmaReadRequest request = requests_.front();
      requests_.pop_front();
      train_ = {.tag = request.tag, .bytes = request.bytes, .resp = model::AxiResp::kOkay, .data = {}};
      train_data_.clear();
      AppendMemory(request.address, request.bytes, train_data_);
      if (IsBad(request.address)) {
        train_.resp = static_cast<model::AxiResp>(1 + random_() % 3);
        for (auto& byte : train_data_) byte = static_cast<uint8_t>(random_());
      }
      train_.data = train_data_;
      block_.OnTrain(cycle, train_);
      busy_ = true;
      at_ = 0;
    }
    Scramble(top_.train_data_i, random_);
    Scramble(top_.train_tag_i, random_);
    Scramble(top_.train_bytes_i, random_, 13);
    Scramble(top_.train_resp_i, random_, 2);
    Scramble(top_.train_last_i, random_, 1);
    top_.train_valid_i = busy_;
    if (!busy_) return;
    const auto beat = BytesOf(top_.train_data_i);
    const size_t size = std::min(beat.size(), train_.data.size() - at_);
    std::fill(beat.begin(), beat.end(), uint8_t{0});
    std::copy_n(train_.data.begin() + static_cast<ptrdiff_t>(at_), size, beat.begin());
    at_ += size;
    busy_ = at_ < train_.data.size();
    top_.train_last_i = !busy_;
    top_.train_tag_i = train_.tag;
    top_.train_bytes_i = static_cast<SData>(train_.bytes);
    top_.train_resp_i = static_cast<CData>(train_.resp);
    if (busy_) return;
    last_beat = cycle;
    ++answered;
  }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  model::Cycle last_beat = 0;
  uint64_t answered = 0;

 private:
  Top& top_;
  model::TrainSink& block_;
  std::mt19937_64& random_;
  std::deque<spec::DmaReadRequest> requests_;
  model::Train train_{};
  std::vector<uint8_t> train_data_;  // of train_
  bool busy_ = false;
  size_t at_ = 0;
};

// Frames that the model sends.
struct SentFrame {
  model::Cycle start;
  model::Cycle end;
  Bytes bytes;
};
class SentFrames final : public model::FrameSink {
 public:
  void OnFrameAhead(model::Cycle start, model::Cycle end) override { ahead.emplace_back(start, end); }
  void OnFrame(model::Cycle start, model::Cycle end, Bytes bytes) override {
    // Every frame was reported ahead, in order.
    announced = announced && !ahead.empty() && ahead.front() == std::pair(start, end);
    if (!ahead.empty()) ahead.pop_front();
    sent.push_back({start, end, std::move(bytes)});
  }
  std::vector<SentFrame> sent;
  std::deque<std::pair<model::Cycle, model::Cycle>> ahead;
  bool announced = true;
};

// Compares them with the RTL's output.
template <typename Top>
class FrameWatch {
 public:
  FrameWatch(const Top& top, const SentFrames& frames) : top_(top), frames_(frames) {}

  // At the end of every cycle; empty if there is no difference.
  std::string Compare(model::Cycle cycle) {
    const std::string at = "frame: cycle " + std::to_string(cycle) + ": ";
    const bool last = top_.m_axis_tvalid_o != 0 && top_.m_axis_tlast_o != 0;
    if ((top_.tx_frame_o != 0) != last) return at + "tx_frame_o is not a frame's last beat";
    if (top_.m_axis_tvalid_o != 0) {
      if (frame_.bytes.empty()) frame_.start = cycle;
      const auto data = BytesOf(top_.m_axis_tdata_o);
      const auto keep = BytesOf(top_.m_axis_tkeep_o);
      for (size_t i = 0; i < data.size(); ++i) {
        if ((keep[i / 8] >> i % 8 & 1) != 0) frame_.bytes.push_back(data[i]);
      }
    }
    const bool in_model = frames_.sent.size() > seen_;
    if (last != in_model) return at + (last ? "leaves the RTL only" : "leaves the model only");
    if (!last) return {};
    if (!frames_.announced) return at + "the model did not announce it";
    const SentFrame& expected = frames_.sent[seen_++];
    const SentFrame frame = std::exchange(frame_, {});
    if (expected.end == cycle && expected.start == frame.start && expected.bytes == frame.bytes) return {};
    return at + "RTL:\n" + Hex(frame.bytes) + "\nmodel:\n" + Hex(expected.bytes) + "\nfrom cycle " +
           std::to_string(frame.start) + ", " + std::to_string(expected.start);
  }

 private:
  const Top& top_;
  const SentFrames& frames_;
  SentFrame frame_{};
  size_t seen_ = 0;
};

// Stops and flushes of queue pairs 0 to 3, at random and on request.
// Block: a model that has them.
template <typename Top, typename Block>
class Stops final : public BenchStream {
 public:
  Stops(Top& top, Block& block, std::mt19937_64& random) : top_(top), block_(block), random_(random) {
    top_.stopped_valid_i = 0;
  }
  void Begin(model::Cycle cycle) override {
    if (!next && rate != 0 && random_() % 256 < rate && cycle > last_ + 1) {
      next = model::QpStop{.qpn = static_cast<uint32_t>(random_() % 4), .all = random_() % 2 != 0};
    }
    top_.stopped_valid_i = next.has_value();
    Scramble(top_.stopped_qpn_i, random_, 24);
    constexpr bool kHasFlushes = requires(Top& top) { top.stopped_all_i; };
    if constexpr (kHasFlushes) top_.stopped_all_i = random_() & 1;
    if (!next) return;
    top_.stopped_qpn_i = next->qpn;
    if constexpr (kHasFlushes) {
      top_.stopped_all_i = next->all;
    } else {
      next->all = true;
    }
    block_.OnStopped(cycle, *next);
    next.reset();
    last_ = cycle;
  }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return !next; }

  unsigned rate = 0;  // in 256ths
  std::optional<model::QpStop> next;

 private:
  Top& top_;
  Block& block_;
  std::mt19937_64& random_;
  model::Cycle last_ = 0;
};

}  // namespace vireo::verif
