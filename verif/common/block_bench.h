// SPDX-License-Identifier: Apache-2.0
// Drives one block as RTL and as model side by side: the same tokens and the same stalls, chosen at random; compares
// every cycle's ready and every token that leaves. The first difference ends a run with a text. A stream's rate is how
// often its outer side is ready, in 16ths. Fields that are not valid are random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "verif/common/rtl_top.h"

namespace vireo::verif {

// The bits of a token as in the RTL: T::Visit goes from the most significant end downwards.
template <typename T>
size_t TokenBits(const T& token) {
  size_t bits = 0;
  T::Visit(token, [&](const char*, const auto&, unsigned width) { bits += width; });
  return bits;
}
template <typename T>
std::vector<uint8_t> TokenBytes(const T& token) {
  size_t position = TokenBits(token);
  std::vector<uint8_t> bytes((position + 7) / 8);
  T::Visit(token, [&](const char*, const auto& field, unsigned width) {
    position -= width;
    const auto value = static_cast<uint64_t>(field);
    for (unsigned i = 0; i < width; ++i) {
      if ((value >> i & 1) != 0) bytes[(position + i) / 8] |= static_cast<uint8_t>(1u << (position + i) % 8);
    }
  });
  return bytes;
}
template <typename T>
T TokenFrom(std::span<const uint8_t> bytes) {
  T token{};
  size_t position = TokenBits(token);
  T::Visit(token, [&](const char*, auto& field, unsigned width) {
    position -= width;
    uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      value |= static_cast<uint64_t>(bytes[(position + i) / 8] >> (position + i) % 8 & 1) << i;
    }
    field = static_cast<std::remove_reference_t<decltype(field)>>(value);
  });
  return token;
}
// "qpn=0x11 psn=0x0 …": for messages.
template <typename T>
std::string TokenText(const T& token) {
  std::string text;
  T::Visit(token, [&](const char* name, const auto& field, unsigned) {
    char buffer[96];
    (void)std::snprintf(buffer, sizeof buffer, "%s=%#llx ", name, static_cast<unsigned long long>(field));
    text += buffer;
  });
  return text;
}
template <typename T, typename Port>
void SetPort(Port& port, const T& token) {
  const auto bytes = TokenBytes(token);
  const auto to = BytesOf(port);
  std::fill(to.begin(), to.end(), uint8_t{0});
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

class BenchStream {
 public:
  virtual ~BenchStream() = default;
  // Sets the RTL's inputs of the cycle and passes them to the model.
  virtual void Begin(model::Cycle cycle) = 0;
  // Compares the outputs of the cycle.
  virtual void End(model::Cycle cycle) = 0;
  virtual bool IsEmpty() const = 0;  // nothing is left to send
  std::string difference;            // empty while there is none
};

// Tokens into a channel of the model and a ready/valid input of the RTL.
template <typename T, typename Valid, typename Ready, typename Data>
class InStream final : public BenchStream {
 public:
  InStream(const char* name, model::Channel<T>& channel, Valid& valid, Ready& ready, Data& data,
           std::mt19937_64& random)
      : name_(name), channel_(channel), valid_(valid), ready_(ready), data_(data), random_(random) {
    valid_ = 0;
  }
  void Begin(model::Cycle cycle) override {
    const bool ready = ready_ != 0;
    if (ready != channel_.CanPush(cycle)) {
      difference = std::string(name_) + ": cycle " + std::to_string(cycle) + ": ready is " + (ready ? "1" : "0") +
                   " in RTL and not in the model";
      return;
    }
    if (!offered_ && !tokens.empty() && random_() % 16 < rate) {
      offered_ = true;
      SetPort(data_, tokens.front());
    } else if (!offered_) {
      Scramble(data_, random_, TokenBits(T{}));
    }
    valid_ = offered_;
    if (offered_ && ready) {
      channel_.Push(cycle, std::move(tokens.front()));
      tokens.pop_front();
      offered_ = false;
      ++accepted;
    }
  }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return tokens.empty(); }

  std::deque<T> tokens;  // to be sent, in order
  unsigned rate = 16;
  uint64_t accepted = 0;

 private:
  const char* name_;
  model::Channel<T>& channel_;
  Valid& valid_;
  Ready& ready_;
  Data& data_;
  std::mt19937_64& random_;
  bool offered_ = false;
};

// Tokens out of a ready/valid output of the RTL and into a sink of the model.
template <typename T, typename Valid, typename Ready, typename Data>
class OutStream final : public BenchStream {
 public:
  OutStream(const char* name, model::Channel<T>& sink, Valid& valid, Ready& ready, Data& data, std::mt19937_64& random)
      : name_(name), sink_(sink), valid_(valid), ready_(ready), data_(data), random_(random) {
    ready_ = 0;
  }
  void Begin(model::Cycle cycle) override {
    ready_ = random_() % 16 < rate;
    sink_.SetOpen(cycle, ready_ != 0);
  }
  void End(model::Cycle cycle) override {
    const bool in_rtl = valid_ != 0 && ready_ != 0;
    const bool in_model = !sink_.sent().empty() && sink_.sent().back().cycle == cycle;
    const std::string at = std::string(name_) + ": cycle " + std::to_string(cycle) + ": ";
    if (in_rtl != in_model) {
      difference = at + (in_rtl ? "leaves the RTL only: " + TokenText(FromRtl())
                                : "leaves the model only: " + TokenText(sink_.sent().back().token));
      return;
    }
    if (!in_rtl) return;
    const auto expected = TokenBytes(sink_.sent().back().token);
    const auto port = BytesOf(data_);
    if (!std::equal(expected.begin(), expected.end(), port.begin())) {
      difference = at + "RTL: " + TokenText(FromRtl()) + "\nmodel: " + TokenText(sink_.sent().back().token);
      return;
    }
    ++count;
    if (on_token) on_token(cycle, sink_.sent().back().token);
    if (!keep) sink_.sent().clear();
  }
  bool IsEmpty() const override { return true; }

  unsigned rate = 16;
  bool keep = true;  // tokens stay in the sink with their cycles
  uint64_t count = 0;
  std::function<void(model::Cycle, const T&)> on_token;  // may add tokens to an InStream

 private:
  T FromRtl() const { return TokenFrom<T>(BytesOf(std::as_const(data_))); }

  const char* name_;
  model::Channel<T>& sink_;
  Valid& valid_;
  Ready& ready_;
  Data& data_;
  std::mt19937_64& random_;
};

// Tokens that must be taken in their cycle: `tell` passes one to the model.
template <typename T, typename Valid, typename Data>
class InPulse final : public BenchStream {
 public:
  using Tell = std::function<void(model::Cycle, const T&)>;
  InPulse(Valid& valid, Data& data, Tell tell, std::mt19937_64& random)
      : valid_(valid), data_(data), tell_(std::move(tell)), random_(random) {
    valid_ = 0;
  }
  void Begin(model::Cycle cycle) override {
    Scramble(data_, random_, TokenBits(T{}));
    valid_ = !tokens.empty() && cycle >= next_ && random_() % 16 < rate && (!allowed || allowed(cycle, tokens.front()));
    if (!valid_) return;
    next_ = cycle + spacing;
    SetPort(data_, tokens.front());
    tell_(cycle, tokens.front());
    tokens.pop_front();
  }
  void End(model::Cycle) override {}
  bool IsEmpty() const override { return tokens.empty(); }

  std::deque<T> tokens;
  unsigned rate = 16;
  model::Cycle spacing = 1;                             // minimum cycles from one to the next
  std::function<bool(model::Cycle, const T&)> allowed;  // whether the next one may come; empty: always

 private:
  model::Cycle next_ = 0;
  Valid& valid_;
  Data& data_;
  Tell tell_;
  std::mt19937_64& random_;
};

template <typename Top>
class BlockBench {
 public:
  BlockBench(RtlTop<Top>& rtl, model::Agenda& agenda, std::mt19937_64& random)
      : rtl_(rtl), agenda_(agenda), random_(random) {}

  template <typename T, typename Valid, typename Ready, typename Data>
  InStream<T, Valid, Ready, Data>& In(const char* name, model::Channel<T>& channel, Valid& valid, Ready& ready,
                                      Data& data) {
    return Add(std::make_unique<InStream<T, Valid, Ready, Data>>(name, channel, valid, ready, data, random_));
  }
  template <typename T, typename Valid, typename Ready, typename Data>
  OutStream<T, Valid, Ready, Data>& Out(const char* name, model::Channel<T>& sink, Valid& valid, Ready& ready,
                                        Data& data) {
    return Add(std::make_unique<OutStream<T, Valid, Ready, Data>>(name, sink, valid, ready, data, random_));
  }
  template <typename T, typename Valid, typename Data>
  InPulse<T, Valid, Data>& Pulse(Valid& valid, Data& data, typename InPulse<T, Valid, Data>::Tell tell) {
    return Add(std::make_unique<InPulse<T, Valid, Data>>(valid, data, std::move(tell), random_));
  }
  // For ports that are neither stream nor pulse; the caller owns the stream.
  void AddOther(BenchStream& stream) { all_.push_back(&stream); }

  // Empty, or the first difference.
  std::string Run(uint64_t cycles) {
    for (const model::Cycle end = cycle_ + cycles; cycle_ < end; ++cycle_) {
      for (BenchStream* stream : all_) stream->Begin(cycle_);
      agenda_.RunThrough(cycle_);
      for (BenchStream* stream : all_) stream->End(cycle_);
      for (const BenchStream* stream : all_) {
        if (!stream->difference.empty()) return stream->difference;
      }
      rtl_.Clock();
    }
    return {};
  }
  // Until every token was taken, and `then` cycles more.
  std::string RunOut(uint64_t then, uint64_t limit = 10'000'000) {
    const auto empty = [](const BenchStream* stream) { return stream->IsEmpty(); };
    while (!std::all_of(all_.begin(), all_.end(), empty)) {
      if (std::string difference = Run(1); !difference.empty()) return difference;
      if (limit-- == 0) return "the block does not accept its inputs";
    }
    return Run(then);
  }
  model::Cycle cycle() const { return cycle_; }

 private:
  template <typename S>
  S& Add(std::unique_ptr<S> stream) {
    S& result = *stream;
    all_.push_back(&result);
    owned_.push_back(std::move(stream));
    return result;
  }

  RtlTop<Top>& rtl_;
  model::Agenda& agenda_;
  std::mt19937_64& random_;
  model::Cycle cycle_ = 0;
  std::vector<BenchStream*> all_;
  std::vector<std::unique_ptr<BenchStream>> owned_;
};

}  // namespace vireo::verif
