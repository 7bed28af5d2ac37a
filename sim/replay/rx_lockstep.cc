// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/rx_lockstep.h"

#include <algorithm>
#include <span>
#include <utility>

namespace vireo::sim {

using sc_core::sc_time;

RxLockstep::RxLockstep(sc_core::sc_module_name name, const spec::Config& config, std::mt19937_64& random,
                       Observer observer)
    : sc_module(name),
      period_(1e6 / config.core_clock_khz, sc_core::SC_NS),
      observer_(std::move(observer)),
      rtl_(RxParserRtl::Make(config.datapath_bits, random)),
      model_due_("model_due") {
  SC_METHOD(Clock);
  SC_METHOD(ModelEmit);
  sensitive << model_due_;
  dont_initialize();
}

void RxLockstep::Add(std::vector<uint8_t> bytes, uint64_t start_ns) {
  inputs_.push_back({std::move(bytes), sc_time(static_cast<double>(start_ns), sc_core::SC_NS)});
}

void RxLockstep::Clock() {
  const sc_time now = sc_core::sc_time_stamp();
  const bool frame_here = !inputs_.empty() && (beat_offset_ > 0 || inputs_.front().start <= now);
  if (!frame_here && rtl_->cycle() >= busy_until_) {
    if (inputs_.empty()) return;  // nothing triggers this process again
    // Idle: sleep until the first clock edge at or after the frame's start.
    const auto cycles =
        static_cast<uint64_t>((inputs_.front().start - now + period_ - sc_time::from_value(1)) / period_);
    skipped_ += cycles;
    next_trigger(period_ * static_cast<double>(cycles));
    return;
  }
  if (frame_here) {
    const Input& input = inputs_.front();
    const size_t length = std::min(rtl_->beat_bytes(), input.bytes.size() - beat_offset_);
    const bool last = beat_offset_ + length == input.bytes.size();
    const uint64_t cycle = rtl_->cycle() + skipped_;
    rtl_->Beat(std::span(input.bytes).subspan(beat_offset_, length), last, false);
    beat_offset_ += length;
    if (last) {
      const uint64_t due = model::RxParser::TokenCycle(cycle);
      due_.push_back({due, model::RxParser::Parse(input.bytes, false)});
      model_due_.notify(period_ * static_cast<double>(due - cycle));
      busy_until_ = std::max(busy_until_, rtl_->cycle() + model::RxParser::kLatency + 1);
      inputs_.pop_front();
      beat_offset_ = 0;
    }
  } else {
    rtl_->Idle(1);
  }
  ++counts_.rtl_cycles;
  for (TimedToken& token : rtl_->TakeTokens()) from_rtl_.push_back({token.cycle + skipped_, token.token});
  Compare();
  next_trigger(period_);
}

void RxLockstep::ModelEmit() {
  from_model_.push_back(due_.front());
  due_.pop_front();
  Compare();
}

void RxLockstep::Compare() {
  while (!from_model_.empty() && !from_rtl_.empty()) {
    const TimedToken& expected = from_model_.front();
    const TimedToken& actual = from_rtl_.front();
    std::string difference = Difference(expected.token, actual.token);
    counts_.token_differences += !difference.empty();
    if (expected.cycle != actual.cycle) {
      ++counts_.cycle_differences;
      difference += "cycle: model " + std::to_string(expected.cycle) + ", RTL " + std::to_string(actual.cycle) + "\n";
    }
    observer_(counts_.frames++, expected.token, difference);
    from_model_.pop_front();
    from_rtl_.pop_front();
  }
}

RxLockstep::Counts RxLockstep::Finish() {
  counts_.token_differences += std::max(from_model_.size(), from_rtl_.size()) + inputs_.size();
  return counts_;
}

}  // namespace vireo::sim
