// SPDX-License-Identifier: Apache-2.0
// The outer sides of reception that are neither stream nor pulse: the wire, the write port of host memory and the net
// path. For every Verilated top whose ports have the names of rx_buffer's and rx_scatter's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/eth/net_frames.h"
#include "model/rdma/rx_buffer.h"
#include "model/rdma/rx_scatter.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/rdma/frames.h"

namespace vireo::verif {

// The wire: frames in, drops and verdicts out.
template <typename Top>
class WireIn final : public BenchStream {
 public:
  static constexpr size_t kBeatBytes = sizeof(Top::s_axis_tdata_i);
  struct Frame {
    Bytes bytes;
    bool mac_error = false;
    // Filled in when it is sent.
    model::Cycle start = 0;
    model::Cycle end = 0;
    bool enabled = true;
    bool roce = true;      // roce_i at its first beat
    bool dropped = false;  // as reported by the RTL
  };

  WireIn(Top& ports, model::RxBuffer& model, std::mt19937_64& random) : p_(ports), model_(model), random_(random) {
    p_.s_axis_tvalid_i = 0;
    p_.enable_i = 0;
    model_.on_drop = [this](model::Cycle now) { model_drop_ = now; };
    model_.on_verdict = [this](model::Cycle now, spec::RxVerdict verdict) { model_verdict_ = {now, verdict}; };
  }

  void Begin(model::Cycle cycle) override {
    const bool enable = random_() % 16 < enable_rate;
    if (cycle == 0 || enable != (p_.enable_i != 0)) model_.SetEnable(cycle, enable);
    p_.enable_i = enable;
    bool roce = true;
    if constexpr (requires { p_.roce_i; }) {
      roce = random_() % 16 < roce_rate;
      p_.roce_i = roce;
    }
    if (cycle == 0 || roce != roce_) model_.SetRoce(cycle, roce);
    roce_ = roce;

    Scramble(p_.s_axis_tdata_i, random_);
    Scramble(p_.s_axis_tkeep_i, random_);
    p_.s_axis_tlast_i = random_() & 1;
    p_.s_axis_tuser_i = random_() & 1;
    if (at_ == 0 && !frames.empty() && random_() % 16 < rate) {
      sent.push_back(std::move(frames.front()));
      frames.pop_front();
      Frame& frame = sent.back();
      frame.start = cycle;
      frame.end = cycle + (frame.bytes.size() + kBeatBytes - 1) / kBeatBytes - 1;
      frame.enabled = enable;
      frame.roce = roce;
      model_.OnFrame(frame.start, frame.end, frame.bytes, frame.mac_error);
      sending_ = true;
    }
    p_.s_axis_tvalid_i = sending_;
    if (!sending_) return;
    const Frame& frame = sent.back();
    const size_t size = std::min(kBeatBytes, frame.bytes.size() - at_);
    const auto from = frame.bytes.begin() + static_cast<ptrdiff_t>(at_);
    std::copy(from, from + static_cast<ptrdiff_t>(size), BytesOf(p_.s_axis_tdata_i).begin());
    const auto keep = BytesOf(p_.s_axis_tkeep_i);
    for (size_t i = 0; i < kBeatBytes; ++i) {
      if (i % 8 == 0) keep[i / 8] = 0;
      keep[i / 8] = static_cast<uint8_t>(keep[i / 8] | (i < size) << i % 8);
    }
    at_ += size;
    p_.s_axis_tlast_i = at_ == frame.bytes.size();
    if (p_.s_axis_tlast_i) {
      p_.s_axis_tuser_i = frame.mac_error;
      sending_ = false;
      at_ = 0;
    }
  }
  void End(model::Cycle cycle) override {
    const std::string at = "cycle " + std::to_string(cycle);
    if (!p_.s_axis_tready_o) difference = "the wire is stalled";
    if ((p_.rx_drop_o != 0) != (model_drop_ == cycle)) difference = "drop: " + at;
    if (p_.rx_drop_o) {
      for (auto frame = sent.rbegin(); frame != sent.rend(); ++frame) {
        if (frame->start + 1 == cycle) frame->dropped = true;
        if (frame->start < cycle) break;
      }
    }
    const bool judged = model_verdict_ && model_verdict_->first == cycle;
    if ((p_.rx_verdict_valid_o != 0) != judged) difference = "verdict: " + at;
    if (!judged || !p_.rx_verdict_valid_o) return;
    if (p_.rx_verdict_o != static_cast<unsigned>(model_verdict_->second)) difference = "which verdict: " + at;
    verdicts.push_back(static_cast<spec::RxVerdict>(p_.rx_verdict_o));
  }
  bool IsEmpty() const override { return frames.empty() && !sending_; }

  std::deque<Frame> frames;  // to be sent
  std::deque<Frame> sent;
  std::vector<spec::RxVerdict> verdicts;
  unsigned rate = 16;
  unsigned enable_rate = 16;
  unsigned roce_rate = 16;  // if there is a port roce_i

 private:
  Top& p_;
  model::RxBuffer& model_;
  std::mt19937_64& random_;
  size_t at_ = 0;
  bool roce_ = false;
  bool sending_ = false;
  std::optional<model::Cycle> model_drop_;
  std::optional<std::pair<model::Cycle, spec::RxVerdict>> model_verdict_;
};

// The write port: takes beats at its rate, and reports a write as in memory some time after its last beat.
template <typename Top>
class WritePort final : public BenchStream {
 public:
  struct Write {
    spec::DmaWriteRequest request;
    Bytes data;  // full beats
    model::Cycle first, last;
  };

  WritePort(Top& ports, model::RxScatter& model, model::Channel<model::WriteBeat>& sink, std::mt19937_64& random)
      : p_(ports), model_(model), sink_(sink), random_(random) {
    p_.write_ready_i = 0;
    p_.write_done_i = 0;
    p_.write_refused_i = 0;
  }

  void Begin(model::Cycle cycle) override {
    p_.write_ready_i = random_() % 16 < rate;
    sink_.SetOpen(cycle, p_.write_ready_i != 0);
    p_.write_done_i = !hold && !due_.empty() && due_.front() <= cycle;
    p_.write_refused_i = random_() & 1;
    if (!p_.write_done_i) return;
    p_.write_refused_i = refuses ? refuses(done) : random_() % 1000 < refuse_rate;
    refused.push_back(p_.write_refused_i != 0);
    model_.OnWriteDone(cycle, refused.back());
    due_.pop_front();
    ++done;
  }
  void End(model::Cycle cycle) override {
    const bool in_rtl = p_.write_valid_o != 0 && p_.write_ready_i != 0;
    const bool in_model = !sink_.sent().empty();
    if (in_rtl != in_model) {
      difference =
          "write: cycle " + std::to_string(cycle) + ": a beat leaves the " + (in_rtl ? "RTL" : "model") + " only";
      return;
    }
    if (!in_rtl) return;
    const model::WriteBeat beat = sink_.sent().front().token;
    sink_.sent().clear();
    const auto request = TokenFrom<spec::DmaWriteRequest>(BytesOf(std::as_const(p_.write_request_o)));
    const auto data = BytesOf(std::as_const(p_.write_data_o));
    if (request != beat.request || !std::equal(data.begin(), data.end(), beat.data.begin(), beat.data.end()) ||
        (p_.write_last_o != 0) != beat.last) {
      difference = "write: cycle " + std::to_string(cycle) + ": RTL: " + TokenText(request) +
                   "\nmodel: " + TokenText(beat.request) + " or data or last";
      return;
    }
    if (begins_) writes.push_back({request, {}, cycle, 0});
    if (!begins_ && !(request == writes.back().request)) difference = "the request changes within a write";
    begins_ = beat.last;
    writes.back().data.insert(writes.back().data.end(), data.begin(), data.end());
    if (!beat.last) return;
    writes.back().last = cycle;
    due_.push_back(Due(cycle));
  }
  bool IsEmpty() const override { return due_.empty(); }

  unsigned rate = 16;
  unsigned late = 0;                      // maximum further cycles until a write is in memory
  bool hold = false;                      // none is
  unsigned refuse_rate = 0;               // of 1000
  std::function<bool(uint64_t)> refuses;  // by the number of the write; empty: at that rate
  std::vector<bool> refused;              // of those that are done
  uint64_t done = 0;
  std::vector<Write> writes;

 private:
  model::Cycle Due(model::Cycle cycle) {
    const model::Cycle due = cycle + 1 + (late != 0 ? random_() % (late + 1) : 0);
    return due_.empty() ? due : std::max(due, due_.back() + 1);
  }

  Top& p_;
  model::RxScatter& model_;
  model::Channel<model::WriteBeat>& sink_;
  std::mt19937_64& random_;
  bool begins_ = true;
  std::deque<model::Cycle> due_;
};

// The net path: takes frames beat by beat, as required, in the cycles of the model.
template <typename Top>
class NetOut final : public BenchStream, public model::NetFrameSink {
 public:
  static constexpr size_t kBeatBytes = sizeof(Top::net_data_o);
  struct Frame {
    model::Cycle first;  // of its first beat
    Bytes bytes;
  };

  explicit NetOut(const Top& ports) : p_(ports) {}

  void OnNetFrame(model::Cycle first, std::span<const uint8_t> bytes) override {
    told_.push_back({first, {bytes.begin(), bytes.end()}});
  }
  void Begin(model::Cycle) override {}
  void End(model::Cycle cycle) override {
    const std::string at = "net: cycle " + std::to_string(cycle) + ": ";
    const bool in_model = !told_.empty() && told_.front().first <= cycle;
    if ((p_.net_valid_o != 0) != in_model) {
      difference = at + "a beat leaves the " + (in_model ? "model" : "RTL") + " only";
      return;
    }
    if (!in_model) return;
    Frame& frame = told_.front();
    const size_t from = (cycle - frame.first) * kBeatBytes;
    const size_t bytes = std::min(kBeatBytes, frame.bytes.size() - from);
    const bool last = from + bytes == frame.bytes.size();
    const auto data = BytesOf(p_.net_data_o);
    if (p_.net_bytes_o != frame.bytes.size()) difference = at + "length";
    if ((p_.net_last_o != 0) != last) difference = at + "last";
    const auto expected = frame.bytes.begin() + static_cast<ptrdiff_t>(from);
    if (!std::equal(expected, expected + static_cast<ptrdiff_t>(bytes), data.begin())) difference = at + "data";
    if (!last) return;
    frames.push_back(std::move(frame));
    told_.pop_front();
  }
  bool IsEmpty() const override { return told_.empty(); }

  std::vector<Frame> frames;

 private:
  const Top& p_;
  std::deque<Frame> told_;
};

}  // namespace vireo::verif
