// SPDX-License-Identifier: Apache-2.0
// Additions to BlockBench for control blocks: pulses out of a block, and inputs and levels that are neither stream nor
// pulse.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verif/common/block_bench.h"

namespace vireo::verif {

// Pulses of a token: the model reports each in its cycle.
template <typename T, typename Valid, typename Data>
class OutPulse final : public BenchStream {
 public:
  OutPulse(const char* name, Valid& valid, Data& data) : name_(name), valid_(valid), data_(data) {}
  void Tell(model::Cycle cycle, const T& token) { told_ = {cycle, token}; }
  void Begin(model::Cycle) override {}
  void End(model::Cycle cycle) override {
    const bool in_model = told_ && told_->first == cycle;
    const std::string at = std::string(name_) + ": cycle " + std::to_string(cycle) + ": ";
    if ((valid_ != 0) != in_model) {
      difference = at + (in_model ? "in the model only: " + TokenText(told_->second)
                                  : "in RTL only: " + TokenText(TokenFrom<T>(BytesOf(std::as_const(data_)))));
      return;
    }
    if (!in_model) return;
    const auto expected = TokenBytes(told_->second);
    const auto port = BytesOf(std::as_const(data_));
    if (!std::equal(expected.begin(), expected.end(), port.begin())) {
      difference = at + "RTL: " + TokenText(TokenFrom<T>(port)) + "\nmodel: " + TokenText(told_->second);
      return;
    }
    sent.push_back(*told_);
  }
  bool IsEmpty() const override { return true; }

  std::vector<std::pair<model::Cycle, T>> sent;

 private:
  const char* name_;
  Valid& valid_;
  Data& data_;
  std::optional<std::pair<model::Cycle, T>> told_;
};

// Any other port: `begin` sets inputs and passes them to the model, `end` checks outputs and returns a text if they
// differ.
class Probe final : public BenchStream {
 public:
  using Begins = std::function<std::string(model::Cycle)>;
  using Ends = std::function<std::string(model::Cycle)>;
  Probe(Begins begin, Ends end) : begin_(std::move(begin)), end_(std::move(end)) {}
  void Begin(model::Cycle cycle) override {
    if (begin_) Check(cycle, begin_(cycle));
  }
  void End(model::Cycle cycle) override {
    if (end_) Check(cycle, end_(cycle));
  }
  bool IsEmpty() const override { return true; }

 private:
  void Check(model::Cycle cycle, std::string text) {
    if (!text.empty()) difference = "cycle " + std::to_string(cycle) + ": " + std::move(text);
  }
  Begins begin_;
  Ends end_;
};

// Empty if both are the same.
inline std::string Same(const char* name, uint64_t rtl, uint64_t model) {
  if (rtl == model) return {};
  return std::string(name) + " is " + std::to_string(rtl) + " in RTL, " + std::to_string(model) + " in the model";
}

}  // namespace vireo::verif
